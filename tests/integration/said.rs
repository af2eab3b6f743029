//! What an agent's report says counts, however it is written; what it says in passing is no error.

use serde_json::Value;

use crate::serving::PageProcess;
use crate::support::{Ran, TestBase};

const LATER: &str = "2026-11-20T11:00:00Z";

/// Records this answer of an agent as an attempt at a task.
fn record(base: &TestBase, (title, id): (&str, &str), answer: &str, more: &[&str]) -> Ran {
    base.with([&["record", "--task", title, "--task-id", id], more].concat()).input(answer).run()
}

const LOGIN: (&str, &str) = ("Fix the login", "login");
const VERIFIED: [&str; 4] = ["--verify-command", "cargo test", "--verify-exit", "0"];

#[test]
fn a_verified_success_with_a_wrong_id_is_a_success() {
    let check = |named: &str, outcome: &str, remark: &str| {
        let base = TestBase::new();
        record(&base, ("Write the docs", "docs"), "<task-failed>docs</task-failed>", &[]).says(0, "(failed)");
        let answer = format!("All tests pass now.\n<task-done>{named}</task-done>\n");
        record(&base, LOGIN, &answer, &VERIFIED).says(0, &format!("({outcome})"));
        let newest = &base.run(["log", "--json", "--full"]).json(0)["attempts"][0];
        assert_eq!(newest["error_output"], "", "{newest}");
        let remarks: Vec<String> = Some(remark.to_owned()).filter(|remark| !remark.is_empty()).into_iter().collect();
        assert_eq!(newest["refused"], Value::from(remarks));
    };
    check("login", "done", "");
    check("TASK-ID", "done", "line 2: <task-done> has the placeholder `TASK-ID`; taken for this task, `login`");
    check(
        "wrong-id",
        "done",
        "line 2: <task-done> names `wrong-id`, which is no known task; taken for this task, `login`",
    );
    check("fix the login", "done", "");
    // Another task may be meant.
    for other in ["docs", "Write the docs"] {
        check(other, "blocked", "line 2: <task-done> names the task `docs`, and this one is `login`");
    }
}

#[test]
fn a_failure_by_the_title_and_with_one_field_keeps_its_text() {
    let base = TestBase::new();
    let answer = "<failure-report>\nwhat_tried: the seven gates\nNext step: the eighth\n</failure-report>\n\
                  <task-failed>Fix the login</task-failed>";
    record(&base, LOGIN, answer, &[]).says(0, "(failed)");
    let attempt = &base.run(["log", "--json", "--full"]).json(0)["attempts"][0];
    let texts = ["what_tried", "why_failed", "notes"].map(|key| attempt[key].as_str().unwrap().to_owned());
    assert_eq!(texts, ["the seven gates", "", "Next step: the eighth"]);
    let prompt = base.with(["context", "-q", "--task", "Fix the login", "--task-id", "login"]).now(LATER).run();
    assert!(prompt.stdout.contains("- **Approach:** the seven gates\n"), "{prompt}");
    // Neither field: all of it is the reason.
    record(&base, LOGIN, "<failure-report>The lock is held.</failure-report><task-failed>login</task-failed>", &[])
        .says(0, "(failed)");
    let prompt = base.with(["context", "-q", "--task", "Fix the login", "--task-id", "login"]).now(LATER).run();
    assert!(prompt.stdout.contains("- **Why it failed:** The lock is held.\n"), "{prompt}");
}

#[test]
fn what_an_agent_says_in_passing_is_no_error() {
    let base = TestBase::new();
    for title in ["Sort the list", "Parse the date"] {
        let id = title.split(' ').next().unwrap();
        record(&base, (title, id), "I looked at the error handling and stop here.", &[]).says(0, "(blocked)");
    }
    for attempt in base.run(["log", "--json", "--full"]).json(0)["attempts"].as_array().unwrap() {
        assert_eq!(attempt["error_output"], "", "{attempt}");
        assert_eq!(attempt["summary"], "I looked at the error handling and stop here.", "its words are kept");
    }
    let briefing = base.run(["context"]).answer(0);
    assert!(!briefing.contains("Recurring Errors") && !briefing.contains("**Error:**"), "{briefing}");
    assert!(briefing.contains("- **Notes:** I looked at the error handling"), "{briefing}");
    // What a client printed as it crashed is one.
    record(&base, LOGIN, "Invalid API key", &["--agent-exit", "1"]).says(0, "(error)");
    assert_eq!(base.run(["log", "--json", "--full"]).json(0)["attempts"][0]["error_output"], "Invalid API key");
}

#[test]
fn a_refused_element_is_told_everywhere() {
    let base = TestBase::new();
    let (problem, shown) = ("line 1: <learning> without tags", "line 1: &lt;learning> without tags");
    let answer = "<learning category=\"pitfall\">x</learning><task-failed>login</task-failed>";
    record(&base, LOGIN, answer, &[]).says(0, &format!("report: {problem}"));
    let id = base.run(["log", "--json"]).json(0)["attempts"][0]["id"].as_str().unwrap().to_owned();
    base.run(["log"]).says(0, &format!("report: {problem}\n"));
    base.run(["log", "--full"]).says(0, &format!("Problems in the report\n      {problem}\n"));
    base.run(["show", &id]).says(0, &format!("report       {problem}\n"));
    base.run(["show", "task:login"]).says(0, &format!("Problems in the report\n      {problem}\n"));
    for arguments in [&["log", "--json"][..], &["log", "--json", "--full"]] {
        assert_eq!(base.run(arguments).json(0)["attempts"][0]["refused"], Value::from(vec![problem]));
    }
    assert_eq!(
        base.run(["show", &id, "--json"]).json(0)["entry"]["frontmatter"]["refused"],
        Value::from(vec![problem])
    );
    let page = PageProcess::start(&base);
    for address in [format!("entry?id={id}"), "task?id=login".to_owned()] {
        let text = page.page(&address);
        assert!(
            text.contains("Problems in the report") && text.contains("line 1: &lt;learning&gt; without tags"),
            "{text}"
        );
    }
    // The next prompt of that task, in whatever run.
    let prompt = |title: &str, id: &str| {
        base.run(["context", "-q", "--task", title, "--task-id", id, "--run", "run-0000000b"]).answer(0)
    };
    let told = format!("- **Problem in the last report:** {shown}\n");
    assert!(prompt("Fix the login", "login").contains(&told));
    assert!(!prompt("Something else", "else").contains("Problem in the last report"));
}
