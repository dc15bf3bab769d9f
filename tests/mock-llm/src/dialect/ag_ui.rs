//! AG-UI 1.0 over server-sent events.
//!
//! Source: the AG-UI protocol, <https://docs.ag-ui.com/concepts/events>, and its JSON Schema 1.0.

use serde_json::{Value, json};

use super::{
    Answers, Encoder, Frames, Part, Refusal, Setting, Speaker, Wire, count, server_sent_event,
};
use crate::writer::Block;

const PROTOCOL_VERSION: &str = "1.0";
pub(crate) struct AgUi;

impl Wire for AgUi {
    fn serves(&self, path: &str) -> bool {
        path == "/ag-ui"
    }

    fn streams(&self, _body: &Value) -> bool {
        true
    }

    fn answers(&self, body: &Value) -> Answers {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        count(
            messages
                .iter()
                .map(|message| match message["role"].as_str() {
                    Some("user") => Speaker::User,
                    Some("assistant") => Speaker::Model,
                    Some("tool") => Speaker::Tool,
                    _ => Speaker::Other,
                }),
        )
    }

    /// The protocol leaves the body of an HTTP error open; these are the fields of `RUN_ERROR`.
    fn error(&self, refusal: &Refusal) -> Value {
        let code = refusal
            .code
            .map_or_else(|| format!("http_{}", refusal.status), str::to_owned);
        json!({"message": refusal.message, "code": code})
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream"
    }

    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder> {
        let body = &setting.request;
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        Box::new(Events {
            thread_id: text("threadId"),
            run_id: text("runId"),
            parent_run_id: body["parentRunId"].as_str().map(str::to_owned),
            splits: setting.splits,
            texts: 0,
            reasoning: 0,
            calls: Vec::new(),
        })
    }
}

struct Events {
    thread_id: String,
    run_id: String,
    parent_run_id: Option<String>,
    /// Whether each text is a message of its own.
    splits: bool,
    /// Texts begun.
    texts: usize,
    /// Reasoning messages begun.
    reasoning: usize,
    calls: Vec<String>,
}

impl Events {
    /// The one assistant message of the answer. Text after a tool call opens it again, which appends: so
    /// an answer is one message in every client's history, as it is for the other providers.
    fn message_id(&self) -> String {
        if self.splits {
            return format!("{}-message-{}", self.run_id, self.texts);
        }
        format!("{}-message", self.run_id)
    }

    fn reasoning_id(&self) -> String {
        format!("{}-reasoning-{}", self.run_id, self.reasoning)
    }

    fn events(&mut self, part: Part<'_>) -> Vec<Value> {
        let message = self.message_id();
        match part {
            Part::Start => {
                let mut started = json!({
                    "type": "RUN_STARTED",
                    "threadId": self.thread_id,
                    "runId": self.run_id,
                    "protocolVersion": PROTOCOL_VERSION,
                });
                if let Some(parent) = &self.parent_run_id {
                    started["parentRunId"] = parent.as_str().into();
                }
                vec![started]
            }
            Part::Begin(Block::Reasoning) => {
                self.reasoning += 1;
                let id = self.reasoning_id();
                vec![
                    json!({"type": "REASONING_START", "messageId": id}),
                    json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}),
                ]
            }
            Part::Piece(Block::Reasoning, piece) => {
                let id = self.reasoning_id();
                vec![json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": piece})]
            }
            Part::Sealed(piece, seal) => {
                let id = self.reasoning_id();
                vec![
                    json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": piece}),
                    json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": id, "encryptedValue": seal}),
                ]
            }
            Part::End(Block::Reasoning) => {
                let id = self.reasoning_id();
                vec![
                    json!({"type": "REASONING_MESSAGE_END", "messageId": id}),
                    json!({"type": "REASONING_END", "messageId": id}),
                ]
            }
            Part::Redacted(_) => Vec::new(),
            Part::Begin(_) => {
                self.texts += 1;
                let id = self.message_id();
                vec![json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"})]
            }
            Part::Piece(_, piece) | Part::Cited(piece) => {
                vec![json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": piece})]
            }
            Part::End(_) => vec![json!({"type": "TEXT_MESSAGE_END", "messageId": message})],
            Part::CallStart { id, name, .. } => {
                self.calls.push(id.to_owned());
                let parent = if self.splits {
                    format!("{}-calls", self.run_id)
                } else {
                    message
                };
                vec![json!({
                    "type": "TOOL_CALL_START",
                    "toolCallId": id,
                    "toolCallName": name,
                    "parentMessageId": parent,
                })]
            }
            Part::CallArguments { id, piece, .. } => {
                vec![json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": piece})]
            }
            Part::CallEnd { id } => vec![json!({"type": "TOOL_CALL_END", "toolCallId": id})],
            Part::Error { message, code } => {
                let mut error = json!({"type": "RUN_ERROR", "message": message});
                if let Some(code) = code {
                    error["code"] = code.into();
                }
                vec![error]
            }
            Part::Finish { usage, .. } => {
                let mut finished = json!({
                    "type": "RUN_FINISHED",
                    "threadId": self.thread_id,
                    "runId": self.run_id,
                });
                if let Some(usage) = usage {
                    let total = usage.input.saturating_add(usage.output);
                    let usage = json!({"inputTokens": usage.input, "outputTokens": usage.output, "totalTokens": total});
                    finished["usage"] = json!([usage]);
                }
                if !self.calls.is_empty() {
                    finished["outcome"] =
                        json!({"type": "success", "pendingToolCallIds": self.calls});
                }
                vec![finished]
            }
        }
    }
}

impl Encoder for Events {
    fn encode(&mut self, part: Part<'_>, out: &mut Frames) {
        let events = self.events(part).into_iter();
        out.extend(events.map(|event| server_sent_event(None, &event.to_string())));
    }
}
