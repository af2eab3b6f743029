//! Stands in for a Qdrant server 1.18, as one was seen to answer. It compares every vector, so it finds exactly what
//! fits best.
//!
//! What it is asked and does not know it answers with 404, and the test fails when it is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::http::{Call, Knobs, Reply, Server};
use super::rules::{lets_through, selected};

/// A running server. It ends when this is dropped.
pub(crate) struct Standin {
    pub(crate) url: String,
    /// How it fails.
    pub(crate) knobs: Arc<Knobs>,
    server: Option<Server>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    collections: BTreeMap<String, Collection>,
    /// What it was asked and does not know.
    unknown: Vec<String>,
}

struct Collection {
    vectors: Value,
    /// Those of sparse vectors, by name.
    sparse: Value,
    graph: Value,
    schema: BTreeMap<String, Value>,
    points: BTreeMap<String, Stored>,
}

struct Stored {
    /// Of length 1, as cosines are compared.
    vector: Vec<f64>,
    /// Sparse vectors by name: values by index.
    sparse: BTreeMap<String, Sparse>,
    payload: Value,
}

/// The values of a sparse vector by their indices.
type Sparse = BTreeMap<u64, f64>;

/// The error of a call: a status and a message.
type Refusal = (u16, String);

impl Standin {
    /// Starts a server without collections, which requires `key` if it is given.
    pub(crate) fn start(key: Option<&str>) -> Standin {
        Standin::start_with(key, None)
    }

    /// Starts one that speaks TLS.
    pub(crate) fn start_tls(key: Option<&str>, tls: Arc<rustls::ServerConfig>) -> Standin {
        Standin::start_with(key, Some(tls))
    }

    fn start_with(key: Option<&str>, tls: Option<Arc<rustls::ServerConfig>>) -> Standin {
        let knobs = Arc::new(Knobs::default());
        let state = Arc::new(Mutex::new(State::default()));
        let key = key.map(str::to_owned);
        let server = Server::start(tls, Arc::clone(&knobs), {
            let state = Arc::clone(&state);
            move |call| answer(&mut state.lock().unwrap(), key.as_deref(), call)
        });
        Standin { url: server.url.clone(), knobs, server: Some(server), state }
    }

    /// Returns how many points a collection has; none if it does not exist.
    pub(crate) fn count(&self, collection: &str) -> Option<usize> {
        Some(self.state.lock().unwrap().collections.get(collection)?.points.len())
    }

    /// Removes a collection, or only its points.
    pub(crate) fn lose(&self, collection: &str, only_points: bool) {
        let collections = &mut self.state.lock().unwrap().collections;
        match collections.get_mut(collection) {
            Some(there) if only_points => there.points.clear(),
            _ => drop(collections.remove(collection)),
        }
    }

    /// Makes a collection as another program would.
    pub(crate) fn make(&self, collection: &str, body: &Value) {
        made(&mut self.state.lock().unwrap(), collection, body).expect("the collection is well-formed");
    }

    /// Stores points as another program would.
    pub(crate) fn store(&self, collection: &str, points: &Value) {
        let state = &mut *self.state.lock().unwrap();
        let there = state.collections.get_mut(collection).expect("the collection exists");
        stored(there, &json!({ "points": points })).expect("the points are well-formed");
    }

    /// Returns the payloads of all points of a collection.
    pub(crate) fn payloads(&self, collection: &str) -> Vec<Value> {
        let state = self.state.lock().unwrap();
        let points = state.collections.get(collection).into_iter().flat_map(|there| there.points.values());
        points.map(|point| point.payload.clone()).collect()
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        // Before the state is looked at, all calls have been answered.
        drop(self.server.take());
        let Ok(state) = self.state.lock() else { return };
        if !std::thread::panicking() {
            assert_eq!(state.unknown, Vec::<String>::new(), "the stand-in does not know these");
        }
    }
}

fn answer(state: &mut State, key: Option<&str>, call: &Call) -> Reply {
    if key.is_some() && call.path != "/" && call.header("api-key") != key {
        let body = b"Must provide an API key or an Authorization bearer token".to_vec();
        return Reply { status: 401, body };
    }
    let path = decoded(&call.path);
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let method = call.method.as_str();
    if let ("GET", [""]) = (method, parts.as_slice()) {
        let title = "qdrant - vector search engine";
        return json_reply(200, &json!({ "title": title, "version": "1.18.3", "commit": "0".repeat(40) }));
    }
    let body = if call.body.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(&call.body) };
    let result = match body {
        Err(error) => Err((400, format!("Format error in JSON body: {error}"))),
        Ok(body) if method != "GET" && method != "DELETE" && !body.is_object() => {
            Err((400, "Format error in JSON body: EOF while parsing a value".to_owned()))
        }
        Ok(body) => routed(state, method, &parts, &body),
    };
    match result {
        Ok(result) => json_reply(200, &json!({ "result": result, "status": "ok", "time": 0.001 })),
        Err((status, error)) => json_reply(status, &json!({ "status": { "error": error }, "time": 0.000_01 })),
    }
}

