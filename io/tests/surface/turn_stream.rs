//! A turn as a stream of its updates.

use crate::{agent, says};
use futures::StreamExt;
use stepwell_io::{Agent, Error, ErrorKind, HttpClient, Update};
use stepwell_testing::reply::{Part, text};

fn built(client: HttpClient) -> Agent {
    agent(client).build().expect("it is set up")
}

/// A model that breaks off with an error.
fn breaks_off() -> HttpClient {
    says(&[
        text("So far"),
        Part::Error("the model is overloaded".to_owned()),
    ])
}

/// Returns the text of the updates, and the errors.
fn split(updates: &[Result<Update, Error>]) -> (String, Vec<&Error>) {
    let (mut text, mut errors) = (String::new(), Vec::new());
    for update in updates {
        match update {
            Ok(Update::Text { delta, .. }) => text.push_str(delta),
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
    }
    (text, errors)
}

#[tokio::test]
async fn a_turn_yields_its_updates_and_then_its_result() {
    let agent = built(says(&[text("Hello there.")]));
    let mut turn = agent.stream("Hello");
    let mut updates = Vec::new();
    while let Some(update) = turn.next().await {
        updates.push(update);
    }
    assert!(
        matches!(updates[0], Ok(Update::Started { .. })),
        "{updates:?}"
    );
    let (shown, errors) = split(&updates);
    assert_eq!((shown.as_str(), errors.len()), ("Hello there.", 0));
    assert!(turn.next().await.is_none(), "it stays over");
    let result = turn.result().await.expect("it is answered");
    assert_eq!((result.output.as_str(), result.hops()), ("Hello there.", 1));
}

#[tokio::test]
async fn the_error_of_a_failed_turn_is_its_last_item() {
    let agent = built(breaks_off());
    let mut turn = agent.stream("Hello");
    let updates: Vec<_> = turn.by_ref().collect().await;
    let (shown, errors) = split(&updates);
    assert_eq!(shown, "So far");
    let [error] = errors[..] else {
        panic!("{errors:?}");
    };
    assert!(matches!(updates.last(), Some(Err(_))));
    assert!(turn.next().await.is_none(), "the error comes once");
    let same = turn.result().await.expect_err("it has failed");
    assert_eq!(
        (same.kind(), same.message()),
        (error.kind(), error.message())
    );
    for error in [error, &same] {
        let so_far = error.result().expect("the turn has begun");
        assert_eq!(so_far.full_text(), "So far");
        assert_eq!(so_far.messages().len(), 2);
    }
}

#[tokio::test]
async fn the_result_of_a_turn_needs_no_reader() {
    let agent = built(breaks_off());
    let error = agent.stream("Hello").result().await;
    let error = error.expect_err("it has failed");
    assert_eq!(
        error.result().map(|so_far| so_far.text()),
        Some("So far".to_owned())
    );
}

#[tokio::test]
async fn the_text_stream_has_the_deltas_and_the_error() {
    let whole = built(says(&[text("Hello there.")])).stream("Hello");
    let deltas: Vec<_> = whole.text_stream().collect().await;
    let deltas: Result<String, Error> = deltas.into_iter().collect();
    assert_eq!(deltas.expect("it is answered"), "Hello there.");

    let broken = built(breaks_off()).stream("Hello");
    let mut deltas: Vec<_> = broken.text_stream().collect().await;
    assert!(deltas.pop().is_some_and(|last| last.is_err()));
    let deltas: Result<String, Error> = deltas.into_iter().collect();
    assert_eq!(deltas.expect("the error is the last"), "So far");
}

#[tokio::test]
async fn a_cancelled_turn_has_an_error_with_what_there_is() {
    let agent = built(crate::silent(|| {}));
    let mut turn = agent.stream("Hello");
    assert!(matches!(
        turn.next().await,
        Some(Ok(Update::Started { .. }))
    ));
    turn.cancel();
    let updates: Vec<_> = turn.by_ref().collect().await;
    let (_, errors) = split(&updates);
    assert_eq!(errors[0].kind(), ErrorKind::Cancelled);
    let error = turn.result().await.expect_err("it is cancelled");
    assert_eq!(
        error.result().map(|so_far| so_far.messages().len()),
        Some(1)
    );
}
