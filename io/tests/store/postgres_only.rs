//! What only a server that several hosts share can have.

use crate::open::{options, postgres_url};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_io::ThreadKey;
use stepwell_io::store::contract::support::{FIRST, batch, key, last, new_turn, texts, whole_turn};
use stepwell_io::store::{
    EventStore, Lease, NewTurn, PostgresStore, StoreError, TurnKey, TurnStore,
};

async fn two(test: &str) -> Option<[PostgresStore; 2]> {
    let url = postgres_url()?;
    let options = options(test);
    let first = PostgresStore::connect_with(&url, options.clone())
        .await
        .unwrap();
    let second = PostgresStore::connect_with(&url, options).await.unwrap();
    Some([first, second])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_is_woken_by_what_another_writes() {
    let Some([writer, reader]) = two("woken").await else {
        return;
    };
    let turn = key("t\"'", "a");
    let mut changes = reader.subscribe(&turn.thread).await.unwrap();
    writer.begin_turn(&new_turn("t\"'", "a", 1)).await.unwrap();
    changes.changed().await;
    let mut next = 0;
    let mut seen = Vec::new();
    for round in 0..50 {
        let events = [format!("{round} a"), format!("{round} b")];
        writer
            .append_events(&turn, FIRST, next, &events)
            .await
            .unwrap();
        next += 2;
        // Waits until all is there; each is read once.
        while seen.len() < usize::try_from(next).unwrap() {
            let after = seen.len().checked_sub(1).map(|last| last as u64);
            let new = reader.events(&turn, after, 1).await.unwrap();
            if new.is_empty() {
                changes.changed().await;
            }
            seen.extend(new.into_iter().map(|event| event.data));
        }
    }
    assert_eq!(seen.len(), 100);
    // A name too long for a notification wakes everybody.
    let long = "\u{1}".repeat(800);
    let turn = TurnKey::new(ThreadKey::new(&*long, "", &*long), "a");
    let mut changes = reader.subscribe(&turn.thread).await.unwrap();
    whole_turn(&writer, NewTurn::new(turn, "host", Timestamp(1))).await;
    changes.changed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hosts_keep_apart() {
    let Some(stores) = two("apart").await else {
        return;
    };
    let turn = key("t", "a");
    let mut generation = stores[0].begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    for round in 0..20u64 {
        let claims: Vec<_> = (0..6)
            .map(|number| {
                let (store, turn) = (stores[number % 2].clone(), turn.clone());
                tokio::spawn(async move { store.claim(&turn, generation, "host").await })
            })
            .collect();
        let mut won = 0;
        for claim in claims {
            match claim.await.unwrap() {
                Ok(_) => won += 1,
                Err(StoreError::Stale { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(won, 1);
        let stale = stores[0]
            .persist(&turn, generation, &batch(round, &["x"], 2))
            .await;
        assert!(matches!(stale, Err(StoreError::Stale { .. })), "{stale:?}");
        generation = generation.next();
        stores[1]
            .persist(&turn, generation, &batch(round, &["x"], 2))
            .await
            .unwrap();
    }
    assert_eq!(texts(&stores[0], &turn).await.len(), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_during_a_claim_is_complete_or_refused() {
    let Some(stores) = two("claim_write").await else {
        return;
    };
    for round in 0..30 {
        let thread = format!("t{round}");
        let turn = key(&thread, "a");
        stores[0]
            .begin_turn(&new_turn(&thread, "a", 1))
            .await
            .unwrap();
        let (writer, writes) = (stores[0].clone(), turn.clone());
        let write = tokio::spawn(async move {
            writer
                .persist(&writes, FIRST, &batch(0, &["x", "y"], 2))
                .await
        });
        let claimed = stores[1].claim(&turn, FIRST, "other").await.unwrap();
        let written = write.await.unwrap();
        let blocks = texts(&stores[1], &turn).await.len();
        match written {
            Ok(()) => {
                assert_eq!(blocks, 2);
                // The write came first, so the claim has its snapshot.
                assert_eq!(claimed.checkpoint.as_deref(), Some("checkpoint after 0"));
            }
            Err(StoreError::Stale { .. }) => assert_eq!((blocks, claimed.checkpoint), (0, None)),
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_the_server_cuts_are_made_again() {
    let Some([store, other]) = two("cut").await else {
        return;
    };
    let store = Arc::new(store);
    let turn = key("t", "a");
    whole_turn(&*store, new_turn("t", "a", 1)).await;
    let mut changes = store.subscribe(&turn.thread).await.unwrap();
    let url = postgres_url().unwrap();
    let raw = sqlx::PgPool::connect(&url).await.unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE pid <> pg_backend_pid() AND datname = current_database() AND query LIKE '%stepwell%'";
    sqlx::query(cut).execute(&raw).await.unwrap();
    // The listener reports that something may have been missed.
    changes.changed().await;
    let mut begun = store.begin_turn(&new_turn("t", "b", 1)).await;
    for _ in 0..20 {
        match begun {
            Err(StoreError::Unavailable { .. }) => {
                begun = store.begin_turn(&new_turn("t", "b", 1)).await;
            }
            _ => break,
        }
    }
    begun.unwrap();
    let turn = key("t", "b");
    // The listener works again: at the latest once it has reported the cut.
    let mut is_closed = false;
    while !is_closed {
        match other.persist(&turn, FIRST, &last(0, &["x"], 2)).await {
            Ok(()) => is_closed = true,
            Err(StoreError::Unavailable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    while store.turn(&turn).await.unwrap().unwrap().outcome.is_none() {
        changes.changed().await;
    }
}

#[tokio::test]
async fn a_dead_address_is_reported_without_the_password() {
    if postgres_url().is_none() {
        return;
    }
    let refused = PostgresStore::connect("postgres://me:secret@127.0.0.1:1/none").await;
    let error = refused.map(|_| ()).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    assert!(!error.to_string().contains("secret"), "{error}");
    let refused = PostgresStore::connect("not a secret URL").await;
    let error = refused.map(|_| ()).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn dropped_reads_leave_no_transaction_open() {
    let Some(url) = postgres_url() else { return };
    let mut options = options("dropped");
    options.max_connections = 2;
    let store = PostgresStore::connect_with(&url, options).await.unwrap();
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    for round in 0..100 {
        for polls in 0..12 {
            let mut read = store.turn(&turn);
            for _ in 0..polls {
                if futures::poll!(&mut read).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        store
            .persist(&turn, FIRST, &batch(round, &["x"], 2))
            .await
            .unwrap();
    }
    assert_eq!(texts(&store, &turn).await.len(), 100);
}

#[tokio::test]
async fn a_lease_is_seen_by_every_process_until_the_store_is_closed() {
    let Some([store, other]) = two("lease").await else {
        return;
    };
    let owner = format!("cut-{}", std::process::id());
    let lease = Lease::acquire(Arc::new(store.clone()), &owner);
    let lease = lease.await.unwrap();
    let mut new = new_turn("cut", "a", 1);
    new.owner.clone_from(&owner);
    store.begin_turn(&new).await.unwrap();
    assert_eq!(other.orphans().await, Ok(Vec::new()));
    store.close().await;
    while other.orphans().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(!lease.is_held(), "its owner knows before the others do");
    let closed = Lease::acquire(Arc::new(store), "another").await;
    assert!(
        matches!(closed, Err(StoreError::Unavailable { .. })),
        "{closed:?}"
    );
}
