//! Common parts of the tests of tidying.

use tempfile::TempDir;

use crate::memory::Memory;

/// Returns a memory with pairs of similar learnings, each pair of a feature of its own.
pub(super) fn with_pairs(n_pairs: usize) -> (TempDir, Memory) {
    let folder = tempfile::tempdir().unwrap();
    Memory::init(folder.path()).unwrap();
    let config = "format = 1\n[maintenance]\nlearnings = 1\n";
    std::fs::write(folder.path().join(".ralph/config.toml"), config).unwrap();
    for pair in 0..n_pairs {
        for (name, day) in [("old", 1), ("new", 2)] {
            let text = format!(
                "---\ntitle: {name} {pair}\ntags: [a]\ncategory: pitfall\nsource: agent\nfeature: f{pair}\ncreated_at: 2026-01-0{day}\n---\n\nFact {name} {pair}.\n"
            );
            std::fs::write(folder.path().join(format!(".ralph/knowledge/{name}-{pair}.md")), text).unwrap();
        }
    }
    let memory = Memory::open(folder.path()).unwrap().with_lock_timeout(std::time::Duration::ZERO);
    (folder, memory)
}
