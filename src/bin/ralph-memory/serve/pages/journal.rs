//! The pages of what happened: now, the timeline, features, a task, a run.

use maud::{Markup, Render as _, html};
use ralph_memory::Memory;
use ralph_memory::entry::{Outcome, timestamp};
use ralph_memory::memory::{
    AttemptTotals, AttemptView, EntryFilter, FeatureStats, LivePhase, LiveRun, LogFilter, Overview, StatsFilter,
    StuckTask, TaskState, TaskView,
};
use ralph_memory::text::dollars;
use serde_json::Value;

use super::super::html::{
    HtmlPage, PageContext, PageFields, ShownTime, badge, counted, cut, duration, empty, entry_address, entry_list,
    fact, isolated, named_link, outcome_badge, problems, table, title, with_code,
};
use super::super::markdown::rendered;
use super::{done, last_change, nothing};
use crate::activity::grouped;
use crate::answers::{LOST, sections};

/// How many attempts the first page shows, and how many stuck tasks.
const RECENT: usize = 12;
const STUCK: usize = 10;
/// How many attempts a page of the timeline shows, and how many a task shows in full, the newest.
const PER_PAGE: usize = 50;
const IN_FULL: usize = 30;
/// How many features are listed, and among how many failed attempts their last failures are looked for.
const FEATURES: usize = 200;
const FAILURES: usize = 100;
/// What a page says where there is no attempt at all.
const NO_ATTEMPT: &str =
    "No attempt yet. `ralph-memory run` makes attempts, and `ralph-memory setup` lets your agent record its own.";

/// The first page: what goes on, what is stuck, the last attempts, and the last change.
pub(super) fn now(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let Overview { live, stuck, log } = context.memory.overview(RECENT);
    let main = html! {
        (done(fields))
        @if log.in_all == 0 && live.is_empty() { (first_steps(context.memory)) }
        (live_runs(&live))
        @if !stuck.is_empty() {
            h2 id="stuck" { "Stuck" }
            ul.rows { @for task in stuck.iter().take(STUCK) { (stuck_row(task)) } }
            @if stuck.len() > STUCK { p.quiet { (stuck.len() - STUCK) " more" } }
        }
        @if !log.attempts.is_empty() {
            h2 { "Last attempts" }
            (attempt_table("The last attempts, newest first", &log.attempts))
            p { a href="timeline" { "All " (counted(log.in_all, "attempt", "attempts")) } }
        }
        (last_change(context))
        (problems(&log.problems))
    };
    Ok(HtmlPage { title: "Now".to_owned(), part: "", main, is_live: true })
}

/// Says what to do where no agent has used the memory yet.
fn first_steps(memory: &Memory) -> Markup {
    let n_entries = memory.list(&EntryFilter::default()).entries.len();
    let steps = [
        ("ralph-memory add", "writes down a fact that your agents should know"),
        ("ralph-memory import", "takes over the notes and rules that you have"),
        ("ralph-memory setup", "connects the agent that you talk to, which then reads and writes this memory"),
        ("ralph-memory run --task \"Fix the login\" --agent \"claude -p\"", "lets an agent work until a task is done"),
    ];
    html! {
        section.card aria-labelledby="next" {
            h2 id="next" { "No agent has recorded an attempt yet" }
            @if n_entries > 0 { p { "The memory has " a href="entries" { (counted(n_entries, "entry", "entries")) } "." } }
            ul.steps { @for (command, what) in steps { li { code { (command) } " " (what) } } }
        }
    }
}

