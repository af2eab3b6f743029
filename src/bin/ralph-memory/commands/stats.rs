//! `stats`: sums over the journal, by feature and model, with recurring errors and the files touched most.

use ralph_memory::memory::{AttemptTotals, FeatureStats, ModelStats, RecurringError, Stats, StatsFilter, TouchedFile};
use ralph_memory::text::dollars;

use crate::activity::grouped;
use crate::commands::log::{minute, seconds};
use crate::error::check_whole;
use crate::exit::Exit;
use crate::parse::{self, Since};
use crate::session::Globals;
use crate::table::table;
use crate::ui::Ui;

/// How many errors and files are printed; JSON has more.
const MAX_SHOWN: usize = 10;

/// Show success rates, costs, models, recurring errors and files, feature by feature
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory stats
  ralph-memory stats --feature login --since \"2 weeks\"

A success rate counts attempts that were done and those that failed, and leaves out interrupted and partial ones.")]
pub(crate) struct StatsArgs {
    /// Only attempts at tasks of this feature
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Only attempts that began since then: a date, `yesterday`, or how long ago (12h, 2d, "3 weeks")
    #[arg(long, value_name = "WHEN", value_parser = parse::since)]
    since: Option<Since>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &StatsArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?.for_one_answer();
    let since = args.since.map(|since| since.from(globals.now()));
    let filter = StatsFilter { feature: args.feature.clone(), since };
    let stats = memory.stats(&filter);
    check_whole(&stats.problems)?;
    if ui.json {
        ui.json(&stats, &stats.problems)?;
        return Ok(Exit::Done);
    }
    if stats.total.totals.attempts == 0 {
        ui.note("no attempts");
    } else {
        total(ui, &stats)?;
        features(ui, &stats.features)?;
        models(ui, &stats.total.models)?;
        errors(ui, &stats.errors)?;
        files(ui, &stats.files)?;
    }
    ui.problems(&stats.problems);
    Ok(Exit::Done)
}

fn total(ui: &mut Ui<'_>, stats: &Stats) -> anyhow::Result<()> {
    let FeatureStats { totals, tasks, streak, .. } = &stats.total;
    let days = match (stats.days.keys().next(), stats.days.keys().next_back()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (first, _) => first.map(ToString::to_string).unwrap_or_default(),
    };
    let streak = if *streak > 1 { format!("{streak} failures in a row at one task") } else { String::new() };
    let fields = [
        ("attempts", format!("{}, {}", grouped(totals.attempts), outcomes(totals))),
        ("succeeded", format!("{} ({} of {} that count)", rate(totals), totals.succeeded, totals.counted)),
        ("tasks", format!("{} done, {} open, {} stuck", tasks.done, tasks.open, tasks.stuck)),
        ("streak", streak),
        ("cost", totals.cost_usd.map(dollars).unwrap_or_default()),
        ("tokens", tokens(totals)),
        ("time", totals.duration_secs.map(seconds).unwrap_or_default()),
        ("days", days),
    ];
    ui.fields(&fields)?;
    Ok(())
}

fn features(ui: &mut Ui<'_>, features: &[FeatureStats]) -> anyhow::Result<()> {
    let row = |stats: &FeatureStats| {
        let FeatureStats { totals, tasks, .. } = stats;
        [
            stats.feature.clone().unwrap_or_else(|| "(none)".to_owned()),
            grouped(totals.attempts),
            rate(totals),
            tasks.done.to_string(),
            tasks.open.to_string(),
            tasks.stuck.to_string(),
            stats.streak.to_string(),
            totals.cost_usd.map(dollars).unwrap_or_default(),
            tokens(totals),
            stats.last_started_at.as_deref().map(minute).unwrap_or_default(),
        ]
    };
    let headings =
        ["feature", "attempts#", "success#", "done#", "open#", "stuck#", "streak#", "cost#", "tokens#", "last attempt"];
    let rows: Vec<_> = features.iter().map(row).collect();
    Ok(table(ui, "Features", headings, &rows)?)
}

fn models(ui: &mut Ui<'_>, models: &[ModelStats]) -> anyhow::Result<()> {
    let row = |ModelStats { model, totals }: &ModelStats| {
        [
            model.clone(),
            grouped(totals.attempts),
            rate(totals),
            totals.cost_usd.map(dollars).unwrap_or_default(),
            tokens(totals),
            totals.duration_secs.map(seconds).unwrap_or_default(),
        ]
    };
    let headings = ["model", "attempts#", "success#", "cost#", "tokens#", "time#"];
    let rows: Vec<_> = models.iter().map(row).collect();
    Ok(table(ui, "Models", headings, &rows)?)
}

fn errors(ui: &mut Ui<'_>, errors: &[RecurringError]) -> anyhow::Result<()> {
    let row = |error: &RecurringError| {
        [
            error.attempts.to_string(),
            minute(&error.first.started_at),
            minute(&error.last.started_at),
            error.last.id.to_string(),
            error.example.clone(),
        ]
    };
    let rows: Vec<_> = errors.iter().take(MAX_SHOWN).map(row).collect();
    Ok(table(ui, "Recurring errors", ["times#", "first", "last", "in", "error"], &rows)?)
}

fn files(ui: &mut Ui<'_>, files: &[TouchedFile]) -> anyhow::Result<()> {
    let row = |file: &TouchedFile| {
        [file.attempts.to_string(), file.modified.to_string(), file.read.to_string(), file.path.clone()]
    };
    let rows: Vec<_> = files.iter().take(MAX_SHOWN).map(row).collect();
    Ok(table(ui, "Files touched most", ["attempts#", "changed#", "read#", "file"], &rows)?)
}

/// Returns how many attempts ended with each outcome.
pub(crate) fn outcomes(totals: &AttemptTotals) -> String {
    let outcomes = totals.outcomes.iter().map(|(outcome, count)| format!("{} {}", grouped(*count), outcome.as_str()));
    outcomes.collect::<Vec<_>>().join(", ")
}

fn rate(totals: &AttemptTotals) -> String {
    totals.success_rate.map_or_else(|| "-".to_owned(), |rate| format!("{:.0}%", rate * 100.0))
}

/// Returns the tokens, read and written; empty if they are unknown.
pub(crate) fn tokens(totals: &AttemptTotals) -> String {
    let sum = totals.tokens_in.unwrap_or_default().saturating_add(totals.tokens_out.unwrap_or_default());
    if sum == 0 { String::new() } else { grouped(usize::try_from(sum).unwrap_or(usize::MAX)) }
}
