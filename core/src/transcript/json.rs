//! A transcript as a collection of messages, and as their JSON.

use super::Transcript;
use crate::event::Message;

impl Transcript {
    /// Returns the messages as a JSON array of AG-UI messages, the oldest first, for
    /// [`from_json`](Self::from_json) and for other AG-UI programs. The state shared with an agent is not in it.
    ///
    /// ```
    /// use stepwell_core::event::Message;
    /// use stepwell_core::transcript::Transcript;
    ///
    /// let transcript = Transcript::from_iter([Message::user("m1", "Hello")]);
    /// let json = transcript.to_json();
    /// assert_eq!(json, r#"[{"role":"user","id":"m1","content":"Hello"}]"#);
    /// assert_eq!(Transcript::from_json(&json)?, transcript);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        // A message has no map with keys that are not text, and nothing else fails.
        serde_json::to_string(self.messages()).unwrap_or_default()
    }

    /// Reads a transcript from a JSON array of AG-UI messages.
    ///
    /// # Errors
    /// The text is not such an array.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json).map(Self::new)
    }

    /// Returns the messages, the oldest first.
    pub fn iter(&self) -> std::slice::Iter<'_, Message> {
        self.messages().iter()
    }
}

impl<'a> IntoIterator for &'a Transcript {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Message> for Transcript {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        Self::new(messages.into_iter().collect())
    }
}

impl Extend<Message> for Transcript {
    /// Appends messages. A message whose id is in the transcript already is left out.
    fn extend<I: IntoIterator<Item = Message>>(&mut self, messages: I) {
        for message in messages {
            // The id is known: the message that has it stays.
            let _ = self.push(message);
        }
    }
}
