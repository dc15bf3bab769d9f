//! What must hold in every state.

use crate::moves::Move;
use crate::world::{Asked, Hand, Shown, World};
use stepwell_core::run::EffectStage;
use stepwell_core::run::{EffectId, Outcome, StateKind, TimerKey};
use stepwell_core::transcript::ToolCallStatus;

/// The invariants that a search checks, for its report.
pub const CHECKED: &[&str] = &[
    "I1", "I2", "I4", "I6a", "I6b", "I6c", "I7", "I8", "I9", "I10", "I12", "I17",
];

impl World {
    /// Checks the world after a move.
    pub fn check(&mut self, before: &Self, step: Move) {
        if before.is_over() && !step.is_crash() {
            let same = before.machine.outcome() == self.machine.outcome()
                && before.machine.transcript().messages() == self.machine.transcript().messages();
            if !same || !self.walked.is_empty() {
                self.wrong("I2: the end is not the end");
            }
        }
        if self.is_over() && !before.is_over() {
            self.check_history();
        }
        if self.is_over() && !before.is_over() && !step.is_crash() {
            let is_success = self.machine.outcome() == Some(&Outcome::Success);
            if is_success && self.finished != Some(self.machine.hop()) {
                self.wrong("a stream that was cut off counts as a success");
            }
        }
        if self.is_over() && !self.ghost.typed.is_empty() {
            self.wrong(
                "the turn is over, and the user was not told what became of what they typed",
            );
        }
        let waits = |hand: &Hand| matches!(hand, Hand::Approval | Hand::Deferred);
        if self.machine.is_resting() && !self.hands.iter().all(|(_, hand)| waits(hand)) {
            self.wrong("a run rests while the host is busy for it");
        }
        let begun = |hand: &Hand| {
            !matches!(
                hand,
                Hand::Write(_) | Hand::Committed | Hand::Create | Hand::Decoding
            )
        };
        if self.is_over() && self.hands.iter().any(|(_, hand)| begun(hand)) {
            self.wrong("I12: something other than a write goes on after the end");
        }
        let state = self.machine.state();
        let fits = match state {
            StateKind::Idle => self.ghost.shown == Shown::Nothing,
            StateKind::Completed => self.ghost.shown == Shown::End,
            StateKind::Interrupted => self.ghost.shown == Shown::Question,
            _ => self.ghost.shown == Shown::Running,
        };
        if !fits {
            self.wrong(format!(
                "I10: the user sees {:?} of a run that is {state}",
                self.ghost.shown
            ));
        }
        self.check_hands();
        self.check_timers();
        self.check_progress();
        if self.bounds.background.is_some() {
            self.check_answers();
        }
    }

    /// Checks that the host has exactly the effects that the run expects it to have.
    fn check_hands(&mut self) {
        let pending = self.machine.pending_effects();
        for (id, stage) in &pending {
            let agrees = match (stage, self.hand(*id)) {
                (EffectStage::Held { .. }, None) => true,
                (EffectStage::Offline, None) => self.is_offline,
                (EffectStage::Waiting, None) => pending.iter().any(|(other, stage)| {
                    matches!(other, EffectId::Tool(_))
                        && matches!(stage, EffectStage::Held { .. } | EffectStage::Given)
                }),
                (EffectStage::Live, Some(Hand::Stream(_))) => true,
                (EffectStage::Deferred, Some(Hand::Deferred)) => true,
                (EffectStage::Given, Some(hand)) => {
                    !matches!(hand, Hand::Stream(_) | Hand::Deferred)
                }
                _ => false,
            };
            if !agrees {
                self.wrong(format!(
                    "I1: {id} is {stage:?}, and the host has {:?}",
                    self.hand(*id)
                ));
            }
        }
        for (id, hand) in self.hands.clone() {
            if pending.iter().any(|entry| entry.0 == id) {
                continue;
            }
            if matches!(hand, Hand::Create | Hand::Decoding) {
                // These effects cannot be stopped; their answers come too late.
                self.hands.retain(|entry| entry.0 != id);
            } else {
                self.wrong(format!(
                    "I12: the host goes on with {id}, and was not told to stop"
                ));
            }
        }
    }

