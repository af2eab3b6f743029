// Pages that are open while `run` goes on in another process: they show what the agent does, without being loaded again.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stream } from "./program.mjs";
import { axe, visit } from "./pages.mjs";

// Longer than anything takes, on however busy a machine.
const LONGEST = 30_000;
const TASK = "Show the delivery date in the cart";

export async function live(browser, site, program, folder, scratch, expect) {
  const open = async (path) => {
    const window = await browser.open(site.address);
    await visit(window, site, { path });
    await window.page.evaluate(() => (window.__same = true));
    return window;
  };
  const [now, timeline, feature, task] = await Promise.all(["./", "timeline", "feature?id=checkout", "task?id=t-wallets"].map(open));
  await timeline.page.locator("main a").nth(1).focus();
  const focused = await timeline.page.evaluate(() => document.activeElement.textContent);
  const main = (window) => window.page.locator("main");
  const comes = async (window, text, what, timeout = LONGEST) => {
    const begun = Date.now();
    const came = await main(window).getByText(text).first().waitFor({ state: "attached", timeout }).then(() => true, () => false);
    expect(what, came, `“${text}” is not on the page after ${timeout} ms`);
    return Date.now() - begun;
  };
  const agent = await program.runAgent(folder, join(scratch, "agent"), ["--task", TASK, "--task-id", "t-delivery", "--feature", "checkout", "--format", "claude", "--no-mcp"]);
  const times = {};
  times.begins = await comes(now, TASK, "Now shows the task when its run begins");
  await comes(now, "#1 of 1", "Now says which attempt it is, and how many there may be");
  expect("Now says for how long it has been going on", /Running for\s+\d+ s/.test(await main(now).innerText()), (await main(now).innerText()).slice(0, 300));
  agent.say(stream.begin("sonnet"));
  agent.say(stream.says("I look at the cart first."));
  agent.say(stream.uses("Read", { file_path: join(folder, "src/cart/reserve.rs") }));
  times.reads = await comes(now, "src/cart/reserve.rs", "Now shows which file the agent reads");
  agent.say(stream.uses("Bash", { command: "cargo test --test cart", description: "<img src=x onerror=__ran(1)> \u202E" }));
  times.runs = await comes(now, "cargo test --test cart", "Now shows the command that the agent runs");
  const rows = await main(now).locator(".actions-done li").evaluateAll((all) => all.map((row) => row.getClientRects().length === 1 && row.getBoundingClientRect().height < 40));
  expect("each action is one row", rows.length >= 3 && rows.every(Boolean), JSON.stringify(rows));
  const wrong = await axe(now.page);
  expect("axe finds nothing while a run goes on", wrong.length === 0, wrong.join("; "));
  agent.say(stream.result("<failure-report>\nwhat_tried: Asked the warehouse for each article\nwhy_failed: The cart takes nine seconds\nerror_category: timeout\n</failure-report>\n<task-failed>t-delivery</task-failed>"));
  const { code, printed } = await agent.end();
  expect("the run ends as it should", code === 1, `${code}: ${printed}`);
  times.ends = await comes(timeline, TASK, "the timeline shows the attempt when it ends");
  await comes(feature, TASK, "so does its feature");
  await main(now).getByText("cargo test --test cart").waitFor({ state: "detached", timeout: LONGEST }).catch(() => {});
  expect("Now no longer shows the agent", await main(now).getByText("cargo test --test cart").count() === 0);
  for (const [name, window] of Object.entries({ now, timeline, feature, task })) {
    expect(`${name} was not loaded again`, await window.page.evaluate(() => window.__same === true));
    expect(`${name} noticed nothing else`, window.seen.findings.length === 0, window.seen.findings.join("; "));
  }
  expect("the focus stays on its link", await timeline.page.evaluate(() => document.activeElement.textContent) === focused, focused);
  expect("aria-live says that the page changed", (await timeline.page.locator("[aria-live]").allInnerTexts()).join("").trim() !== "");
  // A change by another command.
  program.run(folder, "add", "Delivery dates come from the warehouse", "--tags", "checkout", "--feature", "checkout", "--body", "Once an hour, for all articles.");
  const entries = await open("entries");
  program.run(folder, "add", "The warehouse closes at six", "--tags", "checkout", "--body", "Orders after six are sent the next day.");
  times.entry = await comes(entries, "The warehouse closes at six", "the list of entries shows a new entry");
  // What is typed or chosen is not taken away.
  await visit(entries, site, { path: "context" });
  await entries.page.locator('main form [name="task"]').fill("half of a sentence");
  program.run(folder, "add", "The van leaves at seven", "--tags", "checkout", "--body", "On weekdays.");
  expect("an update leaves what was typed", await entries.page.locator('main form [name="task"]').inputValue() === "half of a sentence");
  for (const window of [now, timeline, feature, task, entries]) {
    await window.close();
  }
  return times;
}

