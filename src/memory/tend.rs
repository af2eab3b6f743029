//! Tending: what is over, one too many or like another goes to the archive, when that is asked for.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::Memory;
use crate::catalog::{Area, Catalog};
use crate::entry::knowledge::{Class, class};
use crate::entry::path::display_path;
use crate::entry::{Id, Kind};
use crate::error::{Error, Problem, Result, Severity};
use crate::journal::summaries;
use crate::retention::{self, Item, Learning, Merge, Reason, Record, Replacement};
use crate::retrieve::{replacements, superseded};
use crate::store::{Created, Lock, Unreadable, archived_path, let_others_lock};
use crate::workspace::{Ongoing, Work};

/// How many files are moved until it is looked whether others should have the lock.
const MOVES_AT_ONCE: usize = 100;
/// How long the lock is held until everyone who waits for it gets a try.
const TURN: Duration = Duration::from_millis(200);
/// How many files are written or moved between two commits of the index: whoever writes beside it reads those that are
/// in none.
const COMMIT_EVERY: usize = 1_000;

/// An entry that went to the archive, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// The entry.
    pub id: Id,
    /// Where it was, relative to the folder that holds `.ralph/`.
    pub from: String,
    /// Where it is now.
    pub to: String,
    /// Why; nothing of one that became part of another, which [`Tended::merged`] names.
    pub reason: Option<Reason>,
}

/// Learnings that became one, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// The one that has what the others said.
    pub into: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Where its version before is.
    #[serde(rename = "previous")]
    pub archived: String,
    /// The others.
    pub ids: Vec<Id>,
}

/// What [`Memory::prune`] or [`Memory::consolidate`] did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tended {
    /// What went to the archive.
    pub moved: Vec<Moved>,
    /// What became one.
    pub merged: Vec<Merged>,
    /// What happened on the way that a person should look at.
    pub problems: Vec<Problem>,
}

/// The names in the archive, those that are about to be taken included.
struct Taken(BTreeSet<String>);

impl Taken {
    fn of(archive: &Catalog) -> Taken {
        Taken(archive.rows().map(|row| archive.path(row)).collect())
    }

    /// Returns where the file at `path` goes; a version of it where it is kept beside.
    fn path(&mut self, path: &str, is_version: bool, now: chrono::DateTime<chrono::Utc>) -> String {
        let path = archived_path(path, is_version, now, &|path| self.0.contains(path));
        self.0.insert(path.clone());
        path
    }
}

/// A file that is to go to the archive.
struct Planned {
    from: String,
    to: String,
    /// Of the bytes that the plan was made from.
    fingerprint: u64,
    moved: Moved,
}

/// Takes the lock for one piece of work after the other, and lets others have it in between.
struct Turns<'a> {
    memory: &'a Memory,
    /// The lock, and when it was taken.
    lock: Option<(Lock, Instant)>,
    /// How long it is held at once.
    length: Duration,
    /// How many files were written or moved since the index was committed.
    n_uncommitted: usize,
    /// Says that git did not leave the work tree alone; then it is not waited for again.
    busy: Option<Problem>,
    archiving: Ongoing<'a>,
    /// Called before each turn, so that tests can be the program that comes between.
    interrupt: &'a mut dyn FnMut(),
}

