//! Attempts, as several pages show them: in a table, in a chart, and in full.

use std::time::Duration;

use maud::{Markup, Render as _, html};
use ralph_memory::Memory;
use ralph_memory::entry::Attempt;
use ralph_memory::entry::timestamp;
use ralph_memory::memory::{AttemptTotals, AttemptView, LiveActionKind, LiveLimits, LivePhase, LiveRun};

use super::super::charts::{Column, columns, outcome_class, outcome_sign};
use super::super::html::{
    ShownTime, badge, counted, cut, dash, dollars, duration, isolated, named_link, number, outcome_badge, table, title,
    with_code,
};
use super::super::links::entry_address;
use super::super::markdown::rendered;
use crate::answers::{REPORT_PROBLEMS, TEXTS};

/// How many files of an attempt are listed.
const MAX_FILES: usize = 200;
/// How many lines of a verification say why an attempt failed, the last.
const LAST_LINES: usize = 8;
/// How many outcomes of a task a row shows, the last.
const MAX_SIGNS: usize = 8;

/// Returns attempts as a table: of one run, or each with its run.
pub(super) fn attempt_table(caption: &str, attempts: &[AttemptView], is_of_run: bool) -> Markup {
    let last = if is_of_run { "Attempt~" } else { "Run~" };
    let headings = ["Task", "Outcome", "Began", "Model", "Duration#", "Cost#", last];
    table(caption, &headings, attempts.iter().map(|attempt| row(attempt, is_of_run)))
}

fn row(view: &AttemptView, is_of_run: bool) -> Vec<Markup> {
    let AttemptView { id, attempt, .. } = view;
    let (head, run) = (&attempt.head, &attempt.run_id);
    let number = html! {
        @if !is_of_run { (named_link("run", run, run)) " " }
        a href=(entry_address(id)) { span.sr { "attempt " } "#" (head.iteration) }
    };
    vec![
        task_cell(view),
        outcome_badge(head.outcome),
        ShownTime(&timestamp(attempt.started_at)).render(),
        optional(head.model.as_deref().map(|model| cut(model, 40))),
        optional(head.duration_secs.map(duration)),
        optional(head.cost_usd.map(dollars)),
        number,
    ]
}

/// Returns attempts, newest first, as a table of their tasks: the task with the newest attempt comes first.
pub(super) fn task_table(caption: &str, attempts: &[AttemptView], limit: usize) -> Markup {
    let mut tasks: Vec<Vec<&AttemptView>> = Vec::new();
    for view in attempts {
        let is_same = |task: &&mut Vec<&AttemptView>| {
            view.attempt.task_id.is_some()
                && task.first().is_some_and(|first| first.attempt.task_id == view.attempt.task_id)
        };
        match tasks.iter_mut().find(is_same) {
            Some(task) => task.push(view),
            None => tasks.push(vec![view]),
        }
    }
    let headings = ["Task", "Outcomes, oldest first~", "Last outcome", "Last attempt", "Duration#", "Cost#"];
    table(caption, &headings, tasks.iter().take(limit).map(|task| task_row(task)))
}

/// Returns the row of a task with these attempts, newest first and at least one.
fn task_row(task: &[&AttemptView]) -> Vec<Markup> {
    let newest = task[0];
    let sum = |amount: fn(&AttemptView) -> Option<f64>| {
        task.iter().filter_map(|view| amount(view)).reduce(|one, other| one + other)
    };
    let signs = html! {
        @if task.len() > MAX_SIGNS { span.quiet { (task.len() - MAX_SIGNS) " before, then " } }
        @for view in task[..task.len().min(MAX_SIGNS)].iter().rev() { a.sign href=(entry_address(&view.id)) { (outcome_sign(view.attempt.head.outcome)) } " " }
    };
    vec![
        task_cell(newest),
        signs,
        outcome_badge(newest.attempt.head.outcome),
        ShownTime(&timestamp(newest.attempt.started_at)).render(),
        optional(sum(|view| view.attempt.head.duration_secs).map(duration)),
        optional(sum(|view| view.attempt.head.cost_usd).map(dollars)),
    ]
}

