//! The conversation in Gemini's format.

use super::super::encoding::{Exchange, arguments, exchanges, result_text};
use super::super::{ModelRequest, sealed};
use super::model::is_third_generation;
use super::parts::{Content, FunctionCall, FunctionResponse, Part, said};
use super::seal::Seal;
use crate::event::{
    AssistantMessage, Message, MessageContent, ReasoningMessage, ToolCall, ToolMessage,
};
use crate::provider::{Dialect, Endpoint};
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The value that Gemini accepts instead of a signature, for calls of another model or of the app.
///
/// Source: <https://ai.google.dev/gemini-api/docs/thought-signatures>, "FAQs".
pub(in super::super) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Returns the text before the conversation: the app's instructions, wherever they are, since a content is either the
/// user's or the model's.
pub(super) fn system<'a>(request: &ModelRequest<'a>) -> Vec<Part<'a>> {
    let own = request.messages.iter().filter_map(|message| match message {
        Message::Developer(message) | Message::System(message) => Some(message.content.as_str()),
        _ => None,
    });
    request
        .instructions
        .into_iter()
        .chain(own)
        .filter(|text| !text.is_empty())
        .map(Part::text)
        .collect()
}

/// Returns the contents of a request, in order.
pub(super) fn contents<'a>(request: &ModelRequest<'a>) -> Vec<Content<'a>> {
    let exchanges = exchanges(request.messages);
    let turn = exchanges
        .iter()
        .rposition(|exchange| matches!(exchange, Exchange::User(_)));
    let is_strict = is_third_generation(&request.endpoint.model);
    let mut calls = BTreeMap::new();
    let mut contents = Vec::with_capacity(exchanges.len());
    for (place, exchange) in exchanges.iter().enumerate() {
        let (role, parts) = match exchange {
            Exchange::Developer(_) | Exchange::System(_) => continue,
            Exchange::User(message) => ("user", said(&message.content, request.endpoint)),
            Exchange::Answer(messages) => {
                let mut parts = Vec::new();
                for message in messages {
                    match message {
                        Message::Reasoning(message) => {
                            thought(message, request.endpoint, &mut parts);
                        }
                        Message::Assistant(message) => {
                            answer(message, request.endpoint, place, &mut calls, &mut parts);
                        }
                        _ => {}
                    }
                }
                drop_unanswered(&mut parts);
                if is_strict && turn.is_none_or(|turn| place > turn) {
                    sign(&mut parts);
                }
                ("model", parts)
            }
            Exchange::Results(results) => ("user", responses(results, &calls, is_strict)),
        };
        if parts.is_empty() {
            continue;
        }
        match contents.last_mut() {
            // The user's text after results, or after an empty answer.
            Some(Content {
                role: before,
                parts: said,
            }) if *before == role => said.extend(parts),
            _ => contents.push(Content { role, parts }),
        }
    }
    contents
}

/// A call that was made: its place in the conversation, and what a response names it by.
struct Made<'a> {
    place: (usize, usize),
    id: Option<Cow<'a, str>>,
    name: &'a str,
}

fn open<'a>(sealed: Option<&'a str>, endpoint: &Endpoint) -> Option<Seal<'a>> {
    sealed::open(sealed, &endpoint.provider, Dialect::Gemini)
}

/// Adds a thought, if it is signed: unsigned thoughts are only for the user.
fn thought<'a>(message: &'a ReasoningMessage, endpoint: &Endpoint, parts: &mut Vec<Part<'a>>) {
    if let Some(seal) = open(message.encrypted_value.as_deref(), endpoint) {
        text(&message.content, Some(true), seal, parts);
    }
}

fn answer<'a>(
    message: &'a AssistantMessage,
    endpoint: &Endpoint,
    place: usize,
    calls: &mut BTreeMap<&'a str, Made<'a>>,
    parts: &mut Vec<Part<'a>>,
) {
    let mut seal = open(message.encrypted_value.as_deref(), endpoint).unwrap_or_default();
    parts.extend(seal.part.take().map(|kept| Part {
        kept,
        ..Part::default()
    }));
    text(
        message.content.as_deref().unwrap_or_default(),
        None,
        seal,
        parts,
    );
    for call in &message.tool_calls {
        let seal = open(call.encrypted_value.as_deref(), endpoint).unwrap_or_default();
        let made = Made {
            place: (place, parts.len()),
            id: seal.id.clone(),
            name: &call.function.name,
        };
        calls.insert(call.id.as_str(), made);
        parts.push(Part {
            function_call: Some(FunctionCall {
                id: seal.id,
                name: &call.function.name,
                args: args(call),
            }),
            thought_signature: seal.thought_signature,
            ..Part::default()
        });
        trailing(seal.trailing, parts);
    }
}

