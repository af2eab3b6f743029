//! Texts with sigils and without.

use proptest::prelude::*;

use super::*;
use crate::test_cases::cases;

#[track_caller]
fn refused(text: &str, expected: &[&str]) -> ParsedSigils {
    let said = read(text, false);
    let refused: Vec<String> = said.refused.iter().map(Refused::to_string).collect();
    assert_eq!(refused, expected, "{text:?}");
    said
}

/// Texts with an element, and whether it counts: in a report without verification, and in a verified one.
const PLACES: [(&str, bool, bool); 70] = [
    // What agents write to report.
    ("<E>", true, true),
    ("All tests pass. <E>", true, true),
    ("All tests pass.\n\n<E>\n", true, true),
    ("<E> All tests pass.", true, true),
    ("- <E>", true, true),
    ("* <E> is my report", true, true),
    ("1. <E> all done", true, true),
    ("- [x] <E>", true, true),
    ("**<E>**", true, true),
    ("Done: **<E>**", true, true),
    ("__<E>__ and that is it", true, true),
    ("### <E> done", true, true),
    ("  <E>  \r\nAnd more.", true, true),
    ("\u{feff}<E> done", true, true),
    ("I am done: <E> <next-model>opus</next-model>", true, true),
    ("<next-model>opus</next-model> <E> that is all", true, true),
    ("<E><!-- for the loop -->", true, true),
    ("Done <E> <!-- for the loop -->", true, true),
    ("<!-- report --> <E> is all", true, true),
    ("- Tests pass.\n\n    <E>", true, true),
    ("1. Tests pass.\n\n   <E> more", true, true),
    ("- a\n  - b\n\n    <E> more", true, true),
    ("Tests pass.\n    <E> more", true, true),
    ("```\nlog\n```\n<E> more", true, true),
    ("> I was asked to report.\n\n<E> more", true, true),
    ("<thinking>Not yet.</thinking><E> more", true, true),
    ("<think>\nIs it done?\n</think>\n<E> more", true, true),
    ("Is it done? Yes.\n</think>\n\n<E> more", true, true),
    ("<thinking>It goes on\n<E> more", true, true),
    ("An open <!-- comment\n<E> more", true, true),
    ("`<thinking>` is hidden.\n<E> more\n`</thinking>` ends it.", true, true),
    // What a sentence is about.
    ("I will not write <E> until they pass.", false, true),
    ("I cannot write <E>.", false, true),
    ("When all is green I will end with <E>, not before.", false, true),
    ("Should I write <E>?", false, true),
    ("- The report <E> comes later.", false, true),
    ("**Note** that <E> is not written yet.", false, true),
    ("(not <E>)", false, true),
    ("| <E> | not yet |", false, true),
    ("\"<E>\"", false, true),
    ("“<E>”", false, true),
    ("'<E>' is what I write once they pass", false, true),
    ("«<E>»", false, true),
    ("- \"<E>\"", false, true),
    ("The prompt says \"end with <E>\"", false, true),
    ("echo '<E>'", false, true),
    ("print(\"<E>\")", false, true),
    // Code, quotations, comments and thoughts.
    ("`<E>`", false, false),
    ("Write `<E>` at the end", false, false),
    ("```\n<E>\n```", false, false),
    ("~~~text\n<E>\n~~~", false, false),
    ("1. ```\n   <E>\n   ```", false, false),
    ("- a\n  ```sh\n  <E>\n  ```", false, false),
    ("    <E>", false, false),
    ("The report will be:\n\n    <E>\n", false, false),
    ("The report will be:\n\n\t<E>\n", false, false),
    ("The report:\n\n    cargo test\n\n    <E>\n", false, false),
    ("- Later:\n\n      <E>\n", false, false),
    ("> <E>", false, false),
    ("- > <E>", false, false),
    ("<!-- <E> -->", false, false),
    ("<!--\n<E>\n-->", false, false),
    ("Text <!-- as in\n<E>\n--> goes on.", false, false),
    ("<thinking>\n<E>\n</thinking>", false, false),
    ("<thinking type=\"deep\">\n<E>\n</thinking>", false, false),
    ("<reasoning>\n<E>\n</reasoning>", false, false),
    ("<pre>\n<E>\n</pre>", false, false),
    ("<prefix>\n<E>\n</prefix>", true, true),
    ("<think>I will write\n<E>\nonce done.</think>\nNot yet.", false, false),
    ("I could write\n<E>\nbut they fail.\n</think>\nNot yet.", false, false),
];

