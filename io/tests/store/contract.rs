//! The rules of `Store`.

use crate::support::{FIRST, batch, block, key, last, new_turn, texts, turn_ids, whole_turn};
use futures::FutureExt;
use serde_json::json;
use std::sync::Arc;
use stepwell_core::event::{Message, MessageContent, ResumeEntry};
use stepwell_core::run::{Attached, Block, BlockContent, Decision, Failure, Outcome, TurnStatus};
use stepwell_core::tool::ToolFailure;
use stepwell_core::{CallKey, Timestamp};
use stepwell_io::ThreadKey;
use stepwell_io::store::{
    EventLog, Generation, NewTurn, PersistBatch, Store, StoreError, ThreadQuery, TurnKey,
};

type AnyStore = Arc<dyn Store>;

/// One of each kind, with texts that are hard on a database.
fn all_blocks() -> Vec<Block> {
    let hard =
        "NUL \0, quote ', \"backslash\" \\, $1 ?2, \u{1F600}\u{301}, \u{2028} line\r\n".to_owned();
    let call = CallKey { hop: 0, index: 0 };
    let resume: ResumeEntry =
        serde_json::from_value(json!({"interruptId": "i", "status": "resolved"})).unwrap();
    let contents = [
        BlockContent::Reasoning {
            message_id: "r".into(),
            text: hard.clone(),
            attached: Attached {
                encrypted_value: Some(hard.clone()),
                ..Attached::default()
            },
        },
        BlockContent::Text {
            message_id: "m".into(),
            text: "x".repeat(200_000),
            attached: Attached::default(),
        },
        BlockContent::ToolUse {
            call,
            tool_call_id: "c\0".into(),
            name: "tool".to_owned(),
            arguments: "{ not json".to_owned(),
            parent: Some("m".into()),
            label: Some(hard.clone()),
            encrypted_value: None,
            metadata: None,
        },
        BlockContent::Approval {
            call,
            decision: Decision::Denied {
                reason: Some(hard.clone()),
            },
        },
        BlockContent::Deferred { call },
        BlockContent::ToolResult {
            call,
            tool_call_id: "c\0".into(),
            content: MessageContent::from(hard.as_str()),
            is_error: true,
            message_id: None,
            failure: Some(ToolFailure::error(hard.clone())),
            attached: Attached::default(),
        },
        BlockContent::Resumed {
            answers: vec![resume],
        },
        BlockContent::Steering {
            message: Box::new(Message::user("s", hard.clone())),
        },
        BlockContent::Messages {
            after: None,
            messages: vec![Message::user("n", hard.clone())],
        },
        BlockContent::State {
            state: json!({"a": [1.5, -0.1, 1e300, u64::MAX, null], "\0": hard}),
        },
    ];
    let blocks = contents.into_iter().zip(0..);
    let block = |(content, sequence)| Block {
        sequence,
        hop: 1,
        content,
    };
    blocks.map(block).collect()
}

pub(crate) async fn a_turn_comes_back_as_it_was_written(store: AnyStore) {
    let mut new = new_turn("t", "run", 5);
    new.message = Some(Message::user("m\0", "NUL \0 and \u{10FFFF}"));
    assert_eq!(store.turn(&new.key).await, Ok(None));
    let generation = store.begin_turn(&new).await.unwrap();
    let begun = store.turn(&new.key).await.unwrap().unwrap();
    assert_eq!(begun.message, new.message);
    assert_eq!(begun.status, TurnStatus::Streaming);
    assert_eq!(
        (begun.created_at, begun.updated_at),
        (Timestamp(5), Timestamp(5))
    );
    assert_eq!(
        (begun.parent, begun.outcome, begun.blocks.len()),
        (None, None, 0)
    );

    let blocks = all_blocks();
    let (first, rest) = blocks.split_at(3);
    let write = |first: u64, blocks: &[Block], at| PersistBatch {
        blocks: blocks.to_vec(),
        ..batch(first, &[], at)
    };
    store
        .persist(&new.key, generation, &write(0, first, 7))
        .await
        .unwrap();
    let outcome = Outcome::Failed {
        failure: Failure::Connection {
            message: "gone \0".to_owned(),
        },
    };
    let end = PersistBatch {
        status: TurnStatus::Failed,
        outcome: Some(outcome.clone()),
        ..write(3, rest, 9)
    };
    store.persist(&new.key, generation, &end).await.unwrap();
    let ended = store.turn(&new.key).await.unwrap().unwrap();
    let stored: Vec<_> = ended
        .blocks
        .iter()
        .map(|block| block.block.clone())
        .collect();
    assert_eq!(stored, blocks);
    let times: Vec<_> = ended.blocks.iter().map(|block| block.at.0).collect();
    assert_eq!(times, [7, 7, 7, 9, 9, 9, 9, 9, 9, 9]);
    assert_eq!(ended.status, TurnStatus::Failed);
    assert_eq!(ended.outcome, Some(outcome));
    assert_eq!(ended.updated_at, Timestamp(9));
}

