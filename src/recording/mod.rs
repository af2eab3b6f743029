//! Records attempts: those of a loop, from beginning to end, and those that are reported afterwards.
//!
//! `open_attempt` has the type of one that is open. `begin` takes a number and has the context gathered, for the
//! process that works on it until `finish`; or it gives the context and opens nothing. `begun` keeps an open attempt in
//! a file until it ends, and `sealed` writes and reads such files, so that only what this program wrote is trusted.
//! `told` records an attempt that nobody began; `notes` says what the task's last context showed, and whether the
//! attempt was already reported. `ended` is an attempt
//! without secrets, whose agent has ended. `contributions` turns its output into knowledge, and `record` writes that
//! and the journal's entry. `spool` saves attempts and messages that the journal does not have yet in the user's
//! folders, and `kept_attempt` lists the attempts. `runs` names runs, `session_run` names the run of a client's
//! session, and `meant` decides which task an element ends. `live` reads what runs are doing, and `live_writer` writes
//! it. `page_server` leads a browser to the page of the memory.
//!
//! An attempt whose agent has ended is in the journal, or in a file that the error names.

mod begin;
mod begun;
mod contributions;
mod ended;
mod finish;
mod kept_attempt;
mod live;
#[cfg(feature = "runner")]
mod live_writer;
mod meant;
mod notes;
mod open_attempt;
mod page_server;
mod process_identity;
mod record;
mod refusal;
mod runs;
pub(crate) mod sealed;
mod session_run;
mod spool;
mod told;
mod work_tree;

pub(crate) use begun::bad_attempts;
pub(crate) use ended::EndedAttempt;
pub use ended::Recorded;
pub(crate) use finish::{reader, record_past, redacted};
pub use kept_attempt::{KeptAttempt, record_command};
pub(crate) use kept_attempt::{kept_problems, task_named};
pub(crate) use live::unfinished_runs;
pub use live::{LivePhase, LiveRun};
#[cfg(feature = "runner")]
pub(crate) use live_writer::LiveWriter;
pub(crate) use meant::{TaskName, of_session};
pub(crate) use notes::Channel;
pub use open_attempt::OpenAttempt;
pub use process_identity::ProcessIdentity;
pub(crate) use record::{Contributions, known_name, record};
pub(crate) use runs::{new_run, recent_run};
pub(crate) use session_run::{is_client_run, is_session, session_run};
pub(crate) use spool::{SessionMessage, keep_message, kept_messages};
pub(crate) use told::{held, open_task, told_iteration};
