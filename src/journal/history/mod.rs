//! The state of tasks and runs according to the journal: folds over attempts, and the rules for writing an attempt.
//!
//! Pure: heads in, figures out. The journal is the only source of these figures, so they travel with it, and an
//! archived attempt counts like any other. `recurrence` finds recurring files and errors. `report` is the caller's
//! report of an attempt, `agent_output` adds the agent's output to it, and `outcome` makes the attempt from both.

mod agent_output;
mod outcome;
mod recurrence;
mod report;

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::entry::{AttemptHead, Difficulty, Head, Id, Outcome, is_ahead};

#[cfg(feature = "runner")]
pub(crate) use agent_output::killed_by;
pub(crate) use agent_output::{completed_report, is_named, transcript_problems};
pub(crate) use outcome::{UNKNOWN, error_category, outcome, sections};
pub use recurrence::TouchedFile;
pub(crate) use recurrence::{Recurrence, pressing_errors, recurring_errors, touched_files};
pub(crate) use report::RedactedReport;
pub use report::Report;

/// How much later than the end of an attempt its agent's last hook may run.
const HOOK_DELAY: TimeDelta = TimeDelta::minutes(2);

/// One attempt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AttemptSummary {
    /// The journal entry.
    pub id: Id,
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: Option<String>,
    /// The title of the task; empty if it has none.
    pub task_title: String,
    /// The feature that its task belongs to.
    pub feature: Option<String>,
    /// When it began, for sorting: see [`sort`].
    pub started_at: DateTime<Utc>,
    /// When it began, according to its file. The clock that wrote it may have been ahead.
    pub began_at: DateTime<Utc>,
    /// Its frontmatter.
    pub head: Box<AttemptHead>,
}

impl AttemptSummary {
    /// Returns the attempt of a journal entry's head; `None` if it is invalid.
    pub(crate) fn new(id: Id, head: Head) -> Option<AttemptSummary> {
        let Head { run_id, task_id, title, feature, created_at, attempt, valid: true, .. } = head else { return None };
        let (run_id, started_at, head) = (run_id?, created_at?, attempt?);
        let (task_title, began_at) = (title, started_at);
        Some(AttemptSummary { id, run_id, task_id, task_title, feature, started_at, began_at, head })
    }

    /// Returns whether something that its agent's last hook did at this time was about this attempt. An attempt of
    /// unknown duration has no such time.
    pub(crate) fn covers(&self, at: DateTime<Utc>) -> bool {
        let ended = self.ended_at().checked_add_signed(HOOK_DELAY).unwrap_or(at);
        self.head.duration_secs.is_some() && (self.began_at..=ended).contains(&at)
    }

    /// Returns when it ended, or when it began if its duration is unknown.
    pub(crate) fn ended_at(&self) -> DateTime<Utc> {
        let duration = self.head.duration_secs.filter(|seconds| (0.0..1e9).contains(seconds)).unwrap_or(0.0);
        #[expect(clippy::cast_possible_truncation, reason = "checked to be below a billion")]
        self.began_at.checked_add_signed(TimeDelta::seconds(duration as i64)).unwrap_or(self.began_at)
    }
}

/// Sorts attempts by the time at which they began. Attempts of a run that began at the same time stay in order.
///
/// An attempt that begins after `now` comes before all others: the last attempt decides the state of a task or a run,
/// and one from the future would be the last one for years. Its `started_at` becomes `now`.
pub(crate) fn sort(attempts: &mut [AttemptSummary], now: DateTime<Utc>) {
    attempts.sort_by(|one, other| {
        let key =
            |attempt: &AttemptSummary| (!is_ahead(attempt.started_at, now), attempt.started_at, attempt.head.iteration);
        key(one).cmp(&key(other)).then_with(|| one.id.cmp(&other.id))
    });
    for attempt in attempts.iter_mut().take_while(|attempt| is_ahead(attempt.started_at, now)) {
        attempt.started_at = now;
    }
}

