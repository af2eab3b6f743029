//! Semantic search through the program: its results, its requests, and every way in which servers fail.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::*;
use ralph_memory::memory::SearchResults;
use ralph_memory::{Memory, Query, Request, Task};
use serde_json::{Value, json};

use crate::standin::http::Knobs;
use crate::standin::ollama::{Standin, State};
use crate::standin::qdrant;
use crate::support::{Ran, Run, TestBase};
use crate::test_cases::cases;

pub(crate) const URL: &str = "RALPH_MEMORY_OLLAMA__URL";
pub(crate) const SHARED: &str = "RALPH_MEMORY_QDRANT__URL";
const TIMEOUT: &str = "RALPH_MEMORY_OLLAMA__TIMEOUT_MS";
pub(crate) const COLLECTION: &str = "RALPH_MEMORY_QDRANT__COLLECTION";
/// The two ways to divide vectors among collections.
const SHARED_COLLECTION: &str = "{ per_feature = false }";
pub(crate) const PER_FEATURE: &str = "{ per_feature = true }";

/// A memory with three entries, of which words find one by "database" and none by "latency".
fn base() -> TestBase {
    let base = TestBase::new();
    base.entry("slow-bench", "The bench is slow", "tests", "Run it with fewer samples.");
    base.entry("wal", "Use the write-ahead log", "sqlite", "Our database then lets readers go on.");
    base.entry("keys", "Where the credentials are", "ops", "Ask the team for a login.");
    base
}

/// A memory with its servers: Ollama, and Qdrant where vectors are shared.
pub(crate) struct Scene {
    pub(crate) base: TestBase,
    pub(crate) ollama: Standin,
    qdrant: Option<qdrant::Standin>,
    /// More variables of each call.
    pub(crate) variables: Vec<(&'static str, &'static str)>,
}

impl Scene {
    pub(crate) fn of(base: TestBase) -> Scene {
        Scene { base, ollama: Standin::start(), qdrant: None, variables: Vec::new() }
    }

    fn local() -> Scene {
        Scene::of(base())
    }

    /// Vectors are on a server, which has none yet.
    pub(crate) fn shared(base: TestBase) -> Scene {
        Scene { qdrant: Some(qdrant::Standin::start(None)), ..Scene::of(base) }
    }

    fn filled() -> Scene {
        let scene = Scene::shared(base());
        scene.run(&["index", "--remote"]).answer(0);
        scene
    }

    pub(crate) fn server(&self) -> &qdrant::Standin {
        self.qdrant.as_ref().expect("vectors are shared")
    }

    fn knobs(&self) -> &Knobs {
        &self.ollama.knobs
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.ollama.state.lock().unwrap()
    }

    fn n_calls(&self) -> u64 {
        self.knobs().n_calls.load(Ordering::SeqCst)
    }

    fn answers_after(&self, milliseconds: u64) {
        self.knobs().delay_ms.store(milliseconds, Ordering::SeqCst);
    }

    fn answers(&self, status: u16, body: &str) {
        *self.knobs().instead.lock().unwrap() = Some((status, body.to_owned()));
    }

    pub(crate) fn with(&self, arguments: &[&str]) -> Run<'_> {
        self.with_servers(&self.base, arguments)
    }

    /// Lets another memory use the same servers.
    pub(crate) fn with_servers<'a>(&self, base: &'a TestBase, arguments: &[&str]) -> Run<'a> {
        let run = self.variables.iter().fold(base.with(arguments), |run, (name, value)| run.env(name, value));
        let run = run.env(URL, &self.ollama.url);
        match &self.qdrant {
            Some(server) => run.env(SHARED, &server.url),
            None => run,
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.with(arguments).run()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--json"]].concat()).json(0)
    }

    fn search(&self, query: &str) -> Run<'_> {
        self.with(&["search", query, "--json"])
    }

    /// What a search finds, without a problem.
    #[track_caller]
    fn found(&self, query: &str) -> Vec<String> {
        found(self.search(query))
    }

    /// The one problem of a search.
    #[track_caller]
    fn problem(&self, query: &str) -> [String; 3] {
        problem(&self.search(query).run(), 0)
    }

    /// How many entries have vectors, and how many of them are new.
    #[track_caller]
    fn indexed(&self, arguments: &[&str]) -> (u64, u64) {
        counts(&self.json(&[&["index"], arguments].concat()))
    }

    fn n_stored(&self) -> Option<usize> {
        self.server().count("ralph-memory")
    }

    /// A program that keeps the memory open, as a loop does.
    fn open(&self, seconds: &Arc<AtomicU64>) -> Memory {
        let servers = [(URL, self.ollama.url.as_str())];
        opened(&self.base, &[&servers, &self.variables[..]].concat(), seconds)
    }
}

/// What a search found without a problem; its exit code says whether that is anything.
#[track_caller]
fn found(run: Run<'_>) -> Vec<String> {
    let ran = run.run();
    let answer = ran.json(i32::from(ran.code != Some(0)));
    assert_eq!(answer["problems"], json!([]), "{ran}");
    let ids = ids(&answer);
    assert_eq!(ran.code, Some(i32::from(ids.is_empty())), "{ran}");
    ids
}

fn counts(answer: &Value) -> (u64, u64) {
    let count = |name: &str| answer["vectors"][name].as_u64().unwrap();
    (count("entry_count"), count("new_count"))
}

fn ids(answer: &Value) -> Vec<String> {
    crate::support::ids(&answer["entries"])
}

