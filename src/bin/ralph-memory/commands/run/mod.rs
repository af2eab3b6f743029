//! `run`: lets an agent work on tasks until they are done.
//!
//! The loop is the library's [`Runner`]. This module makes its options from the command line and the settings, and
//! shows a person what happens.

mod args;
mod ending;
mod feedback;
mod saved_run;
mod summary;
mod terminal;

use std::time::Duration;

use ralph_memory::memory::{Run, record_command};
use ralph_memory::runner::{
    AgentLog, Assignment, CommandLine, PromptTemplate, ResumedRun, RunEnd, RunOptions, RunProgress, Runner,
};
use ralph_memory::settings::Settings;
use ralph_memory::{Budget, Error, Memory, Task};

use self::ending::{close, maintain};
use self::saved_run::SavedRun;
use self::terminal::{Terminal, Visibility};
use crate::activity;
use crate::error::UsageError;
use crate::exit::Exit;
use crate::parse::OutputFormat;
use crate::session::Globals;
use crate::ui::Ui;
use crate::{own, project_paths};

pub(crate) use self::args::RunArgs;

/// The first pause of `--keep-going`.
const FIRST_PAUSE: Duration = Duration::from_secs(10);

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &RunArgs) -> anyhow::Result<Exit> {
    // A task without a title is refused before anything else.
    args.assignment(|| Ok(Task::default()))?;
    let mut memory = globals.open()?.beside_own(None);
    own::leave_to_projects(memory.root())?;
    let before = SavedRun::newest(&memory);
    let resumed = resumed(&memory, args, before.as_ref())?;
    let saved = before.as_ref().filter(|saved| resumed.as_ref().is_some_and(|last| last.run.id == saved.run_id));
    let args = &saved.map_or_else(|| args.clone(), |saved| args.resumed(&saved.settings));
    let is_known = resumed.is_none() || saved.is_some();
    let (run, last_task, mut progress) = match resumed {
        Some(ResumedRun { run, task, is_done, progress }) => {
            let task = saved.map_or_else(|| task.clone(), |saved| saved.task_as_given(task.clone()));
            (run, Some(task).filter(|_| !is_done), progress)
        }
        None => (memory.new_run(), None, RunProgress::default()),
    };
    let run_id = run.id.clone();
    let options = options(&memory, args, run, is_known)?;
    // Models that the user set are their choice; the first three are Claude's.
    if memory.settings().models == Settings::default().models {
        let known = options.agent.known_models(memory.root())?;
        memory = memory.with_models(known.unwrap_or_default());
    }
    let mut assignment = args.assignment(|| {
        let message = || format!("the last task of `{run_id}` is done");
        last_task.ok_or_else(|| UsageError::new(message(), "name the next task: `--task TITLE` or `--task-file FILE`"))
    })?;
    let (Assignment::Task(task) | Assignment::Checklist { like: task, .. }) = &mut assignment;
    task.files = project_paths::of_project(&memory, &task.files)?;
    warn(ui, &memory, &options.agent);
    let interrupt = activity::interrupt().map_err(|source| Error::Io {
        action: "listen for signals in",
        path: memory.root().to_owned(),
        source,
    })?;
    let options = RunOptions { interrupt: interrupt.clone(), reports_agent: globals.shows_progress(), ..options };
    let task = if let Assignment::Task(task) = &assignment { Some(task.clone()) } else { None };
    let saved = SavedRun { run_id: run_id.clone(), task, settings: args.settings.with_full_paths() };
    let mut terminal = Terminal {
        visibility: Visibility::of(globals, ui.err_colour),
        label: String::new(),
        bar: None,
        allowed: &memory.settings().allowed_secrets,
        err: ui.err,
        interrupt,
        at_first: Some(Box::new(|| saved.save(&memory))),
    };
    let ended = Runner::new(&memory, options).run(&assignment, &mut progress, &mut terminal);
    terminal.clear();
    drop(terminal);
    if let Some(before) = before.filter(|_| ended.is_err() && ResumedRun::of(&memory, &run_id).is_none()) {
        // No agent ever ran, so this run cannot be resumed; the one before it still can.
        before.save(&memory);
    }
    let is_over = !progress.attempts.is_empty() && ended.as_ref().is_ok_and(|end| !matches!(end, RunEnd::Interrupted));
    let maintenance = (is_over && memory.settings().tidies_after_runs()).then(|| maintain(ui, &memory));
    if let (Ok(RunEnd::Done), Assignment::Checklist { path, .. }, true) =
        (&ended, &assignment, progress.attempts.is_empty())
    {
        ui.note(&format!("every box of `{}` is ticked; there is nothing to do", path.display()));
    }
    close(ui, &run_id, &progress, ended.map_err(Into::into), maintenance.as_ref())
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

/// Returns the options of the library's loop, after a check that the programs of its commands exist. `is_known` says that
/// the options of a resumed run are saved.
fn options(memory: &Memory, args: &RunArgs, run: Run, is_known: bool) -> anyhow::Result<RunOptions> {
    let (settings, given) = (memory.settings(), &args.settings);
    // A message names the place where the command is written.
    let command = |name: &str, option: &Option<String>, setting: &str| match option {
        Some(text) => CommandLine::parse(&format!("--{name}"), text).map(Some),
        None if setting.is_empty() => Ok(None),
        None => CommandLine::parse(&format!("run.{name}"), setting).map(Some),
    };
    let agent = command("agent", &given.agent, &settings.agent)?.ok_or_else(|| UsageError {
        message: if is_known {
            "no agent is named".to_owned()
        } else {
            format!("no agent is named, and the options of `{}` are not saved here", run.id)
        },
        hint: "name the command that works on the task: `--agent \"claude -p --model {model}\"`, or `run.agent` in \
               your own settings"
            .to_owned(),
    })?;
    let verify = command("verify", &given.verify, &settings.verify)?;
    let summarize = command("summarize", &given.summarize, &settings.summarize)?;
    let kind = given.progress.unwrap_or(settings.progress);
    let progress = kind.strategy(
        given.progress_entries.unwrap_or(settings.progress_entries),
        given.progress_characters.unwrap_or(settings.progress_characters),
    );
    let needs_summary = progress.lock().is_ok_and(|progress| progress.needs_summary());
    if needs_summary && summarize.is_none() {
        let hint = "`--summarize COMMAND` names one that reads standard input".to_owned();
        let message = format!("progress `{}` needs a command that summarises", kind.as_str());
        return Err(UsageError { message, hint }.into());
    }
    for command in [Some(&agent), verify.as_ref(), summarize.as_ref()].into_iter().flatten() {
        command.check_program(memory.root())?;
    }
    if let Some(prompt) = &given.prompt {
        project_paths::check_file(prompt, "")?;
    }
    Ok(RunOptions {
        server: if given.no_mcp { Vec::new() } else { server(memory) },
        verify,
        summarize,
        progress,
        template: given.prompt.as_deref().map(PromptTemplate::read).transpose()?,
        log: given.log.as_deref().map(|folder| AgentLog::open(folder, memory.root())).transpose()?,
        run: Some(Run { strategy: given.strategy, budget: given.tokens.map(Budget::tokens), ..run }),
        max_iterations: Some(given.max_iterations.unwrap_or(settings.max_iterations)).filter(|most| *most > 0),
        max_attempts: given.max_attempts.or(Some(settings.max_attempts).filter(|most| *most > 0)),
        max_cost: given.max_cost,
        max_tokens: given.max_tokens,
        timeout: given.timeout,
        keep_going: given.keep_going.then_some(FIRST_PAUSE),
        verify_timeout: given.verify_timeout,
        format: given.format.unwrap_or(OutputFormat::Auto).into(),
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
