use super::field::{Metadata, is_absent, present, present_count, present_json};
use crate::{ToolCallId, Usd};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The outcome of a run in `RUN_FINISHED`. An absent outcome means success.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum RunOutcome {
    /// The run succeeded. Some calls may be left for the client to run.
    #[serde(rename_all = "camelCase")]
    Success {
        /// The calls that the client should run, if the agent names them.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        pending_tool_call_ids: Option<Vec<ToolCallId>>,
    },
    /// The run waits for the user.
    Interrupt {
        /// The questions; never empty.
        #[serde(deserialize_with = "not_empty")]
        interrupts: Vec<Interrupt>,
    },
    /// The run was stopped on purpose.
    Cancelled,
}

fn not_empty<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Interrupt>, D::Error> {
    let interrupts = Vec::deserialize(deserializer)?;
    if interrupts.is_empty() {
        return Err(serde::de::Error::custom(
            "an interrupt outcome names at least one interrupt",
        ));
    }
    Ok(interrupts)
}

/// The outcome of a subagent's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum SubagentOutcome {
    /// The subagent succeeded.
    Success,
    /// The subagent waits for the user.
    #[serde(rename_all = "camelCase")]
    Suspended {
        /// The interrupts that the subagent waits for.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        interrupt_ids: Option<Vec<String>>,
    },
}

/// A question that an agent asks the user before the agent can continue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Interrupt {
    /// The id of the interrupt, which a [`ResumeEntry`] names.
    pub id: String,
    /// The kind of question, as the agent names it.
    pub reason: String,
    /// The question, for the user.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub message: Option<String>,
    /// The tool call that the question is about.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub tool_call_id: Option<ToolCallId>,
    /// The JSON Schema of the answer.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub response_schema: Option<Metadata>,
    /// The time at which the question expires, in ISO 8601.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub expires_at: Option<String>,
    /// Metadata from the sender.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<Metadata>,
    /// The subagent that asks; absent for the parent agent.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub subagent_run_id: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}

/// The user's answer to one [`Interrupt`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumeEntry {
    /// The id of the interrupt.
    pub interrupt_id: String,
    /// Whether the user answered or cancelled the question.
    pub status: ResumeStatus,
    /// The answer: any JSON.
    #[serde(
        default,
        deserialize_with = "present_json",
        skip_serializing_if = "is_absent"
    )]
    pub payload: Option<Value>,
    /// Metadata from the sender.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<Metadata>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}

/// The status of an interrupt's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ResumeStatus {
    /// The user answered, with a payload.
    Resolved,
    /// The user cancelled the question.
    Cancelled,
}

/// The number of tokens that one model used in a run. An absent count is unknown, not zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct TokenUsage {
    /// The provider.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub provider: Option<String>,
    /// The model.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub model: Option<String>,
    /// Tokens of the request.
    #[serde(
        default,
        deserialize_with = "present_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub input_tokens: Option<u64>,
    /// Tokens of the answer.
    #[serde(
        default,
        deserialize_with = "present_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub output_tokens: Option<u64>,
    /// All tokens, as the provider counts them.
    #[serde(
        default,
        deserialize_with = "present_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub total_tokens: Option<u64>,
    /// Tokens of the answer that were reasoning.
    #[serde(
        default,
        deserialize_with = "present_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub reasoning_tokens: Option<u64>,
    /// Request tokens that were read from a cache.
    #[serde(
        default,
        deserialize_with = "present_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub cached_input_tokens: Option<u64>,
    /// Tokens of the request that were written to a cache.
    #[serde(
        default,
        deserialize_with = "present_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_write_input_tokens: Option<u64>,
    /// The cost of the tokens, as the provider states it or else by the model's price.
    #[serde(
        default,
        deserialize_with = "amount",
        skip_serializing_if = "Option::is_none"
    )]
    pub cost: Option<Usd>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}

/// AG-UI defines no cost, so an agent may send anything under that name: a value that is not an amount of dollars is
/// ignored.
fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usd>, D::Error> {
    let cost = Value::deserialize(deserializer)?.as_f64();
    Ok(cost.and_then(|dollars| Usd::from_dollars(dollars).ok()))
}
