//! What adding, superseding and restoring do to entries that are there already.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use ralph_memory::memory::{EntryChanges, WriteAction};
use ralph_memory::{Id, Knowledge, Memory, Query, Source};
use tempfile::TempDir;

use crate::support::TestBase;

/// Returns a memory with a fixed clock, in a folder that goes with the first value.
fn memory() -> (TempDir, Memory) {
    let folder = tempfile::tempdir().unwrap();
    Memory::init(folder.path()).unwrap();
    let memory = Memory::open(folder.path()).unwrap();
    (folder, memory.with_clock(|| UNIX_EPOCH + Duration::from_secs(1_800_000_000)))
}

fn found(memory: &Memory, text: &str) -> Vec<String> {
    let query = Query { text: text.to_owned(), ..Query::default() };
    memory.search(&query, 10).unwrap().hits.into_iter().map(|hit| hit.entry.id.to_string()).collect()
}

fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

fn body(root: &Path, stem: &str) -> String {
    let text = fs::read_to_string(root.join(format!(".ralph/knowledge/{stem}.md"))).unwrap();
    text.rsplit("---\n").next().unwrap().trim().to_owned()
}

/// An entry that searches hide is not updated: the addition would not be found.
#[test]
fn knowledge_is_found_beside_a_hidden_entry_of_its_title() {
    let (_folder, memory) = memory();
    let old = Knowledge {
        expires_at: ralph_memory::entry::parse_time("2020-01-01"),
        ..Knowledge::new("Old flag", ["f"], "quokka one")
    };
    memory.add(&old).unwrap();
    assert_eq!(found(&memory, "quokka"), [""; 0]);
    let added = memory.add(&Knowledge::new("Old flag", ["f"], "quokka two")).unwrap();
    assert_eq!((added.action, added.id), (WriteAction::Created, id("old-flag-2")));
    assert_eq!(found(&memory, "quokka"), ["knowledge/old-flag-2"]);

    memory.add(&Knowledge::new("Use make", ["build"], "wombat one")).unwrap();
    memory.add(&Knowledge::new("Use just", ["tools"], "other words")).unwrap();
    let supersede = || memory.change(&id("use-just"), &EntryChanges::superseding([id("use-make")])).unwrap().action;
    assert_eq!([supersede(), supersede()], [WriteAction::Updated, WriteAction::Unchanged]);
    assert_eq!(found(&memory, "wombat"), [""; 0]);
    let added = memory.add(&Knowledge::new("Use make", ["build"], "wombat two")).unwrap();
    assert_eq!((added.action, added.id), (WriteAction::Created, id("use-make-2")));
    assert_eq!(found(&memory, "wombat"), ["knowledge/use-make-2"]);
}

#[test]
fn text_of_an_agent_never_replaces_a_persons() {
    let (folder, memory) = memory();
    let by_person = |body: &str| memory.add(&Knowledge::new("T", ["x"], body)).unwrap().id;
    let by_agent = |body: &str| {
        let knowledge = Knowledge { source: Source::Agent, ..Knowledge::new("T", ["x"], body) };
        memory.add(&knowledge).unwrap().id
    };
    assert_eq!(by_person("person one"), id("t"));
    assert_eq!(by_agent("agent one"), id("t-2"));
    assert_eq!(by_person("person two"), id("t"));
    assert_eq!(by_agent("agent two"), id("t-2"));
    assert_eq!((body(folder.path(), "t"), body(folder.path(), "t-2")), ("person two".into(), "agent two".into()));

    // A person's text takes the place of an agent's under its title, and is the person's from then on.
    let agents = Knowledge { source: Source::Coder, ..Knowledge::new("Other", ["y"], "agent") };
    assert_eq!(memory.add(&agents).unwrap().id, id("other"));
    let added = memory.add(&Knowledge::new("Other", ["y"], "person")).unwrap();
    assert_eq!((added.action, added.id, added.similar), (WriteAction::Updated, id("other"), vec![]));
    let refused = memory.add(&agents).unwrap_err().to_string();
    let expected = "`knowledge/other` said that before, and a person corrected it: it says now, as \"Other\" since 2027-01-15: person";
    assert_eq!((refused.as_str(), body(folder.path(), "other").as_str()), (expected, "person"));
}

fn by_agent(title: &str, supersedes: &[&str]) -> Knowledge {
    let supersedes = supersedes.iter().map(|old| id(old)).collect();
    Knowledge { source: Source::Agent, supersedes, ..Knowledge::new(title, ["agents"], format!("{title}: okapi.")) }
}

/// Returns the problems that `check` has with what agents want to replace.
fn suggestions(memory: &Memory) -> Vec<String> {
    let problems = memory.check().problems.into_iter();
    problems.filter(|problem| problem.code == "suggested-replacement").map(|problem| problem.to_string()).collect()
}

