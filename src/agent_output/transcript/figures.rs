//! What agents spend: tokens and money.

use std::collections::VecDeque;
use std::ops::Add;

use serde::{Deserialize, Serialize};

use super::json::{self, Field, Object};

/// How many messages are remembered by their id. Only the last ones get further pieces, one message for each agent at
/// work.
const MAX_MESSAGES: usize = 64;

/// What an agent has spent so far, according to its output. The real figures may be higher: the tokens that Claude Code
/// writes are known exactly only at the end.
///
/// ```
/// use ralph_memory::agent_output::transcript::AgentSpending;
/// let spending = AgentSpending { tokens_in: Some(9_000), tokens_out: Some(800), cost_usd: None };
/// assert_eq!(spending.tokens(), Some(9_800));
/// assert!(spending.is_known() && !AgentSpending::default().is_known());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSpending {
    /// How many tokens the model read, including those from its cache.
    pub tokens_in: Option<u64>,
    /// How many tokens the model wrote.
    pub tokens_out: Option<u64>,
    /// The cost, in US dollars.
    pub cost_usd: Option<f64>,
}

impl AgentSpending {
    /// Returns the input and output tokens.
    pub fn tokens(&self) -> Option<u64> {
        sum(self.tokens_in, self.tokens_out, u64::saturating_add)
    }

    /// Returns whether anything is known.
    pub fn is_known(&self) -> bool {
        *self != AgentSpending::default()
    }

    /// Returns the tokens that Codex names: both kinds, or none.
    pub(super) fn of_usage(usage: &Object<'_>) -> Option<AgentSpending> {
        let (read, written) = (usage.count("input_tokens")?, usage.count("output_tokens")?);
        Some(AgentSpending { tokens_in: Some(read), tokens_out: Some(written), cost_usd: None })
    }

    /// Returns the sum of two figures.
    pub(super) fn and(self, other: AgentSpending) -> AgentSpending {
        AgentSpending {
            tokens_in: sum(self.tokens_in, other.tokens_in, u64::saturating_add),
            tokens_out: sum(self.tokens_out, other.tokens_out, u64::saturating_add),
            cost_usd: sum(self.cost_usd, other.cost_usd, Add::add),
        }
    }

    /// Returns the later figures of the same work, or the earlier ones if the later ones are missing.
    pub(super) fn or(self, later: AgentSpending) -> AgentSpending {
        AgentSpending {
            tokens_in: later.tokens_in.or(self.tokens_in),
            tokens_out: later.tokens_out.or(self.tokens_out),
            cost_usd: later.cost_usd.or(self.cost_usd),
        }
    }

    /// Returns the cost without the meaningless trailing digits that sums of prices have.
    pub(super) fn rounded(self) -> AgentSpending {
        AgentSpending { cost_usd: self.cost_usd.map(|cost| (cost * 1e6).round() / 1e6), ..self }
    }

    /// Counts the tokens of the main loop or, in the other style, those of one model including its subagents. This
    /// includes tokens from the cache: they are part of the model's input, and Codex counts them too.
    pub(super) fn count(&mut self, usage: Field<'_>) {
        let usage = json::object(usage);
        let field = |name: &str, other: &str| usage.count(name).or_else(|| usage.count(other));
        let read = [
            field("input_tokens", "inputTokens"),
            field("cache_read_input_tokens", "cacheReadInputTokens"),
            field("cache_creation_input_tokens", "cacheCreationInputTokens"),
        ];
        *self = self.and(AgentSpending {
            tokens_in: read.into_iter().flatten().reduce(u64::saturating_add),
            tokens_out: field("output_tokens", "outputTokens"),
            cost_usd: None,
        });
    }
}

/// The tokens of messages that no result of Claude Code includes yet. Each piece of a message is an event that repeats
/// the message's tokens, and pieces from several agents alternate.
#[derive(Debug, Default)]
pub(super) struct MessageFigures {
    /// The last messages by their ids, oldest first. Those that a result includes have no tokens of their own.
    last: VecDeque<(String, Option<AgentSpending>)>,
    /// The tokens of the messages before them.
    earlier: AgentSpending,
}

impl MessageFigures {
    /// Counts a piece of a message. The last piece has the message's tokens.
    pub(super) fn count(&mut self, id: String, usage: Field<'_>) {
        let mut spending = AgentSpending::default();
        spending.count(usage);
        if let Some((_, known)) = self.last.iter_mut().find(|(known, _)| *known == id) {
            *known = known.map(|known| known.or(spending));
            return;
        }
        if self.last.len() >= MAX_MESSAGES
            && let Some((_, Some(oldest))) = self.last.pop_front()
        {
            self.earlier = self.earlier.and(oldest);
        }
        self.last.push_back((id, Some(spending)));
    }

    /// Records that a result includes all messages up to here, including later pieces of them.
    pub(super) fn settle(&mut self) {
        // Without an id, nobody knows whether a later piece belongs to the same message.
        self.last.retain(|(id, _)| !id.is_empty());
        self.last.iter_mut().for_each(|(_, spending)| *spending = None);
        self.earlier = AgentSpending::default();
    }

    pub(super) fn sum(&self) -> AgentSpending {
        self.last.iter().filter_map(|(_, spending)| *spending).fold(self.earlier, AgentSpending::and)
    }
}

