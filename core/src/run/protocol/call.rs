use crate::tool::Arguments;
use crate::{CallKey, RunId, ThreadId, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that should run, checked against its tool's schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ToolInvocation {
    /// The call's place in the run.
    pub call: CallKey,
    /// The provider's id for it.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The arguments, raw and parsed.
    pub arguments: Arguments,
    /// The conversation. Not part of the serde form, as the next two: what a journal holds of a call is older.
    #[serde(default, skip_serializing)]
    pub thread_id: ThreadId,
    /// The turn: the run id of its first hop.
    #[serde(default, skip_serializing)]
    pub turn: RunId,
    /// The run of the hop that asks for the call; its number is [`CallKey::hop`].
    #[serde(default, skip_serializing)]
    pub run_id: RunId,
    /// 1, and one more for each time that an idempotent tool is run again since its host died.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u32,
}

impl ToolInvocation {
    /// Creates a call of a tool outside of any turn, to try a tool's code by itself.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        Self {
            call: CallKey { hop: 0, index: 0 },
            tool_call_id: ToolCallId::from("call"),
            name: name.into(),
            arguments: Arguments {
                raw: arguments.to_string(),
                value: arguments,
            },
            thread_id: ThreadId::default(),
            turn: RunId::default(),
            run_id: RunId::default(),
            attempt: first(),
        }
    }
}

fn first() -> u32 {
    1
}

// The form that serde asks for.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_first(attempt: &u32) -> bool {
    *attempt == first()
}

/// The user's decision on a call that waits for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Decision {
    /// The call may run.
    Granted,
    /// The call may not run.
    Denied {
        /// The reason, for the model to read.
        reason: Option<String>,
    },
    /// The call may run with other arguments than the model's. The model is informed of the change.
    Edited {
        /// The arguments: JSON that fits the tool's schema.
        arguments: String,
    },
}
