//! Repositories with arbitrary committed files under `.ralph/`, and beside it what else a stranger would commit, are
//! cloned, and then every command and every tool of the server runs in the clone under a tracer, and a browser visits each
//! page. No program but `git` is started, with the arguments of the table below; git starts none; there is no socket, no
//! write outside of `.ralph/`, and none in `.git`; answers are those of a clone without `cache/` and `state/`; each command
//! ends in time, in little memory, and never with a crash. What they print as a command does nothing else when it is run.
//!
//! Kinds of hostility and commands are dealt like cards: as many traced clones as there are kinds have every kind and run
//! every command. Beside them are [small] clones, which cost a tenth: the tests make 32 traced ones and 468 small ones. The
//! program `campaigns` makes any number in the same proportion (`hostile-clone`), small ones with forged state alone
//! (`hostile-clone-sealed`), or runs all of the commands in each (`hostile-clone-whole`).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::browser::{FORMS, PAGES, Visit, visit};
use crate::calls::held;
use crate::program::NOW;
use crate::random::Random;

#[path = "hostile_clone/branches.rs"]
mod branches;
#[path = "hostile_clone/clients.rs"]
mod clients;
#[path = "hostile_clone/forged.rs"]
mod forged;
#[path = "hostile_clone/names.rs"]
mod names;
#[path = "hostile_clone/outcome.rs"]
mod outcome;
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
use outcome::Class;
pub(crate) use outcome::Outcome;
use printed::Shell;
pub(crate) use repository::KINDS;
use repository::{Clone, SEALS, Template};
pub(crate) use steps::STEPS;
use steps::Step;
use surroundings::{Around, KEPT};
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

/// Of so many clones, one is traced, and the others are small.
const TRACED: usize = 16;

/// Makes so many clones below `place`: of sixteen, one is traced and runs a few steps, and the others are small. With
/// `every` all are traced and run every step.
pub(crate) fn run(place: &Path, program: &Path, clones: usize, every: bool, seed: u64) -> Outcome {
    let made = Made::new(place, program);
    if every {
        return made.traced(place, clones, every, seed);
    }
    let traced = (clones / TRACED).max(1);
    let mut outcome = Outcome::default();
    let half = |number: usize| {
        let place = place.join(format!("traced-{number}"));
        fs::create_dir(&place).unwrap();
        let seed = seed.wrapping_mul(2).wrapping_add(number as u64);
        made.traced(&place, [traced / 2, traced.div_ceil(2)][number], false, seed)
    };
    let half = &half;
    std::thread::scope(|scope| {
        let halves = [0, 1].map(|number| scope.spawn(move || half(number)));
        outcome.add(small::run(&made, place, clones - traced, None, seed));
        for half in halves {
            outcome.add(half.join().unwrap());
        }
    });
    outcome
}

/// Makes so many small clones below `place` in which a stranger has sealed state with a guessed key.
pub(crate) fn sealed(place: &Path, program: &Path, clones: usize, seed: u64) -> Outcome {
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
    fn traced(&self, place: &Path, clones: usize, every: bool, seed: u64) -> Outcome {
        let deck = Deck { random: Random(seed), left: Vec::new() };
        let (shell, outcome) = (Shell::new(place), Outcome::default());
        let mut campaign = Campaign { place, home: PathBuf::new(), made: self, shell, deck, outcome };
        for number in 0..clones {
            let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
            let place = repository::fresh(place, number);
            let outside = repository::begin(&place);
            campaign.home = place.join("home");
            let kind = KINDS[number % KINDS.len()];
            let clone = repository::make(&place, &self.template, &self.own, &outside, kind, &mut random);
            campaign.outcome.traced += 1;
            campaign.outcome.count(&clone.kinds);
            let what = format!("seed {seed}, clone {number} ({})", clone.kinds.join(", "));
            campaign.all(&clone, &outside, every, &mut random, &what);
        }
        campaign.outcome.printed = campaign.shell.found;
        campaign.outcome.printed_run = campaign.shell.run;
        campaign.outcome
    }

    /// Returns the variable PATH with the folder of the program first.
    fn path(&self) -> OsString {
        let own = std::env::var_os("PATH").unwrap();
        std::env::join_paths(std::iter::once(self.bin.clone()).chain(std::env::split_paths(&own))).unwrap()
    }
}