/// Returns what runs and open attempts are doing.
fn live_runs(runs: &[LiveRun]) -> Markup {
    html! {
        @if !runs.is_empty() {
            h2 id="running" { "In progress" }
            ul.rows { @for run in runs { li.row {
                p.row-title {
                    @if run.iteration.is_some() { (task_link(run.task_id.as_deref(), &run.task_title)) } @else { "Between two attempts" }
                    " " (badge("plain", run.phase.as_str()))
                    @if run.phase == LivePhase::Lost { " " span.quiet { (LOST.trim_start_matches("; ")) } }
                }
                p.meta {
                    (named_link("run", &run.run_id, &run.run_id))
                    @if let Some(number) = run.iteration { " #" (number) }
                    @if let Some(feature) = &run.feature { " · " (named_link("feature", feature, feature)) }
                    @if let Some(model) = &run.model { " · " (isolated(&cut(model, 60))) }
                    @if let Some(time) = &run.started_at { " · since " (ShownTime(time)) }
                    @if let Some(pid) = run.pid { " · process " (pid) }
                }
                @if let Some(line) = &run.last_line { p.meta dir="auto" { code { (line) } } }
            } } }
        }
    }
}

fn stuck_row(task: &StuckTask) -> Markup {
    html! {
        li.row {
            p.row-title { (task_link(Some(&task.id), &task.title)) " " (badge("bad", &streak(task.streak))) }
            @if !task.reason.is_empty() { p.meta dir="auto" { (with_code(&task.reason)) } }
            @if let Some(next) = &task.next_model { p.meta { "Next model: " (isolated(&next.model)) } }
        }
    }
}

/// Says how often a task was tried since it was last done. Not every such attempt failed: some were blocked, or have to be retried.
fn streak(streak: u32) -> String {
    format!("{} without success", counted(streak as usize, "attempt", "attempts"))
}

fn task_link(id: Option<&str>, name: &str) -> Markup {
    let shown = if name.trim().is_empty() { id.unwrap_or_default() } else { name };
    html! { @if let Some(id) = id { (named_link("task", id, shown)) } @else { (isolated(&title(shown))) } }
}

/// Returns attempts as a table.
fn attempt_table(caption: &str, attempts: &[AttemptView]) -> Markup {
    let row = |AttemptView { id, attempt, reason, .. }: &AttemptView| {
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
        let number = html! { (named_link("run", run, run)) " " a href=(entry_address(id)) { span.sr { "attempt " } "#" (head.iteration) } };
        vec![
            task,
            outcome_badge(head.outcome),
            ShownTime(&timestamp(attempt.started_at)).render(),
            optional(head.model.as_deref().map(|model| cut(model, 40))),
            optional(head.duration_secs.map(duration)),
            optional(head.cost_usd.map(dollars)),
            number,
        ]
    };
    let headings = ["Task", "Outcome", "Began", "Model", "Duration#", "Cost#", "Run"];
    table(caption, &headings, attempts.iter().map(row))
}

fn optional(value: Option<String>) -> Markup {
    html! {
        @if let Some(value) = value { (isolated(&value)) }
        @else { span.quiet aria-label="none" role="img" { "–" } }
    }
}

/// Returns the sums over attempts.
fn figures(totals: &AttemptTotals) -> Markup {
    let number = |number: u64| grouped(usize::try_from(number).unwrap_or(usize::MAX));
    let figures = [
        ("Attempts", Some(grouped(totals.attempts))),
        ("Success rate", totals.success_rate.map(|rate| format!("{:.0} %", rate * 100.0))),
        ("Cost", totals.cost_usd.map(dollars)),
        ("Time", totals.duration_secs.map(duration)),
        ("Tokens read", totals.tokens_in.map(number)),
        ("Tokens written", totals.tokens_out.map(number)),
    ];
    html! { dl.figures { @for (name, value) in figures { div { dt { (name) } dd { (optional(value)) } } } } }
}