/// The one problem that there is: its code, its message and its hint.
#[track_caller]
pub(crate) fn problem(ran: &Ran, code: i32) -> [String; 3] {
    let answer = ran.json(code);
    let problems = answer["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{ran}");
    assert_eq!(problems[0]["severity"], "warning");
    ["code", "message", "hint"].map(|key| problems[0][key].as_str().unwrap().to_owned())
}

pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn opened(base: &TestBase, variables: &[(&str, &str)], seconds: &Arc<AtomicU64>) -> Memory {
    let root = base.root();
    let memory = Memory::open_for_user(Some(&root), &root, None, variables.iter().copied()).unwrap();
    let seconds = Arc::clone(seconds);
    memory.with_clock(move || SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::SeqCst)))
}

fn clock() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(1_800_000_000))
}

/// What the library finds.
fn search(memory: &Memory, query: &str) -> SearchResults {
    memory.search(&Query { text: query.to_owned(), ..Query::default() }, 5).unwrap()
}

/// The codes of a search's problems.
fn told(memory: &Memory) -> Vec<String> {
    search(memory, "bench").problems.into_iter().map(|problem| problem.code).collect()
}

/// Adds an entry about a crash.
const PANICS: [&str; 6] = ["add", "Panics", "--tags", "x", "--body", "It can abort."];
const IN_FEATURE: &str =
    "---\ntitle: \"Sessions\"\ntags: [auth]\nfeature: sign-in\n---\n\nThe password is checked twice.\n";
const NO_ENTRIES: [&str; 0] = [];

#[test]
fn what_means_the_same_is_found() {
    let scene = Scene::local();
    assert_eq!(found(scene.base.with(["search", "latency", "--json"])), NO_ENTRIES);
    assert_eq!(scene.found("latency"), ["knowledge/slow-bench"]);
    // Words and meaning together: of two that mean it, the one that says it comes first.
    let answer = scene.json(&["search", "sqlite persistence", "--explain"]);
    let hit = &answer["entries"][0];
    assert_eq!(hit["id"], "knowledge/wal");
    let parts = hit["explanation"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["part"] == "semantic"), "{parts:?}");
    let sum: f64 = parts.iter().map(|part| part["value"].as_f64().unwrap()).sum();
    assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-9, "the parts add up: {hit}");
}

/// `all-minilm` learned English alone: for another alphabet its vectors are noise.
#[test]
fn an_english_model_is_not_asked_about_other_alphabets() {
    for (model, query, is_asked) in [
        ("all-minilm", "why is the bench slow", true),
        ("all-minilm", "La vérification à la caisse", true),
        ("all-minilm", "500 ms: ช้ามาก", false),
        ("all-minilm:33m", "почему медленно", false),
        ("nomic-embed-text", "почему медленно", true),
    ] {
        let scene = Scene::local();
        scene.state().models.push(format!("{model}:latest").replace(":33m:latest", ":33m"));
        let ran = scene.search(query).env("RALPH_MEMORY_OLLAMA__MODEL", model).run();
        assert_eq!(ran.json(ran.code.unwrap())["problems"], json!([]), "{ran}");
        assert_eq!(scene.n_calls() > 0, is_asked, "{model} {query}");
    }
}

/// Two entries say "checkout" in the same place, of which one is about what is slow; four are about nothing else and do
/// not say it.
#[test]
fn matches_by_words_always_count_their_similarity() {
    let base = TestBase::new();
    base.entry("a-blue", "Checkout flow", "x", "Here it is blue.");
    base.entry("b-slow", "Flow checkout", "x", "Here it is slow.");
    for name in ["c", "d", "e", "f"] {
        base.entry(name, "Performance", "x", "Benchmark speed.");
    }
    let scene = Scene::shared(base);
    let words = found(scene.base.with(["search", "checkout latency", "--json"]));
    assert_eq!(words, ["knowledge/a-blue", "knowledge/b-slow"], "words cannot tell them apart");
    scene.run(&["index", "--remote"]).answer(0);
    // The others are more alike than both: they take all of the limit, and one of them is found by that.
    for (limit, least, n_alone) in [("1", "0.2", 1), ("20", "0.2", 4), ("20", "0.9999", 0)] {
        let narrow = |run: Run<'_>| {
            found(run.env("RALPH_MEMORY_SEMANTIC__LIMIT", limit).env("RALPH_MEMORY_SEMANTIC__MIN_SCORE", least))
        };
        let here = narrow(scene.search("checkout latency").env(SHARED, ""));
        let place = |id: &str| here.iter().position(|found| found == id).unwrap();
        let is_first = place("knowledge/b-slow") < place("knowledge/a-blue");
        assert!(is_first && here.len() == 2 + n_alone, "{limit} {least}: {here:?}");
        let n_calls = || scene.server().knobs.n_calls.load(Ordering::SeqCst);
        let n_before = n_calls();
        assert_eq!(narrow(scene.search("checkout latency")), here, "{limit} {least}");
        assert_eq!(n_calls(), n_before + 1, "in one call");
    }
}

#[test]
fn filters_apply_to_semantic_matches() {
    let scene = Scene::local();
    for (option, value, expected) in [
        ("--tag", "tests", &["knowledge/slow-bench"][..]),
        ("--tag", "sqlite", &[]),
        ("--kind", "journal", &[]),
        ("--feature", "billing", &[]),
    ] {
        assert_eq!(found(scene.with(&["search", "performance", "--json", option, value])), expected, "{value}");
    }
    scene.base.write(
        ".ralph/knowledge/new.md",
        "---\ntitle: \"It is faster now\"\ntags: [x]\nsupersedes: [knowledge/slow-bench]\n---\n\nSpeed is no trouble.\n",
    );
    assert_eq!(scene.found("latency"), ["knowledge/new"]);
}