impl<'a> Turns<'a> {
    fn new(memory: &'a Memory, length: Duration, n_files: usize, interrupt: &'a mut dyn FnMut()) -> Turns<'a> {
        let archiving = memory.doing(Work::Archiving, Some(n_files));
        Turns { memory, lock: None, length, n_uncommitted: 0, busy: None, archiving, interrupt }
    }

    /// Does a piece of work on so many files.
    fn take(&mut self, n_files: usize, work: impl FnOnce(&Lock) -> Result<()>) -> Result<()> {
        if self.lock.as_ref().is_some_and(|(_, begun)| begun.elapsed() >= self.length) {
            self.lock = None;
            if self.n_uncommitted >= COMMIT_EVERY {
                self.memory.commit_moved();
                self.n_uncommitted = 0;
            } else {
                let_others_lock();
            }
        }
        if self.lock.is_none() {
            (self.interrupt)();
            self.lock = Some((self.lock()?, Instant::now()));
        }
        let Some((lock, _)) = &self.lock else { return Ok(()) };
        self.n_uncommitted += n_files;
        work(lock)?;
        self.archiving.advance(n_files);
        Ok(())
    }

    fn lock(&mut self) -> Result<Lock> {
        if self.busy.is_some() {
            return self.memory.lock_within_git();
        }
        let (lock, busy) = self.memory.lock_entries()?.into_parts();
        self.busy = busy;
        Ok(lock)
    }

    /// Brings the index up to date with what was done, and says what went on meanwhile.
    fn end(self, tended: &mut Tended) {
        drop(self.lock);
        drop(self.archiving);
        if !(tended.moved.is_empty() && tended.merged.is_empty()) {
            self.memory.commit_moved();
            tended.problems.extend(self.busy);
        }
    }
}

impl Memory {
    /// Moves to the archive what the settings say is over, one too many or without use; with `dry_run`
    /// it only says what that would be, in the same words. Nothing is deleted: [`Memory::restore`]
    /// brings everything back.
    ///
    /// The lock is held while files are moved, for a fifth of a second at a time, and not while it is found out
    /// which. A file that somebody saves in between stays, and is reported.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] where another process kept writing, and [`Error::Io`]; what was moved until then
    /// stays moved, and calling again goes on.
    pub fn prune(&self, dry_run: bool) -> Result<Tended> {
        self.prune_with(dry_run, TURN, &mut || {})
    }

    fn prune_with(&self, dry_run: bool, turn: Duration, interrupt: &mut dyn FnMut()) -> Result<Tended> {
        let (live, archive) = (self.catalog(Area::Live), self.catalog(Area::Archive));
        let now = self.now();
        let comparing = self.doing(Work::Comparing, None);
        let items: Vec<Item> = live
            .rows()
            .filter(|row| live.is_indexable(*row))
            .filter_map(|row| Some(Item { id: live.id(row)?, path: live.path(row), head: live.head(row).as_of(now) }))
            .collect();
        let catalogs = [&live, &archive];
        let tasks = catalogs.iter().flat_map(|catalog| {
            catalog.journal_rows().filter_map(|row| Some((catalog.id(row)?, catalog.head(row).task_id?)))
        });
        let mut replaced: HashMap<Id, Vec<Replacement>> = HashMap::new();
        let hidden = superseded(&[&live], now);
        for (new, old) in replacements(&[&live], now) {
            let written = live.row_of_id(&new).and_then(|row| live.head(row).as_of(now).recency());
            if hidden.contains(&old) && new != old {
                replaced.entry(old).or_default().push(Replacement { by: new, written });
            }
        }
        let record = Record {
            attempts: summaries(now, &catalogs, |catalog| catalog.journal_rows().collect()),
            tasks: tasks.collect(),
            superseded: replaced,
        };
        let moves = retention::prune(&items, &record, now, &self.settings.tending, self.settings.events);
        let mut taken = Taken::of(&archive);
        let plan = moves.into_iter().map(|planned| {
            let to = taken.path(&planned.path, false, now);
            let fingerprint = live.row_of_path(&planned.path).map_or(0, |row| live.fingerprint(row));
            plan(planned.id, planned.path, to, fingerprint, Some(planned.reason))
        });
        let plan: Vec<Planned> = plan.collect();
        drop(comparing);
        let mut tended = Tended::default();
        if dry_run {
            tended.moved = plan.into_iter().map(|planned| planned.moved).collect();
            return Ok(tended);
        }
        let mut turns = Turns::new(self, turn, plan.len(), interrupt);
        for some in plan.chunks(MOVES_AT_ONCE) {
            turns.take(some.len(), |lock| self.move_planned(lock, some, &mut tended))?;
        }
        turns.end(&mut tended);
        Ok(tended)
    }

