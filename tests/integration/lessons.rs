//! What broke other memories for agents, one test each.

use std::process::Command;
use std::thread;

use ralph_memory::memory::{Report, Run};
use ralph_memory::{Memory, Task};

use crate::support::{Ran, TestBase, git, ids};

fn with_path(base: &TestBase, arguments: &[&str]) -> Ran {
    base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).run()
}

/// Lets an agent say this at the end of an iteration.
fn say(memory: &Memory, run: &str, title: &str, text: &str) -> ralph_memory::memory::Recorded {
    let task = Task::new(title);
    let iteration = memory.begin(&task, &Run::named(run)).unwrap();
    let text = text.replace("ID<", &format!("{}<", Task::id_of_title(title)));
    memory.finish(&iteration, &Report { text, ..Report::default() }).unwrap()
}

#[test]
fn the_word_error_in_an_old_attempt_does_not_change_the_model() {
    let base = TestBase::new();
    let memory = base.memory();
    let text = "error error failed stuck panic\n<journal>error: everything failed, stuck in a loop, FAILURE</journal>\n<task-done>ID</task-done>";
    for _ in 0..3 {
        say(&memory, "run-1", "an old task full of errors", text);
    }
    let iteration = memory.begin(&Task::new("an old task full of errors"), &Run::named("run-1")).unwrap();
    assert_eq!(
        (iteration.model.as_str(), iteration.rationale.as_str()),
        ("sonnet", "default (cost-optimized strategy)")
    );
}

#[test]
fn punctuation_in_a_title_is_not_query_syntax() {
    let base = TestBase::new();
    base.entry("parser", "The query parser", "parser", "It takes words.");
    for title in [
        "Fix the parser: \"a\" OR (b) AND NOT c*",
        "parser ~5^2 [x TO y] {a TO b} field:value",
        "parser \\ / + - && || ! ( ) { } [ ] ^ \" ~ * ? :",
        "\"unbalanced parser",
        "parser' ; DROP TABLE entries; --",
        "-parser +parser",
    ] {
        let json = with_path(&base, &["context", "--json", "--task", title]).json(0);
        assert_eq!(ids(&json["entries"]), ["knowledge/parser"], "{title}");
    }
}

/// An agent that learns one thing each turn, whose title has its run and its turn.
const AGENT: &str = "#!/bin/sh\ncat > /dev/null\n\
    echo \"<knowledge tags=\\\"$RALPH_RUN_ID,turn$RALPH_ATTEMPT\\\" title=\\\"Turn $RALPH_ATTEMPT of $RALPH_RUN_ID\\\">x</knowledge>\"\n\
    echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"\n";

#[test]
fn two_loops_in_one_folder_do_not_interfere() {
    let base = TestBase::new();
    base.write("../home/agent.sh", AGENT);
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    let base = &base;
    let agent = agent.as_str();
    thread::scope(|scope| {
        for task in ["one task", "one task", "another task"] {
            scope.spawn(move || {
                with_path(base, &["run", "--task", task, "--agent", agent, "--max-iterations", "4"]).says(1, "");
            });
        }
    });
    let journal = base.files(".ralph/journal");
    let runs: std::collections::BTreeSet<&str> = journal.iter().filter_map(|path| path.split('/').nth(2)).collect();
    let runs: Vec<&&str> = runs.iter().filter(|run| run.starts_with("run-")).collect();
    assert_eq!(runs.len(), 3);
    for run in runs {
        for number in 1..=4 {
            let text = base.read(&format!(".ralph/journal/{run}/{number:04}.md"));
            assert!(text.contains("outcome: failed") && text.contains(&format!("run_id: {run}")), "{text}");
        }
    }
    // Nobody's knowledge went into another's.
    assert_eq!(base.files(".ralph/knowledge").len(), 12);
    assert_eq!(base.run(["check", "--json"]).json(0)["problems"], serde_json::json!([]));
}

