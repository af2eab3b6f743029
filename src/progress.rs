//! The progress of a run, as text for the next prompt.
//!
//! Every attempt begins with an empty context, so it gets a report of the attempts before it: `{{progress}}` in a
//! prompt template is replaced by [`text`]. The report is the output of the verification command, since a model cannot
//! argue with an exit status. Pure: it is made from the journal alone, so it is the same after a crash.

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
    /// Of how many attempts, the newest.
    pub entries: usize,
    /// How many characters of an attempt's output, the last ones.
    pub characters: usize,
}

/// An attempt that was verified.
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
    /// The files that the attempt created or changed.
    pub files_changed: Vec<String>,
    /// Its summary, if there is one.
    pub summary: Option<String>,
}

impl Finished {
    /// Returns the attempt of a journal entry; `None` if nothing was verified.
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

    /// Returns its unchanged output: see [`ProgressKind::SystemCaptured`].
    fn captured(&self, characters: usize) -> String {
        let output = self.end_of_output(characters);
        // No output can close the fence around it.
        let longest = output.split(|mark| mark != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        format!(
            "## Iteration {}\n**Command:** `{}`\n**Exit code:** {}\n**Duration:** {}ms\n**Files changed:** {}\n**Output:**\n{fence}\n{output}\n{fence}\n\n",
            self.iteration,
            self.command,
            self.exit_code,
            self.duration_ms,
            self.files(),
        )
    }

    /// Returns its object: see [`ProgressKind::StructuredLog`].
    fn logged(&self) -> Logged<'_> {
        Logged {
            iteration: self.iteration,
            exit_code: self.exit_code,
            duration_ms: self.duration_ms,
            files_changed: &self.files_changed,
            error_summary: if self.exit_code == 0 { String::new() } else { self.error_line() },
        }
    }

    /// Returns its summary, or one from the output of the command if it has no summary: see [`ProgressKind::LlmSummarized`].
    fn summed_up(&self) -> String {
        let summary = self.summary.as_deref().map(str::trim).filter(|summary| !summary.is_empty());
        let plain = || {
            let line = self.error_line();
            let said = if line.is_empty() { String::new() } else { format!(": {line}") };
            format!("`{}` exited with {}{said}", self.command, self.exit_code)
        };
        format!("Iteration {}: {}\n", self.iteration, summary.map_or_else(plain, str::to_owned))
    }
}

/// An attempt in [`ProgressKind::StructuredLog`].
#[derive(Serialize)]
struct Logged<'a> {
    iteration: u32,
    exit_code: i32,
    duration_ms: u64,
    files_changed: &'a [String],
    error_summary: String,
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

/// Returns the report of the newest of these attempts, oldest first, with sigils defused; empty without iterations.
pub(crate) fn text(kind: ProgressKind, limits: Limits, finished: &[Finished]) -> String {
    let newest = &finished[finished.len().saturating_sub(limits.entries)..];
    if newest.is_empty() {
        return String::new();
    }
    let outputs = || newest.iter().map(|finished| finished.captured(limits.characters)).collect::<String>();
    let summaries = || newest.iter().map(Finished::summed_up).collect::<String>();
    // Names of files and output may come from anywhere.
    with_invisible_shown(&defuse(&match kind {
        ProgressKind::SystemCaptured => outputs(),
        ProgressKind::StructuredLog => {
            let logged: Vec<Logged<'_>> = newest.iter().map(Finished::logged).collect();
            // Numbers, texts and lists of texts can always be serialised.
            serde_json::to_string_pretty(&logged).unwrap_or_default()
        }
        ProgressKind::LlmSummarized => summaries(),
        ProgressKind::Hybrid => format!("## Summary\n{}\n## Raw Output\n{}", summaries(), outputs()),
    }))
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

    fn of(kind: ProgressKind, finished: &[Finished]) -> String {
        text(kind, Limits { entries: 5, characters: 500 }, finished)
    }

    #[test]
    fn output_is_reported_unchanged() {
        let text = of(ProgressKind::SystemCaptured, &[finished(3, 1, "running 8 tests\ntest x ... FAILED\n")]);
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
            let text = of(kind, &[said.clone()]);
            assert!(
                !text.is_empty() && crate::sigil::tokens(&text.replace("```", "")) == crate::sigil::Tokens::default(),
                "{text}"
            );
        }
    }

    #[test]
    fn the_end_of_a_long_output_is_reported() {
        let text = |output: &str| of(ProgressKind::SystemCaptured, &[finished(1, 1, output)]);
        let long = text(&format!("start {}", "é".repeat(500)));
        assert!(long.contains(&format!("```\n...[truncated]...\n{}\n```", "é".repeat(500))), "{long}");
        assert!(!text(&"é".repeat(500)).contains("truncated"));
        assert!(text("a ```` b").contains("`````\na ```` b\n`````\n"));
    }

    #[test]
    fn the_newest_iterations_are_reported() {
        let finished: Vec<Finished> =
            (1..=5).map(|number| finished(number, 1, &format!("output {number} failed"))).collect();
        for &kind in ProgressKind::ALL {
            assert_eq!(of(kind, &[]), "");
            let text = text(kind, Limits { entries: 3, characters: 100 }, &finished);
            assert!(!text.contains("output 2") && text.contains("output 3") && text.contains("output 5"), "{text}");
        }
    }

    #[test]
    fn a_log_is_an_array() {
        let text = of(
            ProgressKind::StructuredLog,
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
    fn summaries_are_used_or_replaced() {
        let known = || Finished { summary: Some(" It broke.\n".into()), ..finished(1, 1, "x\nfatal: y\n") };
        assert_eq!(of(ProgressKind::LlmSummarized, &[known()]), "Iteration 1: It broke.\n");
        let none = Finished { summary: None, ..known() };
        assert_eq!(of(ProgressKind::LlmSummarized, &[none]), "Iteration 1: `cargo test` exited with 1: fatal: y\n");
        let hybrid = of(ProgressKind::Hybrid, &[known()]);
        assert!(
            hybrid.starts_with("## Summary\nIteration 1: It broke.\n\n## Raw Output\n## Iteration 1\n"),
            "{hybrid}"
        );
        let asked = summary_prompt(&finished(1, 1, "it broke"));
        assert!(asked.contains("Exit code: 1") && asked.contains("it broke"), "{asked}");
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
            assert_eq!(of(kind, &live), of(kind, &replayed));
        }
        let unverified = Attempt { head: AttemptHead::new(1, Outcome::Done), ..attempt(1, String::new()) };
        assert_eq!(Finished::of(&unverified), None);
    }
}
