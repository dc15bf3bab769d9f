//! What the service itself refuses about a request, in its words.

use serde_json::{Map, Value};

use super::super::Refusal;
use super::pairing::pairing;

const ROLES: [&str; 6] = [
    "system",
    "assistant",
    "user",
    "function",
    "tool",
    "developer",
];

/// The first thing that is wrong with a request.
pub(super) fn request(body: &Value) -> Result<(), Refusal> {
    match &body["model"] {
        Value::String(model) if !model.is_empty() => {}
        Value::Null | Value::String(_) => {
            return Err(Refusal::new(400, "you must provide a model parameter"));
        }
        other => return Err(wrong_type("model", "a string", other)),
    }
    let messages = match &body["messages"] {
        Value::Array(messages) => messages,
        Value::Null => return Err(missing("messages")),
        other => return Err(wrong_type("messages", "an array of objects", other)),
    };
    if messages.is_empty() {
        return Err(empty_array("messages"));
    }
    for (index, value) in messages.iter().enumerate() {
        message(index, value)?;
    }
    pairing(messages)?;
    tools(body)?;
    if !body["stream_options"].is_null() && body["stream"] != true {
        let text = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(Refusal::new(400, text).at("stream_options"));
    }
    Ok(())
}

fn message(index: usize, value: &Value) -> Result<(), Refusal> {
    let path = format!("messages[{index}]");
    let Value::Object(message) = value else {
        return Err(wrong_type(&path, "an object", value));
    };
    let role = text(message, &path, "role")?;
    if !ROLES.contains(&role) {
        let text = format!(
            "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', \
             'tool', and 'developer'."
        );
        return Err(Refusal::new(400, text)
            .at(format!("{path}.role"))
            .code("invalid_value"));
    }
    let content = message.get("content").unwrap_or(&Value::Null);
    let calls = message.get("tool_calls").filter(|calls| !calls.is_null());
    match content {
        Value::String(_) | Value::Array(_) => {}
        Value::Null
            if role == "assistant" && (calls.is_some() || message.contains_key("refusal")) => {}
        Value::Null => {
            let text = "Invalid value for 'content': expected a string, got null.";
            return Err(Refusal::new(400, text).at(format!("messages.[{index}].content")));
        }
        other => {
            let expected = "one of a string or array of objects";
            return Err(wrong_type(&format!("{path}.content"), expected, other));
        }
    }
    if role == "tool" {
        text(message, &path, "tool_call_id")?;
    }
    match calls {
        None => Ok(()),
        Some(Value::Array(calls)) if calls.is_empty() => {
            Err(empty_array(&format!("{path}.tool_calls")))
        }
        Some(Value::Array(calls)) => calls
            .iter()
            .enumerate()
            .try_for_each(|(call, value)| tool_call(&format!("{path}.tool_calls[{call}]"), value)),
        Some(other) => Err(wrong_type(
            &format!("{path}.tool_calls"),
            "an array of objects",
            other,
        )),
    }
}

fn tool_call(path: &str, value: &Value) -> Result<(), Refusal> {
    let Value::Object(call) = value else {
        return Err(wrong_type(path, "an object", value));
    };
    text(call, path, "id")?;
    text(call, path, "type")?;
    let path = format!("{path}.function");
    match call.get("function") {
        Some(Value::Object(function)) => {
            text(function, &path, "name")?;
            text(function, &path, "arguments")?;
            Ok(())
        }
        Some(other) => Err(wrong_type(&path, "an object", other)),
        None => Err(missing(&path)),
    }
}

fn tools(body: &Value) -> Result<(), Refusal> {
    let tools = match &body["tools"] {
        Value::Null if body["tool_choice"].is_null() || body["tool_choice"] == "none" => {
            return Ok(());
        }
        Value::Null => {
            let text = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are \
                        specified.";
            return Err(Refusal::new(400, text).at("tool_choice"));
        }
        Value::Array(tools) if tools.is_empty() => return Err(empty_array("tools")),
        Value::Array(tools) => tools,
        other => return Err(wrong_type("tools", "an array of objects", other)),
    };
    for (index, tool) in tools.iter().enumerate() {
        // Other kinds ("custom") have no schema to check here.
        if tool["type"] != "function" {
            continue;
        }
        let path = format!("tools[{index}].function");
        let Value::Object(function) = &tool["function"] else {
            return Err(missing(&path));
        };
        let name = text(function, &path, "name")?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !(1..=64).contains(&name.len()) || !name.bytes().all(allowed) {
            let text = format!(
                "Invalid '{path}.name': string does not match pattern. Expected a string that matches the \
                 pattern '^[a-zA-Z0-9_-]{{1,64}}$'."
            );
            return Err(Refusal::new(400, text)
                .at(format!("{path}.name"))
                .code("invalid_value"));
        }
        match function.get("parameters") {
            None | Some(Value::Object(_)) => {}
            Some(other) => {
                return Err(wrong_type(
                    &format!("{path}.parameters"),
                    "an object",
                    other,
                ));
            }
        }
    }
    Ok(())
}

