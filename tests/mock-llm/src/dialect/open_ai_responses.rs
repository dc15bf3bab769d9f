//! OpenAI's Responses.
//!
//! Source: the API reference, <https://platform.openai.com/docs/api-reference/responses>, and its streaming
//! events, <https://platform.openai.com/docs/api-reference/responses-streaming>. The wording of the
//! refusals is that of the service.

mod check;
mod pairing;

use serde_json::{Value, json};

use super::open_ai_chat::OpenAiChat;
use super::{Answer, Answers, Asked, Encoder, Part, Refusal, Speaker, Wire, count};
use crate::hop::Usage;

/// A fixed time, so that a script gives the same bytes on every run.
const CREATED: u64 = 1_700_000_000;

pub(crate) struct OpenAiResponses;

impl Wire for OpenAiResponses {
    fn serves(&self, path: &str) -> bool {
        path == "/v1/responses"
    }

    fn read(&self, body: &Value, lenient: bool) -> Result<Asked, Refusal> {
        if !body.is_object() {
            // Says that the body is no JSON, as for every API of the service.
            return OpenAiChat.read(body, lenient);
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
        OpenAiChat.error(refusal)
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn encoder(&self, body: &Value, position: usize) -> Box<dyn Encoder> {
        Box::new(Events {
            response: Response::new(body, position),
            number: 0,
        })
    }

    fn whole(&self, body: &Value, position: usize, answer: &Answer) -> Value {
        let mut response = Response::new(body, position);
        if let Some(text) = &answer.reasoning {
            let at = response.begin_reasoning();
            response.items[at].text.push_str(text);
        }
        if let Some(text) = &answer.text {
            let at = response.begin_message();
            response.items[at].text.push_str(text);
        }
        for call in &answer.calls {
            let at = response.begin_call(&call.id, &call.name);
            response.items[at].text.push_str(&call.arguments);
        }
        response.object(
            answer.stop_reason.as_deref().or(Some("completed")),
            answer.usage,
        )
    }
}

/// The items of the request that came from elsewhere: a string is one message of the user.
fn items(body: &Value) -> &[Value] {
    body["input"].as_array().map_or(&[][..], Vec::as_slice)
}

fn answers(body: &Value) -> Answers {
    count(items(body).iter().map(
        |item| match (item["type"].as_str(), item["role"].as_str()) {
            (None | Some("message"), Some("user")) => Speaker::User,
            (None | Some("message"), Some("assistant")) => Speaker::Model,
            (None | Some("message"), _) => Speaker::Other,
            (Some(kind), _) if kind.ends_with("_output") => Speaker::Tool,
            _ => Speaker::Model,
        },
    ))
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Message,
    Reasoning,
    Function,
    /// A tool that takes free text.
    Custom,
}

/// An output item.
struct Item {
    kind: Kind,
    id: String,
    call_id: String,
    name: String,
    /// What it says so far: text, a summary, arguments.
    text: String,
}

impl Item {
    /// A custom tool's text is written in a script as the field `input` of its arguments.
    fn input(&self) -> String {
        let arguments: Value = serde_json::from_str(&self.text).unwrap_or_default();
        let input = arguments["input"].as_str().unwrap_or(&self.text);
        input.to_owned()
    }

    fn object(&self, status: &str, encrypted: bool) -> Value {
        let whole = status == "completed";
        let text = if whole { self.text.as_str() } else { "" };
        match self.kind {
            Kind::Message => {
                let part =
                    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
                let content = if whole { json!([part]) } else { json!([]) };
                json!({"id": self.id, "type": "message", "status": status, "content": content, "role": "assistant"})
            }
            Kind::Reasoning => {
                let summary = if text.is_empty() {
                    json!([])
                } else {
                    json!([{"type": "summary_text", "text": text}])
                };
                let mut item = json!({"id": self.id, "type": "reasoning", "summary": summary});
                if encrypted {
                    item["encrypted_content"] = format!("gAAAA-{}", self.id).into();
                }
                item
            }
            Kind::Function => {
                json!({"id": self.id, "type": "function_call", "status": status, "arguments": text, "call_id": self.call_id, "name": self.name})
            }
            Kind::Custom => {
                let input = if whole { self.input() } else { String::new() };
                json!({"id": self.id, "type": "custom_tool_call", "status": status, "input": input, "call_id": self.call_id, "name": self.name})
            }
        }
    }
}

/// The answer so far.
struct Response {
    position: usize,
    request: Value,
    items: Vec<Item>,
}

impl Response {
    fn new(body: &Value, position: usize) -> Self {
        Self {
            position,
            request: body.clone(),
            items: Vec::new(),
        }
    }

    fn begin(&mut self, kind: Kind, prefix: &str, call_id: &str, name: &str) -> usize {
        let at = self.items.len();
        self.items.push(Item {
            kind,
            id: format!("{prefix}_{}_{at}", self.position),
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            text: String::new(),
        });
        at
    }

    fn begin_message(&mut self) -> usize {
        self.begin(Kind::Message, "msg", "", "")
    }

    fn begin_reasoning(&mut self) -> usize {
        self.begin(Kind::Reasoning, "rs", "", "")
    }

    fn begin_call(&mut self, call_id: &str, name: &str) -> usize {
        let is_custom = self.request["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|tool| tool["type"] == "custom" && tool["name"] == name);
        if is_custom {
            self.begin(Kind::Custom, "ctc", call_id, name)
        } else {
            self.begin(Kind::Function, "fc", call_id, name)
        }
    }

    /// Whether reasoning is sent encrypted, for the client to keep.
    fn is_encrypted(&self) -> bool {
        let include = self.request["include"].as_array();
        include
            .into_iter()
            .flatten()
            .any(|name| name == "reasoning.encrypted_content")
    }

    fn item(&self, at: usize, status: &str) -> Value {
        self.items[at].object(status, self.is_encrypted())
    }

    /// The response object: over for the reason given, else still in progress.
    fn object(&self, stop_reason: Option<&str>, usage: Option<Usage>) -> Value {
        let output: Vec<_> = match stop_reason {
            Some(_) => (0..self.items.len())
                .map(|at| self.item(at, "completed"))
                .collect(),
            None => Vec::new(),
        };
        let (status, details) = match stop_reason {
            None => ("in_progress", Value::Null),
            Some("completed") => ("completed", Value::Null),
            Some("failed") => ("failed", Value::Null),
            Some(reason) => ("incomplete", json!({ "reason": reason })),
        };
        let asked = |name: &str, default: Value| match &self.request[name] {
            Value::Null => default,
            value => value.clone(),
        };
        let usage = usage.map(|usage| {
            json!({
                "input_tokens": usage.input,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": usage.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.input.saturating_add(usage.output),
            })
        });
        json!({
            "id": format!("resp_{}", self.position),
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "background": false,
            "error": null,
            "incomplete_details": details,
            "instructions": self.request["instructions"],
            "max_output_tokens": self.request["max_output_tokens"],
            "model": self.request["model"],
            "output": output,
            "parallel_tool_calls": asked("parallel_tool_calls", true.into()),
            "previous_response_id": null,
            "reasoning": asked("reasoning", json!({"effort": null, "summary": null})),
            "store": asked("store", true.into()),
            "temperature": asked("temperature", json!(1.0)),
            "text": asked("text", json!({"format": {"type": "text"}})),
            "tool_choice": asked("tool_choice", "auto".into()),
            "tools": asked("tools", json!([])),
            "usage": usage,
        })
    }
}

struct Events {
    response: Response,
    /// The number of the next event.
    number: usize,
}

impl Events {
    /// One event: its fields behind its type and its number.
    fn event(&mut self, kind: &str, fields: Value, out: &mut Vec<u8>) {
        let mut event = json!({"type": kind, "sequence_number": self.number});
        self.number += 1;
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        out.extend_from_slice(format!("event: {kind}\ndata: {event}\n\n").as_bytes());
    }

    fn added(&mut self, at: usize, out: &mut Vec<u8>) {
        let item = self.response.item(at, "in_progress");
        let fields = json!({"output_index": at, "item": item});
        self.event("response.output_item.added", fields, out);
    }

    fn done(&mut self, at: usize, out: &mut Vec<u8>) {
        let item = self.response.item(at, "completed");
        let fields = json!({"output_index": at, "item": item});
        self.event("response.output_item.done", fields, out);
    }

    /// An event about an item.
    fn of_item(&mut self, kind: &str, at: usize, mut fields: Value, out: &mut Vec<u8>) {
        fields["item_id"] = self.response.items[at].id.as_str().into();
        fields["output_index"] = at.into();
        self.event(kind, fields, out);
    }

    fn last(&self) -> usize {
        self.response.items.len().saturating_sub(1)
    }

    fn call(&self, id: &str) -> Option<usize> {
        let items = &self.response.items;
        items.iter().rposition(|item| item.call_id == id)
    }

    fn end_call(&mut self, at: usize, out: &mut Vec<u8>) {
        let item = &self.response.items[at];
        if item.kind == Kind::Custom {
            let input = item.input();
            let kind = "response.custom_tool_call_input";
            let delta = json!({ "delta": input });
            self.of_item(&format!("{kind}.delta"), at, delta, out);
            self.of_item(&format!("{kind}.done"), at, json!({ "input": input }), out);
        } else {
            let fields = json!({"arguments": item.text});
            self.of_item("response.function_call_arguments.done", at, fields, out);
        }
        self.done(at, out);
    }
}

impl Encoder for Events {
    fn encode(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Start => {
                let response = self.response.object(None, None);
                self.event("response.created", json!({ "response": response }), out);
                self.event("response.in_progress", json!({ "response": response }), out);
            }
            Part::TextStart => {
                let at = self.response.begin_message();
                self.added(at, out);
                let part =
                    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": ""});
                let fields = json!({"content_index": 0, "part": part});
                self.of_item("response.content_part.added", at, fields, out);
            }
            Part::Text(piece) => {
                let at = self.last();
                self.response.items[at].text.push_str(piece);
                let fields = json!({"content_index": 0, "delta": piece, "logprobs": []});
                self.of_item("response.output_text.delta", at, fields, out);
            }
            Part::TextEnd => {
                let at = self.last();
                let text = self.response.items[at].text.clone();
                let fields = json!({"content_index": 0, "text": text, "logprobs": []});
                self.of_item("response.output_text.done", at, fields, out);
                let part =
                    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
                let fields = json!({"content_index": 0, "part": part});
                self.of_item("response.content_part.done", at, fields, out);
                self.done(at, out);
            }
            Part::ReasoningStart => {
                let at = self.response.begin_reasoning();
                self.added(at, out);
                let fields =
                    json!({"summary_index": 0, "part": {"type": "summary_text", "text": ""}});
                self.of_item("response.reasoning_summary_part.added", at, fields, out);
            }
            Part::Reasoning(piece) => {
                let at = self.last();
                self.response.items[at].text.push_str(piece);
                let fields = json!({"summary_index": 0, "delta": piece});
                self.of_item("response.reasoning_summary_text.delta", at, fields, out);
            }
            Part::ReasoningEnd => {
                let at = self.last();
                let text = self.response.items[at].text.clone();
                let fields = json!({"summary_index": 0, "text": text});
                self.of_item("response.reasoning_summary_text.done", at, fields, out);
                let fields =
                    json!({"summary_index": 0, "part": {"type": "summary_text", "text": text}});
                self.of_item("response.reasoning_summary_part.done", at, fields, out);
                self.done(at, out);
            }
            Part::CallStart { id, name, .. } => {
                let at = self.response.begin_call(id, name);
                self.added(at, out);
            }
            Part::CallArguments { id, piece, .. } => {
                let Some(at) = self.call(id) else { return };
                self.response.items[at].text.push_str(piece);
                // A custom tool's text is known when the arguments are whole.
                if self.response.items[at].kind == Kind::Function {
                    let fields = json!({ "delta": piece });
                    self.of_item("response.function_call_arguments.delta", at, fields, out);
                }
            }
            Part::CallEnd { id } => {
                if let Some(at) = self.call(id) {
                    self.end_call(at, out);
                }
            }
            Part::Error { message, code } => {
                let code = code.unwrap_or("server_error");
                let fields = json!({"code": code, "message": message, "param": null});
                self.event("error", fields, out);
                let mut response = self.response.object(Some("failed"), None);
                response["error"] = json!({"code": code, "message": message});
                self.event("response.failed", json!({ "response": response }), out);
            }
            Part::Finish { stop_reason, usage } => {
                let stop_reason = stop_reason.unwrap_or("completed");
                let response = self.response.object(Some(stop_reason), Some(usage));
                let kind = match response["status"].as_str() {
                    Some(status) => format!("response.{status}"),
                    None => return,
                };
                self.event(&kind, json!({ "response": response }), out);
            }
        }
    }

    fn frame(&self, data: &str, out: &mut Vec<u8>) {
        super::server_sent_event(data, out);
    }
}
