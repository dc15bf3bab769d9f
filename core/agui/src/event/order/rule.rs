use serde::{Deserialize, Serialize};
use std::fmt;

/// A rule about the order of events, by the numbers of Stepwell's AG-UI notes; it prints and serialises as `O1` to
/// `O24`.
///
/// `S1` to `S5` are of the protocol's text alone: the reference client does not check them. See
/// [`ExtraRules`](super::ExtraRules).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Rule {
    /// The first event is `RUN_STARTED` or `RUN_ERROR`.
    O1,
    /// `RUN_STARTED`: no run is in progress.
    O2,
    /// `RUN_ERROR`: the run has not failed already.
    O3,
    /// `RUN_FINISHED`: a run is in progress, and nothing in it is open.
    O4,
    /// Any other event: a run is in progress.
    O5,
    /// `TEXT_MESSAGE_START`: the message is not open, and does not belong to another agent.
    O6,
    /// `TEXT_MESSAGE_CONTENT` and `_END`: the message is open, and does not belong to another agent.
    O7,
    /// `TOOL_CALL_START`: the call is not open, and neither the call nor its parent message belongs to another agent.
    O8,
    /// `TOOL_CALL_ARGS` and `_END`: the call is open, and does not belong to another agent.
    O9,
    /// `TOOL_CALL_RESULT`: any, while a run is in progress.
    O10,
    /// `STEP_STARTED`: the agent has no open step of this name.
    O11,
    /// `STEP_FINISHED`: the agent has an open step of this name.
    O12,
    /// `REASONING_START`: the span is not open, and does not belong to another agent.
    O13,
    /// `REASONING_END`: the span is open, and does not belong to another agent.
    O14,
    /// `REASONING_MESSAGE_START`: the reasoning message is not open, and does not belong to another agent.
    O15,
    /// `REASONING_MESSAGE_CONTENT` and `_END`: the reasoning message is open, and does not belong to another agent.
    O16,
    /// `REASONING_ENCRYPTED_VALUE`: its message or call does not belong to another agent.
    O17,
    /// `ACTIVITY_SNAPSHOT`: any, while a run is in progress.
    O18,
    /// `ACTIVITY_DELTA`: the activity does not belong to another agent.
    O19,
    /// `SUBAGENT_STARTED`: the id is new in this run, and its parent, if named, is known.
    O20,
    /// `SUBAGENT_FINISHED` and `_ERROR`: the subagent is active.
    O21,
    /// `MESSAGES_SNAPSHOT`: any, while a run is in progress.
    O22,
    /// `STATE_*`, `CUSTOM` and `RAW`: any, while a run is in progress.
    O23,
    /// The end of the stream: the run has finished or failed.
    O24,
    /// `RUN_FINISHED` has the ids of the `RUN_STARTED` before it.
    S1,
    /// `RUN_STARTED` has the request's thread id.
    S2,
    /// The ids of interrupts are unique.
    S3,
    /// `TOOL_CALL_START` of a call that continues repeats its name and its parent message.
    S4,
    /// The requested run is among those of the stream.
    S5,
}

impl Rule {
    /// Returns whether the reference client does not check the rule.
    #[must_use]
    pub fn is_extra(self) -> bool {
        matches!(self, Self::S1 | Self::S2 | Self::S3 | Self::S4 | Self::S5)
    }

    /// Returns what the agent has to do to keep the rule.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::O1 => {
                "begin the stream with RUN_STARTED, or with RUN_ERROR if the run cannot begin"
            }
            Self::O2 => "end the run with RUN_FINISHED or RUN_ERROR before the next one begins",
            Self::O3 => "send RUN_ERROR once; the run is over with it",
            Self::O4 => {
                "send RUN_FINISHED once, and end every message, tool call, step, reasoning and subagent before it"
            }
            Self::O5 => "send nothing between the end of a run and the RUN_STARTED of the next",
            Self::O6 => {
                "send TEXT_MESSAGE_END before the message is started again, or use a new messageId"
            }
            Self::O7 => "send TEXT_MESSAGE_START with this messageId and subagentRunId first",
            Self::O8 => {
                "send TOOL_CALL_END before the call is started again, and give it the subagentRunId of its parent message"
            }
            Self::O9 => "send TOOL_CALL_START with this toolCallId and subagentRunId first",
            Self::O10 => "send TOOL_CALL_RESULT only while a run is going on",
            Self::O11 => "send STEP_FINISHED before a step of the same name begins again",
            Self::O12 => {
                "finish a step with the stepName and subagentRunId that it was started with"
            }
            Self::O13 => {
                "send REASONING_END before the span is started again, or use a new messageId"
            }
            Self::O14 => "send REASONING_START with this messageId and subagentRunId first",
            Self::O15 => {
                "send REASONING_MESSAGE_END before the message is started again, or use a new messageId"
            }
            Self::O16 => "send REASONING_MESSAGE_START with this messageId and subagentRunId first",
            Self::O17 => "give the value the subagentRunId of what it belongs to, or none",
            Self::O18 => "send ACTIVITY_SNAPSHOT only while a run is going on",
            Self::O19 => "give the change the subagentRunId of its activity, or none",
            Self::O20 => {
                "give every subagent a subagentRunId of its own, and start its parent before it"
            }
            Self::O21 => "send SUBAGENT_STARTED first, and end a subagent once",
            Self::O22 => "send MESSAGES_SNAPSHOT only while a run is going on",
            Self::O23 => "send STATE_*, CUSTOM and RAW only while a run is going on",
            Self::O24 => "end every run with RUN_FINISHED or RUN_ERROR before the body ends",
            Self::S1 => "repeat the threadId and runId of RUN_STARTED in RUN_FINISHED",
            Self::S2 => "repeat the request's threadId in every RUN_STARTED",
            Self::S3 => "give every interrupt of a run an id of its own",
            Self::S4 => {
                "repeat toolCallName and parentMessageId when a call is started again, or use a new toolCallId"
            }
            Self::S5 => "repeat the request's runId in RUN_STARTED",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An event that may not come at this point: the peer broke the protocol, and the stream is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{rule}: {message}")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Violation {
    /// The rule that was broken.
    pub rule: Rule,
    /// The description of the violation, with the ids, and what the agent should have sent.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(rule: Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            message: message.into(),
        }
    }
}
