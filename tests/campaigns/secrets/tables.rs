//! The templates of secrets and of what only looks like one. They are in files of TOML, which `template.rs` explains.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;

pub(crate) static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables {
    services: table(include_str!("services.toml"), "services"),
    shapes: toml::from_str(include_str!("shapes.toml")).unwrap(),
    decoys: toml::from_str(include_str!("decoys.toml")).unwrap(),
    harmless: table(include_str!("harmless.toml"), "harmless"),
    carriers: toml::from_str(include_str!("carriers.toml")).unwrap(),
});

pub(crate) struct Tables {
    /// Tokens that a template describes; those with checksums or structure are in `kinds`.
    pub(crate) services: Vec<Service>,
    pub(crate) shapes: Shapes,
    pub(crate) decoys: Decoys,
    /// Texts that look like a secret and are none.
    pub(crate) harmless: Vec<String>,
    /// Lines for secrets, by carrier and shape.
    pub(crate) carriers: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

fn table<Row: DeserializeOwned>(text: &str, name: &str) -> Vec<Row> {
    let mut file: toml::Table = toml::from_str(text).unwrap();
    file.remove(name).unwrap().try_into().unwrap()
}

/// A kind of token. The last field says whether the value alone is not recognisable, so that its name is always beside it.
#[derive(Debug, Deserialize)]
pub(crate) struct Service {
    pub(crate) kind: String,
    pub(crate) weight: usize,
    pub(crate) owner: String,
    pub(crate) names: Vec<String>,
    pub(crate) values: Vec<String>,
    pub(crate) needs_name: bool,
}

/// Shapes of secrets: where each is described, and a template of a text with the secret between `⟦` and `⟧`.
#[derive(Deserialize)]
pub(crate) struct Shapes {
    pub(crate) known: Vec<(String, String)>,
    pub(crate) held_out: Vec<(String, String)>,
    /// Whole commands, files and statements, each with its kind.
    pub(crate) habits: Vec<(String, String)>,
}

#[derive(Deserialize)]
pub(crate) struct Decoys {
    pub(crate) lines: Vec<String>,
    pub(crate) sentences: Vec<String>,
    pub(crate) paragraphs: Vec<String>,
    pub(crate) tongues: Vec<String>,
}
