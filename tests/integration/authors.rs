//! What an agent may do to what people wrote: nothing, whichever way it takes. What people rejected does not come back.

use std::fs;

use ralph_memory::memory::HookCall;
use ralph_memory::setup::SetupClient;
use ralph_memory::{Author, Knowledge};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::support::{Ran, TestBase};

const RULE: &str = ".ralph/knowledge/use-make.md";
const IMPORTED: &str = "Always run the linter before you open a pull request.";

/// A project in which a person wrote a rule about a file, archived another, changed a third, and imported rules.
fn of_person() -> TestBase {
    let base = TestBase::new();
    base.write("src/build.rs", "x").write("CLAUDE.md", format!("# Rules\n\n- {IMPORTED}\n"));
    let rule = "Run `make all` to build and sign the release binaries, never cargo alone.";
    base.run(["add", "Use make", "--tags", "build", "--file", "src/build.rs", "--body", rule]).says(0, "created");
    base.run(["add", "Old host", "--tags", "ops", "--body", "It is stage-1."]).says(0, "created");
    base.run(["add", "Port", "--tags", "db", "--body", "The database listens on port 5432."]).says(0, "created");
    base.run(["add", "Freeze", "--tags", "ops", "--body", "No deploys.", "--expires", "2026-01-01"]).says(0, "created");
    base.run(["import", "CLAUDE.md"]).says(0, "added");
    base.run(["add", "Port", "--tags", "db", "--body", "The database listens on port 5433."]).says(0, "updated");
    base.run(["archive", "old-host"]).says(0, "archived");
    begin(&base, "s-0");
    base
}

fn hook(base: &TestBase, event: &str, input: &Value) -> Ran {
    base.with(["hook", event, "--agent", "claude"]).input(input.to_string()).run()
}

fn begin(base: &TestBase, session: &str) -> String {
    let input = json!({"session_id": session, "hook_event_name": "SessionStart", "source": "startup"});
    hook(base, "session-start", &input).answer(0)
}

/// What the agent is told when it reads a file, and at a prompt.
fn told(base: &TestBase, session: &str, file: &str, prompt: &str) -> [String; 2] {
    begin(base, session);
    let read = json!({"session_id": session, "hook_event_name": "PostToolUse", "tool_name": "Read",
        "tool_input": {"file_path": file}});
    // The briefing has shown it to the first session.
    let other = json!({"session_id": format!("{session}-2"), "hook_event_name": "UserPromptSubmit", "prompt": prompt});
    [hook(base, "tool", &read).answer(0), hook(base, "prompt", &other).answer(0)]
}

/// What an agent's tool did to a file, as its client says.
fn wrote(base: &TestBase, event: &str, arguments: &Value) -> Ran {
    let mut input =
        json!({"session_id": "s-1", "hook_event_name": event, "tool_name": "Edit", "tool_input": arguments});
    input["tool_input"]["file_path"] = json!(base.at(RULE));
    if event.ends_with("Failure") {
        input["error"] = json!("no such text");
    }
    hook(base, "tool", &input)
}

type Act = fn(&TestBase, &dyn Fn(&[&str]) -> Ran);

