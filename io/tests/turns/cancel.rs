use super::{agent, lookup, messages, secret_number, start, watch};
use crate::support::IntoChat as _;
use futures::StreamExt;
use serde_json::json;
use std::sync::{Arc, Mutex};
use stepwell_io::WhenBusy;
use stepwell_io::turn::{Event, Outcome, RunEvent};
use stepwell_mock_llm::{Delivery, Hop, Script};
use tokio::sync::{Notify, oneshot};

#[tokio::test]
async fn cancel_while_the_answer_comes_closes_the_connection() {
    let server = start(Script::new().hop(Hop::new().text("So far").stall())).await;
    let agent = agent(&server).chat();
    let mut turn = agent.send("Hello");
    let mut text = String::new();
    while text != "So far" {
        if let RunEvent::AgUi(Event::TextMessageContent(content)) =
            turn.next().await.expect("the turn goes on")
        {
            text.push_str(&content.delta);
        }
    }
    turn.cancel();
    let (events, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert_eq!(finished.transcript.text(), "So far");
    assert_eq!(
        events.last(),
        Some(&RunEvent::Completed(Outcome::Cancelled))
    );
    server
        .wait_until(|requests| requests[0].delivery == Delivery::ClientLeft)
        .await;
}

#[tokio::test]
async fn cancel_before_the_answer_begins() {
    let server = start(Script::new().hop(Hop::silent())).await;
    let agent = agent(&server).chat();
    let turn = agent.send("Hello");
    server.wait_until(|requests| requests.len() == 1).await;
    turn.cancel();
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn cancel_during_a_tool_drops_it_and_leaves_a_legal_history() {
    let server = start(
        Script::new()
            .hop(Hop::new().tool_call("get_secret_number", json!({"name": "alice"})))
            .hop(Hop::new().text("As you like.")),
    )
    .await;
    let begun = Arc::new(Notify::new());
    let (dropped, was_dropped) = oneshot::channel::<()>();
    let guard = Arc::new(Mutex::new(Some(dropped)));
    let (tool_begun, tool_guard) = (Arc::clone(&begun), Arc::clone(&guard));
    let agent = agent(&server)
        .tool(secret_number(), move |_| {
            let begun = Arc::clone(&tool_begun);
            let guard = tool_guard.lock().expect("no panic holds it").take();
            async move {
                let _held_until_dropped = guard;
                begun.notify_one();
                std::future::pending::<Result<String, String>>().await
            }
        })
        .chat();
    let turn = agent.send("Hello");
    begun.notified().await;
    turn.cancel();
    let (_, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert!(was_dropped.await.is_err(), "the tool's future is gone");

    let (_, finished) = watch(agent.send("Never mind")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let requests = server.requests();
    let shown = messages(&requests[1], "tool")[0]["content"]
        .as_str()
        .unwrap_or_default();
    assert!(shown.contains("cancelled"), "{shown}");
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn dropping_the_turn_cancels_it() {
    let server = start(Script::new().hop(Hop::new().text("So far").stall())).await;
    let agent = agent(&server).chat();
    let turn = agent.send("Hello");
    server.wait_until(|requests| requests.len() == 1).await;
    drop(turn);
    server
        .wait_until(|requests| requests[0].delivery == Delivery::ClientLeft)
        .await;
}

#[tokio::test]
async fn a_detached_turn_continues_to_its_end() {
    let server = start(Script::secret_numbers()).await;
    let agent = agent(&server).tool(secret_number(), lookup).chat();
    agent.send("What are the secret numbers?").detach();
    server
        .wait_until(|requests| requests.len() == 2 && requests[1].delivery == Delivery::Complete)
        .await;
}

#[tokio::test]
async fn a_new_message_replaces_the_turn() {
    let server = start(
        Script::new()
            .hop(Hop::new().text("Let me think about that").stall())
            .hop(Hop::new().text("Sure.")),
    )
    .await;
    let agent = agent(&server).chat();
    let first = agent.send("A hard question");
    server.wait_until(|requests| requests.len() == 1).await;
    // The first turn is held, and its events are not taken: the second waits for neither.
    let second = agent.clone().when_busy(WhenBusy::Cancel).send("Forget it");
    let (_, second) = watch(second).await;
    assert_eq!(second.outcome, Outcome::Success);
    assert_eq!(second.transcript.text(), "Sure.");
    let (_, first) = watch(first).await;
    assert_eq!(first.outcome, Outcome::Cancelled);
    assert_eq!(messages(&server.requests()[1], "user").len(), 2);
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}
