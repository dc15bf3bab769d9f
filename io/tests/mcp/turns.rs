//! Whole turns of an agent.

use crate::agents::{IntoChat as _, endpoint, serve};
use crate::server::PIXEL;
use crate::support::{options, progress, start, start_with, text, wait_for};
use futures::StreamExt;
use serde_json::{Value, json};
use stepwell_io::mcp::McpServers;
use stepwell_io::tool::ToolCallStatus;
use stepwell_io::turn::{Outcome, RunEvent};
use stepwell_io::{Agent, AgentBuilder};
use stepwell_mock_llm::{Hop, MockLlm};

pub(crate) fn agent(model: &MockLlm, servers: &McpServers) -> AgentBuilder {
    let url = model.url(stepwell_mock_llm::Dialect::Anthropic);
    let endpoint = endpoint("anthropic", "m", &url, Some("key"));
    Agent::builder(endpoint).tool_source(servers.clone())
}

/// Returns the results that the model receives for its calls.
pub(crate) fn results(request: &Value) -> Vec<Value> {
    let messages = request["messages"].as_array().expect("messages");
    let last = messages.last().expect("a message");
    last["content"].as_array().expect("blocks").clone()
}

pub(crate) async fn a_turn_calls_a_tool_and_continues_with_its_result() {
    let servers = start("plain").await;
    let model = serve([
        Hop::new()
            .tool_call("test__echo", json!({ "text": "hello" }))
            .tool_call("test__media", json!({}))
            .tool_call("test__fail", json!({}))
            .tool_call("test__echo", json!({ "text": "" })),
        Hop::new().text("All done."),
        Hop::new().tool_call("test__grow", json!({})),
        Hop::new().text("I have grown."),
        Hop::new().text("I know."),
    ])
    .await;
    let agent = agent(&model, &servers).chat();
    let finished = agent.send("Go on").finish().await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert!(finished.transcript.text().ends_with("All done."));

    let requests = model.requests();
    let tools = requests[0].body["tools"].as_array().expect("tools");
    let echo = tools.iter().find(|tool| tool["name"] == "test__echo");
    let schema = &echo.expect("the tool is offered")["input_schema"];
    assert_eq!(schema["properties"]["text"]["minLength"], 1);
    let results = results(&requests[1].body);
    assert_eq!(results.len(), 4);
    assert_eq!(results[0]["content"][0]["text"], "hello");
    let media = results[1]["content"].as_array().expect("blocks");
    assert_eq!(media[0]["text"], "a pixel:");
    assert_eq!(media[1]["source"]["data"], PIXEL);
    assert_eq!(results[2]["is_error"], true);
    assert!(
        results[2].to_string().contains("the disk is full"),
        "{}",
        results[2]
    );
    // The schema was checked here: the server was not asked.
    assert_eq!(results[3]["is_error"], true);
    assert!(
        results[3].to_string().contains("shorter than 1"),
        "{}",
        results[3]
    );

    let mut events = servers.events();
    agent.send("Grow").finish().await;
    wait_for(&mut events, |event| {
        matches!(event, stepwell_io::mcp::McpEvent::ToolsChanged { .. }).then_some(())
    })
    .await;
    agent.send("What now?").finish().await;
    let offered = |index: usize| {
        let requests = model.requests();
        requests[index].body["tools"]
            .to_string()
            .contains("test__grown")
    };
    assert!(!offered(3), "a turn keeps the tools that it began with");
    assert!(offered(4));
    assert!(model.failures().is_empty(), "{:?}", model.failures());
    servers.close().await;
}

pub(crate) async fn a_turn_that_is_cancelled_cancels_its_call() {
    let servers = start("plain").await;
    let mut events = servers.events();
    let model = serve([Hop::new().tool_call("test__slow", json!({}))]).await;
    let agent = agent(&model, &servers).chat();
    let turn = agent.send("Go on");
    wait_for(&mut events, progress).await;
    turn.cancel();
    assert_eq!(turn.finish().await.outcome, Outcome::Cancelled);
    assert_eq!(text(&servers, "test__cancelled", json!({})).await, "1");
    servers.close().await;
}

pub(crate) async fn a_call_out_of_time_is_cancelled() {
    let mut options = options();
    options.call_timeout = Some(std::time::Duration::from_secs(3600));
    let servers = start_with("plain", options).await;
    let mut events = servers.events();
    let model = serve([
        Hop::new().tool_call("test__slow", json!({})),
        Hop::new().text("Too slow."),
    ])
    .await;
    let agent = agent(&model, &servers).chat();
    let mut turn = agent.send("Go on");
    wait_for(&mut events, progress).await;
    // From here on the clock moves on only when nothing else does.
    tokio::time::pause();
    while let Some(event) = turn.next().await {
        if let RunEvent::ToolCallUpdate(update) = event
            && update.status == ToolCallStatus::Failed
        {
            tokio::time::resume();
        }
    }
    let finished = turn.finish().await;
    assert_eq!(finished.outcome, Outcome::Success);
    let requests = model.requests();
    let results = results(&requests[1].body);
    assert_eq!(results[0]["is_error"], true, "{results:?}");
    assert_eq!(text(&servers, "test__cancelled", json!({})).await, "1");
    servers.close().await;
}
