//! What a context shows of a long history, and how its sections share the budget.

use std::fmt::Write as _;

use crate::support::{TestBase, ids};

/// Writes an attempt at the task `t-1`: its number, the lines of its head, and its body.
fn attempt(base: &TestBase, number: usize, head: &str, body: &str) {
    let started = format!("2026-11-{:02}T{:02}:{:02}:00Z", 1 + number / 600, number / 60 % 10, number % 60);
    let text = format!(
        "---\nrun_id: run-0000000b\niteration: {number}\ntask_id: t-1\ntask_title: Sort the orders\nmodel: sonnet\n\
         source: agent\nstarted_at: \"{started}\"\n{head}\n---\n{body}"
    );
    base.write(&format!(".ralph/journal/run-0000000b/{number:04}.md"), text);
}

fn report(number: usize, n_words: usize) -> String {
    let why = "reason ".repeat(n_words);
    format!("\n## What was tried\n\n> Way {number}.\n\n## Why it failed\n\n> {why}end of {number}.\n")
}

/// Returns what an agent is told of the task.
fn context(base: &TestBase, more: &[&str]) -> String {
    let ran = base.run([&["context", "--task", "Sort the orders", "--task-id", "t-1"], more].concat());
    assert_eq!(ran.code, Some(0), "{ran}");
    ran.stdout
}

/// Seen with random entries: tags or a title longer than the room left out an entry whose text would have fitted.
#[test]
fn long_names_leave_room_for_the_text() {
    for (title, tags) in [("Sort by date", "sorting ".repeat(1_000)), (&"Sort ".repeat(2_000)[..], "x".to_owned())] {
        let base = TestBase::new();
        base.entry("long", title, &tags, "The orders have two dates.");
        let text = context(&base, &["--budget", "5000"]);
        assert!(text.contains("The orders have two dates."), "{text}");
    }
}

#[test]
fn a_report_is_found_behind_any_number_of_empty_attempts() {
    for n_empty in [1, 30, 300] {
        let base = TestBase::new();
        attempt(&base, 1, "outcome: failed\nerror_category: timeout", &report(1, 20));
        for number in 2..2 + n_empty {
            let outcome = if number % 3 == 0 { "error" } else { "blocked" };
            attempt(&base, number, &format!("outcome: {outcome}\nerror_category: unknown"), "");
        }
        // Words at the end of an output explain nothing.
        let last = n_empty + 2;
        for number in last..last + 40 {
            attempt(&base, number, "outcome: blocked\nerror_category: unknown", "\n## Error output\n\n> I looked.\n");
        }
        for more in [&[][..], &["--budget", "2300"]] {
            let text = context(&base, more);
            let n_all = n_empty + 41;
            assert!(text.contains(&format!("has been attempted {n_all} times")), "{text}");
            assert!(text.contains("- **Approach:** Way 1.\n"), "{n_empty}: {text}");
            assert!(text.contains("end of 1."), "{n_empty}: {text}");
        }
    }
}

#[test]
fn equal_empty_attempts_are_one_line_with_a_count() {
    let base = TestBase::new();
    for number in 1..=24 {
        attempt(&base, number, "outcome: blocked\nerror_category: unknown", "");
    }
    attempt(&base, 25, "outcome: failed\nerror_category: unknown", "");
    for number in 26..=27 {
        attempt(&base, number, "outcome: error\nerror_category: unknown", "");
    }
    let text = context(&base, &[]);
    let (shown, _) = text.split_once("\n## Loop Status").unwrap();
    let (_, shown) = shown.split_once("## Previous Attempts\n").unwrap();
    let expected = "
This task has been attempted 27 times before. **Do not repeat the approaches that failed.**

### Attempt 24 (sonnet, blocked)

- **Outcome:** blocked, like 23 earlier attempts that left no report

### Attempt 25 (sonnet, failed)

- **Outcome:** failed
- **No structured failure report was provided.**

### Attempt 27 (sonnet, error)

- **Outcome:** error, like 1 earlier attempt that left no report
";
    assert_eq!(shown, expected);
    // They are not shown again as attempts of the run.
    let of_run = ["context", "--task", "Sort the orders", "--task-id", "t-1", "--run", "run-0000000b"];
    let text = base.run(of_run).stdout;
    assert!(text.contains("like 23 earlier attempts") && !text.contains("## Run Journal"), "{text}");
}

#[test]
fn a_briefing_tells_the_report_and_not_the_empty_attempts_after_it() {
    let base = TestBase::new();
    attempt(&base, 1, "outcome: failed\nerror_category: timeout", &report(1, 3));
    for number in 2..6 {
        attempt(&base, number, "outcome: blocked\nerror_category: unknown", "");
    }
    let text = base.run(["context"]).answer(0);
    assert!(text.contains("`t-1`, failed 5 times in a row, last on 2026-11-01\n"), "{text}");
    assert!(text.contains("- **Tried:** Way 1.\n"), "{text}");
}

