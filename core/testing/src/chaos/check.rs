//! Checks that apply to a run after every input, and once it is quiet.

use super::{Chaos, Invariant};
use crate::history::check_history;
use std::collections::BTreeSet;
use stepwell_core::dialect::HttpRequest;
use stepwell_core::event::{Event, Message};
use stepwell_core::run::{
    Effect, EffectId, EffectStage, LimitPolicy, Output, Pending, PendingKind, RunEvent, StateKind,
    TimerKey,
};
use stepwell_core::session;
use stepwell_mock_llm::check::Rules;

impl Chaos {
    pub(super) fn check(&mut self) {
        if self.violation.is_some() {
            return;
        }
        self.check_waiting();
        self.check_limits();
        self.check_over();
        self.check_pending();
    }

    /// What waits for the user is stored before it is asked for, and a run at rest waits for all that is stored as
    /// waiting.
    fn check_pending(&mut self) {
        if !self.disk.is_on || self.has_given_up() {
            return;
        }
        let pending = self.machine.pending();
        let is_resting = self.machine.is_resting();
        if pending.is_empty() && !is_resting {
            return;
        }
        let stored = session::pending(&self.disk.turn.turn);
        let key = |pending: &Pending| (pending.id.clone(), pending.kind, pending.tool.clone());
        let is_stored = |waits: &Pending| stored.iter().any(|other| key(other) == key(waits));
        // That a result comes later is stored in time, and nobody is asked.
        let mut asked = pending
            .iter()
            .filter(|waits| waits.kind != PendingKind::Result);
        let is_right = match is_resting {
            true => stored.len() == pending.len() && pending.iter().all(is_stored),
            false => asked.all(is_stored),
        };
        self.ensure(is_right, Invariant::StoredBeforeUsed, || {
            format!("{pending:?} waits, and {stored:?} is stored")
        });
    }

    /// Returns whether the store failed too often, which was reported.
    fn has_given_up(&self) -> bool {
        self.outputs.iter().any(|output| {
            matches!(output, Output::Event(RunEvent::Warning { message })
                if message.contains("could not be stored"))
        })
    }

    /// Checks that every pending effect is in progress, every timer has its reason, and a run that is not over waits
    /// for something.
    fn check_waiting(&mut self) {
        let state = self.machine.state();
        let pending = self.machine.pending_effects();
        let timers = self.machine.timers();
        for (id, stage) in &pending {
            let is_out = matches!(
                stage,
                EffectStage::Given | EffectStage::Live | EffectStage::Deferred
            );
            let is_lost = (is_out && !self.given.contains_key(id)) || *stage == EffectStage::Queued;
            self.ensure(!is_lost, Invariant::EndsOrWaits, || {
                format!("{id} is lost: {stage:?}")
            });
        }
        let has = |wanted: &dyn Fn(&EffectId) -> bool| pending.iter().any(|(id, _)| wanted(id));
        let is_offline = pending
            .iter()
            .any(|(_, stage)| *stage == EffectStage::Offline);
        for (timer, _) in &timers {
            let has_reason = match timer {
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
                TimerKey::Network => state == StateKind::Waiting || is_offline,
                _ => true,
            };
            self.ensure(has_reason, Invariant::EndsOrWaits, || {
                format!("{timer:?} has no reason in {state}")
            });
        }
        let has_timer =
            |wanted: &dyn Fn(&TimerKey) -> bool| timers.iter().any(|(timer, _)| wanted(timer));
        let is_retried = has_timer(&|timer| matches!(timer, TimerKey::Retry | TimerKey::Network));
        let waits_for_network = has_timer(&|timer| *timer == TimerKey::Network);
        let waits = matches!(
            state,
            StateKind::Idle | StateKind::Interrupted | StateKind::Completed
        ) || !self.given.is_empty()
            || has_timer(&|timer| *timer != TimerKey::Turn);
        let is_stuck = !waits
            || (state == StateKind::Waiting && !is_retried)
            || (is_offline && !waits_for_network);
        self.ensure(!is_stuck, Invariant::EndsOrWaits, || {
            format!("stuck in {state} with {pending:?} and {timers:?}")
        });
    }