fn acts() -> Vec<(&'static str, Act)> {
    vec![
        ("archive", |_, run| run(&["archive", "use-make"]).refuses(2, "a person wrote `knowledge/use-make`")),
        ("forget", |_, run| run(&["archive", "--forget", "use-make"]).refuses(2, "a person wrote")),
        ("forget what is archived", |_, run| run(&["archive", "--forget", "old-host"]).refuses(2, "a person wrote")),
        ("edit", |_, run| run(&["edit", "use-make"]).refuses(2, "a person wrote")),
        ("title", |_, run| run(&["edit", "use-make", "--title", "Use ninja"]).refuses(2, "a person wrote")),
        ("tags", |_, run| run(&["edit", "use-make", "--tags", "x"]).refuses(2, "a person wrote")),
        ("confirm", |_, run| run(&["edit", "use-make", "--confirm"]).refuses(2, "a person wrote")),
        ("supersede by it", |_, run| run(&["edit", "use-make", "--supersedes", "port"]).refuses(2, "a person wrote")),
        ("restore a text", |_, run| run(&["restore", "port"]).refuses(2, "a person wrote `knowledge/port`")),
        ("restore", |_, run| run(&["restore", "old-host"]).refuses(2, "a person archived `knowledge/old-host`")),
        ("undo", |_, run| run(&["undo"]).refuses(2, "is a person's")),
        ("undo of the first", |_, run| run(&["undo", "1"]).refuses(2, "is a person's")),
        ("clear", |_, run| run(&["undo", "--clear"]).refuses(2, "the log has what people wrote")),
        ("add as a person", |_, run| {
            run(&["add", "Use make", "--body", "No.", "--source", "human"]).refuses(2, "says that a person wrote this");
        }),
        ("add", |_, run| run(&["add", "Use make", "--tags", "build", "--body", "Never."]).says(0, "created")),
        ("suggest", |_, run| {
            run(&["add", "Use ninja", "--tags", "build", "--body", "Not make.", "--supersedes", "use-make"])
                .says(0, "created");
        }),
        ("tidy", |_, run| run(&["tidy"]).says(0, "")),
        ("import", |base, run| {
            base.write("CLAUDE.md", format!("# Rules\n\n- {}\n", IMPORTED.replace("before", "after")));
            let ran = run(&["import", "CLAUDE.md"]);
            assert!(ran.code == Some(1) && ran.stdout.starts_with("conflict"), "{ran}");
        }),
        ("MCP", |base, _| {
            let mut agent = Agent::greeted(base.with(["mcp"]).command());
            let fact = json!({"title": "Use make", "tags": ["build"], "body": "Never.", "supersedes": ["use-make"]});
            assert_ne!(agent.call("add_knowledge", &fact)["isError"], true);
        }),
        ("an element", |base, _| {
            let message = "<knowledge tags=\"build\" title=\"Use make\">Never use it.</knowledge>";
            let stop = json!({"session_id": "s-1", "hook_event_name": "Stop", "last_assistant_message": message});
            hook(base, "stop", &stop).answer(0);
        }),
        ("an edit that failed", |base, _| {
            let _ = wrote(base, "PostToolUseFailure", &json!({"old_string": "a", "new_string": "b"}));
        }),
        ("an edit that changes nothing", |base, _| {
            let _ = wrote(base, "PostToolUse", &json!({"old_string": "make", "new_string": "make"}));
        }),
        ("the same text again", |base, _| {
            let _ = wrote(base, "PostToolUse", &json!({"content": base.read(RULE)}));
        }),
    ]
}

#[test]
fn no_door_lets_an_agent_touch_what_a_person_wrote() {
    let variables = ["CLAUDECODE", "QWEN_CODE", "GOOSE_TERMINAL", "COPILOT_CLI", "KIRO_SESSION_ID", "AI_AGENT"];
    for (number, (name, act)) in acts().into_iter().enumerate() {
        let base = of_person();
        let texts = || {
            let files = base.files(".ralph/knowledge").into_iter().chain(base.files(".ralph/archive"));
            files.map(|file| (base.read(&file), file)).collect::<Vec<_>>()
        };
        let before = texts();
        let variable = variables[number % variables.len()];
        act(&base, &|words| base.with(words).env(variable, "1").env("EDITOR", "false").run());
        let after = texts();
        for text in &before {
            assert!(after.contains(text), "{name}: {text:?} is not in {after:?}");
        }
        // It is told and found as before.
        let first = base.run(["search", "make all build sign release", "--json"]).json(0)["entries"][0].clone();
        assert_eq!((&first["id"], &first["source"]), (&json!("knowledge/use-make"), &json!("human")), "{name}");
        let prompt = "How do I build and sign the release binaries with make all?";
        for text in told(&base, "s-9", "src/build.rs", prompt) {
            assert!(text.contains("knowledge/use-make"), "{name}: {text}");
        }
        // A suggestion is shown to the person.
        if ["suggest", "MCP", "add"].contains(&name) {
            base.run(["list", "--unreviewed"]).says(0, "Use ");
        }
    }
}