    /// Makes one of learnings that are alike, where there are more than the settings say; with `dry_run` it
    /// only says what that would be, in the same words. The others, and the newest as it was, go to the
    /// archive.
    ///
    /// The lock is held for a fifth of a second at a time. Where somebody saves one that would become part of another
    /// before its turn comes, both stay as they are, and that is reported.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::prune`]. What became part of another and could not be moved is superseded, so that
    /// nobody is told it twice, and goes with a later [`Memory::prune`].
    pub fn consolidate(&self, dry_run: bool) -> Result<Tended> {
        self.consolidate_with(dry_run, TURN, &mut || {})
    }

    fn consolidate_with(&self, dry_run: bool, turn: Duration, interrupt: &mut dyn FnMut()) -> Result<Tended> {
        let (live, archive) = (self.catalog(Area::Live), self.catalog(Area::Archive));
        let now = self.now();
        let comparing = self.doing(Work::Comparing, None);
        let superseded = superseded(&[&live], now);
        let is_learning = |head: &crate::entry::Head, id: &Id| {
            head.kind == Kind::Knowledge
                && head.valid
                && class(head.category.as_deref()) == Class::Learning
                && !head.is_expired(now)
                && !superseded.contains(id)
        };
        let learnings: Vec<Learning> = live
            .knowledge_rows()
            .filter(|row| live.is_indexable(*row))
            .filter_map(|row| {
                let (id, path) = (live.id(row)?, live.path(row));
                if !is_learning(&live.head(row), &id) {
                    return None;
                }
                // What vanished since the scan, or is read in another way now, is left alone.
                let (text, mut entry) = self.read_entry(&path).ok()?;
                entry.head = entry.head.as_of(now);
                is_learning(&entry.head, &id).then_some(Learning { id, path, text, entry })
            })
            .collect();
        let fingerprints: HashMap<&str, u64> =
            learnings.iter().map(|learning| (learning.path.as_str(), xxh3_64(learning.text.as_bytes()))).collect();
        let mut taken = Taken::of(&archive);
        let mut tended = Tended::default();
        let merges = retention::consolidate(&learnings, self.settings.tending.learnings, now);
        drop(comparing);
        // The others, the one that has what they said, and its version before.
        let n_files = merges.iter().map(|merge| merge.others.len() + 2).sum();
        let mut turns = Turns::new(self, turn, n_files, interrupt);
        for merge in merges {
            let archived = taken.path(&merge.path, true, now);
            let others: Vec<Planned> = merge
                .others
                .iter()
                .map(|(id, path)| {
                    let to = taken.path(path, false, now);
                    plan(
                        id.clone(),
                        path.clone(),
                        to,
                        fingerprints.get(path.as_str()).copied().unwrap_or_default(),
                        None,
                    )
                })
                .collect();
            let merged = Merged {
                into: merge.into.clone(),
                path: display_path(&merge.path),
                archived: display_path(&archived),
                ids: others.iter().map(|other| other.moved.id.clone()).collect(),
            };
            if dry_run {
                tended.merged.push(merged);
                tended.moved.extend(others.into_iter().map(|other| other.moved));
            } else {
                turns.take(others.len() + 2, |lock| {
                    self.merge_planned(lock, &merge, merged, &archived, &others, &mut tended)
                })?;
            }
        }
        if !dry_run {
            turns.end(&mut tended);
        }
        Ok(tended)
    }

