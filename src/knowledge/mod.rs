//! Writing knowledge: adding, changing, editing and restoring entries.
//!
//! Every write happens under the lock of the entries, and changes one file; only a new title may change the links in
//! others. The undo log has the replaced text before the file changes. The vectors of the written entries follow once
//! the lock is free, because a server makes them.

mod add;
mod author;
mod change;
mod code_names;
pub(crate) mod dedup;
mod edit;
mod entry_changes;
mod events;
pub(crate) mod queries;
mod rejected;
mod rename;
mod restore;
mod staleness;
mod supersede;
mod tags;
pub(crate) mod tidy;
mod touched;
pub(crate) mod undo;
mod write;
mod written;

pub(crate) use add::{add, create, proposed, update};
pub(crate) use author::{may_change, permit, permit_kept, permit_removal};
pub(crate) use code_names::Staleness;
pub use edit::EntryText;
pub use entry_changes::EntryChanges;
pub(crate) use events::live_events;
pub(crate) use rejected::rejected;
pub use restore::EntryVersion;
pub(crate) use restore::left_texts;
pub(crate) use staleness::staleness;
pub(crate) use touched::{touched, visit_naming};
pub(crate) use write::refuse_unlisted;
pub use written::{WriteAction, Written};
