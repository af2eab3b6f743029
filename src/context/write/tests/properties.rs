//! A context keeps its promises, whatever the material.

use std::collections::HashSet;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;
use crate::agent_output::elements::{self, defuse};
use crate::context;
use crate::entry::attempt::{Account, Files, Validation};
use crate::knowledge::Staleness;
use crate::test_cases::cases;

/// Texts that imitate other constructs.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zé語 ]{1,40}",
        3 => prop::sample::select(vec![
            "\n", "\n\n", "\r", "\r\n", "\u{2028}", "\n# Heading\n", "\n## Run Journal\n\n", "## Loop Status", "\n===\n",
            "\n---\n", "```", "\n```sh\n", "\n~~~~~\n", "`", "``", "> ", "\n> quote\n", "\n- ", "\n  ", "\n    ", "\n\t", "1. ",
            "<journal>", "</task-done>", "< / Learning", "## MEMORY_SUGGESTIONS", "<task-done>t-1</task-done>", "<!--",
            "\n<div>\n", "\n<!--\n", "<script>", "\u{202e}", "\u{2066}\u{1b}[31m", "\u{0}", "[truncated]", "**", "_", "\\",
            "[a]: b\n", "[^1]", "| a | b |\n|---|---|\n", "|-|", ":-:", "$$", "&lt;", "⚠️", "_(truncated)_", "#", "+++",
        ]).prop_map(str::to_owned),
        1 => (1usize..4_000).prop_map(|n| "x".repeat(n)),
        1 => (1usize..900).prop_map(|n| "語".repeat(n)),
        1 => (1usize..700).prop_map(|n| "word ".repeat(n)),
    ];
    prop_oneof![
        1 => Just(String::new()),
        4 => prop::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat()),
    ]
}

fn references(name: &'static str, category: Option<&'static str>) -> impl Strategy<Value = Vec<Reference>> {
    let body = prop_oneof![4 => hostile(), 1 => "One of a few that say the same[ab]?( again)?"];
    let doubt = prop::option::of(prop_oneof![
        hostile().prop_map(|path| Staleness::Gone { path }),
        (hostile(), hostile()).prop_map(|(name, path)| Staleness::Changed { name, path }),
    ]);
    let one = (hostile(), hostile(), prop::option::of(hostile()), body, any::<bool>(), doubt);
    let one = one.prop_map(move |(title, tag, odd, body, is_usual, unverified)| Reference {
        unverified,
        title,
        tags: vec![tag],
        category: if is_usual { category.map(str::to_owned) } else { odd },
        ..reference(name, None, &body)
    });
    prop::collection::vec(one, 0..9).prop_map(move |mut all| {
        for (reference, number) in all.iter_mut().zip(1..) {
            reference.id = Id::parse(&format!("{name}-{number}")).unwrap();
        }
        all
    })
}

fn pasts(run: &'static str) -> impl Strategy<Value = Vec<NumberedAttempt>> {
    let texts = prop::collection::vec(hostile(), 14);
    let one = (texts, 0usize..Outcome::ALL.len(), any::<u64>(), prop::option::of(any::<f64>()), any::<bool>());
    let one = one.prop_map(move |(texts, outcome, odd, seconds, is_terse)| {
        let mut texts = texts.into_iter();
        let mut text = || texts.next().unwrap();
        let mut past = past(run, 1, 1, Outcome::ALL[outcome]);
        let head = &mut past.attempt.head;
        (head.model, head.error_category) = (Some(text()), Some(text()));
        (head.duration_secs, head.cost_usd) = (seconds, seconds.map(|seconds| seconds / 2.0));
        let command = text();
        head.validation = (odd % 3 > 0).then_some(Validation { command, exit_code: 101, duration_ms: odd });
        head.files = Files { relevant: vec![text(), text()], ..Files::default() };
        (past.attempt.task_id, past.attempt.task_title) = (Some(text()), text());
        past.attempt.sections = Sections {
            notes: text(),
            why_failed: text(),
            error_output: text(),
            validation_output: text(),
            feedback: text(),
            retry_suggestion: text(),
            what_tried: if is_terse { String::new() } else { text() },
            ..Sections::default()
        };
        past
    });
    prop::collection::vec(one, 0..7).prop_map(move |mut all| {
        for (past, number) in all.iter_mut().zip(1..) {
            past.id = Id::parse(&format!("journal/{run}/{number:04}")).unwrap();
            past.number = number;
            past.attempt.head.iteration = u32::try_from(number).unwrap();
        }
        all
    })
}

