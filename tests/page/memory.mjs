// A small memory of a made-up project, the same each time but for the clock: some weeks of work on a shop, with tasks that were done, that fail
// and that go in circles, errors that recur, entries that link to each other, earlier texts and events.
//
// Files are written as docs/src/reference/files.md describes them. Times are ages, so that pages show the same whenever the memory is made.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

// id, title, tags, fields, body; `age` in days. The body's `[[…]]` are links.
const KNOWLEDGE = [
  ["integration-tests-need-port-5433", "Integration tests need port 5433", "tests, postgres",
    { category: "pitfall", age: 41, questions: ["Why do the database tests fail with connection refused?"], importance: 70 },
    "The test database listens on 5433, because 5432 is taken on most machines.\n\n```sh\nPGPORT=5433 cargo test --test database\n```\n\nSee [[knowledge/migrations-run-in-one-transaction]] for what the tests do first."],
  ["migrations-run-in-one-transaction", "Migrations run in one transaction", "postgres, migrations",
    { category: "code_structure", age: 40, files: ["src/db/migrate.rs"] },
    "`src/db/migrate.rs` wraps every migration in one transaction. `CREATE INDEX CONCURRENTLY` cannot run in there: put it into `migrations/after/`.\n\n1. Write the migration.\n2. Write its reverse.\n3. Run `cargo test --test database`, which applies both."],
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
  ["csrf-tokens-are-tied-to-the-session", "CSRF tokens are tied to the session", "auth, csrf",
    { category: "code_structure", feature: "auth", age: 28 },
    "A token is an HMAC of the session's id. It survives a restart and needs no table. [[knowledge/session-cookies-are-lax]] is the second line of defence."],
  ["password-hashes-take-80-ms", "A password hash takes 80 ms", "auth, tests, performance",
    { category: "testing_strategy", feature: "auth", age: 22, questions: ["Why are the login tests slow?"] },
    "Tests set `ARGON2_ITERATIONS=1`. Without it, the tests of the login take four minutes."],
  ["rate-limits-count-by-account", "Rate limits count by account, not by address", "auth, limits",
    { category: "decision", feature: "auth", age: 12, source: "human" },
    "Whole offices share one address. Count by account, and by address only above 300 per minute."],
  ["the-index-is-rebuilt-at-night", "The product index is rebuilt at night", "search, operations",
    { category: "code_structure", feature: "search", age: 35 },
    "A full build takes 11 minutes and doubles the memory. Between builds, changes arrive by `pg_notify`."],
  ["umlauts-need-the-german-analyzer", "Umlauts need the German analyzer", "search, language",
    { category: "pitfall", feature: "search", age: 18, files: ["src/search/analyzer.rs"], questions: ["Why does Schlüssel not find Schluessel?"] },
    "The standard analyzer treats `ü` and `ue` as different. Use `GermanFolding`, for the index *and* for the query."],
  ["facets-are-counted-before-the-page", "Facets are counted before the page is cut", "search, performance",
    { category: "success_pattern", feature: "search", age: 9, source: "agent" },
    "One pass with a bitset for each facet is three times as fast as a query for each facet.\n\n- 40 facets, 200,000 products: 14 ms instead of 45 ms\n- the bitsets take 1 MB"],
  ["csv-from-suppliers-is-windows-1252", "CSV files of suppliers are Windows-1252", "imports, encoding",
    { category: "pitfall", feature: "imports", age: 26, questions: ["Why are there question marks in product names?"] },
    "Two of five suppliers say UTF-8 and send Windows-1252. `src/imports/decode.rs` guesses from the bytes `80`–`9F`."],
  ["imports-are-idempotent", "An import can be repeated", "imports",
    { category: "success_pattern", feature: "imports", age: 25, updated: 14 },
    "Rows are keyed by supplier and article number. The same file twice changes nothing, so retry without asking."],
  ["large-imports-need-copy", "Imports above 10,000 rows need COPY", "imports, postgres, performance",
    { category: "tool_usage", feature: "imports", age: 16, files: ["src/imports/load.rs"] },
    "Single inserts take 9 minutes for 100,000 rows. `COPY` into a temporary table and one `INSERT … ON CONFLICT` take 6 seconds."],
  ["flaky-clock-in-tests", "Tests pass the clock in", "tests",
    { category: "testing_strategy", age: 30 },
    "`Clock` is a parameter. A test that reads the system's clock fails once a month, at midnight."],
  ["how-we-release", "How we release", "release",
    { category: "hint", age: 20, source: "human" },
    "Tag `v*` on `main`. The pipeline builds, migrates and deploys; `make rollback` takes back all three."],
  ["logs-are-json-in-production", "Logs are JSON in production", "operations, logging",
    { age: 37 },
    "Set `LOG_FORMAT=text` on your own machine. Never log a request's body: it has card numbers."],
  ["old-image-sizes", "Product images come in four sizes", "images",
    { age: 39 }, "160, 320, 640 and 1280 px. [[knowledge/image-service]] makes them when they are first asked for."],
  ["sandbox-resets-on-mondays", "The payment sandbox is reset on Mondays", "checkout, payments, tests",
    { category: "debugging_technique", feature: "checkout", age: 8, expires: 3 },
    "All test customers are gone then. `make sandbox-seed` makes them."],
];

