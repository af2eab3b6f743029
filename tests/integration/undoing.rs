//! `undo` brings back every byte, whatever command was the last; `rename`, `edit` and `archive` lose nothing.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};
use std::{fs, io, thread};

use proptest::prelude::*;
use ralph_memory::memory::{EntryChanges, HookCall, HookEvent, ImportInput, ImportRequest, Report, Run, StateFolders};
use ralph_memory::{Author, Error, Id, Knowledge, Memory, Query, Scope, Task};

use crate::agent::Agent;
use crate::program::{content, differences};
use crate::pty::Terminal;
use crate::support::{Ran, TestBase, git};
use crate::test_cases::cases;

/// A memory at a day of 2026.
fn at(root: &Path, day: u64) -> Memory {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_268_800 + day * 24 * 3600);
    // With the key of the programs that are run, in the home beside it.
    let folder = root.with_file_name("home").join(".local/state/ralph-memory");
    Memory::open(root).unwrap().keeping_in(StateFolders::new([folder])).with_clock(move || now)
}

/// A new memory at a day of 2026.
fn memory(day: u64) -> (TestBase, Memory) {
    let base = TestBase::new();
    let memory = at(&base.root(), day);
    (base, memory)
}

/// The titles of the entries.
const TITLES: [&str; 5] = ["Cache of the build", "Ports", "WAL mode", "Flaky test", "Staging host"];
/// How many things [`act`] can do.
const N_ACTIONS: u8 = 18;

/// Does one thing that may change something, as this author, and returns whether it had an error.
fn act(base: &TestBase, memory: &Memory, author: &Author, (kind, first, second): (u8, u8, u8)) -> bool {
    let source = author.source();
    let root = &base.root();
    let title = |number: u8| TITLES[usize::from(number) % TITLES.len()];
    let nth = |ids: &[Id], number: u8| {
        let nobody = Id::parse("nobody").unwrap();
        ids.get(usize::from(number) % ids.len().max(1)).cloned().unwrap_or(nobody)
    };
    let (live, archived) = (ids(root, "knowledge"), ids(root, "archive/knowledge"));
    let id = |number: u8| nth(&live, number);
    let failed = |result: ralph_memory::Result<()>| result.is_err();
    match kind % N_ACTIONS {
        0 | 1 => {
            let body = format!("{first} says [[{}]] and [[{}]].", title(second), id(second));
            let category = second.is_multiple_of(2).then(|| "pitfall".to_owned());
            failed(
                memory.add(&Knowledge { category, source, ..Knowledge::new(title(first), ["a", "b"], body) }).map(drop),
            )
        }
        2 => {
            let expires_at = ralph_memory::entry::parse_time("2026-06-01");
            let event = Knowledge::event("hint", title(first)).unwrap();
            failed(memory.add(&Knowledge { expires_at, source, ..event }).map(drop))
        }
        3 => failed(memory.change(&id(second), &EntryChanges::superseding([id(first)])).map(drop)),
        4 => failed(memory.restore(&nth(&archived, first), None).map(drop)),
        5 => failed(memory.archive(&[id(first), id(second)]).map(drop)),
        6 => failed(memory.change(&id(first), &EntryChanges::titled(format!("{} {second}", title(second)))).map(drop)),
        7 => {
            let edit = |old: ralph_memory::memory::EntryText| {
                crate::support::edit(memory, &old, &format!("{}\nMore {second}.\n", old.text)).map(drop)
            };
            failed(memory.text(&id(first)).and_then(edit))
        }
        8 => {
            let scope = Some(Scope::Feature(title(second).to_owned()));
            failed(memory.change(&id(first), &EntryChanges { scope, ..EntryChanges::default() }).map(drop))
        }
        9 | 10 => failed(memory.tidy(false).map(drop)),
        11 => {
            let line = format!("{{\"title\":\"{} {first}\",\"body\":\"Imported {second}.\"}}\n", title(second));
            let input = ImportInput::Text(line.into_bytes());
            failed(memory.import(&ImportRequest::new(input)).map(drop))
        }
        12 => {
            let task = Task { id: Some(format!("t-{}", first % 3)), ..Task::new("Do it") };
            let text =
                format!("<learning category=\"pitfall\" tags=\"x\">Fact {second}.</learning><task-done>t</task-done>");
            let begun = memory.begin(&task, &Run::named("run-1"));
            failed(begun.and_then(|begun| memory.finish(&begun, &Report { text, ..Report::default() })).map(drop))
        }
        13 => {
            let script = format!("#!/bin/sh\necho 'Edited {first} {second}.' >> \"$1\"\n");
            base.write("../home/editor.sh", script);
            let is_agent = if author.is_person() { "0" } else { "1" };
            let command = base.with(["edit", id(first).as_str()]).env("CLAUDECODE", is_agent);
            let editor = format!("sh {}", base.home().join("editor.sh").display());
            command.env("EDITOR", editor).env("PATH", std::env::var_os("PATH").unwrap()).run().code != Some(0)
        }
        14 => {
            let arguments = serde_json::json!({"title": title(first), "tags": ["a", "mcp"],
                "body": format!("An agent says {second}, and [[{}]].", title(second))});
            called(base, "add_knowledge", &arguments)
        }
        15 => {
            let arguments = serde_json::json!({"task": title(first), "outcome": "failed", "what_tried": "To do it.",
                "why_failed": format!("It ended with {second}."), "retry_suggestion": "Another way."});
            called(base, "record_attempt", &arguments)
        }
        16 => failed(memory.fix().map(drop)),
        _ => {
            let message = format!("<learning category=\"gotcha\" tags=\"hook\">Seen {first} {second}.</learning>");
            let input = serde_json::json!({"session_id": format!("s-{first}-{second}"), "hook_event_name": "Stop",
                "stop_hook_active": false, "last_assistant_message": message});
            let call = HookCall::new(HookEvent::Stop, Some("claude"), input.to_string().as_bytes(), &|_| None).unwrap();
            at(root, 200).hook(&call, &|| false);
            false
        }
    }
}

