//! The first page: what goes on, what is stuck, and what happened last.

use maud::{Markup, html};
use ralph_memory::memory::{LogFilter, LoggedAttempt, TaskState};

use super::super::html::{HtmlPage, PageContext, badge, counted, empty, isolated, problems, with_code};
use super::attempts::{attempt_table, live_card, task_link};
use super::operations::operations;
use super::{NoFields, done};

/// How many attempts are listed, and looked at for stuck tasks.
const SHOWN: usize = 12;
const LOOKED_AT: usize = 60;
/// How many tasks are looked at, each of which reads all its attempts.
const MAX_TASKS: usize = 5;

/// Makes the page.
pub(in crate::serve) fn now(context: &PageContext<'_>, fields: &NoFields) -> anyhow::Result<HtmlPage> {
    let live = context.memory.live_runs();
    let log = context.memory.log(&LogFilter { limit: Some(LOOKED_AT), ..LogFilter::default() });
    let shown = &log.attempts[..log.attempts.len().min(SHOWN)];
    let main = html! {
        (done(context, &fields.done))
        (semantic(context))
        @if live.is_empty() { (empty("No run in progress.")) }
        @for run in &live { (live_card(context, run)) }
        (stuck(context, &log.attempts))
        h2 { "Last attempts" }
        @if shown.is_empty() { (empty("No attempt yet. A run, or an agent with the memory's tools, records them.")) }
        @else {
            (attempt_table(context.links, "The last attempts, newest first", shown))
            @if log.in_all > shown.len() {
                p { a href=(context.links.page("timeline")) { "All " (counted(log.in_all, "attempt", "attempts")) } }
            }
        }
        (operations(context))
        (problems(context.links, &log.problems))
    };
    Ok(HtmlPage { title: "Now".to_owned(), part: "", main, is_live: true })
}

/// Returns the state of semantic search.
pub(super) fn semantic(context: &PageContext<'_>) -> Markup {
    html! {
        @match &context.semantic {
            Some(status) => {
                p {
                    @if status.active { (badge(if status.fix.is_some() { "warn" } else { "good" }, "semantic search on")) }
                    @else if status.wanted { (badge("bad", "semantic search fails")) }
                    @else { (badge("plain", "semantic search off")) }
                    " " span.quiet { (with_code(detail(&status.detail))) }
                    @if let Some(fix) = &status.fix { " " span.quiet { "· " (with_code(fix)) } }
                }
            }
            None => { p { (badge("plain", "semantic search")) " " span.quiet { "Checking …" } } }
        }
    }
}

/// Returns a detail without what the badge says.
fn detail(detail: &str) -> &str {
    let reason = detail.strip_prefix("RAG: off (").and_then(|reason| reason.strip_suffix(')'));
    reason.unwrap_or(detail)
}

/// Returns the tasks that failed last and are stuck.
fn stuck(context: &PageContext<'_>, attempts: &[LoggedAttempt]) -> Markup {
    let mut seen: Vec<&str> = Vec::new();
    let mut stuck = Vec::new();
    for attempt in attempts {
        let Some(task) = attempt.task_id.as_deref().filter(|task| !seen.contains(task)) else { continue };
        seen.push(task);
        let failed = attempt.outcome.is_failure_of_task();
        if failed
            && stuck.len() < MAX_TASKS
            && let Some(view) = context.memory.task(task)
        {
            stuck.push((view, attempt));
        }
    }
    stuck.retain(|(view, _)| view.state == TaskState::Stuck);
    html! {
        @if !stuck.is_empty() {
            h2 { "Stuck" }
            ul.rows {
                @for (view, attempt) in &stuck {
                    li.row {
                        p.row-title { (task_link(context.links, Some(&view.id), &view.title)) " " (badge("bad", &format!("{} failures in a row", view.streak))) }
                        @if !attempt.reason.is_empty() { p.meta dir="auto" { (attempt.reason) } }
                        @if let Some(next) = &view.next_model {
                            p.meta { "Next: " (isolated(&next.model)) ", " (isolated(&next.rationale)) }
                        }
                    }
                }
            }
        }
    }
}
