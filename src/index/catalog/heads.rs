//! The heads of all entries, in a file of records.
//!
//! A record is a checksum and a head in postcard's encoding. The file only grows, so that records of an older manifest
//! stay in place. It is rewritten when more than half of it is dead. The checksum includes the entry's path and
//! content, and the cache's [anchor](crate::store::Store::cache_key): a record is valid only for the row that refers to
//! it, and only if it was written here. This file knows nothing about entry files.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};
use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Area;
use super::table::{AGAIN, FRESH, Row, Table};
use crate::entry::attempt::Account;
use crate::entry::{AttemptHead, Head, Id, Kind, Link, Outcome, Scope, Source};
use crate::store::Store;
use crate::system::posix::FileExt as _;
use crate::system::posix::file_id;

/// How many bytes the checksum before a head takes.
const CHECKSUM: usize = 8;
/// The largest head that is kept, in bytes: a file of 1 MiB that is all links makes one of 6 MiB.
const MAX_HEAD: usize = 16 << 20;
/// How many bytes are read at once if heads are read one after the other.
const WINDOW: usize = 64 << 10;
/// A file that is smaller than this is not worth rewriting, in bytes.
const SMALL: u64 = 64 << 10;

/// Where heads are kept: in a file, and in memory until they are saved.
#[derive(Debug, Default)]
pub(super) struct Heads {
    /// The number in the file's name.
    pub(super) number: u32,
    /// The key of the checksums in the file.
    key: u64,
    file: Option<File>,
    window: Mutex<Window>,
    fresh: Vec<u8>,
    damaged: AtomicBool,
}

/// What a record begins with: the first fields of a [`Head`], in its order.
#[derive(Debug, Deserialize)]
pub(crate) struct HeadStart<'a> {
    pub kind: Kind,
    pub valid: bool,
    pub title: &'a str,
    pub body_fingerprint: u64,
    #[serde(with = "chrono::serde::ts_microseconds_option")]
    pub created_at: Option<DateTime<Utc>>,
    #[serde(with = "chrono::serde::ts_microseconds_option")]
    pub updated_at: Option<DateTime<Utc>>,
    #[serde(with = "chrono::serde::ts_microseconds_option")]
    pub expires_at: Option<DateTime<Utc>>,
    #[serde(borrow)]
    pub files: Vec<&'a str>,
    pub imported: Option<String>,
}

/// What a record begins with, up to how much an attempt says.
#[derive(Deserialize)]
struct LightHead<'a> {
    #[serde(borrow)]
    start: HeadStart<'a>,
    scope: Scope,
    source: Source,
    aliases: Vec<String>,
    links: Vec<Link>,
    supersedes: Vec<Id>,
    feature: Option<String>,
    task_id: Option<String>,
    run_id: Option<String>,
    tags: Vec<String>,
    category: Option<String>,
    status: Option<String>,
    importance: u8,
    attempt: Option<AttemptStart>,
}

/// The first fields of an [`AttemptHead`], in its order.
#[derive(Deserialize)]
struct AttemptStart {
    iteration: u32,
    outcome: Outcome,
    context: Vec<Id>,
    error_fingerprint: Option<u64>,
    account: Account,
}

impl LightHead<'_> {
    fn into_head(self) -> Head {
        let attempt = self.attempt.map(|AttemptStart { iteration, outcome, context, error_fingerprint, account }| {
            let head =
                AttemptHead { iteration, outcome, context, error_fingerprint, account, ..AttemptHead::default() };
            Box::new(head)
        });
        Head {
            scope: self.scope,
            source: self.source,
            aliases: self.aliases,
            links: self.links,
            supersedes: self.supersedes,
            feature: self.feature,
            task_id: self.task_id,
            run_id: self.run_id,
            tags: self.tags,
            category: self.category,
            status: self.status,
            importance: self.importance,
            attempt,
            ..self.start.to_head()
        }
    }
}

