// Tries the page in Chromium, and prints a table of what was tried. `node run.mjs PROGRAM [--chromium PATH] [--only WORD] [--keep FOLDER]`.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { attack, readable } from "./attack.mjs";
import { Browser } from "./browser.mjs";
import { makeHostile } from "./hostile.mjs";
import { everyPageByTab, journey } from "./keyboard.mjs";
import { live, steady } from "./live.mjs";
import { many } from "./many.mjs";
import { makeMemory, matter, write } from "./memory.mjs";
import { PAGES, UNUSED, axe, everywhere, visit } from "./pages.mjs";
import { Program } from "./program.mjs";
import { buttons, calm, crawl, fields, filters, firstScreen, mouse, times, typing, withoutScript, writing } from "./use.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { chromium: { type: "string", default: "/usr/bin/chromium" }, only: { type: "string" }, keep: { type: "string" } },
});
if (positionals.length !== 1 || !existsSync(positionals[0])) {
  console.error("usage: node run.mjs PROGRAM [--chromium PATH] [--only WORD] [--keep FOLDER]");
  process.exit(2);
}
if (!existsSync(options.chromium)) {
  console.error(`${options.chromium} is missing: \`apt-get install chromium\` installs it, or name another with --chromium`);
  process.exit(1);
}

const scratch = options.keep ? resolve(options.keep) : mkdtempSync(join(tmpdir(), "page-"));
mkdirSync(join(scratch, "home"), { recursive: true });
const program = new Program(resolve(positionals[0]), join(scratch, "home"));
const rows = [];
const begun = Date.now();

/** Runs one group of checks. `expect(what, holds, detail)` is called for each thing that must hold; what fails is kept with its detail. */
async function group(name, run) {
  if (options.only && !name.toLowerCase().includes(options.only.toLowerCase())) {
    return;
  }
  const started = Date.now();
  const failures = new Map();
  let held = 0;
  const expect = (what, holds, detail = "") => {
    if (holds) {
      held += 1;
    } else {
      failures.set(what, [...(failures.get(what) ?? []), detail]);
    }
  };
  let note = "";
  try {
    note = (await run(expect)) ?? "";
  } catch (error) {
    expect("it went through", false, error.stack.split("\n").slice(0, 6).join("\n    "));
  }
  rows.push({ name, held, failed: [...failures.values()].reduce((sum, details) => sum + details.length, 0), note, took: Date.now() - started });
  process.stderr.write(`${failures.size === 0 ? "ok  " : "FAIL"} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)\n`);
  for (const [what, details] of failures) {
    process.stderr.write(`     ${what}: ${details.length === 1 ? "" : `${details.length} times; `}${details.slice(0, 6).join("\n       ")}\n`);
  }
}

