//! Gives the memory's MCP server to an agent whose client accepts one on its command line.
//!
//! Claude Code takes the server as `--mcp-config`, and needs permission for its tools, because a headless call is
//! refused otherwise. Codex takes it as `-c`, a value of its configuration, and opencode as the variable
//! `OPENCODE_CONFIG_CONTENT`. All three add it to the servers that are configured.

use serde_json::json;

use super::command::{CommandLine, McpOffer};

/// The name of the server, under which clients list its tools.
const NAME: &str = "ralph-memory";
/// The variable in which opencode takes a configuration.
const OPENCODE: &str = "OPENCODE_CONFIG_CONTENT";
/// Variables that the server reads. Codex gives a server only those that its configuration names.
const VARIABLES: [&str; 5] = ["RALPH_RUN_ID", "RALPH_ATTEMPT", "RALPH_TASK_ID", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];
/// The variable that silences the server of a plugin, which Claude Code would start as a second one: see `serves` in the
/// program's `session.rs`.
const OFFERED: &str = "RALPH_MEMORY_OFFERED";
/// Options of Claude Code after which only the servers count that the user names.
const STRICT: &str = "--strict-mcp-config";

/// What a prompt says of the tools.
pub(super) const TOOLS: &str = "\n## Memory Tools\n\nThe MCP server `ralph-memory` is connected: `search_memory` finds what \
    is not above, `read_entry` shows an entry whole, and `get_failed_attempts` what failed at other tasks. Your final \
    answer is what records this attempt.\n";

/// Returns what makes this agent's client start the server that `server` is the command of. `None` if the client is
/// not one of the three, runs in a script, or is given a server of that name or a configuration by the user.
pub(super) fn offer(agent: &CommandLine, server: &[String], is_set: impl Fn(&str) -> bool) -> Option<McpOffer> {
    let (program, arguments) = server.split_first()?;
    let (client, at) = agent.direct_client()?;
    if agent.words().iter().any(|word| word.contains(NAME) || word == STRICT) {
        return None;
    }
    let offered = |arguments, variable| Some(McpOffer { at, arguments, variable });
    match client {
        "claude" => {
            let config = json!({ "mcpServers": { NAME: { "command": program, "args": arguments } } });
            // With `=`, since what follows a space belongs to the option as well.
            let arguments = vec![format!("--mcp-config={config}"), format!("--allowedTools=mcp__{NAME}")];
            offered(arguments, Some((OFFERED, "1".to_owned())))
        }
        "codex" => {
            let (command, variables) = (toml(&json!(program)), toml(&json!(VARIABLES)));
            let table = format!("{{command={command},args={},env_vars={variables}}}", toml(&json!(arguments)));
            offered(vec!["-c".to_owned(), format!("mcp_servers.{NAME}={table}")], None)
        }
        "opencode" if !is_set(OPENCODE) => {
            let config = json!({ "mcp": { NAME: { "type": "local", "command": server, "enabled": true } } });
            offered(Vec::new(), Some((OPENCODE, config.to_string())))
        }
        _ => None,
    }
}

/// Returns a text, or a list of texts, as TOML: the escapes of JSON are escapes of TOML, which takes no bare DEL.
fn toml(value: &serde_json::Value) -> String {
    value.to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    fn offered(agent: &str) -> Option<McpOffer> {
        let server = ["/opt/ralph memory", "--root", "/p \"q\"", "mcp"].map(str::to_owned);
        offer(&CommandLine::parse("agent", agent).unwrap(), &server, |name| name == "SET")
    }

    fn words(agent: &str) -> Vec<String> {
        let command = CommandLine::parse("agent", agent).unwrap();
        let process = command.process(&BTreeMap::new(), Path::new("/"), offered(agent).as_ref());
        process.get_args().map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn clients_take_the_server_with_their_command() {
        let config =
            r#"{"mcpServers":{"ralph-memory":{"args":["--root","/p \"q\"","mcp"],"command":"/opt/ralph memory"}}}"#;
        assert_eq!(
            words("claude -p --model haiku"),
            [&format!("--mcp-config={config}"), "--allowedTools=mcp__ralph-memory", "-p", "--model", "haiku"]
        );
        let arguments = words("env A=1 /usr/bin/codex exec -");
        assert_eq!([&arguments[..3], &arguments[4..]].concat(), ["A=1", "/usr/bin/codex", "-c", "exec", "-"]);
        let value = arguments[3].strip_prefix("mcp_servers.ralph-memory=").unwrap();
        let table: toml::Table = toml::from_str(&format!("server={value}")).unwrap();
        assert_eq!(table["server"]["command"].as_str(), Some("/opt/ralph memory"));
        assert_eq!(table["server"]["args"][1].as_str(), Some("/p \"q\""));
        assert_eq!(table["server"]["env_vars"][0].as_str(), Some("RALPH_RUN_ID"));
        let (name, config) = offered("opencode run --format json").unwrap().variable.unwrap();
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        assert_eq!((name, &config["mcp"]["ralph-memory"]["command"][3]), (OPENCODE, &json!("mcp")));
    }

    #[test]
    fn what_the_user_configured_is_left_alone() {
        let refused = [
            "./agent.sh",
            "sh -c 'claude -p'",
            "env -i claude -p",
            "claude -p --strict-mcp-config",
            "claude -p --mcp-config '{\"mcpServers\":{\"ralph-memory\":{}}}'",
            "cursor-agent -p",
        ];
        for agent in refused {
            assert_eq!(offered(agent), None, "{agent}");
        }
        let server = ["a".to_owned()];
        let opencode = CommandLine::parse("agent", "opencode run").unwrap();
        assert_eq!(offer(&opencode, &server, |name| name == OPENCODE), None);
        assert_eq!(offer(&opencode, &[], |_| false), None);
    }

    #[test]
    fn no_character_of_a_path_ends_a_string() {
        let text = "\u{7f}\u{1}\"\\\n";
        let table: toml::Table = toml::from_str(&format!("a={}", toml(&json!(text)))).unwrap();
        assert_eq!(table["a"].as_str(), Some(text));
    }
}
