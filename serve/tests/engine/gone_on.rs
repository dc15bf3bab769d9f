//! A turn reported in runs whose host dies while it continues the turn: the host has stored what a run brought, and has
//! not reported that the run begins.

use crate::engine::tests::{model, setup_of};
use crate::engine::{
    Command, Continued, Engine, EngineError, GoesOn, LocalEngine, NewTurn, Origin,
};
use crate::turn::brought::{Brought, Given, RunTerms};
use crate::{AgUiServer, ClientTrust};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::run::BlockContent;
use stepwell_core::session::TurnBlock;
use stepwell_core::transcript::Transcript;
use stepwell_core::{Timestamp, ToolCallId};
use stepwell_io::store::{
    EventStore, Generation, MemoryStore, PersistBatch, Store, StoreFuture, StoreLayer, TurnKey,
    TurnStore, Unfinished,
};
use stepwell_mock_llm::MockLlm;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// A store whose log stays as it is from a moment on, as if its host had died.
#[derive(Clone, Debug)]
struct Mute(MemoryStore, Arc<AtomicBool>);

impl StoreLayer for Mute {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.0
    }

    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        match self.1.load(Ordering::SeqCst) {
            true => Box::pin(std::future::pending()),
            false => self.0.append_events(turn, generation, first, events),
        }
    }
}

/// A store that takes this number of further steps, as if its host died after them.
#[derive(Clone, Debug)]
struct StopsAfter(MemoryStore, Arc<AtomicUsize>);

impl StoreLayer for StopsAfter {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.0
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        let left = self.1.load(Ordering::SeqCst);
        if left == 0 {
            return Box::pin(std::future::pending());
        }
        self.1.store(left - 1, Ordering::SeqCst);
        self.0.persist(turn, generation, batch)
    }
}

struct Host {
    _model: MockLlm,
    engine: LocalEngine,
    is_mute: Arc<AtomicBool>,
}

async fn host(store: &MemoryStore) -> Host {
    let is_mute = Arc::new(AtomicBool::default());
    let mute = Mute(store.clone(), Arc::clone(&is_mute));
    let host = host_on(Arc::new(mute)).await;
    Host { is_mute, ..host }
}

async fn host_on(store: Arc<dyn Store>) -> Host {
    let (model, base) = model::with_numbers().await;
    let engine = LocalEngine::new(setup_of(base, store, Duration::ZERO));
    Host {
        _model: model,
        engine,
        is_mute: Arc::default(),
    }
}

fn terms(run: &str) -> Brought {
    let terms: RunTerms = serde_json::from_value(json!({ "id": run })).unwrap();
    Brought {
        run: Some(terms),
        ..Brought::default()
    }
}

fn new_turn() -> NewTurn {
    NewTurn {
        thread: "t".into(),
        turn: "r1".into(),
        origin: Origin::History(Box::new(Transcript::new(vec![Message::user(
            "m", "change",
        )]))),
        agent: None,
        base: None,
        brought: terms("r1"),
        whole_history: false,
    }
}

fn goes_on(run: &str, question: &Value) -> Command {
    let entry = json!({
        "interruptId": question,
        "status": "resolved",
        "payload": { "approved": true },
    });
    Command::Continue(Box::new(Continued {
        brought: Brought {
            given: Given {
                answers: vec![serde_json::from_value(entry).unwrap()],
                results: Vec::new(),
            },
            ..terms(run)
        },
        agent: None,
        base: None,
    }))
}

async fn events(store: &MemoryStore, key: &TurnKey) -> Vec<Value> {
    let events = store.events(key, None, 1_000).await.unwrap().into_iter();
    events
        .map(|event| serde_json::from_str(&event.data).unwrap())
        .collect()
}

/// Waits until the store holds this of the turn.
async fn until(store: &MemoryStore, key: &TurnKey, holds: impl AsyncFn() -> bool) {
    let mut changes = store.subscribe(&key.thread).await.unwrap();
    while !holds().await {
        changes.changed().await;
    }
}

