// Makes the pictures of the documentation: `node pictures.mjs PROGRAM [--chromium PATH] [--only page|terminal]`.
//
// The pages are those of the memory in `memory.mjs`, with a run that goes on; a program that stands in for the agent says what `AGENT` has.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Browser } from "./browser.mjs";
import { makeMemory } from "./memory.mjs";
import { Program, stream } from "./program.mjs";
import { record } from "./terminal.mjs";

const TARGET = fileURLToPath(new URL("../../docs/src/images/", import.meta.url));
const LIMIT = 120_000;

// Name of the picture, address, and the sizes in which it is taken.
const PICTURES = [
  ["now", "./", ["desk", "phone"]],
  ["features", "features", ["desk"]],
  ["feature", "feature?id=checkout", ["desk"]],
  ["timeline", "timeline", ["desk"]],
  ["task", "task?id=t-refunds", ["desk", "phone"]],
  ["run", "run?id=run-b7719e02", ["desk"]],
  ["search", "search?q=order+paid+twice", ["desk"]],
  ["entries", "entries", ["desk"]],
  ["entry", "entry?id=knowledge/order-states", ["desk"]],
  ["context", "context?task=Offer+wallets+at+the+checkout&task_id=t-wallets&feature=checkout", ["desk"]],
  ["health", "health", ["desk"]],
];

// What the agent of the recording prints: the first time it fails, then it succeeds.
const AGENT = `#!/bin/sh
cat > /dev/null
say() { printf '%s\\n' "$1"; sleep "$2"; }
say '${JSON.stringify(stream.begin("sonnet"))}' 0.4
say '${JSON.stringify(stream.uses("Read", { file_path: "src/orders/state.rs" }))}' 0.5
if [ "$RALPH_ATTEMPT" = 1 ]; then
say '${JSON.stringify(stream.uses("Bash", { command: "cargo test --test returns" }))}' 0.6
say '${JSON.stringify(stream.result("<failure-report>\nwhat_tried: Went from sent to refunded\nwhy_failed: An order cannot jump over the state returned\nerror_category: test_failure\n</failure-report>\n<task-failed>t-returns</task-failed>"))}' 0.1
else
say '${JSON.stringify(stream.uses("Edit", { file_path: "src/orders/returns.rs" }))}' 0.6
say '${JSON.stringify(stream.result("<learning category=\"pitfall\" tags=\"orders, refunds\">A refund needs the state returned first.</learning>\n<task-done>t-returns</task-done>"))}' 0.1
fi
`;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { chromium: { type: "string", default: "/usr/bin/chromium" }, only: { type: "string" } },
});
if (positionals.length !== 1) {
  console.error("usage: node pictures.mjs PROGRAM [--chromium PATH] [--only page|terminal]");
  process.exit(2);
}
const scratch = mkdtempSync(join(tmpdir(), "pictures-"));
mkdirSync(join(scratch, "home"));
mkdirSync(TARGET, { recursive: true });
const program = new Program(resolve(positionals[0]), join(scratch, "home"));
const folder = join(scratch, "shop");
try {
  makeMemory(program.path, folder, program.env);
  if (options.only !== "terminal") {
    await pages();
  }
  if (options.only !== "page") {
    await terminal();
  }
} finally {
  await program.stop();
  rmSync(scratch, { recursive: true, force: true });
}

async function pages() {
  const site = await program.serve(folder);
  const agent = await program.runAgent(folder, join(scratch, "agent"), ["--task", "Show the delivery date in the cart", "--task-id", "t-delivery", "--feature", "checkout", "--format", "claude", "--no-mcp"]);
  agent.say(stream.begin("sonnet"));
  agent.say(stream.says("The warehouse knows the date; I look at how the cart asks for stock."));
  agent.say(stream.uses("Read", { file_path: "src/cart/reserve.rs" }));
  agent.say(stream.uses("Bash", { command: "cargo test --test cart" }));
  const browser = await Browser.launch(options.chromium);
  for (const scheme of ["light", "dark"]) {
    for (const [name, path, sizes] of PICTURES) {
      for (const size of sizes) {
        const { page, close } = await browser.open(site.address, { size, scheme, motion: "reduce" });
        await page.goto(site.address + path);
        if (name === "now") {
          await page.getByText("cargo test --test cart").first().waitFor();
        }
        await page.evaluate(() => document.activeElement?.blur());
        save(`page-${name}${size === "phone" ? "-phone" : ""}-${scheme}.png`, await page.screenshot({ animations: "disabled" }));
        await close();
      }
    }
  }
  await browser.close();
  agent.say(stream.result("<failure-report>\nwhat_tried: Asked for each article\nwhy_failed: It takes nine seconds\n</failure-report>\n<task-failed>t-delivery</task-failed>"));
  await agent.end();
  await site.stop();
}

/** Writes a screenshot with few colours, and says how large it is. */
function save(name, png) {
  const path = join(TARGET, name);
  writeFileSync(path, execFileSync("pngquant", ["--quality", "60-95", "--speed", "1", "--strip", "256", "-"], { input: png, maxBuffer: 1 << 26 }));
  const { size } = statSync(path);
  console.log(`${name} ${(size / 1000).toFixed(0)} kB`);
  if (size > LIMIT) {
    throw new Error(`${name} has ${size} bytes; the limit is ${LIMIT}`);
  }
}

async function terminal() {
  const bin = join(scratch, "bin");
  mkdirSync(bin);
  symlinkSync(program.path, join(bin, "ralph-memory"));
  writeFileSync(join(folder, "agent"), AGENT);
  chmodSync(join(folder, "agent"), 0o755);
  const env = { ...program.env, PATH: `${bin}:${process.env.PATH}` };
  const svg = await record([
    { typed: "ralph-memory search 'why is an order paid twice' --limit 3", wait: 3000 },
    { typed: "clear", wait: 200 },
    { typed: "ralph-memory run --task 'Refund what a customer returns' \\\n    --task-id t-returns --feature checkout --agent ./agent --format claude", wait: 4000 },
    { typed: "clear", wait: 200 },
    { typed: "ralph-memory log --task t-returns", wait: 8000 },
  ], { cwd: folder, env, rows: 24, title: "A search, a run of two attempts, and what the log says of it, at a terminal" });
  writeFileSync(join(TARGET, "terminal.svg"), svg);
  console.log(`terminal.svg ${(svg.length / 1000).toFixed(0)} kB`);
}
