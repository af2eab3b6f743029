#!/usr/bin/env python3
"""Runs `ralph-memory run` under real coding agents, offline, against a model that follows a script.

    loop.py --agents FOLDER [--modules FOLDER] [--program FILE] [--show] [CLIENT…]

CLIENT is claude, codex or opencode; without one, all three. The first iteration fails with a report, the second says that it is done and
verification refutes it, the third succeeds. What the model was shown, and what the journal says, is checked. README.md says more.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TASK = "Stop the client timing out"

AGENT = {
    "claude": "claude -p --output-format stream-json --verbose --dangerously-skip-permissions --model {model}",
    "codex": "codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --model {model} -",
    "opencode": "opencode run --format json",
}
# The models that are asked for: the middle one of the client's own list, and the strongest after two failures.
MODELS = {
    "claude": ["sonnet", "sonnet", "opus"],
    "codex": ["gpt-6.1-sol", "gpt-6.1-sol", "gpt-6-astra"],
    "opencode": ["sonnet", "sonnet", "opus"],
}

FAILED = """It did not help.

<failure-report>
what_tried: Raised the timeout of the client to 60 s
why_failed: The server closes idle connections after 5 s, whatever the client waits for
error_category: timeout
relevant_files: server.toml
</failure-report>
<retry-suggestion>Look at keep_alive in server.toml.</retry-suggestion>
<learning category="pitfall" tags="server, timeout">
The server closes idle connections after 5 s.
</learning>
<task-failed>{1}</task-failed>"""
REFUTED = """Everything works now and all checks pass.

<journal>
keep_alive is read at the start only, so the server must be restarted.
</journal>
<task-done>{1}</task-done>"""
DONE = """Keep-alive was the cause.

<task-done>{1}</task-done>"""

CHECK = """#!/bin/sh
grep -q '^keep_alive = 30$' server.toml && exit
echo 'request 1 of 3: ok'
echo 'request 2 of 3: ok'
echo 'request 3 of 3: connection closed by the server'
exit 3
"""

# What each prompt must hold, and what it must not.
REPORT = ["Raised the timeout of the client to 60 s", "The server closes idle connections after 5 s, whatever the client waits for"]
REFUTATION = ["The agent said that it was done, but `sh check.sh` failed with exit code 3.", "request 3 of 3: connection closed by the server",
              "keep_alive is read at the start only"]
CLAIM = "all checks pass"
EXPECTED = [
    (["## Assigned Task", TASK, "<failure-report>"], ["## Previous Attempts", *REPORT, CLAIM]),
    (["## Previous Attempts", "### Attempt 1 (", *REPORT, "**Suggested approach for this retry:**\nLook at keep_alive in server.toml.",
      "attempt #2, 1 consecutive failure(s)", "## Learnings from Previous Iterations", "**Exit code:** 3"], ["### Attempt 2 (", CLAIM]),
    (["### Attempt 1 (", *REPORT, "### Attempt 2 (", *REFUTATION, "attempt #3, 2 consecutive failure(s)"], ["### Attempt 3 (", CLAIM]),
]
OUTCOMES = ["failed", "retried", "done"]


def command(client, line):
    """The call of a tool that runs a command."""
    if client == "codex":
        # The newest models of Codex have one tool, which runs JavaScript.
        return {"tool": "exec", "input": f"text(JSON.stringify(await tools.exec_command({{cmd: {json.dumps(line)}}})));"}
    return {"tool": "Bash" if client == "claude" else "bash", "input": {"command": line, "description": "Change the setting"}}


def script(client):
    """What the model says. The task's id is taken from the prompt."""
    said = lambda text: {"capture": r"the task's id is `(t-[0-9a-f]{10})`", "text": text}
    return {"turns": [
        {**command(client, "echo 'timeout = 60' >> client.toml"), "text": "I raise the timeout first."}, said(FAILED),
        command(client, "sed -i 's/keep_alive = 5/keep_alive = 15/' server.toml"), said(REFUTED),
        command(client, "sed -i 's/keep_alive = 15/keep_alive = 30/' server.toml"), said(DONE),
    ], "default": {"text": "NOTHING LEFT TO SAY"}}


def prompts(log):
    """The prompts that the model was shown, in the order in which it saw them first."""
    seen = []
    for line in log.read_text(encoding="utf-8").splitlines():
        request = json.loads(line)
        if request.get("side"):
            continue
        for message in request.get("messages", []):
            for part in message["parts"]:
                text = part.get("text") or ""
                if message["role"] == "user" and "## Assigned Task" in text and text not in seen:
                    seen.append(text)
    return seen


