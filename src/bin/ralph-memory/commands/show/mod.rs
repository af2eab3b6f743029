//! `show`: shows all of one entry, task or run.

mod entry;
mod run;
mod task;

use ralph_memory::{Error, Id, Memory};

use crate::error::{NothingFound, UsageError};
use crate::exit::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::Ui;

/// Show all of an entry, a task or a run
///
/// An entry: its fields, its links both ways, its versions and its body. A task: its state, and what each attempt tried and
/// why it failed. A run: its iterations, its tasks and what was learned in it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory show knowledge/cargo-bench-requires-nightly
  ralph-memory show cargo-bench-requires-nightly --json
  ralph-memory show t-4e0acb21a3
  ralph-memory show run-1a2b3c4d
  ralph-memory show task:login

An id of both an entry and a task or a run means the entry; `task:` or `run:` before it means the other.")]
pub(crate) struct ShowArgs {
    /// The id of an entry, a task or a run; an entry's path; or a knowledge entry's file name
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &ShowArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let text = args.id.trim();
    if let Some(id) = text.strip_prefix("task:") {
        return if show_task(ui, &memory, id)? { Ok(Exit::Done) } else { Err(missing("task", id)) };
    }
    if let Some(id) = text.strip_prefix("run:") {
        return if show_run(ui, &memory, id)? { Ok(Exit::Done) } else { Err(missing("run", id)) };
    }
    let id = id(text)?;
    match memory.show(&id) {
        Ok(shown) => {
            entry::show(ui, &shown)?;
            if let Some(other) = other(&memory, text) {
                ui.note(&format!("hint: `{text}` is also the id of a {other}: `ralph-memory show {other}:{text}`"));
            }
            Ok(Exit::Done)
        }
        Err(Error::NoSuchEntry { .. }) if show_task(ui, &memory, text)? || show_run(ui, &memory, text)? => {
            Ok(Exit::Done)
        }
        Err(error) => Err(error.into()),
    }
}

fn id(text: &str) -> anyhow::Result<Id> {
    let refused = |reason| UsageError {
        message: format!("`{text}` is {reason}"),
        hint: "`ralph-memory list` lists entries, and `ralph-memory log` attempts with their tasks and runs".to_owned(),
    };
    Ok(parse::id(text).map_err(refused)?)
}

/// Returns whether an id is that of a task or a run.
fn other(memory: &Memory, id: &str) -> Option<&'static str> {
    if id.contains('/') {
        return None;
    }
    let is_run = || memory.run(id).is_some();
    memory.task(id).map(|_| "task").or_else(|| is_run().then_some("run"))
}

fn missing(what: &str, id: &str) -> anyhow::Error {
    let hint = "`ralph-memory log` lists attempts with their tasks and runs".to_owned();
    NothingFound { message: format!("there is no {what} `{id}`"), hint }.into()
}

fn show_task(ui: &mut Ui<'_>, memory: &Memory, id: &str) -> anyhow::Result<bool> {
    memory.task(id).map_or(Ok(false), |task| task::show(ui, &task).map(|()| true))
}

fn show_run(ui: &mut Ui<'_>, memory: &Memory, id: &str) -> anyhow::Result<bool> {
    memory.run(id).map_or(Ok(false), |view| run::show(ui, &view).map(|()| true))
}
