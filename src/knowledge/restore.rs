//! Restoring: an archived entry becomes live again, or a live entry gets back an earlier text from the undo log.
//!
//! The text that is replaced then goes to the log, as in every other change, so nothing is lost.

use chrono::{DateTime, Utc};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::author::{permit, permit_archived};
use super::rejected::permit_text;
use super::write::{edited, located, refuse_unlisted, settle};
use super::written::{WriteAction, Written};
use crate::entry::edit::Change;
use crate::entry::frontmatter::{framed, only_differs_in, split};
use crate::entry::path::{COPIES, display_path, is_copy, without_extension};
use crate::entry::written::{self, FINGERPRINTS, archived_by, short, signature};
use crate::entry::{self, Entry, Head, Id, Kind};
use crate::error::{Error, Problem, Result};
use crate::index::catalog::{Area, Catalog, RowId};
use crate::open::Memory;
use crate::store::{Created, Lock, LoggedChange, LoggedOperation, TreeEntry, version_of};
use crate::text::{comparable, nfc};
use crate::workspace::{Workspace, current_id, live_entry, no_such_entry};

/// An earlier text of an entry, from the undo log.
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
/// let version = &memory.versions(&id)?[0];
/// assert_eq!((version.version.as_str(), version.command.as_str()), ("2", "add"));
/// memory.restore(&id, Some(&version.version))?;
/// assert!(memory.show(&id)?.entry.body.contains("100 characters"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryVersion {
    /// Its name: the number of the operation that replaced it, such as `12`. If that one replaced several texts of the
    /// entry, `12.2` is the second.
    pub version: String,
    /// When it was replaced.
    pub at: DateTime<Utc>,
    /// The command that replaced it.
    pub command: String,
    /// All of the file.
    pub text: String,
}

impl Memory {
    /// Returns the earlier texts of a live entry that the undo log has, the newest first. The log keeps texts for a year, and
    /// at most 64 MiB of them.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchEntry`], [`Error::AlreadyArchived`],
    /// [`Error::Invalid`] where the id is the old one of several, and
    /// [`Error::Io`].
    pub fn versions(&self, id: &Id) -> Result<Vec<EntryVersion>> {
        let workspace = &self.workspace;
        let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
        let (row, _) = live_entry(workspace, &live, id)?;
        logged_versions(workspace, (&live, &archive), row)
    }

    /// Restores an archived entry, or gives a live one an earlier text again: the newest one, or the `version` of
    /// [`Memory::versions`]. An archived entry whose place a live one has gives that one its text. The entry keeps the
    /// names that it got since as aliases.
    ///
    /// # Errors
    ///
    /// [`Error::NoVersion`] where the undo log has no such text of a live entry,
    /// [`Error::NoSuchEntry`] where there is no such entry at all,
    /// [`Error::Invalid`] where the id is the old one of several,
    /// [`Error::Locked`] and [`Error::Io`].
    pub fn restore(&self, id: &Id, version: Option<&str>) -> Result<Written> {
        let _operation = self.operation("restore");
        let workspace = &self.workspace;
        let lock = workspace.lock_entries()?;
        let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
        refuse_unlisted(workspace, &[&archive, &live])?;
        let id = &current_id(&live, &archive, id)?;
        let missing = || no_such_entry(&workspace.store, &[&archive, &live], id);
        let mut restored = match (archive.row_of_id(id), live.row_of_id(id)) {
            (Some(row), _) if version.is_none() && is_copy(&archive.path(row)) => {
                let copy = archive.path(row);
                workspace.store.move_to(&lock, &copy, &live_path(&copy))?;
                write_copy(workspace, &lock, &live_path(&copy))?
            }
            (None, Some(row)) if version.is_none() && is_copy(&live.path(row)) => {
                write_copy(workspace, &lock, &live.path(row))?
            }
            (Some(row), _) if version.is_none() => restore_archived(workspace, &lock, (&live, &archive), (row, id))?,
            (None, None) => {
                let left = left_by_trees(workspace, id, version).ok_or_else(missing)?;
                permit_text(workspace, "restore", &left.path, &left.bytes)?;
                if workspace.store.create(&lock, &left.path, &left.bytes)? == Created::Exists {
                    return Err(Error::Conflict { path: workspace.store.memory().join(left.path), kept: None });
                }
                let title = entry::read(&left.path, &left.bytes).head.title;
                Written::new(WriteAction::Restored, id.clone(), title, &left.path)
            }
            (_, Some(row)) if version.is_some_and(|tree| left_by_trees(workspace, id, Some(tree)).is_some()) => {
                let left = left_by_trees(workspace, id, version).ok_or_else(missing)?;
                put_back(workspace, &lock, (&live, row), &left.bytes)?
            }
            (_, Some(row)) => {
                let versions = logged_versions(workspace, (&live, &archive), row)?;
                let found = match version {
                    None => versions.first(),
                    Some(name) => versions.iter().find(|version| version.version == name),
                };
                let Some(found) = found else {
                    let (id, path) = (id.to_string(), display_path(&live.path(row)));
                    return Err(Error::NoVersion { id, path, version: version.map(str::to_owned) });
                };
                put_back(workspace, &lock, (&live, row), found.text.as_bytes())?
            }
            _ => return Err(missing()),
        };
        settle(workspace, &lock, &mut restored);
        Ok(restored)
    }
}

