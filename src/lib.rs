//! The memory of a coding-agent loop.
//!
//! Every iteration of such a loop starts with an empty context. This library provides one: earlier attempts at the task
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
//! let iteration = memory.begin(&task, &run)?;
//! assert_eq!(iteration.entries, [added.id]);
//! assert!(iteration.context.contains("Use `cargo +nightly bench`."));
//! assert_eq!((iteration.model.as_str(), iteration.rationale.as_str()), ("sonnet", "default (cost-optimized strategy)"));
//!
//! // … give `iteration.context` to an agent; this is the end of what it answers.
//! let text = format!("<journal>No runner has nightly.</journal>\n<task-failed>{}</task-failed>", iteration.task_id());
//! let recorded = memory.finish(&iteration, &Report { text, ..Report::default() })?;
//! assert_eq!(recorded.outcome, Outcome::Failed);
//! let again = memory.begin(&task, &run)?;
//! assert!(again.context.contains("This task has been attempted 1 time(s) before."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it flows
//!
//! ```text
//!                 agent output
//!                      │ sigil, transcript
//!                      ▼
//!  files ─store─► catalog ─► index, semantic ─► retrieve ─┐
//!    ▲               │                                    ├─► context ─► agent
//!    └─── memory ────┴──► history, strategy ──────────────┘
//! ```
//!
//! A call checks every file's stat ([`catalog`]), reads the changed ones ([`entry`]), and searches the committed
//! [`index`] together with a small one in memory for newer entries. So an answer includes every change that was
//! complete before the call began, without a daemon. A long-lived process can [watch](Memory::watch) the files, to get
//! events about changes and to have them indexed before the next call.
//!
//! If the settings name an Ollama server, searches also find entries by their meaning ([`semantic`]): a new entry is
//! embedded when it is written, and a search adds the similarity of the vectors to the score. That server, and a Qdrant
//! server on which a team shares the vectors, may be absent, slow or broken at any time: words are always enough.
//!
//! An iteration is one attempt at a task, and one file of the journal. [`Memory::begin`] folds the
//! journal ([`history`]) into streaks and rates, chooses a model ([`strategy`]) and puts the
//! [`context`](mod@context) together; [`Memory::finish`] reads the agent's text ([`sigil`]) and writes the
//! journal. In between the iteration is a file in `.ralph/state/`, so that these may be two processes.
//!
//! # Words
//!
//! | word | means |
//! |---|---|
//! | entry | one markdown file with frontmatter; a [`Kind::Knowledge`] or a [`Kind::Journal`] one |
//! | [`Id`] | its name, `knowledge/<stem>`, which stays when the file moves to a subfolder or the archive |
//! | [`Scope`] | which tasks it concerns |
//! | [head](entry::Head) | the part of an entry that lists, deduplication and checks need |
//! | [event](entry::Event) | knowledge of what happened: shown to the tasks in its scope, and never updated |
//! | [run](memory::Run), [iteration](memory::Iteration), [task](Task), [attempt](entry::Attempt) | one invocation of a loop; one turn of it; the work to do; one try at it, which each iteration makes |
//! | sigil | an element in an agent's text that writes to the memory |
//! | [`Query`], [`Hit`] | a query, and a found entry with a score and its parts |
//! | [`Context`], [`Budget`] | the text for an agent, and its maximum size |
//! | [`Problem`] | a problem of one file, reported beside a result |
//! | [`Error`] | the reason why a call stopped |
//!
//! # Guarantees
//!
//! * Files are the source: every answer is the same after `.ralph/cache/` is deleted, scores included.
//! * Reading never writes to a file that is under version control.
//! * Only bytes that were read are replaced, and a replaced body is in the archive before the new one
//!   is in place. A version that an editor saves at that very moment is kept and reported.
//! * One bad file never hides another.
//! * A locked, broken or missing cache makes a call slower, never wrong, and never fails a write.
//! * Equal input gives equal bytes. A context never exceeds its budget.
//! * Text of an entry reaches a path only as a slug, a terminal only sanitised, a prompt only folded to a line, quoted
//! or fenced, and with sigils defused.
//! * Text that looks like a [`secret`] reaches no entry: knowledge with one is refused, and the journal has `[redacted:
//! PATTERN]` in its place.
//! * Invisible characters are refused from agents, and made visible wherever text is shown.
//! * A memory of another user is used only when it is named.
//! * A journal file never changes, and facts that follow from the journal are stored nowhere else.
//! * An attempt whose agent has ended is in the journal or, if [`Memory::keeping_in`] names a folder, in a file that
//! the error names and [`Memory::record_kept`] records.
//! * Maintenance deletes nothing: it moves files to the archive, on request, and facts from the journal stay the same.
//! * A file that comes with a repository names no command that is run, no address that text is sent to and no other
//! setting of a server.
//!
//! # Where to read
//!
//! In this order, each module using only those before it (a test checks that): [`error`], [`text`], [`secret`]
//! (secrets that must not be committed), [`settings`], [`entry`] (pure: the content of a file, and how two versions are
//! merged), [`sigil`] (the elements in an agent's text), [`transcript`] (an agent's event stream), [`history`],
//! [`strategy`], [`progress`], [`dedup`], [`store`] (the only module that touches entry files), [`git`], [`catalog`],
//! [`index`] (the only one that knows Tantivy), [`retrieve`], [`semantic`] (vectors of texts, and the clients of the
//! servers), [`context`](mod@context), [`watch`] (keeps the index up to date while files change), [`maintenance`] (what
//! is archived), [`diagnostics`] (problems and fixes), [`memory`], which puts them in sequence, and, with the feature
//! `runner`, the module `runner`, which runs the loop.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test"))]
#![cfg_attr(test, allow(clippy::too_many_lines, reason = "a test is read from its first line to its last"))]

pub mod catalog;
pub mod context;
pub mod dedup;
pub mod diagnostics;
pub mod entry;
pub mod error;
pub mod git;
pub mod history;
pub mod index;
mod iterations;
mod journal;
mod knowledge;
pub mod maintenance;
pub mod memory;
pub mod progress;
mod queries;
pub mod retrieve;
#[cfg(feature = "runner")]
pub mod runner;
pub mod secret;
pub mod semantic;
pub mod settings;
pub mod sigil;
pub mod store;
pub mod strategy;
pub mod text;
pub mod transcript;
pub mod watch;
mod workspace;

/// The examples in Rust of the README and of the book, which are tests here.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../docs/src/guides/own-loop.md")]
    mod own_loop {}
    #[doc = include_str!("../docs/src/reference/library.md")]
    mod library {}
}

pub use context::{Budget, Context, Request, Task};
pub use entry::knowledge::Knowledge;
pub use entry::{Id, Kind, Scope, Source};
pub use error::{Error, Problem, Result};
pub use memory::Memory;
pub use retrieve::{Hit, Query};
