//! What a running tool asks the user, and what they say.

use crate::json_value::JsonValue;
use serde::{Deserialize, Serialize};
use stepwell_core::run;

/// What a running tool asks the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// What the user reads.
    pub message: String,
    /// The JSON Schema that the answer fits.
    pub schema: JsonValue,
}

/// What the user says to the question of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UserAnswer {
    /// They answered.
    Given {
        /// The answer: it fits the question's schema.
        value: JsonValue,
    },
    /// They did not: they would not, were not there in time, or there is no way to ask them.
    Declined {
        /// Why.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl From<run::Question> for Question {
    fn from(question: run::Question) -> Self {
        Self {
            message: question.message,
            schema: JsonValue::of(&question.schema),
        }
    }
}

impl From<run::UserAnswer> for UserAnswer {
    fn from(answer: run::UserAnswer) -> Self {
        match answer {
            run::UserAnswer::Given { value } => Self::Given {
                value: JsonValue::of(&value),
            },
            run::UserAnswer::Declined { reason } => Self::Declined { reason },
        }
    }
}
