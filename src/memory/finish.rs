//! The end of an iteration: what its agent said becomes knowledge and one entry of the journal.

use serde::Serialize;

use super::Memory;
use super::outside::State;
use super::runs::{Iteration, check_name, check_number, check_run_name, journal_path};
use super::said::{Known, known, transcript_problems};
use super::write::{Action, Added, MEMORY_FOLDER, shown, within};
use crate::entry::knowledge::Knowledge;
use crate::entry::{self, Attempt, AttemptHead, Event, Files, Id, Outcome, Scope, Sections, Source, Validation};
use crate::error::{Error, Problem, Result, Severity};
use crate::secret::redact;
use crate::sigil::{self, FailureReport, Noted, Refused, SUGGESTIONS_HEADING, Said, SuggestedScope, Suggestion};
use crate::store::{Created, Lock};
use crate::strategy::Models;
use crate::text::{floor, shorten};
use crate::transcript::Transcript;

/// How much of a task's title stands in the message of a commit, in characters.
const COMMIT_TITLE: usize = 200;
/// Why an attempt failed of which its agent says nothing.
const NO_REPORT: &str = "Task failed (no structured report)";
/// What kind of error it had then.
const UNKNOWN: &str = "unknown";
/// How much of the text's end is taken for its error output then, in characters.
const ERROR_OUTPUT: usize = 500;
/// How much of a reported stack trace is kept, in characters.
const STACK_TRACE: usize = 500;
/// How much of a trace is looked at before it is cut, in bytes.
const MAX_TRACE_BYTES: usize = 64 * 1024;

/// How the command went that says whether a task is done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validated {
    /// The command line.
    pub command: String,
    /// Its exit status; 0 means that the task is done.
    pub exit_code: i32,
    /// What it printed: its standard output, or, where that is empty, its error output.
    pub output: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What became of an iteration, as its caller knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// What the agent wrote, from which sigils are read: its final text, or the event stream of Claude Code or
    /// Codex, which is recognised. Not looked at where there is a `transcript`.
    pub text: String,
    /// What the agent wrote, where it was read already by a [reader](Memory::reader): an output of any length. What
    /// the other fields say counts over what it tells.
    pub transcript: Option<Transcript>,
    /// The agent's exit status, where it is known.
    pub agent_exit: Option<i32>,
    /// How it ended, where the caller knows better than the text.
    pub outcome: Option<Outcome>,
    /// The model that worked on it, where it was another than the iteration's.
    pub model: Option<String>,
    /// How verification went, where there was one.
    pub validation: Option<Validated>,
    /// How long it took, in seconds; without it, the time since it began.
    pub duration_secs: Option<f64>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many tokens the model read.
    pub tokens_in: Option<u64>,
    /// How many tokens the model wrote.
    pub tokens_out: Option<u64>,
    /// The files that it had to do with; what the agent's tools tell and git saw change is added.
    pub files: Files,
    /// What was done, in a few words.
    pub summary: String,
    /// What was decided.
    pub decisions: String,
    /// The errors that were met.
    pub errors: String,
    /// A summary of the run so far.
    pub progress: String,
    /// What a person typed.
    pub feedback: String,
}

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

