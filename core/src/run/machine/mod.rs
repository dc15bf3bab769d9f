//! The machine: the states behind one variable, and what stores and revives them.

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
    EffectId, EffectStage, Input, Misuse, Outcome, Output, RunConfig, Start, StateKind, TimerKey,
};
use super::states::Run;
use super::states::any_run::AnyRun;
use super::states::dispose::Disposed;
use super::states::streaming::Flow;
use super::stored::Turn as StoredTurn;
use super::turn::Turn;
use crate::conversation::Conversation;
use crate::event::Interrupt;
use crate::{RunId, ThreadId, Timestamp};
use serde_json::Value;
use std::sync::Arc;
use step::Step;

/// A turn in one variable: for hosts that keep a run in a field, and for every binding.
///
/// It is an enum over the typed [`Run`]s ([`AnyRun`]) and has no behaviour of its own.
///
/// # The contract
/// 1. Take all outputs with [`poll_output`](Self::poll_output), then feed the next input; else it is a
///    [`Misuse`](Misuse::OutputsWait), and the run is as it was.
/// 2. An effect has an id made from what it is for, and stays pending under it until it is answered. The host answers
///    each effect that asks for an answer once.
/// 3. The answer to an effect that is no longer pending (cancelled, replaced, answered) changes nothing and is said
///    so: [`RunEvent::AnswerDropped`].
/// 4. Time is an argument, monotone by contract; a step back is clamped. Wake the run at
///    [`poll_timeout`](Self::poll_timeout) with [`Input::Timeout`].
/// 5. [`Misuse`] is the host's own mistake; what the peer or the transport did wrong is part of the turn's outcome.
/// 6. What the device does, the host says at any time: [`Input::EnteredBackground`], [`Input::NetworkLost`] and their
///    opposites. In the background [`poll_timeout`](Self::poll_timeout) may be `None`: the clocks stand still.
/// 7. A host that goes away says [`Input::Dispose`] and takes the outputs once more: they stop what it has begun. Each
///    later input is [`Misuse::Disposed`], and the turn can go on elsewhere, from [`snapshot`](Self::snapshot).
///
/// # The host's loop
/// ```
/// use std::borrow::Cow;
/// use std::sync::Arc;
/// use stepwell_core::conversation::Conversation;
/// use stepwell_core::event::Message;
/// use stepwell_core::run::{Effect, Input, Output, RunConfig, RunEvent, RunMachine, Start};
/// use stepwell_core::{Timestamp, provider};
///
/// let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
/// let config = Arc::new(RunConfig::new(endpoint));
/// let mut machine = RunMachine::new(config, "thread-1".into(), Conversation::default());
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
/// assert_eq!(machine.conversation().text(), "Hi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A clone is a second machine in the same state: to try what would come of an input. Never let two carry out effects.
#[derive(Debug)]
pub struct RunMachine {
    /// Gone while a typed method has it, and if that panicked.
    run: Option<AnyRun>,
    /// The host goes away: what it is still to do, and the run for another one.
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
    /// A run that is ready to start, on a conversation as it stands.
    #[must_use]
    pub fn new(config: Arc<RunConfig>, thread_id: ThreadId, history: Conversation) -> Self {
        AnyRun::from(Run::new(config, thread_id, history)).into()
    }

    /// A stored run on the same host, which was suspended and goes on: what the host was given, it still has. The host
    /// gives the configuration again, since keys and code are not stored.
    ///
    /// # Errors
    /// The text is no snapshot, one of another version, or one of a run of another dialect.
    pub fn restore(snapshot: &str, config: Arc<RunConfig>) -> Result<Self, SnapshotError> {
        AnyRun::restore(snapshot, config).map(Self::from)
    }

