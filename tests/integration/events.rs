//! Events and scopes: which contexts show an event, in what detail, and how often.

use ralph_memory::entry::{Outcome, Source, Validation};
use ralph_memory::memory::{OpenAttempt, Report, Run, WriteAction};
use ralph_memory::{Id, Knowledge, Memory, Query, Scope, Task};
use serde_json::json;

use crate::agent::Agent;
use crate::support::TestBase;

fn memory(base: &TestBase) -> Memory {
    base.memory()
}

/// Returns a memory that reads events from an agent's output.
fn listening(base: &TestBase) -> Memory {
    base.write(".ralph/config.toml", "format = 1\n[events]\nfrom_output = true\n");
    memory(base)
}

fn task(title: &str, section: &str) -> Task {
    Task { section: Some(section.to_owned()), ..Task::new(title) }
}

fn begin(memory: &Memory, task: &Task) -> OpenAttempt {
    memory.begin(task, &Run::named("run-1")).unwrap()
}

/// Ends an iteration with its agent's output, and returns the refusals.
fn say(memory: &Memory, task: &Task, text: &str) -> Vec<String> {
    let iteration = begin(memory, task);
    memory.finish(&iteration, &Report { text: text.to_owned(), ..Report::default() }).unwrap().refused
}

fn events(base: &TestBase) -> Vec<String> {
    let files = base.files(".ralph/knowledge");
    files.into_iter().filter(|path| path.contains("/events/")).collect()
}

/// Seed 004: a new task in the same section sees the results of those before it.
#[test]
fn a_new_task_in_a_section_sees_its_events() {
    let base = TestBase::new();
    let memory = memory(&base);
    let rejected = "The reviewer rejected the schema. It has no foreign keys.";
    let note = |event: &str, summary: &str, scope: Scope| {
        memory.add(&Knowledge { scope, ..Knowledge::event(event, summary).unwrap() }).unwrap();
    };
    note("rejection", rejected, Scope::Section("storage".into()));
    note("approval", "The second schema was approved.", Scope::Task("t-1".into()));
    note("decision", "Sessions stay in SQLite.", Scope::Project);
    note("hint", "Not for everyone.", Scope::Feature("login".into()));
    // Nothing in the title has to do with it.
    let told = begin(&memory, &task("Another thing", "storage")).context;
    assert!(told.contains(&format!("**Section `storage`**\n\n- **[rejection]** {rejected} (human, ")), "{told}");
    assert!(told.contains("**Project**\n\n- **[decision]** Sessions stay in SQLite."), "{told}");
    assert!(!told.contains("second schema") && !told.contains("Not for everyone"), "{told}");
    let other = begin(&memory, &task("Another thing", "ui")).context;
    assert!(!other.contains(rejected) && other.contains("Sessions stay in SQLite."), "{other}");
    let of_task = Task { id: Some("t-1".into()), feature: Some("login".into()), ..task("Third", "ui") };
    let told = begin(&memory, &of_task).context;
    assert!(told.contains("**This task**\n\n- **[approval]** The second schema was approved."), "{told}");
    assert!(told.contains("**Feature `login`**\n\n- **[hint]** Not for everyone."), "{told}");
    assert!(told.find("**This task**") < told.find("**Feature `login`**"));
    assert!(told.find("**Feature `login`**") < told.find("**Project**"));
}

