//! The entries that a change touches before it is committed or merged: those that it would make stale.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::code_names::{ChangedLines, Staleness, names};
use super::staleness::{ENTRIES, decisive, is_text_of, later_paths, touches_of};
use crate::entry::path::{MEMORY_FOLDER, display_path, is_project_path, without_extension};
use crate::entry::{Head, said};
use crate::error::{Error, Result};
use crate::git::{DiffRange, FileContent, FileContents, FileDiff, Lookup, MAX_TEXT, Place, WorkTree};
use crate::index::catalog::{Catalog, HeadStart, RowId};
use crate::search::retrieve::superseded;
use crate::store::Folder;
use crate::text::nfc;
use crate::workspace::{Work, Workspace};

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
    let (n_naming, concerned) = naming(workspace, &tree, live, &diff);
    if concerned.is_empty() {
        return Ok((n_naming, Vec::new()));
    }
    let known = KnownEntries::of(&tree, &range, live, &concerned)?;
    let mut places: Vec<(&str, &str)> = concerned.iter().flat_map(|entry| known.others(entry)).collect();
    for file in concerned.iter().flat_map(|entry| &entry.files) {
        places.push((&range.from, &file.path));
        places.extend(range.to.as_deref().zip(file.now.as_deref()));
    }
    let contents = tree.contents(places, true);
    let folder = Folder::open(workspace.root()).ok();
    let (mut compared, mut found) = (HashMap::new(), Vec::new());
    for ConcernedEntry { path, head, files, said, .. } in
        concerned.iter().filter(|entry| known.has_before(entry, &contents))
    {
        let names = names(&format!("{}\n{said}", head.title));
        let changes = files.iter().filter_map(|file| {
            let Some(path) = &file.now else { return Some(Ok(Staleness::Gone { path: file.path.clone() })) };
            let old = contents.get(&range.from, &file.path).1;
            let lines = compared
                .entry(file.path.as_str())
                .or_insert_with(|| compare(old, &later(folder.as_ref(), &range, path, &contents)));
            match lines {
                Ok(lines) => lines.as_ref()?.doubt(&names, path).map(Ok),
                Err(()) => (!names.is_empty()).then(|| Err(path.clone())),
            }
        });
        // What is known comes before what is not.
        found.extend(changes.min_by_key(Result::is_err).map(|change| (path.clone(), change)));
    }
    Ok((n_naming, found))
}

/// Returns what a file has at the end of a range.
fn later<'a>(
    project: Option<&Folder>,
    range: &DiffRange,
    path: &str,
    contents: &'a FileContents<'_>,
) -> Cow<'a, FileContent> {
    if let Some(to) = &range.to {
        return Cow::Borrowed(contents.get(to, path).1);
    }
    Cow::Owned(match project.map(|project| project.read(path, MAX_TEXT)) {
        Some(Ok(bytes)) => FileContent::new(&bytes),
        _ => FileContent::Unread,
    })
}

/// Returns the lines that a change takes away, none of a file that is not text; an error if it could not be read.
fn compare<'a>(old: &'a FileContent, new: &FileContent) -> Result<Option<ChangedLines<'a>>, ()> {
    match (old, new) {
        (FileContent::NoText, _) | (_, FileContent::NoText) => Ok(None),
        (FileContent::Text(old), FileContent::Text(new)) => Ok(Some(ChangedLines::new(old, new))),
        _ => Err(()),
    }
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
) -> (usize, Vec<ConcernedEntry<'diff>>) {
    // An entry may write the letters of a name in another form than git.
    let mut of_path: HashMap<Cow<'_, str>, &FileDiff> = diff.iter().map(|file| (nfc(&file.path), file)).collect();
    let (mut n_naming, mut oldest) = (0, None);
    let mut is_gone: HashMap<String, bool> = HashMap::new();
    visit_naming(live, workspace.now(), |_, head| {
        n_naming += 1;
        for path in files_of(head).filter(|_| !diff.is_empty()) {
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
    if let Some(oldest) = oldest {
        let gone: Vec<&str> = is_gone.iter().filter(|(_, is_gone)| **is_gone).map(|(path, _)| path.as_str()).collect();
        let touches = touches_of(tree, &gone, oldest);
        for (path, names) in later_paths(workspace, tree, gone, &touches, oldest) {
            let file = names.iter().find_map(|name| of_path.get(&nfc(name)).copied());
            of_path.extend(file.map(|file| (nfc(&path).into_owned().into(), file)));
        }
    }
    let mut named = Vec::new();
    visit_naming(live, workspace.now(), |row, head| {
        let files: Vec<&FileDiff> = files_of(head).filter_map(|path| of_path.get(&nfc(path)).copied()).collect();
        if !files.is_empty() {
            named.push((live.path(row), head.to_head(), files));
        }
    });
    let concerned = named.into_iter().filter_map(|(path, head, files)| {
        let bytes = workspace.read_bytes(&path).ok()?;
        let (said, blob) = (said(&path, &bytes), tree.object_id(&bytes));
        Some(ConcernedEntry { path, head, files, said, blob })
    });
    (n_naming, concerned.collect())
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
    fn of(tree: &WorkTree, range: &DiffRange, live: &Catalog, named: &[ConcernedEntry<'_>]) -> Result<KnownEntries> {
        let before = tree.listed(&range.from, ENTRIES)?;
        if named.iter().all(|entry| before.contains_key(&display_path(&entry.path))) {
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