/// Moves an archived entry back, or gives its text to the live one that has its place.
fn restore_archived(
    workspace: &Workspace,
    lock: &Lock,
    (live, archive): (&Catalog, &Catalog),
    (row, id): (RowId, &Id),
) -> Result<Written> {
    let from = archive.path(row);
    let archived = workspace.read_bytes(&from)?;
    permit_archived(&workspace.store.author, "restore", id, &archived)?;
    permit_text(workspace, "restore", &from, &archived)?;
    let (to, unmarked) = (live_path(&from), written::unarchived(&archived));
    let missing = || no_such_entry(&workspace.store, &[archive, live], id);
    let target = Id::of_path(&to).ok_or_else(missing)?;
    // A file elsewhere that has the id is another entry.
    let is_same = |row: &RowId| nfc(&live.path(*row)) == nfc(&to);
    let same = live.row_of_id(&target).filter(is_same);
    if let Some(row) = same.or_else(|| owner(workspace, (live, archive), &target, &from)) {
        return put_back(workspace, lock, (live, row), &unmarked);
    }
    workspace.store.move_to(lock, &from, &to)?;
    if unmarked != archived {
        workspace.replace(lock, &to, archived.as_slice(), unmarked.as_slice())?;
    }
    Ok(Written::new(WriteAction::Restored, target, archive.head(row).title, &to))
}

/// Returns the texts that work trees which are gone left of entries, and that this one lacks: it has no such entry, or (`true`) an
/// older text of it.
pub(crate) fn left_texts(workspace: &Workspace) -> Vec<(TreeEntry, bool)> {
    let catalogs = [workspace.catalog(Area::Live), workspace.catalog(Area::Archive)];
    let of_entry = |left: TreeEntry| {
        let id = Id::of_path(&left.path);
        let found = catalogs.iter().find_map(|catalog| Some((catalog, catalog.row_of_id(id.as_ref()?)?)));
        let is_newer = found.is_none_or(|(catalog, row)| {
            let written = DateTime::<Utc>::from_timestamp_micros(catalog.recency(row));
            catalog.fingerprint(row) != xxh3_64(&left.bytes) && written < Some(left.written)
        });
        is_newer.then_some((left, found.is_some()))
    };
    workspace.store.entries_of_gone_trees().into_iter().filter_map(of_entry).collect()
}

/// Returns the last text that a work tree which is gone left of an entry; that of this tree, if one is named.
fn left_by_trees(workspace: &Workspace, id: &Id, tree: Option<&str>) -> Option<TreeEntry> {
    let left = workspace.store.entries_of_gone_trees().into_iter();
    let of_id = left.filter(|left| Id::of_path(&left.path).as_ref() == Some(id));
    of_id.filter(|left| tree.is_none_or(|tree| left.tree == tree)).max_by_key(|left| left.written)
}

