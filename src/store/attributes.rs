//! Extended attributes: what people and the system keep beside a file's bytes.
//!
//! A file is replaced by another one, which gets those of the old one: a person's own attributes, the access control list,
//! and the labels of security modules. What depends on the bytes, such as a signature, stays behind.

use std::fs::File;
use std::io;

/// The attribute of a POSIX access control list.
#[cfg(any(target_os = "linux", target_os = "android", test))]
const ACCESS: &str = "system.posix_acl_access";
/// Those that are copied beside a person's own.
#[cfg(any(target_os = "linux", target_os = "android"))]
const SYSTEM: [&str; 3] = [ACCESS, "security.selinux", "security.SMACK64"];

/// Gives `new` the attributes of `old`. What the system does not let this user copy is left out.
///
/// # Errors
///
/// Those of the file system where it has no room for an attribute of a person's own.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn copy_attributes(old: &File, new: &File) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fremovexattr, fsetxattr};
    use rustix::io::Errno;

    let names = names(old);
    for name in &names {
        let is_own = name.starts_with("user.");
        if !is_own && !SYSTEM.contains(&name.as_str()) {
            continue;
        }
        let Some(value) = value(old, name) else { continue };
        match fsetxattr(new, name.as_str(), &value, XattrFlags::empty()) {
            Err(error) if is_own && !matches!(error, Errno::PERM | Errno::ACCESS | Errno::NOTSUP) => {
                return Err(error.into());
            }
            _ => {}
        }
    }
    if !names.iter().any(|name| name == ACCESS) {
        // The folder may give one to new files, and so access to others.
        let _ = fremovexattr(new, ACCESS);
    }
    Ok(())
}

/// Returns the names of a file's attributes; none if the file system has none.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn names(file: &File) -> Vec<String> {
    let list = grown(|buffer| rustix::fs::flistxattr(file, buffer)).unwrap_or_default();
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.filter_map(|name| String::from_utf8(name.to_owned()).ok()).collect()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn value(file: &File, name: &str) -> Option<Vec<u8>> {
    grown(|buffer| rustix::fs::fgetxattr(file, name, buffer))
}

/// Returns what `read` writes into a buffer that is large enough.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn grown(read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> Option<Vec<u8>> {
    /// The most that the system has.
    const MOST: usize = 64 * 1024;
    let mut buffer = vec![0; 1024];
    loop {
        match read(&mut buffer) {
            Ok(size) => {
                buffer.truncate(size);
                return Some(buffer);
            }
            Err(rustix::io::Errno::RANGE) if buffer.len() < MOST => buffer.resize(MOST, 0),
            Err(_) => return None,
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[allow(clippy::unnecessary_wraps, reason = "there is nothing to do on this system")]
pub(super) fn copy_attributes(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}
