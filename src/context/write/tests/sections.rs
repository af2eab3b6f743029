//! Each section at its limits.

use std::collections::HashSet;
use std::fmt::Write as _;

use insta::assert_snapshot;

use super::*;
use crate::context::write::recurring::Bullets;
use crate::context::write::section::Section;
use crate::entry::attempt::Validation;

fn room(amount: usize) -> Budget {
    Budget::characters(amount)
}

/// Returns what a section says in exactly the room that it needs, and in one character less.
#[track_caller]
fn at_limits(write: impl Fn(Budget) -> String) -> String {
    let whole = write(room(100_000));
    let length = whole.chars().count();
    assert_eq!(write(room(length)), whole);
    assert_eq!(write(room(0)), "");
    let below = write(room(length - 1));
    for amount in 0..length {
        let text = write(room(amount));
        assert!(text.chars().count() <= amount, "{} > {amount}: {text}", text.chars().count());
    }
    format!("{whole}\n=== with a character less ===\n\n{below}")
}

fn attempts_in(material: &Material, room: Budget) -> (Section, String) {
    let section = attempts::section(material, room);
    let text = section.render(room);
    (section, text)
}

fn learnings_in(learnings: &[Reference], room: Budget) -> String {
    learnings::section(learnings, room, 500).render(room)
}

fn knowledge_in(references: &[Reference], room: Budget) -> String {
    knowledge::section(references, &HashSet::new(), room, 500).render(room)
}

/// Returns an attempt of the first run with what an agent, a verification and a person may say.
fn telling(number: usize, outcome: Outcome, tell: impl Fn(&mut Attempt)) -> NumberedAttempt {
    let mut past = past("run-1a2b3c4d", u32::try_from(number).unwrap(), number, outcome);
    past.attempt.head.duration_secs = Some(42.0);
    tell(&mut past.attempt);
    past
}

fn every_kind_of_attempt() -> Vec<NumberedAttempt> {
    vec![
        telling(1, Outcome::Done, |attempt| {
            attempt.sections.notes = "Chose a table for each kind.".into();
            attempt.sections.why_failed = "Never said of what was done.".into();
            attempt.head.files.modified = vec!["src/db.rs".into()];
        }),
        telling(2, Outcome::Blocked, |attempt| {
            attempt.head.error_category = Some("unknown".into());
            attempt.sections.why_failed = "Task failed (no structured report)".into();
            attempt.sections.error_output = "panicked at src/db.rs:7:\n\n  no such table: `t`\n".into();
        }),
        telling(3, Outcome::Retried, |attempt| {
            attempt.head.validation =
                Some(Validation { command: "cargo test".into(), exit_code: 101, duration_ms: 2_341 });
            attempt.sections.validation_output = format!("{}\ntest result: FAILED", "x".repeat(600));
        }),
        telling(4, Outcome::Failed, |attempt| {
            attempt.head.error_category = Some("test_failure".into());
            attempt.head.files.relevant = (0..12).map(|n| format!("src/{n}.rs")).collect();
            attempt.sections.what_tried = "Wrote\n\n# all tables\n\n- at once".into();
            attempt.sections.why_failed = "Keys in a circle.".into();
            attempt.sections.retry_suggestion =
                "Defer the keys.\n\n```sql\nPRAGMA defer_foreign_keys = ON;\n```".into();
            attempt.sections.feedback = "Read the manual first.\nSection 2.".into();
        }),
        telling(5, Outcome::Interrupted, |attempt| attempt.sections.feedback = "Stop.".into()),
    ]
}

fn of_task(attempts: Vec<NumberedAttempt>) -> Material {
    Material {
        instructions: Instructions::new("t-abc123"),
        n_attempts: attempts.len(),
        attempts,
        ..Material::default()
    }
}

#[test]
fn attempts_at_their_limits() {
    let material = of_task(every_kind_of_attempt());
    assert_snapshot!("attempts", at_limits(|room| attempts_in(&material, room).1));
    assert_eq!(attempts_in(&of_task(Vec::new()), room(3_000)).1, "");
}

