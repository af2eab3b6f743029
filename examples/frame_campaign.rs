//! Random lines for the server of agents, and a line of 100 MB: `cargo run --release --example frame_campaign -- FRAMES SEED`, 100,000 and 1 by
//! default. The program is the one beside this example; build it first.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed campaign")]
#![allow(dead_code, reason = "of what the campaigns share it needs only a part")]

use std::error::Error;
use std::io::Write as _;
use std::process::Command;
use std::time::Instant;

#[path = "../tests/campaigns/agent.rs"]
mod agent;
#[path = "../tests/campaigns/beside.rs"]
mod beside;
#[path = "../tests/campaigns/frames.rs"]
mod frames;
#[path = "../tests/campaigns/random.rs"]
mod random;

/// How many lines one server gets.
const PER_SERVER: usize = 2_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let n_frames: usize = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let program = beside::program()?;
    let folder = tempfile::tempdir()?;
    ralph_memory::Memory::init(folder.path())?;
    let entry = "---\ntitle: \"WAL mode\"\ntags: [sqlite]\nfeature: db\n---\n\nReaders go on.\n";
    std::fs::write(folder.path().join(".ralph/knowledge/wal-mode.md"), entry)?;
    let command = || {
        let mut command = Command::new(&program);
        command.arg("mcp").current_dir(folder.path()).env_clear().env("HOME", folder.path());
        command
    };
    let mut out = std::io::stdout();
    let mut one = agent::Agent::greeted(command());
    one.write(&vec![b'x'; 100 << 20]);
    let answer = one.next();
    writeln!(out, "a line of 100 MB: {answer}")?;
    #[cfg(target_os = "linux")]
    writeln!(out, "its server had {} MB at most", one.peak_memory() >> 20)?;
    drop(one);
    let begun = Instant::now();
    let outcome = frames::run(&command, n_frames, PER_SERVER, seed);
    writeln!(out, "{outcome:?}, seed {seed}, in {:.0} s", begun.elapsed().as_secs_f64())?;
    Ok(())
}
