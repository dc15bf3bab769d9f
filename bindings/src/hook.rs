//! Hooks: code of the app that looks at what a turn is about to do, changes it, or refuses it with a reason.

#[cfg(feature = "agent")]
mod agent;

#[cfg(feature = "agent")]
pub use agent::{AgentHook, Hook, HookTask};

use crate::effect::ToolInvocation;
use crate::json_value::JsonValue;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stepwell_core::event::MessageContent;
use stepwell_core::run;
use stepwell_core::tool::ToolOutput;
use stepwell_mirror::mirror;

mirror! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::HookMoment, both)]
    pub enum HookMoment;

    /// A hook of the app. Hooks are asked in order, one after the other, and each sees what earlier hooks have changed.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[mirror(stepwell_core::run::HookSpec, both)]
    pub struct HookSpec;

    #[derive(Clone, Debug, PartialEq, Serialize, uniffi::Enum)]
    #[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
    #[mirror(stepwell_core::run::HookSubject, flatten, last(HookedResult))]
    pub enum HookSubject {
        Request as HookedRequest {
            /// The messages: a JSON array of AG-UI messages, oldest first.
            messages,
        },
        Answer as HookedAnswer,
        - Call => Self::HookedCall { invocation: payload.into() },
        Result as HookedResult {
            /// The result for the model: text, or AG-UI content parts.
            content,
        },
        /// A call that should be run. Its arguments fit the tool's schema.
        + HookedCall {
            /// The call.
            invocation: ToolInvocation,
        },
    }

    #[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Enum)]
    #[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
    #[mirror(stepwell_core::run::HookAnswer)]
    pub enum HookAnswer {
        ChangeRequest {
            /// The messages: a JSON array of AG-UI messages, oldest first; unchanged if absent.
            messages,
        },
        ChangeArguments {
            /// JSON that fits the tool's schema; other arguments fail the turn, as a failing hook does.
            arguments: JsonValue = JsonValue::from_text(arguments),
        },
        ChangeResult {
            - output,
            /// Text, or AG-UI content parts.
            content: JsonValue = JsonValue::of(&output.content),
        },
    }
}

impl From<HookAnswer> for run::HookAnswer {
    /// An answer that is not what it should be is a failure of the hook.
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
