//! Amazon Bedrock's Converse.
//!
//! Source: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>; for the messages
//! <https://smithy.io/2.0/aws/amazon-eventstream.html>.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Answers, Encoder, Frames, Part, Refusal, Setting, Speaker, Wire, count};
use crate::writer::{Block, Usage};

pub(crate) struct BedrockConverse;

impl Wire for BedrockConverse {
    fn serves(&self, path: &str) -> bool {
        let model = path.strip_prefix("/bedrock/model/");
        let model = model.and_then(|path| path.strip_suffix("/converse-stream"));
        model.is_some_and(|model| !model.is_empty() && !model.contains('/'))
    }

    fn streams(&self, _body: &Value) -> bool {
        true
    }

    fn answers(&self, body: &Value) -> Answers {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        count(messages.iter().flat_map(|message| {
            let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
            let is_result = |block: &&Value| block["toolResult"].is_object();
            // A cache point is no content.
            let is_content = |block: &&Value| !block["cachePoint"].is_object();
            let results = blocks.iter().filter(is_result).count();
            let all = blocks.iter().filter(is_content).count();
            match message["role"].as_str() {
                Some("assistant") => vec![Speaker::Model],
                // Results, and maybe a message of the user after them.
                Some("user") if results == all => vec![Speaker::Tool],
                Some("user") => vec![Speaker::Tool, Speaker::User],
                _ => vec![Speaker::Other],
            }
        }))
    }

    /// Checks that reasoning is returned with the signature of exactly its text.
    fn check_own(&self, body: &Value) -> Result<(), Refusal> {
        let messages = body["messages"].as_array().into_iter().flatten();
        let blocks =
            messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
        for reasoning in blocks.map(|block| &block["reasoningContent"]["reasoningText"]) {
            if let Some(thought) = reasoning["text"].as_str()
                && reasoning["signature"].as_str() != Some(&signature(thought))
            {
                return Err(Refusal::new(400, "Invalid `signature` in `thinking` block"));
            }
        }
        Ok(())
    }

    fn error(&self, refusal: &Refusal) -> Value {
        json!({"message": refusal.message})
    }

    fn error_headers(&self, refusal: &Refusal) -> Vec<(&'static str, String)> {
        let name = refusal.code.unwrap_or(match refusal.status {
            401 | 403 => "AccessDeniedException",
            404 => "ResourceNotFoundException",
            408 => "ModelTimeoutException",
            424 => "ModelErrorException",
            429 => "ThrottlingException",
            503 => "ServiceUnavailableException",
            500.. => "InternalServerException",
            _ => "ValidationException",
        });
        // The service's own form, with an address after the name.
        let name = format!("{name}:http://internal.amazon.com/coral/com.amazon.bedrock/");
        vec![("x-amzn-errortype", name)]
    }

    fn stream_type(&self) -> &'static str {
        "application/vnd.amazon.eventstream"
    }

    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder> {
        Box::new(Events {
            signs: setting.signs,
            sealed: false,
            next: 0,
            open: 0,
            thought: String::new(),
            calls: HashMap::new(),
            called: false,
        })
    }
}

/// Returns the signature of a reasoning block. It depends on the text, so that a changed text is found.
fn signature(thought: &str) -> String {
    format!("mock{:08x}", crc32fast::hash(thought.as_bytes()))
}

/// Returns a message of an event stream with string headers.
fn message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    /// The type of a string.
    const STRING: u8 = 7;

    let mut head = Vec::new();
    for (name, value) in headers {
        // Names and values are short, and a longer one is a mistake of the test that the reader finds.
        head.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        head.extend(name.as_bytes());
        head.push(STRING);
        head.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        head.extend(value.as_bytes());
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    let mut message = [length(16 + head.len() + payload.len()), length(head.len())].concat();
    message.extend(crc32fast::hash(&message).to_be_bytes());
    message.extend(head);
    message.extend(payload);
    message.extend(crc32fast::hash(&message).to_be_bytes());
    message
}

