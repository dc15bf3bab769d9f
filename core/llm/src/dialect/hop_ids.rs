use crate::{MessageId, RunId, ThreadId, ToolCallId};
use serde::{Deserialize, Serialize};

/// The ids of the hop whose stream is decoded, and the source of ids that the provider does not give.
///
/// Such an id consists of the run id and a position, so it is unique in the thread and the same on every replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopIds {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The hop's own run.
    pub run_id: RunId,
    /// The provider, as in [`Endpoint::provider`](crate::provider::Endpoint::provider). Data that only this provider
    /// can read is marked with its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
}

impl HopIds {
    /// Returns the id of the hop's message at `index`.
    #[must_use]
    pub fn message(&self, index: usize) -> MessageId {
        format!("{}-message-{index}", self.run_id).into()
    }

    /// Returns the id of the hop's reasoning at `index`.
    #[must_use]
    pub fn reasoning(&self, index: usize) -> MessageId {
        format!("{}-reasoning-{index}", self.run_id).into()
    }

    /// Returns the id of the media at `index` that the model made in this hop.
    #[must_use]
    pub fn media(&self, index: usize) -> MessageId {
        format!("{}-media-{index}", self.run_id).into()
    }

    /// The run of the hop that a message is of, if its id was made by [`message`](Self::message),
    /// [`reasoning`](Self::reasoning) or [`media`](Self::media).
    pub(crate) fn run_of(id: &MessageId) -> Option<&str> {
        let (rest, index) = id.as_str().rsplit_once('-')?;
        let is_made = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
        let (run, kind) = rest.rsplit_once('-').filter(|_| is_made)?;
        matches!(kind, "message" | "reasoning" | "media").then_some(run)
    }

    /// Returns the id of the hop's tool call at `index`.
    #[must_use]
    pub fn tool_call(&self, index: usize) -> ToolCallId {
        format!("{}-call-{index}", self.run_id).into()
    }
}
