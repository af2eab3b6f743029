//! What is seen of a run in progress: nothing secret, everything up to its end, and nothing of other runs.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use ralph_memory::Task;
use ralph_memory::memory::{LivePhase, LiveRun, Run};
use serde_json::{Value, json};

use crate::schemas::assert_answer;
use crate::serving::PageProcess;
use crate::support::TestBase;
use crate::timeline::{Running, attempt, gate, open_gate};

/// A line of a private key.
const OF_KEY: &str = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2g";

/// Writes a file that looks like a private key.
fn write_key(base: &TestBase) {
    let (begin, end) =
        (["-----BEGIN OPENSSH PRI", "VATE KEY-----"].concat(), ["-----END OPENSSH PRI", "VATE KEY-----"].concat());
    base.write("key", format!("{begin}\n{OF_KEY}\n{OF_KEY}\n{OF_KEY}\nAbC=\n{end}\n"));
}

/// Returns a run of a script, which is an agent that prints lines.
fn run(base: &TestBase, script: &str, more: &[&str]) -> Command {
    base.write("agent.sh", format!("cat > /dev/null\n{script}"));
    let arguments = ["run", "--task", "Draw the map", "--agent", "sh agent.sh", "--format", "text"];
    let mut command = base.with(arguments.iter().chain(more)).command();
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command
}

/// Returns the kinds of events, with the texts of actions.
fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["action"]["text"].as_str().or(event["event"].as_str()).unwrap()).collect()
}

/// Starts to follow, and waits until that has begun: it prints an attempt that was there before.
fn follow(base: &TestBase, more: &[&str]) -> Running {
    let at = "2026-11-01T09:00:00Z";
    attempt(base, "run-00000001/1", at, "feature: two\ntask_id: t-2\nmodel: opus", "");
    attempt(base, "run-00000002/1", at, "feature: Caf\u{e9}\nmodel: sonnet", "");
    let options = ["log", "--follow", "--json", "--limit", "1"];
    let follower = Running::start(base.with(options.iter().chain(more)).command());
    follower.event("attempt");
    follower
}

#[test]
fn nothing_of_a_key_is_seen_while_it_is_printed() {
    let base = TestBase::new();
    write_key(&base);
    gate(&base, "go");
    gate(&base, "verified");
    let follower = follow(&base, &[]);
    let script = "cat key; cat key >&2; echo 'That was all.'; echo 'That was all.' >&2; read line < go";
    let verify = "sh -c 'cat key; echo Verified.; read line < verified'";
    let run = Running::start(run(&base, script, &["--max-iterations", "1", "--verify", verify]));
    let seen = |until: &str, times: usize| {
        let mut n_seen = 0;
        while n_seen < times {
            let line = follower.line();
            assert!(!line.contains(&OF_KEY[..20]) && !line.contains("AbC="), "{line}");
            n_seen += usize::from(line.contains(until));
        }
    };
    let is_nowhere = |place: &str, text: &str| assert!(!text.contains(&OF_KEY[..20]), "{place}: {text}");
    let file = || {
        let name = base.files(".ralph/state/live").remove(0);
        assert_eq!(fs::metadata(base.at(&name)).unwrap().permissions().mode() & 0o777, 0o600);
        fs::read_to_string(base.at(&name)).unwrap()
    };
    seen("That was all.", 2);
    let memory = base.memory();
    let live = memory.live_runs().remove(0);
    let texts: Vec<&str> = live.actions.iter().map(|action| action.text.as_str()).collect();
    assert_eq!(texts.iter().filter(|text| **text == "[redacted: private-key]").count(), 2, "{texts:?}");
    let page = PageProcess::start(&base);
    let is_nowhere_now = || {
        is_nowhere("file", &file());
        is_nowhere("page", &page.page(""));
        is_nowhere("show", &base.run(["show", &live.run_id]).answer(0));
    };
    is_nowhere_now();
    open_gate(&base, "go");
    seen("Verified.", 1);
    is_nowhere_now();
    open_gate(&base, "verified");
    run.ends(1);
    is_nowhere("file", &file());
}

