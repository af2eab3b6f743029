//! Semantic search through the program: its results, its requests, and every way in which servers fail.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::*;
use ralph_memory::{Memory, Query, Request, Task};

use serde_json::{Value, json};

use crate::standin::ollama::Standin;
use crate::standin::qdrant;
use crate::support::{Ran, Run, TestBase};
use crate::test_cases::cases;

const URL: &str = "RALPH_MEMORY_OLLAMA__URL";
const SHARED: &str = "RALPH_MEMORY_QDRANT__URL";
/// The two ways to divide vectors among collections.
const SHARED_COLLECTION: &str = "{ per_feature = false }";
const PER_FEATURE: &str = "{ per_feature = true }";

/// A memory with three entries, of which words find one by "database" and none by "latency".
fn base() -> TestBase {
    let base = TestBase::new();
    base.entry("slow-bench", "The bench is slow", "tests", "Run it with fewer samples.");
    base.entry("wal", "Use the write-ahead log", "sqlite", "Our database then lets readers go on.");
    base.entry("keys", "Where the credentials are", "ops", "Ask the team for a login.");
    base
}

fn search<'a>(base: &'a TestBase, url: &str, query: &str) -> Run<'a> {
    base.with(["search", query, "--json"]).env(URL, url)
}

fn ids(answer: &Value) -> Vec<String> {
    crate::support::ids(&answer["entries"])
}

/// The one problem that there is: its code, its message and its hint.
#[track_caller]
fn problem(ran: &Ran, code: i32) -> [String; 3] {
    let answer = ran.json(code);
    let problems = answer["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{ran}");
    assert_eq!(problems[0]["severity"], "warning");
    ["code", "message", "hint"].map(|key| problems[0][key].as_str().unwrap().to_owned())
}

fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn what_means_the_same_is_found() {
    let (base, ollama) = (base(), Standin::start());
    let words = base.run(["search", "latency", "--json"]).json(1);
    assert_eq!(ids(&words), [""; 0]);
    let answer = search(&base, &ollama.url, "latency").run().json(0);
    assert_eq!(ids(&answer), ["knowledge/slow-bench"]);
    // Words and meaning together: of two that mean it, the one that says it comes first.
    let query = ["search", "sqlite persistence", "--json", "--explain"];
    let answer = base.with(query).env(URL, &ollama.url).run().json(0);
    let hit = &answer["entries"][0];
    assert_eq!(hit["id"], "knowledge/wal");
    let parts = hit["explanation"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["part"] == "semantic"), "{parts:?}");
    let sum: f64 = parts.iter().map(|part| part["value"].as_f64().unwrap()).sum();
    assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-9, "the parts add up: {hit}");
}

/// Two entries that say "checkout" in the same place, of which one is about what is slow, and four that are about
/// nothing else and do not say it.
fn checkouts() -> TestBase {
    let base = TestBase::new();
    base.entry("a-blue", "Checkout flow", "x", "Here it is blue.");
    base.entry("b-slow", "Checkout flow", "x", "Here it is slow.");
    for name in ["c", "d", "e", "f"] {
        base.entry(name, "Performance", "x", "Benchmark speed.");
    }
    base
}

/// The places of what is slow and of what is blue, and how many others there are.
#[track_caller]
fn places(answer: &Value) -> (usize, usize, usize) {
    let ids = ids(answer);
    let place = |id: &str| ids.iter().position(|found| found == id).unwrap();
    (place("knowledge/b-slow"), place("knowledge/a-blue"), ids.len() - 2)
}

#[test]
fn matches_by_words_always_count_their_similarity() {
    let (base, ollama, server) = (checkouts(), Standin::start(), qdrant::Standin::start(None));
    let words = base.run(["search", "checkout latency", "--json"]).json(0);
    assert_eq!(ids(&words), ["knowledge/a-blue", "knowledge/b-slow"], "words cannot tell them apart");
    shared(base.with(["index", "--remote"]), &ollama, &server).run().answer(0);
    let narrow = |run: Run<'_>, limit: &str, least: &str| {
        let run = run.env("RALPH_MEMORY_SEMANTIC__LIMIT", limit).env("RALPH_MEMORY_SEMANTIC__MIN_SCORE", least);
        run.run().json(0)
    };
    // The others are more alike than both: they take all of the limit, and one of them is found by that.
    for (limit, least, n_alone) in [("1", "0.2", 1), ("20", "0.2", 4), ("20", "0.9999", 0)] {
        let here = narrow(search(&base, &ollama.url, "checkout latency"), limit, least);
        let (slow, blue, n_others) = places(&here);
        assert!(slow < blue && n_others == n_alone, "{limit} {least}: {here}");
        let n_calls = server.knobs.n_calls.load(Ordering::SeqCst);
        let run = shared(base.with(["search", "checkout latency", "--json"]), &ollama, &server);
        let there = narrow(run, limit, least);
        assert_eq!(ids(&there), ids(&here), "{limit} {least}");
        assert_eq!(server.knobs.n_calls.load(Ordering::SeqCst), n_calls + 1, "in one call");
    }
}

#[test]
fn the_first_entry_of_a_feature_creates_its_collection() {
    let (base, ollama, server) = (base(), Standin::start(), qdrant::Standin::start(None));
    let there = |arguments: &[&str]| {
        let run = shared(base.with(arguments), &ollama, &server);
        run.env("RALPH_MEMORY_QDRANT__COLLECTION", PER_FEATURE).run()
    };
    there(&["index", "--remote"]).answer(0);
    let fact = ["Sessions", "--tags", "auth", "--feature", "sign-in", "--body", "The password is checked twice."];
    let added = there(&[&["add", "--json"][..], &fact].concat()).json(0);
    assert_eq!(added["problems"], json!([]), "{added}");
    let found = there(&["search", "authentication", "--feature", "sign-in", "--json"]).json(0);
    assert_eq!(ids(&found), ["knowledge/sessions"]);
    assert_eq!(found["problems"], json!([]), "{found}");
    // As `index --remote` would have made it.
    assert_eq!(there(&["index", "--remote"]).answer(0), "the index has 4 entries\nthe server has 4 entries, 0 new\n");
}

#[test]
fn filters_apply_to_semantic_matches() {
    let (base, ollama) = (base(), Standin::start());
    let found = |option: &str, value: &str, code: i32| {
        let run = base.with(["search", "performance", "--json", option, value]).env(URL, &ollama.url);
        ids(&run.run().json(code))
    };
    assert_eq!(found("--tag", "tests", 0), ["knowledge/slow-bench"]);
    assert_eq!(found("--tag", "sqlite", 1), [""; 0]);
    assert_eq!(found("--kind", "journal", 1), [""; 0]);
    assert_eq!(found("--feature", "billing", 1), [""; 0]);
    base.write(
        ".ralph/knowledge/new.md",
        "---\ntitle: \"It is faster now\"\ntags: [x]\nsupersedes: [knowledge/slow-bench]\n---\n\nSpeed is no trouble.\n",
    );
    assert_eq!(ids(&search(&base, &ollama.url, "latency").run().json(0)), ["knowledge/new"]);
}

