//! The entries that a change touches before it is committed or merged: those that it would make stale.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::code_names::{NamedLines, SourceCode, names};
use super::staleness::{ENTRIES, Staleness, decisive, is_rewritten, is_text_of, later_paths};
use crate::entry::path::{MEMORY_FOLDER, display_path, is_project_path, without_extension};
use crate::entry::{Head, said};
use crate::error::{Error, Result};
use crate::git::{DiffRange, FileContent, FileContents, FileDiff, Lookup, MAX_TEXT, Place, WorkTree};
use crate::index::catalog::{Catalog, HeadStart, RowId};
use crate::search::retrieve::superseded;
use crate::store::Folder;
use crate::text::nfc;
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
    /// The object id of its file.
    blob: String,
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
    let known = KnownEntries::of(&tree, &range, live, &named)?;
    let concerned: Vec<ConcernedEntry<'_>> =
        named.into_iter().filter_map(|entry| concerned(workspace, &tree, entry)).collect();
    let mut places: Vec<(&str, &str)> = concerned.iter().flat_map(|entry| known.others(entry)).collect();
    for file in concerned.iter().flat_map(|entry| &entry.files) {
        places.push((&range.from, &file.path));
        places.extend(range.to.as_deref().zip(file.now.as_deref()));
    }
    let contents = tree.contents(places, true);
    let folder = Folder::open(workspace.root()).ok();
    let mut code = HashMap::new();
    let mut found = Vec::new();
    for ConcernedEntry { path, head, files, said, .. } in
        concerned.iter().filter(|entry| known.has_before(entry, &contents))
    {
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
        found.extend(changes.min_by_key(Result::is_err).map(|change| (path.clone(), change)));
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
    decisive(head.files.iter().copied())
}

/// Returns how many entries name files, and those that name files of a change, with these.
fn naming<'diff>(
    workspace: &Workspace,
    tree: &WorkTree,
    live: &Catalog,
    diff: &'diff [FileDiff],
) -> (usize, Vec<NamingEntry<'diff>>) {
    // An entry may write the letters of a name in another form than git.
    let mut of_path: HashMap<Cow<'_, str>, &FileDiff> = diff.iter().map(|file| (nfc(&file.path), file)).collect();
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
                let is_lost = is_project_path(path) && !of_path.contains_key(&nfc(path)) && !is_there();
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
        let file = names.iter().find_map(|name| of_path.get(&nfc(name)).copied());
        of_path.extend(file.map(|file| (nfc(path), file)));
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
    of_path: &HashMap<Cow<'_, str>, &'diff FileDiff>,
) -> Option<NamingEntry<'diff>> {
    let files: Vec<&FileDiff> = files_of(head).filter_map(|path| of_path.get(&nfc(path)).copied()).collect();
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

fn concerned<'diff>(
    workspace: &Workspace,
    tree: &WorkTree,
    (path, head, files): NamingEntry<'diff>,
) -> Option<ConcernedEntry<'diff>> {
    let bytes = workspace.read_bytes(&path).ok()?;
    let (said, blob) = (said(&path, &bytes), tree.object_id(&bytes));
    Some(ConcernedEntry { path, head, files, said, blob })
}

/// The entries that git knows at the ends of a range.
#[derive(Default)]
struct KnownEntries {
    /// The object ids of those at its beginning, by their displayed paths.
    before: HashMap<String, String>,
    /// Those of them whose paths no entry has now: each may have another path.
    gone: Vec<String>,
    /// Those at its end.
    after: HashMap<String, String>,
    /// When it begins.
    since: i64,
}

impl KnownEntries {
    fn of(tree: &WorkTree, range: &DiffRange, live: &Catalog, named: &[NamingEntry<'_>]) -> Result<KnownEntries> {
        let before = tree.listed(&range.from, ENTRIES)?;
        if named.iter().all(|(path, ..)| before.contains_key(&display_path(path))) {
            return Ok(KnownEntries { before, ..KnownEntries::default() });
        }
        let is_gone = |path: &str| {
            let path = path.strip_prefix(MEMORY_FOLDER).unwrap_or_default();
            without_extension(path).is_some() && live.row_of_path(path).is_none()
        };
        let gone = before.iter().filter(|(path, _)| is_gone(path)).map(|(_, blob)| blob.clone()).collect();
        let after = tree.listed(range.to.as_deref().unwrap_or("HEAD"), ENTRIES)?;
        Ok(KnownEntries { before, gone, after, since: tree.made_at(&range.from)? })
    }

    /// Returns the object ids of the files that may be an entry at the beginning, and are not its file as it is.
    fn others<'a>(&'a self, entry: &'a ConcernedEntry<'_>) -> impl Iterator<Item = Place<'a>> {
        let blobs = self.blobs(entry).iter().filter(|blob| **blob != entry.blob);
        blobs.map(|blob| (blob.as_str(), ""))
    }

    fn blobs(&self, entry: &ConcernedEntry<'_>) -> &[String] {
        self.before.get(&display_path(&entry.path)).map_or(&self.gone, std::slice::from_ref)
    }

    /// Returns whether an entry was written before the range. If git does not know it, its date says that. What could not be
    /// read may be the entry.
    fn has_before(&self, entry: &ConcernedEntry<'_>, contents: &FileContents<'_>) -> bool {
        let path = display_path(&entry.path);
        let is_it = |blob: &String| {
            *blob == entry.blob
                || *contents.get(blob, "").1 == FileContent::Unread
                || is_text_of(&entry.head, contents, blob)
        };
        let is_unknown = !self.before.contains_key(&path) && !self.after.contains_key(&path);
        let is_older = || entry.head.recency().is_none_or(|at| at.timestamp() <= self.since);
        self.blobs(entry).iter().any(is_it) || is_unknown && is_older()
    }
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
