// Opens each page of `ralph-memory serve` in Chromium at two widths, follows each link, presses the three buttons, and takes pictures:
// `node run.mjs PROGRAM [--chromium PATH] [--pictures FOLDER] [--docs]`. Anything unexpected is an error; the exit code is 1 if there was one.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { makeHostile, makeMemory } from "./memory.mjs";
import { recordTerminal } from "./terminal.mjs";

const DOCS = fileURLToPath(new URL("../../docs/src/images/", import.meta.url));
const SIZES = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
const PAGES = {
  now: "./",
  review: "review",
  entries: "entries",
  entry: "entry?id=knowledge/order-states",
  attempt: "entry?id=journal/run-b7719e02/0001",
  search: "search?q=order+paid+twice",
  timeline: "timeline",
  features: "features",
  task: "task?id=t-refunds",
  run: "run?id=run-b7719e02",
  missing: "nothing",
  hostile: "entry?id=knowledge/hostile",
  "hostile-attempt": "entry?id=journal/run-hostile1/0001",
};

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { chromium: { type: "string", default: "/usr/bin/chromium" }, pictures: { type: "string" }, docs: { type: "boolean" } },
});
if (positionals.length !== 1) {
  console.error("usage: node run.mjs PROGRAM [--chromium PATH] [--pictures FOLDER] [--docs]");
  process.exit(2);
}
const program = resolve(positionals[0]);
const scratch = mkdtempSync(join(tmpdir(), "page-"));
const folder = join(scratch, "shop");
mkdirSync(folder);
const env = { PATH: process.env.PATH, HOME: scratch, TZ: "UTC", LANG: "C.UTF-8" };
const memory = (...args) => execFileSync(program, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] }).toString();
const errors = [];
const check = (is, what) => is || errors.push(what);
const servers = [];
let browser = null;

try {
  execFileSync("git", ["init", "--quiet"], { cwd: folder, env });
  memory("init");
  makeMemory(folder);
  browser = await chromium.launch({ executablePath: options.chromium, args: ["--no-sandbox", "--disable-gpu"], env });
  if (options.docs) {
    await documentation();
  } else {
    makeHostile(folder);
    const site = await serve(env);
    for (const size of Object.keys(SIZES)) {
      for (const scheme of ["light", "dark"]) {
        await looks(site, size, scheme);
      }
    }
    await links(site);
    await buttons(site);
    await agents();
  }
} finally {
  await browser?.close();
  servers.forEach((server) => server.kill("SIGINT"));
  rmSync(scratch, { recursive: true, force: true });
}
errors.forEach((error) => console.error(`error: ${error}`));
console.log(errors.length === 0 ? "all as expected" : `${errors.length} errors`);
process.exit(errors.length === 0 ? 0 : 1);

/** Starts the server of the page, and returns its address. */
async function serve(variables) {
  const server = spawn(program, ["serve", "--port", "0", "--json"], { cwd: folder, env: variables, stdio: ["ignore", "pipe", "inherit"] });
  servers.push(server);
  for await (const text of server.stdout) {
    return JSON.parse(text).address;
  }
}

/** Opens a window in which everything is an error that a page of ours does not do. */
async function open(site, size, scheme = "light", javaScriptEnabled = true) {
  const context = await browser.newContext({ viewport: SIZES[size], colorScheme: scheme, javaScriptEnabled, locale: "en-GB", timezoneId: "UTC" });
  const page = await context.newPage();
  const note = (what) => errors.push(`${page.url().slice(site.length)} (${size}, ${scheme}): ${what}`);
  await context.exposeBinding("__ran", (_, which) => note(`script ${which} of an entry ran`));
  page.on("request", (request) => request.url().startsWith(site) || note(`asked for ${request.url()}`));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && !/404|403/.test(message.text()) && note(message.text()));
  page.on("pageerror", (error) => note(error.message));
  page.on("dialog", (dialog) => (note(`dialog ${dialog.message()}`), dialog.dismiss()));
  return { context, page };
}

/** Looks at each page: nothing is wider than the window, text can be told from its background, the keyboard reaches what can be used. */
async function looks(site, size, scheme) {
  const { context, page } = await open(site, size, scheme);
  for (const [name, path] of Object.entries(PAGES)) {
    await page.goto(site + path);
    const where = `${name} (${size}, ${scheme})`;
    const found = await page.evaluate(measure);
    check(found.width <= SIZES[size].width, `${where} is ${found.width} px wide: ${found.wide}`);
    check(found.headings === 1 && found.ids === 0 && found.unnamed === 0, `${where}: ${JSON.stringify(found)}`);
    check(found.faint.length === 0, `${where}: too little contrast: ${found.faint.join("; ")}`);
    await page.keyboard.press("Tab");
    check(await page.evaluate(() => document.activeElement.textContent === "Skip to content" && document.activeElement.getBoundingClientRect().left >= 0), `${where}: Tab shows no way to the content`);
    if (options.pictures) {
      await page.evaluate(() => document.activeElement.blur());
      mkdirSync(options.pictures, { recursive: true });
      await page.screenshot({ path: join(options.pictures, `${name}-${size}-${scheme}.png`), fullPage: !name.startsWith("hostile") });
    }
  }
  await context.close();
}