#[test]
fn each_text_is_embedded_once() {
    let scene = Scene::local();
    scene.run(&PANICS).answer(0);
    assert_eq!(scene.ollama.texts(), ["search_document: Panics\nIt can abort."]);
    scene.found("latency");
    let texts = scene.ollama.texts();
    // The query, and the three that no call of this program wrote.
    assert_eq!((texts[0].as_str(), texts.len()), ("search_query: latency", 4), "{texts:?}");
    scene.found("latency");
    assert_eq!(scene.ollama.texts(), ["search_query: latency"]);
    // Other tags and another path do not change the text.
    let base = &scene.base;
    base.entry("slow-bench", "The bench is slow", "tests, ci", "Run it with fewer samples.");
    fs::create_dir(base.at(".ralph/knowledge/team")).unwrap();
    fs::rename(base.at(".ralph/knowledge/wal.md"), base.at(".ralph/knowledge/team/wal.md")).unwrap();
    assert_eq!((scene.found("latency").len(), scene.ollama.texts().len()), (1, 1));
    // Another body is.
    base.entry("slow-bench", "The thing", "tests", "It was a matter of login.");
    assert_eq!(scene.found("latency"), NO_ENTRIES);
    let embedded = ["search_query: latency", "search_document: The thing\nIt was a matter of login."];
    assert_eq!(scene.ollama.texts(), embedded);
}

#[test]
fn a_long_entry_is_found_by_its_best_chunk() {
    let scene = Scene::local();
    let (before, after) = ("Nothing of note. ".repeat(190), "More. ".repeat(400));
    scene.base.entry("long", "A long one", "x", &format!("{before}\n\nHere it may segfault panic abort.\n\n{after}"));
    let least = scene.search("crash").env("RALPH_MEMORY_SEMANTIC__MIN_SCORE", "0.1");
    assert_eq!(found(least), ["knowledge/long"]);
    let texts = scene.ollama.texts();
    let pieces: Vec<&String> = texts.iter().filter(|text| text.contains("A long one")).collect();
    assert!(pieces.len() >= 4 && pieces.iter().all(|piece| piece.split_whitespace().count() <= 205), "{pieces:?}");
}

#[test]
fn only_the_index_command_embeds_many_entries() {
    let scene = Scene::local();
    for number in 0..20 {
        scene.base.entry(&format!("n{number}"), &format!("Number {number}"), "x", "A crash.");
    }
    let expected = [
        "semantic-pending",
        "23 entries have no vector yet and are found by their words alone",
        "run `ralph-memory index`",
    ];
    assert_eq!(problem(&scene.search("latency").run(), 1), expected);
    assert_eq!(scene.ollama.texts(), ["search_query: latency"]);
    let index = scene.run(&["index"]).answer(0);
    assert_eq!(index, "the index has 23 entries\nthere are vectors of 23 entries, 23 new\n");
    assert_eq!(scene.found("latency"), ["knowledge/slow-bench"]);
    assert_eq!(scene.indexed(&[]), (23, 0));
}

#[test]
fn a_context_includes_semantic_matches() {
    let scene = Scene::local();
    let answer = scene.json(&["context", "--task", "Improve latency"]);
    assert!(answer["prompt"].as_str().unwrap().contains("Run it with fewer samples."), "{answer}");
    let recorded = scene.with(&["record", "--json"]).input("<journal>The crash came from a panic.</journal>");
    recorded.run().json(0);
    let texts = scene.ollama.texts();
    assert!(texts.last().unwrap().contains("The crash came from a panic."), "an attempt is embedded: {texts:?}");
    assert!(scene.found("segfault")[0].starts_with("journal/run-"));
}

#[test]
fn secrets_are_never_sent() {
    let scene = Scene::local();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    scene.base.entry("leak", "A leak", "x", &format!("The token is {token}."));
    scene.found("latency");
    let texts = scene.ollama.texts().join("\n");
    assert!(texts.contains("A leak") && !texts.contains(&token[8..]), "{texts}");
    // Not even if a value is in another chunk than its name, or is searched for.
    let value = "wJalrXUtnFEMI1K7MDENGbPxRfiCYzXq9LmT4vBd";
    scene.base.entry("long-leak", "Long", "x", &format!("{}aws_secret_access_key = {value}", "word ".repeat(198)));
    let _ = scene.search(&format!("who wrote {token}")).run();
    let texts = scene.ollama.texts().join("\n");
    assert!(texts.contains("Long") && texts.contains("who wrote"), "{texts}");
    assert!(!texts.contains(value) && !texts.contains(&token[8..]), "{texts}");
}

#[test]
fn without_an_address_or_weight_no_request_is_sent() {
    let scene = Scene::local();
    let weighted = |weight: &str| scene.search("bench").env("RALPH_MEMORY_SEMANTIC__WEIGHT", weight).run();
    weighted("0").json(0);
    // A file that comes with a repository names no address.
    scene.base.write(".ralph/config.toml", format!("format = 1\n[ollama]\nurl = \"{}\"\n", scene.ollama.url));
    let [code, ..] = problem(&scene.base.run(["search", "bench", "--json"]), 0);
    assert_eq!(code, "address-in-project");
    let heavy = scene.with(&["search", "bench"]).env("RALPH_MEMORY_SEMANTIC__WEIGHT", "1").run();
    heavy.refuses(2, "`semantic.weight` must be a number from 0 to 0.99");
    assert_eq!(scene.n_calls(), 0);
}

