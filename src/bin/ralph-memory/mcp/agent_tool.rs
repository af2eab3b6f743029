//! A tool, as the server sees it: its name, its texts, its arguments and its answer.

use ralph_memory::Memory;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

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
    /// The key of the text in its answer that the library has made safe already, piece by piece.
    const SAFE_TEXT: &'static str = "";

    /// Answers a call. The memory was opened for this call, and is closed after it.
    fn call(self, memory: &Memory) -> anyhow::Result<Value>;

    /// Returns the answer, whose texts are safe by then, as markdown for the agent to read, without its problems.
    fn markdown(answer: &Value) -> String;
}
