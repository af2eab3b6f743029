//! The collections of a Qdrant server: created if they are missing, and read back, since a server ignores settings that
//! it does not know.
//!
//! A collection with points of other projects is never deleted.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{QdrantClient, path};
use crate::search::semantic::http::{RequestError, TimeLimit, Timeouts, take};

/// The fields by which points are filtered.
const INDEXED: [&str; 5] = ["feature", "project", "entry", "model", "kind"];
/// The field by which the server keeps points together.
const TENANT: &str = "project";
/// What the server computes itself: how rare a word is.
const IDF: &str = "idf";
/// How vectors are compared.
const DISTANCE: &str = "Cosine";
/// The name of the vectors of words. Those of meaning have none.
pub(super) const WORDS: &str = "words";

/// The collections as they are after [`QdrantClient::prepare`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionsReport {
    /// The names of those that were created.
    pub created: Vec<String>,
    /// Where they differ from the settings.
    pub differences: Vec<String>,
    /// Whether nothing can be stored or found in one of them before it is [recreated](QdrantClient::recreate): it is for
    /// other vectors.
    pub is_unusable: bool,
    /// The collection that cannot stay, and how many points of other projects its deletion would delete. Give
    /// `qdrant.collection` another `name`, or delete it by hand. Nothing was done.
    pub shared: Option<(String, u64)>,
}

impl QdrantClient {
    /// Creates the collections and the indexes that are missing, and reports where they differ from the settings.
    ///
    /// `features` are those of the entries; they do not matter if there is one collection for all. Nothing that exists
    /// is changed. The call may be repeated, and several machines may make it at the same time.
    ///
    /// # Errors
    ///
    /// Those of the requests.
    pub fn prepare(&self, dimensions: usize, features: &[Option<&str>]) -> Result<CollectionsReport, RequestError> {
        let mut prepared = CollectionsReport::default();
        for name in self.homes(features) {
            self.prepare_one(&self.time_limit(Timeouts::Batch), &name, dimensions, &mut prepared)?;
        }
        Ok(prepared)
    }

    /// Deletes the collections with all that this project has in them, also those of features that are not given, and
    /// creates those of the given ones.
    ///
    /// A collection with points of other projects is not deleted: where it has the right dimension, this project's
    /// points are removed from it, else nothing at all is done. (A project that stores its first points in the very
    /// moment between the check and the deletion has to fill its index again.)
    ///
    /// # Errors
    ///
    /// Those of the requests.
    pub fn recreate(&self, dimensions: usize, features: &[Option<&str>]) -> Result<CollectionsReport, RequestError> {
        let time = &self.time_limit(Timeouts::Batch);
        let wanted = self.homes(features);
        let mut names = wanted.clone();
        names.extend(self.collections(&self.time_limit(Timeouts::Query))?);
        let (mut to_delete, mut to_empty) = (Vec::new(), Vec::new());
        for name in names {
            let Some(collection) = self.get(time, &name)? else { continue };
            let own = self.count(&name, &json!({ "must": [self.own()] }))?;
            let others = self.count(&name, &json!({ "must_not": [self.own()] }))?;
            let is_right = unusable(&collection, dimensions).is_none();
            if others == 0 && (own > 0 || wanted.contains(&name)) {
                to_delete.push(name);
            } else if is_right && own > 0 {
                to_empty.push(name);
            } else if others > 0 && !is_right && (own > 0 || wanted.contains(&name)) {
                let shared = Some((name, others));
                return Ok(CollectionsReport { shared, is_unusable: true, ..CollectionsReport::default() });
            }
        }
        for name in to_delete {
            self.call(time, "DELETE", &path(&name), &Value::Null)?;
        }
        for name in to_empty {
            self.delete(time, &name, &json!({ "must": [self.own()] }))?;
        }
        self.prepare(dimensions, features)
    }

