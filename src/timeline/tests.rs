//! The answers for journals written by hand, with values calculated by hand.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;

use super::*;
use crate::entry::{Id, Outcome, parse_time};
use crate::memory::Memory;
use crate::test_cases::cases;

/// A file of the journal.
#[derive(Debug, Clone)]
struct File {
    run: String,
    number: u32,
    task: Option<&'static str>,
    feature: Option<&'static str>,
    outcome: &'static str,
    model: Option<&'static str>,
    at: String,
    more: &'static str,
    body: &'static str,
}

fn file(run: &str, number: u32, task: &'static str, outcome: &'static str, at: &str) -> File {
    File {
        run: run.to_owned(),
        number,
        task: Some(task),
        feature: None,
        outcome,
        model: None,
        at: at.to_owned(),
        more: "",
        body: "",
    }
}

/// Returns a memory on 1 June 2026 with these files in its journal.
fn memory(root: &Path, files: &[File]) -> Memory {
    Memory::init(root).unwrap();
    for file in files {
        write(root, "", file);
    }
    let now = UNIX_EPOCH + Duration::from_secs(1_780_315_200);
    Memory::open(root).unwrap().with_clock(move || now)
}

fn write(root: &Path, area: &str, file: &File) {
    let File { run, number, outcome, at, more, body, .. } = file;
    let mut text = format!("---\nrun_id: {run}\niteration: {number}\noutcome: {outcome}\nstarted_at: {at}\n");
    for (key, value) in [("task_id", file.task), ("feature", file.feature), ("model", file.model)] {
        if let Some(value) = value {
            writeln!(text, "{key}: {value}").unwrap();
        }
    }
    if let Some(task) = file.task {
        writeln!(text, "task_title: The task {task}").unwrap();
    }
    let folder = root.join(".ralph").join(area).join("journal").join(run);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{number:04}.md")), format!("{text}{more}---\n\n{body}")).unwrap();
}

fn ids(log: &Log) -> Vec<String> {
    log.attempts.iter().map(|attempt| attempt.id.as_str().trim_start_matches("journal/").to_owned()).collect()
}

fn month() -> Vec<File> {
    let cost = |file: File, more| File { more, ..file };
    let with = |file: File, feature, model| File { feature: Some(feature), model: Some(model), ..file };
    let day = |day: u32| format!("2026-05-{day:02}T10:00:00Z");
    vec![
        cost(with(file("run-a", 1, "t-1", "failed", &day(1)), "login", "sonnet"), "cost_usd: 0.5\ntokens_in: 100\n"),
        cost(with(file("run-a", 2, "t-1", "done", &day(1)), "login", "opus"), "cost_usd: 1.0\nduration_secs: 60\n"),
        with(file("run-a", 3, "t-2", "retried", &day(2)), "login", "sonnet"),
        with(file("run-b", 1, "t-2", "failed", &day(3)), "login", "Sonnet"),
        with(file("run-b", 2, "t-2", "blocked", &day(4)), "login", "opus"),
        cost(
            file("run-b", 3, "t-3", "interrupted", &day(5)),
            "context:\n  - knowledge/use-make\n  - knowledge/use-make\n",
        ),
    ]
}

#[test]
fn a_log_is_newest_first_and_follows_the_numbers_within_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path(), &month());
    let log = memory.log(&LogFilter::default());
    assert_eq!(ids(&log), ["run-b/0003", "run-b/0002", "run-b/0001", "run-a/0003", "run-a/0002", "run-a/0001"]);
    assert_eq!(log.in_all, 6);
    let first = &log.attempts[5];
    assert_eq!(
        (first.attempt.task_title.as_str(), first.attempt.head.outcome, first.attempt.head.cost_usd),
        ("The task t-1", Outcome::Failed, Some(0.5))
    );
    assert_eq!(
        (crate::entry::timestamp(first.attempt.started_at).as_str(), first.archived),
        ("2026-05-01T10:00:00Z", false)
    );
    assert_eq!(first.path, ".ralph/journal/run-a/0001.md");
}