fn statuses() -> impl Strategy<Value = Option<Status>> {
    let stuck = (0u32..6, any::<[bool; 3]>(), prop::collection::vec((hostile(), 0usize..4), 0..7));
    let status =
        (any::<[u32; 4]>(), hostile(), hostile(), prop::option::of(stuck), prop::collection::vec(hostile(), 0..8));
    prop::option::of(status.prop_map(|(numbers, model, rationale, stuck, refused)| {
        let stuck = stuck.map(|(threshold, [same_error, tree_seen, tell_person], failed_with)| Stuck {
            threshold,
            same_error,
            tree_seen,
            failed_with,
            tell_person,
        });
        let [iteration, limit, attempt, counted] = numbers;
        let (attempt, counted) = (attempt as usize, counted as usize);
        let limit = Some(limit).filter(|limit| limit % 2 > 0);
        let streak = iteration % 8;
        Status { iteration, limit, attempt, streak, succeeded: counted / 3, counted, model, rationale, stuck, refused }
    }))
}

fn recurring() -> impl Strategy<Value = Recurring> {
    // Some of the iterations are in the context, and some of the files in their attempts.
    let attempts = prop::collection::vec((0usize..2, 1u32..9), 2..6).prop_map(|all| {
        let id = |(run, number)| Id::parse(&format!("journal/{}/{number:04}", ["run-1a2b3c4d", "x"][run])).unwrap();
        all.into_iter().map(id).collect()
    });
    let error = (attempts, hostile()).prop_map(|(attempts, line)| ErrorLine { attempts, line });
    let file = prop_oneof![1 => hostile(), 1 => "src/[a-d]{1,9}[.]rs"];
    (prop::collection::vec(file, 0..12), prop::collection::vec(error, 0..4))
        .prop_map(|(files, errors)| Recurring { files, errors })
}

fn events() -> impl Strategy<Value = Vec<context::ShownEvent>> {
    let scope = prop_oneof![
        2 => Just(Scope::Project),
        1 => hostile().prop_map(Scope::Section),
        1 => hostile().prop_map(Scope::Feature),
        1 => Just(Scope::Task("t-1".into())),
    ];
    let one = (scope, hostile(), hostile(), hostile(), 0u8..=100, prop::option::of(0i64..5));
    let one = one.prop_map(|(scope, category, title, summary, importance, days)| context::ShownEvent {
        is_relevant: false,
        id: Id::parse("x").unwrap(),
        category,
        scope,
        source: Source::Agent,
        importance,
        recency: days.map(|days| DateTime::UNIX_EPOCH + chrono::Duration::days(days)),
        title,
        summary,
    });
    prop::collection::vec(one, 0..9).prop_map(|mut all| {
        for (event, number) in all.iter_mut().zip(1..) {
            event.id = Id::parse(&format!("event-{number}")).unwrap();
        }
        all
    })
}

fn materials() -> impl Strategy<Value = Material> {
    let attempts = (pasts("run-1a2b3c4d"), pasts("run-1a2b3c4d"), pasts("run-00000000"), 0usize..3);
    let known = (references("learned", Some("pitfall")), references("known", None));
    let told = (statuses(), recurring());
    let all = (hostile(), any::<bool>(), attempts, known, told, events());
    all.prop_map(|(task_id, suggests_events, attempts, (learnings, mut knowledge), (status, recurring), mut events)| {
        let more_events = events.split_off(events.len() - events.len() / 4).into_iter().map(|event| event.id).collect();
        // Some of the knowledge was found twice.
        knowledge.extend(learnings.iter().skip(3).cloned());
        let (attempts, mut journal, matching, n_older) = attempts;
        // The run's own are the task's and more, under the same ids.
        journal.splice(0..journal.len().min(attempts.len()), attempts.iter().cloned());
        let n_attempts = attempts.len() + n_older;
        let instructions = Instructions { task_id, suggests_events, ..Instructions::default() };
        // Every field is named, so that a new one is tested.
        Material {
            instructions,
            n_attempts,
            attempts,
            learnings,
            status,
            recurring,
            journal,
            matching,
            knowledge,
            events,
            more_events,
        }
    })
}

/// Returns the line of each heading that is not in a blockquote. Nothing else that is not ours opens a
/// block either.
fn headings(text: &str) -> Vec<&str> {
    let mut headings = Vec::new();
    let mut n_quotes = 0;
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_)) => n_quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => n_quotes -= 1,
            Event::Start(Tag::Heading { .. }) if n_quotes == 0 => headings.push(text[range].trim_end()),
            Event::Rule | Event::Start(Tag::HtmlBlock | Tag::Table(_) | Tag::List(Some(_))) if n_quotes == 0 => {
                panic!("{event:?} in {text}")
            }
            _ => {}
        }
    }
    headings
}