    /// Removes all points of this project, and returns how many entries had some. Collections of features are emptied also
    /// where the settings do not divide vectors any more.
    ///
    /// # Errors
    ///
    /// Those of the requests.
    pub fn remove_project(&self) -> Result<usize, RequestError> {
        let mut n_entries = 0;
        self.each_there(&mut |collection| {
            let first = json!({ "key": "number", "match": { "value": 0 } });
            n_entries += self.count(collection, &json!({ "must": [self.own(), first] }))?;
            self.delete(&self.time_limit(Timeouts::Batch), collection, &json!({ "must": [self.own()] }))
        })?;
        Ok(usize::try_from(n_entries).unwrap_or(usize::MAX))
    }

    /// Removes the texts of this project's points, also of entries that others have stored.
    ///
    /// # Errors
    ///
    /// Those of the requests.
    pub fn forget_texts(&self) -> Result<(), RequestError> {
        let body = json!({ "keys": ["title", "excerpt"], "filter": { "must": [self.own()] } });
        self.each_there(&mut |collection| {
            let to = format!("{}/points/payload/delete?wait=true", path(collection));
            self.call(&self.time_limit(Timeouts::Batch), "POST", &to, &body).map(drop)
        })
    }

    /// Makes a call for every collection that can have points of this project and exists.
    fn each_there(&self, call: &mut dyn FnMut(&str) -> Result<(), RequestError>) -> Result<(), RequestError> {
        for collection in self.collections_there(&self.time_limit(Timeouts::Query))? {
            match call(&collection) {
                Err(error) if error.is_missing_collection() => {}
                result => result?,
            }
        }
        Ok(())
    }

    /// Returns the collections of entries of these features, and the one for all in any case.
    fn homes(&self, features: &[Option<&str>]) -> BTreeSet<String> {
        features.iter().map(|feature| self.home(*feature)).chain([self.collection().to_owned()]).collect()
    }

    /// Deletes the points that match a filter.
    pub(super) fn delete(&self, time: &TimeLimit, collection: &str, filter: &Value) -> Result<(), RequestError> {
        let to = format!("{}/points/delete?wait=true", path(collection));
        self.call(time, "POST", &to, &json!({ "filter": filter })).map(drop)
    }

    /// Creates a collection if it is missing, and the indexes that it lacks.
    pub(super) fn prepare_one(
        &self,
        time: &TimeLimit,
        name: &str,
        dimensions: usize,
        prepared: &mut CollectionsReport,
    ) -> Result<(), RequestError> {
        let mut collection = self.get(time, name)?;
        if collection.is_none() {
            if self.create(time, name, dimensions)? {
                prepared.created.push(name.to_owned());
            }
            collection = self.get(time, name)?;
        }
        let Some(mut there) = collection else {
            return Err(RequestError::Broken(format!("collection `{name}` vanished as soon as it was created")));
        };
        let missing: Vec<&str> =
            INDEXED.into_iter().filter(|field| there["payload_schema"].get(*field).is_none()).collect();
        for field in &missing {
            let schema =
                if *field == TENANT { json!({ "type": "keyword", "is_tenant": true }) } else { json!("keyword") };
            let body = json!({ "field_name": field, "field_schema": schema });
            self.call(time, "PUT", &format!("{}/index?wait=true", path(name)), &body)?;
        }
        if !missing.is_empty() {
            there = self.get(time, name)?.ok_or_else(|| {
                RequestError::Broken(format!("collection `{name}` vanished while its indexes were created"))
            })?;
        }
        self.compare(name, dimensions, &there, prepared);
        Ok(())
    }

