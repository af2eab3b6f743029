//! Charts, drawn as SVG within HTML that has their scales. Each says in words what it shows, and the page has its numbers in a table with the
//! same links, so that only a mouse stops at the columns.

use maud::{Markup, html};
use ralph_memory::entry::Outcome;

/// The size of the drawing, which the page stretches, in its units.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 100.0;
/// The widest column. Few columns do not become bricks.
const WIDEST: f64 = 24.0;
/// What the classes of a chart are called, from the bottom up. Each looks different without its colour, too.
const CLASSES: [(&str, &str); 4] =
    [("good", "succeeded"), ("warn", "retried or blocked"), ("bad", "failed"), ("plain", "not counted")];

/// A column of a chart.
pub(super) struct Column {
    /// A value for each class.
    pub(super) parts: Vec<(&'static str, f64)>,
    /// What it stands for, in words.
    pub(super) title: String,
    /// Where it leads.
    pub(super) address: String,
}

/// Returns a chart with its scale: `steps` are the tops that the scale may have, `named` names a value, and `ends` are the beginning and
/// the end of the other axis.
pub(super) fn columns(
    summary: &str,
    columns: &[Column],
    steps: &[f64],
    named: impl Fn(f64) -> String,
    ends: &[Markup; 2],
) -> Markup {
    let sum = |column: &Column| column.parts.iter().map(|(_, value)| value).sum::<f64>();
    let highest = columns.iter().map(sum).fold(0.0, f64::max);
    let top = steps.iter().copied().find(|step| *step >= highest).unwrap_or(highest).max(f64::MIN_POSITIVE);
    #[expect(clippy::cast_precision_loss, reason = "there are few columns")]
    let step = WIDTH / columns.len().max(1) as f64;
    // The columns stand where the ends of the axis say, however few they are.
    let wide = step.min(WIDEST) * 0.8;
    #[expect(clippy::cast_precision_loss, reason = "there are few columns")]
    let x = |index: usize, own: f64| format!("{:.1}", index as f64 * step + (step - own) / 2.0);
    let shown = CLASSES.iter().filter(|(class, _)| columns.iter().any(|column| has(column, class)));
    html! {
        div.chart role="group" aria-label=(summary) {
            div.scale aria-hidden="true" { @for share in [1.0, 0.5, 0.0] { span { (named(top * share)) } } }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" aria-hidden="true" {
                @for y in [0.0, HEIGHT / 2.0, HEIGHT] { line.base x1="0" y1=(y) x2=(WIDTH) y2=(y) {} }
                @for (index, column) in columns.iter().enumerate().filter(|(_, column)| sum(column) > 0.0) {
                    a href=(column.address) tabindex="-1" {
                        title { (column.title) }
                        rect.hit x=(x(index, step)) y="0" width=(format!("{step:.1}")) height=(HEIGHT) {}
                        @for (class, y, height) in stacked(&column.parts, top) {
                            rect class=(class) x=(x(index, wide)) y=(format!("{y:.1}")) width=(format!("{wide:.1}")) height=(format!("{height:.1}")) {}
                        }
                    }
                }
            }
            div.ends aria-hidden="true" { @for end in ends { span { (end) } } }
        }
        p.meta.legend { @for (class, name) in shown { span { (swatch(class)) " " (name) } " " } }
    }
}

fn has(column: &Column, class: &str) -> bool {
    column.parts.iter().any(|(own, value)| *own == class && *value > 0.0)
}

/// Returns a sample of how a class looks.
fn swatch(class: &str) -> Markup {
    html! { svg.swatch viewBox="0 0 12 12" aria-hidden="true" { rect class=(class) x="1" y="1" width="10" height="10" {} } }
}

/// Returns the class, the top and the height of each part.
fn stacked(parts: &[(&'static str, f64)], highest: f64) -> Vec<(&'static str, f64, f64)> {
    let mut top = HEIGHT;
    let parts = parts.iter().filter(|(_, value)| *value > 0.0);
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

/// Returns the class of an outcome, which stands for how it looks.
pub(super) fn outcome_class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "good",
        Outcome::Failed | Outcome::Error => "bad",
        Outcome::Blocked | Outcome::Retried => "warn",
        Outcome::Partial | Outcome::Interrupted => "plain",
    }
}

/// Returns the sign of an outcome, where there is no room for its name.
pub(super) fn outcome_sign(outcome: Outcome) -> Markup {
    let sign = match outcome {
        Outcome::Done => "✓",
        Outcome::Failed => "✗",
        Outcome::Error => "!",
        Outcome::Blocked => "–",
        Outcome::Retried => "↻",
        Outcome::Partial => "◐",
        Outcome::Interrupted => "‖",
    };
    html! {
        span class={ "badge sign " (outcome_class(outcome)) } title=(outcome.as_str()) {
            span aria-hidden="true" { (sign) } span.sr { (outcome.as_str()) " " }
        }
    }
}