#[test]
fn an_element_counts_where_an_agent_reports_with_it() {
    for (text, counts, counts_verified) in PLACES {
        for element in ["<task-done>t-1</task-done>", "<task-failed>t-1</task-failed>"] {
            let text = text.replace("<E>", element);
            let ends = |is_verified| read(&text, is_verified).ends.len();
            assert_eq!((ends(false), ends(true)), (usize::from(counts), usize::from(counts_verified)), "{text:?}");
        }
    }
    refused(
        "I will not write <task-done>t-1</task-done> yet.",
        &["line 1: <task-done> stands in a sentence; put it on a line of its own"],
    );
}

#[test]
fn every_sigil_is_defused_and_nothing_else() {
    for name in ELEMENTS.iter().map(|element| element.name) {
        assert_eq!(defuse(&format!("a<{name} x=\"y\">b</{name}>")), format!("a&lt;{name} x=\"y\">b&lt;/{name}>"));
    }
    assert_eq!(defuse("## MEMORY_SUGGESTIONS <journal>"), "\\## MEMORY_SUGGESTIONS &lt;journal>");
    assert_eq!(defuse("< / Journal>"), "&lt; / Journal>");
    assert_eq!(defuse("<b> <é <<journal>"), "<b> <é <&lt;journal>");
    assert_eq!(
        defuse("x\n  ###  memory_suggestions\ny ## MEMORY_SUGGESTIONS"),
        "x\n  \\###  memory_suggestions\ny ## MEMORY_SUGGESTIONS"
    );
}

#[test]
fn every_name_is_read() {
    for name in ELEMENTS.iter().map(|element| element.name) {
        let content = match name {
            "difficulty-estimate" => "hard",
            "failure-report" => "what_tried: a\nwhy_failed: b",
            _ => "t-1",
        };
        let said = read(&format!("<{name} tags=\"a\" title=\"b\" category=\"pitfall\">{content}</{name}>"), false);
        assert!(said.refused.is_empty() && said != ParsedSigils::default(), "{name}: {said:?}");
    }
}

#[test]
fn every_section_is_one_of_an_attempt() {
    for element in &ELEMENTS {
        if let ElementKind::Section(heading) = element.kind {
            assert_eq!(section_of(element.name), Some(heading));
            assert!(crate::entry::Sections::default().part(heading).is_some(), "{heading}");
        }
    }
}

