//! The catalog on disk: what each file was like when it was last read, and what the index holds.
//!
//! A fixed binary format that is read in one pass, in chunks. Its name ends in the id of the index
//! commit that it describes, so the commit is the one switch from an old manifest to the next. A
//! checksum covers all of it, with the key of the cache's [anchor](crate::store::Anchor): a manifest that is torn, was
//! changed or was written elsewhere is no manifest, and the caller looks at every file. This file knows nothing of entries.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use super::Area;
use super::heads;
use super::table::{Code, FolderRow, Odd, Row, Table, number};
use crate::entry::{Head, Kind};
use crate::store::Store;

/// Raised whenever the format changes, or what `entry::read` makes of the same bytes does.
const FORMAT: u64 = 6;
const MAGIC: [u8; 8] = *b"ralphcat";
const HEADER: usize = 64;
const FOLDER: usize = 24;
const ROW: usize = 56;
const ODD: usize = 16;
const GHOST: usize = 16;
/// How many bytes are read and decoded at once: enough to be quick, and little memory.
const CHUNK: usize = 64 << 10;

/// Paths that the committed index holds and must not answer with, with the hash of the content
/// that it holds.
pub(super) type Ghosts = BTreeMap<String, u64>;

/// What a manifest says.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) table: Table,
    pub(super) ghosts: Ghosts,
    /// The number of the heads file.
    pub(super) heads: u32,
    /// How many bytes of the heads file the rows need.
    pub(super) heads_len: u64,
    /// Whether the rows and ghosts say everything about the index.
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
    decode(Source { file, sum: Xxh3::with_seed(key), chunk: Vec::new() }, len, identity(area, index_id, key))
}

/// Writes the manifest for an index commit. The caller holds the cache lock.
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

/// Removes the manifests but these, and the heads files but those that these may need. What cannot
/// be removed stays, and does no harm.
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

/// Returns what a manifest must say of itself: written by a program that reads entries as this one
/// does, here, for this area and index commit. It comes first, so that of a file from elsewhere nothing more is read.
fn identity(area: Area, index_id: &str, key: u64) -> u64 {
    // The encoding of an empty head changes with most changes of the fields.
    let head = postcard::to_stdvec(&Head::empty(Kind::Knowledge)).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    xxh3_64_with_seed(format!("{FORMAT} {version} {head:?} {} {index_id}", area.cache()).as_bytes(), key)
}

