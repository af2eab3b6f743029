//! Finds links and `supersedes` that name no entry, and suggests the entry that was probably meant.

use std::collections::{HashMap, HashSet};

use super::nearest::NearestNames;
use crate::entry::{EntryNames, Id, Kind, NamedEntry};
use crate::error::{Findings, Severity};
use crate::knowledge::tidy::plan::LiveEntry;
use crate::text::printed_command;

/// The names of entries, and those that are similar to a wrong one.
pub(super) struct KnownNames<'a> {
    names: &'a EntryNames,
    nearest: NearestNames<'a>,
}

impl<'a> KnownNames<'a> {
    pub(super) fn new(live: &'a [LiveEntry], names: &'a EntryNames) -> KnownNames<'a> {
        KnownNames { names, nearest: NearestNames::new(live) }
    }

    /// Reports links to no entry.
    pub(super) fn broken_links(&self, live: &[LiveEntry], findings: &mut Findings) {
        // `show` of an archived entry names the live one that replaced it.
        let replaced: HashSet<&Id> =
            live.iter().filter(|item| item.counts).flat_map(|item| &item.head.supersedes).collect();
        // Many entries may have the same broken link.
        let mut hints: HashMap<&str, String> = HashMap::new();
        for item in live.iter().filter(|item| item.head.kind == Kind::Knowledge) {
            let entry_of = |target: &str| self.names.of_link(target, &item.head.scope);
            let is_broken = |target: &str| match entry_of(target) {
                Some(NamedEntry::Live(_)) => false,
                Some(NamedEntry::Archived(id)) => !replaced.contains(id),
                None => true,
            };
            let broken = item.head.links.iter().filter(|link| is_broken(&link.target));
            item.warn_of_each(broken, findings, |link| {
                let target = link.target.as_str();
                let archived = entry_of(target).map(NamedEntry::id);
                let what = if archived.is_some() { "an archived entry" } else { "no entry" };
                let hint = hints.entry(target).or_insert_with(|| match (archived, self.nearest.to(target)) {
                    (Some(id), _) => {
                        let restore = printed_command("ralph-memory restore ID", &[("ID", id.as_str())]);
                        format!("bring it back with {restore}, or remove the link")
                    }
                    (None, Some(id)) => format!("did you mean `[[{id}]]`?"),
                    (None, None) => "write the entry, or remove the link; code belongs in backticks".to_owned(),
                });
                let message = format!("the link `[[{target}]]` leads to {what}");
                item.problem(Severity::Warning, "broken-link", message, hint.as_str()).at_line(Some(link.line))
            });
        }
    }

    /// Reports former ids that mean another entry: links and contexts that name them do not mean this one any more.
    pub(super) fn taken_aliases(&self, live: &[LiveEntry], findings: &mut Findings) {
        for item in live.iter().filter(|item| item.counts) {
            let taken = |old: Id| self.names.of_id(&old).map(|other| (old.clone(), other.id().clone()));
            let taken = item.head.old_ids().filter_map(taken).filter(|(_, other)| *other != item.id);
            item.warn_of_each(taken, findings, |(old, other)| {
                let message = format!("`aliases` has `{old}`, which means another entry: `{other}`");
                let hint = "if both are one entry, archive one of them; else remove it from `aliases` here";
                item.problem(Severity::Warning, "alias-taken", message, hint)
            });
        }
    }

    /// Reports ids in `supersedes` that no entry has.
    pub(super) fn unknown_ids(&self, live: &[LiveEntry], findings: &mut Findings) {
        for item in live {
            let unknown = item.head.supersedes.iter().filter(|old| self.names.of_id(old).is_none());
            item.warn_of_each(unknown, findings, |old| {
                let hint = match self.nearest.to(old.as_str()) {
                    Some(near) if near != item.id => format!("did you mean `{near}`?"),
                    _ => "write the id of the entry that this one replaces, or remove it".to_owned(),
                };
                let message = format!("`supersedes` names `{old}`, and there is no such entry");
                item.problem(Severity::Warning, "unknown-id", message, hint)
            });
        }
    }
}
