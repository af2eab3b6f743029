//! Vectors on a Qdrant server, which the machines of a team share.
//!
//! The files are the source: everything on the server is computed from them, and may be deleted at any time. A point is
//! one chunk of one entry. It names its entry and has a hash of the text, but the text only where `qdrant.share_text`
//! says so: without it a reader of the server learns the names of entries and features, and whatever can be guessed from
//! vectors. Since the vector of words has a number for each, that is most words of a text, in no order.
//!
//! Every response is checked: a name that is not an entry's and a score that is not a cosine are skipped, and a caller
//! finds only entries that it knows itself.
//!
//! A request takes at most the time that the settings give it, and a search or a check as a whole takes no longer.
//! Operations of several requests end with the first that fails, and can be repeated.

mod collections;
mod elsewhere;
mod points;
mod wire;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::http::{JsonServer, RequestError, TimeLimit, Timeouts, take};
use super::word_vector::WordVector;
use crate::entry::Id;
use crate::settings;
use crate::text::address_part;

pub use collections::CollectionsReport;
pub use elsewhere::{ElsewhereMatch, ElsewhereQuery};
pub use points::PointQuery;
pub(super) use points::PointsFound;
pub(super) use wire::shown_line;

/// The namespace of the ids of all points. It never changes: other machines would store every point a second time.
const NAMESPACE: Uuid = Uuid::from_u128(0x7c1d_5a0e_93b4_4f6e_8f0c_2a6d_41e7_b935);
/// The prefix of the names of the features' own collections.
const FEATURE: &str = "feature-";
/// How many collections of features are searched; more are an error, so that none is left out.
const MAX_FEATURES: usize = 256;
/// The oldest version that is supported: `is_tenant` came with it.
const OLDEST: (u32, u32) = (1, 11);

/// A client of a Qdrant server, for the points of one project.
#[derive(Debug, Clone)]
pub struct QdrantClient {
    server: JsonServer,
    settings: settings::QdrantSettings,
    model: String,
}

/// One chunk of an entry, to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The entry.
    pub entry: Id,
    /// Which of its chunks this is, from 0.
    pub number: u32,
    /// How many chunks it has.
    pub of: u32,
    /// The hash of the chunk's text.
    pub content: u64,
    /// The vector of the text.
    pub vector: Vec<f32>,
    /// The words of the text.
    pub words: WordVector,
    /// The entry's title and the beginning of the text, where texts are shared.
    pub shown: Option<[String; 2]>,
    /// Whether the entry is expired or replaced, so that other projects do not find it.
    pub is_outdated: bool,
    /// The entry's feature.
    pub feature: Option<String>,
}

/// An entry that was found, by the chunk of it that matches best.
#[derive(Debug, Clone, PartialEq)]
pub struct PointMatch {
    /// The entry.
    pub entry: Id,
    /// Which of its chunks this is.
    pub number: u32,
    /// The hash of the text that the chunk had when it was stored.
    pub content: u64,
    /// The cosine of the angle between it and the query.
    pub score: f32,
}

/// A point that the server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPoint {
    /// The entry.
    pub entry: Id,
    /// Which of its chunks this is.
    pub number: u32,
    /// How many chunks it had.
    pub of: u32,
    /// The hash of the text it had.
    pub content: u64,
    /// The feature the entry had.
    pub feature: Option<String>,
    /// The model that made the vector, without `:latest`; compare it with [`QdrantClient::model`].
    pub model: String,
    /// The version of the rules that made the vector of words.
    pub words: u32,
    /// The title that other projects can read, where texts are shared.
    pub title: Option<String>,
    /// Whether it was expired or replaced.
    pub is_outdated: bool,
    /// Whether it is in the collection in which it is searched. It is not after `qdrant.collection` was changed: then
    /// store its entry again, or remove it.
    pub is_in_place: bool,
}

/// What a server says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QdrantInfo {
    /// Its version.
    pub version: String,
    /// Whether it has the collection that the settings name; the first write creates it.
    pub is_prepared: bool,
}

impl QdrantClient {
    /// Returns the client of the server that the settings name, if any. No request is sent.
    pub fn new(settings: &settings::QdrantSettings, model: &str) -> Option<QdrantClient> {
        if settings.url.is_empty() {
            return None;
        }
        let key = (!settings.api_key.is_empty()).then(|| ("api-key", settings.api_key.clone()));
        let mut settings = settings.clone();
        if settings.collection.name.is_empty() {
            settings.collection.name = settings::CollectionSettings::default().name;
        }
        let server = JsonServer::new(&settings.url, key);
        Some(QdrantClient { server, settings, model: without_latest(model).to_owned() })
    }

