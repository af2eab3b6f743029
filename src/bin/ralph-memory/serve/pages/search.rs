//! Search: the entries that match, with the parts of their scores.

use std::collections::HashMap;

use maud::{Markup, html};
use ralph_memory::memory::Usage;
use ralph_memory::{Hit, Id, Query, Scope};

use super::super::charts::bar;
use super::super::fields::PageFields;
use super::super::html::{
    EXCERPT, HtmlPage, PageContext, cell, counted, empty, entry_badges, entry_meta, field_value, marked, problems,
    table, title, usage_of,
};
use super::super::links::entry_address;
use super::SEARCH;
use super::entries::KnownValues;

/// How many results a page shows, and at most.
const STEP: usize = 20;
const MAX_SHOWN: usize = 200;
/// How many results are looked at for those of a time.
const MAX_DATED: usize = 5_000;

/// Returns whether an entry was last changed in the time that is asked for.
fn is_in_time(fields: &PageFields, hit: &Hit) -> bool {
    let changed = hit.entry.updated_at.as_deref().or(hit.entry.created_at.as_deref()).unwrap_or_default();
    let day = changed.get(..10).unwrap_or_default();
    fields.date("since").is_none_or(|since| day >= since.to_string().as_str())
        && fields.date("until").is_none_or(|until| !day.is_empty() && day <= until.to_string().as_str())
}

/// Makes the page.
pub(super) fn search(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let main = html! {
        (form(context, fields))
        div id="results" { (results(context, fields)?) }
    };
    Ok(HtmlPage { title: "Search".to_owned(), part: SEARCH, main, ..HtmlPage::default() })
}

fn form(context: &PageContext<'_>, fields: &PageFields) -> Markup {
    let known = KnownValues::of(context.memory);
    let filters = ["kind", "tag", "feature", "scope", "since", "until", "archived"];
    let query = field_value(fields.text("q"));
    html! {
        form.filters id="search-form" role="search" action="search" method="get" aria-label="Search with filters" {
            div.field.grow {
                label for="q" { "Search for" }
                div.beside { input.big id="q" type="search" name="q" value=(query) dir="auto" autocomplete="off" autofocus aria-controls="results"; button.main { "Search" } }
            }
            details.grow open[filters.iter().any(|name| !fields.text(name).is_empty())] {
                summary { "Filters" }
                div.filters {
                    (fields.choice("kind", "Kind", &[("", "All"), ("knowledge", "Knowledge"), ("journal", "Attempts")]))
                    (fields.known_choice("tag", "Tag", &known.tags))
                    (fields.known_choice("feature", "Feature", &known.features))
                    (fields.text_input("scope", "Scope"))
                    (fields.date_input("since", "Changed since"))
                    (fields.date_input("until", "Changed until"))
                    (fields.archive_input())
                }
            }
        }
    }
}

fn results(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<Markup> {
    let query = Query {
        text: fields.text("q").to_owned(),
        kind: fields.kind(),
        tags: fields.list("tag"),
        in_feature: fields.given("feature"),
        scope: fields.given("scope").map(Scope::from),
        archived: !fields.text("archived").is_empty(),
        ..Query::default()
    };
    if query.text.trim().is_empty() {
        return Ok(empty("Type the words of an error, or of what you are about to do."));
    }
    let shown = fields.number("n").unwrap_or(STEP).clamp(1, MAX_SHOWN);
    let limit = if fields.date("since").or(fields.date("until")).is_some() { MAX_DATED } else { MAX_SHOWN };
    let found = context.memory.search(&query, limit)?;
    let hits: Vec<&Hit> = found.hits.iter().filter(|hit| is_in_time(fields, hit)).collect();
    let page = &hits[..hits.len().min(shown)];
    let excerpts = context.memory.excerpts(page.iter().map(|hit| &hit.entry), &query.text, EXCERPT);
    let usage = usage_of(context.memory, page.iter().map(|hit| &hit.entry));
    let best = hits.first().map_or(1.0, |hit| hit.score);
    let count = match (found.hits.len() < limit, limit) {
        (true, _) => counted(hits.len(), "entry", "entries"),
        (false, MAX_DATED) => format!("{} among the best {limit}", counted(hits.len(), "entry", "entries")),
        (false, _) => format!("The best {limit} entries"),
    };
    Ok(html! {
        p.lead id="count" { (count) }
        @if page.is_empty() { (empty("Nothing found. Fewer or other words may help.")) }
        @else {
            ol.rows { @for (hit, excerpt) in page.iter().zip(&excerpts) { li.row { (result(context, &query.text, hit, excerpt, best, &usage)) } } }
            @if hits.len() > shown { p { a href=(fields.with("n", &(shown + STEP).to_string()).address("search")) { "Show more" } } }
        }
        (problems(&found.problems))
    })
}

fn result(
    context: &PageContext<'_>,
    query: &str,
    hit: &Hit,
    excerpt: &str,
    best: f64,
    usage: &HashMap<Id, Usage>,
) -> Markup {
    let memory = context.memory;
    let points = |value: f64| html! { (format!("{value:.3}")) };
    let parts = hit.explanation.iter();
    let parts = parts.map(|part| vec![cell(part.part), points(part.value), bar("accent", part.value / best)]);
    let similarity =
        hit.similarity.map(|similarity| vec![html! { "similarity in meaning" }, points(similarity), html! {}]);
    html! {
        p.row-title {
            @if let Some(layer) = &hit.entry.layer { (layer) ": " bdi { (marked(memory, &title(&hit.entry.title), query)) } " " }
            @else { a href=(entry_address(&hit.entry.id)) { bdi { (marked(memory, &title(&hit.entry.title), query)) } } " " }
            (entry_badges(&hit.entry))
        }
        @if !excerpt.is_empty() { p dir="auto" { (marked(memory, excerpt, query)) } }
        (entry_meta(&hit.entry, usage))
        details {
            summary { "Score " (format!("{:.2}", hit.score)) span.sr { " of " bdi { (hit.entry.title.chars().take(80).collect::<String>()) } } }
            (table("The parts of the score", &["Part", "Points#", "Share of the best"], parts.chain(similarity)))
        }
    }
}
