//! Settings of semantic search: how much it counts, and the servers that it requires.

use std::fmt;

use super::CollectionLayout;

/// How much semantic search counts beside words.
///
/// ```
/// use ralph_memory::Memory;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// std::fs::write(root.join(".ralph/config.toml"), "format = 1\nsemantic.weight = 0\n")?;
/// let memory = Memory::open(root)?;
/// assert_eq!(memory.settings().semantic.weight, 0.0, "only words count");
/// assert!(memory.settings().semantic.min_score < 0.0, "it is not set");
/// assert_eq!(memory.min_similarity(), 0.4, "the default of the model");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SemanticSettings {
    /// `semantic.weight`: the share of meaning in a score, from 0 (no request is sent) to 0.99; words have the rest.
    pub weight: f64,
    /// `semantic.min_score`: the minimum cosine of a query and an entry that no word of it finds; below 0 for the
    /// default of the model, which [`Memory::min_similarity`](crate::Memory::min_similarity) returns.
    pub min_score: f64,
    /// `semantic.limit`: how many entries may be found by their meaning alone.
    pub limit: usize,
}

impl Default for SemanticSettings {
    fn default() -> SemanticSettings {
        SemanticSettings { weight: 0.5, min_score: -1.0, limit: 20 }
    }
}

impl super::Settings {
    /// Returns the minimum cosine, from -1 to 1, at which an entry is found by its meaning alone: that of
    /// `semantic.min_score`, else the default of the model.
    pub(crate) fn min_similarity(&self) -> f64 {
        let set = self.semantic.min_score;
        if set < 0.0 { self.ollama.min_score() } else { set }
    }
}

/// The Ollama server that embeds texts.
///
/// ```
/// use ralph_memory::Memory;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// let own = "[ollama]\nurl = \"http://localhost:11434\"\nmodel = \"all-minilm:33m\"\n";
/// let memory = Memory::open_for_user(Some(root), root, Some((own, "config.toml")), [].into_iter())?;
/// let ollama = &memory.settings().ollama;
/// assert_eq!((ollama.url.as_str(), ollama.model.as_str()), ("http://localhost:11434", "all-minilm:33m"));
/// assert_eq!(ollama.query_timeout_ms, 5_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct OllamaSettings {
    /// `ollama.url`: its address, such as `http://localhost:11434`; empty for none, and then only words count.
    ///
    /// There is no default: any program that listens at that port would get the texts of the memory.
    pub url: String,
    /// `ollama.model`: the embedding model.
    pub model: String,
    /// `ollama.check_timeout_ms`: how long connecting and asking for the models may take, in milliseconds.
    pub check_timeout_ms: u64,
    /// `ollama.query_timeout_ms`: how long embedding a query may take; a person waits for the answer.
    pub query_timeout_ms: u64,
    /// `ollama.embed_timeout_ms`: how long embedding a batch of texts may take.
    pub embed_timeout_ms: u64,
}

impl Default for OllamaSettings {
    fn default() -> OllamaSettings {
        OllamaSettings {
            url: String::new(),
            model: "nomic-embed-text".to_owned(),
            check_timeout_ms: 2_000,
            query_timeout_ms: 5_000,
            embed_timeout_ms: 60_000,
        }
    }
}

impl OllamaSettings {
    /// Returns the name of the model without its tag.
    pub(crate) fn family(&self) -> &str {
        let name = self.model.rsplit('/').next().unwrap_or_default();
        name.split(':').next().unwrap_or_default()
    }

    /// Returns the minimum cosine of related texts, by the model: some models give similar vectors for all texts.
    pub(crate) fn min_score(&self) -> f64 {
        match self.family() {
            // Measured: the right answer to a question scored .26, the next .07.
            "all-minilm" => 0.15,
            // The seeds' value, for `nomic-embed-text`.
            _ => 0.4,
        }
    }
}

/// The Qdrant server on which a team shares vectors.
///
/// ```
/// use ralph_memory::settings::QdrantSettings;
/// let url = "https://qdrant.example".to_owned();
/// let qdrant = QdrantSettings { url, api_key: "sesame".into(), ..QdrantSettings::default() };
/// assert_eq!((qdrant.collection.as_str(), qdrant.timeout_ms), ("ralph-memory", 5_000));
/// assert!(!format!("{qdrant:?}").contains("sesame"), "the key reaches no log");
/// ```
#[derive(Clone, PartialEq)]
pub struct QdrantSettings {
    /// `qdrant.url`: its address; empty for none, and then vectors stay on this machine.
    pub url: String,
    /// `qdrant.api_key`: the key that it requires, if any.
    pub api_key: String,
    /// `qdrant.collections`: one collection for all features, or one for each.
    pub collections: CollectionLayout,
    /// `qdrant.collection`: the name of the one for all.
    pub collection: String,
    /// `qdrant.project`: the name that distinguishes this project's entries from others on the same server; the default
    /// is the name of the folder that holds `.ralph/`.
    pub project: String,
    /// `qdrant.timeout_ms`: how long a request may take, in milliseconds.
    pub timeout_ms: u64,
    /// `qdrant.m`: how many neighbours a vector has in the search graph.
    pub m: u32,
    /// `qdrant.ef_construct`: how many vectors are considered for these neighbours.
    pub ef_construct: u32,
    /// `qdrant.on_disk`: whether vectors and graph are kept on disk instead of in memory.
    pub on_disk: bool,
    /// `qdrant.hnsw_ef`: how many vectors a search considers.
    pub hnsw_ef: u32,
}

impl Default for QdrantSettings {
    fn default() -> QdrantSettings {
        QdrantSettings {
            url: String::new(),
            api_key: String::new(),
            collections: CollectionLayout::default(),
            collection: "ralph-memory".to_owned(),
            project: String::new(),
            timeout_ms: 5_000,
            m: 64,
            ef_construct: 512,
            on_disk: true,
            hnsw_ef: 128,
        }
    }
}

impl fmt::Debug for QdrantSettings {
    /// Shows all but the key, which must not appear in a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QdrantSettings {
            url,
            api_key,
            collections,
            collection,
            project,
            timeout_ms,
            m,
            ef_construct,
            on_disk,
            hnsw_ef,
        } = self;
        let api_key = if api_key.is_empty() { "" } else { "(key)" };
        formatter
            .debug_struct("Qdrant")
            .field("url", url)
            .field("api_key", &api_key)
            .field("collections", collections)
            .field("collection", collection)
            .field("project", project)
            .field("timeout_ms", timeout_ms)
            .field("m", m)
            .field("ef_construct", ef_construct)
            .field("on_disk", on_disk)
            .field("hnsw_ef", hnsw_ef)
            .finish()
    }
}

/// Returns whether a text is the address of a server: a scheme and a host, no user, no query.
pub(super) fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        let is_plain = |character: char| character.is_ascii_graphic() && !"@?#\\\"<>`{|}".contains(character);
        !host.is_empty() && !host.starts_with(':') && rest.chars().all(is_plain)
    })
}
