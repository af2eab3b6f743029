#!/usr/bin/env python3
"""corpus.py DIR --entries N [--seed S]: a realistic store to measure on.

Writes DIR/.ralph (three quarters journal, one quarter knowledge, about 220 words and 2 KB an entry), 500 known-item queries to
DIR/queries.jsonl {id, text, expected} and the parameters to DIR/corpus.json. The same N and S give the same bytes.

The text is made of sentence patterns whose slots are filled from word lists, inflected and Zipf-distributed, with identifiers (snake_case,
camelCase, paths, error codes) put together from the same lists. Every entry has a topic that prefers some words and identifiers, and a few
identifiers that hardly any other entry has, so the vocabulary grows with the store as it does in real projects.
"""
import argparse
import hashlib
import json
import os
import random
import re
import shutil
import sys

VERBS = """add allocate append apply archive assert assign attach await batch benchmark bind block bootstrap branch break build bump bundle
cache call cancel capture cast catch change check checkout clean clear clone close collect commit compact compare compile complete compress
compute configure connect consolidate consume convert copy count crash create debug decode decompress decrypt defer define delete depend
deploy deprecate derive describe detach detect diff disable discard dispatch document downgrade download drain drop dump duplicate emit
enable encode encrypt enforce escape estimate evaluate evict exceed execute exit expand expect expire export expose extend extract fail fall
fetch fill filter find finish fix flatten flush fold force fork format forward freeze generate group guard guess handle hash hide hold hook
ignore implement import improve include index infer inject inline insert inspect install instrument intercept invalidate invoke isolate join
keep kill launch leak lint list listen load lock log lower map mark match measure merge migrate mock monitor mount move mutate negotiate
normalize notify observe omit open optimize order override overwrite pack panic parse patch pause peek persist pin ping poll pop populate
print probe process profile promote propagate prune publish pull purge push query queue quote race raise read rebase rebuild receive record
recover redact redirect reduce refactor refresh refuse register reject release reload remove rename render repair replace replay report
request require reset resize resolve respond restart restore restrict resume retry return reuse revert review rewrite rollback rotate round
route run sample sanitize save scan schedule scope seal search select send serialize serve set shard share ship shrink shut sign skip sleep
slice snapshot sort spawn split stage stall start stop store stream strip stub submit subscribe suspend swap sync tag test throttle
timestamp toggle tokenize trace track transfer transform translate trigger trim truncate trust try tune unblock unlock unpack unwrap update
upgrade upload use validate verify wait wake walk warm warn watch wire wrap write yield""".split()
NOUNS = """abstraction access account adapter address agent alias allocation allocator annotation api archive argument array artifact assertion
attempt attribute author backend background backlog backoff backup bandwidth baseline batch benchmark binary binding bitmap block body bottleneck
boundary branch breakpoint bridge browser budget buffer bug build builder bundle byte cache call callback candidate capacity cell certificate
chain change channel character check checkpoint checksum child chunk class clause cleanup client clock closure cluster code codec collection
collector collision column command comment commit compiler component compression concurrency condition config conflict connection constant
constraint consumer container context contract controller conversion coordinator copy core counter coverage crash crate credential cursor cycle
daemon dashboard data database dataset date deadline deadlock debugger decision decoder default definition delay delimiter delta dependency
deployment descriptor design desktop device diagnostic dialog dictionary diff digest directory disk dispatcher document domain download driver
duplicate duration edge editor element encoder encoding endpoint engine entity entry enum environment epoch error escape estimate event exception
executable executor exit expression extension extractor factory failure fallback feature feedback fence field file filter fingerprint fixture
flag folder folding footer fork format fragment frame framework frontend frontmatter function future gateway generator generic goal graph group
guard handle handler hash header heap heartbeat heuristic hint history hook host identifier image implementation index indexer inference
initializer input insert instance instruction integer integration interface interval invariant issue item iteration iterator job journal json
kernel key keyword label lambda latency layer layout leak learning leader length level library license lifetime limit line link linker lint list
listener literal load loader location lock log logger lookup loop machine macro manager manifest mapping margin marker mask matrix measurement
memory merge message metadata method metric middleware migration mirror mock model module monitor mount mutex name namespace network node
notification number object observer offset operation operator option order output overflow overhead owner package page panic parameter parent
parser partition password patch path pattern payload peer performance permission pipeline placeholder planner platform plugin pointer policy pool
port posting predicate prefix preview priority problem process processor producer profile profiler program progress project prompt property
protocol provider proxy query queue quota race range rank ratio reader rebuild receiver recipe record recovery recursion redirect reference
region registry regression release reload repository request requirement reservation resolver resource response result retention retry return
reviewer revision role root rollback router routine row rule runner runtime sample sandbox scan scanner schedule scheduler schema scope score
script search secret section segment selector semaphore sender sentence separator sequence serializer server service session set setting shard
shell shutdown signal signature size slice slot snapshot socket sort source span spec stack stage state statement statistic status step stemmer
storage store strategy stream string struct subscriber subscription suffix suite summary supervisor symbol symlink syntax system table tag target
task template term terminal test thread threshold throughput timeout timer timestamp token tokenizer tool toolchain topic trace tracker trait
transaction transport traversal tree trigger tuple type unit update upload usage user utility validation validator value variable variant vector
version view visitor warning watcher weight wildcard window word worker workflow workspace wrapper writer zone""".split()
ADJECTIVES = """absent absolute active ambiguous asynchronous atomic available bad binary blocking broken brittle busy cached canonical circular
clean cold common compatible complete concurrent conditional consistent constant corrupt correct critical cumulative current dead default dense
deprecated deterministic direct dirty distinct distributed duplicate durable dynamic eager early effective empty equal exact exclusive expected
expensive experimental explicit external extra false fast fatal final fixed flaky flat foreign fragile free fresh full generic global greedy
hidden hot huge idempotent idle immutable implicit incomplete inconsistent incremental independent infinite inline internal invalid isolated
large late latent lazy legacy linear local locked long lossy major malformed manual maximal minimal minor missing mixed mutable naive narrow
native negative nested noisy nondeterministic null obsolete old opaque open optional orphaned outdated parallel partial pending permanent
persistent plain portable positive premature previous primary private public pure quadratic quick random raw readable recent recursive redundant
relative reliable remote repeated required reserved safe scoped secondary secure selective sequential serial shallow shared short silent simple
single slow small sparse stable stale standard static strict strong sudden synchronous temporary thin transient transitive transparent
trivial true typed unbounded unexpected unique unknown unreachable unresolved unsafe unstable untracked unused upper valid verbose virtual visible
volatile warm weak whole wide wrong""".split()
ADVERBS = """again almost already always apparently cleanly correctly directly early eventually exactly explicitly finally first immediately
independently instead lazily locally manually never often once only probably quickly rarely reliably safely silently slowly sometimes still
strictly twice usually""".split()
TOOLS = """cargo clippy rustfmt rustc tokio serde tantivy sqlite rusqlite postgres redis docker kubernetes grpc protobuf openapi graphql nginx
terraform ansible github gitlab pytest numpy django flask webpack vite typescript react nodejs npm maven gradle junit hadoop kafka spark parquet
arrow prometheus grafana opentelemetry jaeger systemd ext4 btrfs nfs posix linux macos windows clang llvm gdb perf valgrind strace ripgrep fzf
vim bash zsh tmux ssh openssl rustls hyper axum reqwest clap anyhow thiserror proptest criterion insta rayon crossbeam mimalloc jemalloc zstd
lz4 snappy utf8 unicode regex yaml toml json markdown fsync mmap inotify epoll""".split()
AREAS = """auth billing search index storage journal memory parser loop scheduler network http cli config cache tokens queue worker render layout
sync merge release logging metrics tracing security sandbox plugin template import export upload session payments migration replication
embedding ranking retrieval context""".split()
FILES = """mod lib main config error parser lexer writer reader index store cache query schema model util types tests client server router state
lock watch scan token format prune record journal context loop agent verify runner catalog overlay merge policy""".split()
EXTS = ["rs"] * 6 + ["py", "ts", "go", "md", "toml", "sql", "sh", "yml"]
COMMON = """fix add make sure work new change need code issue make when then after before problem error test case fails run should handle support
how what why with for from into the and not does use""".split()
FAILURE = ["test_failure", "build_error", "dependency_error", "timeout", "lint_failure", "merge_conflict", "context_overflow", "other"]
OUTCOMES = ["done"] * 11 + ["failed"] * 5 + ["blocked"] * 2 + ["retried"] * 2 + ["error", "partial", "interrupted"]
CATEGORIES = ["", "", "", "success_pattern", "pitfall", "pitfall", "tool_usage", "code_structure", "testing_strategy", "debugging_technique", "other"]
EVENTS = ["submission", "rejection", "approval", "decision", "follow_up", "hint", "dispute"]
COMMANDS = ["cargo test", "cargo test --all-features", "cargo clippy -- -D warnings", "npm test", "pytest -q", "make check", "go test ./..."]
STRONG = {"build": "built", "catch": "caught", "find": "found", "hold": "held", "keep": "kept", "read": "read", "run": "ran", "send": "sent",
          "set": "set", "shut": "shut", "sleep": "slept", "split": "split", "write": "wrote", "break": "broke", "fall": "fell", "hide": "hid",
          "freeze": "froze", "shrink": "shrank", "wake": "woke", "rebuild": "rebuilt", "rewrite": "rewrote", "overwrite": "overwrote",
          "override": "overrode", "put": "put", "bind": "bound", "cast": "cast"}