/// What was seen in 0.1.0: one entry of an agent hid 30 rules of a person, and `check` was silent.
#[test]
fn what_an_agent_replaces_of_a_person_stays_until_a_person_confirms_it() {
    let (folder, memory) = memory();
    let rules: Vec<String> = (0..30).map(|number| format!("rule-{number}")).collect();
    for number in 0..30 {
        memory.add(&Knowledge::new(format!("Rule {number}"), ["rules"], format!("okapi {number}"))).unwrap();
    }
    let all: Vec<&str> = rules.iter().map(String::as_str).collect();
    let added = memory.add(&by_agent("No rules", &all)).unwrap();
    let told: Vec<&str> = added.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        told,
        ["a person wrote `knowledge/rule-0` and 29 more: that this entry replaces it is recorded as a suggestion"]
    );
    let query = Query { text: "okapi".to_owned(), ..Query::default() };
    assert_eq!(memory.search(&query, 100).unwrap().hits.len(), 31);
    assert!(memory.list(&ralph_memory::memory::EntryFilter::default()).entries.iter().all(|entry| !entry.superseded));
    let shown = |of: &str| memory.show(&id(of)).unwrap().entry;
    let (old, new) = (shown("rule-7"), shown("no-rules"));
    assert_eq!((old.superseded_by, old.would_be_superseded_by), (vec![], vec![id("no-rules")]));
    assert_eq!((new.supersedes, new.would_supersede.len()), (vec![], 30));
    let found = suggestions(&memory);
    assert_eq!(found.len(), 20, "the rest is counted: {found:?}");
    assert_eq!(
        found[0],
        ".ralph/knowledge/no-rules.md:6:13: an agent wants this entry to replace `knowledge/rule-0`, which a person wrote and \
         which stays"
    );
    // A year later, nothing of a person's is out of date.
    let later = Memory::open(folder.path()).unwrap().with_clock(|| UNIX_EPOCH + Duration::from_secs(1_810_000_000));
    assert_eq!(later.tidy(true).unwrap().moved, []);

    // To confirm one is not to confirm the others.
    let refused = memory.change(&id("no-rules"), &EntryChanges::superseding([id("rule-0")])).unwrap_err().to_string();
    assert!(
        refused.contains("would also replace `knowledge/rule-1`, ") && refused.contains(" and 26 more"),
        "{refused}"
    );
    memory.add(&by_agent("Instead of rule 3", &["rule-3"])).unwrap();
    let confirmed = memory.change(&id("instead-of-rule-3"), &EntryChanges::superseding([id("rule-3")])).unwrap();
    assert_eq!((confirmed.action, confirmed.suggested), (WriteAction::Updated, vec![]));
    let text = fs::read_to_string(folder.path().join(".ralph/knowledge/instead-of-rule-3.md")).unwrap();
    assert!(text.contains("\nsource: \"human\"\n"), "{text}");
    assert!(shown("rule-3").summary.superseded && memory.search(&query, 100).unwrap().hits.len() == 31);
    // From now on it is the person's: an agent does not change what was confirmed.
    let told = memory.add(&by_agent("Instead of rule 3", &[])).unwrap();
    assert_eq!((told.action, told.id), (WriteAction::Unchanged, id("instead-of-rule-3")));
    let other = Knowledge { body: "Other words.".into(), ..by_agent("Instead of rule 3", &[]) };
    assert_eq!(memory.add(&other).unwrap().id, id("instead-of-rule-3-2"));
}

#[test]
fn agents_replace_what_agents_wrote_and_people_replace_anything() {
    let (folder, memory) = memory();
    memory.add(&by_agent("One", &[])).unwrap();
    assert_eq!(memory.add(&by_agent("Two", &["one"])).unwrap().problems, []);
    let by_agent_again = EntryChanges::superseding([id("one")]);
    let again = memory.change(&id("two"), &by_agent_again).unwrap();
    assert_eq!((again.action, again.suggested), (WriteAction::Unchanged, vec![]));
    assert_eq!(found(&memory, "okapi"), ["knowledge/two"]);
    memory.add(&Knowledge { source: Source::Human, ..by_agent("Three", &["two"]) }).unwrap();
    assert_eq!(found(&memory, "okapi"), ["knowledge/three"]);
    // An agent cannot bring back what a person replaced, with a circle.
    let path = folder.path().join(".ralph/knowledge/two.md");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text.replace("supersedes: [", "supersedes: [knowledge/three, ")).unwrap();
    assert_eq!(found(&memory, "okapi"), ["knowledge/three"]);
    assert_eq!((suggestions(&memory).len(), memory.check().total.errors), (1, 0));
}

