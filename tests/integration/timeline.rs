//! `log`, `stats`, `show` of tasks and runs, orders of `list`, and what is seen of a run in progress.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use insta::assert_snapshot;
use ralph_memory::Task;
use ralph_memory::memory::Run;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::cli::session;
use crate::pty::Terminal;
use crate::schemas::assert_answer;
use crate::support::{TestBase, heed_interrupts, ids};

/// Longer than anything takes, on however busy a machine.
const LONGEST: Duration = Duration::from_secs(60);

/// Writes an attempt, `RUN/NUMBER` in the journal or below `archive/`: a failure at the task `t-1`, unless these lines of its head say
/// something else.
pub(crate) fn attempt(base: &TestBase, name: &str, at: &str, fields: &str, body: &str) {
    let (run, number) = name.rsplit_once('/').unwrap();
    let (area, run) = run.strip_prefix("archive/").map_or(("", run), |run| ("archive/", run));
    let usual = ["outcome: failed", "task_id: t-1", "task_title: Fix the login"];
    let is_missing = |line: &&&str| !fields.contains(&line[..=line.find(':').unwrap()]);
    let usual: Vec<&str> = usual.iter().filter(is_missing).copied().collect();
    let head = format!("run_id: {run}\niteration: {number}\nstarted_at: {at}\n{}\n{fields}", usual.join("\n"));
    base.write(&format!(".ralph/{area}journal/{run}/{number:0>4}.md"), format!("---\n{head}\n---\n\n{body}\n"));
}

/// Returns a memory with a failure and a success of one task, in two runs.
fn sample() -> TestBase {
    let base = TestBase::new();
    let why = "## What was tried\n\nA longer timeout.\n\n## Why it failed\n\nThe clock is wrong.\n";
    let more = "feature: login\nmodel: sonnet\nduration_secs: 61\ncost_usd: 0.5\nerror_category: test_failure";
    attempt(&base, "run-0000000a/1", "2026-11-01T10:00:00Z", more, why);
    let more = "outcome: done\nfeature: login\nmodel: opus\ntokens_in: 1200\ntokens_out: 34\nfiles: {modified: [src/login.rs]}";
    attempt(&base, "run-0000000b/1", "2026-11-19T10:00:00Z", more, "");
    base
}

