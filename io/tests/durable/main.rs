//! Turns of an agent with a store: what is stored when, stores that fail, hosts that die.
#![allow(clippy::unwrap_used)]

mod faults;
mod faulty;
mod owners;
mod restarts;
mod stored;

use faulty::Faulty;
use futures::StreamExt;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::{BlockContent, TurnStatus};
use stepwell_core::session::Turn as Stored;
use stepwell_io::store::{MemoryStore, Store, TurnKey};
use stepwell_io::{
    Agent, AgentBuilder, Failure, Finished, Outcome, RunEvent, Tool, ToolContext, Turn, provider,
};
use stepwell_mock_llm::{Hop, MockLlm, RecordedRequest, Script};
use tokio::sync::Semaphore;

async fn serve(hops: impl IntoIterator<Item = Hop>) -> MockLlm {
    let script = hops.into_iter().fold(Script::new(), Script::hop);
    MockLlm::start(script).await.unwrap()
}

fn says(text: &str) -> Hop {
    Hop::new().text(text)
}

/// The model asks for the tool `work`, once for each id.
fn asks(ids: &[&str]) -> Hop {
    ids.iter().fold(Hop::new().text("Let me see."), |hop, id| {
        hop.tool_call_with_id(*id, "work", json!({ "id": id }))
    })
}

fn work() -> Tool {
    Tool::new("work", "Works.")
}

async fn done(call: ToolContext) -> Result<String, String> {
    Ok(format!("{} is done", call.tool_call_id))
}

/// The code of a tool that never comes back by itself, and how many of its calls have begun.
fn hangs(
    begun: &Arc<Semaphore>,
) -> impl Fn(ToolContext) -> futures::future::BoxFuture<'static, Result<String, String>> + use<> {
    let begun = Arc::clone(begun);
    move |_| {
        begun.add_permits(1);
        Box::pin(std::future::pending())
    }
}

async fn begun(calls: &Semaphore, count: u32) {
    calls.acquire_many(count).await.unwrap().forget();
}

/// An agent on the thread `thread-1`, with pauses of a millisecond between tries.
fn agent(server: &MockLlm, store: &(impl Store + Clone)) -> AgentBuilder {
    let endpoint = provider::find("openai-compatible").unwrap();
    let endpoint = endpoint.endpoint(None, "mock-model", Some(&server.base_url()), None);
    Agent::builder(endpoint.unwrap())
        .thread_id("thread-1")
        .store(Arc::new(store.clone()))
        .configure(|config| {
            config.retry.first_delay = Duration::from_millis(1);
            config.retry.max_delay = Duration::from_millis(2);
        })
}

async fn watch(mut turn: Turn) -> (Vec<RunEvent>, Finished) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    (events, turn.finish().await)
}

fn warnings(events: &[RunEvent]) -> Vec<&str> {
    let warnings = events.iter().filter_map(|event| match event {
        RunEvent::Warning { message } => Some(message.as_str()),
        _ => None,
    });
    warnings.collect()
}

fn not_stored(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Failed {
            failure: Failure::NotStored { message },
        } => message,
        other => panic!("{other:?}"),
    }
}

/// All turns of the thread.
async fn turns(store: &impl Store) -> Vec<Stored> {
    let turns = store.turns(&"thread-1".into()).await.unwrap();
    for turn in &turns {
        for (number, block) in turn.blocks.iter().enumerate() {
            assert_eq!(block.block.sequence, number as u64);
        }
    }
    turns
}

fn kinds(turn: &Stored) -> Vec<&'static str> {
    let kinds = turn.blocks.iter().map(|block| match &block.block.content {
        BlockContent::Text { .. } => "text",
        BlockContent::ToolUse { .. } => "tool_use",
        BlockContent::ToolResult {
            is_error: false, ..
        } => "tool_result",
        BlockContent::ToolResult { is_error: true, .. } => "tool_error",
        BlockContent::Usage { .. } => "usage",
        _ => "other",
    });
    kinds.filter(|kind| *kind != "usage").collect()
}

/// What the model is shown of its calls, in the request.
fn results(request: &RecordedRequest) -> Vec<String> {
    contents(request, "tool")
}

fn contents(request: &RecordedRequest, role: &str) -> Vec<String> {
    let all = request.body["messages"].as_array().unwrap();
    all.iter()
        .filter(|message| message["role"] == role)
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn assert_legal(server: &MockLlm) {
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

fn key(turn: &Stored) -> TurnKey {
    TurnKey::new(stepwell_io::ThreadKey::from("thread-1"), turn.id.clone())
}

fn memory() -> MemoryStore {
    MemoryStore::new()
}

fn faulty() -> Faulty {
    Faulty::new(memory())
}

fn is_closed(turn: &Stored) -> bool {
    turn.status != TurnStatus::Streaming
}
