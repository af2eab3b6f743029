//! `get_recent_iterations`, `get_feature_files` and `get_failed_attempts`: views of the journal.

use ralph_memory::Memory;
use ralph_memory::entry::{Attempt, Outcome, Validation, timestamp};
use ralph_memory::memory::{AttemptView, TouchedFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent_tool::{AgentTool, Answer};
use super::refusal::unfit;
use super::shown::{self, ToolProblem};
use crate::parse;

/// How many iterations an answer has by default.
const ITERATIONS: usize = 5;
/// How many failures an answer has; contexts have covered the older ones.
const FAILURES: usize = 20;
/// How many files are listed.
const FILES: usize = 100;
/// How many files of one iteration are listed.
const OWN_FILES: usize = 20;
/// How much of an attempt's section is shown, in characters; the entry has all of it.
const SECTION: usize = 600;
/// The end of a section that was cut.
const CUT: &str = "… (cut; read_entry shows all)";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Recent {
    /// The feature; by default all of them.
    #[schemars(length(max = 200))]
    feature: Option<String>,
    /// How many at most; 5 by default.
    #[schemars(range(min = 1, max = 50))]
    count: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FeatureFilesTool {
    /// The feature; by default all of them.
    #[schemars(length(max = 200))]
    feature: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FailuresTool {
    /// The feature; by default all of them.
    #[schemars(length(max = 200))]
    feature: Option<String>,
    /// The task; by default all of them.
    #[schemars(length(max = 64))]
    task_id: Option<String>,
}

/// Iterations, newest first.
#[derive(Debug, Serialize)]
pub(super) struct IterationsAnswer {
    /// The iterations, newest first
    iterations: Vec<AttemptAnswer>,
    /// What to do next
    note: String,
    /// Problems with files of the memory
    problems: Vec<ToolProblem>,
}

/// An attempt at a task.
#[derive(Debug, Serialize)]
struct AttemptAnswer {
    /// Its id, for `read_entry`
    id: String,
    /// The run
    run_id: String,
    /// Its number in the run
    iteration: u32,
    /// The task
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    /// What was to be done
    task_title: String,
    /// The feature
    #[serde(skip_serializing_if = "Option::is_none")]
    feature: Option<String>,
    /// How it ended: `done`, `failed`, `blocked`, `retried`, `error`, `partial` or `interrupted`
    outcome: String,
    /// What kind of error it had
    #[serde(skip_serializing_if = "Option::is_none")]
    error_category: Option<String>,
    /// The language model that worked on it
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// When it began
    started_at: String,
    /// The files that it created and changed
    changed_files: Vec<String>,
    /// What it reports: notes, summary, what was tried and why it failed, what to do instead, decisions, errors
    sections: Vec<AttemptPart>,
}

/// A section of an attempt.
#[derive(Debug, Serialize)]
struct AttemptPart {
    /// What it is about
    about: &'static str,
    /// Its text, or the beginning of it
    text: String,
}

/// Files, the most touched first.
#[derive(Debug, Serialize)]
pub(super) struct FilesAnswer {
    /// The files, those first that most iterations touched
    files: Vec<FileAnswer>,
    /// How many there are in all
    total: usize,
    /// Problems with files of the memory
    problems: Vec<ToolProblem>,
}

/// A file of the project.
#[derive(Debug, Serialize)]
struct FileAnswer {
    /// Its path in the project
    path: String,
    /// How many iterations touched it
    iterations: usize,
    /// How many of them created it, changed it and read it
    created: usize,
    modified: usize,
    read: usize,
    /// Whether to look at it first, since three or more iterations touched it
    suggested: bool,
}

impl Answer for IterationsAnswer {
    fn markdown(&self) -> String {
        let iterations: String = self.iterations.iter().map(AttemptAnswer::markdown).collect();
        format!("{iterations}{}\n{}", self.note, shown::problem_list(&self.problems))
    }
}

impl AttemptAnswer {
    fn markdown(&self) -> String {
        let task = self.task_id.as_ref().map(|task| format!("task {}", shown::code(task)));
        let about = [Some(shown::code(&self.id)), task, self.feature.clone(), self.error_category.clone()];
        let about: Vec<String> = about.into_iter().chain([self.model.clone()]).flatten().collect();
        let (about, started) = (about.join(" · "), &self.started_at);
        let mut text = format!("### {}: {}\n{about} · {started}\n", self.task_title, self.outcome);
        if !self.changed_files.is_empty() {
            text.push_str(&format!("\nChanged files: {}\n", self.changed_files.join(", ")));
        }
        for AttemptPart { about, text: part } in &self.sections {
            text.push_str(&format!("\n**{about}**\n\n{}", shown::quoted(part)));
        }
        text + "\n"
    }
}

impl Answer for FilesAnswer {
    fn markdown(&self) -> String {
        let mut text: String = self.files.iter().map(FileAnswer::markdown).collect();
        let more = self.total - self.files.len();
        match self.total {
            0 => text.push_str("The journal names no files.\n"),
            _ if more > 0 => text.push_str(&format!("and {more} more\n")),
            _ => {}
        }
        text + &shown::problem_list(&self.problems)
    }
}

impl FileAnswer {
    fn markdown(&self) -> String {
        let FileAnswer { path, iterations, created, modified, read, suggested } = self;
        let first = if *suggested { "; look at it first" } else { "" };
        let s = if *iterations == 1 { "" } else { "s" };
        format!(
            "- {path}: {iterations} iteration{s}; {created} created it, {modified} changed it, {read} read it{first}\n"
        )
    }
}

impl AgentTool for Recent {
    const NAME: &'static str = "get_recent_iterations";
    const TITLE: &'static str = "The last iterations";
    const DESCRIPTION: &'static str = "Lists the last iterations of a feature, or of the whole project, newest first: \
        the task, how it ended, changed files, decisions and errors. Call it when you take over work that others \
        began. read_entry shows an iteration in full.";
    const OF_FEATURE: bool = true;
    type Answer = IterationsAnswer;

    fn call(self, memory: &Memory) -> anyhow::Result<IterationsAnswer> {
        let count = self.count.unwrap_or(ITERATIONS);
        let found = memory.recent_iterations(named(self.feature.as_deref()), count);
        let note = match found.items.len() {
            0 => nothing(self.feature.as_deref()),
            _ => "read_entry shows one in full.".to_owned(),
        };
        let iterations = found.items.iter().map(iteration).collect();
        Ok(IterationsAnswer { iterations, note, problems: shown::troubles(&found.problems) })
    }
}

impl AgentTool for FailuresTool {
    const NAME: &'static str = "get_failed_attempts";
    const TITLE: &'static str = "What failed before";
    const DESCRIPTION: &'static str = "Lists failed attempts at a task, of a feature or of the whole project, newest \
        first: what was tried, why it failed, the error, and what to do instead. Call it before you try what may \
        have been tried already, and when you are stuck. Do not repeat an approach that failed without a reason why \
        it works now.";
    const OF_FEATURE: bool = true;
    type Answer = IterationsAnswer;

    fn call(self, memory: &Memory) -> anyhow::Result<IterationsAnswer> {
        let task_id = self.task_id.as_deref().filter(|id| !id.trim().is_empty());
        if let Some(Err(reason)) = task_id.map(parse::task_id) {
            return Err(unfit(
                format!("task_id: {reason}"),
                "take it from an answer of get_recent_iterations, or leave it out",
            ));
        }
        let found = memory.failed_attempts(named(self.feature.as_deref()), task_id, FAILURES)?;
        let n_failed = found.in_all;
        let note = match (n_failed, task_id) {
            (0, Some(_)) => "No attempt at this task failed, according to the journal.".to_owned(),
            (0, None) => nothing(self.feature.as_deref()),
            (n_failed, _) if n_failed > FAILURES => {
                format!("These are the last {FAILURES} of {n_failed}. search_memory with kind `journal` finds others.")
            }
            _ => "read_entry shows one in full.".to_owned(),
        };
        let iterations = found.items.iter().map(iteration).collect();
        Ok(IterationsAnswer { iterations, note, problems: shown::troubles(&found.problems) })
    }
}

impl AgentTool for FeatureFilesTool {
    const NAME: &'static str = "get_feature_files";
    const TITLE: &'static str = "The files of a feature";
    const DESCRIPTION: &'static str = "Lists the files that iterations of a feature, or of the whole project, created, \
        changed or read, the most frequent first. Call it to find where a feature lives. Some of them may be gone.";
    const OF_FEATURE: bool = true;
    type Answer = FilesAnswer;

    fn call(self, memory: &Memory) -> anyhow::Result<FilesAnswer> {
        let found = memory.feature_files(named(self.feature.as_deref()));
        let files = found.items.iter().take(FILES).map(file).collect();
        Ok(FilesAnswer { files, total: found.in_all, problems: shown::troubles(&found.problems) })
    }
}

/// Returns the selected feature, if there is one.
fn named(feature: Option<&str>) -> Option<&str> {
    feature.map(str::trim).filter(|feature| !feature.is_empty())
}

fn nothing(feature: Option<&str>) -> String {
    match named(feature) {
        Some(feature) => format!("The journal has none of the feature `{}`.", shown::line(feature)),
        None => "The journal has none yet.".to_owned(),
    }
}

fn file(file: &TouchedFile) -> FileAnswer {
    let &TouchedFile { iterations, created, modified, read, suggested, .. } = file;
    FileAnswer { path: shown::line(&file.path), iterations, created, modified, read, suggested }
}

fn iteration(view: &AttemptView) -> AttemptAnswer {
    let attempt @ Attempt { head, sections, .. } = &view.attempt;
    let some = |text: &Option<String>| text.as_deref().map(shown::line);
    // An attempt that was refuted claims in these that all is well.
    let is_refuted = head.outcome == Outcome::Retried;
    let own = |text: &'_ str| if is_refuted { String::new() } else { text.to_owned() };
    let (summary, error_output, verification) =
        (own(&sections.summary), own(&sections.error_output), verification(attempt));
    let refused = head.refused.join("\n");
    // They may claim that all is well, and say what was tried.
    let notes = if is_refuted { "notes, before verification failed" } else { "notes" };
    // The placeholder for a missing report says less than the verification.
    let why =
        if sections.has_report() || verification.is_empty() { sections.why_failed.clone() } else { String::new() };
    let parts = [
        ("feedback from a person", &sections.feedback),
        ("verification", &verification),
        (notes, &sections.notes),
        ("summary", &summary),
        ("what was tried", &sections.what_tried),
        ("why it failed", &why),
        ("error output", &error_output),
        ("retry suggestion", &sections.retry_suggestion),
        ("decisions", &sections.decisions),
        ("errors", &sections.errors),
        ("problems in its report", &refused),
    ];
    let parts = parts.into_iter().filter(|(_, text)| !text.trim().is_empty());
    let mut changed = [head.files.created.as_slice(), &head.files.modified].concat();
    changed.truncate(OWN_FILES);
    AttemptAnswer {
        id: shown::id(&view.id),
        run_id: shown::line(&attempt.run_id),
        iteration: head.iteration,
        task_id: some(&attempt.task_id),
        task_title: shown::line(&attempt.task_title),
        feature: some(&attempt.feature),
        outcome: head.outcome.as_str().to_owned(),
        error_category: some(&head.error_category),
        model: some(&head.model),
        started_at: timestamp(attempt.started_at),
        changed_files: shown::lines(&changed),
        sections: parts.map(|(about, text)| AttemptPart { about, text: beginning(text) }).collect(),
    }
}

/// Returns the result of the command that refuted an attempt: its exit code, and its last lines.
fn verification(attempt: &Attempt) -> String {
    let Some(validation) = attempt.head.validation.as_ref().filter(|validation| validation.exit_code != 0) else {
        return String::new();
    };
    let Validation { command, exit_code, .. } = validation;
    let command: String = command.chars().take(SECTION / 4).collect();
    let output = attempt.sections.validation_output.trim_end();
    let from = output.char_indices().rev().nth(SECTION / 2).map_or(0, |(at, _)| at);
    format!("`{command}` failed with exit code {exit_code}:\n{}", &output[from..])
}

/// Returns the beginning of a text, marked if it was cut.
fn beginning(text: &str) -> String {
    let text = text.trim();
    let (piece, next) = shown::piece(text, 0, SECTION);
    let end = if next.is_some() { CUT } else { "" };
    format!("{}{end}", shown::text(piece.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_say_so() {
        assert_eq!(beginning(" a\n"), "a");
        let long = beginning(&"é".repeat(SECTION + 1));
        assert_eq!(long, format!("{}{CUT}", "é".repeat(SECTION)));
    }
}