#[test]
fn learnings_at_their_limits() {
    let learnings = [
        reference("one", Some("pitfall"), "Keys are off by default.\nTurn them on.\n"),
        reference("two", Some("tool_usage"), "Run one test:\n\n```sh\ncargo test NAME\n```\n\nNot all."),
        reference("three", Some("other"), "- a list\n- of two"),
        reference("four", Some("other"), "Fourth."),
        reference("five", Some("other"), "Fifth."),
    ];
    assert_snapshot!("learnings", at_limits(|room| learnings_in(&learnings, room)));
    assert_eq!(learnings_in(&[], room(1_500)), "");
}

#[test]
fn the_status_at_its_limits() {
    let refused = ["line 40: <learning> without tags", "line 51: <journal> is not closed"].map(str::to_owned).to_vec();
    let told = Status {
        stuck: Some(Stuck { failed_with: vec![("test_failure".into(), 2)], tell_person: true, ..stuck() }),
        refused,
        streak: 3,
        ..status()
    };
    let write = |told: &Status| at_limits(|room| status::section(Some(told), &Bullets::default(), room));
    assert_snapshot!("status", write(&told));
    assert_snapshot!("status_plain", write(&Status { limit: None, succeeded: 0, counted: 0, ..status() }));
    assert_eq!(status::section(None, &Bullets::default(), room(500)), "");
}

#[test]
fn the_journal_at_its_limits() {
    let own: Vec<NumberedAttempt> = (1..=6)
        .map(|number| {
            telling(number, Outcome::Done, |attempt| {
                attempt.head.cost_usd = Some(if number == 3 { 0.31 } else { 0.0 });
                attempt.sections.notes = format!("Note {number}.\n\n- folded");
                attempt.head.files.created = vec!["src/main.rs".into(), "src/lib.rs".into()];
            })
        })
        .collect();
    let other = |number: u32, outcome| {
        let mut past = past("run-00000000", number, 1, outcome);
        past.attempt.sections.why_failed = "The table was there.".into();
        past.attempt.head.validation = Some(Validation { command: "make".into(), exit_code: 2, duration_ms: 1 });
        past
    };
    let mut stopped = other(2, Outcome::Interrupted);
    (stopped.attempt.head.model, stopped.attempt.sections.why_failed) = (None, String::new());
    stopped.attempt.sections.feedback = "Not in this\nway.".into();
    let matching = [other(1, Outcome::Failed), stopped, other(9, Outcome::Retried)];
    let write = |room: Budget| journal::section(&own, &matching, &[], room).render(room);
    assert_snapshot!("journal", at_limits(write));
    assert_eq!(journal::section(&[], &[], &[], room(12_000)).render(room(12_000)), "");
}

#[test]
fn knowledge_at_its_limits() {
    let references = [
        reference("one", None, "\nUse `a`.\n\n~~~~\ncode\n~~~~\n<journal>no</journal>\n"),
        reference("two", None, &"word ".repeat(600)),
        reference("three", None, "Third."),
    ];
    assert_snapshot!("knowledge", at_limits(|room| knowledge_in(&references, room)));
    assert_eq!(knowledge_in(&[], room(8_000)), "");
}

#[test]
fn a_long_top_entry_does_not_empty_its_section() {
    let long = reference("long", Some("pitfall"), &"many words ".repeat(200));
    let short = reference("short", Some("pitfall"), "short");
    // The next one is shown instead, and the long one named.
    let text = learnings_in(&[long.clone(), short.clone()], room(300));
    assert!(
        text.contains(
            "- **[pitfall]** About short (`knowledge/short`): short\n\nLeft out for space: `knowledge/long`;"
        ),
        "{text}"
    );
    let text = knowledge_in(&[long.clone(), short], room(500));
    assert!(text.contains("short\n~~~\n\nLeft out for space: `knowledge/long`;"), "{text}");
    // Where there is no other, as much of it as there is room for.
    let text = learnings_in(std::slice::from_ref(&long), room(300));
    assert!(text.ends_with("many words [truncated]\n") && text.chars().count() > 280, "{text}");
    let text = knowledge_in(&[long], room(500));
    assert!(text.ends_with("many words\n\n[truncated]\n~~~\n") && text.chars().count() > 480, "{text}");

    let own = [telling(1, Outcome::Done, |attempt| attempt.sections.notes = "Short.".into()), {
        telling(2, Outcome::Done, |attempt| attempt.sections.notes = "long ".repeat(500))
    }];
    let text = journal::section(&own, &[], &[], room(400)).render(room(400));
    assert!(text.contains("Short.\n\nLeft out for space: `journal/run-1a2b3c4d/0002`;"), "{text}");
    // The newest attempt at the task is kept, whatever the others take.
    let long = |number| telling(number, Outcome::Failed, |attempt| attempt.sections.what_tried = "tried ".repeat(900));
    let (section, text) = attempts_in(&of_task(vec![long(1), long(2), long(3)]), room(500));
    assert_eq!(lines(&section.shown), ["journal/run-1a2b3c4d/0003"]);
    assert!(text.contains("- **Approach:** tried tried") && text.contains("\n_(truncated)_\n"), "{text}");
    assert!(text.contains("Left out for space: 2 more;"), "{text}");
}