fn routed(state: &mut State, method: &str, parts: &[&str], body: &Value) -> Result<Value, Refusal> {
    match (method, parts) {
        ("GET", ["collections"]) => {
            let names: Vec<Value> = state.collections.keys().map(|name| json!({ "name": name })).collect();
            Ok(json!({ "collections": names }))
        }
        ("GET", ["collections", name, "exists"]) => Ok(json!({ "exists": state.collections.contains_key(*name) })),
        ("GET", ["collections", name]) => there(state, name).map(|there| told(there)),
        ("PUT", ["collections", name]) => made(state, name, body),
        ("DELETE", ["collections", name]) => Ok(json!(state.collections.remove(*name).is_some())),
        ("PUT", ["collections", name, "index"]) => {
            let there = there(state, name)?;
            let field = body["field_name"].as_str().ok_or_else(|| format_error("missing field `field_name`"))?;
            let schema = &body["field_schema"];
            let kind = schema.as_str().or_else(|| schema["type"].as_str());
            let kind = kind.filter(|kind| *kind == "keyword").ok_or_else(|| format_error("unknown field_schema"))?;
            let mut index = json!({ "data_type": kind, "points": there.points.len() });
            if schema.is_object() {
                index["params"] = schema.clone();
            }
            there.schema.insert(field.to_owned(), index);
            Ok(json!({ "status": "completed" }))
        }
        ("PUT", ["collections", name, "points"]) => {
            stored(there(state, name)?, body)?;
            Ok(json!({ "status": "completed" }))
        }
        ("POST", ["collections", name, "points", "delete"]) => {
            let there = there(state, name)?;
            let filter = body.get("filter").ok_or_else(|| format_error("missing field `filter`"))?;
            let gone: Vec<String> = filtered(there, filter)?.into_iter().map(|(id, _)| id.clone()).collect();
            there.points.retain(|id, _| !gone.contains(id));
            Ok(json!({ "status": "completed" }))
        }
        ("POST", ["collections", name, "points", "payload", "delete"]) => {
            let there = there(state, name)?;
            let keys = body["keys"].as_array().ok_or_else(|| format_error("missing field `keys`"))?;
            let changed: Vec<String> =
                filtered(there, &body["filter"])?.into_iter().map(|(id, _)| id.clone()).collect();
            for (_, point) in there.points.iter_mut().filter(|(id, _)| changed.contains(id)) {
                if let Some(payload) = point.payload.as_object_mut() {
                    payload.retain(|key, _| !keys.iter().any(|gone| gone == key));
                }
            }
            Ok(json!({ "status": "completed" }))
        }
        ("POST", ["collections", name, "points", "count"]) => {
            Ok(json!({ "count": filtered(there(state, name)?, &body["filter"])?.len() }))
        }
        ("POST", ["collections", name, "points", "scroll"]) => scrolled(there(state, name)?, body),
        ("POST", ["collections", name, "points", "query"]) => queried(there(state, name)?, body),
        ("POST", ["collections", name, "points", "query", "batch"]) => {
            let there = there(state, name)?;
            let searches = body["searches"].as_array().ok_or_else(|| format_error("missing field `searches`"))?;
            // One that is wrong refuses all.
            searches.iter().map(|search| queried(there, search)).collect()
        }
        _ => {
            state.unknown.push(format!("{method} /{}", parts.join("/")));
            Err((404, "Not found".to_owned()))
        }
    }
}

fn there<'a>(state: &'a mut State, name: &str) -> Result<&'a mut Collection, Refusal> {
    let missing = || (404, format!("Not found: Collection `{name}` doesn't exist!"));
    state.collections.get_mut(name).ok_or_else(missing)
}

fn made(state: &mut State, name: &str, body: &Value) -> Result<Value, Refusal> {
    if state.collections.contains_key(name) {
        return Err((409, format!("Wrong input: Collection `{name}` already exists!")));
    }
    // Unknown fields are ignored silently.
    let known = |from: &Value, keys: &[&str]| {
        let pairs = keys.iter().filter_map(|key| Some(((*key).to_owned(), from.get(*key)?.clone())));
        json!(pairs.collect::<serde_json::Map<_, _>>())
    };
    let vectors = match body["vectors"].get("size") {
        Some(size) if size.as_u64().is_some_and(|size| size > 0) => {
            known(&body["vectors"], &["size", "distance", "on_disk"])
        }
        Some(_) => return Err((422, "Validation error in JSON body: [vectors.size: value 0 invalid]".to_owned())),
        None => body["vectors"].clone(),
    };
    let mut graph = json!({ "m": 16, "ef_construct": 100, "full_scan_threshold": 10000, "max_indexing_threads": 0 });
    let said = known(&body["hnsw_config"], &["m", "ef_construct", "full_scan_threshold", "on_disk"]);
    for (key, value) in said.as_object().into_iter().flatten() {
        graph[key] = value.clone();
    }
    let sparse = body["sparse_vectors"].as_object().into_iter().flatten();
    let sparse = sparse.map(|(name, said)| (name.clone(), known(said, &["modifier"])));
    let sparse = json!(sparse.collect::<serde_json::Map<_, _>>());
    let (schema, points) = Default::default();
    state.collections.insert(name.to_owned(), Collection { vectors, sparse, graph, schema, points });
    Ok(json!(true))
}

