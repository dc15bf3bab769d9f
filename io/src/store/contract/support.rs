//! Turns and blocks to store.
#![allow(missing_docs)]

use crate::ThreadKey;
use crate::store::{Generation, NewTurn, PersistBatch, TurnKey, TurnStore};
use stepwell_core::event::Message;
use stepwell_core::run::{Attached, Block, BlockContent, Outcome, TurnStatus};
use stepwell_core::{RunId, Timestamp};

pub fn key(thread: &str, turn: &str) -> TurnKey {
    TurnKey::new(ThreadKey::new("", "", thread), turn)
}

pub fn new_turn(thread: &str, turn: &str, at: u64) -> NewTurn {
    let mut new = NewTurn::new(key(thread, turn), "host", Timestamp(at));
    new.message = Some(Message::user(format!("{turn}-user"), "Hello"));
    new
}

pub fn block(sequence: u64, text: &str) -> Block {
    Block {
        sequence,
        hop: 0,
        content: BlockContent::Text {
            message_id: "m".into(),
            text: text.to_owned(),
            attached: Attached::default(),
        },
    }
}

/// Blocks from `first` on, one for each text.
pub fn batch(first: u64, texts: &[&str], at: u64) -> PersistBatch {
    let blocks = texts.iter().zip(first..);
    PersistBatch {
        first,
        blocks: blocks.map(|(text, number)| block(number, text)).collect(),
        status: TurnStatus::Streaming,
        outcome: None,
        checkpoint: format!("checkpoint after {first}"),
        first_event: 0,
        events: Vec::new(),
        at: Timestamp(at),
    }
}

pub fn last(first: u64, texts: &[&str], at: u64) -> PersistBatch {
    PersistBatch {
        status: TurnStatus::Complete,
        outcome: Some(Outcome::Success),
        ..batch(first, texts, at)
    }
}

/// A turn from its beginning to its end.
pub async fn whole_turn(store: &dyn TurnStore, new: NewTurn) {
    let generation = store.begin_turn(&new).await.unwrap();
    let batch = last(0, &["done"], new.at.0 + 1);
    store.persist(&new.key, generation, &batch).await.unwrap();
}

/// The texts of a turn's blocks.
pub async fn texts(store: &dyn TurnStore, key: &TurnKey) -> Vec<String> {
    let turn = store.turn(key).await.unwrap().unwrap();
    let blocks = turn.blocks.into_iter().enumerate();
    let text = |(number, block): (usize, stepwell_core::session::TurnBlock)| {
        assert_eq!(block.block.sequence, number as u64);
        match block.block.content {
            BlockContent::Text { text, .. } => text,
            other => format!("{other:?}"),
        }
    };
    blocks.map(text).collect()
}

pub fn turn_ids(turns: &[stepwell_core::session::Turn]) -> Vec<RunId> {
    turns.iter().map(|turn| turn.id.clone()).collect()
}

/// A name that no other test has.
pub(super) fn unique_name() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("{:?}-{:?}", std::thread::current().id(), now.unwrap())
}

pub const FIRST: Generation = Generation::FIRST;
