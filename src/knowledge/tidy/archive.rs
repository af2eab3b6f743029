//! `archive`: moves the entries that a caller names to the archive, all or none of them.

use std::path::PathBuf;

use super::archiving::{PlannedMove, archived_names};
use super::report::{ArchivedEntry, TidyReport};
use crate::entry::knowledge::timestamp;
use crate::entry::{EntryPath, Id, Kind, written};
use crate::error::{Error, Problem, Result};
use crate::index::catalog::{Area, Catalog};
use crate::knowledge::{permit, permit_removal, refuse_unlisted};
use crate::open::Memory;
use crate::store::Lock;
use crate::workspace::{Workspace, current_id, live_entry, no_such_entry};

impl Memory {
    /// Moves these live entries to the archive: knowledge, events or attempts. Either all of them are moved, or none.
    /// [`Memory::restore`] brings them back.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let id = memory.add(&Knowledge::new("Old staging host", ["staging"], "It is `stage-1`."))?.id;
    /// let archived = memory.archive(std::slice::from_ref(&id))?;
    /// assert_eq!(archived.moved[0].to.as_str(), ".ralph/archive/knowledge/old-staging-host.md");
    /// assert_eq!(memory.restore(&id, None)?.id, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchEntry`], [`Error::AlreadyArchived`],
    /// [`Error::Invalid`] without an id or with the old id of several entries, [`Error::Locked`],
    /// [`Error::Conflict`] where another program took a name in the archive, and
    /// [`Error::Io`].
    pub fn archive(&self, ids: &[Id]) -> Result<TidyReport> {
        let _operation = self.operation("archive");
        let workspace = &self.workspace;
        if ids.is_empty() {
            return Err(Error::invalid("ID", "name at least one entry"));
        }
        let lock = workspace.lock_entries()?;
        let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
        refuse_unlisted(workspace, &[&archive])?;
        let moved = move_to_archive(workspace, &lock, &live, &archive, ids)?;
        let mut problems = mark_all(workspace, &lock, &moved)?;
        workspace.commit_moved();
        let written: Vec<_> = moved.iter().map(|entry| workspace.store.full_path(entry.to.as_relative())).collect();
        problems.extend(lock.settled(&written));
        Ok(TidyReport { moved, merged: Vec::new(), problems })
    }

    /// Removes entries for good, live or archived: knowledge, events or attempts, these in all work trees of the clone. Nothing
    /// brings them back but [`Memory::undo`]. Returns the files that were removed.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let id = memory.add(&Knowledge::new("Wifi of the office", ["wifi"], "It is on the wall."))?.id;
    /// assert_eq!(memory.forget(std::slice::from_ref(&id))?[0].as_str(), ".ralph/knowledge/wifi-of-the-office.md");
    /// assert!(memory.show(&id).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Memory::archive`]. Files before the one that cannot be removed stay removed.
    pub fn forget(&self, ids: &[Id]) -> Result<Vec<EntryPath>> {
        let _operation = self.operation("archive --forget");
        let workspace = &self.workspace;
        let lock = workspace.lock_entries()?;
        let catalogs = [Area::Live, Area::Archive].map(|area| workspace.catalog(area));
        refuse_unlisted(workspace, &catalogs.each_ref())?;
        let [live, archive] = &catalogs;
        let mut removed: Vec<(String, u64)> = Vec::new();
        for id in ids {
            let id = current_id(live, archive, id)?;
            let found = catalogs.iter().find_map(|catalog| Some((catalog, catalog.row_of_id(&id)?)));
            let (catalog, row) = found.ok_or_else(|| no_such_entry(&workspace.store, &[live, archive], &id))?;
            let file = (catalog.path(row), catalog.fingerprint(row));
            let bytes = workspace.read_bytes(&file.0).unwrap_or_default();
            permit_removal(&workspace.store.author, (&id, &catalog.head(row)), &bytes)?;
            if !removed.contains(&file) {
                removed.push(file);
            }
        }
        let files: Vec<(&str, u64)> = removed.iter().map(|(path, fingerprint)| (path.as_str(), *fingerprint)).collect();
        workspace.store.remove_all(&lock, &files, true)?;
        workspace.commit_moved();
        Ok(files.into_iter().map(|(path, _)| EntryPath::new(path)).collect())
    }

    /// Returns the folders of git that have copies of attempts of this memory, also those that it does not read.
    #[doc(hidden)]
    pub fn copies_in_git(&self) -> Vec<PathBuf> {
        self.workspace.store.all_copies()
    }
}

