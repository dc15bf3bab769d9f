use super::effect::{Effect, EffectId};
use super::hook::HookMoment;
use super::outcome::Outcome;
use super::progress::{ToolPartialResult, ToolProgress};
use super::state_kind::EdgeRow;
use super::ticket::Ticket;
use crate::conversation::ToolCallStatus;
#[cfg(doc)]
use crate::dialect::HttpRequest;
use crate::event::{Event, Interrupt, Message};
use crate::tool::{OwnedChange, ToolResult};
use crate::{CallKey, MessageId, RunId, ThreadId, ToolCallId};
use serde::{Deserialize, Serialize};

/// What a run gives the host. It can be written down to be compared; see [`HttpRequest`] and [`Effect::Persist`] for
/// what is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Output<Id = EffectId> {
    /// Something to do. A [`RunMachine`](crate::run::RunMachine) names it by its id, a typed run by the
    /// [`Ticket`](crate::run::ticket::Ticket) that answers it.
    Effect(Id, Effect),
    /// Something to show.
    Event(RunEvent),
    /// The run has moved along an edge of the table. For tests and traces; only with
    /// [`RunConfig::tells_moves`](crate::run::RunConfig::tells_moves).
    Moved(EdgeRow),
}

impl Output<Ticket> {
    /// The output as a [`RunMachine`](crate::run::RunMachine) gives it: with the effect's id.
    #[must_use]
    pub fn with_id(self) -> Output {
        match self {
            Self::Effect(ticket, effect) => Output::Effect(ticket.id(), effect),
            Self::Event(event) => Output::Event(event),
            Self::Moved(edge) => Output::Moved(edge),
        }
    }
}

/// What the user is shown of a turn. From [`Started`](Self::Started) to [`Completed`](Self::Completed) it is one
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
    /// The turn goes on with another stream. Nothing to show; for logs.
    HopStarted {
        /// The hop, from 1.
        hop: u32,
        /// The hop's own run.
        run_id: RunId,
    },
    /// An AG-UI event of the stream: text, reasoning, tool calls, state and the rest. The hops' own `RUN_STARTED`,
    /// `RUN_FINISHED` and `RUN_ERROR` are not among them. Neighbouring deltas of one item come as one.
    AgUi(Event),
    /// A tool call moved on.
    // As journals have it.
    #[serde(rename = "tool_call")]
    ToolCallUpdate(ToolCallUpdate),
    /// What new pieces of a tool call's arguments say, parsed; only with
    /// [`RunConfig::partial_arguments`](crate::run::RunConfig::partial_arguments). Those of one call come as one, as deltas
    /// do.
    PartialArguments(PartialArgumentsUpdate),
    /// A request failed, and is tried again.
    Retrying {
        /// The try that is to come, from 1.
        attempt: u32,
        /// How long until then, in milliseconds.
        delay_ms: u64,
        /// Why.
        reason: String,
    },
    /// The agent asks the user; the turn rests until [`Resume`](crate::run::Input::Resume).
    Interrupted {
        /// The questions.
        interrupts: Vec<Interrupt>,
    },
    /// An answer came to an effect that is no longer pending. It changed nothing.
    AnswerDropped {
        /// The effect.
        effect: EffectId,
    },
    /// Something odd that did not stop the turn.
    Warning {
        /// What.
        message: String,
    },
    /// The turn is over.
    Completed(Outcome),
    /// The stream had something for a tool call that never began, or has ended. It was dropped, and the stream goes on.
    UnknownToolCall {
        /// The provider's id for the call.
        tool_call_id: ToolCallId,
    },
    /// What the user typed during the turn is in the conversation now, and this hop answers it.
    SteeringTaken {
        /// The message.
        message_id: MessageId,
        /// The hop.
        hop: u32,
    },
    /// What the user typed during the turn was not taken, and is given back: for the input field, say. It may come
    /// after the end of the turn.
    SteeringRefused {
        /// The message, whole.
        message: Box<Message>,
        /// Why.
        reason: SteeringRefusal,
    },
    /// There is no network: the next request waits for it.
    WaitingForNetwork {
        /// How long at most, in milliseconds.
        up_to_ms: u64,
    },
    /// A stream that broke off is open again: what follows goes on where it stopped.
    StreamResumed {
        /// The hop.
        hop: u32,
        /// The try, from 1.
        attempt: u32,
    },
    /// The conversation nearly fills the model's context window; said once a turn. The model is told too.
    ContextNearlyFull {
        /// How many tokens the request has, as far as can be told.
        tokens: u64,
        /// How many it may have: the model's window, without what is kept for the answer.
        window: u64,
    },
    /// The turn goes on without some messages, which did not fit the model's context window. The history has them.
    ContextTrimmed {
        /// The messages that the requests do not carry any more.
        left_out: Vec<MessageId>,
        /// How many tokens the request has now, as far as can be told.
        tokens: u64,
    },
    /// What new pieces of the typed answer say, parsed while it streams. Those that wait for the host come as one, as
    /// deltas do.
    PartialOutput(PartialOutputUpdate),
    /// The typed answer does not fit: the model is told why, and asked again.
    OutputRefused {
        /// What does not fit, and where.
        reason: String,
        /// How often it may still be asked after this time.
        retries_left: u32,
        /// What the model is told, where the answer was no call of the final tool: a user message of the app's, which the
        /// history has from now on. Its metadata has [`CORRECTION`](crate::run::CORRECTION).
        correction: Option<Box<Message>>,
    },
    /// A hook has refused, or failed.
    HookRefused {
        /// The hook's name.
        hook: String,
        /// When.
        moment: HookMoment,
        /// The hook's words.
        reason: String,
        /// The provider's id for the call, where the hook was asked about one.
        tool_call_id: Option<ToolCallId>,
    },
    /// A running tool says how far it has come.
    ToolProgress(ToolProgress),
    /// A running tool shows what it has so far.
    ToolPartialResult(ToolPartialResult),
}

