//! What runs are doing, from files below `state/live/`, one for each run in progress: its process, its task, since when, and
//! the last line of its agent.
//!
//! Its process writes the file ([`live_writer`](super)) and removes it at its end. A file that was not written here (see
//! [`sealed`](super::sealed)) counts as missing. An attempt in progress without such a file belongs to a caller of
//! `begin`.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::begun::begun;
use super::open_attempt::{OpenAttempt, line};
use super::process_identity::ProcessIdentity;
use super::sealed::{bytes_locked, content, state_key};
use crate::entry::knowledge::timestamp;
use crate::journal::check_run_name;
use crate::open::Memory;
use crate::store::SealKey;
use crate::text::choice;
use crate::workspace::Workspace;

/// The folder, below `state/`.
pub(super) const FOLDER: &str = "live";
/// How old the file of a process that cannot be seen from here may be while that counts as running, in seconds. It is written
/// more often.
const UNSEEN_SECS: i64 = 60;
/// The longest line, in characters.
pub(super) const MAX_LINE: usize = 300;
/// How many files are read: more runs than a machine has at a time. A clone may bring many large ones; the next run removes
/// them.
const MAX_FILES: usize = 100;

choice! {
    /// What a run is doing.
    ///
    /// ```
    /// use ralph_memory::memory::LivePhase;
    /// use ralph_memory::{Memory, Task};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// memory.begin(&Task::new("Cache the tiles"), &memory.new_run())?;
    /// let phase = memory.live_runs()[0].phase;
    /// assert_eq!((phase, phase.as_str()), (LivePhase::Open, "open"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Default)]
    #[non_exhaustive]
    pub enum LivePhase {
        /// An iteration is in progress. What it does is unknown: a caller of [`Memory::begin`](crate::Memory::begin) drives it.
        #[default]
        Open = "open",
        /// It is between two iterations, or prepares one.
        Between = "between",
        /// The agent works.
        Agent = "agent",
        /// The command runs that verifies the work.
        Verifying = "verifying",
        /// The command that runs was asked to end.
        Stopping = "stopping",
        /// Its process has ended without finishing the attempt, or cannot be seen from here and is silent.
        Lost = "lost",
    }
}

/// A run in progress, or an iteration of a caller of [`Memory::begin`](crate::Memory::begin).
///
/// ```
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let attempt = memory.begin(&Task::new("Cache the tiles"), &memory.new_run())?;
/// let live = memory.live_runs();
/// assert_eq!((live[0].run_id.as_str(), live[0].iteration), (attempt.run_id.as_str(), Some(1)));
/// assert_eq!(live[0].task_title, "Cache the tiles");
/// memory.cancel(&attempt)?;
/// assert!(memory.live_runs().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveRun {
    /// The run.
    pub run_id: String,
    /// What it does.
    pub phase: LivePhase,
    /// The number of its process, if it has one.
    pub pid: Option<u32>,
    /// The number of the iteration; `None` between two.
    pub iteration: Option<u32>,
    /// The task.
    pub task_id: Option<String>,
    /// The title of the task; empty between two iterations.
    pub task_title: String,
    /// The feature that the task belongs to.
    pub feature: Option<String>,
    /// The number of this attempt at the task, from 1.
    pub attempt: Option<usize>,
    /// The model that works on it.
    pub model: Option<String>,
    /// When the iteration began, RFC 3339.
    pub started_at: Option<String>,
    /// When the run last reported something, RFC 3339.
    pub updated_at: Option<String>,
    /// The last line of its agent or of its verification, without secrets and control characters, at most 300 characters.
    pub last_line: Option<String>,
}

/// The content of a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LiveFile {
    pub(super) holder: ProcessIdentity,
    /// When it was written, also where nothing happened meanwhile.
    #[serde(with = "chrono::serde::ts_seconds")]
    pub(super) written_at: DateTime<Utc>,
    /// What it does; without an iteration between two.
    pub(super) current: LiveRun,
}

impl LiveFile {
    /// Returns the content of a file of this name; `None` if it is not one that this program wrote.
    pub(super) fn parse(bytes: &[u8], run_id: &str, key: SealKey) -> Option<LiveFile> {
        let live: LiveFile = content(bytes, Some(key)).ok()?;
        let is_short = |line: &String| line.chars().count() <= MAX_LINE;
        let is_valid = live.current.run_id == run_id && live.current.last_line.as_ref().is_none_or(is_short);
        (is_valid && live.holder.is_possible()).then_some(live)
    }

    /// Returns whether its run continues. A time that is ahead is of another clock.
    pub(super) fn is_alive(&self, now: DateTime<Utc>) -> bool {
        let is_written = || (now - self.written_at).abs() <= TimeDelta::seconds(UNSEEN_SECS);
        if self.holder.is_visible() { self.holder.is_alive() } else { is_written() }
    }
}

impl Memory {
    /// Returns the runs and iterations in progress, by run and number, with what they do at the moment.
    pub fn live_runs(&self) -> Vec<LiveRun> {
        let mut runs = unfinished_runs(&self.workspace);
        runs.retain(|run| run.phase != LivePhase::Lost);
        runs
    }
}

