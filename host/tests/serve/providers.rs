//! Other providers behind the server, and the requests that they receive.

use crate::program;
use crate::server::{Server, asks};
use crate::stream::{all, events, text};
use serde_json::{Value, json};
use std::process::Stdio;
use stepwell_mock_llm::{Dialect, Hop, MockLlm, RecordedRequest, Script};

async fn model(hops: impl IntoIterator<Item = Hop>) -> MockLlm {
    let script = hops.into_iter().fold(Script::new(), Script::hop);
    MockLlm::start(script).await.expect("the mock starts")
}

fn before(model: &MockLlm, provider: &str, dialect: Dialect, key: (&str, &str)) -> Server {
    let url = model.url(dialect);
    let arguments = program::before(provider, &url);
    Server::start_with(&arguments, Some(key))
}

#[tokio::test]
async fn another_provider_with_a_tool_of_the_servers_and_reasoning() {
    let call = Hop::new()
        .reasoning("I have to compute.")
        .tool_call("calculator", json!({"expression": "6 * 7"}));
    let model = model([call, Hop::new().text("It is 42.")]).await;
    let key = ("ANTHROPIC_API_KEY", "test-key");
    let server = before(&model, "anthropic", Dialect::Anthropic, key);
    let events = events(server.run(&asks("r", "6 * 7?")).await).await;
    assert_eq!(text(&events), "It is 42.");
    assert_eq!(all(&events, "TOOL_CALL_RESULT")[0]["content"], "42");
    assert!(!all(&events, "REASONING_MESSAGE_CONTENT").is_empty());
    assert!(model.failures().is_empty(), "{:?}", model.failures());
}

fn with_a_situation() -> Value {
    let mut input = asks("r", "Hello");
    input["context"] = json!([{"description": "The page", "value": "Settings"}]);
    input["state"] = json!({"theme": "dark"});
    input["tools"] = json!([{"name": "set_theme", "description": "Sets it."}]);
    let messages = input["messages"].as_array_mut().expect("messages");
    messages.insert(
        0,
        json!({"id": "s", "role": "system", "content": "Be rude."}),
    );
    messages.push(json!({"id": "a", "role": "activity", "activityType": "plan", "content": {}}));
    input
}

#[tokio::test]
async fn the_model_gets_no_instructions_of_a_client() {
    let model = model([Hop::new().text("I see.")]).await;
    let server = Server::before_with(&model, &["--instructions", "Be brief."], Stdio::piped());
    let said = events(server.run(&with_a_situation()).await).await;
    assert_eq!(text(&said), "I see.");
    let requests = model.requests();
    let body = &requests[0].body;
    let messages = body["messages"].as_array().expect("messages");
    let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "user"]);
    assert_eq!(messages[0]["content"], "Be brief.");
    let situation = messages[1]["content"].as_str().expect("a text");
    for expected in ["The page: Settings", r#"{"theme":"dark"}"#] {
        assert!(situation.contains(expected), "{expected}: {situation}");
    }
    let tools = body["tools"].as_array().expect("tools");
    let names: Vec<_> = tools.iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["clock", "calculator", "change_state", "set_theme"]);
    let log = server.log().await;
    assert!(log.contains("messages of a client were dropped"), "{log}");
    assert!(!log.contains("Be rude."), "{log}");
}

#[tokio::test]
async fn the_model_gets_the_instructions_of_a_trusted_client() {
    let model = model([Hop::new().text("I see.")]).await;
    let server = Server::before(&model, &["--instructions", "Be brief.", "--trust-clients"]);
    events(server.run(&with_a_situation()).await).await;
    let requests = model.requests();
    let messages = &requests[0].body["messages"];
    let system = messages[0]["content"].as_str().expect("instructions");
    for expected in ["Be brief.", "The page: Settings", r#"{"theme":"dark"}"#] {
        assert!(system.contains(expected), "{expected}: {system}");
    }
    assert_eq!(messages[1]["content"], "Be rude.");
    assert_eq!(messages.as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn a_key_that_the_provider_repeats_is_not_handed_on() {
    let key = "test-key-0123456789";
    let words = format!("the header {key} is odd, and {key} is no key");
    let model = model([
        Hop::error(401, words.as_str()),
        Hop::error(400, words.as_str()),
    ])
    .await;
    let server = before(
        &model,
        "openai",
        Dialect::OpenAiChat,
        ("OPENAI_API_KEY", key),
    );
    for code in ["model_unauthorized", "model_refused"] {
        let events = events(server.run(&asks(code, "?")).await).await;
        let end = events.last().expect("an event");
        assert_eq!(end["code"], code);
        assert!(!end.to_string().contains(key), "{end}");
    }
}

#[tokio::test]
async fn unreachable_and_broken_models_are_distinct_errors() {
    let code = async |server: &Server| {
        let events = events(server.run(&asks("r", "?")).await).await;
        events.last().expect("an event")["code"]
            .as_str()
            .expect("a code")
            .to_owned()
    };
    let broken = model([Hop::new().text("I beg").end_early()]).await;
    assert_eq!(code(&Server::before(&broken, &[])).await, "model_truncated");
    let page = model([Hop::html(200)]).await;
    assert_eq!(code(&Server::before(&page, &[])).await, "model_unreadable");
}

/// A hop of an agent that asks before it continues.
fn asks_first() -> Hop {
    asks_after(&[
        json!({"type": "STATE_SNAPSHOT", "snapshot": {"seen": 1}}),
        json!({"type": "FROM_THE_FUTURE", "much": true}),
    ])
}

fn asks_after(events: &[Value]) -> Hop {
    let question =
        json!({"type": "interrupt", "interrupts": [{"id": "ask-1", "reason": "confirmation"}]});
    let start = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "a"});
    let end = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "a", "outcome": question});
    let events = [&start].into_iter().chain(events).chain([&end]);
    events.fold(Hop::new().bare(), |hop, event| {
        hop.raw_frame(event.to_string())
    })
}

