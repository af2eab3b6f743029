//! Staleness: whether an entry may be outdated, because of the files that it names.
//!
//! The files are compared as they were at the commit that has the text of the entry, or else at its date, and as the last
//! commit has them, wherever they are now. Git is asked once for all entries.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Utc};

use super::code_names::{ChangedLines, Staleness, names};
use crate::entry::path::{display_path, is_pattern, is_project_path, named_file};
use crate::entry::{Head, body_fingerprint, read, said};
use crate::git::{FileContents, PATIENCE, Touch, WorkTree};
use crate::workspace::{Work, Workspace};

/// How many paths git is asked about in a call.
const MAX_PATHS: usize = 1_000;
/// A file that is read as an entry.
const KNOWLEDGE_FILE: &str = "knowledge/x.md";
/// The folder of the entries, as git knows it.
pub(crate) const ENTRIES: &str = ".ralph/knowledge";
/// How many of the newest versions of an entry are compared, to find the one that has its text.
const MAX_VERSIONS: usize = 4;
/// How often a file may have been renamed.
const MAX_RENAMES: usize = 4;

/// The commits that changed paths, by these, the newest first.
type Touches = BTreeMap<String, Vec<Touch>>;

/// An entry, files of which changed.
struct DatedEntry<'a> {
    /// Its position among all.
    at: usize,
    head: &'a Head,
    /// What it says.
    said: String,
    /// The object id of its file as it is.
    blob: String,
    /// The newest commits that changed it, the newest first.
    versions: Vec<&'a Touch>,
    /// The files that changed, each with the revision before its first change after the entry's date.
    files: Vec<(&'a str, Option<String>)>,
}

/// Returns the staleness of the entries with these paths and heads; all `None` if there is no git.
pub(crate) fn staleness(workspace: &Workspace, entries: &[(&str, &Head)]) -> Vec<Option<Staleness>> {
    let mut found = vec![None; entries.len()];
    let recency = |head: &Head| head.clone().without_future(workspace.now()).recency();
    let dates: Vec<_> = entries.iter().map(|(_, head)| files_of(head).next().and_then(|_| recency(head))).collect();
    let naming = entries.iter().zip(&dates).filter(|(_, date)| date.is_some());
    let mut paths: Vec<&str> =
        naming.flat_map(|((_, head), _)| files_of(head)).filter(|path| is_project_path(path)).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.truncate(MAX_PATHS);
    let since = dates.iter().flatten().min().filter(|_| !paths.is_empty());
    let Some((since, tree)) = since.and_then(|since| Some((*since, workspace.work_tree()?))) else { return found };
    let _asking = workspace.doing(Work::AskingGit, None);
    paths.push(ENTRIES);
    let touches = touches_of(&tree, &paths, since);
    let mut dated = Vec::new();
    for (at, ((path, head), date)) in entries.iter().zip(&dates).enumerate() {
        let Some(date) = date else { continue };
        let changed = files_of(head).filter(|path| changes_of(&touches, path).next().is_some());
        let before = |path| {
            let later = changes_of(&touches, path).filter(|touch| touch.at > date.timestamp());
            (path, later.max_by_key(|touch| Reverse(touch.at)).map(|first| format!("{}^", first.commit)))
        };
        let files: Vec<(&str, Option<String>)> = changed.map(before).collect();
        let bytes = if files.is_empty() { None } else { workspace.read_bytes(path).ok() };
        let Some(bytes) = bytes else { continue };
        let (blob, said) = (tree.object_id(&bytes), said(path, &bytes));
        dated.push(DatedEntry { at, head, said, blob, versions: versions(&touches, &display_path(path)), files });
    }
    for (at, stale) in judged(workspace, &tree, &dated, &touches, since) {
        found[at] = stale;
    }
    found
}

/// Returns the staleness of entries by their positions.
fn judged(
    workspace: &Workspace,
    tree: &WorkTree,
    dated: &[DatedEntry<'_>],
    touches: &Touches,
    since: DateTime<Utc>,
) -> Vec<(usize, Option<Staleness>)> {
    let is_present = |path: &str| is_present(workspace, path);
    let gone = dated.iter().flat_map(|entry| &entry.files).map(|(path, _)| *path).filter(|path| !is_present(path));
    let later = later_paths(workspace, tree, gone.collect(), touches, since);
    let now = |path: &'_ str| later.get(path).and_then(|of| of.last()).filter(|path| is_present(path));
    let mut places: Vec<(&str, &str)> = Vec::new();
    for DatedEntry { blob, versions, files, .. } in dated {
        // The text of a file that is as it was need not be compared.
        places.extend(versions.iter().filter(|touch| touch.blob != *blob).map(|touch| (touch.blob.as_str(), "")));
        for (path, before) in files {
            places.push(("HEAD", now(path).map_or(path, String::as_str)));
            places.extend(versions.iter().map(|touch| (touch.commit.as_str(), *path)));
            places.extend(before.iter().map(|before| (before.as_str(), *path)));
        }
    }
    let contents = tree.contents(places, false);
    // Two states of a file are compared once, however many entries name it.
    let mut compared = HashMap::new();
    let judge = |DatedEntry { at, head, said, blob, versions, files }: &DatedEntry<'_>| {
        // The oldest commit that has the entry's text.
        let has_text = |touch: &&&Touch| touch.blob == *blob || is_text_of(head, &contents, &touch.blob);
        let version = versions.iter().take_while(has_text).last();
        // Without a commit that has it, nobody knows which lines it was written about.
        let names = if version.is_some() { names(&format!("{}\n{said}", head.title)) } else { Vec::new() };
        let stale = files.iter().find_map(|(path, before)| {
            let revision = match version {
                Some(touch) => &touch.commit,
                // Whoever changes the text now knows the files as they are.
                None => before.as_ref().filter(|_| versions.is_empty())?,
            };
            let (old, was) = contents.get(revision, path);
            let (new, is) = contents.get("HEAD", now(path).map_or(path, String::as_str));
            if old == new {
                return None;
            }
            if new.is_empty() {
                return (!is_present(path)).then(|| Staleness::Gone { path: (*path).to_owned() });
            }
            let lines = compared.entry((old, new)).or_insert_with(|| Some(ChangedLines::new(was.text()?, is.text()?)));
            lines.as_ref()?.doubt(&names, path)
        });
        (*at, stale)
    };
    dated.iter().map(judge).collect()
}

