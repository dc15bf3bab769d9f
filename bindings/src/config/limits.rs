use super::price::dollars;
use crate::error::StepwellError;
use crate::time::Duration;
use serde::Deserialize;
use stepwell_core::Usd;
use stepwell_core::pipeline::AnswerLimits;
use stepwell_core::run;
use stepwell_core::wire::FrameLimits;
use stepwell_mirror::mirror;

/// How far a run may go. What is left out is the default; none is without a limit.
#[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// The most rounds of tools in a turn.
    #[uniffi(default = 10)]
    pub max_tool_rounds: u32,
    /// Whether the model goes on with the results of its tools. If not, a turn ends when its first round of tools is
    /// done, with the results in the history; the next turn sends them.
    #[uniffi(default = true)]
    pub continue_after_tools: bool,
    /// The most tool calls in a turn; any number if absent. A round that would go beyond is not begun.
    #[uniffi(default = None)]
    pub max_tool_calls: Option<u32>,
    /// The most tokens of a turn, as the provider counts them; any number if absent. When they are used up, no further
    /// round is begun.
    #[uniffi(default = None)]
    pub max_tokens: Option<u64>,
    /// What a turn may cost, in US dollars; any amount if absent. When it has cost that, no further round is begun: the
    /// round that came before may have taken it beyond. It needs a model whose price is known, or `RunConfig.price`.
    #[uniffi(default = None)]
    pub max_cost: Option<f64>,
    /// The longest that a turn may take and still begin a round of tools; any time if absent. What
    /// runs is not broken off, and waiting for the user does not count. `Timeouts.turn` is the hard end.
    #[uniffi(default = None)]
    #[serde(rename = "maxDurationMs")]
    pub max_duration: Option<Duration>,
    /// The most tools of a round that run side by side. Further calls wait in their order. 0 counts as 1.
    #[uniffi(default = 8)]
    pub max_parallel_tools: u32,
    /// When a model that asks for the same again and again is told, and when it is stopped.
    #[uniffi(default)]
    pub repeats: RepeatLimit,
    /// What happens when the model asks for tools beyond one of these limits; the turn completes if absent. A model
    /// that makes no progress is stopped in any case.
    #[uniffi(default = None)]
    pub at_limit: Option<LimitPolicy>,
    /// The most bytes of one answer: its text, reasoning, arguments, results, activities and shared state, with 256
    /// for each message and call. An answer that goes beyond is stopped at once, and the turn fails.
    #[uniffi(default = 33554432)]
    pub max_answer_bytes: u64,
    /// The most calls that one answer may leave without a result. An answer that goes beyond is stopped in the same way.
    #[uniffi(default = 1000)]
    pub max_answer_calls: u32,
    /// The longest line of a stream, in bytes.
    #[uniffi(default = 67108864)]
    pub max_line_bytes: u64,
    /// The most data of one event of a stream, in bytes.
    #[uniffi(default = 67108864)]
    pub max_event_bytes: u64,
}

/// How often the model may ask for the same tool with the same arguments. What is left out is the default; none is
/// without end.
///
/// A call counts as the same again if it follows itself, or if it gave the same result as the time before. A
/// `repeatable` tool never counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RepeatLimit {
    /// So often it is run, 3 times if left out. A further call is not: the model is told instead; never if none.
    #[uniffi(default = Some(3))]
    pub tell_after: Option<u32>,
    /// So often it may be asked for, 5 times if left out. After that the turn stops, as `TurnLimit.NoProgress`; never if
    /// none.
    #[uniffi(default = Some(5))]
    pub stop_after: Option<u32>,
}

