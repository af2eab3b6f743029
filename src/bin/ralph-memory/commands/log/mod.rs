//! `log`: lists attempts, newest first, and those that come.

use std::collections::HashSet;
use std::time::Duration;

use ralph_memory::entry::Outcome;
use ralph_memory::entry::timestamp;
use ralph_memory::memory::{AttemptView, EntryFilter, Log, LogFilter};
use ralph_memory::text::{dollars, duration};
use ralph_memory::{Id, Kind, Memory};
use serde_json::json;

use crate::activity;
use crate::answers;
use crate::error::{NothingFound, check_whole};
use crate::exit::Exit;
use crate::parse::{self, Since};
use crate::session::Globals;
use crate::ui::{ID, PLAIN, QUIET, TITLE, Ui, is_read, outcome_style};

/// How often the journal is asked with `--follow`.
const LOOK: Duration = Duration::from_secs(1);
/// How many attempts are listed by default.
const LIMIT: usize = 20;
/// The width of an outcome, in columns.
const OUTCOME: usize = 11;
/// The width of what is before a title: a time, an outcome, and the spaces behind them.
const INDENT: usize = 18 + OUTCOME + 2;

/// List attempts, newest first: what was tried, and why it failed
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory log
  ralph-memory log --outcome failed --since \"3 days\"
  ralph-memory log --task t-4e0acb21a3 --full
  ralph-memory log --follow

Times are in UTC. With --follow --json every line is an object with an `attempt`.")]
pub(crate) struct LogArgs {
    /// Only attempts at the task with this id or title
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only attempts of this run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Only attempts at tasks of this feature
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Only attempts with this outcome, which leaves out attempts in progress; may be repeated
    #[arg(long = "outcome", value_name = "OUTCOME")]
    outcomes: Vec<Outcome>,
    /// Only attempts of this model; case is ignored
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Only attempts whose contexts had this entry, which leaves out attempts in progress
    #[arg(long, value_name = "ID", value_parser = parse::id)]
    fact: Option<Id>,
    /// Only attempts that began since then: a date, `yesterday`, or how long ago (12h, 2d, "3 weeks")
    #[arg(long, value_name = "WHEN", value_parser = parse::since)]
    since: Option<Since>,
    /// List at most this many attempts; 0 for all
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::count::<usize>, default_value_t = LIMIT)]
    limit: usize,
    /// Show all of each attempt: what was tried, why it failed, verification, notes; `--json` always does
    #[arg(long)]
    full: bool,
    /// Keep printing each attempt as it ends, until Ctrl-C or, with `--run`, the end of that run
    #[arg(long, short)]
    follow: bool,
}

impl LogArgs {
    fn filter(&self, globals: &Globals, memory: &Memory) -> LogFilter {
        LogFilter {
            task_id: self.task.as_ref().map(|name| memory.task_id(name).unwrap_or_else(|| name.clone())),
            run_id: self.run.clone(),
            feature: self.feature.clone(),
            outcomes: self.outcomes.clone(),
            model: self.model.clone(),
            fact: self.fact.clone(),
            since: self.since.map(|since| since.from(globals.now())),
            limit: Some(self.limit).filter(|limit| *limit > 0),
            ..LogFilter::default()
        }
    }
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &LogArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let filter = args.filter(globals, &memory);
    if args.follow {
        return follow(ui, &memory, &filter, args.full);
    }
    let log = memory.log(&filter);
    check_whole(&log.problems)?;
    if ui.json {
        ui.json(&log, &log.problems)?;
    } else {
        text(ui, &log, args.full)?;
    }
    Ok(Exit::Done)
}

/// Prints attempts as they reach the journal, oldest first, until Ctrl-C or, if the filter names a run, until that has ended.
fn follow(ui: &mut Ui<'_>, memory: &Memory, filter: &LogFilter, is_full: bool) -> anyhow::Result<Exit> {
    activity::close();
    let interrupt = activity::interrupt()?;
    if let Some(run) = filter.run_id.as_ref().filter(|run| memory.run(run).is_none()) {
        let hint = "`ralph-memory log` lists attempts with their runs".to_owned();
        return Err(NothingFound { message: format!("there is no run `{run}`"), hint }.into());
    }
    let of_journal = EntryFilter { kind: Some(Kind::Journal), archived: true, ..EntryFilter::default() };
    let ids = || -> HashSet<Id> { memory.list(&of_journal).entries.into_iter().map(|entry| entry.id).collect() };
    let (mut known, mut log) = (ids(), memory.log(filter));
    ui.problems(&log.problems);
    loop {
        for attempt in log.attempts.iter().rev() {
            if ui.json {
                ui.json(json!({ "attempt": attempt }), &[])?;
            } else {
                show(ui, attempt, is_full)?;
            }
        }
        ui.out.flush()?;
        // Asked before the journal, which then has the last attempt of a run that has ended.
        let is_over = |run: &String| memory.live_runs().iter().all(|live| live.run_id != *run);
        let is_over = filter.run_id.as_ref().is_some_and(is_over) || !is_read();
        if !is_over && interrupt.wait(LOOK) {
            return Ok(Exit::Interrupted);
        }
        let now = ids();
        let new: Vec<Id> = now.difference(&known).cloned().collect();
        log.attempts.clear();
        if !new.is_empty() {
            log = memory.log(&LogFilter { ids: new, limit: None, since: None, ..filter.clone() });
        }
        known = now;
        if is_over && log.attempts.is_empty() {
            return Ok(Exit::Done);
        }
    }
}

