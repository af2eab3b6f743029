//! Keeping a folder out of a repository for one clone alone, which nobody else sees.

use std::io;
use std::path::PathBuf;

use super::WorkTree;
use crate::error::{Error, Result};
use crate::store::write_file;

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
            let reason =
                format!("it tracks files of `{folder}`; `git rm -r --cached {folder}` ends that, for the whole team");
            return Err(refused(reason));
        }
        if self.is_excluded()? {
            return Ok(None);
        }
        let Some(path) = self.read(&["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]).line()?
        else {
            return Err(refused("it does not say where its list of excluded files is".to_owned()));
        };
        let path = PathBuf::from(path);
        let failed = |action, source| Error::Io { action, path: path.clone(), source };
        let mut list = match std::fs::metadata(&path) {
            Ok(file) if file.len() > MAX_LIST => return Err(failed("read", io::ErrorKind::FileTooLarge.into())),
            Ok(_) => std::fs::read(&path).map_err(|source| failed("read", source))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(failed("read", source)),
        };
        if list.last().is_some_and(|last| *last != b'\n') {
            list.push(b'\n');
        }
        list.extend_from_slice(format!("/{}/\n", escaped(folder)).as_bytes());
        write_file(&path, &list)?;
        if !self.is_excluded()? {
            let reason = format!("it includes `{folder}` again, whatever `{}` says", path.display());
            return Err(refused(reason));
        }
        Ok(Some(path))
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
