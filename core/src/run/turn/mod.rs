//! A turn: its parts, and all operations on more than one of them. Nothing here begins a hop or knows a state.
//!
//! Each file states at its top what it owns: the fields of [`Turn`] whose meaning it decides. Any file may set a timer
//! in `clocks`, record a block and queue an event; otherwise it only reads the parts that it does not own. This file
//! guarantees:
//! - It owns the identity of the turn and its hop (`id`, `ids`, `parent_run_id`, `hop`), `setup`, `resume`, `steering`,
//!   `beginnings` and `comeback`.
//! - [`Turn::begin`] records and times the turn from its first input on; [`Turn::enter_hop`] resets whatever belongs to
//!   one hop, in every part.
//! - All events go through `presenter`, in the order of their causes.

mod access;
mod background_answer;
mod calls;
#[cfg(feature = "model-check")]
mod canonical;
pub(super) mod checkpoint;
mod compaction;
mod cut;
mod device;
pub(super) mod effects;
mod empty;
mod end;
pub(super) mod hooks;
mod pending;
mod questions;
pub(super) mod rounds;
mod route;
mod stored;
mod stream;
mod tries;
pub(super) mod typed;

use super::parts::{
    Access, BackgroundAnswer, Beginnings, Budget, Clocks, Comeback, ContextWindow, Draft, Effects,
    EmptyAnswer, Network, Presenter, Questions, Recorder, Route, Setup, Steering, Tries,
    TypedAnswer,
};
use super::protocol::{
    BlockContent, ChangedRequest, RunConfig, RunEvent, Start, SteeringRefusal, TurnOptions,
    TurnStatus,
};
use crate::dialect::{HopIds, Offer, Resumption};
use crate::event::{Message, ResumeEntry, TokenUsage};
use crate::pipeline::Pipeline;
use crate::tool::PartialArguments;
use crate::transcript::Transcript;
use crate::{CallKey, RunId, ThreadId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The data that all states of a run share. Its serde form is its part of a snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Turn {
    #[serde(
        rename = "options",
        default,
        skip_serializing_if = "Setup::has_no_options"
    )]
    setup: Setup,
    #[serde(default, skip_serializing_if = "Route::is_untouched")]
    route: Route,
    transcript: Transcript,
    /// The turn: the run id of hop 0.
    id: RunId,
    ids: HopIds,
    parent_run_id: Option<RunId>,
    hop: u32,
    /// The answers that the next hop's request carries.
    resume: Vec<ResumeEntry>,
    effects: Effects,
    clocks: Clocks,
    recorder: Recorder,
    presenter: Presenter,
    budget: Budget,
    network: Network,
    #[serde(default, skip_serializing_if = "Tries::is_untouched")]
    tries: Tries,
    #[serde(default, skip_serializing_if = "Access::is_untouched")]
    access: Access,
    #[serde(default, skip_serializing_if = "ContextWindow::is_untouched")]
    window: ContextWindow,
    steering: Steering,
    #[serde(default, skip_serializing_if = "TypedAnswer::is_untouched")]
    typed: TypedAnswer,
    #[serde(default, skip_serializing_if = "EmptyAnswer::is_untouched")]
    empty: EmptyAnswer,
    #[serde(default, skip_serializing_if = "Questions::is_empty")]
    questions: Questions,
    /// The request that hooks put instead of the hop's own.
    #[serde(default, skip_serializing_if = "ChangedRequest::is_untouched")]
    changed_request: ChangedRequest,
    beginnings: Beginnings,
    /// The state that the hop's first request carried, where a stream may be opened again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hop_state: Option<Value>,
    status: TurnStatus,
    /// The calls that the user stopped before they could begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stopped_calls: Vec<CallKey>,
    /// The pipeline that reads the hop's stream, kept while a stream that broke off is opened again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broken_stream: Option<Box<Pipeline>>,
    /// The answer that the provider makes in the background, until it is finished or left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    background: Option<BackgroundAnswer>,
    /// The summary that a model is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    draft: Option<Box<Draft>>,
    #[serde(skip)]
    comeback: Comeback,
}

impl Turn {
    pub(super) fn new(config: Arc<RunConfig>, thread_id: ThreadId, history: Transcript) -> Self {
        let mut turn = Self {
            setup: Setup::new(config),
            route: Route::default(),
            transcript: history,
            id: RunId::default(),
            ids: HopIds {
                thread_id,
                ..HopIds::default()
            },
            parent_run_id: None,
            hop: 0,
            resume: Vec::new(),
            effects: Effects::default(),
            clocks: Clocks::default(),
            recorder: Recorder::default(),
            presenter: Presenter::default(),
            budget: Budget::default(),
            network: Network::default(),
            tries: Tries::default(),
            access: Access::default(),
            window: ContextWindow::default(),
            steering: Steering::default(),
            typed: TypedAnswer::default(),
            empty: EmptyAnswer::default(),
            questions: Questions::default(),
            changed_request: ChangedRequest::default(),
            beginnings: Beginnings::default(),
            hop_state: None,
            status: TurnStatus::Streaming,
            stopped_calls: Vec::new(),
            broken_stream: None,
            background: None,
            draft: None,
            comeback: Comeback::default(),
        };
        turn.set_up_presenter();
        turn
    }

