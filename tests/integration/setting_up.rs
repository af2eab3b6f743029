//! `setup` from end to end: what each client gets, what is refused, and that nothing of others is lost.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use ralph_memory::Error;
use ralph_memory::memory::StateFolders;
use ralph_memory::setup::{Setup, SetupClient, SetupOptions, SetupScope};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::pty::Terminal;
use crate::setups;
use crate::support::{PROGRAM, Ran, Run, TestBase};

const CLIENTS: &[&str] = SetupClient::WORDS;

/// Prepares a command in a home in which a shell finds the program.
pub(crate) fn with_program<'a>(base: &'a TestBase, arguments: &[&str]) -> Run<'a> {
    let bin = base.home().parent().unwrap().join("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        symlink(PROGRAM, bin.join("ralph-memory")).unwrap();
    }
    base.with(arguments).env("PATH", bin)
}

fn with<'a>(base: &'a TestBase, arguments: &[&str]) -> Run<'a> {
    with_program(base, &[&["setup"], arguments].concat())
}

/// Forgets what was recorded, as in a clone.
fn forget(base: &TestBase) {
    fs::remove_dir_all(base.home().join(".local")).unwrap();
}

fn setup(base: &TestBase, arguments: &[&str]) -> Ran {
    with(base, arguments).run()
}

/// Returns a memory where these clients are set up.
fn connected(arguments: &[&str]) -> TestBase {
    let base = TestBase::new();
    setup(&base, arguments).says(0, "created");
    base
}

/// Returns the diffs for each client, the text of the skill once.
fn diffs(scope: &str, clients: &[&str]) -> String {
    let mut all = String::new();
    for client in clients {
        let base = TestBase::without_memory();
        let diff = setup(&base, &[client, "--scope", scope, "--dry-run"]).answer(0);
        assert!(
            base.files("").is_empty() && fs::read_dir(base.home()).unwrap().count() == 0,
            "a dry run writes nothing"
        );
        let diff = diff.replace(&base.home().display().to_string(), "~");
        let is_skill = |file: &&str| !(all.contains("+# The memory of") && file.contains("+# The memory of"));
        let files: Vec<&str> = diff.split("--- /dev/null\n").filter(is_skill).collect();
        all.push_str(&format!("================ {client}\n{}", files.concat()));
    }
    all
}

#[test]
fn each_client_gets_its_files_in_a_project() {
    assert_snapshot!("setup-project", diffs("project", CLIENTS));
}

#[test]
fn each_client_gets_its_files_in_a_home() {
    let clients: Vec<&str> =
        CLIENTS.iter().copied().filter(|client| !["vscode", "agents-md"].contains(client)).collect();
    assert_snapshot!("setup-user", diffs("user", &clients));
}

#[test]
fn configurations_of_all_forms_survive() {
    let folder = crate::program::quick_folder();
    let outcome = setups::run(folder.path(), 200, 7);
    let kinds = [outcome.broken, outcome.imitated, outcome.exact, outcome.without_record, outcome.changed];
    assert!(outcome.files >= 200 && kinds.iter().all(|kind| *kind > 5), "{outcome:?}");
}

/// Files of others, each with the client whose setup edits it, the file, its text, and what a removal without the record
/// leaves where that is not the same text.
#[rustfmt::skip]
const FORMS: &[(&str, &str, &str, Option<&str>)] = &[
    ("cursor", ".cursor/mcp.json", "{}", Some("{\n}")),
    ("cursor", ".cursor/mcp.json", "{ }\n", Some("{\n }\n")),
    ("cursor", ".cursor/mcp.json", "\n\n", Some("\n\n{\n}\n")),
    ("cursor", ".cursor/mcp.json", "// nothing yet\n", Some("// nothing yet\n{\n}\n")),
    ("cursor", ".cursor/mcp.json", "{\n}\n", Some("gone")),
    ("cursor", ".cursor/mcp.json", "{ // nothing yet\n}\n", None),
    ("cursor", ".cursor/mcp.json", "{ /* nothing yet */ }\n", Some("{ /* nothing yet */\n }\n")),
    ("cursor", ".cursor/mcp.json", "{\"mcpServers\": {}}\n", Some("{}\n")),
    ("cursor", ".cursor/mcp.json", "{\"mcpServers\":{\"a\":{\"command\":\"b\"}}}", None),
    ("cursor", ".cursor/mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"b\"}, },}\n", None),
    ("cursor", ".cursor/mcp.json", "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"b\"} // mine\r\n\t}\r\n}\r\n", None),
    ("cursor", ".cursor/mcp.json", "{\n    \"mcpServers\": {\n        \"a\": {\"command\": \"b\"}, // mine\n        // the end\n    },\n\n    \"z\": 1e5\n}", None),
    ("cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"b\"} /* mine */ /* too */\n  }\n}\n", None),
    ("cursor", ".cursor/mcp.json", "{\"z\": [1, 2],\n \"mcpServers\": {\"a\": {}}, \"y\": null}\n", None),
    ("cursor", ".cursor/mcp.json", "\u{feff}{\n  \"a\": \"\\u00e9 // \\\" }\"\n}\n", None),
    ("cursor", ".cursor/mcp.json", "{\n  \"twice\": 1,\n  \"twice\": 2\n}\n", None),
    ("cursor", ".cursor/mcp.json", "{\"a\": {\"mcpServers\": {\"other\": 1}}, \"mcpServers\": {\n}}\n", Some("{\"a\": {\"mcpServers\": {\"other\": 1}}}\n")),
    ("zed", ".config/zed/settings.json", "// Zed settings\n//\n{\n  \"ui_font_size\": 16,\n  \"theme\": {\n    \"mode\": \"system\",\n  },\n}\n", None),
    ("claude", ".claude/settings.json", "{\"hooks\": {\"Stop\": []}, \"permissions\": {\"allow\": [\"Bash(ls)\"]}}\n", Some("{\"permissions\": {\"allow\": [\"Bash(ls)\"]}}\n")),
    ("claude", ".claude/settings.json", "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"tidy\"}]}\n    ]\n  }\n}\n", None),
    ("kiro", ".kiro/hooks/ralph-memory.json", "{\"version\": \"v1\"}\n", None),
    ("kiro", ".kiro/hooks/ralph-memory.json", "{\n  \"hooks\": [\n    1\n  ],\n  \"version\": \"v1\"\n}\n", None),
    ("devin", ".devin/hooks.v1.json", "{\"Stop\": [{\"hooks\": []}]}", None),
    ("amp", ".amp/settings.json", "{\"amp.mcpServers\": {}, \"amp.notifications\": true}", Some("{\"amp.notifications\": true}")),
    ("gemini", ".gemini/settings.json", "{\n\n  \"theme\": \"x\"\n\n}\n\n", None),
    ("opencode", "opencode.jsonc", "{\n  // mine\n  \"mcp\": {\n  }\n}\n", Some("{\n  // mine\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n")),
    ("codex", ".codex/config.toml", "", Some("gone")),
    ("codex", ".codex/config.toml", "model = \"x\"", Some("model = \"x\"\n")),
    ("codex", ".codex/config.toml", "model = \"x\"\n\n\n", None),
    ("codex", ".codex/config.toml", "# mine\r\n[mcp_servers]\r\n[mcp_servers.a] # b\r\ncommand = 'c'\r\n", None),
    ("codex", ".codex/config.toml", "day = 1979-05-27\npi = 3.14\n[[list]]\na = 1\n", None),
    ("goose", ".config/goose/config.yaml", "", Some("gone")),
    ("goose", ".config/goose/config.yaml", "a: 1 # one", Some("a: 1 # one\n")),
    ("goose", ".config/goose/config.yaml", "extensions:\n", Some("gone")),
    ("goose", ".config/goose/config.yaml", "a: 1\nextensions:\n    b:\n        cmd: c\n\n# the end\nz: [1, 2.5, ~]\n", None),
    ("gemini", "GEMINI.md", "", Some("gone")),
    ("gemini", "GEMINI.md", "# Rules", Some("# Rules\n")),
    ("gemini", "GEMINI.md", "# Rules\r\n\r\n- one\r\n\r\n\r\n", None),
    ("gemini", "GEMINI.md", "\u{feff}# Rules\n", None),
];

