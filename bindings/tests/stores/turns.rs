//! Turns in a custom store: complete, cut by a death, taken over, branched.

use crate::agents::{config, conversation, definition, key, say, say_with};
use crate::app;
use serde_json::json;
use std::sync::Arc;
use stepwell_ffi::{
    Agent, AgentSetup, AgentTool, Event, Failure, JsonValue, Outcome, RunConfig, SessionStore,
    StepwellError, StoreSetup, ThreadKey, ThreadQuery, ToolCallStatus, ToolContext, ToolError,
    ToolHandler, ToolInvocation, ToolOutput, Turn, TurnOptions, TurnStatus, WhenBusy,
};
use stepwell_mock_llm::{Hop, MockLlm, Script};
use tokio::sync::Semaphore;

/// A tool whose call reports that it has begun, and waits until it may end.
struct Held {
    begun: Semaphore,
    may_end: Semaphore,
}

impl Held {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            begun: Semaphore::new(0),
            may_end: Semaphore::new(0),
        })
    }
}

struct Tool(Option<Arc<Held>>);

#[async_trait::async_trait]
impl ToolHandler for Tool {
    async fn call(
        &self,
        _invocation: ToolInvocation,
        _: Arc<ToolContext>,
    ) -> Result<ToolOutput, ToolError> {
        if let Some(held) = &self.0 {
            held.begun.add_permits(1);
            held.may_end.acquire().await.unwrap().forget();
        }
        Ok("42".into())
    }
}

fn agent(mock: &MockLlm, store: &Arc<SessionStore>, tool: Tool) -> Arc<Agent> {
    of_config(config(&mock.base_url()), store, tool)
}

fn of_config(config: RunConfig, store: &Arc<SessionStore>, tool: Tool) -> Arc<Agent> {
    let mut definition = definition("number");
    definition.idempotent = true;
    let tool = AgentTool {
        definition,
        handler: Arc::new(tool),
    };
    let setup = StoreSetup {
        store: Arc::clone(store),
        waits: false,
    };
    Agent::new(
        config,
        AgentSetup {
            tools: vec![tool],
            store: Some(setup),
            ..AgentSetup::default()
        },
    )
    .unwrap()
}

async fn start(script: Script) -> MockLlm {
    MockLlm::start(script).await.unwrap()
}

fn call() -> Hop {
    Hop::new().tool_call("number", json!({}))
}

fn thread() -> ThreadKey {
    key("thread")
}

async fn end(turn: &Turn) -> (Vec<Event>, Outcome) {
    let mut events = Vec::new();
    loop {
        let batch = turn.next_batch().await;
        if batch.is_empty() {
            return (events, turn.finish().await.unwrap().outcome);
        }
        events.extend(batch);
    }
}

async fn a_turn_is_there_after_a_restart(store: Arc<SessionStore>) {
    let script = Script::new()
        .hop(call())
        .hop(Hop::new().text("It is 42"))
        .hop(Hop::new().text("As I said"));
    let mock = start(script).await;
    let first = agent(&mock, &store, Tool(None));
    let first = conversation(&first);
    let turn = say_with(&first, "What is the number?", TurnOptions::default());
    assert_eq!(end(&turn).await.1, Outcome::Success);

    let listed = store
        .threads(ThreadQuery {
            server: None,
            room: None,
            after: None,
            limit: 50,
        })
        .await
        .unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].title.as_deref(), Some("What is the number?"));
    assert!(listed[0].unfinished.is_none());
    let view = store.view(thread(), None).await.unwrap();
    assert_eq!(view.title, "What is the number?");
    assert_eq!(view.turns[0].status, TurnStatus::Complete);
    assert_eq!(view.turns[0].outcome, Some(Outcome::Success));
    let calls: Vec<_> = view
        .messages
        .iter()
        .flat_map(|message| &message.tool_executions)
        .collect();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].status, ToolCallStatus::Completed);
    assert_eq!(
        calls[0].result.as_ref().map(JsonValue::as_str),
        Some("\"42\"")
    );
    assert_eq!(view.messages.last().unwrap().text, "It is 42");
    let stored = store.messages(thread(), None).await.unwrap();
    assert_eq!(stored, first.messages());

    // Another process has only the store.
    let second = agent(&mock, &store, Tool(None));
    let turn = say(&second, "Sure?");
    assert_eq!(end(&turn).await.1, Outcome::Success);
    let asked = mock.requests()[2].body["messages"].clone();
    let roles: Vec<_> = asked
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
    assert!(mock.failures().is_empty(), "{:?}", mock.failures());
}

#[tokio::test]
async fn a_turn_is_there_after_a_restart_by_the_apps_own_store() {
    a_turn_is_there_after_a_restart(app::store()).await;
}

