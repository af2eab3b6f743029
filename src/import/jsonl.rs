//! JSON Lines with the fields `title`, `body`, `tags`, `category` and `created_at`. Other fields are left alone.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::files::ImportFile;
use super::item::Item;
use super::report::{ImportOrigin, ImportReport};
use crate::entry::edit::list_items;
use crate::entry::knowledge::Knowledge;
use crate::entry::parse_time;
use crate::text::{read_json, title_of};

/// What a line has.
#[derive(Deserialize)]
struct LineFields {
    title: Option<String>,
    body: Option<String>,
    /// A list, or a text between commas.
    tags: Option<Value>,
    category: Option<String>,
    created_at: Option<String>,
}

/// Reads the lines of a file. What a line lacks is reported with its number.
///
/// # Errors
///
/// Why no line can be read.
pub(super) fn read(file: &ImportFile, report: &mut ImportReport) -> Result<Vec<Item>, &'static str> {
    let (mut items, mut n_lines, mut n_objects) = (Vec::new(), 0, 0);
    for (index, line) in file.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        n_lines += 1;
        n_objects += usize::from(line.trim_start().starts_with('{'));
        let parsed = read_json::<LineFields>(line.as_bytes()).map_err(|error| format!("it cannot be read: {error}"));
        match parsed.and_then(item) {
            Ok((knowledge, date)) => {
                let knowledge = Knowledge { source: file.writer, ..knowledge };
                let place = knowledge.title.clone();
                let item = Item::new(file, Some(&place), index + 1, file.stem(), knowledge);
                items.push(Item { date, ..item });
            }
            Err(reason) => {
                let from = ImportOrigin { line: Some(index + 1), ..ImportOrigin::file(&file.path) };
                report.skip(from, "", reason);
            }
        }
    }
    if n_lines > 0 && n_objects == 0 {
        return Err("it has no line with a JSON object; each line needs one with `title` and `body`");
    }
    Ok(items)
}

fn item(line: LineFields) -> Result<(Knowledge, Option<DateTime<Utc>>), String> {
    let body = line.body.filter(|body| !body.trim().is_empty()).ok_or("it has no `body`")?;
    let title = line.title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| title_of(&body));
    let date = match line.created_at {
        Some(at) => Some(parse_time(&at).ok_or(format!("its `created_at` is not a time: `{at}`"))?),
        None => None,
    };
    let tags = list_items(line.tags.as_ref());
    Ok((Knowledge { category: line.category, ..Knowledge::new(title, tags, body) }, date))
}
