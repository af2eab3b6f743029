//! An attempt costs money and time: whatever fails behind its agent, what the agent said is kept.

use std::fs;

use crate::support::TestBase;

/// The task of these tests.
const TASK: &str = "t-greeting";
/// What an agent says in the end; `TITLE` is that of a fact that is known already.
const SAID: &str = "<journal>\nThe greeting is printed.\n</journal>\n\
                    <knowledge tags=\"folded, fresh\" title=\"Greetings are short\">\nAt most five letters.\n</knowledge>\n\
                    <learning category=\"pitfall\" tags=\"shell\">\nUse printf instead of echo.\n</learning>\n\
                    <task-done>t-greeting</task-done>\n";

/// Begins an iteration of the run `run-1`.
fn begin(base: &TestBase) {
    let ran = base.run(["context", "--task", "Write the greeting", "--task-id", TASK, "--run", "run-1"]);
    assert_eq!(ran.code, Some(0), "{ran}");
}

/// Checks that the attempt is in the journal with all that its agent said, though the entry at `path`, which the
/// agent has something to add to, stays as it is.
#[track_caller]
fn check_refused(base: &TestBase, path: &str, reason: &str) {
    begin(base);
    let before = fs::read(base.at(path)).unwrap();
    let ran = base.with(["record"]).input(SAID).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.starts_with("recorded journal/run-1/0001 (done)\ncreated knowledge/"), "{ran}");
    assert!(ran.stderr.contains("line 4: <knowledge>") && ran.stderr.contains(reason), "{ran}");
    assert_eq!(fs::read(base.at(path)).unwrap(), before);
    let journal = base.read(".ralph/journal/run-1/0001.md");
    assert!(!journal.contains(base.root().to_str().unwrap()), "{journal}");
    for part in ["The greeting is printed.", "Greetings are short", "folded, fresh", "At most five letters.", reason] {
        assert!(journal.contains(part), "{part} is not in\n{journal}");
    }
    // The next attempt is told of it, and the search finds it.
    let next = base.run(["context", "--task", "Write the greeting", "--task-id", TASK, "--run", "run-1"]).stdout;
    assert!(next.contains("last iteration:** line 4: &lt;knowledge>") && next.contains("At most five letters."), "{next}");
    assert!(base.run(["search", "letters", "--kind", "journal"]).answer(0).contains("journal/run-1/0001"));
}

fn greeting(base: &TestBase, head: &str) {
    base.write(".ralph/knowledge/greetings-are-short.md", format!("---\n{head}---\n\nFew letters.\n"));
}

#[test]
fn an_entry_with_folded_tags_gets_another_tag() {
    let base = TestBase::new();
    greeting(&base, "title: Greetings are short\ntags: >-\n  folded,\n  greeting\nsource: agent\n");
    begin(&base);
    let ran = base.with(["record"]).input(SAID).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran}");
    assert!(ran.stdout.contains("updated knowledge/greetings-are-short\n"), "{ran}");
    let entry = base.read(".ralph/knowledge/greetings-are-short.md");
    assert!(entry.contains("\ntags: [folded, greeting, fresh]\nsource: agent\n"), "{entry}");
}

#[test]
fn a_fact_whose_entry_cannot_be_edited_is_refused_alone() {
    let base = TestBase::new();
    greeting(&base, "{title: Greetings are short, tags: [greeting], source: agent}\n");
    check_refused(&base, ".ralph/knowledge/greetings-are-short.md", "cannot edit");
}

#[test]
fn a_fact_whose_entry_would_grow_too_large_is_refused_alone() {
    let base = TestBase::new();
    let note = "x".repeat(16 * 1024 - 100);
    greeting(&base, &format!("title: Greetings are short\ntags: [greeting]\nsource: agent\nnote: {note}\n"));
    check_refused(&base, ".ralph/knowledge/greetings-are-short.md", "larger than an entry");
}

#[test]
fn a_fact_whose_entry_became_a_link_is_refused_alone() {
    let base = TestBase::new();
    greeting(&base, "title: Greetings are short\ntags: [greeting]\nsource: agent\n");
    // The version that is replaced would have to lie where a link leads away.
    fs::create_dir_all(base.at(".ralph/archive")).unwrap();
    let _ = fs::remove_dir_all(base.at(".ralph/archive/knowledge"));
    std::os::unix::fs::symlink(base.home(), base.at(".ralph/archive/knowledge")).unwrap();
    check_refused(&base, ".ralph/knowledge/greetings-are-short.md", "outside");
    assert_eq!(fs::read_dir(base.home()).unwrap().count(), 0);
}

#[test]
fn an_event_that_cannot_be_written_is_refused_alone() {
    let base = TestBase::new();
    fs::remove_dir_all(base.at(".ralph/knowledge/events")).ok();
    std::os::unix::fs::symlink(base.home(), base.at(".ralph/knowledge/events")).unwrap();
    begin(&base);
    let said = format!(
        "{SAID}\n## MEMORY_SUGGESTIONS\n```json\n[{{\"event_type\": \"decision\", \"summary\": \"We print.\", \"scope\": \"project\"}}]\n```\n"
    );
    let ran = base.with(["record"]).env("RALPH_MEMORY_EVENTS__FROM_OUTPUT", "true").input(said).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stderr.contains("MEMORY_SUGGESTIONS entry 1"), "{ran}");
    let journal = base.read(".ralph/journal/run-1/0001.md");
    assert!(journal.contains("outcome: done") && journal.contains("We print."), "{journal}");
}
