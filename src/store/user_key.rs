//! The random key of this user, from which the keys of all checksums are derived.
//!
//! The inode number and times of a file are not secret: an archive can guess them if files have no birth time, and
//! whoever creates a file system chooses them. The key is outside of every project, in the user's own folder, and is
//! read only if nobody else could have read or written it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use super::folder::{Folder, is_errno};
use super::private::make_own_folder;
use super::seal::{SUM_BYTES, SealKey};
use super::temp::{Access, Durability, PRIVATE_FILE};
use crate::system::posix::file_id;
use crate::system::posix::fs::{Access as AccessKind, Mode, access, fstat};
use crate::system::posix::io::Errno;
use crate::system::posix::process::geteuid;

/// The name of the file.
const KEY: &str = "key";
/// The permission bits of everyone but the user.
const OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);
/// The key of a process that has no folder for one.
static OF_PROCESS: OnceLock<SealKey> = OnceLock::new();

/// The key, and where it is kept.
#[derive(Debug, Clone, Default)]
pub(super) struct UserKey {
    /// In the order in which they are tried.
    folders: Vec<PathBuf>,
    known: OnceLock<SealKey>,
}

impl UserKey {
    /// Returns a key that is kept in the first of these folders that can be written.
    pub(super) fn kept_in(folders: Vec<PathBuf>) -> UserKey {
        UserKey { folders, known: OnceLock::new() }
    }

    /// Returns whether the caller named folders, which a program that links the library need not do.
    pub(super) fn has_folders(&self) -> bool {
        !self.folders.is_empty()
    }

    /// Returns the stored key, if there is one. Writes nothing.
    pub(super) fn kept(&self) -> Option<SealKey> {
        self.first(read).ok()
    }

    /// Does the same, and makes the key if there is none.
    ///
    /// # Errors
    ///
    /// `NotFound` without folders, and the last error of the file system if none of them can be used.
    pub(super) fn make_kept(&self) -> io::Result<SealKey> {
        self.first(make)
    }

