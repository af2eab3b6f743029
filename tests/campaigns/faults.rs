//! Runs each writing command with an error of the file system at its first file operation, its second, and so on to the
//! last. Whatever fails, no text is lost, nothing is half done, the exit code is right, nothing is left behind, and the
//! same command succeeds when the disk works again.
//!
//! The tests make every twenty-third operation of a command fail in one way, starting at a different one for each
//! command, since commands share most operations; of `init`, every operation in one way. The program `campaigns` makes each fail in one way, or in every possible way.
//! The tests also skip seven of eight operations that only read the cache, different ones for each seed: they are more
//! than all others together, and they only decide whether the cache is rebuilt. The cache is written in three ways:
//! after a write, after a move and on its own. Of commands that do it like an earlier one, the tests skip seven of
//! eight of these operations, too. The program skips none.
//!
//! Several threads write the index, so the order of the operations differs a little between runs: a command is done
//! when a run has fewer operations than the number that was to fail.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_memory::internals::{Store, entry};
use ralph_memory::memory::StateFolders;
use ralph_memory::{Memory, Query};

pub(crate) use cases::{CASES, Case, add_learnings, at};
use cases::{EDITOR, NOW, prepare};
use tracer::{At, Does, Fault, Injected, Program, Thin, Traced};

use crate::program::{self, Content, content_below, copy_project, differences, is_temporary};
use crate::tally::Tally;

#[path = "faults/cases.rs"]
mod cases;
#[path = "faults/tracer.rs"]
pub(crate) mod tracer;

/// How many copies of the memory are made ahead. What was written in the last moments is read again by each
/// command, and would be counted in some runs and not in others.
const AHEAD: usize = 8;
/// Of so many operations on the cache the tests let one fail.
const THINNED: usize = 8;
/// Of so many others.
const SAMPLED: usize = 23;
/// The files of a project, without the cache and [`NO_CONTENT`].
type Files = Content;

/// The lock, the log of changes, and notes and hints, which are a best effort.
const NO_CONTENT: [&str; 4] =
    [".ralph/state/lock", ".ralph/state/undo/", ".ralph/state/sessions/", ".ralph/state/hints"];

/// Which errors are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errors {
    /// One at every twenty-third operation, from which on the seed says; at few of the cache.
    Sampled,
    /// One at each operation, another one from one to the next and from seed to seed; at few of the cache.
    Rotating,
    /// Each that the operation can give, at every operation.
    #[allow(dead_code, reason = "the tests take samples")]
    All,
}

/// Runs one command over and over, and lets an operation fail each time. `place` is an empty folder. Counted are its file
/// operations ("calls"), how often it was run with one that fails ("runs"), and how these runs ended ("code: …"; -1 by a signal).
pub(crate) fn run(place: &Path, program: &Path, case: &Case, errors: Errors, seed: usize) -> Tally {
    let mut it = Campaign::new(place, program, case);
    let mut tally = Tally::default();
    let thin = match errors {
        Errors::Sampled | Errors::Rotating => {
            Thin { path: ".ralph/cache", only_reading: case.writes_cache, one_in: THINNED, first: seed % THINNED }
        }
        Errors::All => Thin::default(),
    };
    let (first, step) = if errors == Errors::Sampled { (1 + seed % SAMPLED, SAMPLED) } else { (1, 1) };
    for at in (first..).step_by(step) {
        let mut error = if errors == Errors::All { 0 } else { at + seed };
        while let Some(injected) = it.run(Fault { error, thin, ..Fault::at(At::Number(at)) }, &mut tally) {
            error += 1;
            if errors != Errors::All || error >= injected.n_errors {
                break;
            }
        }
        if tally["calls"] > 0 {
            return tally;
        }
    }
    unreachable!("a command has an end")
}

/// Runs one command, and lets the first operation of this name fail that is about a path with this in it, in each
/// way that it can. `place` is an empty folder.
pub(crate) fn run_at(place: &Path, program: &Path, case: &str, call: &'static str, path: &'static str) -> Tally {
    let case = CASES.iter().find(|known| known.name == case).expect("a command of this name");
    let mut it = Campaign::new(place, program, case);
    let mut tally = Tally::default();
    let fault = |error| Fault { error, ..Fault::at(At::Call(call, path)) };
    let injected = it.run(fault(0), &mut tally).expect("such an operation");
    for error in 1..injected.n_errors {
        it.run(fault(error), &mut tally);
    }
    tally
}

