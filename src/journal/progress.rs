//! The progress of a run, as text for the next prompt.
//!
//! Every attempt begins with an empty context, so it gets a report of the attempts before it: [`text`] replaces
//! `{{progress}}` in a prompt template. The report is the output of the verification command, because a model cannot
//! argue with an exit status. Pure: it is computed from the journal alone, so it is the same after a crash.

use serde::Serialize;

use crate::agent_output::elements::defuse;
use crate::entry::{Attempt, Validation};
use crate::text::{for_terminal, shorten};

pub(crate) use crate::settings::ProgressKind;

/// Marks an output whose beginning was cut off.
const TRUNCATED: &str = "...[truncated]...";
/// The length of the line that names the error, in characters.
const ERROR_LINE: usize = 200;
/// How much of an output is summarised, in characters.
const SUMMED_UP: usize = 8_000;

/// An attempt in [`ProgressKind::StructuredLog`].
#[derive(Serialize)]
struct Logged<'a> {
    iteration: u32,
    exit_code: i32,
    duration_ms: u64,
    files_changed: Vec<&'a str>,
    error_summary: String,
}

/// Returns the report of the newest verified attempts, at most `most`, oldest first, with report elements defused;
/// empty if there are none. It has at most the last `characters` of each output.
pub(crate) fn text(kind: ProgressKind, (most, characters): (usize, usize), attempts: &[Attempt]) -> String {
    let verified = attempts.iter().filter_map(|attempt| Some((attempt, attempt.head.validation.as_ref()?)));
    let mut newest: Vec<(&Attempt, &Validation)> = verified.rev().take(most).collect();
    newest.reverse();
    if newest.is_empty() {
        return String::new();
    }
    let outputs = || newest.iter().map(|(attempt, ran)| captured(attempt, ran, characters)).collect::<String>();
    let summaries = || newest.iter().map(|(attempt, ran)| summed_up(attempt, ran)).collect::<String>();
    // File names and output may come from anywhere.
    for_terminal(&defuse(&match kind {
        ProgressKind::SystemCaptured => outputs(),
        ProgressKind::StructuredLog => {
            let logged: Vec<Logged<'_>> = newest.iter().map(|(attempt, ran)| logged(attempt, ran)).collect();
            // Numbers, texts and lists of texts can always be serialised.
            serde_json::to_string_pretty(&logged).unwrap_or_default()
        }
        ProgressKind::LlmSummarized => summaries(),
        ProgressKind::Hybrid => format!("## Summary\n{}\n## Raw Output\n{}", summaries(), outputs()),
    }))
}

/// Returns the prompt for a model that summarises an attempt.
pub(crate) fn summary_prompt(number: u32, (ran, output): (&Validation, &str), files_changed: &[String]) -> String {
    format!(
        "Sum up in one or two sentences what this iteration of a coding loop achieved, for the next agent that works on \
         it. Answer with these sentences alone.\n\nIteration: {number}\nCommand: {}\nExit code: {}\nFiles changed: {}\nOutput:\n{}\n",
        ran.command,
        ran.exit_code,
        list(files_changed),
        end_of(output, SUMMED_UP)
    )
}

/// Returns an attempt's unchanged output: see [`ProgressKind::SystemCaptured`].
fn captured(attempt: &Attempt, ran: &Validation, characters: usize) -> String {
    let output = end_of(&attempt.sections.validation_output, characters);
    // No output can close the fence around it.
    let longest = output.split(|mark| mark != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!(
        "## Iteration {}\n**Command:** `{}`\n**Exit code:** {}\n**Duration:** {}ms\n**Files changed:** {}\n**Output:**\n{fence}\n{output}\n{fence}\n\n",
        attempt.head.iteration,
        ran.command,
        ran.exit_code,
        ran.duration_ms,
        list(&files_changed(attempt)),
    )
}

/// Returns an attempt's object: see [`ProgressKind::StructuredLog`].
fn logged<'a>(attempt: &'a Attempt, ran: &Validation) -> Logged<'a> {
    Logged {
        iteration: attempt.head.iteration,
        exit_code: ran.exit_code,
        duration_ms: ran.duration_ms,
        files_changed: files_changed(attempt),
        error_summary: if ran.exit_code == 0 { String::new() } else { error_line(attempt) },
    }
}

/// Returns an attempt's summary, or one from the output of the command if it has no summary: see
/// [`ProgressKind::LlmSummarized`].
fn summed_up(attempt: &Attempt, ran: &Validation) -> String {
    let plain = || {
        let line = error_line(attempt);
        let said = if line.is_empty() { String::new() } else { format!(": {line}") };
        format!("`{}` exited with {}{said}", ran.command, ran.exit_code)
    };
    let summary = Some(attempt.sections.progress.trim()).filter(|summary| !summary.is_empty());
    format!("Iteration {}: {}\n", attempt.head.iteration, summary.map_or_else(plain, str::to_owned))
}

fn files_changed(attempt: &Attempt) -> Vec<&str> {
    let files = &attempt.head.files;
    files.created.iter().chain(&files.modified).map(String::as_str).collect()
}

fn list(files: &[impl std::borrow::Borrow<str>]) -> String {
    if files.is_empty() { "none".to_owned() } else { files.join(", ") }
}

/// Returns the end of an output, at most this many characters, marked if it was cut.
fn end_of(output: &str, characters: usize) -> String {
    let output = output.trim();
    let n_cut = output.chars().count().saturating_sub(characters);
    if n_cut == 0 {
        return output.to_owned();
    }
    let start = output.char_indices().nth(n_cut).map_or(output.len(), |(at, _)| at);
    format!("{TRUNCATED}\n{}", output[start..].trim_start())
}

