//! Files outside of a memory, which editors save at any moment.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::RENAMES;
use crate::store::folder::Folder;
use crate::store::outside::write_file;
use crate::store::replace_file::WriteStep;
use crate::system::HAS_RENAME_FLAGS;

/// What ticking a task and `setup` replace.
const OLD: &[u8] = b"- [ ] write the parser\n";
const NEW: &[u8] = b"- [x] write the parser\n";
const SAVED: &[u8] = b"- [ ] write the parser\n- [ ] and the printer\n";

struct ProjectFolder {
    place: TempDir,
    folder: Folder,
}

impl ProjectFolder {
    fn new(has_rename_flags: bool) -> ProjectFolder {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::open(place.path()).unwrap();
        folder.has_rename_flags = has_rename_flags;
        fs::write(place.path().join("a"), OLD).unwrap();
        ProjectFolder { place, folder }
    }

    fn path(&self) -> PathBuf {
        self.place.path().join("a")
    }

    /// Saves the file as most editors do.
    fn save(&self, bytes: &[u8]) {
        let new = self.place.path().with_extension("new");
        fs::write(&new, bytes).unwrap();
        fs::rename(new, self.path()).unwrap();
    }

    fn names(&self) -> Vec<String> {
        fs::read_dir(self.place.path()).unwrap().map(|name| name.unwrap().file_name().into_string().unwrap()).collect()
    }
}

#[cfg(not(feature = "portable"))]
#[test]
fn no_version_of_two_saves_is_lost() {
    let project = ProjectFolder::new(HAS_RENAME_FLAGS);
    let mut at_step = |step| match step {
        WriteStep::Written => {}
        WriteStep::Checked => project.save(b"first"),
        WriteStep::Exchanged => project.save(b"second"),
    };
    let error = project.folder.replace_with("a", OLD, NEW, &mut at_step).unwrap_err().to_string();
    let kept = error.split('`').nth(1).unwrap_or_else(|| panic!("{error}"));
    assert_eq!(fs::read(project.path()).unwrap(), b"first");
    assert_eq!(fs::read(project.place.path().join(kept)).unwrap(), b"second");
}

#[test]
fn a_file_keeps_its_mode_and_leaves_nothing_beside_it() {
    for has_flags in RENAMES {
        let project = ProjectFolder::new(has_flags);
        fs::set_permissions(project.path(), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(project.folder.replace("a", OLD, NEW).unwrap());
        assert_eq!(fs::read(project.path()).unwrap(), NEW);
        assert_eq!(fs::metadata(project.path()).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(!project.folder.replace("a", OLD, NEW).unwrap());
        #[cfg(feature = "setup")]
        {
            assert!(!project.folder.remove("a", OLD).unwrap());
            assert_eq!(project.names(), ["a"]);
            assert!(project.folder.remove("a", NEW).unwrap());
            assert_eq!(project.names(), Vec::<String>::new());
        }
    }
}

#[test]
fn nothing_is_written_through_what_is_not_a_regular_file() {
    #[track_caller]
    fn check(make: impl Fn(&std::path::Path), reason: &str) {
        let place = tempfile::tempdir().unwrap();
        let (path, other) = (place.path().join("folder/x.1"), place.path().join("other"));
        fs::create_dir(place.path().join("folder")).unwrap();
        fs::write(&other, "other").unwrap();
        make(&path);
        let error = write_file(&path, b"page").unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()) && error.contains(reason), "{error}");
        assert_eq!(fs::read(other).unwrap(), b"other");
        assert_eq!(fs::read_dir(place.path().join("folder")).unwrap().count(), 1);
    }
    check(|path| symlink("../other", path).unwrap(), "it is a link");
    check(|path| symlink("../absent", path).unwrap(), "it is a link");
    check(|path| symlink("..", path).unwrap(), "it is a link");
    check(|path| fs::create_dir(path).unwrap(), "it is not a regular file");
    check(
        |path| mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap(),
        "it is not a regular file",
    );
    let read_only = |path: &std::path::Path| {
        fs::write(path, "mine").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
    };
    check(read_only, "it is read-only");
}

#[test]
fn what_another_user_or_a_folder_protects_is_not_replaced() {
    let project = ProjectFolder::new(HAS_RENAME_FLAGS);
    assert_eq!(project.folder.protection("a").unwrap(), None);
    if rustix::process::geteuid().is_root() {
        return; // Root may write everywhere.
    }
    fs::set_permissions(project.place.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let protection = project.folder.protection("a");
    fs::set_permissions(project.place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(protection.unwrap(), Some("its folder is read-only"));
}

#[test]
fn a_folder_may_be_a_link_and_a_hard_link_is_not_written_through() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("real")).unwrap();
    symlink("real", place.path().join("link")).unwrap();
    fs::write(place.path().join("other"), "other").unwrap();
    fs::hard_link(place.path().join("other"), place.path().join("real/x.1")).unwrap();
    write_file(&place.path().join("link/x.1"), b"page").unwrap();
    assert_eq!(fs::read(place.path().join("real/x.1")).unwrap(), b"page");
    assert_eq!(fs::read(place.path().join("other")).unwrap(), b"other");
    write_file(&place.path().join("new/folder/x.1"), b"page").unwrap();
    assert_eq!(fs::read(place.path().join("new/folder/x.1")).unwrap(), b"page");
}

#[test]
fn a_private_file_takes_no_name_that_is_taken() {
    let project = ProjectFolder::new(HAS_RENAME_FLAGS);
    symlink("absent", project.place.path().join("link")).unwrap();
    for name in ["a", "link"] {
        assert_eq!(project.folder.create_private(name).unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{name}");
    }
    assert!(!project.place.path().join("absent").exists());
    let made = project.folder.create_private("b").unwrap();
    assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(project.folder.create_private("../b").is_err());
}

/// A killed process leaves its temporary file; one that may be the only copy of a version stays.
#[cfg(feature = "setup")]
#[test]
fn leftovers_of_a_killed_process_are_swept() {
    let project = ProjectFolder::new(HAS_RENAME_FLAGS);
    let dead = u32::MAX;
    let name = |random: &str| crate::store::temp::exchange_name(&format!(".tmp-{dead}-{random}"), "a", OLD, NEW);
    let (known, unknown) = (name("0000000000000001"), name("0000000000000002"));
    fs::write(project.place.path().join(&known), OLD).unwrap();
    fs::write(project.place.path().join(&unknown), SAVED).unwrap();
    fs::write(project.place.path().join(format!(".tmp-{dead}-0000000000000003")), "half").unwrap();
    project.folder.sweep("");
    let mut names = project.names();
    names.sort();
    assert_eq!(names, [unknown, "a".to_owned()]);
}
