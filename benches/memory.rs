//! Parse, scan, build and query, in the library: `cargo bench`.
//!
//! Times of a shared machine are worth little by themselves; compare two runs on the same one
//! (`cargo bench -- --baseline NAME`). The figures that the project holds itself to are ratios, and
//! `table.py` makes them.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::SystemTime;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ralph_memory::catalog::{Area, Catalog};
use ralph_memory::index::{Document, OverlayBuilder, Snapshot};
use ralph_memory::retrieve::{self, Query};
use ralph_memory::store::Store;
use ralph_memory::{Memory, Request, Task, entry};

/// How many entries the memory of the benches has.
const N_ENTRIES: u64 = 1_000;

const WORDS: [&str; 40] = [
    "connection",
    "pool",
    "timeout",
    "retry",
    "migration",
    "index",
    "cache_dir",
    "parseHttpRequest",
    "scheduler",
    "worker",
    "deadlock",
    "snapshot",
    "serialise",
    "token",
    "budget",
    "frontmatter",
    "lock",
    "watcher",
    "rebuild",
    "commit",
    "checksum",
    "segment",
    "postings",
    "tokenizer",
    "fixture",
    "proptest",
    "clippy",
    "release",
    "nightly",
    "toolchain",
    "path",
    "symlink",
    "rename",
    "fsync",
    "journal",
    "attempt",
    "outcome",
    "verify",
    "context",
    "agent",
];

/// Returns a number that looks random and is the same each time (splitmix64).
fn number(seed: u64) -> u64 {
    let mut number = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn words(seed: u64, n: u64) -> String {
    let word = |at: u64| WORDS[usize::try_from(number(seed * 1_000 + at) % 40).unwrap_or(0)];
    (0..n).map(word).collect::<Vec<_>>().join(" ")
}

/// About 220 words, as an entry has.
fn file(seed: u64) -> String {
    let paragraphs: Vec<String> = (0..5).map(|part| words(seed * 10 + part, 40)).collect();
    format!(
        "---\ntitle: \"{}\"\ntags: [{}, {}]\ncategory: pitfall\ncreated_at: \"2026-02-17T12:00:00Z\"\n---\n\n{}\n\n```sh\ncargo {}\n```\n",
        words(seed, 5),
        words(seed + 1, 1),
        words(seed + 2, 1),
        paragraphs.join(".\n\n"),
        words(seed, 2),
    )
}

fn memory(root: &Path) -> Memory {
    Memory::init(root).expect("a temporary folder can be written");
    for seed in 0..N_ENTRIES {
        let path = root.join(format!(".ralph/knowledge/entry-{seed}.md"));
        fs::write(path, file(seed)).expect("a temporary folder can be written");
    }
    let memory = Memory::open(root).expect("it was made above");
    memory.rebuild_index().expect("nothing else writes the index");
    memory
}

fn benches(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    let memory = memory(root);
    let store = Store::open(root).expect("it was made above");
    let text = file(7);

    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("entry", |bencher| bencher.iter(|| entry::read("knowledge/x.md", black_box(text.as_bytes()))));
    group.finish();

    let mut group = criterion.benchmark_group("1,000 entries");
    group.throughput(Throughput::Elements(N_ENTRIES));
    group.bench_function("scan and read all", |bencher| {
        bencher.iter(|| Catalog::scan(&store, Area::Live, None, SystemTime::now()).read(&store, &mut |_, _| {}));
    });
    group.sample_size(10);
    group.bench_function("build", |bencher| bencher.iter(|| memory.rebuild_index().expect("nothing else writes it")));
    group.finish();

    let catalog = Catalog::scan(&store, Area::Live, None, SystemTime::now()).read(&store, &mut |_, _| {});
    let mut overlay = OverlayBuilder::new();
    for row in catalog.rows() {
        let path = catalog.path(row);
        let bytes = store.read(&path).expect("it was written above").bytes;
        let entry = entry::read(&path, &bytes);
        let document = Document { path: &path, head: &entry.head, body: &entry.body, text: &entry.text };
        overlay.add(document).expect("memory is enough");
    }
    let mut snapshot = Snapshot::new();
    snapshot.add_overlay(&overlay.finish().expect("memory is enough")).expect("it was made above");
    let mut seed = 0;
    let mut query = || {
        seed += 1;
        Query { text: words(seed, 22), ..Query::default() }
    };
    let now = chrono::DateTime::from(SystemTime::now());
    let mut group = criterion.benchmark_group("ask 1,000 entries");
    group.bench_function("query", |bencher| {
        let search = |query: Query| retrieve::search(&[&catalog], &snapshot, &query, None, 10, now, &|_, _| true);
        bencher.iter_batched(&mut query, search, BatchSize::SmallInput);
    });
    group.bench_function("search, scan included", |bencher| {
        bencher.iter_batched(&mut query, |query| memory.search(&query, 10), BatchSize::SmallInput);
    });
    group.bench_function("context", |bencher| {
        let request = |query: Query| Request { task: Task::new(query.text), budget: None, by_tools: false };
        bencher.iter_batched(|| request(query()), |request| memory.context(&request), BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
