//! What is written to the log of a turn, and read from it.

use super::events;
use crate::store::contract::support::batch;
use crate::store::contract::support::{FIRST, key, last, new_turn, texts};
use crate::store::{EventLog, EventStore, PersistBatch, StoreError};
use std::sync::Arc;

/// Checks that events are read from any index on, also after the end of the turn.
pub async fn events_are_read_from_any_index(store: Arc<dyn EventStore>) {
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

/// Checks that a read by bytes returns the next event, and more while they fit.
pub async fn events_are_read_up_to_a_number_of_bytes(store: Arc<dyn EventStore>) {
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

/// Checks that events with a gap or a conflict are refused, and that events may be sent again.
pub async fn events_that_do_not_follow_are_refused(store: Arc<dyn EventStore>) {
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

/// Checks that more events may be appended at once than one statement of a database takes.
pub async fn many_events_are_appended_at_once(store: Arc<dyn EventStore>) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let many = events(0..1_234);
    store.append_events(&turn, FIRST, 0, &many).await.unwrap();
    store
        .append_events(&turn, FIRST, 1_000, &many[1_000..])
        .await
        .unwrap();
    let read = store.events(&turn, None, 5_000).await.unwrap();
    assert!(read.iter().map(|event| &event.data).eq(&many));
}

/// Checks that a former owner appends no events after a claim, and that the new owner does.
pub async fn a_claim_shuts_the_former_owner_out_of_the_log(store: Arc<dyn EventStore>) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let claimed = store.claim(&turn, FIRST, "other").await.unwrap();
    let event = events(0..1);
    let stale = StoreError::Stale {
        turn: "a".into(),
        given: FIRST,
        current: claimed.generation,
    };
    let write = store.append_events(&turn, FIRST, 0, &event).await;
    assert_eq!(write, Err(stale));
    let write = store.append_events(&turn, claimed.generation, 0, &event);
    write.await.unwrap();
    assert_eq!(store.event_log(&turn).await.unwrap().next, 1);
}

/// Checks that the logs of a deleted thread are deleted with it.
pub async fn a_deleted_thread_leaves_no_log(store: Arc<dyn EventStore>) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let logged = events(0..2);
    store.append_events(&turn, FIRST, 0, &logged).await.unwrap();
    store.acknowledge(&turn, 1).await.unwrap();
    assert_eq!(store.delete_thread(&turn.thread).await, Ok(true));
    let gone = StoreError::NoTurn { turn: "a".into() };
    let write = store.append_events(&turn, FIRST, 2, &events(2..3)).await;
    assert_eq!(write, Err(gone.clone()));
    assert_eq!(store.events(&turn, None, 10).await, Err(gone));
    store.begin_turn(&new_turn("t", "a", 5)).await.unwrap();
    assert_eq!(store.event_log(&turn).await, Ok(EventLog::default()));
}

/// Checks that a batch is stored with its events or not at all.
pub async fn a_batch_is_stored_with_its_events_or_not_at_all(store: Arc<dyn EventStore>) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let step = |first: u64, texts: &[&str], first_event: u64, events: &[&str]| PersistBatch {
        first_event,
        events: events.iter().map(|event| (*event).to_owned()).collect(),
        ..batch(first, texts, 2)
    };
    let written = step(0, &["x"], 0, &["e0", "e1"]);
    store.persist(&turn, FIRST, &written).await.unwrap();
    // Sent again, as a part of a longer one.
    let written = step(0, &["x", "y"], 1, &["e1", "e2"]);
    store.persist(&turn, FIRST, &written).await.unwrap();
    for (refused, is_gap) in [
        (step(2, &["z"], 2, &["other"]), false),
        (step(2, &["z"], 4, &["e4"]), true),
    ] {
        let error = store.persist(&turn, FIRST, &refused).await.unwrap_err();
        match error {
            StoreError::Gap { .. } => assert!(is_gap),
            StoreError::Conflict { .. } => assert!(!is_gap),
            other => panic!("{other}"),
        }
    }
    assert_eq!(texts(&*store, &turn).await, ["x", "y"]);
    let events = store.events(&turn, None, 10).await.unwrap();
    let events: Vec<_> = events.into_iter().map(|event| event.data).collect();
    assert_eq!(events, ["e0", "e1", "e2"]);
    let mut end = last(2, &["z"], 3);
    (end.first_event, end.events) = (3, vec!["end".to_owned()]);
    store.persist(&turn, FIRST, &end).await.unwrap();
    store.persist(&turn, FIRST, &end).await.unwrap();
    assert_eq!(store.event_log(&turn).await.unwrap().next, 4);
}
