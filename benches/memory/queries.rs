//! Measures queries in a process with an open index: the cost of a search without its scan.
//!
//! `cargo bench --bench memory -- queries DIR QUERIES` prints the median and the 99th percentile
//! of the thread's CPU time, in milliseconds, over the queries of a file with one JSON object a line
//! (`{"text": "…"}`). The program must have built the index of the memory in `DIR`, with this user's key.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times and counts are small"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ralph_memory::Query;
use ralph_memory::internals::{self, Area, Catalog, Committed, Snapshot, Statistics, Store};
use rustix::time::{ClockId, clock_gettime};

pub(crate) fn run(root: &str, queries: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut store = Store::open(Path::new(root))?;
    store.keep_key_in(state_folder().into_iter().collect());
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let folder = store.folder(&format!("cache/{}/live", internals::folder_name()))?;
    let key = store.cache_key().map_err(|_| "there is no cache; run `ralph-memory index`")?;
    let committed =
        Committed::open(folder, key, boot.trim()).map_err(|_| "there is no index; run `ralph-memory index`")?;
    let scan = Catalog::scan(&store, Area::Live, Some(committed.id()), SystemTime::now());
    let catalog = scan.read(&store, &mut |_, _| {});
    let mut snapshot = Snapshot::default();
    snapshot.add_committed(&committed, &catalog.stale_paths())?;

    let mut queries_parsed = Vec::new();
    for line in std::fs::read_to_string(queries)?.lines() {
        let query: serde_json::Value = serde_json::from_str(line)?;
        let text = query["text"].as_str().ok_or("a query without text")?.to_owned();
        queries_parsed.push(Query { text, ..Query::default() });
    }
    let cpu = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
    };
    let now = chrono::Utc::now();
    // The least of three passes for each query: the machine's other work is not the query's.
    let alone = Statistics::default();
    let mut times = vec![f64::INFINITY; queries_parsed.len()];
    for _ in 0..3 {
        for (query, time) in queries_parsed.iter().zip(&mut times) {
            let started = cpu();
            std::hint::black_box(internals::search(&[&catalog], (&snapshot, &alone), query, None, 10, now, &|_| true)?);
            *time = time.min(cpu() - started);
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    writeln!(
        std::io::stdout(),
        "{{\"p50_ms\":{:.4},\"p99_ms\":{:.4},\"queries\":{}}}",
        at(0.5),
        at(0.99),
        times.len()
    )?;
    Ok(())
}

/// Returns the folder in which the program keeps this user's key, which seals the index.
fn state_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local").join("state")));
    state.map(|state| state.join("ralph-memory"))
}