#[test]
fn an_absent_server_costs_one_warning() {
    let base = base();
    let url = nobody();
    let run = |arguments: &[&str]| base.with(arguments).input("<journal>x</journal>").env(URL, &url).run();
    let expected = [
        "semantic-off",
        "it cannot be reached: the connection was refused; words alone count",
        "start it with `ollama serve`, or correct `ollama.url`",
    ];
    assert_eq!(problem(&run(&["search", "bench", "--json"]), 0), expected);
    // Nothing else changes: writes succeed, and an iteration continues.
    let added = run(&["add", "T", "--tags", "x", "--body", "b", "--json"]);
    assert_eq!((added.json(0)["action"].as_str(), problem(&added, 0)[0].as_str()), (Some("created"), "semantic-off"));
    for arguments in [&["context", "--task", "Bench", "--json"][..], &["record", "--json"], &["index", "--json"]] {
        assert_eq!(problem(&run(arguments), 0)[0], "semantic-off");
    }
    let text = run(&["search", "bench"]);
    assert_eq!(text.stderr.matches("warning:").count(), 1, "{text}");
}

#[test]
fn a_slow_server_suspends_requests() {
    let scene = Scene { variables: vec![(TIMEOUT, "100")], ..Scene::local() };
    scene.answers_after(60_000);
    let slow = |now: &str| problem(&scene.search("bench").now(now).run(), 0);
    let begun = Instant::now();
    let [code, message, hint] = slow("2026-11-20T10:00:00Z");
    assert_eq!([code, message], ["semantic-off", "it did not answer within 100 ms; words alone count"]);
    assert!(hint.contains("ollama.timeout_ms"), "{hint}");
    let n_first = scene.n_calls();
    let [code, message, _] = slow("2026-11-20T10:00:20Z");
    assert_eq!(code, "semantic-paused");
    assert_eq!(message, "it did not answer within 100 ms; requests are suspended for 40 s, and words alone count");
    let added = scene.with(&["add", "T", "--tags", "x", "--body", "b", "--json"]).run();
    assert_eq!(problem(&added, 0)[0], "semantic-paused");
    assert_eq!(scene.n_calls(), n_first, "nobody is asked meanwhile");
    // A minute later it is tried again, and `check` asks it at any time.
    assert_eq!(slow("2026-11-20T10:01:10Z")[0], "semantic-off");
    assert!(scene.n_calls() > n_first);
    scene.answers_after(0);
    let patient = |arguments: &[&str], now| scene.with(arguments).env(TIMEOUT, "30000").now(now);
    let checked = patient(&["check"], "2026-11-20T10:01:15Z").run();
    assert!(checked.stdout.contains("RAG: active (ollama nomic-embed-text 96d)"), "{checked}");
    found(patient(&["search", "bench", "--json"], "2026-11-20T10:01:20Z"));
    assert!(begun.elapsed() < Duration::from_secs(50), "nobody waited for a whole answer");
}

#[test]
fn a_process_respects_a_newer_suspension() {
    let (scene, seconds) = (Scene { variables: vec![(TIMEOUT, "100")], ..Scene::local() }, clock());
    scene.answers_after(60_000);
    let first = scene.open(&seconds);
    assert_eq!(told(&first), ["semantic-off"]);
    seconds.fetch_add(70, Ordering::SeqCst);
    assert_eq!(told(&scene.open(&seconds)), ["semantic-off"]);
    let before = scene.n_calls();
    seconds.fetch_add(10, Ordering::SeqCst);
    assert_eq!(told(&first), ["semantic-paused"]);
    assert_eq!(scene.n_calls(), before, "nobody is asked");
}

#[test]
fn each_failure_is_reported_once() {
    let scene = Scene::local();
    let memory = scene.open(&clock());
    for (status, body, expected) in [
        (404, "no such model", &["semantic-off"][..]),
        (404, "no such model", &[]),
        // Another fix applies.
        (200, "<html>", &["semantic-off"]),
        (404, "no such model", &[]),
    ] {
        scene.answers(status, body);
        assert_eq!(told(&memory), expected, "{body}");
    }
}

/// A call that waits holds no lock meanwhile.
#[test]
fn others_write_while_one_waits() {
    let scene = Scene::local();
    scene.answers_after(60_000);
    let waiting = scene.with(&["add", "Waits", "--tags", "x", "--body", "b"]).env(TIMEOUT, "600000");
    let mut waiting = waiting.command().spawn().unwrap();
    let begun = Instant::now();
    while scene.n_calls() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(50), "it asks the server");
        std::thread::yield_now();
    }
    let other = scene.base.with(["add", "Other", "--tags", "y", "--body", "Not alike."]);
    other.lock_timeout(0).run().answer(0);
    assert!(waiting.try_wait().unwrap().is_none(), "it waits still");
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(scene.base.at(".ralph/knowledge/waits.md").exists(), "what it wrote is there");
}

