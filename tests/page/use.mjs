// The page as somebody uses it: by mouse, typing into the search, with filters, without JavaScript, and the forms that change something.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { PAGES, visit } from "./pages.mjs";

/** A way through all pages with the mouse alone. */
export async function mouse(browser, site, expect) {
  const window = await browser.open(site.address);
  const { page, seen } = window;
  const heading = () => page.locator("h1").innerText();
  const click = async (locator) => {
    await locator.first().click();
    await page.waitForLoadState();
  };
  await visit(window, site, { path: "./" });
  for (const part of ["Features", "Timeline", "Entries", "Context", "Health", "Now"]) {
    const link = page.locator("nav.main").getByRole("link", { name: part, exact: true });
    await click(link);
    expect(`${part} opens from the navigation`, await link.getAttribute("aria-current") === "page", await heading());
  }
  const follow = async (from, name, expected) => {
    await click(page.locator("main").getByRole("link", { name }));
    const text = `${await heading()} ${await page.title()}`;
    expect(`${from} leads to “${expected}”`, text.includes(expected), text);
  };
  await visit(window, site, { path: "features" });
  await follow("Features", "checkout", "checkout");
  await follow("a feature", "Refund part of an order", "Refund part of an order");
  expect("a task shows its attempts", await page.locator("main").getByText("the history is lost").count() > 0);
  await follow("a task", /run-b7719e02/, "run-b7719e02");
  await follow("a run", "Refund part of an order", "Refund part of an order");
  await visit(window, site, { path: "timeline" });
  await click(page.locator("main").getByRole("link", { name: "Offer wallets at the checkout" }));
  expect("the timeline leads to an attempt or its task", (await heading()).includes("Offer wallets at the checkout"), await heading());
  await visit(window, site, { path: "entries" });
  await follow("the list of entries", "States of an order", "States of an order");
  await follow("an entry", "The payment provider calls a webhook twice", "The payment provider calls a webhook twice");
  await follow("a link back", "States of an order", "States of an order");
  await page.locator("#quick").click();
  await page.keyboard.type("umlauts");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=umlauts/);
  await follow("a search", "Umlauts need the German analyzer", "Umlauts need the German analyzer");
  await click(page.locator("main").getByRole("link", { name: "language" }));
  expect("a tag leads to the entries that have it", await page.locator("main").getByText("Umlauts need the German analyzer").count() > 0, page.url());
  expect("nothing else was noticed", seen.findings.length === 0, seen.findings.join("; "));
  await window.close();
}

/** Follows every link of every page, by request, and looks whether it leads anywhere. Returns how many pages there are. */
export async function crawl(browser, site, expect) {
  const window = await browser.open(site.address);
  const queue = ["./"];
  const known = new Map([["./", "the start"]]);
  for (let path; (path = queue.shift()) !== undefined;) {
    const response = await window.context.request.get(site.address + path, { maxRedirects: 0 });
    expect("every link leads to a page", response.status() === 200, `${path} from ${known.get(path)}: ${response.status()}`);
    const type = response.headers()["content-type"] ?? "";
    if (!type.startsWith("text/html")) {
      continue;
    }
    const body = await response.text();
    for (const [, raw] of body.matchAll(/<a\b[^>]*?\shref="([^"]*)"/g)) {
      const href = raw.replaceAll("&amp;", "&").replaceAll("&#39;", "'").replaceAll("&quot;", '"');
      const address = new URL(href, site.address + path);
      address.hash = "";
      const next = address.href.slice(site.address.length) || "./";
      if (address.href.startsWith(site.address) && !known.has(next) && known.size < 1500) {
        known.set(next, path);
        queue.push(next);
      }
    }
  }
  await window.close();
  return known.size;
}

/** What a search shows: the ids of its results, in order. */
const results = (page) => page.$$eval("#results a[href^='entry?id=']", (links) => [...new Set(links.filter((link) => link.closest(".row-title, h2, h3")).map((link) => new URL(link.href).searchParams.get("id")))]);

