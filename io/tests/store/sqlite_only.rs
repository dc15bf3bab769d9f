//! What only a file can have.

use crate::open::Directory;
use std::time::Duration;
use stepwell_io::store::contract::support::{FIRST, batch, key, last, new_turn, texts, whole_turn};
use stepwell_io::store::{
    EventStore, Generation, SqliteOptions, SqliteStore, StoreError, TurnStore,
};

#[tokio::test]
async fn a_file_that_is_opened_again_has_everything() {
    let directory = Directory::new("reopened");
    let store = SqliteStore::open(directory.file()).await.unwrap();
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    store
        .persist(&turn, FIRST, &batch(0, &["x"], 2))
        .await
        .unwrap();
    store
        .append_events(&turn, FIRST, 0, &["e".to_owned()])
        .await
        .unwrap();
    // Not closed: as after a kill.
    let again = SqliteStore::open(directory.file()).await.unwrap();
    assert_eq!(texts(&again, &turn).await, ["x"]);
    assert_eq!(again.event_log(&turn).await.unwrap().next, 1);
    let claimed = again.claim(&turn, FIRST, "host").await.unwrap();
    assert_eq!(claimed.checkpoint.as_deref(), Some("checkpoint after 0"));
    let stale = store.persist(&turn, FIRST, &batch(1, &["y"], 3)).await;
    assert!(matches!(stale, Err(StoreError::Stale { .. })), "{stale:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_on_one_file_keep_apart() {
    let directory = Directory::new("two");
    let stores = [
        SqliteStore::open(directory.file()).await.unwrap(),
        SqliteStore::open(directory.file()).await.unwrap(),
    ];
    let turn = key("t", "a");
    let mut generation = stores[0].begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    for _ in 0..20 {
        let claims = stores.each_ref().map(|store| {
            let (store, turn) = (store.clone(), turn.clone());
            tokio::spawn(async move { store.claim(&turn, generation, "host").await })
        });
        let mut won = 0;
        for claim in claims {
            match claim.await.unwrap() {
                Ok(claimed) => {
                    won += 1;
                    assert_eq!(claimed.generation, generation.next());
                }
                Err(StoreError::Stale { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(won, 1);
        generation = generation.next();
    }
    assert_eq!(generation, Generation(21));
}

#[tokio::test]
async fn a_full_file_is_reported_and_keeps_its_data() {
    let directory = Directory::new("full");
    let mut options = SqliteOptions::default();
    options.max_bytes = Some(300_000);
    let store = SqliteStore::open_with(directory.file(), options)
        .await
        .unwrap();
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let text = "x".repeat(20_000);
    let mut stored = 0;
    let error = loop {
        match store
            .persist(&turn, FIRST, &batch(stored, &[&text, "y"], 2))
            .await
        {
            Ok(()) => stored += 2,
            Err(error) => break error,
        }
        assert!(stored < 100, "it never became full");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(error.is_transient());
    assert!(stored > 0);
    assert_eq!(
        texts(&store, &turn).await.len(),
        usize::try_from(stored).unwrap()
    );
    store.close().await;
    let store = SqliteStore::open(directory.file()).await.unwrap();
    store
        .persist(&turn, FIRST, &last(stored, &[&text], 3))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_file_that_may_only_be_read_is_read() {
    let directory = Directory::new("read-only");
    let mut options = SqliteOptions::default();
    options.read_only = true;
    let missing = SqliteStore::open_with(directory.file(), options.clone()).await;
    assert!(
        matches!(missing, Err(StoreError::Unavailable { .. })),
        "{missing:?}"
    );
    let store = SqliteStore::open(directory.file()).await.unwrap();
    whole_turn(&store, new_turn("t", "a", 1)).await;
    store.close().await;
    let store = SqliteStore::open_with(directory.file(), options)
        .await
        .unwrap();
    assert_eq!(texts(&store, &key("t", "a")).await, ["done"]);
    let refused = store.begin_turn(&new_turn("t", "b", 1)).await;
    assert!(
        matches!(refused, Err(StoreError::ReadOnly { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_file_that_is_locked_is_away_for_now() {
    let directory = Directory::new("locked");
    let mut options = SqliteOptions::default();
    options.busy_timeout = Duration::ZERO;
    let store = SqliteStore::open_with(directory.file(), options)
        .await
        .unwrap();
    let other = rusqlite::Connection::open(directory.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = store.begin_turn(&new_turn("t", "a", 1)).await;
    assert!(
        matches!(busy, Err(StoreError::Unavailable { .. })),
        "{busy:?}"
    );
    assert_eq!(
        store.turn(&key("t", "a")).await,
        Ok(None),
        "readers do not wait"
    );
    other.execute_batch("ROLLBACK").unwrap();
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_store_is_refused() {
    let directory = Directory::new("garbage");
    let bytes: Vec<u8> = (0..200_000u32).map(|byte| (byte % 251) as u8).collect();
    std::fs::write(directory.file(), &bytes).unwrap();
    let refused = SqliteStore::open(directory.file()).await;
    assert!(
        matches!(refused, Err(StoreError::Damaged { .. })),
        "{refused:?}"
    );
    assert_eq!(
        std::fs::read(directory.file()).unwrap(),
        bytes,
        "it is left alone"
    );
    let nowhere = SqliteStore::open(directory.file().join("below/it.db")).await;
    assert!(
        matches!(nowhere, Err(StoreError::Unavailable { .. })),
        "{nowhere:?}"
    );
}

fn raw(directory: &Directory, sql: &str) {
    let connection = rusqlite::Connection::open(directory.file()).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn a_file_of_a_later_version_is_refused() {
    let directory = Directory::new("later");
    SqliteStore::open(directory.file())
        .await
        .unwrap()
        .close()
        .await;
    raw(&directory, "PRAGMA user_version = 9999");
    let refused = SqliteStore::open(directory.file()).await;
    assert!(
        matches!(refused, Err(StoreError::TooNew { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn what_somebody_else_wrote_into_it_is_an_error_and_no_panic() {
    for damage in [
        "UPDATE blocks SET block = '{'",
        "UPDATE blocks SET block = x'ff00ff'",
        "UPDATE turn_states SET status = 'paused'",
        "UPDATE turn_states SET updated_at = -1",
        "UPDATE turns SET message = '[]'",
    ] {
        let directory = Directory::new("damaged");
        let store = SqliteStore::open(directory.file()).await.unwrap();
        whole_turn(&store, new_turn("t", "a", 1)).await;
        raw(&directory, damage);
        let damaged = store.turn(&key("t", "a")).await;
        assert!(
            matches!(damaged, Err(StoreError::Damaged { .. })),
            "{damage}: {damaged:?}"
        );
    }
}

#[tokio::test]
async fn what_another_connection_writes_wakes_followers() {
    let directory = Directory::new("followed");
    // Each has connections of its own, as the stores of two processes do.
    let store = SqliteStore::open(directory.file()).await.unwrap();
    let other = SqliteStore::open(directory.file()).await.unwrap();
    let turn = key("t", "a");
    let mut changes = store.subscribe(&turn.thread).await.unwrap();
    other.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    changes.changed().await;
    assert_eq!(texts(&store, &turn).await, [""; 0]);
    let step = batch(0, &["x"], 2);
    other.persist(&turn, FIRST, &step).await.unwrap();
    while texts(&store, &turn).await.is_empty() {
        changes.changed().await;
    }
    // The store wakes for its own changes alone while nothing else changes.
    let mut options = SqliteOptions::default();
    options.read_only = true;
    let reading = SqliteStore::open_with(directory.file(), options);
    let reading = reading.await.unwrap();
    assert_eq!(texts(&reading, &turn).await, ["x"]);
}

/// The turn `a`, with an event of this length.
async fn with_event(store: &SqliteStore, length: usize) {
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let event = "x".repeat(length);
    let appended = store
        .append_events(&key("t", "a"), FIRST, 0, &[event])
        .await;
    appended.unwrap();
}

fn length(path: &std::path::Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn wal(directory: &Directory) -> std::path::PathBuf {
    directory.file().with_extension("db-wal")
}

#[tokio::test]
async fn a_closed_file_is_complete_by_itself() {
    let directory = Directory::new("whole");
    let store = SqliteStore::open(directory.file()).await.unwrap();
    with_event(&store, 10).await;
    assert!(length(&wal(&directory)) > 0);
    store.close().await;
    assert_eq!(length(&wal(&directory)), 0);
    let copy = directory.file().with_file_name("copy.db");
    std::fs::copy(directory.file(), &copy).unwrap();
    let copy = SqliteStore::open(copy).await.unwrap();
    assert_eq!(copy.event_log(&key("t", "a")).await.unwrap().next, 1);
}

#[tokio::test]
async fn what_a_long_event_took_of_the_log_is_given_back() {
    let directory = Directory::new("wal");
    let store = SqliteStore::open(directory.file()).await.unwrap();
    with_event(&store, 20 << 20).await;
    assert!(length(&wal(&directory)) > 20 << 20);
    for index in 1..4 {
        let event = ["x".to_owned()];
        let turn = key("t", "a");
        let append = store.append_events(&turn, FIRST, index, &event);
        append.await.unwrap();
    }
    let length = length(&wal(&directory));
    assert!(length <= 4 << 20, "{length}");
}

#[tokio::test]
#[cfg(unix)]
async fn a_file_that_is_gone_is_noticed() {
    let directory = Directory::new("gone");
    let moved = directory.file().with_file_name("moved.db");
    let store = SqliteStore::open(directory.file()).await.unwrap();
    with_event(&store, 10).await;
    let is_lost = async |what: &str| {
        let event = ["y".to_owned()];
        let turn = key("t", "a");
        let written = store
            .append_events(&turn, FIRST, 1, &event)
            .await
            .unwrap_err();
        let checked = store.check().await.unwrap_err();
        let read = store.event_log(&turn).await;
        for error in [&written, &checked] {
            let message = error.to_string();
            assert!(matches!(error, StoreError::Damaged { .. }), "{message}");
            assert!(message.contains(what), "{message}");
        }
        read.is_err()
    };
    std::fs::rename(directory.file(), &moved).unwrap();
    assert!(is_lost("was deleted or moved").await);
    std::fs::copy(&moved, directory.file()).unwrap();
    assert!(is_lost("was replaced").await);
    std::fs::rename(&moved, directory.file()).unwrap();
    assert_eq!(store.check().await, Ok(()), "it is back");
    std::fs::remove_file(wal(&directory)).unwrap();
    assert!(is_lost("-wal was deleted or moved").await);
}

#[tokio::test]
async fn a_file_without_a_folder_is_refused() {
    let directory = Directory::new("folder");
    let file = directory.file().with_file_name("no").join("turns.db");
    let error = SqliteStore::open(&file).await.unwrap_err();
    assert!(error.to_string().contains("there is no folder"), "{error}");
    assert!(!file.parent().unwrap().exists());
    let error = SqliteStore::open(":memory:").await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn space_of_deleted_turns_is_given_back() {
    let directory = Directory::new("given_back");
    let store = SqliteStore::open(directory.file()).await.unwrap();
    let long = "x".repeat(100_000);
    for number in 0..60 {
        let new = new_turn(&format!("t{number}"), "a", 1);
        store.begin_turn(&new).await.unwrap();
        let step = batch(0, &[&long], 2);
        store.persist(&new.key, FIRST, &step).await.unwrap();
    }
    store.close().await;
    let size = || std::fs::metadata(directory.file()).unwrap().len();
    let full = size();
    assert!(full > 6_000_000, "{full}");
    let store = SqliteStore::open(directory.file()).await.unwrap();
    for number in 0..55 {
        let thread = key(&format!("t{number}"), "a").thread;
        assert_eq!(store.delete_thread(&thread).await, Ok(true));
    }
    store.close().await;
    assert!(size() < full / 3, "{} of {full}", size());
    let store = SqliteStore::open(directory.file()).await.unwrap();
    assert_eq!(texts(&store, &key("t59", "a")).await, [long]);
}
