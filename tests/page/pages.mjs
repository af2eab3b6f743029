// The pages of the memory that `memory.mjs` makes, and what must hold for each of them however it is looked at.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Name, address below the token, and what the page has to say. */
export const PAGES = [
  ["Now", "./", ["Offer wallets at the checkout"]],
  ["Features", "features", ["checkout", "auth", "imports", "search"]],
  ["Feature", "feature?id=checkout", ["Offer wallets at the checkout", "Refused to load the script", "src/orders/refund.rs"]],
  ["Timeline", "timeline", ["Offer wallets at the checkout", "Guess the encoding of a CSV file"]],
  ["Timeline, by task", "timeline?by=task", ["Refund part of an order", "Outcomes, oldest first"]],
  ["Timeline, filtered", "timeline?feature=checkout&outcome=failed", ["Refund part of an order"]],
  ["Facts reused", "reuse?of=facts", ["Prices are integers of cents"]],
  ["Errors met again", "reuse?of=errors", ["Offer wallets at the checkout"]],
  ["Task", "task?id=t-refunds", ["Refund part of an order", "the history is lost", "cargo test --test refunds", "src/orders/refund.rs"]],
  ["Run", "run?id=run-b7719e02", ["Refund part of an order"]],
  ["Entries", "entries", ["States of an order"]],
  ["Entries, by tag", "entries?tag=postgres", ["Migrations run in one transaction"]],
  ["Entry", "entry?id=knowledge/order-states", ["States of an order", "The payment provider calls a webhook twice", "packed"]],
  ["Attempt", "entry?id=journal/run-b7719e02/0002", ["sum of refunds"]],
  ["Entry, compared with its first text", null, ["States of an order", "Earlier texts", "An order is"]],
  ["Add an entry", "add", ["Text, in markdown"]],
  ["Replace an entry", "add?supersedes=knowledge/order-states", ["The new entry replaces"]],
  ["Edit an entry", "edit?id=knowledge/order-states", ["Only `src/orders/state.rs` changes a state."]],
  ["Before an undo", "undo?id=1", ["Take back"]],
  ["Search", "search", []],
  ["Search, results", "search?q=order+paid+twice", ["The payment provider calls a webhook twice"]],
  ["Search, no result", "search?q=zyzzyva", []],
  ["Context", "context", ["Tasks that are not done", "Offer wallets at the checkout", "# Project Memory"]],
  ["Context of a task", "context?task=Offer+wallets+at+the+checkout&task_id=t-wallets&feature=checkout", ["Put the script into our own bundle"]],
  ["Health", "health", ["knowledge/image-service"]],
  ["No such page", "nothing-here", [], 404],
  ["No such entry", "entry?id=knowledge/nobody", [], 404],
].map(([name, path, says, status = 200]) => ({ name, path, says, status }));

/** Opens a page, and expects its status. */
export async function visit(window, site, { path, status = 200 }) {
  window.seen.expected = status >= 400 ? new RegExp(`status of ${status}`) : undefined;
  const response = await window.page.goto(site.address + path, { waitUntil: "load" });
  if (response.status() !== status) {
    throw new Error(`${path} answers ${response.status()} and not ${status}`);
  }
}

/** What is wrong with the page that is open. */
export async function look({ page, seen }, { says = [] } = {}) {
  const wrong = seen.findings.splice(0);
  // Also what is in closed details.
  const text = await page.evaluate(() => document.body.textContent.replace(/\s+/g, " "));
  wrong.push(...says.filter((part) => !text.includes(part)).map((part) => `it does not say “${part}”`));
  wrong.push(...await page.evaluate(structure));
  wrong.push(...await overflow(page));
  return wrong;
}

/** What axe finds, with the first elements. */
export async function axe(page) {
  // Evaluated by the debugger, which no policy of the page concerns.
  await page.evaluate(AXE);
  // It would load the stylesheet a second time, which the policy of a file refuses.
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"], preload: false }));
  return found.violations.map(({ id, help, nodes }) =>
    `axe ${id}: ${help}: ${nodes.slice(0, 3).map(({ target, any }) => `${target.join(" ")}${any[0] ? ` (${any[0].message})` : ""}`).join("; ")}${nodes.length > 3 ? ` and ${nodes.length - 3} more` : ""}`);
}

/** Whether the page has to be scrolled sideways, and because of what. */
export function overflow(page) {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) {
      return [];
    }
    // A box that scrolls holds what is in it, but not what is placed relative to something around the box.
    const boxed = (element) => {
      const around = (inner) => (getComputedStyle(inner).position === "absolute" ? inner.offsetParent : inner.parentElement);
      for (let up = around(element); up && up !== document.body; up = around(up)) {
        if (getComputedStyle(up).overflowX !== "visible") {
          return true;
        }
      }
      return false;
    };
    const wide = [...document.body.querySelectorAll("*")].filter((element) => element.getBoundingClientRect().right > width + 1 && !boxed(element));
    return [`it scrolls sideways: ${document.documentElement.scrollWidth} px wide at ${width}, because of ${wide.slice(0, 3).map((element) => element.outerHTML.slice(0, 120)).join(" | ")}`];
  });
}

/** Runs in the page: headings, landmarks, and text that is cut off without a way to read it. */
function structure() {
  const wrong = [];
  const count = (selector) => document.querySelectorAll(selector).length;
  for (const [selector, number] of [["h1", 1], ["main", 1], ["head title", 1], ["html[lang]", 1]]) {
    if (count(selector) !== number) {
      wrong.push(`${count(selector)} elements ${selector} and not ${number}`);
    }
  }
  if (!document.title.trim()) {
    wrong.push("an empty title");
  }
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
  if (twice.length > 0) {
    wrong.push(`ids that occur twice: ${twice.slice(0, 3)}`);
  }
  for (const link of document.querySelectorAll("a[href^='#']")) {
    if (!document.getElementById(decodeURIComponent(link.hash.slice(1)))) {
      wrong.push(`a link to ${link.hash}, which is not on the page`);
    }
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.closest(".prose, [data-markdown]") && !table.caption) {
      wrong.push("a table without a caption");
    }
  }
  const empty = [...document.querySelectorAll("main dd, main th, main button, main a")].filter((element) => element.offsetParent && !element.textContent.trim() && !element.querySelector("svg, img"));
  if (empty.length > 0) {
    wrong.push(`empty: ${empty.slice(0, 3).map((element) => element.outerHTML.slice(0, 100)).join(" | ")}`);
  }
  const odd = document.body.innerText.match(/\b(undefined|NaN|null|None|Some\(\w*|\[object \w+\])/g);
  if (odd && !location.search.includes("task")) {
    wrong.push(`words of a program: ${odd.slice(0, 3)}`);
  }
  return wrong;
}

/** The pages of a memory in which no agent has worked yet; the first one says the next step. */
export const UNUSED = ["./", "features", "timeline", "entries", "search?q=proxy", "context", "health", "add"].map((path) => ({ name: path, path, says: path === "./" ? ["ralph-memory setup"] : [], status: 200 }));

/** Every page at one width, light or dark. Calls `report(name of the page, what is wrong)`. */
export async function everywhere(browser, site, size, scheme, report, pages = PAGES) {
  const window = await browser.open(site.address, { size, scheme });
  for (const page of pages) {
    const wrong = [];
    try {
      await visit(window, site, page);
      wrong.push(...await look(window, page), ...await axe(window.page));
    } catch (error) {
      wrong.push(error.message.split("\n")[0]);
    }
    report(page.name, wrong);
  }
  await window.close();
}
