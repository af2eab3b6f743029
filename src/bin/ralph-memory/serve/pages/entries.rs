//! The list of entries, with filters and tags.

use std::cmp::Reverse;

use maud::{Markup, html};
use ralph_memory::Kind;
use ralph_memory::memory::{EntryFilter, EntrySort, ListResult};
use serde::Deserialize;

use super::super::html::{
    HtmlPage, PageContext, counted, cut, empty, entry_list, field_value, isolated, pager, problems,
};
use super::super::links::with_query;
use super::{given, listed_in};

/// How many entries a page shows.
const PER_PAGE: usize = 50;
/// How many tags are offered.
const MAX_TAGS: usize = 60;

/// The query.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::serve) struct EntriesArgs {
    kind: String,
    tag: String,
    feature: String,
    category: String,
    archived: String,
    sort: String,
    /// The number of the page, from 1.
    page: String,
}

impl EntriesArgs {
    fn filter(&self) -> EntryFilter {
        EntryFilter {
            // Attempts are many, and have a page of their own.
            kind: match self.kind.as_str() {
                "" => Some(Kind::Knowledge),
                name => kind(name),
            },
            tags: listed_in(&self.tag),
            feature: given(&self.feature).map(str::to_owned),
            category: given(&self.category).map(str::to_owned),
            archived: !self.archived.is_empty(),
            sort: Some(sort(&self.sort)),
            ..EntryFilter::default()
        }
    }

    /// Returns the address of a page of the same list.
    fn at(&self, page: usize) -> String {
        let page = if page > 1 { page.to_string() } else { String::new() };
        self.address(&self.tag, &page)
    }

    /// Returns the address of those entries of the same list that have a tag as well.
    fn with_tag(&self, tag: &str) -> String {
        let mut tags = listed_in(&self.tag);
        if !tags.iter().any(|own| own == tag) {
            tags.push(tag.to_owned());
        }
        self.address(&tags.join(", "), "")
    }

    fn address(&self, tag: &str, page: &str) -> String {
        let Self { kind, feature, category, archived, sort, .. } = self;
        let fields = [
            ("kind", kind.as_str()),
            ("tag", tag),
            ("feature", feature),
            ("category", category),
            ("archived", archived),
            ("sort", sort),
            ("page", page),
        ];
        with_query("entries", &fields)
    }
}

/// The orders of the list, with their labels.
const SORTS: [(&str, &str); 5] =
    [("", "Last change"), ("created", "Creation"), ("title", "Title"), ("used", "Use"), ("importance", "Importance")];

fn sort(name: &str) -> EntrySort {
    EntrySort::parse(name).unwrap_or(EntrySort::Updated)
}

/// Returns the kind that a form names.
pub(super) fn kind(name: &str) -> Option<Kind> {
    [Kind::Knowledge, Kind::Journal].into_iter().find(|kind| kind.as_str() == name)
}

/// Makes the page.
pub(in crate::serve) fn entries(context: &PageContext<'_>, args: &EntriesArgs) -> anyhow::Result<HtmlPage> {
    let mut listed = context.memory.list(&args.filter());
    let in_all = listed.entries.len();
    let last = in_all.div_ceil(PER_PAGE).max(1);
    let page = args.page.parse::<usize>().unwrap_or(1).clamp(1, last);
    let shown: Vec<_> = listed.entries.drain(..).skip((page - 1) * PER_PAGE).take(PER_PAGE).collect();
    let main = html! {
        (filters(args))
        div id="results" {
            p.lead role="status" {
                (counted(in_all, "entry", "entries"))
                @if last > 1 { ", page " (page) " of " (last) }
            }
            @if shown.is_empty() { (empty("No entry matches. Change the filters, or add knowledge with ralph-memory add.")) }
            @else { (entry_list(&shown)) }
            (pager((page > 1).then(|| args.at(page - 1)), (page < last).then(|| args.at(page + 1))))
            (all_tags(args, &listed))
            (problems(&listed.problems))
        }
    };
    Ok(HtmlPage { title: "Entries".to_owned(), part: "entries", main, is_live: true })
}

fn filters(args: &EntriesArgs) -> Markup {
    html! {
        form.filters action="entries" method="get" {
            (kind_field(&args.kind, &[("", "Knowledge"), ("journal", "Attempts"), ("all", "All")]))
            (list_field("tag", "Tags", &args.tag))
            (text_field("feature", "Feature", &args.feature))
            (text_field("category", "Category", &args.category))
            (choice_field("sort", "Sort by", &args.sort, &SORTS))
            (archive_field(&args.archived))
            div { button { "Filter" } }
        }
    }
}

/// Returns a field of a form for a text.
pub(super) fn text_field(name: &str, label: &str, value: &str) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            input id=(name) name=(name) value=(field_value(value)) dir="auto" autocomplete="off";
        }
    }
}

/// Returns a field of a form for names with commas between them.
pub(super) fn list_field(name: &str, label: &str, value: &str) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            input id=(name) name=(name) value=(field_value(value)) placeholder="one, another" dir="auto" autocomplete="off";
        }
    }
}

/// Returns the field for the kind of entry, with its choices and their labels.
pub(super) fn kind_field(value: &str, choices: &[(&str, &str)]) -> Markup {
    choice_field("kind", "Kind", value, choices)
}

/// Returns a field of a form for one of several choices.
pub(super) fn choice_field(name: &str, label: &str, value: &str, choices: &[(&str, &str)]) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                @for (choice, label) in choices { option value=(choice) selected[*choice == value] { (label) } }
            }
        }
    }
}

/// Returns the field for the archive.
pub(super) fn archive_field(value: &str) -> Markup {
    html! {
        label.check { input type="checkbox" name="archived" value="1" checked[!value.is_empty()]; " Include the archive" }
    }
}

/// Returns the tags of the listed entries, the most frequent first.
fn all_tags(args: &EntriesArgs, listed: &ListResult) -> Markup {
    let mut tags: Vec<(&String, &usize)> = listed.tags.iter().collect();
    tags.sort_by_key(|(name, count)| (Reverse(**count), (*name).clone()));
    html! {
        @if !tags.is_empty() {
            h2 { "Tags" }
            p.tags {
                @for (tag, count) in tags.iter().take(MAX_TAGS) {
                    a.tag href=(args.with_tag(tag)) { (isolated(&cut(tag, 40))) " " (count) } " "
                }
                @if tags.len() > MAX_TAGS { span.quiet { "and " (tags.len() - MAX_TAGS) " more" } }
            }
        }
    }
}
