use super::price::dollars;
use crate::error::StepwellError;
use crate::outcome::ErrorKind;
use crate::time::Duration;
use serde::Deserialize;
use stepwell_core::pipeline::AnswerLimits;
use stepwell_core::run;
use stepwell_core::wire::FrameLimits;
use stepwell_mirror::mirror;

mirror! {
    /// How far a run may go. A limit that is left out has its default; none means no limit.
    #[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
    #[mirror(stepwell_core::run::Limits, own, both, default)]
    pub struct Limits {
        /// The most rounds of tools in a turn.
        #[uniffi(default = 10)]
        max_tool_rounds: u32,
        /// Whether the model continues with the results of its tools. If not, a turn ends when its first round of tools
        /// is done, with the results in the history; the next turn sends them.
        #[uniffi(default = true)]
        continue_after_tools: bool,
        /// The most tool calls in a turn; any number if absent. A round that would exceed the limit is not begun.
        #[uniffi(default = None)]
        max_tool_calls: Option<u32>,
        /// The most tokens of a turn, as the provider counts them; any number if absent. When they are used up, no
        /// further round is begun.
        #[uniffi(default = None)]
        max_tokens: Option<u64>,
        /// What a turn may cost, in US dollars; any amount if absent. Once the turn has cost that, no further round is
        /// begun; the last round may exceed the limit. The limit needs a model whose price is known, or
        /// `RunConfig.price`.
        #[uniffi(default = None)]
        max_cost: Option<Usd>,
        /// The longest that a turn may take and still begin a round of tools; any time if absent. Running tools are not
        /// interrupted, and waiting for the user does not count. `Timeouts.turn` is the hard limit.
        #[uniffi(default = None)]
        max_duration: Option<Duration>,
        /// The most tools of a round that run in parallel. Further calls wait in their order. 0 counts as 1.
        #[uniffi(default = 8)]
        max_parallel_tools: u32,
        /// When a model that repeats the same call is warned, and when it is stopped.
        #[uniffi(default)]
        repeats: RepeatLimit = repeats.into() => repeats.into(),
        /// What happens when the model asks for tools beyond one of these limits; the turn completes if absent. A model
        /// that makes no progress is stopped in any case.
        at_limit?: LimitPolicy,
        /// The most bytes of one answer: its text, reasoning, arguments, results, activities and shared state, with 256
        /// for each message and call. An answer that exceeds the limit is stopped at once, and the turn fails.
        #[uniffi(default = 33554432)]
        + max_answer_bytes: u64 = answer.bytes,
        /// The most calls that one answer may leave without a result. An answer that exceeds the limit is stopped in
        /// the same way.
        #[uniffi(default = 1000)]
        + max_answer_calls: u32 = answer.calls,
        /// The longest line of a stream, in bytes.
        #[uniffi(default = 67108864)]
        + max_line_bytes: u64 = u64::try_from(frames.line).unwrap_or(u64::MAX),
        /// The most bytes of data in one event of a stream.
        #[uniffi(default = 67108864)]
        + max_event_bytes: u64 = u64::try_from(frames.event).unwrap_or(u64::MAX),
        - answer => AnswerLimits { bytes: max_answer_bytes, calls: max_answer_calls },
        - frames => FrameLimits {
            line: usize::try_from(max_line_bytes).unwrap_or(usize::MAX),
            event: usize::try_from(max_event_bytes).unwrap_or(usize::MAX),
        },
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::LimitPolicy, both)]
    pub enum LimitPolicy {
        /// The run completes with an outcome that names the limit.
        Complete,
    }

    /// When the model is asked again after a failure: one table by kind of failure, for an error by its status or in the
    /// stream, a connection that fails or breaks, a silent model, an empty answer and a call that cannot be read. By default
    /// a hop is retried after a rate limit, an overloaded model, an error of the server or the connection, and a timeout, up
    /// to `attempts` times, the first included; after an answer that is empty or cannot be read up to three times. A row of
    /// `by_kind` changes that for a kind, or adds one.
    ///
    /// A request is sent again only while nothing of its answer was shown, or where the server can resume the stream
    /// (`RunConfig.resumption`), unless the row of the kind says otherwise (`Retry.after_text`). All attempts of a hop together are at most as many as the largest number of the table.
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
        /// The kinds of failure that have other numbers. If a kind has two rows, the last one counts.
        #[uniffi(default)]
        by_kind,
        /// Whether an answer without text, a tool call or media is a success, for apps in which a tool is the answer.
        /// Otherwise it is retried as `OutputInvalid`, and then ends the turn as incomplete, with the reason `empty`.
        #[uniffi(default = false)]
        accept_empty,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[mirror(stepwell_core::run::Retry, both)]
    pub struct Retry {
        kind,
        /// The most attempts for one hop, the first included: 1 for no retry; the policy's if absent.
        #[uniffi(default = None)]
        attempts,
        /// The pause after the first failure of this kind; the policy's if absent.
        #[uniffi(default = None)]
        first_delay,
        /// Whether the answer is asked for again even after a part of it was shown. That part stays, marked as cut, and the
        /// answer comes as a message of its own.
        #[uniffi(default = false)]
        #[serde(default)]
        after_text,
    }

    /// How long each step may take. A time that is left out has its default; none means no limit.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
    #[mirror(stepwell_core::run::Timeouts, both, default)]
    pub struct Timeouts {
        #[uniffi(default = Some(120000))]
        silence,
        /// How long a tool may take, if its definition sets no time.
        #[uniffi(default = Some(300000))]
        tool,
        #[uniffi(default = None)]
        turn,
        /// How long the user may take to allow a call. After that the call is not run, and the model is informed.
        #[uniffi(default = None)]
        approval,
        #[uniffi(default = None)]
        deferred,
        #[uniffi(default = Some(60000))]
        credentials,
        /// How long the stream of a finished answer may stay open, for the answer's cost, say. After that the stream is
        /// closed, and the turn continues.
        #[uniffi(default = Some(2000))]
        closing,
    }
}

