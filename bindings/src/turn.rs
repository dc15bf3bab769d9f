use crate::error::StepwellError;
use crate::event::{Event, Interrupt, ToolFailureKind};
use crate::json_value::JsonValue;
use crate::machine::{ResumeEntry, entries, parse_message, parse_parts};
use crate::media::{ContentPart, content};
use crate::outcome::{Outcome, TokenUsage};
use crate::runtime::runtime;
use crate::serve::AgUiEvents;
use crate::store::TurnKey;
use futures::{FutureExt, StreamExt};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use stepwell_core::tool::{ToolFailure, ToolOutput};
use stepwell_io::TurnHandle;
use stepwell_serve::{Format, run_of};
use tokio::sync::{Mutex, watch};

/// A turn under way. Letting go of it cancels it.
#[derive(Debug, uniffi::Object)]
pub struct Turn {
    handle: TurnHandle,
    turn: Mutex<Option<stepwell_io::Turn>>,
    /// Whoever waits for events is to leave the turn to `suspend`.
    suspended: watch::Sender<bool>,
}

/// A turn as its store knows it.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct StoredTurn {
    /// Its name.
    pub key: TurnKey,
    /// What it is written with: to log its events, say.
    pub generation: u64,
}

impl From<stepwell_io::StoredTurn> for StoredTurn {
    fn from(stored: stepwell_io::StoredTurn) -> Self {
        Self {
            key: stored.key.into(),
            generation: stored.generation.0,
        }
    }
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// All that the model said in it, as it was shown: with a line break between the texts before and after tool calls.
    pub text: String,
    /// The conversation after it: a JSON array of AG-UI messages.
    pub messages: JsonValue,
    /// What it cost, over all its hops.
    pub usage: TokenUsage,
    /// How many streams it took.
    pub hops: u32,
    /// The typed answer: any JSON. Absent if there was to be none, or the turn has not ended well.
    pub output: Option<JsonValue>,
}

/// The most events of one batch: a screen has no use for more at once.
const BATCH: usize = 256;

#[uniffi::export]
impl Turn {
    /// Waits for the next event and gives it with all others that are there. Empty when the turn is over. A call that
    /// is given up loses nothing.
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

    /// Waits for the end of the turn, whatever is left of its events. Once only. A call that is given up cancels the
    /// turn.
    ///
    /// Nobody sees what an AG-UI agent asks meanwhile: it is told that there is no answer, and where it asks once more, the
    /// turn is cancelled. To answer, take the events and `resume` the turn.
    pub async fn finish(&self) -> Result<Finished, StepwellError> {
        let turn = self.turn.lock().await.take().ok_or_else(|| {
            StepwellError::misuse(
                &"the turn's result was taken before",
                "keep what `finish` gave",
            )
        })?;
        finish(turn).await
    }

    /// Lets the turn go on to its end without anyone watching. It can still be cancelled.
    pub async fn detach(&self) {
        if let Some(turn) = self.turn.lock().await.take() {
            turn.detach();
        }
    }

    /// The turn as one whole AG-UI run, from `RUN_STARTED` to its end: for a handler of the app's own. It takes the turn's
    /// events and its result. Calls that are deferred are the client's: the run ends with them pending, and so does the
    /// turn.
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

    /// Stops the turn: its tools are stopped, its connection is closed. The events up to its end still come.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Stops one tool call, by the provider's id for it. The others go on, and the model is told.
    pub async fn cancel_call(&self, tool_call_id: String) -> Result<(), StepwellError> {
        Ok(self.handle.cancel_call(tool_call_id).await?)
    }

    /// Brings the result of a tool call, by the provider's id for it: of a deferred one, also in a turn that was
    /// revived, or of one that still runs, which is then stopped.
    pub async fn finish_call(
        &self,
        tool_call_id: String,
        content: String,
    ) -> Result<(), StepwellError> {
        let result = Ok(ToolOutput::from(content));
        Ok(self.handle.finish_call(tool_call_id, result).await?)
    }

    /// As `finish_call`, with a result that is more than text: a JSON array of AG-UI content parts, such as pictures.
    pub async fn finish_call_parts(
        &self,
        tool_call_id: String,
        parts: JsonValue,
    ) -> Result<(), StepwellError> {
        let result = Ok(parse_parts(parts)?);
        Ok(self.handle.finish_call(tool_call_id, result).await?)
    }

    /// As `finish_call`, for a call that failed; the model is shown the message. `kind` is `Error` if absent.
    #[uniffi::method(default(kind = None))]
    pub async fn fail_call(
        &self,
        tool_call_id: String,
        message: String,
        kind: Option<ToolFailureKind>,
    ) -> Result<(), StepwellError> {
        let kind = kind.unwrap_or(ToolFailureKind::Error);
        let result = Err(ToolFailure::new(kind.into(), message));
        Ok(self.handle.finish_call(tool_call_id, result).await?)
    }

    /// Says something during the turn, without stopping it: the message waits until the next hop begins, and the model
    /// answers it in this turn. Gives the message's id. The event `SteeringTaken` tells when it is in the conversation;
    /// if it cannot be taken in, `SteeringRefused` gives it back. `parts` come behind the text, as for `Agent.start_turn`.
    #[uniffi::method(default(parts = []))]
    pub async fn steer(
        &self,
        text: String,
        parts: Vec<ContentPart>,
    ) -> Result<String, StepwellError> {
        let id = self.handle.steer(content(text, parts)?).await?;
        Ok(id.into_string())
    }

