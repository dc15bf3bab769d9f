//! Reading of requests by an AG-UI server.
//!
//! Source: AG-UI 1.0 (run input, processing): unknown content is ignored with a warning, malformed content is refused
//! before the run starts.

use super::compatibility::{drop_null, upgrade_input};
use super::enforcement::{Unknown, Warnings, enforce};
use super::fields::objects;
use super::{fault, repeated_calls};
use crate::event::{DEEPEST, RunAgentInput, is_within};
use serde_json::{Map, Value, json};

/// Fields that clients of other languages like to send as null.
const OFTEN_NULL: [&str; 6] = [
    "protocolVersion",
    "parentRunId",
    "state",
    "tools",
    "context",
    "resume",
];

/// The same of messages, and of the calls in them.
const OFTEN_NULL_IN_MESSAGES: [&str; 6] = [
    "name",
    "encryptedValue",
    "toolCalls",
    "error",
    "metadata",
    "subagentRunId",
];

/// The reason why a body is not a [`RunAgentInput`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum RunInputError {
    /// The body is not JSON.
    #[error("the body is not JSON: {0}")]
    Json(String),
    /// The body is JSON of another shape.
    #[error("the body is not a RunAgentInput: {0}")]
    Malformed(String),
}

/// Drops the fields that clients often send as `null` and that 1.0 wants left out.
fn drop_nulls(input: &mut Map<String, Value>, warnings: &mut Warnings) {
    for field in OFTEN_NULL {
        drop_null(input, field, "input", warnings);
    }
    for message in objects(input, "messages") {
        for field in OFTEN_NULL_IN_MESSAGES {
            drop_null(message, field, "a message", warnings);
        }
        for part in objects(message, "content") {
            if let Some(source) = part.get_mut("source").and_then(Value::as_object_mut) {
                for field in ["mimeType", "provider"] {
                    drop_null(source, field, "a source", warnings);
                }
            }
            for field in ["id", "metadata"] {
                drop_null(part, field, "a part", warnings);
            }
        }
        if message.get("role").and_then(Value::as_str) == Some("assistant") {
            drop_null(message, "content", "a message", warnings);
        }
        for call in objects(message, "toolCalls") {
            for field in ["encryptedValue", "metadata"] {
                drop_null(call, field, "a tool call", warnings);
            }
        }
    }
    for tool in objects(input, "tools") {
        drop_null(tool, "metadata", "a tool", warnings);
    }
}

/// Reads the body of a request that starts a run. Returns warnings with it, about old shapes that were translated to
/// AG-UI 1.0 and about fields that 1.0 does not know.
///
/// # Errors
/// The body is not JSON, or a field is missing or malformed.
pub fn read_run_input(body: &[u8]) -> Result<(RunAgentInput, Vec<String>), RunInputError> {
    let malformed = |reason: &str| RunInputError::Malformed(reason.to_owned());
    let value: Value =
        serde_json::from_slice(body).map_err(|error| RunInputError::Json(error.to_string()))?;
    let Value::Object(mut input) = value else {
        return Err(malformed("it is not a JSON object"));
    };
    let mut warnings = Warnings::default();
    drop_nulls(&mut input, &mut warnings);
    upgrade_input(&mut input, &mut warnings);
    let input = Value::Object(input);
    if !is_within(&input, DEEPEST) {
        return Err(malformed(&format!("it nests deeper than {DEEPEST} levels")));
    }
    // The shapes are known by the event that repeats a request.
    let mut event = Map::new();
    event.insert("type".to_owned(), json!("RUN_STARTED"));
    event.insert("input".to_owned(), input);
    enforce(&mut event, Unknown::Kept, &mut warnings);
    let Some(Value::Object(input)) = event.shift_remove("input") else {
        return Err(malformed("it has a part that AG-UI 1.0 does not know"));
    };
    match serde_json::from_value(Value::Object(input.clone())) {
        Ok(input) => {
            let mut input: RunAgentInput = input;
            if repeated_calls::merge(&mut input.messages) > 0 {
                warnings.push("the messages have a tool call more than once: it was taken for one");
            }
            Ok((input, warnings.texts))
        }
        Err(error) => Err(RunInputError::Malformed(match fault::find(input) {
            Some((path, reason)) if !path.is_empty() => format!("{path}: {reason}"),
            _ => error.to_string(),
        })),
    }
}
