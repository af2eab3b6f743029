//! `run`: lets an agent work on tasks until they are done.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum as _;
use ralph_memory::error::Severity;
use ralph_memory::memory::{ProcessIdentity, Run, Tended, record_command};
use ralph_memory::progress::ProgressKind;
use ralph_memory::strategy::{MODELS, Strategy};
use ralph_memory::{Budget, Error, Memory, Problem, Task};

use crate::error::{Exit, Usage};
use crate::parse::{self, Format};
use crate::project_paths;
use crate::running::command::CommandLine;
use crate::running::drive::{Around, Driven, Plan, Stop, Work, drive};
use crate::running::feedback;
use crate::running::interrupt::Interrupt;
use crate::running::keeper::{Journal, Summarize};
use crate::running::live::{Live, Shown};
use crate::running::log::Log;
use crate::running::options::Kept;
use crate::running::process::Patience;
use crate::running::prompt::Template;
use crate::running::resume::begin;
use crate::running::setup;
use crate::running::summary::Summary;
use crate::session::Globals;
use crate::ui::Ui;

/// Let an agent work on a task, iteration after iteration, until it is done; exit code 1 when it is not
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "The agent is any command. It gets the prompt on standard input, or in a file where its command
names {prompt_file}, and says in its output what the context's instructions ask for. Arguments may
hold {model}, {prompt_file}, {task_id}, {run_id} and {iteration}; the environment has RALPH_MODEL,
RALPH_TASK_ID, RALPH_RUN_ID and RALPH_ITERATION. Commands are split as a shell would split them, and
run without one in the folder that holds .ralph/, without a terminal.

