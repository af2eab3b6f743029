//! The briefing of a session: what it shows, in which order, and what it leaves out.

use ralph_memory::context::{BriefingRequest, Budget};
use ralph_memory::entry::{Event, Outcome, parse_time};
use ralph_memory::memory::{Report, Run, Validated};
use ralph_memory::{Id, Knowledge, Memory, Scope, Task};

use crate::support::TestBase;

fn memory(base: &TestBase) -> Memory {
    memory_at(base, "2026-11-20T10:00:00Z")
}

fn memory_at(base: &TestBase, time: &str) -> Memory {
    let now = parse_time(time).unwrap();
    Memory::open(&base.root()).unwrap().with_clock(move || now.into())
}

/// Makes one attempt at a task, at this hour of a day.
fn attempt(base: &TestBase, hour: u32, title: &str, report: &Report) {
    let memory = memory_at(base, &format!("2026-11-19T{hour:02}:00:00Z"));
    let iteration = memory.begin(&Task::new(title), &Run::named("run-1")).unwrap();
    memory.finish(&iteration, report).unwrap();
}

fn failed(why: &str) -> Report {
    let text = format!("<failure-report>\nwhat_tried: A larger pool\nwhy_failed: {why}\n</failure-report>");
    Report { text, outcome: Some(Outcome::Failed), ..Report::default() }
}

fn ids(ids: &[Id]) -> Vec<&str> {
    ids.iter().map(Id::as_str).collect()
}

#[test]
fn an_empty_memory_has_nothing_to_report() {
    let base = TestBase::new();
    assert_eq!(base.run(["context"]).answer(0), "");
    let answer = base.run(["context", "--json"]).json(0);
    assert_eq!((answer["briefing"].as_str(), &answer["entries"]), (Some(""), &serde_json::json!([])));
}

#[test]
fn tasks_that_failed_last_are_open_until_they_are_done() {
    let base = TestBase::new();
    attempt(&base, 1, "Keep connections open", &failed("the server closes them"));
    attempt(&base, 2, "Rotate the keys", &failed("the vault is sealed"));
    attempt(&base, 3, "Keep connections open", &failed("the proxy closes them"));
    let briefing = memory(&base).briefing(&BriefingRequest::default()).unwrap();
    assert_eq!(
        ids(&briefing.attempts),
        ["journal/run-1/0003", "journal/run-1/0002"],
        "the most recent first, each task once"
    );
    assert!(briefing.text.contains("- **Why it failed:** the proxy closes them"), "{}", briefing.text);
    assert!(briefing.text.contains("failed 2 times in a row, last on 2026-11-19"), "{}", briefing.text);
    attempt(&base, 4, "Keep connections open", &Report { outcome: Some(Outcome::Done), ..Report::default() });
    assert_eq!(ids(&memory(&base).briefing(&BriefingRequest::default()).unwrap().attempts), ["journal/run-1/0002"]);
}

#[test]
fn a_refuted_claim_is_not_repeated() {
    let base = TestBase::new();
    let validation = Validated { command: "cargo test".into(), exit_code: 101, ..Validated::default() };
    let text = "<journal>Everything works now.</journal> <task-done>t-1</task-done>".to_owned();
    attempt(
        &base,
        1,
        "Sort the ids",
        &Report { text, validation: Some(validation), outcome: Some(Outcome::Retried), ..Report::default() },
    );
    let text = memory(&base).briefing(&BriefingRequest::default()).unwrap().text;
    assert!(text.contains("`cargo test` failed with exit code 101") && !text.contains("Everything works"), "{text}");
}

#[test]
fn knowledge_that_helped_comes_first_and_only_what_concerns_everybody_is_shown() {
    let base = TestBase::new();
    let memory_now = memory(&base);
    let add = |title: &str| memory_now.add(&Knowledge::new(title, ["x"], format!("Text of {title}."))).unwrap().id;
    let helped = add("Helped once");
    // Without its success, both its age and its id would put it behind.
    let later = memory_at(&base, "2026-11-20T11:00:00Z");
    let newer = later.add(&Knowledge::new("Added later", ["x"], "Text of the newer.")).unwrap().id;
    assert!(newer < helped, "{newer} {helped}");
    let scoped = Knowledge { scope: Scope::Feature("login".into()), ..Knowledge::new("Scoped", ["x"], "Not for all.") };
    memory_now.add(&scoped).unwrap();
    let old = add("Replaced");
    memory_now.supersede(&old, &newer).unwrap();
    let expires_at = parse_time("2026-11-01T00:00:00Z");
    memory_now.add(&Knowledge { expires_at, ..Knowledge::new("Expired", ["x"], "No longer.") }).unwrap();
    memory_now.note(&Event::new("decision", "Sessions stay in SQLite.")).unwrap();
    memory_now.note(&Event::new("submission", "A patch was sent.")).unwrap();
    let iteration = memory_now.begin(&Task::new("Something that helped once"), &Run::named("run-1")).unwrap();
    assert!(iteration.entries.contains(&helped), "{:?}", iteration.entries);
    memory_now.finish(&iteration, &Report { outcome: Some(Outcome::Done), ..Report::default() }).unwrap();
    let briefing = later.briefing(&BriefingRequest::default()).unwrap();
    let at = |id: &Id| briefing.entries.iter().position(|shown| shown == id).unwrap();
    assert!(at(&helped) < at(&newer), "{}", briefing.text);
    for (text, is_shown) in [
        ("Text of the newer", true),
        ("SQLite", true),
        ("Not for all", false),
        ("Replaced", false),
        ("No longer", false),
        ("patch", false),
    ] {
        assert_eq!(briefing.text.contains(text), is_shown, "{text}: {}", briefing.text);
    }
}

