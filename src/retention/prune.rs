//! What goes to the archive when somebody tidies up.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::beyond_caps;
use crate::entry::knowledge::{Class, class};
use crate::entry::{Head, Id, Kind, Outcome};
use crate::history::{self, AttemptSummary, Usage};
use crate::settings::{EventCaps, Tending};

/// Why an entry goes to the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It is an attempt at a task that has been done for a while.
    TaskDone,
    /// It has expired.
    Expired,
    /// Another entry has replaced it for a while.
    Superseded,
    /// It is an event, and there are more important or newer ones.
    BeyondCaps,
    /// It is old, and stood in no context for a while.
    Unused,
}

impl Reason {
    /// Returns a few words that say it.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::TaskDone => "its task is done",
            Reason::Expired => "it has expired",
            Reason::Superseded => "another entry replaces it",
            Reason::BeyondCaps => "there are more important or newer events",
            Reason::Unused => "it is old, and no context had use for it",
        }
    }
}

/// An entry that is to go to the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The entry.
    pub id: Id,
    /// Its path, relative to `.ralph/`.
    pub path: String,
    /// Why.
    pub reason: Reason,
}

/// One live entry that can be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its id.
    pub id: Id,
    /// Its path, relative to `.ralph/`.
    pub path: String,
    /// What it says.
    pub head: Head,
}

/// What is known beside the live entries.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// All attempts, archived ones included, in the order in which they were begun.
    pub attempts: Vec<AttemptSummary>,
    /// The task of each attempt that has one.
    pub tasks: HashMap<Id, String>,
    /// The entries that live ones replace, and by which.
    pub superseded: HashMap<Id, Vec<Replacement>>,
}

/// A live entry that replaces another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The entry that does.
    pub by: Id,
    /// When it was written.
    pub written: Option<DateTime<Utc>>,
}

/// Returns which of the live entries are to go to the archive, in the given order.
///
/// These are the design's rules. "For a while" is a number of days of the settings. That knowledge is not used
/// counts only as far as use is recorded: when the contexts of attempts reach back so far before the
/// newest attempt, and then for the days before that one. A fresh clone proves nothing, nor does a year in
/// which nobody worked. What stood in the context of an attempt that succeeded is given more days: in a
/// simulated year the 30 days alone took a third of what tasks needed away.
pub fn prune(live: &[Item], record: &Record, now: DateTime<Utc>, rules: &Tending, caps: EventCaps) -> Vec<Move> {
    let done = done_tasks(record, now, rules);
    let is_over = |item: &Item| item.head.is_expired(now) || record.superseded.contains_key(&item.id);
    let is_event =
        |item: &Item| item.head.kind == Kind::Knowledge && class(item.head.category.as_deref()) == Class::Event;
    let events = live.iter().filter(|item| is_event(item) && !is_over(item));
    let beyond = beyond_caps(events.map(|item| (&item.id, &item.head)), caps);
    let recorded = Recorded::of(&record.attempts);
    let reason = |item: &Item| {
        if item.head.kind == Kind::Journal {
            let is_done = item.head.task_id.as_ref().is_some_and(|task| done.contains(task.as_str()));
            return is_done.then_some(Reason::TaskDone);
        }
        if item.head.is_expired(now) {
            return Some(Reason::Expired);
        }
        if let Some(by) = record.superseded.get(&item.id) {
            let since = by.iter().map(|replacement| replacement.written).min().flatten();
            return since.is_some_and(|since| is_past(since, rules.superseded_days, now)).then_some(Reason::Superseded);
        }
        if beyond.contains(&item.id) {
            return Some(Reason::BeyondCaps);
        }
        let is_old = item.head.recency().is_some_and(|at| is_past(at, rules.knowledge_days, now));
        (is_old && recorded.as_ref().is_some_and(|recorded| recorded.is_unused(item, rules))).then_some(Reason::Unused)
    };
    let live: Vec<&Item> = live.iter().filter(|item| item.head.valid).collect();
    let mut reasons: HashMap<&Id, Reason> = live.iter().filter_map(|item| Some((&item.id, reason(item)?))).collect();
    with_replaced(&live, record, &mut reasons);
    let to_move = |item: &&Item| {
        let reason = *reasons.get(&item.id)?;
        Some(Move { id: item.id.clone(), path: item.path.clone(), reason })
    };
    live.iter().filter_map(to_move).collect()
}