/// The state of a task according to its attempts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TaskRecord {
    /// How many there were.
    pub attempts: usize,
    /// How often it failed since it was last done; outcomes that do not concern the task do not count.
    pub streak: u32,
    /// Whether the last two failures of the streak had the same error.
    pub same_error: bool,
    /// Whether the last failure left the work tree as an earlier attempt had left it.
    pub tree_seen: bool,
    /// The level of escalation: see [`rung`].
    pub rung: u32,
    /// The number of the last successful attempt, from 1; 0 if there is none.
    pub done_at: usize,
    /// The last estimate of its difficulty.
    pub difficulty: Option<Difficulty>,
    /// The model of the last successful attempt.
    pub model_that_worked: Option<String>,
    /// The category of the last failure's error.
    pub error_category: Option<String>,
    /// How often each category of error occurred in the streak, the most frequent first.
    pub failed_with: Vec<(String, usize)>,
    /// The paths of the newest attempt that touched any.
    pub files: Vec<String>,
    /// The refused sigils of the last one.
    pub refused: Vec<String>,
}

impl TaskRecord {
    /// Computes the state from the attempts at one task, oldest first.
    pub(crate) fn of<A: Borrow<AttemptSummary>>(attempts: &[A]) -> TaskRecord {
        let attempts: Vec<&AttemptSummary> = attempts.iter().map(Borrow::borrow).collect();
        let done_at = after_done(&attempts);
        let failures: Vec<(usize, &AttemptHead)> =
            failures_since(&attempts, done_at).map(|(at, attempt)| (at, &*attempt.head)).collect();
        let mut record = TaskRecord {
            attempts: attempts.len(),
            done_at,
            streak: u32::try_from(failures.len()).unwrap_or(u32::MAX),
            difficulty: last(&attempts, |head| head.difficulty),
            model_that_worked: last(&attempts, |head| head.model.clone().filter(|_| head.outcome == Outcome::Done)),
            error_category: last(&attempts, |head| {
                head.error_category.clone().filter(|_| head.outcome.is_success() == Some(false))
            }),
            files: last(&attempts, touched).unwrap_or_default(),
            refused: attempts.last().map(|newest| newest.head.refused.clone()).unwrap_or_default(),
            ..TaskRecord::default()
        };
        // An attempt that could not run leaves everything unchanged, so it is not a recurrence.
        let worked = |outcome: Outcome| outcome.is_failure_of_task() || outcome == Outcome::Done;
        let of_work: Vec<_> = failures.iter().filter(|(_, head)| worked(head.outcome)).collect();
        if let [.., (_, before), (_, newest)] = of_work[..] {
            record.same_error =
                newest.error_fingerprint.is_some() && newest.error_fingerprint == before.error_fingerprint;
        }
        if let Some((at, newest)) = of_work.last() {
            let mut before = attempts[..*at].iter().filter(|attempt| worked(attempt.head.outcome));
            record.tree_seen = newest.tree.is_some() && before.any(|attempt| attempt.head.tree == newest.tree);
        }
        record.rung = rung(record.streak, record.same_error || record.tree_seen);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for (_, head) in &failures {
            *counts.entry(head.error_category.as_deref().unwrap_or(UNKNOWN)).or_default() += 1;
        }
        record.failed_with = counts.into_iter().map(|(category, n)| (category.to_owned(), n)).collect();
        record.failed_with.sort_by(|one, other| (Reverse(one.1), &one.0).cmp(&(Reverse(other.1), &other.0)));
        record
    }
}

/// Returns the position after the last success in the attempts at one task, oldest first.
fn after_done(attempts: &[&AttemptSummary]) -> usize {
    attempts.iter().rposition(|attempt| attempt.head.outcome == Outcome::Done).map_or(0, |done| done + 1)
}

/// Returns the failures in a row with which the attempts at one task end, with their positions. The attempts are given oldest
/// first.
pub(crate) fn streak<'a>(attempts: &[&'a AttemptSummary]) -> Vec<(usize, &'a AttemptSummary)> {
    failures_since(attempts, after_done(attempts)).collect()
}

