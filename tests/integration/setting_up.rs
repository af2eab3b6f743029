//! `setup` from end to end: what each client gets, what is refused, and that nothing of others is lost.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use ralph_memory::setup::{Setup, SetupClient, SetupOptions, SetupScope};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::pty::Terminal;
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
fn the_integrations_are_what_set_up_writes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let base = TestBase::without_memory();
    setup(&base, &["claude", "opencode", "--scope", "user"]).says(0, "next: Claude Code");
    let plugin = base.home().join(".claude/skills/ralph-memory");
    for path in [".claude-plugin/plugin.json", ".mcp.json", "hooks/hooks.json", "skills/ralph-memory/SKILL.md"] {
        let written = fs::read_to_string(plugin.join(path)).unwrap();
        // A version in the manifest would make each version another file.
        let version = format!("  \"version\": \"{}\",\n", env!("CARGO_PKG_VERSION"));
        let own = fs::read_to_string(root.join("integrations/claude").join(path)).unwrap();
        assert_eq!(written, own.replace(&version, ""), "{path}");
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
    .claude/rules/ralph-memory.md lacks the block of instructions (Claude Code)
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
    setup(&base, &["--remove", "--yes"]).says(0, "deleted  .cursor/mcp.json");
    assert!(!base.at(".cursor").exists());
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
    ran.says(4, "error: .cursor/mcp.json: Cursor: this file cannot be edited");
    assert_eq!(base.files(".cursor"), [".cursor/mcp.json"]);
    assert!(base.at("AGENTS.md").exists(), "both use it");
    let answer = setup(&base, &["cursor", "codex", "--json"]).json(4);
    assert_eq!((&answer["connected"], &answer["clients"]), (&Value::Bool(false), &serde_json::json!(["codex"])));
    assert_eq!(answer["problems"][0]["code"], "setup-refused");
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
    check("devin", "project", ".devin/mcp_config.json", args, &format!("\"disabled\": true,\n{args}"));
    let base = connected(&["claude"]);
    base.write(".claude/settings.local.json", r#"{"disabledMcpjsonServers": ["ralph-memory"]}"#);
    setup(&base, &["claude", "--check"]).says(1, "`disabledMcpjsonServers` names the server");
    base.write(".claude/settings.local.json", r#"{"disableAllHooks": true}"#);
    setup(&base, &["claude", "--check"]).says(1, "`disableAllHooks` is set");
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
    for client in ["claude", "codex", "opencode", "cursor", "zed"] {
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
            assert_eq!(fs::read_dir(place.join(folder)).unwrap().count(), 0, "{folder}");
            fs::remove_dir(place.join(folder)).unwrap();
        }
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
    let (code, stderr) = with_limit(&base, 0, &["codex"]);
    assert!(code == Some(6) && stderr.starts_with("error: cannot create `"), "{code:?}: {stderr}");
    assert_eq!(base.files(""), before);
    let (code, stderr) = with_limit(&base, 200, &["codex"]);
    let expected = "error: setup stopped half-way; it has written `.agents/skills/ralph-memory/SKILL.md`, \
                    `.codex/config.toml`, `.codex/hooks.json`\n";
    assert!(code == Some(6) && stderr.starts_with(expected), "{code:?}: {stderr}");
    assert!(stderr.contains("the same command completes it, and with `--remove` it undoes it"), "{stderr}");
    assert_eq!(base.read("AGENTS.md"), long);
    setup(&base, &["codex"]).says(0, "edited   AGENTS.md");
    setup(&base, &["codex", "--remove"]).says(0, "edited   AGENTS.md");
    assert_eq!((base.files(""), base.read("AGENTS.md")), (before, long));
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
            // After a full setup, and without one.
            for was_full in [true, false] {
                assert_eq!(run(&["--yes", "--no-tool-hook"]).code, Some(0), "{client}, {scope}");
                run(&["--remove"]).says(0, "deleted");
                assert!(!has_it(), "{client}, {scope}");
                let left = crate::program::walk(&base.home(), &|_| true);
                let others = base.files("").into_iter().filter(|file| !file.starts_with(".ralph/"));
                assert!(left.is_empty() && others.count() == 0, "{client}, {scope}, {was_full}");
            }
        }
    }
}

