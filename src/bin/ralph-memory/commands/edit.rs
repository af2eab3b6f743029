//! `edit`: opens an entry in the person's editor, and writes what comes back if it is sound.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use ralph_memory::memory::{Edited, EntryText};
use ralph_memory::{Error, Id, Memory};
use serde::Serialize;

use crate::error::UsageError;
use crate::exit::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::{ID, Ui};

/// The exit codes of a shell above this one mean that a signal ended its program.
const KILLED: i32 = 128;

/// Open a knowledge entry in your editor
///
/// The editor is `$VISUAL`, else `$EDITOR`. It gets a copy. What comes back is checked as `check` does, and written if
/// nothing is wrong with it; the old version goes to the archive. Otherwise the copy is kept, and `--retry` opens it again.
/// The file keeps its name, also with another title: see `rename`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory edit knowledge/wal-mode
  ralph-memory edit wal-mode --retry")]
pub(crate) struct EditArgs {
    /// The entry
    #[arg(value_parser = parse::id)]
    id: Id,
    /// Begin with the copy that an earlier call kept
    #[arg(long)]
    retry: bool,
    /// Accept this text, which looks like a secret but is not one; may be repeated
    #[arg(long = "allow-secret", value_name = "FINGERPRINT")]
    allow_secrets: Vec<String>,
}

#[derive(Serialize)]
struct EditAnswer<'a> {
    action: &'static str,
    #[serde(flatten)]
    edited: &'a Edited,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &EditArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?.allow_secrets(&args.allow_secrets)?;
    let old = memory.text(&args.id)?;
    let editor = editor(&old)?;
    let mut text = first_text(&memory, &old, args.retry)?;
    loop {
        let path = memory.keep_draft(&old.id, &text)?;
        let ended = run_editor(ui, &editor, &path)?;
        if !ended.success() {
            // Whoever ends the editor so wants no change. One that was killed may have saved a text, and the person may
            // have written one before.
            let is_unwanted = text == old.text && ended.code().is_some_and(|code| code <= KILLED);
            let message = format!("the editor `{editor}` ended with {ended}; nothing was changed");
            let mut hint = "the variable VISUAL or EDITOR names it".to_owned();
            if is_unwanted {
                discard(&memory, &old, ui);
            } else {
                say_kept(&memory, &old, ui);
                hint.push_str("; `--retry` opens your text again");
            }
            return Err(UsageError { message, hint }.into());
        }
        text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(kept(&memory, &old, Error::Io { action: "read", path, source }, ui)),
        };
        match memory.edit(&old, &text) {
            Ok(edited) => {
                discard(&memory, &old, ui);
                return show(ui, &edited);
            }
            Err(Error::InvalidEdit { problems, .. }) if asks(ui) => {
                ui.problems(&problems);
                if !wants_again(ui)? {
                    return Err(kept(&memory, &old, Error::InvalidEdit { path: old.path.to_string(), problems }, ui));
                }
            }
            Err(error) => return Err(kept(&memory, &old, error, ui)),
        }
    }
}

/// Returns the text that the editor gets: that of the entry, or the copy that an earlier call kept.
fn first_text(memory: &Memory, old: &EntryText, is_retry: bool) -> anyhow::Result<String> {
    match memory.draft(&old.id)? {
        Some(draft) if is_retry => Ok(draft),
        None if is_retry => {
            let message = format!("no copy of `{}` was kept", old.id);
            Err(UsageError { message, hint: "leave `--retry` out".to_owned() }.into())
        }
        Some(_) => {
            let message = format!("an earlier call kept a copy of `{}`, which this one would replace", old.id);
            let hint = format!("`--retry` opens it; or delete `.ralph/state/drafts/{}.md`", old.id.stem());
            Err(UsageError { message, hint }.into())
        }
        None => Ok(old.text.clone()),
    }
}

/// Removes the editor's copy. What was written stays written if that fails, and the next call says that there is a copy.
fn discard(memory: &Memory, old: &EntryText, ui: &mut Ui<'_>) {
    if let Err(error) = memory.discard_draft(&old.id) {
        ui.warn(&format!("the editor's copy was not removed: {error}"));
    }
}

/// Says where the text is that was not written, and returns the error.
fn kept(memory: &Memory, old: &EntryText, error: Error, ui: &mut Ui<'_>) -> anyhow::Error {
    if let Error::InvalidEdit { problems, .. } = &error
        && !asks(ui)
    {
        ui.problems(problems);
    }
    say_kept(memory, old, ui);
    error.into()
}

fn say_kept(memory: &Memory, old: &EntryText, ui: &mut Ui<'_>) {
    let path = memory.root().join(format!(".ralph/state/drafts/{}.md", old.id.stem()));
    ui.warn(&format!("your text is kept in {}", path.display()));
}

/// Returns the person's editor: a command line for the shell, as for git.
fn editor(old: &EntryText) -> anyhow::Result<String> {
    let set = |name| std::env::var(name).ok().filter(|command| !command.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).ok_or_else(|| {
        let message = "no editor is set".to_owned();
        let hint = format!(
            "set the variable VISUAL or EDITOR, such as `EDITOR=nano`; or change `{}` in any program, and run \
             `ralph-memory check`",
            old.path
        );
        UsageError { message, hint }.into()
    })
}

/// Runs the editor on a file.
fn run_editor(ui: &Ui<'_>, editor: &str, path: &Path) -> anyhow::Result<ExitStatus> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(path);
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

fn show(ui: &mut Ui<'_>, edited: &Edited) -> anyhow::Result<Exit> {
    let action = if edited.archived.is_some() { "edited" } else { "unchanged" };
    if ui.json {
        ui.json(EditAnswer { action, edited }, &edited.problems)?;
        return Ok(Exit::Done);
    }
    let id = ui.styled(ID, edited.id.as_str());
    ui.line(format_args!("{action} {id}"))?;
    if let Some(archived) = &edited.archived {
        ui.note(&format!("the previous version is kept as {archived}"));
    }
    ui.problems(&edited.problems);
    Ok(Exit::Done)
}
