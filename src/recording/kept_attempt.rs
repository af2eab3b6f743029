//! Attempts in the [spool](super::spool): saved before the journal has them, listed, and removed once it has them.

use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};

use super::ended::EndedAttempt;
use super::meant::of_session;
use super::open_attempt::OpenAttempt;
use super::spool::{ATTEMPT, SessionMessage, SpoolFile, Spooled, canonical, problem, saved};
use crate::agent_output::elements::{self, Sigil};
use crate::agent_output::transcript::{Options, Reader};
use crate::context::Task;
use crate::entry::Attempt;
use crate::error::{Argument, Error, Problem, Result};
use crate::journal::history::Report;
use crate::open::{Memory, StateFolders};
use crate::store::{remove_private, rename_private};
use crate::text::printed_command;

/// A saved attempt.
///
/// ```
/// use ralph_memory::memory::{KeptAttempt, Report, StateFolders};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let folders = StateFolders::new([root.join("kept")]);
/// let task = Task::new("Migrate the users");
/// let report = Report { text: format!("<task-done>{}</task-done>", task.own_id()), ..Report::default() };
/// // Whoever cannot open the memory writes the file; later somebody else can.
/// let path = folders.keep(root, None, Some(task), &report, "2026-02-17T12:00:00Z".parse()?)?;
/// let memory = Memory::open(root)?.keeping_in(folders);
/// let kept = memory.kept_attempts().remove(0);
/// assert_eq!(KeptAttempt::read(&path)?.as_ref(), Some(&kept));
/// assert_eq!(memory.record_kept(&kept)?.outcome.as_str(), "done");
/// assert!(memory.kept_attempts().is_empty() && !path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KeptAttempt {
    path: PathBuf,
    file: SpoolFile,
}

impl StateFolders {
    /// Saves an agent's output for the memory in `root`, or for a missing memory there, and returns the file. It belongs to
    /// this run and this task; without a task, to that which the output names. For a caller that could not even open the
    /// memory; [`Memory::record`](crate::Memory::record) and [`Memory::finish`](crate::Memory::finish) do it by themselves.
    ///
    /// # Errors
    ///
    /// [`Error::NotKept`] with the attempt, and with the error of the last folder that was tried.
    pub fn keep(
        &self,
        root: &Path,
        run: Option<String>,
        task: Option<Task>,
        report: &Report,
        now: DateTime<Utc>,
    ) -> Result<PathBuf> {
        let transcript = report.transcript.clone().unwrap_or_else(|| {
            let mut reader = Reader::new(Options { root: canonical(root), ..Options::default() });
            reader.push(report.text.as_bytes());
            reader.finish()
        });
        let task = task.map(|task| task.without_secrets(&[]));
        let said = Box::new(report.redacted(&transcript, &[])?);
        let file = SpoolFile::new(root, Spooled::Output { run, task, said, at: now });
        file.write(self).map_err(|error| {
            let nothing = io::Error::other("the attempt belongs to no known task");
            file.not_kept(&error, Error::Io { action: "record", path: root.to_owned(), source: nothing })
        })
    }
}

