//! `undo`: takes back an operation, and lists operations.

use std::io;
use std::time::Duration;

use ralph_memory::memory::{EntryPath, Operation, UndoAction, Undone, UndoneFile};
use ralph_memory::text::for_line;
use serde_json::json;
use similar::TextDiff;

use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::{ID, QUIET, Ui, count};
use crate::{own, parse};

/// How many files are named for an operation.
const MAX_FILES: usize = 3;
/// How long the comparison of two versions may take. What is not compared by then counts as changed.
const DIFF_TIME: Duration = Duration::from_millis(400);

/// Take back the last change to the memory, or an older one
///
/// Each command, each call of a tool and each attempt of a run is one operation. `undo` restores every file of the
/// newest one, if nobody changed them since. A second `undo` goes further back, and `undo --redo` forward again, until
/// the next change. The newest 300 operations can be undone, including each `undo` and redo, at most 32 MiB, on this
/// machine only; the log keeps replaced texts longer: see `restore`. The log has nothing that `init` made (remove the
/// folder yourself), and nothing from `setup` (see `setup --remove`).
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
#[command(after_help = "Examples:
  ralph-memory undo
  ralph-memory undo --redo
  ralph-memory undo --list
  ralph-memory undo 12 --dry-run")]
pub(crate) struct UndoArgs {
    /// The operation, as `--list` numbers them [default: the newest one that is not taken back]
    #[arg(value_name = "NUMBER", allow_negative_numbers = true, value_parser = parse::positive::<u64>)]
    number: Option<u64>,
    /// Bring back what `undo` last took back
    #[arg(long, conflicts_with_all = ["number", "list", "clear"])]
    redo: bool,
    /// List the operations, newest first
    #[arg(long, conflicts_with_all = ["number", "dry_run", "clear"])]
    list: bool,
    /// Show the differences, and change nothing
    #[arg(long, conflicts_with = "clear")]
    dry_run: bool,
    /// Forget all operations. A secret that you removed from an entry is still in the log until then
    #[arg(long, conflicts_with = "number")]
    clear: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &UndoArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    if args.list {
        list(ui, &memory.operations()?)?;
    } else if args.clear {
        clear(ui, memory.forget_operations()?)?;
    } else {
        let undone = if args.redo { memory.redo(args.dry_run) } else { memory.undo(args.number, args.dry_run) }?;
        show(ui, &undone, args)?;
        if args.number.is_none() && is_own_newer(globals, &undone.operation) {
            ui.note("your own memory has a newer change: `ralph-memory undo --own` takes that back");
        }
    }
    Ok(Exit::Done)
}

/// Returns whether the person's own memory has a change after this one of a project's.
fn is_own_newer(globals: &Globals, undone: &Operation) -> bool {
    let newest = || {
        let operations = globals.placed(Vec::new(), Some(own::existing().ok()?)).open().ok()?.operations().ok()?;
        operations.into_iter().find(|own| own.taken_back_by.is_none() && own.undoes.is_none())
    };
    !globals.is_own() && newest().is_some_and(|own| own.at > undone.at)
}

fn list(ui: &mut Ui<'_>, operations: &[Operation]) -> io::Result<()> {
    if ui.json {
        return ui.json(json!({ "operations": operations }), &[]);
    }
    if operations.is_empty() {
        ui.note("there is nothing to undo");
    }
    for operation in operations {
        let number = ui.styled(ID, &format!("{:>4}", operation.number));
        let time = ui.styled(QUIET, &operation.at.format("%Y-%m-%d %H:%M").to_string());
        ui.line(format_args!("{number}  {time}  {}: {}", name_of(operation), summary(operation)))?;
    }
    Ok(())
}

fn clear(ui: &mut Ui<'_>, operation_count: usize) -> io::Result<()> {
    if ui.json {
        return ui.json(json!({ "action": "cleared", "operation_count": operation_count }), &[]);
    }
    ui.line(format_args!("forgot {}", count(operation_count, "operation")))
}

/// Shows what was taken back, or would be.
fn show(ui: &mut Ui<'_>, undone: &Undone, &UndoArgs { redo, dry_run, .. }: &UndoArgs) -> io::Result<()> {
    if ui.json {
        let mut answer = json!(undone);
        answer["action"] = json!(if redo { "redone" } else { "undone" });
        answer["dry_run"] = json!(dry_run);
        return ui.json(answer, &undone.problems);
    }
    let operation = &undone.operation;
    let number = ui.styled(ID, &operation.number.to_string());
    let done = match (redo, dry_run) {
        (false, false) => "took back",
        (false, true) => "would take back",
        (true, false) => "brought back",
        (true, true) => "would bring back",
    };
    ui.line(format_args!("{done} operation {number}: {}", name_of(operation)))?;
    for file in &undone.files {
        let from = file.from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default();
        let path = ui.styled(ID, file.path.as_str());
        ui.line(format_args!("{:<8} {path}{from}", file.action.as_str()))?;
    }
    if dry_run {
        for file in &undone.files {
            ui.text(&diff(file))?;
        }
        ui.note("dry run: nothing was changed");
    } else if redo {
        ui.note("`ralph-memory undo` reverses this");
    } else {
        ui.note("`ralph-memory undo --redo` reverses this, and `ralph-memory undo` goes further back");
    }
    ui.problems(&undone.problems);
    Ok(())
}

/// Returns the name of an operation; for an undo or a redo, with the number of what it took or brought back.
fn name_of(operation: &Operation) -> String {
    let of = |what: &str, number: Option<u64>| number.map(|number| format!("{what} of operation {number}"));
    let name = of("undo", operation.undoes).or_else(|| of("redo", operation.redoes));
    name.unwrap_or_else(|| operation.command.clone())
}

/// Returns what an operation changed, in a line.
fn summary(operation: &Operation) -> String {
    if operation.taken_back_by.is_some() {
        return "taken back".to_owned();
    }
    if let Some(refusal) = &operation.refusal {
        return format!("cannot be undone, since {refusal}");
    }
    let counts = [
        (operation.created, "created"),
        (operation.changed, "changed"),
        (operation.moved, "moved"),
        (operation.removed, "removed"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(number, _)| *number > 0).map(|(number, done)| format!("{number} {done}")).collect();
    let files: Vec<&str> = operation.files.iter().take(MAX_FILES).map(EntryPath::as_relative).collect();
    let more = if operation.files.len() > MAX_FILES { ", …" } else { "" };
    format!("{} ({}{more})", counts.join(", "), files.join(", "))
}

/// Returns the change of a file as a unified diff; nothing for one that is only moved.
fn diff(file: &UndoneFile) -> String {
    if file.action == UndoAction::Moved {
        return String::new();
    }
    let text = |bytes: &Option<Vec<u8>>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
    let name = |side: &str, bytes: &Option<Vec<u8>>| match bytes {
        Some(_) => format!("{side}/{}", for_line(file.path.as_str())),
        None => "/dev/null".to_owned(),
    };
    let (before, after) = (text(&file.before), text(&file.after));
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(&before, &after);
    let header = (name("a", &file.before), name("b", &file.after));
    diff.unified_diff().context_radius(3).header(&header.0, &header.1).to_string()
}