/** What a page is like, seen from inside of it. */
function measure() {
  const all = [...document.querySelectorAll("body *")];
  const shown = (element) => element.checkVisibility() && !element.closest(".sr, .skip") && element.getBoundingClientRect().width > 1;
  const ids = all.map((element) => element.id).filter(Boolean);
  const unnamed = [...document.querySelectorAll("a, button, input:not([type=hidden]), select")].filter((element) =>
    !(element.textContent.trim() || element.getAttribute("aria-label") || element.labels?.length));
  const light = (colour) => {
    const [red, green, blue] = colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const back = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return /, 0\)$/.test(colour) && element.parentElement ? back(element.parentElement) : colour;
  };
  const faint = all.filter((element) => shown(element) && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())).filter((element) => {
    const [one, other] = [light(getComputedStyle(element).color), light(back(element))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05) < 4.5;
  });
  const wide = all.filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".scroll, pre"));
  return {
    width: document.documentElement.scrollWidth,
    wide: wide.slice(0, 3).map((element) => element.tagName + "." + element.className).join(" "),
    headings: document.querySelectorAll("h1").length,
    ids: ids.length - new Set(ids).size,
    unnamed: unnamed.length,
    faint: faint.slice(0, 3).map((element) => element.tagName + " " + element.textContent.slice(0, 30)),
  };
}

/** Follows each link of each page, as long as it leads to one of ours. */
async function links(site) {
  const { context, page } = await open(site, "desk");
  const [waiting, seen] = [Object.values(PAGES).slice(0, -3), new Set()];
  while (waiting.length > 0) {
    const path = waiting.pop();
    if (seen.has(path) || seen.size > 400) continue;
    seen.add(path);
    const answer = await page.goto(site + path);
    // A feature may have no attempt, and a fact of a context may be gone.
    check(answer.status() === 200 || path === "nothing", `${path}: ${answer.status()}`);
    const found = await page.evaluate(() => [...document.querySelectorAll("a[href]")].map((link) => link.getAttribute("href")));
    waiting.push(...found.filter((href) => !/^(https?|mailto):|^#/.test(href)));
  }
  console.log(`${seen.size} addresses`);
  await context.close();
}

/** Presses the buttons, with and without JavaScript. */
async function buttons(site) {
  const file = (id, area = "") => existsSync(join(folder, ".ralph", area, "knowledge", `${id}.md`));
  for (const script of [true, false]) {
    const { context, page } = await open(site, script ? "desk" : "phone", "light", script);
    const press = (name) => page.getByRole("button", { name, exact: true }).first().click();
    const says = async (text) => check((await page.locator("main").textContent()).includes(text), `${script ? "" : "no script, "}${page.url().slice(site.length)} does not say "${text}"`);
    await page.goto(`${site}entry?id=knowledge/order-states`);
    await says("ralph-memory edit knowledge/order-states");
    await press("Archive");
    await says("Moved to the archive.");
    check(!file("order-states") && file("order-states", "archive"), "Archive moved nothing");
    await press("Undo");
    await says("Taken back.");
    check(file("order-states"), "Undo restored nothing");
    await page.goto(`${site}review`);
    const before = await page.getByRole("button", { name: "Keep" }).count();
    // The hostile entry has characters that no text may have, and stays as it is.
    await page.locator("li.row", { hasText: /cart|Facets/ }).getByRole("button", { name: "Keep" }).first().click();
    await says("Kept: it is yours now");
    check(await page.getByRole("button", { name: "Keep" }).count() === before - 1, "Keep kept nothing");
    await context.close();
  }
  // An open page notices what changes.
  const { context, page } = await open(site, "desk");
  await page.goto(site);
  memory("add", "A fact that is new", "--tags", "new", "--body", "It is.");
  await page.getByText("a-fact-that-is-new").waitFor({ timeout: 30_000 });
  await context.close();
}

/** Looks at the page of a server that an agent started. */
async function agents() {
  const site = await serve({ ...env, CLAUDECODE: "1" });
  const { context, page } = await open(site, "desk");
  for (const path of ["./", "review", "entry?id=knowledge/order-states"]) {
    await page.goto(site + path);
    check(await page.locator("form[method=post]").count() === 0, `${path}: an agent's page has buttons`);
  }
  await context.close();
}

/** Makes the pictures of the documentation. */
async function documentation() {
  const site = await serve(env);
  for (const [name, path] of [["page-now-light", "./"], ["page-task-light", PAGES.task]]) {
    const { context, page } = await open(site, "desk");
    await page.goto(site + path);
    const png = await page.screenshot({ animations: "disabled" });
    writeFileSync(join(DOCS, `${name}.png`), execFileSync("pngquant", ["--quality", "60-95", "--speed", "1", "--strip", "256", "-"], { input: png, maxBuffer: 1 << 26 }));
    await context.close();
  }
  writeFileSync(join(DOCS, "terminal.svg"), await recordTerminal(program, folder, scratch, env));
}
