//! Replaces and removes files that others also write, without losing any of their versions.
//!
//! A file that is replaced or removed first gets another name, which no editor knows, and is checked under that name. A
//! check before the change would miss what is saved right after it. This file knows nothing about locks, logs and
//! contents.

use std::io;

use super::folder::Folder;
use super::temp::{Access, Durability, Temp, exchange, exchange_name, rename_new, temporary_name};
use crate::system::posix::fs::{AtFlags, renameat, unlinkat};

/// The step of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteStep {
    /// The new bytes are on the disk, under a temporary name.
    Written,
    /// The last check found the old bytes unchanged.
    Checked,
    /// The two have exchanged names.
    Exchanged,
}

/// The result of a replacement.
pub(super) enum ExchangeResult<'a> {
    /// The file has the new bytes.
    Done,
    /// It does not contain the expected bytes, and was not changed.
    Refused,
    /// It has the new bytes, and the version of another program has the temporary name. Or, with the error, it is
    /// uncertain whether everything is on disk.
    Displaced(Temp<'a>, Option<io::Error>),
}

/// Replaces the bytes of a file in this folder, if they are `expected`, with `new`, and makes that durable. Its mode
/// stays the same, and so does its owner if the system allows it. `step` is called after each step; an error from it ends
/// the replacement if nothing has been exchanged yet.
///
/// If the file system cannot exchange names, the last step is a plain rename right after the check.
///
/// # Errors
///
/// Those of the file system. The file is then unchanged.
pub(super) fn replace_in<'a>(
    (folder, name): (&'a Folder, &str),
    expected: &[u8],
    new: &[u8],
    step: &mut dyn FnMut(WriteStep) -> io::Result<()>,
) -> io::Result<ExchangeResult<'a>> {
    let Some(like) = folder.holds(name, expected)? else { return Ok(ExchangeResult::Refused) };
    let mut temp = Temp::write(folder, new, Access::Like(&like), Durability::Synced)?;
    // Windows does not always replace a file that is open.
    drop(like);
    temp.announce_exchange(name, expected, new)?;
    step(WriteStep::Written)?;
    if folder.holds(name, expected)?.is_none() {
        return Ok(ExchangeResult::Refused);
    }
    step(WriteStep::Checked)?;
    match exchange((folder, temp.name()), (folder, name)) {
        Ok(true) => {}
        Ok(false) => {
            if folder.holds(name, expected)?.is_none() {
                return Ok(ExchangeResult::Refused);
            }
            renameat(folder, temp.name(), folder, name)?;
            temp.keep();
            folder.sync()?;
            return Ok(ExchangeResult::Done);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ExchangeResult::Refused),
        Err(error) => return Err(error),
    }
    let _ = step(WriteStep::Exchanged);
    // The displaced version is under the temporary name, which is removed when `temp` is dropped.
    Ok(match folder.sync().and_then(|()| folder.holds(temp.name(), expected)) {
        Ok(Some(_)) => ExchangeResult::Done,
        displaced => ExchangeResult::Displaced(temp, displaced.err()),
    })
}

/// Exchanges the names back after a replacement that must be reverted. Returns the temporary name if another program's
/// version is left under it.
pub(super) fn put_back(folder: &Folder, name: &str, temp: Temp<'_>, new: &[u8]) -> Option<String> {
    let undone = exchange((folder, temp.name()), (folder, name));
    let is_ours = || matches!(folder.holds(temp.name(), new), Ok(Some(_)));
    if matches!(undone, Ok(true)) && is_ours() { None } else { Some(temp.keep()) }
}

/// Removes a file under a name that no editor knows if it has these bytes there; otherwise gives it its name back.
/// `false` means that it was not removed.
pub(super) fn remove_if(folder: &Folder, name: &str, bytes: &[u8]) -> io::Result<bool> {
    let waiting = exchange_name(&temporary_name(), name, bytes, bytes);
    rename_new((folder, name), (folder, &waiting))?;
    let removed = match folder.holds(&waiting, bytes) {
        Ok(Some(_)) => unlinkat(folder, &waiting, AtFlags::empty()).map(|()| true).map_err(io::Error::from),
        other => other.map(|_| false),
    };
    if !matches!(removed, Ok(true)) {
        // If this fails, `sweep` keeps a version that is not known.
        rename_new((folder, &waiting), (folder, name))?;
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::super::layout::Store;
    use super::*;

    #[test]
    fn what_an_editor_saved_before_the_removal_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::create_root(place.path()).unwrap();
        let folder = store.folder("").unwrap();
        let path = place.path().join(".ralph/a.md");
        std::fs::write(&path, "saved").unwrap();
        assert!(!remove_if(&folder, "a.md", b"read").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"saved");
        assert!(remove_if(&folder, "a.md", b"saved").unwrap());
        assert_eq!(std::fs::read_dir(place.path().join(".ralph")).unwrap().count(), 0, "nothing is left");
    }
}
