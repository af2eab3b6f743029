//! Context: what an agent would get at the beginning of a session or a task, section by section.

use maud::{Markup, html};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag};
use ralph_memory::context::{BriefingRequest, Request};
use ralph_memory::entry::Outcome;
use ralph_memory::entry::timestamp;
use ralph_memory::memory::{AttemptView, LogFilter};
use ralph_memory::text::estimate_tokens;
use ralph_memory::{Budget, Context, Id, Task};

use super::super::charts::bar;
use super::super::fields::{PageFields, labelled};
use super::super::html::{
    HtmlPage, PageContext, ShownTime, cell, counted, entry_list, field_value, isolated, named_link, number,
    outcome_badge, problems, table, title,
};
use super::super::links::context_address;
use super::forms::lines;
use super::refused;

/// How many attempts are searched for tasks that are not done, the newest, and how many of these are listed.
const MAX_SEARCHED: usize = 100;
const MAX_OPEN: usize = 20;

fn request(fields: &PageFields) -> Request {
    let task = Task {
        description: lines(fields.text("description").trim()),
        id: fields.given("task_id"),
        feature: fields.given("feature"),
        section: fields.given("section"),
        files: fields.list("files"),
        ..Task::new(fields.text("task").trim())
    };
    Request { task, budget: fields.number("tokens").map(Budget::tokens), ..Request::default() }
}

/// Makes the page: the context of a task, or without one the tasks that are not done and the briefing of a session.
pub(super) fn context(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let main = html! {
        p.lead { "What an agent would be told at the beginning of a task. Looking at it changes nothing." }
        (form(fields))
        @if fields.given("task").is_some() { (of_task(context, &request(fields))) }
        @else {
            (open_tasks(context))
            (briefing(context))
        }
    };
    Ok(HtmlPage { title: "Context".to_owned(), part: "context", main, ..HtmlPage::default() })
}

fn of_task(context: &PageContext<'_>, request: &Request) -> Markup {
    html! {
        @match context.memory.context(request) {
            Ok(built) => { (shown(context, &built)) }
            Err(reason) => { (refused(&reason.into())) }
        }
    }
}

/// Returns the tasks that were worked on last and are not done, each with the context of its next attempt.
fn open_tasks(context: &PageContext<'_>) -> Markup {
    let log = context.memory.log(&LogFilter { limit: Some(MAX_SEARCHED), ..LogFilter::default() });
    let mut last: Vec<(&str, &AttemptView)> = Vec::new();
    for attempt in &log.attempts {
        let id = attempt.attempt.task_id.as_deref();
        last.extend(id.filter(|id| last.iter().all(|(known, _)| known != id)).map(|id| (id, attempt)));
    }
    last.retain(|(_, attempt)| attempt.attempt.head.outcome != Outcome::Done);
    last.truncate(MAX_OPEN);
    let address = |id: &str, attempt: &AttemptView| {
        context_address(id, &attempt.attempt.task_title, attempt.attempt.feature.as_deref(), None)
    };
    html! {
        @if !last.is_empty() {
            h2 { "Tasks that are not done" }
            p.lead { "Each leads to the context of its next attempt." }
            ul.rows { @for (id, attempt) in &last {
                li.row {
                    p.row-title {
                        @let name = if attempt.attempt.task_title.trim().is_empty() { *id } else { attempt.attempt.task_title.as_str() };
                        a href=(address(id, attempt)) { (isolated(&title(name))) } " " (outcome_badge(attempt.attempt.head.outcome))
                    }
                    p.meta {
                        @if let Some(feature) = &attempt.attempt.feature { (named_link("feature", feature, feature)) " · " }
                        "last attempt " (ShownTime(&timestamp(attempt.attempt.started_at)))
                    }
                }
            } }
        }
    }
}

/// Returns what an agent would be told before there is a task.
fn briefing(context: &PageContext<'_>) -> Markup {
    html! {
        h2 { "The briefing of a session" }
        @match context.memory.briefing(&BriefingRequest::default()) {
            Ok(briefing) => {
                @if briefing.text.trim().is_empty() { p.quiet { "There is nothing to report, so a session begins without one." } }
                @else {
                    p.lead { "What an agent would be told before it has a task: " (size(&briefing.text)) "." }
                    pre.wrap tabindex="0" role="region" aria-label="The briefing" dir="auto" { (briefing.text.trim_end()) }
                }
                (problems(&briefing.problems))
            }
            Err(reason) => { (refused(&reason.into())) }
        }
    }
}

