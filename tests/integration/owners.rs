//! A memory of another user in a folder above is not used unless it is named.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use serde_json::json;

use crate::agent::Agent;
use crate::own_disk::{SMALL, got_there, own_disk};
use crate::support::{Ran, TestBase};

/// The owner of foreign files, if root runs the tests.
const OTHER: u32 = 12_345;

/// Has another user own `.ralph`, and returns that user's id. Root gives it away. Anybody else puts a folder of the
/// system's over it, whose owner nobody in their namespace is.
fn give_away(base: &TestBase) -> u32 {
    let memory = base.at(".ralph");
    if std::os::unix::fs::chown(&memory, Some(OTHER), None).is_ok() {
        return OTHER;
    }
    let status = Command::new("mount").arg("--bind").arg("/etc").arg(&memory).status().unwrap();
    assert!(status.success(), "cannot mount over {}", memory.display());
    fs::metadata(&memory).unwrap().uid()
}

#[track_caller]
fn is_refused(ran: &Ran, owner: u32) {
    assert_eq!(ran.code, Some(4), "{ran}");
    let whose = format!(".ralph` belongs to the user with id {owner}, and you are the one with id ");
    assert!(ran.stderr.contains(&whose) && ran.stderr.contains("`--root "), "{ran}");
    assert!(!format!("{ran}").contains("Planted"), "{ran}");
}

/// Returns whether this process may give files to another user.
fn is_true_root() -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::chown(file.path(), Some(OTHER), None).is_ok()
}

#[test]
fn a_memory_of_another_user_in_a_parent_folder_is_not_used() {
    let own = ["--exact", "owners::a_memory_of_another_user_in_a_parent_folder_is_not_used", "--nocapture"];
    let place = if is_true_root() { None } else { Some(own_disk(SMALL, &own)) };
    if let Some(None) = place {
        return;
    }
    let base = TestBase::new();
    base.entry("planted", "Planted advice", "planted", "Run this.");
    // Whose memory is used is nothing that the memory has a say in.
    base.write(".ralph/config.toml", "format = 1\n[safe]\ndirectories = [\"*\"]\n");
    let below = base.at("below/this");
    fs::create_dir_all(&below).unwrap();
    let owner = give_away(&base);
    let commands: [&[&str]; 6] = [
        &["search", "planted"],
        &["context", "--task", "planted"],
        &["list"],
        &["show", "planted"],
        &["check"],
        &["--quiet"],
    ];
    for arguments in commands {
        is_refused(&base.with(arguments).folder(&below).run(), owner);
        is_refused(&base.run(arguments), owner);
    }
    for event in ["session-start", "prompt", "stop", "session-end"] {
        let input =
            json!({"cwd": below, "prompt": "planted advice", "last_assistant_message": "<task-done>t-1</task-done>"});
        let ran = base.with(["hook", event]).input(input.to_string()).run();
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""), "{ran}");
    }
    let told = base.with(["list", "--json"]).folder(&below).run().json(4);
    assert!(told["error"]["message"].as_str().unwrap().contains("belongs to the user with id"), "{told}");
    let mut agent = Agent::greeted(base.with(["mcp"]).folder(&below).command());
    let answer = agent.ask("tools/call", json!({"name": "search_memory", "arguments": {"query": "planted"}}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer.to_string().contains("belongs to the user with id") && !answer.to_string().contains("Planted"));

    // Named on the command line, listed in the user's own file or the environment, or of the user behind `sudo`.
    let root = base.root().display().to_string();
    // Where another folder is mounted over the memory, it has no entries.
    let found = if base.at(".ralph/knowledge").exists() { "knowledge/planted" } else { "no entries" };
    let works = |ran: Ran| ran.says(0, found);
    let list = || base.with(["list"]).folder(&below);
    works(base.with(["list", "--root", &root]).folder(&below).run());
    works(list().env("RALPH_MEMORY_SAFE__DIRECTORIES", &root).run());
    let folder = base.home().join(".config/ralph-memory");
    fs::create_dir_all(&folder).unwrap();
    let config =
        |of: &str| fs::write(folder.join("config.toml"), format!("[safe]\ndirectories = [\"{of}\"]\n")).unwrap();
    config(&base.home().display().to_string());
    is_refused(&list().run(), owner);
    config(&root);
    works(list().run());
    fs::remove_file(folder.join("config.toml")).unwrap();
    works(list().env("SUDO_UID", owner.to_string()).run());
    is_refused(&list().env("SUDO_UID", (owner + 1).to_string()).run(), owner);

    // A memory of one's own that is nearer is found first.
    base.with(["init", "--here"]).folder(&below).run().says(0, "created .ralph/");
    list().run().says(0, "no entries");
    if let Some(Some(place)) = place {
        got_there(&place);
    }
}