const browser = await Browser.launch(options.chromium);
const version = browser.version();
try {
  const folder = join(scratch, "shop");
  makeMemory(program.path, folder, program.env);
  const site = await program.serve(folder);
  // An earlier text is named by the operation that replaced it.
  const earlier = program.json(folder, "restore", "knowledge/order-states", "--list").versions;
  PAGES.find(({ name }) => name === "Entry, compared with its first text").path = `entry?id=knowledge/order-states&compare=${earlier.at(-1).version}`;

  for (const [way, size, scheme] of [["360 px, light", "phone", "light"], ["360 px, dark", "phone", "dark"], ["1440 px, light", "desk", "light"], ["1440 px, dark", "desk", "dark"]]) {
    await group(`Every page at ${way}: axe, structure, no sideways scrolling`, async (expect) => {
      await everywhere(browser, site, size, scheme, (page, wrong) => expect(page, wrong.length === 0, wrong.join("\n       ")));
      return `${PAGES.length} pages`;
    });
  }
  await group("Every page with Tab alone, at both widths", async (expect) => {
    let total = 0;
    await everyPageByTab(browser, site, (page, wrong, reached) => {
      expect(page, wrong.length === 0, wrong.slice(0, 4).join("\n       "));
      total += reached;
    });
    return `${total} stops`;
  });
  await group("The keys that the help names", (expect) => journey(browser, site, expect));
  await group("The help by axe", async (expect) => {
    for (const scheme of ["light", "dark"]) {
      const window = await browser.open(site.address, { scheme, size: "phone" });
      await visit(window, site, { path: "./" });
      await window.page.keyboard.press("?");
      const wrong = await axe(window.page);
      expect(scheme, wrong.length === 0, wrong.join("; "));
      await window.close();
    }
  });
  await group("By mouse, from page to page", (expect) => mouse(browser, site, expect));
  await group("Every link leads to a page", async (expect) => `${await crawl(browser, site, expect)} pages`);
  await group("Search while one types", (expect) => typing(browser, site, program, folder, expect));
  await group("Filters", (expect) => filters(browser, site, expect));
  await group("Filters without JavaScript", (expect) => filters(browser, site, expect, false));
  await group("Every page and form without JavaScript", (expect) => withoutScript(browser, site, expect));
  await group("No movement where none is wanted", (expect) => calm(browser, site, expect));
  await group("Times, for as long as a page is open", (expect) => times(browser, site, expect));
  await group("What is stuck, on the first screen of a phone", (expect) => firstScreen(browser, site, expect));
  await group("Fields of a form are equally high", (expect) => fields(browser, site, expect));
  await group("Fifty pages at once", async (expect) => `${(await many(site, expect)).toFixed(2)} of the time that they take one after the other`);
  await group("Archive, restore and undo by button", (expect) => buttons(browser, site, folder, expect));
  await group("Archive, restore and undo without JavaScript", (expect) => buttons(browser, site, folder, expect, { script: false }));
  await group("Archive, restore and undo by keyboard", (expect) => buttons(browser, site, folder, expect, { keyboard: true }));
  await group("Add, edit, replace, copy, and undo where it was pressed", (expect) => writing(browser, site, program, folder, expect));
  await group("Add, edit, replace and undo without JavaScript", (expect) => writing(browser, site, program, folder, expect, { script: false }));
  await group("Live, while `run` goes on in another process", async (expect) => {
    const times = await live(browser, site, program, folder, scratch, expect);
    return `shown after ${Object.values(times).map((time) => `${time}`).join(", ")} ms`;
  });
  await group("Live: what is typed stays, slow pages, and the end of the server", (expect) => steady(browser, program, join(scratch, "steady"), expect));
  await site.stop();

  for (const [name, entries] of [["nothing in it", 0], ["500 entries and no attempt", 500]]) {
    await group(`A memory with ${name}: axe, structure, no sideways scrolling`, async (expect) => {
      const unused = join(scratch, `unused-${entries}`);
      mkdirSync(unused, { recursive: true });
      program.run(unused, "init");
      for (let number = 0; number < entries; number += 1) {
        write(join(unused, ".ralph/knowledge", `fact-${number}.md`), matter([["title", `Fact ${number}`], ["tags", ["proxy", `part-${number % 40}`]], ["feature", `feature-${number % 7}`]], `The proxy of part ${number} restarts at night.`));
      }
      const unusedSite = await program.serve(unused);
      for (const size of ["phone", "desk"]) {
        for (const scheme of ["light", "dark"]) {
          await everywhere(browser, unusedSite, size, scheme, (page, wrong) => expect(`${page}, ${size}, ${scheme}`, wrong.length === 0, wrong.join("\n       ")), UNUSED);
        }
      }
      await unusedSite.stop();
      return `${UNUSED.length} pages`;
    });
  }

  const hostile = join(scratch, "hostile");
  const ids = makeHostile(program.path, hostile, program.env);
  const hostileSite = await program.serve(hostile);
  await group("Hostile entries: nothing runs, nothing breaks out", async (expect) => {
    const { opened, slowest } = await attack(browser, hostileSite, ids, expect);
    return `${opened} pages, the slowest in ${slowest.took} ms (\`${slowest.path.slice(0, 60)}\`)`;
  });
  await group("Hostile entries can be read, and the search typed into", (expect) => readable(browser, hostileSite, ids, expect));
  await hostileSite.stop();
} finally {
  const asked = await browser.close();
  await group("The browser asked nobody but the page", async (expect) => {
    // The browser's maker is asked by the browser itself, also with an empty page.
    const own = /^(https?:\/\/)?([\w-]+\.)*(google|googleapis|gvt1|gstatic)\.com(:\d+)?(\/|$)/;
    const local = /^(https?:\/\/)?127\.0\.0\.1(:\d+)?(\/|$)|^(file|data|chrome|chrome-\w+|devtools|about|blob):/;
    for (const address of [...asked.addresses, ...asked.names]) {
      expect("addresses and names", own.test(address) || local.test(address), address.slice(0, 120));
    }
    return `${asked.addresses.size} addresses`;
  });
  await program.stop();
  if (!options.keep) {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const failed = rows.reduce((sum, row) => sum + row.failed, 0);
const axeVersion = JSON.parse(readFileSync(new URL("node_modules/axe-core/package.json", import.meta.url))).version;
console.log(`Chromium ${version}, axe-core ${axeVersion}, ${Math.round((Date.now() - begun) / 1000)} s\n`);
console.log("| tried | result | |\n|---|---|---|");
for (const row of rows) {
  console.log(`| ${row.name} | ${row.failed === 0 ? `${row.held} held` : `**${row.failed} failed**, ${row.held} held`} | ${row.note} |`);
}
console.log(`\n${rows.filter((row) => row.failed === 0).length} passed, ${rows.filter((row) => row.failed > 0).length} failed`);
process.exit(failed === 0 ? 0 : 1);