/// How often the model may ask for the same tool with the same arguments. A count that is left out has its default;
/// none means no limit.
///
/// A call counts as a repeat if it directly follows an equal call, or if it gave the same result as the time before. A
/// `repeatable` tool never counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RepeatLimit {
    /// The number of times that the call is run, 3 if left out. A further call is not run, and the model gets a message
    /// instead; never if none.
    #[uniffi(default = Some(3))]
    pub tell_after: Option<u32>,
    /// The number of times that the model may ask for the call, 5 if left out. After that the turn stops, as
    /// `TurnLimit.NoProgress`; never if none.
    #[uniffi(default = Some(5))]
    pub stop_after: Option<u32>,
}

impl Default for RepeatLimit {
    fn default() -> Self {
        Some(run::RepeatLimit::default()).into()
    }
}

impl From<Option<run::RepeatLimit>> for RepeatLimit {
    fn from(core: Option<run::RepeatLimit>) -> Self {
        Self {
            tell_after: core.map(|limit| limit.tell_after),
            stop_after: core.map(|limit| limit.stop_after),
        }
    }
}

impl From<RepeatLimit> for Option<run::RepeatLimit> {
    fn from(limit: RepeatLimit) -> Self {
        let is_limited = limit.tell_after.is_some() || limit.stop_after.is_some();
        is_limited.then(|| run::RepeatLimit {
            tell_after: limit.tell_after.unwrap_or(u32::MAX),
            stop_after: limit.stop_after.unwrap_or(u32::MAX),
        })
    }
}

impl Limits {
    /// Converts to the core's limits.
    ///
    /// # Errors
    /// `max_cost` is no amount of money.
    pub(crate) fn into_core(self) -> Result<run::Limits, StepwellError> {
        let max_cost = dollars("max_cost", self.max_cost)?;
        let limits = run::Limits::from(self);
        Ok(run::Limits { max_cost, ..limits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{limits, retry, timeouts};

    /// Checks that the defaults that every language writes out are the core's own.
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
        assert_eq!(Option::from(limit(None, None)), None::<run::RepeatLimit>);
        assert_eq!(Option::from(limit(Some(1), None)), core(1, u32::MAX));
        assert_eq!(Option::from(limit(None, Some(2))), core(u32::MAX, 2));
    }
}
