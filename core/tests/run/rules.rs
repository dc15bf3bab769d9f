//! What a provider of Chat Completions accepts: the rules of the request, as its own server checks them.

use serde_json::Value;
use std::collections::BTreeSet;

/// The first rule that a request's body breaks.
pub fn openai_chat(body: &Value) -> Result<(), String> {
    let text = |value: &Value, what: &str| -> Result<String, String> {
        match value.as_str() {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(format!("{what} is {value}")),
        }
    };
    text(&body["model"], "the model")?;
    if body["stream"] != true {
        return Err("no stream is asked for".into());
    }
    if let Some(tools) = body.get("tools") {
        let tools = tools.as_array().filter(|tools| !tools.is_empty());
        let tools = tools.ok_or("`tools` is there and has none")?;
        let mut names = BTreeSet::new();
        for tool in tools {
            let name = text(&tool["function"]["name"], "a tool's name")?;
            if tool["type"] != "function" || !tool["function"]["parameters"].is_object() {
                return Err(format!("the tool {tool}"));
            }
            if !names.insert(name) {
                return Err(format!("two tools of one name: {tool}"));
            }
        }
    } else if body.get("tool_choice").is_some() {
        return Err("a choice of tools without tools".into());
    }
    let messages = body["messages"].as_array().ok_or("no messages")?;
    let mut due: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let wrong = |what: &str| Err(format!("message {index}: {what}: {message}"));
        if role == "tool" {
            let id = text(&message["tool_call_id"], "a result's call id")?;
            if due.first() != Some(&id) {
                return wrong(&format!("a result where {due:?} are due"));
            }
            if !(message["content"].is_string() || message["content"].is_array()) {
                return wrong("a result without content");
            }
            due.remove(0);
            continue;
        }
        if !due.is_empty() {
            return wrong(&format!("no results for {due:?}"));
        }
        match role {
            "system" | "developer" | "user" => {
                if text(&message["content"], "the content").is_err()
                    && message["content"].as_array().is_none_or(Vec::is_empty)
                {
                    return wrong("no content");
                }
            }
            "assistant" => match message.get("tool_calls") {
                None => {
                    if text(&message["content"], "the content").is_err() {
                        return wrong("neither content nor calls");
                    }
                }
                Some(calls) => {
                    let calls = calls.as_array().filter(|calls| !calls.is_empty());
                    for call in calls.ok_or("`tool_calls` is there and has none")? {
                        let id = text(&call["id"], "a call's id")?;
                        text(&call["function"]["name"], "a call's name")?;
                        if call["type"] != "function" || !call["function"]["arguments"].is_string()
                        {
                            return wrong("a call that is none");
                        }
                        if due.contains(&id) {
                            return wrong("two calls of one id");
                        }
                        due.push(id);
                    }
                }
            },
            other => return wrong(&format!("the role {other:?}")),
        }
    }
    if !due.is_empty() {
        return Err(format!("no results for {due:?} at the end"));
    }
    match messages.last().map(|message| &message["role"]) {
        Some(role) if role == "user" || role == "tool" => Ok(()),
        last => Err(format!("the last word is {last:?}'s")),
    }
}

#[test]
fn the_rules_refuse_what_providers_refuse() {
    use serde_json::json;
    let request = |messages: Value| json!({"model": "m", "stream": true, "messages": messages});
    let user = json!({"role": "user", "content": "Hi"});
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let asks = |calls: Value| json!({"role": "assistant", "content": null, "tool_calls": calls});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": ""});
    for good in [
        json!([user]),
        json!([
            user,
            asks(json!([call("a"), call("b")])),
            result("a"),
            result("b")
        ]),
    ] {
        assert_eq!(openai_chat(&request(good)), Ok(()));
    }
    for bad in [
        json!([]),
        json!([{"role": "user", "content": ""}]),
        json!([{"role": "reasoning", "content": "Hm"}, user]),
        json!([user, {"role": "assistant", "content": ""}, user]),
        json!([user, {"role": "assistant", "content": "Yes"}]),
        json!([user, asks(json!([])), user]),
        json!([user, asks(json!([call("a")]))]),
        json!([user, asks(json!([call("a")])), user]),
        json!([user, asks(json!([call("a"), call("b")])), result("a"), user]),
        json!([
            user,
            asks(json!([call("a"), call("b")])),
            result("b"),
            result("a")
        ]),
        json!([user, asks(json!([call("a")])), result("a"), result("a")]),
        json!([
            user,
            asks(json!([call("a"), call("a")])),
            result("a"),
            result("a")
        ]),
        json!([user, asks(json!([call("")])), result("")]),
        json!([user, result("a")]),
    ] {
        assert!(openai_chat(&request(bad.clone())).is_err(), "{bad}");
    }
    let mut no_tools = request(json!([user]));
    no_tools["tools"] = json!([]);
    assert!(openai_chat(&no_tools).is_err());
}
