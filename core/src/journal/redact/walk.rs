//! Goes over JSON, whole or cut off, and replaces its texts where they stand.

use super::alias::{Aliases, Kind, hidden, hide_bytes};
use super::token::Token;
use super::words;
use crate::conversation::ToolCallStatus;
use crate::dialect::ON_INTERRUPT;
use crate::event::Event;
use crate::run::Decision;
use crate::tool::ToolFailureKind;
use serde_json::{Value, json};

/// What a value is, which decides what becomes of its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    /// Of a known protocol: keys stay, texts go by their key.
    Protocol,
    /// The app's or the agent's own: keys and texts are replaced, equal ones by equal ones.
    Own,
}

/// Texts that are pieces of one: they are replaced when all pieces are there.
pub(super) trait Pieces {
    /// Whether the string under `key`, in the call at `call` of a list of calls, is such a piece.
    fn take(&mut self, key: &str, call: Option<usize>, token: &Token) -> bool;
}

impl Pieces for () {
    fn take(&mut self, _key: &str, _call: Option<usize>, _token: &Token) -> bool {
        false
    }
}

pub(super) struct Walk<'a> {
    pub(super) data: &'a mut [u8],
    pub(super) aliases: &'a mut Aliases,
    pub(super) pieces: &'a mut dyn Pieces,
    /// Further keys under which stands what is the app's or the model's own.
    pub(super) own: &'static [&'static str],
}

/// The value is not JSON from here on.
struct Broken(usize);

/// Deeper than this no dialect reads.
const DEEPEST: usize = 200;

impl Walk<'_> {
    /// Replaces the texts of the whole.
    pub(super) fn run(mut self, area: Area) {
        let place = Place {
            area,
            key: "",
            call: None,
            depth: 0,
        };
        let rest = match self.value(0, place) {
            Ok(end) => end,
            Err(Broken(at)) => at,
        };
        let rest = rest.min(self.data.len());
        hide_bytes(&mut self.data[rest..]);
    }

    fn blank(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.data.get(at) {
            at += 1;
        }
        at
    }

    fn value(&mut self, at: usize, place: Place<'_>) -> Result<usize, Broken> {
        let at = self.blank(at);
        if place.depth > DEEPEST {
            return Err(Broken(at));
        }
        match self.data.get(at) {
            Some(b'"') => {
                let token = Token::read(self.data, at);
                if !self.pieces.take(place.key, place.call, &token) {
                    let text = self.text(&token.text(), place);
                    token.put(self.data, text.chars());
                }
                Ok(token.end)
            }
            Some(b'{') => self.object(at + 1, place),
            Some(b'[') => self.array(at + 1, place),
            Some(_) => self.literal(at),
            None => Err(Broken(at)),
        }
    }

    fn object(&mut self, at: usize, place: Place<'_>) -> Result<usize, Broken> {
        let mut at = self.blank(at);
        if self.data.get(at) == Some(&b'}') {
            return Ok(at + 1);
        }
        loop {
            at = self.blank(at);
            if self.data.get(at) != Some(&b'"') {
                return Err(Broken(at));
            }
            let token = Token::read(self.data, at);
            let key = token.text();
            // LangGraph has its interrupts' ids there, which the answers name.
            let is_native_id = place.key == "rawEvent" && key == "id";
            if place.area == Area::Own && !is_native_id {
                let alias = self.aliases.key(&key);
                token.put(self.data, alias.chars());
            }
            at = self.blank(token.end);
            if self.data.get(at) != Some(&b':') {
                return Err(Broken(at));
            }
            let inner = Place {
                area: if is_native_id {
                    Area::Protocol
                } else if is_own(&key) || self.own.contains(&key.as_str()) {
                    Area::Own
                } else {
                    place.area
                },
                key: &key,
                call: place.call,
                depth: place.depth + 1,
            };
            at = self.value(at + 1, inner)?;
            at = self.blank(at);
            match self.data.get(at) {
                Some(b',') => at += 1,
                Some(b'}') => return Ok(at + 1),
                _ => return Err(Broken(at)),
            }
        }
    }

    fn array(&mut self, at: usize, place: Place<'_>) -> Result<usize, Broken> {
        let mut at = self.blank(at);
        if self.data.get(at) == Some(&b']') {
            return Ok(at + 1);
        }
        for index in 0.. {
            let inner = Place {
                call: if place.key == "tool_calls" {
                    Some(index)
                } else {
                    place.call
                },
                depth: place.depth + 1,
                ..place
            };
            at = self.value(at, inner)?;
            at = self.blank(at);
            match self.data.get(at) {
                Some(b',') => at += 1,
                Some(b']') => return Ok(at + 1),
                _ => break,
            }
        }
        Err(Broken(at))
    }

    fn literal(&self, at: usize) -> Result<usize, Broken> {
        let is_sign =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let length = self.data[at..]
            .iter()
            .take_while(|byte| is_sign(byte))
            .count();
        let word = &self.data[at..at + length];
        if serde_json::from_slice::<Value>(word).is_ok() {
            Ok(at + length)
        } else {
            Err(Broken(at))
        }
    }

    fn text(&mut self, text: &str, place: Place<'_>) -> String {
        if place.area == Area::Own {
            return self.aliases.of(Kind::Value, text);
        }
        match place.key {
            "type" | "role" | "object" | "finish_reason" | "finishReason" | "stop_reason"
            | "done_reason" | "blockReason" | "reason" | "status" | "op" | "subtype"
            | "entityType" | "kind" | "outcome" | "decision" | "input" | "activityType"
            | "dialect"
                if is_protocol_word(text) =>
            {
                text.to_owned()
            }
            "id" | "call_id" | "item_id" | "tool_use_id" | "responseId" | "response_id"
            | "message_id" | "messageId" | "tool_call_id" | "toolCallId" | "run_id" | "runId"
            | "thread_id" | "threadId" | "parent_run_id" | "parentRunId" | "parentMessageId"
            | "interrupt_id" | "interruptId" | "subagentRunId" | "subagent_run_id" | "entityId"
            | "pendingToolCallIds" | "interruptIds" | "keep" => self.aliases.id(text),
            "name" if text == ON_INTERRUPT => text.to_owned(),
            "name" | "toolCallName" | "tool_name" => self.aliases.tool(text),
            "arguments" => arguments(text, self.aliases),
            "path" | "from" => self.aliases.pointer(text),
            "model" | "modelVersion" | "protocolVersion" => text.to_owned(),
            "content_type" => media_type(text),
            "mimeType" | "mime_type" => media_type(text),
            // What tools give back: whether two of them are equal may matter.
            "Ok" | "result" => self.aliases.of(Kind::Value, text),
            _ => hidden(text),
        }
    }
}

