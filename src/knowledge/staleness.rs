//! Staleness: whether an entry may be outdated, because of the files that it names.
//!
//! If names of the entry's text stood in a file at the commit of the entry, the lines with these names decide, wherever
//! the file is now. In other files, and for an entry that is not committed, it counts whether the file is gone or has
//! changed a lot. Git is asked once for all entries.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::code_names::{NamedLines, SourceCode, names};
use crate::entry::path::{display_path, is_pattern, is_project_path, named_file};
use crate::entry::{Head, body_fingerprint, read, said};
use crate::git::{FileContents, FileRename, Touch, WorkTree};
use crate::workspace::{Work, Workspace};

/// How many paths git is asked about in a call.
const MAX_PATHS: usize = 1_000;
/// Of more entries, the changes of the whole folder are asked for.
const MAX_ENTRIES: usize = 100;
/// A file that is read as an entry.
const KNOWLEDGE_FILE: &str = "knowledge/x.md";
/// The folder of the entries, as git knows it.
pub(crate) const ENTRIES: &str = ".ralph/knowledge";
/// How many of the newest versions of an entry are compared, to find the one that has its text.
const MAX_VERSIONS: usize = 4;
/// How often a file may have been renamed.
const MAX_RENAMES: usize = 4;

/// A file has changed much if the lines added and removed are at least this share of its lines...
const MUCH: f64 = 0.5;
/// ... and at least so many: in a small file every change is a large share.
const LEAST_LINES: u64 = 10;

/// Git's data about the files that entries name.
#[derive(Debug, Default)]
struct FileHistory {
    /// The commits that changed them, and the entries, by their paths, the newest first.
    touches: BTreeMap<String, Vec<Touch>>,
    /// The files that exist.
    present: HashSet<String>,
    /// The number of lines of each tracked one.
    lines: HashMap<String, u64>,
}

/// Why an entry may be outdated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Staleness {
    /// A file is gone since this commit.
    Gone { commit: String, path: String },
    /// By this commit, a file had changed much.
    Rewritten { commit: String, path: String },
    /// A line changed that has this name.
    Changed { name: String, path: String },
}

/// Returns the first digits of a commit, as git shows them.
pub(crate) fn short_commit(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Returns the staleness of the entries with these paths and heads; all `None` if there is no git.
pub(crate) fn staleness(workspace: &Workspace, entries: &[(&str, &Head)]) -> Vec<Option<Staleness>> {
    let now = workspace.now();
    let recency = |head: &Head| head.clone().without_future(now).recency();
    let dated: Vec<_> = entries.iter().filter_map(|(_, head)| Some((recency(head)?, *head))).collect();
    let mut paths: Vec<&str> =
        dated.iter().flat_map(|(_, head)| files_of(head)).filter(|path| is_project_path(path)).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.truncate(MAX_PATHS);
    let oldest = dated.iter().filter(|(_, head)| !head.files.is_empty()).map(|(written, _)| *written).min();
    let asked = oldest.filter(|_| !paths.is_empty()).and_then(|oldest| Some((workspace.work_tree()?, oldest)));
    let _asking = workspace.doing(Work::AskingGit, None);
    let known = asked.as_ref().map(|(tree, oldest)| history_of(workspace, tree, entries, &paths, *oldest));
    let known = known.unwrap_or_default();
    let mut read =
        asked.map_or_else(HashMap::new, |(tree, oldest)| versions(workspace, &tree, entries, &known, oldest));
    let verdict = |(at, (_, head)): (usize, &(&str, &Head))| {
        let version = read.remove(&at);
        let written = recency(head)?.timestamp().max(version.as_ref().map_or(i64::MIN, |version| version.at));
        files_of(head).find_map(|path| match version.as_ref().and_then(|version| version.files.get(path)) {
            Some(judged) => judged.clone(),
            None => stale_since(path, written, &known),
        })
    };
    entries.iter().enumerate().map(verdict).collect()
}

/// Returns the files whose changes make an entry stale, of those that it names: a pattern is about whatever files there are.
pub(crate) fn decisive<'a>(files: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    files.filter(|file| !is_pattern(file)).map(named_file)
}

