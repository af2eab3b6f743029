//! The campaigns, at any size: `cargo bench --bench campaigns -- NAME [ARGUMENT…]`. The README beside this file lists
//! them.
//!
//! `small.rs` beside this file runs the same campaigns with small sizes. This program knows names, default sizes
//! and how to print the result of a campaign; the steps and the invariants are in the campaigns' own files.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed campaign")]
#![allow(clippy::too_many_lines, reason = "what is done step by step is read step by step")]
#![allow(dead_code, reason = "the tests use parts of the campaigns that this program does not")]

use std::error::Error;
use std::fmt::Debug;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod briefings;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
mod clocks;
mod corruption;
mod crowds;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "faults.rs"]
mod fault_campaign;
mod hints;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod hostile_clone;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kill_undo;
mod kills;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod last_step;
mod merges;
mod own_disk;
mod paths;
mod program;
mod random;
mod saves;
mod storms;
mod tally;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tree_kills;

use own_disk::{COARSE, got_there, own_disk};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use tally::Tally;

type Done = Result<(), Box<dyn Error>>;

/// A campaign: its name, its arguments, and what runs it.
type Campaign = (&'static str, &'static str, fn(&Order) -> Done);

/// The arguments of most campaigns.
const COUNTED: &str = "[SIZE [SEED]]";

const CAMPAIGNS: &[Campaign] = &[
    ("kill-entries", COUNTED, |order| order.report(10_000, kills::entries)),
    ("kill-commits", COUNTED, |order| order.report(5_000, kills::commits)),
    ("writers", COUNTED, |order| order.report(2_000, |place, program, size, _| crowds::writers(place, program, size))),
    ("editors", COUNTED, |order| {
        order.report(500, |place, program, size, seed| crowds::editors(place, program, size, false, seed))
    }),
    ("nine-editors", COUNTED, |order| {
        order.report(500, |place, program, size, seed| crowds::editors(place, program, size, true, seed))
    }),
    ("storms", "[SIZE [SEED [STORM]]]", storms),
    ("saves", COUNTED, |order| order.report(200, |place, _, size, seed| saves::run(place, size, seed))),
    ("clocks", COUNTED, |order| order.report(1_000, clocks::run)),
    ("coarse-clocks", COUNTED, |order| {
        order.report_on(COARSE, 1_000, |place, program, size, seed| {
            clocks::run(&place.join("disk"), program, size, seed)
        })
    }),
    ("corruption", COUNTED, |order| order.report(1_000, corruption::run)),
    ("paths", COUNTED, |order| order.report(100_000, paths::run)),
    ("merges", COUNTED, |order| order.report(1_000, merges::run)),
    ("briefings", "[DAYS [SEED [PAGES]]]", briefings_of_a_year),
    ("hints", "[DAYS [SEED]]", |order| {
        order.report(250, |place, _, days, seed| hints::run(place, days, 5_000 * days / 250, seed))
    }),
];

/// Those that stop the program at its system calls.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const TRACED: &[Campaign] = &[
    ("hostile-clone", COUNTED, |order| {
        order.tallied(10_000, |place, program, size, seed| hostile_clone::run(place, program, size, false, seed))
    }),
    // The folder for temporary files decides the file system: see the README.
    ("hostile-clone-sealed", COUNTED, |order| order.tallied(1_000, hostile_clone::sealed)),
    ("hostile-clone-whole", COUNTED, |order| {
        order.tallied(500, |place, program, size, seed| hostile_clone::run(place, program, size, true, seed))
    }),
    ("faults", "[all|SEED [COMMAND]]", faults),
    ("last-step", "", last_steps),
    ("kill-undo", "", kill_undo),
    ("kill-trees", COUNTED, |order| order.report(1, |_, program, step, _| tree_kills::run(program, step))),
];
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
const TRACED: &[Campaign] = &[];

/// What is to be run: the arguments behind the campaign's name, and the program that the campaign is about.
pub(crate) struct Order {
    name: &'static str,
    arguments: Vec<String>,
    /// A copy, since the program may be built again meanwhile.
    program: PathBuf,
}