#[test]
fn a_missing_model_is_named() {
    let scene = Scene::local();
    let with_model = |run: Run<'_>, model: &str| run.env("RALPH_MEMORY_OLLAMA__MODEL", model).run();
    let [_, message, hint] = problem(&with_model(scene.search("bench"), "mxbai-embed-large"), 0);
    assert!(message.contains("it answered 404: model \"mxbai-embed-large\" not found"), "{message}");
    assert_eq!(hint, "run `ollama pull mxbai-embed-large`");
    let checked = with_model(scene.with(&["check"]), "mxbai-embed-large");
    for text in ["RAG: off", "hint: run `ollama pull mxbai-embed-large`"] {
        assert!(checked.stdout.contains(text), "{checked}");
    }
    // With its tag it is the same as without.
    let tagged = with_model(scene.search("latency"), "nomic-embed-text:latest");
    assert_eq!(ids(&tagged.json(0)).len(), 1);
    scene.ollama.texts();
    scene.found("latency");
    assert_eq!(scene.ollama.texts().len(), 1, "its vectors are the same, too");
}

#[test]
fn another_dimension_rebuilds_the_vectors() {
    let scene = Scene::local();
    let embedded = || (scene.found("latency").len(), scene.ollama.texts().len());
    assert_eq!(embedded(), (1, 4));
    scene.state().dimensions = 128;
    assert_eq!([embedded(), embedded()], [(1, 4), (1, 1)]);
    scene.state().dimensions = 64;
    assert_eq!(scene.indexed(&[]), (3, 3));
    scene.ollama.texts();
    assert_eq!(embedded(), (1, 1));
}

#[test]
fn a_layer_loses_nothing_by_the_meaning_of_entries_from_here() {
    let (scene, layer) = (Scene::local(), TestBase::new());
    layer.entry("slow-bench", "The bench is slow", "tests", "With fewer samples run it.");
    let answer = scene.search("bench").env("RALPH_MEMORY_LAYERS", layer.root().to_str().unwrap()).run().json(0);
    let [own, other] = [&answer["entries"][0], &answer["entries"][1]];
    assert!(own["layer"].is_null() && own["similarity"].is_number(), "{answer}");
    assert!(other["layer"].is_string() && other["similarity"].is_null(), "{answer}");
    let difference = own["score"].as_f64().unwrap() - other["score"].as_f64().unwrap();
    assert!(difference.abs() < 1e-6, "{answer}");
}

#[test]
fn invalid_answers_are_not_trusted() {
    let scene = Scene::local();
    let failure = || {
        let mut problems = search(&scene.open(&clock()), "bench").problems;
        assert_eq!((problems.len(), problems[0].code.as_str()), (1, "semantic-off"), "{problems:?}");
        problems.remove(0).message.to_string()
    };
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
        scene.answers(status, body);
        let message = failure();
        assert!(message.contains(expected), "{body}: {message}");
    }
    *scene.knobs().instead.lock().unwrap() = None;
    scene.knobs().is_cut.store(true, Ordering::SeqCst);
    failure();
    scene.knobs().is_cut.store(false, Ordering::SeqCst);
    scene.knobs().drop_every.store(1, Ordering::SeqCst);
    failure();
    assert!(!scene.base.at(".ralph/cache/vectors-v1").exists(), "nothing was kept of it");
}

#[test]
fn refused_texts_are_left_to_words_and_not_sent_with_every_search() {
    let scene = Scene::local();
    scene.base.entry("odd", "Odd", "x", "A zyzzyva crash.");
    scene.state().poison = Some("zyzzyva".to_owned());
    let found_at = |n_problems: usize, now: &str| {
        let before = scene.n_calls();
        let answer = scene.search("persistence").now(now).run().json(0);
        assert_eq!(ids(&answer), ["knowledge/wal"]);
        assert_eq!(answer["problems"].as_array().unwrap().len(), n_problems, "{answer}");
        scene.n_calls() - before
    };
    let found = |n_problems| found_at(n_problems, "2026-11-20T10:00:00Z");
    // `index` tries all; a refused text is told from a server that is ill, also where it is sent alone.
    let index = || {
        let index = scene.run(&["index", "--json"]);
        let [code, message, _] = problem(&index, 0);
        assert_eq!((code.as_str(), counts(&index.json(0)).0), ("semantic-refused", 3));
        assert!(message.contains("the input length exceeds the context length"), "{message}");
    };
    // The first one finds it out: the query, all at once, and each alone.
    assert!(found(1) > 2);
    assert_eq!(found(0), 1, "the query alone");
    // Other words are tried.
    scene.base.entry("odd", "Odd", "x", "Another zyzzyva crash.");
    assert!(found(1) > 1);
    assert_eq!(found(0), 1);
    index();
    index();
    assert_eq!(ids(&scene.search("zyzzyva latency").run().json(0)).len(), 1, "the query is refused as well");
    assert_eq!([found(0), found_at(0, "2026-11-20T10:59:59Z")], [1; 2]);
    assert!(found_at(1, "2026-11-20T11:00:00Z") > 1, "an hour later it is tried again");
    scene.state().poison = None;
    assert_eq!(scene.indexed(&[]).0, 4);
    assert_eq!(scene.found("segfault"), ["knowledge/odd"]);
}

/// A server that says no to several texts at once and then takes its time for each is waited for as long as for one.
#[test]
fn texts_sent_one_by_one_share_a_time_out() {
    let scene = Scene { variables: vec![(TIMEOUT, "1500")], ..Scene::local() };
    for number in 0..5 {
        scene.base.entry(&format!("more-{number}"), &format!("More {number}"), "x", "Of it.");
    }
    scene.state().poison = Some("More".to_owned());
    // The query and all at once are answered at once, each that is sent alone in time, and all of these too late.
    scene.knobs().quick.store(2, Ordering::SeqCst);
    scene.answers_after(600);
    let patient = |now: &str| problem(&scene.search("bench").now(now).run(), 0);
    let [code, message, _] = patient("2026-11-20T10:00:00Z");
    assert_eq!([code, message], ["semantic-off", "it did not answer within 1500 ms; words alone count"]);
    assert_eq!(patient("2026-11-20T10:00:01Z")[0], "semantic-paused");
    // The query, all at once, and no more than three of those that are sent alone: the third is not waited for.
    assert!((3..=5).contains(&scene.n_calls()), "{}", scene.n_calls());
    // It was the server and no text: all of them are embedded when it is well.
    scene.state().poison = None;
    scene.answers_after(0);
    let later = scene.search("latency").env(TIMEOUT, "30000").now("2026-11-20T10:02:00Z");
    assert_eq!(found(later), ["knowledge/slow-bench"]);
}

