//! The machine: the states in one variable, and how they are stored and revived.

mod canonical;
#[cfg(feature = "model-check")]
pub mod model_check;
mod restore;
mod step;

pub use canonical::CanonicalForm;
pub use restore::SnapshotError;

use super::protocol::ticket::Ticket;
#[cfg(doc)]
use super::protocol::{Effect, KilledPolicy, RunEvent};
use super::protocol::{
    EffectId, EffectStage, Input, Misuse, Outcome, Output, PendingKind, RunConfig, Start,
    StateKind, TimerKey,
};
use super::states::Run;
use super::states::any_run::AnyRun;
use super::states::dispose::Disposed;
use super::states::streaming::Flow;
use super::stored::Turn as StoredTurn;
use super::turn::Turn;
use crate::event::Interrupt;
use crate::transcript::Transcript;
use crate::{RunId, ThreadId, Timestamp};
use serde_json::Value;
use std::sync::Arc;
use step::Step;

/// A turn in one variable, for hosts that keep a run in a field, and for every binding.
///
/// The machine is an enum over the typed [`Run`]s ([`AnyRun`]) and adds no behaviour.
///
/// # The contract
/// 1. Take all outputs with [`poll_output`](Self::poll_output) before the next input. Otherwise the input is a
///    [`Misuse`](Misuse::OutputsWait), and the run is unchanged.
/// 2. The id of an effect is its purpose. The effect is pending under this id until the host answers it. The host answers
///    each effect that asks for an answer once.
/// 3. The answer to an effect that is no longer pending (cancelled, replaced, answered) changes nothing:
///    [`RunEvent::AnswerDropped`] reports it.
/// 4. Time is an argument. It must not go back; a step back is clamped. Wake the run at
///    [`poll_timeout`](Self::poll_timeout) with [`Input::Timeout`].
/// 5. [`Misuse`] is the host's own mistake. Faults of the peer or the transport are part of the turn's outcome.
/// 6. The host reports changes of the device at any time: [`Input::EnteredBackground`], [`Input::NetworkLost`] and their
///    opposites. In the background [`poll_timeout`](Self::poll_timeout) may be `None`, since the clocks are paused.
/// 7. A host that shuts down sends [`Input::Dispose`] and takes the outputs again: they stop everything that the host
///    has begun. Each later input is [`Misuse::Disposed`]. Another host can continue the turn from
///    [`snapshot`](Self::snapshot).
///
/// # The host's loop
/// ```
/// use std::borrow::Cow;
/// use std::sync::Arc;
/// use stepwell_core::transcript::Transcript;
/// use stepwell_core::event::Message;
/// use stepwell_core::run::{Effect, Input, Output, RunConfig, RunEvent, RunMachine, Start};
/// use stepwell_core::{Timestamp, provider};
///
/// let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
/// let config = Arc::new(RunConfig::new(endpoint));
/// let mut machine = RunMachine::new(config, "thread-1".into(), Transcript::default());
/// let clock = || Timestamp(0); // the host's clock
///
/// machine.handle(Input::Start(Box::new(Start::new("run-1", Message::user("message-1", "Hello")))), clock())?;
/// loop {
///     let mut answers = Vec::new();
///     while let Some(output) = machine.poll_output() {
///         match output {
///             Output::Effect(effect, Effect::OpenStream { request }) => {
///                 // Send `request`; here the answer is at hand.
///                 assert!(request.url.starts_with("http://localhost/v1"));
///                 let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
///                 answers.push(Input::Opened { effect, content_type: None });
///                 answers.push(Input::Received { effect, bytes: Cow::Borrowed(body) });
///                 answers.push(Input::Ended { effect });
///             }
///             Output::Event(RunEvent::Completed(outcome)) => println!("{outcome:?}"),
///             _ => {} // run a tool, store blocks, show an event, …
///         }
///     }
///     if machine.outcome().is_some() {
///         break;
///     }
///     // A real host waits here for bytes, results, the user, or `machine.poll_timeout()`.
///     for answer in answers {
///         machine.handle(answer, clock())?;
/// #       while let Some(_) = machine.poll_output() {}
///     }
/// }
/// assert_eq!(machine.transcript().text(), "Hi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A clone is a second machine in the same state, to try an input. Carry out the effects of one of them only.
#[derive(Debug)]
pub struct RunMachine {
    /// `None` while a typed method has the run, and after such a method panicked.
    run: Option<AnyRun>,
    /// The remaining work of the host after [`Input::Dispose`], and the run for another host.
    disposed: Option<Disposed>,
}

