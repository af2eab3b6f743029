//! What a person corrected stays corrected, whatever an agent writes later, in every clone.

use std::fs;

use crate::support::{Ran, TestBase};

const TITLE: &str = "How to release";
const WRONG: &str = "Run `just ship`.";
const RIGHT: &str = "Run `just release --Sign`.";
const ENTRY: &str = ".ralph/knowledge/how-to-release.md";

fn add(base: &TestBase, source: &str, title: &str, body: &str, more: &[&str]) -> Ran {
    let arguments = ["add", title, "--tags", "release", "--body", body, "--source", source];
    base.with([&arguments, more].concat()).run()
}

/// A memory with an entry that an agent wrote in a run.
fn by_agent() -> TestBase {
    let base = TestBase::new();
    add(&base, "agent", TITLE, WRONG, &["--task-id", "t-1", "--run-id", "run-1"]).says(0, "created");
    base
}

/// Leaves what a fresh clone has: no state of this machine, and no archive.
fn clone_of(base: TestBase) -> TestBase {
    for folder in ["state", "cache", "archive"] {
        let _ = fs::remove_dir_all(base.at(&format!(".ralph/{folder}")));
    }
    base
}

fn replace(base: &TestBase, old: &str, new: &str) {
    let text = base.read(ENTRY);
    assert!(text.contains(old), "{text}");
    base.write(ENTRY, text.replace(old, new));
}

fn edit(base: &TestBase, script: &str) {
    base.write("../home/editor.sh", format!("{script}\n"));
    let editor = format!("sh {}", base.home().join("editor.sh").display());
    let ran =
        base.with(["edit", "how-to-release"]).env("EDITOR", editor).env("PATH", std::env::var_os("PATH").unwrap());
    ran.run().says(0, "updated");
}

/// A way in which a person corrects an entry.
type Correction = fn(&TestBase);

fn corrections() -> Vec<(&'static str, Correction)> {
    vec![
        ("the body by hand", |base| replace(base, WRONG, RIGHT)),
        ("one letter by hand", |base| replace(base, "just ship", "just Ship")),
        ("the title by hand", |base| replace(base, TITLE, "How nobody releases any more")),
        ("both by hand", |base| {
            replace(base, WRONG, RIGHT);
            replace(base, TITLE, "How we release");
        }),
        ("`edit`", |base| edit(base, "sed -i 's/just ship/just release --Sign/' \"$1\"")),
        ("`add`", |base| add(base, "human", TITLE, RIGHT, &[]).says(0, "updated knowledge/how-to-release")),
        ("`edit` and `rename`", |base| {
            edit(base, "sed -i 's/just ship/just release --Sign/' \"$1\"");
            base.run(["edit", "how-to-release", "--title", "How to release it"]).says(0, "how-to-release-it");
        }),
    ]
}

/// What was seen in 0.1.0: the next equal `<knowledge>` put back what a person had corrected.
#[test]
fn what_a_person_corrected_never_comes_back_through_an_agent() {
    for (name, correct) in corrections() {
        let base = by_agent();
        correct(&base);
        let base = clone_of(base);
        let entries = base.files(".ralph/knowledge");
        let (entry, before) = (entries[0].as_str(), base.read(&entries[0]));
        let ran = add(&base, "agent", TITLE, WRONG, &["--run-id", "run-2"]);
        let says_it_already = name == "the title by hand";
        assert_eq!(ran.code, Some(if says_it_already { 0 } else { 4 }), "{name}: {ran}");
        if says_it_already {
            assert_eq!(ran.stdout, "unchanged knowledge/how-to-release\n", "{name}");
        } else {
            assert!(
                ran.stderr.contains("said that before, and a person corrected it: it says now, as \""),
                "{name}: {ran}"
            );
        }
        let message = format!("<knowledge tags=\"release\" title=\"{TITLE}\">{WRONG}</knowledge>");
        let stop = serde_json::json!({
            "session_id": "s-1", "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": message,
        });
        let ran = base.with(["hook", "stop"]).input(stop.to_string()).run();
        assert_eq!(ran.stderr.contains("a person corrected it"), !says_it_already, "{name}: {ran}");
        assert_eq!((base.read(entry), base.files(".ralph/knowledge")), (before, entries.clone()), "{name}");
        // Every reader takes it for a person's, and whatever is written next says so.
        assert_eq!(base.run(["show", "how-to-release", "--json"]).json(0)["entry"]["source"], "human", "{name}");
        base.run(["edit", "how-to-release", "--scope", "feature:x"]).says(0, "updated");
        assert!(base.read(entry).contains("\nsource: \"human\"\n"), "{name}: {}", base.read(entry));
    }
}

