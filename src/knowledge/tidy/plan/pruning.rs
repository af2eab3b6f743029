//! Decides which entries go to the archive.
//!
//! Pure: heads and the journal's record in, decisions out. Nothing is ever deleted by what it decides.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::LiveEntry;
use crate::entry::{Id, Kind, Outcome};
use crate::journal::history::{self, AttemptSummary, Usage};

/// Days after which the attempts at a finished task are archived.
const DONE_DAYS: u32 = 7;
/// Days after which knowledge is old.
const KNOWLEDGE_DAYS: u32 = 90;
/// Old knowledge that was in no context for this many days is archived.
const UNUSED_DAYS: u32 = 30;
/// The same, for old knowledge that a successful attempt had in its context.
const USEFUL_DAYS: u32 = 365;
/// How many attempts of these days must have a context: a fact that one task in ten needs is in none of thirty with a probability of
/// 4 %.
const EVIDENCE: usize = 30;
/// Days after which a superseded entry is archived.
const SUPERSEDED_DAYS: u32 = 30;

/// Why an entry goes to the archive.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::ArchiveReason;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let outage = "---\ntitle: Outage\ntags: [mail]\nexpires_at: 2022-05-01\n---\n\nMail is down.\n";
/// std::fs::write(root.join(".ralph/knowledge/outage.md"), outage)?;
/// let reason = memory.tidy(true)?.moved[0].reason.ok_or("it was merged")?;
/// assert_eq!((reason, reason.as_str()), (ArchiveReason::Expired, "it has expired"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArchiveReason {
    /// It is an attempt at a task that was done some time ago.
    TaskDone,
    /// It has expired.
    Expired,
    /// Another entry replaced it some time ago.
    Superseded,
    /// An agent wrote it, it is old, and no recent context included it.
    Unused,
}

impl ArchiveReason {
    /// Returns the reason in a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            ArchiveReason::TaskDone => "its task is done",
            ArchiveReason::Expired => "it has expired",
            ArchiveReason::Superseded => "another entry replaces it",
            ArchiveReason::Unused => "an agent wrote it, it is old, and no recent context included it",
        }
    }
}

/// Each entry that live ones replace, with these, and when they were written.
pub(crate) type ReplacedBy = HashMap<Id, Vec<(Id, Option<DateTime<Utc>>)>>;

/// Returns which of the live entries go to the archive, in the given order, and why. The attempts are all, archived ones
/// included, in the order in which they were begun.
///
/// Each rule waits for a number of days. Knowledge counts as unused only if an agent wrote it, and as far as its use is recorded:
/// the contexts of attempts must reach back that many days before the newest attempt, and only these days count, with
/// [`EVIDENCE`]. A clone without a journal proves nothing, nor does a year in which nobody worked. Knowledge in the context of an
/// attempt that succeeded gets more days: in a simulated year, 30 days for all removed a third of what tasks needed.
pub(crate) fn plan_moves<'a>(
    live: &'a [LiveEntry],
    (attempts, superseded): (&[AttemptSummary], &ReplacedBy),
    now: DateTime<Utc>,
) -> Vec<(&'a LiveEntry, ArchiveReason)> {
    let done = done_tasks(attempts, now);
    let recorded = RecordedUse::of(attempts);
    let reason = |item: &LiveEntry| {
        if item.head.kind == Kind::Journal {
            let is_done = item.head.task_id.as_ref().is_some_and(|task| done.contains(task.as_str()));
            return is_done.then_some(ArchiveReason::TaskDone);
        }
        if item.head.is_expired(now) {
            return Some(ArchiveReason::Expired);
        }
        if let Some(by) = superseded.get(&item.id) {
            let since = by.iter().map(|(_, written)| *written).min().flatten();
            let is_due = since.is_some_and(|since| is_past(since, SUPERSEDED_DAYS, now));
            return is_due.then_some(ArchiveReason::Superseded);
        }
        let is_old =
            !item.head.source.is_person() && item.head.recency().is_some_and(|at| is_past(at, KNOWLEDGE_DAYS, now));
        (is_old && recorded.as_ref().is_some_and(|recorded| recorded.is_unused(item))).then_some(ArchiveReason::Unused)
    };
    let live: Vec<&LiveEntry> = live.iter().filter(|item| item.head.valid).collect();
    let mut reasons: HashMap<&Id, ArchiveReason> =
        live.iter().filter_map(|item| Some((&item.id, reason(item)?))).collect();
    with_replaced(&live, superseded, &mut reasons);
    live.into_iter().filter_map(|item| Some((item, *reasons.get(&item.id)?))).collect()
}

