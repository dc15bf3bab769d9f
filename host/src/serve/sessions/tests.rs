use super::super::{EngineSettings, Host, Limits, Record, Serving, SessionStore, scripted};
use crate::access::Access;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::TurnStatus;
use stepwell_io::store::{Generation, MemoryStore, Store, StoreFuture, StoreLayer, TurnKey};
use stepwell_io::{HttpClient, ThreadKey};
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
    fn inner(&self) -> &dyn Store {
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
            user_requests: None,
            connections: 10,
            header_timeout: minute,
            idle_timeout: minute,
            run_time: minute,
            interrupt_time: minute,
            store_timeout: minute,
            grace: minute,
        },
        sessions: SessionStore {
            store,
            label: "test".to_owned(),
            is_durable: false,
        },
        access: Access::default(),
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
async fn who_is_shown_that_a_turn_is_over_is_shown_its_whole_log() {
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
    // The clock goes on once nothing else does.
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
