//! The entries that a change touches before it is committed or merged: those that it would make stale.

use std::collections::HashMap;

use super::code_names::{NamedLines, SourceCode, names};
use super::staleness::{ENTRIES, Staleness, files_of, is_rewritten, is_text_of};
use crate::entry::Head;
use crate::entry::path::{display_path, is_project_path};
use crate::error::{Error, Result};
use crate::git::{DiffRange, FileContent, FileDiff, Lookup, WorkTree};
use crate::store::Folder;
use crate::workspace::{Work, Workspace};

/// The largest file that is read from the work tree, in bytes.
const MAX_FILE: usize = 256 * 1024;

/// Returns those of the entries, with their paths, that the changes of a range touch. An entry that is added or changed in
/// the range is not touched: whoever wrote it knew of the change.
pub(crate) fn touched<'a>(
    workspace: &Workspace,
    range: &str,
    entries: &'a [(String, Head)],
) -> Result<Vec<(&'a str, Staleness)>> {
    let refused = |reason: &str| Error::Git { command: "diff".to_owned(), reason: reason.to_owned() };
    let _asking = workspace.doing(Work::AskingGit, None);
    let tree = match WorkTree::find(workspace.store.memory()) {
        Lookup::Found(tree) => tree,
        Lookup::NoGit => return Err(refused("there is no `git`")),
        Lookup::NoWorkTree => return Err(refused("the memory is not in a work tree")),
        Lookup::Refused(reason) => return Err(refused(&reason)),
    };
    let range = tree.range(range)?;
    let diff = tree.diff(&range)?;
    let of_path: HashMap<&str, &FileDiff> = diff.iter().map(|file| (file.path.as_str(), file)).collect();
    let files =
        |head| files_of(head).filter(|path| is_project_path(path)).filter_map(|path| of_path.get(path).copied());
    let concerned: Vec<(&str, &Head)> = entries
        .iter()
        .filter(|(_, head)| files(head).next().is_some())
        .map(|(path, head)| (path.as_str(), head))
        .collect();
    if concerned.is_empty() {
        return Ok(Vec::new());
    }
    let known = tree.listed(&range.from, ENTRIES)?;
    let blob = |path: &str| known.get(&display_path(path)).map(String::as_str);
    let mut places: Vec<(&str, &str)> = concerned.iter().filter_map(|(path, _)| Some((blob(path)?, ""))).collect();
    for file in concerned.iter().flat_map(|(_, head)| files(head)) {
        places.push((&range.from, &file.path));
        places.extend(range.to.as_deref().zip(file.now.as_deref()));
    }
    places.sort_unstable();
    places.dedup();
    let contents = tree.contents(&places);
    let contents: HashMap<(&str, &str), FileContent> = places.into_iter().zip(contents).collect();
    let folder = Folder::open(workspace.root()).ok();
    let mut code = HashMap::new();
    for file in concerned.iter().flat_map(|(_, head)| files(head)) {
        code.entry(file.path.as_str()).or_insert_with(|| ChangedCode::read(folder.as_ref(), &range, file, &contents));
    }
    let mut found = Vec::new();
    for (path, head) in &concerned {
        let Some(entry) = workspace.read_beginning(path) else { continue };
        let before = blob(path).and_then(|blob| contents.get(&(blob, "")));
        // If git has no entries, nobody knows when one was written.
        if !known.is_empty() && !before.is_some_and(|before| is_text_of(&entry, before)) {
            continue;
        }
        let names = names(&format!("{}\n{}", entry.head.title, entry.said()));
        let change = files(head).find_map(|file| {
            let (commit, path) = (String::new(), file.path.clone());
            if file.now.is_none() {
                return Some(Staleness::Gone { commit, path });
            }
            let ChangedCode { old, new, is_rewritten } = code[file.path.as_str()].as_ref()?;
            match old.changed(&names, new) {
                NamedLines::Changed(name) => Some(Staleness::Changed { name, path }),
                NamedLines::Nowhere if *is_rewritten => Some(Staleness::Rewritten { commit, path }),
                NamedLines::Nowhere | NamedLines::Same => None,
            }
        });
        found.extend(change.map(|change| (*path, change)));
    }
    Ok(found)
}

/// A changed file, before and after the change.
struct ChangedCode {
    old: SourceCode,
    new: SourceCode,
    is_rewritten: bool,
}

impl ChangedCode {
    /// Returns nothing of a file that is gone, is not text or is too large.
    fn read(
        project: Option<&Folder>,
        range: &DiffRange,
        file: &FileDiff,
        contents: &HashMap<(&str, &str), FileContent>,
    ) -> Option<ChangedCode> {
        let now = file.now.as_deref()?;
        let old = contents.get(&(range.from.as_str(), file.path.as_str()))?.text()?;
        let new = match &range.to {
            Some(to) => contents.get(&(to.as_str(), now))?.text()?.to_owned(),
            None => String::from_utf8_lossy(&project?.read(now, MAX_FILE).ok()?).into_owned(),
        };
        let is_rewritten = is_rewritten(file.lines, new.lines().count() as u64);
        Some(ChangedCode { old: SourceCode::new(&file.path, old), new: SourceCode::new(now, &new), is_rewritten })
    }
}
