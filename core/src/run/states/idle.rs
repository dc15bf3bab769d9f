use super::Run;
use super::any_run::next;
use super::data::Idle;
use super::edges::on;
use crate::run::hop;
use crate::run::protocol::{RunConfig, Start};
use crate::run::turn::Turn;
use crate::transcript::Transcript;
use crate::{ThreadId, Timestamp};
use std::sync::Arc;

next! {
    /// The result of starting a turn.
    Started {
        /// The first request is on its way.
        Opening,
        /// The conversation does not fit the model's context, or the provider does not take what is attached.
        Completed,
    }
}

impl Run<Idle> {
    /// Creates a run that is ready to start, on this conversation.
    pub fn new(config: Arc<RunConfig>, thread_id: ThreadId, history: Transcript) -> Self {
        Self::of(Box::new(Turn::new(config, thread_id, history)), Idle {})
    }

    /// Starts the turn: the first request is sent if the conversation fits the model's context and the provider accepts
    /// the attachments.
    pub fn start(mut self, start: Start, now: Timestamp) -> Started {
        self.turn.tick(now);
        self.turn.begin(start);
        let begun = hop::begin(&mut self.turn, 0);
        self.asking(on::Start, begun)
    }
}
