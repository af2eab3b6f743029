//! Vectors of texts, from an Ollama server.
//!
//! It checks that the server returns vectors, and normalises them to length 1. It does not know entries.

use serde_json::{Value, json};

use super::http::{JsonServer, RequestError, TimeLimit, Timeouts, take};
use crate::settings;

/// How many texts are sent at once. Even on a CPU, a batch must be done within the time-out.
pub(crate) const BATCH: usize = 16;
/// The shortest time-outs for checking the server and for a batch of texts, in milliseconds.
const CHECK: u64 = 2_000;
const EMBED: u64 = 60_000;
/// How many words of a query are sent, which is more than any model reads.
const QUERY_WORDS: usize = 400;
/// The longest word of a query that is sent, in bytes.
const MAX_WORD: usize = 200;
/// The most dimensions that a vector may have.
const MAX_DIMENSIONS: usize = 8_192;

/// An Ollama server, and the embedding model in use. Creating one sends no request.
#[derive(Debug, Clone)]
pub(crate) struct OllamaClient {
    server: JsonServer,
    settings: settings::OllamaSettings,
}

impl OllamaClient {
    /// Returns the client of the server that the settings name, if any.
    pub(crate) fn new(settings: &settings::OllamaSettings) -> Option<OllamaClient> {
        let mut settings = settings.clone();
        if settings.model.is_empty() {
            settings.model = settings::OllamaSettings::default().model;
        }
        let server = (!settings.url.is_empty()).then(|| JsonServer::new(&settings.url, None))?;
        Some(OllamaClient { server, settings })
    }

    /// Returns its address.
    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }

    /// Returns the name of the model, as the settings give it.
    pub(crate) fn model(&self) -> &str {
        &self.settings.model
    }

    /// Checks that the server has the model. Names have a tag there, `latest` by default.
    ///
    /// # Errors
    ///
    /// Those of the request; [`RequestError::Refused`] with 404 where the server has no such model.
    pub(crate) fn check(&self) -> Result<(), RequestError> {
        let limit = TimeLimit::new(self.settings.timeout_ms.max(CHECK), Timeouts::Query);
        let tags = self.server.call("GET", "/api/tags", &Value::Null, &limit)?;
        let model = self.model();
        let mut names = tags["models"].as_array().into_iter().flatten().filter_map(|model| model["name"].as_str());
        if names.any(|name| full_name(name) == full_name(model)) {
            return Ok(());
        }
        Err(RequestError::Refused { status: 404, message: format!("model \"{model}\" not found") })
    }

    /// Returns the vector of a query, of length 1.
    ///
    /// # Errors
    ///
    /// Those of the request, and [`RequestError::Broken`] where the response is not a vector.
    pub(crate) fn embed_query(&self, text: &str) -> Result<Vec<f32>, RequestError> {
        let words = text.split_whitespace().filter(|word| word.len() <= MAX_WORD);
        let words: Vec<&str> = words.take(QUERY_WORDS).collect();
        let [prefix, _] = prefixes(self.settings.family());
        Ok(self.embed(prefix, &[words.join(" ").as_str()], &self.time_limit(Timeouts::Query))?.swap_remove(0))
    }

    /// Returns the vectors of texts, each of length 1, in their order. Callers send no more than
    /// [`BATCH`] at once.
    ///
    /// # Errors
    ///
    /// Those of [`OllamaClient::embed_query`].
    pub(crate) fn embed_documents(&self, texts: &[&str], limit: &TimeLimit) -> Result<Vec<Vec<f32>>, RequestError> {
        let [_, prefix] = prefixes(self.settings.family());
        self.embed(prefix, texts, limit)
    }

    /// Returns the vector of one text.
    ///
    /// # Errors
    ///
    /// Those of [`OllamaClient::embed_query`].
    pub(crate) fn embed_document(&self, text: &str, limit: &TimeLimit) -> Result<Vec<f32>, RequestError> {
        Ok(self.embed_documents(&[text], limit)?.swap_remove(0))
    }

    /// Returns how long requests may take.
    pub(crate) fn time_limit(&self, timeouts: Timeouts) -> TimeLimit {
        let milliseconds = match timeouts {
            Timeouts::Query => self.settings.timeout_ms,
            Timeouts::Batch => self.settings.timeout_ms.max(EMBED),
        };
        TimeLimit::new(milliseconds, timeouts)
    }

    /// Returns as many vectors as there are texts.
    fn embed(&self, prefix: &str, texts: &[&str], limit: &TimeLimit) -> Result<Vec<Vec<f32>>, RequestError> {
        let input: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let body = json!({ "model": self.model(), "input": input });
        let vectors: Vec<Vec<f32>> = take(&mut self.server.call("POST", "/api/embed", &body, limit)?, "embeddings")?;
        let broken = |reason: String| Err(RequestError::Broken(reason));
        if vectors.len() != texts.len() {
            return broken(format!("it has {} vectors for {} texts", vectors.len(), texts.len()));
        }
        let dimensions = vectors.first().map_or(0, Vec::len);
        if vectors.iter().any(|vector| vector.len() != dimensions) {
            return broken("its vectors have different dimensions".to_owned());
        }
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return broken(format!("its vectors have {dimensions} dimensions"));
        }
        let normalized: Option<Vec<Vec<f32>>> = vectors.into_iter().map(normalized).collect();
        normalized.ok_or_else(|| RequestError::Broken("a vector has no length, or is not finite".to_owned()))
    }
}

/// Returns what a model expects before queries and before other texts, from its own description; the server adds nothing.
fn prefixes(family: &str) -> [&'static str; 2] {
    match family {
        "nomic-embed-text" => ["search_query: ", "search_document: "],
        "mxbai-embed-large" => ["Represent this sentence for searching relevant passages: ", ""],
        _ => [""; 2],
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
            prefixes(OllamaClient::new(&settings).unwrap().settings.family())
        };
        assert_eq!(of("nomic-embed-text:v1.5")[0], "search_query: ");
        assert_eq!(of("someone/nomic-embed-text")[1], "search_document: ");
        assert_eq!(of("")[0], "search_query: ");
        assert_eq!(of("all-minilm")[0], "");
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