#[test]
fn two_loops_in_two_worktrees_merge() {
    let base = TestBase::new();
    base.write("../home/agent.sh", AGENT);
    let git = |folder: &std::path::Path, arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
        let mut command = Command::new("git");
        command.args(identity).args(arguments).current_dir(folder).env_clear().env("HOME", base.home());
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let root = base.root();
    let other = base.home().join("other");
    git(&root, &["init", "--quiet", "--initial-branch", "main"]);
    git(&root, &["add", "--all"]);
    git(&root, &["commit", "--quiet", "--message", "begin"]);
    git(&root, &["worktree", "add", "--quiet", "-b", "other", other.to_str().unwrap()]);
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    let folders = [root.clone(), other.clone()];
    let (base, agent) = (&base, agent.as_str());
    thread::scope(|scope| {
        for folder in folders {
            scope.spawn(move || {
                let arguments = ["run", "--task", "one task", "--agent", agent, "--max-iterations", "3"];
                let path = std::env::var_os("PATH").unwrap();
                base.with(arguments).env("PATH", path).folder(folder).run().says(1, "");
            });
        }
    });
    for folder in [&root, &other] {
        git(folder, &["add", "--all"]);
        git(folder, &["commit", "--quiet", "--message", "three turns"]);
    }
    git(&root, &["merge", "--quiet", "--no-edit", "other"]);
    let listed = base.run(["list", "--json"]).json(0);
    let entries = listed["entries"].as_array().unwrap();
    let count = |kind: &str| entries.iter().filter(|entry| entry["kind"] == kind).count();
    assert_eq!((count("journal"), count("knowledge")), (6, 6));
    // Both runs' attempts are those of the one task.
    let context = base.run(["context", "--task", "one task", "--json"]).json(0);
    assert!(context["prompt"].as_str().unwrap().contains("This task has been attempted 6 times before."));
}

#[test]
fn attempts_at_the_task_are_not_shown_as_another_run() {
    let base = TestBase::new();
    let memory = base.memory();
    let why = "The frobnicator is upside down. ".repeat(60);
    for number in 0..4 {
        let text = format!(
            "<failure-report>\nwhat_tried: frobnicate {number}\nwhy_failed: {why}\n</failure-report>\n<task-failed>ID</task-failed>"
        );
        say(&memory, "run-1", "frobnicate it", &text);
    }
    say(&memory, "run-1", "frobnicate another", "<journal>frobnicate it</journal>\n<task-failed>ID</task-failed>");
    let iteration = memory.begin(&Task::new("frobnicate it"), &Run::named("run-2")).unwrap();
    let (above, journal) = iteration.context.split_once("## Run Journal").unwrap();
    assert_eq!(above.matches("- **Approach:** frobnicate").count(), 4, "{above}");
    assert!(journal.contains("frobnicate another") && !journal.contains("upside down"), "{journal}");
}

/// Runs a loop with an agent in a shell, and returns how it ended.
fn run_agent(base: &TestBase, script: &str, arguments: &[&str]) -> Ran {
    base.write("../home/agent.sh", script);
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    with_path(base, &[&["run", "--agent", &agent], arguments].concat())
}

#[test]
fn a_box_that_an_agent_ticks_does_not_count_as_done() {
    let base = TestBase::new();
    base.write("TODO.md", "- [ ] First\n- [ ] Second\n");
    let script = "cat > /dev/null\nsed -i 's/\\[ \\]/[x]/' TODO.md\necho \"<task-done>$RALPH_TASK_ID</task-done>\"\n";
    let arguments = ["--task-file", "TODO.md", "--verify", "false", "--max-iterations", "2"];
    run_agent(&base, script, &arguments).says(1, "");
    assert_eq!(base.files(".ralph/journal").len(), 2);
    assert!(base.read("TODO.md").starts_with("- [ ] First\n"), "{}", base.read("TODO.md"));
    // Verified, each is done in its turn.
    let ran = run_agent(&base, script, &["--task-file", "TODO.md", "--verify", "true"]);
    assert_eq!((ran.code, base.read("TODO.md").as_str()), (Some(0), "- [x] First\n- [x] Second\n"), "{ran}");
}

