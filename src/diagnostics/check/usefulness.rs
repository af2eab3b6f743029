//! Whether entries help, according to the journal. Pure: attempts in, notices out.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate, Utc};

use crate::entry::Kind;
use crate::error::{Problem, Severity};
use crate::journal::history::{AttemptSummary, usage};
use crate::knowledge::tidy::plan::LiveEntry;

/// An entry is unused when it was included in no context on this many days on which contexts were recorded.
const UNUSED_DAYS: usize = 90;
/// An entry without questions that was in none on this many such days is named earlier: questions are what finds it.
const UNFOUND_DAYS: usize = 30;

/// Returns a notice for each live knowledge entry that never helped or was not used. `attempts` are all that are
/// recorded.
pub(crate) fn usefulness(live: &[LiveEntry], attempts: &[AttemptSummary]) -> Vec<Problem> {
    let usage = usage(attempts.iter());
    // Days without attempts prove nothing, and neither do attempts without a recorded context.
    let days: BTreeSet<NaiveDate> =
        attempts.iter().filter(|past| !past.head.context.is_empty()).map(|past| past.started_at.date_naive()).collect();
    let mut problems = Vec::new();
    for item in live.iter().filter(|item| item.counts && item.head.valid && item.head.kind == Kind::Knowledge) {
        let used = usage.get(&item.id);
        if let Some(used) = used.filter(|used| used.never_helped) {
            let message = format!(
                "it was included in the contexts of {} attempts at several tasks that failed, and of none that succeeded",
                used.failed
            );
            let hint = "check whether it misleads; replace it or edit it";
            problems.push(item.problem(Severity::Notice, "suspect", message, hint));
        }
        let since: Option<DateTime<Utc>> = item.head.recency().max(used.and_then(|used| used.last_used));
        let n_days = since
            .map_or(0, |since| days.range(since.date_naive()..).skip_while(|day| **day == since.date_naive()).count());
        if n_days >= UNUSED_DAYS {
            let message =
                format!("it was included in no context on the last {n_days} days on which contexts were recorded");
            let hint = "`ralph-memory tidy` moves it to the archive; `questions` that it answers may help it be found";
            problems.push(item.problem(Severity::Notice, "unused", message, hint));
        } else if n_days >= UNFOUND_DAYS && used.is_none() && item.head.questions.is_empty() {
            let message = format!(
                "it was included in no context on the {n_days} days on which contexts were recorded, and has no questions"
            );
            let hint = "add `questions` that it answers, in the words of someone who has the problem";
            problems.push(item.problem(Severity::Notice, "unfound", message, hint));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{AttemptHead, Head, Id, Outcome, parse_time};
    use crate::journal::history;

    fn item(name: &str) -> LiveEntry {
        let head = Head { valid: true, created_at: parse_time("2026-01-01"), ..Head::empty(Kind::Knowledge) };
        LiveEntry { path: format!("knowledge/{name}.md"), id: Id::parse(name).unwrap(), head, counts: true }
    }

    fn past(day: u32, outcome: Outcome, context: &[&str]) -> AttemptSummary {
        let context = context.iter().map(|id| Id::parse(id).unwrap()).collect();
        let started_at = parse_time("2026-01-01T12:00:00Z").unwrap() + chrono::Duration::days(day.into());
        let head = AttemptHead { context, ..AttemptHead::new(1, outcome) };
        AttemptSummary { task_id: Some(format!("t-{day}")), ..history::tests::past(day, started_at, head) }
    }

    fn found(attempts: &[AttemptSummary]) -> Vec<(String, String)> {
        let problems = usefulness(&[item("a"), item("b")], attempts);
        problems.into_iter().map(|problem| (problem.path, problem.code)).collect()
    }

    #[test]
    fn entries_that_never_helped_are_suspect() {
        use Outcome::{Blocked, Done, Failed, Interrupted, Retried};
        let mut attempts =
            vec![past(1, Failed, &["a", "b"]), past(2, Retried, &["a", "b"]), past(3, Interrupted, &["a"])];
        attempts.push(past(4, Done, &["c"]));
        assert_eq!(found(&attempts), []);
        attempts.push(past(5, Blocked, &["a", "b"]));
        let suspect = |name: &str| (format!(".ralph/knowledge/{name}.md"), "suspect".to_owned());
        assert_eq!(found(&attempts), [suspect("a"), suspect("b")]);
        attempts.push(past(6, Done, &["b"]));
        assert_eq!(found(&attempts), [suspect("a")]);
    }

    #[test]
    fn entries_in_no_context_are_unused() {
        let attempts =
            |days: u32| -> Vec<AttemptSummary> { (1..=days).map(|day| past(day, Outcome::Done, &["a"])).collect() };
        let unused = (".ralph/knowledge/b.md".to_owned(), "unused".to_owned());
        let unfound = (unused.0.clone(), "unfound".to_owned());
        assert_eq!(found(&attempts(29)), []);
        for days in [30, 89] {
            assert_eq!(found(&attempts(days)), std::slice::from_ref(&unfound), "{days}");
        }
        assert_eq!(found(&attempts(90)), [unused]);
        let mut asked = item("b");
        asked.head.questions = vec!["Why?".to_owned()];
        assert_eq!(usefulness(&[asked], &attempts(89)), []);
        // Days without a recorded context prove nothing, and a use starts the count again.
        let without: Vec<AttemptSummary> = (1..=200).map(|day| past(day, Outcome::Done, &[])).collect();
        assert_eq!(found(&without), []);
        let mut used = attempts(90);
        used[0] = past(1, Outcome::Done, &["a", "b"]);
        assert_eq!(found(&used), []);
    }
}
