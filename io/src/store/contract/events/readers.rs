//! What the clients of a turn have seen, and how they wait for more.

use super::events;
use crate::ThreadKey;
use crate::store::contract::support::{FIRST, batch, key, last, new_turn};
use crate::store::{EventLog, EventStore, PersistBatch, StoreError};
use futures::FutureExt;
use std::sync::Arc;
use stepwell_core::Timestamp;

/// Checks that the acknowledged index never decreases, and is that of a stored event.
pub async fn the_acknowledged_index_never_decreases(store: Arc<dyn EventStore>) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    store
        .append_events(&turn, FIRST, 0, &events(0..5))
        .await
        .unwrap();
    let seen = async || store.event_log(&turn).await.unwrap().acknowledged;
    assert_eq!(seen().await, None);
    store.acknowledge(&turn, 3).await.unwrap();
    store.acknowledge(&turn, 1).await.unwrap();
    assert_eq!(seen().await, Some(3));
    // No client can have seen what is not stored.
    let gap = StoreError::Gap {
        turn: "a".into(),
        given: 5,
        next: 5,
    };
    assert_eq!(store.acknowledge(&turn, 5).await, Err(gap));
    store.claim(&turn, FIRST, "other").await.unwrap();
    assert_eq!(seen().await, Some(3));
}

/// Checks that the logs of several turns are read in the order in which they are given.
pub async fn many_logs_are_read_in_one_call(store: Arc<dyn EventStore>) {
    let mut turns = Vec::new();
    for number in 0..3 {
        let thread = format!("thread {number}");
        let turn = key(&thread, "a");
        store.begin_turn(&new_turn(&thread, "a", 1)).await.unwrap();
        let shown = events(0..number);
        store.append_events(&turn, FIRST, 0, &shown).await.unwrap();
        turns.push(turn);
    }
    store.acknowledge(&turns[2], 1).await.unwrap();
    turns.swap(0, 2);
    turns.insert(1, key("thread 0", "no such turn"));
    turns.push(turns[0].clone());
    let mut elsewhere = key("thread 1", "a");
    elsewhere.thread.room = "another room".to_owned();
    turns.push(elsewhere);
    let log = |next, acknowledged| Some(EventLog { next, acknowledged });
    let expected = [
        log(2, Some(1)),
        None,
        log(1, None),
        log(0, None),
        log(2, Some(1)),
        None,
    ];
    assert_eq!(store.event_logs(&turns).await.unwrap(), expected);
    assert_eq!(store.event_logs(&[]).await.unwrap(), []);
    // More than one statement takes.
    let many = vec![turns[0].clone(); 1_201];
    let logs = store.event_logs(&many).await.unwrap();
    assert_eq!(logs, vec![log(2, Some(1)); 1_201]);
}

/// Checks that a dropped log keeps its last event, under its index. A store may keep the logs that it is asked to drop.
pub async fn a_dropped_log_keeps_its_last_event(store: Arc<dyn EventStore>) {
    // Ended at 2 and 5, one with a single event, and one under way.
    for (turn, at, count) in [("a", 1, 4), ("b", 1, 1), ("c", 4, 3)] {
        let thread = format!("t{turn}");
        let mut new = new_turn(&thread, turn, at);
        new.at = Timestamp(at);
        store.begin_turn(&new).await.unwrap();
        let end = PersistBatch {
            events: events(0..count),
            ..last(0, &[], at + 1)
        };
        store.persist(&new.key, FIRST, &end).await.unwrap();
    }
    let open = new_turn("to", "o", 1);
    store.begin_turn(&open).await.unwrap();
    let logged = events(0..2);
    let logged = store.append_events(&open.key, FIRST, 0, &logged);
    logged.await.unwrap();
    let left = async |turn: &str, after| {
        let turn = key(&format!("t{turn}"), turn);
        let read = store.events(&turn, after, 10).await.unwrap().into_iter();
        read.map(|event| event.index).collect::<Vec<_>>()
    };
    let drop = async |from, to| {
        let ended = Timestamp(from)..Timestamp(to);
        store.drop_logs(ended, 10).await.unwrap()
    };
    let dropped = drop(0, 5).await;
    if dropped == 0 {
        assert_eq!(left("a", None).await, [0, 1, 2, 3]);
        return;
    }
    assert_eq!(dropped, 1);
    assert_eq!(left("a", None).await, [3]);
    assert_eq!(left("a", Some(1)).await, [3]);
    assert_eq!(left("a", Some(3)).await, [0; 0]);
    for (turn, expected) in [("b", 1), ("c", 3), ("o", 2)] {
        assert_eq!(left(turn, None).await.len(), expected, "{turn}");
    }
    let turn = key("ta", "a");
    let log = store.event_log(&turn).await.unwrap();
    assert_eq!((log.next, log.acknowledged), (4, None));
    store.acknowledge(&turn, 2).await.unwrap();
    // Events that are sent again change nothing, and new ones follow.
    store
        .append_events(&turn, FIRST, 2, &events(2..5))
        .await
        .unwrap();
    assert_eq!(left("a", None).await, [3, 4]);
    assert_eq!(drop(0, 5).await, 0, "once is enough");
    assert_eq!(drop(5, 6).await, 1);
    assert_eq!(left("c", None).await, [2]);
}

/// Checks that each change of a thread wakes its followers, and no others.
pub async fn followers_of_a_thread_are_woken(store: Arc<dyn EventStore>) {
    let turn = key("t", "a");
    let mut changes = store.subscribe(&turn.thread).await.unwrap();
    let mut other = store.subscribe(&ThreadKey::from("other")).await.unwrap();
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    changes.changed().await;
    store
        .append_events(&turn, FIRST, 0, &events(0..1))
        .await
        .unwrap();
    changes.changed().await;
    store
        .persist(&turn, FIRST, &batch(0, &["a"], 2))
        .await
        .unwrap();
    changes.changed().await;
    let claimed = store.claim(&turn, FIRST, "host").await.unwrap();
    changes.changed().await;
    store
        .persist(&turn, claimed.generation, &last(1, &[], 3))
        .await
        .unwrap();
    changes.changed().await;
    store.delete_thread(&turn.thread).await.unwrap();
    changes.changed().await;
    assert_eq!(other.changed().now_or_never(), None);
}
