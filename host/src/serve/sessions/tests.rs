use super::super::{EngineSettings, Host, Limits, Serving, SessionStore, scripted};
use crate::access::Access;
use crate::settings::Record;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::run::TurnStatus;
use stepwell_io::store::{
    EventStore, Generation, MemoryStore, NewTurn, PersistBatch, Store, StoreError, StoreFuture,
    StoreLayer, TurnKey, TurnStore,
};
use stepwell_io::{HttpClient, ThreadKey};
use stepwell_serve::ClientTrust;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tower_service::Service;

/// A store that holds the end of a turn's log back until it is let through.
#[derive(Debug)]
struct LateEnd {
    inner: MemoryStore,
    through: Semaphore,
}

impl StoreLayer for LateEnd {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.inner
    }

    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            if events.iter().any(|event| event.contains("RUN_FINISHED")) {
                let _through = self.through.acquire().await;
            }
            self.inner
                .append_events(turn, generation, first, events)
                .await
        })
    }
}

fn serving(store: Arc<dyn Store>) -> Serving {
    let minute = Duration::from_secs(60);
    Serving {
        engine: EngineSettings::Local,
        limits: Limits {
            body: 1 << 20,
            runs: 10,
            user_runs: None,
            user_threads: None,
            user_requests: None,
            user_waiting: 100,
            user_streams: None,
            connections: 10,
            header_timeout: minute,
            idle_timeout: minute,
            run_time: minute,
            interrupt_time: minute,
            linger: Some(minute),
            keep_events: None,
            store_timeout: minute,
            grace: minute,
        },
        sessions: SessionStore {
            store,
            label: "test".to_owned(),
            is_durable: false,
        },
        access: Access::default(),
        trust: ClientTrust::default(),
        origins: Vec::new(),
        hosts: Vec::new(),
        record: Record::Off,
        keep_alive: minute,
    }
}