fn files_of(head: &Head) -> impl Iterator<Item = &str> {
    decisive(head.files.iter().map(String::as_str))
}

/// Asks git for the changes to files and to entries since a time.
fn history_of(
    workspace: &Workspace,
    tree: &WorkTree,
    entries: &[(&str, &Head)],
    paths: &[&str],
    since: DateTime<Utc>,
) -> FileHistory {
    let named: Vec<String> = match entries.iter().filter(|(_, head)| !head.files.is_empty()) {
        some if some.clone().count() <= MAX_ENTRIES => some.map(|(path, _)| display_path(path)).collect(),
        _ => vec![ENTRIES.to_owned()],
    };
    let asked: Vec<&str> = paths.iter().copied().chain(named.iter().map(String::as_str)).collect();
    let mut touches = by_path(tree.touches(&asked, since).unwrap_or_default());
    follow_entries(tree, entries, &mut touches, since);
    let present: Vec<&str> = paths.iter().copied().filter(|path| is_present(workspace, path)).collect();
    let counted: Vec<&str> = present.iter().copied().filter(|path| touches.contains_key(*path)).collect();
    let lines = tree.line_counts(&counted).unwrap_or_default().into_iter().collect();
    FileHistory { touches, present: present.into_iter().map(str::to_owned).collect(), lines }
}

/// Adds the commits that changed entries under the names that they had before.
fn follow_entries(
    tree: &WorkTree,
    entries: &[(&str, &Head)],
    touches: &mut BTreeMap<String, Vec<Touch>>,
    since: DateTime<Utc>,
) {
    let has_changed = |head: &Head| files_of(head).any(|file| touches.contains_key(file));
    let of_changed = entries.iter().filter(|(_, head)| has_changed(head)).map(|(path, _)| display_path(path));
    // Each with its oldest name.
    let mut open: Vec<(String, String)> = of_changed.map(|path| (path.clone(), path)).collect();
    for _ in 0..MAX_RENAMES {
        let first = |path: &str| touches.get(path)?.iter().rfind(|touch| !is_gone(touch)).map(|touch| &*touch.commit);
        let commits: Vec<&str> = open.iter().filter_map(|(path, _)| first(path)).collect();
        let renames = if commits.is_empty() { Vec::new() } else { tree.renames(commits).unwrap_or_default() };
        let by_name: HashMap<(&str, &str), &str> =
            renames.iter().map(|of| ((of.commit.as_str(), of.to.as_str()), of.from.as_str())).collect();
        let former = |(path, name): &(String, String)| {
            let commit = first(path)?;
            Some((path.clone(), (*by_name.get(&(commit, name))?).to_owned(), commit.to_owned()))
        };
        let found: Vec<(String, String, String)> = open.iter().filter_map(former).collect();
        if found.is_empty() {
            return;
        }
        let names: Vec<&str> = found.iter().map(|(_, name, _)| name.as_str()).collect();
        let older = by_path(tree.touches(&names, since).unwrap_or_default());
        open.clear();
        for (path, name, commit) in found {
            // Another entry may have the name since.
            let before = older.get(&name).into_iter().flatten().skip_while(|touch| touch.commit != commit).skip(1);
            touches.entry(path.clone()).or_default().extend(before.cloned());
            open.push((path, name));
        }
    }
}

fn by_path(all: Vec<Touch>) -> BTreeMap<String, Vec<Touch>> {
    let mut touches = BTreeMap::<String, Vec<Touch>>::new();
    for touch in all {
        touches.entry(touch.path.clone()).or_default().push(touch);
    }
    touches
}

fn is_present(workspace: &Workspace, path: &str) -> bool {
    workspace.root().join(path).symlink_metadata().is_ok()
}

/// What is known of an entry from the commit that has its text.
#[derive(Debug, Default)]
struct WrittenVersion {
    /// When that commit was made.
    at: i64,
    /// The verdict on each file in which names of the entry stood.
    files: HashMap<String, Option<Staleness>>,
}