/// A running command; killed if a test fails.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) lines: Receiver<String>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Running {
        command.env("PATH", std::env::var_os("PATH").unwrap());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in out.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        Running { child, lines }
    }

    /// Returns the next line.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(LONGEST).expect("a line")
    }

    /// Returns the attempt in the next line.
    #[track_caller]
    pub(crate) fn attempt(&self) -> Value {
        let value: Value = serde_json::from_str(&self.line()).unwrap();
        assert_answer("log-follow", &value);
        value["attempt"].clone()
    }

    #[track_caller]
    pub(crate) fn ends(mut self, code: i32) {
        assert_eq!(self.child.wait().unwrap().code(), Some(code));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a FIFO that holds up whoever reads it.
pub(crate) fn gate(base: &TestBase, name: &str) {
    mknodat(CWD, base.at(name), FileType::Fifo, Mode::RWXU, 0).unwrap();
}

/// Lets whoever waits at the FIFO continue, once it does.
pub(crate) fn open_gate(base: &TestBase, name: &str) {
    fs::write(base.at(name), "go\n").unwrap();
}

/// Returns a run of a stand-in for Claude Code, whose only message comes in two pieces. It waits at the gate `go` before it
/// says what it cost, and verification at the gate `verified`.
fn claude_run(base: &TestBase) -> Command {
    let script = r#"cat > /dev/null
usage='"usage":{"input_tokens":12,"cache_read_input_tokens":3000,"output_tokens":8}'
piece() { echo "{\"type\":\"assistant\",\"session_id\":\"s\",\"message\":{\"id\":\"m1\",\"model\":\"sonnet\",\"content\":[$1],$usage}}"; }
echo '{"type":"system","subtype":"init","session_id":"s","model":"sonnet"}'
piece "{\"type\":\"text\",\"text\":\"<task-done>$RALPH_TASK_ID</task-done>\"}"
piece '{"type":"tool_use","id":"1","name":"Bash","input":{"command":"cargo test"}}'
read line < go
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s","total_cost_usd":0.25,"usage":{"input_tokens":4000,"output_tokens":100},"result":""}'
"#;
    base.write("agent.sh", script);
    let arguments = ["run", "--task", "Draw the map", "--agent", "sh agent.sh {model}", "--max-iterations", "1"];
    let verify = ["--verify", "sh -c 'read line < verified'"];
    let mut command = base.with(arguments.iter().chain(&verify)).command();
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command
}

#[test]
fn the_log_statistics_tasks_and_runs_are_shown() {
    let base = sample();
    let log: &[&str] = &[
        "log",
        "log --outcome failed --full",
        "log --limit 1",
        "log --task t-2",
        "log --since soon",
        "log --outcome bad",
    ];
    let show: &[&str] = &[
        "show t-1",
        "show run-0000000a",
        "show task:t-2",
        "show run:t-1",
        "show t-2",
        "show ../t-1",
        "show run-0000000a/7",
        "show knowledge/7",
    ];
    for (name, lines) in [("log", log), ("stats", &["stats", "stats --feature search"]), ("show-tasks-and-runs", show)]
    {
        assert_snapshot!(name, session(&base, lines));
    }
    for (since, expected) in [("2 days", 1), ("2026-10-01", 2)] {
        assert_eq!(base.run(["log", "--since", since, "--json"]).json(0)["attempt_count"], expected, "{since}");
    }
    assert_eq!(base.run(["show", "t-1", "--json"]).json(0)["task"]["state"], "done");
}

/// Another run, whose agent does nothing.
fn next_run(base: &TestBase) {
    let next = base.with(["run", "--task", "Other", "--agent", "cat", "--max-iterations", "1"]);
    next.env("PATH", std::env::var_os("PATH").unwrap()).run().says(1, "not done");
}

#[test]
fn no_list_shows_a_secret_that_a_person_wrote_into_an_attempt() {
    let base = TestBase::new();
    let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let (begin, end) =
        (["-----BEGIN RSA", " PRIVATE KEY-----"].concat(), ["-----END RSA", " PRIVATE KEY-----"].concat());
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let (refused, key_text) = (format!("error: push with {token} refused"), format!("{begin}\n{key}\n{end}"));
    for (number, error) in [(1, &refused), (2, &refused), (3, &key_text), (4, &key_text)] {
        let (name, at) = (format!("run-0000000a/{number}"), format!("2026-11-1{number}T10:00:00Z"));
        attempt(&base, &name, &at, "feature: login", &format!("## Error output\n\n{error}\n"));
    }
    for arguments in
        [&["log"][..], &["log", "--json"], &["stats"], &["stats", "--json"], &["stats", "--feature", "login"]]
    {
        let answer = base.run(arguments).answer(0);
        assert!(answer.contains("[redacted: github-token]"), "{arguments:?}: {answer}");
        assert!(!answer.contains(&token) && !answer.contains(key), "{arguments:?}: {answer}");
    }
    let errors = base.run(["stats", "--json"]).json(0)["errors"].clone();
    assert_eq!(errors.as_array().unwrap().len(), 2, "{errors}");
}

#[test]
fn an_entry_comes_before_a_task_of_its_name() {
    let base = sample();
    base.entry("t-1", "Ports", "net", "Use 5433.");
    base.run(["show", "t-1"]).says(0, "`ralph-memory show task:t-1`");
    assert_eq!(base.run(["show", "t-1", "--json"]).json(0)["entry"]["title"], "Ports");
    assert_eq!(base.run(["show", "task:t-1", "--json"]).json(0)["task"]["title"], "Fix the login");
}

/// One title is one task, whatever the feature.
#[test]
fn the_statistics_of_a_feature_know_all_attempts_at_its_tasks() {
    let base = TestBase::new();
    for (number, outcome, feature) in [(1, "failed", "a"), (2, "failed", "a"), (3, "failed", "a"), (4, "done", "b")] {
        let (name, at) = (format!("run-0000000a/{number}"), format!("2026-11-01T10:0{number}:00Z"));
        attempt(&base, &name, &at, &format!("outcome: {outcome}\nfeature: {feature}"), "");
    }
    let all = base.run(["stats", "--json"]).json(0);
    let of_a = all["features"].as_array().unwrap().iter().find(|stats| stats["feature"] == "a").unwrap();
    let total = &base.run(["stats", "--feature", "a", "--json"]).json(0)["total"];
    assert_eq!((&total["tasks"], &total["streak"]), (&json!({"done": 1, "open": 0, "stuck": 0}), &json!(0)));
    assert_eq!((&total["tasks"], &total["attempt_count"]), (&of_a["tasks"], &of_a["attempt_count"]));
}

#[test]
fn case_does_not_distinguish_models() {
    let base = TestBase::new();
    for (number, model) in [(1, "opus"), (2, "Opus"), (3, "Opus"), (4, "sonnet")] {
        let (name, at) = (format!("run-0000000a/{number}"), format!("2026-11-01T10:0{number}:00Z"));
        attempt(&base, &name, &at, &format!("model: {model}"), "");
    }
    let stats = base.run(["stats", "--json"]).json(0);
    let models = stats["total"]["models"].as_array().unwrap();
    let models: Vec<(&Value, &Value)> = models.iter().map(|model| (&model["model"], &model["attempt_count"])).collect();
    assert_eq!(models, [(&json!("Opus"), &json!(3)), (&json!("sonnet"), &json!(1))]);
    assert_eq!(base.run(["log", "--model", "OPUS", "--json"]).json(0)["attempt_count"], 3);
}

#[test]
fn an_attempt_of_a_clock_that_is_ahead_keeps_its_time() {
    let base = TestBase::new();
    attempt(&base, "run-0000000a/1", "2036-01-01T10:00:00Z", "outcome: done\nduration_secs: 60", "");
    attempt(&base, "run-0000000a/2", "2036-01-01T11:00:00Z", "outcome: done\nduration_secs: 60", "");
    let run = base.run(["show", "run-0000000a", "--json"]).json(0)["run"].clone();
    assert_eq!(
        (&run["started_at"], &run["ended_at"]),
        (&json!("2036-01-01T10:00:00Z"), &json!("2036-01-01T11:01:00Z"))
    );
    let stats = base.run(["stats", "--json"]).json(0);
    assert_eq!((&stats["days"], &stats["total"]["last_started_at"]), (&json!({}), &json!("2036-01-01T11:00:00Z")));
}

#[test]
fn a_run_counts_the_tasks_of_all_its_iterations() {
    let base = TestBase::new();
    for number in 1..=1_010 {
        let task = if number <= 10 { "task_id: t-0\ntask_title: First" } else { "task_title: Second" };
        attempt(&base, &format!("run-0000000a/{number}"), "2026-11-01T10:00:00Z", task, "");
    }
    let run = base.run(["show", "run-0000000a", "--json"]).json(0)["run"].clone();
    let task = |id: &str, title: &str, count: u32| json!({"id": id, "title": title, "attempt_count": count, "outcome": "failed"});
    assert_eq!(run["tasks"], json!([task("t-0", "First", 10), task("t-1", "Second", 1_000)]));
    assert_eq!(run["attempts"].as_array().unwrap().len(), 1_000);
}

#[test]
fn show_takes_the_name_of_an_iteration() {
    let base = sample();
    let entry = base.run(["show", "journal/run-0000000a/0001"]).answer(0);
    for name in ["run-0000000a/1", "journal/run-0000000a/1", "run-0000000a/0001"] {
        assert_eq!(base.run(["show", name]).answer(0), entry, "{name}");
    }
    let begun = base.memory().begin(&Task::new("Draw a plan"), &Run::named("run-0000000c")).unwrap();
    base.run(["show", "run-0000000c/1"]).says(0, "attempts     0");
    let shown = base.run(["show", &begun.task_id()]).answer(0);
    assert!(shown.contains("attempts     0\n"), "{shown}");
}

#[test]
fn lists_have_orders_and_limits() {
    let base = TestBase::new();
    let entry = |stem: &str, title: &str, importance: u32, created: &str, updated: &str| {
        let dates = format!("created_at: {created}\nupdated_at: {updated}");
        let head = format!("title: {title}\ntags: [x]\nimportance: {importance}\n{dates}");
        base.write(&format!(".ralph/knowledge/{stem}.md"), format!("---\n{head}\n---\n\nText.\n"));
    };
    entry("a", "pear", 10, "2026-03-01", "2026-03-01");
    entry("b", "Apple", 90, "2026-01-01", "2026-11-19");
    entry("c", "fig", 50, "2026-02-01", "2026-02-01");
    let context = "context: [knowledge/c, knowledge/a]";
    attempt(&base, "run-0000000a/1", "2026-11-01T10:00:00Z", context, "");
    attempt(&base, "run-0000000a/2", "2026-11-02T10:00:00Z", "outcome: done\ncontext: [knowledge/c]", "");
    let check = |options: &[&str], expected: &[&str]| {
        let arguments = [&["list", "--kind", "knowledge", "--json"], options].concat();
        let found = ids(&base.run(&arguments).json(0)["entries"]);
        let expected: Vec<String> = expected.iter().map(|stem| format!("knowledge/{stem}")).collect();
        assert_eq!(found, expected, "{options:?}");
    };
    check(&[], &["a", "b", "c"]);
    check(&["--reverse"], &["c", "b", "a"]);
    check(&["--sort", "updated"], &["b", "a", "c"]);
    check(&["--sort", "created"], &["a", "c", "b"]);
    check(&["--sort", "created", "--reverse"], &["b", "c", "a"]);
    check(&["--sort", "title"], &["b", "c", "a"]);
    check(&["--sort", "importance", "--limit", "2"], &["b", "c"]);
    check(&["--sort", "used"], &["c", "a", "b"]);
    check(&["--since", "yesterday"], &["b"]);
    check(&["--unused"], &["b"]);
    check(&["--never-helped"], &[]);
    let with_fact = |fact: &str| ids(&base.run(["log", "--fact", fact, "--json"]).json(0)["attempts"]).join(" ");
    assert_eq!(with_fact("c"), "journal/run-0000000a/0002 journal/run-0000000a/0001");
    assert_eq!(with_fact("knowledge/a"), "journal/run-0000000a/0001");
    base.run(["log", "--fact", "b"]).tells(0, &[], &["no attempts"]);
    base.run(["list", "--sort", "size"]).refuses(2, "possible values: updated, created");
    check(&["--limit", "0"], &["a", "b", "c"]);
    assert_eq!(base.run(["list", "--kind", "knowledge", "--limit", "1", "--json"]).json(0)["entry_count"], 3);
    base.run(["list", "--kind", "knowledge", "--limit", "1"]).says(0, "2 more; `--limit 0` lists all");
    base.run(["list", "--limit", "-1"]).refuses(2, "not a whole number from 0 on");
}

#[test]
fn a_context_takes_its_task_with_or_without_an_option() {
    let base = TestBase::new();
    base.entry("map", "Maps use tiles", "map", "Of 256 pixels.");
    let of = |arguments: &[&str]| base.run([arguments, &["-q"]].concat()).answer(0);
    assert_eq!(of(&["context", "Draw the map"]), of(&["context", "--task", "Draw the map"]));
    assert_eq!(
        of(&["context", "Draw the map", "--feature", "map"]),
        of(&["context", "--task", "Draw the map", "--feature", "map"])
    );
    base.run(["context", "Draw", "--task", "Draw"]).refuses(2, "cannot be used with");
    base.run(["context", "--feature", "map"]).refuses(2, "required");
    base.run(["context", " "]).refuses(2, "the task's title is empty");
}

#[test]
fn the_tokens_and_the_cost_so_far_are_shown_at_a_terminal() {
    let base = TestBase::new();
    gate(&base, "go");
    gate(&base, "verified");
    let mut run = Terminal::start(claude_run(&base));
    // Two pieces of one message are one message.
    run.wait_for("sonnet · 3,020 tokens · ");
    open_gate(&base, "go");
    run.wait_for("sonnet · 4,100 tokens · $0.25 · ");
    open_gate(&base, "verified");
    assert_eq!(run.ended().code(), Some(0));
}

#[test]
fn an_attempt_of_another_program_is_followed_too() {
    let base = sample();
    heed_interrupts();
    let follow = ["log", "--follow", "--json", "--limit", "1", "--feature", "login"];
    let mut follower = Running::start(base.with(follow).command());
    // What was there comes first, and once.
    assert_eq!(follower.attempt()["id"], "journal/run-0000000b/0001");
    attempt(&base, "run-0000000c/1", "2026-10-01T10:00:00Z", "feature: other", "");
    attempt(&base, "run-0000000c/2", "2026-10-01T11:00:00Z", "feature: login", "");
    assert_eq!(follower.attempt()["id"], "journal/run-0000000c/0002");
    kill_process(Pid::from_child(&follower.child), Signal::INT).unwrap();
    assert_eq!(follower.child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_run_that_does_not_go_on_is_printed_and_not_waited_for() {
    let base = sample();
    let ran = base.run(["log", "--follow", "--run", "run-0000000a"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 3), "{ran}");
    base.run(["log", "--follow", "--run", "run-nobody"]).refuses(1, "there is no run `run-nobody`");
}

#[test]
fn an_open_iteration_is_live_without_a_line() {
    let base = TestBase::new();
    let begun = base.memory().begin(&Task::new("Draw the map"), &Run::named("run-0000000a")).unwrap();
    let task = base.run(["show", &begun.task_id(), "--json"]).json(0)["task"].clone();
    assert_eq!(
        (&task["state"], &task["live"][0]["phase"], &task["title"]),
        (&json!("open"), &json!("open"), &json!("Draw the map"))
    );
    assert_eq!(task["live"][0]["last_line"], Value::Null);
}

/// Whatever a clone brings below `state/live`: nothing of it is shown, waited for or followed.
#[test]
fn files_that_were_not_written_here_are_not_shown() {
    let base = sample();
    base.run(["add", "--event", "decision", "So that there is a key."]).answer(0);
    let secret = base.home().join("secret");
    let process = std::fs::read_to_string("/proc/self/stat").unwrap();
    let started: u64 = process.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap();
    // All that it needs but the checksum: this process is alive.
    let content = json!({
        "holder": {"pid": std::process::id(), "started": started}, "written_at": 1,
        "current": {"run_id": "run-0000000d", "phase": "between", "task_title": ""},
    });
    fs::write(&secret, content.to_string()).unwrap();
    let at = |name: &str| base.at(&format!(".ralph/state/live/{name}"));
    base.write(".ralph/state/live/run-0000000d.json", content.to_string());
    base.write(".ralph/state/live/run-0000000e.json", format!("{content}\n0123456789abcdef\n"));
    base.write(".ralph/state/live/run-0000000f.json", "x".repeat(5_000_000));
    base.write(".ralph/state/live/..json", "");
    symlink(&secret, at("run-00000010.json")).unwrap();
    gate(&base, ".ralph/state/live/run-00000011.json");
    fs::create_dir(at("run-00000012.json")).unwrap();
    assert!(base.memory().live_runs().is_empty());
    base.run(["show", "run:run-0000000d"]).refuses(1, "there is no run");
    // The next run removes what it can, and its own file at its end.
    next_run(&base);
    assert_eq!(base.files(".ralph/state/live"), [".ralph/state/live/..json"]);
    assert_eq!(fs::read_to_string(&secret).unwrap(), content.to_string(), "what a link leads to stays");
    // A link instead of the folder.
    fs::remove_dir_all(base.at(".ralph/state/live")).unwrap();
    let outside = base.home().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, base.at(".ralph/state/live")).unwrap();
    next_run(&base);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing was written there");
}
