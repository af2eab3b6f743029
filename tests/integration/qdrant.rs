//! A Qdrant server for a memory: a real one at `QDRANT_URL`, if set (with `QDRANT_API_KEY`), else a simulated one.

use std::io::Write as _;
use std::process;

use ralph_memory::internals::qdrant::{
    CollectionsReport, Point, PointMatch, PointQuery, QdrantClient, RequestError, StoredPoint, Timeouts, WordVector,
};
use ralph_memory::internals::settings;
use ralph_memory::{Id, Kind};
use serde_json::{Value, json};
use ureq::tls::{RootCerts, TlsConfig};

use crate::standin::qdrant::Standin;

/// A server, and collections on it that belong to this test. They are deleted when this is dropped.
pub(crate) struct Home {
    pub(crate) settings: settings::QdrantSettings,
    features: Vec<String>,
    _standin: Option<Standin>,
}

impl Home {
    /// Finds a server for a test with this name.
    fn new(test: &str, per_feature: bool) -> Home {
        let unique = format!("ralph-memory-{test}-{}", process::id());
        let key = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (standin, url, api_key) = if let Some(url) = key("QDRANT_URL") {
            (None, url, key("QDRANT_API_KEY").unwrap_or_default())
        } else {
            let standin = Standin::start(Some("sesame"));
            let url = standin.url.clone();
            (Some(standin), url, "sesame".to_owned())
        };
        let settings = settings::QdrantSettings {
            url,
            api_key,
            project: unique.clone(),
            collection: settings::CollectionSettings { name: unique, per_feature },
            timeout_ms: 30_000,
            ..settings::QdrantSettings::default()
        };
        let which = if standin.is_some() { "a stand-in for it" } else { settings.url.as_str() };
        let which = which.to_owned();
        let home = Home { settings, features: Vec::new(), _standin: standin };
        // Past the capture of test output, since it names the problem.
        let mut out = std::io::stdout();
        writeln!(out, "Qdrant: {which}, {}", home.open().check().unwrap().version).unwrap();
        home
    }

    fn open(&self) -> QdrantClient {
        QdrantClient::new(&self.settings, "all-minilm").unwrap()
    }

    /// Returns the server as another project sees it.
    fn open_other(&self) -> QdrantClient {
        let settings =
            settings::QdrantSettings { project: format!("{}-2", self.settings.project), ..self.settings.clone() };
        QdrantClient::new(&settings, "all-minilm").unwrap()
    }

    /// Returns a feature that no other test has, whose collection is deleted with the rest.
    fn feature(&mut self, name: &str) -> String {
        let feature = format!("{name} of {}", self.settings.project);
        self.features.push(feature.clone());
        feature
    }

    fn raw(&self, method: &str, path: &str, body: &Value) -> Value {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let agent = ureq::Agent::config_builder().tls_config(tls).build().new_agent();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.settings.url))
            .header("api-key", &self.settings.api_key)
            .header("content-type", "application/json");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut response = agent.run(request.body(body).unwrap()).unwrap();
        serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let own = self.features.iter().map(|feature| collection_of(feature));
        for name in own.chain([self.settings.collection.name.clone()]) {
            self.raw("DELETE", &format!("/collections/{name}"), &Value::Null);
        }
    }
}

/// The name as the documentation gives it, computed by other means than the client's.
fn collection_of(feature: &str) -> String {
    use sha2::Digest as _;
    let hash = sha2::Sha256::digest(feature);
    format!("feature-{:016x}", u64::from_be_bytes(hash[..8].try_into().unwrap()))
}

pub(crate) fn point(entry: &str, number: u32, of: u32, vector: [f32; 4], feature: Option<&str>) -> Point {
    let entry = Id::parse(entry).unwrap();
    let content = u64::from(number) + 0xfedc_ba98_0000_0000;
    let words = WordVector::of_text(entry.stem());
    let vector = vector.to_vec();
    Point {
        entry,
        number,
        of,
        content,
        vector,
        words,
        shown: None,
        is_outdated: false,
        feature: feature.map(str::to_owned),
    }
}

