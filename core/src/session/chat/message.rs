use crate::event::{ContentPart, MessageContent, Metadata};
use crate::transcript::ToolCallStatus;
use crate::{MessageId, RunId, Timestamp, ToolCallId};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// A message of a chat screen. What the model and its tools do between two messages of the user is one message, with its
/// parts in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ChatMessage {
    /// The id, unique in the state: that of the first message of the conversation that it shows.
    pub id: MessageId,
    /// The revision of the state with the last change of the message.
    pub revision: u64,
    /// The turn of the message; absent for messages without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<RunId>,
    /// The author.
    pub role: ChatRole,
    /// Whether the turn under way may still change the message.
    #[serde(rename = "streaming")]
    pub is_streaming: bool,
    /// Whether the answer was [cut](crate::run::CUT) because its host died. The text may stop anywhere, and the next message
    /// begins the answer again.
    #[serde(rename = "cut")]
    pub is_cut: bool,
    /// The start of the turn.
    pub timestamp: Timestamp,
    /// The parts, in order.
    pub parts: Vec<ChatPart>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ChatRole {
    /// The user.
    User,
    /// The model or the agent.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ChatPart {
    /// Text.
    Text {
        /// The text so far.
        text: String,
    },
    /// The model's reasoning, as far as its provider shows it.
    Reasoning {
        /// The text so far.
        text: String,
    },
    /// A tool call.
    Tool {
        /// The call.
        card: ToolCard,
    },
    /// An image, audio, a video or a document.
    Media {
        /// The media, as an AG-UI content part.
        media: ContentPart,
    },
    /// An agent's view of its work.
    Activity {
        /// The kind of activity, as the agent names it.
        activity_type: String,
        /// The content of the activity.
        content: Metadata,
    },
}

/// A tool call as a chat screen shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ToolCard {
    /// The provider's id for the call.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The label of the call: the tool's label for these arguments, or the tool's name.
    pub label: String,
    /// The status.
    #[serde(serialize_with = "status_name")]
    pub status: ToolCallStatus,
    /// The arguments: while they stream, the part that is certain; a text if the model did not write JSON.
    pub arguments: Value,
    /// The progress that the running tool reported last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ToolCardProgress>,
    /// The result so far that the running tool showed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_result: Option<MessageContent>,
    /// The result, once the call is completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<MessageContent>,
    /// The reason why there is no result, once the call failed, was denied or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The progress of a running tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ToolCardProgress {
    /// The fraction done, from 0 to 1, if the tool knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
    /// The tool's present activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Stored statuses have other names than those of a screen.
// The form that serde asks for.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn status_name<S: Serializer>(status: &ToolCallStatus, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(match status {
        ToolCallStatus::Streaming => "streaming",
        ToolCallStatus::Pending => "pending",
        ToolCallStatus::AwaitingApproval => "awaitingApproval",
        ToolCallStatus::Executing => "executing",
        ToolCallStatus::Deferred => "deferred",
        ToolCallStatus::Completed => "completed",
        ToolCallStatus::Failed => "failed",
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
    })
}
