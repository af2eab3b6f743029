//! Runs work on files that may make Tantivy panic: a damaged cache is not a bug, and must not end a command.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs work on the cache. A panic in it is an error, after which the caller works without that cache.
///
/// # Errors
///
/// The message of the panic.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    result
}

/// Returns whether this thread does such work, so that its panic need not be printed.
pub fn is_guarded() -> bool {
    DEPTH.get() > 0
}
