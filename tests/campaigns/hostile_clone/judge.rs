//! What must hold of each run in a hostile clone, whoever runs it: how it ends, what it says, what it changes, and what the
//! commands do that it prints.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::forged::FORGED;
use super::printed::Shell;
use super::repository::Clone;
use super::steps::Step;
use super::surroundings::{Around, Listing};
use super::{CANARY, MARK, Made, SECRET, clients};
use crate::program::NOW;
use crate::random::Random;
use crate::tally::Tally;

/// How long a run may take before it is ended, whatever it waits for.
const TIME_OUT: Duration = Duration::from_secs(60);

/// What must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// It ended as no command does: by a signal, too late, or with an unknown code.
    Ended,
    /// It started a program, or a file proves that one ran.
    Started,
    /// It changed something that it must not, or wrote through a link.
    Changed,
    /// It said what is outside, or a secret.
    Said,
    /// It took more memory or time than it may.
    Took,
    /// Its answer depends on a cache or a state that came with the clone.
    Differed,
    /// A command that it printed does something else than it says.
    Printed,
    /// It takes a stranger's server or hook for its own.
    Vouched,
    /// It believed a file that a stranger sealed.
    Believed,
}

/// What a step runs in.
pub(super) struct World<'a> {
    pub(super) clone: &'a Clone,
    pub(super) around: Around<'a>,
    pub(super) home: PathBuf,
}

/// What a run answered: the exit code, and its texts. Those of a command are its two outputs.
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) texts: Vec<String>,
}

/// Judges runs, and counts what came of them.
pub(super) struct Judge {
    shell: Shell,
    pub(super) tally: Tally,
}

impl Judge {
    pub(super) fn new(place: &Path) -> Judge {
        Judge { shell: Shell::new(place), tally: Tally::default() }
    }

    /// Returns what came of all runs.
    pub(super) fn done(mut self) -> Tally {
        self.tally.add("printed", self.shell.found);
        self.tally.add("printed and run", self.shell.run);
        self.tally
    }

    pub(super) fn fault(&mut self, class: Class, what: &str, fault: &str) {
        self.tally.fault(format!("{class:?}: {what}: {fault}"));
    }

    /// Counts a clone, and what it has.
    pub(super) fn count(&mut self, size: &str, clone: &Clone) {
        self.tally.count(size);
        for kind in &clone.kinds {
            self.tally.count(format!("kind: {kind}"));
        }
        for stranger in &clone.strangers {
            self.tally.count(format!("stranger: {}", stranger.how()));
        }
    }

    /// Judges an answer, and what is around the memory then, beside what was there before. Tries the commands that the answer
    /// prints, and returns what is around the memory after that.
    pub(super) fn judge(
        &mut self,
        answer: &Answer,
        arguments: &[String],
        world: &World<'_>,
        before: &Listing,
        what: &str,
    ) -> Listing {
        let World { clone, around, .. } = world;
        let (code, command) = (answer.code, arguments[0].as_str());
        self.tally.count("runs");
        self.tally.count(format!("code: {}", code.unwrap_or(-1)));
        // What goes on ends by a signal.
        if !(matches!(code, Some(0..=6)) || ["serve", "watch"].contains(&command) && code == Some(130)) {
            self.fault(Class::Ended, what, &format!("it ended with {code:?}: {:?}", answer.texts.last()));
        }
        let mut after = around.look();
        if let Some(changed) = around.changed(before, &after, command) {
            self.fault(Class::Changed, what, &changed);
        }
        for folder in [&clone.root, &clone.root.join(".ralph")] {
            if fs::remove_file(folder.join(MARK)).is_ok() {
                self.fault(Class::Started, what, "a program of the clone ran");
                after = around.look();
            }
        }
        // Both print entries as in their files.
        let is_verbatim = command == "show";
        for (word, class) in [(CANARY, Class::Said), (SECRET, Class::Said), (FORGED, Class::Believed)] {
            let mut lines = answer.texts.iter().flat_map(|text| text.lines());
            let said = lines.find(|line| line.contains(word)).filter(|_| word != SECRET || !is_verbatim);
            if let Some(line) = said {
                self.fault(class, what, &format!("it said {word}: {line:.200}"));
            }
        }
        for wrong in clients::judge(&clone.strangers, &clone.root, arguments, code, &answer.texts.concat()) {
            self.fault(Class::Vouched, what, &wrong);
        }
        // What is told of all clones alike, and examples.
        if ["--help", "completions", "man"].contains(&command) {
            return after;
        }
        let n_run = self.shell.run;
        for text in &answer.texts {
            for wrong in self.shell.try_all(text, &clone.root, &clone.names.hostile) {
                self.fault(Class::Printed, what, &wrong);
            }
        }
        if self.shell.run == n_run {
            return after;
        }
        let now = around.look();
        if let Some(changed) = around.changed(&after, &now, "") {
            self.fault(Class::Printed, what, &format!("a command that it prints {changed}"));
        }
        now
    }
}

impl World<'_> {
    /// Returns the arguments of a step with the clone's names in them.
    pub(super) fn arguments(&self, step: &Step, random: &mut Random) -> Vec<String> {
        step.arguments.iter().map(|argument| self.clone.names.filled(argument, random)).collect()
    }

    /// Adds these arguments to a command, and lets it run in a folder with the variables that a user has.
    pub(super) fn prepare(
        &self,
        mut command: Command,
        made: &Made<'_>,
        root: &Path,
        arguments: &[impl AsRef<OsStr>],
    ) -> Command {
        command.args(["--now", NOW]).args(arguments).current_dir(root);
        command.env_clear().env("PATH", made.path()).env("HOME", &self.home);
        command
    }
}

/// Runs a step of the program, with its input and its outputs in files of a folder. `wait` starts the command and waits until it
/// has ended; what it returns beside the exit code is the output of a program that is ended after its first line.
pub(super) fn answer<Seen>(
    mut command: Command,
    step: &Step,
    folder: &Path,
    wait: impl FnOnce(&mut Command) -> (Option<i32>, String, Seen),
) -> (Answer, Seen) {
    let [input, out, err] = ["in", "out", "err"].map(|name| folder.join(name));
    fs::write(&input, &step.input).unwrap();
    command.stdin(File::open(&input).unwrap()).stderr(File::create(&err).unwrap());
    if step.is_endless {
        command.stdout(Stdio::piped());
    } else {
        command.stdout(File::create(&out).unwrap());
    }
    let (code, line, seen) = wait(&mut command);
    let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    (Answer { code, texts: vec![if step.is_endless { line } else { read(&out) }, read(&err)] }, seen)
}

/// Waits until a program has ended, and ends it if that takes too long; an endless one after its first line, which is
/// returned.
pub(super) fn ended(command: &mut Command, is_endless: bool) -> (Option<i32>, String, ()) {
    let mut child = command.spawn().unwrap();
    let (done, waiting) = mpsc::channel::<()>();
    let pid = Pid::from_child(&child);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(TIME_OUT) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        let line = if is_endless { first_line(&mut child) } else { String::new() };
        let status = child.wait().unwrap();
        drop(done);
        (status.code(), line, ())
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