impl<'a> From<&'a Head> for HeadStart<'a> {
    fn from(head: &'a Head) -> HeadStart<'a> {
        HeadStart {
            kind: head.kind,
            valid: head.valid,
            title: &head.title,
            body_fingerprint: head.body_fingerprint,
            created_at: head.created_at,
            updated_at: head.updated_at,
            expires_at: head.expires_at,
            files: head.files.iter().map(String::as_str).collect(),
            imported: head.imported.clone(),
        }
    }
}

impl HeadStart<'_> {
    /// Returns a head with these fields, and the others at their defaults.
    pub(crate) fn to_head(&self) -> Head {
        Head {
            kind: self.kind,
            valid: self.valid,
            title: self.title.to_owned(),
            body_fingerprint: self.body_fingerprint,
            created_at: self.created_at,
            updated_at: self.updated_at,
            expires_at: self.expires_at,
            files: self.files.iter().map(ToString::to_string).collect(),
            imported: self.imported.clone(),
            ..Head::default()
        }
    }
}

/// A part of the file.
#[derive(Debug, Default)]
pub(super) struct Window {
    at: u64,
    bytes: Vec<u8>,
    /// The end of the last record that was read.
    next: u64,
}

impl Heads {
    /// Opens the file of this number; if it is missing, so are all records in it.
    pub(super) fn open(store: &Store, area: Area, number: u32, key: u64) -> Heads {
        let file = store.open_cache(&name(area, number)).ok();
        Heads { number, key, file, ..Heads::default() }
    }