    /// The limits on rounds, on calls at once, on calls and on attempts at a typed answer are kept.
    fn check_limits(&mut self) {
        let limits = &self.config.limits;
        let (outputs, born) = (&self.outputs, self.born);
        let count = |outputs: &[Output], wanted: fn(&RunEvent) -> bool| {
            let is_wanted =
                |output: &&Output| matches!(output, Output::Event(event) if wanted(event));
            outputs.iter().filter(is_wanted).count()
        };
        let is_refusal = |event: &RunEvent| matches!(event, RunEvent::OutputRefused { .. });
        let output = self.config.output.as_ref();
        let retries = output.map_or(0, |output| output.most_retries() as usize);
        // Each model has as many attempts, and after a round of tools again if there are several.
        let models = self.config.endpoints().count();
        let asked = match models {
            1 => 1,
            _ => models * (limits.max_tool_rounds as usize + 1),
        };
        let retries = (retries + 1) * asked - 1;
        // A crash undoes the attempts that were not stored.
        let attempts = count(outputs.get(born..).unwrap_or_default(), is_refusal);
        let taken = outputs.iter().filter_map(|output| match output {
            Output::Event(RunEvent::SteeringTaken { hop, .. }) => Some(hop),
            _ => None,
        });
        let steered = taken.collect::<BTreeSet<_>>().len();
        let most = limits.max_tool_rounds as usize
            + usize::from(limits.at_limit == LimitPolicy::SumUp)
            + (self.resumed + self.cut_hops) as usize
            + steered
            + count(outputs, |event| {
                matches!(event, RunEvent::ModelChanged { .. })
            })
            + count(outputs, is_refusal)
            + retries_in_a_new_hop(outputs);
        let hop = self.machine.hop() as usize;
        let pending = self.machine.pending_effects();
        let is_running = |(id, stage): &&(EffectId, EffectStage)| {
            matches!((id, stage), (EffectId::Tool(_), EffectStage::Given))
        };
        let running = pending.iter().filter(is_running).count();
        let most_running = (limits.max_parallel_tools as usize).max(1);
        let most_calls = limits
            .max_tool_calls
            .map_or(usize::MAX, |most| most as usize);
        let calls = self.ran.len();
        self.ensure(attempts <= retries, Invariant::KeepsLimits, || {
            format!("a typed answer was asked for {attempts} times again, of {retries}")
        });
        self.ensure(hop <= most, Invariant::KeepsLimits, || {
            format!("hop {hop} is beyond {most}")
        });
        self.ensure(running <= most_running, Invariant::KeepsLimits, || {
            format!("{running} tools run at once, of {most_running}")
        });
        self.ensure(calls <= most_calls, Invariant::KeepsLimits, || {
            format!("{calls} calls ran, of {most_calls}")
        });
    }

    /// The end is the end, and nothing is added after it.
    fn check_over(&mut self) {
        let messages = self.machine.transcript().messages();
        let now = self
            .machine
            .outcome()
            .map(|outcome| (outcome.clone(), messages.to_vec()));
        match (&self.over, now) {
            (None, now) => self.over = now,
            (Some(before), Some(now)) if *before == now => {}
            (Some((before, _)), now) => {
                let now = now.map(|(outcome, _)| outcome);
                let message = format!("{before:?} became {now:?}, or messages were added after it");
                self.fail(Invariant::EndsOnce, message);
            }
        }
    }

    /// Checks that apply to a quiet run.
    pub(super) fn check_end(&mut self) {
        let is_over = self.machine.outcome().is_some();
        let state = self.machine.state();
        self.ensure(is_over, Invariant::EndsOrWaits, || {
            format!("quiet in {state}")
        });
        let outputs = self.outputs.get(self.born..).unwrap_or_default();
        let is_end = |output: &&Output| matches!(output, Output::Event(RunEvent::Completed(_)));
        let ends = outputs.iter().filter(is_end).count();
        // If the turn was over at a crash, the new host reads the outcome.
        let is_read = ends == 0 && self.born > 0;
        self.ensure(ends == 1 || is_read, Invariant::EndsOnce, || {
            format!("the end was reported {ends} times")
        });
        let valid = check_history(self.machine.transcript().messages());
        if let Err(fault) = valid {
            self.fail(Invariant::RequestsAreValid, fault);
        }
        self.check_stored();
        // Hosts that crash show again what they read from the store.
        if self.born == 0 {
            self.check_deltas();
            self.check_steering();
        }
    }

