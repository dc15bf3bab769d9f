//! What the service itself refuses about a request, in its words.

use serde_json::{Map, Value};

use super::super::Refusal;
use super::super::open_ai_chat::check::{missing, text, wrong_type};
use super::items;
use super::pairing::pairing;

const ROLES: [&str; 4] = ["assistant", "system", "developer", "user"];

const LONGEST_CALL_ID: usize = 64;

/// The first thing that is wrong with a request.
pub(super) fn request(body: &Value) -> Result<(), Refusal> {
    match &body["model"] {
        Value::String(model) if !model.is_empty() => {}
        Value::Null | Value::String(_) => return Err(missing("model")),
        other => return Err(wrong_type("model", "a string", other)),
    }
    match &body["input"] {
        Value::String(_) | Value::Array(_) => {}
        Value::Null => {
            let text = "One of \"input\" or \"previous_response_id\" or 'prompt' or \
                        'conversation_id' must be provided.";
            return Err(Refusal::new(400, text).code("missing_required_parameter"));
        }
        other => {
            let expected = "one of a string or array of input items";
            return Err(wrong_type("input", expected, other));
        }
    }
    // What the service keeps may be named by its id alone; without a store an item must hold all of it.
    let is_stored = body["store"] != false;
    for (index, value) in items(body).iter().enumerate() {
        item(&format!("input[{index}]"), value, is_stored)?;
    }
    // An answer before may have made the calls that this request answers.
    if body["previous_response_id"].is_null() {
        pairing(items(body))?;
    }
    tools(body)?;
    limit(body)
}

fn item(path: &str, value: &Value, is_stored: bool) -> Result<(), Refusal> {
    let Value::Object(item) = value else {
        return Err(wrong_type(path, "an object", value));
    };
    let kind = match item.get("type") {
        None if item.contains_key("role") => "message",
        _ => text(item, path, "type")?,
    };
    match kind {
        "message" => message(path, item),
        "function_call" => {
            call_id(path, item)?;
            text(item, path, "name")?;
            text(item, path, "arguments").map(drop)
        }
        "custom_tool_call" => {
            call_id(path, item)?;
            text(item, path, "name")?;
            text(item, path, "input").map(drop)
        }
        "function_call_output" | "custom_tool_call_output" => {
            call_id(path, item)?;
            content(
                path,
                "output",
                item,
                &["input_text", "input_image", "input_file"],
            )
        }
        "reasoning" => reasoning(path, item, is_stored),
        _ => Ok(()),
    }
}

fn message(path: &str, item: &Map<String, Value>) -> Result<(), Refusal> {
    let role = text(item, path, "role")?;
    if !ROLES.contains(&role) {
        let text = format!(
            "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and \
             'user'."
        );
        return Err(Refusal::new(400, text)
            .at(format!("{path}.role"))
            .code("invalid_value"));
    }
    let kinds: &[&str] = if role == "assistant" {
        &["output_text", "refusal"]
    } else {
        &["input_text", "input_image", "input_file", "input_audio"]
    };
    content(path, "content", item, kinds)
}

/// Text, or parts of these kinds.
fn content(
    path: &str,
    name: &str,
    item: &Map<String, Value>,
    kinds: &[&str],
) -> Result<(), Refusal> {
    let path = format!("{path}.{name}");
    let parts = match item.get(name) {
        Some(Value::String(_)) => return Ok(()),
        Some(Value::Array(parts)) => parts,
        Some(other) => {
            let expected = "one of an array of objects or string";
            return Err(wrong_type(&path, expected, other));
        }
        None => return Err(missing(&path)),
    };
    for (index, part) in parts.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Value::Object(part) = part else {
            return Err(wrong_type(&path, "an object", part));
        };
        let kind = text(part, &path, "type")?;
        if !kinds.contains(&kind) {
            let kinds: Vec<_> = kinds.iter().map(|kind| format!("'{kind}'")).collect();
            let text = format!(
                "Invalid value: '{kind}'. Supported values are: {}.",
                kinds.join(", ")
            );
            return Err(Refusal::new(400, text)
                .at(format!("{path}.type"))
                .code("invalid_value"));
        }
    }
    Ok(())
}

