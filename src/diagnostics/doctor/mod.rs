//! The state of the memory as a whole: its folders, index, locks, servers and git, and how to fix problems.
//!
//! Pure: facts in, findings out. Nothing here changes anything. [`check`](mod@super::check) examines the entries.

mod facts;
mod finding;
mod folders;
mod git;
mod hooks;

use self::folders::folders;
use self::git::git;
pub(super) use self::git::{REGISTER, merge_finding};
use self::hooks::hooks;
use crate::error::{Message, Problem};
use crate::store::{LockState, Paths};
use crate::text::printed_command;

pub(crate) use self::facts::{GitFacts, IndexFacts, MemoryFacts, SemanticFacts, WatchLimits};
pub use self::finding::{Diagnosis, Finding, FindingState};
use self::finding::{are, counted, error, named, ok, warning};

/// Judges the facts: returns one finding or more for each part of the memory.
pub(crate) fn judge(facts: &MemoryFacts) -> Diagnosis {
    let mut findings = vec![settings(facts)];
    findings.extend(folders(facts));
    findings.extend(facts.indexes.iter().map(|(name, found)| index(name, found)));
    findings.push(old_caches(&facts.old_caches));
    findings.push(leftovers(&facts.survey.leftovers));
    findings.push(conflicts(&facts.survey.conflicts));
    findings.push(lock("lock", "entries are", &facts.lock));
    findings.push(lock("cache-lock", "the index is", &facts.cache_lock));
    findings.extend(facts.watches.map(|watches| watching(watches, facts.survey.folders)));
    findings.extend(git(&facts.git));
    findings.push(clock(&facts.survey.changed_later));
    findings.push(semantic(&facts.semantic));
    findings.push(hooks(&facts.hooks));
    findings.extend(kept(&facts.kept));
    Diagnosis { findings }
}

fn settings(facts: &MemoryFacts) -> Finding {
    let format = facts.format;
    match (facts.has_settings, facts.settings_problems) {
        (false, _) => warning(
            "settings",
            "there is no `config.toml`, so the defaults are in force",
            "`ralph-memory init` writes one that lists them",
        ),
        (true, 0) => ok("settings", format!("`config.toml` can be read; format {format}")),
        (true, n) => warning(
            "settings",
            format!("{} of `config.toml` that have no meaning", counted(n, "line")),
            "`ralph-memory check` shows them",
        ),
    }
}

fn index(name: &str, index: &IndexFacts) -> Finding {
    if index.id.is_none() && index.entries == 0 {
        return ok("index", format!("{name}: none, and nothing to index"));
    }
    let Some(id) = &index.id else {
        return ok(
            "index",
            format!("{name}: not built yet; {} read directly until a command builds it", are(index.entries, "entry")),
        );
    };
    let rebuild = "`ralph-memory doctor --fix` rebuilds it from the files";
    if !index.is_known {
        let detail = format!("{name}: its contents are unknown, so every search reads all files");
        return warning("index", detail, rebuild);
    }
    let expected = index.expected();
    if index.documents != expected {
        let detail = format!("{name}: holds {} instead of {expected}", counted(index.documents, "document"));
        return error("index", detail, rebuild);
    }
    let detail = format!(
        "{name}: commit {id} with {} for {}, {} not indexed yet",
        counted(index.documents, "document"),
        counted(index.entries, "entry"),
        index.pending
    );
    ok("index", detail)
}

fn old_caches(paths: &[String]) -> Finding {
    match paths {
        [] => ok("old-caches", "none"),
        paths => {
            let list: Vec<String> = paths.iter().map(|path| format!("`.ralph/{path}`")).collect();
            let detail =
                format!("{} of other versions of this program: {}", counted(paths.len(), "cache"), list.join(", "));
            let hint = "`ralph-memory doctor --fix` deletes them, unless that version is still in use; nothing is lost";
            warning("old-caches", detail, hint)
        }
    }
}

fn leftovers(paths: &Paths) -> Finding {
    match paths.count {
        0 => ok("leftovers", "none"),
        n => warning(
            "leftovers",
            format!("{} that a crash left: {}", counted(n, "temporary file"), named(paths)),
            "`ralph-memory doctor --fix` removes them, and keeps in the archive what may be the only copy of a text",
        ),
    }
}

