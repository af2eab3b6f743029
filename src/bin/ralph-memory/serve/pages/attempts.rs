//! Attempts, as several pages show them: in a table, in a chart, and in full.

use maud::{Markup, Render as _, html};
use ralph_memory::entry::Attempt;
use ralph_memory::entry::timestamp;
use ralph_memory::memory::{AttemptTotals, AttemptView, LiveActionKind, LivePhase, LiveRun};

use super::super::charts::{columns, outcome_class};
use super::super::html::{
    ShownTime, badge, counted, cut, dash, dollars, duration, isolated, named_link, number, outcome_badge,
    stacking_table, title, with_code,
};
use super::super::links::entry_address;
use super::super::markdown::rendered;
use crate::answers::{REPORT_PROBLEMS, TEXTS};
use crate::ui::spent;

/// How many files of an attempt are listed.
const MAX_FILES: usize = 200;

/// Returns attempts as a table: of one run, or each with its run.
pub(super) fn attempt_table(caption: &str, attempts: &[AttemptView], is_of_run: bool) -> Markup {
    let last = if is_of_run { "Attempt~" } else { "Run~" };
    let headings = ["Task", "Outcome", "Began", "Model", "Duration#", "Cost#", last];
    stacking_table(caption, &headings, attempts.iter().map(|attempt| row(attempt, is_of_run)))
}

fn row(view: &AttemptView, is_of_run: bool) -> Vec<Markup> {
    let AttemptView { id, attempt, reason, .. } = view;
    let (head, run) = (&attempt.head, &attempt.run_id);
    let task = html! {
        (task_link(attempt.task_id.as_deref(), &attempt.task_title))
        @if attempt.feature.is_some() || !reason.is_empty() {
            p.meta dir="auto" {
                @if let Some(feature) = &attempt.feature { (named_link("feature", feature, feature)) }
                @if attempt.feature.is_some() && !reason.is_empty() { " · " }
                (with_code(reason))
            }
        }
    };
    let number = html! {
        @if !is_of_run { (named_link("run", run, run)) " " }
        a href=(entry_address(id)) { span.sr { "attempt " } "#" (head.iteration) }
    };
    vec![
        task,
        outcome_badge(head.outcome),
        ShownTime(&timestamp(attempt.started_at)).render(),
        optional(head.model.as_deref().map(|model| cut(model, 40))),
        optional(head.duration_secs.map(duration)),
        optional(head.cost_usd.map(dollars)),
        number,
    ]
}

/// Returns a link to a task.
pub(super) fn task_link(id: Option<&str>, name: &str) -> Markup {
    let shown = if name.trim().is_empty() { id.unwrap_or_default() } else { name };
    html! {
        @if let Some(id) = id { (named_link("task", id, shown)) }
        @else { (isolated(&title(shown))) }
    }
}

/// Returns a value, or a dash.
pub(super) fn optional(value: Option<String>) -> Markup {
    html! { @if let Some(value) = value { (isolated(&value)) } @else { (dash()) } }
}

/// Returns the sums over attempts.
pub(super) fn figures(totals: &AttemptTotals) -> Markup {
    html! {
        dl.figures {
            div { dt { "Attempts" } dd { (totals.attempts) } }
            div { dt { "Success rate" } dd { (optional(totals.success_rate.map(|rate| format!("{:.0} %", rate * 100.0)))) } }
            div { dt { "Cost" } dd { (optional(totals.cost_usd.map(dollars))) } }
            div { dt { "Time" } dd { (optional(totals.duration_secs.map(duration))) } }
            div { dt { "Tokens read" } dd { (optional(totals.tokens_in.map(number))) } }
            div { dt { "Tokens written" } dd { (optional(totals.tokens_out.map(number))) } }
        }
    }
}

/// Returns a chart of how long attempts took, in the colours of their outcomes, oldest first. A table of the same page has the numbers.
pub(super) fn duration_chart(attempts: &[AttemptView]) -> Markup {
    let known = attempts.iter().filter_map(|attempt| Some((attempt, attempt.attempt.head.duration_secs?)));
    let part =
        |(attempt, seconds): (&AttemptView, f64)| vec![(outcome_class(attempt.attempt.head.outcome), seconds.max(0.1))];
    let drawn: Vec<Vec<(&str, f64)>> = known.map(part).collect();
    let summary = format!(
        "Duration of {}, oldest first, by outcome; the table has the numbers",
        counted(drawn.len(), "attempt", "attempts")
    );
    html! {
        @if drawn.len() > 1 {
            figure.card {
                (columns(&summary, &drawn))
                figcaption.meta { "Duration of each attempt, oldest first; green succeeded, red failed, grey does not count." }
            }
        }
    }
}