    /// Creates a collection. Returns whether this call created it.
    fn create(&self, time: &TimeLimit, name: &str, dimensions: usize) -> Result<bool, RequestError> {
        let graph = self.settings.hnsw;
        let body = json!({
            "vectors": { "size": dimensions, "distance": DISTANCE, "on_disk": graph.on_disk },
            "sparse_vectors": { WORDS: { "modifier": IDF } },
            "hnsw_config": { "m": graph.m, "ef_construct": graph.ef_construct, "on_disk": graph.on_disk },
            "on_disk_payload": true,
        });
        match self.call(time, "PUT", &path(name), &body) {
            Ok(_) => Ok(true),
            // Another machine was faster, or an earlier try of this one whose response was lost.
            Err(RequestError::Refused { status: 409, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns a collection from the server, if it exists.
    fn get(&self, time: &TimeLimit, name: &str) -> Result<Option<Value>, RequestError> {
        match self.call(time, "GET", &path(name), &Value::Null) {
            Ok(collection) => Ok(Some(collection)),
            Err(error) if error.is_missing_collection() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn count(&self, name: &str, filter: &Value) -> Result<u64, RequestError> {
        let body = json!({ "filter": filter, "exact": true });
        let to = format!("{}/points/count", path(name));
        take(&mut self.call(&self.time_limit(Timeouts::Batch), "POST", &to, &body)?, "count")
    }

    fn compare(&self, name: &str, dimensions: usize, there: &Value, prepared: &mut CollectionsReport) {
        let mut differ = |key: &str, wanted: Value, found: &Value| {
            if wanted != *found {
                let (found, wanted) = (plain(found), plain(&wanted));
                prepared.differences.push(format!("collection `{name}` has `{key}` {found}, not {wanted}"));
            }
        };
        let (wanted, graph) = (self.settings.hnsw, &there["config"]["hnsw_config"]);
        differ("hnsw_config.m", json!(wanted.m), &graph["m"]);
        differ("hnsw_config.ef_construct", json!(wanted.ef_construct), &graph["ef_construct"]);
        let on_disk = json!(wanted.on_disk);
        differ("hnsw_config.on_disk", on_disk.clone(), place(graph).unwrap_or(&on_disk));
        for field in INDEXED {
            let index = &there["payload_schema"][field];
            differ(&format!("index of {field}"), json!("keyword"), &index["data_type"]);
            if field == TENANT {
                let is_tenant = index["params"]["is_tenant"] == true;
                differ("index of project: is_tenant", json!(true), &json!(is_tenant));
            }
        }
        let vectors = &there["config"]["params"]["vectors"];
        if vectors["size"].is_u64() {
            differ("vectors.on_disk", on_disk.clone(), place(vectors).unwrap_or(&on_disk));
        }
        if let Some(reason) = unusable(there, dimensions) {
            prepared.is_unusable = true;
            prepared.differences.push(format!("collection `{name}` {reason}"));
        }
    }
}

/// Returns whether vectors or a graph are on disk; `None` where the server says it in another way, with the field
/// `memory`.
fn place(part: &Value) -> Option<&Value> {
    match (&part["on_disk"], &part["memory"]) {
        (Value::Null, Value::Null) => Some(&Value::Bool(false)),
        (Value::Null, _) => None,
        (on_disk, _) => Some(on_disk),
    }
}

/// Returns why a collection is not for vectors of this length. The vectors of a collection created here have no name;
/// those of another program may have one.
fn unusable(collection: &Value, dimensions: usize) -> Option<String> {
    let vectors = &collection["config"]["params"]["vectors"];
    match (vectors["size"].as_u64(), vectors["distance"].as_str()) {
        (Some(size), Some(DISTANCE)) if size == dimensions as u64 => {
            let words = &collection["config"]["params"]["sparse_vectors"][WORDS];
            (words["modifier"] != IDF).then(|| "has no vectors of words".to_owned())
        }
        (Some(size), Some(DISTANCE)) => Some(format!("takes vectors of {size} dimensions, not of {dimensions}")),
        (size, _) => {
            let found = size.map_or("vectors with names, or none".to_owned(), |_| plain(&vectors["distance"]));
            Some(format!("does not compare vectors by {DISTANCE}, but has: {found}"))
        }
    }
}

/// Returns a value of a server if it is plain enough for a message.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(word) if word.len() <= 40 && word.chars().all(|char| char.is_ascii_alphanumeric()) => {
            word.clone()
        }
        _ => "something else".to_owned(),
    }
}
