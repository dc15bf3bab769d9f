//! Tools of MCP servers behind the server.
#![cfg(unix)]

use crate::server::{Server, asks};
use crate::stream::{all, events, text};
use serde_json::{Value, json};
use std::path::Path;
use stepwell_mock_llm::{Hop, MockLlm, Script};

pub(crate) const TOOL: &str = "mcp-server__greet";

async fn model() -> MockLlm {
    let script = Script::new()
        .hop(Hop::new().tool_call(TOOL, json!({})))
        .hop(Hop::new().text("I have greeted them."));
    MockLlm::start(script).await.expect("the mock starts")
}

pub(crate) fn command() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/mcp-server.sh");
    format!("GREETING='Good day' sh '{}'", path.display())
}

#[tokio::test]
async fn a_tool_of_an_mcp_server_is_the_servers_own() {
    let model = model().await;
    let server = Server::before(&model, &["--mcp", &command()]);
    let events = events(server.run(&asks("r", "Greet them.")).await).await;
    let results = all(&events, "TOOL_CALL_RESULT");
    assert_eq!(results.len(), 1);
    assert!(
        results[0]["content"]
            .to_string()
            .contains("Good day, whoever you are")
    );
    assert_eq!(text(&events), "I have greeted them.");
    let told: Value = server
        .get("/capabilities")
        .await
        .json()
        .await
        .expect("JSON");
    let tools = told["tools"]["items"].as_array().expect("tools");
    assert!(tools.iter().any(|tool| tool["name"] == TOOL));
}

#[tokio::test]
async fn a_tool_of_an_mcp_server_may_need_the_users_approval() {
    let model = model().await;
    let server = Server::before(&model, &["--mcp", &command(), "--ask-before", TOOL]);
    let rested = events(server.run(&asks("r", "Greet them.")).await).await;
    let outcome = &rested.last().expect("an event")["outcome"];
    assert_eq!(outcome["type"], "interrupt");
    assert!(all(&rested, "TOOL_CALL_RESULT").is_empty());
    let mut answer = asks("r", "Greet them.");
    answer["runId"] = json!("answered");
    answer["resume"] = json!([{
        "interruptId": outcome["interrupts"][0]["id"], "status": "resolved", "payload": {"approved": true},
    }]);
    let answered = events(server.run(&answer).await).await;
    assert_eq!(all(&answered, "TOOL_CALL_RESULT").len(), 1);
    assert_eq!(text(&answered), "I have greeted them.");
}
