//! `doctor`: the state of the memory as a whole, and fixes.

use ralph_memory::memory::{AppliedFix, Diagnosis, FindingState, MergeDriverRegistration};
use serde::Serialize;

use crate::commands::setup;
use crate::exit::Exit;
use crate::report;
use crate::session::Globals;
use crate::ui::{PLAIN, Ui};

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
    fixed: Option<&'a [AppliedFix]>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &DoctorArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    if args.register_merge_driver {
        let registered = memory.register_merge_driver(&setup::program()?)?;
        if ui.json {
            let MergeDriverRegistration { command, was_registered, attributes } = &registered;
            let action = if *was_registered { "unchanged" } else { "registered" };
            ui.json(Registration { action, command, attributes }, &[])?;
            return Ok(Exit::Done);
        }
        let done = if registered.was_registered { "registered already" } else { "registered" };
        ui.line(format_args!("{done}: {}", registered.command))?;
        if !registered.attributes.is_empty() {
            ui.note("`.ralph/.gitattributes` lists the files that it merges: commit it");
        }
        return Ok(Exit::Done);
    }
    let fixes = if args.fix { Some(memory.fix()?) } else { None };
    let problems = fixes.as_ref().map_or(&[][..], |fixes| &fixes.problems);
    let mut diagnosis = memory.doctor();
    diagnosis.findings.extend(setup::in_project(memory.root().to_owned())?.findings());
    if ui.json {
        let fixed = fixes.as_ref().map(|fixes| fixes.fixed.as_slice());
        ui.json(DoctorAnswer { diagnosis: &diagnosis, fixed }, problems)?;
    } else {
        for AppliedFix { what, detail } in fixes.iter().flat_map(|fixes| &fixes.fixed) {
            let (what, detail) = (ui.styled(PLAIN, &format!("{what:<11}")), ui.styled(PLAIN, detail));
            ui.line(format_args!("{:<8} {what} {detail}", "fixed"))?;
        }
        ui.problems(problems);
        report::diagnosis(ui.out, &diagnosis)?;
    }
    Ok(if diagnosis.worst() == FindingState::Error { Exit::No } else { Exit::Done })
}