/// Files of others, each with the client whose setup edits it, the file, its text, and what a removal leaves where that is
/// not the same text.
#[rustfmt::skip]
const FORMS: &[(&str, &str, &str, Option<&str>)] = &[
    ("cursor", ".cursor/mcp.json", "{}", Some("{\n}")),
    ("cursor", ".cursor/mcp.json", "{ }\n", Some("{\n }\n")),
    ("cursor", ".cursor/mcp.json", "\n\n", Some("\n\n{\n}\n")),
    ("cursor", ".cursor/mcp.json", "// nothing yet\n", Some("// nothing yet\n{\n}\n")),
    ("cursor", ".cursor/mcp.json", "{\n}\n", Some("gone")),
    ("claude", ".claude/settings.json", "{\n  \"$schema\": \"https://json.schemastore.org/claude-code-settings.json\"\n}\n", None),
    ("opencode", "opencode.json", "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n", Some("gone")),
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
    ("cursor", ".cursor/mcp.json", "{\"mcp\\u0053ervers\": {\"a\": {\"command\": \"b\"}}}\n", None),
    ("cursor", ".cursor/mcp.json", "{\"mcpServers\": {\"a\": {} /* one */, \"b\": {} /* two */}} // the end", None),
    ("cursor", ".cursor/mcp.json", "{\n  \"a\": 1 /* mine */,\n\n  // the end\n}\n\n/* really */\n", None),
    ("cursor", ".cursor/mcp.json", "{\r\n  \"a\": 1,\n  \"mcpServers\": {\n    \"a\": {}\r\n  }\n}", None),
    ("cursor", ".cursor/hooks.json", "{\"version\": 1}\n", None),
    ("cursor", ".cursor/hooks.json", "{\n  \"hooks\": {\n    \"stop\": [\n      1\n    ]\n  },\n  \"version\": 1\n}\n", None),
    ("cursor", ".cursor/hooks.json", "{\"version\": 1, \"hooks\": {\"stop\": [[1], [2, [3]]], \"x\": [[]]}}", None),
    ("zed", ".config/zed/settings.json", "// Zed settings\n//\n{\n  \"ui_font_size\": 16,\n  \"theme\": {\n    \"mode\": \"system\",\n  },\n}\n", None),
    ("claude", ".claude/settings.json", "{\"hooks\": {\"Stop\": []}, \"permissions\": {\"allow\": [\"Bash(ls)\"]}}\n", Some("{\"permissions\": {\"allow\": [\"Bash(ls)\"]}}\n")),
    ("claude", ".claude/settings.json", "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"tidy\"}]}\n    ]\n  }\n}\n", None),
    ("devin", ".devin/hooks.v1.json", "{\"Stop\": [{\"hooks\": []}]}", None),
    ("amp", ".amp/settings.json", "{\"amp.mcpServers\": {}, \"amp.notifications\": true}", Some("{\"amp.notifications\": true}")),
    ("gemini", ".gemini/settings.json", "{\n\n  \"theme\": \"x\"\n\n}\n\n", None),
    ("opencode", "opencode.jsonc", "{\n  // mine\n  \"mcp\": {\n  }\n}\n", Some("{\n  // mine\n}\n")),
    ("codex", ".codex/config.toml", "", Some("gone")),
    ("codex", ".codex/config.toml", "model = \"x\"", None),
    ("codex", ".codex/config.toml", "model = \"x\"\n\n\n", None),
    ("codex", ".codex/config.toml", "# mine\r\n[mcp_servers]\r\n[mcp_servers.a] # b\r\ncommand = 'c'\r\n", None),
    ("codex", ".codex/config.toml", "day = 1979-05-27\npi = 3.14\n[[list]]\na = 1\n", None),
    ("codex", ".codex/config.toml", "[mcp_servers]\na = { command = \"b\" } # inline\n# the end", None),
    ("codex", ".codex/config.toml", "mcp_servers.a.command = \"b\" # dotted\n", None),
    ("codex", ".codex/config.toml", "[[list]] # one\na = 1\n# between\n[[list]]\na = 2\n  # the end\n", None),
    ("codex", ".codex/config.toml", "a = \"\"\"\r\n[mcp_servers.ralph-memory]\n\"\"\"\n", None),
    ("gemini", "GEMINI.md", "", Some("gone")),
    ("gemini", "GEMINI.md", "# Rules", None),
    ("gemini", "GEMINI.md", "# Rules\r\n\r\n- one\r\n\r\n\r\n", None),
    ("gemini", "GEMINI.md", "\u{feff}# Rules\n", None),
];

