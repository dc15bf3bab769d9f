//! Ollama's own chat: `POST /api/chat`, one JSON object a line.
//!
//! Source: <https://github.com/ollama/ollama/blob/main/docs/api.md>. As older servers do, it gives calls no ids, but for
//! those that the script chose.

use serde_json::{Map, Value, json};

use super::{
    Answers, Encoder, Frames, OpenCall, OpenCalls, Part, Refusal, Setting, Whole, Wire,
    count_by_role, object,
};
use crate::answer::made_id;
use crate::writer::{Block, Usage};

/// A time of its own for each line, the same on every run.
fn created(line: usize) -> String {
    format!("2023-11-14T22:13:20.{line:06}Z")
}

pub(crate) struct Ollama;

impl Wire for Ollama {
    fn serves(&self, path: &str) -> bool {
        path == "/api/chat"
    }

    fn streams(&self, body: &Value) -> bool {
        body["stream"].as_bool().unwrap_or(true)
    }

    fn answers(&self, body: &Value) -> Answers {
        count_by_role(body["messages"].as_array().map_or(&[][..], Vec::as_slice))
    }

    fn error(&self, refusal: &Refusal) -> Value {
        json!({"error": refusal.message})
    }

    fn stream_type(&self) -> &'static str {
        "application/x-ndjson"
    }

    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder> {
        Box::new(Lines {
            model: setting.request["model"].clone(),
            position: setting.position,
            open: OpenCalls::default(),
            failed: false,
            lines: 0,
        })
    }

    fn whole(&self, setting: &Setting, answer: &Whole) -> Value {
        let mut message =
            json!({"role": "assistant", "content": answer.text.as_deref().unwrap_or_default()});
        if let Some(reasoning) = &answer.reasoning {
            message["thinking"] = reasoning.as_str().into();
        }
        if !answer.calls.is_empty() {
            let calls = answer.calls.iter().enumerate();
            message["tool_calls"] = calls
                .map(|(index, call)| {
                    let fields = object(&call.arguments).unwrap_or_default();
                    function(setting.position, index, &call.id, &call.name, &fields)
                })
                .collect();
        }
        let model = &setting.request["model"];
        last(
            model,
            0,
            &message,
            answer.stop_reason.as_deref(),
            answer.usage,
        )
    }
}

fn last(
    model: &Value,
    line: usize,
    message: &Value,
    stop_reason: Option<&str>,
    usage: Option<Usage>,
) -> Value {
    let mut last = json!({
        "model": model,
        "created_at": created(line),
        "message": message,
        "done": true,
        "done_reason": stop_reason.unwrap_or("stop"),
        "total_duration": 3_000_000,
        "load_duration": 1_000_000,
    });
    if let Some(usage) = usage {
        last["prompt_eval_count"] = usage.input.into();
        last["prompt_eval_duration"] = 1_000_000.into();
        last["eval_count"] = usage.output.into();
        last["eval_duration"] = 1_000_000.into();
    }
    last
}

fn function(
    position: usize,
    index: usize,
    id: &str,
    name: &str,
    arguments: &Map<String, Value>,
) -> Value {
    let function = json!({"index": index, "name": name, "arguments": arguments});
    if id == made_id(position, index) {
        json!({"function": function})
    } else {
        json!({"id": id, "function": function})
    }
}

struct Lines {
    model: Value,
    position: usize,
    open: OpenCalls,
    /// Whether the answer ended with an error.
    failed: bool,
    /// Lines so far.
    lines: usize,
}

impl Lines {
    fn message(&mut self, message: &Value, out: &mut Frames) {
        let created = created(self.lines);
        self.lines += 1;
        let line =
            json!({"model": self.model, "created_at": created, "message": message, "done": false});
        out.push(self.frame(&line.to_string()));
    }

    fn error(&self, message: &str, out: &mut Frames) {
        out.push(self.frame(&json!({"error": message}).to_string()));
    }

    /// Writes a complete call. The server parses it itself, and fails if it cannot.
    fn call(&mut self, call: &OpenCall, out: &mut Frames) {
        let Some(arguments) = object(&call.arguments) else {
            self.failed = true;
            let text = &call.arguments;
            let error =
                format!("error parsing tool call: raw='{text}', err=unexpected end of JSON input");
            return self.error(&error, out);
        };
        let call = function(self.position, call.index, &call.id, &call.name, &arguments);
        let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
        self.message(&message, out);
    }
}

impl Encoder for Lines {
    fn encode(&mut self, part: Part<'_>, out: &mut Frames) {
        if self.failed {
            return;
        }
        match part {
            Part::Start | Part::Begin(_) | Part::End(_) | Part::Redacted(_) => {}
            Part::Piece(Block::Reasoning, piece) | Part::Sealed(piece, _) => {
                let message = json!({"role": "assistant", "content": "", "thinking": piece});
                self.message(&message, out);
            }
            Part::Piece(_, piece) | Part::Cited(piece) => {
                self.message(&json!({"role": "assistant", "content": piece}), out);
            }
            Part::CallStart {
                index,
                id,
                name,
                seal,
            } => self.open.begin(index, id, name, seal),
            Part::CallArguments { index, piece, .. } => self.open.add(index, piece),
            Part::CallEnd { id } => {
                if let Some(call) = self.open.end(id) {
                    self.call(&call, out);
                }
            }
            Part::Error { message, .. } => self.error(message, out),
            Part::Finish { stop_reason, usage } => {
                let message = json!({"role": "assistant", "content": ""});
                let line = last(&self.model, self.lines, &message, stop_reason, usage);
                out.push(self.frame(&line.to_string()));
            }
        }
    }

    fn frame(&self, data: &str) -> Vec<u8> {
        format!("{data}\n").into_bytes()
    }
}
