//! New files that only this user can read: the prompt, which is removed when the agent has ended, and logs.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::store::Folder;

/// Returns 16 hexadecimal digits, for a name that nobody can guess beforehand.
pub(super) fn random_name() -> String {
    // Its keys come from the system's randomness.
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Creates a private file with the first free one of these names. An existing file or link is left alone, whoever
/// guessed the name.
pub(super) fn create_new(folder: &Folder, names: impl IntoIterator<Item = String>) -> io::Result<(String, File)> {
    for name in names {
        match folder.create_private(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (name, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A prompt in a file that only this user can read, which is removed when this is dropped.
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
        let names = std::iter::repeat_with(|| format!("ralph-memory-{}.md", random_name()));
        let (name, mut file) = create_new(&opened, names).map_err(io_error)?;
        let written = PromptFile { path: folder.join(&name), folder: opened, name };
        file.write_all(prompt.as_bytes()).map_err(io_error)?;
        Ok(written)
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
