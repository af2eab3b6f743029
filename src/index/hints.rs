//! The table of hints: from a file of the project, or the line of an error, to the entries that know something about it.
//!
//! A hook asks it at every call of a tool, so an answer reads one bucket of the table and the rows that were added since,
//! however many entries there are. A row says what one entry file says alone. Whoever reads it decides whether that still
//! counts, and finds the file unchanged before quoting it.
//!
//! The file has a header, the offsets of the buckets, the buckets, and then frames of rows that were added since. Each of
//! these pieces has a checksum of its own, because it is read alone. What other work trees of the clone recorded since the
//! table was written is in a file of such frames that all of them share.

use std::fs::File;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros as _, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::entry::knowledge::is_rule;
use crate::entry::path::files_and_patterns;
use crate::entry::{Head, Id};
use crate::store::{SHORT_SUM, SealKey};
use crate::system::posix::FileExt as _;
use crate::text::{fold, nfc};

/// What the file begins with: its form.
const FORM: [u8; 8] = *b"hints 4\n";
/// How many rows a bucket has on average.
const ROWS_OF_BUCKET: usize = 8;
/// The largest bucket that is read, in bytes.
const MAX_BUCKET: usize = 256 * 1024;
/// How many bytes of frames there may be, before the table is rewritten.
const MAX_FRAMES: u64 = 64 * 1024;
/// How many rows of one key are kept, the newest ones; of entries, those of rules come first.
const MAX_OF_KEY: usize = 32;
/// How many patterns are kept, by the same order.
const MAX_PATTERNS: usize = 500;
/// A file that more tasks than this changed, and more than a tenth of the attempts, belongs to none of them: a lock file, a
/// list of changes.
const MAX_TASKS_OF_FILE: usize = 5;
/// An error of more tasks than this belongs to none of them.
const MAX_TASKS_OF_ERROR: usize = 3;

/// What an entry file says about a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HintKind {
    /// The entry is about the file.
    #[default]
    About,
    /// The entry is about the files that match this pattern.
    Pattern(String),
    /// The attempt changed the file, and failed if this is true.
    Changed(bool),
    /// The attempt failed with the error.
    Failed,
    /// The attempt did the task.
    Did,
    /// The entry supersedes another one.
    Supersedes,
    /// Git says that files have other names since: the old and the new one of each. It looked up to this commit.
    Renamed(String, Vec<(String, String)>),
    /// So many tasks share the key that it says nothing about any of them.
    Shared,
}

/// A row of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hint {
    pub(crate) key: u64,
    pub(crate) kind: HintKind,
    /// The entry's file, relative to `.ralph/`.
    pub(crate) path: String,
    /// A hash of the file's bytes (XXH3, 64 bits).
    pub(crate) bytes: u64,
    /// The key of the attempt's task; 0 for what is no attempt.
    pub(crate) task: u64,
    /// When the attempt began or the entry last changed, in seconds since 1970.
    pub(crate) at: i64,
    /// Whether the entry is a decision or a pitfall.
    pub(crate) is_rule: bool,
    /// Whether a person wrote the entry.
    pub(crate) is_of_person: bool,
}

/// Returns the key of a file of the project.
pub(crate) fn key_of_file(path: &str) -> u64 {
    key("file", &nfc(path))
}

/// Returns the key of the error with this [fingerprint](crate::entry::attempt::line_fingerprint).
pub(crate) fn key_of_error(fingerprint: u64) -> u64 {
    key("error", &fingerprint.to_string())
}

/// Returns the key of all patterns.
pub(crate) fn key_of_patterns() -> u64 {
    key("patterns", "")
}

fn key_of_renames() -> u64 {
    key("renames", "")
}

/// Returns the row with the files that have other names now, which git looked for up to this `commit`.
pub(crate) fn renames_row((commit, renames): (String, Vec<(String, String)>), at: i64) -> Hint {
    let kind = HintKind::Renamed(commit, renames);
    Hint { key: key_of_renames(), kind, at, ..Hint::default() }
}

/// Returns the key of what supersedes an entry.
pub(crate) fn key_of_superseded(id: &Id) -> u64 {
    key("superseded", id.as_str())
}

fn key(kind: &str, name: &str) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(kind.as_bytes());
    hash.update(b"\0");
    hash.update(name.as_bytes());
    hash.digest()
}