// Earlier texts, oldest first: id, title, tags, body.
const EARLIER = [
  ["order-states", "States of an order", "orders", "An order is `open`, `paid` or `sent`."],
  ["order-states", "States of an order", "checkout, orders",
    "| state | next | who |\n|---|---|---|\n| `open` | `paid`, `cancelled` | the customer |\n| `paid` | `sent`, `refunded` | the payment provider |\n| `sent` | `returned` | the customer |\n\nOnly `src/orders/state.rs` changes a state."],
  ["imports-are-idempotent", "An import can be repeated", "imports", "Rows are keyed by article number. The same file twice changes nothing."],
];

const DEADLOCK = "error: deadlock detected (40P01)\n  process 4121 waits for ShareLock on transaction 88120\n  at src/cart/reserve.rs:112";
const MISMATCH = "error[E0308]: mismatched types\n  --> src/search/facets.rs:48:21\n   | expected `u32`, found `usize`";
const TIMEOUT = "error: test `imports::whole_catalogue` timed out after 60 s";

// A task: id, title, feature, section, then its attempts from the oldest. An attempt: age in hours, run, outcome, model, and what it reports.
const TASKS = [
  ["t-cart-reserve", "Reserve stock when an article enters the cart", "checkout", "checkout", [
    [122, "run-3f0c11aa", "failed", "haiku", { tried: "Locked the stock row, then the cart", why: "Two customers with the same articles end in a deadlock", category: "deadlock", error: DEADLOCK, files: ["src/cart/reserve.rs"], next: "Look at the order of the locks" }],
    [121, "run-3f0c11aa", "failed", "sonnet", { tried: "Retried the transaction up to three times", why: "Under load all three attempts hit the same deadlock", category: "deadlock", error: DEADLOCK, files: ["src/cart/reserve.rs", "src/db/retry.rs"] }],
    [119, "run-3f0c11aa", "done", "opus", { notes: "Locked cart, stock and order in this order everywhere. The deadlock is gone under 200 parallel carts.", files: ["src/cart/reserve.rs", "src/orders/place.rs"], verify: ["cargo test --test cart", 0], knows: ["integration-tests-need-port-5433"] }],
  ]],
  ["t-double-webhook", "Ignore a webhook that arrives twice", "checkout", "checkout", [
    [792, "run-08d2c7e1", "retried", "haiku", { notes: "Compared the time of the event.", verify: ["cargo test --test webhooks", 101], output: "thread 'second_event_is_ignored' panicked:\n  left: 2\n right: 1", category: "test_failure", files: ["src/checkout/webhook.rs"] }],
    [791, "run-08d2c7e1", "done", "sonnet", { notes: "A unique index on `event_id`; the second insert is ignored.", verify: ["cargo test --test webhooks", 0], files: ["src/checkout/webhook.rs", "migrations/0031_event_id.sql"] }],
  ]],
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
  ["t-passkeys", "Sign in with a passkey", "auth", "auth", [
    [160, "run-c0ffee12", "error", "sonnet", { notes: "The API answered 529 four times.", files: [] }],
    [159, "run-c0ffee12", "done", "sonnet", { notes: "Registration and login with `webauthn-rs`; the session is the same as with a password.", verify: ["cargo test auth::passkey", 0], files: ["src/auth/passkey.rs", "templates/login.html"], knows: ["session-cookies-are-lax", "csrf-tokens-are-tied-to-the-session"] }],
  ]],
  ["t-sign-out", "Sign out of all devices", "auth", "auth", [
    [100, "run-c0ffee12", "done", "haiku", { notes: "A generation number in the account; older sessions are refused.", verify: ["cargo test auth::sessions", 0], files: ["src/auth/session.rs"], knows: ["session-cookies-are-lax"] }],
  ]],
  ["t-facets", "Count facets in one pass", "search", "search", [
    [215, "run-d41d8cd9", "failed", "haiku", { tried: "A query for each facet, in parallel", why: "Forty queries need more connections than the pool has", category: "timeout", files: ["src/search/facets.rs"] }],
    [214, "run-d41d8cd9", "failed", "sonnet", { tried: "One pass with a map for each facet", why: "It does not compile", category: "compile_error", error: MISMATCH, files: ["src/search/facets.rs"] }],
    [213, "run-d41d8cd9", "done", "sonnet", { notes: "Bitsets; 45 ms became 14 ms for 200,000 products.", verify: ["cargo bench facets", 0], files: ["src/search/facets.rs", "src/search/bitset.rs"] }],
  ]],
  ["t-umlauts", "Find Schlüssel when somebody types Schluessel", "search", "search", [
    [430, "run-77b2f1c9", "done", "haiku", { notes: "`GermanFolding` for index and query.", verify: ["cargo test search::", 0], files: ["src/search/analyzer.rs"] }],
  ]],
  ["t-suggest", "Suggest articles while somebody types", "search", "search", [
    [76, "run-e28a90bb", "failed", "haiku", { tried: "A prefix query for each key press", why: "It does not compile after the change of the index", category: "compile_error", error: MISMATCH, files: ["src/search/suggest.rs", "src/search/facets.rs"] }],
    [75, "run-e28a90bb", "failed", "sonnet", { tried: "An FST of all names", why: "Names that change during the day are missing until the night", category: "design", files: ["src/search/suggest.rs"] }],
    [73, "run-e28a90bb", "failed", "opus", { tried: "The FST and a small list of changes", why: "It does not compile with the new facets", category: "compile_error", error: MISMATCH, files: ["src/search/suggest.rs", "src/search/facets.rs"] }],
  ]],
  ["t-catalogue", "Import the whole catalogue of a supplier", "imports", "imports", [
    [410, "run-2b8e55d0", "failed", "haiku", { tried: "Inserts in batches of 100", why: "The test takes longer than a minute", category: "timeout", error: TIMEOUT, files: ["src/imports/load.rs"] }],
    [409, "run-2b8e55d0", "failed", "sonnet", { tried: "Eight connections in parallel", why: "The test takes longer than a minute, since the index is the limit", category: "timeout", error: TIMEOUT, files: ["src/imports/load.rs", "src/db/pool.rs"] }],
    [406, "run-2b8e55d0", "done", "opus", { notes: "`COPY` into a temporary table, then one `INSERT … ON CONFLICT`: 6 s.", verify: ["cargo test imports::", 0], files: ["src/imports/load.rs"], knows: ["migrations-run-in-one-transaction"] }],
  ]],
  ["t-encoding", "Guess the encoding of a CSV file", "imports", "imports", [
    [620, "run-10aa7e3d", "done", "sonnet", { notes: "The bytes 80 to 9F decide.", verify: ["cargo test imports::decode", 0], files: ["src/imports/decode.rs"] }],
  ]],
  ["t-dry-run", "Show what an import would change", "imports", "imports", [
    [30, "run-f00d4c71", "interrupted", "haiku", { notes: "Stopped by Ctrl-C.", files: ["src/imports/plan.rs"] }],
    [29, "run-f00d4c71", "partial", "haiku", { notes: "New rows are listed; changed rows are not.", files: ["src/imports/plan.rs"] }],
    [28, "run-f00d4c71", "done", "sonnet", { notes: "A plan with new, changed and unchanged rows, as text and as JSON.", verify: ["cargo test imports::plan", 0], files: ["src/imports/plan.rs", "src/imports/report.rs"], knows: ["imports-are-idempotent", "csv-from-suppliers-is-windows-1252"] }],
  ]],
  ["t-ci-cache", "Cache the build in CI", null, null, [
    [345, "run-ab12cd34", "done", "haiku", { notes: "Keyed by the lock file and the compiler.", files: [".ci/build.yml"] }],
  ]],
];

