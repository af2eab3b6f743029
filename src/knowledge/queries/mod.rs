//! Answers about entries: one of them, lists, counts, and searches.
//!
//! Nothing here writes an entry. Unreadable entries are left out, and their problems are reported beside the answer.

mod list;
mod search;
mod show;
mod status;
mod usage;
mod view;

pub(crate) use crate::index::highlights;
pub use list::{EntryFilter, EntrySort, ListResult, Useless};
pub(crate) use list::{list, summaries};
pub use search::SearchResults;
pub(crate) use search::{excerpts, hits, search};
pub use show::ShowResult;
pub(crate) use show::show;
pub(crate) use status::status;
pub use status::{EntryCounts, MemoryStatus};
pub(crate) use usage::usage;
pub use view::{EntryLink, EntryView};
