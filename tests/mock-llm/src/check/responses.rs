//! Source: <https://platform.openai.com/docs/api-reference/responses/create>.

use super::at::{At, Breaches, is_object_text, is_word};
use super::{schemas, tools};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The items of tools that the provider ran itself: they are returned as they came.
const OWN: [&str; 9] = [
    "code_interpreter_call",
    "compaction",
    "file_search_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
];

pub(super) fn check(body: &At<'_>, provider: &str, breaches: &mut Breaches) {
    let input = body.get("input");
    if !input.is_text() {
        breaches.filled(&input);
    }
    let items = input.items();
    let mut ids = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let id = item.get("id");
        if !id.is_absent() {
            let is_id = (1..=64).contains(&id.text().len()) && ids.insert(id.text());
            breaches.unless(is_id, &id, "is an id of its own, of at most 64 characters");
        }
        match kind(item) {
            "message" => message(item, breaches),
            "function_call" => {
                let name = item.get("name");
                breaches.unless(is_word(name.text(), 128), &name, "matches ^[a-zA-Z0-9_-]+$");
                let arguments = item.get("arguments");
                breaches.unless(arguments.is_text(), &arguments, "is a string");
                if provider != "openai" {
                    let is_object = is_object_text(arguments.text());
                    breaches.unless(is_object, &arguments, "is the text of an object");
                }
            }
            "function_call_output" => {
                let output = item.get("output");
                if !output.is_text() {
                    parts(
                        &output,
                        &["input_text", "input_image", "input_file"],
                        breaches,
                    );
                }
            }
            "reasoning" => {
                reasoning(item, body, breaches);
                let next = items.get(index + 1);
                let goes_on = next.is_some_and(|next| match kind(next) {
                    "message" => next.get("role").text() == "assistant",
                    kind => {
                        let is_call =
                            matches!(kind, "function_call" | "reasoning" | "custom_tool_call");
                        is_call || OWN.contains(&kind)
                    }
                });
                breaches.unless(goes_on, item, "is followed by what came of it");
            }
            "item_reference" | "custom_tool_call" | "custom_tool_call_output" => {}
            kind if OWN.contains(&kind) => {
                breaches.unless(!id.is_absent(), item, "has its id");
            }
            _ => breaches.tidy(false, item, "is of a known type"),
        }
    }
    // An answer before may have made the calls that this request answers.
    if !body.has("previous_response_id") {
        pairing(&items, breaches);
    }
    let limit = body.get("max_output_tokens");
    let is_enough = limit.value.as_u64().is_none_or(|limit| limit >= 16);
    breaches.unless(is_enough, &limit, "is a number of at least 16");
    let background = body.get("background");
    let is_flag = background.is_absent() || background.value.is_boolean();
    breaches.unless(is_flag, &background, "is true or false");
    let (store, is_background) = (body.get("store"), background.value == &Value::Bool(true));
    let is_stored = !is_background || store.value != &Value::Bool(false);
    breaches.unless(
        is_stored,
        &store,
        "is true, for an answer in the background",
    );
    let include = body.get("include");
    let is_list = include.is_absent() || include.value.is_array();
    breaches.unless(is_list, &include, "is an array");
    self::tools(body, breaches);
    for field in [
        "messages",
        "max_tokens",
        "response_format",
        "stream_options",
    ] {
        breaches.unless(!body.has(field), body, format!("has no {field}"));
    }
}

fn kind<'a>(item: &At<'a>) -> &'a str {
    match item.get("type") {
        kind if kind.is_absent() && item.has("role") => "message",
        kind => kind.text(),
    }
}

fn message(item: &At<'_>, breaches: &mut Breaches) {
    let role = item.get("role");
    breaches.one_of(&role, &["user", "assistant", "system", "developer"]);
    let content = item.get("content");
    if content.is_text() {
        let speaks = role.text() != "assistant" || !content.text().is_empty();
        breaches.unless(speaks, &content, "says something");
        return;
    }
    match role.text() {
        "assistant" => parts(&content, &["output_text", "refusal"], breaches),
        "user" => {
            let kinds = ["input_text", "input_image", "input_file", "input_audio"];
            parts(&content, &kinds, breaches);
        }
        _ => parts(&content, &["input_text"], breaches),
    }
}

