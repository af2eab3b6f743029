//! `context`: begins an iteration, and prints the context for its agent; without a task, prints the briefing of a session.

use ralph_memory::context::BriefingRequest;
use ralph_memory::memory::{Iteration, Run};
use ralph_memory::runner::assigned_task;
use ralph_memory::settings::Strategy;
use ralph_memory::{Budget, Id, Memory, Request, Task};
use serde::Serialize;

use crate::answers::{self, Begun, ListedEntry};
use crate::error::{NothingFound, UsageError};
use crate::exit::Exit;
use crate::session::{Globals, iteration_of_environment, run_of_environment};
use crate::ui::Ui;
use crate::{parse, project_paths};

/// Begin an iteration and print what its agent should know
///
/// The context holds what was tried on this task and why it failed, what was learned elsewhere, how the run is going,
/// and how to report. `record` ends the iteration. The chosen model is printed to standard error and, with `--json`, in
/// the answer.
///
/// Without a task it prints a briefing for the start of a session, by default of at most 1,200 tokens: tasks that failed last,
/// recurring errors, decisions and learnings, and what is new. It begins no iteration, and prints nothing if there is
/// nothing to report.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory context
  ralph-memory context \"Speed up the scan\" --file src/catalog/scan.rs
  ralph-memory context \"Fix the login\" --tokens 4000 > prompt.md
  ralph-memory context \"Fix the login\" --dry-run
  ralph-memory context --cancel run-1a2b3c4d/3")]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// The run that the iteration belongs to [default: `RALPH_RUN_ID`, else the one that was active in
    /// the last two hours, else a new one]
    #[arg(long, value_name = "ID", requires = "what")]
    run: Option<String>,
    /// How the model is chosen: fixed, cost-optimized, escalate or plan-then-execute
    #[arg(long, value_name = "NAME", value_parser = parse::strategy, requires = "what")]
    strategy: Option<Strategy>,
    /// The limit of iterations that the context mentions; your own loop has to enforce it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::positive::<u32>, requires = "what")]
    limit: Option<u32>,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Print the context without beginning an iteration: nothing is written
    #[arg(long)]
    dry_run: bool,
    /// Leave out the task, with which the text begins
    #[arg(long, requires = "what")]
    no_task: bool,
    /// Give up an open iteration: RUN/NUMBER, as `status` lists it
    #[arg(long, value_name = "ID", conflicts_with_all = ["what", "run", "dry_run"])]
    cancel: Option<String>,
}

/// What is to be done.
#[derive(Debug, clap::Args)]
pub(crate) struct TaskArgs {
    /// What is to be done, in a line
    #[arg(value_name = "TASK", group = "what")]
    title: Option<String>,
    /// The same as an option, for a title that may begin with `-`
    #[arg(long, value_name = "TITLE", allow_hyphen_values = true, group = "what")]
    task: Option<String>,
    /// The task's id: letters, digits, `.`, `_` and `-`, at most 64 [default: made of the title]
    #[arg(long, value_name = "ID", value_parser = parse::task_id, requires = "what")]
    task_id: Option<String>,
    /// What is to be done, at length
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, requires = "what")]
    description: Option<String>,
    /// The feature that the task belongs to
    #[arg(long, value_name = "NAME", requires = "what")]
    feature: Option<String>,
    /// The section that the task belongs to
    #[arg(long, value_name = "ID", requires = "what")]
    section: Option<String>,
    /// A file that it touches, relative to the working folder; may be repeated
    #[arg(long = "file", value_name = "PATH", requires = "what")]
    files: Vec<String>,
}

impl TaskArgs {
    fn task(self) -> anyhow::Result<Task> {
        let title = self.title.or(self.task).unwrap_or_default();
        if title.trim().is_empty() {
            let hint =
                "say in a line what is to be done: `ralph-memory context \"Speed up the catalog scan\"`".to_owned();
            return Err(UsageError { message: "the task's title is empty".to_owned(), hint }.into());
        }
        let id = self.task_id.unwrap_or_else(|| Task::id_of_title(&title));
        Ok(Task {
            title,
            description: self.description.unwrap_or_default(),
            id: Some(id),
            feature: self.feature,
            section: self.section,
            files: self.files,
        })
    }
}

/// The limit of the context's size.
#[derive(Debug, clap::Args)]
pub(crate) struct BudgetArgs {
    /// The most characters that the text may have, task included [default: 27,000, the fixed instructions and the task; of a
    /// briefing, those of 1,200 tokens]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::count::<usize>, conflicts_with = "tokens")]
    budget: Option<usize>,
    /// The most tokens that the text may have, by an estimate that is on the high side
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::count::<usize>)]
    tokens: Option<usize>,
}

impl BudgetArgs {
    /// Returns the budget, if one was named.
    pub(crate) fn budget(&self) -> Option<Budget> {
        self.budget.map(Budget::characters).or(self.tokens.map(Budget::tokens))
    }
}

