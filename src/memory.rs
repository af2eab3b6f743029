//! [`Memory`], with the types of its parameters and answers.

pub use crate::context::Run;
pub use crate::diagnostics::{CheckReport, FixReport};
pub use crate::index::is_guarded;
pub use crate::journal::history::Report;
pub use crate::journal::{AttemptView, Found};
pub use crate::knowledge::queries::{EntryFilter, EntryView, ListResult, MemoryStatus, SearchResults, ShowResult};
pub use crate::knowledge::tidy::TidyReport;
pub use crate::knowledge::{EntryChanges, EntryVersion, WriteAction, Written};
pub use crate::open::{Memory, StateFolders};
pub use crate::recording::{KeptAttempt, OpenAttempt, Recorded, record_command};
pub use crate::store::write_file;

// What the program needs besides, and the parts of answers that nobody has to name. They are no part of the interface.
#[doc(hidden)]
pub use crate::diagnostics::SourceLines;
#[doc(hidden)]
pub use crate::entry::path::EntryPath;
#[doc(hidden)]
pub use crate::import::{
    AgentFolders, ImportAction, ImportInput, ImportKind, ImportOrigin, ImportReport, ImportRequest, ImportedItem,
};
#[doc(hidden)]
pub use crate::journal::history::{TouchedFile, Usage};
#[doc(hidden)]
pub use crate::journal::{Occurrence, RecurringError};
#[doc(hidden)]
pub use crate::knowledge::EntryText;
#[doc(hidden)]
pub use crate::knowledge::queries::{EntryCounts, EntryLink, EntrySort, Useless, WrittenBy};
#[doc(hidden)]
pub use crate::knowledge::tidy::{ArchivedEntry, MergedLearnings, plan::ArchiveReason};
#[doc(hidden)]
pub use crate::knowledge::undo::{Operation, UndoAction, Undone, UndoneFile};
#[doc(hidden)]
pub use crate::open::watch::{FileChanges, WatchEvent, WatchHandle, WatchMode};
#[doc(hidden)]
pub use crate::recording::{LivePhase, LiveRun, ProcessIdentity};
#[doc(hidden)]
pub use crate::search::retrieve::Explained;
#[doc(hidden)]
pub use crate::search::semantic::{EmbedReport, ProjectHit, SemanticStatus};
#[doc(hidden)]
pub use crate::sessions::{HookAnswer, HookCall, HookEvent};
#[doc(hidden)]
pub use crate::store::{KeptText, OperationScope};
#[doc(hidden)]
pub use crate::timeline::{
    AttemptTotals, FeatureStats, Log, LogFilter, ModelStats, NextModel, Overview, ReuseStats, RunView, Stats,
    StatsFilter, StuckTask, TaskCounts, TaskInRun, TaskState, TaskView,
};
#[doc(hidden)]
pub use crate::workspace::{Activity, Initialised, OWN, Rebuilt, Step, Work};
