//! Finds entries by the ids that they had before they were renamed or moved into a folder.

use std::collections::{BTreeSet, HashMap};

use super::Catalog;
use super::table::{ALIASES, RowId, number};
use crate::entry::path::without_extension;
use crate::entry::{EntryNames, Head, Id};
use crate::store::version_of;

impl Catalog {
    /// Returns the row that has an id, else the rows of the entries that had it before they were renamed: several if
    /// branches were merged. For an id without a folder that leads nowhere else, the rows of the entries that have or had
    /// its name in a folder.
    pub fn rows_of_name(&self, id: &Id) -> Vec<RowId> {
        let once_called = || self.rows_once_called(id).collect();
        let rows: Vec<RowId> = self.row_of_id(id).map_or_else(once_called, |row| vec![row]);
        if rows.is_empty() {
            let named = self.names_in_folders().filter(|(name, ..)| Some(name.stem()) == id.bare());
            let rows: BTreeSet<RowId> = named.map(|(_, row, _)| row).collect();
            rows.into_iter().collect()
        } else {
            rows
        }
    }

    /// Returns the names in folders that knowledge has or had, with the rows and the current ids. Versions are not entries.
    fn names_in_folders(&self) -> impl Iterator<Item = (Id, RowId, Id)> {
        let root = self.area.knowledge();
        let folders = (0..self.table.folders.len()).filter(move |&folder| {
            self.table.folder_path(folder).strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
        });
        let rows = folders.flat_map(|folder| self.table.rows_of(folder)).map(number);
        let entries = rows.filter(|row| self.is_indexable(*row)).filter_map(|row| Some((row, self.id(row)?)));
        let entries = entries.filter(|(_, id)| id.is_in_folder() && version_of(id.stem()).is_none());
        let current = entries.map(|(row, id)| (id.clone(), row, id));
        let renamed = self.rows_with_aliases().filter_map(|row| Some((row, self.id(row)?)));
        let former = renamed.flat_map(|(row, id)| {
            self.head(row).old_ids().filter(Id::is_in_folder).map(move |old| (old, row, id.clone())).collect::<Vec<_>>()
        });
        current.chain(former)
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
            without_extension(name).is_some_and(|name| name.eq_ignore_ascii_case(stem))
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

    /// Returns the current id of the entry that had an id before it was renamed or moved into a folder, unless an entry has
    /// it now.
    pub fn renamed(&self, id: &Id) -> Option<&Id> {
        if self.row_of_id(id).is_some() {
            return None;
        }
        self.renamed.get_or_init(|| self.all_renamed()).get(id)
    }

    fn all_renamed(&self) -> HashMap<Id, Id> {
        let mut renamed = HashMap::new();
        for row in self.rows_with_aliases() {
            let Some(id) = self.id(row) else { continue };
            for old in self.head(row).old_ids() {
                if self.row_of_id(&old).is_none() {
                    renamed.entry(old).or_insert_with(|| id.clone());
                }
            }
        }
        let mut in_folders: HashMap<String, Option<Id>> = HashMap::new();
        for (name, _, id) in self.names_in_folders() {
            let known = in_folders.entry(name.stem().to_owned()).or_insert_with(|| Some(id.clone()));
            *known = known.take().filter(|known| *known == id);
        }
        for (stem, id) in in_folders {
            let bare = Id::parse(&stem).filter(|bare| self.row_of_id(bare).is_none());
            if let Some((bare, id)) = bare.zip(id) {
                renamed.entry(bare).or_insert(id);
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
            (_, Some(id)) => names.add_live(id, &live.light_head(row), live.is_indexable(row)),
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
            let head = is_entry.then(|| archive.light_head(row));
            names.add_archived(id, head.as_ref());
        }
    }
}
