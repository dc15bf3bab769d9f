//! The checks refuse what the providers refuse.

use serde_json::{Value, json};
use stepwell_mock_llm::Dialect;
use stepwell_mock_llm::check::Rules;

fn breaches(rules: Rules<'_>, body: &Value) -> Vec<String> {
    let breaches = rules.check(body).err().unwrap_or_default();
    breaches.iter().map(ToString::to_string).collect()
}

/// The body passes, and fails at the pointer once the change is made.
#[track_caller]
fn refuses(dialect: Dialect, provider: &str, good: &Value, changes: &[(&str, Value, &str)]) {
    let rules = Rules::new(dialect).provider(provider);
    let rules = rules.model("gemini-3-pro").tidy();
    assert_eq!(breaches(rules, good), [""; 0], "{provider}");
    for (pointer, value, breach) in changes {
        let mut bad = good.clone();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        let parent = bad.pointer_mut(parent).expect("a place");
        match parent {
            Value::Array(items) if name == "-" => items.push(value.clone()),
            Value::Array(items) if value.is_null() => {
                drop(items.remove(name.parse().expect("an index")));
            }
            Value::Array(items) => items[name.parse::<usize>().expect("an index")] = value.clone(),
            Value::Object(fields) if value.is_null() => drop(fields.remove(name)),
            Value::Object(fields) => drop(fields.insert(name.to_owned(), value.clone())),
            other => panic!("{pointer}: {other}"),
        }
        let found = breaches(rules, &bad);
        assert!(
            found.iter().any(|found| found.starts_with(breach)),
            "{provider} {pointer}: {found:?}"
        );
    }
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "clock", "arguments": "{}"}})
}