/// Returns the rows of an entry file with this head and these bytes.
pub(crate) fn rows_of(path: &str, bytes: u64, head: &Head) -> Vec<Hint> {
    let mut rows = Vec::new();
    let task = head.task_id.clone().unwrap_or_else(|| fold(&head.title));
    let task = if head.attempt.is_some() { key("task", &task) } else { 0 };
    let at = if head.attempt.is_some() { head.created_at } else { head.recency() };
    let at = at.map_or(0, |at| at.timestamp());
    let is_rule = head.attempt.is_none() && head.category.as_deref().is_some_and(is_rule);
    let is_of_person = head.attempt.is_none() && head.source.is_person();
    let mut add =
        |key, kind| rows.push(Hint { key, kind, path: path.to_owned(), bytes, task, at, is_rule, is_of_person });
    if !head.valid {
        return rows;
    }
    if let Some(attempt) = &head.attempt {
        let has_failed = attempt.outcome.is_failure_of_task();
        for file in attempt.files.created.iter().chain(&attempt.files.modified) {
            add(key_of_file(file), HintKind::Changed(has_failed));
        }
        if let Some(error) = attempt.line_fingerprint {
            add(key_of_error(error), HintKind::Failed);
        }
        if attempt.outcome.is_success() == Some(true) {
            add(task, HintKind::Did);
        }
        return rows;
    }
    // Archived knowledge is out of use.
    if path.starts_with("archive/") {
        return rows;
    }
    let (files, patterns) = files_and_patterns(head.files.iter().map(String::as_str));
    for file in files {
        add(key_of_file(file), HintKind::About);
    }
    for pattern in patterns {
        add(key_of_patterns(), HintKind::Pattern(pattern));
    }
    for id in &head.supersedes {
        add(key_of_superseded(id), HintKind::Supersedes);
    }
    rows
}

/// The beginning of the file.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct HintHeader {
    form: [u8; 8],
    /// A hash of the entry files that the table was made of.
    stamp: U64,
    /// How many attempts there are.
    n_attempts: U32,
    n_buckets: U32,
    /// Where the buckets end and the frames begin, in bytes.
    end: U32,
    sum: [u8; SHORT_SUM],
}

impl HintHeader {
    fn sealed(self, key: &SealKey) -> [u8; SHORT_SUM] {
        let HintHeader { form, stamp, n_attempts, n_buckets, end, sum: _ } = self;
        key.short_sum(&[&form, stamp.as_bytes(), n_attempts.as_bytes(), n_buckets.as_bytes(), end.as_bytes()])
    }
}

/// Returns the table of these rows, which were made of entry files with this stamp.
pub(crate) fn table(rows: Vec<Hint>, stamp: u64, key: &SealKey) -> Vec<u8> {
    let n_attempts = n_attempts(&rows);
    let rows = without_shared(rows, n_attempts);
    let n_buckets = (rows.len() / ROWS_OF_BUCKET).next_power_of_two();
    let mut buckets: Vec<Vec<Hint>> = vec![Vec::new(); n_buckets];
    for row in rows {
        buckets[bucket_of(row.key, n_buckets)].push(row);
    }
    let number = |n: usize| U32::new(u32::try_from(n).unwrap_or(u32::MAX));
    let start = size_of::<HintHeader>() + (n_buckets + 1) * size_of::<U32>();
    let (mut offsets, mut content) = (vec![number(start)], Vec::new());
    for (at, bucket) in buckets.iter().enumerate() {
        if !bucket.is_empty() {
            let bytes = postcard::to_stdvec(bucket).unwrap_or_default();
            content.extend_from_slice(&key.short_sum(&[&stamp.to_le_bytes(), &at.to_le_bytes(), &bytes]));
            content.extend_from_slice(&bytes);
        }
        offsets.push(number(start + content.len()));
    }
    let (stamp, end) = (U64::new(stamp), number(start + content.len()));
    let (n_attempts, n_buckets) = (number(n_attempts), number(n_buckets));
    let header = HintHeader { form: FORM, stamp, n_attempts, n_buckets, end, sum: [0; SHORT_SUM] };
    let header = HintHeader { sum: header.sealed(key), ..header };
    [header.as_bytes(), offsets.as_bytes(), &content].concat()
}

fn bucket_of(key: u64, n_buckets: usize) -> usize {
    // There are fewer than 2^32 buckets.
    usize::try_from(key % n_buckets.max(1) as u64).unwrap_or_default()
}

