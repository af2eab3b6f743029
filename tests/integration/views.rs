//! Views of the journal, on real files, and the recurring errors and files of a context.

use std::fs;

use ralph_memory::entry::{Files, Outcome, Sections, Validation};
use ralph_memory::memory::{AttemptView, Report, Run};
use ralph_memory::{Id, Memory, Request, Task};
use serde_json::json;

use crate::support::TestBase;

/// Writes an attempt; the later in the journal, the later in time.
fn attempt(base: &TestBase, name: &str, second: u32, fields: &str, body: &str) {
    let at = format!("\"2026-02-17T12:{:02}:{:02}Z\"", second / 60, second % 60);
    crate::timeline::attempt(base, name, &at, fields, body);
}

fn error(text: &str) -> String {
    format!("## Error output\n\n> {text}\n")
}

fn ids(iterations: &[AttemptView]) -> Vec<&str> {
    iterations.iter().map(|view| view.id.as_str().strip_prefix("journal/").unwrap()).collect()
}

/// Returns the lines of `## Loop Status` about recurring errors and files in the context of a task.
fn told(memory: &Memory, task: &Task) -> Vec<String> {
    let context = memory.context(&Request { task: task.clone(), ..Request::default() }).unwrap();
    told_in(&context.text)
}

fn told_in(context: &str) -> Vec<String> {
    let is_told = |line: &&str| line.starts_with("- **Recurring error") || line.starts_with("- **Suggested context");
    context.lines().filter(is_told).map(str::to_owned).collect()
}

fn of_feature(title: &str, feature: &str) -> Task {
    Task { feature: Some(feature.to_owned()), ..Task::new(title) }
}

#[test]
fn a_memory_without_attempts_has_empty_views() {
    let base = TestBase::new();
    let memory = base.memory();
    for feature in [None, Some("storage"), Some("")] {
        assert!(memory.recent_iterations(feature, 9).items.is_empty());
        assert!(memory.feature_files(feature).items.is_empty());
        assert!(memory.failed_attempts(feature, None, 9).unwrap().items.is_empty());
        assert!(memory.recurring_errors(feature).items.is_empty());
    }
    assert_eq!(told(&memory, &of_feature("x", "storage")), Vec::<String>::new());
}

#[test]
fn a_view_matches_the_file() {
    let base = TestBase::new();
    let fields = "feature: storage\noutcome: failed\nerror_category: test_failure\nmodel: opus\nduration_secs: 42.5\ncost_usd: 0.25\ntokens_in: 7\ntokens_out: 8\nfiles: {created: [a], modified: [b], read: [c], relevant: [d]}";
    let body = "> Notes.\n\n## Summary\n\n> Sum.\n\n## What was tried\n\n> Tried.\n\n## Why it failed\n\n> Why.\n\n## Error output\n\n> Out.\n\n## Retry suggestion\n\n> Retry.\n\n## Decisions\n\n> Decided.\n\n## Errors\n\n> Errs.\n\n## Validation output\n\n> Val.";
    attempt(&base, "archive/run-1/0002", 5, fields, body);
    let found = base.memory().recent_iterations(Some("storage"), 5);
    let mut expected = json!({
        "items": [{
            "id": "journal/run-1/0002", "path": ".ralph/archive/journal/run-1/0002.md", "archived": true,
            "run_id": "run-1", "iteration": 2, "task_id": "t-1", "task_title": "Fix the login", "feature": "storage",
            "outcome": "failed", "error_category": "test_failure", "model": "opus",
            "started_at": "2026-02-17T12:00:05Z", "duration_secs": 42.5, "cost_usd": 0.25, "tokens_in": 7,
            "tokens_out": 8, "tree": null, "files": {"created": ["a"], "modified": ["b"], "read": ["c"], "relevant": ["d"]},
            "notes": "Notes.", "summary": "Sum.", "what_tried": "Tried.", "why_failed": "Why.",
            "error_output": "Out.", "retry_suggestion": "Retry.", "decisions": "Decided.", "errors": "Errs.",
            "validation": null, "validation_output": "Val.", "feedback": "", "refused": [], "reason": "Why.",
            "source": "human", "section": null, "model_rationale": null, "difficulty": null, "next_model": null,
            "context": [], "progress": "",
        }],
        "in_all": 1,
        "problems": [],
    });
    // One more key than the macro takes.
    expected["items"][0]["commit"] = serde_json::Value::Null;
    assert_eq!(serde_json::to_value(&found).unwrap(), expected);
}

