//! The name by which clients call this program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::hook_line::PROGRAM;
use crate::system::posix::program_at;

/// Returns the name for files of the user's own, and what is doubtful about it: the bare name if `PATH` finds this
/// program by it, else the full path as it is known. Links in the path stay: a package manager changes them with each
/// version.
///
/// # Errors
///
/// Why the path cannot be written.
pub(super) fn program_name(started: &Path, path: Option<&OsStr>) -> Result<(String, Option<&'static str>), String> {
    let is_same = |found: &PathBuf| {
        found.canonicalize().ok().zip(started.canonicalize().ok()).is_some_and(|(one, other)| one == other)
    };
    if find_in(path, PROGRAM).is_some_and(|found| is_same(&found)) {
        return Ok((PROGRAM.to_owned(), None));
    }
    let name =
        started.to_str().ok_or_else(|| format!("the path of this program is not UTF-8: {}", started.display()))?;
    let parts: Vec<&str> = name.split('/').collect();
    let doubt = if parts.windows(2).any(|pair| pair[0] == "target" && ["debug", "release"].contains(&pair[1])) {
        Some("it is in a build folder, which the next build replaces; install it with `cargo install`")
    } else if parts.contains(&"Cellar") {
        Some(
            "this folder is named after the version, and goes away with the next one; run the link in Homebrew's `bin`",
        )
    } else {
        None
    };
    Ok((name.to_owned(), doubt))
}

/// Returns the first program of this name in the folders of `PATH`.
pub(super) fn find_in(path: Option<&OsStr>, name: &str) -> Option<PathBuf> {
    let folders = std::env::split_paths(path?).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find_map(program_at)
}

/// Returns whether a program that an entry runs can be run, as far as its name says.
pub(super) fn runs(program: &str, path: Option<&OsStr>) -> bool {
    if program.contains('/') { program_at(program.into()).is_some() } else { find_in(path, program).is_some() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn the_name_is_bare_if_path_finds_this_program() {
        let place = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let own = make("Cellar/1.0/ralph-memory");
        let other = make("other/ralph-memory");
        let built = make("target/debug/ralph-memory");
        fs::create_dir(place.path().join("bin")).unwrap();
        let link = place.path().join("bin/ralph-memory");
        symlink(&own, &link).unwrap();
        let folder = |path: &Path| path.parent().unwrap().as_os_str().to_owned();
        let check = |started: &Path, path: Option<&Path>, name: Option<&Path>, has_doubt: bool| {
            let (found, doubt) = program_name(started, path.map(folder).as_deref()).unwrap();
            let name = name.map_or("ralph-memory", |name| name.to_str().unwrap());
            assert_eq!((found.as_str(), doubt.is_some()), (name, has_doubt));
        };
        check(&own, Some(&link), None, false);
        check(&link, Some(&link), None, false);
        check(&link, Some(&other), Some(&link), false);
        check(&own, None, Some(&own), true);
        check(&built, Some(&other), Some(&built), true);
        assert!(runs("ralph-memory", Some(&folder(&link))) && !runs("ralph-memory", None));
        assert!(runs(own.to_str().unwrap(), None) && !runs("/nowhere/ralph-memory", None));
    }
}
