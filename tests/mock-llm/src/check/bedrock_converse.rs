//! Source: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>, the service model
//! `bedrock-runtime` of botocore, and what the service answers: "The toolConfig field must be defined when using toolUse
//! and toolResult content blocks", "The text field in the ContentBlock object … is blank".

use super::at::{At, Breaches, is_word};
use super::schemas;
use super::tools;
use serde_json::Value;
use std::collections::BTreeSet;

const FIELDS: &[&str] = &[
    "messages",
    "system",
    "inferenceConfig",
    "toolConfig",
    "guardrailConfig",
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "promptVariables",
    "requestMetadata",
    "performanceConfig",
    "serviceTier",
    "outputConfig",
];

pub(super) fn check(body: &At<'_>, path: &str, breaches: &mut Breaches) {
    let fields = body.value.as_object();
    for name in fields.into_iter().flat_map(serde_json::Map::keys) {
        breaches.unless(
            FIELDS.contains(&name.as_str()),
            body,
            format!("has no {name}"),
        );
    }
    let system = body.get("system");
    if !system.is_absent() && breaches.filled(&system) {
        for block in system.items() {
            self::system(&block, breaches);
        }
    }
    let messages = body.get("messages");
    breaches.filled(&messages);
    let messages = messages.items();
    let mut before = "";
    for message in &messages {
        let role = message.get("role");
        breaches.one_of(&role, &["user", "assistant"]);
        breaches.unless(role.text() != before, &role, "alternates");
        before = role.text();
        self::message(message, breaches);
    }
    if let (Some(first), Some(last)) = (messages.first(), messages.last()) {
        let is_user = |message: &At<'_>| message.get("role").text() == "user";
        breaches.unless(is_user(first), first, "the first is the user's");
        breaches.tidy(is_user(last), last, "the last is the user's");
    }
    pairing(&messages, breaches);
    names_of_documents(&messages, breaches);
    let names = tool_config(body, breaches);
    let uses_tools = messages
        .iter()
        .flat_map(|message| message.get("content").items());
    let uses_tools = uses_tools
        .into_iter()
        .any(|block| block.has("toolUse") || block.has("toolResult"));
    breaches.unless(
        !uses_tools || !names.is_empty(),
        &body.get("toolConfig"),
        "is there, since the messages use tools",
    );
    let config = body.get("inferenceConfig");
    let most = config.get("maxTokens");
    let is_positive = most.is_absent() || most.value.as_u64().is_some_and(|most| most > 0);
    breaches.unless(is_positive, &most, "is a number of at least 1");
    let temperature = config.get("temperature");
    let is_known = (0.0..=1.0).contains(&temperature.value.as_f64().unwrap_or(1.0));
    breaches.unless(is_known, &temperature, "is from 0 to 1");
    let format = body.get("outputConfig").get("textFormat");
    if !format.is_absent() {
        breaches.one_of(&format.get("type"), &["json_schema"]);
        let schema = format.get("structure").get("jsonSchema").get("schema");
        let parsed: Value = serde_json::from_str(schema.text()).unwrap_or_default();
        breaches.unless(parsed.is_object(), &schema, "is the text of a schema");
        schemas::anthropic_answer(&At::root(&parsed), breaches);
    }
    let points = points(body.value);
    let is_cached = path.contains("claude") || path.contains("nova");
    breaches.unless(points <= 4, body, "has at most 4 cache points");
    breaches.unless(
        points == 0 || is_cached || path.is_empty() || path.contains("profile"),
        body,
        "has no cache point, since the model takes none",
    );
    thinking(body, &messages, path, breaches);
}

/// Claude's own rules for its thinking.
fn thinking(body: &At<'_>, messages: &[At<'_>], path: &str, breaches: &mut Breaches) {
    let thinking = body.get("additionalModelRequestFields").get("thinking");
    let is_on = matches!(thinking.get("type").text(), "enabled" | "adaptive");
    if !path.contains("claude") || !is_on {
        return;
    }
    let temperature = body.get("inferenceConfig").get("temperature");
    breaches.unless(
        temperature.is_absent(),
        &temperature,
        "is absent while the model thinks",
    );
    let choice = body.get("toolConfig").get("toolChoice");
    let is_free = choice.is_absent() || choice.has("auto");
    breaches.unless(is_free, &choice, "no tool is forced while the model thinks");
    if thinking.get("type").text() != "enabled" {
        return;
    }
    let is_said = |message: &At<'_>| {
        let mut blocks = message.get("content").items().into_iter();
        message.get("role").text() == "user" && !blocks.any(|block| block.has("toolResult"))
    };
    let said = messages.iter().rposition(is_said);
    if let Some(answer) = messages.get(said.map_or(0, |at| at + 1)) {
        let blocks = answer.get("content").items();
        let thinks = blocks
            .first()
            .is_some_and(|block| block.has("reasoningContent"));
        breaches.unless(thinks, answer, "begins with its reasoning");
    }
}