    /// Returns how many bytes the file has; 0 when it cannot be opened.
    pub(super) fn len(&self) -> u64 {
        self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len())
    }

    /// Returns whether an invalid record was read.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Returns the head of a row, if its record is sound.
    pub(super) fn get(&self, row: &Row, path: &str) -> Option<Head> {
        self.decoded(&mut self.window.lock().unwrap_or_else(PoisonError::into_inner), row, path)
    }

    /// Returns the head of a row without what [`Catalog::light_head`](super::Catalog::light_head) leaves out, if its record is
    /// sound.
    pub(super) fn light(&self, row: &Row, path: &str) -> Option<Head> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        self.decoded(&mut window, row, path).map(LightHead::into_head)
    }

    /// Returns the beginning of the head of a row, if its record is sound.
    pub(super) fn start<'a>(&'a self, window: &'a mut Window, row: &Row, path: &str) -> Option<HeadStart<'a>> {
        self.decoded(window, row, path)
    }

    fn decoded<'a, T: Deserialize<'a>>(&'a self, window: &'a mut Window, row: &Row, path: &str) -> Option<T> {
        let len = row.head_len as usize;
        if len == 0 || len > MAX_HEAD {
            return None;
        }
        let record = self.record(window, row).and_then(|record| sound(record, row, path, self.key));
        let head = record.and_then(|encoded| postcard::from_bytes(encoded).ok());
        if head.is_none() {
            self.damaged.store(true, Ordering::Relaxed);
        }
        head
    }

    fn record<'a>(&'a self, window: &'a mut Window, row: &Row) -> Option<&'a [u8]> {
        let (at, len) = (row.head_at as usize, row.head_len as usize);
        if row.has(FRESH) {
            return self.fresh.get(at..at + CHECKSUM + len);
        }
        window.record(self.file.as_ref()?, at as u64, len)
    }

    /// Keeps a head in memory and lets the row point at it. A head that cannot be kept is read
    /// from its entry file each time.
    pub(super) fn put(&mut self, row: &mut Row, path: &str, head: &Head) {
        let at = u32::try_from(self.fresh.len());
        let encoded = postcard::to_stdvec(head).ok().filter(|encoded| encoded.len() <= MAX_HEAD);
        let (Ok(at), Some(encoded)) = (at, encoded) else {
            (row.head_at, row.head_len) = (0, 0);
            row.set(FRESH, false);
            return;
        };
        self.fresh.extend_from_slice(&checksum(&encoded, row, path, self.key).to_le_bytes());
        self.fresh.extend_from_slice(&encoded);
        (row.head_at, row.head_len) = (at, u32::try_from(encoded.len()).unwrap_or(0));
        row.set(FRESH, true);
    }

    /// Writes the heads in memory to the file, and makes the rows refer to it.
    ///
    /// The caller has the cache lock. After an error everything is unchanged, except for unused bytes at the file's
    /// end.
    pub(super) fn save(&mut self, store: &Store, area: Area, table: &mut Table, key: u64) -> io::Result<()> {
        let live = |fresh: bool| {
            let rows = table.rows.iter().filter(|row| row.head_len > 0 && row.has(FRESH) == fresh);
            rows.map(|row| CHECKSUM as u64 + u64::from(row.head_len)).sum::<u64>()
        };
        let (live_old, live_fresh) = (live(false), live(true));
        let len = self.len();
        let is_sparse = len + live_fresh > (2 * (live_old + live_fresh)).max(SMALL);
        if self.key != key
            || self.file.is_none()
            || self.is_damaged()
            || is_sparse
            || len + live_fresh > u64::from(u32::MAX)
        {
            return self.rewrite(store, area, table, key);
        }
        if !self.fresh.is_empty() {
            let mut file = store.append_cache(&name(area, self.number))?;
            if self.file.as_ref().map(inode).transpose()? != Some(inode(&file)?) {
                // It was removed after it was opened. The open file is still whole.
                return self.rewrite(store, area, table, key);
            }
            // The end of the file, not the end of the last save: a failed save may have left bytes there.
            let base = u32::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
            base.checked_add(u32::try_from(self.fresh.len()).unwrap_or(u32::MAX)).ok_or(io::ErrorKind::FileTooLarge)?;
            file.write_all(&self.fresh)?;
            for row in table.rows.iter_mut().filter(|row| row.has(FRESH)) {
                row.head_at += base;
                row.set(FRESH, false);
            }
            self.fresh = Vec::new();
        }
        *self.window.get_mut().unwrap_or_else(PoisonError::into_inner) = Window::default();
        Ok(())
    }

    /// Writes all live records to a file of a new number. A row whose record is not sound loses it,
    /// and is read again by the next scan.
    fn rewrite(&mut self, store: &Store, area: Area, table: &mut Table, key: u64) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut places = Vec::with_capacity(table.rows.len());
        let mut window = Window::default();
        for folder in 0..table.folders.len() {
            for row in table.rows_of(folder) {
                let row = &table.rows[row];
                let path = format!("{}/{}", table.folder_path(folder), table.name(row));
                let record = if row.head_len > 0 { self.record(&mut window, row) } else { None };
                let encoded = record.and_then(|record| sound(record, row, &path, self.key));
                places.push(encoded.and_then(|_| u32::try_from(bytes.len()).ok()));
                if let Some(encoded) = encoded {
                    bytes.extend_from_slice(&checksum(encoded, row, &path, key).to_le_bytes());
                    bytes.extend_from_slice(encoded);
                }
            }
        }
        let number = numbers(store, area).into_iter().max().unwrap_or(0).max(self.number).wrapping_add(1);
        store.write_cache(&name(area, number), &bytes)?;
        let file = store.open_cache(&name(area, number))?;
        for (row, place) in table.rows.iter_mut().zip(places) {
            if place.is_none() && row.head_len > 0 {
                row.set(AGAIN, true);
                row.head_len = 0;
            }
            row.head_at = place.unwrap_or(0);
            row.set(FRESH, false);
        }
        *self = Heads { number, key, file: Some(file), ..Heads::default() };
        Ok(())
    }
}

impl Window {
    /// Returns the record of a head of `len` bytes at `at`.
    fn record(&mut self, file: &File, at: u64, len: usize) -> Option<&[u8]> {
        let len = CHECKSUM + len;
        let end = at + len as u64;
        if at < self.at || end > self.at + self.bytes.len() as u64 {
            // A caller that reads one head gets no more; one that reads all in turn gets many at once.
            let wanted = if at == self.next { len.max(WINDOW) } else { len };
            self.fill(file, at, wanted)?;
        }
        self.next = end;
        let from = usize::try_from(at - self.at).ok()?;
        self.bytes.get(from..from + len)
    }