/// Where the client says what was there, it comes back, even if another call has seen the new text first.
#[test]
fn what_an_agents_tool_replaced_is_in_the_log() {
    for is_seen in [false, true] {
        let base = of_person();
        let before = base.read(RULE);
        base.write(RULE, before.replace("make all", "ninja"));
        let mut input = json!({"session_id": "s-1", "hook_event_name": "PostToolUse", "tool_name": "Edit",
            "tool_input": {"file_path": base.at(RULE), "old_string": "make all", "new_string": "ninja"}});
        if is_seen {
            base.run(["index"]).says(0, "");
            input["tool_response"] = json!({"originalFile": before});
        }
        let _ = hook(&base, "tool", &input);
        assert_eq!(base.run(["show", "use-make", "--json"]).json(0)["entry"]["source"], "agent");
        base.with(["undo"]).env("CLAUDECODE", "1").run().refuses(2, "a person wrote `knowledge/use-make`");
        base.run(["undo"]).says(0, "took back");
        assert_eq!(base.read(RULE), before);
    }
}

/// What a tool of an agent writes into the memory's folder is the agent's, however the file and the tool are named, and whatever the
/// file says. It hides nothing.
#[test]
fn what_an_agents_tool_writes_is_the_agents() {
    const FIELDS: &str = "title: Use ninja\nsource: human\nsupersedes: [knowledge/use-make]";
    let block = format!("---\n{FIELDS}\n---\n\nBuild with ninja.\n");
    let flow = "---\n{title: Use ninja, source: human, supersedes: [knowledge/use-make]}\n---\n\nBuild with ninja.\n";
    let conflict = format!("---\n<<<<<<< a\n{FIELDS}\n=======\ntitle: x\n>>>>>>> b\n---\n\nBuild with ninja.\n");
    let file = ".ralph/knowledge/ninja.md";
    let link = "linked/ninja.md";
    let many: Vec<String> = (0..20).map(|n| format!("*** Add File: .ralph/knowledge/other-{n}.md\n+x\n")).collect();
    let many = many.concat();
    let patch = format!("*** Begin Patch\n{many}*** Add File: {file}\n+x\n*** End Patch");
    for (name, tool, argument, written) in [
        ("a block", "Write", json!({"file_path": file}), block.as_str()),
        ("a flow mapping", "Write", json!({"file_path": file}), flow),
        ("a note", "Write", json!({"file_path": file}), "# Use ninja\n\nBuild with ninja.\n"),
        ("blank lines first", "Write", json!({"file_path": file}), &format!("\n\n{block}")),
        ("a conflict", "Write", json!({"file_path": file}), &conflict),
        ("a link", "Write", json!({"file_path": link}), &block),
        ("another tool", "replace_string_in_file", json!({"filePath": file}), &block),
        ("a server's tool", "mcp__filesystem__write_file", json!({"path": file}), &block),
        ("a patch of many files", "apply_patch", json!({"input": patch}), &block),
    ] {
        let base = of_person();
        std::os::unix::fs::symlink(base.at(".ralph/knowledge"), base.at("linked")).unwrap();
        base.write(file, written);
        let input = json!({"session_id": "s-1", "hook_event_name": "PostToolUse", "tool_name": tool,
            "cwd": base.root(), "tool_input": argument});
        let _ = hook(&base, "tool", &input);
        let _ = base.with(["check", "--fix"]).env("CLAUDECODE", "1").run();
        assert_eq!(base.run(["show", "knowledge/ninja", "--json"]).json(0)["entry"]["source"], "agent", "{name}");
        let text = base.read(file);
        assert!(
            text.contains("Build with ninja.") && text.contains(written.trim_end().lines().last().unwrap()),
            "{text}"
        );
        assert_eq!(base.run(["show", "use-make", "--json"]).json(0)["entry"]["superseded"], false, "{name}");
    }
}