impl Clone for RunMachine {
    fn clone(&self) -> Self {
        Self {
            run: self.run.as_ref().map(AnyRun::fork),
            disposed: self.disposed.clone(),
        }
    }
}

impl From<AnyRun> for RunMachine {
    fn from(run: AnyRun) -> Self {
        Self {
            run: Some(run),
            disposed: None,
        }
    }
}

impl RunMachine {
    /// Creates a run that is ready to start, on this history.
    #[must_use]
    pub fn new(config: Arc<RunConfig>, thread_id: ThreadId, history: Transcript) -> Self {
        AnyRun::from(Run::new(config, thread_id, history)).into()
    }

    /// Restores a stored run on the same host, which was suspended and still has all effects that it was given. The host
    /// supplies the configuration again, since keys and code are not stored.
    ///
    /// # Errors
    /// The text is not a snapshot, or is one of another version or of a run of another dialect.
    pub fn restore(snapshot: &str, config: Arc<RunConfig>) -> Result<Self, SnapshotError> {
        AnyRun::restore(snapshot, config).map(Self::from)
    }

    /// Revives a stored run whose host died. A request whose answer the user had not seen is sent again. A stream that was
    /// open is resumed if the backend supports that, and opened again otherwise. A tool that had begun runs again only if it
    /// is marked as idempotent; otherwise the model is told that the outcome is unknown. The old host's reports about the
    /// device are forgotten. With [`KilledPolicy::Cancel`] the turn ends instead.
    ///
    /// The visible part of an answer that cannot be resumed stays, marked as [`CUT`](crate::run::CUT), and the next hop
    /// asks for the answer again. If the host that died had shown messages that it had not stored, send them with
    /// [`Input::Shown`] before any other input. The new configuration may name another provider or dialect; then only the
    /// open questions of an agent cannot be answered, and fail the turn.
    ///
    /// # Errors
    /// The text is not a snapshot, or is one of another version.
    pub fn revive(
        snapshot: &str,
        config: Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        AnyRun::revive(snapshot, config, now).map(Self::from)
    }

    /// Revives a run as [`revive`](Self::revive) does, from the records of a host with a store: the newest checkpoint of the
    /// turn ([`Effect::Persist`], or [`checkpoint`](Self::checkpoint)), the conversation before the turn, and the turn with
    /// its blocks. If the turn has a history of its own, that is the conversation before it.
    ///
    /// The checkpoint and the blocks belong together: read both in one transaction. A turn with more or fewer blocks than
    /// its checkpoint counts is refused.
    ///
    /// ```
    /// # use stepwell_core::transcript::Transcript;
    /// # use stepwell_core::event::Message;
    /// # use stepwell_core::run::{Durability, Input, RunConfig, RunMachine, Start, TurnStatus};
    /// # use stepwell_core::{Timestamp, provider};
    /// # use stepwell_core::session::Turn;
    /// # use std::sync::Arc;
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
    /// # let mut config = RunConfig::new(endpoint);
    /// # config.durability = Durability::Blocks { attempts: 6 };
    /// # let config = Arc::new(config);
    /// # let now = Timestamp(0);
    /// # let message = Message::user("message-1", "Hello");
    /// # let mut machine = RunMachine::new(Arc::clone(&config), "thread-1".into(), Transcript::default());
    /// machine.handle(Input::Start(Box::new(Start::new("run-1", message.clone()))), now)?;
    /// let checkpoint = machine.checkpoint().ok_or("the run records blocks")?;
    /// // … the host stores the turn and the checkpoint, and dies; another one reads both …
    /// # let (id, status, created_at, updated_at) = ("run-1".into(), TurnStatus::Streaming, now, now);
    /// # let (parent, history, outcome, blocks) = (None, None, None, Vec::new());
    /// # let turn = Turn { id, parent, history, message: Some(message), status, outcome, created_at, updated_at, blocks };
    /// # let history = Transcript::default();
    /// let machine = RunMachine::revive_from(&checkpoint, history, &turn, config, now)?;
    /// # assert_eq!(machine.transcript().messages().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The text is not a checkpoint, is one of another version, or does not fit the history and the turn.
    pub fn revive_from(
        checkpoint: &str,
        history: Transcript,
        turn: &StoredTurn,
        config: Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        AnyRun::revive_from(checkpoint, history, turn, config, now).map(Self::from)
    }