/// Searches without names of other entries.
pub(crate) fn nearest(
    qdrant: &QdrantClient,
    vector: &[f32],
    limit: usize,
    min_score: f32,
    feature: Option<&str>,
    kind: Option<Kind>,
) -> Result<Vec<PointMatch>, RequestError> {
    Ok(qdrant.search(&PointQuery { vector, limit, min_score, feature, kind, also: &[] })?.matches)
}

/// The entries that were found, with scores of two digits.
fn shown(found: &[PointMatch]) -> Vec<String> {
    found.iter().map(|found| format!("{}#{} {:.2}", found.entry, found.number, found.score)).collect()
}

fn stored(qdrant: &QdrantClient) -> Vec<String> {
    let mut all = qdrant.stored().unwrap();
    all.sort_by(|one, other| (&one.entry, one.number).cmp(&(&other.entry, other.number)));
    let place = |stored: &StoredPoint| if stored.is_in_place { "" } else { " astray" };
    all.iter().map(|stored| format!("{}#{}/{}{}", stored.entry, stored.number, stored.of, place(stored))).collect()
}

/// What a collection with one point of another project is answered with.
fn refused(collection: &str) -> CollectionsReport {
    let shared = Some((collection.to_owned(), 1));
    CollectionsReport { shared, is_unusable: true, ..CollectionsReport::default() }
}

fn made_of(prepared: &CollectionsReport) -> Vec<&str> {
    assert_eq!((&prepared.differences[..], prepared.is_unusable, &prepared.shared), (&[][..], false, &None));
    prepared.created.iter().map(String::as_str).collect()
}

