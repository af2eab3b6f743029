//! Attempts are read back to the byte.

use proptest::prelude::*;

use super::fingerprint::error_fingerprint;
use super::sections::PARTS;
use super::*;
use crate::entry::{MAX_FILE_BYTES, MAX_FRONTMATTER_BYTES, parse_time, read};
use crate::error::Problem;
use crate::test_cases::cases;

const PATH: &str = "journal/run-1a2b3c4d/0003.md";

/// The example of the design.
fn example() -> Attempt {
    let files = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    Attempt {
        run_id: "run-1a2b3c4d".into(),
        task_id: Some("t-abc123".into()),
        task_title: "Add the memory tables".into(),
        feature: Some("iteration-memory".into()),
        source: Source::Coder,
        started_at: parse_time("2026-02-17T12:00:00Z").unwrap(),
        head: AttemptHead {
            section: Some("storage".into()),
            error_category: Some("dependency_error".into()),
            model: Some("sonnet".into()),
            model_rationale: Some("default (cost-optimized strategy)".into()),
            tree: Some("4b825dc642cb6eb9a060e54bf8d69288fbee4904".into()),
            difficulty: Some(Difficulty::Hard),
            next_model: Some("opus".into()),
            duration_secs: Some(42.0),
            cost_usd: Some(0.31),
            tokens_in: Some(41_000),
            tokens_out: Some(3_800),
            files: Files {
                created: files(&["src/memory/mod.rs"]),
                modified: files(&["src/dag/db.rs"]),
                read: files(&["src/run_loop.rs"]),
                relevant: files(&["src/dag/db.rs"]),
            },
            validation: Some(Validation { command: "cargo test".into(), exit_code: 101, duration_ms: 2341 }),
            context: vec![Id::parse("knowledge/sqlite-foreign-keys").unwrap()],
            refused: vec!["line 40: <learning> without tags".into()],
            ..AttemptHead::new(3, Outcome::Failed)
        },
        sections: Sections {
            notes: "Notes from the `<journal>` sigil.".into(),
            what_tried: "One way.".into(),
            why_failed: "It did not work.".into(),
            validation_output: "test x ... FAILED".into(),
            ..Sections::default()
        },
    }
}

#[test]
fn a_file_looks_as_the_design_says() {
    let expected = r#"---
run_id: run-1a2b3c4d
iteration: 3
task_id: t-abc123
task_title: "Add the memory tables"
feature: iteration-memory
section: storage
outcome: failed
error_category: dependency_error
model: sonnet
model_rationale: "default (cost-optimized strategy)"
tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
difficulty: hard
next_model: opus
source: coder
started_at: "2026-02-17T12:00:00Z"
duration_secs: 42.0
cost_usd: 0.31
tokens_in: 41000
tokens_out: 3800
files: {created: [src/memory/mod.rs], modified: [src/dag/db.rs], read: [src/run_loop.rs], relevant: [src/dag/db.rs]}
validation: {command: "cargo test", exit_code: 101, duration_ms: 2341}
context: [knowledge/sqlite-foreign-keys]
refused: ["line 40: <learning> without tags"]
---

> Notes from the `<journal>` sigil.

## What was tried

> One way.

## Why it failed

> It did not work.

## Validation output

> test x ... FAILED
"#;
    let attempt = example().prepared(&[]);
    assert_eq!(attempt.to_file(), expected);
    check(&example());
}

/// Writes an attempt and reads it back.
#[track_caller]
fn check(attempt: &Attempt) -> Attempt {
    let prepared = attempt.prepared(&[]);
    assert_eq!(prepared.prepared(&[]), prepared);
    let file = prepared.to_file();
    assert!(file.len() <= MAX_FILE_BYTES);
    let entry = read(PATH, file.as_bytes());
    // An id is a file's name, and is written unchanged.
    let is_fault = |problem: &&Problem| problem.code != "invisible-character";
    assert_eq!(entry.head.problems.iter().find(is_fault), None);
    assert!(entry.head.valid);
    let found = Attempt::of(&entry).unwrap();
    assert_eq!(found, prepared);
    prepared
}