    /// A turn that was just read gets what is not stored: the host's configuration, whose dialect may be another than
    /// the one that the run `spoke`.
    pub(super) fn configure(&mut self, config: Arc<RunConfig>, spoke: &str) {
        self.setup.configure(config, self.route.model());
        if self.is_summarizing() {
            self.setup.ask_for_summary();
        }
        let speaks = self.setup.config().endpoint.dialect.name();
        self.comeback.begin(spoke, speaks);
        self.set_up_presenter();
        self.ask_for_access_again();
    }

    /// Configures the presenter.
    fn set_up_presenter(&mut self) {
        let final_tool = self.final_tool().map(str::to_owned);
        let presenter = &mut self.presenter;
        presenter.read_arguments(self.setup.config(), &self.transcript);
        presenter.read_output(
            self.setup.config().output.as_ref(),
            final_tool,
            &self.transcript,
        );
        presenter.show_text(self.setup.config().text);
    }

    /// The turn begins: from here on it is recorded and timed.
    pub(super) fn begin(&mut self, start: Start) {
        let unknown = start.options.unknown_tools(self.setup.config());
        let unknown: Vec<_> = unknown.into_iter().map(str::to_owned).collect();
        let is_whole = start.options.whole_history;
        self.take_options(start.options);
        self.id.clone_from(&start.run_id);
        self.ids.run_id = start.run_id.clone();
        self.parent_run_id = start.parent_run_id;
        self.resume = start.resume;
        let message = start.message;
        if let Some(message) = &message {
            self.transcript.make_way_for(message);
        }
        let twice = message.and_then(|message| self.transcript.push(message).err());
        self.recorder = Recorder::new(self.setup.config().durability);
        self.beginnings.begin_turn(&self.transcript);
        self.clocks.begin_turn(self.setup.config().timeouts.turn);
        let thread_id = self.ids.thread_id.clone();
        self.event(RunEvent::Started {
            thread_id,
            run_id: start.run_id,
        });
        if is_whole {
            self.take_compaction_away();
        }
        if let Some(known) = twice {
            self.warn(format!(
                "the conversation has a message `{known}` already: it was not added again"
            ));
        }
        for name in unknown {
            self.warn(format!(
                "the turn is to offer a tool named `{name}`, and there is none"
            ));
        }
        if let Err(unknown) = self.setup.config().check_price() {
            self.warn(unknown.to_string());
        }
        if let Err(agent) = self.setup.config().check_fallback() {
            self.warn(agent.to_string());
        }
        if let Err(error) = self.setup.config().check_compaction() {
            self.warn(error.to_string());
        }
        for message in self.offer().warnings.clone() {
            self.warn(message);
        }
    }

    /// The turn is otherwise than the configuration says.
    fn take_options(&mut self, options: TurnOptions) {
        if options.is_empty() {
            return;
        }
        self.setup.take_options(options);
        self.set_up_presenter();
    }

    /// Leaves the hop before, and enters the one with this number.
    pub(super) fn enter_hop(&mut self, hop: u32) {
        self.hop = hop;
        self.comeback.begin_hop();
        self.stopped_calls.clear();
        self.tries.begin_hop();
        self.route.begin_hop();
        self.access.accepted();
        self.changed_request = ChangedRequest::default();
        self.transcript.begin_hop(hop);
        self.take_steering_in();
        self.typed.begin_hop();
        self.empty.begin_hop();
        self.presenter.begin_hop(hop);
        self.recorder.begin_hop();
        self.beginnings.begin_hop(&self.transcript);
        let is_resumed = self.setup.config().endpoint.quirks.resumption != Resumption::Never;
        self.hop_state = is_resumed.then(|| self.transcript.shared_state().clone());
    }

    /// Sets the id of this hop's own run, which continues the one before.
    pub(super) fn enter_run(&mut self, run_id: RunId) {
        self.ids.run_id = run_id;
    }

    /// Does the same with an id derived from the turn's.
    pub(super) fn enter_next_run(&mut self) {
        let run_id = format!("{}.{}", self.id, self.hop).into();
        self.parent_run_id = Some(std::mem::replace(&mut self.ids.run_id, run_id));
    }

    #[inline]
    pub(super) fn tick(&mut self, now: Timestamp) {
        self.clocks.tick(now);
    }

    pub(super) fn event(&mut self, event: RunEvent) {
        self.presenter.event(event);
    }

    /// The run has moved along the edge of this place in the table.
    pub(super) fn moved(&mut self, edge: usize) {
        self.presenter.moved(edge);
    }

    pub(super) fn warn(&mut self, message: String) {
        self.event(RunEvent::Warning { message });
    }

    /// Returns the last time that the host's clock reported.
    pub(super) fn now(&self) -> Timestamp {
        self.clocks.now()
    }

    /// Returns the tools and the form that the requests offer the model, as the endpoint takes them.
    pub(super) fn offer(&self) -> &Offer {
        self.setup.offer()
    }

