//! Whatever the material, a context keeps what it promises.