#[derive(Clone, Copy)]
struct Place<'k> {
    area: Area,
    key: &'k str,
    /// The position in a list of tool calls.
    call: Option<usize>,
    depth: usize,
}

/// The arguments of a call, which are JSON in a string.
pub(super) fn arguments(text: &str, aliases: &mut Aliases) -> String {
    let mut data = text.as_bytes().to_vec();
    Walk {
        data: &mut data,
        aliases,
        pieces: &mut (),
        own: &[],
    }
    .run(Area::Own);
    String::from_utf8(data).unwrap_or_else(|_| hidden(text))
}

/// A value of ours.
pub(super) fn value(value: &Value, area: Area, aliases: &mut Aliases) -> Value {
    let mut data = value.to_string().into_bytes();
    Walk {
        data: &mut data,
        aliases,
        pieces: &mut (),
        own: &[],
    }
    .run(area);
    serde_json::from_slice(&data).unwrap_or_default()
}

/// The keys under which stands what is the app's or the agent's own.
fn is_own(key: &str) -> bool {
    matches!(
        key,
        "snapshot"
            | "state"
            | "value"
            | "metadata"
            | "payload"
            | "rawEvent"
            | "raw_event"
            | "forwardedProps"
            | "context"
            | "extra"
            | "responseSchema"
            | "parameters"
    )
}

fn is_protocol_word(word: &str) -> bool {
    let is = |word: &str| {
        is_variant::<ToolCallStatus>(word)
            || is_variant::<ToolFailureKind>(word)
            || is_variant::<Decision>(word)
            || is_variant::<crate::run::Input<'static>>(word)
    };
    let is_event = || match json!({ "type": word }) {
        Value::Object(map) => !matches!(Event::from_object(map), Ok(Event::Unknown(_))),
        _ => false,
    };
    words::is_one(word) || (!word.is_empty() && is_event()) || is(word)
}

/// A media type, and of its parameters only the character set.
fn media_type(text: &str) -> String {
    let (kind, rest) = text.split_at(text.find(';').unwrap_or(text.len()));
    let families = [
        "application",
        "audio",
        "font",
        "image",
        "message",
        "model",
        "multipart",
        "text",
        "video",
    ];
    let is_known = kind
        .split_once('/')
        .is_some_and(|(family, _)| families.contains(&family.trim()));
    let kind = if is_known {
        kind.to_owned()
    } else {
        hidden(kind)
    };
    let charset = rest.trim_start_matches(';').trim();
    let is_charset = matches!(
        charset.to_ascii_lowercase().as_str(),
        "charset=utf-8" | "charset=utf8"
    );
    let rest = if is_charset {
        rest.to_owned()
    } else {
        hidden(rest)
    };
    kind + &rest
}

/// Whether a word is the name of one of an enum's variants.
fn is_variant<T: serde::de::DeserializeOwned>(word: &str) -> bool {
    serde_json::from_value::<T>(word.into()).is_ok()
}
