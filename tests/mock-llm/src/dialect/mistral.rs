//! Mistral's chat: Chat Completions with rules of its own, under `/mistral` so that the two are told apart.
//!
//! Source: <https://docs.mistral.ai/api/endpoint/chat>.

use serde_json::{Value, json};

use super::open_ai_chat::OpenAiChat;
use super::{Answer, Asked, Encoder, Part, Refusal, Wire, server_sent_event};
use crate::hop::Usage;

const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

/// A fixed time, so that a script gives the same bytes on every run.
const CREATED: u64 = 1_700_000_000;

pub(crate) struct Mistral;

impl Wire for Mistral {
    fn serves(&self, path: &str) -> bool {
        path == "/mistral/v1/chat/completions"
    }

    fn read(&self, body: &Value, lenient: bool) -> Result<Asked, Refusal> {
        if !lenient {
            check(body)?;
        }
        OpenAiChat.read(body, true)
    }

    fn error(&self, refusal: &Refusal) -> Value {
        let kind = match refusal.status {
            401 => "unauthorized",
            422 => "invalid_request_error",
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

    fn encoder(&self, body: &Value, position: usize) -> Box<dyn Encoder> {
        Box::new(Chunks {
            id: format!("{position:032x}"),
            model: body["model"].clone(),
            began: false,
            called: false,
        })
    }

    fn whole(&self, body: &Value, position: usize, answer: &Answer) -> Value {
        let mut whole = OpenAiChat.whole(body, position, answer);
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

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[][..], Vec::as_slice)
}

fn refusal(message: impl Into<String>) -> Refusal {
    Refusal::new(400, message).code("3230")
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(422, message)
}

/// The first thing that is wrong with a request.
fn check(body: &Value) -> Result<(), Refusal> {
    if !body.is_object() {
        return Err(invalid("Input should be a valid dictionary"));
    }
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(invalid("body.model: Field required"));
    }
    for field in ["stream_options", "max_completion_tokens", "reasoning"] {
        if body.get(field).is_some() {
            return Err(invalid(format!(
                "body.{field}: Extra inputs are not permitted"
            )));
        }
    }
    let choice = &body["tool_choice"];
    let is_known =
        matches!(choice.as_str(), Some("auto" | "none" | "any" | "required")) || choice.is_object();
    if !choice.is_null() && (!is_known || list(&body["tools"]).is_empty()) {
        return Err(invalid(
            "body.tool_choice: Input should be 'auto', 'none', 'any' or 'required', with tools",
        ));
    }
    let messages = list(&body["messages"]);
    if messages.is_empty() {
        return Err(invalid("Conversation must have at least one message"));
    }
    // The calls that wait for their results.
    let mut open: Vec<&str> = Vec::new();
    let mut before = "";
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !ROLES.contains(&role) {
            return Err(invalid(format!(
                "body.messages.{index}: Input tag '{role}' is not known"
            )));
        }
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(place) = open.iter().position(|call| *call == id) else {
                return Err(refusal("Unexpected tool call id in tool results"));
            };
            open.remove(place);
        } else if !open.is_empty() {
            return Err(refusal(
                "Not the same number of function calls and responses",
            ));
        }
        if role == "user" && before == "tool" {
            return Err(refusal("Unexpected role 'user' after role 'tool'"));
        }
        for call in list(&message["tool_calls"]) {
            open.push(check_call(call)?);
        }
        let has_content = match &message["content"] {
            Value::String(text) => !text.is_empty(),
            Value::Array(parts) => {
                !parts.is_empty() && parts.iter().all(|part| part["type"].is_string())
            }
            _ => false,
        };
        if role == "assistant" && !has_content && list(&message["tool_calls"]).is_empty() {
            return Err(refusal(
                "Assistant message must have either content or tool_calls, but not none.",
            ));
        }
        if role == "user" && !has_content {
            return Err(refusal("User message must have content"));
        }
        if !message["refusal"].is_null() {
            return Err(invalid(format!(
                "body.messages.{index}.refusal: Extra inputs are not permitted"
            )));
        }
        before = role;
    }
    if !open.is_empty() {
        return Err(refusal(
            "Not the same number of function calls and responses",
        ));
    }
    let is_prefix = messages.last().is_some_and(|last| last["prefix"] == true);
    if !matches!(before, "user" | "tool") && !is_prefix {
        return Err(refusal(format!(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got {before}"
        )));
    }
    Ok(())
}

