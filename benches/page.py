#!/usr/bin/env python3
"""page.py OUT.html [--binary target/archive/ralph-memory] [--entries 1000,10000] [--notes 1000] [--peers DIR] [--readme README.md]

Writes one HTML page that compares this program with ripgrep, SQLite FTS5 and the other memories that can be installed here: speed on a
corpus that it makes, ranking on the judged sets in fixtures/, memory and disk; and a line for each claim of the README. Progress goes to
stderr, and a summary as markdown to stdout. With --self-test it measures nothing, and checks charts, the client of MCP servers, and that
the claims are those of the README.
"""
import argparse
import contextlib
import datetime
import html
import json
import math
import os
import re
import resource
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import tomllib

sys.dont_write_bytecode = True
import corpus  # noqa: E402
import peers  # noqa: E402
import ranking  # noqa: E402
import table  # noqa: E402
from table import Failed, number, say  # noqa: E402

OURS, RG, FTS5 = "ralph-memory", "rg", "SQLite FTS5"
ROUNDS = 3  # Searches of a peer, of each of three queries.


# Charts

STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5a626b; --line: #c9ced4; --back: #fff; --ours: #0b62b5; --other: #8a929b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #a3acb5; --line: #3c434b; --back: #15181b; --ours: #6db3f2; --other: #7b848d; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 66rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } figure { margin: 1rem 0; } figcaption { font-weight: 600; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } svg .soft { fill: var(--soft); }
svg .group { font-weight: 600; } svg line { stroke: var(--line); } svg rect { fill: var(--other); } svg rect.ours { fill: var(--ours); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; } th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: left;
vertical-align: top; } td.n, th.n { text-align: right; white-space: nowrap; } .numbers td:first-child { white-space: nowrap; } code, pre { font: .85em ui-monospace, monospace; } pre { overflow-x: auto; }
"""
WIDTH, LEFT, RIGHT, ROW, GROUP = 760, 190, 70, 20, 24


def escape(text):
    return html.escape(str(text), quote=True)


def prose(text):
    """Escaped, with `code` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def ticks(largest, smallest=None):
    """Round values from 0 to at least the largest; powers of ten around both if there is a smallest."""
    if smallest is not None:
        low = math.floor(math.log10(smallest))
        return [10.0 ** e for e in range(low, max(low + 1, math.ceil(math.log10(largest))) + 1)]
    step = 10 ** math.floor(math.log10(largest or 1))
    step = next(s for s in (step / 5, step / 2, step, step * 2) if largest <= 6 * s)
    return [step * i for i in range(math.ceil(largest / step - 1e-9) + 1)]


def chart(title, unit, groups, log=False):
    """Horizontal bars with an axis. `groups` is [(heading, [(label, value)])]; a value of None is a bar that says "not measured"."""
    values = [v for _, bars in groups for _, v in bars if v is not None]
    if not values:
        return ""
    scale = ticks(max(values), max(min(values), 1e-3)) if log else ticks(max(values))
    span = WIDTH - LEFT - RIGHT

    def x(v):
        part = (math.log10(max(v, scale[0]) / scale[0]) / math.log10(scale[-1] / scale[0])) if log else v / scale[-1]
        return LEFT + span * part
    out, y = [], 6
    for heading, bars in groups:
        if heading:
            out.append(f'<text class="group" x="0" y="{y + 15}">{escape(heading)}</text>')
            y += GROUP
        for label, v in bars:
            kind = ' class="ours"' if label.startswith(OURS) else ""
            out.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>')
            if v is None:
                out.append(f'<text class="soft" x="{LEFT + 6}" y="{y + 13}">not measured</text>')
            else:
                out.append(f'<rect{kind} x="{LEFT}" y="{y + 2}" width="{max(1, x(v) - LEFT):.1f}" height="{ROW - 6}"/>')
                out.append(f'<text x="{x(v) + 5:.1f}" y="{y + 13}">{shown(v, unit)}</text>')
            y += ROW
        y += 8
    axis = [f'<line x1="{x(t):.1f}" y1="4" x2="{x(t):.1f}" y2="{y}"/><text class="soft" x="{x(t):.1f}" y="{y + 16}" text-anchor="middle">{t:g}</text>'
            for t in scale]
    name = f"{unit}{', logarithmic scale' if log else ''}"
    axis.append(f'<text class="soft" x="{LEFT + span / 2:.0f}" y="{y + 34}" text-anchor="middle">{escape(name)}</text>')
    return (f'<figure><figcaption>{prose(title)}</figcaption><svg viewBox="0 0 {WIDTH} {y + 42}" role="img" aria-label="{escape(title)}; the table below '
            f'has the values">{"".join(axis + out)}</svg></figure>')


