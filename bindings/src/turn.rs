use crate::error::StepwellError;
use crate::event::{Event, Interrupt, ToolFailureKind};
use crate::json_value::JsonValue;
use crate::machine::{ResumeEntry, any_json, entries, parse_message, parse_parts};
use crate::media::{ContentPart, content};
use crate::model_choice::ModelName;
use crate::outcome::{Outcome, TokenUsage};
use crate::pending::Pending;
use crate::runtime::runtime;
use crate::serve::AgUiEvents;
use crate::store::TurnKey;
use futures::{FutureExt, StreamExt};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use stepwell_core::tool::{ToolFailure, ToolOutput};
use stepwell_io::turn::{TurnEvents, TurnHandle};
use stepwell_serve::{Format, run_of};
use tokio::sync::{Mutex, watch};

/// A turn under way. Releasing the turn cancels it.
#[derive(Debug, uniffi::Object)]
pub struct Turn {
    handle: TurnHandle,
    turn: Mutex<Option<TurnEvents>>,
    /// Informs callers that wait for events that they must leave the turn to `suspend`.
    suspended: watch::Sender<bool>,
}

/// A turn as its store knows it.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct StoredTurn {
    /// The key of the turn.
    pub key: TurnKey,
    /// The generation that the turn is written with: to log its events, say.
    pub generation: u64,
}

impl From<stepwell_io::turn::StoredTurn> for StoredTurn {
    fn from(stored: stepwell_io::turn::StoredTurn) -> Self {
        Self {
            key: stored.key.into(),
            generation: stored.generation.0,
        }
    }
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct Finished {
    /// How the turn ended.
    pub outcome: Outcome,
    /// All that the model said in the turn, as it was shown: with a line break between the texts before and after tool
    /// calls.
    pub text: String,
    /// The conversation after the turn: a JSON array of AG-UI messages.
    pub messages: JsonValue,
    /// What the turn cost, over all its hops.
    pub usage: TokenUsage,
    /// How many streams the turn took.
    pub hops: u32,
    /// The model that was asked last. Absent for a turn that never began.
    pub model: Option<ModelName>,
    /// The typed answer: any JSON. Absent if none was asked for, or the turn has not succeeded.
    pub output: Option<JsonValue>,
}

/// The maximum number of events in one batch: a screen has no use for more at once.
const BATCH: usize = 256;

#[uniffi::export]
impl Turn {
    /// Waits for the next event and returns it with all others that are ready. Empty when the turn is over. Abandoning
    /// the call loses nothing.
    pub async fn next_batch(&self) -> Vec<Event> {
        let mut turn = self.turn.lock().await;
        let Some(turn) = turn.as_mut() else {
            return Vec::new();
        };
        let mut suspended = self.suspended.subscribe();
        tokio::select! {
            biased;
            events = batch(turn) => events,
            _ = suspended.wait_for(|suspended| *suspended) => Vec::new(),
        }
    }

    /// Waits for the end of the turn, whatever is left of its events. Call it only once. Abandoning the call cancels
    /// the turn.
    ///
    /// Questions of an AG-UI agent are not shown to the user meanwhile: the agent is informed that there is no answer,
    /// and if it asks again, the turn is cancelled. To answer, take the events and `resume` the turn.
    pub async fn finish(&self) -> Result<Finished, StepwellError> {
        let turn = self.turn.lock().await.take().ok_or_else(|| {
            StepwellError::misuse(
                &"the turn's result was taken before",
                "keep what `finish` gave",
            )
        })?;
        finish(turn).await
    }

    /// Lets the turn run to its end without a client. The turn can still be cancelled.
    pub async fn detach(&self) {
        if let Some(turn) = self.turn.lock().await.take() {
            turn.detach();
        }
    }

    /// Returns the turn as one complete AG-UI run, from `RUN_STARTED` to its end: for a handler of the app's own. The
    /// run takes the turn's events and result. Deferred calls belong to the client: the run ends with them pending, and
    /// so does the turn.
    pub async fn to_ag_ui(&self) -> Result<Arc<AgUiEvents>, StepwellError> {
        let turn = self.turn.lock().await.take().ok_or_else(|| {
            StepwellError::misuse(
                &"the turn's events were taken before",
                "make a run of it before anything else is made of it",
            )
        })?;
        let runtime = runtime()?;
        let _entered = runtime.enter();
        Ok(AgUiEvents::new(run_of(turn, None, Format::AgUi)))
    }

    /// Stops the turn and its tools, and closes its connection. The events up to the turn's end still arrive.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Stops one tool call, by the provider's id for it. The other calls continue, and the model is informed.
    pub async fn cancel_call(&self, tool_call_id: String) -> Result<(), StepwellError> {
        Ok(self.handle.cancel_call(tool_call_id).await?)
    }

