use super::effect::Effect;
use super::effect_id::EffectId;
use super::fallback::ModelName;
use super::hook::HookMoment;
use super::outcome::Outcome;
use super::pending::Pending;
use super::problem::ErrorKind;
use super::progress::{ToolPartialResult, ToolProgress};
use super::state_kind::EdgeRow;
use super::ticket::Ticket;
#[cfg(doc)]
use crate::dialect::HttpRequest;
use crate::event::{Event, Interrupt, Message};
use crate::tool::{OwnedChange, ToolResult};
use crate::transcript::{Compaction, ToolCallStatus};
use crate::{CallKey, MessageId, RunId, ThreadId, ToolCallId};
use serde::{Deserialize, Serialize};

/// An output of a run, for the host. Its serde form is for comparisons: [`HttpRequest`] and [`Effect::Persist`] say what the
/// form leaves out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Output<Id = EffectId> {
    /// An effect to carry out. A [`RunMachine`](crate::run::RunMachine) names it by its id, a typed run by the
    /// [`Ticket`](crate::run::ticket::Ticket) that answers it.
    Effect(Id, Effect),
    /// An event to show.
    Event(RunEvent),
    /// The run has moved along an edge of the table. For tests and traces; only with
    /// [`RunConfig::tells_moves`](crate::run::RunConfig::tells_moves).
    Moved(EdgeRow),
}

impl Output<Ticket> {
    /// Converts the output to that of a [`RunMachine`](crate::run::RunMachine), with the id of the effect.
    #[must_use]
    pub fn with_id(self) -> Output {
        match self {
            Self::Effect(ticket, effect) => Output::Effect(ticket.id(), effect),
            Self::Event(event) => Output::Event(event),
            Self::Moved(edge) => Output::Moved(edge),
        }
    }
}

