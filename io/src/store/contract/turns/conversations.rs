//! What a conversation reads and deletes: its thread, and the path to a turn.

use crate::ThreadKey;
use crate::store::contract::support::{FIRST, batch, key, new_turn, texts, turn_ids, whole_turn};
use crate::store::{StoreError, TurnStore};
use std::sync::Arc;
use stepwell_core::Timestamp;

/// Checks that a path holds the turns from the root of the tree to the turn, and no others.
pub async fn a_path_leads_from_the_root_to_the_turn(store: Arc<dyn TurnStore>) {
    // 1 ─ 2 ─ 3
    //  └─ 4 ─ 5      6
    let parents = [
        ("1", None),
        ("2", Some("1")),
        ("3", Some("2")),
        ("4", Some("1")),
        ("5", Some("4")),
        ("6", None),
    ];
    for (at, (turn, parent)) in (0..).zip(parents) {
        let mut new = new_turn("t", turn, at * 10);
        new.parent = parent.map(Into::into);
        whole_turn(&*store, new).await;
        whole_turn(&*store, new_turn("noise", turn, at * 10)).await;
    }
    let path = async |turn| turn_ids(&store.path(&key("t", turn)).await.unwrap());
    assert_eq!(path("3").await, ["1", "2", "3"]);
    assert_eq!(path("5").await, ["1", "4", "5"]);
    assert_eq!(path("6").await, ["6"]);
    let turns = store.path(&key("t", "5")).await.unwrap();
    assert!(turns.iter().all(|turn| turn.blocks.len() == 1));
    assert_eq!(turns[1].parent, Some("1".into()));
    let missing = store.path(&key("t", "7")).await;
    assert_eq!(missing, Err(StoreError::NoTurn { turn: "7".into() }));
}

/// Checks that a thread names the turn that began last, its unfinished turn, and when it was used.
pub async fn a_thread_names_its_latest_and_its_unfinished_turn(store: Arc<dyn TurnStore>) {
    let thread = ThreadKey::from("t");
    assert_eq!(store.thread(&thread).await, Ok(None));
    whole_turn(&*store, new_turn("t", "a", 3)).await;
    whole_turn(&*store, new_turn("other", "z", 9)).await;
    let record = store.thread(&thread).await.unwrap().unwrap();
    assert_eq!((&record.key, record.latest), (&thread, Some("a".into())));
    assert_eq!(record.unfinished, None);
    assert_eq!(
        (record.created_at, record.updated_at),
        (Timestamp(3), Timestamp(4))
    );
    // A branch is the latest turn too, and its clock may be behind.
    store.begin_turn(&new_turn("t", "b", 2)).await.unwrap();
    let record = store.thread(&thread).await.unwrap().unwrap();
    assert_eq!(record.latest, Some("b".into()));
    assert_eq!(record.updated_at, Timestamp(4));
    let unfinished = record.unfinished.unwrap();
    assert_eq!(unfinished.key, key("t", "b"));
    assert_eq!((&*unfinished.owner, unfinished.generation), ("host", FIRST));
}

/// Checks that a thread is deleted with all its turns, and that its names may be used again.
pub async fn a_deleted_thread_leaves_nothing(store: Arc<dyn TurnStore>) {
    let turn = key("t", "b");
    whole_turn(&*store, new_turn("t", "a", 1)).await;
    whole_turn(&*store, new_turn("other", "a", 1)).await;
    let mut new = new_turn("t", "b", 2);
    new.checkpoint = Some("s".to_owned());
    store.begin_turn(&new).await.unwrap();
    store
        .persist(&turn, FIRST, &batch(0, &["x"], 3))
        .await
        .unwrap();
    assert_eq!(store.delete_thread(&turn.thread).await, Ok(true));
    assert_eq!(store.delete_thread(&turn.thread).await, Ok(false));
    let gone = StoreError::NoTurn { turn: "b".into() };
    assert!(gone.is_lost());
    let write = store.persist(&turn, FIRST, &batch(1, &["y"], 4)).await;
    assert_eq!(write, Err(gone.clone()));
    assert_eq!(store.turn(&turn).await, Ok(None));
    assert_eq!(store.path(&turn).await, Err(gone));
    assert_eq!(store.thread(&turn.thread).await, Ok(None));
    assert_eq!(store.unfinished(None).await, Ok(Vec::new()));
    // The same names may begin again.
    store.begin_turn(&new_turn("t", "b", 5)).await.unwrap();
    assert_eq!(texts(&*store, &turn).await, [""; 0]);
    let claimed = store.claim(&turn, FIRST, "host").await.unwrap();
    assert_eq!(claimed.checkpoint, None);
    assert_eq!(texts(&*store, &key("other", "a")).await, ["done"]);
}
