//! Renaming: an entry gets another title and the file name that goes with it, and links follow.
//!
//! The entry keeps its old id and title as aliases, which links, contexts in the journal and other branches may still
//! use. It gets them first, so a crash at any point leaves names that are understood; a second call completes the rest.

use serde::Serialize;

use super::write::{edited, signed};
use crate::catalog::{self, Area, Catalog, RowId};
use crate::entry::body::MAX_LINKS;
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::Knowledge;
use crate::entry::path::{EntryPath, display_path};
use crate::entry::{EntryNames, Head, Id, Kind, NamedEntry, Scope, Source, frontmatter, relink};
use crate::error::{Error, Problem, Result};
use crate::store::{Lock, stem_for_title};
use crate::text::fold;
use crate::workspace::{Workspace, live_entry, unlisted};

/// The result of [`Memory::rename`](crate::Memory::rename).
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let id = memory.add(&Knowledge::new("Cache", ["build"], "It is on the build host."))?.id;
/// let other = memory.add(&Knowledge::new("Slow builds", ["build"], "See [[cache]] first."))?.id;
/// let renamed = memory.rename(&id, "Compiler cache")?;
/// assert_eq!((renamed.id.as_str(), renamed.links), ("knowledge/compiler-cache", 1));
/// assert!(memory.show(&other)?.entry.body.contains("[[compiler-cache]]"));
/// assert_eq!(memory.show(&id)?.entry.summary.id, renamed.id, "the old id still finds it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Renamed {
    /// Its id now.
    pub id: Id,
    /// Its id before.
    pub from: Id,
    /// Its title now.
    pub title: String,
    /// Its file now.
    pub path: EntryPath,
    /// Whether anything had to be written.
    pub changed: bool,
    /// How many links and ids in `supersedes` were changed.
    pub links: usize,
    /// The entries that have these.
    pub linking: Vec<Id>,
    /// The archived versions that were renamed with it: their paths now.
    pub versions: Vec<EntryPath>,
    /// Problems on the way that a person should see.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Implements [`Memory::rename`](crate::Memory::rename).
pub(crate) fn rename(workspace: &Workspace, id: &Id, title: &str) -> Result<Renamed> {
    let title = checked_title(workspace, title)?;
    if id.kind() != Kind::Knowledge {
        return Err(Error::invalid("ID", "a journal entry never changes; name a knowledge entry"));
    }
    let lock = workspace.lock_entries()?;
    let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
    // An entry in an unreadable folder may have the name, or a link.
    if let Some(error) = [&live, &archive].into_iter().find_map(|catalog| unlisted(&workspace.store, catalog)) {
        return Err(error);
    }
    let (row, _) = live_entry(workspace, &live, id)?;
    let renaming = Renaming::new(workspace, &lock, (&live, &archive), row, title)?;
    let mut renamed = renaming.entry()?;
    renaming.links(&mut renamed)?;
    if renamed.changed {
        workspace.commit_moved();
        renamed.problems.extend(lock.settled(&[workspace.root().join(&renamed.path)]));
    }
    Ok(renamed)
}

/// Returns the title on one line, if an entry may have it.
fn checked_title(workspace: &Workspace, title: &str) -> Result<String> {
    let title = Knowledge::new(title, ["title"], "Body").normalised()?.title;
    workspace.refuse_secrets_in("title", &title)?;
    // Whoever gives it: it becomes the text of links.
    let knowledge = Knowledge { source: Source::Agent, ..Knowledge::new(title, ["title"], "Body") };
    Workspace::refuse_invisible(&knowledge)?;
    Ok(knowledge.title)
}

/// An entry that is to be renamed.
struct Renaming<'a> {
    workspace: &'a Workspace,
    lock: &'a Lock,
    live: &'a Catalog,
    archive: &'a Catalog,
    row: RowId,
    head: Head,
    from: Id,
    id: Id,
    path: String,
    title: String,
    /// What each name means before, and what it will mean.
    names: [EntryNames; 2],
}