fn told(there: &Collection) -> Value {
    json!({
        "config": {
            "params": { "vectors": there.vectors, "sparse_vectors": there.sparse },
            "hnsw_config": there.graph,
        },
        "payload_schema": there.schema,
    })
}

fn stored(there: &mut Collection, body: &Value) -> Result<(), Refusal> {
    let points = body["points"].as_array().ok_or_else(|| format_error("missing field `points`"))?;
    let mut read = Vec::new();
    for point in points {
        let id = point["id"].as_str().filter(|id| is_uuid(id)).ok_or_else(|| {
            let id = point["id"].as_str().map_or_else(|| point["id"].to_string(), str::to_owned);
            format_error(&format!(
                "value {id} is not a valid point ID, valid values are either an unsigned integer or a UUID"
            ))
        })?;
        let payload = point.get("payload").cloned().unwrap_or(json!({}));
        let (dense, sparse) = vectors(there, &point["vector"])?;
        read.push((id.to_owned(), Stored { vector: unit(there, dense)?, sparse, payload }));
    }
    there.points.extend(read);
    Ok(())
}

fn scrolled(there: &Collection, body: &Value) -> Result<Value, Refusal> {
    let limit = limit(body)?;
    let from = body["offset"].as_str().unwrap_or("");
    let found = filtered(there, &body["filter"])?;
    let mut found = found.into_iter().filter(|(id, _)| id.as_str() >= from);
    let mut points = Vec::new();
    for (id, point) in found.by_ref().take(limit) {
        points.push(json!({ "id": id, "payload": payload(body, point)? }));
    }
    Ok(json!({ "points": points, "next_page_offset": found.next().map(|(id, _)| id) }))
}

/// Returns the vectors of a point: the one without a name, which is named `""` beside others, and the sparse ones.
fn vectors<'a>(there: &Collection, given: &'a Value) -> Result<(&'a Value, BTreeMap<String, Sparse>), Refusal> {
    let Some(named) = given.as_object() else { return Ok((given, BTreeMap::new())) };
    let mut sparse = BTreeMap::new();
    for (name, vector) in named.iter().filter(|(name, _)| !name.is_empty()) {
        if there.sparse.get(name).is_none() {
            return Err((400, format!("Wrong input: Not existing vector name error: {name}")));
        }
        sparse.insert(name.clone(), sparse_vector(vector)?);
    }
    Ok((named.get("").unwrap_or(&Value::Null), sparse))
}

fn sparse_vector(vector: &Value) -> Result<Sparse, Refusal> {
    let indices: Option<Vec<u64>> =
        vector["indices"].as_array().map(|all| all.iter().filter_map(Value::as_u64).collect());
    let values: Option<Vec<f64>> =
        vector["values"].as_array().map(|all| all.iter().filter_map(Value::as_f64).collect());
    let (Some(indices), Some(values)) = (indices, values) else { return Err(format_error("no sparse vector")) };
    let n_values = values.len();
    if indices.len() != n_values || indices.iter().any(|index| u32::try_from(*index).is_err()) {
        return Err((
            422,
            "Validation error in JSON body: [vector.values: must be the same length as indices]".to_owned(),
        ));
    }
    let sparse: Sparse = indices.into_iter().zip(values).collect();
    if sparse.len() != n_values {
        return Err((422, "Validation error in JSON body: [vector.indices: must be unique]".to_owned()));
    }
    Ok(sparse)
}

fn queried(there: &Collection, body: &Value) -> Result<Value, Refusal> {
    let limit = limit(body)?;
    let mut found = ranked(there, body)?;
    if let Some(lists) = body["prefetch"].as_array() {
        // The query ranks what the lists have.
        let mut prefetched = BTreeSet::new();
        for list in lists {
            prefetched.extend(ranked(there, list)?.into_iter().take(self::limit(list)?).map(|(_, id, _)| id));
        }
        found.retain(|(_, id, _)| prefetched.contains(id));
    }
    let mut points = Vec::new();
    for (score, id, point) in found.into_iter().take(limit) {
        let payload = payload(body, point)?;
        points.push(json!({ "id": id, "score": score, "payload": payload }));
    }
    Ok(json!({ "points": points }))
}

