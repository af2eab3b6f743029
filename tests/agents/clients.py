"""The clients: how to install, configure and start each of them without a network, and which files are their own."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

# The files of its own that each client writes during a session: patterns, in which `*` also stands for `/`.
CLAUDE_OWN = ["home/.claude.json", "home/.claude/.last-cleanup", "home/.claude/backups/*", "home/.claude/projects/*", "home/.claude/sessions*", "home/.claude/plugins", "home/.claude/plugins/data*", "home/.claude/plugins/store*", "home/.claude/session-env*", "home/.claude/shell-snapshots*", "home/.cache", "home/.cache/claude-cli-nodejs*"]
CODEX_OWN = ["home/.codex/*.sqlite*", "home/.codex/.tmp*", "home/.codex/sessions/*", "home/.codex/shell_snapshots*", "home/.codex/tmp/*"]
OPENCODE_OWN = ["home/.cache/opencode*", "home/.local/share/opencode/*", "home/.local/state/opencode/*",
                # It writes .gitignore into each folder of plugins, which therefore stays.
                "project/.opencode", "project/.opencode/.gitignore"]
# `init` creates these folders, and a removal takes folders along that it leaves empty.
EMPTIED = ["project/.claude (deleted)", "project/.claude/skills (deleted)"]
# The memory's own state, of which a folder without anything in it may stay.
MEMORY_OWN = ["home/.local", "home/.local/state", "home/.local/state/ralph-memory"]

# What a project has before `setup` in the files that it changes: odd on purpose, and with hooks and settings of somebody else.
HOOK = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}'
SEEDS = {
    "claude": {".claude/settings.json": HOOK.replace('{"hooks": {', '{\n\t"permissions": {"allow": ["Bash(ls:*)"]},\n\t"hooks": {', 1) + "\r\n", "CLAUDE.md": "Use tabs."},
    "codex": {".codex/config.toml": 'model_verbosity = "low"   # quick\n\n# The end.', ".codex/hooks.json": HOOK, "AGENTS.md": "Use tabs."},
    "opencode": {"opencode.jsonc": '{\n   // The team\'s.\n   "$schema": "https://opencode.ai/config.json",\n   "instructions": ["README.md",],\n}', "AGENTS.md": "Use tabs."},
}


@dataclass
class Client:
    name: str
    title: str
    package: str
    version: str
    program: str            # where npm puts the program: a pattern below node_modules
    headless: list          # how a session without a terminal is started; the prompt follows
    resumed: list           # how the last session is resumed; the prompt follows
    unasked: str            # the option that lets it change files without a question
    agent: str              # what `run --agent` is given
    models: list            # which models the three iterations of a loop ask for
    own: list
    forked: list = ()       # how the last session is continued as another one; the prompt follows
    note: str = ""          # what a reader of the tables must know


CLIENTS = {client.name: client for client in [
    Client("claude", "Claude Code", "@anthropic-ai/claude-code", "2.1.332", "@anthropic-ai/claude-code-linux-*/claude",
           ["claude", "-p"],
           ["claude", "-p", "--continue"], "--dangerously-skip-permissions",
           "claude -p --output-format stream-json --verbose --dangerously-skip-permissions --model {model}",
           ["sonnet", "sonnet", "opus"], CLAUDE_OWN, ["claude", "-p", "--continue", "--fork-session"]),
    Client("codex", "Codex", "@openai/codex", "0.171.0", "@openai/codex-linux-*/vendor/*/bin/codex",
           ["codex", "exec", "--dangerously-bypass-hook-trust"],
           ["codex", "exec", "--dangerously-bypass-hook-trust", "resume", "--last"], "--dangerously-bypass-approvals-and-sandbox",
           "codex exec --json --dangerously-bypass-hook-trust --dangerously-bypass-approvals-and-sandbox --model {model} -",
           ["gpt-6.1-sol", "gpt-6.1-sol", "gpt-6-astra"], CODEX_OWN,
           note="In Codex, `--dangerously-bypass-hook-trust` stands in for a person who trusts the hooks with `/hooks`, which takes a terminal."),
    Client("opencode", "opencode", "opencode-ai", "1.18.33", "opencode-linux-*/bin/opencode",
           ["opencode", "run"],
           ["opencode", "run", "--continue"], "",
           "opencode run --format json",
           ["sonnet", "sonnet", "opus"], OPENCODE_OWN),
]}


def install(clients, versions, folder):
    """Installs clients with npm into a folder. Their programs are in packages of the platform, so no script of a package has to run."""
    if not shutil.which("npm"):
        raise SystemExit("npm is missing: install Node.js, or name a folder with the clients with --modules")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text("{}\n")
    packages = [f"{client.package}@{versions[client.name]}" for client in clients]
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error", *packages], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def installed(client, modules):
    """A client's program and version in a folder `node_modules`."""
    programs = sorted(modules.glob(client.program), key=lambda path: len(str(path)))
    if not programs:
        raise SystemExit(f"{client.title} is not in {modules}: there is no {client.program}")
    return programs[0], json.loads((modules / client.package / "package.json").read_text())["version"]


