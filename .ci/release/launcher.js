#!/usr/bin/env node
// Starts the program that npm installed for this machine. It is the command of the package `ralph-memory`.
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");

const machine = `@ralph-memory/${process.platform}-${process.arch}`;
const names = Object.keys(require("./package.json").optionalDependencies);
const programs = names.filter((name) => name === machine || name.startsWith(`${machine}-`)).flatMap(find);

// Node 22.15 or newer becomes the program: no process stands between it and its parent.
if (process.execve && programs.length === 1) {
  process.emitWarning = () => {}; // that it is experimental
  process.execve(programs[0], programs.concat(process.argv.slice(2)));
}
let child;
passSignals();
start(programs);

function find(name) {
  try {
    return [require.resolve(`${name}/ralph-memory`)];
  } catch {
    return [];
  }
}

// An npm that ignores `libc` installs two programs for Linux. The one for glibc is first, and does not start without it.
function start([program, ...others]) {
  if (!program) {
    console.error(`ralph-memory: npm has installed no program that runs on ${machine.split("/")[1]}: is --omit=optional set?`);
    process.exit(1);
  }
  child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
  child.on("error", () => start(others));
  child.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else {
      process.exit(code);
    }
  });
}

// A terminal sends its signals to both, and a second one would tell `run` to stop at once. This comes before the start, or a signal between the
// two would end only this process.
function passSignals() {
  const atTerminal = hasTerminal();
  for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"]) {
    process.on(signal, () => signal !== "SIGTERM" && atTerminal || child.kill(signal));
  }
}

function hasTerminal() {
  try {
    fs.closeSync(fs.openSync("/dev/tty"));
    return true;
  } catch {
    return false;
  }
}
