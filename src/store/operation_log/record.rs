//! The format of an operation's file below `state/undo/`: a header, and a record before each change.
//!
//! A part is a line of JSON, then as many raw bytes as the line says, then a line with a checksum. The checksum is
//! chained: it covers the one before, and its key depends on this user, machine and folder (see
//! [`Store::state_key`](super::super::layout::Store::state_key)). So a file from elsewhere has no valid part, and one
//! whose writer was killed ends with its last complete part. Everything here is pure.

use std::collections::HashMap;
use std::ops::Range;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::super::seal::{SUM_BYTES, SUM_LINE, SealKey, sum_line};
use crate::entry::Author;

/// The checksum before that of the header.
pub(super) const FIRST: [u8; SUM_BYTES] = [0; SUM_BYTES];

/// One change of a file or a folder. Paths are relative to `.ralph/`; numbers are fingerprints of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum LoggedChange {
    /// A file was created.
    Create { path: String, after: u64 },
    /// The bytes of a file were replaced; the record has the old ones.
    Replace { path: String, before: u64, after: u64 },
    /// A file was moved.
    Move { from: String, to: String, bytes: u64 },
    /// A file was removed; the record has its bytes. `mode` is the mode of the file, which says who could read it.
    Remove {
        path: String,
        before: u64,
        #[serde(default)]
        mode: Option<u32>,
    },
    /// A folder was created.
    Folder { path: String },
    /// The operation changed more than one log file has room for. Each of its files has this record and its share of
    /// the texts.
    TooLarge,
    /// This operation and all before it were removed from the log: the next one has a higher number.
    Forgotten,
}

impl LoggedChange {
    /// Returns the path of each file that the change is about, with the fingerprints of its bytes before and after, where
    /// there was a file.
    pub(crate) fn files(&self) -> Vec<(&str, Option<u64>, Option<u64>)> {
        match self {
            LoggedChange::Create { path, after } => vec![(path, None, Some(*after))],
            LoggedChange::Replace { path, before, after } => vec![(path, Some(*before), Some(*after))],
            LoggedChange::Move { from, to, bytes } => vec![(from, Some(*bytes), None), (to, None, Some(*bytes))],
            LoggedChange::Remove { path, before, .. } => vec![(path, Some(*before), None)],
            LoggedChange::Folder { .. } | LoggedChange::TooLarge | LoggedChange::Forgotten => Vec::new(),
        }
    }
}

/// What an operation is called, and when it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OperationHead {
    /// Its number: the name of its file.
    pub(crate) number: u64,
    /// When it began.
    pub(crate) at: DateTime<Utc>,
    /// The command.
    pub(crate) command: String,
    /// The number of the operation that it took back.
    pub(crate) undoes: Option<u64>,
    /// Who asked for it; of one from before this was noted, a person.
    #[serde(default)]
    pub(crate) author: Author,
}

#[derive(Serialize, Deserialize)]
struct Line<Content> {
    #[serde(flatten)]
    content: Content,
    /// How many raw bytes follow.
    #[serde(default)]
    n_bytes: usize,
}

/// An operation, up to the last complete part of its file.
#[derive(Debug)]
pub(crate) struct LoggedOperation {
    pub(crate) head: OperationHead,
    /// The changes in order, each with the place of the bytes before it.
    changes: Vec<(LoggedChange, Range<usize>)>,
    bytes: Vec<u8>,
}

impl LoggedOperation {
    /// Reads the file of the operation with this number; `None` if it was not written here.
    pub(crate) fn read(bytes: Vec<u8>, number: u64, key: SealKey) -> Option<LoggedOperation> {
        let (head, _, mut at, mut sum) = part::<OperationHead>(&bytes, 0, (key, FIRST))?;
        if head.number != number {
            return None;
        }
        let mut changes = Vec::new();
        while let Some((change, raw, end, next)) = part::<LoggedChange>(&bytes, at, (key, sum)) {
            changes.push((change, raw));
            (at, sum) = (end, next);
        }
        Some(LoggedOperation { head, changes, bytes })
    }

