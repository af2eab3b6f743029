//! `edit`: changes an entry by options, or opens it in the person's editor and writes the result if it is valid.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use ralph_memory::memory::{EntryChanges, EntryText, WriteAction};
use ralph_memory::system::posix::shell;
use ralph_memory::{Error, Id, Memory, Scope};
use serde_json::json;

use crate::answers::show_written;
use crate::error::UsageError;
use crate::exit::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::Ui;

/// Change a knowledge entry: in your editor, or by options
///
/// With options, no editor is opened. A new title gives the file a new name; the entry keeps its old names in `aliases`, so
/// links and its history still find it.
///
/// Without options, `$VISUAL`, else `$EDITOR`, opens the entry's own file, which keeps its name even if the title changes.
/// If the text is invalid or has a secret, you are asked whether to edit it again. Otherwise, and without a terminal, the
/// old text is restored, and `undo` brings back yours.
///
/// If an agent wrote the entry, and a person wrote the one that it replaces, `--supersedes` confirms the agent's
/// suggestion, and the entry becomes a person's. If a coding agent runs it, it is only a suggestion. A coding agent can
/// neither confirm nor change an entry that a person wrote.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory edit knowledge/wal-mode
  ralph-memory edit wal-mode --confirm
  ralph-memory edit cache --title \"Compiler cache\" --tags build,cache
  ralph-memory edit wal-mode --scope section:storage
  ralph-memory edit use-just --supersedes use-make")]
pub(crate) struct EditArgs {
    /// The entry; with `--confirm` alone, one or more
    #[arg(value_parser = parse::id, value_name = "ID", required = true)]
    ids: Vec<Id>,
    /// Its new title
    #[arg(long, allow_hyphen_values = true)]
    title: Option<String>,
    /// Which tasks see it: `project`, `feature:NAME`, `section:ID` or `task:ID`
    #[arg(long, value_parser = parse::scope)]
    scope: Option<Scope>,
    /// Its new keywords, split at commas
    #[arg(long, alias = "tag", value_delimiter = ',', value_name = "A,B")]
    tags: Option<Vec<String>>,
    /// An entry that it replaces, which searches then leave out; may be repeated
    #[arg(long, value_name = "ID", value_parser = parse::id)]
    supersedes: Vec<Id>,
    /// Say that it holds: it counts as written now, and if an agent wrote it, it becomes yours
    #[arg(long)]
    confirm: bool,
    /// Accept this text, which looks like a secret but is not one; may be repeated
    #[arg(long = "allow-secret", value_name = "FINGERPRINT")]
    allow_secrets: Vec<String>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, mut args: EditArgs) -> anyhow::Result<Exit> {
    let globals = globals.of_ids(ui, args.ids.iter_mut().chain(&mut args.supersedes))?;
    let memory = globals.open()?.allow_secrets(&args.allow_secrets)?;
    let EditArgs { ids, title, scope, tags, supersedes, confirm, .. } = args;
    let changes = EntryChanges { title, scope, tags, supersedes, confirm };
    let only = |confirm| EntryChanges { confirm, ..EntryChanges::default() };
    let [id] = ids.as_slice() else {
        if changes != only(true) {
            let message = "more than one entry was given".to_owned();
            return Err(UsageError::new(message, "only `--confirm` alone takes several".to_owned()).into());
        }
        return confirm_all(ui, &memory, &ids, &changes);
    };
    if changes == only(false) {
        edit(ui, &memory, id, if globals.is_own() { " --own" } else { "" })?;
    } else {
        show_written(ui, &memory.change(id, &changes)?)?;
    }
    Ok(Exit::Done)
}

