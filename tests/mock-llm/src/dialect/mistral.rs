//! Mistral's chat: Chat Completions with rules of its own, under `/mistral` to distinguish the two.
//!
//! Source: <https://docs.mistral.ai/api/endpoint/chat>.

use serde_json::{Value, json};

use super::open_ai_chat::OpenAiChat;
use super::{Answers, Encoder, Frames, Part, Refusal, Setting, Whole, Wire, server_sent_event};
use crate::writer::{Block, Usage};

/// A fixed time, so that a script gives the same bytes on every run.
const CREATED: u64 = 1_700_000_000;

pub(crate) struct Mistral;

impl Wire for Mistral {
    fn serves(&self, path: &str) -> bool {
        path == "/mistral/v1/chat/completions"
    }

    fn answers(&self, body: &Value) -> Answers {
        OpenAiChat.answers(body)
    }

    fn error(&self, refusal: &Refusal) -> Value {
        let kind = match refusal.status {
            401 => "unauthorized",
            429 => "rate_limited",
            500.. => "service_unavailable",
            _ => "invalid_request_message_order",
        };
        json!({
            "object": "error",
            "message": refusal.message,
            "type": kind,
            "param": refusal.param,
            "code": refusal.code,
            "raw_status_code": refusal.status,
        })
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder> {
        Box::new(Chunks {
            id: format!("{:032x}", setting.position),
            model: setting.request["model"].clone(),
            began: false,
            called: false,
        })
    }

    fn whole(&self, setting: &Setting, answer: &Whole) -> Value {
        let mut whole = OpenAiChat.whole(setting, answer);
        if let Some(thinking) = &answer.reasoning {
            let text = answer.text.as_deref().unwrap_or_default();
            whole["choices"][0]["message"]["content"] =
                json!([thought(thinking), {"type": "text", "text": text}]);
        }
        let message = &mut whole["choices"][0]["message"];
        if let Some(message) = message.as_object_mut() {
            message.remove("refusal");
            message.remove("reasoning_content");
        }
        whole
    }
}

fn thought(text: &str) -> Value {
    json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]})
}

/// The id as the service makes them: nine letters and digits. The script's own stay as they are.
fn call_id(id: &str) -> String {
    let numbers = id.strip_prefix("call_").and_then(|rest| {
        let (position, index) = rest.split_once('_')?;
        Some((position.parse::<u32>().ok()?, index.parse::<u32>().ok()?))
    });
    match numbers {
        Some((position, index)) => format!("c{position:04}{index:04}"),
        None => id.to_owned(),
    }
}

struct Chunks {
    id: String,
    model: Value,
    began: bool,
    called: bool,
}

impl Chunks {
    fn chunk(&self, delta: &Value, finish: Option<(&str, Option<Usage>)>, out: &mut Frames) {
        let reason = finish.map(|(reason, _)| reason);
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        });
        if let Some((_, Some(usage))) = finish {
            chunk["usage"] = json!({
                "prompt_tokens": usage.input,
                "total_tokens": usage.input.saturating_add(usage.output),
                "completion_tokens": usage.output,
            });
        }
        out.push(server_sent_event(None, &chunk.to_string()));
    }

    fn begin(&mut self, out: &mut Frames) {
        if !std::mem::replace(&mut self.began, true) {
            self.chunk(&json!({"role": "assistant", "content": ""}), None, out);
        }
    }
}

impl Encoder for Chunks {
    fn encode(&mut self, part: Part<'_>, out: &mut Frames) {
        let said = match part {
            Part::Start | Part::End(_) | Part::Redacted(_) | Part::CallEnd { .. } => return,
            Part::Begin(_) => return self.begin(out),
            Part::Piece(Block::Reasoning, piece) | Part::Sealed(piece, _) => {
                json!({"content": [thought(piece)]})
            }
            Part::Piece(_, piece) | Part::Cited(piece) => json!({"content": piece}),
            Part::CallStart {
                index, id, name, ..
            } => {
                self.begin(out);
                self.called = true;
                let function = json!({"name": name, "arguments": ""});
                let call = json!({"id": call_id(id), "type": "function", "function": function, "index": index});
                json!({"tool_calls": [call]})
            }
            Part::CallArguments { index, piece, .. } => {
                let function = json!({"name": "", "arguments": piece});
                json!({"tool_calls": [{"function": function, "index": index}]})
            }
            Part::Error { message, code } => {
                let error = json!({"object": "error", "message": message, "type": "service_unavailable", "code": code});
                out.push(server_sent_event(None, &error.to_string()));
                return;
            }
            Part::Finish { stop_reason, usage } => {
                self.begin(out);
                let usual = if self.called { "tool_calls" } else { "stop" };
                let reason = stop_reason.unwrap_or(usual);
                self.chunk(&json!({"content": ""}), Some((reason, usage)), out);
                out.push(server_sent_event(None, "[DONE]"));
                return;
            }
        };
        self.chunk(&said, None, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_as_the_service_makes_them() {
        assert_eq!(call_id("call_0_12"), "c00000012");
        assert_eq!(call_id("own"), "own");
    }
}
