//! Anthropic's Messages.
//!
//! Source: the API reference, <https://platform.claude.com/docs/en/api/messages>, and its streaming events,
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    Answers, Encoder, Frames, Part, Refusal, Setting, Speaker, Whole, Wire, count,
    server_sent_event, typed_event,
};
use crate::writer::{Block, Usage};

pub(crate) struct Anthropic;

impl Wire for Anthropic {
    fn serves(&self, path: &str) -> bool {
        path == "/v1/messages"
    }

    fn answers(&self, body: &Value) -> Answers {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        count(messages.iter().flat_map(|message| {
            let results = message["content"].as_array().map_or(0, |blocks| {
                let results = blocks.iter().filter(|block| block["type"] == "tool_result");
                results.count()
            });
            let all = message["content"].as_array().map_or(1, Vec::len);
            match message["role"].as_str() {
                Some("assistant") => vec![Speaker::Model],
                // Results, and maybe a message of the user after them.
                Some("user") if results == all => vec![Speaker::Tool],
                Some("user") => vec![Speaker::Tool, Speaker::User],
                _ => vec![Speaker::Other],
            }
        }))
    }

    /// Checks that thinking is returned with the signature of exactly its text.
    fn check_own(&self, body: &Value) -> Result<(), Refusal> {
        for (index, message) in body["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let blocks = message["content"].as_array().into_iter().flatten();
            for (place, block) in blocks
                .enumerate()
                .filter(|(_, block)| block["type"] == "thinking")
            {
                let thought = block["thinking"].as_str().unwrap_or_default();
                if block["signature"].as_str() != Some(&signature(thought)) {
                    let path = format!("messages.{index}.content.{place}");
                    let text = format!("{path}: Invalid `signature` in `thinking` block");
                    return Err(Refusal::new(400, text));
                }
            }
        }
        Ok(())
    }

    fn error(&self, refusal: &Refusal) -> Value {
        let kind = refusal.code.unwrap_or(match refusal.status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        });
        let error = json!({"type": kind, "message": refusal.message});
        json!({"type": "error", "error": error, "request_id": "req_mock"})
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder> {
        Box::new(Events {
            message: message(setting),
            signs: setting.signs,
            sealed: false,
            next: 0,
            open: 0,
            thought: String::new(),
            calls: HashMap::new(),
            called: false,
            refused: false,
        })
    }

    fn whole(&self, setting: &Setting, answer: &Whole) -> Value {
        let mut content = Vec::new();
        if let Some(thought) = &answer.reasoning {
            let signature = signature(thought);
            content.push(json!({"type": "thinking", "thinking": thought, "signature": signature}));
        }
        if let Some(text) = &answer.text {
            content.push(json!({"type": "text", "text": text}));
        }
        for call in &answer.calls {
            let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
            let input = if input.is_object() { input } else { json!({}) };
            content.push(
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}),
            );
        }
        let called = !answer.calls.is_empty();
        let mut message = message(setting);
        message["content"] = content.into();
        message["stop_reason"] = stop_reason(answer.stop_reason.as_deref(), called, false).into();
        message["usage"] = answer.usage.map(usage).unwrap_or_default();
        message
    }
}

/// A message without content yet.
fn message(setting: &Setting) -> Value {
    json!({
        "id": format!("msg_{}", setting.position),
        "type": "message",
        "role": "assistant",
        "model": setting.request["model"],
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(Usage { input: 0, output: 0 }),
    })
}

fn stop_reason(scripted: Option<&str>, called: bool, refused: bool) -> &str {
    scripted.unwrap_or(match (called, refused) {
        (true, _) => "tool_use",
        (false, true) => "refusal",
        (false, false) => "end_turn",
    })
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": usage.output,
    })
}

/// Returns the signature of a thinking block. It depends on the text, so that a changed text is found.
fn signature(thought: &str) -> String {
    // FNV-1a, 64 bits.
    let hash = thought
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("mock{hash:016x}")
}

struct Events {
    message: Value,
    signs: bool,
    /// Whether the open thinking has a signature.
    sealed: bool,
    /// The index of the next block.
    next: usize,
    /// The index of the open text or thinking.
    open: usize,
    /// The text of the open thinking.
    thought: String,
    /// The blocks of the open calls, by id.
    calls: HashMap<String, usize>,
    called: bool,
    refused: bool,
}

