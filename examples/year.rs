//! Lives through a year of a project in a temporary folder, and says what of what matters the memory still
//! puts before the tasks that need it: `cargo run --release --example year -- SEED`, 1 by default.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed campaign")]
#![allow(dead_code, reason = "of what the campaigns share it needs only a part")]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

#[path = "../tests/campaigns/random.rs"]
mod random;
#[path = "../tests/campaigns/year.rs"]
mod year;

fn main() -> Result<(), Box<dyn Error>> {
    let seed: u64 = std::env::args().nth(1).map_or(Ok(1), |text| text.parse())?;
    let size = year::Size { days: 365, runs: 40, iterations: 2_000, knowledge: 600 };
    let folder = std::env::temp_dir().join(format!("ralph-year-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut out = std::io::stdout();
    writeln!(out, "{size:?}, seed {seed}")?;
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/search");
    let year = year::live(&folder, &golden, size, seed);
    writeln!(out, "{year:?}")?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
