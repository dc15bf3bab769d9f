use super::{ChatCompaction, ChatConnection, ChatMessage, ChatProblem, ChatStatus};
use crate::MessageId;
use crate::event::{Interrupt, TokenUsage};
use crate::run::Pending;
use serde::Serialize;

/// The changes of a [`ChatState`](super::ChatState) since the previous update: everything but the messages in full, and
/// the messages that changed.
///
/// A copy of the state takes the small fields, replaces the messages that it knows by their ids, and appends the others.
/// With `order` it then keeps only the messages of these ids, in this order.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ChatUpdate {
    /// The revision of the state.
    pub revision: u64,
    /// The status of the chat.
    pub status: ChatStatus,
    /// The state of the connection to the model or the agent.
    pub connection: ChatConnection,
    /// The reason why the last turn failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<ChatProblem>,
    /// What waits for the user or for a deferred result, in the order of the calls.
    pub pending: Vec<Pending>,
    /// The questions of an AG-UI agent, which are answered all at once.
    pub interrupts: Vec<Interrupt>,
    /// The usage of the last turn so far, as far as the host reports it.
    pub usage: TokenUsage,
    /// The number of earlier messages that the state leaves out.
    pub omitted_messages: u64,
    /// The part of the conversation that the model is no longer sent as it is; absent if it is sent all messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<ChatCompaction>,
    /// The new and the changed messages, in the order of the state.
    pub messages: Vec<ChatMessage>,
    /// The ids of all messages in order, if messages were removed or moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<MessageId>>,
}
