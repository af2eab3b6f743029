//! Finds entries by the ids that they had before they were renamed.

use std::collections::HashMap;

use super::Catalog;
use super::table::{ALIASES, RowId};
use crate::entry::Id;

impl Catalog {
    /// Returns the row that has an id, else the row of an entry that had it before it was renamed.
    pub fn row_of_name(&self, id: &Id) -> Option<RowId> {
        self.row_of_id(id).or_else(|| {
            let had_it = |row: &RowId| self.head(*row).old_ids().any(|old| old == *id);
            self.rows().filter(|row| self.row(*row).has(ALIASES) && self.is_indexable(*row)).find(had_it)
        })
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
