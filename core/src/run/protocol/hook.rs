//! Hooks: code of the app's that looks at what a turn is about to do, changes it, or refuses it with a reason.

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
pub enum HookMoment {
    /// Before a hop's request, once for all its tries: what is sent may be changed. A refusal ends the turn.
    BeforeRequest,
    /// When a hop's answer has come to its end and has text, before anything follows from it. A refusal ends the turn, and
    /// the text is not sent to the model again.
    AfterAnswer,
    /// Before a tool's call, and before the user is asked whether it may run: its arguments may be changed. The model is
    /// told of a refusal, and the turn goes on.
    BeforeTool,
    /// When a tool has come to its end: what the model is told may be changed. In the place of a refused result it is told
    /// the reason, and the turn goes on.
    AfterTool,
}

impl HookMoment {
    /// All of them, in the order in which a turn comes to them.
    pub const ALL: [Self; 4] = [
        Self::BeforeRequest,
        Self::AfterAnswer,
        Self::BeforeTool,
        Self::AfterTool,
    ];

    /// Its name: `before_request`, …
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
    /// Its name, for refusals.
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

/// What a hook is asked about.
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
    /// A call that is to be run.
    Call(CallKey),
    /// What came of a call.
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

/// What a hook looks at.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum HookSubject {
    /// What the next request is made of.
    Request(HookedRequest),
    /// What the model has said.
    Answer(HookedAnswer),
    /// A call that is to be run. Its arguments fit the tool's schema.
    Call(ToolInvocation),
    /// What came of a call.
    Result(HookedResult),
}

/// What the next request is made of.
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

/// What the model has said.
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
    /// Its text; of a typed answer that came as a call of the final tool, the arguments.
    pub text: String,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct HookedResult {
    /// The call.
    pub invocation: ToolInvocation,
    /// What the model is to be told.
    pub content: MessageContent,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// What a hook says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum HookAnswer {
    /// It may go on as it is.
    GoOn,
    /// The request goes out with these in the place of its own. The history stays as it is.
    ChangeRequest {
        /// The instructions; unchanged if absent.
        #[serde(default)]
        instructions: Option<String>,
        /// The messages; unchanged if absent.
        #[serde(default)]
        messages: Option<Vec<Message>>,
    },
    /// The call is run with these arguments. The model is not told.
    ChangeArguments {
        /// JSON that fits the tool's schema; what does not fit fails the turn, as a hook that fails does.
        arguments: String,
    },
    /// The model is told this in the place of the tool's result, also of a tool that failed.
    ChangeResult {
        /// The result.
        output: ToolOutput,
    },
    /// It may not be.
    Refused {
        /// Why: for the model to read where a call or its result is refused.
        reason: String,
    },
    /// The hook's own code failed: the turn is over, whatever it was asked about.
    Failed {
        /// The code's words.
        message: String,
    },
}

impl HookAnswer {
    /// It may not be, for this reason.
    pub fn refuse(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Refused { reason }
    }

    /// The call is run with these arguments.
    #[must_use]
    pub fn arguments(arguments: &Value) -> Self {
        let arguments = arguments.to_string();
        Self::ChangeArguments { arguments }
    }

    /// The model is told this in the place of the tool's result.
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

    /// Whether it is one to a question about this.
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
    /// Nothing is no objection.
    fn from(answered: Option<T>) -> Self {
        answered.map_or(Self::GoOn, Into::into)
    }
}

impl<T: Into<Self>, E: fmt::Display> From<Result<T, E>> for HookAnswer {
    /// An error is one of the hook's own code, and no refusal.
    fn from(answered: Result<T, E>) -> Self {
        answered.map_or_else(
            |error| Self::Failed {
                message: error.to_string(),
            },
            Into::into,
        )
    }
}

/// What the hooks have put in the place of a hop's instructions and messages.
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
