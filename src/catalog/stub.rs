use super::*;
impl Catalog {
    pub fn journal_rows(&self) -> impl Iterator<Item = RowId> + use<> {
        0..self.knowledge_rows().start
    }
    pub fn rows_of_run(&self, run: &str) -> Vec<RowId> {
        self.journal_rows().filter(|r| self.path(*r).contains(&format!("journal/{run}/"))).collect()
    }
    pub fn rows_of_task(&self, task: &str) -> Vec<RowId> {
        self.journal_rows().filter(|r| self.head(*r).task_id.as_deref() == Some(task)).collect()
    }
}