#[test]
fn iterations_are_listed_newest_first_and_by_feature() {
    let base = TestBase::new();
    for (path, second, fields) in [
        ("run-1/0001", 1, "feature: storage"),
        ("archive/run-2/0001", 2, "feature: storage\noutcome: done"),
        ("run-2/0002", 3, "feature: search\noutcome: error"),
        ("run-1/0002", 4, "feature: storage\noutcome: interrupted"),
        ("run-1/0003", 5, "task_id: t-2\nfeature: storage\noutcome: blocked"),
        ("run-1/0004", 6, "outcome: retried"),
        ("run-1/0005", 7, "outcome: partial"),
    ] {
        attempt(&base, path, second, fields, "");
    }
    let memory = base.memory();
    let recent = |feature, count| {
        let found = memory.recent_iterations(feature, count).items;
        ids(&found).join(" ")
    };
    assert_eq!(recent(None, 3), "run-1/0005 run-1/0004 run-1/0003");
    assert_eq!(recent(None, 99), "run-1/0005 run-1/0004 run-1/0003 run-1/0002 run-2/0002 run-2/0001 run-1/0001");
    assert_eq!(recent(Some("storage"), 99), "run-1/0003 run-1/0002 run-2/0001 run-1/0001");
    assert_eq!(recent(Some("storage"), 1), "run-1/0003");
    assert_eq!((recent(Some("storage"), 0), recent(Some("stor"), 9)), (String::new(), String::new()));
    let failed = |feature, task_id| {
        let found = memory.failed_attempts(feature, task_id, 9).unwrap().items;
        ids(&found).join(" ")
    };
    assert_eq!(failed(None, None), "run-1/0004 run-1/0003 run-2/0002 run-1/0001");
    assert_eq!(failed(Some("storage"), None), "run-1/0003 run-1/0001");
    assert_eq!(
        failed(Some("storage"), Some("t-1")),
        "run-1/0004 run-1/0001",
        "one that names no feature is one at this task"
    );
    assert_eq!(failed(None, Some("t-1")), "run-1/0004 run-2/0002 run-1/0001");
    assert_eq!(failed(None, Some("t-3")), "");
    assert!(memory.failed_attempts(None, Some("../t"), 9).is_err());
    // No more than is asked for is read, and all are counted.
    let two = memory.failed_attempts(None, None, 2).unwrap();
    assert_eq!((ids(&two.items).join(" ").as_str(), two.in_all), ("run-1/0004 run-1/0003", 4));
    assert_eq!(memory.recent_iterations(Some("storage"), 1).in_all, 4);
    // The archive's way back changes nothing of it, nor does a cache that is gone.
    fs::create_dir_all(base.at(".ralph/archive/journal/run-1")).unwrap();
    fs::rename(base.at(".ralph/journal/run-1/0003.md"), base.at(".ralph/archive/journal/run-1/0003.md")).unwrap();
    assert_eq!(failed(Some("storage"), None), "run-1/0003 run-1/0001");
    memory.rebuild_index().unwrap();
    assert_eq!(failed(Some("storage"), None), "run-1/0003 run-1/0001");
    fs::remove_dir_all(base.at(".ralph/cache")).unwrap();
    assert_eq!(failed(Some("storage"), None), "run-1/0003 run-1/0001");
}

#[test]
fn files_are_counted_over_runs_and_the_archive() {
    let base = TestBase::new();
    for (path, second, fields) in [
        ("archive/run-1/0001", 1, "feature: storage\nfiles: {created: [src/old.rs], read: [Cargo.toml]}"),
        ("run-1/0002", 2, "feature: storage\nfiles: {modified: [src/old.rs], read: [src/old.rs, Cargo.toml]}"),
        // A file is renamed: one disappears, and one appears.
        ("run-2/0001", 3, "feature: storage\nfiles: {created: [src/new.rs], modified: [src/old.rs]}"),
        ("run-2/0002", 4, "feature: storage\nfiles: {modified: [src/new.rs], relevant: [src/named.rs]}"),
        ("run-2/0003", 5, "feature: search\nfiles: {modified: [src/new.rs], read: [src/found.rs]}"),
    ] {
        attempt(&base, path, second, fields, "");
    }
    let memory = base.memory();
    let found = serde_json::to_value(memory.feature_files(Some("storage"))).unwrap();
    let file = |path: &str, attempts: usize, ways: [usize; 3], second: u32| {
        json!({
            "path": path, "attempts": attempts, "created": ways[0], "modified": ways[1], "read": ways[2],
            "last_touched_at": format!("2026-02-17T12:00:0{second}Z"), "suggested": attempts > 2,
        })
    };
    let expected =
        [file("src/old.rs", 3, [1, 2, 1], 3), file("src/new.rs", 2, [1, 1, 0], 4), file("Cargo.toml", 2, [0, 0, 2], 2)];
    assert_eq!(found, json!({"items": expected, "in_all": 3, "problems": []}));
    let all = memory.feature_files(None).items;
    assert_eq!(all.iter().filter(|file| file.suggested).count(), 2);
    assert_eq!(all.iter().find(|file| file.path == "src/new.rs").unwrap().attempts, 3);
}

