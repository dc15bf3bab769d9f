//! Source: <https://ai.google.dev/gemini-api/docs/interactions>, and the types of the package `google-genai`.

use super::at::{At, Breaches};
use super::{gemini, schemas};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const FIELDS: [&str; 21] = [
    "model",
    "agent",
    "agent_config",
    "input",
    "stream",
    "store",
    "background",
    "system_instruction",
    "tools",
    "response_format",
    "response_mime_type",
    "response_modalities",
    "generation_config",
    "previous_interaction_id",
    "cached_content",
    "continuation_token",
    "environment",
    "labels",
    "safety_settings",
    "service_tier",
    "webhook_config",
];

const CONFIG: [&str; 12] = [
    "image_config",
    "max_output_tokens",
    "seed",
    "speech_config",
    "stop_sequences",
    "temperature",
    "thinking_level",
    "thinking_summaries",
    "tool_choice",
    "top_p",
    "transcription_config",
    "video_config",
];

pub(super) fn check(body: &At<'_>, breaches: &mut Breaches) {
    gemini::known(body, &FIELDS, breaches);
    let input = body.get("input");
    if !input.is_text() {
        breaches.filled(&input);
    }
    let steps = input.items();
    for step in &steps {
        self::step(step, breaches);
    }
    if let Some(last) = steps.last() {
        let is_input = matches!(kind(last), "user_input" | "function_result");
        breaches.tidy(is_input, last, "the last is the user's");
    }
    // A stored interaction may have made the calls that this request answers.
    if !body.has("previous_interaction_id") {
        pairing(&steps, breaches);
        signatures(&steps, gemini::is_third(body.get("model").text()), breaches);
    }
    for flag in ["stream", "store", "background"] {
        let flag = body.get(flag);
        let is_flag = flag.is_absent() || flag.value.is_boolean();
        breaches.unless(is_flag, &flag, "is true or false");
    }
    let (store, background) = (body.get("store"), body.get("background"));
    let is_stored = background.value != &Value::Bool(true) || store.value != &Value::Bool(false);
    breaches.unless(
        is_stored,
        &store,
        "is true, for an answer in the background",
    );
    let system = body.get("system_instruction");
    let is_text = system.is_absent() || !system.text().is_empty();
    breaches.unless(is_text, &system, "is text");
    tools(body, breaches);
}

fn kind<'a>(step: &At<'a>) -> &'a str {
    step.get("type").text()
}

fn step(step: &At<'_>, breaches: &mut Breaches) {
    match kind(step) {
        "user_input" | "model_output" => {
            let content = step.get("content");
            breaches.filled(&content);
            contents(&content, breaches);
        }
        "thought" => {
            contents(&step.get("summary"), breaches);
            signature(&step.get("signature"), breaches);
        }
        "function_call" => {
            gemini::name(&step.get("name"), breaches);
            let id = step.get("id");
            breaches.unless(!id.text().is_empty(), &id, "is the call's id");
            let arguments = step.get("arguments");
            breaches.unless(arguments.value.is_object(), &arguments, "is an object");
            signature(&step.get("signature"), breaches);
        }
        "function_result" => {
            let result = step.get("result");
            let is_result = result.is_text() || result.value.is_array() || result.value.is_object();
            breaches.unless(is_result, &result, "is text, content or an object");
            contents(&result, breaches);
            let is_error = step.get("is_error");
            let is_flag = is_error.is_absent() || is_error.value.is_boolean();
            breaches.unless(is_flag, &is_error, "is true or false");
        }
        kind => {
            let is_own = kind.ends_with("_call") || kind.ends_with("_result");
            breaches.unless(is_own, step, "is of a known type");
        }
    }
}

fn contents(all: &At<'_>, breaches: &mut Breaches) {
    for content in all.items() {
        match kind(&content) {
            "text" => {
                let text = content.get("text");
                breaches.unless(text.is_text(), &text, "is text");
                breaches.tidy(!text.text().is_empty(), &text, "is text that is not empty");
            }
            "image" | "audio" | "video" | "document" => {
                let has_data = content.has("data") && content.get("mime_type").is_text();
                let one = has_data != content.has("uri");
                breaches.unless(one, &content, "has data with a media type, or an address");
            }
            _ => breaches.add(&content, "is of a known type"),
        }
    }
}

