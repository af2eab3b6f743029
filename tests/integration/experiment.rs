//! A task from which the memory is withheld, by each door of agents; and what `stats` says of experiments and of replays.

use std::fs;

use insta::assert_snapshot;
use ralph_memory::entry::{Experiment, Outcome};
use ralph_memory::memory::{Report, Run};
use ralph_memory::{Memory, Task};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::cli::session;
use crate::effects;
use crate::schemas::assert_answer;
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
        &["attempt 1 of 2 · memory withheld\n"],
    );
    for number in 1..=2 {
        check_rules("prompt", &base.read(&format!("prompt-{number}")));
    }
    assert_eq!(fs::read_dir(base.at(".ralph/journal")).unwrap().count(), 2);
    let written = base.files(".ralph/journal");
    let n_withheld = written.iter().filter(|file| base.read(file).contains("\nexperiment: withheld\n")).count();
    assert_eq!(n_withheld, 3);
    for line in [&["log"][..], &["show", &format!("task:{}", Task::id_of_title(TASK))]] {
        assert_eq!(base.run(line).answer(0).matches("memory withheld").count(), 3, "{line:?}");
    }
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
    // A person sees all of it, and the agent no more in its shell than by its tools.
    let none = ["search zebra", "show cents"].map(|line| (line, 1));
    for (line, code) in [("search decimal money", 0), ("list", 0), ("log", 0), ("context", 0)].into_iter().chain(none) {
        let words: Vec<&str> = line.split(' ').collect();
        let seen = base.with(&words).env("RALPH_RUN_ID", "run-0000000b").run();
        check_withheld(line, &seen.stdout);
        seen.tells(code, &[], &[WITHHELD]);
        assert!(!seen.stderr.contains("nothing found"), "{seen}");
        let shown = base.with(&words).env(SHARE, "1").run().stdout;
        assert!(code == 1 || HIDDEN.iter().any(|hidden| shown.contains(hidden)) || line == "log", "{line}: {shown}");
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
        memory.finish(&open, &report).unwrap().attempt.head.experiment.map(Experiment::as_str)
    };
    let [withheld, given] = [Some("withheld"), Some("given")];
    let steps = [
        ("one", "1", withheld),
        ("one", "0", withheld),
        ("two", "0", None),
        ("two", "1", None),
        ("three", "1e-300", given),
        ("three", "1", given),
        ("three", "0", given),
    ];
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
    // What is recorded without a context is in the arm of its task as well; a task that begins so saw all of the memory.
    let record = |title: &str, share: &str| {
        let memory = base.memory_with(&[(SHARE, share)]);
        memory.record(Some(&Task::new(title)), None, &Report::default()).unwrap().attempt.head.experiment.is_some()
    };
    assert_eq!(
        [record("one", "0"), record("two", "1"), record("four", "1"), record("four", "0")],
        [true, false, false, false]
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

/// Writes tasks with the first letters of their outcomes; a capital one withholds the memory, and a dot before it leaves the
/// task out of the experiment.
fn journal(tasks: &[&str]) -> TestBase {
    let base = TestBase::new();
    for (number, outcomes) in tasks.iter().enumerate() {
        let experiment = match outcomes.chars().next() {
            Some('.') => "",
            Some(first) if first.is_uppercase() => "experiment: withheld\n",
            _ => "experiment: given\n",
        };
        for (iteration, letter) in (1..).zip(outcomes.trim_start_matches('.').to_lowercase().chars()) {
            let outcome = if letter == 'd' { "done" } else { "failed" };
            let head = format!(
                "run_id: run-{number:08}\niteration: {iteration}\ntask_id: t-{number:02}\ntask_title: Task\noutcome: {outcome}\n\
                 {experiment}started_at: \"2026-10-{:02}T10:0{iteration}:00Z\"\nduration_secs: {}\ncost_usd: 0.25\n\
                 tokens_in: 1000\n",
                number + 1,
                30 + number
            );
            base.write(&format!(".ralph/journal/run-{number:08}/{iteration:04}.md"), format!("---\n{head}---\n"));
        }
    }
    base
}

#[test]
fn stats_compares_both_arms() {
    let mut tasks = ["Fd", "d"].repeat(10);
    tasks.extend(["fd", "F", ".d", ".f"]);
    let base = journal(&tasks);
    assert_snapshot!(
        "stats-effect",
        session(&base, &["stats --effect", "stats --effect --since 2026-10-04", "stats --effect --feature x"])
    );
    let answer = base.run(["stats", "--effect", "--json"]).json(0);
    assert_answer("stats-effect", &answer);
    assert_eq!(answer, base.run(["stats", "--effect", "--json"]).json(0), "equal journals give equal answers");
}

#[test]
fn the_interval_of_the_effect_holds_the_truth() {
    effects::run(20, 1);
}

#[test]
fn stats_replays_the_journal() {
    let base = TestBase::new();
    let entry = |stem: &str, created: &str, more: &str, text: &str| {
        let head = format!("title: \"{text}\"\ntags: [cache]\ncreated_at: \"{created}T10:00:00Z\"\n{more}");
        base.write(
            &format!(".ralph/knowledge/{stem}.md"),
            format!("---\n{head}---\n\n{text}, as the cache says. {}\n", "More. ".repeat(60)),
        );
    };
    entry("early", "2026-10-01", "", "Warm the cache of the parser");
    entry("late", "2026-10-03", "updated_at: \"2026-11-01T10:00:00Z\"\n", "Flush the cache of the parser");
    entry("named", "2026-10-01", "files: [src/*.rs]\n", "Zebras");
    entry("after", "2026-10-09", "files: [src/cache.rs]\n", "The cache of the parser is small");
    let error = "error: the cache of the parser is poisoned by a panic";
    let attempt = |task: &str, number: u32, outcome: &str, more: &str| {
        let error = if number > 20 { "error: mismatched types" } else { error };
        let head = format!(
            "run_id: run-0000000a\niteration: {number}\ntask_id: {task}\ntask_title: \"Warm the cache of the parser\"\noutcome: {outcome}\n\
             started_at: \"2026-10-{number:02}T12:00:00Z\"\nduration_secs: 60\n{more}"
        );
        let body =
            if outcome == "failed" { format!("\n## Error output\n\n```text\n{error}\n```\n") } else { String::new() };
        base.write(&format!(".ralph/journal/run-0000000a/{number:04}.md"), format!("---\n{head}---\n{body}"));
    };
    attempt("t-1", 1, "failed", "");
    attempt("t-1", 2, "failed", "context: [knowledge/early]\n");
    attempt(
        "t-1",
        4,
        "done",
        "context: [knowledge/early, knowledge/late, knowledge/gone]\nfiles: {modified: [src/cache.rs]}\n",
    );
    attempt("t-2", 5, "done", "");
    attempt("t-3", 6, "failed", "");
    // A task without the memory is left out, but its error counts.
    attempt("t-4", 7, "failed", "experiment: withheld\n");
    attempt("t-4", 8, "done", "experiment: withheld\ncontext: [knowledge/early]\n");
    // The fifth task with an error, and an error of two words.
    attempt("t-5", 9, "failed", "");
    attempt("t-6", 10, "failed", "");
    attempt("t-7", 21, "failed", "");
    attempt("t-8", 22, "failed", "");
    let lines = [
        "stats --replay",
        "stats --replay --set context.budget=1200",
        "stats --replay --since 2026-10-06",
        "stats --replay --set contxt.budget=1",
        "stats --replay --set context.budget=many",
        "stats --replay --set context.budget",
        "stats --set context.budget=1",
        "stats --replay --effect",
    ];
    assert_snapshot!("stats-replay", session(&base, &lines));
    let answer = base.run(["stats", "--replay", "--set", "context.budget=1200", "--json"]).json(0);
    assert_answer("stats-replay", &answer);
    let needed = ["early", "late", "gone", "named"].map(|stem| format!("knowledge/{stem}"));
    assert_eq!(answer["successes"][0]["needed"], json!(needed));
    // What came later is in no rebuilt context of the time.
    let memory: Memory = base.memory();
    let replay = memory.replay(&ralph_memory::memory::StatsFilter::default(), Some(base.memory())).unwrap();
    assert_eq!((replay.contexts[1].in_time, replay.contexts[1].before), (3, 2), "{replay:?}");
    assert_eq!(
        replay.contexts[1],
        ralph_memory::memory::ReplayedContexts { settings: "present", ..replay.contexts[2].clone() }
    );
}