    /// Returns the server's address.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// Returns whether its key goes over a network without TLS.
    pub fn exposes_key(&self) -> bool {
        self.server.exposes_key()
    }

    /// Returns whether each feature has a collection of its own.
    pub fn is_per_feature(&self) -> bool {
        self.settings.collection.per_feature
    }

    /// Returns whether titles and the beginnings of texts are stored, for readers in other projects.
    pub fn shares_text(&self) -> bool {
        self.settings.share_text
    }

    fn collection(&self) -> &str {
        &self.settings.collection.name
    }

    /// Returns a text that distinguishes the places of vectors on one server.
    pub fn place(&self) -> String {
        format!("{}\n{}\n{}", self.collection(), self.is_per_feature(), self.settings.project)
    }

    /// Returns the model whose vectors are stored and searched, without `:latest`.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Checks that the server is a Qdrant that is new enough and accepts the key, and whether it has the collection.
    ///
    /// # Errors
    ///
    /// Those of the request, and [`RequestError::Broken`] where it is another server or too old.
    pub fn check(&self) -> Result<QdrantInfo, RequestError> {
        let time = self.time_limit(Timeouts::Query);
        let mut about = self.server.call("GET", "/", &Value::Null, &time)?;
        let (title, version): (String, String) = (take(&mut about, "title")?, take(&mut about, "version")?);
        let is_version = |version: &str| {
            let is_known = |character: char| character.is_ascii_alphanumeric() || ".-+".contains(character);
            (1..=40).contains(&version.len()) && version.chars().all(is_known)
        };
        if !title.to_lowercase().contains("qdrant") || !is_version(&version) {
            return Err(RequestError::Broken("it is not a Qdrant server".to_owned()));
        }
        let mut numbers = version.split('.').map_while(|part| part.parse::<u32>().ok());
        if let (Some(major), Some(minor)) = (numbers.next(), numbers.next())
            && (major, minor) < OLDEST
        {
            let (at_least, and) = OLDEST;
            return Err(RequestError::Broken(format!(
                "it is Qdrant {version}, and the oldest supported version is {at_least}.{and}"
            )));
        }
        // The first response needs no key; this one does.
        let path = format!("{}/exists", path(self.collection()));
        let is_prepared = take(&mut self.call(&time, "GET", &path, &Value::Null)?, "exists")?;
        Ok(QdrantInfo { version, is_prepared })
    }

    /// Sends a request, and returns the result in the response.
    fn call(&self, time: &TimeLimit, method: &str, path: &str, body: &impl Serialize) -> Result<Value, RequestError> {
        take(&mut self.server.call(method, path, body, time)?, "result")
    }

    /// Limits each request, or several together, to the time of one.
    fn time_limit(&self, timeouts: Timeouts) -> TimeLimit {
        TimeLimit::new(self.settings.timeout_ms, timeouts)
    }

    /// Returns the collection of a feature's entries.
    pub fn home(&self, feature: Option<&str>) -> String {
        match feature {
            Some(feature) if self.is_per_feature() => collection_of(feature),
            _ => self.collection().to_owned(),
        }
    }

    /// Returns all collections that can hold points of this project: the one of the settings first, then those of
    /// features by name, if there are any.
    fn collections(&self, time: &TimeLimit) -> Result<Vec<String>, RequestError> {
        if self.is_per_feature() { self.collections_there(time) } else { Ok(vec![self.collection().to_owned()]) }
    }

    /// Returns those, and the collections of features also where the settings do not divide vectors any more.
    fn collections_there(&self, time: &TimeLimit) -> Result<Vec<String>, RequestError> {
        let mut names = vec![self.collection().to_owned()];
        {
            let mut answer = self.call(time, "GET", "/collections", &Value::Null)?;
            let there: Vec<Value> = take(&mut answer, "collections")?;
            let there = there.iter().filter_map(|there| there["name"].as_str());
            let features = there.filter(|name| is_of_feature(name) && *name != self.collection());
            let features: BTreeSet<String> = features.map(str::to_owned).collect();
            if features.len() > MAX_FEATURES {
                return Err(RequestError::Broken(format!(
                    "it has {} collections of features, and at most {MAX_FEATURES} can be searched: \
                     switch `per_feature` of `qdrant.collection` off",
                    features.len()
                )));
            }
            names.extend(features);
        }
        Ok(names)
    }

