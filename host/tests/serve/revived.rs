//! A turn after its host was killed and started again: it handles commands from its first instant, and takes back
//! nothing that was reported.

use crate::file::File;
use crate::program::before;
use crate::server::{Server, refusal};
use crate::stream::{Run, all, events, kinds};
use serde_json::{Value, json};
use stepwell_core::Timestamp;
use stepwell_core::run::TurnStatus;
use stepwell_io::ThreadKey;
use stepwell_io::store::{EventStore, PersistBatch, SqliteStore, TurnStore, Unfinished};
use stepwell_mock_llm::{Dialect, Hop, MockLlm, Script};

/// Starts a model that makes two calls at once, one of which asks the user, and then answers with this text.
async fn asking() -> MockLlm {
    let calls = Hop::new()
        .text("I look.")
        .tool_call_with_id("now", "clock", json!({}))
        .tool_call_with_id("sum", "calculator", json!({"expression": "40 + 2"}));
    start(Script::new().hop(calls).hop(Hop::new().text("Done."))).await
}

async fn start(script: Script) -> MockLlm {
    MockLlm::start(script).await.expect("the mock starts")
}

/// The messages that events come to, each with its text, as a client of the protocol folds them.
fn fold(events: &[Value]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    let at = |messages: &[Value], id: &Value| messages.iter().position(|known| known["id"] == *id);
    for event in events {
        match event["type"].as_str().expect("a type") {
            "TEXT_MESSAGE_START" => {
                messages.push(json!({"id": event["messageId"], "role": "assistant", "content": ""}));
            }
            "TEXT_MESSAGE_CONTENT" => {
                let at = at(&messages, &event["messageId"]).expect("a message");
                let text = messages[at]["content"].as_str().unwrap_or_default();
                messages[at]["content"] = json!(format!("{text}{}", event["delta"].as_str().unwrap()));
            }
            "TOOL_CALL_RESULT" => messages.push(json!({
                "id": event["messageId"], "role": "tool", "toolCallId": event["toolCallId"], "content": event["content"],
            })),
            "MESSAGES_SNAPSHOT" => messages = event["messages"].as_array().expect("messages").clone(),
            _ => {}
        }
    }
    messages
}

fn with<'a>(messages: &'a [Value], field: &str, value: &str) -> Vec<&'a Value> {
    let found = messages.iter().filter(|message| message[field] == value);
    found.collect()
}

/// Begins a turn that has reported one result and asks about the other call, and kills its host.
async fn asked(file: &File, model: &MockLlm) -> (Server, u64) {
    let store = file.store();
    let arguments = ["--store", &store, "--ask-before", "calculator"];
    let server = Server::before(model, &arguments);
    server.begin("t", "r", "?").await;
    let mut listener = Run::new(server.follow("t", "r", None).await);
    let (mut told, mut has_result, mut is_asked) = (0, false, false);
    while !(has_result && is_asked) {
        let event = listener.next().await.expect("it goes on");
        has_result |= event["type"] == "TOOL_CALL_RESULT";
        is_asked |= event["name"] == "interrupt";
        told += 1;
    }
    drop(server);
    (Server::before(model, &arguments), told)
}

fn answer(approved: bool) -> Value {
    let entry = json!({"interruptId": "interrupt-sum", "status": "resolved", "payload": {"approved": approved}});
    json!({ "resume": [entry] })
}

#[tokio::test]
async fn a_question_is_answered_after_a_restart() {
    for (approved, result) in [(true, "42"), (false, "not allow")] {
        let file = File::new(&format!("asks-{approved}"));
        let model = asking().await;
        let (server, _) = asked(&file, &model).await;
        let answered = server.act("t", "r", "resume", answer(approved)).await;
        assert_eq!(answered.status(), 204);
        let again = server.act("t", "r", "resume", answer(approved)).await;
        assert!(!again.status().is_success(), "it was answered");
        let told = events(server.follow("t", "r", None).await).await;
        assert_eq!(kinds(&told).last(), Some(&"RUN_FINISHED"));
        let asked = all(&told, "CUSTOM");
        let asked = asked.iter().filter(|event| event["name"] == "interrupt");
        assert_eq!(asked.count(), 1, "it is asked once");
        for until in 0..=told.len() {
            let before = fold(&told[..until]);
            let now = with(&before, "toolCallId", "now").len();
            let has_told = told[..until]
                .iter()
                .any(|event| event["type"] == "TOOL_CALL_RESULT" && event["toolCallId"] == "now");
            assert_eq!(now, usize::from(has_told), "after {until} events");
        }
        let messages = fold(&told);
        let sum = with(&messages, "toolCallId", "sum")[0];
        let content = sum["content"].as_str().expect("a text");
        assert!(content.contains(result), "{content}");
        assert_eq!(messages.last().unwrap()["content"], "Done.");
    }
}

