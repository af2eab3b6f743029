//! `setup`: connects the memory to the clients of coding agents.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use ralph_memory::error::{Problem, Severity};
use ralph_memory::setup::{
    PlannedAction, PlannedFile, Setup, SetupClient, SetupOptions, SetupPlan, SetupScope, SetupStep,
};
use ralph_memory::system::posix::variable;
use ralph_memory::text::printed_command;
use ralph_memory::{Error, Memory};
use serde::Serialize;
use serde_json::json;

use crate::error::ErrorReport;
use crate::exit::Exit;
use crate::own;
use crate::session::Globals;
use crate::ui::{ID, PLAIN, QUIET, TITLE, Ui, count};

/// The code of the problem that a client is connected in another way.
const CONNECTED: &str = "connected-otherwise";

/// Connect the memory to Claude Code, Codex and other clients; with --check, exit code 1 if something is not connected
///
/// Registers the MCP server and the hooks of a session, and adds a short block of instructions and a skill. Existing
/// files keep everything that is in them, including comments and formatting. If a file cannot be edited safely, or has
/// an entry `ralph-memory` that runs something else, it is refused, and nothing of its client is changed; the exit code
/// is then 4, also with --check.
///
/// Without names, it sets up the clients that it finds: those with a file in the project or in your home folder, or
/// with a program in PATH. It asks first; without a terminal, it needs --yes.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
#[command(after_help = "Examples:
  ralph-memory setup
  ralph-memory setup claude codex
  ralph-memory setup codex --scope user --dry-run
  ralph-memory setup --check
  ralph-memory setup claude --remove")]
pub(crate) struct SetupArgs {
    /// The clients [default: those that are found; with --check, those that are set up here; with --remove, all]
    #[arg(value_name = "AGENT", value_parser = word::<SetupClient>(SetupClient::WORDS))]
    agents: Vec<SetupClient>,
    /// Whose files: `project` is for files in this folder, which a team commits; `user` is for files in your home, which
    /// apply to every project [default: project, or user if git ignores the memory]
    #[arg(long, value_name = "SCOPE", value_parser = word::<SetupScope>(SetupScope::WORDS))]
    scope: Option<SetupScope>,
    /// Show the changes without making them
    #[arg(long)]
    dry_run: bool,
    /// Show what is missing without changing anything
    #[arg(long, conflicts_with_all = ["dry_run", "remove", "yes"])]
    check: bool,
    /// Take out what is as setup writes it, and files in which nothing else is left. What was changed since is named and
    /// stays. Without names, from all clients; what stays of the memory is then named, too
    #[arg(long, conflicts_with_all = ["each_prompt", "allow_tools", "no_tool_hook"])]
    remove: bool,
    /// Also search the memory at each prompt, in clients whose hooks can add text there
    #[arg(long)]
    each_prompt: bool,
    /// Do not tell the agent, after a call of a tool, what the memory knows about the file or the error
    #[arg(long)]
    no_tool_hook: bool,
    /// Let Claude Code call the memory's tools without asking each time
    #[arg(long)]
    allow_tools: bool,
    /// Answer every question with yes, including the one about the tools
    #[arg(long, short)]
    yes: bool,
}

