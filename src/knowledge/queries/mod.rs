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
pub(crate) use layers::{LayeredQuery, show_in_layer, text, texts};
pub use list::{EntryFilter, EntrySort, ListResult, Useless, WrittenBy};
pub(crate) use list::{list, summaries, usage};
pub use search::SearchResults;
pub(crate) use search::{excerpts, search};
pub use show::ShowResult;
pub(crate) use show::show;
pub(crate) use status::status;
pub use status::{EntryCounts, MemoryStatus};
pub use view::{EntryLink, EntryView};
