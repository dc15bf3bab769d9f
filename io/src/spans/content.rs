//! The content of a conversation, in the form of the conventions:
//! <https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-input-messages.json>.

use serde_json::{Value, json};
use stepwell_core::event::{ContentPart, Message, MessageContent};
use stepwell_core::tool::ToolResult;

/// Returns messages to or from the model as JSON. Media are named and left out.
pub(super) fn messages<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    finish_reason: Option<&str>,
) -> String {
    let mut told: Vec<Value> = Vec::new();
    for message in messages {
        let (role, parts) = match message {
            Message::Developer(said) | Message::System(said) => {
                ("system", vec![text(&said.content)])
            }
            Message::User(said) => ("user", content(&said.content)),
            Message::Assistant(said) => {
                let mut parts: Vec<_> = said.content.as_deref().map(text).into_iter().collect();
                parts.extend(said.tool_calls.iter().map(|call| {
                    let given = arguments(&call.function.arguments);
                    let name = &call.function.name;
                    json!({ "type": "tool_call", "id": call.id, "name": name, "arguments": given })
                }));
                ("assistant", parts)
            }
            Message::Reasoning(thought) => {
                let part = json!({ "type": "reasoning", "content": thought.content });
                ("assistant", vec![part])
            }
            Message::Tool(result) => {
                let response = result.content.to_text();
                let id = &result.tool_call_id;
                let part = json!({ "type": "tool_call_response", "id": id, "response": response });
                ("tool", vec![part])
            }
            // An activity is never sent.
            _ => continue,
        };
        told.push(json!({ "role": role, "parts": parts }));
    }
    if let (Some(reason), Some(Value::Object(last))) = (finish_reason, told.last_mut()) {
        last.insert("finish_reason".to_owned(), reason.into());
    }
    Value::Array(told).to_string()
}

/// Returns the app's instructions as JSON.
pub(super) fn instructions(said: &str) -> String {
    json!([text(said)]).to_string()
}

/// Returns the result of a tool as JSON.
pub(super) fn result(result: &ToolResult) -> String {
    match result {
        Ok(output) => Value::from(output.content.to_text()).to_string(),
        Err(failure) => Value::from(failure.message.as_str()).to_string(),
    }
}

fn content(content: &MessageContent) -> Vec<Value> {
    match content {
        MessageContent::Text(said) => vec![text(said)],
        MessageContent::Parts(parts) => parts.iter().map(part).collect(),
    }
}

fn part(part: &ContentPart) -> Value {
    let kind = match part {
        ContentPart::Text(said) => return text(&said.text),
        ContentPart::Image(_) => "image",
        ContentPart::Audio(_) => "audio",
        ContentPart::Video(_) => "video",
        _ => "document",
    };
    json!({ "type": kind })
}

fn text(said: &str) -> Value {
    json!({ "type": "text", "content": said })
}

/// Returns arguments as an object, or as text if they are no JSON.
fn arguments(written: &str) -> Value {
    serde_json::from_str(written).unwrap_or_else(|_| written.into())
}
