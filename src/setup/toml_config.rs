//! Inserts a server into settings in TOML, and removes it again, by lines: `toml_edit` would write the whole file again
//! with other line ends.

use serde_json::Value;
use toml::de::Error;

use super::entry::ConfigEntry;
use super::json::written;
use super::lines::{appended, cut_out, line_end};

/// Parses a file.
///
/// # Errors
///
/// Why it cannot be parsed.
pub(super) fn tree(text: &str) -> Result<Value, String> {
    toml::from_str(text).map_err(|error: Error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map(|line| format!(" on line {line}")).unwrap_or_default();
        format!("{}{line}", error.message())
    })
}

fn table(entry: &ConfigEntry, server: &Value) -> String {
    // These strings and lists are written as in JSON.
    let members = ["command", "args"].map(|key| format!("{key} = {}\n", written(&server[key], None, "")));
    format!("[{}]\n{}", entry.keys().join("."), members.concat())
}

/// Appends the table of a server.
pub(super) fn with(text: &str, entry: &ConfigEntry) -> String {
    appended(text, &table(entry, &entry.value))
}

/// Removes the lines of a server; `None` if they are not written as setup writes them.
pub(super) fn without(text: &str, entry: &ConfigEntry) -> Option<String> {
    let read = |text: &str| entry.keys().iter().try_fold(tree(text).ok()?, |value, key| value.get(key).cloned());
    let table = table(entry, &read(text)?).replace('\n', line_end(text));
    // The last line may lack its end.
    let start = text.rfind(table.trim_end())?;
    let end = text[start..].match_indices(['\n']).nth(2).map_or(text.len(), |(at, _)| start + at + 1);
    let is_whole = text[..start].is_empty() || text[..start].ends_with('\n');
    let left = cut_out(text, start..end);
    (is_whole && text[start..end].trim_end() == table.trim_end() && read(&left).is_none()).then_some(left)
}