/// Another model of the same name, with as many dimensions.
#[test]
fn a_model_with_other_vectors_rebuilds_everything() {
    let scene = Scene::shared(base());
    let local = || counts(&scene.with(&["index", "--json"]).env(SHARED, "").run().json(0)).1;
    let there = || scene.indexed(&["--remote"]).1;
    assert_eq!([local(), there(), local()], [3, 3, 0]);
    scene.state().turned = true;
    assert_eq!(local(), 3);
    assert_eq!(found(scene.search("latency").env(SHARED, "")), ["knowledge/slow-bench"]);
    scene.state().turned = false;
    assert_eq!([there(), there()], [3, 0]);
    // Rebuilt means rebuilt, whatever the cache contains.
    scene.ollama.texts();
    assert_eq!(scene.indexed(&["--rebuild", "--remote"]).1, 3);
    assert!(scene.ollama.texts().len() > 3);
}

#[test]
fn points_follow_what_is_written_renamed_and_undone() {
    let scene = Scene::filled();
    let sync = || scene.run(&["index", "--remote"]).answer(0);
    let entries = || {
        let payloads = scene.server().payloads("ralph-memory");
        let mut entries: Vec<String> =
            payloads.iter().map(|point| point["entry"].as_str().unwrap().to_owned()).collect();
        entries.sort();
        entries
    };
    let state = || (entries().len(), scene.found("segfault"));
    let panics = || vec!["knowledge/panics".to_owned()];
    let before = entries();
    scene.run(&PANICS).answer(0);
    assert_eq!(state(), (4, panics()));
    sync();
    assert_eq!(state(), (4, panics()));
    let after = entries();
    // Until the sync, files decide what is found.
    scene.run(&["undo"]).says(0, "removed  .ralph/knowledge/panics.md");
    assert_eq!(scene.found("segfault"), NO_ENTRIES);
    sync();
    assert_eq!((entries(), scene.found("segfault")), (before, Vec::new()));
    scene.run(&["undo", "--redo"]).says(0, "restored .ralph/knowledge/panics.md");
    sync();
    assert_eq!((entries(), scene.found("segfault")), (after, panics()));
    // A text that was changed and taken back has the point of the old text.
    let points = || {
        let points = scene.server().payloads("ralph-memory").into_iter();
        points.filter(|point| point["entry"] == "knowledge/panics").collect::<Vec<Value>>()
    };
    let old = points();
    scene.run(&["add", "Panics", "--tags", "x", "--body", "It can abort, or unwind."]).says(0, "updated");
    assert_ne!(points(), old);
    scene.run(&["undo"]).says(0, "changed  .ralph/knowledge/panics.md");
    sync();
    assert_eq!(points(), old);
    // Another name and a copy are other entries there.
    let base = &scene.base;
    fs::rename(base.at(".ralph/knowledge/panics.md"), base.at(".ralph/knowledge/aborts.md")).unwrap();
    fs::copy(base.at(".ralph/knowledge/aborts.md"), base.at(".ralph/knowledge/copy.md")).unwrap();
    let mut found = scene.found("segfault");
    found.sort();
    assert_eq!(found, ["knowledge/aborts", "knowledge/copy"]);
    let checked = scene.run(&["check"]);
    assert!(checked.stdout.contains("RAG: active (qdrant ok, ollama nomic-embed-text 96d)"), "{checked}");
}

#[test]
fn an_unreachable_server_removes_no_vectors() {
    let scene = Scene::filled();
    scene.with(&["index"]).env(SHARED, "").run().answer(0);
    let nobody = nobody();
    for (arguments, shared, code) in
        [(&["index", "--json"][..], "", 0), (&["index", "--remote", "--json"], &scene.server().url, 1)]
    {
        let down = scene.with(arguments).env(URL, &nobody).env(SHARED, shared).run();
        assert_eq!((problem(&down, code)[0].as_str(), counts(&down.json(code)).0), ("semantic-off", 3), "{down}");
    }
}

#[test]
fn damaged_vectors_are_computed_again() {
    let scene = Scene::local();
    let entries = || {
        let hits = search(&scene.open(&clock()), "latency storage").hits;
        hits.into_iter().map(|hit| (hit.entry.id, hit.score.to_bits())).collect::<Vec<_>>()
    };
    let whole = entries();
    let name = scene.base.files(".ralph/cache/vectors-v1").remove(0);
    let bytes = fs::read(scene.base.at(&name)).unwrap();
    let flipped = |place, bit| {
        let flip = |(at, byte): (usize, &u8)| if at == place { byte ^ bit } else { *byte };
        bytes.iter().enumerate().map(flip).collect()
    };
    let damages: Vec<Vec<u8>> = vec![
        Vec::new(),
        bytes[..10].to_vec(),
        bytes[..bytes.len() - 5].to_vec(),
        [&bytes[..], b"half a record"].concat(),
        flipped(60, 0x40),
        flipped(12, 1),
        vec![0xff; bytes.len()],
    ];
    for (number, damage) in damages.iter().enumerate() {
        fs::write(scene.base.at(&name), damage).unwrap();
        assert_eq!([entries(), entries()], [whole.clone(), whole.clone()], "damage {number}");
        scene.ollama.texts();
        entries();
        assert_eq!(scene.ollama.texts().len(), 1, "damage {number} is repaired");
    }
    fs::remove_dir_all(scene.base.at(".ralph/cache")).unwrap();
    assert_eq!(entries(), whole);
    // A file in place of the folder costs time, and nothing else.
    fs::remove_dir_all(scene.base.at(".ralph/cache/vectors-v1")).unwrap();
    fs::write(scene.base.at(".ralph/cache/vectors-v1"), "x").unwrap();
    assert_eq!(entries(), whole);
}

