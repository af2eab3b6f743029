"""Uses the program on a file system as on macOS: `run.py PROGRAM`. Each check prints a line, and a failed one ends the script."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])
FILE_SYSTEM = Path(__file__).with_name("foldfs.py")


class Memory:
    def __init__(self, root, home):
        self.root, self.environment = root, {"HOME": str(home), "PATH": os.environ["PATH"]}
        self.run("init", "--here")

    def run(self, *arguments, code=0):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.root, env=self.environment, capture_output=True, text=True)
        if done.returncode != code:
            sys.exit(f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *arguments, code=0):
        return json.loads(self.run(*arguments, "--json", code=code))

    def write(self, name, text):
        path = self.root / ".ralph/knowledge" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def names(self, folder="knowledge"):
        return sorted(unicodedata.normalize("NFC", path.name) for path in (self.root / ".ralph" / folder).glob("*.md"))

    def found(self, word):
        entries = json.loads(self.run("search", word, "--json", code=0))["entries"]
        return [unicodedata.normalize("NFC", entry["id"]) for entry in entries]


def names_that_differ_in_case(memory):
    memory.write("Zoo-Keeper.md", "---\ntitle: Something else\n---\n\nzebra\n")
    created = memory.json("add", "Zoo keeper", "--tags", "zoo", "--body", "lion")
    assert created["action"] == "created", created
    assert memory.found("zebra") == ["knowledge/Zoo-Keeper"], "the file of another entry stays"
    assert memory.names() == ["Zoo-Keeper.md", "zoo-keeper-2.md"], memory.names()


def a_new_spelling_of_the_own_name(memory):
    memory.write("By-Hand.md", "---\ntitle: By Hand\n---\n\ngiraffe\n")
    assert memory.json("edit", "By-Hand", "--title", "By hand")["id"] == "knowledge/by-hand"
    assert memory.found("giraffe") == ["knowledge/by-hand"] and "by-hand.md" in memory.names()
    memory.run("undo")
    assert memory.found("giraffe") == ["knowledge/By-Hand"], memory.names()
    memory.run("undo", "--redo")
    os.rename(memory.root / ".ralph/knowledge/by-hand.md", memory.root / ".ralph/knowledge/BY-hand.md")
    assert memory.found("giraffe") == ["knowledge/BY-hand"], "a rename by hand is noticed"


def the_archive(memory):
    memory.write("Other.md", "---\ntitle: Other\n---\n\ntapir\n")
    memory.run("archive", "Other")
    memory.run("add", "Other", "--tags", "x", "--body", "okapi")
    assert memory.found("okapi") == ["knowledge/other-2"]
    memory.run("archive", "other-2")
    memory.run("restore", "Other")
    memory.run("restore", "other-2")
    assert memory.found("tapir") == ["knowledge/Other"] and memory.found("okapi") == ["knowledge/other-2"]


def letters_in_two_forms(memory):
    memory.write("Größe.md", "# Größe\n\nkudu, see [[Straße]]\n")
    for form in ("NFC", "NFD"):
        shown = memory.json("show", unicodedata.normalize(form, "Größe"))
        assert shown["entry"]["title"] == "Größe", shown
    memory.run("archive", "Größe")
    memory.run("restore", "Größe")
    assert memory.found("kudu") == ["knowledge/Größe"]
    memory.run("undo")
    memory.run("undo")
    assert memory.found("kudu") == ["knowledge/Größe"]


def attempts(memory):
    for number in (1, 2):
        recorded = memory.json("record", "--task", "T", "--run", "run-0000000a", "--outcome", "failed")
        assert recorded["attempt"]["id"] == f"journal/run-0000000a/000{number}", recorded
    assert len(memory.json("log")["attempts"]) == 2
    # A folder of a run that somebody gave another spelling is the same folder.
    memory.run("record", "--task", "T", "--run", "run-0000000A", "--outcome", "failed")
    assert len(memory.json("log")["attempts"]) == 3


def many_changes_by_hand(memory):
    """Each answer has what the files say now, however a name was changed."""
    names = ["Ünit", "unit", "UNIT-two", "sub/Deep", "Ärger"]
    for round_number in range(4):
        for number, name in enumerate(names):
            spelled = name.swapcase() if round_number % 2 else name
            memory.write(f"round/{spelled}.md", f"# {name}\n\nword{round_number}x{number}\n")
            assert len(memory.found(f"word{round_number}x{number}")) == 1, name
            if round_number:
                assert memory.json("search", f"word{round_number - 1}x{number}", code=1)["entries"] == [], name


def whole_check(memory):
    memory.run("index", "--rebuild")
    memory.run("check")


def main():
    checks = [names_that_differ_in_case, a_new_spelling_of_the_own_name, the_archive, letters_in_two_forms, attempts,
              many_changes_by_hand, whole_check]
    for form in ("", "nfd"):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for name in ("backing", "mount", "home"):
                (folder / name).mkdir()
            mount = folder / "mount"
            server = subprocess.Popen([sys.executable, FILE_SYSTEM, folder / "backing", mount, *form.split()])
            try:
                begun = time.monotonic()
                while not os.path.ismount(mount):
                    if server.poll() is not None or time.monotonic() - begun > 30:
                        sys.exit("the file system was not mounted: it takes FUSE, and mfusepy from PyPI")
                    time.sleep(0.05)
                root = mount / "project"
                root.mkdir()
                memory = Memory(root, folder / "home")
                for check in checks:
                    check(memory)
                    print(f"ok {form or 'as given'}: {check.__name__.replace('_', ' ')}", flush=True)
            finally:
                subprocess.run(["umount", mount], check=False)
                server.wait()


main()
