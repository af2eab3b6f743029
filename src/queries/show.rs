//! A single entry: the content of its file, its links, and its replacements.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::usage::usage_of;
use crate::catalog::{self, Area, Catalog, RowId};
use crate::entry::knowledge::timestamp;
use crate::entry::{self, Entry, EntryNames, EntrySummary, Head, Id, NamedEntry, frontmatter};
use crate::error::{Problem, Result};
use crate::history::Usage;
use crate::retrieve::superseded;
use crate::workspace::{Workspace, no_such_entry};

/// An entry in full.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let old = memory.add(&Knowledge::new("Deploy by hand", ["deploy"], "Copy the files."))?.id;
/// let new = memory.add(&Knowledge::new("Deploy with CI", ["deploy"], "Push a tag."))?.id;
/// memory.supersede(&old, &new)?;
/// let entry = memory.show(&old)?.entry;
/// assert!(entry.summary.superseded);
/// assert_eq!((entry.superseded_by, entry.body.trim()), (vec![new], "Copy the files."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntryView {
    /// Its summary, as in lists.
    #[serde(flatten)]
    pub summary: EntrySummary,
    /// From 0 to 100.
    pub importance: u8,
    /// The task during which it was learned.
    pub task_id: Option<String>,
    /// The run during which it was learned.
    pub run_id: Option<String>,
    /// When it stops being true, RFC 3339.
    pub expires_at: Option<String>,
    /// The entries that it replaces.
    pub supersedes: Vec<Id>,
    /// The live entries that replace it.
    pub superseded_by: Vec<Id>,
    /// The project paths that it names.
    pub files: Vec<String>,
    /// The questions that it answers.
    pub questions: Vec<String>,
    /// All of its frontmatter, including keys that are unknown to this program.
    pub frontmatter: Value,
    /// Its body, as in the file.
    pub body: String,
    /// The entries that its body links to, and the links that lead to no entry.
    pub links: Vec<EntryLink>,
    /// The live entries whose bodies link to it.
    pub backlinks: Vec<EntryLink>,
    /// Its archived versions, oldest first.
    pub versions: Vec<Id>,
    /// The outcomes of the attempts whose contexts included it; `None` if there are none.
    pub usage: Option<Usage>,
}

/// A link between two entries, `[[…]]` in the body of one of them.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Error codes", ["api"], "See [[Retries]] and [[time-outs]]."))?;
/// let id = memory.add(&Knowledge::new("Retries", ["api"], "Only after a 503."))?.id;
/// let backlink = &memory.show(&id)?.entry.backlinks[0];
/// assert_eq!((backlink.text.as_str(), backlink.line), ("Error codes", 8));
/// let links = backlink.id.as_ref().map(|id| memory.show(id)).transpose()?.ok_or("no entry")?.entry.links;
/// assert_eq!((links[0].id.as_ref(), links[1].id.as_ref()), (Some(&id), None), "nothing is called `time-outs`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryLink {
    /// The entry at the other end; `None` if there is none.
    pub id: Option<Id>,
    /// The text between the brackets, or the title of the entry that links.
    pub text: String,
    /// The line of the link in its file.
    pub line: u32,
}

/// The result of [`Memory::show`](crate::Memory::show).
///
/// ```
/// use ralph_memory::{Id, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// std::fs::write(root.join(".ralph/knowledge/vpn.md"), "---\ntitle: VPN\n---\n\nUse the one in Oslo.\n")?;
/// let shown = memory.show(&Id::parse("vpn").ok_or("not an id")?)?;
/// assert_eq!(shown.entry.summary.title, "VPN");
/// assert_eq!(shown.problems[0].code, "missing-tags");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShowResult {
    /// The entry.
    pub entry: EntryView,
    /// Problems of its file.
    pub problems: Vec<Problem>,
}

