//! Turns whose store fails. Time is injected while a turn waits: nothing else is under way then.

mod asked_again;
mod begun_again;
mod compactions;
mod dropped_logs;
mod gone_on;
mod hosts;
mod model;
mod replies;
mod rests;

use crate::engine::{DriverSetup, Engine, EngineError, LocalEngine, NewTurn, Origin, Parent};
use crate::turn::agent::TurnAgent;
use crate::turn::brought::Brought;
use crate::turn::ending::custom;
use crate::turn::event_writer::{EventWriter, Log, Written};
use crate::turn::store_trouble::StoreTrouble;
use crate::turn::stored::{Fact, watched};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::event::{Message, RunStarted, ToolDefinition};
use stepwell_core::run::{BlockContent, Outcome, TurnStatus};
use stepwell_core::session::Turn;
use stepwell_core::{Timestamp, ToolCallId};
use stepwell_io::AgentBuilder;
use stepwell_io::store::{
    EventStore, Generation, MemoryStore, PersistBatch, Store, StoreError, StoreFuture, StoreLayer,
    TurnKey, TurnStore,
};
use stepwell_io::turn::StoredTurn;
use stepwell_mock_llm::MockLlm;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const STORE_TIMEOUT: Duration = Duration::from_secs(60);

/// A store that fails with this error: for writes of results and all that comes after, until it is repaired.
#[derive(Clone, Debug)]
struct Failing {
    inner: MemoryStore,
    error: Arc<Mutex<Option<StoreError>>>,
    /// The store fails from the first result on.
    armed: Arc<Mutex<Option<StoreError>>>,
    begin: Arc<Mutex<Option<StoreError>>>,
}

impl Failing {
    fn new() -> Self {
        Self {
            inner: MemoryStore::new(),
            error: Arc::default(),
            armed: Arc::default(),
            begin: Arc::default(),
        }
    }

    fn from_the_first_result(error: &StoreError) -> Self {
        let store = Self::new();
        *store.armed.lock().unwrap() = Some(error.clone());
        store
    }

    fn mend(&self) {
        *self.error.lock().unwrap() = None;
        *self.armed.lock().unwrap() = None;
    }

    fn fail<T: Send + 'static>(&self) -> Option<StoreFuture<'_, T>> {
        let error = self.error.lock().unwrap().clone()?;
        Some(Box::pin(std::future::ready(Err(error))))
    }
}

impl StoreLayer for Failing {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.inner
    }

    fn begin_turn<'a>(
        &'a self,
        turn: &'a stepwell_io::store::NewTurn,
    ) -> StoreFuture<'a, Generation> {
        match self.begin.lock().unwrap().clone() {
            Some(error) => Box::pin(std::future::ready(Err(error))),
            None => self.inner.begin_turn(turn),
        }
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        let mut blocks = batch.blocks.iter();
        if blocks.any(|block| matches!(block.content, BlockContent::ToolResult { .. })) {
            let armed = self.armed.lock().unwrap().take();
            if armed.is_some() {
                *self.error.lock().unwrap() = armed;
            }
        }
        match self.fail() {
            Some(failed) => failed,
            None => self.inner.persist(turn, generation, batch),
        }
    }

    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        match self.fail() {
            Some(failed) => failed,
            None => self.inner.append_events(turn, generation, first, events),
        }
    }
}

fn errors() -> [(StoreError, StoreTrouble); 3] {
    let message = || "of the test".to_owned();
    [
        (
            StoreError::Unavailable { message: message() },
            StoreTrouble::Unavailable,
        ),
        (StoreError::Full { message: message() }, StoreTrouble::Full),
        (
            StoreError::ReadOnly { message: message() },
            StoreTrouble::ReadOnly,
        ),
    ]
}

async fn engine(store: &Failing, store_timeout: Duration) -> (MockLlm, LocalEngine) {
    engine_on(Arc::new(store.clone()), store_timeout).await
}

pub(crate) async fn engine_on(
    store: Arc<dyn Store>,
    store_timeout: Duration,
) -> (MockLlm, LocalEngine) {
    let (model, base) = model::with_numbers().await;
    let setup = setup_of(base, store, store_timeout);
    (model, LocalEngine::new(setup))
}

fn setup_of(base: AgentBuilder, store: Arc<dyn Store>, store_timeout: Duration) -> DriverSetup {
    let time = Duration::from_secs(3_600);
    DriverSetup {
        store,
        is_durable: true,
        owner: Uuid::new_v4().to_string(),
        agent: Some(Arc::new(TurnAgent::new(base))),
        offered: Vec::new(),
        observer: None,
        journals: None,
        most: 10,
        waiting: 100,
        run_time: time,
        interrupt_time: time,
        linger: None,
        store_timeout,
        elsewhere: None,
    }
}