/// A block is an object with one field.
fn kind<'a>(at: &At<'a>, kinds: &[&str], breaches: &mut Breaches) -> &'a str {
    let fields = at.value.as_object();
    let mut names = fields.into_iter().flat_map(serde_json::Map::keys);
    let (first, second) = (names.next(), names.next());
    let kind = first.map_or("", String::as_str);
    breaches.unless(
        second.is_none() && kinds.contains(&kind),
        at,
        format!("is one of {}", kinds.join(", ")),
    );
    kind
}

fn system(at: &At<'_>, breaches: &mut Breaches) {
    if kind(at, &["text", "guardContent", "cachePoint"], breaches) == "text" {
        let text = at.get("text");
        breaches.unless(text.says_something(), &text, "says something");
    }
    point(at, breaches);
}

fn point(at: &At<'_>, breaches: &mut Breaches) {
    let point = at.get("cachePoint");
    if !point.is_absent() {
        breaches.one_of(&point.get("type"), &["default"]);
        let ttl = point.get("ttl");
        if !ttl.is_absent() {
            breaches.one_of(&ttl, &["5m", "1h"]);
        }
    }
}

/// Returns the number of cache points. A tool's schema may have a field of that name.
fn points(value: &Value) -> usize {
    let lists = ["/system", "/toolConfig/tools"];
    let lists = lists.iter().filter_map(|list| value.pointer(list));
    let messages = value["messages"].as_array().into_iter().flatten();
    let lists = lists.chain(messages.map(|message| &message["content"]));
    let items = lists.filter_map(Value::as_array).flatten();
    items.filter(|item| item["cachePoint"].is_object()).count()
}

fn message(message: &At<'_>, breaches: &mut Breaches) {
    let content = message.get("content");
    breaches.filled(&content);
    let blocks = content.items();
    let is_user = message.get("role").text() == "user";
    for block in &blocks {
        self::block(block, is_user, breaches);
    }
    if let Some(first) = blocks.first() {
        breaches.unless(
            !first.has("cachePoint"),
            first,
            "a cache point is after what it is for",
        );
    }
    if let Some(last) = blocks.last() {
        let is_reasoning = last.has("reasoningContent");
        breaches.unless(!is_reasoning, last, "the last block is no reasoning");
    }
    let has = |kind: &str| blocks.iter().any(|block| block.has(kind));
    breaches.unless(
        !has("document") || has("text"),
        message,
        "has a text, since it has a document",
    );
}

