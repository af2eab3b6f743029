//! Vectors of texts, from an Ollama server.
//!
//! It checks that the server returns vectors, and normalises them to length 1. It does not know entries.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::http::{JsonServer, RequestError, TimeLimit};
use crate::settings;

/// How many texts are sent at once: a batch must be done within the time-out on a CPU, too.
pub(crate) const BATCH: usize = 16;
/// The least time-outs of checking the server and of a batch of texts.
const CHECK: Duration = Duration::from_secs(2);
const EMBED: Duration = Duration::from_secs(60);
/// How many words of a query are sent: more than any model reads.
const QUERY_WORDS: usize = 400;
/// The longest word of a query that is sent, in bytes.
const MAX_WORD: usize = 200;
/// The most dimensions that a vector may have.
const MAX_DIMENSIONS: usize = 8_192;

/// An Ollama server, and the embedding model in use. Creating one sends no request.
#[derive(Debug, Clone)]
pub(crate) struct OllamaClient {
    server: JsonServer,
    model: String,
    prefixes: Prefixes,
    check: Duration,
    query: Duration,
    embed: Duration,
}

/// How long requests may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeouts {
    /// During another call: all requests together take no longer than a query may.
    Query,
    /// In a call for vectors: each request may take as long as a batch may.
    Batch,
}

/// The prefixes that a model expects before texts; the server adds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prefixes {
    query: &'static str,
    document: &'static str,
}

impl Prefixes {
    /// Returns the prefixes from the models' own descriptions.
    fn of(family: &str) -> Prefixes {
        match family {
            "nomic-embed-text" => Prefixes { query: "search_query: ", document: "search_document: " },
            "mxbai-embed-large" => {
                Prefixes { query: "Represent this sentence for searching relevant passages: ", document: "" }
            }
            _ => Prefixes { query: "", document: "" },
        }
    }
}

#[derive(Serialize)]
struct EmbedRequest<'a> {
    model: &'a str,
    input: Vec<String>,
}

#[derive(Deserialize)]
struct EmbedResponse {
    #[serde(default)]
    embeddings: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct TagsResponse {
    #[serde(default)]
    models: Vec<TaggedModel>,
}

#[derive(Deserialize)]
struct TaggedModel {
    #[serde(default)]
    name: String,
}

impl OllamaClient {
    /// Returns the client of the server that the settings name, if any.
    pub(crate) fn new(settings: &settings::OllamaSettings) -> Option<OllamaClient> {
        let model =
            if settings.model.is_empty() { settings::OllamaSettings::default().model } else { settings.model.clone() };
        let family = settings::OllamaSettings { model: model.clone(), ..settings.clone() }.family().to_owned();
        let query = Duration::from_millis(settings.timeout_ms);
        (!settings.url.is_empty()).then(|| OllamaClient {
            server: JsonServer::new(settings.url.trim_end_matches('/'), None),
            model,
            prefixes: Prefixes::of(&family),
            check: query.max(CHECK),
            query,
            embed: query.max(EMBED),
        })
    }

    /// Returns its address.
    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }

    /// Returns the name of the model, as the settings give it.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// Checks that the server has the model. Names have a tag there, `latest` by default.
    ///
    /// # Errors
    ///
    /// Those of the request; [`RequestError::Refused`] with 404 where the server has no such model.
    pub(crate) fn check(&self) -> Result<(), RequestError> {
        let tags: TagsResponse = self.server.call("GET", "/api/tags", None::<&()>, &TimeLimit::each(self.check))?;
        if tags.models.iter().any(|model| full_name(&model.name) == full_name(&self.model)) {
            return Ok(());
        }
        Err(RequestError::Refused { status: 404, message: format!("model \"{}\" not found", self.model) })
    }

    /// Returns the vector of a query, of length 1.
    ///
    /// # Errors
    ///
    /// Those of the request, and [`RequestError::Broken`] where the response is not a vector.
    pub(crate) fn embed_query(&self, text: &str) -> Result<Vec<f32>, RequestError> {
        let words = text.split_whitespace().filter(|word| word.len() <= MAX_WORD);
        let words: Vec<&str> = words.take(QUERY_WORDS).collect();
        let text = format!("{}{}", self.prefixes.query, words.join(" "));
        let mut vectors = self.embed(vec![text], &TimeLimit::each(self.query))?;
        vectors.pop().ok_or_else(|| RequestError::Broken("it has no vector".to_owned()))
    }

