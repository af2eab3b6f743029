//! `show`: shows everything about one entry, task or run.

mod entry;
mod run;
mod task;

use ralph_memory::memory::EntryFilter;
use ralph_memory::text::printed_command;
use ralph_memory::{Error, Id, Memory};

use crate::answers::in_layer;
use crate::error::{NothingFound, UsageError, check_whole};
use crate::exit::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::Ui;

/// Show everything about an entry, a task or a run
///
/// An entry: its fields, its links both ways and its body. A task: its state, and what each attempt tried and
/// why it failed. A run: its attempts, its tasks and what was learned in it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory show knowledge/cargo-bench-requires-nightly
  ralph-memory show cargo-bench-requires-nightly --json
  ralph-memory show t-4e0acb21a3
  ralph-memory show \"Fix the login\"
  ralph-memory show run-1a2b3c4d
  ralph-memory show run-1a2b3c4d/3
  ralph-memory show task:login

If an entry has the same id as a task or a run, the entry is shown. For the other,
write `task:` or `run:` before the id. For an entry of a layer, write the layer's
name there, such as `notes:knowledge/vpn`.")]
pub(crate) struct ShowArgs {
    /// The id of an entry, a task or a run; an attempt as `RUN/NUMBER`; an entry's path; a knowledge entry's file name, title or alias; or a
    /// task's title
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &ShowArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?.for_one_answer();
    let text = args.id.trim();
    if let Some(id) = text.strip_prefix("task:") {
        return if show_task(ui, &memory, id)? || show_titled(ui, &memory, id)? {
            Ok(Exit::Done)
        } else {
            Err(missing(&memory, "task", id))
        };
    }
    if let Some(id) = text.strip_prefix("run:") {
        return if show_run(ui, &memory, id)? { Ok(Exit::Done) } else { Err(missing(&memory, "run", id)) };
    }
    if let Some(shown) = in_layer(&memory, text) {
        entry::show(ui, &shown?)?;
        return Ok(Exit::Done);
    }
    let attempt = parse::attempt(text);
    let id = id(text)?;
    match memory.show(&id) {
        Ok(shown) => {
            entry::show(ui, &shown)?;
            if let Some((what, command)) = other(&memory, text) {
                let show = printed_command(command, &[("ID", text)]);
                ui.note(&format!("hint: `{text}` is also the id of a {what}: {show}"));
            }
            Ok(Exit::Done)
        }
        Err(Error::NoSuchEntry { .. }) if is_shown(ui, &memory, text)? => Ok(Exit::Done),
        // It is not in the journal yet.
        Err(Error::NoSuchEntry { .. }) if is_open(&memory, attempt.as_ref()) => {
            show_run(ui, &memory, attempt.as_ref().map_or(text, |(run, ..)| run)).map(|_| Exit::Done)
        }
        Err(Error::NoSuchEntry { similar, .. }) if !text.contains('/') => Err(nothing(text, &similar)),
        Err(error) => Err(error.into()),
    }
}

fn is_open(memory: &Memory, attempt: Option<&(&str, u32, Id)>) -> bool {
    let is_live = |run: &str, number: u32| {
        memory.run(run).is_some_and(|view| view.live.iter().any(|live| live.iteration == Some(number)))
    };
    attempt.is_some_and(|(run, number, _)| is_live(run, *number))
}

fn nothing(text: &str, similar: &[String]) -> anyhow::Error {
    let similar: Vec<String> = similar.iter().map(|id| format!("`{id}`")).collect();
    let hint = if similar.is_empty() {
        "`ralph-memory list --archived` lists entries, and `ralph-memory log` attempts with their tasks and runs"
            .to_owned()
    } else {
        format!("did you mean {}?", similar.join(" or "))
    };
    NothingFound { message: format!("there is no entry, task or run `{text}`"), hint }.into()
}

fn id(text: &str) -> anyhow::Result<Id> {
    let refused = |reason| UsageError {
        message: format!("`{text}` is {reason}"),
        hint: "`ralph-memory list` lists entries, and `ralph-memory log` attempts with their tasks and runs".to_owned(),
    };
    Ok(parse::id(text).map_err(refused)?)
}

/// Returns what an id names if it is that of a task or a run, and the command that shows it.
fn other(memory: &Memory, id: &str) -> Option<(&'static str, &'static str)> {
    if id.contains('/') {
        return None;
    }
    let is_run = || memory.run(id).is_some();
    let task = memory.task(id).map(|_| ("task", "ralph-memory show task:ID"));
    task.or_else(|| is_run().then_some(("run", "ralph-memory show run:ID")))
}

fn missing(memory: &Memory, what: &str, id: &str) -> anyhow::Error {
    if let Err(error) = check_whole(&memory.list(&EntryFilter::default()).problems) {
        return error.into();
    }
    let hint = "`ralph-memory log` lists attempts with their tasks and runs".to_owned();
    NothingFound { message: format!("there is no {what} `{id}`"), hint }.into()
}

fn show_task(ui: &mut Ui<'_>, memory: &Memory, id: &str) -> anyhow::Result<bool> {
    memory.task(id).map_or(Ok(false), |task| task::show(ui, &task).map(|()| true))
}

fn show_titled(ui: &mut Ui<'_>, memory: &Memory, title: &str) -> anyhow::Result<bool> {
    memory.task_id(title).map_or(Ok(false), |id| show_task(ui, memory, &id))
}

/// Shows the task or the run with this id, or the task with this title.
fn is_shown(ui: &mut Ui<'_>, memory: &Memory, name: &str) -> anyhow::Result<bool> {
    Ok(show_task(ui, memory, name)? || show_run(ui, memory, name)? || show_titled(ui, memory, name)?)
}

fn show_run(ui: &mut Ui<'_>, memory: &Memory, id: &str) -> anyhow::Result<bool> {
    memory.run(id).map_or(Ok(false), |view| run::show(ui, &view).map(|()| true))
}
