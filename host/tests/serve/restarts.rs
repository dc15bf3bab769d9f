//! The host is killed and started again.

use crate::model::HeldModel;
use crate::server::Server;
use crate::stream::{Run, events, kinds, text};
use serde_json::Value;
use std::path::PathBuf;
use stepwell_mock_llm::{Hop, MockLlm, Script};

/// A file for a store, gone when the test is over.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let name = format!("stepwell-serve-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn store(&self) -> String {
        format!("sqlite:{}", self.0.join("turns.db").display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_turn_whose_host_was_killed_is_finished_by_the_next_start() {
    let file = File::new("killed");
    let store = file.store();
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &["--store", &store]);
    server.begin("t", "r", "?").await;
    let mut listener = Run::new(server.follow("t", "r", None).await);
    listener.until("RUN_STARTED").await;
    model.asked().await;
    drop(server);
    // The one that was asked first has nobody to answer.
    model.answer();
    let server = Server::before_url(&model.url, &["--store", &store]);
    model.asked().await;
    model.answer();
    let told = events(server.follow("t", "r", None).await).await;
    assert_eq!(text(&told), "At last.");
    assert_eq!(kinds(&told).last(), Some(&"RUN_FINISHED"));
    let view = server.get("/threads/t").await.text().await.expect("text");
    let view: Value = serde_json::from_str(&view).expect("JSON");
    assert_eq!(view["session"]["turns"][0]["status"], "complete");
}

#[cfg(unix)]
#[tokio::test]
async fn a_turn_that_does_not_end_in_time_is_left_to_the_next_start() {
    let file = File::new("stopped");
    let store = file.store();
    let model = HeldModel::start().await;
    let server = Server::before_url(&model.url, &["--store", &store, "--grace", "0"]);
    server.begin("t", "r", "?").await;
    model.asked().await;
    let id = server.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-TERM", &id])
        .status();
    assert!(killed.expect("kill is there").success());
    assert!(server.ended().await.success());
    model.answer();
    let server = Server::before_url(&model.url, &["--store", &store]);
    model.asked().await;
    model.answer();
    let told = events(server.follow("t", "r", None).await).await;
    assert_eq!(text(&told), "At last.");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_event_a_turn_ends_and_its_log_has_no_gap() {
    let call = || {
        Hop::new()
            .text("I look.")
            .tool_call("clock", serde_json::json!({}))
    };
    let script = Script::new()
        .hop(call())
        .hop(Hop::new().text("It is late."))
        .repeat();
    let model = MockLlm::start(script).await.expect("the mock starts");
    for kill_at in [0, 1, 2, 4, 6, 8, 11] {
        let file = File::new(&format!("at-{kill_at}"));
        let store = file.store();
        let server = Server::before(&model, &["--store", &store]);
        server.begin("t", "r", "What time is it?").await;
        let mut seen = Vec::new();
        let mut listener = Run::new(server.follow("t", "r", None).await);
        while seen.len() <= kill_at
            && let Some(event) = listener.next().await
        {
            seen.push(event);
        }
        drop(server);
        let server = Server::before(&model, &["--store", &store]);
        let whole = events(server.follow("t", "r", None).await).await;
        assert_eq!(
            whole[..seen.len()],
            seen,
            "what was seen stands, killed at {kill_at}"
        );
        let end = whole.last().expect("an end");
        assert!(["RUN_FINISHED", "RUN_ERROR"].contains(&end["type"].as_str().unwrap()));
        let ends = kinds(&whole)
            .into_iter()
            .filter(|kind| kind.starts_with("RUN_FINISHED") || *kind == "RUN_ERROR");
        assert_eq!(ends.count(), 1, "killed at {kill_at}: {whole:#?}");
        let view = server.get("/threads/t").await.text().await.expect("text");
        let view: Value = serde_json::from_str(&view).expect("JSON");
        assert_ne!(view["session"]["turns"][0]["status"], "streaming");
    }
}
