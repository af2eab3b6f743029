//! Replaces a file outside of a memory, such as a checklist.
//!
//! A reader sees the old bytes or the new ones, and only bytes that the caller has read are replaced. This file knows
//! nothing of their meaning.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
#[cfg(feature = "runner")]
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat, renameat};

use super::folder::Folder;
use super::temp::{Access, Durability, Temp};

/// Replaces the bytes of the file at `path`, if they are `expected`, with `new`. Its mode and its extended
/// attributes stay the same, and so does its owner if the system allows it. Returns `false`, and changes nothing, if it no longer contains `expected`.
///
/// A link in the path's last part is replaced, not followed.
///
/// # Errors
///
/// That of the file system; the file is then unchanged.
#[cfg(feature = "runner")]
pub(crate) fn replace_file(path: &Path, expected: &[u8], new: &[u8]) -> io::Result<bool> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = Folder::open_root(path.parent().unwrap_or(Path::new("/")))?;
    replace_in(&folder, name, new, || Ok(std::fs::read(path)? == expected))
}

/// Replaces the bytes of a file in this folder with `new`, if `is_unchanged` still says so when they are on the disk.
/// Its mode and its extended attributes stay the same, and so does its owner if the system allows it.
pub(super) fn replace_in(
    folder: &Folder,
    name: &OsStr,
    new: &[u8],
    is_unchanged: impl FnOnce() -> io::Result<bool>,
) -> io::Result<bool> {
    // With `NONBLOCK` the open of a FIFO returns at once; on a regular file it means nothing.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let like = File::from(openat(folder, name, flags, Mode::empty())?);
    let temp = Temp::write(folder, new, Access::Like(&like), Durability::Synced)?;
    if !is_unchanged()? {
        return Ok(false);
    }
    renameat(folder, temp.name(), folder, name)?;
    temp.keep();
    // The file is in place; the rest depends on the system.
    let _ = folder.sync();
    Ok(true)
}
