//! Stands in for an Ollama server, as its source says that it answers. Its model knows a few words that mean the same,
//! and nothing else: texts are as near to each other as they share such words.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::http::{Call, Knobs, Reply, Server};

/// Words in one row have the same meaning.
const MEANINGS: [&[&str]; 4] = [
    &["slow", "performance", "speed", "benchmark", "bench", "latency"],
    &["database", "sqlite", "storage", "persistence"],
    &["login", "authentication", "password", "credentials"],
    &["crash", "panic", "abort", "segfault"],
];

/// A running server. It ends when this is dropped.
pub(crate) struct Standin {
    pub(crate) url: String,
    /// How it fails.
    pub(crate) knobs: Arc<Knobs>,
    pub(crate) state: Arc<Mutex<State>>,
    _server: Server,
}

/// Its state, and the requests that it got.
pub(crate) struct State {
    pub(crate) models: Vec<String>,
    pub(crate) dimensions: usize,
    /// Whether it is another model of the same name.
    pub(crate) turned: bool,
    /// A text with this word in it is answered with 400.
    pub(crate) poison: Option<String>,
    /// Every text that it was sent, but for those that it refused.
    pub(crate) texts: Vec<String>,
}

impl Standin {
    pub(crate) fn start() -> Standin {
        let knobs = Arc::new(Knobs::default());
        let state = Arc::new(Mutex::new(State {
            models: vec!["nomic-embed-text:latest".to_owned(), "all-minilm:latest".to_owned()],
            dimensions: 96,
            turned: false,
            poison: None,
            texts: Vec::new(),
        }));
        let server = Server::start(None, Arc::clone(&knobs), {
            let state = Arc::clone(&state);
            move |call| answer(&mut state.lock().unwrap(), call)
        });
        Standin { url: server.url.clone(), knobs, state, _server: server }
    }

    /// Returns the texts that it was sent since this was last asked.
    pub(crate) fn texts(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().texts)
    }
}

fn reply(status: u16, body: &Value) -> Reply {
    Reply { status, body: body.to_string().into_bytes() }
}

fn answer(state: &mut State, call: &Call) -> Reply {
    match (call.method.as_str(), call.path.as_str()) {
        ("GET", "/api/tags") => {
            let model = |name: &String| json!({"name": name, "model": name, "size": 274_302_450, "remote_host": ""});
            reply(200, &json!({"models": state.models.iter().map(model).collect::<Vec<_>>()}))
        }
        ("POST", "/api/embed") => {
            embed(state, &call.body).unwrap_or_else(|(status, error)| reply(status, &json!({ "error": error })))
        }
        _ => Reply { status: 404, body: b"404 page not found".to_vec() },
    }
}

fn embed(state: &mut State, body: &[u8]) -> Result<Reply, (u16, String)> {
    let asked: Value = serde_json::from_slice(body).map_err(|_| (400, "missing request body".to_owned()))?;
    let model = asked["model"].as_str().filter(|model| !model.is_empty());
    let model = model.ok_or_else(|| (400, "invalid model name".to_owned()))?;
    let full = if model.contains(':') { model.to_owned() } else { format!("{model}:latest") };
    if !state.models.contains(&full) {
        return Err((404, format!("model \"{model}\" not found, try pulling it first")));
    }
    let texts: Vec<String> =
        serde_json::from_value(asked["input"].clone()).map_err(|_| (400, "invalid input type".to_owned()))?;
    if let Some(poison) = &state.poison
        && texts.iter().any(|text| text.contains(poison))
    {
        return Err((400, "the input length exceeds the context length".to_owned()));
    }
    let mut vectors: Vec<Vec<f64>> = texts.iter().map(|text| vector(text, state.dimensions)).collect();
    if state.turned {
        for vector in &mut vectors {
            vector.reverse();
        }
    }
    state.texts.extend(texts);
    Ok(reply(200, &json!({"model": model, "embeddings": vectors, "total_duration": 1})))
}

/// Returns the vector of a text: one number for each meaning, and few for other words.
pub(crate) fn vector(text: &str, dimensions: usize) -> Vec<f64> {
    let bare = ["search_query: ", "search_document: "].iter().find_map(|prefix| text.strip_prefix(prefix));
    let mut counts: BTreeMap<usize, f64> = BTreeMap::new();
    let words = bare.unwrap_or(text).split(|character: char| !character.is_alphanumeric());
    for word in words.map(str::to_lowercase).filter(|word| !word.is_empty()) {
        let (at, weight) = match MEANINGS.iter().position(|row| row.contains(&word.as_str())) {
            Some(row) => (row, 1.0),
            None => {
                (MEANINGS.len() + word.bytes().map(usize::from).sum::<usize>() % (dimensions - MEANINGS.len()), 0.1)
            }
        };
        *counts.entry(at).or_default() += weight;
    }
    let mut vector = vec![0.0; dimensions];
    for (at, count) in counts {
        vector[at] = count;
    }
    if vector.iter().all(|value| *value == 0.0) {
        vector[dimensions - 1] = 1.0;
    }
    let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    vector.iter().map(|value| value / length).collect()
}