    /// Makes one of learnings as planned, unless one of them is not what the plan was made from. First what is
    /// replaced is kept, then what replaces it is written, and only then goes what it stands for: whatever a crash
    /// cuts off, every statement is in a file.
    fn merge_planned(
        &self,
        lock: &Lock,
        merge: &Merge,
        merged: Merged,
        archived: &str,
        others: &[Planned],
        tended: &mut Tended,
    ) -> Result<()> {
        if let Some((other, reason)) = others.iter().find_map(|other| Some((other, self.what_changed(other)?))) {
            tended.problems.push(skipped(&other.from, reason));
            return Ok(());
        }
        if self.store.create(lock, archived, merge.old.as_bytes())? == Created::Exists {
            tended.problems.push(skipped(&merge.path, "the name of its version is taken"));
            return Ok(());
        }
        match self.replace(lock, &merge.path, &merge.old, &merge.new) {
            Ok(problems) => tended.problems.extend(problems),
            Err(Error::Conflict { kept: None, .. }) => {
                let _ = self.store.discard_copy(lock, archived, merge.old.as_bytes());
                tended.problems.push(skipped(&merge.path, SAVED));
                return Ok(());
            }
            Err(error) => {
                // Nothing was replaced, so there is no old version.
                let _ = self.store.discard_copy(lock, archived, merge.old.as_bytes());
                return Err(error);
            }
        }
        tended.merged.push(merged);
        self.move_planned(lock, others, tended)
    }

