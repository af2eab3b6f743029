//! Visits everything below a folder without following links.

use std::ffi::OsStr;
use std::io;

use super::folder::{FileKind, Folder};

/// How many folders deep a search goes; this program writes nothing deeper.
pub(super) const MAX_DEPTH: usize = 32;
/// How deep a folder of other programs is searched.
const MAX_SOURCE_DEPTH: usize = 12;
/// How many names are examined in it, in all.
const MAX_NAMES: usize = 200_000;
/// Folders in which nobody keeps handwritten files.
const SKIPPED: [&str; 5] = [".git", ".ralph", "node_modules", "target", ".venv"];

/// What a walk encounters.
pub(super) enum Visited<'a> {
    /// A name in a folder.
    Name(&'a Folder, &'a OsStr, FileKind),
    /// A folder that cannot be opened or listed.
    Closed(io::Error),
}

/// The files that were found below a folder.
#[derive(Debug, Default)]
pub(crate) struct SourceFiles {
    /// Their paths below it, sorted.
    pub(crate) paths: Vec<String>,
    /// What was left out, and why: links, names that are not UTF-8, folders that cannot be listed.
    pub(crate) left_out: Vec<(String, String)>,
    /// Whether there are more than these.
    pub(crate) is_cut: bool,
}

impl Folder {
    /// Calls `each` with everything in this folder, and in every folder for which `each` returns `true`. The path begins
    /// with that of this folder, and has U+FFFD for invalid UTF-8. The walk ends with the first error of `each`.
    pub(super) fn visit<E>(
        &self,
        path: &str,
        each: &mut dyn FnMut(&str, Visited<'_>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let listing = match self.listing() {
            Ok(listing) => listing,
            Err(error) => return each(path, Visited::Closed(error)).map(drop),
        };
        for (name, kind) in listing {
            let path = join(path, &name.to_string_lossy());
            if each(&path, Visited::Name(self, &name, kind))? {
                match self.enter(&name) {
                    Ok(folder) => folder.visit(&path, each)?,
                    Err(error) => drop(each(&path, Visited::Closed(error))?),
                }
            }
        }
        Ok(())
    }

    /// Returns the files below this folder whose path is `wanted`: those of other programs, such as rules of an editor.
    pub(crate) fn files(&self, wanted: &dyn Fn(&str) -> bool) -> SourceFiles {
        let mut found = SourceFiles::default();
        let mut n_names = 0;
        let _ = self.visit("", &mut |path, visited| {
            let mut leave_out = |reason: String| found.left_out.push((path.to_owned(), reason));
            let (name, kind) = match visited {
                Visited::Name(_, name, kind) => (name, kind),
                Visited::Closed(error) => {
                    leave_out(format!("it cannot be listed: {error}"));
                    return Ok(false);
                }
            };
            n_names += 1;
            if n_names > MAX_NAMES {
                leave_out(format!("there are over {MAX_NAMES} files; name a smaller folder"));
                found.is_cut = true;
                return Err(());
            }
            match (name.to_str(), kind) {
                (None, _) if wanted(path) => leave_out("its name is not UTF-8".to_owned()),
                (Some(name), FileKind::Folder) if SKIPPED.contains(&name) => {}
                (Some(_), FileKind::Folder) if path.matches('/').count() >= MAX_SOURCE_DEPTH => {
                    leave_out(format!("it is over {MAX_SOURCE_DEPTH} folders deep"));
                }
                (Some(_), FileKind::Folder) => return Ok(true),
                (Some(_), FileKind::File) if wanted(path) => found.paths.push(path.to_owned()),
                (Some(_), FileKind::Link) if wanted(path) => {
                    leave_out("it is a link, and links are not followed".to_owned());
                }
                (Some(_), FileKind::Other) if wanted(path) => leave_out("it is not a regular file".to_owned()),
                _ => {}
            }
            Ok(false)
        });
        found.paths.sort();
        found.left_out.sort();
        found
    }
}

/// Returns the path of this name in a folder.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