#[test]
fn a_shared_server_finds_the_same_as_local_vectors() {
    let mut scene = Scene::shared(base());
    // Entries without a feature lie in the same place in both.
    for (mode, n_new) in [(SHARED_COLLECTION, 4), (PER_FEATURE, 1)] {
        scene.variables = vec![(COLLECTION, mode)];
        scene.base.write(".ralph/knowledge/login.md", IN_FEATURE);
        for n_new in [n_new, 0] {
            let filled = scene.run(&["index", "--remote"]).answer(0);
            assert_eq!(filled, format!("the index has 4 entries\nthe server has 4 entries, {n_new} new\n"), "{mode}");
        }
        for query in ["latency", "authentication", "persistence of credentials", "crash"] {
            assert_eq!(scene.found(query), found(scene.search(query).env(SHARED, "")), "{query}");
        }
        let featured = found(scene.with(&["search", "credentials", "--feature", "sign-in", "--json"]));
        assert_eq!(featured, ["knowledge/login"], "{mode}");
        // What goes here, goes there.
        fs::remove_file(scene.base.at(".ralph/knowledge/login.md")).unwrap();
        let gone = scene.json(&["index", "--remote"]);
        assert_eq!((counts(&gone).0, &gone["vectors"]["removed_count"]), (3, &json!(1)), "{mode}");
    }
}

#[test]
fn files_decide_which_shared_results_count() {
    let scene = Scene::filled();
    let other = TestBase::new();
    // Another machine has another version of one entry, an entry of its own, and fills the same index.
    other.entry("slow-bench", "The bench is slow", "tests", "The latency has other reasons: storage.");
    other.entry("theirs", "Their benchmark", "x", "Performance.");
    scene.with_servers(&other, &["index", "--remote"]).run().answer(0);
    assert_eq!(scene.n_stored(), Some(4), "what was never there is not theirs to remove");
    assert_eq!(scene.found("latency"), NO_ENTRIES, "neither their entry nor their text is ours");
    scene.run(&["index", "--remote"]).answer(0);
    assert_eq!(scene.found("latency"), ["knowledge/slow-bench"]);
    let payloads = scene.server().payloads("ralph-memory");
    assert!(payloads.iter().all(|payload| !payload.to_string().contains("samples")), "no text: {payloads:?}");
}

/// Two projects on one server have the same ids, and neither a collection nor a name of its own.
#[test]
fn projects_are_separated() {
    let (scene, other) = (Scene::filled(), TestBase::new());
    fs::create_dir(other.at("inner")).unwrap();
    other.with(["init", "--here"]).folder(other.at("inner")).run().answer(0);
    // A file that comes with a repository cannot make it another project.
    other.write("inner/.ralph/config.toml", "format = 1\n[qdrant]\nproject = \"project\"\n");
    other.write("inner/.ralph/knowledge/wal.md", "---\ntitle: \"W\"\ntags: [x]\n---\n\nA crash.\n");
    let inner = |arguments: &[&str]| scene.with_servers(&other, arguments).folder(other.at("inner")).run();
    assert_eq!(inner(&["search", "bench", "--json"]).json(1)["problems"][0]["code"], "address-in-project");
    inner(&["index", "--rebuild", "--remote"]).says(0, "the index has ");
    assert_eq!(scene.n_stored(), Some(4));
    assert_eq!(scene.found("storage"), ["knowledge/wal"]);
}

/// A fresh server is asked, and written to, before anything else is done there.
#[test]
fn a_fresh_server_is_filled_by_what_is_written_and_searched() {
    for mode in [SHARED_COLLECTION, PER_FEATURE] {
        let scene = Scene { variables: vec![(COLLECTION, mode)], ..Scene::shared(TestBase::new()) };
        let adds = |fact: &[&str]| assert_eq!(scene.json(fact)["problems"], json!([]), "{mode}");
        assert_eq!(scene.found("segfault"), NO_ENTRIES);
        assert!(scene.run(&["check"]).stdout.contains("RAG: active (qdrant ok"), "{mode}");
        adds(&[&PANICS[..], &["--feature", "auth"]].concat());
        assert_eq!(scene.found("segfault"), ["knowledge/panics"], "{mode}");
        adds(&["add", "Keys", "--tags", "x", "--body", "The credentials are elsewhere."]);
        assert_eq!(scene.found("password"), ["knowledge/keys"], "{mode}");
        adds(&["add", "Sessions", "--tags", "y", "--feature", "sign-in", "--body", "The login is checked twice."]);
        let of_feature = scene.with(&["search", "authentication", "--feature", "sign-in", "--json"]);
        assert_eq!(found(of_feature), ["knowledge/sessions"], "{mode}");
        let context = scene.json(&["context", "--task", "Explain the segfault"]);
        assert_eq!(context["problems"], json!([]), "{mode}: {context}");
        assert!(context["prompt"].as_str().unwrap().contains("It can abort."), "{mode}: {context}");
        // Made as `index --remote` makes it.
        let filled = scene.run(&["index", "--remote"]).answer(0);
        assert_eq!(filled, "the index has 3 entries\nthe server has 3 entries, 0 new\n", "{mode}");
    }
}

