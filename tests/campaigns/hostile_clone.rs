//! Repositories with arbitrary committed files under `.ralph/`, and beside it what else a stranger would commit, are
//! cloned, and then every command and every tool of the server runs in the clone under a tracer. No program but `git` is started, with the arguments of the table below; git starts none; there is no socket, no
//! write outside of `.ralph/`, and none in `.git`; answers are those of a clone without `cache/` and `state/`; each command
//! ends in time, in little memory, and never with a crash. What they print as a command does nothing else when it is run.
//!
//! Kinds of hostility and commands are dealt like cards: as many traced clones as there are kinds have every kind and run
//! every command. Beside them are [small] clones, which cost a tenth: the tests make 16 traced ones and 240 small ones. The
//! program `campaigns` makes any number in the same proportion (`hostile-clone`), small ones with forged state alone
//! (`hostile-clone-sealed`), or runs all of the commands in each (`hostile-clone-whole`).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::calls::held;
use crate::program::NOW;
use crate::random::Random;
use crate::tally::Tally;

#[path = "hostile_clone/clients.rs"]
mod clients;
#[path = "hostile_clone/forged.rs"]
mod forged;
#[path = "hostile_clone/judge.rs"]
mod judge;
#[path = "hostile_clone/names.rs"]
mod names;
#[path = "hostile_clone/outer_links.rs"]
mod outer_links;
#[path = "hostile_clone/printed.rs"]
mod printed;
#[path = "hostile_clone/repository.rs"]
mod repository;
#[path = "hostile_clone/small.rs"]
mod small;
#[path = "hostile_clone/steps.rs"]
mod steps;
#[path = "hostile_clone/surroundings.rs"]
mod surroundings;
#[path = "hostile_clone/witness.rs"]
mod witness;

use clients::Own;
use judge::{Answer, Class, Judge, World, answer, ended, first_line};
pub(crate) use repository::KINDS;
use repository::{SEALS, Template};
pub(crate) use steps::STEPS;
use steps::Step;
use surroundings::{Around, KEPT, Listing};
use witness::{Started, Testimony, witness};

/// A word of every file outside, which no answer may have.
const CANARY: &str = "zqcanarytext";
/// A text that is recognised as a secret, at places of values that messages quote.
const SECRET: &str = concat!("ghp_", "R8s2kVw0QzX5nYb7Lm3TjC1hPf6Gd9AeUoIq");
/// A file that proves that a program ran.
const MARK: &str = "executed";
/// The most memory that a process may take, in kilobytes. An unoptimised program takes half as much again: 105 MB where
/// an optimised one took 70 MB.
const MAX_MEMORY_KB: u64 = if cfg!(debug_assertions) { 140 * 1024 } else { 100 * 1024 };
/// The most CPU time that a command may take with its children, in milliseconds. An unoptimised program takes a
/// multiple of what people run.
const MAX_CPU_MS: u64 = if cfg!(debug_assertions) { 10_000 } else { 2_000 };

/// Of so many clones, one is traced, and the others are small.
const TRACED: usize = 16;

/// Makes so many clones below `place`: of sixteen, one is traced and runs a few steps, and the others are small. With
/// `every` all are traced and run every step.
pub(crate) fn run(place: &Path, program: &Path, clones: usize, every: bool, seed: u64) -> Tally {
    let made = Made::new(place, program);
    if every {
        return made.traced(place, clones, every, seed);
    }
    let traced = (clones / TRACED).max(1);
    let mut tally = Tally::default();
    let half = |number: usize| {
        let place = place.join(format!("traced-{number}"));
        fs::create_dir(&place).unwrap();
        let seed = seed.wrapping_mul(2).wrapping_add(number as u64);
        made.traced(&place, [traced / 2, traced.div_ceil(2)][number], false, seed)
    };
    let half = &half;
    std::thread::scope(|scope| {
        let halves = [0, 1].map(|number| scope.spawn(move || half(number)));
        tally.join(small::run(&made, place, clones - traced, None, seed));
        for half in halves {
            tally.join(half.join().unwrap());
        }
    });
    tally
}

/// Makes so many small clones below `place` in which a stranger has sealed state with a guessed key.
pub(crate) fn sealed(place: &Path, program: &Path, clones: usize, seed: u64) -> Tally {
    small::run(&Made::new(place, program), place, clones, Some(SEALS), seed)
}

/// What all clones of a campaign are made of.
struct Made<'a> {
    program: &'a Path,
    /// A folder with the program under its own name.
    bin: PathBuf,
    template: Template,
    own: Own,
}

