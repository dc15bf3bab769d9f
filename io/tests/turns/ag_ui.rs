use crate::support::IntoChat as _;
use crate::support::{agent_at, endpoint};
use crate::{lookup, messages, secret_number, start, watch};
use futures::StreamExt;
use serde_json::json;
use stepwell_io::AgentBuilder;
use stepwell_io::message::ResumeEntry;
use stepwell_io::turn::{Outcome, RunEvent};
use stepwell_mock_llm::{Hop, MockLlm, Script};

fn agent(server: &MockLlm) -> AgentBuilder {
    agent_at(endpoint("ag-ui", "", &server.ag_ui_url(), None))
}

/// A run that ends with a question.
fn question() -> Hop {
    let ids = |kind: &str| json!({"type": kind, "threadId": "thread-1", "runId": "run-1"});
    let mut finished = ids("RUN_FINISHED");
    finished["outcome"] =
        json!({"type": "interrupt", "interrupts": [{"id": "ask-1", "reason": "confirmation"}]});
    Hop::new()
        .bare()
        .raw_frame(ids("RUN_STARTED"))
        .raw_frame(finished)
}

fn answer(id: &str) -> Vec<ResumeEntry> {
    serde_json::from_value(json!([{"interruptId": id, "status": "resolved", "payload": true}]))
        .expect("it is an answer")
}

#[tokio::test]
async fn an_answered_agent_question_continues_the_turn() {
    let server = start(
        Script::new()
            .hop(question())
            .hop(Hop::new().text("Thank you.")),
    )
    .await;
    let agent = agent(&server).chat();
    let mut turn = agent.send("Delete it all");
    let asked = loop {
        let event = turn.next().await.expect("the turn goes on");
        if let RunEvent::Interrupted { interrupts } = event {
            break interrupts;
        }
    };
    assert_eq!(asked[0].id, "ask-1");
    assert!(
        turn.resume(answer("ask-2")).await.is_err(),
        "nobody asked that"
    );
    turn.resume(answer("ask-1"))
        .await
        .expect("it is what was asked");
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "Thank you.");
    assert_eq!(
        server.requests()[1].body["resume"][0]["interruptId"],
        "ask-1"
    );
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn an_agents_question_without_a_reader_gets_no_answer() {
    let server = start(
        Script::new()
            .hop(question())
            .hop(Hop::new().text("Then not.")),
    )
    .await;
    let agent = agent(&server).chat();
    let result = agent.run("Delete it all").await.expect("it goes on");
    assert_eq!(result.output, "Then not.");
    let answer = &server.requests()[1].body["resume"][0];
    assert_eq!(
        (&answer["interruptId"], &answer["status"]),
        (&json!("ask-1"), &json!("cancelled"))
    );
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn an_agent_that_asks_again_and_again_is_not_heard() {
    let server = start(Script::new().hop(question()).hop(question())).await;
    let agent = agent(&server).chat();
    let finished = agent.send("Delete it all").finish().await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_without_a_question_is_refused() {
    let server = start(Script::new().hop(Hop::new().text("Well").stall())).await;
    let agent = agent(&server).chat();
    let turn = agent.send("Hello");
    server.wait_until(|requests| requests.len() == 1).await;
    assert!(turn.resume(answer("ask-1")).await.is_err());
    turn.cancel();
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn the_same_turn_with_an_ag_ui_agent() {
    let server = start(Script::secret_numbers()).await;
    let agent = agent(&server).tool(secret_number(), lookup).chat();
    let (_, finished) = watch(agent.send("What are the secret numbers?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert!(
        finished
            .transcript
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