#[test]
fn supersede_by_an_agent_is_a_suggestion() {
    let base = TestBase::new();
    base.entry("old", "Use make", "build", "quokka").entry("own", "Own", "build", "wombat");
    base.write(".ralph/knowledge/new.md", "---\ntitle: Use just\ntags: [x]\nsource: Agent\n---\n\nquagga\n");
    let by_agent = |old: &str, new: &str| base.with(["edit", new, "--supersedes", old]).env("CLAUDECODE", "1").run();
    let is_found = || base.run(["search", "quokka"]).code == Some(0);
    by_agent("old", "new").says(0, "suggested that knowledge/new replaces knowledge/old, which stays until a person");
    assert_eq!(
        by_agent("old", "new").answer(0),
        base.with(["edit", "new", "--supersedes", "old"]).env("OPENCODE", "1").run().answer(0)
    );
    by_agent("old", "own").refuses(2, "a person wrote `knowledge/own`");
    assert!(is_found());
    base.run(["show", "old"]).says(0, "replaced by knowledge/new, once a person confirms it");
    base.run(["show", "new"]).says(0, "this entry replaces knowledge/old, once a person confirms it");
    base.run(["check"]).says(0, "confirm with `ralph-memory edit knowledge/new --supersedes knowledge/old`");
    base.run(["edit", "new", "--supersedes", "old"]).says(0, "updated knowledge/new");
    assert!(!is_found());
    base.run(["check"]).says(0, "no problems");
    assert!(base.read(".ralph/knowledge/new.md").contains("source: \"human\""));
}

/// Seen in 0.1.0: each of the second facts silently replaced the first.
#[test]
fn a_fact_never_replaces_another() {
    let (folder, memory) = memory();
    let start = "The nightly build of the parser keeps the byte order mark of every file that it was given";
    let learning = |category: &str, end: &str| {
        let body = format!("{start} {end}.");
        let title = ralph_memory::internals::text::title_of(&body);
        Knowledge { category: Some(category.into()), source: Source::Agent, ..Knowledge::new(title, ["parser"], body) }
    };
    let pairs = [
        [
            Knowledge::new("Postgres", ["db"], "Version 16 runs in production."),
            Knowledge::new("Backups of Postgres run at 2 am", ["db"], "Do not deploy then."),
        ],
        [
            Knowledge::new("Use cargo nextest", ["tests"], "It takes half the time."),
            Knowledge::new("Never use cargo nextest", ["tests"], "It takes half the time."),
        ],
        [learning("pitfall", "on Windows"), learning("tool_usage", "by curl")],
    ];
    for [one, other] in pairs {
        let first = memory.add(&one).unwrap();
        let second = memory.add(&other).unwrap();
        assert_eq!((first.action, second.action), (WriteAction::Created, WriteAction::Created), "{}", other.title);
        assert_eq!(second.similar, std::slice::from_ref(&first.id), "{}", other.title);
        for (added, knowledge) in [(&first, &one), (&second, &other)] {
            assert_eq!(body(folder.path(), added.id.stem()), knowledge.body);
            assert!(found(&memory, &knowledge.title).contains(&added.id.to_string()), "{}", knowledge.title);
        }
        // Said again, each is known.
        assert_eq!(memory.add(&one).unwrap().action, WriteAction::Unchanged);
        assert_eq!(memory.add(&other).unwrap().action, WriteAction::Unchanged);
    }
}

#[test]
fn a_later_version_of_a_fact_changes_its_title() {
    let (_folder, memory) = memory();
    let old = Knowledge::new("Postgres backups", ["db"], "They run at 2 am. They take an hour. Ask Platform first.");
    let id = memory.add(&old).unwrap().id;
    let body = "They run at 2 am. They take an hour. Ask Storage first.";
    let added = memory.add(&Knowledge::new("Nightly Postgres backups", ["db", "ops"], body)).unwrap();
    assert_eq!(
        (added.action, &added.id, added.title.as_str()),
        (WriteAction::Updated, &id, "Nightly Postgres backups")
    );
    let shown = memory.show(&id).unwrap().entry;
    assert_eq!((shown.summary.title.as_str(), memory.versions(&id).unwrap().len()), ("Nightly Postgres backups", 1));
    assert_eq!(found(&memory, "storage backups"), [id.to_string()]);
}