    /// A stored run whose host died. A request that had shown nothing goes out again; a stream that was open is opened
    /// anew, or resumed where the backend can; a tool that had begun is run again only if it says that it is idempotent, and
    /// else the model is told that its outcome is unknown. What the old host said of the device is forgotten. With
    /// [`KilledPolicy::Cancel`] the turn is over instead.
    ///
    /// What was shown of an answer that cannot be resumed stays, marked as [`CUT`](crate::run::CUT), and the
    /// answer is asked for anew, in the next hop. What the host that died had shown and not stored is told with
    /// [`Input::Shown`], before anything else. Another provider, or another dialect, may be asked from here on; only an
    /// agent's questions have no answer then, and fail the turn.
    ///
    /// # Errors
    /// The text is no snapshot, or one of another version.
    pub fn revive(
        snapshot: &str,
        config: Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        AnyRun::revive(snapshot, config, now).map(Self::from)
    }

    /// A stored run whose host died, as [`revive`](Self::revive) gives it, from what a host with a store has of it: the
    /// newest checkpoint of the turn ([`Effect::Persist`], or [`checkpoint`](Self::checkpoint)), the conversation before the
    /// turn, and the turn with its blocks. Where the turn has a history of its own, that is the conversation before it.
    ///
    /// The checkpoint and the blocks belong together: read both at one time. A turn with more blocks than its checkpoint
    /// counts, or with fewer, is refused.
    ///
    /// ```
    /// # use stepwell_core::conversation::Conversation;
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
    /// # let mut machine = RunMachine::new(Arc::clone(&config), "thread-1".into(), Conversation::default());
    /// machine.handle(Input::Start(Box::new(Start::new("run-1", message.clone()))), now)?;
    /// let checkpoint = machine.checkpoint().ok_or("the run records blocks")?;
    /// // … the host stores the turn and the checkpoint, and dies; another one reads both …
    /// # let (id, status, created_at, updated_at) = ("run-1".into(), TurnStatus::Streaming, now, now);
    /// # let (parent, history, outcome, blocks) = (None, None, None, Vec::new());
    /// # let turn = Turn { id, parent, history, message: Some(message), status, outcome, created_at, updated_at, blocks };
    /// # let history = Conversation::default();
    /// let machine = RunMachine::revive_from(&checkpoint, history, &turn, config, now)?;
    /// # assert_eq!(machine.conversation().messages().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The text is no checkpoint, one of another version, or it does not fit the history and the turn.
    pub fn revive_from(
        checkpoint: &str,
        history: Conversation,
        turn: &StoredTurn,
        config: Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        AnyRun::revive_from(checkpoint, history, turn, config, now).map(Self::from)
    }

    /// The typed run. What the host was given and has not answered, [`Run::pending`] has tickets for.
    ///
    /// # Errors
    /// The run was disposed of, or an earlier call panicked.
    pub fn into_run(self) -> Result<AnyRun, Misuse> {
        if self.disposed.is_some() {
            return Err(Misuse::Disposed { input: "into_run" });
        }
        self.run.ok_or(Misuse::Broken)
    }

    /// Takes one input.
    ///
    /// # Errors
    /// The input is the host's mistake; the run is as it was.
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
        // What a host that died had shown is told before anything of the new one's, and a host may go at any time.
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

    /// Takes the next thing for the host. To be called until it gives `None`, after every input.
    #[must_use]
    pub fn poll_output(&mut self) -> Option<Output> {
        match &mut self.disposed {
            Some(disposed) if disposed.outputs.is_empty() => None,
            Some(disposed) => Some(disposed.outputs.remove(0)),
            None => Some(self.run.as_mut()?.poll_output()?.with_id()),
        }
    }