fn chat() -> Value {
    json!({"model": "m", "stream": true, "messages": [
        {"role": "system", "content": "Rule"},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": null, "tool_calls": [call("abcDEF123"), call("abcDEF124")]},
        {"role": "tool", "tool_call_id": "abcDEF123", "content": "1"},
        {"role": "tool", "tool_call_id": "abcDEF124", "content": "2"},
        {"role": "assistant", "content": "Done"},
        {"role": "user", "content": "More"},
    ], "tools": [{"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}}]})
}

#[test]
fn chat_completions() {
    let user = json!({"role": "user", "content": "x"});
    refuses(
        Dialect::OpenAiChat,
        "openai",
        &chat(),
        &[
            ("/model", json!(""), "/model"),
            ("/messages", json!([]), "/messages"),
            ("/messages/0/role", json!("bot"), "/messages/0/role"),
            ("/messages/1/content", json!([]), "/messages/1/content"),
            (
                "/messages/1/content/0/type",
                json!("image_url"),
                "/messages/1/content/0/image_url",
            ),
            ("/messages/2", user.clone(), "/messages/3/tool_call_id"),
            ("/messages/3", user.clone(), "/messages/3: comes after"),
            (
                "/messages/3/tool_call_id",
                json!("abcDEF124"),
                "/messages/4/tool_call_id",
            ),
            (
                "/messages/2/tool_calls/1/id",
                json!("abcDEF123"),
                "/messages/2/tool_calls/1/id",
            ),
            (
                "/messages/2/tool_calls/0/id",
                json!("x".repeat(41)),
                "/messages/2/tool_calls/0/id",
            ),
            (
                "/messages/2/tool_calls/0/function/name",
                json!("a b"),
                "/messages/2/tool_calls/0/function/name",
            ),
            (
                "/messages/2/tool_calls",
                json!([]),
                "/messages/2/tool_calls",
            ),
            ("/messages/5/content", Value::Null, "/messages/5"),
            (
                "/messages/-",
                json!({"role": "tool", "tool_call_id": "abcDEF124", "content": "3"}),
                "/messages/7/tool_call_id",
            ),
            (
                "/messages/-",
                json!({"role": "assistant", "tool_calls": [call("x")]}),
                "/messages/7: is not the last",
            ),
        ],
    );
    let mut foreign = chat();
    foreign["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!("{");
    let rules = Rules::new(Dialect::OpenAiChat);
    assert_eq!(breaches(rules.provider("openai"), &foreign), [""; 0]);
    assert_eq!(breaches(rules.provider("groq"), &foreign).len(), 1);
    refuses(
        Dialect::OpenAiChat,
        "groq",
        &chat(),
        &[
            ("/messages/0/role", json!("developer"), "/messages/0/role"),
            (
                "/tools/0/function/name",
                json!("a b"),
                "/tools/0/function/name",
            ),
            (
                "/tool_choice",
                json!({"type": "function", "function": {"name": "x"}}),
                "/tool_choice/function/name",
            ),
        ],
    );
}

#[test]
fn mistral() {
    let system = json!({"role": "system", "content": "x"});
    refuses(
        Dialect::Mistral,
        "mistral",
        &chat(),
        &[
            (
                "/messages/5",
                json!({"role": "user", "content": "x"}),
                "/messages/5/role",
            ),
            ("/messages/6", system, "/messages/6/role"),
            (
                "/messages/6",
                json!({"role": "assistant", "content": "x"}),
                "/messages/6: the last",
            ),
            (
                "/messages/2/tool_calls/0/id",
                json!("call_1"),
                "/messages/2/tool_calls/0/id",
            ),
            ("/messages/5/content", json!(" "), "/messages/5"),
            ("/stream_options", json!({}), "has no stream_options"),
            (
                "/messages/5/refusal",
                json!("No"),
                "/messages/5: has no refusal",
            ),
            ("/tool_choice", json!("some"), "/tool_choice"),
        ],
    );
}

#[test]
fn cohere() {
    refuses(
        Dialect::Cohere,
        "cohere",
        &chat(),
        &[
            ("/messages/1/content", json!(""), "/messages/1/content"),
            ("/messages/3", Value::Null, "/messages/4"),
            ("/messages/0/role", json!("developer"), "/messages/0/role"),
            ("/tool_choice", json!("auto"), "/tool_choice"),
            ("/reasoning_effort", json!("low"), "has no reasoning_effort"),
            ("/messages/5/tool_plan", json!("p"), "/messages/5: plans"),
            (
                "/tools/0/function/parameters",
                Value::Null,
                "/tools/0/function/parameters",
            ),
            (
                "/messages/4/content",
                json!([{"type": "image_url"}]),
                "/messages/4/content/0/type",
            ),
        ],
    );
}

#[test]
fn responses() {
    let good = json!({"model": "m", "stream": true, "store": false, "input": [
        {"role": "user", "content": "Hi"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "a", "name": "clock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done"}]},
    ], "tools": [{"type": "function", "name": "clock", "parameters": {"type": "object", "properties": {}}}]});
    refuses(
        Dialect::OpenAiResponses,
        "openai",
        &good,
        &[
            ("/input", json!([]), "/input"),
            (
                "/input/1/encrypted_content",
                Value::Null,
                "/input/1/encrypted_content",
            ),
            (
                "/input/2",
                json!({"role": "user", "content": "x"}),
                "/input/1: is followed",
            ),
            ("/input/3", Value::Null, "/input/2/call_id: has an output"),
            ("/input/2/call_id", json!("b"), "/input/3/call_id"),
            (
                "/input/2/call_id",
                json!("x".repeat(65)),
                "/input/2/call_id",
            ),
            (
                "/input/4/content/0/type",
                json!("input_text"),
                "/input/4/content/0/type",
            ),
            ("/tools/0/function", json!({}), "/tools/0"),
            (
                "/tool_choice",
                json!({"type": "function", "name": "x"}),
                "/tool_choice/name",
            ),
            ("/max_tokens", json!(1), "has no max_tokens"),
            ("/max_output_tokens", json!(15), "/max_output_tokens"),
            ("/include", json!("x"), "/include"),
            ("/input/1/id", json!("msg_1"), "/input/1/id"),
        ],
    );
}

#[test]
fn anthropic() {
    let good = json!({"model": "m", "max_tokens": 4096, "stream": true, "system": "Rule", "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hmm", "signature": "x"},
            {"type": "tool_use", "id": "a", "name": "clock", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "1", "is_error": false},
            {"type": "text", "text": "More"},
        ]},
    ], "tools": [{"name": "clock", "input_schema": {"type": "object", "properties": {}}}],
       "thinking": {"type": "enabled", "budget_tokens": 1024}});
    refuses(
        Dialect::Anthropic,
        "anthropic",
        &good,
        &[
            ("/max_tokens", Value::Null, "/max_tokens"),
            ("/max_tokens", json!(1000), "/thinking/budget_tokens"),
            ("/system", json!(" "), "/system"),
            ("/messages/0", Value::Null, "/messages/0: the first"),
            ("/messages/0/content", json!(" "), "/messages/0/content"),
            ("/messages/0/role", json!("assistant"), "/messages/1/role"),
            (
                "/messages/1/content/0/signature",
                json!(""),
                "/messages/1/content/0/signature",
            ),
            (
                "/messages/1/content/0",
                Value::Null,
                "/messages/1: begins with its thinking",
            ),
            (
                "/messages/1/content/1",
                Value::Null,
                "/messages/1/content/0: the last block",
            ),
            (
                "/messages/1/content/1/id",
                json!("a.b"),
                "/messages/1/content/1/id",
            ),
            (
                "/messages/1/content/1/input",
                json!("{}"),
                "/messages/1/content/1/input",
            ),
            (
                "/messages/2/content/0/tool_use_id",
                json!("b"),
                "/messages/2/content/0/tool_use_id",
            ),
            (
                "/messages/2/content/0",
                Value::Null,
                "/messages/2: has the results",
            ),
            (
                "/messages/2/content/1",
                json!({"type": "text", "text": ""}),
                "/messages/2/content/1/text",
            ),
            (
                "/messages/2/content/-",
                json!({"type": "tool_result", "tool_use_id": "a"}),
                "/messages/2/content/2: results",
            ),
            (
                "/messages/-",
                json!({"role": "assistant", "content": "x"}),
                "/messages/3: the last",
            ),
            ("/tool_choice", json!({"type": "any"}), "/tool_choice/type"),
            ("/temperature", json!(0.5), "/temperature"),
            ("/messages/2", Value::Null, "/messages/1: is not the last"),
            (
                "/messages/-",
                json!({"role": "assistant", "content": "x "}),
                "/messages/3: an answer that goes on",
            ),
            (
                "/messages/2/content/0",
                json!({"type": "tool_result", "tool_use_id": "a", "is_error": true,
                    "content": [{"type": "image", "source": {"type": "url"}}]}),
                "/messages/2/content/0/content/0: an error",
            ),
            ("/tools/0/input_schema", json!({}), "/tools/0/input_schema"),
            (
                "/thinking",
                json!({"type": "disabled"}),
                "/messages/1: has no thinking",
            ),
        ],
    );
}

