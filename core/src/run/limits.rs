//! The limits of a turn: rounds, calls, tokens, time, calls that lead nowhere, and answers without an end.

use super::core::Core;
use super::fault::fault;
use super::outcome::Outcome;
use crate::CallKey;
use crate::json::told_apart_by;
use crate::pipeline::AnswerLimit;
use crate::sorted::sorted;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// A limit that a turn has reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum TurnLimit {
    /// The rounds of tools: [`Limits::max_tool_rounds`](super::Limits::max_tool_rounds).
    #[error("the turn is at its limit of tool rounds, {max}")]
    MaxToolRounds {
        /// How many it may have.
        max: u32,
    },
    /// The tool calls: [`Limits::max_tool_calls`](super::Limits::max_tool_calls).
    #[error("the turn would go beyond its limit of tool calls, {max}")]
    MaxToolCalls {
        /// How many it may make.
        max: u32,
    },
    /// The tokens: [`Limits::max_tokens`](super::Limits::max_tokens).
    #[error("the turn is at its limit of tokens, {max}")]
    MaxTokens {
        /// How many it may use.
        max: u64,
    },
    /// The time: [`Limits::max_duration`](super::Limits::max_duration).
    #[error("the turn is at its limit of time, {max_ms} ms")]
    MaxDuration {
        /// How long it may take, in milliseconds.
        max_ms: u64,
    },
    /// The model goes in a circle: [`RepeatLimit::stop_after`](super::RepeatLimit::stop_after).
    #[error(
        "the model made no progress: it asked for `{tool}` with the same arguments {times} times"
    )]
    NoProgress {
        /// The tool.
        tool: String,
        /// How often it was asked for.
        times: u32,
    },
    /// What one answer may bring: [`AnswerLimits::bytes`](crate::pipeline::AnswerLimits::bytes).
    #[error("{}", AnswerLimit::Bytes { max: *max })]
    MaxAnswerBytes {
        /// How many bytes.
        max: u64,
    },
    /// The calls of one answer: [`AnswerLimits::calls`](crate::pipeline::AnswerLimits::calls).
    #[error("{}", AnswerLimit::Calls { max: *max })]
    MaxAnswerCalls {
        /// How many it may leave without a result.
        max: u32,
    },
}

/// [`TurnLimit`] as it is read.
#[derive(Deserialize)]
#[serde(remote = "TurnLimit", rename_all = "snake_case")]
enum ReadTurnLimit {
    MaxToolRounds { max: u32 },
    MaxToolCalls { max: u32 },
    MaxTokens { max: u64 },
    MaxDuration { max_ms: u64 },
    NoProgress { tool: String, times: u32 },
    MaxAnswerBytes { max: u64 },
    MaxAnswerCalls { max: u32 },
}

told_apart_by!("kind", TurnLimit, ReadTurnLimit);

impl TurnLimit {
    /// The limit's name, as a stop reason: `max_tool_rounds`, …
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::MaxToolRounds { .. } => "max_tool_rounds",
            Self::MaxToolCalls { .. } => "max_tool_calls",
            Self::MaxTokens { .. } => "max_tokens",
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

/// How a turn stands with its limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Spent {
    /// The calls that were begun.
    pub(super) calls: u32,
    /// The calls by their tool and arguments.
    pub(super) repeats: Vec<Repeat>,
    /// The one of the last call that was counted.
    pub(super) last: Option<u64>,
    /// The time up to the last pause.
    pub(super) time: Duration,
}

/// One tool with one set of arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Repeat {
    call: u64,
    times: u32,
    /// What came of it last.
    result: Option<u64>,
    /// Whether that was something new.
    is_news: bool,
}

impl Spent {
    /// Counts a call. How often it was made without progress, this time included.
    fn count(&mut self, call: u64) -> u32 {
        self.calls = self.calls.saturating_add(1);
        let again = self.last.replace(call) == Some(call);
        let Some(repeat) = self.repeats.iter_mut().find(|repeat| repeat.call == call) else {
            self.repeats.push(Repeat {
                call,
                times: 1,
                result: None,
                is_news: false,
            });
            return 1;
        };
        repeat.times = if again || !repeat.is_news {
            repeat.times.saturating_add(1)
        } else {
            1
        };
        repeat.times
    }

    fn came_to(&mut self, call: u64, result: u64) {
        if let Some(repeat) = self.repeats.iter_mut().find(|repeat| repeat.call == call) {
            let before = repeat.result.replace(result);
            repeat.is_news = before.is_some_and(|before| before != result);
        }
    }

    /// Time that the turn has taken, apart from the person's.
    pub(super) fn add_time(&mut self, time: Duration) {
        self.time = self.time.saturating_add(time);
    }
}

/// What is to be done with a call, by how often it was made.
pub(super) enum Repeated {
    /// It is run.
    Run,
    /// It is not run: the model is told that it goes in a circle.
    Tell(u32),
}

