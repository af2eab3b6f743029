//! What the library and the program do together, on real files.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::too_many_lines, reason = "what is done step by step is read step by step")]

#[path = "../campaigns/agent.rs"]
mod agent; // an agent's end of the server
mod answers; // what `--json` prints: one shape for one thing
mod architecture; // the order of the modules, what is pure, who may name which crate
mod attempts; // what is kept of an attempt, whatever fails behind its agent
mod broken; // every kind of bad input is told of, hides nothing and is left alone
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../campaigns/calls.rs"]
mod calls; // the system calls of a program that is traced
mod campaigns; // clocks that lie, damage, full disks, names that lead elsewhere
mod cli; // each command: output, messages and exit code
#[path = "../campaigns/clocks.rs"]
mod clocks; // edits that clocks hide
mod cloned; // what came with a clone is not believed
#[path = "../campaigns/corruption.rs"]
mod corruption; // damage to what can be made again
mod crowded; // kills, crowds and storms
#[path = "../campaigns/crowds.rs"]
mod crowds; // many processes at one memory
mod dependencies; // what the lock file may hold
mod doc_examples; // every example of the documentation works
mod docs; // the pages of the documentation, their links and the man pages
mod endings; // how attempts end, told by what real clients print
mod events; // what happened, who is told of it, and how much
mod every_ending; // twenty iterations that end in every way that clients were recorded to end
mod facts; // alike facts never take each other's place
mod failures; // what the file system, another process or an odd file does to a command
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../campaigns/faults.rs"]
mod fault_campaign; // each file operation fails once
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod faults; // what holds whichever file operation fails
mod floods; // files full of faults are told of in a few lines
mod forms; // names and words in both of the forms of Unicode
#[path = "../campaigns/frames.rs"]
mod frames; // random lines for the server
#[path = "../campaigns/full_disk.rs"]
mod full_disk; // a disk that is full, and one that can only be read
#[path = "../campaigns/fuzz.rs"]
mod fuzz; // what must hold for any bytes
mod git; // commits of the memory, and files that knowledge speaks of
mod git_calls; // what git is asked, and what nobody else can make of that
#[path = "../campaigns/git_matrix.rs"]
mod git_matrix; // settings of git and kinds of repository
mod hostile; // what is kept for the fuzzer
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../campaigns/hostile_clone.rs"]
mod hostile_clone; // repositories in which everything was committed
mod killed; // a loop that is killed at random moments loses nothing
#[path = "../campaigns/kills.rs"]
mod kills; // kills at random moments
mod knowledge; // what adding, superseding and restoring do to entries that are there
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../campaigns/last_step.rs"]
mod last_step; // what fails behind an agent's end
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod last_steps; // what holds then
mod leaks; // how well secrets are found
mod lessons; // what broke other memories, one test each
mod limits; // how long a run, its agent and its verification may go on, and what it keeps of them
mod loop_setup; // programs, models, limits and options of a run, and what is told of a task that is stuck
mod loops; // a scripted agent, driven in three ways
mod mcp; // the server for agents, at the other end of two pipes
mod meaning; // finding by meaning, and servers that fail
mod mending; // what is left of crashes
#[path = "../campaigns/merges.rs"]
mod merges; // random merges of two clones
mod merging; // the merge driver
#[path = "../campaigns/own_disk.rs"]
mod own_disk; // a process that may mount file systems
mod owners; // a memory of another user is not used
#[path = "../campaigns/paths.rs"]
mod paths; // names and links that would lead elsewhere
#[path = "../campaigns/program.rs"]
mod program; // the program, for campaigns
mod pty; // the program on a terminal
mod qdrant; // vectors on a real Qdrant server, or on one that stands in for it
mod qdrant_failures; // each way in which that server fails
mod qdrant_tls; // whose certificate is trusted
mod questions; // what entries answer, and how they are found by it
#[path = "../campaigns/random.rs"]
mod random; // numbers for campaigns
mod ranking; // how well entries are found for the tasks that need them
mod redacting; // secrets are refused, redacted, found, and shown nowhere
#[path = "../campaigns/saves.rs"]
mod saves; // how editors save
mod schemas; // what tools take and answer, checked
#[path = "../campaigns/secrets.rs"]
mod secrets; // synthetic secrets, and notes without any
mod shown; // what a terminal shows while a command works
mod standin; // servers that stand in for those nobody has to have
#[path = "../campaigns/storms.rs"]
mod storms; // more changes than a queue holds
mod structure; // names that occur once, no circle of files
mod support; // a folder, and the program run in it
mod sync; // a grown cache answers like a new one
mod tending; // what goes to the archive, and that nothing is lost by it
mod terminal; // terminals get no orders
mod transcripts; // the event streams of agents
mod unseen; // characters that no reader sees are refused, reported and shown
mod views; // the journal from one side: iterations, failures, files, errors that come back
mod watching; // what watchers tell
#[path = "../campaigns/year.rs"]
mod year; // a year of a project
