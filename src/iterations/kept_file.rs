//! The file of an attempt that is saved outside of the project, until the journal has it.
//!
//! A file may come from anywhere, so all of its content is checked. It contains no secrets. Its keys are a format that
//! later versions must read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::iteration::{Iteration, is_tree};
use super::meant::of_session;
use super::process_identity::ProcessIdentity;
use super::state_folders::{NAME, StateFolders};
use super::work_tree::WorkTreeChanges;
use crate::context::Task;
use crate::error::{Argument, Error, Problem, Result};
use crate::history::Report;
use crate::journal::{check_name, check_number, check_run_name};
use crate::sigil::{self, Sigil};
use crate::store::{read_if_begins, write_private};
use crate::text::printed_command;
use crate::transcript::{Options, Reader, Transcript};

/// The format of the files.
const VERSION: u64 = 1;
/// The beginning of each of them, in every version.
const START: &[u8] = b"{\"ralph_memory_kept\":";
/// The largest file that is read, in bytes: the longest answer, escaped at its worst, and everything else in it.
const MAX_BYTES: u64 = 128 * 1024 * 1024;

/// Which iteration an attempt belongs to.
///
/// ```
/// use std::path::Path;
/// use ralph_memory::Task;
/// use ralph_memory::memory::{IterationRef, KeptAttempt, Report, StateFolders};
/// # let folder = tempfile::tempdir()?;
/// # let state = folder.path().join("state");
/// let folders = StateFolders::new([state]);
/// let task = Task { id: Some("t-7".into()), ..Task::new("Fix the build") };
/// let which = IterationRef::Named { run: None, task: Some(task) };
/// let report = Report { text: "<task-failed>t-7</task-failed>".into(), ..Report::default() };
/// let path = folders.keep(Path::new("/srv/app"), which.clone(), &report, "2026-02-17T12:00:00Z".parse()?)?;
/// assert_eq!(KeptAttempt::read(&path)?.ok_or("it is another file")?.which(), &which);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IterationRef {
    /// This one.
    Begun(Box<Iteration>),
    /// One that nobody began, as for [`Memory::record`](crate::Memory::record).
    Named {
        /// The run.
        run: Option<String>,
        /// The task; without one, that which the output names.
        task: Option<Task>,
    },
}

/// A saved attempt.
///
/// ```
/// use ralph_memory::memory::{IterationRef, KeptAttempt, Report, StateFolders};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let folders = StateFolders::new([root.join("kept")]);
/// let memory = Memory::open(root)?.keeping_in(folders.clone());
/// let iteration = memory.begin(&Task::new("Migrate the users"), &memory.new_run())?;
/// let report = Report { text: format!("<task-done>{}</task-done>", iteration.task_id()), ..Report::default() };
/// // Whoever cannot open the memory writes the file; later somebody else can.
/// let path = folders.keep(root, IterationRef::Begun(Box::new(iteration)), &report, "2026-02-17T12:00:00Z".parse()?)?;
/// let kept = memory.kept_attempts().remove(0);
/// assert_eq!(kept.path(), path);
/// assert_eq!(memory.record_kept(&kept)?.outcome.as_str(), "done");
/// assert!(memory.kept_attempts().is_empty() && !path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KeptAttempt {
    pub(super) path: PathBuf,
    pub(super) file: KeptFile,
}

/// The content of such a file. Its first key distinguishes it from the output of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptFile {
    pub(super) ralph_memory_kept: u64,
    /// The folder that holds `.ralph/`, without links.
    pub(super) root: String,
    pub(super) kept_at: DateTime<Utc>,
    /// The process that is writing the attempt to the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) holder: Option<ProcessIdentity>,
    pub(super) which: IterationRef,
    /// The changes according to git.
    #[serde(rename = "seen")]
    pub(super) changes: WorkTreeChanges,
    /// Whether a secret was removed from the agent's output.
    pub(super) redacted: bool,
    pub(super) report: Report,
}

impl StateFolders {
    /// Saves an agent's output in an iteration of the memory in `root`, or of a missing memory there, and returns the
    /// file. For a caller that could not even open the memory; [`Memory::finish`](crate::Memory::finish) does it by
    /// itself.
    ///
    /// # Errors
    ///
    /// [`Error::NotKept`] with the attempt, and with the error of the last folder that was tried.
    pub fn keep(&self, root: &Path, which: IterationRef, report: &Report, now: DateTime<Utc>) -> Result<PathBuf> {
        let transcript = report.transcript.clone().unwrap_or_else(|| {
            let mut reader = Reader::new(Options { root: canonical(root), ..Options::default() });
            reader.push(report.text.as_bytes());
            reader.finish()
        });
        let file = KeptFile::new(root, which, (report, &transcript), WorkTreeChanges::default(), now, &[]);
        write_kept(self, &file).map_err(|error| {
            let nothing = io::Error::other("the attempt belongs to no known iteration");
            not_kept(&file, &error, Error::Io { action: "record", path: root.to_owned(), source: nothing })
        })
    }
}

