//! Writing knowledge: adding, superseding, restoring, renaming and promoting entries, and which events a task sees.
//!
//! Every write happens under the lock of the entries, and an update first puts the old version into the archive.
//! Nothing here knows of vectors: callers make those of the written entries.

mod add;
mod draft;
mod edit;
mod events;
mod promote;
mod rename;
mod restore;
mod staleness;
mod supersede;
mod write;

pub use add::{AddAction, Added};
pub(crate) use add::{add, create, update};
pub use draft::EntryDraft;
pub(crate) use draft::draft;
pub use edit::{Edited, EntryText};
pub(crate) use edit::{edit, text};
pub(crate) use events::{beyond_caps, events_for, journal_events};
pub use promote::Promoted;
pub(crate) use promote::promote;
pub use rename::Renamed;
pub(crate) use rename::rename;
pub use restore::Restored;
pub(crate) use restore::restore;
pub(crate) use staleness::{Staleness, staleness};
pub use supersede::Superseded;
pub(crate) use supersede::supersede;
