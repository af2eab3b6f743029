//! Limits of a run: how long its agent and verification may take, what it may spend, and what it shows and keeps of its
//! agents.

use std::fs;
use std::path::PathBuf;

use crate::support::{Ran, TestBase, git};

fn run(base: &TestBase, arguments: &[&str]) -> Ran {
    base.with([&["run", "--task", "x"], arguments].concat()).env("PATH", std::env::var_os("PATH").unwrap()).run()
}

/// Writes an agent beside the project, and returns its command.
fn agent(base: &TestBase, script: &str) -> String {
    let path = base.home().join("agent.sh");
    fs::write(&path, format!("cd {}\n{script}\n", base.home().display())).unwrap();
    format!("sh {}", path.display())
}

/// Returns the files that an agent left beside itself.
fn left(base: &TestBase, name: &str) -> String {
    fs::read_to_string(base.home().join(name)).unwrap_or_default()
}

/// Returns the journal's entries, in order.
fn journal(base: &TestBase) -> Vec<String> {
    let mut paths = base.files(".ralph/journal");
    paths.sort();
    paths.iter().map(|path| base.read(path)).collect()
}

const DONE: &str = "echo \"<task-done>$RALPH_TASK_ID</task-done>\"";

#[test]
fn an_agent_over_its_time_limit_is_ended_and_the_run_continues() {
    let base = TestBase::new();
    // A child of it leaves its process group, and it says that it is done.
    let script = format!(
        "cat > prompt-$RALPH_ATTEMPT\n{DONE}\n[ $RALPH_ATTEMPT = 1 ] || exit 0\n\
         setsid sh -c 'echo $$ > pid; exec sleep 1000' &\nyes 'a warning' | head -n 9000 >&2\nsleep 1000"
    );
    let ran = run(&base, &["--agent", &agent(&base, &script), "--timeout", "2s"]);
    ran.tells(0, &["2 (1 done, 1 blocked)"], &[]);
    let first = &journal(&base)[0];
    assert!(first.contains("\noutcome: blocked\n"), "{first}");
    assert!(first.contains("> The time-out of 2 s ended the agent.\n"), "{first}");
    let told = left(&base, "prompt-2");
    assert!(told.contains("The time-out of 2 s ended the agent."), "{told}");
    let state = fs::read_to_string(PathBuf::from(format!("/proc/{}/stat", left(&base, "pid").trim())));
    assert!(state.as_ref().is_err() || state.as_ref().is_ok_and(|state| state.contains(") Z ")), "{state:?}");
}

#[test]
fn an_agent_that_ends_in_time_is_not_blocked() {
    let base = TestBase::new();
    run(&base, &["--agent", &agent(&base, DONE), "--timeout", "2h", "--verify-timeout", "30m"]).says(0, "");
    assert!(!journal(&base)[0].contains("time-out"), "{}", journal(&base)[0]);
}

#[test]
fn a_verification_over_its_time_limit_has_failed() {
    let base = TestBase::new();
    let agent = agent(&base, &format!("cat > prompt-$RALPH_ATTEMPT\n{DONE}"));
    // It ends with success when it is asked to end.
    let verify = "sh -c 'trap \"exit 0\" TERM; echo testing; while :; do sleep 0.01; done'";
    let arguments = ["--agent", &agent, "--verify", verify, "--verify-timeout", "1s", "--max-iterations", "2"];
    let ran = run(&base, &arguments);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stdout.contains("2 (2 retried)"), "{ran}");
    let first = &journal(&base)[0];
    assert!(first.contains("exit_code: 124"), "{first}");
    assert!(first.contains("> testing\n> The time-out of 1 s ended this.\n"), "{first}");
    assert!(left(&base, "prompt-2").contains("The time-out of 1 s ended this."), "{}", left(&base, "prompt-2"));
}

