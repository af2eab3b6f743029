//! Editing: a person changes the text of an entry in an editor, and the program writes it if it is sound.
//!
//! The text is compared with the one that the editor was given, so nobody's change is lost. What is wrong with a text is
//! found as `check` finds it; a text may keep the warnings that the entry had before.

use std::path::PathBuf;

use serde::Serialize;

use crate::catalog::Area;
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::timestamp;
use crate::entry::path::{EntryPath, display_path};
use crate::entry::{self, Id, Kind};
use crate::error::{Error, Problem, Result, Severity};
use crate::store::write_private;
use crate::workspace::{Workspace, live_entry, unlisted};

/// Where drafts are kept, below `state/`.
const DRAFTS: &str = "drafts";

/// The text of an entry for an editor.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let id = memory.add(&Knowledge::new("Port of the proxy", ["proxy"], "It is 8443."))?.id;
/// let text = memory.text(&id)?;
/// let edited = memory.edit(&text, &text.text.replace("8443", "9443"))?;
/// assert!(edited.archived.is_some());
/// assert!(memory.show(&id)?.entry.body.contains("9443"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryText {
    /// The entry.
    pub id: Id,
    /// Its file.
    pub path: EntryPath,
    /// All of the file.
    pub text: String,
}

/// The result of [`Memory::edit`](crate::Memory::edit).
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let text = memory.text(&memory.add(&Knowledge::new("Fonts", ["ui"], "Inter."))?.id)?;
/// assert_eq!(memory.edit(&text, &text.text)?.archived, None, "nothing changed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edited {
    /// The entry.
    pub id: Id,
    /// Its file.
    pub path: EntryPath,
    /// Where its old version is; `None` if nothing changed.
    pub archived: Option<EntryPath>,
    /// Problems on the way that a person should see.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Implements [`Memory::text`](crate::Memory::text).
pub(crate) fn text(workspace: &Workspace, id: &Id) -> Result<EntryText> {
    if id.kind() != Kind::Knowledge {
        return Err(Error::invalid("ID", "a journal entry never changes; name a knowledge entry"));
    }
    let live = workspace.catalog(Area::Live);
    if let Some(error) = unlisted(&workspace.store, &live) {
        return Err(error);
    }
    let (row, id) = live_entry(workspace, &live, id)?;
    let path = live.path(row);
    let file = workspace.store.read(&path);
    let file = file.map_err(|unreadable| unreadable.into_error(workspace.store.memory().join(&path)))?;
    let text = String::from_utf8(file.bytes)
        .map_err(|_| Error::Uneditable { path: display_path(&path), reason: "it is not UTF-8".to_owned() })?;
    Ok(EntryText { id, path: EntryPath::new(&path), text })
}

/// Implements [`Memory::edit`](crate::Memory::edit).
pub(crate) fn edit(workspace: &Workspace, old: &EntryText, new: &str) -> Result<Edited> {
    let path = old.path.as_relative();
    let mut edited = Edited { id: old.id.clone(), path: old.path.clone(), archived: None, problems: Vec::new() };
    if new == old.text {
        return Ok(edited);
    }
    let problems = problems_of(workspace, old, new);
    if !problems.is_empty() {
        return Err(Error::InvalidEdit { path: display_path(path), problems });
    }
    let new = with_time(workspace, &old.text, new);
    let lock = workspace.lock_entries()?;
    let is_unchanged = workspace.store.read(path).is_ok_and(|file| file.bytes == old.text.as_bytes());
    if !is_unchanged {
        return Err(Error::Conflict { path: workspace.store.memory().join(path), kept: None });
    }
    let archived = workspace.store.archive_copy(&lock, path, old.text.as_bytes(), workspace.now())?;
    edited.problems = workspace.replace(&lock, path, &old.text, &new).inspect_err(|_| {
        // Nothing was replaced, so there is no old version. A copy that cannot be removed stays.
        let _ = workspace.store.discard_copy(&lock, &archived, old.text.as_bytes());
    })?;
    edited.archived = Some(EntryPath::new(&archived));
    workspace.commit_moved();
    edited.problems.extend(lock.settled(&[workspace.root().join(&old.path)]));
    Ok(edited)
}

