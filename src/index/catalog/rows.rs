//! Finds the rows of a kind, a task, a feature, a section or a run.
//!
//! Rows have hashes of these names, so the heads of other rows are hardly ever decoded.

use std::ops::Range;

use super::Catalog;
use super::heads::{HeadStart, Window};
use super::table::{self, GONE, RowId, number};
use crate::entry::Head;
use crate::text::is_same_name;

impl Catalog {
    /// Returns the rows in their order.
    pub fn rows(&self) -> Range<RowId> {
        0..number(self.table.rows.len())
    }

    /// Removes the rows with a head that is not kept. What is left is for answers, and must not be saved.
    pub fn retain(&mut self, keep: impl Fn(&Head) -> bool) {
        for row in self.rows().filter(|row| !keep(&self.head(*row))).collect::<Vec<_>>() {
            // The committed index has its document still.
            self.stale.insert(self.path(row), 0);
            self.table.rows[row as usize].set(GONE, true);
        }
        self.table.compact();
        self.forget_derived();
    }

    /// Returns the rows of knowledge entries in their order, without examining each row's path.
    pub fn knowledge_rows(&self) -> Range<RowId> {
        self.first_knowledge()..number(self.table.rows.len())
    }

    /// Calls `visit` with each row of knowledge that the index should contain and the beginning of its head. That takes a
    /// fraction of the time for whole heads.
    pub(crate) fn visit_knowledge(&self, mut visit: impl FnMut(RowId, &HeadStart<'_>)) {
        let (mut window, mut path) = (Window::default(), String::new());
        let first = self.table.folders.partition_point(|folder| self.table.folder_text(folder) < self.area.knowledge());
        for folder in first..self.table.folders.len() {
            for at in self.table.rows_of(folder).filter(|at| self.table.rows[*at].is_indexable()) {
                let row = &self.table.rows[at];
                path.clear();
                path.extend([self.table.folder_path(folder), "/", self.table.name(row)]);
                match self.heads.start(&mut window, row, &path) {
                    Some(start) => visit(number(at), &start),
                    None => visit(number(at), &HeadStart::from(&self.head(number(at)))),
                }
            }
        }
    }

    /// Returns the rows of attempts in their order, without examining each row's path.
    pub fn journal_rows(&self) -> Range<RowId> {
        0..self.first_knowledge()
    }

    /// Returns the rows of the attempts that this work tree has files of, in their order.
    pub fn own_journal_rows(&self) -> Range<RowId> {
        0..self.first_below(self.area.roots()[1])
    }

    fn first_knowledge(&self) -> RowId {
        self.first_below(self.area.knowledge())
    }

    /// Returns the first row below a folder, or after it: folders are in the order of their paths, and so are their rows.
    fn first_below(&self, root: &str) -> RowId {
        let first = self.table.folders.partition_point(|folder| self.table.folder_text(folder) < root);
        self.table.folders.get(first).map_or(number(self.table.rows.len()), |folder| folder.first)
    }

    /// Returns the rows of the attempts at a task, in their order. It decodes hardly any head of another attempt.
    pub fn rows_of_task(&self, task_id: &str) -> Vec<RowId> {
        self.of_task(self.journal_rows(), task_id)
    }

    /// Returns the rows of the knowledge that names a task, in their order. It decodes hardly any head of another entry.
    pub fn knowledge_of_task(&self, task_id: &str) -> Vec<RowId> {
        self.of_task(self.knowledge_rows(), task_id)
    }

    fn of_task(&self, rows: Range<RowId>, task_id: &str) -> Vec<RowId> {
        let near = self.rows_by_hash(&self.by_task, table::hash_of_name(Some(task_id)), |row| row.task);
        let near = near.filter(|row| rows.contains(row));
        near.filter(|&row| is_same_name(self.head(row).task_id.as_deref(), Some(task_id))).collect()
    }

    /// Returns the rows of the attempts that may belong to a feature, in their order: all that do, and hardly ever
    /// another one, which its head shows. It decodes no head.
    pub fn rows_near_feature(&self, feature: &str) -> Vec<RowId> {
        let hash = table::hash_of_name(Some(feature));
        self.journal_rows().filter(|&row| self.row(row).feature == hash).collect()
    }

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
        let [root, copies, _] = self.area.roots();
        let is_of_run = |path: &str| {
            let below = [root, copies].iter().find_map(|root| path.strip_prefix(root)?.strip_prefix('/'));
            below.is_some_and(|below| below.rsplit('/').next() == Some(run_id))
        };
        let folders = (0..self.table.folders.len()).filter(|&folder| is_of_run(self.table.folder_path(folder)));
        folders.flat_map(|folder| self.table.rows_of(folder)).map(number).collect()
    }

    /// Returns the rows of the knowledge that was learned in a run, in their order.
    pub fn knowledge_of_run(&self, run_id: &str) -> Vec<RowId> {
        let is_of_run = |row: &RowId| self.light_head(*row).run_id.as_deref() == Some(run_id);
        self.knowledge_rows().filter(is_of_run).collect()
    }
}
