//! Ollama's own chat: `POST /api/chat`, one JSON object a line.
//!
//! Source: <https://github.com/ollama/ollama/blob/main/docs/api.md>. As older servers do, it gives calls no ids, but for
//! those that the script chose.

mod check;

use serde_json::{Map, Value, json};

use super::{Answer, Answers, Asked, Encoder, Part, Refusal, Wire, count_by_role};
use crate::hop::Usage;

/// A fixed time, so that a script gives the same bytes on every run.
const CREATED: &str = "2023-11-14T22:13:20Z";

pub(crate) struct Ollama;

impl Wire for Ollama {
    fn serves(&self, path: &str) -> bool {
        path == "/api/chat"
    }

    fn read(&self, body: &Value, lenient: bool) -> Result<Asked, Refusal> {
        if !body.is_object() {
            return Err(Refusal::new(400, "missing request body"));
        }
        if !lenient {
            check::request(body)?;
        }
        Ok(Asked {
            stream: body["stream"].as_bool().unwrap_or(true),
            answers: answers(body),
        })
    }

    fn error(&self, refusal: &Refusal) -> Value {
        json!({"error": refusal.message})
    }

    fn stream_type(&self) -> &'static str {
        "application/x-ndjson"
    }

    fn encoder(&self, body: &Value, position: usize) -> Box<dyn Encoder> {
        Box::new(Lines {
            model: body["model"].clone(),
            position,
            open: Vec::new(),
            failed: false,
        })
    }

    fn whole(&self, body: &Value, position: usize, answer: &Answer) -> Value {
        let mut message =
            json!({"role": "assistant", "content": answer.text.as_deref().unwrap_or_default()});
        if let Some(reasoning) = &answer.reasoning {
            message["thinking"] = reasoning.as_str().into();
        }
        if !answer.calls.is_empty() {
            let calls = answer.calls.iter().enumerate();
            message["tool_calls"] = calls
                .map(|(index, call)| {
                    let fields = arguments(&call.arguments).unwrap_or_default();
                    function(position, index, &call.id, &call.name, &fields)
                })
                .collect();
        }
        let usage = answer.usage.unwrap_or(Usage {
            input: 0,
            output: 0,
        });
        last(
            &body["model"],
            &message,
            answer.stop_reason.as_deref(),
            usage,
        )
    }
}

fn answers(body: &Value) -> Answers {
    count_by_role(body["messages"].as_array().map_or(&[][..], Vec::as_slice))
}

fn last(model: &Value, message: &Value, stop_reason: Option<&str>, usage: Usage) -> Value {
    json!({
        "model": model,
        "created_at": CREATED,
        "message": message,
        "done": true,
        "done_reason": stop_reason.unwrap_or("stop"),
        "total_duration": 3_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": usage.input,
        "prompt_eval_duration": 1_000_000,
        "eval_count": usage.output,
        "eval_duration": 1_000_000,
    })
}

fn function(
    position: usize,
    index: usize,
    id: &str,
    name: &str,
    arguments: &Map<String, Value>,
) -> Value {
    let function = json!({"index": index, "name": name, "arguments": arguments});
    if id == format!("call_{position}_{index}") {
        json!({"function": function})
    } else {
        json!({"id": id, "function": function})
    }
}

/// The arguments as an object; `None` where the text is none.
fn arguments(text: &str) -> Option<Map<String, Value>> {
    match text {
        "" | "null" => Some(Map::new()),
        text => serde_json::from_str(text).ok(),
    }
}

struct Lines {
    model: Value,
    position: usize,
    /// The calls whose arguments still come: place, id, name, arguments.
    open: Vec<(usize, String, String, String)>,
    /// Whether the answer ended with an error.
    failed: bool,
}

impl Lines {
    fn message(&self, message: &Value, out: &mut Vec<u8>) {
        let line =
            json!({"model": self.model, "created_at": CREATED, "message": message, "done": false});
        self.frame(&line.to_string(), out);
    }

    /// A call is whole. The server reads it itself, and fails if it cannot.
    fn call(&mut self, call: (usize, String, String, String), out: &mut Vec<u8>) {
        let (index, id, name, text) = call;
        let Some(arguments) = arguments(&text) else {
            self.failed = true;
            let error =
                format!("error parsing tool call: raw='{text}', err=unexpected end of JSON input");
            self.frame(&json!({"error": error}).to_string(), out);
            return;
        };
        let call = function(self.position, index, &id, &name, &arguments);
        let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
        self.message(&message, out);
    }
}

impl Encoder for Lines {
    fn encode(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        if self.failed {
            return;
        }
        match part {
            Part::Start
            | Part::TextStart
            | Part::TextEnd
            | Part::ReasoningStart
            | Part::ReasoningEnd => {}
            Part::Text(piece) => {
                self.message(&json!({"role": "assistant", "content": piece}), out);
            }
            Part::Reasoning(piece) => {
                let message = json!({"role": "assistant", "content": "", "thinking": piece});
                self.message(&message, out);
            }
            Part::CallStart { index, id, name } => {
                let call = (index, id.to_owned(), name.to_owned(), String::new());
                self.open.push(call);
            }
            Part::CallArguments { index, piece, .. } => {
                let call = self.open.iter_mut().find(|call| call.0 == index);
                if let Some((.., arguments)) = call {
                    arguments.push_str(piece);
                }
            }
            Part::CallEnd { id } => {
                if let Some(place) = self.open.iter().position(|call| call.1 == id) {
                    let call = self.open.remove(place);
                    self.call(call, out);
                }
            }
            Part::Error { message, .. } => {
                self.frame(&json!({"error": message}).to_string(), out);
            }
            Part::Finish { stop_reason, usage } => {
                let message = json!({"role": "assistant", "content": ""});
                let line = last(&self.model, &message, stop_reason, usage);
                self.frame(&line.to_string(), out);
            }
        }
    }

    fn frame(&self, data: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(data.as_bytes());
        out.push(b'\n');
    }
}
