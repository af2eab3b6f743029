//! The list of entries, with filters and tags.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use maud::{Markup, html};
use ralph_memory::memory::{Author, EntryFilter, EntrySort, ListResult};
use ralph_memory::{Kind, Memory};

use super::super::fields::PageFields;
use super::super::html::{HtmlPage, PageContext, counted, cut, empty, entry_list, isolated, problems};
use super::ADD;

/// How many entries a page shows.
const PER_PAGE: usize = 50;
/// How many tags are offered.
const MAX_TAGS: usize = 60;

/// The authors of the listed entries, with their labels.
const AUTHORS: [(&str, &str); 4] =
    [("", "Anyone"), ("people", "People"), ("agents", "Agents"), ("unreviewed", "Unreviewed")];
/// The orders of the list, with their labels.
const SORTS: [(&str, &str); 5] =
    [("", "Last change"), ("created", "Creation"), ("title", "Title"), ("used", "Use"), ("importance", "Importance")];

/// Makes the page.
pub(super) fn entries(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let filter = EntryFilter {
        // Attempts are many, and have a page of their own.
        kind: if fields.text("kind").is_empty() { Some(Kind::Knowledge) } else { fields.kind() },
        tags: fields.list("tag"),
        feature: fields.given("feature"),
        category: fields.given("category"),
        archived: !fields.text("archived").is_empty(),
        author: Author::parse(fields.text("author")),
        sort: Some(EntrySort::parse(fields.text("sort")).unwrap_or(EntrySort::Updated)),
        ..EntryFilter::default()
    };
    let mut listed = context.memory.list(&filter);
    let in_all = listed.entries.len();
    let page = fields.list_page(in_all, PER_PAGE);
    let shown: Vec<_> = listed.entries.drain(..).skip(page.offset()).take(PER_PAGE).collect();
    let main = html! {
        (filters(context, fields))
        div id="results" {
            div.with-button {
                p.lead role="status" { (page.lead(&counted(in_all, "entry", "entries"))) }
                a.button href=(ADD) { "Add an entry" }
            }
            @if shown.is_empty() { (empty("No entry matches. Change the filters, or add one.")) }
            @else { (entry_list(context.memory, &shown)) }
            (page.pager(fields, "entries"))
            (all_tags(fields, &listed))
            (problems(&listed.problems))
        }
    };
    Ok(HtmlPage { title: "Entries".to_owned(), part: "entries", main, is_live: true, ..HtmlPage::default() })
}

/// The names of the filters.
const FILTERS: [&str; 6] = ["kind", "tag", "feature", "category", "archived", "author"];

fn filters(context: &PageContext<'_>, fields: &PageFields) -> Markup {
    let known = KnownValues::of(context.memory);
    fields.folded(
        &FILTERS,
        html! {
            form.filters action="entries" method="get" {
                (fields.choice("kind", "Kind", &[("", "Knowledge"), ("journal", "Attempts"), ("all", "All")]))
                (fields.known_choice("tag", "Tag", &known.tags))
                (fields.known_choice("feature", "Feature", &known.features))
                (fields.known_choice("category", "Category", &known.categories))
                (fields.choice("author", "Written by", &AUTHORS))
                (fields.choice("sort", "Sort by", &SORTS))
                (fields.archive_input())
                div { button { "Filter" } }
            }
        },
    )
}

/// The values by which entries can be filtered.
pub(super) struct KnownValues {
    pub(super) tags: BTreeSet<String>,
    pub(super) features: BTreeSet<String>,
    categories: BTreeSet<String>,
}

impl KnownValues {
    pub(super) fn of(memory: &Memory) -> KnownValues {
        let listed = memory.list(&EntryFilter { archived: true, ..EntryFilter::default() });
        let (features, categories): (Vec<_>, Vec<_>) =
            listed.entries.into_iter().map(|entry| (entry.feature, entry.category)).unzip();
        KnownValues {
            tags: listed.tags.into_keys().collect(),
            features: features.into_iter().flatten().collect(),
            categories: categories.into_iter().flatten().collect(),
        }
    }
}

/// Returns the address of those entries of the same list that have a tag as well.
fn with_tag(fields: &PageFields, tag: &str) -> String {
    let mut tags = fields.list("tag");
    if !tags.iter().any(|own| own == tag) {
        tags.push(tag.to_owned());
    }
    fields.with("tag", &tags.join(", ")).with("page", "").address("entries")
}

/// Returns the tags of the listed entries, the most frequent first.
fn all_tags(fields: &PageFields, listed: &ListResult) -> Markup {
    let mut tags: Vec<(&String, &usize)> = listed.tags.iter().collect();
    tags.sort_by_key(|(name, count)| (Reverse(**count), (*name).clone()));
    html! {
        @if !tags.is_empty() {
            h2 { "Tags" }
            p.tags {
                @for (tag, count) in tags.iter().take(MAX_TAGS) {
                    a.tag href=(with_tag(fields, tag)) { (isolated(&cut(tag, 40))) " " (count) } " "
                }
                @if tags.len() > MAX_TAGS { span.quiet { "and " (tags.len() - MAX_TAGS) " more" } }
            }
        }
    }
}
