//! Messages that are sent while a turn of their conversation is under way.

use crate::{agent, answer, texts};
use futures::FutureExt;
use std::io;
use std::sync::{Arc, Mutex};
use stepwell_io::tool::Tool;
use stepwell_io::{Conversation, ErrorKind, HttpClient, Run, WhenBusy};
use stepwell_testing::reply::{call, text};
use tokio::sync::Semaphore;

/// The user's texts of each request.
type Requests = Arc<Mutex<Vec<Vec<String>>>>;

/// A conversation whose first answer calls a tool that returns once `may_end` has a permit.
struct Held {
    conversation: Conversation,
    requests: Requests,
    has_begun: Arc<Semaphore>,
    may_end: Arc<Semaphore>,
}

fn held() -> Held {
    let requests = Requests::default();
    let seen = Arc::clone(&requests);
    let client = HttpClient::from_fn(move |request| {
        let said = texts(&request, "user");
        let is_first = texts(&request, "tool").is_empty();
        let last = said.last().cloned().unwrap_or_default();
        seen.lock().expect("no panic holds it").push(said);
        let answer = match is_first {
            true => answer(&[call("a", "work", "{}")]),
            false => answer(&[text(&format!("re: {last}"))]),
        };
        async { io::Result::Ok(answer) }
    });
    let has_begun = Arc::new(Semaphore::new(0));
    let may_end = Arc::new(Semaphore::new(0));
    let (begun, end) = (Arc::clone(&has_begun), Arc::clone(&may_end));
    let agent = agent(client)
        .tool(Tool::new("work", "Works."), move |_| {
            let (begun, end) = (Arc::clone(&begun), Arc::clone(&end));
            async move {
                begun.add_permits(1);
                end.acquire().await.expect("nobody closes it").forget();
                "done"
            }
        })
        .build()
        .expect("the agent is set up");
    Held {
        conversation: agent.conversation("c"),
        requests,
        has_begun,
        may_end,
    }
}

impl Held {
    /// Begins the first turn, and waits until its tool runs.
    async fn begin(&self) -> tokio::task::JoinHandle<String> {
        let run = self.conversation.send("one");
        let turn = tokio::spawn(async { run.await.expect("it is answered").output });
        let begun = self.has_begun.acquire().await;
        begun.expect("nobody closes it").forget();
        turn
    }

    fn send(&self, text: &str, when_busy: WhenBusy) -> Run {
        self.conversation.send(text).when_busy(when_busy)
    }

    fn requests(&self) -> Vec<Vec<String>> {
        self.requests.lock().expect("no panic holds it").clone()
    }
}

#[tokio::test]
async fn queued_messages_are_answered_in_their_order() {
    let held = held();
    let first = held.begin().await;
    let mut queued = Vec::new();
    for text in ["two", "three"] {
        let mut run = held.send(text, WhenBusy::Queue);
        // It has its place in the line.
        assert!((&mut run).now_or_never().is_none());
        tokio::task::yield_now().await;
        queued.push(tokio::spawn(run));
    }
    let refused = held.send("four", WhenBusy::Fail).await;
    assert_eq!(refused.expect_err("it is busy").kind(), ErrorKind::Busy);
    held.may_end.add_permits(1);
    assert_eq!(first.await.expect("no panic"), "re: one");
    for (queued, text) in queued.into_iter().zip(["two", "three"]) {
        let result = queued.await.expect("no panic").expect("it is answered");
        assert_eq!(result.output, format!("re: {text}"));
    }
    let last = held.requests().pop();
    assert_eq!(last.expect("three turns"), ["one", "two", "three"]);
}

#[tokio::test]
async fn a_queued_message_that_is_dropped_is_never_sent() {
    let held = held();
    let first = held.begin().await;
    let mut run = held.send("two", WhenBusy::Queue);
    assert!((&mut run).now_or_never().is_none());
    drop(run);
    held.may_end.add_permits(1);
    first.await.expect("no panic");
    let third = held.send("three", WhenBusy::Queue).await;
    assert_eq!(third.expect("it is answered").output, "re: three");
    let last = held.requests().pop();
    assert_eq!(last.expect("two turns"), ["one", "three"]);
}

#[tokio::test]
async fn a_steering_message_joins_the_turn_and_has_its_result() {
    let held = held();
    let first = held.begin().await;
    let mut run = held.send("two", WhenBusy::Steer);
    assert!((&mut run).now_or_never().is_none());
    // The message is with the turn before its tool ends.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    held.may_end.add_permits(1);
    assert_eq!(first.await.expect("no panic"), "re: two");
    let result = run.await.expect("it is answered");
    assert_eq!(result.output, "re: two");
    assert_eq!(held.requests(), [vec!["one"], vec!["one", "two"]]);
}

#[tokio::test]
async fn a_steering_message_begins_a_turn_where_none_is_under_way() {
    let held = held();
    held.may_end.add_permits(1);
    let result = held.send("one", WhenBusy::Steer).await;
    assert_eq!(result.expect("it is answered").output, "re: one");
}