/// Calls a tool of the MCP server, and returns whether it refused.
fn called(base: &TestBase, tool: &str, arguments: &serde_json::Value) -> bool {
    Agent::greeted(base.with(["mcp"]).command()).call(tool, arguments)["isError"] == true
}

fn ids(root: &Path, folder: &str) -> Vec<Id> {
    let Ok(found) = fs::read_dir(root.join(".ralph").join(folder)) else { return Vec::new() };
    let mut names: Vec<String> = found.map(|found| found.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names.iter().filter_map(|name| Id::parse(name.strip_suffix(".md")?)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(6)) })]

    #[test]
    fn undo_brings_back_every_byte(steps in prop::collection::vec(any::<(u8, u8, u8)>(), 1..25)) {
        let base = TestBase::new();
        let root = base.root();
        fs::write(root.join(".ralph/config.toml"), "format = 1\nmaintenance.learnings = 1\n").unwrap();
        // Something for `check --fix`.
        fs::write(root.join(".ralph/.gitignore"), "# Nothing yet.").unwrap();
        git(&base, &["init", "--quiet"]);
        let mut history = vec![content(&root)];
        let mut numbers = Vec::new();
        for (number, (kind, first, second)) in steps.into_iter().enumerate() {
            let memory = at(&root, number as u64 * 9);
            let before = history.last().unwrap();
            let newest = |memory: &Memory| memory.operations().unwrap().first().map_or(0, |newest| newest.number);
            let known = newest(&memory);
            let what = format!("{} {first} {second}", kind % N_ACTIONS);
            act(&base, &memory, &Author::Person, (kind, first, second));
            let after = content(&root);
            if after == *before {
                prop_assert_eq!(newest(&memory), known, "{} changed nothing and is in the log", what);
                continue;
            }
            let operations = memory.operations().unwrap();
            let n_new = operations.iter().take_while(|operation| operation.number > known).count();
            prop_assert_eq!(n_new, 1, "{} is not one operation", what);
            let known = newest(&memory);
            let planned = memory.undo(None, true).unwrap();
            prop_assert!(content(&root) == after, "a dry run changes nothing: {}", what);
            let undone = memory.undo(None, false).unwrap();
            prop_assert_eq!(planned.files.len(), undone.files.len());
            prop_assert!(content(&root) == *before, "undo of {}: {:?}", what, differences(&content(&root), before));
            let again = memory.redo(false).unwrap();
            prop_assert_eq!(again.operation.number, known);
            prop_assert!(content(&root) == after, "redo of {}: {:?}", what, differences(&content(&root), &after));
            numbers.push(known);
            history.push(after);
        }
        // Then back to the beginning, one after the other.
        let memory = at(&root, 300);
        for (number, then) in numbers.iter().zip(&history).rev() {
            prop_assert_eq!(memory.undo(None, false).unwrap().operation.number, *number);
            prop_assert!(content(&root) == *then, "undo of {}: {:?}", number, differences(&content(&root), then));
        }
        prop_assert!(matches!(memory.undo(None, false), Err(Error::NoOperation { number: None })), "an end");
        // And forward again.
        for (number, then) in numbers.iter().zip(&history[1..]) {
            prop_assert_eq!(memory.redo(false).unwrap().operation.number, *number);
            prop_assert!(content(&root) == *then, "redo of {}: {:?}", number, differences(&content(&root), then));
        }
        prop_assert!(matches!(memory.redo(false), Err(Error::NothingToRedo)), "an end");
    }
}

