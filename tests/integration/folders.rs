//! Knowledge in folders: its ids, and names that mean one entry or several.

use std::fs;

use crate::support::TestBase;

#[test]
fn files_of_one_name_in_two_folders_are_two_entries() {
    let base = TestBase::new();
    for (folder, word) in [("a", "walrus"), ("b", "narwhal")] {
        base.write(
            &format!(".ralph/knowledge/{folder}/README.md"),
            format!("# About {word}s\n\nThe {word} has tusks.\n"),
        );
    }
    base.write(".ralph/knowledge/b/only.md", "# Only one\n\nSee [[a/README]] and [[README]].\n");
    let ids = |arguments: &[&str]| -> Vec<String> {
        let answer = base.run([arguments, &["--json"]].concat()).json(0);
        let entries = answer.as_array().or(answer["hits"].as_array()).or(answer["entries"].as_array()).unwrap();
        entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&["search", "walrus"]), ["knowledge/a/README"]);
    assert_eq!(ids(&["search", "narwhal"]), ["knowledge/b/README"]);
    let mut listed = ids(&["list"]);
    listed.sort();
    assert_eq!(listed, ["knowledge/a/README", "knowledge/b/README", "knowledge/b/only"]);
    // The name alone means neither of them, and the only one of its name.
    base.run(["show", "README"]).says(2, "may mean `knowledge/a/README` or `knowledge/b/README`");
    assert_eq!(base.run(["show", "only", "--json"]).json(0)["entry"]["id"], "knowledge/b/only");
    let links = &base.run(["show", "b/only", "--json"]).json(0)["entry"]["links"];
    assert_eq!((&links[0]["id"], &links[1]["id"]), (&"knowledge/a/README".into(), &serde_json::Value::Null));
    base.run(["check"]).says(0, "`[[README]]` leads to no entry");
    // Each keeps its name in the archive and comes back to its folder.
    base.run(["archive", "a/README"]).answer(0);
    base.run(["search", "walrus"]).says(1, "");
    assert_eq!(base.run(["show", "README", "--json"]).json(0)["entry"]["id"], "knowledge/b/README");
    base.run(["restore", "knowledge/a/README"]).answer(0);
    assert_eq!(base.read(".ralph/knowledge/a/README.md"), "# About walruss\n\nThe walrus has tusks.\n");
    // A new name for one of them gives the old one to nobody else.
    base.run(["edit", "a/README", "--title", "Tusks"]).says(0, "knowledge/a/tusks");
    base.run(["show", "README"]).says(2, "may mean `knowledge/a/tusks` or `knowledge/b/README`");
    let links = &base.run(["show", "b/only", "--json"]).json(0)["entry"]["links"];
    assert_eq!((&links[0]["id"], &links[1]["id"]), (&"knowledge/a/tusks".into(), &serde_json::Value::Null));
    base.run(["edit", "b/only", "--title", "One"]).says(0, "knowledge/b/one");
    assert_eq!(base.run(["show", "only", "--json"]).json(0)["entry"]["id"], "knowledge/b/one");
}

#[test]
fn an_entry_that_moves_into_a_folder_is_still_meant_by_its_name() {
    let base = TestBase::new();
    base.entry("old-port", "Old port", "db", "It was 5432.");
    base.write(
        ".ralph/knowledge/port.md",
        "---\ntitle: Port\ntags: [db]\nsupersedes: [knowledge/old-port]\n---\n\nIt is 5433.\n",
    );
    base.entry("notes", "Notes", "db", "See [[port]].");
    for (from, to) in [("port", "ops/port"), ("old-port", "ops/old-port")] {
        let text = base.read(&format!(".ralph/knowledge/{from}.md"));
        base.write(&format!(".ralph/knowledge/{to}.md"), text);
        fs::remove_file(base.at(&format!(".ralph/knowledge/{from}.md"))).unwrap();
    }
    let shown = base.run(["show", "old-port", "--json"]).json(0);
    assert_eq!(shown["entry"]["superseded_by"][0], "knowledge/ops/port");
    assert_eq!(base.run(["show", "notes", "--json"]).json(0)["entry"]["links"][0]["id"], "knowledge/ops/port");
    // No new entry takes a name that means another one.
    base.with(["add", "Port *", "--tags", "web"]).input("Another one.").run().says(0, "created");
    assert!(!base.at(".ralph/knowledge/port.md").exists());
}

#[test]
fn what_comes_back_from_the_archive_is_put_over_no_other_file() {
    let base = TestBase::new();
    let [event, note] = ["events/README", "README"].map(|name| format!(".ralph/knowledge/{name}.md"));
    base.write(&event, "# README event\n\nIt happened on friday.\n").write(&note, "# Root\n\nThe root says hello.\n");
    // Both have the id, and the root comes first.
    base.run(["archive", "README"]).says(0, "");
    assert!(!base.at(&note).exists());
    base.run(["restore", "README"]).says(0, "");
    let texts: String = base.files(".ralph/knowledge").iter().map(|path| base.read(path)).collect();
    assert!(texts.contains("on friday") && texts.contains("says hello"), "{texts}");
}

#[test]
fn an_entry_is_meant_by_whatever_a_link_calls_it() {
    let note = "---\ntitle: WAL mode\naliases: [ADR-0007, Journal mode]\npermalink: write-ahead\n---\n\nOn.\n";
    for name in ["ADR-0007", "adr-0007", "journal MODE", "write-ahead", "WAL mode", "wal", "ops/wal.md"] {
        let base = TestBase::new();
        base.write(".ralph/knowledge/ops/wal.md", note).entry("other", "Other", "x", &format!("See [[{name}]]."));
        let id_of = |name: &str| base.run(["show", name, "--json"]).json(0)["entry"]["id"].clone();
        assert_eq!(base.run(["show", "other", "--json"]).json(0)["entry"]["links"][0]["id"], "knowledge/ops/wal");
        assert_eq!(id_of(name), "knowledge/ops/wal", "{name}");
        base.run(["edit", name, "--tags", "db"]).says(0, "knowledge/ops/wal");
        base.run(["edit", "other", "--supersedes", name]).answer(0);
        assert!(base.read(".ralph/knowledge/other.md").contains("\nsupersedes: [knowledge/ops/wal]\n"), "{name}");
        base.run(["add", "Newer", "--tags", "db", "--body", "Off.", "--supersedes", name]).answer(0);
        assert!(base.read(".ralph/knowledge/newer.md").contains("\nsupersedes: [knowledge/ops/wal]\n"), "{name}");
        base.run(["archive", name]).answer(0);
        assert_eq!(id_of(name), "knowledge/ops/wal", "{name}");
        base.run(["archive", name]).says(1, "`knowledge/ops/wal` is already in the archive");
        base.run(["restore", name]).answer(0);
        base.run(["edit", name, "--title", "Write-ahead log"]).says(0, "knowledge/ops/write-ahead-log");
        assert_eq!(id_of(name), "knowledge/ops/write-ahead-log", "{name}");
        // A second entry of the name makes it mean neither, but what has it as its id.
        base.write(".ralph/knowledge/a/wal.md", note);
        if !["ops/wal.md", "WAL mode"].contains(&name) {
            let both = "may mean `knowledge/a/wal` or `knowledge/ops/write-ahead-log`";
            base.run(["archive", name]).says(2, both);
            base.run(["show", name]).says(2, both);
        }
    }
    let base = TestBase::new();
    base.write(".ralph/knowledge/wal.md", note);
    base.run(["show", "journal"]).says(1, "there is no entry, task or run `journal`");
}