/// Adds the entries all of whose replacements go to the archive: otherwise they would be in contexts again, though
/// something newer and better was archived.
fn with_replaced<'a>(live: &[&'a LiveEntry], superseded: &ReplacedBy, reasons: &mut HashMap<&'a Id, ArchiveReason>) {
    let mut hidden: Vec<&LiveEntry> = live.iter().copied().filter(|item| !reasons.contains_key(&item.id)).collect();
    hidden.retain(|item| superseded.contains_key(&item.id));
    loop {
        let n_hidden = hidden.len();
        hidden.retain(|item| {
            let is_left_alone = superseded[&item.id].iter().all(|(by, _)| reasons.contains_key(by));
            if is_left_alone {
                reasons.insert(&item.id, ArchiveReason::Superseded);
            }
            !is_left_alone
        });
        // What went may have replaced others in turn.
        if hidden.len() == n_hidden {
            return;
        }
    }
}

fn is_past(time: DateTime<Utc>, days: u32, now: DateTime<Utc>) -> bool {
    time.checked_add_signed(TimeDelta::days(days.into())).is_some_and(|end| end <= now)
}

/// Returns the tasks whose last attempt with a result succeeded, and that had no attempt for some days since.
fn done_tasks(attempts: &[AttemptSummary], now: DateTime<Utc>) -> HashSet<&str> {
    let mut last: HashMap<&str, (bool, DateTime<Utc>)> = HashMap::new();
    for past in attempts {
        let Some(task) = &past.task_id else { continue };
        let (is_done, ended_at) = last.entry(task.as_str()).or_insert((false, past.ended_at()));
        *ended_at = past.ended_at().max(*ended_at);
        if past.head.outcome.is_success().is_some() {
            *is_done = past.head.outcome == Outcome::Done;
        }
    }
    last.into_iter()
        .filter(|(_, (is_done, ended_at))| *is_done && is_past(*ended_at, DONE_DAYS, now))
        .map(|(task, _)| task)
        .collect()
}

/// The recorded use of knowledge.
struct RecordedUse {
    /// When the attempts with a context began, the oldest first.
    began: Vec<DateTime<Utc>>,
    usage: HashMap<Id, Usage>,
}

impl RecordedUse {
    fn of(attempts: &[AttemptSummary]) -> Option<RecordedUse> {
        let recorded = || attempts.iter().filter(|past| !past.head.context.is_empty());
        let mut began: Vec<DateTime<Utc>> = recorded().map(|past| past.started_at).collect();
        began.sort_unstable();
        (!began.is_empty()).then(|| RecordedUse { began, usage: history::usage(recorded()) })
    }

