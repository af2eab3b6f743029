//! Which entry a name means, for links, `supersedes` and ids that people write: one rule for every caller.
//!
//! An id means the entry that has it, live or archived; else the live entry that had it before it was renamed, else the
//! archived one. An id without a folder that means none of them means the only entry that has or had this name in a folder,
//! a live one before an archived one. A link, and what a person calls an entry, may also be a title; an entry that has the
//! title comes before one that had it.

use std::collections::{HashMap, HashSet};

use super::{Head, Id, Kind, Scope, Source};
use crate::text::{comparable, without_accents};

/// The entry that a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedEntry<'a> {
    /// A live one.
    Live(&'a Id),
    /// One in the archive.
    Archived(&'a Id),
}

impl<'a> NamedEntry<'a> {
    /// Returns its id.
    pub(crate) fn id(self) -> &'a Id {
        match self {
            NamedEntry::Live(id) | NamedEntry::Archived(id) => id,
        }
    }

    /// Returns its id if it is live.
    pub(crate) fn live(self) -> Option<&'a Id> {
        match self {
            NamedEntry::Live(id) => Some(id),
            NamedEntry::Archived(_) => None,
        }
    }
}

/// The names of all entries.
#[derive(Debug, Default)]
pub(crate) struct EntryNames {
    live: AreaNames,
    archived: AreaNames,
}

impl EntryNames {
    /// Adds a live entry. One that does not count, since it is unreadable or another file has its id, has only its id.
    pub(crate) fn add_live(&mut self, id: Id, head: &Head, counts: bool) {
        self.live.add(id, Some(head).filter(|_| counts));
    }

    /// Adds an archived entry. A version of one is added without its head: its names are those of the entry.
    pub(crate) fn add_archived(&mut self, id: Id, head: Option<&Head>) {
        self.archived.add(id, head);
    }

    /// Returns the entry that an id means.
    pub(crate) fn of_id(&self, id: &Id) -> Option<NamedEntry<'_>> {
        let has_it = self.live.ids.get(id).map(NamedEntry::Live);
        let has_it = has_it.or_else(|| self.archived.ids.get(id).map(NamedEntry::Archived));
        let had_it = || self.live.former_ids.get(id).map(NamedEntry::Live);
        let had_it = has_it.or_else(had_it).or_else(|| self.archived.former_ids.get(id).map(NamedEntry::Archived));
        had_it.or_else(|| {
            let live = self.live.in_folders.get(id.bare()?);
            let archived = || Some(NamedEntry::Archived(self.archived.in_folders.get(id.bare()?)?.as_ref()?));
            live.map_or_else(archived, |live| live.as_ref().map(NamedEntry::Live))
        })
    }

    /// Returns the entry that a link in an entry of this scope means: the whole target names it, or the part before a
    /// heading or a block (`Note#Heading`), or the last part of a path (`folder/note`) to a file elsewhere.
    pub(crate) fn of_link(&self, target: &str, scope: &Scope) -> Option<NamedEntry<'_>> {
        let (name, _) = self.without_heading(target, scope);
        let in_folder = || self.named(name.rsplit_once('/')?.1, scope);
        self.named(name, scope).or_else(in_folder)
    }

    /// Returns the name in the target of a link, and the heading or the block behind it with its `#`; all of it is the name
    /// where an entry is called so.
    pub(crate) fn without_heading<'t>(&self, target: &'t str, scope: &Scope) -> (&'t str, &'t str) {
        match target.find('#') {
            Some(at) if at > 0 && self.named(target, scope).is_none() => (target[..at].trim_end(), &target[at..]),
            _ => (target, ""),
        }
    }

    /// Returns the knowledge that a title means, or an alias: several entries, if all of them have it or had it.
    pub(crate) fn titled(&self, name: &str) -> Vec<Id> {
        let title = comparable(name);
        let in_area = |area: &AreaNames| {
            let found = [&area.titles, &area.former_titles].map(|titles| titles.knowledge(&title));
            let found = found.into_iter().find(|ids| !ids.is_empty());
            let plain = || [&area.titles, &area.plain_titles].map(|titles| titles.knowledge(&without_accents(&title)));
            found.unwrap_or_else(|| plain().concat())
        };
        let live = in_area(&self.live);
        if live.is_empty() { in_area(&self.archived) } else { live }
    }

    /// Returns the entry that has this id or this title, for an entry of this scope.
    fn named(&self, target: &str, scope: &Scope) -> Option<NamedEntry<'_>> {
        let by_id = Id::parse(target).and_then(|id| self.of_id(&id));
        if by_id.is_some_and(|entry| entry.live().is_some()) {
            return by_id;
        }
        let title = comparable(target);
        let titled = self.live.titles.get(&title, scope).map(NamedEntry::Live).or(by_id);
        let was_titled = || self.live.former_titles.get(&title, scope).map(NamedEntry::Live);
        let archived = || {
            let titled = self.archived.titles.get(&title, scope);
            let titled = titled.or_else(|| self.archived.former_titles.get(&title, scope));
            titled.map(NamedEntry::Archived)
        };
        let plain = || {
            let title = without_accents(&title);
            [&self.live.titles, &self.live.plain_titles].into_iter().find_map(|titles| titles.get(&title, scope))
        };
        titled.or_else(was_titled).or_else(archived).or_else(|| plain().map(NamedEntry::Live))
    }
}

