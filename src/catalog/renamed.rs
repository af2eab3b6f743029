//! Finds entries by the ids that they had before they were renamed.

use std::collections::HashMap;

use super::Catalog;
use super::table::{ALIASES, RowId};
use crate::entry::Id;

impl Catalog {
    /// Returns the row that has an id, else the rows of the entries that had it before they were renamed: several if
    /// branches were merged.
    pub fn rows_of_name(&self, id: &Id) -> Vec<RowId> {
        if let Some(row) = self.row_of_id(id) {
            return vec![row];
        }
        let had_it = |row: &RowId| self.head(*row).old_ids().any(|old| old == *id);
        self.rows().filter(|row| self.row(*row).has(ALIASES) && self.is_indexable(*row)).filter(had_it).collect()
    }

    /// Returns the rows of knowledge whose files have this stem in upper or lower case: some file systems have only one of
    /// them.
    pub fn rows_like(&self, stem: &str) -> impl Iterator<Item = RowId> {
        self.knowledge_rows().filter(move |row| {
            let name = self.table.name(self.row(*row));
            name.strip_suffix(".md").is_some_and(|name| name.eq_ignore_ascii_case(stem))
        })
    }

    /// Returns the ids of these rows.
    pub fn ids_of_name(&self, id: &Id) -> Vec<Id> {
        self.rows_of_name(id).into_iter().filter_map(|row| self.id(row)).collect()
    }

    /// Returns the current id of each id that an entry had before it was renamed, unless another entry has it now.
    pub fn renamed(&self) -> HashMap<Id, Id> {
        let mut renamed = HashMap::new();
        for row in self.rows().filter(|row| self.row(*row).has(ALIASES) && self.is_indexable(*row)) {
            let Some(id) = self.id(row) else { continue };
            for old in self.head(row).old_ids() {
                if self.row_of_id(&old).is_none() {
                    renamed.entry(old).or_insert_with(|| id.clone());
                }
            }
        }
        renamed
    }
}
