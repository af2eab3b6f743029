//! `run`: lets an agent work on tasks until they are done.
//!
//! The loop is the library's [`Runner`]. This module makes its options from the command line and the settings, and
//! shows a person what happens.

mod args;
mod ending;
mod feedback;
mod live;
mod saved_run;
mod summary;
mod terminal;

use std::time::Duration;

use ralph_memory::memory::{Run, record_command};
use ralph_memory::runner::{
    AgentLog, Assignment, CommandLine, PromptTemplate, ResumedRun, RunEnd, RunOptions, RunProgress, Runner,
};
use ralph_memory::settings::ProgressKind;
use ralph_memory::settings::Settings;
use ralph_memory::{Budget, Error, Memory, Task};

use self::args::RunSubject;
use self::ending::{close, maintain};
use self::live::{Live, Visibility};
use self::saved_run::SavedRun;
use self::terminal::Terminal;
use crate::activity;
use crate::error::UsageError;
use crate::exit::Exit;
use crate::parse::OutputFormat;
use crate::project_paths;
use crate::session::Globals;
use crate::ui::Ui;

pub(crate) use self::args::RunArgs;

/// The first pause of `--keep-going`.
const FIRST_PAUSE: Duration = Duration::from_secs(10);

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &RunArgs) -> anyhow::Result<Exit> {
    args.subject()?;
    let mut memory = globals.open()?;
    let before = SavedRun::newest(&memory);
    let resumed = resumed(&memory, args, before.as_ref())?;
    let saved = before.as_ref().filter(|saved| resumed.as_ref().is_some_and(|last| last.run.id == saved.run_id));
    let args = &saved.map_or_else(|| args.clone(), |saved| args.resumed(&saved.settings));
    let subject = args.subject()?;
    let is_known = resumed.is_none() || saved.is_some();
    let (run, last_task, mut progress) = match resumed {
        Some(ResumedRun { run, task, is_done, progress }) => {
            let task = saved.map_or_else(|| task.clone(), |saved| saved.task_as_given(task.clone()));
            (run, Some((task, is_done)), progress)
        }
        None => (memory.new_run(), None, RunProgress::default()),
    };
    let commands = Commands::of(&memory, args, Some(run.id.as_str()).filter(|_| !is_known))?;
    // Models that the user set are their choice; the first three are Claude's.
    if memory.settings().models == Settings::default().models {
        let known = commands.agent.known_models(memory.root())?;
        memory = memory.with_models(known.unwrap_or_default());
    }
    let run_id = run.id.clone();
    let agent = commands.agent.clone();
    let options = options(&memory, args, commands, run)?;
    let assignment = assignment(&memory, subject, last_task, &run_id)?;
    warn(ui, &memory, &agent);
    let interrupt = activity::interrupt().map_err(|source| Error::Io {
        action: "listen for signals in",
        path: memory.root().to_owned(),
        source,
    })?;
    let options = RunOptions { interrupt: interrupt.clone(), reports_agent: globals.shows_progress(), ..options };
    let visibility = if globals.shows_progress() {
        Visibility::All { coloured: ui.err_colour }
    } else if globals.is_quiet() {
        Visibility::Nothing
    } else {
        Visibility::Attempts
    };
    let live = Live::new(visibility, &memory.settings().allowed_secrets);
    let task = if let Assignment::Task(task) = &assignment { Some(task.clone()) } else { None };
    let saved = SavedRun { run_id: run_id.clone(), task, settings: args.settings.with_full_paths() };
    let mut terminal = Terminal { live, err: ui.err, interrupt, at_first: Some(Box::new(|| saved.save(&memory))) };
    let ended = Runner::new(&memory, options).run(&assignment, &mut progress, &mut terminal);
    terminal.live.clear();
    drop(terminal);
    if let Some(before) = before.filter(|_| ended.is_err() && ResumedRun::of(&memory, &run_id).is_none()) {
        // No agent ever ran, so this run cannot be resumed; the one before it still can.
        before.save(&memory);
    }
    let is_over = !progress.attempts.is_empty() && ended.as_ref().is_ok_and(|end| !matches!(end, RunEnd::Interrupted));
    let maintenance = (is_over && memory.settings().maintenance.automatic).then(|| maintain(ui, &memory));
    if let (Ok(RunEnd::Done), Assignment::Checklist { path, .. }, true) =
        (&ended, &assignment, progress.attempts.is_empty())
    {
        ui.note(&format!("every box of `{}` is ticked; there is nothing to do", path.display()));
    }
    close(ui, &run_id, &progress, ended.map_err(Into::into), maintenance)
}

/// Returns the run to resume, if one is to be resumed: the last one that was started here. If its options are not
/// saved, it is the newest one of the journal.
fn resumed(memory: &Memory, args: &RunArgs, saved: Option<&SavedRun>) -> Result<Option<ResumedRun>, UsageError> {
    if !args.resume {
        return Ok(None);
    }
    let started = saved.and_then(|saved| ResumedRun::of(memory, &saved.run_id));
    started.or_else(|| ResumedRun::newest(memory)).map(Some).ok_or_else(|| UsageError {
        message: "there is no run to resume".to_owned(),
        hint: "without `--resume` one begins".to_owned(),
    })
}

/// Returns the commands of a run, after a check that their programs exist.
struct Commands {
    agent: CommandLine,
    verify: Option<CommandLine>,
    summarize: Option<CommandLine>,
    progress: ProgressKind,
}

