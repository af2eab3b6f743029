//! The folder of an export.
//!
//! It is replaced as a whole: the files are written into a new one beside it, which then takes its place. So an export is complete or not
//! there, and no link in a folder leads a file elsewhere. A file that an export did not write, or that was changed since, is never removed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ralph_memory::Error;
use ralph_memory::memory::ProcessIdentity;
use xxhash_rust::xxh3::xxh3_128;

use crate::error::UsageError;

/// The file that lists what was written with its hashes, by which a folder is recognised.
const MANIFEST: &str = ".ralph-memory-export";
/// The first line of that file.
const HEADER: &str = "# Written by `ralph-memory serve --export`. The next export replaces these files.";
/// The largest file of an export that is recognised, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// A folder that is written beside the one whose place it takes; removed unless it does.
pub(super) struct ExportFolder {
    folder: PathBuf,
    fresh: PathBuf,
    old: PathBuf,
    manifest: File,
    files: usize,
}

impl ExportFolder {
    /// Begins to write what [`ExportFolder::finish`] puts in the place of `folder`, which is missing, empty or an earlier export.
    pub(super) fn begin(folder: &Path) -> anyhow::Result<ExportFolder> {
        let refuse = |reason: String| {
            let hint = "name a folder that does not exist, or an earlier export".to_owned();
            Err(UsageError { message: format!("cannot export to `{}`: {reason}", folder.display()), hint }.into())
        };
        let Some(name) = folder.file_name() else { return refuse("it has no name of its own".to_owned()) };
        match fs::symlink_metadata(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("read", folder, error)),
            Ok(found) if !found.is_dir() => return refuse("it is not a folder".to_owned()),
            Ok(_) => {
                if let Some(reason) = stranger(folder, true)? {
                    return refuse(reason);
                }
            }
        }
        let parent = folder.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(|source| failed("create", parent, source))?;
        let beside = |what: &str| parent.join(format!(".{}.{what}-{}", name.to_string_lossy(), std::process::id()));
        let (fresh, old) = (beside("new"), beside("old"));
        fs::create_dir(&fresh).map_err(|source| failed("create", &fresh, source))?;
        let path = fresh.join(MANIFEST);
        let manifest = File::create_new(&path).map_err(|source| failed("create", &path, source))?;
        let mut folder = ExportFolder { folder: folder.to_owned(), fresh, old, manifest, files: 0 };
        folder.list(HEADER)?;
        Ok(folder)
    }

    /// Writes a file, whose path below the folder has no name but the program's own.
    pub(super) fn write(&mut self, file: &str, text: &str) -> anyhow::Result<()> {
        self.list(&format!("{:032x} {file}", xxh3_128(text.as_bytes())))?;
        let path = self.fresh.join(file);
        let parent = path.parent().context("a file is in a folder")?;
        fs::create_dir_all(parent).map_err(|source| failed("create", parent, source))?;
        // No page may take the place of another.
        let write = |mut file: File| file.write_all(text.as_bytes());
        File::create_new(&path).and_then(write).map_err(|source| failed("write", &path, source))?;
        self.files += 1;
        Ok(())
    }

    /// Returns how many files were written.
    pub(super) fn files(&self) -> usize {
        self.files
    }

    /// Adds a line to the manifest, before the file is there: so a folder that was left is known.
    fn list(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.manifest, "{line}").map_err(|source| failed("write", &self.fresh.join(MANIFEST), source))
    }

    /// Puts the folder in its place, and returns how many files were written.
    pub(super) fn finish(self) -> anyhow::Result<usize> {
        let ExportFolder { folder, fresh, old, files, .. } = &self;
        let had_one = match fs::rename(folder, old) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed("replace", folder, error)),
        };
        if let Err(error) = fs::rename(fresh, folder) {
            if had_one {
                fs::rename(old, folder).map_err(|source| failed("restore", folder, source))?;
            }
            return Err(failed("write", folder, error));
        }
        if had_one {
            fs::remove_dir_all(old).map_err(|source| failed("remove", old, source))?;
        }
        // Where this fails, something stays that was there before.
        let _ = sweep(folder);
        Ok(*files)
    }
}

impl Drop for ExportFolder {
    fn drop(&mut self) {
        // It has nothing but what was just written, and is not there where it took its place.
        let _ = fs::remove_dir_all(&self.fresh);
    }
}

/// Removes what exports to this folder left beside it that were killed.
fn sweep(folder: &Path) -> io::Result<()> {
    let parent = folder.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let prefixes = [format!(".{name}.new-"), format!(".{name}.old-")];
    for found in fs::read_dir(parent)? {
        let found = found?;
        let name = found.file_name().to_string_lossy().into_owned();
        let process = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix.as_str())?.parse::<u32>().ok());
        let is_over = process.is_some_and(|process| ProcessIdentity::of(process).is_none());
        // The last file may not be whole.
        if is_over && found.file_type()?.is_dir() && matches!(stranger(&found.path(), false), Ok(None)) {
            fs::remove_dir_all(found.path())?;
        }
    }
    Ok(())
}

/// Returns why a folder must not be removed: it has a file that no export wrote, or with `unchanged` one that was changed since.
fn stranger(folder: &Path, unchanged: bool) -> anyhow::Result<Option<String>> {
    let manifest = read(&folder.join(MANIFEST)).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let mut lines = manifest.lines();
    let known: HashMap<&str, &str> = match lines.next() {
        Some(HEADER) => lines.filter_map(|line| line.split_once(' ').map(|(hash, path)| (path, hash))).collect(),
        _ => HashMap::new(),
    };
    for found in walkdir::WalkDir::new(folder).min_depth(1) {
        let found = found.map_err(|error| failed("read", folder, error.into()))?;
        if found.file_type().is_dir() {
            continue;
        }
        let path = found.path().strip_prefix(folder).unwrap_or(found.path()).display().to_string();
        let is_file = found.file_type().is_file();
        match known.get(path.as_str()) {
            _ if is_file && path == MANIFEST && manifest.starts_with(HEADER) => {}
            Some(_) if is_file && !unchanged => {}
            Some(hash) if is_file => {
                let is_same = |bytes: Vec<u8>| format!("{:032x}", xxh3_128(&bytes)) == *hash;
                if !read(found.path()).is_some_and(is_same) {
                    return Ok(Some(format!("`{path}` in it was changed since the export")));
                }
            }
            _ => return Ok(Some(format!("`{path}` in it is not of an export"))),
        }
    }
    Ok(None)
}

/// Returns the bytes of a file; `None` for what is not a file, or too large for one of an export.
fn read(path: &Path) -> Option<Vec<u8>> {
    let found = fs::symlink_metadata(path).ok()?;
    (found.is_file() && found.len() <= MAX_FILE).then(|| fs::read(path).ok()).flatten()
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> anyhow::Error {
    Error::Io { action, path: path.to_owned(), source }.into()
}