fn conflicts(paths: &Paths) -> Finding {
    match paths.count {
        0 => ok("conflicts", "none"),
        n => warning(
            "conflicts",
            format!("{} that another program saved at the same moment: {}", counted(n, "version"), named(paths)),
            "copy what the live entry lacks into it, then delete the version",
        ),
    }
}

fn lock(what: &'static str, guarded: &str, state: &LockState) -> Finding {
    match state {
        LockState::Free => ok(what, "free"),
        LockState::Held(holder) => {
            let holder = holder.as_deref().unwrap_or("an unknown process");
            warning(
                what,
                format!("{guarded} being written by {holder}"),
                "wait for it; if it hangs, end that process, which frees the lock",
            )
        }
        LockState::Unknown(reason) => warning(
            what,
            format!("it is unknown whether {guarded} being written: {reason}"),
            "check the owner and the kind of the `lock` file",
        ),
    }
}

fn watching(watches: WatchLimits, folders: usize) -> Finding {
    let WatchLimits { folders: limit, instances } = watches;
    let detail = format!("{} to watch; a user may watch {limit}, in {instances} programs", counted(folders, "folder"));
    if instances == 0 || folders as u64 > limit {
        let wanted = (folders as u64).saturating_mul(2).max(524_288);
        let sysctl = "sudo sysctl fs.inotify.max_user_watches=NUMBER fs.inotify.max_user_instances=512";
        let hint = printed_command(sysctl, &[("NUMBER", &wanted.to_string())]);
        return warning("watching", detail, hint);
    }
    ok("watching", detail)
}

fn clock(paths: &Paths) -> Finding {
    match paths.count {
        0 => ok("clock", "no file has a time in the future"),
        n => warning(
            "clock",
            format!("{} with a time in the future: {}", counted(n, "file"), named(paths)),
            "set the clock right, and `touch` them",
        ),
    }
}

fn semantic(semantic: &SemanticFacts) -> Finding {
    let detail = Message::from(semantic.detail.as_str());
    let state = if semantic.is_well { FindingState::Ok } else { FindingState::Warning };
    Finding { what: "semantic", state, detail, hint: semantic.hint.as_deref().map(Message::from) }
}