/** Waits until the page shows what it would show if it were loaded now. */
async function settled(page, typed) {
  await page.waitForFunction((text) => new URL(location.href).searchParams.get("q") === text, typed);
  await page.evaluate(async () => {
    const fresh = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html").getElementById("results");
    // Details that somebody opened are open in the page alone, and times are relative there.
    const text = (results) => {
      const copy = results.cloneNode(true);
      copy.querySelectorAll("time").forEach((time) => (time.textContent = time.dateTime));
      return copy.textContent.replace(/\s+/g, " ");
    };
    for (const end = Date.now() + 10_000; text(fresh) !== text(document.getElementById("results")) && Date.now() < end;) {
      await new Promise((done) => setTimeout(done, 20));
    }
  });
}

/** Types into the search, letter by letter. */
export async function typing(browser, site, program, folder, expect) {
  const window = await browser.open(site.address);
  const { page, seen } = window;
  await visit(window, site, { path: "search" });
  await page.evaluate(() => (window.__same = true));
  const said = [];
  await page.exposeFunction("__said", (text) => said.push(text));
  await page.evaluate(() => new MutationObserver(() => window.__said(document.getElementById("announce").textContent)).observe(document.getElementById("announce"), { childList: true, characterData: true, subtree: true }));
  await page.locator("#q").click();
  const shown = [];
  for (const letters of ["dead", "lock", " cart"]) {
    await page.keyboard.type(letters, { delay: 30 });
    const typed = await page.locator("#q").inputValue();
    await settled(page, typed);
    shown.push(await results(page));
  }
  expect("results come while one types", shown[1].includes("knowledge/cart-lock-order"), JSON.stringify(shown));
  expect("results change while one types", JSON.stringify(shown[0]) !== JSON.stringify(shown[1]) || JSON.stringify(shown[1]) !== JSON.stringify(shown[2]), JSON.stringify(shown));
  expect("aria-live says how many there are", said.some((text) => /\d/.test(text)), said.join(" | "));
  expect("the page is not loaded again", await page.evaluate(() => window.__same === true));
  expect("the focus stays where one types", await page.evaluate(() => document.activeElement.id === "q"));
  const printed = program.json(folder, "search", "deadlock cart").entries.map(({ id }) => id);
  expect("the page finds what the command finds, in its order", JSON.stringify(shown[2].slice(0, printed.length)) === JSON.stringify(printed.slice(0, shown[2].length)), `${shown[2]} and not ${printed}`);
  const marked = await page.locator("#results mark").allInnerTexts();
  expect("the words that were found are marked", marked.length > 0 && marked.every((text) => /^(dead|lock|cart)/i.test(text)), marked.slice(0, 8).join(", "));
  await page.reload();
  expect("the address keeps the search", JSON.stringify(await results(page)) === JSON.stringify(shown[2]));
  await page.locator("#q").fill("zyzzyva");
  await page.waitForFunction(() => document.getElementById("results").querySelectorAll(".row").length === 0);
  expect("it says that nothing was found", /no |nothing/i.test(await page.locator("#results").innerText()), await page.locator("#results").innerText());
  // The last answer wins, however late an earlier one comes.
  let held;
  await page.route("**/search?*q=slow*", async (route) => {
    held = route;
  });
  await page.locator("#q").fill("slow");
  await page.waitForFunction(() => location.search.includes("slow"));
  await page.locator("#q").fill("umlauts");
  await page.waitForFunction(() => document.getElementById("results").innerText.includes("Umlauts"));
  await held?.continue().catch(() => {});
  await settled(page, "umlauts");
  expect("a late answer does not replace a newer one", (await page.locator("#results").innerText()).includes("Umlauts"));
  expect("nothing else was noticed", seen.findings.length === 0, seen.findings.join("; "));
  await window.close();
}

