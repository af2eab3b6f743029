//! A checklist in markdown: its first open box is the task, and is ticked when that is done.
//!
//! The file belongs to a person, who may edit it during a run. So it is read again each time, and a tick changes one
//! byte of the file as it then is.

mod items;

use std::io;
use std::path::Path;

use self::items::{items, odd_boxes};
use crate::error::{Error, Result};
use crate::store::{Folder, Unreadable, parent_of};

pub(super) use self::items::ChecklistItem;

/// The largest checklist, in bytes.
const MAX_BYTES: usize = 1024 * 1024;
/// How often a tick is retried if the file was changed in the meantime.
const MAX_TRIES: usize = 5;

/// Returns the lines of the checklist that look like boxes and are not; none where no box is open, which [`next`] says with
/// these lines.
pub(super) fn odd(path: &Path) -> Result<Vec<String>> {
    let file = Checklist::read(path)?;
    Ok(if file.items.iter().all(|item| item.is_ticked) { Vec::new() } else { file.odd })
}

/// Returns the first open box of the checklist; `None` if all are ticked. A line that only looks like a box is not
/// ticked.
pub(super) fn next(path: &Path) -> Result<Option<ChecklistItem>> {
    let file = Checklist::read(path)?;
    let open = file.items.iter().find(|item| !item.is_ticked);
    if open.is_none() && !file.odd.is_empty() {
        let message =
            format!("`{}` has lines that are neither open nor ticked: {}", path.display(), file.odd.join("; "));
        return Err(Error::unusable(message, "an open box is `- [ ] `, a ticked one `- [x] `, each with a text"));
    }
    if file.items.is_empty() {
        let message = format!("there are no boxes in `{}`", path.display());
        return Err(Error::unusable(message, "a checklist has lines like `- [ ] Speed up the catalog scan`"));
    }
    Ok(open.cloned())
}

/// Ticks or unticks a box. A box that has moved is found by its text. If the box cannot be changed, returns the reason.
pub(super) fn set_tick(path: &Path, item: &ChecklistItem, ticked: bool) -> Result<std::result::Result<(), String>> {
    for _ in 0..MAX_TRIES {
        let file = Checklist::read(path)?;
        let found = match find(&file.items, item) {
            Ok(found) if found.is_ticked == ticked => return Ok(Ok(())),
            Ok(found) => found,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut bytes = file.bytes.clone();
        bytes[found.mark] = if ticked { b'x' } else { b' ' };
        if file.replace(path, &bytes)? {
            return Ok(Ok(()));
        }
    }
    Ok(Err("the file does not stop changing".to_owned()))
}

/// Returns the box that is meant.
fn find<'a>(items: &'a [ChecklistItem], wanted: &ChecklistItem) -> std::result::Result<&'a ChecklistItem, String> {
    let is_in_place = |item: &&ChecklistItem| item.mark == wanted.mark && item.is_named_like(wanted);
    if let Some(item) = items.iter().find(is_in_place) {
        return Ok(item);
    }
    let named: Vec<&ChecklistItem> = items.iter().filter(|item| item.is_named_like(wanted)).collect();
    let titled = || items.iter().filter(|item| item.title == wanted.title).collect();
    let named: Vec<&ChecklistItem> = if named.is_empty() { titled() } else { named };
    match named.as_slice() {
        [] => Err(format!("the box `{}` is no longer in it", wanted.title)),
        [item] => Ok(item),
        // Which of them is meant does not matter when all are ticked.
        [item, ..] if named.iter().all(|item| item.is_ticked) => Ok(item),
        _ => Err(format!("it was changed, and {} boxes say `{}`", named.len(), wanted.title)),
    }
}

/// The text of a checklist when it was read.
struct Checklist {
    folder: Folder,
    name: String,
    bytes: Vec<u8>,
    items: Vec<ChecklistItem>,
    odd: Vec<String>,
}

