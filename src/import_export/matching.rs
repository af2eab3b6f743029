//! Recognises what was imported before, by its key or by its text, wherever that is now, and texts that are there twice.

use std::collections::{HashMap, HashSet};

use super::gathered::{Fact, SourceContent, is_in_project};
use super::provenance::ImportedBefore;
use crate::entry::imported::hash_of;
use crate::entry::knowledge::Knowledge;
use crate::entry::{Scope, body_fingerprint};
use crate::text::fold;
use crate::workspace::Workspace;

/// Gives what was imported before from an object without an id the key that it has now, which also names the file.
pub(super) fn name_files(known: &mut HashMap<String, ImportedBefore>, facts: &[Fact]) {
    for fact in facts {
        let Some((_, hash)) = fact.key.rsplit_once('#') else { continue };
        let is_of_file = |before: &ImportedBefore| before.word("path") == Some(fact.from.path.as_str());
        if known.get(hash).is_some_and(is_of_file)
            && let Some(mut before) = known.remove(hash)
        {
            // What will not be written again is as it was.
            if !before.is_live || !before.is_unedited {
                before.imported.insert("id".to_owned(), fact.key.clone().into());
            }
            known.entry(fact.key.clone()).or_insert(before);
        }
    }
}

/// Lets the first of new facts with one title and text be about the files of all, and returns the path of the file whose
/// entry says each fact; none where it becomes no entry.
pub(super) fn join_equal(
    facts: &mut [Fact],
    known: &HashMap<String, ImportedBefore>,
    is_entry: impl Fn(&Fact) -> bool,
) -> Vec<Option<String>> {
    let mut texts: HashMap<((String, Scope), u64), usize> = HashMap::new();
    let mut names = Vec::with_capacity(facts.len());
    for number in 0..facts.len() {
        let fact = &facts[number];
        if !is_entry(fact) {
            names.push(None);
            continue;
        }
        let text = (key_of(&fact.knowledge), body_fingerprint(&fact.knowledge.body).0);
        let first = *texts.entry(text).or_insert(number);
        if first == number || known.contains_key(&fact.key) {
            names.push(Some(fact.from.path.clone()));
            continue;
        }
        let Knowledge { files, tags, .. } = fact.knowledge.clone();
        let joined = &mut facts[first].knowledge;
        if files.is_empty() || joined.files.is_empty() {
            // It is about everything.
            joined.files.clear();
        } else {
            joined.files.extend(files);
        }
        joined.tags.extend(tags);
        names.push(Some(facts[first].from.path.clone()));
    }
    names
}

/// Gives what was imported before, and is no longer where it was, the key of the new fact that has its text, whatever its
/// title and file; else of the one fact that has its title and at least half of its words. `elsewhere` is what other sources
/// had.
pub(super) fn follow_moves(
    workspace: &Workspace,
    known: &mut HashMap<String, ImportedBefore>,
    elsewhere: Vec<ImportedBefore>,
    facts: &[Fact],
    content: &SourceContent,
) {
    let by_key: HashMap<&str, &Fact> = facts.iter().map(|fact| (fact.key.as_str(), fact)).collect();
    let is_lost = |(key, before): &(&String, &ImportedBefore)| {
        let path = before.word("path").unwrap_or_default();
        let is_gone = || is_in_project(key, path) && workspace.lacks(path);
        match by_key.get(key.as_str()) {
            // Files that change their numbers also change places.
            Some(fact) => {
                let is_said = before.word("title") == Some(fact.knowledge.title.as_str())
                    || before.word("hash") == Some(hash_of(&fact.knowledge.body).as_str());
                before.is_live && !is_said
            }
            None => before.was_gone || before.is_live && (content.place_of(path, key).is_some() || is_gone()),
        }
    };
    let mut own: Vec<String> = known.iter().filter(is_lost).map(|(key, _)| key.clone()).collect();
    own.sort_unstable();
    let own = own.into_iter().filter_map(|key| known.remove(&key).map(|before| (Some(key), before)));
    let mut lost: Vec<(Option<String>, ImportedBefore)> = own.collect();
    lost.extend(elsewhere.into_iter().map(|before| (None, before)));
    // Most imports have lost nothing, and the texts need no fingerprints.
    let hashes: Vec<String> =
        facts.iter().filter(|_| !lost.is_empty()).map(|fact| hash_of(&fact.knowledge.body)).collect();
    for (by_title, by_text) in [(true, true), (false, true), (true, false)] {
        let named = |title: &str, hash: &str| -> (Option<String>, Option<String>) {
            (by_title.then(|| title.to_owned()), by_text.then(|| hash.to_owned()))
        };
        let name_of = |before: &ImportedBefore| {
            named(before.word("title").unwrap_or_default(), before.word("hash").unwrap_or_default())
        };
        let mut n_lost: HashMap<_, usize> = HashMap::new();
        for (_, before) in &lost {
            *n_lost.entry(name_of(before)).or_default() += 1;
        }
        let mut new: HashMap<_, Vec<&Fact>> = HashMap::new();
        for (fact, hash) in facts.iter().zip(&hashes).filter(|(fact, _)| !known.contains_key(&fact.key)) {
            let name = named(&fact.knowledge.title, hash);
            if n_lost.get(&name) == Some(&1) {
                new.entry(name).or_default().push(fact);
            }
        }
        lost.retain(|(_, before)| {
            // Several files may say the same, and the first one counts.
            let fact = match new.get(&name_of(before)).map(Vec::as_slice) {
                Some([fact]) if by_text || has_half_of(workspace, before, &fact.knowledge.body) => fact,
                Some([fact, ..]) if by_title && by_text => fact,
                _ => return true,
            };
            known.insert(fact.key.clone(), before.clone());
            false
        });
    }
    for (key, before) in lost {
        // Another entry may have its key now. Then no fact has its own.
        let Some(key) = key else { continue };
        known.insert(if known.contains_key(&key) { key + "\n" } else { key }, before);
    }
}

/// Returns whether a text has at least half of the words of an entry.
fn has_half_of(workspace: &Workspace, before: &ImportedBefore, text: &str) -> bool {
    let words: HashSet<&str> = text.split_whitespace().collect();
    let Ok((_, entry)) = workspace.read_entry(&before.path) else { return false };
    let own: HashSet<&str> = entry.body.split_whitespace().collect();
    own.intersection(&words).count() * 2 >= own.len().max(1)
}

/// Returns by what a text is found whose words are another's: its title and its scope.
pub(super) fn key_of(knowledge: &Knowledge) -> (String, Scope) {
    (fold(&knowledge.title), knowledge.scope.clone())
}
