//! The events of a run, with the scripted model. Each stream is checked against the schema and the order of the
//! protocol.

use crate::file::File;
use crate::server::{Server, asks};
use crate::stream::{all, events, kinds, text};
use serde_json::{Value, json};
use stepwell_core::event::protobuf;

#[tokio::test]
async fn every_scene_is_a_stream_that_the_protocol_allows() {
    let server = Server::start(&[]);
    for (scene, last, code) in [
        ("hello", "RUN_FINISHED", None),
        ("think", "RUN_FINISHED", None),
        ("app", "RUN_FINISHED", None),
        ("both", "RUN_FINISHED", None),
        ("list", "RUN_FINISHED", None),
        ("change", "RUN_FINISHED", None),
        ("everything", "RUN_FINISHED", None),
        ("numbers", "RUN_FINISHED", None),
        ("fail", "RUN_ERROR", Some("model_unavailable")),
        ("refuse", "RUN_ERROR", Some("model_unauthorized")),
    ] {
        let mut input = asks(scene, scene);
        input["tools"] = json!([
            {"name": "get_location", "description": "Where.", "parameters": {"type": "object"}},
            {"name": "set_theme", "description": "Which."},
        ]);
        let events = events(server.run(&input).await).await;
        let end = events.last().expect("an event");
        assert_eq!(end["type"], last, "{scene}");
        assert_eq!(end.get("code").and_then(Value::as_str), code, "{scene}");
        let started = &events[0];
        assert_eq!(started["protocolVersion"], "1.0");
        assert_eq!(started["threadId"], input["threadId"]);
        if last == "RUN_FINISHED" {
            assert_eq!(end["runId"], scene);
            assert!(end["usage"][0]["inputTokens"].as_u64() > Some(0), "{end}");
            assert_eq!(end["usage"][0]["provider"], "openai-compatible");
        }
    }
}

#[tokio::test]
async fn calls_with_invalid_arguments_are_not_left_to_the_client() {
    let server = Server::start(&[]);
    let mut input = asks("r", "app");
    input["tools"] = json!([
        {"name": "get_location", "description": "Where."},
        {"name": "set_theme", "description": "Which.", "parameters": {
            "type": "object", "properties": {"theme": {"type": "integer"}},
        }},
    ]);
    let events = events(server.run(&input).await).await;
    let results = all(&events, "TOOL_CALL_RESULT");
    assert_eq!(results.len(), 1, "{results:?}");
    assert_eq!(results[0]["toolCallId"], "call_0_1");
    let outcome = &events.last().expect("an event")["outcome"];
    assert_eq!(
        *outcome,
        json!({"type": "success", "pendingToolCallIds": ["call_0_0"]})
    );
}

#[tokio::test]
async fn a_client_from_before_1_0_gets_what_it_knows() {
    let server = Server::start(&[]);
    let mut input = asks("r", "app");
    input["tools"] = json!([{"name": "get_location", "description": "Where."}]);
    let fields = input.as_object_mut().expect("an object");
    fields.remove("protocolVersion");
    let events = events(server.run(&input).await).await;
    let end = events.last().expect("an event");
    assert_eq!(end["type"], "RUN_FINISHED");
    assert_eq!(end.get("outcome"), None, "{end}");
    let answered = all(&events, "TOOL_CALL_RESULT");
    let calls = all(&events, "TOOL_CALL_START");
    assert!(calls.len() > answered.len(), "a call is left to the client");
}

#[tokio::test]
async fn a_state_that_is_no_object_is_sent_complete_first() {
    let server = Server::start(&[]);
    let mut input = asks("r", "list");
    input["state"] = json!(["not", "an", "object"]);
    let events = events(server.run(&input).await).await;
    let kinds = kinds(&events);
    let states: Vec<_> = kinds
        .iter()
        .filter(|kind| kind.starts_with("STATE"))
        .collect();
    assert_eq!(states, [&"STATE_SNAPSHOT", &"STATE_DELTA"]);
}

#[tokio::test]
async fn a_run_id_that_was_used_before_makes_no_message_id_twice() {
    let server = Server::start(&[]);
    let mut input = asks("again", "hello");
    let first = events(server.run(&input).await).await;
    let id = all(&first, "TEXT_MESSAGE_START")[0]["messageId"].clone();
    let history = input["messages"].as_array_mut().expect("messages");
    history.push(json!({"id": id, "role": "assistant", "content": text(&first)}));
    history.push(json!({"id": "m2", "role": "user", "content": "hello"}));
    let second = events(server.run(&input).await).await;
    assert_ne!(all(&second, "TEXT_MESSAGE_START")[0]["messageId"], id);
}

#[tokio::test]
async fn a_script_of_ones_own_is_played() {
    let json = r#"{"hops": [{"steps": [{"text": "My own words."}]}], "repeat": true}"#;
    let script = File::with("script.json", json);
    let server = Server::start(&["--script", script.as_str()]);
    assert_eq!(
        text(&events(server.run(&asks("r", "hello")).await).await),
        "My own words."
    );
}

#[tokio::test]
async fn the_binary_form_has_the_same_events() {
    let server = Server::start(&[]);
    for scene in ["numbers", "think", "list", "change", "fail"] {
        let input = asks(scene, scene);
        let mut expected = events(server.run(&input).await).await;
        let mut input = input;
        input["threadId"] = expected[0]["threadId"]
            .as_str()
            .map(|id| format!("{id}-2"))
            .into();
        let request = server.request("POST", "/agent").body(input.to_string());
        let request = request.header("content-type", "application/json");
        let response = request.header("accept", protobuf::MEDIA_TYPE).send().await;
        let response = response.expect("an answer");
        assert_eq!(response.headers()["content-type"], protobuf::MEDIA_TYPE);
        let body = response.bytes().await.expect("a body");
        let mut rest = &body[..];
        let mut decoded = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            let event = protobuf::decode(&after[..length]).expect("an event");
            decoded.push(serde_json::to_value(event).expect("JSON"));
            rest = &after[length..];
        }
        assert!(rest.is_empty());
        for event in decoded.iter_mut().chain(&mut expected) {
            // The values that differ from one run to the next.
            for (path, value) in [
                ("/threadId", json!("t")),
                ("/usage", json!([])),
                ("/outcome/interrupts/0/id", json!("i")),
                ("/outcome/interrupts/0/expiresAt", json!("e")),
            ] {
                if let Some(place) = event.pointer_mut(path) {
                    *place = value;
                }
            }
        }
        if scene == "numbers" {
            // Two tools side by side end in either order.
            for events in [&mut decoded, &mut expected] {
                events.retain(|event| event["type"] != "TOOL_CALL_RESULT");
            }
        }
        assert_eq!(joined(decoded), joined(expected), "{scene}");
    }
}

/// Returns the events with the deltas of one text joined: deltas that arrive together are sent together.
fn joined(events: Vec<Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for event in events {
        let is_more = joined.last().is_some_and(|last| {
            let same = |field: &str| last[field] == event[field];
            event["delta"].is_string() && same("type") && same("messageId") && same("toolCallId")
        });
        match joined.last_mut().filter(|_| is_more) {
            Some(last) => {
                let both = [&last["delta"], &event["delta"]]
                    .map(|delta| delta.as_str().unwrap_or_default());
                last["delta"] = both.concat().into();
            }
            None => joined.push(event),
        }
    }
    joined
}