    /// Supplies the result of a tool call, by the provider's id for it: of a deferred call, also in a turn that was
    /// revived, or of a call that still runs, which is then stopped.
    pub async fn resolve_call(
        &self,
        tool_call_id: String,
        content: String,
    ) -> Result<(), StepwellError> {
        let result = Ok(ToolOutput::from(content));
        Ok(self.handle.resolve_call(tool_call_id, result).await?)
    }

    /// Supplies a result that is more than text, as `resolve_call` does: a JSON array of AG-UI content parts, such as
    /// pictures.
    pub async fn resolve_call_parts(
        &self,
        tool_call_id: String,
        parts: JsonValue,
    ) -> Result<(), StepwellError> {
        let result = Ok(parse_parts(parts)?);
        Ok(self.handle.resolve_call(tool_call_id, result).await?)
    }

    /// Reports that a call failed, as `resolve_call` does; the model is shown the message. `kind` is `Error` if absent.
    #[uniffi::method(default(kind = None))]
    pub async fn fail_call(
        &self,
        tool_call_id: String,
        message: String,
        kind: Option<ToolFailureKind>,
    ) -> Result<(), StepwellError> {
        let kind = kind.unwrap_or(ToolFailureKind::Error);
        let result = Err(ToolFailure::new(kind.into(), message));
        Ok(self.handle.resolve_call(tool_call_id, result).await?)
    }

    /// Returns what the turn waits for: approvals and questions for the user, and results of deferred calls. The event
    /// `Pending` reports each change.
    pub async fn pending(&self) -> Result<Vec<Pending>, StepwellError> {
        let pending = self.handle.pending().await?;
        Ok(pending.into_iter().map(Into::into).collect())
    }

    /// Allows the call that waits for the user's approval under this id, with these arguments (any JSON) instead of the
    /// model's if there are any. The model is informed of a change.
    #[uniffi::method(default(arguments = None))]
    pub async fn approve(
        &self,
        id: String,
        arguments: Option<JsonValue>,
    ) -> Result<(), StepwellError> {
        match arguments {
            Some(arguments) => {
                let arguments = any_json("the arguments", arguments)?;
                self.handle.approve_with(id, arguments).await?;
            }
            None => self.handle.approve(id).await?,
        }
        Ok(())
    }

    /// Denies the call that waits for approval under this id, or declines the question. The model, or the tool that
    /// asked, gets the reason.
    #[uniffi::method(default(reason = None))]
    pub async fn deny(&self, id: String, reason: Option<String>) -> Result<(), StepwellError> {
        Ok(self.handle.deny(id, reason).await?)
    }

    /// Answers the question of a running tool that waits under this id. `value` is any JSON that fits the question.
    pub async fn answer(&self, id: String, value: JsonValue) -> Result<(), StepwellError> {
        let value = any_json("the answer", value)?;
        Ok(self.handle.answer(id, value).await?)
    }

    /// Sends a message during the turn, without stopping it: the message waits until the next hop begins, and the model
    /// answers it in this turn. Returns the message's id. The event `SteeringTaken` reports that the message is in the
    /// conversation; if the turn cannot take the message, `SteeringRefused` returns it. `parts` follow the text, as for
    /// `Conversation.send`.
    #[uniffi::method(default(parts = []))]
    pub async fn steer(
        &self,
        text: String,
        parts: Vec<ContentPart>,
    ) -> Result<String, StepwellError> {
        let id = self.handle.steer(content(text, parts)?).await?;
        Ok(id.into_string())
    }

    /// Sends a message as `steer` does, with an AG-UI message in JSON, where it is more than text.
    pub async fn steer_message(&self, message: JsonValue) -> Result<(), StepwellError> {
        let message = parse_message(message)?;
        Ok(self.handle.steer_message(message).await?)
    }

    /// Answers all questions that an AG-UI agent asked with the event `Interrupted`, at once; the turn continues.
    pub async fn resume(&self, answers: Vec<ResumeEntry>) -> Result<(), StepwellError> {
        Ok(self.handle.resume(entries(answers)?).await?)
    }

    /// Returns the current turn as text, for `Agent.revive`, in this process or a later one. The text holds no key. A
    /// turn that continues after its snapshot was taken may run tools that the snapshot does not know: prefer `rested`.
    pub async fn snapshot(&self) -> Result<String, StepwellError> {
        Ok(self.handle.snapshot().await?)
    }

