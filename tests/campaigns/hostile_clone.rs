//! Repositories with arbitrary committed files under `.ralph/` are cloned, and then every command and every tool of the
//! server runs in the clone under a tracer, and a browser visits each page. No program but `git` is started, with the arguments of the table below; git
//! starts none; there is no socket, no write outside of `.ralph/`, and none in `.git`; answers are those of a clone
//! without `cache/` and `state/`; each command ends in time, in little memory, and never with a crash.
//!
//! Kinds of hostility and commands are dealt like cards: twelve clones have every kind and run every command. The tests
//! make two times twelve. The program `campaigns` makes any number (`hostile-clone`), or runs all of the commands in
//! each (`hostile-clone-whole`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::browser::{FORMS, PAGES, Visit, visit};
use crate::calls::held;
use crate::program::NOW;
use crate::random::Random;

#[path = "hostile_clone/repository.rs"]
mod repository;
#[path = "hostile_clone/witness.rs"]
mod witness;

pub(crate) use repository::KINDS;
use repository::{Clone, Template};
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
/// The same for the server for browsers, which makes several pages at once.
const MAX_PAGE_MEMORY_KB: u64 = MAX_MEMORY_KB * 3 / 2;
/// The most CPU time that a command may take with its children, in milliseconds. An unoptimised program takes a
/// multiple of what people run.
const MAX_CPU_MS: u64 = if cfg!(debug_assertions) { 10_000 } else { 2_000 };

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many repositories were cloned, and how many of each kind.
    pub(crate) clones: usize,
    pub(crate) kinds: BTreeMap<&'static str, usize>,
    /// How many runs were watched, and how many of each step.
    pub(crate) runs: usize,
    pub(crate) steps: BTreeMap<String, usize>,
    /// How many commands refused to write because something else is in place of the lock.
    pub(crate) refused: usize,
    /// How many answers were compared with those of a clone without cache and state.
    pub(crate) compared: usize,
    /// How often git was run.
    pub(crate) gits: usize,
    /// How the commands ended.
    pub(crate) codes: BTreeMap<i32, usize>,
    /// How many pages a browser got, how often no server started for it, and the longest that one took to end, in milliseconds.
    pub(crate) pages: usize,
    pub(crate) unserved: usize,
    pub(crate) end_ms: u128,
    /// The most memory, in kilobytes, and CPU time, in milliseconds, that a command took.
    pub(crate) peak_kb: u64,
    pub(crate) cpu_ms: u64,
    /// What must not be.
    pub(crate) faults: Vec<String>,
}

/// A command, and what it reads.
pub(crate) struct Step {
    pub(crate) arguments: &'static [&'static str],
    input: &'static str,
    /// Whether its answer is the same wherever and whenever it is asked.
    is_compared: bool,
    /// Whether it names a run at random, so that answers behind it differ.
    is_random: bool,
}

const fn asks(arguments: &'static [&'static str]) -> Step {
    Step { arguments, input: "", is_compared: true, is_random: false }
}

const fn does(arguments: &'static [&'static str], input: &'static str) -> Step {
    Step { arguments, input, is_compared: false, is_random: false }
}

const fn begins_a_run(arguments: &'static [&'static str], input: &'static str) -> Step {
    Step { arguments, input, is_compared: false, is_random: true }
}

const SAID: &str = "<journal>It parses.</journal>\n<knowledge tags=\"nightly\" title=\"Note 3 old\">Not so.</knowledge>\n\
                    <learning category=\"pitfall\" tags=\"unicode\">Mind the BOM.</learning>\n<task-done>t-1</task-done>\n";

