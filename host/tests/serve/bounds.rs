//! What a client cannot do to the others: neither by many connections nor by large requests.

use crate::server::{Server, asks, refusal};
use crate::stream::{events, kinds};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Opens a connection whose first request stays incomplete.
async fn half_open(server: &Server) -> TcpStream {
    let mut socket = TcpStream::connect(server.address())
        .await
        .expect("connects");
    let begun = b"GET /health HTTP/1.1\r\nhost: 127";
    socket.write_all(begun).await.expect("it is sent");
    socket
}

/// Waits until the server has closed the connection.
async fn closed(mut socket: TcpStream) {
    let mut rest = Vec::new();
    // The answer may be cut off.
    let _ = socket.read_to_end(&mut rest).await;
    assert_eq!(String::from_utf8_lossy(&rest), "");
}

#[tokio::test]
async fn half_open_connections_make_room_for_others() {
    let server = Server::start(&["--max-connections", "4", "--header-timeout", "3600"]);
    let mut sockets = Vec::new();
    for _ in 0..40 {
        sockets.push(half_open(&server).await);
    }
    assert_eq!(server.get("/health").await.status(), 200);
    let answered = events(server.run(&asks("r", "hello")).await).await;
    assert_eq!(kinds(&answered).last(), Some(&"RUN_FINISHED"));
    // The first to wait were the first to go.
    closed(sockets.remove(0)).await;
}

#[tokio::test]
async fn connections_that_say_nothing_are_closed() {
    let server = Server::start(&["--header-timeout", "1", "--idle-timeout", "1"]);
    closed(half_open(&server).await).await;
    let mut socket = TcpStream::connect(server.address())
        .await
        .expect("connects");
    let request = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
    socket.write_all(request).await.expect("it is sent");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("it ends");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_request_with_thousands_of_tools_and_results_is_answered() {
    let server = Server::start(&[]);
    let mut input = asks("r", "hello");
    let tools = (0..3_000).map(|index| json!({"name": format!("tool_{index}"), "description": ""}));
    input["tools"] = Value::from_iter(tools);
    let name = |index: usize| format!("call_{index}");
    let calls = (0..3_000).map(|index| {
        json!({"id": name(index), "type": "function", "function": {"name": "tool_0", "arguments": "{}"}})
    });
    let asked = json!({"id": "asked", "role": "assistant", "toolCalls": Value::from_iter(calls)});
    let results = (0..3_000).rev().map(|index| {
        json!({"id": format!("result_{index}"), "role": "tool", "toolCallId": name(index), "content": "x"})
    });
    let question = input["messages"][0].take();
    let messages = [asked].into_iter().chain(results).chain([question]);
    input["messages"] = Value::from_iter(messages);
    assert!(input.to_string().len() > 256 << 10, "it is a large one");
    let answered = events(server.run(&input).await).await;
    assert_eq!(kinds(&answered).last(), Some(&"RUN_FINISHED"));
}

#[tokio::test]
async fn more_tools_than_any_model_takes_are_refused() {
    let server = Server::start(&[]);
    let mut input = asks("r", "hello");
    let tools = (0..20_000).map(|index| json!({"name": format!("t{index}"), "description": ""}));
    input["tools"] = Value::from_iter(tools);
    let response = server.run(&input).await;
    assert_eq!(response.status(), 422);
    let body = response.text().await.expect("a body");
    assert!(body.contains(r#""code":"invalid_input""#), "{body}");
    assert!(body.contains("/tools has 20000 entries"), "{body}");
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_as_json() {
    let server = Server::start(&[]);
    for (path, code) in [
        ("/threads?limit=many", "invalid_query"),
        ("/threads/%ff", "invalid_path"),
        ("/threads/%ff/turns/r/events", "invalid_path"),
        ("/page/%ff", "invalid_path"),
    ] {
        let refused = refusal(server.get(path).await).await;
        assert_eq!(refused, (400, code.to_owned()), "{path}");
    }
}

#[tokio::test]
async fn a_request_for_several_hosts_is_refused() {
    let server = Server::start_with(&[], Some(("STEPWELL_SERVE_TOKEN", "open-sesame")));
    for path in ["/", "/health", "/threads", "/nothing"] {
        let mut socket = TcpStream::connect(server.address())
            .await
            .expect("connects");
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
        );
        socket
            .write_all(request.as_bytes())
            .await
            .expect("it is sent");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.expect("it ends");
        assert!(answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
        assert!(
            answer.contains(r#""code":"invalid_host""#),
            "{path}: {answer}"
        );
    }
}

/// Starts a model that never stops, for one connection. The task returns whether its peer hung up in the end.
async fn endless(say: &'static str) -> (String, tokio::task::JoinHandle<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let model = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a connection");
        let mut request = [0; 16 << 10];
        let _ = socket.read(&mut request).await;
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        if socket.write_all(head.as_bytes()).await.is_err() {
            return true;
        }
        // More than any buffer on the way takes, and less than would fill a machine if the server failed.
        let frames = format!("data: {{\"choices\":[{{\"delta\":{say}}}]}}\n\n").repeat(1_000);
        for _ in 0..1_000 {
            if socket.write_all(frames.as_bytes()).await.is_err() {
                return true;
            }
        }
        false
    });
    (format!("http://{address}/v1"), model)
}

#[tokio::test]
async fn an_endless_answer_is_cut_off_and_its_connection_closed() {
    for say in [
        r#"{"content":"and so on, "}"#,
        r#"{"reasoning_content":"but wait, "}"#,
        r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"clock","arguments":"[1,"}}]}"#,
    ] {
        let (url, model) = endless(say).await;
        let server = Server::before_url(&url, &["--max-answer-bytes", "100000"]);
        let told = events(server.run(&asks("r", "Go on")).await).await;
        let end = told.last().expect("an end");
        assert_eq!(end["type"], "RUN_ERROR", "{end}");
        assert_eq!(end["code"], "max_answer_bytes");
        let message = "the answer went beyond its limit of 100000 bytes, and was stopped";
        assert_eq!(end["message"], message);
        assert!(model.await.expect("the model lives"), "the server hung up");
        assert!(Value::from(told).to_string().len() < 20_000_000);
    }
}
