//! The failure table over real HTTP: faults from the field, and the required behaviour, with a provider that cuts,
//! stalls, refuses and lies, in each dialect.
//!
//! No test waits for a time to pass: a test waits for an event, and hangs if it never comes.

mod approvals;
mod busy;
mod cancel;
mod clocks;
mod cuts;
mod deferred;
mod device;
mod lies;
mod limits;
mod refusals;
#[path = "../support/mod.rs"]
mod support;
mod threads;
mod tools;
mod wire;

use futures::StreamExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::AgentBuilder;
use stepwell_io::tool::{Tool, ToolCallStatus, ToolContext, ToolFailureKind};
use stepwell_io::turn::{Failure, Finished, Outcome, RunEvent, TurnEvents};
use stepwell_mock_llm::{Hop, MockLlm, RecordedRequest, Script};
use support::{
    Chat, IntoChat as _, asks_for_work, assert_legal, begun, done, endpoint, hangs, messages,
    results, says, serve, watch, work,
};
use tokio::sync::Semaphore;

/// A wire format that the provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Chat,
    AgUi,
}

const BOTH: [Dialect; 2] = [Dialect::Chat, Dialect::AgUi];

impl Dialect {
    fn url(self, server: &MockLlm) -> String {
        match self {
            Self::Chat => server.base_url(),
            Self::AgUi => server.ag_ui_url(),
        }
    }

    /// An agent of this dialect. Pauses between tries are cut to a millisecond.
    fn agent_at(self, url: &str) -> AgentBuilder {
        let (name, model) = match self {
            Self::Chat => ("openai-compatible", "mock-model"),
            Self::AgUi => ("ag-ui", ""),
        };
        support::agent_at(endpoint(name, model, url, None))
    }

    fn agent(self, server: &MockLlm) -> AgentBuilder {
        self.agent_at(&self.url(server))
    }
}

/// The model asks for `work`, once for each id.
fn asks(ids: &[&str]) -> Hop {
    asks_for_work(Hop::new(), ids)
}

/// Takes events up to one that is looked for.
async fn until(turn: &mut TurnEvents, looked_for: impl Fn(&RunEvent) -> bool) -> RunEvent {
    loop {
        let event = turn.next().await.expect("the turn goes on");
        if looked_for(&event) {
            return event;
        }
    }
}

fn is_call(event: &RunEvent, id: &str, status: ToolCallStatus) -> bool {
    matches!(event, RunEvent::ToolCallUpdate(update) if update.tool_call_id == id && update.status == status)
}

/// The failure of the call with this id.
fn failure_kind(events: &[RunEvent], id: &str) -> Option<ToolFailureKind> {
    events.iter().find_map(|event| match event {
        RunEvent::ToolCallUpdate(update) if update.tool_call_id == id => match &update.result {
            Some(Err(failure)) => Some(failure.kind),
            _ => None,
        },
        _ => None,
    })
}

fn failure(outcome: &Outcome) -> &Failure {
    match outcome {
        Outcome::Failed { failure } => failure,
        other => panic!("the turn should have failed, and is {other:?}"),
    }
}

/// Checks that the thread continues after any fault.
async fn assert_goes_on(agent: &Chat, server: &MockLlm) {
    let (_, finished) = watch(agent.send("And now?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_legal(server);
}
