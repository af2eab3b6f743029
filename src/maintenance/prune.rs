//! `prune`: gathers what the plan needs, and moves the planned entries to the archive.
//!
//! The plan is made without the lock, so the lock is held only while files are moved.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::archiving::{ArchiveNames, LockedBatches, MAX_HOLD, PlannedMove, move_planned};
use super::plan::{PruneCandidate, PruneFacts, Replacement, plan_prune};
use super::report::MaintenanceReport;
use crate::catalog::{Area, Catalog};
use crate::entry::Id;
use crate::error::Result;
use crate::journal::summaries;
use crate::retrieve::{replacements, superseded};
use crate::workspace::{Work, Workspace};

/// How many files are moved before other processes may take the lock.
const BATCH: usize = 100;

/// Implements [`Memory::prune`](crate::Memory::prune).
pub(crate) fn prune(workspace: &Workspace, dry_run: bool) -> Result<MaintenanceReport> {
    prune_with(workspace, dry_run, MAX_HOLD, &mut || {})
}

fn prune_with(
    workspace: &Workspace,
    dry_run: bool,
    max_hold: Duration,
    interrupt: &mut dyn FnMut(),
) -> Result<MaintenanceReport> {
    let planned = planned_moves(workspace)?;
    if dry_run {
        let moved = planned.into_iter().map(|planned| planned.entry).collect();
        return Ok(MaintenanceReport { moved, ..MaintenanceReport::default() });
    }
    let mut batches = LockedBatches::new(workspace, max_hold, planned.len(), interrupt);
    for batch in planned.chunks(BATCH) {
        batches.run(batch.len(), |lock, report| move_planned(workspace, lock, batch, report))?;
    }
    Ok(batches.finish())
}

/// Returns the entries that are to go to the archive, with their names there.
fn planned_moves(workspace: &Workspace) -> Result<Vec<PlannedMove>> {
    let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
    workspace.check_whole(&live)?;
    workspace.check_whole(&archive)?;
    let now = workspace.now();
    let _comparing = workspace.doing(Work::Comparing, None);
    let catalogs = [&live, &archive];
    let facts = PruneFacts {
        attempts: summaries(now, &catalogs, |catalog| catalog.journal_rows().collect()),
        tasks: tasks_of_attempts(&catalogs),
        superseded: replacements_of(&live, now),
    };
    let settings = &workspace.settings;
    let decisions = plan_prune(&candidates(&live, now), &facts, now, settings.events);
    let mut names = ArchiveNames::of(&archive);
    let planned = decisions.into_iter().map(|decision| {
        let to = names.take(&decision.path, now);
        let fingerprint = live.row_of_path(&decision.path).map_or(0, |row| live.fingerprint(row));
        PlannedMove::new(decision.id, decision.path, to, fingerprint, Some(decision.reason))
    });
    Ok(planned.collect())
}

fn candidates(live: &Catalog, now: DateTime<Utc>) -> Vec<PruneCandidate> {
    let rows = live.rows().filter(|row| live.is_indexable(*row));
    rows.filter_map(|row| {
        Some(PruneCandidate { id: live.id(row)?, path: live.path(row), head: live.head(row).without_future(now) })
    })
    .collect()
}

/// Returns the task of each attempt that has one.
fn tasks_of_attempts(catalogs: &[&Catalog]) -> HashMap<Id, String> {
    let tasks = catalogs.iter().flat_map(|catalog| {
        catalog.journal_rows().filter_map(|row| Some((catalog.id(row)?, catalog.head(row).task_id?)))
    });
    tasks.collect()
}

/// Returns the superseded entries, each with those that replace it.
fn replacements_of(live: &Catalog, now: DateTime<Utc>) -> HashMap<Id, Vec<Replacement>> {
    let mut replaced: HashMap<Id, Vec<Replacement>> = HashMap::new();
    let hidden = superseded(&[live], now);
    for (new, old) in replacements(&[live], now).counted {
        let written = live.row_of_id(&new).and_then(|row| live.head(row).without_future(now).recency());
        if hidden.contains(&old) && new != old {
            replaced.entry(old).or_default().push(Replacement { by: new, written });
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::super::archiving::{GONE, SAVED};
    use super::super::tests::with_pairs;
    use super::*;
    use crate::entry::knowledge::Knowledge;
    use crate::memory::Memory;

    #[test]
    fn others_write_while_many_entries_are_archived() {
        let (folder, memory) = with_pairs(BATCH);
        let mut n_added = 0;
        let mut add = || {
            let other = Memory::open(folder.path()).unwrap();
            other.add(&Knowledge::new(format!("Another fact {n_added}"), ["b"], "It got the lock.")).unwrap();
            n_added += 1;
        };
        for pair in 0..BATCH {
            let path = folder.path().join(format!(".ralph/knowledge/new-{pair}.md"));
            let text = std::fs::read_to_string(&path).unwrap().replace("tags:", "expires_at: 2026-01-03\ntags:");
            std::fs::write(path, text).unwrap();
            let path = folder.path().join(format!(".ralph/knowledge/old-{pair}.md"));
            let text = std::fs::read_to_string(&path).unwrap().replace("tags:", "expires_at: 2026-01-03\ntags:");
            std::fs::write(path, text).unwrap();
        }
        let report = prune_with(&memory.workspace, false, Duration::ZERO, &mut add).unwrap();
        assert_eq!((report.moved.len(), report.problems), (2 * BATCH, Vec::new()));
        assert_eq!(n_added, 2);
    }

    #[test]
    fn an_entry_that_is_saved_between_plan_and_move_stays() {
        let (folder, memory) = with_pairs(2);
        let path = |name: &str| folder.path().join(format!(".ralph/knowledge/{name}.md"));
        for name in ["old-0", "new-0", "old-1"] {
            let text = std::fs::read_to_string(path(name)).unwrap().replace("tags:", "expires_at: 2026-01-03\ntags:");
            std::fs::write(path(name), text).unwrap();
        }
        let kept = "---\ntitle: Kept\ntags: [a]\n---\n\nIt holds for longer.\n";
        let mut save = || {
            std::fs::write(path("old-0"), kept).unwrap();
            std::fs::remove_file(path("new-0")).unwrap();
        };
        let report = prune_with(&memory.workspace, false, Duration::ZERO, &mut save).unwrap();
        assert_eq!(report.moved.iter().map(|moved| moved.id.stem()).collect::<Vec<_>>(), ["old-1"]);
        let told: Vec<&str> = report.problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(told, [format!("left as it is: {GONE}"), format!("left as it is: {SAVED}")]);
        assert_eq!(std::fs::read_to_string(path("old-0")).unwrap(), kept);
    }
}