impl KeptAttempt {
    /// Reads a file; `None` where it is another file, such as the output of an agent.
    ///
    /// # Errors
    ///
    /// [`Error::NewerFormat`] for a file of a newer version, [`Error::Invalid`] for one that is damaged or has values
    /// that no attempt can have, and [`Error::Io`].
    pub fn read(path: &Path) -> Result<Option<KeptAttempt>> {
        let file = SpoolFile::read(path)?.filter(|file| !matches!(file.content, Spooled::Message(_)));
        Ok(file.map(|file| KeptAttempt { path: path.to_owned(), file }))
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether its run, number and task are known, so that [`KeptAttempt::named`] changes nothing.
    pub fn is_complete(&self) -> bool {
        matches!(self.file.content, Spooled::Attempt(_))
    }

    /// Sets the run and the task of an output. `None` leaves a value unchanged.
    #[must_use]
    pub fn named(mut self, run: Option<String>, task: Option<Task>) -> KeptAttempt {
        if let Spooled::Output { run: old_run, task: old_task, .. } = &mut self.file.content {
            *old_run = run.or(old_run.take());
            *old_task = task.unwrap_or_default().or_named(|| old_task.take());
        }
        self
    }

    pub(super) fn content(&self) -> &Spooled {
        &self.file.content
    }

    /// Refuses an attempt of another memory.
    pub(super) fn check_root(&self, root: &Path) -> Result<()> {
        let root = canonical(root);
        if self.file.is_of(&root) {
            return Ok(());
        }
        let reason = format!(
            "it belongs to the memory in `{}`, and this one is in `{root}`; where the project was moved, change \
             `root` in the file",
            self.file.root
        );
        Err(Error::invalid(format!("`{}`", self.path.display()), reason))
    }

    /// Returns whether it is the answer of this iteration's agent.
    pub(super) fn is_of_iteration(&self, iteration: &OpenAttempt) -> bool {
        matches!(&self.file.content, Spooled::Attempt(ended) if ended.iteration.id() == iteration.id()
            && ended.iteration.started_at == iteration.started_at)
    }

    /// Returns the task of an output: the one that it was saved with, else the last one that the agent reports as done or
    /// failed.
    pub(super) fn task(&self) -> Result<Task> {
        let Spooled::Output { task, said, .. } = &self.file.content else { return Ok(Task::default()) };
        let reported = || Some(Task { id: Some(task_named(&said.transcript.text)?), ..Task::default() });
        let reason = || format!("`{}` names no task", self.path.display());
        task.clone().or_else(reported).ok_or_else(|| Error::invalid(Argument::Attempt, reason()))
    }

    fn problem(&self, root: &Path) -> Problem {
        let command = record_command(root, &self.path);
        let at = |at: &DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
        let (message, discard) = match &self.file.content {
            Spooled::Attempt(ended) => {
                let (OpenAttempt { number, run_id, .. }, at) = (&ended.iteration, at(&ended.at));
                (format!("attempt {number} of {run_id} is not in the journal: it could not be written at {at}"), "")
            }
            Spooled::Output { at: saved, .. } | Spooled::Message(SessionMessage { at: saved, .. }) => (
                format!("an agent's output is not in the journal: it was saved at {}", at(saved)),
                "; delete the file to discard it",
            ),
        };
        problem(&self.path, message, format!("{command} records it{discard}"))
    }
}

impl Memory {
    /// Returns the attempts of this memory that are kept outside of it, since they could not be written to the journal.
    pub fn kept_attempts(&self) -> Vec<KeptAttempt> {
        attempts_of(saved(&self.workspace, &self.state_folders, ATTEMPT).0)
    }
}

fn attempts_of(files: Vec<(PathBuf, SpoolFile)>) -> Vec<KeptAttempt> {
    files.into_iter().map(|(path, file)| KeptAttempt { path, file }).collect()
}

/// Returns the saved attempts, and a problem for each of them and for each file that cannot be read.
pub(crate) fn kept_problems(memory: &Memory) -> (Vec<KeptAttempt>, Vec<Problem>) {
    let (kept, mut problems) = saved(&memory.workspace, &memory.state_folders, ATTEMPT);
    let kept = attempts_of(kept);
    problems.extend(kept.iter().map(|kept| kept.problem(memory.root())));
    (kept, problems)
}

/// Saves an attempt that is about to be written. A failure is not reported: the attempt may well be written.
pub(super) fn keep_ahead(memory: &Memory, ended: &EndedAttempt) -> Option<PathBuf> {
    SpoolFile::new(memory.root(), Spooled::Attempt(Box::new(ended.clone()))).held().write(&memory.state_folders).ok()
}

/// Returns the error of an attempt that could not be written, and is saved. `ahead` is where [`keep_ahead`] saved it.
pub(super) fn not_recorded(memory: &Memory, ended: &EndedAttempt, ahead: Option<PathBuf>, source: Error) -> Error {
    let folders = &memory.state_folders;
    if folders.0.is_empty() {
        return source;
    }
    let file = SpoolFile::new(memory.root(), Spooled::Attempt(Box::new(ended.clone())));
    let kept = match (file.write(folders), ahead) {
        (Ok(kept), ahead) => {
            // The first one may be in another folder, which cannot be written any more.
            if let Some(ahead) = ahead.filter(|ahead| *ahead != kept) {
                let _ = remove_private(&ahead);
            }
            kept
        }
        (Err(_), Some(kept)) => kept,
        (Err(error), None) => return file.not_kept(&error, source),
    };
    Error::NotRecorded { root: file.root.into(), kept, source: Box::new(source) }
}

/// Removes the file of an attempt that is in the journal. If the journal had no room for all of the agent's notes, the
/// file stays under another name.
pub(super) fn settle(attempt: &Attempt, path: &Path) -> Option<Problem> {
    if attempt.sections.has_cut_notes() {
        let renamed = rename_private(path, "answer");
        let whole = renamed.as_deref().unwrap_or(path);
        let message = "the journal has the beginning of the agent's notes; this file has the whole answer".to_owned();
        let hint = "put the missing part into entries of its own, and delete the file".to_owned();
        return Some(Problem { code: "notes-cut".to_owned(), ..problem(whole, message, hint) });
    }
    let error = remove_private(path).err()?;
    let message = format!("the attempt is in the journal, and its copy cannot be removed: {error}");
    Some(problem(path, message, "delete the file".to_owned()))
}

/// Returns the command that records a [saved](KeptAttempt) attempt in the project in `root`, as [`printed_command`] does.
/// If the file does not say which task it belongs to, the command has a placeholder, `<ID-OF-ITS-TASK>`, with which it
/// fails.
///
/// ```
/// use std::path::Path;
/// use ralph_memory::memory::record_command;
/// let command = record_command(Path::new("/src/my app"), Path::new("/home/me/1.json"));
/// assert_eq!(command, "`ralph-memory --root '/src/my app' record /home/me/1.json`");
/// ```
pub fn record_command(root: &Path, file: &Path) -> String {
    let needs_task = KeptAttempt::read(file).is_ok_and(|kept| kept.is_some_and(|kept| kept.task().is_err()));
    let record = if needs_task {
        "ralph-memory --root FOLDER record FILE --task-id '<ID-OF-ITS-TASK>'"
    } else {
        "ralph-memory --root FOLDER record FILE"
    };
    printed_command(record, &[("FOLDER", &root.to_string_lossy()), ("FILE", &file.to_string_lossy())])
}

/// Returns the last task that an agent reports as done or failed.
pub(crate) fn task_named(text: &str) -> Option<String> {
    let named = elements::tokens(text, true).sigils.into_iter().rev().find_map(|placed| match placed.sigil {
        Sigil::End(end) => of_session(&end.named, None, &|_| None).ok(),
        _ => None,
    });
    named.map(|task| task.id)
}
