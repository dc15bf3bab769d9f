//! The app's code that shortens a conversation which does not fit the model's context.

use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use stepwell_core::MessageId;
use stepwell_core::event::Message;
use stepwell_core::run::{ContextOverflow, EffectId, Input};

/// The messages of a conversation that are kept, and a summary of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// The messages that are kept. What belongs to them is kept with them: a call with its results, and the reasoning
    /// before it. The last question and the last message are always kept.
    pub keep: Vec<MessageId>,
    /// The text that the model gets instead of the other messages.
    pub summary: Option<String>,
}

impl From<Vec<MessageId>> for Trimmed {
    fn from(keep: Vec<MessageId>) -> Self {
        Self {
            keep,
            summary: None,
        }
    }
}

/// Shortens a conversation. Any async closure from the overflow, and its messages, to what is kept is a trimmer; `None`
/// if it cannot shorten them. A panic counts as `None`.
pub trait Trimmer: Send + Sync + 'static {
    /// Chooses what is kept. Dropping the future cancels the work.
    fn trim(
        &self,
        overflow: ContextOverflow,
        messages: Vec<Message>,
    ) -> BoxFuture<'static, Option<Trimmed>>;
}

impl<F, Fut, T> Trimmer for F
where
    F: Fn(ContextOverflow, Vec<Message>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Option<T>> + Send + 'static,
    T: Into<Trimmed>,
{
    fn trim(
        &self,
        overflow: ContextOverflow,
        messages: Vec<Message>,
    ) -> BoxFuture<'static, Option<Trimmed>> {
        let trimmed = self(overflow, messages);
        async move { trimmed.await.map(Into::into) }.boxed()
    }
}

/// Calls the trimmer, and returns the machine's input.
pub(crate) async fn trim(
    trimmer: Option<Arc<dyn Trimmer>>,
    effect: EffectId,
    overflow: ContextOverflow,
    messages: Vec<Message>,
) -> Input<'static> {
    let cannot = |message: &str| Input::ContextNotTrimmed {
        effect,
        message: message.to_owned(),
    };
    let Some(trimmer) = trimmer else {
        return cannot("this app has no code for it");
    };
    match catch_panic(async move { trimmer.trim(overflow, messages).await }).await {
        Ok(Some(Trimmed { keep, summary })) => Input::ContextTrimmed {
            effect,
            keep,
            summary,
        },
        Ok(None) => cannot("the app left nothing out"),
        Err(_) => cannot("the app's code for it broke off"),
    }
}
