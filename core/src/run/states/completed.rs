use super::Run;
use super::data::Completed;
use crate::Timestamp;
use crate::conversation::Conversation;
use crate::run::protocol::{Outcome, ticket};
use serde_json::Value;

impl Run<Completed> {
    /// The host could not store the blocks of that write: it goes out again, as often as the configuration says. In the
    /// end there is a warning, and what was not stored is lost with the run.
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

    /// How the turn ended.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        self.state.outcome()
    }

    /// The typed answer, if there was to be one and the turn has ended well.
    #[must_use]
    pub fn output(&self) -> Option<&Value> {
        let value = self.turn.output()?;
        (*self.state.outcome() == Outcome::Success).then_some(value)
    }

    /// The conversation, for the next turn.
    #[must_use]
    pub fn into_conversation(self) -> Conversation {
        self.turn.into_conversation()
    }
}
