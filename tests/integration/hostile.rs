//! What is kept for the fuzzer is read without harm.

use std::fs;
use std::path::Path;

use crate::fuzz::TARGETS;

#[test]
fn saved_inputs_of_the_fuzzer_do_no_harm() {
    for (name, check) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fuzz").join(name);
        let mut inputs: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        assert!(inputs.len() >= 6, "{}", folder.display());
        for input in inputs {
            let bytes = fs::read(&input).unwrap();
            let outcome = std::panic::catch_unwind(|| check(&bytes));
            assert!(outcome.is_ok(), "{}", input.display());
        }
    }
}
