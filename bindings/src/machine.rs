use crate::config::RunConfig;
use crate::effect::{Effect, Outputs, json};
use crate::error::StepwellError;
use crate::event::{Event, Interrupt, ToolFailureKind};
use crate::outcome::{Outcome, TokenUsage};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{self, Message};
use stepwell_core::run::{self, Decision, EffectId, Input, Output, Refusal};
use stepwell_core::tool::{ToolFailure, ToolOutput};
use stepwell_core::{ThreadId, Timestamp};

/// A turn without any IO: the app owns the network, the tools, the clock and the store.
///
/// Each input is one call, and each call gives back all that came of it in one batch: what to show and what to do. Carry
/// out each effect, and answer it by its id. Time is an argument, in milliseconds since the epoch. Call `timeout` when
/// `wake_at_ms` of the latest batch has come.
///
/// The host's loop: `start`; for an `OpenStream` send the request and call `opened`, then `receive` for every piece of
/// the body, then `ended` (or `refused`, `connection_failed`, `lost`); for a `RunTool` run the tool and call
/// `tool_finished` or `tool_failed`; until an event `Completed` comes.
#[derive(Debug, uniffi::Object)]
pub struct RunMachine {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Nothing once a call has panicked: what it left cannot be trusted.
    machine: Option<run::RunMachine>,
    /// Outputs that came of no input: those of a restore.
    held: Outputs,
}

/// What starts a turn.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Start {
    /// The turn's id, and its first hop's run id. Unique in the thread.
    pub run_id: String,
    /// What the person says.
    #[uniffi(default = None)]
    pub text: Option<String>,
    /// What the person says as an AG-UI message in JSON, where it is more than text. With neither, the turn goes on
    /// from a history that ends with something the model is to answer.
    #[uniffi(default = None)]
    pub message_json: Option<String>,
    /// The answers to the interrupts that an earlier turn of an AG-UI agent ended with.
    #[uniffi(default)]
    pub resume: Vec<ResumeEntry>,
}

/// The person's answer to one `Interrupt`.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ResumeEntry {
    /// The interrupt it answers.
    pub interrupt_id: String,
    /// Whether it was answered or waved away.
    pub status: ResumeStatus,
    /// The answer: any JSON.
    #[uniffi(default = None)]
    pub payload_json: Option<String>,
}

/// Whether an interrupt was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ResumeStatus {
    /// Answered, with a payload.
    Resolved,
    /// Waved away.
    Cancelled,
}

/// The states of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum StateKind {
    /// Nothing was asked yet.
    Idle,
    /// A request is on its way.
    Opening,
    /// The answer is coming.
    Streaming,
    /// Tools are running, or wait for the person to allow them.
    ExecutingTools,
    /// A request failed and is soon tried again.
    Waiting,
    /// The agent asks the person.
    Interrupted,
    /// The turn is over.
    Completed,
    /// A call broke off inside Stepwell: restore the last snapshot.
    Broken,
}

#[uniffi::export]
impl RunMachine {
    /// A run that is ready to start, on a conversation as it stands.
    ///
    /// `history_json` is a JSON array of AG-UI messages, oldest first; `state_json` the state shared with an AG-UI
    /// agent: any JSON.
    #[uniffi::constructor(default(history_json = "[]", state_json = "{}"))]
    pub fn new(
        config: RunConfig,
        thread_id: String,
        history_json: &str,
        state_json: &str,
    ) -> Result<Arc<Self>, StepwellError> {
        let history = conversation(history_json, state_json)?;
        let config = Arc::new(config.into_core()?);
        Ok(Self::of(run::RunMachine::new(
            config,
            ThreadId::from(thread_id),
            history,
        )))
    }

    /// A stored run in the same process, which was suspended and goes on: what the app was given to do, it still does.
    /// Take `poll_outputs` first.
    #[uniffi::constructor]
    pub fn restore(snapshot: &str, config: RunConfig) -> Result<Arc<Self>, StepwellError> {
        let config = Arc::new(config.into_core()?);
        guard(|| Ok(run::RunMachine::restore(snapshot, config)?)).map(Self::of)
    }

    /// A stored run whose process died. A request that had shown nothing goes out again; a stream that was open is
    /// lost; a tool that had begun is run again only if it says that it is idempotent, and else the model is told that
    /// its outcome is unknown. Take `poll_outputs` first.
    #[uniffi::constructor]
    pub fn revive(
        snapshot: &str,
        config: RunConfig,
        now_ms: u64,
    ) -> Result<Arc<Self>, StepwellError> {
        let config = Arc::new(config.into_core()?);
        guard(|| {
            Ok(run::RunMachine::revive(
                snapshot,
                config,
                Timestamp(now_ms),
            )?)
        })
        .map(Self::of)
    }

