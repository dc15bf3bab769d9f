//! The client side of the tests.

use reqwest::{Client, Response};
use serde_json::{Value, json};
use stepwell_mock_llm::{Hop, MockLlm, Script};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) fn client() -> Client {
    // Even plain HTTP needs one: reqwest builds its TLS connector all the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::new()
}

pub(crate) async fn serve(hop: Hop) -> MockLlm {
    start(Script::new().hop(hop)).await
}

pub(crate) async fn start(script: Script) -> MockLlm {
    MockLlm::start(script).await.expect("the server starts")
}

/// The smallest request the service would take.
pub(crate) fn question() -> Value {
    json!({"model": "test-model", "stream": true, "messages": [{"role": "user", "content": "Hello"}]})
}

pub(crate) fn run_input() -> Value {
    json!({
        "threadId": "thread-1",
        "runId": "run-1",
        "state": {},
        "messages": [{"id": "m1", "role": "user", "content": "Hello"}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    })
}

pub(crate) async fn post(url: &str, body: impl Into<reqwest::Body>) -> Response {
    let request = client()
        .post(url)
        .header("content-type", "application/json")
        .body(body);
    request.send().await.expect("a response comes")
}

pub(crate) async fn chat(server: &MockLlm, body: &Value) -> Response {
    post(
        &format!("{}/chat/completions", server.base_url()),
        body.to_string(),
    )
    .await
}

pub(crate) async fn ask(server: &MockLlm) -> Response {
    chat(server, &question()).await
}

pub(crate) async fn run(server: &MockLlm, input: &Value) -> Response {
    post(&server.ag_ui_url(), input.to_string()).await
}

pub(crate) async fn json_of(response: Response) -> Value {
    let text = response.text().await.expect("the body comes whole");
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}"))
}

/// The `data` of every server-sent event, and nothing else in the body.
pub(crate) async fn frames(response: Response) -> Vec<String> {
    let text = response.text().await.expect("the body comes whole");
    let mut frames: Vec<_> = text.split("\n\n").map(str::to_owned).collect();
    assert_eq!(
        frames.pop().as_deref(),
        Some(""),
        "the last event ends with a blank line"
    );
    frames
        .iter()
        .map(|frame| {
            frame
                .strip_prefix("data: ")
                .expect("one data line")
                .to_owned()
        })
        .collect()
}

/// The frames that are JSON.
pub(crate) async fn events(response: Response) -> Vec<Value> {
    let frames = frames(response).await;
    frames
        .iter()
        .filter_map(|frame| serde_json::from_str(frame).ok())
        .collect()
}

/// Returns the bytes of a body that arrive, and whether it ended as HTTP requires.
pub(crate) async fn received(mut response: Response) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return (bytes, true),
            Err(_) => return (bytes, false),
        }
    }
}

/// The response as it is on the socket, until the server closes it.
pub(crate) async fn raw_exchange(server: &MockLlm, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    let address = server.address();
    let url = format!("{}/chat/completions", server.base_url());
    let path = url
        .strip_prefix(&format!("http://{address}"))
        .expect("an address of the server");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let mut socket = TcpStream::connect(address).await.expect("connects");
    socket
        .write_all(request.as_bytes())
        .await
        .expect("the request is sent");
    let mut response = Vec::new();
    socket
        .read_to_end(&mut response)
        .await
        .expect("the response is read");
    response
}
