//! Whole turns through the driver, over real HTTP, against a provider that streams, cuts, stalls and lies.

#[path = "../../../core/tests/support/schema.rs"]
mod schema;

mod ag_ui;
mod cancel;
mod cohere_and_mistral;
mod context;
mod dialects;
mod failures;
mod guide;
mod hooks;
mod journal;
mod options;
mod responses;
mod tool_context;
mod tools;
mod typed;
mod typed_run;
mod typed_tools;

use futures::StreamExt;
use serde_json::{Value, json};
use std::time::Duration;
use stepwell_io::{Agent, AgentBuilder, Finished, RunEvent, Tool, Turn, provider};
use stepwell_mock_llm::{MockLlm, RecordedRequest, Script};

async fn serve(script: Script) -> MockLlm {
    MockLlm::start(script)
        .await
        .expect("the mock starts on loopback")
}

/// An agent on the mock's chat endpoint. Pauses between tries are cut to a millisecond.
fn agent(server: &MockLlm) -> AgentBuilder {
    let endpoint = provider::find("openai-compatible")
        .expect("the table has it")
        .endpoint(
            None,
            "mock-model",
            Some(&server.base_url()),
            Some("test-key".into()),
        )
        .expect("a base URL is all it needs");
    Agent::builder(endpoint)
        .thread_id("thread-1")
        .configure(|config| {
            config.retry.first_delay = Duration::from_millis(1);
            config.retry.max_delay = Duration::from_millis(2);
        })
}

fn secret_number() -> Tool {
    Tool::new("get_secret_number", "The secret number of a person.").parameters(json!({
        "type": "object",
        "properties": { "name": { "type": "string" } },
        "required": ["name"],
    }))
}

async fn lookup(call: stepwell_io::ToolContext) -> Result<String, String> {
    match call.arguments.value["name"].as_str() {
        Some("alice") => Ok("42".to_owned()),
        Some("bob") => Ok("7".to_owned()),
        other => Err(format!("nobody is called {other:?}")),
    }
}

/// The events of a turn, and how it ended.
async fn watch(mut turn: Turn) -> (Vec<RunEvent>, Finished) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        if let RunEvent::AgUi(event) = &event {
            schema::assert_schema(event);
        }
        events.push(event);
    }
    (events, turn.finish().await)
}

/// The messages of a request with this role.
fn messages<'a>(request: &'a RecordedRequest, role: &str) -> Vec<&'a Value> {
    let all = request.body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    all.iter()
        .filter(|message| message["role"] == role)
        .collect()
}
