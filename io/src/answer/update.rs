//! The updates of a turn, as an app shows them.

use stepwell_core::event::{Event, Interrupt, Message};
use stepwell_core::run::{
    ErrorKind, HookMoment, ModelName, PartialArgumentsUpdate, PartialOutputUpdate, Pending,
    RunEvent, SteeringRefusal, ToolCallUpdate, ToolPartialResult, ToolProgress,
};
use stepwell_core::transcript::Compaction;
use stepwell_core::{MessageId, RunId, ThreadId, ToolCallId};

/// An update of a turn: of a [`Turn`](crate::Turn).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Update {
    /// The turn begins.
    Started {
        /// The conversation.
        thread_id: ThreadId,
        /// The turn.
        turn_id: RunId,
    },
    /// The turn continues with another request. It is for logs, and nothing to show.
    HopStarted {
        /// The hop, from 1.
        hop: u32,
        /// The run of the hop.
        run_id: RunId,
    },
    /// A delta of the answer's text.
    Text {
        /// The message that the delta belongs to.
        message_id: MessageId,
        /// The delta.
        delta: String,
    },
    /// A delta of the model's reasoning.
    Reasoning {
        /// The message that the delta belongs to.
        message_id: MessageId,
        /// The delta.
        delta: String,
    },
    /// The status of a tool call has changed.
    ToolCall(ToolCallUpdate),
    /// The parsed changes of a tool call's arguments; only with
    /// [`RunConfig::partial_arguments`](stepwell_core::run::RunConfig::partial_arguments).
    ToolArguments(PartialArgumentsUpdate),
    /// A running tool reports its progress.
    ToolProgress(ToolProgress),
    /// A running tool shows its result so far.
    ToolPartialResult(ToolPartialResult),
    /// The parsed changes of the typed answer while it streams.
    Output(PartialOutputUpdate),
    /// The typed answer does not fit its type: the model gets the reason, and is asked again.
    OutputRefused {
        /// The description of what does not fit, and where.
        reason: String,
        /// The number of times that the model may be asked again after this one.
        retries_left: u32,
    },
    /// What the turn waits for has changed: an approval or a question was asked or has its answer, or the result of a call
    /// was deferred or is there. See [`Turn::approve`](crate::Turn::approve), `deny`, `answer` and `resolve_call`.
    Pending {
        /// All that waits now.
        pending: Vec<Pending>,
    },
    /// An AG-UI agent asks the user; the turn waits for [`Turn::resume`](crate::Turn::resume).
    Interrupted {
        /// The questions.
        interrupts: Vec<Interrupt>,
    },
    /// A request failed, or its answer was empty or could not be read, and the model is asked again.
    Retrying {
        /// The kind of failure.
        kind: ErrorKind,
        /// The number of the next attempt, from 1.
        attempt: u32,
        /// The wait before it, in milliseconds; 0 if it is asked at once.
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
    /// A message that the user sent during the turn is in the conversation now, and this hop answers it.
    SteeringTaken {
        /// The message.
        message_id: MessageId,
        /// The hop.
        hop: u32,
    },
    /// A message that the user sent during the turn was not taken, and is returned, for the input field for example.
    SteeringRefused {
        /// The complete message.
        message: Box<Message>,
        /// The reason.
        reason: SteeringRefusal,
    },
    /// The conversation nearly fills the model's context window.
    ContextNearlyFull {
        /// The estimated number of tokens of the request.
        tokens: u64,
        /// The limit: the model's window without the room for the answer.
        window: u64,
    },
    /// The conversation was compacted: requests carry less of it from here on, in this turn and in those that follow it. The
    /// transcript keeps all messages.
    ContextTrimmed {
        /// The messages that requests carry no longer.
        left_out: Vec<MessageId>,
        /// The estimated number of tokens of the request now.
        tokens: u64,
        /// The part of the conversation that requests no longer carry as it is, with the summary.
        compaction: Compaction,
    },
    /// A hook has refused, or failed.
    HookRefused {
        /// The name of the hook.
        hook: String,
        /// The moment at which the hook was called.
        moment: HookMoment,
        /// The hook's reason.
        reason: String,
        /// The call that the hook looked at, if it was one.
        tool_call_id: Option<ToolCallId>,
    },
    /// Something odd that did not stop the turn.
    Warning {
        /// The description.
        message: String,
    },
    /// Any other AG-UI event: where a message begins and ends, a shared state, an activity, what an agent sends of its
    /// own.
    AgUi(Event),
}

