//! Editing: a person changes the text of an entry in an editor, and the program writes it if it is valid.
//!
//! The text is compared with the one that the editor was given, so nobody's change is lost. What is wrong with a text is
//! found as `check` finds it; a text may keep the warnings that the entry had before.

use super::add::removed_lines;
use super::supersede::refuse_circle;
use super::write::{other_titled, refuse_attempt, refuse_unlisted, settle};
use super::written::{WriteAction, Written};
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::timestamp;
use crate::entry::path::{EntryPath, display_path};
use crate::entry::written;
use crate::entry::{self, Head, Id, Link, NamedEntry, Source};
use crate::error::{Error, Problem, Result, Severity};
use crate::index::catalog::{self, Area, Catalog, RowId};
use crate::store::Unreadable;
use crate::text::{fold, printed_command};
use crate::workspace::{Workspace, live_entry};

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
    /// Who edits it. An entry that a person edits is a person's.
    pub by: Source,
}

/// Implements [`Memory::text`](crate::Memory::text).
pub(crate) fn text(workspace: &Workspace, id: &Id) -> Result<EntryText> {
    refuse_attempt(id)?;
    let live = workspace.catalog(Area::Live);
    refuse_unlisted(workspace, &[&live])?;
    let (row, id) = live_entry(workspace, &live, id)?;
    let path = live.path(row);
    let (text, _) = workspace.read_entry(&path)?;
    Ok(EntryText { id, path: EntryPath::new(&path), text, by: Source::Human })
}

/// Implements [`Memory::edit`](crate::Memory::edit).
pub(crate) fn edit(workspace: &Workspace, old: &EntryText, new: &str) -> Result<Written> {
    let path = old.path.as_relative();
    let (before, after) = (entry::read(path, old.text.as_bytes()), entry::read(path, new.as_bytes()));
    let mut written = Written::new(WriteAction::Unchanged, old.id.clone(), after.head.title.clone(), path);
    if new == old.text {
        return Ok(written);
    }
    let lock = workspace.lock_entries()?;
    let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
    let mut problems = problems_of(workspace, old, (&before.head, &after.head), new);
    written.removed = removed_lines(&before.body, &after.body);
    let row = live.row_of_id(&old.id);
    let review = EditReview { workspace, live: &live, id: &old.id, row, path, before: before.head, after: after.head };
    problems.extend(review.refused());
    if !problems.is_empty() {
        return Err(Error::InvalidEdit { path: display_path(path), problems });
    }
    let new = with_time(workspace, &old.text, new);
    // A layout that allows no edit stays as the person wrote it.
    let new = if old.by.is_person() { written::claimed(&old.text, &new).unwrap_or(new) } else { new };
    let new = written::signed(&old.text, new.clone(), true).unwrap_or(new);
    let full = workspace.store.memory().join(path);
    match workspace.store.read(path) {
        Ok(file) if file.bytes == old.text.as_bytes() => {}
        Err(unreadable @ Unreadable::Io(_)) => return Err(unreadable.into_error(full)),
        _ => return Err(Error::Conflict { path: full, kept: None }),
    }
    written.problems = workspace.replace(&lock, path, &old.text, &new)?;
    written.problems.extend(review.doubted(&archive));
    written.action = WriteAction::Updated;
    settle(workspace, &lock, &mut written);
    Ok(written)
}

/// Returns what is wrong with a text: each error, each warning of a kind that the old text does not have, and secrets
/// that the old text does not have.
fn problems_of(workspace: &Workspace, old: &EntryText, (before, after): (&Head, &Head), new: &str) -> Vec<Problem> {
    let path = old.path.as_relative();
    let is_new = |problem: &&Problem| {
        problem.severity == Severity::Error
            || problem.severity == Severity::Warning && before.problems.iter().all(|known| known.code != problem.code)
    };
    let mut problems: Vec<Problem> = after.problems.iter().filter(is_new).cloned().collect();
    let known: Vec<String> = workspace.secrets_in(&old.text).map(|secret| secret.fingerprint).collect();
    problems.extend(workspace.secrets_in(new).filter(|secret| !known.contains(&secret.fingerprint)).map(|secret| {
        let (line, column) = secret.place(new);
        let message = format!("this looks like a secret: {}, fingerprint {}", secret.pattern, secret.fingerprint);
        let allow = printed_command("--allow-secret FINGERPRINT", &[("FINGERPRINT", &secret.fingerprint)]);
        let hint = format!("leave it out: entries are committed; if it is not a secret, give {allow}");
        Problem::error(display_path(path), "secret", message, hint).at(line, column)
    }));
    problems
}

