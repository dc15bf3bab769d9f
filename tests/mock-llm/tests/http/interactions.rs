//! Interactions of Gemini that are made in the background.

use reqwest::{Method, Response};
use serde_json::{Value, json};
use stepwell_mock_llm::{Dialect, Hop, MockLlm};

use crate::client::{client, json_of, post, received, serve};

const TEXT: &str = "It is warm and dry.";

fn url(server: &MockLlm, path: &str) -> String {
    format!(
        "{}/interactions{path}",
        server.url(Dialect::GeminiInteractions)
    )
}

async fn ask(server: &MockLlm) -> Response {
    let body = json!({"model": "m", "input": "How is it?", "stream": true, "background": true, "store": true});
    post(&url(server, ""), body.to_string()).await
}

async fn about(server: &MockLlm, method: Method, path: &str) -> Response {
    let response = client().request(method, url(server, path)).send().await;
    response.expect("a response comes")
}

/// The events of a body, and whether it ended as HTTP requires.
async fn events(response: Response) -> (Vec<Value>, bool) {
    assert_eq!(response.status(), 200);
    let (bytes, is_complete) = received(response).await;
    let text = String::from_utf8(bytes).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter_map(|data| serde_json::from_str(data).ok());
    (events.collect(), is_complete)
}

fn id(event: &Value) -> String {
    let id = event["event_id"].as_str().expect("an id");
    id.replace('/', "%2F").replace('=', "%3D")
}

#[tokio::test]
async fn each_body_is_cut_after_so_many_events_and_continues_after_any() {
    for every in 1..=5 {
        let hop = Hop::new()
            .reasoning("Hm.")
            .text(TEXT)
            .tool_call("get", json!({"a": 1}));
        let server = serve(hop.drop_every(every)).await;
        let (mut all, mut is_complete) = events(ask(&server).await).await;
        assert_eq!(all[0]["interaction"]["status"], "in_progress");
        while !is_complete {
            let last = id(all.last().expect("an event"));
            let path = format!("/v1_0_0?stream=true&last_event_id={last}");
            let (more, ends) = events(about(&server, Method::GET, &path).await).await;
            is_complete = ends;
            all.extend(more);
        }
        let deltas = all
            .iter()
            .filter_map(|event| event["delta"]["text"].as_str());
        assert_eq!(deltas.collect::<String>(), TEXT);
        let last = all.last().expect("an event");
        assert_eq!(last["event_type"], "interaction.completed");
        assert_eq!(last["interaction"]["status"], "requires_action");
        let ids: std::collections::BTreeSet<_> = all.iter().map(id).collect();
        assert_eq!(ids.len(), all.len(), "each event comes once");
        assert!(server.failures().is_empty(), "{:?}", server.failures());
    }
}

#[tokio::test]
async fn a_stored_interaction_has_the_steps_of_its_request() {
    let server = serve(Hop::new().text(TEXT).reads(1)).await;
    events(ask(&server).await).await;
    let read = async || json_of(about(&server, Method::GET, "/v1_0_0").await).await;
    assert_eq!(read().await["status"], "in_progress");
    let whole = read().await;
    assert_eq!(whole["status"], "completed");
    let kinds: Vec<_> = whole["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| &step["type"])
        .collect();
    assert_eq!(kinds, ["user_input", "model_output"]);
    assert_eq!(whole["steps"][1]["content"][0]["text"], TEXT);
}

#[tokio::test]
async fn what_the_provider_refuses_is_refused() {
    let server = serve(Hop::new().text(TEXT).streams(1)).await;
    events(ask(&server).await).await;
    for (method, path, status) in [
        (Method::GET, "/v1_9_9", 404),
        (Method::GET, "/v1_0_0?stream=true&last_event_id=other", 400),
        (Method::GET, "/v1_0_0?stream=true", 400),
        (Method::POST, "/v1_0_0/cancel", 400),
        (Method::POST, "/v1_0_0", 405),
    ] {
        let response = about(&server, method, path).await;
        assert_eq!(response.status(), status, "{path}");
        let error = json_of(response).await;
        assert!(error["error"]["message"].is_string(), "{path}: {error}");
    }
}

#[tokio::test]
async fn a_cancelled_interaction_ends() {
    let server = serve(Hop::new().text("It is").stall()).await;
    let response = ask(&server).await;
    for _ in 0..2 {
        let cancelled = about(&server, Method::POST, "/v1_0_0/cancel").await;
        assert_eq!(json_of(cancelled).await["status"], "cancelled");
    }
    let (all, is_complete) = events(response).await;
    assert!(is_complete);
    assert_eq!(
        all.last().expect("an event")["interaction"]["status"],
        "cancelled"
    );
}