#[tokio::test]
async fn a_turn_is_there_after_a_restart_in_memory() {
    a_turn_is_there_after_a_restart(SessionStore::in_memory()).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_turn_is_there_after_a_restart_in_a_file() {
    let name = format!("stores-{}.db", std::process::id());
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let path = path.to_str().unwrap().to_owned();
    let store = SessionStore::open_sqlite(path.clone()).await.unwrap();
    a_turn_is_there_after_a_restart(store).await;
    let again = SessionStore::open_sqlite(path.clone()).await.unwrap();
    assert_eq!(again.turns(thread()).await.unwrap().len(), 2);
    for end in ["", "-wal", "-shm", "-lock"] {
        let _ = std::fs::remove_file(format!("{path}{end}"));
    }
    let refused = SessionStore::open_sqlite("/no such directory/a.db".to_owned()).await;
    assert!(
        matches!(refused, Err(StepwellError::Store { .. })),
        "{refused:?}"
    );
}

/// The driver of a turn keeps it, until the user starts another elsewhere: then the driver's next write is too late.
#[tokio::test]
async fn a_turn_is_its_owners_until_the_user_moves_on_elsewhere() {
    let script = Script::new().hop(call()).hop(Hop::new().text("It is 42"));
    let mock = start(script).await;
    let store = app::store();
    let held = Held::new();
    let old = agent(&mock, &store, Tool(Some(Arc::clone(&held))));
    let lost = say(&old, "What is the number?");
    held.begun.acquire().await.unwrap().forget();

    let new = agent(&mock, &store, Tool(None));
    assert_eq!(new.recover().await.unwrap().len(), 0);
    let say = |when_busy| {
        let options = TurnOptions {
            when_busy,
            ..TurnOptions::default()
        };
        say_with(&conversation(&new), "Never mind", options)
    };
    let Outcome::Failed { failure, .. } = end(&say(None)).await.1 else {
        panic!("it is under way elsewhere");
    };
    assert_eq!(failure, Failure::Busy);
    let turn = say(Some(WhenBusy::Cancel));
    assert_eq!(end(&turn).await.1, Outcome::Success);

    held.may_end.add_permits(1);
    let (events, outcome) = end(&lost).await;
    assert_eq!(outcome, Outcome::Cancelled);
    let is_refusal = |event: &Event| matches!(event, Event::Warning { message } if message.contains("has generation 2 by now, and the writer has 1") || message.contains("has ended"));
    assert!(events.iter().any(is_refusal), "{events:?}");

    let view = store.view(thread(), None).await.unwrap();
    let statuses = view.turns.iter().map(|turn| turn.status);
    let statuses: Vec<_> = statuses.collect();
    assert_eq!(statuses, [TurnStatus::Cancelled, TurnStatus::Complete]);
    assert_eq!(view.messages.last().unwrap().text, "It is 42");
    assert_eq!(new.recover().await.unwrap().len(), 0);
    assert_eq!(mock.requests().len(), 2);
}

#[tokio::test]
async fn what_was_said_is_said_otherwise() {
    let script = Script::new()
        .hop(Hop::new().text("Bergen"))
        .hop(Hop::new().text("Rain"))
        .hop(Hop::new().text("Sun"));
    let mock = start(script).await;
    let store = app::runner_store();
    let agent = conversation(&agent(&mock, &store, Tool(None)));
    for said in ["Where?", "And the weather?"] {
        let turn = say_with(&agent, said, TurnOptions::default());
        assert_eq!(end(&turn).await.1, Outcome::Success);
    }
    let turns = store.turns(thread()).await.unwrap();
    let edited = agent
        .resend(
            turns[1].id.clone(),
            "And tomorrow?".into(),
            TurnOptions::default(),
            Vec::new(),
            Vec::new(),
        )
        .await
        .unwrap();
    assert_eq!(end(&edited).await.1, Outcome::Success);
    let turns = store.turns(thread()).await.unwrap();
    assert_eq!(turns.len(), 3);
    assert_eq!(turns[2].parent, turns[1].parent);
    assert_eq!(turns[2].parent, Some(turns[0].id.clone()));
    let texts = |view: stepwell_ffi::SessionView| {
        let texts = view.messages.into_iter().map(|message| message.text);
        texts.collect::<Vec<_>>()
    };
    let shown = texts(store.view(thread(), None).await.unwrap());
    assert_eq!(shown, ["Where?", "Bergen", "And tomorrow?", "Sun"]);
    let before = Some(turns[1].id.clone());
    let before = texts(store.view(thread(), before).await.unwrap());
    assert_eq!(before, ["Where?", "Bergen", "And the weather?", "Rain"]);
    let unknown = agent
        .resend(
            "no such".into(),
            "?".into(),
            TurnOptions::default(),
            Vec::new(),
            Vec::new(),
        )
        .await;
    assert!(
        matches!(unknown, Err(StepwellError::Store { .. })),
        "{unknown:?}"
    );

    store
        .rename_thread(thread(), "Weather".into())
        .await
        .unwrap();
    let record = store.thread(thread()).await.unwrap().unwrap();
    assert_eq!(record.title.as_deref(), Some("Weather"));
    assert!(agent.delete().await.unwrap());
    assert_eq!(store.thread(thread()).await.unwrap(), None);
    assert!(!store.delete_thread(thread()).await.unwrap());
}

#[test]
fn how_often_a_write_is_tried_is_for_the_app_to_say() {
    let mut often = config("http://localhost/v1");
    often.persist_attempts = Some(9);
    of_config(often, &SessionStore::in_memory(), Tool(None));
}

#[tokio::test]
async fn a_turn_may_be_let_go_of() {
    let mock = start(Script::new().hop(call()).hop(Hop::new().text("Done"))).await;
    let store = SessionStore::in_memory();
    let held = Held::new();
    let agent = agent(&mock, &store, Tool(Some(Arc::clone(&held))));
    let turn = say(&agent, "Go");
    held.begun.acquire().await.unwrap().forget();
    turn.detach().await;
    drop(turn);
    held.may_end.add_permits(1);
    let mut changes = store.inner().subscribe(&thread().into()).await.unwrap();
    while store
        .thread(thread())
        .await
        .unwrap()
        .unwrap()
        .unfinished
        .is_some()
    {
        changes.changed().await;
    }
    let turns = store.turns(thread()).await.unwrap();
    assert_eq!(turns[0].status, TurnStatus::Complete);
}
