//! A loop that is killed at a random moment, again and again: what was finished stays, what was cut off
//! says so, and the loop goes on.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ralph_memory::entry::Outcome;
use ralph_memory::internals::entry::{Attempt, read};
use ralph_memory::memory::StateFolders;

use crate::random::Random;
use crate::support::TestBase;
use crate::test_cases::cases;

/// How many iterations have to end by themselves and by a kill, with how many kills at most.
const LEAST_FAILED: u32 = 20;
const LEAST_INTERRUPTED: u32 = 6;
const MOST_KILLS: u32 = 150;
/// How long it may live at most at first, in milliseconds: about three iterations of a debug build.
const LONGEST_MS: usize = 400;
/// Where the moments come from; another one is as good.
const SEED: u64 = 20_260_217;

fn attempts(base: &TestBase) -> BTreeMap<String, Attempt> {
    let mut attempts = BTreeMap::new();
    for path in base.files(".ralph/journal") {
        // Leftovers of a killed write are not entries, and have other names.
        let Some(name) = path.strip_prefix(".ralph/").filter(|_| !path.contains("/.tmp-")) else { continue };
        let entry = read(name, base.read(&path).as_bytes());
        assert_eq!(entry.head.problems, [], "{path}");
        attempts.insert(name.to_owned(), Attempt::of(&entry).unwrap());
    }
    attempts
}

/// Returns whether an iteration was begun, whose file is there as a whole.
fn has_begun(base: &TestBase) -> bool {
    let files = fs::read_dir(base.at(".ralph/state/attempts")).into_iter().flatten();
    files.into_iter().any(|file| file.unwrap().file_name().to_string_lossy().starts_with("run-"))
}

/// Counts the attempts by how they ended.
fn outcomes(attempts: &BTreeMap<String, Attempt>) -> BTreeMap<&'static str, u32> {
    let mut counts = BTreeMap::from([("done", 0), ("failed", 0), ("interrupted", 0)]);
    for attempt in attempts.values() {
        *counts.entry(attempt.head.outcome.as_str()).or_default() += 1;
    }
    counts
}

#[test]
fn finished_iterations_stay_and_cut_ones_are_marked() {
    let base = TestBase::new();
    // Each turn leaves a line at a safe place, and the same in its notes.
    let agent = "#!/bin/sh\ncat > /dev/null\necho \"$RALPH_RUN_ID $RALPH_ATTEMPT\" >> \"$(dirname \"$0\")/turns\"\n\
                 echo \"<journal>turn $RALPH_ATTEMPT</journal>\"\necho \"<task-$1>$RALPH_TASK_ID</task-$1>\"\n";
    base.write("../home/agent.sh", agent);
    let agent = |says: &str| format!("sh {} {says}", base.home().join("agent.sh").display());
    let failing = agent("failed");
    let loop_again = |resume: bool, agent: &str| {
        let mut arguments = vec!["run", "--task", "go on", "--max-iterations", "100000", "--agent", agent];
        arguments.extend(resume.then_some("--resume"));
        let mut command = base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let mut moments = Random(SEED);
    let mut was_begun = false;
    for n_kills in 0.. {
        let counts = outcomes(&attempts(&base));
        if counts["failed"] >= cases(LEAST_FAILED) && counts["interrupted"] >= cases(LEAST_INTERRUPTED) {
            break;
        }
        assert!(n_kills < cases(MOST_KILLS) as usize, "after {n_kills} kills: {counts:?}");
        let mut child = loop_again(was_begun, &failing).spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let (ended, waiting) = mpsc::channel();
        let reader = thread::spawn(move || {
            let mut said = String::new();
            let _ = stderr.read_to_string(&mut said);
            let _ = ended.send(());
            said
        });
        // It runs on until it is killed; one that ends by itself shows a mistake.
        // On a machine that is too busy for an iteration in this time, later ones get more.
        let longest = LONGEST_MS * (1 + n_kills / 30);
        let ended = waiting.recv_timeout(Duration::from_millis(moments.below(longest) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let said = reader.join().unwrap();
        assert!(ended.is_err(), "{said}");
        was_begun = was_begun || has_begun(&base) || !attempts(&base).is_empty();
    }
    let said = loop_again(true, &agent("done")).output().unwrap();
    assert_eq!(said.status.code(), Some(0), "{}", String::from_utf8_lossy(&said.stderr));

    // An iteration that was killed while it was recorded is kept, and recorded later.
    let home = base.home().into_os_string();
    let folders = StateFolders::of_user(&|name| (name == "HOME").then(|| home.clone()));
    let memory = base.memory().keeping_in(folders);
    for kept in memory.kept_attempts() {
        memory.record_kept(&kept).unwrap();
    }
    let attempts = attempts(&base);
    let runs: Vec<&str> = attempts.values().map(|attempt| attempt.run_id.as_str()).collect();
    assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "one run goes on: {runs:?}");
    assert_eq!(outcomes(&attempts)["done"], 1);
    for (number, (path, attempt)) in (1..).zip(&attempts) {
        assert_eq!(attempt.head.iteration, number, "{path}: every number is there, once");
        match attempt.head.outcome {
            Outcome::Interrupted => assert_eq!(attempt.sections.notes, "", "{path}"),
            _ => assert_eq!(attempt.sections.notes, format!("turn {number}"), "{path}"),
        }
    }
    // What an agent did is in the journal, finished or cut off.
    let turns = fs::read_to_string(base.home().join("turns")).unwrap();
    for turn in turns.lines() {
        let (run, number) = turn.split_once(' ').unwrap();
        let path = format!("journal/{run}/{:04}.md", number.parse::<u32>().unwrap());
        assert!(attempts.contains_key(&path), "{turn}");
    }
    assert_eq!((memory.open_attempts(), memory.kept_attempts()), (vec![], vec![]), "nothing is left open");
}
