//! Replies of conversations in processes that are no hosts and share the store: `approve`, `deny` and `answer`.

use crate::engine::tests::{model, new_turn, said, setup_of};
use crate::engine::{DriverSetup, Engine, LocalEngine, NewTurn};
use crate::turn::brought::{Brought, RunTerms};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::{BlockContent, Outcome, Question};
use stepwell_core::session::Turn;
use stepwell_io::store::{EventStore, MemoryStore, TurnKey, TurnStore, pending};
use stepwell_io::tool::{Tool, ToolContext};
use stepwell_io::{AgentBuilder, Conversation, ErrorKind};
use stepwell_mock_llm::MockLlm;

/// A host, its model, and a conversation of its thread in another process.
struct Apart {
    _model: MockLlm,
    store: MemoryStore,
    engine: LocalEngine,
    conversation: Conversation,
}

async fn apart() -> Apart {
    let store = MemoryStore::new();
    let (model, base) = model::with_numbers().await;
    let base = base.tool(Tool::new("order_tea", "Orders tea."), order_tea);
    let setup = DriverSetup {
        linger: Some(Duration::from_secs(30)),
        ..setup_of(base.clone(), Arc::new(store.clone()), Duration::ZERO)
    };
    let engine = LocalEngine::new(setup);
    engine.open().await.unwrap();
    Apart {
        _model: model,
        conversation: elsewhere(base, &store),
        store,
        engine,
    }
}

async fn order_tea(call: ToolContext) -> Result<String, String> {
    let asked = call.ask(Question::choice("Which?", ["green", "black"]));
    let answer = asked.await.map_err(|error| error.to_string())?;
    Ok(format!("{answer:?}"))
}

fn elsewhere(base: AgentBuilder, store: &MemoryStore) -> Conversation {
    let agent = base.store(Arc::new(store.clone())).build().unwrap();
    agent.conversation("t")
}

impl Apart {
    /// Begins a turn, and waits until the log has what it asks. In runs, the run is over then.
    async fn asks(&self, text: &str, run: Option<&str>) -> TurnKey {
        let terms = run.map(|id| {
            let terms = json!({ "id": id, "is_background": true });
            serde_json::from_value::<RunTerms>(terms).unwrap()
        });
        let new = NewTurn {
            origin: said(text),
            brought: Brought {
                run: terms,
                ..Brought::default()
            },
            ..new_turn()
        };
        let key = self.engine.start(new).await.unwrap();
        let mut changes = self.store.subscribe(&key.thread).await.unwrap();
        loop {
            let events = self.events(&key).await;
            let is_asked = match run {
                Some(_) => events.iter().any(|event| event["type"] == "RUN_FINISHED"),
                None => events.iter().any(|event| event["name"] == "interrupt"),
            };
            if is_asked {
                return key;
            }
            changes.changed().await;
        }
    }

    async fn events(&self, key: &TurnKey) -> Vec<Value> {
        let events = self.store.events(key, None, 1_000).await.unwrap();
        let events = events.into_iter();
        events
            .map(|event| serde_json::from_str(&event.data).unwrap())
            .collect()
    }

    async fn waiting(&self) -> String {
        let waiting = pending(&self.store, "t").await.unwrap();
        waiting[0].id.clone()
    }

    async fn ended(&self, key: &TurnKey) -> (Turn, Vec<Value>) {
        let mut changes = self.store.subscribe(&key.thread).await.unwrap();
        loop {
            let turn = self.store.turn(key).await.unwrap().unwrap();
            if let Some(outcome) = &turn.outcome {
                assert_eq!(*outcome, Outcome::Success);
                self.engine.close(Duration::from_secs(60)).await;
                return (turn, self.events(key).await);
            }
            changes.changed().await;
        }
    }
}

fn result(turn: &Turn) -> String {
    let mut results = turn
        .blocks
        .iter()
        .filter_map(|block| match &block.block.content {
            BlockContent::ToolResult { content, .. } => Some(content.to_text()),
            _ => None,
        });
    results.next_back().expect("a result")
}

fn answered(events: &[Value]) -> Vec<&Value> {
    let answered = events
        .iter()
        .filter(|event| event["name"] == "interrupt_answered");
    answered.map(|event| &event["value"]["status"]).collect()
}

#[tokio::test]
async fn a_conversation_elsewhere_approves_a_call() {
    // A turn that is reported in runs is released while its call waits: it continues at the conversation.
    for run in [None, Some("run-1")] {
        let apart = apart().await;
        let key = apart.asks("change", run).await;
        let id = apart.waiting().await;
        apart.conversation.approve(id).await.unwrap();
        let (turn, events) = apart.ended(&key).await;
        assert!(result(&turn).contains("43"), "{turn:#?}");
        if run.is_none() {
            assert_eq!(answered(&events), ["resolved"]);
            assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
        }
    }
}

#[tokio::test]
async fn a_conversation_elsewhere_changes_the_arguments_or_denies() {
    let first = apart().await;
    let key = first.asks("change", None).await;
    let id = first.waiting().await;
    let unfit = first.conversation.approve_with(&*id, json!({ "name": 7 }));
    let unfit = unfit.await.expect_err("it does not fit");
    assert_eq!(unfit.kind(), ErrorKind::Misuse, "{unfit}");
    let changed = json!({ "name": "alice", "number": 44 });
    first.conversation.approve_with(id, changed).await.unwrap();
    let (turn, _) = first.ended(&key).await;
    assert!(result(&turn).contains("44"), "{turn:#?}");

    let second = apart().await;
    let key = second.asks("change", None).await;
    let id = second.waiting().await;
    let unknown = second.conversation.approve("another").await;
    let unknown = unknown.expect_err("nothing waits");
    assert_eq!(unknown.kind(), ErrorKind::Misuse, "{unknown}");
    let reason = Some("not today".to_owned());
    second.conversation.deny(id, reason).await.unwrap();
    let (turn, _) = second.ended(&key).await;
    assert!(result(&turn).contains("not today"), "{turn:#?}");
}

#[tokio::test]
async fn a_conversation_elsewhere_answers_a_question_or_declines_it() {
    for run in [None, Some("run-1")] {
        let first = apart().await;
        let key = first.asks("order", run).await;
        let id = first.waiting().await;
        let unfit = first.conversation.answer(&*id, "blue").await;
        let unfit = unfit.expect_err("it does not fit");
        assert_eq!(unfit.kind(), ErrorKind::Misuse, "{unfit}");
        first.conversation.answer(id, "green").await.unwrap();
        let (turn, _) = first.ended(&key).await;
        assert!(result(&turn).contains("green"), "{turn:#?}");
    }

    let second = apart().await;
    let key = second.asks("order", None).await;
    let id = second.waiting().await;
    let reason = Some("no time".to_owned());
    second.conversation.deny(id, reason).await.unwrap();
    let (turn, events) = second.ended(&key).await;
    assert!(result(&turn).contains("no time"), "{turn:#?}");
    assert_eq!(answered(&events), ["cancelled"]);
}