/// Reads one of these words, which the help lists.
fn word<Choice>(words: &'static [&'static str]) -> impl TypedValueParser<Value = Choice>
where
    Choice: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|name| name.parse::<Choice>())
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &SetupArgs) -> anyhow::Result<Exit> {
    let (project, has_memory) = project(globals)?;
    own::leave_to_projects(&project)?;
    // Files of the project would show a team what a person keeps for themselves.
    let scope = args.scope.unwrap_or_else(|| {
        if has_memory && Memory::is_private(&project) { SetupScope::User } else { SetupScope::Project }
    });
    let setup = in_project(project)?;
    let is_named = !args.agents.is_empty();
    let clients = clients(args, scope, &setup);
    if clients.is_empty() {
        ui.warn(&nothing_here(args, scope, &setup));
    }
    let asks = !ui.json && io::stdin().is_terminal() && io::stderr().is_terminal();
    let plan = plan(ui, args, scope, &setup, &clients, asks && !args.yes)?;
    if args.check {
        return checked(ui, scope, &plan);
    }
    let shows = !ui.json && (args.dry_run || !(is_named || args.yes));
    if shows {
        // The diff of a file that stays is empty.
        plan.files.iter().try_for_each(|file| ui.text(&file.diff))?;
    }
    let writes =
        !args.dry_run && !plan.is_empty() && (is_named || args.yes || asks && ui.confirm("Make these changes?")?);
    let is_pending = !args.dry_run && !writes && !plan.is_empty();
    let mut remaining = Vec::new();
    if args.remove && !is_named {
        remaining.extend(other_connections(scope, &setup));
        if let Ok(memory) = globals.open()
            && scope == SetupScope::Project
        {
            remaining.extend(rest_of(&memory));
        }
    }
    // What is printed after the files are written; an error ends the command before that.
    let done = plan.clone();
    if writes {
        plan.apply()?;
    }
    let is_refused = done.problems.iter().any(|problem| problem.severity == Severity::Error);
    if ui.json {
        let is_complete = (writes || done.is_empty()) && !done.clients.is_empty();
        let is_certain = done.problems.iter().all(|problem| problem.code == CONNECTED);
        show_json(ui, scope, &done, writes, !args.remove && is_certain && is_complete, &remaining)?;
    } else {
        show_done(ui, args, &done, writes)?;
        if writes && !args.remove {
            show_steps(ui, &done.steps, has_memory)?;
        }
        for Remaining { what, removal } in &remaining {
            ui.line(format_args!("stays: {what}; {removal}"))?;
        }
        if is_pending && !asks {
            ui.warn("nothing was changed; `--yes` makes these changes, or name the clients");
        }
    }
    Ok(match is_refused {
        true => Exit::Refused,
        false if is_pending || clients.is_empty() => Exit::No,
        false => Exit::Done,
    })
}

/// Says what was written, and what is wrong.
fn show_done(ui: &mut Ui<'_>, args: &SetupArgs, done: &SetupPlan, writes: bool) -> anyhow::Result<()> {
    if writes {
        show_files(ui, &done.files)?;
    } else if !done.clients.is_empty() && done.is_empty() {
        ui.line(match args.remove {
            _ if !done.is_connected() => "nothing to do",
            true => "nothing to do: nothing of it is here",
            false => "nothing to do: connected",
        })?;
    }
    show_problems(ui, &done.problems);
    Ok(())
}

/// Returns the clients that are named, else those that the command is about.
fn clients(args: &SetupArgs, scope: SetupScope, setup: &Setup) -> Vec<SetupClient> {
    if !args.agents.is_empty() {
        return args.agents.clone();
    }
    match (args.remove, args.check) {
        (true, _) => SetupClient::ALL.to_vec(),
        (_, true) => setup.set_up(scope),
        _ => setup.found(scope),
    }
}

/// Says what to do where no client is found, or, for a check, where none is set up.
fn nothing_here(args: &SetupArgs, scope: SetupScope, setup: &Setup) -> String {
    let (of_user, connects) = match scope {
        SetupScope::Project => (titles(&setup.set_up(SetupScope::User)), "`ralph-memory setup`"),
        SetupScope::User => (String::new(), "`ralph-memory setup --scope user`"),
    };
    let found = titles(&setup.found(scope));
    match (of_user.is_empty(), found.is_empty()) {
        (false, _) if args.check => format!(
            "nothing is set up here; `ralph-memory setup --check --scope user` checks what is set up for every \
             project: {of_user}"
        ),
        (_, false) => format!("nothing is set up here; {connects} connects {found}"),
        (_, true) => "no client is found here; name one, such as `ralph-memory setup claude`".to_owned(),
    }
}

/// Returns setup for the folder, with the environment of this process.
pub(crate) fn in_project(project: PathBuf) -> anyhow::Result<Setup> {
    let project =
        std::path::absolute(&project).map_err(|source| Error::Io { action: "find", path: project, source })?;
    Ok(Setup::new(&project, &program()?, &variable))
}