fn is_answered(request: &RecordedRequest) -> Result<(), String> {
    let resume = &request.body["resume"];
    let expected = json!([{"interruptId": "ask-1", "status": "resolved", "payload": "yes"}]);
    (*resume == expected)
        .then_some(())
        .ok_or_else(|| resume.to_string())
}

fn answers_it() -> Value {
    let mut input = asks("first", "?");
    input["runId"] = json!("second");
    input["resume"] = json!([{"interruptId": "ask-1", "status": "resolved", "payload": "yes"}]);
    input
}

#[tokio::test]
async fn an_agent_behind_the_server_asks_through_it() {
    let thanks = Hop::new().text("Thank you.").expect(is_answered);
    let model = model([asks_first(), thanks]).await;
    let server = Server::start(&["--provider", "ag-ui", "--base-url", &model.ag_ui_url()]);
    let first = events(server.run(&asks("first", "?")).await).await;
    assert_eq!(all(&first, "STATE_SNAPSHOT").len(), 1);
    let outcome = &first.last().expect("an event")["outcome"];
    assert_eq!(outcome["interrupts"][0]["id"], "ask-1");
    let second = events(server.run(&answers_it()).await).await;
    assert_eq!(text(&second), "Thank you.", "{second:?}");
    assert!(model.failures().is_empty(), "{:?}", model.failures());
}

#[tokio::test]
async fn what_was_answered_is_not_asked_again() {
    let calls = Hop::new()
        .tool_call("get_location", json!({}))
        .expect(is_answered);
    let model = model([asks_first(), calls]).await;
    let server = Server::start(&["--provider", "ag-ui", "--base-url", &model.ag_ui_url()]);
    events(server.run(&asks("first", "?")).await).await;
    let mut input = answers_it();
    input["tools"] = json!([{"name": "get_location", "description": "Where."}]);
    let second = events(server.run(&input).await).await;
    let outcome = &second.last().expect("an event")["outcome"];
    assert_eq!(outcome["type"], "success", "{outcome}");
    assert_eq!(
        outcome["pendingToolCallIds"].as_array().map(Vec::len),
        Some(1)
    );
    assert!(model.failures().is_empty(), "{:?}", model.failures());
}

#[tokio::test]
async fn a_client_call_waits_until_a_question_is_answered() {
    let call = [
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "get_location"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
    ];
    let model = model([asks_after(&call)]).await;
    let server = Server::start(&["--provider", "ag-ui", "--base-url", &model.ag_ui_url()]);
    let tools = json!([{"name": "get_location", "description": "Where."}]);
    let mut first = asks("first", "?");
    first["tools"] = tools.clone();
    let first = events(server.run(&first).await).await;
    let outcome = &first.last().expect("an event")["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{outcome}");
    let mut second = answers_it();
    second["tools"] = tools;
    let second = events(server.run(&second).await).await;
    let outcome = &second.last().expect("an event")["outcome"];
    let expected = json!({"type": "success", "pendingToolCallIds": ["c"]});
    assert_eq!(*outcome, expected);
}

#[tokio::test]
async fn an_agent_backend_gets_the_clients_context_and_props() {
    let model = model([Hop::new().text("Hello.")]).await;
    let server = Server::start(&["--provider", "ag-ui", "--base-url", &model.ag_ui_url()]);
    let mut input = asks("first", "?");
    input["context"] = json!([{"description": "Place", "value": "Bergen"}]);
    input["forwardedProps"] = json!({"mode": "brief", "depth": {"most": 2}});
    input["state"] = json!({"city": "Bergen"});
    assert_eq!(text(&events(server.run(&input).await).await), "Hello.");
    let sent = &model.requests()[0].body;
    for field in ["context", "forwardedProps", "state"] {
        assert_eq!(sent[field], input[field], "{field}");
    }
    let messages = sent["messages"].as_array().expect("messages");
    assert!(
        messages.iter().all(|message| message["role"] == "user"),
        "{messages:?}"
    );
}

#[tokio::test]
async fn a_model_behind_the_server_gets_no_props_of_the_clients() {
    let model = model([Hop::new().text("Hello.")]).await;
    let server = Server::before(&model, &[]);
    let mut input = asks("first", "?");
    input["forwardedProps"] = json!({"model": "a dearer one"});
    events(server.run(&input).await).await;
    assert_ne!(model.requests()[0].body["model"], "a dearer one");
}
