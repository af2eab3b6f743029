//! Search: the entries that match, with the parts of their scores.

use chrono::NaiveDate;
use maud::{Markup, html};
use ralph_memory::{Hit, Query, Scope};
use serde::Deserialize;

use super::super::charts::bar;
use super::super::html::{
    HtmlPage, PageContext, counted, empty, entry_badges, entry_meta, field_value, marked, problems, title,
};
use super::super::links::{entry_address, with_query};
use super::entries::{archive_field, kind, kind_field, list_field, text_field};
use super::{given, listed_in};

/// How many results a page shows, and at most.
const STEP: usize = 20;
const MAX_SHOWN: usize = 200;
/// How many results are looked at for those of a time.
const MAX_DATED: usize = 5_000;
/// The length of the line that is shown of an entry, in characters.
const EXCERPT: usize = 220;

/// The query.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::serve) struct SearchFields {
    q: String,
    kind: String,
    tag: String,
    feature: String,
    scope: String,
    since: String,
    until: String,
    archived: String,
    /// How many results to show.
    n: String,
}

impl SearchFields {
    fn query(&self) -> Query {
        Query {
            text: self.q.clone(),
            kind: kind(&self.kind),
            tags: listed_in(&self.tag),
            in_feature: given(&self.feature).map(str::to_owned),
            scope: given(&self.scope).map(|scope| Scope::from(scope.to_owned())),
            archived: !self.archived.is_empty(),
            ..Query::default()
        }
    }

    /// Returns whether an entry was last changed in the time that is asked for.
    fn is_in_time(&self, hit: &Hit) -> bool {
        let changed = hit.entry.updated_at.as_deref().or(hit.entry.created_at.as_deref()).unwrap_or_default();
        let day = changed.get(..10).unwrap_or_default();
        date(&self.since).is_none_or(|since| day >= since.as_str())
            && date(&self.until).is_none_or(|until| !day.is_empty() && day <= until.as_str())
    }

    /// Returns the address of the same search with more results.
    fn with(&self, n: usize) -> String {
        let n = n.to_string();
        let Self { q, kind, tag, feature, scope, since, until, archived, .. } = self;
        let fields = [
            ("q", q),
            ("kind", kind),
            ("tag", tag),
            ("feature", feature),
            ("scope", scope),
            ("since", since),
            ("until", until),
            ("archived", archived),
            ("n", &n),
        ];
        with_query("search", &fields.map(|(name, value)| (name, value.as_str())))
    }

    fn has_filters(&self) -> bool {
        [&self.kind, &self.tag, &self.feature, &self.scope, &self.since, &self.until, &self.archived]
            .into_iter()
            .any(|field| !field.is_empty())
    }
}

/// Makes the page.
pub(in crate::serve) fn search(context: &PageContext<'_>, fields: &SearchFields) -> anyhow::Result<HtmlPage> {
    let main = html! {
        (form(fields))
        div id="results" { (results(context, fields)?) }
    };
    Ok(HtmlPage { title: "Search".to_owned(), part: "search", main, is_live: false })
}

fn form(fields: &SearchFields) -> Markup {
    html! {
        form.filters id="search-form" role="search" action="search" method="get" aria-label="Search with filters" {
            div.field.grow {
                label for="q" { "Search for" }
                div.beside { input.big id="q" type="search" name="q" value=(field_value(&fields.q)) dir="auto" autocomplete="off" autofocus aria-controls="results"; button.main { "Search" } }
            }
            details.grow open[fields.has_filters()] {
                summary { "Filters" }
                div.filters {
                    (kind_field(&fields.kind, &[("", "All"), ("knowledge", "Knowledge"), ("journal", "Attempts")]))
                    (list_field("tag", "Tags", &fields.tag))
                    (text_field("feature", "Feature", &fields.feature))
                    (text_field("scope", "Scope", &fields.scope))
                    (date_field("since", "Changed since", &fields.since))
                    (date_field("until", "Changed until", &fields.until))
                    (archive_field(&fields.archived))
                }
            }
        }
    }
}

/// Returns the day in a field of a form, as `2026-02-17`; `None` if it is not one.
fn date(field: &str) -> Option<String> {
    Some(given(field)?.parse::<NaiveDate>().ok()?.to_string())
}

/// Returns a field of a form for a day.
pub(super) fn date_field(name: &str, label: &str, value: &str) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            input id=(name) type="date" name=(name) value=[date(value)];
        }
    }
}

fn results(context: &PageContext<'_>, fields: &SearchFields) -> anyhow::Result<Markup> {
    if fields.q.trim().is_empty() {
        return Ok(empty("Type the words of an error, or of what you are about to do."));
    }
    let shown = fields.n.parse::<usize>().unwrap_or(STEP).clamp(1, MAX_SHOWN);
    let limit = if date(&fields.since).or(date(&fields.until)).is_some() { MAX_DATED } else { MAX_SHOWN };
    let found = context.memory.search(&fields.query(), limit)?;
    let hits: Vec<&Hit> = found.hits.iter().filter(|hit| fields.is_in_time(hit)).collect();
    let page = &hits[..hits.len().min(shown)];
    let excerpts = context.memory.excerpts(page.iter().map(|hit| &hit.entry), &fields.q, EXCERPT);
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
            ol.rows { @for (hit, excerpt) in page.iter().zip(&excerpts) { li.row { (result(context, &fields.q, hit, excerpt, best)) } } }
            @if hits.len() > shown { p { a href=(fields.with(shown + STEP)) { "Show more" } } }
        }
        (problems(&found.problems))
    })
}

fn result(context: &PageContext<'_>, query: &str, hit: &Hit, excerpt: &str, best: f64) -> Markup {
    let memory = context.memory;
    html! {
        p.row-title {
            a href=(entry_address(&hit.entry.id)) { bdi { (marked(memory, &title(&hit.entry.title), query)) } } " "
            (entry_badges(&hit.entry))
        }
        @if !excerpt.is_empty() { p dir="auto" { (marked(memory, excerpt, query)) } }
        (entry_meta(&hit.entry))
        details {
            summary { "Score " (format!("{:.2}", hit.score)) span.sr { " of " bdi { (hit.entry.title.chars().take(80).collect::<String>()) } } }
            table {
                caption { "The parts of the score" }
                thead { tr { th scope="col" { "Part" } th.num scope="col" { "Points" } th scope="col" { "Share of the best" } } }
                tbody {
                    @for part in &hit.explanation {
                        tr { th scope="row" { (part.part) } td.num { (format!("{:.3}", part.value)) } td { (bar("accent", part.value / best)) } }
                    }
                    @if let Some(similarity) = hit.similarity {
                        tr { th scope="row" { "similarity in meaning" } td.num { (format!("{similarity:.3}")) } td {} }
                    }
                }
            }
        }
    }
}