#[test]
fn every_condition_of_a_log_must_be_true() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path(), &month());
    let name = |name: &str| Some(name.to_owned());
    let check = |filter: LogFilter, expected: &[&str]| {
        let log = memory.log(&filter);
        assert_eq!((ids(&log), log.in_all), (expected.iter().map(|id| (*id).to_owned()).collect(), expected.len()));
    };
    let all = LogFilter::default;
    check(LogFilter { task_id: name("t-1"), ..all() }, &["run-a/0002", "run-a/0001"]);
    check(LogFilter { run_id: name("run-b"), ..all() }, &["run-b/0003", "run-b/0002", "run-b/0001"]);
    check(LogFilter { task_id: name("t-2"), run_id: name("run-b"), ..all() }, &["run-b/0002", "run-b/0001"]);
    check(LogFilter { run_id: name("run-a"), feature: name("login"), task_id: name("t-2"), ..all() }, &["run-a/0003"]);
    check(LogFilter { feature: name("search"), ..all() }, &[]);
    check(
        LogFilter { outcomes: vec![Outcome::Failed, Outcome::Done], ..all() },
        &["run-b/0001", "run-a/0002", "run-a/0001"],
    );
    check(LogFilter { model: name("sonnet"), ..all() }, &["run-b/0001", "run-a/0003", "run-a/0001"]);
    let (since, until) = (parse_time("2026-05-02T10:00:00Z"), parse_time("2026-05-04T10:00:00Z"));
    check(LogFilter { since, until, ..all() }, &["run-b/0001", "run-a/0003"]);
    let fact = Id::parse("use-make");
    check(LogFilter { fact: fact.clone(), ..all() }, &["run-b/0003"]);
    check(LogFilter { fact: fact.clone(), run_id: name("run-a"), ..all() }, &[]);
    check(LogFilter { fact: Id::parse("make"), ..all() }, &[]);
}

#[test]
fn an_attempt_counts_once_and_a_broken_one_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path(), &month());
    let copy = file("run-a", 1, "t-1", "done", "2026-05-01T10:00:00Z");
    write(folder.path(), "archive", &copy);
    write(folder.path(), "archive", &file("run-old", 1, "t-9", "done", "2026-04-01T10:00:00Z"));
    write(folder.path(), "", &file("run-c", 1, "t-1", "perhaps", "2026-05-06T10:00:00Z"));
    fs::write(folder.path().join(".ralph/journal/run-a/0009.md"), "no frontmatter").unwrap();
    let log = memory.log(&LogFilter::default());
    assert_eq!(log.in_all, 7);
    assert_eq!(ids(&log)[4..], ["run-a/0002", "run-a/0001", "run-old/0001"]);
    assert_eq!((log.attempts[5].attempt.head.outcome, log.attempts[6].archived), (Outcome::Failed, true));
    assert_eq!(log.problems.len(), 3, "{:?}", log.problems);
    let page = memory.log(&LogFilter { limit: Some(0), ..LogFilter::default() });
    assert_eq!((page.attempts.len(), page.in_all), (0, 7));
}

#[test]
fn an_attempt_from_the_future_comes_last() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = month();
    files.push(file("run-z", 1, "t-1", "done", "2090-01-01T00:00:00Z"));
    let log = memory(folder.path(), &files).log(&LogFilter::default());
    assert_eq!((ids(&log)[6].as_str(), log.in_all), ("run-z/0001", 7));
}

#[test]
fn the_reason_is_that_of_the_agent_or_of_what_verified_it() {
    let folder = tempfile::tempdir().unwrap();
    let verified = "validation:\n  command: cargo test\n  exit_code: 101\n  duration_ms: 9\n";
    let why = "## Why it failed\n\nThe port is taken.\nSecond line.\n";
    let error = "## Error output\n\nwarning: unused\nerror[E0308]: mismatched types\n";
    let reasons = [
        ("failed", verified, why, "The port is taken."),
        ("retried", verified, why, "`cargo test` failed with exit code 101"),
        ("failed", "", error, "error[E0308]: mismatched types"),
        ("blocked", "", "", "the agent reported neither success nor failure"),
        ("done", "", why, ""),
    ];
    let mut files = Vec::new();
    for (at, (outcome, more, body, _)) in reasons.iter().enumerate() {
        let number = u32::try_from(at).unwrap() + 1;
        files.push(File { more, body, ..file("run-a", number, "t-1", outcome, "2026-05-01T10:00:00Z") });
    }
    let log = memory(folder.path(), &files).log(&LogFilter::default());
    let found: Vec<&str> = log.attempts.iter().rev().map(|attempt| attempt.reason.as_str()).collect();
    assert_eq!(found, reasons.map(|(.., reason)| reason));
}

