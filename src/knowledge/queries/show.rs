//! A single entry: the content of its file, its links, and its replacements.

use std::cell::LazyCell;

use serde::Serialize;
use serde_json::Value;

use super::list::all_usage;
use super::view::{EntryLink, EntryView};
use crate::entry::knowledge::timestamp;
use crate::entry::{self, Entry, EntryNames, EntrySummary, Head, Id, Kind, NamedEntry, frontmatter};
use crate::error::{Problem, Result};
use crate::index::catalog::{self, Area, Catalog};
use crate::open::Memory;
use crate::search::retrieve::{replaced, replacements};
use crate::workspace::{Workspace, current_id, no_such_entry};

/// The result of [`Memory::show`](crate::Memory::show).
///
/// ```
/// use ralph_memory::{Id, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// std::fs::write(root.join(".ralph/knowledge/vpn.md"), "---\ntitle: VPN\nimportance: high\n---\n\nUse the one in Oslo.\n")?;
/// let shown = memory.show(&Id::parse("vpn").ok_or("not an id")?)?;
/// assert_eq!(shown.entry.summary.title, "VPN");
/// assert_eq!(shown.problems[0].code, "bad-value");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShowResult {
    /// The entry.
    pub entry: EntryView,
    /// Problems of its file.
    pub problems: Vec<Problem>,
}

impl Memory {
    /// Returns one entry: the live one with this id, else the archived one, else the one that had it before it was renamed.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchEntry`](crate::Error::NoSuchEntry), with ids that look like it,
    /// [`Error::Invalid`](crate::Error::Invalid) where several entries had the id, and
    /// [`Error::Io`](crate::Error::Io).
    pub fn show(&self, id: &Id) -> Result<ShowResult> {
        show(&self.workspace, id)
    }
}

/// Returns the live entry with this id, else the archived one.
pub(crate) fn show(workspace: &Workspace, id: &Id) -> Result<ShowResult> {
    let (now, live, archive) = (workspace.now(), workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
    let id = &current_id(&live, &archive, id)?;
    let (catalog, row) = match (live.row_of_id(id), archive.row_of_id(id)) {
        (Some(row), _) => (&live, row),
        (None, Some(row)) => (&archive, row),
        (None, None) => return Err(no_such_entry(&workspace.store, &[&live, &archive], id)),
    };
    let path = catalog.path(row);
    let bytes = workspace.read_bytes(&path)?;
    let entry = entry::read(&path, &bytes);
    let head = entry.head.clone();
    let names = LazyCell::new(|| catalog::names(&live, &archive));
    let mut replacements = replacements(&[&live], now);
    for (_, old) in replacements.counted.iter_mut().chain(&mut replacements.suggested) {
        if live.row_of_id(old).is_none() {
            *old = archive.renamed(old).unwrap_or(old).clone();
        }
    }
    let superseded = replaced(&replacements.counted);
    let would_supersede = distinct(replacements.suggested.iter().filter(|(new, _)| new == id).map(|(_, old)| old), id);
    let replacing = |pairs: &[(Id, Id)]| distinct(pairs.iter().filter(|(_, old)| old == id).map(|(new, _)| new), id);
    let usage = || all_usage(now, &[&live, &archive]).remove(id);
    let view = EntryView {
        task_id: head.task_id.clone(),
        run_id: head.run_id.clone(),
        expires_at: head.expires_at.map(timestamp),
        supersedes: head.supersedes.iter().filter(|old| !would_supersede.contains(old)).cloned().collect(),
        superseded_by: replacing(&replacements.counted),
        would_be_superseded_by: replacing(&replacements.suggested),
        would_supersede,
        files: head.files.clone(),
        questions: head.questions.clone(),
        frontmatter: all_fields(&entry, &bytes),
        links: links_of(&names, &entry.head),
        backlinks: links_to(&names, &live, id),
        usage: (id.kind() == Kind::Knowledge).then(usage).flatten(),
        body: entry.body,
        ..EntryView::from(EntrySummary::new(id.clone(), &path, head, &superseded, now))
    };
    Ok(ShowResult { entry: view, problems: catalog.head(row).problems })
}

/// Returns these entries without the one with this id, which is no other one of itself.
fn distinct<'a>(others: impl Iterator<Item = &'a Id>, id: &Id) -> Vec<Id> {
    let mut others: Vec<Id> = others.filter(|other| *other != id).cloned().collect();
    others.dedup();
    others
}

/// Returns where the links in the body with this head lead.
fn links_of<F: FnOnce() -> EntryNames>(names: &LazyCell<EntryNames, F>, head: &Head) -> Vec<EntryLink> {
    let link = |link: &entry::Link| EntryLink {
        id: names.of_link(&link.target, &head.scope).and_then(NamedEntry::live).cloned(),
        text: link.target.clone(),
        line: link.line,
    };
    head.links.iter().map(link).collect()
}

/// Returns the first link of each other entry to the one with this id.
fn links_to<F: FnOnce() -> EntryNames>(names: &LazyCell<EntryNames, F>, live: &Catalog, id: &Id) -> Vec<EntryLink> {
    let first = |row| {
        let head = live.light_head(row);
        let leads_here = |link: &&entry::Link| names.of_link(&link.target, &head.scope).is_some_and(|to| to.id() == id);
        let line = head.links.iter().find(leads_here)?.line;
        let other = live.id(row).filter(|other| other != id)?;
        Some(EntryLink { id: Some(other), text: head.title, line })
    };
    live.rows().filter(|row| live.has_links(*row) && live.is_indexable(*row)).filter_map(first).collect()
}

/// Returns all of an entry's frontmatter; null if it cannot be read.
fn all_fields(entry: &Entry, bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let split = frontmatter::split(&text).ok().filter(|_| entry.head.valid);
    let fields = split.and_then(|split| frontmatter::parse(&text[split.head]).ok());
    fields.map_or(Value::Null, |fields| Value::Object(fields.into_iter().collect()))
}