/// Writes the file of an attempt of which only a copy is left.
fn write_copy(workspace: &Workspace, lock: &Lock, copy: &str) -> Result<Written> {
    let path = copy.replacen(COPIES, "journal", 1);
    let bytes = workspace.read_bytes(copy)?;
    if workspace.store.restore(lock, &path, &bytes, None)? == Created::Exists {
        return Err(Error::Conflict { path: workspace.store.memory().join(path), kept: None });
    }
    let id = Id::of_path(&path).ok_or_else(|| Error::OutsideRoot { path: path.clone().into() })?;
    Ok(Written::new(WriteAction::Restored, id, entry::read(&path, &bytes).head.title, &path))
}

/// Returns the texts that the undo log has of the entry in a row of the live catalog, the newest first and each once.
fn logged_versions(
    workspace: &Workspace,
    (live, archive): (&Catalog, &Catalog),
    row: RowId,
) -> Result<Vec<EntryVersion>> {
    let (path, own) = located(live, row)?;
    let current = workspace.read_bytes(&path)?;
    let head = live.head(row);
    // A name that another entry also has, or had, proves nothing.
    let is_free = |old: &Id| live.ids_of_name(old) == [own.clone()] && archive.rows_of_name(old).is_empty();
    let former: Vec<Id> = head.old_ids().filter(|old| *old != own && is_free(old)).collect();
    let is_of_entry = |id: Option<Id>, text: &str| {
        id.as_ref() == Some(&own)
            || id.is_some_and(|id| {
                former.contains(&id) && is_same_entry(&head, &entry::read("knowledge/x.md", text.as_bytes()).head)
            })
    };
    let mut versions: Vec<EntryVersion> = Vec::new();
    let mut is_before = false;
    workspace.store.visit_operations(&mut |operation| {
        if is_before {
            return;
        }
        let mut texts: Vec<&str> = Vec::new();
        for (change, text) in operation.changes() {
            match change {
                // What had the path before is another entry.
                LoggedChange::Create { path, .. }
                    if Id::of_path(path).as_ref() == Some(&own) && operation.head.undoes.is_none() =>
                {
                    texts.clear();
                    is_before = true;
                }
                LoggedChange::Replace { path, .. } | LoggedChange::Remove { path, .. } => {
                    let text = std::str::from_utf8(text).ok();
                    // The archived text differs in who archived it alone.
                    let is_live = |text: &&str| archived_by(text.as_bytes()).is_none();
                    texts.extend(text.filter(is_live).filter(|text| is_of_entry(Id::of_path(path), text)));
                }
                _ => {}
            }
        }
        for (at, text) in texts.into_iter().enumerate().rev() {
            if text.as_bytes() != current
                && !is_unsigned(text.as_bytes(), &current)
                && versions.iter().all(|version| version.text != text)
            {
                versions.push(version(operation, at, text));
            }
        }
    })?;
    Ok(versions)
}

/// Returns whether a text is another one before a hook named who wrote it.
fn is_unsigned(one: &[u8], other: &[u8]) -> bool {
    let [one, other] = [one, other].map(|text| std::str::from_utf8(text).map(framed).unwrap_or_default());
    let (Ok(of_one), Ok(of_other)) = (split(&one), split(&other)) else { return false };
    let differs_in = |keys: &[&str]| only_differs_in(&one[of_one.head.clone()], &other[of_other.head.clone()], keys);
    one[of_one.body..] == other[of_other.body..]
        && differs_in(&["source", FINGERPRINTS])
        && !differs_in(&[FINGERPRINTS])
}

fn version(operation: &LoggedOperation, at: usize, text: &str) -> EntryVersion {
    let head = &operation.head;
    let version = if at == 0 { head.number.to_string() } else { format!("{}.{}", head.number, at + 1) };
    EntryVersion { version, at: head.at, command: head.command.clone(), text: text.to_owned() }
}

/// Returns whether a text with this head, under a name that an entry had, is one of that entry: it has a title of it, or was
/// created at the same time.
fn is_same_entry(entry: &Head, version: &Head) -> bool {
    let title = comparable(&version.title);
    entry.created_at.is_some() && entry.created_at == version.created_at
        || [&entry.title].into_iter().chain(&entry.aliases).any(|known| comparable(known) == title)
}