pub(crate) async fn a_thread_has_one_unfinished_turn(store: AnyStore) {
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let busy = store.begin_turn(&new_turn("t", "b", 2)).await;
    let expected = StoreError::Busy {
        turn: "a".into(),
        generation: FIRST,
        owner: "host".to_owned(),
    };
    assert_eq!(busy, Err(expected));
    assert_eq!(store.turn(&key("t", "b")).await, Ok(None));
    store.begin_turn(&new_turn("other", "b", 2)).await.unwrap();
    store
        .persist(&key("t", "a"), FIRST, &last(0, &[], 3))
        .await
        .unwrap();
    store.begin_turn(&new_turn("t", "b", 4)).await.unwrap();
}

pub(crate) async fn a_turns_id_is_used_once_in_its_thread(store: AnyStore) {
    whole_turn(&*store, new_turn("t", "a", 1)).await;
    let again = store.begin_turn(&new_turn("t", "a", 9)).await;
    assert_eq!(again, Err(StoreError::Exists { turn: "a".into() }));
    assert_eq!(texts(&*store, &key("t", "a")).await, ["done"]);
    // Threads are told apart by all three parts of their key.
    for (server, room) in [("s", ""), ("", "s"), ("s", "r")] {
        let key = TurnKey::new(ThreadKey::new(server, room, "t"), "a");
        let new = NewTurn::new(key, "host", Timestamp(1));
        store.begin_turn(&new).await.unwrap();
    }
    assert_eq!(texts(&*store, &key("t", "a")).await, ["done"]);
}

pub(crate) async fn a_parent_must_be_there(store: AnyStore) {
    let mut new = new_turn("t", "b", 1);
    new.parent = Some("a".into());
    let refused = store.begin_turn(&new).await;
    assert_eq!(refused, Err(StoreError::NoTurn { turn: "a".into() }));
    let thread = store.thread(&new.key.thread).await;
    assert_eq!(thread, Ok(None), "a turn that was refused leaves no thread");
    whole_turn(&*store, new_turn("other", "a", 1)).await;
    let refused = store.begin_turn(&new).await;
    assert_eq!(refused, Err(StoreError::NoTurn { turn: "a".into() }));
}

pub(crate) async fn a_batch_that_is_sent_again_changes_nothing(store: AnyStore) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let persist = async |batch: PersistBatch| store.persist(&turn, FIRST, &batch).await;
    persist(batch(0, &["a", "b"], 2)).await.unwrap();
    persist(batch(0, &["a", "b"], 3)).await.unwrap();
    assert_eq!(texts(&*store, &turn).await, ["a", "b"]);
    let stored = store.turn(&turn).await.unwrap().unwrap();
    assert_eq!(
        stored.blocks[0].at,
        Timestamp(2),
        "stored once, at that time"
    );
    // A part of it, and as a part of a longer one.
    persist(batch(1, &["b"], 4)).await.unwrap();
    persist(batch(1, &["b", "c", "d"], 5)).await.unwrap();
    persist(batch(4, &[], 6)).await.unwrap();
    assert_eq!(texts(&*store, &turn).await, ["a", "b", "c", "d"]);
    // The end too, alone or with blocks.
    persist(last(2, &["c", "d", "e"], 7)).await.unwrap();
    persist(last(2, &["c", "d", "e"], 8)).await.unwrap();
    persist(last(5, &[], 8)).await.unwrap();
    let stored = store.turn(&turn).await.unwrap().unwrap();
    assert_eq!(stored.updated_at, Timestamp(7));
    assert_eq!(texts(&*store, &turn).await, ["a", "b", "c", "d", "e"]);
}