#[test]
fn the_newest_of_many_earlier_texts_is_restored_and_each_can_be() {
    let (folder, memory) = memory();
    for number in 0..=11 {
        memory.add(&Knowledge::new("Foo", ["x"], format!("version {number}"))).unwrap();
    }
    let names = |memory: &Memory| -> Vec<String> {
        memory.versions(&id("foo")).unwrap().into_iter().map(|version| version.version).collect()
    };
    assert_eq!(names(&memory), (2..=12).rev().map(|number| number.to_string()).collect::<Vec<_>>());
    let restored = memory.restore(&id("foo"), None).unwrap();
    assert_eq!((restored.action, restored.id), (WriteAction::Restored, id("foo")));
    assert_eq!(body(folder.path(), "foo"), "version 10");
    memory.restore(&id("foo"), Some("3")).unwrap();
    assert_eq!(body(folder.path(), "foo"), "version 1");
    let unknown = memory.restore(&id("foo"), Some("99")).unwrap_err().to_string();
    assert_eq!(unknown, "the undo log has no text `99` of `knowledge/foo`");
    // No text is lost.
    let texts = memory.versions(&id("foo")).unwrap();
    let is_among = |number: u32| texts.iter().filter(|text| text.text.ends_with(&format!("n {number}\n"))).count();
    assert!((0..=11).all(|number| is_among(number) > 0), "{texts:?}");
    assert!(!folder.path().join(".ralph/archive/knowledge/foo.md").exists());
    // Several texts of one operation.
    let operation = memory.operation("importer");
    for text in ["a", "b"] {
        memory.add(&Knowledge::new("Foo", ["x"], text)).unwrap();
    }
    drop(operation);
    let number = memory.operations().unwrap()[0].number;
    assert_eq!(names(&memory)[..2], [format!("{number}.2"), number.to_string()]);
    memory.restore(&id("foo"), Some(&format!("{number}.2"))).unwrap();
    assert_eq!(body(folder.path(), "foo"), "a");
    // A new entry of the same name has nothing of the one that was removed by hand.
    fs::remove_file(folder.path().join(".ralph/knowledge/foo.md")).unwrap();
    memory.add(&Knowledge::new("Foo", ["x"], "new")).unwrap();
    assert_eq!(memory.versions(&id("foo")).unwrap(), []);
}

#[test]
fn an_entry_whose_writer_gave_no_tags_gets_some_and_they_do_not_count_as_common() {
    let base = TestBase::new();
    base.run(["add", "WAL mode", "--tags", "sqlite,locks", "--body", "Readers never wait."]).says(0, "created");
    let ran = base.run(["add", "WAL mode of SQLite is slow", "--body", "Readers never wait."]);
    assert_eq!(ran.stdout, "created knowledge/wal-mode-of-sqlite-is-slow\n");
    assert!(ran.stderr.contains("tags, from its title and the nearest entries: sqlite, wal, mode, slow\n"), "{ran}");
    let added = base.run(["add", "Deploys on Fridays", "--body", "Never.", "--json"]).json(0);
    assert_eq!(added["derived_tags"], serde_json::json!(["deploys", "fridays"]));
    assert_eq!(base.memory().show(&id("deploys-on-fridays")).unwrap().entry.summary.tags, ["deploys", "fridays"]);
    // Who gives tags gets no others, and the same title is the same entry.
    let again = base.run(["add", "Deploys on Fridays", "--body", "Never.", "--json"]).json(0);
    assert_eq!((&again["action"], &again["derived_tags"]), (&"unchanged".into(), &serde_json::json!([])));
    base.run(["add", "Deploys on Fridays", "--body", "Not even then."]).says(0, "updated knowledge/deploys-on-fridays");
    let tagged = base.run(["add", "Fonts", "--tags", "ui", "--body", "Inter.", "--json"]).json(0);
    assert_eq!(tagged["derived_tags"], serde_json::json!([]));
}

#[test]
fn an_edit_by_options_changes_one_file_and_all_at_once() {
    let base = TestBase::new();
    base.entry("cache", "Cache", "build", "It is cold.").entry("old", "Old cache", "build", "It is gone.");
    let all = ["edit", "cache", "--title", "Compiler cache", "--scope", "feature:ci", "--tags", "cache, CI"];
    let changed = base.run([&all[..], &["--supersedes", "old", "--json"]].concat()).json(0);
    assert_eq!((&changed["action"], &changed["id"]), (&"updated".into(), &"knowledge/compiler-cache".into()));
    assert_eq!(changed["previous_id"], "knowledge/cache");
    let shown = base.memory().show(&id("cache")).unwrap().entry;
    assert_eq!((shown.summary.tags, shown.supersedes), (vec!["cache".to_owned(), "ci".to_owned()], vec![id("old")]));
    assert_eq!(base.files(".ralph/archive"), [""; 0]);
    base.run([&["edit", "compiler-cache"], &all[2..], &["--supersedes", "old"]].concat())
        .says(0, "unchanged knowledge/compiler-cache");
    base.run(["undo"]).says(0, "took back operation 1: edit");
    base.run(["show", "cache"]).says(0, "Cache");
    base.run(["edit", "cache", "--tags", " , "]).refuses(2, "tags: an entry needs at least one tag");
}

