//! `context`: what an agent should know before it begins a task.

use ralph_memory::{Budget, Id, Request, Task};
use serde::Serialize;

use crate::error::{Exit, Usage};
use crate::parse;
use crate::session::Globals;
use crate::ui::Ui;

/// Print what an agent should know before it begins a task
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory context --task \"Speed up the catalog scan\" --file src/catalog/scan.rs
  ralph-memory context --task \"Fix the login\" --feature auth --tokens 4000 > prompt.md")]
pub(crate) struct Args {
    /// What is to be done, in a line
    #[arg(long, value_name = "TITLE", allow_hyphen_values = true)]
    task: String,
    /// The task's id: letters, digits, `.`, `_` and `-`, at most 64 [default: made of the title]
    #[arg(long, value_name = "ID", value_parser = parse::task_id)]
    task_id: Option<String>,
    /// What is to be done, at length
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    description: String,
    /// The feature that the task belongs to
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// The section that the task belongs to
    #[arg(long, value_name = "ID")]
    section: Option<String>,
    /// A path that it touches; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// At most so many characters [default: 27,000 and the fixed instructions]
    #[arg(long, value_name = "N", conflicts_with = "tokens")]
    budget: Option<usize>,
    /// At most so many tokens, by an estimate that is rather too high
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
}

#[derive(Serialize)]
struct Answer<'a> {
    context: &'a str,
    entries: &'a [Id],
    left_out: &'a [Id],
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: Args) -> anyhow::Result<Exit> {
    if args.task.trim().is_empty() {
        let hint = "say in a line what is to be done: `--task \"Speed up the catalog scan\"`".to_owned();
        return Err(Usage { message: "the task's title is empty".to_owned(), hint }.into());
    }
    let memory = globals.open()?;
    let budget = args.budget.map(Budget::characters).or(args.tokens.map(Budget::tokens));
    let own_id = Task::id_of_title(&args.task);
    let task = Task {
        title: args.task,
        description: args.description,
        id: Some(args.task_id.unwrap_or(own_id)),
        feature: args.feature,
        section: args.section,
        files: args.files,
    };
    let context = memory.context(&Request { task, budget })?;
    if ui.json {
        let answer = Answer { context: &context.text, entries: &context.entries, left_out: &context.left_out };
        ui.json(answer, &context.problems)?;
    } else {
        // The text goes to an agent as it is; what a terminal must not get was taken out of it.
        ui.text(&context.text)?;
        ui.problems(&context.problems);
    }
    Ok(Exit::Done)
}