    /// Releases the turn without ending it, and returns it as text for `Agent.revive`, in this process or a later one.
    /// The turn's stream is closed, its tools are stopped, and its events end: best done once it has `rested`. The turn
    /// keeps the thread until it is revived or a message is sent on the thread; until then the conversation has nothing
    /// of the turn. What the user typed and the turn had not taken is dropped.
    pub async fn suspend(&self) -> Result<String, StepwellError> {
        // The result of a finished turn can still be taken.
        self.handle.usage().await?;
        self.suspended.send_replace(true);
        let turn = self.turn.lock().await.take().ok_or_else(|| {
            StepwellError::misuse(
                &"the turn goes on to its end: it was detached, or its end is waited for",
                "suspend it in the place of `detach` and `finish`",
            )
        })?;
        Ok(turn.suspend().await?)
    }

    /// Waits until the turn has begun, or has failed to. With a store, the turn is in the store then, and is `stored`;
    /// if not, `store_trouble` gives the reason.
    pub async fn begun(&self) {
        self.handle.begun().await;
    }

    /// Returns the turn as its store knows it, once it has `begun` there. None without a store.
    pub fn stored(&self) -> Option<StoredTurn> {
        self.handle.stored().cloned().map(Into::into)
    }

    /// Returns what delays the turn's writes: a store that is full, read-only, or unreachable. None while there is no
    /// delay, which the event `Warning` reports. For a turn that could not begin this is the reason. The app decides
    /// how long to wait, and calls `cancel`.
    pub fn store_trouble(&self) -> Option<String> {
        let trouble = self.handle.store_trouble();
        let trouble = trouble.borrow();
        trouble.as_ref().map(ToString::to_string)
    }

    /// Returns the conversation from which a stored turn continued, before the turn added anything new: a JSON array of
    /// AG-UI messages, to show before its events. Set once the turn has `begun`; none for a new turn.
    pub fn revived_from(&self) -> Option<JsonValue> {
        let transcript = self.handle.revived_from()?;
        Some(JsonValue::of(&transcript.messages()))
    }

    /// Returns the current conversation in the middle of the turn: a JSON array of AG-UI messages, oldest first. For a
    /// finished turn the conversation has them.
    pub async fn messages(&self) -> Result<JsonValue, StepwellError> {
        Ok(JsonValue::of(&self.handle.transcript().await?.messages()))
    }

    /// Returns the current state shared with an AG-UI agent in the middle of the turn: any JSON.
    pub async fn shared_state(&self) -> Result<JsonValue, StepwellError> {
        Ok(JsonValue::of(
            self.handle.transcript().await?.shared_state(),
        ))
    }

    /// Returns what an AG-UI agent asks the user now, to be answered with `resume`; none if it asks nothing.
    pub async fn interrupts(&self) -> Result<Vec<Interrupt>, StepwellError> {
        let interrupts = self.handle.interrupts().await?;
        Ok(interrupts.into_iter().map(Into::into).collect())
    }

    /// Returns what the turn has cost so far, over all its hops.
    pub async fn usage(&self) -> Result<TokenUsage, StepwellError> {
        Ok(self.handle.usage().await?.into())
    }

    /// Waits until the turn is idle: only the user, or the result of a deferred call, can continue it. Returns the
    /// turn's `snapshot`. The turn stays in this process too, until it is released.
    pub async fn rested(&self) -> Result<String, StepwellError> {
        Ok(self.handle.rested().await?)
    }
}

impl Turn {
    pub(crate) fn new(turn: TurnEvents) -> Arc<Self> {
        Arc::new(Self {
            handle: turn.handle(),
            turn: Mutex::new(Some(turn)),
            suspended: watch::Sender::new(false),
        })
    }
}

/// Waits for one event, and returns it with all that are ready.
pub(crate) async fn batch(turn: &mut TurnEvents) -> Vec<Event> {
    let Some(first) = turn.next().await else {
        return Vec::new();
    };
    let mut events = vec![first.into()];
    while events.len() < BATCH
        && let Some(Some(event)) = turn.next().now_or_never()
    {
        events.push(event.into());
    }
    events
}

pub(crate) async fn finish(turn: TurnEvents) -> Result<Finished, StepwellError> {
    let finished = AssertUnwindSafe(turn.finish()).catch_unwind().await;
    finished
        .map(Into::into)
        .map_err(|panic| StepwellError::panicked(&*panic))
}

impl From<stepwell_io::turn::Finished> for Finished {
    fn from(finished: stepwell_io::turn::Finished) -> Self {
        Self {
            text: finished.full_text(),
            outcome: finished.outcome.into(),
            messages: JsonValue::of(&finished.transcript.messages()),
            usage: finished.usage.into(),
            hops: finished.hops,
            model: finished.model.map(Into::into),
            output: finished.output.as_ref().map(JsonValue::of),
        }
    }
}
