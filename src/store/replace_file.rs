//! Replaces a file outside of a memory, such as a checklist.
//!
//! A reader sees the old bytes or the new ones, and only bytes that the caller has read are replaced. This file knows
//! nothing of their meaning.

use std::path::Path;
use std::{fs, io};

use super::folder::Folder;
use super::outside::replace_in;

/// Replaces the bytes of the file at `path`, if they are `expected`, with `new`. Its mode stays the same, and so does
/// its owner if the system allows it. Returns `false`, and changes nothing, if it no longer contains `expected`.
///
/// A link in the path's last part is replaced, not followed.
///
/// # Errors
///
/// That of the file system; the file is then unchanged.
pub(crate) fn replace_file(path: &Path, expected: &[u8], new: &[u8]) -> io::Result<bool> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = Folder::open_root(path.parent().unwrap_or(Path::new("/")))?;
    replace_in(&folder, name, new, || Ok(fs::read(path)? == expected))
}
