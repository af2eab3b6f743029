//! Vectors on a Qdrant server, which the machines of a team share.
//!
//! Files stay the truth: what is on the server is made from them, and may be deleted at any time. A point is one
//! chunk of one entry. It says whose vector it is and of which text, but holds no text: whoever can read the server
//! learns the names of entries and features, and what can be guessed from vectors.
//!
//! Nothing that the server says is believed before it was looked at: an entry's name that is none and a score that
//! no cosine has are skipped, and a caller finds only entries that it knows itself.
//!
//! A request takes at most the time that the settings give it, and what looks for something or asks how the server
//! does takes no longer altogether. What makes more requests ends with the first that fails, and all of it can be done again.

mod collections;
mod points;
mod wire;

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::http::{Clock, Server, Trouble};
use crate::entry::{Id, Kind};
use crate::settings;

pub use collections::{Anew, Difference, Prepared};
pub use points::Wanted;

/// What the ids of all points are made in; this never changes, as other machines would then make points anew.
const NAMESPACE: Uuid = Uuid::from_u128(0x7c1d_5a0e_93b4_4f6e_8f0c_2a6d_41e7_b935);
/// With what the names of the features' own collections begin.
const FEATURE: &str = "feature-";
/// How many collections of features are looked at; more are refused rather than left out.
const MAX_FEATURES: usize = 256;
/// The oldest version that answers as it must: `is_tenant` came with it.
const OLDEST: (u32, u32) = (1, 11);

/// A Qdrant server, and what of it is this project's.
#[derive(Debug, Clone)]
pub struct Qdrant {
    server: Server,
    longest: Duration,
    /// The collection of all features, or of the entries without one.
    collection: String,
    is_per_feature: bool,
    project: String,
    model: String,
    graph: Graph,
    hnsw_ef: u32,
}

/// How vectors are kept and found.
#[derive(Debug, Clone, Copy)]
struct Graph {
    m: u32,
    ef_construct: u32,
    on_disk: bool,
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
    /// What the text means.
    pub vector: Vec<f32>,
    /// The entry's feature.
    pub feature: Option<String>,
    /// The kind of the entry.
    pub kind: Kind,
}

/// An entry that was found, by the chunk of it that fits best.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The entry.
    pub entry: Id,
    /// Which of its chunks this is.
    pub number: u32,
    /// The hash of the text that the chunk had when it was stored.
    pub content: u64,
    /// The cosine of the angle between it and what was looked for.
    pub score: f32,
}

/// What the server holds of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
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
    /// The model that made the vector, without `:latest`; compare it with [`Qdrant::model`].
    pub model: String,
    /// Whether it lies where it is looked for. It does not after `qdrant.collections` was changed: then put its entry
    /// again, or remove it.
    pub is_in_place: bool,
}

/// How a server does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Its version.
    pub version: String,
    /// Whether the collection named by the settings is there.
    pub is_prepared: bool,
}

impl Qdrant {
    /// Returns the server of the settings; none without an address. No call is made.
    pub fn new(settings: &settings::Qdrant, model: &str) -> Option<Qdrant> {
        if settings.url.is_empty() {
            return None;
        }
        let key = (!settings.api_key.is_empty()).then(|| ("api-key", settings.api_key.clone()));
        let collection = match settings.collection.as_str() {
            "" => settings::Qdrant::default().collection,
            name => name.to_owned(),
        };
        let graph = Graph { m: settings.m, ef_construct: settings.ef_construct, on_disk: settings.on_disk };
        Some(Qdrant {
            server: Server::new(settings.url.trim_end_matches('/'), key),
            longest: Duration::from_millis(settings.timeout_ms),
            collection,
            is_per_feature: settings.collections == settings::CollectionLayout::PerFeature,
            project: settings.project.clone(),
            model: bare(model).to_owned(),
            graph,
            hnsw_ef: settings.hnsw_ef,
        })
    }

    /// Returns the server's address.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// Returns whether its key goes over a network without TLS.
    pub fn shows_key(&self) -> bool {
        self.server.shows_key()
    }

    /// Returns a word that tells the places of vectors on one server apart.
    pub fn place(&self) -> String {
        format!("{}\n{}\n{}", self.collection, self.is_per_feature, self.project)
    }

    /// Returns the model whose vectors are stored and looked for, without `:latest`.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Asks the server how it does: that it is a Qdrant new enough, that it takes the key, and whether the collection
    /// is there.
    pub fn check(&self) -> Result<Checked, Trouble> {
        let clock = self.together();
        let about: wire::About = self.server.call("GET", "/", None::<&()>, &clock)?;
        let is_version = |version: &str| {
            let is_known = |character: char| character.is_ascii_alphanumeric() || ".-+".contains(character);
            (1..=40).contains(&version.len()) && version.chars().all(is_known)
        };
        if !about.title.to_lowercase().contains("qdrant") || !is_version(&about.version) {
            return Err(Trouble::Broken("it is no Qdrant server".to_owned()));
        }
        let mut numbers = about.version.split('.').map_while(|part| part.parse::<u32>().ok());
        if let (Some(major), Some(minor)) = (numbers.next(), numbers.next())
            && (major, minor) < OLDEST
        {
            let (at_least, and) = OLDEST;
            return Err(Trouble::Broken(format!(
                "it is Qdrant {}, and {at_least}.{and} is the oldest that will do",
                about.version
            )));
        }
        // The first answer needs no key; this one does.
        let path = format!("{}/exists", path(&self.collection));
        let exists: wire::Exists = self.call(&clock, "GET", &path, None::<&()>)?;
        Ok(Checked { version: about.version, is_prepared: exists.exists })
    }

