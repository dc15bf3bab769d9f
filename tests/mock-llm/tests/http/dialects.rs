//! What is the same in every dialect, a row for each.

use serde_json::{Value, json};
use stepwell_mock_llm::{Answer, Call, Dialect, Hop, MockLlm, Script, Setting};

use crate::client::{json_of, post, serve, start};

struct Row {
    dialect: Dialect,
    /// Behind the dialect's address.
    path: &'static str,
    content_type: &'static str,
    /// The smallest request that streams.
    question: Value,
    /// A request whose last call has no result, and where that is found.
    unanswered: (Value, &'static str),
    /// The error of a 429 with the message "No".
    error: Value,
    /// Places of an answer that does not stream, and what is there; none where all answers stream.
    whole: Vec<(&'static str, Value)>,
}

impl Row {
    fn url(&self, server: &MockLlm) -> String {
        server.url(self.dialect) + self.path
    }

    async fn ask(&self, server: &MockLlm, body: &Value) -> reqwest::Response {
        post(&self.url(server), body.to_string()).await
    }
}

const SSE: &str = "text/event-stream";
const SSE_UTF_8: &str = "text/event-stream; charset=utf-8";

fn user() -> Value {
    json!({"role": "user", "content": "Hello"})
}

#[expect(clippy::needless_pass_by_value, reason = "the calls read better")]
fn messages(messages: Value) -> Value {
    json!({"model": "m", "stream": true, "messages": messages})
}

/// Chat Completions and those close to it.
fn like_chat(
    dialect: Dialect,
    path: &'static str,
    content_type: &'static str,
    error: Value,
    whole: Vec<(&'static str, Value)>,
) -> Row {
    let call = json!({"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let asks = json!({"role": "assistant", "tool_calls": [call]});
    Row {
        dialect,
        path,
        content_type,
        question: messages(json!([user()])),
        unanswered: (messages(json!([user(), asks])), "/messages/1"),
        error,
        whole,
    }
}

fn rows() -> Vec<Row> {
    let run = |messages: Value| {
        json!({"threadId": "t", "runId": "r", "state": {}, "messages": messages, "tools": [], "context": [],
            "forwardedProps": {}})
    };
    let contents = |more: &[Value]| {
        let mut contents = vec![json!({"role": "user", "parts": [{"text": "Hello"}]})];
        contents.extend_from_slice(more);
        json!({ "contents": contents })
    };
    let input = |more: &[Value]| {
        let mut items = vec![user()];
        items.extend_from_slice(more);
        json!({"model": "m", "stream": true, "store": false, "input": items})
    };
    let mut anthropic = messages(json!([user()]));
    anthropic["max_tokens"] = 9.into();
    let mut unanswered = anthropic.clone();
    unanswered["messages"] = json!([user(), {"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    ]}]);
    vec![
        like_chat(
            Dialect::OpenAiChat,
            "/chat/completions",
            SSE_UTF_8,
            json!({"error": {"message": "No", "type": "requests", "param": null, "code": "rate_limit_exceeded"}}),
            vec![
                ("/object", "chat.completion".into()),
                ("/choices/0/message/content", "Hi".into()),
                ("/choices/0/message/reasoning_content", "Hm".into()),
                (
                    "/choices/0/message/tool_calls/0/function/arguments",
                    r#"{"x":1}"#.into(),
                ),
                ("/choices/0/finish_reason", "tool_calls".into()),
                ("/usage/total_tokens", 7.into()),
            ],
        ),
        like_chat(
            Dialect::Mistral,
            "/chat/completions",
            SSE_UTF_8,
            json!({"object": "error", "message": "No", "type": "rate_limited", "param": null, "code": null,
                "raw_status_code": 429}),
            vec![
                ("/choices/0/message/content/0/thinking/0/text", "Hm".into()),
                ("/choices/0/message/content/1/text", "Hi".into()),
                ("/choices/0/finish_reason", "tool_calls".into()),
            ],
        ),
        like_chat(
            Dialect::Cohere,
            "/chat",
            SSE,
            json!({"id": "00000000-0000-4000-8000-000000000000", "message": "No"}),
            vec![
                ("/message/content/0/thinking", "Hm".into()),
                ("/message/content/1/text", "Hi".into()),
                ("/finish_reason", "TOOL_CALL".into()),
                ("/usage/tokens/output_tokens", 4.into()),
            ],
        ),
        Row {
            dialect: Dialect::OpenAiResponses,
            path: "/responses",
            content_type: SSE_UTF_8,
            question: input(&[]),
            unanswered: (
                input(&[
                    json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}),
                ]),
                "/input/1/call_id",
            ),
            error: json!({"error": {"message": "No", "type": "requests", "param": null, "code": "rate_limit_exceeded"}}),
            whole: vec![
                ("/status", "completed".into()),
                ("/output/0/summary/0/text", "Hm".into()),
                ("/output/1/content/0/text", "Hi".into()),
                ("/output/2/arguments", r#"{"x":1}"#.into()),
                ("/usage/output_tokens", 4.into()),
            ],
        },
        Row {
            dialect: Dialect::Anthropic,
            path: "/messages",
            content_type: SSE_UTF_8,
            question: anthropic,
            unanswered: (unanswered, "/messages/1"),
            error: json!({"type": "error", "error": {"type": "rate_limit_error", "message": "No"},
                "request_id": "req_mock"}),
            whole: vec![
                ("/content/0/thinking", "Hm".into()),
                ("/content/1/text", "Hi".into()),
                ("/content/2/input", json!({"x": 1})),
                ("/stop_reason", "tool_use".into()),
                ("/usage/output_tokens", 4.into()),
            ],
        },
        Row {
            dialect: Dialect::Gemini,
            path: "/models/gemini-x:streamGenerateContent?alt=sse",
            content_type: SSE,
            question: contents(&[]),
            unanswered: (
                contents(&[
                    json!({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}),
                ]),
                "/contents/1",
            ),
            error: json!({"error": {"code": 429, "message": "No", "status": "RESOURCE_EXHAUSTED"}}),
            whole: Vec::new(),
        },
        Row {
            dialect: Dialect::GeminiInteractions,
            path: "/interactions",
            content_type: SSE,
            question: steps(&[]),
            unanswered: (
                steps(&[json!({"type": "function_call", "id": "a", "name": "f", "arguments": {}})]),
                "/input/1/id",
            ),
            error: json!({"error": {"code": "too_many_requests", "message": "No"}}),
            whole: vec![
                ("/status", "requires_action".into()),
                ("/steps/0/summary/0/text", "Hm".into()),
                ("/steps/1/content/0/text", "Hi".into()),
                ("/steps/2/arguments", json!({"x": 1})),
                ("/usage/total_output_tokens", 4.into()),
            ],
        },
        Row {
            dialect: Dialect::Ollama,
            path: "/api/chat",
            content_type: "application/x-ndjson",
            question: messages(json!([user()])),
            unanswered: (
                messages(
                    json!([user(), {"role": "assistant", "content": "", "tool_calls": [
                        {"function": {"name": "f", "arguments": {}}},
                    ]}]),
                ),
                "/messages/1",
            ),
            error: json!({"error": "No"}),
            whole: vec![
                ("/message/content", "Hi".into()),
                ("/message/thinking", "Hm".into()),
                ("/message/tool_calls/0/function/arguments", json!({"x": 1})),
                ("/done", true.into()),
                ("/eval_count", 4.into()),
            ],
        },
        Row {
            dialect: Dialect::AgUi,
            path: "",
            content_type: SSE,
            question: run(json!([{"id": "1", "role": "user", "content": "Hello"}])),
            unanswered: (
                run(json!([{"id": "1", "role": "assistant", "toolCalls": [{"id": "a"}]}])),
                "/messages/0/toolCalls/0/id",
            ),
            error: json!({"message": "No", "code": "http_429"}),
            whole: Vec::new(),
        },
    ]
}

fn steps(more: &[Value]) -> Value {
    let content = json!([{"type": "text", "text": "Hello"}]);
    let mut input = vec![json!({"type": "user_input", "content": content})];
    input.extend_from_slice(more);
    json!({"model": "gemini-x", "stream": true, "input": input})
}

#[tokio::test]
async fn a_hop_comes_as_the_frames_of_its_answer() {
    for row in rows() {
        let hop = Hop::new()
            .reasoning("Hm")
            .text("Hello, world")
            .tool_call("f", json!({"x": 1}))
            .tool_call_with_id("mine", "f", json!({}))
            .interleave()
            .usage(3, 4);
        let server = serve(hop).await;
        let response = row.ask(&server, &row.question).await;
        assert_eq!(response.status(), 200, "{:?}", row.dialect);
        assert_eq!(response.headers()["content-type"], row.content_type);
        let calls = [
            Call::unnamed("f", [r#"{"x":1}"#]),
            Call::new("mine", "f", ["{}"]),
        ];
        let answer = Answer::new()
            .reasoning(["Hm"])
            .text(["Hello, ", "world"])
            .calls(calls)
            .usage(3, 4);
        let setting = Setting::new().request(row.question.clone()).signs();
        let body = String::from_utf8(answer.body(row.dialect, &setting)).unwrap();
        assert_eq!(response.text().await.unwrap(), body);
        assert_eq!(server.requests()[0].dialect, Some(row.dialect));
        assert!(server.failures().is_empty(), "{:?}", server.failures());
    }
}

#[tokio::test]
async fn an_answer_may_come_whole() {
    for row in rows().into_iter().filter(|row| !row.whole.is_empty()) {
        let hop = Hop::new()
            .reasoning("Hm")
            .text("H")
            .text("i")
            .tool_call("f", json!({"x": 1}))
            .usage(3, 4);
        let mut question = row.question.clone();
        question["stream"] = false.into();
        let server = start(Script::new().hop(hop).hop(Hop::new().error_event("No"))).await;
        let response = row.ask(&server, &question).await;
        assert_eq!(response.headers()["content-type"], "application/json");
        let answer = json_of(response).await;
        for (place, value) in &row.whole {
            assert_eq!(
                answer.pointer(place),
                Some(value),
                "{:?} {place}: {answer}",
                row.dialect
            );
        }
        let failed = row.ask(&server, &question).await;
        assert_eq!(failed.status(), 500, "an error event is a status");
    }
}

#[tokio::test]
async fn errors_have_the_shape_of_the_service() {
    for row in rows() {
        let script = Script::new()
            .hop(Hop::error(429, "No").header("retry-after", "1"))
            .hop(Hop::new().text("Hi").error_event("Sorry").text("never"));
        let server = start(script).await;
        let response = row.ask(&server, &row.question).await;
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "1");
        assert_eq!(json_of(response).await, row.error);
        let streamed = row.ask(&server, &row.question).await.text().await.unwrap();
        let answer = Answer::new().text(["Hi"]).error("Sorry");
        let setting = Setting::new().request(row.question.clone()).position(1);
        let body = String::from_utf8(answer.body(row.dialect, &setting)).unwrap();
        assert_eq!(streamed, body);
    }
}

#[tokio::test]
async fn what_the_service_would_refuse_takes_no_hop() {
    for row in rows() {
        let server = serve(Hop::new().text("Hi")).await;
        let (unanswered, place) = &row.unanswered;
        for body in [
            "",
            "{",
            "[]",
            "null",
            "{\"messages\": []}",
            &unanswered.to_string(),
        ] {
            let response = post(&row.url(&server), body.to_owned()).await;
            assert_eq!(response.status(), 400, "{:?}: {body}", row.dialect);
            let error = json_of(response).await.to_string();
            assert!(error.contains("The provider refuses"), "{error}");
        }
        let failures = server.failures();
        assert_eq!(failures.len(), 6, "{failures:?}");
        assert!(failures[5].contains(place), "{failures:?}");
        let status = row.ask(&server, &row.question).await.status();
        assert_eq!(status, 200, "the script is still at its first hop");
        let lenient = start(Script::new().hop(Hop::new().text("Hi")).lenient()).await;
        assert_eq!(row.ask(&lenient, unanswered).await.status(), 200);
        assert!(lenient.failures().is_empty());
    }
}

#[tokio::test]
async fn gemini_streams_only_as_server_sent_events() {
    let rows = rows();
    let row = rows.iter().find(|row| row.dialect == Dialect::Gemini);
    let row = row.expect("a row");
    let server = serve(Hop::new()).await;
    let url = row.url(&server).replace("?alt=sse", "");
    let response = post(&url, row.question.to_string()).await;
    assert_eq!(response.status(), 400);
}

#[tokio::test]
async fn thinking_comes_back_with_the_signature_that_it_was_given() {
    let rows = rows();
    let row = rows.iter().find(|row| row.dialect == Dialect::Anthropic);
    let row = row.expect("a row");
    let hop = || Hop::new().reasoning("Hm").text("Hi");
    let server = start(Script::new().hop(hop()).hop(hop())).await;
    let answer = row.ask(&server, &row.question).await.text().await.unwrap();
    let signature = answer
        .split("\"signature\":\"")
        .nth(2)
        .expect("it is signed");
    let signature = signature.split('"').next().expect("its end");
    for (thought, status) in [("Hm!", 400), ("Hm", 200)] {
        let mut body = row.question.clone();
        body["messages"].as_array_mut().unwrap().extend([
            json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": thought, "signature": signature},
                {"type": "text", "text": "Hi"},
            ]}),
            user(),
        ]);
        assert_eq!(row.ask(&server, &body).await.status(), status);
    }
}

#[tokio::test]
async fn a_script_that_repeats_counts_answers_by_the_results() {
    for row in rows() {
        let script = Script::new()
            .hop(Hop::new().tool_call("f", json!({})))
            .hop(Hop::new().text("Second"))
            .repeat()
            .lenient();
        let server = start(script).await;
        let mut body = row.unanswered.0.clone();
        let result = match row.dialect {
            Dialect::OpenAiResponses => {
                json!({"type": "function_call_output", "call_id": "a", "output": "1"})
            }
            Dialect::Anthropic => {
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]})
            }
            Dialect::GeminiInteractions => {
                json!({"type": "function_result", "call_id": "a", "result": "1"})
            }
            Dialect::Gemini => {
                json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]})
            }
            _ => json!({"role": "tool", "content": "1"}),
        };
        let list = ["messages", "input", "contents"];
        let list = list.into_iter().find(|list| body[list].is_array());
        body[list.expect("a list")]
            .as_array_mut()
            .unwrap()
            .push(result);
        let answer = row.ask(&server, &body).await.text().await.unwrap();
        assert!(answer.contains("Second"), "{:?}: {answer}", row.dialect);
        let first = row.ask(&server, &row.question).await.text().await.unwrap();
        assert!(!first.contains("Second"), "{:?}: {first}", row.dialect);
    }
}