/** What an update must not lose, and what a page says once there are none: in a memory and with a server of its own. */
export async function steady(browser, program, folder, expect) {
  mkdirSync(folder, { recursive: true });
  program.run(folder, "init");
  const add = (title) => program.run(folder, "add", title, "--tags", "live", "--body", `${title}.`);
  add("First of all");
  const site = await program.serve(folder);
  const window = await browser.open(site.address);
  const { page } = window;
  const main = page.locator("main");
  const comes = async (what, text) => {
    const came = await main.getByText(text).first().waitFor({ timeout: LONGEST }).then(() => true, () => false);
    expect(what, came, `“${text}” is not on the page`);
  };
  // Filters that nobody has sent yet.
  await visit(window, site, { path: "entries" });
  await page.locator('main [name="kind"]').selectOption("all");
  await page.locator('main [name="sort"]').selectOption("title");
  await page.locator("main form button").focus();
  add("While a button has the focus");
  await comes("the list is updated beside its filters", "While a button has the focus");
  const typed = () => page.evaluate(() => ["kind", "sort"].map((name) => document.querySelector(`main [name="${name}"]`).value).join());
  expect("an update leaves what was chosen", await typed() === "all,title", await typed());
  await page.locator('main [name="kind"]').focus();
  add("While somebody chooses");
  await comes("the list is updated while somebody chooses", "While somebody chooses");
  await page.keyboard.press("Home");
  expect("the field keeps the focus", await typed() === ",title", await typed());
  await visit(window, site, { path: "timeline" });
  await page.locator('main [name="task"]').fill("auth");
  const head = "run_id: run-live\niteration: 1\noutcome: failed\nstarted_at: 2026-01-01T10:00:00Z";
  mkdirSync(join(folder, ".ralph/journal/run-live"), { recursive: true });
  writeFileSync(join(folder, ".ralph/journal/run-live/0001.md"), `---\n${head}\ntask_id: t-live\ntask_title: Keep the lights on\n---\n`);
  await comes("so is the timeline", "Keep the lights on");
  expect("the timeline leaves what was typed", await page.locator('main [name="task"]').inputValue() === "auth");
  // The title is a part of the page, too.
  await visit(window, site, { path: "entry?id=first-of-all" });
  const file = join(folder, ".ralph/knowledge/first-of-all.md");
  writeFileSync(file, readFileSync(file, "utf8").replace(/First of all/g, "Second to none"));
  await comes("the heading follows the title", "Second to none");
  expect("one heading", (await page.locator("h1").innerText()) === "Second to none", await page.locator("h1").innerText());
  expect("so does the name of the window", (await page.title()).startsWith("Second to none"), await page.title());
  // What was done is said as long as it is so, and only to whoever did it.
  await page.getByRole("button", { name: "Move to the archive" }).click();
  await comes("the page says what was done", "Moved to the archive.");
  expect("the address does not", !page.url().includes("done="), page.url());
  program.run(folder, "undo");
  const gone = await main.getByText("Moved to the archive.").waitFor({ state: "detached", timeout: LONGEST }).then(() => true, () => false);
  expect("the page does not say what was undone", gone);
  // A page that takes longer than the time between two changes.
  await visit(window, site, { path: "health" });
  const requests = { begun: 0, failed: 0 };
  page.on("requestfailed", (request) => (requests.failed += request.url().endsWith("/health")));
  await page.route("**/health", async (route) => {
    requests.begun += 1;
    await new Promise((done) => setTimeout(done, 1500));
    await route.continue();
  });
  for (const number of [1, 2, 3, 4, 5, 6, 7, 8]) {
    add(`Change ${number}`);
    await new Promise((done) => setTimeout(done, 300));
  }
  await main.getByRole("link", { name: "Change 8" }).first().waitFor({ timeout: 15_000 }).catch(() => {});
  expect("a slow page shows the last change", await main.getByRole("link", { name: "Change 8" }).count() > 0);
  expect("no update of a slow page is given up", requests.failed === 0 && requests.begun > 0, JSON.stringify(requests));
  await page.unroute("**/health");
  // The server ends.
  await visit(window, site, { path: "./" });
  expect("a page with a connection says nothing of it", !(await page.locator("#offline").isVisible()));
  window.seen.expected = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/;
  await site.stop();
  await comes("a page without a connection says since when", /No connection to the server since \d/);
  expect("nothing else was noticed", window.seen.findings.length === 0, window.seen.findings.join("; "));
  await window.close();
  return `${requests.begun} requests for 8 changes of a slow page`;
}
