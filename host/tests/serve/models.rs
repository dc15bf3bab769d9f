//! The models that a turn may ask for.

use crate::file::File;
use crate::server::{Server, refusal};
use crate::stream::{Run, events};
use serde_json::json;
use stepwell_mock_llm::{Hop, MockLlm, Script};

const SCRIPT: &str = r#"{"repeat": true, "hops": [{"steps": [{"text": "Hello"}]}]}"#;
const OFFER: [&str; 4] = ["--offer", "openai-compatible/b/c", "--record", "full"];

#[tokio::test]
async fn a_turn_is_answered_by_the_model_that_it_asks_for() {
    let model = MockLlm::start(Script::from_json(SCRIPT).unwrap());
    let model = model.await.expect("a model");
    let server = Server::before(&model, &OFFER);
    let capabilities = server.json("/capabilities").await;
    let offered = json!(["openai-compatible/m", "openai-compatible/b/c"]);
    assert_eq!(capabilities["custom"]["models"], offered);
    for (turn, wanted, asked) in [
        ("usual", None, "m"),
        ("chosen", Some("openai-compatible/b/c"), "b/c"),
        ("named", Some("openai-compatible/m"), "m"),
    ] {
        let body = json!({ "turnId": turn, "message": "Hello", "model": wanted });
        let begun = server.call("POST", "/threads/t/turns", Some(body)).await;
        assert_eq!(begun.status(), 201, "{turn}");
        events(server.follow("t", turn, None).await).await;
        let path = format!("/threads/t/turns/{turn}/journal");
        let journal = server.get(&path).await.text().await.expect("text");
        let request = format!(r#""body":{{"model":"{asked}""#);
        assert!(journal.contains(&request), "{request}: {journal}");
    }
}

#[tokio::test]
async fn another_model_answers_when_one_has_failed() {
    let out_of_order = || Hop::error(503, "Out of order");
    let script = (0..4).fold(Script::new(), |script, _| script.hop(out_of_order()));
    let script = script.hop(Hop::new().text("I can."));
    let model = MockLlm::start(script).await.expect("a model");
    let arguments = ["--fallback", "openai-compatible/spare"];
    let server = Server::before(&model, &arguments);
    let body = json!({ "turnId": "r", "message": "Hello" });
    let begun = server.call("POST", "/threads/t/turns", Some(body)).await;
    assert_eq!(begun.status(), 201);
    let events = events(server.follow("t", "r", None).await).await;
    let changed = events.iter().find(|event| event["name"] == "model_changed");
    let changed = &changed.expect("it is told")["value"];
    assert_eq!(
        *changed,
        json!({ "model": "spare", "previous": "m", "after": "serverError" })
    );
    let said = events.iter().find(|event| event["delta"].is_string());
    assert_eq!(said.expect("an answer")["delta"], "I can.");
    let asked = model.requests();
    let asked: Vec<_> = asked.iter().map(|request| &request.body["model"]).collect();
    assert_eq!(asked, ["m", "m", "m", "m", "spare"]);
}

#[tokio::test]
async fn a_model_that_is_not_offered_is_refused() {
    let server = Server::start(&[]);
    let body = json!({ "message": "Hello", "model": "openai/gpt" });
    let refused = server.call("POST", "/threads/t/turns", Some(body)).await;
    assert_eq!(refusal(refused).await, (422, "invalid_input".to_owned()));
}

#[tokio::test]
async fn after_a_restart_a_turn_keeps_its_model() {
    let asks = Hop::new().tool_call_with_id("sum", "calculator", json!({"expression": "40 + 2"}));
    let script = Script::new().hop(asks).hop(Hop::new().text("Done."));
    let model = MockLlm::start(script).await.expect("a model");
    let file = File::new("chosen-model");
    let store = file.store();
    let arguments = ["--store", &store, "--ask-before", "calculator"];
    let arguments = [&OFFER[..], &arguments].concat();
    let server = Server::before(&model, &arguments);
    let body = json!({ "turnId": "r", "message": "?", "model": "openai-compatible/b/c" });
    let begun = server.call("POST", "/threads/t/turns", Some(body)).await;
    assert_eq!(begun.status(), 201);
    let mut listener = Run::new(server.follow("t", "r", None).await);
    while listener.until("CUSTOM").await["name"] != "interrupt" {}
    drop(server);
    let server = Server::before(&model, &arguments);
    let answer = json!({ "resume": [
        { "interruptId": "interrupt-sum", "status": "resolved", "payload": { "approved": true } },
    ] });
    // The new host may not have continued the turn yet.
    while server
        .act("t", "r", "resume", answer.clone())
        .await
        .status()
        != 204
    {
        tokio::task::yield_now().await;
    }
    events(server.follow("t", "r", None).await).await;
    let journal = server.get("/threads/t/turns/r/journal").await;
    let journal = journal.text().await.expect("text");
    assert!(journal.contains(r#""revived""#), "{journal}");
    assert!(journal.contains(r#""body":{"model":"b/c""#), "{journal}");
}
