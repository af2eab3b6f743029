//! What the library and the program do together, on real files.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod architecture; // the order of the modules, what is pure, who may name which crate
mod broken; // every kind of bad input is told of, hides nothing and is left alone
mod cli; // each command: output, messages and exit code
mod events; // what happened, who is told of it, and how much
mod failures; // what the file system, another process or an odd file does to a command
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../campaigns/faults.rs"]
mod fault_campaign; // each file operation fails once
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod faults; // what holds whichever file operation fails
mod git; // commits of the memory, and files that knowledge speaks of
mod killed; // a loop that is killed at random moments loses nothing
mod knowledge; // what adding, superseding and restoring do to entries that are there
mod lessons; // what broke other memories, one test each
mod loops; // a scripted agent, driven in three ways
#[path = "../campaigns/merges.rs"]
mod merges; // random merges of two clones
mod merging; // the merge driver
#[path = "../campaigns/random.rs"]
mod random; // numbers for campaigns
mod ranking; // how well entries are found for the tasks that need them
mod readme; // every command in the README
mod support; // a folder, and the program run in it
mod sync;
mod tending; // what goes to the archive, and that nothing is lost by it // a folder, and the program run in it // a grown cache answers like a new one
#[path = "../campaigns/year.rs"]
mod year; // a year of a project