fn kept(problems: &[Problem]) -> Option<Finding> {
    let first = problems.first()?;
    let list: Vec<String> = problems.iter().map(|problem| format!("`{}`", problem.path)).collect();
    let detail = format!("{} not in the journal: {}", are(problems.len(), "attempt"), list.join(", "));
    Some(warning("attempts", detail, first.hint.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{MergeDriver, Uncommitted};
    use crate::store::{FolderState, Survey};

    fn facts() -> MemoryFacts {
        MemoryFacts {
            format: 1,
            has_settings: true,
            settings_problems: 0,
            memory: FolderState::Writable,
            entries: vec![("knowledge", FolderState::Writable), ("journal", FolderState::Missing)],
            state: FolderState::Missing,
            key_problem: None,
            cache: FolderState::Writable,
            indexes: vec![("live", index_of(5, 5, 0, 0))],
            old_caches: Vec::new(),
            survey: Survey { folders: 2, ..Survey::default() },
            lock: LockState::Free,
            cache_lock: LockState::Free,
            watches: Some(WatchLimits { folders: 100, instances: 128 }),
            git: work_tree(Uncommitted::default()),
            semantic: SemanticFacts { is_well: true, detail: "RAG: off".to_owned(), hint: None },
            hooks: crate::hook::HookLog::default(),
            kept: Vec::new(),
        }
    }

    fn index_of(documents: usize, entries: usize, pending: usize, stale: usize) -> IndexFacts {
        IndexFacts { id: Some("c1".to_owned()), documents, stale, is_known: true, entries, pending }
    }

    fn work_tree(uncommitted: Uncommitted) -> GitFacts {
        GitFacts::WorkTree {
            not_ignored: Vec::new(),
            tracked: Vec::new(),
            ignores_entries: false,
            uncommitted,
            merge_driver: MergeDriver::Works,
        }
    }

    /// Checks the findings that differ from those of a healthy memory.
    #[track_caller]
    fn check(change: impl FnOnce(&mut MemoryFacts), expected: &[(&str, FindingState, &str)]) {
        let mut facts = facts();
        change(&mut facts);
        let found = judge(&facts).findings;
        assert!(found.iter().all(|finding| (finding.state == FindingState::Ok) == finding.hint.is_none()), "{found:?}");
        let bad = found.iter().filter(|finding| finding.state != FindingState::Ok);
        let bad: Vec<_> = bad.map(|finding| (finding.what, finding.state, finding.detail.as_str())).collect();
        assert_eq!(bad, expected);
    }

    const WARNING: FindingState = FindingState::Warning;
    const ERROR: FindingState = FindingState::Error;

    #[test]
    fn a_healthy_memory_is_reported_as_ok() {
        check(|_| {}, &[]);
        assert_eq!(judge(&facts()).worst(), FindingState::Ok);
        let whats: Vec<_> = judge(&facts()).findings.iter().map(|finding| finding.what).collect();
        let all = "settings entries state cache index old-caches leftovers conflicts lock cache-lock watching git-ignore git-commit git-merge clock semantic hooks";
        assert_eq!(whats.join(" "), all);
        check(|facts| facts.watches = None, &[]);
        check(|facts| facts.git = GitFacts::NoWorkTree, &[]);
        check(|facts| facts.git = GitFacts::Missing, &[]);
    }

    #[test]
    fn settings_are_examined() {
        let none = "there is no `config.toml`, so the defaults are in force";
        check(|facts| facts.has_settings = false, &[("settings", WARNING, none)]);
        let odd = "2 lines of `config.toml` that have no meaning";
        check(|facts| facts.settings_problems = 2, &[("settings", WARNING, odd)]);
    }

    #[test]
    fn folders_are_examined() {
        let entries = |state| move |facts: &mut MemoryFacts| facts.entries[0].1 = state;
        let closed = "`knowledge/` cannot be opened, so nothing in it is found";
        check(entries(FolderState::Closed), &[("entries", ERROR, closed)]);
        let blocked = "`knowledge/` is not a folder, and links are not followed, so nothing in it is found";
        check(entries(FolderState::Blocked), &[("entries", ERROR, blocked)]);
        let read_only = "`knowledge/` cannot be written, so entries there can only be read";
        check(entries(FolderState::ReadOnly), &[("entries", WARNING, read_only)]);
        let deeper = Paths { named: vec!["knowledge/a".to_owned()], count: 1 };
        let detail = "`knowledge/a/` cannot be opened, so nothing in it is found";
        check(|facts| facts.survey.closed = deeper, &[("entries", ERROR, detail)]);
        let state = ("state", ERROR, "cannot be written, so no command can change anything");
        let slow = "cannot be written, so every search reads all files and indexes them in memory";
        check(|facts| facts.state = FolderState::Blocked, &[state]);
        check(|facts| facts.survey.closed = Paths { count: 2, named: vec!["state".into(), "cache".into()] }, &[]);
        let key = "your key for it cannot be kept: no process knows what another one began, undo has nothing to undo, and nothing is cached: full";
        check(|facts| facts.key_problem = Some("full".to_owned()), &[("state", WARNING, key)]);
        check(|facts| facts.cache = FolderState::ReadOnly, &[("cache", WARNING, slow)]);
        check(|facts| facts.memory = FolderState::ReadOnly, &[state]);
        let both =
            |facts: &mut MemoryFacts| (facts.memory, facts.cache) = (FolderState::ReadOnly, FolderState::Missing);
        check(both, &[state, ("cache", WARNING, slow)]);
    }

    #[test]
    fn indexes_are_counted() {
        let with = |index| move |facts: &mut MemoryFacts| facts.indexes = vec![("live", index)];
        check(with(IndexFacts { entries: 3, is_known: true, pending: 3, ..IndexFacts::default() }), &[]);
        check(with(IndexFacts { is_known: true, ..IndexFacts::default() }), &[]);
        check(with(index_of(5, 7, 3, 1)), &[]);
        let wrong = ("index", ERROR, "live: holds 4 documents instead of 5");
        check(with(index_of(4, 5, 0, 0)), &[wrong]);
        let unknown = ("index", WARNING, "live: its contents are unknown, so every search reads all files");
        check(with(IndexFacts { is_known: false, ..index_of(5, 5, 5, 0) }), &[unknown]);
    }

    #[test]
    fn leftovers_are_listed() {
        let paths =
            |count: usize| Paths { named: ["a", "b", "c", "d"].map(str::to_owned)[..count.min(4)].to_vec(), count };
        let left = |detail| [("leftovers", WARNING, detail)];
        let one = "1 temporary file that a crash left: `.ralph/a`";
        check(|facts| facts.survey.leftovers = paths(1), &left(one));
        let many = "30 temporary files that a crash left: `.ralph/a`, `.ralph/b`, `.ralph/c`, …";
        check(|facts| facts.survey.leftovers = paths(30), &left(many));
        let future = "3 files with a time in the future: `.ralph/a`, `.ralph/b`, `.ralph/c`";
        check(|facts| facts.survey.changed_later = paths(3), &[("clock", WARNING, future)]);
        let old = "1 cache of other versions of this program: `.ralph/cache/index-0`";
        check(|facts| facts.old_caches = vec!["cache/index-0".to_owned()], &[("old-caches", WARNING, old)]);
    }

    #[test]
    fn holders_of_locks_are_named() {
        let held = |holder: Option<&str>| LockState::Held(holder.map(str::to_owned));
        let entries = "entries are being written by pid 7";
        check(|facts| facts.lock = held(Some("pid 7")), &[("lock", WARNING, entries)]);
        let index = "the index is being written by an unknown process";
        check(|facts| facts.cache_lock = held(None), &[("cache-lock", WARNING, index)]);
        let unknown = "it is unknown whether entries are being written: why";
        check(|facts| facts.lock = LockState::Unknown("why".to_owned()), &[("lock", WARNING, unknown)]);
    }

    #[test]
    fn folders_over_the_limit_of_watches_are_reported() {
        let detail = "101 folders to watch; a user may watch 100, in 128 programs";
        check(|facts| facts.survey.folders = 100, &[]);
        check(|facts| facts.survey.folders = 101, &[("watching", WARNING, detail)]);
        let none = "2 folders to watch; a user may watch 100, in 0 programs";
        let instances = |facts: &mut MemoryFacts| facts.watches = Some(WatchLimits { folders: 100, instances: 0 });
        check(instances, &[("watching", WARNING, none)]);
    }

    #[test]
    fn git_is_examined() {
        let reason = "does not answer: dubious ownership";
        check(|facts| facts.git = GitFacts::Failed("dubious ownership".to_owned()), &[("git", WARNING, reason)]);
        let uncommitted = |changed: &[&str], untracked: &[&str], more| {
            let list = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
            work_tree(Uncommitted { changed: list(changed), untracked: list(untracked), more })
        };
        let one = "1 file is not committed, 1 of them untracked: `knowledge/a.md`";
        check(|facts| facts.git = uncommitted(&[], &["knowledge/a.md"], false), &[("git-commit", WARNING, one)]);
        let many = "at least 3 files are not committed, 2 of them untracked: `x`, …";
        check(|facts| facts.git = uncommitted(&["x"], &["y", "z"], true), &[("git-commit", WARNING, many)]);
        let careless = GitFacts::WorkTree {
            not_ignored: vec!["cache".to_owned(), "state".to_owned()],
            tracked: vec!["cache/x".to_owned()],
            ignores_entries: true,
            uncommitted: Uncommitted::default(),
            merge_driver: MergeDriver::Absent,
        };
        check(
            |facts| facts.git = careless,
            &[
                ("git-ignore", WARNING, "does not ignore `cache/` and `state/`, which belongs to this machine only"),
                (
                    "git-ignore",
                    ERROR,
                    "tracks 1 file of `cache/` or `state/`, such as `cache/x`; nothing in it is trusted",
                ),
                ("git-ignore", WARNING, "ignores the entries, so they are neither shared nor safe from `git clean -x`"),
            ],
        );
    }
}