/// An event of a turn, for the user. From [`Started`](Self::Started) to [`Completed`](Self::Completed) the events tell one
/// unbroken turn, however many hops it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum RunEvent {
    /// The turn begins.
    Started {
        /// The conversation.
        thread_id: ThreadId,
        /// The turn: the run id of its first hop.
        run_id: RunId,
    },
    /// The turn continues with another stream. It is for logs, and nothing to show.
    HopStarted {
        /// The hop, from 1.
        hop: u32,
        /// The run of the hop.
        run_id: RunId,
    },
    /// An AG-UI event of the stream: text, reasoning, tool calls, state and the rest. The hops' own `RUN_STARTED`,
    /// `RUN_FINISHED` and `RUN_ERROR` are not among them. Adjacent deltas of one item are joined.
    AgUi(Event),
    /// The status of a tool call has changed.
    // The name in journals.
    #[serde(rename = "tool_call")]
    ToolCallUpdate(ToolCallUpdate),
    /// The parsed changes of a tool call's arguments; only with
    /// [`RunConfig::partial_arguments`](crate::run::RunConfig::partial_arguments). Adjacent updates of one call are joined, as
    /// deltas are.
    PartialArguments(PartialArgumentsUpdate),
    /// A request failed, or its answer was empty or could not be read, and the model is asked again: see
    /// [`RetryPolicy`](crate::run::RetryPolicy).
    Retrying {
        /// The kind of failure.
        // An event that an earlier version stored has none.
        #[serde(default = "ErrorKind::of_old_retry")]
        kind: ErrorKind,
        /// The number of the next attempt, from 1.
        attempt: u32,
        /// The wait before it, in milliseconds; 0 if the next hop asks at once.
        delay_ms: u64,
        /// The reason.
        reason: String,
    },
    /// Another model is asked from here on.
    ModelChanged {
        /// The hop.
        hop: u32,
        /// The model that is asked now.
        model: ModelName,
        /// The model before.
        previous: ModelName,
        /// The kind of failure of the model before; absent if the app chose the model, or the model before rests.
        after: Option<ErrorKind>,
        /// The description of that failure.
        reason: Option<String>,
    },
    /// The agent asks the user; the turn waits for [`Resume`](crate::run::Input::Resume).
    Interrupted {
        /// The questions.
        interrupts: Vec<Interrupt>,
    },
    /// What waits for the user or for the app has changed: an approval or a question was asked or has its answer, or the
    /// result of a call was deferred or is there.
    Pending {
        /// All that waits now.
        pending: Vec<Pending>,
    },
    /// An answer arrived for an effect that is no longer pending. It changed nothing.
    AnswerDropped {
        /// The effect.
        effect: EffectId,
    },
    /// Something odd that did not stop the turn.
    Warning {
        /// The description.
        message: String,
    },
    /// The turn is over.
    Completed(Outcome),
    /// The stream had an event for a tool call that never began, or has ended. The event was dropped, and the stream
    /// continues.
    UnknownToolCall {
        /// The provider's id for the call.
        tool_call_id: ToolCallId,
    },
    /// A message that the user sent during the turn is in the conversation now, and this hop answers it.
    SteeringTaken {
        /// The message.
        message_id: MessageId,
        /// The hop.
        hop: u32,
    },
    /// A message that the user sent during the turn was not taken, and is returned, for the input field for example. This
    /// event may come after the end of the turn.
    SteeringRefused {
        /// The complete message.
        message: Box<Message>,
        /// The reason.
        reason: SteeringRefusal,
    },
    /// There is no network: the next request waits for it.
    WaitingForNetwork {
        /// The longest wait, in milliseconds.
        up_to_ms: u64,
    },
    /// A stream that broke off is open again, and continues where it stopped.
    StreamResumed {
        /// The hop.
        hop: u32,
        /// The attempt, from 1.
        attempt: u32,
    },
    /// The conversation nearly fills the model's context window. The event comes once a turn, and the model is warned
    /// too.
    ContextNearlyFull {
        /// The estimated number of tokens of the request.
        tokens: u64,
        /// The limit: the model's window without the room for the answer.
        window: u64,
    },
    /// The conversation was compacted: requests carry less of it from here on, in this turn and in those that follow it. The
    /// history keeps all messages.
    ContextTrimmed {
        /// The messages that requests carry no longer.
        left_out: Vec<MessageId>,
        /// The estimated number of tokens of the request now.
        tokens: u64,
        /// The part of the conversation that requests no longer carry as it is, with the summary.
        #[serde(default)]
        compaction: Compaction,
    },
    /// The parsed changes of the typed answer while it streams. Adjacent updates are joined, as deltas are.
    PartialOutput(PartialOutputUpdate),
    /// The typed answer does not fit its type: the model gets the reason, and is asked again.
    OutputRefused {
        /// The description of what does not fit, and where.
        reason: String,
        /// The number of times that the model may be asked again after this one.
        retries_left: u32,
        /// The message to the model, unless the answer was a call of the final tool: a user message from the app, which the
        /// history keeps. Its metadata has [`CORRECTION`](crate::run::CORRECTION).
        correction: Option<Box<Message>>,
    },
    /// A hook has refused, or failed.
    HookRefused {
        /// The name of the hook.
        hook: String,
        /// The moment at which the hook was called.
        moment: HookMoment,
        /// The hook's reason.
        reason: String,
        /// The provider's id for the call, if the hook looked at one.
        tool_call_id: Option<ToolCallId>,
    },
    /// A running tool reports its progress.
    ToolProgress(ToolProgress),
    /// A running tool shows its result so far.
    ToolPartialResult(ToolPartialResult),
}

/// The current status of a tool call of this turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ToolCallUpdate {
    /// The position of the call in the run.
    pub call: CallKey,
    /// The provider's id for the call.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The status.
    pub status: ToolCallStatus,
    /// The result, once the call is done.
    pub result: Option<ToolResult>,
}

