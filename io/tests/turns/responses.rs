use super::{lookup, secret_number, start, watch};
use crate::support::IntoChat as _;
use serde_json::{Value, json};
use std::time::Duration;
use stepwell_io::turn::Outcome;
use stepwell_io::{Agent, AgentBuilder, provider};
use stepwell_mock_llm::{Hop, MockLlm, Script};

/// An agent on the mock's Responses endpoint.
fn agent(server: &MockLlm) -> AgentBuilder {
    let endpoint = provider::find("openai-compatible")
        .expect("the table has it")
        .endpoint(
            Some("responses"),
            "mock-model",
            Some(&server.base_url()),
            Some("test-key".into()),
        )
        .expect("a base URL is all it needs");
    Agent::builder(endpoint).configure(|config| config.retry.first_delay = Duration::from_millis(1))
}

#[tokio::test]
async fn reasoning_and_calls_go_back_with_their_results() {
    let script = Script::new()
        .hop(
            Hop::new()
                .reasoning("Two people, two numbers.")
                .text("Let me look. ")
                .tool_call("get_secret_number", json!({"name": "alice"}))
                .tool_call("get_secret_number", json!({"name": "bob"}))
                .interleave(),
        )
        .hop(Hop::new().text("Alice's number is 42, Bob's is 7"));
    let server = start(script).await;
    let agent = agent(&server).tool(secret_number(), lookup).chat();
    let (_, finished) = watch(agent.send("What are the secret numbers?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.reasoning(), "Two people, two numbers.");
    assert!(server.failures().is_empty(), "{:?}", server.failures());
    let requests = server.requests();
    let call = |id: &str, name: &str| {
        json!({
            "type": "function_call", "call_id": id, "name": "get_secret_number",
            "arguments": json!({ "name": name }).to_string(),
        })
    };
    let output = |id: &str, output: &str| json!({"type": "function_call_output", "call_id": id, "output": output});
    assert_eq!(
        requests[1].body["input"],
        json!([
            {"type": "message", "role": "user", "content": "What are the secret numbers?"},
            {
                "id": "rs_0_0", "type": "reasoning", "encrypted_content": "gAAAA-rs_0_0",
                "summary": [{"type": "summary_text", "text": "Two people, two numbers."}],
            },
            {"type": "message", "role": "assistant", "content": "Let me look. "},
            call("call_0_0", "alice"),
            call("call_0_1", "bob"),
            output("call_0_0", "42"),
            output("call_0_1", "7"),
        ])
    );
    assert_eq!(requests[1].body["store"], Value::Bool(false));
}

#[tokio::test]
async fn a_failed_answer_has_the_providers_error_text() {
    let server = start(Script::new().hop(Hop::new().text("He").error_event("Oh no"))).await;
    let agent = agent(&server).chat();
    let (_, finished) = watch(agent.send("Hello")).await;
    assert!(
        matches!(&finished.outcome, Outcome::Failed { .. }),
        "{:?}",
        finished.outcome
    );
    assert!(format!("{:?}", finished.outcome).contains("Oh no"));
}
