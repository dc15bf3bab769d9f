//! Which hop answers which request.

use futures::future::join_all;
use serde_json::{Value, json};
use stepwell_mock_llm::{Hop, MockLlm, Script};

use crate::client::{ask, chat, events, json_of, question, run, run_input, start};

/// Plays one complete conversation the way an app does, and returns the final text.
async fn converse(server: &MockLlm, messages: &mut Vec<Value>) -> String {
    messages.push(json!({"role": "user", "content": "What are the numbers?"}));
    loop {
        let body = json!({"model": "m", "stream": true, "messages": messages});
        let mut text = String::new();
        let mut calls: Vec<Value> = Vec::new();
        for chunk in events(chat(server, &body).await).await {
            assert_eq!(chunk.get("error"), None, "{chunk}");
            let delta = &chunk["choices"][0]["delta"];
            text.push_str(delta["content"].as_str().unwrap_or_default());
            for piece in delta["tool_calls"].as_array().unwrap_or(&Vec::new()) {
                if piece["id"].is_string() {
                    calls.push(piece.clone());
                } else {
                    let function =
                        &mut calls[piece["index"].as_u64().unwrap() as usize]["function"];
                    let whole = format!(
                        "{}{}",
                        function["arguments"].as_str().unwrap(),
                        piece["function"]["arguments"].as_str().unwrap()
                    );
                    function["arguments"] = whole.into();
                }
            }
        }
        if calls.is_empty() {
            messages.push(json!({"role": "assistant", "content": text}));
            return text;
        }
        messages.push(json!({"role": "assistant", "content": text, "tool_calls": calls}));
        for call in calls {
            let arguments: Value =
                serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
            let number = if arguments["name"] == "alice" {
                "42"
            } else {
                "7"
            };
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": number}));
        }
    }
}

#[tokio::test]
async fn the_secret_numbers_play_many_times_and_at_once() {
    let server = start(Script::secret_numbers()).await;
    let transcript = async || {
        let mut messages = vec![json!({"role": "system", "content": "Be brief."})];
        for _ in 0..3 {
            let text = converse(&server, &mut messages).await;
            assert_eq!(text, "Alice's number is 42, Bob's is 7");
        }
        messages
    };
    let conversations = join_all((0..8).map(|_| transcript())).await;
    assert_eq!(server.requests().len(), 8 * 3 * 2);
    assert!(server.failures().is_empty(), "{:?}", server.failures());
    assert_eq!(
        conversations[0][2]["content"],
        "Let me look those numbers up."
    );
    assert_eq!(
        conversations[0][2]["tool_calls"][1]["function"]["arguments"],
        r#"{"name":"bob"}"#
    );
    let mut ids: Vec<_> = conversations[0]
        .iter()
        .filter_map(|message| message["tool_call_id"].as_str())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 6, "ids are unique in a conversation: {ids:?}");
    assert!(
        conversations.iter().all(|other| *other == conversations[0]),
        "and the same on every run"
    );
}

#[tokio::test]
async fn the_secret_numbers_play_over_ag_ui() {
    let server = start(Script::secret_numbers()).await;
    let mut input = run_input();
    let first = events(run(&server, &input).await).await;
    let finished = first.last().unwrap();
    assert_eq!(
        finished["outcome"]["pendingToolCallIds"],
        json!(["call_0_0", "call_0_1"])
    );
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "get_secret_number", "arguments": "{}"}});
    input["messages"].as_array_mut().unwrap().extend([
        json!({"id": "a", "role": "assistant", "content": "Let me look those numbers up.",
               "toolCalls": [call("call_0_0"), call("call_0_1")]}),
        json!({"id": "t0", "role": "tool", "toolCallId": "call_0_0", "content": "42"}),
        json!({"id": "t1", "role": "tool", "toolCallId": "call_0_1", "content": "7"}),
    ]);
    input["runId"] = "run-2".into();
    let second = events(run(&server, &input).await).await;
    let text: String = second
        .iter()
        .filter_map(|event| event["delta"].as_str())
        .collect();
    assert_eq!(text, "Alice's number is 42, Bob's is 7");
    assert_eq!(second.last().unwrap()["runId"], "run-2");
}

#[tokio::test]
async fn hops_come_in_order_and_then_the_script_is_used_up() {
    let server = start(
        Script::new()
            .hop(Hop::new().text("one"))
            .hop(Hop::new().text("two")),
    )
    .await;
    assert!(ask(&server).await.text().await.unwrap().contains("\"one\""));
    assert!(ask(&server).await.text().await.unwrap().contains("\"two\""));
    for place in [2, 3] {
        let response = ask(&server).await;
        assert_eq!(response.status(), 500);
        let error = json_of(response).await["error"].clone();
        assert_eq!(error["code"], "script_used_up");
        assert_eq!(
            error["message"],
            format!(
                "The script of the mock provider is used up: it has 2 hops, and this request is for hop \
                 {place}, counted from 0."
            )
        );
    }
    assert_eq!(server.failures().len(), 2);
}

#[tokio::test]
async fn a_repeating_script_can_be_used_up_within_a_turn() {
    let server = start(
        Script::new()
            .hop(Hop::new().tool_call("f", json!({})))
            .repeat(),
    )
    .await;
    let mut body = question();
    assert_eq!(chat(&server, &body).await.status(), 200);
    body["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_0_0", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ]}),
        json!({"role": "tool", "tool_call_id": "call_0_0", "content": "1"}),
    ]);
    assert_eq!(chat(&server, &body).await.status(), 500);
    assert_eq!(ask(&server).await.status(), 200);
}