#[test]
fn a_code_block_at_the_cut() {
    let body = "Do this:\n\n```sh\ncargo build\ncargo test\n```\n\nThen that, and more.";
    let learning = [reference("code", Some("pitfall"), body)];
    // Each is shown once it has the room that it needs.
    let cuts = [
        "- **[pitfall]** About code (`knowledge/code`): Do [truncated]\n",
        "- **[pitfall]** About code (`knowledge/code`): Do this: [truncated]\n",
        "- **[pitfall]** About code (`knowledge/code`): Do this:\n  ````\n  ```sh\n  cargo\n  ```\n\n  [truncated]\n  ````\n",
        "- **[pitfall]** About code (`knowledge/code`): Do this:\n  ````\n  ```sh\n  cargo build\n  ```\n\n  [truncated]\n  ````\n",
        "- **[pitfall]** About code (`knowledge/code`): Do this:\n  ````\n  ```sh\n  cargo build\n  cargo test\n  ```\n\n  [truncated]\n  ````\n",
        "- **[pitfall]** About code (`knowledge/code`): Do this:\n  ````\n  ```sh\n  cargo build\n  cargo test\n  ```\n\n  Then that, and more.\n  ````\n",
    ];
    for (index, cut) in cuts.iter().enumerate() {
        let expected = format!("## Learnings from Previous Iterations\n\n{cut}");
        let length = expected.chars().count();
        assert_eq!(learnings_in(&learning, room(length)), expected);
        if let Some(shorter) = index.checked_sub(1) {
            assert!(learnings_in(&learning, room(length - 1)).ends_with(cuts[shorter]));
        }
    }
    // A block that begins with code is cut at a line, and its own fence closed.
    let entry = [reference("code", None, &body["Do this:\n\n".len()..])];
    let mut ends: Vec<String> = (0..300)
        .filter_map(|amount| Some(knowledge_in(&entry, room(amount)).split_once("~~~ reference\n")?.1.to_owned()))
        .collect();
    ends.dedup();
    let expected = [
        "```sh\ncargo\n```\n\n[truncated]\n~~~\n",
        "```sh\ncargo build\n```\n\n[truncated]\n~~~\n",
        "```sh\ncargo build\ncargo test\n```\n\n[truncated]\n~~~\n",
        "```sh\ncargo build\ncargo test\n```\n\nThen that, and more.\n~~~\n",
    ];
    assert_eq!(ends.iter().filter(|end| !end.contains('…')).collect::<Vec<_>>(), expected);
}

#[test]
fn a_multi_byte_text_at_each_cut() {
    let text = "日本語の文章です。".repeat(40) + "\n\nдва абзаца é";
    let learnings = [reference("one", Some("pitfall"), &text)];
    at_limits(|room| learnings_in(&learnings, room));
    at_limits(|room| knowledge_in(&learnings, room));
    let tell = |attempt: &mut Attempt| {
        let sections = &mut attempt.sections;
        for part in
            [&mut sections.what_tried, &mut sections.why_failed, &mut sections.error_output, &mut sections.feedback]
        {
            part.clone_from(&text);
        }
        (sections.retry_suggestion, sections.notes) = (text.clone(), text.clone());
        attempt.head.model = Some(text.clone());
    };
    let material = of_task(vec![telling(1, Outcome::Failed, tell)]);
    at_limits(|room| attempts_in(&material, room).1);
    let own = material.attempts;
    at_limits(|room| journal::section(&own, &[], &[], room).render(room));
    let told = Status { model: text.clone(), rationale: text.clone(), refused: vec![text], ..status() };
    at_limits(|room| status::section(Some(&told), &Bullets::default(), room));
    // In tokens, such text costs more than it has characters.
    for amount in 0..400 {
        let room = Budget::tokens(amount);
        assert!(room.fits(&attempts_in(&of_task(own.clone()), room).1), "{amount}");
        assert!(room.fits(&learnings_in(&learnings, room)), "{amount}");
    }
}

