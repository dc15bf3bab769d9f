//! Turns and their blocks.

use crate::ThreadKey;
use crate::store::contract::support::{
    FIRST, batch, block, key, last, new_turn, texts, whole_turn,
};
use crate::store::{Generation, NewTurn, PersistBatch, StoreError, TurnKey, TurnStore};
use serde_json::json;
use std::sync::Arc;
use stepwell_core::event::{Message, MessageContent, ResumeEntry};
use stepwell_core::run::{Attached, Block, BlockContent, Decision, Failure, Outcome, TurnStatus};
use stepwell_core::tool::ToolFailure;
use stepwell_core::{CallKey, Timestamp};

/// One block of each kind, with texts that are hard on a database.
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
        BlockContent::Deferred {
            call,
            deadline: Some(Timestamp(7)),
        },
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

/// Checks that each kind of block, the message, the outcome and the times of a turn are read as they were written.
pub async fn a_turn_is_read_as_it_was_written(store: Arc<dyn TurnStore>) {
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

/// Checks that a turn does not begin while another turn of its thread is unfinished.
pub async fn a_thread_has_one_unfinished_turn(store: Arc<dyn TurnStore>) {
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

/// Checks that the id of a turn is used once in a thread, and may be used in other threads.
pub async fn a_turns_id_is_used_once_in_its_thread(store: Arc<dyn TurnStore>) {
    whole_turn(&*store, new_turn("t", "a", 1)).await;
    let again = store.begin_turn(&new_turn("t", "a", 9)).await;
    assert_eq!(again, Err(StoreError::Exists { turn: "a".into() }));
    assert_eq!(texts(&*store, &key("t", "a")).await, ["done"]);
    // All three parts of the key distinguish threads.
    for (server, room) in [("s", ""), ("", "s"), ("s", "r")] {
        let key = TurnKey::new(ThreadKey::new(server, room, "t"), "a");
        let new = NewTurn::new(key, "host", Timestamp(1));
        store.begin_turn(&new).await.unwrap();
    }
    assert_eq!(texts(&*store, &key("t", "a")).await, ["done"]);
}

/// Checks that a turn begins only after a turn of the same thread, and that a refusal leaves no thread.
pub async fn a_parent_must_be_there(store: Arc<dyn TurnStore>) {
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

/// Checks that a batch may be sent again, alone, in part, or as a part of a longer one.
pub async fn a_batch_that_is_sent_again_changes_nothing(store: Arc<dyn TurnStore>) {
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

/// Checks that a batch that arrives after later ones, for example on a connection that was given up, changes nothing: its
/// checkpoint does not replace the newer one.
pub async fn a_batch_that_arrives_late_changes_nothing(store: Arc<dyn TurnStore>) {
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let persist = async |batch: PersistBatch| store.persist(&turn, FIRST, &batch).await;
    let (early, later) = (batch(0, &["a", "b"], 2), batch(2, &["c"], 3));
    persist(early.clone()).await.unwrap();
    persist(later.clone()).await.unwrap();
    let before = store.turn(&turn).await.unwrap();
    persist(early).await.unwrap();
    persist(batch(1, &["b"], 4)).await.unwrap();
    persist(batch(1, &[], 4)).await.unwrap();
    assert_eq!(store.turn(&turn).await.unwrap(), before);
    let claimed = store.claim(&turn, FIRST, "host").await.unwrap();
    assert_eq!(claimed.checkpoint, Some(later.checkpoint));
}

/// Checks that a batch with a gap, a conflict, or invalid numbers is refused and changes nothing.
pub async fn a_batch_that_does_not_fit_changes_nothing(store: Arc<dyn TurnStore>) {
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
    assert_eq!(claimed.checkpoint.as_deref(), Some("checkpoint after 0"));
    let none = store
        .persist(&key("t", "b"), FIRST, &batch(0, &[], 1))
        .await;
    assert_eq!(none, Err(StoreError::NoTurn { turn: "b".into() }));
}

/// Checks that a closed turn takes no other end, no blocks and no claim.
pub async fn a_turn_is_closed_once(store: Arc<dyn TurnStore>) {
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

/// Checks that a claim returns the checkpoint that was stored last.
pub async fn a_claim_returns_the_newest_checkpoint(store: Arc<dyn TurnStore>) {
    let turn = key("t", "a");
    let mut new = new_turn("t", "a", 1);
    store.begin_turn(&new).await.unwrap();
    let claimed = store.claim(&turn, FIRST, "host").await.unwrap();
    assert_eq!(
        (claimed.generation, claimed.checkpoint),
        (Generation(2), None)
    );
    let mut again = batch(0, &["a"], 2);
    store.persist(&turn, Generation(2), &again).await.unwrap();
    again.checkpoint = "newer".to_owned();
    store.persist(&turn, Generation(2), &again).await.unwrap();
    let claimed = store.claim(&turn, Generation(2), "host").await.unwrap();
    assert_eq!(claimed.checkpoint.as_deref(), Some("newer"));

    new = new_turn("u", "a", 1);
    new.checkpoint = Some("first \0".to_owned().replace('\0', "\\u0000"));
    store.begin_turn(&new).await.unwrap();
    let claimed = store.claim(&new.key, FIRST, "host").await.unwrap();
    assert_eq!(claimed.checkpoint, new.checkpoint);
}
