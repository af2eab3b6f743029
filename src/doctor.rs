//! How the memory is doing as a whole: its folders, index, locks, git; and how to mend it.
//!
//! Pure: facts in, findings out. Entries that are wrong are the business of
//! [`check`](crate::check). Nothing here changes anything.

use serde::Serialize;

use crate::error::{Message, Problem};
use crate::git::Uncommitted;
use crate::store::{FolderState, LockState, Paths, Survey};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, and would work better mended.
    Warning,
    /// Something does not work.
    Error,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at: a word that stays the same between versions.
    pub what: &'static str,
    /// How it is.
    pub state: State,
    /// What was found, in one line without a final period.
    pub detail: Message,
    /// How to mend it, where there is something to mend.
    #[serde(rename = "hint")]
    pub mend: Option<Message>,
}

/// What [`Memory::doctor`](crate::Memory::doctor) found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The findings, in the same order each time.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Returns the worst state of all.
    pub fn worst(&self) -> State {
        self.findings.iter().map(|finding| finding.state).max().unwrap_or(State::Ok)
    }
}

/// What is known of the memory.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The newest format that is read; an entry of a newer one would not be looked at.
    pub format: u64,
    /// Whether there is a settings file.
    pub has_settings: bool,
    /// How many lines of it mean nothing.
    pub settings_problems: usize,
    /// `.ralph/` itself.
    pub memory: FolderState,
    /// The folders that hold entries, by name.
    pub entries: Vec<(&'static str, FolderState)>,
    /// `state/`
    pub state: FolderState,
    /// `cache/`
    pub cache: FolderState,
    /// The indexes, by name.
    pub indexes: Vec<(&'static str, Index)>,
    /// Indexes and catalogs of other versions, relative to `.ralph/`.
    pub old_caches: Vec<String>,
    /// What a look at all files showed; later than a day ahead is later.
    pub survey: Survey,
    /// The lock of the entry files.
    pub lock: LockState,
    /// The lock of the cache.
    pub cache_lock: LockState,
    /// How much may be watched, where the system says.
    pub watches: Option<Watches>,
    /// What git says.
    pub git: Git,
    /// How finding entries by their meaning does.
    pub meaning: Meaning,
    /// The files of attempts that could not be written to the journal.
    pub kept: Vec<Problem>,
}

/// How finding entries by their meaning does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    /// Whether it works, or nobody asked for it.
    pub is_well: bool,
    /// What there is, or why not.
    pub detail: String,
    /// What mends it.
    pub mend: Option<String>,
}

/// What is known of one index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// The id of its last commit; none where there is no index.
    pub id: Option<String>,
    /// How many documents it holds.
    pub documents: usize,
    /// How many of them must not answer any more.
    pub stale: usize,
    /// Whether the catalog knows what it holds.
    pub is_known: bool,
    /// How many entries it should hold.
    pub entries: usize,
    /// How many of them it does not hold yet.
    pub pending: usize,
}

impl Index {
    /// Returns whether it must be made anew: nobody knows what it holds, or it does not hold what it should.
    pub fn is_broken(&self) -> bool {
        self.id.is_some() && (!self.is_known || self.documents != self.expected())
    }

    fn expected(&self) -> usize {
        self.entries.saturating_sub(self.pending) + self.stale
    }
}

/// How much one user may watch on Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watches {
    /// Folders, over all programs.
    pub folders: u64,
    /// Programs, or parts of them.
    pub instances: u64,
}

/// What git says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Git {
    /// There is no program of that name.
    Missing,
    /// The memory is in no work tree.
    NoWorkTree,
    /// It does not answer; with its reason.
    Failed(String),
    /// The memory is in a work tree.
    WorkTree {
        /// Those of `cache/` and `state/` that it does not ignore.
        not_ignored: Vec<String>,
        /// Files below these that are committed all the same, as far as they were looked at.
        tracked: Vec<String>,
        /// Whether it ignores knowledge.
        ignores_entries: bool,
        /// What is not committed.
        uncommitted: Uncommitted,
        /// Whether it merges entries with the merge driver.
        has_merge_driver: bool,
    },
}

/// Returns what the facts mean.
pub fn judge(facts: &Facts) -> Diagnosis {
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
    findings.push(meaning(&facts.meaning));
    findings.extend(kept(&facts.kept));
    Diagnosis { findings }
}

fn ok(what: &'static str, detail: impl Into<Message>) -> Finding {
    Finding { what, state: State::Ok, detail: detail.into(), mend: None }
}

fn warning(what: &'static str, detail: impl Into<Message>, mend: impl Into<Message>) -> Finding {
    Finding { what, state: State::Warning, detail: detail.into(), mend: Some(mend.into()) }
}