/// The status of the answer, and what is in it.
async fn ask(mut router: Router, method: &str, path: &str, body: Value) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()));
    let Ok(answer) = router.call(request.unwrap()).await;
    let status = answer.status().as_u16();
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await;
    (status, serde_json::from_slice(&body.unwrap()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_view_of_an_ended_turn_has_its_complete_log() {
    let inner = MemoryStore::new();
    let store = Arc::new(LateEnd {
        inner: inner.clone(),
        through: Semaphore::new(0),
    });
    let (_model, backend) = scripted(None, HttpClient::new().unwrap()).await.unwrap();
    let serving = serving(Arc::clone(&store) as Arc<dyn Store>);
    let router = Host::open(backend, serving).await.unwrap().router();
    let key = TurnKey::new(ThreadKey::from("t"), "r");
    let mut changes = inner.subscribe(&key.thread).await.unwrap();
    let hello = json!({ "turnId": "r", "message": "hello" });
    let (status, said) = ask(router.clone(), "POST", "/threads/t/turns", hello).await;
    assert_eq!(status, 201, "{said}");
    while inner.turn(&key).await.unwrap().unwrap().status == TurnStatus::Streaming {
        changes.changed().await;
    }
    let shown = ask(router, "GET", "/threads/t", Value::Null);
    let mut shown = std::pin::pin!(shown);
    // The paused clock advances once no task runs.
    let early = timeout(Duration::from_secs(1), &mut shown).await;
    assert!(early.is_err(), "{early:?}");
    store.through.add_permits(1);
    let (status, shown) = shown.await;
    assert_eq!(status, 200, "{shown}");
    let events = inner.events(&key, None, 1_000).await.unwrap();
    assert_eq!(shown["thread"]["log"]["next"], events.len());
    let last: Value = serde_json::from_str(&events.last().unwrap().data).unwrap();
    assert_eq!(last["type"], "RUN_FINISHED");
}

/// Leaves a turn of a host that has died: it is over, and its log has no end.
async fn leave_cut(store: &MemoryStore, thread: &str) -> TurnKey {
    let key = TurnKey::new(thread, "r");
    let new = NewTurn::new(key.clone(), "gone", Timestamp(1));
    let generation = store.begin_turn(&new).await.unwrap();
    let last = PersistBatch {
        first: 0,
        blocks: Vec::new(),
        status: TurnStatus::Complete,
        outcome: None,
        checkpoint: String::new(),
        at: Timestamp(2),
        first_event: 0,
        events: Vec::new(),
    };
    store.persist(&key, generation, &last).await.unwrap();
    key
}

async fn last_event(store: &MemoryStore, key: &TurnKey) -> Option<Value> {
    let events = store.events(key, None, 1_000).await.unwrap();
    let last = events.last()?;
    Some(serde_json::from_str(&last.data).unwrap())
}

async fn open(store: Arc<dyn Store>, keep_alive: Duration) -> Router {
    let (_model, backend) = scripted(None, HttpClient::new().unwrap()).await.unwrap();
    let serving = Serving {
        keep_alive,
        ..serving(store)
    };
    Host::open(backend, serving).await.unwrap().router()
}

#[tokio::test(start_paused = true)]
async fn an_end_that_a_dead_host_did_not_report_is_reported_at_the_start() {
    let store = MemoryStore::new();
    let key = leave_cut(&store, "t").await;
    let mut changes = store.subscribe(&key.thread).await.unwrap();
    let _router = open(Arc::new(store.clone()), Duration::from_secs(3_600)).await;
    let told = async {
        while last_event(&store, &key)
            .await
            .is_none_or(|last| last["type"] != "RUN_FINISHED")
        {
            changes.changed().await;
        }
    };
    timeout(Duration::from_secs(5), told).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_end_that_a_dead_host_did_not_report_is_reported_at_the_first_read() {
    let store = MemoryStore::new();
    let mut router = open(Arc::new(store.clone()), Duration::from_secs(3_600)).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    leave_cut(&store, "t").await;
    let request = Request::get("/threads/t/turns/r/events")
        .header("host", "localhost")
        .body(Body::empty());
    let Ok(answer) = router.call(request.unwrap()).await;
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20);
    let body = timeout(Duration::from_secs(5), body).await.unwrap();
    let said = String::from_utf8(body.unwrap().to_vec()).unwrap();
    assert!(said.contains("RUN_FINISHED"), "{said}");
}

/// A store that cannot be written for now.
#[derive(Debug)]
struct Refusing {
    inner: MemoryStore,
    check: Mutex<Option<StoreError>>,
    begin: Mutex<Option<StoreError>>,
}

impl StoreLayer for Refusing {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.inner
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        let error = self.check.lock().unwrap().clone();
        Box::pin(std::future::ready(error.map_or(Ok(()), Err)))
    }

    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        match self.begin.lock().unwrap().clone() {
            Some(error) => Box::pin(std::future::ready(Err(error))),
            None => self.inner.begin_turn(turn),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_store_cannot_be_written_is_not_ready() {
    let message = || "of the test".to_owned();
    let store = Arc::new(Refusing {
        inner: MemoryStore::new(),
        check: Mutex::default(),
        begin: Mutex::default(),
    });
    let minute = Duration::from_secs(60);
    let router = open(Arc::clone(&store) as Arc<dyn Store>, minute).await;
    let ready = async || {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (status, said) = ask(router.clone(), "GET", "/ready", Value::Null).await;
        (status, said["error"]["code"].clone())
    };
    let away = (503, json!("store_unavailable"));
    let well = (200, Value::Null);
    assert_eq!(ready().await, well);
    for error in [
        StoreError::Unavailable { message: message() },
        StoreError::ReadOnly { message: message() },
    ] {
        *store.check.lock().unwrap() = Some(error);
        assert_eq!(ready().await, away);
        *store.check.lock().unwrap() = None;
        assert_eq!(ready().await, well);
    }
    // A full store is noticed by the writes that it refuses.
    *store.begin.lock().unwrap() = Some(StoreError::Full { message: message() });
    let hello = json!({ "turnId": "r", "message": "hello" });
    let (status, said) = ask(router.clone(), "POST", "/threads/t/turns", hello.clone()).await;
    assert_eq!(status, 503, "{said}");
    assert_eq!(ready().await, away);
    *store.begin.lock().unwrap() = None;
    tokio::time::sleep(minute).await;
    assert_eq!(ready().await, well, "it is tried again");
    let (status, said) = ask(router.clone(), "POST", "/threads/t/turns", hello).await;
    assert_eq!(status, 201, "{said}");
    *store.check.lock().unwrap() = Some(StoreError::Damaged { message: message() });
    assert_eq!(ready().await, (503, json!("store_damaged")));
}