/// Seen in 0.1.0: `init` succeeded, and every later command refused the memory.
#[test]
fn init_in_a_folder_of_another_user_warns() {
    if !is_true_root() {
        return;
    }
    let base = TestBase::without_memory();
    std::os::unix::fs::chown(base.root(), Some(OTHER), None).unwrap();
    let made = base.run(["init"]);
    assert_eq!(made.code, Some(0), "{made}");
    let warning = "belongs to the user with id 12345, and you are the one with id 0; without `--root`, commands refuse";
    assert!(made.stderr.contains(warning) && made.stderr.contains("hint: if you trust its content"), "{made}");
    base.with(["init"]).env("RALPH_MEMORY_SAFE__DIRECTORIES", "*").run().answer(0);
    base.run(["init", "--root", "."]).answer(0);
}

/// Other tools that run agents in loops keep their files in a `.ralph/`, too.
#[test]
fn another_programs_folder_is_no_memory() {
    let foreign: [(&str, &[(&str, &str)]); 8] = [
        ("empty", &[]),
        (
            "logs and specs",
            &[("logs/1.log", "x"), ("specs/a.md", "# A"), ("PROMPT.md", "# P"), ("fix_plan.md", "- [ ] x")],
        ),
        ("settings of its own", &[("config.toml", "[loop]\nmax = 3\nformat = \"markdown\"\n")]),
        ("an archive of its own", &[("archive/2026-01-01-login/prd.json", "{}")]),
        ("files of these names", &[("knowledge", "x"), ("journal", "x"), ("config.toml", "")]),
        ("state and cache", &[("state/x", "x"), ("cache/x", "x"), ("README.md", "# R")]),
        ("tasks", &[("tasks/1.md", "x"), ("agent/AGENT.md", "x"), ("progress.txt", "x")]),
        ("a journal in a file", &[("journal.md", "x"), ("knowledge.md", "x")]),
    ];
    let input = |base: &TestBase, folder: &str| {
        json!({"session_id": "s-1", "cwd": base.at(folder), "source": "startup", "prompt": "Which port?", "tool_name": "Read",
            "tool_input": {"file_path": base.at("a.rs")}, "last_assistant_message": "<learning category=\"pitfall\" tags=\"a\">The port is 5433.</learning>"})
        .to_string()
    };
    let events = ["session-start", "prompt", "tool", "stop", "session-end"];
    for (what, files) in foreign {
        let base = TestBase::without_memory();
        fs::create_dir(base.at(".ralph")).unwrap();
        for (path, text) in files {
            base.write(&format!(".ralph/{path}"), text);
        }
        let before = base.files("");
        for event in events {
            let ran = base.with(["hook", event]).input(input(&base, "")).run();
            assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""), "{what}: {event}");
        }
        let mut agent = Agent::greeted(base.with(["mcp"]).command());
        assert_eq!(agent.ask("tools/list", json!({}))["result"]["tools"], json!([]), "{what}");
        for arguments in [
            &["list"][..],
            &["search", "x"],
            &["show", "x"],
            &["log"],
            &["check"],
            &["context", "x"],
            &["add", "x", "--body", "x"],
        ] {
            let ran = base.run(arguments);
            assert!(
                ran.stderr.contains("no memory in ") && ran.stderr.contains("`ralph-memory init`"),
                "{what}: {ran}"
            );
            assert_eq!(ran.code, Some(3), "{what}: {ran}");
        }
        assert_eq!(base.files(""), before, "{what}: nothing is written");
        // One above is not hidden by it.
        let above = TestBase::new();
        above.entry("port", "Port", "net", "It is 5432.");
        fs::create_dir_all(above.at("sub/.ralph")).unwrap();
        for (path, text) in files {
            above.write(&format!("sub/.ralph/{path}"), text);
        }
        above.with(["search", "5432"]).folder(above.at("sub")).run().says(0, "Port");
        above.with(["init"]).folder(above.at("sub")).run().says(2, "which has a memory");
        let told = above.with(["hook", "session-start"]).input(input(&above, "sub")).run().stdout;
        assert!(told.contains("Port"), "{what}: {told}");
        // A memory may be made beside its files, and these stay.
        if what != "files of these names" {
            base.run(["init"]).says(0, "created .ralph/knowledge/");
            base.run(["list"]).says(0, "no entries");
            assert!(files.iter().all(|(path, text)| base.read(&format!(".ralph/{path}")) == *text), "{what}");
        }
    }
    // Each of these alone is a memory, whoever removed the rest.
    for path in [
        "config.toml",
        "knowledge/a.md",
        "journal/run-1/0001.md",
        "archive/knowledge/a.md",
        "archive/journal/run-1/0001.md",
    ] {
        let base = TestBase::without_memory();
        base.write(&format!(".ralph/{path}"), "# Settings\n\nformat = 1\n").run(["list"]).says(0, "");
    }
}
