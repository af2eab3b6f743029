// Fifty pages at once: each is answered, as if it were alone. How long they take together is reported, and not judged: other work on the machine counts.
import { PAGES } from "./pages.mjs";

const COUNT = 50;

/** Asks for pages by plain requests. Returns what part of the time of one after the other they took at once. */
export async function many(site, expect) {
  const paths = PAGES.filter(({ status, path }) => status === 200 && path !== null);
  const asked = Array.from({ length: COUNT }, (_, at) => site.address + paths[at % paths.length].path);
  const get = async (address) => {
    const response = await fetch(address, { headers: { connection: "close" } });
    // The number of changes so far is no part of what a page says.
    return { status: response.status, text: (await response.text()).replace(/ data-live="\d+"/, "") };
  };
  // The first time, files are read that are known afterwards.
  await Promise.all(asked.slice(0, paths.length).map(get));
  let begun = performance.now();
  const alone = [];
  for (const address of asked) {
    alone.push(await get(address));
  }
  const oneByOne = performance.now() - begun;
  begun = performance.now();
  const together = await Promise.all(asked.map(get));
  const atOnce = performance.now() - begun;
  for (const [at, { status, text }] of together.entries()) {
    expect("each page is answered", status === 200, `${asked[at]}: ${status}`);
    expect("each page is as it is alone", text === alone[at].text, asked[at].slice(site.address.length));
  }
  return atOnce / oneByOne;
}
