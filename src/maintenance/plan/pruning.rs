//! Decides which entries go to the archive.
//!
//! Pure: heads and the journal's record in, decisions out. Nothing is ever deleted by what it decides.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::entry::knowledge::{Class, class};
use crate::entry::{Head, Id, Kind, Outcome};
use crate::history::{self, AttemptSummary, Usage};
use crate::retrieve::beyond_caps;
use crate::settings::EventCaps;

/// Days after which the attempts at a finished task are archived.
const DONE_DAYS: u32 = 7;
/// Days after which knowledge is old.
const KNOWLEDGE_DAYS: u32 = 90;
/// Old knowledge that was in no context for this many days is archived.
const UNUSED_DAYS: u32 = 30;
/// The same, for old knowledge that a successful attempt had in its context.
const USEFUL_DAYS: u32 = 365;
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
    /// It is an event over the limit: there are enough more important or newer ones.
    BeyondCaps,
    /// It is old, and was included in no context for some time.
    Unused,
}

impl ArchiveReason {
    /// Returns the reason in a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            ArchiveReason::TaskDone => "its task is done",
            ArchiveReason::Expired => "it has expired",
            ArchiveReason::Superseded => "another entry replaces it",
            ArchiveReason::BeyondCaps => "there are more important or newer events",
            ArchiveReason::Unused => "it is old, and no context included it",
        }
    }
}

/// A live entry that can be read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PruneCandidate {
    /// Its id.
    pub id: Id,
    /// Its path, relative to `.ralph/`.
    pub path: String,
    /// Its head.
    pub head: Head,
}

/// The facts that decide, beside the live entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct PruneFacts {
    /// All attempts, archived ones included, in the order in which they were begun.
    pub attempts: Vec<AttemptSummary>,
    /// The entries that live ones replace.
    pub superseded: ReplacedBy,
}

/// Each entry that live ones replace, with these, and when they were written.
pub(crate) type ReplacedBy = HashMap<Id, Vec<(Id, Option<DateTime<Utc>>)>>;

/// Returns which of the live entries go to the archive, in the given order, and why.
///
/// Each rule waits for a number of days of the settings. Knowledge counts as unused only as far as its use is recorded:
/// the contexts of attempts must reach back that many days before the newest attempt, and only these days count. A
/// clone without a journal proves nothing, nor does a year in which nobody worked. Knowledge in the context of an attempt that
/// succeeded gets more days: in a simulated year, 30 days for all removed a third of what tasks needed.
pub(crate) fn plan_prune<'a>(
    live: &'a [PruneCandidate],
    facts: &PruneFacts,
    now: DateTime<Utc>,
    caps: EventCaps,
) -> Vec<(&'a PruneCandidate, ArchiveReason)> {
    let done = done_tasks(facts, now);
    let is_over = |item: &PruneCandidate| item.head.is_expired(now) || facts.superseded.contains_key(&item.id);
    let is_event = |item: &PruneCandidate| {
        item.head.kind == Kind::Knowledge && class(item.head.category.as_deref()) == Class::Event
    };
    let events = live.iter().filter(|item| is_event(item) && !is_over(item));
    let beyond = beyond_caps(events.map(|item| (&item.id, &item.head)), caps);
    let recorded = RecordedUse::of(&facts.attempts);
    let reason = |item: &PruneCandidate| {
        if item.head.kind == Kind::Journal {
            let is_done = item.head.task_id.as_ref().is_some_and(|task| done.contains(task.as_str()));
            return is_done.then_some(ArchiveReason::TaskDone);
        }
        if item.head.is_expired(now) {
            return Some(ArchiveReason::Expired);
        }
        if let Some(by) = facts.superseded.get(&item.id) {
            let since = by.iter().map(|(_, written)| *written).min().flatten();
            let is_due = since.is_some_and(|since| is_past(since, SUPERSEDED_DAYS, now));
            return is_due.then_some(ArchiveReason::Superseded);
        }
        if beyond.contains(&item.id) {
            return Some(ArchiveReason::BeyondCaps);
        }
        let is_old = item.head.recency().is_some_and(|at| is_past(at, KNOWLEDGE_DAYS, now));
        (is_old && recorded.as_ref().is_some_and(|recorded| recorded.is_unused(item))).then_some(ArchiveReason::Unused)
    };
    let live: Vec<&PruneCandidate> = live.iter().filter(|item| item.head.valid).collect();
    let mut reasons: HashMap<&Id, ArchiveReason> =
        live.iter().filter_map(|item| Some((&item.id, reason(item)?))).collect();
    with_replaced(&live, facts, &mut reasons);
    live.into_iter().filter_map(|item| Some((item, *reasons.get(&item.id)?))).collect()
}

