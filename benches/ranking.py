#!/usr/bin/env python3
"""ranking.py [--binary PROGRAM] [--sets DIR] [--golden fixtures/search] [--seed 1] [--check --golden-floor X]

Measures the ranking through the command line alone: writes a store of markdown files for each retrieval set, asks `search` every query, and
compares with SQLite FTS5 over the same documents: nDCG@10, recall@5, recall@10, MRR@10, and the paired difference in nDCG@10 with a
bootstrap 95 % interval. Markdown on stdout. With --check it exits 1 if a floor is missed or a query could not be asked.
"""
import argparse
import concurrent.futures
import json
import math
import os
import random
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FLOORS = {"bugs": (.69, .70), "til": (.895, .95), "cacm": (.52, None), "russian": (.96, None),  # nDCG@10, recall@5
          "ukrainian": (.62, None), "thai": (.57, None)}
OWN = os.path.join(ROOT, "fixtures", "retrieval")  # The sets of this project; the others are below --sets.
LOSS = .01  # Of knowledge's recall@10, at most, by a journal beside it.
LAYER_LOSS = .02  # Of nDCG@10, at most, by a division into a memory and a layer.
METRICS = ("nDCG@10", "recall@5", "recall@10", "MRR@10")


def say(text):
    print(text, file=sys.stderr, flush=True)


# Metrics

def metrics(docs, rel):
    """Of one query: the ranked documents, and the grade of each that is relevant (all above 0)."""
    docs = list(dict.fromkeys(docs))[:10]
    dcg = sum((2 ** rel[d] - 1) / math.log2(i + 2) for i, d in enumerate(docs) if d in rel)
    ideal = sum((2 ** g - 1) / math.log2(i + 2) for i, g in enumerate(sorted(rel.values(), reverse=True)[:10]))
    return (dcg / ideal, sum(d in rel for d in docs[:5]) / len(rel), sum(d in rel for d in docs) / len(rel),
            next((1 / (i + 1) for i, d in enumerate(docs) if d in rel), 0.0))


def evaluate(qrels, run):
    """Metrics of each judged query; one that the run does not answer counts as 0."""
    return {q: metrics(run.get(q, []), rel) for q, rel in qrels.items()}


def mean(per):
    return [sum(m[i] for m in per.values()) / max(1, len(per)) for i in range(4)]


def bootstrap(differences, seed, resamples=10000):
    """The 95 % interval of the mean of paired differences."""
    rng, n = random.Random(seed), len(differences)
    means = sorted(sum(rng.choices(differences, k=n)) / n for _ in range(resamples))
    return means[int(resamples * .025)], means[int(resamples * .975) - 1]


# Sets

class Set:
    """Documents {id, title, tags, body}, queries {id, text, arguments}, and the grades {query: {document: grade}}."""

    def __init__(self, name, docs, queries, qrels):
        self.name, self.docs, self.queries, self.qrels, self.note = name, docs, queries, qrels, ""


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(l) for l in f if l.strip()]


