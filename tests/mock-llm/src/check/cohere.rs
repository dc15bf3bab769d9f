//! Source: <https://docs.cohere.com/reference/chat>.

use super::at::{At, Breaches};
use super::calls::{self, CallRules};
use super::{chat, schemas, tools};

const RULES: CallRules = CallRules {
    is_id: |id| !id.is_empty(),
    id: "is not empty",
    object: true,
};

pub(super) fn check(body: &At<'_>, breaches: &mut Breaches) {
    let messages = body.get("messages");
    breaches.filled(&messages);
    let messages = messages.items();
    for message in &messages {
        self::message(message, breaches);
    }
    calls::pairing(&messages, breaches);
    let names = tools::nested(body, breaches);
    for tool in body.get("tools").items() {
        let schema = tool.get("function").get("parameters");
        let has_schema = schema.value.is_object() || tool.get("type").text() != "function";
        breaches.unless(has_schema, &schema, "is a schema");
    }
    let choice = body.get("tool_choice");
    if !choice.is_absent() {
        breaches.one_of(&choice, &["REQUIRED", "NONE"]);
        breaches.unless(!names.is_empty(), &choice, "stands beside tools");
    }
    let format = body.get("response_format");
    if !format.is_absent() {
        breaches.one_of(&format.get("type"), &["text", "json_object"]);
        let no_tools = names.is_empty();
        breaches.unless(
            no_tools || format.get("type").text() == "text",
            &format,
            "stands without tools",
        );
    }
    schemas::cohere_answer(&format.get("json_schema"), breaches);
    let thinking = body.get("thinking").get("type");
    if !thinking.is_absent() {
        breaches.one_of(&thinking, &["enabled", "disabled"]);
    }
    for field in [
        "stream_options",
        "parallel_tool_calls",
        "reasoning_effort",
        "max_completion_tokens",
    ] {
        breaches.unless(!body.has(field), body, format!("has no {field}"));
    }
}

fn message(at: &At<'_>, breaches: &mut Breaches) {
    let role = at.get("role");
    breaches.one_of(&role, &["system", "user", "assistant", "tool"]);
    let content = at.get("content");
    let says = content.says_something()
        || content
            .value
            .as_array()
            .is_some_and(|parts| !parts.is_empty());
    match role.text() {
        "assistant" => {
            let calls = at.get("tool_calls");
            breaches.unless(
                says || !calls.is_absent(),
                at,
                "says something or calls a tool",
            );
            if content.value.is_array() {
                for part in content.items() {
                    let kind = part.get("type");
                    breaches.one_of(&kind, &["text", "thinking"]);
                    let text = part.get(kind.text());
                    breaches.unless(!text.text().is_empty(), &text, "is not empty");
                }
            }
            let plans = !calls.is_absent() || !at.has("tool_plan");
            breaches.unless(plans, at, "plans the tools that it calls");
            calls::calls(&calls, &RULES, breaches);
        }
        "tool" => {
            let id = at.get("tool_call_id");
            breaches.unless(id.is_text(), &id, "is a string");
            if !content.is_text() && breaches.filled(&content) {
                for part in content.items() {
                    breaches.one_of(&part.get("type"), &["text", "document"]);
                    if part.has("document") {
                        let data = part.get("document").get("data");
                        let is_known = data.is_text() || data.value.is_object();
                        breaches.unless(is_known, &data, "is text or an object");
                    }
                }
            }
        }
        role => {
            breaches.tidy(says, &content, "says something");
            let kinds: &[&str] = if role == "user" {
                &["text", "image_url"]
            } else {
                &["text"]
            };
            chat::content(&content, kinds, breaches);
        }
    }
}
