//! Kills each writing command before each system call that changes a file, and then takes back what it has begun: `undo`
//! restores every byte, and a redo brings back what the kill left. Or nothing was begun, or all was done, and
//! `undo` says why it refuses. Linux on x86-64 only.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_memory::entry;
use ralph_memory::{Knowledge, Memory};

use crate::fault_campaign::tracer::{At, Fault, Injected, Traced};
use crate::fault_campaign::{add_learnings, at, copy_with_key, opened, program_in};
use crate::program::{Content, content, differences, is_temporary};
use crate::tally::Tally;

/// What is imported.
const IMPORTED: &str = "{\"title\":\"Imported one\",\"body\":\"The first.\"}\n\
    {\"title\":\"Imported two\",\"body\":\"The second.\"}\n\
    {\"title\":\"Imported three\",\"body\":\"The third.\"}\n\
    {\"title\":\"Imported four\",\"body\":\"The fourth.\"}\n";
/// What an agent says in the end.
const SAID: &str = "<journal>It is slow.</journal>\n\
    <learning category=\"pitfall\" tags=\"build\">The first build fills it.</learning>\n<task-failed>t-1</task-failed>\n";

/// A command that is killed.
pub(crate) struct Victim {
    pub(crate) name: &'static str,
    /// What runs before it, so that it has something to do.
    first: Option<&'static [&'static str]>,
    arguments: &'static [&'static str],
    input: &'static str,
}

const fn victim(name: &'static str, arguments: &'static [&'static str]) -> Victim {
    Victim { name, first: None, arguments, input: "" }
}

const UPDATE: &[&str] = &["add", "Ports", "--tags", "net", "--body", "9443, and see [[build-cache|the cache]]."];
const RENAME: &[&str] = &["edit", "build-cache", "--title", "Compiler cache"];
const IMPORT: &[&str] = &["import", "-"];

/// The commands that change several files, or one in several steps.
pub(crate) const VICTIMS: [Victim; 10] = [
    victim("add", UPDATE),
    victim("rename", RENAME),
    victim("archive", &["archive", "ports", "wal-mode", "flaky-test"]),
    victim("tidy", &["tidy"]),
    victim("restore", &["restore", "build-cache"]),
    Victim { input: IMPORTED, ..victim("import", IMPORT) },
    Victim {
        input: SAID,
        ..victim("record", &["record", "--run", "run-1", "--task", "Warm the cache", "--task-id", "t-1"])
    },
    Victim { first: Some(RENAME), ..victim("undo of rename", &["undo"]) },
    Victim { first: Some(&["tidy"]), ..victim("undo of tidy", &["undo"]) },
    Victim { first: Some(IMPORT), input: IMPORTED, ..victim("undo of import", &["undo"]) },
];

/// Kills a command before every `step`-th of its calls that change a file, from the call `first` on. `place` is an empty
/// folder. Counted are "calls" that change a file, "kills", and what was left: "taken back" by `undo`, of which "half done" are
/// neither nothing nor all of it, and "not begun", where `undo` said so.
pub(crate) fn run(place: &Path, program: &Path, victim: &Victim, (first, step): (usize, usize)) -> Tally {
    let model = place.join("model/project");
    fs::create_dir_all(&model).unwrap();
    prepare(&model);
    let it = Killing { place, program, victim };
    if let Some(arguments) = victim.first {
        let ran = program_in(&model, program, arguments, victim.input).run();
        assert_eq!(ran.code, Some(0), "{}: {}", victim.name, ran.stderr);
    }
    let whole = it.copy("whole");
    let before = content(&whole);
    let ran = program_in(&whole, program, victim.arguments, victim.input).run();
    assert_eq!(ran.code, Some(0), "{}: {}", victim.name, ran.stderr);
    let after = content(&whole);
    assert!(before != after, "{} changes nothing", victim.name);
    let mut tally = Tally::default();
    for number in (first..).step_by(step) {
        let copy = it.copy(&number.to_string());
        let fault = Fault { kills: true, ..Fault::at(At::Number(number)) };
        let known = newest(&copy);
        let traced = program_in(&copy, program, victim.arguments, victim.input).run_with(fault);
        let Some(Injected { call, path, .. }) = &traced.injected else {
            tally.add("calls", traced.counted);
            // What was begun by then is all of it.
            let faults = it.check(&copy, known, &before, &after, &mut Tally::default());
            tally.faults_of(&format!("{}, not killed", victim.name), faults);
            return tally;
        };
        assert_eq!(traced.code, None, "{}: it was killed", victim.name);
        tally.count("kills");
        let what = format!("{}, killed before call {number}, {call} of {}", victim.name, path.display());
        let faults = it.check(&copy, known, &before, &after, &mut tally);
        tally.faults_of(&what, faults);
        fs::remove_dir_all(copy.parent().unwrap()).unwrap();
    }
    unreachable!("a command has an end")
}

struct Killing<'a> {
    place: &'a Path,
    program: &'a Path,
    victim: &'a Victim,
}