pub(in super::super) fn text<'a>(
    object: &'a Map<String, Value>,
    path: &str,
    name: &str,
) -> Result<&'a str, Refusal> {
    match object.get(name) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(wrong_type(&format!("{path}.{name}"), "a string", other)),
        None => Err(missing(&format!("{path}.{name}"))),
    }
}

pub(in super::super) fn missing(path: &str) -> Refusal {
    Refusal::new(400, format!("Missing required parameter: '{path}'."))
        .at(path)
        .code("missing_required_parameter")
}

pub(in super::super) fn wrong_type(path: &str, expected: &str, got: &Value) -> Refusal {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let text = format!("Invalid type for '{path}': expected {expected}, but got {got} instead.");
    Refusal::new(400, text).at(path).code("invalid_type")
}

fn empty_array(path: &str) -> Refusal {
    let text = format!(
        "Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array \
         instead."
    );
    Refusal::new(400, text).at(path).code("empty_array")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(messages: &Value) -> Result<(), String> {
        let body = json!({"model": "m", "messages": messages});
        request(&body).map_err(|refusal| {
            format!("{}: {}", refusal.param.unwrap_or_default(), refusal.message)
        })
    }

    fn calls(ids: &[&str]) -> Value {
        let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
        json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
    }

    fn user() -> Value {
        json!({"role": "user", "content": "Hello"})
    }

    #[test]
    fn malformed_messages_are_refused_with_their_path() {
        let mut arguments = calls(&["a"]);
        arguments["tool_calls"][0]["function"]["arguments"] = json!({});
        let cases = [
            (json!([]), "messages: Invalid 'messages': empty array"),
            (json!(["x"]), "messages[0]: Invalid type"),
            (
                json!([{"content": "x"}]),
                "messages[0].role: Missing required parameter",
            ),
            (
                json!([{"role": "bot", "content": "x"}]),
                "messages[0].role: Invalid value: 'bot'",
            ),
            (
                json!([{"role": "user", "content": null}]),
                "messages.[0].content: Invalid value",
            ),
            (
                json!([{"role": "user", "content": 1}]),
                "messages[0].content: Invalid type",
            ),
            (
                json!([{"role": "assistant"}]),
                "messages.[0].content: Invalid value",
            ),
            (
                json!([{"role": "tool", "content": "x"}]),
                "messages[0].tool_call_id: Missing",
            ),
            (
                json!([calls(&[])]),
                "messages[0].tool_calls: Invalid 'messages[0].tool_calls': empty",
            ),
            (
                json!([arguments]),
                "messages[0].tool_calls[0].function.arguments: Invalid type",
            ),
        ];
        for (messages, expected) in cases {
            let error = check(&messages).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_rest_of_the_request_is_checked_too() {
        let with = |name: &str, value: Value| {
            let mut body = json!({"model": "m", "messages": [user()]});
            body[name] = value;
            request(&body).map_err(|refusal| refusal.param.unwrap_or_default())
        };
        let tool = |name: &str| json!([{"type": "function", "function": {"name": name}}]);
        assert_eq!(with("tools", tool("get-it_2")), Ok(()));
        assert_eq!(
            with("tools", tool("get it")),
            Err("tools[0].function.name".to_owned())
        );
        assert_eq!(
            with("tools", tool("")),
            Err("tools[0].function.name".to_owned())
        );
        assert_eq!(with("tools", json!([])), Err("tools".to_owned()));
        assert_eq!(
            with("tool_choice", json!("auto")),
            Err("tool_choice".to_owned())
        );
        assert_eq!(
            with("stream_options", json!({})),
            Err("stream_options".to_owned())
        );
        assert_eq!(with("model", Value::Null), Err(String::new()));
        assert_eq!(with("messages", Value::Null), Err("messages".to_owned()));
    }
}
