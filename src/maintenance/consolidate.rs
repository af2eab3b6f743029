//! `consolidate`: gathers the learnings, and merges those that the plan names.
//!
//! Each merge writes the new text first, and only then archives the others: a crash at any point leaves each statement in
//! a file.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use xxhash_rust::xxh3::xxh3_64;

use super::archiving::{ArchiveNames, LockedBatches, MAX_HOLD, PlannedMove, SAVED, move_planned, skipped};
use super::plan::{Learning, PlannedMerge, plan_merges};
use super::report::{ConsolidatedLearnings, MaintenanceReport};
use crate::catalog::{Area, Catalog};
use crate::entry::knowledge::{Class, class};
use crate::entry::path::display_path;
use crate::entry::{Head, Id, Kind};
use crate::error::{Error, Result};
use crate::retrieve::superseded;
use crate::store::Lock;
use crate::workspace::{Work, Workspace};

/// A planned merge with the names of its files in the archive.
struct NamedMerge {
    merge: PlannedMerge,
    others: Vec<PlannedMove>,
}

impl NamedMerge {
    fn report(&self) -> ConsolidatedLearnings {
        ConsolidatedLearnings {
            into: self.merge.into.clone(),
            path: display_path(&self.merge.path),
            ids: self.others.iter().map(|other| other.entry.id.clone()).collect(),
        }
    }

    /// The number of files that it touches: the others, and the learning that takes them over.
    fn n_files(&self) -> usize {
        self.others.len() + 1
    }
}

/// Implements [`Memory::consolidate`](crate::Memory::consolidate).
pub(crate) fn consolidate(workspace: &Workspace, dry_run: bool) -> Result<MaintenanceReport> {
    consolidate_with(workspace, dry_run, MAX_HOLD, &mut || {})
}

fn consolidate_with(
    workspace: &Workspace,
    dry_run: bool,
    max_hold: Duration,
    interrupt: &mut dyn FnMut(),
) -> Result<MaintenanceReport> {
    let merges = planned_merges(workspace)?;
    if dry_run {
        let mut report = MaintenanceReport::default();
        for merge in merges {
            report.merged.push(merge.report());
            report.moved.extend(merge.others.into_iter().map(|other| other.entry));
        }
        return Ok(report);
    }
    let n_files = merges.iter().map(NamedMerge::n_files).sum();
    let mut batches = LockedBatches::new(workspace, max_hold, n_files, interrupt);
    for merge in merges {
        batches.run(merge.n_files(), |lock, report| merge_planned(workspace, lock, &merge, report))?;
    }
    Ok(batches.finish())
}

/// Returns the merges that are to be done, with their names in the archive.
fn planned_merges(workspace: &Workspace) -> Result<Vec<NamedMerge>> {
    let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
    workspace.check_whole(&live)?;
    workspace.check_whole(&archive)?;
    let now = workspace.now();
    let _comparing = workspace.doing(Work::Comparing, None);
    let learnings = live_learnings(workspace, &live, now);
    let fingerprints: HashMap<&str, u64> =
        learnings.iter().map(|learning| (learning.path.as_str(), xxh3_64(learning.text.as_bytes()))).collect();
    let mut names = ArchiveNames::of(&archive);
    let merges = plan_merges(&learnings, workspace.settings.maintenance.learnings, now).into_iter();
    let named = merges.map(|merge| {
        let others = merge.others.iter().map(|(id, path)| {
            let fingerprint = fingerprints.get(path.as_str()).copied().unwrap_or_default();
            PlannedMove::new(id.clone(), path.clone(), names.take(path, now), fingerprint, None)
        });
        NamedMerge { others: others.collect(), merge }
    });
    Ok(named.collect())
}