/// A tool's write into an archived entry, and one that leaves a person's words as they are, is put back.
#[test]
fn a_tool_takes_no_mark_from_a_file() {
    let base = of_person();
    let of_tool = |path: &str, change: &dyn Fn(String) -> String| {
        let before = base.read(path);
        base.write(path, change(before.clone()));
        let input = json!({"session_id": "s-1", "hook_event_name": "PostToolUse", "tool_name": "Write",
            "tool_input": {"file_path": base.at(path)}, "tool_response": {"originalFile": before}});
        let _ = hook(&base, "tool", &input);
        before
    };
    let archived = ".ralph/archive/knowledge/old-host.md";
    let without = |text: String| {
        text.lines().filter(|line| !line.starts_with("archived_")).fold(String::new(), |text, line| text + line + "\n")
    };
    assert_eq!(of_tool(archived, &without), base.read(archived));
    let hidden = |text: String| text.replacen("---\n", "---\nsupersedes: [knowledge/port]\n", 1);
    assert_eq!(of_tool(RULE, &hidden), base.read(RULE));
    // A person's change that a tool writes again is the person's.
    base.write(RULE, base.read(RULE).replace("all", "everything"));
    of_tool(RULE, &|text| text);
    assert_eq!(base.run(["show", "use-make", "--json"]).json(0)["entry"]["source"], "human");
    // What says something else is the agent's, and plain `restore` gives back what the person wrote.
    let before = of_tool(RULE, &|text| text.replace("make", "ninja"));
    assert_eq!(base.run(["show", "use-make", "--json"]).json(0)["entry"]["source"], "agent");
    base.with(["archive", "--forget", "use-make"]).env("CLAUDECODE", "1").run().refuses(2, "had another text");
    base.run(["restore", "use-make"]).says(0, "restored");
    let said = |text: &str| text.split("---\n").last().unwrap().to_owned();
    assert_eq!(said(&base.read(RULE)), said(&before));
}

/// Seen: eight entries of an agent crowded a person's rule out of what an agent is told, sixty out of the search.
#[test]
fn what_agents_write_leaves_room_for_what_people_wrote() {
    let base = of_person();
    let memory = base.memory().by(Author::Agent("claude".to_owned()));
    for number in 0..60 {
        let body =
            format!("Run `make all` to build and sign the release binaries, say {number} of us, and make all again.");
        let fact =
            Knowledge::new(format!("Use make all to build and sign release binaries, rule {number}"), ["build"], body);
        let (files, source) = (vec!["src/build.rs".to_owned()], ralph_memory::Source::Agent);
        let category = Some("pitfall".to_owned());
        memory.add(&Knowledge { files, source, category, importance: Some(100), ..fact }).unwrap();
    }
    let found = base.run(["search", "make all to build and sign the release binaries", "--json"]).json(0);
    let ids = crate::support::ids(&found["entries"]);
    assert!(ids.len() == 10 && ids.contains(&"knowledge/use-make".to_owned()), "{ids:?}");
    let prompt = "How do I build and sign the release binaries with make all?";
    for text in told(&base, "s-9", "src/build.rs", prompt) {
        assert!(text.contains("knowledge/use-make`"), "{text}");
    }
    assert!(begin(&base, "s-10").contains("knowledge/use-make`"));
    base.run(["context", "--task", prompt]).says(0, "knowledge/use-make");
}

/// A way in which a person rejects what an agent wrote, by name, with what is said then.
type Rejection = (&'static str, fn(&TestBase), &'static str);

fn replace(base: &TestBase, old: &str, new: &str) {
    let file = ".ralph/knowledge/database-port.md";
    base.write(file, base.read(file).replace(old, new));
}

