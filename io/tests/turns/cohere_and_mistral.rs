//! Whole turns with the two providers whose chats are their own.

use crate::support::IntoChat as _;
use crate::support::{agent_at, endpoint};
use crate::{lookup, secret_number, start, watch};
use serde_json::{Value, json};
use stepwell_io::turn::Outcome;
use stepwell_mock_llm::{Hop, MockLlm, Script};

fn script() -> Script {
    Script::new()
        .hop(
            Hop::new()
                .reasoning("Two people, two numbers.")
                .text("Let me look. ")
                .tool_call("get_secret_number", json!({"name": "alice"}))
                .tool_call("get_secret_number", json!({"name": "bob"}))
                .pieces(3),
        )
        .hop(Hop::new().text("42 and 7").usage(120, 14))
        .hop(Hop::new().text("You are welcome"))
}

/// Two turns, and the body of the last request.
async fn converse(name: &str, server: &MockLlm, address: &str) -> Value {
    let agent = agent_at(endpoint(name, "model-1", address, Some("key")))
        .tool(secret_number(), lookup)
        .chat();

    let (_, finished) = watch(agent.send("What are the secret numbers?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.hops, 2);
    assert_eq!(finished.transcript.text(), "Let me look. 42 and 7");
    assert_eq!(finished.transcript.reasoning(), "Two people, two numbers.");
    let last = finished.transcript.summary().usage[0].input_tokens;
    assert_eq!(last, Some(120));

    let (_, finished) = watch(agent.send("Thank you")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "You are welcome");
    assert!(server.failures().is_empty(), "{:?}", server.failures());
    let requests = server.requests();
    assert_eq!(requests[0].header("authorization"), Some("Bearer key"));
    requests.last().expect("three requests").body.clone()
}

/// The result that answers each call, in order.
fn results(body: &Value) -> Vec<(Value, Value)> {
    let messages = body["messages"].as_array().expect("messages");
    let of = |role: &'static str| {
        messages
            .iter()
            .filter(move |message| message["role"] == role)
    };
    let ids =
        of("assistant").flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    ids.map(|call| call["id"].clone())
        .zip(of("tool"))
        .map(|(id, result)| {
            assert_eq!(result["tool_call_id"], id);
            (id, result["content"].clone())
        })
        .collect()
}

#[tokio::test]
async fn cohere_runs_its_tools_and_continues() {
    let server = start(script()).await;
    let body = converse(
        "cohere",
        &server,
        &server.url(stepwell_mock_llm::Dialect::Cohere),
    )
    .await;
    assert_eq!(
        results(&body),
        [
            (json!("call_0_0"), json!("42")),
            (json!("call_0_1"), json!("7"))
        ]
    );
    let thinking = &server.requests()[1].body["messages"][1]["content"][0];
    assert_eq!(
        thinking,
        &json!({"type": "thinking", "thinking": "Two people, two numbers."})
    );
    assert_eq!(
        body["messages"][1]["content"],
        json!([{"type": "text", "text": "Let me look. "}]),
        "an earlier turn's thoughts stay behind"
    );
}

#[tokio::test]
async fn mistral_runs_its_tools_and_continues() {
    let server = start(script()).await;
    let body = converse(
        "mistral",
        &server,
        &server.url(stepwell_mock_llm::Dialect::Mistral),
    )
    .await;
    assert_eq!(
        results(&body),
        [
            (json!("c00000000"), json!("42")),
            (json!("c00000001"), json!("7"))
        ]
    );
    assert_eq!(
        body["messages"][1]["content"][0]["thinking"][0]["text"],
        "Two people, two numbers."
    );
    assert_eq!(body["messages"][2]["name"], "get_secret_number");
}
