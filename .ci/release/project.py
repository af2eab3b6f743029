"""What the release scripts know of the project. Names, version and address come from Cargo.toml and stand nowhere else."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Each target with an archive.
TARGETS = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
]


def fail(message):
    sys.exit(f"{Path(sys.argv[0]).name}: {message}")


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


_metadata = json.loads(output("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"))
_package = _metadata["packages"][0]

NAME = _package["name"]
VERSION = _package["version"]
_binstall = _package["metadata"]["binstall"]
TARGET_FOLDER = Path(_metadata["target_directory"])
# What a release consists of.
DIST = TARGET_FOLDER / "dist"


def repository():
    """The repository's address. The variable is for releases that are only tried."""
    address = _package["repository"] or os.environ.get("REPOSITORY")
    if not address:
        fail("there is no address: set `repository` in Cargo.toml, or REPOSITORY=https://… to try a release")
    return address.removesuffix("/").removesuffix(".git")


def _filled(template, target):
    for name, value in {"name": NAME, "version": VERSION, "target": target}.items():
        template = template.replace(f"{{ {name} }}", value)
    return template


def archive(target):
    return DIST / _filled(_binstall["pkg-url"], target).rsplit("/", 1)[1]


def stem(target):
    """The name of the archive's one folder."""
    return _filled(_binstall["bin-dir"], target).split("/")[0]


def notes():
    """The changelog's section of this version."""
    section = re.search(rf"^## \[{re.escape(VERSION)}\].*?\n(.*?)(?=^## |\Z)", (ROOT / "CHANGELOG.md").read_text(), re.DOTALL | re.MULTILINE)
    if not section:
        fail(f"CHANGELOG.md has no section `## [{VERSION}]`")
    return section[1].strip() + "\n"
