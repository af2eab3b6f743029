//! What a tool is to the server: its name, its texts, its arguments and its answer.

use ralph_memory::Memory;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A tool. Its arguments are what it is; that it answers is its call.
pub(super) trait AgentTool: DeserializeOwned + JsonSchema {
    /// Its name.
    const NAME: &'static str;
    /// What a person calls it.
    const TITLE: &'static str;
    /// What it does and when to call it, for an agent.
    const DESCRIPTION: &'static str;
    /// Whether it leaves the memory's files as they are.
    const READS_ONLY: bool = true;
    /// What it answers.
    type Answer: Serialize;

    /// Answers a call, whose arguments keep the bounds of their schema. The memory was opened for it, and is closed behind it.
    fn call(self, memory: &Memory) -> anyhow::Result<Self::Answer>;
}
