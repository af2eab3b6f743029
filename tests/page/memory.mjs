// A small memory of a made-up shop: tasks that were done, that fail and that go in circles, entries that link to each other, an agent's suggestion,
// and an entry and an attempt that try to get out of their text. Times are ages, so that pages show the same whenever the memory is made.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

// id, title, tags, fields, body; `age` in days. The body's `[[…]]` are links.
const KNOWLEDGE = [
  ["payment-provider-answers-twice", "The payment provider calls a webhook twice", "checkout, webhooks, payments",
    { category: "pitfall", feature: "checkout", age: 33, importance: 80, questions: ["Why is an order paid twice?"] },
    "About one webhook in 200 arrives twice within a second. Orders are keyed by `event_id`; a second insert is ignored.\n\n> The provider documents this as *at least once*.\n\nWhat decides is [[knowledge/order-states]]."],
  ["order-states", "States of an order", "checkout, orders",
    { category: "code_structure", feature: "checkout", age: 32, updated: 6, files: ["src/orders/state.rs"] },
    "| state | next | who |\n|---|---|---|\n| `open` | `paid`, `cancelled` | the customer |\n| `paid` | `packed`, `refunded` | the payment provider |\n| `packed` | `sent` | the warehouse |\n| `sent` | `returned` | the customer |\n\nOnly `src/orders/state.rs` changes a state. A jump over a state is a bug: [[knowledge/payment-provider-answers-twice]]."],
  ["prices-are-integers-of-cents", "Prices are integers of cents", "checkout, money",
    { category: "decision", feature: "checkout", age: 38, source: "human" },
    "No floats. `Money` in `src/money.rs` has the only conversion, and rounds half to even."],
  ["cart-lock-order", "Lock the cart before the stock", "checkout, postgres, deadlock",
    { category: "pitfall", feature: "checkout", age: 5, files: ["src/cart/reserve.rs"], source: "agent" },
    "Two transactions that lock stock first and cart second end in a deadlock (`40P01`). Lock in this order: **cart, stock, order**."],
  ["session-cookies-are-lax", "Session cookies are SameSite=Lax", "auth, cookies",
    { category: "code_structure", feature: "auth", age: 29 },
    "With `Strict`, people who come back from the payment provider are signed out. Without it, [[CSRF tokens are tied to the session]] would be the only defence."],
  ["rate-limits-count-by-account", "Rate limits count by account, not by address", "auth, limits",
    { category: "decision", feature: "auth", age: 12, source: "human" },
    "Whole offices share one address. Count by account, and by address only above 300 per minute."],
  ["umlauts-need-the-german-analyzer", "Umlauts need the German analyzer", "search, language",
    { category: "pitfall", feature: "search", age: 18, files: ["src/search/analyzer.rs"], questions: ["Why does Schlüssel not find Schluessel?"] },
    "The standard analyzer treats `ü` and `ue` as different. Use `GermanFolding`, for the index *and* for the query."],
  ["facets-are-counted-before-the-page", "Facets are counted before the page is cut", "search, performance",
    { category: "success_pattern", feature: "search", age: 9, source: "agent" },
    "One pass with a bitset for each facet is three times as fast as a query for each facet.\n\n- 40 facets, 200,000 products: 14 ms instead of 45 ms\n- the bitsets take 1 MB"],
  ["imports-are-idempotent", "An import can be repeated", "imports",
    { category: "success_pattern", feature: "imports", age: 25, updated: 14 },
    "Rows are keyed by supplier and article number. The same file twice changes nothing, so retry without asking."],
];

const MISMATCH = "error[E0308]: mismatched types\n  --> src/search/facets.rs:48:21\n   | expected `u32`, found `usize`";