    /// As `steer`, with an AG-UI message in JSON, where it is more than text.
    pub async fn steer_message(&self, message: JsonValue) -> Result<(), StepwellError> {
        let message = parse_message(message)?;
        Ok(self.handle.steer_message(message).await?)
    }

    /// Answers what an AG-UI agent asked with the event `Interrupted`, all of it at once; the turn goes on.
    pub async fn resume(&self, answers: Vec<ResumeEntry>) -> Result<(), StepwellError> {
        Ok(self.handle.resume(entries(answers)?).await?)
    }

    /// The turn as text, as it stands, for `Agent.revive`, in this process or a later one. It holds no key. A turn that goes
    /// on after its snapshot was taken may run tools that the snapshot knows nothing of: prefer `rested`.
    pub async fn snapshot(&self) -> Result<String, StepwellError> {
        Ok(self.handle.snapshot().await?)
    }

    /// Lets go of the turn without ending it, and gives it as text for `Agent.revive`, in this process or a later one. Its
    /// stream is closed, its tools are stopped, and its events end: best done once it has `rested`. The thread stays the
    /// turn's until it is revived or somebody sends on it; its conversation has nothing of the turn until then. What the
    /// user typed and the turn had not taken in is dropped.
    pub async fn suspend(&self) -> Result<String, StepwellError> {
        // The result of a turn that is over stays to be taken.
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

    /// Waits until the turn has begun, or could not. With a store it stands there then, and is `stored`; if not,
    /// `store_trouble` says why.
    pub async fn begun(&self) {
        self.handle.begun().await;
    }

    /// The turn as its store knows it, once it has `begun` there. None without a store.
    pub fn stored(&self) -> Option<StoredTurn> {
        self.handle.stored().cloned().map(Into::into)
    }

    /// What keeps the turn's writes waiting: a store that is full, can only be read, or cannot be reached. None while
    /// nothing does; the event `Warning` tells that it does. Of a turn that could not begin it is the reason. How long is
    /// long enough is for the app to say, by `cancel`.
    pub fn store_trouble(&self) -> Option<String> {
        let trouble = self.handle.store_trouble();
        let trouble = trouble.borrow();
        trouble.as_ref().map(ToString::to_string)
    }

    /// The conversation from which a stored turn went on, before anything new came of it: a JSON array of AG-UI messages, to
    /// show before its events. Set once it has `begun`; none of a turn that began anew.
    pub fn revived_from(&self) -> Option<JsonValue> {
        let conversation = self.handle.revived_from()?;
        Some(JsonValue::of(&conversation.messages()))
    }

    /// The conversation as it stands in the middle of the turn: a JSON array of AG-UI messages, oldest first. Of a turn that
    /// is over the agent has it.
    pub async fn messages(&self) -> Result<JsonValue, StepwellError> {
        Ok(JsonValue::of(&self.handle.conversation().await?.messages()))
    }

    /// The state shared with an AG-UI agent, as it stands in the middle of the turn: any JSON.
    pub async fn shared_state(&self) -> Result<JsonValue, StepwellError> {
        Ok(JsonValue::of(
            self.handle.conversation().await?.shared_state(),
        ))
    }

    /// What an AG-UI agent asks the user now, to be answered with `resume`; nothing if it does not.
    pub async fn interrupts(&self) -> Result<Vec<Interrupt>, StepwellError> {
        let interrupts = self.handle.interrupts().await?;
        Ok(interrupts.into_iter().map(Into::into).collect())
    }

    /// What the turn has cost so far, over all its hops.
    pub async fn usage(&self) -> Result<TokenUsage, StepwellError> {
        Ok(self.handle.usage().await?.into())
    }

    /// Waits until nothing but the user, or the result of a deferred call, can move the turn on, and gives its `snapshot`.
    /// The turn goes on in this process too, until it is let go of.
    pub async fn rested(&self) -> Result<String, StepwellError> {
        Ok(self.handle.rested().await?)
    }
}

impl Turn {
    pub(crate) fn new(turn: stepwell_io::Turn) -> Arc<Self> {
        Arc::new(Self {
            handle: turn.handle(),
            turn: Mutex::new(Some(turn)),
            suspended: watch::Sender::new(false),
        })
    }
}

/// One event, waited for, and all that are ready with it.
pub(crate) async fn batch(turn: &mut stepwell_io::Turn) -> Vec<Event> {
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

pub(crate) async fn finish(turn: stepwell_io::Turn) -> Result<Finished, StepwellError> {
    let finished = AssertUnwindSafe(turn.finish()).catch_unwind().await;
    finished
        .map(Into::into)
        .map_err(|panic| StepwellError::panicked(&*panic))
}

impl From<stepwell_io::Finished> for Finished {
    fn from(finished: stepwell_io::Finished) -> Self {
        Self {
            text: finished.text(),
            outcome: finished.outcome.into(),
            messages: JsonValue::of(&finished.conversation.messages()),
            usage: finished.usage.into(),
            hops: finished.hops,
            output: finished.output.as_ref().map(JsonValue::of),
        }
    }
}
