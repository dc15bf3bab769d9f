//! Source: <https://docs.mistral.ai/api>, and the validator in Mistral's published `mistral-common`, which the service
//! uses.

use super::at::{At, Breaches};
use super::calls::{self, CallRules};
use super::{chat, tools};

const RULES: CallRules = CallRules {
    is_id: |id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    id: "is of 9 letters and digits",
    object: true,
};

pub(super) fn check(body: &At<'_>, breaches: &mut Breaches) {
    let messages = body.get("messages");
    breaches.filled(&messages);
    let messages = messages.items();
    let mut before = "";
    for message in &messages {
        let role = message.get("role");
        breaches.one_of(&role, &["system", "user", "assistant", "tool"]);
        let expected: &[&str] = match before {
            "" => &["system", "user", "assistant"],
            "system" | "user" => &["system", "user", "assistant"],
            "assistant" => &["user", "assistant", "tool"],
            _ => &["assistant", "tool"],
        };
        let follows = expected.contains(&role.text());
        breaches.unless(follows, &role, format!("may follow the role `{before}`"));
        before = role.text();
        content(message, breaches);
        breaches.unless(!message.has("refusal"), message, "has no refusal");
    }
    if let Some(last) = messages.last() {
        let is_input = matches!(last.get("role").text(), "user" | "tool")
            || last.get("prefix").value == &serde_json::Value::Bool(true);
        breaches.unless(
            is_input || messages.len() == 1,
            last,
            "the last is a user's or a tool's",
        );
    }
    calls::pairing(&messages, breaches);
    let names = tools::nested(body, breaches);
    tools::choice(body, &["auto", "any", "none", "required"], &names, breaches);
    for field in ["stream_options", "max_completion_tokens", "reasoning"] {
        breaches.unless(!body.has(field), body, format!("has no {field}"));
    }
    chat::format(&body.get("response_format"), breaches);
}

fn content(message: &At<'_>, breaches: &mut Breaches) {
    let content = message.get("content");
    let calls = message.get("tool_calls");
    let says = content.says_something()
        || content
            .value
            .as_array()
            .is_some_and(|parts| !parts.is_empty());
    match message.get("role").text() {
        "assistant" => {
            breaches.unless(says || !calls.is_absent(), message, "has content or calls");
            calls::calls(&calls, &RULES, breaches);
            if content.value.is_array() {
                let kinds = ["text", "thinking", "reference"];
                for part in content.items() {
                    breaches.one_of(&part.get("type"), &kinds);
                }
            }
        }
        "tool" => {
            let is_known = content.is_text() || content.value.is_array();
            breaches.unless(is_known, &content, "is text or parts");
        }
        "user" => {
            breaches.unless(says, &content, "says something");
            let kinds = ["text", "image_url", "document_url", "input_audio", "file"];
            chat::content(&content, &kinds, breaches);
        }
        _ => breaches.unless(says, &content, "says something"),
    }
}
