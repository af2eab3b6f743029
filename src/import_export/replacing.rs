//! Which notes replace which: what their frontmatter says, from either side and in the order of any files.

use std::collections::HashMap;
use std::ops::Range;

use super::concept::OWN_ID;
use super::decision_words::{RecordPart, status_at};
use super::files::ImportFile;
use super::find;
use super::gathered::SourceContent;
use super::markdown::memory_bank;
use super::request::ImportRequest;
use crate::entry::knowledge::was_agreed;
use crate::entry::relink::{path_of_target, unescaped};
use crate::entry::{Id, without_extension};
use crate::error::Result;
use crate::text::fold;
use crate::workspace::Workspace;

/// A note, with the numbers of its facts.
struct NoteNames {
    facts: Range<usize>,
    path: String,
    /// Its id in the memory that exported it.
    own_id: Option<String>,
    /// Its title and its other names.
    titles: Vec<String>,
    replaces: Vec<String>,
    replaced_by: Vec<String>,
    /// Whether it is in force, or was: a proposal replaces nothing, except where it was exported.
    is_agreed: bool,
}

/// The notes of each name, folded; none where several have it.
type NoteMap = HashMap<String, Option<usize>>;

/// Reads the notes of folders of markdown.
pub(super) fn gather_notes(workspace: &Workspace, request: &ImportRequest, content: &mut SourceContent) -> Result<()> {
    let mut notes = Vec::new();
    find::each_file(workspace, request, content, &mut |file, content| {
        let first = content.facts.len();
        memory_bank(workspace, request, file, content);
        if content.facts.len() > first {
            notes.push(NoteNames::of(file, first..content.facts.len()));
        }
    })?;
    for (new, old) in replacements(&notes) {
        let replaced: Vec<String> =
            content.facts[notes[old].facts.clone()].iter().map(|fact| fact.key.clone()).collect();
        let replaces = &mut content.facts[notes[new].facts.start].replaces;
        replaces.extend(replaced);
        replaces.sort_unstable();
        replaces.dedup();
    }
    Ok(())
}

/// Returns the numbers of the notes of which the first replaces the second.
fn replacements(notes: &[NoteNames]) -> Vec<(usize, usize)> {
    // What a name means comes first in this order.
    let mut names: [NoteMap; 4] = Default::default();
    for (number, note) in notes.iter().enumerate() {
        let path = fold(without_extension(&note.path));
        let ends = path.match_indices('/').map(|(at, _)| path[at + 1..].to_owned()).collect();
        let titles = note.titles.iter().map(|title| fold(title)).collect();
        let all = [note.own_id.iter().map(|id| fold(id)).collect(), vec![path.clone()], ends, titles];
        for (map, names) in names.iter_mut().zip(all) {
            for name in names {
                let only = map.entry(name).or_insert(Some(number));
                *only = only.filter(|known| *known == number);
            }
        }
    }
    let mut pairs = Vec::new();
    for (number, note) in notes.iter().enumerate() {
        let meant = |name: &String| note.meant(name, &names);
        pairs.extend(note.replaces.iter().filter_map(meant).map(|old| (number, old)));
        pairs.extend(note.replaced_by.iter().filter_map(meant).map(|new| (new, number)));
    }
    pairs.retain(|(new, old)| new != old && notes[*new].is_agreed);
    pairs
}

impl NoteNames {
    fn of(file: &ImportFile, facts: Range<usize>) -> NoteNames {
        let own_id = file.word(&[OWN_ID]).map(str::to_owned);
        let status = file.word(&["status"]).map(str::to_lowercase);
        let status = status.as_deref().map(|status| status_at(status).map_or(status, |(status, _)| status));
        let other_names = file.list("aliases").into_iter().chain(file.word(&["permalink"]).map(str::to_owned));
        let named = |part: RecordPart| {
            let mut keys: Vec<&String> = file.fields.keys().filter(|key| RecordPart::of(key) == Some(part)).collect();
            keys.sort_unstable();
            keys.into_iter().flat_map(|key| file.list(key)).collect()
        };
        NoteNames {
            facts,
            is_agreed: own_id.is_some() || was_agreed(status),
            path: file.path.clone(),
            own_id,
            titles: other_names.chain([file.title().0]).collect(),
            replaces: named(RecordPart::Replaces),
            replaced_by: named(RecordPart::ReplacedBy),
        }
    }

    /// Returns the number of the note that a name in this one means: an id, a path from here or from elsewhere, its end, or
    /// a title.
    fn meant(&self, name: &str, [ids, paths, ends, titles]: &[NoteMap; 4]) -> Option<usize> {
        let target = target_of(name);
        let id = Id::parse(&target).map(|id| fold(id.as_str()));
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let [from_here, from_root] = [folder, ""].map(|folder| {
            let (path, _) = path_of_target(folder, &target)?;
            Some(fold(without_extension(&path)))
        });
        let tries = [
            (ids, &id),
            (paths, &from_here),
            (paths, &from_root),
            (ends, &from_root),
            (titles, &Some(fold(&target))),
            // An id that it had before it was renamed.
            (titles, &id),
        ];
        tries.into_iter().find_map(|(map, name)| map.get(name.as_ref()?).copied()).flatten()
    }
}

/// Returns what a name leads to without the brackets of a link, the text that it shows and the heading in it.
fn target_of(name: &str) -> String {
    let wiki = name.strip_prefix("[[").and_then(|name| name.strip_suffix("]]"));
    let link = name.split_once("](").and_then(|(_, target)| target.strip_suffix(')'));
    match (wiki, link) {
        (Some(name), _) => name.split(['|', '#']).next().unwrap_or(name).trim().to_owned(),
        (None, Some(target)) => unescaped(target.trim_matches(['<', '>'])).into_owned(),
        (None, None) => name.to_owned(),
    }
}
