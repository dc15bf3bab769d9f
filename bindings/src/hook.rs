//! Hooks: code of the app that looks at what a turn is about to do, changes it, or refuses it with a reason.

#[cfg(feature = "agent")]
mod agent;

#[cfg(feature = "agent")]
pub use agent::{AgentHook, Hook, HookTask};

use crate::effect::ToolInvocation;
use crate::json_value::JsonValue;
use crate::same::same;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stepwell_core::event::MessageContent;
use stepwell_core::run;
use stepwell_core::tool::ToolOutput;

/// When a hook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
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

same!(
    HookMoment = run::HookMoment {
        BeforeRequest,
        AfterAnswer,
        BeforeTool,
        AfterTool
    }
);

/// A hook that the app has. They are asked in their order, one after the other, and each sees what those before it have
/// changed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookSpec {
    /// Its name, for refusals.
    pub name: String,
    /// When it is asked.
    pub moments: Vec<HookMoment>,
}

impl From<HookSpec> for run::HookSpec {
    fn from(hook: HookSpec) -> Self {
        Self::new(hook.name, hook.moments.into_iter().map(Into::into))
    }
}

/// What a hook looks at.
#[derive(Clone, Debug, PartialEq, Serialize, uniffi::Enum)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum HookSubject {
    /// What the next request is made of.
    HookedRequest {
        /// The conversation.
        thread_id: String,
        /// The turn: the run id of its first hop.
        turn: String,
        /// The hop, from 0.
        hop: u32,
        /// The app's instructions.
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
        /// The messages: a JSON array of AG-UI messages, oldest first.
        messages: JsonValue,
    },
    /// What the model has said.
    HookedAnswer {
        /// The conversation.
        thread_id: String,
        /// The turn: the run id of its first hop.
        turn: String,
        /// The hop, from 0.
        hop: u32,
        /// Its text; of a typed answer that came as a call of the final tool, the arguments.
        text: String,
    },
    /// A call that is to be run. Its arguments fit the tool's schema.
    HookedCall {
        /// The call.
        invocation: ToolInvocation,
    },
    /// What came of a call.
    HookedResult {
        /// The call.
        invocation: ToolInvocation,
        /// What the model is to be told: text, or AG-UI content parts.
        content: JsonValue,
        /// Whether the tool failed.
        is_error: bool,
    },
}

impl From<run::HookSubject> for HookSubject {
    fn from(subject: run::HookSubject) -> Self {
        match subject {
            run::HookSubject::Request(request) => Self::HookedRequest {
                thread_id: request.thread_id.into_string(),
                turn: request.turn.into_string(),
                hop: request.hop,
                instructions: request.instructions,
                messages: JsonValue::of(&request.messages),
            },
            run::HookSubject::Answer(answer) => Self::HookedAnswer {
                thread_id: answer.thread_id.into_string(),
                turn: answer.turn.into_string(),
                hop: answer.hop,
                text: answer.text,
            },
            run::HookSubject::Call(invocation) => Self::HookedCall {
                invocation: invocation.into(),
            },
            run::HookSubject::Result(result) => Self::HookedResult {
                invocation: result.invocation.into(),
                content: JsonValue::of(&result.content),
                is_error: result.is_error,
            },
        }
    }
}

/// What a hook says.
#[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Enum)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum HookAnswer {
    /// It may go on as it is.
    GoOn,
    /// The request goes out with these in the place of its own. The history stays as it is.
    ChangeRequest {
        /// The instructions; unchanged if absent.
        instructions: Option<String>,
        /// The messages: a JSON array of AG-UI messages, oldest first; unchanged if absent.
        messages: Option<JsonValue>,
    },
    /// The call is run with these arguments. The model is not told.
    ChangeArguments {
        /// JSON that fits the tool's schema; what does not fit fails the turn, as a hook that fails does.
        arguments: JsonValue,
    },
    /// The model is told this in the place of the tool's result, also of a tool that failed.
    ChangeResult {
        /// Text, or AG-UI content parts.
        content: JsonValue,
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

impl From<HookAnswer> for run::HookAnswer {
    /// What is none of what it is to be is the hook's failure.
    fn from(answer: HookAnswer) -> Self {
        fn read<T: serde::de::DeserializeOwned>(what: &str, json: &JsonValue) -> Result<T, String> {
            let read = serde_json::from_str(json.as_str());
            read.map_err(|error| format!("{what}: {error}"))
        }
        let read = || -> Result<Self, String> {
            Ok(match answer {
                HookAnswer::GoOn => Self::GoOn,
                HookAnswer::ChangeRequest {
                    instructions,
                    messages,
                } => Self::ChangeRequest {
                    instructions,
                    messages: messages
                        .map(|messages| read("the messages are none of AG-UI", &messages))
                        .transpose()?,
                },
                HookAnswer::ChangeArguments { arguments } => Self::ChangeArguments {
                    arguments: arguments.into_text(),
                },
                HookAnswer::ChangeResult { content } => {
                    let value: Value = read("the result is no JSON", &content)?;
                    let content = match value {
                        Value::Array(_) => {
                            read::<MessageContent>("the result has no content parts", &content)?
                        }
                        value => ToolOutput::from(value).content,
                    };
                    Self::ChangeResult {
                        output: ToolOutput { content },
                    }
                }
                HookAnswer::Refused { reason } => Self::Refused { reason },
                HookAnswer::Failed { message } => Self::Failed { message },
            })
        };
        read().unwrap_or_else(|message| Self::Failed { message })
    }
}