#[test]
fn each_text_is_embedded_once() {
    let (base, ollama) = (base(), Standin::start());
    let added = base.with(["add", "Panics", "--tags", "x", "--body", "It can abort."]).env(URL, &ollama.url);
    added.run().answer(0);
    assert_eq!(ollama.texts(), ["search_document: Panics\nIt can abort."]);
    search(&base, &ollama.url, "latency").run().json(0);
    let texts = ollama.texts();
    // The query, and the three that no call of this program wrote.
    assert_eq!(texts[0], "search_query: latency");
    assert_eq!(texts.len(), 4, "{texts:?}");
    search(&base, &ollama.url, "latency").run().json(0);
    assert_eq!(ollama.texts(), ["search_query: latency"]);
    // Other tags and another path do not change the text.
    base.entry("slow-bench", "The bench is slow", "tests, ci", "Run it with fewer samples.");
    fs::create_dir(base.at(".ralph/knowledge/team")).unwrap();
    fs::rename(base.at(".ralph/knowledge/wal.md"), base.at(".ralph/knowledge/team/wal.md")).unwrap();
    let answer = search(&base, &ollama.url, "latency").run().json(0);
    assert_eq!((ids(&answer).len(), ollama.texts().len()), (1, 1));
    // Another body is.
    base.entry("slow-bench", "The thing", "tests", "It was a matter of login.");
    let answer = search(&base, &ollama.url, "latency").run().json(1);
    assert_eq!(ids(&answer), [""; 0]);
    assert_eq!(ollama.texts(), ["search_query: latency", "search_document: The thing\nIt was a matter of login."]);
}

#[test]
fn a_long_entry_is_found_by_its_best_chunk() {
    let (base, ollama) = (base(), Standin::start());
    let long =
        format!("{}\n\nHere it may segfault panic abort.\n\n{}", "Nothing of note. ".repeat(190), "More. ".repeat(400));
    base.entry("long", "A long one", "x", &long);
    let answer = search(&base, &ollama.url, "crash").env("RALPH_MEMORY_SEMANTIC__MIN_SCORE", "0.1").run().json(0);
    assert_eq!(ids(&answer), ["knowledge/long"]);
    let texts = ollama.texts();
    let pieces: Vec<&String> = texts.iter().filter(|text| text.contains("A long one")).collect();
    assert!(pieces.len() >= 4 && pieces.iter().all(|piece| piece.split_whitespace().count() <= 205), "{pieces:?}");
}

#[test]
fn only_the_index_command_embeds_many_entries() {
    let (base, ollama) = (base(), Standin::start());
    for number in 0..20 {
        base.entry(&format!("n{number}"), &format!("Number {number}"), "x", "A crash.");
    }
    let ran = search(&base, &ollama.url, "latency").run();
    let [code, message, hint] = problem(&ran, 1);
    assert_eq!(code, "semantic-pending");
    assert_eq!(message, "23 entries have no vector yet and are found by their words alone");
    assert_eq!(hint, "run `ralph-memory index`");
    assert_eq!(ollama.texts(), ["search_query: latency"]);
    let index = base.with(["index"]).env(URL, &ollama.url).run().answer(0);
    assert_eq!(index, "the index has 23 entries\nthere are vectors of 23 entries, 23 new\n");
    let answer = search(&base, &ollama.url, "latency").run().json(0);
    assert_eq!(
        (ids(&answer), answer["problems"].as_array().unwrap().len()),
        (vec!["knowledge/slow-bench".to_owned()], 0)
    );
    let again = base.with(["index", "--json"]).env(URL, &ollama.url).run().json(0);
    assert_eq!((&again["vectors"]["entry_count"], &again["vectors"]["new_count"]), (&Value::from(23), &Value::from(0)));
}

#[test]
fn a_context_includes_semantic_matches() {
    let (base, ollama) = (base(), Standin::start());
    let context = base.with(["context", "--task", "Improve latency", "--json"]);
    let answer = context.env(URL, &ollama.url).run().json(0);
    assert!(answer["prompt"].as_str().unwrap().contains("Run it with fewer samples."), "{answer}");
    let ended = base.with(["record", "--json"]).input("<journal>The crash came from a panic.</journal>");
    ended.env(URL, &ollama.url).run().json(0);
    let texts = ollama.texts();
    assert!(texts.last().unwrap().contains("The crash came from a panic."), "an attempt is embedded: {texts:?}");
    let found = search(&base, &ollama.url, "segfault").run().json(0);
    assert!(ids(&found)[0].starts_with("journal/run-"), "{found}");
}

#[test]
fn secrets_are_never_sent() {
    let (base, ollama) = (base(), Standin::start());
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    base.entry("leak", "A leak", "x", &format!("The token is {token}."));
    search(&base, &ollama.url, "latency").run().json(0);
    let texts = ollama.texts().join("\n");
    assert!(texts.contains("A leak") && !texts.contains(&token[8..]), "{texts}");
    // Not even if a value is in another chunk than its name, or is searched for.
    let value = "wJalrXUtnFEMI1K7MDENGbPxRfiCYzXq9LmT4vBd";
    base.entry("long-leak", "Long", "x", &format!("{}aws_secret_access_key = {value}", "word ".repeat(198)));
    let _ = search(&base, &ollama.url, &format!("who wrote {token}")).run();
    let texts = ollama.texts().join("\n");
    assert!(texts.contains("Long") && texts.contains("who wrote"), "{texts}");
    assert!(!texts.contains(value) && !texts.contains(&token[8..]), "{texts}");
}

#[test]
fn without_an_address_or_weight_no_request_is_sent() {
    let (base, ollama) = (base(), Standin::start());
    base.run(["search", "bench", "--json"]).json(0);
    let off = search(&base, &ollama.url, "bench").env("RALPH_MEMORY_SEMANTIC__WEIGHT", "0");
    off.run().json(0);
    // A file that comes with a repository names no address.
    base.write(".ralph/config.toml", format!("format = 1\n[ollama]\nurl = \"{}\"\n", ollama.url));
    let [code, ..] = problem(&base.run(["search", "bench", "--json"]), 0);
    assert_eq!(code, "address-in-project");
    assert_eq!(ollama.knobs.n_calls.load(Ordering::SeqCst), 0);
    let too_much = base.with(["search", "bench"]).env(URL, &ollama.url).env("RALPH_MEMORY_SEMANTIC__WEIGHT", "1");
    too_much.run().refuses(2, "`semantic.weight` must be a number from 0 to 0.99");
}

