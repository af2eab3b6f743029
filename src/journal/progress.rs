//! The progress of a run, as text for the next prompt.
//!
//! Every attempt begins with an empty context, so it gets a report of the attempts before it: a [`ProgressStrategy`]
//! writes what replaces `{{progress}}` in a prompt template. The report is the output of the verification command, because
//! a model cannot argue with an exit status. Pure: it is computed from the journal alone, so it is the same after a crash.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use serde::Serialize;

use crate::agent_output::elements::defuse;
use crate::entry::{Attempt, Validation};
use crate::open::Memory;
use crate::text::{for_terminal, shorten};

pub(crate) use crate::settings::ProgressKind;

/// Marks an output whose beginning was cut off.
const TRUNCATED: &str = "...[truncated]...";
/// The length of the line that names the error, in characters.
const ERROR_LINE: usize = 200;
/// How much of an output is summarised, in characters.
const SUMMED_UP: usize = 8_000;

/// An attempt in a [`StructuredLogProgress`].
#[derive(Serialize)]
struct Logged<'a> {
    iteration: u32,
    exit_code: i32,
    duration_ms: u64,
    files_changed: &'a [String],
    error_summary: String,
}

/// A verified attempt of a run.
///
/// ```
/// use ralph_memory::runner::{IterationContext, ProgressStrategy, SystemCapturedProgress};
/// let mut progress = SystemCapturedProgress::with_limits(5, 500);
/// let (exit_code, output) = (1, "test login ... FAILED".to_owned());
/// progress.record(&IterationContext { iteration: 3, exit_code, output, ..IterationContext::default() });
/// assert!(progress.get_progress().starts_with("## Iteration 3\n"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IterationContext {
    /// Its number in the run, from 1.
    pub iteration: u32,
    /// The command that verified it.
    pub validation_command: String,
    /// The exit status of that command.
    pub exit_code: i32,
    /// What the command printed, without secrets.
    pub output: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The files that the attempt created or changed.
    pub files_changed: Vec<String>,
    /// A model's summary of the attempt; empty if there is none.
    pub summary: String,
}

/// How the attempts of a run become the progress in the next prompt.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::runner::{IterationContext, ProgressStrategy};
///
/// #[derive(Debug, Default)]
/// struct ExitCodes(Vec<i32>);
///
/// impl ProgressStrategy for ExitCodes {
///     fn record(&mut self, context: &IterationContext) -> String {
///         self.0.push(context.exit_code);
///         context.exit_code.to_string()
///     }
///     fn get_progress(&self) -> String {
///         self.0.iter().map(|code| format!("{code}\n")).collect()
///     }
///     fn clear(&mut self) {
///         self.0.clear();
///     }
///     fn len(&self) -> usize {
///         self.0.len()
///     }
/// }
/// # let folder = tempfile::tempdir()?;
/// # Memory::init(folder.path())?;
/// # let memory = Memory::open(folder.path())?;
/// assert_eq!(memory.progress("run-1", &mut ExitCodes::default()), "");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ProgressStrategy: Debug + Send {
    /// Adds an attempt, and returns its part of the progress.
    fn record(&mut self, context: &IterationContext) -> String;

    /// Returns the progress, oldest attempt first; empty if there is none.
    fn get_progress(&self) -> String;

    /// Forgets all attempts.
    fn clear(&mut self);

    /// Returns how many attempts the progress covers.
    fn len(&self) -> usize;

    /// Returns whether it covers none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether it uses summaries, which a command has to write.
    fn needs_summary(&self) -> bool {
        false
    }
}

