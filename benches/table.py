#!/usr/bin/env python3
"""table.py [--entries 1000,10000,100000] [--binary target/archive/ralph-memory] [--dir DIR] [--check]

Fills in the speed table of the design: every measure with its goal beside it, as markdown on stdout, with ripgrep and an FTS5 table of the
same files measured in the same run. Progress goes to stderr. With --check it exits 1 if a cell misses its goal.
"""
import argparse
import json
import os
import platform
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import corpus  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ABSENT = "qzxwordthatstandsnowhere"
SIZES = (1000, 10000, 100000)
# The goals, by number of entries.
GOALS = {
    "search_rg": (.5, .35, .35), "search_ms": (5, 20, 200), "warm_p50": (.15, .3, 1.5), "warm_p99": (.5, .8, 4), "build_cat": (None, 6, 6),
    "add_ms": (10, 15, 20), "begin_search": (3, 3, 3), "query_mb": (15, 18, 25), "build_mb": (40, 70, 160),
}

# Starts the measured processes. A process of its own, because a child's peak memory counts that of the process which started it (the
# kernel carries it over exec): this one loads nothing, so what it adds stays under what is measured. Reads a list of arguments and an
# output file a line; answers status, wall seconds, user plus system seconds (the child's and those it waited for), peak memory in KiB.
SPAWNER = r"""
import posix, time
buffer = b""
null = posix.open("/dev/null", 2)
while True:
    while b"\n" not in buffer:
        more = posix.read(0, 65536)
        if not more: posix._exit(0)
        buffer += more
    line, buffer = buffer.split(b"\n", 1)
    argv, out, err = eval(line.decode())
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC
    o = posix.open(out, flags, 0o600) if out else null
    e = posix.open(err, flags, 0o600)
    start = time.perf_counter()
    pid = posix.posix_spawn(argv[0], argv, posix.environ, file_actions=[(posix.POSIX_SPAWN_DUP2, null, 0), (posix.POSIX_SPAWN_DUP2, o, 1),
                                                                       (posix.POSIX_SPAWN_DUP2, e, 2)])
    _, status, used = posix.wait4(pid, 0)
    wall = time.perf_counter() - start
    if out: posix.close(o)
    posix.close(e)
    posix.write(1, (repr((posix.waitstatus_to_exitcode(status), wall, used.ru_utime + used.ru_stime, used.ru_maxrss)) + "\n").encode())
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


class Run:
    def __init__(self, code, wall, cpu, kib):
        self.code, self.wall, self.cpu, self.mb = code, wall * 1000, cpu * 1000, kib / 1024


class Spawner:
    def __init__(self, scratch):
        self.out, self.err = os.path.join(scratch, "out"), os.path.join(scratch, "err")
        env = {k: v for k, v in os.environ.items() if not k.startswith("RALPH_")} | {"XDG_DATA_HOME": os.devnull}
        self.process = subprocess.Popen([sys.executable, "-I", "-S", "-c", SPAWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    def __call__(self, *argv, ok=(0,), keep=False):
        argv = [str(a) for a in argv]
        argv[0] = shutil.which(argv[0]) or argv[0]
        self.process.stdin.write((repr((argv, self.out if keep else None, self.err)) + "\n").encode())
        self.process.stdin.flush()
        r = Run(*eval(self.process.stdout.readline()))
        if r.code not in ok:
            raise Failed(f"exit {r.code} from `{os.path.basename(argv[0])} {' '.join(argv[1:])[:200]}`: {self.errors()[:300]}")
        return r

    def errors(self):
        with open(self.err, errors="replace") as f:
            return " ".join(f.read().split())

    def output(self):
        with open(self.out, errors="replace") as f:
            return f.read()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Failed(Exception):
    pass


class Cell:
    """A measured value; without one, why there is none."""

    def __init__(self, value=None, why=""):
        self.value, self.why = value, why


def number(x):
    return f"{x:.3f}" if x < .1 else f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:.0f}"


class Bench:
    def __init__(self, entries, folder, binary, spawn, scale):
        self.n, self.dir, self.binary, self.spawn, self.scale = entries, folder, binary, spawn, scale
        self.cells, self.fts, self.notes = {}, {}, []
        self.store = os.path.join(folder, ".ralph")
        self.paths = [os.path.join(self.store, d) for d in ("knowledge", "journal")]
        with open(os.path.join(folder, "queries.jsonl"), encoding="utf-8") as f:
            self.queries = [json.loads(l)["text"] for l in f]

    def ralph(self, *args, **kw):
        return self.spawn(self.binary, "--root", self.dir, *args, **kw)

    def search(self, text, **kw):
        return self.ralph("search", "--limit", "10", "--json", "--", text, ok=(0, 1), **kw)

    def rounds(self, small, middle, large):
        n = small if self.n <= 2000 else middle if self.n <= 20000 else large
        return max(2, round(n * self.scale))

    def part(self, name, f, *keys):
        say(f"  {self.n}: {name}")
        try:
            f()
        except (Failed, OSError) as e:
            say(f"    not measured: {e}")
            for k in keys:
                self.cells.setdefault(k, Cell(why=str(e)))

    def all(self):
        self.part("full build", self.build, "build_cat", "build_mb")
        self.part("FTS5 table", self.fts_build)
        self.part("cold search", self.cold, "search_rg", "search_ms", "query_mb")
        self.part("warm query", self.warm, "warm_p50", "warm_p99")
        self.part("begin", self.begin, "begin_search")
        self.part("add", self.add, "add_ms")

    def build(self):
        cache = os.path.join(self.store, "cache")
        folders = " ".join("'" + p.replace("'", "'\\''") + "'" for p in self.paths)
        every = f"find {folders} -type f -name '*.md' -print0"
        ours, cats, bare = [], [], []
        listing = os.path.join(self.dir, "files.list")
        self.spawn("sh", "-c", f"{every} > '{listing}'")
        self.spawn("sh", "-c", f"{every} | xargs -0 cat > /dev/null")
        for _ in range(self.rounds(7, 5, 3)):
            shutil.rmtree(cache, ignore_errors=True)
            ours.append(self.ralph("index", "--rebuild"))
            cats.append(self.spawn("sh", "-c", f"{every} | xargs -0 cat > /dev/null"))
            bare.append(self.spawn("sh", "-c", f"xargs -0 cat < '{listing}' > /dev/null"))
        os.remove(listing)
        cpu, cat = min(r.cpu for r in ours), min(r.cpu for r in cats)
        self.build_cpu, self.build_wall = cpu, min(r.wall for r in ours)
        self.cells["build_cat"] = Cell(cpu / cat)
        self.cells["build_mb"] = Cell(max(r.mb for r in ours))
        self.notes.append(f"build: {cpu:.0f} ms CPU, {min(r.wall for r in ours):.0f} ms wall, {self.n / cpu * 1000:,.0f} entries a CPU second; "
                          f"`find` and `cat` {cat:.0f} ms CPU (`cat` given the list: {min(r.cpu for r in bare):.0f}); cache "
                          f"{size(cache) / 1e6:.1f} MB")

    def cold(self):
        """Queries in turn; each query's minimum over the rounds, then the mean of these minima. Interleaved with the others."""
        queries = self.queries[:10]
        rg = lambda: self.spawn("rg", "-j1", "--no-ignore", "-l", ABSENT, *self.paths, ok=(1,))
        # The first calls bring the catalog up to date (files just written are racy) and the pages into memory.
        self.search(queries[0])
        time.sleep(.1)
        self.search(queries[0], keep=True)
        try:
            hits = json.loads(self.spawn.output())["entries"]
        except (ValueError, KeyError, TypeError):
            raise Failed("search --json did not print an object with hits") from None
        if not hits:
            raise Failed("a known-item query found nothing")
        others = {"rg": lambda q: rg()}
        if self.fts:
            others["ten"] = lambda q: self.cli(q, 10)
            others["every"] = lambda q: self.cli(q, None)
        runs = {name: [[] for _ in queries] for name in ("search", *others)}
        for r in range(self.rounds(12, 8, 4)):
            for i, q in enumerate(queries):
                runs["search"][i].append(self.search(q))
                for name, f in others.items():
                    if name == "rg" or r < max(2, self.rounds(12, 8, 4) // 2):
                        runs[name][i].append(f(q))
        cpu = {n: statistics.mean(min(x.cpu for x in q) for q in l) for n, l in runs.items()}
        wall = {n: statistics.mean(min(x.wall for x in q) for q in l) for n, l in runs.items()}
        # rg does the same work each time, so its minimum is over all runs: the stricter side of the ratio.
        cpu["rg"], wall["rg"] = (min(min(getattr(x, k) for x in q) for q in runs["rg"]) for k in ("cpu", "wall"))
        flat = [x for q in runs["search"] for x in q]
        self.search_cpu, self.search_wall = cpu["search"], wall["search"]
        self.cells["search_rg"] = Cell(cpu["search"] / cpu["rg"])
        self.cells["search_ms"] = Cell(cpu["search"])
        self.cells["search_wall"] = Cell(wall["search"])
        self.cells["query_mb"] = Cell(max(x.mb for x in flat))
        self.notes.append(f"search: {cpu['search']:.2f} ms CPU, {wall['search']:.2f} ms wall (least of any run {min(x.cpu for x in flat):.2f} and "
                          f"{min(x.wall for x in flat):.2f}, median {statistics.median(x.cpu for x in flat):.2f} and "
                          f"{statistics.median(x.wall for x in flat):.2f}); rg {cpu['rg']:.2f} ms CPU, {wall['rg']:.2f} ms wall")
        if self.fts:
            self.fts.update(search=cpu["search"], search_wall=wall["search"], ten=cpu["ten"], ten_wall=wall["ten"], every=cpu["every"],
                            every_wall=wall["every"])

    def begin(self):
        task = [q.split() for q in self.queries[10:16]]
        # A task that was tried, in a run that is under way: every section has something to say.
        tried = self.tried(len(task))
        help_ = subprocess.run([self.binary, "context", "--help"], capture_output=True, text=True)
        if help_.returncode:
            raise Failed("no `context` command yet")
        before = self.snapshot()
        runs, alone = [[] for _ in task], [[] for _ in task]
        try:
            for _ in range(self.rounds(8, 6, 3)):
                for i, t in enumerate(task):
                    runs[i].append(self.ralph("context", "--task=" + " ".join(t[:8]), "--description=" + " ".join(t[8:]), *tried[i]))
                    alone[i].append(self.search(" ".join(t)))
                    self.restore(before, ["state"])
        finally:
            self.restore(before)
        ours, search = (statistics.mean(min(x.cpu for x in q) for q in l) for l in (runs, alone))
        self.cells["begin_search"] = Cell(ours / search)
        self.notes.append(f"begin: {ours:.2f} ms CPU, {statistics.mean(min(x.wall for x in q) for q in runs):.2f} ms wall; search for the same "
                          f"text {search:.2f} ms CPU; the peak memory of begin {max(x.mb for q in runs for x in q):.1f} MB")

    def tried(self, n):
        """The runs with most iterations, each with the task of its last one, as options."""
        journal = os.path.join(self.dir, ".ralph", "journal")
        runs = sorted(os.listdir(journal), key=lambda run: (-len(os.listdir(os.path.join(journal, run))), run))[:n]
        options = []
        for run in runs:
            with open(os.path.join(journal, run, max(os.listdir(os.path.join(journal, run)))), encoding="utf-8") as file:
                options.append(["--run=" + run, "--task-id=" + re.search(r"^task_id: \"?([^\s\"]+)", file.read(), re.M)[1]])
        return options

    def add(self):
        w = corpus.Words(987654)
        before = self.snapshot()
        adds, scans, syncs, odd = [], [], [], 0
        probe = os.path.join(self.dir, "fsync-probe")
        try:
            for i in range(self.rounds(30, 25, 12)):
                topic, rare = w.pick(w.topics), w.rare()
                title = w.title(topic, rare) + f" probe {int(w.random() * 1e9):x}"
                body = "\n\n".join(w.text(200, topic, rare))
                adds.append(self.ralph("add", "--json", f"--tags=probe{i},{rare[0].strip('-').lower()}", "--body=" + body, "--", title, keep=True))
                try:
                    odd += json.loads(self.spawn.output())["action"] != "created"
                except (ValueError, KeyError, TypeError):
                    odd += 1
                syncs.append(fsync_ms(probe))
                scans.append(self.search(self.queries[i % len(self.queries)]))
        finally:
            self.restore(before)
            shutil.rmtree(probe, ignore_errors=True)
        if odd:
            self.notes.append(f"add: {odd} of {len(adds)} calls did not answer `created`")
        least = [min(x) for x in ([r.wall for r in adds], [r.wall for r in scans], syncs)]
        middle = [statistics.median(x) for x in ([r.wall for r in adds], [r.wall for r in scans], syncs)]
        self.cells["add_ms"] = Cell(max(0, least[0] - least[1] - least[2]))
        self.notes.append("add: {:.2f} ms wall − search {:.2f} − one fsync {:.2f} = {:.2f} (minima); ".format(*least, least[0] - least[1] - least[2])
                          + "medians {:.2f} − {:.2f} − {:.2f} = {:.2f}; ".format(*middle, middle[0] - middle[1] - middle[2])
                          + f"{min(r.cpu for r in adds):.2f} ms CPU")

    def warm(self):
        self.search(self.queries[0])
        cargo = ["cargo", "bench", "--quiet", "--manifest-path", os.path.join(ROOT, "Cargo.toml"), "--bench", "memory", "--", "queries"]
        # Cargo runs benches in the project's folder.
        place = os.path.abspath(self.dir)
        best = {}
        for _ in range(4):  # the first builds it
            r = subprocess.run(cargo + [place, os.path.join(place, "queries.jsonl")], capture_output=True, text=True)
            lines = [l for l in r.stdout.splitlines() if l.startswith("{")]
            if r.returncode or not lines:
                raise Failed("queries: " + " ".join((r.stderr or "printed no object").split())[-200:])
            for k, v in json.loads(lines[-1]).items():
                if isinstance(v, (int, float)):
                    best[k] = min(v, best.get(k, v))
        self.cells["warm_p50"], self.cells["warm_p99"] = Cell(best["p50_ms"]), Cell(best["p99_ms"])

    # FTS5

    def fts_build(self):
        self.db = os.path.join(self.dir, "fts.db")
        for end in ("", "-journal", "-wal"):
            if os.path.exists(self.db + end):
                os.remove(self.db + end)
        start = time.process_time()
        rows = [(os.path.relpath(p, self.dir), *parse(p)) for p in files(self.paths)]
        read, start = time.process_time() - start, time.process_time()
        db = sqlite3.connect(self.db)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("CREATE VIRTUAL TABLE entry USING fts5(path UNINDEXED, title, tags, body, tokenize = 'porter unicode61')")
        db.executemany("INSERT INTO entry VALUES (?, ?, ?, ?)", rows)
        db.execute("INSERT INTO entry(entry) VALUES ('optimize')")
        db.commit()
        db.close()
        built = time.process_time() - start
        self.fts = {"read": read * 1000, "build": built * 1000, "mb": os.path.getsize(self.db) / 1e6}

    def cli(self, text, first):
        return self.spawn("sqlite3", "-batch", "-init", "/dev/null", self.db,
                          f"SELECT path, rank FROM entry WHERE entry MATCH '{match(text, first)}' ORDER BY rank LIMIT 10")

    # What the measured commands write is taken away again, so that every row and the next run see the same store.

    def snapshot(self):
        return {d: names(os.path.join(self.store, d)) for d in ("knowledge", "journal", "archive", "state")}

    def restore(self, before, which=None):
        for d in which or before:
            top = os.path.join(self.store, d)
            for name in sorted(names(top) - before[d], reverse=True):
                path = os.path.join(top, name)
                if d == "state" and which and "lock" in name:
                    continue
                os.rmdir(path) if os.path.isdir(path) else os.remove(path)


def names(top):
    """Every file and folder under `top`."""
    return {os.path.relpath(os.path.join(at, x), top) for at, folders, inner in os.walk(top) for x in folders + inner}


def files(paths):
    return sorted(os.path.join(at, f) for p in paths for at, _, inner in os.walk(p) for f in inner if f.endswith(".md"))


def parse(path):
    """Title, tags and body, as far as the generator's files need it."""
    with open(path, encoding="utf-8") as f:
        _, head, body = f.read().split("---\n", 2)
    title = re.search(r"^(?:task_)?title: (.*)$", head, re.M)
    tags = re.search(r"^tags: \[(.*)\]$", head, re.M)
    return json.loads(title[1]) if title else "", tags[1] if tags else "", body


def match(text, first):
    """The seeds' query: words of more than 2 characters, the first ten, joined by OR. Without a limit, every distinct word."""
    words = [w for w in text.replace("'", " ").split() if len(w) > 2]
    words = words[:first] if first else list(dict.fromkeys(words))
    return " OR ".join('"' + w.replace('"', '""') + '"' for w in words)


def fsync_ms(probe):
    os.makedirs(probe, exist_ok=True)
    fd = os.open(os.path.join(probe, f"{time.monotonic_ns()}"), os.O_CREAT | os.O_WRONLY)
    try:
        os.write(fd, b"x" * 1024)
        start = time.perf_counter()
        os.fsync(fd)
        return (time.perf_counter() - start) * 1000
    finally:
        os.close(fd)


def size(folder):
    return sum(os.path.getsize(os.path.join(at, f)) for at, _, inner in os.walk(folder) for f in inner)


def version(*argv):
    try:
        r = subprocess.run(argv, capture_output=True, text=True)
        return " ".join((r.stdout.splitlines() or ["?"])[0].split()[:3]) if r.returncode == 0 else "version unknown"
    except OSError:
        return "absent"


def machine():
    try:
        with open("/proc/cpuinfo") as f:
            model = next(l.split(":", 1)[1].strip() for l in f if l.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


class Table:
    def __init__(self, benches):
        self.benches, self.missed, self.empty = benches, 0, 0

    def cell(self, b, keys):
        """Values of one or two keys, each marked if it misses its goal, and the goals."""
        values, goals = [], []
        for k in keys:
            c = b.cells.get(k, Cell(why="?"))
            goal = GOALS.get(k, (None,) * 3)[SIZES.index(b.n)] if b.n in SIZES else None
            goals.append(number_goal(goal))
            if c.value is None:
                values.append("not measured")
                self.empty += 1
            else:
                miss = goal is not None and c.value > goal
                values.append(f"**{number(c.value)}** ✗" if miss else number(c.value))
                self.missed += miss
        shown = "not measured" if set(values) == {"not measured"} else " / ".join(values)
        return shown, " / ".join(goals) if set(goals) != {"–"} else "–"

    def row(self, name, *keys):
        out = [name]
        for b in self.benches:
            out += self.cell(b, keys)
        return out

    def markdown(self):
        head = ["" ] + [x for b in self.benches for x in (f"{b.n:,} entries", "goal")]
        rows = [
            self.row("cold `search`, scan included ÷ `rg`, CPU", "search_rg"),
            self.row("cold `search`, ms CPU", "search_ms"),
            self.row("cold `search`, ms wall", "search_wall"),
            self.row("warm query p50 / p99, ms CPU", "warm_p50", "warm_p99"),
            self.row("full build ÷ `cat` of all files, CPU", "build_cat"),
            self.row("`add` beyond its scan and one fsync, ms wall", "add_ms"),
            self.row("`begin` ÷ cold `search`, CPU", "begin_search"),
            self.row("peak memory: query / build, MB", "query_mb", "build_mb"),
        ]
        return table(head, rows)

    def fts(self):
        head = [""] + [f"{b.n:,} entries" for b in self.benches]
        get = lambda *ks: ["–" if any(k not in b.fts for k in ks) else " / ".join(number(b.fts[k]) for k in ks) for b in self.benches]
        ratio = lambda k: [number(b.fts["search"] / b.fts[k]) if k in b.fts and "search" in b.fts else "–" for b in self.benches]
        ours = [number(b.build_cpu) if hasattr(b, "build_cpu") else "–" for b in self.benches]
        return table(head, [
            ["`ralph-memory search`, all words, scan included: ms CPU / wall", *get("search", "search_wall")],
            ["`sqlite3`, first 10 words, no scan: ms CPU / wall", *get("ten", "ten_wall")],
            ["`sqlite3`, all words, no scan: ms CPU / wall", *get("every", "every_wall")],
            ["`search` ÷ `sqlite3` with the first 10 words, CPU", *ratio("ten")],
            ["`search` ÷ `sqlite3` with all words, CPU", *ratio("every")],
            ["`ralph-memory` full build, reading included, ms CPU", *ours],
            ["FTS5 build: insert and optimize / reading and parsing in Python, ms CPU", *get("build", "read")],
            ["FTS5 database, MB", *get("mb")],
        ])


def number_goal(goal):
    return "–" if goal is None else f"{goal:g}"


def table(head, rows):
    return "\n".join("| " + " | ".join(r) + " |" for r in [head, ["---"] + ["---:"] * (len(head) - 1), *rows])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--entries", default="1000,10000,100000")
    p.add_argument("--binary", default=os.path.join(ROOT, "target", "archive", "ralph-memory"))
    p.add_argument("--dir", help="keep the stores here and use them again; else a temporary folder")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--scale", type=float, default=1, help="times the usual number of runs")
    p.add_argument("--check", action="store_true", help="exit 1 if a cell misses its goal")
    a = p.parse_args()
    try:
        sizes = [int(x) for x in a.entries.split(",")]
    except ValueError:
        p.error("--entries takes numbers with commas between them")
    a.binary = shutil.which(a.binary) or p.error(f"{a.binary} is not there: cargo build --profile archive")
    a.binary = os.path.abspath(a.binary)
    for tool in ("rg", "sqlite3", "find", "xargs", "cat"):
        if not shutil.which(tool):
            p.error(f"{tool} is not installed")
    base = os.path.abspath(a.dir) if a.dir else tempfile.mkdtemp(prefix="ralph-memory-bench-")
    os.makedirs(base, exist_ok=True)
    spawn = None
    load = os.getloadavg()[0]
    try:
        spawn = Spawner(base)
        floor = max(spawn("true").mb for _ in range(3))
        benches = []
        for n in sizes:
            folder = os.path.join(base, str(n))
            if not corpus.ready(folder, n, a.seed):
                say(f"  {n}: writing the store")
                os.makedirs(folder, exist_ok=True)
                corpus.generate(folder, n, a.seed)
            benches.append(Bench(n, folder, a.binary, spawn, a.scale))
            benches[-1].all()
        t = Table(benches)
        print(t.markdown())
        print()
        print(f"✗ misses its goal. {t.missed} missed, {t.empty} not measured.\n")
        print("An FTS5 table (porter) of the same files, in the same run:\n")
        print(t.fts())
        print()
        for b in benches:
            for note in b.notes + sorted({f"not measured: {c.why}" for c in b.cells.values() if c.value is None}):
                print(f"- {b.n:,}: {note.replace(base, 'DIR').replace(ROOT, '.')}")
        print(f"\n{version(a.binary, '--version')}, {version('rg', '--version')}, sqlite3 {version('sqlite3', '--version').split()[0]} (module "
              f"{sqlite3.sqlite_version}), Python {platform.python_version()}. {machine()}; load {load:.1f} before, {os.getloadavg()[0]:.1f} after. "
              f"Peak memory below {floor:.1f} MB cannot be told apart from that.")
        return 1 if a.check and (t.missed or t.empty) else 0
    finally:
        if spawn:
            spawn.close()
        if not a.dir:
            shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
