use serde_json::{Value, json};
use stepwell_mock_llm::{Dialect, Hop, MockLlm, Script};

use crate::client::{json_of, post, serve, start};

fn question() -> Value {
    json!({"model": "test-model", "stream": true, "store": false, "input": [{"role": "user", "content": "Hello"}]})
}

async fn ask(server: &MockLlm, body: &Value) -> reqwest::Response {
    post(
        &format!("{}/responses", server.base_url()),
        body.to_string(),
    )
    .await
}

/// The events, whose names are their types and whose numbers count up.
async fn events(response: reqwest::Response) -> Vec<Value> {
    let text = response.text().await.unwrap();
    let frames = text.strip_suffix("\n\n").unwrap().split("\n\n");
    let events: Vec<Value> = frames
        .map(|frame| {
            let (name, data) = frame.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(data["type"], name.strip_prefix("event: ").unwrap());
            data
        })
        .collect();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    events
}

fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn text_comes_in_the_events_of_the_service() {
    let server = serve(Hop::new().text("Hello, world").usage(11, 4)).await;
    let response = ask(&server, &question()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    let events = events(response).await;
    assert_eq!(
        types(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    assert_eq!(
        events[2],
        json!({"type": "response.output_item.added", "sequence_number": 2, "output_index": 0, "item": {
            "id": "msg_0_0", "type": "message", "status": "in_progress", "content": [], "role": "assistant",
        }})
    );
    assert_eq!(
        events[4],
        json!({
            "type": "response.output_text.delta", "sequence_number": 4, "content_index": 0, "delta": "Hello, ",
            "logprobs": [], "item_id": "msg_0_0", "output_index": 0,
        })
    );
    let response = &events[9]["response"];
    assert_eq!(response["status"], "completed");
    assert_eq!(response["output"], json!([events[8]["item"]]));
    assert_eq!(response["output"][0]["content"][0]["text"], "Hello, world");
    assert_eq!(response["usage"]["input_tokens"], 11);
    assert_eq!(response["usage"]["total_tokens"], 15);
    assert_eq!(server.requests()[0].dialect, Some(Dialect::OpenAiResponses));
}

#[tokio::test]
async fn reasoning_is_encrypted_when_it_is_asked_for() {
    let hop = || Hop::new().reasoning("Hm. Well.").text("Yes");
    let plain = events(ask(&serve(hop()).await, &question()).await).await;
    let mut body = question();
    body["include"] = json!(["reasoning.encrypted_content"]);
    let encrypted = events(ask(&serve(hop()).await, &body).await).await;
    let item = |events: &[Value]| {
        let done = |event: &&Value| event["type"] == "response.output_item.done";
        events.iter().find(done).unwrap()["item"].clone()
    };
    let mut expected = json!({"id": "rs_0_0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm. Well."}]});
    assert_eq!(item(&plain), expected);
    expected["encrypted_content"] = "gAAAA-rs_0_0".into();
    assert_eq!(item(&encrypted), expected);
    let deltas: Vec<_> = plain
        .iter()
        .filter(|event| event["type"] == "response.reasoning_summary_text.delta")
        .map(|event| event["delta"].clone())
        .collect();
    assert_eq!(deltas, ["Hm. ", "Well."]);
}

#[tokio::test]
async fn parallel_calls_are_items_told_apart_by_index() {
    let hop = Hop::new()
        .tool_call("get", json!({"name": "alice"}))
        .tool_call_with_id("mine", "get", json!({}))
        .interleave();
    let events = events(ask(&serve(hop).await, &question()).await).await;
    let of_calls: Vec<_> = events
        .iter()
        .filter_map(|event| {
            let index = event["output_index"].as_u64()?;
            let what = event["type"].as_str()?.rsplit_once('.')?.1.to_owned();
            let text = [
                &event["delta"],
                &event["arguments"],
                &event["item"]["arguments"],
            ];
            Some((
                index,
                what,
                text.into_iter().find_map(Value::as_str)?.to_owned(),
            ))
        })
        .collect();
    let row = |index: u64, what: &str, text: &str| (index, what.to_owned(), text.to_owned());
    assert_eq!(
        of_calls,
        [
            row(0, "added", ""),
            row(1, "added", ""),
            row(0, "delta", r#"{"name":"ali"#),
            row(1, "delta", "{}"),
            row(0, "delta", r#"ce"}"#),
            row(0, "done", r#"{"name":"alice"}"#),
            row(0, "done", r#"{"name":"alice"}"#),
            row(1, "done", "{}"),
            row(1, "done", "{}"),
        ]
    );
    let output = &events.last().unwrap()["response"]["output"];
    assert_eq!(output[0]["call_id"], "call_0_0");
    assert_eq!(
        output[1],
        json!({"id": "fc_0_1", "type": "function_call", "status": "completed", "arguments": "{}", "call_id": "mine", "name": "get"})
    );
}

#[tokio::test]
async fn a_custom_tool_gets_the_text_itself() {
    let mut body = question();
    body["tools"] = json!([{"type": "custom", "name": "sql"}]);
    let server = serve(Hop::new().tool_call("sql", json!({"input": "SELECT \"x\""}))).await;
    let events = events(ask(&server, &body).await).await;
    let delta = events
        .iter()
        .find(|event| event["type"] == "response.custom_tool_call_input.delta");
    assert_eq!(delta.unwrap()["delta"], "SELECT \"x\"");
    assert_eq!(
        events.last().unwrap()["response"]["output"][0],
        json!({"id": "ctc_0_0", "type": "custom_tool_call", "status": "completed", "input": "SELECT \"x\"", "call_id": "call_0_0", "name": "sql"})
    );
}

#[tokio::test]
async fn an_answer_ends_as_the_script_says() {
    let hop = Hop::new().text("Too lo").stop_reason("max_output_tokens");
    let cut = events(ask(&serve(hop).await, &question()).await).await;
    let last = cut.last().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last["response"]["status"], "incomplete");
    assert_eq!(
        last["response"]["incomplete_details"]["reason"],
        "max_output_tokens"
    );
    let hop = Hop::new().text("He").error_event("Oh no");
    let failed = events(ask(&serve(hop).await, &question()).await).await;
    assert_eq!(
        types(&failed)[failed.len() - 2..],
        ["error", "response.failed"]
    );
    assert_eq!(failed[failed.len() - 2]["message"], "Oh no");
    assert_eq!(
        failed.last().unwrap()["response"]["error"],
        json!({"code": "server_error", "message": "Oh no"})
    );
}

#[tokio::test]
async fn an_answer_that_does_not_stream_is_one_object() {
    let hop = Hop::new()
        .reasoning("Hm.")
        .text("Hello")
        .tool_call("get", json!({}))
        .usage(3, 2);
    let server = serve(hop).await;
    let body = json!({"model": "test-model", "input": "Hello"});
    let answer = json_of(ask(&server, &body).await).await;
    assert_eq!(answer["object"], "response");
    assert_eq!(answer["status"], "completed");
    let kinds: Vec<_> = answer["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call"]);
    assert_eq!(answer["usage"]["output_tokens"], 2);
}

#[tokio::test]
async fn a_conversation_goes_on_by_the_answers_that_it_holds() {
    let script = Script::new()
        .hop(Hop::new().reasoning("Hm.").tool_call("get", json!({})))
        .hop(Hop::new().text("Done"))
        .repeat();
    let server = start(script).await;
    let mut body = question();
    body["include"] = json!(["reasoning.encrypted_content"]);
    let first = events(ask(&server, &body).await).await;
    let output = first.last().unwrap()["response"]["output"].clone();
    let input = body["input"].as_array_mut().unwrap();
    input.extend(output.as_array().unwrap().iter().cloned());
    input.push(json!({"type": "function_call_output", "call_id": "call_0_0", "output": "1"}));
    let second = events(ask(&server, &body).await).await;
    assert_eq!(
        second.last().unwrap()["response"]["output"][0]["content"][0]["text"],
        "Done"
    );
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn what_the_service_would_refuse_is_refused_in_its_words() {
    let server = serve(Hop::new().text("never")).await;
    let mut body = question();
    body["input"] = json!([{"type": "function_call_output", "call_id": "a", "output": "1"}]);
    let response = ask(&server, &body).await;
    assert_eq!(response.status(), 400);
    assert_eq!(
        json_of(response).await,
        json!({"error": {
            "message": "No tool call found for function call output with call_id a.",
            "type": "invalid_request_error", "param": "input", "code": null,
        }})
    );
    let response = post(&format!("{}/responses", server.base_url()), "no JSON").await;
    assert_eq!(response.status(), 400);
    assert_eq!(server.failures().len(), 2);
}
