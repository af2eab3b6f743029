//! The current work of a call, for progress displays.

use super::Workspace;
use crate::error::Result;
use crate::store::Lock;

/// Work of a call that may take a while.
///
/// ```
/// use ralph_memory::memory::Work;
/// use ralph_memory::Memory;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// let (sender, activities) = std::sync::mpsc::channel();
/// let memory = Memory::open(root)?.with_observer(move |activity| drop(sender.send(activity.work)));
/// memory.check();
/// assert!(activities.try_iter().any(|work| work == Work::Examining));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Work {
    /// Checks the files, and opens none.
    Scanning,
    /// Reads changed entries.
    Reading,
    /// Reads entries, and adds them to the index.
    Indexing,
    /// Writes the index to the disk.
    WritingIndex,
    /// Embeds entries.
    Embedding,
    /// Embeds entries, and stores them on the Qdrant server.
    Storing,
    /// Waits for an answer of the Ollama server.
    AskingOllama,
    /// Waits for an answer of the Qdrant server.
    AskingQdrant,
    /// Waits for git's answer about the project's files.
    AskingGit,
    /// Compares entries with each other.
    Comparing,
    /// Searches files for secrets and invisible characters.
    Checking,
    /// Examines folders, locks, the index and the servers.
    Examining,
    /// Moves entries to the archive.
    Archiving,
    /// Waits until another process releases its lock.
    WaitingForLock,
    /// Waits until git leaves the work tree alone.
    WaitingForGit,
}

/// A step of a piece of work.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::{Step, Work};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// let (sender, steps) = std::sync::mpsc::channel();
/// let memory = Memory::open(root)?.with_observer(move |activity| drop(sender.send((activity.work, activity.step))));
/// memory.check();
/// let checking: Vec<_> = steps.try_iter().filter(|(work, _)| *work == Work::Checking).collect();
/// assert_eq!(checking.first(), Some(&(Work::Checking, Step::Began)));
/// assert_eq!(checking.last(), Some(&(Work::Checking, Step::Ended)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// It begins. Work that was going on continues around it.
    Began,
    /// More of it is done.
    Advanced,
    /// It is over, finished or not.
    Ended,
}

/// A piece of work that a call begins, advances or ends: see [`Memory::with_observer`](crate::Memory::with_observer).
///
/// ```
/// use ralph_memory::memory::{Activity, Step, Work};
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// Memory::open(root)?.add(&Knowledge::new("Log levels", ["logs"], "`info` in production."))?;
/// let (sender, activities) = std::sync::mpsc::channel();
/// let memory = Memory::open(root)?.with_observer(move |activity| drop(sender.send(activity)));
/// memory.rebuild_index()?;
/// let done = Activity { work: Work::Indexing, step: Step::Ended, done: 1, total: Some(1) };
/// assert!(activities.try_iter().any(|activity| activity == done));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Activity {
    /// The work.
    pub work: Work,
    /// The step.
    pub step: Step,
    /// How much of it is done.
    pub done: usize,
    /// The total amount, approximately; `None` if it is unknown.
    pub total: Option<usize>,
}

/// The receiver of each [`Activity`].
pub(crate) type Observer = Box<dyn Fn(Activity) + Send + Sync>;

/// Work that lasts until this is dropped.
#[must_use]
pub(crate) struct Ongoing<'a> {
    observer: Option<&'a Observer>,
    activity: Activity,
}

impl Ongoing<'_> {
    /// Reports that so much more is done.
    pub(crate) fn advance(&mut self, by: usize) {
        if self.observer.is_some() {
            self.activity.done += by;
            self.tell(Step::Advanced);
        }
    }

    fn tell(&self, step: Step) {
        if let Some(observer) = self.observer {
            observer(Activity { step, ..self.activity });
        }
    }
}

impl Drop for Ongoing<'_> {
    fn drop(&mut self) {
        self.tell(Step::Ended);
    }
}

