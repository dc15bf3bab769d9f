//! The host is killed and started again.

use crate::file::File;
use crate::model::HeldModel;
use crate::server::Server;
use crate::stream::{Run, events, kinds, text};
use serde_json::{Value, json};
use stepwell_core::Timestamp;
use stepwell_core::run::{Attached, Block, BlockContent, TurnStatus};
use stepwell_io::ThreadKey;
use stepwell_io::store::{EventStore, NewTurn, PersistBatch, SqliteStore, TurnKey, TurnStore};
use stepwell_io::turn::Outcome;
use stepwell_mock_llm::{Hop, MockLlm, Script};

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
    // The first request was from the host that died.
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

#[tokio::test]
async fn the_reason_of_an_incomplete_answer_is_kept() {
    for reason in ["length", "content_filter"] {
        let file = File::new(reason);
        let store = file.store();
        let hop = Hop::new().text("Well").stop_reason(reason);
        let model = MockLlm::start(Script::new().hop(hop)).await;
        let model = model.expect("the mock starts");
        let server = Server::before(&model, &["--store", &store]);
        server.begin("t", "r", "?").await;
        let told = events(server.follow("t", "r", None).await).await;
        let [.., notice, end] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!(notice["name"], "answer_incomplete");
        assert_eq!(notice["value"]["code"], reason);
        assert_eq!(end["type"], "RUN_FINISHED");
        assert_eq!(end["metadata"]["stopReason"], reason);
        drop(server);
        let server = Server::before(&model, &["--store", &store]);
        let view = server.get("/threads/t").await.text().await.expect("text");
        let view: Value = serde_json::from_str(&view).expect("JSON");
        let turn = &view["session"]["turns"][0];
        let expected = json!({ "outcome": "incomplete", "reason": reason });
        assert_eq!(turn["outcome"], expected);
        assert_eq!(turn["limit"], notice["value"]);
    }
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
        let server = Server::before(&model, &["--store", &store, "--keep-alive", "1"]);
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

/// A host may die between the end of a turn and the telling of it.
#[tokio::test]
async fn an_end_that_was_not_logged_is_reported_as_an_event() {
    let file = File::new("untold");
    let (key, owner) = (TurnKey::new(ThreadKey::from("t"), "r"), "other");
    let store = SqliteStore::open(file.path()).await.expect("a store");
    let new = NewTurn::new(key.clone(), owner, Timestamp(1));
    let generation = store.begin_turn(&new).await.expect("it begins");
    let started = json!({ "type": "RUN_STARTED", "threadId": "t", "runId": "r" }).to_string();
    let logged = store.append_events(&key, generation, 0, &[started]).await;
    logged.expect("it is logged");
    let content = BlockContent::Text {
        message_id: "m".into(),
        text: "All of it.".to_owned(),
        attached: Attached::default(),
    };
    let batch = PersistBatch {
        first: 0,
        blocks: vec![Block {
            sequence: 0,
            hop: 0,
            content,
        }],
        status: TurnStatus::Complete,
        outcome: Some(Outcome::Success),
        checkpoint: String::new(),
        at: Timestamp(2),
        first_event: 0,
        events: Vec::new(),
    };
    let closed = store.persist(&key, generation, &batch).await;
    closed.expect("it is closed");
    store.close().await;

    let server = Server::start(&["--store", &file.store(), "--keep-alive", "1"]);
    let told = events(server.follow("t", "r", None).await).await;
    assert_eq!(
        kinds(&told),
        ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    );
    assert_eq!(text_of(&told[1]), "All of it.", "what is stored is told");
    assert_eq!(server.acknowledge("t", "r", 2).await, 204);
    assert_eq!(server.acknowledge("t", "r", 3).await, 422);
    assert_eq!(events(server.follow("t", "r", None).await).await, told);
    // A client that has all events resumes an empty stream.
    let again = server.follow("t", "r", Some(2)).await;
    assert_eq!(again.status(), 200);
    assert_eq!(again.text().await.expect("text"), "");
    let beyond = server.follow("t", "r", Some(3)).await;
    assert_eq!(beyond.status(), 422);
}

/// The text of a snapshot's last message.
fn text_of(snapshot: &Value) -> &str {
    let messages = snapshot["messages"].as_array().expect("messages");
    let last = messages.last().expect("a message");
    last["content"].as_str().expect("text")
}
