//! Restoring: an entry of the archive becomes live again.
//!
//! A live entry at its path moves to the path of the archived one, so nothing is overwritten.

use serde::Serialize;

use super::write::edited;
use crate::catalog::{Area, Catalog, RowId};
use crate::entry::edit::Change;
use crate::entry::path::{EntryPath, display_path};
use crate::entry::written::{FINGERPRINTS, fingerprint};
use crate::entry::{Entry, Head, Id, Kind};
use crate::error::{Error, Problem, Result};
use crate::store::{Lock, version_of};
use crate::text::fold;
use crate::workspace::{Workspace, current_id, no_such_entry, unlisted};

/// The result of [`Memory::restore`](crate::Memory::restore).
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let id = memory.add(&Knowledge::new("Line length", ["style"], "100 characters."))?.id;
/// memory.add(&Knowledge::new("Line length", ["style"], "120 characters."))?;
/// let restored = memory.restore(&id)?;
/// assert!(restored.exchanged, "the archive has the version of 120 characters now");
/// assert!(memory.show(&restored.id)?.entry.body.contains("100 characters"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The entry that is live again.
    pub id: Id,
    /// Its file.
    pub path: EntryPath,
    /// Its path in the archive before.
    pub from: EntryPath,
    /// Whether a live entry was at its path, and is now at `from`.
    pub exchanged: bool,
    /// Problems on the way that a person should see.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Moves an archived entry back to its live path.
pub(crate) fn restore(workspace: &Workspace, id: &Id) -> Result<Restored> {
    let lock = workspace.lock_entries()?;
    let archive = workspace.catalog(Area::Archive);
    let live = workspace.catalog(Area::Live);
    // An entry in an unreadable folder may be a newer version, or be in the way.
    if let Some(error) = [&archive, &live].into_iter().find_map(|catalog| unlisted(&workspace.store, catalog)) {
        return Err(error);
    }
    let id = &current_id(&live, &archive, id)?;
    let row = archived_row(&live, &archive, id).ok_or_else(|| match live.row_of_id(id) {
        Some(_) => Error::NotArchived { id: id.to_string() },
        None => no_such_entry(&workspace.store, &[&archive, &live], id),
    })?;
    let from = archive.path(row);
    let to = live_path(&from);
    let target = Id::of_path(&to).ok_or_else(|| no_such_entry(&workspace.store, &[&archive, &live], id))?;
    let in_the_way = live.row_of_id(&target).or_else(|| {
        // A version under a name that the entry had.
        let owner = live.rows_of_name(&target).into_iter().next()?;
        archive.versions_of(&live, &live.id(owner)?, &live.head(owner)).contains(&row).then_some(owner)
    });
    let mut problems = Vec::new();
    let exchanged = in_the_way.is_some();
    let (target, to) = if let Some(owner) = in_the_way {
        let path = live.path(owner);
        let kept = keep_names(workspace, &lock, &from, (&path, &live.head(owner)))?;
        workspace.store.swap(&lock, &from, &path).inspect_err(|_| {
            if let Some((old, new)) = &kept.texts {
                // The version in the archive is as it was.
                let _ = workspace.replace(&lock, &from, new, old);
            }
        })?;
        problems = kept.problems;
        (live.id(owner).unwrap_or(target), path)
    } else {
        workspace.store.move_to(&lock, &from, &to)?;
        (target, to)
    };
    workspace.commit_moved();
    let path = EntryPath::new(&to);
    problems.extend(lock.settled(&[workspace.root().join(&path)]));
    Ok(Restored { id: target, path, from: EntryPath::new(&from), exchanged, problems })
}

/// Returns the row of the archived entry or version with this id, else that of the newest version of the entry with it.
/// Of an entry that is gone, versions may be left.
fn archived_row(live: &Catalog, archive: &Catalog, id: &Id) -> Option<RowId> {
    let head = || live.row_of_id(id).map_or_else(|| Head::empty(id.kind()), |row| live.head(row));
    archive.row_of_id(id).or_else(|| archive.versions_of(live, id, &head()).pop())
}

/// What became of an archived version that got the names of the live entry.
#[derive(Default)]
struct KeptNames {
    /// Its text before and after, if that changed.
    texts: Option<(String, String)>,
    problems: Vec<Problem>,
}

/// Gives an archived version what the live entry that it is about to replace has got since: its names, as aliases, since
/// links and the history may use them, and the fingerprints of its texts, which no agent brings back.
fn keep_names(workspace: &Workspace, lock: &Lock, version: &str, (path, live): (&str, &Head)) -> Result<KeptNames> {
    let (text, entry) = match workspace.read_entry(version) {
        Err(Error::Uneditable { .. }) => return Ok(KeptNames::not(path, "it is not UTF-8")),
        read => read?,
    };
    let title = Some(&live.title).filter(|title| !title.is_empty() && fold(title) != fold(&entry.head.title));
    let is_lacking = |name: &&String| !entry.head.aliases.contains(name) && **name != entry.head.title;
    let names: Vec<String> = live.aliases.iter().chain(title).filter(is_lacking).cloned().collect();
    let texts = later_texts(workspace, &entry, (path, live));
    let lists = [("aliases", names), (FINGERPRINTS, texts)].into_iter().filter(|(_, items)| !items.is_empty());
    let changes: Vec<Change> = lists.map(|(key, items)| Change::AddItems(key, items)).collect();
    if changes.is_empty() {
        return Ok(KeptNames::default());
    }
    match edited(version, &text, &changes, false) {
        Ok(edited) => {
            let problems = workspace.replace(lock, version, &text, &edited)?;
            Ok(KeptNames { texts: Some((text, edited)), problems })
        }
        Err(Error::Uneditable { reason, .. }) => Ok(KeptNames::not(path, &reason)),
        Err(error) => Err(error),
    }
}

/// Returns the fingerprints of the texts that a live entry has and had since a version of it.
fn later_texts(workspace: &Workspace, version: &Entry, (path, live): (&str, &Head)) -> Vec<String> {
    let now = workspace.read_entry(path).map(|(_, entry)| fingerprint(&entry.head.title, &entry.body));
    let now = now.ok().filter(|_| live.kind == Kind::Knowledge);
    let own = fingerprint(&version.head.title, &version.body);
    let is_later = |text: &String| *text != own && !version.head.fingerprints.contains(text);
    let mut texts: Vec<String> = live.fingerprints.iter().cloned().chain(now).filter(is_later).collect();
    texts.dedup();
    texts
}

impl KeptNames {
    fn not(path: &str, reason: &str) -> KeptNames {
        let message = format!("the restored version does not have the entry's later names: {reason}");
        let hint = "add the title and the `aliases` of the version that it replaced to its `aliases` by hand";
        let problem = Problem::warning(display_path(path), "names-not-kept", message, hint);
        KeptNames { texts: None, problems: vec![problem] }
    }
}

/// Returns the path of an archived entry when it was live: with the file's own name, which may differ in form from its
/// id.
fn live_path(archived: &str) -> String {
    let path = archived.strip_prefix("archive/").and_then(|path| path.strip_suffix(".md")).unwrap_or(archived);
    let (folder, stem) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = version_of(stem).map_or(stem, |(stem, ..)| stem);
    format!("{folder}/{stem}.md")
}
