//! The model's context window: what the app wants of a conversation that fills it.

use crate::MessageId;
use serde::{Deserialize, Serialize};

/// The policy for a conversation that fills the model's context window.
///
/// The guard is on by default for the models that [`provider::context_window`](crate::provider::context_window) knows,
/// and off for all others. A request that does not fit is rejected by the provider at best; at worst the server
/// truncates the history silently.
///
/// The length of a conversation is the provider's count from the hop before plus an estimate of what followed. Without
/// such a count all of it is estimated: a token for four bytes of text, and media by their kind. A window that the app
/// sets is used as it is. If the window comes from the table and the length is only estimated, a request is stopped
/// only when the estimate exceeds the room by half.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ContextGuard {
    /// The maximum number of tokens that the model takes, question and answer together; the value of
    /// [`provider::context_window`](crate::provider::context_window) if absent.
    pub window: Option<u64>,
    /// The part of the context that may be filled before the model is warned: 0.8 is four fifths. There is no warning
    /// if absent. The warning follows the app's instructions, in the requests alone, and is always the same text, so
    /// that it spoils a prompt cache only once. The user is warned by
    /// [`RunEvent::ContextNearlyFull`](crate::run::RunEvent::ContextNearlyFull), once a turn.
    pub warn_at: Option<f64>,
    /// The policy for a request that does not fit.
    pub at_limit: ContextPolicy,
}

impl Default for ContextGuard {
    fn default() -> Self {
        Self {
            window: None,
            warn_at: Some(0.8),
            at_limit: ContextPolicy::default(),
        }
    }
}

/// The policy for a request that does not fit the model's context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ContextPolicy {
    /// The request is sent all the same: the provider decides.
    Send,
    /// The turn ends with [`Failure::ContextTooLong`](crate::run::Failure::ContextTooLong) before the request is sent.
    #[default]
    Fail,
    /// The host is asked what to leave out, with [`Effect::TrimContext`](crate::run::Effect::TrimContext).
    Trim,
}

/// A conversation that does not fit the model's context window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ContextOverflow {
    /// The number of tokens of the next request, with the instructions and the tools.
    pub tokens: u64,
    /// The number of tokens that the request may have: the model's window, without the part reserved for the answer.
    pub window: u64,
    /// The messages of the request, oldest first.
    pub messages: Vec<ContextMessage>,
}

/// A message of a conversation that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ContextMessage {
    /// The message.
    pub id: MessageId,
    /// The number of tokens of the message: an estimate, on the same scale as for the other messages.
    pub tokens: u64,
}

impl ContextOverflow {
    /// Returns the newest messages that fill no more than this part of the room: half of it (0.5) leaves room to
    /// continue for a while. Pass the ids on unchanged: the messages that belong to them are kept too.
    #[must_use]
    pub fn newest(&self, part: f64) -> Vec<MessageId> {
        let all: u64 = self.messages.iter().map(|message| message.tokens).sum();
        // The scale accounts for the tokens outside of messages, and for the error of the estimates.
        let scale = if all == 0 {
            1.0
        } else {
            self.tokens as f64 / all as f64
        };
        let mut left = self.window as f64 * part.clamp(0.0, 1.0);
        let mut newest: Vec<_> = self
            .messages
            .iter()
            .rev()
            .take_while(|message| {
                left -= message.tokens as f64 * scale;
                left >= 0.0
            })
            .map(|message| message.id.clone())
            .collect();
        newest.reverse();
        newest
    }
}

/// Comes after the app's instructions, for the model.
pub(crate) const NEARLY_FULL: &str = "This transcript has nearly filled your context window. Be brief, ask for no more than \
                           you need, and come to an end soon.";