fn event(name: &str, payload: &Value) -> Vec<u8> {
    let headers = [
        (":event-type", name),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    message(&headers, payload.to_string().as_bytes())
}

fn exception(name: &str, payload: &Value) -> Vec<u8> {
    let headers = [
        (":exception-type", name),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    message(&headers, payload.to_string().as_bytes())
}

struct Events {
    signs: bool,
    /// Whether the open reasoning has a signature.
    sealed: bool,
    /// The index of the next block.
    next: usize,
    /// The index of the open text or reasoning.
    open: usize,
    /// The text of the open reasoning.
    thought: String,
    /// The blocks of the open calls, by id.
    calls: HashMap<String, usize>,
    called: bool,
}

impl Events {
    fn begin(&mut self) -> usize {
        let index = self.next;
        self.next += 1;
        index
    }

    fn think(&mut self, piece: &str, out: &mut Frames) {
        self.thought.push_str(piece);
        delta(
            self.open,
            &json!({"reasoningContent": {"text": piece}}),
            out,
        );
    }

    fn sign(&mut self, signature: &str, out: &mut Frames) {
        self.sealed = true;
        let piece = json!({"reasoningContent": {"signature": signature}});
        delta(self.open, &piece, out);
    }
}

/// Writes a delta, padded as the service pads it: the length of an event says nothing about that of its text.
fn delta(index: usize, delta: &Value, out: &mut Frames) {
    const PADDING: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let padding = &PADDING[..1 + (index * 7 + delta.to_string().len()) % PADDING.len()];
    let payload = json!({"contentBlockIndex": index, "delta": delta, "p": padding});
    out.push(event("contentBlockDelta", &payload));
}

fn end(index: usize, out: &mut Frames) {
    out.push(event(
        "contentBlockStop",
        &json!({"contentBlockIndex": index, "p": "abcd"}),
    ));
}

fn usage(usage: Usage) -> Value {
    json!({
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "totalTokens": usage.input + usage.output,
        "cacheReadInputTokens": 0,
        "cacheWriteInputTokens": 0,
    })
}

impl Encoder for Events {
    fn encode(&mut self, part: Part<'_>, out: &mut Frames) {
        match part {
            Part::Start => out.push(event(
                "messageStart",
                &json!({"p": "ab", "role": "assistant"}),
            )),
            Part::Begin(Block::Reasoning) => {
                self.thought.clear();
                self.sealed = false;
                self.open = self.begin();
            }
            Part::Begin(_) => self.open = self.begin(),
            Part::Piece(Block::Reasoning, piece) => self.think(piece, out),
            Part::Sealed(piece, seal) => {
                self.think(piece, out);
                self.sign(seal, out);
            }
            Part::End(Block::Reasoning) => {
                if self.signs && !self.sealed {
                    let signature = signature(&self.thought);
                    self.sign(&signature, out);
                }
                end(self.open, out);
            }
            Part::Redacted(data) => {
                let index = self.begin();
                let piece = json!({"reasoningContent": {"redactedContent": data}});
                delta(index, &piece, out);
                end(index, out);
            }
            Part::Piece(_, piece) => delta(self.open, &json!({"text": piece}), out),
            Part::Cited(piece) => {
                let citation = json!({
                    "title": "A", "sourceContent": [{"text": "x"}],
                    "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 1}},
                });
                delta(self.open, &json!({"citation": citation}), out);
                delta(self.open, &json!({"text": piece}), out);
            }
            Part::End(_) => end(self.open, out),
            Part::CallStart { id, name, .. } => {
                self.called = true;
                let index = self.begin();
                let start = json!({"toolUse": {"toolUseId": id, "name": name}});
                let payload = json!({"contentBlockIndex": index, "p": "abc", "start": start});
                out.push(event("contentBlockStart", &payload));
                self.calls.insert(id.to_owned(), index);
            }
            Part::CallArguments { id, piece, .. } => {
                if let Some(index) = self.calls.get(id) {
                    delta(*index, &json!({"toolUse": {"input": piece}}), out);
                }
            }
            Part::CallEnd { id } => {
                if let Some(index) = self.calls.remove(id) {
                    end(index, out);
                }
            }
            Part::Error { message, code } => {
                let name = code.unwrap_or("internalServerException");
                out.push(exception(name, &json!({"message": message})));
            }
            Part::Finish {
                stop_reason,
                usage: tokens,
            } => {
                let usual = if self.called { "tool_use" } else { "end_turn" };
                let reason = stop_reason.unwrap_or(usual);
                out.push(event(
                    "messageStop",
                    &json!({"p": "abcde", "stopReason": reason}),
                ));
                let mut metadata = json!({"metrics": {"latencyMs": 1}, "p": "a"});
                if let Some(tokens) = tokens {
                    metadata["usage"] = usage(tokens);
                }
                out.push(event("metadata", &metadata));
            }
        }
    }

    /// Returns one event. The data is an object with one field, the event's name.
    fn frame(&self, data: &str) -> Vec<u8> {
        let parsed: Value = serde_json::from_str(data).unwrap_or_default();
        match parsed
            .as_object()
            .map(|fields| (fields.len(), fields.iter().next()))
        {
            Some((1, Some((name, payload)))) if payload.is_object() => event(name, payload),
            // No event of the service: a test of what a client does with it.
            _ => message(&[(":message-type", "event")], data.as_bytes()),
        }
    }
}