/** Filters of search, timeline and entries: each by its form, each with results that all have it. */
export async function filters(browser, site, expect, script = true) {
  const window = await browser.open(site.address, { script });
  const { page, seen } = window;
  // Page, name of the field, value, and what every row must say; `all` is a query with enough results.
  const cases = [
    ["search?q=order", "tag", "checkout", /checkout/],
    ["search?q=tests", "feature", "checkout", /checkout/],
    ["search?q=order", "kind", "knowledge", /^(?![\s\S]*\battempt ·)/],
    ["search?q=order", "kind", "journal", /journal|attempt/],
    ["search?q=refund", "scope", "task:t-refunds", /No tests for a refund/],
    ["search?q=tests", "since", daysAgo(25), null],
    ["timeline", "feature", "auth", /auth|login|passkey|sign out/i],
    ["timeline", "outcome", "done", /done/],
    ["timeline", "task", "t-facets", /Count facets/],
    ["timeline", "run", "run-b7719e02", /Refund part/],
    ["timeline", "since", daysAgo(3), null],
    ["entries", "tag", "postgres", /postgres/],
    ["entries", "kind", "journal", /journal|attempt/],
    ["entries", "feature", "imports", /imports/],
    ["entries", "author", "agents", /by agent|by reviewer/],
    ["entries", "author", "people", /^(?![\s\S]*\bby (agent|reviewer))/],
  ];
  for (const [path, field, value, each] of cases) {
    const what = `${path.split("?")[0]}: ${field} = ${value}`;
    await visit(window, site, { path });
    const rows = page.locator(path.startsWith("search") ? "#results .row" : "#content .row, #content tbody tr");
    const before = await rows.count();
    const control = page.locator(`main form [name="${field}"]`).first();
    if (await control.count() === 0) {
      expect(what, false, "there is no such field");
      continue;
    }
    if (!await control.isVisible()) {
      await page.locator("main form details > summary, main details > summary").first().click();
    }
    const named = await control.evaluate((element) => element.labels?.length > 0 || element.hasAttribute("aria-label"));
    const tag = await control.evaluate((element) => element.localName);
    if (tag === "select") {
      await control.selectOption(value);
    } else {
      await control.fill(value);
    }
    const button = control.locator("xpath=ancestor::form").locator("button").first();
    if (await button.isVisible()) {
      await button.click();
    } else {
      await control.press("Enter");
    }
    await page.waitForURL((address) => address.searchParams.get(field) === value).catch(() => {});
    if (path.startsWith("search") && script) {
      await settled(page, new URL(page.url()).searchParams.get("q"));
    }
    const texts = await rows.allInnerTexts();
    const off = each ? texts.filter((text) => !each.test(text)) : [];
    expect(what, named && texts.length > 0 && texts.length !== before && off.length === 0, `${named ? "" : "no label; "}${texts.length} of ${before} rows; without it: ${off.slice(0, 2).map((text) => text.slice(0, 80).replaceAll("\n", " ")).join(" | ")}`);
    expect(`${what}: the form shows the filter`, await page.locator(`main form [name="${field}"]`).first().inputValue() === value);
  }
  expect("nothing else was noticed", seen.findings.length === 0, seen.findings.join("; "));
  await window.close();
}

const daysAgo = (days) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

/** All pages without JavaScript: they say the same, and searching works. */
export async function withoutScript(browser, site, expect) {
  const window = await browser.open(site.address, { script: false });
  const { page, seen } = window;
  for (const one of PAGES) {
    await visit(window, site, one);
    const text = await page.evaluate(() => document.body.textContent.replace(/\s+/g, " "));
    const missing = one.says.filter((part) => !text.includes(part));
    expect(`${one.name} says what it has to`, missing.length === 0, missing.join(", "));
    expect(`${one.name} promises no keys`, !await page.locator("footer kbd").isVisible());
  }
  await visit(window, site, { path: "./" });
  await page.locator("#quick").fill("deadlock");
  await page.locator("#quick").press("Enter");
  await page.waitForURL(/q=deadlock/);
  expect("a search works", (await results(page)).includes("knowledge/cart-lock-order"));
  await visit(window, site, { path: "context" });
  await page.locator('main form [name="task"]').fill("Offer wallets at the checkout");
  await page.locator("main form button").first().click();
  await page.waitForURL(/task=Offer/);
  expect("the context of a task works", (await page.locator("main").innerText()).includes("Refused to load the script") || (await page.locator("main").innerText()).includes("content security policy"));
  expect("nothing else was noticed", seen.findings.length === 0, seen.findings.join("; "));
  await window.close();
}

