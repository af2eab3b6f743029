"""The other programs that page.py measures: how each is installed, takes notes over, and is searched, as its own documentation recommends.

A peer is a class with `name`, `package`, `way` (what is measured, for the page) and the methods of `Peer`. `Absent` says why one is not measured.
"""
import glob
import json
import os
import re
import select
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import table  # noqa: E402

PATIENCE = 120  # Seconds that a server may take to answer.
WORD = re.compile(r"\w{3,}")


class Absent(Exception):
    pass


class Server:
    """A client of an MCP server on its standard input and output. One process for many questions."""

    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.number, self.buffer = 0, b""
        for message in handshake():
            self.send(message)
        self.receive(0)

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self, number):
        """The result with this number. Notifications and requests of the server are passed over."""
        end = time.monotonic() + PATIENCE
        while True:
            line, found, rest = self.buffer.partition(b"\n")
            if not found:
                if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                    raise table.Failed(f"the server did not answer within {PATIENCE} s")
                more = os.read(self.process.stdout.fileno(), 1 << 16)
                if not more:
                    raise table.Failed(f"the server ended before it answered, with {self.process.wait()}")
                self.buffer += more
                continue
            self.buffer = rest
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if answer.get("id") == number and "method" not in answer:
                if "error" in answer or answer["result"].get("isError"):
                    raise table.Failed(f"the server answered {line.decode(errors='replace')[:300]}")
                return answer["result"]

    def call(self, tool, arguments):
        """The text that a tool answers."""
        self.number += 1
        self.send(tool_call(self.number, tool, arguments))
        return "".join(c.get("text", "") for c in self.receive(self.number)["content"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def handshake():
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "page.py", "version": "1"}}
    return [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}, {"jsonrpc": "2.0", "method": "notifications/initialized"}]


def tool_call(number, tool, arguments):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


class Peer:
    """What page.py asks of a peer. `home` is a folder for one set of notes, with a folder `notes` of markdown files, one a note."""

    def __init__(self, folder, spawn):
        self.folder, self.spawn = os.path.join(folder, self.name), spawn

    def run(self, what, *argv):
        """Runs an installer; its last words if it fails."""
        try:
            r = subprocess.run(argv, capture_output=True, text=True)
        except OSError as e:
            raise Absent(f"{what}: {e}") from None
        if r.returncode:
            raise Absent(f"{what}: " + " ".join((r.stderr or r.stdout).split())[-200:])

    def installed(self):
        """The size of what the installer wrote."""
        return table.size(self.folder)


class BasicMemory(Peer):
    name, package = "basic-memory", "basic-memory, from PyPI"
    way = ("`project add` indexes the folder of markdown files; `tool search-notes` searches in a new process; the ranking asks its MCP server's `search_notes` "
           "for the task's title or the question, since a longer text finds less, and where that finds nothing, for its words joined by OR, as its help proposes. Full text alone: its "
           "search by meaning needs a model, which it downloads at the first use")

    def install(self):
        self.program = os.path.join(self.folder, "bin", "basic-memory")
        if not os.path.exists(self.program):
            names = [sys.executable, *(shutil.which(f"python3.{n}") for n in (14, 13, 12))]
            fit = [p for p in names if p and subprocess.run([p, "-c", "import sys; sys.exit(sys.version_info < (3, 12))"], capture_output=True).returncode == 0]
            if not fit:
                raise Absent("it needs Python 3.12 or newer")
            self.run("venv", fit[0], "-m", "venv", self.folder)
            self.run("pip", os.path.join(self.folder, "bin", "pip"), "install", "--quiet", "basic-memory")
        found = glob.glob(os.path.join(glob.escape(self.folder), "lib", "python*", "site-packages", "basic_memory-*.dist-info"))
        self.version = re.search(r"basic_memory-([^-]+)\.dist-info", found[0])[1] if found else "?"

    def argv(self, home, *args):
        return ["/usr/bin/env", f"HOME={home}", "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED=false", self.program, *args]

    def take(self, home):
        return self.spawn(*self.argv(home, "project", "add", "bench", os.path.join(home, "notes")))

    def search(self, home, text):
        return self.spawn(*self.argv(home, "tool", "search-notes", "--project", "bench", "--json", "--", text), keep=True)

    def found(self):
        """Whether the last search found anything."""
        return '"file_path"' in self.spawn.output()

    def ask(self, home, queries):
        run = {}
        with Server(self.argv(home, "mcp", "--project", "bench")) as server:
            for q in queries:
                first = q["text"].split("\n")[0]
                # Lower case: in capitals, some words are operators.
                words = " OR ".join(dict.fromkeys(w.lower() for w in WORD.findall(first)))
                for text in (first, words):
                    answer = server.call("search_notes", {"query": text, "project": "bench", "page_size": 10, "output_format": "json"})
                    run[q["id"]] = [os.path.basename(h["file_path"])[:-3] for h in json.loads(answer)["results"]]
                    if run[q["id"]]:
                        break
        return run

    def disk(self, home):
        """What it keeps besides the notes."""
        return table.size(os.path.join(home, ".basic-memory"))