#[test]
fn tags_that_a_comma_string_cannot_hold_are_kept_whole() {
    let (folder, memory) = memory();
    let path = folder.path().join(".ralph/knowledge/plain.md");
    fs::write(path, "---\ntitle: Plain\ntags: a, b\nfiles: src/x.rs\n---\nbody\n").unwrap();
    let knowledge =
        Knowledge { files: vec!["src/a,b.rs".into()], ..Knowledge::new("Plain", ["issue #12", "b"], "body") };
    assert_eq!(memory.add(&knowledge).unwrap().action, WriteAction::Updated);
    let entry = memory.show(&id("plain")).unwrap().entry;
    assert_eq!(entry.summary.tags, ["a", "b", "issue #12"]);
    assert_eq!(entry.files, ["src/x.rs", "src/a,b.rs"]);
    assert_eq!(memory.add(&knowledge).unwrap().action, WriteAction::Unchanged);
}

/// Entries are between others: those of the journal come before them in the catalog.
#[test]
fn knowledge_beside_a_journal_is_recognised() {
    let (folder, memory) = memory();
    for run in ["run-00000001", "run-zzzzzzzz"] {
        let journal = folder.path().join(format!(".ralph/journal/{run}"));
        fs::create_dir_all(&journal).unwrap();
        let text = format!(
            "---\nrun_id: {run}\niteration: 1\noutcome: done\nstarted_at: \"2026-01-01T00:00:00Z\"\ntask_title: T\n---\n\n> x\n"
        );
        fs::write(journal.join("0001.md"), text).unwrap();
    }
    assert_eq!(memory.add(&Knowledge::new("T", ["x"], "one")).unwrap().action, WriteAction::Created);
    assert_eq!(memory.add(&Knowledge::new("T", ["x"], "two")).unwrap().action, WriteAction::Updated);
    assert_eq!(memory.status().counts.knowledge, 1);
}

/// What was seen in 0.1.0: inside of `run`, an agent's `add` made a person's entry its own, as `source: human`.
#[test]
fn knowledge_that_an_agent_adds_has_the_source_agent() {
    let base = TestBase::new();
    base.entry("t", "T", "x", "A person's words.");
    let add = |variables: &[(&str, &str)], more: &[&str]| {
        let arguments = [&["add", "T", "--tags", "x", "--body", "An agent's.", "--json"], more].concat();
        let run = variables.iter().fold(base.with(arguments), |run, (name, value)| run.env(name, value));
        run.run().json(0)["id"].as_str().unwrap().to_owned()
    };
    let source = |id: &str| base.run(["show", id, "--json"]).json(0)["entry"]["source"].as_str().unwrap().to_owned();
    for variable in ["RALPH_RUN_ID", "CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "CURSOR_AGENT", "OPENCODE"] {
        let id = add(&[(variable, "1")], &[]);
        assert_eq!((id.as_str(), source(&id)), ("knowledge/t-2", "agent".to_owned()), "{variable}");
    }
    assert!(base.read(".ralph/knowledge/t.md").contains("A person's words."));
    let own = ["add", "T", "--body", "An agent's.", "--source", "human"];
    base.with(own).env("CLAUDECODE", "1").run().refuses(2, "says that a person wrote this");
    assert_eq!(add(&[("CLAUDECODE", "")], &["--scope", "task:1"]), "knowledge/t-3");
    assert_eq!(source("knowledge/t-3"), "human");
    let note = ["add", "--event", "decision", "We take it.", "--json"];
    let noted = base.with(note).env("OPENCODE", "1").run().json(0);
    assert_eq!(source(noted["id"].as_str().unwrap()), "agent");
}

/// What was seen in 0.1.0: `--file db.rs` given in `src/` was stored as `db.rs`.
#[test]
fn file_names_are_relative_to_the_working_folder() {
    let base = TestBase::new();
    base.write("src/db.rs", "").write("README.md", "");
    let add = |title: &str, file: &str| {
        let add = ["add", title, "--tags", "x", "--body", "b", "--file", file, "--json"];
        base.with(add).folder(base.at("src")).run()
    };
    let files = |ran: &crate::support::Ran| {
        let id = ran.json(0)["id"].as_str().unwrap().to_owned();
        base.run(["show", &id, "--json"]).json(0)["entry"]["files"].clone()
    };
    for (title, file, expected) in [
        ("A", "db.rs", "src/db.rs"),
        ("B", "../README.md", "README.md"),
        ("C", "./", "src"),
        // A pattern that matches nothing is no reason for doubt.
        ("F", "**", "src/**"),
        ("G", "../lib/*.{ts,tsx}", "lib/*.{ts,tsx}"),
    ] {
        let added = add(title, file);
        assert_eq!(files(&added), serde_json::json!([expected]));
        assert_eq!(added.json(0)["problems"], serde_json::json!([]), "{added}");
    }
    let added = add("D", "src/db.rs");
    assert_eq!(files(&added), serde_json::json!(["src/src/db.rs"]));
    let problem = &added.json(0)["problems"][0];
    assert_eq!((problem["code"].as_str(), problem["path"].as_str()), (Some("no-such-file"), Some("src/src/db.rs")));
    let outside = add("E", "../../x");
    assert_eq!(outside.code, Some(2), "{outside}");
    assert!(outside.to_string().contains("lies outside of the project"), "{outside}");
    assert!(!base.at(".ralph/knowledge/e.md").exists());
    let context = |file: &str| base.with(["context", "Speed it up", "--file", file]).folder(base.at("src")).run();
    context("../README.md").says(0, "Speed it up");
    context("../../x").refuses(2, "lies outside of the project");
}

