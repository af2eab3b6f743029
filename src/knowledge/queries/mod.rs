//! Answers about entries: one of them, lists, counts, and searches.
//!
//! Nothing here writes an entry. Unreadable entries are left out, and their problems are reported beside the answer.

mod hits;
mod layers;
mod list;
mod search;
mod show;
mod status;
mod view;

pub(crate) use hits::hits;
pub(crate) use layers::{LayeredQuery, text, texts};
pub use list::{EntryFilter, EntrySort, ListResult, Useless, WrittenBy};
pub use search::SearchResults;
pub use show::ShowResult;
pub use status::{EntryCounts, MemoryStatus};
pub use view::{EntryLink, EntryView};