#[test]
fn a_failure_has_the_fingerprint_of_its_error() {
    let fingerprint = |outcome, exit_code, output: &str, error: &str| {
        let mut attempt = example();
        attempt.head.outcome = outcome;
        attempt.head.validation.as_mut().unwrap().exit_code = exit_code;
        attempt.sections.validation_output = output.into();
        attempt.sections.error_output = error.into();
        check(&attempt).head.error_fingerprint
    };
    assert_eq!(fingerprint(Outcome::Failed, 1, "out", "err"), error_fingerprint("out"));
    assert_eq!(fingerprint(Outcome::Failed, 0, "out", "err"), error_fingerprint("err"));
    assert_eq!(fingerprint(Outcome::Retried, 1, "", "err"), error_fingerprint("err"));
    assert_eq!(fingerprint(Outcome::Done, 1, "out", "err"), None);
    assert_eq!(fingerprint(Outcome::Interrupted, 1, "out", "err"), None);
}

#[test]
fn too_long_parts_are_cut_and_never_refused() {
    let long = "wide \u{1f980} ".repeat(5_000);
    let many: Vec<String> = (0..500).map(|n| format!("src/{n}/{}.rs", "x".repeat(100))).collect();
    let mut attempt = example();
    attempt.task_title.clone_from(&long);
    attempt.task_id = Some(long.clone());
    attempt.head.model_rationale = Some(long.clone());
    attempt.head.files =
        Files { created: many.clone(), modified: many.clone(), read: many.clone(), relevant: many.clone() };
    attempt.head.refused = many.clone();
    attempt.head.context = many.iter().filter_map(|path| Id::parse(&path.replace('/', "-"))).collect();
    attempt.head.validation.as_mut().unwrap().command = long.clone();
    attempt.sections.notes = format!("start {}", long.repeat(6));
    attempt.sections.summary = format!("start {long}");
    attempt.sections.validation_output = format!("{long} end");
    let prepared = check(&attempt);
    assert!(prepared.to_file().find("\n---\n").unwrap() <= MAX_FRONTMATTER_BYTES);
    let Sections { notes, summary, .. } = &prepared.sections;
    assert!(notes.starts_with("start wide") && notes.ends_with("[truncated]") && prepared.sections.has_cut_notes());
    assert!(summary.starts_with("start wide") && summary.ends_with("[truncated]"));
    assert!(summary.len() <= MAX_SECTION_BYTES && notes.len() > 15 * MAX_SECTION_BYTES);
    let output = &prepared.sections.validation_output;
    assert!(output.starts_with("[truncated]\n") && output.ends_with(" end") && output.len() <= MAX_SECTION_BYTES);
    assert!(!prepared.head.files.created.is_empty());
}

#[test]
fn numbers_that_make_no_sense_are_left_out() {
    for number in [f64::NAN, f64::INFINITY, -1.0] {
        let mut attempt = example();
        (attempt.head.duration_secs, attempt.head.cost_usd) = (Some(number), Some(number));
        let prepared = check(&attempt);
        assert_eq!((prepared.head.duration_secs, prepared.head.cost_usd), (None, None));
    }
}

#[test]
fn odd_values_are_reported_and_hide_nothing() {
    let head = "run_id: run-1\niteration: 1\noutcome: failed\nstarted_at: \"2026-02-17T12:00:00Z\"\n";
    let check = |line: &str, code: &str| {
        let entry = read(PATH, format!("---\n{head}{line}\n---\n").as_bytes());
        let codes: Vec<&str> = entry.head.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(codes, if code.is_empty() { vec![] } else { vec![code] }, "{line}");
        assert!(entry.head.valid && entry.head.attempt.is_some(), "{line}");
        *entry.head.attempt.unwrap()
    };
    check("difficulty: steep", "bad-value");
    check("duration_secs: -1", "bad-value");
    check("duration_secs: soon", "bad-value");
    check("tokens_in: 1.5", "bad-value");
    check("files: [a, b]", "bad-value");
    check("validation: true", "bad-value");
    check("validation: {command: x}", "bad-value");
    check("mine: 1", "");
    assert_eq!(check("files: {modified: [a, 1], other: [b]}", "").files.modified, ["a", "1"]);
    assert_eq!(check("files:\n  modified:\n    - a b.rs", "").files.modified, ["a b.rs"]);
    assert_eq!(check("validation:\n  exit_code: -1", "").validation.unwrap().exit_code, -1);
}

