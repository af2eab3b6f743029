//! Editing: a person changes the file of an entry in an editor, and what the editor left is reviewed.
//!
//! What is wrong with a text is found as `check` finds it; a text may keep the warnings that the entry had before. The log
//! of changes gets the text that the editor replaced, so `undo` takes the edit back, as it does with any other change.

use xxhash_rust::xxh3::xxh3_64;

use super::add::removed_lines;
use super::author::permit;
use super::rejected::refuse_rejected;
use super::supersede::refuse_circle;
use super::write::{other_titled, refuse_attempt, refuse_unlisted, settle};
use super::written::{WriteAction, Written};
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::{is_proposed, timestamp};
use crate::entry::path::{EntryPath, display_path};
use crate::entry::written;
use crate::entry::{self, Entry, Id, MAX_FILE_BYTES};
use crate::error::{Error, Problem, Result, Severity};
use crate::index::catalog::Area;
use crate::open::Memory;
use crate::store::{KeptText, LoggedOperation, MAX_EDITED_BYTES, Unreadable};
use crate::text::{comparable, printed_command};
use crate::workspace::{Workspace, live_entry};

/// The text of an entry when an editor opens its file.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let id = memory.add(&Knowledge::new("Port of the proxy", ["proxy"], "It is 8443."))?.id;
/// let old = memory.text(&id)?;
/// std::fs::write(root.join(&old.path), old.text.replace("8443", "9443"))?; // an editor
/// let edited = memory.edited(&old, true)?;
/// assert_eq!(edited.removed, ["It is 8443."]);
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
    /// The newest operation at that time.
    newest: u64,
}

impl Memory {
    /// Returns the text of a live knowledge entry, for an editor.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchEntry`], [`Error::AlreadyArchived`],
    /// [`Error::Invalid`] where the entry is not knowledge or the id is the old one of several,
    /// [`Error::Uneditable`] where it is not UTF-8, and [`Error::Io`].
    pub fn text(&self, id: &Id) -> Result<EntryText> {
        let workspace = &self.workspace;
        refuse_attempt(id)?;
        let live = workspace.catalog(Area::Live);
        refuse_unlisted(workspace, &[&live])?;
        let (row, id) = live_entry(workspace, &live, id)?;
        permit(&workspace.store.author, "edit", (&id, &live.head(row)))?;
        let path = live.path(row);
        let newest = workspace.store.operations()?.first().map_or(0, |operation| operation.head.number);
        let (text, _) = workspace.read_entry(&path)?;
        Ok(EntryText { id, path: EntryPath::new(&path), text, newest })
    }

    /// Keeps the text of an entry in the undo log before an editor opens its file, so that no failure loses it. Remove what
    /// is returned once [`Memory::edited`] has reviewed the edit.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] and [`Error::Io`].
    pub fn keep_text(&self, old: &mut EntryText) -> Result<KeptText> {
        let workspace = &self.workspace;
        let lock = workspace.lock_entries()?;
        let kept = workspace.store.keep_text(&lock, old.path.as_relative(), old.text.as_bytes(), workspace.now())?;
        old.newest = kept.number();
        Ok(kept)
    }

    /// Reviews what an editor left in the file of an entry that was `old` when it was opened. A valid text stays, with the
    /// time of the change, and `undo` takes it back. With `restores`, an invalid one gives way to the old text, and `undo`
    /// brings it back; if another command changed the entry since, it stays.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidEdit`] with the problems of the new text: errors, secrets, warnings of
    ///   a kind that the old text does not have, the title of another entry, and entries that replace each other.
    /// * [`Error::Conflict`] where the file is gone, and
    ///   [`Error::OutsideRoot`] where something else took its place: `undo` brings back the old
    ///   text once that place is free. [`Error::Locked`] and [`Error::Io`].
    pub fn edited(&self, old: &EntryText, restores: bool) -> Result<Written> {
        let _operation = self.operation("edit");
        let workspace = &self.workspace;
        let (path, before) = (old.path.as_relative(), old.text.as_bytes());
        let lock = workspace.lock_entries()?;
        let bytes = match workspace.store.read_up_to(path, MAX_EDITED_BYTES) {
            Ok(bytes) => bytes,
            Err(unreadable) => {
                // What took its place, or removed it, stays.
                workspace.store.log_replaced(&lock, path, before, None)?;
                let full = workspace.store.full_path(path);
                return Err(match unreadable {
                    Unreadable::Missing => Error::Conflict { path: full, kept: None },
                    unreadable => unreadable.into_error(full),
                });
            }
        };
        let entry = entry::read(path, &bytes);
        let mut written = Written::new(WriteAction::Unchanged, old.id.clone(), entry.head.title.clone(), path);
        let others = changed_by_others(workspace, old)?;
        if bytes == before || others.contains(&xxh3_64(&bytes)) {
            return Ok(written);
        }
        let problems = problems_of(workspace, old, &entry, &bytes);
        if !problems.is_empty() {
            if restores && others.is_empty() {
                workspace.replace(&lock, path, bytes.as_slice(), before)?;
                workspace.commit_moved();
            }
            return Err(Error::InvalidEdit { path: display_path(path), problems });
        }
        workspace.store.log_replaced(&lock, path, before, Some(&bytes))?;
        // Else it has a problem.
        let text = String::from_utf8_lossy(&bytes);
        written.removed = removed_lines(&entry::read(path, before).body, &entry.body);
        written.problems =
            workspace.replace(&lock, path, text.as_bytes(), finished(workspace, old, &text).as_bytes())?;
        if !others.is_empty() {
            let message =
                "another command changed it, too, while the editor was open, and the editor's text replaced that";
            let hint = "`ralph-memory undo --list` shows the other change";
            written.problems.push(Problem::warning(display_path(path), "conflict", message, hint));
        }
        written.action = WriteAction::Updated;
        settle(workspace, &lock, &mut written);
        drop(lock);
        Ok(self.embedded(written))
    }
}

