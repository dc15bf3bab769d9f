//! The conversation as the steps of `input`.

use super::super::encoding::{Exchange, Failure, arguments, exchanges, result_text};
use super::super::{ModelRequest, gemini, sealed};
use super::content::{Content, said};
use super::step::Signature;
use crate::event::{
    AssistantMessage, Message, MessageContent, ReasoningMessage, ToolCall, ToolMessage,
};
use crate::provider::{Dialect, Endpoint};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A step of the request. Everything is borrowed where possible: attachments are large.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum InputStep<'a> {
    Known(Known<'a>),
    /// A step that is sent back unchanged.
    Sealed(&'a RawValue),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Known<'a> {
    UserInput {
        content: Vec<Content<'a>>,
    },
    ModelOutput {
        content: Vec<Content<'a>>,
    },
    Thought {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        summary: Vec<Content<'a>>,
        signature: Cow<'a, str>,
    },
    FunctionCall {
        id: &'a str,
        name: &'a str,
        arguments: Box<RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<Cow<'a, str>>,
    },
    FunctionResult {
        call_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        result: Output<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// What a tool gave back.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(Cow<'a, str>),
    Content(Vec<Content<'a>>),
}

/// The fields that are read of a sealed step.
#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    call_id: Option<Cow<'a, str>>,
}

/// Returns the text before the conversation: the app's instructions, wherever they are, since a step is either the user's
/// or the model's.
pub(super) fn system(request: &ModelRequest<'_>) -> Option<String> {
    let own = request.messages.iter().filter_map(|message| match message {
        Message::Developer(message) | Message::System(message) => Some(message.content.as_str()),
        _ => None,
    });
    let all = request.instructions.into_iter().chain(own);
    let all: Vec<_> = all.filter(|text| !text.is_empty()).collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

/// Returns the steps of a request, in order.
pub(super) fn encode<'a>(request: &ModelRequest<'a>) -> Vec<InputStep<'a>> {
    let exchanges = exchanges(request.messages);
    let turn = exchanges
        .iter()
        .rposition(|exchange| matches!(exchange, Exchange::User(_)));
    let is_strict = gemini::is_third_generation(&request.endpoint.model);
    let mut names = BTreeMap::new();
    let mut steps = Vec::with_capacity(request.messages.len());
    for (place, exchange) in exchanges.iter().enumerate() {
        match exchange {
            Exchange::Developer(_) | Exchange::System(_) => {}
            Exchange::User(message) => {
                let content = said(&message.content, request.endpoint);
                if !content.is_empty() {
                    steps.push(InputStep::Known(Known::UserInput { content }));
                }
            }
            Exchange::Answer(messages) => {
                let mut answer = Vec::new();
                for message in messages {
                    match message {
                        Message::Reasoning(message) => {
                            answer.extend(thought(message, request.endpoint));
                        }
                        Message::Assistant(message) => {
                            say(message, request.endpoint, &mut names, &mut answer);
                        }
                        _ => {}
                    }
                }
                drop_unanswered(&mut answer);
                if is_strict && turn.is_none_or(|turn| place > turn) {
                    sign(&mut answer);
                }
                steps.append(&mut answer);
            }
            Exchange::Results(results) => {
                for result in results {
                    steps.push(InputStep::Known(outcome(result, &names, is_strict)));
                }
            }
        }
    }
    steps
}

fn open<'a, T: Deserialize<'a>>(value: Option<&'a str>, endpoint: &Endpoint) -> Option<T> {
    sealed::open(value, &endpoint.provider, Dialect::GeminiInteractions)
}

/// Returns a thought, if it is signed: unsigned thoughts are only for the user.
fn thought<'a>(message: &'a ReasoningMessage, endpoint: &Endpoint) -> Option<InputStep<'a>> {
    let Signature { signature } = open(message.encrypted_value.as_deref(), endpoint)?;
    let text = (!message.content.is_empty()).then(|| Content::text(&message.content));
    Some(InputStep::Known(Known::Thought {
        summary: text.into_iter().collect(),
        signature,
    }))
}