fn reasoning(path: &str, item: &Map<String, Value>, is_stored: bool) -> Result<(), Refusal> {
    let id = text(item, path, "id")?;
    if !id.starts_with("rs") {
        let text = format!("Invalid '{path}.id': '{id}'. Expected an ID that begins with 'rs'.");
        return Err(Refusal::new(400, text)
            .at(format!("{path}.id"))
            .code("invalid_value"));
    }
    match item.get("summary") {
        Some(Value::Array(_)) => {}
        Some(other) => {
            let path = format!("{path}.summary");
            return Err(wrong_type(&path, "an array of objects", other));
        }
        None => return Err(missing(&format!("{path}.summary"))),
    }
    let is_whole = item
        .get("encrypted_content")
        .is_some_and(|value| !value.is_null());
    if !is_stored && !is_whole {
        let text = format!(
            "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try \
             again with `store` set to true, or remove this item from your input."
        );
        return Err(Refusal::new(404, text).at("input"));
    }
    Ok(())
}

fn call_id(path: &str, item: &Map<String, Value>) -> Result<(), Refusal> {
    let length = text(item, path, "call_id")?.chars().count();
    if length > LONGEST_CALL_ID {
        let text = format!(
            "Invalid '{path}.call_id': string too long. Expected a string with maximum length \
             {LONGEST_CALL_ID}, but got a string with length {length} instead."
        );
        return Err(Refusal::new(400, text)
            .at(format!("{path}.call_id"))
            .code("string_above_max_length"));
    }
    Ok(())
}

fn tools(body: &Value) -> Result<(), Refusal> {
    let tools = match &body["tools"] {
        Value::Null => &[][..],
        Value::Array(tools) => tools.as_slice(),
        other => return Err(wrong_type("tools", "an array of objects", other)),
    };
    for (index, tool) in tools.iter().enumerate() {
        let path = format!("tools[{index}]");
        let Value::Object(tool) = tool else {
            return Err(wrong_type(&path, "an object", tool));
        };
        let kind = text(tool, &path, "type")?;
        if kind != "function" && kind != "custom" {
            continue;
        }
        let name = text(tool, &path, "name")?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() {
            return Err(empty_string(&format!("{path}.name")));
        }
        if !name.bytes().all(allowed) {
            let text = format!(
                "Invalid '{path}.name': string does not match pattern. Expected a string that matches the \
                 pattern '^[a-zA-Z0-9_-]+$'."
            );
            return Err(Refusal::new(400, text)
                .at(format!("{path}.name"))
                .code("invalid_value"));
        }
        if let ("function", Some(other)) = (kind, tool.get("parameters"))
            && !matches!(other, Value::Object(_) | Value::Null)
        {
            let path = format!("{path}.parameters");
            return Err(wrong_type(&path, "an object", other));
        }
    }
    match &body["tool_choice"] {
        Value::Object(choice) => {
            let name = choice.get("name").unwrap_or(&Value::Null);
            let is_known = name.is_null() || tools.iter().any(|tool| tool["name"] == *name);
            if !is_known {
                let text = format!("Tool choice {name} not found in 'tools' parameter.");
                return Err(Refusal::new(400, text).at("tool_choice"));
            }
        }
        Value::String(choice) if choice == "required" && tools.is_empty() => {
            let text = "Tool choice 'required' must be specified with 'tools' parameter.";
            return Err(Refusal::new(400, text).at("tool_choice"));
        }
        _ => {}
    }
    Ok(())
}

fn empty_string(path: &str) -> Refusal {
    let text = format!(
        "Invalid '{path}': empty string. Expected a string with minimum length 1, but got an empty string \
         instead."
    );
    Refusal::new(400, text).at(path).code("empty_string")
}

