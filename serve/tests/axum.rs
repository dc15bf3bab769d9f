//! An axum app with an agent behind it: what it answers to clients, and to what is no request.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use serde_json::{Value, json};
use stepwell_io::config::{CompactionWay, SummaryPolicy};
use stepwell_io::tool::{Tool, ToolContext};
use stepwell_io::{Agent, provider};
use stepwell_mock_llm::{Delivery, Hop, MockLlm, Script};
use stepwell_serve::axum::{AgentRoutes, Chat, RunRequest, router};
use stepwell_serve::{AgUiServer, RunLimits};
use tower_service::Service;

async fn model(script: Script) -> (MockLlm, Agent) {
    let model = MockLlm::start(script).await.expect("it listens");
    let provider = provider::find("openai-compatible").expect("a provider");
    let endpoint = provider.endpoint(None, "m", Some(&model.base_url()), None);
    let send = |_: ToolContext| async { Ok::<_, String>("sent") };
    let agent = Agent::builder(endpoint.expect("an endpoint"))
        .tool(Tool::new("send", "Sends.").requires_approval(), send)
        .build()
        .expect("an agent");
    (model, agent)
}

async fn ask(app: &mut Router, path: &str, body: &Value) -> Response {
    let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
    let request = request
        .body(Body::from(body.to_string()))
        .expect("a request");
    app.call(request).await.expect("it answers")
}

async fn text(response: Response) -> String {
    let body = to_bytes(response.into_body(), usize::MAX).await;
    String::from_utf8(body.expect("a body").to_vec()).expect("UTF-8")
}

