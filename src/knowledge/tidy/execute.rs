//! `tidy`: collects what the plans need, archives what is no longer used, and merges learnings that belong together.
//!
//! The plans are made without the lock, which is then held once, while files are written and moved. Each merge keeps the old
//! version first, then writes the new one, and only then archives the others: a crash at any point leaves each statement in
//! a file.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use xxhash_rust::xxh3::xxh3_64;

use super::archiving::{PlannedMove, SAVED, archived_names, move_planned, skipped};
use super::plan::{Learning, LiveEntry, PlannedMerge, ReplacedBy, plan_merges, plan_moves};
use super::report::{MergedLearnings, TidyReport};
use crate::entry::knowledge::{Class, class};
use crate::entry::{EntryPath, Head, Id, Kind};
use crate::error::{Error, Result};
use crate::index::catalog::{Area, Catalog};
use crate::journal::{settle_copies, summaries};
use crate::knowledge::may_change;
use crate::open::Memory;
use crate::search::retrieve::{replacements, superseded};
use crate::store::Lock;
use crate::workspace::{Work, Workspace};

/// A merge of learnings, with the names of its files in the archive.
struct NamedMerge {
    report: MergedLearnings,
    /// The file of the learning that takes over the others, as it was and after the merge.
    old: String,
    new: String,
    others: Vec<PlannedMove>,
}

impl Memory {
    /// Moves to the archive what the settings `maintenance.*` and `events.*` say is finished, expired, superseded, over the
    /// limit or out of use, and merges learnings that have half of their tags in common, where there are more than the setting
    /// `maintenance.learnings` allows. The newest of these takes over what the others say; the others, and its own version
    /// before, go to the archive. With `dry_run` it only reports what it would do. Nothing is deleted: [`Memory::restore`]
    /// brings everything back.
    ///
    /// Other processes can write meanwhile: the lock is held for a fifth of a second at a time, and not while the plan
    /// is made. A file that another program saves in between stays, and so do the learnings that it was to be merged with;
    /// that is reported.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// Memory::init(root)?;
    /// std::fs::write(root.join(".ralph/config.toml"), "format = 1\nmaintenance.learnings = 1\n")?;
    /// let text = "---\ntitle: Freeze\ntags: [ci]\nexpires_at: 2020-01-01\n---\n\nNo merges until the release.\n";
    /// std::fs::write(root.join(".ralph/knowledge/freeze.md"), text)?;
    /// let memory = Memory::open(root)?;
    /// for (title, text) in [("Benches need nightly", "Use `cargo +nightly`."), ("Clippy runs in CI", "Fix its warnings.")] {
    ///     let learning = Knowledge::new(title, ["cargo"], text);
    ///     memory.add(&Knowledge { category: Some("pitfall".into()), source: Source::Agent, ..learning })?;
    /// }
    /// let planned = memory.tidy(true)?;
    /// assert_eq!(planned.moved[0].to.as_str(), ".ralph/archive/knowledge/freeze.md");
    /// assert_eq!(planned.merged.len(), 1);
    /// assert_eq!(memory.tidy(false)?, planned);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] where another process kept writing, and
    /// [`Error::Io`]. What was done until then stays done, and another call does the rest. A learning that
    /// became part of another and could not be moved is superseded, so no context has it twice, and a later call archives it.
    pub fn tidy(&self, dry_run: bool) -> Result<TidyReport> {
        let _operation = self.operation("tidy");
        let report = tidy_with(&self.workspace, dry_run, &mut || {})?;
        if !dry_run {
            settle_copies(&self.workspace, &self.workspace.lock_within_git()?);
        }
        Ok(report)
    }
}

