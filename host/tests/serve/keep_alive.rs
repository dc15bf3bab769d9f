//! Streams in which nothing happens for a while, and runs that take too long.

use crate::model::HeldModel;
use crate::server::{Server, asks};
use crate::stream::{Run, events, text};

#[tokio::test]
async fn a_silent_stream_has_comments_in_it() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &["--keep-alive", "1"]);
    let mut run = Run::new(server.run(&asks("r", "?")).await);
    while run.comments == 0 {
        run.next().await.expect("the run goes on");
    }
    model.answer();
    assert_eq!(text(&run.rest().await), "At last.");
}

#[tokio::test]
async fn a_run_that_takes_too_long_ends_with_an_error() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &["--run-timeout", "1"]);
    let events = Run::new(server.run(&asks("r", "?")).await).rest().await;
    let end = events.last().expect("an event");
    assert_eq!(
        (&end["type"], &end["code"]),
        (&"RUN_ERROR".into(), &"run_timeout".into())
    );
}

#[tokio::test]
async fn a_silence_may_be_longer_than_time_can_count() {
    let server = Server::start(&["--keep-alive", &u64::MAX.to_string()]);
    let events = events(server.run(&asks("r", "hello")).await).await;
    assert_eq!(events.last().expect("an event")["type"], "RUN_FINISHED");
}