/// Seed 004: what several note of one occurrence, in other forms of the same words, is one event.
#[test]
fn events_of_the_same_words_are_one() {
    let base = TestBase::new();
    let memory = memory(&base);
    let note = |summary: &str| memory.add(&Knowledge::event("rejection", summary).unwrap()).unwrap().action;
    let long = "and neither do the columns that the export of the accounts reads, as Platform says";
    assert_eq!(
        note(&format!("The reviewer rejected the schema: it has no foreign keys, {long}.")),
        WriteAction::Created
    );
    for same in [
        format!("the  reviewer rejected the schema (it has no foreign keys, {long})"),
        format!("Reviewer rejected schema;\n\nhas no foreign keys, {long}!"),
    ] {
        assert_eq!(note(&same), WriteAction::Unchanged, "{same}");
    }
    for other in [
        format!("The reviewer rejected the schema: it had no foreign keys, {long}."),
        format!("The reviewer rejected the schema: it has no foreign keys, {long} so."),
        "The reviewer rejected the schema: it must have no foreign keys.".to_owned(),
        "The schema rejected the reviewer: it must have no foreign keys.".to_owned(),
    ] {
        assert_eq!(note(&other), WriteAction::Created, "{other}");
    }
    assert_eq!(events(&base).len(), 5);
}

/// Seen in 0.1.0: after three iterations with `--section auth`, a task of that section in another run saw nothing,
/// since `note` was never called.
#[test]
fn a_task_sees_the_results_of_others_in_its_section() {
    let base = TestBase::new();
    let memory = memory(&base);
    let login = Task { id: Some("t-login".into()), ..task("Add the login", "auth") };
    let failed = "<failure-report>\nwhat_tried: cookies\nwhy_failed: the proxy strips them\n</failure-report>\n\
                  <retry-suggestion>send a header</retry-suggestion><task-failed>t-login</task-failed>";
    assert_eq!(say(&memory, &login, failed), [""; 0]);
    assert_eq!(say(&memory, &login, failed), [""; 0]);
    let refuted = Validation { command: "cargo test".into(), exit_code: 101, duration_ms: 0 };
    let iteration = begin(&memory, &login);
    let report =
        Report { text: "<task-done>t-login</task-done>".into(), validation: Some(refuted), ..Report::default() };
    memory.finish(&iteration, &report).unwrap();
    let iteration = begin(&memory, &login);
    let passed = Validation { command: "cargo test".into(), exit_code: 0, duration_ms: 0 };
    let text = "<journal>The header is X-Session.</journal><task-done>t-login</task-done>".into();
    memory.finish(&iteration, &Report { text, validation: Some(passed), ..Report::default() }).unwrap();

    // Nothing in the title has to do with it, and it is another run.
    let other = memory.begin(&task("Paint kitchens", "auth"), &Run::named("run-2")).unwrap();
    let rejected = "- **[rejection]** Add the login: Tried: cookies. Why it failed: the proxy strips them. Suggested instead: send a header. (agent, ";
    assert_eq!(other.context.matches(rejected).count(), 1, "{}", other.context);
    assert!(
        other.context.contains("- **[rejection]** Add the login: `cargo test` ended with 101. (agent, "),
        "{}",
        other.context
    );
    let approved = "- **[approval]** Add the login: `cargo test` passed. The header is X-Session. (agent, ";
    assert!(other.context.contains(approved), "{}", other.context);
    let kitchen = memory.begin(&task("Paint kitchens", "home"), &Run::named("run-3")).unwrap();
    assert!(!kitchen.context.contains("Add the login"), "{}", kitchen.context);
    // It is found, is shown once in a context, and is in no second file.
    let query = Query { text: "the proxy strips cookies".into(), ..Query::default() };
    // The first two say the same; which of them is newer depends on when a second ended.
    let first = memory.search(&query, 1).unwrap().hits[0].entry.id.to_string();
    assert!(["journal/run-1/0001", "journal/run-1/0002"].contains(&first.as_str()), "{first}");
    let same = memory.begin(&task("Add the login for the other app", "auth"), &Run::named("run-4")).unwrap();
    assert_eq!(same.context.matches("The header is X-Session.").count(), 1, "{}", same.context);
    assert!(events(&base).is_empty());
    // The limits apply to both together.
    base.write(".ralph/config.toml", "format = 1\n[events]\nlimits = { per_section = 1 }\n");
    let capped = self::memory(&base).begin(&task("Paint kitchens", "auth"), &Run::named("run-5")).unwrap();
    assert_eq!(capped.context.matches("Add the login: ").count(), 1, "{}", capped.context);
    assert!(capped.context.contains(approved), "the newest is told: {}", capped.context);
}

