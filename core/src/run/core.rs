use super::anchor::Anchor;
use super::block::TurnStatus;
use super::config::RunConfig;
use super::context_guard::Context;
use super::cut_answer::without_cut;
use super::device::Device;
use super::effect::{Effect, EffectId};
use super::fault::fault;
use super::limits::{Spent, TurnLimit};
use super::outbox::{Entry, Outbox, delta_event};
use super::outcome::{Failure, Outcome};
use super::output::{Output, RunEvent};
use super::pending::{Pending, Stage};
use super::recorder::Recorder;
use super::timer::{TimerKey, Timers};
use crate::conversation::Conversation;
use crate::dialect::{HopIds, HttpRequest, ModelRequest, Offer, Resumption};
use crate::event::{Message, ResumeEntry, TokenUsage};
use crate::pipeline::Pipeline;
use crate::tool::ToolFailureKind;
use crate::{CallKey, RunId, ThreadId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What every state of a run shares.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "model-check", derive(Clone))]
pub(super) struct Core {
    #[serde(skip, default = "RunConfig::absent")]
    pub(super) config: Arc<RunConfig>,
    pub(super) conversation: Conversation,
    /// What its requests offer the model; made for the first of them.
    #[serde(skip)]
    pub(super) offer: OnceLock<Offer>,
    /// The turn: the run id of hop 0.
    pub(super) turn: RunId,
    pub(super) ids: HopIds,
    pub(super) parent_run_id: Option<RunId>,
    pub(super) hop: u32,
    /// Rounds of tools that are done.
    pub(super) rounds: u32,
    /// The limit that was reached: the turn's last hop, which offers no tools, sums up.
    pub(super) reached: Option<TurnLimit>,
    /// The answers that the next hop's request carries.
    pub(super) resume: Vec<ResumeEntry>,
    pub(super) usage: TokenUsage,
    pub(super) pending: Pending,
    pub(super) timers: Timers,
    pub(super) recorder: Recorder,
    pub(super) outbox: Outbox,
    /// After what the hop's first request carried.
    #[serde(default, skip_serializing_if = "Anchor::is_at_start")]
    pub(super) hop_anchor: Anchor,
    /// The state that the hop's first request carried, where a stream may be opened again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hop_state: Option<Value>,
    /// Before the turn's own messages.
    #[serde(default)]
    pub(super) anchor: Anchor,
    /// What is left of the turn's time while the person is asked.
    pub(super) turn_left: Option<Duration>,
    pub(super) clock: Timestamp,
    pub(super) status: TurnStatus,
    /// What counts towards the turn's limits.
    #[serde(default)]
    pub(super) spent: Spent,
    /// Since when the turn's time runs; nothing while the person is asked.
    #[serde(default)]
    pub(super) running_since: Option<Timestamp>,
    /// The calls that the person stopped before they could begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) stopped_calls: Vec<CallKey>,
    /// What the person has typed during the turn, until the next hop begins.
    #[serde(default)]
    pub(super) steering: Vec<Message>,
    #[serde(default)]
    pub(super) device: Device,
    /// What reads the hop's stream, while a stream that broke off is opened again.
    #[serde(default)]
    pub(super) resumption: Option<Box<Pipeline>>,
    /// How the conversation stands with the model's context window.
    #[serde(default, skip_serializing_if = "Context::is_untouched")]
    pub(super) context: Context,
    /// The run was stored while it spoke another dialect: a stream of that time cannot be resumed.
    #[serde(skip)]
    pub(super) is_of_another_dialect: bool,
    /// The hop was begun because the run came back and the answer before it is cut: what the old host had shown belongs
    /// to that one.
    #[serde(skip)]
    pub(super) follows_cut: bool,
}

impl Core {
    pub(super) fn new(config: Arc<RunConfig>, thread_id: ThreadId, history: Conversation) -> Self {
        let mut outbox = Outbox::default();
        outbox.read_arguments(&config, &history);
        outbox.show_text(config.text);
        Self {
            config,
            conversation: history,
            offer: OnceLock::new(),
            turn: RunId::default(),
            ids: HopIds {
                thread_id,
                ..HopIds::default()
            },
            parent_run_id: None,
            hop: 0,
            rounds: 0,
            reached: None,
            resume: Vec::new(),
            usage: TokenUsage::default(),
            pending: Pending::default(),
            timers: Timers::default(),
            recorder: Recorder::default(),
            outbox,
            hop_anchor: Anchor::default(),
            hop_state: None,
            anchor: Anchor::default(),
            turn_left: None,
            clock: Timestamp::default(),
            status: TurnStatus::Streaming,
            spent: Spent::default(),
            running_since: None,
            stopped_calls: Vec::new(),
            steering: Vec::new(),
            device: Device::default(),
            resumption: None,
            context: Context::default(),
            is_of_another_dialect: false,
            follows_cut: false,
        }
    }

