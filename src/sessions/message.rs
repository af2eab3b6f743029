//! Records what an agent's message says in a session without a loop.
//!
//! Knowledge becomes entries. A message that ends a task, or reports a failure, becomes one attempt at each task that
//! it names. No server is contacted, so that nobody waits for one; the next command embeds what was written.

use std::ops::Range;
use std::path::PathBuf;

use chrono::{DateTime, Utc};

use super::loop_claims::{Claim, claim_of};
use crate::agent_output::elements::{self, PlacedSigil, Sigil};
use crate::agent_output::transcript::Format;
use crate::context::Task;
use crate::entry::Outcome;
use crate::error::{Problem, Result};
use crate::journal::history::{RedactedReport, Report};
use crate::recording::{
    Channel, Contributions, EndedAttempt, OpenAttempt, SessionMessage, TaskName, known_name, new_run, of_session,
    open_task, reader, recent_run, record, redacted, told_iteration,
};
use crate::search::semantic::SemanticMemory;
use crate::settings::Settings;
use crate::store::remove_private;
use crate::workspace::Workspace;

/// How many tasks one message may end.
const MAX_TASKS: usize = 20;

/// The result of a recorded message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RecordedMessage {
    /// Whether nothing was recorded, because a loop is expected to record it.
    pub waits: bool,
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
    /// What the transcript contains. The sigils in its text count.
    pub report: Report,
    /// When the session ended.
    pub at: DateTime<Utc>,
}

/// Returns whether a message has anything to record, or to refuse.
pub(crate) fn says_anything(text: &str) -> bool {
    let tokens = elements::tokens(text, false);
    !tokens.sigils.is_empty() || !tokens.refused.is_empty()
}

/// Records a message. After an error or a kill, it can be recorded again; what is already written stays as it is.
///
/// A task that a loop works on is left to the loop: see [`loop_claims`](super::loop_claims).
///
/// # Errors
///
/// [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io). Errors that concern a single fact are
/// in [`RecordedMessage::refused`].
pub(crate) fn record_message(workspace: &Workspace, message: &SessionMessage) -> Result<RecordedMessage> {
    let open = open_task(workspace, message.run.as_deref());
    let ended = EndedTasks::of(workspace, &message.text, open.as_ref());
    if ended.tasks.is_empty() {
        if ended.tried.is_none() {
            return record_facts(workspace, message, ended.refused);
        }
        let said = (message.text.as_str(), Vec::new());
        let failed = attempt_of(workspace, message, open.as_ref(), Outcome::Failed, said)?;
        return RecordedMessage::default().with(workspace, &failed);
    }
    let claim = |task: &EndedTask| claim_of(workspace, message, &task.name.id);
    let claims = ended.tasks.iter().map(claim).collect::<Result<Vec<Claim>>>()?;
    if claims.contains(&Claim::Open) {
        return Ok(RecordedMessage { waits: true, ..RecordedMessage::default() });
    }
    let mut recorded = RecordedMessage::default();
    let mut too_many = ended.too_many;
    let unclaimed = ended.tasks.iter().zip(claims).filter(|(_, claim)| *claim == Claim::None);
    for (task, _) in unclaimed {
        let said = (task.text.as_str(), too_many.take().into_iter().collect());
        let ended = attempt_of(workspace, message, Some(&task.name), task.outcome, said)?;
        recorded = recorded.with(workspace, &ended)?;
    }
    Ok(recorded)
}

/// Records the work of a session as one attempt.
///
/// # Errors
///
/// [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io).
pub(crate) fn record_work(workspace: &Workspace, work: &SessionWork) -> Result<RecordedMessage> {
    let text = work.report.transcript.as_ref().map_or("", |transcript| &transcript.text);
    let own = TaskName { id: Task::id_of_title(&work.title), title: work.title.clone() };
    let named = EndedTasks::of(workspace, text, Some(&own)).tasks.pop();
    let name = named.map_or(own, |task| task.name);
    let iteration = told_iteration(workspace, &name.task(), work.run.as_deref(), work.at)?;
    let said = redacted(workspace, &work.report)?;
    let ended = EndedAttempt { was_kept: true, ..EndedAttempt::new(iteration, said, work.at) };
    RecordedMessage::default().with(workspace, &ended)
}