fn limit(body: &Value) -> Result<(), Refusal> {
    match body["max_output_tokens"].as_u64() {
        Some(limit) if limit < 16 => {
            let text = format!(
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got \
                 {limit} instead."
            );
            Err(Refusal::new(400, text)
                .at("max_output_tokens")
                .code("integer_below_min_value"))
        }
        _ => match &body["include"] {
            Value::Array(_) | Value::Null => Ok(()),
            other => Err(wrong_type("include", "an array", other)),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(body: &Value) -> Result<(), String> {
        request(body).map_err(|refusal| {
            format!("{}: {}", refusal.param.unwrap_or_default(), refusal.message)
        })
    }

    #[test]
    fn malformed_items_are_refused_with_their_path() {
        let call_id = "x".repeat(65);
        let cases = [
            (json!(7), "input: Invalid type"),
            (json!(null), ": One of \"input\""),
            (json!(["x"]), "input[0]: Invalid type"),
            (json!([{}]), "input[0].type: Missing"),
            (
                json!([{"role": "bot", "content": "x"}]),
                "input[0].role: Invalid value: 'bot'",
            ),
            (json!([{"role": "user"}]), "input[0].content: Missing"),
            (
                json!([{"role": "user", "content": null}]),
                "input[0].content: Invalid type",
            ),
            (
                json!([{"role": "user", "content": [{"type": "output_text", "text": "x"}]}]),
                "input[0].content[0].type: Invalid value: 'output_text'",
            ),
            (
                json!([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}]),
                "input[0].content[0].type: Invalid value: 'input_text'",
            ),
            (
                json!([{"type": "function_call", "call_id": "a", "name": "f", "arguments": {}}]),
                "input[0].arguments: Invalid type",
            ),
            (
                json!([{"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}]),
                "input[0].call_id: Invalid 'input[0].call_id': string too long",
            ),
            (
                json!([{"type": "custom_tool_call", "call_id": "a", "name": "f"}]),
                "input[0].input: Missing",
            ),
            (
                json!([{"type": "function_call_output", "call_id": "a", "output": {}}]),
                "input[0].output: Invalid type",
            ),
            (
                json!([{"type": "reasoning", "id": "x", "summary": []}]),
                "input[0].id: Invalid 'input[0].id'",
            ),
            (
                json!([{"type": "reasoning", "id": "rs_1"}]),
                "input[0].summary: Missing",
            ),
        ];
        for (input, expected) in cases {
            let error = check(&json!({"model": "m", "input": input})).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        assert_eq!(check(&json!({"model": "m", "input": "Hello"})), Ok(()));
    }

    #[test]
    fn reasoning_is_found_by_its_id_only_where_it_is_stored() {
        let with = |store: Value, encrypted: Value| {
            check(&json!({"model": "m", "store": store, "input": [
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypted},
                {"role": "assistant", "content": "x"},
            ]}))
        };
        assert_eq!(with(json!(false), json!("gAAA")), Ok(()));
        assert_eq!(with(Value::Null, Value::Null), Ok(()));
        assert!(
            with(json!(false), Value::Null)
                .unwrap_err()
                .contains("not persisted")
        );
    }

    #[test]
    fn the_rest_of_the_request_is_checked_too() {
        let with = |name: &str, value: Value| {
            let mut body = json!({"model": "m", "input": "Hello"});
            body[name] = value;
            request(&body).map_err(|refusal| refusal.param.unwrap_or_default())
        };
        let tool = |name: &str| json!([{"type": "function", "name": name}]);
        assert_eq!(with("tools", tool("get-it_2")), Ok(()));
        assert_eq!(with("tools", json!([])), Ok(()));
        assert_eq!(
            with("tools", tool("get it")),
            Err("tools[0].name".to_owned())
        );
        assert_eq!(with("tools", tool("")), Err("tools[0].name".to_owned()));
        // As Chat Completions has it.
        let nested = json!([{"type": "function", "function": {"name": "f"}}]);
        assert_eq!(with("tools", nested), Err("tools[0].name".to_owned()));
        assert_eq!(
            with("tool_choice", json!("required")),
            Err("tool_choice".to_owned())
        );
        let named = json!({"type": "function", "name": "f"});
        assert_eq!(with("tool_choice", named), Err("tool_choice".to_owned()));
        assert_eq!(with("model", Value::Null), Err("model".to_owned()));
        assert_eq!(
            with("max_output_tokens", json!(15)),
            Err("max_output_tokens".to_owned())
        );
        assert_eq!(with("max_output_tokens", json!(16)), Ok(()));
        assert_eq!(with("include", json!("x")), Err("include".to_owned()));
    }
}
