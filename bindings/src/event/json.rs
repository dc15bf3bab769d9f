//! Events as JSON: AG-UI's in AG-UI's form, and those of the turn itself in the form of the JSON API.

use super::ag_ui::Event;
use super::parts::EventCommon;
use crate::json_value::JsonValue;
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Returns the event as a JSON object: an event of AG-UI in AG-UI's form, `{"type": "TEXT_MESSAGE_CONTENT", …}`, and
/// one of the turn itself in the form of the JSON API, `{"type": "toolCallUpdate", …}`.
#[uniffi::export]
#[must_use]
pub fn event_to_json(event: Event) -> JsonValue {
    match event {
        Event::Unknown { event, .. } => event,
        event => JsonValue::of(&event),
    }
}

/// A content: its text, or all of it where it is more than text.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Parts(&'a JsonValue),
    Text(&'a str),
}

impl<'a> Content<'a> {
    fn new(text: &'a str, parts: &'a Option<JsonValue>) -> Self {
        parts.as_ref().map_or(Self::Text(text), Self::Parts)
    }
}

/// `content` is all of the result.
pub(super) fn finished<S: Serializer>(
    content: &str,
    parts: &Option<JsonValue>,
    to: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Finished<'a> {
        content: Content<'a>,
    }

    let content = Content::new(content, parts);
    Finished { content }.serialize(to)
}

/// `content` is all of the answer.
pub(super) fn tool_call_result<S: Serializer>(
    message_id: &str,
    tool_call_id: &str,
    content: &str,
    parts: &Option<JsonValue>,
    common: &Option<EventCommon>,
    to: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer<'a> {
        message_id: &'a str,
        tool_call_id: &'a str,
        content: Content<'a>,
        #[serde(flatten)]
        common: &'a Option<EventCommon>,
    }

    Answer {
        message_id,
        tool_call_id,
        content: Content::new(content, parts),
        common,
    }
    .serialize(to)
}

/// AG-UI names the role, which is always the same.
pub(super) fn reasoning_message<S: Serializer>(
    message_id: &str,
    common: &Option<EventCommon>,
    to: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Start<'a> {
        message_id: &'a str,
        role: &'static str,
        #[serde(flatten)]
        common: &'a Option<EventCommon>,
    }

    Start {
        message_id,
        role: "reasoning",
        common,
    }
    .serialize(to)
}

/// Writes each member of a JSON object separately.
pub(super) fn members<S: Serializer>(object: &Option<JsonValue>, to: S) -> Result<S::Ok, S::Error> {
    let object = object
        .as_ref()
        .map(|object| serde_json::from_str::<Map<String, Value>>(object.as_str()));
    let object = object.transpose().map_err(S::Error::custom)?;
    let mut map = to.serialize_map(None)?;
    for (name, value) in object.iter().flatten() {
        map.serialize_entry(name, value)?;
    }
    map.end()
}