/// An entry that is committed, with files that changed.
struct CommittedEntry<'a> {
    /// Its position among all.
    at: usize,
    /// The object id of its file as it is.
    blob: String,
    head: &'a Head,
    /// What it says.
    said: String,
    /// The newest commits that changed it, the newest first.
    commits: Vec<&'a Touch>,
    files: Vec<&'a str>,
}

/// Returns what is known of those entries that are committed, by their positions. It is nothing if git does not answer.
fn versions(
    workspace: &Workspace,
    tree: &WorkTree,
    entries: &[(&str, &Head)],
    known: &FileHistory,
    since: DateTime<Utc>,
) -> HashMap<usize, WrittenVersion> {
    let touches = &known.touches;
    let (mut found, mut committed) = (HashMap::new(), Vec::new());
    for (at, (path, head)) in entries.iter().enumerate() {
        let shown = display_path(path);
        // An entry that went, as to the archive, and came back is as old as its text.
        let all = touches.get(shown.as_str());
        let commits = all.map(|of| of.iter().filter(|touch| !is_gone(touch)).take(MAX_VERSIONS).collect::<Vec<_>>());
        let Some((commits, first)) = commits.and_then(|of| Some((of.clone(), *of.last()?))) else { continue };
        let is_other = |touch: &Touch| touch.commit != first.commit;
        let files: Vec<&str> =
            files_of(head).filter(|path| touches.get(*path).is_some_and(|of| of.iter().any(is_other))).collect();
        if files.is_empty() {
            found.insert(at, WrittenVersion { at: first.at, ..WrittenVersion::default() });
        } else if let Ok(bytes) = workspace.read_bytes(path) {
            let (blob, said) = (tree.object_id(&bytes), said(path, &bytes));
            committed.push(CommittedEntry { at, blob, head, said, commits, files });
        }
    }
    let gone = committed.iter().flat_map(|entry| &entry.files).filter(|path| !known.present.contains(**path));
    let gone: HashMap<&str, &str> =
        gone.filter_map(|path| Some((*path, touches.get(*path)?.first()?.commit.as_str()))).collect();
    let renamed = renamed(workspace, tree, &gone, since);
    let is_there = |path: &&String| is_present(workspace, path);
    let now = |path: &str| {
        renamed.get(path).and_then(|of| of.last()).filter(is_there).map_or(path, String::as_str).to_owned()
    };
    found.extend(judged(tree, &committed, now));
    found
}

/// Returns what is known of the entries.
fn judged(
    tree: &WorkTree,
    entries: &[CommittedEntry<'_>],
    now: impl Fn(&str) -> String,
) -> Vec<(usize, WrittenVersion)> {
    let mut places: Vec<(&str, String)> = Vec::new();
    for CommittedEntry { blob, commits, files, .. } in entries {
        // The text of a file that is as it was need not be compared.
        let others = commits.iter().filter(|touch| touch.blob != *blob);
        places.extend(others.map(|touch| (touch.blob.as_str(), String::new())));
        for file in files {
            places.push(("HEAD", now(file)));
            places.extend(commits.iter().map(|touch| (touch.commit.as_str(), (*file).to_owned())));
        }
    }
    let contents = tree.contents(places.iter().map(|(commit, path)| (*commit, path.as_str())).collect(), false);
    // The code of a file is read once, however many commits have it.
    let mut known: HashMap<(&str, String), SourceCode> = HashMap::new();
    let version = |entry: &CommittedEntry<'_>| {
        // The oldest commit that has the entry's text.
        let has_text = |touch: &&&Touch| touch.blob == entry.blob || is_text_of(entry.head, &contents, &touch.blob);
        let commit = entry.commits.iter().take_while(has_text).last()?;
        let names = names(&format!("{}\n{}", entry.head.title, entry.said));
        let mut judge = |path: &&str| {
            let path_now = now(path);
            let keys = [(commit.commit.as_str(), *path), ("HEAD", path_now.as_str())].map(|(commit, path)| {
                let (id, text) = contents.text(commit, path)?;
                let key = (id, path.to_owned());
                known.entry(key.clone()).or_insert_with(|| SourceCode::new(path, text));
                Some(key)
            });
            let [Some(old), Some(new)] = keys else { return None };
            let stale = match known[&old].changed(&names, &known[&new]) {
                NamedLines::Changed(name) => Some(Staleness::Changed { name, path: (*path).to_owned() }),
                // A file without names has its own rule, unless it only moved.
                NamedLines::Nowhere if path_now == *path => return None,
                NamedLines::Nowhere | NamedLines::Same => None,
            };
            Some(((*path).to_owned(), stale))
        };
        Some((entry.at, WrittenVersion { at: commit.at, files: entry.files.iter().filter_map(&mut judge).collect() }))
    };
    entries.iter().filter_map(version).collect()
}

