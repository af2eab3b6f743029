//! Sessions: the hooks that agents' clients call when a session begins, at a prompt, at a call of a tool, when the agent
//! stops, and when the session ends.
//!
//! `call` reads a call; `payload` finds its fields by the client's row in `dialect`, and `tool_call` what a tool did;
//! `tool_hint` says what is known about that. `session` keeps what happened in a session, and `log` keeps what `check`
//! shows. Both use files below `state/sessions/` that are locked and sealed, except for the times of calls of tools.
//! `transcript` finds out what a session did, and `session_work` records it. `message` records what one of the agent's
//! messages reports, and `loop_claims` leaves to a run what that run records. This file decides what happens at each
//! event.
//!
//! A hook never waits long: at most 200 ms for a lock, never for a server, and for git only when a session begins, to learn
//! which files were renamed and which attempts the default branch has. It saves a message before anything else, and its
//! caller may end it at any moment after that: the next hook then records the message. It reads and indexes entries that
//! the index lacks until its time is over, so that the next hook has fewer to read. A hook tells the agent something only
//! if it is new.

mod call;
mod dialect;
mod log;
mod loop_claims;
mod message;
mod payload;
mod session;
mod session_work;
mod tool_call;
mod tool_hint;
mod transcript;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use self::loop_claims::is_imported;
use self::message::{record_message, remove, says_anything};
use self::session::{MAX_ASKED, Session, SessionName, is_resumed, kept_sessions, told_attempts};
use self::session_work::{reason, record_session, tell};
use self::tool_hint::{sign_written, tool_hint};
use crate::context::{Briefing, BriefingRequest, Budget, briefing, reminder};
use crate::entry::Author;
use crate::error::Result;
use crate::index::catalog::Area;
use crate::journal::settle_copies;
use crate::open::{Memory, StateFolders};
use crate::recording::{SessionMessage, keep_message, kept_messages, session_run};
use crate::settings::SessionRecording;
use crate::workspace::Workspace;

pub use self::call::{HookAnswer, HookCall, HookEvent};
pub(crate) use self::log::{HookLog, hook_log, tool_time};
pub(crate) use self::transcript::prompt_in;

/// The sizes of a briefing, in tokens. The first is the usual one; a smaller one is taken if the document is too long.
const BRIEFINGS: [usize; 4] = [1_200, 800, 500, 300];
/// How many kept messages one call records at most.
const MAX_KEPT: usize = 5;
/// How many earlier sessions are recorded when a session begins.
const MAX_SESSIONS: usize = 2;
/// How long each answer of git about renames may take. The computers of tests are busy.
const RENAMES_TIMEOUT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_500 } else { 150 });
/// How long a session without a reported end must be idle to count as ended, in hours.
const IDLE_HOURS: i64 = 1;

impl Memory {
    /// Returns what someone should know at the start of a session, before there is a task: tasks that failed last,
    /// recurring errors, what is known about both, other decisions and learnings, and what changed since the last attempt.
    /// Empty if there is nothing to report, unless the request is by tools. It updates the index like a search, asks no server, and runs no git.
    ///
    /// # Errors
    ///
    /// [`Error::BudgetTooSmall`](crate::Error::BudgetTooSmall).
    pub fn briefing(&self, request: &BriefingRequest) -> Result<Briefing> {
        briefing(&self.workspace, request, &[])
    }

    /// Handles the call of a hook by an agent's client, and returns what the client reads: at the beginning of a session
    /// its [briefing](Memory::briefing), once, and before a prompt entries that are about it. It records what the agent's
    /// last message reports; [`HookAnswer::notes`] name what it could not record. Locks are waited for 150 ms at most, and
    /// servers are not asked.
    ///
    /// With [`Memory::keeping_in`], the message is saved before anything else. `is_over` is asked after that, and then
    /// before each file that is read, whether the hook's time is over. If it is, the answer is silence, the next hook
    /// records the message, and what was read stays indexed. The process may end at any moment after the first question.
    pub fn hook(mut self, call: &HookCall, is_over: &dyn Fn() -> bool) -> HookAnswer {
        self.workspace.is_hurried = true;
        self.workspace.answer_once();
        self.workspace.store.author = Author::Agent(call.client().to_owned());
        let _operation = self.operation("hook");
        let mut running = RunningHook::new(&mut self.workspace, &self.state_folders, call, is_over);
        running.notes.extend(call.payload.problem.clone());
        let is_of_sub_agent = call.payload.sub_agent.is_some() && call.event != HookEvent::Tool;
        let output = if is_of_sub_agent { None } else { running.act() };
        running.answer(output)
    }

