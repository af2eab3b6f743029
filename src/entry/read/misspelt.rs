//! Finds misspelt names of keys and categories.

use super::reader::EntryReader;
use crate::entry::knowledge::{EVENTS, LEARNINGS};
use crate::error::Severity;
use crate::text::nearest;

/// The known keys of knowledge, with other programs' names for them.
const KNOWLEDGE_KEYS: [&str; 20] = [
    "title",
    "tags",
    "category",
    "feature",
    "scope",
    "importance",
    "source",
    "task_id",
    "run_id",
    "created_at",
    "created",
    "updated_at",
    "modified",
    "expires_at",
    "supersedes",
    "aliases",
    "files",
    "questions",
    "details",
    "fingerprints",
];

/// The code of the problem of a misspelt category.
pub(crate) const UNKNOWN_CATEGORY: &str = "unknown-category";

/// Returns the message and the hint for a category that resembles a known one.
pub(crate) fn misspelt_category(category: &str) -> Option<(String, String)> {
    let meant = nearest(category, LEARNINGS.into_iter().chain(EVENTS))?;
    Some((format!("`{category}` is not a known category"), format!("did you mean `{meant}`?")))
}

impl EntryReader<'_> {
    /// Reports unknown keys that resemble a known one. Other keys may belong to other programs.
    pub(super) fn look_for_misspelt(&mut self) {
        let is_there = |key: &str| self.keys.iter().any(|known| known.name == key);
        let misspelt = self.keys.iter().filter_map(|key| {
            let meant = nearest(&key.name, KNOWLEDGE_KEYS.into_iter()).filter(|meant| !is_there(meant))?;
            Some((self.head_start + key.start, key.name.clone(), meant))
        });
        for (offset, key, meant) in misspelt.collect::<Vec<_>>() {
            let message = format!("`{key}` is not a known key");
            self.report(Severity::Notice, "unknown-key", Some(offset), &message, &format!("did you mean `{meant}`?"));
        }
        let category = self.head.category.clone().unwrap_or_default();
        if let Some((message, hint)) = misspelt_category(&category) {
            self.report(Severity::Notice, UNKNOWN_CATEGORY, self.place_of("category"), &message, &hint);
        }
    }
}