fn signature(signature: &At<'_>, breaches: &mut Breaches) {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
    let text = signature.text();
    let is_bytes = !text.is_empty() && text.bytes().all(is_base64);
    breaches.unless(signature.is_absent() || is_bytes, signature, "is in base64");
}

/// Checks that each call has one result, and each result a call before it. The same for the calls of Gemini's own tools.
fn pairing(steps: &[At<'_>], breaches: &mut Breaches) {
    let mut open = BTreeMap::new();
    for step in steps {
        match kind(step) {
            "user_input" | "model_output" | "thought" => {
                let is_answered = kind(step) != "user_input" || open.is_empty();
                breaches.unless(is_answered, step, "comes after the results of all calls");
            }
            kind if kind.ends_with("_call") => {
                let id = step.get("id").text();
                let is_new = open.insert(id, step).is_none();
                breaches.unless(is_new, &step.get("id"), "is an id of its own");
            }
            _ => {
                let id = step.get("call_id");
                let has_call = open.remove(id.text()).is_some();
                breaches.unless(has_call, &id, "is that of a call before");
            }
        }
    }
    for step in open.values() {
        breaches.add(&step.get("id"), "has a result");
    }
}

/// Checks that the calls of each answer in the current turn have a signature with them, from the third generation on:
/// their own, or that of a thought.
fn signatures(steps: &[At<'_>], is_third: bool, breaches: &mut Breaches) {
    let speaks = |step: &At<'_>| kind(step) == "user_input";
    let turn = steps.iter().rposition(speaks).map_or(0, |at| at + 1);
    for answer in steps[turn..].split(|step| kind(step) == "function_result") {
        let call = answer.iter().find(|step| kind(step) == "function_call");
        let is_signed = answer.iter().any(|step| step.has("signature"));
        if let Some(call) = call {
            breaches.unless(is_signed || !is_third, call, "has a signature");
        }
    }
}

fn tools(body: &At<'_>, breaches: &mut Breaches) {
    let is_third = gemini::is_third(body.get("model").text());
    let mut names = BTreeSet::new();
    let mut has_own = false;
    for tool in body.get("tools").items() {
        if kind(&tool) != "function" {
            has_own = true;
            breaches.unless(!kind(&tool).is_empty(), &tool, "has a type");
            continue;
        }
        let name = tool.get("name");
        gemini::name(&name, breaches);
        breaches.unless(names.insert(name.text()), &name, "is a name of its own");
        schemas::gemini(&tool.get("parameters"), breaches);
    }
    breaches.unless(
        is_third || names.is_empty() || !has_own,
        &body.get("tools"),
        "has no functions beside tools that Gemini runs",
    );
    let format = body.get("response_format");
    schemas::gemini(&format.get("schema"), breaches);
    let is_known = format.is_absent()
        || format.value.is_array()
        || matches!(kind(&format), "text" | "image" | "audio" | "video");
    breaches.unless(is_known, &format, "is of a known type");
    breaches.unless(
        format.is_absent() || names.is_empty() || is_third,
        &format,
        "is not beside tools",
    );
    let config = body.get("generation_config");
    if config.is_absent() {
        return;
    }
    gemini::known(&config, &CONFIG, breaches);
    let choice = config.get("tool_choice");
    let allowed = choice.get("allowed_tools");
    if choice.is_text() {
        breaches.one_of(&choice, &["auto", "any", "none", "validated"]);
    } else if !allowed.is_absent() {
        breaches.one_of(&allowed.get("mode"), &["auto", "any", "none", "validated"]);
        for name in allowed.get("tools").items() {
            breaches.unless(names.contains(name.text()), &name, "is the name of a tool");
        }
    }
    if !config.get("thinking_level").is_absent() {
        let levels = ["minimal", "low", "medium", "high", "xhigh"];
        breaches.one_of(&config.get("thinking_level"), &levels);
    }
    if !config.get("thinking_summaries").is_absent() {
        breaches.one_of(&config.get("thinking_summaries"), &["auto", "none"]);
    }
}