    /// When the run wants to be woken with [`Input::Timeout`], if nothing happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.next_timer().map(|(_, at)| at)
    }

    /// What the run wants to be woken for.
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

    /// The effects that are not answered yet, with how far each has come. Those that the host owes an answer are
    /// [`Given`](EffectStage::Given), [`Live`](EffectStage::Live) or [`Deferred`](EffectStage::Deferred); after
    /// [`restore`](Self::restore) the others come out of [`poll_output`](Self::poll_output) in their time. Empty once the run
    /// was disposed of.
    #[must_use]
    pub fn pending_effects(&self) -> Vec<(EffectId, EffectStage)> {
        let turn = self.read_turn().filter(|_| self.disposed.is_none());
        let effects = turn.into_iter().flat_map(Turn::effects);
        effects.collect()
    }

    /// The deadlines that run, and when they are due, in the order of their keys. Those that stand still in the background
    /// are among them.
    #[must_use]
    pub fn timers(&self) -> Vec<(TimerKey, Timestamp)> {
        let turn = self.read_turn().filter(|_| self.disposed.is_none());
        turn.into_iter()
            .flat_map(|turn| turn.clocks().timers())
            .collect()
    }

    /// Whether the host has said that it goes away ([`Input::Dispose`]). The state, the conversation and the outcome
    /// can still be read.
    #[must_use]
    pub fn is_disposed(&self) -> bool {
        self.disposed.is_some()
    }

    /// The state's name.
    #[must_use]
    pub fn state(&self) -> StateKind {
        self.run.as_ref().map_or(StateKind::Completed, AnyRun::kind)
    }

    /// How the turn ended, once it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.run {
            Some(AnyRun::Completed(run)) => Some(run.outcome()),
            _ => None,
        }
    }

    /// The typed answer, if there was to be one ([`RunConfig::output`]) and the turn has ended well.
    #[must_use]
    pub fn output(&self) -> Option<&Value> {
        match &self.run {
            Some(AnyRun::Completed(run)) => run.output(),
            _ => None,
        }
    }

    /// Whether nothing but the user, or the result of a deferred call, can move the run on: store its
    /// [`snapshot`](Self::snapshot), and let go of it until then, or until [`poll_timeout`](Self::poll_timeout).
    #[must_use]
    pub fn is_resting(&self) -> bool {
        let rests = match self.state() {
            StateKind::Interrupted | StateKind::ExecutingTools => true,
            StateKind::Idle
            | StateKind::Opening
            | StateKind::Waiting
            | StateKind::Streaming
            | StateKind::Reviewing
            | StateKind::Decoding
            | StateKind::Completed => false,
        };
        rests && self.read_turn().is_some_and(Turn::is_at_rest)
    }

    /// The effect under which the result of a tool call is awaited, by the provider's id for the call: for a host that
    /// kept no more than that id of a deferred call.
    #[must_use]
    pub fn awaited_result(&self, tool_call_id: &str) -> Option<EffectId> {
        let turn = self.read_turn()?;
        let effect = EffectId::Tool(turn.conversation().call_by_id(tool_call_id)?.key);
        let stage = turn.stage(effect)?;
        matches!(stage, EffectStage::Given | EffectStage::Deferred).then_some(effect)
    }

    /// What the agent asks the user, while it does.
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

    /// How the provider names the answer that is being received, if it has said so. For traces: it is not stored.
    #[must_use]
    pub fn response_id(&self) -> Option<&str> {
        match &self.run {
            Some(AnyRun::Streaming(run)) => run.response_id(),
            _ => None,
        }
    }

    /// The run as text, to be stored; see [`Run::snapshot`]. Of a run that was disposed of, it is the run
    /// from before.
    #[must_use]
    pub fn snapshot(&self) -> String {
        match &self.disposed {
            Some(disposed) => disposed.snapshot.clone(),
            None => self.run.as_ref().map_or_else(String::new, AnyRun::snapshot),
        }
    }

    /// What a host that stores the turn's blocks must store beside them; see [`Run::checkpoint`]. `None` if the turn has not
    /// begun, if it records no blocks, and once the run was disposed of.
    #[must_use]
    pub fn checkpoint(&self) -> Option<String> {
        let run = self.run.as_ref().filter(|_| self.disposed.is_none());
        run.and_then(AnyRun::checkpoint)
    }

    /// Starts the turn: short for [`Input::Start`].
    ///
    /// # Errors
    /// The run has started before.
    pub fn start(&mut self, start: Start, now: Timestamp) -> Result<(), Misuse> {
        self.handle(Input::Start(Box::new(start)), now)
    }
}