# Slots: v d g p = verb, third person, gerund, past; n N = noun, plural; a = adjective; r = adverb; t = tool; i = identifier; f = path;
# e = error code; # = a number. Words outside braces are the language's own.
PATTERNS = """The {a} {n} {d} the {n} before the {n} is {p}.
{g} {N} in {f} {p} the {n} {r}.
Running {i} needs a {a} {n}, so {v} the {n} first.
When {i} {d} a {n}, the {a} {n} is {p} {r} and the {n} {d}.
The call to {i} {p} because the {n} of the {n} was {a}.
We {p} {N} with {t}, but the {a} {n} {p} after {#} {N}.
{v} the {n} and {v} {i} instead of the {a} {n}.
It {d} with {e}: the {n} in {f} was not {p}.
Use {i} for {a} {N}; {i} {d} every {n} {r}.
The {n} {n} must be {p} when the {n} {d} its {N}.
A {a} {n} between {i} and {i} {p} the {t} {n}.
{f} {d} {N} from {f}, which {d} the {n} {r}.
Do not {v} the {n} while another {n} {d} the {a} {n}.
{t} {d} {N} {r} unless {i} is {p}.
After {g} the {n}, {#} of {#} {N} {p} and the {n} was {a}.
If the {n} {d}, {v} the {n} and {v} the {a} {N} again.
The {t} {n} {d} {N} of {#} KB, so {g} them {d} the {n}.
{i} returned {e} for a {a} {n}; {g} the {n} {p} it.
The reviewer asked to {v} the {n} {n} and to {v} {i} in {f}.
Tests for {i} {v} {N} against a {a} {n} of {N}.
This {n} is {a}: it {d} the {n} but never {d} the {n}.
{N} that {v} {i} should {v} the {n} or {v} their own {n}.
The {n} was {p} in {#} ms instead of {#} ms once {t} {p} the {n}.
{g} {i} without {g} the {n} leaves a {a} {n} behind.
There is a {a} {n} in the {n}: {i} {d} it before {i} {d} the {n}.
For {N} with a {a} {n}, {v} {f} and {v} the {n} by {n}.
{r} the {n} {d} a {n}, and {t} {d} the {a} one.
The {n} {d} {i} twice, once for the {n} and once for its {N}.""".split("\n")
TITLES = """{t} {n} {d} {a} {N}
{v} {i} before {g} the {n}
{a} {n} in the {n} {n}
{v} the {n} {n} for {a} {N}
{i} {d} {N} {r}
{g} {N} with {t} {d} the {n}
{v} {N} when the {n} is {a}
The {n} {n} needs a {a} {n}
{t}: {a} {n} after {g} {N}
{v} {a} {N} in {i}""".split("\n")


