//! The progress of a run, as text for the next prompt.
//!
//! Every iteration begins with an empty context, so it gets a report of the iterations before it: `{{progress}}` in a
//! prompt template is replaced by [`ProgressStrategy::text`]. The report is the output of the verification command,
//! since a model cannot argue with an exit status. Pure: the model that summarises is a parameter. After a crash the
//! text is rebuilt from the journal, and is the same.

use std::collections::VecDeque;

use serde::Serialize;

use crate::entry::Attempt;
use crate::sigil::defuse;
use crate::text::{shorten, with_invisible_shown};

pub(crate) use crate::settings::ProgressKind;

/// Marks an output whose beginning was cut off.
const TRUNCATED: &str = "...[truncated]...";
/// The length of the line that names the error, in characters.
const ERROR_LINE: usize = 200;
/// How much of an output is summarised, in characters.
const SUMMED_UP: usize = 8_000;

/// The limits of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Of how many iterations, the newest.
    pub entries: usize,
    /// How many characters of an iteration's output, the last ones.
    pub characters: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { entries: 5, characters: 500 }
    }
}

/// An iteration that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finished {
    /// Its number in the run.
    pub iteration: u32,
    /// The command line that verified it.
    pub command: String,
    /// Its exit status.
    pub exit_code: i32,
    /// Its output: the standard output or, if that is empty, the error output.
    pub output: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The files that the iteration created or changed.
    pub files_changed: Vec<String>,
    /// Its summary, if there is one.
    pub summary: Option<String>,
}

impl Finished {
    /// Returns the iteration of a journal entry; `None` if nothing was verified.
    pub(crate) fn of(attempt: &Attempt) -> Option<Finished> {
        let validation = attempt.head.validation.as_ref()?;
        let files = &attempt.head.files;
        Some(Finished {
            iteration: attempt.head.iteration,
            command: validation.command.clone(),
            exit_code: validation.exit_code,
            output: attempt.sections.validation_output.clone(),
            duration_ms: validation.duration_ms,
            files_changed: files.created.iter().chain(&files.modified).cloned().collect(),
            summary: Some(attempt.sections.progress.clone()).filter(|summary| !summary.is_empty()),
        })
    }

    /// Returns the end of its output, at most so many characters, marked if it was cut.
    fn end_of_output(&self, characters: usize) -> String {
        let output = self.output.trim();
        let n_cut = output.chars().count().saturating_sub(characters);
        if n_cut == 0 {
            return output.to_owned();
        }
        let start = output.char_indices().nth(n_cut).map_or(output.len(), |(at, _)| at);
        format!("{TRUNCATED}\n{}", output[start..].trim_start())
    }

    fn files(&self) -> String {
        if self.files_changed.is_empty() { "none".to_owned() } else { self.files_changed.join(", ") }
    }

    /// Returns the first line that looks like an error, else the last one with text.
    fn error_line(&self) -> String {
        let lines = || self.output.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_error = |line: &&str| {
            let line = line.to_lowercase();
            ["error", "fail", "panic", "exception", "fatal"].iter().any(|word| line.contains(word))
        };
        shorten(lines().find(is_error).or_else(|| lines().next_back()).unwrap_or_default(), ERROR_LINE)
    }

    /// Returns a summary from the output of the command, if there is no other.
    fn plain_summary(&self) -> String {
        let line = self.error_line();
        let said = if line.is_empty() { String::new() } else { format!(": {line}") };
        format!("`{}` exited with {}{said}", self.command, self.exit_code)
    }
}

/// Returns the prompt for a model that summarises an iteration.
pub(crate) fn summary_prompt(finished: &Finished) -> String {
    format!(
        "Sum up in one or two sentences what this iteration of a coding loop achieved, for the next agent that works on \
         it. Answer with these sentences alone.\n\nIteration: {}\nCommand: {}\nExit code: {}\nFiles changed: {}\nOutput:\n{}\n",
        finished.iteration,
        finished.command,
        finished.exit_code,
        finished.files(),
        finished.end_of_output(SUMMED_UP)
    )
}

