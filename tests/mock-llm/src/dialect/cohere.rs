//! Cohere's chat, version 2.
//!
//! Source: <https://docs.cohere.com/v2/reference/chat-stream>.

use serde_json::{Value, json};

use super::{Answer, Answers, Asked, Encoder, Part, Refusal, Wire, count_by_role};
use crate::hop::Usage;

const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

pub(crate) struct Cohere;

impl Wire for Cohere {
    fn serves(&self, path: &str) -> bool {
        path == "/v2/chat"
    }

    fn read(&self, body: &Value, lenient: bool) -> Result<Asked, Refusal> {
        if !body.is_object() {
            return Err(refusal("failed to parse request body: not a JSON object"));
        }
        if !lenient {
            check(body)?;
        }
        Ok(Asked {
            stream: body["stream"].as_bool().unwrap_or(false),
            answers: answers(body),
        })
    }

    fn error(&self, refusal: &Refusal) -> Value {
        json!({"id": "00000000-0000-4000-8000-000000000000", "message": refusal.message})
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream"
    }

    fn encoder(&self, _body: &Value, position: usize) -> Box<dyn Encoder> {
        Box::new(Events {
            position,
            began: false,
            blocks: 0,
            called: false,
            calls: Vec::new(),
        })
    }

    fn whole(&self, _body: &Value, position: usize, answer: &Answer) -> Value {
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
            let call = |call: &super::Call| {
                // What the service says of a call without arguments.
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
            "id": message_id(position),
            "finish_reason": reason,
            "message": message,
            "usage": answer.usage.map(usage),
        })
    }
}

fn refusal(message: impl Into<String>) -> Refusal {
    Refusal::new(400, format!("invalid request: {}", message.into()))
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

fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().map_or(&[][..], Vec::as_slice)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[][..], Vec::as_slice)
}

fn answers(body: &Value) -> Answers {
    count_by_role(messages(body))
}

/// The first thing that is wrong with a request.
fn check(body: &Value) -> Result<(), Refusal> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(refusal("model is required."));
    }
    if messages(body).is_empty() {
        return Err(refusal("messages must have at least one message."));
    }
    let tools = list(&body["tools"]);
    match &body["tool_choice"] {
        Value::Null => {}
        Value::String(choice) if matches!(choice.as_str(), "REQUIRED" | "NONE") => {
            if tools.is_empty() {
                return Err(refusal("tool_choice needs tools."));
            }
        }
        _ => return Err(refusal("tool_choice must be REQUIRED or NONE.")),
    }
    if !tools.is_empty() && !body["response_format"].is_null() {
        return Err(refusal(
            "response_format is not supported with RAG or tools.",
        ));
    }
    for tool in tools {
        let function = &tool["function"];
        if tool["type"] != "function"
            || !function["name"].is_string()
            || !function["parameters"].is_object()
        {
            return Err(refusal("a tool must be a function with parameters."));
        }
    }
    for field in ["stream_options", "parallel_tool_calls", "reasoning_effort"] {
        if body.get(field).is_some() {
            return Err(refusal(format!("unknown field: parameter '{field}'.")));
        }
    }
    // The calls that wait for their results.
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages(body).iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !ROLES.contains(&role) {
            return Err(refusal(format!(
                "messages[{index}] has no role of the API."
            )));
        }
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(place) = open.iter().position(|call| *call == id) else {
                return Err(refusal(format!(
                    "messages[{index}]: tool_call_id '{id}' is not of a tool call that waits for its result."
                )));
            };
            open.remove(place);
        } else if !open.is_empty() {
            return Err(unanswered(&open));
        }
        let calls = list(&message["tool_calls"]);
        for call in calls {
            let (Some(id), Some(arguments)) =
                (call["id"].as_str(), call["function"]["arguments"].as_str())
            else {
                return Err(refusal(format!(
                    "messages[{index}]: a tool call needs id, function and arguments."
                )));
            };
            if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
                return Err(refusal(format!(
                    "messages[{index}]: the arguments of '{id}' are not a JSON object."
                )));
            }
            open.push(id);
        }
        check_content(index, role, message, calls.is_empty())?;
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(unanswered(&open))
    }
}

fn unanswered(open: &[&str]) -> Refusal {
    refusal(format!(
        "every tool call needs a tool message with its result; missing: {}.",
        open.join(", ")
    ))
}