    /// Returns the vectors of texts, each of length 1, in their order. Callers send no more than
    /// [`BATCH`] at once.
    ///
    /// # Errors
    ///
    /// Those of [`OllamaClient::embed_query`].
    pub(crate) fn embed_documents(&self, texts: &[String], limit: &TimeLimit) -> Result<Vec<Vec<f32>>, RequestError> {
        self.embed(texts.iter().map(|text| format!("{}{text}", self.prefixes.document)).collect(), limit)
    }

    /// Returns the vector of one text.
    ///
    /// # Errors
    ///
    /// Those of [`OllamaClient::embed_query`].
    pub(crate) fn embed_document(&self, text: &str, limit: &TimeLimit) -> Result<Vec<f32>, RequestError> {
        let mut vectors = self.embed_documents(&[text.to_owned()], limit)?;
        vectors.pop().ok_or_else(|| RequestError::Broken("it has no vector".to_owned()))
    }

    /// Returns how long requests for documents may take.
    pub(crate) fn time_limit(&self, timeouts: Timeouts) -> TimeLimit {
        match timeouts {
            Timeouts::Query => TimeLimit::together(self.query),
            Timeouts::Batch => TimeLimit::each(self.embed),
        }
    }

    fn embed(&self, input: Vec<String>, limit: &TimeLimit) -> Result<Vec<Vec<f32>>, RequestError> {
        let n = input.len();
        let asked = EmbedRequest { model: &self.model, input };
        let answer: EmbedResponse = self.server.call("POST", "/api/embed", Some(&asked), limit)?;
        let broken = |reason: String| Err(RequestError::Broken(reason));
        if answer.embeddings.len() != n {
            return broken(format!("it has {} vectors for {n} texts", answer.embeddings.len()));
        }
        let dimensions = answer.embeddings.first().map_or(0, Vec::len);
        if answer.embeddings.iter().any(|vector| vector.len() != dimensions) {
            return broken("its vectors have different dimensions".to_owned());
        }
        if n > 0 && !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return broken(format!("its vectors have {dimensions} dimensions"));
        }
        let normalized: Option<Vec<Vec<f32>>> = answer.embeddings.into_iter().map(normalized).collect();
        normalized.ok_or_else(|| RequestError::Broken("a vector has no length, or is not finite".to_owned()))
    }
}

/// Returns the vector of length 1 in the same direction, if it has a direction.
fn normalized(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    if !length.is_finite() || length < 1e-12 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a factor for numbers of 24 bits")]
    let factor = (1.0 / length) as f32;
    for value in &mut vector {
        *value *= factor;
    }
    Some(vector)
}

/// Returns the name with its tag.
pub(super) fn full_name(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or_default();
    if name.contains(':') { model.to_owned() } else { format!("{model}:latest") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_a_tag() {
        assert_eq!(full_name("nomic-embed-text"), "nomic-embed-text:latest");
        assert_eq!(full_name("nomic-embed-text:v1.5"), "nomic-embed-text:v1.5");
        assert_eq!(full_name("hf.co:8080/me/model"), "hf.co:8080/me/model:latest");
    }

    #[test]
    fn models_have_their_prefixes() {
        let of = |model: &str| {
            let settings =
                settings::OllamaSettings { url: "http://x".to_owned(), model: model.to_owned(), ..Default::default() };
            OllamaClient::new(&settings).unwrap().prefixes
        };
        assert_eq!(of("nomic-embed-text:v1.5").query, "search_query: ");
        assert_eq!(of("someone/nomic-embed-text").document, "search_document: ");
        assert_eq!(of("").query, "search_query: ");
        assert_eq!(of("all-minilm").query, "");
        assert!(OllamaClient::new(&settings::OllamaSettings::default()).is_none());
    }

    #[test]
    fn vectors_have_length_1() {
        assert_eq!(normalized(vec![3.0, 4.0]), Some(vec![0.6, 0.8]));
        assert_eq!(normalized(vec![0.0, 0.0]), None);
        assert_eq!(normalized(vec![f32::NAN, 1.0]), None);
        assert_eq!(normalized(vec![f32::MAX, f32::MAX]).map(|vector| vector[0] > 0.7), Some(true));
    }
}
