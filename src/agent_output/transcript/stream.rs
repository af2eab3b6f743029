//! What the readers of all clients' events have in common.

use std::collections::VecDeque;
use std::fmt;

use super::builder::TranscriptBuilder;
use super::figures::AgentSpending;
use super::json::Object;

/// How many calls of tools may wait for their results; an agent makes a few at once.
const MAX_CALLS: usize = 256;

/// Reads the events of a client, one after another.
pub(super) trait ClientStream: fmt::Debug + Send + Sync {
    /// Reads an event of this kind, and skips unknown ones. Fails if a part of the event cannot be read.
    fn take(&mut self, kind: &str, event: &Object<'_>, builder: &mut TranscriptBuilder) -> Result<(), String>;

    /// Returns what the agent spent so far.
    fn spending(&self) -> AgentSpending;

    /// Adds what is only known at the end of the stream.
    fn finish(&mut self, _: &mut TranscriptBuilder) {}
}

/// The calls of tools without a result yet, by their ids, oldest first.
#[derive(Debug)]
pub(super) struct PendingCalls<Call>(VecDeque<(String, Call)>);

impl<Call> Default for PendingCalls<Call> {
    fn default() -> PendingCalls<Call> {
        PendingCalls(VecDeque::new())
    }
}

impl<Call> PendingCalls<Call> {
    pub(super) fn push(&mut self, id: String, call: Call) {
        self.0.push_back((id, call));
        if self.0.len() > MAX_CALLS {
            self.0.pop_front();
        }
    }

    /// Removes the call with this id, and returns it.
    pub(super) fn take(&mut self, id: &str) -> Option<Call> {
        let at = self.0.iter().position(|(known, _)| known == id)?;
        self.0.remove(at).map(|(_, call)| call)
    }
}
