//! Conversations, turns that nothing is remembered of, and what a turn waits for as data: from other agents on its store.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use stepwell_ffi::{
    Agent, AgentSetup, AgentTool, Event, Failure, JsonValue, OnToolError, Outcome, Pending,
    PendingKind, Question, SessionStore, Start, StepwellError, StoreSetup, ThreadQuery,
    ToolContext, ToolError, ToolHandler, ToolInvocation, ToolOutput, Turn, TurnOptions, UserAnswer,
    WhenBusy,
};
use stepwell_mock_llm::{Hop, MockLlm, Script};
use support::{config, conversation, definition, key, say, say_with};

/// A tool that returns its arguments.
struct Echo;

#[async_trait::async_trait]
impl ToolHandler for Echo {
    async fn call(
        &self,
        invocation: ToolInvocation,
        _: Arc<ToolContext>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(invocation.arguments.as_str().to_owned().into())
    }
}

/// A tool that asks the user for a colour.
struct Asks;

#[async_trait::async_trait]
impl ToolHandler for Asks {
    async fn call(
        &self,
        _: ToolInvocation,
        context: Arc<ToolContext>,
    ) -> Result<ToolOutput, ToolError> {
        let question = Question {
            message: "Which colour?".to_owned(),
            schema: JsonValue::of(&json!({ "type": "string" })),
        };
        match context.ask(question).await.unwrap() {
            UserAnswer::Given { value } => Ok(value.as_str().to_owned().into()),
            UserAnswer::Declined { .. } => Ok("none".to_owned().into()),
        }
    }
}

/// A tool whose result comes later.
struct Later;

#[async_trait::async_trait]
impl ToolHandler for Later {
    async fn call(&self, _: ToolInvocation, _: Arc<ToolContext>) -> Result<ToolOutput, ToolError> {
        Err(ToolError::Deferred)
    }
}

/// A tool that breaks off.
struct Breaks;

#[async_trait::async_trait]
impl ToolHandler for Breaks {
    async fn call(&self, _: ToolInvocation, _: Arc<ToolContext>) -> Result<ToolOutput, ToolError> {
        Err(ToolError::Unexpected {
            reason: "Oops".to_owned(),
        })
    }
}

fn tools() -> Vec<AgentTool> {
    let tool = |name: &str, handler: Arc<dyn ToolHandler>| {
        let mut definition = definition(name);
        definition.requires_approval = name == "delete";
        definition.idempotent = true;
        AgentTool {
            definition,
            handler,
        }
    };
    vec![
        tool("delete", Arc::new(Echo)),
        tool("paint", Arc::new(Asks)),
        tool("order", Arc::new(Later)),
        tool("break", Arc::new(Breaks)),
    ]
}

fn agent(mock: &MockLlm, store: Option<&Arc<SessionStore>>) -> Arc<Agent> {
    let setup = AgentSetup {
        tools: tools(),
        store: store.map(|store| StoreSetup {
            store: Arc::clone(store),
            waits: false,
        }),
        ..AgentSetup::default()
    };
    Agent::new(config(&mock.base_url()), setup).unwrap()
}

async fn serve(script: Script) -> MockLlm {
    MockLlm::start(script).await.unwrap()
}

fn start(text: &str) -> Start {
    Start {
        run_id: "one-off".to_owned(),
        parent_run_id: None,
        text: Some(text.to_owned()),
        message: None,
        resume: Vec::new(),
        options: TurnOptions::default(),
        parts: Vec::new(),
    }
}

fn calls(tool: &str, arguments: Value) -> Script {
    Script::new()
        .hop(Hop::new().tool_call(tool, arguments))
        .hop(Hop::new().text("Done"))
}

/// Reads the events until something waits.
async fn pending(turn: &Turn) -> Vec<Pending> {
    loop {
        for event in turn.next_batch().await {
            match event {
                Event::Pending { pending } if !pending.is_empty() => return pending,
                Event::Completed { outcome } => panic!("{outcome:?}"),
                _ => {}
            }
        }
    }
}

/// Returns what the model was told of its call.
fn result_of(mock: &MockLlm, request: usize) -> String {
    let body = &mock.requests()[request].body;
    let messages = body["messages"].as_array().unwrap();
    let result = messages.iter().rfind(|message| message["role"] == "tool");
    result.unwrap()["content"].as_str().unwrap().to_owned()
}

/// A file of SQLite that is deleted at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let name = format!("conversation-{name}-{}.db", std::process::id());
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    async fn open(&self) -> Arc<SessionStore> {
        let path = self.0.to_str().unwrap().to_owned();
        SessionStore::open_sqlite(path).await.unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm", "-lock"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.0.display()));
        }
    }
}

