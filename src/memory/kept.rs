//! Attempts that are not in the journal yet, each kept in a file outside of the project.
//!
//! [`Memory::finish`] writes the file before it touches the memory, and removes it behind the journal's entry. So an
//! attempt outlives whatever happens in between: a full disk, a lock that stays taken, a `.ralph/` that is gone, a kill.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::finish::{Ended, Recorded, Report};
use super::open::is_tree;
use super::runs::{Iteration, check_name, check_number, check_run_name};
use super::said::redacted;
use super::state_folders::{NAME, StateFolders};
use super::{Holder, Memory};
use crate::context::Task;
use crate::entry::Attempt;
use crate::error::{Error, Problem, Result, Severity};
use crate::secret::redact;
use crate::sigil::{self, Sigil};
use crate::store::{private_names, read_if_begins, write_private};
use crate::transcript::Transcript;

/// The format of the files.
const VERSION: u64 = 1;
/// How each of them begins, of whatever version.
const START: &[u8] = b"{\"ralph_memory_kept\":";
/// The largest file that is read, in bytes: an answer of the longest text that is read, escaped at its worst, and all
/// that belongs to it.
const MAX_BYTES: u64 = 128 * 1024 * 1024;

/// Which iteration an attempt belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// This one.
    Begun(Box<Iteration>),
    /// One that [`Memory::resume`] finds by what was known of it.
    #[serde(rename_all = "snake_case")]
    Named {
        /// The run.
        run: Option<String>,
        /// The number in the run.
        number: Option<u32>,
        /// The task.
        task_id: Option<String>,
    },
}

/// An attempt that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    path: PathBuf,
    file: File,
}

/// What a file says. Its first key tells it from the output of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    ralph_memory_kept: u64,
    /// The folder that holds `.ralph/`, without links.
    root: String,
    kept_at: DateTime<Utc>,
    /// Who is writing the attempt to the journal at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    holder: Option<Holder>,
    which: Which,
    /// What git saw change.
    seen: Seen,
    /// Whether a secret was taken out of what the agent said.
    redacted: bool,
    report: Report,
}

/// What git saw of the work tree when the agent had ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seen {
    pub(super) tree: Option<String>,
    pub(super) created: Vec<String>,
    pub(super) modified: Vec<String>,
}

impl StateFolders {
    /// Keeps what an agent said of an iteration of the memory in `root`, or of one that should be there, and returns
    /// the file. For a caller that could not even open the memory; [`Memory::finish`] does it by itself.
    ///
    /// # Errors
    ///
    /// [`Error::NotKept`] with what would be kept, and with the error of the last folder that was tried.
    pub fn keep(&self, root: &Path, which: Which, report: &Report, now: DateTime<Utc>) -> Result<PathBuf> {
        let transcript = report.transcript.clone().unwrap_or_default();
        let file = File::new(root, which, (report, &transcript), Seen::default(), now, &[]);
        self.write(&file).map_err(|error| {
            let nothing = io::Error::other("the attempt belongs to no iteration that is known");
            not_kept(&file, &error, Error::Io { action: "record", path: root.to_owned(), source: nothing })
        })
    }

    fn write(&self, file: &File) -> Result<PathBuf> {
        let mut failed = None;
        for folder in &self.0 {
            let write = |to: &mut dyn io::Write| Ok(serde_json::to_writer(to, file)?);
            match write_private(folder, &file.name(), write) {
                Ok(path) => return Ok(path),
                Err(source) => failed = Some(Error::Io { action: "write to", path: folder.clone(), source }),
            }
        }
        let nowhere = || Error::Io { action: "find", path: NAME.into(), source: io::ErrorKind::NotFound.into() };
        Err(failed.unwrap_or_else(nowhere))
    }
}

impl File {
    /// Returns what is kept of an attempt: all of it, without secrets.
    fn new(
        root: &Path,
        which: Which,
        (report, transcript): (&Report, &Transcript),
        seen: Seen,
        now: DateTime<Utc>,
        allowed: &[String],
    ) -> File {
        let which = match which {
            Which::Begun(iteration) => {
                let mut iteration = *iteration;
                let Task { title, description, .. } = &mut iteration.task;
                (*title, *description) = (redact(title, allowed), redact(description, allowed));
                Which::Begun(Box::new(iteration))
            }
            named @ Which::Named { .. } => named,
        };
        let report = redacted(report, transcript, allowed);
        let is_redacted = report.transcript.as_ref().is_some_and(|safe| safe.text != transcript.text);
        File {
            ralph_memory_kept: VERSION,
            root: canonical(root),
            kept_at: now,
            holder: None,
            which,
            seen,
            redacted: is_redacted,
            report,
        }
    }