impl Checklist {
    fn read(path: &Path) -> Result<Checklist> {
        let refuse = |reason: &str| {
            let message = format!("the checklist `{}` {reason}", path.display());
            Error::unusable(message, "a checklist is a markdown file of at most 1 MiB")
        };
        let io_error = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| refuse("is not a file"))?.to_owned();
        let folder = match Folder::open(parent_of(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(refuse("does not exist")),
            opened => opened.map_err(io_error)?,
        };
        let bytes = folder.read(&name, MAX_BYTES).map_err(|unreadable| match unreadable {
            Unreadable::Missing => refuse("does not exist"),
            Unreadable::Link => refuse("is a link; name the file to which it leads"),
            Unreadable::NotAFile => refuse("is not a file"),
            Unreadable::TooLarge { .. } => refuse("is over 1 MiB"),
            Unreadable::Io(source) => io_error(source),
        })?;
        // Before an agent works on a box: it would begin with the same one again.
        if let Some(reason) = folder.protection(&name).map_err(io_error)? {
            let message = format!("the checklist `{}` cannot be ticked: {reason}", path.display());
            return Err(Error::unusable(message, "make the file and its folder writable, or name another file"));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| refuse("is not UTF-8"))?;
        let items = items(text);
        let odd = odd_boxes(text.trim_start_matches('\u{feff}'), &items);
        Ok(Checklist { folder, name, bytes, items, odd })
    }

    /// Replaces the bytes that were read. `false` means that they are no longer there. `path` is what the caller calls it.
    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        let io_error = |source| Error::Io { action: "write", path: path.to_owned(), source };
        self.folder.replace(&self.name, &self.bytes, bytes).map_err(io_error)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;

    use super::*;
    use crate::error::ErrorKind;

    struct TaskFile {
        folder: tempfile::TempDir,
    }

    impl TaskFile {
        fn new(text: impl AsRef<[u8]>) -> TaskFile {
            let file = TaskFile { folder: tempfile::tempdir().unwrap() };
            file.write(text);
            file
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("tasks.md")
        }

        fn write(&self, text: impl AsRef<[u8]>) {
            fs::write(self.path(), text).unwrap();
        }

        fn next(&self) -> ChecklistItem {
            next(&self.path()).unwrap().expect("a box is open")
        }
    }

    /// Ticks the first open box of a text that was changed in the meantime.
    #[track_caller]
    fn check_tick(before: &str, meanwhile: &str, expected: std::result::Result<&str, &str>) {
        let file = TaskFile::new(before);
        let item = file.next();
        file.write(meanwhile);
        let ticked = set_tick(&file.path(), &item, true).unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        match expected {
            Ok(expected) => assert_eq!((ticked, text.as_str()), (Ok(()), expected)),
            Err(reason) => {
                let told = ticked.unwrap_err();
                assert!(told.contains(reason), "{told}");
                assert_eq!(text, meanwhile);
            }
        }
        assert_eq!(fs::read_dir(file.folder.path()).unwrap().count(), 1, "something was left behind");
    }

    #[test]
    fn a_tick_changes_one_byte() {
        let check = |before: &str, after: &str| check_tick(before, before, Ok(after));
        check("- [ ] one\n", "- [x] one\n");
        check(
            "\u{feff}# é\r\n\r\n*\t[ ]\tone\r\n\ttwo\r\n\r\n* [ ] three",
            "\u{feff}# é\r\n\r\n*\t[x]\tone\r\n\ttwo\r\n\r\n* [ ] three",
        );
        check("- [\t] one\n", "- [x] one\n");
        check("- [ ] a\n  - [ ] [ ] b", "- [ ] a\n  - [x] [ ] b");
        check("- [x] a\n- [ ] a\n", "- [x] a\n- [x] a\n");
    }

