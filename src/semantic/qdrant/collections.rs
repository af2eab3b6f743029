//! The collections of a Qdrant server: created if they are missing, and read back, since a server ignores settings that
//! it does not know.
//!
//! A collection with points of other projects is never deleted.

use std::fmt;

use serde_json::{Value, json};

use super::wire::{self, Collection, PointCount};
use super::{QdrantClient, path};
use crate::semantic::http::{RequestError, TimeLimit};

/// The fields by which points are filtered.
const INDEXED: [&str; 5] = ["feature", "project", "entry", "model", "kind"];
/// How vectors are compared.
const DISTANCE: &str = "Cosine";

/// The collections as they are after [`QdrantClient::prepare`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionsReport {
    /// The names of those that were created.
    pub created: Vec<String>,
    /// Where they differ from the settings.
    pub differences: Vec<Difference>,
}

impl CollectionsReport {
    /// Returns the number of dimensions that a collection has where that is the wrong one: nothing can be stored or
    /// found there before it is [recreated](QdrantClient::recreate).
    pub fn wrong_dimension(&self) -> Option<usize> {
        self.differences.iter().find_map(|difference| match difference {
            Difference::Dimensions { found, .. } => Some(*found),
            Difference::Vectors { .. } | Difference::Setting { .. } => None,
        })
    }

    /// Returns whether the collections are usable.
    pub fn is_usable(&self) -> bool {
        self.differences.iter().all(|difference| matches!(difference, Difference::Setting { .. }))
    }
}

/// A difference between a collection and the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Its vectors have another number of dimensions: they are of another model.
    Dimensions {
        /// The collection.
        collection: String,
        /// The number that the model's vectors have.
        wanted: usize,
        /// The number that the collection has.
        found: usize,
    },
    /// It has vectors with names or none, or compares them in another way: another program created it.
    Vectors {
        /// The collection.
        collection: String,
        /// How it compares them.
        found: String,
    },
    /// It is slower or larger than it should be, and otherwise usable.
    Setting {
        /// The collection.
        collection: String,
        /// The difference, in the server's words.
        name: String,
        /// The value in the settings.
        wanted: String,
        /// The value on the server.
        found: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Dimensions { collection, wanted, found } => {
                write!(formatter, "collection `{collection}` takes vectors of {found} dimensions, not of {wanted}")
            }
            Difference::Vectors { collection, found } => {
                write!(formatter, "collection `{collection}` does not compare vectors by {DISTANCE}, but has: {found}")
            }
            Difference::Setting { collection, name, wanted, found } => {
                write!(formatter, "collection `{collection}` has `{name}` {found}, not {wanted}")
            }
        }
    }
}

/// Whether collections were recreated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecreateOutcome {
    /// They were recreated.
    Recreated(CollectionsReport),
    /// Nothing was done: this collection cannot stay, and deleting it would delete points of other projects.
    Shared {
        /// The collection. Give `qdrant.collection` another `name`, or delete it by hand.
        collection: String,
        /// How many points of other projects are in it.
        others: u64,
    },
}

