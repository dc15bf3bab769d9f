//! Several runs at once, on one thread and on many.

use crate::model::HeldModel;
use crate::server::{Server, asks};
use crate::stream::{events, text};
use futures::future::join_all;
use serde_json::json;

#[tokio::test]
async fn a_new_run_takes_the_thread_over() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &[]);
    let first = server.run(&asks("first", "?")).await;
    model.asked().await;
    let mut input = asks("first", "?");
    input["runId"] = json!("second");
    let second = server.run(&input).await;
    let cancelled = events(first).await;
    let end = cancelled.last().expect("an event");
    assert_eq!(end["outcome"], json!({"type": "cancelled"}), "{end}");
    // The model may still hold the request of the first, which is closed.
    model.answer();
    model.answer();
    assert_eq!(text(&events(second).await), "At last.");
}

#[tokio::test]
async fn runs_of_many_threads_do_not_touch_each_other() {
    let server = Server::start(&[]);
    let run = async |number: usize| {
        let run = format!("run-{number}");
        let events = events(server.run(&asks(&run, "numbers")).await).await;
        let end = events.last().expect("an event");
        assert_eq!(end["runId"], run);
        text(&events)
    };
    for said in join_all((0..40).map(run)).await {
        assert_eq!(
            said,
            "Let me look those numbers up.Alice's number is 42, Bob's is 7"
        );
    }
}