    /// Once all is quiet, all blocks are stored, unless the store failed too often and that was reported.
    fn check_stored(&mut self) {
        let gave_up = self.has_given_up();
        let (written, stored) = (self.blocks.len(), self.disk.blocks.len());
        let is_stored = gave_up || written == stored;
        self.ensure(is_stored, Invariant::StoredBeforeUsed, || {
            format!("{stored} of {written} blocks are stored")
        });
    }

    /// The deltas of all messages add up to their texts.
    fn check_deltas(&mut self) {
        let deltas = self.outputs.iter().filter_map(|output| match output {
            Output::Event(RunEvent::AgUi(Event::TextMessageContent(event))) => {
                Some(event.delta.as_str())
            }
            _ => None,
        });
        let streamed: String = deltas.collect();
        let options = self.config.text;
        let texts =
            self.machine
                .transcript()
                .messages()
                .iter()
                .filter_map(|message| match message {
                    Message::Assistant(message) => message.content.as_deref(),
                    _ => None,
                });
        let is_shown = |text: &&str| !options.drop_blank || !text.trim().is_empty();
        let written: String = texts.filter(is_shown).collect();
        let without_breaks = |text: &str| text.replace('\n', "");
        let is_same = without_breaks(&streamed) == without_breaks(&written)
            && (options.break_after_tools || streamed == written);
        self.ensure(is_same, Invariant::DeltasAddUp, || {
            format!("{streamed:?} was streamed, and {written:?} is in the history")
        });
    }

    /// Checks that each message sent during the turn was accepted or returned, once.
    fn check_steering(&mut self) {
        let is_told = |output: &&Output| {
            matches!(
                output,
                Output::Event(RunEvent::SteeringTaken { .. } | RunEvent::SteeringRefused { .. })
            )
        };
        let told = self.outputs.iter().filter(is_told).count();
        let sent = self.steered;
        self.ensure(told == sent, Invariant::SteeringIsAnswered, || {
            format!("{told} of {sent} messages were taken in or refused")
        });
    }

    /// A request keeps to the rules of its provider, and comes within the limits.
    pub(super) fn check_request(&mut self, id: EffectId, request: &HttpRequest) {
        let limits = &self.config.limits;
        let is_limited = limits.at_limit != LimitPolicy::SumUp;
        let spent = self.machine.usage().cost;
        let is_over = limits
            .max_cost
            .zip(spent)
            .is_some_and(|(most, spent)| spent >= most);
        self.ensure(!(is_limited && is_over), Invariant::KeepsLimits, || {
            format!("{id} after the cost limit was reached")
        });
        if request.method == "GET" {
            return self.ensure(request.body.is_empty(), Invariant::RequestsAreValid, || {
                format!("{id}: a request about a stored answer has a body")
            });
        }
        let endpoint = self.asked().endpoint.clone();
        let dialect = endpoint.dialect;
        let Some(dialect) = stepwell_mock_llm::Dialect::from_name(dialect.name()) else {
            return;
        };
        let rules = Rules::new(dialect).provider(&endpoint.provider);
        let checked = rules.check_http(
            request.method,
            &request.url,
            &request.headers,
            &request.body,
        );
        if let Err(breaches) = checked {
            let breaches: Vec<_> = breaches.iter().map(ToString::to_string).collect();
            self.fail(
                Invariant::RequestsAreValid,
                format!("{id}: {}", breaches.join("; ")),
            );
        }
    }
}

/// Returns how often the model was asked again in a hop of its own: after an answer that is empty or cannot be read, or one
/// that broke off after a part of it was shown.
fn retries_in_a_new_hop(outputs: &[Output]) -> usize {
    let mut count = 0;
    let mut is_due = false;
    for output in outputs {
        match output {
            Output::Event(RunEvent::Retrying { .. }) => is_due = true,
            Output::Event(RunEvent::HopStarted { .. }) => {
                count += usize::from(std::mem::take(&mut is_due));
            }
            Output::Effect(_, Effect::OpenStream { .. }) => is_due = false,
            _ => {}
        }
    }
    count
}