fn rejections() -> Vec<Rejection> {
    vec![
        (
            "archive",
            |base| base.run(["archive", "database-port"]).says(0, "archived"),
            "a person archived it on 2026-11-20",
        ),
        ("by hand", |base| replace(base, "5432", "5433"), "a person corrected it"),
        (
            "add",
            |base| {
                let body = "The database of the tests listens on port 5433.";
                base.run(["add", "Database port", "--tags", "db", "--body", body]).says(0, "updated");
            },
            "a person corrected it",
        ),
    ]
}

#[test]
fn what_a_person_rejected_comes_back_by_no_door() {
    const SAID: &str = "The database of the tests listens on port 5432.";
    let by_agent = |base: &TestBase, words: &[&str]| base.with(words).env("GEMINI_CLI", "1").run();
    for (name, reject, reason) in rejections() {
        let base = TestBase::new();
        by_agent(&base, &["add", "Database port", "--tags", "db", "--body", SAID]).says(0, "created");
        reject(&base);
        for folder in ["state", "cache"] {
            let _ = fs::remove_dir_all(base.at(&format!(".ralph/{folder}")));
        }
        let n_files = base.files(".ralph/knowledge").len();
        // The same, and the same but for words without meaning.
        for said in [SAID, "The database of the tests is listens on the port 5432."] {
            by_agent(&base, &["add", "Database port", "--tags", "db", "--body", said]).refuses(4, reason);
        }
        let mut agent = Agent::greeted(base.with(["mcp"]).command());
        let fact = json!({"title": "Database port", "tags": ["db"], "body": SAID});
        let answer = agent.call("add_knowledge", &fact);
        assert!(answer["isError"] == true && answer.to_string().contains(reason), "{name}: {answer}");
        let message = format!("<knowledge tags=\"db\" title=\"Database port\">{SAID}</knowledge>");
        let stop = json!({"session_id": "s-1", "hook_event_name": "Stop", "last_assistant_message": message});
        let ran = hook(&base, "stop", &stop);
        assert!(ran.stderr.contains(reason), "{name}: {ran}");
        let line = format!("{{\"title\":\"Database port\",\"tags\":[\"db\"],\"body\":\"{SAID}\"}}\n");
        let import = base.with(["import", "-"]).env("GEMINI_CLI", "1").input(line).run();
        assert!(import.code == Some(1) && import.stdout.contains(reason), "{name}: {import}");
        if name == "archive" {
            by_agent(&base, &["restore", "database-port"]).refuses(2, "a person archived");
        }
        assert_eq!(base.files(".ralph/knowledge").len(), n_files, "{name}");
        // Nor in an entry of another title, by an edit.
        by_agent(&base, &["add", "Other", "--tags", "x", "--body", "Of something else."]).says(0, "created");
        let refused = |script: &str, reason: &str| {
            base.write("../home/editor.sh", format!("{script}\n"));
            let editor = format!("sh {}", base.home().join("editor.sh").display());
            let edit = base.with(["edit", "other"]).env("GEMINI_CLI", "1").env("EDITOR", editor);
            edit.env("PATH", std::env::var_os("PATH").unwrap()).run().refuses(4, reason);
        };
        refused(&format!("sed -i 's/^Of .*/{SAID}/; s/^title: .*/title: Database port/' \"$1\""), "said that before");
        refused("sed -i 's/^source: .*/source: human/; s/^Of.*/Of all./' \"$1\"", "a person wrote this");
        base.run(["archive", "--forget", "other"]).says(0, "removed");
        // Nor by a tool that writes the file: it is only proposed, and agents do not find it.
        let file = ".ralph/knowledge/written.md";
        base.write(file, format!("---\ntitle: Database port\ntags: [db]\n---\n\n{SAID}\n"));
        let input = json!({"session_id": "s-1", "hook_event_name": "PostToolUse", "tool_name": "Write",
            "tool_input": {"file_path": base.at(file)}});
        let _ = hook(&base, "tool", &input);
        assert!(base.read(file).contains("status: \"proposed\""), "{}", base.read(file));
        let found = by_agent(&base, &["search", SAID, "--json"]).stdout;
        assert!(!found.contains("knowledge/written"), "{name}: {found}");
        base.run(["archive", "--forget", "written"]).says(0, "removed");
        // With one more word it is a proposal, which nobody is told.
        let near = "The database of the tests still listens on port 5432.";
        let ran = by_agent(&base, &["add", "Database port", "--tags", "db", "--body", near]);
        assert!(ran.code == Some(0) && ran.stderr.contains("only proposed"), "{name}: {ran}");
        base.run(["list", "--unreviewed"]).says(0, "knowledge/database-port-2  Database port  [db]  (proposed)");
        let [_, at_prompt] = told(&base, "s-9", "x.rs", "Which port has the database of the tests: is it still 5432?");
        let context = base.run(["context", "--task", "Find the port of the database of the tests"]).stdout;
        for text in [at_prompt, begin(&base, "s-8"), context] {
            assert!(!text.contains("database-port-2"), "{name}: {text}");
        }
        // Another number is another fact, and a person may say what they want.
        by_agent(
            &base,
            &["add", "Cache port", "--tags", "cache", "--body", "The cache of the tests listens on port 6379."],
        )
        .says(0, "created");
        base.run(["edit", "database-port-2", "--confirm"]).says(0, "updated");
        assert!(!base.read(".ralph/knowledge/database-port-2.md").contains("status"), "{name}");
    }
    // Under any title, in any scope that overlaps, with other marks.
    let base = TestBase::new();
    let add = ["add", "Database port", "--tags", "db", "--scope", "feature:billing", "--body", SAID];
    by_agent(&base, &add).says(0, "created");
    base.run(["archive", "database-port"]).says(0, "archived");
    for (title, body) in
        [("Database port", format!("> {}", SAID.replace("5432", "**５４３２**"))), ("Where it is", SAID.to_owned())]
    {
        let ran = by_agent(&base, &["add", title, "--tags", "db", "--body", &body]);
        assert!(ran.code == Some(4) || ran.stderr.contains("only proposed"), "{ran}");
    }
    // Forgotten is not rejected.
    let base = TestBase::new();
    by_agent(&base, &["add", "Database port", "--tags", "db", "--body", SAID]).says(0, "created");
    base.run(["archive", "--forget", "database-port"]).says(0, "removed");
    by_agent(&base, &["add", "Database port", "--tags", "db", "--body", SAID]).says(0, "created");
}

