//! Anthropic's Messages.
//!
//! Source: the API reference, <https://platform.claude.com/docs/en/api/messages>, and its streaming events,
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>. The wording of the refusals is that of the
//! service.

mod check;
mod pairing;

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    Answer, Answers, Asked, Encoder, Part, Refusal, Speaker, Wire, count, server_sent_event,
};
use crate::hop::Usage;

pub(crate) struct Anthropic;

impl Wire for Anthropic {
    fn serves(&self, path: &str) -> bool {
        path == "/v1/messages"
    }

    fn read(&self, body: &Value, lenient: bool) -> Result<Asked, Refusal> {
        if !body.is_object() {
            let text =
                "The request body is not valid JSON: expected value: line 1 column 1 (char 0)";
            return Err(Refusal::new(400, text));
        }
        if !lenient {
            check::request(body)?;
        }
        Ok(Asked {
            stream: body["stream"].as_bool().unwrap_or(false),
            answers: answers(body),
        })
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

    fn encoder(&self, body: &Value, position: usize) -> Box<dyn Encoder> {
        Box::new(Events {
            message: message(body, position),
            next: 0,
            open: 0,
            thought: String::new(),
            calls: HashMap::new(),
            called: false,
        })
    }

    fn whole(&self, body: &Value, position: usize, answer: &Answer) -> Value {
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
        let mut message = message(body, position);
        message["content"] = content.into();
        message["stop_reason"] = stop_reason(answer.stop_reason.as_deref(), called).into();
        message["usage"] = answer.usage.map(usage).unwrap_or_default();
        message
    }
}

/// A message of which nothing was said yet.
fn message(body: &Value, position: usize) -> Value {
    json!({
        "id": format!("msg_{position}"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(Usage { input: 0, output: 0 }),
    })
}

fn stop_reason(scripted: Option<&str>, called: bool) -> &str {
    scripted.unwrap_or(if called { "tool_use" } else { "end_turn" })
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": usage.output,
    })
}

/// What a thinking block is signed with. It depends on the text, so that a changed one is found out.
fn signature(thought: &str) -> String {
    // FNV-1a, 64 bits.
    let hash = thought
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("mock{hash:016x}")
}

fn answers(body: &Value) -> Answers {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    count(messages.iter().flat_map(|message| {
        let results = message["content"].as_array().map_or(0, |blocks| {
            let results = blocks.iter().filter(|block| block["type"] == "tool_result");
            results.count()
        });
        let all = message["content"].as_array().map_or(1, Vec::len);
        match message["role"].as_str() {
            Some("assistant") => vec![Speaker::Model],
            // Results, and maybe what the user says behind them.
            Some("user") if results == all => vec![Speaker::Tool],
            Some("user") => vec![Speaker::Tool, Speaker::User],
            _ => vec![Speaker::Other],
        }
    }))
}

/// One event, with the name that its data has as `type`.
fn named_event(data: &str, out: &mut Vec<u8>) {
    let parsed: Value = serde_json::from_str(data).unwrap_or_default();
    if let Some(name) = parsed["type"].as_str().filter(|name| !name.contains('\n')) {
        out.extend_from_slice(format!("event: {name}\n").as_bytes());
    }
    server_sent_event(data, out);
}

struct Events {
    message: Value,
    /// The index of the next block.
    next: usize,
    /// The index of the open text or thinking.
    open: usize,
    /// What the open thinking says.
    thought: String,
    /// The blocks of the open calls, by id.
    calls: HashMap<String, usize>,
    called: bool,
}

impl Events {
    fn begin(&mut self, block: &Value, out: &mut Vec<u8>) -> usize {
        let index = self.next;
        self.next += 1;
        let event = json!({"type": "content_block_start", "index": index, "content_block": block});
        named_event(&event.to_string(), out);
        index
    }
}

fn delta(index: usize, delta: &Value, out: &mut Vec<u8>) {
    let event = json!({"type": "content_block_delta", "index": index, "delta": delta});
    named_event(&event.to_string(), out);
}

fn end(index: usize, out: &mut Vec<u8>) {
    let event = json!({"type": "content_block_stop", "index": index});
    named_event(&event.to_string(), out);
}

impl Encoder for Events {
    fn encode(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Start => {
                let event = json!({"type": "message_start", "message": self.message});
                named_event(&event.to_string(), out);
                named_event(r#"{"type":"ping"}"#, out);
            }
            Part::TextStart => self.open = self.begin(&json!({"type": "text", "text": ""}), out),
            Part::Text(piece) => {
                delta(
                    self.open,
                    &json!({"type": "text_delta", "text": piece}),
                    out,
                );
            }
            Part::TextEnd => end(self.open, out),
            Part::ReasoningStart => {
                self.thought.clear();
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                self.open = self.begin(&block, out);
            }
            Part::Reasoning(piece) => {
                self.thought.push_str(piece);
                let piece = json!({"type": "thinking_delta", "thinking": piece});
                delta(self.open, &piece, out);
            }
            Part::ReasoningEnd => {
                let signature = signature(&self.thought);
                let piece = json!({"type": "signature_delta", "signature": signature});
                delta(self.open, &piece, out);
                end(self.open, out);
            }
            Part::CallStart { id, name, .. } => {
                self.called = true;
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                let index = self.begin(&block, out);
                self.calls.insert(id.to_owned(), index);
                // The service's first piece is empty.
                delta(
                    index,
                    &json!({"type": "input_json_delta", "partial_json": ""}),
                    out,
                );
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
                let event = json!({"type": "error", "error": error, "request_id": "req_mock"});
                named_event(&event.to_string(), out);
            }
            Part::Finish {
                stop_reason: scripted,
                usage: tokens,
            } => {
                let reason = stop_reason(scripted, self.called);
                let event = json!({
                    "type": "message_delta",
                    "delta": {"stop_reason": reason, "stop_sequence": null},
                    "usage": usage(tokens),
                });
                named_event(&event.to_string(), out);
                named_event(r#"{"type":"message_stop"}"#, out);
            }
        }
    }

    fn frame(&self, data: &str, out: &mut Vec<u8>) {
        named_event(data, out);
    }
}