/// Commands, most of them in several ways; beside them the server for agents runs, which is asked [`REQUESTS`], and that for
/// browsers, which is visited.
pub(crate) const STEPS: [Step; 62] = [
    asks(&["search", "nightly toolchain", "--limit", "50", "--json"]),
    asks(&["search", "zebra giraffe lion", "--limit", "50", "--json"]),
    asks(&["search", "old words", "--archived", "--explain", "--json"]),
    asks(&["list", "--json"]),
    asks(&["list", "--archived", "--json"]),
    does(&["list"], ""),
    asks(&["list", "--never-helped", "--sort", "used", "--json"]),
    asks(&["log", "--limit", "50", "--json"]),
    does(&["log", "--full"], ""),
    asks(&["stats", "--json"]),
    does(&["stats"], ""),
    asks(&["show", "task:t-1", "--json"]),
    does(&["show", "run:run-0000000a"], ""),
    asks(&["show", "note-1", "--json"]),
    asks(&["show", "hostile-0", "--json"]),
    does(&["show", "linked"], ""),
    asks(&[
        "context",
        "--task",
        "Use the nightly toolchain",
        "--task-id",
        "t-1",
        "--run",
        "run-0000000a",
        "--dry-run",
        "--json",
    ]),
    does(&["context", "--task", "Use the nightly toolchain", "--dry-run"], ""),
    asks(&["context", "--json"]),
    begins_a_run(&["context", "--task", "Use the nightly toolchain", "--task-id", "t-1"], ""),
    begins_a_run(&["record", "--task-id", "t-1"], SAID),
    asks(&["context", "--task", "Use it", "--task-id", "t-2", "--run", "run-0000000c", "--json"]),
    does(&["record", "--run", "run-0000000c", "--json"], SAID),
    does(&["record", "--run", "run-0000000d", "--task-id", "t-3", "--outcome", "failed"], "No."),
    begins_a_run(&["run", "--task", "Use it", "--agent", "cat", "--verify", "true", "--max-iterations", "2"], ""),
    begins_a_run(&["run", "--resume", "--agent", "cat", "--max-iterations", "1"], ""),
    does(&["status"], ""),
    asks(&["status", "--json"]),
    does(&["doctor"], ""),
    does(&["doctor", "--json"], ""),
    does(&["check"], ""),
    does(&["check", "--strict", "--format", "json"], ""),
    does(&["check", "--format", "sarif"], ""),
    does(&["check", "--format", "github"], ""),
    asks(&["add", "--title", "Added", "--tags", "nightly", "--body", "It is new.", "--json"]),
    asks(&["add", "--title", "Another", "--tags", "old", "--body", "It is another.", "--json"]),
    asks(&["note", "--event", "decision", "--summary", "We take it.", "--json"]),
    asks(&["supersede", "note-4", "note-6", "--json"]),
    asks(&["promote", "note-7", "feature:x", "--json"]),
    asks(&["prune", "--json"]),
    asks(&["consolidate", "--dry-run", "--json"]),
    asks(&["consolidate", "--json"]),
    does(&["restore", "note-4"], ""),
    does(&["rename", "note-3", "A note with another title"], ""),
    does(&["edit", "note-4"], ""),
    does(&["archive", "note-4"], ""),
    asks(&["undo", "--list", "--json"]),
    does(&["undo"], ""),
    does(&["index"], ""),
    does(&["index", "--rebuild"], ""),
    does(&["init"], ""),
    does(&["doctor", "--register-merge-driver"], ""),
    does(&["merge-driver", "--path", ".ralph/knowledge/note-1.md", "../base", "../ours", "../theirs"], ""),
    does(&["hook", "session-start"], r#"{"session_id": "s-1", "source": "startup", "transcript_path": "/dev/zero"}"#),
    does(&["hook", "prompt"], r#"{"session_id": "s-1", "prompt": "Which nightly toolchain do the old notes use?"}"#),
    does(&["hook", "stop"], r#"{"session_id": "s-1", "last_assistant_message": "<task-failed>t-9</task-failed>"}"#),
    does(&["hook", "session-end"], r#"{"session_id": "s-1", "transcript_path": "/dev/zero"}"#),
    does(&["import", "rules", "--dry-run"], ""),
    does(&["setup", "claude", "--check"], ""),
    does(&["completions", "bash"], ""),
    does(&["man", "../man"], ""),
    does(&["--help"], ""),
];

/// Makes so many repositories below `place`, and runs the program in a clone of each: every command and the
/// server for agents, or, without `every`, a twelfth of them, which is another twelfth in the next clone.
pub(crate) fn run(place: &Path, program: &Path, clones: usize, every: bool, seed: u64) -> Outcome {
    let deck = Deck { random: Random(seed), left: Vec::new() };
    let mut campaign = Campaign { place, program, deck, outcome: Outcome::default() };
    let template = Template::new(place, &|root| {
        let built = campaign.command(root, &["index"]).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    });
    for number in 0..clones {
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));

        let place = place.join("one");
        let _ = fs::remove_dir_all(&place);
        fs::create_dir(&place).unwrap();
        for name in ["base", "ours", "theirs"] {
            fs::write(place.join(name), format!("---\ntitle: \"A\"\ntags: [{name}]\n---\n\n{name}\n")).unwrap();
        }
        fs::create_dir(campaign.place.join(HOME)).unwrap();
        let outside = repository::outside(&place);
        let clone = repository::make(&place, &template, &outside, KINDS[number % KINDS.len()], &mut random);
        campaign.outcome.clones += 1;
        for kind in &clone.kinds {
            *campaign.outcome.kinds.entry(kind).or_default() += 1;
        }
        let what = format!("seed {seed}, clone {number} ({})", clone.kinds.join(", "));

        campaign.all(&clone, &outside, every, &mut random, &what);
    }
    campaign.outcome
}

/// The home of the user: files that are kept there for one clone must not appear in the next.
const HOME: &str = "one/home";
/// Where the program keeps what could not be written, in the home of the user.
const KEPT: &str = ".local/state/ralph-memory/";

struct Campaign<'a> {
    place: &'a Path,
    program: &'a Path,
    deck: Deck,
    outcome: Outcome,
}

/// What is done in a clone.
#[derive(Clone, Copy)]
enum Card {
    Command(&'static Step),
    /// The server for agents is asked everything.
    Agent,
    /// The server for browsers is visited.
    Browser,
}

impl Card {
    fn name(self) -> String {
        match self {
            Card::Command(step) => format!("{:?}", step.arguments),
            Card::Agent => "the server for agents".to_owned(),
            Card::Browser => "the server for browsers".to_owned(),
        }
    }
}

/// How many cards of a browser there are: several clones have settings with which no server starts.
const N_BROWSERS: usize = 4;
/// How many cards there are.
const N_CARDS: usize = STEPS.len() + 1 + N_BROWSERS;

/// Deals the cards: each comes once before one comes again, and a browser now and then.
struct Deck {
    random: Random,
    left: Vec<Card>,
}

impl Deck {
    fn deal(&mut self) -> Card {
        if self.left.is_empty() {
            self.left =
                STEPS.iter().map(Card::Command).chain([Card::Agent]).chain([Card::Browser; N_BROWSERS]).collect();
        }
        self.left.swap_remove(self.random.below(self.left.len()))
    }
}

/// An answer: the exit code, and the output.
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Campaign<'_> {
    /// Runs steps in a clone, in an order of its own.
    fn all(&mut self, clone: &Clone, outside: &Path, every: bool, random: &mut Random, what: &str) {
        let around = Around::new(self.place, clone, outside);
        let wanted = if every { N_CARDS } else { N_CARDS.div_ceil(KINDS.len()) };
        let mut order: Vec<_> = (0..wanted).map(|_| self.deck.deal()).collect();
        if random.below(2) == 0 {
            // As many answers as possible can be compared.
            order.sort_by_key(|card| matches!(card, Card::Command(step) if step.is_random));
        }
        let mut is_same = true;
        for (number, card) in order.into_iter().enumerate() {
            let name = card.name();
            let what = format!("{what}, step {number}: {name}");
            *self.outcome.steps.entry(name).or_default() += 1;
            is_same &= match card {
                Card::Command(step) => self.step(step, clone, &around, is_same, &what),
                Card::Agent => self.server(clone, &around, is_same, &what),
                Card::Browser => self.page(clone, &around, is_same, &what),
            };
        }
        if let Some(changed) = around.changed() {
            self.fault(format!("{what}: {changed}"));
        }
    }

    fn fault(&mut self, fault: String) {
        self.outcome.faults.push(fault);
    }

    /// Runs one command in both clones, and compares the answers where `is_same`. Returns whether the memories can
    /// be compared afterwards.
    fn step(&mut self, step: &Step, clone: &Clone, around: &Around, is_same: bool, what: &str) -> bool {
        let files = ["in", "out", "err"].map(|name| self.place.join(name));
        fs::write(&files[0], step.input).unwrap();
        let open = || fs::File::open(&files[0]).unwrap();
        let output = self.command(&clone.without, step.arguments).stdin(open()).output().unwrap();
        let without = Answer { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) };
        let mut command = self.prepare(self.held(step.arguments), &clone.root);
        command.stdin(open()).stdout(fs::File::create(&files[1]).unwrap()).stderr(fs::File::create(&files[2]).unwrap());
        let testimony = witness(&mut command, |_| {});
        let said = |path: &Path| text(&fs::read(path).unwrap());
        let answer = Answer { code: testimony.code, stdout: said(&files[1]), stderr: said(&files[2]) };
        self.judge(&testimony, &answer, step.arguments[0], around, what);
        let is_refused = matches!(answer.code, Some(4 | 6)) && is_refusal(&[&answer.stdout, &answer.stderr]);
        self.outcome.refused += usize::from(is_refused);
        if is_same && step.is_compared && !is_refused {
            self.outcome.compared += 1;
            let (with, without) = (told(&answer, &clone.root), told(&without, &clone.without));
            if with != without {
                self.fault(format!("{what}: with its cache and state: {with:?}\n    without: {without:?}"));
            }
        }
        is_same && !step.is_random && !is_refused
    }

    /// Does the same with all that the server for agents can be asked.
    fn server(&mut self, clone: &Clone, around: &Around, is_same: bool, what: &str) -> bool {
        let piped = |command: &mut Command| {
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        };
        let mut command = self.prepare(self.held(&["mcp"]), &clone.root);
        piped(&mut command);
        let mut with = Vec::new();
        let testimony = witness(&mut command, |child| with = ask(child));
        let mut command = self.command(&clone.without, &["mcp"]);
        piped(&mut command);
        let mut child = command.spawn().unwrap();
        let without = ask(&mut child);
        child.wait().unwrap();
        // A requested entry is shown as in its file, to agents as well.
        let said = |(said, request): (&String, (&str, &str))| match request.0 {
            "read_entry" => said.replace(SECRET, ""),
            _ => said.clone(),
        };
        let said: Vec<String> = with.iter().zip(REQUESTS).map(said).collect();
        let answer = Answer { code: testimony.code, stdout: said.join("\n"), stderr: String::new() };
        self.judge(&testimony, &answer, "mcp", around, what);
        if (with.len(), without.len()) != (REQUESTS.len(), REQUESTS.len()) {
            self.fault(format!("{what}: {} and {} of {} answers: {with:?}", with.len(), without.len(), REQUESTS.len()));
        }
        let mut is_same = is_same;
        for ((with, without), request) in with.iter().zip(&without).zip(REQUESTS) {
            let plain = |text: &str, root: &Path| text.replace(&root.display().to_string(), "ROOT");
            let (with, without) = (plain(with, &clone.root), plain(without, &clone.without));
            let is_refused = with.contains("\"isError\":true") && is_refusal(&[&with]);
            self.outcome.refused += usize::from(is_refused);
            // An attempt outside of a loop gets a run whose name is random.
            is_same &= !is_refused && request.0 != "record_attempt";
            self.outcome.compared += usize::from(is_same);
            if is_same && with != without {
                self.fault(format!("{what}, {}: with its cache and state: {with}\n    without: {without}", request.0));
            }
        }
        is_same
    }

    /// Does the same with all that a browser can ask for.
    fn page(&mut self, clone: &Clone, around: &Around, is_same: bool, what: &str) -> bool {
        let arguments = ["serve", "--port", "0", "--json"];
        let piped = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        };
        let mut command = self.prepare(self.held(&arguments), &clone.root);
        piped(&mut command);
        let mut with = Visit::default();
        let testimony = witness(&mut command, |child| with = visit(child, &FORMS));
        let mut command = self.command(&clone.without, &arguments);
        piped(&mut command);
        let mut child = command.spawn().unwrap();
        let without = visit(&mut child, &FORMS);
        child.wait().unwrap();
        // An entry, a task and a run that are asked for are shown as in their files.
        let said = |(page, _, body): &(String, u16, String)| {
            let is_asked_for = ["entry?", "task?", "run?"].iter().any(|start| page.starts_with(start));
            if is_asked_for { body.replace(SECRET, "") } else { body.clone() }
        };
        let said: Vec<String> = with.answers.iter().map(said).collect();
        let answer = Answer { code: testimony.code, stdout: said.join("\n"), stderr: with.stderr.clone() };
        self.judge(&testimony, &answer, "serve", around, what);
        self.outcome.end_ms = self.outcome.end_ms.max(with.ended_in.as_millis());
        if with.answers.is_empty() {
            self.outcome.unserved += 1;
            if with.stderr.trim().is_empty() || !without.answers.is_empty() && is_same {
                self.fault(format!("{what}: no server, and {:?}", with.stderr));
            }
            return is_same;
        }
        self.outcome.pages += with.answers.len();
        let n_asked = PAGES.len() + FORMS.len() + 1;
        // What cannot be written is an error of the server, with a page that says why.
        let is_answer = |status: u16, page: &str| {
            matches!(status, 200 | 303 | 400..=499) || status == 500 && page.contains("Something went wrong")
        };
        let wrong: Vec<_> = with.answers.iter().filter(|(_, status, page)| !is_answer(*status, page)).collect();
        if !wrong.is_empty() || with.answers.len() != n_asked {
            self.fault(format!("{what}: {} of {n_asked} answers, of which are wrong: {wrong:?}", with.answers.len()));
        }
        if with.answers.last().map(|(_, status, _)| *status) != Some(403) {
            self.fault(format!("{what}: a form without the token was taken: {:?}", with.answers.last()));
        }
        let mut is_same = is_same;
        for ((page, status, with), (_, other, without)) in with.answers.iter().zip(&without.answers) {
            // Pages name the project, which is called as its folder.
            let plain = |text: &str, root: &Path| {
                let name = root.file_name().unwrap().to_str().unwrap();
                let text = text.replace(&root.display().to_string(), "ROOT");
                text.replace(&format!("<bdi>{name}</bdi>"), "NAME").replace(&format!(" · {name}</title>"), "</title>")
            };
            let (with, without) = (plain(with, &clone.root), plain(without, &clone.without));
            let is_refused = is_refusal(&[&with]);
            self.outcome.refused += usize::from(is_refused);
            is_same &= !is_refused;
            // One says what is wrong with the cache and the state, the other whether servers answer, which takes its time.
            if !is_same || page.contains("health") || page.is_empty() {
                continue;
            }
            self.outcome.compared += 1;
            if (*status, &with) != (*other, &without) {
                let at = with.bytes().zip(without.bytes()).take_while(|(one, other)| one == other).count();
                let [with, without] = [&with, &without].map(|text| {
                    String::from_utf8_lossy(text.as_bytes().get(at.saturating_sub(50)..).unwrap_or_default())
                        .into_owned()
                });
                self.fault(format!("{what}, {page}: with its cache and state: {status} {with:.300}\n    without: {other} {without:.300}"));
            }
        }
        is_same
    }

    /// Checks the effects of a run, and its output.
    fn judge(&mut self, testimony: &Testimony, answer: &Answer, command: &str, around: &Around, what: &str) {
        self.outcome.runs += 1;
        self.outcome.peak_kb = self.outcome.peak_kb.max(testimony.peak_kb);
        self.outcome.cpu_ms = self.outcome.cpu_ms.max(testimony.cpu_ms);
        *self.outcome.codes.entry(answer.code.unwrap_or(-1)).or_default() += 1;
        let mut wrong = Vec::new();
        // A server ends by a signal.
        if !(matches!(answer.code, Some(0..=6)) || command == "serve" && answer.code == Some(130)) {
            wrong.push(format!("it ended with {:?}: {}", answer.code, answer.stderr));
        }
        for started in &testimony.started {
            self.outcome.gits += usize::from(is_git(started));
            let is_meant = is_git(started) || command == "run" && is_of_run(started);
            if !is_meant {
                wrong.push(format!("it started {started:?}"));
            }
        }
        // Git gives an object that it is to store and has already a new time, which keeps it from being pruned.
        let changed: BTreeSet<_> =
            testimony.changed.iter().filter(|(call, path)| !around.may_change(call, path, command)).collect();
        if !changed.is_empty() {
            wrong.push(format!("it changed {changed:?}"));
        }
        let most_kb = if command == "serve" { MAX_PAGE_MEMORY_KB } else { MAX_MEMORY_KB };
        if testimony.peak_kb > most_kb {
            wrong.push(format!("it took {} kB", testimony.peak_kb));
        }
        if testimony.cpu_ms > MAX_CPU_MS {
            wrong.push(format!("it took {} ms of CPU", testimony.cpu_ms));
        }
        // `show` prints the requested entry as in its file.
        let words = if command == "show" { &[CANARY][..] } else { &[CANARY, SECRET] };
        for word in words {
            if answer.stdout.contains(*word) || answer.stderr.contains(*word) {
                wrong.push(format!("it said {word}"));
            }
        }
        for wrong in wrong {
            self.fault(format!("{what}: {wrong}"));
        }
    }

    /// Returns the program as it is run without a tracer.
    fn command(&self, root: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(["--now", NOW]).args(arguments);
        self.prepare(command, root)
    }

    /// Returns the program as it waits for a tracer.
    fn held(&self, arguments: &[&str]) -> Command {
        let mut command = held(self.program);
        command.args(["--now", NOW]).args(arguments);
        command
    }

    fn prepare(&self, mut command: Command, root: &Path) -> Command {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.place.join(HOME));
        command.current_dir(root);
        command
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns whether a command says that it does nothing before somebody takes away what stands in the place of
/// the lock: a link, a folder or a pipe.
fn is_refusal(said: &[&str]) -> bool {
    said.iter().any(|said| said.contains("/.ralph/state"))
}

