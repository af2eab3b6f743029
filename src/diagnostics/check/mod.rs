//! Problems between entries: links to no entry, entries with the same content, and ids that replace nothing.
//!
//! Pure: heads and paths in, problems out. Problems inside one file were found when it was read, and are in its head.
//! Journal entries are left alone, since they never change. An expired entry is not a problem either: it expires on its
//! own, and a check that fails one morning because of a date teaches people to switch it off; `ralph-memory` alone counts them.

mod duplicates;
mod links;
mod live_entry;
mod names;
mod nearest;
mod usefulness;

use std::collections::HashMap;

use chrono::{DateTime, SecondsFormat, Utc};

use self::links::KnownNames;
use crate::entry::{EntryNames, Id, Kind, is_ahead};
use crate::error::{Findings, Problem, Severity};
use crate::knowledge::tidy::plan::LiveEntry;
use crate::search::retrieve::{in_circles, replacements_among};
use crate::text::printed_command;

pub(crate) use self::names::{lost_names, unsafe_name};
pub(crate) use self::usefulness::usefulness;

/// Returns the problems between the live entries `live`. `names` are those of all entries, the archive's included.
pub(crate) fn problems(live: &[LiveEntry], names: &EntryNames, now: DateTime<Utc>) -> Findings {
    let known = KnownNames::new(live, names);
    let counting = live.iter().filter(|item| item.counts).map(|item| (&item.id, &item.head));
    let replacements = replacements_among(counting, names, now);
    let pairs = &replacements.counted;
    let mut findings = Findings::default();
    known.broken_links(live, &mut findings);
    known.unknown_ids(live, &mut findings);
    known.taken_aliases(live, &mut findings);
    findings.extend(circles(live, pairs));
    findings.extend(suggested(live, &replacements.suggested));
    findings.extend(duplicates::find(live, pairs, now));
    findings.extend(from_the_future(live, now));
    findings
}

/// Reports entries whose times are in the future.
fn from_the_future(live: &[LiveEntry], now: DateTime<Utc>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for item in live.iter().filter(|item| item.head.valid) {
        let created = if item.head.kind == Kind::Journal { "started_at" } else { "created_at" };
        for (key, time) in [(created, item.head.created_at), ("updated_at", item.head.updated_at)] {
            let Some(time) = time.filter(|time| is_ahead(*time, now)) else { continue };
            let time = time.to_rfc3339_opts(SecondsFormat::Secs, true);
            let message = format!("`{key}` is {time}, which is in the future, so it does not count as recent");
            let hint = "correct the clock of the machine that wrote it, and the time; or delete the entry";
            problems.push(item.problem(Severity::Warning, "from-the-future", message, hint));
        }
    }
    problems
}

/// Reports what agents want to replace and people wrote, for a person to decide.
fn suggested(live: &[LiveEntry], pairs: &[(Id, Id)]) -> Vec<Problem> {
    let items: HashMap<&Id, &LiveEntry> = live.iter().filter(|item| item.counts).map(|item| (&item.id, item)).collect();
    let suggestion = |(new, old): &(Id, Id)| {
        let message = format!("an agent wants this entry to replace `{old}`, which a person wrote and which stays");
        let ids = [("OLD", old.as_str()), ("NEW", new.as_str())];
        let confirm = printed_command("ralph-memory edit NEW --supersedes OLD", &ids);
        let hint = format!("confirm with {confirm}, or remove it from `supersedes`");
        Some(items.get(new)?.problem(Severity::Warning, "suggested-replacement", message, hint))
    };
    pairs.iter().filter_map(suggestion).collect()
}