def plain(text):
    """Without what a file or YAML cannot hold: control characters, lone surrogates, foreign line ends."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")
    return re.sub("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", " ", text)


def read_set(folder, name):
    docs = []
    for d in lines(os.path.join(folder, "docs.jsonl")):
        body = plain(d["body"])
        title = " ".join(plain(d["title"] or body[:70]).split()) or "untitled"
        docs.append({"id": d["id"], "title": title, "tags": d["tags"] or ["note"], "body": body})
    queries = [{"id": q["id"], "text": q["text"].replace("\0", " "), "arguments": []} for q in lines(os.path.join(folder, "queries.jsonl"))]
    qrels = {}
    for r in lines(os.path.join(folder, "qrels.jsonl")):
        if int(r["rel"]) > 0:
            qrels.setdefault(r["qid"], {})[r["docid"]] = int(r["rel"])
    return Set(name, docs, queries, qrels)


def write_store(documents, root, first=0):
    """One knowledge file a document. The stems are numbers from `first` on: an id may say what the query asks for. Returns {entry id: document id}."""
    os.makedirs(os.path.join(root, ".ralph", "knowledge"))
    with open(os.path.join(root, ".ralph", "config.toml"), "w") as f:
        f.write("format = 1\n")
    ids = {}
    for i, d in enumerate(documents, first):
        quote = lambda s: json.dumps(s, ensure_ascii=False)
        tags = ", ".join(quote(plain(t)) for t in d["tags"])
        with open(os.path.join(root, ".ralph", "knowledge", f"d{i:05}.md"), "w", encoding="utf-8", newline="\n") as f:
            f.write(f'---\ntitle: {quote(d["title"])}\ntags: [{tags}]\ncreated_at: "2026-01-01T00:00:00Z"\n---\n\n{d["body"]}\n')
        ids[f"knowledge/d{i:05}"] = d["id"]
    return ids


def write_attempts(s, n, root, seed):
    """The journal with n attempts, twenty a run: each task is a question of the set, and the report quotes a document that answers it and two
    others."""
    rng, bodies = random.Random(seed), {d["id"]: re.split(r"(?<=[.!?])\s+|\n+", d["body"].strip()) for d in s.docs}
    everything = sorted(bodies)
    for i in range(n):
        q = rng.choice(s.queries)
        quoted = [rng.choice(sorted(s.qrels.get(q["id"], everything))), *rng.sample(everything, 2)]
        passages = [" ".join(rng.sample(bodies[d], min(2, len(bodies[d])))) for d in quoted]
        title, outcome = " ".join(plain(q["text"].split("\n")[0]).split()), rng.choice(("done", "done", "failed"))
        run, number = f"run-{i // 20:08x}", i % 20 + 1
        head = [f"run_id: {run}", f"iteration: {number}", f"task_id: t-{re.sub('[^0-9a-z]', '-', q['id'])}",
                f"task_title: {json.dumps(title, ensure_ascii=False)}", f"outcome: {outcome}", f'started_at: "2026-01-{i % 28 + 1:02}T12:00:00Z"']
        sections = zip(("Summary", "What was tried", "Progress"), passages)
        path = os.path.join(root, ".ralph", "journal", run, f"{number:04}.md")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as f:
            f.write("\n".join(["---", *head, "---", *(f"\n## {name}\n\n> {text}" for name, text in sections), ""]))


def read_entry(path):
    """Title, tags and body of a markdown file, as far as the golden set needs YAML."""
    with open(path, encoding="utf-8-sig") as f:
        text = f.read().replace("\r\n", "\n")
    m = re.match(r"---\n(.*?)\n---\n(.*)", text, re.S)
    if not m:
        return "", [], text
    head, body = m.groups()

    def scalar(s):
        s = s.strip()
        try:
            return str(json.loads(s)) if s[:1] == '"' else s[1:-1].replace("''", "'") if s[:1] == "'" else s
        except ValueError:
            return s.strip('"')
    title = re.search(r"^(?:task_)?title:[ \t]*(.*)$", head, re.M)
    tags = re.search(r"^tags:[ \t]*(.*(?:\n[ \t]*- .*)*)", head, re.M)
    tags = re.findall(r'"[^"]*"|[^\[\],\n]+', re.sub(r"^[ \t]*- ", ",", tags[1], flags=re.M)) if tags else []
    return scalar(title[1]) if title else "", [scalar(t) for t in tags if t.strip()], body


def entry_id(path, store):
    """The id of a file: its kind and stem; a journal file's run besides."""
    parts = os.path.relpath(path, store)[:-3].split(os.sep)
    return f"knowledge/{parts[-1]}" if parts[0] == "knowledge" else "/".join(parts)


def read_golden(folder, options):
    store = os.path.join(folder, ".ralph")
    paths = sorted(os.path.join(at, f) for d in ("knowledge", "journal") for at, _, inner in os.walk(os.path.join(store, d)) for f in inner
                   if f.endswith(".md"))
    docs = [dict(zip(("title", "tags", "body"), read_entry(p)), id=entry_id(p, store)) for p in paths]
    known = {d["id"] for d in docs}
    full = lambda i: i if "/" in i else f"knowledge/{i}"
    queries, qrels = [], {}
    for t in lines(os.path.join(folder, "tasks.jsonl")):
        arguments = []
        if t.get("feature") and "--for-feature" in options:
            arguments += ["--for-feature", t["feature"]]
        if "--file" in options:
            for f in t.get("files") or []:
                arguments += ["--file", f]
        queries.append({"id": str(t["id"]), "text": "\n".join(x for x in (t["title"], t.get("description")) if x), "arguments": arguments})
        rel = {full(d): int(g) for d, g in t["relevant"].items() if int(g) > 0}
        for d in sorted(set(rel) - known):
            say(f"  golden: {t['id']} names {d}, which is not there")
        if rel:
            qrels[str(t["id"])] = rel
    return Set("golden", docs, queries, qrels)


# The two that are compared

