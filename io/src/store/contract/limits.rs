//! Much at once, odd names, writes that are dropped.

use super::support::AnyStore;
use super::support::{FIRST, batch, key, last, new_turn, texts, whole_turn};
use crate::ThreadKey;
use crate::store::{NewTurn, StoreError, TurnKey};
use futures::FutureExt;
use stepwell_core::Timestamp;

pub async fn many_blocks_and_events_at_once(store: AnyStore) {
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
    store.append_events(&turn, FIRST, 0, &many).await.unwrap();
    store
        .append_events(&turn, FIRST, 1_000, &many[1_000..])
        .await
        .unwrap();
    let read = store.events(&turn, None, 5_000).await.unwrap();
    assert!(read.iter().map(|event| &event.data).eq(&many));
}

pub async fn names_are_any_text_of_some_length_but_nul(store: AnyStore) {
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

pub async fn a_write_that_is_dropped_is_whole_or_not_there(store: AnyStore) {
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
