//! Kimi's ids of calls, which the model reads in its prompt.

use super::targets::{encode, endpoints, kimis};
use serde_json::{Value, json};
use stepwell_core::dialect::{Endpoint, GenerationSettings};
use stepwell_core::event::Message;

/// The ids of the request's calls, and of its results.
fn ids(endpoint: &Endpoint, history: &Value) -> (Vec<String>, Vec<String>) {
    let messages: Vec<Message> = serde_json::from_value(history.clone()).expect("AG-UI messages");
    let request = encode(endpoint, &messages, &[], &GenerationSettings::default());
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let messages = body["messages"].as_array().expect("messages");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let calls = messages
        .iter()
        .flat_map(|message| message["tool_calls"].as_array());
    let results = messages.iter().filter(|message| message["role"] == "tool");
    (
        calls.flatten().map(|call| text(&call["id"])).collect(),
        results
            .map(|result| text(&result["tool_call_id"]))
            .collect(),
    )
}

/// A round of tools for each list of calls, by id and name.
fn rounds(rounds: &[&[(&str, &str)]]) -> Value {
    let mut messages = vec![json!({"id": "u", "role": "user", "content": "Go."})];
    for (at, calls) in rounds.iter().enumerate() {
        let asked: Vec<_> = calls
            .iter()
            .map(|(id, name)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}))
            .collect();
        messages.push(json!({"id": format!("a{at}"), "role": "assistant", "toolCalls": asked}));
        for (id, _) in *calls {
            messages.push(json!({"id": format!("t{at}{id}"), "role": "tool", "toolCallId": id, "content": "1"}));
        }
    }
    Value::Array(messages)
}

#[test]
fn its_own_ids_go_back_as_they_came_and_may_repeat() {
    let long = format!("functions.{}:0", "a".repeat(60));
    let name = "a".repeat(60);
    for endpoint in kimis() {
        let history = rounds(&[
            &[("functions.look:0", "look"), ("functions.add:1", "add")],
            &[("functions.look:0", "look")],
            &[(&long, &name)],
        ]);
        let expected = [
            "functions.look:0",
            "functions.add:1",
            "functions.look:0",
            &*long,
        ];
        let (calls, results) = ids(&endpoint, &history);
        assert_eq!(calls, expected, "{}", endpoint.model);
        assert_eq!(results, expected, "{}", endpoint.model);
    }
}

#[test]
fn other_ids_get_its_form_and_the_number_of_the_call() {
    for endpoint in kimis() {
        let history = rounds(&[
            &[("call_abc", "look"), ("toolu_01", "add")],
            &[("functions.look:2", "look"), ("functionslook3", "look")],
            &[
                ("r-call-0", "look"),
                ("functions.add:0", "look"),
                ("", "add"),
            ],
        ]);
        let expected = [
            "functions.look:0",
            "functions.add:1",
            "functions.look:2",
            "functions.look:3",
            "functions.look:4",
            "functions.look:5",
            "functions.add:6",
        ];
        let (calls, results) = ids(&endpoint, &history);
        assert_eq!(calls, expected, "{}", endpoint.model);
        assert_eq!(results, expected, "{}", endpoint.model);
    }
}

#[test]
fn a_made_id_takes_no_other_calls_number() {
    let [k2, _] = kimis().try_into().expect("two");
    let history = rounds(&[
        &[("functions.look:1", "look"), ("call_abc", "look")],
        &[("functions.look:1", "look"), ("call_abc", "look")],
    ]);
    let (calls, _) = ids(&k2, &history);
    let made = [
        "functions.look:1",
        "functions.look:2",
        "functions.look:1",
        "functions.look:3",
    ];
    assert_eq!(calls, made);
}

#[test]
fn k2_writes_no_short_ids_and_later_models_do() {
    let history = rounds(&[&[("look:0", "look")], &[("look:0", "look")]]);
    let [k2, k3] = kimis().try_into().expect("two");
    assert_eq!(
        ids(&k2, &history).0,
        ["functions.look:0", "functions.look:1"]
    );
    assert_eq!(ids(&k3, &history).0, ["look:0", "look:0"]);
}

#[test]
fn kimis_ids_are_unique_for_other_models() {
    let history = rounds(&[
        &[("functions.look:0", "look")],
        &[("functions.look:0", "look")],
    ]);
    for provider in ["openai", "groq", "mistral"] {
        let endpoint = endpoints(provider).swap_remove(0);
        let (calls, results) = ids(&endpoint, &history);
        assert_ne!(calls[0], calls[1], "{provider}");
        assert_eq!(calls, results, "{provider}");
    }
}
