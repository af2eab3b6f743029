//! See `tests/campaigns/fuzz.rs`.
#![no_main]
#![allow(dead_code, reason = "each target calls one of them")]

#[path = "../../campaigns/fuzz.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::transcripts(data));
