//! The entries that a change touches before it is committed or merged: those that it would make stale.

use std::collections::HashMap;

use super::code_names::{NamedLines, SourceCode, names};
use super::staleness::{ENTRIES, Staleness, files_of, is_rewritten, is_text_of, later_paths};
use crate::entry::path::{display_path, is_project_path};
use crate::entry::{Entry, Head, read};
use crate::error::{Error, Result};
use crate::git::{DiffRange, FileContent, FileContents, FileDiff, Lookup, MAX_TEXT, WorkTree};
use crate::store::Folder;
use crate::workspace::{Work, Workspace};

/// An entry that names files of the change.
struct ConcernedEntry<'a, 'diff> {
    path: &'a str,
    entry: Entry,
    files: Vec<&'diff FileDiff>,
    /// The object id of its file before the change, if the file was another one.
    before: Option<&'diff str>,
}

/// Returns those of the entries, with their paths, that the changes of a range touch; instead of the change, the path of a
/// file that could not be compared. An entry that is added or changed in the range is not touched: whoever wrote it knew of
/// the change.
pub(crate) fn touched<'a>(
    workspace: &Workspace,
    range: &str,
    entries: &'a [(String, Head)],
) -> Result<Vec<(&'a str, Result<Staleness, String>)>> {
    let _asking = workspace.doing(Work::AskingGit, None);
    let tree = work_tree(workspace)?;
    let range = tree.range(range)?;
    let diff = tree.diff(&range)?;
    if diff.is_empty() {
        return Ok(Vec::new());
    }
    let of_path: HashMap<&str, &FileDiff> = diff.iter().map(|file| (file.path.as_str(), file)).collect();
    let later = renamed_before(workspace, &tree, entries, &of_path);
    let file = |path: &str| {
        let later = later.get(path).into_iter().flatten().map(String::as_str);
        std::iter::once(path).chain(later).find_map(|path| of_path.get(path).copied())
    };
    let files = |head| files_of(head).filter(|path| is_project_path(path)).filter_map(file).collect::<Vec<&FileDiff>>();
    let named: Vec<(&str, &Head, Vec<&FileDiff>)> = entries
        .iter()
        .map(|(path, head)| (path.as_str(), head, files(head)))
        .filter(|(.., files)| !files.is_empty())
        .collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let known = tree.listed(&range.from, ENTRIES)?;
    let concerned = written_before(workspace, &tree, &range, named, &known)?;
    let mut places: Vec<(&str, &str)> = concerned.iter().filter_map(|entry| Some((entry.before?, ""))).collect();
    for file in concerned.iter().flat_map(|entry| &entry.files) {
        places.push((&range.from, &file.path));
        places.extend(range.to.as_deref().zip(file.now.as_deref()));
    }
    let contents = tree.contents(places, true);
    let folder = Folder::open(workspace.root()).ok();
    let mut code = HashMap::new();
    let mut found = Vec::new();
    for ConcernedEntry { path, entry, files, before } in concerned {
        if let Some(before) = before
            && *contents.get(before, "").1 != FileContent::Unread
            && !is_text_of(&entry, &contents, before)
        {
            continue;
        }
        let names = names(&format!("{}\n{}", entry.head.title, entry.said()));
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
    Ok(found)
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

/// Returns the named entries, with the changed files of each, that were written before a range. `known` are the entries that
/// git has at its beginning.
fn written_before<'a, 'diff>(
    workspace: &Workspace,
    tree: &WorkTree,
    range: &DiffRange,
    named: Vec<(&'a str, &Head, Vec<&'diff FileDiff>)>,
    known: &'diff HashMap<String, String>,
) -> Result<Vec<ConcernedEntry<'a, 'diff>>> {
    // If git has no entries, their dates say whether one was written in the range.
    let since = if known.is_empty() { Some(tree.made_at(&range.from)?) } else { None };
    let concerned = named.into_iter().filter_map(|(path, head, files)| {
        let bytes = workspace.read_bytes(path).ok()?;
        let before = known.get(&display_path(path)).map(String::as_str);
        let is_new = match since {
            Some(since) => head.updated_at.is_some_and(|at| at.timestamp() > since),
            None => before.is_none(),
        };
        let before = before.filter(|before| *before != tree.object_id(&bytes));
        (!is_new).then(|| ConcernedEntry { path, entry: read(path, &bytes), files, before })
    });
    Ok(concerned.collect())
}

/// Returns the later paths of files that entries name and that are gone, but not by this change.
fn renamed_before(
    workspace: &Workspace,
    tree: &WorkTree,
    entries: &[(String, Head)],
    of_path: &HashMap<&str, &FileDiff>,
) -> HashMap<String, Vec<String>> {
    let mut gone: HashMap<&str, bool> = HashMap::new();
    let mut oldest = None;
    for (_, head) in entries {
        for path in files_of(head).filter(|path| is_project_path(path) && !of_path.contains_key(path)) {
            let is_gone = *gone.entry(path).or_insert_with(|| workspace.root().join(path).symlink_metadata().is_err());
            oldest = head.recency().filter(|at| is_gone && oldest.is_none_or(|oldest| *at < oldest)).or(oldest);
        }
    }
    let gone: Vec<&str> = gone.into_iter().filter(|(_, is_gone)| *is_gone).map(|(path, _)| path).collect();
    oldest.map_or_else(HashMap::new, |oldest| later_paths(workspace, tree, &gone, oldest))
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
