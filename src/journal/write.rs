//! Adds an attempt to the journal.
//!
//! A file gets an unused number, and is never replaced.

use std::collections::BTreeSet;

use super::names::{BEGUN, MAX_NUMBER, check_number, journal_path};
use super::read::{attempts_of_run, attempts_of_task};
use crate::entry::Attempt;
use crate::error::Result;
use crate::store::{Created, Lock};
use crate::workspace::Workspace;

/// Writes an attempt under its number or, if that is taken, the next free one. Returns its path, relative to `.ralph/`,
/// and the content of the file.
pub(crate) fn write_attempt(workspace: &Workspace, lock: &Lock, mut attempt: Attempt) -> Result<(String, Attempt)> {
    loop {
        let prepared = attempt.prepared(&workspace.settings.allowed_secrets);
        let path = journal_path(&attempt.run_id, prepared.head.iteration);
        if workspace.store.create(lock, &path, prepared.to_file().as_bytes())? == Created::Made {
            return Ok((path, prepared));
        }
        attempt.head.iteration = next_number(workspace, &attempt.run_id)?;
        check_number(attempt.head.iteration)?;
    }
}

/// Returns the number of the run's next iteration: the one after the highest number with room after it. So a foreign
/// journal entry with the highest possible number does not end a run.
///
/// # Errors
///
/// [`Error::Io`](crate::error::Error::Io) if the file system does not show which are taken.
pub(crate) fn next_number(workspace: &Workspace, run_id: &str) -> Result<u32> {
    // A number that no run reaches must not be counted on from.
    let of_name = |name: &str, prefix: &str| {
        let number = name.strip_prefix(prefix)?.split('.').next()?.parse::<u32>().ok()?;
        (number <= MAX_NUMBER).then_some(number)
    };
    let mut taken = BTreeSet::from([0]);
    for (folder, prefix) in [
        (format!("state/{BEGUN}"), format!("{run_id}-")),
        (format!("journal/{run_id}"), String::new()),
        (format!("archive/journal/{run_id}"), String::new()),
    ] {
        let names = workspace.store.names(&folder)?;
        taken.extend(names.iter().filter_map(|name| of_name(name.to_str()?, &prefix)));
    }
    let next = taken.iter().rev().map(|number| number + 1);
    Ok(next.into_iter().find(|next| *next <= MAX_NUMBER && !taken.contains(next)).unwrap_or(MAX_NUMBER + 1))
}

/// Returns the path and the text of the entry with the same content as an attempt, if the journal has one.
pub(crate) fn recorded_before(workspace: &Workspace, attempt: &Attempt) -> Option<(String, Attempt)> {
    let key = |attempt: &Attempt| {
        let Attempt { task_id, started_at, head, sections, .. } = attempt;
        (task_id.clone(), *started_at, head.outcome, head.duration_secs.map(f64::to_bits), sections.clone())
    };
    // An attempt that was never begun may have been written under another run.
    let of_task = attempt.task_id.as_ref().map(|task_id| attempts_of_task(workspace, task_id)).unwrap_or_default();
    let mut all = attempts_of_run(workspace, &attempt.run_id).into_iter().chain(of_task);
    let (_, known) = all.find(|(_, known)| key(known) == key(attempt))?;
    Some((journal_path(&known.run_id, known.head.iteration), known))
}
