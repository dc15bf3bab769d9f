//! A running tool's question after its host has died.

use crate::engine::tests::{model, new_turn, said, setup_of};
use crate::engine::{Engine, EngineError, LocalEngine};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use stepwell_core::event::ResumeEntry;
use stepwell_core::run::Question;
use stepwell_io::store::{EventStore, MemoryStore, TurnKey};
use stepwell_io::tool::{Tool, ToolContext};
use stepwell_mock_llm::MockLlm;

/// A tool that asks, and what runs it.
type Asks = (
    Tool,
    Arc<dyn Fn(ToolContext) -> BoxFuture<'static, Result<String, String>> + Send + Sync>,
);

/// A host whose scripted model asks for this tool.
async fn host(store: &MemoryStore, tool: &Asks) -> (MockLlm, LocalEngine) {
    let (model, base) = model::start().await;
    let (tool, run) = tool.clone();
    let setup = setup_of(
        base.tool(tool, move |call| run(call)),
        Arc::new(store.clone()),
        Duration::ZERO,
    );
    (model, LocalEngine::new(setup))
}

/// A tool that asks one thing when it runs first, and another, or nothing, when it runs again; and how often it ran.
fn tool(is_idempotent: bool, again: Option<&str>) -> (Arc<AtomicU32>, Asks) {
    tool_asking(is_idempotent, "Which?".into(), again.map(Question::from))
}

fn tool_asking(
    is_idempotent: bool,
    first: Question,
    again: Option<Question>,
) -> (Arc<AtomicU32>, Asks) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let run = move |call: ToolContext| {
        let question = match counted.fetch_add(1, Ordering::Relaxed) {
            0 => Some(first.clone()),
            _ => again.clone(),
        };
        async move {
            let Some(question) = question else {
                return Ok("nothing to ask".to_owned());
            };
            let answer = call
                .ask(question)
                .await
                .map_err(|error| error.to_string())?;
            Ok::<_, String>(format!("{:?}", answer.value()))
        }
    };
    let tool = Tool::new("order_tea", "Orders tea.");
    let tool = match is_idempotent {
        true => tool.idempotent(),
        false => tool,
    };
    (runs, (tool, Arc::new(move |call| run(call).boxed())))
}

async fn events(store: &MemoryStore, key: &TurnKey) -> Vec<Value> {
    let events = store.events(key, None, 1_000).await.unwrap().into_iter();
    events
        .map(|event| serde_json::from_str(&event.data).unwrap())
        .collect()
}

/// Waits until the log has this number of questions.
async fn asked(store: &MemoryStore, key: &TurnKey, many: usize) -> Vec<Value> {
    let mut changes = store.subscribe(&key.thread).await.unwrap();
    loop {
        let events = events(store, key).await;
        if named(&events, "interrupt").len() == many {
            return events;
        }
        changes.changed().await;
    }
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    let named = events.iter().filter(|event| event["name"] == name);
    named.map(|event| &event["value"]).collect()
}

/// Begins a turn whose tool asks, and releases it there.
async fn left(store: &MemoryStore, engine: &LocalEngine) -> TurnKey {
    let mut new = new_turn();
    new.origin = said("order");
    let key = engine.start(new).await.unwrap();
    asked(store, &key, 1).await;
    engine.close(Duration::ZERO).await;
    key
}

fn answer(question: &Value, payload: &str) -> Vec<ResumeEntry> {
    let entry = json!({ "interruptId": question["id"], "status": "resolved", "payload": payload });
    vec![serde_json::from_value(entry).unwrap()]
}

#[tokio::test]
async fn the_question_of_a_tool_that_is_not_run_again_is_withdrawn() {
    let store = MemoryStore::new();
    let (runs, tool) = tool(false, None);
    let (_model, first) = host(&store, &tool).await;
    let key = left(&store, &first).await;
    let (_model, second) = host(&store, &tool).await;
    second.recover().await.unwrap();
    second.take_over().await.unwrap();
    second.close(Duration::from_secs(60)).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let events = events(&store, &key).await;
    assert_eq!(named(&events, "interrupt").len(), 1);
    let [answered] = named(&events, "interrupt_answered")[..] else {
        panic!("{events:#?}");
    };
    assert_eq!(answered["status"], "cancelled");
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
}

#[tokio::test]
async fn another_question_in_the_place_of_one_takes_it_back() {
    let store = MemoryStore::new();
    let (_, tool) = tool(true, Some("How many?"));
    let (_model, first) = host(&store, &tool).await;
    let key = left(&store, &first).await;
    let (_model, second) = host(&store, &tool).await;
    second.recover().await.unwrap();
    second.take_over().await.unwrap();
    let told = asked(&store, &key, 2).await;
    let told = named(&told, "interrupt");
    assert_eq!(told[1]["message"], "How many?");
    second.answer(&key, answer(told[1], "two")).await.unwrap();
    second.close(Duration::from_secs(60)).await;
    let events = events(&store, &key).await;
    let answered = named(&events, "interrupt_answered");
    let statuses: Vec<_> = answered.iter().map(|value| &value["status"]).collect();
    assert_eq!(statuses, ["cancelled", "resolved"]);
    let result = events
        .iter()
        .find(|event| event["type"] == "TOOL_CALL_RESULT");
    assert!(result.unwrap()["content"].to_string().contains("two"));
}

#[tokio::test]
async fn the_same_question_is_asked_once_in_any_form_of_its_schema() {
    for schema in [json!(true), json!(false), json!({ "type": "string" })] {
        let store = MemoryStore::new();
        let question = Question::new("Which?", schema);
        let (runs, tool) = tool_asking(true, question.clone(), Some(question));
        let (_model, first) = host(&store, &tool).await;
        let key = left(&store, &first).await;
        let told = events(&store, &key).await;
        let (_model, second) = host(&store, &tool).await;
        second.recover().await.unwrap();
        second.take_over().await.unwrap();
        let entry =
            json!({ "interruptId": named(&told, "interrupt")[0]["id"], "status": "cancelled" });
        let cancelled = vec![serde_json::from_value(entry).unwrap()];
        second.answer(&key, cancelled).await.unwrap();
        second.close(Duration::from_secs(60)).await;
        assert_eq!(runs.load(Ordering::Relaxed), 2);
        let events = events(&store, &key).await;
        assert_eq!(named(&events, "interrupt").len(), 1);
        assert_eq!(named(&events, "interrupt_answered").len(), 1);
    }
}

#[tokio::test]
async fn an_answer_to_what_is_not_asked_again_is_refused() {
    let store = MemoryStore::new();
    let (_, tool) = tool(true, None);
    let (_model, first) = host(&store, &tool).await;
    let key = left(&store, &first).await;
    let told = events(&store, &key).await;
    let (_model, second) = host(&store, &tool).await;
    second.recover().await.unwrap();
    second.take_over().await.unwrap();
    let late = second.answer(&key, answer(named(&told, "interrupt")[0], "green"));
    let late = late.await;
    assert!(
        matches!(late, Err(EngineError::Answers(_) | EngineError::Over)),
        "{late:?}"
    );
    second.close(Duration::from_secs(60)).await;
    let events = events(&store, &key).await;
    assert_eq!(named(&events, "interrupt_answered").len(), 1);
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
}
