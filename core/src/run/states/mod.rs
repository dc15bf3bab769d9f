//! The states of a run, and what leads from one to the next.

pub(super) mod active;
mod answered;
pub(super) mod any_run;
mod completed;
mod data;
pub(super) mod decoding;
pub(super) mod device;
pub(super) mod dispose;
mod edges;
pub(super) mod executing_tools;
pub(super) mod fall_back;
pub(super) mod idle;
pub(super) mod interrupted;
pub(super) mod opening;
mod output;
mod retry;
pub(super) mod reviewing;
mod revive;
mod snapshot;
pub(super) mod streaming;
pub(super) mod summarizing;
mod waiting;

pub use data::{
    Completed, Decoding, ExecutingTools, Idle, Interrupted, Opening, Reviewing, State, Streaming,
    Summarizing, Waiting,
};
pub use edges::{EDGES, Statechart, statechart, statechart_mermaid};
pub(super) use edges::{Edge, on};
pub(super) use snapshot::{VERSION, hooks_digest, tools_digest};

use super::hop;
use super::protocol::ticket::Ticket;
use super::protocol::{EdgeRow, EffectStage, Failure, Output, StateKind, TimerKey};
use super::turn::Turn;
use crate::Timestamp;
use crate::event::{Interrupt, Message};

/// A turn in the state `S`.
///
/// A call that changes the state consumes the run and returns the next one. So a call that the state does not allow does
/// not compile, and neither does a second use of a run that has moved on. After each call, take the outputs.
///
/// ```
/// use std::sync::Arc;
/// use stepwell_core::transcript::Transcript;
/// use stepwell_core::event::Message;
/// use stepwell_core::run::ticket::Ticket;
/// use stepwell_core::run::{Effect, Ended, Flow, Opened, Output, Run, RunConfig, Start, Started};
/// use stepwell_core::{Timestamp, provider};
///
/// let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
/// let now = Timestamp(0);
/// let run = Run::new(Arc::new(RunConfig::new(endpoint)), "thread-1".into(), Transcript::default());
/// let started = run.start(Start::new("run-1", Message::user("message-1", "Hello")), now);
/// let Started::Opening(mut run) = started else { panic!("it fits the model's context") };
/// let mut sent = None;
/// while let Some(output) = run.poll_output() {
///     if let Output::Effect(Ticket::Open(ticket), Effect::OpenStream { request }) = output {
///         assert!(request.url.starts_with("http://localhost/v1")); // a real host sends it
///         sent = Some(ticket);
///     }
/// }
/// let ticket = sent.ok_or("there is a request")?;
/// let Opened::Streaming(mut run) = run.opened(ticket, Some("text/event-stream"), now) else { panic!("it was asked for") };
/// let body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
/// assert_eq!(run.receive(body.as_bytes(), now), Flow::Open);
/// let Ended::Completed(run) = run.end(now) else { panic!("the answer is done") };
/// assert_eq!(run.transcript().text(), "Hi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Run<S> {
    turn: Box<Turn>,
    state: S,
}

impl<S: State> Run<S> {
    /// The one way to change the state: only along an edge of the table.
    fn goto<On: std::fmt::Debug, To: State>(self, on: On, to: To) -> Run<To>
    where
        S: Edge<On, To>,
    {
        let mut turn = self.turn;
        tracing::debug!(target: "stepwell", from = %S::KIND, ?on, to = %To::KIND, hop = turn.hop(), "run moves");
        if turn.config().tells_moves {
            let on = format!("{on:?}");
            let is_this = |row: &EdgeRow| row.from == S::KIND && row.on == on && row.to == To::KIND;
            if let Some(edge) = EDGES.iter().position(is_this) {
                turn.moved(edge);
            }
        }
        Run { turn, state: to }
    }

    /// The name of the state.
    #[must_use]
    pub fn kind(&self) -> StateKind {
        S::KIND
    }

    /// Takes the next output: an effect to carry out, with the ticket that answers it, or an event to show. Call this after
    /// every other call, until it returns `None`.
    #[must_use]
    pub fn poll_output(&mut self) -> Option<Output<Ticket>> {
        let Self { turn, state } = self;
        output::next(turn, &|turn| {
            let checkpoint = snapshot::write_checkpoint(turn, S::KIND, state);
            turn.persist(state.ended(), checkpoint)
        })
    }

