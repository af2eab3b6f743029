//! `doctor`: how the memory is doing as a whole.

use ralph_memory::doctor::{Diagnosis, State};
use ralph_memory::memory::{Mended, Registered};
use serde::Serialize;

use crate::error::Exit;
use crate::report;
use crate::session::Globals;
use crate::ui::{PLAIN, Ui};

/// How git finds this program, as others do: on the path.
const PROGRAM: &str = "ralph-memory";

/// Check folders, index, locks and git, and say how to fix them; exit code 1 if something does not work
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory doctor
  ralph-memory doctor --json
  ralph-memory doctor --fix
  ralph-memory doctor --register-merge-driver")]
pub(crate) struct DoctorArgs {
    /// Let git merge entries by key and by block: set this repository's `merge.ralph-memory.driver`, and add
    /// what is missing to `.ralph/.gitattributes`
    #[arg(long)]
    register_merge_driver: bool,
    /// Fix what needs no decision: remove what a crash left, rebuild broken caches, remove old ones, let git ignore
    /// `cache/` and `state/`; then check again
    #[arg(long, conflicts_with = "register_merge_driver")]
    fix: bool,
}

#[derive(Serialize)]
struct Registration<'a> {
    action: &'static str,
    command: &'a str,
    /// The lines that were added to `.ralph/.gitattributes`.
    attributes: &'a [String],
}

#[derive(Serialize)]
struct DoctorAnswer<'a> {
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<&'a [Mended]>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &DoctorArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    if args.register_merge_driver {
        let registered = memory.register_merge_driver(PROGRAM)?;
        if ui.json {
            let Registered { command, was_registered, attributes } = &registered;
            let action = if *was_registered { "unchanged" } else { "registered" };
            ui.json(Registration { action, command, attributes }, &[])?;
            return Ok(Exit::Done);
        }
        let done = if registered.was_registered { "registered already" } else { "registered" };
        ui.line(format_args!("{done}: {}", registered.command))?;
        if !registered.attributes.is_empty() {
            ui.note("`.ralph/.gitattributes` says which files it is for: commit it");
        }
        return Ok(Exit::Done);
    }
    let mending = if args.fix { Some(memory.mend()?) } else { None };
    let problems = mending.as_ref().map_or(&[][..], |mending| &mending.problems);
    let diagnosis = memory.doctor()?;
    if ui.json {
        let fixed = mending.as_ref().map(|mending| mending.mended.as_slice());
        ui.json(DoctorAnswer { diagnosis: &diagnosis, fixed }, problems)?;
    } else {
        for Mended { what, detail } in mending.iter().flat_map(|mending| &mending.mended) {
            let (what, detail) = (ui.styled(PLAIN, &format!("{what:<11}")), ui.styled(PLAIN, detail));
            ui.line(format_args!("{:<8} {what} {detail}", "fixed"))?;
        }
        ui.problems(problems);
        report::diagnosis(ui.out, &diagnosis)?;
    }
    Ok(if diagnosis.worst() == State::Error { Exit::No } else { Exit::Done })
}
