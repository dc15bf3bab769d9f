//! AG-UI 1.0 over server-sent events.
//!
//! Source: the AG-UI protocol, <https://docs.ag-ui.com/concepts/events>, and its JSON Schema 1.0.

use serde_json::{Value, json};

use super::{
    Answer, Answers, Asked, Encoder, Part, Refusal, Speaker, Wire, count, server_sent_event,
};

const PROTOCOL_VERSION: &str = "1.0";
const ROLES: [&str; 6] = [
    "developer",
    "system",
    "assistant",
    "user",
    "tool",
    "reasoning",
];

pub(crate) struct AgUi;

impl Wire for AgUi {
    fn serves(&self, path: &str) -> bool {
        path == "/ag-ui"
    }

    fn read(&self, body: &Value, lenient: bool) -> Result<Asked, Refusal> {
        if !body.is_object() {
            return Err(refusal(
                "The body is not a RunAgentInput: it is not a JSON object.",
            ));
        }
        if !lenient {
            check(body)?;
        }
        Ok(Asked {
            stream: true,
            answers: answers(body),
        })
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

    fn encoder(&self, body: &Value, _position: usize) -> Box<dyn Encoder> {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        Box::new(Events {
            thread_id: text("threadId"),
            run_id: text("runId"),
            parent_run_id: body["parentRunId"].as_str().map(str::to_owned),
            reasoning: 0,
            calls: Vec::new(),
        })
    }

    /// AG-UI always streams: [`read`](Self::read) says so, and nothing asks for this.
    fn whole(&self, _body: &Value, _position: usize, _answer: &Answer) -> Value {
        Value::Null
    }
}

fn refusal(message: impl Into<String>) -> Refusal {
    Refusal::new(400, message).code("invalid_request")
}

fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().map_or(&[][..], Vec::as_slice)
}

fn answers(body: &Value) -> Answers {
    count(
        messages(body)
            .iter()
            .map(|message| match message["role"].as_str() {
                Some("user") => Speaker::User,
                Some("assistant") => Speaker::Model,
                Some("tool") => Speaker::Tool,
                _ => Speaker::Other,
            }),
    )
}

/// What a server may rely on: the ids, the roles, and an answer to every tool call.
fn check(body: &Value) -> Result<(), Refusal> {
    for name in ["threadId", "runId"] {
        if !body[name].is_string() {
            return Err(refusal(format!("RunAgentInput.{name} must be a string.")));
        }
    }
    if !body["messages"].is_array() {
        return Err(refusal("RunAgentInput.messages must be an array."));
    }
    let messages = messages(body);
    for (index, message) in messages.iter().enumerate() {
        if !message["id"].is_string() {
            return Err(refusal(format!("messages[{index}].id must be a string.")));
        }
        match message["role"].as_str() {
            Some(role) if ROLES.contains(&role) => {}
            Some("activity") => {
                let text = "an activity message is the client's own and is never sent.";
                return Err(refusal(format!("messages[{index}]: {text}")));
            }
            _ => {
                return Err(refusal(format!(
                    "messages[{index}].role is not a role of AG-UI 1.0."
                )));
            }
        }
    }
    // A run that resumes an interrupt may leave the calls open that the interrupt is about.
    if body["resume"]
        .as_array()
        .is_some_and(|resume| !resume.is_empty())
    {
        return Ok(());
    }
    for (index, message) in messages.iter().enumerate() {
        let calls = message["toolCalls"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        for id in calls.iter().map(|call| &call["id"]) {
            let answers =
                |message: &Value| message["role"] == "tool" && message["toolCallId"] == *id;
            // A backend may answer a call twice, and both messages travel.
            if !messages[index..].iter().any(answers) {
                let text = "needs a tool message after it, with its toolCallId.";
                return Err(refusal(format!(
                    "Tool call {id} of messages[{index}] {text}"
                )));
            }
        }
    }
    Ok(())
}

struct Events {
    thread_id: String,
    run_id: String,
    parent_run_id: Option<String>,
    /// Reasoning messages begun.
    reasoning: usize,
    calls: Vec<String>,
}

impl Events {
    /// The one assistant message of the answer. Text after a tool call opens it again, which appends: so
    /// an answer is one message in every client's history, as it is for the other providers.
    fn message_id(&self) -> String {
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
            Part::TextStart => {
                vec![
                    json!({"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}),
                ]
            }
            Part::Text(piece) => {
                vec![json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": piece})]
            }
            Part::TextEnd => vec![json!({"type": "TEXT_MESSAGE_END", "messageId": message})],
            Part::ReasoningStart => {
                self.reasoning += 1;
                let id = self.reasoning_id();
                vec![
                    json!({"type": "REASONING_START", "messageId": id}),
                    json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}),
                ]
            }
            Part::Reasoning(piece) => {
                let id = self.reasoning_id();
                vec![json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": piece})]
            }
            Part::ReasoningEnd => {
                let id = self.reasoning_id();
                vec![
                    json!({"type": "REASONING_MESSAGE_END", "messageId": id}),
                    json!({"type": "REASONING_END", "messageId": id}),
                ]
            }
            Part::CallStart { id, name, .. } => {
                self.calls.push(id.to_owned());
                vec![json!({
                    "type": "TOOL_CALL_START",
                    "toolCallId": id,
                    "toolCallName": name,
                    "parentMessageId": message,
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
                let total = usage.input.saturating_add(usage.output);
                let mut finished = json!({
                    "type": "RUN_FINISHED",
                    "threadId": self.thread_id,
                    "runId": self.run_id,
                    "usage": [{
                        "inputTokens": usage.input,
                        "outputTokens": usage.output,
                        "totalTokens": total,
                    }],
                });
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
    fn encode(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        for event in self.events(part) {
            server_sent_event(&event.to_string(), out);
        }
    }

    fn frame(&self, data: &str, out: &mut Vec<u8>) {
        server_sent_event(data, out);
    }
}