pub(crate) async fn a_batch_that_does_not_fit_changes_nothing(store: AnyStore) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let persist = async |batch: PersistBatch| store.persist(&turn, FIRST, &batch).await;
    persist(batch(0, &["a", "b"], 2)).await.unwrap();
    let before = store.turn(&turn).await.unwrap();
    let gap = StoreError::Gap {
        turn: "a".into(),
        given: 3,
        next: 2,
    };
    assert_eq!(persist(batch(3, &["d"], 3)).await, Err(gap.clone()));
    assert_eq!(persist(last(3, &[], 3)).await, Err(gap));
    let conflict = StoreError::Conflict {
        turn: "a".into(),
        number: 1,
    };
    assert_eq!(
        persist(batch(1, &["B", "c"], 3)).await,
        Err(conflict.clone())
    );
    assert_eq!(persist(last(0, &["a", "B"], 3)).await, Err(conflict));
    let misnumbered = PersistBatch {
        blocks: vec![block(2, "c"), block(4, "d")],
        ..batch(2, &[], 3)
    };
    let refused = persist(misnumbered).await;
    assert!(
        matches!(refused, Err(StoreError::Refused { .. })),
        "{refused:?}"
    );
    let undecided = PersistBatch {
        outcome: Some(Outcome::Success),
        ..batch(2, &["c"], 3)
    };
    let refused = persist(undecided).await;
    assert!(
        matches!(refused, Err(StoreError::Refused { .. })),
        "{refused:?}"
    );
    assert_eq!(store.turn(&turn).await.unwrap(), before);
    let claimed = store.claim(&turn, FIRST, "host").await.unwrap();
    assert_eq!(claimed.snapshot.as_deref(), Some("snapshot after 0"));
    let none = store
        .persist(&key("t", "b"), FIRST, &batch(0, &[], 1))
        .await;
    assert_eq!(none, Err(StoreError::NoTurn { turn: "b".into() }));
}

pub(crate) async fn a_turn_is_closed_once(store: AnyStore) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    store
        .persist(&turn, FIRST, &last(0, &["a"], 2))
        .await
        .unwrap();
    let before = store.turn(&turn).await.unwrap();
    let closed = Err(StoreError::Closed { turn: "a".into() });
    let others = [
        batch(1, &["b"], 3),
        last(1, &["b"], 3),
        batch(0, &["a"], 3),
        PersistBatch {
            status: TurnStatus::Cancelled,
            outcome: Some(Outcome::Cancelled),
            ..batch(1, &[], 3)
        },
    ];
    for other in others {
        assert_eq!(
            store.persist(&turn, FIRST, &other).await,
            closed,
            "{other:?}"
        );
    }
    let claim = store.claim(&turn, FIRST, "other").await;
    assert_eq!(claim, Err(StoreError::Closed { turn: "a".into() }));
    assert_eq!(store.turn(&turn).await.unwrap(), before);
    assert_eq!(store.unfinished(None).await, Ok(Vec::new()));
}

pub(crate) async fn the_newest_snapshot_is_the_one_to_go_on_from(store: AnyStore) {
    let turn = key("t", "a");
    let mut new = new_turn("t", "a", 1);
    store.begin_turn(&new).await.unwrap();
    let claimed = store.claim(&turn, FIRST, "host").await.unwrap();
    assert_eq!(
        (claimed.generation, claimed.snapshot),
        (Generation(2), None)
    );
    let mut again = batch(0, &["a"], 2);
    store.persist(&turn, Generation(2), &again).await.unwrap();
    again.snapshot = "newer".to_owned();
    store.persist(&turn, Generation(2), &again).await.unwrap();
    let claimed = store.claim(&turn, Generation(2), "host").await.unwrap();
    assert_eq!(claimed.snapshot.as_deref(), Some("newer"));

    new = new_turn("u", "a", 1);
    new.snapshot = Some("first \0".to_owned().replace('\0', "\\u0000"));
    store.begin_turn(&new).await.unwrap();
    let claimed = store.claim(&new.key, FIRST, "host").await.unwrap();
    assert_eq!(claimed.snapshot, new.snapshot);
}

pub(crate) async fn a_claim_shuts_the_owner_before_out(store: AnyStore) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let claimed = store.claim(&turn, FIRST, "other").await.unwrap();
    assert_eq!(claimed.generation, Generation(2));
    let stale = StoreError::Stale {
        turn: "a".into(),
        given: FIRST,
        current: Generation(2),
    };
    let events = ["event".to_owned()];
    let write = store.persist(&turn, FIRST, &batch(0, &["a"], 2)).await;
    assert_eq!(write, Err(stale.clone()));
    let write = store.append_events(&turn, FIRST, 0, &events).await;
    assert_eq!(write, Err(stale.clone()));
    let write = store.claim(&turn, FIRST, "host").await.map(drop);
    assert_eq!(write, Err(stale));
    // One that was never given out is refused too.
    let ahead = store
        .persist(&turn, Generation(3), &batch(0, &["a"], 2))
        .await;
    assert!(matches!(ahead, Err(StoreError::Stale { .. })), "{ahead:?}");
    assert_eq!(texts(&*store, &turn).await, [""; 0]);
    store
        .persist(&turn, Generation(2), &batch(0, &["b"], 2))
        .await
        .unwrap();
    store
        .append_events(&turn, Generation(2), 0, &events)
        .await
        .unwrap();
    assert_eq!(texts(&*store, &turn).await, ["b"]);
    let record = store.thread(&turn.thread).await.unwrap().unwrap();
    assert_eq!(record.unfinished.unwrap().owner, "other");
}