#[tokio::test]
async fn a_turn_that_asks_is_cancelled_after_a_restart() {
    let (file, model) = (File::new("asks-cancel"), asking().await);
    let (server, _) = asked(&file, &model).await;
    let cancelled = server.act("t", "r", "cancel", json!({})).await;
    assert_eq!(cancelled.status(), 204);
    let told = events(server.follow("t", "r", None).await).await;
    assert_eq!(
        told.last().unwrap()["outcome"],
        json!({"type": "cancelled"})
    );
}

#[tokio::test]
async fn after_a_restart_one_call_can_be_stopped() {
    let (file, model) = (File::new("asks-cancel-call"), asking().await);
    let (server, _) = asked(&file, &model).await;
    let unknown = server.act("t", "r", "calls/none/cancel", json!({})).await;
    assert_eq!(refusal(unknown).await, (404, "no_call".to_owned()));
    let stopped = server.act("t", "r", "calls/sum/cancel", json!({})).await;
    assert_eq!(stopped.status(), 204);
    let told = events(server.follow("t", "r", None).await).await;
    let answered = all(&told, "CUSTOM");
    let answered = answered
        .iter()
        .find(|event| event["name"] == "interrupt_answered");
    assert_eq!(answered.unwrap()["value"]["status"], "cancelled");
    assert_eq!(fold(&told).last().unwrap()["content"], "Done.");
}

#[cfg(unix)]
#[tokio::test]
async fn a_turn_that_asks_holds_up_no_stop_after_a_restart() {
    let (file, model) = (File::new("asks-stop"), asking().await);
    let store = file.store();
    drop(asked(&file, &model).await);
    let arguments = [
        "--store",
        &store,
        "--ask-before",
        "calculator",
        "--grace",
        "0",
    ];
    let server = Server::before(&model, &arguments);
    let id = server.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-TERM", &id])
        .status();
    assert!(killed.expect("kill is there").success());
    assert!(server.ended().await.success());
}

#[tokio::test]
async fn a_question_lapses_after_a_restart() {
    let (file, model) = (File::new("asks-lapse"), asking().await);
    let store = file.store();
    let arguments = [
        "--store",
        &store,
        "--ask-before",
        "calculator",
        "--interrupt-timeout",
        "2",
    ];
    let server = Server::before(&model, &arguments);
    server.begin("t", "r", "?").await;
    let mut listener = Run::new(server.follow("t", "r", None).await);
    while listener.next().await.expect("it goes on")["name"] != "interrupt" {}
    drop(server);
    let server = Server::before(&model, &arguments);
    let told = events(server.follow("t", "r", None).await).await;
    assert_eq!(kinds(&told).last(), Some(&"RUN_FINISHED"));
    assert_eq!(fold(&told).last().unwrap()["content"], "Done.");
}

/// A host that was killed in the middle of an answer.
async fn cut(file: &File, model: &MockLlm) {
    let store = file.store();
    let server = Server::before(model, &["--store", &store]);
    server.begin("t", "r", "?").await;
    let mut listener = Run::new(server.follow("t", "r", None).await);
    listener.until("TEXT_MESSAGE_CONTENT").await;
    assert_eq!(server.acknowledge("t", "r", 2).await, 204);
}

fn half() -> Hop {
    Hop::new().text("Half an ans").stall()
}