#[test]
fn each_client_has_a_row() {
    let clients = HookCall::clients();
    let of_setup =
        SetupClient::ALL.iter().filter(|client| **client != SetupClient::AgentsMd).map(|client| client.as_str());
    for client in of_setup.chain(["goose", "kiro"]) {
        assert!(clients.contains(&client), "{client}");
    }
    let who = |name: &str, value: &str| Author::of_process(&|asked| (asked == name).then(|| value.into()));
    for (variable, client) in [
        ("CLAUDECODE", "claude"),
        ("CODEX_THREAD_ID", "codex"),
        ("CURSOR_AGENT", "cursor"),
        ("OPENCODE", "opencode"),
        ("COPILOT_CLI", "copilot"),
        ("COPILOT_AGENT", "vscode"),
        ("GEMINI_CLI", "gemini"),
        ("QWEN_CODE", "qwen"),
        ("GOOSE_TERMINAL", "goose"),
        ("KIRO_SESSION_ID", "kiro"),
        ("AMP_CURRENT_THREAD_ID", "amp"),
        ("AI_AGENT", "agent"),
        ("AGENT", "agent"),
        ("RALPH_RUN_ID", "agent"),
    ] {
        assert_eq!(who(variable, "x"), Author::Agent(client.to_owned()), "{variable}");
        assert_eq!([who(variable, ""), who(variable, "0")], [Author::Person, Author::Person], "{variable}");
    }
    assert_eq!(who("ZED_TERM", "true"), Author::Person, "a person's terminal has it, too");
    assert_eq!(Author::of_server("Visual Studio Code"), Author::Agent("vscode".to_owned()));
    assert_eq!(Author::of_server("some-client"), Author::Agent("agent".to_owned()));
}