#[test]
fn an_attempt_is_shown_once() {
    let own: Vec<NumberedAttempt> = (1..=7)
        .map(|number| telling(number, Outcome::Failed, |attempt| attempt.sections.what_tried = "tried ".repeat(80)))
        .collect();
    let mut elsewhere = past("run-00000000", 4, 1, Outcome::Done);
    elsewhere.attempt.task_id = Some("t-other".into());
    let material = Material {
        journal: own.clone(),
        matching: vec![own[6].clone(), own[0].clone(), elsewhere.clone(), elsewhere],
        n_attempts: 9,
        ..of_task(own)
    };
    let context = build(&material, default_budget(27_000, &material.instructions), 500);
    let expected: Vec<String> = (1..=7).map(|number| format!("journal/run-1a2b3c4d/{number:04}")).collect();
    assert_eq!(lines(&context.attempts)[..7], expected);
    assert_eq!(lines(&context.attempts)[7..], ["journal/run-00000000/0004"]);
    assert_eq!(context.left_out, []);
    assert!(context.text.contains("\nLeft out for space: 2 more;"), "{}", context.text);
    for number in 1..=7 {
        let marks = [format!("### Attempt {number} ("), format!("### Iteration {number} [")];
        let n_places: usize = marks.iter().map(|mark| context.text.matches(mark).count()).sum();
        assert_eq!(n_places, 1, "{number}: {}", context.text);
    }
}

#[test]
fn knowledge_is_shown_once() {
    let shared = reference("shared", Some("pitfall"), "Of use in both.");
    let said_again =
        Reference { title: shared.title.clone(), ..reference("again", Some("pitfall"), "Of use in both!") };
    let material = Material {
        learnings: vec![shared.clone(), said_again],
        knowledge: vec![shared, reference("plain", None, "Plain.")],
        ..Material::default()
    };
    let context = build(&material, default_budget(27_000, &material.instructions), 500);
    assert_eq!(lines(&context.entries), ["knowledge/shared", "knowledge/plain"]);
    assert_eq!(lines(&context.left_out), ["knowledge/again"]);
    assert_eq!(context.text.matches("Of use in both").count(), 1);
}

#[test]
fn of_similar_learnings_the_first_is_told_and_the_others_are_left_out() {
    let check = |bodies: &[&str], expected: &[usize]| {
        let learning = |(number, body): (usize, &&str)| {
            let category = if body.starts_with("other") { "other" } else { "pitfall" };
            Reference { title: String::new(), ..reference(&number.to_string(), Some(category), body) }
        };
        let learnings: Vec<Reference> = bodies.iter().enumerate().map(learning).collect();
        let section = learnings::section(&learnings, room(3_000), 500);
        let shown: Vec<String> = expected.iter().map(|number| format!("knowledge/{number}")).collect();
        assert_eq!(lines(&section.shown), shown, "{bodies:?}");
        let n_similar = bodies.len() - expected.len();
        assert_eq!(section.left_out.ids.len(), n_similar, "{bodies:?}");
        assert_eq!(section.text.contains(&format!(", and {n_similar} similar")), n_similar > 0, "{}", section.text);
        section.text
    };
    let nine = "the shop resets its staging database each night";
    let text = check(&[nine, "the other", "the shop resets its production database each night", nine], &[0, 1]);
    assert!(text.starts_with(
        "## Learnings from Previous Iterations\n\n- **[pitfall]** (`knowledge/0`, and 2 similar) the shop"
    ));
    // Three of four words, and another category.
    check(&["one two three four", "one two three five"], &[0, 1]);
    check(&[nine, &format!("other {nine}")], &[0, 1]);
    // A negation, a number, a symbol, a name, a single letter.
    let base = "the shop resets the database of each tenant every night before the backups begin";
    for other in ["never", "3", "==", "--force", "Postgres", "`tenants`", "B"] {
        check(&[base, &format!("{base} with {other}")], &[0, 1]);
    }
}

