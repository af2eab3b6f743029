//! The command line of `ralph-memory`.
//!
//! It knows terminals, exit codes and the environment, but nothing about files and formats: every answer comes from the
//! library's public interface.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test"))]

mod activity;
mod advice;
mod answers;
mod authors;
mod cli;
mod commands;
mod error;
mod exit;
mod mcp;
mod own;
mod parse;
mod project_paths;
mod report;
#[cfg(feature = "page")]
mod serve;
mod session;
mod table;
mod ui;

use std::io::{self, BufWriter};
use std::process::ExitCode;

use activity::Erasing;
use ralph_memory::system::posix::signals::outlive_file_limit;

fn main() -> ExitCode {
    error::report_panics();
    outlive_file_limit();
    let mut out = BufWriter::new(Erasing(io::stdout().lock()));
    // A panic of another thread must be able to write, so this is not locked.
    let mut err = Erasing(io::stderr());
    let exit = error::guarded(|| cli::run(std::env::args_os(), &mut out, &mut err));
    activity::close();
    exit.into()
}

#[cfg(test)]
mod tests;
