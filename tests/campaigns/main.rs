//! The campaigns, at any size: `cargo bench --bench campaigns -- NAME [ARGUMENT…]`. The README beside this file lists
//! them.
//!
//! The tests of `tests/integration` run the same campaigns with small sizes. This program knows names, default sizes
//! and how to print the result of a campaign; the steps and the invariants are in the campaigns' own files.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed campaign")]
#![allow(clippy::too_many_lines, reason = "what is done step by step is read step by step")]
#![allow(dead_code, reason = "the tests use parts of the campaigns that this program does not")]

use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod agent;
mod briefings;
mod browser;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
mod clocks;
mod corruption;
mod crowds;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "faults.rs"]
mod fault_campaign;
mod frames;
mod full_disk;
mod git_matrix;
mod hook_inputs;
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
mod report;
mod saves;
mod secrets;
mod setups;
mod soak;
mod storms;
mod year;

use own_disk::{COARSE, SMALL, got_there, own_disk};

type Done = Result<(), Box<dyn Error>>;

/// A campaign: its name, its arguments, and what runs it.
struct Campaign {
    name: &'static str,
    arguments: &'static str,
    run: fn(&Order) -> Done,
}

const CAMPAIGNS: [Campaign; 28] = [
    counted("kill-entries", |order| order.report(10_000, |at| kills::entries(at.place, at.program, at.size, at.seed))),
    counted("kill-commits", |order| order.report(5_000, |at| kills::commits(at.place, at.program, at.size, at.seed))),
    counted("writers", |order| order.report(2_000, |at| crowds::writers(at.place, at.program, at.size))),
    counted("editors", |order| order.report(500, |at| crowds::editors(at.place, at.program, at.size, false, at.seed))),
    counted("nine-editors", |order| {
        order.report(500, |at| crowds::editors(at.place, at.program, at.size, true, at.seed))
    }),
    Campaign { name: "storms", arguments: "[SIZE [SEED [STORM]]]", run: storms },
    counted("saves", |order| order.report(200, |at| saves::run(at.place, at.size, at.seed))),
    counted("clocks", |order| order.report(1_000, |at| clocks::run(at.place, at.program, at.size, at.seed))),
    counted("coarse-clocks", |order| {
        order.report_on(COARSE, 1_000, |at| clocks::run(&at.place.join("disk"), at.program, at.size, at.seed))
    }),
    counted("corruption", |order| order.report(1_000, |at| corruption::run(at.place, at.program, at.size, at.seed))),
    counted("full-disk", |order| {
        order.report_on(SMALL, 200, |at| full_disk::run(at.place, at.program, at.size, at.seed))
    }),
    counted("git-matrix", |order| order.report(64, |at| git_matrix::run(at.place, at.program, at.size, at.seed))),
    counted("paths", |order| order.report(100_000, |at| paths::run(at.place, at.program, at.size, at.seed))),
    counted("hooks", |order| order.report(10_000, |at| hook_inputs::run(at.place, at.program, at.size, at.seed))),
    counted("hostile-clone", |order| hostile_clones(order, 10_000, Hostile::Mixed)),
    counted("hostile-clone-sealed", |order| hostile_clones(order, 1_000, Hostile::Sealed)),
    counted("hostile-clone-whole", |order| hostile_clones(order, 500, Hostile::Whole)),
    Campaign { name: "faults", arguments: "[all|SEED [COMMAND]]", run: faults },
    Campaign { name: "last-step", arguments: "", run: last_steps },
    Campaign { name: "kill-undo", arguments: "", run: kill_undo },
    counted("frames", frames),
    counted("merges", |order| order.report(1_000, |at| merges::run(at.place, at.program, at.size, at.seed))),
    counted("setup", |order| order.report(2_000, |at| setups::run(at.place, at.size, at.seed))),
    Campaign { name: "secrets", arguments: "[--show] [SECRETS [CLEAN [SEED]]]", run: report::secrets },
    Campaign { name: "soak", arguments: "[MINUTES [SEED]]", run: soak::run },
    Campaign { name: "briefings", arguments: "[DAYS [SEED [PAGES]]]", run: briefings_of_a_year },
    Campaign { name: "year", arguments: "[SEED]", run: year_of_a_project },
    Campaign { name: "help", arguments: "", run: |_| help() },
];

const fn counted(name: &'static str, run: fn(&Order) -> Done) -> Campaign {
    Campaign { name, arguments: "[SIZE [SEED]]", run }
}

/// What is to be run: the arguments behind the campaign's name, and the program that the campaign is about.
pub(crate) struct Order {
    name: &'static str,
    arguments: Vec<String>,
    /// A copy, since the program may be built again meanwhile.
    program: PathBuf,
}

