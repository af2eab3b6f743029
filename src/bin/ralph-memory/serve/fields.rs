//! The fields of queries and forms: what a request asks for, and the inputs that make the request.
#![allow(clippy::needless_pass_by_value, reason = "markup is made where it is passed")]

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::Query;
use axum::http::Uri;
use chrono::NaiveDate;
use maud::{Markup, html};
use ralph_memory::Kind;
use serde::Deserialize;

use super::html::{acts, cut, field_value};
use super::links::with_query;

/// How many values are offered to choose from, and how much of each is shown, in characters.
const MAX_CHOICES: usize = 300;
const MAX_LABEL: usize = 60;

/// The fields of a query or a form, by their names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct PageFields(BTreeMap<String, String>);

impl PageFields {
    /// Returns the fields in the query of an address. If one is there twice, the last one counts.
    pub(super) fn of(uri: &Uri) -> PageFields {
        Query::try_from_uri(uri).map_or_else(|_| PageFields::default(), |Query(fields)| fields)
    }

    /// Returns a field as it is; empty if it is not there.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Returns a field without white space around it; `None` if there is nothing in it.
    pub(super) fn given(&self, name: &str) -> Option<String> {
        given(self.text(name))
    }

    /// Returns the names in a field, which commas separate: a name may contain spaces.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        self.text(name).split(',').filter_map(given).collect()
    }

    /// Returns a whole number; `None` if the field has another value.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.text(name).trim().parse().ok()
    }

    /// Returns a day, as `2026-02-17`; `None` if the field has another value.
    pub(super) fn date(&self, name: &str) -> Option<NaiveDate> {
        self.text(name).trim().parse().ok()
    }

    /// Returns the kind of entry that is asked for.
    pub(super) fn kind(&self) -> Option<Kind> {
        [Kind::Knowledge, Kind::Journal].into_iter().find(|kind| kind.as_str() == self.text("kind"))
    }

    /// Returns these fields with another value of one of them. `done` is about this request alone.
    pub(super) fn with(&self, name: &str, value: &str) -> PageFields {
        let mut fields = self.0.clone();
        fields.remove("done");
        fields.insert(name.to_owned(), value.to_owned());
        PageFields(fields)
    }

    /// Returns the address of a page with these fields.
    pub(super) fn address(&self, page: &str) -> String {
        with_query(page, self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// Returns the page of a list that is asked for: the last one, if there are fewer.
    pub(super) fn list_page(&self, in_all: usize, per_page: usize) -> ListPage {
        let last = in_all.div_ceil(per_page).max(1);
        ListPage { number: self.number("page").unwrap_or(1).clamp(1, last), last, per_page }
    }

    /// Returns an input for a text.
    pub(super) fn text_input(&self, name: &str, label: &str) -> Markup {
        labelled(
            name,
            label,
            html! { input id=(name) name=(name) value=(field_value(self.text(name))) dir="auto" autocomplete="off"; },
        )
    }

    /// Returns an input for names with commas between them.
    pub(super) fn list_input(&self, name: &str, label: &str) -> Markup {
        let value = field_value(self.text(name));
        labelled(
            name,
            label,
            html! { input id=(name) name=(name) value=(value) placeholder="one, another" dir="auto" autocomplete="off"; },
        )
    }

    /// Returns an input for a day.
    pub(super) fn date_input(&self, name: &str, label: &str) -> Markup {
        labelled(name, label, html! { input id=(name) type="date" name=(name) value=[self.date(name)]; })
    }

    /// Returns an input for one of several values, each with its label.
    pub(super) fn choice(&self, name: &str, label: &str, choices: &[(&str, &str)]) -> Markup {
        let options = html! {
            @for (value, label) in choices { option value=(field_value(value)) selected[*value == self.text(name)] { (cut(label, MAX_LABEL)) } }
        };
        labelled(name, label, html! { select id=(name) name=(name) { (options) } })
    }

    /// Returns an input for one of the values that there are, but for those that a field cannot send back. The one that is asked for is among
    /// them, whatever it is, and too many to choose from are typed.
    pub(super) fn known_choice(&self, name: &str, label: &str, known: &BTreeSet<String>) -> Markup {
        if known.len() > MAX_CHOICES {
            return self.text_input(name, label);
        }
        let asked = Some(self.text(name)).filter(|asked| !known.contains(*asked) && !asked.is_empty());
        let known = known.iter().map(String::as_str).filter(|value| !value.contains(acts));
        let mut values: Vec<&str> = known.chain(asked).collect();
        values.sort_by_key(|value| value.to_lowercase());
        let choices: Vec<(&str, &str)> =
            [("", "All")].into_iter().chain(values.into_iter().map(|value| (value, value))).collect();
        self.choice(name, label, &choices)
    }

    /// Returns the filters of a list, which are folded where the window is narrow. `names` are those of their fields.
    pub(super) fn folded(&self, names: &[&str], filters: Markup) -> Markup {
        let set = names.iter().filter(|name| !self.text(name).is_empty()).count();
        html! {
            details.fold {
                summary { "Filters" @if set > 0 { " (" (set) " set)" } }
                (filters)
            }
        }
    }

    /// Returns the input for the archive.
    pub(super) fn archive_input(&self) -> Markup {
        let is_checked = !self.text("archived").is_empty();
        html! { label.check { input type="checkbox" name="archived" value="1" checked[is_checked]; " Include the archive" } }
    }
}

fn given(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns an input with its label.
pub(super) fn labelled(name: &str, label: &str, input: Markup) -> Markup {
    html! { div.field { label for=(name) { (label) } (input) } }
}

/// A page of a list.
pub(super) struct ListPage {
    /// Its number, from 1.
    pub(super) number: usize,
    last: usize,
    per_page: usize,
}

impl ListPage {
    /// Returns how many items are on the pages before.
    pub(super) fn offset(&self) -> usize {
        (self.number - 1) * self.per_page
    }

    /// Returns how many there are in all, and which page this is if there are several.
    pub(super) fn lead(&self, counted: &str) -> String {
        if self.last > 1 { format!("{counted}, page {} of {}", self.number, self.last) } else { counted.to_owned() }
    }

    /// Returns links to the page before and the one after.
    pub(super) fn pager(&self, fields: &PageFields, list: &str) -> Markup {
        let at = |number: usize| {
            // The first page has a short address.
            let number = if number > 1 { number.to_string() } else { String::new() };
            fields.with("page", &number).address(list)
        };
        html! {
            @if self.last > 1 {
                nav.pager aria-label="Pages" {
                    @if self.number > 1 { a rel="prev" href=(at(self.number - 1)) { "← Newer" } } @else { span {} }
                    @if self.number < self.last { a rel="next" href=(at(self.number + 1)) { "Older →" } }
                }
            }
        }
    }
}
