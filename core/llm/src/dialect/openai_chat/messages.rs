//! The conversation in the format of Chat Completions.

use super::super::encoding::{Call, result_text};
use super::super::{ModelRequest, sealed};
use super::parts::{MarkedPart, Part, message_mark, prompt_mark};
use crate::event::{AssistantMessage, Message, MessageContent, ReasoningMessage, ToolCall};
use crate::provider::{Dialect, Endpoint, Quirks, ReasoningReturn};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A message of the request. Fields are borrowed where possible, because attachments can be large.
#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum ChatMessage<'a> {
    Developer(TextMessage<'a>),
    System(TextMessage<'a>),
    User(TextMessage<'a>),
    Assistant(Assistant<'a>),
    Tool {
        tool_call_id: &'a str,
        content: Content<'a>,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct TextMessage<'a> {
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<MarkedPart<'a>>),
}

/// The model's answer in one hop as one message, because a second assistant message must not be between a call and its
/// result.
#[derive(Debug, Default, Serialize)]
pub(super) struct Assistant<'a> {
    /// The text, or null where the model only called tools.
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

/// Returns the messages of a request, in order. Activities are never sent, and reasoning is in the form that the
/// provider wants.
pub(super) fn encode<'a>(request: &ModelRequest<'a>) -> Vec<ChatMessage<'a>> {
    let endpoint = request.endpoint;
    let quirks = endpoint.quirks;
    let lifetime = request.settings.cache_prompt;
    let mark = lifetime.filter(|_| quirks.cache_marks).map(prompt_mark);
    let mut encoded = Vec::with_capacity(request.messages.len() + 1);
    if let Some(text) = request.instructions.filter(|text| !text.is_empty()) {
        let mut said = TextMessage::text(text, None);
        if let Some(mark) = &mark {
            said.content.mark(mark.clone());
        }
        encoded.push(ChatMessage::System(said));
    }
    let mut assistant = Assistant::default();
    for message in request.messages {
        match message {
            Message::Assistant(message) => assistant.add(message, endpoint),
            Message::Reasoning(message) => assistant.add_reasoning(message, endpoint),
            Message::Activity(_) => {}
            other => {
                std::mem::take(&mut assistant).put(endpoint, &mut encoded);
                encoded.extend(ChatMessage::new(other, quirks));
            }
        }
    }
    assistant.put(endpoint, &mut encoded);
    if let (Some(mark), Some(last)) = (mark, encoded.last_mut()) {
        last.mark(mark);
    }
    encoded
}

impl<'a> ChatMessage<'a> {
    /// Encodes a message that is not the model's; `None` for the messages that are, and for activities.
    fn new(message: &'a Message, quirks: Quirks) -> Option<Self> {
        let (mut encoded, metadata) = match message {
            Message::Developer(message) => {
                let said = TextMessage::text(&message.content, message.name.as_deref());
                let encoded = if quirks.no_developer_role {
                    Self::System(said)
                } else {
                    Self::Developer(said)
                };
                (encoded, &message.metadata)
            }
            Message::System(message) => {
                let said = TextMessage::text(&message.content, message.name.as_deref());
                (Self::System(said), &message.metadata)
            }
            Message::User(message) => {
                let said = TextMessage {
                    content: Content::new(&message.content, quirks.cache_marks),
                    name: message.name.as_deref(),
                };
                (Self::User(said), &message.metadata)
            }
            Message::Tool(message) => {
                let encoded = Self::Tool {
                    tool_call_id: &message.tool_call_id,
                    content: Content::Text(result_text(message, |_| false)),
                };
                (encoded, &message.metadata)
            }
            Message::Assistant(_) | Message::Reasoning(_) | Message::Activity(_) => return None,
        };
        if quirks.cache_marks
            && let Some(mark) = message_mark(metadata.as_ref())
        {
            encoded.mark(mark);
        }
        Some(encoded)
    }

    /// Marks the message's end for the provider's cache. The model's messages are never marked: a result or the user's
    /// next message follows them.
    fn mark(&mut self, mark: Value) {
        match self {
            Self::Developer(said) | Self::System(said) | Self::User(said) => {
                said.content.mark(mark);
            }
            Self::Tool { content, .. } => content.mark(mark),
            Self::Assistant(_) => {}
        }
    }
}

impl<'a> TextMessage<'a> {
    fn text(text: &'a str, name: Option<&'a str>) -> Self {
        Self {
            content: Content::Text(text.into()),
            name,
        }
    }
}

impl<'a> Content<'a> {
    fn new(content: &'a MessageContent, marks: bool) -> Self {
        match content {
            MessageContent::Text(text) => Self::Text(text.into()),
            MessageContent::Parts(parts) => {
                let parts = parts.iter();
                Self::Parts(
                    parts
                        .filter_map(|part| MarkedPart::new(part, marks))
                        .collect(),
                )
            }
        }
    }

    /// Marks the last part, if it is not marked yet. Only a part can be.
    fn mark(&mut self, mark: Value) {
        match self {
            Self::Text(text) if !text.is_empty() => {
                let text = std::mem::take(text);
                *self = Self::Parts(vec![MarkedPart {
                    part: Part::Text { text },
                    cache_control: Some(mark),
                }]);
            }
            Self::Parts(parts) => {
                if let Some(part) = parts.last_mut() {
                    part.cache_control.get_or_insert(mark);
                }
            }
            Self::Text(_) => {}
        }
    }
}

impl<'a> Assistant<'a> {
    fn add(&mut self, message: &'a AssistantMessage, endpoint: &Endpoint) {
        if let Some(text) = message.content.as_deref() {
            append(&mut self.content, text);
        }
        let metadata = message.metadata.as_ref();
        let refusal = metadata.and_then(|metadata| metadata.get("refusal"));
        if let Some(refusal) = refusal.and_then(Value::as_str) {
            let field = if endpoint.quirks.refusals {
                &mut self.refusal
            } else {
                &mut self.content
            };
            append(field, refusal);
        }
        self.name = self.name.or(message.name.as_deref());
        let calls = message.tool_calls.iter();
        self.tool_calls
            .extend(calls.map(|call| Call::new(call, arguments(call))));
    }

    fn add_reasoning(&mut self, message: &'a ReasoningMessage, endpoint: &Endpoint) {
        match endpoint.quirks.reasoning {
            ReasoningReturn::Never => {}
            // Reasoning sealed by another provider is not this model's own.
            ReasoningReturn::Content
                if sealed::is_foreign(
                    message.encrypted_value.as_deref(),
                    &endpoint.provider,
                    Dialect::OpenAiChat,
                ) => {}
            ReasoningReturn::Content => append(&mut self.reasoning_content, &message.content),
            ReasoningReturn::Details => {
                let details: Option<Vec<&RawValue>> = sealed::open(
                    message.encrypted_value.as_deref(),
                    &endpoint.provider,
                    Dialect::OpenAiChat,
                );
                self.reasoning_details.extend(details.unwrap_or_default());
            }
        }
    }

    /// Adds the complete message. An empty message without calls is refused everywhere, and is left out.
    fn put(mut self, endpoint: &Endpoint, messages: &mut Vec<ChatMessage<'a>>) {
        if endpoint.quirks.reasoning == ReasoningReturn::Content {
            // DeepSeek and Kimi refuse a message without it: another provider's, one that was cut, a client's.
            self.reasoning_content.get_or_insert_default();
        }
        if self.content.is_some() || self.refusal.is_some() || !self.tool_calls.is_empty() {
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

/// Returns the arguments as the model wrote them; all forms of empty arguments become `{}`.
fn arguments(call: &ToolCall) -> Cow<'_, str> {
    let arguments = call.function.arguments.as_str();
    match arguments.trim() {
        "" | "null" => "{}",
        _ => arguments,
    }
    .into()
}
