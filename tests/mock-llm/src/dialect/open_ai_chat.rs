//! OpenAI chat completions.
//!
//! Source: the API reference, <https://platform.openai.com/docs/api-reference/chat>, and its streaming
//! events, <https://platform.openai.com/docs/api-reference/chat-streaming>. The wording of the refusals
//! is that of the service.

pub(super) mod check;
mod pairing;

use serde_json::{Value, json};

use super::{
    Answer, Answers, Asked, Encoder, Part, Refusal, Wire, count_by_role, server_sent_event,
};
use crate::hop::Usage;

/// A fixed time, so that a script gives the same bytes on every run.
const CREATED: u64 = 1_700_000_000;

pub(crate) struct OpenAiChat;

impl Wire for OpenAiChat {
    fn serves(&self, path: &str) -> bool {
        path == "/v1/chat/completions"
    }

    fn read(&self, body: &Value, lenient: bool) -> Result<Asked, Refusal> {
        if !body.is_object() {
            return Err(Refusal::new(
                400,
                "We could not parse the JSON body of your request. (HINT: This likely means you aren't \
                 using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was \
                 sent was not valid JSON.)",
            ));
        }
        if !lenient {
            check::request(body)?;
        }
        let stream = body["stream"].as_bool().unwrap_or(false);
        Ok(Asked {
            stream,
            answers: answers(body),
        })
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

    fn encoder(&self, body: &Value, position: usize) -> Box<dyn Encoder> {
        Box::new(Chunks {
            id: completion_id(position),
            model: body["model"].clone(),
            include_usage: body["stream_options"]["include_usage"] == true,
            began: false,
            called: false,
        })
    }

    fn whole(&self, body: &Value, position: usize, answer: &Answer) -> Value {
        let mut message = json!({"role": "assistant", "content": answer.text, "refusal": null});
        if let Some(reasoning) = &answer.reasoning {
            message["reasoning_content"] = reasoning.as_str().into();
        }
        if !answer.calls.is_empty() {
            let call = |call: &super::Call| {
                let function = json!({"name": call.name, "arguments": call.arguments});
                json!({"id": call.id, "type": "function", "function": function})
            };
            message["tool_calls"] = answer.calls.iter().map(call).collect();
        }
        let stop_reason = answer.stop_reason.as_deref();
        json!({
            "id": completion_id(position),
            "object": "chat.completion",
            "created": CREATED,
            "model": body["model"],
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

fn answers(body: &Value) -> Answers {
    count_by_role(body["messages"].as_array().map_or(&[][..], Vec::as_slice))
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
    /// Whether the first chunk, the one with the role, is out.
    began: bool,
    called: bool,
}

impl Chunks {
    /// `choices` and `usage` are the two fields that differ.
    fn chunk(&self, choices: &Value, usage: &Value, out: &mut Vec<u8>) {
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
        server_sent_event(&chunk.to_string(), out);
    }

    fn delta(&self, delta: &Value, finish_reason: Option<&str>, out: &mut Vec<u8>) {
        let choice =
            json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason});
        self.chunk(&json!([choice]), &Value::Null, out);
    }

    /// The chunk with the role. Its content is null when the answer opens with tool calls.
    fn begin(&mut self, content: &Value, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.began, true) {
            self.delta(
                &json!({"role": "assistant", "content": content, "refusal": null}),
                None,
                out,
            );
        }
    }
}

impl Encoder for Chunks {
    fn encode(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Start | Part::TextEnd | Part::ReasoningEnd | Part::CallEnd { .. } => {}
            Part::TextStart | Part::ReasoningStart => self.begin(&"".into(), out),
            Part::Text(piece) => self.delta(&json!({"content": piece}), None, out),
            Part::Reasoning(piece) => self.delta(&json!({"reasoning_content": piece}), None, out),
            Part::CallStart { index, id, name } => {
                self.begin(&Value::Null, out);
                self.called = true;
                let function = json!({"name": name, "arguments": ""});
                let call =
                    json!({"index": index, "id": id, "type": "function", "function": function});
                self.delta(&json!({"tool_calls": [call]}), None, out);
            }
            Part::CallArguments { index, piece, .. } => {
                let call = json!({"index": index, "function": {"arguments": piece}});
                self.delta(&json!({"tool_calls": [call]}), None, out);
            }
            Part::Error { message, code } => {
                let error = json!({"message": message, "type": "server_error", "param": null, "code": code});
                server_sent_event(&json!({"error": error}).to_string(), out);
            }
            Part::Finish {
                stop_reason,
                usage: tokens,
            } => {
                self.begin(&"".into(), out);
                self.delta(
                    &json!({}),
                    Some(finish_reason(stop_reason, self.called)),
                    out,
                );
                if self.include_usage {
                    self.chunk(&json!([]), &usage(tokens), out);
                }
                server_sent_event("[DONE]", out);
            }
        }
    }

    fn frame(&self, data: &str, out: &mut Vec<u8>) {
        server_sent_event(data, out);
    }
}