pub(crate) async fn of_many_that_claim_at_once_one_wins(store: AnyStore) {
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

pub(crate) async fn of_many_that_begin_at_once_one_wins(store: AnyStore) {
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
        let turns = store.turns(&ThreadKey::from(&*thread)).await.unwrap();
        assert_eq!(turns.len(), 1);
    }
}

pub(crate) async fn unfinished_turns_are_listed_by_owner(store: AnyStore) {
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

pub(crate) async fn a_path_goes_up_the_tree(store: AnyStore) {
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
    let all = store.turns(&ThreadKey::from("t")).await.unwrap();
    assert_eq!(turn_ids(&all), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(store.turns(&ThreadKey::from("none")).await, Ok(Vec::new()));
    let missing = store.path(&key("t", "7")).await;
    assert_eq!(missing, Err(StoreError::NoTurn { turn: "7".into() }));
}

pub(crate) async fn threads_are_listed_page_by_page(store: AnyStore) {
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
    // What is written to is used.
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

pub(crate) async fn a_thread_has_a_title(store: AnyStore) {
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

pub(crate) async fn a_deleted_thread_leaves_nothing(store: AnyStore) {
    let turn = key("t", "b");
    whole_turn(&*store, new_turn("t", "a", 1)).await;
    whole_turn(&*store, new_turn("other", "a", 1)).await;
    let mut new = new_turn("t", "b", 2);
    new.snapshot = Some("s".to_owned());
    store.begin_turn(&new).await.unwrap();
    store
        .persist(&turn, FIRST, &batch(0, &["x"], 3))
        .await
        .unwrap();
    store
        .append_events(&turn, FIRST, 0, &["e".to_owned()])
        .await
        .unwrap();
    assert_eq!(store.delete_thread(&turn.thread).await, Ok(true));
    assert_eq!(store.delete_thread(&turn.thread).await, Ok(false));
    let gone = StoreError::NoTurn { turn: "b".into() };
    assert!(gone.is_lost());
    let write = store.persist(&turn, FIRST, &batch(1, &["y"], 4)).await;
    assert_eq!(write, Err(gone.clone()));
    let write = store
        .append_events(&turn, FIRST, 1, &["f".to_owned()])
        .await;
    assert_eq!(write, Err(gone.clone()));
    assert_eq!(store.events(&turn, None, 10).await, Err(gone));
    assert_eq!(store.thread(&turn.thread).await, Ok(None));
    assert_eq!(store.unfinished(None).await, Ok(Vec::new()));
    // The same names begin anew.
    store.begin_turn(&new_turn("t", "b", 5)).await.unwrap();
    assert_eq!(texts(&*store, &turn).await, [""; 0]);
    assert_eq!(store.event_log(&turn).await, Ok(EventLog::default()));
    let claimed = store.claim(&turn, FIRST, "host").await.unwrap();
    assert_eq!(claimed.snapshot, None);
    assert_eq!(texts(&*store, &key("other", "a")).await, ["done"]);
}

fn events(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|number| format!("{{\"n\":{number}}}")).collect()
}

pub(crate) async fn events_are_read_from_any_place_on(store: AnyStore) {
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
    // The last event tells of the end, after it.
    store.persist(&turn, FIRST, &last(0, &[], 2)).await.unwrap();
    store
        .append_events(&turn, FIRST, 10, &events(10..11))
        .await
        .unwrap();
    assert_eq!(read(Some(9), 3).await, [10]);
}

pub(crate) async fn events_that_do_not_follow_are_refused(store: AnyStore) {
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

pub(crate) async fn what_was_seen_never_goes_back(store: AnyStore) {
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
    // Nobody can have seen what is not stored.
    let gap = StoreError::Gap {
        turn: "a".into(),
        given: 5,
        next: 5,
    };
    assert_eq!(store.acknowledge(&turn, 5).await, Err(gap));
    store.claim(&turn, FIRST, "other").await.unwrap();
    assert_eq!(seen().await, Some(3));
}

pub(crate) async fn whoever_follows_a_thread_is_woken(store: AnyStore) {
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

pub(crate) async fn many_blocks_and_events_at_once(store: AnyStore) {
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

pub(crate) async fn names_are_any_text_of_some_length_but_nul(store: AnyStore) {
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

pub(crate) async fn a_write_that_is_dropped_is_whole_or_not_there(store: AnyStore) {
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
        let snapshot = format!("snapshot after {next}");
        assert_eq!(claimed.snapshot.as_deref() == Some(&*snapshot), is_stored);
        next = blocks_later.len() as u64;
    }
    // And the store goes on.
    store
        .persist(&turn, generation, &last(next, &["end"], 3))
        .await
        .unwrap();
}