class Program:
    def __init__(self, binary, extra, settings=()):
        self.binary, self.extra = binary, extra
        # A person's own memory would be searched, too.
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("RALPH_")} | {"XDG_DATA_HOME": os.devnull}
        for key, value in (s.split("=", 1) for s in settings):
            self.env["RALPH_MEMORY_" + key.replace(".", "__").upper()] = value
        self.failures, self.problems = [], []

    def options(self):
        """The long options that `search --help` lists."""
        r = subprocess.run([self.binary, "search", "--help"], capture_output=True, text=True, env=self.env)
        found = set(re.findall(r"(?m)^\s*(?:-\w,\s*)?(--[a-z-]+)", r.stdout))
        return found

    def ask(self, root, q):
        """The ids of the hits, best first."""
        argv = [self.binary, "--root", root, "search", "--limit", "10", "--json", *self.extra, *q["arguments"], "--", q["text"]]
        try:
            r = subprocess.run(argv, capture_output=True, text=True, env=self.env, timeout=120, stdin=subprocess.DEVNULL)
            if r.returncode not in (0, 1):
                raise ValueError(f"exit {r.returncode}: {r.stderr.strip()[:300]}")
            answer = json.loads(r.stdout)
            self.problems += answer.get("problems", [])[:1]
            return [(h["id"], h["score"]) for h in answer["entries"]]
        except (OSError, ValueError, KeyError, TypeError, subprocess.TimeoutExpired) as e:
            self.failures.append(f"{q['id']}: {type(e).__name__} {e}"[:400])
            return []

    def run(self, root, queries, workers=2):
        r = subprocess.run([self.binary, "--root", root, "index", "--rebuild"], capture_output=True, text=True, env=self.env)
        if r.returncode:
            say(f"  index --rebuild: exit {r.returncode}: {r.stderr.strip()[:300]}")
        if "RALPH_MEMORY_QDRANT__URL" in self.env:
            r = subprocess.run([self.binary, "--root", root, "index", "--rebuild", "--remote"], capture_output=True, text=True, env=self.env)
            say(f"  index --rebuild --remote: exit {r.returncode}: {(r.stdout + r.stderr).strip()[:300]}")
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            return {q["id"]: hits for q, hits in zip(queries, pool.map(lambda q: self.ask(root, q), queries))}


def fts5(docs, queries, tokenizer):
    """The seeds' search: the words of more than 2 characters, the first ten, joined by OR."""
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE VIRTUAL TABLE d USING fts5(title, tags, body, tokenize = '{tokenizer}')")
    db.executemany("INSERT INTO d (rowid, title, tags, body) VALUES (?, ?, ?, ?)",
                   ((i, d["title"], " ".join(d["tags"]), d["body"]) for i, d in enumerate(docs)))
    run = {}
    for q in queries:
        words = [w for w in q["text"].split() if len(w) > 2][:10]
        match = " OR ".join('"' + w.replace('"', '""') + '"' for w in words)
        rows = db.execute("SELECT rowid FROM d WHERE d MATCH ? ORDER BY rank LIMIT 10", (match,)) if match else []
        run[q["id"]] = [docs[r[0]]["id"] for r in rows]
    return run


def named(hits, ids):
    """Hits by the names of documents, where entries have others."""
    return {q: [((ids or {}).get(i, i), score) for i, score in l] for q, l in hits.items()}


def documents(hits):
    """The documents of each query."""
    return {q: [d for d, _ in l] for q, l in hits.items()}


def read_run(path):
    """The documents of each query in a file that --runs wrote."""
    run = {}
    with open(path, encoding="utf-8") as f:
        for l in f:
            query, document, *_ = l.rsplit(" ", 3)
            run.setdefault(query, []).append(document)
    return run


def report(s, run, seed, floors, against):
    """Prints a set's table; the floors that are missed. `against` is a folder of earlier runs, or None."""
    ours = evaluate(s.qrels, run)
    rivals = {name: evaluate(s.qrels, fts5(s.docs, s.queries, tokenizer)) for name, tokenizer in
              (("FTS5, first 10 words, OR (the seeds' way)", "unicode61"), ("the same, porter stemming", "porter unicode61"),
               ("the same, trigrams", "trigram"))}
    if against:
        rivals["the earlier run"] = evaluate(s.qrels, read_run(os.path.join(against, f"{s.name}.run")))
    print(f"### {s.name}: {len(ours):,} queries, {len(s.docs):,} entries{s.note and '; ' + s.note}\n")
    print("| | " + " | ".join(METRICS) + " |\n|---|" + "---:|" * 4)
    got, missed = mean(ours), []
    shown = [f"{x:.4f}" for x in got]
    for i, floor in enumerate(floors):
        if floor is not None and got[i] < floor:
            missed.append(f"{s.name}: {METRICS[i]} {got[i]:.4f} is under {floor}")
            shown[i] = f"**{shown[i]}** ✗"
    print("| `ralph-memory search` | " + " | ".join(shown) + " |")
    for name, per in rivals.items():
        print(f"| {name} | " + " | ".join(f"{x:.4f}" for x in mean(per)) + " |")
    if any(f is not None for f in floors):
        print("| floor | " + " | ".join("–" if f is None else f"{f:g}" for f in (*floors, None, None)) + " |")
    print()
    for name, per in rivals.items():
        d = [ours[q][0] - per[q][0] for q in s.qrels]
        low, high = bootstrap(d, seed)
        print(f"- nDCG@10 less {name}: {sum(d) / len(d):+.4f}, 95 % interval [{low:+.4f}, {high:+.4f}]; better on {sum(x > 1e-9 for x in d)}, worse "
              f"on {sum(x < -1e-9 for x in d)}, the same on {sum(abs(x) <= 1e-9 for x in d)}")
    print(flush=True)
    return missed


