//! The failure table over real HTTP: what goes wrong in the field, and what must happen, with a provider that cuts,
//! stalls, refuses and lies, in each dialect.
//!
//! Nothing here waits for a time to pass: a test waits for what is to happen, and hangs if it never does.

#[path = "../../../core/tests/support/schema.rs"]
mod schema;

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
mod threads;
mod tools;
mod wire;

use futures::StreamExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::{
    Agent, AgentBuilder, Failure, Finished, Outcome, RunEvent, Tool, ToolCallStatus, ToolContext,
    ToolFailureKind, Turn, provider,
};
use stepwell_mock_llm::{Hop, MockLlm, RecordedRequest, Script};
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
        let endpoint = provider::find(name)
            .expect("the table has it")
            .endpoint(None, model, Some(url), None)
            .expect("an address is all it needs");
        Agent::builder(endpoint)
            .thread_id("thread-1")
            .configure(|config| {
                config.retry.first_delay = Duration::from_millis(1);
                config.retry.max_delay = Duration::from_millis(2);
            })
    }

    fn agent(self, server: &MockLlm) -> AgentBuilder {
        self.agent_at(&self.url(server))
    }
}

async fn serve(hops: impl IntoIterator<Item = Hop>) -> MockLlm {
    let script = hops.into_iter().fold(Script::new(), Script::hop);
    MockLlm::start(script)
        .await
        .expect("the mock starts on loopback")
}

fn says(text: &str) -> Hop {
    Hop::new().text(text)
}

/// The model asks for `work`, once for each id.
fn asks(ids: &[&str]) -> Hop {
    ids.iter().fold(Hop::new(), |hop, id| {
        hop.tool_call_with_id(*id, "work", json!({ "id": id }))
    })
}

fn work() -> Tool {
    Tool::new("work", "Works.")
}

/// The code of a tool that says which call it is.
async fn done(call: ToolContext) -> Result<String, String> {
    Ok(format!("{} is done", call.tool_call_id))
}

/// The code of a tool that never comes back by itself, and how many of its calls have begun.
fn hangs(
    begun: &Arc<Semaphore>,
) -> impl Fn(ToolContext) -> futures::future::BoxFuture<'static, Result<String, String>>
+ Send
+ Sync
+ 'static {
    let begun = Arc::clone(begun);
    move |_| {
        begun.add_permits(1);
        Box::pin(std::future::pending())
    }
}

/// Waits until so many calls have begun.
async fn begun(calls: &Semaphore, count: u32) {
    calls
        .acquire_many(count)
        .await
        .expect("nobody closes it")
        .forget();
}

/// The events of a turn, and how it ended.
async fn watch(mut turn: Turn) -> (Vec<RunEvent>, Finished) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        if let RunEvent::AgUi(event) = &event {
            schema::assert_schema(event);
        }
        events.push(event);
    }
    (events, turn.finish().await)
}

/// Takes events up to one that is looked for.
async fn until(turn: &mut Turn, looked_for: impl Fn(&RunEvent) -> bool) -> RunEvent {
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

/// What the model is shown of its calls, in the request.
fn results(request: &RecordedRequest) -> Vec<&str> {
    messages(request, "tool")
        .into_iter()
        .map(|message| message["content"].as_str().unwrap_or_default())
        .collect()
}

fn messages<'a>(request: &'a RecordedRequest, role: &str) -> Vec<&'a Value> {
    let all = request.body["messages"].as_array();
    all.into_iter()
        .flatten()
        .filter(|message| message["role"] == role)
        .collect()
}

/// The provider took every request: no history was one that it refuses.
fn assert_legal(server: &MockLlm) {
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

/// The thread goes on after whatever befell it.
async fn assert_goes_on(agent: &Agent, server: &MockLlm) {
    let (_, finished) = watch(agent.send("And now?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_legal(server);
}
