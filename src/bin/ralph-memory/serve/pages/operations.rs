//! The last changes that the program made, each with a button that takes it back.

use maud::{Markup, html};
use ralph_memory::entry::timestamp;
use ralph_memory::memory::Operation;

use super::super::html::{PageContext, ShownTime, counted, cut, isolated};
use super::{UNDO, button};

/// How many changes that hold, and how many that are taken back, are shown, and files of each.
const MAX_SHOWN: usize = 5;
const MAX_FILES: usize = 5;

/// Returns the last changes, each with a button that goes back or forward; nothing where nothing was changed.
pub(super) fn operations(context: &PageContext<'_>) -> Markup {
    let operations = context.memory.operations().unwrap_or_default();
    let is_change = |operation: &&Operation| operation.undoes.is_none() && operation.redoes.is_none();
    let changes: Vec<&Operation> = operations.iter().filter(is_change).collect();
    // Around the place where one is.
    let at = changes.iter().position(|change| change.taken_back_by.is_none()).unwrap_or(changes.len());
    let shown = &changes[at.saturating_sub(MAX_SHOWN)..changes.len().min(at + MAX_SHOWN)];
    // A change leaves nothing to redo that was taken back before it.
    let newest = changes.first().map_or(0, |change| change.number);
    let undo = changes.iter().filter_map(|change| change.taken_back_by).max().filter(|undo| *undo > newest);
    html! {
        @if !changes.is_empty() {
            h2 { "Last changes" }
            ul.rows { @for change in shown { li.row { (row(context, change, undo)) } } }
            @if changes.len() > shown.len() {
                p.quiet { "ralph-memory undo --list shows all " (operations.len()) "." }
            }
        }
    }
}

/// Returns a change. `undo` is the operation that can be taken back to redo what it took back.
fn row(context: &PageContext<'_>, operation: &Operation, undo: Option<u64>) -> Markup {
    let counts = [
        (operation.created, "created"),
        (operation.changed, "changed"),
        (operation.moved, "moved"),
        (operation.removed, "removed"),
    ];
    let number = operation.number.to_string();
    html! {
        p.row-title { code { (isolated(&cut(&operation.command, 60))) } }
        p.meta {
            (ShownTime(&timestamp(operation.at)))
            @for (count, what) in counts { @if count > 0 { " · " (counted(count, "file", "files")) " " (what) } }
        }
        p.meta {
            @for file in operation.files.iter().take(MAX_FILES) { code { (isolated(&cut(file.as_str(), 120))) } " " }
            @if operation.files.len() > MAX_FILES { "…" }
        }
        @if let Some(by) = operation.taken_back_by {
            p.meta { "Taken back." }
            @if undo == Some(by) {
                div.actions { (button(context, UNDO, &by.to_string(), html! { "Redo" span.sr { " change " (number) } })) }
            }
        } @else if let Some(reason) = &operation.refusal {
            p.meta { "It cannot be taken back: " (isolated(reason)) }
        } @else {
            div.actions { (button(context, UNDO, &number, html! { "Undo" span.sr { " change " (number) } })) }
        }
    }
}
