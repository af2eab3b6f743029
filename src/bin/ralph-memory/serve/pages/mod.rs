//! The pages: a function turns an answer of the library into a page.
#![allow(clippy::unnecessary_wraps, reason = "all pages are made by functions of one type")]

mod journal;
mod knowledge;

use axum::http::StatusCode;
use maud::{Markup, html};
use ralph_memory::Id;
use ralph_memory::entry::timestamp;
use ralph_memory::memory::Operation;

use super::html::{
    ARCHIVE, HtmlPage, KEEP, PageContext, PageFields, SEARCH, ShownTime, UNDO, button, counted, cut, isolated,
    with_code,
};
use crate::error::{self, NothingFound};
use crate::exit::Exit;

/// A function that makes a page for the fields of a query.
type MakePage = fn(&PageContext<'_>, &PageFields) -> anyhow::Result<HtmlPage>;

/// The pages, by the names of their addresses.
pub(super) const PAGES: [(&str, MakePage); 9] = [
    ("", journal::now),
    ("review", knowledge::review),
    ("entries", knowledge::entries),
    ("entry", knowledge::entry),
    (SEARCH, knowledge::search),
    ("timeline", journal::timeline),
    ("features", journal::features),
    ("task", journal::task),
    ("run", journal::run),
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
    let report = error::report(error);
    let main = html! {
        div.note.bad role="alert" {
            p { strong { (with_code(&report.message)) } }
            @for cause in &report.causes { p { (with_code(cause)) } }
            @if let Some(hint) = &report.hint { p { "Hint: " (with_code(hint)) } }
        }
        p { a href="./" { "Go to the first page" } }
    };
    (status, HtmlPage { title: title.to_owned(), part: "-", main, is_live: false })
}

/// Says what a button has just done.
fn done(fields: &PageFields) -> Markup {
    let text = match fields.text("done") {
        KEEP => "Kept: it is yours now, and no agent changes it.",
        ARCHIVE => "Moved to the archive.",
        UNDO => "Taken back. `ralph-memory undo --redo` brings it back.",
        _ => return html! {},
    };
    html! { p.note.good role="status" { (with_code(text)) } }
}

/// Returns the last change to the memory that holds, with the button that takes it back.
fn last_change(context: &PageContext<'_>) -> Markup {
    let operations = context.memory.operations().unwrap_or_default();
    let is_in_effect = |operation: &&Operation| {
        operation.undoes.is_none() && operation.redoes.is_none() && operation.taken_back_by.is_none()
    };
    let Some(last) = operations.iter().find(is_in_effect) else { return html! {} };
    let entries: Vec<Id> = last.files.iter().filter_map(|file| Id::of_path(file.as_relative())).collect();
    let n_files = last.created + last.changed + last.moved + last.removed;
    html! {
        section.row.card aria-label="Last change" {
            div {
                p {
                    "Last change: " code { (isolated(&cut(&last.command, 60))) } " · " (counted(n_files, "file", "files"))
                    @if let Some(first) = last.files.first() { " · " code { (isolated(&cut(entries.first().map_or(first.as_str(), Id::as_str), 120))) } }
                    @if last.files.len() > 1 { " …" }
                }
                p.meta { (ShownTime(&timestamp(last.at))) @if let Some(reason) = &last.refusal { " · cannot be taken back: " (isolated(reason)) } }
            }
            @if last.refusal.is_none() { (button(context, UNDO, "Undo", &[("id", &last.number.to_string())])) }
        }
    }
}
