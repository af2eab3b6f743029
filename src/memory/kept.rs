//! Attempts that are not in the journal yet, each kept in a file outside of the project.
//!
//! [`Memory::finish`] writes the file before it touches the memory, and removes it behind the journal's entry. So an
//! attempt outlives whatever happens in between: a full disk, a lock that stays taken, a `.ralph/` that is gone, a kill.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::finish::{Ended, Recorded};
use super::kept_file::{File, Kept, Which, canonical, not_kept, prefix, problem};
use super::runs::Iteration;
use super::{Holder, Memory};
use crate::entry::Attempt;
use crate::error::{Error, Problem, Result};
use crate::history::Report;
use crate::journal::{attempts_of_task, check_name};
use crate::sigil::{self, Sigil};
use crate::store::private_names;

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
        Ok(is_open || !attempts_of_task(&self.workspace, task_id).is_empty())
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

/// Returns the task that an agent said last that it had done, or failed.
fn task_named(text: &str) -> Option<String> {
    let said = sigil::tokens(text).sigils.into_iter().rev().find_map(|(_, sigil)| match sigil {
        Sigil::Done(id) | Sigil::Failed(id) => Some(id),
        _ => None,
    });
    said.filter(|id| check_name("task id", id).is_ok())
}
