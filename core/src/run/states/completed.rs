use super::Run;
use super::data::Completed;
use crate::Timestamp;
use crate::run::protocol::{Outcome, ticket};
use crate::transcript::Transcript;
use serde_json::Value;

impl Run<Completed> {
    /// Handles a failed write: it is repeated as often as the configuration allows. If all attempts fail there is a
    /// warning, and the blocks that were not stored are lost.
    pub fn persist_failed(&mut self, ticket: ticket::Persist, message: &str, now: Timestamp) {
        let turn = &mut self.turn;
        turn.tick(now);
        let Some(write) = turn.redeem(ticket) else {
            return;
        };
        if !turn.write_again(write) && turn.give_write_up() {
            turn.warn(format!(
                "the end of the turn could not be stored: {message}"
            ));
        }
    }

    /// Returns the turn's outcome.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        self.state.outcome()
    }

    /// Returns the typed answer, if the turn has one and has succeeded.
    #[must_use]
    pub fn output(&self) -> Option<&Value> {
        let value = self.turn.output()?;
        (*self.state.outcome() == Outcome::Success).then_some(value)
    }

    /// The conversation, for the next turn.
    #[must_use]
    pub fn into_transcript(self) -> Transcript {
        self.turn.into_transcript()
    }
}