fn error(what: &'static str, detail: impl Into<Message>, mend: impl Into<Message>) -> Finding {
    Finding { state: State::Error, ..warning(what, detail, mend) }
}

fn meaning(meaning: &Meaning) -> Finding {
    let detail = Message::from(meaning.detail.as_str());
    let state = if meaning.is_well { State::Ok } else { State::Warning };
    Finding { what: "semantic", state, detail, mend: meaning.mend.as_deref().map(Message::from) }
}

fn kept(problems: &[Problem]) -> Option<Finding> {
    let first = problems.first()?;
    let list: Vec<String> = problems.iter().map(|problem| format!("`{}`", problem.path)).collect();
    let detail = format!("{} not in the journal: {}", are(problems.len(), "attempt"), list.join(", "));
    Some(warning("attempts", detail, first.hint.clone()))
}

fn settings(facts: &Facts) -> Finding {
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
            format!("{} of `config.toml` that mean nothing", counted(n, "line")),
            "`ralph-memory check` shows them",
        ),
    }
}

fn folders(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, state) in &facts.entries {
        let (detail, mend) = match state {
            FolderState::Closed => {
                ("cannot be looked into", format!("let its user read it: `chmod u+rwx .ralph/{name}`"))
            }
            FolderState::Blocked => {
                ("is no folder, and links are not followed", format!("put a folder in the place of `.ralph/{name}`"))
            }
            FolderState::Missing | FolderState::Writable | FolderState::ReadOnly => continue,
        };
        findings.push(error("entries", format!("`{name}/` {detail}, so nothing in it is found"), mend));
    }
    for path in &facts.survey.closed.named {
        let mend = format!("let its user read it: `chmod u+rwx .ralph/{path}`");
        findings.push(error("entries", format!("`{path}/` cannot be looked into, so nothing in it is found"), mend));
    }
    let read_only = facts.entries.iter().filter(|(_, state)| *state == FolderState::ReadOnly);
    let read_only: Vec<String> = read_only.map(|(name, _)| format!("`{name}/`")).collect();
    if !read_only.is_empty() {
        let detail = format!("{} cannot be written, so entries there can only be read", read_only.join(", "));
        findings.push(warning(
            "entries",
            detail,
            "if that is not meant, look at who owns `.ralph/` and how it is mounted",
        ));
    }
    if findings.is_empty() {
        findings
            .push(ok("entries", format!("can be read and written, in {}", counted(facts.survey.folders, "folder"))));
    }
    let usable = |state: FolderState| match state {
        // It is made in `.ralph/` when it is needed.
        FolderState::Missing => facts.memory == FolderState::Writable,
        state => state == FolderState::Writable,
    };
    let mend = |name: &str| format!("make `.ralph/{name}` a folder that you can write to");
    findings.push(if usable(facts.state) {
        ok("state", "can be written")
    } else {
        error("state", "cannot be written, so no command can change anything", mend("state"))
    });
    findings.push(if usable(facts.cache) {
        ok("cache", "can be written")
    } else {
        warning("cache", "cannot be written, so every search reads all files and indexes them in memory", mend("cache"))
    });
    findings
}

fn index(name: &str, index: &Index) -> Finding {
    if index.id.is_none() && index.entries == 0 {
        return ok("index", format!("{name}: none, and nothing to index"));
    }
    let Some(id) = &index.id else {
        return ok(
            "index",
            format!("{name}: none yet; {} read directly until a command makes it", are(index.entries, "entry")),
        );
    };
    let rebuild = "`ralph-memory doctor --fix` makes it anew from the files";
    if !index.is_known {
        let detail = format!("{name}: nobody knows what it holds, so every search reads all files");
        return warning("index", detail, rebuild);
    }
    let expected = index.expected();
    if index.documents != expected {
        let detail = format!("{name}: holds {} where {expected} should be", counted(index.documents, "document"));
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
            let mend = "`ralph-memory doctor --fix` deletes them, unless that version is still in use; nothing is lost";
            warning("old-caches", detail, mend)
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
            "take over what the live entry should say of it, then delete it",
        ),
    }
}

fn lock(what: &'static str, guarded: &str, state: &LockState) -> Finding {
    match state {
        LockState::Free => ok(what, "free"),
        LockState::Held(holder) => {
            let holder = holder.as_deref().unwrap_or("a process that does not say its name");
            warning(
                what,
                format!("{guarded} being written by {holder}"),
                "wait for it; if it hangs, end that process, and the lock is free",
            )
        }
        LockState::Unknown(reason) => warning(
            what,
            format!("nobody can tell whether {guarded} being written: {reason}"),
            "look at the `lock` file's owner and kind",
        ),
    }
}