    /// Returns whether an entry could have been used in the days before the newest attempt, and was not. An entry that
    /// has helped gets more days: the task that needs it may be rare.
    fn is_unused(&self, item: &LiveEntry) -> bool {
        let used = self.usage.get(&item.id);
        let has_helped = used.is_some_and(|used| used.succeeded > 0);
        let days = if has_helped { USEFUL_DAYS } else { UNUSED_DAYS };
        let days = TimeDelta::days(days.into());
        let Some(begin) = self.began.last().and_then(|newest| newest.checked_sub_signed(days)) else { return false };
        let n_before = self.began.partition_point(|at| *at <= begin);
        let is_recorded = n_before > 0 && self.began.len() - n_before >= EVIDENCE;
        let was_there = item.head.recency().is_some_and(|at| at < begin);
        let last_used = used.and_then(|used| used.last_used);
        was_there && is_recorded && last_used.is_none_or(|at| at < begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{AttemptHead, Head, Source, parse_time};

    fn at(day: &str) -> DateTime<Utc> {
        parse_time(day).unwrap()
    }

    fn entry(name: &str, head: Head) -> LiveEntry {
        let id = Id::parse(name).unwrap();
        LiveEntry { path: format!("{id}.md"), id, head, counts: true }
    }

    fn knowledge(name: &str, written: &str) -> LiveEntry {
        let head = Head {
            valid: true,
            created_at: parse_time(written),
            source: Source::Agent,
            ..Head::empty(Kind::Knowledge)
        };
        entry(name, head)
    }

    /// Attempts: day, task, outcome, context.
    fn attempts(of: &[(&str, &str, Outcome, &[&str])]) -> Vec<AttemptSummary> {
        let past = |(number, (day, task, outcome, context)): (u32, &(&str, &str, Outcome, &[&str]))| {
            let context = context.iter().map(|id| Id::parse(id).unwrap()).collect();
            let head = AttemptHead { context, duration_secs: Some(60.0), ..AttemptHead::new(number, *outcome) };
            AttemptSummary { task_id: Some((*task).to_owned()), ..history::tests::past(number, at(day), head) }
        };
        (1..).zip(of).map(past).collect()
    }

    /// Checks which entries go to the archive, and why.
    #[track_caller]
    fn check(
        live: &[LiveEntry],
        attempts: &[AttemptSummary],
        superseded: &ReplacedBy,
        now: &str,
        expected: &[(&str, ArchiveReason)],
    ) {
        let found = plan_moves(live, (attempts, superseded), at(now));
        let found: Vec<(&str, ArchiveReason)> = found.iter().map(|(item, reason)| (item.id.stem(), *reason)).collect();
        assert_eq!(found, expected, "{now}");
    }

    #[test]
    fn attempts_are_archived_some_days_after_their_task_is_done() {
        use Outcome::{Blocked, Done, Failed, Interrupted};
        let attempts = attempts(&[
            ("2026-03-01", "done", Failed, &[]),
            ("2026-03-02", "done", Done, &[]),
            ("2026-03-02", "open", Done, &[]),
            ("2026-03-03", "open", Blocked, &[]),
            ("2026-03-02", "stopped", Done, &[]),
            ("2026-03-09", "stopped", Interrupted, &[]),
        ]);
        let item = |past: &AttemptSummary| {
            entry(past.id.as_str(), Head { valid: true, task_id: past.task_id.clone(), ..Head::empty(Kind::Journal) })
        };
        let items: Vec<LiveEntry> = attempts.iter().map(item).collect();
        let all = ["0001", "0002", "0005", "0006"].map(|number| (number, ArchiveReason::TaskDone));
        for (now, n_done) in [("2026-03-09T00:00:59Z", 0), ("2026-03-09T00:01:00Z", 2), ("2026-03-17", 4)] {
            check(&items, &attempts, &ReplacedBy::new(), now, &all[..n_done]);
        }
    }

    #[test]
    fn knowledge_is_archived_once_it_is_recorded_as_unused() {
        use Outcome::{Done, Failed};
        let live = [knowledge("old", "2026-01-01"), knowledge("used", "2026-01-01"), knowledge("young", "2026-04-20")];
        // The days of two attempts, what the first one's context had beside `used`, and whether `old` is unused then.
        for (first, with, last, now, is_unused) in [
            ("2026-04-01", "x", "2026-05-10", "2026-05-11", true),
            // Nobody worked since: nothing more was left unused.
            ("2026-04-01", "x", "2026-05-10", "2027-05-11", true),
            // Records of less than 30 days.
            ("2026-04-15", "x", "2026-05-10", "2026-05-11", false),
            // Old enough by 90 days, not before.
            ("2026-02-01", "x", "2026-03-31", "2026-03-31T23:59:59Z", false),
            ("2026-02-01", "x", "2026-03-31", "2026-04-01", true),
            // Used once, and then no more.
            ("2026-04-01", "old", "2026-05-02", "2026-05-11", true),
            ("2026-04-03", "old", "2026-05-02", "2026-05-11", false),
        ] {
            let mut of_days = vec![(last, "t", Failed, &["used"][..]); EVIDENCE];
            let of_first = [with, "used"];
            of_days.insert(0, (first, "t", Failed, &of_first));
            let old = [("old", ArchiveReason::Unused)];
            check(&live, &attempts(&of_days), &ReplacedBy::new(), now, &old[..usize::from(is_unused)]);
            // A person's entry stays, and one attempt less proves nothing.
            let mut own = live.clone();
            own[0].head.source = Source::Human;
            check(&own, &attempts(&of_days), &ReplacedBy::new(), now, &[]);
            check(&live, &attempts(&of_days[..EVIDENCE]), &ReplacedBy::new(), now, &[]);
        }
        check(&live, &[], &ReplacedBy::new(), "2027-05-11", &[]);
        // What has helped is kept for longer.
        let live = [knowledge("failed", "2026-01-01"), knowledge("helped", "2026-01-01")];
        let unused = [("failed", ArchiveReason::Unused), ("helped", ArchiveReason::Unused)];
        for (last, now, n_unused) in
            [("2026-06-01", "2026-06-02", 1), ("2027-02-01", "2027-02-02", 1), ("2027-02-03", "2027-02-04", 2)]
        {
            let mut of_days =
                vec![("2026-02-01", "t", Done, &["helped"][..]), ("2026-02-02", "t", Failed, &["helped", "failed"])];
            of_days.extend([(last, "t", Failed, &["other"][..]); EVIDENCE]);
            check(&live, &attempts(&of_days), &ReplacedBy::new(), now, &unused[..n_unused]);
        }
    }

    /// However many events there are, none goes: a context shows some of them, and a search finds all.
    #[test]
    fn expired_entries_are_archived() {
        let mut expired = knowledge("expired", "2026-01-01");
        expired.head.expires_at = Some(at("2026-03-01"));
        let mut invalid = expired.clone();
        invalid.head.valid = false;
        let mut live = vec![expired, knowledge("replaced", "2026-01-01"), invalid];
        live.extend((0..50).map(|number| {
            let item = knowledge(&format!("event-{number}"), "2026-02-25");
            LiveEntry { head: Head { category: Some("hint".into()), ..item.head }, ..item }
        }));
        let superseded = [(live[1].id.clone(), vec![(live[4].id.clone(), Some(at("2026-02-01")))])].into();
        check(&live, &[], &superseded, "2026-02-28", &[]);
        let all = [("expired", ArchiveReason::Expired), ("replaced", ArchiveReason::Superseded)];
        check(&live, &[], &superseded, "2026-03-03", &all);
    }

    #[test]
    fn superseded_entries_are_archived_with_their_replacements() {
        let mut live = ["oldest", "old", "first", "second"].map(|name| knowledge(name, "2026-02-24"));
        live[2].head.expires_at = Some(at("2026-02-27"));
        let first = ("first", ArchiveReason::Expired);
        let with_all = [("oldest", ArchiveReason::Superseded), ("old", ArchiveReason::Superseded), first];
        for (of_old, expected) in [(&["first"][..], &with_all[..]), (&["first", "second"], &[first])] {
            let by = |names: &[&str]| {
                names.iter().map(|name| (Id::parse(name).unwrap(), Some(at("2026-02-25")))).collect::<Vec<_>>()
            };
            let superseded = [(live[0].id.clone(), by(&["old"])), (live[1].id.clone(), by(of_old))].into();
            check(&live, &[], &superseded, "2026-02-28", expected);
        }
    }
}