/// Returns the runs and iterations in progress, also those whose process is lost.
pub(crate) fn unfinished_runs(workspace: &Workspace) -> Vec<LiveRun> {
    let now = workspace.now();
    // Before the iterations: an iteration that ends meanwhile is in the file, then.
    let open = begun(workspace).unwrap_or_default();
    let files = files(workspace);
    let is_open: HashSet<(String, Option<u32>)> =
        open.iter().map(|open| (open.run_id.clone(), Some(open.number))).collect();
    let is_in_file =
        |open: &OpenAttempt| files.get(&open.run_id).is_some_and(|file| file.current.iteration == Some(open.number));
    let mut runs: Vec<LiveRun> = Vec::new();
    for open in open.into_iter().filter(|open| !is_in_file(open)) {
        let is_prepared = files.get(&open.run_id).is_some_and(|file| file.is_alive(now));
        runs.push(of_iteration(&open, is_prepared));
    }
    for (run_id, file) in files {
        let (is_alive, current) = (file.is_alive(now), file.current);
        let is_known = is_open.contains(&(run_id.clone(), current.iteration));
        if is_alive && (current.iteration.is_some() || runs.iter().all(|run| run.run_id != run_id)) {
            runs.push(current);
        } else if !is_alive && is_known {
            runs.push(LiveRun { phase: LivePhase::Lost, ..current });
        }
    }
    runs.sort_by(|one, other| (&one.run_id, one.iteration).cmp(&(&other.run_id, other.iteration)));
    runs
}

fn files(workspace: &Workspace) -> HashMap<String, LiveFile> {
    let Ok(Some(key)) = state_key(workspace) else { return HashMap::new() };
    let file = |run: String| {
        let bytes = bytes_locked(workspace, FOLDER, &format!("{run}.json")).ok()?;
        Some((run.clone(), LiveFile::parse(&bytes, &run, key)?))
    };
    run_ids(workspace).into_iter().take(MAX_FILES).filter_map(file).collect()
}

/// Returns an iteration that no file names: one of a caller of `begin`, or one that its run prepares.
fn of_iteration(open: &OpenAttempt, is_prepared: bool) -> LiveRun {
    let process = open.holder.as_ref().or(open.agent.as_ref());
    let is_alive = |process: &Option<ProcessIdentity>| process.as_ref().is_some_and(ProcessIdentity::is_alive);
    // Without a holder, nobody knows whether somebody works on it.
    let is_open = open.holder.is_none() || is_alive(&open.holder) || is_alive(&open.agent);
    LiveRun {
        pid: process.map(ProcessIdentity::pid),
        phase: match is_prepared {
            true => LivePhase::Between,
            false if is_open => LivePhase::Open,
            false => LivePhase::Lost,
        },
        updated_at: None,
        ..LiveRun::begun(open)
    }
}

impl LiveRun {
    /// Returns an iteration that begins.
    pub(super) fn begun(iteration: &OpenAttempt) -> LiveRun {
        LiveRun {
            phase: LivePhase::Agent,
            iteration: Some(iteration.number),
            task_id: Some(iteration.task_id()),
            task_title: line(&iteration.task.title),
            feature: iteration.task.feature.as_deref().map(line),
            attempt: Some(iteration.attempt),
            model: Some(line(&iteration.model)).filter(|model| !model.is_empty()),
            started_at: Some(timestamp(iteration.started_at)),
            updated_at: Some(timestamp(iteration.started_at)),
            ..LiveRun::between(&iteration.run_id)
        }
    }

    /// Returns a run between two iterations.
    pub(super) fn between(run_id: &str) -> LiveRun {
        LiveRun { run_id: run_id.to_owned(), phase: LivePhase::Between, ..LiveRun::default() }
    }
}

/// Returns the runs that have a file.
pub(super) fn run_ids(workspace: &Workspace) -> Vec<String> {
    let names = workspace.store.names(&format!("state/{FOLDER}")).unwrap_or_default();
    let run = |name: &OsString| {
        let run = name.to_str()?.strip_suffix(".json")?;
        check_run_name(run).is_ok().then(|| run.to_owned())
    };
    names.iter().filter_map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(feature = "portable"))]
    #[test]
    fn a_process_of_another_container_is_believed_for_a_while() {
        let at = |seconds: i64| DateTime::from_timestamp(1_790_000_000 + seconds, 0).unwrap();
        let own = serde_json::to_value(ProcessIdentity::this_process().unwrap()).unwrap();
        let file = |holder: &serde_json::Value| LiveFile {
            holder: serde_json::from_value(holder.clone()).unwrap(),
            written_at: at(0),
            current: LiveRun::between("run-1"),
        };
        let mut elsewhere = own.clone();
        elsewhere["place"] = (own["place"].as_u64().unwrap() ^ 1).into();
        // Nothing is asked of its own system.
        elsewhere["pid"] = 1.into();
        for (holder, seconds, expected) in
            [(&own, 3_600, true), (&elsewhere, 60, true), (&elsewhere, 61, false), (&elsewhere, -5, true)]
        {
            assert_eq!(file(holder).is_alive(at(seconds)), expected, "{holder} {seconds}");
        }
    }
}
