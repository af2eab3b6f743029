//! What an agent's output tells of an iteration, beside what the caller knows of it.

use std::borrow::Cow;

use super::Memory;
use super::finish::{Report, Validated};
use super::runs::Iteration;
use crate::entry::attempt::NO_REPORT;
use crate::entry::knowledge::Knowledge;
use crate::entry::{Event, Files, Outcome, Scope, Sections, Source};
use crate::error::{Error, Problem, Result, Severity};
use crate::secret::redact;
use crate::sigil::{FailureReport, Noted, Said, SuggestedScope, Suggestion};
use crate::text::floor;
use crate::transcript::{Broken, Format, Options, Reader, Transcript, UNKNOWN_FORMAT, without_sigils};

/// Where problems of an output are said to be: it is no file of the memory.
const PLACE: &str = "agent output";

/// What kind of error it had then.
const UNKNOWN: &str = "unknown";
/// How much of the text's end is taken for its error output then, in characters.
const ERROR_OUTPUT: usize = 500;
/// How much of a reported stack trace is kept, in characters.
const STACK_TRACE: usize = 500;
/// How much of a trace is looked at before it is cut, in bytes.
const MAX_TRACE_BYTES: usize = 64 * 1024;

/// What is known of an iteration, from its caller and from its agent.
pub(super) struct Known {
    /// The report, with what the transcript tells where the caller says nothing.
    pub(super) report: Report,
    /// How it ended, by its client's account, where that is something to tell.
    pub(super) ended: Option<Outcome>,
}

impl Memory {
    /// Returns a reader for an agent's output, which may be of any length. What it gives is for
    /// [`Report::transcript`].
    ///
    /// ```
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::transcript::Format;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// let iteration = memory.begin(&Task::new("Add the lock"), &memory.new_run())?;
    /// let output = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s","total_cost_usd":0.5}"#;
    /// let transcript = memory.reader(Format::Auto).read(output.as_bytes())?;
    /// let recorded = memory.finish(&iteration, &Report { transcript: Some(transcript), ..Report::default() })?;
    /// assert_eq!((recorded.outcome.as_str(), recorded.attempt.head.cost_usd), ("blocked", Some(0.5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reader(&self, format: Format) -> Reader {
        // As the agent sees it, which may have been started with a path through links.
        let root = std::fs::canonicalize(self.root()).unwrap_or_else(|_| self.root().to_owned());
        Reader::new(Options {
            format,
            root: root.to_string_lossy().into_owned(),
            allowed_secrets: self.settings.allowed_secrets.clone(),
        })
    }

    /// Returns what the agent's output says.
    pub(super) fn transcript<'a>(&self, report: &'a Report) -> Cow<'a, Transcript> {
        if let Some(transcript) = &report.transcript {
            return Cow::Borrowed(transcript);
        }
        let mut reader = self.reader(Format::Auto);
        reader.push(report.text.as_bytes());
        Cow::Owned(reader.finish())
    }
}

/// Returns what is known: what the caller says, and what the agent's output tells of the rest.
pub(super) fn known(report: &Report, transcript: &Transcript, iteration: &Iteration) -> Known {
    let told = |own: &str, told: String| if own.is_empty() { told } else { own.to_owned() };
    let model = transcript.model.clone().filter(|model| !is_named(&iteration.model, model));
    let errors = [bullets(&transcript.errors), report.errors.clone()];
    let report = Report {
        // The transcript has it.
        text: String::new(),
        transcript: None,
        agent_exit: report.agent_exit,
        outcome: report.outcome,
        model: report.model.clone().or(model),
        validation: report.validation.clone(),
        duration_secs: report.duration_secs.or(transcript.duration_secs),
        cost_usd: report.cost_usd.or(transcript.cost_usd),
        tokens_in: report.tokens_in.or(transcript.tokens_in),
        tokens_out: report.tokens_out.or(transcript.tokens_out),
        files: report.files.clone(),
        summary: told(&report.summary, transcript.summary.clone()),
        decisions: told(&report.decisions, bullets(&transcript.decisions)),
        errors: errors.into_iter().filter(|errors| !errors.trim().is_empty()).collect::<Vec<_>>().join("\n\n"),
        progress: report.progress.clone(),
        feedback: report.feedback.clone(),
    };
    let ways = [
        (transcript.is_interrupted, Outcome::Interrupted),
        (transcript.is_blocked, Outcome::Blocked),
        (transcript.is_failed, Outcome::Error),
        // It was cut off in the middle of its work.
        (transcript.n_events > 0 && !transcript.is_complete, Outcome::Blocked),
    ];
    Known { report, ended: ways.into_iter().find_map(|(is_so, outcome)| is_so.then_some(outcome)) }
}