/// The score, the id and the point of each result, best first.
type Results<'a> = Vec<(f64, &'a String, &'a Stored)>;

/// Returns the points that a query finds: by the vector without a name, or by the sparse vector that `using` names.
fn ranked<'a>(there: &'a Collection, body: &Value) -> Result<Results<'a>, Refusal> {
    let least = body["score_threshold"].as_f64().unwrap_or(f64::NEG_INFINITY);
    let candidates = filtered(there, &body["filter"])?.into_iter();
    let mut found: Results<'a> = if let Some(name) = body["using"].as_str() {
        let Some(said) = there.sparse.get(name) else {
            return Err((400, format!("Wrong input: Not existing vector name error: {name}")));
        };
        let query = sparse_vector(&body["query"])?;
        let weight = |index: &u64| if said["modifier"] == "idf" { rarity(there, name, *index) } else { 1.0 };
        let weights: Sparse = query.iter().map(|(index, value)| (*index, value * weight(index))).collect();
        let common = |point: &Stored| -> Option<f64> {
            let vector = point.sparse.get(name)?;
            let products = weights.iter().filter_map(|(index, weight)| Some(weight * vector.get(index)?));
            products.reduce(|one, other| one + other)
        };
        candidates.filter_map(|(id, point)| Some((common(point)?, id, point))).collect()
    } else {
        let wanted = unit(there, &body["query"])?;
        let cosine = |point: &Stored| point.vector.iter().zip(&wanted).map(|(one, other)| one * other).sum();
        candidates.map(|(id, point)| (cosine(point), id, point)).collect()
    };
    // What is only as good is left out, as its engine was seen to do.
    found.retain(|(score, ..)| *score > least);
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    Ok(found)
}

/// Returns the inverse document frequency of an index, as the engine computes it.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 points")]
fn rarity(there: &Collection, name: &str, index: u64) -> f64 {
    let vectors = there.points.values().filter_map(|point| point.sparse.get(name));
    let (all, having) = vectors
        .fold((0_usize, 0_usize), |(all, having), vector| (all + 1, having + usize::from(vector.contains_key(&index))));
    ((all as f64 - having as f64 + 0.5) / (having as f64 + 0.5) + 1.0).ln()
}

fn payload(body: &Value, point: &Stored) -> Result<Value, Refusal> {
    selected(&body["with_payload"], &point.payload).map_err(|error| format_error(&error))
}

fn filtered<'a>(there: &'a Collection, filter: &Value) -> Result<Vec<(&'a String, &'a Stored)>, Refusal> {
    let mut found = Vec::new();
    for (id, point) in &there.points {
        if lets_through(filter, id, &point.payload).map_err(|error| format_error(&error))? {
            found.push((id, point));
        }
    }
    Ok(found)
}

/// Returns a vector at length 1, as the collection wants it.
fn unit(there: &Collection, vector: &Value) -> Result<Vec<f64>, Refusal> {
    let numbers = vector.as_array().ok_or_else(|| format_error("no vector"))?;
    let numbers: Option<Vec<f64>> = numbers.iter().map(Value::as_f64).collect();
    let numbers = numbers.ok_or_else(|| format_error("invalid type: null, expected f32"))?;
    let Some(expected) = there.vectors["size"].as_u64() else {
        return Err((400, "Wrong input: Not existing vector name error: ".to_owned()));
    };
    if numbers.len() as u64 != expected {
        let got = numbers.len();
        return Err((400, format!("Wrong input: Vector dimension error: expected dim: {expected}, got {got}")));
    }
    let length = numbers.iter().map(|number| number * number).sum::<f64>().sqrt();
    Ok(numbers.iter().map(|number| if length > 0.0 { number / length } else { 0.0 }).collect())
}

fn limit(body: &Value) -> Result<usize, Refusal> {
    match body.get("limit").map_or(Some(10), Value::as_u64) {
        Some(0) => {
            let error = "Validation error in JSON body: [internal.limit: value 0 invalid, must be 1 or larger]";
            Err((422, error.to_owned()))
        }
        Some(limit) => usize::try_from(limit).map_err(|error| format_error(&error.to_string())),
        None => Err(format_error("invalid limit")),
    }
}

fn format_error(error: &str) -> Refusal {
    (400, format!("Format error in JSON body: {error}"))
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && text.chars().all(|character| character == '-' || character.is_ascii_hexdigit())
}

/// Returns the parts of a path, each without its `%`.
fn decoded(path: &str) -> Vec<String> {
    let part = |part| percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned();
    path.trim_start_matches('/').split('/').map(part).collect()
}

fn json_reply(status: u16, body: &Value) -> Reply {
    Reply { status, body: body.to_string().into_bytes() }
}
