//! `init`: makes a memory.

use ralph_memory::Memory;
use ralph_memory::memory::Initialised;
use serde::Serialize;

use crate::error::Exit;
use crate::session::Globals;
use crate::ui::{ID, Ui};

/// Make a memory in this folder; where there is one, add what it lacks
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory init
  ralph-memory init --root ~/src/project")]
pub(crate) struct Args {}

#[derive(Serialize)]
struct Answer<'a> {
    initialised: &'a Initialised,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, _args: &Args) -> anyhow::Result<Exit> {
    let root = globals.start()?;
    let initialised = Memory::init(&root)?;
    if ui.json {
        ui.json(Answer { initialised: &initialised }, &[])?;
        return Ok(Exit::Done);
    }
    for path in &initialised.created {
        let path = ui.styled(ID, path);
        ui.line(format_args!("created {path}"))?;
    }
    for skill in &initialised.skills_moved {
        let skill = ui.styled(ID, skill);
        ui.line(format_args!("moved {skill} from .ralph/skills/ to .claude/skills/"))?;
    }
    for skill in &initialised.skills_left {
        ui.note(&format!("left .ralph/skills/{skill} where it is: .claude/skills/ has another one of that name"));
    }
    if initialised == Initialised::default() {
        ui.line("nothing to do: the memory is complete")?;
    }
    Ok(Exit::Done)
}
