//! Translation of events of agents before 1.0. It is always on, because an old shape itself proves that the agent is
//! old. Each translation is a warning.
//!
//! Source: AG-UI 1.0 (versioning), and the compatibility boundary of the reference client `@ag-ui/client` 1.0.0.

use super::enforcement::Warnings;
use super::fields::{objects, text};
use super::on_interrupt;
use crate::MessageId;
use crate::dialect::HopIds;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The open span and message of `THINKING_*` events, which name nothing themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Compatibility {
    /// The number of generated ids.
    made: usize,
    span: Option<MessageId>,
    message: Option<MessageId>,
    /// LangGraph's questions in the run, by the interrupts' ids.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    interrupts: Map<String, Value>,
}

impl Compatibility {
    /// Translates one event in place.
    pub(super) fn translate(
        &mut self,
        event: &mut Map<String, Value>,
        ids: &HopIds,
        warnings: &mut Warnings,
    ) {
        let Some(kind) = event.get("type").and_then(Value::as_str).map(str::to_owned) else {
            return;
        };
        drop_null(event, "rawEvent", &kind, warnings);
        match kind.as_str() {
            "RUN_FINISHED" => {
                drop_null(event, "result", &kind, warnings);
                drop_null(event, "outcome", &kind, warnings);
                self.finish_asking(event, warnings);
            }
            "CUSTOM" => self.ask(event, ids),
            "SUBAGENT_FINISHED" => drop_null(event, "result", &kind, warnings),
            "TOOL_CALL_START" | "TOOL_CALL_CHUNK" => {
                drop_null(event, "parentMessageId", &kind, warnings);
            }
            "MESSAGES_SNAPSHOT" => upgrade_messages(event, warnings),
            "RUN_STARTED" => {
                self.interrupts.clear();
                if let Some(Value::Object(input)) = event.get_mut("input") {
                    upgrade_input(input, warnings);
                }
            }
            _ if kind.starts_with("THINKING_") => self.thinking(event, &kind, ids, warnings),
            _ => {}
        }
    }

    fn ask(&mut self, event: &Map<String, Value>, ids: &HopIds) {
        let made = || format!("{}-interrupt-{}", ids.run_id, self.interrupts.len());
        if let Some((id, interrupt)) = on_interrupt::read(event, made) {
            self.interrupts.entry(id).or_insert(interrupt);
        }
    }

    /// Gives a finished run without an outcome the outcome of its open questions.
    fn finish_asking(&mut self, event: &mut Map<String, Value>, warnings: &mut Warnings) {
        let interrupts = std::mem::take(&mut self.interrupts);
        if interrupts.is_empty() || event.contains_key("outcome") {
            return;
        }
        warnings.push("read LangGraph's CUSTOM on_interrupt as the run's outcome");
        let interrupts: Vec<_> = interrupts.into_iter().map(|(_, asked)| asked).collect();
        let outcome = json!({ "type": "interrupt", "interrupts": interrupts });
        event.insert("outcome".to_owned(), outcome);
    }

    fn thinking(
        &mut self,
        event: &mut Map<String, Value>,
        kind: &str,
        ids: &HopIds,
        warnings: &mut Warnings,
    ) {
        let (new, id) = match kind {
            "THINKING_START" => {
                if let Some(title) = event.shift_remove("title") {
                    warnings.push(format!(
                        "dropped the title {title} of THINKING_START: REASONING_START has none"
                    ));
                }
                let id = self.make(ids);
                self.span = Some(id.clone());
                ("REASONING_START", id)
            }
            "THINKING_END" => {
                let id = self.span.take();
                ("REASONING_END", self.or_make(id, kind, ids, warnings))
            }
            "THINKING_TEXT_MESSAGE_START" => {
                event.insert("role".to_owned(), json!("reasoning"));
                let id = self.make(ids);
                self.message = Some(id.clone());
                ("REASONING_MESSAGE_START", id)
            }
            "THINKING_TEXT_MESSAGE_CONTENT" => {
                let id = self.message.clone();
                (
                    "REASONING_MESSAGE_CONTENT",
                    self.or_make(id, kind, ids, warnings),
                )
            }
            "THINKING_TEXT_MESSAGE_END" => {
                let id = self.message.take();
                (
                    "REASONING_MESSAGE_END",
                    self.or_make(id, kind, ids, warnings),
                )
            }
            _ => return,
        };
        warnings.push(format!("read {kind}, retired in AG-UI 1.0, as {new}"));
        event.insert("type".to_owned(), json!(new));
        event.insert("messageId".to_owned(), json!(id));
    }

    fn make(&mut self, ids: &HopIds) -> MessageId {
        let id = ids.reasoning(self.made);
        self.made += 1;
        id
    }

