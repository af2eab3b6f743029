//! Extended attributes: what people and the system store beside a file's bytes.
//!
//! A file is replaced by another file, which gets the attributes of the old one: a person's own attributes, the access
//! control list, and the labels of security modules. What depends on the bytes, such as a signature, stays behind.

use std::fs::File;
use std::io;

use crate::system::posix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use crate::system::posix::io::Errno;

/// The attribute of a POSIX access control list.
const ACCESS: &str = "system.posix_acl_access";
/// The attributes that are copied in addition to a person's own.
const SYSTEM: [&str; 3] = [ACCESS, "security.selinux", "security.SMACK64"];

/// Gives `new` the attributes of `old`. What the system does not let this user copy is left out.
///
/// # Errors
///
/// Those of the file system if it has no room for one of a person's own attributes.
pub(super) fn copy_attributes(old: &File, new: &File) -> io::Result<()> {
    let list = grown(|buffer| flistxattr(old, buffer)).unwrap_or_default();
    let names = list.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    for name in names.clone().filter(|name| !name.is_empty()) {
        let is_own = name.starts_with("user.");
        if !is_own && !SYSTEM.contains(&name) {
            continue;
        }
        let Some(value) = grown(|buffer| fgetxattr(old, name, buffer)) else { continue };
        match fsetxattr(new, name, &value, XattrFlags::empty()) {
            Err(error) if is_own && !matches!(error, Errno::PERM | Errno::ACCESS | Errno::NOTSUP) => {
                return Err(error.into());
            }
            _ => {}
        }
    }
    if !names.clone().any(|name| name == ACCESS) {
        // The folder may give new files such a list, and so give others access.
        let _ = fremovexattr(new, ACCESS);
    }
    Ok(())
}

/// Returns what `read` writes into a buffer that is large enough.
fn grown(read: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Option<Vec<u8>> {
    /// The largest size that the system allows.
    const MOST: usize = 64 * 1024;
    let mut buffer = vec![0; 1024];
    loop {
        match read(&mut buffer) {
            Ok(size) => {
                buffer.truncate(size);
                return Some(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < MOST => buffer.resize(MOST, 0),
            Err(_) => return None,
        }
    }
}
