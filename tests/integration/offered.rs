//! The server that `run` offers to an agent's client, and the feature of what is written through it.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::support::{Ran, TestBase, write_program};

/// Makes an agent with a client's name: it saves its arguments, the configuration in its environment and its prompt, and
/// is done.
fn client(base: &TestBase, name: &str) -> String {
    let folder = base.home().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let script = "#!/bin/sh\nprintf '%s\\n' \"$@\" > arguments\nprintf %s \"$OPENCODE_CONFIG_CONTENT\" > variable\n\
                  printf %s \"$RALPH_MEMORY_OFFERED\" > offered\n\
                  cat > prompt\necho \"<task-done>$RALPH_TASK_ID</task-done>\"\n";
    write_program(&path, script);
    path.display().to_string()
}

fn run(base: &TestBase, agent: &str, more: &[&str]) -> Ran {
    let arguments = ["run", "--task", "Add the lock", "--max-iterations", "1", "--format", "text", "--agent", agent];
    base.with([&arguments, more].concat()).env("PATH", std::env::var_os("PATH").unwrap()).run()
}

#[test]
fn the_server_that_a_client_gets_is_this_memory_with_the_tasks_feature() {
    let base = TestBase::new();
    base.entry("wal", "WAL mode", "sqlite", "Readers go on.");
    run(&base, &format!("{} -p --model x", client(&base, "claude")), &["--feature", "storage"]).says(0, "done");
    let arguments = base.read("arguments");
    let mut arguments = arguments.lines();
    let config = arguments.next().unwrap().strip_prefix("--mcp-config=").unwrap();
    assert_eq!(arguments.collect::<Vec<_>>(), ["--allowedTools=mcp__ralph-memory", "-p", "--model", "x"]);
    assert_eq!(base.read("offered"), "1", "the server of a plugin is silent beside it");
    let prompt = base.read("prompt");
    assert!(prompt.contains("## What to Report") && prompt.contains("## Memory Tools\n\nThe MCP server"), "{prompt}");

    let config: Value = serde_json::from_str(config).unwrap();
    let server = &config["mcpServers"]["ralph-memory"];
    let mut command = Command::new(server["command"].as_str().unwrap());
    command.args(server["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    command.current_dir("/").env_clear().env("HOME", base.home());
    let mut agent = Agent::greeted(command);
    let found = agent.call("search_memory", &json!({"query": "do readers go on"}));
    assert_eq!(found["structuredContent"]["entries"][0]["id"], "knowledge/wal");
    let mut fact = json!({"title": "One writer", "tags": ["sqlite"], "body": "It is one."});
    let id = agent.call("add_knowledge", &fact)["structuredContent"]["id"].clone();
    assert_eq!(agent.call("read_entry", &json!({"id": id}))["structuredContent"]["feature"], "storage");
    fact["feature"] = json!("shop");
    let refused = agent.call("add_knowledge", &fact)["content"][0]["text"].to_string();
    assert!(refused.contains("this server answers for the feature `storage`"), "{refused}");
    let briefing = agent.call("build_context", &json!({}));
    assert_eq!(briefing["isError"], false, "{briefing}");
}

#[test]
fn codex_and_opencode_get_it_as_well() {
    let base = TestBase::new();
    run(&base, &format!("{} exec -", client(&base, "codex")), &[]).says(0, "done");
    let arguments = base.read("arguments");
    let table = arguments.lines().nth(1).unwrap().strip_prefix("mcp_servers.").unwrap();
    let table: toml::Table = table.parse().unwrap();
    let root = format!("--root={}", base.root().display());
    assert_eq!(table["ralph-memory"]["args"].as_array().unwrap()[..], [root.as_str().into(), "mcp".into()]);
    assert!(arguments.ends_with("\nexec\n-\n"), "{arguments}");

    run(&base, &format!("{} run", client(&base, "opencode")), &["--task-id", "t-2"]).says(0, "done");
    assert_eq!(base.read("arguments"), "run\n");
    let config: Value = serde_json::from_str(&base.read("variable")).unwrap();
    assert_eq!(config["mcp"]["ralph-memory"]["command"][2], "mcp");
}

#[test]
fn an_agent_gets_no_server_if_the_user_says_so_or_its_client_takes_none() {
    let base = TestBase::new();
    let claude = client(&base, "claude");
    run(&base, &format!("{claude} -p"), &["--no-mcp"]).says(0, "done");
    assert_eq!((base.read("arguments"), base.read("offered")), ("-p\n".to_owned(), String::new()));
    assert!(!base.read("prompt").contains("Memory Tools"), "{}", base.read("prompt"));
    // A resumed run keeps that.
    let arguments = ["run", "--resume", "--task", "Another", "--max-iterations", "1"];
    base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).run().says(0, "done");
    assert_eq!(base.read("arguments"), "-p\n");
    run(&base, &format!("{} -p", client(&base, "agent")), &["--task-id", "t-2"]).says(0, "done");
    assert_eq!((base.read("arguments"), base.read("variable")), ("-p\n".to_owned(), String::new()));
}