#[test]
fn five_learnings_are_shown_and_the_others_listed() {
    let learnings: Vec<Reference> =
        (0..8).map(|number| reference(&format!("l{number}"), Some("other"), &format!("Number {number}."))).collect();
    let text = learnings_in(&learnings, room(1_500));
    assert_eq!(text.matches("`): Number").count(), 5);
    let line =
        "Left out for space: `knowledge/l5`, `knowledge/l6`, `knowledge/l7`; `ralph-memory show ID` prints one.\n";
    assert!(text.ends_with(line), "{text}");
}

#[test]
fn a_suggestion_is_that_of_the_newest_failure() {
    use Outcome::{Blocked, Done, Error, Failed, Interrupted, Partial, Retried};
    let check = |attempts: &[(Outcome, &str)], expected: Option<&str>| {
        let attempts = attempts.iter().zip(1..).map(|((outcome, suggestion), number)| {
            telling(number, *outcome, |attempt| attempt.sections.retry_suggestion = (*suggestion).to_owned())
        });
        let text = attempts_in(&of_task(attempts.collect()), room(3_000)).1;
        let found = text.split_once("\n\n**Suggested approach for this retry:**\n").map(|(_, suggestion)| suggestion);
        assert_eq!(found, expected.map(|text| format!("{text}\n")).as_deref());
    };
    check(&[(Failed, "one"), (Failed, "two")], Some("two"));
    check(&[(Failed, "one"), (Failed, "")], None);
    check(&[(Failed, "one"), (Retried, "")], None);
    check(&[(Blocked, "one"), (Error, ""), (Interrupted, ""), (Partial, "")], Some("one"));
    check(&[(Failed, "one"), (Partial, "two")], Some("two"));
    check(&[(Failed, "one"), (Done, "")], None);
    check(&[(Failed, "# one")], Some("\\# one"));
    check(&[(Failed, "one\n# two")], Some("> one\n> # two"));
}

#[test]
fn neither_the_newest_attempt_nor_the_suggestion_pushes_the_other_out() {
    let check = |tried: usize, suggestion: usize, amount: usize, expected: (usize, usize)| {
        let attempt = telling(1, Outcome::Failed, |attempt| {
            attempt.sections.what_tried = "ť ".repeat(tried);
            attempt.sections.retry_suggestion = "š ".repeat(suggestion);
        });
        let text = attempts_in(&of_task(vec![attempt]), room(amount)).1;
        let count = |mark: &str| text.matches(mark).count();
        assert_eq!((count("ť"), count("š")), expected, "{text}");
    };
    check(100, 100, 3_000, (100, 100));
    check(2_000, 2_000, 993, (191, 202));
    check(2_000, 20, 993, (374, 20));
    check(20, 2_000, 993, (20, 381));
}

#[test]
fn a_suggestion_that_is_shorter_whole_than_cut_always_fits() {
    let attempt = telling(1, Outcome::Failed, |attempt| {
        attempt.sections.feedback = "word ".repeat(100);
        attempt.sections.retry_suggestion = "===".into();
    });
    let material = of_task(vec![attempt]);
    for tokens in 52..200 {
        let text = attempts_in(&material, Budget::tokens(tokens)).1;
        assert!(text.contains("\n**Suggested approach for this retry:**\n\\===\n"), "{tokens}: {text}");
        assert!(text.contains("### Attempt 1 ("), "{tokens}: {text}");
    }
}

#[test]
fn only_approaches_that_failed_are_warned_of() {
    use Outcome::{Blocked, Done, Error, Failed, Interrupted, Partial, Retried};
    let check = |outcomes: &[Outcome], expected: &str| {
        let attempts = (1..).zip(outcomes).map(|(number, outcome)| telling(number, *outcome, |_| {}));
        let text = attempts_in(&of_task(attempts.collect()), room(3_000)).1;
        let line = text.lines().find_map(|line| line.strip_prefix("This task has been attempted ")).unwrap();
        assert_eq!(line, expected, "{outcomes:?}");
    };
    check(&[Error], "once before.");
    check(&[Interrupted, Error, Done, Partial], "4 times before.");
    for outcome in [Failed, Blocked, Retried] {
        check(&[outcome], "once before. **Do not repeat these approaches.**");
        check(&[outcome, Interrupted], "2 times before. **Do not repeat the approaches that failed.**");
    }
}