pub(crate) fn new_turn() -> NewTurn {
    NewTurn {
        thread: "t".into(),
        turn: "r".into(),
        origin: said("What are the numbers?"),
        agent: None,
        base: None,
        brought: Brought::default(),
        whole_history: false,
    }
}

/// A message of the user, after all that the thread has.
pub(crate) fn said(text: &str) -> Origin {
    Origin::Stored(Parent::Latest, Some(Box::new(Message::user("m", text))))
}

fn key() -> TurnKey {
    TurnKey::new(stepwell_io::ThreadKey::from("t"), "r")
}

/// Begins a turn, and stops the clock when it waits for its store.
async fn waiting(engine: &LocalEngine) -> StoreTrouble {
    engine.start(new_turn()).await.unwrap();
    let mut trouble = engine.trouble(&key()).unwrap();
    let trouble = *trouble.wait_for(Option::is_some).await.unwrap();
    tokio::time::pause();
    trouble.unwrap()
}

/// Resumes the clock, and waits until the turn has ended.
async fn ended(engine: &LocalEngine) {
    tokio::time::resume();
    engine.close(Duration::from_secs(60)).await;
}

async fn stored(store: &Failing) -> (Turn, Vec<Value>) {
    let turn = store.inner.turn(&key()).await.unwrap().unwrap();
    for (number, block) in turn.blocks.iter().enumerate() {
        assert_eq!(block.block.sequence, number as u64);
    }
    let events = store.inner.events(&key(), None, 10_000).await.unwrap();
    let events = events.into_iter().zip(0..).map(|(event, index)| {
        assert_eq!(event.index, index);
        serde_json::from_str(&event.data).unwrap()
    });
    (turn, events.collect())
}

fn results(turn: &Turn) -> usize {
    let blocks = turn.blocks.iter();
    blocks
        .filter(|block| matches!(block.block.content, BlockContent::ToolResult { .. }))
        .count()
}

