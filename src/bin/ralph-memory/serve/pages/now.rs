//! The first page: runs in progress, stuck tasks, and the last attempts.

use maud::{Markup, html};
use ralph_memory::memory::{Overview, StuckTask};

use super::super::fields::PageFields;
use super::super::html::{HtmlPage, PageContext, badge, counted, empty, isolated, problems, with_code};
use super::attempts::{attempt_table, live_card, task_link};
use super::done;
use super::operations::operations;

/// How many attempts are listed, and stuck tasks.
const SHOWN: usize = 12;

/// Makes the page.
pub(super) fn now(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let Overview { live, stuck: stuck_tasks, log } = context.memory.overview(SHOWN);
    let main = html! {
        (done(context, fields))
        (semantic(context))
        @if live.is_empty() { (empty("No run in progress.")) }
        @for run in &live { (live_card(run)) }
        (stuck(&stuck_tasks))
        h2 { "Last attempts" }
        @if log.attempts.is_empty() { (empty("No attempt yet. A run, or an agent with the memory's tools, records them.")) }
        @else {
            (attempt_table("The last attempts, newest first", &log.attempts, false))
            @if log.in_all > log.attempts.len() {
                p { a href=("timeline") { "All " (counted(log.in_all, "attempt", "attempts")) } }
            }
        }
        (operations(context))
        (problems(&log.problems))
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

/// Returns the tasks that are stuck.
fn stuck(tasks: &[StuckTask]) -> Markup {
    html! {
        @if !tasks.is_empty() {
            h2 { "Stuck" }
            ul.rows {
                @for task in tasks.iter().take(SHOWN) {
                    li.row {
                        p.row-title { (task_link(Some(&task.id), &task.title)) " " (badge("bad", &format!("{} failures in a row", task.streak))) }
                        @if !task.reason.is_empty() { p.meta dir="auto" { (task.reason) } }
                        @if let Some(next) = &task.next_model {
                            p.meta { "Next: " (isolated(&next.model)) ", " (isolated(&next.rationale)) }
                        }
                    }
                }
            }
            @if tasks.len() > SHOWN { p.quiet { (counted(tasks.len() - SHOWN, "more task is", "more tasks are")) " stuck." } }
        }
    }
}