pub(super) fn sum<Number>(
    one: Option<Number>,
    other: Option<Number>,
    add: fn(Number, Number) -> Number,
) -> Option<Number> {
    match (one, other) {
        (Some(one), Some(other)) => Some(add(one, other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Options, Reader};
    use super::*;

    /// Returns what is known after each line: tokens read and written, and the cost.
    fn after_each(format: Format, lines: &[String]) -> Vec<(Option<u64>, Option<u64>, Option<f64>)> {
        let mut reader = Reader::new(Options { format, ..Options::default() });
        let mut told = Vec::new();
        for line in lines {
            reader.push(format!("{line}\n").as_bytes());
            let AgentSpending { tokens_in, tokens_out, cost_usd } = reader.spending();
            told.push((tokens_in, tokens_out, cost_usd));
        }
        let last = reader.spending();
        assert_eq!(reader.finish().spending(), last);
        told
    }

    /// A piece of a message of Claude Code.
    fn piece(id: &str, read: u64, written: u64) -> String {
        let usage = format!(r#"{{"input_tokens":{read},"cache_read_input_tokens":1000,"output_tokens":{written}}}"#);
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","content":[],"usage":{usage}}},"parent_tool_use_id":null,"session_id":"s"}}"#
        )
    }

    fn result(session: &str, read: u64, written: u64, cost: f64) -> String {
        let usage = format!(r#"{{"input_tokens":{read},"output_tokens":{written}}}"#);
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"{session}","total_cost_usd":{cost},"usage":{usage}}}"#
        )
    }

    #[test]
    fn a_message_in_pieces_counts_once() {
        let lines = [
            piece("a", 5, 1),
            piece("a", 5, 1),
            // The pieces of a subagent's message are between those of its caller's.
            piece("b", 7, 2),
            piece("a", 5, 30),
            piece("b", 7, 2),
            result("s", 4_000, 90, 0.25),
            // A late piece of a message that the result includes.
            piece("b", 7, 2),
            piece("c", 9, 3),
            result("s", 6_000, 120, 0.5),
        ];
        let told = after_each(Format::Claude, &lines);
        let expected = [
            (Some(1_005), Some(1), None),
            (Some(1_005), Some(1), None),
            (Some(2_012), Some(3), None),
            (Some(2_012), Some(32), None),
            (Some(2_012), Some(32), None),
            (Some(4_000), Some(90), Some(0.25)),
            (Some(4_000), Some(90), Some(0.25)),
            (Some(5_009), Some(93), Some(0.25)),
            (Some(6_000), Some(120), Some(0.5)),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_no_result_includes_is_not_lost() {
        // A result without figures includes nothing, and the program's own messages cost nothing.
        let failed = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s"}"#;
        let own = piece("x", 50, 50).replace(r#""id""#, r#""model":"<synthetic>","id""#);
        let told = after_each(Format::Claude, &[piece("a", 5, 1), failed.to_owned(), own]);
        assert_eq!(told.last(), Some(&(Some(1_005), Some(1), None)));
        // More messages than are remembered one by one.
        let lines: Vec<String> = (0..10 * MAX_MESSAGES).map(|number| piece(&number.to_string(), 0, 1)).collect();
        let n_messages = lines.len() as u64;
        assert_eq!(
            after_each(Format::Claude, &lines).last(),
            Some(&(Some(1_000 * n_messages), Some(n_messages), None))
        );
        // Without an id, pieces of a message cannot be told apart.
        let nameless = [piece("", 5, 1), piece("", 5, 1), result("s", 2_000, 9, 0.5), piece("", 5, 1)];
        assert_eq!(after_each(Format::Claude, &nameless).last(), Some(&(Some(3_005), Some(10), Some(0.5))));
    }

    #[test]
    fn codex_reports_each_turn_and_opencode_each_step() {
        let turn = |read: u64, written: u64| {
            format!(r#"{{"type":"turn.completed","usage":{{"input_tokens":{read},"output_tokens":{written}}}}}"#)
        };
        let thread = || r#"{"type":"thread.started","thread_id":"t"}"#.to_owned();
        let told = after_each(Format::Codex, &[thread(), turn(10, 1), turn(15, 2), thread(), turn(7, 1)]);
        let unknown = (None, None, None);
        let sums = [(10, 1), (15, 2), (15, 2), (22, 3)].map(|(read, written)| (Some(read), Some(written), None));
        assert_eq!(told, [[unknown].as_slice(), &sums].concat());

        let step = |cost: f64, tokens: &str| {
            format!(r#"{{"type":"step_finish","part":{{"reason":"tool-calls","cost":{cost},"tokens":{tokens}}}}}"#)
        };
        let cached = r#"{"input":5,"output":4,"reasoning":3,"cache":{"read":100,"write":10}}"#;
        let lines = [r#"{"type":"step_start","part":{}}"#.to_owned(), step(0.1, cached), step(0.2, r#"{"input":1}"#)];
        let expected = [unknown, (Some(115), Some(7), Some(0.1)), (Some(116), Some(7), Some(0.3))];
        assert_eq!(after_each(Format::Opencode, &lines), expected);
    }
}
