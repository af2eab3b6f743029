//! Claude Code's own memory of a project: a folder of markdown files, each with a type.

use serde_json::Value;

use super::files::ImportFile;
use super::gathered::{Fact, SourceContent};
use super::request::ImportRequest;
use super::sources::{CLAUDE_INDEX, file_name};
use crate::entry::knowledge::Knowledge;
use crate::entry::{Source, parse_time};
use crate::workspace::Workspace;

/// Reads what Claude Code remembers of the project. What it remembers of its user is personal, and stays where it is.
pub(super) fn read(_: &Workspace, _: &ImportRequest, file: &ImportFile, content: &mut SourceContent) {
    if file_name(&file.path) == CLAUDE_INDEX {
        return content.report.skip(file.origin(), "it only lists the other files");
    }
    let kind = word(file, &["type"]).unwrap_or("project");
    if kind == "user" {
        return content.report.skip(file.origin(), "it is about you, not about the project");
    }
    let title = word(file, &["description", "name"]).map(str::to_owned);
    let title = title.unwrap_or_else(|| file.stem().replace(['-', '_'], " "));
    let knowledge = Knowledge { source: Source::Agent, ..Knowledge::new(title, [kind], file.text.as_str()) };
    let fact = Fact::new(file.key.clone(), file.origin(), knowledge);
    let date = word(file, &["modified", "updated", "created"]).and_then(parse_time);
    content.add(Fact { date, ..fact });
}

/// Returns the text of a field, the first of these that has some. Some versions keep fields one level deeper.
fn word<'a>(file: &'a ImportFile, keys: &[&str]) -> Option<&'a str> {
    let inner = |key: &str| file.fields.get("metadata")?.get(key).and_then(Value::as_str).map(str::trim);
    let text = |key: &&str| file.word(&[key]).or_else(|| inner(key)).filter(|text| !text.is_empty());
    keys.iter().find_map(text)
}
