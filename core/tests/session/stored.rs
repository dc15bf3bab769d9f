//! What a store has of a thread's turns.

use stepwell_core::event::Message;
use stepwell_core::run::{Block, Outcome, TurnStatus};
use stepwell_core::session::{Turn, TurnBlock};
use stepwell_core::{RunId, Timestamp};

/// A turn that has begun.
pub fn begun(id: &str, parent: Option<&str>, message: Option<Message>, at: u64) -> Turn {
    Turn {
        id: id.into(),
        history: None,
        parent: parent.map(RunId::from),
        message,
        status: TurnStatus::Streaming,
        outcome: None,
        created_at: Timestamp(at),
        updated_at: Timestamp(at),
        blocks: Vec::new(),
    }
}

/// Takes a write, as a store does: through JSON.
pub fn write(
    turn: &mut Turn,
    status: TurnStatus,
    outcome: Option<&Outcome>,
    blocks: &[Block],
    at: u64,
) {
    let at = Timestamp(at);
    for block in blocks {
        assert_eq!(block.sequence, turn.blocks.len() as u64, "a gap");
        let text = serde_json::to_string(block).expect("JSON");
        let block = serde_json::from_str(&text).expect("what was written can be read");
        turn.blocks.push(TurnBlock { block, at });
    }
    turn.status = status;
    turn.outcome = outcome.cloned();
    turn.updated_at = at;
    let text = serde_json::to_string(&turn).expect("JSON");
    *turn = serde_json::from_str(&text).expect("what was written can be read");
}
