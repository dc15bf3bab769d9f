//! The conversation in the format of Cohere's chat.

use super::super::encoding::{
    Call, Exchange, arguments, as_text, data_url, exchanges, result_text,
};
use super::TOOL_PLAN;
use crate::event::{
    ContentPart, MediaPart, Message, MessageContent, ReasoningMessage, Source, ToolMessage,
};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

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
        content: Content<'a>,
    },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text { text: Cow<'a, str> },
    Thinking { thinking: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
    Document { document: Document<'a> },
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl<'a> {
    url: Cow<'a, str>,
}

/// A part of a tool's result, which citations can name.
#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    data: Data<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Object(&'a RawValue),
    Text { text: Cow<'a, str> },
}

/// The model's message in one hop.
#[derive(Debug, Default, Serialize)]
pub(super) struct Assistant<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    content: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_plan: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
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
    let exchanges = exchanges(messages);
    // Thinking belongs to the turn in progress; of earlier turns only the answers count.
    let turn = exchanges
        .iter()
        .rposition(|exchange| matches!(exchange, Exchange::User(_)));
    for (place, exchange) in exchanges.into_iter().enumerate() {
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
                let assistant = Assistant::new(&answer, turn.is_none_or(|turn| place > turn));
                encoded.extend(assistant.map(ChatMessage::Assistant));
            }
            Exchange::Results(results) => {
                encoded.extend(results.into_iter().map(|result| ChatMessage::Tool {
                    tool_call_id: &result.tool_call_id,
                    content: result_content(result),
                }));
            }
        }
    }
    encoded
}

impl<'a> Assistant<'a> {
    /// Builds the message; `None` if the model gave neither text nor a call.
    fn new(answer: &[&'a Message], with_thinking: bool) -> Option<Self> {
        let mut assistant = Self::default();
        for message in answer {
            match message {
                // Reasoning sealed by another provider is not this model's own.
                Message::Reasoning(message)
                    if message.content.is_empty() || message.encrypted_value.is_some() => {}
                Message::Reasoning(message) if is_tool_plan(message) => {
                    let plan = assistant.tool_plan.get_or_insert_default();
                    if !plan.is_empty() {
                        plan.push_str("\n\n");
                    }
                    plan.push_str(&message.content);
                }
                Message::Reasoning(message) if with_thinking => {
                    assistant.content.push(Part::Thinking {
                        thinking: &message.content,
                    });
                }
                Message::Assistant(message) => {
                    let text = message.content.as_deref().filter(|text| !text.is_empty());
                    assistant
                        .content
                        .extend(text.map(|text| Part::Text { text: text.into() }));
                    let calls = message.tool_calls.iter();
                    assistant.tool_calls.extend(
                        calls.map(|call| Call::new(call, arguments(&call.function.arguments))),
                    );
                }
                _ => {}
            }
        }
        if assistant.tool_calls.is_empty() {
            // A plan without calls was not carried out, and is refused alone.
            assistant.tool_plan = None;
        }
        let says = assistant
            .content
            .iter()
            .any(|part| matches!(part, Part::Text { .. }));
        (says || !assistant.tool_calls.is_empty()).then_some(assistant)
    }
}

fn is_tool_plan(message: &ReasoningMessage) -> bool {
    let metadata = message.metadata.as_ref();
    metadata.and_then(|metadata| metadata.get(TOOL_PLAN)) == Some(&Value::Bool(true))
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
    match part {
        ContentPart::Text(_) => true,
        ContentPart::Image(part) => !matches!(part.source, Source::File { .. }),
        _ => false,
    }
}

impl<'a> Part<'a> {
    /// Returns the part, or a text description if the format has no such part.
    fn new(part: &'a ContentPart) -> Option<Self> {
        let url = match part {
            ContentPart::Image(MediaPart {
                source: Source::Url { value, .. },
                ..
            }) => value.into(),
            ContentPart::Image(MediaPart {
                source: Source::Data { value, mime_type },
                ..
            }) => data_url(mime_type, value).into(),
            other => {
                let text = as_text(other)?;
                return Some(Self::Text { text });
            }
        };
        Some(Self::ImageUrl {
            image_url: ImageUrl { url },
        })
    }
}

/// Returns a result: one text is text, several parts are a document each.
fn result_content(result: &ToolMessage) -> Content<'_> {
    match &result.content {
        MessageContent::Parts(parts) if !parts.is_empty() && result.error.is_none() => {
            Content::Parts(parts.iter().filter_map(document).collect())
        }
        _ => Content::Text(result_text(result, |_| false)),
    }
}

fn document(part: &ContentPart) -> Option<Part<'_>> {
    let id = match part {
        ContentPart::Text(part) => &part.id,
        ContentPart::Image(part)
        | ContentPart::Audio(part)
        | ContentPart::Video(part)
        | ContentPart::Document(part) => &part.id,
    };
    let text = as_text(part)?;
    let data = match &text {
        Cow::Borrowed(text) => object(text).map(Data::Object),
        Cow::Owned(_) => None,
    };
    let data = data.unwrap_or(Data::Text { text });
    let id = id.as_deref();
    Some(Part::Document {
        document: Document { data, id },
    })
}

/// The text, if it is that of a JSON object.
fn object(text: &str) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    serde_json::from_str::<Map<String, Value>>(raw.get()).ok()?;
    Some(raw)
}
