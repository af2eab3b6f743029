//! Maintenance: what is archived and when, that nothing is lost, and that a dry run reports the same.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use ralph_memory::entry::Outcome;
use ralph_memory::memory::{EntryChanges, EntryFilter, Report, Run, TidyReport};
use ralph_memory::{Id, Knowledge, Memory, Query, Scope, Source, Task};
use serde_json::json;

use crate::support::TestBase;
use crate::test_cases::cases;

/// A memory with a clock that the test sets.
struct Garden {
    base: TestBase,
    memory: Memory,
    days: Arc<AtomicI64>,
}

impl Garden {
    fn new(settings: &str) -> Garden {
        let base = TestBase::new();
        base.write(".ralph/config.toml", format!("format = 1\n{settings}"));
        let days = Arc::new(AtomicI64::new(0));
        let own = Arc::clone(&days);
        let clock = move || {
            let days = u64::try_from(own.load(Ordering::SeqCst)).unwrap();
            // 2026-01-01 at noon.
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_268_800 + days * 24 * 3600)
        };
        let memory = base.memory().with_clock(clock);
        Garden { base, memory, days }
    }

    fn pass(&self, days: i64) {
        self.days.fetch_add(days, Ordering::SeqCst);
    }

    /// Lets a task be attempted once.
    fn attempt(&self, title: &str, outcome: Outcome) -> Vec<Id> {
        let iteration = self.memory.begin(&Task::new(title), &Run::named("run-1")).unwrap();
        let report = Report { outcome: Some(outcome), duration_secs: Some(1.0), ..Report::default() };
        self.memory.finish(&iteration, &report).unwrap();
        iteration.entries
    }

    fn learn(&self, title: &str, tags: &[&str], body: &str) -> Id {
        let knowledge = Knowledge {
            category: Some("pitfall".into()),
            source: Source::Agent,
            ..Knowledge::new(title, tags.to_vec(), body)
        };
        self.memory.add(&knowledge).unwrap().id
    }

    /// Returns the text of all entries, live and archived.
    fn text(&self) -> String {
        self.text_below(&[".ralph/knowledge", ".ralph/journal", ".ralph/archive"])
    }

    /// Returns the text of all entries, and that of the undo log, which has what was replaced.
    fn kept_text(&self) -> String {
        self.text() + &self.text_below(&[".ralph/state/undo"])
    }

    fn text_below(&self, folders: &[&str]) -> String {
        let files =
            folders.iter().filter(|folder| self.base.at(folder).exists()).flat_map(|folder| self.base.files(folder));
        files.map(|file| self.base.read(&file)).collect()
    }

    /// Tidies, after a dry run that must say the same and change nothing.
    fn tidy(&self) -> TidyReport {
        let before = self.text();
        let planned = self.memory.tidy(true).unwrap();
        assert_eq!(self.text(), before);
        let done = self.memory.tidy(false).unwrap();
        assert_eq!(serde_json::to_string(&done).unwrap(), serde_json::to_string(&planned).unwrap());
        for moved in &done.moved {
            assert!(
                !self.base.at(moved.from.as_str()).exists() && self.base.at(moved.to.as_str()).exists(),
                "{moved:?}"
            );
        }
        // There is nothing left to do.
        assert_eq!(self.memory.tidy(false).unwrap(), TidyReport::default());
        done
    }
}

fn ids(moved: &TidyReport) -> Vec<&str> {
    moved.moved.iter().map(|moved| moved.id.as_str()).collect()
}

