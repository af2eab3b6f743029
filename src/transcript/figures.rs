//! The cost of sessions of Claude Code.

use serde::Deserialize;

use super::json::{self, Field};

/// The cost of a session. Each result has the totals of its session.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Figures {
    pub(super) cost_usd: Option<f64>,
    pub(super) tokens_in: Option<u64>,
    pub(super) tokens_out: Option<u64>,
    pub(super) duration_ms: Option<f64>,
}

/// Tokens of the main loop or, in the other style, of one model including its subagents.
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
    /// Includes tokens from the cache: they are part of the model's input, and Codex counts them too.
    pub(super) fn count(&mut self, usage: Field<'_>) {
        let Some(usage) = json::object::<UsageFields<'_>>(usage) else { return };
        let read = [usage.input, usage.cache_read, usage.cache_creation];
        self.tokens_in = sum(self.tokens_in, read.into_iter().filter_map(json::count).reduce(u64::saturating_add));
        self.tokens_out = sum(self.tokens_out, json::count(usage.output));
    }

    /// Returns the sum of two sessions.
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

    /// Returns the later figures of one session, or the earlier ones if those are missing. Durations are reported turn
    /// by turn, so they are added.
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
