//! The command line of `ralph-memory`.
//!
//! It knows terminals, exit codes and the environment, and nothing of files and formats: every
//! answer comes from the library's public interface.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test"))]

mod cli;
mod commands;
mod error;
mod mcp;
mod parse;
mod report;
mod running;
mod session;
mod tended;
mod ui;

use std::io::{self, BufWriter};
use std::process::ExitCode;

fn main() -> ExitCode {
    error::report_panics();
    let mut out = BufWriter::new(io::stdout().lock());
    // A panic of another thread must be able to write, so this is not locked.
    let mut err = io::stderr();
    error::guarded(|| cli::run(std::env::args_os(), &mut out, &mut err)).into()
}
