//! Replaces and removes files that others write too, so that none of their versions is lost.
//!
//! What is replaced or removed gets another name first, and is looked at under that name, which no editor knows: a check
//! before the change would miss what is saved right after it. This file knows nothing about locks, logs and contents.

use std::io;

use rustix::fs::{AtFlags, renameat, unlinkat};

use super::folder::{Abilities, Folder};
use super::read::holds;
use super::temp::{Access, Durability, Temp, exchange, exchange_name, rename_new, temporary_name};

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

/// Replaces the bytes of a file in this folder, if they are `expected`, with `new`. Its mode and its extended attributes
/// stay the same, and so does its owner if the system allows it. Returns `false`, and changes nothing, if it does not
/// contain `expected`, also if another program saves it at the very moment of the change. `interrupt` is called after
/// each step.
///
/// # Errors
///
/// Those of the file system. Only if another program saves the file twice at that moment, one of its versions may be
/// left under another name, which the error gives.
pub(super) fn replace_in(
    (folder, name): (&Folder, &str),
    abilities: Abilities,
    expected: &[u8],
    new: &[u8],
    interrupt: &mut dyn FnMut(WriteStep),
) -> io::Result<bool> {
    let Some(like) = holds(folder, name, expected)? else { return Ok(false) };
    let mut temp = Temp::write(folder, new, Access::Like(&like), Durability::Synced)?;
    temp.announce_exchange(name, expected, new)?;
    interrupt(WriteStep::Written);
    if holds(folder, name, expected)?.is_none() {
        return Ok(false);
    }
    interrupt(WriteStep::Checked);
    match exchange(abilities, (folder, temp.name()), (folder, name)) {
        Ok(true) => {}
        Ok(false) => {
            if holds(folder, name, expected)?.is_none() {
                return Ok(false);
            }
            renameat(folder, temp.name(), folder, name)?;
            temp.keep();
            folder.sync()?;
            return Ok(true);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    interrupt(WriteStep::Exchanged);
    // The displaced version is under the temporary name, which is removed when `temp` is dropped.
    let displaced = folder.sync().and_then(|()| holds(folder, temp.name(), expected));
    if matches!(displaced, Ok(Some(_))) {
        return Ok(true);
    }
    match put_back(folder, name, abilities, temp, new) {
        None => displaced.map(|_| false),
        Some(kept) => {
            let message = format!("another program saved it meanwhile; one of its versions is in `{kept}` beside it");
            Err(io::Error::other(message))
        }
    }
}

/// Exchanges the names again after a replacement that must not be. Returns the name of a version of another program that
/// has none of its own now.
pub(super) fn put_back(
    folder: &Folder,
    name: &str,
    abilities: Abilities,
    temp: Temp<'_>,
    new: &[u8],
) -> Option<String> {
    let undone = exchange(abilities, (folder, temp.name()), (folder, name));
    let is_ours = || matches!(holds(folder, temp.name(), new), Ok(Some(_)));
    if matches!(undone, Ok(true)) && is_ours() { None } else { Some(temp.keep()) }
}

/// Removes a file under a name that no editor knows, if it has these bytes there; else it gets its name back. `false`
/// means that it was not removed.
pub(super) fn remove_if(folder: &Folder, name: &str, abilities: Abilities, bytes: &[u8]) -> io::Result<bool> {
    let waiting = exchange_name(&temporary_name(), name, Some((bytes, bytes)));
    rename_new(abilities, (folder, name), (folder, &waiting))?;
    let removed = match holds(folder, &waiting, bytes) {
        Ok(Some(_)) => unlinkat(folder, &waiting, AtFlags::empty()).map(|()| true).map_err(io::Error::from),
        other => other.map(|_| false),
    };
    if !matches!(removed, Ok(true)) {
        // If this fails, `sweep` keeps what is not known.
        rename_new(abilities, (folder, &waiting), (folder, name))?;
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
        assert!(!remove_if(&folder, "a.md", Abilities::ALL, b"read").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"saved");
        assert!(remove_if(&folder, "a.md", Abilities::ALL, b"saved").unwrap());
        assert_eq!(std::fs::read_dir(place.path().join(".ralph")).unwrap().count(), 0, "nothing is left");
    }
}
