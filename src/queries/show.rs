//! A single entry: the content of its file, its links, and its replacements.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::usage::all_usage;
use crate::catalog::{Area, Catalog, RowId};
use crate::entry::knowledge::timestamp;
use crate::entry::{self, Entry, EntrySummary, Head, Id, Kind, frontmatter};
use crate::error::{Problem, Result};
use crate::history::Usage;
use crate::retrieve::superseded;
use crate::store::version_of;
use crate::text::fold;
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

/// Shows entries, one after the other. What it looks up for an entry is computed once for all.
#[derive(Debug)]
pub(crate) struct EntryViewer {
    now: DateTime<Utc>,
    live: Catalog,
    archive: Catalog,
    /// The indexable live entries, in the order of their paths. A number below is a place in this list.
    heads: Vec<(RowId, Head)>,
    superseded: HashSet<Id>,
    /// The entries that replace an id.
    superseding: HashMap<Id, Vec<usize>>,
    names: OnceLock<LinkNames>,
    linking: OnceLock<Linking>,
    usage: OnceLock<HashMap<Id, Usage>>,
    versions: OnceLock<HashMap<(Kind, String), Vec<Id>>>,
}

/// What links may call an entry.
#[derive(Debug, Default)]
struct LinkNames {
    /// The first entry with a title, as [`fold`] returns it.
    titles: HashMap<String, usize>,
    /// The first entry with an alias, or with a title.
    aliases: HashMap<String, usize>,
    /// The first entry that had an id.
    old_ids: HashMap<Id, usize>,
}

/// The links of the entries, by what they are to: the number of the entry, and that of the link in it.
#[derive(Debug, Default)]
struct Linking {
    texts: HashMap<String, Vec<(usize, usize)>>,
    ids: HashMap<Id, Vec<(usize, usize)>>,
}

impl EntryViewer {
    pub(crate) fn new(workspace: &Workspace) -> EntryViewer {
        let (now, live) = (workspace.now(), workspace.catalog(Area::Live));
        let rows = live.rows().filter(|row| live.is_indexable(*row));
        let heads: Vec<(RowId, Head)> = rows.map(|row| (row, live.head(row))).collect();
        let mut superseding: HashMap<Id, Vec<usize>> = HashMap::new();
        for (number, (_, head)) in heads.iter().enumerate() {
            // An expired entry replaces nothing.
            for id in head.supersedes.iter().filter(|_| head.valid && !head.is_expired(now)) {
                superseding.entry(id.clone()).or_default().push(number);
            }
        }
        EntryViewer {
            now,
            heads,
            superseded: superseded(&[&live], now),
            superseding,
            live,
            archive: workspace.catalog(Area::Archive),
            names: OnceLock::new(),
            linking: OnceLock::new(),
            usage: OnceLock::new(),
            versions: OnceLock::new(),
        }
    }

