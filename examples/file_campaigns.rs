//! What happens to files, as often as one likes: clocks that lie, damage to cache and state, full disks, and names
//! that lead elsewhere. `cargo run --release --example file_campaigns -- NAME SIZE SEED`, with NAME one of
//!
//! * `clocks` and `coarse-clocks`, the latter on a file system that tells times by ticks (1,000 edits by default),
//! * `corruption` (1,000 damages),
//! * `full-disk` (200 fills),
//! * `git-matrix` (64 settings of git, beside the kinds of repository),
//! * `hostile-clone` (10,000 repositories, four commands in each) and `hostile-clone-whole` (500, every command), on
//!   Linux on x86-64 alone,
//! * `paths` (100,000 names).
//!
//! The seed is 1 by default. The program is the one beside this example; build it first.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed campaign")]
#![allow(dead_code, reason = "of what the campaigns share it needs only a part")]

use std::error::Error;
use std::io::Write as _;
use std::time::Instant;

#[path = "../tests/campaigns/beside.rs"]
mod beside;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/campaigns/calls.rs"]
mod calls;
#[path = "../tests/campaigns/clocks.rs"]
mod clocks;
#[path = "../tests/campaigns/corruption.rs"]
mod corruption;
#[path = "../tests/campaigns/full_disk.rs"]
mod full_disk;
#[path = "../tests/campaigns/git_matrix.rs"]
mod git_matrix;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/campaigns/hostile_clone.rs"]
mod hostile_clone;
#[path = "../tests/campaigns/own_disk.rs"]
mod own_disk;
#[path = "../tests/campaigns/paths.rs"]
mod paths;
#[path = "../tests/campaigns/program.rs"]
mod program;
#[path = "../tests/campaigns/random.rs"]
mod random;

use own_disk::{COARSE, SMALL, got_there, own_disk};

const USAGE: &str = "usage: file_campaigns clocks|coarse-clocks|corruption|full-disk|git-matrix|hostile-clone|hostile-clone-whole|paths [SIZE [SEED]]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    let default = match name {
        "clocks" | "coarse-clocks" | "corruption" => 1_000,
        "full-disk" => 200,
        "hostile-clone" => 10_000,
        "hostile-clone-whole" => 500,
        "paths" => 100_000,
        "git-matrix" => 64,
        _ => return Err(USAGE.into()),
    };
    let size: usize = arguments.get(1).map_or(Ok(default), |text| text.parse())?;
    let seed: u64 = arguments.get(2).map_or(Ok(1), |text| text.parse())?;
    let program = beside::program()?;
    let mut out = std::io::stdout();
    let begin = Instant::now();
    let own = [name, &size.to_string(), &seed.to_string()];
    let disk = match name {
        "coarse-clocks" => Some(COARSE),
        "full-disk" => Some(SMALL),
        _ => None,
    };
    let (place, folder) = match disk.map(|disk| own_disk(disk, &own)) {
        Some(None) => return Ok(()),
        Some(Some(place)) => (place, None),
        None => {
            let folder = tempfile::tempdir()?;
            (folder.path().to_owned(), Some(folder))
        }
    };
    writeln!(out, "{name}, size {size}, seed {seed}")?;
    let outcome = match name {
        "clocks" => format!("{:?}", clocks::run(&place, &program, size, seed)),
        "coarse-clocks" => format!("{:?}", clocks::run(&place.join("disk"), &program, size, seed)),
        "corruption" => format!("{:?}", corruption::run(&place, &program, size, seed)),
        "git-matrix" => format!("{:?}", git_matrix::run(&place, &program, size, seed)),
        "full-disk" => format!("{:?}", full_disk::run(&place, &program, size, seed)),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        "hostile-clone" | "hostile-clone-whole" => {
            let outcome = hostile_clone::run(&place, &program, size, name == "hostile-clone-whole", seed);
            for fault in &outcome.faults {
                writeln!(out, "{fault}")?;
            }
            if !outcome.faults.is_empty() {
                return Err(format!("{} faults", outcome.faults.len()).into());
            }
            format!("{outcome:?}")
        }
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        "hostile-clone" | "hostile-clone-whole" => {
            return Err("only Linux on x86-64 lets its calls be stopped here".into());
        }
        _ => format!("{:?}", paths::run(&place, &program, size, seed)),
    };
    if folder.is_none() {
        got_there(&place);
    }
    writeln!(out, "all held in {:.0} s: {outcome}", begin.elapsed().as_secs_f64())?;
    Ok(())
}
