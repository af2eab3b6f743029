//! Charts, drawn as SVG. Each says in words what it shows, and the page has its numbers in a table.

use maud::{Markup, html};
use ralph_memory::entry::Outcome;

/// The size of a chart, in units of the drawing.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 80.0;
/// The widest column. Few columns do not become bricks.
const WIDEST: f64 = 24.0;

/// Returns a chart of columns: each is a value for each class, from the bottom up.
pub(super) fn columns(summary: &str, columns: &[Vec<(&'static str, f64)>]) -> Markup {
    let highest = columns.iter().map(|parts| parts.iter().map(|(_, value)| value).sum::<f64>()).fold(0.0, f64::max);
    #[expect(clippy::cast_precision_loss, reason = "there are few columns")]
    let step = (WIDTH / columns.len().max(1) as f64).min(WIDEST);
    #[expect(clippy::cast_precision_loss, reason = "there are few columns")]
    let x = |index: usize| format!("{:.1}", index as f64 * step);
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {}", HEIGHT + 1.0)) preserveAspectRatio="xMinYMid meet" role="img" aria-label=(summary) {
            line.base x1="0" y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) {}
            @for (index, parts) in columns.iter().enumerate() {
                @for (class, y, height) in stacked(parts, highest) {
                    rect class=(class) x=(x(index)) y=(format!("{y:.1}")) width=(format!("{:.1}", step * 0.8)) height=(format!("{height:.1}")) rx="1" {}
                }
            }
        }
    }
}

/// Returns the class, the top and the height of each part.
fn stacked(parts: &[(&'static str, f64)], highest: f64) -> Vec<(&'static str, f64, f64)> {
    let mut top = HEIGHT;
    let parts = parts.iter().filter(|(_, value)| *value > 0.0 && highest > 0.0);
    let part = parts.map(|(class, value)| {
        let height = value / highest * HEIGHT;
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
