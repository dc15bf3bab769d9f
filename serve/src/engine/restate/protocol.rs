//! The messages between hosts and Restate.

use crate::engine::Command;
use serde::{Deserialize, Serialize};
use stepwell_core::registry::ThreadKey;
use stepwell_io::RunId;
use stepwell_io::store::{Generation, TurnKey, Unfinished};

/// The owner in the store of a turn that no host drives.
pub(crate) const ELSEWHERE: &str = "restate";

/// The name of the object that a thread is, and of its exclusive handler.
pub(crate) const THREAD: &str = "StepwellThread";
pub(crate) const TURN: &str = "turn";

/// A request to drive a turn until it ends, or until only its user can move it on. The request names the turn and holds
/// nothing of it: that is in the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Invocation {
    pub thread: ThreadKey,
    pub turn: RunId,
    pub why: Why,
}

/// Why a turn is driven.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The turn has begun.
    Begun,
    /// The turn has rested from this generation on, for as long as it may.
    Lapsed(u64),
    /// The turn is sent a signal.
    Told(Signal),
}

/// A message to a turn, on any host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Signal {
    pub turn: RunId,
    pub says: Says,
    /// The awakeable of Restate that takes the reply.
    pub reply_to: String,
}

/// The content of a signal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    Stop,
    Command(Command),
}

/// A message for a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tell {
    pub thread: ThreadKey,
    pub turn: RunId,
    pub says: Says,
}

impl Invocation {
    pub fn new(turn: &TurnKey, why: Why) -> Self {
        Self {
            thread: turn.thread.clone(),
            turn: turn.turn.clone(),
            why,
        }
    }

    pub fn key(&self) -> TurnKey {
        TurnKey::new(self.thread.clone(), self.turn.clone())
    }

    /// Returns whether the turn, as it rests or has just begun, has nothing to do for this invocation.
    pub fn is_settled(&self, turn: &Unfinished) -> bool {
        match self.why {
            Why::Begun => turn.generation != Generation::FIRST,
            Why::Lapsed(since) => turn.generation != Generation(since),
            Why::Told(_) => false,
        }
    }
}