impl Made<'_> {
    fn new<'a>(place: &Path, program: &'a Path) -> Made<'a> {
        let bin = place.join("bin");
        fs::create_dir(&bin).unwrap();
        // Clones have links to it, which lead to a file of their own file system.
        let copy = bin.join("copy");
        fs::hard_link(program, &copy).or_else(|_| fs::copy(program, &copy).map(drop)).unwrap();
        symlink(&copy, bin.join("ralph-memory")).unwrap();
        let template = Template::new(place, &|root| {
            let mut index = Command::new(program);
            index.args(["--now", NOW, "index"]).current_dir(root).env_clear();
            index.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", place);
            let built = index.output().unwrap();
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        });
        let own = Own::new(place, &bin.join("ralph-memory"));
        Made { program, bin, template, own }
    }

    /// Makes so many repositories below `place`, and runs the program in a clone of each: every command and the server for
    /// agents, or, without `every`, a part of them, which is another part in the next clone.
    fn traced(&self, place: &Path, clones: usize, every: bool, seed: u64) -> Tally {
        let deck = Deck { random: Random(seed), left: Vec::new() };
        let mut campaign = Campaign { place, made: self, deck, judge: Judge::new(place) };
        for number in 0..clones {
            let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
            let place = repository::fresh(place, number);
            let outside = repository::begin(&place);
            let home = place.join("home");
            let kind = KINDS[number % KINDS.len()];
            let clone = repository::make(&place, &self.template, &self.own, &outside, kind, &mut random);
            campaign.judge.count("traced", &clone);
            let what = format!("seed {seed}, clone {number} ({})", clone.kinds.join(", "));
            let folders = vec![clone.top.clone(), outside];
            let around = Around::new(&clone, &home, &self.own, folders);
            campaign.all(&World { clone: &clone, around, home }, every, &mut random, &what);
        }
        campaign.judge.done()
    }

    /// Returns the variable PATH with the folder of the program first.
    fn path(&self) -> OsString {
        let own = std::env::var_os("PATH").unwrap();
        std::env::join_paths(std::iter::once(self.bin.clone()).chain(std::env::split_paths(&own))).unwrap()
    }
}

struct Campaign<'a> {
    place: &'a Path,
    made: &'a Made<'a>,
    deck: Deck,
    judge: Judge,
}

/// What is done in a clone.
#[derive(Clone, Copy)]
enum Card {
    Command(&'static Step),
    /// The server for agents is asked everything.
    Agent,
}

impl Card {
    fn name(self) -> String {
        match self {
            Card::Command(step) => format!("{:?}", step.arguments),
            Card::Agent => "the server for agents".to_owned(),
        }
    }
}

/// Deals the cards: each comes once before one comes again.
struct Deck {
    random: Random,
    left: Vec<Card>,
}

impl Deck {
    fn deal(&mut self) -> Card {
        if self.left.is_empty() {
            self.left = STEPS.iter().map(Card::Command).chain([Card::Agent]).collect();
        }
        self.left.swap_remove(self.random.below(self.left.len()))
    }
}

impl Campaign<'_> {
    /// Runs steps in a clone, in an order of its own.
    fn all(&mut self, world: &World<'_>, every: bool, random: &mut Random, what: &str) {
        let n_cards = STEPS.len() + 1;
        let wanted = if every { n_cards } else { n_cards.div_ceil(KINDS.len()) };
        let mut order: Vec<_> = (0..wanted).map(|_| self.deck.deal()).collect();
        if random.below(2) == 0 {
            // As many answers as possible can be compared.
            order.sort_by_key(|card| matches!(card, Card::Command(step) if step.is_random));
        }
        let mut is_same = true;
        for (number, card) in order.into_iter().enumerate() {
            let name = card.name();
            let what = format!("{what}, step {number}: {name}");
            self.judge.tally.count(format!("step: {name}"));
            match card {
                Card::Command(step) => self.step(step, world, &mut is_same, random, &what),
                Card::Agent => self.server(world, &mut is_same, &what),
            }
        }
    }

    /// Runs one command in both clones, and compares the answers where the memories are the same by now.
    fn step(&mut self, step: &Step, world: &World<'_>, is_same: &mut bool, random: &mut Random, what: &str) {
        let clone = world.clone;
        let arguments = world.arguments(step, random);
        let command = world.prepare(Command::new(self.made.program), self.made, &clone.without, &arguments);
        let (without, ()) = answer(command, step, self.place, |command| ended(command, step.is_endless));
        let command = world.prepare(held(self.made.program), self.made, &clone.root, &arguments);
        let before = world.around.look();
        let (with, testimony) = answer(command, step, self.place, |command| {
            let mut line = String::new();
            let testimony =
                witness(command, |child| line = if step.is_endless { first_line(child) } else { line.clone() });
            (testimony.code, line, testimony)
        });
        self.judge_traced(&testimony, &with, &arguments, world, &before, what);
        let is_refused = matches!(with.code, Some(4 | 6)) && is_refusal(&with.texts);
        self.judge.tally.add("refused", usize::from(is_refused));
        if *is_same && step.is_compared && !is_refused {
            let (with, without) = (told(&with, &clone.root), told(&without, &clone.without));
            self.compare(&with, &without, what);
        }
        *is_same &= !step.is_random && !is_refused;
    }

