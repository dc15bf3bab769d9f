use crate::tool::Arguments;
use crate::{CallKey, RunId, ThreadId, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that is to be run, checked against its tool's schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ToolInvocation {
    /// Its place in the run.
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
    /// A call of a tool outside of any turn: for whoever tries a tool's code by itself.
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

/// What the user says to a tool that asks to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may.
    Granted,
    /// It may not.
    Denied {
        /// Why, for the model to read.
        reason: Option<String>,
    },
    /// It may, with other arguments than the model's. The model is told.
    Edited {
        /// The arguments: JSON that fits the tool's schema.
        arguments: String,
    },
}