mirror! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::LimitPolicy, both)]
    pub enum LimitPolicy {
        /// The run completes with the outcome that says so.
        Complete,
    }

    /// When a request is tried again that failed before it brought anything to show: refused with a status, or with an error
    /// in the stream; without a connection, or with one that broke; and an answer with nothing in it. Where the server can
    /// resume a stream (`RunConfig.resumption`), also one that broke later.
    #[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
    #[mirror(stepwell_core::run::RetryPolicy, both, default)]
    pub struct RetryPolicy {
        #[uniffi(default = 4)]
        attempts,
        #[uniffi(default = 500)]
        first_delay,
        #[uniffi(default = 8000)]
        max_delay,
        #[uniffi(default = 120000)]
        max_retry_after,
        #[uniffi(default = 0.2)]
        jitter,
        /// Makes the jitter differ between apps. Equal seeds give equal pauses.
        #[uniffi(default = 0)]
        seed,
        /// What happens when the model ends without text, a tool call or media; the turn fails if absent.
        empty_answer?,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "snake_case")]
    #[mirror(stepwell_core::run::EmptyAnswerPolicy, both)]
    pub enum EmptyAnswerPolicy {
        /// The turn ends as incomplete, with the reason `empty`.
        Fail,
    }

    /// How long things may take. What is left out is the default; none is without end.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
    #[mirror(stepwell_core::run::Timeouts, both, default)]
    pub struct Timeouts {
        #[uniffi(default = Some(120000))]
        silence,
        /// How long a tool may take, if it does not say so itself.
        #[uniffi(default = Some(300000))]
        tool,
        #[uniffi(default = None)]
        turn,
        /// How long the user may take to allow a call. Then it is not run, and the model is told.
        #[uniffi(default = None)]
        approval,
        #[uniffi(default = None)]
        deferred,
        /// How long the app may take to give the credentials of a request. Then the turn fails.
        #[uniffi(default = Some(60000))]
        credentials,
        /// How long the stream of an answer that is over may stay open: for what the answer cost, say. Then it is closed, and
        /// the turn goes on.
        #[uniffi(default = Some(2000))]
        closing,
    }
}

impl Default for Limits {
    fn default() -> Self {
        let core = run::Limits::default();
        let bytes = |bytes| u64::try_from(bytes).unwrap_or(u64::MAX);
        Self {
            max_tool_rounds: core.max_tool_rounds,
            continue_after_tools: core.continue_after_tools,
            max_tool_calls: core.max_tool_calls,
            max_tokens: core.max_tokens,
            max_cost: core.max_cost.map(Usd::dollars),
            max_duration: core.max_duration.map(Into::into),
            max_parallel_tools: core.max_parallel_tools,
            repeats: RepeatLimit::default(),
            at_limit: None,
            max_answer_bytes: core.answer.bytes,
            max_answer_calls: core.answer.calls,
            max_line_bytes: bytes(core.frames.line),
            max_event_bytes: bytes(core.frames.event),
        }
    }
}

impl Default for RepeatLimit {
    fn default() -> Self {
        let core = run::RepeatLimit::default();
        Self {
            tell_after: Some(core.tell_after),
            stop_after: Some(core.stop_after),
        }
    }
}

impl Limits {
    /// The core's limits.
    ///
    /// # Errors
    /// `max_cost` is no amount of money.
    pub(crate) fn into_core(self) -> Result<run::Limits, StepwellError> {
        let limits = self;
        let bytes = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok(run::Limits {
            max_tool_rounds: limits.max_tool_rounds,
            continue_after_tools: limits.continue_after_tools,
            max_tool_calls: limits.max_tool_calls,
            max_tokens: limits.max_tokens,
            max_cost: dollars("max_cost", limits.max_cost)?,
            max_duration: limits.max_duration.map(Into::into),
            max_parallel_tools: limits.max_parallel_tools,
            repeats: limits.repeats.into_core(),
            at_limit: limits
                .at_limit
                .map_or(run::LimitPolicy::Complete, Into::into),
            answer: AnswerLimits {
                bytes: limits.max_answer_bytes,
                calls: limits.max_answer_calls,
            },
            frames: FrameLimits {
                line: bytes(limits.max_line_bytes),
                event: bytes(limits.max_event_bytes),
            },
        })
    }
}

impl RepeatLimit {
    fn into_core(self) -> Option<run::RepeatLimit> {
        let Self {
            tell_after,
            stop_after,
        } = self;
        (tell_after.is_some() || stop_after.is_some()).then(|| run::RepeatLimit {
            tell_after: tell_after.unwrap_or(u32::MAX),
            stop_after: stop_after.unwrap_or(u32::MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{limits, retry, timeouts};

    /// The defaults that every language writes out are the core's own.
    #[test]
    fn defaults_are_those_of_the_core() {
        assert_eq!(limits().into_core().unwrap(), run::Limits::default());
        assert_eq!(run::RetryPolicy::from(retry()), run::RetryPolicy::default());
        assert_eq!(run::Timeouts::from(timeouts()), run::Timeouts::default());
    }

    #[test]
    fn what_is_absent_never_happens() {
        let limit = |tell_after, stop_after| RepeatLimit {
            tell_after,
            stop_after,
        };
        let core = |tell_after, stop_after| {
            Some(run::RepeatLimit {
                tell_after,
                stop_after,
            })
        };
        assert_eq!(limit(None, None).into_core(), None);
        assert_eq!(limit(Some(1), None).into_core(), core(1, u32::MAX));
        assert_eq!(limit(None, Some(2)).into_core(), core(u32::MAX, 2));
    }
}
