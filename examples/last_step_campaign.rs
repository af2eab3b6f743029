//! Lets everything fail that can between the end of an agent and the journal's entry, and checks that no word of the
//! agent is lost: `cargo run --release --example last_step_campaign`. The program is the one beside this example;
//! build it first. Linux on x86-64 alone.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed campaign")]
#![allow(dead_code, reason = "of the campaigns it needs only a part")]

use std::error::Error;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/campaigns/beside.rs"]
mod beside;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/campaigns/calls.rs"]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/campaigns/faults.rs"]
mod fault_campaign;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/campaigns/last_step.rs"]
mod last_step;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> Result<(), Box<dyn Error>> {
    use std::io::Write as _;

    let program = beside::program()?;
    let mut out = std::io::stdout();
    let place = std::env::temp_dir().join(format!("ralph-last-step-{}", std::process::id()));
    let mut n_faults = 0;
    for way in last_step::WAYS {
        for trouble in last_step::TROUBLES {
            let (faults, brought_back) =
                last_step::trouble(&place.join(format!("{way:?}-{trouble:?}")), &program, way, trouble);
            writeln!(out, "{way:?}, {trouble:?}: {}", if brought_back { "brought back" } else { "written" })?;
            for fault in &faults {
                writeln!(out, "  {fault}")?;
            }
            n_faults += faults.len();
        }
    }
    for way in [last_step::Way::Run, last_step::Way::Record] {
        let outcome = last_step::faults(&place, &program, way, (1, 1), false);
        writeln!(out, "{way:?}: {} runs, {} brought back", outcome.runs, outcome.brought_back)?;
        for fault in &outcome.faults {
            writeln!(out, "  {fault}")?;
        }
        n_faults += outcome.faults.len();
    }
    std::fs::remove_dir_all(&place)?;
    if n_faults > 0 { Err(format!("{n_faults} faults").into()) } else { Ok(()) }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> Result<(), Box<dyn Error>> {
    Err("only Linux on x86-64 lets its calls be stopped here".into())
}