/// Returns whether every character of a text is in another one, in this order.
fn is_in(text: &str, other: &str) -> bool {
    let mut other = other.chars();
    text.chars().all(|character| other.any(|found| found == character))
}

#[test]
fn files_of_others_only_get_insertions_and_lose_them_again() {
    for (client, path, text, left) in FORMS {
        let base = TestBase::new();
        let is_of_home = path.starts_with(".config");
        let at = if is_of_home { base.home().join(path) } else { base.at(path) };
        let run = |arguments: &[&str]| {
            let scope = ["--scope", if is_of_home { "user" } else { "project" }];
            let ran = setup(&base, &[&[*client], arguments, &scope[..]].concat());
            assert_eq!(ran.code, Some(0), "{path} {text:?}: {ran}");
        };
        let read = || fs::read_to_string(&at).unwrap_or_else(|_| "gone".to_owned());
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(&at, text).unwrap();
        // In two steps, the second of which adds to what the first has left.
        run(&[]);
        let made = read();
        assert!(made.contains("ralph-memory") && is_in(text, &made), "{path} {text:?}\n{made}");
        run(&["--check"]);
        run(&["--each-prompt"]);
        assert!(is_in(text, &read()), "{path} {text:?}\n{}", read());
        run(&["--remove"]);
        assert_eq!(read(), left.unwrap_or(text), "{path} {text:?}");
    }
}

/// What is in the way: the client, the file, its text, and the reason why the client is refused.
#[rustfmt::skip]
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("claude", ".claude/settings.json", "{\n  // mine\n}\n", "omments are not allowed"),
    ("claude", ".mcp.json", "{\"mcpServers\": []}", "`mcpServers` is not an object"),
    ("claude", ".mcp.json", "{\"mcpServers\": {}, \"mcpServers\": {}}", "the key `mcpServers` occurs twice"),
    ("claude", ".claude/settings.json", "{\"hooks\": {\"Stop\": {}}}", "`hooks.Stop` is not a list"),
    ("codex", ".codex/config.toml", "mcp_servers = { a = { command = \"b\" } }\n", "is written on one line"),
    ("codex", ".codex/config.toml", "mcp_servers = 1\n", "`mcp_servers` is not an object"),
    ("codex", ".codex/config.toml", "a = \n", "on line 1"),
    ("codex", "AGENTS.md", "<!-- ralph-memory:end -->\n", "do not form one pair"),
    ("codex", ".agents/skills/ralph-memory/SKILL.md", "# Mine\n", "there is another file of this name"),
    ("opencode", ".opencode/plugins/ralph-memory.js", "export default {}\n", "there is another file of this name"),
    // Another entry of this name.
    ("cursor", ".cursor/mcp.json", "{\"mcpServers\": {\"ralph-memory\": {\"command\": \"npx\"}}}", "the server is there already"),
    ("claude", ".mcp.json", "{\"mcpServers\": {\"ralph-memory\": {\"command\": \"./x/ralph-memory\", \"args\": [\"mcp\"]}}}", "the server is there already"),
    ("claude", ".mcp.json", "{\"mcpServers\": {\"ralph-memory\": {\"command\": \"ralph-memory\", \"args\": [\"mcp\"], \"env\": {\"LD_PRELOAD\": \"./x.so\"}}}}", "the server is there already"),
    ("claude", ".mcp.json", "{\"mcpServers\": {\"ralph-memory\": {\"command\": \"ralph-memory\", \"args\": [\"mcp\"]}, \"\\u0072alph-memory\": {\"command\": \"./x\"}}}", "the key `ralph-memory` occurs twice"),
    ("claude", ".mcp.json", "{\"mcpServers\": {\"ralph-memory\": {\"command\": \"./x\"}, \"ralph-memory\": {\"command\": \"ralph-memory\", \"args\": [\"mcp\"]}}}", "the key `ralph-memory` occurs twice"),
    ("claude", ".mcp.json", "{\"mcpServers\": {\"ralph-memory\": {\"command\": \"./x\"}}, \"mcpServers\": {\"ralph-memory\": {\"command\": \"ralph-memory\", \"args\": [\"mcp\"]}}}", "the key `mcpServers` occurs twice"),
    ("codex", ".codex/config.toml", "[mcp_servers.ralph-memory]\ncommand = \"ralph-memory\"\nargs = [\"mcp\"]\ncwd = \"x\"\n", "the server is there already"),
    ("opencode", "opencode.jsonc", "{\"mcp\": {\"ralph-memory\": {\"type\": \"local\", \"command\": [\"sh\", \"-c\", \"ralph-memory mcp\"]}}}", "the server is there already"),
];