/// Returns what goes on in a run.
pub(super) fn live_card(run: &LiveRun) -> Markup {
    html! {
        section.card aria-label={ "Run " (run.run_id) } {
            h2 {
                @if run.iteration.is_some() { (task_link(run.task_id.as_deref(), &run.task_title)) }
                @else { "Between two attempts" }
            }
            p {
                @if run.phase == LivePhase::Lost { (badge("bad", run.phase.as_str())) " " }
                @else { span.badge.good.pulse { (run.phase.as_str()) } " " }
                @if let Some(feature) = &run.feature { (named_link("feature", feature, feature)) " · " }
                (named_link("run", &run.run_id, &run.run_id))
                @if let Some(number) = run.iteration { " #" (number) }
                @if let Some(attempt) = run.attempt { " · attempt " (attempt) }
                @if let Some(model) = &run.model { " · " (isolated(&cut(model, 60))) }
            }
            p.meta {
                @if let Some(time) = &run.started_at { "Began " (ShownTime(time)) }
                @if let Some(time) = &run.updated_at { " · last activity " (ShownTime(time)) }
                @if run.n_actions > 0 { " · " (counted(usize::try_from(run.n_actions).unwrap_or(usize::MAX), "action", "actions")) }
                @if run.spending.is_known() { " · " (spent(run.spending)) " so far" }
            }
            @if !run.actions.is_empty() {
                h3 { "What it does" }
                ul { @for action in run.actions.iter().rev() {
                    li dir="auto" {
                        @match action.kind {
                            LiveActionKind::Tool => { (badge("plain", "tool")) " " code { (action.text) } }
                            LiveActionKind::Failure => { (badge("bad", "failed")) " " (action.text) }
                            _ => { (action.text) }
                        }
                    }
                } }
            }
        }
    }
}

/// Returns all of an attempt that a reader compares with others.
pub(super) fn attempt_card(name: &str, view: &AttemptView) -> Markup {
    html! {
        section.card aria-label=(name) {
            h3 { a href=(entry_address(&view.id)) { (name) } " " (outcome_badge(view.attempt.head.outcome)) }
            p.meta { (ShownTime(&timestamp(view.attempt.started_at))) (circumstances(&view.attempt, " · ")) }
            (attempt_text(&view.attempt))
            p.meta { (named_link("run", &view.attempt.run_id, &view.attempt.run_id)) " #" (view.attempt.head.iteration) }
        }
    }
}

/// Returns the content of an attempt, whose page has the rest beside it.
pub(super) fn attempt_content(view: &AttemptView) -> Markup {
    html! {
        section.card aria-label="The attempt" {
            h3 { "Attempt #" (view.attempt.head.iteration) " of its run" }
            p.meta { (circumstances(&view.attempt, "")) }
            (attempt_text(&view.attempt))
        }
    }
}

/// Returns the model, the duration, the cost and the sort of error, as far as they are known; `first` stands before them.
fn circumstances(attempt: &Attempt, first: &str) -> Markup {
    let known = [
        attempt.head.model.as_deref().map(|model| cut(model, 40)),
        attempt.head.duration_secs.map(duration),
        attempt.head.cost_usd.map(dollars),
        attempt.head.error_category.as_deref().map(|category| cut(category, 60)),
    ];
    html! {
        @for (index, text) in known.into_iter().flatten().enumerate() {
            (if index == 0 { first } else { " · " }) (isolated(&text))
        }
    }
}

fn attempt_text(attempt: &Attempt) -> Markup {
    let sections = serde_json::to_value(&attempt.sections).unwrap_or_default();
    html! {
        @for (key, heading) in TEXTS {
            @let text = sections[key].as_str().unwrap_or_default();
            @if !text.trim().is_empty() {
                h4 { (heading) }
                @if key.starts_with("error") { pre.wrap tabindex="0" dir="auto" { (text) } }
                @else { (rendered(text, None)) }
            }
        }
        (verification(attempt))
        (files(attempt))
        @if !attempt.head.refused.is_empty() {
            h4 { (REPORT_PROBLEMS) }
            ul { @for problem in &attempt.head.refused { li dir="auto" { (problem) } } }
        }
    }
}

fn verification(attempt: &Attempt) -> Markup {
    html! {
        @if let Some(validation) = &attempt.head.validation {
            h4 { "Verification" }
            p {
                code { (isolated(&cut(&validation.command, 400))) } " "
                @if validation.exit_code == 0 { (badge("good", "passed")) }
                @else { (badge("bad", &format!("exit code {}", validation.exit_code))) }
            }
            @if !attempt.sections.validation_output.trim().is_empty() {
                details { summary { "Output of the verification" } pre.wrap tabindex="0" dir="auto" { (attempt.sections.validation_output) } }
            }
        }
    }
}

fn files(attempt: &Attempt) -> Markup {
    let groups = [
        ("created", &attempt.head.files.created),
        ("changed", &attempt.head.files.modified),
        ("read", &attempt.head.files.read),
    ];
    let count: usize = groups.iter().map(|(_, files)| files.len()).sum();
    html! {
        @if count > 0 {
            details {
                summary { (counted(count, "file", "files")) }
                ul {
                    @for (what, path) in groups.iter().flat_map(|(what, files)| files.iter().map(move |path| (what, path))).take(MAX_FILES) {
                        li { code { (isolated(path)) } " " span.quiet { (what) } }
                    }
                }
            }
        }
    }
}
