//! The lock file holds only what `deny.toml` allows: none of the banned crates, and nothing from elsewhere than its registries. `cargo deny` checks
//! licences too, where it is installed.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

fn read(name: &str) -> Table {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap().parse().unwrap()
}

fn texts<'a>(values: &'a Value, key: &str) -> Vec<&'a str> {
    let text = |value: &'a Value| value.get(key).unwrap_or(value).as_str().unwrap();
    values.as_array().unwrap().iter().map(text).collect()
}

#[test]
fn the_lock_file_has_only_allowed_crates_and_sources() {
    let (rules, lock) = (read("deny.toml"), read("Cargo.lock"));
    let banned = texts(&rules["bans"]["deny"], "crate");
    let registries = texts(&rules["sources"]["allow-registry"], "");
    assert!(banned.contains(&"openssl-sys") && registries.len() == 1, "{banned:?}, {registries:?}");
    let packages = lock["package"].as_array().unwrap();
    assert!(packages.len() > 100, "{}", packages.len());
    for package in packages {
        let name = package["name"].as_str().unwrap();
        assert!(!banned.contains(&name), "{name} is banned by deny.toml");
        let source = package.get("source").map(|source| source.as_str().unwrap());
        let is_allowed = source.is_none_or(|source| registries.contains(&source.trim_start_matches("registry+")));
        assert!(is_allowed && (source.is_some() || name == "ralph-memory"), "{name} comes from {source:?}");
    }
}
