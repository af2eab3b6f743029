//! Files outside of the project that only their user can read: mode 0600, in a folder of mode 0700.
//!
//! The parent folder may be world-writable. So a folder that another user made, or that a link leads to, is neither
//! written to nor trusted.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::folder::{FileRefusal, Folder, foreign_folder, is_missing, parent_of, regular};
use super::temp::{Durability, rename_new};
use crate::error::{self, Error};
use crate::system::posix::fd::{AsFd as _, BorrowedFd};
use crate::system::posix::fs::{Mode, OFlags, fchmod, fstat, open};
use crate::system::posix::process::geteuid;
use crate::system::posix::{DirBuilderExt as _, MetadataExt as _};

/// The mode of folders that are created.
const FOLDER: u32 = 0o700;

/// Writes the file `name` in `folder`, replacing an older one, makes it durable, and returns its path. Missing folders
/// are created.
///
/// # Errors
///
/// `PermissionDenied` if the folder belongs to another user, and those of the file system. An older file is then
/// unchanged.
pub(crate) fn write_private(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    make_own_folder(folder)?.write_private(name, bytes, Durability::Synced)?;
    Ok(folder.join(name))
}

/// Fails if a person's own memory, which exists, could be another user's: if its folder is a link, or belongs to one. Nobody
/// else can read it from then on.
///
/// # Errors
///
/// [`Error::Unusable`], and [`Error::Io`] if the folder cannot be opened.
pub(crate) fn check_own_memory(folder: &Path) -> error::Result<()> {
    let refused = |reason| {
        let message = format!("`{}` is not used as your own memory: {reason}", folder.display());
        Error::unusable(message, "put a folder of yours there, or name another place with XDG_DATA_HOME")
    };
    if folder.is_symlink() {
        return Err(refused("it is a link, and links are not followed"));
    }
    match Folder::open_own(folder).and_then(|own| make_private(own.as_fd(), Mode::RWXU)) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(refused("it belongs to another user")),
        Err(source) => Err(Error::Io { action: "open", path: folder.to_owned(), source }),
    }
}

/// Makes the folder of a person's own memory, which nobody else can read.
///
/// # Errors
///
/// Those of [`check_own_memory`], and [`Error::Io`] if it cannot be made.
pub(crate) fn make_own_memory(folder: &Path) -> error::Result<()> {
    if folder.symlink_metadata().is_err() {
        make_own_folder(folder).map_err(|source| Error::Io { action: "create", path: folder.to_owned(), source })?;
    }
    check_own_memory(folder)
}

/// Opens a folder that this user owns, and that nobody else can read from then on. Creates it if it is missing.
///
/// # Errors
///
/// Those of [`write_private`].
pub(super) fn make_own_folder(folder: &Path) -> io::Result<Folder> {
    let opened = match Folder::open_own(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Under `sudo`, the home may be that of another user, who could not use the folder.
            let above = folder.ancestors().find_map(|above| std::fs::metadata(above).ok());
            if geteuid().is_root() && above.is_some_and(|above| above.uid() != 0) {
                return Err(foreign_folder());
            }
            DirBuilder::new().recursive(true).mode(FOLDER).create(folder)?;
            Folder::open_own(folder)?
        }
        opened => opened?,
    };
    make_private(opened.as_fd(), Mode::RWXU)?;
    Ok(opened)
}

/// Removes the access of all others to a folder or file that this user owns.
///
/// # Errors
///
/// Those of the file system.
pub(super) fn make_private(opened: BorrowedFd<'_>, mode: Mode) -> io::Result<()> {
    let stat = fstat(opened)?;
    if stat.st_mode & 0o077 != 0 && stat.st_uid == geteuid().as_raw() {
        fchmod(opened, mode)?;
    }
    Ok(())
}

/// Removes a file that [`write_private`] has written; a missing one is not an error. Returns whether there was one.
///
/// # Errors
///
/// Those of the file system.
pub(crate) fn remove_private(path: &Path) -> io::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives such a file another extension, unless that name is taken, and returns its path.
///
/// # Errors
///
/// `AlreadyExists`, and those of the file system.
pub(crate) fn rename_private(path: &Path, extension: &str) -> io::Result<PathBuf> {
    let renamed = path.with_extension(extension);
    let names = path.file_name().zip(renamed.file_name()).and_then(|(old, new)| old.to_str().zip(new.to_str()));
    let (old, new) = names.ok_or(io::ErrorKind::InvalidFilename)?;
    let folder = Folder::open(parent_of(path))?;
    rename_new((&folder, old), (&folder, new))?;
    Ok(renamed)
}

