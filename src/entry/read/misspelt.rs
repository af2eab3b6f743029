//! Looks for names of keys and categories that are probably misspelt.

use super::reader::EntryReader;
use crate::entry::knowledge::{EVENTS, LEARNINGS};
use crate::error::Severity;
use crate::text::nearest;

/// The keys of knowledge that are read, other programs' names for them included.
const KNOWLEDGE_KEYS: [&str; 18] = [
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
    "files",
    "questions",
    "details",
];

impl EntryReader<'_> {
    /// Reports keys that are none and look like one: other programs have keys of their own, which are nobody's business.
    pub(super) fn look_for_misspelt(&mut self) {
        let is_there = |key: &str| self.keys.iter().any(|known| known.name == key);
        let misspelt = self.keys.iter().filter_map(|key| {
            let meant = nearest(&key.name, KNOWLEDGE_KEYS.into_iter()).filter(|meant| !is_there(meant))?;
            Some((self.head_start + key.start, key.name.clone(), meant))
        });
        for (offset, key, meant) in misspelt.collect::<Vec<_>>() {
            let message = format!("`{key}` is not a key that is read");
            self.report(Severity::Notice, "unknown-key", Some(offset), &message, &format!("did you mean `{meant}`?"));
        }
        let category = self.head.category.clone().unwrap_or_default();
        if let Some(meant) = nearest(&category, LEARNINGS.into_iter().chain(EVENTS)) {
            let message = format!("`{category}` is no category that is told apart from others");
            let hint = format!("did you mean `{meant}`?");
            self.report(Severity::Notice, "unknown-category", self.place_of("category"), &message, &hint);
        }
    }
}