    /// The turn begins: from here on it is recorded and timed.
    pub(super) fn begin_turn(&mut self) {
        self.recorder = Recorder::new(self.config.durability);
        self.anchor = Anchor::at_end(&self.conversation);
        if let Some(turn) = self.config.timeouts.turn {
            self.timers.set(TimerKey::Turn, self.clock().after(turn));
        }
        self.running_since = Some(self.clock());
    }

    /// The person is asked: their time is not the turn's.
    pub(super) fn pause_turn_clock(&mut self) {
        if let Some(deadline) = self.timers.deadline(TimerKey::Turn)
            && !fault!(TurnClockNotPaused)
        {
            self.turn_left = Some(deadline.since(self.clock()));
            self.timers.stop(TimerKey::Turn);
        }
        if let Some(since) = self.running_since.take() {
            self.spent.add_time(self.clock().since(since));
        }
    }

    /// The person has answered: the turn's clock runs on with what was left.
    pub(super) fn resume_turn_clock(&mut self) {
        if let Some(left) = self.turn_left.take() {
            self.timers.set(TimerKey::Turn, self.clock().after(left));
        }
        self.running_since.get_or_insert(self.clock());
    }

    /// Takes the time; a step back is clamped.
    pub(super) fn tick(&mut self, now: Timestamp) {
        self.clock = self.clock.max(now);
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock
    }

    /// Gives out an effect, once all that was said so far is stored.
    pub(super) fn emit(&mut self, id: EffectId) {
        let until = self.recorder.recorded();
        if self.recorder.durable() < until && !fault!(StoreNotAwaited) {
            self.pending.set(id, Stage::Held { until });
        } else {
            self.free(id);
        }
    }

    pub(super) fn free(&mut self, id: EffectId) {
        if self.waits_for_network(id) {
            self.pending.set(id, Stage::Offline);
            return self.await_network();
        }
        self.pending.set(id, Stage::Queued);
        self.outbox.effect(id);
        match id {
            EffectId::Open { .. } => self.restart_silence(),
            EffectId::Tool(call) => {
                let own = self
                    .conversation
                    .call(call)
                    .and_then(|call| self.config.tools.get(&call.name)?.timeout);
                if let Some(timeout) = own.or(self.config.timeouts.tool) {
                    self.timers
                        .set(TimerKey::Tool(call), self.clock().after(timeout));
                }
            }
            EffectId::Approve(call) => {
                if let Some(timeout) = self.config.timeouts.approval {
                    self.timers
                        .set(TimerKey::Approval(call), self.clock.after(timeout));
                }
            }
            EffectId::CreateRun { .. } | EffectId::Persist { .. } | EffectId::Trim { .. } => {}
        }
    }

    /// The model has just been heard of, or asked.
    pub(super) fn restart_silence(&mut self) {
        if let Some(silence) = self.config.timeouts.silence {
            self.timers
                .set(TimerKey::Silence, self.clock().after(silence));
        }
    }

    /// The answer is over: its stream may stay open for a while.
    pub(super) fn restart_closing(&mut self) {
        if let Some(closing) = self.config.timeouts.closing {
            self.timers
                .set(TimerKey::Closing, self.clock().after(closing));
        }
    }

    /// An effect is answered: it is no longer pending.
    pub(super) fn answered(&mut self, id: EffectId) {
        self.pending.remove(id);
        match id {
            EffectId::Tool(_) if fault!(ToolTimerLeftBehind) => {}
            EffectId::Tool(call) => self.timers.stop(TimerKey::Tool(call)),
            EffectId::Approve(call) => self.timers.stop(TimerKey::Approval(call)),
            EffectId::CreateRun { .. }
            | EffectId::Open { .. }
            | EffectId::Persist { .. }
            | EffectId::Trim { .. } => {}
        }
    }

    /// Takes back an effect; the host is told if it may have begun.
    pub(super) fn withdraw(&mut self, id: EffectId) {
        let is_left = match id {
            EffectId::Tool(_) => fault!(ToolNotToldToStop),
            EffectId::Open { .. } => fault!(SilentStreamNotClosed),
            _ => false,
        };
        if id.is_stoppable()
            && !is_left
            && let Some(Stage::Given | Stage::Live | Stage::Deferred) = self.pending.stage(id)
        {
            self.outbox.stop(id);
        }
        self.answered(id);
    }

