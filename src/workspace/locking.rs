//! The lock of the entry files, taken while git leaves the work tree alone.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use super::Workspace;
use super::activity::Work;
use super::init::IGNORE;
use crate::entry::path::MEMORY_FOLDER;
use crate::error::{Problem, Result};
use crate::git::{Lookup, Repository, WorkTree, ignored_entries};
use crate::store::Lock;

/// How long a write waits for git to release the work tree. A stash or a checkout mostly takes less; a commit whose
/// message is being written keeps its lock for minutes, which is too long to wait.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// The age from which a lock of git counts as abandoned, or as held for long.
const OLD: Duration = Duration::from_secs(10);
/// How long git must be idle to count as done: between two steps of a stash it has no lock.
const QUIET: Duration = Duration::from_millis(100);
/// How long to wait before the next check: a person does not notice it, and it costs no CPU.
const PAUSE: Duration = Duration::from_millis(5);

/// The lock of the entry files, taken while git leaves the work tree alone.
pub(crate) struct EntryLock {
    lock: Lock,
    repository: Option<Repository>,
    /// When git last did something before the lock was taken.
    changed: Option<SystemTime>,
    /// How long to wait for git.
    longest_wait: Duration,
    /// Whether git was still busy.
    busy: Option<Problem>,
}

impl EntryLock {
    /// Returns the lock alone, and the problem if git was still busy.
    pub(crate) fn into_parts(self) -> (Lock, Option<Problem>) {
        (self.lock, self.busy)
    }

    /// Returns the problem if git removed some of these files, given as full paths, after they were written. If git did
    /// something meanwhile, it waits once more.
    pub(crate) fn settled(&self, written: &[PathBuf]) -> Option<Problem> {
        let repository = self.repository.as_ref()?;
        if self.busy.is_none() && repository.changed() != self.changed {
            wait(repository, self.longest_wait);
            let gone = written.iter().find(|path| path.symlink_metadata().is_err())?;
            let message = "git removed it while it was written, as `git stash -u` does, and may not have kept it";
            return Some(Problem::warning(gone.display().to_string(), "git-took", message, "write it again"));
        }
        self.busy.clone()
    }
}

impl Deref for EntryLock {
    type Target = Lock;

    fn deref(&self) -> &Lock {
        &self.lock
    }
}

impl Workspace {
    /// Takes the lock that every writing call needs, and cleans up after a process that was killed while it had it.
    ///
    /// While git changes the files of the work tree, it may remove a file that is written meanwhile, as `git stash -u`
    /// does. So the call waits for git, but not for long: a lock of git may be left of a killed process. A write that
    /// does not wait longer is reported.
    pub(crate) fn lock_entries(&self) -> Result<EntryLock> {
        let lock = self.lock_within_git()?;
        // A hook waits for the commands that it runs, and git for the hook.
        let is_in_hook =
            ["GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"].iter().any(|name| std::env::var_os(name).is_some());
        let repository = Repository::of(self.store.memory()).filter(|_| !is_in_hook);
        let waiting = self.doing(Work::WaitingForGit, None);
        let longest = if self.is_hurried { Duration::ZERO } else { MAX_WAIT };
        let busy = repository.as_ref().and_then(|repository| wait(repository, longest)).map(|path| busy(&path));
        drop(waiting);
        self.examine_again();
        let changed = repository.as_ref().and_then(Repository::changed);
        Ok(EntryLock { lock, repository, changed, longest_wait: longest, busy })
    }

    /// Does what [`Workspace::lock_entries`] does without checking git: for calls that git itself started, and for
    /// files in `state/`, which git ignores.
    pub(crate) fn lock_within_git(&self) -> Result<Lock> {
        let lock = self.wait_for_entries()?;
        if lock.was_abandoned() {
            // A leftover that cannot be removed does no harm, and `check` lists it.
            let _ = self.store.sweep(&lock);
        }
        Ok(lock)
    }