impl RecordedMessage {
    /// Records an attempt.
    fn with(mut self, workspace: &Workspace, ended: &EndedAttempt) -> Result<RecordedMessage> {
        let recorded = record(workspace, &no_servers(workspace), ended)?;
        self.n_attempts += 1;
        self.refused.extend(recorded.refused);
        self.problems.extend(recorded.problems);
        Ok(self)
    }
}

/// Returns an attempt that a message reports, with this outcome and the part of the text that is about it. Parts of it
/// may already have been refused. Without a `name`, the attempt belongs to no task.
fn attempt_of(
    workspace: &Workspace,
    message: &SessionMessage,
    name: Option<&TaskName>,
    outcome: Outcome,
    (text, refused): (&str, Vec<String>),
) -> Result<EndedAttempt> {
    let task = name.map(TaskName::task).unwrap_or_default();
    let iteration = told_iteration(workspace, &task, message.run.as_deref(), message.at)?;
    // A message that begins like an event stream is still a message.
    let mut reader = reader(workspace, Format::Text);
    reader.push(text.as_bytes());
    let report = Report { outcome: Some(outcome), model: message.model.clone(), ..Report::default() };
    let mut said = report.redacted(&reader.finish(), &workspace.settings.allowed_secrets)?;
    said.is_redacted |= message.is_redacted;
    let told = Some((Channel::Message, true));
    Ok(EndedAttempt { was_kept: message.was_kept, told, refused, ..EndedAttempt::new(iteration, said, message.at) })
}

/// Records the knowledge in a message that ends no task. Parts of it may already have been `refused`.
fn record_facts(workspace: &Workspace, message: &SessionMessage, mut refused: Vec<String>) -> Result<RecordedMessage> {
    let run = message.run.clone().or_else(|| recent_run(workspace)).unwrap_or_else(|| new_run(workspace).id);
    let iteration = OpenAttempt::new(run, 1, Task::default(), message.at);
    let said = RedactedReport { is_redacted: message.is_redacted, ..RedactedReport::default() };
    let mut output = elements::read(&message.text, false);
    let facts = Contributions::of(workspace, &EndedAttempt::new(iteration, said, message.at), &mut output)?;
    refused.extend(facts.refused);
    let sections = output.sections.iter().map(|(name, _)| (*name, true));
    let others = [("difficulty-estimate", output.difficulty.is_some()), ("next-model", output.next_model.is_some())];
    let of_attempts = [("journal", output.notes.is_some())].into_iter().chain(sections).chain(others);
    refused.extend(of_attempts.filter(|(_, is_there)| *is_there).map(|(name, _)| {
        format!("<{name}> belongs to an attempt, and the message ends no task with <task-done> or <task-failed>")
    }));
    Ok(RecordedMessage { refused, problems: facts.problems, ..RecordedMessage::default() })
}

/// A task that a message ends.
#[derive(Debug, PartialEq)]
struct EndedTask {
    name: TaskName,
    outcome: Outcome,
    /// The parts of the message that are about it, each in its original line; the other lines are empty.
    text: String,
}

/// What a message says about the end of tasks.
#[derive(Debug, Default, PartialEq)]
struct EndedTasks {
    /// In the order of their last mentions.
    tasks: Vec<EndedTask>,
    /// What was tried, if it reports a failure.
    tried: Option<String>,
    /// The elements that end no task.
    refused: Vec<String>,
    /// The refusal if the message ends more tasks than it may.
    too_many: Option<String>,
}

impl EndedTasks {
    /// Cuts a message after each element that ends a task. The text before an element is about its task, and the text
    /// after the last element is about the last task. If exactly one task failed, a failure report is about that task,
    /// wherever it is. `open` is the only open task of the session.
    fn of(workspace: &Workspace, text: &str, open: Option<&TaskName>) -> EndedTasks {
        EndedTasks::cut(text, &|named| of_session(named, open, &|name| known_name(workspace, name)))
    }

