//! The vectors of a memory's chunks, in one file of the cache for each model.
//!
//! A record belongs to a file's bytes, by their fingerprint: an entry that is moved keeps its vectors, and one that is
//! changed has none until it is embedded again. It also belongs to a chunk's text: a change of tags embeds nothing.
//! Numbers have 8 bits, which has no measurable effect on the ranking. Each query scans all vectors: a graph saves time
//! only from hundreds of thousands on.
//!
//! ```text
//! header  "ralphvec", version u32, dimensions u32, checksum u64                                   24 bytes
//! record  file u64, content u64, number u16, of u16, scale f32, one i8 for each dimension, checksum u32
//! ```
//!
//! Numbers have this machine's byte order. Records are only ever appended, those of an entry together; torn and flipped
//! ones are skipped. Checksums have the key of the cache's [anchor](crate::store::Store::cache_key), so that vectors
//! that came with a repository do not count. The file contains no text.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Write as _};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::FOLDER;
use super::ollama::full_name;
use crate::store::{Lock, Store};

const MAGIC: [u8; 8] = *b"ralphvec";
const VERSION: u32 = 2;
const HEADER: usize = 24;
/// The bytes of a record beside its numbers.
const OVERHEAD: usize = size_of::<RecordHead>() + 4;
/// About how much of the file is in memory at a time, in bytes.
const BUFFER: usize = 1 << 20;
/// A query's numbers have so many bits that its sum with a record's cannot overflow: 127 · 2^8 · 8,192 < 2^31.
const QUERY_SCALE: f32 = 256.0;

/// What a vector belongs to, as the file has it.
#[derive(Debug, Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RecordHead {
    /// The fingerprint of the file's bytes.
    pub file: u64,
    /// The hash of the chunk's text.
    pub content: u64,
    /// Which chunk of the file it is, from 0.
    pub number: u16,
    /// How many chunks the file has.
    pub of: u16,
    /// The value of a step of the numbers.
    scale: f32,
}

/// A chunk's vector, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorRecord {
    /// What it belongs to.
    pub head: RecordHead,
    numbers: Vec<i8>,
}

impl VectorRecord {
    /// Rounds a vector to 8 bits.
    pub fn new(file: u64, content: u64, number: u16, of: u16, vector: &[f32]) -> VectorRecord {
        let scale = step(vector, 127.0);
        #[expect(clippy::cast_possible_truncation, reason = "rounded, and 127 at most")]
        let numbers = vector.iter().map(|value| (value / scale).round().clamp(-127.0, 127.0) as i8).collect();
        VectorRecord { head: RecordHead { file, content, number, of, scale }, numbers }
    }

    /// Returns the same vector for a chunk of the same text elsewhere.
    #[must_use]
    pub fn at(&self, file: u64, number: u16, of: u16) -> VectorRecord {
        VectorRecord { head: RecordHead { file, number, of, ..self.head }, numbers: self.numbers.clone() }
    }

    /// Returns how many dimensions it has.
    pub fn dimensions(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the vector as precisely as it is stored.
    pub fn vector(&self) -> Vec<f32> {
        self.numbers.iter().map(|number| f32::from(*number) * self.head.scale).collect()
    }

    /// Returns the cosine of the angle between it and a query.
    pub fn similarity(&self, query: &QueryVector) -> f32 {
        query.similarity(&self.head, &self.numbers)
    }
}

/// Returns the value of one step if the largest number of a vector has this many.
fn step(vector: &[f32], steps: f32) -> f32 {
    let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    if largest > 0.0 { largest / steps } else { 1.0 }
}

/// A query's vector, in integers.
#[derive(Debug, Clone)]
pub struct QueryVector {
    numbers: Vec<i16>,
    scale: f32,
}

impl QueryVector {
    /// Rounds the vector of a query.
    pub fn new(vector: &[f32]) -> QueryVector {
        let scale = step(vector, QUERY_SCALE);
        #[expect(clippy::cast_possible_truncation, reason = "rounded, and 256 at most")]
        let numbers = vector.iter().map(|value| (value / scale).round() as i16).collect();
        QueryVector { numbers, scale }
    }

    /// Returns how many dimensions it has.
    pub fn dimensions(&self) -> usize {
        self.numbers.len()
    }

