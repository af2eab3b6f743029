//! The catalog on disk: the state of each file when it was last read, and the content of the index.
//!
//! The rows have the same layout in the file as in memory, because the file belongs to this machine. Its name ends in
//! the id of the index commit that it describes, so the commit switches from the old manifest to the new one. A
//! checksum with the key of the cache's [anchor](crate::store::Store::cache_key) covers all of it: a manifest that is
//! torn, was changed or was written elsewhere does not count, and the caller examines every file. This file knows
//! nothing about entries.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};
use zerocopy::{FromBytes, FromZeros as _, Immutable, IntoBytes, KnownLayout};

use super::Area;
use super::heads;
use super::table::{FolderRow, NotAnEntry, Row, Table};
use crate::entry::{AttemptHead, Head, Kind, Outcome};
use crate::store::Store;

/// Raised whenever the format changes, or the result of `entry::read` for the same bytes.
const FORMAT: u64 = 23;
/// Where the part under the checksum begins.
const SUMMED: usize = 8;

/// The beginning of the file. The checksum covers everything after it.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Header {
    sum: u64,
    identity: u64,
    /// How many bytes of the heads file the rows need.
    pub(super) heads_len: u64,
    /// The number of the heads file.
    pub(super) heads: u32,
    /// Whether the rows and stale documents describe the index completely: 1 or 0.
    pub(super) index_is_known: u32,
    n_folders: u32,
    n_rows: u32,
    /// The bytes of the names.
    n_names: u32,
    /// The bytes of the rest, which is in postcard's encoding: [`Table::not_entries`] and the stale documents.
    n_rest: u32,
}

/// Paths whose documents in the committed index are outdated, with the hash of their indexed content.
pub(super) type StaleDocuments = BTreeMap<String, u64>;

/// The file for an index commit.
pub(super) struct ManifestFile<'a> {
    pub(super) store: &'a Store,
    pub(super) area: Area,
    pub(super) index_id: &'a str,
    /// The key of the checksum.
    pub(super) key: u64,
}

/// Returns whether an index commit may have this id: it becomes part of a file name.
pub(super) fn is_valid_id(index_id: &str) -> bool {
    (1..=64).contains(&index_id.len())
        && index_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Returns the name of the manifest for this index commit, below the cache folder.
fn name(area: Area, index_id: &str) -> String {
    format!("{}/manifest-{index_id}", area.cache())
}

/// Removes all manifests but these, and all heads files but those that these may need. A file that cannot be removed
/// stays, and does no harm.
pub(super) fn sweep(store: &Store, area: Area, kept: &[&str], kept_heads: &[u32]) {
    let names = store.folder(&format!("cache/{}", area.cache())).and_then(|folder| folder.names());
    for file in names.unwrap_or_default() {
        if let Some(id) = file.to_str().and_then(|file| file.strip_prefix("manifest-"))
            && !kept.contains(&id)
        {
            let _ = store.remove_cache(&name(area, id));
        }
    }
    for number in heads::numbers(store, area).into_iter().filter(|number| !kept_heads.contains(number)) {
        let _ = store.remove_cache(&heads::name(area, number));
    }
}

impl ManifestFile<'_> {
    /// Returns the identification of a valid manifest: written here, by a program that reads entries the same way, for this
    /// area and index commit. It comes first, so that nothing more is read of a foreign file.
    fn identity(&self) -> u64 {
        // The encoding of an empty head, and of the attempt in it, changes with most changes of the fields.
        let attempt = Some(Box::new(AttemptHead::new(1, Outcome::Done)));
        let head = postcard::to_stdvec(&Head { attempt, ..Head::empty(Kind::Journal) }).unwrap_or_default();
        let (version, area) = (env!("CARGO_PKG_VERSION"), self.area.cache());
        xxh3_64_with_seed(format!("{FORMAT} {version} {head:?} {area} {}", self.index_id).as_bytes(), self.key)
    }

    /// Writes the manifest. The caller has the cache lock. `rows` are those of the table with the flags that are stored.
    pub(super) fn save(
        &self,
        (heads, heads_len): (u32, u64),
        index_is_known: bool,
        table: &Table,
        rows: &[Row],
        stale: &StaleDocuments,
    ) -> io::Result<()> {
        let rest = postcard::to_stdvec(&(&table.not_entries, stale)).map_err(io::Error::other)?;
        let count = |n: usize| u32::try_from(n).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge));
        let header = Header {
            sum: 0,
            identity: self.identity(),
            heads_len,
            heads,
            index_is_known: index_is_known.into(),
            n_folders: count(table.folders.len())?,
            n_rows: count(rows.len())?,
            n_names: count(table.names.len())?,
            n_rest: count(rest.len())?,
        };
        let parts = [header.as_bytes(), table.folders.as_bytes(), rows.as_bytes(), table.names.as_bytes(), &rest];
        let mut bytes = parts.concat();
        let sum = xxh3_64_with_seed(&bytes[SUMMED..], self.key);
        bytes[..SUMMED].copy_from_slice(sum.as_bytes());
        self.store.write_cache(&name(self.area, self.index_id), &bytes)
    }

    /// Reads the manifest, if there is a sound one.
    pub(super) fn load(&self) -> Option<(Header, Table, StaleDocuments)> {
        if !is_valid_id(self.index_id) {
            return None;
        }
        let mut file = self.store.open_cache(&name(self.area, self.index_id)).ok()?;
        let mut header = Header::new_zeroed();
        file.read_exact(header.as_mut_bytes()).ok()?;
        // Before memory is allocated for the counts, which may be wrong.
        if header.identity != self.identity() || header.file_size() != file.metadata().ok()?.len() {
            return None;
        }
        let mut folders = vec![FolderRow::default(); header.n_folders as usize];
        let mut rows = vec![Row::default(); header.n_rows as usize];
        let (mut names, mut rest) = (vec![0; header.n_names as usize], vec![0; header.n_rest as usize]);
        let mut sum = Xxh3::with_seed(self.key);
        sum.update(&header.as_bytes()[SUMMED..]);
        for part in [folders.as_mut_bytes(), rows.as_mut_bytes(), names.as_mut_bytes(), &mut rest] {
            file.read_exact(part).ok()?;
            sum.update(part);
        }
        if header.sum != sum.digest() {
            return None;
        }
        let names = String::from_utf8(names).ok()?;
        let (not_entries, stale): (Vec<NotAnEntry>, StaleDocuments) = postcard::from_bytes(&rest).ok()?;
        are_divided(&folders, header.n_rows).then_some((header, Table { names, folders, rows, not_entries }, stale))
    }
}

impl Header {
    /// Returns the size of the file with these counts, in bytes.
    fn file_size(&self) -> u64 {
        let of = |n: u32, size: usize| u64::from(n) * size as u64;
        size_of::<Header>() as u64
            + of(self.n_folders, size_of::<FolderRow>())
            + of(self.n_rows, size_of::<Row>())
            + u64::from(self.n_names)
            + u64::from(self.n_rest)
    }
}

/// Returns whether the folders cover exactly so many rows.
fn are_divided(folders: &[FolderRow], n_rows: u32) -> bool {
    let mut firsts = folders.iter().map(|folder| folder.first);
    let is_sorted = firsts.clone().is_sorted();
    match (firsts.next(), folders.last()) {
        (Some(first), Some(last)) => is_sorted && first == 0 && last.first <= n_rows,
        _ => n_rows == 0,
    }
}
