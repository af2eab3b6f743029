//! Kills a command in one of two work trees before calls that change a file, in the memory and in git's common folder, where
//! both look for the other's attempts. Linux on x86-64 only.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::fault_campaign::program_in;
use crate::fault_campaign::tracer::{At, Fault};
use crate::program::{NOW, Program, Ran, git};

const ID: &str = "journal/run-a/0001";
const RECORD: [&str; 7] = ["record", "--task", "Sink", "--run", "run-a", "--outcome", "failed"];
const SAID: &str = "<journal>It sank.</journal>";

/// A repository with a memory, and a linked work tree beside it.
struct Trees {
    program: Program,
    root: PathBuf,
    other: PathBuf,
}

impl Trees {
    fn new(place: &Path, program: &Path) -> Trees {
        let (root, other) = (place.join("project"), place.join("other"));
        fs::create_dir_all(&root).unwrap();
        ralph_memory::Memory::init(&root).unwrap();
        git(&root, &["init", "--quiet", "--initial-branch=main"]);
        git(&root, &["add", "--all"]);
        git(&root, &["commit", "--quiet", "--message", "first"]);
        git(&root, &["worktree", "add", "--quiet", "-b", "other", other.to_str().unwrap()]);
        Trees { program: Program::new(program, place), root, other }
    }

    fn run(&self, folder: &Path, arguments: &[&str], input: &str) -> Ran {
        self.program.run(folder, NOW, arguments, input)
    }

    fn record(&self, run: &str) {
        let arguments = ["record", "--task", "Float", "--run", run, "--outcome", "failed"];
        self.run(&self.root, &arguments, "<journal>Cork.</journal>").ended(0, run);
    }

    /// Returns the ids of the attempts that a work tree knows, sorted.
    fn known(&self, folder: &Path) -> Vec<String> {
        let log: Value = self.run(folder, &["log", "--limit", "1000", "--json"], "").ended(0, "log").json();
        let attempts = log["attempts"].as_array().unwrap().iter();
        let mut known: Vec<String> = attempts.map(|attempt| attempt["id"].as_str().unwrap().to_owned()).collect();
        known.sort();
        known
    }

    /// Returns how many attempts of the first run both work trees know after one more command: the same, each once, and
    /// nothing is wrong.
    fn agree(&self) -> usize {
        self.record("run-z");
        let known = self.known(&self.root);
        assert_eq!(self.known(&self.other), known);
        let checked = self.run(&self.root, &["check"], "").stdout;
        assert!(!checked.contains("attempt-twice") && !checked.contains("not sealed"), "{checked}");
        known.iter().filter(|id| id.starts_with("journal/run-a/")).count()
    }
}

/// Kills a command before every `step`-th of its calls that change a file, and returns the number of kills. `before` prepares
/// the clone, and `check` gets it with whether the command was killed.
fn kill_each(
    program: &Path,
    (arguments, step): (&[&str], usize),
    before: impl Fn(&Trees),
    check: impl Fn(&Trees, bool),
) -> usize {
    for (n_kills, number) in (1..).step_by(step).enumerate() {
        let place = crate::program::quick_folder();
        let trees = Trees::new(place.path(), program);
        before(&trees);
        let fault = Fault { kills: true, ..Fault::at(At::Number(number)) };
        let was_killed = program_in(&trees.root, program, arguments, SAID).run_with(fault).injected.is_some();
        check(&trees, was_killed);
        if !was_killed {
            return n_kills;
        }
    }
    unreachable!("a command has an end")
}

/// Kills each command that changes attempts, and returns how often.
pub(crate) fn run(program: &Path, step: usize) -> usize {
    let record = |trees: &Trees| trees.record("run-a");
    let mut n_kills = kill_each(
        program,
        (&RECORD, step),
        |_| (),
        |trees, was_killed| {
            assert!(trees.agree() <= 1 && (was_killed || trees.agree() == 1));
            // Told again, it is recorded.
            trees.run(&trees.root, &RECORD, SAID).ended(0, "told again");
            assert!((1..=2).contains(&trees.agree()));
            trees.run(&trees.other, &["search", "sank", "--kind", "journal"], "").ended(0, "search");
        },
    );
    n_kills += kill_each(program, (&["archive", ID], step), record, |trees, _| assert_eq!(trees.agree(), 1));
    for arguments in [&["undo"][..], &["archive", "--forget", ID]] {
        n_kills += kill_each(program, (arguments, step), record, |trees, was_killed| {
            // It is there as before, or it is gone.
            let [root_has_it, other_has_it] =
                [&trees.root, &trees.other].map(|tree| trees.known(tree).iter().any(|id| id == ID));
            assert!(was_killed || !root_has_it, "{arguments:?}");
            assert!(!other_has_it || root_has_it, "{arguments:?}: it came back");
        });
    }
    let lose_file = |trees: &Trees| {
        record(trees);
        fs::remove_dir_all(trees.root.join(".ralph/journal/run-a")).unwrap();
    };
    n_kills += kill_each(program, (&["restore", ID], step), lose_file, |trees, was_killed| {
        assert_eq!(trees.agree(), 1);
        assert!(was_killed || trees.root.join(".ralph/journal/run-a/0001.md").is_file());
    });
    n_kills
}
