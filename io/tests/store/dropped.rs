//! Each store that comes with Stepwell drops logs: one of an app's own may keep them.

use crate::open;
use stepwell_core::Timestamp;
use stepwell_io::store::contract::TestStore;
use stepwell_io::store::contract::support::{FIRST, last, new_turn};
use stepwell_io::store::{EventStore, PersistBatch, TurnStore};

async fn drops(opened: impl TestStore<Store: EventStore>) {
    let Some(opened) = opened.opened() else {
        return;
    };
    let store = opened.store.clone();
    let new = new_turn("t", "a", 1);
    store.begin_turn(&new).await.unwrap();
    let end = PersistBatch {
        events: vec!["first".to_owned(), "last".to_owned()],
        ..last(0, &[], 2)
    };
    store.persist(&new.key, FIRST, &end).await.unwrap();
    let ended = Timestamp(0)..Timestamp(3);
    assert_eq!(store.drop_logs(ended, 10).await, Ok(1));
}

#[tokio::test]
async fn memory_drops_logs() {
    drops(open::memory("drops").await).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_drops_logs() {
    drops(open::sqlite("drops").await).await;
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn postgres_drops_logs() {
    drops(open::postgres("drops").await).await;
}