#[test]
fn an_absent_server_costs_one_warning() {
    let base = base();
    let url = nobody();
    let [code, message, hint] = problem(&search(&base, &url, "bench").run(), 0);
    assert_eq!(code, "semantic-off");
    assert_eq!(message, "it cannot be reached: the connection was refused; words alone count");
    assert_eq!(hint, "start it with `ollama serve`, or correct `ollama.url`");
    // Nothing else changes: writes succeed, and an iteration continues.
    let added = base.with(["add", "T", "--tags", "x", "--body", "b", "--json"]).env(URL, &url).run();
    assert_eq!((added.json(0)["action"].as_str(), problem(&added, 0)[0].as_str()), (Some("created"), "semantic-off"));
    for arguments in [&["context", "--task", "Bench", "--json"][..], &["record", "--json"], &["index", "--json"]] {
        let run = base.with(arguments).input("<journal>x</journal>").env(URL, &url).run();
        assert_eq!(problem(&run, 0)[0], "semantic-off");
    }
    let text = base.with(["search", "bench"]).env(URL, &url).run();
    assert_eq!(text.stderr.matches("warning:").count(), 1, "{text}");
}

#[test]
fn a_run_reports_semantic_search_once() {
    let (base, ollama) = (base(), Standin::start());
    let run = |url: &str| {
        let arguments = ["run", "--task", "Bench", "--agent", "echo none", "--max-iterations", "2"];
        base.with(arguments).env(URL, url).env("PATH", std::env::var_os("PATH").unwrap_or_default()).run()
    };
    let well = run(&ollama.url);
    assert!(well.stderr.contains("RAG: active (ollama nomic-embed-text 96d)\n"), "{well}");
    let texts = ollama.texts();
    assert_eq!(texts.iter().filter(|text| text.starts_with("search_query: Bench")).count(), 2, "{texts:?}");
    let ill = run(&nobody());
    assert_eq!((ill.code, ill.stderr.matches("cannot be reached").count()), (Some(1), 1), "{ill}");
    assert_eq!(ill.stderr.matches("`ollama serve`").count(), 1, "{ill}");
}

#[test]
fn a_slow_server_suspends_requests() {
    let (base, ollama) = (base(), Standin::start());
    ollama.knobs.delay_ms.store(60_000, Ordering::SeqCst);
    let slow = |now: &str| search(&base, &ollama.url, "bench").env("RALPH_MEMORY_OLLAMA__TIMEOUT_MS", "100").now(now);
    let begun = Instant::now();
    let [code, message, hint] = problem(&slow("2026-11-20T10:00:00Z").run(), 0);
    assert_eq!([code, message], ["semantic-off", "it did not answer within 100 ms; words alone count"]);
    assert!(hint.contains("ollama.timeout_ms"), "{hint}");
    let n_calls = || ollama.knobs.n_calls.load(Ordering::SeqCst);
    let n_first = n_calls();
    let [code, message, _] = problem(&slow("2026-11-20T10:00:20Z").run(), 0);
    assert_eq!(code, "semantic-paused");
    assert_eq!(message, "it did not answer within 100 ms; requests are suspended for 40 s, and words alone count");
    let added = base.with(["add", "T", "--tags", "x", "--body", "b", "--json"]).env(URL, &ollama.url).run();
    assert_eq!(problem(&added, 0)[0], "semantic-paused");
    assert_eq!(n_calls(), n_first, "nobody is asked meanwhile");
    // A minute later it is tried again, and `check` asks it at any time.
    assert_eq!(problem(&slow("2026-11-20T10:01:10Z").run(), 0)[0], "semantic-off");
    assert!(n_calls() > n_first);
    ollama.knobs.delay_ms.store(0, Ordering::SeqCst);
    let checked = base.with(["check"]).env(URL, &ollama.url).now("2026-11-20T10:01:15Z").run();
    assert!(checked.stdout.contains("RAG: active (ollama nomic-embed-text 96d)"), "{checked}");
    let answer = slow("2026-11-20T10:01:20Z").env("RALPH_MEMORY_OLLAMA__TIMEOUT_MS", "30000").run().json(0);
    assert_eq!(answer["problems"], json!([]), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(50), "nobody waited for a whole answer");
}

/// A program that keeps a memory open, as a loop does.
fn opened(base: &TestBase, variables: &[(&str, &str)], seconds: &Arc<AtomicU64>) -> Memory {
    let root = base.root();
    let memory = Memory::open_for_user(Some(&root), &root, None, variables.iter().copied()).unwrap();
    let seconds = Arc::clone(seconds);
    memory.with_clock(move || SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::SeqCst)))
}

/// The codes of a search's problems.
fn told(memory: &Memory) -> Vec<String> {
    let query = Query { text: "bench".to_owned(), ..Query::default() };
    memory.search(&query, 5).unwrap().problems.into_iter().map(|problem| problem.code).collect()
}

#[test]
fn a_process_respects_a_newer_suspension() {
    let (base, ollama, seconds) = (base(), Standin::start(), Arc::new(AtomicU64::new(1_800_000_000)));
    let variables = [(URL, ollama.url.as_str()), ("RALPH_MEMORY_OLLAMA__TIMEOUT_MS", "100")];
    let n_calls = || ollama.knobs.n_calls.load(Ordering::SeqCst);
    ollama.knobs.delay_ms.store(60_000, Ordering::SeqCst);
    let first = opened(&base, &variables, &seconds);
    assert_eq!(told(&first), ["semantic-off"]);
    seconds.fetch_add(70, Ordering::SeqCst);
    assert_eq!(told(&opened(&base, &variables, &seconds)), ["semantic-off"]);
    let before = n_calls();
    seconds.fetch_add(10, Ordering::SeqCst);
    assert_eq!(told(&first), ["semantic-paused"]);
    assert_eq!(n_calls(), before, "nobody is asked");
}

#[test]
fn each_failure_is_reported_once() {
    let (base, ollama, seconds) = (base(), Standin::start(), Arc::new(AtomicU64::new(1_800_000_000)));
    let memory = opened(&base, &[(URL, ollama.url.as_str())], &seconds);
    let fails = |status, body: &str| {
        *ollama.knobs.instead.lock().unwrap() = Some((status, body.to_owned()));
        told(&memory)
    };
    assert_eq!(fails(404, "no such model"), ["semantic-off"]);
    assert_eq!(fails(404, "no such model"), [""; 0]);
    assert_eq!(fails(200, "<html>"), ["semantic-off"], "another fix applies");
    assert_eq!(fails(404, "no such model"), [""; 0]);
}