    /// Every timer has its reason, and what has a deadline has its timer.
    fn check_timers(&mut self) {
        let timers = self.timers();
        let pending = self.machine.pending_effects();
        let out = |wanted: &dyn Fn(EffectId) -> bool| {
            pending.iter().any(|(id, stage)| {
                wanted(*id)
                    && !matches!(
                        stage,
                        EffectStage::Held { .. } | EffectStage::Offline | EffectStage::Waiting
                    )
            })
        };
        let state = self.machine.state();
        let calls = self.machine.transcript().calls();
        let has = |status| calls.iter().any(|call| call.status == status);
        let executing = |key| {
            let mut calls = calls.iter();
            calls.any(|call| call.key == key && call.status == ToolCallStatus::Executing)
        };
        let mut asked = self.tools_asked.iter();
        let is_open = asked.any(|(call, asked)| *asked == Asked::Open && executing(*call));
        let asks = has(ToolCallStatus::AwaitingApproval)
            || is_open
            || (has(ToolCallStatus::Deferred) && !has(ToolCallStatus::Executing));
        let is_active = !matches!(state, StateKind::Idle | StateKind::Completed);
        let waits_for_user = state == StateKind::Interrupted || asks;
        let limits = self.bounds.config.timeouts;
        let mut wanted = Vec::new();
        if limits.silence.is_some() && out(&|id| matches!(id, EffectId::Open { .. })) {
            wanted.push(TimerKey::Silence);
        }
        if limits.credentials.is_some() && out(&|id| matches!(id, EffectId::Authorize { .. })) {
            wanted.push(TimerKey::Credentials);
        }
        let is_over = |hand: &Hand| matches!(hand, Hand::Stream(said) if said.is_over());
        if limits.closing.is_some() && self.hands.iter().any(|(_, hand)| is_over(hand)) {
            wanted.push(TimerKey::Closing);
        }
        let offline = pending.iter().any(|entry| entry.1 == EffectStage::Offline);
        let retries = timers.contains(&TimerKey::Retry);
        if state == StateKind::Waiting && retries {
            wanted.push(TimerKey::Retry);
        }
        if offline || (state == StateKind::Waiting && !retries) {
            wanted.push(TimerKey::Network);
            if !self.is_offline {
                self.wrong("I1: the run waits for a network that is there");
            }
        }
        for (id, stage) in &pending {
            match (id, stage) {
                (_, EffectStage::Held { .. } | EffectStage::Offline | EffectStage::Waiting) => {}
                (EffectId::Tool(_), EffectStage::Deferred) if limits.deferred.is_none() => {}
                // The user's time does not count as the tool's; nor does the time until the tool receives the answer.
                (EffectId::Tool(call), EffectStage::Given)
                    if matches!(self.asked_by(*call), Some(Asked::Open | Asked::Answered)) => {}
                (EffectId::Tool(call), _) => wanted.push(TimerKey::Tool(*call)),
                (EffectId::Ask { call, number }, _) => {
                    wanted.push(TimerKey::Question(*call, *number));
                }
                (EffectId::Approve(call), _) => wanted.push(TimerKey::Approval(*call)),
                (EffectId::Output { .. }, _) => wanted.push(TimerKey::Output),
                (EffectId::Hook { place, .. }, _) => wanted.push(TimerKey::Hook(*place)),
                _ => {}
            }
        }
        if limits.turn.is_some() && is_active && !waits_for_user {
            wanted.push(TimerKey::Turn);
        }
        wanted.sort_unstable();
        if timers != wanted {
            self.wrong(format!(
                "I1: the timers are {timers:?}, there is reason for {wanted:?}"
            ));
        }
        let pauses = limits.turn.is_some() && is_active && waits_for_user;
        if state != StateKind::Completed && self.machine.is_turn_clock_paused() != pauses {
            self.wrong(
                "I1: the turn's clock stands still without a reason, or the other way round",
            );
        }
    }

    /// Nobody waits for nothing.
    fn check_progress(&mut self) {
        let state = self.machine.state();
        let rests = matches!(state, StateKind::Idle | StateKind::Completed)
            || (state == StateKind::Interrupted && self.ghost.shown == Shown::Question);
        let timers = self.timers();
        if !rests && self.hands.is_empty() && timers.iter().all(|timer| *timer == TimerKey::Turn) {
            self.wrong(format!("I1: {state} waits for nothing"));
        }
        // A write that waits must have been emitted.
        if rests
            && self
                .machine
                .pending_effects()
                .iter()
                .any(|(_, stage)| *stage == EffectStage::Queued)
        {
            self.wrong("I1: an effect waits, though all outputs were taken");
        }
    }
}