/// Returns the row of the live entry to which an archived version belongs that is named after its id `target` of before.
fn owner(workspace: &Workspace, (live, archive): (&Catalog, &Catalog), target: &Id, version: &str) -> Option<RowId> {
    let stem = without_extension(version).and_then(|path| path.rsplit('/').next())?;
    version_of(stem)?;
    let [row] = live.rows_of_name(target)[..] else { return None };
    let is_free = archive.rows_of_name(target).is_empty();
    let entry = workspace.store.read(version).ok().map(|file| entry::read(version, &file.bytes))?;
    (is_free && is_same_entry(&live.head(row), &entry.head)).then_some(row)
}

/// Gives a live entry an earlier text of it, with the names that it got since.
fn put_back(workspace: &Workspace, lock: &Lock, (live, row): (&Catalog, RowId), text: &[u8]) -> Result<Written> {
    let (path, id) = located(live, row)?;
    let current = workspace.read_bytes(&path)?;
    permit(&workspace.store.author, "restore", (&id, &live.head(row)))?;
    permit_text(workspace, "restore", &path, text)?;
    let (new, problem) = with_later_names(&path, &live.head(row), &current, text);
    let mut problems = workspace.replace(lock, &path, current.as_slice(), new.as_slice())?;
    problems.extend(problem);
    let title = entry::read(&path, &new).head.title;
    let action = if new == current { WriteAction::Unchanged } else { WriteAction::Restored };
    Ok(Written { problems, ..Written::new(action, id, title, &path) })
}

/// Returns an earlier text of a live entry with what the entry has got since: its names, as aliases, since links and the
/// history may use them, and the fingerprints of its texts, which no agent brings back.
fn with_later_names(path: &str, live: &Head, current: &[u8], version: &[u8]) -> (Vec<u8>, Option<Problem>) {
    let not_kept = |reason: &str| {
        let message = format!("the restored text does not have the entry's later names: {reason}");
        let hint = "add the title and the `aliases` of the text that it replaced to its `aliases` by hand";
        Problem::warning(display_path(path), "names-not-kept", message, hint)
    };
    let Ok(text) = std::str::from_utf8(version) else { return (version.to_owned(), Some(not_kept("it is not UTF-8"))) };
    let entry = entry::read(path, version);
    let title =
        Some(&live.title).filter(|title| !title.is_empty() && comparable(title) != comparable(&entry.head.title));
    let is_lacking = |name: &&String| !entry.head.aliases.contains(name) && **name != entry.head.title;
    let names: Vec<String> = live.aliases.iter().chain(title).filter(is_lacking).cloned().collect();
    let lists = [("aliases", names), (FINGERPRINTS, later_texts(path, live, current, &entry))];
    let changes = lists.into_iter().filter(|(_, items)| !items.is_empty());
    let changes: Vec<Change> = changes.map(|(key, items)| Change::AddItems(key, items)).collect();
    if changes.is_empty() {
        return (version.to_owned(), None);
    }
    match edited(path, text, &changes, false) {
        Ok(edited) => (edited.into_bytes(), None),
        Err(Error::Uneditable { reason, .. }) => (version.to_owned(), Some(not_kept(&reason))),
        Err(error) => (version.to_owned(), Some(not_kept(&error.to_string()))),
    }
}

/// Returns the fingerprints of the texts that a live entry has and had since a version of it.
fn later_texts(path: &str, live: &Head, current: &[u8], version: &Entry) -> Vec<String> {
    let now = entry::read(path, current);
    let now = Some(signature(&now.head.title, &now.body)).filter(|_| live.kind == Kind::Knowledge);
    let own = signature(&version.head.title, &version.body);
    let had = |text: &str| version.head.fingerprints.iter().any(|known| short(known) == text);
    let is_later = |text: &String| short(text) != short(&own) && !had(short(text));
    let mut texts: Vec<String> = live.fingerprints.iter().cloned().chain(now).filter(is_later).collect();
    texts.dedup();
    texts
}

/// Returns the path of an archived entry when it was live: with the file's own name, which may differ in form from its
/// id.
fn live_path(archived: &str) -> String {
    let path = archived.strip_prefix("archive/").unwrap_or(archived);
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "md"));
    let stem = version_of(stem).map_or(stem, |(stem, ..)| stem);
    format!("{folder}/{stem}.{extension}")
}