/// Texts that are easily mistaken for something else.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("## Errors\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("```sh\n".to_owned()),
        Just("~~~~\n".to_owned()),
        Just("---\n".to_owned()),
        Just("> quoted\n".to_owned()),
        Just(">".to_owned()),
        Just("<!-- \n<div>\n".to_owned()),
        Just("<journal>x</journal>".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just("\u{1b}[31m\u{7}\0\u{9b}\u{85}".to_owned()),
        Just("\u{202e}\u{2028}\u{feff}\u{a0}".to_owned()),
        Just("語".repeat(6_000)),
        Just("x".repeat(17_000)),
        Just("    code\n\tmore\n".to_owned()),
        Just("Summary\n=======\nOther\n---\n".to_owned()),
        Just("[a]: http://b\n".to_owned()),
        Just("yes".to_owned()),
        Just("0x10".to_owned()),
        Just("1e3".to_owned()),
        Just("null: {[#&*!|>'\"%@`, - ? :".to_owned()),
        "[ -~é語\u{1f980}\n]{0,40}",
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn attempts() -> impl Strategy<Value = Attempt> {
    let texts = proptest::collection::vec(hostile(), 11);
    let lists = proptest::collection::vec(proptest::collection::vec(hostile(), 0..4), 6);
    let words = proptest::collection::vec(proptest::option::of(hostile()), 8);
    let numbers = (
        proptest::option::of(any::<f64>()),
        proptest::option::of(0.0..1e6),
        proptest::option::of(any::<u64>()),
        any::<i32>(),
        1..u32::MAX,
    );
    (texts, lists, words, numbers, 0..7usize, 0..5usize, any::<bool>()).prop_map(
        |(texts, mut lists, words, numbers, outcome, difficulty, validated)| {
            let (duration_secs, cost_usd, tokens_in, exit_code, iteration) = numbers;
            let mut attempt = Attempt { task_title: texts[1].clone(), source: Source::ALL[difficulty], ..example() };
            attempt.run_id = format!("r{}", texts[0].chars().take(20).collect::<String>());
            let head = &mut attempt.head;
            (head.iteration, head.outcome, head.difficulty) =
                (iteration, Outcome::ALL[outcome], Some(Difficulty::ALL[difficulty]));
            (head.duration_secs, head.cost_usd) = (duration_secs, cost_usd);
            (head.tokens_in, head.tokens_out) = (tokens_in, tokens_in);
            let AttemptHead { section, error_category, model, model_rationale, tree, next_model, .. } = head;
            let of_head = [section, error_category, model, model_rationale, tree, next_model];
            for (own, word) in of_head.into_iter().chain([&mut attempt.task_id, &mut attempt.feature]).zip(words) {
                *own = word;
            }
            let command = texts[2].clone();
            let duration_ms = tokens_in.unwrap_or(1);
            head.validation = validated.then_some(Validation { command, exit_code, duration_ms });
            head.context = lists[4].iter().filter_map(|id| Id::parse(&format!("knowledge/{id}"))).collect();
            head.refused = lists.remove(5);
            for (own, list) in head.files.lists_mut().into_iter().zip(lists) {
                *own = list;
            }
            let mut texts = texts.into_iter();
            attempt.sections.notes = texts.next().unwrap();
            for ((.., part), text) in PARTS.iter().zip(texts) {
                *part(&mut attempt.sections) = text;
            }
            attempt
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn every_attempt_is_read_back(attempt in attempts()) {
        check(&attempt);
    }

    #[test]
    fn any_body_is_read(body in hostile()) {
        Sections::read(&body);
    }
}

#[test]
fn a_text_is_prepared_for_a_section() {
    assert_eq!(prepare_text("\n a\r\nb\rc\u{1b}[31m \n", Keep::Start, &[]), " a\nb\nc\\u{1b}[31m");
}