/// Returns how long a text is.
fn size(text: &str) -> String {
    let count = |count: usize| number(u64::try_from(count).unwrap_or(u64::MAX));
    format!("{} characters, about {} tokens", count(text.chars().count()), count(estimate_tokens(text)))
}

fn form(fields: &PageFields) -> Markup {
    html! {
        form.filters action="context" method="get" {
            div.field.grow {
                label for="task" { "The task, in a line" }
                div.beside { input.big id="task" name="task" value=(field_value(fields.text("task"))) dir="auto" required autocomplete="off"; button.main { "Show" span.sr { " the context" } } }
            }
            details.grow {
                summary { "More about the task" }
                div.filters {
                    div.field.grow {
                        label for="description" { "Description" }
                        textarea id="description" name="description" rows="3" dir="auto" { (field_value(&lines(fields.text("description")))) }
                    }
                    (fields.text_input("task_id", "Task id"))
                    (fields.text_input("feature", "Feature"))
                    (fields.text_input("section", "Section"))
                    (fields.list_input("files", "Files"))
                    (labelled("tokens", "At most, in tokens", html! {
                        input id="tokens" type="number" min="1" name="tokens" value=(field_value(fields.text("tokens")));
                    }))
                }
            }
        }
    }
}

fn shown(page: &PageContext<'_>, context: &Context) -> Markup {
    let sections = sections(&context.text);
    let total = context.text.chars().count().max(1);
    #[expect(clippy::cast_precision_loss, reason = "a text is shorter than that")]
    let share = |text: &str| text.chars().count() as f64 / total as f64;
    let length = |text: &str| number(u64::try_from(text.chars().count()).unwrap_or(u64::MAX));
    let rows = sections.iter().enumerate().map(|(index, (name, text))| {
        let link = html! { a href={ "#section-" (index) } { bdi { (name) } } };
        vec![link, cell(length(text)), cell(estimate_tokens(text)), bar("accent", share(text))]
    });
    html! {
        h2 { "Sizes" }
        p.lead { (size(&context.text)) "." }
        (table("Sections of the context", &["Section", "Characters#", "Tokens#", "Share"], rows))
        @for (index, (name, text)) in sections.iter().enumerate() {
            section aria-labelledby={ "section-" (index) } {
                h2 id={ "section-" (index) } { bdi { (name) } }
                pre.wrap tabindex="0" dir="auto" { (text_below(text)) }
            }
        }
        (listed(page, "Knowledge in it", ["entry", "entries"], "", &context.entries))
        (listed(page, "Attempts in it", ["attempt", "attempts"], "", &context.attempts))
        (listed(page, "Left out", ["entry", "entries"], "These matched the task, and their section had no room for them. A larger budget, or a task in fewer words, brings in more.", &context.left_out))
        (problems(&context.problems))
    }
}

fn listed(page: &PageContext<'_>, heading: &str, [one, many]: [&str; 2], why: &str, ids: &[Id]) -> Markup {
    html! {
        @if !ids.is_empty() {
            h2 { (heading) " " span.quiet { "(" (counted(ids.len(), one, many)) ")" } }
            @if !why.is_empty() { p { (why) } }
            (entry_list(page.memory, &page.memory.summaries(ids)))
        }
    }
}

/// Returns the parts of the text that begin with a heading of level 2, each with its heading. A heading in a fence or a quotation of an entry
/// begins none.
fn sections(text: &str) -> Vec<(&str, &str)> {
    let (mut starts, mut depth) = (Vec::new(), 0_usize);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H2, .. }) if depth == 0 => {
                starts.push(range.start);
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let parts = starts.iter().zip(ends).map(|(start, end)| &text[*start..end]);
    parts.filter(|part| !part.trim().is_empty()).map(|part| (name(part), part)).collect()
}

fn name(section: &str) -> &str {
    section.lines().next().and_then(|line| line.strip_prefix("## ")).unwrap_or("Beginning").trim()
}

/// Returns the text of a section without the heading, which the page has above it.
fn text_below(section: &str) -> &str {
    let below = section.strip_prefix("## ").and_then(|text| text.split_once('\n'));
    below.map_or(section, |(_, below)| below).trim_matches('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_begin_with_headings_outside_of_fences() {
        let text = "## One\n\na\n\n```\n## not one\n```\n\n> ## nor this\n\n## Two\n\nb\n";
        let found = sections(text);
        assert_eq!(found.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["One", "Two"]);
        assert_eq!(found.iter().map(|(_, text)| *text).collect::<String>(), text);
        assert_eq!(text_below(found[1].1), "b");
    }
}
