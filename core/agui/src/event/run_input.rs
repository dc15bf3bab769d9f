use super::field::{Metadata, is_absent, present, present_json};
use super::message::Message;
use super::outcome::ResumeEntry;
use crate::{RunId, ThreadId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The request that starts a run on an AG-UI agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunAgentInput {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The run to start.
    pub run_id: RunId,
    /// The client's protocol version; absent before 1.0.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub protocol_version: Option<String>,
    /// The run that this run continues.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub parent_run_id: Option<RunId>,
    /// The state shared with the agent: any JSON.
    #[serde(
        default,
        deserialize_with = "present_json",
        skip_serializing_if = "is_absent"
    )]
    pub state: Option<Value>,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools that the client runs.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub tools: Option<Vec<ToolDefinition>>,
    /// Context for the agent in addition to the conversation.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub context: Option<Vec<Context>>,
    /// The properties that the client forwards to the agent: any JSON but null.
    #[serde(
        default,
        deserialize_with = "present_json",
        skip_serializing_if = "is_absent"
    )]
    pub forwarded_props: Option<Value>,
    /// The answers to the interrupts of the previous run.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub resume: Option<Vec<ResumeEntry>>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}

/// A tool as the model sees it (`Tool` in AG-UI).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// The tool's name.
    pub name: String,
    /// The tool's purpose and use, for the model.
    pub description: String,
    /// The JSON Schema of the tool's arguments.
    #[serde(
        default,
        deserialize_with = "present_json",
        skip_serializing_if = "is_absent"
    )]
    pub parameters: Option<Value>,
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

/// An item of context for the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The description of the item.
    pub description: String,
    /// The item's value.
    pub value: String,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Metadata,
}
