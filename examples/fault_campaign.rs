//! Lets each file operation of each writing command fail in each way that it can, and checks that nothing is lost
//! or half done: `cargo run --release --example fault_campaign -- all "add, new"`, and without a name each command.
//! With a seed in place of `all` it does what the tests do. The program is the one beside this example; build it
//! first. Linux on x86-64 alone.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed campaign")]
#![allow(dead_code, reason = "of the campaign it needs only a part")]

use std::error::Error;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/campaigns/beside.rs"]
mod beside;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/campaigns/calls.rs"]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/campaigns/faults.rs"]
mod faults;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> Result<(), Box<dyn Error>> {
    use std::io::Write as _;
    use std::time::Instant;

    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().unwrap_or_else(|| "all".to_owned());
    let (errors, seed) =
        if first == "all" { (faults::Errors::All, 0) } else { (faults::Errors::Rotating, first.parse()?) };
    let wanted = arguments.next();
    let program = beside::program()?;
    let mut out = std::io::stdout();
    let place = std::env::temp_dir().join(format!("ralph-faults-{}", std::process::id()));
    let mut n_faults = 0;
    for (number, case) in faults::CASES.iter().enumerate() {
        if wanted.as_ref().is_some_and(|wanted| wanted != case.name) {
            continue;
        }
        let place = place.join(number.to_string());
        std::fs::create_dir_all(&place)?;
        let begin = Instant::now();
        let outcome = faults::run(&place, &program, case, errors, seed);
        let took = begin.elapsed().as_secs_f64();
        writeln!(
            out,
            "{}: {} calls, {} runs in {took:.1} s, ended {:?}",
            case.name, outcome.calls, outcome.runs, outcome.codes
        )?;
        for fault in &outcome.faults {
            writeln!(out, "  {fault}")?;
        }
        n_faults += outcome.faults.len();
        std::fs::remove_dir_all(&place)?;
    }
    std::fs::remove_dir_all(&place)?;
    if n_faults > 0 { Err(format!("{n_faults} faults").into()) } else { Ok(()) }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> Result<(), Box<dyn Error>> {
    Err("only Linux on x86-64 lets its calls be stopped here".into())
}
