//! The rules for the memory as a whole: its folders, index, locks, servers and git, and how to fix problems.
//!
//! Pure: facts in, findings out. Nothing here changes anything. [`check`](mod@super::check) has the rules for entries.

mod facts;
mod finding;
mod folders;
mod git;
mod hooks;

use self::folders::folders;
use self::git::git;
use self::hooks::hooks;
use crate::error::{Problem, Severity};
use crate::search::semantic::SemanticStatus;
use crate::settings::FORMAT;
use crate::store::{LockState, Paths};
use crate::text::count;

pub(super) use self::facts::{GitFacts, IndexFacts, MemoryFacts};
use self::finding::{are, error, named, ok, warning};

/// Judges the facts: returns findings for each part of the memory. Those without a hint say that it is as it should be.
pub(super) fn judge(facts: &MemoryFacts) -> Vec<Problem> {
    let mut findings = Vec::from_iter(settings(facts));
    findings.extend(folders(facts));
    findings.extend(facts.indexes.iter().map(|(name, found)| index(name, found)));
    findings.push(old_caches(&facts.old_caches));
    let survey = &facts.survey;
    findings.push(listed(
        ("leftovers", "none"),
        &survey.leftovers,
        ("temporary file", "that a crash left"),
        "`ralph-memory check --fix` removes them, and keeps in the archive what may be the only copy of a text",
    ));
    findings.push(listed(
        ("conflicts", "none"),
        &survey.conflicts,
        ("version", "that another program saved at the same moment"),
        "copy what the live entry lacks into it, then delete the version",
    ));
    findings.push(lock("lock", "entries are", &facts.lock));
    findings.push(lock("cache-lock", "the index is", &facts.cache_lock));
    findings.extend(git(&facts.git));
    findings.push(semantic(&facts.semantic));
    findings.push(hooks(&facts.hooks, facts.tool_time));
    findings
}

/// Lines without a meaning are problems of their own, with their places.
fn settings(facts: &MemoryFacts) -> Option<Problem> {
    if !facts.has_settings {
        let message = "there is no `config.toml`, so the defaults are in force; `ralph-memory init` writes one";
        return Some(ok("settings", message));
    }
    let message = || format!("`config.toml` can be read; format {FORMAT}");
    facts.settings_are_clear.then(|| ok("settings", message()))
}

fn index(name: &str, index: &IndexFacts) -> Problem {
    if index.id.is_none() && index.entries == 0 {
        return ok("index", format!("{name}: none, and nothing to index"));
    }
    let Some(id) = &index.id else {
        let are = are(index.entries, "entry");
        return ok("index", format!("{name}: not built yet; {are} read directly until a command builds it"));
    };
    let rebuild = "`ralph-memory check --fix` rebuilds it from the files";
    if !index.is_known {
        let message = format!("the contents of the {name} index are unknown, so every search reads all files");
        return warning("index", message, rebuild);
    }
    let (documents, expected) = (count(index.documents, "document"), index.expected());
    if index.documents != expected {
        return error("index", format!("the {name} index holds {documents} instead of {expected}"), rebuild);
    }
    let (entries, pending) = (count(index.entries, "entry"), index.pending);
    ok("index", format!("{name}: commit {id} with {documents} for {entries}, {pending} not indexed yet"))
}

fn old_caches(paths: &[String]) -> Problem {
    if paths.is_empty() {
        return ok("old-caches", "none");
    }
    let list: Vec<String> = paths.iter().map(|path| format!("`.ralph/{path}`")).collect();
    let message = format!("{} of other versions of this program: {}", count(paths.len(), "cache"), list.join(", "));
    let hint = "`ralph-memory check --fix` deletes them, unless that version is still in use; nothing is lost";
    warning("old-caches", message, hint)
}

/// Returns a warning that counts and names these paths, with a code, and what is said where there are none.
fn listed((code, none): (&str, &str), paths: &Paths, (noun, that): (&str, &str), hint: &str) -> Problem {
    if paths.count == 0 {
        return ok(code, none);
    }
    warning(code, format!("{} {that}: {}", count(paths.count, noun), named(paths)), hint)
}

fn lock(code: &str, guarded: &str, state: &LockState) -> Problem {
    match state {
        LockState::Free => ok(code, "free"),
        LockState::Held(holder) => {
            let holder = holder.as_deref().unwrap_or("an unknown process");
            let hint = "wait for it; if it hangs, end that process, which frees the lock";
            warning(code, format!("{guarded} being written by {holder}"), hint)
        }
        LockState::Unknown(reason) => {
            let message = format!("it is unknown whether {guarded} being written: {reason}");
            warning(code, message, "check the owner and the kind of the `lock` file")
        }
    }
}

