//! Records what an agent's message says in a session without a loop.
//!
//! Knowledge becomes entries. A message that ends a task, or reports a failure, becomes one attempt of each task that it
//! names. Servers are not asked, so that nobody waits for them: the next command embeds what was written.

use chrono::{DateTime, Utc};

use super::begun::begun;
use super::contributions::{event_of, knowledge_of};
use super::ended::EndedAttempt;
use super::finish::reader;
use super::iteration::Iteration;
use super::record::{Contributions, record, refused};
use super::resume::{known_task, new_run, recent_run};
use crate::context::Task;
use crate::entry::knowledge::Knowledge;
use crate::entry::{Files, Outcome};
use crate::error::{Error, Problem, Result};
use crate::history::Report;
use crate::journal::{check_name, next_number};
use crate::semantic::SemanticMemory;
use crate::settings::Settings;
use crate::sigil::{self, SUGGESTIONS_HEADING, Sigil, SuggestedScope};
use crate::text::first_sentence;
use crate::transcript::Format;
use crate::workspace::Workspace;

/// The longest title of a task that a failure report gives its name, in characters.
const MAX_TITLE: usize = 120;
/// How many tasks one message may end.
const MAX_TASKS: usize = 20;

/// A message of an agent in a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionMessage {
    /// The run that new attempts belong to; the default is the active one.
    pub run: Option<String>,
    pub text: String,
    /// The model that wrote it, if known.
    pub model: Option<String>,
    /// When it was written.
    pub at: DateTime<Utc>,
    /// Whether secrets were removed from the text.
    pub is_redacted: bool,
    /// Whether it comes from a file, which a call may have left behind after it recorded the message.
    pub was_kept: bool,
}

/// The result of a recorded message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RecordedMessage {
    /// How many attempts are in the journal.
    pub n_attempts: usize,
    /// The refused sigils, and the reasons.
    pub refused: Vec<String>,
    pub problems: Vec<Problem>,
}

/// The work of a session, from its transcript.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionWork {
    /// The run that the attempt belongs to; the default is the active one.
    pub run: Option<String>,
    /// What the person asked for.
    pub title: String,
    /// What the transcript contains; the text's sigils count.
    pub report: Report,
    /// When the session ended.
    pub at: DateTime<Utc>,
}

/// Returns whether a message has anything to record, or to refuse.
pub(crate) fn says_anything(text: &str) -> bool {
    let tokens = sigil::tokens(text);
    !tokens.sigils.is_empty() || !tokens.refused.is_empty()
}

/// Records a message. It can be recorded again after an error or a kill: what is written already stays as it is.
///
/// # Errors
///
/// [`Error::Locked`] and [`Error::Io`]. What concerns one fact alone is in [`RecordedMessage::refused`].
pub(crate) fn record_message(workspace: &Workspace, message: &SessionMessage) -> Result<RecordedMessage> {
    let tasks = Tasks::of(&message.text);
    let mut recorded = RecordedMessage { refused: tasks.refused, ..RecordedMessage::default() };
    let Some((last, others)) = tasks.named.split_last() else {
        if tasks.has_failure {
            let iteration = failed_iteration(workspace, message)?;
            let report = Report { outcome: Some(Outcome::Failed), ..Report::default() };
            return recorded.with_attempt(workspace, message, &iteration, report, &message.text);
        }
        return record_facts(workspace, message, recorded);
    };
    let mut text = message.text.clone();
    for (task, outcome) in others {
        let iteration = iteration_of(workspace, message.run.as_deref(), task, message.at)?;
        let report = Report { outcome: Some(*outcome), ..Report::default() };
        recorded = recorded.with_attempt(workspace, message, &iteration, report, "")?;
        // The rest of the message belongs to the last task that it names, which does not refuse these.
        for name in ["task-done", "task-failed"] {
            text = text.replace(&format!("<{name}>{task}</{name}>"), "");
        }
    }
    let iteration = iteration_of(workspace, message.run.as_deref(), &last.0, message.at)?;
    recorded.with_attempt(workspace, message, &iteration, Report::default(), &text)
}