impl Workspace {
    /// Reports that work begins, which lasts until the result is dropped.
    pub(crate) fn doing(&self, work: Work, total: Option<usize>) -> Ongoing<'_> {
        let activity = Activity { work, step: Step::Began, done: 0, total };
        let ongoing = Ongoing { observer: self.observer.as_ref(), activity };
        ongoing.tell(Step::Began);
        ongoing
    }

    /// Takes the lock of the entry files, with the time-out of the settings.
    pub(crate) fn wait_for_entries(&self) -> Result<Lock> {
        let _waiting = self.doing(Work::WaitingForLock, None);
        self.store.lock(self.lock_timeout())
    }

    /// Takes the lock of the cache, with the time-out of the settings.
    pub(crate) fn wait_for_cache(&self) -> Result<Lock> {
        let _waiting = self.doing(Work::WaitingForLock, None);
        self.store.wait_for_cache_lock(self.lock_timeout())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::memory::Memory;

    /// Returns the reported work of a call, in a memory with this many entries.
    fn told(n_entries: usize, call: impl FnOnce(&Memory)) -> Vec<Activity> {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        for number in 0..n_entries {
            let text = format!("---\ntitle: Entry {number}\ntags: [x]\n---\n\nText {number}.\n");
            fs::write(folder.path().join(format!(".ralph/knowledge/e{number}.md")), text).unwrap();
        }
        let told = Arc::new(Mutex::new(Vec::new()));
        let memory = Memory::open(folder.path()).unwrap().with_observer({
            let told = Arc::clone(&told);
            move |activity| told.lock().unwrap().push(activity)
        });
        call(&memory);
        std::mem::take(&mut *told.lock().unwrap())
    }

    fn of(told: &[Activity], work: Work) -> Vec<(Step, usize, Option<usize>)> {
        let of = told.iter().filter(|activity| activity.work == work);
        of.map(|activity| (activity.step, activity.done, activity.total)).collect()
    }

    #[test]
    fn an_index_that_is_built_is_counted() {
        // A search builds one too, from a number of entries on.
        let calls: [&dyn Fn(&Memory); 2] = [&|memory| drop(memory.rebuild_index().unwrap()), &|memory| {
            let query = crate::Query { text: "entry".into(), ..crate::Query::default() };
            drop(memory.search(&query, 1).unwrap());
        }];
        for call in calls {
            let told = told(40, call);
            let indexing: Vec<_> =
                of(&told, Work::Indexing).into_iter().filter(|(_, _, total)| *total == Some(40)).collect();
            assert_eq!((indexing.first(), indexing.len()), (Some(&(Step::Began, 0, Some(40))), 42));
            assert_eq!(indexing[40..], [(Step::Advanced, 40, Some(40)), (Step::Ended, 40, Some(40))]);
        }
    }

    #[test]
    fn work_is_nested_and_ends() {
        let calls: [&dyn Fn(&Memory); 4] = [
            &|memory| drop(memory.check()),
            &|memory| drop(memory.tidy(false).unwrap()),
            &|memory| drop(memory.fix().unwrap()),
            &|memory| drop(memory.add(&crate::Knowledge::new("New", ["y"], "Text.")).unwrap()),
        ];
        for call in calls {
            let mut open = Vec::new();
            let told = told(3, call);
            for activity in &told {
                match activity.step {
                    Step::Began => open.push(activity.work),
                    Step::Advanced => assert_eq!(open.last(), Some(&activity.work), "{told:?}"),
                    Step::Ended => assert_eq!(open.pop(), Some(activity.work), "{told:?}"),
                }
            }
            assert!(open.is_empty() && !told.is_empty(), "{told:?}");
        }
    }

    #[test]
    fn a_wait_is_reported_and_ends_at_the_time_out() {
        let told = told(0, |memory| {
            let held = memory.workspace.store.lock(std::time::Duration::ZERO).unwrap();
            let impatient = Memory::open(memory.root()).unwrap();
            let told = Arc::new(Mutex::new(Vec::new()));
            let mut impatient = impatient.with_observer({
                let told = Arc::clone(&told);
                move |activity: Activity| told.lock().unwrap().push((activity.work, activity.step))
            });
            impatient.workspace.lock_timeout = std::time::Duration::ZERO;
            assert!(impatient.workspace.wait_for_entries().is_err());
            assert_eq!(
                *told.lock().unwrap(),
                [(Work::WaitingForLock, Step::Began), (Work::WaitingForLock, Step::Ended)]
            );
            drop(held);
        });
        assert!(told.is_empty());
    }
}
