//! What a journal file says: one attempt at a task.

use serde::{Deserialize, Serialize};

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The agent said that it was done, and verification, if there was any, agreed.
    Done,
    /// The agent said that it failed.
    Failed,
    /// The agent said neither.
    Blocked,
    /// The agent said that it was done, and verification disagreed.
    Retried,
    /// The agent could not run, or crashed.
    Error,
    /// Part of the task was done; only a caller says so.
    Partial,
    /// The run was stopped from outside.
    Interrupted,
}

impl Outcome {
    /// Returns the word that stands for it in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::Blocked => "blocked",
            Outcome::Retried => "retried",
            Outcome::Error => "error",
            Outcome::Partial => "partial",
            Outcome::Interrupted => "interrupted",
        }
    }

    /// Returns the outcome that a word in a file stands for, aliases included.
    pub fn parse(text: &str) -> Option<Outcome> {
        Some(match text {
            "done" | "success" => Outcome::Done,
            "failed" | "failure" => Outcome::Failed,
            "blocked" | "no_sigil" => Outcome::Blocked,
            "retried" => Outcome::Retried,
            "error" => Outcome::Error,
            "partial" => Outcome::Partial,
            "interrupted" => Outcome::Interrupted,
            _ => return None,
        })
    }
}

/// What only an attempt's frontmatter has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptHead {
    /// `iteration`: its number in the run, from 1.
    pub iteration: u32,
    /// `outcome`.
    pub outcome: Outcome,
}
