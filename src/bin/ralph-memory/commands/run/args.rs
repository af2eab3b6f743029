//! The options of `run`, and those that a resumed run takes over.

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgGroup;
use ralph_memory::Task;
use ralph_memory::runner::Assignment;
use ralph_memory::settings::{ProgressKind, Strategy};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::UsageError;
use crate::parse::{self, OutputFormat};

/// Let an agent work on a task, attempt after attempt, until it is done; exit code 1 when it is not
///
/// A task is done when its agent reports `<task-done>` and the command of `--verify`, if there is one, exits with 0. The
/// line at the end of an attempt says why its task is not done.
#[derive(Debug, Clone, clap::Args)]
#[command(group = ArgGroup::new("work").args(["task", "task_file", "resume"]).required(true).multiple(true))]
#[command(
    after_help = "The agent can be any command. It gets the prompt on standard input, or in a file if its command
names {prompt_file}, and reports in its output what the context's instructions ask for. Arguments
may hold {model}, {prompt_file}, {task_id}, {run_id} and {attempt}; the environment has RALPH_TASK_ID,
RALPH_RUN_ID and RALPH_ATTEMPT, and RALPH_MODEL if the command or a script in it reads that:
without it and {model}, the agent keeps its own model. Commands are split as a shell would split
them, and run without one in the folder that holds .ralph/, without a terminal.

