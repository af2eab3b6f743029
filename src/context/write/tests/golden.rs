//! The four prompts that the first seed gives as examples.

use insta::assert_snapshot;

use super::*;

/// Returns the sections of a context of default size, without the instructions.
fn sections(material: &Material) -> String {
    let context = build(material, default_budget(27_000, &material.instructions), 500);
    let (sections, instructions) = context.text.split_at(context.text.find("## What to Report\n").unwrap());
    assert_eq!(instructions, material.instructions.text());
    assert_eq!(context.left_out, []);
    sections.to_owned()
}

/// Returns an attempt with a failure report: approach, why, category, error output.
fn failed(number: usize, model: &str, report: [&str; 4]) -> NumberedAttempt {
    let mut past = past("run-1a2b3c4d", u32::try_from(number).unwrap(), number, Outcome::Failed);
    let [tried, why, category, error_output] = report.map(str::to_owned);
    past.attempt.head.model = Some(model.to_owned());
    past.attempt.head.error_category = Some(category);
    past.attempt.head.files.relevant = vec![".ralph/specs/iteration-memory.md".to_owned()];
    past.attempt.sections = Sections { what_tried: tried, why_failed: why, error_output, ..Sections::default() };
    past
}

#[test]
fn first_attempt_without_anything_known() {
    let material = Material { instructions: Instructions::new("t-f13cf2"), ..Material::default() };
    assert_eq!(sections(&material), "");
    assert_snapshot!("instructions", material.instructions.text());
    let suggests = Instructions { suggests_events: true, ..material.instructions };
    assert_snapshot!("instructions_with_suggestions", suggests.text());
    // An agent that repeats them says nothing.
    assert_eq!(
        crate::agent_output::elements::tokens(&suggests.text(), true),
        crate::agent_output::elements::Tokens::default()
    );
}

#[test]
fn second_attempt_after_a_failure() {
    let mut attempt = failed(
        1,
        "sonnet",
        [
            "Tried to write all four migration phases at once, covering DB schema, sigil parsing, context injection, and strategy replacement",
            "Exceeded the iteration's time/token budget; only completed Phase 1 and Phase 2 before running out of output tokens",
            "timeout",
            "Output truncated at 25000 tokens",
        ],
    );
    attempt.attempt.sections.retry_suggestion = "Focus on Phase 1 and Phase 2 first, then signal task-done. The remaining phases can be covered in a follow-up task or a second pass.".to_owned();
    let material = Material {
        instructions: Instructions::new("t-76ba69"),
        n_attempts: 1,
        attempts: vec![attempt.clone()],
        status: Some(Status {
            iteration: 6,
            attempt: 2,
            streak: 1,
            succeeded: 4,
            counted: 5,
            model: "sonnet".to_owned(),
            rationale: "default (cost-optimized strategy)".to_owned(),
            ..status()
        }),
        journal: vec![attempt],
        ..Material::default()
    };
    assert_snapshot!("second_attempt", sections(&material));
}

#[test]
fn fourth_attempt_with_learnings_and_warning() {
    let mut last = failed(
        3,
        "opus",
        [
            "Section-by-section review with cross-reference checking",
            "Tests failed because the example code snippets had syntax errors",
            "test_failure",
            "cargo test -- --test spec_validation\ntest spec_validation::code_blocks_are_valid ... FAILED\n",
        ],
    );
    last.attempt.sections.retry_suggestion = "Focus exclusively on validating the code examples. The prose is fine; the issue is in the Rust code snippets in the Sigil Design section. Run `cargo check` on extracted code blocks.".to_owned();
    let attempts = vec![
        failed(
            1,
            "sonnet",
            [
                "Attempted full review and polish in a single pass",
                "Made edits that introduced inconsistencies with the Data Model section",
                "logic_error",
                "",
            ],
        ),
        failed(
            2,
            "sonnet",
            [
                "Read the entire spec first, then made targeted fixes",
                "Missed the cross-references between Sigil Design and Context Injection sections",
                "logic_error",
                "",
            ],
        ),
        last,
    ];
    let learnings = [
        (
            "success_pattern",
            "When adding new tables with foreign keys in SQLite, enable PRAGMA foreign_keys = ON at connection time and use ON DELETE CASCADE to maintain referential integrity.",
        ),
        (
            "pitfall",
            "Code examples in spec documents must use valid Rust syntax even if they are illustrative — the spec validation test extracts and compiles them.",
        ),
        (
            "testing_strategy",
            "Run `cargo test` after every spec edit, not just at the end. Catches syntax issues in code blocks early.",
        ),
    ];
    let material = Material {
        instructions: Instructions::new("t-84be01"),
        n_attempts: 3,
        attempts,
        learnings: learnings.map(|(category, body)| reference(category, Some(category), body)).to_vec(),
        status: Some(Status {
            iteration: 12,
            attempt: 4,
            streak: 3,
            succeeded: 6,
            counted: 11,
            rationale: "escalated after 3 attempts without success".to_owned(),
            stuck: Some(Stuck { failed_with: vec![("logic_error".into(), 2), ("test_failure".into(), 1)], ..stuck() }),
            ..status()
        }),
        ..Material::default()
    };
    assert_snapshot!("fourth_attempt", sections(&material));
}

#[test]
fn first_attempt_with_learnings() {
    let learnings = [
        (
            "code_structure",
            "The iteration-memory spec follows a pattern: each section starts with a high-level description, then hook points, data flow diagram, and concrete code examples.",
        ),
        (
            "tool_usage",
            "Use `cargo test --test integration_test_name` to run a specific integration test file without running the entire suite.",
        ),
    ];
    let material = Material {
        instructions: Instructions::new("t-71b433"),
        learnings: learnings.map(|(category, body)| reference(category, Some(category), body)).to_vec(),
        status: Some(Status {
            iteration: 8,
            attempt: 1,
            streak: 0,
            succeeded: 6,
            counted: 7,
            model: "haiku".to_owned(),
            rationale: "run is going well (6 of 7)".to_owned(),
            ..status()
        }),
        ..Material::default()
    };
    assert_snapshot!("first_attempt_with_learnings", sections(&material));
}