    /// Returns the name of its file: the same for the same answer, and another one for any other.
    fn name(&self) -> String {
        let text = self.report.transcript.as_ref().map_or("", |transcript| &transcript.text);
        let (place, text) = (prefix(&self.root), xxh3_64(text.as_bytes()));
        match &self.which {
            Which::Begun(iteration) => {
                format!("{place}{}-{:04}-{text:016x}.json", iteration.run_id, iteration.number)
            }
            Which::Named { .. } => format!("{place}unnamed-{text:016x}.json"),
        }
    }

    /// Returns what is wrong with it: a file may come from anywhere.
    fn check(&self) -> Result<()> {
        let names = match &self.which {
            Which::Begun(iteration) => {
                check_number(iteration.number)?;
                check_tree(iteration.tree.as_deref())?;
                (Some(iteration.run_id.clone()), Some(iteration.task_id()))
            }
            Which::Named { run, number, task_id } => {
                number.map_or(Ok(()), check_number)?;
                (run.clone(), task_id.clone())
            }
        };
        names.0.map_or(Ok(()), |run| check_run_name(&run))?;
        names.1.map_or(Ok(()), |task_id| check_name("task id", &task_id))?;
        check_tree(self.seen.tree.as_deref())
    }
}

impl Kept {
    /// Reads a file; `None` where it is none of these, but what an agent said, for instance.
    ///
    /// # Errors
    ///
    /// [`Error::NewerFormat`] for a file that a newer version wrote, [`Error::Invalid`] for one that is damaged or says
    /// what no attempt can be, and [`Error::Io`].
    pub fn read(path: &Path) -> Result<Option<Kept>> {
        let failed = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let Some(bytes) = read_if_begins(path, START, MAX_BYTES).map_err(failed)? else { return Ok(None) };
        let what = || format!("`{}`", path.display());
        let digits: Vec<u8> = bytes[START.len()..].iter().copied().take_while(u8::is_ascii_digit).take(18).collect();
        let found = String::from_utf8_lossy(&digits).parse().unwrap_or(0);
        if found > VERSION {
            return Err(Error::NewerFormat { path: path.to_owned(), found, known: VERSION });
        }
        let file: File = serde_json::from_slice(&bytes)
            .map_err(|error| Error::Invalid { what: what(), reason: format!("it is damaged: {error}") })?;
        match file.check() {
            Err(Error::Invalid { what: part, reason }) => {
                Err(Error::Invalid { what: what(), reason: format!("{part}: {reason}") })
            }
            checked => checked.map(|()| Some(Kept { path: path.to_owned(), file })),
        }
    }

    /// Returns where it is kept.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns which iteration it belongs to.
    pub fn which(&self) -> &Which {
        &self.file.which
    }

    /// Says which iteration it belongs to, where that is [`Which::Named`]. What is `None` stays as it was.
    #[must_use]
    pub fn named(mut self, run: Option<String>, number: Option<u32>, task_id: Option<String>) -> Kept {
        if let Which::Named { run: old_run, number: old_number, task_id: old_task } = &mut self.file.which {
            *old_run = run.or(old_run.take());
            *old_number = number.or(*old_number);
            *old_task = task_id.or(old_task.take());
        }
        self
    }

    fn is_of(&self, root: &str) -> bool {
        match self.file.which {
            Which::Begun(_) => self.file.root == root,
            // Where there was no memory, nobody knew in which folder it should be.
            Which::Named { .. } => Path::new(&self.file.root).starts_with(root),
        }
    }

    fn is_of_iteration(&self, iteration: &Iteration) -> bool {
        matches!(&self.file.which, Which::Begun(own) if own.run_id == iteration.run_id
            && own.number == iteration.number && own.started_at == iteration.started_at)
    }

    fn problem(&self, root: &Path) -> Problem {
        let which = match &self.file.which {
            Which::Begun(iteration) => format!("iteration {} of {}", iteration.number, iteration.run_id),
            Which::Named { .. } => "an iteration".to_owned(),
        };
        let command = record_command(root, &self.path);
        problem(
            &self.path,
            format!("{which} is not in the journal: it could not be written at {}", self.file.kept_at),
            format!("`{command}` writes it to the journal"),
        )
    }
}

impl Memory {
    /// Returns the attempts of this memory that are kept outside of it, since they could not be written to the journal.
    pub fn kept_attempts(&self) -> Vec<Kept> {
        self.kept().0
    }

