//! `export`: prints the whole memory, or writes its knowledge to a folder.

use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use ralph_memory::system::posix::is_closed;
use serde_json::json;

use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::Ui;

/// Print the whole memory as JSON Lines, which `import export` reads back
///
/// It has knowledge, attempts and the archive, each file byte for byte, in the order of their paths, and the settings
/// of the project, which an import leaves out. The last line has the number of lines, so an incomplete stream is
/// noticed. The exit code is 1 if a file could not be exported; the message names it.
///
/// `export okf DIR` writes the live knowledge to a new folder instead, in the Open Knowledge Format, for other programs:
/// a markdown file for each entry, with relative links, and `index.md`. `import memory-bank DIR` reads it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory export > memory.jsonl
  ralph-memory export | ralph-memory import export - --root ~/src/project
  ralph-memory export okf knowledge")]
pub(crate) struct ExportArgs {
    /// Write a folder of markdown for other programs
    #[arg(requires = "folder")]
    format: Option<ExportFormat>,
    /// The folder, which must be new or empty
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// A format for other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// The Open Knowledge Format
    Okf,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &ExportArgs) -> anyhow::Result<Exit> {
    if let (Some(ExportFormat::Okf), Some(folder)) = (args.format, &args.folder) {
        return write_okf(ui, globals, folder);
    }
    if is_closed() {
        return Err(io::Error::other("standard output is closed").into());
    }
    let memory = globals.open()?;
    let mut exit = Exit::Done;
    for line in memory.export()? {
        match line {
            Ok(line) => ui.line(line)?,
            Err(problem) => {
                exit = Exit::No;
                // Also with `--json`: the lines are the answer, and no problem is one.
                ui.warn(&format!("error: {problem}"));
                ui.warn(&format!("hint: {}", problem.hint));
            }
        }
    }
    Ok(exit)
}

fn write_okf(ui: &mut Ui<'_>, globals: &Globals, folder: &Path) -> anyhow::Result<Exit> {
    let report = globals.open()?.export_okf(folder)?;
    let n_entries = report.n_entries;
    if ui.json {
        ui.json(json!({ "folder": folder.display().to_string(), "entries": n_entries }), &report.problems)?;
    } else {
        let noun = if n_entries == 1 { "entry" } else { "entries" };
        ui.note(&format!("wrote {n_entries} {noun} to {}", folder.display()));
        ui.problems(&report.problems);
    }
    Ok(if report.problems.is_empty() { Exit::Done } else { Exit::No })
}
