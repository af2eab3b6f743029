#!/usr/bin/env python3
"""Presses the Tab key in the real bash, zsh and fish, on a terminal, and compares the words that the command then gets.

Usage: tests/shells/complete.py [PROGRAM], the debug build by default. A shell that is missing is an error.
"""

import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

SHELLS = ["bash", "zsh", "fish"]
# Longer than anything takes, on however busy a machine.
LONGEST = 60

# What is typed before Tab, and the words that the program gets after it.
CASES = [
    ("edit wal", ["edit", "wal-mode"]),
    ("show task:fix", ["show", "task:fix-login"]),
    ("log --run run-", ["log", "--run", "run-1a2b"]),
    ("log --task fix", ["log", "--task", "fix-login"]),
    ("log --feature che", ["log", "--feature", "checkout"]),
    ("log --feature=che", ["log", "--feature=checkout"]),
    ("list --tag gr", ["list", "--tag", "größe"]),
    ("list --tag net:b", ["list", "--tag", "net:b-1"]),
    ("add --tags sqlite,net:b", ["add", "--tags", "sqlite,net:b-1"]),
    # A name that needs quotes is not offered.
    ("list --tag two", ["list", "--tag", "two"]),
    ("list --tag am", ["list", "--tag", "am"]),
    ("list --never", ["list", "--never-helped"]),
]


def entry(title, tags, feature=None):
    lines = [f"title: {title}", "tags: [" + ", ".join("'" + tag.replace("'", "''") + "'" for tag in tags) + "]"]
    if feature:
        lines.append(f"feature: {feature}")
    return "---\n" + "\n".join(lines) + "\n---\n\nText.\n"


def memory(program, folder):
    """Makes a memory with odd names."""
    project = os.path.join(folder, "project")
    os.mkdir(project)
    subprocess.run([program, "init"], cwd=project, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    files = {
        "wal-mode": entry("WAL mode", ["sqlite", "two words"]),
        "odd": entry("Odd", ["$(touch gone)", "am & pm; it's `x` \"y\" \\z", "größe", "net:b-1"], "checkout"),
    }
    for name, text in files.items():
        with open(os.path.join(project, ".ralph/knowledge", name + ".md"), "w", encoding="utf-8") as file:
            file.write(text)
    begun = ["context", "Fix it", "--task-id", "fix-login", "--feature", "checkout", "--run", "run-1a2b"]
    subprocess.run([program, *begun], cwd=project, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    recorded = b"<task-failed>fix-login</task-failed>"
    subprocess.run(
        [program, "record", "--run", "run-1a2b"], cwd=project, input=recorded, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return project


class Shell:
    """A shell on a terminal of its own, whose `ralph-memory` prints its words, but for `complete`."""

    def __init__(self, name, program, folder, project):
        self.name = name
        home = os.path.join(folder, name)
        os.makedirs(os.path.join(home, "bin"))
        wrapper = os.path.join(home, "bin/ralph-memory")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write(
                f"#!/bin/sh\n[ \"$1\" = complete ] && exec '{program}' \"$@\"\n"
                "{ printf '<%s>' \"$@\"; echo; } > \"$HOME/got.new\"; mv \"$HOME/got.new\" \"$HOME/got\"\n"
            )
        os.chmod(wrapper, 0o755)
        self.home = home
        self.script = os.path.join(home, "_ralph-memory")
        with open(self.script, "wb") as file:
            file.write(subprocess.run([program, "completions", name], check=True, stdout=subprocess.PIPE).stdout)
        environment = {
            "HOME": home,
            "PATH": f"{home}/bin:/usr/local/bin:/usr/bin:/bin",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "HISTFILE": os.path.join(home, "history"),
        }
        arguments = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"], "fish": ["fish", "-i"]}
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(project)
            os.execvpe(shutil.which(name), arguments[name], environment)
        self.pid = pid
        setup = {
            "bash": f"PS1=; bind 'set bell-style none'; source {self.script}",
            "zsh": f"PS1=; fpath=({home} $fpath); autoload -U compinit; compinit -u -D",
            "fish": f"function fish_prompt; end; source {self.script}",
        }
        self.seen = b""
        self.send(setup[name] + "\r")
        self.mark()

    def mark(self):
        """Waits until the shell has done all that was typed."""
        got = os.path.join(self.home, "got")
        self.send("ralph-memory ready\r")
        self.wait(lambda: os.path.exists(got) and open(got, encoding="utf-8").read() == "<ready>\n", "ready")
        os.unlink(got)

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait(self, is_done, what):
        end = time.monotonic() + LONGEST
        while not is_done():
            if time.monotonic() > end:
                sys.exit(f"FAILED: {self.name}: {what}\n{self.seen.decode(errors='replace')}")
            if select.select([self.terminal], [], [], 0.05)[0]:
                self.seen += os.read(self.terminal, 65536)

    def complete(self, typed):
        """Returns the words of the command after Tab and Enter."""
        got = os.path.join(self.home, "got")
        self.seen = b""
        self.send(f"ralph-memory {typed}\t")
        self.settle()
        self.send("\r")
        self.wait(lambda: os.path.exists(got), f"`{typed}` was not run")
        with open(got, encoding="utf-8") as file:
            words = file.read()
        os.unlink(got)
        return words

    def settle(self):
        """Waits until the shell has nothing more to show."""
        while select.select([self.terminal], [], [], 0.7)[0]:
            self.seen += os.read(self.terminal, 65536)

    def end(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    target = os.environ.get("CARGO_TARGET_DIR", "target")
    program = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else f"{target}/debug/ralph-memory")
    missing = [name for name in SHELLS if not shutil.which(name)]
    if missing:
        sys.exit(f"{', '.join(missing)} is missing: install it, for instance with `apt-get install {' '.join(missing)}`")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        project = memory(program, folder)
        for name in SHELLS:
            shell = Shell(name, program, folder, project)
            for typed, expected in CASES:
                words = shell.complete(typed)
                wanted = "".join(f"<{word}>" for word in expected) + "\n"
                if words != wanted:
                    failed.append(f"{name}: {typed} gave {words.strip()}, not {wanted.strip()}")
            shell.end()
            print(f"{name}: {len(CASES)} command lines")
        if os.path.exists(os.path.join(project, "gone")):
            failed.append("a name was run as a command")
    if failed:
        sys.exit("FAILED:\n" + "\n".join(failed))


main()