    /// Starts the turn.
    pub fn start(&self, start: Start, now_ms: u64) -> Result<Outputs, StepwellError> {
        self.handle(Input::Start(Box::new(start.try_into()?)), now_ms)
    }

    /// The backend created a run.
    pub fn run_created(
        &self,
        effect: &str,
        run_id: String,
        now_ms: u64,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let run_id = run_id.into();
        self.handle(Input::RunCreated { effect, run_id }, now_ms)
    }

    /// The backend did not create a run.
    pub fn run_not_created(
        &self,
        effect: &str,
        message: String,
        now_ms: u64,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::RunNotCreated { effect, message }, now_ms)
    }

    /// The provider answered with a 2xx status: the body follows. `content_type` is the response's header.
    pub fn opened(
        &self,
        effect: &str,
        content_type: Option<String>,
        now_ms: u64,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(
            Input::Opened {
                effect,
                content_type,
            },
            now_ms,
        )
    }

    /// The provider answered with any other status. `body` is the beginning of its answer, 64 KiB are plenty;
    /// `retry_after_ms` the wait that its `Retry-After` asks for.
    #[uniffi::method(default(retry_after_ms = None))]
    pub fn refused(
        &self,
        effect: &str,
        status: u16,
        body: &[u8],
        now_ms: u64,
        retry_after_ms: Option<u64>,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let refusal = Refusal {
            status,
            retry_after: retry_after_ms.map(Duration::from_millis),
            body: body.to_owned(),
        };
        self.handle(Input::Refused { effect, refusal }, now_ms)
    }

    /// No answer came at all.
    pub fn connection_failed(
        &self,
        effect: &str,
        message: String,
        now_ms: u64,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::ConnectionFailed { effect, message }, now_ms)
    }

    /// Bytes of the body, as many as the transport gave, cut anywhere.
    pub fn receive(
        &self,
        effect: &str,
        bytes: &[u8],
        now_ms: u64,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let bytes = Cow::Borrowed(bytes);
        self.handle(Input::Received { effect, bytes }, now_ms)
    }

    /// The body ended as it should.
    pub fn ended(&self, effect: &str, now_ms: u64) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::Ended { effect }, now_ms)
    }

    /// The connection broke within the body.
    pub fn lost(
        &self,
        effect: &str,
        message: String,
        now_ms: u64,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::Lost { effect, message }, now_ms)
    }

    /// A tool gave a result: text, or JSON as text.
    pub fn tool_finished(
        &self,
        effect: &str,
        content: String,
        now_ms: u64,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let result = Ok(ToolOutput::from(content));
        self.handle(Input::ToolFinished { effect, result }, now_ms)
    }

    /// A tool failed; the model is shown the message. `kind` is `Error` if absent.
    #[uniffi::method(default(kind = None))]
    pub fn tool_failed(
        &self,
        effect: &str,
        message: String,
        now_ms: u64,
        kind: Option<ToolFailureKind>,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let kind = kind.unwrap_or(ToolFailureKind::Error);
        let result = Err(ToolFailure::new(kind.into(), message));
        self.handle(Input::ToolFinished { effect, result }, now_ms)
    }

    /// The person allows the call.
    pub fn approve(&self, effect: &str, now_ms: u64) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let decision = Decision::Granted;
        self.handle(Input::Decided { effect, decision }, now_ms)
    }

    /// The person does not allow the call. The reason is for the model to read.
    pub fn deny(
        &self,
        effect: &str,
        reason: Option<String>,
        now_ms: u64,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let decision = Decision::Denied { reason };
        self.handle(Input::Decided { effect, decision }, now_ms)
    }

    /// Blocks are stored.
    pub fn persisted(&self, effect: &str, now_ms: u64) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::Persisted { effect }, now_ms)
    }

    /// Blocks could not be stored.
    pub fn persist_failed(
        &self,
        effect: &str,
        message: String,
        now_ms: u64,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::PersistFailed { effect, message }, now_ms)
    }

    /// The person answered the agent's questions, all of them.
    pub fn resume(&self, answers: Vec<ResumeEntry>, now_ms: u64) -> Result<Outputs, StepwellError> {
        let answers = entries(answers)?;
        self.handle(Input::Resume(answers), now_ms)
    }

    /// The person stops the turn. What is over stays as it is.
    pub fn cancel(&self, now_ms: u64) -> Result<Outputs, StepwellError> {
        self.handle(Input::Cancel, now_ms)
    }

    /// Time has passed: what is due is done.
    pub fn timeout(&self, now_ms: u64) -> Result<Outputs, StepwellError> {
        self.handle(Input::Timeout, now_ms)
    }

    /// What waits for the app without an input of its own: after `restore` and `revive`.
    pub fn poll_outputs(&self) -> Result<Outputs, StepwellError> {
        let mut inner = self.lock();
        inner.attempt(|_, _| Ok(()))
    }

    /// When the run wants to be woken with `timeout`, in milliseconds since the epoch; every batch of outputs says so
    /// too.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.read(|machine| machine.poll_timeout().map(|at| at.0))
            .flatten()
    }

    /// Where the run stands.
    pub fn state(&self) -> StateKind {
        self.read(|machine| machine.state().into())
            .unwrap_or(StateKind::Broken)
    }

    /// How the turn ended, once it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.read(|machine| machine.outcome().cloned().map(Into::into))
            .flatten()
    }

    /// What the agent asks the person, while it does.
    pub fn interrupts(&self) -> Vec<Interrupt> {
        let convert = |interrupt: &event::Interrupt| interrupt.clone().into();
        self.read(|machine| machine.interrupts().iter().map(convert).collect())
            .unwrap_or_default()
    }

    /// All that the model has said since the person's last message.
    pub fn text(&self) -> String {
        self.read(|machine| machine.conversation().text())
            .unwrap_or_default()
    }

    /// The conversation: a JSON array of AG-UI messages, oldest first.
    pub fn messages_json(&self) -> String {
        self.read(|machine| json(&machine.conversation().messages()))
            .unwrap_or_else(|| "[]".to_owned())
    }

    /// The state shared with an AG-UI agent: any JSON.
    pub fn state_json(&self) -> String {
        self.read(|machine| json(machine.conversation().state()))
            .unwrap_or_else(|| "{}".to_owned())
    }

    /// What is certain so far of the arguments of a call of the hop in progress, by the provider's id for it: any JSON.
    /// Absent without `RunConfig.partial_arguments`, before the call began and once its result is in the history. To
    /// follow each piece take the event `PartialArguments`.
    pub fn partial_arguments_json(&self, tool_call_id: &str) -> Option<String> {
        self.read(|machine| {
            let arguments = machine.partial_arguments(tool_call_id)?;
            Some(arguments.closed_text())
        })
        .flatten()
    }

    /// What the turn has cost so far, over all its hops.
    pub fn usage(&self) -> TokenUsage {
        self.read(|machine| machine.usage().into())
            .unwrap_or_default()
    }

    /// The hop, from 0.
    pub fn hop(&self) -> u32 {
        self.read(run::RunMachine::hop).unwrap_or_default()
    }

    /// The conversation's id.
    pub fn thread_id(&self) -> String {
        self.read(|machine| machine.thread_id().map(|id| id.to_string()))
            .flatten()
            .unwrap_or_default()
    }

    /// The run id of the hop.
    pub fn run_id(&self) -> String {
        self.read(|machine| machine.run_id().map(|id| id.to_string()))
            .flatten()
            .unwrap_or_default()
    }

    /// The run as text, to be stored and given to `restore` or `revive`. It holds no key.
    pub fn snapshot(&self) -> Result<String, StepwellError> {
        self.read(run::RunMachine::snapshot).ok_or_else(broken)
    }
}

