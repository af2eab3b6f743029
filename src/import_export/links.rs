//! The links of imported notes lead to what they led to.
//!
//! A link to a file that is imported too becomes a link to its entry, which is named by the path of the file: that name
//! depends on the source alone, so a repeated import writes the same text. The path of any other file of the project is
//! written as it is right from the entry's own file.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::gathered::Fact;
use super::provenance::ImportedBefore;
use super::sources::ImportSource;
use crate::entry::body::{is_bracketed, targets};
use crate::entry::imported::path_ends;
use crate::entry::relink::{LinkChange, MarkdownLink, escaped_target, path_of_target, relink_files, unescaped};
use crate::entry::without_extension;
use crate::text::{fold, letters};

/// The way from the folder of an imported entry to the project.
const TO_PROJECT: &str = "../../";

/// What links may lead to in the files of a source.
pub(super) struct LinkedFiles {
    /// The names of the entries of files, by the paths of these: the path, or that of another file with the same text.
    files: HashMap<String, String>,
    /// The sections that are entries of their own, by the path of their file and the letters of their heading: programs
    /// make anchors of headings in several ways.
    sections: HashMap<(String, String), String>,
    titles: HashSet<String>,
    /// The paths of files by what they may be called: the path from each folder on, folded. Of what was imported before, only
    /// what is live.
    called: HashMap<String, Vec<String>>,
}

impl LinkedFiles {
    /// Returns what is imported from a source now, and of other files what was before. `names` has the path of the file
    /// whose entry says each fact; none of one that becomes no entry.
    pub(super) fn new(
        facts: &[Fact],
        known: &HashMap<String, ImportedBefore>,
        names: &[Option<String>],
    ) -> LinkedFiles {
        let now = || facts.iter().zip(names).filter_map(|(fact, name)| Some((fact, name.as_ref()?)));
        let titles = now().map(|(fact, _)| fact.knowledge.title.clone()).collect();
        let mut files: HashMap<String, String> = HashMap::new();
        for (fact, name) in now() {
            let file = files.entry(fact.from.path.clone()).or_insert_with(|| name.clone());
            // A file of several entries has one of its own.
            if *name == fact.from.path {
                file.clone_from(name);
            }
        }
        let is_live = known.values().filter(|before| before.is_live).filter_map(|before| before.word("path"));
        let paths: BTreeSet<&str> = files.keys().map(String::as_str).chain(is_live).collect();
        let mut called: HashMap<String, Vec<String>> = HashMap::new();
        for path in paths {
            for name in path_ends(without_extension(path)) {
                called.entry(fold(name)).or_default().push(path.to_owned());
            }
        }
        let before = known.iter().filter_map(|(key, before)| Some((before.word("path")?, key.as_str())));
        let mut before: Vec<(&str, &str)> = before.filter(|(path, _)| !files.contains_key(*path)).collect();
        before.sort_unstable();
        let now = now().filter(|(fact, name)| fact.from.path == **name);
        let now = now.map(|(fact, _)| (fact.from.path.as_str(), fact.key.as_str()));
        let mut sections = HashMap::new();
        for (path, key) in now.chain(before.iter().copied()) {
            if let Some(section) = section_of(path, key).filter(|section| !section.is_empty()) {
                let heading = section.rsplit('/').next().unwrap_or(section);
                let name = || format!("{path}#{section}");
                sections.entry((path.to_owned(), letters(heading))).or_insert_with(name);
            }
        }
        files.extend(before.iter().map(|(path, _)| ((*path).to_owned(), (*path).to_owned())));
        LinkedFiles { files, sections, titles, called }
    }

    /// Lets the links of a fact lead on.
    pub(super) fn follow(&self, source: ImportSource, fact: &mut Fact) {
        if matches!(source, ImportSource::Jsonl | ImportSource::Ralph) {
            let is_unmet =
                |line: &str, (relation, to): &(String, String)| line == relation && !self.titles.contains(to);
            let unlinked = |line: &str| match fact.relates_to.iter().find(|relation| is_unmet(line, relation)) {
                Some((_, to)) => line.replace(&format!(" [[{to}]]"), &format!(" {to}")),
                None => line.to_owned(),
            };
            if !fact.relates_to.is_empty() {
                let lines: Vec<String> = fact.knowledge.body.split('\n').map(unlinked).collect();
                fact.knowledge.body = lines.join("\n");
            }
            return;
        }
        if let Some(body) = self.with_nearest(fact) {
            fact.knowledge.body = body;
        }
        let changed = relink_files(&fact.knowledge.body, &|link| self.change(fact, link));
        if let Some((body, _)) = changed {
            fact.knowledge.body = body;
        }
    }