#[test]
fn statistics_are_those_of_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path(), &month());
    let stats = memory.stats(&StatsFilter::default());
    let AttemptTotals { attempts, succeeded, counted, cost_usd, tokens_in, tokens_out, duration_secs, .. } =
        stats.total.totals;
    assert_eq!((attempts, succeeded, counted), (6, 1, 5));
    assert_eq!((stats.total.totals.success_rate, cost_usd), (Some(0.2), Some(1.5)));
    assert_eq!((tokens_in, tokens_out, duration_secs), (Some(100), None, Some(60.0)));
    assert_eq!(stats.total.tasks, TaskCounts { done: 1, open: 1, stuck: 1 });
    let features: Vec<(Option<&str>, usize, u32)> =
        stats.features.iter().map(|stats| (stats.feature.as_deref(), stats.totals.attempts, stats.streak)).collect();
    assert_eq!(features, [(None, 1, 0), (Some("login"), 5, 3)]);
    let login = &stats.features[1];
    let models: Vec<(&str, usize, usize)> = login
        .models
        .iter()
        .map(|stats| (stats.model.as_str(), stats.totals.attempts, stats.totals.succeeded))
        .collect();
    assert_eq!(models, [("sonnet", 3, 0), ("opus", 2, 1)]);
    assert_eq!(login.last_started_at.as_deref(), Some("2026-05-04T10:00:00Z"));
    let days: Vec<(String, usize)> =
        stats.days.iter().map(|(day, totals)| (day.to_string(), totals.attempts)).collect();
    let expected = [("01", 2), ("02", 1), ("03", 1), ("04", 1), ("05", 1)];
    assert_eq!(days, expected.map(|(day, count)| (format!("2026-05-{day}"), count)));
}

#[test]
fn a_period_limits_the_sums_but_not_the_states_of_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path(), &month());
    let since = parse_time("2026-05-04");
    let stats = memory.stats(&StatsFilter { since, ..StatsFilter::default() });
    assert_eq!((stats.total.totals.attempts, stats.days.len()), (2, 2));
    // Only one of the failures is in the period, but the task is stuck all the same.
    assert_eq!((stats.total.tasks, stats.total.streak), (TaskCounts { done: 0, open: 1, stuck: 1 }, 3));
    let feature = Some("login".to_owned());
    let stats = memory.stats(&StatsFilter { feature, since });
    assert_eq!((stats.total.totals.attempts, stats.features.len()), (1, 1));
}

#[test]
fn an_attempt_without_a_word_does_not_hide_why_its_task_is_stuck() {
    let folder = tempfile::tempdir().unwrap();
    let why = "## Why it failed\n\nThe port is taken.\n";
    let failed = |number, body| File { body, ..file("run-a", number, "t-1", "failed", "2026-05-01T10:00:00Z") };
    let blocked = |number| file("run-a", number, "t-1", "blocked", "2026-05-02T10:00:00Z");
    let done = file("run-b", 1, "t-2", "done", "2026-05-03T10:00:00Z");
    let silent = [1, 2, 3].map(|number| file("run-c", number, "t-2", "blocked", "2026-05-04T10:00:00Z"));
    let before = File { body: why, ..file("run-b", 0, "t-2", "failed", "2026-05-02T10:00:00Z") };
    let files = [vec![failed(1, ""), failed(2, why), blocked(3), blocked(4), before, done], silent.into()].concat();
    let stuck = memory(folder.path(), &files).overview(0).stuck;
    let reasons: Vec<(&str, &str)> = stuck.iter().map(|task| (task.id.as_str(), task.reason.as_str())).collect();
    let untold = "the agent reported neither success nor failure";
    assert_eq!(reasons, [("t-2", untold), ("t-1", "The port is taken.")], "what was before a success is over");
}

