//! An open memory without its operations: the files, the settings, the clock, and the observer of calls.
//!
//! It updates the index, takes the locks, and reads and replaces entries. It knows nothing about attempts, searches or
//! contexts: modules for these take a workspace.

mod activity;
mod entries;
mod freshness;
mod hints;
mod init;
mod layers;
mod locking;
mod secrets;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};

use crate::entry::{Head, Scope};
use crate::error::Problem;
use crate::index::catalog::Catalog;
use crate::settings::Settings;
use crate::store::Store;
use crate::text::is_same_name;

pub(crate) use activity::Observer;
pub use activity::{Activity, Step, Work};
pub(crate) use entries::{current_id, live_entry, no_such_entry, unlisted};
pub use freshness::Rebuilt;
pub(crate) use freshness::{Opened, View};
pub use init::Initialised;
pub(crate) use init::{IGNORE, hide_from_git, init, init_own};
pub use layers::OWN;
pub(crate) use layers::{Layer, read_config};
pub(crate) use locking::EntryLock;

/// How long a writing call waits for another one.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a call waits for a lock at most while a client waits for this process.
const HURRIED_TIMEOUT: Duration = Duration::from_millis(150);

/// The files of a memory, and the common input of every call on them.
pub(crate) struct Workspace {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    /// The problems of the settings files.
    pub(crate) settings_problems: Vec<Problem>,
    pub(crate) clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    pub(crate) observer: Option<Observer>,
    /// The folder of the person's own memory, which exists, if it is read beside this one.
    pub(crate) own: Option<PathBuf>,
    /// How long a writing call waits for another one.
    pub(crate) lock_timeout: Duration,
    /// Whether a client waits for this process: it waits for a lock only briefly, for git and the index's lock not at
    /// all, and a search neither builds nor extends the index.
    pub(crate) is_hurried: bool,
    /// For a process that gives one answer: the number of changes by this process up to which each area was found unchanged.
    /// Such a process examines the files once, and again after it changed one.
    pub(crate) unchanged: Option<[AtomicU64; 2]>,
    /// The feature of the agent that asks: answers contain nothing of another one.
    pub(crate) feature: Option<String>,
}

impl Workspace {
    /// Examines the files once, for a process that gives one answer.
    pub(crate) fn answer_once(&mut self) {
        self.unchanged = Some([u64::MAX; 2].map(AtomicU64::new));
    }

    /// Examines the files again, for what others wrote before this process got the lock.
    fn examine_again(&self) {
        self.unchanged.iter().flatten().for_each(|unchanged| unchanged.store(u64::MAX, Ordering::Relaxed));
    }

    /// Returns the folder that holds `.ralph/`.
    pub(crate) fn root(&self) -> &Path {
        self.store.root()
    }

    /// Returns whether answers may contain an entry: not one of another feature than the agent's.
    pub(crate) fn shows(&self, head: &Head) -> bool {
        let Some(own) = self.feature.as_deref() else { return true };
        let scope = if let Scope::Feature(name) = &head.scope { Some(name.as_str()) } else { None };
        head.feature.as_deref().into_iter().chain(scope).all(|name| is_same_name(Some(name), Some(own)))
    }

    /// Removes from a catalog what answers may not contain. Every answer is made from such a catalog; a write knows all
    /// entries, so that it takes no name and no number that another feature has.
    fn narrow(&self, catalog: &mut Catalog) {
        if self.feature.is_some() {
            catalog.retain(|head| self.shows(head));
        }
    }

    /// Returns the time.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        DateTime::from((self.clock)())
    }

    /// Returns how long a call waits for a lock.
    pub(crate) fn lock_timeout(&self) -> Duration {
        if self.is_hurried { self.lock_timeout.min(HURRIED_TIMEOUT) } else { self.lock_timeout }
    }
}