    /// Returns the text of a fact in which each `[[name]]` that several files have leads to the nearest of them; `None` if
    /// there is none.
    fn with_nearest(&self, fact: &Fact) -> Option<String> {
        let body = fact.knowledge.body.as_str();
        let links = if body.contains("[[") && !is_bracketed(body) { targets(body) } else { Vec::new() };
        let (mut written, mut copied) = (String::new(), 0);
        for (start, length, target) in links {
            let (name, heading) = target.split_at(target.find('#').unwrap_or(target.len()));
            let Some(path) = self.nearest(&fact.from.path, name.trim()) else { continue };
            let section = self.section(path, heading).cloned();
            let end = start + length;
            let is_labelled = body[end..].trim_start_matches('\\').starts_with('|');
            let line = body[..start].rsplit('\n').next().unwrap_or_default().trim_start();
            let bar = if line.starts_with('|') { "\\|" } else { "|" };
            let label = if is_labelled { String::new() } else { format!("{bar}{}", body[start..end].trim()) };
            let target = section.unwrap_or_else(|| format!("{path}{heading}"));
            written.push_str(&format!("{}{target}{label}", &body[copied..start]));
            copied = end;
        }
        (copied > 0).then(|| written + &body[copied..])
    }

    /// Returns the name of the one of several files of a name that is nearest to the file at `own`: in the same folder, else
    /// in one with the longest way in common, else the first of the shortest path. `None` if no two files have the name, or
    /// it is the whole path of one.
    fn nearest(&self, own: &str, name: &str) -> Option<&String> {
        let found = self.called.get(&fold(without_extension(name))).filter(|found| found.len() > 1)?;
        if name.contains('/') && found.iter().any(|path| without_extension(path) == without_extension(name)) {
            return None;
        }
        let n_common = |path: &str| {
            let folders = |path: &str| path.split('/').rev().skip(1).map(str::to_owned).collect::<Vec<_>>();
            let (one, other) = (folders(own), folders(path));
            one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
        };
        let nearest = found.iter().min_by_key(|path| (Reverse(n_common(path)), path.matches('/').count(), *path))?;
        self.files.get(nearest).filter(|path| can_be_target(path))
    }

    /// Returns what becomes of a link.
    fn change(&self, fact: &Fact, link: &MarkdownLink) -> Option<LinkChange> {
        let own = fact.from.path.as_str();
        if link.target.starts_with('#') {
            // A heading of this file, which may be an entry of its own now.
            let section = self.section(own, &link.target)?;
            let is_own = section_of(own, &fact.key) == section_of(own, section);
            return (!is_own && can_be_label(fact, link)).then(|| LinkChange::Wiki(section.clone()));
        }
        let (path, behind) = path_of_target(own.rsplit_once('/').map_or("", |(folder, _)| folder), &link.target)?;
        let file = unescaped(&path);
        let files = [file.to_string(), format!("{file}.md")];
        if let Some((file, name)) = files.iter().find_map(|file| self.files.get_key_value(file))
            && link.whole.is_some()
            && can_be_label(fact, link)
            && can_be_target(name)
        {
            let behind = if can_be_target(behind.trim_start_matches('#')) { behind } else { "" };
            let section = self.section(file, behind).cloned();
            return Some(LinkChange::Wiki(section.unwrap_or_else(|| format!("{name}{behind}"))));
        }
        fact.is_in_project().then(|| LinkChange::Target(format!("{TO_PROJECT}{}{behind}", escaped_target(&path))))
    }

    /// Returns the name of the section of a file that a `#heading` means, if it is an entry of its own.
    fn section(&self, path: &str, heading: &str) -> Option<&String> {
        let section = self.sections.get(&(path.to_owned(), letters(&unescaped(heading))))?;
        can_be_target(section.strip_prefix(path)?.trim_start_matches('#')).then_some(section)
    }
}

/// Returns the section of a file that a name or a key of it says.
fn section_of<'a>(path: &str, name: &'a str) -> Option<&'a str> {
    name.strip_prefix(path)?.split_once('#').map(|(_, section)| section)
}

/// Returns whether a `[[…]]` can show the text of a link.
fn can_be_label(fact: &Fact, link: &MarkdownLink) -> bool {
    let ends = |letter: char| matches!(letter, '[' | ']') || letter == '|' && link.is_in_table;
    fact.knowledge.body.get(link.text.clone()).is_some_and(|text| !text.contains(ends))
}

/// Returns whether a path or a heading can be in the target of a `[[…]]`.
fn can_be_target(text: &str) -> bool {
    !text.contains(['[', ']', '|', '#', '\\'])
}