/// A call that waits holds no lock meanwhile.
#[test]
fn others_write_while_one_waits() {
    let (base, ollama) = (base(), Standin::start());
    ollama.knobs.delay_ms.store(60_000, Ordering::SeqCst);
    let waiting = base.with(["add", "Waits", "--tags", "x", "--body", "b"]).env(URL, &ollama.url);
    let mut waiting = waiting.env("RALPH_MEMORY_OLLAMA__TIMEOUT_MS", "600000").command().spawn().unwrap();
    let begun = Instant::now();
    while ollama.knobs.n_calls.load(Ordering::SeqCst) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(50), "it asks the server");
        std::thread::yield_now();
    }
    let other = base.with(["add", "Other", "--tags", "y", "--body", "Not alike."]);
    other.lock_timeout(0).run().answer(0);
    assert!(waiting.try_wait().unwrap().is_none(), "it waits still");
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(base.at(".ralph/knowledge/waits.md").exists(), "what it wrote is there");
}

#[test]
fn transient_failures_are_retried() {
    let (base, ollama) = (base(), Standin::start());
    ollama.knobs.fail_every.store(2, Ordering::SeqCst);
    for _ in 0..3 {
        let answer = search(&base, &ollama.url, "latency").run().json(0);
        assert_eq!((ids(&answer).len(), answer["problems"].as_array().unwrap().len()), (1, 0), "{answer}");
    }
    ollama.knobs.fail_every.store(1, Ordering::SeqCst);
    let before = ollama.knobs.n_calls.load(Ordering::SeqCst);
    let [code, message, _] = problem(&search(&base, &ollama.url, "bench").run(), 0);
    assert_eq!(code, "semantic-off");
    assert!(message.starts_with("it answered 500: "), "{message}");
    assert_eq!(ollama.knobs.n_calls.load(Ordering::SeqCst) - before, 3, "three tries and no more");
}

#[test]
fn a_missing_model_is_named() {
    let (base, ollama) = (base(), Standin::start());
    let missing = |run: Run<'_>| run.env("RALPH_MEMORY_OLLAMA__MODEL", "mxbai-embed-large").run();
    let [_, message, hint] = problem(&missing(search(&base, &ollama.url, "bench")), 0);
    assert!(message.contains("it answered 404: model \"mxbai-embed-large\" not found"), "{message}");
    assert_eq!(hint, "run `ollama pull mxbai-embed-large`");
    let checked = missing(base.with(["check"]).env(URL, &ollama.url));
    assert!(
        checked.stdout.contains("RAG: off") && checked.stdout.contains("help: run `ollama pull mxbai-embed-large`"),
        "{checked}"
    );
    // With its tag it is the same as without.
    let tagged = search(&base, &ollama.url, "latency").env("RALPH_MEMORY_OLLAMA__MODEL", "nomic-embed-text:latest");
    assert_eq!(tagged.run().json(0)["entries"].as_array().unwrap().len(), 1);
    ollama.texts();
    search(&base, &ollama.url, "latency").run().json(0);
    assert_eq!(ollama.texts().len(), 1, "its vectors are the same, too");
}

#[test]
fn another_dimension_rebuilds_the_vectors() {
    let (base, ollama) = (base(), Standin::start());
    search(&base, &ollama.url, "latency").run().json(0);
    ollama.texts();
    ollama.state.lock().unwrap().dimensions = 128;
    let answer = search(&base, &ollama.url, "latency").run().json(0);
    assert_eq!((ids(&answer).len(), ollama.texts().len()), (1, 4));
    let answer = search(&base, &ollama.url, "latency").run().json(0);
    assert_eq!((ids(&answer).len(), ollama.texts().len()), (1, 1));
    ollama.state.lock().unwrap().dimensions = 64;
    base.with(["index"]).env(URL, &ollama.url).run().answer(0);
    ollama.texts();
    search(&base, &ollama.url, "latency").run().json(0);
    assert_eq!(ollama.texts().len(), 1);
}

#[test]
fn invalid_answers_are_not_trusted() {
    let base = base();
    let ollama = Standin::start();
    let zeros = format!("{{\"embeddings\":[[{}]]}}", vec!["0"; 96].join(","));
    for (status, body, expected) in [
        (200, "", "its answer cannot be used"),
        (200, "<html>", "its answer cannot be used"),
        (200, "[]", "its answer cannot be used"),
        (200, "{\"embeddings\":[]}", "it has 0 vectors for 1 texts"),
        (200, "{\"embeddings\":[[1.0],[1.0]]}", "it has 2 vectors for 1 texts"),
        (200, "{\"embeddings\":[[]]}", "its vectors have 0 dimensions"),
        (200, "{\"embeddings\":[[\"a\"]]}", "its answer cannot be used"),
        (200, "{\"embeddings\":[[1e39, 1.0]]}", "a vector has no length"),
        (200, zeros.as_str(), "a vector has no length"),
        (301, "", "it answered 301"),
        (401, "who are you", "it answered 401: who are you"),
        (404, "404 page not found", "it answered 404: 404 page not found"),
    ] {
        *ollama.knobs.instead.lock().unwrap() = Some((status, body.to_owned()));
        let [code, message, _] = problem(&search(&base, &ollama.url, "bench").run(), 0);
        assert_eq!(code, "semantic-off", "{body}");
        assert!(message.contains(expected), "{body}: {message}");
    }
    *ollama.knobs.instead.lock().unwrap() = None;
    ollama.knobs.is_cut.store(true, Ordering::SeqCst);
    assert_eq!(problem(&search(&base, &ollama.url, "bench").run(), 0)[0], "semantic-off");
    ollama.knobs.is_cut.store(false, Ordering::SeqCst);
    ollama.knobs.drop_every.store(1, Ordering::SeqCst);
    assert_eq!(problem(&search(&base, &ollama.url, "bench").run(), 0)[0], "semantic-off");
    assert!(!base.at(".ralph/cache/vectors-v1").exists(), "nothing was kept of it");
}

#[test]
fn a_text_that_the_model_refuses_is_left_to_words() {
    let (base, ollama) = (base(), Standin::start());
    base.entry("odd", "Odd", "x", "A zyzzyva crash.");
    ollama.state.lock().unwrap().poison = Some("zyzzyva".to_owned());
    let index = base.with(["index", "--json"]).env(URL, &ollama.url).run();
    let [code, message, _] = problem(&index, 0);
    assert_eq!(code, "semantic-refused");
    assert!(message.contains("the input length exceeds the context length"), "{message}");
    assert_eq!(index.json(0)["vectors"]["entry_count"], 3);
    assert_eq!(
        ids(&search(&base, &ollama.url, "zyzzyva latency").run().json(0)).len(),
        1,
        "the query is refused as well"
    );
    let found = search(&base, &ollama.url, "persistence").run().json(0);
    assert_eq!(ids(&found), ["knowledge/wal"]);
    // It is also told from a server that is ill where it is alone.
    let again = base.with(["index", "--json"]).env(URL, &ollama.url).run();
    assert_eq!(problem(&again, 0)[0], "semantic-refused");
    assert_eq!(again.json(0)["vectors"]["entry_count"], 3);
}

