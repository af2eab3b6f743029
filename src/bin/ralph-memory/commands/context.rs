//! `context`: prints the prompt for an agent that begins a task; without a task, the briefing of a session.

use std::io::IsTerminal as _;

use ralph_memory::context::{BriefingRequest, Context, SuccessRate};
use ralph_memory::memory::EntryView;
use ralph_memory::settings::Strategy;
use ralph_memory::{Budget, Id, Memory, Request, Task};
use serde::Serialize;

use crate::answers::with_excerpts;
use crate::authors::run_of_environment;
use crate::error::UsageError;
use crate::exit::Exit;
use crate::session::{Globals, session_of_environment};
use crate::ui::Ui;
use crate::{parse, project_paths};

/// Print the prompt for an agent that begins a task
///
/// The prompt holds the task, what was tried and why that failed, what was learned elsewhere, how the run is going, and
/// how to report. The command opens nothing; `record` records the result. The model that should work on it is printed
/// to standard error and, with `--json`, in the answer.
///
/// Without a task it prints a briefing for the start of a session, by default of at most 1,200 tokens: tasks that failed last,
/// recurring errors, decisions and learnings, and what is new. It prints nothing if there is nothing to report.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory context
  ralph-memory context \"Speed up the scan\" --file src/scan.rs
  ralph-memory context \"Fix the login\" --tokens 4000 > prompt.md")]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// The run whose state the prompt describes [default: `RALPH_RUN_ID`, else the one that was active in this
    /// folder in the last two hours]
    #[arg(long, value_name = "ID", requires = "what")]
    run: Option<String>,
    /// How the model is chosen: fixed, cost-optimized, escalate or plan-then-execute
    #[arg(long, value_name = "NAME", requires = "what")]
    strategy: Option<Strategy>,
    /// The limit of attempts in the run, which the prompt mentions; your own loop must enforce it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::positive::<u32>, requires = "what")]
    limit: Option<u32>,
    #[command(flatten)]
    budget: BudgetArgs,
}

/// What is to be done.
#[derive(Debug, clap::Args)]
pub(crate) struct TaskArgs {
    /// What to do, in one line
    #[arg(value_name = "TASK", group = "what")]
    title: Option<String>,
    /// The same, as an option, for a title that may begin with `-`
    #[arg(long, value_name = "TITLE", allow_hyphen_values = true, group = "what")]
    task: Option<String>,
    /// The task's id: letters, digits, `.`, `_` and `-`, at most 64 [default: derived from the title]
    #[arg(long, value_name = "ID", value_parser = parse::task_id, requires = "what")]
    task_id: Option<String>,
    /// What to do, in detail
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
    /// The maximum size of the text in characters, including the task [default: 27,000 plus the fixed instructions and
    /// the task; for a briefing, those of 1,200 tokens]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::count::<usize>, conflicts_with = "tokens")]
    budget: Option<usize>,
    /// The maximum size of the text in tokens, by an estimate that is on the high side
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
    prompt: &'a str,
    task_id: &'a str,
    attempt: usize,
    model: &'a str,
    rationale: &'a str,
    success_rate: SuccessRate,
    entries: Vec<EntryView>,
    left_out: Vec<EntryView>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: ContextArgs) -> anyhow::Result<Exit> {
    let budget = args.budget.budget();
    let memory = globals.open()?.for_one_answer();
    if args.task.title.is_none() && args.task.task.is_none() {
        return brief(ui, &memory, budget);
    }
    let task = args.task.task()?;
    let task = Task { files: project_paths::of_project(&memory, &task.files)?, ..task };
    let run = args.run.or_else(run_of_environment);
    let asker = run.clone().or_else(|| session_of_environment(&memory));
    let ContextArgs { strategy, limit, .. } = args;
    let request = Request { task, budget, run, strategy, limit, by_tools: false };
    let context = memory.context(&request)?;
    // A person who looks at it makes no attempt.
    if !std::io::stdout().is_terminal() {
        memory.note_context(&request.task, asker.as_deref(), &context);
    }
    let Context { task_id, attempt, model, rationale, success_rate, .. } = &context;
    if ui.json {
        let listed = |ids: &[Id]| listed(&memory, ids, &request.task.title);
        let (entries, left_out) = (listed(&context.entries), listed(&context.left_out));
        let (prompt, attempt, success_rate) = (&context.text, *attempt, *success_rate);
        let answer = ContextAnswer { prompt, task_id, attempt, model, rationale, success_rate, entries, left_out };
        ui.json(answer, &context.problems)?;
    } else {
        // The text goes to an agent unchanged; characters that are dangerous for a terminal were removed from it.
        ui.text(&context.text)?;
        ui.problems(&context.problems);
        ui.note(&format!("attempt {attempt} at {task_id}, with {model}: {rationale}"));
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct BriefingAnswer<'a> {
    briefing: &'a str,
    entries: Vec<EntryView>,
    attempts: Vec<EntryView>,
}

fn listed(memory: &Memory, ids: &[Id], query: &str) -> Vec<EntryView> {
    with_excerpts(memory, memory.summaries(ids).into_iter().map(EntryView::from).collect(), query)
}

/// Prints the briefing of a session.
fn brief(ui: &mut Ui<'_>, memory: &Memory, budget: Option<Budget>) -> anyhow::Result<Exit> {
    let briefing = memory.briefing(&BriefingRequest { budget, ..BriefingRequest::default() })?;
    if ui.json {
        let (entries, attempts) = (listed(memory, &briefing.entries, ""), listed(memory, &briefing.attempts, ""));
        ui.json(BriefingAnswer { briefing: &briefing.text, entries, attempts }, &briefing.problems)?;
    } else {
        ui.text(&briefing.text)?;
        ui.problems(&briefing.problems);
    }
    Ok(Exit::Done)
}
