//! Cohere's chat, version 2.
//!
//! Source: <https://docs.cohere.com/v2/reference/chat-stream>.

use serde_json::{Value, json};

use super::{
    Answers, Encoder, Frames, Part, Refusal, Setting, Whole, Wire, count_by_role,
    server_sent_event, typed_event,
};
use crate::writer::{Block, Usage};

pub(crate) struct Cohere;

impl Wire for Cohere {
    fn serves(&self, path: &str) -> bool {
        path == "/v2/chat"
    }

    fn answers(&self, body: &Value) -> Answers {
        count_by_role(body["messages"].as_array().map_or(&[][..], Vec::as_slice))
    }

    fn error(&self, refusal: &Refusal) -> Value {
        json!({"id": "00000000-0000-4000-8000-000000000000", "message": refusal.message})
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream"
    }

    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder> {
        Box::new(Events {
            position: setting.position,
            began: false,
            blocks: 0,
            called: false,
            calls: Vec::new(),
        })
    }

    fn whole(&self, setting: &Setting, answer: &Whole) -> Value {
        let mut message = json!({"role": "assistant"});
        let mut content = Vec::new();
        if let Some(thinking) = &answer.reasoning {
            content.push(json!({"type": "thinking", "thinking": thinking}));
        }
        if let Some(text) = &answer.text {
            content.push(json!({"type": "text", "text": text}));
        }
        if !content.is_empty() {
            message["content"] = content.into();
        }
        if !answer.calls.is_empty() {
            let call = |call: &super::WholeCall| {
                // The service's arguments of a call without any.
                let arguments = match call.arguments.as_str() {
                    "" | "{}" => "null",
                    other => other,
                };
                let function = json!({"name": call.name, "arguments": arguments});
                json!({"id": call.id, "type": "function", "function": function})
            };
            message["tool_calls"] = answer.calls.iter().map(call).collect();
        }
        let reason = finish_reason(answer.stop_reason.as_deref(), !answer.calls.is_empty());
        json!({
            "id": message_id(setting.position),
            "finish_reason": reason,
            "message": message,
            "usage": answer.usage.map(usage),
        })
    }
}

fn message_id(position: usize) -> String {
    format!("00000000-0000-4000-8000-{position:012}")
}

fn finish_reason(scripted: Option<&str>, called: bool) -> &str {
    scripted.unwrap_or(if called { "TOOL_CALL" } else { "COMPLETE" })
}

fn usage(usage: Usage) -> Value {
    let tokens = json!({"input_tokens": usage.input, "output_tokens": usage.output});
    json!({"billed_units": tokens, "tokens": tokens, "cached_tokens": 0})
}

struct Events {
    position: usize,
    /// Whether the start is sent.
    began: bool,
    /// Content blocks begun.
    blocks: usize,
    called: bool,
    /// The index of each call by its id.
    calls: Vec<(String, usize)>,
}

impl Events {
    fn begin(&mut self, out: &mut Frames) {
        if !std::mem::replace(&mut self.began, true) {
            let message = json!({"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []});
            let id = message_id(self.position);
            out.push(typed_event(
                &json!({"id": id, "type": "message-start", "delta": {"message": message}}),
            ));
        }
    }

    fn content(&self, kind: &str, content: &Value, out: &mut Frames) {
        let delta = json!({"message": {"content": content}});
        let index = self.blocks.saturating_sub(1);
        out.push(typed_event(
            &json!({"type": kind, "index": index, "delta": delta}),
        ));
    }

    fn call(kind: &str, index: usize, call: &Value, out: &mut Frames) {
        let delta = json!({"message": {"tool_calls": call}});
        out.push(typed_event(
            &json!({"type": kind, "index": index, "delta": delta}),
        ));
    }
}

impl Encoder for Events {
    fn encode(&mut self, part: Part<'_>, out: &mut Frames) {
        match part {
            Part::Start | Part::Redacted(_) => {}
            Part::Begin(block) => {
                self.begin(out);
                self.blocks += 1;
                let content = match block {
                    Block::Reasoning => json!({"type": "thinking", "thinking": ""}),
                    Block::Text | Block::Refusal => json!({"type": "text", "text": ""}),
                };
                self.content("content-start", &content, out);
            }
            Part::Piece(Block::Reasoning, piece) | Part::Sealed(piece, _) => {
                self.content("content-delta", &json!({"thinking": piece}), out);
            }
            Part::Piece(_, piece) | Part::Cited(piece) => {
                self.content("content-delta", &json!({"text": piece}), out);
            }
            Part::End(_) => {
                let index = self.blocks.saturating_sub(1);
                out.push(typed_event(&json!({"type": "content-end", "index": index})));
            }
            Part::CallStart {
                index, id, name, ..
            } => {
                self.begin(out);
                self.called = true;
                self.calls.push((id.to_owned(), index));
                let function = json!({"name": name, "arguments": ""});
                let call = json!({"id": id, "type": "function", "function": function});
                Self::call("tool-call-start", index, &call, out);
            }
            Part::CallArguments { index, piece, .. } => {
                let call = json!({"function": {"arguments": piece}});
                Self::call("tool-call-delta", index, &call, out);
            }
            Part::CallEnd { id } => {
                let index = self.calls.iter().find(|(call, _)| call == id);
                let index = index.map_or(0, |(_, index)| *index);
                out.push(typed_event(
                    &json!({"type": "tool-call-end", "index": index}),
                ));
            }
            Part::Error { message, code } => {
                self.begin(out);
                let mut delta = json!({"finish_reason": "ERROR", "usage": {}, "error": message});
                if let Some(code) = code {
                    delta["error_type"] = code.into();
                }
                out.push(typed_event(&json!({"type": "message-end", "delta": delta})));
            }
            Part::Finish {
                stop_reason,
                usage: tokens,
            } => {
                self.begin(out);
                let mut delta = json!({"finish_reason": finish_reason(stop_reason, self.called)});
                if let Some(tokens) = tokens {
                    delta["usage"] = usage(tokens);
                }
                out.push(typed_event(&json!({"type": "message-end", "delta": delta})));
                out.push(server_sent_event(None, "[DONE]"));
            }
        }
    }
}