#[test]
fn refused_texts_are_not_sent_with_every_search() {
    let (base, ollama) = (base(), Standin::start());
    base.entry("odd", "Odd", "x", "A zyzzyva crash.");
    ollama.state.lock().unwrap().poison = Some("zyzzyva".to_owned());
    let n_calls = || ollama.knobs.n_calls.load(Ordering::SeqCst);
    let found_at = |n_problems: usize, now: &str| {
        let before = n_calls();
        let answer = search(&base, &ollama.url, "persistence").now(now).run().json(0);
        assert_eq!(ids(&answer), ["knowledge/wal"]);
        assert_eq!(answer["problems"].as_array().unwrap().len(), n_problems, "{answer}");
        n_calls() - before
    };
    let found = |n_problems| found_at(n_problems, "2026-11-20T10:00:00Z");
    // The first one finds it out: the query, all at once, and each alone.
    assert!(found(1) > 2);
    assert_eq!(found(0), 1, "the query alone");
    // Other words are tried, and `index` tries all.
    base.entry("odd", "Odd", "x", "Another zyzzyva crash.");
    assert!(found(1) > 1);
    assert_eq!(found(0), 1);
    assert_eq!(problem(&base.with(["index", "--json"]).env(URL, &ollama.url).run(), 0)[0], "semantic-refused");
    assert_eq!(found(0), 1);
    assert_eq!(found_at(0, "2026-11-20T10:59:59Z"), 1);
    assert!(found_at(1, "2026-11-20T11:00:00Z") > 1, "an hour later it is tried again");
    ollama.state.lock().unwrap().poison = None;
    assert_eq!(base.with(["index", "--json"]).env(URL, &ollama.url).run().json(0)["vectors"]["entry_count"], 4);
    assert_eq!(ids(&search(&base, &ollama.url, "segfault").run().json(0)), ["knowledge/odd"]);
}

/// A server that says no to several texts at once and then takes its time for each is waited for as long as for one.
#[test]
fn texts_sent_one_by_one_share_a_time_out() {
    let (base, ollama) = (base(), Standin::start());
    for number in 0..5 {
        base.entry(&format!("more-{number}"), &format!("More {number}"), "x", "Of it.");
    }
    ollama.state.lock().unwrap().poison = Some("More".to_owned());
    // The query and all at once are answered at once, each that is sent alone in time, and all of these too late.
    ollama.knobs.quick.store(2, Ordering::SeqCst);
    ollama.knobs.delay_ms.store(600, Ordering::SeqCst);
    let patient = |now: &str| {
        let run = search(&base, &ollama.url, "bench").env("RALPH_MEMORY_OLLAMA__TIMEOUT_MS", "1500").now(now);
        run.run()
    };
    let n_calls = || ollama.knobs.n_calls.load(Ordering::SeqCst);
    let n_before = n_calls();
    let [code, message, _] = problem(&patient("2026-11-20T10:00:00Z"), 0);
    assert_eq!([code, message], ["semantic-off", "it did not answer within 1500 ms; words alone count"]);
    assert_eq!(problem(&patient("2026-11-20T10:00:01Z"), 0)[0], "semantic-paused");
    // The query, all at once, and no more than three of those that are sent alone: the third is not waited for.
    assert!((3..=5).contains(&(n_calls() - n_before)), "{}", n_calls() - n_before);
    // It was the server and no text: all of them are embedded when it is well.
    ollama.state.lock().unwrap().poison = None;
    ollama.knobs.delay_ms.store(0, Ordering::SeqCst);
    let index = base.with(["search", "latency", "--json"]).env(URL, &ollama.url).now("2026-11-20T10:02:00Z");
    assert_eq!(ids(&index.run().json(0)), ["knowledge/slow-bench"]);
}

/// Another model of the same name, with as many dimensions.
#[test]
fn a_model_with_other_vectors_rebuilds_everything() {
    let (base, ollama, server) = (base(), Standin::start(), qdrant::Standin::start(None));
    let local = |arguments: &[&str]| base.with(arguments).env(URL, &ollama.url).run().json(0);
    let there = |arguments: &[&str]| shared(base.with(arguments), &ollama, &server).run().json(0);
    assert_eq!(local(&["index", "--json"])["vectors"]["new_count"], 3);
    assert_eq!(there(&["index", "--remote", "--json"])["vectors"]["new_count"], 3);
    assert_eq!(local(&["index", "--json"])["vectors"]["new_count"], 0);
    ollama.state.lock().unwrap().turned = true;
    assert_eq!(local(&["index", "--json"])["vectors"]["new_count"], 3);
    assert_eq!(ids(&local(&["search", "latency", "--json"])), ["knowledge/slow-bench"]);
    ollama.state.lock().unwrap().turned = false;
    assert_eq!(there(&["index", "--remote", "--json"])["vectors"]["new_count"], 3);
    assert_eq!(there(&["index", "--remote", "--json"])["vectors"]["new_count"], 0);
    // Rebuilt means rebuilt, whatever the cache contains.
    ollama.texts();
    assert_eq!(there(&["index", "--rebuild", "--remote", "--json"])["vectors"]["new_count"], 3);
    assert!(ollama.texts().len() > 3);
}

#[test]
fn an_outdated_point_is_removed_with_its_file() {
    let (base, ollama, server) = (base(), Standin::start(), qdrant::Standin::start(None));
    let there = |arguments: &[&str]| shared(base.with(arguments), &ollama, &server).run();
    there(&["index", "--remote"]).answer(0);
    // A text that is refused by now: its old points stay.
    base.entry("keys", "Where the credentials are", "ops", "A zyzzyva.");
    ollama.state.lock().unwrap().poison = Some("zyzzyva".to_owned());
    let refused = there(&["index", "--remote", "--json"]);
    let [code, _, hint] = problem(&refused, 1);
    assert_eq!(code, "semantic-refused");
    assert!(hint.contains("`ralph-memory index --remote`"), "{hint}");
    assert_eq!(server.count("ralph-memory"), Some(3));
    fs::remove_file(base.at(".ralph/knowledge/keys.md")).unwrap();
    let gone = there(&["index", "--remote", "--json"]).json(0);
    assert_eq!((&gone["vectors"]["removed_count"], server.count("ralph-memory")), (&Value::from(1), Some(2)));
}

