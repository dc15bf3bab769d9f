//! The app's code that shortens a conversation which does not fit the model's context.

use futures::FutureExt;
use futures::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use stepwell_core::MessageId;
use stepwell_core::event::Message;
use stepwell_core::run::{ContextOverflow, EffectId, Input};

/// What is kept of a conversation, and what stands for the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// The messages that are kept. What belongs to them is kept with them: a call with its results, and the reasoning
    /// before them; so are the last question and the last message.
    pub keep: Vec<MessageId>,
    /// What the model is told in the place of the others.
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

/// Shortens a conversation. Any async closure from what does not fit, and the messages of it, to what is kept does;
/// `None` if it cannot. A panic counts as none.
pub trait Trimmer: Send + Sync + 'static {
    /// Says what is kept. Dropping the future stops it.
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

/// What the app's code makes of it, as the machine is told.
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
    // The closure itself may panic, not only its future.
    let work = AssertUnwindSafe(async move { trimmer.trim(overflow, messages).await });
    match work.catch_unwind().await {
        Ok(Some(Trimmed { keep, summary })) => Input::ContextTrimmed {
            effect,
            keep,
            summary,
        },
        Ok(None) => cannot("the app left nothing out"),
        Err(_) => cannot("the app's code for it broke off"),
    }
}