#[test]
fn vectors_are_kept_in_one_collection_for_all_features() {
    let home = Home::new("shared", false);
    let qdrant = home.open();
    assert!(!qdrant.check().unwrap().is_prepared);
    // Nothing is there yet, which is no failure.
    assert_eq!(nearest(&qdrant, &[1.0, 0.0, 0.0, 0.0], 5, 0.0, None, None).unwrap(), []);
    assert_eq!(qdrant.stored().unwrap(), []);
    qdrant.remove(&[Id::parse("knowledge/first").unwrap()]).unwrap();
    // The first write creates the collection, and as the settings want it.
    qdrant.put(&[point("knowledge/first", 0, 1, [1.0, 0.0, 0.0, 0.0], None)], Timeouts::Query).unwrap();
    assert_eq!(made_of(&qdrant.prepare(4, &[None]).unwrap()), [""; 0]);
    home.raw("DELETE", &format!("/collections/{}", home.settings.collection.name), &Value::Null);

    // Created once, from the settings; the second time everything exists.
    let features = [None, Some("login"), Some("search")];
    assert_eq!(made_of(&qdrant.prepare(4, &features).unwrap()), [home.settings.collection.name.as_str()]);
    assert_eq!(made_of(&qdrant.prepare(4, &features).unwrap()), [""; 0]);
    assert!(qdrant.check().unwrap().is_prepared);
    let there = home.raw("GET", &format!("/collections/{}", home.settings.collection.name), &Value::Null);
    let there = &there["result"];
    assert_eq!(there["config"]["params"]["vectors"]["size"], 4);
    assert_eq!(there["config"]["params"]["vectors"]["distance"], "Cosine");
    assert_eq!(there["config"]["hnsw_config"]["m"], 64);
    assert_eq!(there["config"]["hnsw_config"]["ef_construct"], 512);
    assert_eq!(there["config"]["params"]["sparse_vectors"]["words"]["modifier"], "idf");
    assert_eq!(there["payload_schema"]["project"]["params"]["is_tenant"], true);
    assert_eq!(there["payload_schema"]["feature"]["data_type"], "keyword");

    // The best chunk of an entry counts; equal ones go by id; nothing is found twice.
    let points = [
        point("knowledge/wal", 0, 2, [1.0, 0.0, 0.0, 0.0], Some("login")),
        point("knowledge/wal", 1, 2, [0.8, 0.6, 0.0, 0.0], Some("login")),
        point("knowledge/keys", 0, 1, [0.8, 0.0, 0.6, 0.0], Some("search")),
        point("knowledge/also-keys", 0, 1, [0.8, 0.0, 0.6, 0.0], None),
        point("journal/run-1a2b3c4d/0001", 0, 1, [0.6, 0.0, 0.0, 0.8], Some("login")),
        point("knowledge/other", 0, 1, [0.0, 1.0, 0.0, 0.0], None),
    ];
    qdrant.put(&points, Timeouts::Batch).unwrap();
    qdrant.put(&points, Timeouts::Batch).unwrap();
    let all = [
        "knowledge/wal#0 1.00",
        "knowledge/also-keys#0 0.80",
        "knowledge/keys#0 0.80",
        "journal/run-1a2b3c4d/0001#0 0.60",
    ];
    let x = [2.0, 0.0, 0.0, 0.0];
    assert_eq!(shown(&nearest(&qdrant, &x, 10, 0.4, None, None).unwrap()), all);
    assert_eq!(nearest(&qdrant, &x, 10, 0.4, None, None).unwrap()[0].content, 0xfedc_ba98_0000_0000);
    assert_eq!(shown(&nearest(&qdrant, &x, 2, 0.4, None, None).unwrap()), all[..2]);
    assert_eq!(nearest(&qdrant, &x, 0, 0.4, None, None).unwrap(), []);
    assert_eq!(shown(&nearest(&qdrant, &x, 10, 0.9, None, None).unwrap()), all[..1]);
    assert_eq!(shown(&nearest(&qdrant, &x, 10, 0.0, None, None).unwrap()).len(), 5);
    assert_eq!(shown(&nearest(&qdrant, &x, 10, 0.4, None, Some(Kind::Journal)).unwrap()), all[3..]);
    let of_login = nearest(&qdrant, &x, 10, 0.4, Some("login"), None).unwrap();
    assert_eq!(shown(&of_login), [all[0], all[3]]);
    assert_eq!(nearest(&qdrant, &x, 10, 0.4, Some("nobody's"), None).unwrap(), []);

    // Named entries are returned, too, even under the minimum score and beyond the limit; missing ones are not.
    let named = ["knowledge/other", "knowledge/wal", "knowledge/never-there"];
    let named = named.map(|id| (Id::parse(id).unwrap(), None));
    let wanted = PointQuery { vector: &x, limit: 2, min_score: 0.4, feature: None, kind: None, also: &named };
    let with_other = [all[0], all[1], "knowledge/other#0 0.00"];
    assert_eq!(shown(&qdrant.search(&wanted).unwrap().matches), with_other);
    assert_eq!(shown(&qdrant.search(&PointQuery { limit: 0, ..wanted }).unwrap().matches), [all[0], with_other[2]]);

    // Another model's vectors and another project's entries are not found, and stay.
    let other_model = QdrantClient::new(&home.settings, "nomic-embed-text").unwrap();
    assert_eq!(nearest(&other_model, &x, 10, 0.0, None, None).unwrap(), []);
    let same_model = QdrantClient::new(&home.settings, "all-minilm:latest").unwrap();
    assert_eq!(shown(&nearest(&same_model, &x, 10, 0.4, None, None).unwrap()), all);
    let other = home.open_other();
    other.put(&points[..1], Timeouts::Batch).unwrap();
    assert_eq!(shown(&nearest(&other, &x, 10, 0.0, None, None).unwrap()), ["knowledge/wal#0 1.00"]);

    // An entry that grew shorter has no chunk too many; removing takes all of an entry.
    qdrant.put(&[point("knowledge/wal", 0, 1, [0.6, 0.8, 0.0, 0.0], Some("search"))], Timeouts::Batch).unwrap();
    let expected = [
        "journal/run-1a2b3c4d/0001#0/1",
        "knowledge/also-keys#0/1",
        "knowledge/keys#0/1",
        "knowledge/other#0/1",
        "knowledge/wal#0/1",
    ];
    assert_eq!(stored(&qdrant), expected);
    let listed = qdrant.stored().unwrap();
    let wal = listed.iter().find(|stored| stored.entry.as_str() == "knowledge/wal").unwrap();
    assert_eq!((wal.feature.as_deref(), wal.model.as_str()), (Some("search"), "all-minilm"));
    assert_eq!(wal.content, 0xfedc_ba98_0000_0000);
    let gone = ["knowledge/wal", "knowledge/other", "knowledge/never-there"].map(|id| Id::parse(id).unwrap());
    qdrant.remove(&gone).unwrap();
    qdrant.remove(&[]).unwrap();
    assert_eq!(stored(&qdrant), expected[..3]);
    assert_eq!(stored(&other), ["knowledge/wal#0/2"]);

    // A long entry has all the best chunks, and the others are found all the same.
    let long: Vec<Point> =
        (0..1_200).map(|number| point("knowledge/long", number, 1_200, [1.0, 0.0, 0.0, 0.01], None)).collect();
    qdrant.put(&long, Timeouts::Batch).unwrap();
    assert_eq!(shown(&nearest(&qdrant, &x, 20, 0.4, None, None).unwrap()).len(), 4);
    assert_eq!(qdrant.stored().unwrap().len(), 1_203);

    // Each call reports a wrong dimension, and another project's points are never deleted to fix it.
    assert!(nearest(&qdrant, &[1.0; 3], 5, 0.0, None, None).unwrap_err().is_of_other_vectors());
    let mut wrong = points[0].clone();
    wrong.vector.pop();
    assert!(qdrant.put(&[wrong], Timeouts::Batch).unwrap_err().is_of_other_vectors());
    let prepared = qdrant.prepare(3, &[None]).unwrap();
    let collection = home.settings.collection.name.clone();
    let wrong = format!("collection `{collection}` takes vectors of 4 dimensions, not of 3");
    assert_eq!((prepared.differences, prepared.is_unusable), (vec![wrong], true));
    assert_eq!(qdrant.recreate(3, &[None]).unwrap(), refused(&collection));
    assert_eq!(qdrant.stored().unwrap().len(), 1_203);
    let prepared = qdrant.recreate(4, &[None]).unwrap();
    assert_eq!(made_of(&prepared), [""; 0]);
    assert_eq!((stored(&qdrant).len(), stored(&other).len()), (0, 1));
    other.remove(&[Id::parse("knowledge/wal").unwrap()]).unwrap();
    let prepared = qdrant.recreate(3, &[None]).unwrap();
    assert_eq!(made_of(&prepared), [collection.as_str()]);
    assert_eq!(nearest(&qdrant, &[1.0; 3], 5, 0.0, None, None).unwrap(), []);
}

