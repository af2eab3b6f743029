//! Problems of the copies in git's common folder: what has none, what was not made here, and what gone work trees left.

use crate::entry::Id;
use crate::entry::path::{MEMORY_FOLDER, display_path, is_copy};
use crate::error::Problem;
use crate::index::catalog::Catalog;
use crate::journal::uncopied;
use crate::knowledge::left_texts;
use crate::text::{count, printed_command};
use crate::workspace::Workspace;

/// Returns the problems of the copies.
pub(super) fn copies(workspace: &Workspace, live: &Catalog, archive: &Catalog) -> Vec<Problem> {
    let store = &workspace.store;
    let Some(folder) = store.copies_path() else { return Vec::new() };
    let mut problems = Vec::new();
    let uncopied = uncopied(workspace);
    if !uncopied.is_empty() {
        let attempts = count(uncopied.len(), "attempt");
        let message = format!("`{}` has no copy of {attempts} for the other work trees", folder.display());
        let hint = "`ralph-memory tidy` copies them, if you can write there";
        problems.push(Problem::notice(MEMORY_FOLDER, "uncopied", message, hint));
    }
    for foreign in store.foreign_copies() {
        let message = format!("`{}` is not sealed with your key, so its attempts are not read", foreign.display());
        let hint =
            "it may be of another home of yours, or from a copied folder: look at what it holds before you delete it";
        problems.push(Problem::warning(MEMORY_FOLDER, "foreign-copies", message, hint));
    }
    problems.extend(twice(workspace, live, archive));
    problems.extend(left_by_trees(workspace));
    problems
}

/// Reports the attempts of this work tree whose names other attempts have in another one, and those that were removed for
/// good there.
fn twice(workspace: &Workspace, live: &Catalog, archive: &Catalog) -> Vec<Problem> {
    let of_copy = |copy: crate::store::Copy| {
        let id = Id::of_path(&copy.path)?;
        let own = [live, archive].into_iter().find_map(|catalog| Some(catalog.path(catalog.row_of_id(&id)?)))?;
        let bytes = workspace.store.read(&own).ok().filter(|_| !is_copy(&own))?.bytes;
        if copy.is_tombstone {
            let message = "it was removed for good in another work tree, and comes back with this file";
            let hint = printed_command("ralph-memory archive --forget ID", &[("ID", id.as_str())]);
            let hint = format!("{hint} removes it here, too; `ralph-memory tidy` does not copy it");
            return Some(Problem::warning(display_path(&own), "forgotten-attempt", message, hint));
        }
        workspace.store.is_of_another(&copy.path, &bytes).then(|| {
            let message =
                format!("another work tree has another attempt with the id `{id}`, which does not count here");
            let hint = "`ralph-memory tidy` gives this one another number, unless the default branch has it";
            Problem::warning(display_path(&own), "attempt-twice", message, hint)
        })
    };
    workspace.store.copies_in(&["journal", "archive/journal"]).into_iter().filter_map(of_copy).collect()
}

/// Reports the entries of work trees that are gone which this one lacks, or has in an older form.
fn left_by_trees(workspace: &Workspace) -> Vec<Problem> {
    let of_entry = |(left, is_here): (crate::store::TreeEntry, bool)| {
        let id = Id::of_path(&left.path)?;
        let (what, restore) = if is_here {
            ("differs from the entry here", "ralph-memory restore ID --before TREE")
        } else {
            ("is in no file here", "ralph-memory restore ID")
        };
        let message = format!("`{id}`, which the work tree `{}` left when it was removed, {what}", left.tree);
        let command = printed_command(restore, &[("ID", id.as_str()), ("TREE", &left.tree)]);
        Some(Problem::notice(display_path(&left.path), "left-entry", message, format!("{command} brings it back")))
    };
    left_texts(workspace).into_iter().filter_map(of_entry).collect()
}