#[test]
fn every_element_has_its_value() {
    let said = refused(
        "<task-done>`t-1`</task-done><next-model> Opus </next-model><journal>\nn\n\nm\n</journal>\
         <retry-suggestion>r</retry-suggestion><difficulty-estimate> HARD</difficulty-estimate>\n\
         <knowledge title=\" A  title \" tags='A, b c,,a'>k</knowledge>\n\
         <learning tags=x category=Pitfall>Use it. Or not.</learning>",
        &[],
    );
    let noted = |line, name, title: &str, tags: &[&str], category: Option<&str>, body: &str| Noted {
        questions: Vec::new(),
        line,
        name,
        title: title.into(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        category: category.map(str::to_owned),
        body: body.into(),
    };
    let expected = ParsedSigils {
        ends: vec![TaskEnd { line: 1, outcome: Outcome::Done, named: "t-1".into() }],
        next_model: Some("Opus".into()),
        notes: Some("n\n\nm".into()),
        knowledge: vec![
            noted(6, "knowledge", "A title", &["a", "b c"], None, "k"),
            noted(7, "learning", "Use it.", &["x"], Some("pitfall"), "Use it. Or not."),
        ],
        sections: vec![("retry-suggestion", "r".into())],
        difficulty: Some(Difficulty::Hard),
        ..ParsedSigils::default()
    };
    assert_eq!(said, expected);
}

#[test]
fn a_failure_report_is_read_line_by_line() {
    let said = refused(
        "<failure-report>\nwhy_failed: it broke\n  in two\nwhat_tried: a thing: with a colon\nmine: kept\nmore of mine\n\
         error_category: Test Failure\nrelevant_files: `src/a.rs`, src/b.rs\n- src/c.rs\nstack_trace: at x\nnote: y\nstd::fs\n</failure-report>",
        &[],
    );
    let expected = FailureReport {
        tried: "a thing: with a colon".into(),
        why: "it broke\n  in two".into(),
        category: "test_failure".into(),
        files: vec!["src/a.rs".into(), "src/b.rs".into(), "src/c.rs".into()],
        stack_trace: Some("at x\nnote: y\nstd::fs".into()),
        retry_suggestion: None,
        other: "mine: kept\nmore of mine".into(),
    };
    assert_eq!(said.failure, Some(expected));
    let report = |lines: &str| refused(&format!("<failure-report>{lines}</failure-report>"), &[]).failure.unwrap();
    assert_eq!(report("\nwhat_tried: a\nwhy_failed: see http://x\nhttp://y").why, "see http://x\nhttp://y");
    assert_eq!(report("what_tried: a\nwhy_failed: b\nerror_category: …").category, "unknown");
    let suggested = "what_tried: a\nwhy_failed: b\nretry_suggestion: Drop the lock\nfirst.\nstack_trace: at x";
    let said = refused(&format!("<failure-report>{suggested}</failure-report>"), &[]);
    assert_eq!(said.sections, [("retry-suggestion", "Drop the lock\nfirst.".into())]);
    assert_eq!(said.failure.unwrap().stack_trace.as_deref(), Some("at x"));
    // A field that is unknown, or written in another way, does not end the one above.
    let own = report("- **What tried**: a\nWhy failed: b\nNext step: c\nhint:\nwhatever is known by now: yes");
    assert_eq!((own.tried.as_str(), own.why.as_str()), ("a", "b"));
    assert_eq!(own.other, "Next step: c\nhint:\nwhatever is known by now: yes");
    assert_eq!(report("what_tried: a\nwhy_failed: it said\nthat this is so: no").why, "it said\nthat this is so: no");
    let long = report(&format!("what_tried: a\nwhy_failed: b\nstack_trace: {}", "é".repeat(600)));
    assert_eq!(long.stack_trace.unwrap().chars().count(), 600);
}

#[test]
fn invalid_elements_are_refused() {
    let said = refused(
        "<task-done> t-1 </task-done>\n<learning category=\"pitfall\">x</learning>",
        &["line 2: <learning> without tags"],
    );
    assert_eq!(said.ends, [TaskEnd { line: 1, outcome: Outcome::Done, named: "t-1".into() }]);
    assert_eq!(tokens("<task-done> t-1 </task-done>\n", false).sigils[0].place, 0..28);
    refused("\n<learning tags=\"a\">x</learning>", &["line 2: <learning> without a category"]);
    refused(
        "<learning tags=\"a\" category=\"a b\">x</learning>",
        &["line 1: <learning> has a category that is not one word"],
    );
    refused("<knowledge tags=\" , \" title=\"t\">x</knowledge>", &["line 1: <knowledge> without tags"]);
    refused("<knowledge tags=\"a\">x</knowledge>", &["line 1: <knowledge> without a title"]);
    refused("<knowledge tags=\"a\" title=\"t\"> </knowledge>", &["line 1: <knowledge> is empty"]);
    refused("<journal></journal>", &["line 1: <journal> is empty"]);
    refused("<journal>\nx", &["line 1: <journal> has no </journal> after it"]);
    refused("<next-model>the big one</next-model>", &["line 1: <next-model> does not name a model in one word"]);
    refused("<next-model>--yes</next-model>", &["line 1: <next-model> does not name a model in one word"]);
    refused(
        "<difficulty-estimate>steep</difficulty-estimate>",
        &["line 1: <difficulty-estimate> is not one of trivial, easy, moderate, hard and blocked"],
    );
    let long = "x ".repeat(200);
    refused(&format!("<task-done>{long}</task-done>"), &["line 1: <task-done> does not contain the id of a task"]);
    // An invalid element hides nothing after it, or inside it.
    let said = refused("<knowledge>\n<task-done>t-1</task-done>\n</knowledge>", &["line 1: <knowledge> without tags"]);
    assert_eq!(ends(&said), [(Outcome::Done, "t-1")]);
}

#[test]
fn a_report_with_one_field_or_none_keeps_its_text() {
    let check = |content: &str, missing: Option<&str>, expected: [&str; 3]| {
        let missing = missing.map(|key| format!("line 1: <failure-report> without `{key}:`"));
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        let report = refused(&format!("<failure-report>{content}</failure-report>"), &missing).failure.unwrap();
        assert_eq!([report.tried.as_str(), &report.why, &report.other], expected, "{content}");
    };
    check("what_tried: x", Some("why_failed"), ["x", "", ""]);
    check("why_failed: y", Some("what_tried"), ["", "y", ""]);
    check("what_tried: …\nwhy_failed: y", Some("what_tried"), ["", "y", ""]);
    check(
        "The lock is held\nby another process.",
        Some("what_tried"),
        ["", "The lock is held\nby another process.", ""],
    );
    check("cause: the lock\nerror_category: timeout", Some("what_tried"), ["", "cause: the lock", ""]);
    check("First words.\nwhat_tried: x\nwhy_failed: y", None, ["x", "y", "First words."]);
}

#[test]
fn of_several_the_first_or_the_last_counts() {
    let said = refused(
        "<journal></journal><journal>a</journal><journal>b</journal>\
         <difficulty-estimate>x</difficulty-estimate><difficulty-estimate>easy</difficulty-estimate>",
        &[
            "line 1: <journal> is empty",
            "line 1: <difficulty-estimate> is not one of trivial, easy, moderate, hard and blocked",
        ],
    );
    assert_eq!((said.notes.as_deref(), said.difficulty), (Some("a"), Some(Difficulty::Easy)));
    let said = read("<task-failed>t-1</task-failed><task-done>Fix\n the login</task-done>", false);
    assert_eq!(ends(&said), [(Outcome::Failed, "t-1"), (Outcome::Done, "Fix the login")]);
}

/// The lines of the instructions that have sigils, without their fences.
const REPEATED: &str = "<task-done>TASK-ID</task-done>\n<journal>…</journal>\n\
    <difficulty-estimate>trivial, easy, moderate, hard or blocked</difficulty-estimate>\n\
    <knowledge tags=\"tag1\" title=\"…\" questions=\"…\">…</knowledge>\n\
    <learning category=\"pitfall\" tags=\"tag1\" questions=\"…\">…</learning>\n<task-failed>TASK-ID</task-failed>\n\
    <failure-report>\nwhat_tried: …\nwhy_failed: …\nerror_category: …\nrelevant_files: …\nstack_trace: …\n</failure-report>\n\
    <retry-suggestion>…</retry-suggestion>\n<next-model>…</next-model>\n";

#[test]
fn repeated_instructions_write_nothing() {
    for repeated in [REPEATED.to_owned(), REPEATED.replace('…', "..."), REPEATED.replace("TASK-ID", "t-1")] {
        assert_eq!(refused(&repeated, &[]), ParsedSigils::default());
        let text = format!("{repeated}\n<journal>real</journal>\n<task-failed>t-1</task-failed>\n{repeated}");
        let said = refused(&text, &[]);
        assert_eq!((said.notes.as_deref(), ends(&said)), (Some("real"), vec![(Outcome::Failed, "t-1")]));
    }
    // An agent that fills in one of them reports, whatever else is left unchanged.
    let said = refused("<task-done>t-1</task-done>\n<journal>…</journal>\n", &[]);
    assert_eq!(ends(&said), [(Outcome::Done, "t-1")]);
}

fn ends(said: &ParsedSigils) -> Vec<(Outcome, &str)> {
    said.ends.iter().map(|end| (end.outcome, end.named.as_str())).collect()
}

#[test]
fn endless_output_is_cut_and_counted() {
    let said = read(&"<learning category=a tags=b>x</learning>\n".repeat(250), false);
    assert_eq!(said.knowledge.len(), 100);
    let told: Vec<String> = said.refused.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["line 101: <learning> and what follows, 150 in all: one text has at most 100"]);
    let said = read(&"<journal></journal>\n".repeat(250), false);
    assert_eq!(said.refused.len(), 100);
    assert_eq!(said.refused[98].to_string(), "line 99: <journal> is empty");
    let last = said.refused[99].to_string();
    assert!(last.starts_with("line 100: ") && last.ends_with("; and 150 more after it were refused"));
    assert_eq!(read(&"<journal></journal>\n".repeat(100), false).refused[99].reason.matches("more").count(), 0);
}