    /// The id, or one made up: nothing opened it, so the order check will refuse the event by it.
    fn or_make(
        &mut self,
        id: Option<MessageId>,
        kind: &str,
        ids: &HopIds,
        warnings: &mut Warnings,
    ) -> MessageId {
        id.unwrap_or_else(|| {
            let id = self.make(ids);
            warnings.push(format!(
                "{kind} has no start before it; it gets the made-up id '{id}'"
            ));
            id
        })
    }
}

/// Removes a null where old agents sent one for an absent field. Any other null in an optional field is malformed.
pub(super) fn drop_null(
    object: &mut Map<String, Value>,
    field: &str,
    context: &str,
    warnings: &mut Warnings,
) {
    if object.get(field).is_some_and(Value::is_null) {
        object.shift_remove(field);
        warnings.push(format!("read {context}.{field}: null as absent"));
    }
}

/// Translates a request's old shapes to 1.0.
pub(super) fn upgrade_input(input: &mut Map<String, Value>, warnings: &mut Warnings) {
    drop_null(input, "forwardedProps", "input", warnings);
    for (list, field) in [("tools", "parameters"), ("resume", "payload")] {
        for entry in objects(input, list) {
            drop_null(entry, field, list, warnings);
        }
    }
    upgrade_messages(input, warnings);
}

fn upgrade_messages(holder: &mut Map<String, Value>, warnings: &mut Warnings) {
    for message in objects(holder, "messages") {
        for part in objects(message, "content") {
            if let Some("image" | "audio" | "video" | "document") = text(part, "type") {
                drop_null(part, "metadata", "a media part", warnings);
            }
        }
        let Some(Value::Array(parts)) = message.get_mut("content") else {
            continue;
        };
        if !parts.iter().any(is_binary) {
            continue;
        }
        let before = std::mem::take(parts);
        let media = MediaParts::of(&before);
        *parts = before
            .iter()
            .filter_map(|part| upgrade_part(part, &media, warnings))
            .collect();
    }
}

/// Translates a legacy `binary` part to a media part; returns `None` if the sender also sent the media in the new form.
fn upgrade_part(part: &Value, all: &MediaParts<'_>, warnings: &mut Warnings) -> Option<Value> {
    let Some(binary) = part.as_object().filter(|_| is_binary(part)) else {
        return Some(part.clone());
    };
    let filled = |field| text(binary, field).filter(|value| !value.is_empty());
    // An id alone named an upload of the agent's, which is what a file source is for.
    let source = [("data", "data"), ("url", "url"), ("file", "id")]
        .iter()
        .find_map(|&(kind, field)| Some((kind, filled(field)?)));
    let (Some(mime_type), Some((kind, value))) = (text(binary, "mimeType"), source) else {
        warnings.push(
            "a legacy binary part without a media type, or without data, url and id, has no form in AG-UI 1.0",
        );
        return Some(part.clone());
    };
    let media = match mime_type.split_once('/') {
        Some((media @ ("image" | "audio" | "video"), _)) => media,
        _ => "document",
    };
    let mut new = Map::new();
    new.insert("type".to_owned(), json!(media));
    new.insert(
        "source".to_owned(),
        json!({"type": kind, "value": value, "mimeType": mime_type}),
    );
    let filename = filled("filename");
    if let Some(filename) = filename {
        new.insert("metadata".to_owned(), json!({ "filename": filename }));
    }
    warnings.push(format!("read a legacy binary part as {media}"));
    let is_mirrored = all.has((media, kind, value, mime_type), filename);
    (!is_mirrored).then_some(Value::Object(new))
}

/// A part's media and its source: the kind, the value, and the media type.
type Media<'a> = (&'a str, &'a str, &'a str, &'a str);

/// The media parts of one message, in the form of 1.0, with the names of their files.
struct MediaParts<'a>(BTreeMap<Media<'a>, BTreeSet<Option<&'a str>>>);

impl<'a> MediaParts<'a> {
    fn of(parts: &'a [Value]) -> Self {
        let mut all = Self(BTreeMap::new());
        for part in parts {
            if let Some(media) = media(part) {
                let filename = part.pointer("/metadata/filename").and_then(Value::as_str);
                all.0.entry(media).or_default().insert(filename);
            }
        }
        all
    }

    /// Returns whether there is such a part, of this file if it has a name.
    fn has(&self, media: Media<'_>, filename: Option<&str>) -> bool {
        let files = self.0.get(&media);
        files.is_some_and(|files| filename.is_none() || files.contains(&filename))
    }
}

fn media(part: &Value) -> Option<Media<'_>> {
    let part = part.as_object()?;
    let source = part.get("source")?.as_object()?;
    let is_plain = source.len() == 3;
    let media = (
        text(part, "type")?,
        text(source, "type")?,
        text(source, "value")?,
        text(source, "mimeType")?,
    );
    is_plain.then_some(media)
}

fn is_binary(part: &Value) -> bool {
    part.get("type").and_then(Value::as_str) == Some("binary")
}
