//! What the campaign of secrets found, printed for people.
//!
//! It knows nothing of how anything was found.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::ops::Range;
use std::time::Instant;

use crate::{Order, secrets};

/// The detector.
fn detect(text: &str) -> Vec<Range<usize>> {
    ralph_memory::text::secret::find(text).into_iter().map(|secret| secret.range).collect()
}

/// How much of each failure is shown.
const SHOWN: (usize, usize) = (20, 120);

/// Looks for synthetic secrets in ten carriers, and in notes without any, and prints how many are found and how often something else is taken
/// for one. With `--show` it prints what it would look at.
pub(crate) fn secrets(order: &Order) -> Result<(), Box<dyn Error>> {
    let is_shown = order.arguments.first().is_some_and(|argument| argument == "--show");
    let first = usize::from(is_shown);
    let (n_secrets, n_clean) = (order.argument(first, 2_000)?, order.argument(first + 1, 5_000)?);
    let seed = order.argument(first + 2, 1)?;
    let mut out = std::io::stdout().lock();
    if is_shown {
        for sample in secrets::samples(n_secrets, seed) {
            writeln!(out, "=== {} in {}\n{}", sample.kind, sample.carrier, sample.text)?;
        }
        for note in secrets::clean(n_clean, seed) {
            writeln!(out, "=== clean\n{note}")?;
        }
        return Ok(());
    }
    writeln!(out, "{n_secrets} secrets, {n_clean} clean notes, seed {seed}")?;
    let begin = Instant::now();
    let outcome = secrets::run(n_secrets, n_clean, seed, detect);
    writeln!(
        out,
        "found {:.2} %, {} missed; false alarms {:.2} %, {} texts; {:.1} s",
        outcome.found_percent(),
        outcome.missed.len(),
        outcome.false_percent(),
        outcome.false_alarms.len(),
        begin.elapsed().as_secs_f64()
    )?;
    table(&mut out, "carrier", &outcome.of_carrier)?;
    table(&mut out, "kind", &outcome.of_kind)?;
    writeln!(out, "\nmissed:")?;
    for (kind, carrier, text) in outcome.missed.iter().take(SHOWN.0) {
        writeln!(out, "  {kind} in {carrier}: {}", cut(text))?;
    }
    writeln!(out, "\nfalse alarms:")?;
    for (text, ranges) in outcome.false_alarms.iter().take(SHOWN.0) {
        let found: Vec<String> = ranges.iter().filter_map(|range| text.get(range.clone())).map(cut).collect();
        writeln!(out, "  {}\n    in {}", found.join(" and "), cut(text))?;
    }
    Ok(())
}

/// Prints how many were found of each, the worst first.
fn table(out: &mut impl Write, head: &str, rows: &BTreeMap<&str, (usize, usize)>) -> std::io::Result<()> {
    writeln!(out, "\n{head:<22} found  of      %")?;
    let mut rows: Vec<_> =
        rows.iter().map(|(name, (found, all))| (secrets::percent(*found, *all), *name, *found, *all)).collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(other.1)));
    for (percent, name, found, all) in rows {
        writeln!(out, "{name:<22} {found:>5} {all:>4} {percent:>6.1}")?;
    }
    Ok(())
}

/// Returns the text on one line, at most so long.
fn cut(text: impl AsRef<str>) -> String {
    text.as_ref().escape_debug().take(SHOWN.1).collect()
}
