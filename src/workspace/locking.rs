//! The lock of the entry files, taken while git leaves the work tree alone.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use super::Workspace;
use super::activity::Work;
use crate::entry::path::MEMORY_FOLDER;
use crate::error::{Problem, Result};
use crate::git::{Lookup, Repository, WorkTree};
use crate::store::Lock;

/// How long a write waits for git to let go of the work tree. A stash or a checkout mostly takes less; a commit whose
/// message is being written keeps its lock for minutes, and nobody should wait for that.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// From what age on a lock of git's is taken for one that nobody holds, or that is held for long.
const OLD: Duration = Duration::from_secs(10);
/// How long git must have touched nothing to be taken for done: between two steps of a stash it holds no lock.
const QUIET: Duration = Duration::from_millis(100);
/// How long to wait before looking again: a person does not notice it, and it costs no CPU.
const PAUSE: Duration = Duration::from_millis(5);

/// The lock of the entry files, taken while git leaves the work tree alone.
pub(crate) struct EntryLock {
    lock: Lock,
    repository: Option<Repository>,
    /// When git last did something, when the lock was taken.
    changed: Option<SystemTime>,
    /// Says that git did not leave it alone.
    busy: Option<Problem>,
}

impl EntryLock {
    /// Returns the lock alone, and what says that git did not leave the work tree alone.
    pub(crate) fn into_parts(self) -> (Lock, Option<Problem>) {
        (self.lock, self.busy)
    }

    /// Returns what git made of these files that were written, as full paths: where it did something meanwhile it is
    /// waited for once more, and what it took away is told.
    pub(crate) fn settled(&self, written: &[PathBuf]) -> Option<Problem> {
        let repository = self.repository.as_ref()?;
        if self.busy.is_none() && repository.changed() != self.changed {
            wait(repository);
            let gone = written.iter().find(|path| path.symlink_metadata().is_err())?;
            let message = "git took it away while it was written, as `git stash -u` does, and need not have kept it";
            return Some(Problem::warning(gone.display().to_string(), "git-took", message, "write it once more"));
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
    /// Takes the lock that every writing call needs, and tidies up behind a process that was killed while it had it.
    ///
    /// While git changes the files of the work tree it may take a file away that was written meanwhile, as
    /// `git stash -u` does, so it is waited for. It is not waited for long: a lock of git's may be left of one that
    /// was killed. What was written nevertheless is said.
    pub(crate) fn lock_entries(&self) -> Result<EntryLock> {
        let lock = self.lock_within_git()?;
        // A hook waits for what it runs, and git for the hook.
        let is_in_hook =
            ["GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"].iter().any(|name| std::env::var_os(name).is_some());
        let repository = Repository::of(self.store.memory()).filter(|_| !is_in_hook);
        let waiting = self.doing(Work::WaitingForGit, None);
        let busy = repository.as_ref().and_then(wait).map(|path| busy(&path));
        drop(waiting);
        let changed = repository.as_ref().and_then(Repository::changed);
        Ok(EntryLock { lock, repository, changed, busy })
    }

    /// Does what [`Workspace::lock_entries`] does without a look at git: for what git itself started, and for what
    /// is written to `state/` alone, which git ignores.
    pub(crate) fn lock_within_git(&self) -> Result<Lock> {
        let lock = self.wait_for_entries()?;
        if lock.was_abandoned() {
            // What cannot be removed is in nobody's way, and `doctor` names it.
            let _ = self.store.sweep(&lock);
        }
        Ok(lock)
    }

    /// Returns the work tree that the memory lies in, where there is git.
    pub(crate) fn work_tree(&self) -> Option<WorkTree> {
        match WorkTree::find(self.store.memory()) {
            Lookup::Found(tree) => Some(tree),
            Lookup::NoGit | Lookup::NoWorkTree | Lookup::Refused(_) => None,
        }
    }
}

/// Waits until git leaves the work tree alone; returns its lock where that does not come true in time.
fn wait(repository: &Repository) -> Option<PathBuf> {
    let started = Instant::now();
    loop {
        let now = SystemTime::now();
        let age = |at: SystemTime| now.duration_since(at);
        let lock = repository.lock();
        let is_in_vain = started.elapsed() >= MAX_WAIT;
        match lock {
            // A time that is still to come says nothing of when.
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
    let hint = "see whether it is still there; where no git command is running, remove that lock";
    Problem::warning(MEMORY_FOLDER, "git-busy", message, hint)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::memory::Memory;

    #[test]
    fn what_git_took_away_meanwhile_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        Memory::init(root).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let memory = Memory::open(root).unwrap();
        let entry = root.join(".ralph/knowledge/x.md");
        let code = |while_locked: &dyn Fn()| {
            fs::write(&entry, "x").unwrap();
            let lock = memory.lock_entries().unwrap();
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