#[test]
fn a_summary_that_is_too_long_is_refused() {
    let block = |length: usize| {
        let summary = "é".repeat(length);
        format!(
            "# MEMORY_SUGGESTIONS\n```json\n[{{\"scope\": \"project\", \"event_type\": \"hint\", \"summary\": \"{summary}\"}}]\n```\n"
        )
    };
    assert_eq!(read(&block(800), false).suggestions.len(), 1);
    let said = read(&block(801), false);
    assert_eq!(said.suggestions, []);
    let told = "line 1: MEMORY_SUGGESTIONS entry 1: `summary` has 801 characters; the limit is 800";
    assert_eq!(said.refused[0].to_string(), told);
}

#[test]
fn a_learning_is_named_by_its_first_sentence() {
    let title =
        |body: &str| read(&format!("<learning category=a tags=b>{body}</learning>"), false).knowledge[0].title.clone();
    assert_eq!(title("Use it. Or not."), "Use it.");
    assert_eq!(title("\n## - Use\nit all. Or not."), "Use it all.");
    assert_eq!(title("```\ncode\n```"), "code ```");
    assert_eq!(title("one\n\ntwo"), "one");
    let long = title(&"word ".repeat(50));
    assert!(long.chars().count() <= 80 && long.ends_with("word…"), "{long}");
}

