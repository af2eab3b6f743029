//! The briefing of a session: what it shows, in which order, and what it leaves out.

use ralph_memory::context::{BriefingRequest, Budget};
use ralph_memory::entry::{Outcome, Validation, parse_time};
use ralph_memory::memory::{EntryChanges, Report, Run};
use ralph_memory::{Id, Knowledge, Memory, Scope, Task};

use crate::support::TestBase;

fn memory(base: &TestBase) -> Memory {
    memory_at(base, "2026-11-20T10:00:00Z")
}

fn memory_at(base: &TestBase, time: &str) -> Memory {
    let now = parse_time(time).unwrap();
    base.memory().with_clock(move || now.into())
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
    let validation = Validation { command: "cargo test".into(), exit_code: 101, duration_ms: 0 };
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
    memory_now.change(&newer, &EntryChanges::superseding([old.clone()])).unwrap();
    let expires_at = parse_time("2026-11-01T00:00:00Z");
    memory_now.add(&Knowledge { expires_at, ..Knowledge::new("Expired", ["x"], "No longer.") }).unwrap();
    memory_now.add(&Knowledge::event("decision", "Sessions stay in SQLite.").unwrap()).unwrap();
    memory_now.add(&Knowledge::event("submission", "A patch was sent.").unwrap()).unwrap();
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

/// Makes an attempt with an error at a task of a feature, on a day.
fn failed_with(base: &TestBase, day: &str, feature: &str, title: &str, error: &str) {
    let memory = memory_at(base, &format!("{day}T08:00:00Z"));
    let task = Task { feature: Some(feature.to_owned()), ..Task::new(title) };
    let iteration = memory.begin(&task, &Run::named("run-1")).unwrap();
    let text = format!(
        "<failure-report>\nwhat_tried: More time\nwhy_failed: nobody knows\nerror_category: test_failure\n\
         stack_trace: {error}\n</failure-report>"
    );
    memory.finish(&iteration, &Report { text, outcome: Some(Outcome::Failed), ..Report::default() }).unwrap();
}

#[test]
fn what_is_about_a_failure_of_now_comes_before_what_helped() {
    let base = TestBase::new();
    let error = "error: wildcard certificate of the staging gateway expired";
    failed_with(&base, "2026-11-18", "login", "Rotate the keys", error);
    failed_with(&base, "2026-11-19", "billing", "Export invoices", error);
    let memory = memory(&base);
    let body = "The wildcard certificate of the staging gateway expires each spring: run make renew.";
    let add = |title: &str, scope: Scope| {
        let entry = Knowledge { scope, category: Some("pitfall".into()), ..Knowledge::new(title, ["x"], body) };
        memory.add(&entry).unwrap().id
    };
    let first = |memory: &Memory| memory.briefing(&BriefingRequest::default()).unwrap().entries.swap_remove(0);
    let helped = memory.add(&Knowledge::new("Ports of Postgres", ["x"], "Postgres listens on 5433.")).unwrap().id;
    let iteration = memory.begin(&Task::new("Move the ports of Postgres"), &Run::named("run-2")).unwrap();
    assert_eq!(iteration.entries, std::slice::from_ref(&helped));
    memory.finish(&iteration, &Report { outcome: Some(Outcome::Done), ..Report::default() }).unwrap();
    memory.add(&Knowledge::event("decision", body).unwrap()).unwrap();
    add("Of a feature in which nothing fails", Scope::Feature("search".into()));
    assert_eq!(first(&memory), helped, "an event and an entry out of scope are no answers");
    let of_feature = add("Of a feature that fails", Scope::Feature("billing".into()));
    assert_eq!(first(&memory), of_feature);
    let newer = add("Of the whole project, and newer", Scope::Project);
    memory.change(&newer, &EntryChanges::superseding([of_feature.clone()])).unwrap();
    let briefing = memory.briefing(&BriefingRequest::default()).unwrap();
    assert_eq!(briefing.entries[..2], [newer, helped], "{}", briefing.text);
    assert!(!briefing.entries.contains(&of_feature), "{}", briefing.text);
}

#[test]
fn an_entry_that_shares_little_with_a_failure_is_no_answer_to_it() {
    let base = TestBase::new();
    failed_with(&base, "2026-11-19", "login", "Rotate the keys", "error: certificate of the staging gateway expired");
    let memory = memory(&base);
    let add = |title: &str, body: &str| memory.add(&Knowledge::new(title, ["x"], body)).unwrap().id;
    let near = add("The staging gateway", "It has two cores and a certificate.");
    let later = memory_at(&base, "2026-11-20T11:00:00Z");
    let newer = later.add(&Knowledge::new("Wages", ["x"], "They are paid on Fridays.")).unwrap().id;
    let entries = later.briefing(&BriefingRequest::default()).unwrap().entries;
    assert_eq!(ids(&entries), ids(&[newer, near]), "the newer first");
}

/// Has an entry help with a task, at noon of a day.
fn helped(base: &TestBase, day: &str, title: &str, entry: &Id) {
    let memory = memory_at(base, &format!("{day}T12:00:00Z"));
    let iteration = memory.begin(&Task::new(title), &Run::named("run-1")).unwrap();
    assert!(iteration.entries.contains(entry), "{:?}", iteration.entries);
    memory.finish(&iteration, &Report { outcome: Some(Outcome::Done), ..Report::default() }).unwrap();
}

#[test]
fn what_helped_of_late_comes_before_what_helped_long_ago() {
    let base = TestBase::new();
    let spring = memory_at(&base, "2026-03-02T10:00:00Z");
    let late = spring.add(&Knowledge::new("Helped late", ["x"], "The linker wants memory.")).unwrap().id;
    let early = spring.add(&Knowledge::new("Helped early", ["x"], "Vacuum the tables.")).unwrap().id;
    for day in ["2026-03-03", "2026-03-04"] {
        helped(&base, day, "Vacuum the tables early", &early);
    }
    let first = || memory(&base).briefing(&BriefingRequest::default()).unwrap().entries.swap_remove(0);
    assert_eq!(first(), early, "the journal's last attempts count, however old they are");
    helped(&base, "2026-09-01", "Give the linker memory late", &late);
    assert_eq!(first(), late);
}

#[test]
fn a_decision_is_not_proven_by_the_contexts_that_all_have_it() {
    let base = TestBase::new();
    let march = memory_at(&base, "2026-03-02T10:00:00Z");
    let decision = march.add(&Knowledge::event("decision", "Sessions stay in SQLite.").unwrap()).unwrap().id;
    for hour in 1..4 {
        let done = Report { outcome: Some(Outcome::Done), ..Report::default() };
        attempt(&base, hour, &format!("Task {hour}"), &done);
    }
    let learned = memory(&base).add(&Knowledge::new("Vacuum", ["x"], "It takes an hour.")).unwrap().id;
    let important = |importance| {
        let file = base.read(&format!(".ralph/{learned}.md"));
        let line = format!("---\nimportance: {importance}\n");
        base.write(&format!(".ralph/{learned}.md"), file.replacen("---\n", &line, 1));
        memory(&base).briefing(&BriefingRequest::default()).unwrap().entries
    };
    assert_eq!(ids(&important(99))[0], learned.as_str());
    assert_eq!(ids(&important(1))[0], decision.as_str());
}

#[test]
fn open_tasks_for_which_there_is_no_room_get_a_line_each() {
    let base = TestBase::new();
    for hour in 1..10 {
        let why = format!("the server of task {hour} closes them, {}", "as it always did, ".repeat(30));
        attempt(&base, hour, &format!("Keep connection {hour} open"), &failed(&why));
    }
    let text = memory(&base).briefing(&BriefingRequest::default()).unwrap().text;
    let (whole, lines) = text.split_once("## Other Open Tasks\n\n").unwrap();
    let line = |hour: usize| {
        format!(
            "- `{}`: Keep connection {hour} open (failed once, last on 2026-11-19)\n",
            Task::id_of_title(&format!("Keep connection {hour} open"))
        )
    };
    let n_whole = whole.matches("### Keep connection").count();
    assert!((2..8).contains(&n_whole) && lines.starts_with(&line(9 - n_whole)), "{text}");
    assert!(whole.contains("### Keep connection 9 open") && text.contains("More was left out for space"), "{text}");
    assert!(!lines.contains("Why it failed"), "{text}");
    assert!(Budget::tokens(1_200).cost(&text) <= 1_200, "{text}");
    let all = BriefingRequest { budget: Some(Budget::tokens(9_000)), ..BriefingRequest::default() };
    let text = memory(&base).briefing(&all).unwrap().text;
    assert!(!text.contains("Other Open Tasks") && text.matches("### Keep connection").count() == 9, "{text}");
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
    base.write(".ralph/config.toml", "format = 1\nevents.limits = { per_project = 0 }\n");
    memory(&base).add(&Knowledge::event("decision", "Sessions stay in SQLite.").unwrap()).unwrap();
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
    for number in 0..39 {
        base.entry(
            &format!("n{number}"),
            &format!("Note {number}"),
            "x",
            &format!("It is about {number}, and says so at some length. More."),
        );
    }
    attempt(&base, 1, "Keep connections open", &failed("the server closes them"));
    base.entry("z", "Keep connections open", "x", "The server closes them after a minute.");
    let first = base.run(["context"]).answer(0);
    assert!(first.contains("Learnings\n\n- **[note]** Keep connections open: The server closes them"), "{first}");
    std::fs::remove_dir_all(base.at(".ralph/cache")).unwrap();
    assert_eq!(base.run(["context"]).answer(0), first);
    assert!(Budget::tokens(1_200).cost(&first) <= 1_200 && Budget::tokens(1_100).cost(&first) > 1_000, "{first}");
    let short = base.run(["context", "--tokens", "250"]).answer(0);
    assert!(Budget::tokens(250).cost(&short) <= 250 && short.contains("the server closes them"), "{short}");
    assert!(short.contains("More was left out for space; `ralph-memory list` shows all entries.\n"), "{short}");
    let large = base.run(["context", "--tokens", "9000"]).answer(0);
    assert!(large.contains("about 38") && !large.contains("left out for space"), "{large}");
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
    assert!(!base.at(".ralph/state/attempts").exists(), "nothing was begun");
}

#[test]
fn a_briefing_leaves_out_only_what_its_client_loads() {
    let base = TestBase::new();
    for (path, text) in [
        (".continue/rules/k.md", "# Kotlin\n\nKotlin uses ktlint.\n"),
        (".agents/rules/a.md", "# Branches\n\nBranches are short.\n"),
        (".claude/rules/c.md", "# Commits\n\nCommits are signed.\n"),
        ("CLAUDE.md", "# Style\n\nIndent with tabs.\n"),
        ("AGENTS.md", "# Notes\n\nThe queue drains at midnight.\n"),
        ("packages/x/AGENTS.md", "# Of x\n\nThe widget needs glue.\n"),
    ] {
        base.write(path, text);
    }
    base.run(["import", ".", ".claude", ".agents", ".continue"]).says(0, "6 added");
    let check = |client: &'static str, loaded: &[&str]| {
        let request = BriefingRequest { client: Some(client), ..BriefingRequest::default() };
        let text = memory(&base).briefing(&request).unwrap().text;
        for fact in ["ktlint", "are short", "are signed", "tabs", "midnight", "glue"] {
            assert_eq!(text.contains(fact), !loaded.contains(&fact), "{client}: {fact}\n{text}");
        }
    };
    check("claude", &["are signed", "tabs"]);
    check("codex", &["midnight"]);
    check("opencode", &["midnight"]);
    check("gemini", &[]);
}
