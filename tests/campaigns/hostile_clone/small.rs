//! Small clones, of which there can be many: few entries, no second clone to compare with, and no tracer. Instead, what
//! is outside of the memory is listed before and after each step. Each printed command is tried.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::branches::Merge;
use super::clients;
use super::forged::FORGED;
use super::outcome::{Class, Outcome};
use super::printed::Shell;
use super::repository::{self, BRANCHES, CLIENTS, Clone, NAMES, OUTER_LINKS, SEALS};
use super::steps::{ANY, Hand, OF_KIND, Step};
use super::surroundings::{Around, Listing};
use super::{CANARY, MARK, Made, SECRET, names};
use crate::program::{NOW, files};
use crate::random::Random;

/// The kinds of small clones, each as often as it is here.
const FIRST: [&str; 20] = [
    NAMES,
    CLIENTS,
    OUTER_LINKS,
    BRANCHES,
    NAMES,
    CLIENTS,
    SEALS,
    NAMES,
    CLIENTS,
    OUTER_LINKS,
    BRANCHES,
    NAMES,
    CLIENTS,
    NAMES,
    "links",
    NAMES,
    CLIENTS,
    OUTER_LINKS,
    SEALS,
    NAMES,
];
/// How many threads make clones, beside those that make traced ones: a thread often waits for a disk.
const THREADS: usize = 3;
/// How long a run may take before it is ended, whatever it waits for.
const TIME_OUT: Duration = Duration::from_secs(60);
/// An editor that leaves an entry that cannot be read, so that the program says how to go on.
const EDITOR: &str = "#!/bin/sh\nprintf -- '---\\ntitle: [\\n' > \"$1\"\n";

/// Makes so many small clones below `place`, all of one kind if `only` names one.
pub(super) fn run(made: &Made<'_>, place: &Path, clones: usize, only: Option<&'static str>, seed: u64) -> Outcome {
    let editor = made.bin.join("zqeditor");
    fs::write(&editor, EDITOR).unwrap();
    fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let next = AtomicUsize::new(0);
    let mut outcome = Outcome::default();
    std::thread::scope(|scope| {
        let thread = |thread: usize| {
            let place = place.join(format!("small-{thread}"));
            let next = &next;
            scope.spawn(move || {
                fs::create_dir(&place).unwrap();
                let (shell, outcome) = (Shell::new(&place), Outcome::default());
                let mut part = Part { made, place: &place, only, seed, shell, hand: Hand::new(), outcome };
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= clones {
                        return part.done();
                    }
                    part.clone(number);
                }
            })
        };
        let threads: Vec<_> = (0..THREADS).map(thread).collect();
        for thread in threads {
            outcome.add(thread.join().unwrap());
        }
    });
    outcome
}

/// The part of the campaign that one thread does.
struct Part<'a> {
    made: &'a Made<'a>,
    place: &'a Path,
    only: Option<&'static str>,
    seed: u64,
    shell: Shell,
    hand: Hand,
    outcome: Outcome,
}

/// What a step runs in.
struct World<'a> {
    clone: &'a Clone,
    around: &'a Around<'a>,
    home: &'a Path,
}