#[tokio::test]
async fn a_cut_answer_and_the_next_are_separate_messages() {
    let file = File::new("cut");
    let store = file.store();
    let model = start(
        Script::new()
            .hop(half())
            .hop(Hop::new().text("A whole answer.")),
    )
    .await;
    cut(&file, &model).await;
    let server = Server::before(&model, &["--store", &store]);
    let told = events(server.follow("t", "r", None).await).await;
    let messages = fold(&told);
    let said = with(&messages, "role", "assistant");
    let texts: Vec<_> = said.iter().map(|message| &message["content"]).collect();
    assert_eq!(texts, ["Half an ans", "A whole answer."]);
    assert_eq!(said[0]["metadata"]["cut"], true);
    assert_ne!(said[0]["id"], said[1]["id"]);
    let view = server.get("/threads/t").await.text().await.expect("text");
    let view: Value = serde_json::from_str(&view).expect("JSON");
    let turn = &view["session"]["turns"][0];
    assert_eq!(turn["status"], "complete");
    let shown = view["session"]["messages"].as_array().expect("messages");
    let shown: Vec<_> = shown
        .iter()
        .map(|message| (&message["content"], &message["cut"]))
        .collect();
    let expected = [
        (&json!("?"), &Value::Null),
        (&json!("Half an ans"), &json!(true)),
        (&json!("A whole answer."), &Value::Null),
    ];
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn another_provider_continues_a_cut_answer() {
    let file = File::new("cut-elsewhere");
    let store = file.store();
    let model = start(Script::new().hop(half())).await;
    cut(&file, &model).await;
    let model = start(Script::new().hop(Hop::new().text("A whole answer."))).await;
    let url = model.url(Dialect::Anthropic);
    let provider = before("anthropic", &url);
    let arguments = [&provider[..], &["--store", &store]].concat();
    let server = Server::start_with(&arguments, Some(("ANTHROPIC_API_KEY", "test-key")));
    let told = events(server.follow("t", "r", None).await).await;
    assert_eq!(kinds(&told).last(), Some(&"RUN_FINISHED"));
    assert_eq!(fold(&told).last().unwrap()["content"], "A whole answer.");
    assert!(model.failures().is_empty(), "{:?}", model.failures());
}

async fn written_by_a_later_version(file: &File) {
    let store = SqliteStore::open(file.path()).await.expect("a store");
    let thread = ThreadKey::from("t");
    let record = store.thread(&thread).await.unwrap().expect("a thread");
    let Unfinished {
        key,
        generation,
        owner,
        ..
    } = record.unfinished.expect("it is unfinished");
    let claimed = store.claim(&key, generation, &owner).await.unwrap();
    let batch = PersistBatch {
        first: store
            .turn(&key)
            .await
            .unwrap()
            .expect("a turn")
            .blocks
            .len() as u64,
        blocks: Vec::new(),
        status: TurnStatus::Streaming,
        outcome: None,
        checkpoint: r#"{"v": 99}"#.to_owned(),
        at: Timestamp(1),
        first_event: 0,
        events: Vec::new(),
    };
    store
        .persist(&key, claimed.generation, &batch)
        .await
        .unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_turn_that_cannot_be_read_any_more_ends() {
    let file = File::new("unreadable");
    let store = file.store();
    let model = start(Script::new().hop(half())).await;
    cut(&file, &model).await;
    written_by_a_later_version(&file).await;
    let server = Server::before(&model, &["--store", &store]);
    let told = events(server.follow("t", "r", None).await).await;
    let end = told.last().expect("an end");
    assert_eq!(
        (&end["type"], &end["code"]),
        (&json!("RUN_ERROR"), &json!("turn_failed"))
    );
    let messages = fold(&told);
    let said = with(&messages, "role", "assistant");
    assert_eq!(
        (said.len(), &said[0]["content"]),
        (1, &json!("Half an ans"))
    );
    assert_eq!(said[0]["metadata"]["cut"], true);
    let view = server.get("/threads/t").await.text().await.expect("text");
    let view: Value = serde_json::from_str(&view).expect("JSON");
    let turn = &view["session"]["turns"][0];
    assert_eq!(
        (&turn["status"], &turn["error"]["code"]),
        (&json!("failed"), &json!("turn_failed"))
    );
    let shown = &view["session"]["messages"][1];
    assert_eq!(
        (&shown["content"], &shown["cut"]),
        (&json!("Half an ans"), &json!(true))
    );
}

#[tokio::test]
async fn an_unreadable_turns_end_keeps_its_results() {
    let file = File::new("unreadable-round");
    let model = asking().await;
    let (server, _) = asked(&file, &model).await;
    drop(server);
    written_by_a_later_version(&file).await;
    let server = Server::before(&model, &["--store", &file.store()]);
    let told = events(server.follow("t", "r", None).await).await;
    assert_eq!(told.last().expect("an end")["code"], "turn_failed");
    let before = told
        .iter()
        .find(|event| event["type"] == "TOOL_CALL_RESULT");
    let before = before.expect("the result was told");
    let messages = fold(&told);
    assert_eq!(with(&messages, "content", "I look.").len(), 1);
    let results = with(&messages, "toolCallId", "now");
    assert_eq!(
        (results.len(), &results[0]["content"]),
        (1, &before["content"])
    );
}

#[tokio::test]
async fn an_event_that_cannot_be_read_any_more_holds_no_turn_up() {
    let file = File::new("unreadable-event");
    let answer = Hop::new().text("A whole answer.");
    let model = start(Script::new().hop(half()).hop(answer)).await;
    cut(&file, &model).await;
    let store = SqliteStore::open(file.path()).await.expect("a store");
    let record = store.thread(&ThreadKey::from("t")).await.unwrap();
    let left = record.expect("a thread").unfinished.expect("unfinished");
    let next = store.event_log(&left.key).await.unwrap().next;
    let later = [r#"{"type": "TOOL_CALL_RESULT", "of": "a later version"}"#.to_owned()];
    store
        .append_events(&left.key, left.generation, next, &later)
        .await
        .unwrap();
    store.close().await;
    let server = Server::before(&model, &["--store", &file.store()]);
    // The event is passed on as it is: a client may know it.
    let told = server.follow("t", "r", None).await.text().await;
    let told = told.expect("it ends");
    let told = told.lines().filter_map(|line| line.strip_prefix("data: "));
    let told = told.map(|event| serde_json::from_str::<Value>(event).expect("JSON"));
    let told: Vec<_> = told
        .filter(|event| event["of"] != "a later version")
        .collect();
    assert_eq!(kinds(&told).last(), Some(&"RUN_FINISHED"));
    assert_eq!(fold(&told).last().unwrap()["content"], "A whole answer.");
}