    pub(super) fn stored(&mut self, id: EffectId) {
        if self.pending.remove(id).is_none() {
            return;
        }
        self.recorder.stored();
        for freed in self.pending.freed(self.recorder.durable()) {
            self.free(freed);
        }
    }

    pub(super) fn write_again(&mut self, id: EffectId) {
        if fault!(FailedWriteNotGivenAgain) {
            return self.pending.set(id, Stage::Given);
        }
        self.pending.set(id, Stage::Queued);
        self.outbox.effect(id);
    }

    /// The host died: what had not begun is given out again, to the new host.
    pub(super) fn give_again(&mut self) {
        for id in self.pending.at(Stage::Given) {
            self.free(id);
        }
    }

    /// The host died: the snapshot was stored in one transaction with the write that carried it, so that write, and
    /// any before it, is durable, and what it set free counts as given.
    pub(super) fn write_survived(&mut self) {
        let write = self
            .pending
            .iter()
            .find(|(id, stage)| matches!(id, EffectId::Persist { .. }) && *stage == Stage::Given)
            .map(|(id, _)| id);
        if let Some(write) = write {
            self.pending.remove(write);
            self.recorder.stored();
            for freed in self.pending.freed(self.recorder.durable()) {
                self.pending.set(freed, Stage::Given);
            }
        }
    }

    pub(super) fn event(&mut self, event: RunEvent) {
        self.outbox.event(event);
    }

    /// A new hop begins: if the conversation fits the model's context, the request for its stream goes out, or the host
    /// is asked to create its run.
    pub(super) fn begin_hop(&mut self, hop: u32) {
        let counted = self.counted_tokens();
        // What is new since the last request.
        let since = if hop == 0 { 0 } else { self.stream_start() };
        self.hop = hop;
        self.follows_cut = false;
        self.stopped_calls.clear();
        self.device.uncounted = 0;
        self.conversation.begin_hop(hop);
        self.take_steering_in();
        self.outbox.forget_arguments();
        self.outbox.forget_held_text();
        self.hop_anchor = Anchor::at_end(&self.conversation);
        let is_resumed = self.config.endpoint.quirks.resumption != Resumption::Never;
        self.hop_state = is_resumed.then(|| self.conversation.state().clone());
        if self.look_at_media(since) {
            self.guard_context(counted);
        }
    }

    /// Everything that a turn's end ends, whatever the end is.
    pub(super) fn close(&mut self, outcome: &Outcome) {
        if self.resumption.is_some() {
            self.leave_stream();
        }
        let (kind, reason) = match outcome {
            Outcome::Cancelled => (
                ToolFailureKind::Cancelled,
                "the call was cancelled".to_owned(),
            ),
            Outcome::LimitReached { limit }
            | Outcome::Failed {
                failure: Failure::LimitReached { limit },
            } => (ToolFailureKind::LimitReached, Self::limit_message(limit)),
            Outcome::Success
            | Outcome::Incomplete { .. }
            | Outcome::Truncated
            | Outcome::Failed { .. } => {
                self.abandon_running_calls();
                (
                    ToolFailureKind::Cancelled,
                    "the call was not run: the answer that asked for it broke off".to_owned(),
                )
            }
        };
        self.timers.stop_all();
        let is_left = |stage| fault!(EndLeavesHeldEffects) && matches!(stage, Stage::Held { .. });
        let open: Vec<_> = self
            .pending
            .iter()
            .filter(|(_, stage)| !is_left(*stage))
            .map(|(id, _)| id)
            .collect();
        for id in open
            .into_iter()
            .filter(|id| !matches!(id, EffectId::Persist { .. }))
        {
            self.withdraw(id);
        }
        if !fault!(CallsLeftWithoutResult) {
            self.abandon_calls(kind, &reason);
        }
        self.settle_round();
        self.status = outcome.turn_status();
        self.record_usage();
        self.recorder.close();
        self.give_steering_back();
        self.event(RunEvent::Completed(outcome.clone()));
    }