/// Adds text in its original parts, as far as these are signed.
fn text<'a>(text: &'a str, thought: Option<bool>, seal: Seal<'a>, parts: &mut Vec<Part<'a>>) {
    let length = seal.length.unwrap_or(text.len());
    let split = text.len().checked_sub(length);
    let (before, signed) = split
        .filter(|_| seal.thought_signature.is_some())
        .and_then(|at| text.split_at_checked(at))
        .unwrap_or(("", text));
    if !before.is_empty() {
        parts.push(Part {
            thought,
            ..Part::text(before)
        });
    }
    if !signed.is_empty() || seal.thought_signature.is_some() {
        parts.push(Part {
            thought,
            thought_signature: seal.thought_signature,
            ..Part::text(signed)
        });
    }
    trailing(seal.trailing, parts);
}

fn trailing<'a>(signature: Option<Cow<'a, str>>, parts: &mut Vec<Part<'a>>) {
    parts.extend(signature.map(|signature| Part {
        thought_signature: Some(signature),
        ..Part::text("")
    }));
}

/// Removes Gemini's own tool calls without a result, as in an answer that was cut off.
fn drop_unanswered(parts: &mut Vec<Part<'_>>) {
    let mut open = BTreeMap::new();
    let mut whole: Vec<_> = parts.iter().map(|part| part.kept.is_empty()).collect();
    for (at, part) in parts.iter().enumerate() {
        let id = |kind: &str| Some(part.kept.get(kind)?["id"].as_str().unwrap_or_default());
        let asked = id("executableCode").map(|_| "").or_else(|| id("toolCall"));
        let answered = id("codeExecutionResult")
            .map(|_| "")
            .or_else(|| id("toolResponse"));
        match (asked, answered) {
            (Some(id), _) => drop(open.insert(id, at)),
            (None, Some(id)) => {
                if let Some(asked) = open.remove(id) {
                    whole[asked] = true;
                    whole[at] = true;
                }
            }
            (None, None) => whole[at] = true,
        }
    }
    let mut whole = whole.into_iter();
    parts.retain(|_| whole.next().unwrap_or(true));
}

/// The first call of each step of the running turn must be signed: one that is not its own says so.
fn sign(parts: &mut [Part<'_>]) {
    if let Some(first) = parts.iter_mut().find(|part| part.function_call.is_some()) {
        first
            .thought_signature
            .get_or_insert(Cow::Borrowed(NO_SIGNATURE));
    }
}

fn args(call: &ToolCall) -> Box<RawValue> {
    let text = arguments(&call.function.arguments).into_owned();
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Returns what tools gave back, in the order of the calls. A result of no call is left out.
fn responses<'a>(
    results: &[&'a ToolMessage],
    calls: &BTreeMap<&'a str, Made<'a>>,
    takes_media: bool,
) -> Vec<Part<'a>> {
    let mut ordered = BTreeMap::new();
    for result in results {
        let Some(made) = calls.get(result.tool_call_id.as_str()) else {
            continue;
        };
        let media = match &result.content {
            MessageContent::Parts(parts) if takes_media => {
                parts.iter().filter_map(Part::of_response).collect()
            }
            _ => Vec::new(),
        };
        let response = FunctionResponse {
            id: made.id.clone(),
            name: made.name,
            response: response(result, takes_media),
            parts: media,
        };
        ordered.insert(
            made.place,
            Part {
                function_response: Some(response),
                ..Part::default()
            },
        );
    }
    ordered.into_values().collect()
}

/// Returns a response, which is an object: the tool's own if it returned one; otherwise its text under `result` or
/// `error`. Media may go next to it.
///
/// Source: <https://ai.google.dev/api/caching#FunctionResponse>.
fn response(result: &ToolMessage, takes_media: bool) -> Box<RawValue> {
    let text = result_text(result, |part| {
        takes_media && Part::of_response(part).is_some()
    });
    let is_object = text.trim_start().starts_with('{')
        && serde_json::from_str::<BTreeMap<Cow<'_, str>, IgnoredAny>>(&text).is_ok();
    if is_object && let Ok(object) = RawValue::from_string(text.clone().into_owned()) {
        return object;
    }
    to_raw_value(&json!({ "result": text })).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