/// Records the work of a session as one attempt.
///
/// # Errors
///
/// [`Error::Locked`] and [`Error::Io`].
pub(crate) fn record_work(workspace: &Workspace, work: &SessionWork) -> Result<RecordedMessage> {
    let text = work.report.transcript.as_ref().map_or("", |transcript| &transcript.text);
    let named = Tasks::of(text).named.pop();
    let id = named.map_or_else(|| Task::id_of_title(&work.title), |(id, _)| id);
    let mut iteration = iteration_of(workspace, work.run.as_deref(), &id, work.at)?;
    if iteration.task.title == id {
        iteration.task.title.clone_from(&work.title);
    }
    let transcript = work.report.transcript.clone().unwrap_or_default();
    let ended = EndedAttempt { was_kept: true, ..EndedAttempt::new(&iteration, &work.report, &transcript, work.at) };
    let recorded = record(workspace, &no_servers(workspace), &ended)?;
    Ok(RecordedMessage { n_attempts: 1, refused: recorded.refused, problems: recorded.problems })
}

impl RecordedMessage {
    /// Records an attempt with this text.
    fn with_attempt(
        mut self,
        workspace: &Workspace,
        message: &SessionMessage,
        iteration: &Iteration,
        report: Report,
        text: &str,
    ) -> Result<RecordedMessage> {
        // A message that begins like an event stream is still a message.
        let mut reader = reader(workspace, Format::Text);
        reader.push(text.as_bytes());
        let transcript = reader.finish();
        let report = Report { model: message.model.clone(), files: Files::default(), ..report };
        let ended = EndedAttempt {
            was_kept: message.was_kept,
            is_redacted: message.is_redacted,
            ..EndedAttempt::new(iteration, &report, &transcript, message.at)
        };
        let recorded = record(workspace, &no_servers(workspace), &ended)?;
        self.n_attempts += 1;
        self.refused.extend(recorded.refused);
        self.problems.extend(recorded.problems);
        Ok(self)
    }
}

/// Records the knowledge of a message that ends no task.
fn record_facts(
    workspace: &Workspace,
    message: &SessionMessage,
    mut recorded: RecordedMessage,
) -> Result<RecordedMessage> {
    let run = message.run.clone().or_else(|| recent_run(workspace)).unwrap_or_else(|| new_run(workspace).id);
    let iteration = Iteration::new(run, 1, Task::default(), message.at);
    let (report, transcript) = Default::default();
    let ended = EndedAttempt {
        is_redacted: message.is_redacted,
        ..EndedAttempt::new(&iteration, &report, &transcript, message.at)
    };
    let mut output = sigil::read(&message.text, "");
    let mut facts = Contributions { refused: refused(workspace, &mut output), ..Contributions::default() };
    let without_task = |knowledge: Knowledge| Knowledge { task_id: None, ..knowledge };
    for noted in &output.knowledge {
        let place = format!("line {}: <{}>", noted.line, noted.name);
        facts.add(workspace, &ended, (noted.line, place), Ok(without_task(knowledge_of(noted, &iteration))))?;
    }
    for suggestion in output.suggestions.iter().filter(|_| workspace.settings.events_from_output) {
        let event = match suggestion.scope {
            SuggestedScope::Task => Err(Error::invalid("scope", "the message names no task")),
            _ => event_of(suggestion, &iteration).and_then(|event| event.to_knowledge()),
        };
        let place = format!("line {}: {SUGGESTIONS_HEADING} entry {}", suggestion.line, suggestion.number);
        facts.add(workspace, &ended, (suggestion.line, place), event.map(without_task))?;
    }
    facts.refused.sort_by_key(|(line, _)| *line);
    recorded.refused.extend(facts.refused.into_iter().map(|(_, refused)| refused));
    recorded.problems.extend(facts.problems);
    let of_attempts = [
        ("journal", output.notes.is_some()),
        ("retry-suggestion", output.retry_suggestion.is_some()),
        ("difficulty-estimate", output.difficulty.is_some()),
        ("next-model", output.next_model.is_some()),
    ];
    let lonely = of_attempts.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| {
        format!("<{name}> belongs to an attempt, and the message ends no task with <task-done> or <task-failed>")
    });
    recorded.refused.extend(lonely);
    Ok(recorded)
}

