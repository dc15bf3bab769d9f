//! Threads that nearly fill the model's context: they are compacted, clients are informed of it, and a turn undoes it.

use crate::file::File;
use crate::model::HeldModel;
use crate::server::{Server, refusal};
use crate::stream::{Run, all, events, kinds};
use serde_json::{Value, json};
use stepwell_mock_llm::{Hop, MockLlm, Script};

const COMPACTION: [&str; 4] = ["--compaction", "summary", "--context-window", "4000"];

/// A model whose answer to the word `story` nearly fills the context.
async fn model() -> MockLlm {
    let script = Script::new()
        .scene("user", [Hop::new().text("A story was told.")])
        .scene("story", [Hop::new().text("I see.").usage(3_900, 10)])
        .hop(Hop::new().text("Yes.").usage(900, 10))
        .repeat();
    MockLlm::start(script).await.expect("the mock starts")
}

/// A story of a thousand tokens.
fn story() -> String {
    format!("story {}", "x".repeat(4_000))
}

/// Runs a turn to its end. Returns the values of its events about compactions.
async fn turn(server: &Server, turn: &str, body: Value) -> Vec<Value> {
    let mut body = body;
    body["turnId"] = json!(turn);
    let begun = server.call("POST", "/threads/t/turns", Some(body)).await;
    assert_eq!(begun.status(), 201, "{}", begun.text().await.unwrap());
    let told = events(server.follow("t", turn, None).await).await;
    assert_eq!(kinds(&told).last(), Some(&"RUN_FINISHED"), "{told:#?}");
    trimmed(&told)
}

fn trimmed(told: &[Value]) -> Vec<Value> {
    let mut reports = all(told, "CUSTOM");
    reports.retain(|event| event["name"] == "context_trimmed");
    let reports = reports.into_iter();
    reports.map(|event| event["value"].clone()).collect()
}

/// Returns the messages of the model's last request.
fn asked(model: &MockLlm) -> String {
    let requests = model.requests();
    requests.last().expect("a request").body["messages"].to_string()
}

#[tokio::test]
async fn a_long_thread_is_compacted_and_a_turn_undoes_it() {
    let file = File::new("compacted");
    let store = file.store();
    let model = model().await;
    let arguments = [&COMPACTION[..], &["--store", &store]].concat();
    let server = Server::before(&model, &arguments);
    let none: [Value; 0] = [];
    assert_eq!(
        turn(&server, "r1", json!({ "message": story() })).await,
        none
    );

    let told = turn(&server, "r2", json!({ "message": "And?" })).await;
    let summary = json!({ "through": "r1-user", "summary": "A story was told." });
    assert_eq!(told, std::slice::from_ref(&summary));
    assert!(asked(&model).contains("A story was told.") && !asked(&model).contains("xxx"));
    assert_eq!(
        turn(&server, "r3", json!({ "message": "Sure?" })).await,
        none
    );
    assert!(asked(&model).contains("A story was told."));

    // The view has it, also after a restart, and so has a page of the end.
    let mut placed = summary;
    placed["after"] = json!("r2-user");
    let view = server.json("/threads/t").await;
    assert_eq!(view["session"]["turns"][1]["compactions"], json!([placed]));
    assert_eq!(view["session"]["turns"][2].get("compactions"), None);
    drop(server);
    let server = Server::before(&model, &arguments);
    assert_eq!(server.json("/threads/t").await["session"], view["session"]);
    let page = server.json("/threads/t?limit=2").await;
    assert_eq!(page["session"]["turns"][0]["compactions"], json!([placed]));
    let log = events(server.follow("t", "r2", None).await).await;
    assert_eq!(trimmed(&log).len(), 1);

    let body = json!({ "message": "All of it?", "wholeHistory": true });
    assert_eq!(turn(&server, "r4", body).await, [json!({ "undone": true })]);
    let request = asked(&model);
    for message in ["xxx", "I see.", "And?", "Yes.", "Sure?", "All of it?"] {
        assert!(request.contains(message), "{message}: {request}");
    }
    assert!(!request.contains("A story was told."));
    let view = server.json("/threads/t").await;
    let undone = json!([{ "after": "r4-user", "undone": true }]);
    assert_eq!(view["session"]["turns"][3]["compactions"], undone);
}

#[tokio::test]
async fn a_host_that_takes_a_turn_over_reports_its_compaction_once() {
    let file = File::new("compacted-twice");
    let store = file.store();
    let model = HeldModel::start().await;
    let arguments = [&COMPACTION[..], &["--store", &store]].concat();
    let server = Server::before_url(&model.url, &arguments);
    server.begin("t", "r1", &"x".repeat(11_000)).await;
    model.asked().await;
    model.answer();
    events(server.follow("t", "r1", None).await).await;
    server.begin("t", "r2", &"y".repeat(3_000)).await;
    // The summary, and the request that carries it.
    model.asked().await;
    model.answer();
    model.asked().await;
    let mut follower = Run::new(server.follow("t", "r2", None).await);
    while follower.until("CUSTOM").await["name"] != "context_trimmed" {}
    drop(server);
    let server = Server::before_url(&model.url, &arguments);
    model.asked().await;
    // The first of these is for the host that died.
    model.answer();
    model.answer();
    let told = events(server.follow("t", "r2", None).await).await;
    assert_eq!(all(&told, "MESSAGES_SNAPSHOT").len(), 1);
    let [value] = &trimmed(&told)[..] else {
        panic!("{told:#?}");
    };
    assert_eq!(value["summary"], "At last.");
    assert_eq!(model.questions(), 4, "nothing is summarised twice");
}

#[tokio::test]
async fn whole_history_must_be_a_boolean() {
    let server = Server::start(&[]);
    let body = json!({ "message": "Hello", "wholeHistory": "yes" });
    let refused = server.call("POST", "/threads/t/turns", Some(body)).await;
    assert_eq!(refusal(refused).await, (422, "invalid_input".to_owned()));
}
