//! Merges two clones of a memory at random, over and over, with the merge driver on, and checks that nothing is
//! lost: `cargo run --release --example merge_campaign -- MERGES SEED`, a thousand and 1 by default. The program
//! is the one beside this example; build it first.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed campaign")]

use std::error::Error;
use std::io::Write as _;
use std::time::Instant;

#[path = "../tests/campaigns/beside.rs"]
mod beside;
#[path = "../tests/campaigns/merges.rs"]
mod merges;
#[path = "../tests/campaigns/random.rs"]
mod random;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let merges: usize = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let program = beside::program()?;
    let mut out = std::io::stdout();
    let place = std::env::temp_dir().join(format!("ralph-merges-{}", std::process::id()));
    std::fs::create_dir_all(&place)?;
    writeln!(out, "{merges} merges, seed {seed}")?;
    let begin = Instant::now();
    let outcome = merges::run(&place, &program, merges, seed);
    writeln!(
        out,
        "{} merges in {:.0} s: nothing lost; {} with a conflict in a body, {} values in comments, {} entries apart",
        outcome.merges,
        begin.elapsed().as_secs_f64(),
        outcome.conflicts,
        outcome.comments,
        outcome.apart
    )?;
    std::fs::remove_dir_all(&place)?;
    Ok(())
}