#[test]
fn what_the_memory_was_good_for_also_depends_on_what_came_before() {
    let folder = tempfile::tempdir().unwrap();
    let (error, other) = ("## Error output\n\nerror: the port 80 is taken\n", "## Error output\n\nerror: no space\n");
    let knows = "context: [knowledge/ports, knowledge/ports, knowledge/hosts, journal/run-a/0001]\n";
    let at = |number, task, outcome, day: &'static str| file("run-a", number, task, outcome, day);
    let memory = memory(
        folder.path(),
        &[
            File { body: error, more: knows, ..at(1, "t-1", "failed", "2026-05-01T10:00:00Z") },
            File { more: knows, ..at(2, "t-1", "done", "2026-05-02T10:00:00Z") },
            File { body: error, ..at(3, "t-2", "retried", "2026-05-08T10:00:00Z") },
            File { body: other, ..at(4, "t-3", "failed", "2026-05-08T11:00:00Z") },
            File { more: "context: [knowledge/hosts]\n", ..at(5, "t-2", "done", "2026-05-09T10:00:00Z") },
            at(6, "t-4", "done", "2026-05-09T11:00:00Z"),
        ],
    );
    let reuse = |since: &str| {
        let since = parse_time(since);
        let reuse = memory.stats(&StatsFilter { since, ..StatsFilter::default() }).reuse;
        let ReuseStats { facts, attempts, recovered, errors_again } = &reuse;
        let ends = |id: &Id| id.as_str().rsplit('/').next().unwrap().trim_start_matches('0').to_owned();
        [facts, attempts, recovered, errors_again].map(|ids| ids.iter().map(ends).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(reuse("2026-05-01"), ["hosts ports", "5 2", "5 2", "3"]);
    assert_eq!(reuse("2026-05-05"), ["hosts", "5", "5", "3"], "the first failure with the error was before");
    assert_eq!(reuse("2026-05-09"), ["hosts", "5", "5", ""], "the failure of the task was before");
}

#[test]
fn a_task_shows_its_attempts_oldest_first_and_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path(), &month());
    let check = |id: &str, state: TaskState, streak, numbers: &[&str]| {
        let task = memory.task(id).unwrap();
        let ids: Vec<&str> = task.attempts.iter().map(|attempt| attempt.id.as_str()).collect();
        let expected: Vec<String> = numbers.iter().map(|number| format!("journal/{number}")).collect();
        assert_eq!((task.state, task.streak, ids), (state, streak, expected.iter().map(String::as_str).collect()));
        assert_eq!(task.next_model.is_none(), state == TaskState::Done);
    };
    check("t-1", TaskState::Done, 0, &["run-a/0001", "run-a/0002"]);
    check("t-2", TaskState::Stuck, 3, &["run-a/0003", "run-b/0001", "run-b/0002"]);
    check("t-3", TaskState::Open, 0, &["run-b/0003"]);
    let next = memory.task("t-2").unwrap().next_model.unwrap();
    assert_eq!((next.model.as_str(), next.rationale.as_str()), ("opus", "escalated after 3 attempts without success"));
    assert!(memory.task("t-9").is_none() && memory.task("../../x").is_none());
}

#[test]
fn a_run_shows_its_tasks_and_what_was_learned_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path(), &month());
    let knowledge = "---\ntitle: Ports\ntags: [net]\nrun_id: run-a\ntask_id: t-2\n---\n\nUse 5433.\n";
    fs::write(folder.path().join(".ralph/knowledge/ports.md"), knowledge).unwrap();
    let run = memory.run("run-a").unwrap();
    let tasks: Vec<(&str, usize, Outcome)> =
        run.tasks.iter().map(|task| (task.title.as_str(), task.attempts, task.outcome)).collect();
    assert_eq!(tasks, [("The task t-1", 2, Outcome::Done), ("The task t-2", 1, Outcome::Retried)]);
    assert_eq!((run.totals.attempts, run.attempts.len(), run.live.len(), run.is_session), (3, 3, 0, false));
    assert_eq!(run.started_at.as_deref(), Some("2026-05-01T10:00:00Z"));
    assert_eq!(run.ended_at.as_deref(), Some("2026-05-02T10:00:00Z"));
    assert_eq!(run.knowledge[0].id.as_str(), "knowledge/ports");
    assert_eq!(memory.task("t-2").unwrap().knowledge.len(), 1);
    assert_eq!(memory.run("run-b").unwrap().knowledge.len(), 0);
    assert!(memory.run("run-9").is_none() && memory.run("../run-a").is_none());
}