struct Campaign<'a> {
    place: &'a Path,
    program: &'a Path,
    case: &'a Case,
    /// Copies that are made, oldest first.
    copies: VecDeque<PathBuf>,
    n_copies: usize,
    /// The files before the command.
    before: Files,
    /// The files after it, on a good day.
    after: Files,
    /// What searches find after it.
    found: Vec<String>,
}

impl<'a> Campaign<'a> {
    fn new(place: &'a Path, program: &'a Path, case: &'a Case) -> Campaign<'a> {
        let model = place.join("model/project");
        fs::create_dir_all(&model).unwrap();
        if case.name != "init" {
            prepare(&model);
        }
        if let Some(first) = case.first {
            link_shell(&model);
            let ran = program_in(&model, program, first, case.input).run();
            assert_eq!(ran.code, Some(0), "{}: {}", case.name, ran.stderr);
        }
        let before = files(&model);
        let empty = Files::new();
        let mut it = Campaign {
            place,
            program,
            case,
            copies: VecDeque::new(),
            n_copies: 0,
            before,
            after: empty,
            found: Vec::new(),
        };
        let copy = it.copy();
        let ran = it.program(&copy).run();
        assert_eq!(ran.code, Some(0), "{}: {}{}", case.name, ran.stdout, ran.stderr);
        it.after = files(&copy);
        assert!((case.is_done)(&it.after), "{}: {:?}", case.name, it.after.keys());
        assert!(it.after != it.before || case.name == "context" || case.name.starts_with("index"), "{}", case.name);
        fs::remove_dir_all(copy.join(".ralph/cache")).ok();
        it.found = found(&copy);
        it
    }

    /// Returns the folder of a copy of the memory that no command has touched.
    fn copy(&mut self) -> PathBuf {
        while self.copies.len() < AHEAD {
            self.n_copies += 1;
            let base = self.place.join(self.n_copies.to_string());
            fs::create_dir(&base).unwrap();
            link_shell(&base.join("project"));
            copy_with_key(&self.place.join("model/project"), &base.join("project"));
            self.copies.push_back(base.join("project"));
        }
        let copy = self.copies.pop_front().unwrap();
        if !self.before.is_empty() {
            // The cache knows the files of the copy from here on.
            found(&copy);
        }
        copy
    }

    /// Runs the command with a fault, and adds what came of it; none where nothing failed, since the command has no
    /// such operation.
    fn run(&mut self, fault: Fault, tally: &mut Tally) -> Option<Injected> {
        let copy = self.copy();
        let traced = self.program(&copy).run_with(fault);
        if let Some(injected) = &traced.injected {
            tally.count("runs");
            tally.count(format!("code: {}", traced.code.unwrap_or(-1)));
            let faults = self.check(&copy, &traced, injected);
            if !faults.is_empty() {
                let Injected { call, path, error, .. } = injected;
                let (name, at) = (self.case.name, traced.counted);
                let path = path.strip_prefix(&copy).unwrap_or(path).display();
                tally.fault(format!("{name}: {error} at call {at}, {call} of {path}: {}", faults.join("; ")));
            }
        } else {
            tally.add("calls", traced.counted);
            if traced.code != Some(0) || files(&copy) != self.after || found(&copy) != self.found {
                tally.fault(format!("{}: a run without a fault is another one", self.case.name));
            }
        }
        fs::remove_dir_all(copy.parent().unwrap()).unwrap();
        traced.injected
    }

    fn program<'b>(&'b self, copy: &'b Path) -> Program<'b> {
        program_in(copy, self.program, self.case.arguments, self.case.input)
    }

    /// Returns what is wrong after a run with a fault.
    fn check(&self, copy: &Path, traced: &Traced, injected: &Injected) -> Vec<String> {
        let mut faults = Vec::new();
        let is_done = traced.code == Some(0);
        self.check_code(copy, traced, injected, &mut faults);
        let mut now = files(copy);
        if let Some(path) = now.keys().find(|path| is_temporary(Path::new(path))).cloned() {
            // Files that cannot be removed stay, and are distinct from entries.
            if injected.does != Does::Removes {
                faults.push(format!("`{path}` is left"));
            }
            sweep(copy);
            now = files(copy);
            if now.keys().any(|path| is_temporary(Path::new(path))) {
                faults.push(format!("`{path}` stays after cleaning up"));
            }
        }
        self.check_kept(copy, &now, &mut faults);
        if let Some(path) = now.keys().find(|path| path.contains(".conflict-") && !self.after.contains_key(*path))
            && is_done
            && !traced.stderr.contains(path)
        {
            faults.push(format!("it does not say that a version is in `{path}`"));
        }
        if is_done {
            // What could not be looked at may be left out, and what could not be removed may be there still, as long
            // as what was asked for is done.
            let is_excused = injected.does.only_reads() || injected.does == Does::Removes;
            if now != self.after && !(is_excused && (self.case.is_done)(&now)) {
                faults.push(format!("it says that it is done: {}", differences(&self.after, &now).join(", ")));
            }
        } else {
            if now != self.before && !self.case.in_steps {
                faults.push(format!("it says that it failed: {}", differences(&self.before, &now).join(", ")));
            }
            let again = self.program(copy).run();
            if again.code != Some(0) {
                faults.push(format!("the second try ends {:?}: {}", again.code, again.stderr));
            }
            now = files(copy);
            self.check_kept(copy, &now, &mut faults);
            if now != self.after && !(self.case.leaves_a_trace && (self.case.is_done)(&now)) {
                faults.push(format!("after the second try: {}", differences(&self.after, &now).join(", ")));
            }
        }
        let answers = found(copy);
        let expected = if now == self.after {
            self.found.clone()
        } else {
            fs::remove_dir_all(copy.join(".ralph/cache")).ok();
            found(copy)
        };
        if answers != expected {
            faults.push("the cache answers in another way than the files".to_owned());
        }
        if !faults.is_empty() {
            faults.push(format!("exit {:?}; {}{}", traced.code, traced.stdout, traced.stderr));
        }
        faults
    }

    /// Checks its exit status, and its message.
    fn check_code(&self, copy: &Path, traced: &Traced, injected: &Injected, faults: &mut Vec<String>) {
        match traced.code {
            Some(0) => {}
            Some(6) => {
                // An undo that stops half-way says so first.
                let reason =
                    |line: &&str| ["error: cannot ", "caused by: cannot "].iter().any(|at| line.starts_with(at));
                let first = traced.stderr.lines().find(reason).unwrap_or_default();
                let root = format!("`{}", copy.display());
                // What the folder of an index is, Tantivy asks without listening to the answer.
                let is_told = !(self.case.name.starts_with("index") && injected.does == Does::Looks);
                let why = if is_told { format!("(os error {})\nhint: ", injected.error as i32) } else { String::new() };
                if !(first.contains(&root) && traced.stderr.contains(&why)) {
                    faults.push("it does not say what was attempted, on what, why, and what to do".to_owned());
                }
            }
            Some(5) if injected.path.ends_with("lock") => {}
            code => faults.push(format!("it ends {code:?}")),
        }
    }

    /// Checks that no text is lost: each file is what it was, or what it was to become, or is found whole under
    /// the name that it was to get. What an entry said is in a file or in the log.
    fn check_kept(&self, copy: &Path, now: &Files, faults: &mut Vec<String>) {
        let log: Vec<Vec<u8>> =
            program::files(&copy.join(".ralph/state/undo")).into_iter().map(|path| fs::read(path).unwrap()).collect();
        let is_logged =
            |bytes: &[u8]| log.iter().any(|file| file.windows(bytes.len().max(1)).any(|part| part == bytes));
        for (path, bytes) in &self.before {
            let is_wanted = self.after.get(path);
            let found = now.get(path);
            let is_kept =
                found == Some(bytes) || found.is_some() && found == is_wanted || found.is_none() && is_wanted.is_none();
            // An editor has left its text before the program reviews it.
            let is_edited = self.case.name == "edit" && (self.case.is_done)(now);
            if !is_kept && !is_edited {
                faults.push(format!("`{path}` is {}", if found.is_some() { "something else" } else { "gone" }));
            }
            // State is about what is under way, and goes with it.
            let must_stay = self.after.values().any(|after| after == bytes);
            if must_stay && !now.values().any(|known| known == bytes) {
                faults.push(format!("what `{path}` said is lost"));
            }
            let is_entry =
                [".ralph/knowledge/", ".ralph/journal/", ".ralph/archive/"].iter().any(|area| path.starts_with(area));
            if is_entry && !now.values().any(|known| known == bytes) && !bytes.as_deref().is_some_and(is_logged) {
                faults.push(format!("what `{path}` said is in no file, and not in the log"));
            }
        }
        for (path, bytes) in now {
            let is_known = [&self.before, &self.after].iter().any(|files| files.values().any(|known| known == bytes));
            if !is_known && !bytes.as_deref().is_some_and(|bytes| is_whole(path, bytes)) {
                faults.push(format!("`{path}` is not whole"));
            }
        }
    }
}

/// Returns the program with these arguments, in a copy.
pub(crate) fn program_in<'a>(copy: &'a Path, program: &'a Path, arguments: &[&str], input: &'a str) -> Program<'a> {
    let arguments = ["--now", NOW].iter().chain(arguments).map(|&argument| argument.to_owned()).collect();
    let home = copy.with_file_name("home");
    fs::create_dir_all(&home).unwrap();
    Program { path: program, arguments, variables: &[EDITOR], input, folder: copy, home }
}