/// Returns the headings of a context with these entries.
fn expected_headings(material: &Material, context: &Context) -> Vec<String> {
    let is_shown = |id: &Id| context.attempts.contains(id);
    let mut expected = Vec::new();
    // Only their order shows which of the attempts are in the first section.
    let previous: Vec<&NumberedAttempt> = material.attempts.iter().filter(|past| is_shown(&past.id)).collect();
    let n_previous = context.text.lines().filter(|line| line.starts_with("### Attempt ")).count();
    if n_previous > 0 {
        expected.push("## Previous Attempts".to_owned());
    }
    for id in &context.attempts[..n_previous] {
        let past = previous.iter().find(|past| past.id == *id).unwrap();
        expected.push(format!("### Attempt {} (", past.number));
    }
    let is_event = |id: &&Id| id.stem().starts_with("event-");
    let n_events = context.entries.iter().filter(is_event).count();
    let n_bullets = context.text.lines().filter(|line| line.starts_with("- **[")).count();
    let n_learned = n_bullets - n_events;
    if n_learned > 0 {
        expected.push("## Learnings from Previous Iterations".to_owned());
    }
    for id in &context.attempts[n_previous..] {
        let all = material.journal.iter().chain(&material.matching);
        let past = all.into_iter().find(|past| past.id == *id).unwrap();
        expected.push(format!("### Iteration {} ", past.attempt.head.iteration));
    }
    let known = &context.entries[n_learned..context.entries.len() - n_events];
    assert!(!known.iter().any(|id| is_event(&id)));
    if !known.is_empty() {
        expected.push("## Project Knowledge".to_owned());
    }
    for id in known {
        let reference = material.knowledge.iter().find(|reference| reference.id == *id).unwrap();
        let is_short = reference.title.chars().count() <= 300;
        let title = if is_short { escape::line(&reference.title) } else { escape::short(&reference.title, 300) };
        expected.push(format!("### {title}").trim_end().to_owned());
    }
    expected.extend((n_events > 0).then(|| "## Memory".to_owned()));
    expected.push("## What to Report".to_owned());
    expected
}

fn check_headings(material: &Material, context: &Context) {
    let optional = ["## Loop Status", "## Run Journal"];
    let (own, other): (Vec<&str>, Vec<&str>) =
        headings(&context.text).into_iter().partition(|heading| optional.contains(heading));
    assert!(own.iter().collect::<HashSet<_>>().len() == own.len(), "{own:?}");
    let expected = expected_headings(material, context);
    assert_eq!(other.len(), expected.len(), "{other:?} {expected:?}\n{}", context.text);
    for (found, expected) in other.iter().zip(&expected) {
        assert!(found.starts_with(expected), "{found} {expected}\n{}", context.text);
    }
}

/// Every entry is in one place, or is listed as left out.
fn check_entries(material: &Material, context: &Context) {
    let shown: Vec<&Id> = context.entries.iter().chain(&context.attempts).collect();
    let distinct: HashSet<&Id> = shown.iter().copied().chain(&context.left_out).collect();
    assert_eq!(distinct.len(), shown.len() + context.left_out.len());
    let is_told = |id: &Id| distinct.contains(id);
    assert!(material.learnings.iter().chain(&material.knowledge).all(|reference| is_told(&reference.id)));
    assert!(material.attempts.iter().all(|past| is_told(&past.id)));
    assert!(material.events.iter().all(|event| is_told(&event.id)));
}

