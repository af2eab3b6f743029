//! Measures `search_memory` through a running server beside the same call of the library.
//!
//! `cargo bench --bench memory -- served DIR QUERIES` prints the median and the 99th percentile of the time, in
//! milliseconds, over the queries of a file with one JSON object per line (`{"text": "…"}`), and the median of the
//! server's overhead. Each call of both opens the memory in `DIR`, scans it, searches it and reads the lines of the
//! excerpts.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times and counts are small"
)]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ralph_memory::{Memory, Query};
use serde_json::json;

use crate::agent::Agent;

/// How long an excerpt of the server is.
const EXCERPT: usize = 200;
const LIMIT: usize = 10;

pub(crate) fn run(root: &str, queries: &str) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ralph-memory"));
    command.args(["mcp", "--root", root]).env_clear().env("HOME", root);
    let mut agent = Agent::greeted(command);
    let (mut served, mut called, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
    let text = std::fs::read_to_string(queries)?;
    // Once for nothing, so that both find a warm cache.
    for is_counted in [false, true] {
        for line in text.lines() {
            let query: serde_json::Value = serde_json::from_str(line)?;
            let text = query["text"].as_str().ok_or("a query without text")?.to_owned();
            // The server takes no more.
            let text: String = text.chars().take(4000).collect();
            let begun = Instant::now();
            let result = agent.call("search_memory", &json!({"query": text, "limit": LIMIT}));
            let by_server = begun.elapsed().as_secs_f64() * 1e3;
            let begun = Instant::now();
            let memory = Memory::open(Path::new(root))?;
            let query = Query { text, ..Query::default() };
            let found = memory.search(&query, LIMIT)?;
            std::hint::black_box(memory.excerpts(found.hits.iter().map(|hit| &hit.entry), &query.text, EXCERPT));
            let by_library = begun.elapsed().as_secs_f64() * 1e3;
            let n_served = result["structuredContent"]["entries"].as_array().map_or(0, Vec::len);
            assert_eq!(n_served, found.hits.len(), "both look at the same");
            if is_counted {
                served.push(by_server);
                called.push(by_library);
                beyond.push(by_server - by_library);
            }
        }
    }
    let at = |times: &mut Vec<f64>, share: f64| {
        times.sort_by(f64::total_cmp);
        times[((times.len() - 1) as f64 * share) as usize]
    };
    let mut out = std::io::stdout();
    for (name, times) in [("served", &mut served), ("library", &mut called), ("beyond", &mut beyond)] {
        writeln!(out, "{name}: p50 {:.2} ms, p99 {:.2} ms of {}", at(times, 0.5), at(times, 0.99), times.len())?;
    }
    Ok(())
}