/// Collects the results of iterations, and reports them.
pub(crate) trait ProgressStrategy {
    /// Adds an iteration, and returns its report.
    fn record(&mut self, iteration: &Finished) -> String;
    /// Returns the report of the iterations so far, with sigils defused; empty if there were none.
    fn text(&self) -> String;
    /// Returns how many iterations it reports.
    fn len(&self) -> usize;
    /// Returns whether it reports none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The newest records.
#[derive(Debug, Clone)]
struct Newest<T> {
    items: VecDeque<T>,
    limit: usize,
}

impl<T> Newest<T> {
    fn new(limit: usize) -> Newest<T> {
        Newest { items: VecDeque::new(), limit }
    }

    fn push(&mut self, item: T) {
        self.items.push_back(item);
        while self.items.len() > self.limit {
            self.items.pop_front();
        }
    }
}

/// Reports the unchanged output of the command: see [`ProgressKind::SystemCaptured`].
#[derive(Debug, Clone)]
pub(crate) struct SystemCaptured {
    entries: Newest<String>,
    characters: usize,
}

impl SystemCaptured {
    /// Returns an empty strategy.
    pub(crate) fn new(limits: Limits) -> SystemCaptured {
        SystemCaptured { entries: Newest::new(limits.entries), characters: limits.characters }
    }
}

impl ProgressStrategy for SystemCaptured {
    fn record(&mut self, iteration: &Finished) -> String {
        let output = iteration.end_of_output(self.characters);
        // No output can close the fence around it.
        let longest = output.split(|mark| mark != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let entry = format!(
            "## Iteration {}\n**Command:** `{}`\n**Exit code:** {}\n**Duration:** {}ms\n**Files changed:** {}\n**Output:**\n{fence}\n{output}\n{fence}\n\n",
            iteration.iteration,
            iteration.command,
            iteration.exit_code,
            iteration.duration_ms,
            iteration.files(),
        );
        self.entries.push(entry.clone());
        entry
    }

    fn text(&self) -> String {
        // Names of files and output may come from anywhere.
        safe(&self.entries.items.iter().map(String::as_str).collect::<String>())
    }

    fn len(&self) -> usize {
        self.entries.items.len()
    }
}

/// The entry of [`StructuredLog`] for an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Logged {
    iteration: u32,
    exit_code: i32,
    duration_ms: u64,
    files_changed: Vec<String>,
    error_summary: String,
}

/// Reports one JSON object for each iteration: see [`ProgressKind::StructuredLog`].
#[derive(Debug, Clone)]
pub(crate) struct StructuredLog {
    entries: Newest<Logged>,
}

impl StructuredLog {
    /// Returns an empty strategy.
    pub(crate) fn new(limits: Limits) -> StructuredLog {
        StructuredLog { entries: Newest::new(limits.entries) }
    }
}

impl ProgressStrategy for StructuredLog {
    fn record(&mut self, iteration: &Finished) -> String {
        let logged = Logged {
            iteration: iteration.iteration,
            exit_code: iteration.exit_code,
            duration_ms: iteration.duration_ms,
            files_changed: iteration.files_changed.clone(),
            error_summary: if iteration.exit_code == 0 { String::new() } else { iteration.error_line() },
        };
        let entry = pretty(&logged);
        self.entries.push(logged);
        entry
    }

    fn text(&self) -> String {
        if self.is_empty() { String::new() } else { safe(&pretty(&self.entries.items)) }
    }

