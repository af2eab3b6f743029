//! Renaming: an entry gets another title and the file name that goes with it, and links follow. So do links to learnings that
//! became a part of another.
//!
//! The entry keeps its old id and title as aliases, which links, contexts in the journal and other branches may still
//! use. It gets them first, so a crash at any point leaves names that are understood; a second call completes the rest.

use std::rc::Rc;

use super::entry_changes::EntryChanges;
use super::write::{archived_stems, edited, located, other_titled, refuse_unlisted, settle, signed};
use super::written::{WriteAction, Written};
use crate::entry::body::MAX_LINKS;
use crate::entry::edit::{self, Change};
use crate::entry::path::{MEMORY_FOLDER, display_path};
use crate::entry::relink::{MarkdownLink, escaped_target, path_of_target, relink, relink_files, unescaped};
use crate::entry::{EntryNames, Id, NamedEntry, Scope, frontmatter};
use crate::error::{Error, Problem, Result};
use crate::index::catalog::{self, Area, Catalog, RowId};
use crate::store::{Lock, stem_for_title};
use crate::text::fold;
use crate::workspace::{EntryLock, Workspace, live_entry};

/// Gives an entry another title, and what else is wanted of it.
pub(super) fn rename(
    workspace: &Workspace,
    lock: &EntryLock,
    id: &Id,
    title: &str,
    wanted: &EntryChanges,
) -> Result<Written> {
    let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
    refuse_unlisted(workspace, &[&live, &archive])?;
    let (row, _) = live_entry(workspace, &live, id)?;
    let renaming = Renaming::new(workspace, lock, (&live, &archive), row, (title, wanted))?;
    let mut written = renaming.entry(wanted)?;
    let path = |other| if other == row { renaming.path.clone() } else { live.path(other) };
    renaming.links(&linking(workspace, &live, path), &mut written)?;
    if written.action == WriteAction::Updated {
        settle(workspace, lock, &mut written);
    }
    Ok(written)
}

/// Lets the links to learnings that became a part of another lead there. `before` is what each name meant before.
pub(super) fn relink_merged<'m>(
    workspace: &Workspace,
    lock: &Lock,
    before: EntryNames,
    merged: impl Iterator<Item = (&'m Id, &'m [Id])>,
) -> Result<Vec<Problem>> {
    let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
    let names = Rc::new([before, catalog::names(&live, &archive)]);
    let linking = linking(workspace, &live, |row| live.path(row));
    let mut problems = Vec::new();
    for (into, merged) in merged {
        let Some(row) = live.row_of_id(into) else { continue };
        let (title, path) = (live.head(row).title, live.path(row));
        let renaming = Renaming {
            workspace,
            lock,
            live: &live,
            row,
            from: into.clone(),
            merged,
            id: into.clone(),
            path: path.clone(),
            title: &title,
            names: Rc::clone(&names),
        };
        let mut written = Written::new(WriteAction::Unchanged, into.clone(), title.clone(), &path);
        renaming.links(&linking, &mut written)?;
        problems.extend(written.problems);
    }
    Ok(problems)
}

/// Returns the live knowledge that may have links, with its paths, and whether it may have links of markdown to files: heads
/// do not have those.
fn linking(workspace: &Workspace, live: &Catalog, path: impl Fn(RowId) -> String) -> Vec<(RowId, String, bool)> {
    let has_file = |bytes: Vec<u8>| String::from_utf8(bytes).is_ok_and(|text| text.contains(".md"));
    let rows = live.knowledge_rows().filter(|row| live.is_indexable(*row)).map(|row| {
        let path = path(row);
        let has_file = workspace.store.read(&path).is_ok_and(|file| has_file(file.bytes));
        (row, path, has_file)
    });
    rows.collect()
}

/// An entry that is to be renamed, or that others became a part of.
struct Renaming<'a> {
    workspace: &'a Workspace,
    lock: &'a Lock,
    live: &'a Catalog,
    row: RowId,
    from: Id,
    merged: &'a [Id],
    id: Id,
    path: String,
    title: &'a str,
    /// What each name means before, and what it will mean.
    names: Rc<[EntryNames; 2]>,
}