/// One run of a campaign that takes a folder, the program, a size and a seed.
struct Sample<'a> {
    place: &'a Path,
    program: &'a Path,
    size: usize,
    seed: u64,
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

    /// Runs a campaign in a temporary folder, and prints what came of it.
    fn report<Outcome: std::fmt::Debug>(&self, size: usize, run: impl FnOnce(&Sample<'_>) -> Outcome) -> Done {
        let folder = tempfile::tempdir()?;
        self.report_in(folder.path(), size, run)
    }

    /// Does the same with a file system of its own.
    fn report_on<Outcome: std::fmt::Debug>(
        &self,
        disk: &[&str],
        size: usize,
        run: impl FnOnce(&Sample<'_>) -> Outcome,
    ) -> Done {
        let arguments: Vec<&str> =
            std::iter::once(self.name).chain(self.arguments.iter().map(String::as_str)).collect();
        let Some(place) = own_disk(disk, &arguments) else { return Ok(()) };
        self.report_in(&place, size, run)?;
        got_there(&place);
        Ok(())
    }

    fn report_in<Outcome: std::fmt::Debug>(
        &self,
        place: &Path,
        size: usize,
        run: impl FnOnce(&Sample<'_>) -> Outcome,
    ) -> Done {
        let (size, seed) = (self.argument(0, size)?, self.argument(1, 1)?);
        let mut out = io::stdout();
        writeln!(out, "{}, size {size}, seed {seed}", self.name)?;
        let begun = Instant::now();
        let outcome = run(&Sample { place, program: &self.program, size, seed });
        writeln!(out, "all held in {:.0} s: {outcome:?}", begun.elapsed().as_secs_f64())?;
        Ok(())
    }
}

fn main() -> Done {
    // `cargo bench` puts an argument of its own behind the others.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let Some(name) = arguments.next() else { return help() };
    let Some(campaign) = CAMPAIGNS.iter().find(|campaign| campaign.name == name) else {
        help()?;
        return Err(format!("there is no campaign `{name}`").into());
    };
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("ralph-memory");
    std::fs::copy(env!("CARGO_BIN_EXE_ralph-memory"), &program)?;
    (campaign.run)(&Order { name: campaign.name, arguments: arguments.collect(), program })
}

fn help() -> Done {
    let mut out = io::stdout();
    writeln!(out, "usage: cargo bench --bench campaigns -- NAME [ARGUMENT…], with NAME one of")?;
    for Campaign { name, arguments, .. } in &CAMPAIGNS {
        writeln!(out, "  {name} {arguments}")?;
    }
    Ok(())
}

/// How many files a storm has.
const STORM: usize = 30_000;
/// How long after a storm a watcher may take.
const SOON: Duration = Duration::from_secs(5);

fn storms(order: &Order) -> Done {
    let only = order.argument(2, String::new())?;
    let mut slow = String::new();
    order.report(20, |at| {
        let outcome = storms::run(at.place, &only, at.size, STORM, at.seed, &mut |name, took| {
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

/// How many lines one server gets.
const FRAMES_PER_SERVER: usize = 2_000;
/// How soon after the end of its input a server has to end.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

fn frames(order: &Order) -> Done {
    order.report(100_000, |at| {
        ralph_memory::Memory::init(at.place).unwrap();
        let entry = "---\ntitle: \"WAL mode\"\ntags: [sqlite]\nfeature: db\n---\n\nReaders go on.\n";
        std::fs::write(at.place.join(".ralph/knowledge/wal-mode.md"), entry).unwrap();
        let command = || {
            let mut command = std::process::Command::new(at.program);
            command.arg("mcp").current_dir(at.place).env_clear().env("HOME", at.place);
            command
        };
        let mut out = io::stdout();
        let mut one = agent::Agent::greeted(command());
        one.write(&vec![b'x'; 100 << 20]);
        let answer = one.next();
        writeln!(out, "a line of 100 MB: {answer}").unwrap();
        #[cfg(target_os = "linux")]
        writeln!(out, "its server had {} MB at most", one.peak_memory() >> 20).unwrap();
        drop(one);
        let outcome = frames::run(&command, at.size, FRAMES_PER_SERVER, at.seed);
        assert!(outcome.slowest_end < ENDS_WITHIN, "{outcome:?}");
        outcome
    })
}

fn briefings_of_a_year(order: &Order) -> Done {
    let pages = order.arguments.get(2).map(Path::new);
    order.report(250, |at| briefings::run(at.place, at.size, at.seed, pages))
}

fn year_of_a_project(order: &Order) -> Done {
    let seed = order.argument(0, 1)?;
    let size = year::Size { days: 365, runs: 40, iterations: 2_000, knowledge: 600, one_in: 1 };
    let folder = tempfile::tempdir()?;
    let mut out = io::stdout();
    writeln!(out, "{size:?}, seed {seed}")?;
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/search");
    writeln!(out, "{:?}", year::live(folder.path(), &golden, size, seed))?;
    Ok(())
}

/// Lets each file operation of each writing command fail in each way that it can. With a seed in place of `all` each fails
/// in one way, and few of those of the cache fail.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn faults(order: &Order) -> Done {
    use fault_campaign::{CASES, Errors};

    let first = order.argument(0, "all".to_owned())?;
    let (errors, seed) = if first == "all" { (Errors::All, 0) } else { (Errors::Rotating, first.parse()?) };
    let wanted = order.arguments.get(1);
    let mut out = io::stdout();
    let mut n_faults = 0;
    for case in CASES.iter().filter(|case| wanted.is_none_or(|wanted| wanted == case.name)) {
        let place = tempfile::tempdir()?;
        let begun = Instant::now();
        let outcome = fault_campaign::run(place.path(), &order.program, case, errors, seed);
        let (calls, runs, took) = (outcome.calls, outcome.runs, begun.elapsed().as_secs_f64());
        writeln!(out, "{}: {calls} calls, {runs} runs in {took:.1} s, ended {:?}", case.name, outcome.codes)?;
        n_faults += report::faults(&outcome.faults)?;
    }
    if n_faults > 0 { Err(format!("{n_faults} faults").into()) } else { Ok(()) }
}

/// Lets everything fail that can between the end of an agent and the journal's entry, and checks that no word of the agent is lost.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn last_steps(order: &Order) -> Done {
    use last_step::{TROUBLES, WAYS, Way};

    let folder = tempfile::tempdir()?;
    let mut out = io::stdout();
    let mut n_faults = 0;
    for way in WAYS {
        for trouble in TROUBLES {
            let place = folder.path().join(format!("{way:?}-{trouble:?}"));
            let (faults, brought_back) = last_step::trouble(&place, &order.program, way, trouble);
            writeln!(out, "{way:?}, {trouble:?}: {}", if brought_back { "brought back" } else { "written" })?;
            n_faults += report::faults(&faults)?;
        }
    }
    for way in [Way::Run, Way::Record] {
        let outcome = last_step::faults(folder.path(), &order.program, way, (1, 1), false);
        writeln!(out, "{way:?}: {} runs, {} brought back", outcome.runs, outcome.brought_back)?;
        n_faults += report::faults(&outcome.faults)?;
    }
    if n_faults > 0 { Err(format!("{n_faults} faults").into()) } else { Ok(()) }
}

/// Kills each writing command before each change of a file, and takes back what it has begun.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn kill_undo(order: &Order) -> Done {
    let mut out = io::stdout();
    let mut n_faults = 0;
    for victim in &kill_undo::VICTIMS {
        let place = tempfile::tempdir()?;
        let outcome = kill_undo::run(place.path(), &order.program, victim, (1, 1));
        writeln!(out, "{}: {}", victim.name, outcome.counts())?;
        n_faults += report::faults(&outcome.faults)?;
    }
    if n_faults > 0 { Err(format!("{n_faults} faults").into()) } else { Ok(()) }
}

/// Which hostile clones are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hostile {
    /// Some traced, most small.
    Mixed,
    /// Small ones with forged state. The folder for temporary files decides the file system: see the README.
    Sealed,
    /// Traced ones, and all commands in each.
    Whole,
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn hostile_clones(order: &Order, size: usize, kind: Hostile) -> Done {
    let mut told = Vec::new();
    order.report(size, |at| {
        let mut outcome = match kind {
            Hostile::Mixed => hostile_clone::run(at.place, at.program, at.size, false, at.seed),
            Hostile::Sealed => hostile_clone::sealed(at.place, at.program, at.size, at.seed),
            Hostile::Whole => hostile_clone::run(at.place, at.program, at.size, true, at.seed),
        };
        told = outcome.told();
        outcome.faults.clear();
        outcome
    })?;
    if report::faults(&told)? > 0 { Err("there are faults".into()) } else { Ok(()) }
}

const ONLY_LINUX: &str = "only Linux on x86-64 lets its calls be stopped here";

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn faults(_: &Order) -> Done {
    Err(ONLY_LINUX.into())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn last_steps(_: &Order) -> Done {
    Err(ONLY_LINUX.into())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn kill_undo(_: &Order) -> Done {
    Err(ONLY_LINUX.into())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn hostile_clones(_: &Order, _: usize, _: Hostile) -> Done {
    Err(ONLY_LINUX.into())
}
