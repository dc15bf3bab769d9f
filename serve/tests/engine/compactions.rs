//! Turns whose conversation is compacted: each compaction is reported once, whichever host stored it.

use crate::engine::tests::{engine_on, new_turn, said, setup_of};
use crate::engine::{DriverSetup, Engine, GoesOn, LocalEngine, NewTurn};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::{BlockContent, CompactionWay, SummaryPolicy, TurnStatus};
use stepwell_io::store::{
    EventStore, Generation, MemoryStore, PersistBatch, Store, StoreError, StoreFuture, StoreLayer,
    TurnKey, TurnStore,
};
use stepwell_io::{Agent, provider};
use stepwell_mock_llm::{Hop, MockLlm, Script};
use tokio::sync::watch;

/// A store that takes no events from the first compaction on.
#[derive(Clone, Debug)]
struct Mute {
    inner: MemoryStore,
    is_compacted: watch::Sender<bool>,
}

impl StoreLayer for Mute {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.inner
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        let mut blocks = batch.blocks.iter();
        if blocks.any(|block| matches!(block.content, BlockContent::Compacted { .. })) {
            self.is_compacted.send_replace(true);
        }
        self.inner.persist(turn, generation, batch)
    }

    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        if *self.is_compacted.borrow() {
            let message = "of the test".to_owned();
            return Box::pin(std::future::ready(Err(StoreError::Unavailable { message })));
        }
        self.inner.append_events(turn, generation, first, events)
    }
}

/// Starts a model, and a host whose turns ask it and have their older messages summarised.
async fn host(store: Arc<dyn Store>, elsewhere: Option<&'static str>) -> (MockLlm, LocalEngine) {
    host_with(store, elsewhere, Hop::new().text("Yes.").usage(900, 10)).await
}

/// The same with this answer of the model.
async fn host_with(
    store: Arc<dyn Store>,
    elsewhere: Option<&'static str>,
    answer: Hop,
) -> (MockLlm, LocalEngine) {
    let script = Script::new()
        .scene("user", [Hop::new().text("They counted.")])
        .hop(answer)
        .repeat();
    let model = MockLlm::start(script).await.unwrap();
    let provider = provider::find("openai-compatible").unwrap();
    let url = model.base_url();
    let endpoint = provider.endpoint(None, "m", Some(&url), None).unwrap();
    let agent = Agent::builder(endpoint)
        .compaction([CompactionWay::Summary(SummaryPolicy::default())])
        .configure(|config| config.context_guard.window = Some(1_000));
    let setup = DriverSetup {
        elsewhere,
        ..setup_of(agent, store, Duration::from_secs(60))
    };
    (model, LocalEngine::new(setup))
}

/// Begins a turn. The first one has a text that nearly fills the context.
async fn begin(engine: &LocalEngine, turn: &str, whole_history: bool) -> TurnKey {
    let text = if turn == "r1" {
        "x".repeat(2_500)
    } else {
        "Go on".to_owned()
    };
    let mut origin = said(&text);
    if let crate::engine::Origin::Stored(_, Some(message)) = &mut origin {
        **message = stepwell_core::event::Message::user(format!("{turn}-user"), text);
    }
    let new = NewTurn {
        turn: turn.into(),
        origin,
        whole_history,
        ..new_turn()
    };
    engine.start(new).await.unwrap()
}

async fn run(engine: &LocalEngine, store: &MemoryStore, turn: &str, whole_history: bool) {
    let key = begin(engine, turn, whole_history).await;
    ended(store, &key).await;
}

/// Waits until the log of a turn has its end.
async fn ended(store: &MemoryStore, key: &TurnKey) -> Vec<Value> {
    let mut changes = store.subscribe(&key.thread).await.unwrap();
    loop {
        let events = store.events(key, None, 1_000).await.unwrap().into_iter();
        let events: Vec<Value> = events
            .map(|event| serde_json::from_str(&event.data).unwrap())
            .collect();
        let end = events.last().map(|last| last["type"].as_str().unwrap());
        if matches!(end, Some("RUN_FINISHED" | "RUN_ERROR")) {
            let turn = store.turn(key).await.unwrap().unwrap();
            assert_eq!(turn.status, TurnStatus::Complete, "{events:#?}");
            return events;
        }
        changes.changed().await;
    }
}

fn trimmed(events: &[Value]) -> Vec<&Value> {
    let reports = events.iter();
    let reports = reports.filter(|event| event["name"] == "context_trimmed");
    reports.map(|event| &event["value"]).collect()
}

