//! Where an imported entry comes from, as its `details` say, and the entries that say it.
//!
//! The key decides whether something was imported before, whatever became of the entry since: it may have been renamed,
//! edited or archived.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::gathered::Fact;
use super::sources::ImportSource;
use super::write::ImportWrite;
use crate::entry::edit::list_items;
use crate::entry::knowledge::Knowledge;
use crate::entry::read::IMPORTED;
use crate::entry::{Id, frontmatter, timestamp};
use crate::index::catalog::RowId;
use crate::text::nfc;

/// An entry that was imported before.
#[derive(Debug, Clone)]
pub(super) struct ImportedBefore {
    pub(super) id: Id,
    /// Its row among the live entries; `None` if it is in the archive.
    pub(super) row: Option<RowId>,
    /// What the details say of the import.
    pub(super) imported: Map<String, Value>,
    /// Whether the body is still that one.
    pub(super) is_unedited: bool,
}

/// Returns the fingerprint of a body.
pub(super) fn hash_of(body: &str) -> String {
    let body = body.trim_matches(['\n', '\r']).trim_end().replace("\r\n", "\n");
    format!("{:016x}", xxh3_64(nfc(&body).as_bytes()))
}

impl ImportedBefore {
    /// Returns the items of a list that was imported.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        list_items(self.imported.get(name))
    }

    /// Returns a text that was imported.
    pub(super) fn word(&self, name: &str) -> Option<&str> {
        self.imported.get(name).and_then(Value::as_str)
    }
}

/// Returns the details of a fact's entry, with everything that a changed source may change in it. `knowledge` is that of
/// the fact as it is written.
pub(super) fn details(source: ImportSource, fact: &Fact, knowledge: &Knowledge) -> Map<String, Value> {
    let mut imported = json!({
        "source": source.as_str(),
        "id": fact.key,
        "path": fact.from.path,
        "hash": hash_of(&knowledge.body),
        "title": knowledge.title,
        "tags": knowledge.tags,
    });
    for (name, items) in [("files", &knowledge.files), ("replaces", &fact.replaces)] {
        if !items.is_empty() {
            imported[name] = json!(items);
        }
    }
    for (name, word) in [("category", &knowledge.category), ("status", &knowledge.status)] {
        if let Some(word) = word {
            imported[name] = json!(word);
        }
    }
    if let Some(heading) = &fact.from.heading {
        imported["heading"] = json!(heading);
    }
    if let Some(date) = fact.date {
        imported["date"] = json!(timestamp(date));
    }
    for (name, said) in &fact.said {
        imported[name] = said.clone();
    }
    Map::from_iter([(IMPORTED.to_owned(), imported)])
}

/// Returns the entries that were imported from a source, by their keys. A live one wins over those of the archive.
pub(super) fn imported_before(write: &ImportWrite<'_>, source: ImportSource) -> HashMap<String, ImportedBefore> {
    let mut known = HashMap::new();
    for (catalog, is_live) in [(write.archive, false), (write.live, true)] {
        for row in catalog.knowledge_rows() {
            let path = catalog.path(row);
            // A file that vanished since the scan is no longer known.
            let Ok(file) = write.workspace.store.read(&path) else { continue };
            let Ok(text) = String::from_utf8(file.bytes) else { continue };
            if let Some((key, imported, is_unedited)) = read(&text, source)
                && let Some(id) = catalog.id(row)
            {
                let row = is_live.then_some(row);
                known.insert(key, ImportedBefore { id, row, imported, is_unedited });
            }
        }
    }
    known
}

/// Returns the key, what was imported and whether the body is still that, for an entry of this source.
fn read(text: &str, source: ImportSource) -> Option<(String, Map<String, Value>, bool)> {
    // Most entries were never imported, and the parser is slow.
    if !text.contains(IMPORTED) {
        return None;
    }
    let split = frontmatter::split(text).ok()?;
    let fields = frontmatter::parse(&text[split.head]).ok()?;
    let imported = fields.get("details")?.get(IMPORTED)?.as_object()?;
    let word = |name: &str| imported.get(name).and_then(Value::as_str);
    let (key, hash) = (word("id")?, word("hash")?);
    (word("source")? == source.as_str())
        .then(|| (key.to_owned(), imported.clone(), hash == hash_of(&text[split.body..])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import_export::report::ImportOrigin;

    #[test]
    fn the_details_of_an_entry_are_read_back() {
        let key = "CLAUDE.md#Tests: \"all\" of them";
        let fact = Fact::new(key.into(), ImportOrigin::file("CLAUDE.md"), Knowledge::new("T", ["a"], "One.\n\nTwo."));
        let details = details(ImportSource::Sections, &fact, &fact.knowledge);
        let imported = details[IMPORTED].as_object().unwrap().clone();
        let knowledge = Knowledge { details: Some(details), ..fact.knowledge.clone() }.normalised().unwrap();
        let text = knowledge.to_file(chrono::DateTime::UNIX_EPOCH);
        assert_eq!(read(&text, ImportSource::Sections), Some((key.into(), imported, true)));
        assert_eq!(read(&text, ImportSource::Rules), None);
        let edited = text.replace("Two.", "Three.");
        assert_eq!(read(&edited, ImportSource::Sections).map(|(.., is_unedited)| is_unedited), Some(false));
    }
}
