//! Lists in the cache that only save requests. An unreadable list counts as empty, and a list that cannot be written is
//! computed again.
//!
//! Each line is JSON with the seal of the cache's anchor: lines that came with a repository have no effect.

use std::io::{self, Read as _, Write as _};

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::workspace::Workspace;

/// A list in a file of the cache.
#[derive(Debug, Clone)]
pub(super) struct SealedList {
    name: String,
    /// How many bytes of it are read at most.
    max_bytes: u64,
}

impl SealedList {
    /// Returns the list in a file of the cache, of which no more than this many bytes are read.
    pub(super) fn new(name: String, max_bytes: u64) -> SealedList {
        SealedList { name, max_bytes }
    }

    /// Returns the items that were written here.
    pub(super) fn read<T: DeserializeOwned>(&self, workspace: &Workspace) -> Vec<T> {
        let mut text = String::new();
        if let Ok(file) = workspace.store.open_cache(&self.name) {
            // A file that is not text counts as empty.
            let _ = file.take(self.max_bytes).read_to_string(&mut text);
        }
        let Ok(key) = workspace.store.cache_key() else { return Vec::new() };
        text.lines().filter_map(|line| serde_json::from_str(unsealed(line, key)?).ok()).collect()
    }

    /// Adds items.
    pub(super) fn append<T: Serialize>(&self, workspace: &Workspace, items: &[T]) {
        if !items.is_empty() {
            let append = |bytes: Vec<u8>| workspace.store.append_cache(&self.name)?.write_all(&bytes);
            let _ = sealed(workspace, items).and_then(append);
        }
    }

    /// Makes these items the whole list.
    pub(super) fn replace<T: Serialize>(&self, workspace: &Workspace, items: &[T]) {
        let _ = sealed(workspace, items).and_then(|bytes| workspace.store.write_cache(&self.name, &bytes));
    }

    /// Removes the list.
    pub(super) fn remove(&self, workspace: &Workspace) {
        let _ = workspace.store.remove_cache(&self.name);
    }
}

fn sealed<T: Serialize>(workspace: &Workspace, items: &[T]) -> io::Result<Vec<u8>> {
    let key = workspace.store.make_cache_key()?;
    let mut bytes = Vec::new();
    for item in items {
        let line = serde_json::to_string(item)?;
        writeln!(bytes, "{line}\t{:016x}", sum(&line, key))?;
    }
    Ok(bytes)
}

/// Returns the content of a line if it was written here.
fn unsealed(line: &str, key: u64) -> Option<&str> {
    let (line, end) = line.rsplit_once('\t')?;
    (u64::from_str_radix(end, 16).ok()? == sum(line, key)).then_some(line)
}

fn sum(line: &str, key: u64) -> u64 {
    xxh3_64_with_seed(line.as_bytes(), key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_from_elsewhere_are_recognised() {
        let line = format!("knowledge/a\t0001\t{:016x}", sum("knowledge/a\t0001", 1));
        assert_eq!(unsealed(&line, 1), Some("knowledge/a\t0001"));
        for line in [&line, "knowledge/a\t0001", "", "\t", "x\tzz"] {
            assert_eq!(unsealed(line, 2), None, "{line:?}");
        }
        assert_eq!(unsealed(&line.replace("0001", "0002"), 1), None);
    }
}