    /// Returns the changes in order, each with the earlier bytes if the change loses them.
    pub(crate) fn changes(&self) -> impl DoubleEndedIterator<Item = (&LoggedChange, &[u8])> {
        self.changes.iter().map(|(change, range)| (change, &self.bytes[range.clone()]))
    }

    /// Returns whether only the number of the operation is left in the log.
    pub(in crate::store) fn is_forgotten(&self) -> bool {
        self.changes.iter().any(|(change, _)| *change == LoggedChange::Forgotten)
    }

    /// Returns whether the log has a text that the operation replaced or removed.
    pub(in crate::store) fn has_text(&self) -> bool {
        self.changes.iter().any(|(_, text)| !text.is_empty())
    }

    /// Returns whether the operation changed more than can be taken back.
    pub(crate) fn is_too_large(&self) -> bool {
        self.changes.iter().any(|(change, _)| *change == LoggedChange::TooLarge)
    }
}

/// Appends a part to `file` after the one with the checksum `before`, and returns its checksum.
pub(super) fn append<Content: Serialize>(
    file: &mut Vec<u8>,
    content: &Content,
    raw: &[u8],
    (key, before): (SealKey, [u8; SUM_BYTES]),
) -> serde_json::Result<[u8; SUM_BYTES]> {
    let start = file.len();
    serde_json::to_writer(&mut *file, &Line { content, n_bytes: raw.len() })?;
    file.push(b'\n');
    file.extend_from_slice(raw);
    let sum = key.sum(&[&before, &file[start..]]);
    file.extend(sum_line(&sum));
    Ok(sum)
}

/// Returns the content of the part that begins at `start`, the place of its raw bytes, its end and its checksum; `None`
/// if it is incomplete, has another key, or does not follow the part with the checksum `before`.
fn part<Content: for<'a> Deserialize<'a>>(
    bytes: &[u8],
    start: usize,
    (key, before): (SealKey, [u8; SUM_BYTES]),
) -> Option<(Content, Range<usize>, usize, [u8; SUM_BYTES])> {
    let rest = bytes.get(start..)?;
    let line_end = rest.iter().position(|byte| *byte == b'\n')?;
    let line: Line<Content> = serde_json::from_slice(&rest[..line_end]).ok()?;
    let raw_end = (line_end + 1).checked_add(line.n_bytes)?;
    let sum = key.sum(&[&before, rest.get(..raw_end)?]);
    let end = raw_end.checked_add(SUM_LINE)?;
    (rest.get(raw_end..end)? == sum_line(&sum)).then_some((
        line.content,
        start + line_end + 1..start + raw_end,
        start + end,
        sum,
    ))
}

/// Returns whether a file begins with a header, written here, of the operation with this number. The bytes may end
/// after the header.
pub(in crate::store) fn begins_with_head(bytes: &[u8], number: u64, key: SealKey) -> bool {
    part::<OperationHead>(bytes, 0, (key, FIRST)).is_some_and(|(head, ..)| head.number == number)
}

/// The files that an operation changed: the fingerprints of each before its first change and after its last one.
#[derive(Debug, Default)]
pub(in crate::store) struct NetChanges(HashMap<String, (Option<u64>, Option<u64>)>);

impl NetChanges {
    pub(in crate::store) fn add(&mut self, change: &LoggedChange) {
        for (path, before, after) in change.files() {
            self.0.entry(path.to_owned()).or_insert((before, before)).1 = after;
        }
    }

