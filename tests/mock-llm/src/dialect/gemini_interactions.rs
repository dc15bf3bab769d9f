//! Google's Gemini: the Interactions API.
//!
//! Sources: <https://ai.google.dev/gemini-api/docs/interactions/streaming>, and the types of the package `google-genai`.
//! Thoughts are signed, and the first call of an answer whose id the script chose, as the model's other API has it. The
//! events of an answer in the background have ids.

use serde_json::{Map, Value, json};

use super::{
    Answers, Encoder, Frames, Part, Refusal, Setting, Speaker, Whole, Wire, count, object,
    server_sent_event,
};
use crate::answer::made_id;
use crate::writer::{Block, Usage};

/// A fixed time, so that a script gives the same bytes on every run.
const CREATED: &str = "2026-06-01T00:00:00Z";

pub(crate) struct GeminiInteractions;

impl Wire for GeminiInteractions {
    fn serves(&self, path: &str) -> bool {
        let below = path.strip_prefix("/v1beta/interactions");
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }

    fn answers(&self, body: &Value) -> Answers {
        // A string is one message of the user.
        let steps = body["input"].as_array().map_or(&[][..], Vec::as_slice);
        count(steps.iter().map(|step| match step["type"].as_str() {
            Some("user_input") => Speaker::User,
            Some("function_result") => Speaker::Tool,
            _ => Speaker::Model,
        }))
    }

    fn error(&self, refusal: &Refusal) -> Value {
        let code = refusal.code.unwrap_or(match refusal.status {
            400 => "invalid_request",
            401 => "unauthenticated",
            403 => "permission_denied",
            404 => "not_found",
            429 => "too_many_requests",
            503 => "unavailable",
            _ => "internal",
        });
        json!({"error": {"code": code, "message": refusal.message}})
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream"
    }

    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder> {
        Box::new(Events {
            interaction: Interaction::new(setting),
            number: 0,
        })
    }

    fn whole(&self, setting: &Setting, answer: &Whole) -> Value {
        let mut interaction = Interaction::new(setting);
        if let Some(text) = &answer.reasoning {
            let at = interaction.begin(Kind::Thought, "", "");
            interaction.steps[at].text.push_str(text);
            interaction.sign(at, None);
        }
        if let Some(text) = &answer.text {
            let at = interaction.begin(Kind::Output, "", "");
            interaction.steps[at].text.push_str(text);
        }
        for (index, call) in answer.calls.iter().enumerate() {
            let at = interaction.begin(Kind::Call, &call.id, &call.name);
            interaction.sign_call(at, index, None);
            interaction.steps[at].text.push_str(&call.arguments);
        }
        let status = answer.stop_reason.as_deref();
        let status = status.unwrap_or_else(|| interaction.usual_status());
        let mut whole = interaction.object(status, answer.usage);
        whole["steps"] = interaction.steps();
        whole
    }
}

/// Returns the id of an event with this number. It has characters that an address cannot have.
pub(super) fn event_id(number: u64) -> String {
    format!("ev/{number}=")
}

/// Returns the number of the event with this id.
pub(super) fn number_of(id: &str) -> Option<u64> {
    id.strip_prefix("ev/")?.strip_suffix('=')?.parse().ok()
}

/// Returns an event: its fields, its id if it has one, and its type.
pub(super) fn event(kind: &str, fields: Value, id: Option<&str>) -> Vec<u8> {
    let mut event = fields;
    if let Some(id) = id {
        event["event_id"] = id.into();
    }
    event["event_type"] = kind.into();
    server_sent_event(Some(kind), &event.to_string())
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Thought,
    Output,
    Call,
}

struct Step {
    kind: Kind,
    id: String,
    name: String,
    /// The content so far: text, a summary, arguments.
    text: String,
    signature: Option<String>,
    cites: bool,
}

impl Step {
    /// The step as it starts.
    fn start(&self) -> Value {
        let mut step = match self.kind {
            Kind::Thought => json!({"type": "thought"}),
            Kind::Output => json!({"type": "model_output"}),
            Kind::Call => json!({
                "type": "function_call", "id": self.id, "name": self.name, "arguments": {},
            }),
        };
        if let (Kind::Call, Some(signature)) = (self.kind, &self.signature) {
            step["signature"] = signature.as_str().into();
        }
        step
    }