impl Part<'_> {
    /// Returns what came of it.
    fn done(mut self) -> Outcome {
        self.outcome.printed = self.shell.found;
        self.outcome.printed_run = self.shell.run;
        self.outcome
    }

    /// Makes a clone, and runs its steps.
    fn clone(&mut self, number: usize) {
        let mut random = Random(self.seed.wrapping_mul(7_000_003).wrapping_add(number as u64));
        let random = &mut random;
        let place = repository::fresh(self.place, self.outcome.small);
        let (outside, home) = (repository::begin(&place), place.join("home"));
        let first = self.only.unwrap_or(FIRST[number % FIRST.len()]);
        let folder = if first == NAMES && random.below(3) == 0 { names::folder(random) } else { "clone".to_owned() };
        let mut clone =
            repository::make_small(place.join(&folder), &self.made.template, &self.made.own, &outside, first, random);
        if folder != "clone" {
            clone.names.hostile.push(folder.into());
        }
        self.outcome.small += 1;
        self.outcome.count(&clone.kinds);
        for stranger in &clone.strangers {
            *self.outcome.strangers.entry(stranger.how()).or_default() += 1;
        }
        let what = format!("seed {}, small clone {number} ({})", self.seed, clone.kinds.join(", "));
        if first == BRANCHES {
            let before = FIRST[..number % FIRST.len()].iter().filter(|kind| **kind == BRANCHES).count();
            let per_round = FIRST.iter().filter(|kind| **kind == BRANCHES).count();
            self.merge(number / FIRST.len() * per_round + before, &clone, &place, &what, random);
        }
        let around = Around::new(&place, &clone, &home, &self.made.own, vec![place.clone()]);
        let mut seen = around.look();
        for at in 0..OF_KIND + ANY {
            let step = self.hand.deal(if at < OF_KIND { first } else { "" }, random);
            let world = World { clone: &clone, around: &around, home: &home };
            seen = self.step(step, &world, &seen, random, &format!("{what}, step {at}"));
        }
        self.taken_over(&clone, &what);
    }

    /// Merges two branches of the clone.
    fn merge(&mut self, number: usize, clone: &Clone, place: &Path, what: &str, random: &mut Random) {
        let (gone, home) = (place.join("gone"), place.join("home"));
        fs::create_dir_all(&gone).unwrap();
        // A symbolic link would be told as what it leads to.
        fs::hard_link(self.made.bin.join("copy"), gone.join("ralph-memory")).unwrap();
        let (how, lost) =
            Merge { root: &clone.root, home: &home, bin: &self.made.bin, gone: &gone }.run(number, random);
        let _ = fs::remove_dir_all(&gone);
        *self.outcome.merges.entry(how).or_default() += 1;
        if let Some(lost) = lost {
            self.outcome.fault(Class::Lost, format!("{what}: {lost}"));
        }
    }

    /// Runs a step, and judges it.
    /// `before` is how everything was; how it is then is returned.
    fn step(&mut self, step: &Step, world: &World<'_>, before: &Listing, random: &mut Random, what: &str) -> Listing {
        let World { clone, around, home } = world;
        *self.outcome.steps.entry(format!("{:?}", step.arguments)).or_default() += 1;
        let arguments: Vec<String> =
            step.arguments.iter().map(|argument| clone.names.filled(argument, random)).collect();
        let what = format!("{what}: {arguments:?}");
        let (status, stdout, stderr) = self.run(step, &arguments, &clone.root, home);
        let code = status.code();
        self.outcome.ran(code);
        let mut fault = |class, fault: String| self.outcome.fault(class, format!("{what}: {fault}"));
        if !(matches!(code, Some(0..=6)) || step.is_endless && code == Some(130)) {
            fault(Class::Ended, format!("it ended with {status}: {stderr}"));
        }
        let mut after = around.look();
        if let Some(changed) = around.changed(before, &after, step.arguments[0]) {
            fault(Class::Changed, changed);
        }
        if [&clone.root, &clone.root.join(".ralph")].iter().any(|folder| folder.join(MARK).exists()) {
            fault(Class::Started, "a program of the clone ran".to_owned());
            let _ = fs::remove_file(clone.root.join(MARK));
            after = around.look();
        }
        // Both print entries as in their files.
        let is_verbatim = ["show", "export"].contains(&step.arguments[0]);
        for word in [CANARY, SECRET, FORGED] {
            if (word != SECRET || !is_verbatim) && [&stdout, &stderr].iter().any(|text| text.contains(word)) {
                let class = if word == FORGED { Class::Believed } else { Class::Said };
                fault(
                    class,
                    format!(
                        "it said {word}: {:.200}",
                        stdout.lines().chain(stderr.lines()).find(|line| line.contains(word)).unwrap_or_default()
                    ),
                );
            }
        }
        for wrong in clients::judge(&clone.strangers, &clone.root, &arguments, code, &format!("{stdout}{stderr}")) {
            fault(Class::Vouched, wrong);
        }
        // What is told of all clones alike, and examples.
        if ["--help", "completions", "man", "export"].contains(&step.arguments[0]) {
            return after;
        }
        let n_run = self.shell.run;
        for answer in [&stdout, &stderr] {
            for wrong in self.shell.try_all(answer, &clone.root, &clone.names.hostile) {
                self.outcome.fault(Class::Printed, format!("{what}: {wrong}"));
            }
        }
        if self.shell.run == n_run {
            return after;
        }
        let now = around.look();
        if let Some(changed) = around.changed(&after, &now, "") {
            self.outcome.fault(Class::Printed, format!("{what}: a command that it prints {changed}"));
        }
        now
    }

    /// Runs the program, and returns how it ended, and its outputs.
    fn run(&self, step: &Step, arguments: &[String], root: &Path, home: &Path) -> (ExitStatus, String, String) {
        let mut command = Command::new(self.made.program);
        command.args(["--now", NOW]).args(arguments).current_dir(root).env_clear();
        command.env("PATH", self.made.path()).env("HOME", home).env("EDITOR", "zqeditor");
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        let files = ["in", "out", "err"].map(|name| self.place.join(name));
        fs::write(&files[0], step.input).unwrap();
        command.stdin(File::open(&files[0]).unwrap()).stderr(File::create(&files[2]).unwrap());
        if step.is_endless {
            command.stdout(Stdio::piped());
        } else {
            command.stdout(File::create(&files[1]).unwrap());
        }
        let (status, said) = ended(command.spawn().unwrap(), step.is_endless);
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        (status, if step.is_endless { said } else { read(&files[1]) }, read(&files[2]))
    }

    /// Looks for what came into the memory from outside, or from a forged state.
    fn taken_over(&mut self, clone: &Clone, what: &str) {
        let memory = clone.root.join(".ralph");
        if memory.is_symlink() {
            return;
        }
        for folder in ["knowledge", "journal", "archive"].map(|name| memory.join(name)) {
            // Through a link, there is what is outside.
            let found = if folder.is_symlink() { Vec::new() } else { files(&folder) };
            for path in found
                .into_iter()
                .filter(|path| fs::symlink_metadata(path).is_ok_and(|stat| stat.is_file() && stat.len() < 1 << 20))
            {
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
                for (word, class) in [(CANARY, Class::Said), (FORGED, Class::Believed)] {
                    if text.contains(word) {
                        self.outcome.fault(class, format!("{what}: {} has {word}", path.display()));
                    }
                }
            }
        }
    }
}

/// Waits until a program has ended, and ends it if that takes too long; an endless one after its first line, which is
/// returned.
fn ended(mut child: Child, is_endless: bool) -> (ExitStatus, String) {
    let (done, waiting) = mpsc::channel::<()>();
    let pid = Pid::from_child(&child);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(TIME_OUT) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        let said = if is_endless { first_line(&mut child) } else { String::new() };
        let status = child.wait().unwrap();
        drop(done);
        (status, said)
    })
}

/// Returns the first line of a program that goes on until it is ended, and ends it.
pub(super) fn first_line(child: &mut Child) -> String {
    use std::io::{BufRead as _, BufReader};

    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = BufReader::new(stdout);
        // One that says nothing, or what is wrong, ends by itself.
        let is_running = stdout.read_line(&mut line).is_ok_and(|read| read > 0) && !line.contains("\"error\":");
        if is_running {
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
        }
        let _ = std::io::copy(&mut stdout, &mut std::io::sink());
    }
    line
}