def run(client, options, folder):
    """Runs the loop once, and returns what is wrong with it."""
    project, home, log = folder / "project", folder / "home", folder / "requests"
    for path in (project, home):
        path.mkdir(parents=True)
    (project / "check.sh").write_text(CHECK)
    (project / "server.toml").write_text("keep_alive = 5\n")
    (project / "client.toml").write_text("retries = 2\n")
    (folder / "script.json").write_text(json.dumps(script(client)))
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "RALPH_MEMORY_BIN": str(options.program), "PYTHONDONTWRITEBYTECODE": "1"}
    env |= {name: os.environ[name] for name in ("AGENTS_MODULES", "CLAUDE_BIN", "CODEX_BIN", "OPENCODE_BIN") if name in os.environ}
    if options.modules:
        env["AGENTS_MODULES"] = str(options.modules)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    for words in (["git", "init", "--quiet"], [str(options.program), "init"], ["git", "add", "--all"], [*git, "commit", "--quiet", "--message", "begin"]):
        subprocess.run(words, cwd=project, env=env, check=True, stdout=subprocess.DEVNULL)
    loop = ["ralph-memory", "run", "--task", TASK, "--agent", AGENT[client], "--verify", "sh check.sh", "--max-iterations", "4"]
    ran = subprocess.run(
        [options.agents / "ns.sh", sys.executable, "-B", options.agents / "drive.py", client, "--project", project, "--home", folder / "client-home",
         "--script", folder / "script.json", "--log", log, "--timeout", "280", "--", *loop],
        env=env, capture_output=True, text=True, timeout=300)
    try:
        report = json.loads(ran.stdout)
    except ValueError:
        return [f"{client} was not run: {(ran.stderr or ran.stdout).strip()[-600:]}"]
    wrong = []
    if report["exit"] != 0:
        wrong.append(f"the run ended with {report['exit']}: {(report['stdout_tail'] + report['stderr_tail'])[-900:]}")

    entries = [path.read_text(encoding="utf-8") for path in sorted((project / ".ralph/journal").glob("run-*/*.md"))]
    field = lambda name: [(re.search(rf"^{name}: (.+)$", entry, re.M) or ["", None])[1] for entry in entries]
    outcomes, tokens = field("outcome"), field("tokens_in")
    if outcomes != OUTCOMES:
        wrong.append(f"the journal says {outcomes}, and not {OUTCOMES}")
    if None in tokens:
        wrong.append(f"tokens are missing: {tokens}")
    shown = prompts(log)
    if len(shown) != len(EXPECTED):
        wrong.append(f"the model was shown {len(shown)} prompts, and not {len(EXPECTED)}")
    asked = []
    for number, (prompt, (holds, lacks), model) in enumerate(zip(shown, EXPECTED, MODELS[client]), 1):
        wrong += [f"prompt {number} does not say {text!r}" for text in holds if text not in prompt]
        wrong += [f"prompt {number} says {text!r}" for text in lacks if text in prompt]
        told = re.search(r"\*\*Current model:\*\* (\S+)", prompt)
        asked += [told[1]] if told else []
        if told and told[1] != model:
            wrong.append(f"prompt {number} names the model {told[1]}, and not {model}")
    if client == "codex":
        used = list(dict.fromkeys(request["model"] for request in map(json.loads, log.read_text().splitlines()) if request.get("model")))
        if used != list(dict.fromkeys(MODELS[client])):
            wrong.append(f"Codex asked for the models {used}")
    sizes = ", ".join(str(len(prompt)) for prompt in shown)
    print(f"{client}: {report['seconds']} s, {len(report['requests'])} requests; outcomes {outcomes}; prompts of {sizes} characters; tokens {tokens}")
    if options.show or wrong:
        for number, prompt in enumerate(shown, 1):
            print(f"---- {client}, prompt {number}\n{prompt}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", default=[], help="claude, codex or opencode [default: all]")
    parser.add_argument("--agents", type=Path, default=os.environ.get("AGENTS"), help="the folder with drive.py, model.py and ns.sh [env: AGENTS]")
    parser.add_argument("--modules", type=Path, default=os.environ.get("AGENTS_MODULES"), help="the node_modules folder with the clients [env: AGENTS_MODULES]")
    parser.add_argument("--program", type=Path, default=HERE.parents[1] / "target/debug/ralph-memory", help="ralph-memory [default: the debug build]")
    parser.add_argument("--show", action="store_true", help="print every prompt")
    options = parser.parse_args()
    if not options.agents or not (Path(options.agents) / "drive.py").exists():
        parser.error("--agents must name the folder with drive.py")
    options.agents, options.program = Path(options.agents).resolve(), options.program.resolve()
    options.modules = Path(options.modules).resolve() if options.modules else None
    if not options.program.exists():
        parser.error(f"there is no {options.program}: run `cargo build`, or say --program")
    if unknown := [client for client in options.clients if client not in AGENT]:
        parser.error(f"no such client: {', '.join(unknown)}")
    failed = False
    for client in options.clients or AGENT:
        with tempfile.TemporaryDirectory(prefix="loop-") as folder:
            for line in run(client, options, Path(folder)):
                failed = True
                print(f"{client}: {line}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