impl Events {
    fn begin(&mut self, block: &Value, out: &mut Frames) -> usize {
        let index = self.next;
        self.next += 1;
        let event = json!({"type": "content_block_start", "index": index, "content_block": block});
        out.push(typed_event(&event));
        index
    }

    fn sign(&mut self, signature: &str, out: &mut Frames) {
        self.sealed = true;
        let piece = json!({"type": "signature_delta", "signature": signature});
        delta(self.open, &piece, out);
    }

    fn thinks(&mut self, piece: &str, out: &mut Frames) {
        self.thought.push_str(piece);
        let piece = json!({"type": "thinking_delta", "thinking": piece});
        delta(self.open, &piece, out);
    }
}

fn delta(index: usize, delta: &Value, out: &mut Frames) {
    let event = json!({"type": "content_block_delta", "index": index, "delta": delta});
    out.push(typed_event(&event));
}

fn end(index: usize, out: &mut Frames) {
    let event = json!({"type": "content_block_stop", "index": index});
    out.push(typed_event(&event));
}

impl Encoder for Events {
    fn encode(&mut self, part: Part<'_>, out: &mut Frames) {
        match part {
            Part::Start => {
                let event = json!({"type": "message_start", "message": self.message});
                out.push(typed_event(&event));
                out.push(typed_event(&json!({"type": "ping"})));
            }
            Part::Begin(Block::Reasoning) => {
                self.thought.clear();
                self.sealed = false;
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                self.open = self.begin(&block, out);
            }
            Part::Piece(Block::Reasoning, piece) => self.thinks(piece, out),
            Part::Sealed(piece, seal) => {
                self.thinks(piece, out);
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
                let index = self.begin(&json!({"type": "redacted_thinking", "data": data}), out);
                end(index, out);
            }
            Part::Begin(block) => {
                self.refused |= block == Block::Refusal;
                self.open = self.begin(&json!({"type": "text", "text": ""}), out);
            }
            Part::Piece(_, piece) => {
                let piece = json!({"type": "text_delta", "text": piece});
                delta(self.open, &piece, out);
            }
            Part::Cited(piece) => {
                let citation = json!({
                    "type": "char_location", "cited_text": "x", "document_index": 0, "document_title": "A",
                    "start_char_index": 0, "end_char_index": 1,
                });
                let cited = json!({"type": "citations_delta", "citation": citation});
                delta(self.open, &cited, out);
                let piece = json!({"type": "text_delta", "text": piece});
                delta(self.open, &piece, out);
            }
            Part::End(_) => end(self.open, out),
            Part::CallStart { id, name, seal, .. } => {
                self.called = true;
                let mut block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                if let Some(seal) = seal {
                    block["caller"] = json!({"type": "code_execution_1", "tool_id": seal});
                }
                let index = self.begin(&block, out);
                self.calls.insert(id.to_owned(), index);
                // The service's first piece is empty.
                let piece = json!({"type": "input_json_delta", "partial_json": ""});
                delta(index, &piece, out);
            }
            Part::CallArguments { id, piece, .. } => {
                if let Some(index) = self.calls.get(id) {
                    let piece = json!({"type": "input_json_delta", "partial_json": piece});
                    delta(*index, &piece, out);
                }
            }
            Part::CallEnd { id } => {
                if let Some(index) = self.calls.remove(id) {
                    end(index, out);
                }
            }
            Part::Error { message, code } => {
                let error = json!({"type": code.unwrap_or("api_error"), "message": message});
                out.push(typed_event(
                    &json!({"type": "error", "error": error, "request_id": "req_mock"}),
                ));
            }
            Part::Finish {
                stop_reason: scripted,
                usage: tokens,
            } => {
                let reason = stop_reason(scripted, self.called, self.refused);
                let mut event = json!({
                    "type": "message_delta",
                    "delta": {"stop_reason": reason, "stop_sequence": null},
                });
                if let Some(tokens) = tokens {
                    event["usage"] = usage(tokens);
                }
                out.push(typed_event(&event));
                out.push(typed_event(&json!({"type": "message_stop"})));
            }
        }
    }

    /// Returns one event, with the name that its data has as `type`.
    fn frame(&self, data: &str) -> Vec<u8> {
        let parsed: Value = serde_json::from_str(data).unwrap_or_default();
        server_sent_event(parsed["type"].as_str(), data)
    }
}
