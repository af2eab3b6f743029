// Pages that are open while `run` goes on in another process: they show what the agent does, without being loaded again.
import { join } from "node:path";
import { stream } from "./program.mjs";
import { axe, visit } from "./pages.mjs";

const TASK = "Show the delivery date in the cart";

export async function live(browser, site, program, folder, scratch, expect) {
  const open = async (path) => {
    const window = await browser.open(site.address);
    await visit(window, site, { path });
    await window.page.evaluate(() => (window.__same = true));
    return window;
  };
  const [now, timeline, feature, task] = await Promise.all(["./", "timeline", "feature?name=checkout", "task?id=t-wallets"].map(open));
  await timeline.page.locator("main a").nth(1).focus();
  const focused = await timeline.page.evaluate(() => document.activeElement.textContent);
  const main = (window) => window.page.locator("main");
  const comes = async (window, text, what, timeout = 8000) => {
    const begun = Date.now();
    const came = await main(window).getByText(text).first().waitFor({ state: "attached", timeout }).then(() => true, () => false);
    expect(what, came, `“${text}” is not on the page after ${timeout} ms`);
    return Date.now() - begun;
  };
  const agent = await program.runAgent(folder, join(scratch, "agent"), ["--task", TASK, "--task-id", "t-delivery", "--feature", "checkout", "--format", "claude", "--no-mcp"]);
  const times = {};
  times.begins = await comes(now, TASK, "Now shows the task when its run begins");
  expect("Now says which iteration it is", /iteration\W*1|#1/i.test(await main(now).innerText()), (await main(now).innerText()).slice(0, 300));
  agent.say(stream.begin("sonnet"));
  agent.say(stream.says("I look at the cart first."));
  agent.say(stream.uses("Read", { file_path: join(folder, "src/cart/reserve.rs") }));
  times.reads = await comes(now, "src/cart/reserve.rs", "Now shows which file the agent reads");
  agent.say(stream.uses("Bash", { command: "cargo test --test cart", description: "<img src=x onerror=__ran(1)> \u202E" }));
  times.runs = await comes(now, "cargo test --test cart", "Now shows the command that the agent runs");
  const wrong = await axe(now.page);
  expect("axe finds nothing while a run goes on", wrong.length === 0, wrong.join("; "));
  agent.say(stream.result("<failure-report>\nwhat_tried: Asked the warehouse for each article\nwhy_failed: The cart takes nine seconds\nerror_category: timeout\n</failure-report>\n<task-failed>t-delivery</task-failed>"));
  const { code, printed } = await agent.end();
  expect("the run ends as it should", code === 1, `${code}: ${printed}`);
  times.ends = await comes(timeline, TASK, "the timeline shows the attempt when it ends");
  await comes(feature, TASK, "so does its feature");
  await main(now).getByText("cargo test --test cart").waitFor({ state: "detached", timeout: 8000 }).catch(() => {});
  expect("Now no longer shows the agent", await main(now).getByText("cargo test --test cart").count() === 0);
  for (const [name, window] of Object.entries({ now, timeline, feature, task })) {
    expect(`${name} was not loaded again`, await window.page.evaluate(() => window.__same === true));
    expect(`${name} noticed nothing else`, window.seen.findings.length === 0, window.seen.findings.join("; "));
  }
  expect("the focus stays on its link", await timeline.page.evaluate(() => document.activeElement.textContent) === focused, focused);
  expect("aria-live says that the page changed", (await timeline.page.locator("[aria-live]").allInnerTexts()).join("").trim() !== "");
  // A change by another command.
  program.run(folder, "add", "--title", "Delivery dates come from the warehouse", "--tags", "checkout", "--feature", "checkout", "--body", "Once an hour, for all articles.");
  const entries = await open("entries");
  program.run(folder, "add", "--title", "The warehouse closes at six", "--tags", "checkout", "--body", "Orders after six are sent the next day.");
  times.entry = await comes(entries, "The warehouse closes at six", "the list of entries shows a new entry");
  // What is typed or chosen is not taken away.
  await visit(entries, site, { path: "context" });
  await entries.page.locator('main form [name="task"]').fill("half of a sentence");
  program.run(folder, "add", "--title", "The van leaves at seven", "--tags", "checkout", "--body", "On weekdays.");
  expect("an update leaves what was typed", await entries.page.locator('main form [name="task"]').inputValue() === "half of a sentence");
  for (const window of [now, timeline, feature, task, entries]) {
    await window.close();
  }
  return times;
}
