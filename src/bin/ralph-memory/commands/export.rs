//! `export`: prints the whole memory.

use std::io;

use rustix::fs::{fstat, stat};
use rustix::io::read;

use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::Ui;

/// Print the whole memory as JSON Lines, which `import export` reads back
///
/// It has knowledge, attempts and the archive, each file byte for byte, in the order of their paths, and the settings
/// of the project, which an import leaves out. The last line has the number of lines, so an incomplete stream is
/// noticed. The exit code is 1 if a file could not be exported; the message names it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory export > memory.jsonl
  ralph-memory export | ralph-memory import export - --root ~/src/project")]
pub(crate) struct ExportArgs {}

/// Returns whether nobody gets the stream. Rust opens `/dev/null`, for reading too, in the place of a standard output that
/// is closed, as the shell's `>&-` does it; `> /dev/null` opens it for writing alone.
fn is_closed() -> bool {
    let out = io::stdout();
    let is_null = || Ok::<_, io::Error>(fstat(&out)?.st_rdev == stat("/dev/null")?.st_rdev);
    is_null().unwrap_or(false) && read(&out, &mut [0; 1]).is_ok()
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, _args: &ExportArgs) -> anyhow::Result<Exit> {
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
