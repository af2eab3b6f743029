//! `check`: reports what is wrong with the memory, and fixes what needs no decision.

use clap::ValueEnum;
use ralph_memory::memory::FixReport;
use serde_json::json;

use crate::commands::setup;
use crate::error::check_whole;
use crate::exit::Exit;
use crate::report;
use crate::session::Globals;
use crate::ui::Ui;

/// Check files, folders, index, locks, git and clients, and say how to fix them; exit code 1 if there are errors
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory check
  ralph-memory check --strict --quiet
  ralph-memory check --format github
  ralph-memory check --diff main...HEAD
  ralph-memory check --fix")]
pub(crate) struct CheckArgs {
    /// Exit with code 1 for warnings as well
    #[arg(long)]
    strict: bool,
    /// For a person, or as annotations on GitHub
    #[arg(long, value_enum, default_value = "human")]
    format: CheckFormat,
    /// First fix what needs no decision: merge conflicts in times, tags and aliases, remove leftovers of a crash, rebuild
    /// broken caches, remove old ones, and make git ignore `cache/` and `state/`
    #[arg(long)]
    fix: bool,
    /// Do only this: name the facts that a change touches, one a line. A range is one of git, such as `main...HEAD`;
    /// without one, it is what is not committed
    #[arg(long, value_name = "RANGE", num_args = 0..=1, default_missing_value = "HEAD", conflicts_with = "fix")]
    diff: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    Human,
    Github,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &CheckArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?.for_one_answer();
    let FixReport { fixed, problems: not_fixed } = if args.fix { memory.fix()? } else { FixReport::default() };
    let mut checked = if let Some(range) = &args.diff {
        memory.check_diff(range)?
    } else {
        let mut others = setup::in_project(memory.root().to_owned())?.findings();
        others.extend(not_fixed);
        memory.check_with(memory.semantic_status(), others)
    };
    checked.problems.iter_mut().for_each(|problem| problem.hint = ui.hinted(&problem.hint).into());
    let problems = &checked.problems;
    check_whole(problems)?;
    match args.format {
        _ if ui.json => {
            let mut counts = serde_json::to_value(checked.total)?;
            counts["files"] = checked.files.into();
            let mut answer = json!({ "counts": counts, "ok": checked.ok });
            if args.fix {
                answer["fixed"] = serde_json::to_value(&fixed)?;
            }
            ui.json(answer, problems)?;
        }
        CheckFormat::Human if args.diff.is_some() => {
            problems.iter().try_for_each(|problem| ui.line(problem))?;
        }
        CheckFormat::Human => {
            report::listed(ui.out, "fixed", &fixed)?;
            if !ui.quiet {
                report::listed(ui.out, "ok", &checked.ok)?;
                ui.line("")?;
            }
            let mut lines = memory.source_lines();
            report::human(ui.out, &checked, &mut |path, line| lines.line(path, line), ui.out_colour)?;
        }
        CheckFormat::Github => report::github(ui.out, problems)?,
    }
    let is_bad = checked.total.errors > 0 || (args.strict && checked.total.warnings > 0);
    Ok(if is_bad { Exit::No } else { Exit::Done })
}