The agent's output may be plain text or the events of Claude Code (`--output-format stream-json
--verbose`), Codex (`exec --json`) or opencode (`run --format json`), from which files, errors,
cost, tokens and a summary are taken. Lines of JSON in another format end the run; `--format text`
accepts them.

A prompt file is text with {{task}}, {{context}}, {{progress}}, {{task_id}},
{{task_title}}, {{model}}, {{attempt}}, {{run_id}}, and {{#if progress}} … {{/if}}.

Ctrl-C ends the agent, records the attempt as interrupted and asks what the next one should
know; a second Ctrl-C kills the agent, saves its output, and ends everything within two seconds.

Examples:
  ralph-memory run --task \"Add tables\" --agent \"claude -p --model {model}\" \\
    --verify \"cargo test\"
  ralph-memory run --task-file TODO.md --agent \"codex exec --model {model} -\" \\
    --verify \"sh -c 'make && make check'\"
  ralph-memory run --task-file TODO.md --agent \"./agent.sh {prompt_file}\" \\
    --prompt prompt.md --strategy escalate
  ralph-memory run --resume --max-iterations 0"
)]
pub(crate) struct RunArgs {
    /// What to do, in one line
    #[arg(long, value_name = "TITLE", allow_hyphen_values = true, conflicts_with = "task_file")]
    pub(super) task: Option<String>,
    /// The task's id: letters, digits, `.`, `_` and `-`, at most 64 [default: derived from the title]
    #[arg(long, value_name = "ID", value_parser = parse::task_id, requires = "task", conflicts_with = "task_file")]
    pub(super) task_id: Option<String>,
    /// What to do, in detail
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true,
        requires = "task",
        conflicts_with = "task_file"
    )]
    pub(super) description: String,
    /// A file that it touches, relative to the working folder; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    pub(super) files: Vec<String>,
    /// Resume the last run that was started here, with its options; options given now override them. Without a task, it
    /// resumes the checklist or the last task
    #[arg(long)]
    pub(super) resume: bool,
    #[command(flatten)]
    pub(super) settings: RunSettings,
}

/// The options that a run which resumes this one takes over; omitted ones are absent.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RunSettings {
    /// A markdown checklist: its first open box is the task, and is ticked when that is done
    #[arg(long, value_name = "FILE")]
    pub(super) task_file: Option<PathBuf>,
    /// The feature that the task belongs to
    #[arg(long, value_name = "NAME")]
    pub(super) feature: Option<String>,
    /// The section that the task belongs to
    #[arg(long, value_name = "ID")]
    pub(super) section: Option<String>,
    /// The command of the agent [default: the setting `run.agent` of your own settings]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(super) agent: Option<String>,
    /// The command that confirms that a task is done, if its agent reports `<task-done>`: its exit code is 0 [default: the
    /// setting `run.verify`; without one the agent's word counts]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(super) verify: Option<String>,
    /// The command that summarises an attempt, for `llm-summarized` and `hybrid` [default: the setting
    /// `run.summarize`]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(super) summarize: Option<String>,
    /// The format of the agent's output [default: auto]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(super) format: Option<OutputFormat>,
    /// How the model is chosen: fixed, cost-optimized, escalate or plan-then-execute [default: the setting
    /// `strategy.name`]
    #[arg(long, value_name = "NAME")]
    pub(super) strategy: Option<Strategy>,
    /// How a prompt describes the progress of a run: system-captured, structured-log, llm-summarized or hybrid [default:
    /// the setting `progress.strategy`]
    #[arg(long, value_name = "NAME")]
    pub(super) progress: Option<ProgressKind>,
    /// The newest attempts that the progress covers [default: the setting `progress.entries`]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::positive::<usize>)]
    pub(super) progress_entries: Option<usize>,
    /// The characters of each attempt's output that the progress shows [default: the setting `progress.characters`]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::count::<usize>)]
    pub(super) progress_characters: Option<usize>,
    /// At most this many attempts; 0 for no limit [default: 10, or the setting `run.max_iterations`]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::count::<u32>)]
    pub(super) max_iterations: Option<u32>,
    /// At most this many attempts at one task [default: no limit, or the setting `run.max_attempts`]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::positive::<u32>)]
    pub(super) max_attempts: Option<u32>,
    /// How long the agent may take for an attempt: 90s, 30m, 2h; then it is ended as by Ctrl-C, the attempt is
    /// `blocked`, and the run continues
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    pub(super) timeout: Option<Duration>,
    /// How long verification may take; after that, it counts as failed
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    pub(super) verify_timeout: Option<Duration>,
    /// Begin no further attempt once the run has cost this many US dollars, according to its journal
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = parse::dollars)]
    pub(super) max_cost: Option<f64>,
    /// Begin no further attempt once the run has used this many tokens, in and out
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::positive::<u64>)]
    pub(super) max_tokens: Option<u64>,
    /// Continue if the agent cannot work: after three crashes in a row, with a pause that doubles from 10 seconds to 15
    /// minutes; at a usage limit, once it ends. Otherwise, the run ends
    #[arg(long)]
    pub(super) keep_going: bool,
    /// A template for the prompt, with `{{context}}` and other values
    #[arg(long, value_name = "FILE")]
    pub(super) prompt: Option<PathBuf>,
    /// Keep each agent's full output in this folder, one file per attempt. Secrets are not redacted there
    #[arg(long, value_name = "FOLDER")]
    pub(super) log: Option<PathBuf>,
    /// Do not connect the agent to the memory's MCP server. Otherwise, Claude Code, Codex and opencode get it with
    /// their command, and permission to use its tools
    #[arg(long)]
    pub(super) no_mcp: bool,
    /// At most this many tokens of context, by an estimate that is on the high side [default: those of 27,000
    /// characters plus the task and the fixed instructions]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::count::<usize>)]
    pub(super) tokens: Option<usize>,
}

impl RunArgs {
    /// Returns the work: a task, the open boxes of a file, or the last task of the resumed run, which `last` returns.
    pub(super) fn assignment(&self, last: impl FnOnce() -> Result<Task, UsageError>) -> Result<Assignment, UsageError> {
        let (feature, section, files) =
            (self.settings.feature.clone(), self.settings.section.clone(), self.files.clone());
        Ok(match (&self.task, &self.settings.task_file) {
            (Some(title), _) if title.trim().is_empty() => {
                let hint = "say in a line what is to be done: `--task \"Speed up the catalog scan\"`".to_owned();
                return Err(UsageError { message: "the task's title is empty".to_owned(), hint });
            }
            (Some(title), _) => Assignment::Task(Task {
                title: title.clone(),
                description: self.description.clone(),
                id: Some(self.task_id.clone().unwrap_or_else(|| Task::id_of_title(title))),
                feature,
                section,
                files,
            }),
            (None, Some(path)) => {
                let like = Task { feature, section, files, ..Task::default() };
                Assignment::Checklist { path: path.clone(), like }
            }
            (None, None) => {
                let last = last()?;
                let (feature, section) = (feature.or(last.feature), section.or(last.section));
                Assignment::Task(Task { feature, section, files, ..last })
            }
        })
    }

    /// Returns the options, completed by those of the resumed run.
    pub(super) fn resumed(&self, saved: &RunSettings) -> RunArgs {
        let of_task = ["task_file", "feature", "section"];
        let has_task = self.task.is_some() || self.settings.task_file.is_some();
        let mut merged = fields(saved);
        merged.retain(|name, _| !(has_task && of_task.contains(&name.as_str())));
        merged.extend(fields(&self.settings));
        // Both are the fields of one type.
        let settings = serde_json::from_value(merged.into()).unwrap_or_else(|_| self.settings.clone());
        RunArgs { settings, ..self.clone() }
    }
}