fn encode(manifest: &Manifest, identity: u64, key: u64, flags: impl Fn(&Row) -> u16) -> Option<Vec<u8>> {
    let Manifest { table, ghosts, .. } = manifest;
    let room = HEADER + table.folders.len() * FOLDER + table.rows.len() * ROW + table.names.len();
    let mut bytes = Vec::with_capacity(room + table.odd.len() * 64 + ghosts.len() * 64);
    bytes.resize(HEADER, 0);
    // Texts are written in the order of the records, without those that are not used any more.
    let mut names = Vec::with_capacity(table.names.len());
    let place = |names: &mut Vec<u8>, text: &str| {
        let at = u32::try_from(names.len()).ok()?.to_le_bytes();
        names.extend_from_slice(text.as_bytes());
        Some((at, u16::try_from(text.len()).ok()?.to_le_bytes()))
    };
    for (at, folder) in table.folders.iter().enumerate() {
        let (path, path_len) = place(&mut names, table.folder_path(at))?;
        bytes.extend_from_slice(&folder.stat.to_le_bytes());
        bytes.extend_from_slice(&folder.first.to_le_bytes());
        bytes.extend_from_slice(&path);
        bytes.extend_from_slice(&path_len);
        bytes.extend_from_slice(&[u8::from(folder.again), folder.unreadable, 0, 0, 0, 0]);
    }
    for row in &table.rows {
        let (name, name_len) = place(&mut names, table.name(row))?;
        bytes.extend_from_slice(&row.stat.to_le_bytes());
        bytes.extend_from_slice(&row.hash.to_le_bytes());
        bytes.extend_from_slice(&row.recency.to_le_bytes());
        bytes.extend_from_slice(&row.head_at.to_le_bytes());
        bytes.extend_from_slice(&row.head_len.to_le_bytes());
        bytes.extend_from_slice(&name);
        bytes.extend_from_slice(&row.id.to_le_bytes());
        bytes.extend_from_slice(&row.task.to_le_bytes());
        bytes.extend_from_slice(&row.feature.to_le_bytes());
        bytes.extend_from_slice(&row.section.to_le_bytes());
        bytes.extend_from_slice(&name_len);
        bytes.extend_from_slice(&flags(row).to_le_bytes());
    }
    for odd in &table.odd {
        let (name, name_len) = place(&mut names, &odd.name)?;
        bytes.extend_from_slice(&odd.folder.to_le_bytes());
        bytes.extend_from_slice(&name);
        bytes.extend_from_slice(&name_len);
        bytes.extend_from_slice(&(odd.code as u16).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
    }
    for (path, hash) in ghosts {
        let (path, path_len) = place(&mut names, path)?;
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes.extend_from_slice(&path);
        bytes.extend_from_slice(&path_len);
        bytes.extend_from_slice(&[0; 2]);
    }
    let counts = [table.folders.len(), table.rows.len(), table.odd.len(), ghosts.len(), names.len()];
    bytes.extend_from_slice(&names);
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[16..24].copy_from_slice(&identity.to_le_bytes());
    for (at, count) in counts.into_iter().enumerate() {
        bytes[24 + 4 * at..28 + 4 * at].copy_from_slice(&u32::try_from(count).ok()?.to_le_bytes());
    }
    bytes[44..48].copy_from_slice(&manifest.heads.to_le_bytes());
    bytes[48..56].copy_from_slice(&manifest.heads_len.to_le_bytes());
    bytes[56] = u8::from(manifest.index_is_known);
    let sum = xxh3_64_with_seed(&bytes[16..], key);
    bytes[8..16].copy_from_slice(&sum.to_le_bytes());
    Some(bytes)
}

fn decode(mut source: Source, len: u64, identity: u64) -> Option<Manifest> {
    let mut header = [0; HEADER];
    source.file.read_exact(&mut header).ok()?;
    source.sum.update(&header[16..]);
    if header[..8] != MAGIC || u64_at(&header, 16) != identity {
        return None;
    }
    let counts: [usize; 5] = std::array::from_fn(|at| u32_at(&header, 24 + 4 * at) as usize);
    let [n_folders, n_rows, n_odd, n_ghosts, n_names] = counts;
    // Before memory is taken for the counts, which nothing vouches for yet.
    let expected = [(n_folders, FOLDER), (n_rows, ROW), (n_odd, ODD), (n_ghosts, GHOST), (n_names, 1)];
    let expected = expected.iter().try_fold(HEADER, |sum, &(n, size)| n.checked_mul(size)?.checked_add(sum));
    if expected.map(|expected| expected as u64) != Some(len) {
        return None;
    }
    let mut folders = Vec::with_capacity(n_folders);
    source.records::<FOLDER>(n_folders, |record| {
        folders.push(FolderRow {
            stat: u64_at(record, 0),
            first: u32_at(record, 8),
            path: u32_at(record, 12),
            path_len: u16_at(record, 16),
            again: record[18] != 0,
            unreadable: record[19],
        });
    })?;
    let mut rows = Vec::with_capacity(n_rows);
    source.records::<ROW>(n_rows, |record| {
        rows.push(Row {
            stat: u64_at(record, 0),
            hash: u64_at(record, 8),
            recency: u64_at(record, 16).cast_signed(),
            head_at: u32_at(record, 24),
            head_len: u32_at(record, 28),
            name: u32_at(record, 32),
            id: u32_at(record, 36),
            task: u32_at(record, 40),
            feature: u32_at(record, 44),
            section: u32_at(record, 48),
            name_len: u16_at(record, 52),
            flags: u16_at(record, 54),
        });
    })?;
    let mut odd_places = Vec::with_capacity(n_odd);
    source.records::<ODD>(n_odd, |record| {
        odd_places.push((u32_at(record, 0), u32_at(record, 4), u16_at(record, 8), u16_at(record, 10)));
    })?;
    let mut ghost_places = Vec::with_capacity(n_ghosts);
    source.records::<GHOST>(n_ghosts, |record| {
        ghost_places.push((u64_at(record, 0), u32_at(record, 8), u16_at(record, 12)));
    })?;
    let mut names = vec![0; n_names];
    source.file.read_exact(&mut names).ok()?;
    source.sum.update(&names);
    if source.sum.digest() != u64_at(&header, 8) {
        return None;
    }
    let names = String::from_utf8(names).ok()?;
    let text = |at: u32, len: u16| names.get(at as usize..at as usize + usize::from(len)).map(str::to_owned);
    let odd = odd_places.into_iter().map(|(folder, at, len, code)| {
        let folder = (folder < number(n_folders)).then_some(folder)?;
        Some(Odd { folder, name: text(at, len)?, code: Code::from_number(code)? })
    });
    let odd = odd.collect::<Option<Vec<Odd>>>()?;
    let ghosts = ghost_places.into_iter().map(|(hash, at, len)| Some((text(at, len)?, hash)));
    let ghosts = ghosts.collect::<Option<Ghosts>>()?;
    let firsts = || folders.iter().map(|folder: &FolderRow| folder.first);
    if !firsts().is_sorted() || firsts().next().unwrap_or(number(n_rows)) != 0 && n_folders > 0 {
        return None;
    }
    if firsts().next_back().is_some_and(|last| last > number(n_rows)) || n_folders == 0 && n_rows > 0 {
        return None;
    }
    Some(Manifest {
        table: Table { names, folders, rows, odd },
        ghosts,
        heads: u32_at(&header, 44),
        heads_len: u64_at(&header, 48),
        index_is_known: header[56] != 0,
    })
}

/// A file that is read from the front and summed up on the way.
struct Source {
    file: File,
    sum: Xxh3,
    chunk: Vec<u8>,
}

impl Source {
    /// Reads `n` records of `SIZE` bytes.
    fn records<const SIZE: usize>(&mut self, n: usize, mut each: impl FnMut(&[u8; SIZE])) -> Option<()> {
        let mut left = n;
        while left > 0 {
            let now = left.min(CHUNK / SIZE);
            self.chunk.resize(now * SIZE, 0);
            self.file.read_exact(&mut self.chunk).ok()?;
            self.sum.update(&self.chunk);
            self.chunk.as_chunks::<SIZE>().0.iter().for_each(&mut each);
            left -= now;
        }
        Some(())
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}