/// The changes of a tool call's arguments while they stream.
///
/// The changes are applied in order, beginning with `null`; the value is that of the arguments so far. See
/// [`PartialArguments`](crate::tool::PartialArguments) for the guarantees. After a restore the changes continue where they
/// stopped: an app that begins only then reads [`RunMachine::partial_arguments`](crate::run::RunMachine::partial_arguments)
/// first.
///
/// If an agent rewrites the arguments of a call in a `MESSAGES_SNAPSHOT`, the changes begin again with an
/// [`Add`](OwnedChange::Add) of the complete value (path `""`).
///
/// ```
/// # use std::borrow::Cow;
/// # use std::sync::Arc;
/// # use serde_json::{Value, json};
/// # use stepwell_core::transcript::Transcript;
/// # use stepwell_core::event::Message;
/// # use stepwell_core::run::{Effect, Input, Output, RunConfig, RunEvent, RunMachine, Start};
/// # use stepwell_core::{Timestamp, provider};
/// # let now = Timestamp(0);
/// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
/// let mut config = RunConfig::new(endpoint);
/// config.partial_arguments = true;
/// // … start the run, send the request …
/// # let mut machine = RunMachine::new(Arc::new(config), "thread-1".into(), Transcript::default());
/// # machine.start(Start::new("run-1", Message::user("message-1", "Weather?")), now)?;
/// # let mut effect = None;
/// # while let Some(output) = machine.poll_output() {
/// #     if let Output::Effect(id, Effect::OpenStream { .. }) = output { effect = Some(id); }
/// # }
/// # let effect = effect.unwrap();
/// # machine.handle(Input::Opened { effect, content_type: None }, now)?;
/// let body = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call-1","function":{"name":"weather","arguments":"{\"city\":\"Os"}}]}}]}"#;
/// # let body = format!("{body}\n\n");
/// # let bytes = Cow::Borrowed(body.as_bytes());
/// machine.handle(Input::Received { effect, bytes }, now)?;
/// let mut view = Value::Null;
/// while let Some(output) = machine.poll_output() {
///     if let Output::Event(RunEvent::PartialArguments(update)) = output {
///         assert_eq!(update.tool_call_id, "call-1");
///         for change in &update.changes {
///             change.apply(&mut view)?;
///         }
///     }
/// }
/// assert_eq!(view, json!({"city": "Os"}));
/// assert_eq!(machine.partial_arguments("call-1").map(|arguments| arguments.value()), Some(view));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct PartialArgumentsUpdate {
    /// The position of the call in the run.
    pub call: CallKey,
    /// The provider's id for the call.
    pub tool_call_id: ToolCallId,
    /// The changes, in order. Empty only with `stopped`.
    pub changes: Vec<OwnedChange>,
    /// The reason why the arguments are read no further: they are not JSON. Earlier changes stay, and the call itself is not
    /// affected.
    pub stopped: Option<String>,
}

/// The changes of the typed answer while it streams.
///
/// The changes are applied in order, beginning with `null`; the value is that of the answer so far. Each change is final:
/// strings grow, members and elements are added, and a complete one stays. If the model is asked again, the changes begin
/// again with an [`Add`](OwnedChange::Add) of the complete value (path `""`). Nothing is checked yet: the valid answer is
/// [`RunMachine::output`](crate::run::RunMachine::output), at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct PartialOutputUpdate {
    /// The hop of the answer.
    pub hop: u32,
    /// The changes, in order. Empty only with `stopped`.
    pub changes: Vec<OwnedChange>,
    /// The reason why the answer is read no further while it streams: it is not JSON.
    pub stopped: Option<String>,
}

/// The number of messages that may wait for the next hop; further ones are refused.
pub(in crate::run) const MAX_WAITING_MESSAGES: usize = 16;

/// The reason why a message that the user sent during the turn was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum SteeringRefusal {
    /// The turn ended before the message could be taken in.
    #[error("the turn is over: start another one with the message")]
    TurnOver,
    /// The host shuts down.
    #[error("the run was disposed of: send the message where the turn goes on")]
    Disposed,
    /// Too many messages wait already.
    #[error("{MAX_WAITING_MESSAGES} messages wait already: send it when they are taken in")]
    QueueFull,
    /// The conversation, or a message that waits, has the same id.
    #[error("a message with the same id is there already: give each message an id of its own")]
    DuplicateId,
    /// Only user messages can be sent during a turn.
    #[error("it is no user message")]
    NotFromUser,
}
