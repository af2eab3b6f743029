//! Hooks: what agents' clients call when a session begins, at a prompt, when the agent stops, and when the session ends.
//!
//! `call` reads a call, with the fields that `payload` finds by the client's row in `dialect`. `session` keeps what
//! happened in a session, and `log` what the doctor shows, both in files that `state_file` locks and seals. `transcript`
//! finds out what a session did. This file decides what happens at each event.
//!
//! A hook never waits for long: locks for at most 200 ms, servers and git not at all. What cannot be recorded in that time
//! is kept for the next hook. A hook says nothing to the agent unless it has something new.

mod call;
mod dialect;
mod log;
mod payload;
mod session;
mod state_file;
mod transcript;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use chrono::TimeDelta;

use self::session::{Session, SessionName, kept_sessions};
use self::transcript::{TranscribedWork, work};
use crate::context::{BriefingRequest, Budget};
use crate::error::{Error, Problem};
use crate::iterations::{
    self, RecordedMessage, SessionMessage, SessionWork, StateFolders, keep_message, kept_messages, record_message,
    record_work, reminder, says_anything, session_run,
};
use crate::journal::{attempt_at, has_attempts, journal_path};
use crate::settings::SessionRecording;
use crate::store::remove_private;
use crate::workspace::Workspace;

pub use self::call::{HookCall, HookEvent};
#[cfg(test)]
pub(crate) use self::log::HookError;
pub(crate) use self::log::{HookLog, hook_log};

/// The sizes of a briefing, in tokens. The first is the usual one; a smaller one is taken if the document is too long.
const BRIEFINGS: [usize; 4] = [1_200, 800, 400, 200];
/// How many kept messages one call records at most.
const MAX_KEPT: usize = 5;
/// The largest transcript that is read when a session ends, in bytes: clients allow a second or less for it.
const MAX_AT_END: u64 = 8 * 1024 * 1024;
/// The largest one that is read when the next session begins.
const MAX_AT_START: u64 = 64 * 1024 * 1024;
/// How many sessions are recorded when the next one begins.
const MAX_SESSIONS: usize = 2;
/// How many sessions are looked at for that.
const MAX_LOOKED_AT: usize = 1_000;
/// How long a session without an end must be idle to count as ended, in hours.
const IDLE_HOURS: i64 = 1;
/// How much later than a session's last event its last hook may run.
const APART: TimeDelta = TimeDelta::minutes(2);

/// The result of a hook.
///
/// ```
/// use ralph_memory::memory::{HookCall, HookEvent};
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// Memory::open(root)?.add(&Knowledge::new("Ports", ["staging"], "PostgreSQL listens on 5433."))?;
/// let fire = |input: &[u8]| {
///     let call = HookCall::new(HookEvent::SessionStart, None, input, &|_| None)?;
///     ralph_memory::Result::Ok(Memory::open(root)?.hook(&call))
/// };
/// let input = br#"{"session_id": "s-1", "source": "startup", "hook_event_name": "SessionStart"}"#;
/// assert!(fire(input)?.output.contains("PostgreSQL listens on 5433."));
/// assert_eq!(fire(input)?.output, "", "a session gets its briefing once");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// What the client reads on standard output: one document, or nothing.
    pub output: String,
    /// What went wrong, a line each, for standard error.
    pub notes: Vec<String>,
}

/// Handles a call of a hook.
pub(crate) fn fire(workspace: &Workspace, folders: &StateFolders, call: &HookCall) -> HookAnswer {
    let session = call.payload.session.as_deref().map(SessionName::of);
    let notes = call.payload.problem.iter().cloned().collect();
    let mut firing = Firing { workspace, folders, call, session, notes, has_acted: false };
    let output = if call.payload.is_of_sub_agent { None } else { firing.act() };
    firing.answer(output)
}

