//! What the server itself refuses about a request, in its words; and calls without their results, which it would take,
//! and answer with nonsense.

use serde_json::Value;

use super::super::Refusal;

/// The first thing that is wrong with a request.
pub(super) fn request(body: &Value) -> Result<(), Refusal> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(Refusal::new(400, "model is required"));
    }
    let messages = match &body["messages"] {
        Value::Array(messages) => messages.as_slice(),
        Value::Null => &[],
        other => return Err(wrong_type(other, "messages", "[]api.Message")),
    };
    messages.iter().try_for_each(message)?;
    results(messages)?;
    match &body["think"] {
        Value::Null | Value::Bool(_) => {}
        Value::String(word) if ["high", "medium", "low"].contains(&word.as_str()) => {}
        Value::String(word) => {
            let text = format!(
                "invalid think value: \"{word}\" (must be \"high\", \"medium\", \"low\", true, or false)"
            );
            return Err(Refusal::new(400, text));
        }
        other => {
            let text = format!(
                "think must be a boolean or string (\"high\", \"medium\", \"low\", true, or false): {other}"
            );
            return Err(Refusal::new(400, text));
        }
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        let parameters = &tool["function"]["parameters"];
        if !parameters.is_null() && !parameters.is_object() {
            let field = "tools.function.parameters";
            return Err(wrong_type(parameters, field, "api.ToolFunctionParameters"));
        }
    }
    Ok(())
}

fn message(message: &Value) -> Result<(), Refusal> {
    match message["role"].as_str() {
        Some("system" | "user" | "assistant" | "tool") => {}
        role => {
            let text = format!(
                "invalid role: {}, must be one of [system user assistant tool]",
                role.unwrap_or_default()
            );
            return Err(Refusal::new(400, text));
        }
    }
    let content = &message["content"];
    if !content.is_null() && !content.is_string() {
        return Err(wrong_type(content, "messages.content", "string"));
    }
    for image in message["images"].as_array().into_iter().flatten() {
        let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        let text = image.as_str().unwrap_or_default();
        if let Some(at) = text.bytes().position(|byte| !base64(byte)) {
            let text = format!("illegal base64 data at input byte {at}");
            return Err(Refusal::new(400, text));
        }
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let arguments = &call["function"]["arguments"];
        if !arguments.is_object() {
            let field = "messages.tool_calls.function.arguments";
            return Err(wrong_type(
                arguments,
                field,
                "api.ToolCallFunctionArguments",
            ));
        }
    }
    Ok(())
}

/// Results come right after their calls, one for each.
fn results(messages: &[Value]) -> Result<(), Refusal> {
    let mut due = 0;
    for message in messages {
        if message["role"] == "tool" {
            if due == 0 {
                return Err(Refusal::new(
                    400,
                    "a tool message that answers no tool call",
                ));
            }
            due -= 1;
            continue;
        }
        all_answered(due)?;
        due = message["tool_calls"].as_array().map_or(0, Vec::len);
    }
    all_answered(due)
}

fn all_answered(due: usize) -> Result<(), Refusal> {
    if due == 0 {
        return Ok(());
    }
    let text = format!("{due} tool calls without a tool message that answers them");
    Err(Refusal::new(400, text))
}

fn wrong_type(got: &Value, field: &str, expected: &str) -> Refusal {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    Refusal::new(
        400,
        format!(
            "json: cannot unmarshal {got} into Go struct field ChatRequest.{field} of type {expected}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(messages: &Value) -> Result<(), String> {
        request(&json!({"model": "m", "messages": messages})).map_err(|refusal| refusal.message)
    }

    fn calls(arguments: &[Value]) -> Value {
        let call = |arguments: &Value| json!({"function": {"name": "f", "arguments": arguments}});
        json!({"role": "assistant", "content": "", "tool_calls": arguments.iter().map(call).collect::<Vec<_>>()})
    }

    #[test]
    fn every_call_is_answered_once() {
        let user = json!({"role": "user", "content": "Hi"});
        let result = json!({"role": "tool", "content": "1", "tool_name": "f"});
        let two = calls(&[json!({}), json!({})]);
        assert_eq!(check(&json!([user, two, result, result, user])), Ok(()));
        for (messages, words) in [
            (json!([user, two, result]), "1 tool calls without"),
            (
                json!([user, two, user, result, result]),
                "2 tool calls without",
            ),
            (json!([user, result]), "answers no tool call"),
        ] {
            let error = check(&messages).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for (messages, words) in [
            (
                json!("x"),
                "into Go struct field ChatRequest.messages of type",
            ),
            (
                json!([{"role": "developer", "content": "x"}]),
                "invalid role: developer",
            ),
            (
                json!([{"role": "user", "content": [{"text": "x"}]}]),
                "array into Go struct field ChatRequest.messages.content",
            ),
            (
                json!([calls(&[json!("{}")])]),
                "string into Go struct field ChatRequest.messages.tool_calls",
            ),
            (
                json!([{"role": "user", "content": "x", "images": ["data:x"]}]),
                "base64 data at input byte 4",
            ),
        ] {
            let error = check(&messages).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        let with = |name: &str, value: Value| {
            let mut body = json!({"model": "m", "messages": []});
            body[name] = value;
            request(&body).map_err(|refusal| refusal.message)
        };
        assert_eq!(with("think", json!("low")), Ok(()));
        assert!(with("think", json!("max")).is_err());
        assert!(with("think", json!(1)).is_err());
        assert!(with("model", json!("")).is_err());
        assert!(with("tools", json!([{"function": {"parameters": "x"}}])).is_err());
    }
}