/// The names of the live entries, or of those in the archive.
#[derive(Debug, Default)]
struct AreaNames {
    ids: HashSet<Id>,
    /// The knowledge that is or was in a folder, by its name alone; `None` where several entries have or had the name.
    in_folders: HashMap<String, Option<Id>>,
    former_ids: HashMap<Id, Id>,
    titles: TitledEntries,
    former_titles: TitledEntries,
    /// By titles with accents or letters whose case counts, without them and in lower case.
    plain_titles: TitledEntries,
}

impl AreaNames {
    fn add(&mut self, id: Id, head: Option<&Head>) {
        if let Some(head) = head {
            for old in head.old_ids() {
                // Of several the first by id, whatever the order of the files.
                let first = self.former_ids.entry(old).or_insert_with(|| id.clone());
                if id < *first {
                    *first = id.clone();
                }
            }
            self.titles.add(&head.title, &id, head);
            let title = comparable(&head.title);
            let plain = without_accents(&title);
            if plain != title {
                self.plain_titles.add(&plain, &id, head);
            }
            for alias in &head.aliases {
                self.former_titles.add(alias, &id, head);
            }
        }
        let names = head.into_iter().flat_map(|head| head.old_ids().chain([id.clone()]));
        for name in names.filter(Id::is_in_folder) {
            let only = Some(id.clone());
            let known = self.in_folders.entry(name.stem().to_owned()).or_insert_with(|| only.clone());
            *known = known.take().filter(|known| *known == id);
        }
        self.ids.insert(id);
    }
}

/// The entries of each title, in the form for comparisons.
#[derive(Debug, Default)]
struct TitledEntries(HashMap<String, Vec<(Kind, Scope, Source, Id)>>);

impl TitledEntries {
    fn add(&mut self, title: &str, id: &Id, head: &Head) {
        let title = comparable(title);
        if !title.is_empty() {
            self.0.entry(title).or_default().push((head.kind, head.scope.clone(), head.source, id.clone()));
        }
    }

    fn knowledge(&self, title: &str) -> Vec<Id> {
        let entries = self.0.get(title).into_iter().flatten();
        entries.filter(|(kind, ..)| *kind == Kind::Knowledge).map(|(.., id)| id.clone()).collect()
    }