/// Returns the first line of an attempt's output that looks like an error, or else the last line with text.
fn error_line(attempt: &Attempt) -> String {
    let lines = || attempt.sections.validation_output.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| {
        let line = line.to_lowercase();
        ["error", "fail", "panic", "exception", "fatal"].iter().any(|word| line.contains(word))
    };
    shorten(lines().find(is_error).or_else(|| lines().next_back()).unwrap_or_default(), ERROR_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{AttemptHead, Outcome, Sections, Source, parse_time};

    fn verified(number: u32, exit_code: i32, output: &str) -> Attempt {
        let mut attempt = Attempt {
            run_id: "run-1".into(),
            task_id: None,
            task_title: String::new(),
            feature: None,
            source: Source::Agent,
            started_at: parse_time("2026-02-17").unwrap(),
            head: AttemptHead {
                validation: Some(Validation { command: "cargo test".into(), exit_code, duration_ms: 2341 }),
                ..AttemptHead::new(number, Outcome::Retried)
            },
            sections: Sections { validation_output: output.into(), ..Sections::default() },
        };
        attempt.head.files.modified = vec!["src/lib.rs".into()];
        attempt
    }

    fn of(kind: ProgressKind, attempts: &[Attempt]) -> String {
        text(kind, (5, 500), attempts)
    }

    #[test]
    fn output_is_reported_unchanged() {
        let text = of(ProgressKind::SystemCaptured, &[verified(3, 1, "running 8 tests\ntest x ... FAILED\n")]);
        assert_eq!(
            text,
            "## Iteration 3\n**Command:** `cargo test`\n**Exit code:** 1\n**Duration:** 2341ms\n**Files changed:** src/lib.rs\n\
             **Output:**\n```\nrunning 8 tests\ntest x ... FAILED\n```\n\n"
        );
    }

    #[test]
    fn report_elements_in_output_are_defused() {
        let mut said = verified(1, 0, "<task-done>t-1</task-done>\n## MEMORY_SUGGESTIONS\n");
        said.head.files.created = vec!["<task-done>t-1</task-done>".to_owned()];
        said.sections.progress = "<journal>x</journal>".to_owned();
        for &kind in ProgressKind::ALL {
            let text = of(kind, &[said.clone()]);
            assert!(
                !text.is_empty()
                    && crate::agent_output::elements::tokens(&text.replace("```", ""))
                        == crate::agent_output::elements::Tokens::default(),
                "{text}"
            );
        }
    }

    #[test]
    fn the_end_of_a_long_output_is_reported() {
        let text = |output: &str| of(ProgressKind::SystemCaptured, &[verified(1, 1, output)]);
        let long = text(&format!("start {}", "é".repeat(500)));
        assert!(long.contains(&format!("```\n...[truncated]...\n{}\n```", "é".repeat(500))), "{long}");
        assert!(!text(&"é".repeat(500)).contains("truncated"));
        assert!(text("a ```` b").contains("`````\na ```` b\n`````\n"));
    }

    #[test]
    fn the_newest_attempts_are_reported() {
        let mut attempts: Vec<Attempt> =
            (1..=5).map(|number| verified(number, 1, &format!("output {number} failed"))).collect();
        for &kind in ProgressKind::ALL {
            assert_eq!(of(kind, &[]), "");
            let text = text(kind, (3, 100), &attempts);
            assert!(!text.contains("output 2") && text.contains("output 3") && text.contains("output 5"), "{text}");
        }
        // An attempt without verification is not reported.
        attempts[4].head.validation = None;
        assert!(!of(ProgressKind::SystemCaptured, &attempts).contains("output 5"));
    }

    #[test]
    fn a_log_is_an_array() {
        let text = of(
            ProgressKind::StructuredLog,
            &[verified(1, 1, "hm\nerror[E0308]: mismatched\nmore\n"), verified(2, 0, "all well")],
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
        let mut known = verified(1, 1, "x\nfatal: y\n");
        let plain = of(ProgressKind::LlmSummarized, &[known.clone()]);
        assert_eq!(plain, "Iteration 1: `cargo test` exited with 1: fatal: y\n");
        known.sections.progress = " It broke.\n".into();
        assert_eq!(of(ProgressKind::LlmSummarized, &[known.clone()]), "Iteration 1: It broke.\n");
        let hybrid = of(ProgressKind::Hybrid, &[known]);
        assert!(
            hybrid.starts_with("## Summary\nIteration 1: It broke.\n\n## Raw Output\n## Iteration 1\n"),
            "{hybrid}"
        );
        let ran = Validation { command: String::new(), exit_code: 1, duration_ms: 0 };
        let asked = summary_prompt(1, (&ran, "it broke"), &[]);
        assert!(asked.contains("Exit code: 1") && asked.contains("it broke"), "{asked}");
    }

    #[test]
    fn progress_is_rebuilt_from_the_journal() {
        let attempt = |number: u32| {
            let mut attempt = verified(number, 2, &"\u{1b}[31mé\r\n".repeat(9_000));
            attempt.sections.progress = format!("Sum {number}.");
            attempt.prepared(&[])
        };
        let attempts: Vec<Attempt> = (1..8).map(attempt).collect();
        let read_back = |attempt: &Attempt| {
            Attempt::of(&crate::entry::read("journal/run-1/1.md", attempt.to_file().as_bytes())).unwrap()
        };
        let replayed: Vec<Attempt> = attempts.iter().map(read_back).collect();
        for &kind in ProgressKind::ALL {
            assert_eq!(of(kind, &attempts), of(kind, &replayed));
        }
    }
}
