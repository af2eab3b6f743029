//! The catalog on disk: the state of each file when it was last read, and the content of the index.
//!
//! A fixed binary format that is read in one pass, in chunks. Its name ends in the id of the index commit that it
//! describes, so the commit switches from the old manifest to the new one. A checksum with the key of the cache's
//! [anchor](crate::store::Anchor) covers all of it: a manifest that is torn, was changed or was written elsewhere does
//! not count, and the caller examines every file. This file knows nothing about entries.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};
use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Area;
use super::heads;
use super::table::{Code, FolderRow, Odd, Row, Table};
use crate::entry::{AttemptHead, Head, Kind, Outcome};
use crate::store::Store;

/// Raised whenever the format changes, or the result of `entry::read` for the same bytes.
const FORMAT: u64 = 13;
const MAGIC: [u8; 8] = *b"ralphcat";
/// Where the part under the checksum begins.
const SUMMED: usize = 16;
/// How many bytes are read and decoded at once: enough to be quick, and little memory.
const CHUNK: usize = 64 << 10;

/// The beginning of the file. The checksum covers everything after it.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    sum: U64,
    identity: U64,
    n_folders: U32,
    n_rows: U32,
    n_odd: U32,
    n_ghosts: U32,
    /// The bytes of the texts, which are at the end of the file.
    n_names: U32,
    heads: U32,
    heads_len: U64,
    index_is_known: u8,
    reserved: [u8; 7],
}

/// The place of a text among the names.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct TextPlace {
    at: U32,
    len: U16,
}

/// A [`FolderRow`].
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct FolderRecord {
    stat: U64,
    first: U32,
    path: TextPlace,
    again: u8,
    unreadable: u8,
    reserved: [u8; 4],
}

/// A [`Row`].
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RowRecord {
    stat: U64,
    hash: U64,
    recency: I64,
    head_at: U32,
    head_len: U32,
    id: U32,
    task: U32,
    feature: U32,
    section: U32,
    name: TextPlace,
    flags: U16,
}

/// An [`Odd`].
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct OddRecord {
    folder: U32,
    name: TextPlace,
    code: U16,
    reserved: [u8; 4],
}

/// One of the [`Ghosts`].
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct GhostRecord {
    hash: U64,
    path: TextPlace,
    reserved: [u8; 2],
}

/// Paths whose documents in the committed index are outdated, with the hash of their indexed content.
pub(super) type Ghosts = BTreeMap<String, u64>;

/// The content of a manifest.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) table: Table,
    pub(super) ghosts: Ghosts,
    /// The number of the heads file.
    pub(super) heads: u32,
    /// How many bytes of the heads file the rows need.
    pub(super) heads_len: u64,
    /// Whether the rows and ghosts describe the index completely.
    pub(super) index_is_known: bool,
}