#[test]
fn feedback_is_cut_last() {
    let attempt = telling(1, Outcome::Failed, |attempt| {
        attempt.sections.what_tried = "tried ".repeat(100);
        attempt.sections.error_output = "output ".repeat(60);
        attempt.sections.feedback = "Please use the other table.".into();
    });
    let material = of_task(vec![attempt]);
    for (amount, has_output) in [(3_000, true), (235, false), (210, false)] {
        let text = attempts_in(&material, room(amount)).1;
        assert!(text.contains("\n- **Feedback from a person:** Please use the other table.\n"), "{text}");
        assert_eq!(text.contains("Error output"), has_output, "{text}");
    }
    let text = attempts_in(&material, room(193)).1;
    assert!(text.contains("- **Feedback from a person:** Please use…\n\n_(truncated)_\n"), "{text}");
}

#[test]
fn a_warning_gives_the_reason() {
    let check = |streak: u32, same_error: bool, tree_seen: bool, expected: &str| {
        let stuck = Stuck { threshold: 3, same_error, tree_seen, ..stuck() };
        let told = Status { streak, stuck: Some(stuck), ..status() };
        let text = status::section(Some(&told), &Bullets::default(), room(2_000));
        let line = text.lines().find_map(|line| line.strip_prefix("> ⚠️ **Stuck loop detected.** ")).unwrap();
        assert_eq!(line, format!("This task has failed {expected}."));
    };
    check(3, true, true, "3+ times consecutively");
    check(7, false, false, "3+ times consecutively");
    check(2, true, false, "2 times in a row, the last two with the same error");
    check(2, false, true, "2 times in a row, and the work tree is back in a state it was in before");
    check(1, false, false, "1 time in a row");
}

#[test]
fn refused_sigils_are_listed_as_far_as_there_is_room() {
    let refused: Vec<String> = (0..7).map(|number| format!("line {number}: <journal> is empty")).collect();
    let told = Status { refused, ..status() };
    let check = |amount: usize, expected: &[&str]| {
        let text = status::section(Some(&told), &Bullets::default(), room(amount));
        let mut found = String::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("- **Problem in the last report:** ")) {
            writeln!(found, "{line}").unwrap();
        }
        assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{text}");
        text
    };
    let line = |number: usize| format!("line {number}: &lt;journal> is empty");
    let lines: Vec<String> = (0..5).map(line).collect();
    let mut all: Vec<&str> = lines.iter().map(String::as_str).collect();
    all.push("and 2 more");
    check(2_000, &all);
    check(370, &[all[0], "and 6 more"]);
    assert!(check(300, &["7 elements"]).contains("Run success rate"));
    assert!(!check(100, &["7 elements"]).contains("Run success rate"));
}

fn event(name: &str, scope: &str, importance: u8, day: i64, summary: &str) -> ShownEvent {
    ShownEvent {
        is_relevant: false,
        id: Id::parse(name).unwrap(),
        category: "decision".to_owned(),
        scope: Scope::from(scope.to_owned()),
        source: Source::Reviewer,
        importance,
        recency: Some(DateTime::UNIX_EPOCH + chrono::Duration::days(day)),
        title: String::new(),
        summary: summary.to_owned(),
    }
}

#[test]
fn similar_events_of_one_task_are_folded_into_the_first() {
    let said =
        |of_what: &str| format!("The reviewer wants tests for each branch of the {of_what} before it is merged.");
    let of_scope =
        |scope: &str| [("1", "parser"), ("2", "lexer")].map(|(name, what)| event(name, scope, 50, 1, &said(what)));
    let section = |scope: &str| events::section(&of_scope(scope), &[], &HashSet::new(), room(3_000));
    let of_task = section("task:t-1");
    assert_eq!((lines(&of_task.shown), lines(&of_task.left_out.ids)), (vec!["knowledge/1"], vec!["knowledge/2"]));
    assert!(of_task.text.contains("(reviewer, 1970-01-02, and 1 similar)"), "{}", of_task.text);
    assert_eq!(section("project").shown.len(), 2);
}

