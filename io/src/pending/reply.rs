//! A reply to what a turn waits for, and the input that it is for the turn's machine.

use crate::turn::handle::TurnError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stepwell_core::run::{Decision, Input, PendingKind, RunMachine, UserAnswer};
use stepwell_core::tool::ToolResult;

/// A reply to something that a turn waits for. Its serde form is sent between the hosts of a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
// Every host handles every reply.
#[allow(clippy::exhaustive_enums)]
pub enum Reply {
    /// The call may run.
    Approve {
        /// The arguments that replace the model's, if there are any.
        arguments: Option<Value>,
    },
    /// The call may not run, or the question has no answer.
    Deny {
        /// The reason, for the model or for the tool that asked.
        reason: Option<String>,
    },
    /// The answer to a question.
    Answer {
        /// The answer, which fits the question's schema.
        value: Value,
    },
    /// The result of a call.
    Result {
        /// The result.
        result: ToolResult,
    },
}

impl Reply {
    /// Returns the input of the reply to what waits under this id.
    ///
    /// # Errors
    /// Nothing that takes such a reply waits under the id.
    pub(crate) fn input(self, id: &str, machine: &RunMachine) -> Result<Input<'static>, TurnError> {
        if let Self::Result { result } = self {
            return match machine.awaited_result(id) {
                Some(effect) => Ok(Input::ToolFinished { effect, result }),
                None => Err(TurnError::NotAwaited(id.into())),
            };
        }
        let not_pending = || TurnError::NotPending { id: id.to_owned() };
        let (kind, effect) = machine.pending_effect(id).ok_or_else(not_pending)?;
        match (self, kind) {
            (Self::Approve { arguments }, PendingKind::Approval) => Ok(Input::Decided {
                effect,
                decision: match arguments {
                    Some(arguments) => Decision::Edited {
                        arguments: arguments.to_string(),
                    },
                    None => Decision::Granted,
                },
            }),
            (Self::Deny { reason }, PendingKind::Approval) => Ok(Input::Decided {
                effect,
                decision: Decision::Denied { reason },
            }),
            (Self::Answer { value }, PendingKind::Question) => Ok(Input::UserAnswered {
                effect,
                answer: UserAnswer::Given { value },
            }),
            (Self::Deny { reason }, PendingKind::Question) => Ok(Input::UserAnswered {
                effect,
                answer: UserAnswer::Declined { reason },
            }),
            _ => Err(not_pending()),
        }
    }
}