impl Order {
    /// Returns the argument at a position, or the default if there is none.
    fn argument<Value: std::str::FromStr<Err: Error + 'static>>(
        &self,
        at: usize,
        default: Value,
    ) -> Result<Value, Box<dyn Error>> {
        self.arguments.get(at).map_or(Ok(default), |text| Ok(text.parse()?))
    }

    /// Runs a campaign with a temporary folder, the program, a size and a seed, and prints what came of it.
    fn report<Outcome: Debug>(&self, size: usize, run: impl FnOnce(&Path, &Path, usize, u64) -> Outcome) -> Done {
        let folder = tempfile::tempdir()?;
        self.report_in(folder.path(), size, run)
    }

    /// Does the same with a file system of its own.
    fn report_on<Outcome: Debug>(
        &self,
        disk: &[&str],
        size: usize,
        run: impl FnOnce(&Path, &Path, usize, u64) -> Outcome,
    ) -> Done {
        let arguments: Vec<&str> =
            std::iter::once(self.name).chain(self.arguments.iter().map(String::as_str)).collect();
        let Some(place) = own_disk(disk, &arguments) else { return Ok(()) };
        self.report_in(&place, size, run)?;
        got_there(&place);
        Ok(())
    }

    fn report_in<Outcome: Debug>(
        &self,
        place: &Path,
        size: usize,
        run: impl FnOnce(&Path, &Path, usize, u64) -> Outcome,
    ) -> Done {
        let (size, seed) = (self.argument(0, size)?, self.argument(1, 1)?);
        let mut out = io::stdout();
        writeln!(out, "{}, size {size}, seed {seed}", self.name)?;
        let begun = Instant::now();
        let outcome = run(place, &self.program, size, seed);
        writeln!(out, "all done in {:.0} s: {outcome:?}", begun.elapsed().as_secs_f64())?;
        Ok(())
    }

    /// Runs a campaign that goes on after a fault, and fails if there was one.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn tallied(&self, size: usize, run: impl FnOnce(&Path, &Path, usize, u64) -> Tally) -> Done {
        let mut faults = Tally::default();
        self.report(size, |place, program, size, seed| {
            let mut tally = run(place, program, size, seed);
            faults.faults.append(&mut tally.faults);
            tally
        })?;
        check(&faults)
    }

    /// Runs a part of a campaign in a temporary folder, prints what came of it, and adds it.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn part(&self, name: &str, all: &mut Tally, run: impl FnOnce(&Path, &Path) -> Tally) -> Done {
        let place = tempfile::tempdir()?;
        let begun = Instant::now();
        let tally = run(place.path(), &self.program);
        writeln!(io::stdout(), "{name}: {tally:?} in {:.1} s", begun.elapsed().as_secs_f64())?;
        all.join(tally);
        Ok(())
    }
}

/// Prints the faults, and fails if there are any.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn check(tally: &Tally) -> Done {
    for class in tally.told() {
        writeln!(io::stdout(), "{class}")?;
    }
    if tally.faults.is_empty() { Ok(()) } else { Err(format!("{} faults", tally.faults.len()).into()) }
}

fn main() -> Done {
    // `cargo bench` puts an argument of its own behind the others.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let name = arguments.next().unwrap_or_else(|| "help".to_owned());
    let mut all = CAMPAIGNS.iter().chain(TRACED);
    let Some((name, _, run)) = all.clone().find(|(known, ..)| *known == name) else {
        let mut out = io::stdout();
        writeln!(out, "usage: cargo bench --bench campaigns -- NAME [ARGUMENT…], with NAME one of")?;
        all.try_for_each(|(name, arguments, _)| writeln!(out, "  {name} {arguments}"))?;
        return if name == "help" { Ok(()) } else { Err(format!("there is no campaign `{name}`").into()) };
    };
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("ralph-memory");
    std::fs::copy(env!("CARGO_BIN_EXE_ralph-memory"), &program)?;
    run(&Order { name, arguments: arguments.collect(), program })
}

/// How many files a storm has.
const STORM: usize = 30_000;
/// How long after a storm a watcher may take.
const SOON: Duration = Duration::from_secs(5);

fn storms(order: &Order) -> Done {
    let only = order.argument(2, String::new())?;
    let mut slow = String::new();
    order.report(20, |place, _, size, seed| {
        let outcome = storms::run(place, &only, size, STORM, seed, &mut |name, took| {
            // Progress is printed, so that it is visible before the end.
            let _ = writeln!(io::stdout(), "{name}: {took:.1?}");
        });
        let late: Vec<_> = outcome.slowest.iter().filter(|(_, took)| *took > SOON).collect();
        if !late.is_empty() {
            slow = format!("more than {SOON:?} after all was quiet: {late:?}");
        }
        outcome
    })?;
    if slow.is_empty() { Ok(()) } else { Err(slow.into()) }
}

fn briefings_of_a_year(order: &Order) -> Done {
    let pages = order.arguments.get(2).map(Path::new);
    order.report(250, |place, _, size, seed| briefings::run(place, size, seed, pages))
}

/// Lets each file operation of each writing command fail in each way that it can. With a seed in place of `all` each fails
/// in one way, and few of those of the cache fail.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn faults(order: &Order) -> Done {
    use fault_campaign::{CASES, Errors};

    let first = order.argument(0, "all".to_owned())?;
    let (errors, seed) = if first == "all" { (Errors::All, 0) } else { (Errors::Rotating, first.parse()?) };
    let wanted = order.arguments.get(1);
    let mut all = Tally::default();
    for case in CASES.iter().filter(|case| wanted.is_none_or(|wanted| wanted == case.name)) {
        order.part(case.name, &mut all, |place, program| fault_campaign::run(place, program, case, errors, seed))?;
    }
    check(&all)
}

/// Lets everything fail that can between the end of an agent and the journal's entry, and checks that no word of the agent is lost.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn last_steps(order: &Order) -> Done {
    use last_step::{TROUBLES, WAYS, Way};

    let mut all = Tally::default();
    for way in WAYS {
        for trouble in TROUBLES {
            let name = format!("{way:?}, {trouble:?}");
            order.part(&name, &mut all, |place, program| last_step::trouble(place, program, way, trouble))?;
        }
    }
    for way in [Way::Run, Way::Record] {
        let run = |place: &Path, program: &Path| last_step::faults(place, program, way, (1, 1), false);
        order.part(&format!("{way:?}"), &mut all, run)?;
    }
    check(&all)
}

/// Kills each writing command before each change of a file, and takes back what it has begun.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn kill_undo(order: &Order) -> Done {
    let mut all = Tally::default();
    for victim in &kill_undo::VICTIMS {
        order.part(victim.name, &mut all, |place, program| kill_undo::run(place, program, victim, (1, 1)))?;
    }
    check(&all)
}
