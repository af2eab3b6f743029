//! The pages, one file each: a function turns an answer of the library into a page.
#![allow(clippy::unnecessary_wraps, reason = "all pages are made by functions of one type")]
#![allow(clippy::needless_pass_by_value, reason = "markup is made where it is passed")]

mod attempts;
mod context;
mod entries;
mod entry;
mod features;
mod health;
mod now;
mod operations;
mod run;
mod search;
mod task;
mod timeline;

use axum::http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::html::{HtmlPage, PageContext, cut, hidden_value};
use crate::error::{self, NothingFound};
use crate::exit::Exit;

pub(super) use context::context;
pub(super) use entries::entries;
pub(super) use entry::entry;
pub(super) use features::{feature, features};
pub(super) use health::health;
pub(super) use now::now;
pub(super) use run::run;
pub(super) use search::search;
pub(super) use task::task;
pub(super) use timeline::timeline;

/// What a form changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormAction {
    Archive,
    Restore,
    Undo,
}

impl FormAction {
    /// All of them.
    pub(super) const ALL: [FormAction; 3] = [FormAction::Archive, FormAction::Restore, FormAction::Undo];

    /// Returns the name of its address.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            FormAction::Archive => "archive",
            FormAction::Restore => "restore",
            FormAction::Undo => "undo",
        }
    }

    /// Returns the one with this name.
    fn named(name: &str) -> Option<FormAction> {
        FormAction::ALL.into_iter().find(|action| action.as_str() == name)
    }

    /// Returns what is said when it is done.
    fn said(self) -> &'static str {
        match self {
            FormAction::Archive => "Moved to the archive.",
            FormAction::Undo => "Taken back. This can be redone.",
            FormAction::Restore => "Restored. A version that was live before is in the archive now.",
        }
    }
}

/// The query of a page about one thing that has an id.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ById {
    pub(super) id: String,
}

/// The query of a page about the memory as a whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NoFields {
    /// What a form has just done.
    done: String,
}

/// Returns the error for an id that nothing has.
pub(super) fn unknown_id(id: &str) -> NothingFound {
    nothing("entry", id)
}

/// Returns the error for a number that no operation has.
pub(super) fn unknown_operation(number: &str) -> NothingFound {
    nothing("operation", number)
}

/// Returns the error for something that there is not.
fn nothing(what: &str, name: &str) -> NothingFound {
    let hint = "it may have been renamed or removed; search for it".to_owned();
    NothingFound { message: format!("there is no {what} `{}`", cut(name, 200)), hint }
}

/// Returns a field of a query without white space around it; `None` if there is nothing in it.
fn given(field: &str) -> Option<&str> {
    Some(field.trim()).filter(|field| !field.is_empty())
}

/// Returns the names in a field of a query, which commas separate: a name may contain spaces.
fn listed_in(field: &str) -> Vec<String> {
    field.split(',').filter_map(given).map(str::to_owned).collect()
}

/// Returns the page for an address that no page has.
pub(super) fn missing() -> HtmlPage {
    let main = html! {
        p.lead { "There is no page with this address." }
        p { a href="./" { "Go to the first page" } " or " a href="search" { "search" } "." }
    };
    HtmlPage { title: "Page not found".to_owned(), part: "-", main, is_live: false }
}

/// Returns the page for an error, with the status of the answer.
pub(super) fn error_page(error: &anyhow::Error) -> (StatusCode, HtmlPage) {
    let (status, title) = match error::exit(error) {
        Exit::No | Exit::NoMemory => (StatusCode::NOT_FOUND, "Not found"),
        Exit::Usage => (StatusCode::BAD_REQUEST, "This does not work"),
        Exit::Refused => (StatusCode::CONFLICT, "Refused"),
        Exit::Locked => (StatusCode::SERVICE_UNAVAILABLE, "Busy"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong"),
    };
    let main = html! { (refused(error)) p { a href=("./") { "Go to the first page" } } };
    (status, HtmlPage { title: title.to_owned(), part: "-", main, is_live: false })
}

/// Says what a form has just done to the memory, as long as that is the last change: the page may be opened or updated again.
fn done(context: &PageContext<'_>, action: &str) -> Markup {
    let operations = context.memory.operations().unwrap_or_default();
    let last = operations.first().filter(|_| FormAction::named(action) == Some(FormAction::Undo));
    html! {
        @if last.is_some_and(|last| last.undoes.is_some()) { (said(FormAction::Undo.said())) }
        @if last.is_some_and(|last| last.redoes.is_some()) { (said("Brought back. This can be undone.")) }
    }
}

/// Says that a form did something.
fn said(text: &str) -> Markup {
    html! { p.note.good role="status" { (text) } }
}

/// Returns why something did not work, and what to do.
fn refused(error: &anyhow::Error) -> Markup {
    let report = error::report(error);
    html! {
        div.note.bad role="alert" {
            p { strong { bdi { (report.message) } } }
            @for cause in &report.causes { p { bdi { (cause) } } }
            @if let Some(hint) = &report.hint { p { "Hint: " bdi { (hint) } } }
        }
    }
}

/// Returns a form of one button that changes something: an entry by its id, or an operation by its number.
fn button(context: &PageContext<'_>, action: FormAction, id: &str, label: Markup) -> Markup {
    html! {
        form method="post" action=(action.as_str()) {
            input type="hidden" name="token" value=(context.token);
            input type="hidden" name="id" value=(hidden_value(id));
            button { (label) }
        }
    }
}
