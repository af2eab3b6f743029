//! The end of an iteration: what its agent said becomes knowledge and one entry of the journal.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::Memory;
use super::agent_output::{event_of, knowledge_of};
use super::kept::settle;
use super::kept_file::Seen;
use super::outside::State;
use super::refusal::{is_of_agent, is_of_one, notes_with, told};
use super::runs::Iteration;
use super::write::{Action, Added};
use crate::entry::knowledge::Knowledge;
use crate::entry::path::{MEMORY_FOLDER, display_path, memory_relative};
use crate::entry::{Attempt, AttemptHead, Files, Id, Outcome, Sections, Source};
use crate::error::{Error, Problem, Result, Severity};
use crate::history::{
    CompletedReport, Report, Validated, completed_report, error_category, outcome, sections, transcript_problems,
};
use crate::journal::{
    IterationView, attempt_at, check_name, check_number, check_run_name, recorded_before, write_attempt,
};
use crate::sigil::{self, Refused, SUGGESTIONS_HEADING, Said};
use crate::store::Lock;
use crate::strategy::Models;
use crate::text::shorten;
use crate::transcript::{Format, Transcript};
use crate::workspace::Work;

/// How much of a task's title stands in the message of a commit, in characters.
const COMMIT_TITLE: usize = 200;

/// What [`Memory::finish`] wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    /// The entry in the journal.
    pub id: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// How the attempt ended.
    pub outcome: Outcome,
    /// The knowledge that was written down, in the order in which it was said.
    pub knowledge: Vec<Added>,
    /// What the agent said in a way that could not be taken over; its next context tells it.
    pub refused: Vec<String>,
    /// What the entry in the journal says.
    pub attempt: Attempt,
    /// What happened on the way that a person should look at.
    pub problems: Vec<Problem>,
}

impl Recorded {
    /// Returns the attempt as the views of the journal have it.
    pub fn view(&self) -> IterationView {
        IterationView::new(self.id.clone(), self.path.clone(), self.attempt.clone())
    }
}

/// An attempt whose agent has ended, with all that is known of it.
pub(super) struct Ended<'a> {
    pub(super) iteration: &'a Iteration,
    /// As the caller gave it.
    pub(super) report: &'a Report,
    pub(super) transcript: &'a Transcript,
    pub(super) seen: Seen,
    /// Why git saw nothing, where it should have.
    pub(super) unknown: Option<Problem>,
    /// When.
    pub(super) at: DateTime<Utc>,
    /// Whether it comes from a file, which may have been left behind by a call that got to the journal.
    pub(super) was_kept: bool,
    /// Whether secrets were taken out of the text.
    pub(super) is_redacted: bool,
}

impl<'a> Ended<'a> {
    /// Returns an attempt whose agent has just ended, before anybody asked git.
    pub(super) fn new(
        iteration: &'a Iteration,
        report: &'a Report,
        transcript: &'a Transcript,
        at: DateTime<Utc>,
    ) -> Ended<'a> {
        let seen = Seen::default();
        Ended { iteration, report, transcript, seen, unknown: None, at, was_kept: false, is_redacted: false }
    }

    /// Refuses knowledge that a secret was taken out of, as it would have been refused with the secret.
    fn without_secret(&self, noted: Knowledge) -> Result<Knowledge> {
        let mark = |text: &str| text.contains("[redacted: ");
        if self.is_redacted
            && (mark(&noted.title)
                || mark(&noted.body)
                || noted.tags.iter().chain(&noted.questions).any(|text| mark(text)))
        {
            let reason = "it held what looks like a secret; leave it out".to_owned();
            return Err(Error::Invalid { what: "knowledge".to_owned(), reason });
        }
        Ok(noted)
    }

    /// Returns the files that the iteration had to do with.
    fn files(&self, report: &Report, said: &Said) -> Files {
        let (seen, by_tools) = (&self.seen, &self.transcript.files);
        let mut files = report.files.clone();
        extend(&mut files.relevant, said.failure.as_ref().map(|report| report.files.clone()).unwrap_or_default());
        extend(&mut files.created, seen.created.clone());
        extend(&mut files.modified, seen.modified.clone());
        // What git saw is sure; a tool may write a file anew that was there.
        let is_new = |path: &&String| !files.modified.contains(path);
        let created: Vec<String> = by_tools.created.iter().filter(is_new).cloned().collect();
        extend(&mut files.created, created);
        extend(&mut files.modified, by_tools.modified.clone());
        extend(&mut files.read, by_tools.read.clone());
        // A file that was made here is not one that was changed here as well, nor is what was changed only read.
        let Files { created, modified, read, .. } = &mut files;
        modified.retain(|path| !created.contains(path));
        read.retain(|path| !created.contains(path) && !modified.contains(path));
        files
    }
}