fn say<'a>(
    message: &'a AssistantMessage,
    endpoint: &Endpoint,
    names: &mut BTreeMap<&'a str, &'a str>,
    steps: &mut Vec<InputStep<'a>>,
) {
    let kept: Option<&RawValue> = open(message.encrypted_value.as_deref(), endpoint);
    steps.extend(kept.map(InputStep::Sealed));
    let text = message.content.as_deref().unwrap_or_default();
    if !text.is_empty() {
        let content = vec![Content::text(text)];
        steps.push(InputStep::Known(Known::ModelOutput { content }));
    }
    for call in &message.tool_calls {
        names.insert(&call.id, &call.function.name);
        let sealed: Option<Signature<'_>> = open(call.encrypted_value.as_deref(), endpoint);
        steps.push(InputStep::Known(Known::FunctionCall {
            id: &call.id,
            name: &call.function.name,
            arguments: args(call),
            signature: sealed.map(|sealed| sealed.signature),
        }));
    }
}

fn args(call: &ToolCall) -> Box<RawValue> {
    let text = arguments(&call.function.arguments).into_owned();
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Returns what a tool gave back: text, or blocks of content where there is something to see.
fn outcome<'a>(
    message: &'a ToolMessage,
    names: &BTreeMap<&'a str, &'a str>,
    takes_media: bool,
) -> Known<'a> {
    let goes_beside = |part: &_| takes_media && Content::of_result(part).is_some();
    let media: Vec<_> = match &message.content {
        MessageContent::Parts(parts) if takes_media => {
            parts.iter().filter_map(Content::of_result).collect()
        }
        _ => Vec::new(),
    };
    let failure = Failure::of(message, goes_beside);
    let is_error = failure.is_some();
    let text = match failure {
        Some(failure) => failure.into_words(),
        None => result_text(message, goes_beside),
    };
    let result = if media.is_empty() {
        Output::Text(text)
    } else {
        let text = (!text.is_empty()).then(|| Content::text(text));
        Output::Content(text.into_iter().chain(media).collect())
    };
    let call_id = message.tool_call_id.as_str();
    Known::FunctionResult {
        call_id,
        name: names.get(call_id).copied(),
        result,
        is_error,
    }
}

/// Removes Gemini's own calls without a result, as in an answer that was cut off, and such results without a call.
fn drop_unanswered(steps: &mut Vec<InputStep<'_>>) {
    let peeks: Vec<_> = steps
        .iter()
        .map(|step| match step {
            InputStep::Sealed(raw) => serde_json::from_str::<Peek<'_>>(raw.get()).ok(),
            InputStep::Known(_) => None,
        })
        .collect();
    let has = |wanted: &dyn Fn(&Peek<'_>) -> bool| peeks.iter().flatten().any(wanted);
    let goes_back: Vec<_> = peeks
        .iter()
        .map(|peek| match peek {
            Some(peek) if peek.kind.ends_with("_call") => {
                peek.id.is_some() && has(&|other| other.call_id == peek.id)
            }
            Some(peek) if peek.kind.ends_with("_result") => {
                peek.call_id.is_some() && has(&|other| other.id == peek.call_id)
            }
            _ => true,
        })
        .collect();
    let mut goes_back = goes_back.into_iter();
    steps.retain(|_| goes_back.next().unwrap_or(true));
}

/// Signs an answer of the running turn whose calls have no signature, neither their own nor that of a thought: one that
/// is not Gemini's own says so.
fn sign(steps: &mut [InputStep<'_>]) {
    let is_signed = |step: &InputStep<'_>| {
        matches!(
            step,
            InputStep::Known(
                Known::Thought { .. }
                    | Known::FunctionCall {
                        signature: Some(_),
                        ..
                    }
            )
        )
    };
    if steps.iter().any(is_signed) {
        return;
    }
    let first = steps.iter_mut().find_map(|step| match step {
        InputStep::Known(Known::FunctionCall { signature, .. }) => Some(signature),
        _ => None,
    });
    if let Some(signature) = first {
        *signature = Some(Cow::Borrowed(gemini::NO_SIGNATURE));
    }
}
