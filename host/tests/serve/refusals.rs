//! Requests that begin no run: each with a status, a code and a sentence.

use crate::model::HeldModel;
use crate::server::{Server, asks, refusal};
use crate::stream::{events, text};
use crate::valid::check_definition;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn refused(server: &Server, input: &Value) -> (u16, String) {
    refusal(server.run(input).await).await
}

fn is(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn a_body_that_is_no_input_is_refused() {
    let server = Server::start(&[]);
    let post = async |body: &'static str| {
        let request = server.request("POST", "/agent");
        let request = request.header("content-type", "application/json; charset=utf-8");
        refusal(request.body(body).send().await.expect("an answer")).await
    };
    assert_eq!(post("{").await, is(400, "invalid_json"));
    assert_eq!(post("").await, is(400, "invalid_json"));
    assert_eq!(post("[]").await, is(422, "invalid_input"));
    assert_eq!(post("{}").await, is(422, "invalid_input"));
    let mut input = asks("r", "hello");
    input["messages"][0]["content"] = json!(7);
    assert_eq!(refused(&server, &input).await, is(422, "invalid_input"));
    for id in ["", "a\nid: b", &"x".repeat(513)] {
        for name in ["runId", "threadId"] {
            let mut input = asks("r", "hello");
            input[name] = json!(id);
            assert_eq!(
                refused(&server, &input).await,
                is(422, "invalid_input"),
                "{name}: {id}"
            );
        }
    }
}

#[tokio::test]
async fn a_tool_that_cannot_be_offered_is_refused() {
    let server = Server::start(&[]);
    let with_tool = |tool: Value| {
        let mut input = asks("r", "hello");
        input["tools"] = json!([tool]);
        input
    };
    for tool in [
        json!({"name": "get_secret_number", "description": "The server has it."}),
        json!({"name": "change_state", "description": "The server has it."}),
        json!({"name": "not a name", "description": "No."}),
        json!({"name": "odd", "description": "No.", "parameters": {"type": "nonsense"}}),
    ] {
        let input = with_tool(tool);
        assert_eq!(
            refused(&server, &input).await,
            is(422, "unusable_tool"),
            "{input}"
        );
    }
}

#[tokio::test]
async fn a_refusal_names_the_place_in_the_body() {
    let server = Server::start(&[]);
    let named = async |path: &str, field: &str, value: Value, place: &str| {
        let mut input = asks("r", "hello");
        if path != "/agent" {
            input = json!({"turnId": "r", "message": "?"});
        }
        input[field] = value;
        let request = server.request("POST", path);
        let request = request.header("content-type", "application/json");
        let response = request.body(input.to_string()).send().await;
        let response = response.expect("an answer");
        assert_eq!(response.status(), 422, "{path} {field}");
        let text = response.text().await.expect("a body");
        assert!(text.contains(place), "{place}: {text}");
    };
    let tool = |name: &str| json!({"name": name, "description": "It."});
    let odd = json!({"name": "odd", "description": "", "parameters": {"type": "nonsense"}});
    for path in ["/agent", "/threads/t/turns"] {
        for (tools, place) in [
            (json!([tool("a"), {"name": "b"}]), "/tools/1: missing field"),
            (json!([tool("a"), tool("change_state")]), "/tools/1/name: "),
            (json!([tool("a"), tool("a")]), "/tools/1/name: "),
            (json!([tool("not a name")]), "/tools/0/name: "),
            (json!([tool("a"), odd]), "/tools/1/parameters: "),
        ] {
            named(path, "tools", tools, place).await;
        }
    }
    named("/agent", "threadId", json!(""), "/threadId has ").await;
    named("/threads/t/turns", "turnId", json!(7), "/turnId: ").await;
}