/// Returns whether a model's full name is that of the one that was chosen: `claude-sonnet-4-5` that of `sonnet`. It has
/// all words of the chosen one in a row, and behind them nothing but a version, where the chosen one does not end in
/// a number itself, a date, and whether it is the latest: any other word makes it another model.
fn is_named(chosen: &str, full: &str) -> bool {
    let words = |name: &str| -> Vec<String> {
        let words = name.split(|next: char| !next.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (chosen, full) = (words(chosen), words(full));
    let is_number = |word: &String| word.bytes().all(|digit| digit.is_ascii_digit());
    let is_version = |word: &String| word.trim_start_matches('v').starts_with(|digit: char| digit.is_ascii_digit());
    let is_behind = |behind: &[String]| {
        // `gpt-5-2025-08-07` is `gpt-5`, and `gpt-5.1` is not.
        let is_other = chosen.last().is_some_and(is_number)
            && behind.first().is_some_and(|next| is_number(next) && next.len() < 4);
        let is_stage = |word: &String| ["latest", "preview", "beta", "exp"].contains(&word.as_str());
        !is_other && behind.iter().all(|word| is_version(word) || is_stage(word))
    };
    !chosen.is_empty() && (0..full.len()).any(|start| full[start..].strip_prefix(&chosen[..]).is_some_and(is_behind))
}

fn bullets(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// Returns what a person should know of how the output could be read.
pub(super) fn transcript_problems(transcript: &Transcript, report: &Report, outcome: Outcome) -> Vec<Problem> {
    let name = transcript.format.name();
    let problem = |line: Option<u64>, code: &str, message: String, hint: &str| Problem {
        path: PLACE.to_owned(),
        line: line.map(|line| u32::try_from(line).unwrap_or(u32::MAX)),
        column: None,
        severity: Severity::Warning,
        code: code.to_owned(),
        message: message.into(),
        hint: hint.into(),
    };
    if transcript.format == Format::Unknown {
        let hint = "plain text is read with the format `text`";
        return vec![problem(None, "transcript-format", format!("this was not read: {UNKNOWN_FORMAT}"), hint)];
    }
    let hint = "the line was passed over, and the others were read; plain text is read with the format `text`";
    let mut problems: Vec<Problem> = transcript
        .broken
        .iter()
        .map(|broken| {
            let message = format!("this is no event of {name}: {}", broken.reason);
            problem(Some(broken.line), "transcript-line", message, hint)
        })
        .collect();
    if transcript.n_more_broken > 0 {
        let message = format!("{} more lines are no events of {name}", transcript.n_more_broken);
        problems.push(problem(None, "transcript-line", message, hint));
    }
    if transcript.n_dropped > 0 {
        let message =
            format!("the first {} bytes of the agent's text were not read: it is too long", transcript.n_dropped);
        problems.push(problem(None, "transcript-long", message, "what it said there is not in the memory; its end is"));
    }
    // Of an agent that was stopped or crashed everybody knows that already.
    let is_known = outcome == Outcome::Interrupted || report.agent_exit.is_some_and(|exit| exit != 0);
    if !transcript.is_complete && transcript.n_events > 0 && !is_known {
        let message = format!("the stream of {name} ends without its last event");
        problems.push(problem(
            None,
            "transcript-open",
            message,
            "the agent was stopped, or a part of its output is missing",
        ));
    }
    problems
}

/// Returns how an attempt ended: as its caller says, else as its agent says, else as its agent's client says. An exit
/// status says least: a client that has met a limit has one that is not 0, too.
pub(super) fn outcome(said: &Said, report: &Report, ended: Option<Outcome>) -> Outcome {
    let is_verified = report.validation.as_ref().is_none_or(|validated| validated.exit_code == 0);
    match (report.outcome, said.outcome) {
        (None, Some(Outcome::Done)) if !is_verified => Outcome::Retried,
        (Some(outcome), _) | (None, Some(outcome)) => outcome,
        (None, None) => ended.unwrap_or(match report.agent_exit {
            None | Some(0) => Outcome::Blocked,
            Some(_) => Outcome::Error,
        }),
    }
}

pub(super) fn error_category(said: &Said, outcome: Outcome) -> Option<String> {
    let reported = said.failure.as_ref().map(|report| report.category.clone());
    reported.or_else(|| (outcome.is_success() == Some(false)).then(|| UNKNOWN.to_owned()))
}

pub(super) fn sections(said: Said, report: &Report, text: &str, outcome: Outcome, allowed: &[String]) -> Sections {
    let failure = said.failure.unwrap_or_else(|| minimal_report(text, outcome, allowed));
    // Before it is cut, which could leave half of a secret.
    let trace = failure.stack_trace.map(|trace| redact(&trace[..floor(&trace, MAX_TRACE_BYTES)], allowed));
    Sections {
        notes: said.notes.unwrap_or_default(),
        summary: report.summary.clone(),
        tried: failure.tried,
        why: failure.why,
        error_output: [trace.map(|trace| trace.chars().take(STACK_TRACE).collect()), ended_by(report)]
            .into_iter()
            .flatten()
            .filter(|part: &String| !part.trim().is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
        retry_suggestion: said.retry_suggestion.unwrap_or_default(),
        decisions: report.decisions.clone(),
        errors: errors_of(report, outcome),
        validation_output: report.validation.as_ref().map(|validated| validated.output.clone()).unwrap_or_default(),
        progress: report.progress.clone(),
        feedback: report.feedback.clone(),
    }
}

/// Returns the errors that are known; of an agent that crashed or was cut off without a word of why, its exit status.
fn errors_of(report: &Report, outcome: Outcome) -> String {
    match report.agent_exit {
        Some(code)
            if code != 0 && matches!(outcome, Outcome::Error | Outcome::Blocked) && report.errors.trim().is_empty() =>
        {
            format!("- the agent ended with exit code {code}")
        }
        _ => report.errors.clone(),
    }
}

/// Returns why a caller ended the agent, which is the last line of the errors: the next attempt is told so.
fn ended_by(report: &Report) -> Option<String> {
    let line = report.errors.trim_end().lines().next_back();
    line.filter(|_| report.outcome == Some(Outcome::Blocked)).map(str::to_owned)
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
        // What was taken over stands in its own place, or in an entry of its own.
        let text = &without_sigils(text);
        let text = redact(&text[floor(text, text.len().saturating_sub(MAX_TRACE_BYTES))..], allowed);
        let start = text.char_indices().rev().nth(ERROR_OUTPUT - 1).map_or(0, |(at, _)| at);
        report.stack_trace = Some(text[start..].to_owned());
    }
    report
}

pub(super) fn knowledge_of(noted: &Noted, iteration: &Iteration) -> Knowledge {
    Knowledge {
        category: noted.category.clone(),
        feature: iteration.task.feature.clone(),
        source: Source::Agent,
        task_id: Some(iteration.task_id()),
        run_id: Some(iteration.run_id.clone()),
        questions: noted.questions.clone(),
        ..Knowledge::new(noted.title.clone(), noted.tags.clone(), noted.body.clone())
    }
}

/// Returns the event that an agent suggests, its scope completed with the ids of the task.
pub(super) fn event_of(suggestion: &Suggestion, iteration: &Iteration) -> Result<Event> {
    let task = &iteration.task;
    let of = |name: &str, id: &Option<String>, scope: fn(String) -> Scope| {
        let reason = format!("the task has no {name}");
        id.clone().map(scope).ok_or(Error::invalid("scope", reason))
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

/// Returns a report without secrets, its text as the transcript has it.
pub(super) fn redacted(report: &Report, transcript: &Transcript, allowed: &[String]) -> Report {
    let safe = |text: &String| redact(text, allowed);
    let list = |texts: &[String]| texts.iter().map(safe).collect::<Vec<_>>();
    let files = |files: &Files| {
        let Files { created, modified, read, relevant } = files;
        Files { created: list(created), modified: list(modified), read: list(read), relevant: list(relevant) }
    };
    let broken = |broken: &Broken| Broken { line: broken.line, reason: safe(&broken.reason) };
    // Each field by name: a new one that is forgotten here does not compile.
    Report {
        text: String::new(),
        transcript: Some(Transcript {
            format: transcript.format,
            text: safe(&transcript.text),
            n_dropped: transcript.n_dropped,
            files: files(&transcript.files),
            errors: list(&transcript.errors),
            decisions: list(&transcript.decisions),
            summary: safe(&transcript.summary),
            cost_usd: transcript.cost_usd,
            tokens_in: transcript.tokens_in,
            tokens_out: transcript.tokens_out,
            model: transcript.model.as_ref().map(safe),
            duration_secs: transcript.duration_secs,
            is_failed: transcript.is_failed,
            is_blocked: transcript.is_blocked,
            is_interrupted: transcript.is_interrupted,
            is_complete: transcript.is_complete,
            n_events: transcript.n_events,
            broken: transcript.broken.iter().map(broken).collect(),
            n_more_broken: transcript.n_more_broken,
        }),
        agent_exit: report.agent_exit,
        outcome: report.outcome,
        model: report.model.as_ref().map(safe),
        validation: report.validation.as_ref().map(|validated| Validated {
            command: safe(&validated.command),
            exit_code: validated.exit_code,
            output: safe(&validated.output),
            duration_ms: validated.duration_ms,
        }),
        duration_secs: report.duration_secs,
        cost_usd: report.cost_usd,
        tokens_in: report.tokens_in,
        tokens_out: report.tokens_out,
        files: files(&report.files),
        summary: safe(&report.summary),
        decisions: safe(&report.decisions),
        errors: safe(&report.errors),
        progress: safe(&report.progress),
        feedback: safe(&report.feedback),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_is_that_of_its_short_one_alone() {
        let check =
            |chosen: &str, full: &str, expected: bool| assert_eq!(is_named(chosen, full), expected, "{chosen} {full}");
        check("sonnet", "claude-sonnet-4-5", true);
        check("Sonnet", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", true);
        check("sonnet", "claude-3-5-sonnet@20241022", true);
        check("sonnet", "claude-sonnet-4-5[1m]", true);
        check("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", true);
        check("flash-lite", "gemini-flash-lite-latest", true);
        check("flash", "gemini-2.5-flash-preview-05-20", true);
        check("gpt-5", "gpt-5", true);
        check("gpt-5", "gpt-5-2025-08-07", true);
        check("gpt-5", "openai/gpt-5-latest", true);
        check("sonnet", "my-sonnet-mini-9", false);
        check("sonnet", "sonnets", false);
        check("flash", "gemini-2.5-flash-lite", false);
        check("flash", "gemini-flash-lite-latest", false);
        check("gpt-5", "gpt-5-mini", false);
        check("gpt-5", "gpt-5.1", false);
        check("gpt-5", "gpt-5.1-codex", false);
        check("gpt-4", "gpt-4o", false);
        check("claude-sonnet-4", "claude-sonnet-4-5-20250929", false);
        check("", "gpt-5", false);
        check("-", "gpt-5", false);
        check("gpt-5", "", false);
    }
}