#[test]
fn an_agent_goes_on_updating_what_agents_wrote() {
    let base = by_agent();
    let first = base.read(ENTRY);
    // The same text at another task is no news, so two work trees do not differ in it.
    add(&base, "agent", TITLE, WRONG, &["--task-id", "t-2", "--run-id", "run-2"]).says(0, "unchanged");
    assert_eq!(base.read(ENTRY), first);
    let base = clone_of(base);
    add(&base, "coder", TITLE, "Run `just publish`.", &["--run-id", "run-3"])
        .says(0, "updated knowledge/how-to-release");
    assert!(base.read(ENTRY).contains("source: agent") && base.read(ENTRY).contains("run_id: \"run-3\""));
    add(&base, "agent", TITLE, "Run `just publish` at night.", &[]).says(0, "updated");
    assert_eq!(base.run(["show", "how-to-release", "--json"]).json(0)["entry"]["source"], "agent");
    let base = clone_of(base);
    for old in [WRONG, "Run `just publish`."] {
        add(&base, "agent", TITLE, old, &[])
            .refuses(4, "`knowledge/how-to-release` said that before, and it was replaced");
    }
    add(&base, "agent", TITLE, "Run nothing.", &[]).says(0, "updated knowledge/how-to-release");
}

#[test]
fn what_was_superseded_does_not_come_back_either() {
    let base = by_agent();
    add(&base, "human", "Releases", RIGHT, &[]).says(0, "created");
    base.run(["edit", "releases", "--supersedes", "how-to-release"]).says(0, "releases");
    let base = clone_of(base);
    add(&base, "agent", TITLE, WRONG, &[]).refuses(4, "said that before, and another entry replaces it");
    assert_eq!(base.files(".ralph/knowledge").len(), 2);
}

#[test]
fn a_persons_earlier_text_does_not_come_back_through_an_agent() {
    let base = TestBase::new();
    add(&base, "human", TITLE, WRONG, &[]).says(0, "created");
    let first = base.read(ENTRY);
    assert!(!first.contains("fingerprints"), "{first}");
    add(&base, "human", TITLE, RIGHT, &[]).says(0, "updated");
    let base = clone_of(base);
    add(&base, "agent", TITLE, WRONG, &[]).refuses(4, "a person corrected it");
    add(&base, "agent", TITLE, RIGHT, &[]).says(0, "unchanged knowledge/how-to-release");
    assert_eq!(base.files(".ralph/knowledge"), [ENTRY]);
    // The person may say it again.
    add(&base, "human", TITLE, WRONG, &[]).says(0, "updated");
}

/// What was seen: a person restored the version before an agent's update, and the agent made the update again.
#[test]
fn what_a_restored_version_replaced_does_not_come_back_through_an_agent() {
    for source in ["agent", "human"] {
        let base = TestBase::new();
        add(&base, source, TITLE, WRONG, &[]).says(0, "created");
        add(&base, source, TITLE, RIGHT, &[]).says(0, "updated");
        base.run(["restore", "how-to-release"]).says(0, "restored knowledge/how-to-release");
        let base = clone_of(base);
        add(&base, "agent", TITLE, RIGHT, &[]).refuses(4, "`knowledge/how-to-release` said that before");
        add(&base, "agent", TITLE, WRONG, &[]).says(0, "unchanged knowledge/how-to-release");
        assert_eq!(base.run(["show", "how-to-release", "--json"]).json(0)["entry"]["source"], source);
    }
}