impl<'a> Renaming<'a> {
    fn new(
        workspace: &'a Workspace,
        lock: &'a Lock,
        (live, archive): (&'a Catalog, &'a Catalog),
        row: RowId,
        title: String,
    ) -> Result<Renaming<'a>> {
        let from_path = live.path(row);
        let head = live.head(row);
        let outside = || Error::OutsideRoot { path: from_path.clone().into() };
        let from = live.id(row).ok_or_else(outside)?;
        let has_title = |other: &RowId| {
            let head = live.head(*other);
            *other != row && head.scope == live.head(row).scope && fold(&head.title) == fold(&title)
        };
        if let Some(other) = live.knowledge_rows().filter(|other| live.is_indexable(*other)).find(has_title) {
            return Err(Error::TitleTaken { title, id: live.id(other).map_or_else(String::new, |id| id.to_string()) });
        }
        let path = free_path(workspace, live, &from_path, &from, &title);
        let id = Id::of_path(&path).ok_or_else(outside)?;
        let mut later = head.clone();
        later.aliases.extend([from.to_string(), std::mem::replace(&mut later.title, title.clone())]);
        let names = [catalog::names(live, archive), catalog::names_with(live, archive, Some((row, &id, &later)))];
        Ok(Renaming { workspace, lock, live, archive, row, head, from, id, path, title, names })
    }

    /// Gives the entry its title, its aliases and its path, and its archived versions theirs.
    fn entry(&self) -> Result<Renamed> {
        let from_path = self.live.path(self.row);
        let (text, entry) = self.workspace.read_entry(&from_path)?;
        let mut changes = Vec::new();
        if entry.head.title != self.title {
            changes.push(Change::Set("title", self.title.as_str().into()));
        }
        let mut aliases = Vec::new();
        let has_other_title = fold(&entry.head.title) != fold(&self.title) && !entry.head.title.is_empty();
        if self.from != self.id || has_other_title {
            let old_id = (self.from != self.id).then(|| self.from.to_string());
            let old_title = has_other_title.then(|| entry.head.title.clone());
            let is_new = |alias: &String| !entry.head.aliases.contains(alias);
            aliases.extend(old_id.into_iter().chain(old_title).filter(is_new));
        }
        if !aliases.is_empty() {
            changes.push(Change::AddItems("aliases", aliases));
        }
        let mut problems = Vec::new();
        let edited = edited(&from_path, &text, &changes, false)?;
        if edited != text {
            problems = self.workspace.replace(self.lock, &from_path, &text, &edited)?;
        }
        if self.path != from_path {
            self.workspace.store.move_to(self.lock, &from_path, &self.path).inspect_err(|_| {
                // Then it has no reason for its new title either. If this fails, a second call completes it.
                let _ = self.workspace.replace(self.lock, &from_path, &edited, &text);
            })?;
        }
        let versions = self.versions(&mut problems)?;
        let changed = edited != text || self.path != from_path || !versions.is_empty();
        Ok(Renamed {
            id: self.id.clone(),
            from: self.from.clone(),
            title: self.title.clone(),
            path: EntryPath::new(&self.path),
            changed,
            links: 0,
            linking: Vec::new(),
            versions,
            problems,
        })
    }

    /// Renames the archived versions, and returns their paths. One whose new name is taken is reported.
    fn versions(&self, problems: &mut Vec<Problem>) -> Result<Vec<EntryPath>> {
        // Those of an earlier call that was cut off, and of another branch, too.
        let versions = self.archive.versions_of(self.live, &self.from, &self.head);
        let moves = versions.into_iter().filter_map(|row| {
            let path = self.archive.path(row);
            let (folder, name) = path.rsplit_once('/')?;
            let (stem, stamp) = name.strip_suffix(".md")?.rsplit_once('.')?;
            let to = format!("{folder}/{}.{stamp}.md", self.id.stem());
            (stem != self.id.stem()).then_some((path, to))
        });
        let moves: Vec<(String, String)> = moves.collect();
        let pairs: Vec<(&str, &str)> = moves.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        let mut versions = Vec::new();
        for ((from, to), moved) in moves.iter().zip(self.workspace.store.move_all(self.lock, &pairs)?) {
            match moved {
                Ok(()) => versions.push(EntryPath::new(to)),
                Err(error @ Error::Conflict { .. }) => {
                    let message = format!("the version keeps its name: {error}");
                    let hint = "rename it by hand, so that `show` lists it".to_owned();
                    problems.push(Problem::warning(display_path(from), "version-not-renamed", message, hint));
                }
                // Another call renames the rest.
                Err(error) => return Err(error),
            }
        }
        Ok(versions)
    }

    /// Changes the links of live entries, and their `supersedes`. An entry that cannot be edited is reported: its links
    /// lead to the aliases.
    fn links(&self, renamed: &mut Renamed) -> Result<()> {
        for row in self.live.knowledge_rows().filter(|row| self.live.is_indexable(*row)) {
            let head = self.live.head(row);
            let names_it = head.links.iter().any(|link| self.new_target(&link.target, &head.scope).is_some())
                || head.links.len() >= MAX_LINKS
                || head.supersedes.iter().any(|id| self.is_old_id(id));
            if !names_it {
                continue;
            }
            let path = if row == self.row { self.path.clone() } else { self.live.path(row) };
            let Some(id) = Id::of_path(&path) else { continue };
            match self.links_of(&path) {
                Ok((0, _)) => {}
                Ok((n_links, problems)) => {
                    renamed.links += n_links;
                    renamed.linking.push(id);
                    renamed.changed = true;
                    renamed.problems.extend(problems);
                }
                Err(error @ (Error::Uneditable { .. } | Error::Conflict { .. })) => {
                    let message = format!("its links still name `{}`: {error}", self.from);
                    let hint = "they lead to the entry as before; change them by hand".to_owned();
                    renamed.problems.push(Problem::warning(display_path(&path), "links-not-changed", message, hint));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Changes the links of one entry, and returns how many there were.
    fn links_of(&self, path: &str) -> Result<(usize, Vec<Problem>)> {
        let (text, entry) = self.workspace.read_entry(path)?;
        let mut n_links = 0;
        let mut changed = text.clone();
        let relinked = relink::relink(&entry.body, &|target| self.new_target(target, &entry.head.scope));
        if let Some((body, n_replaced)) = relinked
            && let Some(head) = text.strip_suffix(entry.body.as_str())
        {
            changed = signed(path, &text, format!("{head}{body}"), false)?;
            n_links += n_replaced;
        }
        for item in supersedes_as_written(&text) {
            if Id::parse(&item).is_some_and(|id| self.is_old_id(&id)) {
                changed =
                    edited(path, &changed, &[Change::ReplaceItem("supersedes", item, self.id.to_string())], false)?;
                n_links += 1;
            }
        }
        if changed == text {
            return Ok((0, Vec::new()));
        }
        Ok((n_links, self.workspace.replace(self.lock, path, &text, &changed)?))
    }

    /// Returns whether an id means the entry, and is not its id any more.
    fn is_old_id(&self, id: &Id) -> bool {
        *id != self.id && self.names[0].of_id(id) == Some(NamedEntry::Live(&self.from))
    }

    /// Returns the new target of a link in an entry of this scope, in the form of the old one: an id, a bare name, or a
    /// title. A link to the entry follows it, and no other link may lead elsewhere than before.
    fn new_target(&self, target: &str, scope: &Scope) -> Option<String> {
        let [before, after] = self.names.each_ref().map(|names| names.of_link(target, scope));
        match before? {
            NamedEntry::Live(id) if *id == self.from => {}
            other => return (after != Some(other)).then(|| id_or_stem(other.id())),
        }
        if let Some(id) = Id::parse(target)
            && self.names[0].of_id(&id) == Some(NamedEntry::Live(&self.from))
        {
            let written = if target.contains('/') { self.id.to_string() } else { id_or_stem(&self.id) };
            return (id != self.id).then_some(written);
        }
        let leads_to_it = |target: &str| self.names[1].of_link(target, scope) == Some(NamedEntry::Live(&self.id));
        if fold(target) == fold(&self.title) && leads_to_it(target) {
            return None;
        }
        let can_be_linked = !self.title.contains(['[', ']', '|', '\\', '<', '>', '&', '`', '*', '_']);
        let title = Some(&self.title).filter(|title| can_be_linked && leads_to_it(title));
        Some(title.map_or_else(|| self.id.to_string(), Clone::clone))
    }
}

/// Returns the name of knowledge without its folder, as people write it in links.
fn id_or_stem(id: &Id) -> String {
    let stem = id.stem();
    if Id::parse(stem).as_ref() == Some(id) { stem.to_owned() } else { id.to_string() }
}

/// Returns the items of `supersedes` as they are in the file, each once.
fn supersedes_as_written(text: &str) -> Vec<String> {
    let fields = frontmatter::split(text).ok().and_then(|split| frontmatter::parse(&text[split.head]).ok());
    let value = fields.and_then(|mut fields| fields.remove("supersedes"));
    let mut items = edit::list_items(value.as_ref());
    items.sort();
    items.dedup();
    items
}

/// Returns the path for a title: in the same folder, with the day in front for an event. The entry may keep its own.
fn free_path(workspace: &Workspace, live: &Catalog, from: &str, id: &Id, title: &str) -> String {
    let (folder, name) = from.rsplit_once('/').unwrap_or(("", from));
    let day = name.get(..10).filter(|day| folder.ends_with("/events") && day.parse::<chrono::NaiveDate>().is_ok());
    let name = day.map_or_else(|| title.to_owned(), |day| format!("{day} {title}"));
    let archived = super::add::archived_stems(workspace, "archive/knowledge");
    let is_taken = |stem: &str| {
        let other = Id::parse(&format!("knowledge/{stem}"));
        let is_own = other.as_ref() == Some(id);
        let has_row = |other: &Id| live.ids_of_name(other).iter().any(|current| current != id);
        let is_archived = || archived.iter().any(|known| known.eq_ignore_ascii_case(stem));
        let is_like = || live.rows_like(stem).any(|row| live.id(row).as_ref() != Some(id));
        !is_own && (is_archived() || is_like() || other.as_ref().is_some_and(has_row))
    };
    let stem = stem_for_title(&name, &is_taken);
    if stem == id.stem() { from.to_owned() } else { format!("{folder}/{stem}.md") }
}