def third(v):
    return v[:-1] + "ies" if v[-1] == "y" and v[-2] not in "aeiou" else v + "es" if v.endswith(("s", "sh", "ch", "x", "z")) else v + "s"


def doubled(v):
    last = v[-1]
    short = len(v) <= 4 and len(v) > 2 and v[-2] in "aeiou" and v[-3] not in "aeiou" and last not in "aeiouwxy"
    return v + last if short or v in ("submit", "commit", "defer", "infer", "transfer", "unwrap") else v


def gerund(v):
    return (v[:-1] if v[-1] == "e" and not v.endswith("ee") else doubled(v)) + "ing"


def past(v):
    if v in STRONG:
        return STRONG[v]
    return v + "d" if v[-1] == "e" else v[:-1] + "ied" if v[-1] == "y" and v[-2] not in "aeiou" else doubled(v) + "ed"


def plural(n):
    return third(n) if n not in ("data", "metadata", "access") else n + ("es" if n == "access" else "")


def camel(*parts):
    return parts[0] + "".join(p.capitalize() for p in parts[1:])


def cut(pattern):
    """A pattern as alternating text and slots."""
    return re.split(r"\{(.)\}", pattern)


class Words:
    """Draws from the lists. Only random.random() is used, whose sequence Python promises to keep."""

    def __init__(self, seed):
        self.random = random.Random(seed).random
        lists = {"v": VERBS, "d": [third(v) for v in VERBS], "g": [gerund(v) for v in VERBS], "p": [past(v) for v in VERBS], "n": NOUNS,
                 "N": [plural(n) for n in NOUNS], "a": ADJECTIVES, "r": ADVERBS, "t": TOOLS}
        order = {"v": self.shuffled(len(VERBS)), "n": self.shuffled(len(NOUNS)), "a": self.shuffled(len(ADJECTIVES)),
                 "r": self.shuffled(len(ADVERBS)), "t": self.shuffled(len(TOOLS))}
        for slot, of in (("d", "v"), ("g", "v"), ("p", "v"), ("N", "n")):
            order[slot] = order[of]
        self.lists = {s: [l[i] for i in order[s]] for s, l in lists.items()}
        # Zipf over each list, as a table to draw from in one step; identifiers and paths are ranked the same way.
        self.lists["i"] = [self.identifier() for _ in range(2500)]
        self.lists["f"] = [self.path() for _ in range(1200)]
        self.lists["e"] = [f"E0{100 + int(self.random() * 700)}" for _ in range(40)] + ["ENOENT", "EACCES", "EAGAIN", "SIGSEGV", "SQLITE_BUSY",
                           "HTTP 429", "HTTP 503", "exit code 101", "ERR_TIMEOUT", "NullPointerException", "ImportError", "borrowed value"]
        self.tables = {s: self.zipf(l, 1.0) for s, l in self.lists.items()}
        self.patterns = [cut(p) for p in PATTERNS]
        self.titles = [cut(t) for t in TITLES]
        self.topics = [self.topic() for _ in range(120)]

    def pick(self, of):
        return of[int(self.random() * len(of))]

    def between(self, low, high):
        return low + int(self.random() * (high - low + 1))

    def shuffled(self, n):
        l = list(range(n))
        for i in range(n - 1, 0, -1):
            j = int(self.random() * (i + 1))
            l[i], l[j] = l[j], l[i]
        return l

    @staticmethod
    def zipf(words, power):
        total = sum((r + 5) ** -power for r in range(len(words)))
        table = []
        for r, w in enumerate(words):
            table += [w] * max(1, round(16384 * (r + 5) ** -power / total))
        return table

    def identifier(self):
        v, n, m = self.pick(VERBS), self.pick(NOUNS), self.pick(NOUNS)
        kind = self.random()
        if kind < .45:
            return f"{v}_{n}" if kind < .15 else f"{v}_{n}_{m}"
        if kind < .65:
            return camel(v, n) if kind < .52 else camel(v, n, m)
        if kind < .8:
            return (n + " " + m).title().replace(" ", "")
        if kind < .9:
            return f"{n}::{v}_{m}"
        return f"{n}_{m}".upper() if kind < .95 else f"--{v}-{n}"

    def path(self):
        top = self.pick(["src", "src", "src", "crates", "tests", "docs", "lib"])
        middle = self.pick(AREAS) + ("/" + self.pick(NOUNS) if self.random() < .3 else "")
        return f"{top}/{middle}/{self.pick(FILES) if self.random() < .6 else self.pick(NOUNS) + '_' + self.pick(FILES)}.{self.pick(EXTS)}"

    def topic(self):
        """What one area of a project prefers: some of every list, evenly."""
        size = {"n": 14, "v": 10, "a": 7, "t": 3, "i": 18, "f": 8, "e": 2, "r": 4}
        own = {}
        for slot, many in size.items():
            at = [int(self.random() * len(self.lists[slot])) for _ in range(many)]
            for s in {"n": "nN", "v": "vdgp"}.get(slot, slot):
                own[s] = [self.lists[s][i] for i in at]
        own["area"] = self.pick(AREAS)
        own["feature"] = f"{own['area']}-{self.pick(NOUNS)}"
        return own

    def fill(self, parts, topic, rare):
        out = list(parts)
        for k in range(1, len(parts), 2):
            slot, x = parts[k], self.random()
            if slot == "#":
                out[k] = str(int(10 ** (self.random() * 4)) + 1)
            elif slot == "i" and x > .8:
                out[k] = "`" + self.pick(rare) + "`"
            elif x < .5:
                out[k] = self.pick(topic[slot])
            else:
                out[k] = self.pick(self.tables[slot])
            if slot in "if" and out[k][0] != "`":
                out[k] = "`" + out[k] + "`"
        s = "".join(out)
        return s if s[0] == "`" else s[0].upper() + s[1:]

    def title(self, topic, rare):
        return self.fill(self.pick(self.titles), topic, rare).replace("`", "")

    def text(self, words, topic, rare):
        """Sentences of about so many words, as paragraphs."""
        out, paragraph, count = [], [], 0
        while count < words:
            s = self.fill(self.pick(self.patterns), topic, rare)
            count += s.count(" ") + 1
            paragraph.append(s)
            if self.random() < .3:
                out.append(" ".join(paragraph))
                paragraph = []
        if paragraph:
            out.append(" ".join(paragraph))
        return out

    def output(self, topic):
        """Lines as a compiler or a test runner prints them."""
        out = []
        for _ in range(self.between(2, 5)):
            f, i, n = self.pick(topic["f"]), self.pick(topic["i"]), self.pick(topic["n"])
            x = self.random()
            if x < .4:
                out.append(f"error[{self.pick(topic['e'])}]: {self.pick(topic['a'])} {n} in `{i}` --> {f}:{self.between(1, 900)}:{self.between(1, 80)}")
            elif x < .7:
                out.append(f"test {self.pick(topic['n'])}::{self.pick(topic['v'])}_{n} ... FAILED at {f}:{self.between(1, 900)}")
            else:
                out.append(f"thread '{n}' panicked at {f}:{self.between(1, 900)}: {i} {self.pick(topic['p'])} a {self.pick(topic['a'])} {n}")
        return out

    def rare(self):
        return [self.identifier() if self.random() < .5 else f"{self.pick(VERBS)}_{self.pick(ADJECTIVES)}_{self.pick(NOUNS)}_{self.pick(NOUNS)}"
                for _ in range(4)]


