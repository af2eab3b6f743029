#!/usr/bin/env python3
"""meaning.py [--binary PROGRAM] [--entries 10000] [--seed 1] [--rounds 15]

Measures what meaning costs: `search` and `context --dry-run` with vectors and without, whole processes, user plus system time and wall
time, in turn, minima. The vectors come from a server in this process that answers at once, so what is measured is the program: asking,
reading all vectors, weighing. `index` is timed too. Markdown on stdout.
"""
import argparse
import hashlib
import http.server
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
DIMENSIONS = 768


def vector(text):
    """A bag of words, of length 1."""
    v = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        h = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
        v[h % DIMENSIONS] += 1 if h >> 63 else -1
    n = sum(x * x for x in v) ** .5
    return [round(x / n, 6) for x in v] if n else [1.0] + v[1:]


class Ollama(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    known = {}

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for text in asked["input"]:
            if text not in self.known:
                self.known[text] = json.dumps(vector(text)) if len(self.known) < 1000 else None
        parts = [self.known[t] or json.dumps(vector(t)) for t in asked["input"]]
        body = ('{"model":"x","embeddings":[' + ",".join(parts) + "]}").encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def timed(argv, env):
    """CPU and wall time of a process, in milliseconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    r = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if r.returncode not in (0, 1) or "warning" in r.stderr:
        sys.exit(f"{argv}: exit {r.returncode}: {r.stderr[:500]}")
    return ((after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000, wall * 1000)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default=os.path.join(ROOT, "target", "archive", "ralph-memory"))
    p.add_argument("--entries", type=int, default=10000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--rounds", type=int, default=15)
    a = p.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(HERE, "corpus.py"), folder, "--entries", str(a.entries), "--seed", str(a.seed)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        plain = {k: v for k, v in os.environ.items() if not k.startswith("RALPH_")} | {"XDG_DATA_HOME": os.devnull}
        meant = plain | {"RALPH_MEMORY_OLLAMA__URL": f"http://127.0.0.1:{server.server_address[1]}", "RALPH_MEMORY_SEMANTIC__MIN_SCORE": "0"}
        binary = [a.binary, "--root", folder]
        words, texts = timed([*binary, "index", "--rebuild"], plain), timed([*binary, "index"], meant)
        with open(os.path.join(folder, "queries.jsonl"), encoding="utf-8") as f:
            queries = [json.loads(line)["text"] for line, _ in zip(f, range(10))]
        rows = {}
        for _ in range(a.rounds):
            for q in queries:
                for name, argv in (("search", ["search", "--limit", "10", "--json", "--", q]), ("context", ["context", "--json", "--task", q[:200]])):
                    for how, env in (("words", plain), ("meaning", meant)):
                        got = timed([*binary, *argv], env)
                        best = rows.setdefault((name, how), {}).setdefault(q, got)
                        rows[name, how][q] = tuple(map(min, best, got))
        mean = lambda key, i: sum(x[i] for x in rows[key].values()) / len(rows[key])
        print(f"### {a.entries:,} entries, {len(queries)} queries, {a.rounds} rounds; ms of CPU (elapsed), means of the queries' minima\n")
        print("| | words alone | with meaning | ratio of CPU |\n|---|---:|---:|---:|")
        for name in ("search", "context"):
            w, m = (name, "words"), (name, "meaning")
            print(f"| `{name}` | {mean(w, 0):.1f} ({mean(w, 1):.1f}) | {mean(m, 0):.1f} ({mean(m, 1):.1f}) | {mean(m, 0) / mean(w, 0):.2f} |")
        print(f"\n`index --rebuild` took {words[0]:.0f} ms of CPU; embedding all took the program {texts[0]:.0f} ms, and {texts[1] / 1000:.0f} s with the server's part. "
              f"Load {os.getloadavg()[0]:.1f}.")
    server.shutdown()


if __name__ == "__main__":
    main()