/// Adds the entries all of whose replacements go to the archive: otherwise they would be in contexts again, though
/// something newer and better was archived.
fn with_replaced<'a>(live: &[&'a PruneCandidate], facts: &PruneFacts, reasons: &mut HashMap<&'a Id, ArchiveReason>) {
    let mut hidden: Vec<&PruneCandidate> =
        live.iter().copied().filter(|item| !reasons.contains_key(&item.id)).collect();
    hidden.retain(|item| facts.superseded.contains_key(&item.id));
    loop {
        let n_hidden = hidden.len();
        hidden.retain(|item| {
            let is_left_alone = facts.superseded[&item.id].iter().all(|(by, _)| reasons.contains_key(by));
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

/// Returns whether a time lies so many days back.
fn is_past(time: DateTime<Utc>, days: u32, now: DateTime<Utc>) -> bool {
    time.checked_add_signed(TimeDelta::days(days.into())).is_some_and(|end| end <= now)
}

/// Returns the tasks whose last attempt with a result succeeded, and that had no attempt for some days since.
fn done_tasks(facts: &PruneFacts, now: DateTime<Utc>) -> HashSet<&str> {
    let mut last: HashMap<&str, (bool, DateTime<Utc>)> = HashMap::new();
    for past in &facts.attempts {
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
    oldest: DateTime<Utc>,
    newest: DateTime<Utc>,
    usage: HashMap<Id, Usage>,
}

impl RecordedUse {
    fn of(attempts: &[AttemptSummary]) -> Option<RecordedUse> {
        let recorded = || attempts.iter().filter(|past| !past.head.context.is_empty());
        Some(RecordedUse {
            oldest: recorded().map(|past| past.started_at).min()?,
            newest: recorded().map(|past| past.started_at).max()?,
            usage: history::usage(recorded()),
        })
    }

    /// Returns whether an entry could have been used in the days before the newest attempt, and was not. An entry that
    /// has helped gets more days: the task that needs it may be rare.
    fn is_unused(&self, item: &PruneCandidate) -> bool {
        let used = self.usage.get(&item.id);
        let has_helped = used.is_some_and(|used| used.succeeded > 0);
        let days = if has_helped { USEFUL_DAYS } else { UNUSED_DAYS };
        let Some(begin) = self.newest.checked_sub_signed(TimeDelta::days(days.into())) else { return false };
        let was_there = item.head.recency().is_some_and(|at| at < begin);
        let last_used = used.and_then(|used| used.last_used);
        was_there && self.oldest <= begin && last_used.is_none_or(|at| at < begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{AttemptHead, parse_time};

    fn at(day: &str) -> DateTime<Utc> {
        parse_time(day).unwrap()
    }

    fn knowledge(name: &str, written: &str) -> PruneCandidate {
        let head = Head { valid: true, created_at: parse_time(written), ..Head::empty(Kind::Knowledge) };
        PruneCandidate { id: Id::parse(name).unwrap(), path: format!("knowledge/{name}.md"), head }
    }

    /// Attempts: number, day, task, outcome, context.
    fn attempts(of: &[(u32, &str, &str, Outcome, &[&str])]) -> (Vec<PruneCandidate>, PruneFacts) {
        let mut facts = PruneFacts::default();
        let mut items = Vec::new();
        for (number, day, task, outcome, context) in of {
            let id = Id::parse(&format!("journal/run-1/{number:04}")).unwrap();
            let context = context.iter().map(|id| Id::parse(id).unwrap()).collect();
            let head = AttemptHead { context, duration_secs: Some(60.0), ..AttemptHead::new(*number, *outcome) };
            facts.attempts.push(AttemptSummary {
                id: id.clone(),
                run_id: "run-1".into(),
                task_id: Some((*task).to_owned()),
                task_title: String::new(),
                feature: None,
                started_at: at(day),
                began_at: at(day),
                head: Box::new(head),
            });
            let head = Head { valid: true, task_id: Some((*task).to_owned()), ..Head::empty(Kind::Journal) };
            items.push(PruneCandidate { path: format!("{id}.md"), id, head });
        }
        (items, facts)
    }

    #[track_caller]
    fn check(live: &[PruneCandidate], facts: &PruneFacts, now: &str, expected: &[(&str, ArchiveReason)]) {
        let found = plan_prune(live, facts, at(now), EventCaps::default());
        let found: Vec<(&str, ArchiveReason)> = found.iter().map(|(item, reason)| (item.id.stem(), *reason)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn attempts_are_archived_some_days_after_their_task_is_done() {
        use Outcome::{Blocked, Done, Failed, Interrupted};
        let (items, facts) = attempts(&[
            (1, "2026-03-01", "done", Failed, &[]),
            (2, "2026-03-02", "done", Done, &[]),
            (3, "2026-03-02", "open", Done, &[]),
            (4, "2026-03-03", "open", Blocked, &[]),
            (5, "2026-03-02", "stopped", Done, &[]),
            (6, "2026-03-09", "stopped", Interrupted, &[]),
        ]);
        check(&items, &facts, "2026-03-09T00:00:59Z", &[]);
        let both = [("0001", ArchiveReason::TaskDone), ("0002", ArchiveReason::TaskDone)];
        check(&items, &facts, "2026-03-09T00:01:00Z", &both);
        let all = [both[0], both[1], ("0005", ArchiveReason::TaskDone), ("0006", ArchiveReason::TaskDone)];
        check(&items, &facts, "2026-03-17", &all);
    }

    #[test]
    fn knowledge_is_archived_once_it_is_recorded_as_unused() {
        let live = [knowledge("old", "2026-01-01"), knowledge("used", "2026-01-01"), knowledge("young", "2026-04-20")];
        let of = |first: &str, last: &str| {
            attempts(&[(1, first, "t", Outcome::Failed, &["used"]), (2, last, "t", Outcome::Failed, &["used"])]).1
        };
        let old = [("old", ArchiveReason::Unused)];
        check(&live, &of("2026-04-01", "2026-05-10"), "2026-05-11", &old);
        // Nobody worked since: nothing more was left unused.
        check(&live, &of("2026-04-01", "2026-05-10"), "2027-05-11", &old);
        // Records of less than 30 days, and none at all.
        check(&live, &of("2026-04-15", "2026-05-10"), "2026-05-11", &[]);
        check(&live, &PruneFacts::default(), "2027-05-11", &[]);
        // Old enough by 90 days, not before.
        check(&live, &of("2026-02-01", "2026-03-31"), "2026-03-31T23:59:59Z", &[]);
        check(&live, &of("2026-02-01", "2026-03-31"), "2026-04-01", &old);
        // Used once, and then no more.
        let (_, facts) = attempts(&[
            (1, "2026-04-01", "t", Outcome::Failed, &["old", "used"]),
            (2, "2026-05-02", "t", Outcome::Failed, &["used"]),
        ]);
        check(&live, &facts, "2026-05-11", &old);
        let (_, facts) = attempts(&[
            (1, "2026-04-03", "t", Outcome::Failed, &["old", "used"]),
            (2, "2026-05-02", "t", Outcome::Failed, &["used"]),
        ]);
        check(&live, &facts, "2026-05-11", &[]);
    }

    #[test]
    fn helpful_knowledge_is_kept_for_longer() {
        let live = [knowledge("helped", "2026-01-01"), knowledge("failed", "2026-01-01")];
        let of = |last: &str| {
            attempts(&[
                (1, "2026-02-01", "t", Outcome::Done, &["helped"]),
                (2, "2026-02-02", "t", Outcome::Failed, &["helped", "failed"]),
                (3, last, "t", Outcome::Failed, &["other"]),
            ])
            .1
        };
        check(&live, &of("2026-06-01"), "2026-06-02", &[("failed", ArchiveReason::Unused)]);
        check(&live, &of("2027-02-01"), "2027-02-02", &[("failed", ArchiveReason::Unused)]);
        check(
            &live,
            &of("2027-02-03"),
            "2027-02-04",
            &[("helped", ArchiveReason::Unused), ("failed", ArchiveReason::Unused)],
        );
    }

    #[test]
    fn expired_entries_and_events_over_the_limits_are_archived() {
        let expired = PruneCandidate {
            head: Head { expires_at: Some(at("2026-03-01")), ..knowledge("x", "2026-01-01").head },
            ..knowledge("expired", "2026-01-01")
        };
        let event = |name: &str, importance| {
            let item = knowledge(name, "2026-02-25");
            PruneCandidate { head: Head { category: Some("hint".into()), importance, ..item.head }, ..item }
        };
        let mut live = vec![expired, knowledge("replaced", "2026-01-01"), event("least", 10)];
        live.extend((0..30).map(|number| event(&format!("event-{number}"), 50)));
        let invalid = PruneCandidate {
            head: Head { valid: false, ..live[0].head.clone() },
            ..knowledge("invalid", "2020-01-01")
        };
        live.push(invalid);
        let replacement = (live[3].id.clone(), Some(at("2026-02-01")));
        let superseded = [(live[1].id.clone(), vec![replacement])].into();
        let facts = PruneFacts { superseded, ..PruneFacts::default() };
        let beyond = ("least", ArchiveReason::BeyondCaps);
        check(&live, &facts, "2026-02-28", &[beyond]);
        let all = [("expired", ArchiveReason::Expired), ("replaced", ArchiveReason::Superseded), beyond];
        check(&live, &facts, "2026-03-03", &all);
    }

    #[test]
    fn superseded_entries_are_archived_with_their_replacements() {
        let hint = |name: &str| {
            let item = knowledge(name, "2026-02-25");
            PruneCandidate { head: Head { category: Some("hint".into()), importance: 90, ..item.head }, ..item }
        };
        let mut live = vec![knowledge("oldest", "2026-02-24"), knowledge("old", "2026-02-24"), hint("first")];
        live.extend((0..30).map(|number| hint(&format!("event-{number}"))));
        live[2].head.importance = 10;
        live.push(knowledge("second", "2026-02-25"));
        let replacement = |name: &&str| (Id::parse(name).unwrap(), Some(at("2026-02-25")));
        let by = |names: &[&str]| names.iter().map(replacement).collect();
        let superseded = |of_old: &[&str]| PruneFacts {
            superseded: [(live[0].id.clone(), by(&["old"])), (live[1].id.clone(), by(of_old))].into(),
            ..PruneFacts::default()
        };
        let first = ("first", ArchiveReason::BeyondCaps);
        let with_all = [("oldest", ArchiveReason::Superseded), ("old", ArchiveReason::Superseded), first];
        check(&live, &superseded(&["first"]), "2026-02-28", &with_all);
        check(&live, &superseded(&["first", "second"]), "2026-02-28", &[first]);
    }

    #[test]
    fn expired_events_do_not_count_towards_the_limits() {
        let event = |name: &str, importance| {
            let item = knowledge(name, "2026-02-25");
            PruneCandidate { head: Head { category: Some("hint".into()), importance, ..item.head }, ..item }
        };
        let mut live: Vec<PruneCandidate> = (0..30).map(|number| event(&format!("event-{number}"), 50)).collect();
        live.push(event("over", 90));
        live[30].head.expires_at = Some(at("2026-02-26"));
        check(&live, &PruneFacts::default(), "2026-02-28", &[("over", ArchiveReason::Expired)]);
    }
}