    /// The configuration of this turn: the host's, with the turn's options over it.
    #[inline]
    pub(super) fn config(&self) -> &Arc<RunConfig> {
        self.setup.config()
    }

    pub(super) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub(super) fn into_transcript(self) -> Transcript {
        self.transcript
    }

    /// The turn: the run id of its first hop.
    pub(super) fn id(&self) -> &RunId {
        &self.id
    }

    pub(super) fn ids(&self) -> &HopIds {
        &self.ids
    }

    pub(super) fn parent_run_id(&self) -> Option<&RunId> {
        self.parent_run_id.as_ref()
    }

    #[inline]
    pub(super) fn hop(&self) -> u32 {
        self.hop
    }

    pub(super) fn usage(&self) -> &TokenUsage {
        self.budget.usage()
    }

    /// Returns whether the hop is the turn's last one because of a limit: it offers no tools.
    pub(super) fn sums_up(&self) -> bool {
        self.budget.reached().is_some()
    }

    pub(super) fn window(&self) -> &ContextWindow {
        &self.window
    }

    pub(super) fn window_mut(&mut self) -> &mut ContextWindow {
        &mut self.window
    }

    #[inline]
    pub(super) fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    #[inline]
    pub(super) fn clocks_mut(&mut self) -> &mut Clocks {
        &mut self.clocks
    }

    pub(super) fn network(&self) -> &Network {
        &self.network
    }

    pub(super) fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// The answers that the hop's request carries.
    pub(super) fn resume(&self) -> &[ResumeEntry] {
        &self.resume
    }

    /// The user has answered the agent's questions.
    pub(super) fn set_resume(&mut self, answers: Vec<ResumeEntry>) {
        self.resume = answers;
    }

    pub(super) fn record(&mut self, content: BlockContent) {
        self.recorder.record(self.hop, content);
    }

    pub(super) fn partial_arguments(&self, tool_call_id: &str) -> Option<&PartialArguments> {
        self.presenter.partial_arguments(tool_call_id)
    }

    pub(super) fn partial_output(&self) -> Option<&PartialArguments> {
        self.presenter.partial_output()
    }

    /// The text since the last user message as the user is shown it.
    pub(super) fn shown_text(&self) -> String {
        self.setup.config().text.shown(&self.transcript)
    }

    /// Returns the index of the first message of the hop's stream.
    pub(super) fn stream_start(&self) -> usize {
        self.recorder.stream_start(&self.stream_of())
    }

    /// Returns the number of messages in the hop's first request, if its last one is still there.
    pub(super) fn hop_start(&self) -> Option<usize> {
        self.beginnings.hop().position(&self.transcript)
    }

    /// The user types during the turn.
    pub(super) fn steer(&mut self, message: Message) {
        if let Err((message, reason)) = self.steering.add(message, &self.transcript) {
            self.refuse_steering(message, reason);
        }
    }

    pub(super) fn refuse_steering(&mut self, message: Box<Message>, reason: SteeringRefusal) {
        self.event(RunEvent::SteeringRefused { message, reason });
    }

    /// Returns whether the user has typed a message for the next hop to answer.
    pub(super) fn is_steered(&self) -> bool {
        self.steering.has_new(&self.transcript)
    }

    /// Takes the messages that the user has typed meanwhile into the new hop's request.
    fn take_steering_in(&mut self) {
        for message in self.steering.take() {
            let message_id = message.id().clone();
            // An agent may have brought a message of the same id meanwhile.
            if self.transcript.message(&message_id).is_some() {
                self.refuse_steering(Box::new(message), SteeringRefusal::DuplicateId);
                continue;
            }
            self.record(BlockContent::Steering {
                message: Box::new(message.clone()),
            });
            // Its id was just looked for.
            let _ = self.transcript.push(message);
            let hop = self.hop;
            self.event(RunEvent::SteeringTaken { message_id, hop });
        }
    }

    /// Returns whether the run was stored while it spoke another dialect than its configuration says.
    pub(super) fn is_of_another_dialect(&self) -> bool {
        self.comeback.is_of_another_dialect()
    }

    /// Notes that nothing of the other dialect is left.
    pub(super) fn speaks_one_dialect(&mut self) {
        self.comeback.forget_dialect();
    }

    /// Returns whether there is a stream to resume that spoke another dialect.
    pub(super) fn has_foreign_stream(&self) -> bool {
        self.comeback.is_of_another_dialect() && self.broken_stream.is_some()
    }

    /// Returns the number of the hop that requests a cut answer again. A revived run does that once, however late the
    /// host reports the messages shown.
    pub(super) fn hop_after_cut(&self) -> u32 {
        self.hop + u32::from(!self.comeback.follows_cut())
    }

    /// Returns whether the hop was begun because the run was revived after a cut answer.
    pub(super) fn follows_cut(&self) -> bool {
        self.comeback.follows_cut()
    }

    /// See [`hop_after_cut`](Self::hop_after_cut).
    pub(super) fn mark_hop_after_cut(&mut self) {
        self.comeback.mark_hop_after_cut();
    }
}
