//! One run: its tasks, its iterations, and what was learned in it.

use maud::{Markup, html};
use ralph_memory::memory::RunView;

use super::super::html::{HtmlPage, PageContext, ShownTime, entry_list, outcome_badge, problems, table};
use super::attempts::{duration_chart, figures, iteration_table, live_card, task_link};
use super::entry::fact;
use super::{ById, nothing};

/// Makes the page.
pub(in crate::serve) fn run(context: &PageContext<'_>, args: &ById) -> anyhow::Result<HtmlPage> {
    let Some(run) = context.memory.run(&args.id) else { return Err(nothing("run", &args.id).into()) };
    let main = html! {
        dl.facts {
            @if run.is_session { (fact("Kind", html! { "session without a loop" })) }
            @if let Some(time) = &run.started_at { (fact("Began", html! { (ShownTime(time)) })) }
            @if let Some(time) = &run.ended_at { (fact("Last activity", html! { (ShownTime(time)) })) }
        }
        (figures(&run.totals))
        @for live in &run.live { (live_card(live)) }
        (tasks(&run))
        @if !run.attempts.is_empty() {
            h2 { "Iterations" }
            (duration_chart(&run.attempts))
            (iteration_table("Iterations, oldest first", &run.attempts))
        }
        @if !run.knowledge.is_empty() { h2 { "Learned in it" } (entry_list(&run.knowledge)) }
        (problems(&run.problems))
    };
    Ok(HtmlPage {
        title: if run.id.starts_with("run-") { run.id } else { format!("Run {}", run.id) },
        part: "timeline",
        main,
        is_live: true,
    })
}

fn tasks(run: &RunView) -> Markup {
    let row = |task: &ralph_memory::memory::TaskInRun| {
        html! {
            tr {
                th scope="row" { (task_link(task.id.as_deref(), &task.title)) }
                td { (outcome_badge(task.outcome)) }
                td.num { (task.attempts) }
            }
        }
    };
    let rows: Vec<Markup> = run.tasks.iter().map(row).collect();
    html! { @if !rows.is_empty() { h2 { "Tasks" } (table("The tasks of the run", &["Task", "Last outcome", "Attempts#"], &rows)) } }
}