impl Core {
    /// The limit that the next round of tools would break.
    pub(super) fn reached_limit(&self, calls: usize) -> Option<TurnLimit> {
        let limits = &self.config.limits;
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        if let Some(limit) = &self.reached {
            return Some(limit.clone());
        }
        if self.rounds >= limits.max_tool_rounds + u32::from(fault!(HopLimitOffByOne)) {
            let max = limits.max_tool_rounds;
            return Some(TurnLimit::MaxToolRounds { max });
        }
        if let Some(max) = limits.max_tool_calls
            && self.spent.calls.saturating_add(calls) > max
        {
            return Some(TurnLimit::MaxToolCalls { max });
        }
        if let Some(max) = limits.max_tokens
            && self.tokens() >= max
        {
            return Some(TurnLimit::MaxTokens { max });
        }
        if let Some(max) = limits.max_duration
            && self.elapsed() >= max
        {
            let max_ms = u64::try_from(max.as_millis()).unwrap_or(u64::MAX);
            return Some(TurnLimit::MaxDuration { max_ms });
        }
        None
    }

    fn tokens(&self) -> u64 {
        let usage = &self.usage;
        usage.total_tokens.unwrap_or_else(|| {
            let input = usage.input_tokens.unwrap_or(0);
            input.saturating_add(usage.output_tokens.unwrap_or(0))
        })
    }

    fn elapsed(&self) -> Duration {
        let running = self.running_since.map(|since| self.clock().since(since));
        self.spent.time.saturating_add(running.unwrap_or_default())
    }

    /// Counts a call that is about to begin.
    ///
    /// # Errors
    /// The model has asked for it too often: the turn is to stop.
    pub(super) fn count_call(&mut self, key: CallKey) -> Result<Repeated, TurnLimit> {
        let Some((digest, tool)) = self.call_digest(key) else {
            return Ok(Repeated::Run);
        };
        let times = self.spent.count(digest);
        let Some(limit) = self.config.limits.repeats else {
            return Ok(Repeated::Run);
        };
        let is_repeatable = |tool: &crate::tool::Tool| tool.repeatable;
        if self.config.tools.get(&tool).is_some_and(is_repeatable) {
            return Ok(Repeated::Run);
        }
        if times > limit.stop_after {
            return Err(TurnLimit::NoProgress { tool, times });
        }
        Ok(if times > limit.tell_after {
            Repeated::Tell(times)
        } else {
            Repeated::Run
        })
    }

    /// Takes note of what came of a call that ran.
    pub(super) fn note_result(&mut self, key: CallKey, result: &crate::tool::ToolResult) {
        if let Some((digest, _)) = self.call_digest(key) {
            let result = serde_json::to_vec(result).unwrap_or_default();
            self.spent.came_to(digest, super::config::fnv1a(&result));
        }
    }

    /// Stands for the tool and its arguments, however the model spaced and ordered them.
    fn call_digest(&self, key: CallKey) -> Option<(u64, String)> {
        let call = self.conversation.call(key)?;
        let raw = self.conversation.tool_call(call);
        let raw = raw.map_or("", |call| &call.function.arguments);
        let mut text = call.name.clone();
        text.push('\0');
        match crate::tool::parse_arguments(raw) {
            Ok(arguments) => write_sorted(&arguments, &mut text),
            Err(_) => text.push_str(raw),
        }
        Some((super::config::fnv1a(text.as_bytes()), call.name.clone()))
    }

    /// What the model is told when it is not let run a call again.
    pub(super) fn repeat_message(&self, key: CallKey, times: u32) -> String {
        let name = self.conversation.call(key).map_or("", |call| &call.name);
        format!(
            "the call was not run: `{name}` was asked for {times} times with the same arguments, and that brought \
             nothing new. Use the results above, change the arguments, or answer without it"
        )
    }

    /// Why the calls of a round that a limit forbids were not run.
    pub(super) fn limit_message(limit: &TurnLimit) -> String {
        format!("the call was not run: {limit}")
    }
}

impl Outcome {
    /// The limit that the turn ended at, if it did.
    #[must_use]
    pub fn limit(&self) -> Option<&TurnLimit> {
        match self {
            Self::LimitReached { limit }
            | Self::Failed {
                failure: super::Failure::LimitReached { limit },
            } => Some(limit),
            _ => None,
        }
    }
}

/// The value as JSON with the keys of its objects in order.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let entries: BTreeMap<&str, &Value> =
                sorted(map.iter().map(|(key, value)| (key.as_str(), value)));
            out.push('{');
            for (key, value) in entries {
                out.push_str(&Value::from(key).to_string());
                out.push(':');
                write_sorted(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for value in values {
                write_sorted(value, out);
                out.push(',');
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}