/// Returns when the last success among the attempts at one task began, oldest first, if there was a failure before it. If nobody
/// measured how long it took, it began when that failure ended.
pub(crate) fn success_after_failure(attempts: &[AttemptSummary]) -> Option<DateTime<Utc>> {
    let done = attempts.iter().rposition(|attempt| attempt.head.outcome == Outcome::Done)?;
    let failed = attempts[..done].iter().rfind(|attempt| attempt.head.outcome.is_failure_of_task())?;
    let took = Duration::try_from_secs_f64(failed.head.duration_secs.unwrap_or_default()).ok()?;
    let took = TimeDelta::from_std(took).ok()?;
    let measured = attempts[done].head.duration_secs.map(|_| attempts[done].started_at);
    measured.or_else(|| failed.started_at.checked_add_signed(took + TimeDelta::seconds(1)))
}

fn failures_since<'a>(
    attempts: &[&'a AttemptSummary],
    from: usize,
) -> impl Iterator<Item = (usize, &'a AttemptSummary)> {
    let is_failure = |(_, attempt): &(usize, &AttemptSummary)| attempt.head.extends_streak();
    attempts.iter().copied().enumerate().skip(from).filter(is_failure)
}

/// Returns the level of escalation of a task: one for each failure in a row, plus one if an error or a state recurs.
/// From level 2, the strongest model works; from level 3 (a setting), the agent is warned; one level further, the
/// warning asks for a person.
pub(crate) fn rung(streak: u32, goes_in_circles: bool) -> u32 {
    // Without a failure, the level is 0.
    if streak == 0 { 0 } else { streak + u32::from(goes_in_circles) }
}

/// The state of a run according to its attempts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RunRecord {
    /// How many there were.
    pub attempts: usize,
    /// The highest of their numbers.
    pub last_iteration: u32,
    /// How many of the attempts that count succeeded.
    pub succeeded: usize,
    /// How many attempts count: all except those that were interrupted or are partial.
    pub counted: usize,
    /// The model that the last attempt asked for.
    pub hint: Option<String>,
    /// The refused sigils of the last one.
    pub refused: Vec<String>,
    /// The paths of the newest attempt that touched any.
    pub files: Vec<String>,
}

impl RunRecord {
    /// Computes the state from the attempts of one run, oldest first.
    pub(crate) fn of(attempts: &[AttemptSummary]) -> RunRecord {
        let counts = |success: bool| {
            attempts.iter().filter(|attempt| attempt.head.outcome.is_success() == Some(success)).count()
        };
        let newest = attempts.last().map(|attempt| &attempt.head);
        RunRecord {
            attempts: attempts.len(),
            last_iteration: attempts.iter().map(|attempt| attempt.head.iteration).max().unwrap_or(0),
            succeeded: counts(true),
            counted: counts(true) + counts(false),
            hint: newest.and_then(|head| head.next_model.clone()),
            refused: newest.map(|head| head.refused.clone()).unwrap_or_default(),
            files: last(attempts, touched).unwrap_or_default(),
        }
    }
}

fn last<A: Borrow<AttemptSummary>, T>(attempts: &[A], what: impl Fn(&AttemptHead) -> Option<T>) -> Option<T> {
    attempts.iter().rev().find_map(|attempt| what(&attempt.borrow().head))
}

fn touched(head: &AttemptHead) -> Option<Vec<String>> {
    let touched: Vec<String> = head.files.touched().into_iter().map(str::to_owned).collect();
    Some(touched).filter(|touched| !touched.is_empty())
}

/// The outcomes of the attempts whose contexts included an entry.
///
/// ```
/// use ralph_memory::entry::Outcome;
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Knowledge, Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let added = memory.add(&Knowledge::new("Decimal money", ["invoice", "money"], "Never a float."))?;
/// let attempt = memory.begin(&Task::new("Sum up the money of an invoice"), &memory.new_run())?;
/// memory.finish(&attempt, &Report { outcome: Some(Outcome::Done), ..Report::default() })?;
/// let usage = &memory.usage()[&added.id];
/// assert_eq!((usage.recalls, usage.succeeded, usage.failed, usage.never_helped), (1, 1, 0, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// How many contexts included it.
    pub recalls: usize,
    /// When a context last included it.
    pub last_used: Option<DateTime<Utc>>,
    /// How many of those attempts succeeded.
    pub succeeded: usize,
    /// How many of those attempts failed.
    pub failed: usize,
    /// Whether it seems to be of no help: attempts at three or more tasks had it in their contexts and failed, none
    /// succeeded, and some attempts at other tasks with a context did. All failures of a stuck task count as one.
    pub never_helped: bool,
}

