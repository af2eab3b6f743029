//! Reads files of other programs below a folder that a person named, such as rules of an editor.
//!
//! Nothing is written, no link below the folder is followed, and nothing but regular files is opened.

use std::fs::File;
use std::io;
use std::path::Path;

use super::folder::{FileKind, FileStat, Folder, is_missing};
use super::read::{Unreadable, open_regular, read_all};

/// How deep folders are searched.
const MAX_DEPTH: usize = 12;
/// How many names are looked at in all.
const MAX_NAMES: usize = 200_000;
/// Folders in which nobody keeps what a person wrote.
const SKIPPED: [&str; 5] = [".git", ".ralph", "node_modules", "target", ".venv"];

/// A folder outside of the memory.
#[derive(Debug)]
pub(crate) struct SourceFolder {
    folder: Folder,
}

/// The files that were found below a folder.
#[derive(Debug, Default)]
pub(crate) struct SourceFiles {
    /// Their paths below it, sorted.
    pub(crate) paths: Vec<String>,
    /// What was left out, and why: links, names that are not UTF-8, folders that cannot be listed.
    pub(crate) left_out: Vec<(String, String)>,
}

impl SourceFolder {
    /// Opens a folder that a person named, through links.
    pub(crate) fn open(path: &Path) -> io::Result<SourceFolder> {
        Ok(SourceFolder { folder: Folder::open_root(path)? })
    }

    /// Opens the folder at `path` below this one; `None` if there is none.
    ///
    /// # Errors
    ///
    /// `ELOOP` if a part of the path is a link, and those of the file system.
    pub(crate) fn below(&self, path: &str) -> io::Result<Option<SourceFolder>> {
        match self.folder.descend(path) {
            Ok(folder) => Ok(Some(SourceFolder { folder })),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the files below this folder whose path is `wanted`.
    pub(crate) fn files(&self, wanted: &dyn Fn(&str) -> bool) -> SourceFiles {
        let mut found = SourceFiles::default();
        let mut n_names = 0;
        self.collect("", 0, &mut n_names, wanted, &mut found);
        found.paths.sort();
        found.left_out.sort();
        found
    }

    fn collect(
        &self,
        prefix: &str,
        depth: usize,
        n_names: &mut usize,
        wanted: &dyn Fn(&str) -> bool,
        found: &mut SourceFiles,
    ) {
        let listing = match self.folder.listing() {
            Ok(listing) => listing,
            Err(error) => return found.left_out.push((prefix.to_owned(), format!("it cannot be listed: {error}"))),
        };
        for (name, kind) in listing {
            *n_names += 1;
            if *n_names > MAX_NAMES {
                let reason = format!("there are over {MAX_NAMES} files; name a smaller folder");
                if found.left_out.last().is_none_or(|(_, last)| *last != reason) {
                    found.left_out.push((prefix.to_owned(), reason));
                }
                return;
            }
            let shown = format!("{prefix}{}", name.to_string_lossy());
            let Some(utf8) = name.to_str() else {
                if wanted(&shown) {
                    found.left_out.push((shown, "its name is not UTF-8".to_owned()));
                }
                continue;
            };
            match kind {
                FileKind::File if wanted(&shown) => found.paths.push(shown),
                FileKind::Link if wanted(&shown) => {
                    found.left_out.push((shown, "it is a link, and links are not followed".to_owned()));
                }
                FileKind::Other if wanted(&shown) => {
                    found.left_out.push((shown, "it is not a regular file".to_owned()));
                }
                FileKind::Folder if SKIPPED.contains(&utf8) => {}
                FileKind::Folder if depth >= MAX_DEPTH => {
                    found.left_out.push((shown, format!("it is over {MAX_DEPTH} folders deep")));
                }
                FileKind::Folder => match self.folder.enter(&name) {
                    Ok(folder) => {
                        let inner = SourceFolder { folder };
                        inner.collect(&format!("{shown}/"), depth + 1, n_names, wanted, found);
                    }
                    Err(error) => found.left_out.push((shown, format!("it cannot be opened: {error}"))),
                },
                FileKind::File | FileKind::Link | FileKind::Other => {}
            }
        }
    }

    /// Returns whether something, whatever it is, has this path below the folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.folder.descend(folder).is_ok_and(|folder| folder.stat_of(name).is_ok())
    }

    /// Opens a regular file below the folder, to read it piece by piece.
    ///
    /// # Errors
    ///
    /// `Unreadable` says what is there instead.
    pub(crate) fn file(&self, path: &str) -> Result<File, Unreadable> {
        open_regular(&self.folder, path).map(|(file, _)| file)
    }

    /// Reads a file below the folder, of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// `Unreadable` says what is there instead.
    pub(crate) fn read(&self, path: &str, limit: usize) -> Result<Vec<u8>, Unreadable> {
        let (file, raw) = open_regular(&self.folder, path)?;
        read_all(&file, FileStat::from_raw(&raw).size, limit)
    }
}