struct Campaign<'a> {
    place: &'a Path,
    /// The home of the user. Each clone has one, so that what is kept there for one clone is not found in the next.
    home: PathBuf,
    made: &'a Made<'a>,
    shell: Shell,
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
pub(crate) const N_CARDS: usize = STEPS.len() + 1 + N_BROWSERS;

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
        let home = self.home.clone();
        let place = home.parent().unwrap();
        let around = Around::new(place, clone, &home, &self.made.own, vec![clone.top.clone(), outside.to_owned()]);
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
                Card::Command(step) => self.step(step, clone, &around, is_same, random, &what),
                Card::Agent => self.server(clone, &around, is_same, &what),
                Card::Browser => self.page(clone, &around, is_same, &what),
            };
        }
    }

    fn fault(&mut self, class: Class, fault: String) {
        self.outcome.fault(class, fault);
    }

    /// Runs one command in both clones, and compares the answers where `is_same`. Returns whether the memories can
    /// be compared afterwards.
    fn step(
        &mut self,
        step: &Step,
        clone: &Clone,
        around: &Around<'_>,
        is_same: bool,
        random: &mut Random,
        what: &str,
    ) -> bool {
        let arguments: Vec<String> =
            step.arguments.iter().map(|argument| clone.names.filled(argument, random)).collect();
        let files = ["in", "out", "err"].map(|name| self.place.join(name));
        fs::write(&files[0], step.input).unwrap();
        let open = || fs::File::open(&files[0]).unwrap();
        let mut command = self.command(&clone.without, &arguments);
        command.stdin(open());
        let without = if step.is_endless {
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            let stdout = small::first_line(&mut child);
            Answer { code: child.wait().unwrap().code(), stdout, stderr: String::new() }
        } else {
            let output = command.output().unwrap();
            Answer { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
        };
        let mut command = self.prepare(self.held(&arguments), &clone.root);
        command.stdin(open()).stderr(fs::File::create(&files[2]).unwrap());
        let said = |path: &Path| text(&fs::read(path).unwrap());
        let before = around.look();
        let (testimony, stdout) = if step.is_endless {
            let mut stdout = String::new();
            let testimony = witness(command.stdout(Stdio::piped()), |child| stdout = small::first_line(child));
            (testimony, stdout)
        } else {
            let testimony = witness(command.stdout(fs::File::create(&files[1]).unwrap()), |_| {});
            (testimony, said(&files[1]))
        };
        let answer = Answer { code: testimony.code, stdout, stderr: said(&files[2]) };
        self.judge(&testimony, &answer, step.arguments[0], around, what);
        let after = around.look();
        if let Some(changed) = around.changed(&before, &after, step.arguments[0]) {
            self.fault(Class::Changed, format!("{what}: {changed}"));
        }
        let both = format!("{}{}", answer.stdout, answer.stderr);
        for wrong in clients::judge(&clone.strangers, &clone.root, &arguments, answer.code, &both) {
            self.fault(Class::Vouched, format!("{what}: {wrong}"));
        }
        // What is told of all clones alike, and examples.
        if !["--help", "completions", "man", "export"].contains(&step.arguments[0]) {
            self.try_printed(&[&answer.stdout, &answer.stderr], clone, around, what);
        }
        let is_refused = matches!(answer.code, Some(4 | 6)) && is_refusal(&[&answer.stdout, &answer.stderr]);
        self.outcome.refused += usize::from(is_refused);
        if is_same && step.is_compared && !is_refused {
            self.outcome.compared += 1;
            let (with, without) = (told(&answer, &clone.root), told(&without, &clone.without));
            if with != without {
                self.fault(
                    Class::Differed,
                    format!("{what}: with its cache and state: {with:?}\n    without: {without:?}"),
                );
            }
        }
        is_same && !step.is_random && !is_refused
    }

    /// Runs the commands that answers print.
    fn try_printed(&mut self, answers: &[&str], clone: &Clone, around: &Around<'_>, what: &str) {
        let before = around.look();
        for answer in answers {
            for wrong in self.shell.try_all(answer, &clone.root, &clone.names.hostile) {
                self.fault(Class::Printed, format!("{what}: {wrong}"));
            }
        }
        if let Some(changed) = around.changed(&before, &around.look(), "") {
            self.fault(Class::Printed, format!("{what}: a command that it prints {changed}"));
        }
    }

    /// Does the same with all that the server for agents can be asked.
    fn server(&mut self, clone: &Clone, around: &Around<'_>, is_same: bool, what: &str) -> bool {
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
        self.try_printed(&said.iter().map(String::as_str).collect::<Vec<_>>(), clone, around, what);
        if (with.len(), without.len()) != (REQUESTS.len(), REQUESTS.len()) {
            self.fault(
                Class::Ended,
                format!("{what}: {} and {} of {} answers: {with:?}", with.len(), without.len(), REQUESTS.len()),
            );
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
                self.fault(
                    Class::Differed,
                    format!("{what}, {}: with its cache and state: {with}\n    without: {without}", request.0),
                );
            }
        }
        is_same
    }

    /// Does the same with all that a browser can ask for.
    fn page(&mut self, clone: &Clone, around: &Around<'_>, is_same: bool, what: &str) -> bool {
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
        self.try_printed(&said.iter().map(String::as_str).collect::<Vec<_>>(), clone, around, what);
        self.outcome.end_ms = self.outcome.end_ms.max(with.ended_in.as_millis());
        if with.answers.is_empty() {
            self.outcome.unserved += 1;
            if with.stderr.trim().is_empty() || !without.answers.is_empty() && is_same {
                self.fault(Class::Ended, format!("{what}: no server, and {:?}", with.stderr));
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
            self.fault(
                Class::Ended,
                format!("{what}: {} of {n_asked} answers, of which are wrong: {wrong:?}", with.answers.len()),
            );
        }
        if with.answers.last().map(|(_, status, _)| *status) != Some(403) {
            self.fault(
                Class::Changed,
                format!("{what}: a form without the token was taken: {:?}", with.answers.last()),
            );
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
                self.fault(Class::Differed, format!("{what}, {page}: with its cache and state: {status} {with:.300}\n    without: {other} {without:.300}"));
            }
        }
        is_same
    }

    /// Checks the effects of a run, and its output.
    fn judge(&mut self, testimony: &Testimony, answer: &Answer, command: &str, around: &Around<'_>, what: &str) {
        self.outcome.ran(answer.code);
        self.outcome.peak_kb = self.outcome.peak_kb.max(testimony.peak_kb);
        self.outcome.cpu_ms = self.outcome.cpu_ms.max(testimony.cpu_ms);
        let mut wrong = Vec::new();
        // What goes on ends by a signal.
        if !(matches!(answer.code, Some(0..=6)) || ["serve", "watch"].contains(&command) && answer.code == Some(130)) {
            wrong.push((Class::Ended, format!("it ended with {:?}: {}", answer.code, answer.stderr)));
        }
        for started in &testimony.started {
            self.outcome.gits += usize::from(is_git(started));
            let is_sqlite = command == "import" && started.arguments.first().is_some_and(|name| name == "sqlite3");
            if !(is_git(started) || is_sqlite || command == "run" && is_of_run(started)) {
                wrong.push((Class::Started, format!("it started {started:?}")));
            }
        }
        let changed: BTreeSet<_> =
            testimony.changed.iter().filter(|(call, path)| !around.may_change(call, path, command)).collect();
        if !changed.is_empty() {
            wrong.push((Class::Changed, format!("it changed {changed:?}")));
        }
        let most_kb = if command == "serve" { MAX_PAGE_MEMORY_KB } else { MAX_MEMORY_KB };
        if testimony.peak_kb > most_kb {
            wrong.push((Class::Took, format!("it took {} kB", testimony.peak_kb)));
        }
        if testimony.cpu_ms > MAX_CPU_MS {
            wrong.push((Class::Took, format!("it took {} ms of CPU", testimony.cpu_ms)));
        }
        // Both print entries as in their files.
        let is_verbatim = ["show", "export"].contains(&command);
        for (word, class) in [(CANARY, Class::Said), (SECRET, Class::Said), (forged::FORGED, Class::Believed)] {
            if (word != SECRET || !is_verbatim) && (answer.stdout.contains(word) || answer.stderr.contains(word)) {
                wrong.push((class, format!("it said {word}")));
            }
        }
        for (class, wrong) in wrong {
            self.fault(class, format!("{what}: {wrong}"));
        }
    }

    /// Returns the program as it is run without a tracer.
    fn command(&self, root: &Path, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(self.made.program);
        command.args(["--now", NOW]).args(arguments);
        self.prepare(command, root)
    }

    /// Returns the program as it waits for a tracer.
    fn held(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = held(self.made.program);
        command.args(["--now", NOW]).args(arguments);
        command
    }

    fn prepare(&self, mut command: Command, root: &Path) -> Command {
        command.env_clear().env("PATH", self.made.path()).env("HOME", &self.home);
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
        "grep",
        "hash-object",
        "log",
        "ls-files",
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
    let plain = answer.stdout.replace(&root.display().to_string(), "ROOT");
    // What is kept outside has a name that begins with a number made from the path of the project.
    let plain =
        plain.split(KEPT).map(|rest| if plain.starts_with(rest) { rest } else { rest.get(16..).unwrap_or(rest) });
    let plain: String = plain.collect();
    let mut json: Value = serde_json::from_str(&plain).unwrap_or(Value::String(plain));
    // Files that came with a clone use up numbers.
    for operation in json.get_mut("operations").and_then(Value::as_array_mut).into_iter().flatten() {
        operation["number"] = Value::Null;
    }
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