impl Memory {
    /// Ends an iteration: writes down the knowledge in the agent's text, and one entry of the journal.
    ///
    /// An iteration that is finished for the second time, or was taken for interrupted meanwhile, gets
    /// an entry of its own, under the run's next number.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the iteration's ids are none, and those of [`Memory::add`]. Then there is
    /// no entry in the journal, and the call can be made again: knowledge that was written is found as it
    /// is.
    pub fn finish(&self, iteration: &Iteration, report: &Report) -> Result<Recorded> {
        check_run_name(&iteration.run_id)?;
        check_name("task id", &iteration.task_id())?;
        check_number(iteration.number)?;
        let transcript = self.transcript(report);
        let Known { report, is_failed } = &known(report, &transcript, iteration);
        let mut said = sigil::read(&transcript.text, &iteration.task_id());
        let outcome = outcome(&said, report, *is_failed);
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
        let mut problems = transcript_problems(&transcript, report, outcome);
        let mut knowledge = Vec::new();
        for noted in &said.knowledge {
            match self.add_unembedded(&knowledge_of(noted, iteration)) {
                Ok(mut added) => {
                    problems.append(&mut added.problems);
                    knowledge.push(added);
                }
                // The agent's to mend; everything else is the caller's, who still has the text.
                Err(Error::Invalid { what, reason }) => {
                    refused.push((noted.line, format!("line {}: <{}>: {what}: {reason}", noted.line, noted.name)));
                }
                Err(Error::Secret { what, line, pattern, .. }) => {
                    let place = format!("line {}: <{}>", noted.line, noted.name);
                    refused.push((noted.line, format!("{place}: {}", secret(what, line, pattern))));
                }
                Err(error) => return Err(error),
            }
        }
        for suggestion in said.suggestions.iter().filter(|_| self.settings.events_from_output) {
            let noted = event_of(suggestion, iteration).and_then(|event| event.to_knowledge());
            match noted.and_then(|event| self.add_unembedded(&event)) {
                Ok(mut added) => {
                    problems.append(&mut added.problems);
                    knowledge.push(added);
                }
                Err(Error::Invalid { what, reason }) => {
                    let place = format!("line {}: {SUGGESTIONS_HEADING} entry {}", suggestion.line, suggestion.number);
                    refused.push((suggestion.line, format!("{place}: {what}: {reason}")));
                }
                Err(Error::Secret { what, line, pattern, .. }) => {
                    let place = format!("line {}: {SUGGESTIONS_HEADING} entry {}", suggestion.line, suggestion.number);
                    refused.push((suggestion.line, format!("{place}: {}", secret(what, line, pattern))));
                }
                Err(error) => return Err(error),
            }
        }
        refused.sort_by_key(|(line, _)| *line);
        let refused: Vec<String> = refused.into_iter().map(|(_, refused)| refused).collect();
        let (tree, files, unknown) = self.changes_since(iteration, report, &transcript.files, &said);
        problems.extend(unknown);
        let head = AttemptHead {
            section: iteration.task.section.clone(),
            error_category: error_category(&said, outcome),
            model: report.model.clone().or_else(|| Some(iteration.model.clone()).filter(|model| !model.is_empty())),
            model_rationale: rationale(iteration, report),
            tree,
            difficulty: said.difficulty,
            next_model: said.next_model.clone(),
            duration_secs: report.duration_secs.or_else(|| seconds_since(iteration, self.now())),
            cost_usd: report.cost_usd,
            tokens_in: report.tokens_in,
            tokens_out: report.tokens_out,
            files,
            validation: report.validation.as_ref().map(|validated| Validation {
                command: validated.command.clone(),
                exit_code: validated.exit_code,
                duration_ms: validated.duration_ms,
            }),
            context: iteration.entries.clone(),
            refused,
            ..AttemptHead::new(iteration.number, outcome)
        };
        let sections = sections(said, report, &transcript.text, outcome, &self.settings.allowed_secrets);
        // Others need not wait while it is made fit to be written.
        let attempt = attempt(iteration, head, sections).prepared(&self.settings.allowed_secrets);
        let lock = self.lock_entries()?;
        let pending = self.begin_write();
        let (path, attempt) = self.write_attempt(&lock, attempt)?;
        problems.extend(lock.settled(&[self.store.memory().join(&path)]));
        // The journal has it: the call is done, and a second one would write it once more.
        problems.extend(self.close(&lock, iteration).err().map(|error| still_open(iteration, &error)));
        self.commit_written(pending, &path);
        problems.extend(self.commit_to_git(&lock, &attempt));
        // What follows may wait for a server, and nobody should have to wait for that.
        drop(lock);
        let new = knowledge.iter().filter(|added| added.action != Action::Unchanged);
        let written: Vec<String> = new.map(|added| within(&added.path).to_owned()).chain([path.clone()]).collect();
        problems.extend(self.embed_written(&written));
        let id = Id::of_path(&path).ok_or_else(|| Error::OutsideRoot { path: path.clone().into() })?;
        // Those of the file: what the agent said there may be a secret as well.
        let refused = attempt.head.refused.clone();
        Ok(Recorded { id, path: shown(&path), outcome, knowledge, refused, attempt, problems })
    }