    fn cut(text: &str, task_of: &dyn Fn(&str) -> std::result::Result<TaskName, String>) -> EndedTasks {
        let mut ended = EndedTasks::default();
        let mut reports: Vec<Range<usize>> = Vec::new();
        // The end of each part, and its task.
        let mut parts: Vec<(usize, String)> = Vec::new();
        for PlacedSigil { place, sigil, .. } in elements::tokens(text, false).sigils {
            let end = match sigil {
                Sigil::End(end) => end,
                Sigil::FailureReport(report) => {
                    ended.tried.get_or_insert(report.tried);
                    reports.push(place);
                    continue;
                }
                _ => continue,
            };
            match task_of(&end.named) {
                Ok(name) => {
                    parts.push((place.end, name.id.clone()));
                    ended.tasks.retain(|known| known.name.id != name.id);
                    ended.tasks.push(EndedTask { name, outcome: end.outcome, text: String::new() });
                }
                Err(reason) => ended.refused.push(end.refused(reason).to_string()),
            }
        }
        if let Some(last) = parts.last_mut() {
            last.0 = text.len();
        }
        let mut failed = ended.tasks.iter().filter(|task| task.outcome == Outcome::Failed);
        let failed = failed.next().filter(|_| failed.next().is_none()).map(|task| task.name.id.clone());
        for task in &mut ended.tasks {
            let owner = |at: usize| parts.iter().find(|(end, _)| at < *end).map(|(_, id)| id);
            let is_about = |at: usize| match &failed {
                Some(failed) if reports.iter().any(|report| report.contains(&at)) => *failed == task.name.id,
                _ => owner(at) == Some(&task.name.id),
            };
            task.text = text.char_indices().filter(|(at, c)| *c == '\n' || is_about(*at)).map(|(_, c)| c).collect();
        }
        if let Some(more) = ended.tasks.len().checked_sub(MAX_TASKS).filter(|more| *more > 0) {
            ended.tasks.drain(..more);
            ended.too_many = Some(format!("the message ends {more} more tasks; one message has at most {MAX_TASKS}"));
        }
        ended
    }
}

fn no_servers(workspace: &Workspace) -> SemanticMemory {
    SemanticMemory::new(&Settings::default(), workspace.root())
}

/// Removes the file of a message after it was recorded.
pub(super) fn remove(kept: Option<PathBuf>) {
    if let Some(path) = kept {
        // If it stays, the next hook finds everything recorded, and removes it.
        let _ = remove_private(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_behind_what_ends_a_task() {
        let check = |text: &str, expected: &[(&str, Outcome, &str)]| {
            let ended = EndedTasks::cut(text, &|named| of_session(named, None, &|_| None));
            let found: Vec<_> =
                ended.tasks.iter().map(|task| (task.name.id.as_str(), task.outcome, task.text.as_str())).collect();
            assert_eq!(found, expected, "{text}");
        };
        let (done, failed) = (Outcome::Done, Outcome::Failed);
        let report = |tried: &str| format!("<failure-report>what_tried: {tried}\nwhy_failed: b</failure-report>");
        check("no task", &[]);
        check("a\n<task-done>x</task-done> b", &[("x", done, "a\n<task-done>x</task-done> b")]);
        check(
            "a\n<task-done>x</task-done>\nb <task-failed> y </task-failed>",
            &[("x", done, "a\n<task-done>x</task-done>\n"), ("y", failed, "\n\nb <task-failed> y </task-failed>")],
        );
        // A report belongs to the failed task, wherever it is; of several failures, each has its own report.
        let text = format!("{}<task-done>x</task-done><task-failed>y</task-failed>", report("a"));
        let of_y = format!("{}<task-failed>y</task-failed>", report("a"));
        check(&text, &[("x", done, "\n<task-done>x</task-done>"), ("y", failed, &of_y)]);
        let [one, two] = ["x", "y"].map(|id| format!("{}<task-failed>{id}</task-failed>", report(id)));
        check(&format!("{one}{two}"), &[("x", failed, &format!("{one}\n")), ("y", failed, &format!("\n{two}"))]);
        // The last mention of a task counts.
        let text = "<task-failed>x</task-failed>\na <task-done>y</task-done>\nb <task-done>x</task-done>";
        check(
            text,
            &[
                ("y", done, "\na <task-done>y</task-done>\n"),
                ("x", done, "<task-failed>x</task-failed>\n\nb <task-done>x</task-done>"),
            ],
        );
    }
}
