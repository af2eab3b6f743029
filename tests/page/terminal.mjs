// Records commands at a terminal as an animated SVG: what is typed is drawn letter by letter, what the commands print comes from a real
// pseudo-terminal (`script` of util-linux) through a terminal emulator. Time in the picture is made up, so that it stays short: a command that takes
// long is drawn with pauses of a second at most.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import xterm from "@xterm/headless";

// What the agent of the recording prints: the first time it fails, then it succeeds.
const AGENT = `#!/bin/sh
cat > /dev/null
say() { printf '%s\\n' "$1"; sleep "$2"; }
say 'Reading src/orders/state.rs' 0.5
if [ "$RALPH_ATTEMPT" = 1 ]; then
say 'cargo test --test returns' 0.6
say '<failure-report>
what_tried: Went from sent to refunded
why_failed: An order cannot jump over the state returned
error_category: test_failure
</failure-report>
<task-failed>t-returns</task-failed>' 0.1
else
say 'Editing src/orders/returns.rs' 0.6
say '<learning category="pitfall" tags="orders, refunds">A refund needs the state returned first.</learning>
<task-done>t-returns</task-done>' 0.1
fi
`;

const CELL = { width: 8.4, height: 19 };
const PADDING = 18;
const PROMPT = "\x1b[1;32m$\x1b[0m ";
const TYPED = 45;
const PALETTE = ["#1d2129", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#c9d1d9", "#8b949e", "#ffa198", "#a5f3b0", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff"];
const PLAIN = "#d7dde5";
const BACK = "#14171c";

/** Records a search, a run of two attempts, and the log, in the memory of `folder`. */
export function recordTerminal(program, folder, scratch, env) {
  const bin = join(scratch, "bin");
  mkdirSync(bin);
  symlinkSync(program, join(bin, "ralph-memory"));
  writeFileSync(join(folder, "agent"), AGENT);
  chmodSync(join(folder, "agent"), 0o755);
  return record([
    { typed: "ralph-memory search 'why is an order paid twice' --limit 3", wait: 3000 },
    { typed: "clear", wait: 200 },
    { typed: "ralph-memory run --task 'Refund what a customer returns' \\\n    --task-id t-returns --feature checkout --agent ./agent --format text", wait: 4000 },
    { typed: "clear", wait: 200 },
    { typed: "ralph-memory log --task t-returns", wait: 8000 },
  ], { cwd: folder, env: { ...env, PATH: `${bin}:${process.env.PATH}` }, rows: 24, title: "A search, a run of two attempts, and what the log says of it, at a terminal" });
}

/**
 * Records `steps` and returns the SVG. A step has what is `typed`; the `command` that runs instead, if it differs (a list of arguments); `wait`, the
 * milliseconds to look at its answer.
 */
async function record(steps, { cwd, env, columns = 92, rows = 26, title }) {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: false });
  const frames = [];
  let time = 0;
  const write = (text) => new Promise((done) => terminal.write(text, done));
  const take = (lasts) => {
    const lines = screen(terminal);
    const last = frames.at(-1);
    if (last && JSON.stringify(last.lines) === JSON.stringify(lines)) {
      last.lasts += lasts;
    } else {
      frames.push({ lines, lasts });
    }
    time += lasts;
  };
  for (const step of steps) {
    await write(PROMPT);
    take(600);
    for (const part of step.typed.match(/[\s\S]{1,3}/g)) {
      await write(part.replaceAll("\n", "\r\n"));
      take(TYPED * part.length);
    }
    take(350);
    await write("\r\n");
    let before = null;
    for await (const { text, at } of output(step.command ?? ["sh", "-c", step.typed], { cwd, env, columns, rows })) {
      take(before === null ? 150 : Math.min(1000, Math.max(60, at - before)));
      before = at;
      await write(text);
    }
    if (terminal.buffer.active.cursorX > 0) {
      await write("\r\n");
    }
    take(step.wait ?? 2500);
  }
  return svg(frames, time, { columns, rows, title });
}

