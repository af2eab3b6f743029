// Chromium, and what is watched while a page is open: requests, the console, errors, refusals of the content security policy, dialogs, windows, downloads,
// and whether anything ran that should not.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

// Nothing but what the pages ask for: no updates, no synchronisation, no questions at the first start.
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const SIZES = { phone: { width: 360, height: 740 }, desk: { width: 1440, height: 900 } };

export class Browser {
  static async launch(executable) {
    const own = new Browser();
    own.folder = mkdtempSync(join(tmpdir(), "page-browser-"));
    own.log = join(own.folder, "net.json");
    own.chromium = await chromium.launch({ executablePath: executable, headless: true, args: [...FLAGS, `--log-net-log=${own.log}`], env: { ...process.env, HOME: own.folder } });
    return own;
  }

  version() {
    return this.chromium.version();
  }

  /** Opens a window of its own, and watches it. `origin` is where requests may go. */
  async open(origin, { size = "desk", scheme = "light", script = true, motion = "no-preference" } = {}) {
    const context = await this.chromium.newContext({ viewport: SIZES[size], colorScheme: scheme, javaScriptEnabled: script, reducedMotion: motion, locale: "en-GB", timezoneId: "UTC" });
    context.setDefaultTimeout(15_000);
    const seen = { requests: [], findings: [] };
    const note = (what, detail) => seen.findings.push(`${what}: ${detail}`);
    await context.exposeBinding("__report", (_, what, detail) => note(what, detail));
    await context.addInitScript(WATCH);
    context.on("request", (request) => {
      seen.requests.push(request.url());
      if (!request.url().startsWith(origin)) {
        note("a request left", request.url());
      }
    });
    context.on("console", (message) => {
      // A page that is not there says so: with its status, which the browser writes to the console.
      if (["error", "warning"].includes(message.type()) && !seen.expected?.test(message.text())) {
        note(`console ${message.type()}`, message.text());
      }
    });
    context.on("weberror", (error) => note("script error", error.error().message));
    context.on("dialog", (dialog) => (note("dialog", dialog.message()), dialog.dismiss()));
    const page = await context.newPage();
    context.on("page", (other) => note("a window opened", other.url()));
    page.on("download", (download) => note("download", download.url()));
    page.on("crash", () => note("the page crashed", page.url()));
    return { page, context, seen, close: () => context.close() };
  }

  /** Ends the browser, and returns what it asked the network for, of itself too: addresses and names. */
  async close() {
    await this.chromium.close();
    const asked = networkLog(readFileSync(this.log, "utf8"));
    rmSync(this.folder, { recursive: true, force: true });
    return asked;
  }
}

// Runs before anything of a page does. What a test put into an entry calls `__ran`.
const WATCH = `(() => {
  const report = window.__report;
  const fixed = (name, value) => Object.defineProperty(window, name, { value, writable: false, configurable: false });
  fixed("__ran", (what) => report("a script ran", String(what) + " in " + location.href));
  for (const name of ["alert", "confirm", "prompt", "print", "open"]) {
    fixed(name, () => report("called", name));
  }
  document.addEventListener("securitypolicyviolation", (event) =>
    report("policy", event.effectiveDirective + " refused " + (event.blockedURI || "inline") + " " + (event.sample || "")));
})()`;

function networkLog(text) {
  // The browser may end before it has closed the list.
  let log;
  try {
    log = JSON.parse(text);
  } catch {
    log = JSON.parse(text.replace(/,?\s*$/, "]}"));
  }
  const types = Object.fromEntries(Object.entries(log.constants.logEventTypes).map(([name, number]) => [number, name]));
  const asked = { addresses: new Set(), connections: new Set(), names: new Set() };
  for (const { type, params = {} } of log.events) {
    const name = types[type] ?? "";
    if (name === "URL_REQUEST_START_JOB" && params.url) {
      asked.addresses.add(params.url);
    } else if (name.includes("CONNECT") && params.address) {
      asked.connections.add(params.address);
    } else if (name.startsWith("HOST_RESOLVER") && params.host) {
      asked.names.add(params.host);
    }
  }
  return asked;
}
