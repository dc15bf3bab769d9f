use super::{lookup, messages, secret_number, serve, watch};
use serde_json::{Value, json};
use std::time::Duration;
use stepwell_io::{Agent, AgentBuilder, Outcome, provider};
use stepwell_mock_llm::{Hop, MockLlm, Script};

fn agent(server: &MockLlm) -> AgentBuilder {
    let endpoint = provider::find("anthropic")
        .expect("the table has it")
        .endpoint(
            None,
            "claude-sonnet-4-5",
            Some(&server.base_url()),
            Some("test-key".into()),
        )
        .expect("a complete endpoint");
    Agent::builder(endpoint)
        .thread_id("thread-1")
        .configure(|config| {
            config.settings.extra = serde_json::Map::from_iter([(
                "thinking".to_owned(),
                json!({"type": "enabled", "budget_tokens": 1024}),
            )]);
            config.settings.cache_prompt = true;
            config.retry.first_delay = Duration::from_millis(1);
            config.retry.max_delay = Duration::from_millis(2);
        })
}

/// The kinds of blocks of a message.
fn kinds(message: &Value) -> Vec<&str> {
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    blocks
        .iter()
        .filter_map(|block| block["type"].as_str())
        .collect()
}

/// The mock takes thinking back only with its own signature, unchanged, and at the beginning of the round.
#[tokio::test]
async fn two_rounds_of_tools_and_a_second_turn() {
    let ask = |name: &str| {
        Hop::new()
            .reasoning(format!("Who is {name}?"))
            .text("Let me look. ")
            .tool_call("get_secret_number", json!({"name": name}))
            .tool_call("get_secret_number", json!({"name": "nobody"}))
            .interleave()
    };
    let script = Script::new()
        .hop(Hop::error(529, "Overloaded"))
        .hop(ask("alice"))
        .hop(ask("bob").chunks_of(3))
        .hop(Hop::new().reasoning("42 and 7").text("Done."))
        .hop(Hop::new().text("You are welcome."));
    let server = serve(script).await;
    let agent = agent(&server)
        .tool(secret_number(), lookup)
        .build()
        .expect("the agent is set up");

    let (_, finished) = watch(agent.send("What are the secret numbers?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.hops, 3);
    let (_, finished) = watch(agent.send("Thank you")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert!(finished.conversation.text().ends_with("You are welcome."));
    assert!(server.failures().is_empty(), "{:?}", server.failures());

    let requests = server.requests();
    let last = requests.last().expect("five requests");
    assert_eq!(last.header("x-api-key"), Some("test-key"));
    assert_eq!(last.header("anthropic-version"), Some("2023-06-01"));
    let round = ["thinking", "text", "tool_use", "tool_use"];
    let answers: Vec<_> = messages(last, "assistant").into_iter().map(kinds).collect();
    assert_eq!(answers, [&round[..], &round[..], &["thinking", "text"]]);
    let users = messages(last, "user");
    let asked: Vec<_> = users.iter().map(|message| kinds(message)).collect();
    assert_eq!(
        asked,
        [
            &["text"][..],
            &["tool_result", "tool_result"],
            &["tool_result", "tool_result"],
            &["text"]
        ]
    );
    let results = users[1]["content"].as_array().expect("a list");
    assert_eq!(results[0]["content"][0]["text"], "42");
    assert_eq!(results[0]["is_error"], Value::Null);
    assert_eq!(results[1]["is_error"], true);
}