#[test]
fn finished_entries_are_archived_and_restored() {
    let it = Garden::new("");
    let memory = &it.memory;
    it.attempt("Write the parser", Outcome::Failed);
    it.attempt("Write the parser", Outcome::Done);
    it.attempt("Write the lexer", Outcome::Failed);
    let expiring = Knowledge {
        expires_at: ralph_memory::entry::parse_time("2026-01-05"),
        ..Knowledge::event("hint", "For some days.").unwrap()
    };
    memory.add(&expiring).unwrap();
    let (old, new) = (it.learn("The old way", &["a"], "Old."), it.learn("Another thing", &["b"], "New."));
    memory.change(&new, &EntryChanges::superseding([old.clone()])).unwrap();
    assert_eq!(it.tidy(), TidyReport::default());
    it.pass(8);
    let done = it.tidy();
    assert_eq!(ids(&done), ["journal/run-1/0001", "journal/run-1/0002", "knowledge/2026-01-01-for-some-days"]);
    assert_eq!(done.moved[2].to.as_str(), ".ralph/archive/knowledge/events/2026-01-01-for-some-days.md");
    // Archived attempts are still shown, and count.
    let iteration = memory.begin(&Task::new("Write the parser"), &Run::named("run-2")).unwrap();
    assert!(iteration.context.contains("attempted 2 times before"), "{}", iteration.context);
    it.pass(30);
    assert_eq!(ids(&it.tidy()), [old.as_str()]);
    let back = memory.restore(&old, None).unwrap();
    assert_eq!((back.id.as_str(), back.path.as_str()), (old.as_str(), ".ralph/knowledge/the-old-way.md"));
    memory.restore(&Id::parse("journal/run-1/0002").unwrap(), None).unwrap();
    assert!(it.base.at(".ralph/journal/run-1/0002.md").exists());
}

#[test]
fn unused_knowledge_is_archived_once_use_is_recorded_long_enough() {
    let it = Garden::new("");
    for (title, tag, source) in [
        ("The parser is slow", "parser", Source::Agent),
        ("Zebras have stripes", "zebra", Source::Agent),
        ("Horses have none", "horse", Source::Human),
    ] {
        it.memory.add(&Knowledge { source, ..Knowledge::new(title, [tag], "Mind it.") }).unwrap();
    }
    it.pass(100);
    // Nothing is recorded, so nothing is known.
    assert_eq!(it.tidy(), TidyReport::default());
    for _ in 0..5 {
        assert_eq!(it.attempt("parser", Outcome::Failed).len(), 1);
        assert_eq!(it.tidy(), TidyReport::default());
        it.pass(7);
    }
    // With the four of the days before, thirty.
    for _ in 0..26 {
        assert_eq!(it.tidy(), TidyReport::default());
        it.attempt("parser", Outcome::Failed);
    }
    let done = it.tidy();
    assert_eq!(ids(&done), ["knowledge/zebras-have-stripes"]);
    assert_eq!(serde_json::to_value(&done.moved[0]).unwrap()["reason"], json!("unused"));
}

#[test]
fn similar_learnings_are_merged() {
    let it = Garden::new("[maintenance]\nlearnings = 3\n");
    let first = it.learn("Foreign keys are off", &["sqlite", "schema"], "Switch them on.\n\nFor each connection.");
    it.pass(1);
    let second = it.learn("Cascades delete", &["sqlite", "schema", "delete"], "Mind `ON DELETE`.");
    it.pass(1);
    let third = it.learn("Migrations lock", &["sqlite", "schema"], "Run them alone.\n\nSwitch them on.");
    let tasks = it.learn("Never block", &["tokio"], "Not in a task.");
    let done = it.tidy();
    assert_eq!(done.merged.len(), 1);
    assert_eq!((&done.merged[0].into, &done.merged[0].ids), (&third, &vec![second.clone(), first.clone()]));
    let text = it.base.read(".ralph/knowledge/migrations-lock.md");
    assert!(text.contains("tags: [sqlite, schema, delete]\n"), "{text}");
    assert!(text.contains("supersedes: [knowledge/cascades-delete, knowledge/foreign-keys-are-off]\n"), "{text}");
    let body = "\nRun them alone.\n\nSwitch them on.\n\n## Cascades delete\n\nMind `ON DELETE`.\n\n## Foreign keys are off\n\nFor each connection.\n";
    assert!(text.ends_with(body), "{text}");
    let found = |text: &str| -> Vec<Id> {
        let query = Query { text: text.into(), ..Query::default() };
        it.memory.search(&query, 10).unwrap().hits.into_iter().map(|hit| hit.entry.id).collect()
    };
    assert_eq!(found("cascades"), std::slice::from_ref(&third));
    assert_eq!(found("block"), [tasks]);
    assert_eq!(it.memory.check().problems, []);
    // Everything is restored as it was.
    it.memory.restore(&first, None).unwrap();
    it.memory.restore(&third, None).unwrap();
    assert!(it.base.read(".ralph/knowledge/migrations-lock.md").ends_with("\nRun them alone.\n\nSwitch them on.\n"));
    assert!(it.base.at(".ralph/knowledge/foreign-keys-are-off.md").exists());
}

