//! The requests to and the responses of a Qdrant server, as far as they are used here.
//!
//! A response is checked field by field: a point that is broken or of another project does not hide the others.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{PointMatch, QdrantClient, StoredPoint, without_latest};
use crate::entry::{Id, Kind};

/// `GET /`.
#[derive(Deserialize)]
pub(super) struct ServerAbout {
    pub(super) title: String,
    pub(super) version: String,
}

/// The envelope of every other response.
#[derive(Deserialize)]
pub(super) struct QdrantAnswer<T> {
    pub(super) result: T,
}

/// `GET /collections/X/exists`.
#[derive(Deserialize)]
pub(super) struct CollectionExists {
    pub(super) exists: bool,
}

/// `GET /collections`.
#[derive(Deserialize)]
pub(super) struct CollectionList {
    pub(super) collections: Vec<CollectionName>,
}

#[derive(Deserialize)]
pub(super) struct CollectionName {
    pub(super) name: String,
}

/// `GET /collections/X`.
#[derive(Deserialize)]
pub(super) struct Collection {
    pub(super) config: CollectionConfig,
    #[serde(default)]
    pub(super) payload_schema: BTreeMap<String, PayloadIndex>,
}

#[derive(Deserialize)]
pub(super) struct CollectionConfig {
    pub(super) params: CollectionParams,
    pub(super) hnsw_config: HnswConfig,
}

#[derive(Deserialize)]
pub(super) struct CollectionParams {
    /// One vector without a name, as it is created here, or several with names, or none.
    #[serde(default)]
    pub(super) vectors: Value,
}

/// How the vectors of a collection are stored, where they have no name.
#[derive(Deserialize)]
pub(super) struct VectorParams {
    pub(super) size: usize,
    pub(super) distance: String,
    #[serde(flatten)]
    pub(super) place: DiskPlacement,
}

#[derive(Deserialize)]
pub(super) struct HnswConfig {
    pub(super) m: u32,
    pub(super) ef_construct: u32,
    #[serde(flatten)]
    pub(super) place: DiskPlacement,
}

/// Whether something is on disk or in memory.
#[derive(Deserialize)]
pub(super) struct DiskPlacement {
    on_disk: Option<bool>,
    /// The successor of `on_disk`.
    memory: Option<Value>,
}

impl DiskPlacement {
    /// Returns whether it is on disk; `None` where the server says it in another way.
    pub(super) fn on_disk(&self) -> Option<bool> {
        match (self.on_disk, &self.memory) {
            (None, Some(_)) => None,
            (on_disk, _) => Some(on_disk.unwrap_or(false)),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct PayloadIndex {
    pub(super) data_type: String,
    #[serde(default)]
    pub(super) params: Option<IndexParams>,
}

#[derive(Deserialize)]
pub(super) struct IndexParams {
    #[serde(default)]
    pub(super) is_tenant: Option<bool>,
}

/// `POST points/count`.
#[derive(Deserialize)]
pub(super) struct PointCount {
    pub(super) count: u64,
}

/// `POST points/query`.
#[derive(Deserialize)]
pub(super) struct QueryResult {
    pub(super) points: Vec<ScoredPoint>,
}

#[derive(Deserialize)]
pub(super) struct ScoredPoint {
    /// Any value: a broken point must not hide the others.
    #[serde(default)]
    score: Value,
    #[serde(default)]
    payload: Value,
}

/// `POST points/scroll`.
#[derive(Deserialize)]
pub(super) struct ScrollPage {
    pub(super) points: Vec<ScrolledPoint>,
    /// Where the next page begins, if there is one.
    #[serde(default)]
    pub(super) next_page_offset: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct ScrolledPoint {
    #[serde(default)]
    payload: Value,
}

/// The fields of a point that a search reads.
pub(super) const FIELDS_OF_MATCH: [&str; 4] = ["entry", "number", "content", "project"];
/// The fields of a point that listing reads.
pub(super) const FIELDS_OF_STORED: [&str; 7] = ["entry", "number", "of", "content", "feature", "model", "project"];

impl QdrantClient {
    /// Reads a point that was found, unless it is broken or of another project.
    #[expect(clippy::cast_possible_truncation, reason = "a cosine needs no more digits")]
    pub(super) fn read_match(&self, scored: &ScoredPoint) -> Option<PointMatch> {
        let payload = &scored.payload;
        // The server's cosines may exceed 1 by rounding, and no more.
        let score = scored.score.as_f64().filter(|score| score.abs() <= 1.001)?;
        Some(PointMatch {
            entry: self.read_entry(payload)?,
            number: read_number(payload, "number")?,
            content: read_content(payload)?,
            score: score.clamp(-1.0, 1.0) as f32,
        })
    }

    /// Reads a point of `collection`, unless it is broken or of another project.
    pub(super) fn read_stored(&self, listed: &ScrolledPoint, collection: &str) -> Option<StoredPoint> {
        let payload = &listed.payload;
        let feature = payload.get("feature").and_then(Value::as_str).map(str::to_owned);
        Some(StoredPoint {
            entry: self.read_entry(payload)?,
            number: read_number(payload, "number")?,
            of: read_number(payload, "of")?,
            content: read_content(payload)?,
            is_in_place: self.home(feature.as_deref()) == collection,
            feature,
            model: without_latest(payload.get("model")?.as_str()?).to_owned(),
        })
    }

    /// Reads the name of an entry of this project.
    fn read_entry(&self, payload: &Value) -> Option<Id> {
        let project = payload.get("project")?.as_str()?;
        let text = payload.get("entry")?.as_str()?;
        let entry = Id::of_path(&format!("{text}.md"))?;
        let is_plain = entry.as_str() == text && !text.contains(char::is_control);
        (is_plain && project == self.project).then_some(entry)
    }

    /// Returns the condition that a point is of this project.
    pub(super) fn own(&self) -> Value {
        is("project", &self.project)
    }

    /// Returns what the server stores beside a point's vector.
    pub(super) fn payload(&self, point: &super::Point) -> Value {
        json!({
            "project": self.project,
            "entry": point.entry.as_str(),
            "number": point.number,
            "of": point.of,
            "content": format!("{:016x}", point.content),
            "feature": point.feature,
            "kind": point.kind.as_str(),
            "model": self.model,
        })
    }
}

fn read_number(payload: &Value, key: &str) -> Option<u32> {
    payload.get(key)?.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn read_content(payload: &Value) -> Option<u64> {
    let text = payload.get("content")?.as_str()?;
    // A sign would be accepted, too.
    let is_hash = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

/// Returns the condition that a field has a value.
pub(super) fn is(key: &str, value: &str) -> Value {
    json!({ "key": key, "match": { "value": value } })
}

/// Returns the condition that a field has one of some values.
pub(super) fn is_any(key: &str, values: &[&str]) -> Value {
    json!({ "key": key, "match": { "any": values } })
}

/// Returns the condition that a point is of a kind.
pub(super) fn is_kind(kind: Kind) -> Value {
    is("kind", kind.as_str())
}
