use super::{ChatMessage, ChatProblem};
use crate::event::{Interrupt, TokenUsage};
use crate::journal::Digest;
use crate::run::Pending;
use crate::transcript::Compaction;
use crate::{MessageId, Timestamp};
use serde::Serialize;
use serde_json::Value;

/// The contents of a chat screen. [`ChatReducer`](super::ChatReducer) builds the state, in every language. A reload from
/// the store gives the state that was shown live.
///
/// The JSON form has camelCase names: `{"status": "ready", "connection": {"state": "idle"}, "messages": […]}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ChatState {
    /// The revision: it grows with each change of the state.
    pub revision: u64,
    /// The status of the chat.
    pub status: ChatStatus,
    /// The state of the connection to the model or the agent.
    pub connection: ChatConnection,
    /// The reason why the last turn failed. A new turn clears the problem, and a cancelled turn has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<ChatProblem>,
    /// What waits for the user or for a deferred result, in the order of the calls.
    pub pending: Vec<Pending>,
    /// The questions of an AG-UI agent, which are answered all at once.
    pub interrupts: Vec<Interrupt>,
    /// The usage of the last turn so far, as far as the host reports it.
    pub usage: TokenUsage,
    /// The number of earlier messages that `messages` leaves out, because there are too many to show.
    pub omitted_messages: u64,
    /// The part of the conversation that the model is no longer sent as it is; absent if it is sent all messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<ChatCompaction>,
    /// The messages, the oldest first.
    pub messages: Vec<ChatMessage>,
}

/// The part of a conversation that the model is no longer sent as it is. The screen still has all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ChatCompaction {
    /// The last message of the conversation that is left out; absent if only results of tools are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<MessageId>,
    /// The summary that the model is sent instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The answer with which the provider compacted the conversation itself: the provider is sent nothing from before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_provider: Option<MessageId>,
}

impl ChatCompaction {
    /// Returns what a screen shows of a compaction; `None` if there is none.
    pub(super) fn of(compaction: &Compaction) -> Option<Self> {
        compaction.is_any().then(|| Self {
            through: compaction.through.clone(),
            summary: compaction.summary.clone(),
            by_provider: compaction.by_provider.clone(),
        })
    }
}

impl ChatState {
    /// Returns the digest of the state without its revisions, which depend on how often the state was read.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut state = serde_json::to_value(self).unwrap_or_default();
        remove_revision(&mut state);
        let messages = state["messages"].as_array_mut();
        messages.into_iter().flatten().for_each(remove_revision);
        Digest::of_value(&state)
    }
}

fn remove_revision(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove("revision");
    }
}

/// The status of a chat: that of the AI SDK's `useChat`, and one more for a turn that waits for the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ChatStatus {
    /// No turn is under way, and the last one did not fail.
    #[default]
    Ready,
    /// The message was sent, and nothing of the answer has arrived.
    Submitted,
    /// The answer streams, or its tools run.
    Streaming,
    /// The turn needs the user: an approval, or the answer to a question.
    WaitingForUser,
    /// No turn is under way, and the last one failed: see [`ChatState::problem`].
    Error,
}

impl ChatStatus {
    /// Returns whether a turn is under way.
    #[must_use]
    pub fn is_busy(self) -> bool {
        !matches!(self, Self::Ready | Self::Error)
    }
}

/// The state of the connection to the model or the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(
    tag = "state",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ChatConnection {
    /// No stream is open: no turn is under way, or its tools run, or the turn waits.
    #[default]
    Idle,
    /// A request was sent, and its stream has not begun.
    Connecting,
    /// The stream is open.
    Streaming,
    /// A request failed, and is sent again.
    WaitingToRetry {
        /// The number of the next attempt, from 1.
        attempt: u32,
        /// The time of the next attempt.
        at: Timestamp,
        /// The reason why the request failed.
        reason: String,
    },
    /// There is no network: the request waits for it.
    Offline {
        /// The time until which the request waits.
        until: Timestamp,
    },
    /// The turn continues where it stopped: its stream broke off, or its process died.
    Resuming,
}