/// The texts of people, live or archived, with their paths, and whether another entry hides them.
fn of_people(memory: &Memory) -> Vec<(String, String, bool)> {
    let ids = ["knowledge", "archive/knowledge"].map(|folder| ids(memory.root(), folder)).concat();
    let entries = ids.iter().filter_map(|id| Some(memory.show(id).ok()?.entry));
    let of_people = entries.filter(|entry| entry.summary.source.is_person());
    let text = |path: &str| fs::read_to_string(memory.root().join(path)).unwrap();
    of_people
        .map(|entry| (entry.summary.path.to_string(), text(entry.summary.path.as_str()), entry.summary.superseded))
        .collect()
}

/// Hands a tool's call on a file to the hook.
fn saw_tool(root: &Path, path: &str, arguments: &serde_json::Value) {
    let mut input = serde_json::json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Edit",
        "tool_input": arguments});
    input["tool_input"]["file_path"] = serde_json::json!(root.join(path));
    let call = HookCall::new(HookEvent::Tool, Some("claude"), input.to_string().as_bytes(), &|_| None).unwrap();
    at(root, 200).hook(&call, &|| false);
}

/// Kills a command while it works, after up to 38 ms; then the next one recovers what it left.
fn killed(base: &TestBase, is_agent: bool, (first, second): (u8, u8)) {
    let title = TITLES[usize::from(first) % TITLES.len()];
    let live = ids(&base.root(), "knowledge");
    let id = live.get(usize::from(second) % live.len().max(1)).map_or("nobody", Id::as_str);
    let commands: [&[&str]; 8] = [
        &["add", title, "--tags", "a", "--body", "Killed while it says this."],
        &["archive", id],
        &["archive", "--forget", id],
        &["edit", id, "--title", title],
        &["edit", id, "--supersedes", live.first().map_or("nobody", Id::as_str)],
        &["tidy"],
        &["undo"],
        &["restore", id],
    ];
    let command = base.with(commands[usize::from(first) % commands.len()]);
    let mut command = command.env("CLAUDECODE", if is_agent { "1" } else { "0" }).command();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Its error output closes when it ends.
    let mut stderr = child.stderr.take().unwrap();
    let (ended, waiting) = mpsc::channel();
    let reader = thread::spawn(move || {
        let _ = io::copy(&mut stderr, &mut io::sink());
        let _ = ended.send(());
    });
    let _ = waiting.recv_timeout(Duration::from_micros(u64::from(second) * 150));
    let _ = child.kill();
    child.wait().unwrap();
    reader.join().unwrap();
    let _ = base.run(["check", "--fix"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(6)) })]

    #[test]
    fn no_act_of_an_agent_changes_hides_or_signs_what_a_person_wrote(
        steps in prop::collection::vec(any::<(bool, u8, u8, u8)>(), 8..40),
    ) {
        let base = TestBase::new();
        let root = base.root();
        fs::write(root.join(".ralph/config.toml"), "format = 1\nmaintenance.learnings = 1\n").unwrap();
        for (number, (is_agent, kind, first, second)) in steps.into_iter().enumerate() {
            let kind = kind % (N_ACTIONS + 5);
            let author = if is_agent { Author::Agent("claude".to_owned()) } else { Author::Person };
            let memory = at(&root, number as u64 * 9).by(author.clone());
            let before = of_people(&memory);
            let one = before.get(usize::from(first) % before.len().max(1));
            let refused = match kind.checked_sub(N_ACTIONS) {
                Some(0) => memory.undo(None, false).err(),
                Some(1) => memory.redo(false).err(),
                // A tool of the agent that changed nothing.
                Some(2) => {
                    if let Some((path, text, _)) = one {
                        saw_tool(&root, path, &serde_json::json!({"content": text}));
                    }
                    None
                }
                // One that wrote over a person's text: it comes back.
                Some(3) => {
                    let live = one.filter(|(path, text, _)| path.contains("/knowledge/") && text.contains("says"));
                    if let Some((path, text, _)) = live.filter(|(path, ..)| !path.contains("archive")) {
                        fs::write(root.join(path), text.replace("says", "never says")).unwrap();
                        saw_tool(&root, path, &serde_json::json!({"old_string": "says", "new_string": "never says"}));
                        let id = Id::parse(path.trim_start_matches(".ralph/").trim_end_matches(".md")).unwrap();
                        prop_assert!(!at(&root, 200).show(&id).unwrap().entry.summary.source.is_person());
                        at(&root, 200).undo(None, false).unwrap();
                    }
                    None
                }
                Some(_) => { killed(&base, is_agent, (first, second)); None }
                None => { act(&base, &memory, &author, (kind, first, second)); None }
            };
            prop_assert!(refused.is_none_or(|error| !error.to_string().is_empty()));
            // What is written in an attempt, by a tool or through a hook is an agent's, whoever calls.
            let is_of_agent = is_agent && kind != 16 || [12, 14, 15, 17, N_ACTIONS + 2, N_ACTIONS + 3].contains(&kind);
            let after = of_people(&memory);
            for text in before.iter().filter(|_| is_of_agent) {
                prop_assert!(after.contains(text), "{} {} {}: {:?} is not in {:?}", kind, first, second, text, after);
            }
        }
    }
}

