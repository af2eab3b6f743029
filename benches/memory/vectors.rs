//! Measures the exact search over all vectors: `cargo bench --bench memory -- vectors [N …]`, 10,000, 100,000 and
//! 1,000,000 by default, each of 768 dimensions in a file of its own in a temporary folder (0.8 GB for the largest).
//! Beside it is the time for reading the same file. Minima of several runs, in milliseconds.

use std::error::Error;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use ralph_memory::Memory;
use ralph_memory::internals::{QueryVector, Store, VectorCache, VectorRecord};

const DIMENSIONS: usize = 768;
const ROUNDS: usize = 7;
/// How many vectors are added at once.
const GROUP: u64 = 2_000;

pub(crate) fn run(sizes: &[String]) -> Result<(), Box<dyn Error>> {
    let asked: Vec<u64> = sizes.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    let sizes = if asked.is_empty() { vec![10_000, 100_000, 1_000_000] } else { asked };
    let mut out = std::io::stdout();
    writeln!(out, "| vectors | file, MB | read, ms | search, ms | peak memory so far, MB |\n|---|---|---|---|---|")?;
    for size in sizes {
        let place = tempfile::tempdir()?;
        Memory::init(place.path())?;
        let store = Store::open(place.path())?;
        let vectors = VectorCache::of("bench");
        let lock = store.cache_lock().ok_or("the cache is locked")?;
        for first in (0..size).step_by(usize::try_from(GROUP)?) {
            let group = first..(first + GROUP).min(size);
            let records: Vec<VectorRecord> =
                group.map(|file| VectorRecord::new(file, file, 0, 1, &vector(file))).collect();
            vectors.add(&store, &lock, &records)?;
        }
        let folder = place.path().join(".ralph/cache/vectors-v1");
        let path = fs::read_dir(folder)?.next().ok_or("no file")??.path();
        let query = QueryVector::new(&vector(u64::MAX));
        let (mut read, mut searched) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let mut file = File::open(&path)?;
            let mut buffer = vec![0; 1 << 20];
            while file.read(&mut buffer)? > 0 {}
            read = read.min(begun.elapsed());
            let begun = Instant::now();
            let scan = vectors.scan(&store, Some(&query));
            searched = searched.min(begun.elapsed());
            if scan.best.len() as u64 != size {
                return Err("a vector is missing".into());
            }
        }
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        let megabytes = fs::metadata(&path)?.len() / 1_000_000;
        writeln!(out, "| {size} | {megabytes} | {:.1} | {:.1} | {} |", ms(read), ms(searched), peak_memory())?;
    }
    Ok(())
}

/// A vector that is like no other, and the same each time.
pub(crate) fn vector(seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(u16::try_from(state >> 48).unwrap_or(0)) / 32_768.0 - 1.0
    };
    (0..DIMENSIONS).map(|_| next()).collect()
}

/// The peak memory of this process in megabytes, according to Linux.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    let kilobytes: Option<u64> = line.split_whitespace().nth(1).and_then(|text| text.parse().ok());
    kilobytes.map_or_else(|| "?".to_owned(), |kilobytes| (kilobytes / 1_000).to_string())
}