fn warnings(events: &[Value]) -> Vec<&str> {
    let custom = events.iter().filter(|event| event["name"] == "warning");
    custom
        .map(|event| event["value"]["code"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_turn_outlives_a_store_that_is_away_for_ten_seconds() {
    for (error, expected) in errors() {
        let store = Failing::from_the_first_result(&error);
        let (model, engine) = engine(&store, STORE_TIMEOUT).await;
        assert_eq!(waiting(&engine).await, expected);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(model.requests().len(), 1, "nothing is built on it");
        store.mend();
        ended(&engine).await;
        let (turn, events) = stored(&store).await;
        assert_eq!(turn.outcome, Some(Outcome::Success));
        assert_eq!(results(&turn), 2);
        assert_eq!(warnings(&events), [expected_code(expected)]);
        let end = events.last().unwrap();
        assert_eq!(end["type"], "RUN_FINISHED", "{end}");
    }
}

fn expected_code(trouble: StoreTrouble) -> &'static str {
    match trouble {
        StoreTrouble::Full => "store_full",
        StoreTrouble::ReadOnly => "store_read_only",
        StoreTrouble::Unavailable => "store_unavailable",
    }
}

#[tokio::test]
async fn a_turn_that_has_waited_long_enough_fails_and_loses_nothing() {
    for (error, _) in errors() {
        for longest in [STORE_TIMEOUT, Duration::ZERO] {
            let store = Failing::from_the_first_result(&error);
            let (model, engine) = engine(&store, longest).await;
            waiting(&engine).await;
            tokio::time::advance(longest + Duration::from_secs(1)).await;
            let (turn, _) = stored(&store).await;
            assert_eq!(turn.status, TurnStatus::Streaming, "it cannot be stored");
            store.mend();
            ended(&engine).await;
            let (turn, events) = stored(&store).await;
            assert_eq!(turn.status, TurnStatus::Cancelled);
            assert_eq!(results(&turn), 2, "what the tools gave is there");
            assert_eq!(model.requests().len(), 1);
            let end = events.last().unwrap();
            assert_eq!(end["type"], "RUN_ERROR", "{end}");
            assert_eq!(end["code"], "store_unavailable");
        }
    }
}

#[tokio::test]
async fn a_host_that_stops_leaves_a_turn_that_waits_to_the_next_start() {
    let (error, _) = &errors()[0];
    let store = Failing::from_the_first_result(error);
    let (_model, first) = engine(&store, STORE_TIMEOUT).await;
    waiting(&first).await;
    first.close(Duration::ZERO).await;
    tokio::time::resume();
    let (turn, events) = stored(&store).await;
    assert_eq!(turn.status, TurnStatus::Streaming);
    assert_eq!(results(&turn), 0);
    let told = events
        .iter()
        .filter(|event| event["type"] == "TOOL_CALL_RESULT");
    assert_eq!(told.count(), 0, "no result is told that is not stored");
    store.mend();
    let (_model, second) = engine(&store, STORE_TIMEOUT).await;
    second.recover().await.unwrap();
    second.take_over().await.unwrap();
    second.close(Duration::from_secs(60)).await;
    let (turn, events) = stored(&store).await;
    assert_eq!(turn.outcome, Some(Outcome::Success));
    assert_eq!(results(&turn), 2);
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
}

/// Waits until a call of a client's tool waits for its result.
async fn deferred(store: &Failing) -> ToolCallId {
    let mut changes = store.inner.subscribe(&key().thread).await.unwrap();
    loop {
        let events = store.inner.events(&key(), None, 100).await.unwrap();
        for event in events {
            let event: Value = serde_json::from_str(&event.data).unwrap();
            if event["value"]["status"] == "deferred" {
                return event["value"]["toolCallId"].as_str().unwrap().into();
            }
        }
        changes.changed().await;
    }
}

#[tokio::test]
async fn a_result_that_cannot_be_stored_is_an_error_in_time() {
    let (error, _) = &errors()[1];
    let store = Failing::from_the_first_result(error);
    let (_model, engine) = engine(&store, STORE_TIMEOUT).await;
    let tools = ["get_location", "set_theme"].map(|name| ToolDefinition {
        name: name.to_owned(),
        description: "Of the app.".to_owned(),
        ..ToolDefinition::default()
    });
    let turn = NewTurn {
        origin: said("Ask my app."),
        brought: Brought {
            client_tools: tools.to_vec(),
            ..Brought::default()
        },
        ..new_turn()
    };
    engine.start(turn).await.unwrap();
    let call = deferred(&store).await;
    tokio::time::pause();
    let key = key();
    let brought = engine.bring_result(&key, call, Ok("Patan".into()));
    let brought = tokio::time::timeout(Duration::from_secs(3_600), brought).await;
    assert!(
        matches!(
            brought,
            Ok(Err(EngineError::Store(StoreError::Unavailable { .. })))
        ),
        "{brought:?}"
    );
    tokio::time::advance(STORE_TIMEOUT).await;
    store.mend();
    ended(&engine).await;
    let (_, events) = stored(&store).await;
    let mut told = events.iter();
    assert!(told.any(|event| event["content"] == "Patan"), "{events:?}");
}

#[tokio::test]
async fn a_released_turn_does_not_report_what_is_not_stored() {
    let memory = MemoryStore::new();
    let new = stepwell_io::store::NewTurn::new(key(), "this host", Timestamp(1));
    let generation = memory.begin_turn(&new).await.unwrap();
    let store: Arc<dyn Store> = Arc::new(memory.clone());
    let (of_turn, stored) = watched(Arc::clone(&store), key(), &Brought::default(), None);
    let leave = CancellationToken::new();
    let log = Log {
        store,
        turn: StoredTurn {
            key: key(),
            generation,
        },
        stored,
        leave: leave.clone(),
        trouble: watch::Sender::default(),
    };
    let mut writer = EventWriter::stored(log, &Written::default());
    let started = RunStarted {
        thread_id: key().thread.thread,
        run_id: key().turn,
        ..RunStarted::default()
    };
    writer.append(started.into()).await;
    // The log is behind: the turn has released its store before the result is read.
    leave.cancel();
    drop(of_turn);
    let event = custom("tool_status", json!({ "status": "completed" }));
    writer.append_fact(event, Fact::Result("call".into())).await;
    writer.finish().await.unwrap();
    let told = memory.events(&key(), None, 10).await.unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
}

#[tokio::test]
async fn a_turn_that_cannot_begin_is_refused_with_the_reason() {
    let busy = StoreError::Busy {
        turn: "other".into(),
        generation: Generation::FIRST,
        owner: "other host".to_owned(),
    };
    let (full, _) = &errors()[1];
    for error in [busy, full.clone()] {
        let store = Failing::new();
        *store.begin.lock().unwrap() = Some(error.clone());
        let (model, engine) = engine(&store, Duration::ZERO).await;
        match engine.start(new_turn()).await {
            Err(EngineError::Store(refused)) => assert_eq!(refused, error),
            other => panic!("{other:?}"),
        }
        assert!(model.requests().is_empty());
    }
}
