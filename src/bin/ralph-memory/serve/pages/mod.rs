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

use super::fields::PageFields;
use super::html::{HtmlPage, PageContext, cut, hidden_value};
use crate::error::{self, NothingFound};
use crate::exit::Exit;

/// A function that makes a page for the fields of a query.
pub(super) type MakePage = fn(&PageContext<'_>, &PageFields) -> anyhow::Result<HtmlPage>;

/// The pages, by the names of their addresses.
pub(super) const PAGES: [(&str, MakePage); 11] = [
    ("", now::now),
    ("features", features::features),
    ("feature", features::feature),
    ("timeline", timeline::timeline),
    ("task", task::task),
    ("run", run::run),
    ("entries", entries::entries),
    ("entry", entry::entry),
    ("search", search::search),
    ("context", context::context),
    ("health", health::health),
];

pub(super) const ARCHIVE: &str = "archive";
pub(super) const RESTORE: &str = "restore";
const UNDO: &str = "undo";
/// What forms change, by the names of their addresses, with what a page says when it is done.
pub(super) const ACTIONS: [(&str, &str); 3] = [
    (ARCHIVE, "Moved to the archive."),
    (RESTORE, "Restored. A version that was live before is in the archive now."),
    (UNDO, "Taken back. This can be redone."),
];

/// Returns the error for something that there is not.
pub(super) fn nothing(what: &str, name: &str) -> NothingFound {
    let hint = "it may have been renamed or removed; search for it".to_owned();
    NothingFound { message: format!("there is no {what} `{}`", cut(name, 200)), hint }
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
fn done(context: &PageContext<'_>, fields: &PageFields) -> Markup {
    let operations = context.memory.operations().unwrap_or_default();
    let last = operations.first().filter(|_| fields.text("done") == UNDO);
    html! {
        @if last.is_some_and(|last| last.undoes.is_some()) { (said(UNDO)) }
        @if last.is_some_and(|last| last.redoes.is_some()) { (note("Brought back. This can be undone.")) }
    }
}

/// Says what a form did.
fn said(action: &str) -> Markup {
    html! { @for (_, text) in ACTIONS.iter().filter(|(name, _)| *name == action) { (note(text)) } }
}

fn note(text: &str) -> Markup {
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
fn button(context: &PageContext<'_>, action: &str, id: &str, label: Markup) -> Markup {
    html! {
        form method="post" action=(action) {
            input type="hidden" name="token" value=(context.token);
            input type="hidden" name="id" value=(hidden_value(id));
            button { (label) }
        }
    }
}
