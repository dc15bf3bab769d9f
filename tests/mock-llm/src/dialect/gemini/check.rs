//! What the service itself refuses about a request, in its words.

use serde_json::{Map, Value};

use super::super::Refusal;
use super::{contents, has, parts};

const FIELDS: [&str; 9] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "safetySettings",
    "generationConfig",
    "cachedContent",
    "model",
    "labels",
];

/// What a part holds, one of them.
const DATA: [&str; 7] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
];

/// What may stand beside it.
const BESIDE: [&str; 4] = [
    "thought",
    "thoughtSignature",
    "videoMetadata",
    "mediaResolution",
];

/// The first thing that is wrong with a request.
pub(super) fn request(body: &Value) -> Result<(), Refusal> {
    known(body, &FIELDS, "")?;
    if contents(body).is_empty() {
        return Err(refusal(
            "* GenerateContentRequest.contents: contents is not specified",
        ));
    }
    for (index, value) in contents(body).iter().enumerate() {
        content(value, &format!("contents[{index}]"))?;
    }
    let system = &body["systemInstruction"];
    if !system.is_null() {
        content(system, "system_instruction")?;
    }
    turns(contents(body))?;
    signatures(contents(body))?;
    tools(body)
}

fn refusal(message: impl Into<String>) -> Refusal {
    Refusal::new(400, message)
}

fn known(value: &Value, fields: &[&str], path: &str) -> Result<(), Refusal> {
    let unknown = value
        .as_object()
        .and_then(|object| object.keys().find(|key| !fields.contains(&key.as_str())));
    let place = match path {
        "" => String::new(),
        path => format!(" at '{path}'"),
    };
    unknown.map_or(Ok(()), |name| {
        Err(refusal(format!(
            "Invalid JSON payload received. Unknown name \"{name}\"{place}: Cannot find field."
        )))
    })
}

fn content(value: &Value, path: &str) -> Result<(), Refusal> {
    known(value, &["role", "parts"], path)?;
    match value["role"].as_str() {
        None | Some("user" | "model" | "function" | "system") => {}
        Some(_) => {
            return Err(refusal("Please use a valid role: user, model.".to_owned()));
        }
    }
    if parts(value).is_empty() {
        return Err(refusal(format!(
            "* GenerateContentRequest.{path}.parts: contents.parts must not be empty."
        )));
    }
    parts(value)
        .iter()
        .enumerate()
        .try_for_each(|(index, value)| part(value, &format!("{path}.parts[{index}]")))
}

fn part(value: &Value, path: &str) -> Result<(), Refusal> {
    known(value, &[&DATA[..], &BESIDE[..]].concat(), path)?;
    let held: Vec<_> = DATA
        .into_iter()
        .filter(|name| value.get(name).is_some())
        .collect();
    if held.len() > 1 {
        return Err(refusal(format!(
            "Invalid value at '{path}' (oneof), oneof field 'data' is already set. Cannot set '{}'",
            held[1]
        )));
    }
    let Some(kind) = held.first() else {
        return Err(refusal(format!(
            "* GenerateContentRequest.{path}.data: required oneof field 'data' must have one initialized field"
        )));
    };
    if *kind == "text" && !value["text"].is_string() {
        return Err(refusal(format!(
            "Invalid value at '{path}.text' (TYPE_STRING), {}",
            value["text"]
        )));
    }
    let (name, object) = match *kind {
        "functionCall" => ("function_call", "args"),
        "functionResponse" => ("function_response", "response"),
        _ => return Ok(()),
    };
    let function = &value[*kind];
    if function["name"].as_str().is_none_or(str::is_empty) {
        return Err(refusal(format!(
            "* GenerateContentRequest.{path}.{name}.name: Name cannot be empty."
        )));
    }
    match &function[object] {
        Value::Object(_) => Ok(()),
        Value::Null if object == "args" => Ok(()),
        other => Err(refusal(format!(
            "Invalid value at '{path}.{name}.{object}' (type.googleapis.com/google.protobuf.Struct), {other}"
        ))),
    }
}

