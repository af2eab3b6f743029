//! Names of runs, tasks and the files of the journal.
//!
//! Pure. An accepted name never leads out of its folder, on any system.

use crate::entry::{Id, MAX_NAME, is_task_id};
use crate::error::{Argument, Error, Result};
use crate::store::is_reserved_name;

/// The limit of an attempt's number; runs end far earlier.
pub(super) const MAX_NUMBER: u32 = 9_999_999;
/// The folder of attempts in progress, below `state/`. Their numbers are taken, like those in the journal.
pub(crate) const BEGUN: &str = "attempts";

/// Returns the path of a file in the journal.
pub(crate) fn journal_path(run_id: &str, number: u32) -> String {
    format!("journal/{run_id}/{number:04}.md")
}

/// Refuses an invalid number of an attempt.
pub(crate) fn check_number(number: u32) -> Result<()> {
    if (1..=MAX_NUMBER).contains(&number) {
        return Ok(());
    }
    let reason = format!("its number is {number}, and a run has 1 to {MAX_NUMBER}");
    Err(Error::invalid(Argument::Attempt, reason))
}

/// Refuses an invalid name of a run. The name becomes the name of a folder, also on other systems.
pub(crate) fn check_run_name(name: &str) -> Result<()> {
    check_name("run id", name)?;
    if is_reserved_name(name) {
        let reason = format!("`{name}` cannot be the name of a folder on Windows");
        return Err(Error::invalid("run id", reason));
    }
    Ok(())
}

/// Refuses an invalid name of a run or a task.
pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    if is_task_id(name) {
        return Ok(());
    }
    let reason = format!(
        "`{name}` is not 1 to {MAX_NAME} letters, digits, `.`, `_` and `-`, the first one a letter, a digit or `_`"
    );
    Err(Error::invalid(what, reason))
}

/// Returns the run whose folder contains an entry of the journal.
pub(crate) fn run_of(id: &Id) -> Option<String> {
    let rest = id.as_str().strip_prefix("journal/")?;
    rest.rsplit_once('/').map(|(run, _)| run.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_their_folder_are_refused() {
        for good in ["t-4be0f7e7cc", "run-1a2b3c4d", "A.b_c-1", "1", &"x".repeat(64)] {
            assert!(check_name("task id", good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "../../x", "a/b", "a\\b", "-x", "a b", "é", "a\n", &"x".repeat(65)] {
            assert!(check_name("task id", bad).is_err(), "{bad}");
            assert!(check_run_name(bad).is_err(), "{bad}");
        }
        for reserved in ["nul", "AUX", "Com1", "con.x", "x."] {
            assert!(check_name("task id", reserved).is_ok() && check_run_name(reserved).is_err(), "{reserved}");
        }
    }

    #[test]
    fn runs_are_identified_by_their_folder() {
        let run = |id: &str| run_of(&Id::parse(id).unwrap());
        assert_eq!(run("journal/run-1/0003").as_deref(), Some("run-1"));
        assert_eq!(run("journal/0003"), None);
        assert_eq!(run("knowledge/x"), None);
    }
}