/// Returns what is wrong with a text: each error, each warning of a kind that the old text does not have, and secrets
/// that the old text does not have.
fn problems_of(workspace: &Workspace, old: &EntryText, new: &str) -> Vec<Problem> {
    let path = old.path.as_relative();
    let before = entry::read(path, old.text.as_bytes()).head.problems;
    let is_new = |problem: &Problem| {
        problem.severity == Severity::Error
            || problem.severity == Severity::Warning && before.iter().all(|known| known.code != problem.code)
    };
    let mut problems: Vec<Problem> =
        entry::read(path, new.as_bytes()).head.problems.into_iter().filter(is_new).collect();
    let known: Vec<String> = workspace.secrets_in(&old.text).map(|secret| secret.fingerprint).collect();
    problems.extend(workspace.secrets_in(new).filter(|secret| !known.contains(&secret.fingerprint)).map(|secret| {
        let (line, column) = secret.place(new);
        let message = format!("this looks like a secret: {}, fingerprint {}", secret.pattern, secret.fingerprint);
        let hint = format!(
            "leave it out: entries are committed; if it is not a secret, give `--allow-secret {}`",
            secret.fingerprint
        );
        Problem::error(display_path(path), "secret", message, hint).at(line, column)
    }));
    problems
}

/// Returns the text with the time of the change, unless the editor set one or the layout allows no edit.
fn with_time(workspace: &Workspace, old: &str, new: &str) -> String {
    let updated = |text: &str| entry::read("knowledge/x.md", text.as_bytes()).head.updated_at;
    if updated(old) != updated(new) {
        return new.to_owned();
    }
    edit::apply(new, &[Change::Set(edit::updated_key(new), timestamp(workspace.now()))])
        .unwrap_or_else(|_| new.to_owned())
}

/// Implements [`Memory::keep_draft`](crate::Memory::keep_draft).
pub(crate) fn keep_draft(workspace: &Workspace, id: &Id, text: &str) -> Result<PathBuf> {
    let path = draft_path(workspace, id);
    let failed = |source| Error::Io { action: "write", path: path.clone(), source };
    // It follows no link.
    workspace.store.make_state_folder(DRAFTS).map_err(failed)?;
    let folder = workspace.store.state().join(DRAFTS);
    write_private(&folder, &format!("{}.md", id.stem()), |file| file.write_all(text.as_bytes())).map_err(failed)
}

/// Implements [`Memory::draft`](crate::Memory::draft).
pub(crate) fn draft(workspace: &Workspace, id: &Id) -> Result<Option<String>> {
    match workspace.store.read(&format!("state/{DRAFTS}/{}.md", id.stem())) {
        Err(crate::store::Unreadable::Missing) => Ok(None),
        Err(unreadable) => Err(unreadable.into_error(draft_path(workspace, id))),
        Ok(file) => String::from_utf8(file.bytes).map(Some).map_err(|_| Error::Uneditable {
            path: display_path(&format!("state/{DRAFTS}/{}.md", id.stem())),
            reason: "it is not UTF-8".to_owned(),
        }),
    }
}

/// Implements [`Memory::discard_draft`](crate::Memory::discard_draft).
pub(crate) fn discard_draft(workspace: &Workspace, id: &Id) -> Result<bool> {
    let lock = workspace.lock_within_git()?;
    workspace.store.remove_state(&lock, &format!("{DRAFTS}/{}.md", id.stem()))
}

fn draft_path(workspace: &Workspace, id: &Id) -> PathBuf {
    workspace.store.state().join(DRAFTS).join(format!("{}.md", id.stem()))
}