fn parts(content: &At<'_>, kinds: &[&str], breaches: &mut Breaches) {
    if !breaches.filled(content) {
        return;
    }
    for part in content.items() {
        let kind = part.get("type");
        breaches.one_of(&kind, kinds);
        let has = |fields: &[&str]| fields.iter().any(|field| part.get(field).is_text());
        let fields: &[&str] = match kind.text() {
            "input_text" | "output_text" => &["text"],
            "refusal" => &["refusal"],
            "input_image" => &["image_url", "file_id"],
            "input_file" => &["file_data", "file_id", "file_url"],
            _ => continue,
        };
        breaches.unless(has(fields), &part, format!("has {}", fields.join(" or ")));
    }
}

fn reasoning(item: &At<'_>, body: &At<'_>, breaches: &mut Breaches) {
    let id = item.get("id");
    breaches.unless(id.text().starts_with("rs"), &id, "begins with rs");
    let summary = item.get("summary");
    breaches.unless(summary.value.is_array(), &summary, "is an array");
    if body.get("store").value == &serde_json::Value::Bool(false) {
        let encrypted = item.get("encrypted_content");
        let is_kept = encrypted.is_text() || item.has("content");
        breaches.unless(is_kept, &encrypted, "is there, since nothing is stored");
    }
}

/// Every call has one output behind it, and every output its call.
fn pairing(items: &[At<'_>], breaches: &mut Breaches) {
    let mut answered: BTreeMap<&str, bool> = BTreeMap::new();
    for item in items {
        let id = item.get("call_id");
        match kind(item) {
            "function_call" | "custom_tool_call" => {
                let is_id = (1..=64).contains(&id.text().chars().count());
                breaches.unless(is_id, &id, "is of 1 to 64 characters");
                let is_new = answered.insert(id.text(), false).is_none();
                breaches.unless(is_new, &id, "is an id of its own");
            }
            "function_call_output" | "custom_tool_call_output" => {
                let before = answered.insert(id.text(), true);
                breaches.unless(before == Some(false), &id, "answers a call that is open");
            }
            _ => {}
        }
    }
    for item in items {
        let id = item.get("call_id");
        let is_open = answered.get(id.text()) == Some(&false);
        breaches.unless(!is_open, &id, "has an output");
    }
}

fn tools(body: &At<'_>, breaches: &mut Breaches) {
    let mut names = BTreeSet::new();
    let list = body.get("tools");
    if !list.is_absent() && breaches.filled(&list) {
        for tool in list.items() {
            if tool.get("type").text() == "custom" {
                tools::name(&tool.get("name"), &mut names, breaches);
            }
            if tool.get("type").text() == "function" {
                breaches.unless(!tool.has("function"), &tool, "is flat");
                tools::name(&tool.get("name"), &mut names, breaches);
                let schema = tool.get("parameters");
                if tool.get("strict").value == &Value::Bool(true) {
                    schemas::strict(&schema, breaches);
                } else {
                    schemas::openai(&schema, breaches);
                }
            }
        }
    }
    let choice = body.get("tool_choice");
    if choice.is_text() {
        breaches.one_of(&choice, &["none", "auto", "required"]);
        let has_tools = body.has("tools") || choice.text() != "required";
        breaches.unless(has_tools, &choice, "stands beside tools");
    } else if !choice.is_absent() {
        let name = choice.get("name");
        breaches.unless(names.contains(name.text()), &name, "is the name of a tool");
    }
    let format = body.get("text").get("format");
    if !format.is_absent() {
        let kind = format.get("type");
        breaches.one_of(&kind, &["text", "json_object", "json_schema"]);
        if kind.text() == "json_schema" {
            let name = format.get("name");
            breaches.unless(is_word(name.text(), 64), &name, "is a name");
            schemas::answer(&format, breaches);
        }
    }
}