impl QdrantClient {
    /// Creates the collections and the indexes that are missing, and reports where they differ from the settings.
    ///
    /// `features` are those of the entries; they do not matter where there is one collection for all. Nothing that
    /// exists is changed. It may be repeated, and run by several machines at the same time.
    ///
    /// # Errors
    ///
    /// Those of the requests.
    pub fn prepare(&self, dimensions: usize, features: &[Option<&str>]) -> Result<CollectionsReport, RequestError> {
        let mut prepared = CollectionsReport::default();
        for name in self.homes(features) {
            self.prepare_one(&self.limit_each(), &name, dimensions, &mut prepared)?;
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
    pub fn recreate(&self, dimensions: usize, features: &[Option<&str>]) -> Result<RecreateOutcome, RequestError> {
        let wanted = self.homes(features);
        let mut names = self.collections(&self.limit_all())?;
        names.extend(wanted.iter().cloned());
        names.sort();
        names.dedup();
        let (mut to_delete, mut to_empty) = (Vec::new(), Vec::new());
        for name in names {
            let Some(collection) = self.get(&self.limit_each(), &name)? else { continue };
            let own = self.count(&name, &json!({ "must": [self.own()] }))?;
            let others = self.count(&name, &json!({ "must_not": [self.own()] }))?;
            let is_right =
                vectors(&collection).is_some_and(|vectors| vectors.size == dimensions && vectors.distance == DISTANCE);
            if others == 0 && (own > 0 || wanted.contains(&name)) {
                to_delete.push(name);
            } else if is_right && own > 0 {
                to_empty.push(name);
            } else if others > 0 && !is_right && (own > 0 || wanted.contains(&name)) {
                return Ok(RecreateOutcome::Shared { collection: name, others });
            }
        }
        for name in to_delete {
            self.call::<Value>(&self.limit_each(), "DELETE", &path(&name), None::<&()>)?;
        }
        for name in to_empty {
            self.delete(&self.limit_each(), &name, &json!({ "must": [self.own()] }))?;
        }
        self.prepare(dimensions, features).map(RecreateOutcome::Recreated)
    }

    /// Returns the collections of entries of these features, and the one for all in any case.
    fn homes(&self, features: &[Option<&str>]) -> Vec<String> {
        let mut names: Vec<String> = features.iter().map(|feature| self.home(*feature)).collect();
        names.push(self.collection.clone());
        names.sort();
        names.dedup();
        names
    }

    /// Deletes the points that match a filter.
    pub(super) fn delete(&self, time: &TimeLimit, collection: &str, filter: &Value) -> Result<(), RequestError> {
        let to = format!("{}/points/delete?wait=true", path(collection));
        self.call::<Value>(time, "POST", &to, Some(&json!({ "filter": filter }))).map(|_| ())
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
            INDEXED.into_iter().filter(|field| !there.payload_schema.contains_key(*field)).collect();
        for field in &missing {
            let is_tenant = *field == "feature" && !self.is_per_feature;
            let schema = if is_tenant { json!({ "type": "keyword", "is_tenant": true }) } else { json!("keyword") };
            let body = json!({ "field_name": field, "field_schema": schema });
            self.call::<Value>(time, "PUT", &format!("{}/index?wait=true", path(name)), Some(&body))?;
        }
        if !missing.is_empty() {
            there = self.get(time, name)?.ok_or_else(|| {
                RequestError::Broken(format!("collection `{name}` vanished while its indexes were created"))
            })?;
        }
        self.compare(name, dimensions, &there, &mut prepared.differences);
        Ok(())
    }

    /// Creates a collection; returns whether this call did.
    fn create(&self, time: &TimeLimit, name: &str, dimensions: usize) -> Result<bool, RequestError> {
        let graph = self.graph;
        let body = json!({
            "vectors": { "size": dimensions, "distance": DISTANCE, "on_disk": graph.on_disk },
            "hnsw_config": { "m": graph.m, "ef_construct": graph.ef_construct, "on_disk": graph.on_disk },
            "on_disk_payload": true,
        });
        match self.call::<Value>(time, "PUT", &path(name), Some(&body)) {
            Ok(_) => Ok(true),
            // Another machine was faster, or an earlier try of this one whose response was lost.
            Err(RequestError::Refused { status: 409, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns a collection from the server, if it exists.
    fn get(&self, time: &TimeLimit, name: &str) -> Result<Option<Collection>, RequestError> {
        match self.call(time, "GET", &path(name), None::<&()>) {
            Ok(collection) => Ok(Some(collection)),
            Err(error) if error.is_missing_collection() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn count(&self, name: &str, filter: &Value) -> Result<u64, RequestError> {
        let body = json!({ "filter": filter, "exact": true });
        let count: PointCount =
            self.call(&self.limit_each(), "POST", &format!("{}/points/count", path(name)), Some(&body))?;
        Ok(count.count)
    }

    fn compare(&self, name: &str, dimensions: usize, there: &Collection, differences: &mut Vec<Difference>) {
        let collection = || name.to_owned();
        let mut differ = |key: &str, wanted: &dyn fmt::Display, found: &dyn fmt::Display| {
            let (wanted, found) = (wanted.to_string(), found.to_string());
            if wanted != found {
                let name = key.to_owned();
                differences.push(Difference::Setting { collection: collection(), name, wanted, found });
            }
        };
        let graph = &there.config.hnsw_config;
        differ("hnsw_config.m", &self.graph.m, &graph.m);
        differ("hnsw_config.ef_construct", &self.graph.ef_construct, &graph.ef_construct);
        if let Some(on_disk) = graph.place.on_disk() {
            differ("hnsw_config.on_disk", &self.graph.on_disk, &on_disk);
        }
        for field in INDEXED {
            let index = there.payload_schema.get(field);
            differ(&format!("index of {field}"), &"keyword", &index.map_or("none", |index| plain(&index.data_type)));
            let is_tenant = index.and_then(|index| index.params.as_ref()?.is_tenant).unwrap_or(false);
            // Where features have collections of their own, a tenant key does no harm.
            if field == "feature" && !self.is_per_feature {
                differ("index of feature: is_tenant", &true, &is_tenant);
            }
        }
        let vectors = vectors(there);
        if let Some(on_disk) = vectors.as_ref().and_then(|vectors| vectors.place.on_disk()) {
            differ("vectors.on_disk", &self.graph.on_disk, &on_disk);
        }
        match vectors {
            Some(vectors) if vectors.distance != DISTANCE => {
                let found = plain(&vectors.distance).to_owned();
                differences.push(Difference::Vectors { collection: collection(), found });
            }
            Some(vectors) if vectors.size != dimensions => differences.push(Difference::Dimensions {
                collection: collection(),
                wanted: dimensions,
                found: vectors.size,
            }),
            Some(_) => {}
            None => differences.push(Difference::Vectors {
                collection: collection(),
                found: "vectors with names, or none".to_owned(),
            }),
        }
    }
}

fn vectors(collection: &Collection) -> Option<wire::VectorParams> {
    serde_json::from_value(collection.config.params.vectors.clone()).ok()
}

/// Returns a word of a server if it is plain enough for a message.
fn plain(word: &str) -> &str {
    let is_plain = word.len() <= 40 && word.chars().all(|character| character.is_ascii_alphanumeric());
    if is_plain { word } else { "something else" }
}
