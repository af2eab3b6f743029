//! A task from which the memory is withheld, by each door of agents.

use std::fs;

use ralph_memory::Task;
use ralph_memory::entry::Outcome;
use ralph_memory::memory::{Report, Run};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::support::TestBase;

const SHARE: &str = "RALPH_MEMORY_EXPERIMENT__SHARE";
const TASK: &str = "Export the invoices with the decimal money";
/// What an agent reads in place of the memory.
const WITHHELD: &str = "Withheld by experiment";
/// What only the memory has, and what no experiment withholds.
const HIDDEN: [&str; 4] =
    ["Cents are whole numbers", "Totals are rounded late", "A float lost a cent", "The ledger won"];
const RULES: [&str; 2] = ["Never export the invoices twice", "Money stays decimal"];

/// A memory with rules of a person, other knowledge, a decision of an agent, and a failed attempt at the task.
fn sample() -> TestBase {
    let base = TestBase::new();
    base.write("src/money.rs", "x");
    let entry = |stem: &str, category: &str, source: &str, text: &str| {
        let words = "export of the invoices, decimal money";
        let fields = format!(
            "category: {category}\nsource: {source}\nfiles: [src/money.rs]\ncreated_at: \"2026-11-01T10:00:00Z\""
        );
        let head = format!("title: \"{text}\"\ntags: [invoices, money]\n{fields}");
        base.write(&format!(".ralph/knowledge/{stem}.md"), format!("---\n{head}\n---\n\n{text}, for the {words}.\n"));
    };
    entry("cents", "pitfall", "agent", HIDDEN[0]);
    entry("totals", "learning", "human", HIDDEN[1]);
    entry("ledger", "decision", "agent", HIDDEN[3]);
    entry("twice", "pitfall", "human", RULES[0]);
    entry("decimal", "decision", "human", RULES[1]);
    base
}

/// Adds a failed attempt at a task, from which the memory was withheld if that is so.
fn failed(base: &TestBase, title: &str, is_withheld: bool) {
    let experiment = if is_withheld { "experiment: withheld\n" } else { "" };
    let head = format!(
        "run_id: run-0000000a\niteration: 1\ntask_id: {}\ntask_title: \"{title}\"\noutcome: failed\n{experiment}source: agent\n\
         started_at: \"2026-11-19T10:00:00Z\"\n",
        Task::id_of_title(title)
    );
    let body = format!("## Why it failed\n\n> {}\n", HIDDEN[2]);
    base.write(".ralph/journal/run-0000000a/0001.md", format!("---\n{head}---\n\n{body}"));
}

/// Checks that a text has nothing that is withheld.
#[track_caller]
fn check_withheld(what: &str, text: &str) {
    assert_eq!(HIDDEN.iter().filter(|hidden| text.contains(**hidden)).collect::<Vec<_>>(), [&""; 0], "{what}: {text}");
}

/// Checks that a text has what is never withheld, and nothing else of the memory, and says so.
#[track_caller]
fn check_rules(what: &str, text: &str) {
    check_withheld(what, text);
    assert!(RULES.iter().all(|rule| text.contains(rule)), "{what}: {text}");
}

