//! The prompt as a file that only this user can read, and that goes when the agent has ended.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::random_name::random_name;
use crate::error::{Error, Result};
use crate::store::Folder;

/// A prompt in a file that only this user can read, and that goes when this is dropped.
#[derive(Debug)]
pub(super) struct PromptFile {
    path: PathBuf,
    folder: Folder,
    name: String,
}

impl PromptFile {
    /// Writes a prompt to a new file.
    pub(super) fn write(prompt: &str) -> Result<PromptFile> {
        PromptFile::write_in(&std::env::temp_dir(), prompt)
    }

    fn write_in(folder: &Path, prompt: &str) -> Result<PromptFile> {
        let io_error = |source| Error::Io { action: "create a file in", path: folder.to_owned(), source };
        let opened = Folder::open(folder).map_err(io_error)?;
        loop {
            // A file or a link that is there already is left alone, whoever guessed the name.
            let name = format!("ralph-memory-{}.md", random_name());
            let mut file = match opened.create_private(&name) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(io_error(error)),
            };
            let written = PromptFile { path: folder.join(&name), folder: opened, name };
            file.write_all(prompt.as_bytes()).map_err(io_error)?;
            return Ok(written);
        }
    }

    /// Returns where it is, for an argument.
    pub(super) fn path(&self) -> Result<&str> {
        let source = || io::Error::new(io::ErrorKind::InvalidFilename, "the folder of temporary files is not UTF-8");
        self.path.to_str().ok_or_else(|| Error::Io { action: "name", path: self.path.clone(), source: source() })
    }
}

impl Drop for PromptFile {
    fn drop(&mut self) {
        // The agent may have removed it.
        let _ = self.folder.remove_file(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_prompts_file_is_private_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = PromptFile::write_in(folder.path(), "é").unwrap();
        let path = PathBuf::from(file.path().unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "é");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let other = PromptFile::write_in(folder.path(), "").unwrap();
        assert_ne!(other.path().unwrap(), file.path().unwrap());
        drop((file, other));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(PromptFile::write_in(&path, "").is_err());
    }
}
