//! Attempts, from their beginning to their entry in the journal.

use std::path::PathBuf;

use super::Memory;
use crate::agent_output::transcript::{Format, Reader};
use crate::context::{self, Briefing, BriefingRequest, Context, Request, Run, Task};
use crate::entry::Author;
use crate::error::Result;
use crate::journal::history::Report;
#[cfg(feature = "runner")]
use crate::journal::progress::{self, ProgressStrategy};
use crate::recording::{self, KeptAttempt, OpenAttempt, Recorded};
use crate::sessions::{self, HookAnswer, HookCall};

impl Memory {
    /// Returns a new run with a unique name: `run-` and eight random hexadecimal digits.
    pub fn new_run(&self) -> Run {
        recording::new_run(&self.workspace)
    }

    /// Returns a new run for the attempts of a session that has no loop, with a name that no other has: `session-` and
    /// eight random hexadecimal digits. [`Memory::recent_run`] and [`Memory::newest_run`] never return it, so no loop
    /// continues it.
    ///
    /// ```
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let session = memory.new_session();
    /// let text = "<task-failed>Fix the login</task-failed>".to_owned();
    /// memory.record(Some(&Task::new("Fix the login")), Some(&session.id), &Report { text, ..Report::default() })?;
    /// assert_eq!(memory.recent_run(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new_session(&self) -> Run {
        recording::new_session(&self.workspace)
    }

    /// Returns the name of the run that was active last, if that was within two hours: one that ended an
    /// iteration, or began one. What the journal says of the future does not count, and neither do sessions.
    pub fn recent_run(&self) -> Option<String> {
        recording::recent_run(&self.workspace)
    }

    /// Returns the name of the run that began an iteration last, however long ago. What the journal says of the
    /// future does not count, and neither do sessions.
    pub fn newest_run(&self) -> Option<String> {
        recording::newest_run(&self.workspace)
    }

    /// Keeps the options that a run was started with, for a caller that resumes it, as any text. They replace those of
    /// an earlier run.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io).
    pub fn keep_options(&self, options: &str) -> Result<()> {
        recording::keep_options(&self.workspace, options)
    }

    /// Returns what [`Memory::keep_options`] kept on this machine, in this folder. It may name commands, so a text that
    /// was written elsewhere, or that git tracks, is not trusted.
    pub fn kept_options(&self) -> Option<String> {
        recording::kept_options(&self.workspace)
    }

    /// Begins an attempt that this process works on until [`Memory::finish`]: chooses its model, and builds its agent's
    /// prompt. Until then, no other process records an attempt at the task.
    ///
    /// An attempt whose process has ended without finishing it goes into the journal as interrupted. Attempts that
    /// could not be written to the journal, and are kept, are among [`OpenAttempt::problems`].
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) where the title is empty or an id is not one;
    /// [`Error::BudgetTooSmall`](crate::Error::BudgetTooSmall);
    /// [`Error::StillWorking`](crate::Error::StillWorking) where the agent of a run that was killed is still at work;
    /// [`Error::Locked`](crate::Error::Locked), [`Error::Io`](crate::Error::Io), and those of [`Memory::search`].
    pub fn begin(&self, task: &Task, run: &Run) -> Result<OpenAttempt> {
        let _operation = self.operation("context");
        recording::begin(&self.workspace, &self.semantic, &self.state_folders, task, run)
    }

    /// Returns the prompt of an agent that is about to begin a task: the task, what was tried, what was learned, and how to
    /// write to this memory; with the model that should work on it. It opens nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) where the title is empty or the task's id is not one;
    /// [`Error::BudgetTooSmall`](crate::Error::BudgetTooSmall) where the budget is under what the instructions and the first
    /// section need, and those of [`Memory::search`].
    pub fn context(&self, request: &Request) -> Result<Context> {
        recording::context(&self.workspace, &self.semantic, &self.state_folders, request)
    }

    /// Notes for the next [record](Memory::record) of a task what its context shows: the entries, and the state of the work
    /// tree, from which the files follow that the attempt changes. `run` names the run or session that asked. It is a best
    /// effort, and forgotten after a week.
    pub fn note_context(&self, task: &Task, run: Option<&str>, context: &Context) {
        recording::note_context(&self.workspace, task, run, context);
    }

    /// Returns what someone should know at the start of a session, before there is a task: tasks that failed last,
    /// recurring errors, what is known about both, other decisions and learnings, and what changed since the last attempt.
    /// Empty if there is nothing to report, unless the request is by tools. It updates the index like a search, asks no server, and runs no git.
    ///
    /// # Errors
    ///
    /// [`Error::BudgetTooSmall`](crate::Error::BudgetTooSmall).
    pub fn briefing(&self, request: &BriefingRequest) -> Result<Briefing> {
        context::briefing(&self.workspace, request, &[])
    }

    /// Returns the run of the session of which a client's program calls: that of this id, unless
    /// hooks know that it has ended; else that of the only open session of the client.
    pub fn active_session(&self, client: Option<(&str, String)>) -> Option<String> {
        let (client, id) = client?;
        sessions::active_session(&self.workspace, client, Some(&id))
    }

    /// Returns the run of the only open session of a client, by the name that it gives to a server.
    pub fn session_of_client(&self, name: &str) -> Option<String> {
        sessions::active_session(&self.workspace, sessions::of_server(name)?, None)
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
        sessions::fire(&mut self.workspace, &self.state_folders, call, is_over)
    }

    /// Handles the call of a hook while the settings cannot be read, for this `reason`, in a memory of
    /// [`Memory::open_without_settings`]: what the agent's last message reports is kept for the next hook that can read
    /// them, and the log of the hooks gets the reason.
    pub fn hook_without_settings(mut self, call: &HookCall, reason: &str) -> HookAnswer {
        self.workspace.is_hurried = true;
        sessions::fire_without_settings(&mut self.workspace, &self.state_folders, call, reason)
    }

    /// Gives up an attempt in which nothing happened: the journal does not mention it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) where another process works on it,
    /// [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io).
    pub fn cancel(&self, iteration: &OpenAttempt) -> Result<()> {
        recording::cancel(&self.workspace, iteration)
    }

    /// Returns the attempts in progress, by run and number. Files that cannot be read, or that were not written here,
    /// are left out; [`Memory::check`] names them.
    pub fn open_attempts(&self) -> Vec<OpenAttempt> {
        recording::begun(&self.workspace).unwrap_or_default()
    }

    /// Notes which process is the agent of an iteration. If the process that started the agent is killed and the agent
    /// is not, [`Memory::begin`] does not begin another attempt beside it. If this cannot be noted, nothing else
    /// changes.
    pub fn note_agent(&self, iteration: &mut OpenAttempt, pid: u32) {
        recording::note_agent(&self.workspace, iteration, pid);
    }

    /// Returns a reader for an agent's output, which may be of any length. What it gives is for
    /// [`Report::transcript`].
    ///
    /// ```
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::agent_output::transcript::Format;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// let attempt = memory.begin(&Task::new("Add the lock"), &memory.new_run())?;
    /// let output = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s","total_cost_usd":0.5}"#;
    /// let transcript = memory.reader(Format::Auto).read(output.as_bytes())?;
    /// let recorded = memory.finish(&attempt, &Report { transcript: Some(transcript), ..Report::default() })?;
    /// assert_eq!((recorded.outcome.as_str(), recorded.attempt.head.cost_usd), ("blocked", Some(0.5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reader(&self, format: Format) -> Reader {
        recording::reader(&self.workspace, format)
    }

    /// Ends an attempt: records the knowledge in the agent's text, and writes one journal entry.
    ///
    /// An iteration that is finished for the second time, or was taken for interrupted meanwhile, gets
    /// an entry of its own, under the run's next number.
    ///
    /// With [`Memory::keeping_in`], an attempt that cannot be written is kept in a file outside of the project, from
    /// which [`Memory::record_kept`] writes it later.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) where the iteration's ids are none. [`Error::NotRecorded`](crate::Error::NotRecorded), with the file, where the lock or
    /// the file system stands in the way, [`Error::NotKept`](crate::Error::NotKept) where that cannot be written, either, and without
    /// folders for it [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io) themselves. Then there is no entry in the journal, and the
    /// call can be made again: knowledge that was written is found as it is. What concerns one fact alone, such as
    /// an entry that cannot be edited, is in [`Recorded::refused`], and that fact stands in the notes of the journal's
    /// entry.
    pub fn finish(&self, iteration: &OpenAttempt, report: &Report) -> Result<Recorded> {
        let _operation = self.operation("record");
        recording::finish(&self.workspace, &self.semantic, &self.state_folders, iteration, report)
    }

    /// Records an attempt that nobody began: the knowledge in the agent's text, and one entry of the journal, in this run,
    /// else in the one that was active in the last two hours, else in a new one. A task without a title keeps the one that
    /// the memory knows. Without a task, it is the last one that the text ends, else the only one for which the run asked for
    /// a context. If the same attempt was told by another way before, such as a hook, that entry is completed.
    ///
    /// ```
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let task = Task::new("Fix the build");
    /// let text = format!("<task-failed>{}</task-failed>", task.own_id());
    /// let recorded = memory.record(Some(&task), None, &Report { text, ..Report::default() })?;
    /// assert_eq!(recorded.attempt.task_title, "Fix the build");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) if it is unknown which task it is, [`Error::Held`](crate::Error::Held) if a
    /// run at work will record it, and those of [`Memory::finish`].
    pub fn record(&self, task: Option<&Task>, run: Option<&str>, report: &Report) -> Result<Recorded> {
        let _operation = self.operation("record");
        recording::record_attempt(&self.workspace, &self.semantic, &self.state_folders, task, run, report)
    }

    /// Returns what a strategy says of the run's verified iterations so far, for the next prompt. Empty if none was
    /// verified. Summaries come from the [`Sections`](crate::entry::Sections) of each attempt.
    ///
    /// ```
    /// use ralph_memory::entry::{Sections, Validation};
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::runner::LlmSummarizedProgress;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let run = memory.new_run();
    /// let attempt = memory.begin(&Task::new("Sort the imports"), &run)?;
    /// let validation = Some(Validation { command: "isort --check".into(), exit_code: 1, duration_ms: 80 });
    /// let sections = Sections { validation_output: "2 files would change".into(), ..Sections::default() };
    /// memory.finish(&attempt, &Report { validation, sections, ..Report::default() })?;
    /// let progress = memory.progress(&run.id, &mut LlmSummarizedProgress::with_limits(5, 500));
    /// assert_eq!(progress, "Iteration 1: `isort --check` exited with 1: 2 files would change\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "runner")]
    pub fn progress(&self, run_id: &str, strategy: &mut dyn ProgressStrategy) -> String {
        let attempts: Vec<_> = self.attempts_of_run(run_id).into_iter().map(|(_, attempt)| attempt).collect();
        progress::text(strategy, &attempts)
    }

    /// Returns the files that an attempt has created or changed so far, according to git and the agent's tools.
    pub fn changed_files(&self, iteration: &OpenAttempt, report: &Report) -> Vec<String> {
        recording::changed_files(&self.workspace, iteration, report)
    }

    /// Keeps an attempt whose agent has ended, for a caller who has more to do before [`Memory::finish`], such as a
    /// verification that takes minutes: whatever ends the process in the meantime, the answer is saved. `finish`
    /// removes the file. Without [folders](Memory::keeping_in), or where none can be written, nothing is kept.
    pub fn keep(&self, iteration: &OpenAttempt, report: &Report) -> Option<PathBuf> {
        recording::keep(&self.workspace, &self.state_folders, iteration, report)
    }

    /// Returns the attempts of this memory that are kept outside of it, since they could not be written to the journal.
    pub fn kept_attempts(&self) -> Vec<KeptAttempt> {
        recording::kept_attempts(&self.workspace, &self.state_folders)
    }

    /// Writes an attempt to the journal that was [kept](KeptAttempt), as [`Memory::finish`] would have done in time, and
    /// removes the file. Where the journal has it already, only that.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) where it belongs to a memory in another folder,
    /// [`Error::NotRecorded`](crate::Error::NotRecorded) where it cannot be written now, either, and
    /// [`Error::Invalid`](crate::Error::Invalid) where no task is named.
    pub fn record_kept(&self, kept: &KeptAttempt) -> Result<Recorded> {
        let _operation = self.operation("record");
        recording::record_kept(&self.workspace, &self.semantic, &self.state_folders, kept)
    }
}
