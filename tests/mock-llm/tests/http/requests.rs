//! What is kept of the requests.

use serde_json::{Value, json};
use stepwell_mock_llm::{Delivery, Dialect, Hop, Script};

use crate::client::{chat, client, json_of, post, question, run, run_input, start};

#[tokio::test]
async fn requests_are_kept_in_order_with_all_they_carry() {
    let server = start(
        Script::new()
            .hop(Hop::new())
            .hop(Hop::new())
            .hop(Hop::new()),
    )
    .await;
    let url = format!("{}/chat/completions?key=a%20b", server.base_url());
    let request = client()
        .post(url)
        .header("Authorization", "Bearer test-key");
    request
        .body(question().to_string())
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    run(&server, &run_input()).await.text().await.unwrap();
    post(
        &format!("{}/chat/completions", server.base_url()),
        &b"\xff{"[..],
    )
    .await;
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    let first = &requests[0];
    assert_eq!(
        (first.method.as_str(), first.path.as_str()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(first.query, "key=a%20b");
    assert_eq!(first.header("AUTHORIZATION"), Some("Bearer test-key"));
    assert_eq!(first.header("x-none"), None);
    assert_eq!(first.body, question());
    assert_eq!(first.bytes, question().to_string());
    assert_eq!(first.dialect, Some(Dialect::OpenAiChat));
    assert_eq!(first.delivery, Delivery::Complete);
    assert_eq!(requests[1].dialect.map(Dialect::name), Some("ag-ui"));
    assert_eq!(
        (&requests[2].body, requests[2].bytes.as_ref()),
        (&Value::Null, &b"\xff{"[..])
    );
}

#[tokio::test]
async fn a_request_for_another_server_takes_no_hop() {
    let server = start(Script::new().hop(Hop::new().text("Hello"))).await;
    let plain = format!("http://{}", server.address());
    for other in [plain.clone(), plain + "/mock-0"] {
        let url = other + "/v1/chat/completions";
        let answer = post(&url, question().to_string()).await;
        assert_eq!(answer.status(), 404);
        let said = json_of(answer).await;
        let said = said["error"]["message"].as_str().unwrap();
        assert!(said.contains("no address of this mock provider"), "{said}");
    }
    assert!(server.requests().is_empty() && server.failures().is_empty());
    assert_eq!(chat(&server, &question()).await.status(), 200);
}

#[tokio::test]
async fn requests_and_failures_can_be_fetched() {
    let server = start(Script::new()).await;
    chat(&server, &question()).await;
    post(&(server.root() + "/nowhere"), "text").await;
    let get = async |path: &str| {
        let url = server.root() + path;
        json_of(client().get(url).send().await.unwrap()).await
    };
    let requests = get("/__requests").await;
    assert_eq!(
        requests.as_array().unwrap().len(),
        2,
        "the look itself is not kept"
    );
    assert_eq!(requests[0]["method"], "POST");
    assert_eq!(requests[0]["path"], "/v1/chat/completions");
    assert_eq!(requests[0]["headers"]["content-type"], "application/json");
    assert_eq!(requests[0]["body"], question());
    assert_eq!(requests[0]["dialect"], "openai-chat");
    assert_eq!(requests[0]["delivery"], "complete");
    assert_eq!(
        (&requests[1]["body"], &requests[1]["dialect"]),
        (&json!("text"), &Value::Null)
    );
    let failures = get("/__failures").await;
    assert_eq!(failures, json!(server.failures()));
    assert!(
        failures[0]
            .as_str()
            .unwrap()
            .starts_with("request 0: POST /v1/chat/completions: The script")
    );
    assert!(
        failures[1]
            .as_str()
            .unwrap()
            .starts_with("request 1: POST /nowhere: Unknown request URL")
    );
}