/// Another machine, or an administrator, removed what was stored there.
#[test]
fn what_a_server_has_lost_is_stored_again() {
    let scene = Scene::filled();
    for loss in ["collection", "points"] {
        scene.server().lose("ralph-memory", loss == "points");
        let answer = scene.json(&["search", "bench latency"]);
        assert_eq!(ids(&answer), ["knowledge/slow-bench"], "{loss}");
        assert_eq!(answer["problems"], json!([]), "{loss}: {answer}");
        assert!(answer["entries"][0]["similarity"].is_number(), "{loss}: {answer}");
    }
    // With more than a search may embed, words alone count until the index is filled.
    for number in 0..20 {
        scene.base.entry(&format!("n{number:02}"), &format!("Bench {number}"), "x", "A crash of the bench.");
    }
    scene.run(&["index", "--remote"]).answer(0);
    scene.server().lose("ralph-memory", false);
    scene.run(&["add", "Panics of the bench", "--tags", "x", "--body", "It can abort."]).answer(0);
    let after = scene.search("bench").run();
    let [code, message, hint] = problem(&after, 0);
    assert_eq!(code, "semantic-pending");
    assert!(message.ends_with("entries have no vector yet and are found by their words alone"), "{message}");
    assert!(hint.contains("index --remote"), "{hint}");
    assert_eq!(ids(&after.json(0)), found(scene.base.with(["search", "bench", "--json"])));
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
        let mode = if per_feature { PER_FEATURE } else { SHARED_COLLECTION };
        let variables = vec![(COLLECTION, mode), ("RALPH_MEMORY_QDRANT__TIMEOUT_MS", "2000")];
        let scene = Scene { variables, ..Scene::shared(TestBase::new()) };
        let (base, server) = (&scene.base, scene.server());
        for (number, words) in texts.iter().enumerate() {
            let feature = ["", "feature: auth\n", "feature: billing\n"][number % 3];
            let body = text(words);
            base.write(
                &format!(".ralph/knowledge/e{number:02}.md"),
                format!("---\ntitle: Entry {number}\ntags: [{}]\n{feature}---\n\n{body}.\n", WORDS[words[0]]),
            );
        }
        let query = text(&query);
        // Without an address of a model, words alone count.
        let search = |url: &str, qdrant: &str| {
            let run = scene.with(&["search", &query, "--json", "--limit", "100"]).env(URL, url).env(SHARED, qdrant);
            ids(&serde_json::from_str(&run.run().stdout).unwrap())
        };
        let there = || search(&scene.ollama.url, &server.url);
        let shown = |qdrant: Option<&str>| {
            let variables = [(URL, scene.ollama.url.as_str()), (SHARED, qdrant.unwrap_or_default())];
            let memory = opened(base, if qdrant.is_some() { &variables } else { &[] }, &clock());
            memory.context(&Request { task: Task::new(query.as_str()), ..Request::default() }).unwrap().entries
        };
        let (words, context) = (search("", ""), shown(None));
        let is_all = |found: &[String]| words.iter().all(|id| found.contains(id));
        // Nobody there, and one that fails.
        prop_assert_eq!(&search(&scene.ollama.url, &nobody()), &words);
        server.knobs.fail_every.store(1, Ordering::SeqCst);
        prop_assert_eq!(&there(), &words);
        prop_assert_eq!(&shown(Some(&server.url)), &context);
        server.knobs.fail_every.store(0, Ordering::SeqCst);
        // A fresh one: few entries are stored at once, and many wait for `index`.
        let found = there();
        prop_assert!(is_all(&found), "fresh: {:?} {:?}", words, found);
        prop_assert!(texts.len() <= 8 || found == words, "words alone count: {:?} {:?}", words, found);
        scene.run(&["add", "One", "--tags", "one", "--body", "It is new."]).says(0, "created");
        prop_assert!(is_all(&there()), "after a first write");
        let filled = scene.run(&["index", "--remote"]);
        prop_assert_eq!(filled.code, Some(0), "{}", filled);
        let whole = there();
        prop_assert!(is_all(&whole), "filled: {:?} {:?}", words, whole);
        // One that has lost everything, but this machine does not know that yet.
        server.lose("ralph-memory", per_feature);
        prop_assert!(is_all(&there()), "emptied");
    }
}

#[test]
fn another_model_requires_a_rebuild_of_the_shared_index() {
    let scene = Scene::filled();
    scene.state().dimensions = 128;
    let [_, message, hint] = scene.problem("bench");
    assert!(message.contains("imension"), "{message}");
    assert_eq!(
        hint,
        "run `ralph-memory index --rebuild --remote`: its collection is for vectors of another model or version"
    );
    let [code, message, _] = problem(&scene.run(&["index", "--remote", "--json"]), 1);
    assert_eq!(code, "semantic-configuration");
    assert_eq!(message, "collection `ralph-memory` takes vectors of 96 dimensions, not of 128");
    scene.run(&["index", "--rebuild", "--remote"]).answer(0);
    assert_eq!(scene.found("latency"), ["knowledge/slow-bench"]);
}