#[test]
fn a_file_gets_its_bytes_back() {
    for (client, path, text, without_record) in FORMS {
        let base = TestBase::new();
        let is_of_home = path.starts_with(".config");
        let at = if is_of_home { base.home().join(path) } else { base.at(path) };
        let run = |arguments: &[&str]| {
            let scope = ["--scope", if is_of_home { "user" } else { "project" }];
            assert_eq!(setup(&base, &[&[*client], arguments, &scope[..]].concat()).code, Some(0), "{path} {text:?}");
        };
        let write = || {
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(&at, text).unwrap();
        };
        let read = || fs::read_to_string(&at).unwrap_or_else(|_| "gone".to_owned());
        write();
        let before = base.files("");
        // In two steps, the second of which adds to what the first has left.
        run(&[]);
        assert_ne!(&read(), text, "{path}");
        run(&["--each-prompt"]);
        run(&["--remove"]);
        assert_eq!((&read().as_str(), base.files("")), (text, before), "{path}");
        run(&["--each-prompt"]);
        forget(&base);
        run(&["--remove"]);
        assert_eq!(read(), without_record.unwrap_or(text), "{path} {text:?}");
    }
}

/// Seen: the second setup forgot what the first one had put into a file that somebody has changed between them, so a
/// removal left it.
#[test]
fn what_two_set_ups_added_goes_whatever_was_changed_between_them() {
    for is_changed_again in [false, true] {
        let base = TestBase::new();
        let mut text = "{\n  \"env\": {}\n}\n".to_owned();
        base.write(".claude/settings.json", &text);
        let mut change = |mine: &str| {
            text = text.replacen('{', mine, 1);
            base.write(".claude/settings.json", base.read(".claude/settings.json").replacen('{', mine, 1));
        };
        setup(&base, &["claude"]).says(0, "edited   .claude/settings.json");
        change("{\n  \"one\": 1,");
        setup(&base, &["claude", "--each-prompt", "--allow-tools"]).says(0, "edited   .claude/settings.json");
        if is_changed_again {
            change("{\n  \"two\": 2,");
        }
        let ran = setup(&base, &["claude", "--remove"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran}");
        assert_eq!(base.read(".claude/settings.json"), text);
    }
}

#[test]
fn the_integrations_are_what_set_up_writes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let base = TestBase::without_memory();
    setup(&base, &["claude", "opencode", "--scope", "user"]).says(0, "next: Claude Code");
    let plugin = base.home().join(".claude/skills/ralph-memory");
    for path in [".claude-plugin/plugin.json", ".mcp.json", "hooks/hooks.json", "skills/ralph-memory/SKILL.md"] {
        let written = fs::read_to_string(plugin.join(path)).unwrap();
        assert_eq!(written, fs::read_to_string(root.join("integrations/claude").join(path)).unwrap(), "{path}");
    }
    let script = base.home().join(".config/opencode/plugins/ralph-memory.js");
    let expected = fs::read(root.join("integrations/opencode/ralph-memory.js")).unwrap();
    assert_eq!(fs::read(script).unwrap(), expected);
    let json = |path: &str| -> Value { serde_json::from_slice(&fs::read(root.join(path)).unwrap()).unwrap() };
    assert_eq!(json("integrations/claude/.claude-plugin/plugin.json")["version"], env!("CARGO_PKG_VERSION"));
    let marketplace = json(".claude-plugin/marketplace.json");
    let source = marketplace["plugins"][0]["source"].as_str().unwrap();
    assert!(root.join(source).join(".claude-plugin/plugin.json").exists(), "{source}");
    assert_eq!(marketplace["plugins"][0]["name"], "ralph-memory");
}

/// What is said of Claude Code where its tools may not be called without a question.
const PERMISSION: &str =
    "`claude -p` refuses the tools until they are allowed: `ralph-memory setup claude --allow-tools`";

