//! The conversation as the items of `input`.

use super::super::encoding::{Exchange, Failure, arguments, as_text, exchanges, result_text};
use super::super::{ModelRequest, sealed};
use super::parts::Part;
use crate::event::{
    AssistantMessage, ContentPart, Message, MessageContent, ReasoningMessage, ToolCall, ToolMessage,
};
use crate::provider::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// An item of the request. Everything is borrowed where possible: attachments are large.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum InputItem<'a> {
    Known(Known<'a>),
    /// An item that is sent back unchanged.
    Sealed(&'a RawValue),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Known<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: Cow<'a, str>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Content<'a>,
    },
    CustomToolCall {
        call_id: &'a str,
        name: &'a str,
        input: Cow<'a, str>,
    },
    CustomToolCallOutput {
        call_id: &'a str,
        output: Content<'a>,
    },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

/// The fields that are read of a sealed item.
#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    encrypted_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

/// The items of a request, in order.
pub(super) fn encode<'a>(request: &ModelRequest<'a>) -> Vec<InputItem<'a>> {
    let mut input = Input {
        provider: &request.endpoint.provider,
        takes_reasoning: request.endpoint.model_rules().may_think(),
        is_stored: request.settings.extra.get("store") == Some(&Value::Bool(true)),
        items: Vec::with_capacity(request.messages.len()),
        pending: Vec::new(),
        lacks_reasoning: false,
        custom: BTreeSet::new(),
    };
    let developer = if request.endpoint.quirks.no_developer_role {
        "system"
    } else {
        "developer"
    };
    for exchange in exchanges(request.messages) {
        match exchange {
            Exchange::Developer(message) => input.say(developer, text(&message.content)),
            Exchange::System(message) => input.say("system", text(&message.content)),
            Exchange::User(message) => input.say("user", content(&message.content)),
            Exchange::Answer(messages) => {
                for message in messages {
                    match message {
                        Message::Assistant(message) => input.assistant(message),
                        Message::Reasoning(message) => input.reasoning(message),
                        _ => {}
                    }
                }
                // The service refuses reasoning that nothing follows.
                input.pending.clear();
                input.lacks_reasoning = false;
            }
            Exchange::Results(results) => {
                for result in results {
                    input.result(result);
                }
            }
        }
    }
    input.items
}

struct Input<'a> {
    provider: &'a str,
    /// Whether the model reads what another has thought: one that never thinks refuses it.
    takes_reasoning: bool,
    /// Whether the provider keeps the answers: then an item's id is enough to find it.
    is_stored: bool,
    items: Vec<InputItem<'a>>,
    /// Reasoning, until something follows.
    pending: Vec<InputItem<'a>>,
    /// Whether reasoning of this answer does not go back: what the provider ran is refused without it.
    lacks_reasoning: bool,
    /// The calls of custom tools.
    custom: BTreeSet<&'a str>,
}

impl<'a> Input<'a> {
    fn put(&mut self, item: Known<'a>) {
        self.items.append(&mut self.pending);
        self.items.push(InputItem::Known(item));
    }

    fn say(&mut self, role: &'static str, content: Content<'a>) {
        self.put(Known::Message {
            role,
            content,
            phase: None,
        });
    }

    fn reasoning(&mut self, message: &'a ReasoningMessage) {
        let Some((item, peek)) = self.sealed(message.encrypted_value.as_deref()) else {
            return;
        };
        if peek.kind != "reasoning" {
            return;
        }
        if self.goes_back(&peek) {
            self.pending.push(InputItem::Sealed(item));
        } else {
            self.lacks_reasoning = true;
        }
    }

    fn sealed(&self, value: Option<&'a str>) -> Option<(&'a RawValue, Peek<'a>)> {
        let item: &RawValue = sealed::open(value, self.provider, Dialect::OpenAiResponses)?;
        Some((item, serde_json::from_str(item.get()).ok()?))
    }