impl RunSettings {
    /// Returns the options with full paths, since a run may be resumed from another folder.
    pub(super) fn with_full_paths(&self) -> RunSettings {
        let mut full = self.clone();
        for path in [&mut full.prompt, &mut full.log, &mut full.task_file].into_iter().flatten() {
            *path = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        }
        full
    }
}

fn fields(settings: &RunSettings) -> Map<String, Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(settings) else { return Map::new() };
    fields.retain(|_, value| !matches!(value, Value::Null | Value::Bool(false)));
    fields
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct RunLine {
        #[command(flatten)]
        args: RunArgs,
    }

    fn parse(arguments: &[&str]) -> Result<RunArgs, String> {
        RunLine::try_parse_from([&["run"], arguments].concat()).map(|line| line.args).map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_has_a_task_a_checklist_or_one_to_resume() {
        let last = Task { feature: Some("g".into()), files: vec!["b".into()], ..Task::new("Last") };
        let check = |arguments: &[&str], expected: Assignment| {
            assert_eq!(parse(arguments).unwrap().assignment(|| Ok(last.clone())).unwrap(), expected, "{arguments:?}");
        };
        let task = |title: &str| Task { id: Some(Task::id_of_title(title)), ..Task::new(title) };
        let checklist = |path: &str, like: Task| Assignment::Checklist { path: path.into(), like };
        let section = Task { section: Some("s".into()), ..Task::default() };
        check(&["--task", "Add it"], Assignment::Task(task("Add it")));
        check(&["--task", "Add it", "--resume"], Assignment::Task(task("Add it")));
        check(
            &["--task", "x", "--task-id", "t-1", "--description", "-y", "--feature", "f", "--file", "a"],
            Assignment::Task(Task {
                id: Some("t-1".into()),
                description: "-y".into(),
                feature: Some("f".into()),
                files: vec!["a".into()],
                ..Task::new("x")
            }),
        );
        check(&["--task-file", "a.md", "--section", "s"], checklist("a.md", section.clone()));
        check(&["--resume", "--task-file", "a"], checklist("a", Task::default()));
        // The files are those of this run.
        check(&["--resume"], Assignment::Task(Task { files: Vec::new(), ..last.clone() }));
        let other = Task { feature: Some("f".into()), files: vec!["a".into()], ..last.clone() };
        check(
            &["--resume", "--section", "s", "--feature", "f", "--file", "a"],
            Assignment::Task(Task { section: section.section.clone(), ..other }),
        );
    }

    #[test]
    fn contradictory_options_are_refused() {
        #[track_caller]
        fn check(arguments: &[&str], part: &str) {
            let error = parse(arguments).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        check(&[], "--task <TITLE>|--task-file <FILE>|--resume");
        check(&["--task", "x", "--task-file", "a.md"], "cannot be used with");
        check(&["--task-file", "a.md", "--task-id", "t-1"], "cannot be used with");
        check(&["--task-file", "a.md", "--description", "x"], "cannot be used with");
        check(&["--resume", "--description", "x"], "--task <TITLE>");
        check(&["--task", "x", "--strategy", "cheap"], "cost-optimized");
        check(&["--task", "x", "--progress", "none"], "system-captured");
        check(&["--task", "x", "--max-iterations", "many"], "--max-iterations");
        check(&["--task", "x", "--max-attempts", "0"], "--max-attempts");
        check(&["--task", "x", "--max-cost", "0"], "over 0");
        check(&["--task", "x", "--max-cost", "inf"], "over 0");
        check(&["--task", "x", "--timeout", "90"], "90s, 30m, 2h");
        let empty = parse(&["--task", " "]).unwrap().assignment(|| Ok(Task::default())).unwrap_err();
        assert_eq!(empty.message, "the task's title is empty");
    }

    #[test]
    fn a_resumed_run_takes_over_what_is_not_given() {
        let saved = parse(&["--task-file", "a.md", "--feature", "f", "--agent", "a", "--no-mcp", "--timeout", "2m"]);
        let saved = saved.unwrap().settings;
        let resumed =
            |arguments: &[&str]| parse(&[&["--resume"], arguments].concat()).unwrap().resumed(&saved).settings;
        assert_eq!(resumed(&[]), saved);
        let verified = RunSettings { verify: Some("v".into()), agent: Some("b".into()), ..saved.clone() };
        assert_eq!(resumed(&["--verify", "v", "--agent", "b"]), verified);
        assert_eq!(resumed(&["--task", "x"]), RunSettings { task_file: None, feature: None, ..saved.clone() });
        let other = RunSettings { task_file: Some("b.md".into()), feature: None, ..saved.clone() };
        assert_eq!(resumed(&["--task-file", "b.md"]), other);
    }
}