#[tokio::test]
async fn one_off_turn_is_in_no_store() {
    let script = Script::new()
        .hop(Hop::new().text("Hello"))
        .hop(Hop::new().text("Again"));
    let mock = serve(script).await;
    let store = SessionStore::in_memory();
    let agent = agent(&mock, Some(&store));
    let history = json!([{ "id": "old", "role": "user", "content": "Before" }]);
    let state = json!({ "page": 1 });
    let turn = agent.start(
        start("Hi"),
        Vec::new(),
        Some(JsonValue::of(&history)),
        Some(JsonValue::of(&state)),
        true,
    );
    let turn = turn.unwrap();
    turn.begun().await;
    assert_eq!(turn.stored(), None);
    assert_eq!(turn.shared_state().await.unwrap(), JsonValue::of(&state));
    assert_eq!(turn.finish().await.unwrap().text, "Hello");
    let query = ThreadQuery {
        server: None,
        room: None,
        after: None,
        limit: 50,
    };
    assert_eq!(store.threads(query.clone()).await.unwrap(), []);

    say(&agent, "Hi").finish().await.unwrap();
    assert_eq!(store.threads(query).await.unwrap().len(), 1);
    let sent = |request: usize| {
        let messages = mock.requests()[request].body["messages"].clone();
        messages.as_array().unwrap().len()
    };
    assert_eq!((sent(0), sent(1)), (2, 1), "nothing was remembered");
}

#[tokio::test]
async fn one_off_turn_that_no_user_sees_is_denied() {
    let mock = serve(calls("delete", json!({}))).await;
    let turn = agent(&mock, None).start(start("Go"), Vec::new(), None, None, false);
    let finished = turn.unwrap().finish().await.unwrap();
    assert_eq!(finished.outcome, Outcome::Success);
    let told = result_of(&mock, 1);
    assert!(told.contains("did not allow the call"), "{told}");
}

#[tokio::test]
async fn conversation_is_one_while_it_is_held() {
    let script = Script::new()
        .hop(Hop::new().text("Hello"))
        .hop(Hop::new().text("Again"));
    let mock = serve(script).await;
    let agent = agent(&mock, None);
    let held = conversation(&agent);
    say(&agent, "Hi").finish().await.unwrap();
    assert_eq!(held.messages(), conversation(&agent).messages());
    assert_ne!(held.messages().as_str(), "[]");
    drop(held);
    assert_eq!(conversation(&agent).messages().as_str(), "[]");
}

