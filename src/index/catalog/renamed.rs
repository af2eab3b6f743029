//! Finds entries by the ids that they had before they were renamed.

use std::collections::HashMap;

use super::Catalog;
use super::table::{ALIASES, RowId};
use crate::entry::{EntryNames, Head, Id};
use crate::store::version_of;

impl Catalog {
    /// Returns the row that has an id, else the rows of the entries that had it before they were renamed: several if
    /// branches were merged.
    pub fn rows_of_name(&self, id: &Id) -> Vec<RowId> {
        self.row_of_id(id).map_or_else(|| self.rows_once_called(id).collect(), |row| vec![row])
    }

    /// Returns the ids of these rows.
    pub fn ids_of_name(&self, id: &Id) -> Vec<Id> {
        self.rows_of_name(id).into_iter().filter_map(|row| self.id(row)).collect()
    }

    /// Returns the rows of knowledge whose files have this stem in upper or lower case: some file systems have only one of
    /// them.
    pub fn rows_like(&self, stem: &str) -> impl Iterator<Item = RowId> {
        self.knowledge_rows().filter(move |row| {
            let name = self.table.name(self.row(*row));
            name.strip_suffix(".md").is_some_and(|name| name.eq_ignore_ascii_case(stem))
        })
    }

    /// Returns the rows of the entries that had an id before they were renamed, or that have it and had another one
    /// between. Versions are not entries.
    fn rows_once_called(&self, id: &Id) -> impl Iterator<Item = RowId> {
        let had_it = |row: &RowId| self.head(*row).old_ids().any(|old| old == *id);
        self.rows_with_aliases().filter(had_it)
    }

    fn rows_with_aliases(&self) -> impl Iterator<Item = RowId> {
        let is_entry = |row: &RowId| self.id(*row).is_some_and(|id| version_of(id.stem()).is_none());
        self.rows().filter(|row| self.row(*row).has(ALIASES) && self.is_indexable(*row)).filter(is_entry)
    }

    /// Returns the current id of each id that an entry had before it was renamed, unless another entry has it now.
    pub fn renamed(&self) -> HashMap<Id, Id> {
        let mut renamed = HashMap::new();
        for row in self.rows_with_aliases() {
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

/// Returns the names of all entries of both areas.
pub(crate) fn names(live: &Catalog, archive: &Catalog) -> EntryNames {
    names_with(live, archive, None)
}

/// Returns the names of all entries as they will be when the one in a row of the live catalog has this id and head.
pub(crate) fn names_with(live: &Catalog, archive: &Catalog, changed: Option<(RowId, &Id, &Head)>) -> EntryNames {
    let mut names = EntryNames::default();
    for row in live.rows() {
        match (changed, live.id(row)) {
            (Some((of, id, head)), _) if of == row => names.add_live(id.clone(), head, true),
            (_, Some(id)) => names.add_live(id, &live.head(row), live.is_indexable(row)),
            (_, None) => {}
        }
    }
    add_archived(&mut names, archive);
    names
}

/// Adds the names of the archived entries.
pub(crate) fn add_archived(names: &mut EntryNames, archive: &Catalog) {
    for row in archive.rows() {
        if let Some(id) = archive.id(row) {
            let is_entry = archive.is_indexable(row) && version_of(id.stem()).is_none();
            let head = is_entry.then(|| archive.head(row));
            names.add_archived(id, head.as_ref());
        }
    }
}