/// A check against the first would take 2^40 steps, and each pattern of the second a megabyte.
#[tokio::test]
async fn schemas_that_cost_too_much_are_refused_at_every_route() {
    let server = Server::start(&[]);
    let mut definitions = serde_json::Map::new();
    for link in 0..20 {
        let next = json!({"$ref": format!("#/$defs/d{}", link + 1)});
        definitions.insert(format!("d{link}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("d20".to_owned(), json!({"type": "object"}));
    let doubling = json!({"$defs": definitions, "allOf": [{"$ref": "#/$defs/d0"}]});
    let patterns: serde_json::Map<_, _> = (0..1_000)
        .map(|number| {
            (
                format!("a{number}"),
                json!({"pattern": format!("(\\w{{1,100}}){{1,60}}{number}")}),
            )
        })
        .collect();
    for (schema, place) in [
        (doubling, "/tools/1/parameters/$defs/d"),
        (
            json!({"properties": patterns}),
            "/tools/1/parameters/properties/a",
        ),
    ] {
        let tools = json!([
            {"name": "fine", "description": "It."},
            {"name": "costly", "description": "It.", "parameters": schema},
        ]);
        let message =
            json!({"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]});
        for (path, mut body) in [
            ("/agent", asks("r", "hello")),
            (
                "/threads/t/turns",
                json!({"turnId": "r", "message": "hello"}),
            ),
            ("/api/chat", json!({"id": "c", "messages": [message]})),
        ] {
            body["tools"] = tools.clone();
            let request = server
                .request("POST", path)
                .header("content-type", "application/json");
            let response = request
                .body(body.to_string())
                .send()
                .await
                .expect("an answer");
            assert_eq!(response.status(), 422, "{path}");
            let text = response.text().await.expect("a body");
            assert!(text.contains(place), "{path}: {text}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let server = Server::start(&["--max-body", "1000"]);
    let input = asks("r", &"x".repeat(1000));
    assert_eq!(refused(&server, &input).await, is(413, "body_too_large"));
    let said = text(&events(server.run(&asks("r", "hello")).await).await);
    assert!(said.starts_with("Hello!"), "{said}");
}

#[tokio::test]
async fn other_media_types_are_refused_both_ways() {
    let server = Server::start(&[]);
    let body = asks("r", "hello").to_string();
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ] {
        let mut request = server.request("POST", "/agent").body(body.clone());
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(
            refusal(response).await,
            is(415, "unsupported_media_type"),
            "{kind:?}"
        );
    }
    let request = server.request("POST", "/agent").body(body);
    let request = request.header("content-type", "application/json");
    let response = request.header("accept", "text/html").send().await;
    assert_eq!(
        refusal(response.expect("an answer")).await,
        is(406, "not_acceptable")
    );
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused() {
    let server = Server::start(&[]);
    assert_eq!(
        refusal(server.get("/nothing").await).await,
        is(404, "not_found")
    );
    let response = server.get("/agent").await;
    assert_eq!(response.headers()["allow"], "POST");
    assert_eq!(refusal(response).await, is(405, "method_not_allowed"));
}

#[tokio::test]
async fn a_request_without_the_token_is_refused() {
    let server = Server::start_with(&[], Some(("STEPWELL_SERVE_TOKEN", "open-sesame")));
    let input = asks("r", "hello");
    for token in [
        None,
        Some("Bearer open-sesam"),
        Some("Bearer open-sesamee"),
        Some("Basic open-sesame"),
        Some("Bearer "),
    ] {
        let mut request = server.post(&input);
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
        assert_eq!(
            refusal(response).await,
            is(401, "unauthorized"),
            "{token:?}"
        );
    }
    assert_eq!(
        refusal(server.get("/capabilities").await).await,
        is(401, "unauthorized")
    );
    let request = server
        .post(&input)
        .header("authorization", "bearer open-sesame");
    let said = text(&events(request.send().await.expect("an answer")).await);
    assert!(said.starts_with("Hello!"), "{said}");
    assert_eq!(
        server.get("/health").await.status(),
        200,
        "it is asked by those who have no token"
    );
}

#[tokio::test]
async fn more_runs_than_there_is_room_for_are_refused() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &["--max-runs", "1"]);
    let first = server.run(&asks("first", "?")).await;
    model.asked().await;
    let second = server.run(&asks("second", "?")).await;
    assert_eq!(second.headers()["retry-after"], "1");
    assert_eq!(refusal(second).await, is(503, "too_many_runs"));
    model.answer();
    assert_eq!(text(&events(first).await), "At last.");
    // The first run's place is free as soon as its end was read.
    model.answer();
    assert_eq!(
        text(&events(server.run(&asks("third", "?")).await).await),
        "At last."
    );
}

#[tokio::test]
async fn a_body_that_breaks_off_holds_no_place() {
    let server = Server::start(&["--max-runs", "1"]);
    let mut socket = TcpStream::connect(server.address())
        .await
        .expect("connects");
    let head = "POST /agent HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    socket.write_all(head.as_bytes()).await.expect("it is sent");
    socket.shutdown().await.expect("it is closed");
    let mut answer = Vec::new();
    // The server may answer half a request, or close the connection.
    let _ = socket.read_to_end(&mut answer).await;
    let said = text(&events(server.run(&asks("r", "hello")).await).await);
    assert!(said.starts_with("Hello!"), "{said}");
}

#[tokio::test]
async fn the_server_describes_itself() {
    let server = Server::start(&["--store", "memory"]);
    for (path, status) in [("/health", "ok"), ("/ready", "ready")] {
        let response = server.get(path).await;
        assert_eq!(response.status(), 200);
        let body: Value =
            serde_json::from_str(&response.text().await.expect("a body")).expect("JSON");
        assert_eq!(body, json!({"status": status}));
    }
    let text = server
        .get("/openapi.json")
        .await
        .text()
        .await
        .expect("a body");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let methods = methods.as_object().expect("methods");
        for method in methods.keys().filter(|key| *key != "parameters") {
            let request = server.request(&method.to_uppercase(), path);
            let response = request.send().await.expect("an answer");
            let status = response.status().as_u16();
            assert_ne!(status, 405, "{method} {path}");
            if status == 404 {
                let (_, code) = refusal(response).await;
                assert_ne!(code, "not_found", "{method} {path}");
            }
            assert!(
                methods[method]["responses"]
                    .get(status.to_string())
                    .is_some(),
                "{method} {path}: {status}"
            );
        }
    }
    let text = server
        .get("/capabilities")
        .await
        .text()
        .await
        .expect("a body");
    let capabilities: Value = serde_json::from_str(&text).expect("JSON");
    check_definition("AgentCapabilities", &capabilities);
    assert_eq!(capabilities["humanInTheLoop"]["approvals"], true);
}