/// Confirms entries as one operation, once all of them were found.
fn confirm_all(ui: &mut Ui<'_>, memory: &Memory, ids: &[Id], changes: &EntryChanges) -> anyhow::Result<Exit> {
    ids.iter().try_for_each(|id| memory.text(id).map(drop))?;
    let _operation = memory.operation("edit");
    let written = ids.iter().map(|id| memory.change(id, changes)).collect::<Result<Vec<_>, _>>()?;
    if ui.json {
        let problems: Vec<_> = written.iter().flat_map(|written| written.problems.clone()).collect();
        ui.json(json!({ "entries": written }), &problems)?;
        return Ok(Exit::Done);
    }
    written.iter().try_for_each(|written| show_written(ui, written))?;
    Ok(Exit::Done)
}

/// Lets a person change the whole text.
fn edit(ui: &mut Ui<'_>, memory: &Memory, id: &Id, own: &str) -> anyhow::Result<()> {
    let mut old = memory.text(id)?;
    let file = memory.root().join(old.path.as_str());
    let editor = editor(&file)?;
    let kept = memory.keep_text(&mut old)?;
    let edited = edit_file(ui, memory, &old, &editor);
    let Err(Some(error)) = edited.as_ref().map_err(|error| error.downcast_ref()) else {
        kept.remove();
        return edited;
    };
    let is_unchanged = memory.text(id).is_ok_and(|now| now.text == old.text);
    let message = match error {
        Error::InvalidEdit { .. } if is_unchanged => {
            format!("the old text is restored; `ralph-memory undo{own}` brings back yours")
        }
        Error::InvalidEdit { .. } => {
            "your text stays in the file, because another command changed the entry, too".to_owned()
        }
        Error::Io { path, .. } | Error::Conflict { path, .. } | Error::OutsideRoot { path } if *path == file => {
            format!("once the place is free, `ralph-memory undo{own}` brings back the old text")
        }
        _ if !is_unchanged => {
            ui.warn(&format!("`ralph-memory restore{own} {id}` brings back the old text"));
            return edited;
        }
        _ => {
            kept.remove();
            return edited;
        }
    };
    ui.warn(&message);
    kept.remove();
    edited
}

/// Runs the editor until it leaves a text that is valid, or the person gives up.
fn edit_file(ui: &mut Ui<'_>, memory: &Memory, old: &EntryText, editor: &str) -> anyhow::Result<()> {
    loop {
        let ended = run_editor(ui, editor, &memory.root().join(&old.path))?;
        let asks = !ui.json && io::stdin().is_terminal() && io::stderr().is_terminal();
        let edited = memory.edited(old, !asks);
        if !ended.success() {
            ui.warn(&format!("the editor `{editor}` ended with {ended}; the variable VISUAL or EDITOR names it"));
            if edited.as_ref().is_ok_and(|edited| edited.action == WriteAction::Unchanged) {
                return Err(UsageError::new("nothing was changed", "edit the entry again").into());
            }
        }
        let edited = match edited {
            Err(Error::InvalidEdit { problems, .. }) if asks => {
                ui.problems(&problems);
                if ui.confirm("edit again? Otherwise, the old text is restored.")? {
                    continue;
                }
                // Somebody may have corrected it meanwhile.
                memory.edited(old, true)
            }
            edited => edited,
        };
        return Ok(show_written(ui, &edited?)?);
    }
}

/// Returns the person's editor: a command line for the shell, as for git.
fn editor(path: &Path) -> anyhow::Result<String> {
    let set = |name| std::env::var(name).ok().filter(|command| !command.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).ok_or_else(|| {
        let hint = format!(
            "set the variable VISUAL or EDITOR, such as `EDITOR=nano`; or change `{}` in any program, and run \
             `ralph-memory check`",
            path.display()
        );
        UsageError::new("no editor is set", hint).into()
    })
}

/// Runs the editor on a file.
fn run_editor(ui: &Ui<'_>, editor: &str, path: &Path) -> anyhow::Result<ExitStatus> {
    let mut command = shell(editor, Some(path));
    if ui.json {
        // Standard output has the answer.
        command.stdout(Stdio::from(io::stderr()));
    }
    Ok(command.status().map_err(|source| Error::Io { action: "run", path: "sh".into(), source })?)
}