fn text(ui: &mut Ui<'_>, log: &Log, is_full: bool) -> anyhow::Result<()> {
    for attempt in &log.attempts {
        show(ui, attempt, is_full)?;
    }
    let more = log.in_all - log.attempts.len();
    if log.in_all == 0 {
        ui.note("no attempts");
    } else if more > 0 {
        ui.note(&format!("{more} more; `--limit 0` lists all"));
    }
    ui.problems(&log.problems);
    Ok(())
}

/// Prints an attempt, or all of it.
fn show(ui: &mut Ui<'_>, attempt: &AttemptView, is_full: bool) -> anyhow::Result<()> {
    line(ui, attempt, !is_full)?;
    if is_full {
        sections(ui, attempt)?;
        ui.line("")?;
    }
    Ok(())
}

/// Prints an attempt in two lines; its reason, and what was wrong with its report, below them.
pub(crate) fn line(ui: &mut Ui<'_>, attempt: &AttemptView, with_reason: bool) -> anyhow::Result<()> {
    let title = match &attempt.attempt.task_id {
        None if attempt.attempt.task_title.is_empty() => "(no task)",
        Some(_) if attempt.attempt.task_title.is_empty() => "(no title)",
        _ => &attempt.attempt.task_title,
    };
    let outcome = attempt.attempt.head.outcome.as_str();
    let at = ui.styled(QUIET, &minute(&timestamp(attempt.attempt.started_at)));
    let outcome = ui.styled(outcome_style(attempt.attempt.head.outcome), &format!("{outcome:<OUTCOME$}"));
    let title = ui.styled(TITLE, title);
    ui.line(format_args!("{at}  {outcome}  {title}"))?;
    let archived = attempt.archived.then(|| "archived".to_owned());
    let facts = [
        attempt.attempt.task_id.clone(),
        attempt.attempt.feature.as_ref().map(|feature| format!("feature {feature}")),
        attempt.attempt.head.model.clone(),
        attempt.attempt.head.duration_secs.map(seconds),
        attempt.attempt.head.cost_usd.map(dollars),
        attempt.attempt.head.error_category.clone().filter(|category| category != "unknown"),
        archived,
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let id = ui.styled(ID, attempt.id.as_str());
    let facts = ui.styled(QUIET, &facts.join(" · "));
    ui.line(format_args!("{:INDENT$}{id}  {facts}", ""))?;
    let problems = attempt.attempt.head.refused.iter().map(|problem| format!("report: {problem}"));
    let reason = Some(attempt.reason.clone()).filter(|reason| !reason.is_empty());
    for below in reason.into_iter().chain(problems).filter(|_| with_reason) {
        let below = ui.styled(PLAIN, &below);
        ui.line(format_args!("{:INDENT$}{below}", ""))?;
    }
    Ok(())
}

/// Prints what an attempt says, section by section.
pub(crate) fn sections(ui: &mut Ui<'_>, attempt: &AttemptView) -> anyhow::Result<()> {
    for (name, text) in answers::sections(&serde_json::to_value(attempt)?) {
        let name = ui.styled(QUIET, name);
        ui.line("")?;
        ui.line(format_args!("    {name}"))?;
        for line in text.lines() {
            let line = ui.styled(PLAIN, line);
            ui.line(format_args!("      {line}").to_string().trim_end())?;
        }
    }
    Ok(())
}

/// Returns a time as a person reads it: the minute.
pub(crate) fn minute(time: &str) -> String {
    time.get(..16).map_or_else(|| time.to_owned(), |minute| minute.replace('T', " "))
}

/// Returns a length of time as a person reads it.
pub(crate) fn seconds(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map(duration).unwrap_or_default()
}