impl Memory {
    /// Ends an iteration: writes down the knowledge in the agent's text, and one entry of the journal.
    ///
    /// An iteration that is finished for the second time, or was taken for interrupted meanwhile, gets
    /// an entry of its own, under the run's next number.
    ///
    /// With [`Memory::keeping_in`], an attempt that cannot be written is kept in a file outside of the project, from
    /// which [`Memory::record_kept`] writes it later.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the iteration's ids are none. [`Error::NotRecorded`], with the file, where the lock or
    /// the file system stands in the way, [`Error::NotKept`] where that cannot be written, either, and without
    /// folders for it [`Error::Locked`] and [`Error::Io`] themselves. Then there is no entry in the journal, and the
    /// call can be made again: knowledge that was written is found as it is. What concerns one fact alone, such as
    /// an entry that cannot be edited, is in [`Recorded::refused`], and that fact stands in the notes of the journal's
    /// entry.
    pub fn finish(&self, iteration: &Iteration, report: &Report) -> Result<Recorded> {
        check_run_name(&iteration.run_id)?;
        check_name("task id", &iteration.task_id())?;
        check_number(iteration.number)?;
        let transcript = self.transcript(report);
        let mut ended = Ended::new(iteration, report, &transcript, self.now());
        let Some(kept) = self.keep_ahead(&ended) else {
            (ended.seen, ended.unknown) = self.seen(iteration);
            return self.write_ended(&ended).map_err(|error| self.not_recorded(&ended, None, error));
        };
        // A bug must not cost an attempt, nor leave its user without a word of where it is.
        let written = catch_unwind(AssertUnwindSafe(|| {
            (ended.seen, ended.unknown) = self.seen(iteration);
            self.write_ended(&ended)
        }));
        match written.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))) {
            Ok(mut recorded) => {
                recorded.problems.extend(settle(&recorded.attempt, &kept));
                Ok(recorded)
            }
            Err(error) => Err(self.not_recorded(&ended, Some(kept), error)),
        }
    }

    /// Returns the files that an iteration made or changed until now: what git saw, and what the agent's tools did.
    pub fn changed_files(&self, iteration: &Iteration, report: &Report) -> Vec<String> {
        let transcript = self.transcript(report);
        let mut ended = Ended::new(iteration, report, &transcript, self.now());
        (ended.seen, ended.unknown) = self.seen(iteration);
        let files = ended.files(report, &Said::default());
        files.created.into_iter().chain(files.modified).collect()
    }

    /// Writes an attempt down of which nothing more is to be found out.
    pub(super) fn write_ended(&self, ended: &Ended<'_>) -> Result<Recorded> {
        let Ended { iteration, transcript, .. } = *ended;
        let CompletedReport { report, ended: by_client } =
            &completed_report(ended.report, transcript, &iteration.model);
        // What is a file that the agent printed, and what it said itself, only who knows the format can tell.
        let own = if transcript.format == Format::Unknown { "" } else { &transcript.text };
        let mut said = sigil::read(own, &iteration.task_id());
        let outcome = outcome(&said, report, *by_client);
        // Where nobody asked for suggestions, nothing is said of bad ones.
        let is_told = |refused: &&Refused| self.settings.events_from_output || refused.name != SUGGESTIONS_HEADING;
        let mut refused: Vec<(u32, String)> =
            said.refused.iter().filter(is_told).map(|refused| (refused.line, refused.to_string())).collect();
        said.next_model = said.next_model.take().and_then(|name| match self.model_named(&name) {
            Ok(model) => Some(model),
            Err(reason) => {
                refused.push((u32::MAX, reason));
                None
            }
        });
        let mut problems = transcript_problems(transcript, report, outcome);
        let mut knowledge = Vec::new();
        let mut left_over = Vec::new();
        // The journal is committed, and nobody else has this folder.
        let folder = format!("{}/", self.root().display());
        let told = |error: &Error| told(error).replace(&folder, "");
        let mut note = |line: u32, place: String, noted: Result<Knowledge>| {
            let added = noted.and_then(|noted| ended.without_secret(noted)).and_then(|noted| {
                self.add_unembedded(&noted).inspect_err(|error| {
                    let of_file = is_of_one(error) && !is_of_agent(error);
                    left_over.extend(of_file.then(|| (noted, told(error))));
                })
            });
            match added {
                Ok(mut added) => {
                    problems.append(&mut added.problems);
                    knowledge.push(added);
                    Ok(())
                }
                Err(error) if is_of_one(&error) => {
                    refused.push((line, format!("{place}: {}", told(&error))));
                    Ok(())
                }
                Err(error) => Err(error),
            }
        };
        for noted in &said.knowledge {
            note(noted.line, format!("line {}: <{}>", noted.line, noted.name), Ok(knowledge_of(noted, iteration)))?;
        }
        for suggestion in said.suggestions.iter().filter(|_| self.settings.events_from_output) {
            let noted = event_of(suggestion, iteration).and_then(|event| event.to_knowledge());
            let place = format!("line {}: {SUGGESTIONS_HEADING} entry {}", suggestion.line, suggestion.number);
            note(suggestion.line, place, noted)?;
        }
        said.notes = notes_with(said.notes.take(), &left_over);
        refused.sort_by_key(|(line, _)| *line);
        let refused: Vec<String> = refused.into_iter().map(|(_, refused)| refused).collect();
        let files = ended.files(report, &said);
        problems.extend(ended.unknown.clone());
        let head = AttemptHead {
            section: iteration.task.section.clone(),
            error_category: error_category(&said, outcome),
            model: report.model.clone().or_else(|| Some(iteration.model.clone()).filter(|model| !model.is_empty())),
            model_rationale: rationale(iteration, report),
            tree: ended.seen.tree.clone(),
            difficulty: said.difficulty,
            next_model: said.next_model.clone(),
            duration_secs: report.duration_secs.or_else(|| seconds_since(iteration, ended.at)),
            cost_usd: report.cost_usd,
            tokens_in: report.tokens_in,
            tokens_out: report.tokens_out,
            files,
            validation: report.validation.as_ref().map(Validated::to_validation),
            context: iteration.entries.clone(),
            refused,
            ..AttemptHead::new(iteration.number, outcome)
        };
        let sections = sections(said, report, &transcript.text, outcome, &self.settings.allowed_secrets);
        // Others need not wait while it is made fit to be written.
        let attempt = attempt(iteration, head, sections).prepared(&self.settings.allowed_secrets);
        let lock = self.lock_entries()?;
        let pending = self.begin_write();
        let (path, attempt) = match ended.was_kept.then(|| recorded_before(&self.workspace, &attempt)).flatten() {
            Some(known) => known,
            None => write_attempt(&self.workspace, &lock, attempt)?,
        };
        problems.extend(lock.settled(&[self.store.memory().join(&path)]));
        // The journal has it: the call is done, and a second one would write it once more.
        problems.extend(self.close(&lock, iteration).err().map(|error| still_open(iteration, &error)));
        self.commit_written(pending, &path);
        problems.extend(self.commit_to_git(&lock, &attempt));
        // What follows may wait for a server, and nobody should have to wait for that.
        drop(lock);
        let new = knowledge.iter().filter(|added| added.action != Action::Unchanged);
        let written: Vec<String> =
            new.map(|added| memory_relative(&added.path).to_owned()).chain([path.clone()]).collect();
        problems.extend(self.embed_written(&written));
        let id = Id::of_path(&path).ok_or_else(|| Error::OutsideRoot { path: path.clone().into() })?;
        // Those of the file: what the agent said there may be a secret as well.
        let refused = attempt.head.refused.clone();
        Ok(Recorded { id, path: display_path(&path), outcome, knowledge, refused, attempt, problems })
    }

    /// Commits the files of the memory, where the settings ask for it. Returns why that was not possible:
    /// they are written all the same.
    fn commit_to_git(&self, _lock: &Lock, attempt: &Attempt) -> Option<Problem> {
        if self.settings.git_commit != crate::settings::CommitPolicy::EachIteration {
            return None;
        }
        let head = &attempt.head;
        let title = shorten(&attempt.task_title, COMMIT_TITLE);
        let message =
            format!("Iteration {} of {}: {}\n\n{title}\n", head.iteration, attempt.run_id, head.outcome.as_str());
        let work_tree = self.work_tree()?;
        let _asking = self.doing(Work::AskingGit, None);
        let scratch = self.scratch();
        let scratch = scratch.map_err(|source| Error::Io { action: "create", path: self.store.state(), source });
        let error = scratch.and_then(|scratch| work_tree.commit(&scratch, &message, &["cache", "state"])).err()?;
        Some(Problem {
            path: MEMORY_FOLDER.to_owned(),
            line: None,
            column: None,
            severity: Severity::Warning,
            code: "not-committed".to_owned(),
            message: format!("the memory is not committed: {error}").into(),
            hint: "it is committed with the next iteration, or commit it yourself".into(),
        })
    }

    /// Writes down that an iteration was begun and never finished; where it is in the journal already,
    /// and only its trace in `state/` was left, that is removed.
    pub(super) fn interrupt(&self, lock: &Lock, iteration: &Iteration) -> Result<()> {
        let written = attempt_at(&self.workspace, &iteration.journal_path());
        let is_it = |attempt: &Attempt| {
            attempt.task_id.as_deref() == Some(&iteration.task_id()) && attempt.started_at == iteration.started_at
        };
        if !written.as_ref().is_some_and(is_it) {
            let head = AttemptHead {
                section: iteration.task.section.clone(),
                model: Some(iteration.model.clone()).filter(|model| !model.is_empty()),
                model_rationale: Some(iteration.rationale.clone()).filter(|rationale| !rationale.is_empty()),
                context: iteration.entries.clone(),
                ..AttemptHead::new(iteration.number, Outcome::Interrupted)
            };
            write_attempt(&self.workspace, lock, attempt(iteration, head, Sections::default()))?;
        }
        self.close(lock, iteration)
    }

    /// Returns the tree as it is now, with the files that git saw change since the iteration began, and, of an
    /// iteration that began with a tree, why there is none now.
    fn seen(&self, iteration: &Iteration) -> (Seen, Option<Problem>) {
        let (state, unknown) = match self.state_of_files() {
            Ok(state) => (state, None),
            Err(problem) => (None, Some(*problem).filter(|_| iteration.tree.is_some())),
        };
        let mut seen = Seen::default();
        if let (Some(State { tree, work_tree, scratch }), Some(before)) = (&state, &iteration.tree)
            && let Ok(changes) = work_tree.changes(scratch, before, tree)
        {
            seen.created = changes.created;
            seen.modified = changes.modified.into_iter().chain(changes.deleted).collect();
        }
        seen.tree = state.map(|state| state.tree);
        (seen, unknown)
    }

    fn model_named(&self, name: &str) -> std::result::Result<String, String> {
        let models = &self.settings.models;
        let model = Models::new(models).and_then(|models| models.named(name)).map(str::to_owned);
        model.ok_or_else(|| format!("<next-model> names `{name}`, which is none of {}", models.join(", ")))
    }
}

