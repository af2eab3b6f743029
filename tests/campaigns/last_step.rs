//! Failures between the end of an agent and the journal's entry: in `run`, in `record`, and in the library's `finish`.
//! Each sigil of the agent is in the memory afterwards, or in a file that the message names; and `record` of that file
//! restores all of it.
//!
//! Some faults last, such as a lock that stays taken, and some file operations fail once: the tests make few of these
//! fail, and the program `campaigns` each in every possible way. Linux on x86-64 only.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use ralph_memory::memory::{Report, Run, StateFolders};
use ralph_memory::{Knowledge, Memory, Task};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::fault_campaign::tracer::{At, Fault, Program, Thin};
use crate::program::files;
use crate::tally::Tally;

/// The words of the agent that must not get lost, each in another part of its answer.
const WORDS: [&str; 5] = ["wordofnotes", "wordoftitle", "wordoffact", "wordoflearning", "wordofretry"];
const ANSWER: &str = "<journal>\nwordofnotes\n</journal>\n\
    <knowledge tags=\"zebra, fresh\" title=\"Known already\">\nwordoffact\n</knowledge>\n\
    <knowledge tags=\"zebra\" title=\"The wordoftitle\">\nIt is new.\n</knowledge>\n\
    <learning category=\"pitfall\" tags=\"shell\">\nMind the wordoflearning.\n</learning>\n\
    <retry-suggestion>wordofretry</retry-suggestion>\n<task-done>t-last</task-done>\n";
const TASK: &str = "t-last";
/// How long is waited for the agent of a run to begin.
const PATIENCE: Duration = Duration::from_secs(60);
/// Only this many operations on the cache count: it is rebuilt whenever something is wrong with it.
const THINNED: usize = 40;

/// Who ends the iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The command that also started the agent.
    Run,
    /// The command that reads the agent's output.
    Record,
    /// The library.
    Finish,
}

/// A fault that lasts until a person fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The entry of a fact has a frontmatter that no edit can be proved in.
    Uneditable,
    /// The old version of that entry would go through a link.
    Linked,
    /// An editor saves that entry all the time.
    Saved,
    /// Another process has the lock.
    Locked,
    /// `.ralph` was removed.
    Gone,
    /// A file is where the journal must be.
    NoJournal,
    /// Another process has the lock, and the user's state folder cannot be written.
    NoState,
}

pub(crate) const WAYS: [Way; 3] = [Way::Run, Way::Record, Way::Finish];
pub(crate) const TROUBLES: [Trouble; 7] = [
    Trouble::Uneditable,
    Trouble::Linked,
    Trouble::Saved,
    Trouble::Locked,
    Trouble::Gone,
    Trouble::NoJournal,
    Trouble::NoState,
];

/// A project with a memory, a home folder beside it, and the program.
struct Place<'a> {
    base: PathBuf,
    program: &'a Path,
}

/// The result of an attempt to record everything: the message, and whether it succeeded.
struct Said {
    is_done: bool,
    text: String,
    /// What an editor overwrote meanwhile, which is its own affair.
    overwritten: String,
}