fn knowledge(title: &str, body: &str) -> Knowledge {
    Knowledge::new(title, ["a"], body)
}

/// The property above looks at each of them, with luck.
#[test]
fn every_action_is_taken_back_once() {
    let base = TestBase::new();
    git(&base, &["init", "--quiet"]);
    fs::write(base.at(".ralph/config.toml"), "format = 1\nmaintenance.learnings = 1\n").unwrap();
    fs::write(base.at(".ralph/.gitignore"), "").unwrap();
    fs::remove_file(base.at(".ralph/.gitattributes")).unwrap();
    let mut unchanged: Vec<u8> = Vec::new();
    // In an order in which each of them has something to do.
    let facts = [(12, 1, 1), (12, 2, 2), (12, 3, 3), (12, 4, 4)];
    let others = [(0, 0, 1), (1, 1, 2), (14, 2, 3), (2, 2, 3), (11, 3, 4), (17, 1, 2), (15, 1, 1), (16, 0, 0)];
    let changes = [(3, 0, 1), (13, 1, 0), (7, 2, 0), (8, 2, 0), (6, 0, 1), (5, 0, 1), (4, 0, 0)];
    for (kind, first, second) in [&facts[..], &others, &changes, &[(9, 0, 0)]].concat() {
        let before = content(&base.root());
        let day = if [9, 10].contains(&kind) { 300 } else { 1 };
        act(&base, &at(&base.root(), day), &Author::Person, (kind, first, second));
        let after = content(&base.root());
        if after == before {
            unchanged.push(kind);
        }
        at(&base.root(), day).undo(None, false).unwrap();
        assert_eq!(differences(&content(&base.root()), &before), [""; 0], "{kind}");
        at(&base.root(), day).redo(false).unwrap();
        assert_eq!(differences(&content(&base.root()), &after), [""; 0], "{kind}");
    }
    assert_eq!(unchanged, [0; 0]);
}

#[test]
fn what_changed_since_is_refused_before_anything_is_touched() {
    let (base, memory) = memory(1);
    let id = memory.add(&knowledge("Ports", "80.")).unwrap().id;
    memory.add(&knowledge("Ports", "443.")).unwrap();
    let Err(Error::ChangedSince { number: 1, by: Some(2), files }) = memory.undo(Some(1), false) else {
        panic!("operation 2 changed it");
    };
    assert_eq!(files, [".ralph/knowledge/ports.md"]);
    base.write(".ralph/knowledge/ports.md", "---\ntitle: Mine\ntags: [a]\n---\n");
    let before = content(&base.root());
    let refused = memory.undo(None, false);
    assert!(matches!(refused, Err(Error::ChangedSince { number: 2, by: None, .. })), "{refused:?}");
    assert_eq!(content(&base.root()), before);
    assert!(memory.show(&id).is_ok());
    base.run(["undo"]).refuses(4, "cannot undo operation 2: `.ralph/knowledge/ports.md` changed since");
}

#[test]
fn what_a_later_operation_moved_away_counts_as_changed() {
    let base = TestBase::new();
    for title in ["One", "Two"] {
        base.run(["add", title, "--tags", "a", "--body", &format!("Body of {title}.")]).says(0, "created");
    }
    base.run(["edit", "one", "--title", "Other"]).says(0, "updated");
    base.run(["undo", "1"]).refuses(4, "`.ralph/knowledge/one.md` changed since, in operation 3");
    base.run(["undo"]).says(0, "took back operation 3");
    base.run(["undo", "1"]).says(0, "took back operation 1");
    base.run(["undo", "1"]).refuses(4, "cannot undo operation 1: operation 5 took it back already");
    base.run(["undo", "5"]).says(0, "took back operation 5: undo of operation 1");
    assert_eq!(base.files(".ralph/knowledge").len(), 2);
}

/// A memory of which a word of each entry says which `add` was the last, and its operations with `undo --list`.
fn steps(base: &TestBase, titles: &[&str]) {
    for title in titles {
        base.run(["add", title, "--tags", "a", "--body", &format!("Body of {title}.")]).says(0, "created");
    }
}

/// Asserts which entries there are.
#[track_caller]
fn assert_there(base: &TestBase, stems: &[&str]) {
    let files: Vec<String> = stems.iter().map(|stem| format!(".ralph/knowledge/{stem}.md")).collect();
    assert_eq!(base.files(".ralph/knowledge"), files);
}