def configure(client, home, project, url):
    """Writes what a person has who uses a client in a trusted folder, with the scripted model, and returns the environment."""
    env = {"HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8", "SHELL": "/bin/sh", "TMPDIR": str(home.parent / "tmp")}
    if client.name == "claude":
        state = {"hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": ["test"], "rejected": []}, "bypassPermissionsModeAccepted": True,
                 "projects": {str(project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}}
        (home / ".claude.json").write_text(json.dumps(state, indent=2))
        # IS_SANDBOX lets root, as which a namespace runs, skip permissions. The newest versions offer tools of servers to a model that searches for
        # them first, which the script does not do.
        return env | {"ENABLE_TOOL_SEARCH": "false", "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "test", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1"}
    if client.name == "codex":
        (home / ".codex").mkdir()
        (home / ".codex/config.toml").write_text(
            f'model = "{client.models[0]}"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n\n[analytics]\nenabled = false\n\n'
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n\n'
            f'[projects."{project}"]\ntrust_level = "trusted"\n')
        return env | {"SCRIPTED_KEY": "test"}
    (home / ".config/opencode").mkdir(parents=True)
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}
    (home / ".config/opencode/opencode.json").write_text(json.dumps({
        "$schema": "https://opencode.ai/config.json", "autoupdate": False, "share": "disabled", "model": "scripted/scripted", "small_model": "scripted/scripted",
        "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "options": {"apiKey": "test", "baseURL": url + "/v1"}, "models": {"scripted": model}}}}, indent=2))
    # Without npm_config_offline, a project with a plugin waits for npm for more than a minute.
    return env | {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "npm_config_offline": "true"}


@dataclass
class Ended:
    code: int
    out: str
    err: str
    left: list          # the command lines of what it left running


def start(words, cwd, env, limit=180):
    """Runs a program to its end, and ends by its id what it leaves running."""
    child = subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    try:
        out, err = child.communicate(timeout=limit)
        return Ended(child.returncode, out, err, end_leftovers())
    except subprocess.TimeoutExpired:
        left = end_leftovers()
        out, err = child.communicate()
        return Ended(-signal.SIGKILL, out, f"{err}\nended after {limit} s", left)


def end_leftovers():
    """Ends every other process of this namespace, and returns their command lines. They get a moment to end by themselves."""
    left, begun = {}, time.monotonic()
    while running := others():
        waited = time.monotonic() - begun
        if waited > 2:
            left |= running
            for pid in running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if waited > 5 else signal.SIGTERM)
        time.sleep(0.1)
    return list(left.values())


def others():
    """The processes of this namespace, of which this one is the first, with their command lines. Those that ended are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        except OSError:
            continue
        if folder.name != str(os.getpid()) and line:
            found[int(folder.name)] = line
    return found
