//! Clients that go away, and clients that are slow.

use crate::server::{Server, asks};
use crate::stream::{Run, events, text};
use stepwell_mock_llm::{Delivery, Hop, MockLlm, RecordedRequest, Script};

async fn model(hops: impl IntoIterator<Item = Hop>) -> MockLlm {
    let script = hops.into_iter().fold(Script::new(), Script::hop);
    MockLlm::start(script).await.expect("the mock starts")
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_run() {
    let model = model([
        Hop::new().text("I begin ").stall(),
        Hop::new().text("Hello."),
    ])
    .await;
    let server = Server::before(&model, &["--max-runs", "1"]);
    let mut run = Run::new(server.run(&asks("first", "?")).await);
    run.until("TEXT_MESSAGE_CONTENT").await;
    drop(run);
    model
        .wait_until(|requests| requests[0].delivery == Delivery::ClientLeft)
        .await;
}

#[tokio::test]
async fn a_client_that_leaves_before_the_first_word_cancels_too() {
    let model = model([Hop::silent()]).await;
    let server = Server::before(&model, &["--resume-timeout", "0"]);
    let mut run = Run::new(server.run(&asks("first", "?")).await);
    run.until("RUN_STARTED").await;
    model.wait_until(|requests| requests.len() == 1).await;
    drop(run);
    model
        .wait_until(|requests| requests[0].delivery == Delivery::ClientLeft)
        .await;
}

/// More than all buffers on the way hold together.
const LONG: usize = 32 << 20;

#[tokio::test]
async fn a_slow_reader_holds_up_no_run_and_loses_nothing() {
    let long = || Hop::new().text("x".repeat(LONG)).pieces(16 << 10);
    let model = model([long(), long()]).await;
    let server = Server::before(&model, &["--max-answer-bytes", "67108864"]);
    let mut slow = Run::new(server.run(&asks("slow", "?")).await);
    slow.until("TEXT_MESSAGE_CONTENT").await;
    // In the meantime another run emits as much, to a client that reads.
    let fast = text(&events(server.run(&asks("fast", "?")).await).await);
    assert_eq!(fast.len(), LONG);
    let is_whole = |requests: &[RecordedRequest]| {
        let mut requests = requests.iter();
        requests.all(|request| request.delivery == Delivery::Complete)
    };
    model.wait_until(is_whole).await;
    let rest = text(&slow.rest().await);
    assert!(
        rest.len() > LONG - (1 << 20),
        "nothing is lost: {}",
        rest.len()
    );
    assert!(rest.bytes().all(|byte| byte == b'x'));
}
