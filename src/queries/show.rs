//! A single entry: the content of its file, its links, and its replacements.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::usage::usage_of;
use crate::catalog::{Area, Catalog, RowId};
use crate::entry::knowledge::timestamp;
use crate::entry::{self, Entry, EntrySummary, Head, Id, frontmatter};
use crate::error::{Problem, Result};
use crate::history::Usage;
use crate::retrieve::superseded;
use crate::store::version_of;
use crate::text::fold;
use crate::workspace::{Workspace, no_such_entry, only_one};

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
    let id = &current_id(&live, &archive, id)?;
    let (catalog, row) = match (live.row_of_id(id), archive.row_of_id(id)) {
        (Some(row), _) => (&live, row),
        (None, Some(row)) => (&archive, row),
        (None, None) => return Err(no_such_entry(&workspace.store, &[&live, &archive], id)),
    };
    let path = catalog.path(row);
    let file = workspace.store.read(&path);
    let file = file.map_err(|unreadable| unreadable.into_error(workspace.store.memory().join(&path)))?;
    let entry = entry::read(&path, &file.bytes);
    let others = Others::of(&live, id);
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
        backlinks: others.links_to(&entry.head),
        versions: versions(&archive, id),
        usage: usage_of(now, &[&live, &archive], id),
        body: entry.body,
    };
    Ok(ShowResult { entry: view, problems: catalog.head(row).problems })
}

/// Returns the id that the entry with this one has since it was renamed; the id itself if a live or archived entry has
/// it.
fn current_id(live: &Catalog, archive: &Catalog, id: &Id) -> Result<Id> {
    if live.row_of_id(id).is_some() || archive.row_of_id(id).is_some() {
        return Ok(id.clone());
    }
    // The versions of a renamed entry have the old id, too.
    let archived = || archive.ids_of_name(id).into_iter().filter(|id| version_of(id.stem()).is_none()).collect();
    let current = match only_one(id, live.ids_of_name(id))? {
        None => only_one(id, archived())?,
        current => current,
    };
    Ok(current.unwrap_or_else(|| id.clone()))
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
}

impl<'a> Others<'a> {
    fn of(live: &'a Catalog, id: &'a Id) -> Others<'a> {
        let rows = live.rows().filter(|row| live.is_indexable(*row));
        Others { live, id, heads: rows.map(|row| (row, live.head(row))).collect() }
    }

    /// Returns where the links in the body with this head lead.
    fn links_of(&self, head: &Head) -> Vec<EntryLink> {
        let link = |link: &entry::Link| EntryLink {
            id: self.resolve(&link.target),
            text: link.target.clone(),
            line: link.line,
        };
        head.links.iter().map(link).collect()
    }

    /// Returns the first link of each other entry to the id, the title or an alias of the entry with this head.
    fn links_to(&self, head: &Head) -> Vec<EntryLink> {
        let is_meant = |target: &str| Id::parse(target).as_ref() == Some(self.id) || is_called(head, target);
        let link = |(row, head): &(RowId, Head)| {
            let line = head.links.iter().find(|link| is_meant(&link.target))?.line;
            Some(EntryLink { id: Some(self.other(*row)?), text: head.title.clone(), line })
        };
        self.heads.iter().filter_map(link).collect()
    }

    /// Returns the entries that replace the one with the id. An expired entry replaces nothing.
    fn superseding(&self, now: DateTime<Utc>) -> Vec<Id> {
        let replaces = |head: &Head| head.valid && !head.is_expired(now) && head.supersedes.contains(self.id);
        self.heads.iter().filter(|(_, head)| replaces(head)).filter_map(|(row, _)| self.other(*row)).collect()
    }

    fn other(&self, row: RowId) -> Option<Id> {
        self.live.id(row).filter(|other| other != self.id)
    }

    /// Returns the live entry that a link means: the one with this id, else the first with this title.
    fn resolve(&self, target: &str) -> Option<Id> {
        let by_id = Id::parse(target).filter(|id| self.live.row_of_id(id).is_some());
        let by_title = |(_, head): &&(RowId, Head)| is_title(&head.title, target);
        by_id.or_else(|| {
            let found = self.heads.iter().find(by_title);
            let (row, _) = found.or_else(|| self.heads.iter().find(|(_, head)| is_called(head, target)))?;
            self.live.id(*row)
        })
    }
}

/// Returns whether a link means the entry with this head by its title or an alias.
fn is_called(head: &Head, target: &str) -> bool {
    let is_old_id = || Id::parse(target).is_some_and(|id| head.old_ids().any(|old| old == id));
    is_title(&head.title, target) || head.aliases.iter().any(|alias| is_title(alias, target)) || is_old_id()
}

fn is_title(title: &str, target: &str) -> bool {
    let title = fold(title);
    !title.is_empty() && fold(target) == title
}

/// Returns the archived versions of an entry, oldest first.
fn versions(archive: &Catalog, id: &Id) -> Vec<Id> {
    let mut versions: Vec<(String, u32, Id)> = archive
        .rows()
        .filter_map(|row| archive.id(row))
        .filter_map(|version| {
            let (stem, time, number) = version_of(version.stem())?;
            (stem == id.stem() && version.kind() == id.kind()).then(|| (time.to_owned(), number, version.clone()))
        })
        .collect();
    versions.sort();
    versions.into_iter().map(|(_, _, version)| version).collect()
}
