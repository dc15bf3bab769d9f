//! The server is asked to stop.
#![cfg(unix)]

use crate::file::File;
use crate::model::HeldModel;
use crate::server::{Server, asks, refusal};
use crate::stream::{Run, events, text};
use serde_json::json;
use std::fs;
use std::process::Command;

fn signal(server: &Server, name: &str) {
    let id = server.id().to_string();
    let status = Command::new("kill").args([name, &id]).status();
    assert!(status.expect("kill is there").success());
}

#[tokio::test]
async fn a_second_interrupt_ends_the_process_at_once() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &["--grace", "600"]);
    let _run = server.run(&asks("first", "?")).await;
    model.asked().await;
    signal(&server, "-INT");
    while server.get("/ready").await.status() == 200 {}
    signal(&server, "-INT");
    assert_eq!(server.ended().await.code(), Some(130));
}

#[tokio::test]
async fn followers_are_notified_that_the_server_stops() {
    let file = File::new("stopping");
    let server = Server::start(&["--grace", "0", "--store", &file.store()]);
    server.begin("t", "r", "change").await;
    let mut follower = Run::new(server.follow("t", "r", None).await);
    while follower.until("CUSTOM").await["name"] != "interrupt" {}
    server.terminate();
    let notice = follower.until_notice("server_stopping").await;
    assert_eq!(notice["value"]["code"], "stopping");
    assert_eq!(follower.next().await, None, "the stream is over");
    assert!(server.ended().await.success());
}

#[tokio::test]
async fn runs_under_way_may_end_and_no_more_are_taken() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &["--grace", "600"]);
    let mut run = Run::new(server.run(&asks("first", "?")).await);
    model.asked().await;
    server.terminate();
    while server.get("/ready").await.status() == 200 {}
    assert_eq!(server.get("/health").await.status(), 200);
    let refused = refusal(server.run(&asks("second", "?")).await).await;
    assert_eq!(refused, (503, "stopping".to_owned()));
    model.answer();
    assert_eq!(text(&run.rest().await), "At last.");
    assert!(server.ended().await.success());
}

#[tokio::test]
async fn runs_that_do_not_end_are_cancelled() {
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &["--grace", "0"]);
    let mut run = Run::new(server.run(&asks("first", "?")).await);
    model.asked().await;
    server.terminate();
    let events = run.rest().await;
    let end = events.last().expect("an event");
    assert_eq!(end["outcome"], json!({"type": "cancelled"}), "{end}");
    assert!(server.ended().await.success());
}

#[tokio::test]
async fn a_server_with_nothing_to_do_stops_at_once() {
    let server = Server::start(&["--grace", "600"]);
    server.terminate();
    assert!(server.ended().await.success());
}

#[tokio::test]
async fn a_file_is_complete_after_a_stop() {
    let file = File::new("closed");
    let server = Server::start(&["--store", &file.store()]);
    server.begin("t", "r", "hello").await;
    events(server.follow("t", "r", None).await).await;
    server.terminate();
    assert!(server.ended().await.success());
    let length = |path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    assert_eq!(length(file.path().with_file_name("turns.db-wal")), 0);
    let copied = File::new("copied");
    fs::copy(file.path(), copied.path()).expect("it is copied");
    let server = Server::start(&["--store", &copied.store()]);
    let threads = server.json("/threads").await;
    assert_eq!(threads["threads"][0]["threadId"], "t");
}
