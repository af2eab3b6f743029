//! Measurements of the library: `cargo bench --bench memory -- NAME [ARGUMENT…]`, and without a name of parse, scan,
//! build and query.
//!
//! Times on a shared machine are worth little by themselves; compare two runs on the same one. The project's targets
//! are ratios, and `benches/table.py` measures them. The README beside that script explains the other names.

#![allow(dead_code, reason = "of what the tests use it needs only a part")]

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use ralph_memory::internals::{self, Area, Catalog, Document, OverlayBuilder, Snapshot, Statistics, Store, entry};
use ralph_memory::{Memory, Query, Request, Task};

#[path = "../../tests/integration/agent.rs"]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed measurement")]
mod agent;
mod everywhere;
mod queries;
mod served;
#[path = "../../tests/integration/standin/mod.rs"]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed call")]
mod standin;
mod transcripts;
mod vectors;

type Done = Result<(), Box<dyn Error>>;

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

/// How long each measurement runs, and how often it is repeated at least.
const ENOUGH: (Duration, usize) = (Duration::from_secs(2), 10);

/// Calls something over and over, and prints the minimum and the median of how long it took.
fn measure<Made, Given>(name: &str, mut make: impl FnMut() -> Made, mut call: impl FnMut(Made) -> Given) -> Done {
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < ENOUGH.0 || times.len() < ENOUGH.1 {
        let made = make();
        let started = Instant::now();
        let given = black_box(call(made));
        times.push(started.elapsed());
        drop(given);
    }
    times.sort_unstable();
    let (least, median) = (times[0], times[times.len() / 2]);
    writeln!(io::stdout(), "{name:<40} {least:>10.1?} at least, {median:>10.1?} the median of {}", times.len())?;
    Ok(())
}

fn parse_scan_build_query() -> Done {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    let memory = memory(root);
    let store = Store::open(root)?;
    let text = file(7);
    measure("parse an entry", || (), |()| entry::read("knowledge/x.md", black_box(text.as_bytes())))?;
    let scan = || Catalog::scan(&store, Area::Live, None, SystemTime::now()).read(&store, &mut |_, _| {});
    measure("scan and read 1,000 entries", || (), |()| scan())?;
    measure("build the index of 1,000 entries", || (), |()| memory.rebuild_index())?;

    let catalog = scan();
    let mut overlay = OverlayBuilder::default();
    for row in catalog.rows() {
        let path = catalog.path(row);
        let bytes = store.read(&path).map_err(|_| "an entry cannot be read")?.bytes;
        let entry = entry::read(&path, &bytes);
        overlay.add(Document { path: &path, head: &entry.head, body: &entry.body, text: &entry.text })?;
    }
    let mut snapshot = Snapshot::default();
    snapshot.add_overlay(&overlay.finish()?)?;
    let mut seed = 0;
    let mut query = || {
        seed += 1;
        Query { text: words(seed, 22), ..Query::default() }
    };
    let now = chrono::DateTime::from(SystemTime::now());
    let alone = Statistics::default();
    let search = |query: Query| internals::search(&[&catalog], (&snapshot, &alone), &query, None, 10, now, &|_| true);
    measure("query 1,000 entries", &mut query, search)?;
    measure("search 1,000 entries, scan included", &mut query, |query| memory.search(&query, 10))?;
    let request = || Request { task: Task::new(query().text), ..Request::default() };
    measure("context of 1,000 entries", request, |request| memory.context(&request))
}

/// Serves the Qdrant server of the tests until standard input ends, so that a ranking with a shared index can be measured where no Qdrant is
/// installed. It compares every vector, keeps them in memory, and answers as a Qdrant 1.18 was seen to; it is no database.
fn serve_qdrant() -> Done {
    let server = standin::qdrant::Standin::start(None);
    writeln!(io::stdout(), "{}", server.url)?;
    io::Read::read_to_end(&mut io::stdin(), &mut Vec::new())?;
    Ok(())
}

fn main() -> Done {
    // `cargo bench` puts an argument of its own behind the others.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let Some((name, arguments)) = arguments.split_first() else { return parse_scan_build_query() };
    match (name.as_str(), arguments) {
        ("queries", [root, queries]) => queries::run(root, queries),
        ("served", [root, queries]) => served::run(root, queries),
        ("transcripts", arguments) => transcripts::run(arguments),
        ("vectors", sizes) => vectors::run(sizes),
        ("everywhere", projects) => everywhere::run(projects),
        ("qdrant-standin", []) => serve_qdrant(),
        _ => Err("usage: memory [queries DIR QUERIES | served DIR QUERIES | transcripts claude|codex|text [LINES] [--print] | \
                  vectors [N…] | everywhere [PROJECTS] | qdrant-standin]"
            .into()),
    }
}