/// Nothing is cut while a third of the budget is free, and no section exceeds its limit. An attempt of the journal is left
/// out whole, and four long ones may each take more than a quarter.
fn check_use(material: &Material, context: &Context, budget: Budget, body_words: usize) {
    let text = &context.text;
    let [.., journal, knowledge, _, _] = sections::lengths(text);
    assert!(journal <= 12_000 && knowledge <= 8_000, "{journal} {knowledge}");
    let cost = budget.cost(text);
    let all = build(material, Budget { amount: 1_000_000, ..budget }, body_words);
    assert!(cost * 3 >= budget.amount * 2 || *text == all.text, "{cost} of {}\n{text}", budget.amount);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]

    #[test]
    fn a_context_keeps_its_promises(
        material in materials(),
        beyond in prop_oneof![Just(0usize), 0usize..600, 0usize..12_000, 0usize..60_000],
        is_tokens in any::<bool>(),
        body_words in 1usize..600,
    ) {
        let empty = if is_tokens { Budget::tokens(0) } else { Budget::characters(0) };
        let least = empty.least(&material.instructions);
        let budget = Budget { amount: least + if is_tokens { beyond / 3 } else { beyond }, ..empty };
        prop_assert!(budget.check(&material.instructions).is_ok());
        let context = build(&material, budget, body_words);
        let text = &context.text;
        prop_assert!(budget.cost(text) <= budget.amount, "{} > {}\n{text}", budget.cost(text), budget.amount);
        prop_assert_eq!(&build(&material, budget, body_words), &context);

        let own = text.strip_suffix(&material.instructions.below_heading()).unwrap();
        let own = own.replace("> or signaling `<task-failed>` with", "");
        prop_assert_eq!(defuse(&own), own.clone());
        prop_assert!(!own.contains(|character: char| character != '\n' && character != '\t' && character.is_control()));
        let turning = ['\u{202e}', '\u{2066}', '\u{2028}'];
        prop_assert!(!own.contains(turning));
        check_headings(&material, &context);
        check_entries(&material, &context);
        check_use(&material, &context, budget, body_words);

        if let Some(newest) = material.attempts.last() {
            // An attempt that says nothing gives way to one that does.
            let telling = material.attempts.iter().rev().find(|past| past.attempt.head.account_of(&past.attempt.sections) > Account::Silent);
            prop_assert!(context.attempts.contains(&telling.unwrap_or(newest).id), "{text}");
            let sections = &newest.attempt.sections;
            if newest.attempt.head.outcome == Outcome::Failed && !sections.retry_suggestion.trim().is_empty() {
                prop_assert!(text.contains("\n**Suggested approach for this retry:**\n"), "{text}");
            }
        }
        if material.status.as_ref().is_some_and(|status| status.stuck.is_some()) {
            prop_assert!(text.contains("\n> ⚠️ **Stuck loop detected.** This task has failed "), "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]

    /// A briefing fits into its budget, reports nothing itself, and has only its own headings.
    #[test]
    fn a_briefing_keeps_its_promises(
        (pasts, knowledge, recent) in (pasts("run-1"), references("known", None), references("new", Some("pitfall"))),
        (amount, in_tokens, by_tools) in (0usize..4_000, any::<bool>(), any::<bool>()),
    ) {
        let open = pasts.into_iter().map(|last| OpenTask { id: Some(last.attempt.task_title.clone()), streak: 2, failed_at: last.attempt.started_at, last });
        let errors = knowledge.iter().map(|entry| ErrorLine { attempts: vec![entry.id.clone()], line: entry.body.clone() });
        let material = BriefingMaterial {
            open: open.collect(),
            errors: errors.collect(),
            knowledge: knowledge.clone(),
            recent,
            since: Some(DateTime::UNIX_EPOCH),
            has_more: false,
        };
        let budget = if in_tokens { Budget::tokens(amount) } else { Budget::characters(amount) };
        prop_assume!(check_budget(budget, by_tools).is_ok());
        let briefing = brief(&material, budget, by_tools);
        prop_assert!(budget.cost(&briefing.text) <= amount, "{}", briefing.text);
        // Its own last lines name elements, in inline code.
        let notes = briefing.text.split("\n## More\n").next().unwrap_or_default();
        prop_assert_eq!(defuse(notes), notes);
        prop_assert_eq!(elements::read(&briefing.text, true), elements::ParsedSigils::default());
        prop_assert_eq!(briefing.text.is_empty(), !by_tools && briefing.entries.is_empty() && briefing.attempts.is_empty() && headings(&briefing.text).is_empty());
        let titles = briefing.attempts.len();
        let own = ["# Project Memory", "## Open Tasks", "## Other Open Tasks", "## Recurring Errors", "## Decisions and Learnings", "## New Since 1970-01-01", "## More"];
        let found = headings(&briefing.text);
        let others = found.iter().filter(|heading| !own.contains(heading)).count();
        prop_assert_eq!(others, titles, "{}", briefing.text);
        // Nothing that fits whole is left out for lack of room.
        let all = brief(&material, Budget::characters(1_000_000), by_tools);
        prop_assert_eq!(all.attempts.len(), material.open.len());
        prop_assert!(!all.text.contains("More was left out"), "{}", all.text);
        // What is left out is mentioned.
        let is_whole = briefing.text == all.text;
        prop_assert_eq!(is_whole, !briefing.text.contains("More was left out for space"), "{}", briefing.text);
    }
}