#[test]
fn the_last_actions_come_before_the_attempt() {
    let base = TestBase::new();
    let follower = follow(&base, &[]);
    run(&base, "for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i; done", &["--max-iterations", "2"]).output().unwrap();
    let events = follower.events_to("ended");
    let lines = (1..=10).map(|number| format!("line {number}"));
    let iteration: Vec<String> = ["started".into()].into_iter().chain(lines).chain(["attempt".into()]).collect();
    let mut expected = [iteration.clone(), iteration].concat();
    expected.push("ended".to_owned());
    // The attempt may be in the journal before the next look at the run.
    let without = |events: &[&str]| {
        events.iter().filter(|event| **event != "attempt").map(|event| (*event).to_owned()).collect::<Vec<_>>()
    };
    let of = |events: &[String]| without(&events.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(without(&kinds(&events)), of(&expected));
    assert_eq!(kinds(&events).iter().filter(|event| **event == "attempt").count(), 2);
    let first = events.iter().position(|event| event["event"] == "attempt").unwrap();
    assert!(first > 10, "{events:?}");
    assert_eq!(events.last().unwrap()["lost"], false);
    // Who comes later is not bothered with it.
    let late = follow(&base, &[]);
    drop(run(&base, "echo again", &["--max-iterations", "1"]).output().unwrap());
    assert_eq!(late.event("started")["live"]["iteration"], 1);
}

#[test]
fn actions_that_come_too_fast_are_counted() {
    let base = TestBase::new();
    gate(&base, "go");
    let follower = follow(&base, &[]);
    let reader = Running::start(base.with(["log", "--follow", "--limit", "1"]).command());
    reader.line();
    let script = "i=0; while [ $i -lt 1500 ]; do i=$((i+1)); echo line $i; done; read line < go";
    let run = Running::start(run(&base, script, &["--max-iterations", "1"]));
    let is_last = |text: &str| text.contains("line 1500");
    let (mut n_seen, mut last) = (0, 0);
    while last < 1500 {
        let line = follower.line();
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["event"] == "action" {
            let number = event["number"].as_u64().unwrap();
            assert!(number > last && event["action"]["text"] == format!("line {number}"), "{line}");
            (n_seen, last) = (n_seen + 1, number);
        }
    }
    let lines: Vec<String> = std::iter::from_fn(|| Some(reader.line())).take_while(|line| !is_last(line)).collect();
    let count =
        |line: &String| line.split_once("  … ")?.1.strip_suffix(" more")?.replace(',', "").parse::<usize>().ok();
    let n_left_out: usize = lines.iter().filter_map(count).sum();
    let n_lines = lines.iter().filter(|line| line.contains("  line ")).count();
    assert_eq!(n_left_out + n_lines + 1, 1500, "{lines:?}");
    assert!(n_left_out > 0 && n_seen < 1500);
    open_gate(&base, "go");
    run.ends(1);
}

#[test]
fn a_filter_is_about_what_goes_on_too() {
    let base = TestBase::new();
    gate(&base, "go");
    let others =
        ["--feature=two", "--task=t-2", "--model=opus", "--outcome=failed"].map(|filter| follow(&base, &[filter]));
    // A name has several forms.
    let own = follow(&base, &["--feature=Cafe\u{301}", "--model=SONNET"]);
    let run = Running::start(run(
        &base,
        "echo reading; read line < go # $RALPH_MODEL",
        &["--max-iterations", "2", "--feature", "Caf\u{e9}"],
    ));
    let run_id = own.event("started")["live"]["run_id"].as_str().unwrap().to_owned();
    let of_run = Running::start(base.with(["log", "--follow", "--json", "--run", &run_id, "--feature=two"]).command());
    open_gate(&base, "go");
    while own.event_of("started")["live"]["iteration"] != 2 {}
    assert!(of_run.lines.try_recv().is_err(), "the run goes on");
    open_gate(&base, "go");
    run.ends(1);
    assert_eq!(own.events_to("ended").last().unwrap()["run_id"], json!(run_id));
    assert_eq!(of_run.event("ended")["run_id"], json!(run_id));
    of_run.ends(0);
    // The others saw nothing: the first that they see is an attempt that they want.
    let fields = "model: opus\nfeature: two\ntask_id: t-2";
    attempt(&base, "run-0000000c/1", "2026-11-01T10:00:00Z", fields, "");
    for other in others {
        other.event("attempt");
    }
}

#[test]
fn a_run_that_was_killed_says_so() {
    let base = TestBase::new();
    gate(&base, "go");
    let follower = follow(&base, &[]);
    let run = Running::start(run(&base, "echo reading the map; read line < go", &[]));
    let run_id = follower.event("started")["live"]["run_id"].as_str().unwrap().to_owned();
    follower.event("action");
    drop(run);
    assert_eq!(follower.event("phase")["phase"], "lost");
    let ended = follower.event("ended");
    assert_eq!((&ended["run_id"], &ended["lost"]), (&json!(run_id), &json!(true)));
    let shown = base.run(["show", &run_id]).answer(0);
    assert!(shown.contains("lost, reading the map"), "{shown}");
    let nothing: [&str; 0] = [];
    base.run(nothing).says(0, "its process has ended, and the next run records it as interrupted)");
    let memory = base.memory();
    assert_eq!(memory.live_runs(), Vec::<LiveRun>::new());
    let task = memory.task(&memory.run(&run_id).unwrap().live[0].task_id.clone().unwrap()).unwrap();
    assert_eq!((task.title.as_str(), task.live[0].phase), ("Draw the map", LivePhase::Lost));
    assert_answer("show-task", &base.run(["show", &task.id, "--json"]).json(0));
    let followed = base.run(["log", "--follow", "--run", &run_id]);
    assert_eq!((followed.code, followed.stdout.as_str()), (Some(0), ""), "it does not go on");
    // The next run begins once its agent has ended, and records it.
    let begin = || memory.begin(&Task::new("Fold the map"), &Run::named("run-0000000d")).ok();
    std::iter::repeat_with(begin).take(60).find_map(|begun| begun).expect("its agent has ended");
    base.run(["show", &run_id]).says(0, "interrupted");
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