    fn similarity(&self, head: &RecordHead, numbers: &[i8]) -> f32 {
        let products = self.numbers.iter().zip(numbers).map(|(one, other)| i32::from(*one) * i32::from(*other));
        let sum: i32 = products.sum();
        #[expect(clippy::cast_precision_loss, reason = "a cosine needs no more than 24 bits")]
        let sum = sum as f32;
        sum * head.scale * self.scale
    }
}

/// The result of a scan of all vectors for a memory's files, by their fingerprints.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VectorScan {
    /// For each file all of whose chunks have a vector, the cosine of its best chunk and the query.
    pub best: HashMap<u64, f32>,
    /// How many records there are.
    pub records: usize,
}

/// The vectors of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorCache {
    name: String,
}

impl VectorCache {
    /// Returns those of a model. No file is opened.
    pub fn of(model: &str) -> VectorCache {
        VectorCache { name: format!("{FOLDER}/{:016x}", xxh3_64(full_name(model).as_bytes())) }
    }

    /// Returns the path of their file, below `cache/`.
    pub fn path(&self) -> &str {
        &self.name
    }

    /// Returns how many dimensions they have; `None` if no vectors can be read.
    pub fn dimensions(&self, store: &Store) -> Option<usize> {
        read_header(&mut store.open_cache(&self.name).ok()?, store.cache_key().ok()?)
    }

    /// Scans every vector; without a query all cosines are 0. A record that cannot be read does not count: its file is
    /// embedded again.
    pub fn scan(&self, store: &Store, query: Option<&QueryVector>) -> VectorScan {
        let mut scan = VectorScan::default();
        let mut current: Option<(u64, f32, u16)> = None;
        let wanted = query.map(|query| query.numbers.len());
        self.each(store, wanted, &mut |record, numbers| {
            scan.records += 1;
            let similarity = query.map_or(0.0, |query| query.similarity(record, numbers));
            let (file, best, n) = match current {
                Some((file, best, n)) if file == record.file && n == record.number => {
                    (file, best.max(similarity), n + 1)
                }
                // A file whose first records are lost is incomplete.
                _ if record.number > 0 => return,
                _ => (record.file, similarity, 1),
            };
            current = Some((file, best, n));
            if n == record.of {
                scan.best.insert(file, best);
                current = None;
            }
        });
        scan
    }

    /// Returns the vectors of chunks with these contents, by content; with `dimensions` none of other ones.
    pub fn with_contents(
        &self,
        store: &Store,
        dimensions: Option<usize>,
        contents: &dyn Fn(u64) -> bool,
    ) -> HashMap<u64, VectorRecord> {
        let mut found = HashMap::new();
        self.each(store, dimensions, &mut |head, numbers| {
            if contents(head.content) {
                let record = || VectorRecord { head: *head, numbers: numbers.to_vec() };
                found.entry(head.content).or_insert_with(record);
            }
        });
        found
    }

    /// Adds records, those of a file one after the other, all of the same dimensions. Records of other dimensions are
    /// replaced: they are of a model that had the same name.
    ///
    /// # Errors
    ///
    /// Those of the file system. Existing records stay.
    pub fn add(&self, store: &Store, _lock: &Lock, records: &[VectorRecord]) -> io::Result<()> {
        let Some(first) = records.first() else { return Ok(()) };
        let (dimensions, key) = (first.numbers.len(), store.make_cache_key()?);
        let mut bytes = Vec::with_capacity(records.len() * (OVERHEAD + dimensions) + HEADER);
        let is_new = self.dimensions(store) != Some(dimensions);
        if is_new {
            bytes.extend(header(dimensions, key));
        }
        for record in records {
            write(&mut bytes, &record.head, &record.numbers, key);
        }
        if is_new {
            return store.write_cache(&self.name, &bytes);
        }
        let mut file = store.append_cache(&self.name)?;
        // A killed process may have left part of a record, and all later records would be shifted.
        let whole = file.metadata()?.len();
        let surplus = whole.saturating_sub(HEADER as u64) % (OVERHEAD + dimensions) as u64;
        if surplus > 0 {
            file.set_len(whole - surplus)?;
        }
        file.write_all(&bytes)
    }