#[tokio::test]
async fn with_store_keeps_conversations_in_that_store() {
    let mock = serve(Script::new().hop(Hop::new().text("Hello"))).await;
    let (own, other) = (SessionStore::in_memory(), SessionStore::in_memory());
    let agent = agent(&mock, Some(&own)).with_store(Arc::clone(&other));
    say(&agent, "Hi").finish().await.unwrap();
    assert!(own.thread(key("thread")).await.unwrap().is_none());
    assert_eq!(other.turns(key("thread")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn turn_takes_replies_itself() {
    let mock = serve(calls("delete", json!({ "path": "/" }))).await;
    let agent = agent(&mock, None);
    let turn = say(&agent, "Go");
    let waits = pending(&turn).await;
    assert_eq!(turn.pending().await.unwrap(), waits);
    assert_eq!(conversation(&agent).pending().await.unwrap(), waits);
    assert_eq!(
        (waits[0].kind, waits[0].tool.as_str()),
        (PendingKind::Approval, "delete")
    );
    assert_eq!(waits[0].arguments, JsonValue::of(&json!({ "path": "/" })));
    let edited = JsonValue::of(&json!({ "path": "/tmp" }));
    turn.approve(waits[0].id.clone(), Some(edited))
        .await
        .unwrap();
    let again = turn.approve(waits[0].id.clone(), None).await;
    assert!(
        matches!(again, Err(StepwellError::Misuse { .. })),
        "{again:?}"
    );
    assert_eq!(turn.finish().await.unwrap().outcome, Outcome::Success);
    assert!(result_of(&mock, 1).contains("/tmp"));
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn another_agent_on_the_store_approves() {
    let file = File::new("approves");
    let mock = serve(calls("delete", json!({ "path": "/" }))).await;
    let turn = say(&agent(&mock, Some(&file.open().await)), "Go");
    let waits = pending(&turn).await;

    let store = file.open().await;
    let there = conversation(&agent(&mock, Some(&store)));
    assert_eq!(store.pending(key("thread")).await.unwrap(), waits);
    assert_eq!(there.pending().await.unwrap(), waits);
    let edited = JsonValue::of(&json!({ "path": "/tmp" }));
    there
        .approve(waits[0].id.clone(), Some(edited))
        .await
        .unwrap();
    assert_eq!(turn.finish().await.unwrap().outcome, Outcome::Success);
    assert!(result_of(&mock, 1).contains("/tmp"));
    assert_eq!(store.pending(key("thread")).await.unwrap(), []);
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn another_agent_on_the_store_denies_and_answers() {
    let file = File::new("denies");
    let hop = Hop::new()
        .tool_call("delete", json!({}))
        .tool_call("paint", json!({}));
    let mock = serve(Script::new().hop(hop).hop(Hop::new().text("Done"))).await;
    let turn = say(&agent(&mock, Some(&file.open().await)), "Go");
    while turn.pending().await.unwrap().len() < 2 {
        pending(&turn).await;
    }

    let there = conversation(&agent(&mock, Some(&file.open().await)));
    for waits in there.pending().await.unwrap() {
        match waits.kind {
            PendingKind::Approval => there.deny(waits.id, Some("Never".to_owned())).await,
            PendingKind::Question => {
                assert_eq!(waits.message.as_deref(), Some("Which colour?"));
                assert!(waits.schema.is_some());
                there.answer(waits.id, JsonValue::of(&json!("red"))).await
            }
            PendingKind::Result => panic!("no call is deferred"),
        }
        .unwrap();
    }
    assert_eq!(turn.finish().await.unwrap().outcome, Outcome::Success);
    let told = mock.requests()[1].body.to_string();
    assert!(told.contains("Never") && told.contains("red"), "{told}");
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn reply_continues_a_turn_that_no_process_drives() {
    let file = File::new("continues");
    let mock = serve(calls("order", json!({}))).await;
    let first = agent(&mock, Some(&file.open().await));
    let turn = say(&first, "Go");
    let waits = pending(&turn).await;
    assert_eq!(waits[0].kind, PendingKind::Result);
    turn.suspend().await.unwrap();
    drop((turn, first));

    let store = file.open().await;
    let there = conversation(&agent(&mock, Some(&store)));
    there
        .resolve_call(waits[0].tool_call_id.clone(), "here".to_owned())
        .await
        .unwrap();
    let mut changes = store
        .inner()
        .subscribe(&key("thread").into())
        .await
        .unwrap();
    while (store.thread(key("thread")).await.unwrap().unwrap())
        .unfinished
        .is_some()
    {
        changes.changed().await;
    }
    assert!(result_of(&mock, 1).contains("here"));
    let again = there.resolve_call(waits[0].tool_call_id.clone(), "again".to_owned());
    let again = again.await;
    assert!(
        matches!(again, Err(StepwellError::Misuse { .. })),
        "{again:?}"
    );
}

#[tokio::test]
async fn text_of_a_broken_tool_is_hidden_unless_asked_for() {
    for (policy, is_told) in [
        (None, true),
        (Some(OnToolError::ShowModel), true),
        (Some(OnToolError::Fail), false),
    ] {
        let mock = serve(calls("break", json!({}))).await;
        let setup = AgentSetup {
            tools: tools(),
            on_tool_error: policy,
            ..AgentSetup::default()
        };
        let agent = Agent::new(config(&mock.base_url()), setup).unwrap();
        let outcome = say(&agent, "Go").finish().await.unwrap().outcome;
        if is_told {
            assert_eq!(outcome, Outcome::Success);
            assert_eq!(mock.requests().len(), 2);
            let told = result_of(&mock, 1);
            assert!(told.contains("a mistake in its code"), "{told}");
            let is_shown = policy == Some(OnToolError::ShowModel);
            assert_eq!(told.contains("Oops"), is_shown, "{told}");
        } else {
            let Outcome::Failed { failure, .. } = outcome else {
                panic!("{outcome:?}");
            };
            assert!(matches!(failure, Failure::ToolFailed { .. }), "{failure:?}");
            assert_eq!(mock.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn busy_conversation_queues_or_steers() {
    for when_busy in [WhenBusy::Queue, WhenBusy::Steer] {
        let script = calls("delete", json!({})).hop(Hop::new().text("Next"));
        let mock = serve(script).await;
        let agent = agent(&mock, None);
        let first = say(&agent, "Go");
        let waits = pending(&first).await;
        let options = TurnOptions {
            when_busy: Some(when_busy),
            ..TurnOptions::default()
        };
        let second = say_with(&conversation(&agent), "And then", options);
        first.approve(waits[0].id.clone(), None).await.unwrap();
        let first = first.finish().await.unwrap();
        let second = second.finish().await.unwrap();
        assert_eq!(second.outcome, Outcome::Success);
        // A message that joins the turn is answered with the tool's result, or after that answer. One that comes too late
        // begins a turn of its own.
        let is_joined = mock.requests()[1].body.to_string().contains("And then");
        assert!(when_busy == WhenBusy::Steer || !is_joined);
        let expected = if is_joined { "Done" } else { "Next" };
        assert_eq!(second.text, expected);
        let is_joined_late = when_busy == WhenBusy::Steer && first.text == "Next";
        assert!(first.text == "Done" || is_joined_late, "{}", first.text);
    }
}
