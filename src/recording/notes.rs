//! What contexts showed, and how attempts were reported: notes in `state/` for the next record of a task.
//!
//! They are a best effort. A context opens nothing, so nobody has to end it: a note is forgotten after a week, and if
//! none can be written, an attempt lacks only what its context showed.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::open_attempt::line;
use super::sealed;
use crate::context::{Context, Task};
use crate::entry::{Attempt, Id};
use crate::journal::{attempt_at, is_same_attempt};
use crate::workspace::Workspace;

/// The file, below `state/sessions/`.
const NAME: &str = "attempts.json";
/// How long a note is kept.
const KEPT: TimeDelta = TimeDelta::days(7);
/// How many notes of each kind are kept.
const MAX_NOTES: usize = 50;
/// How many entries of a context are noted.
const MAX_ENTRIES: usize = 100;
/// How long after an attempt was reported a caller without a run may mean the same attempt.
const SAME_ATTEMPT: TimeDelta = TimeDelta::minutes(10);

/// The way by which an attempt is told to the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Channel {
    /// An agent's whole output, from its loop.
    Output,
    /// A tool that the agent called.
    Tool,
    /// The last message of a session, from a hook.
    Message,
}

/// What a context showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContextNote {
    /// The task, with neither its description nor its files.
    pub(crate) task: Task,
    /// The run or session that asked, if it said so.
    pub(crate) run: Option<String>,
    /// The knowledge that it showed.
    pub(crate) entries: Vec<Id>,
    /// The git tree of the work tree at that time.
    pub(crate) tree: Option<String>,
    /// The model that it recommended, and why.
    pub(crate) model: String,
    pub(crate) rationale: String,
    at: DateTime<Utc>,
}

/// An attempt that is in the journal, and who told it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ToldAttempt {
    /// Its file, relative to `.ralph/`.
    path: String,
    /// The ways, each with the hash of what it told.
    tellings: Vec<(Channel, u64)>,
    at: DateTime<Utc>,
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct AttemptNotes {
    contexts: Vec<ContextNote>,
    told: Vec<ToldAttempt>,
}

impl AttemptNotes {
    fn forget_old(&mut self, now: DateTime<Utc>) {
        self.contexts.retain(|note| (now - note.at).abs() < KEPT);
        self.told.retain(|told| (now - told.at).abs() < KEPT);
        self.contexts.drain(..self.contexts.len().saturating_sub(MAX_NOTES));
        self.told.drain(..self.told.len().saturating_sub(MAX_NOTES));
    }
}

/// Notes what a context showed while the work tree was in this state, for the next record of its task. It replaces the note
/// of the same task and run.
pub(crate) fn note(workspace: &Workspace, task: &Task, run: Option<&str>, context: &Context, tree: Option<String>) {
    let task = task.without_secrets(&workspace.settings.allowed_secrets);
    let note = ContextNote {
        task: Task {
            title: line(&task.title),
            id: task.id,
            feature: task.feature.as_deref().map(line),
            section: task.section.as_deref().map(line),
            ..Task::default()
        },
        run: run.map(str::to_owned),
        entries: context.entries.iter().take(MAX_ENTRIES).cloned().collect(),
        tree,
        model: line(&context.model),
        rationale: line(&context.rationale),
        at: workspace.now(),
    };
    let now = workspace.now();
    let _ = sealed::update(workspace, NAME, |notes: &mut AttemptNotes, _| {
        notes.contexts.retain(|known| known.task.id != note.task.id || known.run != note.run);
        notes.contexts.push(note);
        notes.forget_old(now);
    });
}

/// Returns the notes that are not forgotten.
fn kept(workspace: &Workspace) -> AttemptNotes {
    let mut notes: AttemptNotes = sealed::read_locked(workspace, NAME);
    notes.forget_old(workspace.now());
    notes
}

/// Returns the note of the task's last context: that of this run, else the only one.
pub(crate) fn context_of(workspace: &Workspace, task: &Task, run: Option<&str>) -> Option<ContextNote> {
    let AttemptNotes { mut contexts, .. } = kept(workspace);
    position(&contexts, task, run).map(|at| contexts.swap_remove(at))
}

fn position(contexts: &[ContextNote], task: &Task, run: Option<&str>) -> Option<usize> {
    let id = task.own_id();
    let is_of_task = |note: &Task| note.id.as_ref() == Some(&id) && task.may_be_of_feature(note.feature.as_deref());
    let of_task: Vec<(usize, &ContextNote)> =
        contexts.iter().enumerate().filter(|(_, note)| is_of_task(&note.task)).collect();
    let of_run = of_task.iter().find(|(_, note)| run.is_some() && note.run.as_deref() == run);
    of_run.or(of_task.first().filter(|_| of_task.len() == 1)).map(|(at, _)| *at)
}

/// Returns the tasks of contexts for which nothing was recorded since, and the runs that asked.
pub(crate) fn tasks_of_contexts(workspace: &Workspace) -> Vec<(Option<String>, Task)> {
    kept(workspace).contexts.into_iter().map(|note| (note.run, note.task)).collect()
}

/// Returns whether a tree of a context may still be needed.
pub(crate) fn has_contexts(workspace: &Workspace) -> bool {
    kept(workspace).contexts.iter().any(|note| note.tree.is_some())
}

/// Returns the file of an attempt that was told before and is this one: by another way, or by the same if a file may tell
/// it again; of the same run or, if the caller names none, told a moment ago.
pub(crate) fn told_before(
    workspace: &Workspace,
    attempt: &Attempt,
    (channel, names_run): (Channel, bool),
    was_kept: bool,
    is_claimed: bool,
) -> Option<String> {
    let now = workspace.now();
    // Two hooks may record a message at the same time, one of them from its file.
    let is_again = |hash: u64| (was_kept || channel == Channel::Message) && hash == telling(attempt);
    let is_told = |(known, hash): &(Channel, u64)| *known == channel && !is_again(*hash);
    kept(workspace).told.into_iter().rev().filter(|told| !told.tellings.iter().any(is_told)).find_map(|told| {
        let known = attempt_at(workspace, &told.path)?;
        let is_of_run = known.run_id == attempt.run_id || !names_run && (now - told.at).abs() < SAME_ATTEMPT;
        (is_of_run && is_same_attempt(&known, attempt, is_claimed)).then_some(told.path)
    })
}

/// Returns the files of the attempts that were told here. One that came with a merge or a clone is not among them.
pub(super) fn told_here(workspace: &Workspace) -> HashSet<String> {
    kept(workspace).told.into_iter().map(|told| told.path).collect()
}

/// Returns the hash of what a caller tells of an attempt, whatever number that gets.
pub(crate) fn telling(attempt: &Attempt) -> u64 {
    xxh3_64(format!("{:?}", (attempt.started_at, attempt.head.outcome, &attempt.sections)).as_bytes())
}

/// Notes that the attempt in this file was told by this way, with the hash of what it told, in this run if the caller names
/// one. The note of its task's context has served.
pub(crate) fn note_told(workspace: &Workspace, path: &str, task: &Task, run: Option<&str>, telling: (Channel, u64)) {
    let now = workspace.now();
    let _ = sealed::update(workspace, NAME, |notes: &mut AttemptNotes, _| {
        if let Some(at) = position(&notes.contexts, task, run) {
            notes.contexts.remove(at);
        }
        match notes.told.iter_mut().find(|told| told.path == path) {
            Some(told) => told.tellings.push(telling),
            None => notes.told.push(ToldAttempt { path: path.to_owned(), tellings: vec![telling], at: now }),
        }
        notes.forget_old(now);
    });
}