/// Returns whether an index commit may have this id: it becomes part of a file name.
pub(super) fn is_valid_id(index_id: &str) -> bool {
    (1..=64).contains(&index_id.len())
        && index_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Returns the name of the manifest for this index commit, below the cache folder.
pub(super) fn name(area: Area, index_id: &str) -> String {
    format!("{}/manifest-{index_id}", area.cache())
}

/// Reads the manifest for this index commit, if there is a sound one.
pub(super) fn load(store: &Store, area: Area, index_id: &str, key: u64) -> Option<Manifest> {
    if !is_valid_id(index_id) {
        return None;
    }
    let file = store.open_cache(&name(area, index_id)).ok()?;
    let len = file.metadata().ok()?.len();
    decode(ManifestBytes { file, sum: Xxh3::with_seed(key), chunk: Vec::new() }, len, identity(area, index_id, key))
}

/// Writes the manifest for an index commit. The caller has the cache lock.
pub(super) fn save(
    store: &Store,
    area: Area,
    index_id: &str,
    key: u64,
    manifest: &Manifest,
    flags: impl Fn(&Row) -> u16,
) -> io::Result<()> {
    let bytes = encode(manifest, identity(area, index_id, key), key, flags).ok_or(io::ErrorKind::FileTooLarge)?;
    store.write_cache(&name(area, index_id), &bytes)
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

/// Returns the identification of a valid manifest: written here, by a program that reads entries the same way, for this
/// area and index commit. It comes first, so that nothing more is read of a foreign file.
fn identity(area: Area, index_id: &str, key: u64) -> u64 {
    // The encoding of an empty head, and of the attempt in it, changes with most changes of the fields.
    let attempt = Some(Box::new(AttemptHead::new(1, Outcome::Done)));
    let head = postcard::to_stdvec(&Head { attempt, ..Head::empty(Kind::Journal) }).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    xxh3_64_with_seed(format!("{FORMAT} {version} {head:?} {} {index_id}", area.cache()).as_bytes(), key)
}

fn encode(manifest: &Manifest, identity: u64, key: u64, flags: impl Fn(&Row) -> u16) -> Option<Vec<u8>> {
    let Manifest { table, ghosts, .. } = manifest;
    let mut header = Header {
        magic: MAGIC,
        sum: 0.into(),
        identity: identity.into(),
        n_folders: count(table.folders.len())?,
        n_rows: count(table.rows.len())?,
        n_odd: count(table.odd.len())?,
        n_ghosts: count(ghosts.len())?,
        n_names: 0.into(),
        heads: manifest.heads.into(),
        heads_len: manifest.heads_len.into(),
        index_is_known: u8::from(manifest.index_is_known),
        reserved: [0; 7],
    };
    let mut bytes = Vec::with_capacity(usize::try_from(header.size_of_records()?).ok()? + table.names.len());
    bytes.resize(size_of::<Header>(), 0);
    // Texts are written in the order of the records, without those that are not used any more.
    let mut names = Vec::with_capacity(table.names.len());
    let mut place = |text: &str| {
        let place = TextPlace { at: count(names.len())?, len: u16::try_from(text.len()).ok()?.into() };
        names.extend_from_slice(text.as_bytes());
        Some(place)
    };
    for (at, folder) in table.folders.iter().enumerate() {
        bytes.extend_from_slice(FolderRecord::new(folder, place(table.folder_path(at))?).as_bytes());
    }
    for row in &table.rows {
        bytes.extend_from_slice(RowRecord::new(row, place(table.name(row))?, flags(row)).as_bytes());
    }
    for odd in &table.odd {
        let (folder, name, code) = (odd.folder.into(), place(&odd.name)?, (odd.code as u16).into());
        bytes.extend_from_slice(OddRecord { folder, name, code, reserved: [0; 4] }.as_bytes());
    }
    for (path, hash) in ghosts {
        bytes.extend_from_slice(GhostRecord { hash: (*hash).into(), path: place(path)?, reserved: [0; 2] }.as_bytes());
    }
    header.n_names = count(names.len())?;
    bytes.extend_from_slice(&names);
    header.write_to_prefix(&mut bytes).ok()?;
    header.sum = xxh3_64_with_seed(&bytes[SUMMED..], key).into();
    header.write_to_prefix(&mut bytes).ok()?;
    Some(bytes)
}

fn count(n: usize) -> Option<U32> {
    u32::try_from(n).ok().map(U32::from)
}

fn decode(mut source: ManifestBytes, len: u64, identity: u64) -> Option<Manifest> {
    let mut header = [0; size_of::<Header>()];
    source.file.read_exact(&mut header).ok()?;
    source.sum.update(&header[SUMMED..]);
    let header = Header::read_from_bytes(&header).ok()?;
    if header.magic != MAGIC || header.identity != identity {
        return None;
    }
    let n_names = header.n_names.get() as usize;
    // Before memory is allocated for the counts, which may be wrong.
    if header.size_of_records()?.checked_add(header.n_names.into()) != Some(len) {
        return None;
    }
    let folders = source.records(header.n_folders, FolderRecord::row)?;
    let rows = source.records(header.n_rows, RowRecord::row)?;
    let odd_records =
        source.records(header.n_odd, |record: &OddRecord| (record.folder.get(), record.name, record.code.get()))?;
    let ghost_records = source.records(header.n_ghosts, |record: &GhostRecord| (record.path, record.hash.get()))?;
    let mut names = vec![0; n_names];
    source.file.read_exact(&mut names).ok()?;
    source.sum.update(&names);
    if header.sum != source.sum.digest() {
        return None;
    }
    let names = String::from_utf8(names).ok()?;
    let odd = odd_records.into_iter().map(|(folder, name, code)| {
        let folder = (folder < header.n_folders.get()).then_some(folder)?;
        Some(Odd { folder, name: name.text(&names)?, code: Code::from_number(code)? })
    });
    let odd = odd.collect::<Option<Vec<Odd>>>()?;
    let ghosts = ghost_records.into_iter().map(|(path, hash)| Some((path.text(&names)?, hash)));
    let ghosts = ghosts.collect::<Option<Ghosts>>()?;
    are_divided(&folders, header.n_rows.get()).then(|| Manifest {
        table: Table { names, folders, rows, odd },
        ghosts,
        heads: header.heads.get(),
        heads_len: header.heads_len.get(),
        index_is_known: header.index_is_known != 0,
    })
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

impl Header {
    /// Returns the size of header and records, in bytes.
    fn size_of_records(&self) -> Option<u64> {
        let of = |n: U32, size: usize| u64::from(n).checked_mul(size as u64);
        let sizes = [
            of(self.n_folders, size_of::<FolderRecord>()),
            of(self.n_rows, size_of::<RowRecord>()),
            of(self.n_odd, size_of::<OddRecord>()),
            of(self.n_ghosts, size_of::<GhostRecord>()),
        ];
        sizes.into_iter().try_fold(size_of::<Header>() as u64, |sum, size| sum.checked_add(size?))
    }
}

impl TextPlace {
    fn text(self, names: &str) -> Option<String> {
        let at = self.at.get() as usize;
        names.get(at..at + usize::from(self.len.get())).map(str::to_owned)
    }
}

impl FolderRecord {
    fn new(row: &FolderRow, path: TextPlace) -> FolderRecord {
        FolderRecord {
            stat: row.stat.into(),
            first: row.first.into(),
            path,
            again: u8::from(row.again),
            unreadable: row.unreadable,
            reserved: [0; 4],
        }
    }

    fn row(&self) -> FolderRow {
        FolderRow {
            stat: self.stat.get(),
            first: self.first.get(),
            path: self.path.at.get(),
            path_len: self.path.len.get(),
            again: self.again != 0,
            unreadable: self.unreadable,
        }
    }
}

impl RowRecord {
    fn new(row: &Row, name: TextPlace, flags: u16) -> RowRecord {
        RowRecord {
            stat: row.stat.into(),
            hash: row.hash.into(),
            recency: row.recency.into(),
            head_at: row.head_at.into(),
            head_len: row.head_len.into(),
            id: row.id.into(),
            task: row.task.into(),
            feature: row.feature.into(),
            section: row.section.into(),
            name,
            flags: flags.into(),
        }
    }

    fn row(&self) -> Row {
        Row {
            stat: self.stat.get(),
            hash: self.hash.get(),
            recency: self.recency.get(),
            head_at: self.head_at.get(),
            head_len: self.head_len.get(),
            name: self.name.at.get(),
            id: self.id.get(),
            task: self.task.get(),
            feature: self.feature.get(),
            section: self.section.get(),
            name_len: self.name.len.get(),
            flags: self.flags.get(),
        }
    }
}

/// A file that is read from the front and summed up on the way.
struct ManifestBytes {
    file: File,
    sum: Xxh3,
    chunk: Vec<u8>,
}

impl ManifestBytes {
    /// Reads `n` records, and returns the results of `each`.
    fn records<Record, Made>(&mut self, n: U32, each: impl Fn(&Record) -> Made) -> Option<Vec<Made>>
    where
        Record: FromBytes + Immutable + KnownLayout + Unaligned,
    {
        let mut left = n.get() as usize;
        let mut made = Vec::with_capacity(left);
        while left > 0 {
            let now = left.min(CHUNK / size_of::<Record>());
            self.chunk.resize(now * size_of::<Record>(), 0);
            self.file.read_exact(&mut self.chunk).ok()?;
            self.sum.update(&self.chunk);
            made.extend(<[Record]>::ref_from_bytes(&self.chunk).ok()?.iter().map(&each));
            left -= now;
        }
        Some(made)
    }
}
