//! Source: <https://platform.openai.com/docs/api-reference/chat/create>, and the compatible providers' own pages.

use super::at::{At, Breaches};
use super::calls::{self, CallRules};
use super::{schemas, tools};
use serde_json::Value;

pub(super) fn check(body: &At<'_>, provider: &str, breaches: &mut Breaches) {
    let is_open = matches!(
        provider,
        "" | "groq" | "together" | "fireworks" | "nvidia" | "ollama"
    ) || (provider == "openrouter"
        && !body.get("model").text().starts_with("openai/"));
    let rules = CallRules {
        is_id: if is_open {
            |id| !id.is_empty()
        } else {
            |id| (1..=40).contains(&id.chars().count())
        },
        id: "is of 1 to 40 characters",
        object: !matches!(provider, "openai" | ""),
    };
    let messages = body.get("messages");
    breaches.filled(&messages);
    let messages = messages.items();
    for message in &messages {
        self::message(message, provider, &rules, breaches);
    }
    calls::pairing(&messages, breaches);
    let names = tools::nested(body, breaches);
    tools::choice(body, &["none", "auto", "required"], &names, breaches);
    let parallel = body.get("parallel_tool_calls");
    breaches.unless(
        parallel.is_absent() || !names.is_empty(),
        &parallel,
        "stands beside tools",
    );
    let both = body.has("max_tokens") && body.has("max_completion_tokens");
    breaches.unless(
        !both,
        body,
        "max_tokens and max_completion_tokens exclude each other",
    );
    let streams = body.get("stream").value == &Value::Bool(true);
    let options = body.get("stream_options");
    breaches.unless(
        options.is_absent() || streams,
        &options,
        "is for answers that stream",
    );
    format(&body.get("response_format"), breaches);
}

fn message(at: &At<'_>, provider: &str, rules: &CallRules, breaches: &mut Breaches) {
    let role = at.get("role");
    let roles: &[&str] = match provider {
        "" | "openai" | "openrouter" => &["system", "user", "assistant", "tool", "developer"],
        _ => &["system", "user", "assistant", "tool"],
    };
    breaches.one_of(&role, roles);
    let content = at.get("content");
    match role.text() {
        "assistant" => {
            let speaks = content.is_text()
                || content.value.is_array()
                || at.has("tool_calls")
                || at.has("refusal");
            breaches.unless(speaks, at, "says something or calls a tool");
            let is_empty = content.is_text() && content.text().is_empty() && !at.has("tool_calls");
            breaches.tidy(!is_empty, at, "says something or calls a tool");
            let is_known = content.is_absent() || content.is_text() || content.value.is_array();
            breaches.unless(is_known, &content, "is text, parts or null");
            calls::calls(&at.get("tool_calls"), rules, breaches);
        }
        "tool" => {
            let id = at.get("tool_call_id");
            breaches.unless(id.is_text(), &id, "is a string");
            self::content(&content, &["text"], breaches);
        }
        "user" => {
            let kinds: &[&str] = match provider {
                "openai" => &["text", "image_url", "input_audio", "file"],
                "groq" | "together" | "fireworks" | "nvidia" | "ollama" => &["text", "image_url"],
                _ => &["text", "image_url", "input_audio", "file", "video_url"],
            };
            self::content(&content, kinds, breaches);
        }
        _ => self::content(&content, &["text"], breaches),
    }
    if role.text() != "assistant" {
        breaches.unless(!at.has("tool_calls"), at, "only an assistant calls tools");
    }
    if provider == "openai" {
        for field in ["reasoning_content", "reasoning_details", "reasoning"] {
            breaches.unless(!at.has(field), at, format!("has no {field}"));
        }
    }
}

/// Text, or parts of the kinds that are allowed.
pub(super) fn content(at: &At<'_>, kinds: &[&str], breaches: &mut Breaches) {
    if at.is_text() || !breaches.filled(at) {
        return;
    }
    for part in at.items() {
        let kind = part.get("type");
        if !breaches.one_of(&kind, kinds) {
            continue;
        }
        let payload = part.get(kind.text());
        match kind.text() {
            "text" => {
                breaches.unless(payload.is_text(), &payload, "is text");
                let says = !payload.text().is_empty();
                breaches.tidy(says, &payload, "is text that is not empty");
            }
            "image_url" | "document_url" | "video_url" => {
                let url = payload.get("url");
                let has_url = !payload.text().is_empty() || !url.text().is_empty();
                breaches.unless(has_url, &payload, "has an address");
            }
            "input_audio" => {
                let has_data = payload.is_text() || payload.get("data").is_text();
                breaches.unless(has_data, &payload, "has data");
            }
            "file" => {
                let id = payload.get("file_id").is_text() || part.get("file_id").is_text();
                let has_file = id || payload.get("file_data").is_text();
                breaches.unless(has_file, &payload, "has an id or data");
            }
            _ => {}
        }
    }
}

/// Checks the required form of the answer.
pub(super) fn format(at: &At<'_>, breaches: &mut Breaches) {
    if at.is_absent() {
        return;
    }
    let kind = at.get("type");
    if breaches.one_of(&kind, &["text", "json_object", "json_schema"])
        && kind.text() == "json_schema"
    {
        let schema = at.get("json_schema");
        let name = schema.get("name");
        breaches.unless(super::at::is_word(name.text(), 64), &name, "is a name");
        schemas::answer(&schema, breaches);
    }
}