    /// Returns the typed run. [`Run::pending_effects`] has the tickets for the effects that the host has not answered yet.
    ///
    /// # Errors
    /// The run was disposed of, or an earlier call panicked.
    pub fn into_run(self) -> Result<AnyRun, Misuse> {
        if self.disposed.is_some() {
            return Err(Misuse::Disposed { input: "into_run" });
        }
        self.run.ok_or(Misuse::Broken)
    }

    /// Handles one input.
    ///
    /// # Errors
    /// The input is a mistake of the host; the run is unchanged.
    pub fn handle(&mut self, input: Input<'_>, now: Timestamp) -> Result<(), Misuse> {
        if self.disposed.is_some() {
            return match input {
                Input::Dispose => Ok(()),
                input => Err(Misuse::Disposed {
                    input: input.name(),
                }),
            };
        }
        let run = self.run.as_mut().ok_or(Misuse::Broken)?;
        let turn = run.turn_mut();
        // A new host reports first what the dead one had shown, and any host may shut down at any time.
        if !turn.is_quiet() && !matches!(input, Input::Shown(_) | Input::Dispose) {
            return Err(Misuse::OutputsWait {
                input: input.name(),
            });
        }
        let effect = input.effect();
        if let Some(effect) = effect {
            if !input.fits(effect) {
                return Err(Misuse::WrongEffect {
                    input: input.name(),
                    effect,
                });
            }
            match turn.stage(effect) {
                Some(stage) if stage.takes(&input) => {}
                Some(EffectStage::Given) => {
                    return Err(Misuse::NotOpened {
                        input: input.name(),
                        effect,
                    });
                }
                _ => {
                    turn.drop_answer(effect);
                    return Ok(());
                }
            }
        }
        match (run, &input) {
            // The hot path: no move of the run.
            (AnyRun::Streaming(run), Input::Received { bytes, .. }) => {
                if run.receive(bytes, now) == Flow::Over {
                    self.replace(|run| match run {
                        AnyRun::Streaming(run) => run.end(now).into(),
                        other => other.into(),
                    })
                } else {
                    Ok(())
                }
            }
            (_, Input::Timeout) => self.replace(|run| run.wake(now).into()),
            (_, Input::Dispose) => self.dispose(),
            _ => self.replace(|run| run.step(input, effect.map(Ticket::of), now)),
        }
    }

    fn dispose(&mut self) -> Result<(), Misuse> {
        let run = self.run.as_mut().ok_or(Misuse::Broken)?;
        self.disposed = Some(run.leave());
        Ok(())
    }

    fn replace(&mut self, step: impl FnOnce(AnyRun) -> Step) -> Result<(), Misuse> {
        let Step(run, result) = step(self.run.take().ok_or(Misuse::Broken)?);
        self.run = Some(run);
        result
    }

    /// Takes the next output. Call this after every input, until it returns `None`.
    #[must_use]
    pub fn poll_output(&mut self) -> Option<Output> {
        match &mut self.disposed {
            Some(disposed) if disposed.outputs.is_empty() => None,
            Some(disposed) => Some(disposed.outputs.remove(0)),
            None => Some(self.run.as_mut()?.poll_output()?.with_id()),
        }
    }

