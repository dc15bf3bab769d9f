//! The owners of turns, and their leases.

use crate::store::contract::support::{
    FIRST, batch, key, new_turn, texts, unique_name, whole_turn,
};
use crate::store::{Generation, Lease, LeaseKey, RESTING, StoreError, TurnStore};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::Timestamp;

/// Checks that the writes and claims of a former owner are refused after a claim.
pub async fn a_claim_shuts_out_the_former_owner(store: Arc<dyn TurnStore>) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let claimed = store.claim(&turn, FIRST, "other").await.unwrap();
    assert_eq!(claimed.generation, Generation(2));
    let stale = StoreError::Stale {
        turn: "a".into(),
        given: FIRST,
        current: Generation(2),
    };
    let write = store.persist(&turn, FIRST, &batch(0, &["a"], 2)).await;
    assert_eq!(write, Err(stale.clone()));
    let write = store.claim(&turn, FIRST, "host").await.map(drop);
    assert_eq!(write, Err(stale));
    // A generation that was never issued is refused too.
    let ahead = store
        .persist(&turn, Generation(3), &batch(0, &["a"], 2))
        .await;
    assert!(matches!(ahead, Err(StoreError::Stale { .. })), "{ahead:?}");
    assert_eq!(texts(&*store, &turn).await, [""; 0]);
    store
        .persist(&turn, Generation(2), &batch(0, &["b"], 2))
        .await
        .unwrap();
    assert_eq!(texts(&*store, &turn).await, ["b"]);
    let record = store.thread(&turn.thread).await.unwrap().unwrap();
    assert_eq!(record.unfinished.unwrap().owner, "other");
}

/// Checks that one of several claims of the same generation wins.
pub async fn one_of_many_concurrent_claims_wins(store: Arc<dyn TurnStore>) {
    let turn = key("t", "a");
    let mut generation = store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    for _ in 0..5 {
        let claims: Vec<_> = (0..8)
            .map(|owner| {
                let (store, turn) = (Arc::clone(&store), turn.clone());
                let claim =
                    async move { store.claim(&turn, generation, &format!("{owner}")).await };
                tokio::spawn(claim)
            })
            .collect();
        let mut winners = Vec::new();
        for claim in claims {
            match claim.await.unwrap() {
                Ok(claimed) => winners.push(claimed.generation),
                Err(StoreError::Stale { current, .. }) => assert_eq!(current, generation.next()),
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(winners, [generation.next()]);
        generation = generation.next();
    }
}

/// Checks that one of several turns that begin in a thread at the same time wins.
pub async fn one_of_many_concurrent_beginnings_wins(store: Arc<dyn TurnStore>) {
    for round in 0..5 {
        let thread = format!("t{round}");
        let begins: Vec<_> = (0..8)
            .map(|owner| {
                let store = Arc::clone(&store);
                let new = new_turn(&thread, &format!("run{owner}"), 1);
                tokio::spawn(async move { store.begin_turn(&new).await })
            })
            .collect();
        let mut won = 0;
        for begin in begins {
            match begin.await.unwrap() {
                Ok(_) => won += 1,
                Err(StoreError::Busy { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(won, 1);
        let mut stored = 0;
        for run in 0..8 {
            let turn = store.turn(&key(&thread, &format!("run{run}"))).await;
            stored += usize::from(turn.unwrap().is_some());
        }
        assert_eq!(stored, 1);
    }
}

/// Checks that unfinished turns are listed oldest first, all or those of one owner.
pub async fn unfinished_turns_are_listed_by_owner(store: Arc<dyn TurnStore>) {
    assert_eq!(store.unfinished(None).await, Ok(Vec::new()));
    for (thread, owner, at) in [("c", "x", 3), ("a", "y", 2), ("b", "x", 1)] {
        let mut new = new_turn(thread, "run", at);
        new.owner = owner.to_owned();
        store.begin_turn(&new).await.unwrap();
    }
    whole_turn(&*store, new_turn("d", "run", 0)).await;
    let threads = async |owner| {
        let turns = store.unfinished(owner).await.unwrap();
        let threads = turns
            .into_iter()
            .map(|turn| turn.key.thread.thread.into_string());
        threads.collect::<Vec<_>>()
    };
    assert_eq!(threads(None).await, ["b", "a", "c"]);
    assert_eq!(threads(Some("x")).await, ["b", "c"]);
    assert_eq!(threads(Some("z")).await, [""; 0]);
    store.claim(&key("a", "run"), FIRST, "x").await.unwrap();
    assert_eq!(threads(Some("y")).await, [""; 0]);
    let turns = store.unfinished(Some("x")).await.unwrap();
    let claimed = turns
        .iter()
        .find(|turn| turn.key == key("a", "run"))
        .unwrap();
    assert_eq!(
        (claimed.generation, claimed.updated_at),
        (Generation(2), Timestamp(2))
    );
}

/// Checks that turns are orphans while their owners hold no lease, and that a lease expires.
pub async fn turns_without_a_lease_are_orphans(store: Arc<dyn TurnStore>) {
    let id = unique_name();
    let [here, gone] = ["here", "gone"].map(|name| format!("{name}-{id}"));
    let orphans = async || {
        let turns = store.orphans().await.unwrap();
        let threads = turns
            .into_iter()
            .map(|turn| turn.key.thread.thread.into_string());
        threads.collect::<Vec<_>>()
    };
    let lease = Lease::acquire(Arc::clone(&store), &here).await.unwrap();
    assert!(lease.is_held());
    for (thread, owner, at) in [("a", &here, 3), ("b", &gone, 2), ("c", &gone, 1)] {
        let mut new = new_turn(thread, "run", at);
        owner.clone_into(&mut new.owner);
        store.begin_turn(&new).await.unwrap();
    }
    whole_turn(&*store, new_turn("d", "run", 0)).await;
    let resting = new_turn("e", "run", 0);
    store.begin_turn(&resting).await.unwrap();
    store.claim(&resting.key, FIRST, RESTING).await.unwrap();
    assert_eq!(orphans().await, ["c", "b"]);
    store.claim(&key("b", "run"), FIRST, &here).await.unwrap();
    assert_eq!(orphans().await, ["c"]);
    // An owner may hold several leases.
    let again = Lease::acquire(Arc::clone(&store), &here).await.unwrap();
    let other = Lease::acquire(Arc::clone(&store), &gone).await.unwrap();
    assert_eq!(orphans().await, [""; 0]);
    again.end().await;
    other.end().await;
    assert_eq!(orphans().await, ["c"]);
    lease.end().await;
    assert_eq!(orphans().await, ["c", "b", "a"]);
    // A lease that is not renewed expires.
    let key = LeaseKey {
        owner: here,
        id: "short".to_owned(),
    };
    let term = Duration::from_millis(50);
    store.renew_lease(&key, term).await.unwrap();
    while orphans().await.len() < 3 {
        tokio::task::yield_now().await;
    }
    let long = "n".repeat(801);
    let refused = Lease::acquire(Arc::clone(&store), &long).await;
    assert!(
        matches!(refused, Err(StoreError::Refused { .. })),
        "{refused:?}"
    );
}