    /// Returns the live entry with this id, else the archived one.
    pub(crate) fn show(&self, workspace: &Workspace, id: &Id) -> Result<ShowResult> {
        let (live, archive) = (&self.live, &self.archive);
        let (catalog, row) = match (live.row_of_id(id), archive.row_of_id(id), live.row_of_name(id)) {
            (Some(row), ..) | (None, None, Some(row)) => (live, row),
            (None, Some(row), _) => (archive, row),
            (None, None, None) => return Err(no_such_entry(&workspace.store, &[live, archive], id)),
        };
        // It may have been renamed.
        let id = &catalog.id(row).unwrap_or_else(|| id.clone());
        let path = catalog.path(row);
        let file = workspace.store.read(&path);
        let file = file.map_err(|unreadable| unreadable.into_error(workspace.store.memory().join(&path)))?;
        let entry = entry::read(&path, &file.bytes);
        let head = entry.head.clone();
        let view = EntryView {
            importance: head.importance,
            task_id: head.task_id.clone(),
            run_id: head.run_id.clone(),
            expires_at: head.expires_at.map(timestamp),
            supersedes: head.supersedes.clone(),
            superseded_by: self.superseding_of(id),
            files: head.files.clone(),
            questions: head.questions.clone(),
            summary: EntrySummary::new(id.clone(), &path, head, &self.superseded, self.now),
            frontmatter: all_fields(&entry, &file.bytes),
            links: self.links_of(&entry.head),
            backlinks: self.links_to(id, &entry.head),
            versions: self.versions_of(id),
            usage: self.usage_of(id),
            body: entry.body,
        };
        Ok(ShowResult { entry: view, problems: catalog.head(row).problems })
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
    fn links_to(&self, id: &Id, head: &Head) -> Vec<EntryLink> {
        let linking = self.linking.get_or_init(|| linking(&self.heads));
        let ids = [id.clone()].into_iter().chain(head.old_ids());
        let texts = [&head.title].into_iter().chain(&head.aliases).map(|name| fold(name));
        let mut found: Vec<(usize, usize)> = ids.filter_map(|id| linking.ids.get(&id)).flatten().copied().collect();
        found.extend(texts.filter_map(|text| linking.texts.get(&text)).flatten());
        found.sort_unstable();
        found.dedup_by_key(|(number, _)| *number);
        let link = |(number, link): (usize, usize)| {
            let (_, head) = &self.heads[number];
            Some(EntryLink { id: Some(self.other(number, id)?), text: head.title.clone(), line: head.links[link].line })
        };
        found.into_iter().filter_map(link).collect()
    }

    /// Returns the entries that replace the one with the id.
    fn superseding_of(&self, id: &Id) -> Vec<Id> {
        let numbers = self.superseding.get(id).into_iter().flatten();
        let mut found: Vec<Id> = numbers.filter_map(|number| self.other(*number, id)).collect();
        found.dedup();
        found
    }

    /// Returns the id of an entry that is not the one with this id.
    fn other(&self, number: usize, id: &Id) -> Option<Id> {
        self.live.id(self.heads[number].0).filter(|other| other != id)
    }

    /// Returns the live entry that a link means: the one with this id, else the first with this title.
    fn resolve(&self, target: &str) -> Option<Id> {
        let id = Id::parse(target);
        let by_id = id.clone().filter(|id| self.live.row_of_id(id).is_some());
        by_id.or_else(|| {
            let names = self.names.get_or_init(|| names(&self.heads));
            let text = fold(target);
            let renamed = id.and_then(|id| names.old_ids.get(&id).copied());
            let called = || [names.aliases.get(&text).copied(), renamed].into_iter().flatten().min();
            self.live.id(self.heads[names.titles.get(&text).copied().or_else(called)?].0)
        })
    }

    /// Returns the outcomes of the attempts whose contexts included an entry.
    fn usage_of(&self, id: &Id) -> Option<Usage> {
        if id.kind() != Kind::Knowledge {
            return None;
        }
        self.usage.get_or_init(|| all_usage(self.now, &[&self.live, &self.archive])).get(id).cloned()
    }

    /// Returns the archived versions of an entry, oldest first.
    fn versions_of(&self, id: &Id) -> Vec<Id> {
        let versions = self.versions.get_or_init(|| versions(&self.archive));
        versions.get(&(id.kind(), id.stem().to_owned())).cloned().unwrap_or_default()
    }
}

fn names(heads: &[(RowId, Head)]) -> LinkNames {
    let mut names = LinkNames::default();
    for (number, (_, head)) in heads.iter().enumerate() {
        let title = fold(&head.title);
        if !title.is_empty() {
            names.titles.entry(title.clone()).or_insert(number);
        }
        for text in [title].into_iter().chain(head.aliases.iter().map(|alias| fold(alias))) {
            if !text.is_empty() {
                names.aliases.entry(text).or_insert(number);
            }
        }
        for id in head.old_ids() {
            names.old_ids.entry(id).or_insert(number);
        }
    }
    names
}

fn linking(heads: &[(RowId, Head)]) -> Linking {
    let mut linking = Linking::default();
    for (number, (_, head)) in heads.iter().enumerate() {
        for (at, link) in head.links.iter().enumerate() {
            let text = fold(&link.target);
            if !text.is_empty() {
                linking.texts.entry(text).or_default().push((number, at));
            }
            if let Some(id) = Id::parse(&link.target) {
                linking.ids.entry(id).or_default().push((number, at));
            }
        }
    }
    linking
}

/// Returns all of an entry's frontmatter; null if it cannot be read.
fn all_fields(entry: &Entry, bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let split = frontmatter::split(&text).ok().filter(|_| entry.head.valid);
    let fields = split.and_then(|split| frontmatter::parse(&text[split.head]).ok());
    fields.map_or(Value::Null, |fields| Value::Object(fields.into_iter().collect()))
}

/// Returns the archived versions of each entry, by its kind and stem, oldest first.
fn versions(archive: &Catalog) -> HashMap<(Kind, String), Vec<Id>> {
    let dated = |version: Id| {
        let (stem, time, number) = version_of(version.stem())?;
        Some(((version.kind(), stem.to_owned()), (time.to_owned(), number), version.clone()))
    };
    let mut found: Vec<_> = archive.rows().filter_map(|row| archive.id(row)).filter_map(dated).collect();
    found.sort_by(|(_, one, first), (_, other, second)| (one, first).cmp(&(other, second)));
    let mut versions: HashMap<(Kind, String), Vec<Id>> = HashMap::new();
    for (entry, _, version) in found {
        versions.entry(entry).or_default().push(version);
    }
    versions
}