/// Returns the live entry with this id, else the archived one.
pub(crate) fn show(workspace: &Workspace, id: &Id) -> Result<ShowResult> {
    let now = workspace.now();
    let live = workspace.catalog(Area::Live);
    let archive = workspace.catalog(Area::Archive);
    let has_it =
        live.row_of_id(id).map(|row| (&live, row)).or_else(|| archive.row_of_id(id).map(|row| (&archive, row)));
    let had_it = || [&live, &archive].into_iter().find_map(|catalog| Some((catalog, catalog.row_of_name(id)?)));
    let found = has_it.or_else(had_it);
    let (catalog, row) = found.ok_or_else(|| no_such_entry(&workspace.store, &[&live, &archive], id))?;
    // It may have been renamed.
    let id = &catalog.id(row).unwrap_or_else(|| id.clone());
    let path = catalog.path(row);
    let file = workspace.store.read(&path);
    let file = file.map_err(|unreadable| unreadable.into_error(workspace.store.memory().join(&path)))?;
    let entry = entry::read(&path, &file.bytes);
    let others = Others::of(&live, &archive, id);
    let head = entry.head.clone();
    let view = EntryView {
        importance: head.importance,
        task_id: head.task_id.clone(),
        run_id: head.run_id.clone(),
        expires_at: head.expires_at.map(timestamp),
        supersedes: head.supersedes.clone(),
        superseded_by: others.superseding(now),
        files: head.files.clone(),
        questions: head.questions.clone(),
        summary: EntrySummary::new(id.clone(), &path, head, &superseded(&[&live], now), now),
        frontmatter: all_fields(&entry, &file.bytes),
        links: others.links_of(&entry.head),
        backlinks: others.links_to_it(),
        versions: archive.versions_of(&live, id, &entry.head).into_iter().filter_map(|row| archive.id(row)).collect(),
        usage: usage_of(now, &[&live, &archive], id),
        body: entry.body,
    };
    Ok(ShowResult { entry: view, problems: catalog.head(row).problems })
}

/// Returns all of an entry's frontmatter; null if it cannot be read.
fn all_fields(entry: &Entry, bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let split = frontmatter::split(&text).ok().filter(|_| entry.head.valid);
    let fields = split.and_then(|split| frontmatter::parse(&text[split.head]).ok());
    fields.map_or(Value::Null, |fields| Value::Object(fields.into_iter().collect()))
}

/// The other live entries, from the view of one.
struct Others<'a> {
    live: &'a Catalog,
    /// The entry that is shown.
    id: &'a Id,
    heads: Vec<(RowId, Head)>,
    names: EntryNames,
}

impl<'a> Others<'a> {
    fn of(live: &'a Catalog, archive: &Catalog, id: &'a Id) -> Others<'a> {
        let rows = live.rows().filter(|row| live.is_indexable(*row));
        let heads = rows.map(|row| (row, live.head(row))).collect();
        Others { live, id, heads, names: catalog::names(live, archive) }
    }

    /// Returns where the links in the body with this head lead.
    fn links_of(&self, head: &Head) -> Vec<EntryLink> {
        let link = |link: &entry::Link| EntryLink {
            id: self.names.of_link(&link.target, &head.scope).and_then(NamedEntry::live).cloned(),
            text: link.target.clone(),
            line: link.line,
        };
        head.links.iter().map(link).collect()
    }

    /// Returns the first link of each other entry to the one that is shown.
    fn links_to_it(&self) -> Vec<EntryLink> {
        let link = |(row, head): &(RowId, Head)| {
            let is_meant = |link: &&entry::Link| self.is_it(self.names.of_link(&link.target, &head.scope));
            let line = head.links.iter().find(is_meant)?.line;
            Some(EntryLink { id: Some(self.other(*row)?), text: head.title.clone(), line })
        };
        self.heads.iter().filter_map(link).collect()
    }

    /// Returns the entries that replace the one that is shown. An expired entry replaces nothing.
    fn superseding(&self, now: DateTime<Utc>) -> Vec<Id> {
        let replaces = |head: &Head| {
            head.valid && !head.is_expired(now) && head.supersedes.iter().any(|old| self.is_it(self.names.of_id(old)))
        };
        self.heads.iter().filter(|(_, head)| replaces(head)).filter_map(|(row, _)| self.other(*row)).collect()
    }

    fn is_it(&self, entry: Option<NamedEntry<'_>>) -> bool {
        entry.is_some_and(|entry| entry.id() == self.id)
    }

    fn other(&self, row: RowId) -> Option<Id> {
        self.live.id(row).filter(|other| other != self.id)
    }
}
