//! What the service itself refuses about a request, in its words.

use serde_json::Value;

use super::super::Refusal;
use super::pairing::pairing;
use super::signature;

/// The first thing that is wrong with a request.
pub(super) fn request(body: &Value) -> Result<(), Refusal> {
    match &body["model"] {
        Value::String(model) if !model.is_empty() => {}
        Value::Null => return refuse("model: Field required"),
        _ => return refuse("model: Input should be a valid string"),
    }
    match &body["max_tokens"] {
        Value::Number(limit) if limit.as_u64().is_some_and(|limit| limit > 0) => {}
        Value::Null => return refuse("max_tokens: Field required"),
        Value::Number(_) => {
            return refuse("max_tokens: Input should be greater than or equal to 1");
        }
        _ => return refuse("max_tokens: Input should be a valid integer"),
    }
    let messages = match &body["messages"] {
        Value::Array(messages) => messages,
        Value::Null => return refuse("messages: Field required"),
        _ => return refuse("messages: Input should be a valid list"),
    };
    if messages.is_empty() {
        return refuse("messages: at least one message is required");
    }
    system(&body["system"])?;
    for (index, value) in messages.iter().enumerate() {
        message(index, value, index + 1 == messages.len())?;
    }
    if messages[0]["role"] != "user" {
        return refuse("messages: first message must use the \"user\" role");
    }
    pairing(messages)?;
    tools(body)?;
    thinking(body, messages)?;
    cache_control(body)
}

pub(super) fn refuse<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(400, message))
}

fn system(system: &Value) -> Result<(), Refusal> {
    match system {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                if block["type"] != "text" {
                    return refuse(format!("system.{index}.type: Input should be 'text'"));
                }
                text(block, "system")?;
            }
            Ok(())
        }
        _ => refuse("system: Input should be a valid list"),
    }
}

fn text(block: &Value, path: &str) -> Result<(), Refusal> {
    match block["text"].as_str() {
        None => refuse(format!("{path}: text: Field required")),
        Some("") => refuse(format!("{path}: text content blocks must be non-empty")),
        Some(text) if text.trim().is_empty() => refuse(format!(
            "{path}: text content blocks must contain non-whitespace text"
        )),
        Some(_) => Ok(()),
    }
}

fn message(index: usize, message: &Value, is_last: bool) -> Result<(), Refusal> {
    let role = message["role"].as_str().unwrap_or_default();
    if role == "system" {
        return refuse(
            "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, \
             not \"system\" as an input message role.",
        );
    }
    if !["user", "assistant"].contains(&role) {
        return refuse(format!(
            "messages.{index}.role: Input should be 'user' or 'assistant'"
        ));
    }
    let empty = || {
        refuse(format!(
            "messages.{index}: all messages must have non-empty content except for the optional final \
             assistant message"
        ))
    };
    let is_open = is_last && role == "assistant";
    let end = match &message["content"] {
        Value::Null => return refuse(format!("messages.{index}.content: Field required")),
        Value::String(text) if text.is_empty() && !is_open => return empty(),
        Value::Array(blocks) if blocks.is_empty() && !is_open => return empty(),
        Value::String(text) => text.as_str(),
        Value::Array(blocks) => {
            for (place, value) in blocks.iter().enumerate() {
                block(&format!("messages.{index}.content.{place}"), role, value)?;
            }
            blocks
                .last()
                .and_then(|block| block["text"].as_str())
                .unwrap_or_default()
        }
        _ => {
            return refuse(format!(
                "messages.{index}.content: Input should be a valid list"
            ));
        }
    };
    if is_open && end.ends_with(char::is_whitespace) {
        return refuse("messages: final assistant content cannot end with trailing whitespace");
    }
    Ok(())
}

fn block(path: &str, role: &str, block: &Value) -> Result<(), Refusal> {
    let kind = block["type"].as_str().unwrap_or_default();
    match (role, kind) {
        (_, "") => refuse(format!("{path}.type: Field required")),
        (_, "text") => text(block, "messages"),
        ("user", "tool_result") => result(path, block),
        ("assistant", "tool_use") => call(path, block),
        ("assistant", "thinking") => {
            let thought = block["thinking"].as_str().unwrap_or_default();
            match block["signature"].as_str() {
                None => refuse(format!("{path}.thinking.signature: Field required")),
                Some(signed) if signed == signature(thought) => Ok(()),
                Some(_) => refuse(format!("{path}: Invalid `signature` in `thinking` block")),
            }
        }
        ("user", "image" | "document") if block["source"].is_object() => Ok(()),
        ("user", "image" | "document") => refuse(format!("{path}.{kind}.source: Field required")),
        ("user", "thinking" | "redacted_thinking" | "tool_use")
        | ("assistant", "tool_result" | "image" | "document") => refuse(format!(
            "{path}: `{kind}` blocks are not allowed in `{role}` messages"
        )),
        // What this mock knows nothing of.
        _ => Ok(()),
    }
}

fn is_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !id.is_empty() && id.bytes().all(allowed)
}

