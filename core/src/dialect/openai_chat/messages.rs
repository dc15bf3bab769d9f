//! The conversation as Chat Completions has it.

use super::super::encoding::{Call, result_text};
use super::super::{Quirks, ReasoningReturn};
use super::parts;
use crate::event::{AssistantMessage, Message, MessageContent, ReasoningMessage, ToolCall};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// One message of the request. Everything is borrowed where it can be: attachments are large.
#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum ChatMessage<'a> {
    Developer(Said<'a>),
    System(Said<'a>),
    User(Said<'a>),
    Assistant(Assistant<'a>),
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct Said<'a> {
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<parts::Part<'a>>),
}

/// What the model said in one hop, in one message: a second assistant message may not stand between a call and its
/// result.
#[derive(Debug, Default, Serialize)]
pub(super) struct Assistant<'a> {
    /// Null where the model only asked for tools.
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

/// The messages of a request, in order. Activities are never sent; reasoning is as the provider wants it.
pub(super) fn encode<'a>(
    instructions: Option<&'a str>,
    messages: &'a [Message],
    quirks: Quirks,
) -> Vec<ChatMessage<'a>> {
    let mut encoded = Vec::with_capacity(messages.len() + 1);
    encoded.extend(
        instructions
            .filter(|text| !text.is_empty())
            .map(|text| ChatMessage::System(Said::text(text, None))),
    );
    let mut assistant = Assistant::default();
    for message in messages {
        match message {
            Message::Assistant(message) => {
                assistant.add(message);
                continue;
            }
            Message::Reasoning(message) => {
                assistant.add_reasoning(message, quirks.reasoning);
                continue;
            }
            Message::Activity(_) => continue,
            _ => std::mem::take(&mut assistant).put(&mut encoded),
        }
        encoded.extend(match message {
            Message::Developer(message) => {
                let said = Said::text(&message.content, message.name.as_deref());
                Some(if quirks.no_developer_role {
                    ChatMessage::System(said)
                } else {
                    ChatMessage::Developer(said)
                })
            }
            Message::System(message) => Some(ChatMessage::System(Said::text(
                &message.content,
                message.name.as_deref(),
            ))),
            Message::User(message) => Some(ChatMessage::User(Said {
                content: content(&message.content),
                name: message.name.as_deref(),
            })),
            Message::Tool(message) => Some(ChatMessage::Tool {
                tool_call_id: &message.tool_call_id,
                content: result_text(message),
            }),
            _ => None,
        });
    }
    assistant.put(&mut encoded);
    encoded
}

impl<'a> Said<'a> {
    fn text(text: &'a str, name: Option<&'a str>) -> Self {
        Self {
            content: Content::Text(text.into()),
            name,
        }
    }
}

impl<'a> Assistant<'a> {
    fn add(&mut self, message: &'a AssistantMessage) {
        if let Some(text) = message.content.as_deref() {
            append(&mut self.content, text);
        }
        self.name = self.name.or(message.name.as_deref());
        self.tool_calls.extend(
            message
                .tool_calls
                .iter()
                .map(|call| Call::new(call, arguments(call))),
        );
    }

    fn add_reasoning(&mut self, message: &'a ReasoningMessage, wanted: ReasoningReturn) {
        match wanted {
            ReasoningReturn::Never => {}
            ReasoningReturn::Content => append(&mut self.reasoning_content, &message.content),
            ReasoningReturn::Details => {
                // Another dialect's encrypted value is no such array, and means nothing here.
                let details = message
                    .encrypted_value
                    .as_deref()
                    .and_then(|details| serde_json::from_str::<Vec<&RawValue>>(details).ok());
                self.reasoning_details.extend(details.unwrap_or_default());
            }
        }
    }

    /// The message is whole. One that says nothing and asks for nothing is refused everywhere, and is left out.
    fn put(self, messages: &mut Vec<ChatMessage<'a>>) {
        if self.content.is_some() || !self.tool_calls.is_empty() {
            messages.push(ChatMessage::Assistant(self));
        }
    }
}

fn append<'a>(text: &mut Option<Cow<'a, str>>, more: &'a str) {
    if more.is_empty() {
        return;
    }
    match text {
        None => *text = Some(more.into()),
        Some(text) => {
            let text = text.to_mut();
            text.push_str("\n\n");
            text.push_str(more);
        }
    }
}

/// Arguments as the model wrote them, but for the ways of saying that there are none.
fn arguments(call: &ToolCall) -> Cow<'_, str> {
    let arguments = call.function.arguments.as_str();
    match arguments.trim() {
        "" | "null" => "{}",
        _ => arguments,
    }
    .into()
}

fn content(content: &MessageContent) -> Content<'_> {
    match content {
        MessageContent::Text(text) => Content::Text(text.into()),
        MessageContent::Parts(parts) => {
            Content::Parts(parts.iter().filter_map(parts::Part::new).collect())
        }
    }
}
