//! One run: its tasks, its attempts, and what was learned in it.

use maud::{Markup, html};
use ralph_memory::memory::RunView;

use super::super::fields::PageFields;
use super::super::html::{HtmlPage, PageContext, ShownTime, cell, entry_list, outcome_badge, problems, table};
use super::attempts::{attempt_table, duration_chart, figures, live_cards, task_link};
use super::entry::fact;
use super::nothing;

/// Makes the page.
pub(super) fn run(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let id = fields.text("id");
    let run = context.memory.run(id).ok_or_else(|| nothing("run", id))?;
    let main = html! {
        dl.facts {
            @if run.is_session { (fact("Kind", html! { "session without a loop" })) }
            @if let Some(time) = &run.started_at { (fact("Began", html! { (ShownTime(time)) })) }
            @if let Some(time) = &run.ended_at { (fact("Last activity", html! { (ShownTime(time)) })) }
        }
        (figures(&run.totals))
        (live_cards(context.memory, &run.live))
        (tasks(&run))
        @if !run.attempts.is_empty() {
            h2 { "Attempts" }
            (duration_chart(context.memory, &run.attempts))
            (attempt_table("Attempts, oldest first", &run.attempts, true))
        }
        @if !run.knowledge.is_empty() { h2 { "Learned in it" } (entry_list(context.memory, &run.knowledge)) }
        (problems(&run.problems))
    };
    Ok(HtmlPage {
        title: if run.id.starts_with("run-") { run.id } else { format!("Run {}", run.id) },
        part: "timeline",
        trail: Some(Vec::new()),
        main,
        is_live: true,
    })
}

fn tasks(run: &RunView) -> Markup {
    let rows = run
        .tasks
        .iter()
        .map(|task| vec![task_link(task.id.as_deref(), &task.title), outcome_badge(task.outcome), cell(task.attempts)]);
    let headings = ["Task", "Last outcome", "Attempts#"];
    html! { @if !run.tasks.is_empty() { h2 { "Tasks" } (table("The tasks of the run", &headings, rows)) } }
}