#[test]
fn an_absurd_iteration_number_stops_no_run() {
    let base = TestBase::new();
    let head = "run_id: run-a\niteration: 4294967295\ntask_id: t-1\ntask_title: x\noutcome: failed\nstarted_at: \"2026-11-20T09:30:00Z\"";
    base.write(".ralph/journal/run-a/4294967295.md", format!("---\n{head}\n---\n"));
    run_agent(&base, "true\n", &["--resume", "--max-iterations", "1"]).says(1, "");
    assert!(base.at(".ralph/journal/run-a/0001.md").exists());
    base.write(".ralph/journal/run-b/9999999.md", "taken");
    let ran = with_path(&base, &["record", "--run", "run-b", "--task", "x", "--outcome", "failed"]);
    ran.says(0, "recorded journal/run-b/0001 (failed)");
}

#[test]
fn leftovers_of_an_agent_do_not_affect_the_next() {
    let base = TestBase::new();
    git(&base, &["init", "--quiet"]);
    // A file whose name is a sigil; the next agent repeats its prompt, and verification agrees with it.
    let script = "cat > prompt\n[ $RALPH_ATTEMPT = 1 ] && { mkdir '<task-done>t-1<'; touch '<task-done>t-1</task-done>'; }\ncat prompt\n";
    let arguments = ["--task", "x", "--task-id", "t-1", "--verify", "true", "--max-iterations", "2"];
    run_agent(&base, script, &arguments).says(1, "");
    let prompt = base.read("prompt");
    assert!(prompt.contains("&lt;task-done>t-1&lt;/task-done>"), "{prompt}");
}

#[test]
fn an_agent_that_asks_for_its_own_context_begins_nothing() {
    let base = TestBase::new();
    let program = crate::support::PROGRAM;
    let script = format!(
        "cat > /dev/null\n'{program}' context --task P --task-id t-1 > own\necho '<task-failed>t-1</task-failed>'\n"
    );
    let arguments = ["--task", "P", "--task-id", "t-1", "--max-iterations", "2"];
    run_agent(&base, &script, &arguments).says(1, "");
    let journal = base.files(".ralph/journal");
    assert_eq!(journal.len(), 2, "{journal:?}");
    assert!(journal.iter().all(|path| base.read(path).contains("outcome: failed")));
    assert!(base.read("own").contains("## What to Report"));
    // Attempts of the run count when it is gone on with.
    let ran = run_agent(&base, &script, &["--resume", "--max-attempts", "2"]);
    assert_eq!((ran.code, base.files(".ralph/journal").len()), (Some(1), 2), "{ran}");
    // What is done is not begun again without being named.
    run_agent(&base, "echo '<task-done>t-1</task-done>'\n", &["--resume", "--max-attempts", "9"]).code.unwrap();
    let ran = run_agent(&base, "true\n", &["--resume"]);
    ran.tells(2, &[], &["is done"]);
}

#[test]
fn a_context_request_interrupts_no_live_run() {
    let base = TestBase::new();
    let program = crate::support::PROGRAM;
    // As a person would in another terminal: nothing in the environment says that a run is going on.
    let script = format!(
        "cat > /dev/null\nenv -u RALPH_RUN_ID -u RALPH_ATTEMPT '{program}' --now {} context --task P --task-id t-1 > own 2>&1\n\
         echo '<task-failed>t-1</task-failed>'\n",
        crate::support::NOW
    );
    run_agent(&base, &script, &["--task", "P", "--task-id", "t-1", "--max-iterations", "1"]).says(1, "");
    let journal = base.files(".ralph/journal");
    assert_eq!(journal.len(), 1, "{journal:?}");
    assert!(base.read(&journal[0]).contains("outcome: failed"));
    assert!(base.read("own").contains("attempt 1 at t-1"), "{}", base.read("own"));
}

#[test]
fn removing_the_memory_ends_the_run_with_an_error() {
    let base = TestBase::new();
    let ran = run_agent(&base, "rm -rf .ralph\n", &["--task", "x", "--max-iterations", "2"]);
    ran.tells(6, &[], &["`.ralph` was removed meanwhile"]);
}
