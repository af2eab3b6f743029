//! Context: what an agent would be told at the beginning of a session, or of a task, section by section.

use maud::{Markup, html};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag};
use ralph_memory::context::{BriefingRequest, Request};
use ralph_memory::entry::Outcome;
use ralph_memory::entry::timestamp;
use ralph_memory::memory::{AttemptView, LogFilter};
use ralph_memory::text::estimate_tokens;
use ralph_memory::{Budget, Context, Id, Task};
use serde::Deserialize;

use super::super::charts::bar;
use super::super::html::{
    HtmlPage, PageContext, ShownTime, counted, entry_list, field_value, isolated, named_link, number, outcome_badge,
    problems, table, title,
};
use super::super::links::{NamedPage, context_address};
use super::entries::{list_field, text_field};
use super::{given, listed_in, refused};

/// How many attempts are searched for tasks that are not done, the newest, and how many of these are listed.
const MAX_SEARCHED: usize = 100;
const MAX_OPEN: usize = 20;

/// The query.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::serve) struct ContextFields {
    task: String,
    description: String,
    task_id: String,
    feature: String,
    section: String,
    files: String,
    tokens: String,
}

impl ContextFields {
    fn request(&self) -> Request {
        let text = |field: &str| given(field).map(str::to_owned);
        let task = Task {
            description: lines(self.description.trim()),
            id: text(&self.task_id),
            feature: text(&self.feature),
            section: text(&self.section),
            files: listed_in(&self.files),
            ..Task::new(self.task.trim())
        };
        Request { task, budget: self.tokens.trim().parse().ok().map(Budget::tokens), ..Request::default() }
    }
}

/// Returns the lines of a field as they were typed: browsers end each with two characters.
fn lines(field: &str) -> String {
    field.replace("\r\n", "\n").replace('\r', "\n")
}

/// A section of a context, with its heading.
struct ContextSection<'a> {
    name: String,
    text: &'a str,
}

impl ContextSection<'_> {
    /// Returns the text without the heading, which the page has above it.
    fn text_below(&self) -> &str {
        let below = self.text.strip_prefix("## ").and_then(|text| text.split_once('\n'));
        below.map_or(self.text, |(_, below)| below).trim_matches('\n')
    }
}

/// Makes the page: the context of a task, or without one the tasks that are not done and the briefing of a session.
pub(in crate::serve) fn context(context: &PageContext<'_>, fields: &ContextFields) -> anyhow::Result<HtmlPage> {
    let main = html! {
        p.lead { "What an agent would be told at the beginning of a task. Looking at it changes nothing." }
        (form(fields))
        @if given(&fields.task).is_some() { (of_task(context, &fields.request())) }
        @else {
            (open_tasks(context))
            (briefing(context))
        }
    };
    Ok(HtmlPage { title: "Context".to_owned(), part: "context", main, is_live: false })
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
                        @if let Some(feature) = &attempt.attempt.feature { (named_link(NamedPage::Feature, feature, feature)) " · " }
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

fn form(fields: &ContextFields) -> Markup {
    html! {
        form.filters action="context" method="get" {
            div.field.grow {
                label for="task" { "The task, in a line" }
                div.beside { input.big id="task" name="task" value=(field_value(&fields.task)) dir="auto" required autocomplete="off"; button.main { "Show" span.sr { " the context" } } }
            }
            details.grow {
                summary { "More about the task" }
                div.filters {
                    div.field.grow {
                        label for="description" { "Description" }
                        textarea id="description" name="description" rows="3" dir="auto" { (field_value(&lines(&fields.description))) }
                    }
                    (text_field("task_id", "Task id", &fields.task_id))
                    (text_field("feature", "Feature", &fields.feature))
                    (text_field("section", "Section", &fields.section))
                    (list_field("files", "Files", &fields.files))
                    div.field {
                        label for="tokens" { "At most, in tokens" }
                        input id="tokens" type="number" min="1" name="tokens" value=(field_value(&fields.tokens));
                    }
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
    let rows: Vec<Markup> = sections
        .iter()
        .enumerate()
        .map(|(index, section)| {
            html! {
                tr {
                    th scope="row" { a href={ "#section-" (index) } { bdi { (section.name) } } }
                    td.num { (length(section.text)) }
                    td.num { (estimate_tokens(section.text)) }
                    td { (bar("accent", share(section.text))) }
                }
            }
        })
        .collect();
    html! {
        h2 { "Sizes" }
        p.lead { (size(&context.text)) "." }
        (table("Sections of the context", &["Section", "Characters#", "Tokens#", "Share"], &rows))
        @for (index, section) in sections.iter().enumerate() {
            section aria-labelledby={ "section-" (index) } {
                h2 id={ "section-" (index) } { bdi { (section.name) } }
                pre.wrap tabindex="0" dir="auto" { (section.text_below()) }
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
            (entry_list(&page.memory.summaries(ids)))
        }
    }
}

/// Returns the parts of the text that begin with a heading of level 2. A heading in a fence or a quotation of an entry begins none.
fn sections(text: &str) -> Vec<ContextSection<'_>> {
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
    parts.filter(|part| !part.trim().is_empty()).map(named_section).collect()
}

fn named_section(text: &str) -> ContextSection<'_> {
    let first = text.lines().next().unwrap_or_default();
    let name = first.strip_prefix("## ").unwrap_or("Beginning").trim().to_owned();
    ContextSection { name, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_begin_with_headings_outside_of_fences() {
        let text = "## One\n\na\n\n```\n## not one\n```\n\n> ## nor this\n\n## Two\n\nb\n";
        let found = sections(text);
        let names: Vec<&str> = found.iter().map(|section| section.name.as_str()).collect();
        assert_eq!(names, ["One", "Two"]);
        assert_eq!(found.iter().map(|section| section.text).collect::<String>(), text);
        assert_eq!(found[1].text_below(), "b");
    }
}