/// What was seen in 0.1.0: `categroy: pitfal` passed the check in silence.
#[test]
fn a_misspelt_key_or_category_gets_a_suggestion() {
    let base = TestBase::new();
    let entry = |head: &str| {
        base.write(".ralph/knowledge/t.md", format!("---\ntitle: T\ntags: [x]\n{head}---\n\nBody.\n"));
        base.run(["check", "--json"]).json(0)["problems"].clone()
    };
    let told = |problems: serde_json::Value| -> Vec<String> {
        let text = |problem: &serde_json::Value, key: &str| problem[key].as_str().unwrap_or_default().to_owned();
        let all = problems.as_array().unwrap().iter();
        all.map(|problem| {
            let (line, severity) = (problem["line"].clone(), text(problem, "severity"));
            format!("{line} {severity} {} {}", text(problem, "code"), text(problem, "hint"))
        })
        .collect()
    };
    assert_eq!(told(entry("categroy: pitfall\n")), ["4 notice unknown-key did you mean `category`?"]);
    assert_eq!(told(entry("category: pitfal\n")), ["4 notice unknown-category did you mean `pitfall`?"]);
    assert_eq!(
        told(entry("categories: decisions\ncategory: decisions\n")),
        ["5 notice unknown-category did you mean `decision`?"]
    );
    // Custom words and keys are allowed, and so is a key beside the one that it resembles.
    for own in ["category: runbook\n", "aliases: [a]\nauthor: me\nweight: 3\n", "tag: y\n", "file_count: 2\n"] {
        assert_eq!(told(entry(own)), [""; 0], "{own}");
    }
}

/// What was seen in 0.1.0: a capital and a second space made two events of one.
#[test]
fn equal_events_are_one_whatever_their_case_and_white_space() {
    let (_folder, memory) = memory();
    let rejection = |summary: &str, task: &str| {
        let event = ralph_memory::Knowledge {
            scope: ralph_memory::entry::Scope::Task(task.into()),
            ..Knowledge::event("rejection", summary).unwrap()
        };
        memory.add(&event).unwrap()
    };
    let first = rejection("Details of the parser are missing.", "t-1");
    assert_eq!(rejection("details  of the parser are missing.", "t-1").id, first.id);
    assert_ne!(rejection("Details of the parser are missing.", "t-2").id, first.id);
    assert_ne!(rejection("Details of the lexer are missing.", "t-1").id, first.id);
}

#[test]
fn entries_never_replace_each_other_in_a_circle() {
    let base = TestBase::new();
    for name in ["a", "b", "c"] {
        base.entry(name, &format!("Title {name}"), "x", &format!("The text of {name} alone."));
    }
    base.run(["edit", "b", "--supersedes", "a"]).says(0, "");
    base.run(["edit", "c", "--supersedes", "b"]).says(0, "");
    let files = |base: &TestBase| base.files(".ralph/knowledge");
    let before = files(&base);
    // `c` replaces `b`, and that replaces `a`.
    for (arguments, link) in [
        (&["edit", "a", "--supersedes", "c"][..], "knowledge/b` replaces `knowledge/a"),
        (&["edit", "a", "--supersedes", "b"], "knowledge/b` replaces `knowledge/a"),
        (&["edit", "b", "--supersedes", "c"], "knowledge/c` replaces `knowledge/b"),
    ] {
        let ran = base.run(arguments);
        assert!(ran.code == Some(4) && ran.stderr.contains(link) && ran.stderr.contains("take it out of"), "{ran}");
    }
    let add = |title: &str, old: &str| base.run(["add", title, "--tags", "x", "--body", "New.", "--supersedes", old]);
    add("Title c", "knowledge/c").says(2, "`knowledge/c` cannot replace itself");
    add("D", "knowledge/d").says(1, "there is no entry `knowledge/d`");
    // A new entry never takes the name that another one replaces already.
    base.write(".ralph/knowledge/e.md", "---\ntitle: E\ntags: [x]\nsupersedes: [f]\n---\n\nIt replaces f.\n");
    add("F", "knowledge/e").says(0, "created knowledge/f-2");
    for name in ["e", "f-2"] {
        std::fs::remove_file(base.at(&format!(".ralph/knowledge/{name}.md"))).unwrap();
    }
    assert_eq!(files(&base), before, "nothing was written");
    base.run(["check", "--strict"]).says(0, "no problems in ");
    base.run(["edit", "c", "--supersedes", "a"]).says(0, "");
}