#[test]
fn a_second_undo_goes_further_back_and_redo_forward() {
    let base = TestBase::new();
    base.run(["undo", "--redo"]).refuses(1, "there is nothing to redo");
    steps(&base, &["A", "B", "C"]);
    for (command, number, stems) in [
        (&["undo"][..], 3, &["a", "b"][..]),
        (&["undo"], 2, &["a"]),
        (&["undo", "--redo"], 2, &["a", "b"]),
        (&["undo"], 2, &["a"]),
        (&["undo"], 1, &[]),
        (&["undo", "--redo"], 1, &["a"]),
        (&["undo", "--redo"], 2, &["a", "b"]),
        (&["undo", "--redo"], 3, &["a", "b", "c"]),
    ] {
        let done = if command.len() > 1 { "brought back" } else { "took back" };
        base.run([command, &["--dry-run"]].concat()).says(
            0,
            &format!("would {} operation {number}: add", &done.replace("brought", "bring").replace("took", "take")),
        );
        base.run(command).says(0, &format!("{done} operation {number}: add"));
        assert_there(&base, stems);
    }
    base.run(["undo", "--redo"]).refuses(1, "there is nothing to redo");
    for _ in 0..3 {
        base.run(["undo"]).says(0, "took back");
    }
    base.run(["undo"]).refuses(1, "there is nothing to undo");
    assert_there(&base, &[]);
}

#[test]
fn a_change_after_an_undo_leaves_nothing_to_redo() {
    let base = TestBase::new();
    steps(&base, &["A", "B"]);
    base.run(["undo"]).says(0, "took back operation 2");
    steps(&base, &["C"]);
    base.run(["undo", "--redo"]).refuses(1, "there is nothing to redo");
    assert_there(&base, &["a", "c"]);
    // Back over it, what was taken back before stays so.
    base.run(["undo"]).says(0, "took back operation 4");
    base.run(["undo", "--redo"]).says(0, "brought back operation 4");
    base.run(["undo", "--redo"]).refuses(1, "there is nothing to redo");
    for number in [4, 1] {
        base.run(["undo"]).says(0, &format!("took back operation {number}"));
    }
    base.run(["undo"]).refuses(1, "there is nothing to undo");
}

#[test]
fn undo_and_redo_leave_alone_what_a_person_changed() {
    let base = TestBase::new();
    steps(&base, &["A"]);
    base.run(["add", "A", "--tags", "a", "--body", "Another body."]).says(0, "updated");
    base.run(["undo"]).says(0, "took back operation 2");
    let mine = base.read(".ralph/knowledge/a.md") + "By hand.\n";
    base.write(".ralph/knowledge/a.md", &mine);
    base.run(["undo"]).refuses(4, "cannot undo operation 1: `.ralph/knowledge/a.md` changed since");
    base.run(["undo", "--redo"]).refuses(4, "`.ralph/knowledge/a.md` changed since");
    assert_eq!(base.read(".ralph/knowledge/a.md"), mine);
}

#[test]
fn the_list_shows_what_is_taken_back() {
    let base = TestBase::new();
    steps(&base, &["A", "B"]);
    base.run(["undo"]).says(0, "took back operation 2");
    let marks = || {
        let listed = base.run(["undo", "--list", "--json"]).json(0);
        let operations = listed["operations"].as_array().unwrap().clone();
        let mark = |operation: &serde_json::Value| {
            ["number", "undoes", "redoes", "taken_back_by"].map(|key| operation[key].as_u64().unwrap_or_default())
        };
        operations.iter().map(mark).collect::<Vec<_>>()
    };
    assert_eq!(marks(), [[3, 2, 0, 0], [2, 0, 0, 3], [1, 0, 0, 0]]);
    let list = base.run(["undo", "--list"]).answer(0);
    assert!(list.contains("undo of operation 2") && list.matches("taken back").count() == 1, "{list}");
    base.run(["undo", "--redo"]).says(0, "brought back operation 2");
    assert_eq!(marks(), [[4, 0, 2, 0], [3, 2, 0, 4], [2, 0, 0, 0], [1, 0, 0, 0]]);
    assert!(base.run(["undo", "--list"]).answer(0).contains("redo of operation 2"));
}

#[test]
fn an_operation_that_left_nothing_is_refused() {
    let base = TestBase::new();
    base.run(["undo"]).refuses(1, "there is nothing to undo");
    let memory = at(&base.root(), 1);
    let path = memory.add(&knowledge("Ports", "80.")).unwrap().path;
    fs::remove_file(base.root().join(&path)).unwrap();
    let refused = memory.undo(None, false);
    assert!(matches!(refused, Err(Error::NotUndoable { number: 1, .. })), "{refused:?}");
    let unknown = memory.undo(Some(7), false);
    assert!(matches!(unknown, Err(Error::NoOperation { number: Some(7) })), "{unknown:?}");
}