const EVENTS = [
  ["decision", "Money is never a float.", "project", 38, "human"],
  ["rejection", "No tests for a refund of nothing.", "task:t-refunds", 2.2, "reviewer"],
  ["approval", "Passkeys reviewed and merged.", "section:auth", 6.5, "reviewer"],
  ["follow_up", "Remove the old image sizes after the sale.", "project", 11, "human"],
];

const COSTS = { haiku: [0.06, 28_000, 2_100, 95], sonnet: [0.31, 61_000, 5_400, 240], opus: [1.42, 88_000, 9_700, 610] };

/** Makes the memory in `folder` with the program, and returns what it holds. */
export function makeMemory(program, folder, env, now = Date.now()) {
  mkdirSync(folder, { recursive: true });
  const run = (...command) => execFileSync(command[0], command.slice(1), { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] }).toString();
  run("git", "init", "--quiet", "--initial-branch=main");
  run("git", "config", "user.name", "Dev");
  run("git", "config", "user.email", "dev@example.com");
  // Files of the project that entries are about. One is rewritten after its entry, which makes the entry unverified.
  for (const path of new Set(KNOWLEDGE.flatMap(([, , , fields]) => fields.files ?? []))) {
    write(join(folder, path), lines(path, "first"));
  }
  commit(run, "Begin", now - 45 * DAY);
  run(program, "--quiet", "init");
  const ralph = join(folder, ".ralph");
  for (const [id, title, tags, body] of EARLIER) {
    replaceText(program, folder, env, id, entry(now, title, tags, { age: 32 }, body));
  }
  for (const [id, title, tags, fields, body] of KNOWLEDGE) {
    write(join(ralph, "knowledge", `${id}.md`), entry(now, title, tags, fields, body));
  }
  for (const [event, summary, scope, age, source] of EVENTS) {
    const id = summary.toLowerCase().replace(/[^a-z]+/g, "-").replace(/-$/, "");
    write(join(ralph, "knowledge", `${id}.md`), entry(now, summary, event, { category: event, scope, age, source }, summary));
  }
  const numbers = {};
  const attempts = TASKS.flatMap(([id, title, feature, section, tries]) => tries.map((attempt) => ({ id, title, feature, section, attempt })))
    .sort((a, b) => b.attempt[0] - a.attempt[0]);
  for (const { id, title, feature, section, attempt } of attempts) {
    const iteration = (numbers[attempt[1]] = (numbers[attempt[1]] ?? 0) + 1);
    write(join(ralph, "journal", attempt[1], `${String(iteration).padStart(4, "0")}.md`), journal(now, { id, title, feature, section, iteration }, attempt));
  }
  commit(run, "Remember", now - 3 * DAY);
  write(join(folder, "src/search/analyzer.rs"), lines("src/search/analyzer.rs", "second"));
  commit(run, "Rewrite the analyzer", now - 2 * DAY);
  return { folder, entries: KNOWLEDGE.length + EVENTS.length, attempts: attempts.length, tasks: TASKS.length };
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
export function matter(fields, body) {
  const escaped = (value) => JSON.stringify(value).replace(/[\x7f-\x9f\u2028\u2029\ufeff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const head = fields.filter(([, value]) => value !== undefined && value !== null).map(([key, value]) => `${key}: ${escaped(value)}`);
  return `---\n${head.join("\n")}\n---\n\n${body}\n`;
}

export function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const stamp = (time) => new Date(time).toISOString().replace(/\.\d+/, "");

/** Makes a text of an entry one that an edit replaced, so that the undo log has it. */
export function replaceText(program, folder, env, id, text) {
  const path = join(folder, ".ralph/knowledge", `${id}.md`);
  write(path, text);
  const editor = `sed -i '$a Replaced.'`;
  execFileSync(program, ["--quiet", "edit", id], { cwd: folder, env: { ...env, EDITOR: editor, VISUAL: editor }, stdio: ["ignore", "pipe", "pipe"] });
}

const lines = (path, version) => Array.from({ length: 60 }, (_, n) => `// ${path}, ${version} version, line ${n}`).join("\n") + "\n";

function commit(run, message, time) {
  run("git", "add", "--all");
  run("env", `GIT_COMMITTER_DATE=${stamp(time)}`, `GIT_AUTHOR_DATE=${stamp(time)}`, "git", "commit", "--quiet", "--no-verify", "--message", message);
}
