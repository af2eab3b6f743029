//! Writes what a run does to its file below `state/live/` (see [`live`](super::live)).
//!
//! Failures are ignored, and the file is written about twice a second at most.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::live::{FOLDER, LiveAction, LiveActionKind, LiveFile, LivePhase, MAX_ACTIONS, MAX_TEXT, run_ids};
use super::process_identity::ProcessIdentity;
use super::sealed::{seal, state_key};
use crate::secret::redact;
use crate::text::{for_terminal, shorten};
use crate::transcript::AgentSpending;
use crate::workspace::Workspace;

/// How much of a text is searched for secrets, in characters.
const MAX_LOOKED_AT: usize = 2_000;
/// How often a file is written at most.
const PERIOD: Duration = Duration::from_millis(400);

/// Writes down what a run does, for whoever watches it. Dropped, it removes the file.
pub(crate) struct LiveWriter<'a> {
    workspace: &'a Workspace,
    /// Nothing is written where the system has no identities of processes.
    file: Option<LiveFile>,
    /// When it was last written, and whether something happened since.
    written: Option<Instant>,
    is_changed: bool,
}

impl<'a> LiveWriter<'a> {
    /// Returns a writer for the run of this process, and removes the files of runs whose processes have ended.
    pub(crate) fn new(workspace: &'a Workspace, run_id: &str) -> LiveWriter<'a> {
        sweep(workspace);
        let file = ProcessIdentity::this_process().map(|holder| LiveFile {
            run_id: run_id.to_owned(),
            holder,
            number: None,
            phase: LivePhase::Between,
            updated_at: workspace.now(),
            actions: VecDeque::new(),
            n_actions: 0,
            spending: AgentSpending::default(),
        });
        let mut writer = LiveWriter { workspace, file, written: None, is_changed: true };
        writer.write();
        writer
    }

    /// Notes that an iteration begins.
    pub(crate) fn begin(&mut self, number: u32) {
        if let Some(file) = &mut self.file {
            (file.number, file.n_actions, file.spending) = (Some(number), 0, AgentSpending::default());
            file.actions.clear();
        }
        self.phase(LivePhase::Agent);
    }

    /// Notes that the iteration is in the journal, or was given up.
    pub(crate) fn end(&mut self) {
        if let Some(file) = &mut self.file {
            file.number = None;
        }
        self.phase(LivePhase::Between);
    }

    /// Notes what the run does from now on.
    pub(crate) fn phase(&mut self, phase: LivePhase) {
        if let Some(file) = &mut self.file {
            file.phase = phase;
        }
        self.is_changed = true;
        self.write();
    }

    /// Notes an action. Redaction comes before a text is cut, which could leave half a secret.
    pub(crate) fn action(&mut self, kind: LiveActionKind, text: &str) {
        let Some(file) = &mut self.file else { return };
        let start: String = text.trim().chars().take(MAX_LOOKED_AT).collect();
        let line = redact(&start, &self.workspace.settings.allowed_secrets).replace(['\n', '\r', '\t'], " ");
        let text = shorten(&for_terminal(&line), MAX_TEXT);
        if text.is_empty() {
            return;
        }
        if file.actions.len() == MAX_ACTIONS {
            file.actions.pop_front();
        }
        file.actions.push_back(LiveAction { kind, text });
        file.n_actions += 1;
        self.is_changed = true;
        self.write_if_due();
    }

    /// Notes what the agent spent so far.
    pub(crate) fn spending(&mut self, spending: AgentSpending) {
        if let Some(file) = &mut self.file {
            file.spending = spending;
        }
        self.is_changed = true;
        self.write_if_due();
    }

    /// Writes what happened, if the last time was a while ago.
    pub(crate) fn write_if_due(&mut self) {
        if self.is_changed && self.written.is_none_or(|at| at.elapsed() >= PERIOD) {
            self.write();
        }
    }

    fn write(&mut self) {
        self.is_changed = false;
        self.written = Some(Instant::now());
        let Some(file) = &mut self.file else { return };
        file.updated_at = self.workspace.now();
        let write = || {
            let mut bytes = serde_json::to_vec(&file)?;
            seal(&mut bytes, self.workspace.store.make_state_key()?);
            let name = format!("{}.json", file.run_id);
            self.workspace.store.make_state_folder(FOLDER)?.replace_file(&name, &bytes)
        };
        // Nobody can watch the run then, which does not stop it.
        let _ = write();
    }
}

impl Drop for LiveWriter<'_> {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            remove(self.workspace, &file.run_id);
        }
    }
}

/// Removes the files of runs whose processes have ended, and those that were not written here.
fn sweep(workspace: &Workspace) {
    let Ok(Some(key)) = state_key(workspace) else { return };
    for run_id in run_ids(workspace) {
        if LiveFile::read(workspace, &run_id, key).is_none() {
            remove(workspace, &run_id);
        }
    }
}

fn remove(workspace: &Workspace, run_id: &str) {
    let folder = workspace.store.folder(&format!("state/{FOLDER}"));
    // It may be gone already.
    let _ = folder.and_then(|folder| folder.remove_file(&format!("{run_id}.json")));
}