#[test]
fn knowledge_of_a_file_that_is_gone_is_unverified() {
    let base = TestBase::new();
    let files = vec!["src/a.rs".to_owned()];
    base.write("src/a.rs", "");
    memory(&base).add(&Knowledge { files, ..Knowledge::new("A file", ["x"], "It parses.") }).unwrap();
    let text = || memory(&base).briefing(&BriefingRequest::default()).unwrap().text;
    assert!(!text().contains("unverified"), "{}", text());
    std::fs::remove_file(base.at("src/a.rs")).unwrap();
    assert!(text().contains("It parses. (`knowledge/a-file`, unverified)"), "{}", text());
}

#[test]
fn decisions_over_the_limits_of_the_settings_are_not_shown() {
    let base = TestBase::new();
    base.write(".ralph/config.toml", "format = 1\nevents.per_project = 0\n");
    memory(&base).note(&Event::new("decision", "Sessions stay in SQLite.")).unwrap();
    assert_eq!(memory(&base).briefing(&BriefingRequest::default()).unwrap().text, "");
}

#[test]
fn a_budget_of_any_size_is_kept() {
    let base = TestBase::new();
    base.entry("a", "A note", "x", "It is short.");
    let most = usize::MAX.to_string();
    base.run(["context", "--tokens", &most]).says(0, "It is short.");
}

#[test]
fn equal_files_give_equal_bytes_and_a_budget_is_kept() {
    let base = TestBase::new();
    for number in 0..40 {
        base.entry(
            &format!("n{number}"),
            &format!("Note {number}"),
            "x",
            &format!("It is about {number}, and says so at some length. More."),
        );
    }
    attempt(&base, 1, "Keep connections open", &failed("the server closes them"));
    let first = base.run(["context"]).answer(0);
    std::fs::remove_dir_all(base.at(".ralph/cache")).unwrap();
    assert_eq!(base.run(["context"]).answer(0), first);
    assert!(Budget::tokens(1_200).cost(&first) <= 1_200 && Budget::tokens(1_100).cost(&first) > 1_000, "{first}");
    let short = base.run(["context", "--tokens", "200"]).answer(0);
    assert!(Budget::tokens(200).cost(&short) <= 200 && short.contains("the server closes them"), "{short}");
    assert!(short.contains("More was left out for space; `ralph-memory list` shows all entries.\n"), "{short}");
    let large = base.run(["context", "--tokens", "9000"]).answer(0);
    assert!(large.contains("about 39") && !large.contains("left out for space"), "{large}");
    base.entry("n40", "Note 40", "x", "It is about 40. More.");
    base.run(["context", "--tokens", "9000"]).says(0, "More was left out for space");
}

#[test]
fn a_budget_in_which_nothing_fits_is_refused() {
    let base = TestBase::new();
    for is_empty in [true, false] {
        for (option, amount, unit) in
            [("--tokens", "1", "tokens"), ("--tokens", "0", "tokens"), ("--budget", "5", "characters")]
        {
            let refused = base.run(["context", option, amount]);
            assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused}");
            assert!(
                refused.stderr.contains("a briefing needs at least ") && refused.stderr.contains(unit),
                "{refused}"
            );
            let hint = refused.stderr.split(&format!("give `{option} ")).nth(1).unwrap();
            let least = hint.split('`').next().unwrap();
            let shown = base.run(["context", option, least]).answer(0);
            assert_eq!(shown.is_empty(), is_empty, "{least}: {shown}");
            assert!(is_empty || shown.contains("More was left out for space"), "{shown}");
        }
        // No entry is so short that it fits beside the rest.
        base.entry("long", "A long note", "x", &format!("It is about {}.", "something ".repeat(40)));
        attempt(&base, 1, &"Keep connections open ".repeat(9), &failed(&"the server closes them ".repeat(20)));
    }
    let refused = base.run(["context", "--task", "x", "--tokens", "1"]);
    assert!(refused.stderr.starts_with("error: a context needs at least ") && refused.code == Some(2), "{refused}");
    assert!(refused.stderr.contains("hint: give `--tokens "), "{refused}");
}

#[test]
fn an_option_of_a_task_needs_the_task() {
    let base = TestBase::new();
    for option in [
        ["--feature", "login"],
        ["--task-id", "t-1"],
        ["--description", "x"],
        ["--file", "a"],
        ["--run", "r"],
        ["--limit", "2"],
    ] {
        base.run(["context", option[0], option[1]]).says(2, "--task <TITLE>");
    }
    assert!(!base.at(".ralph/state/iterations").exists(), "nothing was begun");
}

#[test]
fn the_briefings_of_a_year_keep_their_budget() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = crate::briefings::run(folder.path(), 53, crate::briefings::CHOSEN_SEED, None);
    assert!(outcome.attempts > 200 && outcome.tasks > 80 && outcome.largest > 1_000, "{outcome:?}");
}
