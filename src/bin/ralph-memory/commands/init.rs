//! `init`: creates a memory.

use std::path::Path;

use ralph_memory::memory::Initialised;
use ralph_memory::setup::SetupScope;
use ralph_memory::{Error, Memory, Problem};

use crate::advice::Advice;
use crate::commands::setup;
use crate::error::UsageError;
use crate::exit::Exit;
use crate::session::{Globals, is_elsewhere};
use crate::ui::{ID, Ui};
use crate::{own, project_paths};

/// Create a memory in this folder, or add what an existing one lacks
///
/// A memory is the folder `.ralph`: commit it beside the code. Skills of the project are in `.claude/skills`, which is created
/// as well.
///
/// With `--own`, it is your own memory, in `~/.local/share/ralph-memory/own`, which is read beside that of every project.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory init
  ralph-memory init --private
  ralph-memory init --own
  ralph-memory init --root ~/src/project")]
pub(crate) struct InitArgs {
    /// Create a memory here even if commands in this folder already use the memory of a parent folder
    #[arg(long)]
    here: bool,
    /// Keep the memory to yourself: git ignores it, by the line `*` in `.ralph/.gitignore`, and no file of the project changes
    #[arg(long, conflicts_with = "own")]
    private: bool,
}

/// The folder that is created outside of `.ralph/`.
const SKILLS: &str = ".claude/skills/";

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &InitArgs) -> anyhow::Result<Exit> {
    let root = match globals.start() {
        Err(error) if globals.is_own() && is_elsewhere(&error) => own::to_write()?,
        root => root?,
    };
    if own::is_at(&root) {
        return own_memory(ui, &root);
    }
    project_paths::check_folder(&root)?;
    let above = if args.here || globals.names_root() || Memory::is_in(&root) { None } else { Memory::above(&root) };
    if let Some(above) = above {
        let message = format!("this folder is inside `{}`, which has a memory", above.display());
        let hint =
            "commands in this folder use that memory; `ralph-memory init --here` makes another one for this folder";
        return Err(UsageError::new(message, hint).into());
    }
    let initialised = if args.private { Memory::init_private(&root)? } else { Memory::init(&root)? };
    let problems: Vec<Problem> = foreign_owner(globals).into_iter().collect();
    if ui.json {
        ui.json(&initialised, &problems)?;
        return Ok(Exit::Done);
    }
    if args.private {
        ui.line("git ignores .ralph, by the line `*` in .ralph/.gitignore")?;
    }
    for path in &initialised.created {
        let explanation =
            if path == SKILLS { ", in which Claude Code looks for the skills of the project" } else { "" };
        let path = ui.styled(ID, path);
        ui.line(format_args!("created {path}{explanation}"))?;
    }
    for skill in &initialised.skills_moved {
        let skill = ui.styled(ID, skill);
        ui.line(format_args!("moved {skill} from .ralph/skills/ to .claude/skills/"))?;
    }
    for skill in &initialised.skills_left {
        ui.warn(&format!("left .ralph/skills/{skill} where it is: .claude/skills/ already has a skill of that name"));
    }
    if initialised == Initialised::default() {
        if !args.private {
            ui.line("nothing to do: the memory is complete")?;
        }
        return Ok(Exit::Done);
    }
    let scope = if args.private || Memory::is_private(&root) { SetupScope::User } else { SetupScope::Project };
    let clients = setup::in_project(root)?.found(scope);
    let commit = if scope == SetupScope::Project { "; commit `.ralph` beside the code" } else { "" };
    if clients.is_empty() {
        ui.line(format_args!("next: `ralph-memory add TITLE --body TEXT` writes the first entry{commit}"))?;
    } else {
        ui.line(format_args!("next: `ralph-memory setup` connects it to {}", setup::titles(&clients)))?;
    }
    ui.problems(&problems);
    Ok(Exit::Done)
}

/// Returns a warning if commands will refuse the memory, because another user owns it or its folder.
fn foreign_owner(globals: &Globals) -> Option<Problem> {
    let error = globals.open().err()?.downcast::<Error>().ok()?;
    let Error::ForeignOwner { path, .. } = &error else { return None };
    let advice = Advice::of(&error).person.unwrap_or_default();
    let message = format!("{error}; without `--root`, commands refuse the memory");
    Some(Problem::warning(path.display().to_string(), "foreign-owner", message, advice))
}

/// Creates the person's own memory.
fn own_memory(ui: &mut Ui<'_>, folder: &Path) -> anyhow::Result<Exit> {
    own::leave_to_person()?;
    let initialised = Memory::init_own(folder)?;
    if ui.json {
        ui.json(&initialised, &[])?;
    } else if initialised == Initialised::default() {
        ui.line("nothing to do: the memory is complete")?;
    } else {
        ui.line(format_args!("created {}", ui.styled(ID, &folder.display().to_string())))?;
        ui.line(
            "next: `ralph-memory add --own TITLE --body TEXT` writes the first entry, which every project then finds",
        )?;
    }
    Ok(Exit::Done)
}