/// Returns the full path of this program: the one by which it was started, which may be a link that stays when the program
/// is upgraded, else that of its file.
pub(crate) fn program() -> Result<PathBuf, Error> {
    let started = std::env::args_os().next().map(PathBuf::from).filter(|path| path.components().count() > 1);
    match started.map(std::path::absolute) {
        Some(Ok(path)) => Ok(path),
        _ => std::env::current_exe().map_err(|source| Error::Io {
            action: "find",
            path: env!("CARGO_PKG_NAME").into(),
            source,
        }),
    }
}

/// Returns the folder of the memory, else the named or the working one, and whether there is a memory.
fn project(globals: &Globals) -> anyhow::Result<(PathBuf, bool)> {
    let start = globals.start()?;
    if Memory::is_in(&start) {
        return Ok((start, true));
    }
    if globals.names_root() || Memory::above(&start).is_none() {
        return Ok((start, false));
    }
    // A memory of another user does not decide whose files are edited.
    Ok((globals.open()?.root().to_owned(), true))
}

fn plan(
    ui: &mut Ui<'_>,
    args: &SetupArgs,
    scope: SetupScope,
    setup: &Setup,
    clients: &[SetupClient],
    asks: bool,
) -> anyhow::Result<SetupPlan> {
    if args.remove {
        return Ok(setup.plan_removal(clients, scope)?);
    }
    let options = SetupOptions {
        each_prompt: args.each_prompt,
        allow_tools: args.allow_tools || args.yes,
        no_tool_hook: args.no_tool_hook,
    };
    let plan = setup.plan(clients, scope, options)?;
    let is_open = plan.clients.contains(&SetupClient::Claude) && !options.allow_tools;
    if !asks || args.check || args.dry_run || !is_open {
        return Ok(plan);
    }
    let with_tools = setup.plan(clients, scope, SetupOptions { allow_tools: true, ..options })?;
    let is_new = with_tools.files.iter().any(|file| file.lacks.iter().any(|lack| lack == "the permission"));
    let question = "Let Claude Code call the memory's tools without asking each time?";
    Ok(if is_new && ui.confirm(question)? { with_tools } else { plan })
}

/// Says what is missing.
fn checked(ui: &mut Ui<'_>, scope: SetupScope, plan: &SetupPlan) -> anyhow::Result<Exit> {
    let connected = plan.is_connected() && !(plan.clients.is_empty() && plan.problems.is_empty());
    if ui.json {
        show_json(ui, scope, plan, false, connected, &[])?;
    } else {
        for file in plan.files.iter().filter(|file| !file.lacks.is_empty()) {
            let path = ui.styled(ID, &file.path.display().to_string());
            ui.line(format_args!("{path} lacks {} ({})", file.lacks.join(", "), titles(&file.clients)))?;
        }
        let (otherwise, others): (Vec<Problem>, Vec<Problem>) =
            plan.problems.iter().cloned().partition(|problem| problem.code == CONNECTED);
        show_problems(ui, &others);
        for problem in otherwise {
            let text = ui.styled(PLAIN, &problem.to_string());
            ui.line(text)?;
        }
        if connected && !plan.clients.is_empty() {
            ui.line(format_args!("connected: {}", titles(&plan.clients)))?;
        }
    }
    let is_refused =
        plan.problems.iter().any(|problem| problem.severity == Severity::Error && problem.code != CONNECTED);
    Ok(match connected {
        true => Exit::Done,
        false if is_refused => Exit::Refused,
        false => Exit::No,
    })
}

/// What a removal leaves.
#[derive(Serialize)]
struct Remaining {
    what: String,
    /// How a person removes it.
    removal: String,
}