impl Place<'_> {
    fn new<'a>(base: &Path, program: &'a Path) -> Place<'a> {
        let place = Place { base: base.to_owned(), program };
        for folder in ["project", "home", "tmp"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        Memory::init(&place.root()).unwrap();
        let known =
            Knowledge { source: ralph_memory::Source::Agent, ..Knowledge::new("Known already", ["zebra"], "Old.") };
        Memory::open(&place.root()).unwrap().add(&known).unwrap();
        let script = "while [ -e ../wait ]; do /bin/sleep 0.01; done\n: > ended\n";
        fs::write(base.join("agent.sh"), format!("{script}/bin/cat {}\n", base.join("answer").display())).unwrap();
        fs::write(base.join("answer"), ANSWER).unwrap();
        place
    }

    fn root(&self) -> PathBuf {
        self.base.join("project")
    }

    fn entry(&self) -> PathBuf {
        self.root().join(".ralph/knowledge/known-already.md")
    }

    fn memory(&self) -> Memory {
        let memory = Memory::open_for_user(Some(&self.root()), &self.root(), None, [].into_iter()).unwrap();
        let memory = memory.with_lock_timeout(Duration::from_millis(20));
        let (home, tmp) = (self.base.join("home"), self.base.join("tmp"));
        memory.keeping_in(StateFolders::of_user(&|name| match name {
            "HOME" => Some(home.clone().into()),
            "TMPDIR" => Some(tmp.clone().into()),
            _ => None,
        }))
    }

    fn task() -> Task {
        Task { id: Some(TASK.to_owned()), ..Task::new("Take the last step") }
    }

    fn arguments(&self, way: Way) -> Vec<String> {
        let agent = format!("/bin/sh {}", self.base.join("agent.sh").display());
        let run =
            ["run", "--task", "Take the last step", "--task-id", TASK, "--max-iterations", "1", "--agent", &agent];
        let words = if way == Way::Run { &run[..] } else { &["record", "--task-id", TASK] };
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(self.program);
        command.arg("--lock-timeout=20").args(arguments).current_dir(self.root()).env_clear();
        command.env("HOME", self.base.join("home")).env("TMPDIR", self.base.join("tmp"));
        command.stdin(Stdio::from(File::open(self.base.join("answer")).unwrap()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Asks for the prompt of the agent whose output `record` reads.
    fn ask_context(&self) {
        let arguments = ["context", "Take the last step", "--task-id", TASK].map(str::to_owned);
        assert!(self.command(&arguments).output().unwrap().status.success());
    }

    /// Ends an iteration with a trouble in the way.
    fn end(&self, way: Way, trouble: Trouble) -> Said {
        let said = |command: std::process::Child| {
            let output = command.wait_with_output().unwrap();
            Said {
                is_done: output.status.success(),
                text: String::from_utf8(output.stderr).unwrap(),
                overwritten: String::new(),
            }
        };
        let wait = self.base.join("wait");
        fs::write(&wait, "").unwrap();
        let running = (way == Way::Run).then(|| self.command(&self.arguments(way)).spawn().unwrap());
        // The agent of a run begins when the run has, and the library begins here.
        let begun = if way == Way::Record {
            self.ask_context();
            None
        } else if running.is_some() {
            let since = Instant::now();
            while self.memory().open_attempts().iter().all(|open| open.agent.is_none()) {
                assert!(since.elapsed() < PATIENCE, "its agent was never started");
                thread::yield_now();
            }
            None
        } else {
            let memory = self.memory();
            Some((memory.begin(&Place::task(), &Run::named("run-1")).unwrap(), memory))
        };
        let lasting = self.begin_trouble(trouble);
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let editor = (trouble == Trouble::Saved).then(|| scope.spawn(|| self.save_until(&ended)));
            fs::remove_file(&wait).unwrap();
            let mut result = match (running, begun) {
                (Some(running), _) => said(running),
                (None, Some((iteration, memory))) if way == Way::Finish => {
                    let report = Report { text: ANSWER.to_owned(), ..Report::default() };
                    let error = memory.finish(&iteration, &report).err();
                    let text = error.as_ref().map(ToString::to_string).unwrap_or_default();
                    Said { is_done: error.is_none(), text, overwritten: String::new() }
                }
                _ => said(self.command(&self.arguments(way)).spawn().unwrap()),
            };
            ended.store(true, Ordering::SeqCst);
            drop(lasting);
            result.overwritten = editor.map(|editor| editor.join().unwrap()).unwrap_or_default();
            result
        })
    }

    fn begin_trouble(&self, trouble: Trouble) -> Option<File> {
        let memory = self.root().join(".ralph");
        let lock = || {
            let lock = File::options().write(true).open(memory.join("state/lock")).unwrap();
            lock.lock().unwrap();
            Some(lock)
        };
        match trouble {
            Trouble::Uneditable => {
                fs::write(self.entry(), "---\n{title: Known already, tags: [zebra], source: agent}\n---\n\nOld.\n")
                    .unwrap();
            }
            Trouble::Linked => {
                let _ = fs::remove_dir_all(memory.join("archive/knowledge"));
                fs::create_dir_all(memory.join("archive")).unwrap();
                std::os::unix::fs::symlink(&self.base, memory.join("archive/knowledge")).unwrap();
            }
            Trouble::Saved => {}
            Trouble::Gone => fs::remove_dir_all(&memory).unwrap(),
            Trouble::NoJournal => {
                let _ = fs::remove_dir_all(memory.join("journal"));
                fs::write(memory.join("journal"), "in the way").unwrap();
            }
            Trouble::Locked => return lock(),
            Trouble::NoState => {
                // With the key of the user.
                fs::rename(self.base.join("home/.local"), self.base.join("gone")).unwrap();
                fs::write(self.base.join("home/.local"), "in the way").unwrap();
                return lock();
            }
        }
        None
    }

    /// Saves the entry again and again, each time another text. Returns what it replaced and had not written itself.
    fn save_until(&self, ended: &AtomicBool) -> String {
        let mut overwritten = String::new();
        for number in 0u64.. {
            if ended.load(Ordering::SeqCst) {
                break;
            }
            let text = format!("---\ntitle: Known already\ntags: [zebra]\nsource: agent\n---\n\nOld {number}.\n");
            let saved = self.base.join("saved");
            fs::write(&saved, text).unwrap();
            // For the file it is a rename.
            if renameat_with(CWD, &saved, CWD, self.entry(), RenameFlags::EXCHANGE).is_ok() {
                let found = fs::read_to_string(&saved).unwrap();
                overwritten.extend(Some(found).filter(|text| WORDS.iter().any(|word| text.contains(word))));
            }
        }
        overwritten
    }

    fn end_trouble(&self, trouble: Trouble) {
        match trouble {
            Trouble::Gone => drop(Memory::init(&self.root()).unwrap()),
            Trouble::NoJournal => fs::remove_file(self.root().join(".ralph/journal")).unwrap(),
            _ => {}
        }
    }

    /// Returns what the files of the memory say, one behind the other.
    fn written(&self) -> String {
        let folders = ["knowledge", "journal", "archive"].map(|folder| self.root().join(".ralph").join(folder));
        let paths = folders.iter().flat_map(|folder| files(folder));
        let entries = paths.filter(|path| !path.is_symlink() && path.extension().is_some_and(|end| end == "md"));
        entries.map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    /// Counts what is wrong once an iteration was ended, and whether it had to be brought back.
    fn check(&self, said: &Said, what: &str, tally: &mut Tally, heal: impl Fn()) {
        let missing = |text: &str| WORDS.iter().filter(|word| !text.contains(**word)).copied().collect::<Vec<_>>();
        let lost = missing(&(self.written() + &said.overwritten));
        if lost.is_empty() {
            return heal();
        }
        tally.count("brought back");
        if said.is_done {
            tally.fault(format!("{what}: it says that it is done"));
        }
        let Some(kept) = self.named(&said.text) else {
            return tally.fault(format!("{what}: {lost:?} are nowhere, and no file is named: {}", said.text));
        };
        let not_kept = missing(&fs::read_to_string(&kept).unwrap());
        if !not_kept.is_empty() {
            tally.fault(format!("{what}: {} lacks {not_kept:?}", kept.display()));
        }
        heal();
        let output = self.command(&["record".to_owned(), kept.display().to_string()]).output().unwrap();
        let written = self.written();
        let lost = missing(&written);
        if !output.status.success() || !lost.is_empty() || !written.contains("outcome: done") || kept.exists() {
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            let code = output.status.code();
            tally.fault(format!("{what}: recorded later, {code:?}, {lost:?} are missing: {told}"));
        }
    }

    /// Returns the file that a message names.
    fn named(&self, text: &str) -> Option<PathBuf> {
        let start = self.base.to_str().unwrap();
        let names = text.match_indices(start).filter_map(|(at, _)| Some(&text[at..at + text[at..].find(".json")? + 5]));
        names.map(PathBuf::from).find(|path| path.is_file())
    }
}

/// Ends an iteration in one way with one trouble. `place` is an empty folder. Counted is whether the attempt had to be "brought
/// back".
pub(crate) fn trouble(place: &Path, program: &Path, way: Way, trouble: Trouble) -> Tally {
    let place = Place::new(place, program);
    let said = place.end(way, trouble);
    let mut tally = Tally::default();
    place.check(&said, &format!("{way:?}, {trouble:?}"), &mut tally, || place.end_trouble(trouble));
    tally
}

/// Ends an iteration over and over, and lets a file operation behind the agent's end fail each time: each one in
/// `step`, from `first` on, in each way that it can; with `rotating`, in another one from one to the next. Counted are "runs", and
/// how many attempts had to be "brought back".
pub(crate) fn faults(place: &Path, program: &Path, way: Way, (first, step): (usize, usize), rotating: bool) -> Tally {
    let mut tally = Tally::default();
    let mut number = first;
    loop {
        let mut error = if rotating { number } else { 0 };
        loop {
            let base = place.join(format!("{number}-{error}"));
            let one = Place::new(&base, program);
            if way == Way::Record {
                one.ask_context();
            }
            let (root, home) = (one.root(), base.join("home"));
            let arguments = one.arguments(way);
            let traced = Program { path: program, arguments, variables: &[], input: ANSWER, folder: &root, home };
            let thin = Thin { path: ".ralph/cache", only_reading: false, one_in: THINNED, first: number % THINNED };
            let since = if way == Way::Run { "project/ended" } else { "" };
            let more = &[Errno::EROFS];
            let traced = traced.run_with(Fault { error, thin, since, more, ..Fault::at(At::Number(number)) });
            let Some(injected) = traced.injected else {
                assert!(tally["runs"] > 0, "{way:?} has no operation {number}: {}", traced.stderr);
                fs::remove_dir_all(&base).unwrap();
                return tally;
            };
            tally.count("runs");
            let said = Said { is_done: traced.code == Some(0), text: traced.stderr, overwritten: String::new() };
            let (call, path) = (injected.call, injected.path.display());
            let what = format!("{way:?}: {} at call {number}, {call} of {path}", injected.error);
            one.check(&said, &what, &mut tally, || {});
            fs::remove_dir_all(&base).unwrap();
            error += 1;
            if rotating || error >= injected.n_errors {
                break;
            }
        }
        number += step;
    }
}