def shown(v, unit=""):
    return "not measured" if v is None else f"{v:.3f}" if unit in METRICS else f"{v:,.0f}" if v >= 1000 else number(v)


METRICS = ("nDCG@10", "recall@10")


class Page:
    """The parts of the page, as HTML, and the tables as markdown besides."""

    def __init__(self):
        self.html, self.markdown = [], []

    def heading(self, text):
        self.html.append(f"<h2>{prose(text)}</h2>")
        self.markdown.append(f"\n## {text}\n")

    def text(self, text):
        self.html.append(f"<p>{prose(text)}</p>")

    def raw(self, part):
        self.html.append(part)

    def table(self, head, rows, numeric=True):
        kind = lambda i: ' class="n"' if i and numeric else ""
        line = lambda tag, cells: "<tr>" + "".join(f"<{tag}{kind(i)}>{prose(c)}</{tag}>" for i, c in enumerate(cells)) + "</tr>"
        name = "numbers" if numeric else "text"
        self.html.append(f'<div class="wide"><table class="{name}"><thead>{line("th", head)}</thead><tbody>{"".join(line("td", r) for r in rows)}</tbody></table></div>')
        lines = table.table(head, rows)
        self.markdown.append(lines if numeric else lines.replace("---:", "---"))

    def document(self):
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
                f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>ralph-memory beside other programs</title><style>{STYLE}</style></head>'
                f'<body><main>{"".join(self.html)}</main></body></html>\n')


# Measures