/// Calls are answered at once, all of them, in one content.
fn turns(contents: &[Value]) -> Result<(), Refusal> {
    let number = |content: &Value, field: &str| {
        let parts = parts(content).iter();
        parts.filter(|part| part.get(field).is_some()).count()
    };
    let mut due = 0;
    let mut before: Option<&Value> = None;
    for content in contents {
        let given = number(content, "functionResponse");
        if due > 0 && given == 0 || due == 0 && given > 0 {
            return Err(refusal(
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
        if due != given {
            return Err(refusal(
                "Please ensure that the number of function response parts is equal to the number of function call \
                 parts of the function call turn.",
            ));
        }
        due = number(content, "functionCall");
        if due > 0 && before.is_none_or(|before| before["role"] == "model") {
            return Err(refusal(
                "Please ensure that function call turn comes immediately after a user turn or after a function \
                 response turn.",
            ));
        }
        before = Some(content);
    }
    if due > 0 {
        return Err(refusal(
            "Please ensure that the number of function response parts is equal to the number of function call parts \
             of the function call turn.",
        ));
    }
    Ok(())
}

/// Models that give ids want the signature of the first call of each step of the running turn.
fn signatures(contents: &[Value]) -> Result<(), Refusal> {
    let asked = contents
        .iter()
        .rposition(|content| content["role"] == "user" && !has(content, "functionResponse"));
    let turn = contents.get(asked.map_or(0, |asked| asked + 1)..);
    for (place, content) in turn.unwrap_or_default().iter().enumerate() {
        let Some(first) = parts(content)
            .iter()
            .find(|part| part.get("functionCall").is_some())
        else {
            continue;
        };
        let call = &first["functionCall"];
        let is_signed = first["thoughtSignature"]
            .as_str()
            .is_some_and(|signature| !signature.is_empty());
        if call.get("id").is_some() && !is_signed {
            let name = call["name"].as_str().unwrap_or_default();
            return Err(refusal(format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to \
                 work correctly, and missing thought_signature may lead to degraded model performance. Additional \
                 data, function call `default_api:{name}`, position {}. Please refer to \
                 https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
                place + 1
            )));
        }
    }
    Ok(())
}

fn tools(body: &Value) -> Result<(), Refusal> {
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let mut names = Vec::new();
    for (tool, value) in tools.iter().enumerate() {
        let declarations = value["functionDeclarations"].as_array();
        for (index, value) in declarations.into_iter().flatten().enumerate() {
            let path = format!("tools[{tool}].function_declarations[{index}]");
            names.push(declaration(value, &path)?);
        }
    }
    let calling = &body["toolConfig"]["functionCallingConfig"];
    let allowed = calling["allowedFunctionNames"].as_array();
    if allowed.is_some() && calling["mode"] != "ANY" {
        return Err(refusal(
            "Allowed function names should only be set when function calling mode is ANY.",
        ));
    }
    for name in allowed.into_iter().flatten().filter_map(Value::as_str) {
        if !names.contains(&name) {
            return Err(refusal(format!(
                "Invalid value at 'tool_config.function_calling_config.allowed_function_names': {name} is not declared."
            )));
        }
    }
    Ok(())
}

fn declaration<'a>(value: &'a Value, path: &str) -> Result<&'a str, Refusal> {
    let empty = Map::new();
    let declaration = value.as_object().unwrap_or(&empty);
    let name = value["name"].as_str().unwrap_or_default();
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    if !begins || name.len() > 64 || !name.bytes().all(allowed) {
        return Err(refusal(format!(
            "* GenerateContentRequest.{path}.name: [Invalid function name. Must start with a letter or an underscore. \
             Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a \
             maximum length of 64.]"
        )));
    }
    if declaration.contains_key("parameters") && declaration.contains_key("parametersJsonSchema") {
        return Err(refusal(format!(
            "* GenerateContentRequest.{path}.parameters_json_schema: parameters_json_schema must not be set when \
             parameters is set."
        )));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(contents: &[Value]) -> Result<(), String> {
        request(&json!({"contents": contents})).map_err(|refusal| refusal.message)
    }

    fn user() -> Value {
        json!({"role": "user", "parts": [{"text": "Hello"}]})
    }

    #[expect(clippy::needless_pass_by_value, reason = "the calls read better")]
    fn calls(calls: Value) -> Value {
        json!({"role": "model", "parts": calls})
    }

    fn call(name: &str) -> Value {
        json!({"functionCall": {"name": name, "args": {}}})
    }

    fn result(name: &str) -> Value {
        json!({"functionResponse": {"name": name, "response": {"result": "1"}}})
    }

    #[expect(clippy::needless_pass_by_value, reason = "the calls read better")]
    fn results(results: Value) -> Value {
        json!({"role": "user", "parts": results})
    }

    #[test]
    fn answered_calls_pass() {
        let both = calls(json!([{"text": "Look"}, call("f"), call("f")]));
        let answered = results(json!([result("f"), result("f")]));
        assert_eq!(check(&[user(), both.clone(), answered.clone()]), Ok(()));
        assert_eq!(
            check(&[
                user(),
                both,
                answered,
                user(),
                json!({"parts": [{"text": "x"}], "role": "model"})
            ]),
            Ok(())
        );
    }

    #[test]
    fn calls_are_answered_at_once_and_all() {
        let one = calls(json!([call("f")]));
        let both = calls(json!([call("f"), call("g")]));
        let result_f = results(json!([result("f")]));
        for (contents, words) in [
            (vec![user(), both.clone()], "number of function response"),
            (
                vec![user(), both, result_f.clone()],
                "number of function response",
            ),
            (
                vec![user(), one.clone(), user()],
                "immediately after a function call turn",
            ),
            (
                vec![user(), result_f.clone()],
                "immediately after a function call turn",
            ),
            (
                vec![one.clone(), result_f.clone()],
                "immediately after a user turn",
            ),
        ] {
            let error = check(&contents).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_call_with_an_id_needs_the_signature_of_its_step() {
        let mut signed =
            json!({"functionCall": {"name": "f", "id": "1", "args": {}}, "thoughtSignature": "s"});
        let second = json!({"functionCall": {"name": "f", "id": "2", "args": {}}});
        let answered = results(json!([result("f"), result("f")]));
        let with = |first: &Value| calls(json!([first, second]));
        assert_eq!(check(&[user(), with(&signed), answered.clone()]), Ok(()));
        signed["thoughtSignature"] = "".into();
        let history = [user(), with(&signed), answered];
        let error = check(&history).unwrap_err();
        assert!(error.contains("missing a thought_signature"), "{error}");
        let [first, second, third] = history;
        assert_eq!(
            check(&[first, second, third, user()]),
            Ok(()),
            "the turn is over"
        );
    }

    #[test]
    fn malformed_contents_are_refused_with_their_path() {
        for (content, words) in [
            (
                json!({"role": "user", "parts": []}),
                "contents[0].parts: contents.parts must not be empty",
            ),
            (
                json!({"role": "bot", "parts": [{"text": "x"}]}),
                "valid role",
            ),
            (
                json!({"role": "user", "parts": [{}]}),
                "contents[0].parts[0].data",
            ),
            (
                json!({"role": "user", "parts": [{"text": "x", "inlineData": {}}]}),
                "already set",
            ),
            (
                json!({"role": "user", "parts": [{"tekst": "x"}]}),
                "Unknown name \"tekst\" at 'contents[0].parts[0]'",
            ),
            (
                json!({"role": "model", "parts": [{"functionCall": {"name": "f", "args": "{}"}}]}),
                "function_call.args",
            ),
            (
                json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": "1"}}]}),
                "function_response.response",
            ),
            (
                json!({"role": "user", "parts": [{"functionResponse": {"response": {}}}]}),
                "Name cannot be empty",
            ),
        ] {
            let error = check(&[content]).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert!(
            check(&[])
                .unwrap_err()
                .contains("contents is not specified")
        );
    }

    #[test]
    fn the_rest_of_the_request_is_checked_too() {
        let with = |name: &str, value: Value| {
            let mut body = json!({"contents": [user()]});
            body[name] = value;
            request(&body).map_err(|refusal| refusal.message)
        };
        let tool = |name: &str| json!([{"functionDeclarations": [{"name": name}]}]);
        assert_eq!(with("tools", tool("get_it.2")), Ok(()));
        assert!(with("tools", tool("2get")).is_err());
        assert!(with("tools", tool("")).is_err());
        assert!(
            with("messages", json!([]))
                .unwrap_err()
                .contains("Unknown name \"messages\"")
        );
        let both = json!([{"functionDeclarations": [{"name": "f", "parameters": {}, "parametersJsonSchema": {}}]}]);
        assert!(with("tools", both).is_err());
        let config = |mode: &str| json!({"functionCallingConfig": {"mode": mode, "allowedFunctionNames": ["f"]}});
        assert!(with("toolConfig", config("AUTO")).is_err());
        assert!(
            with("toolConfig", config("ANY"))
                .unwrap_err()
                .contains("not declared")
        );
    }
}
