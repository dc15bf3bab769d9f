use super::{lookup, messages, secret_number, serve, watch};
use serde_json::json;
use stepwell_io::{Agent, Outcome, provider};
use stepwell_mock_llm::Script;

#[tokio::test]
async fn the_same_turn_with_an_ag_ui_agent() {
    let server = serve(Script::secret_numbers()).await;
    let endpoint = provider::find("ag-ui")
        .expect("the table has it")
        .endpoint(None, "", Some(&server.ag_ui_url()), None)
        .expect("an address is all it needs");
    let agent = Agent::builder(endpoint)
        .thread_id("thread-1")
        .tool(secret_number(), lookup)
        .build()
        .expect("the agent is set up");
    let (_, finished) = watch(agent.send("What are the secret numbers?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert!(
        finished
            .conversation
            .text()
            .ends_with("Alice's number is 42, Bob's is 7")
    );

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body["threadId"], "thread-1");
    assert_ne!(
        requests[0].body["runId"], requests[1].body["runId"],
        "each hop is a run of its own"
    );
    assert_eq!(requests[1].body["parentRunId"], requests[0].body["runId"]);
    let results: Vec<_> = messages(&requests[1], "tool")
        .iter()
        .map(|message| message["content"].clone())
        .collect();
    assert_eq!(results, [json!("42"), json!("7")]);
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}