    /// Takes the next output.
    pub(super) fn next_output(&mut self) -> Option<Taken> {
        loop {
            match self.outbox.pop() {
                Some(Entry::Event(event)) => return Some(Taken::Output(Output::Event(*event))),
                Some(Entry::Delta { item, from, to }) => {
                    if let Some(event) = delta_event(&self.conversation, item, from, to) {
                        return Some(Taken::Output(Output::Event(RunEvent::AgUi(event))));
                    }
                }
                Some(Entry::Stop(id)) => {
                    return Some(Taken::Output(Output::Effect(id, id.stop())));
                }
                Some(Entry::Effect(id)) => {
                    // Taken back before the host saw it.
                    if self.pending.stage(id) != Some(Stage::Queued) {
                        continue;
                    }
                    self.pending.set(id, Stage::Given);
                    if let EffectId::Persist { .. } = id {
                        return Some(Taken::Persist(id));
                    }
                    if let Some(effect) = self.effect(id) {
                        return Some(Taken::Output(Output::Effect(id, effect)));
                    }
                    debug_assert!(false, "the effect {id} has nothing to do");
                }
                None => {
                    let id = self.recorder.next_write()?;
                    self.pending.set(id, Stage::Queued);
                    self.outbox.effect(id);
                }
            }
        }
    }

    pub(super) fn persist(&self, outcome: Option<&Outcome>, snapshot: String) -> Effect {
        let is_last = self.recorder.is_last();
        Effect::Persist {
            turn: self.turn.clone(),
            status: if is_last {
                self.status
            } else {
                TurnStatus::Streaming
            },
            outcome: outcome.filter(|_| is_last).cloned(),
            blocks: self.recorder.in_flight().to_vec(),
            snapshot,
        }
    }

    fn effect(&self, id: EffectId) -> Option<Effect> {
        Some(match id {
            EffectId::CreateRun { .. } => Effect::CreateRun {
                thread_id: self.ids.thread_id.clone(),
                parent_run_id: self.parent_run_id.clone(),
            },
            EffectId::Open { .. } => Effect::OpenStream {
                request: self.request(),
            },
            EffectId::Approve(call) => Effect::AskApproval {
                invocation: self.invocation(call)?,
            },
            EffectId::Tool(call) => Effect::RunTool {
                invocation: self.invocation(call)?,
            },
            EffectId::Trim { .. } => Effect::TrimContext {
                overflow: self.context_overflow(),
            },
            EffectId::Persist { .. } => return None,
        })
    }

    /// The messages that the hop's request carries.
    fn asked_messages(&self) -> Cow<'_, [Message]> {
        without_cut(self.in_context(self.whole_history()))
    }

    /// All messages, without what a stream that is to be resumed has brought already.
    fn whole_history(&self) -> &[Message] {
        let messages = self.conversation.messages();
        if self.resumption.is_none() {
            return messages;
        }
        let end = self.hop_anchor.position(&self.conversation);
        &messages[..end.unwrap_or(messages.len())]
    }

    /// What the requests offer the model, as the endpoint takes it.
    pub(super) fn offer(&self) -> &Offer {
        let RunConfig {
            endpoint,
            tools,
            settings,
            ..
        } = &*self.config;
        let make = || Offer::new(endpoint, tools.definitions(), settings);
        self.offer.get_or_init(make)
    }

    /// The request of the hop.
    pub(super) fn request(&self) -> HttpRequest {
        let config = &self.config;
        let instructions = self.instructions();
        let messages = self.asked_messages();
        let request = ModelRequest {
            endpoint: &config.endpoint,
            ids: &self.ids,
            parent_run_id: self.parent_run_id.as_ref(),
            instructions: instructions.as_deref(),
            messages: &messages,
            tools: config.tools.definitions(),
            state: match (&self.resumption, &self.hop_state) {
                (Some(_), Some(state)) => state,
                _ => self.conversation.state(),
            },
            settings: &config.settings,
            resume: &self.resume,
            now: self.now(),
        };
        let dialect = config.endpoint.dialect;
        let mut request = match self.reached {
            None => request.with_offer(self.offer()),
            Some(_) => request.with_offer(&self.offer().without_tools(dialect)),
        };
        let by_id = config.endpoint.quirks.resumption == Resumption::LastEventId;
        let broken_off = self.resumption.as_deref().filter(|_| by_id);
        if let Some(id) = broken_off.and_then(Pipeline::last_event_id) {
            let header = ("last-event-id".to_owned(), id.to_owned());
            request.headers.push(header);
        }
        request
    }
}

/// What [`Core::next_output`] took.
pub(super) enum Taken {
    Output(Output),
    /// A write, which carries the snapshot of the whole run.
    Persist(EffectId),
}