#[test]
fn files_that_cannot_be_edited_and_other_entries_of_this_name_are_refused() {
    let check = |client: &str, path: &str, text: &[u8], reason: &str| {
        let base = TestBase::new();
        base.write(path, text);
        refused(&base, client, path, reason);
        let is_double = reason.contains("twice") && text.windows(12).any(|part| part == b"ralph-memory");
        if is_double || reason.contains("the server") {
            // It needs no name to be found.
            let ran = setup(&base, &["--check"]);
            assert!(!ran.stdout.contains("connected"), "{ran}");
            ran.says(4, reason);
            let removed = setup(&base, &[client, "--remove"]);
            if is_double {
                removed.says(4, reason);
            } else {
                removed.says(0, "the server of ralph-memory is not as setup writes it");
            }
        }
        assert_eq!(fs::read(base.at(path)).unwrap(), text);
    };
    for (client, path, text, reason) in REFUSED {
        check(client, path, text.as_bytes(), reason);
    }
    check("cursor", ".cursor/mcp.json", b"{} caf\xe9", "it is not UTF-8");
    check("cursor", ".cursor/mcp.json", &b"{\"a\":".repeat(100_000), "esting depth");
    check("codex", ".codex/config.toml", &[&b"a = "[..], &b"[".repeat(100_000)].concat(), "on line 1");
    check("cursor", ".cursor/mcp.json", &vec![b' '; (4 << 20) + 1], "it has 4194305 bytes; the limit is 4194304");
    let base = TestBase::new();
    base.write(".cursor", "");
    refused(&base, "cursor", ".cursor/mcp.json", "a part of its path is not a folder");
}

/// What a person or a client makes of setup's entries: the client, the file, what is replaced by what, and what is then not
/// as setup writes it.
#[rustfmt::skip]
const CHANGED: &[(&str, &str, &str, &str, &str)] = &[
    ("claude", ".mcp.json", "\"args\"", "\"type\": \"stdio\",\n      \"env\": {},\n      \"args\"", "the server"),
    ("codex", ".codex/config.toml", "args = ", "startup_timeout_sec = 20\nargs = ", "the server"),
    ("codex", ".codex/config.toml", "memory]\n", "memory] # mine\n", "the server"),
    ("vscode", ".vscode/mcp.json", "\"args\"", "\"gallery\": true,\n      \"args\"", "the server"),
    ("gemini", ".gemini/settings.json", "10000", "20000", "the hook `session-start`"),
    ("claude", ".claude/settings.json", "\"timeout\": 10\n          }", "\"timeout\": 10\n          },\n          { \"type\": \"command\", \"command\": \"tidy\" }", "the hook `session-start`"),
    ("claude", ".claude/settings.json", "ralph-memory hook stop", "X=1 ralph-memory hook stop", "a hook"),
    ("claude", ".claude/settings.json", "\"timeout\": 10", "\"async\": true, \"timeout\": 10", "a hook"),
    ("gemini", "GEMINI.md", "Before a task", "First", "the block of instructions"),
    ("codex", ".agents/skills/ralph-memory/SKILL.md", "\n# The", "\nMore.\n\n# The", "the file"),
    ("opencode", ".opencode/plugins/ralph-memory.js", "MAX_PARTS = 300", "MAX_PARTS = 3", "the file"),
];