impl<'a> Renaming<'a> {
    fn new(
        workspace: &'a Workspace,
        lock: &'a Lock,
        (live, archive): (&'a Catalog, &'a Catalog),
        row: RowId,
        (title, wanted): (&'a str, &EntryChanges),
    ) -> Result<Renaming<'a>> {
        let (from_path, from) = located(live, row)?;
        let mut later = live.head(row);
        let scope = wanted.scope.as_ref().unwrap_or(&later.scope);
        if let Some(other) = other_titled(live, Some(row), title, scope) {
            return Err(Error::TitleTaken { title: title.to_owned(), id: other.to_string() });
        }
        let path = free_path(workspace, live, &from_path, &from, title);
        let id = Id::of_path(&path).ok_or_else(|| Error::OutsideRoot { path: from_path.into() })?;
        later.aliases.extend([from.to_string(), std::mem::replace(&mut later.title, title.to_owned())]);
        let names = [catalog::names(live, archive), catalog::names_with(live, archive, Some((row, &id, &later)))];
        Ok(Renaming { workspace, lock, live, row, from, merged: &[], id, path, title, names: Rc::new(names) })
    }

    /// Gives the entry its title, its aliases and its path, and what else is wanted of it.
    fn entry(&self, wanted: &EntryChanges) -> Result<Written> {
        let from_path = self.live.path(self.row);
        let (text, entry) = self.workspace.read_entry(&from_path)?;
        let (mut changes, suggested) = wanted.planned(self.workspace, self.live, &self.from, (&text, &entry))?;
        if entry.head.title != self.title {
            changes.push(Change::Set("title", self.title.into()));
        }
        let mut aliases = Vec::new();
        let has_other_title = fold(&entry.head.title) != fold(self.title) && !entry.head.title.is_empty();
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
        let is_changed = edited != text || self.path != from_path;
        let action = if is_changed { WriteAction::Updated } else { WriteAction::Unchanged };
        Ok(Written {
            previous_id: Some(self.from.clone()).filter(|from| *from != self.id),
            suggested,
            problems,
            ..Written::new(action, self.id.clone(), self.title.to_owned(), &self.path)
        })
    }

