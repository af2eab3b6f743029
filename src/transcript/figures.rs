//! What a session of Claude Code cost.

use serde::Deserialize;

use super::json::{self, Field};

/// What a session cost. Each result has the totals of its session.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Figures {
    pub(super) cost_usd: Option<f64>,
    pub(super) tokens_in: Option<u64>,
    pub(super) tokens_out: Option<u64>,
    pub(super) duration_ms: Option<f64>,
}

/// Tokens of the main loop, and, in the other style, of one model with those of subagents.
#[derive(Deserialize, Default)]
#[serde(default)]
struct UsageFields<'a> {
    #[serde(borrow, rename = "input_tokens", alias = "inputTokens")]
    input: Field<'a>,
    #[serde(borrow, rename = "cache_read_input_tokens", alias = "cacheReadInputTokens")]
    cache_read: Field<'a>,
    #[serde(borrow, rename = "cache_creation_input_tokens", alias = "cacheCreationInputTokens")]
    cache_creation: Field<'a>,
    #[serde(borrow, rename = "output_tokens", alias = "outputTokens")]
    output: Field<'a>,
}

impl Figures {
    /// Counts what was read from the cache as well: it is what the model had before it, and what Codex counts.
    pub(super) fn count(&mut self, usage: Field<'_>) {
        let Some(usage) = json::object::<UsageFields<'_>>(usage) else { return };
        let read = [usage.input, usage.cache_read, usage.cache_creation];
        self.tokens_in = sum(self.tokens_in, read.into_iter().filter_map(json::count).reduce(u64::saturating_add));
        self.tokens_out = sum(self.tokens_out, json::count(usage.output));
    }

    /// Returns the figures of two sessions together.
    pub(super) fn and(self, other: Figures) -> Figures {
        let sum_of = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one + other),
            _ => one.or(other),
        };
        Figures {
            cost_usd: sum_of(self.cost_usd, other.cost_usd),
            tokens_in: sum(self.tokens_in, other.tokens_in),
            tokens_out: sum(self.tokens_out, other.tokens_out),
            duration_ms: sum_of(self.duration_ms, other.duration_ms),
        }
    }

    /// Returns the later figures of one session, or the earlier where those say nothing. What it took is told
    /// turn by turn.
    pub(super) fn or(self, later: Figures) -> Figures {
        Figures {
            cost_usd: later.cost_usd.or(self.cost_usd),
            tokens_in: later.tokens_in.or(self.tokens_in),
            tokens_out: later.tokens_out.or(self.tokens_out),
            duration_ms: Figures { duration_ms: self.duration_ms, ..Figures::default() }.and(later).duration_ms,
        }
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        _ => one.or(other),
    }
}