    /// Returns the id of a point: the same from every machine, so that storing a point again replaces it.
    fn point_id(&self, entry: &str, number: u32) -> String {
        let name = match self.settings.project.as_str() {
            "" => format!("{entry}\n{number}"),
            project => format!("{project}\n{entry}\n{number}"),
        };
        Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string()
    }
}

impl RequestError {
    /// Returns whether a Qdrant server says that it has no such collection: the first write creates it.
    pub fn is_missing_collection(&self) -> bool {
        // Another server at this address reports an unknown path in its own words.
        matches!(self, RequestError::Refused { status: 404, message } if message.contains("Collection"))
    }

    /// Returns whether a Qdrant server says that its collection is for other vectors: of another number of dimensions,
    /// or without words. It was created for another model or by an older version, and only `index --rebuild --remote`
    /// fixes that.
    pub fn is_of_other_vectors(&self) -> bool {
        let says_so = |message: &str| message.contains("dimension error") || message.contains("vector name error");
        matches!(self, RequestError::Refused { status: 400, message } if says_so(message))
    }

    /// Returns whether a server rejects the key, or requires one.
    pub fn is_denied(&self) -> bool {
        matches!(self, RequestError::Refused { status: 401 | 403, .. })
    }
}

/// Returns the name of a model without the default tag: `all-minilm:latest` is `all-minilm`.
fn without_latest(model: &str) -> &str {
    model.strip_suffix(":latest").unwrap_or(model)
}

fn collection_of(feature: &str) -> String {
    let hash = Sha256::digest(feature.as_bytes());
    let first = hash.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{FEATURE}{first:016x}")
}

fn is_of_feature(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix(FEATURE).is_some_and(|digits| digits.len() == 16 && digits.bytes().all(is_digit))
}

/// Returns the path of a collection, escaped: its name comes from the settings and can have a `/`.
fn path(collection: &str) -> String {
    format!("/collections/{}", address_part(collection))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qdrant(project: &str) -> QdrantClient {
        let settings = settings::QdrantSettings {
            url: "http://127.0.0.1:1".to_owned(),
            api_key: "sesame".to_owned(),
            project: project.to_owned(),
            ..settings::QdrantSettings::default()
        };
        QdrantClient::new(&settings, "nomic-embed-text:latest").unwrap()
    }

    #[test]
    fn a_key_that_others_can_read_is_known() {
        let shows = |url: &str, key: &str| {
            let (url, api_key) = (url.to_owned(), key.to_owned());
            let settings = settings::QdrantSettings { url, api_key, ..settings::QdrantSettings::default() };
            QdrantClient::new(&settings, "x").unwrap().exposes_key()
        };
        assert!(shows("http://qdrant.example.org:6333", "sesame"));
        assert!(!shows("http://qdrant.example.org:6333", ""));
        assert!(!shows("https://qdrant.example.org:6333", "sesame"));
        assert!(!shows("http://127.0.0.1:6333", "sesame"));
    }

    #[test]
    fn the_ids_of_points_never_change() {
        let id = |project, entry, number| qdrant(project).point_id(entry, number);
        assert_eq!(id("", "knowledge/wal", 0), "f1a9328d-e427-5cbc-8cf3-88780acd06ff");
        assert_eq!(id("web", "knowledge/wal", 0), "3aab6392-35f7-53c4-9ba8-7b4bcefba13c");
        assert_ne!(id("", "knowledge/wal", 1), id("", "knowledge/wal", 0));
    }

    #[test]
    fn collections_of_features_are_named_by_a_hash() {
        // `printf authentication | sha256sum`
        assert_eq!(collection_of("authentication"), "feature-b9d90628453938c5");
        assert!(is_of_feature(&collection_of("ä / ö")));
        for other in ["feature-", "feature-0123456789abcdeg", "feature-0123456789ABCDEF", "ralph-memory"] {
            assert!(!is_of_feature(other), "{other}");
        }
    }

    #[test]
    fn the_default_tag_of_a_model_is_dropped() {
        assert_eq!(qdrant("").model(), "nomic-embed-text");
        assert_eq!(without_latest("all-minilm:33m"), "all-minilm:33m");
    }

    #[test]
    fn a_name_stays_one_part_of_a_path() {
        assert_eq!(path("team/../a b?"), "/collections/team%2F..%2Fa%20b%3F");
    }
}