class Figures:
    """All that is measured. Where something could not be, `missing` says why."""

    def __init__(self, a, scratch, spawn):
        self.a, self.scratch, self.spawn, self.readme = a, scratch, spawn, readme_prose(a.readme)
        self.speed, self.notes, self.ranks, self.sets, self.peers, self.missing = [], {}, {}, [], [], {}
        self.served = {}  # CPU of a question to a server that stays, its start included.
        self.installed = {OURS: os.path.getsize(a.binary)}

    def bench(self, n, folder):
        b = table.Bench(n, folder, self.a.binary, self.spawn, self.a.scale)
        b.part("full build", b.build, "build_cat", "build_mb")
        b.part("FTS5 table", b.fts_build)
        b.part("search", b.cold, "search_rg", "search_ms", "search_wall", "query_mb")
        return b

    def measure_speed(self):
        for n in self.a.entries:
            folder = os.path.join(self.scratch, str(n))
            os.makedirs(folder)
            say(f"  {n}: writing the store")
            corpus.generate(folder, n, self.a.seed)
            self.speed.append(self.bench(n, folder))

    def measure_notes(self):
        """The same notes for this program, FTS5 and each peer."""
        source, root = os.path.join(self.scratch, "corpus"), os.path.join(self.scratch, "notes")
        os.makedirs(source)
        corpus.generate(source, self.a.notes, self.a.seed)
        docs = [dict(zip(("title", "tags", "body"), table.parse(p)), id=p) for p in table.files([os.path.join(source, ".ralph")])]
        for d in docs:
            d["tags"] = [t.strip() for t in d["tags"].split(",")] if d["tags"] else ["note"]
        self.write(docs, root)
        os.makedirs(os.path.join(root, ".ralph", "journal"))
        shutil.copy(os.path.join(source, "queries.jsonl"), root)
        b = self.bench(self.a.notes, root)
        self.queries = b.queries
        self.all_bytes = sum(map(os.path.getsize, table.files(b.paths)))
        get = lambda name: getattr(b.cells.get(name), "value", None)
        cache = os.path.join(root, ".ralph", "cache")
        self.notes[OURS] = {"take": getattr(b, "build_cpu", None), "take_wall": getattr(b, "build_wall", None), "search": get("search_ms"),
                            "search_wall": get("search_wall"), "search_mb": get("query_mb"), "take_mb": get("build_mb"), "disk": table.size(cache) / 1e6}
        self.notes[FTS5] = {"take": b.fts["read"] + b.fts["build"], "search": b.fts.get("ten"), "search_wall": b.fts.get("ten_wall"), "disk": b.fts["mb"]}
        for p in self.peers:
            self.attempt(p, "notes", lambda: self.notes.update({p.name: self.peer_notes(p, root)}))
        self.root = root
        say(f"    {self.notes}")

    def write(self, docs, root):
        return ranking.write_store(docs, root)

    def attempt(self, peer, what, f):
        """What a peer fails at is a line on the page."""
        say(f"  {peer.name}: {what}")
        try:
            f()
        except (Failed, OSError, ValueError, KeyError) as e:
            say(f"    not measured: {e}")
            self.missing[peer.name] = f"{what}: {type(e).__name__} {e}"[:300]

    def home(self, peer, root):
        home = os.path.join(root, peer.name)
        shutil.copytree(os.path.join(root, ".ralph", "knowledge"), os.path.join(home, "notes"))
        return home

    def peer_notes(self, peer, root):
        home = self.home(peer, root)
        took, runs, found = peer.take(home), [], 0
        for q in self.queries[:3]:
            same = []
            for _ in range(ROUNDS):
                same.append(peer.search(home, q))
                found += peer.found()
            runs.append(same)
        if not found:
            raise Failed("no search found anything")
        least = lambda key: sum(min(getattr(r, key) for r in same) for same in runs) / len(runs)
        return {"take": took.cpu, "take_wall": took.wall, "take_mb": took.mb, "search": least("cpu"), "search_wall": least("wall"),
                "search_mb": max(r.mb for same in runs for r in same), "disk": peer.disk(home) / 1e6}

    def measure_ranking(self):
        golden = ranking.read_golden(os.path.join(table.ROOT, "fixtures", "search"), ())
        self.sets = [golden, *(ranking.read_set(os.path.join(ranking.OWN, name), name) for name in sorted(os.listdir(ranking.OWN)))]
        program = ranking.Program(self.a.binary, [])
        for s in self.sets:
            say(f"  {s.name}: ranking")
            root = os.path.join(self.scratch, "set-" + s.name)
            ids = self.write(s.docs, root)
            runs = {OURS: ranking.documents(ranking.named(program.run(root, s.queries), ids)), FTS5: ranking.fts5(s.docs, s.queries, "porter unicode61")}
            for p in self.peers:
                def ask(p=p):
                    home = self.home(p, root)
                    p.take(home)
                    before = children_ms()
                    run = p.ask(home, s.queries)
                    self.served[p.name] = (children_ms() - before) / len(s.queries)
                    runs[p.name] = {q: [ids["knowledge/" + d] for d in l] for q, l in run.items()}
                self.attempt(p, f"ranking of {s.name}", ask)
            self.ranks[s.name] = {name: ranking.mean(ranking.evaluate(s.qrels, run)) for name, run in runs.items()}
            say(f"    {self.ranks[s.name]}")
        if program.failures:
            raise SystemExit(f"{len(program.failures)} searches failed; the first: {program.failures[0]}")

    def measure_peers(self, folder):
        for kind in peers.PEERS:
            peer = kind(folder, self.spawn)
            say(f"  {peer.name}: installing")
            try:
                peer.install()
            except peers.Absent as e:
                self.missing[peer.name] = str(e)
                continue
            self.peers.append(peer)
            self.installed[peer.name] = peer.installed()


def children_ms():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


# The README's claims

