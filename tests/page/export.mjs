// An export, opened as files: it asks for nothing outside of its folder, and every link leads to a file.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { join } from "node:path";
import { axe, look } from "./pages.mjs";
import { SIZES } from "./browser.mjs";

export function files(folder) {
  return readdirSync(folder, { recursive: true }).map(String).filter((name) => statSync(join(folder, name)).isFile()).sort();
}

/** Follows every link of every page of the export, and looks at one page of each kind at both widths, light and dark. */
export async function exported(browser, folder, expect) {
  const root = `${pathToFileURL(folder).href}/`;
  const pages = files(folder).filter((name) => name.endsWith(".html"));
  expect("there is a first page", pages.includes("index.html"), pages.slice(0, 5).join(", "));
  const window = await browser.open(root);
  const { page, seen } = window;
  await page.goto(`${root}index.html`);
  const linked = new Set(["index.html"]);
  const broken = [];
  for (const name of pages) {
    const { addresses, forms } = await page.evaluate(parse, [readFileSync(join(folder, name), "utf8"), pathToFileURL(join(folder, name)).href]);
    for (const href of addresses) {
      const address = new URL(href);
      if (address.protocol === "file:") {
        const path = fileURLToPath(new URL(address.pathname, "file:///"));
        linked.add(path.slice(folder.length + 1));
        if (!existsSync(path) || !path.startsWith(`${folder}/`)) {
          broken.push(`${name} → ${href}`);
        }
      } else if (!["http:", "https:", "mailto:"].includes(address.protocol)) {
        broken.push(`${name} → ${href}`);
      }
    }
    expect("there are no forms that ask a server", forms === 0, name);
  }
  expect("every link leads to a file of the export", broken.length === 0, `${broken.length}: ${broken.slice(0, 4).join("; ")}`);
  const lost = pages.filter((name) => !linked.has(name));
  expect("every page is linked from another", lost.length === 0, `${lost.length}: ${lost.slice(0, 4).join("; ")}`);
  // One of ten is opened, and all that are not one of many.
  for (const name of pages.filter((name, at) => at % 10 === 0 || !name.includes("/"))) {
    await page.goto(pathToFileURL(join(folder, name)).href);
  }
  expect("nothing is asked for outside of the folder", seen.findings.length === 0, seen.findings.slice(0, 4).join("; "));
  await window.close();

  const kinds = new Map(pages.map((name) => [name.includes("/") ? name.split("/")[0] : name, name]));
  for (const size of Object.keys(SIZES)) {
    for (const scheme of ["light", "dark"]) {
      const other = await browser.open(root, { size, scheme });
      for (const [kind, name] of kinds) {
        await other.page.goto(pathToFileURL(join(folder, name)).href);
        const wrong = [...await look(other), ...await axe(other.page)];
        expect(`${kind} at ${SIZES[size].width} px, ${scheme}`, wrong.length === 0, wrong.join("; "));
      }
      await other.close();
    }
  }
  return pages.length;
}

/** The list of an exported search page is filtered while one types. */
export async function exportedSearch(browser, folder, expect) {
  const root = `${pathToFileURL(folder).href}/`;
  const window = await browser.open(root);
  await window.page.goto(`${root}search.html`);
  const rows = () => window.page.locator("[data-text]:visible").count();
  const all = await rows();
  await window.page.keyboard.press("/");
  await window.page.keyboard.type("deadlock");
  const some = await rows();
  expect("typing leaves the rows that match", some > 0 && some < all, `${some} of ${all}`);
  expect("nothing else was noticed", window.seen.findings.length === 0, window.seen.findings.join("; "));
  await window.close();
}

/** Runs in a page: the addresses of another, whose text is parsed and not opened. */
function parse([text, address]) {
  const parsed = new DOMParser().parseFromString(text, "text/html");
  const addresses = [...parsed.querySelectorAll("[href], [src]")].map((element) => new URL(element.getAttribute("href") ?? element.getAttribute("src"), address).href);
  return { addresses, forms: [...parsed.querySelectorAll("form")].filter((form) => form.method === "post" || form.hasAttribute("action")).length };
}