    /// Returns whether every file is as it was before.
    pub(in crate::store) fn is_empty(&self) -> bool {
        self.0.values().all(|(before, after)| before == after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> SealKey {
        SealKey::new([number; SUM_BYTES])
    }

    fn head() -> OperationHead {
        OperationHead {
            number: 7,
            at: DateTime::UNIX_EPOCH,
            command: "add".to_owned(),
            undoes: None,
            author: Author::Person,
        }
    }

    /// Returns a file with three changes, and the ends of its parts.
    fn file(key: SealKey) -> (Vec<u8>, Vec<usize>) {
        let (mut file, mut ends) = (Vec::new(), Vec::new());
        let mut sum = append(&mut file, &head(), b"", (key, FIRST)).unwrap();
        ends.push(file.len());
        let changes = [
            (LoggedChange::Create { path: "knowledge/a.md".to_owned(), after: u64::MAX }, &b""[..]),
            (LoggedChange::Replace { path: "knowledge/b.md".to_owned(), before: 1, after: 2 }, b"\xff\n\0 raw\n"),
            (LoggedChange::Remove { path: "knowledge/\"c\".md".to_owned(), before: 3, mode: None }, b"{}\n"),
        ];
        for (change, raw) in changes {
            sum = append(&mut file, &change, raw, (key, sum)).unwrap();
            ends.push(file.len());
        }
        (file, ends)
    }

    #[test]
    fn what_was_written_is_read() {
        let (bytes, _) = file(key(5));
        let read = LoggedOperation::read(bytes, 7, key(5)).unwrap();
        assert_eq!(read.head, head());
        let raw: Vec<&[u8]> = read.changes().map(|(_, raw)| raw).collect();
        assert_eq!(raw, [&b""[..], b"\xff\n\0 raw\n", b"{}\n"]);
        assert_eq!(read.changes().next().unwrap().0.files(), [("knowledge/a.md", None, Some(u64::MAX))]);
    }

    #[test]
    fn a_cut_file_has_its_whole_parts() {
        let (bytes, ends) = file(key(5));
        for length in 0..bytes.len() {
            let n_whole = ends.iter().filter(|end| **end <= length).count();
            let read = LoggedOperation::read(bytes[..length].to_vec(), 7, key(5));
            assert_eq!(read.map(|read| read.changes.len()), n_whole.checked_sub(1), "{length}");
        }
    }

    #[test]
    fn a_file_from_elsewhere_is_not_believed() {
        let (bytes, ends) = file(key(5));
        assert!(LoggedOperation::read(bytes.clone(), 7, key(6)).is_none());
        assert!(LoggedOperation::read(bytes.clone(), 8, key(5)).is_none(), "it has another operation's name");
        assert!(begins_with_head(&bytes[..ends[0]], 7, key(5)) && !begins_with_head(&bytes, 7, key(6)));
        // Removing a part breaks the chain.
        let without = [&bytes[..ends[0]], &bytes[ends[1]..]].concat();
        assert_eq!(LoggedOperation::read(without, 7, key(5)).unwrap().changes.len(), 0);
        // Checksums are readable, but do not allow anyone to forge the next part.
        let mut forged = bytes.clone();
        let last = bytes[bytes.len() - SUM_LINE..].to_vec();
        let change = LoggedChange::Folder { path: "evil".to_owned() };
        let line = std::str::from_utf8(&last).unwrap().trim().as_bytes();
        let seen: Vec<u8> =
            line.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect();
        let seen: [u8; SUM_BYTES] = seen.try_into().unwrap();
        append(&mut forged, &change, b"", (SealKey::new(seen), seen)).unwrap();
        assert_eq!(LoggedOperation::read(forged, 7, key(5)).unwrap().changes.len(), 3);
        let mut changed = bytes;
        let at = changed.len() - SUM_LINE - 2;
        changed[at] ^= 1;
        assert_eq!(LoggedOperation::read(changed, 7, key(5)).unwrap().changes.len(), 2);
        let huge = format!("{{\"number\":7,\"n_bytes\":{}}}\n", usize::MAX);
        assert!(LoggedOperation::read(huge.into_bytes(), 7, key(5)).is_none());
    }

    #[test]
    fn changes_that_were_taken_back_leave_nothing() {
        let mut net = NetChanges::default();
        assert!(net.is_empty());
        net.add(&LoggedChange::Create { path: "a".to_owned(), after: 1 });
        assert!(!net.is_empty());
        net.add(&LoggedChange::Move { from: "a".to_owned(), to: "b".to_owned(), bytes: 1 });
        assert!(!net.is_empty());
        net.add(&LoggedChange::Remove { path: "b".to_owned(), before: 1, mode: None });
        assert!(net.is_empty());
    }
}
