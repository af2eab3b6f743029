//! The pages, one file each: a function turns an answer of the library into a page.
#![allow(clippy::unnecessary_wraps, reason = "all pages are made by functions of one type")]
#![allow(clippy::needless_pass_by_value, reason = "markup is made where it is passed")]

mod attempts;
mod context;
mod entries;
mod entry;
mod features;
mod forms;
mod health;
mod now;
mod operations;
mod reuse;
mod run;
mod search;
mod task;
mod timeline;

use axum::http::StatusCode;
use maud::{Markup, html};

pub(super) use forms::{change, write};
pub(super) use operations::{CHANGES, is_large};

use super::fields::PageFields;
use super::html::{HtmlPage, PageContext, cut, hidden_value, with_code};
use crate::error::{self, NothingFound};
use crate::exit::Exit;

/// A function that makes a page for the fields of a query.
pub(super) type MakePage = fn(&PageContext<'_>, &PageFields) -> anyhow::Result<HtmlPage>;

/// The pages, by the names of their addresses.
pub(super) const PAGES: [(&str, MakePage); 15] = [
    ("", now::now),
    ("features", features::features),
    ("feature", features::feature),
    ("timeline", timeline::timeline),
    ("reuse", reuse::reuse),
    ("task", task::task),
    ("run", run::run),
    ("entries", entries::entries),
    ("entry", entry::entry),
    (SEARCH, search::search),
    ("context", context::context),
    ("health", health::health),
    (ADD, forms::add),
    (EDIT, forms::edit),
    (UNDO, operations::undo),
];
/// The page that is nothing but a search, and has the one field for it.
pub(super) const SEARCH: &str = "search";
/// What a page says where there is no attempt at all.
const NO_ATTEMPT: &str =
    "No attempt yet. `ralph-memory run` makes attempts, and `ralph-memory setup` lets your agent record its own.";

pub(super) const ARCHIVE: &str = "archive";
pub(super) const RESTORE: &str = "restore";
pub(super) const ADD: &str = "add";
pub(super) const EDIT: &str = "edit";
pub(super) const KEEP: &str = "keep";
pub(super) const UNDO: &str = "undo";
/// What a form did that was sent as it was.
pub(super) const NOTHING: &str = "nothing";
/// What forms change, by the names of their addresses, with what a page says when it is done.
pub(super) const ACTIONS: [(&str, &str); 6] = [
    (ARCHIVE, "Moved to the archive."),
    (RESTORE, "Restored. A version that was live before is in the archive now."),
    (ADD, "Written."),
    (EDIT, "Changed."),
    (KEEP, "Kept: it is yours now, and no agent changes it."),
    (UNDO, ""),
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
    HtmlPage { title: "Page not found".to_owned(), part: "-", main, ..HtmlPage::default() }
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
    (status, HtmlPage { title: title.to_owned(), part: "-", main, ..HtmlPage::default() })
}

/// Returns the page that a form leads to if it is refused: itself, with what was typed, or the reason alone.
pub(super) fn refused_form(
    context: &PageContext<'_>,
    action: &str,
    fields: &PageFields,
    error: &anyhow::Error,
) -> anyhow::Result<HtmlPage> {
    match action {
        ADD => Ok(forms::add_again(fields, refused(error))),
        EDIT => forms::edit_again(context, fields, refused(error)),
        _ => Ok(error_page(error).1),
    }
}

/// Says what a form did.
fn said(action: &str) -> Markup {
    let nothing = (NOTHING, "Nothing was changed.");
    html! { @for (_, text) in ACTIONS.iter().chain([&nothing]).filter(|(name, _)| *name == action) { (note(text)) } }
}

fn note(text: &str) -> Markup {
    html! { p.note.good role="status" { (text) } }
}

/// Returns why something did not work, and what to do.
fn refused(error: &anyhow::Error) -> Markup {
    let report = error::report(error);
    html! {
        div.note.bad role="alert" {
            p { strong { (with_code(&report.message)) } }
            @for cause in &report.causes { p { (with_code(cause)) } }
            @if let Some(hint) = &report.hint { p { "Hint: " (with_code(hint)) } }
        }
    }
}

/// Returns a form of one button that changes something, with the fields that say what.
fn button(context: &PageContext<'_>, action: &str, fields: &[(&str, &str)], label: Markup) -> Markup {
    html! {
        form method="post" action=(action) {
            (hidden_fields(context.token, fields))
            button { (label) }
        }
    }
}

/// Returns the fields of a form that nobody sees, with the token.
fn hidden_fields(token: &str, fields: &[(&str, &str)]) -> Markup {
    html! {
        input type="hidden" name="token" value=(token);
        @for (name, value) in fields { input type="hidden" name=(name) value=(hidden_value(value)); }
    }
}