/// Entries of versions before there were fingerprints.
#[test]
fn an_entry_without_fingerprints_is_what_its_source_says() {
    let base = TestBase::new();
    let text = format!("---\ntitle: {TITLE}\ntags: [release]\nsource: agent\n---\n\nEdited, perhaps.\n");
    base.write(ENTRY, &text);
    add(&base, "agent", TITLE, "Edited, perhaps.", &[]).says(0, "unchanged");
    assert_eq!(base.read(ENTRY), text);
    add(&base, "agent", TITLE, WRONG, &[]).says(0, "updated");
    add(&base, "agent", TITLE, "Edited, perhaps.", &[]).refuses(4, "said that before");
}

/// What was seen in 0.1.0: a release command went with the one word "updated".
#[test]
fn add_shows_the_lines_that_it_takes_away() {
    let base = TestBase::new();
    let body = "Ask first.\n\n    just release --sign\n\nThen wait.";
    add(&base, "human", TITLE, body, &[]).says(0, "created");
    let ran = add(&base, "human", TITLE, "Ask first.\n\nThen wait a day.", &[]);
    assert_eq!(ran.stdout, "updated knowledge/how-to-release\n");
    let told =
        "2 lines are gone; `ralph-memory undo` brings back what was there:\n-     just release --sign\n- Then wait.\n";
    assert!(ran.stderr.ends_with(told), "{ran}");
    base.run(["undo"]).says(0, "how-to-release");
    assert!(base.read(ENTRY).contains("just release --sign"));
    // Nothing goes where text is added.
    let ran = add(&base, "human", TITLE, &format!("{body}\n\nAnd rest."), &[]);
    assert!(!ran.stderr.contains("gone"), "{ran}");
    let ran = add(&base, "human", TITLE, "Short.", &["--json"]);
    let removed = ["Ask first.", "    just release --sign", "Then wait.", "And rest."];
    assert_eq!(ran.json(0)["removed"], serde_json::json!(removed));
}

#[test]
fn an_agent_neither_archives_nor_rewrites_what_a_person_wrote() {
    let base = TestBase::new();
    base.run(["add", "Use make", "--body", "It builds all.", "--tags", "build"]).says(0, "created");
    add(&base, "agent", TITLE, WRONG, &[]).says(0, "created");
    base.run(["add", "Use just", "--body", "It is short.", "--tags", "build"]).says(0, "created");
    base.run(["edit", "use-just", "--title", "Use a justfile"]).says(0, "updated");
    let own = base.read(".ralph/knowledge/use-make.md");
    let by_agent = |words: &[&str]| base.with(words).env("CLAUDECODE", "1").env("EDITOR", "false").run();
    for words in [
        &["archive", "use-make"][..],
        &["archive", "how-to-release", "use-make"],
        &["archive", "--forget", "knowledge/use-make"],
        &["edit", "use-make"],
        &["edit", "use-make", "--title", "Use ninja"],
        &["edit", "use-make", "--confirm"],
        &["edit", "use-make", "how-to-release", "--confirm"],
        &["edit", "use-make", "--scope", "task:t-1"],
    ] {
        by_agent(words).refuses(2, "a person wrote `knowledge/use-make`");
    }
    by_agent(&["archive", "use-just"]).refuses(2, "a person wrote `knowledge/use-a-justfile`");
    assert_eq!(base.read(".ralph/knowledge/use-make.md"), own);
    by_agent(&["add", "Use make", "--body", "Never.", "--source", "human"]).refuses(2, "says that a person wrote this");
    by_agent(&["edit", "how-to-release", "--title", "Releasing"]).says(0, "updated");
    by_agent(&["archive", "releasing"]).says(0, "archived");
    by_agent(&["undo", "--clear"]).refuses(2, "the log has what people wrote");
    // What it did itself it takes back, and nothing of a person's.
    by_agent(&["undo"]).says(0, "took back");
    by_agent(&["undo", "--redo"]).says(0, "brought back");
    base.run(["add", "Use make", "--body", "It builds nearly all."]).says(0, "updated");
    base.run(["archive", "use-make"]).says(0, "archived");
    by_agent(&["undo"]).refuses(2, "is a person's, and a coding agent (claude) may not undo that");
    by_agent(&["restore", "use-make"]).refuses(2, "a person archived `knowledge/use-make`");
    base.run(["undo"]).says(0, "took back");
    by_agent(&["restore", "use-make"]).refuses(2, "a person wrote `knowledge/use-make`");
    assert!(base.read(".ralph/knowledge/use-make.md").contains("nearly all"));
}
