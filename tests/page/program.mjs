// Starts the program: commands that end, the server of the page, and runs with an agent that does what the test says.
import { execFileSync, spawn } from "node:child_process";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";

/** The program in folders of its own, so that nothing of this machine shows. */
export class Program {
  constructor(path, home) {
    this.path = path;
    this.env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, ".config"), TZ: "UTC", LANG: "C.UTF-8" };
    this.children = new Set();
  }

  /** Runs a command in a folder and returns what it printed. Exit code 1 is an answer. */
  run(folder, ...args) {
    try {
      return execFileSync(this.path, args, { cwd: folder, env: this.env, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 }).toString();
    } catch (error) {
      if (error.status === 1) {
        return error.stdout.toString();
      }
      throw new Error(`ralph-memory ${args.join(" ")}: exit code ${error.status}\n${error.stderr}`);
    }
  }

  json(folder, ...args) {
    return JSON.parse(this.run(folder, ...args, "--json"));
  }

  spawn(folder, args) {
    const child = spawn(this.path, args, { cwd: folder, env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    this.children.add(child);
    child.ended = new Promise((done, fail) => child.on("error", fail).on("close", (code) => {
      this.children.delete(child);
      done(code);
    }));
    child.errors = "";
    child.stderr.on("data", (text) => (child.errors += text));
    return child;
  }

  /** Starts the server of the page; returns its address and a function that ends it. */
  async serve(folder) {
    const child = this.spawn(folder, ["serve", "--port", "0", "--json"]);
    let printed = "";
    const started = await new Promise((done, fail) => {
      child.ended.then((code) => fail(new Error(`serve ended with exit code ${code}: ${printed}${child.errors}`)), fail);
      child.stdout.on("data", (text) => {
        printed += text;
        try {
          done(JSON.parse(printed));
        } catch {
          // The rest is still to come.
        }
      });
    });
    return { ...started, stop: () => (child.kill("SIGINT"), child.ended) };
  }

  /** Starts `run` with an agent whose output is what `say` is given. */
  async runAgent(folder, pipe, options) {
    execFileSync("mkfifo", [pipe]);
    const child = this.spawn(folder, ["run", ...options, "--max-iterations", "1", "--agent", `sh -c 'cat >/dev/null; exec cat "${pipe}"'`]);
    let printed = "";
    child.stdout.on("data", (text) => (printed += text));
    // Opening waits for the agent, so it is asked for until the agent is there. Node must not block, and a failed run must be seen.
    const deadline = Date.now() + 20_000;
    let descriptor;
    while (descriptor === undefined) {
      try {
        descriptor = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
      } catch (error) {
        if (error.code !== "ENXIO" || Date.now() > deadline || child.exitCode !== null) {
          throw new Error(`the agent did not start: ${error.message}\n${printed}${child.errors}`);
        }
        await new Promise((done) => setTimeout(done, 20));
      }
    }
    return {
      say: (event) => writeSync(descriptor, `${typeof event === "string" ? event : JSON.stringify(event)}\n`),
      end: async () => {
        closeSync(descriptor);
        const code = await child.ended;
        return { code, printed: printed + child.errors };
      },
    };
  }

  async stop() {
    for (const child of this.children) {
      child.kill("SIGKILL");
    }
    await Promise.all([...this.children].map((child) => child.ended.catch(() => {})));
  }
}

/** Events of a client's stream, as `--output-format stream-json` prints them. */
export const stream = {
  begin: (model) => ({ type: "system", subtype: "init", session_id: "s-1", model, tools: ["Bash", "Edit", "Read"] }),
  says: (text) => ({ type: "assistant", message: { role: "assistant", content: [{ type: "text", text }], usage: { input_tokens: 1200, output_tokens: 80 } } }),
  uses: (name, input) => ({ type: "assistant", message: { role: "assistant", content: [{ type: "tool_use", id: `u-${name}`, name, input }], usage: { input_tokens: 1400, output_tokens: 60 } } }),
  result: (text) => ({ type: "result", subtype: "success", is_error: false, result: text, total_cost_usd: 0.12, duration_ms: 4200, num_turns: 3, usage: { input_tokens: 4200, output_tokens: 300 } }),
};