    /// Does the same, with what is wrong with files that should be some.
    fn kept(&self) -> (Vec<Kept>, Vec<Problem>) {
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        let root = canonical(self.root());
        let start = prefix(&root);
        for folder in &self.state_folders.0 {
            let mut names = private_names(folder).unwrap_or_default();
            names.retain(|name| name.starts_with(&start) && name.strip_suffix(".json").is_some());
            names.sort();
            for path in names.into_iter().map(|name| folder.join(name)) {
                match Kept::read(&path) {
                    // Somebody is just writing it to the journal.
                    Ok(Some(kept)) if kept.file.holder.as_ref().is_some_and(Holder::is_alive) => {}
                    Ok(Some(kept)) if kept.is_of(&root) => all.push(kept),
                    Ok(_) => {}
                    Err(error) => problems.push(problem(
                        &path,
                        format!("an attempt is kept here that cannot be read: {error}"),
                        "see what it says, and delete it".to_owned(),
                    )),
                }
            }
        }
        (all, problems)
    }

    /// Returns a problem for each attempt that is kept, and the attempts.
    pub(super) fn kept_problems(&self) -> (Vec<Kept>, Vec<Problem>) {
        let (kept, mut problems) = self.kept();
        problems.extend(kept.iter().map(|kept| kept.problem(self.root())));
        (kept, problems)
    }

    /// Returns whether an iteration has an agent's answer that waits for the journal.
    pub(super) fn is_kept(kept: &[Kept], iteration: &Iteration) -> bool {
        kept.iter().any(|kept| kept.is_of_iteration(iteration))
    }

    /// Writes an attempt to the journal that was [kept](Kept), as [`Memory::finish`] would have done in time, and
    /// removes the file. Where the journal has it already, only that.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where it belongs to a memory in another folder, [`Error::NotRecorded`] where it cannot be
    /// written now, either, and those of [`Memory::resume`].
    pub fn record_kept(&self, kept: &Kept) -> Result<Recorded> {
        let root = canonical(self.root());
        if !kept.is_of(&root) {
            let reason = format!(
                "it belongs to the memory in `{}`, and this one is in `{root}`; where the project was moved, change \
                 `root` in the file",
                kept.file.root
            );
            return Err(Error::Invalid { what: format!("`{}`", kept.path.display()), reason });
        }
        let file = &kept.file;
        let transcript = file.report.transcript.clone().unwrap_or_default();
        let iteration = match &file.which {
            Which::Begun(iteration) => (**iteration).clone(),
            Which::Named { run, number, task_id } => {
                let resume = |task_id| self.resume_at(run.as_deref(), *number, task_id, file.kept_at);
                match task_named(&transcript.text).filter(|_| task_id.is_none()) {
                    // What is open by now may be another task. Of one that nobody knows only the agent speaks.
                    Some(named) if self.knows_task(&named)? => resume(Some(&named))?,
                    Some(named) => resume(None).or_else(|_| resume(Some(&named)))?,
                    None => resume(task_id.as_deref())?,
                }
            }
        };
        let ended = Ended {
            unknown: None,
            iteration: &iteration,
            report: &file.report,
            transcript: &transcript,
            seen: file.seen.clone(),
            at: file.kept_at,
            was_kept: true,
            is_redacted: file.redacted,
        };
        match self.write_ended(&ended) {
            Ok(mut recorded) => {
                // What somebody put elsewhere is theirs.
                if self.state_folders.hold(&kept.path) {
                    recorded.problems.extend(settle(&recorded.attempt, &kept.path));
                }
                Ok(recorded)
            }
            Err(source) => Err(Error::NotRecorded {
                root: self.root().to_owned(),
                kept: kept.path.clone(),
                source: Box::new(source),
            }),
        }
    }

    /// Keeps an attempt that is being written. Of what stands in the way nothing is said: it may well be written.
    pub(super) fn keep_ahead(&self, ended: &Ended<'_>) -> Option<PathBuf> {
        if self.state_folders.0.is_empty() {
            return None;
        }
        let file = File { holder: Holder::this_process(), ..self.kept_file(ended) };
        self.state_folders.write(&file).ok()
    }

    /// Keeps an attempt whose agent has ended, for a caller who has more to do before [`Memory::finish`], such as a
    /// verification that takes minutes: whatever ends the process meanwhile, the answer is there. `finish` takes the file
    /// away. Without [folders](Memory::keeping_in), or where none can be written, nothing is kept.
    pub fn keep(&self, iteration: &Iteration, report: &Report) -> Option<PathBuf> {
        let transcript = self.transcript(report);
        self.keep_ahead(&Ended::new(iteration, report, &transcript, self.now()))
    }

    /// Returns whether a task is one that is worked on, or was.
    fn knows_task(&self, task_id: &str) -> Result<bool> {
        let is_open = self.begun()?.iter().any(|open| open.task_id() == task_id);
        Ok(is_open || !self.attempts_of_task(task_id).is_empty())
    }

