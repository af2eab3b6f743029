//! One task: its attempts side by side.

use maud::{Markup, html};
use ralph_memory::memory::{TaskState, TaskView};

use super::super::fields::PageFields;
use super::super::html::{HtmlPage, PageContext, badge, cut, entry_list, isolated, named_link, problems, title};
use super::super::links::context_address;
use super::attempts::{attempt_card, figures, live_cards, streak};
use super::entry::fact;
use super::nothing;

/// How many attempts are shown in full, the newest.
const MAX_SHOWN: usize = 30;

/// Makes the page.
pub(super) fn task(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let id = fields.text("id");
    let task = context.memory.task(id).ok_or_else(|| nothing("task", id))?;
    let count = task.attempts.len();
    let heading = if task.title.trim().is_empty() { cut(&task.id, 100) } else { title(&task.title) };
    let main = html! {
        (facts(&task))
        (figures(&task.totals))
        (live_cards(context.memory, &task.live))
        @if count > 0 {
            h2 { "Attempts" }
            p.quiet { @if count > MAX_SHOWN { "The last " (MAX_SHOWN) " of " (count) ", oldest first." } @else { "Oldest first." } }
            div.cards.wide {
                @for (number, attempt) in (1..).zip(&task.attempts).skip(count.saturating_sub(MAX_SHOWN)) {
                    (attempt_card(&format!("Attempt {number}"), attempt))
                }
            }
        }
        @if !task.knowledge.is_empty() { h2 { "Learned during it" } (entry_list(context.memory, &task.knowledge)) }
        (problems(&task.problems))
    };
    let trail = task.feature.iter().map(|feature| named_link("feature", feature, feature)).collect();
    let part = if task.feature.is_some() { "features" } else { "timeline" };
    Ok(HtmlPage { title: heading, part, trail: Some(trail), main, is_live: true })
}

/// Returns the address of the context of the next attempt, if there is to be one.
fn next_context(task: &TaskView) -> Option<String> {
    let is_open = task.state != TaskState::Done;
    let (feature, section) = (task.feature.as_deref(), task.section.as_deref());
    is_open.then(|| context_address(&task.id, &task.title, feature, section))
}

fn facts(task: &TaskView) -> Markup {
    let class = match task.state {
        TaskState::Done => "good",
        TaskState::Open => "plain",
        TaskState::Failing => "warn",
        TaskState::Stuck => "bad",
    };
    html! {
        dl.facts {
            (fact("State", html! {
                (badge(class, task.state.as_str()))
                @if task.streak > 0 { " " (streak(task.streak)) }
            }))
            (fact("Id", html! { code { (isolated(&task.id)) } }))
            @if let Some(feature) = &task.feature {
                (fact("Feature", named_link("feature", feature, feature)))
            }
            @if let Some(section) = &task.section { (fact("Section", isolated(&cut(section, 100)))) }
            @if let Some(difficulty) = task.difficulty { (fact("Difficulty", html! { (difficulty.as_str()) })) }
            @if let Some(context) = next_context(task) { (fact("Next attempt", html! { a href=(context) { "what the agent would be told" } })) }
            @if let Some(next) = &task.next_model {
                (fact("Next model", html! { (isolated(&next.model)) span.quiet { ", " (isolated(&next.rationale)) } }))
            }
        }
    }
}
