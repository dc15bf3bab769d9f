//! The journals of turns, for a user who inspects a run.

use crate::program::before;
use crate::server::{Server, refusal};
use crate::stream::events;
use serde_json::Value;
use stepwell_core::journal::{Journal, JournalEnd, JournalError};
use stepwell_mock_llm::{MockLlm, Script};

async fn text(server: &Server, path: &str) -> String {
    let response = server.get(path).await;
    assert_eq!(response.status(), 200, "{path}");
    assert_eq!(
        response.headers()["content-type"],
        "application/jsonl; charset=utf-8"
    );
    response.text().await.expect("text")
}

/// The journal, once the turn has closed it.
async fn closed(server: &Server, path: &str) -> String {
    loop {
        let text = text(server, path).await;
        if text
            .lines()
            .last()
            .is_some_and(|line| line.contains("\"end\""))
        {
            return text;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_journal_has_requests_events_and_blocks() {
    let server = Server::start(&[]);
    server.begin("t", "r", "numbers").await;
    events(server.follow("t", "r", None).await).await;
    let journal = closed(&server, "/threads/t/turns/r/journal").await;
    for part in [
        "\"open_stream\"",
        "\"ag_ui\"",
        "\"persist\"",
        "\"sequence\"",
    ] {
        assert!(journal.contains(part), "{part}: {journal}");
    }
    let read = Journal::parse(&journal).expect("a journal");
    assert!(matches!(read.ending, JournalEnd::Closed(_)));
    let replayed = read.replay().expect("it replays");
    assert_eq!(replayed.effects[0].to_string(), "open:0:0");
    let hidden = text(&server, "/threads/t/turns/r/journal?redacted=true").await;
    assert!(journal.contains("Alice's number is 42"));
    assert!(!hidden.contains("Alice's number is 42"), "{hidden}");
    assert_eq!(Journal::parse(&hidden), Err(JournalError::Redacted));
}

#[tokio::test]
async fn a_journal_has_no_key() {
    let model =
        MockLlm::start(Script::from_json(r#"{"hops":[{"steps":[{"text":"Hi"}]}]}"#).unwrap());
    let model = model.await.expect("a model");
    let url = model.base_url();
    let provider = before("openai-compatible", &url);
    let server = Server::start_with(
        &[&provider[..], &["--record", "full"]].concat(),
        Some(("OPENAI_COMPATIBLE_API_KEY", "sk-of-the-server")),
    );
    server.begin("t", "r", "Hello").await;
    events(server.follow("t", "r", None).await).await;
    let journal = closed(&server, "/threads/t/turns/r/journal").await;
    assert!(journal.contains("authorization"), "{journal}");
    assert!(!journal.contains("sk-of-the-server"), "{journal}");
}

#[tokio::test]
async fn a_server_may_hide_the_texts_of_all_journals() {
    let server = Server::start(&["--record", "redacted"]);
    server.begin("t", "r", "numbers").await;
    events(server.follow("t", "r", None).await).await;
    let journal = closed(&server, "/threads/t/turns/r/journal?redacted=false").await;
    assert!(!journal.contains("Alice's number is 42"), "{journal}");
}

#[tokio::test]
async fn without_a_journal_the_server_gives_the_reason() {
    let server = Server::start(&["--record", "off"]);
    server.begin("t", "r", "hello").await;
    let refused = refusal(server.get("/threads/t/turns/r/journal").await).await;
    assert_eq!(refused, (404, "no_journal".to_owned()));
    let refused = refusal(server.get("/threads/t/turns/other/journal").await).await;
    assert_eq!(refused, (404, "no_turn".to_owned()));
    let capabilities = server.json("/capabilities").await;
    assert_eq!(capabilities["custom"]["record"], Value::from("off"));
}

#[tokio::test]
async fn a_deleted_thread_has_no_journals() {
    let server = Server::start(&[]);
    server.begin("t", "r", "hello").await;
    events(server.follow("t", "r", None).await).await;
    closed(&server, "/threads/t/turns/r/journal").await;
    let deleted = server.call("DELETE", "/threads/t", None).await;
    assert_eq!(deleted.status(), 204);
    server.begin("t", "other", "hello").await;
    let refused = refusal(server.get("/threads/t/turns/r/journal").await).await;
    assert_eq!(refused, (404, "no_turn".to_owned()));
}
