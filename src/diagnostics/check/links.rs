//! Finds links and `supersedes` that name no entry, and suggests the entry that was probably meant.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::live_entry::LiveEntry;
use super::nearest::NearestNames;
use crate::entry::path::display_path;
use crate::entry::{Id, Kind};
use crate::error::{Findings, MAX_OF_FILE, Severity};
use crate::text::fold;

/// The ids and titles that entries can name.
pub(super) struct KnownNames<'a> {
    ids: HashSet<Id>,
    titles: HashSet<String>,
    archived: &'a BTreeSet<Id>,
    nearest: NearestNames<'a>,
}

impl<'a> KnownNames<'a> {
    pub(super) fn new(live: &'a [LiveEntry], archived: &'a BTreeSet<Id>) -> KnownNames<'a> {
        let counting = || live.iter().filter(|item| item.counts);
        let aliases = counting().flat_map(|item| &item.head.aliases);
        let titles = counting().map(|item| &item.head.title).chain(aliases).map(|title| fold(title));
        KnownNames {
            ids: live
                .iter()
                .map(|item| item.id.clone())
                .chain(counting().flat_map(|item| item.head.old_ids()))
                .collect(),
            titles: titles.filter(|title| !title.is_empty()).collect(),
            archived,
            nearest: NearestNames::new(live),
        }
    }

    /// Reports links to no entry.
    pub(super) fn broken_links(&self, live: &[LiveEntry], findings: &mut Findings) {
        // Many entries may have the same broken link.
        let mut hints: HashMap<&str, String> = HashMap::new();
        for item in live.iter().filter(|item| item.head.kind == Kind::Knowledge) {
            let is_broken = |target: &str| {
                let has_id = Id::parse(target).is_some_and(|id| self.ids.contains(&id));
                !has_id && !self.titles.contains(&fold(target))
            };
            let mut broken = item.head.links.iter().filter(|link| is_broken(&link.target));
            for link in broken.by_ref().take(MAX_OF_FILE) {
                let target = link.target.as_str();
                let id = Id::parse(target);
                let archived = id.filter(|id| self.archived.contains(id));
                let message = match &archived {
                    Some(_) => format!("the link `[[{target}]]` leads to an archived entry"),
                    None => format!("the link `[[{target}]]` leads to no entry"),
                };
                let hint = hints.entry(target).or_insert_with(|| match (archived, self.nearest.to(target)) {
                    (Some(id), _) => format!("bring it back with `ralph-memory restore {id}`, or remove the link"),
                    (None, Some(id)) => format!("did you mean `[[{id}]]`?"),
                    (None, None) => "write the entry, or remove the link; code belongs in backticks".to_owned(),
                });
                findings.add(item.warning(Some(link.line), "broken-link", message, hint.clone()));
            }
            findings.add_unlisted(&display_path(&item.path), Severity::Warning, broken.count());
        }
    }

    /// Reports ids in `supersedes` that no entry has.
    pub(super) fn unknown_ids(&self, live: &[LiveEntry], findings: &mut Findings) {
        for item in live {
            let is_unknown = |old: &&Id| !self.ids.contains(old) && !self.archived.contains(old);
            let mut unknown = item.head.supersedes.iter().filter(is_unknown);
            for old in unknown.by_ref().take(MAX_OF_FILE) {
                let hint = match self.nearest.to(old.as_str()) {
                    Some(near) if near != item.id => format!("did you mean `{near}`?"),
                    _ => "write the id of the entry that this one replaces, or remove it".to_owned(),
                };
                let message = format!("`supersedes` names `{old}`, and there is no such entry");
                findings.add(item.warning(None, "unknown-id", message, hint));
            }
            findings.add_unlisted(&display_path(&item.path), Severity::Warning, unknown.count());
        }
    }
}