def report_grown(s, run, grown, seed):
    """Prints what becomes of a set's metrics while a journal grows beside it; the losses of recall that are too large."""
    before, missed = evaluate(s.qrels, run), []
    print("| with attempts | " + " | ".join(METRICS) + " |\n|---:|" + "---:|" * 4)
    lines = []
    for n, now in grown.items():
        after = evaluate(s.qrels, now)
        print(f"| {n:,} | " + " | ".join(f"{x:.4f}" for x in mean(after)) + " |")
        for i in (0, 2):
            d = [after[q][i] - before[q][i] for q in s.qrels]
            low, high = bootstrap(d, seed)
            lines.append(f"- {METRICS[i]} with {n:,} attempts less without: {sum(d) / len(d):+.4f}, 95 % interval [{low:+.4f}, {high:+.4f}]")
        if sum(d) / len(d) < -LOSS:
            missed.append(f"{s.name}: with {n:,} attempts, recall@10 falls by {-sum(d) / len(d):.4f}, more than {LOSS}")
    print("", *lines, "", sep="\n", flush=True)
    return missed


def run_divided(program, s, share, beside, root, seed):
    """The documents of each query where this share of the set, and all of the set `beside`, is a layer."""
    docs = random.Random(seed).sample(s.docs, len(s.docs))
    n_here, layer = round(len(docs) * (1 - share)), root + "-layer"
    ids = {**write_store(docs[:n_here], root), **write_store(docs[n_here:] + beside, layer, n_here)}
    subprocess.run([program.binary, "--root", layer, "index", "--rebuild"], stdout=subprocess.DEVNULL, env=program.env, check=True)
    program.env["RALPH_MEMORY_LAYERS"] = layer
    hits = program.run(root, s.queries)
    del program.env["RALPH_MEMORY_LAYERS"]
    return documents({q: [(ids[i.split(":")[-1]], score) for i, score in l] for q, l in hits.items()})


def report_divided(s, run, divided, seed):
    """Prints what becomes of a set's nDCG@10 when a share of it is a layer; the losses that are too large."""
    before, missed = evaluate(s.qrels, run), []
    print("| in a layer | nDCG@10 | less the undivided memory's |\n|---:|---:|---:|")
    for name, now in divided.items():
        d = [m[0] - before[q][0] for q, m in evaluate(s.qrels, now).items()]
        low, high = bootstrap(d, seed)
        print(f"| {name} | {mean(before)[0] + sum(d) / len(d):.4f} | {sum(d) / len(d):+.4f} [{low:+.4f}, {high:+.4f}] |")
        if sum(d) / len(d) < -LAYER_LOSS:
            missed.append(f"{s.name}: with {name} in a layer, nDCG@10 falls by {-sum(d) / len(d):.4f}, more than {LAYER_LOSS}")
    print(flush=True)
    return missed