def stamp(hours):
    """An RFC 3339 time so many hours after the start of 2025."""
    days, hour = divmod(hours, 24)
    year = 2025
    while days >= 365:
        days, year = days - 365, year + 1
    for month, length in enumerate((31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), 1):
        if days < length:
            break
        days -= length
    return f"{year}-{month:02}-{days + 1:02}T{hour:02}:00:00Z"


def quote(text):
    return json.dumps(text, ensure_ascii=False)


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].rstrip("-") or "entry"


def quoted(lines):
    return "\n>\n".join("> " + l for l in lines)


def write(path, text):
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write(text)


def knowledge(w, store, i, taken):
    """One knowledge file; (id, title, body)."""
    topic, rare = w.pick(w.topics), w.rare()
    title, body = w.title(topic, rare), "\n\n".join(w.text(w.between(120, 270), topic, rare))
    event = w.random() < .1
    when = stamp(w.between(0, 12000))
    stem = (when[:10] + "-" if event else "") + slug(title)
    number = taken.get(stem, 0) + 1
    taken[stem] = number
    while number > 1 and f"{stem}-{number}" in taken:
        number += 1
    if number > 1:
        stem = f"{stem}-{number}"
        taken[stem] = 1
    tags = sorted({slug(x) for x in [topic["area"], w.pick(topic["t"]), w.pick(topic["n"])] + ([w.pick(topic["N"])] if w.random() < .5 else [])})
    head = [f"title: {quote(title)}", f"tags: [{', '.join(tags)}]"]
    category = w.pick(EVENTS) if event else w.pick(CATEGORIES)
    if category:
        head.append(f"category: {category}")
    if w.random() < .4:
        head.append(f"feature: {topic['feature']}")
    if w.random() < .3:
        head.append(f"source: {w.pick(['agent', 'reviewer', 'human'])}")
    head.append(f'created_at: "{when}"')
    if w.random() < .3:
        head.append(f"files: [{', '.join(topic['f'][:2])}]")
    write(os.path.join(store, "knowledge", "events" if event else "", stem + ".md"), "---\n" + "\n".join(head) + "\n---\n\n" + body + "\n")
    return "knowledge/" + stem, title, body


