//! Whether git is running in a work tree, determined without starting git.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::store::git_dir;

/// The options of `git` itself that take the next word as their value.
const WITH_VALUE: [&str; 7] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];

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

/// Returns whether a process is making a commit in this work tree. While a person writes the message, git holds no
/// lock, and fails at the end if `HEAD` has moved. Processes in other containers are not seen.
pub(super) fn is_committing(root: &Path) -> bool {
    let Ok(root) = root.canonicalize() else { return false };
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    processes.flatten().map(|process| process.path()).any(|process| {
        let words = fs::read(process.join("cmdline")).unwrap_or_default();
        // Git changes to the top of the work tree before it asks for the message.
        subcommand(&words) == Some(b"commit") && fs::read_link(process.join("cwd")).is_ok_and(|folder| folder == root)
    })
}

/// Returns git's subcommand from the arguments of a process, each of which ends with a zero byte.
fn subcommand(words: &[u8]) -> Option<&[u8]> {
    let mut words = words.split(|byte| *byte == 0);
    let program = words.next()?.rsplit(|byte| *byte == b'/').next()?;
    if program != b"git" {
        return program.strip_prefix(b"git-");
    }
    loop {
        let word = words.next()?;
        if WITH_VALUE.iter().any(|option| option.as_bytes() == word) {
            words.next();
        } else if !word.starts_with(b"-") {
            return Some(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::git;
    use super::*;

    #[test]
    fn a_subcommand_is_found_behind_options() {
        let check = |words: &[&str], expected: Option<&str>| {
            let words: String = words.iter().flat_map(|word| [word, "\0"]).collect();
            assert_eq!(subcommand(words.as_bytes()), expected.map(str::as_bytes), "{words}");
        };
        check(&["git", "commit", "--amend"], Some("commit"));
        check(&["/usr/lib/git-core/git", "-C", "log", "-c", "a=b", "--no-pager", "commit"], Some("commit"));
        check(&["/usr/lib/git-core/git-commit", "-m", "x"], Some("commit"));
        check(&["git", "--git-dir", "x", "log", "--grep", "commit"], Some("log"));
        check(&["git", "--attr-source", "HEAD", "commit"], Some("commit"));
        check(&["git", "-C", "commit"], Some(""));
        check(&["git", "--version"], Some(""));
        check(&["sh", "-c", "git commit"], None);
        check(&[], None);
    }

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