/** What a command prints on a pseudo-terminal, in chunks with the time at which they came. */
async function* output(command, { cwd, env, columns, rows }) {
  const line = ["stty", "rows", rows, "cols", columns, "-echo"].join(" ") + "; exec " + command.map(quoted).join(" ");
  const child = spawn("script", ["--quiet", "--return", "--flush", "--command", line, "/dev/null"], {
    cwd, env: { ...env, TERM: "xterm-256color", SHELL: "/bin/sh" }, stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((done, fail) => child.on("error", fail).on("close", done));
  for await (const chunk of child.stdout) {
    yield { text: chunk.toString(), at: Date.now() };
  }
  await ended;
}

const quoted = (argument) => `'${String(argument).replaceAll("'", `'\\''`)}'`;

/** The screen as lines of runs of cells that look the same. */
function screen(terminal) {
  const buffer = terminal.buffer.active;
  return Array.from({ length: terminal.rows }, (_, row) => {
    const line = buffer.getLine(buffer.viewportY + row);
    const runs = [];
    for (let column = 0; line && column < terminal.cols; column += 1) {
      const cell = line.getCell(column);
      if (cell.getWidth() === 0) {
        continue;
      }
      const style = look(cell);
      const text = cell.getChars() || " ";
      const last = runs.at(-1);
      if (last && last.style === style && last.from + last.cells === column && cell.getWidth() === 1) {
        last.text += text;
        last.cells += 1;
      } else {
        runs.push({ text, style, from: column, cells: cell.getWidth() });
      }
    }
    return runs.map((run) => (run.style === "" ? { ...run, text: run.text.trimEnd() } : run)).filter((run) => run.text !== "");
  });
}

function look(cell) {
  const colour = (mode, number) => (mode ? PALETTE[number] ?? `#${extended(number)}` : null);
  const rgb = cell.isFgRGB() ? `#${cell.getFgColor().toString(16).padStart(6, "0")}` : colour(cell.isFgPalette(), cell.getFgColor());
  return [rgb && `fill:${rgb}`, cell.isBold() && "font-weight:700", cell.isDim() && "opacity:.65", cell.isItalic() && "font-style:italic", cell.isUnderline() && "text-decoration:underline"]
    .filter(Boolean).join(";");
}

function extended(number) {
  const level = (n) => (n === 0 ? 0 : 55 + 40 * n).toString(16).padStart(2, "0");
  if (number >= 232) {
    return (8 + 10 * (number - 232)).toString(16).padStart(2, "0").repeat(3);
  }
  const n = number - 16;
  return level(Math.floor(n / 36)) + level(Math.floor(n / 6) % 6) + level(n % 6);
}

/** All frames above each other, of which the picture shows one after the other. Lines that occur in several frames are drawn once and referred to. */
function svg(frames, time, { columns, rows, title }) {
  const width = Math.ceil(columns * CELL.width + 2 * PADDING);
  const height = rows * CELL.height + 2 * PADDING;
  const styles = new Map();
  const lines = new Map();
  const name = (map, prefix, key) => map.get(key) ?? map.set(key, prefix + map.size.toString(36)).get(key);
  const drawn = frames.map(({ lines: shown }, frame) => shown.map((runs, row) => {
    if (runs.length === 0) {
      return "";
    }
    const text = runs.map((run) => {
      const style = run.style && ` class="${name(styles, "s", run.style)}"`;
      return `<text${style} x="${round(run.from * CELL.width)}" textLength="${round(cells(run) * CELL.width)}">${escaped(run.text)}</text>`;
    }).join("");
    return `<use href="#${name(lines, "l", text)}" y="${round(frame * height + (row + 0.75) * CELL.height)}"/>`;
  }).join("")).join("\n");
  let at = 0;
  const steps = frames.map(({ lasts }, frame) => {
    const step = `${round((at / time) * 100)}%{transform:translateY(${-frame * height}px)}`;
    at += lasts;
    return step;
  }).join("");
  const end = -(frames.length - 1) * height;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>
<style>
text{white-space:pre;fill:${PLAIN};font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
${[...styles].map(([style, id]) => `.${id}{${style}}`).join("\n")}
@keyframes play{${steps}100%{transform:translateY(${end}px)}}
#film{animation:play ${round(time / 1000)}s step-end infinite}
@media (prefers-reduced-motion:reduce){#film{animation:none;transform:translateY(${end}px)}}
</style>
<defs>${[...lines].map(([text, id]) => `<g id="${id}">${text}</g>`).join("\n")}</defs>
<rect width="${width}" height="${height}" rx="10" fill="${BACK}"/>
<svg x="${PADDING}" y="${PADDING}" width="${width - 2 * PADDING}" height="${rows * CELL.height}"><g id="film">
${drawn}
</g></svg>
</svg>
`;
}

const cells = (run) => (run.style === "" ? [...run.text].length : run.cells);
const round = (number) => Number(number.toFixed(2));
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
