//! The conversation as Mistral's chat has it.

use super::super::encoding::{
    Call, Exchange, arguments, as_text, data_url, exchanges, given_name, result_text,
};
use crate::event::{ContentPart, MediaPart, Message, MessageContent, Source};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A message of the request.
#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum ChatMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant(Assistant<'a>),
    Tool {
        tool_call_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        content: Cow<'a, str>,
    },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

/// Source: <https://docs.mistral.ai/api/endpoint/chat>, the content chunks.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text {
        text: Cow<'a, str>,
    },
    /// The model's reasoning. Mistral needs it back, in all turns.
    Thinking {
        thinking: [Thought<'a>; 1],
        closed: bool,
    },
    ImageUrl {
        image_url: Cow<'a, str>,
    },
    DocumentUrl {
        document_url: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        document_name: Option<&'a str>,
    },
    /// A sound: its address, or its bytes in base64.
    InputAudio {
        input_audio: &'a str,
    },
    File {
        file_id: &'a str,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thought<'a> {
    Text { text: &'a str },
}

/// The model's message in one hop.
#[derive(Debug, Serialize)]
pub(super) struct Assistant<'a> {
    content: Content<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    /// The model continues this very message.
    #[serde(skip_serializing_if = "is_false")]
    prefix: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Returns the messages of a request, in order.
pub(super) fn encode<'a>(
    instructions: Option<&'a str>,
    messages: &[&'a Message],
) -> Vec<ChatMessage<'a>> {
    let mut encoded = Vec::with_capacity(messages.len() + 1);
    encoded.extend(
        instructions
            .filter(|text| !text.is_empty())
            .map(|content| ChatMessage::System { content }),
    );
    // A result goes back with its tool's name, which only the call has.
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for exchange in exchanges(messages) {
        match exchange {
            Exchange::Developer(message) | Exchange::System(message) => {
                encoded.push(ChatMessage::System {
                    content: &message.content,
                });
            }
            Exchange::User(message) => encoded.push(ChatMessage::User {
                content: said(&message.content),
            }),
            Exchange::Answer(answer) => {
                for message in &answer {
                    if let Message::Assistant(message) = message {
                        let calls = message.tool_calls.iter();
                        names.extend(
                            calls.map(|call| (call.id.as_ref(), call.function.name.as_str())),
                        );
                    }
                }
                encoded.extend(Assistant::new(&answer).map(ChatMessage::Assistant));
            }
            Exchange::Results(results) => {
                encoded.extend(results.into_iter().map(|result| {
                    let id: &str = &result.tool_call_id;
                    ChatMessage::Tool {
                        tool_call_id: id,
                        name: names.get(id).copied(),
                        content: result_text(result, |_| false),
                    }
                }));
            }
        }
    }
    if let Some(ChatMessage::Assistant(last)) = encoded.last_mut()
        && last.tool_calls.is_empty()
    {
        last.prefix = true;
    }
    encoded
}

impl<'a> Assistant<'a> {
    /// Builds the message; `None` if the model gave neither text nor a call.
    fn new(answer: &[&'a Message]) -> Option<Self> {
        let mut parts = Vec::new();
        let mut tool_calls = Vec::new();
        for message in answer {
            match message {
                // Reasoning sealed by another provider is not this model's own.
                Message::Reasoning(message)
                    if !message.content.is_empty() && message.encrypted_value.is_none() =>
                {
                    parts.push(Part::Thinking {
                        thinking: [Thought::Text {
                            text: &message.content,
                        }],
                        closed: true,
                    });
                }
                Message::Assistant(message) => {
                    let text = message.content.as_deref().filter(|text| !text.is_empty());
                    parts.extend(text.map(|text| Part::Text { text: text.into() }));
                    let calls = message.tool_calls.iter();
                    tool_calls.extend(
                        calls.map(|call| Call::new(call, arguments(&call.function.arguments))),
                    );
                }
                _ => {}
            }
        }
        let says = parts.iter().any(|part| matches!(part, Part::Text { .. }));
        (says || !tool_calls.is_empty()).then(|| Self {
            content: plain(parts),
            tool_calls,
            prefix: false,
        })
    }
}

/// Parts that are nothing but text are text: not every model takes parts.
fn plain(parts: Vec<Part<'_>>) -> Content<'_> {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => Some(text.as_ref()),
            _ => None,
        })
        .collect();
    match texts {
        Some(texts) if texts.len() != 1 => Content::Text(texts.join("\n\n").into()),
        Some(_) => match parts.into_iter().next() {
            Some(Part::Text { text }) => Content::Text(text),
            _ => Content::Text("".into()),
        },
        None => Content::Parts(parts),
    }
}

fn said(content: &MessageContent) -> Content<'_> {
    match content {
        MessageContent::Text(text) => Content::Text(text.into()),
        MessageContent::Parts(parts) => {
            Content::Parts(parts.iter().filter_map(Part::new).collect())
        }
    }
}

/// Returns whether the format has a part for this content.
pub(super) fn takes(part: &ContentPart) -> bool {
    !matches!(part, ContentPart::Video(_))
}

impl<'a> Part<'a> {
    /// Returns the part, or a text description if the format has no such part.
    fn new(part: &'a ContentPart) -> Option<Self> {
        Some(match part {
            ContentPart::Image(part) => match &part.source {
                Source::File { value, .. } => Self::File { file_id: value },
                _ => Self::ImageUrl {
                    image_url: address(part)?,
                },
            },
            ContentPart::Audio(part) => match &part.source {
                Source::Data { value, .. } | Source::Url { value, .. } => {
                    Self::InputAudio { input_audio: value }
                }
                Source::File { value, .. } => Self::File { file_id: value },
            },
            ContentPart::Document(part) => match &part.source {
                Source::File { value, .. } => Self::File { file_id: value },
                _ => Self::DocumentUrl {
                    document_url: address(part)?,
                    document_name: given_name(part),
                },
            },
            other => Self::Text {
                text: as_text(other)?,
            },
        })
    }
}

/// Returns where a part's bytes are, or they themselves as an address.
fn address(part: &MediaPart) -> Option<Cow<'_, str>> {
    match &part.source {
        Source::Url { value, .. } => Some(value.into()),
        Source::Data { value, mime_type } => Some(data_url(mime_type, value).into()),
        Source::File { .. } => None,
    }
}