#[test]
fn events_are_grouped_by_scope_the_most_important_first() {
    let events = [
        event("old", "project", 50, 1, "Old."),
        event("new", "project", 50, 2, "New."),
        event("top", "project", 90, 0, "Top."),
        event("section", "section:storage", 50, 1, "Two\nlines <journal>."),
        event("task", "task:t-1", 10, 1, "Mine."),
        event("feature", "feature:x", 50, 1, "Feature."),
    ];
    let section = events::section(&events, &[], &HashSet::new(), room(2_000));
    assert_snapshot!("events", section.render(room(2_000)));
    assert_eq!(
        lines(&section.shown),
        ["task", "section", "feature", "top", "new", "old"].map(|id| format!("knowledge/{id}"))
    );
    let length = section.render(room(2_000)).chars().count();
    assert_eq!(
        events::section(&events, &[], &HashSet::new(), room(length)).render(room(length)),
        section.render(room(2_000))
    );
    // The least important event goes first, and is named.
    let fewer = events::section(&events, &[], &HashSet::new(), room(length - 1));
    assert!(!fewer.shown.iter().any(|id| id.stem() == "task"), "{:?}", fewer.shown);
    assert!(fewer.render(room(length - 1)).contains("Left out for space: "));
    assert_eq!(events::section(&events, &[], &HashSet::new(), room(10)).render(room(10)), "");
    assert_eq!(events::section(&[], &[], &HashSet::new(), room(2_000)).render(room(2_000)), "");
}

#[test]
fn events_come_under_their_heading_before_the_instructions() {
    let material = Material { events: vec![event("a", "project", 50, 1, "It happened.")], ..of_task(Vec::new()) };
    let context = build(&material, default_budget(27_000, &material.instructions), 500);
    let (events, instructions) = context.text.split_once("\n\n## What to Report\n\n").unwrap();
    assert!(events.starts_with("## Memory\n\nWhat happened before"), "{events}");
    assert!(events.ends_with("- **[decision]** It happened. (reviewer, 1970-01-02)"), "{events}");
    assert!(instructions.starts_with("End your final answer"));
    assert_eq!(lines(&context.entries), ["knowledge/a"]);
}

#[test]
fn the_longest_warning_leaves_room_for_the_newest_attempt() {
    let mut short = past("run-1a2b3c4d", 1, 1, Outcome::Interrupted);
    short.attempt.sections = Sections { retry_suggestion: "aaa".into(), ..Sections::default() };
    let mut long = every_kind_of_attempt();
    long.truncate(4);
    long[3].attempt.head.model = Some("語".repeat(100));
    for (attempts, newest, n_budgets) in [(long, 4, 1), (vec![short], 1, 300)] {
        let stuck = Stuck {
            threshold: 5,
            same_error: true,
            tree_seen: true,
            failed_with: vec![("語".repeat(90), 9); 9],
            tell_person: true,
        };
        let refused = vec![String::new(), "x".repeat(300), "y".repeat(300)];
        let mut material = Material {
            status: Some(Status { streak: 4, stuck: Some(stuck), refused, ..status() }),
            journal: attempts.clone(),
            learnings: vec![reference("one", Some("pitfall"), "One.")],
            ..of_task(attempts)
        };
        for (empty, id) in [Budget::characters(0), Budget::tokens(0)]
            .into_iter()
            .flat_map(|empty| ["t-abc123", "", "\n###"].map(|id| (empty, id)))
        {
            material.instructions = Instructions::new(id);
            for beyond in 0..n_budgets {
                let budget = Budget { amount: empty.least(&material.instructions) + beyond, ..empty };
                let context = build(&material, budget, 500);
                let text = &context.text;
                assert!(budget.cost(text) <= budget.amount);
                assert_eq!(
                    lines(&context.attempts),
                    [format!("journal/run-1a2b3c4d/{newest:04}")],
                    "{budget:?} {text}"
                );
                assert!(text.contains("**Suggested approach for this retry:**\n"), "{text}");
                assert!(text.contains("Stuck loop detected") && text.contains("A person should look"), "{text}");
                assert!(text.contains(&format!("### Attempt {newest} (")), "{text}");
                assert!(newest == 1 || text.contains("_(truncated)_"), "{text}");
            }
        }
    }
}

