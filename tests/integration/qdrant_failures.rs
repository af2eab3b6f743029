//! Each way in which a Qdrant server fails: one trouble that says what it is, within the time, and nothing believed
//! that cannot be.

use std::net::TcpListener;
use std::sync::atomic::Ordering;

use ralph_memory::Id;
use ralph_memory::internals::qdrant::{Point, QdrantClient, RequestError, Timeouts};
use ralph_memory::internals::settings;
use serde_json::json;

use crate::qdrant::{nearest, point};
use crate::standin::qdrant::Standin;

const X: [f32; 4] = [1.0, 0.0, 0.0, 0.0];

fn open(url: &str, change: impl Fn(&mut settings::QdrantSettings)) -> QdrantClient {
    let mut settings = settings::QdrantSettings { url: url.to_owned(), ..settings::QdrantSettings::default() };
    change(&mut settings);
    QdrantClient::new(&settings, "all-minilm").unwrap()
}

/// A server with one entry.
fn filled() -> (Standin, QdrantClient) {
    let standin = Standin::start(None);
    let qdrant = open(&standin.url, |_| {});
    qdrant.prepare(4, &[None]).unwrap();
    qdrant.put(&[point("knowledge/wal", 0, 1, X, None)], Timeouts::Batch).unwrap();
    (standin, qdrant)
}

/// Makes every call there is, and gives each result's trouble.
fn troubles(qdrant: &QdrantClient) -> Vec<RequestError> {
    let entry = Id::parse("knowledge/wal").unwrap();
    vec![
        qdrant.check().unwrap_err(),
        qdrant.prepare(4, &[None]).unwrap_err(),
        qdrant.recreate(4, &[None]).unwrap_err(),
        qdrant.put(&[point("knowledge/wal", 0, 1, X, None)], Timeouts::Batch).unwrap_err(),
        qdrant.remove(&[entry]).unwrap_err(),
        nearest(qdrant, &X, 5, 0.0, None, None).unwrap_err(),
        qdrant.stored().unwrap_err(),
    ]
}

/// Makes every call there is, and checks each result's trouble.
#[track_caller]
fn check(qdrant: &QdrantClient, is_expected: impl Fn(&RequestError) -> bool) {
    for trouble in troubles(qdrant) {
        assert!(is_expected(&trouble), "{trouble}");
    }
}

/// Answers each call with this, and returns the result of a search.
fn searched(status: u16, body: &str) -> Result<Vec<String>, RequestError> {
    let (standin, qdrant) = filled();
    *standin.knobs.instead.lock().unwrap() = Some((status, body.to_owned()));
    let found = nearest(&qdrant, &X, 2, 0.5, None, None)?;
    Ok(found.into_iter().map(|found| format!("{} {}", found.entry, found.score)).collect())
}

#[test]
fn a_refused_connection_is_reported_as_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let refusal = RequestError::Unreachable("the connection was refused".to_owned());
    check(&open(&url, |_| {}), |trouble| *trouble == refusal);
}

#[test]
fn a_slow_server_takes_at_most_the_time_of_one_call() {
    let standin = Standin::start(None);
    let names: Vec<String> = (0..20).map(|number| format!("feature {number}")).collect();
    let features: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
    let slow = |settings: &mut settings::QdrantSettings| settings.collection.per_feature = true;
    open(&standin.url, slow).prepare(4, &features).unwrap();
    standin.knobs.delay_ms.store(60, Ordering::SeqCst);
    let qdrant = open(&standin.url, |settings| {
        slow(settings);
        settings.timeout_ms = 300;
    });
    // Each of the 22 calls is answered in time, and all of them together are not: five are, and it waits for a sixth.
    let n_calls = || standin.knobs.n_calls.load(Ordering::SeqCst);
    let n_before = n_calls();
    assert_eq!(nearest(&qdrant, &X, 5, 0.0, None, None), Err(RequestError::TimedOut(300)));
    assert!((2..=6).contains(&(n_calls() - n_before)), "{}", n_calls() - n_before);
    // So do the 40 that store this, during another call.
    let points: Vec<Point> = features.iter().map(|feature| point("knowledge/wal", 0, 1, X, *feature)).collect();
    let n_before = n_calls();
    assert_eq!(qdrant.put(&points, Timeouts::Query), Err(RequestError::TimedOut(300)));
    assert!((2..=6).contains(&(n_calls() - n_before)), "{}", n_calls() - n_before);
    qdrant.put(&points, Timeouts::Batch).unwrap();
}