/// Leaves one row of a key that many tasks share, and the newest ones of the others.
fn without_shared(mut rows: Vec<Hint>, n_attempts: usize) -> Vec<Hint> {
    rows.sort_by(|one, other| {
        // Beyond the limit, an agent's go first.
        let place = |row: &Hint| (row.key, !row.is_of_person, !row.is_rule, -row.at);
        place(one).cmp(&place(other)).then_with(|| one.path.cmp(&other.path))
    });
    let mut kept = Vec::with_capacity(rows.len());
    for of_key in rows.chunk_by(|one, other| one.key == other.key) {
        let is_shared = is_shared(of_key, n_attempts);
        let (of_tasks, of_entries): (Vec<&Hint>, Vec<&Hint>) = of_key.iter().partition(|row| row.task != 0);
        let most = if of_key[0].key == key_of_patterns() { MAX_PATTERNS } else { MAX_OF_KEY };
        kept.extend(of_entries.into_iter().take(most).cloned());
        if is_shared {
            kept.extend(of_tasks.first().map(|row| Hint { kind: HintKind::Shared, ..(*row).clone() }));
        } else {
            let told = of_tasks.into_iter().filter(|row| row.kind != HintKind::Changed(false));
            kept.extend(told.take(MAX_OF_KEY).cloned());
        }
    }
    kept
}

/// Returns whether so many tasks share the key of these rows that it says nothing about any of them.
fn is_shared(of_key: &[Hint], n_attempts: usize) -> bool {
    let of_kind = |is_it: fn(&HintKind) -> bool| of_key.iter().filter(move |row| is_it(&row.kind));
    let changed = of_kind(|kind| matches!(kind, HintKind::Changed(_)));
    let is_of_all = changed.clone().count() * 10 > n_attempts && n_tasks(changed) > MAX_TASKS_OF_FILE;
    is_of_all || n_tasks(of_kind(|kind| *kind == HintKind::Failed)) > MAX_TASKS_OF_ERROR
}

fn n_attempts(rows: &[Hint]) -> usize {
    let mut attempts: Vec<&str> = rows.iter().filter(|row| row.task != 0).map(|row| row.path.as_str()).collect();
    attempts.sort_unstable();
    attempts.dedup();
    attempts.len()
}