def measure_claims(f):
    """What the claims need besides: {name: text}."""
    # A copy, so that no other process is counted as one of these.
    root, program = os.path.join(f.scratch, "claims"), os.path.join(f.scratch, "claimed-program")
    os.makedirs(root)
    shutil.copy(f.a.binary, program)
    env = {**ranking.Program(program, []).env, "HOME": root}

    def run(*args, at=root, **kw):
        r = subprocess.run([program, "--root", at, *args], capture_output=True, text=True, env=env, **kw)
        if r.returncode:
            raise Failed(f"exit {r.returncode} from {' '.join(args)[:80]}: {r.stderr[:200]}")
        return r.stdout

    store = lambda: {p for p in table.names(os.path.join(root, ".ralph")) if p.endswith(".md") and p.startswith(("knowledge", "journal"))}
    got = {}
    run("init")
    before = store()
    run("add", "Integration tests need port 5433", "--body", "The test database listens on 5433.")
    fact = store() - before
    for approach in ("Raised the timeout", "Sent a byte each second", "Opened a second connection"):
        run("record", "--task", "Keep connections open", "--outcome", "failed",
            input=f"<failure-report>\nwhat_tried: {approach}\nwhy_failed: The server closes idle connections\n</failure-report>\n")
    attempts = store() - before - fact
    context = run("context", "Keep connections open")
    got["files"] = f"{len(fact)} file for a fact, {len(attempts)} for three attempts"
    got["attempts"] = f"`context` names {sum(a in context for a in ('Raised the timeout', 'Sent a byte each second', 'Opened a second connection'))} of 3 failed approaches"
    alive = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            alive += os.readlink(f"/proc/{pid}/exe") == program
    got["processes"] = f"{alive} processes are left after these commands"
    search = lambda q: [h["id"] for h in json.loads(run("search", "--limit", "10", "--json", "--", q, at=f.root))["entries"]]
    questions = f.queries[:20]
    first = list(map(search, questions))
    shutil.rmtree(os.path.join(f.root, ".ralph", "cache"))
    got["derived"] = f"after `.ralph/cache` was removed, {sum(a == search(q) for a, q in zip(first, questions))} of {len(questions)} searches answer the same"
    text = run("context", "--task", questions[0][:100], at=f.root)
    got["context"] = f"with {f.a.notes:,} notes of {f.all_bytes / 1e6:.1f} MB, `context` prints {len(text.encode()) / 1e3:.0f} KB"
    return got


def ranked(f, *names):
    golden = f.ranks.get("golden", {})
    return "nDCG@10 on golden: " + ", ".join(f"{n} {shown(golden[n][0] if n in golden else None, 'nDCG@10')}" for n in names)


def release(f):
    with open(os.path.join(table.ROOT, "Cargo.toml"), "rb") as file:
        return tomllib.load(file)["package"]


def unmeasured(name):
    return "not measured: " + dict(peers.UNMEASURED)[name]


def basic_memory(f):
    p = next((p for p in f.peers if p.name == "basic-memory"), None)
    if not p:
        return f"not measured: {f.missing['basic-memory']}"
    return f"{p.version} is measured here. {ranked(f, OURS, p.name)}; a search costs {ratio(f, p.name, 'search')} of this program's"


def ratio(f, name, key):
    ours, theirs = f.notes[OURS][key], f.notes.get(name, {}).get(key)
    return f"{number(theirs / ours)} times the CPU time" if ours and theirs else "not measured"


# A phrase of the README, what is measured for it, and the figure.
CLAIMS = (
    ("Rust 1.89 or newer", "`rust-version` of the package, which Cargo holds", lambda f: release(f)["rust-version"]),
    ("Each fact and each attempt is one markdown file", "files after one `add` and three `record`", lambda f: f.claims["files"]),
    ("There is no daemon", "processes of the program after these commands", lambda f: f.claims["processes"]),
    ("The search index is derived from the files, so you can delete it", "searches before and after its folder is removed", lambda f: f.claims["derived"]),
    ("a few dozen lines", "no figure: whether a file suffices is a judgement", lambda f: "–"),
    ("a thousand facts, of which an agent gets those that match its task", "size of a context beside that of all notes; ranking",
     lambda f: f"{f.claims['context']}; recall@10 on golden {shown(f.ranks['golden'][OURS][2], 'recall@10')}"),
    ("Claude Code's own memory (2.1)", "", lambda f: unmeasured("Claude Code's own memory")),
    ("claude-mem (13.25)", "", lambda f: unmeasured("claude-mem")),
    ("mem0 (2.2)", "", lambda f: unmeasured("mem0")),
    ("basic-memory (0.24)", "ranking and search on the same notes", basic_memory),
    ("which approach failed three times", "approaches that a context names after three failed attempts", lambda f: f.claims["attempts"]),
    ("beads (1.3)", "", lambda f: unmeasured("beads")),
)
NAMES = ("Apache 2.0",)  # Numbers that claim nothing.
NUMBER = re.compile(r"\b\d[\d.,]*\b|\b(?:hundred|thousand|million|dozen|twice|times)s?\b|\b\w+(?:er|est) than\b", re.I)


