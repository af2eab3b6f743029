//! The journal: reads and writes past attempts.
//!
//! `names` has the names of runs, tasks and files, `read` returns attempts, `write` adds one, and `views` answers
//! queries of people and agents. `copies` keeps the copies in git's common folder complete. The module does not know how
//! an attempt is made. An attempt is written once, and completed if it is reported again in another way. An archived
//! attempt counts like any other.

mod copies;
pub(crate) mod history;
mod names;
#[cfg(feature = "runner")]
pub(crate) mod progress;
mod read;
pub(crate) mod strategy;
mod views;
mod write;

pub(crate) use copies::{copy_run, settle_copies, uncopied};
pub(crate) use names::{BEGUN, check_name, check_number, check_run_name, journal_path, run_of};
pub(crate) use read::{
    NO_RESULT, attempt, attempt_at, both_areas, error_line, has_attempts, latest_start, light_summaries, summaries,
    task_by_name,
};
pub use views::{AttemptView, Found, Occurrence, RecurringError};
pub(crate) use views::{of_feature, problems_of, recent_attempts, recurring};
pub(crate) use write::{complete_attempt, is_same_attempt, next_number, recorded_before, write_attempt};
