//! What a chat of the AI SDK posts: the UI messages that it has.

use crate::request::input::{check_ids, check_messages};
use crate::request::refused::{Refused, RefusedReason};
use crate::ui_message::tools;
use serde::Deserialize;
use serde_json::{Value, json};
use stepwell_core::ThreadId;
use stepwell_core::event::{MEDIA_ACTIVITY, RunAgentInput};
use stepwell_io::RunId;
use stepwell_io::message::{Message, ResumeEntry};
use uuid::Uuid;

/// A request of the AI SDK's `DefaultChatTransport`, as a run: the chat is the thread, the UI messages are the history.
///
/// In addition to the transport's fields, its `body` may have `tools`, the client's own tools: a list as AG-UI or the
/// AI SDK defines them, or assistant-ui's map by their names; `resume`, answers to what a running tool or an agent
/// asked by a `data-interrupt`; and `system`, assistant-ui's instructions, which count as a `system` message of the
/// client.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// The run that the chat asks for.
    pub input: RunAgentInput,
    /// The message that the answer belongs to: a new one, or the last one of the chat, which continues.
    pub message_id: String,
    /// Whether the user has sent a new message, which leaves earlier questions unanswered.
    pub is_new: bool,
}

#[derive(Deserialize)]
struct Body {
    id: ThreadId,
    messages: Vec<UiMessage>,
    tools: Option<Value>,
    system: Option<String>,
    resume: Option<Vec<ResumeEntry>>,
}

#[derive(Deserialize)]
struct UiMessage {
    id: String,
    role: Role,
    parts: Vec<ChatPart>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    User,
    Assistant,
}

/// A part of any type, with the fields of those that are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChatPart {
    r#type: String,
    text: Option<String>,
    media_type: Option<String>,
    url: Option<String>,
    tool_call_id: Option<String>,
    tool_name: Option<String>,
    state: Option<String>,
    input: Option<Value>,
    raw_input: Option<Value>,
    output: Option<Value>,
    error_text: Option<String>,
    approval: Option<Approval>,
}

#[derive(Deserialize)]
struct Approval {
    id: String,
    approved: Option<bool>,
    reason: Option<String>,
}

impl ChatRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// The body is not JSON, or not what a chat sends. The message names the place.
    pub fn read(body: &[u8]) -> Result<Self, Refused> {
        let body: Body = serde_json::from_slice(body).map_err(|error| {
            let (reason, what) = match error.classify() {
                serde_json::error::Category::Data => (
                    RefusedReason::InvalidInput,
                    "the body is no request of the AI SDK's chat, `{id, messages, …}` with the messages' `parts`",
                ),
                _ => (RefusedReason::InvalidJson, "the body is not JSON"),
            };
            Refused::new(reason, format!("{what}: {error}"))
        })?;
        let run_id = RunId::from(Uuid::new_v4().to_string());
        check_ids(
            "a request of the AI SDK's chat",
            &[("id", body.id.as_str())],
        )?;
        check_messages(body.messages.len())?;
        let Some(last) = body.messages.last() else {
            let message = "/messages is empty: send what the user says";
            return Err(Refused::new(RefusedReason::InvalidInput, message));
        };
        let is_new = last.role != Role::Assistant;
        let message_id = match is_new {
            true => Uuid::new_v4().to_string(),
            false => last.id.clone(),
        };
        let mut resume = body.resume.unwrap_or_default();
        if !is_new {
            resume.extend(last.parts.iter().filter_map(answer));
        }
        let mut messages = Vec::new();
        if let Some(system) = body.system.filter(|system| !system.is_empty()) {
            messages.push(Message::system(format!("system-{run_id}"), system));
        }
        for (index, message) in body.messages.iter().enumerate() {
            message.convert(index, &mut messages)?;
        }
        let input = RunAgentInput {
            thread_id: body.id,
            run_id,
            messages,
            tools: body.tools.map(tools::read).transpose()?,
            resume: (!resume.is_empty()).then_some(resume),
            protocol_version: Some(stepwell_core::event::PROTOCOL_VERSION.to_owned()),
            ..RunAgentInput::default()
        };
        Ok(Self {
            input,
            message_id,
            is_new,
        })
    }
}

/// Returns the user's answer to a call that asks to run.
fn answer(part: &ChatPart) -> Option<ResumeEntry> {
    let approval = part.approval.as_ref()?;
    let approved = approval.approved?;
    if part.state.as_deref() != Some("approval-responded") {
        return None;
    }
    let payload = json!({ "approved": approved, "reason": approval.reason });
    let entry = json!({ "interruptId": approval.id, "status": "resolved", "payload": payload });
    serde_json::from_value(entry).ok()
}

