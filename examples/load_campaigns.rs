//! Kills, crowds, storms and editors' saves, as often as one likes: `cargo run --release --example load_campaigns -- NAME SIZE SEED`, with NAME one of
//! `kill-entries` (10,000 kills by default) and `kill-commits` (5,000), `writers` (2,000 entries for each of 8), `editors` and `nine-editors`
//! (500 edits each), `storms` (20 of each, with 30,000 files; a word behind the seed picks those whose name begins with it) and `saves` (200 in each way). The seed is 1 by default. The program is the one beside this
//! example; build it first.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed campaign")]
#![allow(dead_code, reason = "of what the campaigns share it needs only a part")]

use std::error::Error;
use std::io::Write as _;
use std::time::{Duration, Instant};

#[path = "../tests/campaigns/beside.rs"]
mod beside;
#[path = "../tests/campaigns/crowds.rs"]
mod crowds;
#[path = "../tests/campaigns/kills.rs"]
mod kills;
#[path = "../tests/campaigns/program.rs"]
mod program;
#[path = "../tests/campaigns/random.rs"]
mod random;
#[path = "../tests/campaigns/saves.rs"]
mod saves;
#[path = "../tests/campaigns/storms.rs"]
mod storms;

const USAGE: &str =
    "usage: load_campaigns kill-entries|kill-commits|writers|editors|nine-editors|storms|saves [SIZE [SEED [STORM]]]";
/// How many files a storm has.
const STORM: usize = 30_000;
/// How long after a storm a watcher may take.
const SOON: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    let default = match name {
        "kill-entries" => 10_000,
        "kill-commits" => 5_000,
        "writers" => 2_000,
        "editors" | "nine-editors" => 500,
        "storms" => 20,
        "saves" => 200,
        _ => return Err(USAGE.into()),
    };
    let size: usize = arguments.get(1).map_or(Ok(default), |text| text.parse())?;
    let seed: u64 = arguments.get(2).map_or(Ok(1), |text| text.parse())?;
    let only = arguments.get(3).map_or("", String::as_str);
    let program = beside::program()?;
    let folder = tempfile::tempdir()?;
    // It may be built anew meanwhile.
    let copy = folder.path().join("ralph-memory");
    std::fs::copy(program, &copy)?;
    let mut out = std::io::stdout();
    writeln!(out, "{name}: {size}, seed {seed}")?;
    let begun = Instant::now();
    let place = folder.path();
    let outcome = match name {
        "kill-entries" => format!("{:?}", kills::entries(place, &copy, size, seed)),
        "kill-commits" => format!("{:?}", kills::commits(place, &copy, size, seed)),
        "writers" => format!("{:?}", crowds::writers(place, &copy, size)),
        "editors" => format!("{:?}", crowds::editors(place, &copy, size, false, seed)),
        "nine-editors" => format!("{:?}", crowds::editors(place, &copy, size, true, seed)),
        "saves" => format!("{:?}", saves::run(place, size, seed)),
        _ => {
            let outcome = storms::run(place, only, size, STORM, seed, &mut |name, took| {
                // Nobody need wait for the end to see that it goes on.
                let _ = writeln!(out, "{name}: {took:.1?}");
            });
            let slow: Vec<_> = outcome.slowest.iter().filter(|(_, took)| *took > SOON).collect();
            if !slow.is_empty() {
                writeln!(out, "{outcome:?}")?;
                return Err(format!("more than {SOON:?} after all was quiet: {slow:?}").into());
            }
            format!("{outcome:?}")
        }
    };
    writeln!(out, "{outcome}, in {:.0} s", begun.elapsed().as_secs_f64())?;
    Ok(())
}
