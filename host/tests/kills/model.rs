//! A model whose answers follow from the question alone: two rounds of tools, then words.

use crate::moments::Moments;
use axum::Router;
use axum::body::Body;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::StreamExt;
use serde_json::{Value, json};
use std::convert::Infallible;

/// How often it asks for tools before it answers.
pub(crate) const ROUNDS: usize = 2;

/// The tools that it asks for in each round.
pub(crate) const CALLS: [&str; 3] = ["work", "look", "work"];

/// Starts it, and gives its address.
pub(crate) async fn start(moments: Moments) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new()
        .route("/v1/chat/completions", post(answer))
        .with_state(moments);
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/v1")
}

async fn answer(State(moments): State<Moments>, Json(request): Json<Value>) -> Response {
    moments.step();
    let messages = request["messages"].as_array().unwrap();
    let asked = messages
        .iter()
        .rposition(|message| message["role"] == "user");
    let asked = asked.unwrap();
    let question = messages[asked]["content"].as_str().unwrap();
    let is_answer = |message: &&Value| message["role"] == "assistant";
    let round = messages[asked..].iter().filter(is_answer).count();
    if !each_call_has_its_result(messages) {
        return (StatusCode::BAD_REQUEST, "a call without its result").into_response();
    }
    let mut pieces = vec![
        json!({"content": format!("Round {round} ")}),
        json!({"content": "of the answer."}),
    ];
    if round < ROUNDS {
        for (index, name) in CALLS.iter().enumerate() {
            let id = format!("{question}/{round}/{index}/{name}");
            let arguments = json!({ "id": id }).to_string();
            let function = json!({"name": format!("effects__{name}"), "arguments": ""});
            pieces.push(json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}));
            let function = json!({ "arguments": arguments });
            pieces.push(json!({"tool_calls": [{"index": index, "function": function}]}));
        }
    }
    let reason = if round < ROUNDS { "tool_calls" } else { "stop" };
    let frame = |delta: Value, reason: Option<&str>| {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        format!("data: {chunk}\n\n")
    };
    let mut frames: Vec<_> = pieces.into_iter().map(|piece| frame(piece, None)).collect();
    frames.push(frame(json!({}), Some(reason)));
    frames.push("data: [DONE]\n\n".to_owned());
    let body = futures::stream::iter(frames).then(move |frame| {
        let moments = moments.clone();
        async move {
            // What came before is on its way when this comes.
            tokio::task::yield_now().await;
            moments.step();
            Ok::<_, Infallible>(frame)
        }
    });
    (
        [(CONTENT_TYPE, "text/event-stream")],
        Body::from_stream(body),
    )
        .into_response()
}

/// Each call was answered once, in order.
fn each_call_has_its_result(messages: &[Value]) -> bool {
    let calls = messages
        .iter()
        .filter_map(|message| message["tool_calls"].as_array());
    let calls = calls.flatten().map(|call| &call["id"]);
    let results = messages.iter().filter(|message| message["role"] == "tool");
    calls.eq(results.map(|result| &result["tool_call_id"]))
}