impl Killing<'_> {
    /// Returns a copy of the memory, which knows the operations of the model.
    fn copy(&self, name: &str) -> PathBuf {
        let base = self.place.join(name);
        fs::create_dir(&base).unwrap();
        copy_with_key(&self.place.join("model/project"), &base.join("project"));
        base.join("project")
    }

    /// Takes back what the command did, or brings it back: an `undo` that was killed is reversed by a redo.
    fn undo(&self, copy: &Path, brings_back: bool) -> Traced {
        let is_undo = self.victim.arguments == ["undo"];
        let arguments = if brings_back == is_undo { &["undo"][..] } else { &["undo", "--redo"] };
        program_in(copy, self.program, arguments, self.victim.input).run()
    }

    /// Checks what a kill left, and takes it back; `known` is the newest operation before the command.
    fn check(&self, copy: &Path, known: u64, before: &Content, after: &Content, tally: &mut Tally) -> Vec<String> {
        let [start, end] = [before, after].map(without_leftovers);
        let killed = without_leftovers(&content(copy));
        let mut faults = Vec::new();
        if newest(copy) == known {
            tally.count("not begun");
            faults.extend(unlike(copy, "it changed something that is not in the log", &start));
            return faults;
        }
        let first = self.undo(copy, false);
        match first.code {
            Some(0) => {
                tally.count("taken back");
                tally.add("half done", usize::from(killed != start && killed != end));
                faults.extend(unlike(copy, "not everything was taken back", before));
                let second = self.undo(copy, true);
                if second.code != Some(0) {
                    faults.push(format!("the second undo ends {:?}: {}", second.code, second.stderr));
                }
                // A killed `undo` that was reversed is done as a whole the second time.
                let begun = if self.victim.arguments == ["undo"] { &end } else { &killed };
                faults.extend(unlike(copy, "a second undo did not bring back what was begun", begun));
                let third = self.undo(copy, false);
                faults.extend(unlike(copy, &format!("a third undo, {:?}", third.code), before));
            }
            Some(4) if first.stderr.contains("its files are as they were before it already") => {
                tally.count("not begun");
                faults.extend(unlike(copy, "there is something to take back", &start));
                let second = self.undo(copy, false);
                if second.code != Some(4) || second.stderr != first.stderr {
                    faults.push(format!("a second undo ends {:?}: {}", second.code, second.stderr));
                }
                faults.extend(unlike(copy, "a refused undo changed something", &start));
            }
            code => faults.push(format!("undo ends {code:?}: {}", first.stderr)),
        }
        faults
    }
}

/// Returns the number of the newest operation.
fn newest(copy: &Path) -> u64 {
    opened(copy).operations().unwrap().first().map_or(0, |newest| newest.number)
}

/// Leaves out folders, and temporary files, which the next command removes.
fn without_leftovers(content: &Content) -> Content {
    let kept = content.iter().filter(|(name, bytes)| bytes.is_some() && !is_temporary(Path::new(name)));
    kept.map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
}

/// Says which files are not the expected ones. Where folders are not expected, only files count.
fn unlike(copy: &Path, what: &str, expected: &Content) -> Option<String> {
    let found = content(copy);
    let found = if expected.values().all(Option::is_some) { without_leftovers(&found) } else { found };
    (found != *expected).then(|| format!("{what}: {:?}", differences(&found, expected)))
}

/// Makes a memory in which each command has something to do, and whose log is empty.
fn prepare(root: &Path) {
    Memory::init(root).unwrap();
    fs::write(root.join(".ralph/config.toml"), "format = 1\n[maintenance]\nlearnings = 3\n").unwrap();
    let memory = opened(root).with_clock(|| at(270));
    let add = |title: &str, tag: &str, body: &str| memory.add(&Knowledge::new(title, [tag], body)).unwrap().id;
    add("Build cache", "build", "It is cold.");
    add("Ports", "net", "8443, and see [[build-cache|the cache]].");
    add("WAL mode", "sqlite", "Readers go on. See [[Build cache]].");
    add("Flaky test", "tests", "Run it twice.");
    add_learnings(&memory);
    for day in 1..4 {
        let expires_at = entry::parse_time(&format!("2026-10-0{day}"));
        memory
            .add(&Knowledge { expires_at, ..Knowledge::event("hint", format!("Until day {day}.")).unwrap() })
            .unwrap();
    }
    memory.forget_operations().unwrap();
    // The text that `restore` brings back is in the log.
    let cache = add("Build cache", "build", "It is warm. See [[ports]].");
    let slow =
        Knowledge { supersedes: vec![cache], ..Knowledge::new("Slow builds", ["build"], "See [[build-cache]].") };
    memory.add(&slow).unwrap();
    memory.rebuild_index().unwrap();
}
