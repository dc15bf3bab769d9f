//! Many blocks, odd names, concurrent and dropped writes.

use crate::ThreadKey;
use crate::store::contract::support::{FIRST, batch, key, last, new_turn, texts, whole_turn};
use crate::store::{NewTurn, StoreError, TurnKey, TurnStore};
use futures::FutureExt;
use std::sync::Arc;
use stepwell_core::Timestamp;

/// Checks that a batch may hold more blocks than one statement of a database takes.
pub async fn many_blocks_are_stored_at_once(store: Arc<dyn TurnStore>) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let many: Vec<_> = (0..1_234).map(|number| number.to_string()).collect();
    let words: Vec<_> = many.iter().map(String::as_str).collect();
    store
        .persist(&turn, FIRST, &batch(0, &words, 2))
        .await
        .unwrap();
    store
        .persist(&turn, FIRST, &batch(0, &words, 2))
        .await
        .unwrap();
    assert_eq!(texts(&*store, &turn).await, many);
}

/// Checks that names may be any text of up to 800 bytes without NUL, and that others are refused.
pub async fn names_are_any_text_without_nul_up_to_800_bytes(store: Arc<dyn TurnStore>) {
    for name in [
        "",
        " ",
        "'; DROP TABLE turns; --",
        "a/b",
        "\u{1F600}",
        "%_",
        "\\",
    ] {
        let key = TurnKey::new(ThreadKey::new(name, name, name), name);
        let mut new = NewTurn::new(key.clone(), name, Timestamp(1));
        new.title = Some(name.to_owned());
        whole_turn(&*store, new).await;
        assert_eq!(texts(&*store, &key).await, ["done"], "{name}");
    }
    let long = "x".repeat(800);
    let key = TurnKey::new(ThreadKey::new(&*long, &*long, &*long), &*long);
    whole_turn(&*store, NewTurn::new(key, &*long, Timestamp(1))).await;
    let (nul, too_long) = ("a\0b", format!("{long}x"));
    let thread = ThreadKey::new("", "", "t");
    let keys = [
        TurnKey::new(ThreadKey::new(nul, "", "t"), "a"),
        TurnKey::new(ThreadKey::new("", nul, "t"), "a"),
        TurnKey::new(ThreadKey::new("", "", nul), "a"),
        TurnKey::new(thread.clone(), nul),
        TurnKey::new(ThreadKey::new("", "", &*too_long), "a"),
        TurnKey::new(thread.clone(), &*too_long),
    ];
    let mut refused: Vec<_> = keys
        .into_iter()
        .map(|key| NewTurn::new(key, "host", Timestamp(1)))
        .collect();
    let new = || NewTurn::new(TurnKey::new(thread.clone(), "a"), "host", Timestamp(1));
    refused.push(NewTurn {
        owner: nul.to_owned(),
        ..new()
    });
    refused.push(NewTurn {
        title: Some(nul.to_owned()),
        ..new()
    });
    refused.push(NewTurn {
        parent: Some(nul.into()),
        ..new()
    });
    for new in refused {
        let answer = store.begin_turn(&new).await;
        assert!(
            matches!(answer, Err(StoreError::Refused { .. })),
            "{answer:?}"
        );
    }
    assert_eq!(store.thread(&thread).await, Ok(None));
}

/// Checks that a write whose future is dropped is stored completely or not at all, before the next call.
pub async fn a_dropped_write_is_stored_completely_or_not_at_all(store: Arc<dyn TurnStore>) {
    let turn = key("t", "a");
    let mut generation = store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let mut next = 0;
    for polls in 0..40 {
        let write = batch(next, &["x", "y"], 2);
        let mut persist = store.persist(&turn, generation, &write);
        for _ in 0..polls {
            if (&mut persist).now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(persist);
        let blocks = texts(&*store, &turn).await;
        let claimed = store.claim(&turn, generation, "host").await.unwrap();
        let blocks_later = texts(&*store, &turn).await;
        // After the claim nothing of the dropped write may appear any more.
        generation = claimed.generation;
        assert!(blocks_later.len() == next as usize || blocks_later.len() == next as usize + 2);
        assert!(blocks.len() <= blocks_later.len());
        let is_stored = blocks_later.len() > next as usize;
        let checkpoint = format!("checkpoint after {next}");
        assert_eq!(
            claimed.checkpoint.as_deref() == Some(&*checkpoint),
            is_stored
        );
        next = blocks_later.len() as u64;
    }
    // The store still works.
    store
        .persist(&turn, generation, &last(next, &["end"], 3))
        .await
        .unwrap();
}

/// Checks that of changes that arrive together, those that do not fit are refused, and only those.
pub async fn concurrent_changes_are_refused_one_by_one(store: Arc<dyn TurnStore>) {
    let mut changes = Vec::new();
    for number in 0..24 {
        let thread = format!("t{number}");
        store.begin_turn(&new_turn(&thread, "a", 1)).await.unwrap();
    }
    for number in 0..24u64 {
        let (store, thread) = (Arc::clone(&store), format!("t{number}"));
        changes.push(tokio::spawn(async move {
            let turn = key(&thread, "a");
            match number % 4 {
                0 => store.persist(&turn, FIRST, &batch(0, &["x"], 2)).await,
                1 => {
                    store
                        .persist(&turn, FIRST.next(), &batch(0, &["x"], 2))
                        .await
                }
                2 => store.persist(&turn, FIRST, &batch(1, &["x"], 2)).await,
                _ => store.begin_turn(&new_turn(&thread, "b", 2)).await.map(drop),
            }
        }));
    }
    for (number, change) in changes.into_iter().enumerate() {
        let result = change.await.unwrap();
        let is_expected = match number % 4 {
            0 => result.is_ok(),
            1 => matches!(result, Err(StoreError::Stale { .. })),
            2 => matches!(result, Err(StoreError::Gap { .. })),
            _ => matches!(result, Err(StoreError::Busy { .. })),
        };
        assert!(is_expected, "{number}: {result:?}");
        let stored = texts(&*store, &key(&format!("t{number}"), "a")).await;
        assert_eq!(stored.len(), usize::from(number % 4 == 0), "{number}");
    }
}

/// Checks that the check of a store that works reports no error.
pub async fn a_healthy_store_passes_its_check(store: Arc<dyn TurnStore>) {
    assert_eq!(store.check().await, Ok(()));
}
