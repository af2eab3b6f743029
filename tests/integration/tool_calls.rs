//! What the hook at a call of a tool says: about exactly the file and the error at hand, once, and otherwise nothing.

use std::fs;
use std::path::Path;

use ralph_memory::context::Budget;
use ralph_memory::entry::{Files, Outcome, Sections, Validation, parse_time};
use ralph_memory::memory::Report;
use ralph_memory::{Knowledge, Task};
use serde_json::{Value, json};

use crate::support::{NOW, TestBase};

const ERROR: &str = "test keep::tests::stays_open_for_a_minute ... FAILED";

/// A project with a pitfall about a file.
fn sample() -> TestBase {
    let base = TestBase::new();
    base.write("src/keep.rs", "x").write("src/other.rs", "y");
    let body = "The server closes idle connections after 60 s, so ping every 30 s. There is more.";
    let pitfall = Knowledge::new("Idle connections are closed", ["net"], body);
    let files = vec!["src/keep.rs".to_owned()];
    base.memory().add(&Knowledge { category: Some("pitfall".to_owned()), files, ..pitfall }).unwrap();
    begin(&base, "s-0");
    base
}

/// Begins a session, which writes the table that the hook reads.
fn begin(base: &TestBase, session: &str) {
    begin_in(base, &base.root(), session);
}

fn begin_in(base: &TestBase, folder: &Path, session: &str) {
    let input = json!({"session_id": session, "hook_event_name": "SessionStart", "source": "startup"});
    base.with(["hook", "session-start"]).folder(folder).input(input.to_string()).run().answer(0);
}

/// Records an attempt at a task that changed `src/keep.rs`; a failed one with this output of its verification.
fn attempt(base: &TestBase, task: &str, now: &str, outcome: Outcome, said: &str, output: &str) {
    let memory = base.memory().with_clock({
        let now = parse_time(now).unwrap();
        move || now.into()
    });
    let open = memory.begin(&Task::new(task), &memory.new_run()).unwrap();
    let failed = outcome != Outcome::Done;
    let sections = Sections {
        what_tried: if failed { "A longer timeout.".to_owned() } else { said.to_owned() },
        why_failed: if failed { said.to_owned() } else { String::new() },
        validation_output: output.to_owned(),
        ..Sections::default()
    };
    let validation = Validation { command: "cargo test".to_owned(), exit_code: i32::from(failed), duration_ms: 1 };
    let files = Files { modified: vec!["src/keep.rs".to_owned()], ..Files::default() };
    let report = Report { outcome: Some(outcome), sections, files, validation: Some(validation), ..Report::default() };
    memory.finish(&open, &report).unwrap();
}

/// What a client sends after a call of a tool.
fn read(session: &str, file: &str) -> Value {
    json!({"session_id": session, "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": file}})
}

