//! A tool, as the server sees it: its name, its texts, its arguments and its answer.

use ralph_memory::Memory;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An answer of a tool: JSON for programs, and the same as markdown for the agent to read.
pub(super) trait Answer: Serialize {
    /// Returns the answer as markdown. Text of entries is in fences, quoted, or folded to a line.
    fn markdown(&self) -> String;
}

/// A tool. The type itself has its arguments.
pub(super) trait AgentTool: DeserializeOwned + JsonSchema {
    /// Its name.
    const NAME: &'static str;
    /// Its title for people.
    const TITLE: &'static str;
    /// What it does and when to call it, for an agent.
    const DESCRIPTION: &'static str;
    /// Whether it leaves the memory's files unchanged.
    const READS_ONLY: bool = true;
    /// Whether the same call again changes nothing more.
    const IDEMPOTENT: bool = true;
    /// Whether the feature of the agent's task stands in for a missing `feature`. Whatever a tool is given, it sees nothing
    /// of another feature: the memory that it gets has none of that.
    const OF_FEATURE: bool = false;
    /// The type of its answer.
    type Answer: Answer;

    /// Answers a call. The arguments are within the bounds of their schema. The memory was opened for this call, and is
    /// closed after it.
    fn call(self, memory: &Memory) -> anyhow::Result<Self::Answer>;
}