#[test]
fn gemini() {
    let good = json!({"systemInstruction": {"parts": [{"text": "Rule"}]}, "contents": [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [
            {"functionCall": {"name": "clock", "args": {}}, "thoughtSignature": "eA=="},
            {"functionCall": {"name": "weather", "args": {}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "clock", "response": {"result": "1"}}},
            {"functionResponse": {"name": "weather", "response": {}}},
        ]},
    ], "tools": [{"functionDeclarations": [{"name": "clock"}]}]});
    refuses(
        Dialect::Gemini,
        "gemini",
        &good,
        &[
            ("/contents", json!([]), "/contents"),
            ("/contents/0", Value::Null, "/contents/0: the first"),
            ("/contents/0/parts", json!([]), "/contents/0/parts"),
            (
                "/contents/0/parts/0/text",
                json!(""),
                "/contents/0/parts/0/text",
            ),
            (
                "/contents/1/parts/0/thoughtSignature",
                Value::Null,
                "/contents/1/parts/0: has a signature",
            ),
            (
                "/contents/1/parts/0/functionCall/args",
                json!("{}"),
                "/contents/1/parts/0/functionCall/args",
            ),
            (
                "/contents/1/parts/0/functionCall/name",
                json!("1a"),
                "/contents/1/parts/0/functionCall/name",
            ),
            (
                "/contents/1/parts/0/text",
                json!("x"),
                "/contents/1/parts/0: holds one",
            ),
            ("/contents/2/parts/1", Value::Null, "/contents/2: answers"),
            (
                "/contents/2/parts/0/functionResponse/name",
                json!("weather"),
                "/contents/2: answers",
            ),
            (
                "/contents/2/parts/0/functionResponse/response",
                json!("1"),
                "/contents/2/parts/0/functionResponse/response",
            ),
            ("/contents/2", Value::Null, "/contents/1: the last"),
            (
                "/toolConfig",
                json!({"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["clock"]}}),
                "/toolConfig",
            ),
            ("/messages", json!([]), "/messages: is not a field"),
            (
                "/contents/0/parts/0/tekst",
                json!("x"),
                "/contents/0/parts/0/tekst: is not a field",
            ),
            (
                "/tools/0/functionDeclarations/0",
                json!({"name": "clock", "parameters": {}, "parametersJsonSchema": {"type": "object", "properties": {}}}),
                "/tools/0/functionDeclarations/0: has one schema",
            ),
        ],
    );
}

#[test]
fn ollama() {
    let call = json!({"function": {"name": "clock", "arguments": {}}});
    let good = json!({"model": "m", "messages": [
        {"role": "user", "content": "Hi", "images": ["aGk="]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "clock", "content": "1"},
    ]});
    refuses(
        Dialect::Ollama,
        "ollama",
        &good,
        &[
            ("/messages/0/content", json!([]), "/messages/0/content"),
            (
                "/messages/0/images/0",
                json!("data:x"),
                "/messages/0/images/0",
            ),
            (
                "/messages/1/tool_calls/0/function/arguments",
                json!("{}"),
                "/messages/1/tool_calls/0/function/arguments",
            ),
            ("/messages/2/tool_name", json!("x"), "/messages/2/tool_name"),
            ("/messages/2", Value::Null, "/messages/1: is not the last"),
            ("/tool_choice", json!("auto"), "has no tool_choice"),
            ("/think", json!("max"), "/think"),
        ],
    );
}

#[test]
fn ag_ui() {
    let good = json!({"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {},
    "messages": [
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "assistant", "toolCalls": [{"id": "a"}]},
        {"id": "3", "role": "tool", "toolCallId": "a", "content": "1"},
    ]});
    refuses(
        Dialect::AgUi,
        "ag-ui",
        &good,
        &[
            ("/threadId", Value::Null, "/threadId"),
            ("/messages/0/id", Value::Null, "/messages/0/id"),
            ("/messages/0/role", json!("activity"), "/messages/0/role"),
            ("/messages/2", Value::Null, "/messages/1/toolCalls/0/id"),
        ],
    );
    let mut resumed = good;
    resumed["messages"].as_array_mut().expect("an array").pop();
    resumed["resume"] = json!([{"interruptId": "i"}]);
    assert_eq!(breaches(Rules::new(Dialect::AgUi), &resumed), [""; 0]);
}