    /// The time at which the run must be woken with [`Input::Timeout`], unless another input comes first.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.next_timer().map(|(_, at)| at)
    }

    /// The timer that is due at [`poll_timeout`](Self::poll_timeout).
    #[must_use]
    pub fn timeout_reason(&self) -> Option<TimerKey> {
        self.next_timer().map(|(key, _)| key)
    }

    fn next_timer(&self) -> Option<(TimerKey, Timestamp)> {
        let turn = self.read_turn().filter(|_| self.disposed.is_none())?;
        turn.clocks().next()
    }

    /// The turn, unless an earlier call panicked.
    pub(in crate::run) fn read_turn(&self) -> Option<&Turn> {
        self.run.as_ref().map(AnyRun::turn)
    }

    /// The effects that are not answered yet, with their stages. The host owes an answer to those that are
    /// [`Given`](EffectStage::Given), [`Live`](EffectStage::Live) or [`Deferred`](EffectStage::Deferred). After
    /// [`restore`](Self::restore), [`poll_output`](Self::poll_output) returns the others in their time. Empty after
    /// [`Input::Dispose`].
    #[must_use]
    pub fn pending_effects(&self) -> Vec<(EffectId, EffectStage)> {
        let turn = self.read_turn().filter(|_| self.disposed.is_none());
        let effects = turn.into_iter().flat_map(Turn::effects);
        effects.collect()
    }

    /// The timers and their deadlines, in the order of the keys. Timers that are paused in the background are among them.
    #[must_use]
    pub fn timers(&self) -> Vec<(TimerKey, Timestamp)> {
        let turn = self.read_turn().filter(|_| self.disposed.is_none());
        turn.into_iter()
            .flat_map(|turn| turn.clocks().timers())
            .collect()
    }

    /// Returns whether the host has disposed of the run ([`Input::Dispose`]). The state, the conversation and the
    /// outcome can still be read.
    #[must_use]
    pub fn is_disposed(&self) -> bool {
        self.disposed.is_some()
    }

    /// The name of the state.
    #[must_use]
    pub fn state(&self) -> StateKind {
        self.run.as_ref().map_or(StateKind::Completed, AnyRun::kind)
    }

    /// The outcome of the turn, after its end.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.run {
            Some(AnyRun::Completed(run)) => Some(run.outcome()),
            _ => None,
        }
    }

    /// The typed answer, if the configuration asks for one ([`RunConfig::output`]) and the turn has succeeded.
    #[must_use]
    pub fn output(&self) -> Option<&Value> {
        match &self.run {
            Some(AnyRun::Completed(run)) => run.output(),
            _ => None,
        }
    }

    /// Returns whether only the user, or the result of a deferred call, can move the run on. A host may store the
    /// [`snapshot`](Self::snapshot) and drop the run until then, or until [`poll_timeout`](Self::poll_timeout).
    #[must_use]
    pub fn is_resting(&self) -> bool {
        let rests = match self.state() {
            StateKind::Interrupted | StateKind::ExecutingTools => true,
            StateKind::Idle
            | StateKind::Opening
            | StateKind::Waiting
            | StateKind::Summarizing
            | StateKind::Streaming
            | StateKind::Reviewing
            | StateKind::Decoding
            | StateKind::Completed => false,
        };
        rests && self.read_turn().is_some_and(Turn::is_at_rest)
    }

    /// The effect that awaits a reply under this id of a [`Pending`](super::Pending), and the kind of reply. `None` if
    /// nothing waits under the id.
    #[must_use]
    pub fn pending_effect(&self, id: &str) -> Option<(PendingKind, EffectId)> {
        self.read_turn()?.pending_effect(id)
    }

    /// The effect that waits for the result of a tool call, by the provider's id for the call: for a host that kept only
    /// this id of a deferred call.
    #[must_use]
    pub fn awaited_result(&self, tool_call_id: &str) -> Option<EffectId> {
        let turn = self.read_turn()?;
        let effect = EffectId::Tool(turn.transcript().call_by_id(tool_call_id)?.key);
        let stage = turn.stage(effect)?;
        matches!(stage, EffectStage::Given | EffectStage::Deferred).then_some(effect)
    }

    /// The open questions of the agent to the user.
    #[must_use]
    pub fn interrupts(&self) -> &[Interrupt] {
        match &self.run {
            Some(AnyRun::Interrupted(run)) => run.interrupts(),
            _ => &[],
        }
    }

    /// The turn: the run id of its first hop. Empty before it has started.
    #[must_use]
    pub fn turn(&self) -> Option<&RunId> {
        self.read_turn().map(Turn::id)
    }

    /// The provider's id of the answer that is being received, if the provider has sent one. It is for traces and is not
    /// stored.
    #[must_use]
    pub fn response_id(&self) -> Option<&str> {
        match &self.run {
            Some(AnyRun::Streaming(run)) => run.response_id(),
            _ => None,
        }
    }

    /// Returns the run as text for storage; see [`Run::snapshot`]. After [`Input::Dispose`] it is the run as it was
    /// before.
    #[must_use]
    pub fn snapshot(&self) -> String {
        match &self.disposed {
            Some(disposed) => disposed.snapshot.clone(),
            None => self.run.as_ref().map_or_else(String::new, AnyRun::snapshot),
        }
    }

    /// The checkpoint that a host must store with the turn's blocks; see [`Run::checkpoint`]. `None` if the turn has not
    /// begun, if it records no blocks, and after [`Input::Dispose`].
    #[must_use]
    pub fn checkpoint(&self) -> Option<String> {
        let run = self.run.as_ref().filter(|_| self.disposed.is_none());
        run.and_then(AnyRun::checkpoint)
    }

    /// Starts the turn, as [`Input::Start`] does.
    ///
    /// # Errors
    /// The run has started before.
    pub fn start(&mut self, start: Start, now: Timestamp) -> Result<(), Misuse> {
        self.handle(Input::Start(Box::new(start)), now)
    }
}
