use super::model::{Event, ReasoningMessageContent, TextMessageContent, ToolCallArgs};

/// An event as a decoder emits it: a delta borrows its bytes, all other events refer to a complete [`Event`].
///
/// A delta that carries attachments (`metadata`, `subagentRunId`, `timestamp` and the like) is a
/// [`Whole`](Self::Whole) event, so nothing is lost by the short form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventRef<'a> {
    /// A delta of text (`TEXT_MESSAGE_CONTENT`).
    TextMessageContent {
        /// The message that the delta belongs to.
        message_id: &'a str,
        /// The delta.
        delta: &'a str,
    },
    /// A delta of reasoning (`REASONING_MESSAGE_CONTENT`).
    ReasoningMessageContent {
        /// The message that the delta belongs to.
        message_id: &'a str,
        /// The delta.
        delta: &'a str,
    },
    /// A delta of a tool call's arguments (`TOOL_CALL_ARGS`).
    ToolCallArgs {
        /// The call that the delta belongs to.
        tool_call_id: &'a str,
        /// The delta.
        delta: &'a str,
    },
    /// Any other event.
    Whole(&'a Event),
}

impl EventRef<'_> {
    /// Returns the event's `type` on the wire.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> &str {
        match self {
            Self::TextMessageContent { .. } => TextMessageContent::KIND,
            Self::ReasoningMessageContent { .. } => ReasoningMessageContent::KIND,
            Self::ToolCallArgs { .. } => ToolCallArgs::KIND,
            Self::Whole(event) => event.kind(),
        }
    }

    /// Returns an owned event.
    #[must_use]
    pub fn to_event(&self) -> Event {
        match *self {
            Self::TextMessageContent { message_id, delta } => {
                Event::TextMessageContent(TextMessageContent {
                    message_id: message_id.into(),
                    delta: delta.to_owned(),
                    ..TextMessageContent::default()
                })
            }
            Self::ReasoningMessageContent { message_id, delta } => {
                Event::ReasoningMessageContent(ReasoningMessageContent {
                    message_id: message_id.into(),
                    delta: delta.to_owned(),
                    ..ReasoningMessageContent::default()
                })
            }
            Self::ToolCallArgs {
                tool_call_id,
                delta,
            } => Event::ToolCallArgs(ToolCallArgs {
                tool_call_id: tool_call_id.into(),
                delta: delta.to_owned(),
                ..ToolCallArgs::default()
            }),
            Self::Whole(event) => event.clone(),
        }
    }
}

impl<'a> From<&'a Event> for EventRef<'a> {
    #[inline]
    fn from(event: &'a Event) -> Self {
        match event {
            Event::TextMessageContent(content) if content.common.is_none() => {
                Self::TextMessageContent {
                    message_id: &content.message_id,
                    delta: &content.delta,
                }
            }
            Event::ReasoningMessageContent(content) if content.common.is_none() => {
                Self::ReasoningMessageContent {
                    message_id: &content.message_id,
                    delta: &content.delta,
                }
            }
            Event::ToolCallArgs(args) if args.common.is_none() => Self::ToolCallArgs {
                tool_call_id: &args.tool_call_id,
                delta: &args.delta,
            },
            other => Self::Whole(other),
        }
    }
}
