//! What the tests of turns have in common: the scripted model, agents before it, tools, and what comes of a turn.
#![allow(dead_code)] // each program of tests takes what it needs

#[path = "../../../core/tests/support/schema.rs"]
mod schema;

use futures::StreamExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::config::Endpoint;
use stepwell_io::message::{MessageContent, Transcript};
use stepwell_io::tool::{Tool, ToolContext};
use stepwell_io::turn::{Finished, RunEvent, Start, TurnEvents};
use stepwell_io::{
    Agent, AgentBuilder, Conversation, Error, Run, RunId, ThreadKey, WhenBusy, provider,
};
use stepwell_mock_llm::{Hop, MockLlm, RecordedRequest, Script};
use tokio::sync::Semaphore;

/// The scripted model.
pub(crate) async fn start(script: Script) -> MockLlm {
    let server = MockLlm::start(script).await;
    server.expect("the mock starts on loopback")
}

/// The same with these answers.
pub(crate) async fn serve(hops: impl IntoIterator<Item = Hop>) -> MockLlm {
    start(hops.into_iter().fold(Script::new(), Script::hop)).await
}

pub(crate) fn says(text: &str) -> Hop {
    Hop::new().text(text)
}

/// The hop, which then asks for `work`, once for each id.
pub(crate) fn asks_for_work(hop: Hop, ids: &[&str]) -> Hop {
    ids.iter().fold(hop, |hop, id| {
        hop.tool_call_with_id(*id, "work", json!({ "id": id }))
    })
}

/// The provider of this name at this address.
pub(crate) fn endpoint(name: &str, model: &str, url: &str, key: Option<&str>) -> Endpoint {
    let provider = provider::find(name).expect("the table has it");
    let endpoint = provider.endpoint(None, model, Some(url), key.map(Into::into));
    endpoint.expect("an address is all it needs")
}

/// An agent and one of its conversations, whose turns are taken as raw events.
#[derive(Clone, Debug)]
pub(crate) struct Chat {
    pub(crate) agent: Agent,
    pub(crate) conversation: Conversation,
    when_busy: WhenBusy,
}

impl From<Agent> for Chat {
    /// The conversation `thread-1`.
    fn from(agent: Agent) -> Self {
        Self {
            conversation: agent.conversation("thread-1"),
            agent,
            when_busy: WhenBusy::Fail,
        }
    }
}

/// Builds an agent, and begins a conversation with it.
pub(crate) trait IntoChat {
    fn chat(self) -> Chat;
}

impl IntoChat for AgentBuilder {
    fn chat(self) -> Chat {
        self.build().expect("the agent is set up").into()
    }
}

impl Chat {
    pub(crate) fn when_busy(self, when_busy: WhenBusy) -> Self {
        Self { when_busy, ..self }
    }

    /// The agent's conversation with another id.
    pub(crate) fn thread(&self, key: impl Into<ThreadKey>) -> Self {
        Self {
            conversation: self.agent.conversation(key),
            ..self.clone()
        }
    }

    pub(crate) fn with_history(self, history: Transcript) -> Self {
        Self {
            conversation: self.conversation.with_history(history),
            ..self
        }
    }

    pub(crate) fn run(&self, prompt: impl Into<MessageContent>) -> Run {
        self.conversation.send(prompt).when_busy(self.when_busy)
    }

    pub(crate) fn send(&self, prompt: impl Into<MessageContent>) -> TurnEvents {
        self.run(prompt).stream().into_events()
    }

    pub(crate) fn start(&self, start: Start) -> TurnEvents {
        let run = self.conversation.start(start).when_busy(self.when_busy);
        run.stream().into_events()
    }

    pub(crate) fn branch(&self, parent: Option<RunId>, start: Start) -> TurnEvents {
        let run = self.conversation.start(start).after(parent);
        run.when_busy(self.when_busy).stream().into_events()
    }

    pub(crate) fn revive(&self, snapshot: &str) -> Result<TurnEvents, Error> {
        Ok(self.agent.revive(snapshot)?.into_events())
    }

    pub(crate) fn transcript(&self) -> Transcript {
        self.conversation.transcript()
    }

    pub(crate) fn cancel(&self) {
        self.conversation.cancel();
    }

    pub(crate) fn thread_key(&self) -> &ThreadKey {
        self.conversation.key()
    }
}

impl std::ops::Deref for Chat {
    type Target = Agent;

    fn deref(&self) -> &Agent {
        &self.agent
    }
}

/// An agent for the conversation `thread-1`. Pauses between tries are cut to a millisecond.
pub(crate) fn agent_at(endpoint: Endpoint) -> AgentBuilder {
    Agent::builder(endpoint).configure(|config| {
        config.retry.first_delay = Duration::from_millis(1);
        config.retry.max_delay = Duration::from_millis(2);
    })
}

/// The same before the mock's chat endpoint.
pub(crate) fn agent(server: &MockLlm) -> AgentBuilder {
    let (url, key) = (server.base_url(), Some("test-key"));
    agent_at(endpoint("openai-compatible", "mock-model", &url, key))
}

pub(crate) fn work() -> Tool {
    Tool::new("work", "Works.")
}

/// The code of a tool that returns the name of its call.
pub(crate) async fn done(call: ToolContext) -> Result<String, String> {
    Ok(format!("{} is done", call.tool_call_id))
}

/// The code of a tool that never returns by itself, and the number of its calls that have begun.
pub(crate) fn hangs(
    begun: &Arc<Semaphore>,
) -> impl Fn(ToolContext) -> BoxFuture<'static, Result<String, String>> + use<> {
    let begun = Arc::clone(begun);
    move |_| {
        begun.add_permits(1);
        Box::pin(std::future::pending())
    }
}

/// Waits until this number of calls have begun.
pub(crate) async fn begun(calls: &Semaphore, count: u32) {
    let begun = calls.acquire_many(count).await;
    begun.expect("nobody closes it").forget();
}

/// The events of a turn, and how it ended.
pub(crate) async fn watch(mut turn: TurnEvents) -> (Vec<RunEvent>, Finished) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        if let RunEvent::AgUi(event) = &event {
            schema::assert_schema(event);
        }
        events.push(event);
    }
    (events, turn.finish().await)
}

/// The messages of a request with this role.
pub(crate) fn messages<'a>(request: &'a RecordedRequest, role: &str) -> Vec<&'a Value> {
    let all = request.body["messages"].as_array().into_iter().flatten();
    all.filter(|message| message["role"] == role).collect()
}

/// Their texts.
pub(crate) fn contents(request: &RecordedRequest, role: &str) -> Vec<String> {
    let messages = messages(request, role).into_iter();
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    messages.map(text).collect()
}

/// Returns the results of the calls in the request, as the model receives them.
pub(crate) fn results(request: &RecordedRequest) -> Vec<String> {
    contents(request, "tool")
}

/// The provider took every request: no history was one that it refuses.
pub(crate) fn assert_legal(server: &MockLlm) {
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}