fn failed(session: &str, output: &str) -> Value {
    let error = format!("Exit code 101\nrunning 3 tests\n{output}\n");
    json!({"session_id": session, "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "cargo test"}, "error": error})
}

/// Returns what the agent is told.
#[track_caller]
fn told(base: &TestBase, input: &Value) -> String {
    told_in(base, &base.root(), input)
}

#[track_caller]
fn told_in(base: &TestBase, folder: &Path, input: &Value) -> String {
    let answer = base.with(["hook", "tool"]).folder(folder).input(input.to_string()).run().answer(0);
    if answer.is_empty() {
        return answer;
    }
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], input["hook_event_name"]);
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_that_reads_a_file_is_told_what_is_known_about_it() {
    let base = sample();
    attempt(&base, "Keep connections open", NOW, Outcome::Failed, "The server closes them.", ERROR);
    let text = told(&base, &read("s-1", &base.at("src/keep.rs").display().to_string()));
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(
        lines[0],
        "- **[pitfall]** Idle connections are closed: The server closes idle connections after 60 s, so ping every 30 s. \
         (`knowledge/idle-connections-are-closed`)"
    );
    let start =
        "- An attempt at \"Keep connections open\" changed `src/keep.rs` and failed: The server closes them (`journal/";
    assert!(lines[1].starts_with(start), "{}", lines[1]);
    // Each item once in a session, and again in another one.
    assert_eq!(told(&base, &read("s-1", "src/keep.rs")), "");
    assert_eq!(told(&base, &read("s-2", "src/keep.rs")), text);
    for silent in [
        read("s-1", "src/other.rs"),
        read("s-3", "/etc/passwd"),
        read("s-3", "../x"),
        json!({}),
        json!({"session_id": "s-3"}),
    ] {
        assert_eq!(told(&base, &silent), "", "{silent}");
    }
}

/// Seen by a new user: what an agent wrote with its own tools counted as a person's, and nobody was asked to review it.
#[test]
fn an_entry_whose_file_an_agent_writes_is_the_agents() {
    let base = sample();
    base.run(["add", "Use make", "--tags", "build", "--body", "It builds all."]).says(0, "created");
    base.write(".ralph/knowledge/bare.md", "No frontmatter.\n");
    let author = |name: &str| {
        let shown = base.run(["show", name, "--json"]).json(0);
        shown["entry"]["source"].as_str().unwrap().to_owned()
    };
    let unreviewed = || base.run(["list", "--unreviewed", "-q"]).answer(0);
    let call = |tool: &str, file: &str| {
        let input = json!({"session_id": "s-1", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": {"file_path": base.at(file)}});
        told(&base, &input)
    };
    let file = ".ralph/knowledge/use-make.md";
    // Reading changes nothing, and neither does a call that failed, or one for another file.
    let before = base.read(file);
    call("Read", file);
    call("Write", "src/keep.rs");
    let mut failing = failed("s-1", "no such text");
    failing["tool_name"] = json!("Edit");
    failing["tool_input"] = json!({"file_path": base.at(file)});
    told(&base, &failing);
    assert_eq!((base.read(file), author("use-make")), (before.clone(), "human".to_owned()));
    base.write(file, before.replace("builds all", "builds and tests all"));
    call("Edit", file);
    assert_eq!(author("use-make"), "agent");
    assert!(base.read(file).contains("builds and tests all") && unreviewed().contains("Use make"), "{}", unreviewed());
    // A second edit of what is an agent's already.
    base.write(file, base.read(file).replace("tests all", "tests most"));
    call("MultiEdit", file);
    assert_eq!(author("use-make"), "agent");
    // A new file, and one without frontmatter.
    base.write(".ralph/knowledge/new.md", "---\ntitle: New\ntags: [a]\n---\n\nA fact.\n");
    call("Write", ".ralph/knowledge/new.md");
    call("Write", ".ralph/knowledge/bare.md");
    assert_eq!([author("new"), author("bare")], ["agent"; 2]);
    assert!(base.read(".ralph/knowledge/bare.md").ends_with("---\nNo frontmatter.\n"));
    // A person's edit makes it theirs again.
    base.write(file, base.read(file).replace("tests most", "tests some"));
    assert_eq!(author("use-make"), "human");
}

#[test]
fn an_agent_that_meets_a_known_error_is_told_why_and_what_solved_it() {
    let base = sample();
    attempt(&base, "Keep connections open", "2026-11-18T10:00:00Z", Outcome::Failed, "The server closes them.", ERROR);
    let text = told(&base, &failed("s-1", ERROR));
    let why = "- An attempt at \"Keep connections open\" failed with this error: The server closes them (`journal/";
    assert!(text.contains(why) && !text.contains("succeeded"), "{text}");
    assert_eq!(told(&base, &failed("s-1", ERROR)), "", "once");
    attempt(&base, "Keep connections open", "2026-11-19T10:00:00Z", Outcome::Done, "A ping every 30 s.", "");
    let text = told(&base, &failed("s-2", ERROR));
    assert!(text.contains(". A later one succeeded: A ping every 30 s (`journal/"), "{text}");
    // The task is done, so its failures say nothing about the file any more.
    let text = told(&base, &read("s-3", "src/keep.rs"));
    assert!(text.contains("pitfall") && !text.contains("An attempt"), "{text}");
    for silent in [
        failed("s-4", "test keep::tests::another_one_of_the_tests ... FAILED"),
        failed("s-4", "error: test failed, to rerun pass `--lib`"),
        json!({"session_id": "s-4", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "cargo test"}, "tool_response": {"stdout": ERROR}}),
    ] {
        assert_eq!(told(&base, &silent), "", "{silent}");
    }
}

#[test]
fn what_does_not_count_any_more_is_not_told() {
    let base = sample();
    let entry = ".ralph/knowledge/idle-connections-are-closed.md";
    let before = base.read(entry);
    let check = |session: &str, change: &dyn Fn(), is_told: bool| {
        change();
        assert_eq!(!told(&base, &read(session, "src/keep.rs")).is_empty(), is_told, "{session}");
    };
    // Changed by hand, it speaks from the next session on.
    check("changed", &|| fs::write(base.at(entry), before.replace("60 s", "90 s")).unwrap(), false);
    check("next session", &|| begin(&base, "s-5"), true);
    for (session, line) in [
        ("expired", "expires_at: \"2026-01-01T00:00:00Z\""),
        ("proposed", "status: proposed"),
        ("scoped", "scope: \"task:x\""),
    ] {
        check(
            session,
            &|| {
                fs::write(base.at(entry), before.replacen("---\n", &format!("---\n{line}\n"), 1)).unwrap();
                begin(&base, session);
            },
            false,
        );
    }
    check(
        "as before",
        &|| {
            fs::write(base.at(entry), &before).unwrap();
            begin(&base, "s-6");
        },
        true,
    );
    let newer = Knowledge::new("Connections stay open", ["net"], "The server was replaced.");
    let supersedes = vec![ralph_memory::Id::parse("knowledge/idle-connections-are-closed").unwrap()];
    check(
        "superseded",
        &|| drop(base.memory().add(&Knowledge { supersedes: supersedes.clone(), ..newer.clone() }).unwrap()),
        false,
    );
}

#[test]
fn what_many_tasks_share_says_nothing() {
    let base = sample();
    for number in 0..7 {
        attempt(&base, &format!("Task {number}"), NOW, Outcome::Failed, "It failed.", ERROR);
    }
    let text = told(&base, &read("s-1", "src/keep.rs"));
    assert!(text.contains("pitfall") && !text.contains("An attempt"), "before the table is rewritten: {text}");
    assert_eq!(told(&base, &failed("s-1", ERROR)), "");
    begin(&base, "s-2");
    let text = told(&base, &read("s-2", "src/keep.rs"));
    assert!(text.contains("pitfall") && !text.contains("An attempt"), "{text}");
}

#[test]
fn a_session_is_told_eight_items_and_again_after_a_compaction() {
    let base = sample();
    for number in 0..12 {
        let fact = Knowledge::new(format!("Fact {number}"), ["net"], format!("It is {number}."));
        base.memory().add(&Knowledge { files: vec![format!("src/{number}.rs")], ..fact }).unwrap();
    }
    let heard = |agent: Option<&str>| {
        let calls = (0..12).map(|number| {
            let mut call = read("s-1", &format!("src/{number}.rs"));
            call["agent_id"] = json!(agent);
            told(&base, &call)
        });
        calls.filter(|text| !text.is_empty()).count()
    };
    assert_eq!([heard(None), heard(None), heard(Some("a-1")), heard(Some("a-1"))], [8, 0, 8, 0]);
    let compacted = json!({"session_id": "s-1", "hook_event_name": "SessionStart", "source": "compact"});
    base.with(["hook", "session-start"]).input(compacted.to_string()).run().answer(0);
    assert_eq!(heard(None), 8);
}

#[test]
fn of_many_entries_about_a_file_the_rules_come_first_and_then_the_newest() {
    let base = TestBase::new();
    for day in 1..=40 {
        let category = if day == 3 { "pitfall" } else { "pattern" };
        let path = format!(".ralph/knowledge/fact-{day}.md");
        let date = format!("2026-0{}-{:02}T00:00:00Z", 1 + day / 28, 1 + day % 28);
        let head = format!("title: Fact {day}\ntags: [net]\ncategory: {category}\ncreated_at: \"{date}\"");
        base.write(&path, format!("---\n{head}\nfiles: [src/keep.rs]\n---\nIt is {day}.\n"));
    }
    begin(&base, "s-0");
    let heard = || {
        let text = told(&base, &read("s-1", "src/keep.rs"));
        let number = |line: &str| line.split_once("Fact ")?.1.split_once(':')?.0.parse().ok();
        text.lines().filter_map(number).collect::<Vec<u32>>()
    };
    assert_eq!([heard(), heard(), heard(), heard()], [vec![3, 40, 39], vec![38, 37, 36], vec![35, 34], vec![]]);
}

#[test]
fn a_pattern_speaks_for_the_files_that_it_matches() {
    let base = TestBase::new();
    let fact = Knowledge::new("Migrations are frozen", ["db"], "Add a new one.");
    base.memory().add(&Knowledge { files: vec!["db/**/*.sql".to_owned()], ..fact }).unwrap();
    begin(&base, "s-0");
    assert!(told(&base, &read("s-1", "db/2026/0001.sql")).contains("Migrations are frozen"));
    assert_eq!(told(&base, &read("s-1", "db/README.md")), "");
}

#[test]
fn a_table_that_is_not_ours_or_torn_is_silent() {
    let base = sample();
    let table = base.at(".ralph/state/hints");
    let whole = fs::read(&table).unwrap();
    let mut silent = 0;
    let mut check = |name: &str, bytes: &[u8]| {
        fs::write(&table, bytes).unwrap();
        silent += usize::from(told(&base, &read(name, "src/keep.rs")).is_empty());
    };
    let mut damaged = Vec::new();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        damaged.push(bytes);
    }
    for (at, bytes) in damaged.iter().enumerate().step_by(7) {
        check(&format!("bit {at}"), bytes);
    }
    let n_bits = damaged.len().div_ceil(7);
    check("empty", b"");
    check("cut", &whole[..whole.len() / 2]);
    check("other", b"hints 3\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    assert_eq!(silent, n_bits + 3, "each bit is sealed");
    fs::remove_file(&table).unwrap();
    assert_eq!(told(&base, &read("none", "src/keep.rs")), "");
    fs::write(&table, &whole).unwrap();
    assert!(!told(&base, &read("whole", "src/keep.rs")).is_empty());
}

#[test]
fn the_hook_is_switched_off_alone_and_speaks_during_a_run() {
    let base = sample();
    let answer = |session: &str, name: &str, value: &str| {
        let input = read(session, "src/keep.rs").to_string();
        base.with(["hook", "tool"]).env(name, value).input(input).run().answer(0)
    };
    assert_eq!(answer("s-1", "RALPH_MEMORY_HOOK_TOOL", "0"), "");
    assert_eq!(answer("s-1", "RALPH_MEMORY", "0"), "");
    assert_ne!(answer("s-1", "RALPH_RUN_ID", "run-1a2b3c4d"), "");
    assert_eq!(base.with(["hook", "prompt"]).env("RALPH_MEMORY_HOOK_TOOL", "0").input("{}").run().answer(0), "");
}

#[test]
fn what_an_agent_was_told_is_no_context_and_stats_count_what_became_of_it() {
    let base = sample();
    begin(&base, "s-1");
    let prompt = |session: &str| {
        let words = "Are idle connections closed by the server, and when should we ping?";
        let input = json!({"session_id": session, "prompt": words});
        base.with(["hook", "prompt"]).input(input.to_string()).run().answer(0)
    };
    assert!(!told(&base, &read("s-1", "src/keep.rs")).is_empty());
    // A prompt about the same is told nothing twice.
    assert_eq!(prompt("s-1"), "");
    assert_ne!(prompt("s-2"), "", "another session is told");
    let message = "<failure-report>\nwhat_tried: A ping.\nwhy_failed: Too late.\n</failure-report>\n<task-failed>t-7</task-failed>";
    let stop = json!({"session_id": "s-1", "hook_event_name": "Stop", "last_assistant_message": message});
    base.with(["hook", "stop"]).input(stop.to_string()).run().answer(0);
    let attempt = base.run(["log", "--json"]).json(0)["attempts"][0]["id"].as_str().unwrap().to_owned();
    assert!(!base.read(&format!(".ralph/{attempt}.md")).contains("idle-connections"), "it was in no context");
}

#[test]
fn calls_at_once_say_an_item_once() {
    let base = sample();
    let base = &base;
    let said: Vec<String> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| told(base, &read("s-1", "src/keep.rs")))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(said.iter().filter(|text| !text.is_empty()).count(), 1, "{said:?}");
}

#[test]
fn an_item_has_at_most_120_tokens() {
    let base = sample();
    let long = "The server of the second region closes a connection that was idle for some time, ".repeat(20);
    for (number, letters) in [long.clone(), "世界".repeat(900)].iter().enumerate() {
        let title: String = letters.chars().take(150).collect();
        let fact = Knowledge::new(format!("{title} {number}"), ["net"], letters.as_str());
        base.memory().add(&Knowledge { files: vec!["src/keep.rs".to_owned()], ..fact }).unwrap();
    }
    attempt(&base, &long[..190], NOW, Outcome::Failed, &long, ERROR);
    for text in [told(&base, &read("s-1", "src/keep.rs")), told(&base, &failed("s-2", ERROR))] {
        let sizes: Vec<usize> = text.lines().skip(2).map(|line| Budget::tokens(0).cost(line)).collect();
        assert!(!sizes.is_empty() && sizes.iter().all(|size| *size <= 120), "{sizes:?} {text}");
    }
}

#[test]
fn check_says_how_long_a_call_waits_for_the_hook() {
    let base = sample();
    let checked = || base.run(["check", "--json"]).stdout;
    assert!(!checked().contains("waits"));
    let file = base.at(".ralph/state/tool-times");
    told(&base, &read("s-1", "src/other.rs"));
    assert!(checked().contains("(median of the last 1)"), "{}", checked());
    // 2 ms a hundred times, after slower ones that no longer count.
    let times = [[900_000_u32; 900], [2_000; 900]].concat();
    fs::write(&file, times.iter().flat_map(|time| time.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    assert!(checked().contains("waits 2.0 ms for its hook (median of the last 100)"), "{}", checked());
    told(&base, &read("s-1", "src/other.rs"));
    assert_eq!(fs::metadata(&file).unwrap().len(), 400, "it stays small");
    for odd in [&b""[..], b"abc", &[0xff; 403]] {
        fs::write(&file, odd).unwrap();
        base.run(["check"]).answer(0);
    }
}

#[test]
fn a_file_that_git_says_was_renamed_is_known_by_its_new_name() {
    let base = sample();
    let git = |arguments: &[&str]| drop(crate::support::git(&base, arguments));
    let commit = || {
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "m"]);
    };
    git(&["init", "--quiet"]);
    base.write("src/keep.rs", "fn keep() {}\n".repeat(9));
    commit();
    attempt(&base, "Keep connections open", NOW, Outcome::Failed, "The server closes them.", ERROR);
    for (old, new) in [("keep", "alive"), ("alive", "idle")] {
        git(&["mv", &format!("src/{old}.rs"), &format!("src/{new}.rs")]);
        commit();
    }
    let record = || base.with(["record", "--task", "Look"]).input("<journal>x</journal>").run().answer(0);
    record();
    begin(&base, "s-1");
    let text = told(&base, &read("s-1", "src/idle.rs"));
    assert!(text.contains("[pitfall]") && text.contains("changed `src/idle.rs` and failed"), "{text}");
    assert!(!text.contains("unverified"), "{text}");
    // It is found again after the next one, and remembered after the table was rewritten.
    git(&["mv", "src/idle.rs", "src/last.rs"]);
    commit();
    record();
    fs::write(base.at(".ralph/knowledge/more.md"), "---\ntitle: More\ntags: [x]\n---\n\nText.\n").unwrap();
    begin(&base, "s-2");
    assert!(told(&base, &read("s-2", "src/last.rs")).contains("[pitfall]"));
    assert_eq!(told(&base, &read("s-3", "src/idle.rs")), "", "it is gone");
}

#[test]
fn an_error_is_known_that_does_not_call_itself_one() {
    let base = sample();
    let line = "the gateway closed the stream of the second client";
    attempt(&base, "Read streams", "2026-11-18T11:00:00Z", Outcome::Failed, "It was paused.", line);
    let text = told(&base, &failed("s-1", &format!("{line}\nmake: *** [Makefile:3: test] Error 2")));
    assert!(text.contains("It was paused"), "a line that does not call itself an error: {text}");
}

#[test]
fn what_another_work_tree_records_is_known_at_the_next_call() {
    let base = sample();
    let git = |arguments: &[&str]| drop(crate::support::git(&base, arguments));
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "m"]);
    let tree = base.root().with_file_name("tree");
    git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    begin_in(&base, &tree, "s-1");
    let file = read("s-1", tree.join("src/keep.rs").to_str().unwrap());
    assert!(told_in(&base, &tree, &file).contains("[pitfall]"));
    assert_eq!(told_in(&base, &tree, &file), "");
    attempt(&base, "Keep connections open", "2026-11-18T10:00:00Z", Outcome::Failed, "The server closes them.", ERROR);
    let copies = fs::read_dir(base.at(".git/ralph-memory")).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(copies.join("hints")).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(copies.join("hints"), bytes).unwrap();
        assert_eq!(told_in(&base, &tree, &file), "", "each bit is sealed: {at}");
    }
    fs::write(copies.join("hints"), whole).unwrap();
    let text = told_in(&base, &tree, &file);
    assert!(text.contains("changed `src/keep.rs` and failed: The server closes them (`journal/"), "{text}");
    let text = told_in(&base, &tree, &failed("s-2", ERROR));
    assert!(text.contains("failed with this error: The server closes them (`journal/"), "{text}");
    // Its own tree says it once.
    let text = told(&base, &read("s-3", "src/keep.rs"));
    assert_eq!(text.matches("The server closes them").count(), 1, "{text}");
    attempt(&base, "Keep connections open", "2026-11-19T10:00:00Z", Outcome::Done, "A ping every 30 s.", "");
    let text = told_in(&base, &tree, &failed("s-4", ERROR));
    assert!(text.contains(". A later one succeeded: A ping every 30 s (`journal/"), "{text}");
    // A further table has them; what is taken back is not told.
    let heard = fs::read(copies.join("hints")).unwrap();
    fs::write(copies.join("hints"), "").unwrap();
    begin_in(&base, &tree, "s-5");
    assert!(told_in(&base, &tree, &failed("s-5", ERROR)).contains("succeeded"));
    fs::write(copies.join("hints"), &heard).unwrap();
    base.run(["undo"]).says(0, "took back");
    assert!(!told_in(&base, &tree, &failed("s-6", ERROR)).contains("succeeded"));
}