fn n_tasks<'a>(rows: impl Iterator<Item = &'a Hint>) -> usize {
    let mut tasks: Vec<u64> = rows.map(|row| row.task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks.len()
}

/// Returns the frame that adds this content to what has the stamp.
pub(crate) fn frame(content: &impl Serialize, stamp: u64, key: &SealKey) -> Vec<u8> {
    let bytes = postcard::to_stdvec(content).unwrap_or_default();
    let length = U32::new(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    let sum = key.short_sum(&[b"frame", &stamp.to_le_bytes(), &bytes]);
    [length.as_bytes(), &sum, &bytes].concat()
}

/// Returns the content of the whole frames.
fn framed<T: DeserializeOwned>(frames: &[u8], stamp: u64, key: &SealKey) -> Vec<T> {
    let (mut rest, mut found) = (frames, Vec::new());
    while let Some((length, after)) = rest.split_first_chunk::<4>()
        && let Some((sum, after)) = after.split_first_chunk::<SHORT_SUM>()
        && let Some((frame, after)) = after.split_at_checked(u32::from_le_bytes(*length) as usize)
    {
        if key.short_sum(&[b"frame", &stamp.to_le_bytes(), frame]) == *sum {
            found.extend(postcard::from_bytes::<T>(frame).ok());
        }
        rest = after;
    }
    found
}

/// A table in a file. What is torn or forged in it counts as missing.
pub(crate) struct HintTable {
    file: File,
    key: SealKey,
    header: HintHeader,
    /// The rows that were added, oldest first.
    added: Vec<Hint>,
    /// The rows of all work trees, oldest first. The table may have them too.
    heard: Vec<Hint>,
    /// Whether there is room for another frame.
    pub(crate) has_room: bool,
}

impl HintTable {
    /// Opens a table; `None` if it was not written with this key.
    pub(crate) fn open(file: File, key: SealKey) -> Option<HintTable> {
        let mut header = HintHeader::new_zeroed();
        file.read_exact_at(header.as_mut_bytes(), 0).ok()?;
        if header.form != FORM || header.sealed(&key) != header.sum {
            return None;
        }
        let end = u64::from(header.end.get());
        let size = file.metadata().ok()?.len().saturating_sub(end);
        let has_room = size < MAX_FRAMES;
        let mut table = HintTable { file, key, header, added: Vec::new(), heard: Vec::new(), has_room };
        table.added = table.frames(end, size.min(2 * MAX_FRAMES));
        Some(table)
    }

    /// Returns the hash of the entry files that the table was made of.
    pub(crate) fn stamp(&self) -> u64 {
        self.header.stamp.get()
    }

    fn frames(&self, end: u64, size: u64) -> Vec<Hint> {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        if self.file.read_exact_at(&mut bytes, end).is_err() {
            return Vec::new();
        }
        framed::<Vec<Hint>>(&bytes, self.stamp(), &self.key).concat()
    }

    /// Adds what the work trees of the clone told each other, in frames with this key.
    pub(crate) fn hear(&mut self, frames: &[u8], key: &SealKey) {
        self.heard = framed::<Vec<Hint>>(frames, 0, key).concat();
    }

    /// Returns the rows of a key, newest first. Of several rows of a file, the one that was written last counts.
    pub(crate) fn rows(&self, key: u64) -> Vec<Hint> {
        let mut rows = self.bucket(key).unwrap_or_default();
        rows.retain(|row| row.key == key);
        rows.extend(self.added.iter().filter(|row| row.key == key).cloned());
        let is_new = |heard: &&Hint| rows.iter().all(|row| (row.bytes, &row.kind) != (heard.bytes, &heard.kind));
        let heard: Vec<&Hint> = self.heard.iter().filter(|row| row.key == key).filter(is_new).collect();
        rows.extend(heard.into_iter().cloned());
        rows.reverse();
        let mut seen: Vec<(String, HintKind)> = Vec::new();
        rows.retain(|row| {
            let name = (row.path.clone(), row.kind.clone());
            let is_new = !seen.contains(&name);
            seen.push(name);
            is_new
        });
        rows.sort_by_key(|row| -row.at);
        rows
    }

    /// Returns the rows of the attempts among those of a key; none if many tasks share the key.
    pub(crate) fn attempts<'a>(&self, rows: &'a [Hint]) -> Vec<&'a Hint> {
        attempts_of(rows, self.header.n_attempts.get() as usize + n_attempts(&self.added))
    }

    /// Returns what the newest row of renames says; nothing if there is none.
    pub(crate) fn renames(&self) -> (String, Vec<(String, String)>) {
        match self.rows(key_of_renames()).into_iter().next().map(|row| row.kind) {
            Some(HintKind::Renamed(commit, renames)) => (commit, renames),
            _ => <_>::default(),
        }
    }

    fn bucket(&self, key: u64) -> Option<Vec<Hint>> {
        let n_buckets = self.header.n_buckets.get() as usize;
        let at = bucket_of(key, n_buckets);
        let mut offsets = [U32::ZERO; 2];
        let place = size_of::<HintHeader>() + at * size_of::<U32>();
        self.file.read_exact_at(offsets.as_mut_bytes(), place as u64).ok()?;
        let [start, end] = offsets.map(|offset| offset.get() as usize);
        let size = end.checked_sub(start).filter(|size| (SHORT_SUM..=MAX_BUCKET).contains(size))?;
        let mut bytes = vec![0; size];
        self.file.read_exact_at(&mut bytes, start as u64).ok()?;
        let (sum, bytes) = bytes.split_first_chunk::<SHORT_SUM>()?;
        let own = self.key.short_sum(&[&self.stamp().to_le_bytes(), &at.to_le_bytes(), bytes]);
        (own == *sum).then(|| postcard::from_bytes(bytes).ok()).flatten()
    }
}

/// Returns the rows of the attempts among those of a key, in a journal of so many attempts; none if many tasks share the key.
pub(crate) fn attempts_of(rows: &[Hint], n_attempts: usize) -> Vec<&Hint> {
    if rows.iter().any(|row| row.kind == HintKind::Shared) || is_shared(rows, n_attempts) {
        return Vec::new();
    }
    rows.iter().filter(|row| matches!(row.kind, HintKind::Failed | HintKind::Changed(true))).collect()
}

/// Returns the first success after a failed attempt, among the rows of its task.
pub(crate) fn success_after<'a>(rows: &'a [Hint], failed: &Hint) -> Option<&'a Hint> {
    rows.iter().filter(|did| did.kind == HintKind::Did && did.at >= failed.at).min_by_key(|did| did.at)
}

/// Returns the hash of a file's bytes that rows have.
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}