/// Writes into each archived file who archived it. If one cannot be written, all of them get their old texts and paths back.
fn mark_all(workspace: &Workspace, lock: &Lock, moved: &[ArchivedEntry]) -> Result<Vec<Problem>> {
    let (by, at) = (&workspace.store.author, timestamp(workspace.now()));
    let (mut marked, mut problems) = (Vec::new(), Vec::new());
    for entry in moved.iter().filter(|entry| entry.id.kind() != Kind::Journal) {
        let path = entry.to.as_relative();
        let done = workspace.read_entry(path).and_then(|(old, _)| match written::archived(&old, by, &at) {
            Ok(new) => Ok((workspace.replace(lock, path, &old, &new)?, old, new)),
            Err(reason) => Err(Error::Uneditable { path: entry.to.to_string(), reason }),
        });
        match done {
            Ok((conflicts, old, new)) => {
                problems.extend(conflicts);
                marked.push((path, old, new));
            }
            Err(error @ Error::Uneditable { .. }) => {
                let hint =
                    "repair its frontmatter and add `archived_by: human`, so that no agent writes the same again";
                problems.push(Problem::warning(entry.to.to_string(), "not-marked", error.to_string(), hint));
            }
            Err(error) => {
                // If even that fails, the error names the first file that could not be written.
                for (path, old, new) in marked {
                    let _ = workspace.replace(lock, path, &new, &old);
                }
                let back: Vec<_> =
                    moved.iter().map(|entry| (entry.to.as_relative(), entry.from.as_relative())).collect();
                let _ = workspace.store.move_all(lock, &back);
                return Err(error);
            }
        }
    }
    Ok(problems)
}

/// Moves entries to the archive, all or none of them. The caller updates the index.
fn move_to_archive(
    workspace: &Workspace,
    lock: &Lock,
    live: &Catalog,
    archive: &Catalog,
    ids: &[Id],
) -> Result<Vec<ArchivedEntry>> {
    let planned = planned_moves(workspace, live, archive, ids)?;
    let moves: Vec<(&str, &str)> = planned.iter().map(PlannedMove::paths).collect();
    move_or_put_back(workspace, lock, &moves)?;
    Ok(planned.into_iter().map(|planned| planned.entry).collect())
}

/// Returns each entry once, with its path and its path in the archive.
fn planned_moves(workspace: &Workspace, live: &Catalog, archive: &Catalog, ids: &[Id]) -> Result<Vec<PlannedMove>> {
    let mut names = archived_names(archive);
    let mut planned: Vec<PlannedMove> = Vec::new();
    for id in ids {
        let (row, id) = live_entry(workspace, live, id)?;
        permit(&workspace.store.author, "archive", (&id, &live.head(row)))?;
        if planned.iter().all(|known| known.entry.id != id) {
            let (path, fingerprint) = (live.path(row), live.fingerprint(row));
            planned.push(PlannedMove::new((&id, &path), fingerprint, None, &mut names, workspace.now()));
        }
    }
    Ok(planned)
}

/// Moves files to their new paths. If one cannot be moved, those before it get their old paths back.
fn move_or_put_back(workspace: &Workspace, lock: &Lock, moves: &[(&str, &str)]) -> Result<()> {
    let results = workspace.store.move_all(lock, moves)?;
    let done: Vec<(&str, &str)> =
        moves.iter().zip(&results).filter(|(_, result)| result.is_ok()).map(|((from, to), _)| (*to, *from)).collect();
    let failed: Result<Vec<()>> = results.into_iter().collect();
    if failed.is_err() {
        // If even that fails, the error names the first file that could not be moved.
        let _ = workspace.store.move_all(lock, &done);
    }
    failed.map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_pairs;
    use crate::entry::Id;
    use crate::error::Error;

    fn ids(names: &[&str]) -> Vec<Id> {
        names.iter().map(|name| Id::parse(name).unwrap()).collect()
    }

    #[test]
    fn all_of_the_entries_are_archived_or_none() {
        let (folder, memory) = with_pairs(2);
        let is_live = |name: &str| folder.path().join(format!(".ralph/knowledge/{name}.md")).is_file();
        let refused = memory.archive(&ids(&["old-0", "absent", "new-0"]));
        assert!(matches!(refused, Err(Error::NoSuchEntry { .. })), "{refused:?}");
        assert!(is_live("old-0") && is_live("new-0"));
        let done = memory.archive(&ids(&["old-0", "new-1", "old-0"])).unwrap();
        let paths: Vec<&str> = done.moved.iter().map(|moved| moved.to.as_str()).collect();
        assert_eq!(paths, [".ralph/archive/knowledge/old-0.md", ".ralph/archive/knowledge/new-1.md"]);
        assert!(!is_live("old-0") && is_live("new-0") && is_live("old-1") && !is_live("new-1"));
        let again = memory.archive(&ids(&["new-0", "old-0"]));
        assert!(matches!(again, Err(Error::AlreadyArchived { .. })), "{again:?}");
        assert!(is_live("new-0"));
        memory.restore(&ids(&["old-0"])[0], None).unwrap();
        assert!(is_live("old-0"));
    }

    #[test]
    fn files_that_were_moved_before_a_failure_are_put_back() {
        let (folder, memory) = with_pairs(2);
        let lock = memory.workspace.lock_entries().unwrap();
        let moves = [
            ("knowledge/old-0.md", "archive/knowledge/old-0.md"),
            ("knowledge/absent.md", "archive/knowledge/absent.md"),
            ("knowledge/new-0.md", "archive/knowledge/new-0.md"),
        ];
        let failed = super::move_or_put_back(&memory.workspace, &lock, &moves);
        assert!(matches!(failed, Err(Error::Io { .. })), "{failed:?}");
        for name in ["old-0", "new-0"] {
            assert!(folder.path().join(format!(".ralph/knowledge/{name}.md")).is_file(), "{name}");
        }
    }
}