/// Returns the names of the files in a folder of this user; none if there is no such folder.
///
/// # Errors
///
/// Those of [`write_private`].
pub(crate) fn private_names(folder: &Path) -> io::Result<Vec<String>> {
    match Folder::open_own(folder) {
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        opened => Ok(opened?.names()?.into_iter().filter_map(|name| name.into_string().ok()).collect()),
    }
}

/// Reads a regular file with any content, if it begins with `start`.
///
/// # Errors
///
/// `InvalidData` if it begins like that and has more than `limit` bytes, and those of the file system.
pub(crate) fn read_if_begins(path: &Path, start: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut file = match open_regular(path) {
        Err(error) if FileRefusal::Kind.is(&error) => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    (&mut file).take(start.len() as u64).read_to_end(&mut bytes)?;
    if bytes != start {
        return Ok(None);
    }
    file.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it is over the limit of {limit} bytes")));
    }
    Ok(Some(bytes))
}

/// Opens a regular file that this user owns for reading; links are followed.
///
/// # Errors
///
/// `PermissionDenied` if the file belongs to another user, `InvalidInput` if it is not a regular file, and those of the
/// file system.
pub(crate) fn open_own_file(path: &Path) -> io::Result<File> {
    let file = open_regular(path)?;
    if fstat(&file)?.st_uid == geteuid().as_raw() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file belongs to another user"))
}

/// Opens a regular file for reading; links are followed.
fn open_regular(path: &Path) -> io::Result<File> {
    // With `NONBLOCK` the open of a FIFO returns at once; on a regular file it means nothing.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    regular(open(path, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn saved_files_are_private() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/b");
        let path = write_private(&folder, "x.json", b"one").unwrap();
        assert_eq!((mode(&path), mode(&folder), mode(&place.path().join("a"))), (0o600, 0o700, 0o700));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        write_private(&folder, "x.json", b"two").unwrap();
        assert_eq!((mode(&folder), fs::read_to_string(&path).unwrap().as_str()), (0o700, "two"));
        assert_eq!(private_names(&folder).unwrap().len(), 1);
        symlink(&folder, place.path().join("link")).unwrap();
        assert!(write_private(&place.path().join("link"), "x.json", b"").is_err());
        assert!(private_names(&place.path().join("absent")).unwrap().is_empty());
    }

    #[test]
    fn a_file_of_a_person_is_not_replaced_by_a_renamed_one() {
        let place = tempfile::tempdir().unwrap();
        let path = write_private(&place.path().join("a"), "x.json", b"kept").unwrap();
        let taken = path.with_extension("answer");
        fs::write(&taken, "mine").unwrap();
        assert_eq!(rename_private(&path, "answer").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(
            (fs::read_to_string(&taken).unwrap().as_str(), fs::read(&path).unwrap()),
            ("mine", b"kept".to_vec())
        );
        fs::remove_file(&taken).unwrap();
        assert_eq!(rename_private(&path, "answer").unwrap(), taken);
        assert_eq!((remove_private(&taken).unwrap(), remove_private(&taken).unwrap()), (true, false));
    }

    #[test]
    fn reading_stops_at_the_limit() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x");
        let read = |text: &str, limit| {
            fs::write(&path, text).unwrap();
            read_if_begins(&path, b"{\"a", limit)
        };
        assert_eq!(read("{\"a\":1}", 7).unwrap().as_deref(), Some(&b"{\"a\":1}"[..]));
        assert_eq!(read("{\"a\":1}", 6).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!((read("{\"b\":1}", 9).unwrap(), read("", 9).unwrap()), (None, None));
        assert_eq!(read_if_begins(place.path(), b"x", 9).unwrap(), None);
        assert!(read_if_begins(&place.path().join("absent"), b"x", 9).is_err());
    }
}