#[test]
fn errors_are_counted_over_runs_whatever_differs_from_one_to_the_next() {
    let base = TestBase::new();
    let panicked = |place: &str| error(&format!("running 3 tests\n> thread 'main' panicked at {place}\n> note: more"));
    attempt(&base, "archive/run-1/0001", 1, "feature: storage", &panicked("src/a.rs:1:2"));
    attempt(&base, "run-1/0002", 2, "feature: storage", &error("only once"));
    attempt(&base, "run-2/0001", 3, "feature: storage", &panicked("/tmp/x/src/b.rs:30:4"));
    attempt(&base, "run-2/0002", 4, "feature: search", &panicked("src/c.rs:9"));
    attempt(&base, "run-3/0001", 5, "feature: search", &error("only once"));
    // A done attempt has no error, whatever its text is.
    attempt(&base, "run-3/0002", 6, "feature: storage\noutcome: done", &panicked("src/a.rs:1:2"));
    let memory = base.memory();
    let found = serde_json::to_value(memory.recurring_errors(Some("storage"))).unwrap();
    let expected = json!({
        "items": [{
            "attempts": 2,
            "first": {"id": "journal/run-1/0001", "run_id": "run-1", "iteration": 1, "started_at": "2026-02-17T12:00:01Z"},
            "last": {"id": "journal/run-2/0001", "run_id": "run-2", "iteration": 1, "started_at": "2026-02-17T12:00:03Z"},
            "example": "thread 'main' panicked at /tmp/x/src/b.rs:30:4",
        }],
        "in_all": 1,
        "problems": [],
    });
    assert_eq!(found, expected);
    let all = memory.recurring_errors(None).items;
    let counts: Vec<_> = all.iter().map(|error| (error.attempts, error.example.as_str())).collect();
    assert_eq!(counts, [(3, "thread 'main' panicked at src/c.rs:9"), (2, "only once")]);
}

#[test]
fn a_context_shows_recurring_errors_of_its_feature() {
    let base = TestBase::new();
    base.write("src/db.rs", "").write("src/gone.rs", "").write("src/mine.rs", "");
    let files = "{modified: [src/db.rs, src/gone.rs, src/mine.rs, ../outside, /etc/passwd, .ralph/README.md]}";
    for number in 1..=3 {
        let fields = format!("task_id: t-other\nfeature: storage\nfiles: {files}");
        attempt(&base, &format!("run-1/{number}"), number, &fields, &error("no <journal> table"));
    }
    fs::remove_file(base.at("src/gone.rs")).unwrap();
    let memory = base.memory();
    let task = Task { files: vec!["src/mine.rs".into()], ..of_feature("Add an index", "storage") };
    let expected = [
        "- **Recurring error:** this error has occurred in 3 previous iterations: `no &lt;journal> table`",
        "- **Suggested context files:** `src/db.rs` (touched in 3 or more iterations of this feature)",
    ];
    assert_eq!(told(&memory, &task), expected);
    // So it is for a first iteration, of which there is nothing else to say, and another feature hears nothing.
    let iteration = memory.begin(&task, &Run::named("run-9")).unwrap();
    assert_eq!(told_in(&iteration.context), expected);
    assert!(!iteration.context.contains("Run success rate"));
    assert_eq!(told(&memory, &of_feature("Add an index", "search")), Vec::<String>::new());
    assert_eq!(told(&memory, &Task::new("Add an index")), Vec::<String>::new());
    // Twice is enough for an error, and not for a file.
    fs::remove_file(base.at(".ralph/journal/run-1/0002.md")).unwrap();
    assert_eq!(
        told(&memory, &task),
        ["- **Recurring error:** this error has occurred in 2 previous iterations: `no &lt;journal> table`"]
    );
}

