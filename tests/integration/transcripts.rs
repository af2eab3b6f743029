//! What agents' event streams become: journal files, word for word.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use ralph_memory::agent_output::transcript::Format;
use ralph_memory::memory::{Report, Run};
use ralph_memory::{Memory, Task};

use crate::support::{Ran, TestBase, git};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/transcripts").join(name)
}

/// Asks for the context of a task, in a run of a name that is known.
fn ask(base: &TestBase) {
    let arguments = ["context", "--task", "Add the lock", "--task-id", "t-lock", "--run", "run-0000000a"];
    base.run(arguments).says(0, "attempt 1 at t-lock");
}

/// Records a stream.
fn record(name: &str, more: &[&str]) -> (TestBase, Ran) {
    let base = TestBase::new();
    ask(&base);
    let path = fixture(name);
    let ran = base.run([&["record", path.to_str().unwrap()], more].concat());
    (base, ran)
}

fn journal(base: &TestBase) -> String {
    base.read(".ralph/journal/run-0000000a/0001.md")
}

#[test]
fn a_stream_of_claude_code_becomes_an_attempt() {
    let (base, ran) = record("claude-done.jsonl", &[]);
    assert_snapshot!(ran);
    assert_snapshot!(journal(&base));
    assert!(base.at(".ralph/knowledge/a-test-that-holds-the-lock-must-drop-it-before-it-spawns-a-child.md").exists());
}

#[test]
fn a_stream_of_codex_becomes_an_attempt() {
    let (base, ran) = record("codex-done.jsonl", &["--model", "gpt-5.3-codex"]);
    assert_snapshot!(ran);
    assert_snapshot!(journal(&base));
}

#[test]
fn failed_and_stopped_agents_are_distinguished() {
    let (base, ran) = record("claude-max-turns.jsonl", &[]);
    assert_eq!(ran.answer(0), "recorded journal/run-0000000a/0001 (blocked): Add the lock\n");
    assert_snapshot!(journal(&base));
    let (base, ran) = record("codex-failed.jsonl", &[]);
    assert_eq!(ran.answer(0), "recorded journal/run-0000000a/0001 (error): Add the lock\n");
    assert_snapshot!(journal(&base));
    // The stream was cut, which is not a report of failure by the agent.
    let (base, ran) = record("claude-cut.jsonl", &[]);
    assert_snapshot!(ran);
    assert_snapshot!(journal(&base));
    let (base, ran) = record("claude-cut.jsonl", &["--agent-exit", "137"]);
    assert!(!ran.stderr.contains("without its last event"), "{ran}");
    assert!(journal(&base).contains("\noutcome: error\n"));
}

#[test]
fn a_sigil_counts_over_how_the_agent_ended() {
    let base = TestBase::new();
    ask(&base);
    let stream = fs::read_to_string(fixture("claude-done.jsonl")).unwrap();
    let failed = stream.replace(r#""subtype":"success","is_error":false"#, r#""subtype":"success","is_error":true"#);
    base.with(["record"]).input(failed).run().says(0, "recorded journal/run-0000000a/0001 (");
    assert!(journal(&base).contains("\noutcome: done\n"));
}

#[test]
fn plain_text_that_begins_with_a_brace_stays_text() {
    let (base, ran) = record("text-with-braces.txt", &[]);
    assert_eq!(ran.answer(0), "recorded journal/run-0000000a/0001 (done): Add the lock\n");
    let journal = journal(&base);
    assert!(journal.contains("\noutcome: done\n") && !journal.contains("## Summary"), "{journal}");
}

#[test]
fn a_format_can_be_forced() {
    let (base, ran) = record("claude-done.jsonl", &["--format", "text"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!journal(&base).contains("cost_usd"));
    let (base, ran) = record("text-with-braces.txt", &["--format", "codex"]);
    let shown = ran.to_string().replace(env!("CARGO_MANIFEST_DIR"), "[ROOT]");
    assert_eq!(
        shown,
        "exit 2\n--- stderr\nerror: cannot record `[ROOT]/fixtures/transcripts/text-with-braces.txt`: it has no event \
         of Codex; line 1: it is not a JSON object, from column 53 on\nhint: leave `--format` out, or give `--format text` \
         for plain text\n"
    );
    // The context stays noted.
    assert!(base.files(".ralph").iter().all(|path| !path.contains("journal/")));
    let (_, ran) = record("text-with-braces.txt", &["--format", "claude"]);
    ran.refuses(2, "it has no event of Claude Code; line 1: it is not a JSON object, from column 53 on");
    let path = fixture("text-with-braces.txt");
    base.run(["record", path.to_str().unwrap()]).says(0, "recorded journal/run-0000000a/0001 (");
}

#[test]
fn piped_text_in_another_format_is_kept() {
    let base = TestBase::new();
    ask(&base);
    let said = "I found it.\n<journal>The parser drops a BOM.</journal>\n";
    let ran = base.with(["record", "--format", "claude"]).input(said).run();
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("it has no event of Claude Code; line 1"), "{ran}");
    let kept = ran.stderr.split('`').find(|part| part.contains("/ralph-memory/")).unwrap_or_else(|| panic!("{ran}"));
    let kept = kept.split(' ').find(|word| word.contains("/ralph-memory/")).unwrap();
    base.run(["record", kept, "--task-id", "t-lock"]).says(0, "");
    assert!(journal(&base).contains("The parser drops a BOM."), "{}", journal(&base));
}

/// Records a stream of these lines.
fn record_lines(lines: &[&str]) -> (TestBase, Ran) {
    let base = TestBase::new();
    ask(&base);
    let ran = base.with(["record"]).input(lines.join("\n")).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    (base, ran)
}

#[test]
fn a_cut_character_loses_no_sigil() {
    let (base, ran) = record_lines(&[
        r#"{"type":"system","subtype":"init","session_id":"s","cwd":"/p","model":"m"}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"cut \ud83d here\n<learning category=\"pitfall\" tags=\"locks\">A lock \ud83d must be dropped before a child is spawned.</learning>"}]},"session_id":"s"}"#,
        r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"cut \ud83d there <task-done>t-lock</task-done>"}"#,
        r#"{"type":"system","subtype":"session_state_changed","state":"idle","session_id":"s"}"#,
    ]);
    assert!(journal(&base).contains("\noutcome: done\n"), "{}", journal(&base));
    assert!(base.files(".ralph").iter().any(|path| path.contains("knowledge/a-lock")), "{ran}");
    assert!(!ran.stderr.contains("without its last event") && !ran.stderr.contains("no event"), "{ran}");
}