    /// Returns the error of an attempt that could not be written, and is kept.
    pub(super) fn not_recorded(&self, ended: &Ended<'_>, ahead: Option<PathBuf>, source: Error) -> Error {
        if self.state_folders.0.is_empty() {
            return source;
        }
        let (root, source) = (PathBuf::from(canonical(self.root())), Box::new(source));
        let file = self.kept_file(ended);
        match (self.state_folders.write(&file), ahead) {
            (Ok(kept), ahead) => {
                // The first one may lie in another folder, which cannot be written any more.
                if let Some(ahead) = ahead.filter(|ahead| *ahead != kept) {
                    let _ = fs::remove_file(ahead);
                }
                Error::NotRecorded { root, kept, source }
            }
            (Err(_), Some(kept)) => Error::NotRecorded { root, kept, source },
            (Err(error), None) => not_kept(&file, &error, *source),
        }
    }

    fn kept_file(&self, ended: &Ended<'_>) -> File {
        let which = Which::Begun(Box::new(ended.iteration.clone()));
        let said = (ended.report, ended.transcript);
        File::new(self.root(), which, said, ended.seen.clone(), ended.at, &self.settings.allowed_secrets)
    }
}

/// Removes the file of an attempt that is in the journal now. Where the journal could not hold all of what the agent wrote
/// down, the file stays under another name.
pub(super) fn settle(attempt: &Attempt, path: &Path) -> Option<Problem> {
    if !attempt.sections.has_cut_notes() {
        return forget(path);
    }
    let renamed = path.with_extension("answer");
    let whole = if fs::rename(path, &renamed).is_ok() { &renamed } else { path };
    let message =
        "the journal has the beginning of what the agent wrote down; this file has the whole answer".to_owned();
    let hint = "put what is missing into entries of its own, and delete the file".to_owned();
    Some(Problem { code: "notes-cut".to_owned(), ..problem(whole, message, hint) })
}

fn forget(path: &Path) -> Option<Problem> {
    let error = fs::remove_file(path).err().filter(|error| error.kind() != io::ErrorKind::NotFound)?;
    let message = format!("the attempt is in the journal, and its copy cannot be removed: {error}");
    Some(problem(path, message, "delete the file".to_owned()))
}

/// Returns the command that writes a [kept](Kept) attempt to the journal of the project in `root`, as a shell takes it.
///
/// ```
/// use std::path::Path;
/// use ralph_memory::memory::record_command;
/// let command = record_command(Path::new("/src/my app"), Path::new("/home/me/1.json"));
/// assert_eq!(command, "ralph-memory --root '/src/my app' record /home/me/1.json");
/// ```
pub fn record_command(root: &Path, file: &Path) -> String {
    let quoted = |path: &Path| {
        let path = path.to_string_lossy().into_owned();
        shlex::try_quote(&path).map_or_else(|_| path.clone(), Cow::into_owned)
    };
    format!("ralph-memory --root {} record {}", quoted(root), quoted(file))
}

fn not_kept(file: &File, error: &Error, source: Error) -> Error {
    let reason = std::error::Error::source(error).map_or_else(String::new, |reason| format!(": {reason}"));
    let text = serde_json::to_string(file).unwrap_or_default();
    Error::NotKept {
        root: file.root.clone().into(),
        text,
        reason: format!("{error}{reason}"),
        source: Box::new(source),
    }
}

/// Returns the task that an agent said last that it had done, or failed.
fn task_named(text: &str) -> Option<String> {
    let said = sigil::tokens(text).sigils.into_iter().rev().find_map(|(_, sigil)| match sigil {
        Sigil::Done(id) | Sigil::Failed(id) => Some(id),
        _ => None,
    });
    said.filter(|id| check_name("task id", id).is_ok())
}

fn problem(path: &Path, message: String, hint: String) -> Problem {
    Problem {
        path: path.display().to_string(),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "not-recorded".to_owned(),
        message: message.into(),
        hint: hint.into(),
    }
}

/// Returns how a folder is called whatever leads there. What cannot be looked up has its own name.
fn canonical(root: &Path) -> String {
    fs::canonicalize(root).unwrap_or_else(|_| root.to_owned()).to_string_lossy().into_owned()
}

/// Returns how the names of the files of a memory begin.
fn prefix(root: &str) -> String {
    format!("{:016x}-", xxh3_64(root.as_bytes()))
}

fn check_tree(tree: Option<&str>) -> Result<()> {
    if tree.is_none_or(is_tree) {
        return Ok(());
    }
    Err(Error::Invalid { what: "tree".to_owned(), reason: "it is not a git object's name".to_owned() })
}
