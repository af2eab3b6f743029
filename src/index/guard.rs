//! Work on files that may make Tantivy panic: what is wrong with a cache is no bug, and ends no command.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs work that looks at the cache. A panic in it is an answer, to be followed by work without that cache.
///
/// # Errors
///
/// What the work panicked with.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    result
}

/// Returns whether this thread is at such work, so that a panic of it need not be told to anybody.
pub fn is_guarded() -> bool {
    DEPTH.get() > 0
}
