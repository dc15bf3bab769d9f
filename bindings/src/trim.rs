//! Conversations that do not fit the model's context, shortened by code of the app.

use crate::effect::ContextMessage;
use crate::error::CallbackError;
use crate::json_value::JsonValue;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use stepwell_core::MessageId;
use stepwell_core::event::Message;
use stepwell_core::run;

/// Shortens an agent's conversation that does not fit the model's context any more.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait Trimmer: Send + Sync {
    /// Returns which of these messages, a JSON array of AG-UI messages, oldest first, are kept; none if the
    /// conversation cannot be shortened: the turn then fails. The turn also fails after an error, which is logged.
    async fn trim(
        &self,
        overflow: ContextOverflow,
        messages: JsonValue,
    ) -> Result<Option<Trimmed>, CallbackError>;
}

/// A conversation that does not fit the model's context window.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContextOverflow {
    /// How many tokens the next request would take, the instructions and the tools included.
    pub tokens: u64,
    /// The number of tokens that the request may take: the model's window, without what is reserved for the answer.
    pub window: u64,
    /// The messages of the request, oldest first.
    pub messages: Vec<ContextMessage>,
}

/// What is kept of a conversation, and the summary of the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct Trimmed {
    /// The ids of the messages that are kept. Messages that belong to them are kept with them: a call with its results,
    /// and the reasoning before them; so are the last question and the last message.
    pub keep: Vec<String>,
    /// The text for the model instead of the other messages.
    #[uniffi(default = None)]
    pub summary: Option<String>,
}

/// Returns the newest messages that fill no more than this part of the room, for `Trimmed.keep`: half of it (0.5)
/// leaves room to continue for a while.
#[uniffi::export]
#[must_use]
pub fn newest_messages(overflow: ContextOverflow, part: f64) -> Vec<String> {
    let newest = run::ContextOverflow::from(overflow).newest(part);
    newest.into_iter().map(MessageId::into_string).collect()
}

impl From<run::ContextOverflow> for ContextOverflow {
    fn from(overflow: run::ContextOverflow) -> Self {
        Self {
            tokens: overflow.tokens,
            window: overflow.window,
            messages: overflow.messages.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<ContextOverflow> for run::ContextOverflow {
    fn from(overflow: ContextOverflow) -> Self {
        let messages = overflow.messages.into_iter();
        let message = |message: ContextMessage| run::ContextMessage {
            id: message.message_id.into(),
            tokens: message.tokens,
        };
        Self {
            tokens: overflow.tokens,
            window: overflow.window,
            messages: messages.map(message).collect(),
        }
    }
}

impl From<Trimmed> for stepwell_io::config::Trimmed {
    fn from(trimmed: Trimmed) -> Self {
        Self {
            keep: trimmed.keep.into_iter().map(MessageId::from).collect(),
            summary: trimmed.summary,
        }
    }
}

/// The app's code, as the driver calls it.
pub(crate) struct Trimming(pub(crate) Arc<dyn Trimmer>);

impl stepwell_io::config::Trimmer for Trimming {
    fn trim(
        &self,
        overflow: run::ContextOverflow,
        messages: Vec<Message>,
    ) -> BoxFuture<'static, Option<stepwell_io::config::Trimmed>> {
        let trimmer = Arc::clone(&self.0);
        async move {
            let trimmed = trimmer
                .trim(overflow.into(), JsonValue::of(&messages))
                .await;
            kept(trimmed)
        }
        .boxed()
    }
}

/// Converts the result of the app's code.
pub(crate) fn kept(
    trimmed: Result<Option<Trimmed>, CallbackError>,
) -> Option<stepwell_io::config::Trimmed> {
    match trimmed {
        Ok(trimmed) => trimmed.map(Into::into),
        Err(error) => {
            tracing::warn!(target: "stepwell", %error, "the conversation could not be shortened");
            None
        }
    }
}
