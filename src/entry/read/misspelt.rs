//! Finds misspelt names of keys and categories.

use super::reader::EntryReader;
use crate::entry::fields::{self, EntryField, KNOWLEDGE};
use crate::entry::frontmatter::Fields;
use crate::entry::knowledge::{EVENTS, LEARNINGS};
use crate::error::Severity;
use crate::text::nearest;

/// The code of the problem of a misspelt category.
pub(crate) const UNKNOWN_CATEGORY: &str = "unknown-category";

/// Returns the message and the hint for a category that resembles a known one.
pub(crate) fn misspelt_category(category: &str) -> Option<(String, String)> {
    // With other letters it is a word of another program's, such as `Decision`.
    let meant =
        nearest(category, LEARNINGS.into_iter().chain(EVENTS)).filter(|meant| !meant.eq_ignore_ascii_case(category))?;
    Some((format!("`{category}` is not a known category"), format!("did you mean `{meant}`?")))
}

impl EntryReader<'_> {
    /// Reports unknown keys that resemble a known one. Other keys may belong to other programs.
    pub(super) fn look_for_misspelt(&mut self, fields: &Fields) {
        // The places of keys take a scan.
        if fields.keys().any(|key| fields::find(key).is_none()) {
            let misspelt = self.keys().iter().filter_map(|key| {
                let meant = nearest(&key.name, KNOWLEDGE.iter().flat_map(EntryField::names))?;
                let is_there = fields.contains_key(meant);
                // A word with more before or behind it is another word, such as `resource`.
                let is_other = key.name.contains(meant) && key.name.len() > meant.len() + 1;
                (!is_there && !is_other).then(|| (self.frontmatter.start + key.start, key.name.clone(), meant))
            });
            for (offset, key, meant) in misspelt.collect::<Vec<_>>() {
                let (message, hint) = (format!("`{key}` is not a known key"), format!("did you mean `{meant}`?"));
                self.report(Severity::Notice, "unknown-key", Some(offset), &message, &hint);
            }
        }
        let category = self.head.category.clone().unwrap_or_default();
        if let Some((message, hint)) = misspelt_category(&category) {
            self.report(Severity::Notice, UNKNOWN_CATEGORY, self.place_of("category"), &message, &hint);
        }
    }
}