    /// Removes all of them.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn clear(&self, store: &Store, _lock: &Lock) -> io::Result<()> {
        store.remove_cache(&self.name).map(|_| ())
    }

    /// Rewrites the file with only the records of the files that `keeps` accepts, each once.
    ///
    /// # Errors
    ///
    /// Those of the file system; the old file is then unchanged.
    pub fn compact(&self, store: &Store, _lock: &Lock, keeps: &dyn Fn(u64) -> bool) -> io::Result<()> {
        let Some(dimensions) = self.dimensions(store) else { return Ok(()) };
        let key = store.make_cache_key()?;
        let mut bytes = header(dimensions, key);
        let mut kept: HashSet<(u64, u16)> = HashSet::new();
        self.each(store, Some(dimensions), &mut |head, numbers| {
            if keeps(head.file) && kept.insert((head.file, head.number)) {
                write(&mut bytes, head, numbers, key);
            }
        });
        store.write_cache(&self.name, &bytes)
    }

    /// Passes every intact record to `visit`, if the file has the wanted dimensions or none are wanted.
    fn each(&self, store: &Store, wanted: Option<usize>, visit: &mut dyn FnMut(&RecordHead, &[i8])) {
        let (Ok(key), Ok(mut file)) = (store.cache_key(), store.open_cache(&self.name)) else { return };
        let Some(dimensions) = read_header(&mut file, key) else { return };
        if wanted.is_some_and(|wanted| wanted != dimensions) {
            return;
        }
        let size = OVERHEAD + dimensions;
        let whole = (BUFFER / size).max(1) * size;
        let mut buffer = Vec::with_capacity(whole);
        loop {
            buffer.clear();
            // A read that fails ends the file.
            let result = (&file).take(whole as u64).read_to_end(&mut buffer);
            for (head, numbers) in buffer.chunks_exact(size).filter_map(|bytes| intact(bytes, key)) {
                visit(&head, numbers);
            }
            if result.is_err() || buffer.len() < whole {
                return;
            }
        }
    }
}

/// Returns what a record of the file says, unless it is damaged.
fn intact(bytes: &[u8], key: u64) -> Option<(RecordHead, &[i8])> {
    let (data, sum) = bytes.split_last_chunk()?;
    let (head, numbers) = RecordHead::read_from_prefix(data).ok()?;
    // No number of a vector of length 1 exceeds 1.
    let is_whole = u32::from_ne_bytes(*sum) == checksum(data, key) && (0.0..=1.0).contains(&head.scale);
    Some((head, <[i8]>::ref_from_bytes(numbers).ok()?)).filter(|_| is_whole)
}

fn write(bytes: &mut Vec<u8>, head: &RecordHead, numbers: &[i8], key: u64) {
    let start = bytes.len();
    bytes.extend(head.as_bytes());
    bytes.extend(numbers.as_bytes());
    let sum = checksum(&bytes[start..], key);
    bytes.extend(sum.as_bytes());
}

fn checksum(bytes: &[u8], key: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "half of a hash is one")]
    let sum = xxh3_64_with_seed(bytes, key) as u32;
    sum
}

fn header(dimensions: usize, key: u64) -> Vec<u8> {
    let dimensions = u32::try_from(dimensions).unwrap_or(u32::MAX);
    let header = [&MAGIC[..], VERSION.as_bytes(), dimensions.as_bytes()].concat();
    [&header[..], xxh3_64_with_seed(&header, key).as_bytes()].concat()
}