#[test]
fn what_was_changed_is_named_and_stays_and_the_rest_goes() {
    for (client, path, from, to, what) in CHANGED {
        let base = connected(&[client]);
        let own = base.read(path);
        assert!(own.contains(from), "{path}: {own}");
        base.write(path, own.replacen(from, to, 1));
        let changed = base.read(path);
        assert_eq!(setup(&base, &[client]).code, Some(0), "{path}");
        let checked = setup(&base, &[client, "--check"]);
        match *what {
            "the file" | "the block of instructions" => {
                checked.says(1, &format!("{what} was edited, or written by another version, so it stays"));
                assert_eq!(base.read(path), changed);
            }
            _ => checked.says(0, "connected"),
        }
        let removed = setup(&base, &[client, "--remove"]);
        removed.says(0, &format!("warning: {path}: {what} of ralph-memory is not as setup writes it, so it stays"));
        let left = base.read(path);
        assert!(left.contains(to.lines().next().unwrap()), "{path}: {left}");
        let others = base.files("").into_iter().filter(|file| !file.starts_with(".ralph/")).collect::<Vec<_>>();
        assert_eq!(others, [*path], "{client}");
        assert!(left.matches("ralph-memory hook").count() <= 1, "the other hooks are gone: {left}");
    }
}

#[test]
fn of_a_file_that_others_edited_only_set_ups_part_goes() {
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
    change("{\n  \"two\": 2,");
    let made = base.read(".claude/settings.json");
    let hook = r#"{"hooks": [{"type": "command", "command": "ralph-memory hook stop || exit 0", "timeout": 10}]}, "#;
    // A merge may leave it twice.
    base.write(".claude/settings.json", made.replacen("\"Stop\": [", &format!("\"Stop\": [{hook}"), 1));
    assert_eq!(setup(&base, &["claude", "--remove"]).code, Some(0));
    assert_eq!(base.read(".claude/settings.json"), text);
}

#[test]
fn a_file_that_several_clients_use_stays_until_the_last() {
    let base = TestBase::new();
    base.write("AGENTS.md", "# Rules\n");
    setup(&base, &["codex", "cursor"]).says(0, "edited   AGENTS.md");
    setup(&base, &["codex", "--remove"]).says(0, "deleted  .codex/config.toml");
    assert!(base.read("AGENTS.md").contains("ralph-memory:begin"));
    assert!(base.at(".agents/skills/ralph-memory/SKILL.md").exists());
    setup(&base, &["cursor", "--check"]).says(0, "connected: Cursor");
    setup(&base, &["cursor", "--remove"]).says(0, "edited   AGENTS.md");
    assert_eq!(base.read("AGENTS.md"), "# Rules\n");
    assert!(!base.at(".agents").exists());
}

#[test]
fn a_removal_leaves_nothing_of_any_client() {
    for scope in ["project", "user"] {
        for &client in CLIENTS.iter().filter(|client| scope == "project" || !["vscode", "agents-md"].contains(client)) {
            let base = TestBase::new();
            let before = base.files("");
            // Git keeps no empty folder of a clone, and `init` creates one.
            fs::remove_dir_all(base.at(".claude")).unwrap();
            let names =
                || fs::read_dir(base.root()).unwrap().map(|found| found.unwrap().file_name()).collect::<Vec<_>>();
            let folders = names();
            assert_eq!(setup(&base, &[client, "--scope", scope, "--each-prompt", "--allow-tools"]).code, Some(0));
            setup(&base, &["--check", "--scope", scope, client]).says(0, "connected: ");
            setup(&base, &["--remove", "--scope", scope, "--yes"]).says(0, "deleted");
            assert_eq!((base.files(""), names()), (before, folders), "{client}");
            let left = crate::program::walk(&base.home(), &|_| true);
            assert!(left.is_empty(), "{client}: {left:?}");
        }
    }
    // Without anything of setup in it, an empty folder is somebody's own.
    let base = TestBase::new();
    fs::create_dir(base.at(".cursor")).unwrap();
    setup(&base, &["cursor", "--remove"]).says(0, "nothing to do: nothing of it is here");
    assert!(base.at(".cursor").is_dir());
}