def readme_prose(path):
    """The README without code blocks, addresses, and line breaks."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"^```.*?^```$", "", f.read(), flags=re.M | re.S)
    return " ".join(re.sub(r"\]\([^)]*\)|`[^`]*`", lambda m: "]" if m[0][0] == "]" else m[0], text).split())


def check_claims(text):
    """Claims whose phrase is gone from the README, and numbers of the README that no claim has."""
    gone = [phrase for phrase, *_ in CLAIMS if phrase not in text]
    for phrase in (*NAMES, *(p for p, *_ in CLAIMS)):
        text = text.replace(phrase, "")
    return gone, [text[max(0, m.start() - 40):m.end() + 40].strip() for m in NUMBER.finditer(text)]


# The page

def write_page(f, load):
    page = Page()
    page.raw("<h1>ralph-memory beside other programs</h1>")
    page.text(f"Measured on {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d at %H:%M} UTC with `python3 benches/page.py {shlex.join(f.a.given)}`, on {table.machine()}; load "
              f"{load:.1f} before and {os.getloadavg()[0]:.1f} after. Other work only ever adds: CPU times are minima, and ratios hold where milliseconds do not.")
    versions(page, f)
    speed(page, f)
    beside(page, f)
    rank(page, f)
    claims(page, f)
    return page


def versions(page, f):
    page.heading("What is measured")
    rows = [[OURS, table.version(f.a.binary, "--version").split()[-1], "`index --rebuild` over the files; `search --limit 10 --json` in a new process, which looks first which files changed"],
            [RG, table.version(RG, "--version").split()[-1], "`rg -j1 --no-ignore -l WORD` over the same files, for a word that stands nowhere. It lists files and ranks none"],
            [FTS5, sqlite3.sqlite_version, f"a table with porter stemming, filled by Python; `sqlite3` {table.version('sqlite3', '--version').split()[0]} in a new process asks for the first "
             "ten words, joined by OR. It never looks whether files changed"]]
    rows += [[p.name, p.version, f"{p.package}. {p.way[0].upper()}{p.way[1:]}"] for p in f.peers]
    rows += [[name, "–", f"not measured: {why}"] for name, why in (*((n, w) for n, w in f.missing.items()), *peers.UNMEASURED)]
    page.table(["program", "version", "how"], rows, numeric=False)


def speed(page, f):
    page.heading("Search and build by size")
    page.text("`corpus.py` writes the entries: a quarter knowledge, three quarters attempts, 2 KB each. User plus system time of whole processes.")
    value = lambda b, k: getattr(b.cells.get(k), "value", None)
    rg = lambda b: value(b, "search_ms") / value(b, "search_rg") if value(b, "search_rg") else None
    groups = [(f"{b.n:,} entries", [(OURS, value(b, "search_ms")), (RG, rg(b)), (FTS5, b.fts.get("ten"))]) for b in f.speed]
    page.raw(chart("A search in a new process", "ms of CPU time", groups))
    head = ["", *(f"{b.n:,} entries" for b in f.speed)]
    row = lambda name, get: [name, *(shown(get(b)) for b in f.speed)]
    quotient = lambda a, b: a / b if a and b else None
    page.table(head, [
        row("`search`, ms CPU", lambda b: value(b, "search_ms")), row("`search`, ms elapsed", lambda b: value(b, "search_wall")),
        row("`search` ÷ `rg`", lambda b: value(b, "search_rg")), row("`search` ÷ `sqlite3`, first ten words", lambda b: quotient(value(b, "search_ms"), b.fts.get("ten"))),
        row("`search` ÷ `sqlite3`, all words", lambda b: quotient(value(b, "search_ms"), b.fts.get("every"))),
        row("full build ÷ `find` and `cat`", lambda b: value(b, "build_cat")),
        row("full build, ms CPU", lambda b: getattr(b, "build_cpu", None)), row("FTS5 build with reading in Python, ms CPU", lambda b: b.fts.get("read", 0) + b.fts.get("build", 0)),
        row("peak memory of a search, MB", lambda b: value(b, "query_mb")), row("peak memory of a build, MB", lambda b: value(b, "build_mb")),
        row("index, MB", lambda b: table.size(os.path.join(b.store, "cache")) / 1e6), row("FTS5 database, which holds the text too, MB", lambda b: b.fts.get("mb"))])


def beside(page, f):
    page.heading(f"The same {f.a.notes:,} notes")
    page.text("Each program gets the same notes, as markdown files where it reads files. Taking over is done once, and of searches in new processes each of three queries counts by its "
              f"least of {ROUNDS} runs (this program and FTS5: of ten queries, as above).")
    names = [OURS, FTS5, *(k.name for k in peers.PEERS)]
    get = lambda n, k: f.notes.get(n, {}).get(k)
    for title, unit, key, log in (("Time to take the notes over", "ms of CPU time", "take", True), ("A search in a new process, of the notes", "ms of CPU time", "search", True),
                                  ("Peak memory of a search", "MB", "search_mb", False), ("Disk besides the notes", "MB", "disk", False)):
        page.raw(chart(title, unit, [("", [(n, get(n, key)) for n in names])], log))
    columns = (("take over, ms CPU", "take"), ("elapsed", "take_wall"), ("MB", "take_mb"), ("search, ms CPU", "search"), ("elapsed", "search_wall"), ("MB", "search_mb"), ("disk, MB", "disk"))
    rows = [[n, *(shown(get(n, k)) for _, k in columns), shown(f.installed[n] / 1e6) if n in f.installed else "–"] for n in names]
    page.table(["", *(c for c, _ in columns), "installed, MB"], rows)
    for name, ms in f.served.items():
        page.text(f"A client that keeps the server of {name} running pays {number(ms)} ms of CPU time for a question of the ranking, the server's start included.")
    page.text("The file of server-memory and the database of FTS5 hold the notes' text too. FTS5 is built inside Python, whose memory would hide its own.")


def rank(page, f):
    page.heading("Ranking")
    names = [OURS, FTS5, *(k.name for k in peers.PEERS)]
    page.text("Judged sets of this project: tasks of a loop over entries of its memory (golden), and questions of people who have not read the entries. Every program has the same entries "
              "and gets the same text, as far as the table above says nothing else. 1 is perfect. The tasks' features and files, which `ralph-memory` can use, are left out.")
    about = lambda s: f"{s.name}: {len(s.qrels)} questions, {len(s.docs)} entries"
    get = lambda s, n, i: f.ranks[s.name][n][i] if n in f.ranks[s.name] else None
    for metric, i in (("nDCG@10", 0), ("recall@10", 2)):
        page.raw(chart(f"{metric}, more is better", metric, [(about(s), [(n, get(s, n, i)) for n in names]) for s in f.sets]))
    page.table(["nDCG@10 / recall@10", *(about(s) for s in f.sets)],
               [[n, *(f"{shown(get(s, n, 0), 'nDCG@10')} / {shown(get(s, n, 2), 'recall@10')}" for s in f.sets)] for n in names])


def claims(page, f):
    page.heading("What the README claims")
    gone, bare = check_claims(f.readme)
    rows = [[f"… {phrase} …", measure or "–", figure(f)] for phrase, measure, figure in CLAIMS if phrase not in gone]
    rows += [[f"… {b} …", "–", "no line here yet"] for b in bare]
    page.table(["claim", "measure", "figure"], rows, numeric=False)


# Tests

FAKE = r"""
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        print("not JSON")
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message"}))
        bad = m.get("params", {}).get("name") == "bad"
        print(json.dumps({"id": m["id"], "result": {"isError": bad, "content": [{"type": "text", "text": json.dumps(m["params"].get("arguments"))}]}}), flush=True)