impl UiMessage {
    /// Adds the messages that it is in the history: the assistant's parts are one for each step, with its results.
    fn convert(&self, index: usize, messages: &mut Vec<Message>) -> Result<(), Refused> {
        let texts = |parts: &[ChatPart]| {
            let texts = parts.iter().filter(|part| part.r#type == "text");
            let texts: Vec<_> = texts.filter_map(|part| part.text.as_deref()).collect();
            texts.join("\n\n")
        };
        match self.role {
            Role::System => {
                let message =
                    json!({ "role": "system", "id": self.id, "content": texts(&self.parts) });
                messages.push(read(message, index)?);
            }
            Role::User => {
                check_files(&self.parts, index)?;
                let content: Vec<_> = self.parts.iter().filter_map(content).collect();
                let content = match self.parts.iter().any(|part| part.r#type == "file") {
                    true => json!(content),
                    false => json!(texts(&self.parts)),
                };
                let message = json!({ "role": "user", "id": self.id, "content": content });
                messages.push(read(message, index)?);
            }
            Role::Assistant => {
                let steps = self.parts.split(|part| part.r#type == "step-start");
                for (number, step) in steps.filter(|step| !step.is_empty()).enumerate() {
                    self.convert_step(index, number, step, &texts(step), messages)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the result of a tool's part, if it has one.
    fn result(&self, part: &ChatPart, call: &str) -> Option<Value> {
        let id = format!("{}-{call}", self.id);
        let result = |content: &str, error: Option<&str>| {
            let mut result =
                json!({ "role": "tool", "id": id, "toolCallId": call, "content": content });
            if let Some(error) = error {
                result["error"] = json!(error);
            }
            Some(result)
        };
        match part.state.as_deref() {
            Some("output-available") => match &part.output {
                Some(Value::String(text)) => result(text, None),
                Some(output) => result(&output.to_string(), None),
                None => result("", None),
            },
            Some("output-error") => {
                let error = part.error_text.as_deref().unwrap_or("the tool failed");
                result(error, Some(error))
            }
            Some("output-denied") => {
                let reason = part.approval.as_ref();
                let reason = reason.and_then(|approval| approval.reason.as_deref());
                let reason = reason.unwrap_or("the user did not allow it");
                result(reason, Some(reason))
            }
            _ => None,
        }
    }

    /// Converts a step of the chat's message to AG-UI messages.
    fn convert_step(
        &self,
        index: usize,
        number: usize,
        step: &[ChatPart],
        text: &str,
        messages: &mut Vec<Message>,
    ) -> Result<(), Refused> {
        let mut calls = Vec::new();
        let mut results = Vec::new();
        for part in step {
            let Some((name, call)) = part.tool() else {
                continue;
            };
            calls.push(part.call(name, call));
            results.extend(self.result(part, call));
        }
        let id = match number {
            0 => self.id.clone(),
            number => format!("{}-{number}", self.id),
        };
        let made = step.iter().filter(|part| part.r#type == "file");
        let made: Vec<_> = made.filter_map(content).collect();
        if !made.is_empty() {
            let shown = json!({
                "role": "activity",
                "id": format!("{id}-media"),
                "activityType": MEDIA_ACTIVITY,
                "content": { "parts": made },
            });
            messages.push(read(shown, index)?);
        }
        if text.is_empty() && calls.is_empty() {
            return Ok(());
        }
        let mut message = json!({ "role": "assistant", "id": id });
        if !text.is_empty() {
            message["content"] = json!(text);
        }
        if !calls.is_empty() {
            message["toolCalls"] = json!(calls);
        }
        messages.push(read(message, index)?);
        for result in results {
            messages.push(read(result, index)?);
        }
        Ok(())
    }
}

impl ChatPart {
    /// Returns the tool and the call of a tool's part that is complete.
    fn tool(&self) -> Option<(&str, &str)> {
        let name = match self.r#type.strip_prefix("tool-") {
            Some(name) => name,
            None if self.r#type == "dynamic-tool" => self.tool_name.as_deref()?,
            None => return None,
        };
        if self.state.as_deref() == Some("input-streaming") {
            return None;
        }
        Some((name, self.tool_call_id.as_deref()?))
    }

    /// Returns the call of a tool's part, as AG-UI has it.
    fn call(&self, name: &str, call: &str) -> Value {
        let arguments = match self.input.as_ref().or(self.raw_input.as_ref()) {
            Some(Value::String(raw)) => raw.clone(),
            Some(input) => input.to_string(),
            None => "{}".to_owned(),
        };
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "id": call, "type": "function", "function": function })
    }
}

/// Converts a part of the user's message, or of the model's, to AG-UI's content.
fn content(part: &ChatPart) -> Option<Value> {
    if part.r#type == "text" {
        return Some(json!({ "type": "text", "text": part.text.as_ref()? }));
    }
    if part.r#type != "file" {
        return None;
    }
    let url = part.url.as_ref()?;
    let media_type = part.media_type.as_deref().unwrap_or_default();
    let kind = match media_type.split_once('/') {
        Some((kind @ ("image" | "audio" | "video"), _)) => kind,
        _ => "document",
    };
    let data = url.strip_prefix("data:");
    let data = data.and_then(|data| data.split_once(";base64,"));
    let source = match data {
        Some((of_url, data)) => {
            let mime_type = if media_type.is_empty() {
                of_url
            } else {
                media_type
            };
            json!({ "type": "data", "value": data, "mimeType": mime_type })
        }
        None => json!({ "type": "url", "value": url, "mimeType": media_type }),
    };
    Some(json!({ "type": kind, "source": source }))
}

/// Checks that files can be had from outside of the client's page.
fn check_files(parts: &[ChatPart], index: usize) -> Result<(), Refused> {
    let urls = parts
        .iter()
        .enumerate()
        .filter(|(_, part)| part.r#type == "file");
    for (place, part) in urls {
        let url = part.url.as_deref().unwrap_or_default();
        if url
            .get(..5)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("blob:"))
        {
            let message = format!(
                "/messages/{index}/parts/{place}/url is an address within the client's page: send the file as a `data:` URL"
            );
            return Err(Refused::new(RefusedReason::InvalidInput, message));
        }
    }
    Ok(())
}

fn read(message: Value, index: usize) -> Result<Message, Refused> {
    serde_json::from_value(message).map_err(|error| {
        let message = format!("/messages/{index} cannot be read: {error}");
        Refused::new(RefusedReason::InvalidInput, message)
    })
}