/// Timeline: all attempts, newest first, with filters.
pub(super) fn timeline(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let log = context.memory.log(&LogFilter {
        task_id: fields.given("task"),
        run_id: fields.given("run"),
        feature: fields.given("feature"),
        outcomes: Outcome::parse(fields.text("outcome")).into_iter().collect(),
        model: fields.given("model"),
        offset: fields.offset(PER_PAGE),
        limit: Some(PER_PAGE),
        ..LogFilter::default()
    });
    let outcomes: Vec<(&str, &str)> =
        [("", "All")].into_iter().chain(Outcome::WORDS.iter().map(|word| (*word, *word))).collect();
    let is_filtered = ["task", "run", "feature", "outcome", "model"].iter().any(|name| fields.given(name).is_some());
    let main = html! {
        form.filters action="timeline" method="get" {
            (fields.text_input("feature", "Feature"))
            (fields.choice("outcome", "Outcome", &outcomes))
            (fields.text_input("model", "Model"))
            (fields.text_input("task", "Task id"))
            button { "Filter" }
        }
        p.lead { (counted(log.in_all, "attempt", "attempts")) }
        @if !log.attempts.is_empty() { (attempt_table("Attempts, newest first", &log.attempts)) }
        @else { (empty(if is_filtered { "No attempt matches. Change the filters." } else { NO_ATTEMPT })) }
        (fields.pager("timeline", log.in_all, PER_PAGE))
        (problems(&log.problems))
    };
    Ok(HtmlPage { title: "Timeline".to_owned(), part: "timeline", main, is_live: false })
}

/// Features: how the work on each is going.
pub(super) fn features(context: &PageContext<'_>, _: &PageFields) -> anyhow::Result<HtmlPage> {
    let stats = context.memory.stats(&StatsFilter::default());
    let outcomes = vec![Outcome::Failed, Outcome::Error, Outcome::Retried, Outcome::Blocked];
    let failures = context.memory.log(&LogFilter { outcomes, limit: Some(FAILURES), ..LogFilter::default() });
    let row = |of: &FeatureStats| {
        let name = html! {
            @if let Some(feature) = &of.feature { (named_link("feature", feature, feature)) }
            @else { span.quiet { "without a feature" } }
        };
        let last = failures.attempts.iter().find(|view| view.attempt.feature == of.feature);
        let last = html! {
            @if let Some(view) = last {
                a href=(entry_address(&view.id)) { (ShownTime(&timestamp(view.attempt.started_at))) }
                @if !view.reason.is_empty() { p.meta dir="auto" { (with_code(&view.reason)) } }
            } @else { (optional(None)) }
        };
        let count = |count: usize| html! { (grouped(count)) };
        vec![name, count(of.totals.attempts), count(of.tasks.open), count(of.tasks.stuck), html! { (of.streak) }, last]
    };
    let headings = ["Feature", "Attempts#", "Open tasks#", "Stuck tasks#", "Failures in a row#", "Last failure"];
    let main = html! {
        @if stats.features.is_empty() { (empty(NO_ATTEMPT)) }
        @else { (table("Features, the one with the last attempt first", &headings, stats.features.iter().take(FEATURES).map(row))) }
        @if stats.features.len() > FEATURES { p.quiet { (stats.features.len() - FEATURES) " more, which " code { "ralph-memory stats" } " lists" } }
        (problems(&stats.problems))
    };
    Ok(HtmlPage { title: "Features".to_owned(), part: "features", main, is_live: false })
}

/// One task: its attempts side by side.
pub(super) fn task(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let id = fields.text("id");
    let task = context.memory.task(id).ok_or_else(|| nothing("task", id))?;
    let count = task.attempts.len();
    let main = html! {
        (task_facts(&task))
        (figures(&task.totals))
        (live_runs(&task.live))
        @if count > 0 {
            h2 { "Attempts" }
            p.quiet { @if count > IN_FULL { "The last " (IN_FULL) " of " (count) ", oldest first." } @else { "Oldest first." } }
            div.cards { @for (number, view) in (1..).zip(&task.attempts).skip(count.saturating_sub(IN_FULL)) {
                section.card aria-label={ "Attempt " (number) } {
                    h3 { a href=(entry_address(&view.id)) { "Attempt " (number) } " " (outcome_badge(view.attempt.head.outcome)) }
                    (attempt(view))
                }
            } }
        }
        @if !task.knowledge.is_empty() { h2 { "Learned during it" } (entry_list(context.memory, &task.knowledge, "", |_| html! {})) }
        (problems(&task.problems))
    };
    let heading = if task.title.trim().is_empty() { cut(&task.id, 100) } else { title(&task.title) };
    Ok(HtmlPage { title: heading, part: "timeline", main, is_live: true })
}

