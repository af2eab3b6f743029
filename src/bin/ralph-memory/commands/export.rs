//! `export`: prints all of the memory.

use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::Ui;

/// Print all of the memory as JSON Lines, which `import export` takes back
///
/// Knowledge, attempts and the archive, each file to the byte, in the order of their paths, and the settings of the
/// project, which an import leaves out. The last line counts the lines, so an incomplete stream is noticed. The exit code
/// is 1 if a file could not be exported; the message names it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory export > memory.jsonl
  ralph-memory export | ralph-memory import export - --root ~/src/project")]
pub(crate) struct ExportArgs {}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, _args: &ExportArgs) -> anyhow::Result<Exit> {
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