#[test]
fn what_is_around_the_body_counts_too() {
    let rules = Rules::new(Dialect::OpenAiChat).provider("openai");
    let body = chat().to_string();
    let headers = [("content-type".to_owned(), "application/json".to_owned())];
    let url = "https://h/chat/completions";
    assert_eq!(
        rules.check_http("POST", url, &headers, body.as_bytes()),
        Ok(())
    );
    let bad = rules.check_http("POST", "https://h/other", &[], body.as_bytes());
    assert_eq!(bad.expect_err("it is refused").len(), 2);
    let bad = rules.check_http("POST", url, &headers, b"{");
    let rule = &bad.expect_err("it is refused")[0].rule;
    assert!(rule.starts_with("the body is JSON"), "{rule}");
}

/// A client that is not so careful is refused only what the service itself refuses.
#[test]
fn what_only_a_careful_client_does_is_not_asked_of_all() {
    let said = |role: &str| json!({"role": role, "content": "x"});
    let part = |role: &str| json!({"role": role, "parts": [{"text": "x"}]});
    for (dialect, body) in [
        (
            Dialect::Anthropic,
            json!({"model": "m", "max_tokens": 9, "messages": [said("user"), said("user"), said("assistant")]}),
        ),
        (
            Dialect::OpenAiChat,
            json!({"model": "m", "stream": false, "messages": [{"role": "assistant", "content": ""}]}),
        ),
        (
            Dialect::Gemini,
            json!({"contents": [{"parts": [{"text": ""}]}, part("user"), part("model")]}),
        ),
        (
            Dialect::OpenAiResponses,
            json!({"model": "m", "input": "Hello"}),
        ),
        (
            Dialect::Ollama,
            json!({"model": "m", "tool_choice": "auto", "messages": [said("user")]}),
        ),
    ] {
        assert_eq!(breaches(Rules::new(dialect), &body), [""; 0], "{dialect:?}");
        assert_ne!(
            breaches(Rules::new(dialect).tidy(), &body).len()
                + usize::from(dialect == Dialect::OpenAiResponses),
            0,
            "{dialect:?}"
        );
    }
}