#[test]
fn a_log_from_elsewhere_is_ignored_and_never_followed() {
    let (base, memory) = memory(1);
    memory.add(&knowledge("Ports", "80.")).unwrap();
    let copy = TestBase::without_memory();
    let status = std::process::Command::new("cp").arg("-r").arg(base.at(".ralph")).arg(copy.root()).status().unwrap();
    assert!(status.success());
    let copied = at(&copy.root(), 1);
    assert_eq!(copied.operations().unwrap(), []);
    assert!(matches!(copied.undo(None, false), Err(Error::NoOperation { number: None })));
    // The copy's own operations get numbers that nothing in it has.
    copied.add(&knowledge("Hosts", "One.")).unwrap();
    let numbers: Vec<u64> = copied.operations().unwrap().iter().map(|operation| operation.number).collect();
    assert_eq!(numbers, [2]);
    copied.undo(None, false).unwrap();
    assert!(copy.at(".ralph/knowledge/ports.md").is_file() && !copy.at(".ralph/knowledge/hosts.md").exists());
    // A link in place of the log leads nowhere.
    let linked = TestBase::new();
    fs::create_dir_all(linked.at(".ralph/state")).unwrap();
    fs::create_dir(linked.at("outside")).unwrap();
    symlink(linked.at("outside"), linked.at(".ralph/state/undo")).unwrap();
    let memory = at(&linked.root(), 1);
    assert_eq!(memory.operations().unwrap(), []);
    memory.add(&knowledge("Ports", "80.")).unwrap();
    assert_eq!(fs::read_dir(linked.at("outside")).unwrap().count(), 0);
    assert_eq!(memory.undo(None, false).unwrap().files.len(), 1);
}

#[test]
fn every_link_leads_to_a_renamed_entry_and_its_history_stays() {
    let (base, memory) = memory(100);
    let root = base.root();
    let id = memory.add(&knowledge("Build cache", "It is cold.")).unwrap().id;
    memory.add(&knowledge("Build cache", "It is warm. See [[build-cache]].")).unwrap();
    let text = "See [[build-cache|it]], [[knowledge/build-cache]], [[Build cache]], `[[build-cache]]`.\n\n```\n[[Build cache]]\n```";
    let other = Knowledge { supersedes: vec![id.clone()], ..knowledge("Slow builds", text) };
    let other = memory.add(&other).unwrap().id;
    let context = memory.begin(&Task::new("Speed up the build cache"), &Run::named("run-1")).unwrap();
    memory.finish(&context, &Report { text: "<task-done>x</task-done>".into(), ..Report::default() }).unwrap();
    let used = memory.usage();
    let before = content(&root);
    let renamed = memory.change(&id, &EntryChanges::titled("Compiler cache")).unwrap();
    assert_eq!(renamed.id.as_str(), "knowledge/compiler-cache");
    let shown = memory.show(&id).unwrap().entry;
    assert_eq!(shown.summary.id, renamed.id);
    let versions = memory.versions(&id).unwrap();
    assert!(versions.iter().any(|version| version.text.ends_with("It is cold.\n")), "{versions:?}");
    assert_eq!(shown.superseded_by, std::slice::from_ref(&other));
    assert!(shown.backlinks.iter().any(|link| link.id == Some(other.clone())));
    assert_eq!(memory.usage().get(&renamed.id), used.get(&id));
    assert_eq!(memory.check().problems, []);
    // Somebody else's branch still has the old names.
    base.entry("late", "Late", "a", "See [[Build cache]] and [[build-cache]].");
    let late = memory.show(&Id::parse("late").unwrap()).unwrap().entry;
    assert!(late.links.iter().all(|link| link.id == Some(renamed.id.clone())), "{:?}", late.links);
    assert_eq!(memory.check().problems, []);
    // Nobody gets the old id.
    assert_eq!(
        memory.add(&knowledge("Build-cache", "Of something else.")).unwrap().id.as_str(),
        "knowledge/build-cache-2"
    );
    memory.undo(None, false).unwrap();
    fs::remove_file(base.at(".ralph/knowledge/late.md")).unwrap();
    let number = memory.operations().unwrap().iter().find(|operation| operation.command == "edit").unwrap().number;
    memory.undo(Some(number), false).unwrap();
    assert_eq!(differences(&content(&root), &before), [""; 0]);
    let taken = memory.change(&id, &EntryChanges::titled("slow builds"));
    assert!(matches!(taken, Err(Error::TitleTaken { .. })), "{taken:?}");
    assert_eq!(differences(&content(&root), &before), [""; 0]);
}

/// A memory with an entry that was renamed from `build-cache` to `compiler-cache`, and a version of it.
fn renamed() -> TestBase {
    let (base, memory) = memory(1);
    memory.add(&knowledge("Build cache", "It is cold.")).unwrap();
    let id = memory.add(&knowledge("Build cache", "It is warm.")).unwrap().id;
    memory.add(&knowledge("Slow builds", "Wait for them.")).unwrap();
    memory.change(&id, &EntryChanges::titled("Compiler cache")).unwrap();
    base
}

