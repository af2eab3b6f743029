//! `check`: reports problems of the files.

use clap::ValueEnum;
use ralph_memory::error::Tally;
use serde::Serialize;

use crate::error::check_whole;
use crate::exit::Exit;
use crate::report;
use crate::session::Globals;
use crate::ui::Ui;

/// Report what is wrong with the files and how to fix it; exit code 1 if there are errors
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory check --strict
  ralph-memory check --format github")]
pub(crate) struct CheckArgs {
    /// Exit with code 1 for warnings as well
    #[arg(long)]
    strict: bool,
    /// For a person, a program, annotations on GitHub or code scanners; `--json` means `json`
    #[arg(long, value_enum, default_value = "human")]
    format: CheckFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    Human,
    Json,
    Github,
    Sarif,
}

#[derive(Serialize)]
struct CheckAnswer {
    counts: CheckCounts,
}

/// How many files were checked, and the number of all problems, listed or not.
#[derive(Serialize)]
struct CheckCounts {
    files: usize,
    errors: usize,
    warnings: usize,
    notices: usize,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &CheckArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let checked = memory.check();
    let problems = &checked.problems;
    check_whole(problems)?;
    match if ui.json { CheckFormat::Json } else { args.format } {
        CheckFormat::Human => {
            let mut lines = memory.source_lines();
            report::human(ui.out, &checked, &mut |path, line| lines.line(path, line), ui.out_colour)?;
        }
        CheckFormat::Json => {
            let Tally { errors, warnings, notices } = checked.total;
            ui.json(CheckAnswer { counts: CheckCounts { files: checked.files, errors, warnings, notices } }, problems)?;
        }
        CheckFormat::Github => report::github(ui.out, problems)?,
        CheckFormat::Sarif => report::sarif(ui.out, problems)?,
    }
    let is_bad = checked.total.errors > 0 || (args.strict && checked.total.warnings > 0);
    Ok(if is_bad { Exit::No } else { Exit::Done })
}
