//! Watches the entry files, keeps the index up to date with them, and reports changes.
//!
//! No call needs a watcher: each of them checks every file itself. A watcher reads and indexes changed files before the
//! next call. Notifications of the system are only hints to scan again; the scan decides what changed.

mod changes;
mod index_watch;
mod notifications;

pub use changes::{FileChanges, WatchEvent};
pub use index_watch::WatchHandle;
pub use notifications::WatchMode;