impl RunMachine {
    fn of(machine: run::RunMachine) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                machine: Some(machine),
                held: Outputs::default(),
            }),
        })
    }

    /// Panics are caught while the lock is held, so a poisoned one is no more broken than `machine` says.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, input: Input<'_>, now_ms: u64) -> Result<Outputs, StepwellError> {
        let mut inner = self.lock();
        inner.attempt(|machine, held| {
            // The core wants its outputs taken before the next input.
            drain(machine, held);
            Ok(machine.handle(input, Timestamp(now_ms))?)
        })
    }

    /// Nothing if the run is broken.
    fn read<T>(&self, look: impl FnOnce(&run::RunMachine) -> T) -> Option<T> {
        let inner = self.lock();
        let machine = inner.machine.as_ref()?;
        guard(|| Ok(look(machine))).ok()
    }
}

impl Inner {
    fn attempt(
        &mut self,
        step: impl FnOnce(&mut run::RunMachine, &mut Outputs) -> Result<(), StepwellError>,
    ) -> Result<Outputs, StepwellError> {
        let Self { machine, held } = self;
        let running = machine.as_mut().ok_or_else(broken)?;
        let result = guard(|| {
            step(running, held)?;
            drain(running, held);
            held.wake_at_ms = running.poll_timeout().map(|at| at.0);
            Ok(std::mem::take(held))
        });
        if let Err(StepwellError::Broken { .. }) = result {
            *machine = None;
        }
        result
    }
}