The agent's output may be plain text or the events of Claude Code (`--output-format stream-json
--verbose`), Codex (`exec --json`) or opencode (`run --format json`), from which files, errors, cost,
tokens and a summary are taken. Lines of JSON in another format end the run: say `--format text` for them.

A prompt file is a Handlebars template: {{task}}, {{context}}, {{progress}}, {{task_id}},
{{task_title}}, {{model}}, {{iteration}}, {{run_id}}, and {{#if progress}} … {{/if}}.

Ctrl-C ends the agent, writes the iteration down as interrupted and asks what the next one should
know; a second Ctrl-C kills the agent, writes down what it said, and ends everything within two seconds.

Examples:
  ralph-memory run --task \"Speed up the catalog scan\" --agent \"claude -p --model {model}\" --verify \"cargo test\"
  ralph-memory run --task-file TODO.md --agent \"codex exec --model {model} -\" --verify \"sh -c 'make && make check'\"
  ralph-memory run --task-file TODO.md --agent \"./agent.sh {prompt_file}\" --prompt prompt.md --strategy escalate
  ralph-memory run --resume --max-iterations 0")]
pub(crate) struct Args {
    /// What is to be done, in a line
    #[arg(
        long,
        value_name = "TITLE",
        allow_hyphen_values = true,
        conflicts_with = "task_file",
        required_unless_present_any = ["task_file", "resume"]
    )]
    task: Option<String>,
    /// A markdown checklist: its first open box is the task, and is ticked when that is done
    #[arg(long, value_name = "FILE")]
    task_file: Option<PathBuf>,
    /// The task's id: letters, digits, `.`, `_` and `-`, at most 64 [default: made of the title]
    #[arg(long, value_name = "ID", value_parser = parse::task_id, requires = "task", conflicts_with = "task_file")]
    task_id: Option<String>,
    /// What is to be done, at length
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true,
        requires = "task",
        conflicts_with = "task_file"
    )]
    description: String,
    /// The feature that the task belongs to
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// The section that the task belongs to
    #[arg(long, value_name = "ID")]
    section: Option<String>,
    /// A file that it touches, relative to the working folder; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// The command of the agent [default: the setting `run.agent` of your own settings]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    agent: Option<String>,
    /// The command that says whether a task is done: its exit code is 0 [default: the setting `run.verify`;
    /// without one the agent's word counts]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    verify: Option<String>,
    /// The command that sums up what it reads, for `llm-summarized` and `hybrid` [default: the setting
    /// `run.summarize`]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    summarize: Option<String>,
    /// How the agent's output is written [default: auto]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// How the model is chosen [default: the setting `strategy.name`]
    #[arg(long, value_name = "NAME", value_parser = parse::strategy)]
    strategy: Option<Strategy>,
    /// How the progress of a run is told to a prompt [default: the setting `progress.strategy`]
    #[arg(long, value_name = "NAME", value_parser = parse::progress)]
    progress: Option<ProgressKind>,
    /// At most so many iterations; 0 for as many as it takes [default: 10, or the setting `run.max_iterations`]
    #[arg(long, value_name = "N")]
    max_iterations: Option<u32>,
    /// At most so many attempts at one task [default: as many as there are iterations, or the setting
    /// `run.max_attempts`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: Option<u32>,
    /// The longest that the agent may take in an iteration: 90s, 30m, 2h; then it is ended as by Ctrl-C, the attempt is
    /// `blocked`, and the run goes on
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    timeout: Option<Duration>,
    /// The longest that verification may take; then it has failed
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    verify_timeout: Option<Duration>,
    /// Begin no further iteration when the run has cost so many US dollars, by what its journal says
    #[arg(long, value_name = "USD", value_parser = parse::dollars)]
    max_cost: Option<f64>,
    /// Begin no further iteration when the run has taken so many tokens, in and out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// A Handlebars template to make the prompt with
    #[arg(long, value_name = "FILE")]
    prompt: Option<PathBuf>,
    /// Keep each agent's whole output in this folder, one file an iteration. Secrets are not redacted there
    #[arg(long, value_name = "FOLDER")]
    log: Option<PathBuf>,
    /// Resume the newest run with the options that it was started with; options given now win. Without a task it
    /// resumes the checklist or the last task
    #[arg(long)]
    resume: bool,
    /// At most so many characters of context [default: 27,000 and the fixed instructions]
    #[arg(long, value_name = "N", conflicts_with = "tokens")]
    budget: Option<usize>,
    /// At most so many tokens of context, by an estimate that is rather too high
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
}

/// Where the tasks of a run come from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    /// This is the task.
    Task(Task),
    /// The boxes of this file are; feature, section and paths are those of the task beside it.
    Checklist(PathBuf, Task),
    /// The last task of the resumed run is; the same of it.
    Last(Task),
}

impl Args {
    /// Returns what is to be done.
    fn wanted(&self) -> Result<Wanted, Usage> {
        let common = Task {
            feature: self.feature.clone(),
            section: self.section.clone(),
            files: self.files.clone(),
            ..Task::default()
        };
        Ok(match (&self.task, &self.task_file) {
            (Some(title), _) if title.trim().is_empty() => {
                let hint = "say in a line what is to be done: `--task \"Speed up the catalog scan\"`".to_owned();
                return Err(Usage { message: "the task's title is empty".to_owned(), hint });
            }
            (Some(title), _) => Wanted::Task(Task {
                title: title.clone(),
                description: self.description.clone(),
                id: Some(self.task_id.clone().unwrap_or_else(|| Task::id_of_title(title))),
                ..common
            }),
            (None, Some(path)) => Wanted::Checklist(path.clone(), common),
            (None, None) => Wanted::Last(common),
        })
    }

    /// Returns what is to be kept of it, for a run that goes on.
    fn kept(&self, run_id: &str) -> Kept {
        let full = |path: &Option<PathBuf>| path.as_ref().map(|path| std::path::absolute(path).unwrap_or(path.clone()));
        let format = self.format.and_then(|format| format.to_possible_value());
        Kept {
            run_id: run_id.to_owned(),
            agent: self.agent.clone(),
            verify: self.verify.clone(),
            summarize: self.summarize.clone(),
            format: format.map(|format| format.get_name().to_owned()),
            strategy: self.strategy.map(|strategy| strategy.as_str().to_owned()),
            progress: self.progress.map(|progress| progress.as_str().to_owned()),
            max_iterations: self.max_iterations,
            max_attempts: self.max_attempts,
            timeout: self.timeout.map(|timeout| timeout.as_secs()),
            verify_timeout: self.verify_timeout.map(|timeout| timeout.as_secs()),
            max_cost: self.max_cost,
            max_tokens: self.max_tokens,
            prompt: full(&self.prompt),
            log: full(&self.log),
            task_file: full(&self.task_file),
            feature: self.feature.clone(),
            section: self.section.clone(),
            budget: self.budget,
            tokens: self.tokens,
        }
    }

    /// Returns the options with those of the resumed run where nothing was given now.
    fn resumed(&self, kept: Kept) -> Args {
        let has_task = self.task.is_some() || self.task_file.is_some();
        let has_budget = self.budget.is_some() || self.tokens.is_some();
        let of_list = |now: &Option<String>, kept: Option<String>| now.clone().or(kept.filter(|_| !has_task));
        Args {
            agent: self.agent.clone().or(kept.agent),
            verify: self.verify.clone().or(kept.verify),
            summarize: self.summarize.clone().or(kept.summarize),
            format: self.format.or(kept.format.and_then(|format| Format::from_str(&format, false).ok())),
            strategy: self.strategy.or(kept.strategy.and_then(|name| Strategy::parse(&name))),
            progress: self.progress.or(kept.progress.and_then(|name| ProgressKind::parse(&name))),
            max_iterations: self.max_iterations.or(kept.max_iterations),
            max_attempts: self.max_attempts.or(kept.max_attempts),
            timeout: self.timeout.or(kept.timeout.map(Duration::from_secs)),
            verify_timeout: self.verify_timeout.or(kept.verify_timeout.map(Duration::from_secs)),
            max_cost: self.max_cost.or(kept.max_cost),
            max_tokens: self.max_tokens.or(kept.max_tokens),
            prompt: self.prompt.clone().or(kept.prompt),
            log: self.log.clone().or(kept.log),
            task_file: self.task_file.clone().or(kept.task_file.filter(|_| !has_task)),
            feature: of_list(&self.feature, kept.feature),
            section: of_list(&self.section, kept.section),
            budget: self.budget.or(kept.budget.filter(|_| !has_budget)),
            tokens: self.tokens.or(kept.tokens.filter(|_| !has_budget)),
            ..self.clone()
        }
    }

    /// Returns how much context there may be, where that is said.
    fn budget(&self) -> Option<Budget> {
        self.budget.map(Budget::characters).or(self.tokens.map(Budget::tokens))
    }
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &Args) -> anyhow::Result<Exit> {
    args.wanted()?;
    let mut memory = globals.open()?;
    let (run, last) = begin(&memory, args.resume)?;
    let args = &if args.resume { args.resumed(Kept::of(&memory, &run.id)) } else { args.clone() };
    let wanted = args.wanted()?;
    let settings = memory.settings().clone();
    let command = |option: &str, flag: &Option<String>, setting: &str| {
        let text = flag.as_deref().unwrap_or(setting);
        if text.is_empty() { Ok(None) } else { CommandLine::parse(option, text).map(Some) }
    };
    let agent = command("--agent", &args.agent, &settings.agent)?.ok_or_else(|| Usage {
        message: "no agent is named".to_owned(),
        hint: "say which command works on the task: `--agent \"claude -p --model {model}\"`, or `run.agent` in your \
               own settings"
            .to_owned(),
    })?;
    let verify = command("--verify", &args.verify, &settings.verify)?;
    let summarize = command("--summarize", &args.summarize, &settings.summarize)?;
    let kind = args.progress.unwrap_or(settings.progress);
    if kind.needs_summary() && summarize.is_none() {
        let hint = "`--summarize COMMAND` names one that reads standard input".to_owned();
        let message = format!("progress `{}` needs a command that sums up", kind.as_str());
        return Err(Usage { message, hint }.into());
    }
    let programs = [("--agent", Some(&agent)), ("--verify", verify.as_ref()), ("--summarize", summarize.as_ref())];
    for (option, command) in programs {
        command.map_or(Ok(()), |command| setup::check_program(option, command, memory.root()))?;
    }
    // Models that somebody set are theirs to choose; the first three are Claude's.
    if settings.models == MODELS {
        memory = memory.with_models(setup::models_of(&agent).unwrap_or_default());
    }
    let template = args.prompt.as_deref().map(Template::read).transpose()?;
    let log = args.log.as_deref().map(|folder| Log::open(folder, memory.root())).transpose()?;
    let max_iterations = Some(args.max_iterations.unwrap_or(settings.max_iterations)).filter(|most| *most > 0);
    let (task, path) = match wanted {
        Wanted::Task(task) => (task, None),
        Wanted::Checklist(path, task) => (task, Some(path)),
        Wanted::Last(_) if last.is_done => {
            return Err(Usage {
                message: format!("the last task of `{}` is done", run.id),
                hint: "name what is to be done next: `--task TITLE` or `--task-file FILE`".to_owned(),
            }
            .into());
        }
        Wanted::Last(Task { feature, section, files, .. }) => {
            let last = last.task.clone().ok_or_else(|| Usage {
                message: format!("`{}` has no iteration to resume", run.id),
                hint: "name it with `--task`".to_owned(),
            })?;
            let task = Task { feature: feature.or(last.feature), section: section.or(last.section), files, ..last };
            (task, None)
        }
    };
    let files = project_paths::of_project(&memory, &task.files)?;
    let task = Task { files, ..task };
    let run_id = run.id.clone();
    let n_before = memory.next_number(&run.id)? - 1;
    let limit = max_iterations.map(|most| n_before.saturating_add(most));
    let run =
        Run { strategy: args.strategy, limit, budget: args.budget(), holder: ProcessIdentity::this_process(), ..run };
    let meaning = memory.semantic_status();
    if meaning.wanted {
        ui.note(&meaning.detail);
        if let Some(mend) = &meaning.mend {
            ui.note(&format!("hint: {mend}"));
        }
    }
    for kept in memory.kept_attempts() {
        let command = record_command(memory.root(), kept.path());
        ui.note(&format!("warning: an attempt is not in the journal; `{command}` writes it there"));
    }
    let fixed = Some(settings.fixed_model.clone()).filter(|model| !model.is_empty());
    let models = [memory.settings().models.clone(), fixed.into_iter().collect()].concat();
    for odd in setup::odd_models(&agent, &models) {
        ui.note(&format!("warning: {odd}"));
    }
    args.kept(&run_id).keep(&memory);
    let interrupt = Interrupt::listen().map_err(|source| Error::Io {
        action: "listen for signals in",
        path: memory.root().to_owned(),
        source,
    })?;
    let folder = memory.root();
    let plan = Plan {
        work: path.as_deref().map_or(Work::One(&task), |path| Work::Checklist(path, &task)),
        agent: &agent,
        verify: verify.as_ref(),
        template: template.as_ref(),
        max_iterations,
        max_cost: args.max_cost,
        max_tokens: args.max_tokens,
        earlier: &last.attempts,
        max_attempts: args.max_attempts.or(Some(settings.max_attempts).filter(|most| *most > 0)),
        folder,
        patience: Patience::default(),
        timeout: args.timeout,
        verify_timeout: args.verify_timeout,
        log: log.as_ref(),
        reader: &|| {
            let reader = memory.reader(args.format.unwrap_or(Format::Auto).into());
            if globals.shows_progress() { reader.watched() } else { reader }
        },
    };
    let summarize = summarize.as_ref().map(|command| Summarize { command, interrupt: &interrupt, folder });
    let mut keeper = Journal::new(&memory, run, kind, summarize);
    let shown = if globals.shows_progress() {
        Shown::All { coloured: ui.err_colour }
    } else if globals.is_quiet() {
        Shown::Nothing
    } else {
        Shown::Iterations
    };
    let mut live = Live::new(shown, &settings.allowed_secrets);
    let mut driven = Driven { spent: last.spent, ..Driven::default() };
    let ended = drive(
        &plan,
        &mut keeper,
        &mut Around {
            interrupt: &interrupt,
            live: &mut live,
            err: ui.err,
            ask: &mut |err| {
                if feedback::is_wanted(&interrupt) {
                    feedback::ask(&mut std::io::stdin().lock(), err)
                } else {
                    String::new()
                }
            },
        },
        &mut driven,
    );
    let is_over = ended.as_ref().is_ok_and(|stop| !matches!(stop, Stop::Interrupted));
    let tended = (is_over && settings.tending.automatic).then(|| tend(ui, &memory));
    close(ui, &run_id, driven, ended, tended)
}