    /// Handles the call of a hook while the settings cannot be read, for this `reason`, in a memory of
    /// [`Memory::open_without_settings`]: what the agent's last message reports is kept for the next hook that can read
    /// them, and the log of the hooks gets the reason.
    pub fn hook_without_settings(mut self, call: &HookCall, reason: &str) -> HookAnswer {
        self.workspace.is_hurried = true;
        let mut running = RunningHook::new(&mut self.workspace, &self.state_folders, call, &|| true);
        if call.event == HookEvent::Stop
            && call.payload.sub_agent.is_none()
            && let Some((_, kept)) = running.keep()
        {
            running.tell_kept(kept);
        }
        // The last one is what `check` shows.
        running.notes.push(reason.to_owned());
        running.answer(None)
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// No further hook is needed.
    Settled,
    /// A loop is expected to record it.
    Waits,
    /// The memory cannot be written now.
    Failed,
}

/// A hook at work.
struct RunningHook<'a> {
    workspace: &'a mut Workspace,
    folders: &'a StateFolders,
    call: &'a HookCall,
    session: Option<SessionName>,
    notes: Vec<String>,
    /// Whether it did more than read.
    has_acted: bool,
    is_over: &'a dyn Fn() -> bool,
    /// Whether the entries can be read in time, once that is known.
    is_caught_up: Option<bool>,
}