impl Update {
    /// Returns the update of an event; `None` for the end of the turn, which is its result.
    pub(crate) fn from_event(event: RunEvent) -> Option<Self> {
        Some(match event {
            RunEvent::Started { thread_id, run_id } => Self::Started {
                thread_id,
                turn_id: run_id,
            },
            RunEvent::HopStarted { hop, run_id } => Self::HopStarted { hop, run_id },
            RunEvent::AgUi(Event::TextMessageContent(content)) => Self::Text {
                message_id: content.message_id,
                delta: content.delta,
            },
            RunEvent::AgUi(Event::ReasoningMessageContent(content)) => Self::Reasoning {
                message_id: content.message_id,
                delta: content.delta,
            },
            RunEvent::AgUi(event) => Self::AgUi(event),
            RunEvent::ToolCallUpdate(update) => Self::ToolCall(update),
            RunEvent::PartialArguments(update) => Self::ToolArguments(update),
            RunEvent::ToolProgress(progress) => Self::ToolProgress(progress),
            RunEvent::ToolPartialResult(result) => Self::ToolPartialResult(result),
            RunEvent::PartialOutput(update) => Self::Output(update),
            RunEvent::OutputRefused {
                reason,
                retries_left,
                ..
            } => Self::OutputRefused {
                reason,
                retries_left,
            },
            RunEvent::Pending { pending } => Self::Pending { pending },
            RunEvent::Interrupted { interrupts } => Self::Interrupted { interrupts },
            RunEvent::Retrying {
                kind,
                attempt,
                delay_ms,
                reason,
            } => Self::Retrying {
                kind,
                attempt,
                delay_ms,
                reason,
            },
            RunEvent::ModelChanged {
                hop,
                model,
                previous,
                after,
                reason,
            } => Self::ModelChanged {
                hop,
                model,
                previous,
                after,
                reason,
            },
            RunEvent::WaitingForNetwork { up_to_ms } => Self::WaitingForNetwork { up_to_ms },
            RunEvent::StreamResumed { hop, attempt } => Self::StreamResumed { hop, attempt },
            RunEvent::SteeringTaken { message_id, hop } => Self::SteeringTaken { message_id, hop },
            RunEvent::SteeringRefused { message, reason } => {
                Self::SteeringRefused { message, reason }
            }
            RunEvent::ContextNearlyFull { tokens, window } => {
                Self::ContextNearlyFull { tokens, window }
            }
            RunEvent::ContextTrimmed {
                left_out,
                tokens,
                compaction,
            } => Self::ContextTrimmed {
                left_out,
                tokens,
                compaction,
            },
            RunEvent::HookRefused {
                hook,
                moment,
                reason,
                tool_call_id,
            } => Self::HookRefused {
                hook,
                moment,
                reason,
                tool_call_id,
            },
            RunEvent::Warning { message } => Self::Warning { message },
            RunEvent::AnswerDropped { effect } => Self::Warning {
                message: format!("an answer for `{effect}` came when none was awaited"),
            },
            RunEvent::UnknownToolCall { tool_call_id } => Self::Warning {
                message: format!(
                    "the stream had an event for the tool call `{tool_call_id}`, which is not open"
                ),
            },
            RunEvent::Completed(_) => return None,
            #[allow(
                unreachable_patterns,
                reason = "the core may have more events, unless it is built as exhaustive"
            )]
            event => Self::Warning {
                message: format!("an event that this version does not know: {event:?}"),
            },
        })
    }
}