/// Returns the fingerprints of the texts that other commands gave the entry since the editor was opened.
fn changed_by_others(workspace: &Workspace, old: &EntryText) -> Result<Vec<u64>> {
    let operations = workspace.store.operations()?;
    let since = operations.iter().take_while(|operation| operation.head.number > old.newest);
    let files = since.flat_map(LoggedOperation::changes).flat_map(|(change, _)| change.files());
    Ok(files.filter(|(path, ..)| *path == old.path.as_relative()).filter_map(|(.., after)| after).collect())
}

/// Returns the text of an editor with the time of the change and its writer, where the layout allows that.
fn finished(workspace: &Workspace, old: &EntryText, new: &str) -> String {
    let updated = |text: &str| entry::read("knowledge/x.md", text.as_bytes()).head.updated_at;
    let mut new = new.to_owned();
    // An editor may set the time, too.
    if updated(&old.text) == updated(&new) {
        let time = Change::Set(edit::updated_key(&new), timestamp(workspace.now()).into());
        new = edit::apply(&new, &[time]).unwrap_or(new);
    }
    if workspace.store.author.is_person() {
        new = written::claimed(&old.text, &new).unwrap_or(new);
    }
    written::signed(&old.text, new.clone(), true).unwrap_or(new)
}

/// Returns what is wrong with a text: each error, each warning of a kind and each secret that the old text does not have,
/// two entries that replace each other, and two of one title in a scope.
fn problems_of(workspace: &Workspace, old: &EntryText, after: &Entry, new: &[u8]) -> Vec<Problem> {
    let path = old.path.as_relative();
    let before = entry::read(path, old.text.as_bytes()).head;
    let is_new = |problem: &&Problem| {
        problem.severity == Severity::Error
            || problem.severity == Severity::Warning && before.problems.iter().all(|known| known.code != problem.code)
    };
    let error = |code, message: String, hint: &str| Problem::error(display_path(path), code, message, hint);
    let mut problems: Vec<Problem> = after.head.problems.iter().filter(is_new).cloned().collect();
    if new.len() > MAX_FILE_BYTES {
        let message = format!("it has {} bytes; the limit of an entry is {MAX_FILE_BYTES}", new.len());
        problems.push(error("too-large", message, "split it into several entries"));
    }
    let known: Vec<String> = workspace.secrets_in(&old.text).map(|secret| secret.fingerprint).collect();
    let text = String::from_utf8_lossy(new);
    problems.extend(workspace.secrets_in(&text).filter(|secret| !known.contains(&secret.fingerprint)).map(|secret| {
        let (line, column) = secret.place(&text);
        let message = format!("this looks like a secret: {}, fingerprint {}", secret.pattern, secret.fingerprint);
        let allow = printed_command("--allow-secret FINGERPRINT", &[("FINGERPRINT", &secret.fingerprint)]);
        let hint = format!("leave it out: entries are committed; if it is not a secret, give {allow}");
        error("secret", message, &hint).at(line, column)
    }));
    let live = workspace.catalog(Area::Live);
    if !workspace.store.author.is_person() {
        let hint = "a coding agent leaves that to a person; write what else the entry should say";
        if let Err(outdated) = refuse_rejected(workspace, &after.head.title, after) {
            problems.push(error("rejected", outdated.to_string(), hint));
        }
        if is_proposed(&before) && !is_proposed(&after.head) {
            problems.push(error("status", "it is only proposed".to_owned(), hint));
        }
        if written::names_person(&text) {
            problems.push(error("source", "it says that a person wrote this".to_owned(), hint));
        }
    }
    let row = live.row_of_id(&old.id);
    let replaced: Vec<Id> =
        after.head.supersedes.iter().filter(|id| !before.supersedes.contains(id)).cloned().collect();
    if let Err(cycle) = refuse_circle(workspace, &live, &old.id, &replaced) {
        let hint = "of entries that replace each other, none counts as replaced: remove that id from `supersedes`";
        problems.push(error("supersedes-cycle", cycle.to_string(), hint));
    }
    let (title, scope) = (&after.head.title, &after.head.scope);
    let is_new = !title.is_empty() && (comparable(&before.title) != comparable(title) || before.scope != *scope);
    if let Some(id) = is_new.then(|| other_titled(&live, row, title, scope)).flatten() {
        let hint = "choose another title; if that entry says the same, archive one of the two";
        problems.push(error("title-taken", format!("`{id}` already has the title \"{title}\""), hint));
    }
    problems
}
