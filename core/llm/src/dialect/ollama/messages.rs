//! The conversation in Ollama's format.

use super::super::encoding::{Exchange, arguments, as_text, exchanges, result_text};
use super::super::{GenerationSettings, ModelRequest, ToolChoice};
use crate::event::{
    AssistantMessage, ContentPart, MediaPart, Message, MessageContent, Source, ToolDefinition,
    ToolMessage,
};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A message of the request. Fields are borrowed where possible, because attachments can be large.
///
/// Source: <https://github.com/ollama/ollama/blob/main/api/types.go>, `Message`. Servers skip fields that they do not
/// know, so ids go to older ones too.
#[derive(Debug, Default, Serialize)]
pub(super) struct ChatMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Cow<'a, str>>,
    /// Pictures, in base64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Call<'a> {
    id: &'a str,
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Box<RawValue>,
}

/// Returns the messages of a request, in order.
pub(super) fn messages<'a>(request: &ModelRequest<'a>) -> Vec<ChatMessage<'a>> {
    let instructions = request.instructions.filter(|text| !text.is_empty());
    let mut messages: Vec<_> = instructions.map(system).into_iter().collect();
    let mut names = BTreeMap::new();
    for exchange in exchanges(request.messages) {
        match exchange {
            // There is no role between the system and the user.
            Exchange::Developer(message) | Exchange::System(message) => {
                messages.push(system(&message.content));
            }
            Exchange::User(message) => {
                let (content, images) = said(&message.content);
                messages.push(ChatMessage {
                    role: "user",
                    content,
                    images,
                    ..ChatMessage::default()
                });
            }
            Exchange::Answer(said) => {
                for message in &said {
                    if let Message::Assistant(message) = message {
                        let calls = message.tool_calls.iter();
                        names.extend(
                            calls.map(|call| (call.id.as_str(), call.function.name.as_str())),
                        );
                    }
                }
                messages.extend(answer(&said));
            }
            Exchange::Results(results) => {
                messages.extend(results.into_iter().map(|message| result(message, &names)));
            }
        }
    }
    messages
}

fn system(text: &str) -> ChatMessage<'_> {
    ChatMessage {
        role: "system",
        content: text.into(),
        ..ChatMessage::default()
    }
}

/// Returns the model's messages up to another role's as one message; `None` if they are empty.
fn answer<'a>(said: &[&'a Message]) -> Option<ChatMessage<'a>> {
    let mut answer = ChatMessage {
        role: "assistant",
        ..ChatMessage::default()
    };
    let mut thinking = Cow::default();
    for message in said {
        match message {
            Message::Assistant(message) => {
                append(
                    &mut answer.content,
                    message.content.as_deref().unwrap_or_default(),
                );
                answer.tool_calls.extend(calls(message));
            }
            // Reasoning sealed by another provider is not a text of this model's kind.
            Message::Reasoning(message) if message.encrypted_value.is_none() => {
                append(&mut thinking, &message.content);
            }
            _ => {}
        }
    }
    answer.thinking = Some(thinking).filter(|text| !text.is_empty());
    (!answer.content.is_empty() || !answer.tool_calls.is_empty()).then_some(answer)
}

fn calls(message: &AssistantMessage) -> impl Iterator<Item = Call<'_>> {
    message.tool_calls.iter().map(|call| {
        let text = arguments(&call.function.arguments).into_owned();
        Call {
            id: &call.id,
            function: Function {
                name: &call.function.name,
                arguments: RawValue::from_string(text)
                    .unwrap_or_else(|_| RawValue::NULL.to_owned()),
            },
        }
    })
}

fn append<'a>(text: &mut Cow<'a, str>, more: &'a str) {
    if text.is_empty() {
        *text = more.into();
    } else if !more.is_empty() {
        let text = text.to_mut();
        text.push_str("\n\n");
        text.push_str(more);
    }
}

fn result<'a>(message: &'a ToolMessage, names: &BTreeMap<&'a str, &'a str>) -> ChatMessage<'a> {
    let id = message.tool_call_id.as_str();
    let (_, images) = said(&message.content);
    let content = result_text(message, |part| picture(part).is_some());
    ChatMessage {
        role: "tool",
        content,
        images,
        tool_name: names.get(id).copied(),
        tool_call_id: Some(id),
        ..ChatMessage::default()
    }
}

/// Returns the text and the pictures of a content.
fn said(content: &MessageContent) -> (Cow<'_, str>, Vec<&str>) {
    match content {
        MessageContent::Text(text) => (text.into(), Vec::new()),
        MessageContent::Parts(parts) => {
            let words = parts.iter().filter(|part| picture(part).is_none());
            let words: Vec<_> = words.filter_map(as_text).collect();
            let text = match <[_; 1]>::try_from(words) {
                Ok([only]) => only,
                Err(words) => words.join("\n").into(),
            };
            (text, parts.iter().filter_map(picture).collect())
        }
    }
}

/// Returns whether the format can carry this content.
pub(super) fn takes(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Text(_)) || picture(part).is_some()
}

fn picture(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Image(MediaPart {
            source: Source::Data { value, .. },
            ..
        }) => Some(value),
        _ => None,
    }
}

/// Returns the tools on offer, which replace a choice of tools: Ollama has none.
pub(super) fn tools(tools: &[ToolDefinition], settings: &GenerationSettings) -> Vec<Value> {
    tools
        .iter()
        .filter(|tool| match &settings.tool_choice {
            ToolChoice::Auto | ToolChoice::Required => true,
            ToolChoice::None => false,
            ToolChoice::Named(name) => tool.name == *name,
        })
        .map(|tool| {
            let function = json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": super::super::encoding::parameters(tool),
            });
            json!({"type": "function", "function": function})
        })
        .collect()
}