    #[test]
    fn a_box_that_moved_is_found_again() {
        let check = check_tick;
        check("- [ ] a\n- [ ] b\n", "# New\n\n- [ ] b\n- [ ] a\n", Ok("# New\n\n- [ ] b\n- [x] a\n"));
        check("- [ ] a\n", "- [ ] a\n  with more\n", Ok("- [x] a\n  with more\n"));
        check("- [ ] p\n  - [ ] a\n", "- [ ] q\n\n  - [ ] a\n", Ok("- [ ] q\n\n  - [x] a\n"));
        check(
            "- [ ] a\n- [ ] p\n  - [ ] a\n",
            "text\n\n- [ ] a\n- [ ] p\n  - [ ] a\n",
            Ok("text\n\n- [x] a\n- [ ] p\n  - [ ] a\n"),
        );
        check("- [ ] a\n- [ ] a\n", "- [ ] a\n- [ ] a\n", Ok("- [x] a\n- [ ] a\n"));
        check("- [ ] a\n", "- [ ] b\n", Err("no longer in it"));
        check("- [ ] a\n", "```\n- [ ] a\n```\n", Err("no longer in it"));
        check("- [ ] a\n- [ ] a\n", "\n- [ ] a\n- [ ] a\n", Err("2 boxes say `a`"));
        // The agent ticked it, and the other one is not ours.
        check("- [ ] a\n- [ ] a\n", "\n- [x] a\n- [ ] a\n", Err("2 boxes say `a`"));
    }

    #[test]
    fn a_box_that_somebody_ticked_is_left_alone() {
        let check = |before: &str, meanwhile: &str| {
            let file = TaskFile::new(before);
            let item = file.next();
            file.write(meanwhile);
            assert_eq!(set_tick(&file.path(), &item, true).unwrap(), Ok(()), "{meanwhile}");
            assert_eq!(fs::read_to_string(file.path()).unwrap(), meanwhile);
        };
        check("- [ ] a\n- [ ] b\n", "- [x] a\n- [ ] b\n");
        check("- [ ] a\n- [ ] a\n", "- [x] a\n- [ ] a\n");
        check("- [ ] a\n", "text\n\n- [X] a\n");
        check("- [ ] a\n- [ ] a\n", "\n- [x] a\n- [x] a\n");
    }

    #[test]
    fn a_tick_keeps_permissions_and_follows_no_link_to_a_file() {
        let file = TaskFile::new("- [ ] a\n");
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o646)).unwrap();
        let other = tempfile::tempdir().unwrap();
        let (link, folder) = (other.path().join("link.md"), other.path().join("folder"));
        symlink(file.path(), &link).unwrap();
        let refused = next(&link).unwrap_err().to_string();
        assert!(refused.contains("link.md` is a link; name the file to which it leads"), "{refused}");
        symlink(file.folder.path(), &folder).unwrap();
        let path = folder.join("tasks.md");
        let item = next(&path).unwrap().unwrap();
        assert_eq!(set_tick(&path, &item, true).unwrap(), Ok(()));
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "- [x] a\n");
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o646);
        assert_eq!(next(&path).unwrap(), None);
        assert_eq!(set_tick(&path, &item, false).unwrap(), Ok(()));
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "- [ ] a\n");
    }

    #[test]
    fn what_is_replaced_was_read() {
        let file = TaskFile::new("- [ ] a\n");
        let read = Checklist::read(&file.path()).unwrap();
        file.write("- [ ] b\n");
        assert!(!read.replace(&file.path(), b"- [x] a\n").unwrap());
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "- [ ] b\n");
        assert_eq!(fs::read_dir(file.folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_not_a_checklist_is_refused() {
        #[track_caller]
        fn check(path: &Path, reason: &str) {
            let error = next(path).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
            assert_eq!(error.kind(), ErrorKind::Usage);
        }
        let file = TaskFile::new("# Nothing\n\n- to do\n");
        check(&file.path(), "no boxes");
        file.write(b"- [ ] \xff\n");
        check(&file.path(), "not UTF-8");
        file.write("- [ ] a\n".repeat(MAX_BYTES / 8 + 1));
        check(&file.path(), "over 1 MiB");
        check(&file.folder.path().join("absent.md"), "does not exist");
        check(file.folder.path(), "is not a file");
        check(Path::new("/dev/null"), "is not a file");
    }
}