#[test]
fn vectors_are_kept_in_a_collection_for_each_feature() {
    let mut home = Home::new("each", true);
    let (login, search, others) = (home.feature("login"), home.feature("search"), home.feature("others"));
    let (login, search, others) = (login.as_str(), search.as_str(), others.as_str());
    let qdrant = home.open();
    let x = [1.0, 0.0, 0.0, 0.0];
    for feature in [Some(login), None] {
        assert_eq!(nearest(&qdrant, &x, 5, 0.0, feature, None).unwrap(), []);
    }

    let base = home.settings.collection.name.clone();
    let mut names = [base.clone(), collection_of(login)];
    names.sort();
    assert_eq!(made_of(&qdrant.prepare(4, &[Some(login)]).unwrap()), names);
    // An empty one is not a problem; the first write creates it correctly.
    assert_eq!(nearest(&qdrant, &x, 5, 0.0, Some(search), None).unwrap(), []);
    let wal = point("knowledge/wal", 0, 1, x, Some(search));
    for patience in [Timeouts::Query, Timeouts::Batch] {
        qdrant.put(std::slice::from_ref(&wal), patience).unwrap();
        assert_eq!(shown(&nearest(&qdrant, &x, 5, 0.0, Some(search), None).unwrap()), ["knowledge/wal#0 1.00"]);
        assert_eq!(made_of(&qdrant.prepare(4, &[Some(login), Some(search)]).unwrap()), [""; 0]);
        home.raw("DELETE", &format!("/collections/{}", collection_of(search)), &Value::Null);
    }
    assert_eq!(made_of(&qdrant.prepare(4, &[Some(login), Some(search)]).unwrap()), [collection_of(search)]);

    let points = [
        point("knowledge/wal", 0, 2, x, Some(login)),
        point("knowledge/wal", 1, 2, [0.8, 0.6, 0.0, 0.0], Some(login)),
        point("knowledge/keys", 0, 1, [0.8, 0.6, 0.0, 0.0], Some(search)),
        point("knowledge/plain", 0, 1, [0.6, 0.8, 0.0, 0.0], None),
    ];
    qdrant.put(&points, Timeouts::Batch).unwrap();
    let all = ["knowledge/wal#0 1.00", "knowledge/keys#0 0.80", "knowledge/plain#0 0.60"];
    assert_eq!(shown(&nearest(&qdrant, &x, 5, 0.0, None, None).unwrap()), all);
    assert_eq!(shown(&nearest(&qdrant, &x, 5, 0.0, Some(login), None).unwrap()), all[..1]);
    assert_eq!(shown(&nearest(&qdrant, &x, 5, 0.0, Some(search), None).unwrap()), all[1..2]);
    // Other projects' collections can be for vectors of other models.
    let others = collection_of(others);
    for vectors in [json!({ "size": 3, "distance": "Cosine" }), json!({ "text": { "size": 4, "distance": "Dot" } })] {
        let path = format!("/collections/{others}");
        home.raw("PUT", &path, &json!({ "vectors": vectors }));
        assert_eq!(shown(&nearest(&qdrant, &x, 5, 0.0, None, None).unwrap()), all);
        home.raw("DELETE", &path, &Value::Null);
    }
    assert!(nearest(&qdrant, &x[1..], 5, 0.0, None, None).unwrap_err().is_of_other_vectors());

    let count = |name: &str| {
        let path = format!("/collections/{name}/points/count");
        home.raw("POST", &path, &json!({ "exact": true }))["result"]["count"].as_u64()
    };
    assert_eq!(count(&base), Some(1));
    assert_eq!(count(&collection_of(login)), Some(2));

    // An entry with a new feature moves, when there is time to find its old place.
    qdrant.put(&[point("knowledge/wal", 0, 1, x, Some(search))], Timeouts::Query).unwrap();
    assert_eq!((count(&collection_of(login)), count(&collection_of(search))), (Some(2), Some(2)));
    qdrant.put(&[point("knowledge/wal", 0, 1, x, Some(search))], Timeouts::Batch).unwrap();
    assert_eq!(stored(&qdrant), ["knowledge/keys#0/1", "knowledge/plain#0/1", "knowledge/wal#0/1"]);
    assert_eq!((count(&collection_of(login)), count(&collection_of(search))), (Some(0), Some(2)));

    // A point in an unsearched collection is listed, and storing or removing it fixes that.
    let shared = settings::CollectionSettings { per_feature: false, ..home.settings.collection.clone() };
    let shared = settings::QdrantSettings { collection: shared, ..home.settings.clone() };
    let shared = QdrantClient::new(&shared, "all-minilm").unwrap();
    shared.put(&[point("knowledge/astray", 0, 1, x, Some(login))], Timeouts::Batch).unwrap();
    assert_eq!(stored(&qdrant)[0], "knowledge/astray#0/1 astray");
    qdrant.put(&[point("knowledge/astray", 0, 1, x, Some(login))], Timeouts::Batch).unwrap();
    assert_eq!(stored(&qdrant)[0], "knowledge/astray#0/1");
    assert_eq!(stored(&shared), ["knowledge/plain#0/1"]);

    // Removed wherever it is, and only this project's.
    let other = home.open_other();
    other.put(&[point("knowledge/wal", 0, 1, x, Some(login))], Timeouts::Batch).unwrap();
    qdrant.remove(&["knowledge/wal", "knowledge/astray"].map(|id| Id::parse(id).unwrap())).unwrap();
    assert_eq!(stored(&qdrant), ["knowledge/keys#0/1", "knowledge/plain#0/1"]);
    assert_eq!(stored(&other), ["knowledge/wal#0/1"]);

    // Of another dimension: nothing is done as long as others' points are in a collection that is needed.
    let anew = qdrant.recreate(3, &[Some(login)]).unwrap();
    assert_eq!(anew, refused(&collection_of(login)));
    assert_eq!(stored(&qdrant).len(), 2);
    // The collection of an unlisted feature is deleted with its points.
    let prepared = qdrant.recreate(3, &[None]).unwrap();
    assert_eq!(made_of(&prepared), [base.as_str()]);
    assert_eq!((stored(&qdrant).len(), stored(&other).len()), (0, 1));
    let there = home.raw("GET", &format!("/collections/{}/exists", collection_of(search)), &Value::Null);
    assert_eq!(there["result"]["exists"], false);
}

