//! The memory of a coding-agent loop.
//!
//! Every attempt in such a loop starts with an empty context. This library provides one: earlier attempts at the task
//! and why they failed, learnings from elsewhere in the project, the state of the run and the model to use, within a
//! budget. It reads the agent's answer for anything worth remembering. Everything is stored in markdown files with YAML
//! frontmatter under `.ralph/`. The files are the source; everything else is built from them, and may be deleted at any
//! time.
//!
//! ```
//! use ralph_memory::entry::Outcome;
//! use ralph_memory::memory::Report;
//! use ralph_memory::{Knowledge, Memory, Task};
//!
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! Memory::init(root)?;
//! let memory = Memory::open(root)?;
//! let pitfall = Knowledge {
//!     category: Some("pitfall".into()),
//!     ..Knowledge::new("Benches need nightly", ["cargo", "benches"], "Use `cargo +nightly bench`.")
//! };
//! let added = memory.add(&pitfall)?;
//! assert_eq!(added.id.as_str(), "knowledge/benches-need-nightly");
//!
//! let task = Task::new("Make the benches run in CI");
//! let run = memory.new_run();
//! let attempt = memory.begin(&task, &run)?;
//! assert_eq!(attempt.entries, [added.id]);
//! assert!(attempt.context.contains("Use `cargo +nightly bench`."));
//! assert_eq!((attempt.model.as_str(), attempt.rationale.as_str()), ("sonnet", "default (cost-optimized strategy)"));
//!
//! // … give `attempt.context` to an agent; this is the end of what it answers.
//! let text = format!("<journal>No runner has nightly.</journal>\n<task-failed>{}</task-failed>", attempt.task_id());
//! let recorded = memory.finish(&attempt, &Report { text, ..Report::default() })?;
//! assert_eq!(recorded.outcome, Outcome::Failed);
//! let again = memory.begin(&task, &run)?;
//! assert!(again.context.contains("This task has been attempted once before."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to begin
//!
//! | for | read |
//! |---|---|
//! | a loop of your own | [`Memory`], [`Memory::begin`] and [`Memory::finish`]; in pieces, [`Memory::context`] and [`Memory::record`] |
//! | a loop that is there already | the module `runner`, with the feature of that name |
//! | adding, searching and maintaining | [`Memory`], whose answers are in [`memory`] |
//! | what an entry and an attempt can say | [`Knowledge`], [`entry`] |
//! | what can be set | [`Settings`](settings::Settings) |
//! | what fails, and what to tell a person | [`Error`], [`error`] |
//!
//! A call checks the stat of every file, reads the files that changed, and searches the index together with a small one
//! in memory for what the index lacks. So an answer has every change that was complete before the call began, without a
//! daemon. A long-lived process can [watch](Memory::watch) the files, to learn about changes and to have them indexed
//! in advance.
//!
//! If the settings name an Ollama server, entries are also found by their meaning: a call that writes an entry embeds
//! it, and a search adds the similarity to the score. That server, and a Qdrant server on which a team shares the
//! vectors, may be absent, slow or broken at any time: words are always enough.
//!
//! An attempt is one file of the journal. [`Memory::context`] reads the journal for failures in a row and success rates, chooses a
//! model and builds the [`Context`], and opens nothing; [`Memory::record`] reads the agent's text and writes the journal.
//! [`Memory::begin`] and [`Memory::finish`] do the same for a process that works on an attempt from beginning to end.
//!
//! The chapter on architecture, in `docs/src/design/architecture.md`, describes the private modules and their order.
//!
//! # Words
//!
//! | word | means |
//! |---|---|
//! | entry | one markdown file with frontmatter; a [`Kind::Knowledge`] or a [`Kind::Journal`] one |
//! | [`Id`] | its name, `knowledge/<stem>`, which stays when the file moves to a subfolder or the archive |
//! | [`Scope`] | whom it concerns |
//! | [event](Knowledge::event) | knowledge of something that happened; contexts of the tasks in its scope show it, and it is never updated |
//! | [run](memory::Run), [task](Task), [attempt](memory::OpenAttempt) | one invocation of a loop; what is to be done; one try at that |
//! | sigil | an element in an agent's text that says something to the memory |
//! | [`Query`], [`Hit`] | what is looked for, and an entry that was found, with a score and its parts |
//! | [`Context`], [`Budget`] | the prompt of an agent, and how much of it there may be |
//! | [`Problem`] | something wrong with one file, reported beside a result |
//! | [`Error`] | what stops a call |
//!
//! # What holds
//!
//! * Files are the truth: every answer is the same after `.ralph/cache/` is deleted, scores included.
//! * Reading never writes to a file that is under version control.
//! * Only bytes that were read are replaced, and the archive has the old body before the new one is in place. A version
//!   that an editor saves at that moment is kept and reported.
//! * One bad file never hides another.
//! * A locked, broken or missing cache makes a call slower, never wrong, and never fails a write.
//! * Equal input gives equal bytes. A context never exceeds its budget.
//! * Text of an entry reaches a path only as a slug, a terminal only sanitised, a prompt only folded to a line, quoted
//!   or fenced, and with sigils defused.
//! * Text that looks like a secret reaches no entry: knowledge with one is refused, and the journal has
//!   `[redacted: PATTERN]` in its place.
//! * Invisible characters are refused from agents, and made visible wherever text is shown.
//! * A memory of another user is used only when it is named.
//! * An attempt is in the journal once, and everything that follows from the journal is computed from it.
//! * A context opens nothing.
//! * An attempt whose agent has ended is in the journal, or, if [`Memory::keeping_in`] names a folder, in a file that the
//!   error names and [`Memory::record_kept`] reads.
//! * `tidy` deletes nothing. It moves files to the archive, and every count from the journal stays the
//!   same.
//! * A file that comes with a repository names no command to run, no address to send text to, and nothing else of a
//!   server.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test"))]
#![cfg_attr(test, allow(clippy::too_many_lines, reason = "a test is read from its first line to its last"))]

pub mod agent_output;
pub mod context;
mod diagnostics;
pub mod entry;
pub mod error;
mod git;
mod import;
mod index;
#[doc(hidden)]
pub mod internals;
mod journal;
mod knowledge;
pub mod memory;
mod open;
mod recording;
#[cfg(feature = "runner")]
pub mod runner;
mod search;
mod sessions;
pub mod settings;
// What the program needs, and no loop does. It is no part of the interface.
#[cfg(feature = "setup")]
#[doc(hidden)]
pub mod setup;
mod store;
// As `setup`.
#[cfg_attr(not(feature = "runner"), allow(dead_code, reason = "the loop alone ends processes"))]
#[doc(hidden)]
pub mod system;
// As `setup`.
#[doc(hidden)]
pub mod text;
mod timeline;
mod workspace;

#[path = "../tests/integration/test_cases.rs"]
#[cfg(test)]
mod test_cases;

/// The examples in Rust of the book, which are tests here.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../docs/src/guides/own-loop.md")]
    mod own_loop {}
    #[doc = include_str!("../docs/src/reference/library.md")]
    mod library {}
}

pub use context::{Budget, Context, Request, Task};
#[doc(no_inline)]
pub use entry::knowledge::Knowledge;
pub use entry::{Author, Id, Kind, Scope, Source};
pub use error::{Error, Problem, Result};
pub use memory::Memory;
pub use search::retrieve::{Hit, Query};