/// Adds the paths that are not in a list yet.
fn extend(list: &mut Vec<String>, paths: Vec<String>) {
    for path in paths {
        if !list.contains(&path) {
            list.push(path);
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
    Error::Panicked { message: message.unwrap_or_else(|| "it does not say how".to_owned()) }
}

/// Says that an iteration which is in the journal is listed as begun still.
fn still_open(iteration: &Iteration, error: &Error) -> Problem {
    Problem {
        path: display_path(&iteration.state_path()),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "still-open".to_owned(),
        message: format!("the iteration is in the journal, and is listed as begun still: {}", told(error)).into(),
        hint: "delete the file".into(),
    }
}

/// Returns why the model was taken; nothing of another model than the one that was chosen.
fn rationale(iteration: &Iteration, report: &Report) -> Option<String> {
    let is_chosen = report.model.as_ref().is_none_or(|model| *model == iteration.model);
    Some(iteration.rationale.clone()).filter(|rationale| is_chosen && !rationale.is_empty())
}

fn seconds_since(iteration: &Iteration, now: chrono::DateTime<chrono::Utc>) -> Option<f64> {
    let seconds = u32::try_from((now - iteration.started_at).num_seconds()).ok()?;
    Some(f64::from(seconds))
}

fn attempt(iteration: &Iteration, head: AttemptHead, sections: Sections) -> Attempt {
    Attempt {
        run_id: iteration.run_id.clone(),
        task_id: Some(iteration.task_id()),
        task_title: iteration.task.title.clone(),
        feature: iteration.task.feature.clone(),
        source: Source::Agent,
        started_at: iteration.started_at,
        head,
        sections,
    }
}