    /// Changes the links of these live entries, and their `supersedes`. An entry that cannot be edited is reported: its links
    /// lead to the aliases.
    fn links(&self, linking: &[(RowId, String, bool)], written: &mut Written) -> Result<()> {
        for (row, path, has_file) in linking {
            let head = self.live.head(*row);
            let names_it = head.links.iter().any(|link| self.new_target(&link.target, &head.scope).is_some())
                || head.links.len() >= MAX_LINKS
                || head.supersedes.iter().any(|id| self.is_old_id(id));
            if !names_it && !has_file {
                continue;
            }
            let Some(id) = Id::of_path(path) else { continue };
            match self.links_of(path) {
                Ok((0, _)) => {}
                Ok((n_links, problems)) => {
                    written.links += n_links;
                    written.linking.push(id);
                    written.action = WriteAction::Updated;
                    written.problems.extend(problems);
                }
                Err(error @ (Error::Uneditable { .. } | Error::Conflict { .. })) => {
                    let message = format!("its links still name `{}`: {error}", self.from);
                    let hint = "they lead to the entry as before; change them by hand".to_owned();
                    written.problems.push(Problem::warning(display_path(path), "links-not-changed", message, hint));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns whether a name meant the entry, or one that became a part of it.
    fn is_it(&self, named: Option<NamedEntry<'_>>) -> bool {
        matches!(named, Some(NamedEntry::Live(id)) if *id == self.from || self.merged.contains(id))
    }

    /// Changes the links of one entry, and returns how many there were.
    fn links_of(&self, path: &str) -> Result<(usize, Vec<Problem>)> {
        let (text, entry) = self.workspace.read_entry(path)?;
        let (mut body, mut n_links) = (entry.body.clone(), 0);
        let relinked = relink(&body, &|target| self.new_target(target, &entry.head.scope));
        if let Some((relinked, n_replaced)) = relinked {
            (body, n_links) = (relinked, n_replaced);
        }
        if let Some((relinked, n_replaced)) = relink_files(&body, &|link| self.new_file(path, link)) {
            (body, n_links) = (relinked, n_links + n_replaced);
        }
        let mut changed = text.clone();
        if n_links > 0
            && let Some(head) = text.strip_suffix(entry.body.as_str())
        {
            changed = signed(path, &text, format!("{head}{body}"), false)?;
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

    /// Returns what becomes of a link of markdown in the entry at `path`: one to a file that the entry had gets the name
    /// of its new one, or the way to it from the linking file where that is in another folder.
    fn new_file(&self, path: &str, link: &MarkdownLink) -> Option<String> {
        let path = display_path(path);
        let here = path.rsplit_once('/')?.0;
        let (file, behind) = path_of_target(here, &link.target)?;
        let file = unescaped(&file);
        let file = file.strip_prefix(MEMORY_FOLDER)?;
        let is_of_entry = self.is_it(self.names[0].of_id(&Id::of_path(file)?));
        let (folder, name) = self.path.rsplit_once('/')?;
        if !is_of_entry || file == self.path {
            return None;
        }
        let before = &link.target[..link.target.len() - behind.len()];
        let before = before.rfind('/').map_or("", |at| &before[..=at]);
        let (before, name) = if file.rsplit_once('/')?.0 == folder {
            (before, name.to_owned())
        } else {
            ("", relative(here, &display_path(&self.path)))
        };
        let name = name.replace('%', "%25");
        Some(format!("{}{}{behind}", escaped_target(before), escaped_target(&name)))
    }

    /// Returns the name of knowledge without its folder, as people write it in links, where that means the entry.
    fn id_or_name(&self, id: &Id) -> String {
        let is_meant = |name: Id| self.names[1].of_id(&name).map(NamedEntry::id) == Some(id);
        if Id::parse(id.stem()).is_some_and(is_meant) { id.stem().to_owned() } else { id.to_string() }
    }

    /// Returns the new target of a link in an entry of this scope, in the form of the old one: an id, a bare name, or a
    /// title. A link by the old id or title follows the entry, one by another name stays where it leads to it still, and no
    /// other link may lead elsewhere than before.
    fn new_target(&self, target: &str, scope: &Scope) -> Option<String> {
        let (name, heading) = self.names[0].without_heading(target, scope);
        if !heading.is_empty() {
            return self.new_target(name, scope).map(|new| format!("{new}{heading}"));
        }
        let [before, after] = self.names.each_ref().map(|names| names.of_link(target, scope));
        if !self.is_it(before) {
            return before.filter(|_| after != before).map(|other| self.id_or_name(other.id()));
        }
        let by_id = Id::parse(target).is_some_and(|id| id.stem() == self.from.stem());
        let title = fold(&self.live.head(self.row).title);
        let by_title = fold(target) == title;
        // A call that was cut off gave the entry its title, and the second one completes the links.
        let is_second = title == fold(self.title);
        if !by_id && !by_title && !is_second && after == Some(NamedEntry::Live(&self.id)) {
            return None;
        }
        if let Some(id) = Id::parse(target)
            && self.is_it(self.names[0].of_id(&id))
        {
            let below = self.id.as_str().strip_prefix("knowledge/").filter(|_| !target.contains("knowledge/"));
            let written = match below.filter(|_| target.contains('/')) {
                Some(below) => below.to_owned(),
                None if target.contains('/') => self.id.to_string(),
                None => self.id_or_name(&self.id),
            };
            return (id != self.id).then_some(written);
        }
        let leads_to_it = |target: &str| self.names[1].of_link(target, scope) == Some(NamedEntry::Live(&self.id));
        if fold(target) == fold(self.title) && leads_to_it(target) {
            return None;
        }
        let can_be_linked = !self.title.contains(['[', ']', '|', '#', '\\', '<', '>', '&', '`', '*', '_']);
        let title = Some(self.title).filter(|title| can_be_linked && leads_to_it(title));
        Some(title.map_or_else(|| self.id.to_string(), str::to_owned))
    }
}

/// Returns the way from a folder to a file.
fn relative(folder: &str, file: &str) -> String {
    let (folder, file): (Vec<&str>, Vec<&str>) = (folder.split('/').collect(), file.split('/').collect());
    let n_shared = folder.iter().zip(&file).take_while(|(one, other)| one == other).count();
    [vec![".."; folder.len() - n_shared], file[n_shared..].to_vec()].concat().join("/")
}

/// Returns the items of `supersedes` as they are in the file, each once.
fn supersedes_as_written(text: &str) -> Vec<String> {
    let fields = frontmatter::fields_of(text).unwrap_or_default();
    let mut items = edit::list_items(fields.get("supersedes"));
    items.sort();
    items.dedup();
    items
}

/// Returns the path for a title: in the same folder, with the day in front for an event. The entry may keep its own.
fn free_path(workspace: &Workspace, live: &Catalog, from: &str, id: &Id, title: &str) -> String {
    let (folder, name) = from.rsplit_once('/').unwrap_or(("", from));
    let day = name.get(..10).filter(|day| folder.ends_with("/events") && day.parse::<chrono::NaiveDate>().is_ok());
    let name = day.map_or_else(|| title.to_owned(), |day| format!("{day} {title}"));
    let archived = archived_stems(workspace, "archive/knowledge");
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