impl Commands {
    /// Returns the commands that the options or the settings name. `unknown` is the resumed run, if its options are not
    /// saved.
    fn of(memory: &Memory, args: &RunArgs, unknown: Option<&str>) -> anyhow::Result<Commands> {
        let settings = memory.settings();
        // A message names the place where the command is written.
        let command = |name: &str, option: &Option<String>, setting: &str| match option {
            Some(text) => CommandLine::parse(&format!("--{name}"), text).map(Some),
            None if setting.is_empty() => Ok(None),
            None => CommandLine::parse(&format!("run.{name}"), setting).map(Some),
        };
        let agent = command("agent", &args.settings.agent, &settings.agent)?.ok_or_else(|| UsageError {
            message: match unknown {
                Some(run) => format!("no agent is named, and the options of `{run}` are not saved here"),
                None => "no agent is named".to_owned(),
            },
            hint:
                "name the command that works on the task: `--agent \"claude -p --model {model}\"`, or `run.agent` in \
                   your own settings"
                    .to_owned(),
        })?;
        let verify = command("verify", &args.settings.verify, &settings.verify)?;
        let summarize = command("summarize", &args.settings.summarize, &settings.summarize)?;
        let progress = args.settings.progress.unwrap_or(settings.progress);
        if progress.needs_summary() && summarize.is_none() {
            let hint = "`--summarize COMMAND` names one that reads standard input".to_owned();
            let message = format!("progress `{}` needs a command that summarises", progress.as_str());
            return Err(UsageError { message, hint }.into());
        }
        for command in [Some(&agent), verify.as_ref(), summarize.as_ref()].into_iter().flatten() {
            command.check_program(memory.root())?;
        }
        Ok(Commands { agent, verify, summarize, progress })
    }
}

fn options(memory: &Memory, args: &RunArgs, commands: Commands, run: Run) -> anyhow::Result<RunOptions> {
    let settings = memory.settings();
    let Commands { agent, verify, summarize, progress } = commands;
    if let Some(prompt) = &args.settings.prompt {
        project_paths::check_file(prompt, "")?;
    }
    Ok(RunOptions {
        server: if args.settings.no_mcp { Vec::new() } else { server(memory) },
        verify,
        summarize,
        progress,
        template: args.settings.prompt.as_deref().map(PromptTemplate::read).transpose()?,
        log: args.settings.log.as_deref().map(|folder| AgentLog::open(folder, memory.root())).transpose()?,
        run: Some(Run { strategy: args.settings.strategy, budget: args.settings.tokens.map(Budget::tokens), ..run }),
        max_iterations: Some(args.settings.max_iterations.unwrap_or(settings.max_iterations)).filter(|most| *most > 0),
        max_attempts: args.settings.max_attempts.or(Some(settings.max_attempts).filter(|most| *most > 0)),
        max_cost: args.settings.max_cost,
        max_tokens: args.settings.max_tokens,
        timeout: args.settings.timeout,
        keep_going: args.settings.keep_going.then_some(FIRST_PAUSE),
        verify_timeout: args.settings.verify_timeout,
        format: args.settings.format.unwrap_or(OutputFormat::Auto).into(),
        ..RunOptions::new(agent)
    })
}

/// Returns the command of the memory's MCP server; nothing where a path is not text.
fn server(memory: &Memory) -> Vec<String> {
    let program = std::env::current_exe().ok().and_then(|program| program.to_str().map(str::to_owned));
    let command = |program: String| {
        let root = memory.root().to_str()?;
        Some(vec![program, format!("--root={root}"), "mcp".to_owned()])
    };
    program.and_then(command).unwrap_or_default()
}

fn assignment(
    memory: &Memory,
    subject: RunSubject,
    last: Option<(Task, bool)>,
    run_id: &str,
) -> Result<Assignment, UsageError> {
    let of_project = |task: Task| Ok(Task { files: project_paths::of_project(memory, &task.files)?, ..task });
    match subject {
        RunSubject::Task(task) => of_project(task).map(Assignment::Task),
        RunSubject::Checklist(path, like) => Ok(Assignment::Checklist { path, like: of_project(like)? }),
        RunSubject::Last(_) if last.as_ref().is_none_or(|(_, is_done)| *is_done) => Err(UsageError {
            message: format!("the last task of `{run_id}` is done"),
            hint: "name the next task: `--task TITLE` or `--task-file FILE`".to_owned(),
        }),
        RunSubject::Last(Task { feature, section, files, .. }) => {
            let last = last.map(|(task, _)| task).unwrap_or_default();
            let task = Task { feature: feature.or(last.feature), section: section.or(last.section), files, ..last };
            of_project(task).map(Assignment::Task)
        }
    }
}

/// Shows warnings before the run begins.
fn warn(ui: &mut Ui<'_>, memory: &Memory, agent: &CommandLine) {
    let semantic = memory.semantic_status();
    if semantic.wanted {
        ui.note(&semantic.detail);
        if let Some(fix) = &semantic.fix {
            ui.note(&format!("hint: {fix}"));
        }
    }
    for kept in memory.kept_attempts() {
        let command = record_command(memory.root(), kept.path());
        ui.warn(&format!("warning: an attempt is not in the journal; {command} records it"));
    }
    for odd in agent.odd_models(&memory.settings().models) {
        ui.warn(&format!("warning: {odd}"));
    }
}
