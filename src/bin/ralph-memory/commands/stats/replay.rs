//! `stats --replay`: what contexts had of what successes needed.

use ralph_memory::memory::{Replay, ReplayedContexts};

use crate::activity::grouped;
use crate::error::check_whole;
use crate::exit::Exit;
use crate::table::table;
use crate::ui::Ui;

pub(super) fn print(ui: &mut Ui<'_>, replay: &Replay) -> anyhow::Result<Exit> {
    check_whole(&replay.problems)?;
    if ui.json {
        ui.json(replay, &replay.problems)?;
        return Ok(Exit::Done);
    }
    let Replay { successes, needed, changed_since, gone, contexts, errors, problems } = replay;
    let [successes, n_needed, changed, gone] = [successes.len(), *needed, *changed_since, *gone].map(grouped);
    ui.line(format_args!(
        "Successes after failures: {successes}. Entries that they needed: {n_needed}; {changed} of these changed since, and {gone} \
         are archived or gone."
    ))?;
    let row = |of: &ReplayedContexts| {
        let share = |count: usize| {
            let percent = (count * 100 + needed / 2).checked_div(*needed);
            format!("{}{}", grouped(count), percent.map_or_else(String::new, |percent| format!(" ({percent}%)")))
        };
        let mean = |number: Option<f64>, places: usize| number.map_or_else(String::new, |it| format!("{it:.places$}"));
        [
            of.settings.to_owned(),
            share(of.in_time),
            share(of.before),
            mean(of.attempts_before, 1),
            mean(of.entry_tokens, 0),
            mean(of.context_tokens, 0),
        ]
    };
    let rows: Vec<_> = contexts.iter().filter(|_| *needed > 0).map(row).collect();
    let headings =
        ["contexts", "in time#", "before a failure#", "attempts before#", "tokens of entries#", "tokens in all#"];
    table(ui, "Needed entries that contexts had", headings, &rows)?;
    let rows = [[errors.repeated, errors.explained, errors.solved, errors.shared, errors.unspecific].map(grouped)];
    let headings = ["repeated#", "told by `hook tool`#", "with what solved it#", "too common#", "too few words#"];
    table(ui, "Errors that had occurred before", headings, &rows)?;
    ui.problems(problems);
    Ok(Exit::Done)
}
