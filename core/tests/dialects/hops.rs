//! What the model said in one hop goes back as one answer, wherever its results stand in the history.

use crate::encode::call;
use crate::legal::targets;
use crate::validate;
use serde_json::{Value, json};
use stepwell_core::dialect::{Endpoint, GenerationSettings};
use stepwell_core::event::Message;
use stepwell_core::provider;

fn endpoint(provider: &str, api: &str, model: &str) -> Endpoint {
    provider::find(provider)
        .expect("a known provider")
        .endpoint(Some(api), model, Some("http://h"), None)
        .expect("complete")
}

/// The body of the request for this history, which the provider takes.
fn body(endpoint: &Endpoint, messages: Value) -> Value {
    let messages: Vec<Message> = serde_json::from_value(messages).expect("AG-UI messages");
    let request = targets::encode(endpoint, &messages, &[], &GenerationSettings::default());
    let valid = validate::request(endpoint.dialect, &endpoint.provider, &request);
    assert_eq!(valid, Ok(()));
    serde_json::from_slice(&request.body).expect("JSON")
}

fn details(provider: &str, data: &str, call: Option<&str>) -> String {
    let mut detail = json!({"type": "reasoning.encrypted", "data": data, "index": 0});
    if let Some(call) = call {
        detail["id"] = json!(call);
    }
    json!({"provider": provider, "dialect": "openai-chat", "value": [detail]}).to_string()
}

/// Two hops, each with reasoning that came behind its call, as Gemini 3 behind OpenRouter sends it.
fn late_reasoning(ids: [&str; 2], seals: [String; 2]) -> Value {
    let [one, two] = ids;
    let [first, second] = seals;
    json!([
        {"id": "u", "role": "user", "content": "Hi"},
        {"id": "r-message-0", "role": "assistant", "content": "Look.", "toolCalls": [call(one, "{}")]},
        {"id": "r-result-0", "role": "tool", "toolCallId": one, "content": "1"},
        {"id": "r-reasoning-0", "role": "reasoning", "content": "first", "encryptedValue": first},
        {"id": "r.1-message-0", "role": "assistant", "toolCalls": [call(two, "{}")]},
        {"id": "r.1-result-0", "role": "tool", "toolCallId": two, "content": "2"},
        {"id": "r.1-reasoning-0", "role": "reasoning", "content": "second", "encryptedValue": second},
        {"id": "r.2-message-0", "role": "assistant", "content": "Done."},
        {"id": "r.2-reasoning-0", "role": "reasoning", "content": "third", "encryptedValue": details("openrouter", "III", None)},
        {"id": "v", "role": "user", "content": "And?"},
    ])
}

#[test]
fn late_reasoning_details_are_of_the_message_of_their_hop() {
    let openrouter = endpoint("openrouter", "chat", "google/gemini-3-pro-preview");
    // As long as some of those behind OpenRouter make them.
    let ids = [
        "tool_get_the_weather_of_a_place_and_a_day_a1b2c3d4",
        "tool_get_the_weather_of_a_place_and_a_day_e5f6a7b8",
    ];
    let seals = ["I", "II"].map(|data| {
        let id = if data == "I" { ids[0] } else { ids[1] };
        details("openrouter", data, Some(id))
    });
    let body = body(&openrouter, late_reasoning(ids, seals));
    let messages = body["messages"].as_array().expect("messages");
    let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(
        roles,
        [
            "system",
            "user",
            "assistant",
            "tool",
            "assistant",
            "tool",
            "assistant",
            "user"
        ]
    );
    for (at, data) in [(2, "I"), (4, "II"), (6, "III")] {
        let details = messages[at]["reasoning_details"].as_array();
        let details = details.unwrap_or_else(|| panic!("{at}: {}", messages[at]));
        assert_eq!(details.len(), 1);
        assert_eq!(details[0]["data"], data, "{at}");
        // The signature names its call.
        if let Some(id) = details[0].get("id") {
            assert_eq!(messages[at]["tool_calls"][0]["id"], *id);
        }
    }
}

#[test]
fn late_reasoning_text_is_of_the_message_of_its_hop() {
    let mut deepseek = endpoint("openai-compatible", "chat", "deepseek-reasoner");
    deepseek.quirks.reasoning = stepwell_core::dialect::ReasoningReturn::Content;
    let mut history = late_reasoning(["a", "b"], [String::new(), String::new()]);
    for message in history.as_array_mut().expect("messages") {
        message
            .as_object_mut()
            .expect("a message")
            .remove("encryptedValue");
    }
    let deepseek = body(&deepseek, history.clone());
    for (at, thought) in [(2, "first"), (4, "second"), (6, "third")] {
        assert_eq!(
            deepseek["messages"][at]["reasoning_content"], thought,
            "{at}"
        );
    }
    let mistral = body(&endpoint("mistral", "chat", "magistral-medium"), history);
    for (at, thought) in [(2, "first"), (4, "second"), (6, "third")] {
        let parts = mistral["messages"][at]["content"]
            .as_array()
            .expect("parts");
        let thoughts: Vec<_> = parts
            .iter()
            .filter(|part| part["type"] == "thinking")
            .map(|part| &part["thinking"][0]["text"])
            .collect();
        assert_eq!(thoughts, [thought], "{at}");
    }
}