def find_sets(folder, scratch):
    """The folder that holds the sets; an archive in it is unpacked first."""
    if not os.path.isdir(os.path.join(folder, "bugs")) and os.path.exists(os.path.join(folder, "sets.tar.xz")):
        with tarfile.open(os.path.join(folder, "sets.tar.xz")) as t:
            t.extractall(scratch, filter="data")
        folder = scratch
    for at, folders, _ in os.walk(folder):
        if set(FLOORS) & set(folders):
            return at
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default=os.path.join(ROOT, "target", "archive", "ralph-memory"))
    p.add_argument("--sets", default=os.path.join(ROOT, "..", "shared", "retrieval"), help="the folder of bugs, til, cacm and russian, or of sets.tar.xz")
    p.add_argument("--golden", default=os.path.join(ROOT, "fixtures", "search"))
    p.add_argument("--only", default=",".join([*FLOORS, "golden"]))
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--runs", help="write each run here, as `query document rank score`")
    p.add_argument("--against", metavar="DIR", help="compare with the runs that --runs wrote there")
    p.add_argument("--search-args", default="", help="further arguments for every search, as one string")
    p.add_argument("--setting", action="append", default=[], metavar="KEY=VALUE",
                   help="a setting of the program, such as ollama.url=http://127.0.0.1:11434; may be repeated")
    p.add_argument("--attempts", default="", metavar="N,N", help="also ask for knowledge alone, beside a journal that grows to so many attempts")
    p.add_argument("--layer", default="", metavar="SHARE,SHARE",
                   help="also ask where such a share of each set is in a layer; `0.5+til` has all of the set til there besides")
    p.add_argument("--check", action="store_true")
    p.add_argument("--golden-floor", type=float, help="least nDCG@10 of the golden set")
    a = p.parse_args()
    binary = shutil.which(a.binary) or p.error(f"{a.binary} is not there: cargo build --profile archive")
    only = a.only.split(",")
    missed = []
    with tempfile.TemporaryDirectory(prefix="ralph-memory-ranking-") as scratch:
        program = Program(os.path.abspath(binary), shlex.split(a.search_args), a.setting)
        work = []
        sets = find_sets(a.sets, os.path.join(scratch, "sets")) if set(FLOORS) & set(only) else None
        for name in FLOORS:
            if name not in only:
                continue
            folder = os.path.join(OWN if name in os.listdir(OWN) else sets or "", name)
            if not os.path.isdir(folder):
                missed.append(f"{name}: no such set under --sets")
                continue
            s, root = read_set(folder, name), os.path.join(scratch, name)
            ids = write_store(s.docs, root)
            work.append((s, root, ids, FLOORS[name]))
        if "golden" in only:
            if os.path.exists(os.path.join(a.golden, "tasks.jsonl")):
                options = program.options()
                s, root = read_golden(a.golden, options), os.path.join(scratch, "golden")
                shutil.copytree(os.path.join(a.golden, ".ralph"), os.path.join(root, ".ralph"), ignore=shutil.ignore_patterns("cache", "state"))
                work.append((s, root, None, (a.golden_floor, None)))
                used = [o for o in ("--for-feature", "--file") if o in options]
                s.note = "asked by title and description" + (f", with {' and '.join(used)}" if used else " alone: `search` takes no feature or files")
            else:
                missed.append("golden: no tasks.jsonl under --golden")
        for s, root, ids, floors in work:
            say(f"  {s.name}: {len(s.queries)} queries")
            program.failures, program.problems = [], []
            hits = program.run(root, s.queries)
            hits = named(hits, ids)
            strange = {d for l in hits.values() for d, _ in l} - {d["id"] for d in s.docs}
            if strange:
                missed.append(f"{s.name}: answers with unknown ids, as {min(strange)}")
            if a.runs:
                os.makedirs(a.runs, exist_ok=True)
                with open(os.path.join(a.runs, f"{s.name}.run"), "w", encoding="utf-8") as f:
                    f.writelines(f"{q} {d} {r} {score}\n" for q, l in hits.items() for r, (d, score) in enumerate(l, 1))
            missed += report(s, documents(hits), a.seed, floors, a.against)
            grown = {}
            for n in map(int, filter(None, a.attempts.split(","))):
                say(f"  {s.name}: beside {n} attempts")
                write_attempts(s, n, root, a.seed)
                knowledge = [{**q, "arguments": [*q["arguments"], "--kind", "knowledge"]} for q in s.queries]
                grown[n] = documents(named(program.run(root, knowledge), ids))
            if grown:
                missed += report_grown(s, documents(hits), grown, a.seed)
            divided = {}
            for name in filter(None, a.layer.split(",") if ids else []):
                share, _, beside = name.partition("+")
                say(f"  {s.name}: {name} in a layer")
                beside = [{**d, "id": f"{beside}/{d['id']}"} for d in read_set(os.path.join(sets, beside), beside).docs] if beside else []
                divided[name] = run_divided(program, s, float(share), beside, f"{root}-{name}", a.seed)
            if divided:
                missed += report_divided(s, documents(hits), divided, a.seed)
            if program.failures:
                missed.append(f"{s.name}: {len(program.failures)} of {len(s.queries)} queries could not be asked; the first: {program.failures[0]}")
            if program.problems:
                say(f"  {s.name}: the program reports problems; the first: {json.dumps(program.problems[0])[:300]}")
    for m in missed:
        print(f"✗ {m}")
    return 1 if a.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