/// Seed 004: events are written on submission, rejection, approval and guidance, each with who it was.
#[test]
fn every_kind_of_event_is_written_by_every_author() {
    let base = TestBase::new();
    let sorts = [
        ("submission", "coder"),
        ("rejection", "reviewer"),
        ("approval", "reviewer"),
        ("decision", "coordinator"),
        ("follow_up", "orchestrator"),
        ("hint", "human"),
        ("dispute", "agent"),
    ];
    for (event, source) in sorts {
        let summary = format!("What came of the {event}. And why.");
        let arguments = ["add", "--event", event, &summary, "--source", source, "--scope", "section:s"];
        let ran = base.run(arguments);
        let stem = format!("2026-11-20-what-came-of-the-{}", event.replace('_', "-"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), format!("created knowledge/{stem}\n").as_str()), "{ran}");
        let expected = format!(
            "---\ntitle: \"What came of the {event}.\"\ntags: [{event}]\ncategory: {event}\nscope: \"section:s\"\n\
             source: {source}\ncreated_at: \"2026-11-20T10:00:00Z\"\n---\n\n{summary}\n"
        );
        let text = base.read(&format!(".ralph/knowledge/events/{stem}.md"));
        // What an agent wrote has a fingerprint.
        let lines: Vec<&str> = text.split_inclusive('\n').filter(|line| !line.starts_with("fingerprints: ")).collect();
        assert_eq!((lines.concat(), lines.len()), (expected, text.lines().count() - usize::from(source != "human")));
    }
    let told = begin(&memory(&base), &task("Anything", "s")).context;
    for (event, source) in sorts {
        assert!(
            told.contains(&format!("- **[{event}]** What came of the {event}. And why. ({source}, 2026-11-20)")),
            "{told}"
        );
    }
    base.run(["check", "--strict"]).says(0, "no problems in ");
}

/// Seed 004: a context stays within its budget, and has no more events than the caps allow.
#[test]
fn a_context_respects_the_limits_of_events() {
    let base = TestBase::new();
    let memory = memory(&base);
    for number in 0..40 {
        let importance = Some(if number < 5 { 90 } else { 40 });
        let event = Knowledge {
            importance,
            ..Knowledge::event("decision", format!("Decision number {number} of the project.")).unwrap()
        };
        memory.add(&event).unwrap();
    }
    for number in 0..14 {
        let scope = Scope::Task("t-1".into());
        memory
            .add(&Knowledge { scope, ..Knowledge::event("hint", format!("Hint number {number} for it.")).unwrap() })
            .unwrap();
    }
    let own = Task { id: Some("t-1".into()), ..Task::new("zebra") };
    let iteration = begin(&memory, &own);
    let count = |word: &str| iteration.context.matches(word).count();
    assert!(iteration.context.chars().count() <= 27_000 + 2_200);
    // Events over the limits, 30 and 12, or without room are listed.
    let (decisions, hints) = (count("- **[decision]** "), count("- **[hint]** "));
    assert!(decisions <= 30 && hints <= 12);
    assert_eq!(decisions + hints + iteration.left_out.len(), 40 + 14);
    assert_eq!(count("Left out for space: "), 1);
    for number in 0..5 {
        assert_eq!(count(&format!("Decision number {number} of")), 1);
    }
}

