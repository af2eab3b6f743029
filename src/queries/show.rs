//! A single entry: the content of its file, its links, and its replacements.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::usage::all_usage;
use super::view::{EntryLink, EntryView};
use crate::catalog::{self, Area, Catalog, RowId};
use crate::entry::knowledge::timestamp;
use crate::entry::{self, Entry, EntryNames, EntrySummary, Head, Id, Kind, NamedEntry, frontmatter};
use crate::error::{Problem, Result};
use crate::history::Usage;
use crate::retrieve::{Replacements, replaced};
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
    names: EntryNames,
    /// The entries that replace an entry.
    superseding: HashMap<Id, Vec<Id>>,
    /// Those that an agent wants to replace an entry of a person.
    suggested_for: HashMap<Id, Vec<Id>>,
    /// The entries of people that one by an agent wants to replace.
    suggested_by: HashMap<Id, Vec<Id>>,
    linking: OnceLock<Linking>,
    usage: OnceLock<HashMap<Id, Usage>>,
}

/// The first link of each entry to an entry: the number of the entry with the link, and that of the link in it.
type Linking = HashMap<Id, Vec<(usize, usize)>>;

impl EntryViewer {
    pub(crate) fn new(workspace: &Workspace) -> EntryViewer {
        let (now, live) = (workspace.now(), workspace.catalog(Area::Live));
        let rows = live.rows().filter(|row| live.is_indexable(*row));
        let heads: Vec<(RowId, Head)> = rows.map(|row| (row, live.head(row))).collect();
        let archive = workspace.catalog(Area::Archive);
        let mut names = EntryNames::default();
        for (row, head) in &heads {
            live.id(*row).into_iter().for_each(|id| names.add_live(id, head, true));
        }
        for row in live.rows().filter(|row| !live.is_indexable(*row)) {
            live.id(row).into_iter().for_each(|id| names.add_live(id, &Head::empty(Kind::Knowledge), false));
        }
        catalog::add_archived(&mut names, &archive);
        let mut replacements = Replacements::default();
        let current = |old: &Id| names.of_id(old).map_or(old, NamedEntry::id).clone();
        let source_of = |old: &Id| live.row_of_id(old).map(|row| live.head(row).source);
        for (row, head) in &heads {
            live.id(*row).iter().for_each(|id| replacements.add(id, head, now, &current, &source_of));
        }
        EntryViewer {
            now,
            heads,
            superseded: replaced(&replacements.counted),
            names,
            superseding: grouped(replacements.counted.iter().map(|(new, old)| (old, new))),
            suggested_for: grouped(replacements.suggested.iter().map(|(new, old)| (old, new))),
            suggested_by: grouped(replacements.suggested.iter().map(|(new, old)| (new, old))),
            live,
            archive,
            linking: OnceLock::new(),
            usage: OnceLock::new(),
        }
    }

    /// Returns the live entry with this id, else the archived one.
    pub(crate) fn show(&self, workspace: &Workspace, id: &Id) -> Result<ShowResult> {
        let (live, archive) = (&self.live, &self.archive);
        let id = &current_id(live, archive, id)?;
        let (catalog, row) = match (live.row_of_id(id), archive.row_of_id(id)) {
            (Some(row), _) => (live, row),
            (None, Some(row)) => (archive, row),
            (None, None) => return Err(no_such_entry(&workspace.store, &[live, archive], id)),
        };
        let path = catalog.path(row);
        let file = workspace.store.read(&path);
        let file = file.map_err(|unreadable| unreadable.into_error(workspace.store.memory().join(&path)))?;
        let entry = entry::read(&path, &file.bytes);
        let head = entry.head.clone();
        let of = |ids: &HashMap<Id, Vec<Id>>| ids.get(id).cloned().unwrap_or_default();
        let would_supersede = of(&self.suggested_by);
        let view = EntryView {
            task_id: head.task_id.clone(),
            run_id: head.run_id.clone(),
            expires_at: head.expires_at.map(timestamp),
            supersedes: head.supersedes.iter().filter(|old| !would_supersede.contains(old)).cloned().collect(),
            superseded_by: of(&self.superseding),
            would_be_superseded_by: of(&self.suggested_for),
            would_supersede,
            files: head.files.clone(),
            questions: head.questions.clone(),
            frontmatter: all_fields(&entry, &file.bytes),
            links: self.links_of(&entry.head),
            backlinks: self.links_to(id),
            usage: self.usage_of(id),
            body: entry.body,
            ..EntryView::from(EntrySummary::new(id.clone(), &path, head, &self.superseded, self.now))
        };
        Ok(ShowResult { entry: view, problems: catalog.head(row).problems })
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

    /// Returns the first link of each other entry to the one with this id.
    fn links_to(&self, id: &Id) -> Vec<EntryLink> {
        let linking = self.linking.get_or_init(|| self.linking());
        let link = |(number, link): (usize, usize)| {
            let (_, head) = &self.heads[number];
            Some(EntryLink { id: Some(self.other(number, id)?), text: head.title.clone(), line: head.links[link].line })
        };
        linking.get(id).into_iter().flatten().copied().filter_map(link).collect()
    }

    fn linking(&self) -> Linking {
        let mut linking = Linking::new();
        for (number, (_, head)) in self.heads.iter().enumerate() {
            for (at, link) in head.links.iter().enumerate() {
                let Some(entry) = self.names.of_link(&link.target, &head.scope) else { continue };
                let links = linking.entry(entry.id().clone()).or_default();
                if links.last().is_none_or(|(last, _)| *last != number) {
                    links.push((number, at));
                }
            }
        }
        linking
    }

    /// Returns the id of an entry that is not the one with this id.
    fn other(&self, number: usize, id: &Id) -> Option<Id> {
        self.live.id(self.heads[number].0).filter(|other| other != id)
    }

    /// Returns the outcomes of the attempts whose contexts included an entry.
    fn usage_of(&self, id: &Id) -> Option<Usage> {
        if id.kind() != Kind::Knowledge {
            return None;
        }
        self.usage.get_or_init(|| all_usage(self.now, &[&self.live, &self.archive])).get(id).cloned()
    }
}

/// Returns the other entries for each one. An entry is no other one of itself.
fn grouped<'a>(pairs: impl Iterator<Item = (&'a Id, &'a Id)>) -> HashMap<Id, Vec<Id>> {
    let mut groups: HashMap<Id, Vec<Id>> = HashMap::new();
    for (of, other) in pairs.filter(|(of, other)| of != other) {
        let group = groups.entry(of.clone()).or_default();
        if group.last() != Some(other) {
            group.push(other.clone());
        }
    }
    groups
}

/// Returns all of an entry's frontmatter; null if it cannot be read.
fn all_fields(entry: &Entry, bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let split = frontmatter::split(&text).ok().filter(|_| entry.head.valid);
    let fields = split.and_then(|split| frontmatter::parse(&text[split.head]).ok());
    fields.map_or(Value::Null, |fields| Value::Object(fields.into_iter().collect()))
}
