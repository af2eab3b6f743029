//! Small clones, of which there can be many: few entries, no second clone to compare with, and no tracer. Instead, what
//! is outside of the memory is listed before and after each step. Each printed command is tried.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::branches::Merge;
use super::clients::{self, Own};
use super::forged::FORGED;
use super::outcome::{Class, Outcome};
use super::printed::Shell;
use super::repository::{self, BRANCHES, CLIENTS, Clone, NAMES, OUTER_LINKS, SEALS, Template};
use super::steps::{ANY, Hand, OF_KIND, Step};
use super::surroundings::Around;
use super::{CANARY, MARK, SECRET, names};
use crate::program::{NOW, files};
use crate::random::Random;

/// The kinds of small clones, each as often as it is here.
const FIRST: [&str; 20] = [
    NAMES, CLIENTS, OUTER_LINKS, BRANCHES, NAMES, CLIENTS, SEALS, NAMES, CLIENTS, OUTER_LINKS, BRANCHES, NAMES, CLIENTS,
    NAMES, "links", NAMES, CLIENTS, OUTER_LINKS, SEALS, NAMES,
];
/// How many threads make clones: more than there are processors, since a thread often waits for a disk.
const THREADS: usize = 4;
/// How long a run may take before it is ended, whatever it waits for.
const TIME_OUT: Duration = Duration::from_secs(60);
/// An editor that leaves an entry that cannot be read, so that the program says how to go on.
const EDITOR: &str = "#!/bin/sh\nprintf -- '---\\ntitle: [\\n' > \"$1\"\n";

/// What every thread needs.
struct Shared<'a> {
    program: &'a Path,
    template: &'a Template,
    own: &'a Own,
    /// A folder with the program under its own name, and an editor.
    bin: PathBuf,
    seed: u64,
    only: Option<&'static str>,
}

/// Makes so many small clones below `place`, all of one kind if `only` names one.
pub(super) fn run(
    place: &Path,
    program: &Path,
    template: &Template,
    own: &Own,
    clones: usize,
    only: Option<&'static str>,
    seed: u64,
) -> Outcome {
    let bin = place.join("bin");
    let editor = bin.join("zqeditor");
    fs::write(&editor, EDITOR).unwrap();
    fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let shared = Shared { program, template, own, bin, seed, only };
    let next = AtomicUsize::new(0);
    let mut outcome = Outcome::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let place = place.join(format!("small-{thread}"));
                let (shared, next) = (&shared, &next);
                scope.spawn(move || {
                    fs::create_dir(&place).unwrap();
                    let mut part = Part { shared, place: &place, shell: Shell::new(&place), hand: Hand::new(), outcome: Outcome::default() };
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= clones {
                            break;
                        }
                        part.clone(number);
                    }
                    part.outcome.printed = part.shell.found;
                    part.outcome.printed_run = part.shell.run;
                    part.outcome
                })
            })
            .collect();
        for thread in threads {
            outcome.add(thread.join().unwrap());
        }
    });
    outcome
}

/// The part of the campaign that one thread does.
struct Part<'a> {
    shared: &'a Shared<'a>,
    place: &'a Path,
    shell: Shell,
    hand: Hand,
    outcome: Outcome,
}