/// Seen in 0.1.0: the 31st decision was found by nobody, and `tidy` archived it.
#[test]
fn limits_of_events_hide_none() {
    let base = TestBase::new();
    base.write(".ralph/config.toml", "format = 1\n[events]\nlimits = { per_task = 2, per_section = 2, per_feature = 2, per_project = 2, in_all = 3 }\n");
    let memory = memory(&base);
    for (at, scope) in ["project", "section:s", "feature:f", "task:t-1"].iter().enumerate() {
        for topic in ["walrus", "heron", "otter", "lynx"] {
            let event = Knowledge::event("decision", format!("The {topic} of number {at} moves.")).unwrap();
            // The first ones are the least important, and agents' own.
            let importance = Some(if topic == "walrus" { 1 } else { 90 });
            let source = if topic == "walrus" { Source::Agent } else { Source::Human };
            memory.add(&Knowledge { scope: Scope::from((*scope).to_owned()), importance, source, ..event }).unwrap();
        }
    }
    base.run(["tidy", "--json"]).json(0);
    assert_eq!(events(&base).len(), 16);
    let mut agent = Agent::greeted(base.with(["mcp"]).command());
    for topic in ["walrus", "heron", "otter", "lynx"] {
        let all: Vec<String> = (0..4).map(|at| format!("The {topic} of number {at} moves.")).collect();
        let query = Query { text: topic.into(), ..Query::default() };
        let found: Vec<String> =
            memory.search(&query, 100).unwrap().hits.into_iter().map(|hit| hit.entry.title).collect();
        let searched = agent.call("search_memory", &json!({"query": topic})).to_string();
        let listed = base.run(["list", "--json"]).stdout;
        for title in all {
            assert!(
                found.contains(&title) && searched.contains(&title) && listed.contains(&title),
                "{title}: {found:?}\n{searched}"
            );
            base.run(["show", &title]).says(0, &title);
        }
    }
    // A context shows as many as before, and those that its task is about first.
    for (topic, is_shown) in [("heron", true), ("otter", true), ("lynx", true), ("zebra", false)] {
        let task = Task { id: Some("t-2".into()), ..Task::new(format!("Feed the {topic}")) };
        let told = begin(&memory, &task).context;
        let n_shown = told.matches("- **[decision]** ").count();
        let is_first = told.contains(&format!("The {topic} of number 0 moves."));
        assert_eq!((n_shown, is_first), (2, is_shown), "{topic}: {told}");
    }
}

