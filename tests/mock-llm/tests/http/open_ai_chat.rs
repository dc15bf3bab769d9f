use serde_json::{Value, json};
use stepwell_mock_llm::{Hop, Script};

use crate::client::{ask, chat, events, frames, json_of, post, question, serve, start};

fn with_usage() -> Value {
    let mut question = question();
    question["stream_options"] = json!({"include_usage": true});
    question
}

/// The deltas of the only choice.
fn deltas(chunks: &[Value]) -> Vec<Value> {
    chunks
        .iter()
        .map(|chunk| chunk["choices"][0]["delta"].clone())
        .collect()
}

#[tokio::test]
async fn text_comes_in_the_bytes_of_the_service() {
    let server = serve(Hop::new().text("Hello, world").usage(11, 4)).await;
    let response = chat(&server, &with_usage()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    let chunk = |choices: &str, usage: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-0\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\
             \"model\":\"test-model\",\"choices\":[{choices}],\"usage\":{usage}}}\n\n"
        )
    };
    let delta = |delta: &str, finish_reason: &str| {
        let choice = format!(
            "{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish_reason}}}"
        );
        chunk(&choice, "null")
    };
    let expected = [
        delta(
            r#"{"role":"assistant","content":"","refusal":null}"#,
            "null",
        ),
        delta(r#"{"content":"Hello, "}"#, "null"),
        delta(r#"{"content":"world"}"#, "null"),
        delta("{}", "\"stop\""),
        chunk(
            "",
            r#"{"prompt_tokens":11,"completion_tokens":4,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}"#,
        ),
        "data: [DONE]\n\n".to_owned(),
    ];
    assert_eq!(response.text().await.unwrap(), expected.concat());
}

#[tokio::test]
async fn usage_is_sent_only_when_it_is_asked_for() {
    let server = serve(Hop::new().text("Hi").usage(1, 1)).await;
    let chunks = events(ask(&server).await).await;
    assert!(
        chunks.iter().all(|chunk| chunk.get("usage").is_none()),
        "{chunks:?}"
    );
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["choices"].as_array().unwrap().len() == 1)
    );
}

#[tokio::test]
async fn usage_is_estimated_when_the_script_is_silent() {
    let server = serve(Hop::new().text("12345")).await;
    let body = with_usage();
    let chunks = events(chat(&server, &body).await).await;
    let usage = &chunks.last().unwrap()["usage"];
    assert_eq!(usage["prompt_tokens"], body.to_string().len().div_ceil(4));
    assert_eq!(usage["completion_tokens"], 2);
}