#[test]
fn tidy_reports_what_it_does() {
    let base = TestBase::new();
    let ran = base.run(["tidy"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", "nothing to do\n"), "{ran}");
    let json = base.run(["tidy", "--dry-run", "--json"]).json(0);
    assert_eq!(json, json!({"schema_version": 1, "dry_run": true, "moved": [], "merged": [], "problems": []}));
    base.run(["tidy", "everything"]).says(2, "unexpected argument 'everything' found");
    let _ = base.run(["add", "--event", "hint", "For a day.", "--expires", "1d"]);
    let path = ".ralph/knowledge/events/2026-11-20-for-a-day.md";
    let later = "2026-11-22T10:00:00Z";
    let dry = base.with(["tidy", "--dry-run"]).now(later).run();
    let line = "archived knowledge/2026-11-20-for-a-day: it has expired\n";
    let note = "1 entry archived (dry run: nothing was changed)\n";
    assert_eq!((dry.stdout.as_str(), dry.stderr.as_str()), (line, note), "{dry}");
    assert!(base.at(path).exists());
    let done = base.with(["tidy"]).now(later).run();
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), (line, "1 entry archived\n"), "{done}");
    assert!(!base.at(path).exists());
    base.with(["restore", "2026-11-20-for-a-day"]).now(later).run().says(0, "restored knowledge/2026-11-20-for-a-day");
    assert!(base.at(path).exists());
    // What an agent wrote would go again.
    for (source, is_told) in [("agent", true), ("human", false)] {
        base.run(["add", source, "--body", "It links.", "--source", source]).says(0, "created");
        base.run(["archive", source]).says(0, "archived");
        let restored = base.run(["restore", source]);
        let hint =
            format!("`ralph-memory edit knowledge/{source} --confirm` makes it yours, so that `tidy` leaves it here");
        assert_eq!(restored.stderr.contains(&hint), is_told, "{restored}");
    }
}

#[test]
fn a_run_tidies_at_its_end_if_the_settings_say_so() {
    let base = TestBase::new();
    let _ = base.run(["add", "--event", "hint", "For a day.", "--expires", "1d"]);
    base.write("../home/agent.sh", "cat > /dev/null\necho \"<task-done>$RALPH_TASK_ID</task-done>\"\n");
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    let run = |task: &str| {
        let arguments = ["run", "--task", task, "--agent", &agent, "--json"];
        base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).now("2026-11-22T10:00:00Z").run().json(0)
    };
    assert_eq!(run("first")["maintenance"], serde_json::Value::Null);
    base.write(".ralph/config.toml", "format = 1\n[maintenance]\nautomatic = true\n");
    let tended = &run("second")["maintenance"];
    assert_eq!(tended["moved"][0]["id"], json!("knowledge/2026-11-20-for-a-day"));
    assert_eq!(base.files(".ralph/archive/knowledge").len(), 1);
}

/// One thing that happens to a memory.
#[derive(Debug, Clone)]
enum Step {
    Learn { topic: u8, tags: u8 },
    Note { scope: u8, importance: u8, days: Option<i64> },
    Attempt { topic: u8, outcome: usize },
    Supersede { old: u8, new: u8 },
    Pass(i64),
    Tidy,
    Restore(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u8..6, 0u8..4).prop_map(|(topic, tags)| Step::Learn { topic, tags }),
        3 => (0u8..3, 0u8..=100, prop::option::of(1i64..60)).prop_map(|(scope, importance, days)| Step::Note { scope, importance, days }),
        4 => (0u8..3, 0usize..Outcome::ALL.len()).prop_map(|(topic, outcome)| Step::Attempt { topic, outcome }),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(old, new)| Step::Supersede { old, new }),
        3 => (1i64..60).prop_map(Step::Pass),
        4 => Just(Step::Tidy),
        1 => any::<u8>().prop_map(Step::Restore),
    ];
    prop::collection::vec(step, 1..25)
}

