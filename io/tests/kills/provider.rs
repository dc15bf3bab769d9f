//! A model whose answers follow from the question alone: two rounds of tools, then words.

use axum::Router;
use axum::body::Body;
use axum::extract::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::StreamExt;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;

/// The time between two chunks of an answer: a kill may come between any two.
const PIECE: Duration = Duration::from_millis(2);
const ROUNDS: usize = 2;

/// The tools that it asks for in each round.
const CALLS: [&str; 3] = ["work", "look", "work"];

/// Returns the calls of the model in a turn, in order.
pub(crate) fn calls(question: &str) -> Vec<String> {
    let rounds = (0..ROUNDS).flat_map(|round| {
        let names = CALLS.iter().enumerate();
        names.map(move |(index, name)| id(question, round, index, name))
    });
    rounds.collect()
}

fn id(question: &str, round: usize, index: usize, name: &str) -> String {
    format!("{question}/{round}/{index}/{name}")
}

/// Starts it, and gives its address.
pub(crate) async fn start() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/v1")
}

async fn answer(Json(request): Json<Value>) -> Response {
    let messages = request["messages"].as_array().unwrap();
    let asked = messages
        .iter()
        .rposition(|message| message["role"] == "user");
    let asked = asked.unwrap();
    let question = messages[asked]["content"].as_str().unwrap();
    let is_answer = |message: &&Value| message["role"] == "assistant";
    let round = messages[asked..].iter().filter(is_answer).count();
    // Each call was answered once, in order.
    let ids = |key: &'static str, role: &'static str| {
        let of_role = messages
            .iter()
            .filter(move |message| message["role"] == role);
        of_role.flat_map(move |message| match &message[key] {
            Value::Array(calls) => calls.iter().map(|call| call["id"].clone()).collect(),
            Value::Null => Vec::new(),
            id => vec![id.clone()],
        })
    };
    if !ids("tool_calls", "assistant").eq(ids("tool_call_id", "tool")) {
        return axum::http::StatusCode::BAD_REQUEST.into_response();
    }
    let mut pieces = vec![
        json!({"content": format!("Round {round} ")}),
        json!({"content": "of the answer."}),
    ];
    if round < ROUNDS {
        for (index, name) in CALLS.iter().enumerate() {
            let id = id(question, round, index, name);
            let function = json!({"name": name, "arguments": ""});
            pieces.push(json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}));
            let function = json!({"arguments": "{}"});
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
    let body = futures::stream::iter(frames).then(|frame| async move {
        tokio::time::sleep(PIECE).await;
        Ok::<_, Infallible>(frame)
    });
    (
        [(CONTENT_TYPE, "text/event-stream")],
        Body::from_stream(body),
    )
        .into_response()
}
