//! What is seen of a run in progress: its phase and its last line, nothing secret, and whether it is lost.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_memory::memory::{LivePhase, LiveRun};

use crate::schemas::assert_answer;
use crate::serving::PageProcess;
use crate::support::TestBase;
use crate::timeline::{Running, gate, open_gate};

/// Returns a run of a script, which is an agent that prints lines.
fn run(base: &TestBase, script: &str, more: &[&str]) -> Command {
    base.write("agent.sh", format!("cat > /dev/null\n{script}"));
    let arguments = ["run", "--task", "Draw the map", "--agent", "sh agent.sh", "--format", "text"];
    base.with(arguments.iter().chain(&["--max-iterations", "1"]).chain(more)).command()
}

/// Returns what a run does once this is its last line.
#[track_caller]
fn live(base: &TestBase, line: &str) -> LiveRun {
    let memory = base.memory();
    let until = Instant::now() + Duration::from_secs(60);
    let runs = std::iter::repeat_with(|| memory.live_runs()).take_while(|_| Instant::now() < until).flatten();
    runs.into_iter().find(|run| run.last_line.as_deref() == Some(line)).expect("the run prints it")
}

#[test]
fn a_run_shows_its_phase_and_its_last_line_and_nothing_of_a_key() {
    let base = TestBase::new();
    let (begin, end) =
        (["-----BEGIN OPENSSH PRI", "VATE KEY-----"].concat(), ["-----END OPENSSH PRI", "VATE KEY-----"].concat());
    let of_key = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2g";
    base.write("key", format!("{begin}\n{of_key}\n{of_key}\nAbC=\n{end}\n"));
    gate(&base, "go");
    gate(&base, "verified");
    let page = PageProcess::start(&base);
    let verify = "sh -c 'cat key; echo Verified.; read line < verified'";
    // Of two pipes, either may be read first.
    let agent = "{ cat key; echo 'That was all.'; } >&2; read line < go";
    let run = Running::start(run(&base, agent, &["--verify", verify]));
    let check = |line: &str, phase: LivePhase| {
        let seen = live(&base, line);
        assert_eq!((seen.phase, seen.pid, seen.iteration), (phase, Some(run.child.id()), Some(1)));
        assert_eq!(seen.task_title, "Draw the map");
        let file = base.files(".ralph/state/live").remove(0);
        assert_eq!(fs::metadata(base.at(&file)).unwrap().permissions().mode() & 0o777, 0o600);
        let shown = base.run(["show", &seen.run_id]).answer(0);
        assert!(shown.contains(&format!("{}, {line}", phase.as_str())), "{shown}");
        let now = page.page("");
        assert!(now.contains(line) && now.contains("In progress"), "{now}");
        for text in [base.read(&file), shown, now] {
            assert!(!text.contains(&of_key[..20]) && !text.contains("AbC="), "{text}");
        }
        seen.run_id
    };
    let run_id = check("That was all.", LivePhase::Agent);
    let follower = Running::start(base.with(["log", "--follow", "--json", "--run", &run_id]).command());
    open_gate(&base, "go");
    check("Verified.", LivePhase::Verifying);
    open_gate(&base, "verified");
    run.ends(1);
    assert_eq!(follower.attempt()["run_id"], run_id.as_str());
    follower.ends(0);
    assert!(base.memory().live_runs().is_empty() && base.files(".ralph/state/live").is_empty());
}

#[test]
fn a_run_that_was_killed_is_lost_until_the_next_one() {
    let base = TestBase::new();
    gate(&base, "go");
    let run = Running::start(run(&base, "echo reading the map; read line < go", &[]));
    let run_id = live(&base, "reading the map").run_id;
    drop(run);
    let memory = base.memory();
    assert!(memory.live_runs().is_empty());
    base.run(["show", &run_id]).says(0, "lost, reading the map");
    let nothing: [&str; 0] = [];
    base.run(nothing).says(0, "its process has ended, and the next run records it as interrupted)");
    let task = memory.task(&memory.run(&run_id).unwrap().live[0].task_id.clone().unwrap()).unwrap();
    assert_eq!((task.title.as_str(), task.live[0].phase), ("Draw the map", LivePhase::Lost));
    assert_answer("show-task", &base.run(["show", &task.id, "--json"]).json(0));
    let followed = base.run(["log", "--follow", "--run", &run_id]);
    assert_eq!((followed.code, followed.stdout.as_str()), (Some(0), ""), "it does not go on");
}

#[test]
fn whoever_prints_until_the_end_ends_when_nobody_reads() {
    let base = TestBase::new();
    for command in [&["log", "--follow"][..], &["log", "--follow", "--json"], &["watch"], &["watch", "--json"]] {
        let mut child = base
            .with(command)
            .command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{command:?}: {errors}");
    }
}