// A task: id, title, feature, section, then its attempts from the oldest. An attempt: age in hours, run, outcome, model, and what it reports.
const TASKS = [
  ["t-refunds", "Refund part of an order", "checkout", "checkout", [
    [54, "run-b7719e02", "failed", "haiku", { tried: "Added the column `refunded_cents` to orders", why: "An order can be refunded several times, and the history is lost", category: "design", files: ["src/orders/refund.rs"] }],
    [53, "run-b7719e02", "retried", "sonnet", { notes: "A table `refunds` with one row for each.", verify: ["cargo test --test refunds", 101], output: "assertion `left == right` failed: sum of refunds\n  left: 1999\n right: 2000", category: "test_failure", files: ["src/orders/refund.rs", "migrations/0042_refunds.sql"], knows: ["order-states", "prices-are-integers-of-cents"] }],
    [50, "run-b7719e02", "done", "opus", { notes: "Rounded half to even, with the rest on the last line of the order.", verify: ["cargo test --test refunds", 0], files: ["src/orders/refund.rs", "src/money.rs"], knows: ["prices-are-integers-of-cents", "order-states"] }],
  ]],
  ["t-wallets", "Offer wallets at the checkout", "checkout", "checkout", [
    [7, "run-5aa1d3f4", "failed", "haiku", { tried: "Called the wallet's script from the template", why: "The content security policy refuses scripts of other origins", category: "security_policy", error: "Refused to load the script: violates the directive script-src 'self'", files: ["templates/checkout.html"] }],
    [6, "run-5aa1d3f4", "failed", "sonnet", { tried: "Put the script into our own bundle", why: "The wallet rejects a script that it did not serve", category: "security_policy", error: "Refused to load the script: violates the directive script-src 'self'", files: ["templates/checkout.html", "assets/wallet.js"] }],
    [4, "run-5aa1d3f4", "failed", "opus", { tried: "A frame of the wallet's origin", why: "The frame cannot read the total of the cart", category: "security_policy", error: "Refused to load the script: violates the directive script-src 'self'", files: ["templates/checkout.html"], next: "Ask a person whether the wallet's origin may be allowed" }],
    [2, "run-5aa1d3f4", "blocked", "opus", { notes: "Allowing an origin is a decision for a person. See `docs/security.md`.", files: ["docs/security.md"] }],
  ]],
  ["t-login-limit", "Limit how often a login can be tried", "auth", "auth", [
    [300, "run-91c4e6b0", "failed", "haiku", { tried: "Counted by address", why: "Everyone in the office test shares one address", category: "test_failure", files: ["src/auth/limit.rs"] }],
    [299, "run-91c4e6b0", "done", "sonnet", { notes: "Counted by account, by address only above 300 per minute.", verify: ["cargo test auth::", 0], files: ["src/auth/limit.rs"], knows: ["password-hashes-take-80-ms"] }],
  ]],
  ["t-suggest", "Suggest articles while somebody types", "search", "search", [
    [76, "run-e28a90bb", "failed", "haiku", { tried: "A prefix query for each key press", why: "It does not compile after the change of the index", category: "compile_error", error: MISMATCH, files: ["src/search/suggest.rs", "src/search/facets.rs"] }],
    [75, "run-e28a90bb", "failed", "sonnet", { tried: "An FST of all names", why: "Names that change during the day are missing until the night", category: "design", files: ["src/search/suggest.rs"] }],
    [73, "run-e28a90bb", "failed", "opus", { tried: "The FST and a small list of changes", why: "It does not compile with the new facets", category: "compile_error", error: MISMATCH, files: ["src/search/suggest.rs", "src/search/facets.rs"] }],
  ]],
];

const COSTS = { haiku: [0.06, 28_000, 2_100, 95], sonnet: [0.31, 61_000, 5_400, 240], opus: [1.42, 88_000, 9_700, 610] };

// What runs where it should not would call `__ran`, which the test sees.
const RUNS = "<script>__ran(1)</script><img src=x onerror=__ran(2)><svg onload=__ran(3)> [a](javascript:__ran(4)) ![b](https://evil.example/x.png) \u202eabc\u2066 \u200b \u001b[31m \u0000 \" onmouseover=\"__ran(5)";

/** Makes the memory in `folder`, in which `init` has run. */
export function makeMemory(folder, now = Date.now()) {
  const ralph = join(folder, ".ralph");
  for (const [id, title, tags, fields, body] of KNOWLEDGE) {
    write(join(ralph, "knowledge", `${id}.md`), entry(now, title, tags, fields, body));
  }
  const numbers = {};
  const attempts = TASKS.flatMap(([id, title, feature, section, tries]) => tries.map((attempt) => ({ id, title, feature, section, attempt })))
    .sort((a, b) => b.attempt[0] - a.attempt[0]);
  for (const { id, title, feature, section, attempt } of attempts) {
    const iteration = (numbers[attempt[1]] = (numbers[attempt[1]] ?? 0) + 1);
    write(join(ralph, "journal", attempt[1], `${String(iteration).padStart(4, "0")}.md`), journal(now, { id, title, feature, section, iteration }, attempt));
  }
}

