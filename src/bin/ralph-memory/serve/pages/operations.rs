//! The last changes that the program made, each with a button that takes it back.

use maud::{Markup, html};
use ralph_memory::entry::{EntrySummary, timestamp};
use ralph_memory::memory::Operation;
use ralph_memory::{Id, Memory};

use super::super::fields::PageFields;
use super::super::html::{HtmlPage, PageContext, ShownTime, by_agent, counted, cut, entry_link, isolated};
use super::{UNDO, button, nothing};

/// How many changes that hold, and how many that are taken back, are shown, and files of each.
const MAX_SHOWN: usize = 5;
const MAX_FILES: usize = 5;
/// From how many files on a page asks before it takes a change back.
const MANY: usize = 10;
/// The place of the last changes on their pages.
pub(in crate::serve) const CHANGES: &str = "changes";

/// Returns how many times an operation created, changed, moved or removed a file.
fn size(operation: &Operation) -> usize {
    operation.created + operation.changed + operation.moved + operation.removed
}

/// Returns whether somebody is asked before an operation is taken back.
pub(in crate::serve) fn is_large(operation: &Operation) -> bool {
    size(operation) >= MANY
}

/// Returns the last changes, each with a button that goes back or forward, and what such a button has just done; nothing where nothing was
/// changed. `from` is the page that they are on.
pub(super) fn operations(context: &PageContext<'_>, fields: &PageFields, from: &str) -> Markup {
    let operations = context.memory.operations().unwrap_or_default();
    let is_change = |operation: &&Operation| operation.undoes.is_none() && operation.redoes.is_none();
    let changes: Vec<&Operation> = operations.iter().filter(is_change).collect();
    // Around the place where one is.
    let at = changes.iter().position(|change| change.taken_back_by.is_none()).unwrap_or(changes.len());
    let shown = &changes[at.saturating_sub(MAX_SHOWN)..changes.len().min(at + MAX_SHOWN)];
    let entries = changed(context.memory, shown.iter().copied());
    // A change leaves nothing to redo that was taken back before it.
    let newest = changes.first().map_or(0, |change| change.number);
    let undo = changes.iter().filter_map(|change| change.taken_back_by).max().filter(|undo| *undo > newest);
    html! {
        @if !changes.is_empty() {
            h2 id=(CHANGES) { "Last changes" }
            (done(context, &operations, fields))
            ul.rows { @for change in shown { li.row.with-action { (row(context, change, (undo, from), &entries)) } } }
            @if changes.len() > shown.len() {
                p.quiet { code { "ralph-memory undo --list" } " shows all " (operations.len()) "." }
            }
        }
    }
}

/// Says what a form has just taken or brought back, as long as that is the last change: the page may be opened or updated again.
fn done(context: &PageContext<'_>, operations: &[Operation], fields: &PageFields) -> Markup {
    let last = operations.first().filter(|_| fields.text("done") == UNDO);
    let change = |number: Option<u64>| operations.iter().find(|change| Some(change.number) == number);
    let taken_back = last.and_then(|last| Some((last, "Taken back:", "Redo", change(last.undoes)?)));
    let brought_back = last.and_then(|last| Some((last, "Brought back:", "Undo", change(last.redoes)?)));
    html! {
        @if let Some((last, what, label, change)) = taken_back.or(brought_back) {
            div.note.good role="status" {
                p { strong { (what) } " " (summary(change, &changed(context.memory, [change]))) }
                div.actions { (undo_button(context, last.number, fields.text("from"), label)) }
            }
        }
    }
}

/// Returns the entries that are shown of operations.
pub(super) fn changed<'a>(memory: &Memory, operations: impl IntoIterator<Item = &'a Operation>) -> Vec<EntrySummary> {
    let files = operations.into_iter().flat_map(|operation| operation.files.iter().take(MAX_FILES));
    let ids: Vec<Id> = files.filter_map(|file| Id::of_path(file.as_relative())).collect();
    memory.summaries(&ids)
}

/// Returns what an operation did, in a line, with who wrote the entries.
pub(super) fn summary(operation: &Operation, entries: &[EntrySummary]) -> Markup {
    let counts = [
        (operation.created, "created"),
        (operation.changed, "changed"),
        (operation.moved, "moved"),
        (operation.removed, "removed"),
    ];
    let files = &operation.files[..operation.files.len().min(MAX_FILES)];
    let named: Vec<&EntrySummary> = entries.iter().filter(|entry| files.contains(&entry.path)).collect();
    html! {
        code { (isolated(&cut(&operation.command, 60))) }
        @for (count, what) in counts { @if count > 0 { " · " (counted(count, "file", "files")) " " (what) } }
        @for entry in &named { " " (entry_link(entry)) span.quiet { (by_agent(entry, " written ")) } }
        // What is gone has no title.
        @if named.is_empty() { @for file in files { " " code { (isolated(&cut(file.as_str(), 120))) } } }
        @if size(operation) > MAX_FILES.min(operation.files.len()) { " …" }
    }
}

/// Returns a change. `undo` is the operation that can be taken back to redo what it took back.
fn row(
    context: &PageContext<'_>,
    operation: &Operation,
    (undo, from): (Option<u64>, &str),
    entries: &[EntrySummary],
) -> Markup {
    html! {
        div {
            p { (summary(operation, entries)) }
            p.meta {
                (ShownTime(&timestamp(operation.at)))
                @if operation.taken_back_by.is_some() { " · taken back" }
                @else if let Some(reason) = &operation.refusal { " · cannot be taken back: " (isolated(reason)) }
            }
        }
        @if let Some(by) = operation.taken_back_by {
            @if undo == Some(by) { (undo_button(context, by, from, "Redo")) }
        } @else if operation.refusal.is_none() { (undo_button(context, operation.number, from, "Undo")) }
    }
}

/// Returns the button that takes back an operation, which may be an undo.
pub(super) fn undo_button(context: &PageContext<'_>, number: u64, from: &str, label: &str) -> Markup {
    let number = number.to_string();
    let what = html! { (label) span.sr { " change " (number) } };
    button(context, UNDO, &[("id", &number), ("from", from)], what)
}

/// Makes the page that asks before a change of many files is taken back.
pub(super) fn undo(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let (id, from) = (fields.text("id"), fields.text("from"));
    let operations = context.memory.operations()?;
    let operation = operations.iter().find(|operation| operation.number.to_string() == id);
    let operation = operation.ok_or_else(|| nothing("operation", id))?;
    let files = counted(size(operation), "file", "files");
    let main = html! {
        p.lead { (ShownTime(&timestamp(operation.at))) ", " code { (isolated(&cut(&operation.command, 60))) } " changed " (files) "." }
        ul { @for file in &operation.files { li { code { (isolated(&cut(file.as_str(), 120))) } } } }
        @if size(operation) > operation.files.len() { p.quiet { "and " (size(operation) - operation.files.len()) " more changes of files" } }
        div.actions {
            (button(context, UNDO, &[("id", id), ("from", from), ("sure", "1")], html! { "Take back " (files) }))
            a.button href=(if from.is_empty() { "./" } else { "health" }) { "Leave it" }
        }
    };
    Ok(HtmlPage { title: "Take this back?".to_owned(), part: "health", trail: Some(Vec::new()), main, is_live: false })
}