    fn compare<Told: PartialEq + std::fmt::Debug>(&mut self, with: &Told, without: &Told, what: &str) {
        self.judge.tally.count("compared");
        if with != without {
            let both = format!("with its cache and state: {with:?}\n    without: {without:?}");
            self.judge.fault(Class::Differed, what, &both);
        }
    }

    /// Starts a server in both clones, and lets `talk` ask it everything. Judges the answers of the first, and returns both.
    fn serve<Talk: Default + Send>(
        &mut self,
        arguments: &[&str],
        world: &World<'_>,
        what: &str,
        talk: impl Fn(&mut Child) -> Talk + Sync,
        texts: impl Fn(&Talk) -> Vec<String>,
    ) -> (Talk, Talk) {
        let clone = world.clone;
        let piped = |program: Command, root: &Path| {
            let mut command = world.prepare(program, self.made, root, arguments);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        };
        let before = world.around.look();
        let mut with = Talk::default();
        let testimony = witness(&mut piped(held(self.made.program), &clone.root), |child| with = talk(child));
        let mut child = piped(Command::new(self.made.program), &clone.without).spawn().unwrap();
        let without = talk(&mut child);
        child.wait().unwrap();
        let answer = Answer { code: testimony.code, texts: texts(&with) };
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        self.judge_traced(&testimony, &answer, &arguments, world, &before, what);
        (with, without)
    }

    /// Asks the server for agents all that it can be asked.
    fn server(&mut self, world: &World<'_>, is_same: &mut bool, what: &str) {
        // A requested entry is shown as in its file, to agents as well.
        let plain = |(said, request): (&String, (&str, &str))| {
            if request.0 == "read_entry" { said.replace(SECRET, "") } else { said.clone() }
        };
        let texts = |said: &Vec<String>| said.iter().zip(REQUESTS).map(plain).collect();
        let (with, without) = self.serve(&["mcp"], world, what, ask, texts);
        if (with.len(), without.len()) != (REQUESTS.len(), REQUESTS.len()) {
            let counts = format!("{} and {} of {} answers: {with:?}", with.len(), without.len(), REQUESTS.len());
            self.judge.fault(Class::Ended, what, &counts);
        }
        for ((with, without), request) in with.iter().zip(&without).zip(REQUESTS) {
            let plain = |text: &str, root: &Path| text.replace(&root.display().to_string(), "ROOT");
            let (with, without) = (plain(with, &world.clone.root), plain(without, &world.clone.without));
            let is_refused = with.contains("\"isError\":true") && is_refusal(&[&with]);
            self.judge.tally.add("refused", usize::from(is_refused));
            // An attempt outside of a loop gets a run whose name is random.
            *is_same &= !is_refused && request.0 != "record_attempt";
            if *is_same {
                self.compare(&with, &without, &format!("{what}, {}", request.0));
            }
        }
    }

    /// Judges a traced run.
    fn judge_traced(
        &mut self,
        testimony: &Testimony,
        answer: &Answer,
        arguments: &[String],
        world: &World<'_>,
        before: &Listing,
        what: &str,
    ) {
        let command = arguments[0].as_str();
        self.judge.tally.most("kB of memory", testimony.peak_kb);
        self.judge.tally.most("ms of CPU", testimony.cpu_ms);
        for started in &testimony.started {
            self.judge.tally.add("gits", usize::from(is_git(started)));
            if !(is_git(started) || command == "run" && is_of_run(started)) {
                self.judge.fault(Class::Started, what, &format!("it started {started:?}"));
            }
        }
        let changed = testimony.changed.iter().filter(|(call, path)| !world.around.may_change(call, path, command));
        let changed: BTreeSet<_> = changed.collect();
        if !changed.is_empty() {
            self.judge.fault(Class::Changed, what, &format!("it changed {changed:?}"));
        }
        for (took, most, unit) in
            [(testimony.peak_kb, MAX_MEMORY_KB, "kB"), (testimony.cpu_ms, MAX_CPU_MS, "ms of CPU")]
        {
            if took > most {
                self.judge.fault(Class::Took, what, &format!("it took {took} {unit}"));
            }
        }
        self.judge.judge(answer, arguments, world, before, what);
    }
}

/// Returns whether a command says that it does nothing before somebody takes away what stands in the place of
/// the lock: a link, a folder or a pipe.
fn is_refusal(said: &[impl AsRef<str>]) -> bool {
    said.iter().any(|said| said.as_ref().contains("/.ralph/state"))
}

