use super::Run;
use super::data::{Opening, Waiting};
use super::edges::on;
use crate::Timestamp;
use crate::run::protocol::{EffectId, TimerKey};

impl Run<Waiting> {
    /// Retries now, whatever is left of the pause: when the network is back, for example.
    pub fn try_now(mut self, now: Timestamp) -> Run<Opening> {
        self.turn.tick(now);
        self.turn.clocks_mut().stop(TimerKey::Retry);
        let attempt = self.state.attempt();
        let hop = self.turn.hop();
        self.turn.emit(EffectId::Open { hop, attempt });
        self.goto(on::Wake, Opening::new(attempt))
    }
}
