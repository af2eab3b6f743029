//! What the library and the program do together, on real files.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod broken;
mod ranking;
mod sync;
