//! Source: AG-UI 1.0, <https://docs.ag-ui.com>, `RunAgentInput`.

use super::at::{At, Breaches};
use std::collections::BTreeSet;

pub(super) fn check(body: &At<'_>, breaches: &mut Breaches) {
    for name in ["threadId", "runId"] {
        let id = body.get(name);
        breaches.unless(id.is_text(), &id, "is a string");
    }
    for name in ["messages", "tools", "context"] {
        let list = body.get(name);
        breaches.unless(list.value.is_array(), &list, "is an array");
    }
    let state = body.get("state");
    breaches.unless(!state.is_absent(), &state, "is there");
    let messages = body.get("messages").items();
    for message in &messages {
        let id = message.get("id");
        breaches.unless(id.is_text(), &id, "is a string");
        let roles = [
            "developer",
            "system",
            "assistant",
            "user",
            "tool",
            "reasoning",
        ];
        let role = message.get("role");
        breaches.one_of(&role, &roles);
        if role.text() != "assistant" {
            let content = message.get("content");
            let is_known = content.is_text() || content.value.is_array();
            breaches.unless(is_known, &content, "is text or parts");
        }
    }
    for tool in body.get("tools").items() {
        for name in ["name", "description"] {
            let text = tool.get(name);
            breaches.unless(text.is_text(), &text, "is a string");
        }
    }
    // A run that resumes an interrupt may leave the calls open that the interrupt is about.
    let command = body.get("forwardedProps").get("command");
    if !body.get("resume").items().is_empty() || !command.get("resume").value.is_null() {
        return;
    }
    let mut answered = BTreeSet::new();
    for message in messages.iter().rev() {
        if message.get("role").text() == "tool" {
            answered.insert(message.get("toolCallId").text());
        }
        for call in message.get("toolCalls").items() {
            let id = call.get("id");
            breaches.unless(answered.contains(id.text()), &id, "has a result after it");
        }
    }
}