/// Reports entries that replace each other in a circle: each of them, since a change of any one ends the circle.
fn circles(live: &[LiveEntry], pairs: &[(Id, Id)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let circling = in_circles(pairs);
    let is_in_circle = |(new, old): &&(Id, Id)| new != old && circling.contains(new) && circling.contains(old);
    let others: HashMap<&Id, &Id> = pairs.iter().filter(is_in_circle).map(|(new, old)| (new, old)).collect();
    for item in live.iter().filter(|item| item.counts && item.head.valid) {
        if item.head.supersedes.contains(&item.id) {
            let message = "the entry supersedes itself, which has no effect";
            let hint = "remove its own id from `supersedes`";
            problems.push(item.problem(Severity::Warning, "supersedes-cycle", message, hint));
        }
        if let Some(other) = others.get(&item.id) {
            let message = format!(
                "this entry and `{other}` are in a circle of entries that supersede each other, so neither counts as replaced"
            );
            let hint =
                "keep in `supersedes` of the newest only the entry that it replaces, and remove it from the others";
            // Readers do not learn that another entry is out of date, contrary to the file.
            problems.push(item.problem(Severity::Error, "supersedes-cycle", message, hint));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::read;

    fn item(path: &str, head: &str, body: &str) -> LiveEntry {
        let text = format!("---\n{head}\n---\n{body}\n");
        LiveEntry {
            path: path.to_owned(),
            id: Id::of_path(path).unwrap(),
            head: read(path, text.as_bytes()).head,
            counts: true,
        }
    }

    pub(super) fn named(stem: &str, title: &str, tags: &str, body: &str) -> LiveEntry {
        item(&format!("knowledge/{stem}.md"), &format!("title: \"{title}\"\ntags: [{tags}]"), body)
    }

    fn names(live: &[LiveEntry]) -> EntryNames {
        let mut names = EntryNames::default();
        for item in live {
            names.add_live(item.id.clone(), &item.head, item.counts);
        }
        names
    }

    fn replacing(stem: &str, old: &str) -> LiveEntry {
        item(&format!("knowledge/{stem}.md"), &format!("title: \"{stem}\"\ntags: [a]\nsupersedes: [{old}]"), stem)
    }

    pub(super) fn now() -> DateTime<Utc> {
        crate::entry::parse_time("2026-11-20").unwrap()
    }

    /// Checks the findings: stem of the file, line, code, hint.
    #[track_caller]
    fn check(live: &[LiveEntry], expected: &[(&str, u32, &str, &str)]) {
        let mut names = names(live);
        names.add_archived(Id::parse("gone").unwrap(), None);
        let (found, _) = problems(live, &names, now()).finish();
        let found: Vec<_> = found
            .iter()
            .map(|problem| {
                let stem = problem.path.rsplit('/').next().unwrap().trim_end_matches(".md");
                (stem, problem.line.unwrap_or(0), problem.code.as_str(), problem.hint.as_str())
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let target = named("wal-mode", "Use the WAL", "sqlite", "text");
        let run = item("journal/run-1/0001.md", "run_id: run-1", "see [[nothing at all]]");
        let linking = |link: &str| named("a", "Some title", "x", &format!("one\n\ntwo [[{link}]]"));
        let with = |link: &str| [linking(link), target.clone(), run.clone()];
        for good in
            ["wal-mode", "knowledge/wal-mode", "knowledge/team/wal-mode.md", "use the  wal", "journal/run-1/0001", "a"]
        {
            check(&with(good), &[]);
        }
        check(&with("wall-mode"), &[("a", 7, "broken-link", "did you mean `[[knowledge/wal-mode]]`?")]);
        check(&with("Use a WAL"), &[("a", 7, "broken-link", "did you mean `[[knowledge/wal-mode]]`?")]);
        check(
            &with("nodiscard"),
            &[("a", 7, "broken-link", "write the entry, or remove the link; code belongs in backticks")],
        );
        check(
            &with("gone"),
            &[("a", 7, "broken-link", "bring it back with `ralph-memory restore knowledge/gone`, or remove the link")],
        );
    }

    #[test]
    fn the_first_of_many_broken_links_are_reported() {
        let linking = |n: usize| named("a", "Some title", "x", &"[[a]]\n\n[[nothing]]\n\n".repeat(n));
        let found = |n: usize| {
            let live = [linking(n)];
            problems(&live, &names(&live), now()).finish()
        };
        assert_eq!(found(20).0.len(), 20);
        let (many, total) = found(50);
        assert_eq!((many.len(), many[20].line, many[19].line, total.warnings), (21, None, Some(83), 50));
        assert_eq!(many[20].message, "30 more warnings in this file are not listed");
        assert_eq!(found(21).0[20].message, "1 more warning in this file is not listed");
    }

    #[test]
    fn a_hidden_file_has_an_id_and_no_title() {
        let mut other = named("wal-mode", "Use the WAL", "sqlite", "text");
        other.counts = false;
        check(&[named("a", "Some title", "x", "[[wal-mode]]"), other.clone()], &[]);
        let live = [named("a", "Some title", "x", "[[Use the WAL]]"), other];
        check(&live, &[("a", 5, "broken-link", "did you mean `[[knowledge/wal-mode]]`?")]);
    }

    #[test]
    fn supersedes_without_an_entry_is_found() {
        check(&[replacing("new", "old"), named("old", "Old", "a", "b")], &[]);
        check(&[replacing("new", "gone")], &[]);
        let old = named("old-way", "Old", "a", "b");
        check(
            &[replacing("new", "old-wy"), old.clone()],
            &[("new", 0, "unknown-id", "did you mean `knowledge/old-way`?")],
        );
        check(
            &[replacing("new", "elsewhere"), old],
            &[("new", 0, "unknown-id", "write the id of the entry that this one replaces, or remove it")],
        );
    }

    #[test]
    fn what_agents_want_to_replace_is_for_a_person_to_decide() {
        let by_agent = |stem: &str, old: &str| {
            let head = format!("title: \"{stem}\"\ntags: [a]\nsource: agent\nsupersedes: [{old}]");
            item(&format!("knowledge/{stem}.md"), &head, stem)
        };
        let hint = "confirm with `ralph-memory edit knowledge/new --supersedes knowledge/rule`, or remove it from `supersedes`";
        let rule = || named("rule", "Rule", "b", "text");
        check(&[by_agent("new", "rule"), rule()], &[("new", 0, "suggested-replacement", hint)]);
        check(&[by_agent("new", "own"), by_agent("own", "gone")], &[]);
        // A circle that needs a suggestion hides nothing.
        check(&[by_agent("new", "rule"), replacing("rule", "new")], &[("new", 0, "suggested-replacement", hint)]);
    }

    #[test]
    fn circles_are_reported_at_every_entry_in_them() {
        let hint = "keep in `supersedes` of the newest only the entry that it replaces, and remove it from the others";
        let circle =
            [replacing("one", "two"), replacing("three", "one"), replacing("two", "three"), replacing("top", "one")];
        check(
            &circle,
            &[
                ("one", 0, "supersedes-cycle", hint),
                ("three", 0, "supersedes-cycle", hint),
                ("two", 0, "supersedes-cycle", hint),
            ],
        );
        let (found, _) = problems(&circle, &names(&circle), now()).finish();
        assert!(found.iter().all(|problem| problem.severity == Severity::Error));
        check(&[replacing("self", "self")], &[("self", 0, "supersedes-cycle", "remove its own id from `supersedes`")]);
    }

    #[test]
    fn problems_come_in_the_order_of_the_paths() {
        let live = [named("b", "B", "x", "[[q]]\n\n[[r]]"), replacing("a", "nowhere"), named("c", "B", "y", "other")];
        let (found, _) = problems(&live, &names(&live), now()).finish();
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        let mut sorted = found.clone();
        sorted.sort();
        assert_eq!((found.len(), &found), (4, &sorted));
    }

    #[test]
    fn thousands_of_entries_are_checked_in_seconds_of_cpu_time() {
        // Unoptimised code is some ten times slower than what people run. The thread's own clock, since a machine has other
        // work.
        let cpu = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
        };
        let (n_entries, limit) = if cfg!(debug_assertions) { (4_000, 10_000) } else { (20_000, 700) };
        let verbs = ["cache", "retry", "index", "batch", "shard", "pin", "drop", "wrap", "lock", "trace"];
        let live: Vec<LiveEntry> = (0..n_entries)
            .map(|at| {
                let title =
                    format!("Always {} the {} of module{} before release", verbs[at % 10], verbs[at / 10 % 10], at / 7);
                let mut item = named(&format!("entry-{at}"), &title, &format!("tag{}, rust", at % 50), "x");
                item.head.links = vec![crate::entry::Link {
                    target: format!("always cache the missing of module{}", at % 3_000),
                    line: 5,
                }];
                (item.head.body_fingerprint, item.head.body_words) = (0x1000 + at as u64, 200);
                item
            })
            .collect();
        let started = cpu();
        let found = problems(&live, &names(&live), now());
        let took = cpu() - started;
        assert!(took < limit, "{took} ms");
        let (listed, total) = found.finish();
        assert_eq!(total.warnings, n_entries);
        assert!(listed[..listed.len() - 1].iter().all(|problem| problem.code == "broken-link"));
    }
}