/// Returns whether it is a call of git that the program makes, by the program itself.
fn is_git(started: &Started) -> bool {
    /// What git is asked to do.
    const SUBCOMMANDS: [&str; 14] = [
        "check-ignore",
        "config",
        "diff-files",
        "diff-tree",
        "hash-object",
        "log",
        "ls-files",
        "ls-tree",
        "mktree",
        "read-tree",
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
    (is_guard || ["cat", "true", "ralph-memory"].contains(&name)) && started.by == "ralph-memory"
}

/// Returns what must be the same: the exit code and the answer, without what says where it is and what the index
/// lacks.
fn told(answer: &Answer, root: &Path) -> (Option<i32>, Value) {
    let plain = answer.stdout.replace(&root.display().to_string(), "ROOT");
    // What is kept outside has a name that begins with a number made from the path of the project.
    let plain =
        plain.split(KEPT).map(|rest| if plain.starts_with(rest) { rest } else { rest.get(16..).unwrap_or(rest) });
    let plain: String = plain.collect();
    let mut json: Value = serde_json::from_str(&plain).unwrap_or(Value::String(plain));
    if let Some(status) = json.get_mut("counts").and_then(Value::as_object_mut) {
        status.remove("not_indexed");
    }
    (answer.code, json)
}

/// What the server is asked: the name of a tool, or of a method, and its arguments.
const REQUESTS: [(&str, &str); 14] = [
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
    ("resources/list", "{}"),
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

/// What lies around a memory: what it may change, and what must stay as it is.
struct Around {
    /// The memory, the file that `doctor` registers a merge driver in, and the result of a merge.
    memory: PathBuf,
    config: PathBuf,
    objects: PathBuf,
    /// Where `init` puts what explains the memory to an agent.
    skills: PathBuf,
    ours: PathBuf,
    /// Where `man` writes its pages: in the repository if the memory is in a folder of it.
    man: PathBuf,
    /// Where the program keeps what could not be written.
    kept: PathBuf,
    /// Folders of which nothing may change, and how they were.
    folders: Vec<PathBuf>,
    before: BTreeMap<PathBuf, Seen>,
}

/// What a file system says of a file or a folder, and the bytes of a file.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    mode: u32,
    size: u64,
    modified: (i64, i64),
    bytes: Vec<u8>,
}

impl Around {
    fn new(place: &Path, clone: &Clone, outside: &Path) -> Around {
        let folders = vec![clone.top.clone(), outside.to_owned()];
        let mut around = Around {
            memory: fs::canonicalize(clone.root.join(".ralph")).unwrap(),
            config: clone.top.join(".git/config"),
            objects: clone.top.join(".git/objects"),
            skills: clone.root.join(".claude"),
            ours: place.join("one/ours"),
            man: clone.root.parent().unwrap().join("man"),
            kept: place.join(HOME).join(KEPT),
            folders,
            before: BTreeMap::new(),
        };
        around.before = around.look();
        around
    }

    /// Returns whether a command may make, change or remove what is at a path.
    fn may_change(&self, call: &str, path: &Path, command: &str) -> bool {
        (call == "utimensat" && path.starts_with(&self.objects))
            || call == "socket" && command == "serve"
            || path.starts_with(&self.memory) && path != self.memory
            || path.starts_with("/dev/null")
            || path.starts_with("/dev/tty")
            // Pipes and memory have names of this form.
            || path.to_str().is_some_and(|path| path.starts_with("pipe:") || path.starts_with("/memfd:"))
            || self.kept.ancestors().take(3).any(|folder| path == folder)
            || path.starts_with(&self.kept)
            // What `run` gives to an agent lies in the folder for temporary files.
            || (command == "run" && path.starts_with(std::env::temp_dir()) && !self.folders.iter().any(|folder| path.starts_with(folder)))
            || (command == "doctor" && path.parent() == self.config.parent() && path.file_stem() == self.config.file_stem())
            || (command == "init" && path.starts_with(&self.skills))
            || (command == "merge-driver" && path.parent() == self.ours.parent())
            || (command == "man" && path.starts_with(&self.man))
    }

    /// Returns what is no longer as it was.
    fn changed(&self) -> Option<String> {
        let now = self.look();
        let names: BTreeSet<&PathBuf> = self.before.keys().chain(now.keys()).collect();
        let changed: Vec<_> = names.into_iter().filter(|name| self.before.get(*name) != now.get(*name)).collect();
        (!changed.is_empty()).then(|| format!("changed: {changed:?}"))
    }

    fn look(&self) -> BTreeMap<PathBuf, Seen> {
        let mut seen = BTreeMap::new();
        let mut folders = self.folders.clone();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                // Commands write there that are asked to.
                if [&self.memory, &self.config, &self.skills, &self.man].contains(&&path) {
                    continue;
                }
                let stat = fs::symlink_metadata(&path).unwrap();
                let is_folder = stat.is_dir();
                // A folder has a new time where a name in it is replaced, and so has an object that git has already.
                let modified = if is_folder || path.starts_with(&self.objects) {
                    (0, 0)
                } else {
                    (stat.mtime(), stat.mtime_nsec())
                };
                let bytes = if stat.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                let size = if is_folder { 0 } else { stat.size() };
                if is_folder {
                    folders.push(path.clone());
                }
                seen.insert(path, Seen { mode: stat.mode(), size, modified, bytes });
            }
        }
        seen
    }
}