/// Handles a call of a hook while the settings cannot be read, for this `reason`: a message is kept for a later hook, and
/// the log gets the reason.
pub(crate) fn fire_without_settings(
    workspace: &Workspace,
    folders: &StateFolders,
    call: &HookCall,
    reason: &str,
) -> HookAnswer {
    let session = call.payload.session.as_deref().map(SessionName::of);
    let mut firing = Firing { workspace, folders, call, session, notes: Vec::new(), has_acted: false };
    if call.event == HookEvent::Stop && !call.payload.is_of_sub_agent {
        firing.stop_with(false);
    }
    // The last one is what the doctor shows.
    firing.notes.push(reason.to_owned());
    firing.answer(None)
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// It needs no further hook.
    Settled,
    /// A loop is expected to record it.
    Waits,
    /// The memory cannot be written now.
    Failed,
}

/// A hook at work.
struct Firing<'a> {
    workspace: &'a Workspace,
    folders: &'a StateFolders,
    call: &'a HookCall,
    session: Option<SessionName>,
    notes: Vec<String>,
    /// Whether it did more than look.
    has_acted: bool,
}

impl Firing<'_> {
    fn answer(self, output: Option<String>) -> HookAnswer {
        if self.has_acted || !self.notes.is_empty() {
            log::add(self.workspace, self.call.client(), self.call.event.as_str(), &self.notes);
        }
        HookAnswer { output: output.unwrap_or_default(), notes: self.notes }
    }

    fn act(&mut self) -> Option<String> {
        match self.call.event {
            HookEvent::SessionStart => self.session_start(),
            HookEvent::Prompt => self.prompt(),
            HookEvent::Stop => {
                self.stop();
                None
            }
            HookEvent::SessionEnd => {
                self.session_end();
                None
            }
        }
    }

    /// Returns the briefing, if the session gets it now.
    fn session_start(&mut self) -> Option<String> {
        self.has_acted = true;
        let source = self.call.payload.source.clone().unwrap_or_default();
        let now = self.workspace.now();
        let gets_it = match self.update_session(|session| session.begins(&source, now)) {
            Some(Ok(gets_it)) => gets_it,
            // Another process works on this session at this moment.
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => false,
            // Nothing can be written here, so nobody knows.
            Some(Err(_)) | None => source != "resume",
        };
        if self.record_kept() && self.workspace.settings.sessions_record == SessionRecording::Changes {
            self.record_earlier_sessions();
        }
        if gets_it { self.briefing() } else { None }
    }

    fn briefing(&mut self) -> Option<String> {
        for tokens in BRIEFINGS {
            let request = BriefingRequest { budget: Some(Budget::tokens(tokens)), by_tools: false };
            // A budget into which nothing fits is as good as nothing to report.
            let briefing = iterations::briefing(self.workspace, &request).ok()?;
            if briefing.text.is_empty() {
                return None;
            }
            if let Some(document) = self.document(&briefing.text) {
                let shown: Vec<String> = briefing.entries.iter().map(ToString::to_string).collect();
                // If this is not noted, an entry may be shown again.
                let _ = self.update_session(|session| session.shows(&shown));
                return Some(document);
            }
        }
        None
    }

    /// Returns entries about the prompt that the session was not shown yet.
    fn prompt(&mut self) -> Option<String> {
        self.record_kept();
        let prompt = self.call.payload.prompt.as_deref()?;
        let shown = self.session.as_ref().map_or_else(Vec::new, |name| name.read(self.workspace).shown);
        let (text, ids) = reminder(self.workspace, prompt, &shown)?;
        let document = self.document(&text)?;
        self.has_acted = true;
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let is_new = match self.update_session(|session| session.shows(&ids)) {
            Some(Ok(is_new)) => is_new,
            Some(Err(error)) => error.kind() != io::ErrorKind::WouldBlock,
            None => true,
        };
        is_new.then_some(document)
    }

    /// Records what the agent's last message says.
    fn stop(&mut self) {
        let is_possible = self.record_kept();
        self.stop_with(is_possible);
    }

    /// Records what the agent's last message says if that `is_possible` now, and else keeps it.
    fn stop_with(&mut self, is_possible: bool) {
        let payload = &self.call.payload;
        let wants_none = self.workspace.settings.sessions_record == SessionRecording::Nothing;
        let Some(text) = payload.message.as_ref().filter(|text| !wants_none && says_anything(text)) else {
            return;
        };
        self.has_acted = true;
        let now = self.workspace.now();
        let message = SessionMessage {
            run: self.run(),
            text: text.clone(),
            model: payload.model.clone(),
            at: now,
            session: self.session.as_ref().map(|name| (name.stem().to_owned(), name.read(self.workspace).began(now))),
            is_redacted: false,
            was_kept: false,
        };
        // Before it is noted, so that no kill loses it.
        let kept = keep_message(self.workspace, self.folders, &message);
        // Recording it twice is better than not at all.
        if let Some(Ok(false)) =
            self.update_session(|session| session.takes_message(text, payload.turn.as_deref(), now))
        {
            remove(kept);
            return;
        }
        if let (false, Some(path)) = (is_possible, &kept) {
            // One wait for the lock is enough.
            self.notes
                .push(format!("the agent's message is kept in `{}`, and a later hook records it", path.display()));
            return;
        }
        self.record(&message, kept);
    }

    /// Notes that the session has ended.
    fn session_end(&mut self) {
        self.has_acted = true;
        let is_possible = self.record_kept();
        // Without a note, the session counts as ended when it is idle.
        let _ = self.update_session(|session| session.is_closed = true);
        if is_possible
            && self.workspace.settings.sessions_record == SessionRecording::Changes
            && let Some(name) = self.session.clone()
        {
            self.record_session(&name, MAX_AT_END);
        }
    }

    /// Returns the run that the session's attempts belong to.
    fn run(&self) -> Option<String> {
        let known = self.session.as_ref()?.read(self.workspace).run;
        known.or_else(|| Some(session_run(self.call.client(), self.call.payload.session.as_deref()?)))
    }

    /// Changes the session, with what this call says about it. `None` if the client names no session.
    fn update_session<T>(&self, change: impl FnOnce(&mut Session) -> T) -> Option<io::Result<T>> {
        let payload = &self.call.payload;
        let id = payload.session.as_deref()?;
        Some(self.session.as_ref()?.update(self.workspace, |session| {
            self.call.client().clone_into(&mut session.client);
            session.run.get_or_insert_with(|| session_run(self.call.client(), id));
            session.acts(self.workspace.now());
            if let Some(path) = &payload.transcript {
                session.transcript = Some(PathBuf::from(path));
            }
            change(session)
        }))
    }

    fn document(&self, text: &str) -> Option<String> {
        self.call.client.document(self.call.event, self.call.payload.event.as_deref(), text)
    }

    /// Records messages that earlier hooks could not record. Returns whether that is possible now.
    fn record_kept(&mut self) -> bool {
        // They stay until the person changes the setting.
        if self.workspace.settings.sessions_record == SessionRecording::Nothing {
            return true;
        }
        let mut n_recorded = 0;
        for (path, message) in kept_messages(self.workspace, self.folders) {
            match self.record(&message, Some(path)) {
                Kept::Waits => {}
                Kept::Failed => return false,
                Kept::Settled => n_recorded += 1,
            }
            if n_recorded >= MAX_KEPT {
                break;
            }
        }
        true
    }

    /// Records a message, unless a loop does. It is kept in this file until then.
    fn record(&mut self, message: &SessionMessage, kept: Option<PathBuf>) -> Kept {
        if is_imported(self.workspace, message) {
            remove(kept);
            return Kept::Settled;
        }
        match record_message(self.workspace, message) {
            Ok(recorded) if recorded.waits => Kept::Waits,
            Ok(recorded) => {
                self.has_acted = true;
                let session = message.session.as_ref().and_then(|(stem, _)| SessionName::of_stem(stem));
                if let Some(name) = session.filter(|_| recorded.n_attempts > 0) {
                    // If this is not noted, the session's transcript may become a second attempt.
                    let _ = name.update(self.workspace, |session| session.is_settled = true);
                }
                self.report(recorded);
                remove(kept);
                Kept::Settled
            }
            Err(error) => {
                self.has_acted = true;
                let what = "the agent's message is not recorded";
                let then = match &kept {
                    Some(path) => format!("it is kept in `{}`, and the next hook records it", path.display()),
                    None => "it could not be kept; the client's transcript has it".to_owned(),
                };
                self.notes.push(format!("{what}: {}; {then}", reason(&error)));
                Kept::Failed
            }
        }
    }

    fn report(&mut self, recorded: RecordedMessage) {
        self.notes.extend(recorded.refused.into_iter().map(|refused| format!("not recorded: {refused}")));
        self.notes.extend(recorded.problems.iter().map(Problem::to_string));
    }

    /// Records sessions that have ended, and could not be recorded then.
    fn record_earlier_sessions(&mut self) {
        let now = self.workspace.now();
        let mut n_recorded = 0;
        for name in kept_sessions(self.workspace).into_iter().take(MAX_LOOKED_AT) {
            let session = name.read(self.workspace);
            let Some(path) = session.transcript.as_ref().filter(|_| !session.is_settled) else { continue };
            let written = path.metadata().and_then(|data| data.modified()).map(chrono::DateTime::from);
            let active = written.map_or(session.acted_at, |written| session.acted_at.max(written));
            let has_ended = session.is_closed || (now - active).num_hours() >= IDLE_HOURS;
            if has_ended && self.session.as_ref() != Some(&name) {
                n_recorded += 1;
                if !self.record_session(&name, MAX_AT_START) || n_recorded >= MAX_SESSIONS {
                    return;
                }
            }
        }
    }

    /// Records a session that changed files and reported no attempt. A transcript that is too large for now is left to
    /// the next session's beginning. Returns whether the memory can be written.
    fn record_session(&mut self, name: &SessionName, limit: u64) -> bool {
        let session = name.read(self.workspace);
        let Some(path) = session.transcript.as_ref().filter(|_| !session.is_settled) else { return true };
        let size = path.metadata().map_or(0, |data| data.len());
        if session.seen_size == Some(size) {
            return true;
        }
        let Some(run) = session.run else { return true };
        let shown = path.display();
        // An import may have been faster.
        let is_known = has_attempts(self.workspace, &run).unwrap_or(false);
        match if is_known { Ok(TranscribedWork::Nothing) } else { work(self.workspace, path, limit) } {
            Ok(TranscribedWork::Changes(title, report)) => {
                let work = SessionWork { run: Some(run), title, report: *report, at: session.acted_at };
                match record_work(self.workspace, &work) {
                    Ok(recorded) => self.report(recorded),
                    // The next session's beginning tries again.
                    Err(error) => {
                        self.notes.push(format!("the session is not recorded: {}", reason(&error)));
                        return false;
                    }
                }
            }
            // A session that is resumed may still do something.
            Ok(TranscribedWork::Nothing) if !is_known => {
                let _ = name.update(self.workspace, |session| session.seen_size = Some(size));
                return true;
            }
            Ok(TranscribedWork::Nothing) => {}
            Ok(TranscribedWork::TooLarge(_)) if limit < MAX_AT_START => return true,
            Ok(TranscribedWork::TooLarge(size)) => {
                let limit = MAX_AT_START;
                self.notes
                    .push(format!("the session is not recorded: `{shown}` has {size} bytes; the limit is {limit}"));
            }
            // The client writes no transcript, or keeps it no longer.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.notes.push(format!("the session is not recorded: cannot read `{shown}`: {error}")),
        }
        // If this is not noted, the journal shows that it was recorded.
        let _ = name.update(self.workspace, |session| session.is_settled = true);
        true
    }
}

/// Returns whether an import has recorded a message that was kept meanwhile: the session's attempt is of that time.
fn is_imported(workspace: &Workspace, message: &SessionMessage) -> bool {
    let covers = |path: &str| {
        let attempt = attempt_at(workspace, path)?;
        let lasted = Duration::try_from_secs_f64(attempt.head.duration_secs?).ok()?;
        let ended = attempt.started_at.checked_add_signed(TimeDelta::from_std(lasted).ok()?)?;
        // A hook runs a little later than the last event of a transcript.
        Some((attempt.started_at..=ended.checked_add_signed(APART)?).contains(&message.at))
    };
    let Some(run) = message.run.as_ref().filter(|_| message.was_kept) else { return false };
    let first = journal_path(run, 1);
    [covers(&first), covers(&format!("archive/{first}"))].contains(&Some(true))
}

/// Returns the message of an error, with its cause.
fn reason(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

/// Removes the file of a message that is recorded.
fn remove(kept: Option<PathBuf>) {
    if let Some(path) = kept {
        // If it stays, the next hook finds everything recorded, and removes it.
        let _ = remove_private(&path);
    }
}
