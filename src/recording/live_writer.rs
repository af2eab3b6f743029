//! Writes what a run is doing to its file below `state/live/` (see [`live`](super::live)).
//!
//! Failures are ignored, and the file is written about twice a second at most.

use std::time::{Duration, Instant};

use super::live::{FOLDER, LiveFile, LivePhase, LiveRun, MAX_LINE, run_ids};
use super::open_attempt::OpenAttempt;
use super::process_identity::ProcessIdentity;
use super::sealed::{OpenSealed, bytes_locked, state_key};
use crate::entry::knowledge::timestamp;
use crate::store::Unreadable;
use crate::text::secret::redact;
use crate::text::{for_terminal, shorten};
use crate::workspace::Workspace;

/// How much of a text is searched for secrets, in characters.
const MAX_LOOKED_AT: usize = 2_000;
/// How often a file is written at most, and how often where nothing happens: those who cannot see this process believe it
/// for some time.
const PERIOD: Duration = Duration::from_millis(400);
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Writes down what a run does, for whoever watches it. Dropped, it removes the file.
pub(crate) struct LiveWriter<'a> {
    workspace: &'a Workspace,
    /// Nothing is written where the system has no identities of processes.
    file: Option<LiveFile>,
    /// The file that is written while an agent is at work. Nothing is created below `.ralph/` then: whoever removes a folder
    /// fails where a file appears in it meanwhile.
    open: Option<OpenSealed>,
    /// When it was last written, and whether something happened since.
    written: Option<Instant>,
    is_changed: bool,
}

impl<'a> LiveWriter<'a> {
    /// Returns a writer for the run of this process, and removes the files of runs that have ended.
    pub(crate) fn new(workspace: &'a Workspace, run_id: &str) -> LiveWriter<'a> {
        sweep(workspace);
        let file = ProcessIdentity::this_process().map(|holder| LiveFile {
            current: LiveRun { pid: Some(holder.pid()), ..LiveRun::between(run_id) },
            holder,
            written_at: workspace.now(),
        });
        let mut writer = LiveWriter { workspace, file, open: None, written: None, is_changed: true };
        writer.write();
        writer
    }

    /// Notes that an iteration begins.
    pub(crate) fn begin(&mut self, iteration: &OpenAttempt) {
        if let Some(file) = &mut self.file {
            file.current = LiveRun { pid: file.current.pid, ..LiveRun::begun(iteration) };
        }
        // It may have been removed since.
        self.open = None;
        self.phase(LivePhase::Agent);
    }

    /// Notes that the iteration is in the journal, or was given up.
    pub(crate) fn end(&mut self) {
        if let Some(file) = &mut self.file {
            file.current = LiveRun { pid: file.current.pid, ..LiveRun::between(&file.current.run_id) };
        }
        self.phase(LivePhase::Between);
    }

    /// Notes what the run is doing from now on.
    pub(crate) fn phase(&mut self, phase: LivePhase) {
        if let Some(file) = &mut self.file {
            file.current.phase = phase;
        }
        self.changed();
        self.write();
    }

    /// Notes a line of a command. Redaction comes before it is cut, which could leave half a secret.
    pub(crate) fn line(&mut self, text: &str) {
        let Some(file) = &mut self.file else { return };
        let start: String = text.trim().chars().take(MAX_LOOKED_AT).collect();
        let line = redact(&start, &self.workspace.settings.allowed_secrets).replace(['\n', '\r', '\t'], " ");
        let line = shorten(&for_terminal(&line), MAX_LINE);
        if !line.is_empty() {
            file.current.last_line = Some(line);
            self.changed();
            self.write_if_due();
        }
    }

    /// Writes what happened, if the last time was a while ago.
    pub(crate) fn write_if_due(&mut self) {
        let period = if self.is_changed { PERIOD } else { HEARTBEAT };
        if self.written.is_none_or(|at| at.elapsed() >= period) {
            self.write();
        }
    }

    fn changed(&mut self) {
        self.is_changed = true;
        if let Some(file) = &mut self.file {
            file.current.updated_at = Some(timestamp(self.workspace.now()));
        }
    }

    fn write(&mut self) {
        self.is_changed = false;
        self.written = Some(Instant::now());
        let Some(file) = &mut self.file else { return };
        file.written_at = self.workspace.now();
        if self.open.is_none() {
            let name = format!("{}.json", file.current.run_id);
            self.open = OpenSealed::open(self.workspace, FOLDER, &name).ok();
        }
        // Without it, or where it cannot be written, nobody can watch the run, which does not stop it.
        let _ = self.open.as_ref().map(|open| open.replace(file));
    }
}

impl Drop for LiveWriter<'_> {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            remove(self.workspace, &format!("{}.json", file.current.run_id));
        }
    }
}

/// Removes the files of runs that have ended, and those that were not written here.
fn sweep(workspace: &Workspace) {
    let Ok(Some(key)) = state_key(workspace) else { return };
    let now = workspace.now();
    for run_id in run_ids(workspace) {
        let name = format!("{run_id}.json");
        let is_alive = match workspace.store.read(&format!("state/{FOLDER}/{name}")) {
            // That of another run may just be written.
            Ok(_) => bytes_locked(workspace, FOLDER, &name)
                .map_or(true, |bytes| LiveFile::parse(&bytes, &run_id, key).is_some_and(|file| file.is_alive(now))),
            // Another user's, perhaps.
            Err(Unreadable::Io(_)) => true,
            Err(_) => false,
        };
        if !is_alive {
            remove(workspace, &name);
        }
    }
}

fn remove(workspace: &Workspace, name: &str) {
    let folder = workspace.store.folder(&format!("state/{FOLDER}"));
    // It may be gone already.
    let _ = folder.and_then(|folder| folder.remove_file(name));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::context::{Run, Task};
    use crate::memory::Memory;

    #[test]
    fn nothing_is_created_in_the_memory_while_an_agent_is_at_work() {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        let memory = Memory::open(folder.path()).unwrap();
        let mut attempt = memory.begin(&Task::new("Clean up"), &Run::named("run-1")).unwrap();
        let mut live = LiveWriter::new(&memory.workspace, "run-1");
        live.begin(&attempt);
        let state = folder.path().join(".ralph/state");
        let folders = ["", "attempts", "live"].map(|name| state.join(name));
        let stamps = || {
            folders.clone().map(|folder| fs::metadata(folder).map(|stat| (stat.mtime(), stat.mtime_nsec())).unwrap())
        };
        let before = stamps();
        memory.note_agent(&mut attempt, std::process::id());
        live.phase(LivePhase::Verifying);
        assert_eq!(stamps(), before);
        assert_eq!(memory.open_attempts()[0].agent, ProcessIdentity::this_process());
        assert_eq!(memory.live_runs()[0].phase, LivePhase::Verifying);
        // An agent removes the memory.
        fs::remove_dir_all(&state).unwrap();
        memory.note_agent(&mut attempt, std::process::id());
        live.phase(LivePhase::Stopping);
        assert!(!state.exists());
        // It was restored.
        live.begin(&attempt);
        assert!(state.join("live/run-1.json").exists());
    }
}