/// Returns material that fills every section: ten attempts of 1,300 characters, eight learnings of 400, ten attempts of
/// the run and others of 900, thirty entries of 1,000, thirty events of 200.
fn plenty() -> Material {
    let words = |n: usize| "word ".repeat(n);
    let attempt = |number| {
        telling(number, Outcome::Failed, |attempt| {
            (attempt.sections.what_tried, attempt.sections.why_failed) = (words(120), words(120));
        })
    };
    let other = |run: &str, number: usize| {
        let mut other = past(run, u32::try_from(number).unwrap(), 1, Outcome::Failed);
        (other.attempt.sections.notes, other.attempt.sections.why_failed) = (words(120), words(30));
        other
    };
    let learning = |number: usize| {
        reference(&format!("l{number}"), Some("pitfall"), &format!("{number}{}", words(number * 7 + 50)))
    };
    let known = |number: usize| reference(&format!("k{number}"), None, &words(180));
    let event = |number: usize| event(&format!("e{number}"), "project", 50, 1, &words(30));
    Material {
        learnings: (0..8).map(learning).collect(),
        status: Some(Status { stuck: Some(Stuck { tell_person: true, ..stuck() }), ..status() }),
        journal: (20..25).map(|number| other("run-1a2b3c4d", number)).collect(),
        matching: (1..6).map(|number| other("run-00000000", number)).collect(),
        knowledge: (0..30).map(known).collect(),
        events: (0..30).map(event).collect(),
        ..of_task((1..=10).map(attempt).collect())
    }
}

/// The headings, in the order of the sections.
const HEADINGS: [&str; 7] = [
    "## Previous Attempts",
    "## Learnings from Previous Iterations",
    "## Loop Status",
    "## Run Journal",
    "## Project Knowledge",
    "## Memory",
    "## What to Report",
];

/// Returns how many characters each section has.
pub(super) fn lengths(text: &str) -> [usize; 7] {
    // Quoted and fenced texts of attempts have such lines as well, indented.
    let line = |heading: &str| format!("\n{heading}\n");
    let start = |heading: &&str| {
        let is_first = text.starts_with(&line(heading)[1..]);
        if is_first { Some(0) } else { text.find(&line(heading)).map(|at| at + 1) }
    };
    HEADINGS.map(|heading| {
        let Some(at) = start(&heading) else { return 0 };
        let end = HEADINGS.iter().filter_map(start).filter(|other| *other > at).min().unwrap_or(text.len());
        text[at..end].trim_end().chars().count()
    })
}

#[test]
fn sections_are_filled_in_the_order_of_their_worth() {
    let table = |material: &Material| {
        let mut table = "budget   used  attempts  learnings  status  journal  knowledge  events\n".to_owned();
        for amount in [2_000, 4_000, 6_000, 8_000, 15_000, 27_000, 60_000] {
            let context = build(material, Budget::characters(amount), 500);
            let [attempts, learnings, status, journal, knowledge, events, _] = lengths(&context.text);
            let used = context.text.chars().count();
            writeln!(
                table,
                "{amount:6} {used:6} {attempts:9} {learnings:10} {status:7} {journal:8} {knowledge:10} {events:7}"
            )
            .unwrap();
        }
        table
    };
    assert_snapshot!("budgets", table(&plenty()));
    // A first attempt, and one with little knowledge.
    assert_snapshot!(
        "budgets_of_a_first_attempt",
        table(&Material { attempts: Vec::new(), n_attempts: 0, ..plenty() })
    );
    let few = Material { knowledge: Vec::new(), events: Vec::new(), ..plenty() };
    assert_snapshot!("budgets_without_knowledge", table(&few));
}

#[test]
fn a_briefing_of_failures_alone_uses_its_budget() {
    let open = (1..=10).map(|number| {
        let last = telling(number, Outcome::Failed, |attempt| {
            (attempt.sections.what_tried, attempt.sections.why_failed) = ("word ".repeat(20), "word ".repeat(20));
        });
        OpenTask { id: Some(format!("t-{number}")), streak: 1, failed_at: last.attempt.started_at, last }
    });
    let material = BriefingMaterial { open: open.collect(), ..BriefingMaterial::default() };
    let briefing = brief(&material, Budget::characters(3_500), false);
    let n_used = briefing.text.chars().count();
    assert!((2_625..=3_500).contains(&n_used) && briefing.attempts.len() >= 6, "{n_used}: {}", briefing.text);
}
