//! The model's context window: what the app wants of a conversation that fills it.

use crate::MessageId;
use serde::{Deserialize, Serialize};

/// What happens when the conversation fills the model's context window.
///
/// It is on by default for the models that [`provider::context_window`](crate::provider::context_window) knows, and rests for all others: a request that
/// cannot fit costs a refusal of the provider's at best, and at worst a history that the server cuts without a word.
///
/// How long a conversation is, is what the provider counted in the hop before and an estimate of what came since; where
/// it has counted nothing, an estimate of the whole: a token for four bytes of text, and media by their kind. A window
/// that the app gives is taken at its word. One from the table stops a request by an estimate of the whole only when
/// that is half as much again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ContextGuard {
    /// The most tokens that the model takes, question and answer together; what
    /// [`provider::context_window`](crate::provider::context_window) says if absent.
    pub window: Option<u64>,
    /// How full the context may be before the model is warned, as a part of it: 0.8 is four fifths. Never if absent. The
    /// warning follows the app's instructions, in the requests alone, and is always the same text, so that it spoils a
    /// prompt cache but once. The user is told by [`RunEvent::ContextNearlyFull`](crate::run::RunEvent::ContextNearlyFull), once a turn.
    pub warn_at: Option<f64>,
    /// What happens to a request that does not fit.
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

/// What happens to a request that does not fit the model's context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ContextPolicy {
    /// It goes out all the same: the provider is to decide.
    Send,
    /// The turn ends with [`Failure::ContextTooLong`](crate::run::Failure::ContextTooLong) before it goes out.
    #[default]
    Fail,
    /// The host is asked what to leave out, with [`Effect::TrimContext`](crate::run::Effect::TrimContext).
    Trim,
}

/// A conversation that does not fit the model's context window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ContextOverflow {
    /// How many tokens the next request would take, the instructions and the tools included.
    pub tokens: u64,
    /// How many it may take: the model's window, without what is kept for the answer.
    pub window: u64,
    /// The messages of the request, oldest first.
    pub messages: Vec<ContextMessage>,
}

/// A message of a conversation that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ContextMessage {
    /// The message.
    pub id: MessageId,
    /// How many tokens it takes: an estimate, on the same scale as those of the other messages.
    pub tokens: u64,
}

impl ContextOverflow {
    /// The newest messages that fill no more than this part of the room: half of it (0.5) leaves room to go on for a
    /// while. To be given back as they are: what belongs to them is kept with them.
    #[must_use]
    pub fn newest(&self, part: f64) -> Vec<MessageId> {
        let all: u64 = self.messages.iter().map(|message| message.tokens).sum();
        // What is no message, and what the estimates are wrong by.
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

/// Said to the model behind the app's instructions.
pub(crate) const NEARLY_FULL: &str = "This conversation has nearly filled your context window. Be brief, ask for no more than \
                           you need, and come to an end soon.";
