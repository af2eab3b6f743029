//! `doctor`: how the memory is doing as a whole.

use ralph_memory::doctor::{Diagnosis, State};
use serde::Serialize;

use crate::error::Exit;
use crate::report;
use crate::session::Globals;
use crate::ui::Ui;

/// Look at folders, index, locks and git, and say how to mend them; exit code 1 when something does not work
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory doctor
  ralph-memory doctor --json")]
pub(crate) struct Args {}

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, _args: &Args) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let diagnosis = memory.doctor()?;
    if ui.json {
        ui.json(Answer { diagnosis: &diagnosis }, &[])?;
    } else {
        report::diagnosis(ui.out, &diagnosis)?;
    }
    Ok(if diagnosis.worst() == State::Error { Exit::No } else { Exit::Done })
}
