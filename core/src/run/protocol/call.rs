use crate::tool::Arguments;
use crate::{CallKey, ToolCallId};
use serde::{Deserialize, Serialize};

/// A call that is to be run, checked against its tool's schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolInvocation {
    /// Its place in the run.
    pub call: CallKey,
    /// The provider's id for it.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The arguments, raw and parsed.
    pub arguments: Arguments,
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