/// Returns whether a version of a file has the body and the dates of the entry with this head; other keys, such as `supersedes`,
/// say nothing about whether the fact holds, nor does a title that has a body.
pub(crate) fn is_text_of(head: &Head, contents: &FileContents<'_>, blob: &str) -> bool {
    let text = |head: &Head| {
        let title = (head.body_fingerprint == body_fingerprint("").0).then(|| head.title.clone());
        (title, head.body_fingerprint, head.created_at, head.updated_at)
    };
    let content = contents.text(blob, "");
    content.is_some_and(|(_, content)| text(&read(KNOWLEDGE_FILE, content.as_bytes()).head) == text(head))
}

/// Returns the paths in `gone` that commits since `since` renamed, each with its later paths, the newest last.
pub(crate) fn later_paths(
    workspace: &Workspace,
    tree: &WorkTree,
    gone: &[&str],
    since: DateTime<Utc>,
) -> HashMap<String, Vec<String>> {
    let touches =
        if gone.is_empty() { BTreeMap::new() } else { by_path(tree.touches(gone, since).unwrap_or_default()) };
    let removed = gone.iter().filter_map(|path| Some((*path, touches.get(*path)?.first()?.commit.as_str())));
    renamed(workspace, tree, &removed.collect(), since)
}

fn is_gone(touch: &Touch) -> bool {
    touch.blob.bytes().all(|digit| digit == b'0')
}

/// Returns the later paths of files that commits removed, the newest last, if these or later ones renamed them.
fn renamed(
    workspace: &Workspace,
    tree: &WorkTree,
    gone: &HashMap<&str, &str>,
    since: DateTime<Utc>,
) -> HashMap<String, Vec<String>> {
    let owned = |(path, commit): (&&str, &&str)| ((*path).to_owned(), (*commit).to_owned());
    let mut removed: Vec<(String, String)> = gone.iter().map(owned).collect();
    let mut later: HashMap<String, Vec<String>> = gone.keys().map(|path| ((*path).to_owned(), Vec::new())).collect();
    for _ in 0..MAX_RENAMES {
        if removed.is_empty() {
            break;
        }
        let renames = tree.renames(removed.iter().map(|(_, commit)| commit.as_str()).collect()).unwrap_or_default();
        let removes = |of: &FileRename| removed.iter().any(|(path, commit)| *path == of.from && *commit == of.commit);
        let found: HashMap<String, String> = renames.into_iter().filter(removes).map(|of| (of.from, of.to)).collect();
        for (first, paths) in &mut later {
            paths.extend(found.get(paths.last().unwrap_or(first)).cloned());
        }
        // Some of them were renamed again.
        let lost: Vec<&str> = found.values().map(String::as_str).filter(|path| !is_present(workspace, path)).collect();
        let touches = if lost.is_empty() { Vec::new() } else { tree.touches(&lost, since).unwrap_or_default() };
        let last = |path: &&str| touches.iter().find(|touch| touch.path == **path);
        removed = lost.iter().filter_map(|path| Some(((*path).to_owned(), last(path)?.commit.clone()))).collect();
    }
    later
}