/// Two projects with a feature of one name, whose models have other dimensions.
#[test]
fn another_projects_feature_collection_is_not_used() {
    let standin = Standin::start(None);
    let project = |name: &'static str| {
        open(&standin.url, move |settings| {
            settings.collection.per_feature = true;
            settings.collection.name = name.to_owned();
            settings.project = name.to_owned();
        })
    };
    let (theirs, ours) = (project("theirs"), project("ours"));
    theirs.prepare(4, &[Some("login")]).unwrap();
    theirs.put(&[point("knowledge/wal", 0, 1, X, Some("login"))], Timeouts::Batch).unwrap();
    ours.prepare(3, &[None]).unwrap();
    for feature in [None, Some("login")] {
        assert_eq!(nearest(&ours, &X[..3], 5, 0.0, feature, None), Ok(Vec::new()));
    }
    // With vectors of a model that is not ours either, it is our own mistake.
    let trouble = nearest(&ours, &[1.0, 0.0], 5, 0.0, Some("login"), None).unwrap_err();
    assert!(trouble.is_of_other_vectors(), "{trouble}");
}

#[test]
fn a_server_with_transient_failures_is_retried() {
    let (standin, qdrant) = filled();
    standin.knobs.fail_every.store(2, Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(nearest(&qdrant, &X, 5, 0.0, None, None).unwrap().len(), 1);
        qdrant.put(&[point("knowledge/wal", 0, 1, X, None)], Timeouts::Batch).unwrap();
        assert!(qdrant.check().unwrap().is_prepared);
    }
    standin.knobs.fail_every.store(1, Ordering::SeqCst);
    let n_calls = || standin.knobs.n_calls.load(Ordering::SeqCst);
    let n_before = n_calls();
    assert!(qdrant.check().is_err());
    assert_eq!(n_calls() - n_before, 3, "three tries and no more");
    check(&qdrant, |trouble| matches!(trouble, RequestError::Refused { status: 500, .. }));
}

#[test]
fn a_missing_or_wrong_key_is_reported_and_never_shown() {
    let standin = Standin::start(Some("sesame"));
    for key in ["", "opensaysme"] {
        let qdrant = open(&standin.url, |settings| key.clone_into(&mut settings.api_key));
        let message = "Must provide an API key or an Authorization bearer token".to_owned();
        let refusal = RequestError::Refused { status: 401, message };
        check(&qdrant, |trouble| trouble.is_denied() && *trouble == refusal);
    }
    let qdrant = open(&standin.url, |settings| "sesame".clone_into(&mut settings.api_key));
    assert!(!qdrant.check().unwrap().is_prepared);
    let settings = settings::QdrantSettings { api_key: "sesame".to_owned(), ..settings::QdrantSettings::default() };
    assert!(!format!("{qdrant:?} {settings:?}").contains("sesame"));
    // A server that repeats the key, in a refusal or in an invalid answer.
    for status in [403, 200] {
        *standin.knobs.instead.lock().unwrap() = Some((status, "key sesame may not do this".to_owned()));
        check(&qdrant, |trouble| {
            let shown = format!("{trouble} {trouble:?}");
            trouble.is_denied() == (status == 403)
                && !shown.contains("sesame")
                && trouble.to_string().contains("key (key) may not do this")
        });
    }
}

#[test]
fn another_server_at_that_address_is_reported() {
    let (standin, qdrant) = filled();
    *standin.knobs.instead.lock().unwrap() = Some((404, "404 page not found".to_owned()));
    let refusal = RequestError::Refused { status: 404, message: "404 page not found".to_owned() };
    check(&qdrant, |trouble| !trouble.is_missing_collection() && *trouble == refusal);
    *standin.knobs.instead.lock().unwrap() = Some((200, "<html>".to_owned()));
    check(&qdrant, |trouble| matches!(trouble, RequestError::Broken(_)));
    for (title, version, said) in [
        ("ollama", "1.18.3", "it is not a Qdrant server"),
        ("qdrant - vector search engine", "1.18\u{1b}[2J", "it is not a Qdrant server"),
        ("qdrant - vector search engine", "1.10.1", "it is Qdrant 1.10.1, and the oldest supported version is 1.11"),
    ] {
        let body = json!({ "title": title, "version": version }).to_string();
        *standin.knobs.instead.lock().unwrap() = Some((200, body));
        assert_eq!(qdrant.check(), Err(RequestError::Broken(said.to_owned())));
    }
}

