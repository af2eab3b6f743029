// ralph-memory setup writes this file. Checksum: b90efce6fe4a2374
// It connects opencode's sessions to the memory in .ralph/.
// Whatever fails here must not disturb a session, so every call is in a try.
import { spawnSync } from "node:child_process"

const PROGRAM = "ralph-memory"

function hook(event, payload) {
  try {
    const options = { input: JSON.stringify(payload), encoding: "utf8", timeout: 10000, maxBuffer: 1 << 20 }
    const ran = spawnSync(PROGRAM, ["hook", event, "--agent", "opencode"], options)
    return ran.status === 0 && typeof ran.stdout === "string" ? ran.stdout.trim() : ""
  } catch {
    return ""
  }
}

export const RalphMemory = async ({ directory }) => {
  const briefings = new Map() // the text for each session
  const begun = new Set() // sessions that began in this process
  const children = new Set() // sessions of sub-agents, which get no briefing
  const users = new Set() // messages that a person wrote
  const last = new Map() // the newest text of the agent in each session

  const on = {
    "session.created": ({ info }) => (info?.parentID ? children : begun).add(info.id),
    "session.deleted": ({ info }) => {
      hook("session-end", { session_id: info.id, cwd: directory })
      for (const kept of [begun, briefings, children, last]) kept.delete(info.id)
    },
    "session.compacted": ({ sessionID }) => {
      briefings.set(sessionID, hook("session-start", { session_id: sessionID, cwd: directory, source: "compact" }))
    },
    "message.updated": ({ info }) => info?.role === "user" && users.add(info.id),
    "message.part.updated": ({ part }) => {
      if (part?.type === "text" && !part.synthetic && !users.has(part.messageID)) last.set(part.sessionID, part.text)
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
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      try {
        if (!sessionID || children.has(sessionID)) return
        if (!briefings.has(sessionID)) {
          // opencode keeps no system text, so a resumed session needs the briefing again, as after a compaction.
          const source = begun.has(sessionID) ? "startup" : "compact"
          briefings.set(sessionID, hook("session-start", { session_id: sessionID, cwd: directory, source }))
        }
        // Some back ends refuse a second system message.
        const text = briefings.get(sessionID)
        if (text && output.system.length) output.system[0] = text + "\n\n" + output.system[0]
      } catch {}
    },
  }
}