#[tokio::test]
async fn one_script_serves_both_dialects() {
    let server = start(
        Script::new()
            .hop(Hop::new().text("one"))
            .hop(Hop::new().text("two")),
    )
    .await;
    assert!(ask(&server).await.text().await.unwrap().contains("\"one\""));
    assert!(
        run(&server, &run_input())
            .await
            .text()
            .await
            .unwrap()
            .contains("\"two\"")
    );
}

#[tokio::test]
async fn a_script_of_json_says_all_that_a_script_of_rust_does() {
    let json = json!({
        "hops": [
            {"steps": [
                {"reasoning": "Hmm"},
                {"text": "Hello there"},
                {"tool_call": {"name": "f", "arguments": {"a": 1}}},
                {"tool_call": {"name": "g"}},
                {"tool_call": {"id": "x", "name": "h", "raw_arguments": "{\"cut"}},
                {"pause_ms": 0},
                {"raw_frame": {"x": 1}},
                {"raw_frame": "text"},
                {"raw_bytes": ": comment\n\n"},
                {"raw_bytes": [255, 10, 10]},
                {"error_event": {"message": "bad", "code": "oops"}},
            ], "pieces": 3, "interleave": true, "chunks_of": 5},
            {"steps": [{"text": "Hi"}, "end_early"], "usage": {"input": 1, "output": 2}},
            {"steps": [{"text": "Hi"}], "stop_reason": "length", "cut_at": 300},
            {"steps": [{"raw_frame": "only"}], "bare": true},
            {"status": 429, "headers": {"retry-after": "1"}, "body": {"a": null}},
            {"status": 401, "error": "No key"},
            {"status": 502, "html": true},
            {"status": 503, "steps": [{"error_event": "bad"}, "cut"]},
        ],
    });
    let hop = Hop::new;
    let same = Script::new()
        .hop(
            hop()
                .reasoning("Hmm")
                .text("Hello there")
                .tool_call("f", json!({"a": 1}))
                .tool_call("g", json!({}))
                .tool_call_raw("x", "h", "{\"cut")
                .raw_frame(json!({"x": 1}))
                .raw_frame("text")
                .raw_bytes(": comment\n\n")
                .raw_bytes(vec![255, 10, 10])
                .error_event_with_code("bad", "oops")
                .pieces(3)
                .interleave()
                .chunks_of(5),
        )
        .hop(hop().text("Hi").end_early().usage(1, 2))
        .hop(hop().text("Hi").stop_reason("length").cut_at(300))
        .hop(hop().raw_frame("only").bare())
        .hop(
            Hop::status(429)
                .header("retry-after", "1")
                .body(json!({"a": null})),
        )
        .hop(Hop::error(401, "No key"))
        .hop(Hop::html(502))
        .hop(Hop::status(503).error_event("bad").cut());
    let answers = async |script: Script| {
        let hops = 8;
        let server = start(script).await;
        let mut answers = Vec::new();
        for _ in 0..hops {
            let response = ask(&server).await;
            let head = (
                response.status(),
                response.headers().get("retry-after").cloned(),
            );
            answers.push((head, crate::client::received(response).await));
        }
        assert!(server.failures().is_empty());
        answers
    };
    let from_json = answers(Script::from_json(&json.to_string()).unwrap()).await;
    assert_eq!(from_json, answers(same.hop(Hop::status(200))).await);
}

#[tokio::test]
async fn a_repeating_script_of_json_starts_over() {
    let script = r#"{"repeat": true, "lenient": true, "piece_delay_ms": 0, "hops": [{"steps": [{"text": "Hi"}]}]}"#;
    let server = start(Script::from_json(script).unwrap()).await;
    for _ in 0..2 {
        assert_eq!(chat(&server, &json!({})).await.status(), 200);
    }
}

#[test]
fn a_wrong_script_says_what_is_wrong() {
    let cases = [
        ("", "EOF"),
        ("[]", "hops"),
        (r#"{"hops": [], "loop": true}"#, "unknown field `loop`"),
        (r#"{"hops": [{"step": []}]}"#, "unknown field `step`"),
        (
            r#"{"hops": [{"steps": ["stal"]}]}"#,
            "unknown variant `stal`",
        ),
        (
            r#"{"hops": [{"steps": [{"tool_call": {}}]}]}"#,
            "missing field `name`",
        ),
        (
            r#"{"hops": [{}, {"steps": [], "html": true}]}"#,
            "hop 1 of the script",
        ),
        (r#"{"hops": [{"error": "x"}]}"#, "need a status"),
        (r#"{"hops": [{"status": 99}]}"#, "99 is not a status"),
        (
            r#"{"hops": [{"headers": {"a b": ""}}]}"#,
            "\"a b\" is not a header name",
        ),
        (
            r#"{"hops": [{"steps": [{"tool_call": {"name": "f", "arguments": {}, "raw_arguments": ""}}]}]}"#,
            "not both",
        ),
    ];
    for (script, expected) in cases {
        let error = Script::from_json(script).unwrap_err().to_string();
        assert!(error.contains(expected), "{script}: {error}");
    }
}

#[tokio::test]
async fn a_script_that_http_cannot_carry_does_not_start() {
    for hop in [
        Hop::status(101),
        Hop::status(1000),
        Hop::new().header("x", "a\nb"),
    ] {
        let error = MockLlm::start(Script::new().hop(Hop::new()).hop(hop))
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("hop 1 of the script cannot be played"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error() {
    let server = start(Script::new()).await;
    let error = MockLlm::start_on(server.address().port(), Script::new())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("cannot listen on 127.0.0.1:"),
        "{error}"
    );
}
