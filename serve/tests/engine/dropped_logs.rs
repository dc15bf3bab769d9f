//! Turns that are over and whose logs were dropped.

use crate::engine::tests::{model, new_turn, setup_of};
use crate::engine::{Engine, LocalEngine};
use crate::run::{Cursor, PreparedRun};
use crate::turn::agent::TurnAgent;
use crate::{AgUiServer, ClientTrust, RunStream, read_input};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_io::store::{EventStore, MemoryStore, TurnKey, TurnStore};
use tokio_util::sync::CancellationToken;

/// The types of the events that a stream's frames have, with those of a snapshot's messages.
async fn told(stream: RunStream) -> Vec<Value> {
    use futures::StreamExt;
    let frames: Vec<_> = stream.frames(crate::Encoding::Sse).collect().await;
    let frames = frames.concat();
    let frames = String::from_utf8(frames).unwrap();
    let data = frames
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let kinds = events.iter().map(|event| event["type"].as_str().unwrap());
    kinds.collect()
}

#[tokio::test]
async fn readers_see_the_state_of_the_turn() {
    let store = MemoryStore::new();
    let (_model, base) = model::with_numbers().await;
    let agent = Arc::new(TurnAgent::new(base.clone()));
    let engine = LocalEngine::new(setup_of(base, Arc::new(store.clone()), Duration::ZERO));
    let key = engine.start(new_turn()).await.unwrap();
    let active = engine.0.find(&key).unwrap();
    active.ended.cancelled().await;
    let next = store.event_log(&key).await.unwrap().next;
    let ended = Timestamp(0)..Timestamp(u64::MAX / 2);
    assert_eq!(store.drop_logs(ended, 10).await, Ok(1));
    assert_eq!(store.event_log(&key).await.unwrap().next, next);

    let time = Duration::from_secs(60);
    let server = AgUiServer::of_engine(Arc::new(engine), ClientTrust::default(), time, time);
    let input = json!({
        "threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [],
        "forwardedProps": {"reattach": ""},
    });
    let run = || {
        let input = read_input(input.to_string().as_bytes()).unwrap();
        PreparedRun::new(&agent, input, ClientTrust::default()).unwrap()
    };
    let stands = ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"];
    let close = CancellationToken::new();
    let connects = run();
    let connected = server.connect(&key.thread, &connects, close.clone());
    let connected = told(connected.await.unwrap()).await;
    assert_eq!(kinds(&connected), stands);
    let messages = connected[1]["messages"].as_array().unwrap();
    assert_eq!(messages[0]["content"], "What are the numbers?");
    assert!(messages.len() > 2, "{messages:?}");
    for (last, expected) in [
        (None, &stands[..]),
        (Some("r:0".to_owned()), &stands[..]),
        (Some(format!("r:{}", next - 2)), &stands[2..]),
        (Some(format!("r:{}", next - 1)), &[]),
    ] {
        let cursor = Cursor::new(last.as_deref());
        let begun = server.begin(key.thread.clone(), run(), &cursor, close.clone());
        let reattached = told(begun.await.unwrap()).await;
        assert_eq!(kinds(&reattached), expected, "{last:?}");
        if let Some(snapshot) = reattached.get(1) {
            assert_eq!(*snapshot, connected[1], "{last:?}");
        }
    }
    let none = TurnKey::new("t", "none");
    assert!(store.turn(&none).await.unwrap().is_none());
}
