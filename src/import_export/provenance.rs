//! Where an imported entry comes from, as its `details` say, and the entries that say it.
//!
//! The key decides whether something was imported before, whatever became of the entry since: it may have been renamed,
//! edited or archived.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::gathered::Fact;
use super::sources::ImportSource;
use super::write::ImportWrite;
use crate::entry::edit::list_items;
use crate::entry::imported::{GONE, IMPORTED, RELINKED, hash_of, is_unedited};
use crate::entry::knowledge::Knowledge;
use crate::entry::{Id, frontmatter, timestamp};

/// An entry that was imported before.
#[derive(Debug, Clone, Default)]
pub(super) struct ImportedBefore {
    pub(super) id: Id,
    pub(super) path: String,
    /// Whether it is not in the archive.
    pub(super) is_live: bool,
    /// What the details say of its source.
    pub(super) imported: Map<String, Value>,
    /// The fingerprint of its body, and whether that is the one that was imported.
    pub(super) hash: String,
    pub(super) is_unedited: bool,
    /// Whether an import archived it because its source was gone. A live one is there again because somebody restored it.
    pub(super) was_gone: bool,
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
    let lists = [("aliases", &knowledge.aliases), ("files", &knowledge.files), ("replaces", &fact.replaces)];
    for (name, items) in lists {
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
    for (name, date) in [("date", fact.date), ("expires_at", knowledge.expires_at)] {
        if let Some(date) = date {
            imported[name] = json!(timestamp(date));
        }
    }
    for (name, said) in &fact.said {
        imported[name] = said.clone();
    }
    Map::from_iter([(IMPORTED.to_owned(), imported)])
}

/// Returns the entries that were imported from a source, by their keys: a live one wins over those of the archive. Also
/// returns those of the archive whose text may come back in this source: that of another one is gone.
pub(super) fn imported_before(
    write: &ImportWrite<'_>,
    source: ImportSource,
) -> (HashMap<String, ImportedBefore>, Vec<ImportedBefore>) {
    let (mut known, mut elsewhere) = (HashMap::new(), Vec::new());
    for (catalog, is_live) in [(&write.archive, false), (&write.live, true)] {
        for row in catalog.knowledge_rows() {
            let path = catalog.path(row);
            // A file that vanished since the scan is no longer known.
            let Ok(file) = write.workspace.store.read(&path) else { continue };
            let Ok(text) = String::from_utf8(file.bytes) else { continue };
            let Some(id) = catalog.id(row) else { continue };
            match read(&text).map(|read| ImportedBefore { id, path, is_live, ..read }) {
                Some(before) if before.word("source") == Some(source.as_str()) => {
                    let key = before.word("id").unwrap_or_default().to_owned();
                    known.insert(key, before);
                }
                Some(before) if before.was_gone && !is_live => elsewhere.push(before),
                _ => {}
            }
        }
    }
    (known, elsewhere)
}

/// Reads what an entry says of its import.
fn read(text: &str) -> Option<ImportedBefore> {
    // Most entries were never imported, and the parser is slow.
    if !text.contains(IMPORTED) {
        return None;
    }
    let split = frontmatter::split(text).ok()?;
    let fields = frontmatter::parse(&text[split.head]).ok()?;
    let mut imported = fields.get("details")?.get(IMPORTED)?.as_object()?.clone();
    let has = |name: &str| imported.get(name).is_some_and(Value::is_string);
    ["source", "id", "hash"].into_iter().all(has).then_some(())?;
    let hash = hash_of(&text[split.body..]);
    let is_unedited = is_unedited(&imported, &hash);
    imported.remove(RELINKED);
    let was_gone = imported.remove(GONE).is_some();
    Some(ImportedBefore { imported, hash, is_unedited, was_gone, ..ImportedBefore::default() })
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
        let before = read(&text).unwrap();
        assert_eq!((before.imported, before.is_unedited, before.was_gone), (imported, true, false));
        let edited = text.replace("Two.", "Three.");
        assert!(!read(&edited).unwrap().is_unedited);
    }
}