    /// Returns a warning if git ignores entries that were written here, though not the memory as a whole. No client waits for
    /// it.
    pub(crate) fn warn_of_ignored(&self, paths: &[&str]) -> Option<Problem> {
        Repository::of(self.store.memory()).filter(|_| !self.is_hurried && !paths.is_empty())?;
        let ignored = self.work_tree()?.ignored(&[paths, &[IGNORE]].concat()).ok()?;
        let is_private = ignored.is_empty() || ignored.iter().any(|path| path == IGNORE);
        (!is_private).then(|| ignored_entries(&ignored))
    }

    /// Returns the work tree that contains the memory, if there is git.
    pub(crate) fn work_tree(&self) -> Option<WorkTree> {
        match WorkTree::find(self.store.memory()) {
            Lookup::Found(tree) => Some(tree),
            Lookup::NoGit | Lookup::NoWorkTree | Lookup::Refused(_) => None,
        }
    }
}

/// Waits until git leaves the work tree alone; returns its lock if the time is over.
fn wait(repository: &Repository, longest: Duration) -> Option<PathBuf> {
    let started = Instant::now();
    loop {
        let now = SystemTime::now();
        let age = |at: SystemTime| now.duration_since(at);
        let lock = repository.lock();
        let is_in_vain = started.elapsed() >= longest;
        match lock {
            // A time in the future does not tell when git was active.
            Some((path, at)) if is_in_vain || age(at).map_or(true, |age| age > OLD) => return Some(path),
            None if is_in_vain || repository.changed().is_none_or(|at| age(at).map_or(true, |age| age > QUIET)) => {
                return None;
            }
            _ => {}
        }
        sleep(PAUSE);
    }
}

fn busy(path: &Path) -> Problem {
    let message = format!("written while git keeps `{}`: `git stash -u` may have taken the file along", path.display());
    let hint = "check whether it is still there; if no git command is running, remove that lock";
    Problem::warning(MEMORY_FOLDER, "git-busy", message, hint)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use crate::memory::Memory;

    #[test]
    fn a_call_that_a_client_waits_for_waits_briefly() {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        let mut memory = Memory::open(folder.path()).unwrap();
        assert_eq!(memory.workspace.lock_timeout(), Duration::from_secs(30));
        memory.workspace.is_hurried = true;
        assert!(memory.workspace.lock_timeout() <= Duration::from_millis(200));
        memory.workspace.lock_timeout = Duration::from_millis(5);
        assert_eq!(memory.workspace.lock_timeout(), Duration::from_millis(5));
        memory.workspace.lock_timeout = Duration::from_secs(30);
        let held = memory.workspace.store.lock(Duration::ZERO).unwrap();
        let Err(crate::Error::Locked { .. }) = memory.workspace.lock_entries() else { panic!("it is free") };
        drop(held);
        // It does not wait for git, and says that git may take the file along.
        fs::create_dir(folder.path().join(".git")).unwrap();
        fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(folder.path().join(".git/index.lock"), "").unwrap();
        let (_lock, busy) = memory.workspace.lock_entries().unwrap().into_parts();
        assert_eq!(busy.map(|problem| problem.code).as_deref(), Some("git-busy"));
    }

    #[test]
    fn files_that_git_removed_meanwhile_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        Memory::init(root).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let memory = Memory::open(root).unwrap();
        let entry = root.join(".ralph/knowledge/x.md");
        let code = |while_locked: &dyn Fn()| {
            fs::write(&entry, "x").unwrap();
            let lock = memory.workspace.lock_entries().unwrap();
            while_locked();
            lock.settled(std::slice::from_ref(&entry)).map(|problem| problem.code)
        };
        let git_works = || {
            fs::write(root.join(".git/index.lock"), "").unwrap();
            fs::remove_file(root.join(".git/index.lock")).unwrap();
        };
        assert_eq!(code(&|| {}), None);
        assert_eq!(code(&git_works), None);
        let taken = code(&|| {
            git_works();
            fs::remove_file(&entry).unwrap();
        });
        assert_eq!(taken.as_deref(), Some("git-took"));
    }
}