fn watching(watches: Watches, folders: usize) -> Finding {
    let Watches { folders: limit, instances } = watches;
    let detail = format!("{} to watch; a user may watch {limit}, in {instances} programs", counted(folders, "folder"));
    if instances == 0 || folders as u64 > limit {
        let wanted = (folders as u64).saturating_mul(2).max(524_288);
        let mend = format!("`sudo sysctl fs.inotify.max_user_watches={wanted} fs.inotify.max_user_instances=512`");
        return warning("watching", detail, mend);
    }
    ok("watching", detail)
}

fn git(git: &Git) -> Vec<Finding> {
    let (not_ignored, tracked, ignores_entries, uncommitted, has_merge_driver) = match git {
        Git::Missing => return vec![ok("git", "there is no `git` to ask")],
        Git::NoWorkTree => return vec![ok("git", "the memory is in no work tree")],
        Git::Failed(reason) => {
            let fix = "see what it says of which folder; files of a clone, such as `HEAD` and `config` in a folder that is no \
                       repository of yours, can let git run programs there, so remove them before you run git";
            return vec![warning("git", format!("does not answer: {reason}"), fix)];
        }
        Git::WorkTree { not_ignored, tracked, ignores_entries, uncommitted, has_merge_driver } => {
            (not_ignored, tracked, *ignores_entries, uncommitted, *has_merge_driver)
        }
    };
    let mut findings = Vec::new();
    if !not_ignored.is_empty() {
        let names: Vec<String> = not_ignored.iter().map(|name| format!("`{name}/`")).collect();
        let lines: Vec<String> = not_ignored.iter().map(|name| format!("`/{name}/`")).collect();
        let detail = format!("does not ignore {}, which is of this machine alone", names.join(" and "));
        let mend = format!("`ralph-memory doctor --fix` puts {} into `.ralph/.gitignore`", lines.join(" and "));
        findings.push(warning("git-ignore", detail, mend));
    }
    if let Some(first) = tracked.first() {
        let detail = format!("keeps {} of `cache/` or `state/`, such as `{first}`", counted(tracked.len(), "file"));
        let mend = "`git rm -r --cached --ignore-unmatch .ralph/cache .ralph/state`, and commit that";
        findings.push(error("git-ignore", format!("{detail}; none of it is believed"), mend));
    }
    if ignores_entries {
        let detail = "ignores the entries, so they are neither shared nor safe from `git clean -x`";
        let mend = "`git check-ignore -v .ralph/knowledge/x.md` names the line to take out";
        findings.push(warning("git-ignore", detail, mend));
    }
    if findings.is_empty() {
        findings.push(ok("git-ignore", "ignores `cache/` and `state/`, and not the entries"));
    }
    findings.push(uncommitted_finding(uncommitted));
    findings.push(if has_merge_driver {
        ok("git-merge", "merges entries by key and by block")
    } else {
        ok(
            "git-merge",
            "merges entries as text; `ralph-memory doctor --register-merge-driver` lets it do so by key and by block",
        )
    });
    findings
}

fn uncommitted_finding(uncommitted: &Uncommitted) -> Finding {
    let Uncommitted { changed, untracked, more } = uncommitted;
    let Some(first) = changed.first().or(untracked.first()) else {
        return ok("git-commit", "everything is committed");
    };
    let at_least = if *more { "at least " } else { "" };
    let n_all = changed.len() + untracked.len();
    let detail = format!(
        "{at_least}{} not committed, {} of them unknown to git: `{first}`{}",
        are(n_all, "file"),
        untracked.len(),
        if n_all > 1 { ", …" } else { "" }
    );
    warning("git-commit", detail, "commit `.ralph/`: `git clean` or `git checkout` in a loop would take it away")
}

fn clock(paths: &Paths) -> Finding {
    match paths.count {
        0 => ok("clock", "no file is from the future"),
        n => warning(
            "clock",
            format!("{} from the future: {}", are(n, "file"), named(paths)),
            "set the clock right, and `touch` them",
        ),
    }
}

/// Returns the first few paths.
fn named(paths: &Paths) -> String {
    const MAX_SHOWN: usize = 3;
    let list: Vec<String> = paths.named.iter().take(MAX_SHOWN).map(|path| format!("`.ralph/{path}`")).collect();
    let more = if paths.count > list.len() { ", …" } else { "" };
    format!("{}{more}", list.join(", "))
}