/** An entry is added, edited, replaced and its path copied, by keyboard and mouse; taken back, every byte is as before. */
export async function writing(browser, site, program, folder, expect, { script = true } = {}) {
  const window = await browser.open(site.address, { script });
  const { page, context, seen } = window;
  const before = bytes(folder);
  const file = (name) => readFileSync(join(folder, ".ralph/knowledge", name), "utf8");
  const send = async (name) => {
    const answered = page.waitForEvent("load");
    await page.locator("main").getByRole("button", { name }).click();
    await answered;
  };
  await visit(window, site, { path: "entries" });
  await page.locator("main").getByRole("link", { name: "Add an entry" }).click();
  await page.getByLabel("Title").fill("Gift cards never expire");
  await page.getByLabel("Text, in markdown").fill("By law.\n\nSee `src/money.rs` & <b>ask</b>.\n");
  await page.getByLabel("Tags").fill("checkout, gifts");
  await send("Write it");
  expect("the page says that it was written", (await page.locator("main").innerText()).includes("Written."));
  expect("the file has the text and the tags", file("gift-cards-never-expire.md").endsWith("By law.\n\nSee `src/money.rs` & <b>ask</b>.\n") && file("gift-cards-never-expire.md").includes("[checkout, gifts]"), file("gift-cards-never-expire.md"));
  if (script) {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy the path" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect("the path is copied", await page.evaluate(() => navigator.clipboard.readText()) === ".ralph/knowledge/gift-cards-never-expire.md");
  } else {
    expect("no button copies without JavaScript", !await page.locator(".copy").isVisible());
  }
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.getByLabel("Text, in markdown").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("Ask again.");
  await send("Save");
  expect("an edit changes the text alone", file("gift-cards-never-expire.md").endsWith("By law.\n\nSee `src/money.rs` & <b>ask</b>.\nAsk again.\n"), file("gift-cards-never-expire.md"));
  await page.getByRole("link", { name: "Replace", exact: true }).click();
  expect("what replaces it has its tags", await page.getByLabel("Tags").inputValue() === "checkout, gifts");
  await page.getByLabel("Title").fill("Gift cards expire after ten years");
  await page.getByLabel("Text, in markdown").fill("The law has changed.");
  await send("Write it");
  await visit(window, site, { path: "entry?id=knowledge/gift-cards-never-expire" });
  expect("the old one is replaced", (await page.locator("main").innerText()).includes("superseded"));
  for (const number of [1, 2, 3]) {
    await visit(window, site, { path: "./" });
    const answered = page.waitForEvent("load");
    await page.locator("main").getByRole("button", { name: /undo/i }).first().click();
    await answered;
    const note = await page.locator(".note.good").innerText();
    expect("undo says on the same page what it took back", /Taken back: (add|edit) · 1 file (created|changed) (\.ralph\/knowledge\/gift|Gift cards )/.test(note.replace(/\s+/g, " ")) && (await page.locator("h1").innerText()) === "Now", `${number}: ${note}`);
  }
  expect("every byte is as before", bytes(folder) === before);
  expect("nothing else was noticed", seen.findings.length === 0, seen.findings.join("; "));
  await window.close();
}

/** Every byte of the entries. */
export function bytes(folder) {
  const hash = createHash("sha256");
  for (const part of ["knowledge", "journal", "archive"]) {
    const root = join(folder, ".ralph", part);
    for (const name of existsSync(root) ? readdirSync(root, { recursive: true }).map(String).sort() : []) {
      if (statSync(join(root, name)).isFile()) {
        hash.update(`${part}/${name}\0`).update(readFileSync(join(root, name)));
      }
    }
  }
  return hash.digest("hex");
}

/** Archive, restore and undo by their buttons; every byte is as before when each was taken back. */
export async function buttons(browser, site, folder, expect, { script = true, keyboard = false } = {}) {
  const window = await browser.open(site.address, { script });
  const { page, seen } = window;
  const live = join(folder, ".ralph/knowledge/logs-are-json-in-production.md");
  const press = async (path, name) => {
    await visit(window, site, { path });
    const button = page.locator("main").getByRole("button", { name }).first();
    if (await button.count() === 0) {
      throw new Error(`${path} has no button ${name}`);
    }
    const answered = page.waitForEvent("load");
    if (keyboard) {
      await button.focus();
      await page.keyboard.press("Enter");
    } else {
      await button.click();
    }
    await answered;
    return page.locator("main").innerText();
  };
  const before = bytes(folder);
  const after = await press("entry?id=knowledge/logs-are-json-in-production", /archive/i);
  expect("the button archives", !existsSync(live), live);
  expect("the page says so", /archived/i.test(after), after.slice(0, 200));
  const archived = page.url().slice(site.address.length);
  const restored = await press(archived, /restore/i);
  expect("the button restores", existsSync(live));
  expect("the page says so", /restored|back/i.test(restored), restored.slice(0, 200));
  expect("every byte is as before", bytes(folder) === before);
  // An undo of what was restored, and its redo: the buttons are where the last changes are listed.
  await visit(window, site, { path: "./" });
  const listed = await page.locator("main").getByRole("button", { name: /undo/i }).count() > 0 ? "./" : "health";
  await press(listed, /undo/i);
  expect("undo takes back the restoring", !existsSync(live));
  await press(listed, /redo/i);
  expect("redo brings it back", existsSync(live) && bytes(folder) === before);
  await page.goBack();
  await page.reload().catch(() => {});
  expect("going back and loading again changes nothing", bytes(folder) === before);
  expect("nothing else was noticed", seen.findings.length === 0, seen.findings.join("; "));
  await window.close();
}