    /// Returns the key of the first folder that has one. Only the key of the very first folder is remembered: a later
    /// folder is a mere substitute.
    fn first(&self, key_in: fn(&Path) -> io::Result<SealKey>) -> io::Result<SealKey> {
        if let Some(known) = self.known.get() {
            return Ok(*known);
        }
        let mut failed = io::ErrorKind::NotFound.into();
        for (number, folder) in self.folders.iter().enumerate() {
            match key_in(folder) {
                Ok(key) if number == 0 => return Ok(*self.known.get_or_init(|| key)),
                Ok(key) => return Ok(key),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Returns why the key cannot be stored, if there is none yet. Writes nothing, so it does not notice a full disk.
    pub(super) fn problem(&self) -> Option<io::Error> {
        let refusal = |folder: &PathBuf| {
            let nearest = folder.ancestors().find(|above| above.exists())?;
            if !nearest.is_dir() {
                return Some(io::ErrorKind::NotADirectory.into());
            }
            access(nearest, AccessKind::WRITE_OK | AccessKind::EXEC_OK).err().map(io::Error::from)
        };
        if self.kept().is_some() {
            return None;
        }
        let refusals: Option<Vec<io::Error>> = self.folders.iter().map(refusal).collect();
        refusals.and_then(|mut refusals| refusals.pop())
    }

    /// Returns the stored key, or else that of this process, if it has sealed anything.
    pub(super) fn get(&self) -> Option<SealKey> {
        self.kept().or_else(|| OF_PROCESS.get().copied())
    }

    /// Does the same, and makes the key if there is none. A key that cannot be stored belongs to this process alone,
    /// and no other process accepts what it seals.
    ///
    /// # Errors
    ///
    /// That of the system if it has no random numbers.
    pub(super) fn make(&self) -> io::Result<SealKey> {
        if let Ok(kept) = self.make_kept() {
            return Ok(kept);
        }
        let random = SealKey::new(random()?);
        Ok(*OF_PROCESS.get_or_init(|| random))
    }
}

/// Reads the key in a folder. No other user can make a file that passes, because it must be owned by this user and
/// readable by nobody else.
fn read(folder: &Path) -> io::Result<SealKey> {
    let mut file = Folder::open(folder)?.open_file(KEY)?;
    let stat = fstat(&file)?;
    let is_own = stat.st_uid == geteuid().as_raw() && Mode::from_raw_mode(stat.st_mode) & OTHERS == Mode::empty();
    if !is_own || u64::try_from(stat.st_size) != Ok(SUM_BYTES as u64) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a key that only its user can read"));
    }
    let mut key = [0; SUM_BYTES];
    file.read_exact(&mut key)?;
    Ok(SealKey::new(key))
}

/// Does the same, and makes the key if there is none, and the folder. All processes that do so at once get the same key.
fn make(folder: &Path) -> io::Result<SealKey> {
    if let Ok(key) = read(folder) {
        return Ok(key);
    }
    let opened = make_own_folder(folder)?;
    if opened.is_taken(KEY)? {
        match read(folder) {
            Err(error) if passes(&error) => return Err(error),
            // Something else has the name, in a folder that only this program uses. A link is removed itself, not its
            // target.
            Err(_) => opened.remove_file(KEY)?,
            // Another process created it first.
            key => return key,
        }
    }
    opened.create_file(KEY, &random()?, Access::Mode(PRIVATE_FILE), Durability::Synced)?;
    read(folder)
}

/// Returns whether the key may be valid despite this error while reading it.
fn passes(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::IO, Errno::STALE].iter().any(|errno| is_errno(error, *errno))
}

fn random() -> io::Result<[u8; SUM_BYTES]> {
    let mut bytes = [0; SUM_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// Returns what distinguishes a place with this file from every other, as [`place_of`] does.
///
/// # Errors
///
/// Those of the file system.
pub(super) fn place_of_file(file: &File, memory: impl Fn() -> PathBuf) -> io::Result<Vec<u8>> {
    let stat = file.metadata()?;
    let born = stat.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    Ok(place_of(file_id(file, &stat)?.1, born.map(|born| born.as_nanos()), memory))
}

/// Returns what distinguishes the folder with this lock file from every other: the file's inode number and birth time,
/// which a copy does not keep, or, on a file system without birth times, the inode number and the folder's path.
fn place_of(ino: u64, born: Option<u128>, memory: impl Fn() -> PathBuf) -> Vec<u8> {
    match born {
        Some(born) => format!("{ino} {born}").into_bytes(),
        None => [format!("{ino} at ").as_bytes(), memory().as_os_str().as_encoded_bytes()].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(key: SealKey) -> [u8; SUM_BYTES] {
        key.sum(&[b"x"])
    }

    #[test]
    fn processes_that_make_the_key_at_once_agree() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("state/ralph-memory");
        let make = || sum(UserKey::kept_in(vec![folder.clone()]).make().unwrap());
        let sums: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(sums.iter().all(|one| *one == sums[0] && *one == make()));
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "nothing is left over");
        let other = UserKey::kept_in(vec![place.path().join("other")]);
        assert_eq!(other.kept(), None);
        assert_ne!(sum(other.make().unwrap()), sums[0]);
    }

    #[test]
    fn the_first_folder_that_can_be_written_is_used() {
        let place = tempfile::tempdir().unwrap();
        let [one, other, third] = ["one", "other", "third"].map(|name| place.path().join(name));
        std::fs::write(&one, "in the way").unwrap();
        let made = UserKey::kept_in(vec![one.clone(), other.clone()]).make_kept().unwrap();
        assert_eq!(read(&other).unwrap(), made);
        let before = UserKey::kept_in(vec![third.clone(), other]);
        assert_eq!(before.kept(), Some(made));
        let first = before.make_kept().unwrap();
        assert!(first != made && before.kept() == Some(first) && read(&third).unwrap() == first);
        let nowhere = UserKey::kept_in(vec![one]);
        assert!(nowhere.make_kept().is_err() && nowhere.kept().is_none());
        // In this process it counts, even for another memory.
        assert_eq!(Some(nowhere.make().unwrap()), UserKey::default().get());
    }

    #[test]
    fn a_folder_is_told_from_a_copy_without_birth_times_too() {
        let place_in = |memory: &'static str, ino, born| place_of(ino, born, || memory.into());
        let place = |ino, born| place_in("/a/.ralph", ino, born);
        assert_eq!(place(1, Some(7)), place_in("/b/.ralph", 1, Some(7)), "it may move");
        assert!(place(1, Some(7)) != place(1, Some(8)) && place(1, Some(7)) != place(2, Some(7)));
        assert_ne!(place(1, None), place_in("/b/.ralph", 1, None));
        assert!(place(1, None) != place(1, Some(0)) && place(1, None) != place(2, None));
    }
}
