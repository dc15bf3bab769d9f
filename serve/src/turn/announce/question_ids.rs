//! The ids of a turn's questions.

use stepwell_core::ToolCallId;
use stepwell_core::registry::ThreadKey;
use stepwell_io::store::TurnKey;

/// The ids of a turn's questions: the same after a restart.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuestionIds {
    /// The part that distinguishes the turn from others, whose calls may have the same ids.
    tag: String,
}

impl QuestionIds {
    /// Creates the ids of a turn's questions. Answers to a turn that is reported in runs do not name the turn: its
    /// questions do.
    pub(crate) fn new(key: &TurnKey, is_told_in_runs: bool) -> Self {
        if !is_told_in_runs {
            return Self::default();
        }
        let ThreadKey {
            server,
            room,
            thread,
        } = &key.thread;
        // FNV-1a, 64 bits: of another release and on another machine it is the same.
        let parts = [&**server, &**room, thread.as_str(), key.turn.as_str()];
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self {
            tag: format!("{hash:016x}-"),
        }
    }

    /// The question whether a call may run.
    pub(crate) fn of_call(&self, call: &ToolCallId) -> String {
        format!("interrupt-{}{call}", self.tag)
    }

    /// The question of this number that a running call asks.
    pub(crate) fn of_tool(&self, call: &ToolCallId, number: u32) -> String {
        format!("question-{number}-{}{call}", self.tag)
    }
}
