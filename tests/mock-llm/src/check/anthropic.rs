//! Source: <https://docs.anthropic.com/en/api/messages>, and its pages on tool use, extended thinking and caching.

use super::at::{At, Breaches, is_word};
use super::schemas;
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn check(body: &At<'_>, breaches: &mut Breaches) {
    let limit = body.get("max_tokens");
    let most = limit.value.as_u64().unwrap_or(0);
    breaches.unless(most > 0, &limit, "is a number of at least 1");
    system(&body.get("system"), breaches);
    let format = body.get("output_config").get("format");
    if !format.is_absent() {
        schemas::anthropic_answer(&format.get("schema"), breaches);
    }
    let messages = body.get("messages");
    breaches.filled(&messages);
    let messages = messages.items();
    let mut before = "";
    for message in &messages {
        let role = message.get("role");
        breaches.one_of(&role, &["user", "assistant"]);
        breaches.tidy(role.text() != before, &role, "alternates");
        before = role.text();
        self::message(message, breaches);
    }
    pairing(&messages, breaches);
    if let (Some(first), Some(last)) = (messages.first(), messages.last()) {
        breaches.unless(
            first.get("role").text() == "user",
            first,
            "the first is the user's",
        );
        let content = last.get("content");
        let blocks = content.items();
        let end = blocks
            .last()
            .map_or_else(|| content.text(), |block| block.get("text").text());
        let is_answer = last.get("role").text() == "assistant";
        breaches.unless(
            !is_answer || !end.ends_with(char::is_whitespace),
            last,
            "an answer that goes on does not end with a space",
        );
        let goes_on = blocks.last().is_some_and(is_of_own_tools);
        breaches.tidy(
            !is_answer || goes_on,
            last,
            "the last is the user's, or ends within the provider's own tools",
        );
    }
    let names = tools(body, breaches);
    choice(body, &names, breaches);
    thinking(body, &messages, most, breaches);
    // A tool's schema may have a field of that name.
    let tools = body.get("tools").items();
    let marked = tools.iter().filter(|tool| tool.has("cache_control"));
    let marks =
        marked.count() + marks(body.get("system").value) + marks(body.get("messages").value);
    breaches.unless(
        marks <= 4,
        body,
        "at most 4 blocks are marked for the cache",
    );
    let temperature = body.get("temperature").value.as_f64().unwrap_or(1.0);
    let is_known = (0.0..=1.0).contains(&temperature);
    breaches.unless(is_known, &body.get("temperature"), "is from 0 to 1");
}

fn system(at: &At<'_>, breaches: &mut Breaches) {
    if at.is_absent() {
        return;
    }
    if at.is_text() {
        return breaches.unless(at.says_something(), at, "says something");
    }
    breaches.filled(at);
    for block in at.items() {
        breaches.one_of(&block.get("type"), &["text"]);
        let text = block.get("text");
        breaches.unless(text.says_something(), &text, "says something");
    }
}

fn message(message: &At<'_>, breaches: &mut Breaches) {
    let content = message.get("content");
    if content.is_text() {
        return breaches.unless(content.says_something(), &content, "says something");
    }
    breaches.filled(&content);
    let blocks = content.items();
    for block in &blocks {
        self::block(block, message.get("role").text(), breaches);
    }
    if let Some(last) = blocks.last() {
        breaches.unless(!is_thinking(last), last, "the last block is no thinking");
    }
}

