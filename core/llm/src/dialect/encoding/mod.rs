//! Functions that the encoders of several dialects share.

mod body;
mod cache;
mod content;
mod functions;
mod history;
mod own_tools;
mod result;
mod stored;

pub(super) use body::{Fields, json_request};
pub(super) use cache::put_cache;
pub(super) use content::{as_text, audio_format, data_url, file_name, given_name, is_marked};
pub(super) use functions::{Call, function_tool};
pub(super) use history::{Exchange, exchanges};
pub(super) use own_tools::{names, own_tools};
pub(super) use result::{Failure, result_text};
pub(super) use stored::stored_request;

use self::body::empty_request;
use super::ModelRequest;
use crate::event::ToolDefinition;
use crate::tool::repair_surrogates;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The characters that are percent-encoded in a path segment: all except those that RFC 3986 calls unreserved.
pub const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Returns a call's arguments as the text of a JSON object. All forms of empty arguments become `{}`, a lone surrogate
/// becomes U+FFFD, and a value that is not an object becomes the field `raw` of one.
pub(super) fn arguments(raw: &str) -> Cow<'_, str> {
    let trimmed = raw.trim();
    if matches!(trimmed, "" | "null") {
        return "{}".into();
    }
    let is_object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).is_ok();
    if is_object(trimmed) {
        return raw.into();
    }
    match repair_surrogates(trimmed).filter(|whole| is_object(whole)) {
        Some(whole) => whole.into(),
        None => json!({"raw": raw}).to_string().into(),
    }
}

/// The JSON Schema of a tool's arguments; that of no arguments if it has none.
pub(super) fn parameters(tool: &ToolDefinition) -> Cow<'_, Value> {
    match &tool.parameters {
        Some(parameters) if !parameters.is_null() => Cow::Borrowed(parameters),
        _ => Cow::Owned(json!({"type": "object", "properties": {}})),
    }
}

/// Returns the tools on offer; `None` if there are none to choose from.
pub(super) fn tools<'a>(request: &ModelRequest<'a>) -> Option<&'a [ToolDefinition]> {
    (!request.tools.is_empty()).then_some(request.tools)
}
