//! Source: <https://docs.ollama.com/api/chat>.

use super::at::{At, Breaches};
use super::tools;
use serde_json::Value;
use std::collections::VecDeque;

pub(super) fn check(body: &At<'_>, breaches: &mut Breaches) {
    let messages = body.get("messages");
    breaches.filled(&messages);
    let messages = messages.items();
    // The names that were called and not answered: results pair by name and order.
    let mut open: VecDeque<String> = VecDeque::new();
    for message in &messages {
        let role = message.get("role");
        breaches.one_of(&role, &["system", "user", "assistant", "tool"]);
        let content = message.get("content");
        let is_text = content.is_text() || (role.text() == "assistant" && content.is_absent());
        breaches.unless(is_text, &content, "is text");
        for image in message.get("images").items() {
            let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
            let is_bare = image.is_text() && image.text().bytes().all(is_base64);
            breaches.unless(is_bare, &image, "is base64");
        }
        if role.text() == "tool" {
            let name = match message.get("tool_name") {
                name if name.is_absent() => message.get("name"),
                name => name,
            };
            let next = open.pop_front();
            let rule = format!("answers the next call, {next:?}");
            let answers = next.as_deref() == Some(name.text());
            breaches.tidy(answers || next.is_none(), &name, &*rule);
            breaches.unless(next.is_some(), &name, rule);
            continue;
        }
        breaches.unless(
            open.is_empty(),
            message,
            format!("comes after the results of {open:?}"),
        );
        open.clear();
        let calls = message.get("tool_calls");
        if !calls.is_absent() {
            breaches.unless(role.text() == "assistant", &calls, "are an assistant's");
            breaches.filled(&calls);
        } else if role.text() == "assistant" {
            let speaks = !content.text().is_empty();
            breaches.tidy(speaks, message, "says something or calls a tool");
        }
        for call in calls.items() {
            let function = call.get("function");
            let name = function.get("name");
            breaches.unless(!name.text().is_empty(), &name, "is a name");
            open.push_back(name.text().to_owned());
            let arguments = function.get("arguments");
            breaches.unless(arguments.value.is_object(), &arguments, "is an object");
        }
    }
    if let Some(last) = messages.last() {
        breaches.unless(
            open.is_empty(),
            last,
            format!("is not the last: {open:?} have no result"),
        );
    }
    tools::nested(body, breaches);
    for field in [
        "tool_choice",
        "stream_options",
        "parallel_tool_calls",
        "max_tokens",
    ] {
        breaches.tidy(!body.has(field), body, format!("has no {field}"));
    }
    let think = body.get("think");
    let is_known = matches!(think.value, Value::Null | Value::Bool(_))
        || matches!(think.text(), "high" | "medium" | "low");
    breaches.unless(is_known, &think, "is a flag, or high, medium or low");
    let format = body.get("format");
    let is_format =
        matches!(format.value, Value::Null | Value::Object(_)) || format.text() == "json";
    breaches.unless(is_format, &format, "is `json` or a schema");
}