#[derive(Serialize)]
struct ContextAnswer<'a> {
    iteration: Option<Begun<'a>>,
    context: &'a str,
    entries: Vec<ListedEntry>,
    left_out: Vec<ListedEntry>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: ContextArgs) -> anyhow::Result<Exit> {
    if let Some(id) = &args.cancel {
        return cancel(ui, &globals.open()?, id);
    }
    if args.task.title.is_none() && args.task.task.is_none() {
        return brief(ui, &globals.open()?, args.budget.budget());
    }
    let task = args.task.task()?;
    let memory = globals.open()?;
    let task = Task { files: project_paths::of_project(&memory, &task.files)?, ..task };
    // `run` does the same. JSON has the model in the iteration.
    let assigned = if args.no_task { String::new() } else { assigned_task(&task, &task.own_id()) + "\n" };
    let budget = args.budget.budget().map(|budget| budget.after(&assigned));
    // An agent that asks for the context of its own iteration begins no second one.
    let is_begun = iteration_of_environment().is_some_and(|(run, number)| {
        let is_it = |open: &Iteration| open.run_id == run && open.number == number && open.task_id() == task.own_id();
        args.run.as_ref().is_none_or(|wanted| *wanted == run) && memory.open_iterations().iter().any(is_it)
    });
    if args.dry_run || is_begun {
        let title = task.title.clone();
        let context = memory.context(&Request { task, budget, by_tools: false })?;
        if ui.json {
            let (entries, left_out) = (memory.summaries(&context.entries), memory.summaries(&context.left_out));
            let [entries, left_out] =
                [&entries, &left_out].map(|list| answers::listed_for_agent(&memory, list, &title));
            ui.json(ContextAnswer { iteration: None, context: &context.text, entries, left_out }, &context.problems)?;
        } else {
            ui.text(&format!("{assigned}{}", context.text))?;
            ui.problems(&context.problems);
        }
        return Ok(Exit::Done);
    }
    let id = args.run.or_else(run_of_environment).or_else(|| memory.recent_run());
    let run = id.map_or_else(|| memory.new_run(), Run::named);
    let iteration = memory.begin(&task, &Run { strategy: args.strategy, limit: args.limit, budget, ..run })?;
    if ui.json {
        let (entries, left_out) = (memory.summaries(&iteration.entries), memory.summaries(&iteration.left_out));
        let [entries, left_out] =
            [&entries, &left_out].map(|list| answers::listed_for_agent(&memory, list, &iteration.task.title));
        let begun = Some(Begun::of(&iteration));
        ui.json(
            ContextAnswer { iteration: begun, context: &iteration.context, entries, left_out },
            &iteration.problems,
        )?;
    } else {
        // The text goes to an agent unchanged; characters that are dangerous for a terminal were removed from it.
        ui.text(&format!("{assigned}{}", iteration.context))?;
        ui.problems(&iteration.problems);
        ui.note(&format!(
            "iteration {} of {}, with {}: {}",
            iteration.number, iteration.run_id, iteration.model, iteration.rationale
        ));
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct BriefingAnswer<'a> {
    briefing: &'a str,
    entries: Vec<ListedEntry>,
    attempts: Vec<ListedEntry>,
}

/// Prints the briefing of a session.
fn brief(ui: &mut Ui<'_>, memory: &Memory, budget: Option<Budget>) -> anyhow::Result<Exit> {
    let briefing = memory.briefing(&BriefingRequest { budget, by_tools: false })?;
    if ui.json {
        let listed = |ids: &[Id]| answers::listed_for_agent(memory, &memory.summaries(ids), "");
        let (entries, attempts) = (listed(&briefing.entries), listed(&briefing.attempts));
        ui.json(BriefingAnswer { briefing: &briefing.text, entries, attempts }, &briefing.problems)?;
    } else {
        ui.text(&briefing.text)?;
        ui.problems(&briefing.problems);
    }
    Ok(Exit::Done)
}

/// Gives up an iteration that has begun and was never recorded.
fn cancel(ui: &mut Ui<'_>, memory: &Memory, id: &str) -> anyhow::Result<Exit> {
    let open = memory.open_iterations();
    let named = id.trim_start_matches("journal/").rsplit_once('/');
    let named = named.and_then(|(run, number)| Some((run, number.parse::<u32>().ok()?)));
    let found = open.iter().find(|open| named == Some((open.run_id.as_str(), open.number)));
    let Some(iteration) = found else {
        let ids: Vec<String> = open.iter().map(|open| format!("`{}/{}`", open.run_id, open.number)).collect();
        let hint = if ids.is_empty() {
            "`ralph-memory status` lists open iterations; there are none".to_owned()
        } else {
            format!("open: {}", ids.join(", "))
        };
        return Err(NothingFound { message: format!("there is no open iteration `{id}`"), hint }.into());
    };
    memory.cancel(iteration)?;
    if ui.json {
        ui.json(Canceled { action: "canceled", iteration: Begun::of(iteration) }, &[])?;
    } else {
        ui.line(format!("canceled {}/{}", iteration.run_id, iteration.number))?;
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Canceled<'a> {
    action: &'static str,
    iteration: Begun<'a>,
}