#[test]
fn no_name_differs_from_another_in_case_only() {
    let base = TestBase::new();
    for (folder, stem) in [("knowledge", "Ports"), ("archive/knowledge", "Hosts")] {
        base.write(
            &format!(".ralph/{folder}/{stem}.md"),
            format!("---\ntitle: Of {stem}\ntags: [a]\n---\n\nBy hand.\n"),
        );
    }
    base.run(["add", "Ports", "--tags", "b", "--body", "Another fact."]).says(0, "created knowledge/ports-2");
    base.run(["add", "Cache", "--tags", "c", "--body", "It is cold."]).says(0, "created knowledge/cache");
    base.run(["edit", "cache", "--title", "Hosts"]).says(0, "updated knowledge/hosts-2 (was knowledge/cache)");
    base.run(["edit", "hosts-2", "--title", "PORTS *"]).says(0, "updated knowledge/ports-3 (was knowledge/hosts-2)");
}

#[test]
fn raw_markdown_is_as_good_as_an_entry() {
    let base = TestBase::new();
    let raw = "# Brokers\n\nThey want *TLS*; see [[Hosts|the hosts]] and [ports](../ports.md).\r\n";
    let foreign = "---\ncreated: 2026-01-02\npermalink: old/place\nsource: https://example.com/a\nresource: x\ncategory: Decision\n---\n\nHosts are in one zone.\n";
    base.write(".ralph/knowledge/ops/broker-notes.md", raw).write(".ralph/knowledge/hosts.md", foreign);
    base.write(
        ".ralph/knowledge/linked.md",
        "Read [[Brokers]] first, or [[broker-notes|this one]], [[ops/broker-notes#TLS]], [[old/place]], [[#Here]].\n",
    );
    base.run(["check", "--strict"]).says(0, "no problems in 3 files");
    let listed = base.run(["list", "--kind=knowledge", "--json"]).json(0);
    let mut titles: Vec<&str> =
        listed["entries"].as_array().unwrap().iter().map(|entry| entry["title"].as_str().unwrap()).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Brokers", "hosts", "linked"]);
    let context = base.run(["context", "-q", "Which TLS do the brokers want"]).answer(0);
    assert!(context.contains("They want *TLS*"), "{context}");
    let briefing = base.run(["context", "-q"]).answer(0);
    assert!(briefing.contains("They want TLS; see the hosts and ports."), "{briefing}");
    // What an edit does not change, it keeps.
    base.run(["edit", "broker-notes", "--tags", "mq"]).says(0, "updated knowledge/ops/broker-notes");
    let tagged = base.read(".ralph/knowledge/ops/broker-notes.md");
    assert!(tagged.starts_with("---\r\ntags: [mq]\r\n") && tagged.ends_with(&format!("---\r\n{raw}")), "{tagged:?}");
    base.run(["edit", "hosts", "--tags", "net"]).says(0, "updated knowledge/hosts");
    let hosts = base.read(".ralph/knowledge/hosts.md");
    assert!(hosts.contains("source: https://example.com/a\nresource: x\ncategory: Decision\n"), "{hosts}");
    assert!(hosts.ends_with("---\n\nHosts are in one zone.\n"), "{hosts}");
    // Another title moves the file, and links lead to it.
    base.run(["edit", "hosts", "--title", "Machines"]).says(0, "updated knowledge/machines");
    base.run(["edit", "broker-notes", "--title", "Queues"]).says(0, "updated knowledge/ops/queues");
    base.run(["tidy"]).says(0, "");
    base.run(["check", "--strict"]).says(0, "no problems in 3 files");
}

