//! The limits of a turn: rounds, calls, tokens, money, time, calls that lead nowhere, and answers without an end.

use crate::Usd;
use crate::dialect::AnswerLimit;
use serde::{Deserialize, Serialize};

/// A limit that a turn has reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum TurnLimit {
    /// The rounds of tools: [`Limits::max_tool_rounds`](crate::run::Limits::max_tool_rounds).
    #[error("the turn is at its limit of tool rounds, {max}")]
    MaxToolRounds {
        /// The maximum number of rounds.
        max: u32,
    },
    /// The tool calls: [`Limits::max_tool_calls`](crate::run::Limits::max_tool_calls).
    #[error("the turn would go beyond its limit of tool calls, {max}")]
    MaxToolCalls {
        /// The maximum number of calls.
        max: u32,
    },
    /// The tokens: [`Limits::max_tokens`](crate::run::Limits::max_tokens).
    #[error("the turn is at its limit of tokens, {max}")]
    MaxTokens {
        /// The maximum number of tokens.
        max: u64,
    },
    /// The money: [`Limits::max_cost`](crate::run::Limits::max_cost).
    #[error("the turn is at its limit of cost, {max}")]
    MaxCost {
        /// The maximum cost, in US dollars.
        max: Usd,
    },
    /// The time: [`Limits::max_duration`](crate::run::Limits::max_duration).
    #[error("the turn is at its limit of time, {max_ms} ms")]
    MaxDuration {
        /// The maximum duration, in milliseconds.
        max_ms: u64,
    },
    /// The model repeats the same call: [`RepeatLimit::stop_after`](crate::run::RepeatLimit::stop_after).
    #[error(
        "the model made no progress: it asked for `{tool}` with the same arguments {times} times"
    )]
    NoProgress {
        /// The tool.
        tool: String,
        /// The number of times that the model asked for it.
        times: u32,
    },
    /// The size of one answer: [`AnswerLimits::bytes`](crate::pipeline::AnswerLimits::bytes).
    #[error("{}", AnswerLimit::Bytes { max: *max })]
    MaxAnswerBytes {
        /// The maximum number of bytes.
        max: u64,
    },
    /// The calls of one answer: [`AnswerLimits::calls`](crate::pipeline::AnswerLimits::calls).
    #[error("{}", AnswerLimit::Calls { max: *max })]
    MaxAnswerCalls {
        /// The maximum number of calls without a result.
        max: u32,
    },
}

impl TurnLimit {
    /// The limit's name, as a stop reason: `max_tool_rounds`, …
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::MaxToolRounds { .. } => "max_tool_rounds",
            Self::MaxToolCalls { .. } => "max_tool_calls",
            Self::MaxTokens { .. } => "max_tokens",
            Self::MaxCost { .. } => "max_cost",
            Self::MaxDuration { .. } => "max_duration",
            Self::NoProgress { .. } => "no_progress",
            Self::MaxAnswerBytes { .. } => "max_answer_bytes",
            Self::MaxAnswerCalls { .. } => "max_answer_calls",
        }
    }
}

impl From<AnswerLimit> for TurnLimit {
    fn from(limit: AnswerLimit) -> Self {
        match limit {
            AnswerLimit::Bytes { max } => Self::MaxAnswerBytes { max },
            AnswerLimit::Calls { max } => Self::MaxAnswerCalls { max },
        }
    }
}
