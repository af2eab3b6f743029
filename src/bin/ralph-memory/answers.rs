//! What the answers of several commands, of the MCP server and of the page share.
//!
//! `docs/src/reference/json.md` explains the shapes of `--json`, and `docs/json-schema.json` is their schema.

use std::io;

use ralph_memory::entry::EntrySummary;
use ralph_memory::memory::{EntryView, ShowResult, Written};
use ralph_memory::text::printed_command;
use ralph_memory::{Id, Memory};
use serde_json::Value;

use crate::parse;
use crate::ui::{ID, Ui, count};

/// The longest line that an entry is listed with, in characters.
pub(crate) const EXCERPT: usize = 200;
/// How many lines that an update removed are shown.
pub(crate) const MAX_REMOVED: usize = 20;
/// What is said of an attempt whose process is gone.
pub(crate) const LOST: &str = "; its process has ended, and the next run records it as interrupted";
/// The heading of the elements of a report that were refused, or not written as they should be.
pub(crate) const REPORT_PROBLEMS: &str = "Problems in the report";
/// The texts of an attempt, by their keys, with their headings.
pub(crate) const TEXTS: [(&str, &str); 9] = [
    ("feedback", "Feedback"),
    ("notes", "Notes"),
    ("summary", "Summary"),
    ("what_tried", "What was tried"),
    ("why_failed", "Why it failed"),
    ("error_output", "Error output"),
    ("retry_suggestion", "Suggestion"),
    ("decisions", "Decisions"),
    ("errors", "Errors"),
];
/// The lists of an attempt's files, by their keys, with what became of the files.
const FILES: [(&str, &str); 4] =
    [("created", "created"), ("modified", "changed"), ("read", "read"), ("relevant", "named")];

/// Adds to each entry the line of its text that matches a query best, or its first line if the query is empty.
pub(crate) fn with_excerpts(memory: &Memory, mut entries: Vec<EntryView>, query: &str) -> Vec<EntryView> {
    let excerpts = memory.excerpts(entries.iter().map(|entry| &entry.summary), query, EXCERPT);
    for (entry, excerpt) in entries.iter_mut().zip(excerpts) {
        entry.excerpt = Some(excerpt);
    }
    entries
}

/// Returns the entry of a layer that `LAYER:ID` names; `None` if it names no layer, or an entry from here.
pub(crate) fn in_layer(memory: &Memory, text: &str) -> Option<ralph_memory::Result<ShowResult>> {
    let (layer, id) = text.trim().split_once(':')?;
    let shown = memory.show_in_layer(layer, &Id::parse(id)?)?;
    let is_here = parse::id(text).is_ok_and(|id| memory.show(&id).is_ok());
    (!is_here).then_some(shown)
}

/// Returns what a list says behind an entry that is not current.
pub(crate) fn marks(entry: &EntrySummary) -> String {
    let marks = [(entry.archived, "archived"), (entry.expired, "expired"), (entry.superseded, "superseded")];
    let marks = marks.iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| *mark);
    let marks: Vec<&str> = entry.unsettled().into_iter().filter(|_| !entry.superseded).chain(marks).collect();
    if marks.is_empty() { String::new() } else { format!("  ({})", marks.join(", ")) }
}

/// Changes every text of an answer, and shortens each list to this many items.
pub(crate) fn each_text(value: &mut Value, most: usize, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(values) => {
            values.truncate(most);
            for value in values {
                each_text(value, most, change);
            }
        }
        Value::Object(fields) => {
            for value in fields.values_mut() {
                each_text(value, most, change);
            }
        }
        _ => {}
    }
}

/// Prints what became of an entry.
pub(crate) fn show_written(ui: &mut Ui<'_>, written: &Written) -> io::Result<()> {
    if ui.json {
        return ui.json(written, &written.problems);
    }
    let id = ui.styled(ID, written.id.as_str());
    let before = written.previous_id.as_ref().map(|before| format!(" (was {before})")).unwrap_or_default();
    ui.line(format_args!("{} {id}{before}", written.action.as_str()))?;
    for old in &written.suggested {
        let old = ui.styled(ID, old.as_str());
        ui.line(format_args!("suggested that {id} replaces {old}, which stays until a person confirms it"))?;
    }
    if !written.derived_tags.is_empty() {
        ui.note(&format!("tags, from its title and the nearest entries: {}", written.derived_tags.join(", ")));
    }
    show_similar(ui, written);
    ui.problems(&written.problems);
    Ok(())
}

/// Names the entries that a new one resembles.
pub(crate) fn show_similar(ui: &mut Ui<'_>, written: &Written) {
    let Some(first) = written.similar.first() else { return };
    let similar: Vec<&str> = written.similar.iter().map(Id::as_str).collect();
    ui.note(&format!("similar: {}", similar.join(", ")));
    let ids = [("OLD", first.as_str()), ("NEW", written.id.as_str())];
    let supersede = printed_command("ralph-memory edit NEW --supersedes OLD", &ids);
    ui.note(&format!("hint: if it replaces one of them, {supersede}"));
}

/// Shows the lines of the replaced text that are gone, and how they come back.
pub(crate) fn show_removed(ui: &mut Ui<'_>, written: &Written) {
    let lines = &written.removed;
    if lines.is_empty() || ui.json {
        return;
    }
    let are = if lines.len() == 1 { "is" } else { "are" };
    ui.note(&format!("{} {are} gone; `ralph-memory undo` brings back what was there:", count(lines.len(), "line")));
    for line in lines.iter().take(MAX_REMOVED) {
        ui.note(&format!("- {line}"));
    }
    if lines.len() > MAX_REMOVED {
        ui.note(&format!("and {} more", lines.len() - MAX_REMOVED));
    }
}

/// Returns what an attempt says, from its view as JSON: each section that is not empty, with its heading.
pub(crate) fn sections(attempt: &Value) -> Vec<(&'static str, String)> {
    let text = |key: &str| attempt[key].as_str().unwrap_or_default().trim();
    let lines = |list: &Value, separator: &str| {
        let lines: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        lines.join(separator)
    };
    let files = FILES.map(|(key, what)| (what, lines(&attempt["files"][key], ", ")));
    let files = files.iter().filter(|(_, paths)| !paths.is_empty()).map(|(what, paths)| format!("{what}: {paths}"));
    let validation = &attempt["validation"];
    let verified = validation["exit_code"].as_i64().map(|exit_code| {
        let end = if exit_code == 0 { "succeeded".to_owned() } else { format!("failed with exit code {exit_code}:") };
        let command = validation["command"].as_str().filter(|command| !command.is_empty());
        let command = command.map_or_else(|| "verification".to_owned(), |command| format!("`{command}`"));
        format!("{command} {end}\n{}", text("validation_output"))
    });
    let texts = TEXTS.iter().map(|(key, heading)| (*heading, text(key).to_owned()));
    let rest = [
        ("Verification", verified.unwrap_or_default()),
        ("Files", files.collect::<Vec<_>>().join("\n")),
        (REPORT_PROBLEMS, lines(&attempt["refused"], "\n")),
    ];
    texts.chain(rest).filter(|(_, text)| !text.is_empty()).collect()
}