#[test]
fn an_interaction_has_steps_in_order_and_signed_calls() {
    let good = json!({"model": "gemini-3-flash", "stream": true, "store": false, "input": [
        {"type": "user_input", "content": [{"type": "text", "text": "Go"}]},
        {"type": "thought", "signature": "dGg="},
        {"type": "function_call", "id": "a", "name": "clock", "arguments": {}},
        {"type": "function_result", "call_id": "a", "result": "1"},
    ], "tools": [{"type": "function", "name": "clock"}], "generation_config": {"tool_choice": "auto"}});
    refuses(
        Dialect::GeminiInteractions,
        "gemini",
        &good,
        &[
            ("/input", json!([]), "/input"),
            ("/input/0/content", json!([]), "/input/0/content"),
            ("/input/0/type", json!("said"), "/input/0"),
            (
                "/input/1/signature",
                json!("no base64!"),
                "/input/1/signature",
            ),
            (
                "/input/1/signature",
                Value::Null,
                "/input/2: has a signature",
            ),
            ("/input/2/arguments", json!("{}"), "/input/2/arguments"),
            ("/input/2/id", json!("b"), "/input/3/call_id"),
            ("/input/3/result", json!(7), "/input/3/result"),
            ("/tools/0/name", json!("no name"), "/tools/0/name"),
            (
                "/generation_config/tool_choice",
                json!("all"),
                "/generation_config/tool_choice",
            ),
            (
                "/generation_config/top_k",
                json!(1),
                "/generation_config/top_k",
            ),
            ("/parallel_tool_calls", json!(true), "/parallel_tool_calls"),
            ("/background", json!(1), "/background"),
        ],
    );
    let mut background = good;
    background["background"] = true.into();
    let rules = || Rules::new(Dialect::GeminiInteractions);
    assert_eq!(breaches(rules(), &background).len(), 1);
    background["store"] = true.into();
    assert_eq!(breaches(rules(), &background), [""; 0]);
}