/// Tidies, and calls `interrupt` between the plan and the lock, so that tests can act as an editor there.
fn tidy_with(workspace: &Workspace, dry_run: bool, interrupt: &mut dyn FnMut()) -> Result<TidyReport> {
    let (moves, merges) = plan(workspace)?;
    let mut report = TidyReport::default();
    if dry_run {
        report.merged = merges.iter().map(|merge| merge.report.clone()).collect();
        let others = merges.into_iter().flat_map(|merge| merge.others);
        report.moved = moves.into_iter().chain(others).map(|planned| planned.entry).collect();
        return Ok(report);
    }
    if moves.is_empty() && merges.is_empty() {
        return Ok(report);
    }
    interrupt();
    let (lock, busy) = workspace.lock_entries()?.into_parts();
    let n_files = moves.len() + merges.iter().map(|merge| merge.others.len() + 1).sum::<usize>();
    let mut archiving = workspace.doing(Work::Archiving, Some(n_files));
    move_planned(workspace, &lock, &moves, &mut report)?;
    archiving.advance(moves.len());
    for merge in merges {
        merge_planned(workspace, &lock, &merge, &mut report)?;
        archiving.advance(merge.others.len() + 1);
    }
    drop((lock, archiving));
    if !(report.moved.is_empty() && report.merged.is_empty()) {
        workspace.commit_moved();
        report.problems.extend(busy);
    }
    Ok(report)
}

/// Plans what goes to the archive, and the merges: an entry that goes to the archive is merged into none.
fn plan(workspace: &Workspace) -> Result<(Vec<PlannedMove>, Vec<NamedMerge>)> {
    let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
    workspace.check_whole(&live)?;
    workspace.check_whole(&archive)?;
    let now = workspace.now();
    let _comparing = workspace.doing(Work::Comparing, None);
    let hidden = superseded(&[&live], now);
    let attempts = summaries(now, &[&live, &archive], |catalog| catalog.journal_rows().collect());
    let replaced = replacements_of(&live, &hidden, now);
    let settings = &workspace.settings;
    let mut entries = live_entries(&live);
    entries.retain(|entry| entry.counts);
    for entry in &mut entries {
        entry.head = std::mem::take(&mut entry.head).without_future(now);
    }
    let mut names = archived_names(&archive);
    let author = &workspace.store.author;
    let due = plan_moves(&entries, (&attempts, &replaced), now).into_iter();
    let due = due.filter(|(entry, _)| may_change(author, &entry.head)).map(|(entry, reason)| {
        let fingerprint = live.row_of_path(&entry.path).map_or(0, |row| live.fingerprint(row));
        PlannedMove::new((&entry.id, &entry.path), fingerprint, Some(reason), &mut names, now)
    });
    let moves: Vec<PlannedMove> = due.collect();
    let gone: HashSet<&Id> = hidden.iter().chain(moves.iter().map(|planned| &planned.entry.id)).collect();
    let learnings = live_learnings(workspace, &entries, &gone, now);
    let merges = plan_merges(&learnings, settings.maintenance.learnings, now).into_iter().map(|merge| {
        let PlannedMerge { into, new, others } = merge;
        let ids = others.iter().map(|other| other.id.clone()).collect();
        let report = MergedLearnings { into: into.id.clone(), path: EntryPath::new(&into.path), ids };
        let others = others.into_iter().map(|Learning { id, path, text, .. }| {
            PlannedMove::new((id, path), xxh3_64(text.as_bytes()), None, &mut names, now)
        });
        NamedMerge { report, old: into.text.clone(), new, others: others.collect() }
    });
    let merges = merges.collect();
    Ok((moves, merges))
}

/// Returns the files of the live entries.
pub(crate) fn live_entries(live: &Catalog) -> Vec<LiveEntry> {
    let entry = |row| {
        let (path, head) = (live.path(row), live.head(row));
        Some(LiveEntry { id: live.id(row)?, path, head, counts: live.is_indexable(row) })
    };
    live.rows().filter_map(entry).collect()
}

/// Returns the superseded entries, each with those that replace it, and when these were written.
fn replacements_of(live: &Catalog, hidden: &HashSet<Id>, now: DateTime<Utc>) -> ReplacedBy {
    let mut replaced = ReplacedBy::new();
    for (new, old) in replacements(&[live], now).counted {
        let written = live.row_of_id(&new).and_then(|row| live.head(row).without_future(now).recency());
        if hidden.contains(&old) && new != old {
            replaced.entry(old).or_default().push((new, written));
        }
    }
    replaced
}