"""


def self_test(readme):
    """The failures."""
    wrong = []
    expect = lambda got, want, what: got == want or wrong.append(f"{what}: {got!r}, not {want!r}")
    expect(ticks(.8), [0, .2, .4, .6000000000000001, .8], "ticks to .8")
    expect(ticks(130), [0, 50, 100, 150], "ticks to 130")
    expect(ticks(1300, 4), [1, 10, 100, 1000, 10000], "logarithmic ticks")
    for log, second, widths in ((False, 50, [500.0, 250.0]), (True, 10, [500.0, 250.0])):
        drawn = chart("t", "ms", [("g", [("a", 100), ("b", second), ("<c>", 1)])], log)
        expect([float(w) for w in re.findall(r'<rect[^>]* width="([\d.]+)"', drawn)][:2], widths, f"bars, {'logarithmic' if log else 'linear'}")
        expect("&lt;c&gt;" in drawn and "<c>" not in drawn, True, "escaped labels")
    expect("not measured" in chart("t", "ms", [("", [("a", 1), ("b", None)])]), True, "a bar without a value")
    with peers.Server([sys.executable, "-c", FAKE]) as server:
        expect([json.loads(server.call("t", {"n": i})) for i in range(3)], [{"n": i} for i in range(3)], "a server's answers")
        try:
            server.call("bad", {})
            wrong.append("a server's error is no failure")
        except Failed:
            pass
    page = Page()
    page.table(["a"], [["`x` <b>"]])
    page.raw(chart("t", "ms", [("", [("a", 1)])]))
    expect(re.findall(r'\b(?:src|href)=|url\(|<script|<link|@import|https?:', page.document()), [], "requests of the page")
    expect("<code>x</code> &lt;b&gt;" in page.document(), True, "escaped cells")
    gone, bare = check_claims(readme_prose(readme))
    wrong += [f"the README no longer says: {g}" for g in gone] + [f"a claim of the README has no line: {b}" for b in bare]
    expect(len(check_claims(readme_prose(readme) + " It is faster than 3 others.")[1]) - len(bare), 2, "an added claim is seen")
    return wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", nargs="?", metavar="OUT.html")
    p.add_argument("--binary", default=os.path.join(table.ROOT, "target", "archive", "ralph-memory"))
    p.add_argument("--entries", default="1000,10000", help="the sizes beside rg and FTS5")
    p.add_argument("--notes", type=int, default=1000, help="the number of notes that each peer takes over")
    p.add_argument("--peers", metavar="DIR", help="keep the peers here and use them again; else a temporary folder")
    p.add_argument("--readme", default=os.path.join(table.ROOT, "README.md"))
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--scale", type=float, default=1, help="times the usual number of runs")
    p.add_argument("--self-test", action="store_true")
    a = p.parse_args()
    if a.self_test:
        wrong = self_test(a.readme)
        print("\n".join(wrong) or "passed")
        return bool(wrong)
    a.out or p.error("name the page to write")
    a.given = [os.path.basename(x) if os.sep in x else x for x in sys.argv[1:]]
    a.binary = os.path.abspath(shutil.which(a.binary) or p.error(f"{a.binary} is not there: cargo build --profile archive"))
    a.entries = [int(n) for n in a.entries.split(",")]
    for tool in (RG, "sqlite3"):
        shutil.which(tool) or p.error(f"{tool} is not installed")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="ralph-memory-page-") as scratch:
        spawn = table.Spawner(scratch)
        try:
            f = Figures(a, scratch, spawn)
            f.measure_peers(os.path.abspath(a.peers or os.path.join(scratch, "peers")))
            f.measure_speed()
            f.measure_notes()
            f.measure_ranking()
            f.claims = measure_claims(f)
            page = write_page(f, load)
        finally:
            spawn.close()
    with open(a.out, "w", encoding="utf-8") as file:
        file.write(page.document())
    print("\n".join(page.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
