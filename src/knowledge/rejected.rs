//! What people rejected does not come back through an agent: what they archived, and what they corrected. The files say so, in
//! every clone: those of the archive who archived them, and live ones which texts they had.

use super::author::permit;
use crate::entry::written::{Likeness, archived_by, likeness, signature};
use crate::entry::{Entry, Id, Kind, Scope, read};
use crate::error::{Error, Result};
use crate::index::catalog::{Area, Catalog};
use crate::text::secret::redact;
use crate::text::shorten;
use crate::workspace::Workspace;

/// How much of an entry a refusal quotes, in characters.
const SHOWN: usize = 300;

/// Returns the entry that said nearly what an agent writes, before a person rejected it.
///
/// # Errors
///
/// [`Error::Outdated`] if an entry said just that.
pub(crate) fn rejected(
    workspace: &Workspace,
    catalogs: [&Catalog; 2],
    (title, body, scope): (&str, &str, &Scope),
) -> Result<Option<Id>> {
    let said = signature(title, body);
    let mut near = None;
    for catalog in catalogs {
        for row in catalog.knowledge_rows().filter(|row| catalog.is_indexable(*row)) {
            let head = catalog.head(row);
            let is_meant = head.scope == *scope || [&head.scope, scope].contains(&&Scope::Project);
            let likeness = |text: &String| likeness(text, &said).filter(|_| is_meant);
            let Some(found) = head.fingerprints.iter().filter_map(likeness).max() else { continue };
            let path = catalog.path(row);
            // The file may be gone since the scan.
            let (Ok((text, entry)), Some(id)) = (workspace.read_entry(&path), catalog.id(row)) else { continue };
            let Some(reason) = reason(workspace, &path, (&text, &entry), (&said, found)) else { continue };
            if found == Likeness::Equal {
                return Err(Error::Outdated { id: id.to_string(), reason });
            }
            near.get_or_insert(id);
        }
    }
    Ok(near)
}

/// Says what an entry says now, and since when.
pub(super) fn says_now(workspace: &Workspace, entry: &Entry) -> String {
    let body = redact(&entry.body, &workspace.settings.allowed_secrets);
    let body = shorten(&body.split_whitespace().collect::<Vec<_>>().join(" "), SHOWN);
    let since = entry.head.recency().map_or_else(String::new, |at| format!(" since {}", at.format("%Y-%m-%d")));
    format!("it says now, as \"{}\"{since}: {body}", entry.head.title)
}

/// Says how a person rejected a text that an entry had; `None` if none did.
fn reason(
    workspace: &Workspace,
    path: &str,
    (text, entry): (&str, &Entry),
    (said, found): (&str, Likeness),
) -> Option<String> {
    if path.starts_with("archive/") {
        let (by, at) = archived_by(text.as_bytes())?;
        return by.is_person().then(|| format!("a person archived it on {}", at.get(..10).unwrap_or(&at)));
    }
    let is_said_now = likeness(&signature(&entry.head.title, &entry.body), said).is_some_and(|now| now >= found);
    let is_corrected = entry.head.source.is_person() && !is_said_now;
    // What another feature says stays there.
    let now = if workspace.shows(&entry.head) { format!(": {}", says_now(workspace, entry)) } else { String::new() };
    is_corrected.then(|| format!("a person corrected it{now}"))
}

/// Refuses that an agent brings back a person's text, or one that a person rejected.
pub(super) fn permit_text(workspace: &Workspace, act: &str, path: &str, text: &[u8]) -> Result<()> {
    let (author, entry) = (&workspace.store.author, read(path, text));
    let is_meant = |id: &Id| id.kind() == Kind::Knowledge && !author.is_person();
    let Some(id) = Id::of_path(path).filter(is_meant) else { return Ok(()) };
    permit(author, act, (&id, &entry.head))?;
    refuse_rejected(workspace, &entry.head.title, &entry)
}

/// Refuses that an agent gives an entry a title and a text that a person rejected, or nearly that.
pub(super) fn refuse_rejected(workspace: &Workspace, title: &str, entry: &Entry) -> Result<()> {
    if workspace.store.author.is_person() {
        return Ok(());
    }
    let catalogs = [Area::Live, Area::Archive].map(|area| workspace.catalog(area));
    let refused = |near: Id| Error::Outdated { id: near.to_string(), reason: "a person rejected it".to_owned() };
    let near = rejected(workspace, catalogs.each_ref(), (title, &entry.body, &entry.head.scope))?;
    near.map_or(Ok(()), |near| Err(refused(near)))
}