    /// Returns the entry of a title: knowledge before attempts, one of the reader's own scope before one of the project
    /// before any other, one of a person before those of agents, then the first by id.
    fn get(&self, title: &str, scope: &Scope) -> Option<&Id> {
        let rank = |of: &Scope| if of == scope { 0 } else { 1 + u8::from(*of != Scope::Project) };
        let entries = self.0.get(title)?.iter();
        let order = |(kind, of, source, id): &&(Kind, Scope, Source, Id)| {
            (*kind == Kind::Journal, rank(of), !source.is_person(), id.clone())
        };
        entries.min_by_key(order).map(|(.., id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(title: &str, aliases: &[&str], scope: &str) -> Head {
        Head {
            title: title.to_owned(),
            aliases: aliases.iter().map(|&alias| alias.to_owned()).collect(),
            scope: Scope::from(scope.to_owned()),
            ..Head::empty(Kind::Knowledge)
        }
    }

    fn id(text: &str) -> Id {
        Id::parse(text).unwrap()
    }

    fn names() -> EntryNames {
        let mut names = EntryNames::default();
        let mut live = |stem: &str, title: &str, aliases: &[&str], scope: &str| {
            names.add_live(id(stem), &head(title, aliases, scope), true);
        };
        live("compiler-cache", "Compiler cache", &["knowledge/cache", "Cache", "knowledge/gone"], "project");
        live("cache-2", "Cache", &[], "project");
        live("ports-2", "Ports", &[], "feature:x");
        live("ports", "Ports", &[], "project");
        live("zed", "Deploys", &[], "project");
        live("sms", "Verificación de teléfono", &[], "project");
        live("year", "Año", &[], "project");
        live("village", "Ano", &[], "project");
        live("redis", "Old cluster", &[], "project");
        live("store", "Redis", &["Gone"], "project");
        let of_agent = Head { source: Source::Agent, ..head("Deploys", &[], "project") };
        names.add_live(id("deploy-notes"), &of_agent, true);
        names.add_live(id("hidden"), &head("Hidden", &["knowledge/was-hidden"], "project"), false);
        names.add_archived(id("gone"), Some(&head("Gone", &["knowledge/went", "Went"], "project")));
        names.add_archived(id("gone.20260101T000000Z"), None);
        names
    }

    #[track_caller]
    fn check(target: &str, scope: &str, expected: Option<&str>) {
        let names = names();
        let found = names.of_link(target, &Scope::from(scope.to_owned()));
        let found = found.map(|entry| match entry {
            NamedEntry::Live(id) => id.stem().to_owned(),
            NamedEntry::Archived(id) => format!("archived {}", id.stem()),
        });
        assert_eq!(found.as_deref(), expected, "{target}");
    }

    #[test]
    fn a_link_means_an_id_before_a_title_and_a_name_before_a_former_one() {
        check("cache-2", "project", Some("cache-2"));
        check("cache-2#Size", "project", Some("cache-2"));
        check("ops/Ports#Usual ^block", "project", Some("ports"));
        check("#Size", "project", None);
        check("cache", "project", Some("compiler-cache"));
        check("knowledge/cache.md", "project", Some("compiler-cache"));
        check("Cache", "project", Some("cache-2"));
        check("redis", "project", Some("redis"));
        check("Redis", "project", Some("store"));
        check("hidden", "project", Some("hidden"));
        check("was-hidden", "project", None);
        check("nothing", "project", None);
        check("", "project", None);
    }

    #[test]
    fn a_title_is_found_without_its_accents_unless_another_one_has_none() {
        check("verificacion de telefono", "project", Some("sms"));
        check("AÑO", "project", Some("year"));
        check("ano", "project", Some("village"));
        check("Pórts", "project", Some("ports"));
        let titled = |name| names().titled(name).iter().map(|id| id.stem().to_owned()).collect::<Vec<_>>();
        assert_eq!(
            (titled("Verificacion de telefono"), titled("ano")),
            (vec!["sms".to_owned()], vec!["village".to_owned()])
        );
    }

    #[test]
    fn an_id_that_an_archived_entry_has_is_its_own() {
        check("gone", "project", Some("archived gone"));
        check("went", "project", Some("archived gone"));
        check("Went", "project", Some("archived gone"));
        // The live entry had the title, the archived one has it as an id only in lower case.
        check("Gone", "project", Some("store"));
        assert_eq!(names().of_id(&id("gone")), Some(NamedEntry::Archived(&id("gone"))));
        assert_eq!(names().of_id(&id("went")).map(|entry| entry.id().clone()), Some(id("gone")));
    }

    #[test]
    fn a_title_that_several_entries_have_may_mean_each_of_them() {
        let check = |name: &str, expected: &[&str]| {
            let mut found: Vec<String> = names().titled(name).iter().map(|id| id.stem().to_owned()).collect();
            found.sort();
            assert_eq!(found, expected, "{name}");
        };
        check("PORTS", &["ports", "ports-2"]);
        check("Cache", &["cache-2"]);
        check("Gone", &["store"]);
        check("went", &["gone"]);
        check("nothing", &[]);
    }

    #[test]
    fn a_title_means_the_entry_of_the_readers_scope() {
        check("Ports", "project", Some("ports"));
        check("Ports", "feature:x", Some("ports-2"));
        check("Ports", "feature:y", Some("ports"));
        // An agent's entry does not take a person's title.
        check("Deploys", "project", Some("zed"));
    }
}