#[test]
fn a_refusal_of_the_server_is_reported_in_its_words() {
    let said = json!({ "status": { "error": "Validation error in JSON body: [limit: too large]" }, "time": 0.0 });
    let message = "Validation error in JSON body: [limit: too large]".to_owned();
    assert_eq!(searched(422, &said.to_string()), Err(RequestError::Refused { status: 422, message }));
    let Err(trouble) = searched(400, "plain\u{1b}[2J text\nmore") else { panic!("it was refused") };
    assert_eq!(trouble.to_string(), "it answered 400: plain [2J text");
    // The collection exists when it is checked, and another machine creates it before this one does.
    let (standin, qdrant) = filled();
    *standin.knobs.instead.lock().unwrap() = Some((409, "exists".to_owned()));
    assert!(matches!(qdrant.stored(), Err(RequestError::Refused { status: 409, .. })));
    // A vector with an invalid number is refused, and replaces nothing.
    *standin.knobs.instead.lock().unwrap() = None;
    let broken = point("knowledge/wal", 0, 1, [f32::NAN, 0.0, 0.0, 1.0], None);
    assert!(matches!(qdrant.put(&[broken], Timeouts::Batch), Err(RequestError::Refused { status: 400, .. })));
    assert_eq!(nearest(&qdrant, &X, 5, 0.9, None, None).unwrap().len(), 1);
}

#[test]
fn only_plausible_answers_are_trusted() {
    let payload = |entry: &str| json!({ "entry": entry, "number": 0, "content": "00000000000000ff", "project": "" });
    let points = json!([
        { "id": "1", "score": 1e300, "payload": payload("knowledge/too-good") },
        { "id": "2", "score": "1", "payload": payload("knowledge/no-number") },
        { "id": "3", "payload": payload("knowledge/no-score") },
        { "id": "4", "score": 0.9, "payload": payload("../../etc/passwd") },
        { "id": "5", "score": 0.9, "payload": payload("knowledge/\u{1b}[2J") },
        { "id": "6", "score": 0.9, "payload": payload("knowledge/a/../b") },
        { "id": "7", "score": 0.9 },
        { "id": "8", "score": 0.9, "payload": { "entry": "knowledge/of-others", "number": 0,
            "content": "00000000000000ff", "project": "others" } },
        { "id": "9", "score": 0.9, "payload": { "entry": "knowledge/x", "number": -1,
            "content": "00000000000000ff", "project": "" } },
        { "id": "9", "score": 0.9, "payload": { "entry": "knowledge/x", "number": 1, "content": "+f", "project": "" } },
        { "id": "10", "score": 0.1, "payload": payload("knowledge/below-the-least") },
        { "id": "11", "score": 0.8, "payload": payload("knowledge/second") },
        { "id": "12", "score": 1.000_000_1, "payload": payload("knowledge/first") },
        { "id": "13", "score": 0.7, "payload": payload("knowledge/more-than-asked-for") },
    ]);
    let body = json!({ "result": { "points": points } }).to_string();
    assert_eq!(searched(200, &body).unwrap(), ["knowledge/first 1", "knowledge/second 0.8"]);
    for body in ["", "{}", "null", r#"{"result":{}}"#, r#"{"result":{"points":{}}}"#, r#"{"result":{"points":[1]}}"#] {
        assert!(matches!(searched(200, body), Err(RequestError::Broken(_))), "{body}");
    }
}

#[test]
fn an_endless_listing_is_cut() {
    let (standin, qdrant) = filled();
    for points in [json!([]), json!([{ "id": "1" }])] {
        let body = json!({ "result": { "points": points, "next_page_offset": "again" } }).to_string();
        *standin.knobs.instead.lock().unwrap() = Some((200, body));
        assert_eq!(qdrant.stored(), Err(RequestError::Broken("its listing of points does not end".to_owned())));
    }
}

#[test]
fn too_many_collections_are_refused() {
    let (standin, _) = filled();
    let names: Vec<_> = (0..300).map(|number| json!({ "name": format!("feature-{number:016x}") })).collect();
    let body = json!({ "result": { "collections": names } }).to_string();
    *standin.knobs.instead.lock().unwrap() = Some((200, body));
    let qdrant = open(&standin.url, |settings| settings.collection.per_feature = true);
    let trouble = nearest(&qdrant, &X, 5, 0.0, None, None).unwrap_err();
    assert!(trouble.to_string().contains("switch `per_feature` of `qdrant.collection` off"), "{trouble}");
}