#[test]
fn contexts_and_prompts_have_only_the_rules_of_people() {
    let base = sample();
    failed(&base, TASK, true);
    let context = base.run(["context", TASK, "--quiet"]).answer(0);
    check_rules("context", &context);
    assert!(context.contains(WITHHELD) && context.contains("<task-done>"), "{context}");
    // The model follows from the journal in both arms.
    assert_eq!(base.run(["context", TASK, "--json"]).json(0)["attempt"], 2);
    base.write("agent.sh", "cat > prompt-$RALPH_ATTEMPT; echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    let run = ["run", "--task", TASK, "--agent", "sh agent.sh", "--verify", "sh -c 'echo A float lost a cent; exit 1'"];
    let more = ["--max-iterations", "2", "--progress", "system-captured"];
    base.with(run.iter().chain(&more)).env("PATH", std::env::var_os("PATH").unwrap()).run().tells(
        1,
        &["2 retried"],
        &[],
    );
    for number in 1..=2 {
        check_rules("prompt", &base.read(&format!("prompt-{number}")));
    }
    assert_eq!(fs::read_dir(base.at(".ralph/journal")).unwrap().count(), 2);
    let written = base.files(".ralph/journal");
    let n_withheld = written.iter().filter(|file| base.read(file).contains("\nexperiment: withheld\n")).count();
    assert_eq!(n_withheld, 3);
    // Without an experiment, all of it is shown.
    failed(&base, TASK, false);
    let context = base.run(["context", TASK, "--quiet"]).answer(0);
    assert!(HIDDEN.iter().chain(&RULES).all(|text| context.contains(text)) && !context.contains(WITHHELD), "{context}");
}

#[test]
fn tools_say_that_they_withhold_something_until_the_attempt_is_recorded() {
    let base = sample();
    let other = "Print the invoices with the decimal money";
    failed(&base, other, false);
    let mut agent = Agent::stateless(base.with(["mcp"]).env(SHARE, "1").env("RALPH_RUN_ID", "run-0000000b").command());
    let search = json!({"query": "decimal money of the invoices"});
    let text = |answer: &Value| answer["content"][0]["text"].as_str().unwrap().to_owned();
    // A session without a task is no part of the experiment.
    assert!(text(&agent.call("search_memory", &search)).contains(HIDDEN[0]));
    check_rules("build_context", &text(&agent.call("build_context", &json!({"task": TASK}))));
    let calls = [
        ("search_memory", search.clone()),
        ("search_memory", json!({"query": "zebra"})),
        ("search_feature_memory", json!({"query": "money", "feature": "f"})),
        ("read_entry", json!({"id": "knowledge/cents"})),
        ("read_entry", json!({"id": "knowledge/nobody"})),
        ("get_recent_iterations", json!({})),
        ("get_failed_attempts", json!({})),
        ("get_feature_files", json!({})),
        ("build_context", json!({})),
    ];
    for (tool, arguments) in &calls {
        let answer = text(&agent.call(tool, arguments));
        check_withheld(tool, &answer);
        assert!(answer.to_lowercase().contains(&WITHHELD.to_lowercase()), "{tool}: {answer}");
        let says_nothing = ["Nothing matches", "has none", "names no files", "no entry"];
        assert!(!says_nothing.iter().any(|text| answer.contains(text)), "{tool}: {answer}");
    }
    check_rules("search_memory", &text(&agent.call("search_memory", &search)));
    let written = json!({"title": "Tabs", "tags": ["t"], "body": "Tabs it is."});
    assert!(agent.call("add_knowledge", &written)["isError"] != true, "writes are not limited");
    assert!(text(&agent.call("read_entry", &json!({"id": "knowledge/twice"}))).contains(RULES[0]));
    let resources = agent.ask("resources/list", json!({})).to_string();
    assert!(resources.contains("knowledge/twice") && !resources.contains("knowledge/cents"), "{resources}");
    let refused = agent.ask("resources/read", json!({"uri": "memory://knowledge/cents"})).to_string();
    assert!(refused.contains("withheld by experiment"), "{refused}");
    // A person sees all of it.
    for line in [&["search", "decimal money"][..], &["show", "cents"]] {
        assert!(base.with(line).env(SHARE, "1").run().answer(0).contains(HIDDEN[0]));
    }
    // A task of the arm with the memory has it, even now.
    assert!(text(&agent.call("build_context", &json!({"task": other}))).contains(HIDDEN[0]));
    check_rules("build_context", &text(&agent.call("build_context", &json!({"task": TASK}))));
    agent.call("record_attempt", &json!({"task": TASK, "outcome": "failed", "what_tried": "a", "why_failed": "b"}));
    let attempts = base.run(["log", "--json"]).json(0);
    assert_eq!(attempts["attempts"][0]["experiment"], "withheld");
    assert!(text(&agent.call("search_memory", &search)).contains(HIDDEN[0]));
}

#[test]
fn hooks_say_only_the_rules_of_people() {
    let base = sample();
    let hook = |event: &str, more: Value| {
        let mut input = json!({"session_id": "s-1"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        base.with(["hook", event, "--agent", "claude"]).input(input.to_string()).run().answer(0)
    };
    let start = |source: &str| hook("session-start", json!({"hook_event_name": "SessionStart", "source": source}));
    let prompt = || {
        hook(
            "prompt",
            json!({"hook_event_name": "UserPromptSubmit", "prompt": "Fix the export of the invoices with decimal money"}),
        )
    };
    let read =
        json!({"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": "src/money.rs"}});
    assert!(start("startup").contains(HIDDEN[0]), "a session without a task");
    let context = base.with(["context", TASK, "--quiet"]).env(SHARE, "1").env("CLAUDE_CODE_SESSION_ID", "s-1");
    check_rules("context", &context.run().answer(0));
    check_rules("compacted", &start("compact"));
    check_rules("tool", &hook("tool", read.clone()));
    check_withheld("prompt", &prompt());
    // The same by a run's agent, of another session.
    let of_run = base.memory_with(&[(SHARE, "1")]);
    let open = of_run.begin(&Task::new(TASK), &Run::named("run-0000000c")).unwrap();
    let input = json!({"session_id": "s-2", "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": "src/money.rs"}});
    let call = base.with(["hook", "tool"]).env("RALPH_RUN_ID", "run-0000000c").input(input.to_string());
    check_rules("tool of a run", &call.run().answer(0));
    of_run.finish(&open, &Report::default()).unwrap();
}

#[test]
fn a_task_keeps_the_arm_of_its_first_attempt() {
    let base = sample();
    let attempt = |title: &str, share: &str| {
        let memory = base.memory_with(&[(SHARE, share)]);
        let open = memory.begin(&Task::new(title), &memory.new_run()).unwrap();
        let report = Report { outcome: Some(Outcome::Failed), ..Report::default() };
        memory.finish(&open, &report).unwrap().attempt.head.experiment.is_some()
    };
    let steps =
        [("one", "1", true), ("one", "0", true), ("two", "0", false), ("two", "1", false), ("three", "1", true)];
    for (title, share, expected) in steps {
        assert_eq!(attempt(title, share), expected, "{title} with {share}");
    }
    // One that is cut off says so as well.
    let memory = base.memory_with(&[(SHARE, "1")]);
    let begin = || memory.begin(&Task::new("six"), &Run::named("run-0000000e")).unwrap();
    drop(begin());
    memory.cancel(&begin()).unwrap();
    let cut_off = base.read(".ralph/journal/run-0000000e/0001.md");
    assert!(cut_off.contains("outcome: interrupted\n") && cut_off.contains("experiment: withheld\n"), "{cut_off}");
    // What is recorded without a context is in the arm of its task as well.
    let record = |title: &str, share: &str| {
        let memory = base.memory_with(&[(SHARE, share)]);
        memory.record(Some(&Task::new(title)), None, &Report::default()).unwrap().attempt.head.experiment.is_some()
    };
    assert_eq!(
        [record("one", "0"), record("two", "1"), record("four", "1"), record("four", "0")],
        [true, false, true, true]
    );
    // The arm is that of the context, whatever the setting is at the end.
    let memory = base.memory_with(&[(SHARE, "1")]);
    let task = Task::new("five");
    let context = memory.context(&ralph_memory::Request { task: task.clone(), ..Default::default() }).unwrap();
    memory.note_context(&task, Some("run-0000000d"), &context);
    assert!(memory.withholding_from("run-0000000d").is_withheld());
    let recorded = base.memory().record(Some(&task), Some("run-0000000d"), &Report::default()).unwrap();
    assert!(recorded.attempt.head.experiment.is_some());
}