/// Declares the strategies: the word for each, what it says of an attempt, in two parts, and how it puts all parts
/// together.
macro_rules! strategies {
    ($($(#[$doc:meta])* $name:ident = $kind:ident: $of_attempt:expr, $of_all:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone)]
            pub struct $name {
                attempts: VecDeque<[String; 2]>,
                most: usize,
                characters: usize,
            }

            impl $name {
                /// Returns one that covers so many of the newest attempts, with so many characters of each output.
                pub fn with_limits(max_entries: usize, max_output_chars: usize) -> $name {
                    $name { attempts: VecDeque::new(), most: max_entries, characters: max_output_chars }
                }
            }

            impl ProgressStrategy for $name {
                fn record(&mut self, context: &IterationContext) -> String {
                    let parts: [String; 2] = $of_attempt(context, self.characters);
                    let text = parts.concat();
                    self.attempts.push_back(parts);
                    if self.attempts.len() > self.most {
                        self.attempts.pop_front();
                    }
                    text
                }

                fn get_progress(&self) -> String {
                    let part = |at: usize| -> Vec<&str> { self.attempts.iter().map(|parts| parts[at].as_str()).collect() };
                    if self.is_empty() { String::new() } else { $of_all(&part(0), &part(1)) }
                }

                fn clear(&mut self) {
                    self.attempts.clear();
                }

                fn len(&self) -> usize {
                    self.attempts.len()
                }

                fn needs_summary(&self) -> bool {
                    matches!(ProgressKind::$kind, ProgressKind::LlmSummarized | ProgressKind::Hybrid)
                }
            }
        )*

        impl ProgressKind {
            /// Returns the strategy of this name, with its limits: attempts, and characters of each output.
            pub fn strategy(self, max_entries: usize, max_output_chars: usize) -> Arc<Mutex<dyn ProgressStrategy>> {
                match self {
                    $(ProgressKind::$kind => {
                        Arc::new(Mutex::new($name::with_limits(max_entries, max_output_chars)))
                    })*
                }
            }
        }
    };
}

strategies! {
    /// What the command printed, as it is.
    SystemCapturedProgress = SystemCaptured: |context, most| [captured(context, most), String::new()], joined;
    /// A JSON object for each attempt.
    StructuredLogProgress = StructuredLog: |context, _| [logged(context), String::new()], listed;
    /// A model's summary of each attempt, or the most telling line of its output.
    LlmSummarizedProgress = LlmSummarized: |context, _| [summed_up(context), String::new()], joined;
    /// The summaries, then what the command printed.
    HybridProgress = Hybrid: |context, most| [summed_up(context), captured(context, most)], with_headings;
}

fn joined(parts: &[&str], _: &[&str]) -> String {
    parts.concat()
}

fn with_headings(summaries: &[&str], outputs: &[&str]) -> String {
    format!("## Summary\n{}\n## Raw Output\n{}", summaries.concat(), outputs.concat())
}

fn listed(objects: &[&str], _: &[&str]) -> String {
    format!("[\n  {}\n]", objects.join(",\n").replace('\n', "\n  "))
}

impl Memory {
    /// Returns what a strategy says of the run's verified iterations so far, for the next prompt. Empty if none was
    /// verified. Summaries come from the [`Sections`](crate::entry::Sections) of each attempt.
    ///
    /// ```
    /// use ralph_memory::entry::{Sections, Validation};
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::runner::LlmSummarizedProgress;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let run = memory.new_run();
    /// let attempt = memory.begin(&Task::new("Sort the imports"), &run)?;
    /// let validation = Some(Validation { command: "isort --check".into(), exit_code: 1, duration_ms: 80 });
    /// let sections = Sections { validation_output: "2 files would change".into(), ..Sections::default() };
    /// memory.finish(&attempt, &Report { validation, sections, ..Report::default() })?;
    /// let progress = memory.progress(&run.id, &mut LlmSummarizedProgress::with_limits(5, 500));
    /// assert_eq!(progress, "Iteration 1: `isort --check` exited with 1: 2 files would change\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(&self, run_id: &str, strategy: &mut dyn ProgressStrategy) -> String {
        let attempts: Vec<_> = self.attempts_of_run(run_id).into_iter().map(|(_, attempt)| attempt).collect();
        text(strategy, &attempts)
    }
}

/// Returns what a strategy says of the verified attempts among these, oldest first, with report elements defused.
fn text(strategy: &mut dyn ProgressStrategy, attempts: &[Attempt]) -> String {
    strategy.clear();
    for attempt in attempts {
        let Some(ran) = &attempt.head.validation else { continue };
        let files = &attempt.head.files;
        strategy.record(&IterationContext {
            iteration: attempt.head.iteration,
            validation_command: ran.command.clone(),
            exit_code: ran.exit_code,
            output: attempt.sections.validation_output.clone(),
            duration_ms: ran.duration_ms,
            files_changed: files.created.iter().chain(&files.modified).cloned().collect(),
            summary: attempt.sections.progress.clone(),
        });
    }
    // File names and output may come from anywhere.
    for_terminal(&defuse(&strategy.get_progress()))
}

/// Returns an attempt's unchanged output.
fn captured(context: &IterationContext, characters: usize) -> String {
    let output = end_of(&context.output, characters);
    // No output can close the fence around it.
    let longest = output.split(|mark| mark != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!(
        "## Iteration {}\n**Command:** `{}`\n**Exit code:** {}\n**Duration:** {}ms\n**Files changed:** {}\n**Output:**\n{fence}\n{output}\n{fence}\n\n",
        context.iteration,
        context.validation_command,
        context.exit_code,
        context.duration_ms,
        list(&context.files_changed),
    )
}

/// Returns an attempt's object.
fn logged(context: &IterationContext) -> String {
    let IterationContext { iteration, exit_code, duration_ms, files_changed, output, .. } = context;
    let error_summary = if *exit_code == 0 { String::new() } else { error_line(output) };
    // Numbers, texts and lists of texts can always be serialised.
    serde_json::to_string_pretty(&Logged {
        iteration: *iteration,
        exit_code: *exit_code,
        duration_ms: *duration_ms,
        files_changed,
        error_summary,
    })
    .unwrap_or_default()
}

/// Returns an attempt's summary, or one from the output of the command if it has no summary.
fn summed_up(context: &IterationContext) -> String {
    let plain = || {
        let line = error_line(&context.output);
        let said = if line.is_empty() { String::new() } else { format!(": {line}") };
        format!("`{}` exited with {}{said}", context.validation_command, context.exit_code)
    };
    let summary = Some(context.summary.trim()).filter(|summary| !summary.is_empty());
    format!("Iteration {}: {}\n", context.iteration, summary.map_or_else(plain, str::to_owned))
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

/// Returns the first line of an output that looks like an error, or else the last line with text.
fn error_line(output: &str) -> String {
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
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
        limited(kind, (5, 500), attempts)
    }

    fn limited(kind: ProgressKind, (entries, characters): (usize, usize), attempts: &[Attempt]) -> String {
        text(&mut *kind.strategy(entries, characters).lock().unwrap(), attempts)
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
                    && crate::agent_output::elements::tokens(&text.replace("```", ""), true)
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
            let text = limited(kind, (3, 100), &attempts);
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