    /// The complete step.
    fn object(&self) -> Value {
        let mut step = self.start();
        if let Some(signature) = &self.signature {
            step["signature"] = signature.as_str().into();
        }
        let mut content = json!({"type": "text", "text": self.text});
        match self.kind {
            Kind::Thought if self.text.is_empty() => {}
            Kind::Thought => step["summary"] = json!([content]),
            Kind::Output => {
                if self.cites {
                    content["annotations"] = json!([annotation()]);
                }
                step["content"] = json!([content]);
            }
            Kind::Call => step["arguments"] = object(&self.text).unwrap_or_default().into(),
        }
        step
    }
}

fn annotation() -> Value {
    json!({"type": "url_citation", "url": "https://a.b", "title": "A", "start_index": 0, "end_index": 1})
}

/// The interaction so far.
struct Interaction {
    id: String,
    position: usize,
    request: Value,
    steps: Vec<Step>,
}

impl Interaction {
    fn new(setting: &Setting) -> Self {
        let id = setting.response_id.clone();
        Self {
            id: id.unwrap_or_else(|| format!("v1_{}", setting.position)),
            position: setting.position,
            request: setting.request.clone(),
            steps: Vec::new(),
        }
    }

    fn begin(&mut self, kind: Kind, id: &str, name: &str) -> usize {
        self.steps.push(Step {
            kind,
            id: id.to_owned(),
            name: name.to_owned(),
            text: String::new(),
            signature: None,
            cites: false,
        });
        self.steps.len() - 1
    }

    /// Signs a thought.
    fn sign(&mut self, at: usize, seal: Option<&str>) {
        let signature =
            seal.map_or_else(|| format!("thought-{}-{at}", self.position), str::to_owned);
        self.steps[at].signature.get_or_insert(signature);
    }

    /// Signs the first call of an answer without a thought, if the script chose its id.
    fn sign_call(&mut self, at: usize, index: usize, seal: Option<&str>) {
        let is_signed = self.steps.iter().any(|step| step.signature.is_some());
        let step = &mut self.steps[at];
        let is_chosen = step.id != made_id(self.position, index);
        let own = (is_chosen && !is_signed).then(|| format!("signature-{}", step.id));
        step.signature = seal.map(str::to_owned).or(own);
    }

    fn is_in_background(&self) -> bool {
        self.request["background"] == true
    }

    fn usual_status(&self) -> &'static str {
        match self.steps.iter().any(|step| step.kind == Kind::Call) {
            true => "requires_action",
            false => "completed",
        }
    }

    fn steps(&self) -> Value {
        self.steps.iter().map(Step::object).collect()
    }

    fn object(&self, status: &str, usage: Option<Usage>) -> Value {
        let mut interaction = json!({
            "id": self.id, "status": status, "object": "interaction", "model": self.request["model"],
            "created": CREATED, "updated": CREATED,
        });
        if let Some(usage) = usage {
            interaction["usage"] = json!({
                "total_input_tokens": usage.input,
                "total_output_tokens": usage.output,
                "total_thought_tokens": 0,
                "total_cached_tokens": 0,
                "total_tokens": usage.input.saturating_add(usage.output),
            });
        }
        interaction
    }
}

struct Events {
    interaction: Interaction,
    /// The number of the next event.
    number: u64,
}

impl Events {
    fn event(&mut self, kind: &str, fields: Value, out: &mut Frames) {
        let id = self
            .interaction
            .is_in_background()
            .then(|| event_id(self.number));
        self.number += 1;
        out.push(event(kind, fields, id.as_deref()));
    }

    fn start(&mut self, at: usize, out: &mut Frames) {
        let step = self.interaction.steps[at].start();
        self.event("step.start", json!({"index": at, "step": step}), out);
    }

    fn delta(&mut self, at: usize, delta: &Value, out: &mut Frames) {
        self.event("step.delta", json!({"index": at, "delta": delta}), out);
    }

    fn stop(&mut self, at: usize, out: &mut Frames) {
        self.event("step.stop", json!({ "index": at }), out);
    }

    fn last(&self) -> usize {
        self.interaction.steps.len().saturating_sub(1)
    }

    fn says(&mut self, piece: &str, out: &mut Frames) {
        let at = self.last();
        self.interaction.steps[at].text.push_str(piece);
        self.delta(at, &json!({"type": "text", "text": piece}), out);
    }

