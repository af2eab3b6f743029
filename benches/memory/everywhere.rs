//! Measures the points of many projects on one Qdrant server: `cargo bench --bench memory -- everywhere [PROJECTS]`, 1,000 by
//! default, each of 100 entries with a vector of 384 dimensions and about 100 words. The server is the tests' own, which
//! compares every vector: its times are an upper limit, and those of the client are the program's.

use std::error::Error;
use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ralph_memory::Id;
use ralph_memory::internals::qdrant::{ElsewhereQuery, Point, QdrantClient, Timeouts, WordVector};
use ralph_memory::internals::settings::QdrantSettings;
use rustix::time::{ClockId, clock_gettime};

use crate::standin::qdrant::Standin;
use crate::vectors::vector;

const DIMENSIONS: usize = 384;
const ENTRIES: u64 = 100;
const QUERIES: u64 = 20;
/// How many words there are, as a power of two.
const LOG_VOCABULARY: u64 = 14;

pub(crate) fn run(projects: &[String]) -> Result<(), Box<dyn Error>> {
    let n_projects = projects.first().map_or(Ok(1_000), |text| text.parse::<u64>())?;
    let server = Standin::start(None);
    let n_bytes = || server.knobs.n_bytes.load(Ordering::SeqCst);
    let client = |project: u64| {
        let settings = QdrantSettings {
            url: server.url.clone(),
            project: format!("p{project}"),
            timeout_ms: 60_000,
            ..QdrantSettings::default()
        };
        QdrantClient::new(&settings, "all-minilm").ok_or("no server")
    };
    let begun = (Instant::now(), cpu());
    for project in 0..n_projects {
        let points = (0..ENTRIES).map(|entry| point(project * ENTRIES + entry)).collect::<Option<Vec<Point>>>();
        client(project)?.put(&points.ok_or("no id")?, Timeouts::Batch)?;
    }
    let (filled, client_cpu) = (begun.0.elapsed(), cpu() - begun.1);
    let n_points = n_projects * ENTRIES;
    let sent = n_bytes();
    let payloads: usize = server.payloads("ralph-memory").iter().map(|payload| payload.to_string().len()).sum();
    let (times, asking) = asked(&client(n_projects)?)?;
    let per_query = (n_bytes() - sent) / QUERIES;
    let mut out = std::io::stdout();
    let per_point = sent / n_points;
    writeln!(
        out,
        "{n_projects} projects, {n_points} points; {} MB sent, {per_point} bytes a point, payload {} bytes",
        sent / 1_000_000,
        payloads as u64 / n_points
    )?;
    writeln!(out, "to fill: {filled:.1?}, the client's CPU {client_cpu} ms")?;
    writeln!(
        out,
        "to ask: median {:.1?}, the client's CPU {asking} ms, {per_query} bytes sent",
        times[times.len() / 2]
    )?;
    Ok(())
}

/// Asks for words and vectors of no point, and returns how long each query took, sorted, and the mean CPU time of the client.
fn asked(client: &QdrantClient) -> Result<(Vec<Duration>, u64), Box<dyn Error>> {
    let mut times = Vec::new();
    let asking = cpu();
    for number in 0..QUERIES {
        let words = WordVector::of_query(&text(number * 7 + 3, 8));
        let vector = vector(number)[..DIMENSIONS].to_vec();
        let query = ElsewhereQuery {
            vector: Some(&vector),
            words: &words,
            limit: 10,
            min_score: 0.15,
            weight: 0.5,
            projects: &[],
            feature: None,
            kind: None,
        };
        let begun = Instant::now();
        let found = client.search_elsewhere(&query, &|_| true)?;
        times.push(begun.elapsed());
        if found.len() != 10 {
            return Err(format!("{} of 10 entries", found.len()).into());
        }
    }
    times.sort();
    Ok((times, (cpu() - asking) / QUERIES))
}

fn point(seed: u64) -> Option<Point> {
    Some(Point {
        entry: Id::parse(&format!("knowledge/entry-{seed}"))?,
        number: 0,
        of: 1,
        content: seed,
        vector: vector(seed)[..DIMENSIONS].to_vec(),
        words: WordVector::of_text(&text(seed, 100)),
        shown: None,
        is_outdated: false,
        feature: None,
    })
}

/// Words of which the first are common and the last are rare.
fn text(seed: u64, n_words: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let size = 2 << (state % LOG_VOCABULARY);
        format!("word{}", (state >> 32) % size)
    };
    (0..n_words).map(|_| word()).collect::<Vec<_>>().join(" ")
}

/// Returns the CPU time of this thread, in milliseconds.
fn cpu() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanoseconds = time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs();
    nanoseconds / 1_000_000
}
