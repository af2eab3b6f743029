//! The first page: what is running, what is stuck, what the memory was good for this week, and the last tasks.

use maud::{Markup, html};
use ralph_memory::memory::{EntryFilter, EntrySort, Overview, StuckTask};
use ralph_memory::{Kind, Memory};

use super::super::fields::PageFields;
use super::super::html::{HtmlPage, PageContext, badge, counted, entry_list, isolated, number, problems, with_code};
use super::super::links::with_query;
use super::attempts::{is_running, live_cards, streak, task_link, task_table};
use super::operations::operations;
use super::reuse::{ReuseList, week};

/// How many stuck tasks are listed that are not folded.
const STUCK: usize = 5;
/// How many other tasks are listed, and how many attempts are searched for them.
const SHOWN: usize = 12;
const SEARCHED: usize = 60;
/// How many entries are listed where there is no attempt.
const ENTRIES: usize = 10;

/// Makes the page.
pub(super) fn now(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let memory = context.memory;
    let Overview { live, stuck: stuck_tasks, log } = memory.overview(SEARCHED);
    let main = html! {
        @if context.semantic.as_ref().is_some_and(|status| status.wanted && !status.active) { (semantic(context)) }
        @if log.in_all == 0 && live.is_empty() { (first_steps(memory)) }
        @else {
            @let active = live.iter().filter(|run| is_running(run)).count();
            (at_a_glance(memory, active, stuck_tasks.len()))
            (stuck(&stuck_tasks))
            (live_cards(memory, &live))
            @if !log.attempts.is_empty() {
                h2 { "Last tasks" }
                (task_table("The last tasks, the one with the newest attempt first", &log.attempts, SHOWN))
                p { a href=(with_query("timeline", [])) { "All " (counted(log.in_all, "attempt", "attempts")) } }
            }
        }
        (operations(context, fields, ""))
        (problems(&log.problems))
    };
    Ok(HtmlPage { title: "Now".to_owned(), part: "", main, is_live: true, ..HtmlPage::default() })
}

/// Returns what a person wants to know first, each number with a link to what it counts.
fn at_a_glance(memory: &Memory, running: usize, stuck: usize) -> Markup {
    let reuse = memory.reuse(&week(memory));
    let figure = |count: usize, address: &str, name: &str| {
        let count = number(u64::try_from(count).unwrap_or(u64::MAX));
        html! { div { dt { (name) } dd { @if count == "0" { (count) } @else { a href=(address) { (count) } } } } }
    };
    html! {
        div.glance {
            section.card aria-labelledby="at-present" {
                h2 id="at-present" { "At present" }
                dl.figures {
                    (figure(running, "#running", "Running"))
                    (figure(stuck, "#stuck", "Stuck"))
                }
            }
            section.card aria-labelledby="this-week" {
                h2 id="this-week" { "The memory this week" }
                dl.figures {
                    @for list in ReuseList::ALL { (figure(list.ids(&reuse).len(), &list.address(), list.title())) }
                }
            }
        }
    }
}

/// Says what to do where no agent has used the memory yet.
fn first_steps(memory: &Memory) -> Markup {
    let newest = EntryFilter { kind: Some(Kind::Knowledge), sort: Some(EntrySort::Updated), ..EntryFilter::default() };
    let listed = memory.list(&newest).entries;
    let connect = [
        (
            "ralph-memory setup",
            "connects Claude Code, Codex or another agent that you talk to, which then reads and writes this memory",
        ),
        (
            "ralph-memory run --task \"Fix the login\" --agent \"claude -p\"",
            "lets an agent work until a task is done, and records each attempt",
        ),
    ];
    html! {
        section.card aria-labelledby="next" {
            @if listed.is_empty() {
                h2 id="next" { "This memory is empty" }
                p { "Write down a fact that your agents should know, or take over what you have:" }
                ul.steps {
                    li { a.button href="add" { "Add an entry" } }
                    li { code { "ralph-memory import" } " reads the notes of other tools" }
                }
                p { "Then let an agent use it:" }
            } @else {
                h2 id="next" { "Next: let an agent use what is here" }
                p { "The memory has " a href=(with_query("entries", [])) { (counted(listed.len(), "entry", "entries")) } ", and no agent has recorded an attempt yet." }
            }
            ul.steps { @for (command, what) in connect { li { code { (command) } " " (what) } } }
            @if !listed.is_empty() { p { a.button href="add" { "Add an entry" } } }
        }
        @if !listed.is_empty() {
            h2 { "Last entries" }
            (entry_list(memory, &listed[..listed.len().min(ENTRIES)]))
            @if listed.len() > ENTRIES { p { a href=(with_query("entries", [])) { "All " (counted(listed.len(), "entry", "entries")) } } }
        }
    }
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
            h2 id="stuck" { "Stuck" }
            (stuck_rows(&tasks[..tasks.len().min(STUCK)]))
            @if tasks.len() > STUCK {
                details { summary { (counted(tasks.len() - STUCK, "more task is", "more tasks are")) " stuck" } (stuck_rows(&tasks[STUCK..])) }
            }
        }
    }
}

fn stuck_rows(tasks: &[StuckTask]) -> Markup {
    html! {
        ul.rows { @for task in tasks {
            li.row {
                p.row-title { (task_link(Some(&task.id), &task.title)) " " (badge("bad", &streak(task.streak))) }
                @if !task.reason.is_empty() { p.meta dir="auto" { (with_code(&task.reason)) } }
                @if let Some(next) = &task.next_model { p.meta { "Next model: " (isolated(&next.model)) } }
            }
        } }
    }
}