/// Run, second, task, and whether it is done.
type Colliding = (u32, u32, usize, bool);

fn attempts() -> impl Strategy<Value = Vec<Colliding>> {
    prop::collection::vec((0..3_u32, 0..5_u32, 0..3_usize, any::<bool>()), 0..24)
}

fn colliding(attempts: &[Colliding]) -> Vec<File> {
    let file = |(at, &(run, second, task, is_done)): (usize, &Colliding)| {
        let outcome = if is_done { "done" } else { "failed" };
        let number = u32::try_from(at).unwrap() + 1;
        let time = format!("2026-05-01T10:00:0{second}Z");
        file(&format!("run-{run}"), number, ["t-0", "t-1", "t-2"][task], outcome, &time)
    };
    attempts.iter().enumerate().map(file).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn an_overview_is_what_log_and_task_say(attempts in attempts(), limit in 0..30_usize) {
        let folder = tempfile::tempdir().unwrap();
        let memory = memory(folder.path(), &colliding(&attempts));
        let overview = memory.overview(limit);
        let log = memory.log(&LogFilter::default());
        let mut tasks: Vec<String> = Vec::new();
        for task in log.attempts.iter().filter_map(|attempt| attempt.attempt.task_id.clone()) {
            if !tasks.contains(&task) {
                tasks.push(task);
            }
        }
        let stuck = tasks.iter().filter_map(|task| memory.task(task)).filter(|task| task.state == TaskState::Stuck);
        let expected: Vec<_> = stuck.map(|task| (task.id, task.streak, task.next_model)).collect();
        let stuck = overview.stuck.into_iter();
        prop_assert_eq!(stuck.map(|task| (task.id, task.streak, task.next_model)).collect::<Vec<_>>(), expected);
        prop_assert_eq!(overview.log, memory.log(&LogFilter { limit: Some(limit), ..LogFilter::default() }));
    }

    /// Few seconds, tasks and runs, so that attempts collide.
    #[test]
    fn paging_through_a_log_gives_every_attempt_once(
        attempts in attempts(),
        size in 1..7_usize,
        filter in 0..5_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let files = colliding(&attempts);
        let memory = memory(folder.path(), &files);
        let all = [
            LogFilter::default(),
            LogFilter { task_id: Some("t-1".into()), ..LogFilter::default() },
            LogFilter { run_id: Some("run-2".into()), ..LogFilter::default() },
            LogFilter { outcomes: vec![Outcome::Done], ..LogFilter::default() },
            LogFilter { since: parse_time("2026-05-01T10:00:02Z"), ..LogFilter::default() },
        ].into_iter().nth(filter).unwrap();
        let whole = memory.log(&all);
        let mut paged = Vec::new();
        for page in 0.. {
            let log = memory.log(&LogFilter { offset: page * size, limit: Some(size), ..all.clone() });
            prop_assert_eq!(log.in_all, whole.in_all);
            if log.attempts.is_empty() {
                break;
            }
            paged.extend(log.attempts);
        }
        prop_assert_eq!(paged.len(), whole.in_all);
        prop_assert_eq!(&paged, &whole.attempts);
        let expected = files.iter().filter(|file| match filter {
            0 => true,
            1 => file.task == Some("t-1"),
            2 => file.run == "run-2",
            3 => file.outcome == "done",
            _ => file.at.as_str() >= "2026-05-01T10:00:02Z",
        });
        prop_assert_eq!(whole.in_all, expected.count());
    }
}