/// The events, or parts, of an answer.
async fn said(response: Response) -> Vec<Value> {
    assert_eq!(response.status(), StatusCode::OK);
    let text = text(response).await;
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

fn kinds(said: &[Value]) -> Vec<&str> {
    said.iter()
        .filter_map(|event| event["type"].as_str())
        .collect()
}

fn run(run_id: &str, more: &Value) -> Value {
    let hello = json!({ "id": "u", "role": "user", "content": "hello" });
    let mut input = json!({
        "threadId": "t", "runId": run_id, "protocolVersion": "1.0", "messages": [hello],
        "tools": [], "context": [], "state": {}, "forwardedProps": {},
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        input[name] = value.clone();
    }
    input
}

#[tokio::test]
async fn a_question_is_asked_by_the_run_and_answered_by_the_next() {
    let script = Script::new()
        .hop(Hop::new().tool_call("send", json!({})))
        .hop(Hop::new().text("It is sent."));
    let (_model, agent) = model(script).await;
    let mut app = router(agent);
    let asked = said(ask(&mut app, "/agent", &run("r1", &json!({}))).await).await;
    let end = asked.last().expect("an end");
    assert_eq!(
        (&end["type"], &end["outcome"]["type"]),
        (&json!("RUN_FINISHED"), &json!("interrupt"))
    );
    let id = &end["outcome"]["interrupts"][0]["id"];
    let yes = json!([{ "interruptId": id, "status": "resolved", "payload": { "approved": true } }]);
    let answered = said(ask(&mut app, "/agent", &run("r2", &json!({ "resume": yes }))).await).await;
    let result = answered
        .iter()
        .find(|event| event["type"] == "TOOL_CALL_RESULT");
    assert_eq!(result.map(|event| &event["content"]), Some(&json!("sent")));
    assert_eq!(
        answered.last().expect("an end")["outcome"]["type"],
        "success"
    );
}

#[tokio::test]
async fn what_was_summarised_for_a_run_is_not_summarised_for_the_next() {
    let script = Script::new()
        .scene("user", [Hop::new().text("They counted.")])
        .hop(Hop::new().text("Yes."))
        .repeat();
    let model = MockLlm::start(script).await.expect("it listens");
    let provider = provider::find("openai-compatible").expect("a provider");
    let endpoint = provider.endpoint(None, "m", Some(&model.base_url()), None);
    let agent = Agent::builder(endpoint.expect("an endpoint"))
        .compaction([CompactionWay::Summary(SummaryPolicy::default())])
        .configure(|config| config.context_guard.window = Some(1_000))
        .build()
        .expect("an agent");
    let mut app = router(agent);
    let user = |id: &str, text: &str| json!({ "id": id, "role": "user", "content": text });
    let answer = |id: &str| json!({ "id": id, "role": "assistant", "content": "Yes." });
    let mut messages = vec![
        user("u1", &"x".repeat(3_500)),
        answer("a1"),
        user("u2", "Go on"),
    ];
    let mut summaries = async |run_id: &str, more: &Value| {
        let input = run(run_id, more);
        let events = said(ask(&mut app, "/agent", &input).await).await;
        let trimmed = events.iter();
        let trimmed = trimmed.filter(|event| event["name"] == "context_trimmed");
        trimmed
            .map(|event| event["value"]["summary"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        summaries("r1", &json!({ "messages": messages })).await,
        ["They counted."]
    );
    messages.extend([answer("a2"), user("u3", "And then?")]);
    assert!(
        summaries("r2", &json!({ "messages": messages }))
            .await
            .is_empty()
    );
    let requests = model.requests();
    assert_eq!(
        requests.len(),
        3,
        "one for the summary, and one for each run"
    );
    let request = requests[2].body.to_string();
    assert!(request.contains("They counted.") && request.contains("And then?"));
    assert!(!request.contains("xxx"));
    // A client that undoes the compaction, with a conversation that is still too long.
    let undone = json!({ "messages": messages, "forwardedProps": { "wholeHistory": true } });
    let compacted = summaries("r3", &undone).await;
    assert_eq!(compacted, [Value::Null, json!("They counted.")]);
    // A client that begins anew has none of the messages that were summarised.
    let anew = json!({ "messages": [user("v1", "Hello")] });
    assert!(summaries("r4", &anew).await.is_empty());
    let last = model.requests().pop().expect("a request");
    assert!(!last.body.to_string().contains("They counted."));
}

#[tokio::test]
async fn a_tool_of_the_clients_ends_the_run() {
    let script = Script::new().hop(Hop::new().tool_call("get_location", json!({})));
    let (_model, agent) = model(script).await;
    let tools = json!([{ "name": "get_location", "description": "Where.", "parameters": { "type": "object" } }]);
    let events = said(
        ask(
            &mut router(agent),
            "/agent",
            &run("r", &json!({ "tools": tools })),
        )
        .await,
    )
    .await;
    let pending = &events.last().expect("an end")["outcome"]["pendingToolCallIds"];
    assert_eq!(pending.as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn invalid_requests_are_refused_with_the_reason() {
    let (_model, agent) = model(Script::new()).await;
    let server = AgUiServer::new(RunLimits {
        runs: 1,
        ..RunLimits::default()
    });
    let mut app = AgentRoutes::new(agent)
        .server(server.clone())
        .max_body(2_000)
        .router();
    let long = json!({ "id": "c", "messages": ["x".repeat(3_000)] });
    let taken = json!({ "tools": [{ "name": "send", "description": "Mine." }] });
    for (path, body, status, code) in [
        ("/agent", json!({}), 422, "invalid_input"),
        ("/agent", run("", &json!({})), 422, "invalid_input"),
        ("/agent", run("r", &taken), 422, "unusable_tool"),
        ("/agent", long, 413, "body_too_large"),
    ] {
        let response = ask(&mut app, path, &body).await;
        assert_eq!(response.status().as_u16(), status, "{body}");
        let error: Value = serde_json::from_str(&text(response).await).expect("JSON");
        assert_eq!(error["error"]["code"], code, "{error}");
    }
    // The AI SDK shows the body as it is.
    let refused = ask(&mut app, "/api/chat", &json!({ "id": "c", "messages": [] })).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        text(refused).await,
        "/messages is empty: send what the user says"
    );
    let plain = Request::post("/agent")
        .body(Body::from("{}"))
        .expect("a request");
    assert_eq!(app.call(plain).await.expect("it answers").status(), 415);
    let none = Request::get("/api/chat/c/stream")
        .body(Body::empty())
        .expect("a request");
    assert_eq!(
        app.call(none).await.expect("it answers").status(),
        StatusCode::NO_CONTENT
    );
    server.close();
    let response = ask(&mut app, "/agent", &run("r", &json!({}))).await;
    assert_eq!(
        (
            response.status().as_u16(),
            &response.headers()[header::RETRY_AFTER]
        ),
        (503, &"1".parse().expect("a value"))
    );
}

/// A check against it would take 2^40 steps.
#[tokio::test]
async fn a_clients_schema_that_costs_too_much_is_refused_with_its_path() {
    let (model, agent) = model(Script::new()).await;
    let mut app = router(agent);
    let mut definitions = serde_json::Map::new();
    for link in 0..40 {
        let next = json!({ "$ref": format!("#/$defs/d{}", link + 1) });
        definitions.insert(format!("d{link}"), json!({ "allOf": [next, next] }));
    }
    definitions.insert("d40".to_owned(), json!({ "type": "object" }));
    let doubling = json!({ "$defs": definitions, "$ref": "#/$defs/d0" });
    let tools = json!([
        { "name": "fine", "description": "It." },
        { "name": "costly", "description": "It.", "parameters": doubling },
    ]);
    let user = json!({ "id": "u", "role": "user", "parts": [{ "type": "text", "text": "hello" }] });
    for (path, body) in [
        ("/agent", run("r", &json!({ "tools": tools }))),
        (
            "/api/chat",
            json!({ "id": "c", "messages": [user], "tools": tools }),
        ),
    ] {
        let response = ask(&mut app, path, &body).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let text = text(response).await;
        assert!(
            text.contains("/tools/1/parameters/$defs/d"),
            "{path}: {text}"
        );
    }
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_chats_run_is_stopped_on_demand() {
    let (model, agent) = model(Script::new().hop(Hop::new().text("I wait.").stall())).await;
    let mut app = router(agent);
    let user = json!({ "id": "u", "role": "user", "parts": [{ "type": "text", "text": "hello" }] });
    let response = ask(
        &mut app,
        "/api/chat",
        &json!({ "id": "c", "messages": [user] }),
    )
    .await;
    model.wait_until(|requests| requests.len() == 1).await;
    let stop = Request::delete("/api/chat/c/stream").body(Body::empty());
    let stopped = app.call(stop.expect("a request")).await;
    assert_eq!(
        stopped.expect("it answers").status(),
        StatusCode::NO_CONTENT
    );
    let parts = said(response).await;
    assert_eq!(parts.last().expect("an end")["type"], "abort");
    model
        .wait_until(|requests| requests[0].delivery == Delivery::ClientLeft)
        .await;
}

/// CopilotKit shows every other error to the user.
#[tokio::test]
async fn a_stopped_run_is_an_abort_for_clients_from_before_1_0() {
    for (version, kind, pointer, end) in [
        (json!(null), "RUN_ERROR", "/code", "abort"),
        (json!("0.0"), "RUN_ERROR", "/code", "abort"),
        (json!("1.0"), "RUN_FINISHED", "/outcome/type", "cancelled"),
    ] {
        let (model, agent) = model(Script::new().hop(Hop::new().text("I wait.").stall())).await;
        let mut app = router(agent);
        let input = run("r", &json!({ "protocolVersion": version }));
        let response = ask(&mut app, "/agent", &input).await;
        model.wait_until(|requests| requests.len() == 1).await;
        let stopped = ask(&mut app, "/agent/stop", &json!({ "threadId": "t" })).await;
        assert_eq!(stopped.status(), StatusCode::NO_CONTENT);
        let events = said(response).await;
        let last = events.last().expect("an end");
        assert_eq!(last["type"], kind, "{version}");
        assert_eq!(last.pointer(pointer), Some(&json!(end)), "{version}");
    }
}

/// assistant-ui's transport stores the id, and asks for the stream by it.
#[tokio::test]
async fn a_chats_answer_names_the_stream_to_resume() {
    let script = Script::new().hop(Hop::new().text("Hello!"));
    let (_model, agent) = model(script).await;
    let mut app = router(agent);
    let user = json!({ "id": "u", "role": "user", "parts": [{ "type": "text", "text": "hello" }] });
    for (chat, header) in [("c 1/ä?", "c%201%2F%C3%A4%3F"), ("chat-1", "chat-1")] {
        let body = json!({ "id": chat, "messages": [user] });
        let response = ask(&mut app, "/api/chat", &body).await;
        assert_eq!(response.headers()["x-resumable-stream-id"], header);
    }
    let resumed = Request::get("/api/chat/chat-1/stream").body(Body::empty());
    let resumed = app.call(resumed.expect("a request")).await;
    let resumed = resumed.expect("it answers");
    assert_eq!(resumed.headers()["x-resumable-stream-id"], "chat-1");
}

#[tokio::test]
async fn a_run_without_readers_is_stopped() {
    let (model, agent) = model(Script::new().hop(Hop::new().text("I wait.").stall())).await;
    let server = AgUiServer::new(RunLimits {
        resume_time: std::time::Duration::ZERO,
        ..RunLimits::default()
    });
    let mut app = AgentRoutes::new(agent).server(server.clone()).router();
    let response = ask(&mut app, "/agent", &run("r", &json!({}))).await;
    drop(response);
    // `stop` returns when no run is under way.
    server.stop(std::time::Duration::MAX).await;
    assert!(model.failures().is_empty());
}

#[tokio::test]
async fn a_turn_of_a_handler_is_a_whole_run_and_a_whole_message() {
    async fn agent_of(State(agent): State<Agent>, request: RunRequest) -> Response {
        let turn = agent.stream(request.said());
        request.answer(turn)
    }
    async fn chat_of(State(agent): State<Agent>, chat: Chat) -> Response {
        let turn = agent.stream(chat.said());
        chat.answer(turn)
    }
    let script = Script::new()
        .hop(Hop::new().text("Hello!"))
        .hop(Hop::new().text("Hello!"));
    let (model, agent) = model(script).await;
    let app = Router::new()
        .route("/run", post(agent_of))
        .route("/chat", post(chat_of));
    let mut app: Router = app.with_state(agent);
    let events = said(ask(&mut app, "/run", &run("r", &json!({}))).await).await;
    assert_eq!(
        kinds(&events),
        [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED"
        ]
    );
    assert_eq!(
        (&events[0]["threadId"], &events[4]["runId"]),
        (&json!("t"), &json!("r"))
    );
    let messages =
        json!([{ "id": "u", "role": "user", "parts": [{ "type": "text", "text": "hello" }] }]);
    let response = ask(
        &mut app,
        "/chat",
        &json!({ "id": "c", "messages": messages }),
    )
    .await;
    assert_eq!(response.headers()["x-vercel-ai-ui-message-stream"], "v1");
    let parts = said(response).await;
    assert_eq!(
        kinds(&parts),
        [
            "start",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "finish"
        ]
    );
    assert_eq!(model.requests()[0].body["messages"][0]["content"], "hello");
}
