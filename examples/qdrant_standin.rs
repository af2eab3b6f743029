//! Serves the Qdrant server of the tests, so that a ranking with a shared index can be measured where no Qdrant is installed.
//!
//! `cargo run --release --example qdrant_standin` prints its address, which is one of this machine alone, and goes on until its standard
//! input ends. It compares every vector, keeps them in memory, and answers as a Qdrant 1.18 was seen to; it is no database.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed call")]
#![allow(dead_code, reason = "of what the tests use it needs only a part")]

use std::io::{self, Read as _, Write as _};

#[path = "../tests/integration/standin/mod.rs"]
mod standin;

fn main() -> io::Result<()> {
    let server = standin::qdrant::Standin::start(None);
    writeln!(io::stdout(), "{}", server.url)?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