fn call(path: &str, block: &Value) -> Result<(), Refusal> {
    match block["id"].as_str() {
        None => return refuse(format!("{path}.tool_use.id: Field required")),
        Some(id) if !is_id(id) => {
            return refuse(format!(
                "{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            ));
        }
        Some(_) => {}
    }
    if block["name"].as_str().is_none_or(str::is_empty) {
        return refuse(format!("{path}.tool_use.name: Field required"));
    }
    if !block["input"].is_object() {
        return refuse(format!(
            "{path}.tool_use.input: Input should be a valid dictionary"
        ));
    }
    Ok(())
}

fn result(path: &str, block: &Value) -> Result<(), Refusal> {
    if block["tool_use_id"].as_str().is_none_or(str::is_empty) {
        return refuse(format!("{path}.tool_result.tool_use_id: Field required"));
    }
    let content = match &block["content"] {
        Value::Null | Value::String(_) => return Ok(()),
        Value::Array(content) => content,
        _ => {
            return refuse(format!(
                "{path}.tool_result.content: Input should be a valid list"
            ));
        }
    };
    for part in content {
        if part["type"] == "text" {
            text(part, "messages")?;
        } else if block["is_error"] == true {
            return refuse(format!(
                "{path}.tool_result: all content must be type \"text\" if \"is_error\" is true"
            ));
        }
    }
    Ok(())
}

fn tools(body: &Value) -> Result<(), Refusal> {
    let choice = &body["tool_choice"];
    let tools = match &body["tools"] {
        Value::Array(tools) if !tools.is_empty() => tools,
        Value::Null | Value::Array(_) if choice.is_null() => return Ok(()),
        Value::Null | Value::Array(_) => {
            return refuse("tool_choice: may only be specified while providing tools");
        }
        _ => return refuse("tools: Input should be a valid list"),
    };
    let mut names = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        if names.contains(&name) {
            return refuse("tools: Tool names must be unique.");
        }
        names.push(name);
        // The service's own tools have a type, and no schema.
        if tool["type"].as_str().is_some_and(|kind| kind != "custom") {
            continue;
        }
        if !is_id(name) || name.len() > 128 {
            return refuse(format!(
                "tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            ));
        }
        if !tool["input_schema"].is_object() {
            return refuse(format!("tools.{index}.custom.input_schema: Field required"));
        }
        if tool["input_schema"]["type"] != "object" {
            return refuse(format!(
                "tools.{index}.custom.input_schema.type: Input should be 'object'"
            ));
        }
    }
    match choice["type"].as_str() {
        None if choice.is_null() => Ok(()),
        Some("auto" | "any" | "none") => Ok(()),
        Some("tool") => {
            let name = choice["name"].as_str().unwrap_or_default();
            if names.contains(&name) {
                return Ok(());
            }
            refuse(format!("Tool '{name}' not found in provided tools"))
        }
        _ => refuse(
            "tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'",
        ),
    }
}

fn thinking(body: &Value, messages: &[Value]) -> Result<(), Refusal> {
    let thinking = &body["thinking"];
    let budget = match thinking["type"].as_str() {
        None if thinking.is_null() => return Ok(()),
        Some("disabled") => return Ok(()),
        Some("adaptive") => None,
        Some("enabled") => match thinking["budget_tokens"].as_u64() {
            None => return refuse("thinking.enabled.budget_tokens: Field required"),
            Some(budget) => Some(budget),
        },
        _ => {
            return refuse(
                "thinking: Input tag does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'",
            );
        }
    };
    if budget.is_some_and(|budget| budget < 1024) {
        return refuse(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        );
    }
    if budget.is_some_and(|budget| body["max_tokens"].as_u64() <= Some(budget)) {
        return refuse("`max_tokens` must be greater than `thinking.budget_tokens`.");
    }
    if matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return refuse("Thinking may not be enabled when tool_choice forces tool use.");
    }
    if !body["temperature"].is_null() && body["temperature"].as_f64() != Some(1.0) {
        return refuse("`temperature` may only be set to 1 when thinking is enabled.");
    }
    if budget.is_some() {
        began_with_thinking(messages)?;
    }
    Ok(())
}

/// The answer that a round of tools goes on with.
fn began_with_thinking(messages: &[Value]) -> Result<(), Refusal> {
    let is_said = |message: &Value| {
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        message["role"] == "user" && !blocks.iter().any(|block| block["type"] == "tool_result")
    };
    let since = messages.iter().rposition(is_said).map_or(0, |at| at + 1);
    let Some(first) = messages.get(since) else {
        return Ok(());
    };
    let kind = first["content"][0]["type"].as_str().unwrap_or("text");
    if matches!(kind, "thinking" | "redacted_thinking") {
        return Ok(());
    }
    refuse(format!(
        "messages.{since}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When \
         `thinking` is enabled, a final `assistant` message must start with a thinking block."
    ))
}

fn cache_control(body: &Value) -> Result<(), Refusal> {
    fn count(value: &Value) -> usize {
        match value {
            Value::Object(fields) => {
                let here = fields.get("cache_control").is_some_and(Value::is_object);
                usize::from(here) + fields.values().map(count).sum::<usize>()
            }
            Value::Array(items) => items.iter().map(count).sum(),
            _ => 0,
        }
    }
    // A tool's schema may have a field of that name.
    let tools = body["tools"].as_array().map_or(0, |tools| {
        let marked = tools
            .iter()
            .filter(|tool| tool["cache_control"].is_object());
        marked.count()
    });
    let found = tools + count(&body["system"]) + count(&body["messages"]);
    if found > 4 {
        return refuse(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {found}."
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(change: impl FnOnce(&mut Value)) -> String {
        let mut body = json!({
            "model": "m", "max_tokens": 2000, "stream": true,
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
            "tools": [{"name": "f", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "auto"},
        });
        request(&body).expect("the service takes it");
        change(&mut body);
        match request(&body) {
            Ok(()) => "taken".to_owned(),
            Err(refusal) => {
                assert_eq!(refusal.status, 400);
                refusal.message
            }
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "the calls read better")]
    fn blocks(role: &str, blocks: Value) -> String {
        refusal(|body| {
            let messages = body["messages"].as_array_mut().expect("a list");
            messages.push(json!({"role": role, "content": blocks}));
        })
    }

    #[test]
    fn what_is_missing_is_named() {
        for (field, words) in [
            ("model", "model: Field required"),
            ("max_tokens", "max_tokens: Field required"),
            ("messages", "messages: Field required"),
            (
                "tools",
                "tool_choice: may only be specified while providing tools",
            ),
        ] {
            assert_eq!(refusal(|body| body[field] = Value::Null), words);
        }
    }

    #[test]
    fn messages_say_something() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        assert_eq!(
            blocks("user", text("")),
            "messages: text content blocks must be non-empty"
        );
        assert_eq!(
            blocks("assistant", text(" \n")),
            "messages: text content blocks must contain non-whitespace text"
        );
        assert_eq!(
            blocks("assistant", text("Well ")),
            "messages: final assistant content cannot end with trailing whitespace"
        );
        assert!(blocks("user", json!([])).contains("non-empty content"));
        assert_eq!(blocks("assistant", json!([])), "taken");
        assert!(blocks("system", text("Be")).contains("Unexpected role \"system\""));
        assert!(blocks("tool", text("Be")).contains("messages.1.role"));
        assert!(
            refusal(|body| body["messages"][0]["role"] = "assistant".into())
                .contains("first message")
        );
    }

    #[test]
    fn thinking_is_taken_only_with_its_own_signature() {
        let thinking = |signature: &str| {
            blocks(
                "assistant",
                json!([{"type": "thinking", "thinking": "Hm", "signature": signature}]),
            )
        };
        assert_eq!(thinking(&signature("Hm")), "taken");
        assert_eq!(
            thinking(&signature("Hm!")),
            "messages.1.content.0: Invalid `signature` in `thinking` block"
        );
        assert!(blocks("user", json!([{"type": "thinking"}])).contains("not allowed"));
    }

    #[test]
    fn calls_have_ids_names_and_objects() {
        let call = |id: &str, input: Value| {
            blocks(
                "assistant",
                json!([{"type": "tool_use", "id": id, "name": "f", "input": input}]),
            )
        };
        assert!(call("a.b", json!({})).contains("pattern"));
        assert!(call("a", json!("{}")).contains("valid dictionary"));
    }

    #[test]
    fn thinking_has_its_own_rules() {
        let thinks = |budget: u64, more: Value| {
            refusal(|body| {
                body["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
                for (name, value) in more.as_object().into_iter().flatten() {
                    body[name] = value.clone();
                }
            })
        };
        assert_eq!(thinks(1024, json!({})), "taken");
        assert!(thinks(1000, json!({})).contains("1024"));
        assert!(thinks(2000, json!({})).contains("`max_tokens` must be greater"));
        assert!(thinks(1024, json!({"temperature": 0.5})).contains("`temperature`"));
        assert!(thinks(1024, json!({"tool_choice": {"type": "any"}})).contains("forces tool use"));
        let round = json!([
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
        ]);
        assert!(thinks(1024, json!({"messages": round})).contains("Expected `thinking`"));
    }

    #[test]
    fn tools_and_marks_have_bounds() {
        let tool = |tool: Value| refusal(|body| body["tools"][0] = tool);
        assert!(
            tool(json!({"name": "f g", "input_schema": {"type": "object"}}))
                .contains("custom.name")
        );
        assert!(tool(json!({"name": "f"})).contains("input_schema: Field required"));
        assert!(tool(json!({"name": "f", "input_schema": {}})).contains("input_schema.type"));
        assert_eq!(
            tool(json!({"type": "web_search_20250305", "name": "web_search"})),
            "taken"
        );
        let named = json!({"type": "tool", "name": "g"});
        assert!(refusal(|body| body["tool_choice"] = named).contains("'g' not found"));
        let marked = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
        let marks = |count: usize| blocks("user", vec![marked.clone(); count].into());
        assert_eq!(marks(4), "taken");
        assert!(marks(5).contains("Found 5"));
    }
}
