use crate::event::MessageContent;
use crate::tool::ToolOutput;
use crate::{CallKey, ToolCallId};
use serde::{Deserialize, Serialize};

/// The longest message of a progress, in bytes: a longer one is cut.
pub(in crate::run) const MOST_MESSAGE: usize = 1000;

/// The largest partial result, in bytes of text or JSON.
const MOST_PARTIAL: usize = 256 << 10;

/// The progress of a running tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ToolProgress {
    /// The call's place in the run.
    pub call: CallKey,
    /// The provider's id for it.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The fraction done, from 0 to 1, if the tool knows.
    pub fraction: Option<f64>,
    /// The tool's present activity.
    pub message: Option<String>,
}

/// A partial result of a running tool, which replaces the one before. It is shown, but neither stored nor sent to the
/// model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ToolPartialResult {
    /// The call's place in the run.
    pub call: CallKey,
    /// The provider's id for it.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The result so far.
    pub output: ToolOutput,
}

/// A partial result is too large to be shown. It changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a partial result of {bytes} bytes is more than the {MOST_PARTIAL} that are shown: give a part, or a link"
)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct PartialTooLarge {
    /// The size of the partial result.
    pub bytes: usize,
}

impl PartialTooLarge {
    /// Checks that a partial result is small enough to be shown.
    ///
    /// # Errors
    /// The partial result is too large.
    pub fn check(output: &ToolOutput) -> Result<(), Self> {
        let bytes = match &output.content {
            MessageContent::Text(text) => text.len(),
            parts => serde_json::to_string(parts).map_or(0, |json| json.len()),
        };
        if bytes > MOST_PARTIAL {
            return Err(Self { bytes });
        }
        Ok(())
    }
}