#[tokio::test]
async fn parallel_calls_come_one_after_the_other() {
    let hop = Hop::new()
        .text("Look. ")
        .tool_call("get", json!({"name": "alice"}))
        .tool_call_with_id("mine", "get", json!({}));
    let chunks = events(ask(&serve(hop).await).await).await;
    let call = |call: Value| json!({"tool_calls": [call]});
    let start = |index: u32, id: &str| {
        call(
            json!({"index": index, "id": id, "type": "function", "function": {"name": "get", "arguments": ""}}),
        )
    };
    let piece =
        |index: u32, text: &str| call(json!({"index": index, "function": {"arguments": text}}));
    assert_eq!(
        deltas(&chunks)[1..],
        [
            json!({"content": "Look. "}),
            start(0, "call_0_0"),
            piece(0, r#"{"name":"ali"#),
            piece(0, r#"ce"}"#),
            start(1, "mine"),
            piece(1, "{}"),
            json!({}),
        ]
    );
    assert_eq!(
        chunks.last().unwrap()["choices"][0]["finish_reason"],
        "tool_calls"
    );
}

#[tokio::test]
async fn an_answer_of_calls_alone_opens_with_null_content() {
    let chunks = events(ask(&serve(Hop::new().tool_call("f", json!({}))).await).await).await;
    assert_eq!(
        deltas(&chunks)[0],
        json!({"role": "assistant", "content": null, "refusal": null})
    );
}

#[tokio::test]
async fn interleaved_calls_mix_their_pieces() {
    let hop = Hop::new()
        .tool_call_raw("a", "f", "11112")
        .tool_call_raw("b", "g", "3333")
        .pieces(2)
        .interleave();
    let chunks = events(ask(&serve(hop).await).await).await;
    let seen: Vec<_> = deltas(&chunks)
        .iter()
        .filter_map(|delta| {
            let call = delta["tool_calls"].get(0)?;
            Some((
                call["index"].as_u64()?,
                call["function"]["arguments"].as_str()?.to_owned(),
            ))
        })
        .collect();
    let expected = [
        (0, ""),
        (1, ""),
        (0, "11"),
        (1, "33"),
        (0, "11"),
        (1, "33"),
        (0, "2"),
    ];
    assert_eq!(seen, expected.map(|(index, text)| (index, text.to_owned())));
}

#[tokio::test]
async fn raw_arguments_go_out_as_they_are() {
    for (raw, fragments) in [("", 1), ("null", 2), (r#"{"a": tru"#, 2)] {
        let server = serve(Hop::new().tool_call_raw("id", "f", raw).pieces(usize::MAX)).await;
        let chunks = events(ask(&server).await).await;
        let texts: Vec<_> = deltas(&chunks)
            .iter()
            .filter_map(|delta| {
                delta["tool_calls"][0]["function"]["arguments"]
                    .as_str()
                    .map(str::to_owned)
            })
            .collect();
        assert_eq!(texts.len(), fragments, "{raw}");
        assert_eq!(texts.concat(), raw);
    }
}

#[tokio::test]
async fn reasoning_comes_before_the_text() {
    let hop = Hop::new().reasoning("Hmm. Well.").text("Yes");
    let chunks = events(ask(&serve(hop).await).await).await;
    assert_eq!(
        deltas(&chunks)[..4],
        [
            json!({"role": "assistant", "content": "", "refusal": null}),
            json!({"reasoning_content": "Hmm. "}),
            json!({"reasoning_content": "Well."}),
            json!({"content": "Yes"}),
        ]
    );
}

#[tokio::test]
async fn the_stop_reason_is_the_scripts_word() {
    let hop = Hop::new()
        .tool_call_raw("a", "f", "{\"x")
        .stop_reason("length");
    let chunks = events(ask(&serve(hop).await).await).await;
    assert_eq!(
        chunks.last().unwrap()["choices"][0]["finish_reason"],
        "length"
    );
}

#[tokio::test]
async fn pieces_never_split_a_character() {
    let text = "é日🎉 done";
    for size in 0..8 {
        let server = serve(Hop::new().text(text).pieces(size)).await;
        let chunks = events(ask(&server).await).await;
        let pieces: Vec<_> = deltas(&chunks)[1..]
            .iter()
            .filter_map(|delta| delta["content"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(pieces.concat(), text);
        let fits = |piece: &String| piece.len() <= size.max(1) || piece.chars().count() == 1;
        assert!(pieces.iter().all(fits), "{pieces:?}");
    }
}

#[tokio::test]
async fn an_error_event_ends_the_stream_without_its_end() {
    let hop = Hop::new()
        .text("Hi")
        .error_event_with_code("The server had an error", "overloaded")
        .text("no");
    let frames = frames(ask(&serve(hop).await).await).await;
    assert_eq!(frames.len(), 3);
    assert_eq!(
        frames[2],
        r#"{"error":{"message":"The server had an error","type":"server_error","param":null,"code":"overloaded"}}"#
    );
}

#[tokio::test]
async fn raw_frames_and_bytes_go_out_between_the_pieces() {
    let hop = Hop::new()
        .raw_bytes(": ping\r\n\r\n")
        .raw_frame(json!({"x": 1}))
        .raw_frame("a\nb")
        .bare();
    let body = ask(&serve(hop).await).await.text().await.unwrap();
    assert_eq!(
        body,
        ": ping\r\n\r\ndata: {\"x\":1}\n\ndata: a\ndata: b\n\n"
    );
    let hop = Hop::new().text("a").raw_bytes(&b": \xff\n\n"[..]).text("b");
    let body = ask(&serve(hop).await).await.bytes().await.unwrap();
    let place = body
        .windows(5)
        .position(|window| window == b": \xff\n\n")
        .unwrap();
    assert!(body[..place].ends_with(b"\n\n") && body[place + 5..].starts_with(b"data: {"));
    assert!(body.ends_with(b"data: [DONE]\n\n"));
}

#[tokio::test]
async fn a_request_that_does_not_stream_gets_the_whole_answer() {
    let hop = Hop::new()
        .reasoning("Hmm")
        .text("Hel")
        .text("lo")
        .tool_call("f", json!({"a": 1}))
        .usage(3, 2);
    let server = serve(hop).await;
    let mut question = question();
    question["stream"] = false.into();
    let response = chat(&server, &question).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(
        json_of(response).await,
        json!({
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "test-model",
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Hello",
                    "refusal": null,
                    "reasoning_content": "Hmm",
                    "tool_calls": [{
                        "id": "call_0_0",
                        "type": "function",
                        "function": {"name": "f", "arguments": "{\"a\":1}"},
                    }],
                },
                "logprobs": null,
                "finish_reason": "tool_calls",
            }],
            "usage": {
                "prompt_tokens": 3,
                "completion_tokens": 2,
                "total_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0},
            },
        })
    );
}

#[tokio::test]
async fn without_a_stream_an_error_event_is_a_status() {
    let server = serve(Hop::new().text("Hi").error_event("overloaded")).await;
    let mut question = question();
    question["stream"] = false.into();
    let response = chat(&server, &question).await;
    assert_eq!(response.status(), 500);
    assert_eq!(json_of(response).await["error"]["message"], "overloaded");
}

#[tokio::test]
async fn errors_have_the_shape_of_the_service() {
    let cases = [
        (401, "invalid_request_error", json!("invalid_api_key")),
        (404, "invalid_request_error", Value::Null),
        (429, "requests", json!("rate_limit_exceeded")),
        (503, "server_error", Value::Null),
    ];
    for (status, kind, code) in cases {
        let server = serve(Hop::error(status, "No").header("retry-after", "1")).await;
        let response = ask(&server).await;
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.headers()["retry-after"], "1");
        let expected =
            json!({"error": {"message": "No", "type": kind, "param": null, "code": code}});
        assert_eq!(json_of(response).await, expected);
    }
}

#[tokio::test]
async fn a_bad_request_is_refused_and_takes_no_hop() {
    let server = serve(Hop::new().text("Hi")).await;
    let url = format!("{}/chat/completions", server.base_url());
    for body in [
        "",
        "{",
        "[]",
        "null",
        "\"x\"",
        "\u{0}",
        "{\"messages\": []}",
    ] {
        let response = post(&url, body).await;
        assert_eq!(response.status(), 400, "{body}");
        let error = &json_of(response).await["error"];
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["message"].is_string());
    }
    assert_eq!(server.failures().len(), 7);
    assert_eq!(
        ask(&server).await.status(),
        200,
        "the script is still at its first hop"
    );
}