fn position(events: &[Value], is_it: impl Fn(&Value) -> bool) -> usize {
    events.iter().position(is_it).expect("the event is there")
}

#[tokio::test]
async fn a_compaction_is_reported_before_the_answer() {
    let store = MemoryStore::new();
    let (model, engine) = host(Arc::new(store.clone()), None).await;
    run(&engine, &store, "r1", false).await;
    let key = begin(&engine, "r2", false).await;
    let events = ended(&store, &key).await;
    let [value] = trimmed(&events)[..] else {
        panic!("{events:#?}");
    };
    assert_eq!(value["summary"], "They counted.");
    assert!(value["through"].is_string(), "{value}");
    assert_eq!(value.get("undone"), None);
    let report = position(&events, |event| event["name"] == "context_trimmed");
    assert!(report < position(&events, |event| event["type"] == "TEXT_MESSAGE_START"));
    let request = model.requests()[2].body.to_string();
    assert!(request.contains("They counted.") && !request.contains("xxx"));
}

#[tokio::test]
async fn a_turn_with_the_whole_history_undoes_the_compaction() {
    let store = MemoryStore::new();
    let (model, engine) = host(Arc::new(store.clone()), None).await;
    run(&engine, &store, "r1", false).await;
    run(&engine, &store, "r2", false).await;
    let key = begin(&engine, "r3", true).await;
    let events = ended(&store, &key).await;
    // The conversation does not fit: it is compacted again.
    let [undone, again] = trimmed(&events)[..] else {
        panic!("{events:#?}");
    };
    assert_eq!(*undone, json!({ "undone": true }));
    assert_eq!(again["summary"], "They counted.");
    let summary = model.requests()[3].body.to_string();
    assert!(summary.contains("xxx") && !summary.contains("Summary of the messages"));
}

#[tokio::test]
async fn the_next_host_reports_a_stored_compaction_once() {
    let inner = MemoryStore::new();
    let (_model, first) = host(Arc::new(inner.clone()), None).await;
    run(&first, &inner, "r1", false).await;
    let mute = Mute {
        inner: inner.clone(),
        is_compacted: watch::Sender::default(),
    };
    let silent = Hop::new().stall();
    let (_model, second) = host_with(Arc::new(mute.clone()), None, silent).await;
    let key = begin(&second, "r2", false).await;
    let mut is_compacted = mute.is_compacted.subscribe();
    is_compacted
        .wait_for(|is_compacted| *is_compacted)
        .await
        .unwrap();
    second.close(Duration::ZERO).await;
    let log = inner.events(&key, None, 1_000).await.unwrap();
    assert!(
        !log.iter()
            .any(|event| event.data.contains("context_trimmed"))
    );
    let (_model, third) = host(Arc::new(inner.clone()), None).await;
    third.recover().await.unwrap();
    third.take_over().await.unwrap();
    let events = ended(&inner, &key).await;
    let [value] = trimmed(&events)[..] else {
        panic!("{events:#?}");
    };
    assert_eq!(value["summary"], "They counted.");
}

#[tokio::test]
async fn an_undo_that_another_host_stores_is_reported() {
    let store = MemoryStore::new();
    let (_model, first) = host(Arc::new(store.clone()), None).await;
    run(&first, &store, "r1", false).await;
    run(&first, &store, "r2", false).await;
    let (_model, lays) = host(Arc::new(store.clone()), Some("elsewhere")).await;
    let key = begin(&lays, "r3", true).await;
    let left = first.0.unfinished(&key).await.unwrap().unwrap();
    first.0.adopt(left, GoesOn::default()).await.unwrap();
    let events = ended(&store, &key).await;
    assert_eq!(
        *trimmed(&events)[0],
        json!({ "undone": true }),
        "{events:#?}"
    );
    assert_eq!(
        trimmed(&events).len(),
        2,
        "the undo, and another compaction: {events:#?}"
    );
}

#[tokio::test]
async fn a_turn_without_compactions_reports_none() {
    let store = MemoryStore::new();
    let (_model, engine) = engine_on(Arc::new(store.clone()), Duration::ZERO).await;
    let key = engine
        .start(NewTurn {
            whole_history: true,
            ..new_turn()
        })
        .await
        .unwrap();
    let events = ended(&store, &key).await;
    assert!(trimmed(&events).is_empty(), "{events:#?}");
}
