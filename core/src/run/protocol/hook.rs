//! Hooks: app code that inspects what a turn is about to do, changes it, or refuses it with a reason.

use super::call::ToolInvocation;
use crate::event::{Message, MessageContent};
use crate::tool::ToolOutput;
use crate::{CallKey, RunId, ThreadId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// When a hook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum HookMoment {
    /// Before a hop's request, once for all its attempts: the hook may change the request. A refusal ends the turn.
    BeforeRequest,
    /// When a hop's answer has come to its end and has text, before anything follows from it. A refusal ends the turn, and
    /// the text is not sent to the model again.
    AfterAnswer,
    /// Before a tool's call, and before the user is asked to approve it: the hook may change its arguments. If the hook
    /// refuses the call, the model is informed and the turn continues.
    BeforeTool,
    /// When a tool has ended: the hook may change the result that the model gets. If the hook refuses the result, the
    /// model gets the reason instead, and the turn continues.
    AfterTool,
}

impl HookMoment {
    /// All places, in the order in which a turn reaches them.
    pub const ALL: [Self; 4] = [
        Self::BeforeRequest,
        Self::AfterAnswer,
        Self::BeforeTool,
        Self::AfterTool,
    ];

    /// Returns the place's name: `before_request`, …
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeRequest => "before_request",
            Self::AfterAnswer => "after_answer",
            Self::BeforeTool => "before_tool",
            Self::AfterTool => "after_tool",
        }
    }
}

impl fmt::Display for HookMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A hook that the host has: [`RunConfig::hooks`](crate::run::RunConfig::hooks) are asked in their order, one after the
/// other, and each sees what those before it have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct HookSpec {
    /// The hook's name, for refusals.
    pub name: String,
    /// When it is asked.
    pub moments: Vec<HookMoment>,
}

impl HookSpec {
    /// A hook that is asked at these moments.
    #[must_use]
    pub fn new(name: impl Into<String>, moments: impl IntoIterator<Item = HookMoment>) -> Self {
        Self {
            name: name.into(),
            moments: moments.into_iter().collect(),
        }
    }
}

/// The subject that a hook is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPlace {
    /// The request of a hop.
    Request {
        /// The hop.
        hop: u32,
    },
    /// The answer of a hop.
    Answer {
        /// The hop.
        hop: u32,
    },
    /// A call that should run.
    Call(CallKey),
    /// The result of a call.
    Result(CallKey),
}

impl HookPlace {
    /// When that is.
    #[must_use]
    pub fn moment(self) -> HookMoment {
        match self {
            Self::Request { .. } => HookMoment::BeforeRequest,
            Self::Answer { .. } => HookMoment::AfterAnswer,
            Self::Call(_) => HookMoment::BeforeTool,
            Self::Result(_) => HookMoment::AfterTool,
        }
    }
}

/// The subject that a hook inspects.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum HookSubject {
    /// The content of the next request.
    Request(HookedRequest),
    /// The model's answer.
    Answer(HookedAnswer),
    /// A call that should run. Its arguments fit the tool's schema.
    Call(ToolInvocation),
    /// The result of a call.
    Result(HookedResult),
}

/// The content of the next request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct HookedRequest {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The turn: the run id of its first hop.
    pub turn: RunId,
    /// The hop, from 0.
    pub hop: u32,
    /// The app's instructions.
    pub instructions: Option<String>,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
}

/// The model's answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct HookedAnswer {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The turn: the run id of its first hop.
    pub turn: RunId,
    /// The hop, from 0.
    pub hop: u32,
    /// The answer's text; for a typed answer that came as a call of the final tool, the arguments.
    pub text: String,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct HookedResult {
    /// The call.
    pub invocation: ToolInvocation,
    /// The result that the model gets.
    pub content: MessageContent,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// A hook's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum HookAnswer {
    /// Continues without a change.
    GoOn,
    /// Sends the request with these instead of its own instructions and messages. The history stays as it is.
    ChangeRequest {
        /// The instructions; unchanged if absent.
        #[serde(default)]
        instructions: Option<String>,
        /// The messages; unchanged if absent.
        #[serde(default)]
        messages: Option<Vec<Message>>,
    },
    /// Runs the call with these arguments. The model is not informed.
    ChangeArguments {
        /// JSON that fits the tool's schema; what does not fit fails the turn, as a hook that fails does.
        arguments: String,
    },
    /// Gives the model this instead of the tool's result, also if the tool failed.
    ChangeResult {
        /// The result.
        output: ToolOutput,
    },
    /// The hook refuses.
    Refused {
        /// The reason. The model reads it if a call or its result is refused.
        reason: String,
    },
    /// The hook's own code failed: the turn is over, whatever it was asked about.
    Failed {
        /// The code's error message.
        message: String,
    },
}

impl HookAnswer {
    /// Refuses, for this reason.
    pub fn refuse(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Refused { reason }
    }

    /// Runs the call with these arguments.
    #[must_use]
    pub fn arguments(arguments: &Value) -> Self {
        let arguments = arguments.to_string();
        Self::ChangeArguments { arguments }
    }

    /// Gives the model this instead of the tool's result.
    pub fn result(output: impl Into<ToolOutput>) -> Self {
        let output = output.into();
        Self::ChangeResult { output }
    }

    /// The request carries these messages.
    #[must_use]
    pub fn messages(messages: Vec<Message>) -> Self {
        Self::ChangeRequest {
            instructions: None,
            messages: Some(messages),
        }
    }

    /// Returns whether it is one to a question about this.
    #[must_use]
    pub fn fits(&self, place: HookPlace) -> bool {
        match self {
            Self::GoOn | Self::Refused { .. } | Self::Failed { .. } => true,
            Self::ChangeRequest { .. } => matches!(place, HookPlace::Request { .. }),
            Self::ChangeArguments { .. } => matches!(place, HookPlace::Call(_)),
            Self::ChangeResult { .. } => matches!(place, HookPlace::Result(_)),
        }
    }
}

impl From<()> for HookAnswer {
    fn from((): ()) -> Self {
        Self::GoOn
    }
}

impl<T: Into<Self>> From<Option<T>> for HookAnswer {
    /// `None` means that the hook has no objection.
    fn from(answered: Option<T>) -> Self {
        answered.map_or(Self::GoOn, Into::into)
    }
}

impl<T: Into<Self>, E: fmt::Display> From<Result<T, E>> for HookAnswer {
    /// An error means that the hook's own code failed; it is not a refusal.
    fn from(answered: Result<T, E>) -> Self {
        answered.map_or_else(
            |error| Self::Failed {
                message: error.to_string(),
            },
            Into::into,
        )
    }
}

/// The instructions and messages that hooks put instead of a hop's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::run) struct ChangedRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::run) instructions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::run) messages: Option<Vec<Message>>,
}

impl ChangedRequest {
    pub(in crate::run) fn is_untouched(&self) -> bool {
        *self == Self::default()
    }
}