impl Part<'_> {
    /// Makes a clone, and runs its steps.
    fn clone(&mut self, number: usize) {
        let shared = self.shared;
        let mut random = Random(shared.seed.wrapping_mul(7_000_003).wrapping_add(number as u64));
        let random = &mut random;
        let place = self.place.join("one");
        let _ = fs::remove_dir_all(&place);
        let home = place.join("home");
        fs::create_dir_all(&home).unwrap();
        for name in ["base", "ours", "theirs"] {
            fs::write(place.join(name), format!("---\ntitle: \"A\"\ntags: [{name}]\n---\n\n{name}\n")).unwrap();
        }
        let outside = repository::outside(&place);
        let first = shared.only.unwrap_or(FIRST[number % FIRST.len()]);
        let folder = if first == NAMES && random.below(3) == 0 { names::folder(random) } else { "clone".to_owned() };
        let mut clone = repository::make_small(place.join(&folder), shared.template, shared.own, &outside, first, random);
        if folder != "clone" {
            clone.names.hostile.push(folder.into());
        }
        self.outcome.small += 1;
        self.outcome.count(&clone.kinds);
        for stranger in &clone.strangers {
            *self.outcome.strangers.entry(stranger.how()).or_default() += 1;
        }
        let what = format!("seed {}, small clone {number} ({})", shared.seed, clone.kinds.join(", "));
        if first == BRANCHES {
            self.merge(&clone, &home, &what, random);
        }
        let around = Around::new(&place, &clone, &home, shared.own, vec![place.clone()]);
        for at in 0..OF_KIND + ANY {
            let step = self.hand.deal(if at < OF_KIND { first } else { "" }, random);
            self.step(step, &clone, &around, &home, random, &format!("{what}, step {at}"));
        }
        self.taken_over(&clone, &what);
    }

    /// Merges two branches of the clone.
    fn merge(&mut self, clone: &Clone, home: &Path, what: &str, random: &mut Random) {
        let gone = self.place.join("one/gone");
        fs::create_dir_all(&gone).unwrap();
        let own = self.shared.bin.join("ralph-memory");
        let to = gone.join("ralph-memory");
        // A link to it would be told as the program that it leads to.
        let real = own.canonicalize().unwrap();
        fs::hard_link(&real, &to).or_else(|_| fs::copy(&real, &to).map(drop)).unwrap();
        let (how, lost) = Merge { root: &clone.root, home, bin: &self.shared.bin, gone: &gone }.run(random);
        let _ = fs::remove_dir_all(&gone);
        *self.outcome.merges.entry(how).or_default() += 1;
        if let Some(lost) = lost {
            self.outcome.fault(Class::Lost, format!("{what}: {lost}"));
        }
    }

    /// Runs a step, and judges it.
    fn step(&mut self, step: &Step, clone: &Clone, around: &Around<'_>, home: &Path, random: &mut Random, what: &str) {
        *self.outcome.steps.entry(format!("{:?}", step.arguments)).or_default() += 1;
        let arguments: Vec<String> =
            step.arguments.iter().map(|argument| clone.names.filled(argument, random)).collect();
        let what = format!("{what}: {arguments:?}");
        let before = around.look();
        let (status, stdout, stderr) = self.run(step, &arguments, &clone.root, home);
        let code = status.code();
        self.outcome.ran(code);
        let mut fault = |class, fault: String| self.outcome.fault(class, format!("{what}: {fault}"));
        if !(matches!(code, Some(0..=6)) || step.is_endless && code == Some(130)) {
            fault(Class::Ended, format!("it ended with {status}: {stderr}"));
        }
        if let Some(changed) = around.changed(&before, step.arguments[0]) {
            fault(Class::Changed, changed);
        }
        if [&clone.root, &clone.root.join(".ralph")].iter().any(|folder| folder.join(MARK).exists()) {
            fault(Class::Started, "a program of the clone ran".to_owned());
            let _ = fs::remove_file(clone.root.join(MARK));
        }
        // Both print entries as in their files.
        let is_verbatim = ["show", "export"].contains(&step.arguments[0]);
        for word in [CANARY, SECRET, FORGED] {
            if (word != SECRET || !is_verbatim) && [&stdout, &stderr].iter().any(|text| text.contains(word)) {
                let class = if word == FORGED { Class::Believed } else { Class::Said };
                fault(class, format!("it said {word}: {:.200}", stdout.lines().chain(stderr.lines()).find(|line| line.contains(word)).unwrap_or_default()));
            }
        }
        for wrong in clients::judge(&clone.strangers, &clone.root, &arguments, code, &format!("{stdout}{stderr}")) {
            fault(Class::Vouched, wrong);
        }
        // What is told of all clones alike, and examples.
        if ["--help", "completions", "man", "export"].contains(&step.arguments[0]) {
            return;
        }
        let before = around.look();
        for answer in [&stdout, &stderr] {
            for wrong in self.shell.try_all(answer, &clone.root, &clone.names.hostile) {
                self.outcome.fault(Class::Printed, format!("{what}: {wrong}"));
            }
        }
        if let Some(changed) = around.changed(&before, "") {
            self.outcome.fault(Class::Printed, format!("{what}: a command that it prints {changed}"));
        }
    }

    /// Runs the program, and returns how it ended, and its outputs.
    fn run(&self, step: &Step, arguments: &[String], root: &Path, home: &Path) -> (ExitStatus, String, String) {
        let own = std::env::var_os("PATH").unwrap();
        let path = std::iter::once(self.shared.bin.clone()).chain(std::env::split_paths(&own));
        let mut command = Command::new(self.shared.program);
        command.args(["--now", NOW]).args(arguments).current_dir(root).env_clear();
        command.env("PATH", std::env::join_paths(path).unwrap()).env("HOME", home).env("EDITOR", "zqeditor");
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
            for path in found.into_iter().filter(|path| fs::symlink_metadata(path).is_ok_and(|stat| stat.is_file() && stat.len() < 1 << 20)) {
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
        let _ = stdout.read_line(&mut line);
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
        let _ = std::io::copy(&mut stdout, &mut std::io::sink());
    }
    line
}
