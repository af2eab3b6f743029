//! What the details of an entry say about the file that it was imported from.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use super::edit::Change;
use super::frontmatter;
use super::path::is_project_path;
use crate::text::nfc;

/// The key in `details` that says where an entry was imported from.
pub(crate) const IMPORTED: &str = "imported";
/// The key below it of an entry that an import archived because its source was gone.
pub(crate) const GONE: &str = "gone";
/// The key below it with the fingerprint of the body whose links followed a renamed entry.
pub(crate) const RELINKED: &str = "relinked";

/// Where an imported entry comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportedFrom {
    /// The source, such as `rules`.
    pub source: String,
    /// The file.
    pub path: String,
    /// What a repeated import recognises it by.
    pub id: String,
}

impl ImportedFrom {
    /// Returns the file of the project of which the entry is, or is a part.
    pub(crate) fn file(&self) -> Option<&str> {
        // A file elsewhere has a mark behind its path.
        let is_here = self.id.strip_prefix(&self.path).is_some_and(|rest| !rest.starts_with('@'));
        let is_file = matches!(self.source.as_str(), "sections" | "rules" | "adr" | "memory-bank" | "jsonl");
        Some(self.path.as_str()).filter(|path| is_here && is_file && is_project_path(path))
    }

    /// Returns the part of its file that it is, behind a `#` as in its id; `None` of all of it.
    pub(crate) fn section(&self) -> Option<&str> {
        self.id.strip_prefix(&self.path)?.split_once('#').map(|(_, section)| section)
    }

    /// Returns the names by which links mean it: that of its section, and the path of its file, from each folder on.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let section = self.section().map(|section| format!("{}#{section}", self.path));
        let path = without_extension(&self.path);
        let ends = path_ends(path).map(str::to_owned);
        section.into_iter().chain(ends)
    }
}

/// Returns a path, and what is left of it in each folder on the way: `a/b/c`, `b/c`, `c`.
pub(crate) fn path_ends(path: &str) -> impl Iterator<Item = &str> {
    std::iter::once(path).chain(path.match_indices('/').map(|(at, _)| &path[at + 1..]))
}

/// Returns a path or a name without the extension of markdown.
pub(crate) fn without_extension(path: &str) -> &str {
    [".md", ".markdown", ".mdc"].iter().find_map(|extension| path.strip_suffix(extension)).unwrap_or(path)
}

/// Returns the fingerprint of a body.
pub(crate) fn hash_of(body: &str) -> String {
    let body = body.trim_matches(['\n', '\r']).trim_end().replace("\r\n", "\n");
    format!("{:016x}", xxh3_64(nfc(&body).as_bytes()))
}

/// Returns whether a body with this fingerprint is still the one that was imported.
pub(crate) fn is_unedited(imported: &Map<String, Value>, hash: &str) -> bool {
    ["hash", RELINKED].iter().any(|key| imported.get(*key).and_then(Value::as_str) == Some(hash))
}

/// Returns the change that notes something about the import of an entry with this text; `None` of one that was not
/// imported. `note` gets what the details say of it, and the body.
pub(crate) fn noted(text: &str, note: impl FnOnce(&mut Map<String, Value>, &str)) -> Option<Change> {
    let split = frontmatter::split(text).ok()?;
    let mut details = frontmatter::parse(&text[split.head]).ok()?.remove("details")?;
    note(details.get_mut(IMPORTED)?.as_object_mut()?, &text[split.body..]);
    Some(Change::Set("details", details))
}

/// Returns the change by which an entry with this text forgets where it was imported from; `None` of one that was not.
pub(crate) fn detached(text: &str) -> Option<Change> {
    let mut details = frontmatter::parse(&text[frontmatter::split(text).ok()?.head]).ok()?.remove("details")?;
    details.as_object_mut()?.remove(IMPORTED)?;
    let is_empty = details.as_object().is_some_and(Map::is_empty);
    Some(if is_empty { Change::Remove("details") } else { Change::Set("details", details) })
}