/// Returns the dimensions of the records that follow, and leaves the file at the first of them.
fn read_header(file: &mut File, key: u64) -> Option<usize> {
    let mut bytes = [0; HEADER];
    file.read_exact(&mut bytes).ok()?;
    let dimensions = u32::from_ne_bytes(*bytes[12..].first_chunk()?) as usize;
    (header(dimensions, key) == bytes && dimensions > 0 && dimensions <= 8_192).then_some(dimensions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vector of length 1 in some direction.
    fn unit(seed: u64, dimensions: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = xxh3_64(&state.to_le_bytes());
            f32::from(u16::try_from(state >> 48).unwrap()) / 32768.0 - 1.0
        };
        let vector: Vec<f32> = (0..dimensions).map(|_| next()).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.into_iter().map(|value| value / length).collect()
    }

    fn cosine(one: &[f32], other: &[f32]) -> f32 {
        one.iter().zip(other).map(|(one, other)| one * other).sum()
    }

    fn store() -> (tempfile::TempDir, Store) {
        let place = tempfile::tempdir().unwrap();
        let store = Store::create_root(place.path()).unwrap();
        (place, store)
    }

    /// The cost of 8 bits: a hundredth at most, while meanings differ by tenths.
    #[test]
    fn numbers_of_8_bits_are_precise_enough() {
        for dimensions in [3, 96, 768, 1_024] {
            for seed in 0..200 {
                let (one, other) = (unit(seed, dimensions), unit(seed + 1_000, dimensions));
                // Alike, and not alike.
                let near: Vec<f32> = one.iter().zip(&other).map(|(one, other)| one + 0.5 * other).collect();
                for vector in [&one, &other, &near] {
                    let exact = cosine(&one, vector);
                    let kept = VectorRecord::new(1, 2, 0, 1, vector).similarity(&QueryVector::new(&one));
                    assert!((exact - kept).abs() < 0.01, "{dimensions} {seed}: {exact} {kept}");
                }
            }
        }
    }

    #[test]
    fn no_sum_overflows() {
        let ones = vec![1.0f32; 8_192];
        let kept = VectorRecord::new(1, 2, 0, 1, &ones).similarity(&QueryVector::new(&ones));
        assert!((kept - 8_192.0).abs() < 50.0, "{kept}");
        let zeros = vec![0.0f32; 8];
        assert!(VectorRecord::new(1, 2, 0, 1, &zeros).similarity(&QueryVector::new(&zeros)).abs() < 1e-9);
    }

    #[test]
    fn the_best_chunk_counts_and_half_an_entry_does_not() {
        let (_place, store) = store();
        let vectors = VectorCache::of("m");
        let lock = store.cache_lock().unwrap();
        let (query, far) = (unit(1, 96), unit(2, 96));
        let record = |file, number, of, vector: &[f32]| {
            VectorRecord::new(file, 100 * file + u64::from(number), number, of, vector)
        };
        let whole = [record(7, 0, 2, &far), record(7, 1, 2, &query)];
        vectors.add(&store, &lock, &whole).unwrap();
        vectors.add(&store, &lock, &[record(8, 0, 3, &query), record(8, 1, 3, &query)]).unwrap();
        vectors.add(&store, &lock, &[record(9, 0, 1, &far)]).unwrap();
        let scan = vectors.scan(&store, Some(&QueryVector::new(&query)));
        let mut files: Vec<u64> = scan.best.keys().copied().collect();
        files.sort_unstable();
        assert_eq!((files, scan.records), (vec![7, 9], 5));
        assert!(scan.best[&7] > 0.99 && scan.best[&9] < 0.5, "{scan:?}");
        assert_eq!(vectors.scan(&store, Some(&QueryVector::new(&unit(1, 64)))), VectorScan::default());
        let known = vectors.with_contents(&store, Some(96), &|content| content == 701);
        assert_eq!(known[&701].at(7, 1, 2), whole[1]);
        assert!(vectors.with_contents(&store, Some(64), &|_| true).is_empty());
        assert_eq!(VectorCache::of("m:latest"), vectors);
        assert_ne!(VectorCache::of("m:small"), vectors);
    }

    #[test]
    fn compaction_drops_the_rest_and_keeps_each_record_once() {
        let (_place, store) = store();
        let vectors = VectorCache::of("m");
        let lock = store.cache_lock().unwrap();
        for _ in 0..3 {
            for file in 0..50 {
                vectors.add(&store, &lock, &[VectorRecord::new(file, file, 0, 1, &unit(file, 32))]).unwrap();
            }
        }
        vectors.compact(&store, &lock, &|file| file % 2 == 0).unwrap();
        let scan = vectors.scan(&store, None);
        assert_eq!((scan.best.len(), scan.records), (25, 25));
        assert!(scan.best.keys().all(|file| file % 2 == 0));
    }

    /// Records of other texts, under the fingerprints of files that are here, would be found by foreign words.
    #[test]
    fn vectors_from_elsewhere_do_not_count() {
        let ((_here, here), (_there, there)) = (store(), store());
        let vectors = VectorCache::of("m");
        let record = VectorRecord::new(1, 2, 0, 1, &unit(1, 8));
        let lock = there.cache_lock().unwrap();
        vectors.add(&there, &lock, std::slice::from_ref(&record)).unwrap();
        let bytes = std::fs::read(there.cache().join(vectors.path())).unwrap();
        let lock = here.cache_lock().unwrap();
        here.make_cache_key().unwrap();
        here.write_cache(vectors.path(), &bytes).unwrap();
        assert_eq!((vectors.scan(&here, None).records, vectors.dimensions(&here)), (0, None));
        // Nor behind a header of here.
        let key = here.cache_key().unwrap();
        here.write_cache(vectors.path(), &[&header(8, key)[..], &bytes[HEADER..]].concat()).unwrap();
        assert_eq!((vectors.scan(&here, None).records, vectors.dimensions(&here)), (0, Some(8)));
        here.write_cache(vectors.path(), &bytes).unwrap();
        vectors.add(&here, &lock, &[record]).unwrap();
        assert_eq!(vectors.scan(&here, None).records, 1);
    }
}