/// Writes a file into the first writable folder, and returns its path.
pub(super) fn write_kept(folders: &StateFolders, file: &KeptFile) -> Result<PathBuf> {
    let mut failed = None;
    for folder in &folders.0 {
        let bytes = serde_json::to_vec(file).map_err(io::Error::from);
        match bytes.and_then(|bytes| write_private(folder, &file.name(), &bytes)) {
            Ok(path) => return Ok(path),
            Err(source) => failed = Some(Error::Io { action: "write to", path: folder.clone(), source }),
        }
    }
    let nowhere = || Error::Io { action: "find", path: NAME.into(), source: io::ErrorKind::NotFound.into() };
    Err(failed.unwrap_or_else(nowhere))
}

impl KeptFile {
    /// Returns the saved form of an attempt: all of it, without secrets.
    pub(super) fn new(
        root: &Path,
        which: IterationRef,
        (report, transcript): (&Report, &Transcript),
        changes: WorkTreeChanges,
        now: DateTime<Utc>,
        allowed: &[String],
    ) -> KeptFile {
        let which = match which {
            IterationRef::Begun(iteration) => {
                let mut iteration = *iteration;
                iteration.task = iteration.task.without_secrets(allowed);
                IterationRef::Begun(Box::new(iteration))
            }
            IterationRef::Named { run, task } => {
                IterationRef::Named { run, task: task.map(|task| task.without_secrets(allowed)) }
            }
        };
        let report = report.redacted(transcript, allowed);
        let is_redacted = report.transcript.as_ref().is_some_and(|safe| safe.text != transcript.text);
        KeptFile {
            ralph_memory_kept: VERSION,
            root: canonical(root),
            kept_at: now,
            holder: None,
            which,
            changes,
            redacted: is_redacted,
            report,
        }
    }

    /// Returns the name of its file: the same for the same answer, and another one for any other.
    fn name(&self) -> String {
        let place = prefix(&self.root);
        match &self.which {
            // Whoever calls again because the first call failed tells the same attempt.
            IterationRef::Begun(iteration) if iteration.is_unmeasured => {
                format!("{place}{}-{:016x}.json", iteration.task_id(), hash(&self.report))
            }
            // Its report grows until it is finished.
            IterationRef::Begun(iteration) => {
                let text = self.report.transcript.as_ref().map_or("", |transcript| &transcript.text);
                format!("{place}{}-{:04}-{:016x}.json", iteration.run_id, iteration.number, xxh3_64(text.as_bytes()))
            }
            IterationRef::Named { .. } => format!("{place}unnamed-{:016x}.json", hash(&(&self.which, &self.report))),
        }
    }

