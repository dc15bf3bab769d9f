//! The body of a stream: its texts are replaced where they stand, so that frames and cuts stay where they are.

use super::alias::{Aliases, hide_bytes};
use super::token::Token;
use super::walk::{Area, Pieces, Walk, arguments};
use crate::dialect::Dialect;
use crate::wire::{FrameLimits, Framer};
use serde_json::Value;

/// The payload of one event, and where each of its bytes stands in the body.
struct Payload {
    /// Which of the bodies.
    body: usize,
    data: Vec<u8>,
    positions: Vec<usize>,
    /// It has no end: the body broke off in it.
    is_cut: bool,
}

/// A call's arguments, which come in pieces.
#[derive(Default)]
struct Channel {
    index: Option<u64>,
    id: Option<String>,
    text: String,
    /// It is of an event that broke off, and came again when the stream was resumed.
    is_lost: bool,
}

/// One piece.
struct Piece {
    payload: usize,
    token: Token,
    channel: usize,
    /// In characters.
    from: usize,
}

#[derive(Default)]
struct Fragments {
    channels: Vec<Channel>,
    pieces: Vec<Piece>,
    payload: usize,
    /// The payload in hand broke off, and came again.
    is_lost: bool,
    /// The payload in hand: whose pieces these are.
    calls: Vec<(Option<u64>, Option<String>)>,
    piece_of: Option<PieceOf>,
}

/// The one piece of a payload: the key that it stands under, and its call.
struct PieceOf {
    key: &'static str,
    index: Option<u64>,
    id: Option<String>,
}

impl Fragments {
    fn begin(&mut self, payload: usize, data: &[u8]) {
        self.payload = payload;
        self.calls.clear();
        self.piece_of = None;
        let Ok(value) = serde_json::from_slice::<Value>(data) else {
            return;
        };
        let text = |value: &Value| {
            value
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let piece_of = |key, index: &str, id: &str| {
            Some(PieceOf {
                key,
                index: value[index].as_u64(),
                id: text(&value[id]),
            })
        };
        self.piece_of = match value["type"].as_str() {
            Some("TOOL_CALL_ARGS" | "TOOL_CALL_CHUNK") => piece_of("delta", "", "toolCallId"),
            Some("response.function_call_arguments.delta") => piece_of("delta", "output_index", ""),
            Some("content_block_delta") if value["delta"]["type"] == "input_json_delta" => {
                piece_of("partial_json", "index", "")
            }
            Some("tool-call-start" | "tool-call-delta") => piece_of("arguments", "index", ""),
            _ => None,
        };
        let calls = value["choices"]
            .as_array()
            .into_iter()
            .flatten()
            .find_map(|choice| {
                let calls = |message: &str| choice[message]["tool_calls"].as_array().cloned();
                calls("delta").or_else(|| calls("message"))
            });
        let of = |call: &Value| (call["index"].as_u64(), text(&call["id"]));
        self.calls = calls.iter().flatten().map(of).collect();
    }

    fn channel(&mut self, index: Option<u64>, id: Option<String>) -> usize {
        let is_lost = self.is_lost;
        let mut known = (0..self.channels.len())
            .rev()
            .filter(|at| !is_lost && !self.channels[*at].is_lost);
        let found = match (&id, index) {
            (Some(id), index) => known.find(|at| {
                let channel = &self.channels[*at];
                channel.id.as_ref() == Some(id) && (index.is_none() || channel.index == index)
            }),
            (None, Some(index)) => known.find(|at| self.channels[*at].index == Some(index)),
            (None, None) => known.next(),
        };
        found.unwrap_or_else(|| {
            self.channels.push(Channel {
                index,
                id,
                text: String::new(),
                is_lost,
            });
            self.channels.len() - 1
        })
    }
}

impl Pieces for Fragments {
    fn take(&mut self, key: &str, call: Option<usize>, token: &Token) -> bool {
        let (index, id) = match (key, call, &self.piece_of) {
            ("arguments", Some(call), _) => match self.calls.get(call) {
                Some(call) => call.clone(),
                None => return false,
            },
            (_, _, Some(piece)) if piece.key == key => (piece.index, piece.id.clone()),
            _ => return false,
        };
        let channel = self.channel(index, id);
        let text = &mut self.channels[channel].text;
        let from = text.chars().count();
        text.push_str(&token.text());
        self.pieces.push(Piece {
            payload: self.payload,
            token: token.clone(),
            channel,
            from,
        });
        true
    }
}

/// Replaces the texts of a stream, which may have come in several bodies, each resumed where the one before broke off;
/// each is as long as before.
pub(super) fn redact(dialect: Dialect, bodies: &mut [&mut [u8]], aliases: &mut Aliases) {
    let mut payloads: Vec<Payload> = Vec::new();
    for (at, body) in bodies.iter_mut().enumerate() {
        payloads.extend(match dialect.framer(FrameLimits::default()) {
            Framer::Sse(_) | Framer::LengthPrefixed(_) => events(at, body, aliases),
            Framer::JsonLines(_) => lines(at, body),
        });
    }
    let last = bodies.len().saturating_sub(1);
    let mut fragments = Fragments::default();
    for (at, payload) in payloads.iter_mut().enumerate() {
        fragments.is_lost = payload.is_cut && payload.body < last;
        if payload.data.trim_ascii() == b"[DONE]" {
            continue;
        }
        fragments.begin(at, &payload.data);
        Walk {
            data: &mut payload.data,
            aliases,
            pieces: &mut fragments,
            own: own(dialect),
        }
        .run(Area::Protocol);
    }
    let whole: Vec<Vec<char>> = fragments
        .channels
        .iter()
        .map(|channel| arguments(&channel.text, aliases).chars().collect())
        .collect();
    for piece in fragments.pieces {
        let until = piece.from + piece.token.len();
        if let Some(characters) = whole[piece.channel].get(piece.from..until) {
            let data = &mut payloads[piece.payload].data;
            piece.token.put(data, characters.iter().copied());
        }
    }
    for payload in payloads {
        for (byte, position) in payload.data.into_iter().zip(payload.positions) {
            bodies[payload.body][position] = byte;
        }
    }
}

/// The keys under which a dialect has a call's arguments as they are, not as a text.
fn own(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Anthropic => &["input"],
        Dialect::Gemini => &["args"],
        Dialect::Ollama => &["arguments"],
        _ => &[],
    }
}

