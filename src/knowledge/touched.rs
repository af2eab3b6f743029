//! The entries that a change touches before it is committed or merged: those that it would make stale.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::code_names::{NamedLines, SourceCode, names};
use super::staleness::{ENTRIES, Staleness, decisive, is_rewritten, is_text_of, later_paths};
use crate::entry::path::{display_path, is_project_path};
use crate::entry::{Head, said};
use crate::error::{Error, Result};
use crate::git::{DiffRange, FileContent, FileContents, FileDiff, Lookup, MAX_TEXT, WorkTree};
use crate::index::catalog::{Catalog, HeadStart, RowId};
use crate::search::retrieve::superseded;
use crate::store::Folder;
use crate::workspace::{Work, Workspace};

/// An entry's path, the beginning of its head, and the files of the change that it names.
type NamingEntry<'diff> = (String, Head, Vec<&'diff FileDiff>);

/// An entry that names files of the change.
struct ConcernedEntry<'diff> {
    path: String,
    head: Head,
    files: Vec<&'diff FileDiff>,
    /// What it says.
    said: String,
    /// The object id of its file before the change, if the file was another one.
    before: Option<&'diff str>,
}

/// What touches an entry, or the path of a file that could not be compared.
type EntryTouch = Result<Staleness, String>;

/// Returns how many entries name files, and the paths of those that the changes of a range touch. An entry that is added or
/// changed in the range is not touched: whoever wrote it knew of the change.
pub(crate) fn touched(
    workspace: &Workspace,
    range: &str,
    live: &Catalog,
) -> Result<(usize, Vec<(String, EntryTouch)>)> {
    let _asking = workspace.doing(Work::AskingGit, None);
    let tree = work_tree(workspace)?;
    let range = tree.range(range)?;
    let diff = tree.diff(&range)?;
    let (n_naming, named) = naming(workspace, &tree, live, &diff);
    if named.is_empty() {
        return Ok((n_naming, Vec::new()));
    }
    let paths: Vec<String> = named.iter().map(|(path, ..)| display_path(path)).collect();
    let known = tree.listed(&range.from, ENTRIES, paths.iter().map(String::as_str))?;
    // If git has no entries, their dates say whether one was written in the range.
    let since = if known.is_none() { Some(tree.made_at(&range.from)?) } else { None };
    let known = known.unwrap_or_default();
    let concerned: Vec<ConcernedEntry<'_>> =
        named.into_iter().filter_map(|entry| written_before(workspace, &tree, entry, since, &known)).collect();
    let mut places: Vec<(&str, &str)> = concerned.iter().filter_map(|entry| Some((entry.before?, ""))).collect();
    for file in concerned.iter().flat_map(|entry| &entry.files) {
        places.push((&range.from, &file.path));
        places.extend(range.to.as_deref().zip(file.now.as_deref()));
    }
    let contents = tree.contents(places, true);
    let folder = Folder::open(workspace.root()).ok();
    let mut code = HashMap::new();
    let mut found = Vec::new();
    for ConcernedEntry { path, head, files, said, before } in concerned {
        if let Some(before) = before
            && *contents.get(before, "").1 != FileContent::Unread
            && !is_text_of(&head, &contents, before)
        {
            continue;
        }
        let names = names(&format!("{}\n{said}", head.title));
        let changes = files.iter().filter_map(|file| {
            let Some(path) = file.now.clone() else {
                return Some(Ok(Staleness::Gone { commit: String::new(), path: file.path.clone() }));
            };
            let code = code
                .entry(file.path.as_str())
                .or_insert_with(|| ChangedCode::read(folder.as_ref(), &range, file, &contents));
            code.touches(&names, path)
        });
        // What is known comes before what is not.
        found.extend(changes.min_by_key(Result::is_err).map(|change| (path, change)));
    }
    Ok((n_naming, found))
}

/// Calls `visit` with the live entries in use that name files. Superseded and expired entries are in no context, so they need
/// no check.
pub(crate) fn visit_naming(live: &Catalog, now: DateTime<Utc>, mut visit: impl FnMut(RowId, &HeadStart<'_>)) {
    let superseded: HashSet<RowId> = superseded(&[live], now).iter().filter_map(|id| live.row_of_id(id)).collect();
    live.visit_knowledge(|row, head| {
        let is_expired = head.expires_at.is_some_and(|at| at <= now);
        if head.valid && !head.files.is_empty() && !is_expired && !superseded.contains(&row) {
            visit(row, head);
        }
    });
}

fn files_of<'a>(head: &'a HeadStart<'_>) -> impl Iterator<Item = &'a str> {
    decisive(head.files.iter().copied(), head.imported.as_ref())
}

/// Returns how many entries name files, and those that name files of a change, with these.
fn naming<'diff>(
    workspace: &Workspace,
    tree: &WorkTree,
    live: &Catalog,
    diff: &'diff [FileDiff],
) -> (usize, Vec<NamingEntry<'diff>>) {
    let mut of_path: HashMap<&str, &FileDiff> = diff.iter().map(|file| (file.path.as_str(), file)).collect();
    let (mut n_naming, mut named, mut oldest) = (0, Vec::new(), None);
    let mut is_gone: HashMap<String, bool> = HashMap::new();
    visit_naming(live, workspace.now(), |row, head| {
        n_naming += 1;
        if diff.is_empty() {
            return;
        }
        named.extend(naming_any(live, row, head, &of_path));
        for path in files_of(head) {
            if !is_gone.contains_key(path) {
                let is_there = || workspace.root().join(path).symlink_metadata().is_ok();
                let is_lost = is_project_path(path) && !of_path.contains_key(path) && !is_there();
                is_gone.insert(path.to_owned(), is_lost);
            }
            let is_gone = is_gone[path];
            let recency = head.updated_at.max(head.created_at);
            oldest = recency.filter(|at| is_gone && oldest.is_none_or(|oldest| *at < oldest)).or(oldest);
        }
    });
    // An entry may name a file as it was called before an earlier change.
    let gone: Vec<&str> = is_gone.iter().filter(|(_, is_gone)| **is_gone).map(|(path, _)| path.as_str()).collect();
    let later = oldest.map_or_else(HashMap::new, |oldest| later_paths(workspace, tree, &gone, oldest));
    let n_changed = of_path.len();
    for (path, names) in &later {
        let file = names.iter().find_map(|name| of_path.get(name.as_str()).copied());
        of_path.extend(file.map(|file| (path.as_str(), file)));
    }
    if of_path.len() > n_changed {
        named.clear();
        visit_naming(live, workspace.now(), |row, head| named.extend(naming_any(live, row, head, &of_path)));
    }
    (n_naming, named)
}

