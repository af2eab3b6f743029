//! What was found in a file, before it is compared with the memory.

use chrono::{DateTime, Utc};
use serde_json::{Map, json};

use super::files::ImportFile;
use super::report::ImportOrigin;
use crate::entry::imported::{IMPORTED, hash_of};
use crate::entry::knowledge::Knowledge;
use crate::text::shorten;

/// The longest title, in characters. A longer one is continued in the body.
const MAX_TITLE: usize = 200;
/// The longest name of a place in a key, in characters.
const MAX_PLACE: usize = 80;

/// One fact of a file.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Its place: the file and, behind a `#`, what it is in. Several items of a list have one place.
    pub(super) key: String,
    pub(super) from: ImportOrigin,
    pub(super) date: Option<DateTime<Utc>>,
    /// Its title where another entry has its own.
    pub(super) longer_title: String,
    pub(super) knowledge: Knowledge,
}

impl Item {
    /// Returns an item that begins on a line of the text of a file. Its longer title begins with `of`.
    pub(super) fn new(file: &ImportFile, place: Option<&str>, line: usize, of: &str, knowledge: Knowledge) -> Item {
        let mut knowledge = knowledge;
        let title = knowledge.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.chars().count() > MAX_TITLE {
            knowledge.body = format!("{title}\n\n{}", knowledge.body);
        }
        knowledge.title = shorten(&title, MAX_TITLE);
        let knowledge = knowledge.normalised().unwrap_or(knowledge);
        let place = place.map(|place| format!("#{}", shorten(place, MAX_PLACE))).unwrap_or_default();
        let line = (line > 0).then_some(file.n_before + line);
        Item {
            key: format!("{}{place}", file.key),
            from: ImportOrigin { line, ..ImportOrigin::file(&file.path) },
            date: None,
            longer_title: format!("{of}: {}", knowledge.title),
            knowledge,
        }
    }

    /// Returns the hashes of the item, under each of its titles.
    pub(super) fn hashes(&self) -> [String; 2] {
        let Knowledge { status, body, .. } = &self.knowledge;
        [&self.knowledge.title, &self.longer_title].map(|title| hash_of(title, status.as_deref(), body))
    }

    /// Returns the item as it is written under a title.
    pub(super) fn titled(&self, title: &str) -> Knowledge {
        let mut knowledge = Knowledge { title: title.to_owned(), ..self.knowledge.clone() };
        let hash = hash_of(&knowledge.title, knowledge.status.as_deref(), &knowledge.body);
        knowledge.details = Some(Map::from_iter([(IMPORTED.to_owned(), json!({"id": self.key, "hash": hash}))]));
        knowledge
    }
}
