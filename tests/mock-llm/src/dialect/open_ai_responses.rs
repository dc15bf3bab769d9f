//! OpenAI's Responses.
//!
//! Source: the API reference, <https://platform.openai.com/docs/api-reference/responses>, and its streaming
//! events, <https://platform.openai.com/docs/api-reference/responses-streaming>.

use serde_json::{Value, json};

use super::open_ai_chat::OpenAiChat;
use super::{
    Answers, Encoder, Frames, Part, Refusal, Setting, Speaker, Whole, Wire, count,
    server_sent_event,
};
use crate::writer::{Block, Usage};

/// A fixed time, so that a script gives the same bytes on every run.
const CREATED: u64 = 1_700_000_000;

pub(crate) struct OpenAiResponses;

impl Wire for OpenAiResponses {
    fn serves(&self, path: &str) -> bool {
        let below = path.strip_prefix("/v1/responses");
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }

    fn answers(&self, body: &Value) -> Answers {
        // A string is one message of the user.
        let items = body["input"].as_array().map_or(&[][..], Vec::as_slice);
        count(items.iter().map(
            |item| match (item["type"].as_str(), item["role"].as_str()) {
                (None | Some("message"), Some("user")) => Speaker::User,
                (None | Some("message"), Some("assistant")) => Speaker::Model,
                (None | Some("message"), _) => Speaker::Other,
                (Some(kind), _) if kind.ends_with("_output") => Speaker::Tool,
                _ => Speaker::Model,
            },
        ))
    }