impl<'a> RunningHook<'a> {
    fn new(
        workspace: &'a mut Workspace,
        folders: &'a StateFolders,
        call: &'a HookCall,
        is_over: &'a dyn Fn() -> bool,
    ) -> RunningHook<'a> {
        let session = call.payload.session.as_deref().map(SessionName::of);
        let (notes, has_acted, is_caught_up) = (Vec::new(), false, None);
        RunningHook { workspace, folders, call, session, notes, has_acted, is_over, is_caught_up }
    }

    fn answer(self, output: Option<String>) -> HookAnswer {
        if self.call.event == HookEvent::Tool {
            log::add_time(self.workspace, self.call.began.elapsed());
        }
        if self.has_acted || !self.notes.is_empty() {
            log::add(self.workspace, self.call.client(), self.call.event.as_str(), &self.notes);
        }
        HookAnswer { output: output.unwrap_or_default(), notes: self.notes }
    }

    fn act(&mut self) -> Option<String> {
        // This comes before everything that takes time, because the caller may end the hook at any moment after the
        // first question.
        let message = if self.call.event == HookEvent::Stop { self.keep() } else { None };
        if self.call.event == HookEvent::SessionEnd {
            self.has_acted = true;
            // If this is not noted, the session counts as ended once it has been idle.
            let _ = self.update_session(|session| session.is_closed = true);
        }
        if (self.is_over)() {
            self.is_caught_up = Some(false);
        }
        match self.call.event {
            HookEvent::SessionStart => return self.session_start(),
            HookEvent::Prompt => return self.prompt(),
            HookEvent::Tool => return self.tool(),
            HookEvent::Stop => self.stop(message),
            HookEvent::SessionEnd => self.session_end(),
        }
        None
    }

    /// Returns whether the entries can be read in time. It first indexes what the index lacks, as far as the time
    /// allows.
    fn can_read(&mut self) -> bool {
        let areas: &[Area] =
            if self.call.event == HookEvent::Prompt { &[Area::Live] } else { &[Area::Live, Area::Archive] };
        *self.is_caught_up.get_or_insert_with(|| self.workspace.catch_up(areas, self.is_over))
    }

    /// Returns the briefing, if the session gets it now.
    fn session_start(&mut self) -> Option<String> {
        self.has_acted = true;
        let source = self.call.payload.source.clone().unwrap_or_default();
        let now = self.workspace.now();
        let gets_none = |name: &SessionName| !name.read(self.workspace).begins(&source, now);
        // The session gets the briefing once, so this is noted only when there is one.
        if !self.session.as_ref().is_some_and(gets_none) && !self.can_read() {
            return None;
        }
        let gets_it = match self.update_session(|session| session.begins(&source, now)) {
            Some(Ok(gets_it)) => gets_it,
            // Another process works on this session at this moment.
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => false,
            // Nothing can be written here, so it is unknown whether the session had it.
            Some(Err(_)) | None => !is_resumed(&source),
        };
        if gets_it && let Some(name) = &self.session {
            name.forget_claims(self.workspace);
        }
        self.write_hints();
        if self.record_kept() && self.workspace.settings.sessions_record == SessionRecording::Changes {
            self.record_earlier_sessions();
        }
        if gets_it { self.briefing() } else { None }
    }

    /// Writes the table that the hook at a tool's call reads. Without it, that hook is silent.
    fn write_hints(&mut self) {
        if self.can_read()
            && let Ok(lock) = self.workspace.lock_within_git()
        {
            let _ = self.workspace.write_hints(&lock);
            settle_copies(self.workspace, &lock);
            drop(lock);
            self.workspace.follow_renames(RENAMES_TIMEOUT);
        }
    }

    fn briefing(&mut self) -> Option<String> {
        let told = told_attempts(self.workspace);
        for tokens in BRIEFINGS {
            // `setup` registers the server with the hooks, and clients refuse tools less often than commands.
            let (budget, client) = (Some(Budget::tokens(tokens)), Some(self.call.client()));
            let request = BriefingRequest { budget, by_tools: true, client };
            let briefing = briefing(self.workspace, &request, &told).ok()?;
            if let Some(document) = self.document(&briefing.text) {
                let shown: Vec<String> =
                    briefing.entries.iter().chain(&briefing.attempts).map(ToString::to_string).collect();
                // If this is not noted, an entry may be shown again.
                let _ = self.update_session(|session| session.shows(&shown));
                return Some(document);
            }
        }
        None
    }

    /// Returns what is known about the files of a tool's call and about the error in its output.
    fn tool(&self) -> Option<String> {
        sign_written(self.workspace, self.call);
        let (text, shown) = tool_hint(self.workspace, self.call, self.session.as_ref()?)?;
        let document = self.document(&text)?;
        // Prompts of a run are not answered, and what a sub-agent was shown is unknown to its session.
        if self.call.run.is_none() && self.call.payload.sub_agent.is_none() {
            // If this is not noted, a prompt may show it again.
            let _ = self.update_session(|session| session.shown.extend(shown.iter().map(ToString::to_string)));
        }
        Some(document)
    }

    /// Returns entries about the prompt that the session has not been shown yet.
    fn prompt(&mut self) -> Option<String> {
        self.record_kept();
        let prompt = self.call.payload.prompt.as_deref()?;
        if !self.can_read() {
            return None;
        }
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

    /// Saves the agent's last message, if it reports anything new, and returns it with its file.
    fn keep(&mut self) -> Option<(SessionMessage, Option<PathBuf>)> {
        let payload = &self.call.payload;
        let wants_none = self.workspace.settings.sessions_record == SessionRecording::Nothing;
        let text = payload.message.as_ref().filter(|text| !wants_none && says_anything(text))?;
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
        let message = message.redacted(&self.workspace.settings.allowed_secrets);
        // It is saved before it is noted, so that a kill does not lose it.
        let kept = keep_message(self.workspace, self.folders, &message);
        // Recording it twice is better than not at all.
        if let Some(Ok(false)) =
            self.update_session(|session| session.takes_message(text, payload.turn.as_deref(), now))
        {
            remove(kept);
            return None;
        }
        Some((message, kept))
    }

    /// Records what the agent's last message reports, and the messages that were kept. If there is no time, the message
    /// stays saved.
    fn stop(&mut self, message: Option<(SessionMessage, Option<PathBuf>)>) {
        let is_possible = self.record_kept() && (message.is_none() || self.can_read());
        match message {
            // One wait for the lock is enough.
            Some((_, kept @ Some(_))) if !is_possible => self.tell_kept(kept),
            Some((message, kept)) => {
                self.record(&message, kept);
            }
            None => {}
        }
    }

    fn tell_kept(&mut self, kept: Option<PathBuf>) {
        if let Some(path) = kept {
            self.notes
                .push(format!("the agent's message is kept in `{}`, and a later hook records it", path.display()));
        }
    }

    /// Records the session that has ended.
    fn session_end(&mut self) {
        if self.record_kept()
            && self.workspace.settings.sessions_record == SessionRecording::Changes
            && let Some(name) = self.session.clone()
            && self.can_read()
        {
            record_session(self.workspace, &name, self.call.payload.messages.as_deref(), &mut self.notes);
        }
    }

    fn run(&self) -> Option<String> {
        let known = self.session.as_ref()?.read(self.workspace).run;
        known.or_else(|| Some(session_run(self.call.client(), self.call.payload.session.as_deref()?)))
    }

    /// Updates the session with what this call says about it. `None` if the client names no session.
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

    /// Records messages that earlier hooks could not record. Returns whether recording is possible now.
    fn record_kept(&mut self) -> bool {
        // They stay until the person changes the setting.
        if self.workspace.settings.sessions_record == SessionRecording::Nothing {
            return true;
        }
        let mut n_recorded = 0;
        for (path, message) in kept_messages(self.workspace, self.folders) {
            if !self.can_read() {
                return false;
            }
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

    /// Records a message, unless a loop does. Until then, it is kept in this file.
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
                tell(recorded, &mut self.notes);
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

    /// Records sessions that could not be recorded when they ended.
    fn record_earlier_sessions(&mut self) {
        let now = self.workspace.now();
        let mut n_recorded = 0;
        for name in kept_sessions(self.workspace).into_iter().take(MAX_ASKED) {
            let session = name.read(self.workspace);
            let Some(path) = session.transcript.as_ref().filter(|_| !session.is_settled) else { continue };
            let written = path.metadata().and_then(|data| data.modified()).map(chrono::DateTime::from);
            let active = written.map_or(session.acted_at, |written| session.acted_at.max(written));
            let has_ended = session.is_closed || (now - active).num_hours() >= IDLE_HOURS;
            if has_ended && self.session.as_ref() != Some(&name) {
                n_recorded += 1;
                if !self.can_read()
                    || !record_session(self.workspace, &name, None, &mut self.notes)
                    || n_recorded >= MAX_SESSIONS
                {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) use self::log::HookError;