/// Returns whether it is a call of git that the program makes, by the program itself.
fn is_git(started: &Started) -> bool {
    /// What git is asked to do.
    const SUBCOMMANDS: [&str; 18] = [
        "cat-file",
        "check-ignore",
        "config",
        "diff-files",
        "diff-index",
        "diff-tree",
        "grep",
        "hash-object",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "read-tree",
        "rev-list",
        "rev-parse",
        "status",
        "update-index",
        "write-tree",
    ];
    let mut arguments = started.arguments.iter();
    let is_program = arguments.next().is_some_and(|program| program == "git");
    // Before the subcommand are options, of which two take a value.
    let mut subcommand = arguments.next();
    while let Some(option) = subcommand.filter(|argument| argument.starts_with('-')) {
        if ["-c", "-C"].contains(&option.as_str()) {
            arguments.next();
        }
        subcommand = arguments.next();
    }
    let known = subcommand.is_some_and(|name| SUBCOMMANDS.contains(&name.as_str()));
    is_program
        && known
        && started.by == "ralph-memory"
        && !started.arguments.iter().any(|argument| argument.starts_with("--output"))
}

/// Returns whether it is one of the programs that `run` was to start.
fn is_of_run(started: &Started) -> bool {
    let name = started.arguments.first().map_or("", |path| path.rsplit('/').next().unwrap_or_default());
    // A shell ends the agent where the program is killed.
    let is_guard = name == "sh" && started.arguments.iter().any(|argument| argument.starts_with("trap "));
    (is_guard || ["cat", "echo", "true", "ralph-memory"].contains(&name)) && started.by == "ralph-memory"
}

/// Returns what must be the same: the exit code and the answer, without what says where it is and what the index
/// lacks.
fn told(answer: &Answer, root: &Path) -> (Option<i32>, Value) {
    let plain = answer.texts[0].replace(&root.display().to_string(), "ROOT");
    // What is kept outside has a name that begins with a number made from the path of the project.
    let plain =
        plain.split(KEPT).map(|rest| if plain.starts_with(rest) { rest } else { rest.get(16..).unwrap_or(rest) });
    let plain: String = plain.collect();
    let mut json: Value = serde_json::from_str(&plain).unwrap_or(Value::String(plain));
    // Files that came with a clone use up numbers.
    for operation in json.get_mut("operations").and_then(Value::as_array_mut).into_iter().flatten() {
        for number in ["number", "undoes", "redoes", "taken_back_by"] {
            if operation[number].is_number() {
                operation[number] = json!("a number");
            }
        }
    }
    if let Some(status) = json.get_mut("counts").and_then(Value::as_object_mut) {
        status.remove("not_indexed");
    }
    (answer.code, json)
}

/// What the server is asked: the name of a tool, or of a method, and its arguments.
const REQUESTS: [(&str, &str); 13] = [
    ("tools/list", "{}"),
    ("search_memory", r#"{"query": "nightly toolchain", "limit": 20}"#),
    ("read_entry", r#"{"id": "knowledge/note-1"}"#),
    ("read_entry", r#"{"id": "knowledge/hostile-0"}"#),
    ("build_context", r#"{"task": "Use the nightly toolchain"}"#),
    ("build_context", "{}"),
    ("search_feature_memory", r#"{"query": "nightly", "feature": "x"}"#),
    ("get_recent_iterations", r#"{"count": 5}"#),
    ("get_feature_files", r#"{"feature": "x"}"#),
    ("get_failed_attempts", r#"{"task_id": "t-1"}"#),
    ("add_knowledge", r#"{"title": "From an agent", "tags": ["nightly"], "body": "It is so."}"#),
    ("search_memory", r#"{"query": "zebra agent", "limit": 20}"#),
    ("record_attempt", r#"{"task": "Use the nightly toolchain", "outcome": "done"}"#),
];

/// Asks a server that was started everything, one request after the other; returns what it answers.
fn ask(child: &mut Child) -> Vec<String> {
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut answers = Vec::new();
    let mut tell = |message: Value| writeln!(input, "{message}").is_ok();
    let mut answer = |id: usize| loop {
        let mut line = String::new();
        if !output.read_line(&mut line).is_ok_and(|read| read > 0) {
            return None;
        }
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == id {
            return Some(line);
        }
    };
    let client =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    tell(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}));
    answer(0);
    tell(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for (at, (name, arguments)) in REQUESTS.iter().enumerate() {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let (method, params) = if name.contains('/') {
            (*name, arguments)
        } else {
            ("tools/call", json!({"name": name, "arguments": arguments}))
        };
        tell(json!({"jsonrpc": "2.0", "id": at + 1, "method": method, "params": params}));
        answers.extend(answer(at + 1));
    }
    answers
}