#[test]
fn a_codex_stream_cut_after_a_recovered_error_is_not_a_failure() {
    let (base, ran) = record_lines(&[
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"error","message":"Reconnecting... 1/5"}"#,
        r#"{"type":"item.completed","item":{"type":"agent_message","text":"I go on with the lock."}}"#,
    ]);
    assert!(!journal(&base).contains("\noutcome: error\n"), "{}", journal(&base));
    assert!(ran.stderr.contains("the stream of Codex ends without its last event"), "{ran}");
}

#[test]
fn options_override_the_stream() {
    let more = ["--outcome", "partial", "--model", "opus", "--agent-exit", "0"];
    let (base, ran) = record("claude-max-turns.jsonl", &more);
    assert_eq!(ran.code, Some(0), "{ran}");
    let journal = journal(&base);
    assert!(journal.contains("\noutcome: partial\n") && journal.contains("\nmodel: opus\n"), "{journal}");
}

#[test]
fn the_library_reads_streams_in_a_text_too() {
    let base = TestBase::new();
    let memory = base.memory();
    let finish = |report: &dyn Fn(&Memory) -> Report| {
        let task = Task { id: Some("t-lock".into()), ..Task::new("Add the lock") };
        let iteration = memory.begin(&task, &Run::named("run-0000000a")).unwrap();
        memory.finish(&iteration, &report(&memory)).unwrap().attempt
    };
    let stream = fs::read_to_string(fixture("codex-done.jsonl")).unwrap();
    let by_text = finish(&|_| Report { text: stream.clone(), cost_usd: Some(0.5), ..Report::default() });
    let by_reader = finish(&|memory| {
        let transcript = memory.reader(Format::Codex).read(stream.as_bytes()).unwrap();
        Report { transcript: Some(transcript), cost_usd: Some(0.5), ..Report::default() }
    });
    assert_eq!((by_text.head.tokens_in, by_text.head.cost_usd), (Some(50_000), Some(0.5)));
    assert_eq!((&by_text.sections, &by_text.head.files), (&by_reader.sections, &by_reader.head.files));
    assert_eq!(by_text.head.files.created, ["src/lock.rs"]);
}