/// Tidies up, as the settings ask for. What stands in the way is told, and changes nothing of how the run ended.
fn tend(ui: &mut Ui<'_>, memory: &Memory) -> Tended {
    let all = memory.prune(false).and_then(|mut all| {
        let consolidated = memory.consolidate(false)?;
        all.moved.extend(consolidated.moved);
        all.merged.extend(consolidated.merged);
        all.problems.extend(consolidated.problems);
        Ok(all)
    });
    match all {
        Ok(all) => {
            ui.problems(&all.problems);
            all
        }
        Err(error) => {
            let problems = vec![Problem {
                path: ".ralph/".to_owned(),
                line: None,
                column: None,
                severity: Severity::Warning,
                code: "not-tidied".to_owned(),
                message: format!("the memory was not tidied up: {error}").into(),
                hint: "`ralph-memory prune` and `ralph-memory consolidate` do it by hand".into(),
            }];
            ui.problems(&problems);
            Tended { problems, ..Tended::default() }
        }
    }
}

/// Says how a run ended, and returns the exit code for it. An error that ended it comes after what was
/// done before.
fn close(
    ui: &mut Ui<'_>,
    run_id: &str,
    driven: Driven,
    ended: anyhow::Result<Stop>,
    tended: Option<Tended>,
) -> anyhow::Result<Exit> {
    let done = matches!(ended, Ok(Stop::Done));
    let limit = match &ended {
        Ok(Stop::Iterations) => Some("--max-iterations"),
        Ok(Stop::Attempts) => Some("--max-attempts"),
        Ok(Stop::Spent(option, _)) => Some(*option),
        _ => None,
    };
    let stopped = match &ended {
        Ok(Stop::Interrupted) => Some("interrupted"),
        Ok(Stop::NotTicked(_)) => Some("not-ticked"),
        _ => None,
    };
    let mut problems = driven.problems;
    problems.extend(tended.iter().flat_map(|tended| tended.problems.clone()));
    let sum = Summary::of(run_id, driven.tasks, &driven.iterations, done);
    let summary = Summary { limit, stopped, refused: driven.refused, tended, ..sum };
    // In JSON there is one object, and the error is it.
    if !ui.json {
        summary.show(ui)?;
    }
    let stop = ended?;
    if ui.json {
        ui.json(summary.answer(), &problems)?;
    }
    let (exit, note) = match stop {
        Stop::Done => return Ok(Exit::Done),
        Stop::Interrupted => (Exit::Interrupted, "interrupted; `ralph-memory run --resume` goes on".to_owned()),
        Stop::Iterations => (
            Exit::No,
            "all iterations are used up; `--max-iterations N` allows more, `run --resume` goes on".to_owned(),
        ),
        Stop::Attempts => (Exit::No, "the task had all its attempts; `--max-attempts N` allows more".to_owned()),
        Stop::Spent(option, told) => {
            (Exit::No, format!("the run has used {told}; `run --resume {option}` with more goes on"))
        }
        Stop::NotTicked(reason) => {
            (Exit::Refused, format!("the task is done, and its box could not be ticked: {reason}; tick it by hand"))
        }
    };
    ui.note(&note);
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(arguments: &[&str]) -> Result<Args, String> {
        Line::try_parse_from([&["run"], arguments].concat()).map(|line| line.args).map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_has_a_task_a_checklist_or_one_to_go_on_with() {
        let wanted = |arguments: &[&str]| parse(arguments).unwrap().wanted().unwrap();
        let task = |title: &str| Task { id: Some(Task::id_of_title(title)), ..Task::new(title) };
        assert_eq!(wanted(&["--task", "Add it"]), Wanted::Task(task("Add it")));
        assert_eq!(wanted(&["--task", "Add it", "--resume"]), Wanted::Task(task("Add it")));
        assert_eq!(
            wanted(&["--task", "x", "--task-id", "t-1", "--description", "-y", "--feature", "f", "--file", "a"]),
            Wanted::Task(Task {
                id: Some("t-1".into()),
                description: "-y".into(),
                feature: Some("f".into()),
                files: vec!["a".into()],
                ..Task::new("x")
            })
        );
        let common = Task { section: Some("s".into()), ..Task::default() };
        assert_eq!(wanted(&["--task-file", "a.md", "--section", "s"]), Wanted::Checklist("a.md".into(), common));
        assert_eq!(wanted(&["--resume"]), Wanted::Last(Task::default()));
        assert_eq!(wanted(&["--resume", "--task-file", "a"]), Wanted::Checklist("a".into(), Task::default()));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        #[track_caller]
        fn check(arguments: &[&str], part: &str) {
            let error = parse(arguments).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        check(&[], "--task <TITLE>");
        check(&["--task", "x", "--task-file", "a.md"], "cannot be used with");
        check(&["--task-file", "a.md", "--task-id", "t-1"], "cannot be used with");
        check(&["--task-file", "a.md", "--description", "x"], "cannot be used with");
        check(&["--resume", "--description", "x"], "--task <TITLE>");
        check(&["--task", "x", "--budget", "1", "--tokens", "1"], "cannot be used with");
        check(&["--task", "x", "--strategy", "cheap"], "cost-optimized");
        check(&["--task", "x", "--progress", "none"], "system-captured");
        check(&["--task", "x", "--max-iterations", "many"], "--max-iterations");
        check(&["--task", "x", "--max-attempts", "0"], "--max-attempts");
        check(&["--task", "x", "--max-cost", "0"], "over 0");
        check(&["--task", "x", "--max-cost", "inf"], "over 0");
        check(&["--task", "x", "--timeout", "90"], "90s, 30m, 2h");
        let empty = parse(&["--task", " "]).unwrap().wanted().unwrap_err();
        assert_eq!(empty.message, "the task's title is empty");
    }

    #[test]
    fn budgets_are_characters_or_tokens() {
        let budget = |arguments: &[&str]| parse(&[&["--resume"], arguments].concat()).unwrap().budget();
        assert_eq!(budget(&[]), None);
        assert_eq!(budget(&["--budget", "9"]), Some(Budget::characters(9)));
        assert_eq!(budget(&["--tokens", "9"]), Some(Budget::tokens(9)));
    }

    #[test]
    fn the_end_is_told_with_its_exit_code() {
        #[track_caller]
        fn check(ended: anyhow::Result<Stop>, json: bool, expected: Option<Exit>, out: &str, err: &str) {
            let (mut to_out, mut to_err) = (Vec::new(), Vec::new());
            let mut ui = Ui { out: &mut to_out, err: &mut to_err, json, out_colour: false, err_colour: false };
            assert_eq!(close(&mut ui, "run-1", Driven::default(), ended, None).ok(), expected);
            let (to_out, to_err) = (String::from_utf8(to_out).unwrap(), String::from_utf8(to_err).unwrap());
            assert!(to_out.starts_with(out), "{to_out}");
            assert!(to_err.contains(err) && to_err.is_empty() == err.is_empty(), "{to_err}");
        }
        check(Ok(Stop::Done), false, Some(Exit::Done), "run-1  done\n", "");
        check(Ok(Stop::Done), true, Some(Exit::Done), "{\"schema_version\":1,\"run_id\":\"run-1\"", "");
        check(Ok(Stop::Iterations), false, Some(Exit::No), "run-1  not done\n", "--max-iterations");
        check(Ok(Stop::Attempts), true, Some(Exit::No), "{", "--max-attempts");
        let spent = || Ok(Stop::Spent("--max-cost", "$2.00 of $1.00".to_owned()));
        check(spent(), false, Some(Exit::No), "run-1  not done\n", "used $2.00 of $1.00; `run --resume --max-cost`");
        check(Ok(Stop::Interrupted), false, Some(Exit::Interrupted), "run-1  not done\n", "--resume");
        check(Ok(Stop::NotTicked("x\u{1b}".into())), false, Some(Exit::Refused), "run-1", "ticked: x\\u{1b}");
        check(Err(anyhow::anyhow!("full")), false, None, "run-1  not done\n", "");
        check(Err(anyhow::anyhow!("full")), true, None, "", "");
    }
}
