//! Iterations: begun, resumed, and finished.
//!
//! `iteration` has the types. `begin` takes a number, chooses a model (`model_choice`) and gathers the material of a
//! context (`gather`, `recurring`), for the process that works on it until `finish`. `begun` keeps an iteration in a file
//! until then, and `sealed` writes and reads such files, so that only what this program wrote is trusted. `told` records an
//! attempt that nobody began; `notes` says what its task's last context showed, and whether it was told before. `ended` is an
//! attempt without secrets, whose agent has ended. `contributions` turns its output into knowledge, and `record` writes that
//! and the journal's entry. `spool` saves attempts and messages that the journal does not have yet in the user's
//! `state_folders`, and `kept_attempt` lists the attempts. `message` records what an agent says in a session without a loop,
//! in a run that `session_run` names; `loop_claims` leaves to a run what the run records, and `meant` decides which task an
//! element ends. `runs` names runs. `live` reads what runs do at the moment, and `live_writer` writes it. `page_server` notes
//! who serves the page of the memory.
//!
//! `briefing` gathers what a session begins with, and `remedies` finds the entries that are about what goes wrong now.
//!
//! An attempt whose agent has ended is in the journal, or in a file that the error names.

mod begin;
mod begun;
mod briefing;
mod contributions;
mod ended;
mod finish;
mod gather;
mod iteration;
mod kept_attempt;
mod live;
#[cfg(feature = "runner")]
mod live_writer;
mod loop_claims;
mod meant;
mod message;
mod model_choice;
mod notes;
mod page_server;
mod process_identity;
mod record;
mod recurring;
mod refusal;
mod remedies;
mod reminder;
mod runs;
pub(crate) mod sealed;
mod session_run;
mod spool;
mod state_folders;
mod told;
mod work_tree;

pub(crate) use begin::{begin, cancel, note_agent};
pub(crate) use begun::{bad_iterations, begun};
pub(crate) use briefing::briefing;
pub use ended::Recorded;
pub(crate) use finish::{changed_files, finish, keep, reader, record_past};
pub(crate) use gather::context;
pub use iteration::{Iteration, Run};
pub use kept_attempt::{KeptAttempt, record_command};
pub(crate) use kept_attempt::{kept_attempts, kept_problems, task_named};
pub use live::{LiveAction, LiveActionKind, LivePhase, LiveRun};
pub(crate) use live::{live_runs, recent_runs, unfinished_runs};
#[cfg(feature = "runner")]
pub(crate) use live_writer::LiveWriter;
pub(crate) use loop_claims::is_imported;
pub(crate) use message::{RecordedMessage, SessionWork, record_message, record_work, says_anything};
pub(crate) use model_choice::choose_model;
pub use page_server::PageServer;
pub(crate) use page_server::{claim_page, page_launcher, page_server};
pub use process_identity::ProcessIdentity;
pub(crate) use reminder::reminder;
pub(crate) use runs::{new_run, new_session, newest_run, recent_run};
pub(crate) use sealed::{keep_options, kept_options};
pub(crate) use session_run::{is_client_run, is_session, session_run};
pub(crate) use spool::{SessionMessage, keep_message, kept_messages};
pub use state_folders::StateFolders;
pub(crate) use told::{record_attempt, record_kept};
pub(crate) use work_tree::note_context;