/// Git's changes are merged with those of the tools, and win if they disagree.
#[test]
fn git_and_the_stream_are_merged() {
    let base = TestBase::new();
    base.write("src/old.rs", "a").write("src/store.rs", "a").write("src/lock.rs", "a");
    git(&base, &["init", "-q"]);
    git(&base, &["add", "-A"]);
    git(&base, &["commit", "-qm", "x"]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let arguments = ["context", "--task", "Add the lock", "--task-id", "t-lock", "--run", "run-0000000a"];
    base.with(arguments).env("PATH", &path).run().says(0, "attempt 1 at t-lock");
    // The stream says that `lock.rs` was created.
    base.write("src/lock.rs", "b").write("src/by_hand.rs", "b");
    let fixture = fixture("codex-done.jsonl");
    base.with(["record", fixture.to_str().unwrap()]).env("PATH", &path).run().says(0, "");
    let journal = journal(&base);
    let files = journal.lines().find(|line| line.starts_with("files: ")).unwrap();
    assert_eq!(files, "files: {created: [src/by_hand.rs], modified: [src/lock.rs, src/store.rs, src/old.rs]}");
}

#[test]
fn secrets_in_a_stream_reach_no_file() {
    let base = TestBase::new();
    let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
    ask(&base);
    let stream = fs::read_to_string(fixture("codex-done.jsonl"))
        .unwrap()
        .replace("could not find `Cargo.toml`", &format!("{} {token}", "x".repeat(230)))
        .replace("the lock is advisory", &format!("{} {token}", "y ".repeat(130)))
        .replace("The lock works", &format!("The lock {token}"))
        .replace("src/store.rs", &format!("src/{token}.rs"))
        .replace("cargo test", &format!("{} {token}", "z".repeat(80)))
        .replace("search_memory", &token);
    let ran = base.with(["record", "--json"]).input(&stream).run();
    let recorded = ran.json(0).to_string();
    for piece in [&token[..], &token[..20], &token[20..]] {
        assert!(!recorded.contains(piece) && !ran.stderr.contains(piece), "{ran}");
        for path in base.files(".ralph") {
            assert!(!String::from_utf8_lossy(&fs::read(base.at(&path)).unwrap()).contains(piece), "{path}");
        }
    }
    assert_eq!(journal(&base).matches("[redacted: github-token]").count(), 6, "{}", journal(&base));
}

/// An agent of `run` that prints a stream.
fn run(base: &TestBase, name: &str, more: &[&str]) -> Ran {
    let agent = format!("env MODEL={{model}} cat {}", fixture(name).display());
    let arguments =
        ["run", "--task", "Add the lock", "--task-id", "t-lock", "--max-iterations", "1", "--agent", &agent];
    base.with([&arguments, more].concat()).env("PATH", std::env::var_os("PATH").unwrap_or_default()).run()
}

fn only_journal(base: &TestBase) -> String {
    let files = base.files(".ralph/journal");
    assert_eq!(files.len(), 1, "{files:?}");
    base.read(&files[0])
}

#[test]
fn run_reads_streams_and_shows_what_they_cost() {
    let base = TestBase::new();
    let ran = run(&base, "claude-done.jsonl", &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.contains("$0.27") && !ran.stderr.contains("toolu_"), "{ran}");
    assert!(ran.stderr.contains("warning: agent output:30: this is not an event of Claude Code"), "{ran}");
    let written = only_journal(&base);
    let (recorded, _) = record("claude-done.jsonl", &[]);
    let recorded = journal(&recorded);
    let same = |text: &str| {
        let differs = |line: &&str| !["run_id", "duration_secs"].iter().any(|key| line.starts_with(key));
        text.lines().filter(differs).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(same(&written), same(&recorded));
    // How long it took is measured there.
    assert!(!written.contains("duration_secs: 64.2"), "{written}");

    let base = TestBase::new();
    run(&base, "claude-max-turns.jsonl", &[]).says(1, "");
    assert!(only_journal(&base).contains("\noutcome: blocked\n"));
    let base = TestBase::new();
    run(&base, "claude-done.jsonl", &["--format", "text"]).says(0, "  done         Add the lock (1 attempt)\n");
    assert!(!only_journal(&base).contains("tokens_in"));
}

#[test]
fn a_loop_can_stop_at_the_exit_code_of_record() {
    let base = TestBase::new();
    base.write("done.txt", "<task-done>Fix the login</task-done>");
    base.write("failed.txt", "<task-failed>Fix the login</task-failed>");
    let check = |file: &str, more: &[&str], code: i32, said: &str| {
        let call = [&["record", file, "--task", "Fix the login", "--exit-code"], more].concat();
        base.run(call).says(code, said);
    };
    check("failed.txt", &[], 1, "(failed)");
    check("done.txt", &[], 0, "(done)");
    check("done.txt", &["--verify-exit", "1"], 1, "(retried)");
    // Mistakes of whoever wrote the loop.
    check("missing.txt", &[], 2, "`missing.txt` does not exist");
    check("done.txt", &["--verify-exit", "0", "--verify-output", "missing.txt"], 2, "`missing.txt` does not exist");
    check("done.txt", &["--outcome", "good"], 2, "good");
    check("done.txt", &["--format", "claude"], 2, "it has no event of");
    fs::remove_dir_all(base.at(".ralph")).unwrap();
    check("done.txt", &[], 7, "no memory in ");
    base.run(["record", "done.txt", "--task", "Fix the login"]).says(3, "no memory in ");
}