/// Times had whole seconds, so that what was written within one came in the order of its name.
#[test]
fn what_is_written_in_one_second_has_an_order() {
    let base = TestBase::new();
    let at = |fraction: &str| format!("2026-11-20T10:00:00{fraction}Z");
    base.write(
        ".ralph/knowledge/events/old.md",
        "---\ntitle: Walrus old\ncategory: decision\ncreated_at: \"2026-11-20T10:00:00Z\"\n---\n\nWalrus.\n",
    );
    for (title, fraction) in [("Walrus c", ".2"), ("Walrus e", ".4"), ("Walrus g", ".600001"), ("Walrus b", ".6")] {
        base.with(["add", title, "--body", "Walrus.", "--category", "decision"])
            .now(&at(fraction))
            .run()
            .says(0, "created");
        let text = format!("<task-failed>t-{}</task-failed>", &title[7..]);
        let id = format!("t-{}", &title[7..]);
        base.with(["record", "--task", title, "--task-id", &id, "--run", &format!("run-{id}")])
            .input(&text)
            .now(&at(fraction))
            .run()
            .says(0, "");
    }
    let expected = ["Walrus g", "Walrus b", "Walrus e", "Walrus c", "Walrus old"];
    let titles = |arguments: &[&str], of: &str| -> Vec<String> {
        let answer = base.with(arguments).now(&at(".7")).run().json(0);
        let entries = answer[of].as_array().unwrap().iter();
        entries.map(|entry| entry["title"].as_str().or(entry["task_title"].as_str()).unwrap().to_owned()).collect()
    };
    assert_eq!(titles(&["list", "--kind", "knowledge", "--sort", "updated", "--json"], "entries"), expected);
    assert_eq!(titles(&["search", "walrus", "--kind", "knowledge", "--json"], "entries"), expected);
    assert_eq!(titles(&["log", "--json"], "attempts"), expected[..4]);
    let told = base.with(["context", "--task", "x"]).now(&at(".7")).run().stdout;
    let places: Vec<Option<usize>> = expected.iter().map(|title| told.find(title)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{told}");
}

/// Seed 004: the same rejection twice is one fact.
#[test]
fn no_fact_is_repeated_in_a_scope() {
    let base = TestBase::new();
    let memory = memory(&base);
    let event = Knowledge {
        source: Source::Reviewer,
        ..Knowledge::event("rejection", "No tests.  For the empty file.").unwrap()
    };
    assert_eq!(memory.add(&event).unwrap().action, WriteAction::Created);
    let again =
        Knowledge { body: "No tests. For the\nempty file.".into(), tags: vec!["other".into()], ..event.clone() };
    let added = memory.add(&again).unwrap();
    assert_eq!((added.action, added.path.as_str()), (WriteAction::Unchanged, events(&base)[0].as_str()));
    for other in [
        Knowledge { scope: Scope::Task("t-1".into()), ..event.clone() },
        Knowledge { category: Some("hint".into()), ..event.clone() },
        Knowledge { body: "No tests. For the full file.".into(), ..event.clone() },
    ] {
        assert_eq!(memory.add(&other).unwrap().action, WriteAction::Created);
    }
    // An event that no context shows any more is noted again.
    let expired = Knowledge {
        expires_at: ralph_memory::entry::parse_time("2020-01-01"),
        ..Knowledge::event("hint", "Old.").unwrap()
    };
    memory.add(&expired).unwrap();
    assert_eq!(memory.add(&Knowledge::event("hint", "Old.").unwrap()).unwrap().action, WriteAction::Created);
    assert_eq!(events(&base).len(), 6);
    // `add` with such a category is the same.
    let knowledge = Knowledge { category: Some("hint".into()), ..Knowledge::new("Old.", ["x"], "Old.") };
    assert_eq!(memory.add(&knowledge).unwrap().action, WriteAction::Unchanged);
}

/// Seed 004: only a strict block counts, and only where that is allowed.
#[test]
fn suggestions_are_read_from_a_strict_block_if_allowed() {
    let base = TestBase::new();
    let text = "Some words.\n\n## MEMORY_SUGGESTIONS\n\n```json\n[\n\
        {\"scope\": \"task\", \"event_type\": \"decision\", \"summary\": \"Use a queue.\", \"importance\": 70, \"tags\": [\"Queue\"], \"details\": {\"commit\": \"abc\", \"n\": [1, 2.5]}},\n\
        {\"scope\": \"section\", \"event_type\": \"hint\", \"summary\": \"Mind the order.\"},\n\
        {\"scope\": \"feature\", \"event_type\": \"hint\", \"summary\": \"x\"},\n\
        {\"scope\": \"project\", \"event_type\": \"gossip\", \"summary\": \"x\"},\n\
        {\"scope\": \"project\", \"event_type\": \"hint\", \"summary\": \"\"},\n\
        {\"scope\": \"project\", \"event_type\": \"hint\", \"summary\": \"x\", \"importance\": 101},\n\
        {\"scope\": \"project\", \"event_type\": \"hint\", \"summary\": \"x\", \"tags\": \"a\"},\n\
        {\"scope\": \"all\", \"event_type\": \"hint\", \"summary\": \"x\"},\n\
        7]\n```\n";
    let own = Task { id: Some("t-1".into()), ..task("A task", "storage") };
    let silent = memory(&base);
    assert_eq!(say(&silent, &own, text), Vec::<String>::new());
    assert_eq!(events(&base), Vec::<String>::new());
    assert!(!begin(&silent, &own).context.contains("MEMORY_SUGGESTIONS"));

    let memory = listening(&base);
    assert!(begin(&memory, &own).context.contains("## MEMORY_SUGGESTIONS"));
    let refused = say(&memory, &own, text);
    assert_eq!(
        refused,
        [
            "line 3: MEMORY_SUGGESTIONS entry 4: `event_type` is not one of submission, rejection, approval, decision, follow_up, hint, dispute",
            "line 3: MEMORY_SUGGESTIONS entry 5: `summary` is not a text",
            "line 3: MEMORY_SUGGESTIONS entry 6: `importance` is not a whole number from 0 to 100",
            "line 3: MEMORY_SUGGESTIONS entry 7: `tags` is not a list of texts",
            "line 3: MEMORY_SUGGESTIONS entry 8: `scope` is not one of task, section, feature, project",
            "line 3: MEMORY_SUGGESTIONS entry 9: it is not an object",
            "line 3: MEMORY_SUGGESTIONS entry 3: scope: the task has no feature",
        ]
    );
    let found = events(&base);
    assert_eq!(found.len(), 2, "{found:?}");
    let decision = base.read(found.iter().find(|path| path.contains("queue")).unwrap());
    for line in [
        "tags: [queue]\n",
        "category: decision\n",
        "scope: \"task:t-1\"\n",
        "importance: 70\n",
        "source: agent\n",
        "run_id: run-1\n",
        "details: {\"commit\":\"abc\",\"n\":[1,2.5]}\n",
    ] {
        assert!(decision.contains(line), "{decision}");
    }
    let id = Id::of_path(found[0].strip_prefix(".ralph/").unwrap()).unwrap();
    assert_eq!(memory.show(&id).unwrap().problems, []);
    let hint = base.read(found.iter().find(|path| path.contains("mind")).unwrap());
    assert!(hint.contains("scope: \"section:storage\"\n"), "{hint}");
    assert!(begin(&memory, &own).context.contains("- **[decision]** Use a queue. (agent, "));

    // No list, no fence, a fence around it, a quotation, other words in between: no block.
    let item = "[{\"scope\": \"project\", \"event_type\": \"hint\", \"summary\": \"Never said.\"}]";
    for text in [
        format!("## MEMORY_SUGGESTIONS\n{item}\n"),
        format!("## MEMORY_SUGGESTIONS\nwords\n```json\n{item}\n```\n"),
        format!("## MEMORY_SUGGESTIONS\n```json\n{item}\n"),
        format!("````\n## MEMORY_SUGGESTIONS\n```json\n{item}\n```\n````\n"),
        format!("> ## MEMORY_SUGGESTIONS\n> ```json\n> {item}\n> ```\n"),
        format!("MEMORY_SUGGESTIONS\n```json\n{item}\n```\n"),
    ] {
        assert_eq!(say(&memory, &own, &text), Vec::<String>::new(), "{text}");
    }
    assert_eq!(say(&memory, &own, "## MEMORY_SUGGESTIONS\n```\n{}\n```\n").len(), 1);
    assert_eq!(say(&memory, &own, "## MEMORY_SUGGESTIONS\n```\n[1,\n```\n").len(), 1);
    assert_eq!(events(&base).len(), 2);
}

/// Seed 004: no context shows expired events.
#[test]
fn expired_and_replaced_events_are_in_no_context() {
    let base = TestBase::new();
    let note = |summary: &str, expires: &str| {
        let ran = base.run(["add", "--event", "hint", summary, "--expires", expires, "--json"]);
        ran.json(0)["id"].as_str().unwrap().to_owned()
    };
    note("Only for a day.", "1d");
    let (old, new) = (note("The old hint.", "99w"), note("The new hint.", "99w"));
    base.run(["edit", &new, "--supersedes", &old]).says(0, "updated knowledge/");
    let told = |now: &str| {
        let ran = base.with(["context", "--task", "x", "--json"]).now(now).run();
        ran.json(0)["prompt"].as_str().unwrap().to_owned()
    };
    let today = told("2026-11-20T12:00:00Z");
    assert!(today.contains("Only for a day.") && today.contains("The new hint.") && !today.contains("The old hint."));
    assert!(!told("2026-11-22T12:00:00Z").contains("Only for a day."));
}

/// Seed 004: no key and no service is needed to write any of it.
#[test]
fn events_need_nothing_but_files() {
    // The program runs with an empty environment in these tests, and git is not found there.
    let base = TestBase::new();
    base.write("../home/agent.sh", "cat > /dev/null\necho \"<task-done>$RALPH_TASK_ID</task-done>\"\n");
    let agent = format!("/bin/sh {}", base.home().join("agent.sh").display());
    let ran = base.with(["run", "--task", "x", "--section", "s", "--agent", &agent]).env("PATH", "/bin").run();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(base.files(".ralph/journal").len(), 1);
}

#[test]
fn an_entry_gets_another_scope() {
    let base = TestBase::new();
    let memory = memory(&base);
    let knowledge =
        Knowledge { scope: Scope::Task("t-1".into()), ..Knowledge::new("WAL mode", ["sqlite"], "One writer.") };
    let id = memory.add(&knowledge).unwrap().id;
    let sees = |title: &str| begin(&memory, &Task::new(title)).entries;
    assert_eq!(sees("WAL mode in sqlite"), []);
    let ran = base.run(["edit", id.as_str(), "--scope", "project"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "updated knowledge/wal-mode\n"), "{ran}");
    assert_eq!(sees("WAL mode in sqlite"), std::slice::from_ref(&id));
    let text = base.read(".ralph/knowledge/wal-mode.md");
    assert!(!text.contains("scope:") && text.contains("updated_at: \"2026-11-20T10:00:00Z\"\n"), "{text}");
    let again = base.run(["edit", id.as_str(), "--scope", "project", "--json"]).json(0);
    assert_eq!(again["action"], json!("unchanged"));
    assert_eq!(base.read(".ralph/knowledge/wal-mode.md"), text);
    let back = base.run(["edit", "wal-mode", "--scope", "section:storage", "--json"]).json(0);
    assert_eq!(back["action"], json!("updated"));
    assert_eq!(base.run(["show", "wal-mode", "--json"]).json(0)["entry"]["scope"], json!("section:storage"));
    // Wrong input is refused and changes nothing.
    let text = base.read(".ralph/knowledge/wal-mode.md");
    for (arguments, code, reason) in [
        (
            ["edit", "wal-mode", "--scope", "everyone"],
            2,
            "not one of `project`, `feature:NAME`, `section:ID` and `task:ID`",
        ),
        (["edit", "no-such-entry", "--scope", "project"], 1, "there is no entry `knowledge/no-such-entry`"),
        (["edit", "journal/run-1/0001", "--scope", "project"], 2, "a journal entry never changes"),
    ] {
        base.run(arguments).refuses(code, reason);
    }
    assert_eq!(base.read(".ralph/knowledge/wal-mode.md"), text);
}

#[test]
fn invalid_events_are_refused_with_a_reason() {
    let base = TestBase::new();
    let long = "x".repeat(801);
    for (arguments, reason) in [
        (["--event", "gossip", "x"], "not one of submission, rejection"),
        (["--event", "hint", " "], "summary: it is empty"),
        (["--event", "hint", &long], "it has 801 characters; the limit is 800"),
    ] {
        base.run(["add"].into_iter().chain(arguments)).refuses(2, reason);
    }
    let ran = base.run(["add", "--event", "hint", "x", "--details", "[1]"]);
    ran.refuses(2, "invalid value '[1]' for '--details <JSON>': not a JSON object");
    assert_eq!(events(&base), Vec::<String>::new());
}

#[test]
fn repeated_events_in_output_write_nothing() {
    let base = TestBase::new();
    let memory = listening(&base);
    let own = task("A task", "s");
    memory
        .add(&Knowledge::event("hint", "## MEMORY_SUGGESTIONS is how <task-done>t-1</task-done> ends.").unwrap())
        .unwrap();
    let iteration = begin(&memory, &own);
    let recorded = memory.finish(&iteration, &Report { text: iteration.context.clone(), ..Report::default() }).unwrap();
    assert_eq!((recorded.outcome, recorded.refused), (Outcome::Blocked, Vec::new()));
    assert_eq!(events(&base).len(), 1);
}