#[test]
fn a_removal_from_all_clients_names_what_stays_of_the_memory() {
    let base = TestBase::new();
    base.write(".config/broken", "");
    base.write(".cursor/mcp.json", "{ broken");
    crate::support::git(&base, &["init", "--quiet"]);
    base.run(["record", "--task", "T", "--outcome", "failed"]).says(0, "recorded");
    setup(&base, &["claude"]).says(0, "created");
    let stays = ["stays: the memory, 1 entry; `rm -r ", "stays: copies of attempts that work trees share"];
    setup(&base, &["--remove", "--dry-run"]).tells(0, &stays, &[]);
    setup(&base, &["--remove", "--yes"]).tells(0, &[&["deleted  .mcp.json"][..], &stays].concat(), &[]);
    let files = setup(&base, &["gemini", "--json"]).json(0)["files"].clone();
    assert_eq!(files[1]["clients"], serde_json::json!(["gemini"]), "once, for two parts: {files}");
    let answer = setup(&base, &["--remove", "--json", "--yes"]).json(0);
    assert_eq!(answer["remaining"][0]["what"], "the memory, 1 entry");
    let named = setup(&base, &["claude", "--remove"]);
    assert!(!named.stdout.contains("stays"), "{named}");
    for (removed, other, whose) in [("project", "user", "every"), ("user", "project", "this")] {
        setup(&base, &["codex", "--scope", other]).says(0, "created");
        let stays = format!(
            "stays: the connections of {whose} project to Codex; `ralph-memory setup --remove --scope {other}`"
        );
        setup(&base, &["--remove", "--scope", removed, "--yes"]).says(0, &stays);
    }
    assert!(base.at(".ralph").exists() && base.read(".cursor/mcp.json") == "{ broken");
}

#[test]
fn files_that_git_or_a_moved_program_changed_are_set_ups() {
    let base = connected(&["gemini", "opencode"]);
    // Git may have changed the line ends in a clone.
    for path in [".opencode/plugins/ralph-memory.js", ".agents/skills/ralph-memory/SKILL.md", "GEMINI.md"] {
        base.write(path, base.read(path).replace('\n', "\r\n"));
    }
    setup(&base, &["--check"]).says(0, "connected: opencode, Gemini CLI");
    setup(&base, &["--remove", "--yes"]).says(0, "deleted  .opencode/plugins/ralph-memory.js");
    // The program has moved since.
    let base = connected(&["opencode", "--scope", "user"]);
    let script = base.home().join(".config/opencode/plugins/ralph-memory.js");
    let own = fs::read_to_string(&script).unwrap();
    fs::write(&script, own.replace("PROGRAM = \"ralph-memory\"", "PROGRAM = \"/gone/ralph-memory\"")).unwrap();
    setup(&base, &["opencode", "--scope", "user", "--check"]).says(1, "it runs `/gone/ralph-memory`, which does not");
    setup(&base, &["opencode", "--scope", "user", "--remove"]).says(0, "deleted");
    assert!(!script.exists());
}