#[test]
fn a_resumed_run_keeps_its_time_outs() {
    let base = TestBase::new();
    let agent = agent(&base, "sleep 1000");
    let arguments = ["--agent", &agent, "--timeout", "1s", "--verify-timeout", "7m", "--max-iterations", "1"];
    run(&base, &arguments).says(1, "--max-iterations N");
    let ran = base.with(["run", "--resume"]).env("PATH", std::env::var_os("PATH").unwrap()).run();
    assert!(ran.stdout.contains("1 (1 blocked)"), "{ran}");
    assert_eq!(journal(&base).len(), 2);
    // The file ends with its seal.
    assert!(base.read(".ralph/state/run.json").contains("\"verify_timeout\": {\n      \"secs\": 420,"));
}

/// An agent whose stream reports 30 cents and 1,200 tokens, and no outcome.
fn spender(base: &TestBase) -> String {
    let stream = concat!(
        r#"{"type":"system","subtype":"init","session_id":"s","cwd":"/p","model":"claude-sonnet-4-5"}"#,
        "\n",
        r#"{"type":"assistant","message":{"id":"m","model":"claude-sonnet-4-5","content":[{"type":"text","text":"I read on."}]},"session_id":"s"}"#,
        "\n",
        r#"{"type":"result","subtype":"success","session_id":"s","is_error":false,"total_cost_usd":0.3,"usage":{"input_tokens":1000,"output_tokens":200},"result":"I read on."}"#,
    );
    fs::write(base.home().join("stream"), stream).unwrap();
    agent(base, "cat stream")
}

/// Goes on with the newest run.
fn resume(base: &TestBase, arguments: &[&str]) -> Ran {
    base.with([&["run", "--resume"], arguments].concat()).env("PATH", std::env::var_os("PATH").unwrap()).run()
}

#[test]
fn a_run_at_its_cost_limit_begins_no_iteration() {
    let base = TestBase::new();
    // Three times 30 cents are a little less than 90 in binary.
    let ran = run(&base, &["--agent", &spender(&base), "--max-iterations", "0", "--max-cost", "0.90"]);
    ran.tells(1, &["3 (3 blocked)", "limit        --max-cost\n"], &[]);
    assert!(
        ran.stderr.contains("the run has used $0.90 of $0.90; `run --resume --max-cost` with a higher limit"),
        "{ran}"
    );
    // What it spent before it was gone on with counts, and so does the limit.
    let ran = resume(&base, &["--json"]);
    assert_eq!(
        (&ran.json(1)["attempts"], &ran.json(1)["limit"]),
        (&serde_json::json!([]), &"--max-cost".into()),
        "{ran}"
    );
    let ran = resume(&base, &["--max-cost", "1"]);
    assert!(ran.stdout.contains("1 (1 blocked)"), "{ran}");
    assert_eq!(journal(&base).len(), 4);
}

#[test]
fn a_run_at_its_token_limit_begins_no_iteration() {
    let base = TestBase::new();
    let ran = run(&base, &["--agent", &spender(&base), "--max-iterations", "0", "--max-tokens", "2000"]);
    ran.tells(1, &["2 (2 blocked)", "limit        --max-tokens\n"], &[]);
    assert!(ran.stderr.contains("the run has used 2400 of 2000 tokens"), "{ran}");
    let resumed = resume(&base, &[]);
    assert!(resumed.stdout.is_empty() && resumed.stderr.contains("used 2400 of 2000 tokens"), "{resumed}");
}

#[test]
fn a_limit_that_cannot_be_counted_gives_one_warning() {
    let base = TestBase::new();
    let arguments = ["--agent", &agent(&base, "echo hm"), "--max-iterations", "2", "--max-cost", "1"];
    let ran = run(&base, &arguments);
    assert!(ran.stdout.contains("limit        --max-iterations\n"), "{ran}");
    assert_eq!(ran.stderr.matches("does not report its cost, so `--max-cost` cannot count it").count(), 1, "{ran}");
}

/// A secret, as a scanner would see it.
const SECRET: &str = concat!("ghp_", "x7Kq2mVb9TzR4nWc8LpY3sHd6JfG1aQe5uXo");

