//! Takes out of files what set-up has put there.
//!
//! A file that nobody has changed since gets its old bytes back. In others, only what set-up has inserted by its record is
//! taken out, and without a record only what is exactly what it writes: whatever else is there, somebody else has written.

use super::draft::{BOM, ClientPart, Draft, DraftFile, Removal, check_writable, is_own_file};
use super::insertion::{insert, take_out};
use super::json;
use super::recognised::Recognition;
use super::record::FileRecord;
use super::seal::is_of_setup;
use super::table::Content;
use super::want::{Mark, Presence, Want};
use super::{block, toml_config, yaml};
use crate::hook::HookEvent;

impl Draft {
    /// Takes out of a file what set-up has put there, for a client that nobody else shares it with.
    ///
    /// # Errors
    ///
    /// Why it cannot be taken out.
    pub(super) fn remove(&mut self, part: ClientPart<'_>) -> Result<Removal, String> {
        let ClientPart { location, shown, client, content } = part;
        let recorded = self.known.of(location).cloned();
        // The record of a client names every file that was changed for it.
        let is_of_others = recorded.is_none() && !self.known.places_of(client).is_empty();
        self.record.forget(location);
        let file = self.file(location, shown)?;
        let Some(text) = file.current.clone() else { return Ok(Removal::Done) };
        if is_of_others || file.is_restored {
            return Ok(Removal::Done);
        }
        let restored = recorded.as_ref().and_then(|record| file.restored(record, content));
        file.is_restored = restored.is_some();
        let left = match restored {
            Some(left) => left,
            None => without(&text, content, recorded.as_ref())?,
        };
        if left.as_ref() == Some(&text) {
            let is_edited = matches!(content, Content::Owned(_) | Content::Script(_)) && is_own_file(&text);
            return Ok(if is_edited { Removal::Edited } else { Removal::Done });
        }
        file.clients.insert(client);
        file.current = left;
        check_writable(location)?;
        Ok(Removal::Done)
    }
}

impl DraftFile {
    /// Returns what the file was before set-up, none if it was not there; `None` if that is not known.
    #[allow(clippy::option_option, reason = "the outer one says whether the inner one is known")]
    fn restored(&self, record: &FileRecord, content: &Content) -> Option<Option<String>> {
        if record.insertions.is_empty() || self.current != self.original || !self.is_as_recorded(Some(record)) {
            return None;
        }
        let left = take_out(self.current.as_deref()?, &record.insertions)?;
        let is_whole = record.created || matches!(content, Content::Owned(_) | Content::Script(_));
        Some((!is_whole || !left.is_empty()).then_some(left))
    }
}

/// Returns the text without set-up's part; `None` if nothing of the file is left, and set-up has made it.
fn without(text: &str, content: &Content, record: Option<&FileRecord>) -> Result<Option<String>, String> {
    let bare = text.strip_prefix(BOM).unwrap_or(text);
    let mark = &text[..text.len() - bare.len()];
    let record = record.filter(|record| !record.insertions.is_empty());
    let is_known = record.is_some();
    let how = if is_known { Recognition::Runs } else { Recognition::Exact };
    let left = match content {
        Content::Json { comments, wants } => match record {
            Some(record) => without_inserted(bare, *comments, wants, record)?,
            None => without_exact(bare, *comments, wants)?,
        },
        Content::Toml { program } => toml_config::without(bare, program, how)?,
        Content::Yaml { program } => yaml::without(bare, program, how)?,
        Content::Block => block::without(bare)?,
        Content::Owned(own) | Content::Script(own) => is_of_setup(text, own).then(String::new),
    };
    Ok(match left {
        None => Some(text.to_owned()),
        Some(left) if left.is_empty() && !is_known => None,
        Some(left) if left.trim().is_empty() && record.is_some_and(|record| record.created) => None,
        Some(left) => Some(format!("{mark}{left}")),
    })
}

/// Returns the text without what was inserted by the record, as long as it still runs the same.
fn without_inserted(text: &str, comments: bool, wants: &[Want], record: &FileRecord) -> Result<Option<String>, String> {
    let mut left = text.to_owned();
    for want in wants.iter().filter(|want| record.has_inserted(want)) {
        left = json::without(&left, comments, want, Recognition::Runs)?.unwrap_or(left);
    }
    let fixed: Vec<&Want> = wants.iter().filter(|want| want.mark == Mark::Any).collect();
    let is_empty = record.created && left != text && json::has_only(&left, comments, &fixed);
    Ok(if is_empty { Some(String::new()) } else { (left != text).then_some(left) })
}

/// Returns the text without what is exactly what set-up writes; an empty one if all of it is.
fn without_exact(text: &str, comments: bool, wants: &[Want]) -> Result<Option<String>, String> {
    if is_written_whole(text, comments, wants) {
        return Ok(Some(String::new()));
    }
    let mut left = text.to_owned();
    for want in wants.iter().filter(|want| want.mark != Mark::Any) {
        left = json::without(&left, comments, want, Recognition::Exact)?.unwrap_or(left);
    }
    Ok((left != text).then_some(left))
}

/// Returns whether a text is, but for its line ends, one that set-up writes where there is no file.
fn is_written_whole(text: &str, comments: bool, wants: &[Want]) -> bool {
    // opencode writes a file with nothing but this, and so do people.
    if wants.iter().any(|want| want.key == Some("$schema")) {
        return false;
    }
    let is_there = |want: &&Want| matches!(json::presence(text, comments, want), Ok(Presence::Present(_)));
    let there: Vec<&Want> = wants.iter().filter(is_there).collect();
    // Nothing in a file with a version alone names this program: somebody else has written it.
    if there.iter().all(|want| want.mark == Mark::Any) {
        return false;
    }
    let mut later = there.clone();
    // The hook at each prompt may have been added by a second set-up.
    later.sort_by_key(|want| want.mark == Mark::Hook(HookEvent::Prompt));
    let text = text.replace("\r\n", "\n");
    [there, later].iter().any(|wants| {
        let written = wants.iter().try_fold(String::new(), |written, want| {
            Ok::<_, String>(insert(&written, &json::insertions(&written, comments, want)?))
        });
        written.is_ok_and(|written| written == text && !text.is_empty())
    })
}