/// Returns whether a file that an entry names is gone, or has changed much, since the entry was `written`. A folder can
/// be gone; changes in it do not count.
fn stale_since(path: &str, written: i64, known: &FileHistory) -> Option<Staleness> {
    let path = path.to_owned();
    if !known.present.contains(&path) {
        let below = format!("{path}/");
        let below = known.touches.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
        let all = known.touches.get(&path).into_iter().chain(below.map(|(_, touches)| touches)).flatten();
        let last = all.filter(|touch| touch.at > written).min_by_key(|touch| Reverse(touch.at))?;
        return Some(Staleness::Gone { commit: last.commit.clone(), path });
    }
    let lines = *known.lines.get(&path)?;
    let mut changed = 0;
    for touch in known.touches.get(&path)?.iter().rev().filter(|touch| touch.at > written) {
        changed += touch.lines;
        if is_rewritten(changed, lines) {
            return Some(Staleness::Rewritten { commit: touch.commit.clone(), path });
        }
    }
    None
}

/// Returns whether so many changed lines are much in a file of so many lines.
pub(crate) fn is_rewritten(changed: u64, lines: u64) -> bool {
    changed >= LEAST_LINES && is_much(changed, lines)
}

#[expect(clippy::cast_precision_loss, reason = "no file has 2^52 lines")]
fn is_much(changed: u64, lines: u64) -> bool {
    changed as f64 >= lines as f64 * MUCH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_time;

    fn touch(path: &str, commit: &str, at: &str, lines: u64) -> Touch {
        let at = parse_time(at).unwrap().timestamp();
        Touch { path: path.to_owned(), commit: commit.to_owned(), at, blob: String::new(), lines }
    }

    #[track_caller]
    fn check(files: &[&str], written: &str, expected: Option<(&str, &str, bool)>) {
        let known = FileHistory {
            touches: by_path(vec![
                touch("gone.rs", "deleted0", "2026-01-05", 100),
                touch("old/x.rs", "deleted1", "2026-01-05", 10),
                touch("much.rs", "second", "2026-01-04", 30),
                touch("small.rs", "second", "2026-01-04", 9),
                touch("dir/x.rs", "second", "2026-01-04", 900),
                touch("much.rs", "first", "2026-01-03", 30),
            ]),
            present: ["much.rs", "small.rs", "dir", "same.rs"].map(str::to_owned).into(),
            lines: [("much.rs", 100), ("small.rs", 3), ("same.rs", 5), ("dir/x.rs", 1)]
                .map(|(path, n)| (path.to_owned(), n))
                .into(),
        };
        let head = Head { files: files.iter().map(|file| (*file).to_owned()).collect(), ..Head::default() };
        let written = parse_time(written).unwrap().timestamp();
        let found = files_of(&head).find_map(|path| stale_since(path, written, &known));
        let found = found.as_ref().map(|found| match found {
            Staleness::Gone { commit, path } => (commit.as_str(), path.as_str(), true),
            Staleness::Rewritten { commit, path } => (commit.as_str(), path.as_str(), false),
            Staleness::Changed { .. } => unreachable!(),
        });
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn a_removed_or_much_changed_file_makes_an_entry_stale() {
        check(&["gone.rs"], "2026-01-01", Some(("deleted0", "gone.rs", true)));
        check(&["same.rs", "old/"], "2026-01-01", Some(("deleted1", "old", true)));
        // Half of its lines, in the second of two commits.
        check(&["much.rs"], "2026-01-01", Some(("second", "much.rs", false)));
        check(&["much.rs"], "2026-01-03T12:00:00Z", None);
        // Few lines, no change since, a folder, a path that never existed.
        check(&["small.rs"], "2026-01-01", None);
        check(&["gone.rs", "much.rs"], "2026-01-06", None);
        check(&["dir"], "2026-01-01", None);
        check(&["never.rs"], "2026-01-01", None);
        check(&[], "2026-01-01", None);
    }
}
