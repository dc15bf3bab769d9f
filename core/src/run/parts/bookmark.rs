use crate::MessageId;
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// The place after the last message at that time. It holds the message's id, not the index, since an agent may replace
/// all messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Bookmark(Option<MessageId>);

impl Bookmark {
    pub(crate) fn at_end(transcript: &Transcript) -> Self {
        let last = transcript.messages().last();
        Self(last.map(|message| message.id().clone()))
    }

    /// Returns whether there was no message, or the bookmark was never set.
    pub(crate) fn is_at_start(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the number of messages before the bookmark; `None` if there was none, or if the last of them was
    /// removed.
    pub(crate) fn position(&self, transcript: &Transcript) -> Option<usize> {
        let last = transcript.last_position(self.0.as_ref()?)?;
        Some(last + 1)
    }
}

/// The places where the turn and its hop begin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Beginnings {
    /// Before the turn's own messages.
    turn: Bookmark,
    /// After what the hop's first request carried.
    hop: Bookmark,
}

impl Beginnings {
    pub(crate) fn begin_turn(&mut self, transcript: &Transcript) {
        self.turn = Bookmark::at_end(transcript);
    }

    pub(crate) fn begin_hop(&mut self, transcript: &Transcript) {
        self.hop = Bookmark::at_end(transcript);
    }

    pub(crate) fn hop(&self) -> &Bookmark {
        &self.hop
    }

    /// Returns the place before the messages of the hop's stream.
    #[inline]
    pub(crate) fn stream(&self) -> &Bookmark {
        if self.hop.is_at_start() {
            &self.turn
        } else {
            &self.hop
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Message;

    #[test]
    fn it_stays_behind_its_message_and_is_lost_with_it() {
        let mut transcript = Transcript::new(vec![Message::user("m1", "Hello")]);
        let bookmark = Bookmark::at_end(&transcript);
        let _ = transcript.push(Message::user("m2", "And?"));
        assert!(!bookmark.is_at_start());
        assert_eq!(bookmark.position(&transcript), Some(1));
        let other = Transcript::new(vec![Message::user("m3", "Hi")]);
        assert_eq!(bookmark.position(&other), None);
        assert!(Bookmark::at_end(&Transcript::default()).is_at_start());
    }
}