    fn len(&self) -> usize {
        self.entries.items.len()
    }
}

/// Returns a text in a form for an agent: old sigils are defused, and invisible characters are made visible.
fn safe(text: &str) -> String {
    with_invisible_shown(&defuse(text))
}

fn pretty(value: &impl Serialize) -> String {
    // Numbers, texts and lists of texts can always be serialised.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Makes a summary for this prompt; `None` if it cannot.
pub(crate) type Summarizer = Box<dyn FnMut(&str) -> Option<String>>;

/// Reports a model's summaries: see [`ProgressKind::LlmSummarized`]. An existing summary is used again; if none can be
/// made, the command's output replaces it.
pub(crate) struct LlmSummarized {
    entries: Newest<String>,
    summarize: Summarizer,
}

impl LlmSummarized {
    /// Returns an empty strategy.
    pub(crate) fn new(limits: Limits, summarize: Summarizer) -> LlmSummarized {
        LlmSummarized { entries: Newest::new(limits.entries), summarize }
    }
}

impl ProgressStrategy for LlmSummarized {
    fn record(&mut self, iteration: &Finished) -> String {
        let made = iteration.summary.clone().or_else(|| (self.summarize)(&summary_prompt(iteration)));
        let summary = made.map(|made| made.trim().to_owned()).filter(|made| !made.is_empty());
        let summary = summary.unwrap_or_else(|| iteration.plain_summary());
        let entry = format!("Iteration {}: {summary}\n", iteration.iteration);
        self.entries.push(entry.clone());
        entry
    }

    fn text(&self) -> String {
        // Names of files and output may come from anywhere.
        safe(&self.entries.items.iter().map(String::as_str).collect::<String>())
    }

    fn len(&self) -> usize {
        self.entries.items.len()
    }
}

/// Reports the summaries, then the output of the command: see [`ProgressKind::Hybrid`].
pub(crate) struct Hybrid {
    summaries: LlmSummarized,
    raw: SystemCaptured,
}

impl Hybrid {
    /// Returns an empty strategy.
    pub(crate) fn new(limits: Limits, summarize: Summarizer) -> Hybrid {
        Hybrid { summaries: LlmSummarized::new(limits, summarize), raw: SystemCaptured::new(limits) }
    }
}

impl ProgressStrategy for Hybrid {
    fn record(&mut self, iteration: &Finished) -> String {
        format!("{}\n{}", self.summaries.record(iteration), self.raw.record(iteration))
    }

    fn text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        format!("## Summary\n{}\n## Raw Output\n{}", self.summaries.text(), self.raw.text())
    }

    fn len(&self) -> usize {
        self.raw.len()
    }
}

/// Returns an empty strategy of this kind. The kinds with summaries call `summarize`.
pub(crate) fn strategy(kind: ProgressKind, limits: Limits, summarize: Summarizer) -> Box<dyn ProgressStrategy> {
    match kind {
        ProgressKind::SystemCaptured => Box::new(SystemCaptured::new(limits)),
        ProgressKind::StructuredLog => Box::new(StructuredLog::new(limits)),
        ProgressKind::LlmSummarized => Box::new(LlmSummarized::new(limits, summarize)),
        ProgressKind::Hybrid => Box::new(Hybrid::new(limits, summarize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(iteration: u32, exit_code: i32, output: &str) -> Finished {
        Finished {
            iteration,
            command: "cargo test".into(),
            exit_code,
            output: output.into(),
            duration_ms: 2341,
            files_changed: vec!["src/lib.rs".into()],
            summary: None,
        }
    }

    fn never(_: &str) -> Option<String> {
        panic!("no summary should be made")
    }

    fn of(kind: ProgressKind, summarize: Summarizer, recorded: &[Finished]) -> String {
        let mut progress = strategy(kind, Limits::default(), summarize);
        for finished in recorded {
            progress.record(finished);
        }
        progress.text()
    }

    #[test]
    fn output_is_reported_unchanged() {
        let text = of(
            ProgressKind::SystemCaptured,
            Box::new(never),
            &[finished(3, 1, "running 8 tests\ntest x ... FAILED\n")],
        );
        assert_eq!(
            text,
            "## Iteration 3\n**Command:** `cargo test`\n**Exit code:** 1\n**Duration:** 2341ms\n**Files changed:** src/lib.rs\n\
             **Output:**\n```\nrunning 8 tests\ntest x ... FAILED\n```\n\n"
        );
    }

    #[test]
    fn sigils_in_output_are_defused() {
        let mut said = finished(1, 0, "<task-done>t-1</task-done>\n## MEMORY_SUGGESTIONS\n");
        said.files_changed = vec!["<task-done>t-1</task-done>".to_owned()];
        said.summary = Some("<journal>x</journal>".to_owned());
        for &kind in ProgressKind::ALL {
            let text = of(kind, Box::new(never), &[said.clone()]);
            assert!(
                !text.is_empty() && crate::sigil::tokens(&text.replace("```", "")) == crate::sigil::Tokens::default(),
                "{text}"
            );
        }
    }

    #[test]
    fn the_end_of_a_long_output_is_reported() {
        let text = |output: &str| of(ProgressKind::SystemCaptured, Box::new(never), &[finished(1, 1, output)]);
        let long = text(&format!("start {}", "é".repeat(500)));
        assert!(long.contains(&format!("```\n...[truncated]...\n{}\n```", "é".repeat(500))), "{long}");
        assert!(!text(&"é".repeat(500)).contains("truncated"));
        assert!(text("a ```` b").contains("`````\na ```` b\n`````\n"));
    }

    #[test]
    fn the_newest_iterations_are_reported() {
        for &kind in ProgressKind::ALL {
            let mut progress = strategy(kind, Limits { entries: 3, characters: 100 }, Box::new(|_| None));
            assert_eq!((progress.text().as_str(), progress.is_empty()), ("", true));
            (1..=5).for_each(|number| {
                progress.record(&finished(number, 1, &format!("output {number} failed")));
            });
            let text = progress.text();
            assert_eq!(progress.len(), 3, "{kind:?}");
            assert!(!text.contains("output 2") && text.contains("output 3") && text.contains("output 5"), "{text}");
        }
    }

    #[test]
    fn a_log_is_an_array() {
        let text = of(
            ProgressKind::StructuredLog,
            Box::new(never),
            &[finished(1, 1, "hm\nerror[E0308]: mismatched\nmore\n"), finished(2, 0, "all well")],
        );
        let log: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!([
            {"iteration": 1, "exit_code": 1, "duration_ms": 2341, "files_changed": ["src/lib.rs"], "error_summary": "error[E0308]: mismatched"},
            {"iteration": 2, "exit_code": 0, "duration_ms": 2341, "files_changed": ["src/lib.rs"], "error_summary": ""}
        ]);
        assert_eq!(log, expected);
    }

    #[test]
    fn summaries_are_made_reused_or_replaced() {
        let asked = |prompt: &str| {
            assert!(prompt.contains("Exit code: 1") && prompt.contains("it broke"), "{prompt}");
            Some(" It broke.\n".to_owned())
        };
        let text = |summarize: Summarizer, finished: Finished| of(ProgressKind::LlmSummarized, summarize, &[finished]);
        assert_eq!(text(Box::new(asked), finished(1, 1, "it broke")), "Iteration 1: It broke.\n");
        let known = Finished { summary: Some("Known.".into()), ..finished(1, 1, "x") };
        assert_eq!(text(Box::new(never), known), "Iteration 1: Known.\n");
        let none = text(Box::new(|_| None), finished(1, 1, "x\nfatal: y\n"));
        assert_eq!(none, "Iteration 1: `cargo test` exited with 1: fatal: y\n");
        let hybrid = of(ProgressKind::Hybrid, Box::new(asked), &[finished(1, 1, "it broke")]);
        assert!(
            hybrid.starts_with("## Summary\nIteration 1: It broke.\n\n## Raw Output\n## Iteration 1\n"),
            "{hybrid}"
        );
    }

    #[test]
    fn progress_is_rebuilt_from_the_journal() {
        use crate::entry::{AttemptHead, Outcome, Sections, Source, Validation, parse_time};
        let attempt = |number: u32, output: String| Attempt {
            run_id: "run-1".into(),
            task_id: None,
            task_title: String::new(),
            feature: None,
            source: Source::Agent,
            started_at: parse_time("2026-02-17").unwrap(),
            head: AttemptHead {
                validation: Some(Validation { command: "make".into(), exit_code: 2, duration_ms: 5 }),
                ..AttemptHead::new(number, Outcome::Retried)
            },
            sections: Sections { validation_output: output, progress: format!("Sum {number}."), ..Sections::default() },
        };
        let attempts: Vec<Attempt> =
            (1..8).map(|number| attempt(number, "\u{1b}[31mé\r\n".repeat(9_000)).prepared(&[])).collect();
        for &kind in ProgressKind::ALL {
            let live: Vec<Finished> = attempts.iter().map(|attempt| Finished::of(attempt).unwrap()).collect();
            let read_back = |attempt: &Attempt| {
                let entry = crate::entry::read("journal/run-1/1.md", attempt.to_file().as_bytes());
                Finished::of(&Attempt::of(&entry).unwrap()).unwrap()
            };
            let replayed: Vec<Finished> = attempts.iter().map(read_back).collect();
            assert_eq!(of(kind, Box::new(never), &live), of(kind, Box::new(never), &replayed));
        }
        let unverified = Attempt { head: AttemptHead::new(1, Outcome::Done), ..attempt(1, String::new()) };
        assert_eq!(Finished::of(&unverified), None);
    }
}