fn pieces() -> impl Strategy<Value = String> {
    let fixed = [
        "<journal>",
        "</journal>",
        "<knowledge tags=\"a\" title='b'",
        ">",
        "</knowledge>",
        "```\n",
        "`",
        "\n> ",
        "<task-done>t-1</task-done>",
        "<failure-report>\nwhat_tried: x\n",
        "</failure-report>",
        "\r\n",
        "\u{feff}\0\u{202e}é語\u{1f980}",
    ];
    prop_oneof![proptest::sample::select(fixed.to_vec()).prop_map(str::to_owned), ".{0,20}"]
}

const PROSE: [&str; 6] = [
    "\nSome words.\n",
    "\n```\n<journal>no</journal>\n```\n",
    "\n> <task-done>t-9</task-done>\n",
    "\na `<journal>no</journal>` b\n",
    "\nI will use <journal> later.\n\n",
    "\n~~~~\n```\n<learning>\n~~~~\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2_000)))]

    #[test]
    fn any_text_is_read(pieces in proptest::collection::vec(pieces(), 0..40)) {
        let text = pieces.concat();
        let said = read(&text, false);
        let n_lines = text.split('\n').count();
        prop_assert!(said.refused.iter().all(|refused| refused.line as usize <= n_lines));
        prop_assert!(said.refused.is_sorted_by_key(|refused| refused.line));
        // Defused text has no sigils.
        prop_assert_eq!(tokens(&defuse(&text), true), Tokens::default());
    }

    /// Sigils among prose, code and quotations are read unchanged.
    #[test]
    fn sigils_between_other_text_are_read(
        said in proptest::collection::vec((0..6usize, "[a-z][a-zé ]{0,12}[a-z.]"), 0..8),
        prose in 0..6usize,
    ) {
        let mut text = PROSE[prose].to_owned();
        let mut expected = Vec::new();
        for (kind, words) in &said {
            let end = |outcome| TaskEnd { line: 1, outcome, named: "t-1".into() };
            let easy = "<difficulty-estimate>easy</difficulty-estimate>";
            let (written, sigil) = match kind {
                0 => (format!("<journal>\n{words}\n</journal>"), Sigil::Journal(words.clone())),
                1 => {
                    (format!("<retry-suggestion>{words}</retry-suggestion>"), Sigil::Section("retry-suggestion", words.clone()))
                }
                2 => ("<task-done>t-1</task-done>".to_owned(), Sigil::End(end(Outcome::Done))),
                3 => ("<task-failed> t-1</task-failed>".to_owned(), Sigil::End(end(Outcome::Failed))),
                4 => (easy.to_owned(), Sigil::Difficulty(Difficulty::Easy)),
                _ => ("<next-model>opus</next-model>".to_owned(), Sigil::NextModel("opus".into())),
            };
            text.push_str(&written);
            text.push_str(PROSE[(prose + kind) % PROSE.len()]);
            expected.push(sigil);
        }
        let found: Vec<Sigil> = tokens(&text, false).sigils.into_iter().map(|placed| match placed.sigil {
            Sigil::End(found) => Sigil::End(TaskEnd { line: 1, ..found }),
            sigil => sigil,
        }).collect();
        prop_assert_eq!(found, expected, "{}", text);
    }
}

#[test]
fn sigils_are_taken_out() {
    let check = |text: &str, expected: &str| assert_eq!(without_sigils(text), expected, "{text}");
    check("", "");
    check("All done. a < b\n", "All done. a < b");
    check("It works.\n\n<journal>\nNotes\n</journal>\n\n<Task-Done>t-1</TASK-DONE>\n\nBye.", "It works.\n\nBye.");
    check("<learning category=\"pitfall\" tags=\"a\">x</learning>", "");
    check("Say <task-done> when <task-donec>x</task-donec>.", "Say <task-done> when <task-donec>x</task-donec>.");
    check("Ä<journal>ö</journal>ü", "Äü");
    check("Fine.\n\n## MEMORY_SUGGESTIONS\n```json\n[]\n```\n", "Fine.");
    check(&"<journal>".repeat(100_000), &"<journal>".repeat(100_000));
}