/// Returns the files whose changes make an entry stale, of those that it names: a pattern is about whatever files there are.
pub(crate) fn decisive<'a>(files: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    files.filter(|file| !is_pattern(file)).map(named_file)
}

fn files_of(head: &Head) -> impl Iterator<Item = &str> {
    decisive(head.files.iter().map(String::as_str))
}

/// Returns the commits since a time that changed these paths.
pub(crate) fn touches_of(tree: &WorkTree, paths: &[&str], since: DateTime<Utc>) -> Touches {
    let mut touches = Touches::new();
    for touch in tree.touches(paths, since).unwrap_or_default() {
        touches.entry(touch.path.clone()).or_default().push(touch);
    }
    touches
}

/// Returns the changes of a file, or below a folder.
fn changes_of<'a>(touches: &'a Touches, path: &str) -> impl Iterator<Item = &'a Touch> {
    let below = format!("{path}/");
    let all = touches.get(path).into_iter();
    let below = touches.range(below.clone()..).take_while(move |(path, _)| path.starts_with(&below));
    all.chain(below.map(|(_, all)| all)).flatten()
}

/// Returns the newest commits that changed an entry, under any of its names, the newest first. An entry that went, as to the
/// archive, and came back is as old as its text.
fn versions<'a>(touches: &'a Touches, path: &str) -> Vec<&'a Touch> {
    let (mut found, mut path, mut named) = (Vec::new(), Some(path), None::<&String>);
    while let Some(name) = path.take() {
        // Another entry may have the name since.
        let before =
            touches.get(name).into_iter().flatten().skip_while(|touch| named.is_some_and(|at| touch.commit != *at));
        for touch in before.filter(|touch| touch.blob.bytes().any(|digit| digit != b'0')) {
            if found.len() == MAX_VERSIONS {
                return found;
            }
            found.push(touch);
            if touch.from.is_some() {
                (path, named) = (touch.from.as_deref(), Some(&touch.commit));
                break;
            }
        }
    }
    found
}

/// Returns whether a version of a file has the body and the dates of the entry with this head; other keys, such as `supersedes`,
/// say nothing about whether the fact holds, nor does a title that has a body.
pub(crate) fn is_text_of(head: &Head, contents: &FileContents<'_>, blob: &str) -> bool {
    let text = |head: &Head| {
        let title = (head.body_fingerprint == body_fingerprint("").0).then(|| head.title.clone());
        (title, head.body_fingerprint, head.created_at, head.updated_at)
    };
    let content = contents.get(blob, "").1.text();
    content.is_some_and(|content| text(&read(KNOWLEDGE_FILE, content.as_bytes()).head) == text(head))
}

/// Returns the paths that commits since `since` gave to files that are gone, by the ones that these had, the newest last.
/// `known` has the commits that removed them.
pub(crate) fn later_paths(
    workspace: &Workspace,
    tree: &WorkTree,
    gone: Vec<&str>,
    known: &Touches,
    since: DateTime<Utc>,
) -> HashMap<String, Vec<String>> {
    let mut later: HashMap<String, Vec<String>> = gone.iter().map(|path| ((*path).to_owned(), Vec::new())).collect();
    let mut lost: Vec<String> = gone.into_iter().map(str::to_owned).collect();
    let mut newer = Touches::new();
    for number in 0..MAX_RENAMES {
        let touches = if number == 0 { known } else { &newer };
        let removed = |path: &String| touches.get(path)?.first().map(|touch| touch.commit.as_str());
        let commits: BTreeSet<&str> = lost.iter().filter_map(removed).collect();
        if commits.is_empty() {
            break;
        }
        // Git leaves out a line without an end.
        let commits: String = commits.into_iter().flat_map(|commit| [commit, "\n"]).collect();
        let renames = tree.renames(&commits, PATIENCE).unwrap_or_default();
        let found: HashMap<&String, &String> =
            renames.iter().filter(|of| removed(&of.from) == Some(&*of.commit)).map(|of| (&of.from, &of.to)).collect();
        for (first, paths) in &mut later {
            paths.extend(found.get(paths.last().unwrap_or(first)).map(|path| (*path).clone()));
        }
        // Some of them were renamed again.
        lost = found.into_values().filter(|path| !is_present(workspace, path)).cloned().collect();
        newer = touches_of(tree, &lost.iter().map(String::as_str).collect::<Vec<_>>(), since);
    }
    later
}

fn is_present(workspace: &Workspace, path: &str) -> bool {
    workspace.root().join(path).symlink_metadata().is_ok()
}