#[test]
fn every_command_knows_a_renamed_entry_by_its_old_id() {
    let now = "knowledge/compiler-cache";
    let check = |arguments: &[&str], text: &str| {
        let base = renamed();
        let editor = [("EDITOR", "sed -i s/warm/hot/"), ("PATH", &std::env::var("PATH").unwrap())];
        let run = editor.iter().fold(base.with(arguments), |run, (name, value)| run.env(name, value));
        run.run().says(0, text);
        base
    };
    check(&["show", "build-cache"], now);
    check(&["edit", "build-cache"], &format!("updated {now}"));
    check(&["archive", "build-cache", "compiler-cache"], &format!("archived {now}"));
    check(&["edit", "build-cache", "--title", "Cache"], "updated knowledge/cache (was knowledge/compiler-cache)");
    check(&["edit", "build-cache", "--scope", "feature:build"], &format!("updated {now}"));
    check(&["edit", "slow-builds", "--supersedes", "build-cache"], "updated knowledge/slow-builds");
    check(&["edit", "build-cache", "--supersedes", "slow-builds"], &format!("updated {now}"));
    let base = check(&["restore", "build-cache", "--before", "2"], &format!("restored {now}"));
    assert!(base.read(".ralph/knowledge/compiler-cache.md").contains("It is cold."));
    let new = ["add", "Ports", "--tags", "a", "--body", "80.", "--supersedes", "build-cache"];
    let base = check(&new, "created knowledge/ports");
    assert!(base.read(".ralph/knowledge/ports.md").contains(&format!("supersedes: [{now}]")));
    // An agent's tools do, too.
    let base = renamed();
    let mut agent = Agent::greeted(base.with(["mcp"]).command());
    assert_eq!(agent.call("read_entry", &serde_json::json!({"id": "build-cache"}))["structuredContent"]["id"], now);
    let fact = serde_json::json!({"title": "Ports", "tags": ["a"], "body": "80.", "supersedes": ["build-cache"]});
    agent.call("add_knowledge", &fact);
    assert!(base.read(".ralph/knowledge/ports.md").contains(&format!("supersedes: [{now}]")));
    // It cannot replace itself under two names.
    let base = renamed();
    base.run(["edit", "compiler-cache", "--supersedes", "build-cache"]).refuses(2, "cannot replace itself");
    // Archived, it is still known by it.
    base.run(["archive", "build-cache"]).says(0, "archived");
    base.run(["show", "build-cache"]).says(0, now);
    base.run(["restore", "build-cache"]).says(0, &format!("restored {now}"));
}

#[test]
fn an_old_id_of_two_entries_is_refused() {
    let base = renamed();
    // Somebody's branch gave the old entry another name.
    let other = base.read(".ralph/knowledge/compiler-cache.md").replace("Compiler cache", "Cache of builds");
    base.write(".ralph/knowledge/cache-of-builds.md", other);
    let before = content(&base.root());
    let reason = "`knowledge/build-cache` may mean `knowledge/cache-of-builds` or `knowledge/compiler-cache`";
    for arguments in [
        &["show", "build-cache"][..],
        &["edit", "build-cache"],
        &["archive", "slow-builds", "build-cache"],
        &["edit", "build-cache", "--title", "Cache"],
        &["edit", "build-cache", "--scope", "feature:build"],
        &["edit", "slow-builds", "--supersedes", "build-cache"],
        &["restore", "build-cache"],
    ] {
        base.run(arguments).refuses(2, reason);
        assert_eq!(differences(&content(&base.root()), &before), [""; 0], "{arguments:?}");
    }
    // Whoever has the id now is meant, whatever others were called.
    base.entry("build-cache", "Build cache", "a", "A new one.");
    base.run(["archive", "build-cache"]).says(0, "archived knowledge/build-cache");
    base.run(["edit", "build-cache", "--scope", "feature:build"]).refuses(1, "is already in the archive");
}

#[test]
fn a_rename_that_was_cut_off_is_completed_by_a_second_call() {
    let (base, memory) = memory(1);
    let root = base.root();
    let id = memory.add(&knowledge("Build cache", "It is cold.")).unwrap().id;
    memory.add(&knowledge("Build cache", "It is warm.")).unwrap();
    memory.change(&id, &EntryChanges::titled("Compiler cache")).unwrap();
    let after = content(&root);
    // Before the move, the entry has its title and aliases, under the old name.
    fs::rename(base.at(".ralph/knowledge/compiler-cache.md"), base.at(".ralph/knowledge/build-cache.md")).unwrap();
    memory.change(&id, &EntryChanges::titled("Compiler cache")).unwrap();
    assert_eq!(differences(&content(&root), &after), [""; 0]);
}

