//! Temporary files, and the ways to give a file a name.
//!
//! A file is written under a temporary name in the folder of its target, and gets its own name when it is complete.
//! Until then, any failure removes it. This file knows nothing about locks or replacement rules.

use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use super::folder::{FileKind, Folder};
use super::name::MAX_NAME_BYTES;
use crate::system::posix::fs::{AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, fstat, openat, renameat, unlinkat};
use crate::system::posix::io::Errno;
use crate::system::{self, RenameKind};
use crate::text::floor;

/// The prefix of every temporary name.
const PREFIX: &str = ".tmp-";
/// The mode of a new file, before the process's umask.
pub(super) const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
/// The mode of a file that only its owner can read and lock.
pub(super) const PRIVATE_FILE: Mode = Mode::from_raw_mode(0o600);

/// Whether bytes must survive a power cut before the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// They are on the disk.
    Synced,
    /// They can be rebuilt.
    Unsynced,
}

/// Who may read a new file, and who owns it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Access<'a> {
    /// Anyone whom the umask allows.
    New,
    /// At most those whom both this mode and the umask allow.
    Mode(Mode),
    /// The same as for this open file: its mode, and its owner if the system allows it.
    Like(&'a File),
}

/// A file under a temporary name, removed when this is dropped.
#[derive(Debug)]
pub(super) struct Temp<'a> {
    folder: &'a Folder,
    name: Option<String>,
}

impl<'a> Temp<'a> {
    /// Writes a new file.
    pub(super) fn write(
        folder: &'a Folder,
        bytes: &[u8],
        access: Access<'_>,
        durability: Durability,
    ) -> io::Result<Temp<'a>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = first_mode(access);
        let (temp, descriptor) = loop {
            let name = temporary_name();
            match openat(folder, &name, flags, mode) {
                Ok(descriptor) => break (Temp { folder, name: Some(name) }, descriptor),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let mut file = File::from(descriptor);
        file.write_all(bytes)?;
        if let Access::Like(like) = access {
            make_like(&file, like)?;
        }
        if durability == Durability::Synced {
            file.sync_all()?;
        }
        Ok(temp)
    }

    /// Returns its name in the folder.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Gives it a name that describes its content after an exchange with `target`.
    pub(super) fn announce_exchange(&mut self, target: &str, expected: &[u8], new: &[u8]) -> io::Result<()> {
        let name = exchange_name(self.name(), target, expected, new);
        renameat(self.folder, self.name(), self.folder, &name)?;
        self.name = Some(name);
        Ok(())
    }

    /// Keeps the file: it has its own name, or its content must not be lost.
    pub(super) fn keep(mut self) -> String {
        self.name.take().unwrap_or_default()
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // The call has already failed, or `sweep` will remove the file.
            let _ = unlinkat(self.folder, name, AtFlags::empty());
        }
    }
}

/// Returns the mode of the file while it is written. The bytes of a private file are never readable by others, not even
/// for a moment.
pub(super) fn first_mode(access: Access<'_>) -> Mode {
    match access {
        Access::New => NEW_FILE,
        Access::Mode(mode) => mode,
        // It gets its mode after its access control list; until then, its group bits would be the mask of that list.
        Access::Like(_) => PRIVATE_FILE,
    }
}

fn make_like(file: &File, old: &File) -> io::Result<()> {
    let (own, like) = (fstat(file)?, fstat(old)?);
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid) {
        // Root may give a file away; most other users may not, and the new file then belongs to its writer.
        let _ = fchown(file, Some(Uid::from_raw(like.st_uid)), Some(Gid::from_raw(like.st_gid)));
    }
    #[cfg(target_os = "linux")]
    if !system::is_portable() {
        // The folder may give new files an access control list, and so give others access.
        let _ = crate::system::posix::fs::fremovexattr(file, "system.posix_acl_access");
    }
    let mode = like.st_mode & 0o7777;
    // Set the mode after the owner, because `chown` clears some bits, and after the access control list, which sets
    // bits of its own.
    if fstat(file)?.st_mode & 0o7777 != mode {
        fchmod(file, Mode::from_raw_mode(mode))?;
    }
    Ok(())
}

