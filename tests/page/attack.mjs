// Every page of a hostile memory, and every payload in every field of every address: nothing runs, nothing breaks out of where it belongs, and the page
// still works.
import { PAYLOADS } from "./hostile.mjs";
import { axe, overflow } from "./pages.mjs";

const PARTS = ["./", "features", "timeline", "timeline?by=task", "entries", "search", "context", "health", "add"];
const FIELDS = {
  search: ["q", "tag", "kind", "feature", "scope", "category", "since", "until"],
  timeline: ["feature", "run", "task", "outcome", "model", "by", "since", "until", "page"],
  entries: ["tag", "feature", "category", "kind", "author", "sort", "page"],
  reuse: ["of", "page"],
  add: ["title", "body", "tags", "category", "feature", "supersedes"],
  edit: ["id"],
  undo: ["id", "from"],
  context: ["task", "task_id", "feature", "section", "description"],
  entry: ["id", "compare"],
  feature: ["name"],
  task: ["id"],
  run: ["id"],
};

/** Opens all pages, some at a time, at phone width. Returns the number of pages and how long the slowest took. */
export async function attack(browser, site, ids, expect) {
  const plain = await browser.open(site.address);
  // The page of the search has its field in the content.
  const frames = {};
  for (const path of ["nothing-here", "search"]) {
    await plain.page.goto(`${site.address}${path}`);
    frames[path] = await plain.page.evaluate(frameOf);
  }
  await plain.close();

  const paths = [...PARTS, ...ids.map((id) => `entry?id=${encodeURIComponent(id)}`)];
  const fields = Object.entries(FIELDS).flatMap(([part, names]) => names.map((name) => `${part}?${name}=`));
  PAYLOADS.forEach((payload, at) => {
    // Each payload in three fields, so that each field gets several.
    for (const turn of [0, 1, 2]) {
      paths.push(fields[(at * 3 + turn) % fields.length] + encodeURIComponent(payload.slice(0, 1500).toWellFormed()));
    }
  });
  // What the pages link to: attempts, tasks, runs, features, earlier texts, further pages of lists.
  const queue = [...paths];
  const limit = paths.length + 400;
  const known = new Set(queue);
  const slowest = { path: "", took: 0 };
  let opened = 0;
  let sampled = 0;
  const worker = async (number) => {
    const window = await browser.open(site.address, { size: "phone", scheme: number % 2 ? "dark" : "light" });
    window.seen.expected = /status of (400|404)/;
    const { page, seen } = window;
    for (let path; (path = queue.shift()) !== undefined;) {
      const begun = Date.now();
      let response;
      try {
        response = await page.goto(site.address + path, { timeout: 30_000 });
      } catch (error) {
        expect("every page opens", false, `${path}: ${error.message.split("\n")[0]}`);
        continue;
      }
      opened += 1;
      const took = Date.now() - begun;
      if (took > slowest.took) {
        Object.assign(slowest, { path, took });
      }
      expect("every page answers, if only that there is no such thing", [200, 400, 404].includes(response.status()), `${path}: ${response.status()}`);
      const found = await page.evaluate(inspect, frames[path.startsWith("search") && response.status() === 200 ? "search" : "nothing-here"]);
      found.wrong.push(...await overflow(page));
      // A page that was left while something was on its way to be reported.
      found.wrong.push(...seen.findings.splice(0));
      expect("nothing runs and nothing breaks out", found.wrong.length === 0, `${path.slice(0, 120)}: ${found.wrong.slice(0, 3).join("; ")}`);
      if ((sampled += 1) % 40 === 0) {
        const violations = await axe(page);
        expect("axe finds nothing", violations.length === 0, `${path.slice(0, 120)}: ${violations.join("; ")}`);
      }
      for (const link of found.links) {
        const next = link.slice(site.address.length).split("#")[0];
        if (link.startsWith(site.address) && !known.has(next) && known.size < limit) {
          known.add(next);
          queue.push(next);
        }
      }
    }
    await window.close();
  };
  await Promise.all([1, 2, 3].map(worker));
  return { opened, slowest };
}