/** Times are relative to the clock of whoever looks, go on while a page is open, and are exact in the title and without JavaScript. */
export async function times(browser, site, expect) {
  const window = await browser.open(site.address);
  const { page, seen } = window;
  await page.clock.install();
  await visit(window, site, { path: "timeline" });
  const shown = () => page.locator("main time").evaluateAll((all) => all.map((element) => [element.textContent, element.title, element.dateTime]));
  const first = await shown();
  const form = /^(just now|\d+ (min|h) ago|\d+ days? ago|\d{4}-\d\d-\d\d)$/;
  expect("times are relative", first.length > 20 && first.every(([text]) => form.test(text)), first.find(([text]) => !form.test(text))?.[0] ?? `${first.length}`);
  expect("titles are exact", first.every(([, title, time]) => title === `${time.replace("T", " ").replace("Z", "")} UTC`), first[0].join(" | "));
  await page.clock.runFor("05:00:00");
  const later = await shown();
  expect("they go on while the page is open", later.some(([text], at) => text !== first[at][0]) && later.every(([text]) => form.test(text)), `${first[1][0]} and ${later[1][0]}`);
  expect("nothing else was noticed", seen.findings.length === 0, seen.findings.join("; "));
  await window.close();
  const plain = await browser.open(site.address, { script: false });
  await visit(plain, site, { path: "timeline" });
  const texts = await plain.page.locator("main time").allInnerTexts();
  expect("without JavaScript they are exact", texts.every((text) => /^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/.test(text)), texts[0]);
  await plain.close();
}

/** What stands in a row of a form is equally high. */
export async function fields(browser, site, expect) {
  for (const size of ["desk", "phone"]) {
    const window = await browser.open(site.address, { size });
    for (const path of ["timeline", "entries", "search?q=a&kind=knowledge"]) {
      await visit(window, site, { path });
      const folded = window.page.locator("details.fold:not([open]) > summary");
      if (await folded.isVisible()) {
        await folded.click();
      }
      const heights = await window.page.locator(".field :is(input:not(.big), select):visible").evaluateAll((all) => [...new Set(all.map((element) => element.getBoundingClientRect().height))]);
      expect(`${path}, ${size}`, heights.length === 1, heights.join(", "));
    }
    await window.close();
  }
}

/** What is stuck is seen on a phone without scrolling. */
export async function firstScreen(browser, site, expect) {
  const window = await browser.open(site.address, { size: "phone" });
  await visit(window, site, { path: "./" });
  const [top, bottom, height] = await window.page.locator("#stuck + .rows .row").first().evaluate((row) => [row.getBoundingClientRect().top, row.getBoundingClientRect().bottom, innerHeight]);
  expect("the first stuck task", bottom <= height, `from ${top} to ${bottom} of ${height} px`);
  await window.close();
}

/** No movement for people who asked for none. */
export async function calm(browser, site, expect) {
  const window = await browser.open(site.address, { motion: "reduce" });
  for (const one of PAGES.filter(({ status }) => status === 200)) {
    await visit(window, site, one);
    const moving = await window.page.evaluate(() => document.getAnimations().length + [...document.querySelectorAll("*")].filter((element) => parseFloat(getComputedStyle(element).transitionDuration) > 0).length);
    expect(`${one.name} stands still`, moving === 0, `${moving} elements move`);
  }
  await window.close();
}