fn task_facts(task: &TaskView) -> Markup {
    let class = match task.state {
        TaskState::Done => "good",
        TaskState::Open => "plain",
        TaskState::Failing => "warn",
        TaskState::Stuck => "bad",
    };
    html! {
        dl.facts {
            (fact("State", &html! { (badge(class, task.state.as_str())) @if task.streak > 0 { " " (streak(task.streak)) } }))
            (fact("Id", &html! { code { (isolated(&task.id)) } }))
            (fact("Feature", &html! { @if let Some(feature) = &task.feature { (named_link("feature", feature, feature)) } }))
            (fact("Section", &html! { @if let Some(section) = &task.section { (isolated(&cut(section, 100))) } }))
            (fact("Difficulty", &html! { @if let Some(difficulty) = task.difficulty { (difficulty.as_str()) } }))
            (fact("Next model", &html! { @if let Some(next) = &task.next_model { (isolated(&next.model)) ", " (isolated(&next.rationale)) } }))
        }
    }
}

/// Returns all of an attempt that a reader compares with others.
pub(super) fn attempt(view: &AttemptView) -> Markup {
    let head = &view.attempt.head;
    let known = [
        head.model.as_deref().map(|model| cut(model, 40)),
        head.duration_secs.map(duration),
        head.cost_usd.map(dollars),
        head.error_category.as_deref().filter(|category| *category != "unknown").map(|category| cut(category, 60)),
    ];
    let texts = sections(&serde_json::to_value(view).unwrap_or(Value::Null));
    html! {
        p.meta {
            (ShownTime(&timestamp(view.attempt.started_at)))
            @for text in known.iter().flatten() { " · " (isolated(text)) }
            " · " (named_link("run", &view.attempt.run_id, &view.attempt.run_id)) " #" (head.iteration)
        }
        @if view.attempt.sections.told_why().is_none() && !view.reason.is_empty() { p dir="auto" { (with_code(&view.reason)) } }
        @for (heading, text) in texts.iter().filter(|(heading, _)| *heading != "Why it failed" || view.attempt.sections.told_why().is_some()) {
            h4 { (heading) }
            @if matches!(*heading, "Error output" | "Errors" | "Verification" | "Files") { pre.wrap tabindex="0" dir="auto" { (text) } }
            @else { div.prose { (rendered(text, None)) } }
        }
    }
}

/// One run: its tasks, its attempts, and what was learned in it.
pub(super) fn run(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let id = fields.text("id");
    let run = context.memory.run(id).ok_or_else(|| nothing("run", id))?;
    let rows = run.tasks.iter().map(|task| {
        vec![task_link(task.id.as_deref(), &task.title), outcome_badge(task.outcome), html! { (task.attempts) }]
    });
    let main = html! {
        dl.facts {
            (fact("Kind", &html! { @if run.is_session { "session without a loop" } }))
            (fact("Began", &html! { @if let Some(time) = &run.started_at { (ShownTime(time)) } }))
            (fact("Last activity", &html! { @if let Some(time) = &run.ended_at { (ShownTime(time)) } }))
        }
        (figures(&run.totals))
        (live_runs(&run.live))
        @if !run.tasks.is_empty() { h2 { "Tasks" } (table("The tasks of the run", &["Task", "Last outcome", "Attempts#"], rows)) }
        @if !run.attempts.is_empty() { h2 { "Attempts" } (attempt_table("Attempts, oldest first", &run.attempts)) }
        @if !run.knowledge.is_empty() { h2 { "Learned in it" } (entry_list(context.memory, &run.knowledge, "", |_| html! {})) }
        (problems(&run.problems))
    };
    let heading = if run.id.starts_with("run-") { run.id } else { format!("Run {}", run.id) };
    Ok(HtmlPage { title: heading, part: "timeline", main, is_live: true })
}
