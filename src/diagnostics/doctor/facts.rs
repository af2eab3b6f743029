//! The input of the rules for the memory as a whole: plain facts about the memory, gathered by [`gather`](crate::diagnostics::gather).

use std::time::Duration;

use crate::git::Uncommitted;
use crate::search::semantic::SemanticStatus;
use crate::sessions::HookLog;
use crate::store::{FolderState, LockState, Survey};

/// The facts about a memory.
#[derive(Debug, Clone)]
pub(crate) struct MemoryFacts {
    /// Whether there is a settings file.
    pub has_settings: bool,
    /// Whether each of its lines has a meaning.
    pub settings_are_clear: bool,
    /// `.ralph/` itself.
    pub memory: FolderState,
    /// The folders that hold entries, by name.
    pub entries: Vec<(&'static str, FolderState)>,
    /// `state/`
    pub state: FolderState,
    /// Why this user's key for `state/` and `cache/` cannot be kept, if it cannot.
    pub key_problem: Option<String>,
    /// `cache/`
    pub cache: FolderState,
    /// The indexes, by name.
    pub indexes: Vec<(&'static str, IndexFacts)>,
    /// Indexes and catalogs of other versions, relative to `.ralph/`.
    pub old_caches: Vec<String>,
    /// What a survey of all files found.
    pub survey: Survey,
    /// The lock of the entry files.
    pub lock: LockState,
    /// The lock of the cache.
    pub cache_lock: LockState,
    /// What git says of the folder.
    pub git: GitFacts,
    /// Whether semantic search works.
    pub semantic: SemanticStatus,
    /// When hooks of agents' clients acted last, and their errors.
    pub hooks: HookLog,
    /// The median of the last times of the hook at calls of tools, and how many these are.
    pub tool_time: Option<(Duration, usize)>,
}

/// The facts about one index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct IndexFacts {
    /// The id of its last commit; `None` where there is no index.
    pub id: Option<String>,
    /// The number of documents in it.
    pub documents: usize,
    /// The number of those that are out of date and are not used.
    pub stale: usize,
    /// Whether the catalog knows its contents.
    pub is_known: bool,
    /// The number of entries that it should contain.
    pub entries: usize,
    /// The number of those that are not indexed yet.
    pub pending: usize,
}

impl IndexFacts {
    /// Returns whether it must be rebuilt: its contents are unknown, or not what they should be.
    pub(crate) fn is_broken(&self) -> bool {
        self.id.is_some() && (!self.is_known || self.documents != self.expected())
    }

    /// Returns how many documents it should contain.
    pub(super) fn expected(&self) -> usize {
        self.entries.saturating_sub(self.pending) + self.stale
    }
}

/// What git says of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GitFacts {
    /// `git` is not installed.
    Missing,
    /// The memory is not in a work tree.
    NoWorkTree,
    /// It refuses to answer; with its reason.
    Failed(String),
    /// The memory is in a work tree.
    WorkTree {
        /// Those of the folders `cache` and `state` that it does not ignore.
        not_ignored: Vec<String>,
        /// Files below these that it tracks.
        tracked: Vec<String>,
        /// Whether it ignores the memory as a whole.
        is_private: bool,
        /// The entries that it ignores.
        ignored: Vec<String>,
        /// What is not committed.
        uncommitted: Uncommitted,
        /// The files that still name the merge driver of an earlier version.
        old_driver: Vec<&'static str>,
    },
}