/// The payloads of a body that has one a line.
fn lines(at_body: usize, body: &[u8]) -> Vec<Payload> {
    let mut at = 0;
    let mut payloads = Vec::new();
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        payloads.push(Payload {
            body: at_body,
            data: line.to_vec(),
            positions: (at..at + line.len()).collect(),
            is_cut: !line.ends_with(b"\n"),
        });
        at += line.len();
    }
    payloads
}

/// The payloads of a body of events. Hides what is neither payload nor framing.
fn events(at_body: usize, body: &mut [u8], aliases: &mut Aliases) -> Vec<Payload> {
    let mut payloads = Vec::new();
    let mut data: Vec<u8> = Vec::new();
    let mut positions: Vec<usize> = Vec::new();
    let mut at = if body.starts_with(b"\xEF\xBB\xBF") {
        3
    } else {
        0
    };
    while at < body.len() {
        let end = body[at..]
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'));
        let end = end.map_or(body.len(), |end| at + end);
        let line = &mut body[at..end];
        let colon = line.iter().position(|byte| *byte == b':');
        let mut take = |from: usize| {
            data.extend_from_slice(&line[from..]);
            positions.extend(at + from..end);
        };
        match (&line[..colon.unwrap_or(line.len())], colon) {
            (b"", None) => {
                if !data.is_empty() {
                    let (data, positions) =
                        (std::mem::take(&mut data), std::mem::take(&mut positions));
                    payloads.push(Payload {
                        body: at_body,
                        data,
                        positions,
                        is_cut: false,
                    });
                }
            }
            (b"data", Some(colon)) => take(colon + 1),
            (b"event" | b"retry", _) => {}
            (b"id", Some(colon)) => hide_id(&mut line[colon..], aliases),
            (b"", Some(colon)) => hide_bytes(&mut line[colon..]),
            _ => take(0),
        }
        at = end;
        // One line break, so that a blank line is seen as one.
        if body[at..].starts_with(b"\r\n") {
            at += 2;
        } else {
            at += 1;
        }
    }
    if !data.is_empty() {
        payloads.push(Payload {
            body: at_body,
            data,
            positions,
            is_cut: true,
        });
    }
    payloads
}

/// An event's id: a stream may be resumed after it, so different ones stay different.
fn hide_id(bytes: &mut [u8], aliases: &mut Aliases) {
    let alias = std::str::from_utf8(bytes).map(|id| aliases.id(id));
    match alias {
        Ok(alias) if alias.len() == bytes.len() => bytes.copy_from_slice(alias.as_bytes()),
        _ => hide_bytes(bytes),
    }
}