    fn thinks(&mut self, piece: &str, out: &mut Frames) {
        let at = self.last();
        self.interaction.steps[at].text.push_str(piece);
        let content = json!({"type": "text", "text": piece});
        let delta = json!({"type": "thought_summary", "content": content});
        self.delta(at, &delta, out);
    }

    /// Ends a thought, with its signature.
    fn end_thought(&mut self, seal: Option<&str>, out: &mut Frames) {
        let at = self.last();
        self.interaction.sign(at, seal);
        let signature = self.interaction.steps[at].signature.clone();
        let delta = json!({"type": "thought_signature", "signature": signature});
        self.delta(at, &delta, out);
        self.stop(at, out);
    }

    fn call(&self, id: &str) -> Option<usize> {
        let is_it = |step: &Step| step.kind == Kind::Call && step.id == id;
        self.interaction.steps.iter().rposition(is_it)
    }

    /// Ends the interaction, and the body.
    fn complete(&mut self, mut interaction: Value, out: &mut Frames) {
        if self.interaction.is_in_background() {
            interaction["steps"] = self.interaction.steps();
        }
        let fields = json!({ "interaction": interaction });
        self.event("interaction.completed", fields, out);
        out.push(server_sent_event(Some("done"), "[DONE]"));
    }
}

impl Encoder for Events {
    fn encode(&mut self, part: Part<'_>, out: &mut Frames) {
        match part {
            Part::Start => {
                let mut interaction = self.interaction.object("in_progress", None);
                // The first event has little of it.
                if let Some(fields) = interaction.as_object_mut() {
                    fields.retain(|name, _| !matches!(name.as_str(), "created" | "updated"));
                }
                let id = interaction["id"].clone();
                let fields = json!({ "interaction": interaction });
                self.event("interaction.created", fields, out);
                let mut fields = Map::new();
                fields.insert("interaction_id".to_owned(), id);
                fields.insert("status".to_owned(), "in_progress".into());
                self.event("interaction.status_update", fields.into(), out);
            }
            Part::Begin(Block::Reasoning) => {
                let at = self.interaction.begin(Kind::Thought, "", "");
                self.start(at, out);
            }
            Part::Piece(Block::Reasoning, piece) => self.thinks(piece, out),
            Part::Sealed(piece, seal) => {
                self.thinks(piece, out);
                let at = self.last();
                self.interaction.sign(at, Some(seal));
            }
            Part::End(Block::Reasoning) => self.end_thought(None, out),
            Part::Redacted(data) => {
                let at = self.interaction.begin(Kind::Thought, "", "");
                self.start(at, out);
                self.end_thought(Some(data), out);
            }
            Part::Begin(_) => {
                let at = self.interaction.begin(Kind::Output, "", "");
                self.start(at, out);
            }
            Part::Piece(_, piece) => self.says(piece, out),
            Part::Cited(piece) => {
                self.says(piece, out);
                let at = self.last();
                self.interaction.steps[at].cites = true;
                let annotations = json!([annotation()]);
                let delta = json!({"type": "text_annotation_delta", "annotations": annotations});
                self.delta(at, &delta, out);
            }
            Part::End(_) => {
                let at = self.last();
                self.stop(at, out);
            }
            Part::CallStart {
                index,
                id,
                name,
                seal,
            } => {
                let at = self.interaction.begin(Kind::Call, id, name);
                self.interaction.sign_call(at, index, seal);
                self.start(at, out);
            }
            Part::CallArguments { id, piece, .. } => {
                let Some(at) = self.call(id) else { return };
                self.interaction.steps[at].text.push_str(piece);
                let delta = json!({"type": "arguments_delta", "arguments": piece});
                self.delta(at, &delta, out);
            }
            Part::CallEnd { id } => {
                if let Some(at) = self.call(id) {
                    self.stop(at, out);
                }
            }
            Part::Error { message, code } => {
                let error = json!({"code": code.unwrap_or("internal"), "message": message});
                self.event("error", json!({ "error": error }), out);
                let mut interaction = self.interaction.object("failed", None);
                interaction["errors"] = json!([error]);
                self.complete(interaction, out);
            }
            Part::Finish { stop_reason, usage } => {
                let status = stop_reason.unwrap_or_else(|| self.interaction.usual_status());
                let interaction = self.interaction.object(status, usage);
                self.complete(interaction, out);
            }
        }
    }
}
