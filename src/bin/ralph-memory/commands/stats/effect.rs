//! `stats --effect`: tasks with the memory beside those without.

use ralph_memory::memory::{Effect, EffectMeasure, EffectMeasureKind};
use ralph_memory::text::dollars;

use crate::activity::grouped;
use crate::error::check_whole;
use crate::exit::Exit;
use crate::table::table;
use crate::ui::Ui;

pub(super) fn print(ui: &mut Ui<'_>, effect: &Effect) -> anyhow::Result<Exit> {
    check_whole(&effect.problems)?;
    if ui.json {
        ui.json(effect, &effect.problems)?;
        return Ok(Exit::Done);
    }
    let arms = [effect.with_memory, effect.without_memory];
    if arms[1].tasks == 0 {
        ui.note("no task was without the memory: set `experiment.share`, such as 0.2, in your own settings");
    } else {
        let [with, without] = arms.map(|arm| format!("{} ({} not done)", grouped(arm.tasks), grouped(arm.unfinished)));
        ui.line(format_args!("Tasks with the memory: {with}. Tasks without it: {without}."))?;
        let rows: Vec<_> = effect.measures.iter().filter(|measure| measure.difference.is_some()).map(row).collect();
        table(ui, "What the memory changes", ["measure", "with#", "without#", "difference#", "95% interval#"], &rows)?;
        ui.line(format_args!("\n{}", verdict(effect)))?;
    }
    ui.problems(&effect.problems);
    Ok(Exit::Done)
}

fn row(measure: &EffectMeasure) -> [String; 5] {
    let name = match measure.name {
        EffectMeasureKind::FirstTry => "success at the first try",
        EffectMeasureKind::AttemptsToDone => "attempts until done (5 if more)",
        EffectMeasureKind::CostUsd => "cost of a task",
        EffectMeasureKind::Tokens => "tokens of a task",
        EffectMeasureKind::DurationSecs => "seconds of a task",
    };
    let value = |value: f64| match measure.name {
        EffectMeasureKind::FirstTry => format!("{:.0}%", value * 100.0),
        EffectMeasureKind::AttemptsToDone => format!("{value:.2}"),
        EffectMeasureKind::CostUsd => dollars(value),
        EffectMeasureKind::Tokens | EffectMeasureKind::DurationSecs => format!("{value:.0}"),
    };
    let signed = |number: f64| format!("{}{}", if number < 0.0 { "-" } else { "+" }, value(number.abs()));
    let shown = |number: Option<f64>, show: &dyn Fn(f64) -> String| number.map(show).unwrap_or_default();
    [
        name.to_owned(),
        shown(measure.with_memory, &value),
        shown(measure.without_memory, &value),
        shown(measure.difference, &signed),
        measure.interval.map_or_else(|| "-".to_owned(), |limits| limits.map(signed).join(" to ")),
    ]
}

/// Returns what the first measure says.
fn verdict(effect: &Effect) -> &'static str {
    match effect.measures.first().and_then(|measure| measure.interval) {
        None => "There is too little to tell: each arm needs 10 tasks.",
        Some([low, _]) if low > 0.0 => "With the memory, more tasks succeed at the first try.",
        Some([_, high]) if high < 0.0 => "With the memory, fewer tasks succeed at the first try.",
        Some(_) => "It is open whether the memory helps: the interval has both more and less in it.",
    }
}