fn broken() -> StepwellError {
    StepwellError::broken(&"the run broke in an earlier call")
}

/// Runs the core's code; a panic in it is an error.
fn guard<T>(work: impl FnOnce() -> Result<T, StepwellError>) -> Result<T, StepwellError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(StepwellError::panicked(&*panic)))
}

fn drain(machine: &mut run::RunMachine, outputs: &mut Outputs) {
    while let Some(output) = machine.poll_output() {
        match output {
            Output::Event(event) => outputs.events.push(Event::from(event)),
            Output::Effect(id, effect) => outputs.effects.push(Effect::new(id, effect)),
        }
    }
}

fn id(effect: &str) -> Result<EffectId, StepwellError> {
    effect.parse().map_err(|error| {
        StepwellError::invalid(
            &error,
            "an effect's id is the `id` of the effect, unchanged",
        )
    })
}

/// The conversation that an app gives as JSON.
pub(crate) fn conversation(
    history_json: &str,
    state_json: &str,
) -> Result<Conversation, StepwellError> {
    let messages: Vec<Message> = serde_json::from_str(history_json).map_err(|error| {
        let reason = format!("the history is no JSON array of AG-UI messages: {error}");
        StepwellError::invalid(&reason, "give what `messages_json` returned")
    })?;
    Ok(Conversation::new(messages).with_state(any_json("the state", state_json)?))
}

fn any_json(what: &str, text: &str) -> Result<serde_json::Value, StepwellError> {
    serde_json::from_str(text).map_err(|error| {
        let reason = format!("{what} is not JSON: {error}");
        StepwellError::invalid(&reason, "give JSON text")
    })
}

fn entries(answers: Vec<ResumeEntry>) -> Result<Vec<event::ResumeEntry>, StepwellError> {
    let entry = |answer: ResumeEntry| {
        let payload = answer
            .payload_json
            .map(|json| any_json("the answer to an interrupt", &json));
        Ok(event::ResumeEntry {
            interrupt_id: answer.interrupt_id,
            status: match answer.status {
                ResumeStatus::Resolved => event::ResumeStatus::Resolved,
                ResumeStatus::Cancelled => event::ResumeStatus::Cancelled,
            },
            payload: payload.transpose()?,
            metadata: None,
            extra: event::Metadata::new(),
        })
    };
    answers.into_iter().map(entry).collect()
}

impl TryFrom<Start> for run::Start {
    type Error = StepwellError;

    fn try_from(start: Start) -> Result<Self, StepwellError> {
        let message = match (start.text, start.message_json) {
            (Some(_), Some(_)) => {
                return Err(StepwellError::invalid(
                    &"a turn starts with `text` or with `message_json`, not with both",
                    "leave one of them out",
                ));
            }
            (Some(text), None) => Some(Message::user(format!("{}-user", start.run_id), text)),
            (None, Some(json)) => Some(serde_json::from_str(&json).map_err(|error| {
                let reason = format!("the message is no AG-UI message: {error}");
                StepwellError::invalid(&reason, "give an object with `id`, `role` and `content`")
            })?),
            (None, None) => None,
        };
        Ok(Self {
            run_id: start.run_id.into(),
            message,
            resume: entries(start.resume)?,
        })
    }
}

impl From<run::StateKind> for StateKind {
    fn from(state: run::StateKind) -> Self {
        match state {
            run::StateKind::Idle => Self::Idle,
            run::StateKind::Opening => Self::Opening,
            run::StateKind::Waiting => Self::Waiting,
            run::StateKind::Streaming => Self::Streaming,
            run::StateKind::ExecutingTools => Self::ExecutingTools,
            run::StateKind::Interrupted => Self::Interrupted,
            run::StateKind::Completed => Self::Completed,
        }
    }
}

#[cfg(test)]
mod tests;
