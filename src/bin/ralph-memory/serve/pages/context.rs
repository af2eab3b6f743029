//! Context: what an agent would be told for a task, section by section.

use maud::{Markup, html};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag};
use ralph_memory::context::Request;
use ralph_memory::text::estimate_tokens;
use ralph_memory::{Budget, Context, Id, Task};
use serde::Deserialize;

use super::super::charts::bar;
use super::super::html::{HtmlPage, PageContext, counted, entry_list, number, problems, table};
use super::entries::text_field;
use super::{given, refused};

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
            description: self.description.trim().to_owned(),
            id: text(&self.task_id),
            feature: text(&self.feature),
            section: text(&self.section),
            files: self.files.split_whitespace().map(str::to_owned).collect(),
            ..Task::new(self.task.trim())
        };
        Request { task, budget: self.tokens.trim().parse().ok().map(Budget::tokens), by_tools: false }
    }
}

/// A section of a context, with its heading.
struct ContextSection<'a> {
    name: String,
    text: &'a str,
}

/// Makes the page.
pub(in crate::serve) fn context(context: &PageContext<'_>, fields: &ContextFields) -> anyhow::Result<HtmlPage> {
    let main = html! {
        p.lead { "What an agent would be told at the beginning of a task. Looking at it changes nothing." }
        (form(fields))
        @if given(&fields.task).is_some() {
            @match context.memory.context(&fields.request()) {
                Ok(built) => { (shown(context, &built)) }
                Err(reason) => { (refused(&reason.into())) }
            }
        }
    };
    Ok(HtmlPage { title: "Context".to_owned(), part: "context", main, is_live: false })
}

fn form(fields: &ContextFields) -> Markup {
    html! {
        form.filters action="context" method="get" {
            div.field.grow {
                label for="task" { "The task, in a line" }
                input.big id="task" name="task" value=(fields.task) dir="auto" required autocomplete="off";
            }
            details.grow {
                summary { "More about the task" }
                div.filters {
                    div.field.grow {
                        label for="description" { "Description" }
                        textarea id="description" name="description" rows="3" dir="auto" { (fields.description) }
                    }
                    (text_field("task_id", "Task id", &fields.task_id))
                    (text_field("feature", "Feature", &fields.feature))
                    (text_field("section", "Section", &fields.section))
                    (text_field("files", "Files", &fields.files))
                    div.field {
                        label for="tokens" { "At most, in tokens" }
                        input id="tokens" type="number" min="1" name="tokens" value=(fields.tokens);
                    }
                }
            }
            div { button.main { "Show the context" } }
        }
    }
}

fn shown(page: &PageContext<'_>, context: &Context) -> Markup {
    let sections = sections(&context.text);
    let total = context.text.chars().count().max(1);
    #[expect(clippy::cast_precision_loss, reason = "a text is shorter than that")]
    let share = |text: &str| text.chars().count() as f64 / total as f64;
    let size = |text: &str| number(u64::try_from(text.chars().count()).unwrap_or(u64::MAX));
    let rows: Vec<Markup> = sections
        .iter()
        .enumerate()
        .map(|(index, section)| {
            html! {
                tr {
                    th scope="row" { a href={ "#section-" (index) } { bdi { (section.name) } } }
                    td.num { (size(section.text)) }
                    td.num { (estimate_tokens(section.text)) }
                    td { (bar("accent", share(section.text))) }
                }
            }
        })
        .collect();
    html! {
        h2 { "Sizes" }
        p { (size(&context.text)) " characters, about " (number(u64::try_from(estimate_tokens(&context.text)).unwrap_or(u64::MAX))) " tokens." }
        (table("Sections of the context", &["Section", "Characters#", "Tokens#", "Share"], &rows))
        @for (index, section) in sections.iter().enumerate() {
            section.card aria-labelledby={ "section-" (index) } {
                h2 id={ "section-" (index) } { bdi { (section.name) } }
                pre.wrap tabindex="0" dir="auto" { (section.text) }
            }
        }
        (listed(page, "Knowledge in it", "", &context.entries))
        (listed(page, "Attempts in it", "", &context.attempts))
        (listed(page, "Left out", "These matched the task, and their section had no room for them. A larger budget, or a task in fewer words, brings in more.", &context.left_out))
        (problems(page.links, &context.problems))
    }
}

fn listed(page: &PageContext<'_>, heading: &str, why: &str, ids: &[Id]) -> Markup {
    html! {
        @if !ids.is_empty() {
            h2 { (heading) " " span.quiet { "(" (counted(ids.len(), "entry", "entries")) ")" } }
            @if !why.is_empty() { p { (why) } }
            (entry_list(page.links, &page.memory.summaries(ids)))
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
    }
}
