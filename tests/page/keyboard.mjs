// The keyboard alone: what Tab reaches, whether one sees where one is, and the keys that the page documents.
import { PAGES, visit } from "./pages.mjs";

// The columns of a chart are links for the mouse alone: the table below has the same ones.
const FOCUSABLE = "a[href]:not([tabindex='-1']), button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";

/** Tabs through a page. Each element that can be used must be reached, once, in the order of the document, and be seen to have the focus. */
export async function tabs(window, limit = 400) {
  const { page } = window;
  const wrong = [];
  const expected = await page.evaluate((selector) => {
    // What is in closed details or in a closed dialog has no box.
    const usable = [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled && !element.closest("dialog:not([open])"));
    usable.forEach((element, number) => (element.__number = number));
    return usable.length;
  }, FOCUSABLE);
  // The page of the search begins in its field.
  const from = await page.evaluate(() => {
    if (document.activeElement?.id !== "q") {
      return "the beginning";
    }
    document.activeElement.blur();
    getSelection().removeAllRanges();
    document.querySelector(".skip").focus();
    return "the field";
  });
  const reached = from === "the field" ? [0] : [];
  for (let step = 0; step < limit; step += 1) {
    await page.keyboard.press("Tab");
    const now = await page.evaluate(focused);
    // After the last element comes the browser, or the first one again.
    if (!now || (step > 0 && now.number === 0) || reached.length > expected) {
      break;
    }
    // A field for a date is several stops: day, month, year, and the calendar.
    if (now.number !== reached.at(-1)) {
      reached.push(now.number);
    }
    if (!now.visible) {
      wrong.push(`nobody sees that the focus is on ${now.markup}`);
    }
    if (now.outside) {
      wrong.push(`the focus is out of sight on ${now.markup}`);
    }
    if (step === 0 && from === "the beginning" && !/skip/i.test(now.text)) {
      wrong.push(`the first element is not a link to the content but ${now.markup}`);
    }
  }
  const missed = Array.from({ length: Math.min(expected, limit) }, (_, number) => number).filter((number) => !reached.includes(number));
  if (missed.length > 0) {
    const markup = await page.evaluate(([selector, numbers]) => [...document.querySelectorAll(selector)].filter((element) => numbers.includes(element.__number)).map((element) => element.outerHTML.slice(0, 120)), [FOCUSABLE, missed.slice(0, 3)]);
    wrong.push(`${missed.length} of ${expected} elements are not reached: ${markup.join(" | ")}`);
  }
  const sorted = reached.every((number, at) => at === 0 || number === undefined || number > reached[at - 1]);
  if (!sorted) {
    wrong.push(`the order is not that of the page: ${reached.slice(0, 40)}`);
  }
  return { wrong, reached: reached.length };
}

/** Runs in the page: what has the focus. */
function focused() {
  const element = document.activeElement;
  if (!element || element === document.body) {
    return null;
  }
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  return {
    number: element.__number,
    text: element.textContent.trim(),
    markup: element.outerHTML.slice(0, 100),
    // The calendar of such a field is drawn by the browser.
    visible: element.matches("input[type=date]:not(:focus-visible)") || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) || style.boxShadow !== "none",
    outside: box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth,
  };
}

export async function everyPageByTab(browser, site, report) {
  const window = await browser.open(site.address);
  for (const page of PAGES) {
    await visit(window, site, page);
    const { wrong, reached } = await tabs(window);
    report(page.name, wrong, reached);
  }
  const phone = await browser.open(site.address, { size: "phone" });
  for (const page of PAGES) {
    await visit(phone, site, page);
    const { wrong, reached } = await tabs(phone);
    report(`${page.name}, 360 px`, wrong, reached);
  }
  await window.close();
  await phone.close();
}

/** A way through the pages that uses no mouse: the skip link, a search, its results, an entry, the help. */
export async function journey(browser, site, expect) {
  const window = await browser.open(site.address);
  const { page } = window;
  const press = async (...keys) => {
    for (const key of keys) {
      await page.keyboard.press(key);
    }
  };
  const text = () => page.evaluate(() => document.activeElement?.textContent.trim() ?? "");
  await visit(window, site, { path: "./" });
  await press("Tab", "Enter");
  expect("the skip link leads to the content", await page.evaluate(() => document.activeElement.id === "main"));
  // A click focuses the content, too, and a key after that shows where the focus is.
  await page.locator("h1").click();
  await press("End");
  expect("no frame is around the whole content", await page.evaluate(() => getComputedStyle(document.querySelector("main")).outlineStyle === "none"));

  await press("?");
  const dialog = page.locator("dialog[open]");
  expect("`?` opens the help", await dialog.count() === 1);
  for (const key of ["/", "j", "k", "Enter", "?"]) {
    expect(`the help names \`${key}\``, (await dialog.locator("kbd").allInnerTexts()).includes(key));
  }
  expect("the focus is in the help", await page.evaluate(() => document.querySelector("dialog[open]")?.contains(document.activeElement)));
  await press("Escape");
  expect("Esc closes the help", await dialog.count() === 0);
  expect("the focus returns to where it was", await page.evaluate(() => document.activeElement.id === "main"));

  await press("/");
  expect("`/` leads to the search", await page.evaluate(() => document.activeElement.matches("input[type=search]")));
  await page.keyboard.type("j/k?");
  expect("keys are text while one types", await page.evaluate(() => document.activeElement.value === "j/k?"));
  await press("Control+a");
  await page.keyboard.type("deadlock");
  await press("Enter");
  await page.waitForURL(/search\?.*q=deadlock/);
  expect("Enter searches", await page.locator("#results").getByText("Lock the cart before the stock").count() > 0);

  await press("Escape");
  await press("j");
  const first = await text();
  await press("j");
  const second = await text();
  await press("k");
  expect("`j` goes to the next result and `k` to the one before", first !== "" && second !== "" && first !== second && await text() === first);
  await press("Enter");
  await page.waitForURL(/entry\?/);
  expect("Enter opens the result", (await page.locator("h1").innerText()).includes(first));
  await page.goBack();
  expect("going back shows the results again", await page.locator("#results").getByText("Lock the cart before the stock").count() > 0);

  await visit(window, site, { path: "timeline" });
  await press("j", "j");
  const row = await text();
  await press("Enter");
  const left = await page.waitForURL((address) => !address.pathname.endsWith("timeline")).then(() => true, () => false);
  expect("`j` and Enter open a row of the timeline", row !== "" && left, page.url());

  // All details of a page open and close.
  await visit(window, site, { path: "feature?id=checkout" });
  for (const summary of await page.locator("main summary").all()) {
    const before = await summary.evaluate((element) => element.parentElement.open);
    await summary.focus();
    await press("Enter");
    expect("Enter opens and closes details", await summary.evaluate((element) => element.parentElement.open) !== before);
  }
  expect("nothing else was noticed", window.seen.findings.length === 0, window.seen.findings.join("; "));
  await window.close();
}