/// Returns a call of `edit` whose editor is a script. The first time it does one thing, and later another one.
fn editing<'a>(base: &'a TestBase, first: &str, later: &str) -> crate::support::Run<'a> {
    let again = base.home().join("again");
    let _ = fs::remove_file(&again);
    let again = again.display();
    base.write("../home/editor.sh", format!("if [ -e {again} ]; then\n{later}\nelse\n: > {again}\n{first}\nfi\n"));
    let editor = format!("sh {}", base.home().join("editor.sh").display());
    base.with(["edit", "ports"]).env("EDITOR", editor).env("PATH", std::env::var_os("PATH").unwrap())
}

#[test]
fn on_a_terminal_an_edit_can_be_corrected() {
    let base = TestBase::new();
    base.entry("ports", "Ports", "net", "The proxy is on 80.");
    let before = base.read(".ralph/knowledge/ports.md");
    let spoil = "sed -i 's/^tags:/title:/; s/80/443/' \"$1\"";
    let ask = |later: &str, answers: &[(&str, &str)]| {
        let mut terminal = Terminal::start(editing(&base, spoil, later).command());
        for (question, answer) in answers {
            terminal.wait_for(question);
            terminal.type_in(answer);
        }
        let (status, screen, _) = terminal.end();
        let screen = screen.replace('\n', "");
        assert!(screen.contains("keep one of the two lines"), "{screen}");
        (status.code(), screen)
    };
    let question = "edit again? Otherwise, the old text is restored. [y/N]";
    // Neither a no nor the end of the input loses a text, nor an editor that fails the second time.
    for answers in [
        &[(question, "n\n")][..],
        &[(question, "\n")],
        &[(question, "what?\n")],
        &[(question, "\u{4}")],
        &[(question, "y\n"), ("ended with exit status: 9", "n\n")],
    ] {
        let (code, screen) = ask("exit 9", answers);
        assert_eq!(code, Some(4), "{screen}");
        assert!(screen.contains("the old text is restored; `ralph-memory undo` brings back yours"), "{screen}");
        assert_eq!(base.read(".ralph/knowledge/ports.md"), before);
        base.run(["undo"]).says(0, "edit");
        assert!(base.read(".ralph/knowledge/ports.md").contains("on 443."));
        base.run(["undo", "--redo"]).says(0, "edit");
    }
    for answer in ["y\n", "YES\n"] {
        let (code, screen) = ask("sed -i '3s/title/tags/' \"$1\"", &[(question, answer)]);
        assert_eq!(code, Some(0), "{screen}");
        assert!(screen.contains("updated knowledge/ports"), "{screen}");
        assert!(base.read(".ralph/knowledge/ports.md").contains("on 443."));
        base.run(["undo"]).says(0, "edit");
        assert_eq!(base.read(".ralph/knowledge/ports.md"), before);
    }
}

#[test]
fn each_command_and_each_call_of_a_tool_is_one_operation() {
    let base = TestBase::new();
    base.run(["add", "Ports", "--tags", "a", "--body", "80."]).says(0, "created knowledge/ports");
    base.run(["context", "--task", "Open the ports", "--run", "run-1"]).says(0, "Open the ports");
    let said = "<learning category=\"pitfall\" tags=\"ports\">Below 1024 they need root.</learning>\n<task-failed>x</task-failed>";
    base.with(["record", "--run", "run-1"]).input(said).run().says(0, "recorded");
    base.run(["archive", "ports"]).says(0, "archived knowledge/ports");
    let list = base.run(["undo", "--list", "--json"]).json(0);
    let commands: Vec<&str> =
        list["operations"].as_array().unwrap().iter().map(|operation| operation["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["archive", "record", "add"]);
    let created = &list["operations"][1]["created"];
    assert_eq!(created, 2, "the attempt and the learning");
    base.run(["undo", "2"]).says(0, "took back operation 2: record");
    assert_eq!(base.files(".ralph/journal"), [""; 0]);
    let found = base.memory().search(&Query { text: "root".into(), ..Query::default() }, 5).unwrap();
    assert!(found.hits.is_empty(), "the index follows");
}

#[test]
fn versions_that_take_long_to_compare_are_shown_all_the_same() {
    let (base, memory) = memory(1);
    let body = |step: u64| -> String {
        let letter = |at: u64| usize::try_from((at.wrapping_mul(2_654_435_761 * step + at) >> 9) % 5).unwrap();
        (0..60_000).map(|at| ["a\n", "b\n", "c\n", "d\n", "e\n"][letter(at)]).collect()
    };
    let id = memory.add(&Knowledge::new("Letters", ["a"], format!("Old.\n{}", body(3)))).unwrap().id;
    let old = memory.text(&id).unwrap();
    crate::support::edit(&memory, &old, &old.text.replace(&body(3), &body(5)).replace("Old.", "New.")).unwrap();
    let Ran { code, stdout: shown, .. } = base.run(["undo", "--dry-run"]);
    assert_eq!(code, Some(0));
    assert!(shown.contains("-New.\n") && shown.contains("+Old.\n"), "{} bytes", shown.len());
}
