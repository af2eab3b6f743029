//! Names of files that nobody can guess beforehand.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

/// Returns 16 hexadecimal digits.
pub(super) fn random_name() -> String {
    // Its keys come from the system's randomness.
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