fn live_learnings(workspace: &Workspace, live: &Catalog, now: DateTime<Utc>) -> Vec<Learning> {
    let superseded = superseded(&[live], now);
    let is_learning = |head: &Head, id: &Id| {
        head.kind == Kind::Knowledge
            && head.valid
            && class(head.category.as_deref()) == Class::Learning
            && !head.is_expired(now)
            && !superseded.contains(id)
    };
    let rows = live.knowledge_rows().filter(|row| live.is_indexable(*row));
    rows.filter_map(|row| {
        let (id, path) = (live.id(row)?, live.path(row));
        if !is_learning(&live.head(row), &id) {
            return None;
        }
        // A file that disappeared or changed since the scan may not be a learning any more.
        let (text, mut entry) = workspace.read_entry(&path).ok()?;
        entry.head = entry.head.without_future(now);
        is_learning(&entry.head, &id).then_some(Learning { id, path, text, entry })
    })
    .collect()
}

/// Merges learnings as planned, unless one of them changed since the plan was made.
fn merge_planned(
    workspace: &Workspace,
    lock: &Lock,
    planned: &NamedMerge,
    report: &mut MaintenanceReport,
) -> Result<()> {
    let NamedMerge { merge, others } = planned;
    if let Some(problem) = others.iter().find_map(|other| other.changed(workspace)) {
        report.problems.push(problem);
        return Ok(());
    }
    match workspace.replace(lock, &merge.path, &merge.old, &merge.new) {
        Ok(problems) => report.problems.extend(problems),
        Err(Error::Conflict { kept: None, .. }) => {
            report.problems.push(skipped(&merge.path, SAVED));
            return Ok(());
        }
        Err(error) => return Err(error),
    }
    report.merged.push(planned.report());
    move_planned(workspace, lock, others, report)
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_pairs;
    use super::*;
    use crate::entry::knowledge::Knowledge;
    use crate::memory::Memory;

    #[test]
    fn others_write_while_many_learnings_are_merged() {
        let (folder, memory) = with_pairs(5);
        let mut n_added = 0;
        let mut add = || {
            let other = Memory::open(folder.path()).unwrap();
            let fact = Knowledge::new(format!("Fact of another program {n_added}"), ["b"], "It got the lock.");
            assert_eq!(other.add(&fact).unwrap().action, crate::memory::WriteAction::Created);
            n_added += 1;
        };
        let report = consolidate_with(&memory.workspace, false, Duration::ZERO, &mut add).unwrap();
        assert_eq!((report.merged.len(), report.moved.len(), report.problems), (5, 5, Vec::new()));
        // Once before each of them.
        assert_eq!(n_added, 5);
    }

    /// Merges a pair, of which another program saves one after the plan was made.
    fn saved_in_between(name: &str) {
        let (folder, memory) = with_pairs(1);
        let path = folder.path().join(format!(".ralph/knowledge/{name}-0.md"));
        let text = std::fs::read_to_string(&path).unwrap() + "\nAnd a word that nobody has read.\n";
        let other = folder.path().join(format!(".ralph/knowledge/{}-0.md", if name == "old" { "new" } else { "old" }));
        let before = std::fs::read_to_string(&other).unwrap();
        let report =
            consolidate_with(&memory.workspace, false, Duration::ZERO, &mut || std::fs::write(&path, &text).unwrap())
                .unwrap();
        assert_eq!((report.merged.len(), report.moved.len()), (0, 0));
        let told = format!(".ralph/knowledge/{name}-0.md");
        assert_eq!(report.problems.iter().map(|problem| &problem.path).collect::<Vec<_>>(), [&told]);
        assert_eq!((std::fs::read_to_string(&path).unwrap(), std::fs::read_to_string(other).unwrap()), (text, before));
        assert!(
            !folder.path().join(".ralph/archive/knowledge").exists()
                || memory.workspace.catalog(Area::Archive).is_empty()
        );
        // The next call reads it again.
        assert_eq!(memory.consolidate(false).unwrap().merged.len(), 1);
        let merged = std::fs::read_to_string(folder.path().join(".ralph/knowledge/new-0.md")).unwrap();
        for word in ["Fact new 0.", "Fact old 0.", "And a word that nobody has read."] {
            assert!(merged.contains(word), "{merged}");
        }
    }

    #[test]
    fn a_learning_that_is_saved_between_plan_and_merge_is_not_lost() {
        saved_in_between("old");
        saved_in_between("new");
    }
}
