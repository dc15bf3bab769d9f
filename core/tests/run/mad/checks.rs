//! What holds of a run in a mad world: after every input, and once all is quiet.

use super::Mad;
use super::setting::ROUNDS;
use crate::look::legal;
use serde_json::Value;
use std::collections::BTreeSet;
use stepwell_core::event::{Event, Message};
use stepwell_core::run::{EffectId, Output, RunEvent, StateKind, TimerKey};

impl Mad {
    pub fn check(&mut self) {
        let state = self.machine.state();
        let snapshot: Value = serde_json::from_str(&self.machine.snapshot()).expect("JSON");
        let core = &snapshot["run"]["core"];
        let pending: Vec<(EffectId, Value)> =
            serde_json::from_value(core["effects"].clone()).expect("pairs");
        let timers: Vec<(TimerKey, u64)> =
            serde_json::from_value(core["clocks"]["deadlines"].clone()).expect("pairs");
        // What the machine thinks that the host has, the host has.
        for (id, stage) in &pending {
            let is_out = stage == "given" || stage == "live" || stage == "deferred";
            assert!(
                !is_out || self.hands.contains_key(id),
                "{id} is lost: {stage}"
            );
            assert!(
                stage != "queued",
                "{id} waits, though all outputs were taken"
            );
        }
        // I1: every timer has its reason.
        let has = |wanted: &dyn Fn(&EffectId) -> bool| pending.iter().any(|(id, _)| wanted(id));
        for (timer, _) in &timers {
            let reason = match timer {
                TimerKey::Silence | TimerKey::Closing => {
                    has(&|id| matches!(id, EffectId::Open { .. }))
                }
                TimerKey::Retry => state == StateKind::Waiting,
                TimerKey::Output => has(&|id| matches!(id, EffectId::Output { .. })),
                TimerKey::Tool(call) => has(&|id| *id == EffectId::Tool(*call)),
                TimerKey::Approval(call) => has(&|id| *id == EffectId::Approve(*call)),
                TimerKey::Question(call, number) => {
                    let (call, number) = (*call, *number);
                    has(&|id| *id == EffectId::Ask { call, number })
                }
                TimerKey::Turn => !matches!(
                    state,
                    StateKind::Idle | StateKind::Completed | StateKind::Interrupted
                ),
                TimerKey::Credentials => has(&|id| matches!(id, EffectId::Authorize { .. })),
                TimerKey::Hook(place) => {
                    has(&|id| matches!(id, EffectId::Hook { place: at, .. } if at == place))
                }
                TimerKey::Network => {
                    core["network"]["is_offline"] == true
                        && (state == StateKind::Waiting
                            || pending.iter().any(|(_, stage)| stage == "offline"))
                }
            };
            assert!(reason, "{timer:?} has no reason in {state}");
        }
        assert!(
            state != StateKind::Waiting
                || timers
                    .iter()
                    .any(|(timer, _)| matches!(timer, TimerKey::Retry | TimerKey::Network))
        );
        // What waits for the network has an end to its wait.
        assert!(
            pending.iter().all(|(_, stage)| stage != "offline")
                || timers.iter().any(|(timer, _)| *timer == TimerKey::Network)
        );
        // Clocks that stand still do not wake the host.
        if !core["clocks"]["paused_at"].is_null() {
            assert_eq!(self.machine.timeout_reason(), None);
        }
        // I1: nobody waits for nothing.
        let waits = matches!(
            state,
            StateKind::Idle | StateKind::Interrupted | StateKind::Completed
        ) || !self.hands.is_empty()
            || timers.iter().any(|(timer, _)| *timer != TimerKey::Turn);
        assert!(waits, "stuck in {state}: {snapshot}");
        // I9.
        let taken = self.outputs.iter().filter_map(|output| match output {
            Output::Event(RunEvent::SteeringTaken { hop, .. }) => Some(hop),
            _ => None,
        });
        let steered = taken.collect::<BTreeSet<_>>().len();
        let refused = |outputs: &[Output]| {
            let is_refusal =
                |output: &&Output| matches!(output, Output::Event(RunEvent::OutputRefused { .. }));
            outputs.iter().filter(is_refusal).count()
        };
        let most = self.config.output.as_ref();
        let most = most.map_or(0, |output| output.most_retries() as usize);
        // What a crash took back counts no more.
        let in_this_life = refused(&self.outputs[self.born..]);
        assert!(
            in_this_life <= most,
            "it was asked for more often than it may"
        );
        let refused = refused(&self.outputs);
        let hops = ROUNDS as usize + 1 + (self.resumes + self.cuts) as usize + steered + refused;
        assert!(self.machine.hop() as usize <= hops);
        // I2.
        if let Some(outcome) = self.machine.outcome() {
            let messages = self.machine.conversation().messages();
            match &self.over {
                None => self.over = Some((outcome.clone(), messages.to_vec())),
                Some((before, history)) => {
                    assert_eq!(before, outcome, "I2: the end is the end");
                    assert_eq!(history, messages, "I2: nothing is added after the end");
                }
            }
        } else {
            assert!(self.over.is_none(), "I2: the run came back to life");
        }
    }

    /// What holds of a run that is over.
    pub fn check_end(&self) {
        if self.machine.state() == StateKind::Idle {
            return;
        }
        assert!(
            self.machine.outcome().is_some(),
            "quiet in {}",
            self.machine.state()
        );
        let ends = self
            .outputs
            .iter()
            .filter(|output| matches!(output, Output::Event(RunEvent::Completed(_))));
        assert_eq!(ends.count(), 1);
        // I7.
        let once: BTreeSet<_> = self.tool_runs.iter().collect();
        assert_eq!(once.len(), self.tool_runs.len(), "I7: a tool ran twice");
        // I8.
        let messages = self.machine.conversation().messages();
        legal(messages).unwrap_or_else(|fault| panic!("{fault}: {messages:#?}"));
        // Deltas are whole.
        let streamed: String = self
            .outputs
            .iter()
            .filter_map(|output| match output {
                Output::Event(RunEvent::AgUi(Event::TextMessageContent(content))) => {
                    Some(content.delta.as_str())
                }
                _ => None,
            })
            .collect();
        let text = self.config.text;
        let said = messages.iter().filter_map(|message| match message {
            Message::Assistant(message) => message.content.as_deref(),
            _ => None,
        });
        let is_shown = |said: &&str| !text.drop_blank || !said.trim().is_empty();
        let written: String = said.filter(is_shown).collect();
        let breaks = text.break_after_tools;
        let without = |text: &str| text.replace('\n', "");
        assert_eq!(without(&streamed), without(&written));
        assert!(breaks || streamed == written);
        // What the user typed was taken in or given back, once.
        let told = self.outputs.iter().filter(|output| {
            matches!(
                output,
                Output::Event(RunEvent::SteeringTaken { .. } | RunEvent::SteeringRefused { .. })
            )
        });
        assert_eq!(told.count(), self.steers);
    }
}
