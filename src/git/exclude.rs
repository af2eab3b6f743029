//! Keeping a folder out of a repository for one clone alone, which nobody else sees.

use std::io;
use std::path::PathBuf;

use super::WorkTree;
use crate::error::{Error, Result};
use crate::store::write_file;
use crate::text::printed_command;

/// The largest list that is extended, in bytes.
const MAX_LIST: u64 = 1024 * 1024;

impl WorkTree {
    /// Makes git ignore the folder in this clone, by a line in `info/exclude` of the repository. Returns that file, or
    /// `None` if git ignores the folder already.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] if git tracks files of the folder, since it ignores no such file, or if a later rule includes the folder
    /// again; [`Error::Io`] if the list cannot be read or written.
    pub(crate) fn exclude(&self) -> Result<Option<PathBuf>> {
        let refused = |reason: String| Error::Git { command: "check-ignore".to_owned(), reason };
        let folder = self.prefix.trim_end_matches('/');
        if !self.tracked(&[""])?.is_empty() {
            let untrack = printed_command("git rm -r --cached FOLDER", &[("FOLDER", folder)]);
            let reason = format!("it tracks files of `{folder}`; {untrack} ends that, for the whole team");
            return Err(refused(reason));
        }
        if self.is_excluded()? {
            return Ok(None);
        }
        let (path, mut list) = self.exclusions()?;
        if list.last().is_some_and(|last| *last != b'\n') {
            list.push(b'\n');
        }
        list.extend_from_slice(self.exclusion().as_bytes());
        list.push(b'\n');
        write_file(&path, &list)?;
        if !self.is_excluded()? {
            let reason = format!("it includes `{folder}` again, whatever `{}` says", path.display());
            return Err(refused(reason));
        }
        Ok(Some(path))
    }

    /// Returns the list of what git ignores in this clone, if it has the line of [`WorkTree::exclude`].
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer, and [`Error::Io`] if the list cannot be read.
    pub(crate) fn excluding(&self) -> Result<Option<PathBuf>> {
        let (path, list) = self.exclusions()?;
        let line = self.exclusion();
        Ok(String::from_utf8_lossy(&list).lines().any(|other| other == line).then_some(path))
    }

    /// Returns the line that excludes the folder.
    fn exclusion(&self) -> String {
        format!("/{}/", escaped(self.prefix.trim_end_matches('/')))
    }

    /// Returns the path of the clone's own list of what git ignores, and its content.
    fn exclusions(&self) -> Result<(PathBuf, Vec<u8>)> {
        let Some(path) = self.read(&["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]).line()?
        else {
            let reason = "it does not say where its list of excluded files is".to_owned();
            return Err(Error::Git { command: "rev-parse".to_owned(), reason });
        };
        let path = PathBuf::from(path);
        let failed = |source| Error::Io { action: "read", path: path.clone(), source };
        let list = match std::fs::metadata(&path) {
            Ok(file) if file.len() > MAX_LIST => return Err(failed(io::ErrorKind::FileTooLarge.into())),
            Ok(_) => std::fs::read(&path).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(failed(source)),
        };
        Ok((path, list))
    }

    /// Returns whether git ignores what is in the folder.
    pub(crate) fn is_excluded(&self) -> Result<bool> {
        Ok(!self.ignored(&["config.toml"])?.is_empty())
    }
}

/// Returns a path as a pattern that matches nothing else.
fn escaped(path: &str) -> String {
    let mut pattern = String::new();
    for character in path.chars() {
        if r"\*?[".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}