fn check_content(
    index: usize,
    role: &str,
    message: &Value,
    without_calls: bool,
) -> Result<(), Refusal> {
    if without_calls && !message["tool_plan"].is_null() {
        return Err(refusal(format!(
            "messages[{index}]: tool_plan needs tool_calls."
        )));
    }
    let allowed: &[&str] = match role {
        "user" => &["text", "image_url"],
        "assistant" => &["text", "thinking"],
        "tool" => &["text", "document"],
        _ => &["text"],
    };
    let fits = match &message["content"] {
        Value::String(_) => true,
        Value::Array(parts) => {
            let fits = |part: &Value| {
                part["type"]
                    .as_str()
                    .is_some_and(|kind| allowed.contains(&kind))
            };
            !parts.is_empty() && parts.iter().all(fits)
        }
        Value::Null => role == "assistant" && !without_calls,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    Err(refusal(format!(
        "messages[{index}]: all elements in messages must have content of their role's kinds."
    )))
}

struct Events {
    position: usize,
    /// Whether the start is out.
    began: bool,
    /// Content blocks begun.
    blocks: usize,
    called: bool,
    /// The index of each call by its id.
    calls: Vec<(String, usize)>,
}

impl Events {
    fn begin(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.began, true) {
            let message = json!({"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []});
            let id = message_id(self.position);
            event(
                &json!({"id": id, "type": "message-start", "delta": {"message": message}}),
                out,
            );
        }
    }

    fn block(&mut self, content: &Value, out: &mut Vec<u8>) {
        self.begin(out);
        self.blocks += 1;
        self.content("content-start", content, out);
    }

    fn content(&self, kind: &str, content: &Value, out: &mut Vec<u8>) {
        let delta = json!({"message": {"content": content}});
        event(
            &json!({"type": kind, "index": self.blocks.saturating_sub(1), "delta": delta}),
            out,
        );
    }
}

/// An event named by its type.
fn event(data: &Value, out: &mut Vec<u8>) {
    let kind = data["type"].as_str().unwrap_or_default();
    out.extend_from_slice(format!("event: {kind}\n").as_bytes());
    super::server_sent_event(&data.to_string(), out);
}

impl Encoder for Events {
    fn encode(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Start => {}
            Part::TextStart => self.block(&json!({"type": "text", "text": ""}), out),
            Part::ReasoningStart => self.block(&json!({"type": "thinking", "thinking": ""}), out),
            Part::Text(piece) => self.content("content-delta", &json!({"text": piece}), out),
            Part::Reasoning(piece) => {
                self.content("content-delta", &json!({"thinking": piece}), out);
            }
            Part::TextEnd | Part::ReasoningEnd => {
                let index = self.blocks.saturating_sub(1);
                event(&json!({"type": "content-end", "index": index}), out);
            }
            Part::CallStart { index, id, name } => {
                self.begin(out);
                self.called = true;
                self.calls.push((id.to_owned(), index));
                let function = json!({"name": name, "arguments": ""});
                let call = json!({"id": id, "type": "function", "function": function});
                let delta = json!({"message": {"tool_calls": call}});
                event(
                    &json!({"type": "tool-call-start", "index": index, "delta": delta}),
                    out,
                );
            }
            Part::CallArguments { index, piece, .. } => {
                let call = json!({"function": {"arguments": piece}});
                let delta = json!({"message": {"tool_calls": call}});
                event(
                    &json!({"type": "tool-call-delta", "index": index, "delta": delta}),
                    out,
                );
            }
            Part::CallEnd { id } => {
                let index = self.calls.iter().find(|(call, _)| call == id);
                let index = index.map_or(0, |(_, index)| *index);
                event(&json!({"type": "tool-call-end", "index": index}), out);
            }
            Part::Error { message, code } => {
                self.begin(out);
                let mut delta = json!({"finish_reason": "ERROR", "usage": {}, "error": message});
                if let Some(code) = code {
                    delta["error_type"] = code.into();
                }
                event(&json!({"type": "message-end", "delta": delta}), out);
            }
            Part::Finish {
                stop_reason,
                usage: tokens,
            } => {
                self.begin(out);
                let reason = finish_reason(stop_reason, self.called);
                let delta = json!({"finish_reason": reason, "usage": usage(tokens)});
                event(&json!({"type": "message-end", "delta": delta}), out);
                super::server_sent_event("[DONE]", out);
            }
        }
    }

    fn frame(&self, data: &str, out: &mut Vec<u8>) {
        super::server_sent_event(data, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &Value) -> Option<String> {
        Cohere
            .read(body, false)
            .err()
            .map(|refusal| refusal.message)
    }

    fn with(messages: Value) -> Value {
        let mut body = json!({"model": "m", "stream": true});
        body["messages"] = messages;
        body
    }

    fn calls(ids: &[&str]) -> Value {
        let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
        json!({"role": "assistant", "tool_plan": "p", "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
    }

    #[test]
    fn legal_requests_pass() {
        let user = json!({"role": "user", "content": "Hi"});
        let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": [{"type": "document", "document": {"data": {}}}]});
        let said = json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "h"}, {"type": "text", "text": "x"}]});
        let all = json!([
            user,
            calls(&["a", "b"]),
            result("b"),
            result("a"),
            said,
            user
        ]);
        assert_eq!(refused(&with(all)), None);
    }

    #[test]
    fn illegal_ones_are_refused() {
        let user = || json!({"role": "user", "content": "Hi"});
        let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "1"});
        let mut no_object = calls(&["a"]);
        no_object["tool_calls"][0]["function"]["arguments"] = "null".into();
        for (messages, part) in [
            (json!([]), "at least one"),
            (json!([{"role": "developer", "content": "x"}]), "no role"),
            (json!([user(), calls(&["a"])]), "missing: a"),
            (
                json!([user(), calls(&["a", "b"]), result("a"), user()]),
                "missing: b",
            ),
            (json!([user(), result("a")]), "'a' is not of"),
            (
                json!([user(), calls(&["a"]), result("a"), result("a")]),
                "'a' is not of",
            ),
            (json!([user(), no_object]), "not a JSON object"),
            (
                json!([{"role": "assistant", "tool_plan": "p", "content": "x"}]),
                "tool_plan",
            ),
            (
                json!([{"role": "user", "content": [{"type": "document"}]}]),
                "kinds",
            ),
            (json!([{"role": "user", "content": null}]), "kinds"),
        ] {
            let message = refused(&with(messages)).expect("it is refused");
            assert!(message.contains(part), "{message}");
        }
        for (field, value) in [
            ("tool_choice", json!("auto")),
            ("tool_choice", json!("REQUIRED")),
            ("stream_options", json!({})),
            ("model", json!("")),
        ] {
            let mut body = with(json!([user()]));
            body[field] = value;
            assert!(refused(&body).is_some(), "{field}");
        }
    }
}