#[test]
fn a_set_up_client_is_connected_until_it_is_removed() {
    let base = TestBase::new();
    let before = base.files("");
    assert_snapshot!(setup(&base, &["claude", "--check"]), @r"
    exit 1
    --- stdout
    .claude/rules/ralph-memory.md lacks the instructions (Claude Code)
    .claude/settings.json lacks the hook `session-start`, the hook `stop`, the hook `session-end`, the hook `tool` at `PostToolUse`, the hook `tool` at `PostToolUseFailure` (Claude Code)
    .claude/skills/ralph-memory/SKILL.md lacks the file (Claude Code)
    .mcp.json lacks the server (Claude Code)
    ");
    assert_snapshot!(setup(&base, &["claude", "--allow-tools"]), @r"
    exit 0
    --- stdout
    created  .claude/rules/ralph-memory.md +9 -0
    created  .claude/settings.json +64 -0
    created  .claude/skills/ralph-memory/SKILL.md +36 -0
    created  .mcp.json +8 -0
    next: Claude Code: start it in this folder, trust the folder, and approve the server; `/mcp` shows its state. Sessions in a subfolder have the server and no hooks
    ");
    assert_snapshot!(setup(&base, &["claude"]), @r"
    exit 0
    --- stdout
    nothing to do: connected
    ");
    setup(&base, &["claude", "--check"]).says(0, "connected: Claude Code");
    let settings: Value = serde_json::from_str(&base.read(".claude/settings.json")).unwrap();
    assert_eq!(settings["permissions"]["allow"], serde_json::json!(["mcp__ralph-memory"]));
    // The permission is there already.
    let again = setup(&base, &["claude", "--each-prompt"]);
    assert!(again.stdout.contains("next: Claude Code") && !again.stdout.contains(PERMISSION), "{again}");
    again.says(0, "edited   .claude/settings.json");
    assert!(base.read(".claude/settings.json").contains("\"ralph-memory hook prompt || exit 0\""));
    assert_snapshot!(setup(&base, &["claude", "--remove"]), @r"
    exit 0
    --- stdout
    deleted  .claude/rules/ralph-memory.md +0 -9
    deleted  .claude/settings.json +0 -75
    deleted  .claude/skills/ralph-memory/SKILL.md +0 -36
    deleted  .mcp.json +0 -8
    ");
    assert_eq!(base.files(""), before);
    assert_eq!(fs::read_dir(base.home()).unwrap().count(), 0, "the record is gone, too");
    setup(&base, &["claude", "--remove"]).says(0, "nothing to do: nothing of it is here");
}

#[test]
fn without_names_and_a_terminal_nothing_is_written() {
    let base = TestBase::new();
    setup(&base, &[]).says(1, "no client is found here; name one, such as `ralph-memory setup claude`");
    base.write(".cursor/mcp.json", "{}\n");
    let shown = setup(&base, &[]);
    assert!(shown.stdout.contains("+    \"ralph-memory\": {"), "{shown}");
    shown.says(1, "nothing was changed; `--yes` makes these changes, or name the clients");
    assert_eq!(base.read(".cursor/mcp.json"), "{}\n");
    setup(&base, &["--yes"]).says(0, "edited   .cursor/mcp.json");
    let shown = setup(&base, &["--remove"]);
    shown.says(1, "nothing was changed");
    setup(&base, &["--remove", "--yes"]).says(0, "edited   .cursor/mcp.json");
    assert_eq!(base.read(".cursor/mcp.json"), "{}\n");
}

#[test]
fn wrong_arguments_are_refused() {
    let base = TestBase::new();
    setup(&base, &["codx"]).says(2, "a similar value exists: 'codex'");
    setup(&base, &["vim"]).says(2, "possible values: claude, codex, cursor, opencode, copilot, vscode, agents-md");
    setup(&base, &["vscode", "--scope", "user"]).says(2, "vscode: VS Code has no files of the user");
    setup(&base, &["--check", "--remove"]).says(2, "cannot be used with");
    setup(&base, &["--remove", "--each-prompt"]).says(2, "cannot be used with");
    setup(&base, &["claude", "--scope", "machine"]).says(2, "possible values: project, user");
    assert!(!base.at(".mcp.json").exists());
}

/// Fails unless the client is refused for this reason, and nothing of it was written.
#[track_caller]
fn refused(base: &TestBase, client: &str, path: &str, reason: &str) {
    let files = || base.files("").into_iter().filter(|file| !file.starts_with(".ralph/")).collect::<Vec<_>>();
    let before = files();
    let ran = setup(base, &[client]);
    assert!(ran.stderr.starts_with(&format!("error: {path}: ")), "{ran}");
    ran.says(4, reason);
    assert_eq!(files(), before);
    assert_eq!(fs::read_dir(base.home()).unwrap().count(), 0);
}

#[test]
fn files_that_cannot_be_edited_are_refused() {
    let check = |client: &str, path: &str, text: &[u8], reason: &str| {
        let base = TestBase::new();
        base.write(path, text);
        refused(&base, client, path, reason);
        assert_eq!(fs::read(base.at(path)).unwrap(), text);
    };
    check("claude", ".claude/settings.json", b"{\n  // mine\n}\n", "omments are not allowed");
    check("claude", ".mcp.json", b"{\"mcpServers\": []}", "`mcpServers` is not an object");
    check("claude", ".mcp.json", b"{\"mcpServers\": {}, \"mcpServers\": {}}", "the key `mcpServers` occurs twice");
    check("claude", ".claude/settings.json", b"{\"hooks\": {\"Stop\": {}}}", "`hooks.Stop` is not a list");
    let other = b"{\"mcpServers\": {\"ralph-memory\": {\"command\": \"npx\"}}}";
    check("cursor", ".cursor/mcp.json", other, "`mcpServers.ralph-memory` is {\"command\": \"npx\"}");
    check("cursor", ".cursor/mcp.json", b"{} caf\xe9", "it is not UTF-8");
    check("codex", ".codex/config.toml", b"mcp_servers = { a = { command = \"b\" } }\n", "is written on one line");
    check("codex", ".codex/config.toml", b"a = \n", "on line 1");
    check("codex", "AGENTS.md", b"<!-- ralph-memory:end -->\n", "do not form one pair");
    check("codex", ".agents/skills/ralph-memory/SKILL.md", b"# Mine\n", "there is another file of this name");
    check("cursor", ".cursor/mcp.json", &vec![b' '; (4 << 20) + 1], "it has 4194305 bytes; the limit is 4194304");
    let base = TestBase::new();
    base.write(".cursor", "");
    refused(&base, "cursor", ".cursor/mcp.json", "a part of its path is not a folder");
}

#[test]
fn odd_files_are_refused() {
    let base = TestBase::new();
    base.write(".cursor/mcp.json", "{}");
    fs::set_permissions(base.at(".cursor/mcp.json"), fs::Permissions::from_mode(0o444)).unwrap();
    refused(&base, "cursor", ".cursor/mcp.json", "it is read-only");

    fs::remove_file(base.at(".cursor/mcp.json")).unwrap();
    mknodat(CWD, base.at(".cursor/mcp.json"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    refused(&base, "cursor", ".cursor/mcp.json", "it is not a regular file");

    let base = TestBase::new();
    fs::create_dir(base.home().parent().unwrap().join("elsewhere")).unwrap();
    symlink("../elsewhere", base.at(".cursor")).unwrap();
    refused(&base, "cursor", ".cursor/mcp.json", "a link in its path leads outside");
    base.write(".git/config", "[core]\n");
    symlink(".git/config", base.at("AGENTS.md")).unwrap();
    refused(&base, "codex", "AGENTS.md", "a link in its path leads into `.git`");
    assert_eq!(base.read(".git/config"), "[core]\n");
}

#[test]
fn a_link_inside_of_the_project_stays_a_link() {
    let base = TestBase::new();
    base.write("docs/agents.md", "# Rules\n");
    fs::set_permissions(base.at("docs/agents.md"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("docs/agents.md", base.at("AGENTS.md")).unwrap();
    setup(&base, &["agents-md"]).says(0, "edited   AGENTS.md");
    assert!(fs::symlink_metadata(base.at("AGENTS.md")).unwrap().is_symlink());
    assert!(base.read("docs/agents.md").starts_with("# Rules\n\n<!-- ralph-memory:begin -->\n"));
    assert_eq!(fs::metadata(base.at("docs/agents.md")).unwrap().permissions().mode() & 0o777, 0o640);
    setup(&base, &["agents-md", "--remove"]).says(0, "edited   AGENTS.md");
    assert_eq!(base.read("docs/agents.md"), "# Rules\n");
    assert!(fs::symlink_metadata(base.at("AGENTS.md")).unwrap().is_symlink());
}

#[test]
fn other_clients_are_set_up_beside_a_refused_one() {
    let base = TestBase::new();
    base.write(".cursor/mcp.json", "{");
    let ran = setup(&base, &["cursor", "codex"]);
    assert!(ran.stdout.contains("created  .codex/config.toml") && !ran.stdout.contains(".cursor"), "{ran}");
    ran.says(4, "error: .cursor/mcp.json: Cursor: not set up");
    assert_eq!(base.files(".cursor"), [".cursor/mcp.json"]);
    assert!(base.at("AGENTS.md").exists(), "both use it");
    let answer = setup(&base, &["cursor", "codex", "--json"]).json(4);
    assert_eq!((&answer["connected"], &answer["clients"]), (&Value::Bool(false), &serde_json::json!(["codex"])));
    assert_eq!(answer["problems"][0]["code"], "setup-refused");
}

#[test]
fn claude_code_is_connected_in_one_way() {
    let base = TestBase::new();
    setup(&base, &["claude", "--scope", "user"]).says(0, "next: Claude Code: restart it");
    setup(&base, &["claude"]).says(4, "connected already, as a plugin for every project");
    setup(&base, &["claude", "--check"]).says(0, "connected already, as a plugin");
    assert!(!base.at(".mcp.json").exists());
    setup(&base, &["claude", "--scope", "user", "--remove"]).says(0, "deleted");
    setup(&base, &["claude"]).tells(0, &["created  .mcp.json", PERMISSION], &[]);
    setup(&base, &["claude", "--scope", "user"]).says(4, "connected already, by these settings");
    assert_eq!(fs::read_dir(base.home()).unwrap().count(), 1, "the record alone");
    setup(&base, &["claude", "--remove"]).says(0, "deleted");
    let settings = base.home().join(".claude/settings.json");
    fs::create_dir(base.home().join(".claude")).unwrap();
    fs::write(settings, "{\"enabledPlugins\": {\"ralph-memory@ralph-memory\": true}}").unwrap();
    setup(&base, &["claude"]).says(4, "connected already, by the plugin `ralph-memory@ralph-memory`");
}

#[test]
fn a_file_that_several_clients_use_stays_until_the_last() {
    for has_record in [true, false] {
        let base = TestBase::new();
        base.write("AGENTS.md", "# Rules\n");
        let forget = || {
            if !has_record {
                forget(&base);
            }
        };
        setup(&base, &["codex", "cursor"]).says(0, "edited   AGENTS.md");
        forget();
        setup(&base, &["codex", "--remove"]).says(0, "deleted  .codex/config.toml");
        assert!(base.read("AGENTS.md").contains("ralph-memory:begin"), "{has_record}");
        assert!(base.at(".agents/skills/ralph-memory/SKILL.md").exists());
        setup(&base, &["cursor", "--check"]).says(0, "connected: Cursor");
        setup(&base, &["cursor", "--remove"]).says(0, "edited   AGENTS.md");
        assert_eq!(base.read("AGENTS.md"), "# Rules\n", "{has_record}");
        assert!(!base.at(".agents/skills/ralph-memory").exists(), "{has_record}");
    }
}

#[test]
fn a_removal_in_a_clone_leaves_no_empty_folder() {
    for &client in CLIENTS {
        let base = TestBase::new();
        if client == "opencode" {
            // opencode itself writes this file, and so do people: it stays.
            base.write("opencode.json", "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n");
        }
        let before = base.files("");
        // `init` creates empty folders, which no clone has.
        fs::remove_dir_all(base.at(".claude")).unwrap();
        fs::create_dir(base.at(".empty")).unwrap();
        let folders = || {
            let found = fs::read_dir(base.root()).unwrap().map(|found| found.unwrap().file_name());
            found.collect::<std::collections::BTreeSet<_>>()
        };
        let names = folders();
        assert_eq!(setup(&base, &[client]).code, Some(0), "{client}");
        // A clone has the files, and not the record.
        forget(&base);
        setup(&base, &[client, "--remove"]).says(0, "deleted");
        assert_eq!((base.files(""), folders()), (before, names), "{client}");
    }
    // Without anything of setup in it, an empty folder is somebody's own.
    let base = TestBase::new();
    fs::create_dir(base.at(".cursor")).unwrap();
    setup(&base, &["cursor", "--remove"]).says(0, "nothing to do");
    assert!(base.at(".cursor").is_dir());
}

#[test]
fn a_state_folder_that_was_there_stays_and_one_of_set_up_goes_with_the_last_record() {
    let base = TestBase::new();
    let state = base.home().join(".local/state/ralph-memory");
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    setup(&base, &["cursor"]).says(0, "created");
    setup(&base, &["cursor", "--remove"]).says(0, "deleted");
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    forget(&base);
    for (scopes, last) in [(["project", "user"], "user"), (["user", "project"], "project")] {
        for scope in scopes {
            setup(&base, &["cursor", "--scope", scope]).says(0, "created");
        }
        for scope in scopes {
            setup(&base, &["cursor", "--scope", scope, "--remove"]).says(0, "deleted");
            assert_eq!(base.home().join(".local").exists(), scope != last, "{scope}");
        }
    }
}

#[test]
fn the_trust_of_codex_is_mentioned_only_where_its_hooks_are_removed() {
    let base = TestBase::new();
    let trust = "keeps the trust that you gave";
    for client in ["codex", "cursor"] {
        setup(&base, &[client]).says(0, "created");
    }
    let cursor = setup(&base, &["cursor", "--remove"]);
    assert!(!cursor.stdout.contains(trust), "{cursor}");
    setup(&base, &["codex", "--remove"]).says(0, trust);
    // What Codex shares with others is not its own.
    base.write("AGENTS.md", "# Rules\n");
    setup(&base, &["agents-md"]).says(0, "edited   AGENTS.md");
    forget(&base);
    let all = setup(&base, &["--remove", "--yes"]);
    assert!(all.stdout.contains("edited   AGENTS.md") && !all.stdout.contains(trust), "{all}");
}

#[test]
fn without_a_home_the_path_in_a_message_is_the_usual_one() {
    let base = TestBase::new();
    for (client, path) in [("claude", "~/.claude/"), ("codex", "~/.codex/"), ("zed", "~/.config/zed/")] {
        let ran = with(&base, &[client, "--scope", "user"]).env("HOME", "home").run();
        assert!(ran.stderr.contains(path) && ran.stderr.contains("HOME is not set"), "{ran}");
        assert_eq!(ran.code, Some(4), "{ran}");
    }
}

/// The forms in which a person connects clients by hand: the client that reads the file, the file, and its text.
const BY_HAND: [(&str, &str, &str); 7] = [
    (
        "claude",
        ".mcp.json",
        r#"{"mcpServers":{"ralph-memory":{"type":"stdio","command":"ralph-memory","args":["mcp"],"env":{}}}}"#,
    ),
    (
        "codex",
        ".codex/config.toml",
        "[mcp_servers.ralph-memory]\ncommand = \"ralph-memory\"\nargs = [\"mcp\"]\nenabled = true\n",
    ),
    ("claude", ".claude/settings.json", r#"{"permissions":{"allow":["mcp__ralph-memory"]}}"#),
    (
        "gemini",
        ".gemini/settings.json",
        r#"{"hooks":{"SessionStart":[{"matcher":"startup","hooks":[
            {"type":"command","command":"ralph-memory hook session-start --agent gemini || exit 0","timeout":10000}]}]}}"#,
    ),
    ("opencode", "opencode.json", "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n"),
    ("cursor", ".cursor/hooks.json", "{\n  \"version\": 1\n}\n"),
    ("kiro", ".kiro/settings/mcp.json", r#"{"mcpServers":{"ralph-memory":{"command":"ralph-memory","args":["mcp"]}}}"#),
];

#[test]
fn what_a_person_wrote_by_hand_stays() {
    for (client, path, text) in BY_HAND {
        let base = TestBase::new();
        base.write(path, text);
        let before = base.files("");
        setup(&base, &[client]).says(0, "created");
        setup(&base, &[client, "--remove"]).says(0, "deleted");
        assert_eq!((base.read(path).as_str(), base.files("")), (text, before), "{client}");
        // Another client is set up, and everything is removed.
        setup(&base, &["amp"]).says(0, "created");
        setup(&base, &["--remove", "--yes"]).says(0, "deleted");
        assert_eq!(base.read(path), text, "{client}");
        // Somebody has changed the file between setup and removal.
        if text.starts_with('{') && !path.contains("jsonc") {
            setup(&base, &[client]).says(0, "created");
            base.write(path, base.read(path).replacen('{', "{\"later\": 1,", 1));
            setup(&base, &[client, "--remove"]).says(0, "deleted");
            let expected = text.replacen('{', "{\"later\": 1,", 1);
            let values = [base.read(path), expected].map(|text| serde_json::from_str::<Value>(&text).unwrap());
            assert_eq!(values[0], values[1], "{client}");
        }
    }
}

#[test]
fn without_a_record_only_what_set_up_writes_to_the_letter_is_removed() {
    for (client, path, text) in BY_HAND {
        let is_exact = text.contains("mcp__ralph-memory") || client == "kiro";
        let base = TestBase::new();
        base.write(path, text);
        let ran = setup(&base, &[client, "--remove"]);
        assert_eq!(base.at(path).exists() && base.read(path) == text, !is_exact, "{client}: {ran}");
        if !is_exact && text.contains("ralph-memory") {
            assert!(ran.stdout == "nothing to do\n" && ran.stderr.contains("setup did not write here"), "{ran}");
            ran.says(0, &format!("warning: {path}: "));
        } else if !is_exact {
            assert_eq!(ran.answer(0), "nothing to do: nothing of it is here\n");
        }
        // With setup's own entries beside it.
        base.write(path, text);
        setup(&base, &[client]).says(0, "created");
        forget(&base);
        setup(&base, &[client, "--remove"]).says(0, "deleted");
        if !is_exact && text.contains("ralph-memory") {
            let read = |text: String| serde_json::from_str::<Value>(&text).map_err(|_| text);
            assert_eq!(read(base.read(path)), read(text.to_owned()), "{client}");
        }
    }
}

#[test]
fn files_of_another_version_are_updated_in_a_clone() {
    let paths = [".claude/skills/ralph-memory/SKILL.md", ".opencode/plugins/ralph-memory.js"];
    let clone_of = |change: &dyn Fn(String) -> String| {
        let base = connected(&["claude", "opencode"]);
        forget(&base);
        let own = paths.map(|path| base.read(path));
        for (path, own) in paths.iter().zip(&own) {
            base.write(path, change(own.clone()));
        }
        (base, own)
    };
    // The checksum of a version is that of its own text.
    let seal = |text: String| {
        let at = text.find("Checksum: ").unwrap() + 10;
        let rest = format!("{}{}", &text[..at], &text[at + 16..]);
        format!("{}{:016x}{}", &text[..at], xxhash_rust::xxh3::xxh3_64(rest.as_bytes()), &text[at + 16..])
    };
    let (base, own) = clone_of(&|text| seal(text.replace("Whatever", "What").replace("Earlier", "Older")));
    setup(&base, &["claude", "--check"]).says(1, "lacks the current version");
    setup(&base, &["claude"]).says(0, "edited   .claude/skills/ralph-memory/SKILL.md");
    // A checksum does not say who wrote a program.
    setup(&base, &["opencode"]).says(4, "it is a program under the name of the plugin, with another text");
    fs::remove_file(base.at(paths[1])).unwrap();
    setup(&base, &["opencode"]).says(0, "created  .opencode/plugins/ralph-memory.js");
    assert_eq!(paths.map(|path| base.read(path)), own);
    setup(&base, &["claude", "opencode", "--remove"]).says(0, "deleted  .opencode/plugins/ralph-memory.js");

    let (base, _) = clone_of(&|text| text.replace('\n', "\r\n"));
    setup(&base, &["claude", "opencode", "--check"]).says(0, "connected: Claude Code, opencode");
    setup(&base, &["claude", "opencode", "--remove"]).says(0, "deleted  .opencode/plugins/ralph-memory.js");
    assert!(paths.iter().all(|path| !base.at(path).exists()));

    let (base, _) = clone_of(&|text| text.replace("Whatever", "What").replace("Earlier", "Older"));
    setup(&base, &["claude"]).says(0, "somebody has edited this file of ralph-memory");
    setup(&base, &["opencode"]).says(4, "it is a program under the name of the plugin, with another text");
}

#[test]
fn qwen_code_gets_the_briefing_with_the_first_prompt() {
    let base = connected(&["qwen", "--each-prompt"]);
    let settings: Value = serde_json::from_str(&base.read(".qwen/settings.json")).unwrap();
    let lines: Vec<&str> = settings["hooks"]["UserPromptSubmit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["hooks"][0]["command"].as_str().unwrap())
        .collect();
    let line = |event: &str| format!("ralph-memory hook {event} --agent qwen || exit 0");
    assert_eq!(lines, [line("session-start"), line("prompt")]);
    assert_eq!(settings["hooks"]["SessionStart"], Value::Null, "its text would be dropped");
    setup(&base, &["qwen", "--check"]).says(0, "connected: Qwen Code");
    setup(&base, &["qwen", "--remove"]).says(0, "deleted  .qwen/settings.json");
    base.run(["add", "Port", "--tags", "staging", "--body", "PostgreSQL listens on 5433."]).answer(0);
    let prompt = |name: &str| {
        let input = format!(r#"{{"session_id": "q-1", "hook_event_name": "UserPromptSubmit", "prompt": "{name}"}}"#);
        base.with(["hook", "session-start", "--agent", "qwen"]).input(&input).run().answer(0)
    };
    let first: Value = serde_json::from_str(&prompt("Hi")).unwrap();
    assert_eq!(first["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
    assert!(first["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("5433"), "{first}");
    assert_eq!(prompt("And then?"), "");
}

#[test]
fn a_client_of_which_files_are_gone_is_checked_without_its_name() {
    let base = TestBase::new();
    for scope in ["project", "user"] {
        let has_files = |client: &&str| scope == "project" || !["vscode", "agents-md", "claude"].contains(client);
        let clients: Vec<&str> = CLIENTS.iter().copied().filter(has_files).collect();
        setup(&base, &[&clients[..], &["--scope", scope]].concat()).says(0, "created");
        let all = setup(&base, &["--check", "--scope", scope]).answer(0);
        let connected = all.lines().find_map(|line| line.strip_prefix("connected: ")).unwrap();
        assert_eq!(connected.split(", ").count(), clients.len(), "{all}");
    }
    fs::remove_file(base.at(".github/mcp.json")).unwrap();
    setup(&base, &["--check"]).says(1, ".github/mcp.json lacks the server (Copilot CLI)");
    // A clone has no record.
    forget(&base);
    setup(&base, &["--check"]).says(1, ".github/mcp.json lacks the server (Copilot CLI)");
}

#[test]
fn what_is_switched_off_is_not_connected() {
    let check = |client: &str, scope: &str, path: &str, from: &str, to: &str| {
        let base = connected(&[client, "--scope", scope]);
        let full = if scope == "user" { base.home().join(path) } else { base.at(path) };
        let text = fs::read_to_string(&full).unwrap();
        assert!(text.contains(from), "{text}");
        let off = text.replacen(from, to, 1);
        fs::write(&full, &off).unwrap();
        let ran = setup(&base, &[client, "--scope", scope, "--check"]);
        assert!(!ran.stdout.contains("connected") && ran.stderr.contains(path), "{ran}");
        ran.says(1, "it is switched off");
        let again = setup(&base, &[client, "--scope", scope]);
        assert_eq!(again.stdout, "nothing to do\n");
        assert_eq!(fs::read_to_string(&full).unwrap(), off, "it is left to the person");
        let checked = with_program(&base, &["check"]).run();
        assert!(checked.stdout.contains("is switched off") || checked.stderr.contains("is switched off"), "{checked}");
    };
    let args = "\"args\": [\"mcp\"]";
    check("opencode", "project", "opencode.json", "\"enabled\": true", "\"enabled\": false");
    check("codex", "project", ".codex/config.toml", "args = ", "enabled = false\nargs = ");
    check("goose", "user", ".config/goose/config.yaml", "enabled: true", "enabled: false");
    check("devin", "project", ".devin/mcp_config.json", args, &format!("\"disabled\": true,\n{args}"));
    check("kiro", "project", ".kiro/hooks/ralph-memory.json", "\"enabled\": true", "\"enabled\": false");
    let base = connected(&["claude"]);
    base.write(".claude/settings.local.json", r#"{"disabledMcpjsonServers": ["ralph-memory"]}"#);
    setup(&base, &["claude", "--check"]).says(1, "`disabledMcpjsonServers` names the server");
    base.write(".claude/settings.local.json", r#"{"disableAllHooks": true}"#);
    setup(&base, &["claude", "--check"]).says(1, "`disableAllHooks` is set");
}

#[test]
fn hooks_of_codex_that_nobody_trusted_are_told() {
    for scope in ["project", "user"] {
        let base = TestBase::new();
        setup(&base, &["codex", "--scope", scope]).says(0, "run `/hooks` and trust");
        let said = || with_program(&base, &["check"]).run().to_string();
        let folder = if scope == "user" { base.home().join(".codex") } else { base.at(".codex") };
        if scope == "project" {
            // On a machine without Codex, nobody can trust them.
            assert!(!said().contains("nobody has trusted"), "{}", said());
            fs::create_dir(base.home().join(".codex")).unwrap();
        }
        let told = said();
        assert!(told.contains("nobody has trusted the hooks in ") && told.contains("then run `/hooks`"), "{told}");
        assert!(told.contains("(SessionStart, Stop, SessionEnd, PostToolUse)"), "{told}");
        // Codex writes this when a person trusts them.
        let hooks = folder.canonicalize().unwrap().join("hooks.json").display().to_string();
        let config = base.home().join(".codex/config.toml");
        fs::create_dir_all(config.parent().unwrap()).unwrap();
        let before = fs::read_to_string(&config).unwrap_or_default();
        let trust = |event: &str| format!("\n[hooks.state.\"{hooks}:{event}:0:0\"]\ntrusted_hash = \"sha256:0a\"\n");
        fs::write(&config, format!("{before}{}{}", trust("session_start"), trust("session_end"))).unwrap();
        assert!(said().contains("hooks.json (Stop, PostToolUse), so it skips them"), "{}", said());
        fs::write(
            &config,
            ["session_start", "stop", "session_end", "post_tool_use"]
                .map(trust)
                .into_iter()
                .fold(before, |all, one| all + &one),
        )
        .unwrap();
        assert!(!said().contains("nobody has trusted"), "{}", said());
    }
}

#[test]
fn a_program_of_another_name_is_not_written_into_a_home() {
    let base = TestBase::new();
    let place = base.home().parent().unwrap().to_owned();
    let other = place.join("rm-1");
    fs::copy(PROGRAM, &other).unwrap();
    let run = |arguments: &[&str]| {
        run_by(Command::new(&other), &base.with([&["setup"], arguments].concat()).env("PATH", "/nowhere").command())
    };
    for client in ["claude", "codex", "opencode", "cursor", "goose"] {
        let (code, stderr) = run(&[client, "--scope", "user"]);
        assert!(code == Some(2) && stderr.contains("it is called `rm-1`"), "{client}: {code:?}: {stderr}");
        assert!(stderr.contains("install it as `ralph-memory`"), "{stderr}");
    }
    assert_eq!(fs::read_dir(base.home()).unwrap().count(), 0);
    let (code, stderr) = run(&["codex"]);
    assert!(code == Some(0) && stderr.contains("a shell does not find `ralph-memory`"), "{code:?}: {stderr}");
    assert_eq!(run(&["codex", "--remove"]).0, Some(0));
    assert!(!base.at(".codex").exists());
}

#[test]
fn hooks_of_claude_code_are_named_where_they_are() {
    let base = TestBase::new();
    let settings = base.home().join(".claude/settings.json");
    fs::create_dir(settings.parent().unwrap()).unwrap();
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"ralph-memory hook stop || exit 0"}]}]}}"#;
    fs::write(&settings, text).unwrap();
    let ran = setup(&base, &["claude", "--scope", "user"]);
    assert!(ran.stderr.starts_with(&format!("error: {}: ", settings.display())), "{ran}");
    assert!(ran.stderr.contains("in the folder above `.claude`, or by hand"), "{ran}");
    ran.says(4, "connected already, by these settings");
    let ran = setup(&base, &["claude"]);
    assert!(ran.stderr.contains(settings.to_str().unwrap()), "{ran}");
    ran.says(0, "these settings have the hooks for every project");
    setup(&base, &["claude", "--check"]).says(0, "connected: Claude Code");
    // The other way round, they are those of the project.
    fs::remove_file(&settings).unwrap();
    let ran = setup(&base, &["claude", "--scope", "user"]);
    assert!(ran.stderr.starts_with("error: .claude/settings.json: "), "{ran}");
    ran.says(4, "`ralph-memory setup claude --remove` in this folder");
}

#[test]
fn temporary_files_of_a_killed_set_up_are_removed() {
    let base = TestBase::new();
    let state = base.home().join(".local/state/ralph-memory");
    // No process has the first number, and every machine has a process of the second.
    let dead = ".tmp-4194999-0123456789abcdef";
    let kept = [".tmp-1-0123456789abcdef", ".tmp-notes", ".tmp-4194999-x"];
    let leave = |folders: &[&Path]| {
        for folder in folders {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(dead), "half").unwrap();
        }
    };
    let cursor = base.at(".cursor");
    setup(&base, &["cursor"]).says(0, "created");
    leave(&[&cursor, &state]);
    for name in kept {
        fs::write(cursor.join(name), "").unwrap();
    }
    setup(&base, &["cursor", "codex"]).says(0, "created");
    assert!(!cursor.join(dead).exists() && !state.join(dead).exists());
    assert!(kept.iter().all(|name| cursor.join(name).exists()));
    for name in kept {
        fs::remove_file(cursor.join(name)).unwrap();
    }
    // Killed before its first file had its name.
    leave(&[&cursor, &state]);
    for path in ["mcp.json", "hooks.json"] {
        fs::remove_file(cursor.join(path)).unwrap();
    }
    setup(&base, &["--remove", "--yes"]).says(0, "deleted");
    assert!(!cursor.exists());
    assert_eq!(fs::read_dir(base.home()).unwrap().count(), 0);
}

/// A setup of this project, as a program with this home makes it.
pub(crate) fn of_library(base: &TestBase) -> Setup {
    let home = base.home().as_os_str().to_owned();
    let variable = move |name: &str| (name == "HOME").then(|| home.clone());
    Setup::new(&base.root(), Path::new("/usr/bin/ralph-memory"), StateFolders::of_user(&variable), &variable)
}

#[test]
fn of_two_set_ups_at_once_both_are_in_the_record() {
    let base = TestBase::new();
    base.write("AGENTS.md", "# Rules\n");
    let set_up = of_library(&base);
    let plan = |client| set_up.plan(&[client], SetupScope::Project, SetupOptions::default()).unwrap();
    set_up.apply(plan(SetupClient::AgentsMd)).unwrap();
    let before = fs::read_to_string(base.at("AGENTS.md")).unwrap();
    // All are planned before one is written, and two of them use the block that is there.
    let plans = [SetupClient::Zed, SetupClient::Gemini, SetupClient::Qwen].map(plan);
    for plan in plans {
        set_up.apply(plan).unwrap();
    }
    let remove = |client| {
        set_up.apply(set_up.plan_removal(&[client], SetupScope::Project).unwrap()).unwrap();
    };
    for client in [SetupClient::AgentsMd, SetupClient::Gemini, SetupClient::Qwen] {
        remove(client);
    }
    assert_eq!(base.read("AGENTS.md"), before, "Zed uses it");
    remove(SetupClient::Zed);
    assert_eq!(base.read("AGENTS.md"), "# Rules\n");
    let left = base.files("");
    assert!(left.iter().all(|path| path.starts_with(".ralph/") || path == "AGENTS.md"), "{left:?}");
    assert_eq!(fs::read_dir(base.home()).unwrap().count(), 0, "the record is gone");
}

#[test]
fn a_set_up_waits_for_another_one() {
    let base = TestBase::new();
    let set_up = of_library(&base);
    let plan = || set_up.plan(&[SetupClient::Cursor], SetupScope::Project, SetupOptions::default()).unwrap();
    let folder = fs::File::open(base.root()).unwrap();
    folder.lock().unwrap();
    assert!(matches!(set_up.apply(plan()), Err(Error::Locked { .. })));
    assert!(!base.at(".cursor").exists(), "nothing is written");
    folder.unlock().unwrap();
    set_up.apply(plan()).unwrap();
    assert!(base.at(".cursor/mcp.json").exists());
}

#[test]
fn what_a_person_edited_is_reported_and_left() {
    let base = connected(&["codex"]);
    let skill = format!("{}More.\n", base.read(".agents/skills/ralph-memory/SKILL.md"));
    base.write(".agents/skills/ralph-memory/SKILL.md", &skill);
    setup(&base, &["codex"]).says(0, "somebody has edited this file of ralph-memory");
    setup(&base, &["codex", "--remove"]).says(0, "somebody has edited this file of ralph-memory");
    assert_eq!(base.read(".agents/skills/ralph-memory/SKILL.md"), skill);
}

#[test]
fn instructions_of_another_version_are_updated() {
    let base = TestBase::new();
    base.write("GEMINI.md", "# Rules");
    setup(&base, &["gemini"]).says(0, "edited   GEMINI.md");
    let current = base.read("GEMINI.md");
    base.write("GEMINI.md", current.replace("Before a task", "First"));
    setup(&base, &["gemini", "--check"]).says(1, "GEMINI.md lacks the current instructions (Gemini CLI)");
    setup(&base, &["gemini"]).says(0, "edited   GEMINI.md");
    assert_eq!(base.read("GEMINI.md"), current);
    setup(&base, &["gemini", "--remove"]).says(0, "edited   GEMINI.md");
    assert_eq!(base.read("GEMINI.md").trim_end(), "# Rules");
}

/// Seen in 0.1.0: they were in `AGENTS.md`, which some versions of Claude Code never read, and others only where no file of
/// its own is beside it. It reads its rules in any case, also in a session that is started in a subfolder.
#[test]
fn claude_code_reads_its_instructions_whatever_is_beside_them() {
    const RULES: &str = ".claude/rules/ralph-memory.md";
    let check = |path: &str, text: &str| {
        let base = TestBase::new();
        base.write(path, text);
        let before = base.files("");
        setup(&base, &["claude"]).says(0, &format!("created  {RULES}"));
        let written = base.read(RULES);
        assert!(written.starts_with("<!-- ralph-memory:begin -->\n") && written.contains("build_context"), "{written}");
        assert_eq!(base.read(path), text);
        setup(&base, &["claude", "--check"]).says(0, "connected: Claude Code");
        fs::remove_file(base.at(RULES)).unwrap();
        setup(&base, &["claude", "--check"]).says(1, &format!("{RULES} lacks the instructions (Claude Code)"));
        setup(&base, &["claude"]).says(0, &format!("created  {RULES}"));
        // A clone has no record.
        forget(&base);
        setup(&base, &["claude", "--remove"]).says(0, &format!("deleted  {RULES}"));
        assert_eq!(base.files(""), before, "{path}");
        assert!(!base.at(".claude/rules").exists(), "{path}");
    };
    check("AGENTS.md", "# Rules\n");
    check("CLAUDE.md", "# Rules\n");
    check("CLAUDE.md", "@AGENTS.md\n");
    check("CLAUDE.local.md", "# Mine\n");
    check(".claude/CLAUDE.md", "# Rules\n");
    check("README.md", "# A project\n");

    let base = connected(&["claude"]);
    base.write(RULES, format!("{}\n# Ours\n\nUse tabs.\n", base.read(RULES)));
    setup(&base, &["claude", "--check"]).says(0, "connected: Claude Code");
    base.run(["import", "rules"]).says(0, "1 added");
    let entries = base.files(".ralph/knowledge");
    let texts: String = entries.iter().map(|path| base.read(path)).collect();
    assert!(texts.contains("Use tabs.") && !texts.contains("build_context"), "{texts}");
    setup(&base, &["claude", "--remove"]).says(0, &format!("edited   {RULES}"));
    assert_eq!(base.read(RULES), "\n# Ours\n\nUse tabs.\n");
}

/// Seen in 0.1.0: a client that was installed and never set up made the check fail.
#[test]
fn a_check_without_names_looks_at_what_was_set_up() {
    let base = TestBase::new();
    setup(&base, &["--check"]).says(1, "no client is found here");
    base.write(".cursor/rules/api.mdc", "Rule.\n");
    fs::create_dir(base.home().join(".codex")).unwrap();
    let ran = setup(&base, &["--check"]);
    assert_eq!(ran.stdout, "", "{ran}");
    ran.says(1, "nothing is set up here; `ralph-memory setup` connects Codex, Cursor");
    assert_eq!(setup(&base, &["--check", "--json"]).json(1)["clients"], serde_json::json!([]));
    setup(&base, &["--check", "--scope", "user"]).says(1, "`ralph-memory setup --scope user` connects Codex");
    setup(&base, &["cursor"]).says(0, "created");
    setup(&base, &["--check"]).says(0, "connected: Cursor");
    // In a clone, what is exactly setup's says so.
    forget(&base);
    setup(&base, &["--check"]).says(0, "connected: Cursor");
    fs::remove_file(base.at(".cursor/hooks.json")).unwrap();
    setup(&base, &["--check"]).says(1, ".cursor/hooks.json lacks the hook `session-start`");

    let base = connected(&["agents-md"]);
    forget(&base);
    setup(&base, &["--check"]).says(0, "connected: AGENTS.md");

    let base = connected(&["codex", "--scope", "user"]);
    let elsewhere = "`ralph-memory setup --check --scope user` checks what is set up for every project: Codex";
    setup(&base, &["--check"]).says(1, elsewhere);
    setup(&base, &["--check", "--scope", "user"]).says(0, "connected: Codex");
}

/// Seen in 0.1.0: where `XDG_CONFIG_HOME` did not exist yet, setup refused all clients that have files there.
#[test]
fn the_users_folders_are_where_the_environment_says() {
    let base = TestBase::without_memory();
    let place = base.home().parent().unwrap().to_owned();
    let run = |arguments: &[&str]| {
        with(&base, arguments)
            .env("CLAUDE_CONFIG_DIR", place.join("claude"))
            .env("CODEX_HOME", place.join("codex"))
            .env("XDG_CONFIG_HOME", place.join("new/config"))
            .run()
    };
    let clients = ["claude", "codex", "zed", "--scope", "user"];
    for is_there in [false, true] {
        let folders = ["claude", "codex", "new/config"];
        for folder in folders.iter().filter(|_| is_there) {
            fs::create_dir_all(place.join(folder)).unwrap();
        }
        let shown = run(&[&clients[..], &["--dry-run"]].concat());
        assert_eq!(place.join("codex").exists(), is_there, "a dry run writes nothing: {shown}");
        run(&clients).says(0, "created");
        for path in ["claude/skills/ralph-memory/.mcp.json", "codex/config.toml", "new/config/zed/settings.json"] {
            assert!(place.join(path).exists(), "{path}");
        }
        run(&clients).says(0, "nothing to do: connected");
        run(&[&clients[..], &["--check"]].concat()).says(0, "connected: Claude Code, Codex, Zed");
        run(&[&clients[..], &["--remove"]].concat()).says(0, "deleted");
        for folder in folders {
            let left = fs::read_dir(place.join(folder)).map(Iterator::count).ok();
            assert_eq!(left, is_there.then_some(0), "{folder}");
        }
        assert_eq!(place.join("new").exists(), is_there, "all that was made is gone");
    }
    fs::write(place.join("file"), "").unwrap();
    symlink("gone", place.join("dangling")).unwrap();
    for (folder, reason) in [("file/codex", "cannot be used"), ("dangling", "cannot be used")] {
        let arguments = ["codex", "--scope", "user"];
        with(&base, &arguments).env("CODEX_HOME", place.join(folder)).run().says(4, reason);
    }
    // A home is never made.
    let homeless = place.join("nobody");
    with(&base, &["codex", "--scope", "user"]).env("HOME", &homeless).run().says(4, "cannot be used");
    assert!(!homeless.exists());
}

#[test]
fn a_program_that_no_shell_finds_is_named_by_its_path() {
    let base = TestBase::new();
    base.run(["setup", "cursor", "--scope", "user"]).says(0, "warning: ");
    let written: Value = serde_json::from_slice(&fs::read(base.home().join(".cursor/mcp.json")).unwrap()).unwrap();
    assert_eq!(written["mcpServers"]["ralph-memory"]["command"], PROGRAM);
    let hooks = fs::read_to_string(base.home().join(".cursor/hooks.json")).unwrap();
    assert!(hooks.contains(&format!("\"{PROGRAM} hook stop || exit 0\"")), "{hooks}");
    base.run(["setup", "cursor"]).says(0, "a shell does not find `ralph-memory`");
    let text = base.read(".cursor/mcp.json");
    assert!(text.contains("\"command\": \"ralph-memory\""), "{text}");
    let path = base.home().join(".cursor/mcp.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text.replace(PROGRAM, "/gone/ralph-memory")).unwrap();
    let check = ["cursor", "--scope", "user", "--check"];
    setup(&base, &check).says(1, "it runs `/gone/ralph-memory`, which does not exist");
}

/// Runs `setup` where no file may get larger than this, in units of 512 bytes.
fn with_limit(base: &TestBase, limit: u32, arguments: &[&str]) -> (Option<i32>, String) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("ulimit -f {limit} && exec \"$0\" \"$@\""), PROGRAM]);
    run_by(shell, &with(base, arguments).command())
}

/// Runs another program with the arguments, the folder and the environment of a command.
fn run_by(mut program: Command, like: &Command) -> (Option<i32>, String) {
    program.args(like.get_args()).current_dir(like.get_current_dir().unwrap()).env_clear();
    let ran = program.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?)))).output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

#[test]
fn a_failed_write_names_what_was_written() {
    let base = TestBase::new();
    let long = "A rule.\n".repeat(100_000);
    base.write("AGENTS.md", &long);
    let before = base.files("");
    // Not even the record can be written.
    let (code, stderr) = with_limit(&base, 0, &["codex"]);
    assert!(code == Some(6) && stderr.starts_with("error: cannot write `"), "{code:?}: {stderr}");
    assert_eq!(base.files(""), before);
    // The record can, and the files before the large one.
    let (code, stderr) = with_limit(&base, 200, &["codex"]);
    let expected = "error: setup stopped half-way; it has written `.agents/skills/ralph-memory/SKILL.md`, \
                    `.codex/config.toml`, `.codex/hooks.json`\n";
    assert!(code == Some(6) && stderr.starts_with(expected), "{code:?}: {stderr}");
    assert!(stderr.contains("the same command completes it, and with `--remove` it undoes it"), "{stderr}");
    assert_eq!(base.read("AGENTS.md"), long);
    setup(&base, &["codex"]).says(0, "edited   AGENTS.md");
    setup(&base, &["codex", "--remove"]).says(0, "edited   AGENTS.md");
    assert_eq!((base.files(""), base.read("AGENTS.md")), (before, long));
    assert_eq!(fs::read_dir(base.home()).unwrap().count(), 0);
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let answer = |answers: &[(&str, &str)]| {
        let base = TestBase::new();
        base.write(".claude/settings.json", "{}\n");
        let mut terminal = Terminal::start(with(&base, &[]).command());
        for (question, answer) in answers {
            terminal.wait_for(question);
            terminal.type_in(answer);
        }
        let ended = terminal.ended();
        (ended.code(), base.read(".claude/settings.json"))
    };
    let (tools, changes) = ("without asking each time? [y/N]", "Make these changes? [y/N]");
    assert_eq!(answer(&[(tools, "\n"), (changes, "\n")]), (Some(1), "{}\n".to_owned()));
    let (code, settings) = answer(&[(tools, "y\n"), (changes, "y\n")]);
    assert!(code == Some(0) && settings.contains("\"mcp__ralph-memory\""), "{settings}");
    let (code, settings) = answer(&[(tools, "n\n"), (changes, "yes\n")]);
    assert!(code == Some(0) && settings.contains("hook stop") && !settings.contains("permissions"), "{settings}");
}

#[test]
fn check_and_init_name_the_clients() {
    let base = TestBase::without_memory();
    base.write(".cursor/rules.txt", "");
    base.run(["init"]).says(0, "next: `ralph-memory setup` connects it to Cursor");
    base.run(["check"]).says(0, "notice[client]: Cursor: not connected");
    setup(&base, &["cursor", "claude"]).says(0, "created");
    base.run(["check"]).says(0, "it runs `ralph-memory`, which is not found");
    let check = || with_program(&base, &["check"]).run();
    check().says(0, "ok       client       Cursor: connected by .cursor/mcp.json");
    let settings = base.read(".claude/settings.json");
    base.write(".claude/settings.json", settings.replacen('{', "{\"disableAllHooks\": true,", 1));
    check().says(0, "`disableAllHooks` is set");
}

#[test]
fn the_hook_at_calls_of_tools_is_left_out_on_request() {
    for client in ["claude", "codex", "opencode", "cursor", "copilot", "vscode", "gemini"] {
        // VS Code has no files of the user.
        for scope in ["project", "user"].into_iter().filter(|scope| client != "vscode" || *scope == "project") {
            let base = TestBase::new();
            let run =
                |more: &[&str]| with_program(&base, &[&["setup", client, "--scope", scope][..], more].concat()).run();
            let has_it = || {
                let files = [base.root(), base.home()].map(|folder| crate::program::walk(&folder, &|_| true)).concat();
                let texts = files
                    .iter()
                    .filter(|path| !path.starts_with(base.at(".ralph")))
                    .filter_map(|path| fs::read(path).ok());
                let named = [&b"hook tool"[..], b"hook(\"tool\""];
                texts
                    .into_iter()
                    .any(|text| named.iter().any(|name| text.windows(name.len()).any(|part| part == *name)))
            };
            assert_eq!(run(&["--yes", "--no-tool-hook"]).code, Some(0), "{client}, {scope}");
            assert!(!has_it(), "{client}, {scope}");
            run(&["--check", "--no-tool-hook"]).says(0, "connected");
            assert_eq!(run(&["--check"]).code, Some(1), "{client}, {scope}");
            assert_eq!(run(&["--yes"]).code, Some(0), "{client}, {scope}");
            assert!(has_it(), "{client}, {scope}");
            run(&["--check"]).says(0, "connected");
        }
    }
}

/// Nothing of the program stays in a clone but what is named, with how to remove it.
#[test]
fn a_person_leaves_with_everything_or_reads_what_stays() {
    let base = TestBase::without_memory();
    let path = format!("{}:{}", base.home().parent().unwrap().join("bin").display(), std::env::var("PATH").unwrap());
    let run = |arguments: &[&str]| with_program(&base, arguments).env("PATH", &path).run();
    crate::support::git(&base, &["init", "--quiet"]);
    run(&["init", "--private", "--here"]).says(0, "created");
    run(&["add", "Ports", "--tags", "ci", "--body", "5433."]).says(0, "created");
    run(&["record", "--task", "T", "--outcome", "failed"]).says(0, "recorded");
    run(&["check", "--register-merge-driver"]).says(0, "registered");
    run(&["setup", "claude", "--scope", "user"]).says(0, "created");
    run(&["setup", "cursor", "--scope", "project"]).says(0, "created");
    base.write("../home/.config/ralph-memory/config.toml", "");
    assert!(base.read(".git/config").contains("ralph-memory") && base.at(".git/ralph-memory").exists());

    // Neither a rehearsal nor a call that is not confirmed changes anything.
    run(&["setup", "--remove", "--all", "--scope", "project"])
        .says(1, "nothing was changed; `--yes` makes these changes");
    let leave = ["setup", "--remove", "--all", "--yes", "--scope", "project"];
    let rehearsed = run(&[&leave[..], &["--dry-run"]].concat());
    let would = ["would remove `", "would remove the merge driver from the configuration of git"];
    rehearsed.tells(0, &["stays: the memory, 2 entries; `rm -r "], &would);
    assert!(base.read(".git/config").contains("ralph-memory") && base.at(".git/ralph-memory").exists());

    let left = run(&leave);
    left.tells(
        0,
        &[
            "deleted  .cursor",
            "stays: the memory, 2 entries; `rm -r ",
            "stays: the connections of every project to Claude Code; `ralph-memory setup --remove --scope user` removes",
            "stays: your settings; `rm -r ",
            "stays: your key, and attempts that could not be recorded, of all projects; `rm -r ",
            "stays: the program, `",
        ],
        &["/.git/ralph-memory/", "removed the merge driver from the configuration of git"],
    );
    assert!(!base.read(".git/config").contains("ralph-memory") && !base.at(".git/ralph-memory").exists());
    assert!(!base.at(".cursor").exists() && !base.at("AGENTS.md").exists());
    run(&["search", "ports"]).says(0, "knowledge/ports");
    // What is said works, and then nothing is left.
    run(&["check", "--register-merge-driver"]).says(0, "registered");
    run(&["setup", "--remove", "--all", "--scope", "user", "--yes"]).says(0, "deleted");
    assert!(base.read(".git/config").contains("ralph-memory"), "it is this project's");
    let left = run(&leave);
    assert!(left.stderr.contains("removed the merge driver") && !left.stdout.contains("nothing to do"), "{left}");
    let left = run(&leave);
    assert!(!left.stdout.contains("connections") && !left.stderr.contains("removed"), "{left}");
    let said = run(&[&leave[..], &["--json"]].concat()).json(0);
    assert_eq!(said["remaining"][0]["what"], "the memory, 2 entries");
}
