//! Turns of an agent with a store: what is stored when, stores that fail, hosts that die.
#![allow(clippy::unwrap_used)]

mod background;
mod faults;
mod faulty;
mod owners;
mod restarts;
mod stored;
#[path = "../support/mod.rs"]
mod support;

use faulty::Faulty;
use futures::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::{BlockContent, TurnStatus};
use stepwell_core::session::Turn as Stored;
use stepwell_io::AgentBuilder;
use stepwell_io::store::{EventStore, MemoryStore, Store, TurnKey, TurnStore};
use stepwell_io::tool::ToolContext;
use stepwell_io::turn::{Failure, Outcome, RunEvent};
use stepwell_mock_llm::{Hop, MockLlm};
use support::{
    asks_for_work, assert_legal, begun, contents, done, hangs, results, says, serve, watch, work,
};
use tokio::sync::Semaphore;

/// The model asks for the tool `work`, once for each id.
fn asks(ids: &[&str]) -> Hop {
    asks_for_work(says("Let me see."), ids)
}

fn agent(server: &MockLlm, store: &(impl Store + Clone)) -> AgentBuilder {
    support::agent(server).store(Arc::new(store.clone()))
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