#[tokio::test]
async fn a_call_without_its_answer_is_refused_unless_lenient() {
    let mut body = question();
    body["messages"].as_array_mut().unwrap().push(json!({
        "role": "assistant",
        "content": null,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }));
    let strict = serve(Hop::new().text("Hi")).await;
    let response = chat(&strict, &body).await;
    assert_eq!(response.status(), 400);
    assert_eq!(
        json_of(response).await["error"],
        json!({
            "message": "An assistant message with 'tool_calls' must be followed by tool messages \
                        responding to each 'tool_call_id'. The following tool_call_ids did not have \
                        response messages: call_1",
            "type": "invalid_request_error",
            "param": "messages.[2].role",
            "code": null,
        })
    );
    assert!(
        strict.failures()[0].contains("call_1"),
        "{:?}",
        strict.failures()
    );
    let lenient = start(Script::new().hop(Hop::new().text("Hi")).lenient()).await;
    assert_eq!(chat(&lenient, &body).await.status(), 200);
    assert!(lenient.failures().is_empty());
}

#[tokio::test]
async fn the_models_are_listed_and_other_paths_are_not_found() {
    let server = serve(Hop::new()).await;
    let get = async |path: &str| {
        let url = server.root() + path;
        crate::client::client().get(url).send().await.unwrap()
    };
    let models = json_of(get("/v1/models").await).await;
    assert_eq!(models["object"], "list");
    assert_eq!(models["data"][0]["object"], "model");
    assert!(server.failures().is_empty());
    let missing = get("/v1/completions").await;
    assert_eq!(missing.status(), 404);
    assert_eq!(json_of(missing).await["error"]["code"], "unknown_url");
    assert_eq!(get("/v1/chat/completions").await.status(), 405);
    assert_eq!(server.failures().len(), 2);
}
