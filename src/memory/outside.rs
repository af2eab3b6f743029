//! What git has to do with a memory while it is used: the state of the work tree, and whether git is changing it.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use super::Memory;
use super::write::MEMORY_FOLDER;
use crate::error::{Error, Problem, Result, Severity};
use crate::git::{Lookup, WorkTree, index_lock};
use crate::store::Lock;

/// How long a write waits for git to let go of the work tree. A stash or a checkout mostly takes less; a commit whose
/// message is being written keeps its lock for minutes, and nobody should wait for that.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// From what age on the lock of the index is taken for one that nobody holds, or that is held for long.
const OLD: Duration = Duration::from_secs(10);
/// How long to wait before looking again: a person does not notice it, and it costs no CPU.
const PAUSE: Duration = Duration::from_millis(5);

/// The lock of the entry files, taken while git leaves the work tree alone.
pub(super) struct Writing {
    pub(super) lock: Lock,
    /// Says that git did not leave it alone.
    pub(super) busy: Option<Problem>,
}

impl Deref for Writing {
    type Target = Lock;

    fn deref(&self) -> &Lock {
        &self.lock
    }
}

/// The state of the work tree's files, and where git made it.
pub(super) struct State {
    pub(super) tree: String,
    pub(super) work_tree: WorkTree,
    pub(super) scratch: PathBuf,
}

impl Memory {
    /// Takes the lock that every writing call needs, and tidies up behind a process that was killed while it had it.
    ///
    /// While git changes the files of the work tree it may take a file away that was written meanwhile, as
    /// `git stash -u` does, so it is waited for. It is not waited for long: a lock of git's may be left of one that
    /// was killed. What was written nevertheless is said.
    pub(super) fn lock_entries(&self) -> Result<Writing> {
        let lock = self.lock_within_git()?;
        let busy = index_lock(self.store.memory()).filter(|path| !is_free(path)).map(|path| busy(&path));
        Ok(Writing { lock, busy })
    }

    /// Does what [`Memory::lock_entries`] does without a look at git: for what git itself started, and for what
    /// is written to `state/` alone, which git ignores.
    pub(super) fn lock_within_git(&self) -> Result<Lock> {
        let lock = self.store.lock(self.lock_timeout())?;
        if lock.was_abandoned() {
            // What cannot be removed is in nobody's way, and `doctor` names it.
            let _ = self.store.sweep(&lock);
        }
        Ok(lock)
    }

    /// Returns the work tree that the memory lies in, where there is git.
    pub(super) fn work_tree(&self) -> Option<WorkTree> {
        match WorkTree::find(self.store.memory()) {
            Lookup::Found(tree) => Some(tree),
            Lookup::NoGit | Lookup::NoWorkTree | Lookup::Refused(_) => None,
        }
    }

    /// Returns the state of the work tree's files as it is now; none where there is no git or no work tree. Where
    /// it cannot be told, a problem says why: an attempt counts without it.
    pub(super) fn state_of_files(&self) -> std::result::Result<Option<State>, Box<Problem>> {
        let work_tree = match WorkTree::find(self.store.memory()) {
            Lookup::Found(tree) => tree,
            Lookup::NoGit | Lookup::NoWorkTree => return Ok(None),
            Lookup::Refused(reason) => return Err(Box::new(unknown(&reason))),
        };
        let scratch = self.scratch();
        let scratch = scratch.map_err(|source| Error::Io { action: "create", path: self.store.state(), source });
        match scratch.and_then(|scratch| Ok((work_tree.tree(&scratch)?, scratch))) {
            Ok((tree, scratch)) => Ok(Some(State { tree, work_tree, scratch })),
            Err(error) => Err(Box::new(unknown(&error.to_string()))),
        }
    }
}

/// Waits until there is no lock at this path, and returns whether that came true in time.
fn is_free(path: &Path) -> bool {
    let started = Instant::now();
    loop {
        let Ok(stat) = path.symlink_metadata() else { return true };
        let age = stat.modified().ok().and_then(|made| SystemTime::now().duration_since(made).ok());
        if age.is_some_and(|age| age > OLD) || started.elapsed() >= MAX_WAIT {
            return false;
        }
        sleep(PAUSE);
    }
}

fn busy(path: &Path) -> Problem {
    Problem {
        path: MEMORY_FOLDER.to_owned(),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "git-busy".to_owned(),
        message: format!("written while git keeps `{}`: `git stash -u` may have taken the file along", path.display())
            .into(),
        hint: "see whether it is still there; where no git command is running, remove that lock".into(),
    }
}

fn unknown(reason: &str) -> Problem {
    Problem {
        path: MEMORY_FOLDER.to_owned(),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "no-tree".to_owned(),
        message: format!("the attempt goes on without the state of the project's files: {reason}").into(),
        hint: "`ralph-memory doctor` looks at git; the attempt is recorded all the same".into(),
    }
}