/// Returns an entry with those of the changed files that it names, if it names any.
fn naming_any<'diff>(
    live: &Catalog,
    row: RowId,
    head: &HeadStart<'_>,
    of_path: &HashMap<&str, &'diff FileDiff>,
) -> Option<NamingEntry<'diff>> {
    let files: Vec<&FileDiff> = files_of(head).filter_map(|path| of_path.get(path).copied()).collect();
    (!files.is_empty()).then(|| (live.path(row), head.to_head(), files))
}

fn work_tree(workspace: &Workspace) -> Result<WorkTree> {
    let refused = |reason: &str| Error::Git { command: "diff".to_owned(), reason: reason.to_owned() };
    match WorkTree::find(workspace.store.memory()) {
        Lookup::Found(tree) => Ok(tree),
        Lookup::NoGit => Err(refused("there is no `git`")),
        Lookup::NoWorkTree => Err(refused("the memory is not in a work tree")),
        Lookup::Refused(reason) => Err(refused(&reason)),
    }
}

/// Returns an entry if it was written before a range. `known` are the entries that git has at its beginning; if it has none,
/// that was at the time `since`.
fn written_before<'diff>(
    workspace: &Workspace,
    tree: &WorkTree,
    (path, head, files): NamingEntry<'diff>,
    since: Option<i64>,
    known: &'diff HashMap<&str, String>,
) -> Option<ConcernedEntry<'diff>> {
    let before = known.get(display_path(&path).as_str()).map(String::as_str);
    let is_new = match since {
        Some(since) => head.updated_at.is_some_and(|at| at.timestamp() > since),
        None => before.is_none(),
    };
    if is_new {
        return None;
    }
    let bytes = workspace.read_bytes(&path).ok()?;
    let before = before.filter(|before| *before != tree.object_id(&bytes));
    let said = said(&path, &bytes);
    Some(ConcernedEntry { path, head, files, said, before })
}

/// A changed file, before and after the change.
struct ChangedCode {
    old: SourceCode,
    new: SourceCode,
    is_rewritten: bool,
}

/// What could be read of a changed file.
enum CodeChange {
    Read(ChangedCode),
    NoText,
    /// It is too large, or git did not print it.
    Unread,
}

impl CodeChange {
    /// Returns how it touches an entry with these names, or the path if that is unknown.
    fn touches(&self, names: &[String], path: String) -> Option<Result<Staleness, String>> {
        match self {
            CodeChange::NoText => None,
            CodeChange::Unread => (!names.is_empty()).then_some(Err(path)),
            CodeChange::Read(ChangedCode { old, new, is_rewritten }) => match old.changed(names, new) {
                NamedLines::Changed(name) => Some(Ok(Staleness::Changed { name, path })),
                NamedLines::Nowhere if *is_rewritten => Some(Ok(Staleness::Rewritten { commit: String::new(), path })),
                NamedLines::Nowhere | NamedLines::Same => None,
            },
        }
    }
}

impl ChangedCode {
    fn read(project: Option<&Folder>, range: &DiffRange, file: &FileDiff, contents: &FileContents<'_>) -> CodeChange {
        let now = file.now.as_deref().unwrap_or_default();
        let old = contents.get(&range.from, &file.path).1;
        let new = match &range.to {
            Some(to) => contents.get(to, now).1.clone(),
            None => match project.map(|project| project.read(now, MAX_TEXT)) {
                Some(Ok(bytes)) if bytes.contains(&0) => FileContent::NoText,
                Some(Ok(bytes)) => FileContent::Text(String::from_utf8_lossy(&bytes).into_owned()),
                _ => FileContent::Unread,
            },
        };
        match (old, &new) {
            (FileContent::NoText, _) | (_, FileContent::NoText) => CodeChange::NoText,
            (FileContent::Text(old), FileContent::Text(new)) => CodeChange::Read(ChangedCode {
                is_rewritten: is_rewritten(file.lines, new.lines().count() as u64),
                old: SourceCode::new(&file.path, old),
                new: SourceCode::new(now, new),
            }),
            _ => CodeChange::Unread,
        }
    }
}