#[test]
fn a_log_has_all_output_of_an_agent() {
    let base = TestBase::new();
    git(&base, &["init", "-q"]);
    // More than is kept of an error output.
    let script = format!("echo first $RALPH_ATTEMPT\nyes 0123456 | head -n 200000 >&2\necho {SECRET}");
    let ran = run(&base, &["--agent", &agent(&base, &script), "--max-iterations", "2", "--log", "logs/of agents"]);
    assert!(ran.stdout.contains("2 (2 blocked)"), "{ran}");
    let run = base.files(".ralph/journal")[0].split('/').nth(2).unwrap().to_owned();
    let path = |number: u32| format!("logs/of agents/{run}-{number:04}.log");
    assert_eq!(base.files("logs"), ["logs/of agents/.gitignore".to_owned(), path(1), path(2)]);
    for number in [1, 2] {
        let text = base.read(&path(number));
        // Two outputs, which may come between each other anywhere.
        let errors = text.replacen(&format!("first {number}\n"), "", 1).replacen(&format!("{SECRET}\n"), "", 1);
        assert!(errors == "0123456\n".repeat(200_000) && text.len() > errors.len() + SECRET.len(), "{}", text.len());
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(base.at(&path(number))).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    // The memory has no secret, and no attempt made a log.
    for entry in journal(&base) {
        assert!(!entry.contains(SECRET) && !entry.contains("logs/"), "{entry}");
    }
    // Existing files are left alone, and a resumed run keeps its log.
    fs::write(base.at(&path(3)), "mine").unwrap();
    resume(&base, &["--max-iterations", "1"]).says(1, "--max-iterations N");
    assert_eq!(base.read(&path(3)), "mine");
    let other = base.read(&path(3).replace(".log", "-2.log"));
    assert!(other.contains("first 3\n"), "{}", other.len());
}

#[test]
fn an_unwritable_log_or_one_in_the_memory_is_refused() {
    let base = TestBase::new();
    base.write("file", "x").write("sub/x", "");
    std::os::unix::fs::symlink(base.at(".ralph/journal"), base.at("link")).unwrap();
    let before = base.files(".ralph");
    let agent = agent(&base, "touch worked");
    let inside = [".ralph/knowledge", ".ralph/journal/logs", "sub/../.ralph/logs", "link/logs"];
    for (folder, says) in inside.map(|folder| (folder, "lies in the memory")).into_iter().chain([
        ("file/logs", "cannot write the output of agents to file/logs"),
        ("/proc/logs", "cannot write the output of agents to /proc/logs"),
        ("absent/../.ralph/logs", "cannot write the output of agents to absent/../.ralph/logs"),
    ]) {
        let ran = run(&base, &["--agent", &agent, "--log", folder]);
        ran.tells(2, &[], &[says, "hint: name "]);
    }
    assert_eq!(base.files(".ralph"), before);
    assert!(!base.home().join("worked").exists() && !base.at("absent").exists());
}

#[test]
fn the_title_of_a_box_is_shown_above_its_attempts() {
    let base = TestBase::new();
    base.write("todo.md", "- [ ] Add the lock\n- [ ] Test it\u{1b}[2J\n");
    // Each box is done at the second attempt, and the first one moves in the file.
    let script = format!(
        ": $RALPH_MODEL\n[ $RALPH_ATTEMPT != 1 ] || sed -i '1i # To do' {}\n[ $((RALPH_ATTEMPT % 2)) = 1 ] || {DONE}",
        base.at("todo.md").display()
    );
    let agent = agent(&base, &script);
    let checklist = ["run", "--task-file", "todo.md", "--agent", &agent];
    let ran = base.with(checklist).env("PATH", std::env::var_os("PATH").unwrap()).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    let lines: Vec<&str> = ran.stderr.lines().skip(1).filter(|line| line.matches('·').count() < 2).collect();
    let attempt = |number: u32| format!("attempt {number} of 10 · sonnet");
    assert_eq!(lines[..3], ["Add the lock", &attempt(1), &attempt(2)], "{ran}");
    assert_eq!(lines[3..5], ["Test it\\u{1b}[2J", &attempt(3)], "{ran}");
    assert_eq!(ran.stderr.matches("Test it").count(), 1, "{ran}");
    // A single task needs no title.
    let ran = run(&base, &["--agent", &agent, "--max-iterations", "1"]);
    assert_eq!(ran.stderr.lines().nth(1), Some("attempt 1 of 1 · sonnet"), "{ran}");
}

/// What was seen: an agent that could not work was begun 21 times in three seconds, without a word.
#[test]
fn an_agent_that_crashes_at_once_ends_the_run() {
    for script in ["echo 'no route' >&2; exit 1", "echo 'no route'; exit 1"] {
        let base = TestBase::new();
        let ran = run(&base, &["--agent", &agent(&base, script), "--max-iterations", "21"]);
        assert_eq!((ran.code, journal(&base).len()), (Some(1), 3), "{ran}");
        assert!(ran.stdout.contains("3 (3 error)"), "{ran}");
        let told = "the agent ended with an error 3 times in a row, within 10 s each: exit code 1: no route";
        assert!(ran.stderr.contains(told) && ran.stderr.contains("`--keep-going`"), "{ran}");
        let resumed = run(&base, &["--resume", "--json"]).json(1);
        assert_eq!(resumed["stopped"], "crashing");
        assert_eq!(resumed["attempts"].as_array().unwrap().len(), 3);
    }
    // One that works in between is not in a loop of crashes.
    let base = TestBase::new();
    let script = "[ $(( RALPH_ATTEMPT % 3 )) = 0 ] || { echo 'no network' >&2; exit 1; }";
    let ran = run(&base, &["--agent", &agent(&base, script), "--max-iterations", "7"]);
    assert!(ran.stdout.contains("7 (2 blocked, 5 error)"), "{ran}");
}

/// What was seen: each iteration of a run found the account at its limit.
#[test]
fn a_usage_limit_ends_the_run_with_the_time_that_the_client_names() {
    #[track_caller]
    fn check(script: &str, expected: &str) {
        let base = TestBase::new();
        let ran = run(&base, &["--agent", &agent(&base, script)]);
        assert_eq!((ran.code, journal(&base).len()), (Some(1), 1), "{ran}");
        assert!(ran.stdout.contains("1 (1 error)"), "{ran}");
        assert!(ran.stderr.contains(expected) && ran.stderr.contains("`--keep-going`"), "{ran}");
        assert_eq!(run(&base, &["--resume", "--json"]).json(1)["stopped"], "usage-limit");
    }
    check(
        "echo 'Claude AI usage limit reached|4070908800'; exit 1",
        "the agent's account is at its usage limit: Claude AI usage limit reached|4070908800 (2099-01-01 00:00 UTC)",
    );
    check(
        "echo \"You've hit your session limit · resets 3pm (Europe/Berlin)\"; exit 1",
        "You've hit your session limit · resets 3pm (Europe/Berlin)",
    );
    let codex = fs::read_to_string("fixtures/transcripts/recorded/codex-usage-limit.jsonl").unwrap();
    check(&format!("cat <<'END'\n{codex}\nEND\nexit 1"), "You’ve hit your usage limit. Upgrade to Pro");
    // An agent may speak of limits.
    let base = TestBase::new();
    let ran =
        run(&base, &["--agent", &agent(&base, "echo 'I wait for the usage limit to reset.'"), "--max-iterations", "2"]);
    assert!(ran.stdout.contains("2 (2 blocked)"), "{ran}");
}

/// What was seen: a stream that a signal had cut off was `blocked`, and raised the model.
#[test]
fn an_agent_that_a_signal_killed_is_an_error() {
    let base = TestBase::new();
    let begun = r#"{"type":"thread.started","thread_id":"00000000-0000-7000-8000-000000000001"}"#;
    for script in [format!("echo '{begun}'; kill -KILL $$"), "echo Working.; kill -SEGV $$".to_owned()] {
        let ran = run(&base, &["--agent", &agent(&base, &script), "--max-iterations", "1"]);
        assert!(ran.stdout.contains("1 (1 error)") && ran.stderr.contains("error · 0 s · killed by signal "), "{ran}");
    }
}