/// Every call has one result, at the beginning of the turn behind it. Messages of one role side by side are one turn.
fn pairing(messages: &[At<'_>], breaches: &mut Breaches) {
    let mut ids = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for turn in messages.chunk_by(|one, next| one.get("role").text() == next.get("role").text()) {
        let first = &turn[0];
        let blocks: Vec<_> = turn
            .iter()
            .flat_map(|message| message.get("content").items())
            .collect();
        results(first, &blocks, &mut open, breaches);
        for call in blocks
            .iter()
            .filter(|block| block.get("type").text() == "tool_use")
        {
            let id = call.get("id");
            breaches.unless(ids.insert(id.text()), &id, "is an id of its own");
            open.push(id.text());
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

/// Returns the number of blocks that are marked for the cache.
fn marks(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let here = fields.get("cache_control").is_some_and(Value::is_object);
            usize::from(here) + fields.values().map(marks).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(marks).sum(),
        _ => 0,
    }
}

/// The results of the calls before come first, each once, and no others.
fn results<'a>(
    message: &At<'a>,
    blocks: &[At<'a>],
    open: &mut Vec<&'a str>,
    breaches: &mut Breaches,
) {
    let mut is_past = false;
    for block in blocks {
        if block.get("type").text() != "tool_result" {
            is_past = true;
            continue;
        }
        breaches.unless(!is_past, block, "results come first");
        let id = block.get("tool_use_id");
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
}

fn block(at: &At<'_>, role: &str, breaches: &mut Breaches) {
    let kinds: &[&str] = if role == "user" {
        &[
            "text",
            "image",
            "document",
            "tool_result",
            "container_upload",
        ]
    } else {
        &["text", "thinking", "redacted_thinking", "tool_use"]
    };
    let kind = at.get("type");
    if role == "assistant" && is_of_own_tools(at) {
        return;
    }
    breaches.one_of(&kind, kinds);
    match kind.text() {
        "text" => {
            let text = at.get("text");
            breaches.unless(text.says_something(), &text, "says something");
        }
        "image" | "document" => {
            let source = at.get("source");
            let kinds = ["base64", "url", "file", "text", "content"];
            breaches.one_of(&source.get("type"), &kinds);
        }
        "thinking" => {
            let thought = at.get("thinking");
            breaches.unless(thought.is_text(), &thought, "is a string");
            let signature = at.get("signature");
            breaches.unless(!signature.text().is_empty(), &signature, "is there");
        }
        "redacted_thinking" => {
            let data = at.get("data");
            breaches.unless(!data.text().is_empty(), &data, "is there");
        }
        "tool_use" => {
            let id = at.get("id");
            breaches.unless(is_word(id.text(), 64), &id, "matches ^[a-zA-Z0-9_-]+$");
            let name = at.get("name");
            breaches.unless(
                is_word(name.text(), 128),
                &name,
                "matches ^[a-zA-Z0-9_-]{1,128}$",
            );
            let input = at.get("input");
            breaches.unless(input.value.is_object(), &input, "is an object");
        }
        "tool_result" => {
            let error = at.get("is_error");
            let is_flag = matches!(error.value, Value::Null | Value::Bool(_));
            breaches.unless(is_flag, &error, "is a flag");
            let content = at.get("content");
            for part in content.items() {
                let kinds = ["text", "image", "document"];
                let fits = error.value != &Value::Bool(true) || part.get("type").text() == "text";
                breaches.unless(fits, &part, "an error is told in text");
                if breaches.one_of(&part.get("type"), &kinds) && part.has("text") {
                    let text = part.get("text");
                    breaches.unless(text.says_something(), &text, "says something");
                }
            }
            let is_known = matches!(
                content.value,
                Value::Null | Value::String(_) | Value::Array(_)
            );
            breaches.unless(is_known, &content, "is text or blocks");
        }
        _ => {}
    }
}

fn tools(body: &At<'_>, breaches: &mut Breaches) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let list = body.get("tools");
    if list.is_absent() {
        return names;
    }
    breaches.filled(&list);
    for tool in list.items() {
        let name = tool.get("name");
        breaches.unless(
            is_word(name.text(), 128),
            &name,
            "matches ^[a-zA-Z0-9_-]{1,128}$",
        );
        let is_new = names.insert(name.text().to_owned());
        breaches.unless(is_new, &name, "is a name of its own");
        let schema = tool.get("input_schema");
        // A tool of the provider's own has a type instead.
        if !tool.has("type") || tool.get("type").text() == "custom" {
            schemas::anthropic(&schema, breaches);
        }
    }
    names
}

fn choice(body: &At<'_>, names: &BTreeSet<String>, breaches: &mut Breaches) {
    let choice = body.get("tool_choice");
    if choice.is_absent() {
        return;
    }
    let kind = choice.get("type");
    breaches.one_of(&kind, &["auto", "any", "tool", "none"]);
    breaches.unless(!names.is_empty(), &choice, "stands beside tools");
    if kind.text() == "tool" {
        let name = choice.get("name");
        breaches.unless(names.contains(name.text()), &name, "is the name of a tool");
    }
}

fn thinking(body: &At<'_>, messages: &[At<'_>], most: u64, breaches: &mut Breaches) {
    let thinking = body.get("thinking");
    let kind = thinking.get("type");
    if thinking.is_absent() || kind.text() == "disabled" {
        let is_off = !thinking.is_absent() || !thinks_by_default(body.get("model").text());
        for answer in answers(messages).iter().filter(|_| is_off) {
            let has_thinking = answer.get("content").items().iter().any(is_thinking);
            breaches.tidy(
                !has_thinking,
                answer,
                "has no thinking where none is allowed",
            );
        }
        return;
    }
    breaches.one_of(&kind, &["enabled", "adaptive"]);
    if kind.text() == "enabled" {
        let budget = thinking.get("budget_tokens");
        let tokens = budget.value.as_u64().unwrap_or(0);
        breaches.unless(
            (1024..most).contains(&tokens),
            &budget,
            "is from 1024 to max_tokens",
        );
    }
    let choice = body.get("tool_choice").get("type");
    let is_free = matches!(choice.text(), "" | "auto" | "none");
    breaches.unless(is_free, &choice, "no tool is forced while the model thinks");
    let temperature = body.get("temperature").value.as_f64().unwrap_or(1.0);
    let is_one = (temperature - 1.0).abs() < f64::EPSILON;
    breaches.unless(
        is_one,
        &body.get("temperature"),
        "is 1 while the model thinks",
    );
    if kind.text() == "enabled"
        && let Some(first) = answers(messages).first()
    {
        let thinks = first
            .get("content")
            .items()
            .first()
            .is_some_and(is_thinking);
        breaches.unless(thinks, first, "begins with its thinking");
    }
}

/// Returns the messages after the user's last message: answers with their results. They are one turn, with thinking
/// from its beginning or without any.
///
/// Source: <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>.
fn answers<'m, 'a>(messages: &'m [At<'a>]) -> &'m [At<'a>] {
    let is_said = |message: &At<'_>| {
        let mut blocks = message.get("content").items().into_iter();
        message.get("role").text() == "user"
            && !blocks.any(|block| block.get("type").text() == "tool_result")
    };
    let said = messages.iter().rposition(is_said);
    &messages[said.map_or(0, |at| at + 1)..]
}

/// Returns whether the provider ran the tool itself: the block is returned as it came.
fn is_of_own_tools(block: &At<'_>) -> bool {
    let kind = block.get("type").text();
    kind.ends_with("_tool_use")
        || kind.ends_with("_tool_result")
        || matches!(
            kind,
            "compaction" | "container_upload" | "fallback" | "mcp_tool_listing"
        )
}

/// Returns whether a model of this name thinks by default: those of the fifth generation and later ones do. Their
/// version is the first number in the name that is no date.
fn thinks_by_default(model: &str) -> bool {
    let Some((_, name)) = model.split_once("claude") else {
        return false;
    };
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let mut numbers = words
        .filter(|word| word.len() < 3)
        .filter_map(|word| word.parse::<u32>().ok());
    numbers.next().is_some_and(|major| major >= 5)
}

fn is_thinking(block: &At<'_>) -> bool {
    matches!(block.get("type").text(), "thinking" | "redacted_thinking")
}
