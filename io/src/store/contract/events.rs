//! The log of a turn's events, and its followers.

use super::support::AnyStore;
use super::support::{FIRST, batch, key, last, new_turn};
use crate::ThreadKey;
use crate::store::{EventLog, PersistBatch, StoreError};
use futures::FutureExt;
use stepwell_core::Timestamp;

fn events(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|number| format!("{{\"n\":{number}}}")).collect()
}

pub async fn events_are_read_from_any_place_on(store: AnyStore) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    assert_eq!(store.events(&turn, None, 10).await, Ok(Vec::new()));
    store
        .append_events(&turn, FIRST, 0, &events(0..7))
        .await
        .unwrap();
    store
        .append_events(&turn, FIRST, 7, &events(7..10))
        .await
        .unwrap();
    store.append_events(&turn, FIRST, 10, &[]).await.unwrap();
    let read = async |after, limit| {
        let events = store.events(&turn, after, limit).await.unwrap();
        for event in &events {
            assert_eq!(event.data, format!("{{\"n\":{}}}", event.index));
        }
        events
            .into_iter()
            .map(|event| event.index)
            .collect::<Vec<_>>()
    };
    assert_eq!(read(None, 100).await, (0..10).collect::<Vec<_>>());
    assert_eq!(read(Some(0), 3).await, [1, 2, 3]);
    assert_eq!(read(Some(8), 3).await, [9]);
    assert_eq!(read(Some(9), 3).await, [0; 0]);
    assert_eq!(read(Some(u64::MAX), 3).await, [0; 0]);
    assert_eq!(read(None, 0).await, [0; 0]);
    // The last event reports the end, and is appended after it.
    store.persist(&turn, FIRST, &last(0, &[], 2)).await.unwrap();
    store
        .append_events(&turn, FIRST, 10, &events(10..11))
        .await
        .unwrap();
    assert_eq!(read(Some(9), 3).await, [10]);
}

/// A store may keep the logs that it is asked to drop.
pub async fn a_log_that_was_dropped_keeps_its_end(store: AnyStore) {
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

pub async fn events_are_read_up_to_so_many_bytes(store: AnyStore) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let events: Vec<_> = [3, 3, 100, 3, 3]
        .iter()
        .map(|length| "é".repeat(*length))
        .collect();
    store.append_events(&turn, FIRST, 0, &events).await.unwrap();
    let read = async |after, limit, bytes| {
        let read = store.events_within(&turn, after, limit, bytes).await;
        let read = read.unwrap().into_iter();
        read.map(|event| {
            assert_eq!(event.data, events[usize::try_from(event.index).unwrap()]);
            event.index
        })
        .collect::<Vec<_>>()
    };
    let whole = read(None, 10, 1_000).await;
    // A store that does not know the lengths returns one event at a time.
    let is_one_by_one = whole == [0];
    assert!(is_one_by_one || whole == [0, 1, 2, 3, 4], "{whole:?}");
    let up_to = |indices: &[u64]| match is_one_by_one {
        true => indices[..indices.len().min(1)].to_vec(),
        false => indices.to_vec(),
    };
    assert_eq!(read(None, 10, 12).await, up_to(&[0, 1]));
    assert_eq!(read(None, 10, 11).await, [0]);
    assert_eq!(read(None, 1, 1_000).await, [0]);
    assert_eq!(read(None, 0, 1_000).await, [0; 0]);
    assert_eq!(read(Some(1), 10, 1).await, [2], "one that is longer alone");
    assert_eq!(read(Some(2), 10, 12).await, up_to(&[3, 4]));
    assert_eq!(read(Some(4), 10, 12).await, [0; 0]);
    let none = store.events_within(&key("t", "no"), None, 1, 1).await;
    assert!(matches!(none, Err(StoreError::NoTurn { .. })), "{none:?}");
}

pub async fn a_store_that_is_well_says_so(store: AnyStore) {
    assert_eq!(store.check().await, Ok(()));
}

pub async fn events_that_do_not_follow_are_refused(store: AnyStore) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let append =
        async |first, events: &[String]| store.append_events(&turn, FIRST, first, events).await;
    append(0, &events(0..3)).await.unwrap();
    append(0, &events(0..3)).await.unwrap();
    append(1, &events(1..5)).await.unwrap();
    let gap = StoreError::Gap {
        turn: "a".into(),
        given: 6,
        next: 5,
    };
    assert_eq!(append(6, &events(6..7)).await, Err(gap));
    let conflict = StoreError::Conflict {
        turn: "a".into(),
        number: 4,
    };
    assert_eq!(append(4, &events(7..9)).await, Err(conflict));
    let nul = append(5, &["a\0".to_owned()]).await;
    assert!(matches!(nul, Err(StoreError::Refused { .. })), "{nul:?}");
    let log = store.event_log(&turn).await.unwrap();
    assert_eq!(log.next, 5);
    let none = store
        .append_events(&key("t", "b"), FIRST, 0, &events(0..1))
        .await;
    assert_eq!(none, Err(StoreError::NoTurn { turn: "b".into() }));
}

pub async fn what_was_seen_never_goes_back(store: AnyStore) {
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

pub async fn many_logs_are_asked_for_at_once(store: AnyStore) {
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

pub async fn whoever_follows_a_thread_is_woken(store: AnyStore) {
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
    store.rename_thread(&turn.thread, "title").await.unwrap();
    changes.changed().await;
    store.delete_thread(&turn.thread).await.unwrap();
    changes.changed().await;
    assert_eq!(other.changed().now_or_never(), None);
}
