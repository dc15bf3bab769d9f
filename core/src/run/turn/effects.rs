//! The effects: each goes to the host once all blocks before it are stored, and can be withdrawn until it is answered.
//!
//! Owns `effects`, the timers in `clocks` that belong to one of them, and the writes of `recorder`. An effect that
//! depends on a block is held until the block is durable. A withdrawn effect accepts no answer.

use super::Turn;
use crate::run::parts::Entry;
use crate::run::protocol::{
    Effect, EffectId, EffectStage, OfflinePolicy, Outcome, Output, RunEvent, TimerKey, TurnStatus,
    ticket,
};

impl Turn {
    pub(in crate::run) fn stage(&self, id: EffectId) -> Option<EffectStage> {
        self.effects.stage(id)
    }

    /// The effects that are not answered yet.
    pub(in crate::run) fn effects(&self) -> impl Iterator<Item = (EffectId, EffectStage)> + '_ {
        self.effects.iter()
    }

    /// Returns the ticket's effect if the host has it, so that an answer counts. A late answer is dropped and reported.
    pub(in crate::run) fn redeem(&mut self, ticket: impl Into<EffectId>) -> Option<EffectId> {
        self.redeem_at(ticket.into(), &[EffectStage::Given])
    }

    /// The same for a tool's result, which may also come to a call that was deferred.
    pub(in crate::run) fn redeem_result(&mut self, ticket: ticket::Tool) -> Option<EffectId> {
        self.redeem_at(ticket.into(), &[EffectStage::Given, EffectStage::Deferred])
    }

    fn redeem_at(&mut self, id: EffectId, stages: &[EffectStage]) -> Option<EffectId> {
        let counts = self.stage(id).is_some_and(|stage| stages.contains(&stage));
        if !counts {
            self.drop_answer(id);
        }
        counts.then_some(id)
    }

    /// An answer comes too late.
    pub(in crate::run) fn drop_answer(&mut self, effect: EffectId) {
        tracing::debug!(target: "stepwell", %effect, "late answer dropped");
        self.presenter.event(RunEvent::AnswerDropped { effect });
    }

    /// The effects that have come so far.
    pub(in crate::run) fn effects_at(&self, stage: EffectStage) -> Vec<EffectId> {
        self.effects.at(stage)
    }

    /// Returns whether the effect is not answered yet.
    pub(in crate::run) fn awaits(&self, id: EffectId) -> bool {
        self.stage(id).is_some()
    }

    /// Emits an effect, once all blocks before it are stored.
    pub(in crate::run) fn emit(&mut self, id: EffectId) {
        let until = self.recorder.recorded();
        if self.recorder.durable() < until {
            self.effects.set(id, EffectStage::Held { until });
        } else {
            self.free(id);
        }
    }

    pub(super) fn free(&mut self, id: EffectId) {
        if self.waits_for_network(id) {
            self.forget_access();
            self.effects.set(id, EffectStage::Offline);
            return self.await_network();
        }
        let waiting = id;
        let id = self.with_access(waiting);
        if id != waiting {
            self.answered(waiting);
            self.clocks.stop(TimerKey::Silence);
        }
        self.queue(id);
        let timeouts = &self.setup.config().timeouts;
        match id {
            EffectId::Open { .. } => self.clocks.set(TimerKey::Silence, timeouts.silence),
            EffectId::Tool(call) => {
                let own = self
                    .transcript
                    .call(call)
                    .and_then(|call| self.setup.config().tools.get(&call.name)?.timeout);
                self.clocks.set(TimerKey::Tool(call), own.or(timeouts.tool));
            }
            EffectId::Approve(call) => self
                .clocks
                .set_from_now(TimerKey::Approval(call), timeouts.approval),
            EffectId::Output { .. } => self.clocks.set(TimerKey::Output, timeouts.tool),
            EffectId::Hook { place, .. } => {
                self.clocks.set(TimerKey::Hook(place), timeouts.tool);
            }
            EffectId::Authorize { .. } => self.time_access(),
            EffectId::Ask { call, number } => {
                if self.questions.answer(call, number).is_none() {
                    let key = TimerKey::Question(call, number);
                    self.clocks.set_from_now(key, timeouts.approval);
                } else if !self.questions.is_asking(call) {
                    let left = self.questions.take_time(call);
                    self.clocks.set(TimerKey::Tool(call), left);
                }
            }
            EffectId::CreateRun { .. }
            | EffectId::Persist { .. }
            | EffectId::Trim { .. }
            | EffectId::ChooseModel { .. } => {}
        }
    }

    fn queue(&mut self, id: EffectId) {
        self.effects.set(id, EffectStage::Queued);
        self.presenter.effect(id);
    }

    /// Returns whether this effect must wait for a network.
    fn waits_for_network(&self, id: EffectId) -> bool {
        self.network.is_offline()
            && matches!(
                self.setup.config().device.offline,
                OfflinePolicy::Wait { .. }
            )
            && matches!(id, EffectId::Open { .. } | EffectId::CreateRun { .. })
    }

    /// The stream is open: its bytes come.
    pub(in crate::run) fn opened(&mut self, stream: EffectId) {
        self.effects.set(stream, EffectStage::Live);
        self.accept_access();
        self.clocks
            .set(TimerKey::Silence, self.setup.config().timeouts.silence);
    }

    /// An effect is answered: it is no longer pending.
    pub(in crate::run) fn answered(&mut self, id: EffectId) {
        let stage = self.effects.remove(id);
        match id {
            EffectId::Tool(call) => self.clocks.stop(TimerKey::Tool(call)),
            EffectId::Approve(call) => self.clocks.stop(TimerKey::Approval(call)),
            EffectId::Ask { call, number } => self.clocks.stop(TimerKey::Question(call, number)),
            EffectId::Output { .. } => self.clocks.stop(TimerKey::Output),
            EffectId::Hook { place, .. } => self.clocks.stop(TimerKey::Hook(place)),
            EffectId::Open { .. } => self.forget_access(),
            EffectId::Authorize { .. } => self.clocks.stop(TimerKey::Credentials),
            EffectId::CreateRun { .. }
            | EffectId::Persist { .. }
            | EffectId::Trim { .. }
            | EffectId::ChooseModel { .. } => {}
        }
        self.report_pending(id, stage);
    }

    /// Withdraws an effect; asks the host to stop it if it may have begun.
    pub(in crate::run) fn withdraw(&mut self, id: EffectId) {
        if id.is_stoppable()
            && let Some(EffectStage::Given | EffectStage::Live | EffectStage::Deferred) =
                self.stage(id)
        {
            self.presenter.stop(id);
        }
        self.answered(id);
    }

    /// The stream is over for the machine; the host closes it if it is still open.
    pub(in crate::run) fn withdraw_stream(&mut self, stream: EffectId) {
        self.withdraw(stream);
        self.clocks.stop(TimerKey::Silence);
        self.clocks.stop(TimerKey::Closing);
    }

    /// Notes that a write has succeeded: emits the effects that waited for it.
    pub(in crate::run) fn stored(&mut self, write: EffectId) {
        if self.effects.remove(write).is_none() {
            return;
        }
        self.recorder.stored();
        for freed in self.effects.freed(self.recorder.durable()) {
            self.free(freed);
        }
    }

    /// Notes that a write has failed, and repeats it as often as the configuration allows. Returns whether it is
    /// repeated.
    pub(in crate::run) fn write_again(&mut self, write: EffectId) -> bool {
        if !self.recorder.not_stored() {
            self.answered(write);
            return false;
        }
        self.queue(write);
        true
    }

    /// Notes that a write has failed for good: its blocks go into the turn's last write. Returns whether this was the
    /// last write.
    pub(in crate::run) fn give_write_up(&mut self) -> bool {
        let is_last = self.recorder.is_last();
        if !is_last {
            self.recorder.put_back();
        }
        is_last
    }

    /// The host died: what had not begun is given out again, to the new host.
    pub(in crate::run) fn give_again(&mut self) {
        for id in self.effects.at(EffectStage::Given) {
            self.free(id);
        }
        if let Some(deferred) = self.effects.at(EffectStage::Deferred).first() {
            self.report_pending(*deferred, Some(EffectStage::Deferred));
        }
    }

    /// The host died: the snapshot was stored in one transaction with the write that carried it, so that write, and
    /// any before it, is durable, and what it set free counts as given.
    pub(in crate::run) fn write_survived(&mut self) {
        if let Some(write) = self.effects.given_write() {
            self.effects.remove(write);
            self.recorder.stored();
            for freed in self.effects.freed(self.recorder.durable()) {
                self.effects.set(freed, EffectStage::Given);
            }
        }
    }

    /// Forgets the effects of a host whose death ends the turn: there is nothing to stop.
    pub(in crate::run) fn forget_host(&mut self) {
        self.effects.forget_host();
    }

    /// Returns the outputs that stop all effects that the host has begun.
    pub(in crate::run) fn stops(&self) -> Vec<Output> {
        self.effects
            .iter()
            .filter(|(id, stage)| {
                id.is_stoppable() && matches!(stage, EffectStage::Given | EffectStage::Live)
            })
            .map(|(id, _)| Output::Effect(id, id.stop()))
            .collect()
    }

    /// Returns whether the host has taken all there is.
    pub(in crate::run) fn is_quiet(&self) -> bool {
        self.presenter.is_empty()
    }

    /// Returns whether nothing but the user, or the result of a deferred call, can move the run on.
    pub(in crate::run) fn is_at_rest(&self) -> bool {
        self.is_quiet() && self.effects.are_at_rest()
    }

    /// Takes the data for the next output.
    pub(in crate::run) fn next_entry(&mut self) -> Option<Entry> {
        loop {
            match self.presenter.pop() {
                Some(Entry::Effect(id)) => {
                    // Unless it was taken back before the host saw it.
                    if self.stage(id) == Some(EffectStage::Queued) {
                        self.give(id);
                        return Some(Entry::Effect(id));
                    }
                }
                Some(entry) => return Some(entry),
                None => {
                    let id = self.recorder.next_write()?;
                    self.queue(id);
                }
            }
        }
    }

    /// The host has the effect. It answers none that brings a tool an answer.
    fn give(&mut self, id: EffectId) {
        match id {
            EffectId::Ask { call, number } if self.questions.answer(call, number).is_some() => {
                self.effects.remove(id);
                self.questions.told(call, number);
            }
            id => {
                self.effects.set(id, EffectStage::Given);
                self.report_pending(id, Some(EffectStage::Given));
            }
        }
    }

    /// The write under way, with the checkpoint that is stored with it.
    pub(in crate::run) fn persist(&self, outcome: Option<&Outcome>, checkpoint: String) -> Effect {
        let is_last = self.recorder.is_last();
        Effect::Persist {
            turn: self.id.clone(),
            status: if is_last {
                self.status
            } else {
                TurnStatus::Streaming
            },
            outcome: outcome.filter(|_| is_last).cloned(),
            blocks: self.recorder.in_flight().to_vec(),
            checkpoint,
        }
    }
}