    fn error(&self, refusal: &Refusal) -> Value {
        OpenAiChat.error(refusal)
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder> {
        Box::new(Events {
            response: Response::new(setting),
            number: 0,
        })
    }

    fn whole(&self, setting: &Setting, answer: &Whole) -> Value {
        let mut response = Response::new(setting);
        if let Some(text) = &answer.reasoning {
            let at = response.begin(Kind::Reasoning, "rs", "", "");
            response.items[at].text.push_str(text);
        }
        if let Some(text) = &answer.text {
            let at = response.begin(Kind::Message, "msg", "", "");
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

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Message,
    Refusal,
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
    /// The content so far: text, a summary, arguments.
    text: String,
    /// The part that only the service can read.
    seal: Option<String>,
    cites: bool,
}

impl Item {
    /// A custom tool's text is written in a script as the field `input` of its arguments.
    fn input(&self) -> String {
        let arguments: Value = serde_json::from_str(&self.text).unwrap_or_default();
        let input = arguments["input"].as_str().unwrap_or(&self.text);
        input.to_owned()
    }

    /// The part that a message has.
    fn part(&self, text: &str) -> Value {
        if self.kind == Kind::Refusal {
            return json!({"type": "refusal", "refusal": text});
        }
        let mut part =
            json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
        if self.cites && !text.is_empty() {
            part["annotations"] = json!([{
                "type": "url_citation", "url": "https://a.b", "title": "A", "start_index": 0, "end_index": 1,
            }]);
        }
        part
    }

    fn object(&self, status: &str) -> Value {
        let whole = status == "completed";
        let text = if whole { self.text.as_str() } else { "" };
        match self.kind {
            Kind::Message | Kind::Refusal => {
                let content = if whole {
                    json!([self.part(text)])
                } else {
                    json!([])
                };
                json!({"id": self.id, "type": "message", "status": status, "content": content, "role": "assistant"})
            }
            Kind::Reasoning => {
                let summary = if text.is_empty() {
                    json!([])
                } else {
                    json!([{"type": "summary_text", "text": text}])
                };
                let mut item = json!({"id": self.id, "type": "reasoning", "summary": summary});
                if let Some(seal) = &self.seal {
                    item["encrypted_content"] = seal.as_str().into();
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
    id: String,
    position: usize,
    request: Value,
    items: Vec<Item>,
}

impl Response {
    fn new(setting: &Setting) -> Self {
        let id = setting.response_id.clone();
        Self {
            id: id.unwrap_or_else(|| format!("resp_{}", setting.position)),
            position: setting.position,
            request: setting.request.clone(),
            items: Vec::new(),
        }
    }

    fn begin(&mut self, kind: Kind, prefix: &str, call_id: &str, name: &str) -> usize {
        let at = self.items.len();
        let id = format!("{prefix}_{}_{at}", self.position);
        let is_sealed = kind == Kind::Reasoning && self.is_encrypted();
        self.items.push(Item {
            kind,
            seal: is_sealed.then(|| format!("gAAAA-{id}")),
            id,
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            text: String::new(),
            cites: false,
        });
        at
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

    /// Returns whether reasoning is sent encrypted, for the client to keep.
    fn is_encrypted(&self) -> bool {
        let include = self.request["include"].as_array();
        include
            .into_iter()
            .flatten()
            .any(|name| name == "reasoning.encrypted_content")
    }

    fn item(&self, at: usize, status: &str) -> Value {
        self.items[at].object(status)
    }

    /// Returns whether the answer is made in the background.
    fn is_in_background(&self) -> bool {
        self.request["background"] == true
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
            let mut details = json!({"cached_tokens": 0});
            // Newer than the rest: other answers keep the bytes that tests know.
            if self.is_in_background() {
                details["cache_write_tokens"] = 0.into();
            }
            json!({
                "input_tokens": usage.input,
                "input_tokens_details": details,
                "output_tokens": usage.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.input.saturating_add(usage.output),
            })
        });
        json!({
            "id": self.id,
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "background": self.is_in_background(),
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
    /// Writes one event: its type and its number, and then its fields.
    fn event(&mut self, kind: &str, fields: Value, out: &mut Frames) {
        let mut event = json!({"type": kind, "sequence_number": self.number});
        self.number += 1;
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        out.push(server_sent_event(Some(kind), &event.to_string()));
    }

    fn added(&mut self, at: usize, out: &mut Frames) {
        let item = self.response.item(at, "in_progress");
        let fields = json!({"output_index": at, "item": item});
        self.event("response.output_item.added", fields, out);
    }

    fn done(&mut self, at: usize, out: &mut Frames) {
        let item = self.response.item(at, "completed");
        let fields = json!({"output_index": at, "item": item});
        self.event("response.output_item.done", fields, out);
    }

    /// Writes a piece, with characters next to it that hide its length.
    fn delta(&mut self, kind: &str, at: usize, mut fields: Value, out: &mut Frames) {
        fields["obfuscation"] = "abcdef".get(self.number % 6..).into();
        self.of_item(&format!("response.{kind}.delta"), at, fields, out);
    }

    /// An event about an item.
    fn of_item(&mut self, kind: &str, at: usize, mut fields: Value, out: &mut Frames) {
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

    fn says(&mut self, piece: &str, out: &mut Frames) {
        let at = self.last();
        let item = &mut self.response.items[at];
        item.text.push_str(piece);
        let (kind, fields) = match item.kind {
            Kind::Refusal => ("refusal", json!({"content_index": 0, "delta": piece})),
            _ => (
                "output_text",
                json!({"content_index": 0, "delta": piece, "logprobs": []}),
            ),
        };
        self.delta(kind, at, fields, out);
    }

    fn thinks(&mut self, piece: &str, out: &mut Frames) {
        let at = self.last();
        self.response.items[at].text.push_str(piece);
        let fields = json!({"summary_index": 0, "delta": piece});
        self.delta("reasoning_summary_text", at, fields, out);
    }

    fn end_call(&mut self, at: usize, out: &mut Frames) {
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
    fn encode(&mut self, part: Part<'_>, out: &mut Frames) {
        match part {
            Part::Start => {
                let response = self.response.object(None, None);
                if self.response.is_in_background() {
                    let mut queued = response.clone();
                    queued["status"] = "queued".into();
                    let fields = json!({ "response": queued });
                    self.event("response.created", fields.clone(), out);
                    self.event("response.queued", fields, out);
                } else {
                    self.event("response.created", json!({ "response": response }), out);
                }
                self.event("response.in_progress", json!({ "response": response }), out);
            }
            Part::Begin(Block::Reasoning) => {
                let at = self.response.begin(Kind::Reasoning, "rs", "", "");
                self.added(at, out);
                let fields =
                    json!({"summary_index": 0, "part": {"type": "summary_text", "text": ""}});
                self.of_item("response.reasoning_summary_part.added", at, fields, out);
            }
            Part::Piece(Block::Reasoning, piece) => self.thinks(piece, out),
            Part::Sealed(piece, seal) => {
                self.thinks(piece, out);
                let at = self.last();
                self.response.items[at].seal = Some(seal.to_owned());
            }
            Part::End(Block::Reasoning) => {
                let at = self.last();
                let text = self.response.items[at].text.clone();
                let fields = json!({"summary_index": 0, "text": text});
                self.of_item("response.reasoning_summary_text.done", at, fields, out);
                let fields =
                    json!({"summary_index": 0, "part": {"type": "summary_text", "text": text}});
                self.of_item("response.reasoning_summary_part.done", at, fields, out);
                self.done(at, out);
            }
            Part::Redacted(data) => {
                let at = self.response.begin(Kind::Reasoning, "rs", "", "");
                self.response.items[at].seal = Some(data.to_owned());
                self.added(at, out);
                self.done(at, out);
            }
            Part::Begin(block) => {
                let kind = match block {
                    Block::Refusal => Kind::Refusal,
                    _ => Kind::Message,
                };
                let at = self.response.begin(kind, "msg", "", "");
                self.added(at, out);
                let part = self.response.items[at].part("");
                let fields = json!({"content_index": 0, "part": part});
                self.of_item("response.content_part.added", at, fields, out);
            }
            Part::Piece(_, piece) => self.says(piece, out),
            Part::Cited(piece) => {
                let at = self.last();
                self.response.items[at].cites = true;
                self.says(piece, out);
            }
            Part::End(block) => {
                let at = self.last();
                let text = self.response.items[at].text.clone();
                if block == Block::Refusal {
                    let fields = json!({"content_index": 0, "refusal": text});
                    self.of_item("response.refusal.done", at, fields, out);
                } else {
                    let fields = json!({"content_index": 0, "text": text, "logprobs": []});
                    self.of_item("response.output_text.done", at, fields, out);
                }
                let part = self.response.items[at].part(&text);
                let fields = json!({"content_index": 0, "part": part});
                self.of_item("response.content_part.done", at, fields, out);
                self.done(at, out);
            }
            Part::CallStart { id, name, .. } => {
                let at = self.response.begin_call(id, name);
                self.added(at, out);
            }
            Part::CallArguments { id, piece, .. } => {
                let Some(at) = self.call(id) else { return };
                self.response.items[at].text.push_str(piece);
                // A custom tool's text is known when the arguments are complete.
                if self.response.items[at].kind == Kind::Function {
                    let fields = json!({ "delta": piece });
                    self.delta("function_call_arguments", at, fields, out);
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
                let response = self.response.object(Some(stop_reason), usage);
                let kind = match response["status"].as_str() {
                    Some(status) => format!("response.{status}"),
                    None => return,
                };
                self.event(&kind, json!({ "response": response }), out);
            }
        }
    }
}