/// What agents wrote is listed until a person says that it holds, changes it or archives it.
#[test]
fn a_person_reviews_what_agents_wrote() {
    let base = TestBase::new();
    let agents =
        [("Port of the tests", "It is 5433."), ("Slow linker", "Use mold."), ("Wrong", "Sleep."), ("Typo", "Teh.")];
    for (title, body) in agents {
        base.with(["add", title, "--tags", "ci", "--body", body]).env("CLAUDECODE", "1").run().says(0, "created");
    }
    base.entry("own", "A person's", "ci", "Ours.");
    base.write(".ralph/knowledge/gone.md", "---\ntitle: Gone\nsource: agent\nexpires_at: 2001-01-01\n---\n\nOld.\n");
    base.write(".ralph/knowledge/new.md", "---\ntitle: New\nsource: agent\nsupersedes: [knowledge/own]\n---\n\nNo.\n");
    let unreviewed = || crate::support::ids(&base.run(["list", "--unreviewed", "--json"]).json(0)["entries"]);
    let all = ["new", "port-of-the-tests", "slow-linker", "typo", "wrong"].map(|stem| format!("knowledge/{stem}"));
    assert_eq!(unreviewed(), all);
    base.run(["list", "--unreviewed"]).says(0, "knowledge/slow-linker  Slow linker  [ci]\n    Use mold.\n");
    base.run(["--json"]).says(0, "\"unreviewed\":5");
    base.run([""; 0]).says(0, "5; `ralph-memory list --unreviewed` shows what agents wrote");

    // An agent reviews nothing, and nobody confirms what would hide a person's entry unseen.
    base.with(["edit", "slow-linker", "--confirm"]).env("CLAUDECODE", "1").run().says(0, "updated");
    base.run(["edit", "new", "--confirm"])
        .refuses(2, "`knowledge/new`, by an agent, would also replace `knowledge/own`");
    base.run(["edit", "wrong", "typo", "--title", "T"]).refuses(2, "only `--confirm` alone takes several");
    base.run(["edit", "slow-linker", "nobody", "--confirm"]).refuses(1, "nobody");
    assert_eq!(unreviewed(), all);

    base.run(["edit", "slow-linker", "port-of-the-tests", "--confirm"]).tells(
        0,
        &["updated knowledge/slow-linker", "updated knowledge/port-of-the-tests"],
        &[],
    );
    base.with(["edit", "typo"]).env("VISUAL", "sed -i s/Teh/The/").run().says(0, "updated");
    base.run(["archive", "wrong", "new"]).says(0, "archived");
    assert_eq!(unreviewed(), [""; 0]);
    base.run(["list", "--unreviewed"]).tells(0, &[], &["no entries"]);
    let confirmed = base.read(".ralph/knowledge/slow-linker.md");
    assert!(confirmed.contains("source: \"human\"") && confirmed.contains("Use mold."), "{confirmed}");
    // It is one operation.
    for _ in 0..3 {
        base.run(["undo"]).says(0, "");
    }
    assert_eq!(unreviewed(), all);
}

/// Seen by a new user: the second decision stood beside the first one, and nothing said so.
#[test]
fn a_decision_names_the_one_with_its_title_that_it_may_replace() {
    let base = TestBase::new();
    let decide = |body: &str| base.run(["add", "Money is in cents", "--category", "decision", "--body", body]);
    let first = decide("Prices are integers of cents.");
    assert!(!first.stderr.contains("similar"), "{first}");
    let second = decide("Prices are integers of tenths of a cent.");
    let id = second.stdout.trim().strip_prefix("created ").unwrap().to_owned();
    assert!(second.stderr.contains("similar: knowledge/") && second.stderr.contains("--supersedes"), "{second}");
    let old = first.stdout.trim().strip_prefix("created ").unwrap();
    base.run(["edit", &id, "--supersedes", old]).says(0, "updated");
    let third = decide("Prices are integers of mills.");
    assert!(third.stderr.contains(&format!("similar: {id}\n")), "{third}");
    let convention = base.run(["add", "Money is in cents", "--category", "convention", "--body", "Never in euros."]);
    assert!(
        convention.stderr.contains("similar: knowledge/") && convention.stderr.contains("money-is-in-cents"),
        "{convention}"
    );
    let last = decide("Prices are texts.");
    assert!(last.stderr.contains("knowledge/money-is-in-cents\n"), "{last}");
}

/// Seen by a new user: an entry was superseded from the moment when it was added, and no search found it.
#[test]
fn an_entry_does_not_get_the_name_of_one_that_was_replaced() {
    let base = TestBase::new();
    let add = |title: &str, body: &str, more: &[&str]| base.run([&["add", title, "--body", body], more].concat());
    add("Old port", "It is 80.", &[]).says(0, "created knowledge/old-port");
    add("New port", "It is 443.", &["--supersedes", "knowledge/old-port"]).says(0, "created knowledge/new-port");
    std::fs::remove_file(base.at(".ralph/knowledge/old-port.md")).unwrap();
    add("Old port", "The harbour is by the river.", &[]).says(0, "created knowledge/old-port-2");
    base.run(["search", "harbour"]).says(0, "Old port");
}