#[test]
fn a_context_covers_the_last_iterations_of_a_feature() {
    let base = TestBase::new();
    base.write("src/db.rs", "");
    for number in 1..=503 {
        // The first three lie in the archive, which makes no difference.
        let (area, files) = if number <= 3 { ("archive/", "files: {read: [src/db.rs]}") } else { ("", "") };
        let fields = format!("task_id: t-other\nfeature: storage\noutcome: done\n{files}");
        attempt(&base, &format!("{area}run-1/{number}"), number, &fields, "");
    }
    let memory = base.memory();
    let task = of_feature("Add an index", "storage");
    assert_eq!(told(&memory, &task), Vec::<String>::new());
    assert!(memory.feature_files(Some("storage")).items[0].suggested);
    for number in 501..=503 {
        fs::remove_file(base.at(&format!(".ralph/journal/run-1/{number:04}.md"))).unwrap();
    }
    assert_eq!(told(&memory, &task).len(), 1);
    // One more is one too many.
    attempt(&base, "run-1/0501", 501, "feature: storage", "");
    assert_eq!(told(&memory, &task).len(), 0);
}

#[test]
fn a_task_without_a_feature_sees_its_own_errors() {
    let base = TestBase::new();
    base.write("src/db.rs", "");
    let memory = base.memory();
    let task = Task::new("Add the tables");
    let other = Task::new("Add an index");
    let fail = |task: &Task, run: &str, output: &str| {
        let iteration = memory.begin(task, &Run::named(run)).unwrap();
        let validation = Validation { command: "cargo test".into(), exit_code: 101, duration_ms: 1 };
        let sections = Sections { validation_output: output.to_owned(), ..Sections::default() };
        let files = Files { modified: vec!["src/db.rs".into()], ..Files::default() };
        let text = format!("<task-done>{}</task-done>", iteration.task_id());
        let report = Report { text, validation: Some(validation), sections, files, ..Report::default() };
        assert_eq!(memory.finish(&iteration, &report).unwrap().outcome, Outcome::Retried);
        iteration.context
    };
    let boom = |number: u32| format!("test tables ... FAILED after {number}ms\n");
    fail(&other, "run-1", &boom(1));
    fail(&task, "run-1", &boom(2));
    assert_eq!(told_in(&fail(&task, "run-1", &boom(3))), Vec::<String>::new());
    // The warning says so, also to one who begins nothing.
    assert_eq!(told(&memory, &task), Vec::<String>::new());
    let context = fail(&task, "run-2", &boom(4));
    // If the warning covers these two, it is not repeated.
    assert!(context.contains("the last two with the same error"), "{context}");
    assert_eq!(told_in(&context), Vec::<String>::new());
    // It is shown already, so it is identified by its attempt.
    let three = "- **Recurring error:** this error has occurred in 3 previous iterations (that of attempt 3 above)";
    assert_eq!(told(&memory, &task), [three]);
    assert_eq!(told_in(&fail(&task, "run-3", "something else")), [three]);
    assert_eq!(told(&memory, &other), Vec::<String>::new());
}

#[test]
fn links_usage_and_replacements_of_an_entry_are_shown() {
    let base = TestBase::new();
    let head = "title: Lock   order\ntags: [db]\naliases: [Order of locks]";
    base.write(
        ".ralph/knowledge/locks.md",
        format!("---\n{head}\n---\n\nSee [[retries]], [[Nobody]] and [[locks]].\n"),
    );
    base.entry("retries", "Retries", "db", "[[lock ORDER]] and [[order of locks]]\n\n[[knowledge/locks]]");
    let head = "title: New\ntags: [db]\nsupersedes: [knowledge/retries]\nrun_id: run-one\ntask_id: t-one";
    base.write(".ralph/knowledge/new.md", format!("---\n{head}\n---\n\n[[Retries]]\n"));
    for number in 1..=2 {
        let task = "run_id: run-one\ntask_id: t-one\ntask_title: One\noutcome: done\ncontext: [knowledge/locks]";
        let head = format!("{task}\niteration: {number}\nstarted_at: 2026-02-0{number}T10:00:00Z");
        base.write(&format!(".ralph/journal/run-one/000{number}.md"), format!("---\n{head}\n---\n\n> Did it.\n"));
    }
    let memory = base.memory();
    let locks = memory.show(&Id::parse("locks").unwrap()).unwrap().entry;
    assert_eq!(locks.backlinks.len(), 1, "the first link of each entry: {:?}", locks.backlinks);
    assert_eq!(locks.backlinks[0].line, 7);
    assert_eq!(locks.usage.unwrap().recalls, 2);
    let ids: Vec<Option<&str>> = locks.links.iter().map(|link| link.id.as_ref().map(Id::as_str)).collect();
    assert_eq!(ids, [Some("knowledge/retries"), None, Some("knowledge/locks")]);
    let retries = memory.show(&Id::parse("retries").unwrap()).unwrap().entry;
    assert_eq!(retries.superseded_by, [Id::parse("knowledge/new").unwrap()]);
    assert_eq!(memory.run("run-one").unwrap().knowledge.len(), 1);
}
