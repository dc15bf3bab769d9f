//! OpenAI chat completions.
//!
//! Source: the API reference, <https://platform.openai.com/docs/api-reference/chat>, and its streaming
//! events, <https://platform.openai.com/docs/api-reference/chat-streaming>; for what is sealed OpenRouter's
//! `reasoning_details`.

use serde_json::{Value, json};

use super::{
    Answers, Encoder, Frames, Part, Refusal, Setting, Whole, Wire, count_by_role, server_sent_event,
};
use crate::writer::{Block, Usage};

/// A fixed time, so that a script gives the same bytes on every run.
const CREATED: u64 = 1_700_000_000;

pub(crate) struct OpenAiChat;

impl Wire for OpenAiChat {
    fn serves(&self, path: &str) -> bool {
        path == "/v1/chat/completions"
    }

    fn answers(&self, body: &Value) -> Answers {
        count_by_role(body["messages"].as_array().map_or(&[][..], Vec::as_slice))
    }

    fn error(&self, refusal: &Refusal) -> Value {
        let kind = match refusal.status {
            403 => "insufficient_permissions",
            429 => "requests",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        let code = refusal.code.or(match refusal.status {
            401 => Some("invalid_api_key"),
            429 => Some("rate_limit_exceeded"),
            _ => None,
        });
        json!({"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": code}})
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder> {
        let body = &setting.request;
        Box::new(Chunks {
            id: completion_id(setting.position),
            model: body["model"].clone(),
            include_usage: body["stream_options"]["include_usage"] == true,
            began: false,
            called: false,
        })
    }

    fn whole(&self, setting: &Setting, answer: &Whole) -> Value {
        let mut message = json!({"role": "assistant", "content": answer.text, "refusal": null});
        if let Some(reasoning) = &answer.reasoning {
            message["reasoning_content"] = reasoning.as_str().into();
        }
        if !answer.calls.is_empty() {
            let call = |call: &super::WholeCall| {
                let function = json!({"name": call.name, "arguments": call.arguments});
                json!({"id": call.id, "type": "function", "function": function})
            };
            message["tool_calls"] = answer.calls.iter().map(call).collect();
        }
        let stop_reason = answer.stop_reason.as_deref();
        json!({
            "id": completion_id(setting.position),
            "object": "chat.completion",
            "created": CREATED,
            "model": setting.request["model"],
            "choices": [{
                "index": 0,
                "message": message,
                "logprobs": null,
                "finish_reason": finish_reason(stop_reason, !answer.calls.is_empty()),
            }],
            "usage": answer.usage.map(usage),
        })
    }
}

fn completion_id(position: usize) -> String {
    format!("chatcmpl-{position}")
}

fn finish_reason(scripted: Option<&str>, called: bool) -> &str {
    scripted.unwrap_or(if called { "tool_calls" } else { "stop" })
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input.saturating_add(usage.output),
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    })
}

/// The body of the model list, `GET /v1/models`.
pub(super) fn models() -> Value {
    let model =
        json!({"id": "mock", "object": "model", "created": CREATED, "owned_by": "stepwell"});
    json!({"object": "list", "data": [model]})
}

struct Chunks {
    id: String,
    model: Value,
    include_usage: bool,
    /// Whether the first chunk, the one with the role, is sent.
    began: bool,
    called: bool,
}

impl Chunks {
    /// `choices` and `usage` are the two fields that differ.
    fn chunk(&self, choices: &Value, usage: &Value, out: &mut Frames) {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "choices": choices,
        });
        if self.include_usage {
            chunk["usage"] = usage.clone();
        }
        out.push(server_sent_event(None, &chunk.to_string()));
    }

    fn delta(&self, delta: &Value, finish_reason: Option<&str>, out: &mut Frames) {
        let choice =
            json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason});
        self.chunk(&json!([choice]), &Value::Null, out);
    }

    /// The chunk with the role. Its content is null when the answer opens with tool calls.
    fn begin(&mut self, content: &Value, out: &mut Frames) {
        if !std::mem::replace(&mut self.began, true) {
            let opening = json!({"role": "assistant", "content": content, "refusal": null});
            self.delta(&opening, None, out);
        }
    }
}

impl Encoder for Chunks {
    fn encode(&mut self, part: Part<'_>, out: &mut Frames) {
        let said = match part {
            Part::Start | Part::End(_) | Part::CallEnd { .. } => return,
            Part::Begin(_) => return self.begin(&"".into(), out),
            Part::Piece(Block::Text, piece) => json!({"content": piece}),
            Part::Piece(Block::Reasoning, piece) => json!({"reasoning_content": piece}),
            Part::Piece(Block::Refusal, piece) => json!({"refusal": piece}),
            Part::Cited(piece) => {
                let page =
                    json!({"url": "https://a.b", "title": "A", "start_index": 0, "end_index": 1});
                let citation = json!({"type": "url_citation", "url_citation": page});
                json!({"content": piece, "annotations": [citation]})
            }
            Part::Sealed(piece, seal) => {
                let detail = json!({"type": "reasoning.text", "text": piece, "signature": seal, "format": "x", "index": 0});
                json!({"reasoning": piece, "reasoning_details": [detail]})
            }
            Part::Redacted(data) => {
                self.begin(&"".into(), out);
                let detail = json!({"type": "reasoning.encrypted", "data": data, "id": "rs", "format": "x", "index": 1});
                json!({"reasoning_details": [detail]})
            }
            Part::CallStart {
                index, id, name, ..
            } => {
                self.begin(&Value::Null, out);
                self.called = true;
                let function = json!({"name": name, "arguments": ""});
                let call =
                    json!({"index": index, "id": id, "type": "function", "function": function});
                json!({"tool_calls": [call]})
            }
            Part::CallArguments { index, piece, .. } => {
                let call = json!({"index": index, "function": {"arguments": piece}});
                json!({"tool_calls": [call]})
            }
            Part::Error { message, code } => {
                let error = json!({"message": message, "type": "server_error", "param": null, "code": code});
                out.push(server_sent_event(
                    None,
                    &json!({"error": error}).to_string(),
                ));
                return;
            }
            Part::Finish {
                stop_reason,
                usage: tokens,
            } => {
                self.begin(&"".into(), out);
                let reason = finish_reason(stop_reason, self.called);
                self.delta(&json!({}), Some(reason), out);
                if let Some(tokens) = tokens.filter(|_| self.include_usage) {
                    self.chunk(&json!([]), &usage(tokens), out);
                }
                out.push(server_sent_event(None, "[DONE]"));
                return;
            }
        };
        self.delta(&said, None, out);
    }
}
