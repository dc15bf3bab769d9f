use crate::MessageId;
use crate::conversation::Conversation;
use serde::{Deserialize, Serialize};

/// The place after the last message that there was. The message is noted, not its index, since an agent may put other
/// messages in the place of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Anchor(Option<MessageId>);

impl Anchor {
    pub(super) fn at_end(conversation: &Conversation) -> Self {
        let last = conversation.messages().last();
        Self(last.map(|message| message.id().clone()))
    }

    /// There was no message, or it was never cast.
    pub(super) fn is_at_start(&self) -> bool {
        self.0.is_none()
    }

    /// How many messages lie before it; `None` if there was none, and if the last of them is gone.
    pub(super) fn position(&self, conversation: &Conversation) -> Option<usize> {
        let last = conversation.last_position(self.0.as_ref()?)?;
        Some(last + 1)
    }
}