    fn fill(&mut self, file: &File, at: u64, wanted: usize) -> Option<()> {
        let left = usize::try_from(file.metadata().ok()?.len().saturating_sub(at)).ok()?;
        self.at = at;
        self.bytes.resize(wanted.min(left), 0);
        let read = file.read_exact_at(&mut self.bytes, at).ok();
        if read.is_none() {
            self.bytes.clear();
        }
        read
    }
}

/// Returns the name of the file of this number, below the cache folder.
pub(super) fn name(area: Area, number: u32) -> String {
    format!("{}/heads-{number}", area.cache())
}

/// Returns the numbers of the files that are there.
pub(super) fn numbers(store: &Store, area: Area) -> Vec<u32> {
    let names = store.folder(&format!("cache/{}", area.cache())).and_then(|folder| folder.names());
    let names = names.unwrap_or_default();
    names.iter().filter_map(|name| name.to_str()?.strip_prefix("heads-")?.parse().ok()).collect()
}

fn inode(file: &File) -> io::Result<(u64, u64)> {
    file_id(file, &file.metadata()?)
}

/// Returns the head's bytes if the record belongs to the row.
fn sound<'a>(record: &'a [u8], row: &Row, path: &str, key: u64) -> Option<&'a [u8]> {
    let (sum, encoded) = record.split_first_chunk::<CHECKSUM>()?;
    (u64::from_le_bytes(*sum) == checksum(encoded, row, path, key)).then_some(encoded)
}

fn checksum(encoded: &[u8], row: &Row, path: &str, key: u64) -> u64 {
    xxh3_64_with_seed(encoded, row.hash ^ xxh3_64_with_seed(path.as_bytes(), key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::read;

    #[test]
    fn the_beginnings_of_a_record_are_those_of_its_head() {
        let knowledge = "---\ntitle: Ports\ntags: [net]\ncategory: pitfall\nstatus: proposed\nfeature: f\nscope: feature:f\n\
            importance: 70\nsource: agent\ntask_id: t-1\nrun_id: run-1\ncreated_at: \"2026-01-02T00:00:00Z\"\n\
            updated_at: \"2026-01-03T00:00:00Z\"\nexpires_at: \"2027-01-02T00:00:00Z\"\nsupersedes: [old]\naliases: [Hafen]\n\
            files: [src/a.rs]\nquestions: [Which?]\ndetails: {imported: {source: rules, path: a.md, id: a.md}}\n---\n\nSee [[b]].\n";
        let attempt = "---\nrun_id: run-1\niteration: 3\ntask_id: t-1\ntask_title: Fix\noutcome: failed\n\
            started_at: \"2026-01-02T00:00:00Z\"\nmodel: m\ncontext: [knowledge/a]\n---\n\n## What was tried\n\nx\n\n\
            ## Error output\n\n> error: no such port\n";
        for (path, text) in [("knowledge/ports.md", knowledge), ("journal/run-1/0003.md", attempt)] {
            let head = read(path, text.as_bytes()).head;
            assert!(head.valid && head.problems.is_empty(), "{:?}", head.problems);
            let record = postcard::to_stdvec(&head).unwrap();
            let start: HeadStart<'_> = postcard::from_bytes(&record).unwrap();
            assert_eq!(start.to_head(), HeadStart::from(&head).to_head());
            let light = postcard::from_bytes::<LightHead<'_>>(&record).unwrap().into_head();
            let left_out = |head: Head| Head {
                questions: Vec::new(),
                fingerprints: Vec::new(),
                body_words: 0,
                attempt: head.attempt.map(|attempt| {
                    let AttemptHead { iteration, outcome, context, error_fingerprint, account, .. } = *attempt;
                    assert!(error_fingerprint.is_some() && account == Account::Told);
                    Box::new(AttemptHead {
                        context,
                        error_fingerprint,
                        account,
                        ..AttemptHead::new(iteration, outcome)
                    })
                }),
                ..head
            };
            assert_eq!(light, left_out(head));
        }
    }
}