/// Adds what nobody would replace any more: with what replaced it in the archive it would be told again, though
/// something newer and better went there.
fn with_replaced<'a>(live: &[&'a Item], record: &Record, reasons: &mut HashMap<&'a Id, Reason>) {
    let mut hidden: Vec<&Item> = live.iter().copied().filter(|item| !reasons.contains_key(&item.id)).collect();
    hidden.retain(|item| record.superseded.contains_key(&item.id));
    loop {
        let n_hidden = hidden.len();
        hidden.retain(|item| {
            let is_left_alone = record.superseded[&item.id].iter().all(|left| reasons.contains_key(&left.by));
            if is_left_alone {
                reasons.insert(&item.id, Reason::Superseded);
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

/// Returns the tasks that were done last, of those attempts that say something, and have been left alone since.
fn done_tasks<'a>(record: &'a Record, now: DateTime<Utc>, rules: &Tending) -> HashSet<&'a str> {
    let mut last: HashMap<&str, (bool, DateTime<Utc>)> = HashMap::new();
    for past in &record.attempts {
        let Some(task) = record.tasks.get(&past.id) else { continue };
        let (is_done, ended_at) = last.entry(task.as_str()).or_insert((false, past.ended_at()));
        *ended_at = past.ended_at().max(*ended_at);
        if past.head.outcome.is_success().is_some() {
            *is_done = past.head.outcome == Outcome::Done;
        }
    }
    last.into_iter()
        .filter(|(_, (is_done, ended_at))| *is_done && is_past(*ended_at, rules.done_days, now))
        .map(|(task, _)| task)
        .collect()
}

/// What is recorded of the use of knowledge.
struct Recorded {
    oldest: DateTime<Utc>,
    newest: DateTime<Utc>,
    usage: HashMap<Id, Usage>,
}

impl Recorded {
    fn of(attempts: &[AttemptSummary]) -> Option<Recorded> {
        let recorded = || attempts.iter().filter(|past| !past.head.context.is_empty());
        Some(Recorded {
            oldest: recorded().map(|past| past.started_at).min()?,
            newest: recorded().map(|past| past.started_at).max()?,
            usage: history::usage(recorded()),
        })
    }

    /// Returns whether an entry could have been used in the days before the newest attempt, and was not. What
    /// has helped once is given more days: the task that needs it may be a rare one.
    fn is_unused(&self, item: &Item, rules: &Tending) -> bool {
        let used = self.usage.get(&item.id);
        let has_helped = used.is_some_and(|used| used.succeeded > 0);
        let days = if has_helped { rules.useful_days } else { rules.unused_days };
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

    fn knowledge(name: &str, written: &str) -> Item {
        let head = Head { valid: true, created_at: parse_time(written), ..Head::empty(Kind::Knowledge) };
        Item { id: Id::parse(name).unwrap(), path: format!("knowledge/{name}.md"), head }
    }

    /// Attempts: number, day, task, outcome, context.
    fn attempts(of: &[(u32, &str, &str, Outcome, &[&str])]) -> (Vec<Item>, Record) {
        let mut record = Record::default();
        let mut items = Vec::new();
        for (number, day, task, outcome, context) in of {
            let id = Id::parse(&format!("journal/run-1/{number:04}")).unwrap();
            let context = context.iter().map(|id| Id::parse(id).unwrap()).collect();
            let head = AttemptHead { context, duration_secs: Some(60.0), ..AttemptHead::new(*number, *outcome) };
            record.attempts.push(AttemptSummary {
                id: id.clone(),
                run_id: "run-1".into(),
                feature: None,
                started_at: at(day),
                head,
            });
            record.tasks.insert(id.clone(), (*task).to_owned());
            let head = Head { valid: true, task_id: Some((*task).to_owned()), ..Head::empty(Kind::Journal) };
            items.push(Item { path: format!("{id}.md"), id, head });
        }
        (items, record)
    }

    #[track_caller]
    fn check(live: &[Item], record: &Record, now: &str, expected: &[(&str, Reason)]) {
        let found = prune(live, record, at(now), &Tending::default(), EventCaps::default());
        let found: Vec<(&str, Reason)> = found.iter().map(|moved| (moved.id.stem(), moved.reason)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn attempts_go_a_while_after_their_task_is_done() {
        use Outcome::{Blocked, Done, Failed, Interrupted};
        let (items, record) = attempts(&[
            (1, "2026-03-01", "done", Failed, &[]),
            (2, "2026-03-02", "done", Done, &[]),
            (3, "2026-03-02", "open", Done, &[]),
            (4, "2026-03-03", "open", Blocked, &[]),
            (5, "2026-03-02", "stopped", Done, &[]),
            (6, "2026-03-09", "stopped", Interrupted, &[]),
        ]);
        check(&items, &record, "2026-03-09T00:00:59Z", &[]);
        let both = [("0001", Reason::TaskDone), ("0002", Reason::TaskDone)];
        check(&items, &record, "2026-03-09T00:01:00Z", &both);
        let all = [both[0], both[1], ("0005", Reason::TaskDone), ("0006", Reason::TaskDone)];
        check(&items, &record, "2026-03-17", &all);
    }

    #[test]
    fn knowledge_goes_when_recorded_use_says_that_it_is_not_used() {
        let live = [knowledge("old", "2026-01-01"), knowledge("used", "2026-01-01"), knowledge("young", "2026-04-20")];
        let of = |first: &str, last: &str| {
            attempts(&[(1, first, "t", Outcome::Failed, &["used"]), (2, last, "t", Outcome::Failed, &["used"])]).1
        };
        let old = [("old", Reason::Unused)];
        check(&live, &of("2026-04-01", "2026-05-10"), "2026-05-11", &old);
        // Nobody worked since: nothing more was left unused.
        check(&live, &of("2026-04-01", "2026-05-10"), "2027-05-11", &old);
        // Records of less than 30 days, and none at all.
        check(&live, &of("2026-04-15", "2026-05-10"), "2026-05-11", &[]);
        check(&live, &Record::default(), "2027-05-11", &[]);
        // Old enough by 90 days, not before.
        check(&live, &of("2026-02-01", "2026-03-31"), "2026-03-31T23:59:59Z", &[]);
        check(&live, &of("2026-02-01", "2026-03-31"), "2026-04-01", &old);
        // Used once, and then no more.
        let (_, record) = attempts(&[
            (1, "2026-04-01", "t", Outcome::Failed, &["old", "used"]),
            (2, "2026-05-02", "t", Outcome::Failed, &["used"]),
        ]);
        check(&live, &record, "2026-05-11", &old);
        let (_, record) = attempts(&[
            (1, "2026-04-03", "t", Outcome::Failed, &["old", "used"]),
            (2, "2026-05-02", "t", Outcome::Failed, &["used"]),
        ]);
        check(&live, &record, "2026-05-11", &[]);
    }

    #[test]
    fn what_has_helped_is_kept_for_longer() {
        let live = [knowledge("helped", "2026-01-01"), knowledge("failed", "2026-01-01")];
        let of = |last: &str| {
            attempts(&[
                (1, "2026-02-01", "t", Outcome::Done, &["helped"]),
                (2, "2026-02-02", "t", Outcome::Failed, &["helped", "failed"]),
                (3, last, "t", Outcome::Failed, &["other"]),
            ])
            .1
        };
        check(&live, &of("2026-06-01"), "2026-06-02", &[("failed", Reason::Unused)]);
        check(&live, &of("2027-02-01"), "2027-02-02", &[("failed", Reason::Unused)]);
        check(&live, &of("2027-02-03"), "2027-02-04", &[("helped", Reason::Unused), ("failed", Reason::Unused)]);
    }

    #[test]
    fn what_is_over_goes_and_events_beyond_the_caps() {
        let expired = Item {
            head: Head { expires_at: Some(at("2026-03-01")), ..knowledge("x", "2026-01-01").head },
            ..knowledge("expired", "2026-01-01")
        };
        let event = |name: &str, importance| {
            let item = knowledge(name, "2026-02-25");
            Item { head: Head { category: Some("hint".into()), importance, ..item.head }, ..item }
        };
        let mut live = vec![expired, knowledge("replaced", "2026-01-01"), event("least", 10)];
        live.extend((0..30).map(|number| event(&format!("event-{number}"), 50)));
        let invalid =
            Item { head: Head { valid: false, ..live[0].head.clone() }, ..knowledge("invalid", "2020-01-01") };
        live.push(invalid);
        let replacement = Replacement { by: live[3].id.clone(), written: Some(at("2026-02-01")) };
        let superseded = [(live[1].id.clone(), vec![replacement])].into();
        let record = Record { superseded, ..Record::default() };
        let beyond = ("least", Reason::BeyondCaps);
        check(&live, &record, "2026-02-28", &[beyond]);
        let all = [("expired", Reason::Expired), ("replaced", Reason::Superseded), beyond];
        check(&live, &record, "2026-03-03", &all);
    }

    #[test]
    fn what_is_replaced_goes_with_all_that_replace_it() {
        let hint = |name: &str| {
            let item = knowledge(name, "2026-02-25");
            Item { head: Head { category: Some("hint".into()), importance: 90, ..item.head }, ..item }
        };
        let mut live = vec![knowledge("oldest", "2026-02-24"), knowledge("old", "2026-02-24"), hint("first")];
        live.extend((0..30).map(|number| hint(&format!("event-{number}"))));
        live[2].head.importance = 10;
        live.push(knowledge("second", "2026-02-25"));
        let replacement = |name: &&str| Replacement { by: Id::parse(name).unwrap(), written: Some(at("2026-02-25")) };
        let by = |names: &[&str]| names.iter().map(replacement).collect();
        let superseded = |of_old: &[&str]| Record {
            superseded: [(live[0].id.clone(), by(&["old"])), (live[1].id.clone(), by(of_old))].into(),
            ..Record::default()
        };
        let first = ("first", Reason::BeyondCaps);
        let with_all = [("oldest", Reason::Superseded), ("old", Reason::Superseded), first];
        check(&live, &superseded(&["first"]), "2026-02-28", &with_all);
        check(&live, &superseded(&["first", "second"]), "2026-02-28", &[first]);
    }

    #[test]
    fn what_is_over_takes_no_event_its_place() {
        let event = |name: &str, importance| {
            let item = knowledge(name, "2026-02-25");
            Item { head: Head { category: Some("hint".into()), importance, ..item.head }, ..item }
        };
        let mut live: Vec<Item> = (0..30).map(|number| event(&format!("event-{number}"), 50)).collect();
        live.push(event("over", 90));
        live[30].head.expires_at = Some(at("2026-02-26"));
        check(&live, &Record::default(), "2026-02-28", &[("over", Reason::Expired)]);
    }
}