    /// Reasoning goes back if the service can read it from the item, or finds it by its id.
    fn goes_back(&self, reasoning: &Peek<'_>) -> bool {
        let holds = |raw: Option<&RawValue>| raw.is_some_and(|raw| raw.get().len() > 2);
        self.takes_reasoning
            && (self.is_stored || holds(reasoning.encrypted_content) || holds(reasoning.content))
    }

    /// Adds an item that the provider ran itself.
    fn own(&mut self, item: &'a RawValue, peek: &Peek<'_>) {
        let is_own = !matches!(
            peek.kind.as_ref(),
            "" | "custom_tool_call" | "function_call" | "message" | "reasoning"
        );
        if is_own && !self.lacks_reasoning {
            self.items.append(&mut self.pending);
            self.items.push(InputItem::Sealed(item));
        }
    }

    fn assistant(&mut self, message: &'a AssistantMessage) {
        if let Some((item, peek)) = self.sealed(message.encrypted_value.as_deref()) {
            self.own(item, &peek);
        }
        let of_metadata = |key| message.metadata.as_ref()?.get(key)?.as_str();
        // The short form: parts need an id, which the service must know.
        let content = message
            .content
            .as_deref()
            .filter(|text| !text.is_empty())
            .map(text);
        if let Some(content) = content {
            self.put(Known::Message {
                role: "assistant",
                content,
                phase: of_metadata("phase"),
            });
        }
        for call in &message.tool_calls {
            self.call(call);
        }
    }

    fn call(&mut self, call: &'a ToolCall) {
        #[derive(Deserialize)]
        struct Custom<'a> {
            #[serde(rename = "type")]
            kind: Cow<'a, str>,
        }

        let sealed = call.encrypted_value.as_deref();
        let sealed: Option<Custom<'_>> =
            sealed::open(sealed, self.provider, Dialect::OpenAiResponses);
        let (call_id, name) = (&*call.id, call.function.name.as_str());
        let raw = call.function.arguments.as_str();
        if sealed.is_some_and(|sealed| sealed.kind == "custom_tool_call") {
            self.custom.insert(call_id);
            let input = input_of(raw);
            self.put(Known::CustomToolCall {
                call_id,
                name,
                input,
            });
        } else {
            self.put(Known::FunctionCall {
                call_id,
                name,
                arguments: arguments(raw),
            });
        }
    }

    fn result(&mut self, message: &'a ToolMessage) {
        let call_id = &*message.tool_call_id;
        let output = output(message);
        self.put(if self.custom.contains(call_id) {
            Known::CustomToolCallOutput { call_id, output }
        } else {
            Known::FunctionCallOutput { call_id, output }
        });
    }
}

fn text(text: &str) -> Content<'_> {
    Content::Text(text.into())
}

fn content(content: &MessageContent) -> Content<'_> {
    match content {
        MessageContent::Text(said) => text(said),
        MessageContent::Parts(parts) => {
            Content::Parts(parts.iter().filter_map(Part::new).collect())
        }
    }
}

/// The free text of a custom tool's call, which was made the field `input` of its arguments.
fn input_of(arguments: &str) -> Cow<'_, str> {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(mut fields)) => match fields.remove("input") {
            Some(Value::String(input)) => Cow::Owned(input),
            _ => Cow::Borrowed(arguments),
        },
        _ => Cow::Borrowed(arguments),
    }
}

/// A tool's result: text, or parts where there is something to see.
fn output(message: &ToolMessage) -> Content<'_> {
    let parts = match &message.content {
        MessageContent::Parts(parts) if parts.iter().any(Part::is_media_of_output) => parts,
        _ => return Content::Text(result_text(message, |_| false)),
    };
    // A failure holds the same content as the texts.
    let failure = Failure::of(message, Part::is_media_of_output);
    let has_failed = failure.is_some();
    let failure = failure.map(|failure| Part::Text {
        text: failure.into_json(),
    });
    let parts = parts
        .iter()
        .filter(|part| !has_failed || Part::is_media_of_output(part));
    let parts = parts.filter_map(|part| match part {
        ContentPart::Audio(_) => Some(Part::Text {
            text: as_text(part)?,
        }),
        part => Part::new(part),
    });
    Content::Parts(failure.into_iter().chain(parts).collect())
}
