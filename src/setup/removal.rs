//! Removes from files what setup inserted.
//!
//! A file that nobody has changed since gets its old bytes back. In other files, only what setup added according to its
//! record is removed; without a record, only what is exactly as setup writes it. Somebody else wrote the rest.

use std::path::Path;

use super::client::SetupClient;
use super::draft::{Draft, check_writable, is_own_file};
use super::format::ConfigFormat;
use super::lines::split_mark;
use super::locate::ClientPlace;
use super::planned::PlannedFile;
use super::recognised::{Recognition, presence};
use super::record::FileRecord;
use super::seal::is_of_setup;
use super::table::Content;
use super::want::{Presence, Want};
use super::{block, config_value::ConfigValue};
use crate::sessions::HookEvent;

impl Draft {
    /// Removes setup's part from a file that the client shares with no other.
    ///
    /// # Errors
    ///
    /// Why it cannot be taken out.
    pub(super) fn remove(
        &mut self,
        place: &ClientPlace,
        path: &Path,
        client: SetupClient,
        content: &Content,
    ) -> Result<(), String> {
        let recorded = self.known.of(place).cloned();
        // The record of a client names every file that was changed for it.
        let is_of_others = recorded.is_none() && self.known.has(client);
        self.record.forget(place);
        let file = self.file(place, path)?;
        let Some(text) = file.after.clone() else { return Ok(()) };
        if is_of_others || file.is_restored {
            return Ok(());
        }
        let is_as_left = file.after == file.before && file.is_as_recorded(recorded.as_ref());
        let restored = recorded.as_ref().filter(|_| is_as_left).and_then(|record| file.restored(record));
        file.is_restored = restored.is_some();
        let left = match (restored, content.whole()) {
            (Some(left), _) => left,
            (None, Some(own)) if is_as_left || is_of_setup(&text, own) => None,
            (None, Some(_)) => {
                self.edited.extend(is_own_file(&text).then(|| path.to_owned()));
                return Ok(());
            }
            (None, None) => without(&text, content, recorded.as_ref())?,
        };
        if left.as_ref() == Some(&text) {
            return Ok(());
        }
        file.is_of(client);
        file.after = left;
        check_writable(place)
    }
}

impl PlannedFile {
    /// Returns what the file was before setup, which may be missing; `None` if that is unknown.
    #[allow(clippy::option_option, reason = "the outer one says whether the inner one is known")]
    fn restored(&self, record: &FileRecord) -> Option<Option<String>> {
        let text = self.after.clone().filter(|_| !record.edits.is_empty())?;
        let left = record.edits.iter().rev().try_fold(text, |text, edit| edit.undone(&text))?;
        Some((!record.created || !left.is_empty()).then_some(left))
    }
}

/// Returns the text without setup's part; `None` if nothing of the file is left, and setup has made it.
fn without(text: &str, content: &Content, record: Option<&FileRecord>) -> Result<Option<String>, String> {
    let (mark, bare) = split_mark(text);
    let record = record.filter(|record| !record.added.is_empty());
    let left = match (content, record) {
        (Content::Entries(format, wants), None) if is_written_whole(*format, bare, wants) => String::new(),
        (Content::Entries(format, wants), _) => {
            let mut left = bare.to_owned();
            let how = if record.is_some() { Recognition::Runs } else { Recognition::Exact };
            for want in wants {
                // What is recorded is removed if it still runs the same command.
                let is_added = |record: &FileRecord| want.described().is_some_and(|lack| record.added.contains(&lack));
                if record.map_or(!want.is_any(), is_added) {
                    left = format.without(&left, want, how)?.unwrap_or(left);
                }
            }
            let is_empty = record.is_some_and(|record| record.created) && left != bare && has_only(&left, wants);
            if is_empty { String::new() } else { left }
        }
        _ => block::without(bare)?.unwrap_or_else(|| bare.to_owned()),
    };
    Ok(match record {
        _ if left == bare => Some(text.to_owned()),
        None if left.is_empty() => None,
        Some(record) if record.created && left.trim().is_empty() => None,
        _ => Some(format!("{mark}{left}")),
    })
}

/// Returns whether a file of JSON has nothing but what accompanies setup's entries, and no comment.
fn has_only(text: &str, wants: &[Want]) -> bool {
    let accompanies = |(key, value): &(String, ConfigValue)| {
        wants.iter().any(|want| want.is_any() && want.key == Some(key) && want.value == *value)
    };
    match ConfigFormat::Json.tree(text) {
        Ok(ConfigValue::Map(members)) => members.iter().all(accompanies),
        Ok(tree) => tree == ConfigValue::Null,
        Err(_) => false,
    }
}

/// Returns whether a text is, but for its line ends, one that setup writes where there is no file.
fn is_written_whole(format: ConfigFormat, text: &str, wants: &[Want]) -> bool {
    let Ok(tree) = format.tree(text) else { return false };
    let is_there = |want: &&Want| matches!(presence(&tree, want, Recognition::Runs), Ok(Presence::Present(_)));
    let there: Vec<&Want> = wants.iter().filter(is_there).collect();
    // Nothing in a file with a version alone names this program: somebody else has written it. opencode writes a file
    // with nothing but its schema, and so do people.
    if there.iter().all(|want| want.is_any()) || wants.iter().any(|want| want.key == Some("$schema")) {
        return false;
    }
    let mut later = there.clone();
    // The hook at each prompt may have been added by a second setup.
    later.sort_by_key(|want| want.event() == Some(HookEvent::Prompt));
    let text = text.replace("\r\n", "\n");
    [there, later].iter().any(|wants| {
        let written = wants.iter().try_fold(String::new(), |written, want| format.with(&written, want));
        written.is_ok_and(|written| written == text)
    })
}
