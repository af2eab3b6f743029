// ralph-memory setup writes this file.
// It connects opencode's sessions to the memory in .ralph/.
// Whatever fails here must not disturb a session, so every call is in a try.
import { spawnSync } from "node:child_process"

const PROGRAM = "ralph-memory"
const KINDS = ["text", "tool", "step-finish"] // the parts that say what a session did
const MAX_PARTS = 300 // of a session, the last ones
const MAX_TEXT = 2000 // of a text in them, in characters: a hook reads a MiB

function hook(event, payload) {
  try {
    const options = { input: JSON.stringify(payload), encoding: "utf8", timeout: 10000, maxBuffer: 1 << 20 }
    const ran = spawnSync(PROGRAM, ["hook", event, "--agent", "opencode"], options)
    return ran.status === 0 && typeof ran.stdout === "string" ? ran.stdout.trim() : ""
  } catch {
    return ""
  }
}

function cut(value) {
  if (typeof value === "string") return value.slice(0, MAX_TEXT)
  if (!value || typeof value !== "object") return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cut(inner)]))
}

export const RalphMemory = async ({ directory }) => {
  const briefings = new Map() // the text for each session
  const begun = new Set() // sessions that began in this process
  const children = new Set() // sessions of sub-agents, which get no briefing
  const infos = new Map() // who wrote each message, and with which model
  const last = new Map() // the newest text of the agent in each session
  const parts = new Map() // what was said and done in each session, by the ids of the parts

  const keep = (part) => {
    const { id, sessionID, type, text, tool, state, reason, tokens, cost } = part
    if (children.has(sessionID) || (type === "tool" && state?.status !== "completed" && state?.status !== "error")) return
    if (!parts.has(sessionID)) parts.set(sessionID, new Map())
    const kept = parts.get(sessionID)
    const info = infos.get(part.messageID) ?? { sessionID, role: "assistant" }
    const { status, input, output, error, metadata } = state ?? {}
    const told = { status, input, output, error, metadata: { exit: metadata?.exit, exists: metadata?.exists } }
    kept.set(id, { info, parts: [cut({ type, text, tool, state: tool && told, reason, tokens, cost })] })
    // The first one says what the person asked for.
    if (kept.size > MAX_PARTS) kept.delete([...kept.keys()][1])
  }

  const end = (sessionID) => {
    const messages = [...(parts.get(sessionID)?.values() ?? [])]
    hook("session-end", { session_id: sessionID, cwd: directory, messages })
    for (const kept of [begun, briefings, last, parts]) kept.delete(sessionID)
  }

  const on = {
    "session.created": ({ info }) => (info?.parentID ? children : begun).add(info.id),
    "session.deleted": ({ info }) => {
      end(info.id)
      children.delete(info.id)
    },
    "session.compacted": ({ sessionID }) => {
      briefings.set(sessionID, hook("session-start", { session_id: sessionID, cwd: directory, source: "compact" }))
    },
    "message.updated": ({ info: { id, sessionID, role, modelID } }) => infos.set(id, { sessionID, role, modelID }),
    "message.part.updated": ({ part }) => {
      if (part.synthetic || !KINDS.includes(part.type)) return
      if (part.type === "text" && infos.get(part.messageID)?.role !== "user") last.set(part.sessionID, part.text)
      keep(part)
    },
    // opencode does not wait for this, so the process must have ended when it returns.
    "session.idle": ({ sessionID }) => {
      const text = last.get(sessionID)
      if (!text || children.has(sessionID)) return
      last.delete(sessionID)
      hook("stop", { session_id: sessionID, cwd: directory, last_assistant_message: text })
    },
  }

  return {
    event: async ({ event }) => {
      try {
        on[event.type]?.(event.properties ?? {})
      } catch {}
    },
    "tool.execute.after": async ({ tool, sessionID, args }, output) => {
      try {
        // A failed command has an exit code; other tools fail with an exception, which has no output to add to.
        const exit = output.metadata?.exit
        const told = { tool_name: tool, tool_input: cut(args), tool_response: exit ? output.output?.slice(-32768) : "", exit }
        const text = hook("tool", { session_id: sessionID, cwd: directory, ...told })
        if (text) output.output += "\n\n" + text
      } catch {}
    },
    dispose: async () => {
      try {
        for (const sessionID of [...parts.keys()]) end(sessionID)
      } catch {}
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      try {
        if (!sessionID || children.has(sessionID) || !output.system.length) return
        // The request for a title is of the same session, and needs nothing of the memory.
        if (output.system[0].startsWith("You are a title generator")) return
        if (!briefings.has(sessionID)) {
          // opencode keeps no system text, so a resumed session needs the briefing again, as after a compaction.
          const source = begun.has(sessionID) ? "startup" : "compact"
          briefings.set(sessionID, hook("session-start", { session_id: sessionID, cwd: directory, source }))
        }
        // Some back ends refuse a second system message. What is common to all projects stays in front, for caches.
        const text = briefings.get(sessionID)
        if (text) output.system[output.system.length - 1] += "\n\n" + text
      } catch {}
    },
  }
}
