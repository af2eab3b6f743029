//! What runs do while they do it, from files below `state/live/`, one for each run in progress.
//!
//! Its process writes the file ([`live_writer`](super)) and removes it at the end. A file that was not written here (see [`sealed`](super::sealed)), or whose process has ended, counts as missing.
//! An open iteration without such a file is one of a loop of the caller's own.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::begun::begun;
use super::iteration::Iteration;
use super::process_identity::ProcessIdentity;
use super::sealed::{state_key, unsealed};
use crate::entry::knowledge::timestamp;
use crate::journal::check_run_name;
use crate::transcript::AgentSpending;
use crate::workspace::Workspace;

/// The folder, below `state/`.
pub(super) const FOLDER: &str = "live";
/// How many actions are kept, the last.
pub(super) const MAX_ACTIONS: usize = 20;
/// The longest text of an action, in characters.
pub(super) const MAX_TEXT: usize = 300;
/// How many files are read: more runs than a machine has at a time. A clone may bring many large ones; the next run removes
/// them.
const MAX_FILES: usize = 100;

/// What a run does at the moment.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LivePhase {
    /// An iteration is open. What it does is unknown: a loop of your own drives it.
    Open,
    /// It is between two iterations, or prepares one.
    Between,
    /// The agent works.
    Agent,
    /// The command runs that verifies the work.
    Verifying,
    /// The command that runs was asked to end.
    Stopping,
}

impl LivePhase {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            LivePhase::Open => "open",
            LivePhase::Between => "between",
            LivePhase::Agent => "agent",
            LivePhase::Verifying => "verifying",
            LivePhase::Stopping => "stopping",
        }
    }
}

/// The kind of an action.
///
/// ```
/// use ralph_memory::memory::LiveActionKind;
/// assert_eq!(serde_json::to_string(&LiveActionKind::Tool)?, r#""tool""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LiveActionKind {
    /// The agent printed a text.
    Message,
    /// The agent called a tool: its name and its main argument.
    Tool,
    /// Something failed, or was refused.
    Failure,
    /// A command wrote a line that is not an event.
    Line,
}

/// Something that happened in a run.
///
/// ```
/// use ralph_memory::memory::{LiveAction, LiveActionKind};
/// let action = LiveAction { kind: LiveActionKind::Tool, text: "Bash cargo test".into() };
/// assert_eq!(serde_json::to_string(&action)?, r#"{"kind":"tool","text":"Bash cargo test"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveAction {
    /// What it was.
    pub kind: LiveActionKind,
    /// A line without secrets and control characters, at most 300 characters.
    pub text: String,
}

/// A run in progress, or an open iteration.
///
/// ```
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let iteration = memory.begin(&Task::new("Cache the tiles"), &memory.new_run())?;
/// let live = memory.live_runs();
/// assert_eq!((live[0].run_id.as_str(), live[0].iteration), (iteration.run_id.as_str(), Some(1)));
/// assert_eq!(live[0].task_title, "Cache the tiles");
/// memory.cancel(&iteration)?;
/// assert!(memory.live_runs().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// What happened last in this iteration, at most twenty actions, oldest first.
    pub actions: Vec<LiveAction>,
    /// How many actions there were in this iteration.
    #[serde(rename = "action_count")]
    pub n_actions: u64,
    /// What the agent spent so far in this iteration.
    #[serde(flatten)]
    pub spending: AgentSpending,
}

/// The content of a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LiveFile {
    pub(super) run_id: String,
    pub(super) holder: ProcessIdentity,
    pub(super) number: Option<u32>,
    pub(super) phase: LivePhase,
    #[serde(with = "chrono::serde::ts_seconds")]
    pub(super) updated_at: DateTime<Utc>,
    pub(super) actions: VecDeque<LiveAction>,
    pub(super) n_actions: u64,
    #[serde(flatten)]
    pub(super) spending: AgentSpending,
}

impl LiveFile {
    /// Returns the content of a file of this name; `None` if it is not one that this program wrote, or if its process has
    /// ended.
    pub(super) fn read(workspace: &Workspace, run_id: &str, key: u64) -> Option<LiveFile> {
        let file = workspace.store.read(&format!("state/{FOLDER}/{run_id}.json")).ok()?;
        let live: LiveFile = serde_json::from_slice(unsealed(&file.bytes, Some(key)).ok()?).ok()?;
        let are_lines = live.actions.len() <= MAX_ACTIONS
            && live.actions.iter().all(|action| action.text.chars().count() <= MAX_TEXT);
        (live.run_id == run_id && are_lines && live.holder.is_possible() && live.holder.is_alive()).then_some(live)
    }
}

/// Returns the runs in progress and the open iterations, by run and number.
pub(crate) fn live_runs(workspace: &Workspace) -> Vec<LiveRun> {
    let mut files: HashMap<String, LiveFile> = HashMap::new();
    if let Ok(Some(key)) = state_key(workspace) {
        let live = run_ids(workspace)
            .into_iter()
            .take(MAX_FILES)
            .filter_map(|run| Some((run.clone(), LiveFile::read(workspace, &run, key)?)));
        files.extend(live);
    }
    let is_alive = |process: &Option<ProcessIdentity>| process.as_ref().is_some_and(ProcessIdentity::is_alive);
    // Without a holder, nobody knows whether somebody works on it.
    let is_open = |open: &Iteration| open.holder.is_none() || is_alive(&open.holder) || is_alive(&open.agent);
    let open = begun(workspace).unwrap_or_default();
    let mut live: Vec<LiveRun> = open
        .into_iter()
        .filter(is_open)
        .map(|open| {
            let file = files.get(&open.run_id);
            of_iteration(open, file)
        })
        .collect();
    files.retain(|run_id, _| live.iter().all(|live| live.run_id != *run_id));
    live.extend(files.into_values().map(between));
    live.sort_by(|one, other| (&one.run_id, one.iteration).cmp(&(&other.run_id, other.iteration)));
    live
}

/// Returns an open iteration. `file` is that of its run, which may be a moment older.
fn of_iteration(open: Iteration, file: Option<&LiveFile>) -> LiveRun {
    let process = open.holder.as_ref().or(open.agent.as_ref());
    let own = file.filter(|file| file.number == Some(open.number));
    let phase = file.map_or(LivePhase::Open, |_| own.map_or(LivePhase::Between, |file| file.phase));
    LiveRun {
        pid: process.map(ProcessIdentity::pid),
        phase,
        iteration: Some(open.number),
        task_id: Some(open.task_id()),
        attempt: Some(open.attempt),
        model: Some(open.model).filter(|model| !model.is_empty()),
        started_at: Some(timestamp(open.started_at)),
        updated_at: file.map(|file| timestamp(file.updated_at)),
        n_actions: own.map_or(0, |file| file.n_actions),
        spending: own.map(|file| file.spending).unwrap_or_default(),
        actions: own.map(|file| file.actions.iter().cloned().collect()).unwrap_or_default(),
        task_title: open.task.title,
        feature: open.task.feature,
        run_id: open.run_id,
    }
}

/// Returns a run whose file names no open iteration.
fn between(file: LiveFile) -> LiveRun {
    LiveRun {
        run_id: file.run_id,
        phase: LivePhase::Between,
        pid: Some(file.holder.pid()),
        iteration: None,
        task_id: None,
        task_title: String::new(),
        feature: None,
        attempt: None,
        model: None,
        started_at: None,
        updated_at: Some(timestamp(file.updated_at)),
        actions: Vec::new(),
        n_actions: 0,
        spending: AgentSpending::default(),
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