/** A script in an entry is text that one can read. */
export async function readable(browser, site, ids, expect) {
  const window = await browser.open(site.address);
  const { page, seen } = window;
  const plain = ids[28];
  await page.goto(`${site.address}entry?id=${encodeURIComponent(plain)}`);
  expect("markup is shown as text", (await page.locator("main").innerText()).includes("<script>__ran(1)</script>"), plain);
  // As one types, results come by script: the same must hold.
  await page.goto(`${site.address}search`);
  const box = page.locator("#q");
  for (const payload of PAYLOADS.slice(0, 30)) {
    await box.fill(payload.slice(0, 200));
    await page.waitForFunction((text) => new URL(location.href).searchParams.get("q") === text, (await box.inputValue()));
  }
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  expect("the page still works", await page.locator("dialog[open]").count() === 1);
  const findings = seen.findings.filter((finding) => !/status of 400/.test(finding));
  expect("nothing ran", findings.length === 0, findings.slice(0, 3).join("; "));
  await window.close();
}

/** Runs in the page: the elements around the content. */
function frameOf() {
  const outline = (element, depth) => `${element.localName}${element.id ? `#${element.id}` : ""}${depth ? `(${[...element.children].map((child) => outline(child, depth - 1)).join(" ")})` : ""}`;
  const main = document.querySelector("main");
  return {
    body: [...document.body.children].map((element) => (element === main ? "main" : outline(element, 3))).join(" "),
    head: [...document.head.children].map((element) => element.localName).join(" "),
    root: [...document.documentElement.children].map((element) => element.localName).join(" "),
  };
}

/** Runs in the page: what must not be there. */
function inspect(frame) {
  const wrong = [];
  const outline = (element, depth) => `${element.localName}${element.id ? `#${element.id}` : ""}${depth ? `(${[...element.children].map((child) => outline(child, depth - 1)).join(" ")})` : ""}`;
  const body = [...document.body.children].map((element) => (element.localName === "main" ? "main" : outline(element, 3))).join(" ");
  const head = [...document.head.children].map((element) => element.localName).join(" ");
  if (body !== frame.body || head !== frame.head) {
    wrong.push(`the frame of the page differs: ${body} / ${head}`);
  }
  const here = new URL(location.href).href.replace(/[^/]*(\?.*)?(#.*)?$/, "");
  const allowed = new Set("html head meta title link script body a header img span bdi bdo nav ul ol li form label input main h1 h2 h3 h4 h5 h6 div p footer kbd dialog dl dt dd button section article aside table caption thead tbody tfoot tr th td details summary pre code blockquote hr br em strong del time svg rect text g line path circle polyline title desc select option optgroup textarea fieldset legend small figure figcaption mark ins wbr abbr sup sub output progress meter search b i".split(" "));
  const links = [];
  for (const element of document.querySelectorAll("*")) {
    if (!allowed.has(element.localName)) {
      wrong.push(`an element <${element.localName}>`);
    }
    for (const { name, value } of element.attributes) {
      if (name === "autofocus" && element.id !== "q") {
        wrong.push(`the focus is taken by <${element.localName}>`);
      }
      if (/^on/i.test(name) || ["style", "srcdoc", "srcset", "formaction", "ping", "background", "xlink:href", "http-equiv"].includes(name)) {
        wrong.push(`an attribute ${name}="${value.slice(0, 60)}" of <${element.localName}>`);
      }
      if (["href", "src", "action"].includes(name)) {
        const address = new URL(value, document.baseURI);
        const own = address.href.startsWith(here);
        const web = element.localName === "a" && ["http:", "https:", "mailto:"].includes(address.protocol);
        if (!own && !web) {
          wrong.push(`${name}="${value.slice(0, 80)}" of <${element.localName}>`);
        }
        if (element.localName === "a" && own) {
          links.push(address.href);
        }
        if (element.localName === "a" && !own && !/noreferrer/.test(element.rel)) {
          wrong.push(`a link to elsewhere that names this page: ${value.slice(0, 80)}`);
        }
      }
    }
  }
  if (document.querySelectorAll("script").length !== 1 || document.querySelectorAll("script:not([src])").length !== 0) {
    wrong.push("a script that is not the page's own");
  }
  if (getComputedStyle(document.documentElement).getPropertyValue("--ran") !== "") {
    wrong.push("a style of an entry applies");
  }
  const text = document.documentElement.outerHTML;
  const odd = text.match(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  if (odd) {
    wrong.push(`a character U+${odd[0].charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
  // Whatever listens, hears: handlers that an attribute brought would run now.
  for (const element of document.querySelectorAll("main *")) {
    for (const type of ["mouseover", "mouseenter", "focus", "blur", "toggle", "error", "load", "animationstart", "pointerdown"]) {
      element.dispatchEvent(new Event(type, { bubbles: false }));
    }
  }
  return { wrong, links };
}