/// A failure without a known fix is a warning, too.
fn semantic(status: &SemanticStatus) -> Problem {
    let SemanticStatus { wanted, active, detail, fix } = status;
    let is_well = *active && fix.is_none() || !wanted;
    let hint = fix.as_deref().unwrap_or(if is_well { "" } else { "correct the settings of `ollama` and `qdrant`" });
    let severity = if is_well { Severity::Notice } else { Severity::Warning };
    Problem { severity, ..warning("semantic", detail.as_str(), hint) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Uncommitted;
    use crate::store::{FolderState, Survey};

    fn facts() -> MemoryFacts {
        MemoryFacts {
            has_settings: true,
            settings_are_clear: true,
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
            git: work_tree(Uncommitted::default()),
            semantic: SemanticStatus { wanted: false, active: false, detail: "RAG: off".to_owned(), fix: None },
            hooks: crate::sessions::HookLog::default(),
            tool_time: None,
        }
    }

    fn index_of(documents: usize, entries: usize, pending: usize, stale: usize) -> IndexFacts {
        IndexFacts { id: Some("c1".to_owned()), documents, stale, is_known: true, entries, pending }
    }

    fn work_tree(uncommitted: Uncommitted) -> GitFacts {
        GitFacts::WorkTree {
            not_ignored: Vec::new(),
            tracked: Vec::new(),
            is_private: false,
            ignored: Vec::new(),
            uncommitted,
            old_driver: Vec::new(),
        }
    }

    /// Checks the findings that are not as they should be.
    #[track_caller]
    fn check(change: impl FnOnce(&mut MemoryFacts), expected: &[(&str, Severity, &str)]) {
        let mut facts = facts();
        change(&mut facts);
        let found = judge(&facts);
        let bad = found.iter().filter(|finding| !finding.hint.is_empty());
        let bad: Vec<_> =
            bad.map(|finding| (finding.code.as_str(), finding.severity, finding.message.as_str())).collect();
        assert_eq!(bad, expected);
        assert!(
            found.iter().all(|finding| !finding.hint.is_empty() || finding.severity == Severity::Notice),
            "{found:?}"
        );
    }

    const WARNING: Severity = Severity::Warning;
    const ERROR: Severity = Severity::Error;

    #[test]
    fn a_healthy_memory_is_reported_as_ok() {
        check(|_| {}, &[]);
        let codes: Vec<_> = judge(&facts()).into_iter().map(|finding| finding.code).collect();
        let all = "settings entries state cache index old-caches leftovers conflicts lock cache-lock git-ignore git-commit semantic hooks";
        assert_eq!(codes.join(" "), all);
        check(|facts| facts.git = GitFacts::NoWorkTree, &[]);
        check(|facts| facts.git = GitFacts::Missing, &[]);
    }

    #[test]
    fn settings_are_examined() {
        check(|facts| facts.has_settings = false, &[]);
        let none = settings(&MemoryFacts { has_settings: false, ..facts() }).unwrap();
        let message = "there is no `config.toml`, so the defaults are in force; `ralph-memory init` writes one";
        assert_eq!((none.message.as_str(), none.hint.as_str()), (message, ""));
        // These lines are problems of their own.
        check(|facts| facts.settings_are_clear = false, &[]);
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
        let state = ("state", ERROR, "`state/` cannot be written, so no command can change anything");
        let slow = "`cache/` cannot be written, so every search reads all files and indexes them in memory";
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
    fn indexes_are_count() {
        let with = |index| move |facts: &mut MemoryFacts| facts.indexes = vec![("live", index)];
        check(with(IndexFacts { entries: 3, is_known: true, pending: 3, ..IndexFacts::default() }), &[]);
        check(with(IndexFacts { is_known: true, ..IndexFacts::default() }), &[]);
        check(with(index_of(5, 7, 3, 1)), &[]);
        let wrong = ("index", ERROR, "the live index holds 4 documents instead of 5");
        check(with(index_of(4, 5, 0, 0)), &[wrong]);
        let unknown = ("index", WARNING, "the contents of the live index are unknown, so every search reads all files");
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
    fn git_is_examined() {
        let reason = "git does not answer: dubious ownership";
        check(|facts| facts.git = GitFacts::Failed("dubious ownership".to_owned()), &[("git", WARNING, reason)]);
        let uncommitted = |changed: &[&str], untracked: &[&str], more| {
            let list = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
            work_tree(Uncommitted { changed: list(changed), untracked: list(untracked), more })
        };
        let committed = |git: GitFacts| {
            let findings = judge(&MemoryFacts { git, ..facts() });
            findings.into_iter().find(|finding| finding.code == "git-commit").unwrap().message.to_string()
        };
        let end = "; `git clean` and `git checkout` remove what is not committed";
        let one = "1 file is not committed, 1 of them untracked: `knowledge/a.md`";
        assert_eq!(committed(uncommitted(&[], &["knowledge/a.md"], false)), format!("{one}{end}"));
        let many = "at least 3 files are not committed, 2 of them untracked: `x`, …";
        assert_eq!(committed(uncommitted(&["x"], &["y", "z"], true)), format!("{many}{end}"));
        let bare = "git refuses to work in the project: a bare repository";
        check(
            |facts| facts.git = GitFacts::Failed("a bare repository".to_owned()),
            &[("repository-in-project", WARNING, bare)],
        );
        let careless = |old_driver| GitFacts::WorkTree {
            not_ignored: vec!["cache".to_owned(), "state".to_owned()],
            tracked: vec!["cache/x".to_owned(), "cache/y".to_owned()],
            is_private: true,
            ignored: Vec::new(),
            uncommitted: Uncommitted::default(),
            old_driver,
        };
        let both = [
            (
                "tracked-cache",
                ERROR,
                "git tracks this file, and 1 more of `.ralph/cache/`: it belongs to one machine, and is not trusted",
            ),
            ("git-ignore", WARNING, "git does not ignore `cache/` and `state/`, which belongs to this machine only"),
        ];
        check(|facts| facts.git = careless(Vec::new()), &both);
        let driver = "`x` and `y` still name the merge driver of an earlier version";
        let all = [both[0], both[1], ("merge-driver", Severity::Notice, driver)];
        check(|facts| facts.git = careless(vec!["`x`", "`y`"]), &all);
    }
}