const TOPICS: [&str; 6] = ["parser", "lexer", "schema", "network", "socket", "painter"];
const TAGS: [&[&str]; 4] = [&["a"], &["a", "b"], &["b", "c"], &["c", "d", "e"]];

/// The history of tasks, the run and knowledge, according to contexts and `show`.
fn folds(it: &Garden) -> Vec<String> {
    let mut folds = Vec::new();
    for topic in &TOPICS[..3] {
        let request = ralph_memory::Request { task: Task::new(*topic), ..ralph_memory::Request::default() };
        let context = it.memory.context(&request).unwrap();
        let previous =
            context.text.split("## Previous Attempts").nth(1).map(|text| text.split("\n## ").next().unwrap());
        let previous = previous.map(|text| text.split("### Learnings").next().unwrap()).unwrap_or_default();
        // How it ends depends on which section follows.
        folds.push(previous.trim_end().to_owned());
    }
    let attempts = it.memory.attempts_of_run("run-1");
    folds.extend(attempts.iter().map(|(id, attempt)| format!("{id} {}", attempt.head.outcome.as_str())));
    let all = it.memory.list(&EntryFilter { archived: true, ..EntryFilter::default() }).entries;
    let ids: BTreeSet<Id> =
        all.into_iter().map(|item| item.id).filter(|id| id.as_str().starts_with("knowledge/")).collect();
    folds.extend(ids.iter().map(|id| format!("{id} {:?}", it.memory.show(id).unwrap().entry.usage)));
    folds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(10)))]

    /// Whatever is done to a memory, every statement is in an entry or the undo log, a dry run reports what the real one
    /// does, and history is the same.
    #[test]
    fn maintenance_never_loses_a_statement(steps in steps()) {
        let it = Garden::new("[maintenance]\nlearnings = 4\n");
        let mut statements = Vec::new();
        let counter = Rc::new(Cell::new(0));
        let number = || { counter.set(counter.get() + 1); counter.get() };
        for step in steps {
            match step {
                Step::Learn { topic, tags } => {
                    let statement = format!("Statement {} about it.", number());
                    it.learn(&format!("The {} of {tags}", TOPICS[usize::from(topic)]), TAGS[usize::from(tags)], &statement);
                    statements.push(statement);
                }
                Step::Note { scope, importance, days } => {
                    let statement = format!("Knowledge {} happened.", number());
                    let scope = [Scope::Project, Scope::Section("s".into()), Scope::Task("t-1".into())][usize::from(scope)].clone();
                    let now = chrono::DateTime::<chrono::Utc>::from(SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_268_800));
                    let expires_at = days.map(|days| now + chrono::TimeDelta::days(days + it.days.load(Ordering::SeqCst)));
                    it.memory.add(&Knowledge { scope, importance: Some(importance), expires_at, ..Knowledge::event("hint", &statement).unwrap() }).unwrap();
                    statements.push(statement);
                }
                Step::Attempt { topic, outcome } => {
                    it.attempt(TOPICS[usize::from(topic)], Outcome::ALL[outcome]);
                }
                Step::Supersede { old, new } => {
                    let all = it.memory.list(&EntryFilter::default()).entries;
                    let all: Vec<Id> = all.into_iter().map(|item| item.id).filter(|id| id.as_str().starts_with("knowledge/")).collect();
                    if all.len() > 1 {
                        let (old, new) = (&all[usize::from(old) % all.len()], &all[usize::from(new) % all.len()]);
                        let _ = it.memory.change(new, &EntryChanges::superseding([old.clone()]));
                    }
                }
                Step::Pass(days) => it.pass(days),
                Step::Tidy => {
                    let before = folds(&it);
                    it.tidy();
                    prop_assert_eq!(folds(&it), before);
                }
                Step::Restore(which) => {
                    let all = it.memory.list(&EntryFilter { archived: true, ..EntryFilter::default() }).entries;
                    let archived: Vec<Id> = all.into_iter().filter(|item| item.archived).map(|item| item.id).collect();
                    if !archived.is_empty() {
                        it.memory.restore(&archived[usize::from(which) % archived.len()], None).unwrap();
                    }
                }
            }
            let text = it.kept_text();
            for statement in &statements {
                prop_assert!(text.contains(statement), "{statement}");
            }
        }
    }
}