    /// Checks it: a file may come from anywhere.
    fn check(&self) -> Result<()> {
        let names = match &self.which {
            IterationRef::Begun(iteration) => {
                check_number(iteration.number)?;
                check_tree(iteration.tree.as_deref())?;
                (Some(iteration.run_id.clone()), Some(iteration.task_id()))
            }
            IterationRef::Named { run, task } => (run.clone(), task.as_ref().map(Task::own_id)),
        };
        names.0.map_or(Ok(()), |run| check_run_name(&run))?;
        names.1.map_or(Ok(()), |task_id| check_name("task id", &task_id))?;
        check_tree(self.changes.tree.as_deref())
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
        let failed = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let Some(bytes) = read_if_begins(path, START, MAX_BYTES).map_err(failed)? else { return Ok(None) };
        let what = || format!("`{}`", path.display());
        let digits: Vec<u8> = bytes[START.len()..].iter().copied().take_while(u8::is_ascii_digit).take(18).collect();
        let found = String::from_utf8_lossy(&digits).parse().unwrap_or(0);
        if found > VERSION {
            return Err(Error::NewerFormat { path: path.to_owned(), found, known: VERSION });
        }
        let file: KeptFile = serde_json::from_slice(&bytes)
            .map_err(|error| Error::invalid(what(), format!("it is damaged: {error}")))?;
        match file.check() {
            Err(Error::Invalid { what: part, reason }) => Err(Error::invalid(what(), format!("{part}: {reason}"))),
            checked => checked.map(|()| Some(KeptAttempt { path: path.to_owned(), file })),
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns which iteration it belongs to.
    pub fn which(&self) -> &IterationRef {
        &self.file.which
    }

    /// Sets which iteration it belongs to, if that is [`IterationRef::Named`]. `None` leaves a value unchanged.
    #[must_use]
    pub fn named(mut self, run: Option<String>, task: Option<Task>) -> KeptAttempt {
        if let IterationRef::Named { run: old_run, task: old_task } = &mut self.file.which {
            *old_run = run.or(old_run.take());
            *old_task = task.or(old_task.take());
        }
        self
    }

    pub(super) fn is_of(&self, root: &str) -> bool {
        match self.file.which {
            IterationRef::Begun(_) => self.file.root == root,
            // Without a memory, its folder was unknown.
            IterationRef::Named { .. } => Path::new(&self.file.root).starts_with(root),
        }
    }

    pub(super) fn is_of_iteration(&self, iteration: &Iteration) -> bool {
        matches!(&self.file.which, IterationRef::Begun(own) if own.run_id == iteration.run_id
            && own.number == iteration.number && own.started_at == iteration.started_at)
    }

    /// Returns the task of an attempt that nobody began: the one that it names, else the last one that the agent reports
    /// as done or failed.
    fn task(&self) -> Option<Task> {
        let reported = || {
            let id = task_named(self.file.report.transcript.as_ref().map_or("", |transcript| &transcript.text))?;
            Some(Task { id: Some(id), ..Task::default() })
        };
        match &self.file.which {
            IterationRef::Begun(_) => None,
            IterationRef::Named { task, .. } => task.clone().or_else(reported),
        }
    }

    /// Returns whether it is unknown which task it belongs to.
    fn needs_task(&self) -> bool {
        matches!(self.file.which, IterationRef::Named { .. }) && self.task().is_none()
    }

    /// Returns the task of an attempt that nobody began; an error if it is unknown.
    pub(super) fn named_task(&self) -> Result<Task> {
        let reason = || format!("`{}` names no task", self.path.display());
        self.task().ok_or_else(|| Error::invalid(Argument::Iteration, reason()))
    }

    pub(super) fn problem(&self, root: &Path) -> Problem {
        let command = record_command(root, &self.path);
        let at = self.file.kept_at.to_rfc3339_opts(SecondsFormat::Secs, true);
        let (message, discard) = match &self.file.which {
            IterationRef::Begun(iteration) => {
                let Iteration { number, run_id, .. } = iteration.as_ref();
                (format!("iteration {number} of {run_id} is not in the journal: it could not be written at {at}"), "")
            }
            IterationRef::Named { .. } => (
                format!("an agent's output is not in the journal: it was saved at {at}"),
                "; delete the file to discard it",
            ),
        };
        problem(&self.path, message, format!("{command} records it{discard}"))
    }
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
    let needs_task = KeptAttempt::read(file).is_ok_and(|kept| kept.is_some_and(|kept| kept.needs_task()));
    let record = if needs_task {
        "ralph-memory --root FOLDER record FILE --task-id '<ID-OF-ITS-TASK>'"
    } else {
        "ralph-memory --root FOLDER record FILE"
    };
    printed_command(record, &[("FOLDER", &root.to_string_lossy()), ("FILE", &file.to_string_lossy())])
}

/// Returns the last task that an agent reports as done or failed.
pub(crate) fn task_named(text: &str) -> Option<String> {
    let named = sigil::tokens(text).sigils.into_iter().rev().find_map(|placed| match placed.sigil {
        Sigil::End(end) => of_session(&end.named, None, &|_| None).ok(),
        _ => None,
    });
    named.map(|task| task.id)
}

/// Returns the error for an attempt that could not be saved, with all of it.
pub(super) fn not_kept(file: &KeptFile, error: &Error, source: Error) -> Error {
    let reason = std::error::Error::source(error).map_or_else(String::new, |reason| format!(": {reason}"));
    let text = serde_json::to_string(file).unwrap_or_default();
    Error::NotKept {
        root: file.root.clone().into(),
        text,
        reason: format!("{error}{reason}"),
        source: Box::new(source),
    }
}

pub(super) fn problem(path: &Path, message: String, hint: String) -> Problem {
    Problem::warning(path.display().to_string(), "not-recorded", message, hint)
}

/// Returns the canonical path of a folder, or the given path if it cannot be resolved.
pub(super) fn canonical(root: &Path) -> String {
    fs::canonicalize(root).unwrap_or_else(|_| root.to_owned()).to_string_lossy().into_owned()
}

fn hash(content: &impl Serialize) -> u64 {
    xxh3_64(&serde_json::to_vec(content).unwrap_or_default())
}

/// Returns the beginning of the names of a memory's files.
pub(super) fn prefix(root: &str) -> String {
    format!("{:016x}-", xxh3_64(root.as_bytes()))
}

fn check_tree(tree: Option<&str>) -> Result<()> {
    if tree.is_none_or(is_tree) {
        return Ok(());
    }
    Err(Error::invalid("tree", "it is not a git object's name"))
}