#[test]
fn reports_fill_the_budget_before_anything_else_does() {
    let base = TestBase::new();
    for number in 1..=10 {
        attempt(&base, number, "outcome: failed\nerror_category: timeout", &report(number, 150));
    }
    for number in 1..=60 {
        let body = format!("Orders are sorted by way {number}. {}", "More words. ".repeat(80));
        base.entry(&format!("sort-{number}"), &format!("Sort orders {number}"), "sort, orders", &body);
    }
    let section = |text: &str, heading: &str| {
        let after = text.split_once(&format!("\n{heading}\n")).map_or("", |(_, after)| after);
        after.split("\n## ").next().unwrap_or_default().chars().count() + heading.len() + 1
    };
    let text = context(&base, &["--budget", "15000"]);
    assert!(text.chars().count() <= 15_000 && text.chars().count() >= 11_250, "{}", text.chars().count());
    for number in 1..=10 {
        assert!(text.contains(&format!("end of {number}.")), "{number}: {text}");
    }
    assert!(!text.contains("_(truncated)_"), "{text}");
    // However much room there is, knowledge has at most what the second seed says.
    for budget in ["27000", "60000", "200000"] {
        let text = context(&base, &["--budget", budget]);
        let n_known = section(&text, "## Project Knowledge");
        assert!((7_000..=8_000).contains(&n_known), "{budget}: {n_known}");
        assert!(!text.contains("_(truncated)_") && text.contains("end of 1."), "{text}");
    }
}

/// A client cuts what is longer than its limit.
#[test]
fn a_budget_is_that_of_the_whole_text() {
    let base = TestBase::new();
    for number in 1..=10 {
        attempt(&base, number, "outcome: failed\nerror_category: timeout", &report(number, 150));
    }
    let description = "A long description. ".repeat(60);
    for budget in [3_100, 4_000, 8_000] {
        let text = context(&base, &["--description", &description, "--budget", &budget.to_string()]);
        assert!(text.starts_with("## Assigned Task\n") && text.contains(description.trim()), "{text}");
        assert!(text.chars().count() <= budget, "{} > {budget}", text.chars().count());
    }
    let small = ["context", "--task", "x", "--description", &description, "--budget", "2700"];
    base.run(small).refuses(2, "characters, but the budget is 2700");
}

#[test]
fn a_decision_keeps_its_title() {
    let base = TestBase::new();
    let decision = |stem: &str, title: &str, body: &str| {
        let head = format!("title: \"{title}\"\ntags: [adr]\ncategory: decision\ncreated_at: \"2026-02-17T12:00:00Z\"");
        base.write(&format!(".ralph/knowledge/{stem}.md"), format!("---\n{head}\n---\n\n{body}\n"));
    };
    decision("one", "Orders are kept in SQLite", "Decided in ADR 7.");
    decision("two", "No floats for money.", "No floats for money. Integers of cents.");
    let text = context(&base, &[]);
    assert!(text.contains("- **[decision]** Orders are kept in SQLite: Decided in ADR 7. ("), "{text}");
    assert!(text.contains("- **[decision]** No floats for money. Integers of cents. ("), "{text}");
}

#[test]
fn an_entry_is_accused_by_three_tasks_and_not_by_one() {
    let base = TestBase::new();
    base.entry("a", "A", "x", "Text.").entry("b", "B", "x", "Text.");
    let mut number = 0;
    let mut seen = |task: &str, outcome: &str, entry: &str| {
        number += 1;
        let mut text = String::new();
        writeln!(text, "---\nrun_id: run-1\niteration: {number}\ntask_id: {task}\noutcome: {outcome}").unwrap();
        writeln!(text, "started_at: \"2026-11-01T10:{number:02}:00Z\"\ncontext: [knowledge/{entry}]\n---").unwrap();
        base.write(&format!(".ralph/journal/run-1/{number:04}.md"), text);
    };
    let accused = |expected: &[&str]| {
        let expected: Vec<String> = expected.iter().map(|stem| format!("knowledge/{stem}")).collect();
        assert_eq!(ids(&base.run(["list", "--never-helped", "--json"]).json(0)["entries"]), expected);
        let suspects = base.run(["check"]).to_string().matches("suspect").count();
        assert_eq!(suspects, expected.len(), "{}", base.run(["check"]));
        let shown = base.run(["show", "knowledge/a", "--json"]).json(0);
        assert_eq!(shown["entry"]["usage"]["never_helped"], expected.contains(&"knowledge/a".to_owned()), "{shown}");
    };
    // One stuck task is one, however often it fails.
    for _ in 0..9 {
        seen("t-1", "failed", "a");
    }
    accused(&[]);
    seen("t-2", "blocked", "a");
    seen("t-3", "retried", "a");
    // Where nothing ever succeeds, no entry is to blame.
    accused(&[]);
    seen("t-4", "done", "b");
    accused(&["a"]);
    seen("t-1", "done", "a");
    accused(&[]);
}