/// An entry before and after an edit, among the other entries.
struct EditReview<'a> {
    workspace: &'a Workspace,
    live: &'a Catalog,
    id: &'a Id,
    row: Option<RowId>,
    path: &'a str,
    before: Head,
    after: Head,
}

impl EditReview<'_> {
    /// Returns what no other command would write: two entries that replace each other, and two of one title in a scope.
    fn refused(&self) -> Vec<Problem> {
        let error = |code, message: String, hint: &str| Problem::error(display_path(self.path), code, message, hint);
        let replaced: Vec<Id> = self.new_replaced().cloned().collect();
        let circle = if replaced.contains(self.id) {
            Some(("the entry supersedes itself".to_owned(), "remove its own id from `supersedes`"))
        } else {
            let cycle = refuse_circle(self.workspace, self.live, self.id, &replaced).err();
            let hint = "of entries that replace each other, none counts as replaced: remove that id from `supersedes`";
            cycle.map(|cycle| (cycle.to_string(), hint))
        };
        let circle = circle.map(|(message, hint)| error("supersedes-cycle", message, hint));
        let Head { title, scope, .. } = &self.after;
        let is_new = !title.is_empty() && (fold(&self.before.title) != fold(title) || self.before.scope != *scope);
        let other = is_new.then(|| other_titled(self.live, self.row, title, scope)).flatten();
        let taken = other.map(|id| {
            let hint = "choose another title; if that entry says the same, archive one of the two";
            error("title-taken", format!("`{id}` already has the title \"{title}\""), hint)
        });
        circle.into_iter().chain(taken).collect()
    }

    /// Returns what may be meant: new links and ids that lead nowhere, and links of others to a title that is gone.
    fn doubted(&self, archive: &Catalog) -> Vec<Problem> {
        let warning =
            |path: &str, code, message: String, hint: &str| Problem::warning(display_path(path), code, message, hint);
        let names = catalog::names_with(self.live, archive, self.row.map(|row| (row, self.id, &self.after)));
        let leads_on = |target: &str| names.of_link(target, &self.after.scope).and_then(NamedEntry::live).is_some();
        let is_new = |link: &&Link| self.before.links.iter().all(|old| fold(&old.target) != fold(&link.target));
        let new = self.after.links.iter().filter(|link| is_new(link) && !leads_on(&link.target));
        let mut problems: Vec<Problem> = new
            .map(|link| {
                let hint = "write the entry, or remove the link; code belongs in backticks";
                let message = format!("the link `[[{}]]` leads to no entry", link.target);
                warning(self.path, "broken-link", message, hint).at_line(Some(link.line))
            })
            .collect();
        problems.extend(self.new_replaced().filter(|id| names.of_id(id).is_none()).map(|id| {
            let hint = "write the id of the entry that this one replaces, or remove it";
            warning(self.path, "unknown-id", format!("`supersedes` names `{id}`, and there is no such entry"), hint)
        }));
        let title = &self.before.title;
        if !title.is_empty() && !leads_on(title) {
            let links = |row: &RowId| self.live.head(*row).links.iter().any(|link| fold(&link.target) == fold(title));
            let rows = self.live.knowledge_rows().filter(|row| self.live.has_links(*row) && Some(*row) != self.row);
            let rows = rows.filter(|row| self.live.is_indexable(*row));
            problems.extend(rows.filter(links).map(|row| {
                let message = format!("the link `[[{title}]]` leads to no entry any more");
                let hint =
                    "`ralph-memory edit ID --title` keeps the old title as an alias; `ralph-memory undo` takes this back";
                warning(&self.live.path(row), "broken-link", message, hint)
            }));
        }
        problems
    }

    /// Returns the ids that the edit added to `supersedes`.
    fn new_replaced(&self) -> impl Iterator<Item = &Id> {
        self.after.supersedes.iter().filter(|id| !self.before.supersedes.contains(id))
    }
}

/// Returns the text with the time of the change, unless the editor set one or the layout allows no edit.
fn with_time(workspace: &Workspace, old: &str, new: &str) -> String {
    let updated = |text: &str| entry::read("knowledge/x.md", text.as_bytes()).head.updated_at;
    if updated(old) != updated(new) {
        return new.to_owned();
    }
    edit::apply(new, &[Change::Set(edit::updated_key(new), timestamp(workspace.now()).into())])
        .unwrap_or_else(|_| new.to_owned())
}