/** Adds what tries to run, to change the page's look or to be wider than the window. */
export function makeHostile(folder, now = Date.now()) {
  const ralph = join(folder, ".ralph");
  const wide = "W".repeat(3000);
  const body = `${RUNS}\n\n<style>*{display:none}</style>\n\n# ${RUNS}\n\n| a | ${RUNS} |\n|--|--:|\n| ${wide} | b |\n\n\`\`\`\n${wide}\n\`\`\`\n\n${wide}\n\n${"> ".repeat(200)}deep`;
  write(join(ralph, "knowledge/hostile.md"), entry(now, RUNS, `x, ${wide}`, { category: RUNS, feature: RUNS, source: "agent", age: 1, questions: [RUNS, wide], supersedes: ["order-states"] }, body));
  const task = { id: `t-"><script>__ran(6)</script>`, title: RUNS, feature: RUNS, section: wide, iteration: 1 };
  write(join(ralph, "journal/run-hostile1/0001.md"), journal(now, task, [1, "run-hostile1", "failed", "haiku", { notes: body, tried: RUNS, why: wide, error: RUNS, category: RUNS, files: [RUNS, wide], verify: [RUNS, 1], output: body }]));
}

function entry(now, title, tags, fields, body) {
  return matter([
    ["title", title],
    ["tags", tags.split(", ")],
    ["category", fields.category],
    ["feature", fields.feature],
    ["scope", fields.scope],
    ["importance", fields.importance],
    ["source", fields.source],
    ["supersedes", fields.supersedes],
    ["files", fields.files],
    ["questions", fields.questions],
    ["created_at", stamp(now - fields.age * DAY)],
    ["updated_at", fields.updated && stamp(now - fields.updated * DAY)],
    ["expires_at", fields.expires && stamp(now + fields.expires * DAY)],
  ], body);
}

function journal(now, task, [age, run, outcome, model, said]) {
  const [cost, tokensIn, tokensOut, seconds] = COSTS[model];
  const share = 0.6 + ((task.iteration * 37 + age) % 80) / 100;
  const quote = (text) => text.split("\n").map((line) => `> ${line}`).join("\n");
  const sections = [said.notes && quote(said.notes)];
  const named = [["What was tried", said.tried], ["Why it failed", said.why], ["Error output", said.error], ["Retry suggestion", said.next], ["Validation output", said.output]];
  for (const [heading, text] of named) {
    sections.push(text && `## ${heading}\n\n${quote(text)}`);
  }
  return matter([
    ["run_id", run],
    ["iteration", task.iteration],
    ["task_id", task.id],
    ["task_title", task.title],
    ["feature", task.feature],
    ["section", task.section],
    ["outcome", outcome],
    ["error_category", said.category],
    ["model", model],
    ["model_rationale", model === "haiku" ? "first attempt (escalate strategy)" : "after a failure (escalate strategy)"],
    ["source", "coder"],
    ["started_at", stamp(now - age * HOUR)],
    ["duration_secs", Math.round(seconds * share)],
    ["cost_usd", Number((cost * share).toFixed(2))],
    ["tokens_in", Math.round(tokensIn * share)],
    ["tokens_out", Math.round(tokensOut * share)],
    ["files", said.files?.length ? { modified: said.files } : undefined],
    ["validation", said.verify && { command: said.verify[0], exit_code: said.verify[1], duration_ms: Math.round(2300 * share) }],
    ["context", said.knows?.map((id) => `knowledge/${id}`)],
  ], sections.filter(Boolean).join("\n\n"));
}

/** Frontmatter and body. JSON is YAML, so every value is written as JSON, and what YAML takes for a line end or refuses is escaped. */
function matter(fields, body) {
  const escaped = (value) => JSON.stringify(value).replace(/[\x7f-\x9f\u2028\u2029\ufeff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const head = fields.filter(([, value]) => value !== undefined && value !== null).map(([key, value]) => `${key}: ${escaped(value)}`);
  return `---\n${head.join("\n")}\n---\n\n${body}\n`;
}

export function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const stamp = (time) => new Date(time).toISOString().replace(/\.\d+/, "");