/// Where a tool call of this turn stands now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ToolCallUpdate {
    /// Its place in the run.
    pub call: CallKey,
    /// The provider's id for it.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub name: String,
    /// Where it stands.
    pub status: ToolCallStatus,
    /// What came of it, once it is done.
    pub result: Option<ToolResult>,
}

/// What is new of a tool call's arguments while they stream.
///
/// Applied in order, beginning with `null`, the changes make the value of what came so far; see
/// [`PartialArguments`](crate::tool::PartialArguments) for what they promise. After a restore they go on from where
/// they were; who begins only then takes [`RunMachine::partial_arguments`](crate::run::RunMachine::partial_arguments) first.
///
/// An agent that rewrites the arguments of a call in a `MESSAGES_SNAPSHOT` makes its changes begin again, with an
/// [`Add`](OwnedChange::Add) of the whole (path `""`).
///
/// ```
/// # use std::borrow::Cow;
/// # use std::sync::Arc;
/// # use serde_json::{Value, json};
/// # use stepwell_core::conversation::Conversation;
/// # use stepwell_core::event::Message;
/// # use stepwell_core::run::{Effect, Input, Output, RunConfig, RunEvent, RunMachine, Start};
/// # use stepwell_core::{Timestamp, provider};
/// # let now = Timestamp(0);
/// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
/// let mut config = RunConfig::new(endpoint);
/// config.partial_arguments = true;
/// // … start the run, send the request …
/// # let mut machine = RunMachine::new(Arc::new(config), "thread-1".into(), Conversation::default());
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
pub struct PartialArgumentsUpdate {
    /// The call's place in the run.
    pub call: CallKey,
    /// The provider's id for it.
    pub tool_call_id: ToolCallId,
    /// What changed, in order. May be empty if there is a `stopped`.
    pub changes: Vec<OwnedChange>,
    /// Why the arguments are read no further, once they are not: they are no JSON. What was said stays, and the call
    /// goes its own way.
    pub stopped: Option<String>,
}

/// What is new of the typed answer while it streams.
///
/// Applied in order, beginning with `null`, the changes make the value of what came so far. Each is final: strings grow,
/// members and elements are added, and one that is whole stays. An answer that is asked for again begins again, with an
/// [`Add`](OwnedChange::Add) of the whole (path `""`). Nothing of it is checked yet: the answer that counts is
/// [`RunMachine::output`](crate::run::RunMachine::output), at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct PartialOutputUpdate {
    /// The hop whose answer it is.
    pub hop: u32,
    /// What changed, in order. May be empty if there is a `stopped`.
    pub changes: Vec<OwnedChange>,
    /// Why the answer is read no further while it streams, once it is not: it is no JSON.
    pub stopped: Option<String>,
}

/// With more messages waiting than this, further ones are refused.
pub(in crate::run) const MOST_WAITING: usize = 16;

/// Why a message that the user sent during the turn was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum SteeringRefusal {
    /// The turn ended before the message could be taken in.
    #[error("the turn is over: start another one with the message")]
    TurnOver,
    /// The host goes away.
    #[error("the run was disposed of: send the message where the turn goes on")]
    Disposed,
    /// Too many messages wait already.
    #[error("{MOST_WAITING} messages wait already: send it when they are taken in")]
    QueueFull,
    /// The conversation, or a message that waits, has the same id.
    #[error("a message with the same id is there already: give each message an id of its own")]
    DuplicateId,
    /// Only the user's own messages can be sent so.
    #[error("it is no user message")]
    NotFromUser,
}