fn counted(count: usize, word: &str) -> String {
    match (count, word.strip_suffix('y')) {
        (1, _) => format!("1 {word}"),
        (count, Some(stem)) => format!("{count} {stem}ies"),
        (count, None) => format!("{count} {word}s"),
    }
}

fn are(count: usize, word: &str) -> String {
    format!("{} {}", counted(count, word), if count == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            format: 1,
            has_settings: true,
            settings_problems: 0,
            memory: FolderState::Writable,
            entries: vec![("knowledge", FolderState::Writable), ("journal", FolderState::Missing)],
            state: FolderState::Missing,
            cache: FolderState::Writable,
            indexes: vec![("live", index_of(5, 5, 0, 0))],
            old_caches: Vec::new(),
            survey: Survey { folders: 2, ..Survey::default() },
            lock: LockState::Free,
            cache_lock: LockState::Free,
            watches: Some(Watches { folders: 100, instances: 128 }),
            git: work_tree(Uncommitted::default()),
            meaning: Meaning { is_well: true, detail: "RAG: off".to_owned(), mend: None },
            kept: Vec::new(),
        }
    }

    fn index_of(documents: usize, entries: usize, pending: usize, stale: usize) -> Index {
        Index { id: Some("c1".to_owned()), documents, stale, is_known: true, entries, pending }
    }

    fn work_tree(uncommitted: Uncommitted) -> Git {
        Git::WorkTree {
            not_ignored: Vec::new(),
            tracked: Vec::new(),
            ignores_entries: false,
            uncommitted,
            has_merge_driver: true,
        }
    }

    /// Checks what is found beside what is in order.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Facts), expected: &[(&str, State, &str)]) {
        let mut facts = facts();
        change(&mut facts);
        let found = judge(&facts).findings;
        assert!(found.iter().all(|finding| (finding.state == State::Ok) == finding.mend.is_none()), "{found:?}");
        let bad = found.iter().filter(|finding| finding.state != State::Ok);
        let bad: Vec<_> = bad.map(|finding| (finding.what, finding.state, finding.detail.as_str())).collect();
        assert_eq!(bad, expected);
    }

    const WARNING: State = State::Warning;
    const ERROR: State = State::Error;

    #[test]
    fn what_is_in_order_is_said_to_be() {
        check(|_| {}, &[]);
        assert_eq!(judge(&facts()).worst(), State::Ok);
        let whats: Vec<_> = judge(&facts()).findings.iter().map(|finding| finding.what).collect();
        let all = "settings entries state cache index old-caches leftovers conflicts lock cache-lock watching git-ignore git-commit git-merge clock semantic";
        assert_eq!(whats.join(" "), all);
        check(|facts| facts.watches = None, &[]);
        check(|facts| facts.git = Git::NoWorkTree, &[]);
        check(|facts| facts.git = Git::Missing, &[]);
    }

    #[test]
    fn settings_are_looked_at() {
        let none = "there is no `config.toml`, so the defaults are in force";
        check(|facts| facts.has_settings = false, &[("settings", WARNING, none)]);
        let odd = "2 lines of `config.toml` that mean nothing";
        check(|facts| facts.settings_problems = 2, &[("settings", WARNING, odd)]);
    }

    #[test]
    fn folders_are_looked_at() {
        let entries = |state| move |facts: &mut Facts| facts.entries[0].1 = state;
        let closed = "`knowledge/` cannot be looked into, so nothing in it is found";
        check(entries(FolderState::Closed), &[("entries", ERROR, closed)]);
        let blocked = "`knowledge/` is no folder, and links are not followed, so nothing in it is found";
        check(entries(FolderState::Blocked), &[("entries", ERROR, blocked)]);
        let read_only = "`knowledge/` cannot be written, so entries there can only be read";
        check(entries(FolderState::ReadOnly), &[("entries", WARNING, read_only)]);
        let deeper = Paths { named: vec!["knowledge/a".to_owned()], count: 1 };
        let detail = "`knowledge/a/` cannot be looked into, so nothing in it is found";
        check(|facts| facts.survey.closed = deeper, &[("entries", ERROR, detail)]);
        let state = ("state", ERROR, "cannot be written, so no command can change anything");
        let slow = "cannot be written, so every search reads all files and indexes them in memory";
        check(|facts| facts.state = FolderState::Blocked, &[state]);
        check(|facts| facts.cache = FolderState::ReadOnly, &[("cache", WARNING, slow)]);
        check(|facts| facts.memory = FolderState::ReadOnly, &[state]);
        let both = |facts: &mut Facts| (facts.memory, facts.cache) = (FolderState::ReadOnly, FolderState::Missing);
        check(both, &[state, ("cache", WARNING, slow)]);
    }

    #[test]
    fn indexes_are_counted() {
        let with = |index| move |facts: &mut Facts| facts.indexes = vec![("live", index)];
        check(with(Index { entries: 3, is_known: true, pending: 3, ..Index::default() }), &[]);
        check(with(Index { is_known: true, ..Index::default() }), &[]);
        check(with(index_of(5, 7, 3, 1)), &[]);
        let wrong = ("index", ERROR, "live: holds 4 documents where 5 should be");
        check(with(index_of(4, 5, 0, 0)), &[wrong]);
        let unknown = ("index", WARNING, "live: nobody knows what it holds, so every search reads all files");
        check(with(Index { is_known: false, ..index_of(5, 5, 5, 0) }), &[unknown]);
    }

    #[test]
    fn what_lies_about_is_named() {
        let paths =
            |count: usize| Paths { named: ["a", "b", "c", "d"].map(str::to_owned)[..count.min(4)].to_vec(), count };
        let left = |detail| [("leftovers", WARNING, detail)];
        let one = "1 temporary file that a crash left: `.ralph/a`";
        check(|facts| facts.survey.leftovers = paths(1), &left(one));
        let many = "30 temporary files that a crash left: `.ralph/a`, `.ralph/b`, `.ralph/c`, …";
        check(|facts| facts.survey.leftovers = paths(30), &left(many));
        let future = "3 files are from the future: `.ralph/a`, `.ralph/b`, `.ralph/c`";
        check(|facts| facts.survey.changed_later = paths(3), &[("clock", WARNING, future)]);
        let old = "1 cache of other versions of this program: `.ralph/cache/index-0`";
        check(|facts| facts.old_caches = vec!["cache/index-0".to_owned()], &[("old-caches", WARNING, old)]);
    }

    #[test]
    fn holders_of_locks_are_named() {
        let held = |holder: Option<&str>| LockState::Held(holder.map(str::to_owned));
        let entries = "entries are being written by pid 7";
        check(|facts| facts.lock = held(Some("pid 7")), &[("lock", WARNING, entries)]);
        let index = "the index is being written by a process that does not say its name";
        check(|facts| facts.cache_lock = held(None), &[("cache-lock", WARNING, index)]);
        let unknown = "nobody can tell whether entries are being written: why";
        check(|facts| facts.lock = LockState::Unknown("why".to_owned()), &[("lock", WARNING, unknown)]);
    }

    #[test]
    fn folders_over_the_limit_of_watches_are_told() {
        let detail = "101 folders to watch; a user may watch 100, in 128 programs";
        check(|facts| facts.survey.folders = 100, &[]);
        check(|facts| facts.survey.folders = 101, &[("watching", WARNING, detail)]);
        let none = "2 folders to watch; a user may watch 100, in 0 programs";
        let instances = |facts: &mut Facts| facts.watches = Some(Watches { folders: 100, instances: 0 });
        check(instances, &[("watching", WARNING, none)]);
    }

    #[test]
    fn git_is_told_of() {
        let reason = "does not answer: dubious ownership";
        check(|facts| facts.git = Git::Failed("dubious ownership".to_owned()), &[("git", WARNING, reason)]);
        let uncommitted = |changed: &[&str], untracked: &[&str], more| {
            let list = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
            work_tree(Uncommitted { changed: list(changed), untracked: list(untracked), more })
        };
        let one = "1 file is not committed, 1 of them unknown to git: `knowledge/a.md`";
        check(|facts| facts.git = uncommitted(&[], &["knowledge/a.md"], false), &[("git-commit", WARNING, one)]);
        let many = "at least 3 files are not committed, 2 of them unknown to git: `x`, …";
        check(|facts| facts.git = uncommitted(&["x"], &["y", "z"], true), &[("git-commit", WARNING, many)]);
        let careless = Git::WorkTree {
            not_ignored: vec!["cache".to_owned(), "state".to_owned()],
            tracked: vec!["cache/x".to_owned()],
            ignores_entries: true,
            uncommitted: Uncommitted::default(),
            has_merge_driver: false,
        };
        check(
            |facts| facts.git = careless,
            &[
                ("git-ignore", WARNING, "does not ignore `cache/` and `state/`, which is of this machine alone"),
                (
                    "git-ignore",
                    ERROR,
                    "keeps 1 file of `cache/` or `state/`, such as `cache/x`; none of it is believed",
                ),
                ("git-ignore", WARNING, "ignores the entries, so they are neither shared nor safe from `git clean -x`"),
            ],
        );
    }
}
