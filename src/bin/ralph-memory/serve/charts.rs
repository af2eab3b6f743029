//! Charts, drawn as SVG. Each says in words what it shows, and the page has its numbers in a table.

use maud::{Markup, html};
use ralph_memory::entry::Outcome;

/// The width of a column with its gap, and the height of the tallest one, in units of the drawing.
const COLUMN: usize = 14;
const HEIGHT: usize = 90;
/// The space below for labels.
const LABELS: usize = 18;

/// A column of a chart: a value for each class, from the bottom up.
pub(super) struct Column {
    pub(super) label: String,
    /// The values, with the class that has the colour.
    pub(super) parts: Vec<(&'static str, f64)>,
}

/// Returns a chart of columns.
pub(super) fn columns(summary: &str, columns: &[Column]) -> Markup {
    let highest =
        columns.iter().map(|column| column.parts.iter().map(|(_, value)| value).sum::<f64>()).fold(0.0, f64::max);
    // Few columns stay narrow.
    let width = (columns.len().max(30)) * COLUMN;
    html! {
        svg.chart viewBox=(format!("0 0 {width} {}", HEIGHT + LABELS)) preserveAspectRatio="xMinYMid meet" role="img" aria-label=(summary) {
            line.base x1="0" y1=(HEIGHT) x2=(width) y2=(HEIGHT) {}
            @for (index, column) in columns.iter().enumerate() {
                @for (class, y, height) in stacked(&column.parts, highest) {
                    rect class=(class) x=(index * COLUMN + 1) y=(format!("{y:.1}")) width=(COLUMN - 3) height=(format!("{height:.1}")) rx="1.5" {}
                }
            }
            @if let (Some(first), Some(last)) = (columns.first(), columns.last()) {
                text x="0" y=(HEIGHT + 13) { (first.label) }
                @if columns.len() > 12 {
                    text x=(columns.len() * COLUMN) y=(HEIGHT + 13) text-anchor="end" { (last.label) }
                }
            }
        }
    }
}

/// Returns the class, the top and the height of each part.
fn stacked(parts: &[(&'static str, f64)], highest: f64) -> Vec<(&'static str, f64, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
    let full = HEIGHT as f64;
    let mut top = full;
    let parts = parts.iter().filter(|(_, value)| *value > 0.0 && highest > 0.0);
    let part = parts.map(|(class, value)| {
        let height = value / highest * full;
        top -= height;
        (*class, top, height)
    });
    part.collect()
}

/// Returns a bar that is filled to a share between 0 and 1.
pub(super) fn bar(class: &str, share: f64) -> Markup {
    let width = if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 };
    html! {
        svg.bar viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
            rect class=(class) x="0" y="0" width=(format!("{width:.1}")) height="4" {}
        }
    }
}

/// Returns the class that has the colour of an outcome.
pub(super) fn outcome_class(outcome: Outcome) -> &'static str {
    match outcome.is_success() {
        Some(true) => "good",
        Some(false) => "bad",
        None => "plain",
    }
}