fn check_call(call: &Value) -> Result<&str, Refusal> {
    let id = call["id"].as_str().unwrap_or_default();
    if id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(refusal(format!(
            "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."
        )));
    }
    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
    if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
        return Err(refusal(format!(
            "Tool call {id} has arguments that are not a JSON object"
        )));
    }
    Ok(id)
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
    fn chunk(&self, delta: &Value, finish: Option<(&str, Usage)>, out: &mut Vec<u8>) {
        let reason = finish.map(|(reason, _)| reason);
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        });
        if let Some((_, usage)) = finish {
            chunk["usage"] = json!({
                "prompt_tokens": usage.input,
                "total_tokens": usage.input.saturating_add(usage.output),
                "completion_tokens": usage.output,
            });
        }
        server_sent_event(&chunk.to_string(), out);
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.began, true) {
            self.chunk(&json!({"role": "assistant", "content": ""}), None, out);
        }
    }

    fn call(&self, call: &Value, out: &mut Vec<u8>) {
        self.chunk(&json!({"tool_calls": [call]}), None, out);
    }
}

impl Encoder for Chunks {
    fn encode(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Start | Part::TextEnd | Part::ReasoningEnd | Part::CallEnd { .. } => {}
            Part::TextStart | Part::ReasoningStart => self.begin(out),
            Part::Text(piece) => self.chunk(&json!({"content": piece}), None, out),
            Part::Reasoning(piece) => {
                self.chunk(&json!({"content": [thought(piece)]}), None, out);
            }
            Part::CallStart { index, id, name } => {
                self.begin(out);
                self.called = true;
                let function = json!({"name": name, "arguments": ""});
                self.call(
                    &json!({"id": call_id(id), "type": "function", "function": function, "index": index}),
                    out,
                );
            }
            Part::CallArguments { index, piece, .. } => {
                let function = json!({"name": "", "arguments": piece});
                self.call(&json!({"function": function, "index": index}), out);
            }
            Part::Error { message, code } => {
                let error = json!({"object": "error", "message": message, "type": "service_unavailable", "code": code});
                server_sent_event(&error.to_string(), out);
            }
            Part::Finish { stop_reason, usage } => {
                self.begin(out);
                let usual = if self.called { "tool_calls" } else { "stop" };
                let reason = stop_reason.unwrap_or(usual);
                self.chunk(&json!({"content": ""}), Some((reason, usage)), out);
                server_sent_event("[DONE]", out);
            }
        }
    }

    fn frame(&self, data: &str, out: &mut Vec<u8>) {
        server_sent_event(data, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(messages: Value) -> Option<String> {
        let body = json!({"model": "m", "stream": true, "messages": messages});
        Mistral
            .read(&body, false)
            .err()
            .map(|refusal| refusal.message)
    }

    fn calls(ids: &[&str]) -> Value {
        let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
        json!({"role": "assistant", "content": "", "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "name": "f", "content": "1"})
    }

    fn user() -> Value {
        json!({"role": "user", "content": "Hi"})
    }

    #[test]
    fn legal_requests_pass() {
        let (a, b) = ("aaaaaaaaa", "bbbbbbbbb");
        let said = || json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]});
        assert_eq!(
            refused(json!([
                user(),
                calls(&[a, b]),
                result(a),
                result(b),
                said(),
                user()
            ])),
            None
        );
        let mut prefix = said();
        prefix["prefix"] = true.into();
        assert_eq!(refused(json!([user(), prefix])), None);
    }

    #[test]
    fn illegal_ones_are_refused() {
        let a = "aaaaaaaaa";
        for (messages, part) in [
            (json!([]), "at least one"),
            (json!([{"role": "developer", "content": "x"}]), "developer"),
            (json!([user(), calls(&["call_0_0"])]), "length of 9"),
            (json!([user(), calls(&[a])]), "same number"),
            (json!([user(), calls(&[a]), user()]), "same number"),
            (
                json!([user(), calls(&[a]), result(a), user()]),
                "after role 'tool'",
            ),
            (json!([user(), result(a)]), "Unexpected tool call id"),
            (
                json!([user(), {"role": "assistant", "content": "x"}]),
                "Expected last role",
            ),
            (
                json!([user(), {"role": "assistant", "content": ""}]),
                "either content",
            ),
        ] {
            let message = refused(messages).expect("it is refused");
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn ids_are_as_the_service_makes_them() {
        assert_eq!(call_id("call_0_12"), "c00000012");
        assert_eq!(call_id("own"), "own");
    }
}