impl Usage {
    /// Adds an attempt whose context included the entry.
    fn add(&mut self, attempt: &AttemptSummary) {
        self.recalls += 1;
        self.last_used = self.last_used.max(Some(attempt.started_at));
        match attempt.head.outcome.is_success() {
            Some(true) => self.succeeded += 1,
            Some(false) => self.failed += 1,
            None => {}
        }
    }
}

/// How many different tasks must have failed with an entry before it is blamed.
const BLAMED_FROM: usize = 3;

/// Returns the usage of each entry that was ever included in a context. `attempts` must be all recorded attempts,
/// because an entry is compared with the others.
pub(crate) fn usage<'a>(attempts: impl Iterator<Item = &'a AttemptSummary>) -> HashMap<Id, Usage> {
    let mut usage: HashMap<Id, (Usage, HashSet<Option<&str>>)> = HashMap::new();
    let mut has_success = false;
    for attempt in attempts {
        for (at, id) in attempt.head.context.iter().enumerate() {
            // An entry that a list names twice counts once.
            if !attempt.head.context[..at].contains(id) {
                let (usage, failed_tasks) = usage.entry(id.clone()).or_default();
                usage.add(attempt);
                if attempt.head.outcome.is_success() == Some(false) {
                    failed_tasks.insert(attempt.task_id.as_deref());
                }
                has_success |= attempt.head.outcome == Outcome::Done;
            }
        }
    }
    let judged = usage.into_iter().map(|(id, (usage, failed_tasks))| {
        // No rate is below zero.
        let never_helped = has_success && usage.succeeded == 0 && failed_tasks.len() >= BLAMED_FROM;
        (id, Usage { never_helped, ..usage })
    });
    judged.collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::entry::{Files, parse_time};

    /// Returns one attempt for each letter, the first letter of its outcome, a minute apart.
    pub(crate) fn attempts(outcomes: &str) -> Vec<AttemptSummary> {
        let start = parse_time("2026-02-17T12:00:00Z").unwrap();
        let outcome = |letter| match letter {
            'd' => Outcome::Done,
            'f' => Outcome::Failed,
            'b' => Outcome::Blocked,
            'r' => Outcome::Retried,
            'e' => Outcome::Error,
            'p' => Outcome::Partial,
            'i' => Outcome::Interrupted,
            other => panic!("{other}"),
        };
        let past = |(number, letter): (u32, char)| {
            past(number, start + TimeDelta::minutes(number.into()), AttemptHead::new(number, outcome(letter)))
        };
        (1..).zip(outcomes.chars()).map(past).collect()
    }

    /// Returns an attempt of `run-1` at no task.
    pub(crate) fn past(number: u32, started_at: DateTime<Utc>, head: AttemptHead) -> AttemptSummary {
        AttemptSummary {
            id: Id::parse(&format!("journal/run-1/{number:04}")).unwrap(),
            run_id: "run-1".to_owned(),
            task_id: None,
            task_title: String::new(),
            feature: None,
            started_at,
            began_at: started_at,
            head: Box::new(head),
        }
    }

    #[test]
    fn a_streak_counts_failures_since_the_last_success() {
        let check = |outcomes: &str, streak| {
            let record = TaskRecord::of(&attempts(outcomes));
            assert_eq!((record.streak, record.rung, record.attempts), (streak, streak, outcomes.len()), "{outcomes}");
        };
        check("", 0);
        check("d", 0);
        check("f", 1);
        check("fbr", 3);
        check("fdf", 1);
        check("ffd", 0);
        // Outcomes that do not concern the task neither lengthen nor end it.
        check("feipf", 3);
        check("eip", 1);
        check("dei", 1);
        check("dip", 0);
        let mut of_account = attempts("fe");
        of_account[1].head.error_category = Some(crate::entry::attempt::ACCOUNT.to_owned());
        assert_eq!(TaskRecord::of(&of_account).streak, 1);
    }

    #[test]
    fn a_recurring_error_or_tree_raises_the_rung() {
        // A letter for the error or the tree of each attempt, `-` for none.
        let check = |outcomes: &str, letters: &str, is_error: bool, expected: (bool, u32)| {
            let mut attempts = attempts(outcomes);
            for (past, letter) in attempts.iter_mut().zip(letters.chars()).filter(|(_, letter)| *letter != '-') {
                if is_error {
                    past.head.error_fingerprint = Some(u64::from(letter));
                } else {
                    past.head.tree = Some(letter.to_string());
                }
            }
            let record = TaskRecord::of(&attempts);
            let recurs = if is_error { record.same_error } else { record.tree_seen };
            assert_eq!((recurs, record.rung), expected, "{outcomes} {letters}");
        };
        check("ff", "aa", true, (true, 3));
        check("ff", "ab", true, (false, 2));
        check("ff", "--", true, (false, 2));
        check("fef", "axa", true, (true, 4));
        check("fdf", "a-a", true, (false, 1));
        check("fff", "aab", true, (false, 3));
        check("ff", "ab", false, (false, 2));
        check("ff", "aa", false, (true, 3));
        check("fff", "aba", false, (true, 4));
        check("df", "aa", false, (true, 2));
        check("ff", "--", false, (false, 2));
        // An attempt that could not run, or was stopped, leaves the state unchanged.
        check("fe", "aa", false, (false, 2));
        check("if", "aa", false, (false, 1));
    }

    #[test]
    fn the_newest_value_counts() {
        let mut attempts = attempts("dfdfe");
        for (past, model) in attempts.iter_mut().zip(["haiku", "sonnet", "opus", "haiku", "haiku"]) {
            past.head.model = Some(model.to_owned());
        }
        attempts[1].head.difficulty = Some(Difficulty::Easy);
        attempts[3].head.difficulty = Some(Difficulty::Hard);
        attempts[1].head.error_category = Some("timeout".to_owned());
        attempts[3].head.error_category = Some("build_error".to_owned());
        attempts[2].head.files = Files { modified: vec!["src/a.rs".into()], ..Files::default() };
        let record = TaskRecord::of(&attempts);
        assert_eq!(record.model_that_worked.as_deref(), Some("opus"));
        assert_eq!(record.difficulty, Some(Difficulty::Hard));
        assert_eq!(record.error_category.as_deref(), Some("build_error"));
        assert_eq!(record.files, ["src/a.rs"]);
        assert_eq!(record.failed_with, [("build_error".to_owned(), 1), ("unknown".to_owned(), 1)]);
    }

    #[test]
    fn kinds_of_errors_are_counted_within_the_streak() {
        let mut attempts = attempts("fdffff");
        for (past, category) in attempts.iter_mut().zip(["x", "", "b", "a", "b", ""]) {
            past.head.error_category = Some(category.to_owned()).filter(|category| !category.is_empty());
        }
        let counts: Vec<_> = TaskRecord::of(&attempts).failed_with;
        assert_eq!(counts, [("b".to_owned(), 2), ("a".to_owned(), 1), ("unknown".to_owned(), 1)]);
    }

    #[test]
    fn a_run_counts_only_relevant_outcomes() {
        let check = |outcomes: &str, succeeded, counted| {
            let record = RunRecord::of(&attempts(outcomes));
            assert_eq!((record.succeeded, record.counted, record.attempts), (succeeded, counted, outcomes.len()));
            assert_eq!(record.last_iteration as usize, outcomes.len());
        };
        check("", 0, 0);
        check("dfbre", 1, 5);
        check("dpid", 2, 2);
    }

    #[test]
    fn a_hint_holds_for_one_iteration() {
        let mut attempts = attempts("fff");
        attempts[1].head.next_model = Some("opus".to_owned());
        attempts[1].head.refused = vec!["line 1: <learning> without tags".to_owned()];
        assert_eq!(RunRecord::of(&attempts).hint, None);
        let record = RunRecord::of(&attempts[..2]);
        assert_eq!((record.hint.as_deref(), record.refused.len()), (Some("opus"), 1));
    }

    #[test]
    fn usage_counts_outcomes_of_contexts() {
        let id = |stem: &str| Id::parse(stem).unwrap();
        let mut attempts = attempts("dfib");
        for past in &mut attempts {
            past.head.context = vec![id("a"), id("a")];
        }
        attempts[1].head.context.push(id("b"));
        let usage = usage(attempts.iter());
        let last_used = Some(attempts[3].started_at);
        assert_eq!(usage[&id("a")], Usage { recalls: 4, last_used, succeeded: 1, failed: 2, never_helped: false });
        let last_used = Some(attempts[1].started_at);
        assert_eq!(usage[&id("b")], Usage { recalls: 1, last_used, succeeded: 0, failed: 1, never_helped: false });
        assert!(!usage.contains_key(&id("c")));
    }

    #[test]
    fn an_entry_is_blamed_by_three_tasks_where_others_succeed() {
        // A digit for the task of each attempt, and the entry that its context had.
        let check = |outcomes: &str, tasks: &str, entries: &str, expected: bool| {
            let mut attempts = attempts(outcomes);
            for ((past, task), entry) in attempts.iter_mut().zip(tasks.chars()).zip(entries.chars()) {
                past.task_id = Some(task.to_string()).filter(|task| task != "-");
                past.head.context = vec![Id::parse(&entry.to_string()).unwrap()];
            }
            let usage = usage(attempts.iter());
            assert_eq!(usage[&Id::parse("a").unwrap()].never_helped, expected, "{outcomes} {tasks} {entries}");
        };
        check("frbd", "1234", "aaab", true);
        check("frbf", "1234", "aaab", false);
        check("frd", "123", "aab", false);
        check("ffffd", "11112", "aaaab", false);
        check("frbdd", "12341", "aaaba", false);
        check("freid", "12345", "aaaab", true);
        check("fripd", "12345", "aaaab", false);
        // Attempts without a task count as one task.
        check("fffd", "---1", "aaab", false);
    }

    #[test]
    fn attempts_are_ordered_by_their_beginning() {
        let mut shuffled = attempts("dfi");
        shuffled.swap(0, 2);
        sort(&mut shuffled, DateTime::<Utc>::MAX_UTC);
        assert_eq!(shuffled, attempts("dfi"));
        let mut same_second = attempts("dfi");
        let at = same_second[0].started_at;
        for past in &mut same_second {
            past.started_at = at;
        }
        same_second.reverse();
        sort(&mut same_second, DateTime::<Utc>::MAX_UTC);
        assert_eq!(same_second.iter().map(|past| past.head.iteration).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn an_attempt_from_the_future_is_never_the_last() {
        let now = parse_time("2026-02-17T12:02:00Z").unwrap();
        let numbers = |attempts: &[AttemptSummary]| attempts.iter().map(|past| past.head.iteration).collect::<Vec<_>>();
        let mut past = attempts("ffd");
        past[2].started_at = parse_time("2099-01-01").unwrap();
        assert_eq!(TaskRecord::of(&past).streak, 0);
        sort(&mut past, now);
        assert_eq!((numbers(&past), TaskRecord::of(&past).streak), (vec![3, 1, 2], 2));
        assert_eq!(past[0].started_at, now);
        assert_eq!(usage(past.iter()).len(), 0);
        // A clock that is slightly ahead does not count as the future.
        let mut past = attempts("ffd");
        past[2].started_at = now + TimeDelta::minutes(9);
        sort(&mut past, now);
        assert_eq!((numbers(&past), TaskRecord::of(&past).streak), (vec![1, 2, 3], 0));
    }

    #[test]
    fn an_attempt_ends_after_its_duration() {
        let mut past = attempts("d").remove(0);
        assert_eq!(past.ended_at(), past.started_at);
        past.head.duration_secs = Some(90.5);
        assert_eq!(past.ended_at() - past.started_at, TimeDelta::seconds(90));
        past.head.duration_secs = Some(f64::INFINITY);
        assert_eq!(past.ended_at(), past.started_at);
    }
}