/// Returns the task of an attempt, with its feature and why it is not done.
fn task_cell(AttemptView { attempt, reason, .. }: &AttemptView) -> Markup {
    html! {
        (task_link(attempt.task_id.as_deref(), &attempt.task_title))
        @if attempt.feature.is_some() || !reason.is_empty() {
            p.meta dir="auto" {
                @if let Some(feature) = &attempt.feature { (named_link("feature", feature, feature)) }
                @if attempt.feature.is_some() && !reason.is_empty() { " · " }
                (with_code(reason))
            }
        }
    }
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

/// Returns how often a task was tried since it was last done. Not every such attempt failed: some were blocked, or have to be retried.
pub(super) fn streak(streak: u32) -> String {
    format!("{} without success", counted(streak as usize, "attempt", "attempts"))
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

/// The tops of the scale of a chart of durations, in seconds.
const DURATIONS: [f64; 14] = [
    10.0, 20.0, 60.0, 120.0, 240.0, 600.0, 1_200.0, 3_600.0, 7_200.0, 14_400.0, 43_200.0, 86_400.0, 172_800.0,
    604_800.0,
];

/// Returns a chart of how long attempts took, by outcome, oldest first, without those whose time is in the future. A table of the same page
/// has the numbers.
pub(super) fn duration_chart(memory: &Memory, attempts: &[AttemptView]) -> Markup {
    let now = memory.now();
    let past = attempts.iter().filter(|view| view.attempt.started_at <= now);
    let known: Vec<(&AttemptView, f64)> =
        past.filter_map(|view| Some((view, view.attempt.head.duration_secs?))).collect();
    let ([(first, _), .., (last, _)], Some(_)) = (&known[..], known.get(1)) else { return html! {} };
    let began = |view: &AttemptView| ShownTime(&timestamp(view.attempt.started_at)).render();
    let ends = [began(first), began(last)];
    let drawn = known.iter().map(|(view, seconds)| {
        let (outcome, task) = (view.attempt.head.outcome, cut(&view.attempt.task_title, 80));
        Column {
            parts: vec![(outcome_class(outcome), seconds.max(0.1))],
            title: format!("{task}: {outcome}, {}", duration(*seconds), outcome = outcome.as_str()),
            address: entry_address(&view.id),
        }
    });
    let drawn: Vec<Column> = drawn.collect();
    let caption = format!("Duration of {}, oldest first", counted(drawn.len(), "attempt", "attempts"));
    html! {
        figure.card {
            figcaption.meta { (caption) }
            (columns(&format!("{caption}, by outcome; the table has the numbers"), &drawn, &DURATIONS, round_duration, &ends))
        }
    }
}

/// Returns a length of time without a part that is zero.
fn round_duration(seconds: f64) -> String {
    let named = duration(seconds);
    named.strip_suffix(" 0 s").or(named.strip_suffix(" 0 min")).unwrap_or(&named).to_owned()
}

/// Returns whether somebody is known to work on a run. Nobody may have come back to an attempt that was only begun.
pub(super) fn is_running(run: &LiveRun) -> bool {
    !matches!(run.phase, LivePhase::Open | LivePhase::Lost)
}

/// Returns what goes on, and what may have been abandoned: a card for each run.
pub(super) fn live_cards(memory: &Memory, runs: &[LiveRun]) -> Markup {
    let (running, begun): (Vec<&LiveRun>, Vec<&LiveRun>) = runs.iter().partition(|run| is_running(run));
    html! {
        @if !running.is_empty() { h2 id="running" { "Running" } @for run in running { (live_card(memory, run)) } }
        @if !begun.is_empty() { h2 { "Begun, and perhaps abandoned" } @for run in begun { (live_card(memory, run)) } }
    }
}

fn live_card(memory: &Memory, run: &LiveRun) -> Markup {
    html! {
        section.card aria-label={ "Run " (run.run_id) } {
            h3 {
                @if run.iteration.is_some() { (task_link(run.task_id.as_deref(), &run.task_title)) }
                @else { "Between two attempts" }
            }
            p {
                (phase(run)) " "
                @if let Some(feature) = &run.feature { (named_link("feature", feature, feature)) " · " }
                (named_link("run", &run.run_id, &run.run_id))
                @if let Some(model) = &run.model { " · " (isolated(&cut(model, 60))) }
            }
            dl.figures.small {
                @if let Some(time) = &run.started_at {
                    @if is_running(run) { div { dt { "Running for" } dd { time.elapsed datetime=(time) { "since " (ShownTime(time)) } } } }
                    @else { div { dt { "Begun" } dd { (ShownTime(time)) } } }
                }
                @for (name, value) in progress(memory, run) { div { dt { (name) } dd { (value) } } }
            }
            @if let Some(time) = &run.updated_at {
                p.meta { "Last activity " (ShownTime(time)) @if run.n_actions > 0 { " · " (counted(usize::try_from(run.n_actions).unwrap_or(usize::MAX), "action", "actions")) } }
            }
            @if !run.actions.is_empty() {
                h4 { "What it does, newest first" }
                ol.actions-done { @for action in run.actions.iter().rev() {
                    li dir="auto" title=(action.text) {
                        @match action.kind {
                            LiveActionKind::Tool => { code { (action.text) } }
                            LiveActionKind::Failure => { (badge("bad", "failed")) " " (action.text) }
                            _ => { (action.text) }
                        }
                    }
                } }
            }
        }
    }
}

/// Returns what a run is doing. It moves only where something is done.
fn phase(run: &LiveRun) -> Markup {
    match run.phase {
        LivePhase::Lost => html! { (badge("bad", run.phase.as_str())) " Its process has ended without a result." },
        LivePhase::Open => {
            html! { (badge("plain", run.phase.as_str())) " Nobody has said since whether it is still worked on." }
        }
        LivePhase::Between => badge("plain", run.phase.as_str()),
        _ => html! { span.badge.good.pulse { (run.phase.as_str()) } },
    }
}

/// Returns the numbers of an attempt in progress, its limits and what it cost, with the names of these.
fn progress(memory: &Memory, run: &LiveRun) -> Vec<(&'static str, String)> {
    let LiveLimits { iteration, attempts, cost_usd, tokens, duration_secs } = run.limits;
    let of = |value: String, limit: Option<String>| limit.map_or(value.clone(), |limit| format!("{value} of {limit}"));
    let before = memory.run(&run.run_id).map(|run| run.totals).unwrap_or_default();
    let cost = [before.cost_usd, run.spending.cost_usd].into_iter().flatten().reduce(|one, other| one + other);
    let read = [before.tokens_in, before.tokens_out, run.spending.tokens()].into_iter().flatten();
    let spent = read.reduce(u64::saturating_add);
    let figures = [
        (
            "Attempt of the run",
            run.iteration.map(|number| of(format!("#{number}"), iteration.map(|last| last.to_string()))),
        ),
        ("Attempt at the task", run.attempt.map(|number| number.to_string())),
        ("Limit for a task", attempts.map(|most| counted(most as usize, "attempt", "attempts"))),
        ("Cost of the run", cost.or(cost_usd.map(|_| 0.0)).map(|cost| of(dollars(cost), cost_usd.map(dollars)))),
        ("Tokens of the run", spent.or(tokens.map(|_| 0)).map(|spent| of(number(spent), tokens.map(number)))),
        ("Time limit", duration_secs.map(|seconds| round_duration(Duration::from_secs(seconds).as_secs_f64()))),
    ];
    figures.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Returns all of an attempt that a reader compares with others.
pub(super) fn attempt_card(name: &str, view: &AttemptView) -> Markup {
    html! {
        section.card aria-label=(name) {
            h3 { a href=(entry_address(&view.id)) { (name) } " " (outcome_badge(view.attempt.head.outcome)) }
            p.meta { (ShownTime(&timestamp(view.attempt.started_at))) (circumstances(&view.attempt, " · ")) }
            (attempt_text(view))
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
            (attempt_text(view))
        }
    }
}

/// Returns the model, the duration, the cost and the sort of error, as far as they are known; `first` stands before them.
fn circumstances(attempt: &Attempt, first: &str) -> Markup {
    let known = [
        attempt.head.model.as_deref().map(|model| cut(model, 40)),
        attempt.head.duration_secs.map(duration),
        attempt.head.cost_usd.map(dollars),
        attempt
            .head
            .error_category
            .as_deref()
            .filter(|category| *category != "unknown")
            .map(|category| cut(category, 60)),
    ];
    html! {
        @for (index, text) in known.into_iter().flatten().enumerate() {
            (if index == 0 { first } else { " · " }) (isolated(&text))
        }
    }
}

fn attempt_text(view: &AttemptView) -> Markup {
    let attempt = &view.attempt;
    let sections = serde_json::to_value(&attempt.sections).unwrap_or_default();
    html! {
        @for (key, heading) in TEXTS {
            @let text = sections[key].as_str().unwrap_or_default();
            @if key == "why_failed" { (why_failed(view)) }
            @else if !text.trim().is_empty() {
                h4 { @if key == "summary" && !attempt.sections.has_report() { "The agent's last words" } @else { (heading) } }
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

/// Returns why an attempt failed: what was reported, or else the end of what the verification printed, or else what is known of it.
fn why_failed(AttemptView { attempt, reason, .. }: &AttemptView) -> Markup {
    let verified = attempt.head.validation.as_ref().is_none_or(|validation| validation.exit_code == 0);
    let output = attempt.sections.validation_output.trim_end();
    let start = output.rmatch_indices('\n').nth(LAST_LINES - 1).map_or(0, |(at, _)| at + 1);
    html! {
        @if let Some(why) = attempt.sections.told_why() {
            h4 { "Why it failed" }
            (rendered(why, None))
        } @else if !verified && !output.is_empty() {
            h4 { "Why it failed" }
            p.quiet { "Nobody reported a reason. The verification ended with:" }
            pre.wrap tabindex="0" dir="auto" { (&output[start..]) }
        } @else if !reason.is_empty() {
            h4 { "Why it did not succeed" }
            p.quiet dir="auto" { (with_code(reason)) }
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