#[test]
fn differences_from_the_settings_are_reported() {
    let home = Home::new("differs", false);
    let name = &home.settings.collection.name;
    let path = format!("/collections/{name}");
    let qdrant = home.open();
    home.raw("PUT", &path, &json!({ "vectors": { "size": 4, "distance": "Dot" }, "bogus": 1 }));
    let prepared = qdrant.prepare(4, &[None]).unwrap();
    assert!(prepared.is_unusable);
    assert_eq!(
        prepared.differences,
        [
            format!("collection `{name}` has `hnsw_config.m` 16, not 64"),
            format!("collection `{name}` has `hnsw_config.ef_construct` 100, not 512"),
            format!("collection `{name}` has `hnsw_config.on_disk` false, not true"),
            format!("collection `{name}` has `vectors.on_disk` false, not true"),
            format!("collection `{name}` does not compare vectors by Cosine, but has: Dot"),
        ]
    );
    home.raw("DELETE", &path, &Value::Null);
    home.raw("PUT", &path, &json!({ "vectors": { "text": { "size": 4, "distance": "Cosine" } } }));
    let prepared = qdrant.prepare(4, &[None]).unwrap();
    assert!(prepared.is_unusable);
    let prepared = qdrant.recreate(4, &[None]).unwrap();
    assert_eq!(made_of(&prepared), [name.as_str()]);
    // Slow settings do not disable the collection.
    let settings = settings::HnswSettings { m: 32, ..home.settings.hnsw };
    let settings = settings::QdrantSettings { hnsw: settings, ..home.settings.clone() };
    let prepared = QdrantClient::new(&settings, "all-minilm").unwrap().prepare(4, &[None]).unwrap();
    assert_eq!((prepared.differences.len(), prepared.is_unusable), (1, false));
}

#[test]
fn several_may_prepare_at_the_same_time() {
    let home = Home::new("race", false);
    let made: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| home.open().prepare(4, &[None]).unwrap())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap().created).collect()
    });
    assert_eq!(made, [home.settings.collection.name.as_str()]);
}

#[test]
fn a_project_without_a_name_has_its_own_entries() {
    let home = Home::new("nameless", false);
    let settings = settings::QdrantSettings { project: String::new(), ..home.settings.clone() };
    let nameless = QdrantClient::new(&settings, "all-minilm").unwrap();
    let named = home.open();
    named.prepare(4, &[None]).unwrap();
    for qdrant in [&nameless, &named] {
        qdrant.put(&[point("knowledge/wal", 0, 1, [1.0; 4], None)], Timeouts::Batch).unwrap();
    }
    assert_eq!(stored(&nameless), ["knowledge/wal#0/1"]);
    nameless.remove(&[Id::parse("knowledge/wal").unwrap()]).unwrap();
    assert_eq!((stored(&nameless).len(), stored(&named).len()), (0, 1));
    assert_eq!(nearest(&nameless, &[1.0; 4], 5, 0.0, None, None).unwrap(), []);
}
