use serde::{Deserialize, Serialize};
use std::fmt;

/// A rule about the order of events, by the numbers of Stepwell's AG-UI notes; it prints and serialises as `O1` to `O24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rule {
    /// The first event is `RUN_STARTED` or `RUN_ERROR`.
    O1,
    /// `RUN_STARTED`: no run is going on.
    O2,
    /// `RUN_ERROR`: the run has not failed already.
    O3,
    /// `RUN_FINISHED`: a run is going on, and nothing in it is open.
    O4,
    /// Any other event: a run is going on.
    O5,
    /// `TEXT_MESSAGE_START`: the message is not open, and no other agent's.
    O6,
    /// `TEXT_MESSAGE_CONTENT` and `_END`: the message is open, and no other agent's.
    O7,
    /// `TOOL_CALL_START`: the call is not open, and neither it nor its parent message is another agent's.
    O8,
    /// `TOOL_CALL_ARGS` and `_END`: the call is open, and no other agent's.
    O9,
    /// `TOOL_CALL_RESULT`: any, while a run is going on.
    O10,
    /// `STEP_STARTED`: the agent has no open step of this name.
    O11,
    /// `STEP_FINISHED`: the agent has an open step of this name.
    O12,
    /// `REASONING_START`: the span is not open, and no other agent's.
    O13,
    /// `REASONING_END`: the span is open, and no other agent's.
    O14,
    /// `REASONING_MESSAGE_START`: the reasoning message is not open, and no other agent's.
    O15,
    /// `REASONING_MESSAGE_CONTENT` and `_END`: the reasoning message is open, and no other agent's.
    O16,
    /// `REASONING_ENCRYPTED_VALUE`: what it belongs to is no other agent's.
    O17,
    /// `ACTIVITY_SNAPSHOT`: any, while a run is going on.
    O18,
    /// `ACTIVITY_DELTA`: the activity is no other agent's.
    O19,
    /// `SUBAGENT_STARTED`: the id is new in this run, and its parent, if named, is known.
    O20,
    /// `SUBAGENT_FINISHED` and `_ERROR`: the subagent is active.
    O21,
    /// `MESSAGES_SNAPSHOT`: any, while a run is going on.
    O22,
    /// `STATE_*`, `CUSTOM` and `RAW`: any, while a run is going on.
    O23,
    /// The end of the stream: the run has finished or failed.
    O24,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An event that may not come at this point: the peer broke the protocol, and the stream is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{rule}: {message}")]
pub struct Violation {
    /// The rule that was broken.
    pub rule: Rule,
    /// What was broken, with the ids, and what the agent should have sent.
    pub message: String,
}

impl Violation {
    pub(super) fn new(rule: Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            message: message.into(),
        }
    }
}
