//! `edit`: changes an entry by options, or opens it in the person's editor and writes the result if it is valid.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use ralph_memory::memory::{EntryChanges, EntryDraft, EntryText};
use ralph_memory::system::posix::shell;
use ralph_memory::text::printed_command;
use ralph_memory::{Error, Id, Memory, Scope};
use serde_json::json;

use crate::answers::show_written;
use crate::authors::writer;
use crate::error::UsageError;
use crate::exit::Exit;
use crate::parse;
use crate::session::{Globals, leave_to_people};
use crate::ui::Ui;

/// Change a knowledge entry: in your editor, or by options
///
/// With options, no editor is opened. A new title gives the file a new name, and links in other entries follow; the entry
/// keeps its old names in `aliases`, so its history stays, and links of other branches still find it.
///
/// Without options, the editor is `$VISUAL`, else `$EDITOR`. It gets a copy. The result is checked, and written if it
/// is valid. Otherwise, the copy is kept, and `--retry` opens it again, together with what others have changed in the
/// meantime. The file keeps its name, even if the title changes.
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
    /// Begin with the copy that an earlier call kept
    #[arg(long, conflicts_with_all = ["title", "scope", "tags", "supersedes", "confirm"])]
    retry: bool,
    /// Accept this text, which looks like a secret but is not one; may be repeated
    #[arg(long = "allow-secret", value_name = "FINGERPRINT")]
    allow_secrets: Vec<String>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, mut args: EditArgs) -> anyhow::Result<Exit> {
    let memory = globals
        .of_ids(ui, args.ids.iter_mut().chain(&mut args.supersedes))?
        .open()?
        .allow_secrets(&args.allow_secrets)?;
    let EditArgs { ids, title, scope, tags, supersedes, confirm, retry, .. } = args;
    let suggests = !supersedes.is_empty() && !confirm && title.is_none() && scope.is_none() && tags.is_none();
    if !suggests {
        leave_to_people(&memory, &ids)?;
    }
    let by = writer(None);
    let changes = EntryChanges { title, scope, tags, supersedes, confirm, by, ..EntryChanges::default() };
    let only = |confirm| EntryChanges { confirm, by: changes.by, ..EntryChanges::default() };
    let [id] = ids.as_slice() else {
        if changes != only(true) {
            let message = "more than one entry was given".to_owned();
            return Err(UsageError::new(message, "only `--confirm` alone takes several".to_owned()).into());
        }
        return confirm_all(ui, &memory, &ids, &changes);
    };
    if changes == only(false) {
        edit(ui, &memory, id, retry)?;
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
fn edit(ui: &mut Ui<'_>, memory: &Memory, id: &Id, is_retry: bool) -> anyhow::Result<()> {
    let old = EntryText { by: writer(None), ..memory.text(id)? };
    let editor = editor(&memory.root().join(old.path.as_str()))?;
    let draft = memory.draft(&old).map_err(|error| opened_twice(&old, error))?;
    begin(&old, &draft, is_retry)?;
    loop {
        let ended = run_editor(ui, &editor, draft.path())?;
        if !ended.success() {
            let message = format!("the editor `{editor}` ended with {ended}; nothing was changed");
            let mut hint = "the variable VISUAL or EDITOR names it".to_owned();
            // The person may have saved something before, in this call or in an earlier one.
            if draft.is_unchanged() {
                discard(draft, ui);
            } else {
                say_kept(&old, &draft, ui);
                hint.push_str("; `--retry` opens your text again");
            }
            return Err(UsageError::new(message, hint).into());
        }
        match draft.text().and_then(|text| memory.edit(&old, &text)) {
            Ok(edited) => {
                discard(draft, ui);
                return Ok(show_written(ui, &edited)?);
            }
            Err(Error::InvalidEdit { problems, .. }) if asks(ui) => {
                ui.problems(&problems);
                if !wants_again(ui)? {
                    let error = Error::InvalidEdit { path: old.path.to_string(), problems };
                    return Err(kept(&old, &draft, error, ui));
                }
            }
            Err(error) => return Err(kept(&old, &draft, error, ui)),
        }
    }
}

/// Gives the editor's copy its text: that of the entry, or what an earlier call kept with what changed since.
fn begin(old: &EntryText, draft: &EntryDraft<'_>, is_retry: bool) -> anyhow::Result<()> {
    let usage = |message: String, hint: String| anyhow::Error::from(UsageError::new(message, hint));
    if !draft.is_kept()? {
        if is_retry {
            return Err(usage(format!("no copy of `{}` was kept", old.id), "leave `--retry` out".to_owned()));
        }
        return Ok(draft.begin()?);
    }
    let path = draft.path().display();
    if !is_retry {
        let message = format!("an earlier call kept a copy of `{}`, which this one would replace", old.id);
        return Err(usage(message, format!("`--retry` opens it; or delete `{path}`")));
    }
    draft.resume().map_err(|error| match error {
        Error::Uneditable { reason, .. } => {
            let hint = "copy what you need from that file, delete it, and edit the entry without `--retry`";
            usage(format!("cannot open `{path}` again: {reason}"), hint.to_owned())
        }
        error => error.into(),
    })
}

/// Returns the error for a copy that cannot be opened; it may be open already.
fn opened_twice(old: &EntryText, error: Error) -> anyhow::Error {
    let Error::Locked { holder, .. } = error else { return error.into() };
    let holder = holder.map(|holder| format!(" by {holder}")).unwrap_or_default();
    let message = format!("`{}` is being edited{holder}", old.id);
    UsageError::new(message, "close that editor first").into()
}

/// Removes the editor's copy. What was written stays written if that fails, and the next call says that there is a copy.
fn discard(draft: EntryDraft<'_>, ui: &mut Ui<'_>) {
    if let Err(error) = draft.discard() {
        ui.warn(&format!("the editor's copy was not removed: {error}"));
    }
}

/// Says where the text is that was not written, and returns the error.
fn kept(old: &EntryText, draft: &EntryDraft<'_>, error: Error, ui: &mut Ui<'_>) -> anyhow::Error {
    say_kept(old, draft, ui);
    error.into()
}

fn say_kept(old: &EntryText, draft: &EntryDraft<'_>, ui: &mut Ui<'_>) {
    let path = draft.path().display();
    let retry = printed_command("ralph-memory edit ID --retry", &[("ID", old.id.as_str())]);
    ui.warn(&format!("your text is kept in {path}: {retry} opens it again"));
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

/// Returns whether a person can be asked.
fn asks(ui: &Ui<'_>) -> bool {
    !ui.json && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks whether to edit again.
fn wants_again(ui: &mut Ui<'_>) -> io::Result<bool> {
    write!(ui.err, "edit again? [Y/n] ")?;
    ui.err.flush()?;
    let mut answer = String::new();
    let n_read = io::stdin().lock().read_line(&mut answer)?;
    Ok(n_read > 0 && matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
}
