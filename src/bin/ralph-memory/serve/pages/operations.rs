//! The last changes that the program made, each with a button that takes it back.

use maud::{Markup, html};
use ralph_memory::entry::timestamp;
use ralph_memory::memory::Operation;

use super::super::html::{PageContext, ShownTime, counted, cut, isolated};
use super::{FormAction, button};

/// How many operations, and files of each, are shown.
const MAX_SHOWN: usize = 5;
const MAX_FILES: usize = 5;

/// Returns the last operations; nothing where nothing can be taken back.
pub(super) fn operations(context: &PageContext<'_>) -> Markup {
    let operations = context.memory.operations().unwrap_or_default();
    html! {
        @if !operations.is_empty() {
            h2 { "Last changes" }
            ul.rows { @for operation in operations.iter().take(MAX_SHOWN) { li.row { (row(context, operation)) } } }
            @if operations.len() > MAX_SHOWN {
                p.quiet { "ralph-memory undo --list shows all " (operations.len()) "." }
            }
        }
    }
}

fn row(context: &PageContext<'_>, operation: &Operation) -> Markup {
    let counts = [
        (operation.created, "created"),
        (operation.changed, "changed"),
        (operation.moved, "moved"),
        (operation.removed, "removed"),
    ];
    let number = operation.number.to_string();
    html! {
        p.row-title {
            code { (isolated(&cut(&operation.command, 60))) }
            @if let Some(undone) = operation.undoes { " of change " (undone) }
        }
        p.meta {
            (ShownTime(&timestamp(operation.at)))
            @for (count, what) in counts { @if count > 0 { " · " (counted(count, "file", "files")) " " (what) } }
        }
        p.meta {
            @for file in operation.files.iter().take(MAX_FILES) { code { (isolated(&cut(file.as_str(), 120))) } " " }
            @if operation.files.len() > MAX_FILES { "…" }
        }
        @if let Some(reason) = &operation.refusal { p.meta { "It cannot be taken back: " (isolated(reason)) } }
        @else {
            div.actions { (button(context, FormAction::Undo, &number, html! { "Undo" span.sr { " change " (number) } })) }
        }
    }
}
