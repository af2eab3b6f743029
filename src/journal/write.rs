//! Adds an attempt to the journal.
//!
//! A file gets an unused number. It is replaced only to complete an attempt that was reported twice.

use std::collections::BTreeSet;

use super::names::{BEGUN, MAX_NUMBER, check_number, journal_path};
use super::read::{attempts_in, both_areas, path_of};
use crate::entry::attempt::NO_REPORT;
use crate::entry::path::{ARCHIVED_COPIES, COPIES};
use crate::entry::{self, Attempt, Files, Outcome, Sections};
use crate::error::{Error, Result};
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

/// Returns the number of the run's next attempt: the one after the highest number that leaves room for more. So a
/// foreign journal entry with the highest possible number does not end a run.
///
/// # Errors
///
/// [`Error::Io`] if the file system does not show which numbers are taken.
pub(crate) fn next_number(workspace: &Workspace, run_id: &str) -> Result<u32> {
    // Counting must not continue from a number that no run reaches.
    let of_name = |name: &str, prefix: &str| {
        let number = name.strip_prefix(prefix)?.split('.').next()?.parse::<u32>().ok()?;
        (number <= MAX_NUMBER).then_some(number)
    };
    let mut taken = BTreeSet::from([0]);
    for (folder, prefix) in [
        (format!("state/{BEGUN}"), format!("{run_id}-")),
        (format!("journal/{run_id}"), String::new()),
        (format!("archive/journal/{run_id}"), String::new()),
        (format!("{COPIES}/{run_id}"), String::new()),
        (format!("{ARCHIVED_COPIES}/{run_id}"), String::new()),
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
    let of_task = attempt
        .task_id
        .as_ref()
        .map(|task_id| attempts_in(workspace, |catalog| catalog.rows_of_task(task_id)))
        .unwrap_or_default();
    let mut all = attempts_in(workspace, |catalog| catalog.rows_of_run(&attempt.run_id)).into_iter().chain(of_task);
    let (id, known) = all.find(|(_, known)| key(known) == key(attempt))?;
    Some((path_of(&both_areas(workspace).each_ref(), &id)?, known))
}

/// Returns whether two reports are about the same attempt: the task is the same, the outcome is the same or a success
/// that verification refutes, and no text of one contradicts the other. An outcome that nobody claims contradicts
/// nothing.
pub(crate) fn is_same_attempt(known: &Attempt, told: &Attempt, is_claimed: bool) -> bool {
    let texts = |attempt: &Attempt| {
        let Sections { notes, what_tried, why_failed, retry_suggestion, .. } = attempt.sections.clone();
        [notes, what_tried, why_failed, retry_suggestion]
    };
    let agree = |(one, other): (String, String)| {
        !is_given(&one) || !is_given(&other) || one.split_whitespace().eq(other.split_whitespace())
    };
    known.task_id == told.task_id
        && (!is_claimed || known.head.outcome == told.head.outcome || is_refuted(known, told))
        && texts(known).into_iter().zip(texts(told)).all(agree)
}

/// Adds what another report says to the attempt in this file, and returns the content of the file.
pub(crate) fn complete_attempt(
    workspace: &Workspace,
    lock: &Lock,
    path: &str,
    (told, is_claimed): (Attempt, bool),
) -> Result<Attempt> {
    let bytes = workspace.read_bytes(path)?;
    let Some(known) = Attempt::of(&entry::read(path, &bytes)) else {
        return Err(Error::Uneditable { path: path.into(), reason: "it is not an attempt".to_owned() });
    };
    let completed = completed(known.clone(), told, is_claimed).prepared(&workspace.settings.allowed_secrets);
    if completed != known {
        workspace.store.replace(lock, path, &bytes, completed.to_file().as_bytes(), workspace.now())?;
    }
    Ok(completed)
}

fn is_given(text: &str) -> bool {
    !text.trim().is_empty() && text.trim() != NO_REPORT
}

fn is_refuted(known: &Attempt, told: &Attempt) -> bool {
    let has_failed = told.head.validation.as_ref().is_some_and(|validation| validation.exit_code != 0);
    known.head.outcome == Outcome::Done && known.head.validation.is_none() && has_failed
}

fn completed(mut known: Attempt, mut told: Attempt, is_claimed: bool) -> Attempt {
    if is_refuted(&known, &told) {
        known.head.outcome = if is_claimed { told.head.outcome } else { Outcome::Retried };
    }
    if known.head.outcome == Outcome::Done {
        // An agent that reported nothing is not a failure without a report.
        told.head.error_category = None;
        told.sections.why_failed.clear();
    }
    let (head, mut other) = (&mut known.head, told.head);
    macro_rules! fill { ($($field:ident),*) => { $(head.$field = head.$field.take().or(other.$field);)* } }
    fill!(section, error_category, model, model_rationale, tree, commit, difficulty, next_model, duration_secs);
    fill!(cost_usd, tokens_in, tokens_out, validation);
    let add = |list: &mut Vec<_>, more: Vec<_>| {
        let new: Vec<_> = more.into_iter().filter(|item| !list.contains(item)).collect();
        list.extend(new);
    };
    for (list, more) in head.files.lists_mut().into_iter().zip(other.files.lists_mut()) {
        add(list, std::mem::take(more));
    }
    let Files { created, modified, read, .. } = &mut head.files;
    modified.retain(|path| !created.contains(path));
    read.retain(|path| !created.contains(path) && !modified.contains(path));
    add(&mut head.refused, other.refused);
    if head.context.is_empty() {
        head.context = other.context;
    }
    known.sections.complete(told.sections, is_given);
    known
}
