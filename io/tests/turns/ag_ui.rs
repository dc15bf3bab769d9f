use crate::support::{agent_at, endpoint};
use crate::{lookup, messages, secret_number, start, watch};
use futures::StreamExt;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use stepwell_core::event::Event;
use stepwell_core::journal::Journal;
use stepwell_core::middleware::{Middleware, filter_tool_calls, map};
use stepwell_io::{Agent, AgentBuilder, Outcome, ResumeEntry, RunEvent};
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
async fn what_the_agent_asks_is_answered_and_the_turn_goes_on() {
    let server = start(
        Script::new()
            .hop(question())
            .hop(Hop::new().text("Thank you.")),
    )
    .await;
    let agent = agent(&server).build().expect("the agent is set up");
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
    assert_eq!(finished.conversation.text(), "Thank you.");
    assert_eq!(
        server.requests()[1].body["resume"][0]["interruptId"],
        "ask-1"
    );
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn what_the_agent_asks_while_nobody_takes_the_events_has_no_answer_and_the_turn_goes_on() {
    let server = start(
        Script::new()
            .hop(question())
            .hop(Hop::new().text("Then not.")),
    )
    .await;
    let agent = agent(&server).build().expect("the agent is set up");
    let finished = agent.send("Delete it all").await.expect("it goes on");
    assert_eq!(finished.text(), "Then not.");
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
    let agent = agent(&server).build().expect("the agent is set up");
    let finished = agent.send("Delete it all").finish().await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_that_nobody_asked_for_is_refused() {
    let server = start(Script::new().hop(Hop::new().text("Well").stall())).await;
    let agent = agent(&server).build().expect("the agent is set up");
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
    let agent = agent(&server)
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

#[tokio::test]
async fn a_middleware_filters_the_stream_and_its_journal_replays_without_it() {
    let server = start(
        Script::new()
            .hop(
                Hop::new()
                    .text("The secret is ")
                    .tool_call("delete_everything", json!({}))
                    .tool_call("get_secret_number", json!({"name": "alice"})),
            )
            .hop(Hop::new().text("known to me.")),
    )
    .await;
    let lines = Arc::new(Mutex::new(String::new()));
    let written = Arc::clone(&lines);
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let agent = agent(&server)
        .tool(secret_number(), lookup)
        .journal(move |_: &stepwell_io::RunId, more: &str| {
            written.lock().expect("nobody panicked").push_str(more);
        })
        .middleware(move || {
            count.fetch_add(1, Ordering::Relaxed);
            let hide = |event| {
                let Event::TextMessageContent(mut content) = event else {
                    return Some(event);
                };
                content.delta = content.delta.replace("secret", "******");
                Some(content.into())
            };
            Middleware::new()
                .then(filter_tool_calls(|name| name != "delete_everything"))
                .then(map(hide))
        })
        .build()
        .expect("the agent is set up");
    let (events, finished) = watch(agent.send("Go on")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.conversation.text(), "The ****** is known to me.");
    assert_eq!(made.load(Ordering::Relaxed), 2, "for each hop its own");
    let asked: Vec<_> = finished.conversation.tool_calls().collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(messages(&server.requests()[1], "tool").len(), 1);
    let warned = |event: &RunEvent| matches!(event, RunEvent::Warning { .. });
    assert!(!events.iter().any(warned), "{events:?}");
    let lines = lines.lock().expect("nobody panicked");
    assert!(!lines.contains("delete_everything"), "{lines}");
    let journal = Journal::parse(&lines).expect("a journal");
    let replayed = journal.replay().expect("the same without the functions");
    assert_eq!(replayed.outcome, Some(Outcome::Success));
}

#[test]
fn a_middleware_before_streams_that_are_no_events_is_refused() {
    let endpoint = endpoint("openai-compatible", "m", "http://localhost/v1", None);
    let built = Agent::builder(endpoint).middleware(Middleware::new).build();
    let error = built.expect_err("it is not AG-UI").to_string();
    assert!(error.contains("openai-chat"), "{error}");
}