/// Returns the connections in the scope from which nothing was removed.
fn other_connections(removed: SetupScope, setup: &Setup) -> Option<Remaining> {
    let (other, whose) = match removed {
        SetupScope::Project => (SetupScope::User, "every project"),
        SetupScope::User => (SetupScope::Project, "this project"),
    };
    let clients = titles(&setup.set_up(other));
    (!clients.is_empty()).then(|| Remaining {
        what: format!("the connections of {whose} to {clients}"),
        removal: format!("`ralph-memory setup --remove --scope {}` removes them", other.as_str()),
    })
}

/// Returns what stays of the memory in this project.
fn rest_of(memory: &Memory) -> Vec<Remaining> {
    let counts = memory.status().counts;
    let entries = count(counts.knowledge + counts.journal + counts.archive, "entry");
    let mut stays = vec![(format!("the memory, {entries}"), memory.root().join(".ralph"))];
    let copies = "copies of attempts that work trees share, and what removed work trees left, which \
                  `ralph-memory restore ID` brings into the memory";
    stays.extend(memory.copies_in_git().into_iter().map(|path| (copies.to_owned(), path)));
    stays.extend(own::existing().ok().map(|path| ("your own memory, of all projects".to_owned(), path)));
    let stays = stays.into_iter().map(|(what, path)| {
        let remove = printed_command("rm -r PATH", &[("PATH", &path.to_string_lossy())]);
        Remaining { what, removal: format!("{remove} removes it") }
    });
    let points = memory.settings().has_remote().then(|| Remaining {
        what: "the points of this project on the Qdrant server".to_owned(),
        removal: "`ralph-memory index --remote --remove` removes them".to_owned(),
    });
    points.into_iter().chain(stays).collect()
}

/// Writes the answer: `written` says whether the changes were made, and `connected` whether nothing is missing and nothing is
/// doubtful.
fn show_json(
    ui: &mut Ui<'_>,
    scope: SetupScope,
    plan: &SetupPlan,
    written: bool,
    connected: bool,
    remaining: &[Remaining],
) -> io::Result<()> {
    let SetupPlan { clients, files, problems, steps, .. } = plan;
    let answer = json!({
        "scope": scope, "clients": clients, "files": files, "written": written, "connected": connected, "steps": steps,
        "remaining": remaining,
    });
    ui.json(answer, problems)
}

/// Returns the names of clients, as a sentence has them.
pub(crate) fn titles(clients: &[SetupClient]) -> String {
    clients.iter().map(|client| client.title()).collect::<Vec<_>>().join(", ")
}

fn show_files(ui: &mut Ui<'_>, files: &[PlannedFile]) -> io::Result<()> {
    for file in files {
        let action = match file.action {
            PlannedAction::Create => "created",
            PlannedAction::Edit => "edited",
            PlannedAction::Delete => "deleted",
            PlannedAction::Keep => continue,
        };
        // The first two lines name the file.
        let count = |sign: char| file.diff.lines().skip(2).filter(|line| line.starts_with(sign)).count();
        let path = ui.styled(ID, &file.path.display().to_string());
        let counts = ui.styled(QUIET, &format!("+{} -{}", count('+'), count('-')));
        ui.line(format_args!("{action:<8} {path} {counts}"))?;
    }
    Ok(())
}

/// Says what a person does next.
fn show_steps(ui: &mut Ui<'_>, steps: &[SetupStep], has_memory: bool) -> io::Result<()> {
    if !has_memory {
        ui.line("next: create the memory of this folder with `ralph-memory init`")?;
    }
    for SetupStep { client, step } in steps {
        let title = ui.styled(TITLE, client.title());
        ui.line(format_args!("next: {title}: {step}"))?;
    }
    Ok(())
}

fn show_problems(ui: &mut Ui<'_>, problems: &[Problem]) {
    for problem in problems {
        if problem.severity == Severity::Error {
            let (message, hint) = (problem.to_string(), Some(problem.hint.to_string()));
            // In text, the report goes to standard error alone.
            let _ = ui.error(&ErrorReport { message, causes: Vec::new(), hint, exit_code: Exit::Refused as u8 });
        } else {
            ui.problems(std::slice::from_ref(problem));
        }
    }
}
