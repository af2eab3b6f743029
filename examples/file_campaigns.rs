//! What happens to files, as often as one likes: clocks that lie, damage to cache and state, full disks, and names
//! that lead elsewhere. `cargo run --release --example file_campaigns -- NAME SIZE SEED`, with NAME one of
//! `clocks` (1,000 edits by default), `corruption` (1,000 damages), `full-disk` (200 fills) and `paths`
//! (100,000 names). The seed is 1 by default. The program is the one beside this example; build it first.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed campaign")]
#![allow(dead_code, reason = "of what the campaigns share it needs only a part")]

use std::error::Error;
use std::io::Write as _;
use std::time::Instant;

#[path = "../tests/campaigns/clocks.rs"]
mod clocks;
#[path = "../tests/campaigns/corruption.rs"]
mod corruption;
#[path = "../tests/campaigns/full_disk.rs"]
mod full_disk;
#[path = "../tests/campaigns/program.rs"]
mod program;
#[path = "../tests/campaigns/random.rs"]
mod random;

const USAGE: &str = "usage: file_campaigns clocks|corruption|full-disk|paths [SIZE [SEED]]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    let default = match name {
        "clocks" | "corruption" => 1_000,
        "full-disk" => 200,
        "paths" => 100_000,
        _ => return Err(USAGE.into()),
    };
    let size: usize = arguments.get(1).map_or(Ok(default), |text| text.parse())?;
    let seed: u64 = arguments.get(2).map_or(Ok(1), |text| text.parse())?;
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(|folder| folder.parent()).ok_or("no folder of programs")?;
    let program = folder.join("ralph-memory");
    if !program.exists() {
        return Err(format!("there is no {}: `cargo build --release` makes it", program.display()).into());
    }
    let mut out = std::io::stdout();
    let begin = Instant::now();
    let outcome = if name == "full-disk" {
        let Some(place) = full_disk::own_disk(&[name, &size.to_string(), &seed.to_string()]) else { return Ok(()) };
        writeln!(out, "{name}, size {size}, seed {seed}")?;
        let outcome = full_disk::run(&place, &program, size, seed);
        full_disk::got_there(&place);
        format!("{outcome:?}")
    } else {
        writeln!(out, "{name}, size {size}, seed {seed}")?;
        let place = tempfile::tempdir()?;
        match name {
            "clocks" => format!("{:?}", clocks::run(place.path(), &program, size, seed)),
            "corruption" => format!("{:?}", corruption::run(place.path(), &program, size, seed)),
            _ => String::new(),
        }
    };
    writeln!(out, "all held in {:.0} s: {outcome}", begin.elapsed().as_secs_f64())?;
    Ok(())
}