/// Begins a turn that waits for its user at the end of its first run, and gives the question's id.
async fn asks(store: &MemoryStore, host: &Host) -> (TurnKey, Value) {
    let key = host.engine.start(new_turn()).await.unwrap();
    until(store, &key, async || {
        let told = events(store, &key).await;
        told.last()
            .is_some_and(|last| last["type"] == "RUN_FINISHED")
    })
    .await;
    let told = events(store, &key).await;
    let question = told.last().unwrap()["outcome"]["interrupts"][0]["id"].clone();
    (key, question)
}

/// Returns a turn whose host has stored what `r2` answers, and the result of it, and dies before it could report them:
/// the turn as it was left, the number of events in its log, and the question that was answered.
async fn left(store: &MemoryStore) -> (Unfinished, usize, Value) {
    let first = host(store).await;
    let (key, question) = asks(store, &first).await;
    first.is_mute.store(true, Ordering::SeqCst);
    let told = {
        let (engine, key) = (first.engine.clone(), key.clone());
        let command = goes_on("r2", &question);
        tokio::spawn(async move { engine.tell(&key, command).await })
    };
    until(store, &key, async || {
        let turn = store.turn(&key).await.unwrap().unwrap();
        serde_json::to_string(&turn)
            .unwrap()
            .contains("tool_result")
    })
    .await;
    told.abort();
    let log = events(store, &key).await.len();
    let thread = store.thread(&key.thread).await.unwrap().unwrap();
    (thread.unfinished.unwrap(), log, question)
}

#[tokio::test]
async fn a_run_with_stored_answers_is_reported_completely_by_the_next_host() {
    let store = MemoryStore::new();
    let (left, log, question) = left(&store).await;
    let key = left.key.clone();
    let second = host(&store).await;
    let active = second.engine.0.adopt(left, GoesOn::default()).await;
    active.unwrap().ended.cancelled().await;
    let told = events(&store, &key).await.split_off(log);
    assert_eq!(told[0]["type"], "RUN_STARTED", "{told:#?}");
    assert_eq!(told[0]["runId"], "r2", "{told:#?}");
    let count = |wanted: &dyn Fn(&&Value) -> bool| told.iter().filter(wanted).count();
    let results = count(&|event| event["type"] == "TOOL_CALL_RESULT");
    assert_eq!(results, 1, "{told:#?}");
    let is_answer = |event: &&Value| event["name"] == "interrupt_answered";
    let answers = count(&|event| is_answer(event) && event["value"]["interruptId"] == question);
    assert_eq!(answers, 1, "{told:#?}");
    assert_eq!(told.last().unwrap()["type"], "RUN_FINISHED", "{told:#?}");
    let starts = count(&|event| event["type"] == "RUN_STARTED");
    assert_eq!(starts, 1, "{told:#?}");
}

#[tokio::test]
async fn a_client_that_posts_the_run_again_comes_back_to_it_and_another_run_does_not_take_its_place()
 {
    for (run, goes) in [("r2", true), ("r3", false)] {
        let store = MemoryStore::new();
        let (left, log, question) = left(&store).await;
        let key = left.key.clone();
        let second = host(&store).await;
        let (told, heard) = oneshot::channel();
        let why = GoesOn {
            command: Some((goes_on(run, &question), told)),
            ..GoesOn::default()
        };
        let active = second.engine.0.adopt(left, why).await.unwrap();
        match heard.await.unwrap() {
            Ok(()) => assert!(goes, "{run}"),
            Err(EngineError::Contended) => assert!(!goes, "{run}"),
            Err(error) => panic!("{run}: {error}"),
        }
        active.ended.cancelled().await;
        let told = events(&store, &key).await.split_off(log);
        let runs = told.iter().filter(|event| event["type"] == "RUN_STARTED");
        let runs: Vec<_> = runs.map(|event| event["runId"].clone()).collect();
        assert_eq!(runs, ["r2"], "{told:#?}");
        assert_eq!(told.last().unwrap()["type"], "RUN_FINISHED", "{told:#?}");
    }
}