/// Makes a home beside a copy with a shell in it, from which an editor is started: the only program in the search path.
fn link_shell(copy: &Path) {
    let home = copy.with_file_name("home");
    fs::create_dir_all(&home).unwrap();
    symlink("/bin/sh", home.join("sh")).unwrap();
}

/// Returns whether a file can be read, and has nothing wrong with it.
fn is_whole(path: &str, bytes: &[u8]) -> bool {
    match path.strip_prefix(".ralph/").and_then(|path| path.rsplit_once('.')) {
        Some((path, "md")) => {
            let head = entry::read(&format!("{path}.md"), bytes).head;
            head.valid && head.problems.is_empty()
        }
        // The last line is a checksum of the lines before it.
        Some((_, "json")) => {
            let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_suffix('\n')?.rsplit_once('\n'));
            text.is_some_and(|(text, sum)| sum.len() == 64 && serde_json::from_str::<serde_json::Value>(text).is_ok())
        }
        _ => false,
    }
}

/// Removes what is left behind, and keeps what is not known.
fn sweep(root: &Path) {
    let store = Store::open(root).unwrap();
    let lock = store.lock(Duration::ZERO).unwrap();
    store.sweep(&lock).unwrap();
}

/// Returns what searches find, with scores.
fn found(root: &Path) -> Vec<String> {
    if !root.join(".ralph").is_dir() {
        return Vec::new();
    }
    let memory = opened(root).with_clock(|| at(323));
    let text = "nightly parser sqlite unicode markdown zebra table day".to_owned();
    let query = Query { text, archived: true, ..Query::default() };
    memory.search(&query, 20).unwrap().hits.iter().map(|hit| format!("{hit:?}")).collect()
}

fn files(root: &Path) -> Files {
    let mut files = content_below(root, &|_| true);
    files.retain(|path, bytes| {
        // Of the cache only that nothing temporary is in it, and the rest shows in what searches find.
        let is_cache = path.starts_with(".ralph/cache/") && !is_temporary(Path::new(path));
        bytes.is_some() && !is_cache && !NO_CONTENT.iter().any(|place| path.starts_with(place))
    });
    files
}

/// Returns where the user of a project keeps the key: in the home beside it.
fn state_folder(root: &Path) -> PathBuf {
    root.with_file_name("home").join(".local/state/ralph-memory")
}

/// Opens a memory as the program does that is run in it.
pub(crate) fn opened(root: &Path) -> Memory {
    Memory::open(root).unwrap().keeping_in(StateFolders::new([state_folder(root)]))
}

/// Copies a project, and the key of its user. What is begun in it, and its log of changes, count in the copy as well.
pub(crate) fn copy_with_key(from: &Path, to: &Path) {
    copy_project(from, to, &|_| false);
    let [key, copy] = [from, to].map(|root| state_folder(root).join("key"));
    if key.exists() {
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(key, copy).unwrap();
    }
}
