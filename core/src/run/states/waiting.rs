use super::Run;
use super::data::{Opening, Waiting};
use super::edges::on;
use super::fall_back::Prepared;
use super::opening::Shown;
use crate::Timestamp;
use crate::event::Message;
use crate::run::protocol::{EffectId, TimerKey};

impl Run<Waiting> {
    /// Retries now, whatever is left of the pause: when the network is back, for example. The request may not be sent, if
    /// the next hop asks and its conversation no longer fits: then the turn is over.
    pub fn try_now(mut self, now: Timestamp) -> Prepared {
        self.turn.tick(now);
        self.turn.clocks_mut().stop(TimerKey::Retry);
        if self.state.is_next_hop() {
            return self.ask_next(on::Wake);
        }
        let attempt = self.state.attempt();
        let hop = self.turn.hop();
        self.turn.emit(EffectId::Open { hop, attempt });
        self.goto(on::Wake, Opening::new(attempt)).into()
    }

    /// Notes what the app has shown of an answer that the store lacks, and asks again.
    pub(in crate::run) fn shown(self, messages: Vec<Message>, now: Timestamp) -> Shown {
        match self.try_now(now) {
            Prepared::Opening(run) => run.shown(messages, now),
            Prepared::Completed(run) => run.into(),
        }
    }
}
