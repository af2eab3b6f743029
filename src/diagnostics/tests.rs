//! A memory for the tests of this module.

use std::fs;

use crate::memory::Memory;

/// Creates a memory with these files below `.ralph/`.
pub(super) fn memory(files: &[(&str, &str)]) -> (tempfile::TempDir, Memory) {
    let folder = tempfile::tempdir().unwrap();
    Memory::init(folder.path()).unwrap();
    for (path, text) in files {
        let path = folder.path().join(".ralph").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let memory = Memory::open(folder.path()).unwrap();
    (folder, memory)
}