    /// Makes a call, and returns the answer's result.
    fn call<T: DeserializeOwned>(
        &self,
        clock: &Clock,
        method: &str,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, Trouble> {
        let answer: wire::Answer<T> = self.server.call(method, path, body, clock)?;
        Ok(answer.result)
    }

    /// Lets each call take as long as a call may.
    fn each(&self) -> Clock {
        Clock::each(self.longest)
    }

    /// Lets several calls take as long as one may.
    fn together(&self) -> Clock {
        Clock::together(self.longest)
    }

    /// Returns the collection in which entries of a feature lie.
    fn home(&self, feature: Option<&str>) -> String {
        match feature {
            Some(feature) if self.is_per_feature => collection_of(feature),
            _ => self.collection.clone(),
        }
    }

    /// Returns all collections that can hold points of this project: the one of the settings first, then those of
    /// features by name, where there are such.
    fn collections(&self, clock: &Clock) -> Result<Vec<String>, Trouble> {
        let mut names = vec![self.collection.clone()];
        if self.is_per_feature {
            let there: wire::Collections = self.call(clock, "GET", "/collections", None::<&()>)?;
            let there = there.collections.into_iter().map(|there| there.name);
            let mut features: Vec<String> =
                there.filter(|name| is_of_feature(name) && *name != self.collection).collect();
            features.sort();
            features.dedup();
            if features.len() > MAX_FEATURES {
                return Err(Trouble::Broken(format!(
                    "it has {} collections of features, and at most {MAX_FEATURES} can be looked at one by one: \
                     set `qdrant.collections` to `shared`",
                    features.len()
                )));
            }
            names.append(&mut features);
        }
        Ok(names)
    }

    /// Returns the id of a point: the same from every machine, so that storing it twice stores it once.
    fn point_id(&self, entry: &str, number: u32) -> String {
        let name = match self.project.as_str() {
            "" => format!("{entry}\n{number}"),
            project => format!("{project}\n{entry}\n{number}"),
        };
        Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string()
    }
}

impl Trouble {
    /// Returns whether a Qdrant server says that a collection is not there: `index --remote` makes and fills it.
    pub fn is_missing_collection(&self) -> bool {
        // Something else that listens there has its own way to say that it knows no such path.
        matches!(self, Trouble::Refused { status: 404, message } if message.contains("Collection"))
    }

    /// Returns whether a Qdrant server says that vectors have another number of dimensions than its collection:
    /// another model made it, and only `index --rebuild --remote` mends that.
    pub fn is_wrong_dimension(&self) -> bool {
        matches!(self, Trouble::Refused { status: 400, message } if message.contains("dimension error"))
    }

    /// Returns whether a server wants another key, or any.
    pub fn is_denied(&self) -> bool {
        matches!(self, Trouble::Refused { status: 401 | 403, .. })
    }
}

/// Returns the name of a model without the tag that all have: `all-minilm:latest` is `all-minilm`.
fn bare(model: &str) -> &str {
    model.strip_suffix(":latest").unwrap_or(model)
}

/// Returns the name of a feature's own collection.
fn collection_of(feature: &str) -> String {
    let hash = Sha256::digest(feature.as_bytes());
    let first = hash.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{FEATURE}{first:016x}")
}

/// Returns whether a collection has the name of a feature's own one.
fn is_of_feature(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix(FEATURE).is_some_and(|digits| digits.len() == 16 && digits.bytes().all(is_digit))
}

/// Returns the path of a collection. Its name comes from the settings and can have a `/`.
fn path(collection: &str) -> String {
    let mut path = "/collections/".to_owned();
    for byte in collection.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qdrant(project: &str) -> Qdrant {
        let settings = settings::Qdrant {
            url: "http://127.0.0.1:1".to_owned(),
            api_key: "sesame".to_owned(),
            project: project.to_owned(),
            ..settings::Qdrant::default()
        };
        Qdrant::new(&settings, "nomic-embed-text:latest").unwrap()
    }

    #[test]
    fn without_an_address_there_is_no_server() {
        assert!(Qdrant::new(&settings::Qdrant::default(), "x").is_none());
    }

    #[test]
    fn the_key_is_not_shown() {
        assert!(!format!("{:?}", qdrant("")).contains("sesame"));
    }

    #[test]
    fn a_key_that_others_can_read_is_known() {
        let shows = |url: &str, key: &str| {
            let (url, api_key) = (url.to_owned(), key.to_owned());
            let settings = settings::Qdrant { url, api_key, ..settings::Qdrant::default() };
            Qdrant::new(&settings, "x").unwrap().shows_key()
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
    fn a_model_with_the_tag_that_all_have_is_the_model() {
        assert_eq!(qdrant("").model(), "nomic-embed-text");
        assert_eq!(bare("all-minilm:33m"), "all-minilm:33m");
    }

    #[test]
    fn a_name_stays_one_part_of_a_path() {
        assert_eq!(path("team/../a b?"), "/collections/team%2F..%2Fa%20b%3F");
    }
}