/// Returns a name that no other call uses, in this process or another.
pub(super) fn temporary_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let process = std::process::id();
    // A `RandomState` gets its keys from the system's random number generator.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(process);
    hasher.write_u64(COUNTER.fetch_add(1, Ordering::Relaxed));
    format!("{PREFIX}{process}-{:016x}", hasher.finish())
}

/// Returns the name under which a file waits for an exchange with `target`. After the exchange it contains the
/// displaced version. The fingerprints are those of the two versions with a copy elsewhere, which may be removed.
pub(super) fn exchange_name(temporary: &str, target: &str, expected: &[u8], new: &[u8]) -> String {
    let start = format!("{temporary}-{:016x}-{:016x}-", xxh3_64(expected), xxh3_64(new));
    let room = MAX_NAME_BYTES - start.len();
    format!("{start}{}", &target[..floor(target, room)])
}

/// The parts of a temporary file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leftover<'a> {
    /// The process that made it.
    pub(super) process: u32,
    /// The name of the file it was to be exchanged with, perhaps truncated, and the fingerprints of the versions that
    /// may be removed.
    pub(super) exchange: Option<(&'a str, [u64; 2])>,
}

impl<'a> Leftover<'a> {
    /// Parses a file's name; `None` if it is not one that [`temporary_name`] makes.
    pub(super) fn parse(name: &'a str) -> Option<Leftover<'a>> {
        let mut parts = name.strip_prefix(PREFIX)?.splitn(5, '-');
        let process = parts.next()?.parse().ok()?;
        hexadecimal(parts.next()?)?;
        let Some(expected) = parts.next() else {
            return Some(Leftover { process, exchange: None });
        };
        let fingerprints = [hexadecimal(expected)?, hexadecimal(parts.next()?)?];
        Some(Leftover { process, exchange: Some((parts.next()?, fingerprints)) })
    }

    /// Returns whether a file of this name and content can be removed without losing anything.
    pub(super) fn is_known(&self, bytes: &[u8]) -> bool {
        self.exchange.is_none_or(|(_, known)| known.contains(&xxh3_64(bytes)))
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok())?
}

/// Renames a file or a folder, in the same folder or to another, and never replaces an existing one (`AlreadyExists`).
pub(super) fn rename_new(from: (&Folder, &str), to: (&Folder, &str)) -> io::Result<()> {
    if from.0.has_rename_flags && system::rename(RenameKind::New, from, to)? {
        return Ok(());
    }
    if from.0.stat_of(from.1)?.kind == FileKind::Folder {
        return match renameat(from.0, from.1, to.0, to.1) {
            // It replaces a folder with nothing in it, which loses nothing.
            Err(Errno::NOTEMPTY) => Err(io::ErrorKind::AlreadyExists.into()),
            renamed => Ok(renamed?),
        };
    }
    // Claims the name with an empty file, so that the rename replaces this call's own file.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(to.0, to.1, flags, NEW_FILE)?;
    renameat(from.0, from.1, to.0, to.1).map_err(|error| {
        let _ = unlinkat(to.0, to.1, AtFlags::empty());
        error.into()
    })
}

/// Gives a file another spelling of its name.
pub(super) fn respell(from: (&Folder, &str), to: (&Folder, &str)) -> io::Result<()> {
    Ok(renameat(from.0, from.1, to.0, to.1)?)
}

/// Exchanges two names. `false` means that nothing was done because the system does not support it.
pub(super) fn exchange(a: (&Folder, &str), b: (&Folder, &str)) -> io::Result<bool> {
    Ok(a.0.has_rename_flags && system::rename(RenameKind::Exchange, a, b)?)
}
