use crate::MessageId;
use crate::event::Message;
use crate::run::protocol::NEARLY_FULL;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The provider's count of a conversation: the request and the answer of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// The number of tokens.
    pub(crate) tokens: u64,
    /// The index of the first message that may have come since.
    pub(crate) since: usize,
}

/// The state of the conversation with regard to the model's context window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContextWindow {
    /// The user was warned in this turn.
    told: bool,
    /// The hop's request warns the model.
    warns: bool,
    /// The size of the request that the host is asked to trim.
    tokens: u64,
    /// The count from the hop before, for other models of the hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
    /// The messages that this turn's requests no longer carry.
    left_out: Vec<MessageId>,
    /// The summary that replaces the messages left out.
    summary: Option<String>,
}

/// Comes before the host's summary of what was left out.
const LEFT_OUT: &str = "Earlier messages of this conversation were left out. In short, they said:";

impl ContextWindow {
    pub(crate) fn is_untouched(&self) -> bool {
        *self == Self::default()
    }

    /// The messages that this turn's requests no longer carry.
    pub(crate) fn left_out(&self) -> &[MessageId] {
        &self.left_out
    }

    /// Returns the same window with other messages left out.
    pub(crate) fn leaving_out(&self, left_out: Vec<MessageId>) -> Self {
        Self {
            told: self.told,
            warns: self.warns,
            tokens: self.tokens,
            counted: self.counted,
            left_out,
            summary: self.summary.clone(),
        }
    }

    /// Keeps the provider's count from the hop before, for other models of the hop.
    pub(crate) fn keep_count(&mut self, counted: Option<Counted>) {
        self.counted = counted;
    }

    /// Returns the count that was kept.
    pub(crate) fn counted(&self) -> Option<Counted> {
        self.counted
    }

    /// Begins a request, which has no warning yet.
    pub(crate) fn begin_request(&mut self) {
        self.warns = false;
    }

    /// Adds a warning for the model to the hop's request. Returns whether to warn the user too, which happens once a
    /// turn.
    pub(crate) fn warn(&mut self) -> bool {
        self.warns = true;
        !std::mem::replace(&mut self.told, true)
    }

    /// Notes that the host is asked to trim a request of this number of tokens.
    pub(crate) fn ask_to_trim(&mut self, tokens: u64) {
        self.tokens = tokens;
    }

    /// Returns the number of tokens of the request that the host is asked to trim.
    pub(crate) fn asked_tokens(&self) -> u64 {
        self.tokens
    }

    /// Notes which messages the host leaves out, and the summary that replaces them.
    pub(crate) fn leave_out(&mut self, left_out: &[MessageId], summary: Option<String>) {
        self.left_out.extend(left_out.iter().cloned());
        if summary.is_some() {
            self.summary = summary;
        }
    }

    /// Returns the number of tokens after trimming. The estimate is assumed to be wrong by the same factor before and
    /// after.
    pub(crate) fn trimmed_tokens(&mut self, before: u64, after: u64) -> u64 {
        let scaled = u128::from(self.tokens) * u128::from(after) / u128::from(before.max(1));
        self.tokens = 0;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// Returns the messages without those that were left out.
    pub(crate) fn kept<'a>(&self, messages: &'a [Message]) -> Cow<'a, [Message]> {
        if self.left_out.is_empty() {
            return Cow::Borrowed(messages);
        }
        let left_out: BTreeSet<&str> = self.left_out.iter().map(MessageId::as_str).collect();
        let kept = messages.iter();
        kept.filter(|message| !left_out.contains(message.id().as_str()))
            .cloned()
            .collect()
    }

    /// Returns the text before the conversation: the app's `own` instructions, the summary of what was left out, and
    /// the warning.
    pub(crate) fn instructions<'a>(&self, own: Option<&'a str>) -> Option<Cow<'a, str>> {
        if !self.warns && self.summary.is_none() {
            return own.map(Cow::Borrowed);
        }
        let summary = self.summary.as_ref();
        let summary = summary.map(|summary| format!("{LEFT_OUT}\n{summary}"));
        let warning = self.warns.then(|| NEARLY_FULL.to_owned());
        let parts = own.map(str::to_owned).into_iter();
        let parts: Vec<_> = parts.chain(summary).chain(warning).collect();
        Some(Cow::Owned(parts.join("\n\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_told_once_and_the_model_in_each_hop_that_is_near() {
        let mut window = ContextWindow::default();
        assert!(window.is_untouched());
        assert_eq!(
            window.instructions(Some("Be kind")).as_deref(),
            Some("Be kind")
        );
        assert!(window.warn() && !window.warn());
        let warned = window.instructions(Some("Be kind")).unwrap();
        assert!(warned.starts_with("Be kind\n\n") && warned.ends_with(NEARLY_FULL));
        window.begin_request();
        assert_eq!(window.instructions(None), None);
    }

    #[test]
    fn what_is_left_out_is_not_sent_and_its_summary_is() {
        let messages = [Message::user("m1", "Hello"), Message::user("m2", "And?")];
        let mut window = ContextWindow::default();
        assert_eq!(window.kept(&messages).len(), 2);
        window.ask_to_trim(1000);
        window.leave_out(&["m1".into()], Some("a greeting".to_owned()));
        assert_eq!(*window.kept(&messages), messages[1..]);
        let said = window.instructions(None).unwrap();
        assert_eq!(said, format!("{LEFT_OUT}\na greeting"));
        assert_eq!(window.trimmed_tokens(500, 100), 200);
        assert_eq!(window.asked_tokens(), 0);
    }
}
