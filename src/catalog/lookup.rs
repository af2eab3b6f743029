//! Finds the rows that belong together: to a section or to a run.

use std::collections::HashMap;
use std::sync::Arc;

use super::Catalog;
use super::table::{self, RowId, number};
use crate::text::is_same_name;

impl Catalog {
    /// Returns the rows of the attempts at tasks of a section, in their order. It decodes hardly any head of another
    /// attempt.
    pub fn rows_of_section(&self, section: &str) -> Vec<RowId> {
        let hash = table::hash_of_name(Some(section));
        let near = self.journal_rows().filter(|&row| self.row(row).section == hash);
        let own = |row| self.head(row).attempt.and_then(|attempt| attempt.section);
        near.filter(|&row| is_same_name(own(row).as_deref(), Some(section))).collect()
    }

    /// Returns the rows of a run's iterations, in their order: those in the folders of that name.
    pub fn rows_of_run(&self, run_id: &str) -> Vec<RowId> {
        let root = self.area.roots()[0];
        let is_of_run = |path: &str| {
            path.strip_prefix(root).is_some_and(|rest| rest.rsplit_once('/').is_some_and(|(_, name)| name == run_id))
        };
        let folders = (0..self.table.folders.len()).filter(|&folder| is_of_run(self.table.folder_path(folder)));
        folders.flat_map(|folder| self.table.rows_of(folder)).map(number).collect()
    }

    /// Returns a catalog that is quick to copy, and whose copies need not compute again what takes long.
    #[must_use]
    pub fn prepared(mut self) -> Catalog {
        self.rows_by_id();
        let mut by_run: HashMap<String, Vec<RowId>> = HashMap::new();
        for row in self.knowledge_rows() {
            if let Some(run_id) = self.head(row).run_id {
                by_run.entry(run_id).or_default().push(row);
            }
        }
        self.by_run = Some(Arc::new(by_run));
        self
    }

    /// Returns the rows of the knowledge that was learned in a run, in their order.
    pub fn knowledge_of_run(&self, run_id: &str) -> Vec<RowId> {
        if let Some(by_run) = &self.by_run {
            return by_run.get(run_id).cloned().unwrap_or_default();
        }
        let is_of_run = |row: &RowId| self.head(*row).run_id.as_deref() == Some(run_id);
        self.knowledge_rows().filter(is_of_run).collect()
    }
}