#[test]
fn what_work_trees_tell_each_other_stays_small() {
    let base = sample();
    crate::support::git(&base, &["init", "--quiet"]);
    attempt(&base, "Keep connections open", NOW, Outcome::Failed, "The server closes them.", ERROR);
    let copies = fs::read_dir(base.at(".git/ralph-memory")).unwrap().next().unwrap().unwrap().path();
    fs::write(copies.join("hints"), vec![0; 32 * 1024]).unwrap();
    attempt(&base, "Ping", NOW, Outcome::Failed, "The server closes them.", ERROR);
    assert!(fs::metadata(copies.join("hints")).unwrap().len() < 1024);
}

#[test]
fn a_session_that_begins_looks_for_renames() {
    let base = sample();
    let git = |arguments: &[&str]| drop(crate::support::git(&base, arguments));
    let commit = || {
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "m"]);
    };
    git(&["init", "--quiet"]);
    base.write("src/keep.rs", "fn keep() {}\n".repeat(9));
    commit();
    attempt(&base, "Keep connections open", NOW, Outcome::Failed, "The server closes them.", ERROR);
    for (old, new) in [("keep", "alive"), ("alive", "idle")] {
        git(&["mv", &format!("src/{old}.rs"), &format!("src/{new}.rs")]);
        commit();
        begin(&base, new);
        let text = told(&base, &read(new, &format!("src/{new}.rs")));
        assert!(text.contains("[pitfall]") && text.contains(&format!("changed `src/{new}.rs` and failed")), "{text}");
    }
}
