use super::effect::{Effect, EffectId};
use super::outcome::Outcome;
use crate::conversation::ToolCallStatus;
use crate::event::{Event, Interrupt};
use crate::tool::ToolResult;
use crate::{CallKey, RunId, ThreadId, ToolCallId};
use serde::{Deserialize, Serialize};

/// What a run gives the host.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Something to do.
    Effect(EffectId, Effect),
    /// Something to show.
    Event(RunEvent),
}

/// What the person is shown of a turn. From [`Started`](Self::Started) to [`Completed`](Self::Completed) it is one
/// unbroken turn, however many hops it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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
    ToolCall(ToolCallUpdate),
    /// A request failed, and is tried again.
    Retrying {
        /// The try that is to come, from 1.
        attempt: u32,
        /// How long until then, in milliseconds.
        delay_ms: u64,
        /// Why.
        reason: String,
    },
    /// The agent asks the person; the turn rests until [`Resume`](super::Input::Resume).
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
}

/// Where a tool call of this turn stands now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