#[test]
fn points_follow_an_undo_with_the_next_sync() {
    let (base, ollama, server) = (base(), Standin::start(), qdrant::Standin::start(None));
    let there = |arguments: &[&str]| shared(base.with(arguments), &ollama, &server).run();
    let found = || {
        ids(&there(&["search", "segfault", "--json"]).json(i32::from(!base.at(".ralph/knowledge/panics.md").exists())))
    };
    let entries = || {
        let mut entries: Vec<String> =
            server.payloads("ralph-memory").iter().map(|point| point["entry"].as_str().unwrap().to_owned()).collect();
        entries.sort();
        entries
    };
    there(&["index", "--remote"]).answer(0);
    let before = entries();
    there(&["add", "Panics", "--tags", "x", "--body", "It can abort."]).answer(0);
    there(&["index", "--remote"]).answer(0);
    let after = entries();
    assert_eq!((before.len(), after.len(), found()), (3, 4, vec!["knowledge/panics".to_owned()]));
    // Until the sync, files decide what is found.
    there(&["undo"]).says(0, "removed  .ralph/knowledge/panics.md");
    assert_eq!(found(), [""; 0]);
    there(&["index", "--remote"]).answer(0);
    assert_eq!((entries(), found()), (before, Vec::new()));
    there(&["undo", "--redo"]).says(0, "restored .ralph/knowledge/panics.md");
    there(&["index", "--remote"]).answer(0);
    assert_eq!((entries(), found()), (after, vec!["knowledge/panics".to_owned()]));
    // A text that was changed and taken back has the point of the old text.
    let points = || server.payloads("ralph-memory").into_iter().filter(|point| point["entry"] == "knowledge/panics");
    let old: Vec<Value> = points().collect();
    there(&["add", "Panics", "--tags", "x", "--body", "It can abort, or unwind."]).says(0, "updated");
    assert_ne!(points().collect::<Vec<_>>(), old);
    there(&["undo"]).says(0, "changed  .ralph/knowledge/panics.md");
    there(&["index", "--remote"]).answer(0);
    assert_eq!(points().collect::<Vec<_>>(), old);
}

#[test]
fn an_unreachable_server_removes_no_vectors() {
    let (base, ollama, server) = (base(), Standin::start(), qdrant::Standin::start(None));
    base.with(["index"]).env(URL, &ollama.url).run().answer(0);
    shared(base.with(["index", "--remote"]), &ollama, &server).run().answer(0);
    let nobody = nobody();
    let down = base.with(["index", "--json"]).env(URL, &nobody).run();
    assert_eq!(problem(&down, 0)[0], "semantic-off");
    assert_eq!(down.json(0)["vectors"]["entry_count"], 3);
    let down = base.with(["index", "--remote", "--json"]).env(URL, &nobody).env(SHARED, &server.url).run();
    assert_eq!(problem(&down, 1)[0], "semantic-off");
    assert_eq!(down.json(1)["vectors"]["entry_count"], 3);
}

#[test]
fn damaged_vectors_are_computed_again() {
    let (base, ollama) = (base(), Standin::start());
    let whole = search(&base, &ollama.url, "latency storage").run().json(0);
    let name = base.files(".ralph/cache/vectors-v1").remove(0);
    let bytes = fs::read(base.at(&name)).unwrap();
    let damages: Vec<Vec<u8>> = vec![
        Vec::new(),
        bytes[..10].to_vec(),
        bytes[..bytes.len() - 5].to_vec(),
        [&bytes[..], b"half a record"].concat(),
        bytes.iter().enumerate().map(|(at, byte)| if at == 60 { byte ^ 0x40 } else { *byte }).collect(),
        bytes.iter().enumerate().map(|(at, byte)| if at == 12 { byte ^ 1 } else { *byte }).collect(),
        vec![0xff; bytes.len()],
    ];
    for (number, damage) in damages.iter().enumerate() {
        fs::write(base.at(&name), damage).unwrap();
        for _ in 0..2 {
            let answer = search(&base, &ollama.url, "latency storage").run().json(0);
            assert_eq!(answer["entries"], whole["entries"], "damage {number}");
        }
        ollama.texts();
        search(&base, &ollama.url, "latency storage").run().json(0);
        assert_eq!(ollama.texts().len(), 1, "damage {number} is repaired");
    }
    fs::remove_dir_all(base.at(".ralph/cache")).unwrap();
    assert_eq!(search(&base, &ollama.url, "latency storage").run().json(0)["entries"], whole["entries"]);
    // A file in place of the folder costs time, and nothing else.
    fs::remove_dir_all(base.at(".ralph/cache/vectors-v1")).unwrap();
    fs::write(base.at(".ralph/cache/vectors-v1"), "x").unwrap();
    assert_eq!(search(&base, &ollama.url, "latency storage").run().json(0)["entries"], whole["entries"]);
}

fn shared<'a>(run: Run<'a>, ollama: &Standin, qdrant: &qdrant::Standin) -> Run<'a> {
    run.env(URL, &ollama.url).env(SHARED, &qdrant.url)
}

#[test]
fn a_shared_server_finds_the_same_as_local_vectors() {
    let (base, ollama, server) = (base(), Standin::start(), qdrant::Standin::start(None));
    let here = |query: &str| search(&base, &ollama.url, query).run();
    // Entries without a feature lie in the same place in both.
    for (mode, n_new) in [(SHARED_COLLECTION, 4), (PER_FEATURE, 1)] {
        base.write(
            ".ralph/knowledge/login.md",
            "---\ntitle: \"Sessions\"\ntags: [auth]\nfeature: sign-in\n---\n\nThe password is checked twice.\n",
        );
        let there = |arguments: &[&str]| {
            let run = shared(base.with(arguments), &ollama, &server);
            run.env("RALPH_MEMORY_QDRANT__COLLECTION", mode).run()
        };
        let filled = there(&["index", "--remote"]).answer(0);
        assert_eq!(filled, format!("the index has 4 entries\nthe server has 4 entries, {n_new} new\n"), "{mode}");
        assert_eq!(
            there(&["index", "--remote"]).answer(0),
            "the index has 4 entries\nthe server has 4 entries, 0 new\n"
        );
        for query in ["latency", "authentication", "persistence of credentials", "crash"] {
            let (one, other) = (here(query), there(&["search", query, "--json"]));
            assert_eq!(one.code, other.code, "{query}");
            let (one, other): (Value, Value) =
                (serde_json::from_str(&one.stdout).unwrap(), serde_json::from_str(&other.stdout).unwrap());
            assert_eq!(ids(&one), ids(&other), "{query}");
            assert_eq!(other["problems"], json!([]), "{other}");
        }
        let featured = there(&["search", "credentials", "--feature", "sign-in", "--json"]).json(0);
        assert_eq!(ids(&featured), ["knowledge/login"], "{mode}");
        // What goes here, goes there.
        fs::remove_file(base.at(".ralph/knowledge/login.md")).unwrap();
        let gone = there(&["index", "--remote", "--json"]).json(0);
        assert_eq!(
            (gone["vectors"]["entry_count"].as_u64(), gone["vectors"]["removed_count"].as_u64()),
            (Some(3), Some(1))
        );
    }
}