    /// Moves files as planned; what changed, went or came in the meantime is told, and stops nothing.
    fn move_planned(&self, lock: &Lock, planned: &[Planned], tended: &mut Tended) -> Result<()> {
        let mut left = Vec::new();
        for planned in planned {
            match self.what_changed(planned) {
                Some(reason) => tended.problems.push(skipped(&planned.from, reason)),
                None => left.push(planned),
            }
        }
        let moves: Vec<(&str, &str)> =
            left.iter().map(|planned| (planned.from.as_str(), planned.to.as_str())).collect();
        for (planned, moved) in left.iter().zip(self.store.move_all(lock, &moves)?) {
            match moved {
                Ok(()) => tended.moved.push(planned.moved.clone()),
                Err(Error::Conflict { .. }) => {
                    let reason = "its name in the archive was taken in the meantime";
                    tended.problems.push(skipped(&planned.from, reason));
                }
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                    tended.problems.push(skipped(&planned.from, GONE));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns why a file is not the one that was planned with, where that is so.
    fn what_changed(&self, planned: &Planned) -> Option<&'static str> {
        match self.store.read(&planned.from) {
            Ok(file) if xxh3_64(&file.bytes) == planned.fingerprint => None,
            Err(Unreadable::Missing) => Some(GONE),
            _ => Some(SAVED),
        }
    }
}

/// Why a file is left as it is.
const SAVED: &str = "another program saved it at the same moment";
const GONE: &str = "it is gone";

fn plan(id: Id, from: String, to: String, fingerprint: u64, reason: Option<Reason>) -> Planned {
    let moved = Moved { id, from: display_path(&from), to: display_path(&to), reason };
    Planned { from, to, fingerprint, moved }
}

/// Says that a file was left as it is.
fn skipped(path: &str, reason: &str) -> Problem {
    Problem {
        path: display_path(path),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "skipped".to_owned(),
        message: format!("left as it is: {reason}").into(),
        hint: "the next call looks at it again".into(),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::entry::knowledge::Knowledge;

    /// Returns a memory with pairs of learnings that are alike, each pair of a feature of its own.
    fn with_pairs(n_pairs: usize) -> (TempDir, Memory) {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        let config = "format = 1\nlock.timeout_ms = 0\n[tend]\nlearnings = 1\n";
        std::fs::write(folder.path().join(".ralph/config.toml"), config).unwrap();
        for pair in 0..n_pairs {
            for (name, day) in [("old", 1), ("new", 2)] {
                let text = format!(
                    "---\ntitle: {name} {pair}\ntags: [a]\ncategory: pitfall\nfeature: f{pair}\ncreated_at: 2026-01-0{day}\n---\n\nFact {name} {pair}.\n"
                );
                std::fs::write(folder.path().join(format!(".ralph/knowledge/{name}-{pair}.md")), text).unwrap();
            }
        }
        let memory = Memory::open(folder.path()).unwrap();
        (folder, memory)
    }

    #[test]
    fn others_write_while_many_learnings_are_merged() {
        let (folder, memory) = with_pairs(5);
        let mut n_added = 0;
        let mut add = || {
            let other = Memory::open(folder.path()).unwrap();
            let fact = Knowledge::new(format!("Fact of another program {n_added}"), ["b"], "It got the lock.");
            assert_eq!(other.add(&fact).unwrap().action, super::super::AddAction::Created);
            n_added += 1;
        };
        let tended = memory.consolidate_with(false, Duration::ZERO, &mut add).unwrap();
        assert_eq!((tended.merged.len(), tended.moved.len(), tended.problems), (5, 5, Vec::new()));
        // Once before each of them.
        assert_eq!(n_added, 5);
    }

    #[test]
    fn others_write_while_many_entries_go_to_the_archive() {
        let (folder, memory) = with_pairs(MOVES_AT_ONCE);
        let mut n_added = 0;
        let mut add = || {
            let other = Memory::open(folder.path()).unwrap();
            other.add(&Knowledge::new(format!("Another fact {n_added}"), ["b"], "It got the lock.")).unwrap();
            n_added += 1;
        };
        for pair in 0..MOVES_AT_ONCE {
            let path = folder.path().join(format!(".ralph/knowledge/new-{pair}.md"));
            let text = std::fs::read_to_string(&path).unwrap().replace("tags:", "expires_at: 2026-01-03\ntags:");
            std::fs::write(path, text).unwrap();
            let path = folder.path().join(format!(".ralph/knowledge/old-{pair}.md"));
            let text = std::fs::read_to_string(&path).unwrap().replace("tags:", "expires_at: 2026-01-03\ntags:");
            std::fs::write(path, text).unwrap();
        }
        let tended = memory.prune_with(false, Duration::ZERO, &mut add).unwrap();
        assert_eq!((tended.moved.len(), tended.problems), (2 * MOVES_AT_ONCE, Vec::new()));
        assert_eq!(n_added, 2);
    }

    /// Merges a pair, of which another program saves one after the plan was made.
    fn saved_in_between(name: &str) {
        let (folder, memory) = with_pairs(1);
        let path = folder.path().join(format!(".ralph/knowledge/{name}-0.md"));
        let text = std::fs::read_to_string(&path).unwrap() + "\nAnd a word that nobody has read.\n";
        let other = folder.path().join(format!(".ralph/knowledge/{}-0.md", if name == "old" { "new" } else { "old" }));
        let before = std::fs::read_to_string(&other).unwrap();
        let tended =
            memory.consolidate_with(false, Duration::ZERO, &mut || std::fs::write(&path, &text).unwrap()).unwrap();
        assert_eq!((tended.merged.len(), tended.moved.len()), (0, 0));
        let told = format!(".ralph/knowledge/{name}-0.md");
        assert_eq!(tended.problems.iter().map(|problem| &problem.path).collect::<Vec<_>>(), [&told]);
        assert_eq!((std::fs::read_to_string(&path).unwrap(), std::fs::read_to_string(other).unwrap()), (text, before));
        assert!(!folder.path().join(".ralph/archive/knowledge").exists() || memory.catalog(Area::Archive).is_empty());
        // The next call reads it anew.
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
        let tended = memory.prune_with(false, Duration::ZERO, &mut save).unwrap();
        assert_eq!(tended.moved.iter().map(|moved| moved.id.stem()).collect::<Vec<_>>(), ["old-1"]);
        let told: Vec<&str> = tended.problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(told, [format!("left as it is: {GONE}"), format!("left as it is: {SAVED}")]);
        assert_eq!(std::fs::read_to_string(path("old-0")).unwrap(), kept);
    }
}
