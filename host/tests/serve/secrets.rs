//! What is not for everybody: files, the log, an upstream's words, and a server that anybody can reach.

use crate::file::File;
use crate::server::{Server, asks, refusal};
use crate::stream::{Run, events};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use stepwell_mock_llm::{Hop, MockLlm, Script};

#[tokio::test]
async fn the_files_of_a_store_are_their_owners_alone() {
    let file = File::new("turns.db");
    let server = Server::start(&["--store", &file.store()]);
    server.begin("t", "r", "hello").await;
    events(server.follow("t", "r", None).await).await;
    let folder = file.path();
    let folder = folder.parent().expect("a folder");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.file_name());
        names.push(entry.file_name().into_string().expect("a name"));
    }
    names.sort();
    assert_eq!(names, ["turns.db", "turns.db-shm", "turns.db-wal"]);
}

#[tokio::test]
async fn a_damaged_store_is_reported() {
    let file = File::new("turns.db");
    let server = Server::start(&["--store", &file.store()]);
    // More threads than one page of the file holds: SQLite answers from the pages that it has read before.
    for number in 0..40 {
        let thread = format!("t{number}-{}", "long".repeat(50));
        server.begin(&thread, "r", "hello").await;
        events(server.follow(&thread, "r", None).await).await;
    }
    assert_eq!(server.get("/ready").await.status(), 200);
    for (name, head) in [("turns.db", 100), ("turns.db-wal", 32)] {
        let path = file.path().with_file_name(name);
        let mut bytes = fs::read(&path).expect("it can be read");
        let kept = head.min(bytes.len());
        bytes[kept..].fill(0xff);
        fs::write(&path, bytes).expect("it can be written");
    }
    let response = server.get("/threads").await;
    assert!(response.headers().get("retry-after").is_none());
    let damaged = (503, "store_damaged".to_owned());
    assert_eq!(refusal(response).await, damaged);
    assert_eq!(refusal(server.get("/ready").await).await, damaged);
    assert_eq!(server.get("/health").await.status(), 200);
}

#[tokio::test]
async fn a_store_without_its_file_is_reported_as_damaged() {
    let file = File::new("turns.db");
    let server = Server::start_logged(&["--store", &file.store()], "warn", Stdio::piped());
    server.begin("t", "r", "hello").await;
    events(server.follow("t", "r", None).await).await;
    assert_eq!(server.get("/ready").await.status(), 200);
    for name in ["turns.db", "turns.db-wal", "turns.db-shm"] {
        fs::remove_file(file.path().with_file_name(name)).expect("it is there");
    }
    let body = json!({ "turnId": "r", "message": "hello" });
    let response = server
        .call("POST", "/threads/other/turns", Some(body))
        .await;
    let damaged = (503, "store_damaged".to_owned());
    assert_eq!(refusal(response).await, damaged);
    assert_eq!(refusal(server.get("/ready").await).await, damaged);
    let log = server.log().await;
    assert!(log.contains("turns.db was deleted or moved"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn upstream_error_texts_are_only_in_the_log() {
    let words = "bad: http://10.0.0.7/v1 with sk-of-somebody";
    let hop = Hop::error(400, words);
    let model = MockLlm::start(Script::new().hop(hop))
        .await
        .expect("it starts");
    let server = Server::before_with(&model, &[], Stdio::piped());
    let told = events(server.run(&asks("r", "a private question")).await).await;
    let end = told.last().expect("an end");
    assert_eq!(end["code"], "model_refused");
    assert!(
        !Value::from(told.clone()).to_string().contains("10.0.0.7"),
        "{told:?}"
    );
    let log = server.log().await;
    assert!(log.contains("WARN") && log.contains(words), "{log}");
    assert!(!log.contains("a private question"), "{log}");
}

#[tokio::test]
async fn a_limit_that_was_reached_is_no_error() {
    let server = Server::start(&["--max-tool-rounds", "1"]);
    let mut run = Run::new(server.run(&asks("r", "list")).await);
    let told = run.rest().await;
    let [.., notice, end] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(notice["type"], "CUSTOM");
    assert_eq!(notice["name"], "limit_reached");
    assert_eq!(notice["value"]["code"], "max_tool_rounds");
    assert_eq!(end["type"], "RUN_FINISHED");
    assert_eq!(end["metadata"]["stopReason"], "max_tool_rounds");
    assert_eq!(end["outcome"]["type"], "success");
}