#[test]
fn files_decide_which_shared_results_count() {
    let (base, ollama, server) = (base(), Standin::start(), qdrant::Standin::start(None));
    let there = |arguments: &[&str]| shared(base.with(arguments), &ollama, &server).run();
    there(&["index", "--remote"]).answer(0);
    let other = TestBase::new();
    // Another machine has another version of one entry, an entry of its own, and fills the same index.
    other.entry("slow-bench", "The bench is slow", "tests", "The latency has other reasons: storage.");
    other.entry("theirs", "Their benchmark", "x", "Performance.");
    shared(other.with(["index", "--remote"]), &ollama, &server).run().answer(0);
    assert_eq!(server.count("ralph-memory"), Some(4), "what was never there is not theirs to remove");
    let answer = there(&["search", "latency", "--json"]).json(1);
    assert_eq!(ids(&answer), [""; 0], "neither their entry nor their text is ours");
    there(&["index", "--remote"]).answer(0);
    assert_eq!(ids(&there(&["search", "latency", "--json"]).json(0)), ["knowledge/slow-bench"]);
    let payloads = server.payloads("ralph-memory");
    assert!(payloads.iter().all(|payload| !payload.to_string().contains("samples")), "no text: {payloads:?}");
}

/// Two projects on one server have the same ids, and neither a collection nor a name of its own.
#[test]
fn projects_are_separated() {
    let (base, ollama, server) = (base(), Standin::start(), qdrant::Standin::start(None));
    shared(base.with(["index", "--remote"]), &ollama, &server).run().answer(0);
    let other = TestBase::new();
    fs::create_dir(other.at("inner")).unwrap();
    other.with(["init", "--here"]).folder(other.at("inner")).run().answer(0);
    // A file that comes with a repository cannot make it another project.
    other.write("inner/.ralph/config.toml", "format = 1\n[qdrant]\nproject = \"project\"\n");
    other.write("inner/.ralph/knowledge/wal.md", "---\ntitle: \"W\"\ntags: [x]\n---\n\nA crash.\n");
    let inner = |arguments: &[&str]| shared(other.with(arguments).folder(other.at("inner")), &ollama, &server).run();
    assert_eq!(inner(&["search", "bench", "--json"]).json(1)["problems"][0]["code"], "address-in-project");
    inner(&["index", "--rebuild", "--remote"]).says(0, "the index has ");
    assert_eq!(server.count("ralph-memory"), Some(4));
    let answer = shared(base.with(["search", "storage", "--json"]), &ollama, &server).run().json(0);
    assert_eq!(ids(&answer), ["knowledge/wal"]);
}

#[test]
fn written_entries_are_shared() {
    let (base, ollama, server) = (base(), Standin::start(), qdrant::Standin::start(None));
    let there = |arguments: &[&str]| shared(base.with(arguments), &ollama, &server).run();
    there(&["index", "--remote"]).answer(0);
    there(&["add", "Panics", "--tags", "x", "--body", "It can abort."]).answer(0);
    assert_eq!(server.count("ralph-memory"), Some(4));
    assert_eq!(ids(&there(&["search", "segfault", "--json"]).json(0)), ["knowledge/panics"]);
    // Another name and a copy are other entries there.
    fs::rename(base.at(".ralph/knowledge/panics.md"), base.at(".ralph/knowledge/aborts.md")).unwrap();
    fs::copy(base.at(".ralph/knowledge/aborts.md"), base.at(".ralph/knowledge/copy.md")).unwrap();
    let mut found = ids(&there(&["search", "segfault", "--json"]).json(0));
    found.sort();
    assert_eq!(found, ["knowledge/aborts", "knowledge/copy"]);
    let checked = there(&["check"]);
    assert!(checked.stdout.contains("RAG: active (qdrant ok, ollama nomic-embed-text 96d)"), "{checked}");
}

/// A fresh server is asked, and written to, before anything else is done there.
#[test]
fn a_fresh_server_is_filled_by_what_is_written_and_searched() {
    for mode in [SHARED_COLLECTION, PER_FEATURE] {
        let (base, ollama, server) = (TestBase::new(), Standin::start(), qdrant::Standin::start(None));
        let there = |arguments: &[&str]| {
            let run = shared(base.with(arguments), &ollama, &server);
            run.env("RALPH_MEMORY_QDRANT__COLLECTION", mode).run()
        };
        let found = |query: &str, code: i32| {
            let answer = there(&["search", query, "--json"]).json(code);
            assert_eq!(answer["problems"], json!([]), "{mode}: {answer}");
            ids(&answer)
        };
        assert_eq!(found("segfault", 1), [""; 0]);
        assert!(there(&["check"]).stdout.contains("RAG: active (qdrant ok"), "{mode}");
        let add = |title: &str, body: &str, more: &[&str]| {
            let fact = [&["add", "--json", title, "--tags", "x", "--body", body][..], more].concat();
            assert_eq!(there(&fact).json(0)["problems"], json!([]), "{mode}");
        };
        add("Panics", "It can abort.", &["--feature", "auth"]);
        assert_eq!(found("segfault", 0), ["knowledge/panics"], "{mode}");
        add("Keys", "The credentials are elsewhere.", &[]);
        assert_eq!(found("password", 0), ["knowledge/keys"], "{mode}");
        let context = there(&["context", "--task", "Explain the segfault", "--json"]).json(0);
        assert_eq!(context["problems"], json!([]), "{mode}: {context}");
        assert!(context["prompt"].as_str().unwrap().contains("It can abort."), "{mode}: {context}");
        // Made as `index --remote` makes it.
        let filled = there(&["index", "--remote"]).answer(0);
        assert_eq!(filled, "the index has 2 entries\nthe server has 2 entries, 0 new\n", "{mode}");
    }
}

/// Another machine, or an administrator, removed what was stored there.
#[test]
fn what_a_server_has_lost_is_stored_again() {
    let (base, ollama, first) = (base(), Standin::start(), qdrant::Standin::start(None));
    let there = |arguments: &[&str]| shared(base.with(arguments), &ollama, &first).run();
    let search = |query: &str| there(&["search", query, "--json"]).json(0);
    there(&["index", "--remote"]).answer(0);
    for loss in ["collection", "points"] {
        first.lose("ralph-memory", loss == "points");
        let answer = search("bench latency");
        assert_eq!(ids(&answer), ["knowledge/slow-bench"], "{loss}");
        assert_eq!(answer["problems"], json!([]), "{loss}: {answer}");
        assert!(answer["entries"][0]["similarity"].is_number(), "{loss}: {answer}");
    }
    // With more than a search may embed, words alone count until the index is filled.
    for number in 0..20 {
        base.entry(&format!("n{number:02}"), &format!("Bench {number}"), "x", "A crash of the bench.");
    }
    there(&["index", "--remote"]).answer(0);
    first.lose("ralph-memory", false);
    there(&["add", "Panics of the bench", "--tags", "x", "--body", "It can abort."]).answer(0);
    let after = there(&["search", "bench", "--json"]);
    let [code, message, hint] = problem(&after, 0);
    assert_eq!(code, "semantic-pending");
    assert!(message.ends_with("entries have no vector yet and are found by their words alone"), "{message}");
    assert!(hint.contains("index --remote"), "{hint}");
    assert_eq!(ids(&after.json(0)), ids(&base.run(["search", "bench", "--json"]).json(0)));
}