/// What a message says of tasks.
#[derive(Default)]
struct Tasks {
    /// The tasks that it ends, by the place of the last mention.
    named: Vec<(String, Outcome)>,
    /// Whether it reports a failure.
    has_failure: bool,
    refused: Vec<String>,
}

impl Tasks {
    fn of(text: &str) -> Tasks {
        let mut tasks = Tasks::default();
        for (line, sigil) in sigil::tokens(text).sigils {
            let (id, outcome) = match sigil {
                Sigil::Done(id) => (id, Outcome::Done),
                Sigil::Failed(id) => (id, Outcome::Failed),
                Sigil::FailureReport(_) => {
                    tasks.has_failure = true;
                    continue;
                }
                _ => continue,
            };
            if let Err(error) = check_name("task id", &id) {
                tasks.refused.push(format!("line {line}: {error}"));
                continue;
            }
            tasks.named.retain(|(known, _)| *known != id);
            tasks.named.push((id, outcome));
        }
        if let Some(more) = tasks.named.len().checked_sub(MAX_TASKS).filter(|more| *more > 0) {
            tasks.named.drain(..more);
            tasks.refused.push(format!("the message ends {more} more tasks; one message has at most {MAX_TASKS}"));
        }
        tasks
    }
}

/// Returns the iteration that a message ends: the open one of the task, unless a loop works on it, else a new one.
fn iteration_of(workspace: &Workspace, run: Option<&str>, task_id: &str, at: DateTime<Utc>) -> Result<Iteration> {
    let is_free = |open: &Iteration| open.holder.is_none() && open.agent.is_none();
    let open = begun(workspace)?.into_iter().rfind(|open| open.task_id() == task_id && is_free(open));
    if let Some(open) = open {
        return Ok(open);
    }
    let run = run.map(str::to_owned).or_else(|| recent_run(workspace)).unwrap_or_else(|| new_run(workspace).id);
    let number = next_number(workspace, &run)?;
    let (task, n_attempts) = known_task(workspace, task_id);
    Ok(Iteration { attempt: n_attempts + 1, is_unmeasured: true, ..Iteration::new(run, number, task, at) })
}

/// Returns the iteration of a failure report that names no task: the only open one, else a new one of a task that is
/// called by what was tried.
fn failed_iteration(workspace: &Workspace, message: &SessionMessage) -> Result<Iteration> {
    let mut open = begun(workspace)?;
    open.retain(|open| open.holder.is_none() && open.agent.is_none());
    if let [_] = open[..] {
        return Ok(open.remove(0));
    }
    let tried = sigil::tokens(&message.text).sigils.into_iter().find_map(|(_, sigil)| match sigil {
        Sigil::FailureReport(report) => Some(report.tried),
        _ => None,
    });
    let title = first_sentence(&tried.unwrap_or_default(), MAX_TITLE);
    let title = if title.trim().is_empty() { "A failure without a task".to_owned() } else { title };
    let mut iteration = iteration_of(workspace, message.run.as_deref(), &Task::id_of_title(&title), message.at)?;
    iteration.task.title = title;
    Ok(iteration)
}

/// Returns the semantic memory of a call that asks no server.
fn no_servers(workspace: &Workspace) -> SemanticMemory {
    SemanticMemory::new(&Settings::default(), workspace.root())
}