/// Text, a call, text, a call, in one answer: two messages, with the results right behind their calls.
fn interleaved() -> Value {
    json!([
        {"id": "u", "role": "user", "content": "Hi"},
        {"id": "r-message-0", "role": "assistant", "content": "One.", "toolCalls": [call("aaaaaaaaa", "{}")]},
        {"id": "r-result-0", "role": "tool", "toolCallId": "aaaaaaaaa", "content": "1"},
        {"id": "r-message-1", "role": "assistant", "content": "Two.", "toolCalls": [call("bbbbbbbbb", "{}")]},
        {"id": "r-result-1", "role": "tool", "toolCallId": "bbbbbbbbb", "content": "2"},
        {"id": "r.1-message-0", "role": "assistant", "content": "Three."},
        {"id": "v", "role": "user", "content": "And?"},
    ])
}

#[test]
fn text_and_calls_of_one_answer_stay_one_answer() {
    let kinds = |blocks: &Value, names: &[&str]| -> Vec<String> {
        let name = |block: &Value| {
            let by_type = block["type"].as_str().map(str::to_owned);
            let by_field = || names.iter().find(|name| block.get(**name).is_some());
            by_type.unwrap_or_else(|| by_field().expect("a known part").to_string())
        };
        blocks
            .as_array()
            .expect("blocks")
            .iter()
            .map(name)
            .collect()
    };
    let anthropic = body(
        &endpoint("anthropic", "messages", "claude-sonnet-4-5"),
        interleaved(),
    );
    let turns: Vec<_> = anthropic["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|turn| kinds(&turn["content"], &[]))
        .collect();
    assert_eq!(
        turns,
        [
            vec!["text"],
            vec!["text", "tool_use", "text", "tool_use"],
            vec!["tool_result", "tool_result"],
            vec!["text"],
            vec!["text"],
        ]
    );
    let gemini = body(
        &endpoint("gemini", "generateContent", "gemini-3-pro"),
        interleaved(),
    );
    let names = ["functionCall", "functionResponse", "text"];
    let contents: Vec<_> = gemini["contents"]
        .as_array()
        .expect("contents")
        .iter()
        .map(|content| kinds(&content["parts"], &names))
        .collect();
    assert_eq!(
        contents,
        [
            vec!["text"],
            vec!["text", "functionCall", "text", "functionCall"],
            vec!["functionResponse", "functionResponse"],
            vec!["text"],
            vec!["text"],
        ]
    );
    let responses = body(&endpoint("openai", "responses", "gpt-5"), interleaved());
    assert_eq!(
        kinds(&responses["input"], &[]),
        [
            "message",
            "message",
            "function_call",
            "message",
            "function_call",
            "function_call_output",
            "function_call_output",
            "message",
            "message",
        ]
    );
    for (provider, api) in [
        ("mistral", "chat"),
        ("cohere", "v2chat"),
        ("openai", "chat"),
    ] {
        let body = body(&endpoint(provider, api, "m"), interleaved());
        let messages = body["messages"].as_array().expect("messages");
        let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
        let expected = [
            "system",
            "user",
            "assistant",
            "tool",
            "tool",
            "assistant",
            "user",
        ];
        assert_eq!(roles, expected, "{provider}");
        let calls = messages[2]["tool_calls"].as_array().map(Vec::len);
        assert_eq!(calls, Some(2), "{provider}");
    }
}

#[test]
fn another_hop_is_another_answer() {
    let mut history = interleaved();
    history[3]["id"] = json!("r.1-message-0");
    history[5]["id"] = json!("r.2-message-0");
    let anthropic = body(
        &endpoint("anthropic", "messages", "claude-sonnet-4-5"),
        history,
    );
    assert_eq!(anthropic["messages"].as_array().map(Vec::len), Some(7));
    // Ids that are not made here say nothing of hops.
    let mut history = interleaved();
    for at in [1, 3, 5] {
        history[at]["id"] = json!(format!("message-{at}"));
    }
    let anthropic = body(
        &endpoint("anthropic", "messages", "claude-sonnet-4-5"),
        history,
    );
    assert_eq!(anthropic["messages"].as_array().map(Vec::len), Some(7));
}

#[test]
fn neither_side_speaks_twice_to_gemini() {
    let gemini = endpoint("gemini", "generateContent", "gemini-3-pro");
    let contents = body(
        &gemini,
        json!([
            {"id": "u", "role": "user", "content": "Hi"},
            {"id": "r-message-0", "role": "assistant", "content": ""},
            {"id": "v", "role": "user", "content": "Are you there?"},
            {"id": "s-message-0", "role": "assistant", "toolCalls": [call("a", "{}")]},
            {"id": "s-result-0", "role": "tool", "toolCallId": "a", "content": "1"},
            {"id": "w", "role": "user", "content": "Never mind."},
        ]),
    );
    let roles: Vec<_> = contents["contents"]
        .as_array()
        .expect("contents")
        .iter()
        .map(|content| {
            (
                &content["role"],
                content["parts"].as_array().map_or(0, Vec::len),
            )
        })
        .collect();
    assert_eq!(
        roles,
        [
            (&json!("user"), 2),
            (&json!("model"), 1),
            (&json!("user"), 2)
        ]
    );
}
