//! The rules of [`ThreadStore`]: the list of threads, their titles, and the tree of their turns.

use super::support::{FIRST, key, last, new_turn, turn_ids, whole_turn};
use crate::ThreadKey;
use crate::store::{NewTurn, StoreError, ThreadQuery, ThreadStore, TurnKey};
use std::sync::Arc;
use stepwell_core::Timestamp;

/// Checks that the turns of a thread, their outline and the end of a path are read in order.
pub async fn the_tree_of_turns_is_read(store: Arc<dyn ThreadStore>) {
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
    let all = store.turns(&ThreadKey::from("t")).await.unwrap();
    assert_eq!(turn_ids(&all), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(store.turns(&ThreadKey::from("none")).await, Ok(Vec::new()));
    let end = async |turn, limit| {
        let path = store.path_end(&key("t", turn), limit).await;
        turn_ids(&path.unwrap())
    };
    assert_eq!(end("5", 2).await, ["4", "5"]);
    assert_eq!(end("3", 9).await, ["1", "2", "3"]);
    assert_eq!(end("3", 0).await, ["3"]);
    let outline = store.outline(&ThreadKey::from("t")).await.unwrap();
    let outline: Vec<_> = outline
        .iter()
        .map(|turn| (&*turn.id, turn.parent.as_deref(), turn.created_at.0))
        .collect();
    let expected = (0..)
        .zip(parents)
        .map(|(at, (turn, parent))| (turn, parent, at * 10));
    assert_eq!(outline, expected.collect::<Vec<_>>());
    let none = store.outline(&ThreadKey::from("none")).await;
    assert_eq!(none, Ok(Vec::new()));
    let missing = store.path_end(&key("t", "7"), 2).await;
    assert_eq!(missing, Err(StoreError::NoTurn { turn: "7".into() }));
}

/// Checks the order of the list of threads, its pages, and its filters.
pub async fn threads_are_listed_page_by_page(store: Arc<dyn ThreadStore>) {
    let keys: Vec<_> = (0..25)
        .map(|number| ThreadKey::new(format!("s{}", number % 2), "", format!("T{number:02}")))
        .collect();
    for (number, thread) in keys.iter().enumerate() {
        // Five of them at each time.
        let at = Timestamp(number as u64 / 5);
        let new = NewTurn::new(TurnKey::new(thread.clone(), "run"), "host", at);
        store.begin_turn(&new).await.unwrap();
    }
    let mut expected: Vec<_> = keys.iter().enumerate().collect();
    expected.sort_by_key(|(number, thread)| (std::cmp::Reverse(number / 5), *thread));
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(_, thread)| thread.clone())
        .collect();
    let mut query = ThreadQuery {
        limit: 7,
        ..ThreadQuery::default()
    };
    let mut listed = Vec::new();
    loop {
        let page = store.threads(&query).await.unwrap();
        let Some(end) = page.last() else { break };
        assert!(page.len() == 7 || page.len() == 25 % 7);
        query.after = Some(end.cursor());
        listed.extend(page.into_iter().map(|record| record.key));
    }
    assert_eq!(listed, expected);
    query = ThreadQuery {
        server: Some("s1".to_owned()),
        ..ThreadQuery::default()
    };
    let of_server = store.threads(&query).await.unwrap();
    assert_eq!(of_server.len(), 12);
    assert!(of_server.iter().all(|record| record.key.server == "s1"));
    query.room = Some("none".to_owned());
    assert_eq!(store.threads(&query).await, Ok(Vec::new()));
    // A write makes a thread the latest.
    let oldest = TurnKey::new(keys[0].clone(), "run");
    store
        .persist(&oldest, FIRST, &last(0, &[], 99))
        .await
        .unwrap();
    let first = store
        .threads(&ThreadQuery::default())
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        (first.key, first.updated_at),
        (keys[0].clone(), Timestamp(99))
    );
    assert_eq!((first.created_at, first.unfinished), (Timestamp(0), None));
}

/// Checks that a thread keeps its first title until it is renamed, which does not count as use.
pub async fn a_thread_has_a_title(store: Arc<dyn ThreadStore>) {
    let thread = ThreadKey::from("t");
    let missing = StoreError::NoThread {
        thread: thread.clone(),
    };
    assert_eq!(store.rename_thread(&thread, "x").await, Err(missing));
    whole_turn(&*store, new_turn("t", "a", 1)).await;
    let title = async || store.thread(&thread).await.unwrap().unwrap().title;
    assert_eq!(title().await, None);
    let mut new = new_turn("t", "b", 5);
    new.title = Some("The \"weather\" 'in' \u{1F327}".to_owned());
    whole_turn(&*store, new.clone()).await;
    assert_eq!(title().await, new.title);
    let mut later = new_turn("t", "c", 8);
    later.title = Some("another".to_owned());
    whole_turn(&*store, later).await;
    assert_eq!(title().await, new.title, "a thread keeps its title");
    store.rename_thread(&thread, "mine").await.unwrap();
    let record = store.thread(&thread).await.unwrap().unwrap();
    assert_eq!(record.title.as_deref(), Some("mine"));
    assert_eq!(record.updated_at, Timestamp(9), "a new title is no use");
    assert_eq!(record.latest, Some("c".into()));
}