    /// Returns tickets for the effects that the host was given and has not answered, for a host that restores a run.
    #[must_use]
    pub fn pending_effects(&self) -> Vec<Ticket> {
        let owed = |(id, stage)| {
            matches!(stage, EffectStage::Given | EffectStage::Deferred).then(|| Ticket::of(id))
        };
        self.turn.effects().filter_map(owed).collect()
    }

    /// The time at which the run must be woken with [`wake`](Self::wake), unless another call comes first.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.turn.clocks().next().map(|(_, at)| at)
    }

    /// The timer that is due at [`poll_timeout`](Self::poll_timeout).
    #[must_use]
    pub fn timeout_reason(&self) -> Option<TimerKey> {
        self.turn.clocks().next().map(|(key, _)| key)
    }

    /// Returns the run as text, for [`RunMachine::restore`](super::RunMachine::restore) or
    /// [`RunMachine::revive`](super::RunMachine::revive). It holds no key.
    #[must_use]
    pub fn snapshot(&self) -> String {
        snapshot::write(&self.turn, S::KIND, &self.state)
    }

    /// The checkpoint that a host must store with the turn's blocks, for
    /// [`RunMachine::revive_from`](super::RunMachine::revive_from). [`Effect::Persist`](super::Effect::Persist) carries one with
    /// each write; this one is for a turn that is stored before its first write. A write in progress counts as stored.
    /// `None` if the turn has not begun, or records no blocks.
    #[must_use]
    pub fn checkpoint(&self) -> Option<String> {
        let has_checkpoints = self.turn.has_checkpoints();
        has_checkpoints.then(|| snapshot::write_checkpoint(&self.turn, S::KIND, &self.state))
    }

    /// Continues a turn in this state.
    pub(super) fn of(turn: Box<Turn>, state: S) -> Self {
        Self { turn, state }
    }

    /// Checks that a machine can have stored this run.
    ///
    /// # Errors
    /// No machine writes this.
    pub(super) fn check_stored(&self) -> Result<(), &'static str> {
        self.turn.check_stored(S::KIND, self.state.attempt())?;
        let asked = self.state.asked();
        let is_twice =
            |(at, one): (usize, &Interrupt)| asked[..at].iter().any(|it| it.id == one.id);
        if asked.iter().enumerate().any(is_twice) {
            return Err("two questions with one id");
        }
        Ok(())
    }

    #[inline]
    pub(super) fn turn(&self) -> &Turn {
        &self.turn
    }

    #[inline]
    pub(super) fn turn_mut(&mut self) -> &mut Turn {
        &mut self.turn
    }

    #[cfg(feature = "model-check")]
    pub(super) fn state(&self) -> &S {
        &self.state
    }

    /// Copies the run. It is not public, since two runs of one turn would ask for everything twice.
    pub(super) fn fork(&self) -> Self
    where
        S: Clone,
    {
        Self {
            turn: self.turn.clone(),
            state: self.state.clone(),
        }
    }

    /// Moves to the request of the hop that was begun, or to the end of the turn if the hop could not begin.
    fn asking<On: std::fmt::Debug, To>(self, on: On, begun: Result<(), Failure>) -> To
    where
        S: Edge<On, Opening>,
        To: From<Run<Opening>> + From<Run<Completed>>,
    {
        self.goto(on, Opening::new(0)).begun(begun)
    }

    /// Begins the hop after this one.
    fn ask_next<On: std::fmt::Debug, To>(mut self, on: On) -> To
    where
        S: Edge<On, Opening>,
        To: From<Run<Opening>> + From<Run<Completed>>,
    {
        let next = self.turn.hop() + 1;
        let begun = hop::begin(&mut self.turn, next);
        self.asking(on, begun)
    }

    /// Keeps the received part of the hop's answer and `shown`, and begins the hop that asks for the answer again.
    fn cut(&mut self, shown: Vec<Message>) -> Result<(), Failure> {
        self.turn.cut_answer(shown);
        let next = self.turn.hop_after_cut();
        hop::begin(&mut self.turn, next)
    }
}