    /// Commits the files of the memory, where the settings ask for it. Returns why that was not possible:
    /// they are written all the same.
    fn commit_to_git(&self, _lock: &Lock, attempt: &Attempt) -> Option<Problem> {
        if self.settings.git_commit != "each-iteration" {
            return None;
        }
        let head = &attempt.head;
        let title = shorten(&attempt.task_title, COMMIT_TITLE);
        let message =
            format!("Iteration {} of {}: {}\n\n{title}\n", head.iteration, attempt.run_id, head.outcome.as_str());
        let work_tree = self.work_tree()?;
        let scratch = self.store.make_scratch();
        let scratch = scratch.map_err(|source| Error::Io { action: "create", path: self.store.state(), source });
        let error = scratch.and_then(|scratch| work_tree.commit(&scratch, &message, &["cache", "state"])).err()?;
        Some(Problem {
            path: MEMORY_FOLDER.to_owned(),
            line: None,
            column: None,
            severity: Severity::Warning,
            code: "not-committed".to_owned(),
            message: format!("the memory is not committed: {error}"),
            hint: "it is committed with the next iteration, or commit it yourself".to_owned(),
        })
    }

    /// Writes down that an iteration was begun and never finished; where it is in the journal already,
    /// and only its trace in `state/` was left, that is removed.
    pub(super) fn interrupt(&self, lock: &Lock, iteration: &Iteration) -> Result<()> {
        let written = self.store.read(&iteration.journal_path()).ok();
        let written = written.and_then(|file| Attempt::of(&entry::read(&iteration.journal_path(), &file.bytes)));
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
            self.write_attempt(lock, attempt(iteration, head, Sections::default()))?;
        }
        self.close(lock, iteration)
    }

    /// Writes an attempt under its number, or, where that is taken, the next free one.
    fn write_attempt(&self, lock: &Lock, mut attempt: Attempt) -> Result<(String, Attempt)> {
        loop {
            let prepared = attempt.prepared(&self.settings.allowed_secrets);
            let path = journal_path(&attempt.run_id, prepared.head.iteration);
            if self.store.create(lock, &path, prepared.to_file().as_bytes())? == Created::Made {
                return Ok((path, prepared));
            }
            let next = self.next_number(&attempt.run_id)?;
            attempt.head.iteration = next.max(attempt.head.iteration.saturating_add(1));
            check_number(attempt.head.iteration)?;
        }
    }

    /// Returns the tree as it is now, the files that the iteration had to do with, and, of an iteration that began
    /// with a tree, why there is none now.
    fn changes_since(
        &self,
        iteration: &Iteration,
        report: &Report,
        by_tools: &Files,
        said: &Said,
    ) -> (Option<String>, Files, Option<Problem>) {
        let mut files = report.files.clone();
        extend(&mut files.relevant, said.failure.as_ref().map(|report| report.files.clone()).unwrap_or_default());
        let (state, unknown) = match self.state_of_files() {
            Ok(state) => (state, None),
            Err(problem) => (None, Some(*problem).filter(|_| iteration.tree.is_some())),
        };
        if let (Some(State { tree, work_tree, scratch }), Some(before)) = (&state, &iteration.tree)
            && let Ok(changes) = work_tree.changes(scratch, before, tree)
        {
            extend(&mut files.created, changes.created);
            extend(&mut files.modified, changes.modified.into_iter().chain(changes.deleted).collect());
        }
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
        (state.map(|state| state.tree), files, unknown)
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

/// Returns how an attempt ended.
fn outcome(said: &Said, report: &Report, is_failed: bool) -> Outcome {
    let is_verified = report.validation.as_ref().is_none_or(|validated| validated.exit_code == 0);
    match (report.outcome, said.outcome) {
        (None, Some(Outcome::Done)) if !is_verified => Outcome::Retried,
        (Some(outcome), _) | (None, Some(outcome)) => outcome,
        (None, None) if is_failed || report.agent_exit.is_some_and(|exit| exit != 0) => Outcome::Error,
        (None, None) => Outcome::Blocked,
    }
}

/// Says that knowledge held a secret. No fingerprint: the journal is committed, and of a weak password it would
/// tell whether a guess is right.
fn secret(what: &str, line: u32, pattern: &str) -> String {
    format!("{what}, line {line}: this looks like a secret: {pattern}; leave it out")
}

/// Says that an iteration which is in the journal is listed as begun still.
fn still_open(iteration: &Iteration, error: &Error) -> Problem {
    let reason = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    Problem {
        path: shown(&iteration.state_path()),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "still-open".to_owned(),
        message: format!("the iteration is in the journal, and is listed as begun still: {error}{reason}"),
        hint: "delete the file".to_owned(),
    }
}

fn error_category(said: &Said, outcome: Outcome) -> Option<String> {
    let reported = said.failure.as_ref().map(|report| report.category.clone());
    reported.or_else(|| (outcome.is_success() == Some(false)).then(|| UNKNOWN.to_owned()))
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

fn sections(said: Said, report: &Report, text: &str, outcome: Outcome, allowed: &[String]) -> Sections {
    let failure = said.failure.unwrap_or_else(|| minimal_report(text, outcome, allowed));
    // Before it is cut, which could leave half of a secret.
    let trace = failure.stack_trace.map(|trace| redact(&trace[..floor(&trace, MAX_TRACE_BYTES)], allowed));
    Sections {
        notes: said.notes.unwrap_or_default(),
        summary: report.summary.clone(),
        tried: failure.tried,
        why: failure.why,
        error_output: trace.map(|trace| trace.chars().take(STACK_TRACE).collect()).unwrap_or_default(),
        retry_suggestion: said.retry_suggestion.unwrap_or_default(),
        decisions: report.decisions.clone(),
        errors: report.errors.clone(),
        validation_output: report.validation.as_ref().map(|validated| validated.output.clone()).unwrap_or_default(),
        progress: report.progress.clone(),
        feedback: report.feedback.clone(),
    }
}

/// Returns what is known of a failure of which the agent says nothing.
fn minimal_report(text: &str, outcome: Outcome, allowed: &[String]) -> FailureReport {
    let mut report = FailureReport {
        tried: String::new(),
        why: String::new(),
        category: UNKNOWN.to_owned(),
        files: Vec::new(),
        stack_trace: None,
    };
    if outcome.is_success() == Some(false) {
        NO_REPORT.clone_into(&mut report.why);
        let text = text.trim_end();
        let text = redact(&text[floor(text, text.len().saturating_sub(MAX_TRACE_BYTES))..], allowed);
        let start = text.char_indices().rev().nth(ERROR_OUTPUT - 1).map_or(0, |(at, _)| at);
        report.stack_trace = Some(text[start..].to_owned());
    }
    report
}

fn knowledge_of(noted: &Noted, iteration: &Iteration) -> Knowledge {
    Knowledge {
        category: noted.category.clone(),
        feature: iteration.task.feature.clone(),
        source: Source::Agent,
        task_id: Some(iteration.task_id()),
        run_id: Some(iteration.run_id.clone()),
        ..Knowledge::new(noted.title.clone(), noted.tags.clone(), noted.body.clone())
    }
}

/// Returns the event that an agent suggests, its scope completed with the ids of the task.
fn event_of(suggestion: &Suggestion, iteration: &Iteration) -> Result<Event> {
    let task = &iteration.task;
    let of = |name: &str, id: &Option<String>, scope: fn(String) -> Scope| {
        let reason = format!("the task has no {name}");
        id.clone().map(scope).ok_or(Error::Invalid { what: "scope".to_owned(), reason })
    };
    let scope = match suggestion.scope {
        SuggestedScope::Task => Scope::Task(iteration.task_id()),
        SuggestedScope::Section => of("section", &task.section, Scope::Section)?,
        SuggestedScope::Feature => of("feature", &task.feature, Scope::Feature)?,
        SuggestedScope::Project => Scope::Project,
    };
    Ok(Event {
        tags: suggestion.tags.clone(),
        scope,
        source: Source::Agent,
        importance: suggestion.importance,
        feature: task.feature.clone(),
        task_id: Some(iteration.task_id()),
        run_id: Some(iteration.run_id.clone()),
        details: suggestion.details.clone(),
        ..Event::new(&suggestion.event, &suggestion.summary)
    })
}