#[tokio::test]
async fn a_partly_stored_run_continues_on_the_next_host() {
    let store = MemoryStore::new();
    let first = host(&store).await;
    let tools = ["get_location", "set_theme"].map(|name| ToolDefinition {
        name: name.to_owned(),
        description: "Of the app.".to_owned(),
        ..ToolDefinition::default()
    });
    let new = NewTurn {
        origin: Origin::History(Box::new(Transcript::new(vec![Message::user(
            "m",
            "Ask my app.",
        )]))),
        brought: Brought {
            client_tools: tools.to_vec(),
            ..terms("r1")
        },
        ..new_turn()
    };
    let key = first.engine.start(new).await.unwrap();
    let pending = async || {
        let told = events(&store, &key).await;
        let end = told.last().cloned().unwrap_or_default();
        serde_json::from_value(end["outcome"]["pendingToolCallIds"].clone())
    };
    until(&store, &key, async || pending().await.is_ok()).await;
    let calls: Vec<ToolCallId> = pending().await.unwrap();
    assert_eq!(calls.len(), 2);
    // Its host stores the first result, and no more.
    let results = calls.iter().map(|call| (call.clone(), Ok("done".into())));
    let brought = Brought {
        client_tools: tools.to_vec(),
        given: Given {
            answers: Vec::new(),
            results: results.collect(),
        },
        ..terms("r2")
    };
    let stops = StopsAfter(store.clone(), Arc::new(AtomicUsize::new(1)));
    let second = host_on(Arc::new(stops)).await;
    let told = {
        let (engine, key) = (second.engine.clone(), key.clone());
        let command = Command::Continue(Box::new(Continued {
            brought,
            agent: None,
            base: None,
        }));
        tokio::spawn(async move { engine.tell(&key, command).await })
    };
    let results = async || {
        let turn = store.turn(&key).await.unwrap().unwrap();
        let blocks = turn.blocks.iter();
        let is_result =
            |block: &&TurnBlock| matches!(block.block.content, BlockContent::ToolResult { .. });
        blocks.filter(is_result).count()
    };
    until(&store, &key, async || results().await == 1).await;
    told.abort();
    let thread = store.thread(&key.thread).await.unwrap().unwrap();
    let third = host(&store).await;
    let left = thread.unfinished.unwrap();
    let active = third.engine.0.adopt(left, GoesOn::default()).await;
    active.unwrap().ended.cancelled().await;
    assert_eq!(results().await, 2);
    let told = events(&store, &key).await;
    let mut begun = told.iter().skip_while(|event| event["runId"] != "r2");
    let snapshot = begun.find(|event| event["type"] == "MESSAGES_SNAPSHOT");
    let snapshot = snapshot.unwrap()["messages"].to_string();
    for call in &calls {
        // The client has both, and does not receive them again.
        assert!(snapshot.contains(&format!("\"toolCallId\":\"{call}\"")));
        let is_result = |event: &Value| {
            event["type"] == "TOOL_CALL_RESULT" && event["toolCallId"] == call.as_str()
        };
        assert!(!begun.clone().any(is_result), "{told:#?}");
    }
    let last = told.last().unwrap();
    assert_eq!(last["runId"], "r2", "{told:#?}");
    assert_eq!(last["outcome"]["type"], "success", "{told:#?}");
    assert_eq!(last["outcome"].get("pendingToolCallIds"), None, "{told:#?}");
}

#[tokio::test]
async fn a_chat_whose_run_has_begun_and_said_nothing_yet_is_one_under_way() {
    let store = MemoryStore::new();
    let key = TurnKey::new("t", "r1");
    let new = stepwell_io::store::NewTurn::new(key.clone(), "host", Timestamp(1));
    let generation = store.begin_turn(&new).await.unwrap();
    let host = host(&store).await;
    let time = Duration::from_secs(60);
    let engine = Arc::new(host.engine.clone());
    let server = AgUiServer::of_engine(engine, ClientTrust::default(), time, time);
    let close = CancellationToken::new();
    let comes = server.latest_chat(&key.thread, close);
    let says = async {
        tokio::task::yield_now().await;
        let begins = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r1"});
        let said = [begins.to_string()];
        let said = store.append_events(&key, generation, 0, &said).await;
        said.unwrap();
    };
    let (stream, ()) = futures::join!(comes, says);
    assert!(stream.unwrap().is_some());
}