fn block(at: &At<'_>, is_user: bool, breaches: &mut Breaches) {
    let kinds: &[&str] = match is_user {
        true => &[
            "text",
            "image",
            "document",
            "video",
            "audio",
            "toolResult",
            "cachePoint",
            "guardContent",
            "searchResult",
        ],
        false => &[
            "text",
            "reasoningContent",
            "toolUse",
            "cachePoint",
            "citationsContent",
        ],
    };
    let kind = kind(at, kinds, breaches);
    let content = at.get(kind);
    match kind {
        "text" => breaches.unless(content.says_something(), &content, "says something"),
        "image" | "video" | "document" => media(kind, &content, breaches),
        "reasoningContent" => {
            let text = content.get("reasoningText");
            let signature = text.get("signature");
            let is_signed = content.has("redactedContent") || !signature.text().is_empty();
            breaches.unless(is_signed, &content, "is signed or redacted");
        }
        "toolUse" => {
            id(&content.get("toolUseId"), breaches);
            let name = content.get("name");
            breaches.unless(
                is_word(name.text(), 64),
                &name,
                "matches ^[a-zA-Z0-9_-]{1,64}$",
            );
            let input = content.get("input");
            breaches.unless(input.value.is_object(), &input, "is an object");
        }
        "toolResult" => {
            id(&content.get("toolUseId"), breaches);
            let status = content.get("status");
            if !status.is_absent() {
                breaches.one_of(&status, &["success", "error"]);
            }
            let parts = content.get("content");
            breaches.filled(&parts);
            for part in parts.items() {
                let kinds = ["json", "text", "image", "document", "video", "searchResult"];
                let kind = self::kind(&part, &kinds, breaches);
                let content = part.get(kind);
                match kind {
                    "text" => breaches.unless(content.says_something(), &content, "says something"),
                    "image" | "video" | "document" => media(kind, &content, breaches),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    point(at, breaches);
}

fn id(at: &At<'_>, breaches: &mut Breaches) {
    breaches.unless(is_word(at.text(), 64), at, "matches ^[a-zA-Z0-9_-]{1,64}$");
}

fn media(kind: &str, at: &At<'_>, breaches: &mut Breaches) {
    let formats: &[&str] = match kind {
        "image" => &["png", "jpeg", "gif", "webp"],
        "video" => &[
            "mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp",
        ],
        _ => &[
            "pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md",
        ],
    };
    breaches.one_of(&at.get("format"), formats);
    let source = at.get("source");
    let has_source = !source.get("bytes").text().is_empty() || source.has("s3Location");
    breaches.unless(has_source, &source, "has bytes or an object of S3");
    if kind == "document" {
        let name = at.get("name");
        let may_be = |c: char| c.is_ascii_alphanumeric() || " -()[]".contains(c);
        let is_name = (1..=200).contains(&name.text().len())
            && name.text().chars().all(may_be)
            && !name.text().contains("  ");
        breaches.unless(
            is_name,
            &name,
            "is a name of letters, digits and single spaces",
        );
    }
}

fn names_of_documents(messages: &[At<'_>], breaches: &mut Breaches) {
    let mut names = BTreeSet::new();
    for block in messages
        .iter()
        .flat_map(|message| message.get("content").items())
    {
        let parts = block.get("toolResult").get("content").items();
        for block in parts.into_iter().chain([block]) {
            if block.has("document") {
                let name = block.get("document").get("name");
                breaches.unless(names.insert(name.text()), &name, "is a name of its own");
            }
        }
    }
}

/// Every call has one result, at the beginning of the turn behind it.
fn pairing(messages: &[At<'_>], breaches: &mut Breaches) {
    let mut ids = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let mut is_past = false;
        for block in message.get("content").items() {
            let id = block.get("toolResult").get("toolUseId");
            if !block.has("toolResult") {
                is_past |= !block.has("cachePoint");
                continue;
            }
            breaches.unless(!is_past, &block, "results come first");
            match open.iter().position(|call| *call == id.text()) {
                Some(at) => drop(open.remove(at)),
                None => breaches.add(&id, "answers a call of the message before"),
            }
        }
        breaches.unless(
            open.is_empty(),
            message,
            format!("has the results of {open:?}"),
        );
        open.clear();
        for block in message.get("content").items() {
            if block.has("toolUse") {
                let id = block.get("toolUse").get("toolUseId");
                breaches.unless(ids.insert(id.text()), &id, "is an id of its own");
                open.push(id.text());
            }
        }
    }
    if let Some(last) = messages.last() {
        breaches.unless(
            open.is_empty(),
            last,
            format!("is not the last: {open:?} have no result"),
        );
    }
}

fn tool_config(body: &At<'_>, breaches: &mut Breaches) -> BTreeSet<String> {
    let config = body.get("toolConfig");
    let mut names = BTreeSet::new();
    if config.is_absent() {
        return names;
    }
    let list = config.get("tools");
    breaches.filled(&list);
    for tool in list.items() {
        let kind = kind(&tool, &["toolSpec", "systemTool", "cachePoint"], breaches);
        point(&tool, breaches);
        let spec = tool.get(kind);
        if kind == "cachePoint" {
            continue;
        }
        tools::name(&spec.get("name"), &mut names, breaches);
        if kind == "toolSpec" {
            let description = spec.get("description");
            let is_said = description.is_absent() || !description.text().is_empty();
            breaches.unless(is_said, &description, "is not empty");
            schemas::anthropic(&spec.get("inputSchema").get("json"), breaches);
        }
    }
    let choice = config.get("toolChoice");
    if !choice.is_absent() && self::kind(&choice, &["auto", "any", "tool"], breaches) == "tool" {
        let name = choice.get("tool").get("name");
        breaches.unless(names.contains(name.text()), &name, "is the name of a tool");
    }
    names
}