def iteration(w, store, run, number, topic, start, known):
    """One journal file; (id, title, body)."""
    rare = w.rare()
    title, outcome = w.title(topic, rare), w.pick(OUTCOMES)
    bad = outcome in ("failed", "retried", "error")
    task = "t-" + hashlib.sha256(title.encode()).hexdigest()[:10]
    head = [f"run_id: {run}", f"iteration: {number}", f"task_id: {task}", f"task_title: {quote(title)}", f"feature: {topic['feature']}",
            f"outcome: {outcome}"]
    if bad:
        head.append(f"error_category: {w.pick(FAILURE)}")
    head += [f"model: {w.pick(['haiku', 'sonnet', 'sonnet', 'opus'])}", "source: coder", f'started_at: "{start}"',
             f"duration_secs: {w.between(100, 9000) / 10}", f"cost_usd: {w.between(1, 300) / 100}", f"tokens_in: {w.between(2, 90) * 1000}",
             f"tokens_out: {w.between(2, 90) * 100}",
             f"files: {{created: [], modified: [{w.pick(topic['f'])}, {w.pick(topic['f'])}], read: [{w.pick(topic['f'])}]}}",
             f"validation: {{command: {quote(w.pick(COMMANDS))}, exit_code: {101 if bad else 0}, duration_ms: {w.between(200, 90000)}}}"]
    if known and w.random() < .6:
        head.append(f"context: [{w.pick(known)}, {w.pick(known)}]")
    notes = w.text(w.between(40, 90), topic, rare)
    body = [quoted(notes)]
    words = list(notes)
    sections = [("Summary", 45)]
    if bad:
        sections += [("What was tried", 45), ("Why it failed", 35), ("Retry suggestion", 25)]
    else:
        sections += [("Decisions", 45), ("Progress", 40)]
    for name, many in sections:
        lines = w.text(w.between(many // 2, many * 3 // 2), topic, rare)
        words += lines
        body.append(f"## {name}\n\n{quoted(lines)}")
    if bad:
        body.append("## Error output\n\n" + "\n".join("> " + l for l in w.output(topic)))
    write(os.path.join(store, "journal", run, f"{number:04}.md"), "---\n" + "\n".join(head) + "\n---\n\n" + "\n\n".join(body) + "\n")
    return f"journal/{run}/{number:04}", title, " ".join(words)


def query(w, title, body):
    """A known-item query of about 22 words: some of the body's, the title, and words that everybody uses."""
    words = sorted({x for x in re.findall(r"[A-Za-z0-9_:/.-]{3,}", body.replace("`", " "))})
    words = [words[i].strip(".:,-") for i in w.shuffled(len(words))[:w.between(8, 12)]]
    text = title.split() + words
    text += [w.pick(COMMON) for _ in range(max(0, 22 - len(text)))]
    return " ".join(text)


def fingerprint(entries, seed):
    with open(__file__, "rb") as f:
        return {"entries": entries, "seed": seed, "generator": hashlib.sha256(f.read()).hexdigest()[:16]}


def generate(folder, entries, seed, queries=500):
    store, marker = os.path.join(folder, ".ralph"), os.path.join(folder, "corpus.json")
    if os.path.exists(store):
        if not os.path.exists(marker):
            raise SystemExit(f"{store} exists and was not written by this script: choose another folder")
        shutil.rmtree(store)
    for d in ("knowledge/events", "journal"):
        os.makedirs(os.path.join(store, d))
    # Written first, so that what a broken run left behind may be replaced; the parameters follow at the end.
    write(marker, "{}\n")
    write(os.path.join(store, "config.toml"), "format = 1\n")
    w = Words(seed)
    many = entries - entries * 3 // 4
    # Which entries are asked for is settled beforehand; their queries are written when they are.
    asked = set(w.shuffled(entries)[:queries])
    known, taken, found, done = [], {}, [], 0

    def entry(e):
        nonlocal done
        if done in asked:
            found.append((e[0], query(w, e[1], e[2])))
        done += 1

    for i in range(many):
        e = knowledge(w, store, i, taken)
        known.append(e[0])
        entry(e)
    hours, runs = 0, set()
    while done < entries:
        run = f"run-{int(w.random() * 2 ** 32):08x}"
        if run in runs:
            continue
        runs.add(run)
        os.mkdir(os.path.join(store, "journal", run))
        topic, hours = w.pick(w.topics), int(w.random() * 12000)
        for number in range(1, min(w.between(5, 45), entries - done) + 1):
            if w.random() < .15:
                topic = w.pick(w.topics)
            entry(iteration(w, store, run, number, topic, stamp(hours + number), known))
    found = [found[i] for i in w.shuffled(len(found))]
    with open(os.path.join(folder, "queries.jsonl"), "w", encoding="utf-8", newline="\n") as f:
        for i, (expected, text) in enumerate(found):
            f.write(json.dumps({"id": f"q{i:03}", "text": text, "expected": expected}, ensure_ascii=False) + "\n")
    write(marker, json.dumps(fingerprint(entries, seed)) + "\n")


def ready(folder, entries, seed):
    """Whether the folder already holds exactly this store."""
    try:
        with open(os.path.join(folder, "corpus.json")) as f:
            return json.load(f) == fingerprint(entries, seed)
    except (OSError, ValueError):
        return False


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dir")
    p.add_argument("--entries", type=int, required=True)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    if a.entries < 1:
        p.error("--entries must be at least 1")
    os.makedirs(a.dir, exist_ok=True)
    generate(a.dir, a.entries, a.seed)
    print(f"{a.entries} entries and their queries written", file=sys.stderr)


if __name__ == "__main__":
    main()