class ServerMemory(Peer):
    name, package = "server-memory", "@modelcontextprotocol/server-memory, from npm"
    way = ("one `create_entities` call with all notes, each an entity with its body as an observation; `search_nodes` in a new process. It finds a text as it stands, and "
           "has no order, so the ranking asks it for each word of three letters or more and puts the notes with most of the words first, as a patient agent would")

    def install(self):
        self.module = os.path.join(self.folder, "node_modules", "@modelcontextprotocol", "server-memory")
        if not shutil.which("node"):
            raise Absent("it needs Node.js")
        if not os.path.exists(self.module):
            os.makedirs(self.folder, exist_ok=True)
            self.run("npm", "npm", "install", "--no-audit", "--no-fund", "--prefix", self.folder, "@modelcontextprotocol/server-memory")
        with open(os.path.join(self.module, "package.json"), encoding="utf-8") as f:
            self.version = json.load(f)["version"]

    def argv(self, home):
        return ["/usr/bin/env", f"MEMORY_FILE_PATH={self.file(home)}", "node", os.path.join(self.module, "dist", "index.js")]

    def file(self, home):
        return os.path.join(home, "memory.jsonl")

    def once(self, home, tool, arguments):
        """One call in a process of its own, whose input is a file."""
        path = os.path.join(home, "requests")
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(m) + "\n" for m in [*handshake(), tool_call(1, tool, arguments)])
        return self.spawn("sh", "-c", 'exec "$@" < "$0"', path, *self.argv(home), keep=True)

    def take(self, home):
        entities = []
        for path in table.files([os.path.join(home, "notes")]):
            title, tags, body = table.parse(path)
            # A name is unique; the stem makes it so.
            entities.append({"name": f"{os.path.basename(path)[:-3]} {title}", "entityType": "note", "observations": [tags, body]})
        return self.once(home, "create_entities", {"entities": entities})

    def search(self, home, text):
        """The longest word: the text as a whole stands nowhere."""
        return self.once(home, "search_nodes", {"query": max(text.split(), key=len)})

    def found(self):
        return '\\"name\\"' in self.spawn.output()

    def ask(self, home, queries):
        run, known = {}, {}
        with Server(self.argv(home)) as server:
            for q in queries:
                hits = {}
                for word in dict.fromkeys(w.lower() for w in WORD.findall(q["text"])):
                    if word not in known:
                        known[word] = [e["name"].split()[0] for e in json.loads(server.call("search_nodes", {"query": word}))["entities"]]
                    for stem in known[word]:
                        hits[stem] = hits.get(stem, 0) + 1
                run[q["id"]] = sorted(hits, key=lambda s: (-hits[s], s))[:10]
        return run

    def disk(self, home):
        """Its file, which holds the notes too."""
        return os.path.getsize(self.file(home))


PEERS = (BasicMemory, ServerMemory)

# Programs that the README or the documentation names and that this page cannot measure.
UNMEASURED = (
    ("Claude Code's own memory", "needs Claude Code, an account and a model: the model reads files, there is no search to measure"),
    ("claude-mem", "needs a service and a model that summarises each session"),
    ("mem0", "needs a model, its key, and a vector store"),
    ("beads", "its npm package fetches the program from elsewhere; it plans work, and ranks no notes"),
    ("qmd", "needs three models for the search that it recommends"),
    ("memsearch", "needs an embedding model, which it downloads"),
    ("mcp-memory-service", "needs an embedding model, which it downloads"),
)