/// Returns the learnings that may be merged: all but those in `gone`.
fn live_learnings(
    workspace: &Workspace,
    entries: &[LiveEntry],
    gone: &HashSet<&Id>,
    now: DateTime<Utc>,
) -> Vec<Learning> {
    let is_learning = |head: &Head| {
        head.kind == Kind::Knowledge
            && head.valid
            && class(head.category.as_deref()) == Class::Learning
            && !head.is_expired(now)
    };
    let may_merge = |head: &Head| is_learning(head) && may_change(&workspace.store.author, head);
    let learnings = entries.iter().filter(|entry| !gone.contains(&entry.id) && may_merge(&entry.head));
    learnings
        .filter_map(|LiveEntry { id, path, .. }| {
            // A file that disappeared or changed since the scan may not be a learning any more.
            let (text, mut entry) = workspace.read_entry(path).ok()?;
            entry.head = entry.head.without_future(now);
            may_merge(&entry.head).then(|| Learning { id: id.clone(), path: path.clone(), text, entry })
        })
        .collect()
}

/// Merges learnings as planned, unless one of them changed since the plan was made.
fn merge_planned(workspace: &Workspace, lock: &Lock, planned: &NamedMerge, report: &mut TidyReport) -> Result<()> {
    let NamedMerge { report: merged, old, new, others } = planned;
    if let Some(problem) = others.iter().find_map(|other| other.changed(workspace)) {
        report.problems.push(problem);
        return Ok(());
    }
    match workspace.replace(lock, merged.path.as_relative(), old, new) {
        Ok(problems) => report.problems.extend(problems),
        Err(Error::Conflict { kept: None, .. }) => {
            report.problems.push(skipped(&merged.path, SAVED));
            return Ok(());
        }
        Err(error) => return Err(error),
    }
    report.merged.push(merged.clone());
    move_planned(workspace, lock, others, report)
}

#[cfg(test)]
mod tests {
    use super::super::archiving::GONE;
    use super::super::tests::with_pairs;
    use super::*;

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
        let report = tidy_with(&memory.workspace, false, &mut save).unwrap();
        assert_eq!(report.moved.iter().map(|moved| moved.id.stem()).collect::<Vec<_>>(), ["old-1"]);
        let told: Vec<&str> = report.problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(told, [format!("left as it is: {GONE}"), format!("left as it is: {SAVED}")]);
        assert_eq!(std::fs::read_to_string(path("old-0")).unwrap(), kept);
    }

    /// Merges a pair, of which another program saves one after the plan was made.
    fn saved_in_between(name: &str) {
        let (folder, memory) = with_pairs(1);
        let path = folder.path().join(format!(".ralph/knowledge/{name}-0.md"));
        let text = std::fs::read_to_string(&path).unwrap() + "\nAnd a word that nobody has read.\n";
        let other = folder.path().join(format!(".ralph/knowledge/{}-0.md", if name == "old" { "new" } else { "old" }));
        let before = std::fs::read_to_string(&other).unwrap();
        let report = tidy_with(&memory.workspace, false, &mut || std::fs::write(&path, &text).unwrap()).unwrap();
        assert_eq!((report.merged.len(), report.moved.len()), (0, 0));
        let told = format!(".ralph/knowledge/{name}-0.md");
        assert_eq!(report.problems.iter().map(|problem| &problem.path).collect::<Vec<_>>(), [&told]);
        assert_eq!((std::fs::read_to_string(&path).unwrap(), std::fs::read_to_string(other).unwrap()), (text, before));
        assert!(
            !folder.path().join(".ralph/archive/knowledge").exists()
                || memory.workspace.catalog(Area::Archive).is_empty()
        );
        // The next call reads it again.
        assert_eq!(memory.tidy(false).unwrap().merged.len(), 1);
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