/// Seen in 0.1.0: they were in `AGENTS.md`, which some versions of Claude Code never read, and others only where no file of
/// its own is beside it. It reads its rules in any case, also in a session that is started in a subfolder.
#[test]
fn claude_code_reads_its_instructions_whatever_is_beside_them() {
    const RULES: &str = ".claude/rules/ralph-memory.md";
    for path in ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"] {
        let base = TestBase::new();
        base.write(path, "# Rules\n");
        setup(&base, &["claude"]).says(0, &format!("created  {RULES}"));
        let written = base.read(RULES);
        assert!(written.starts_with("<!-- ralph-memory:begin -->\n") && written.contains("build_context"), "{written}");
        assert_eq!(base.read(path), "# Rules\n");
    }
    let base = connected(&["claude"]);
    base.write(RULES, format!("{}\n# Ours\n\nUse tabs.\n", base.read(RULES)));
    setup(&base, &["claude", "--check"]).says(0, "connected: Claude Code");
    setup(&base, &["claude", "--remove"]).says(0, &format!("edited   {RULES}"));
    assert_eq!(base.read(RULES), "\n# Ours\n\nUse tabs.\n");
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
    let ran = setup(&base, &["claude", "--scope", "user"]);
    assert!(ran.stderr.starts_with("error: .claude/settings.json: "), "{ran}");
    ran.says(4, "connected already, by these settings");
    assert_eq!(fs::read_dir(base.home()).unwrap().count(), 0);
    setup(&base, &["claude", "--remove"]).says(0, "deleted");
    let settings = base.home().join(".claude/settings.json");
    fs::create_dir(base.home().join(".claude")).unwrap();
    fs::write(settings, "{\"enabledPlugins\": {\"ralph-memory@ralph-memory\": true}}").unwrap();
    setup(&base, &["claude"]).says(4, "connected already, by the plugin `ralph-memory@ralph-memory`");
}

/// Seen in 0.1.0: a client that was installed and never set up made the check fail.
#[test]
fn a_check_without_names_looks_at_what_is_set_up() {
    let base = TestBase::new();
    setup(&base, &["--check"]).says(1, "no client is found here");
    base.write(".cursor/rules/api.mdc", "Rule.\n");
    fs::create_dir(base.home().join(".codex")).unwrap();
    let ran = setup(&base, &["--check"]);
    assert_eq!(ran.stdout, "", "{ran}");
    ran.says(1, "nothing is set up here; `ralph-memory setup` connects Codex, Cursor");
    assert_eq!(setup(&base, &["--check", "--json"]).json(1)["clients"], serde_json::json!([]));
    setup(&base, &["--check", "--scope", "user"]).says(1, "`ralph-memory setup --scope user` connects Codex");
    setup(&base, &["cursor", "copilot"]).says(0, "created");
    setup(&base, &["--check"]).says(0, "connected: Cursor, Copilot CLI");
    fs::remove_file(base.at(".cursor/hooks.json")).unwrap();
    setup(&base, &["--check"]).says(1, ".cursor/hooks.json lacks the hook `session-start`");
    fs::remove_file(base.at(".github/mcp.json")).unwrap();
    setup(&base, &["--check"]).says(1, ".github/mcp.json lacks the server (Copilot CLI)");
    setup(&connected(&["agents-md"]), &["--check"]).says(0, "connected: AGENTS.md");

    let base = connected(&["codex", "--scope", "user"]);
    let elsewhere = "`ralph-memory setup --check --scope user` checks what is set up for every project: Codex";
    setup(&base, &["--check"]).says(1, elsewhere);
    setup(&base, &["--check", "--scope", "user"]).says(0, "connected: Codex");
}

#[test]
fn a_file_that_changed_since_it_was_planned_is_not_written() {
    let base = TestBase::new();
    base.write(".cursor/mcp.json", "{}\n");
    let home = base.home().as_os_str().to_owned();
    let variable = |name: &str| (name == "HOME").then(|| home.clone());
    let setup = Setup::new(&base.root(), Path::new("/usr/bin/ralph-memory"), &variable);
    let plan = setup.plan(&[SetupClient::Cursor], SetupScope::Project, SetupOptions::default()).unwrap();
    base.write(".cursor/mcp.json", "{\"mine\": 1}\n");
    // No process has this number.
    base.write(".cursor/.tmp-4194999-0123456789abcdef", "half");
    let failed = plan.apply().unwrap_err();
    assert!(failed.to_string().contains(".cursor/hooks.json"), "what was written is named: {failed}");
    assert_eq!(base.read(".cursor/mcp.json"), "{\"mine\": 1}\n");
    assert!(!base.at(".cursor/.tmp-4194999-0123456789abcdef").exists(), "a killed setup left it");
}