/// The words of entries and queries: those that mean the same to the stand-in's model, and some of no meaning.
const WORDS: [&str; 14] = [
    "slow", "latency", "bench", "database", "sqlite", "login", "password", "crash", "panic", "port", "blue", "proxy",
    "night", "cache",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(3)) })]

    /// Whatever state a server is in, what words find is found. A server that has nothing to say changes no place.
    #[test]
    fn a_server_never_finds_less_than_none(
        texts in prop::collection::vec(prop::collection::vec(0..WORDS.len(), 1..6), 3..20),
        query in prop::collection::vec(0..WORDS.len(), 1..4),
        per_feature in any::<bool>(),
    ) {
        let text = |words: &[usize]| words.iter().map(|at| WORDS[*at]).collect::<Vec<_>>().join(" ");
        let (base, ollama, server) = (TestBase::new(), Standin::start(), qdrant::Standin::start(None));
        for (number, words) in texts.iter().enumerate() {
            let feature = ["", "feature: auth\n", "feature: billing\n"][number % 3];
            let body = text(words);
            base.write(
                &format!(".ralph/knowledge/e{number:02}.md"),
                format!("---\ntitle: Entry {number}\ntags: [{}]\n{feature}---\n\n{body}.\n", WORDS[words[0]]),
            );
        }
        let mode = if per_feature { PER_FEATURE } else { SHARED_COLLECTION };
        let query = text(&query);
        let run = |arguments: &[&str], qdrant: Option<&str>| {
            let mut run = base.with(arguments).env("RALPH_MEMORY_QDRANT__COLLECTION", mode);
            if let Some(qdrant) = qdrant {
                run = run.env(URL, &ollama.url).env(SHARED, qdrant).env("RALPH_MEMORY_QDRANT__TIMEOUT_MS", "2000");
            }
            run.run()
        };
        let search = |qdrant: Option<&str>| {
            let ran = run(&["search", &query, "--json", "--limit", "100"], qdrant);
            ids(&serde_json::from_str(&ran.stdout).unwrap())
        };
        let shown = |qdrant: Option<&str>| {
            let variables = [(URL, ollama.url.as_str()), (SHARED, qdrant.unwrap_or_default())];
            let variables = if qdrant.is_some() { &variables[..] } else { &[] };
            let memory = opened(&base, variables, &Arc::new(AtomicU64::new(1_800_000_000)));
            memory.context(&Request { task: Task::new(query.as_str()), ..Request::default() }).unwrap().entries
        };
        let (words, context) = (search(None), shown(None));
        let is_all = |found: &[String]| words.iter().all(|id| found.contains(id));
        let server_url = Some(server.url.as_str());
        // Nobody there, and one that fails.
        prop_assert_eq!(&search(Some(&nobody())), &words);
        server.knobs.fail_every.store(1, Ordering::SeqCst);
        prop_assert_eq!(&search(server_url), &words);
        prop_assert_eq!(&shown(server_url), &context);
        server.knobs.fail_every.store(0, Ordering::SeqCst);
        // A fresh one: few entries are stored at once, and many wait for `index`.
        let found = search(server_url);
        prop_assert!(is_all(&found), "fresh: {:?} {:?}", words, found);
        prop_assert!(texts.len() <= 8 || found == words, "words alone count: {:?} {:?}", words, found);
        run(&["add", "One", "--tags", "one", "--body", "It is new."], server_url).says(0, "created");
        prop_assert!(is_all(&search(server_url)), "after a first write");
        let filled = run(&["index", "--remote"], server_url);
        prop_assert_eq!(filled.code, Some(0), "{}", filled);
        let whole = search(server_url);
        prop_assert!(is_all(&whole), "filled: {:?} {:?}", words, whole);
        // One that has lost everything, but this machine does not know that yet.
        server.lose("ralph-memory", per_feature);
        prop_assert!(is_all(&search(server_url)), "emptied");
    }
}

#[test]
fn another_model_requires_a_rebuild_of_the_shared_index() {
    let (base, ollama, server) = (base(), Standin::start(), qdrant::Standin::start(None));
    let there = |arguments: &[&str]| shared(base.with(arguments), &ollama, &server).run();
    there(&["index", "--remote"]).answer(0);
    ollama.state.lock().unwrap().dimensions = 128;
    let [_, message, hint] = problem(&there(&["search", "bench", "--json"]), 0);
    assert!(message.contains("imension"), "{message}");
    assert_eq!(hint, "run `ralph-memory index --rebuild --remote`: the model has changed");
    let refused = there(&["index", "--remote", "--json"]);
    let [code, message, _] = problem(&refused, 1);
    assert_eq!(code, "semantic-configuration");
    assert_eq!(message, "collection `ralph-memory` takes vectors of 96 dimensions, not of 128");
    there(&["index", "--rebuild", "--remote"]).answer(0);
    assert_eq!(ids(&there(&["search", "latency", "--json"]).json(0)), ["knowledge/slow-bench"]);
}

#[test]
fn a_shared_server_that_fails_costs_one_warning() {
    let (base, ollama) = (base(), Standin::start());
    let server = qdrant::Standin::start(Some("sesame"));
    let there = |arguments: &[&str], url: &str| base.with(arguments).env(URL, &ollama.url).env(SHARED, url).run();
    let bench = ["search", "bench", "--json"];
    let [_, _, hint] = problem(&there(&bench, &nobody()), 0);
    assert_eq!(hint, "start the server, or correct `qdrant.url`");
    let [_, message, hint] = problem(&there(&bench, &server.url), 0);
    assert!(message.contains("401") && hint == "correct `qdrant.api_key`", "{message}");
    let index = there(&["index", "--remote", "--json"], &server.url);
    assert_eq!(index.code, Some(1), "what was asked for is not done: {index}");
    let keyed =
        shared(base.with(["index", "--remote"]), &ollama, &server).env("RALPH_MEMORY_QDRANT__API_KEY", "sesame");
    keyed.run().answer(0);
    server.knobs.delay_ms.store(60_000, Ordering::SeqCst);
    let slow = || {
        let run = shared(base.with(bench), &ollama, &server).env("RALPH_MEMORY_QDRANT__API_KEY", "sesame");
        run.env("RALPH_MEMORY_QDRANT__TIMEOUT_MS", "100").run()
    };
    assert_eq!(problem(&slow(), 0)[0], "semantic-off");
    let calls = server.knobs.n_calls.load(Ordering::SeqCst);
    assert_eq!(problem(&slow(), 0)[0], "semantic-paused");
    assert_eq!(server.knobs.n_calls.load(Ordering::SeqCst), calls);
    // Without a server for vectors it has nothing to share.
    let alone = base.with(["index", "--remote"]).env(SHARED, &server.url).run();
    assert!(
        alone.code == Some(2) && alone.stderr.contains("ollama.url: it is not set; filling the server requires"),
        "{alone}"
    );
}
