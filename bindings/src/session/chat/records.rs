//! The state of a chat screen, as other languages have it.

use crate::event::Interrupt;
use crate::event::ToolCallStatus;
use crate::json_value::JsonValue;
use crate::media::ContentPart;
use crate::outcome::{ErrorKind, TokenUsage};
use crate::pending::Pending;
use crate::time::Timestamp;
use stepwell_mirror::mirror;

mirror! {
    /// The contents of a chat screen. `ChatReducer` builds the state, the same one in every language. A reload from the
    /// store gives the state that was shown live.
    #[derive(Clone, Debug, PartialEq, uniffi::Record)]
    #[mirror(stepwell_core::session::ChatState)]
    pub struct ChatState {
        /// The reason why the last turn failed. A new turn clears the problem, and a cancelled turn has none.
        problem,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
    #[mirror(stepwell_core::session::ChatStatus)]
    pub enum ChatStatus {
        /// No turn is under way, and the last one failed: see `ChatState.problem`.
        Error,
    }

    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_core::session::ChatCompaction)]
    pub struct ChatCompaction;

    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
    #[mirror(stepwell_core::session::ChatConnection)]
    pub enum ChatConnection;

    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_core::session::ChatProblem)]
    pub struct ChatProblem;

    #[derive(Clone, Debug, PartialEq, uniffi::Record)]
    #[mirror(stepwell_core::session::ChatMessage)]
    pub struct ChatMessage {
        /// Whether the answer was cut because its host died. The text may stop anywhere, and the next message begins the
        /// answer again.
        is_cut,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
    #[mirror(stepwell_core::session::ChatRole)]
    pub enum ChatRole;

    #[derive(Clone, Debug, PartialEq, uniffi::Enum)]
    #[mirror(stepwell_core::session::ChatPart)]
    pub enum ChatPart;

    #[derive(Clone, Debug, PartialEq, uniffi::Record)]
    #[mirror(stepwell_core::session::ToolCard)]
    pub struct ToolCard {
        /// The text of the result, once the call is completed.
        result: Option<String> = result.as_ref().map(stepwell_core::event::MessageContent::to_text),
        /// The complete result where it is more than text: a JSON array of AG-UI content parts.
        result_parts: Option<JsonValue> = result.as_ref().and_then(parts),
        /// The text of the result so far that the running tool showed last.
        partial_result: Option<String> = partial_result.as_ref().map(stepwell_core::event::MessageContent::to_text),
    }

    #[derive(Clone, Debug, PartialEq, uniffi::Record)]
    #[mirror(stepwell_core::session::ToolCardProgress)]
    pub struct ToolCardProgress;

    /// The changes of a `ChatState` since the previous update: everything but the messages in full, and the messages that
    /// changed.
    ///
    /// A copy of the state takes the small fields, replaces the messages that it knows by their ids, and appends the
    /// others. With `order` it then keeps only the messages of these ids, in this order.
    #[derive(Clone, Debug, PartialEq, uniffi::Record)]
    #[mirror(stepwell_core::session::ChatUpdate)]
    pub struct ChatUpdate;
}

fn parts(content: &stepwell_core::event::MessageContent) -> Option<JsonValue> {
    matches!(content, stepwell_core::event::MessageContent::Parts(_))
        .then(|| JsonValue::of(content))
}
