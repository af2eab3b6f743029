//! Whether git is running in a work tree, determined without starting git.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::store::git_dir;

/// A repository, as its files show it.
#[derive(Debug)]
pub(crate) struct Repository(PathBuf);

impl Repository {
    /// Finds the repository of the work tree that contains `folder`. Reads files only, and of those only `.git`.
    pub(crate) fn of(folder: &Path) -> Option<Repository> {
        super::start(folder).ancestors().find_map(git_dir).map(Repository)
    }

    /// Returns the newest of the files that git keeps there while it changes the index or the work tree: its lock, and
    /// its temporary index while it stashes. A killed process may have left it.
    pub(crate) fn lock(&self) -> Option<(PathBuf, SystemTime)> {
        let names = fs::read_dir(&self.0).ok()?.flatten();
        let locks = names.filter(|name| name.file_name().as_encoded_bytes().starts_with(b"index."));
        let stamped = locks.filter_map(|lock| Some((lock.path(), lock.metadata().ok()?.modified().ok()?)));
        stamped.max_by_key(|(_, at)| *at)
    }

    /// Returns when git last created or removed a file there, as most of its commands do at the beginning and the end.
    pub(crate) fn changed(&self) -> Option<SystemTime> {
        fs::metadata(&self.0).ok()?.modified().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::git;
    use super::*;

    #[test]
    fn the_lock_is_where_git_puts_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (main, linked, apart) = (root.join("main"), root.join("linked"), root.join("apart"));
        let dir = |folder: &Path| Repository::of(folder).map(|repository| repository.0);
        assert_eq!(dir(&main.join(".ralph")), None);
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "--quiet"]);
        git(&main, &["commit", "--quiet", "--allow-empty", "--message", "m"]);
        git(&main, &["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
        git(&root, &["init", "--quiet", "--separate-git-dir", "elsewhere", "apart"]);
        let at = |folder: &Path| dir(folder).unwrap();
        assert_eq!(at(&main.join("deep/er/.ralph")), main.join(".git"));
        assert_eq!(at(&linked.join(".ralph")), main.join(".git/worktrees/linked"));
        assert_eq!(at(&apart.join(".ralph")), root.join("elsewhere"));
        // Files that only look like a repository, and a memory that is a work tree of its own.
        fs::create_dir_all(main.join("sub/.git")).unwrap();
        assert_eq!(at(&main.join("sub/.ralph")), main.join(".git"));
        fs::create_dir(main.join(".ralph")).unwrap();
        git(&main.join(".ralph"), &["init", "--quiet"]);
        assert_eq!(at(&main.join(".ralph")), main.join(".ralph/.git"));
        let repository = Repository::of(&linked.join(".ralph")).unwrap();
        assert_eq!(repository.lock(), None);
        // Files that an archive may contain do not block the call.
        let pipe = root.join("pipe");
        fs::create_dir(&pipe).unwrap();
        let made = std::process::Command::new("mkfifo").arg(pipe.join(".git")).status().unwrap();
        assert!(made.success());
        assert_eq!(dir(&pipe.join(".ralph")), None);
        fs::write(main.join(".git/worktrees/linked/index.stash.7.lock"), "").unwrap();
        assert!(repository.lock().unwrap().0.ends_with("index.stash.7.lock"));
    }
}
