//! The app's code that makes the instructions of each turn.

use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::fmt::Display;
use stepwell_core::RunId;
use stepwell_core::event::Message;
use stepwell_core::registry::ThreadKey;
use stepwell_core::transcript::Transcript;

/// The turn that needs instructions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InstructionsRequest {
    /// The conversation's key.
    pub thread: ThreadKey,
    /// The turn: the run id of its first hop.
    pub turn: RunId,
    /// The user's message; absent where the turn continues a history.
    pub message: Option<Message>,
    /// The conversation before the turn.
    pub history: Transcript,
}

/// Makes the instructions of a turn. Any async closure from an [`InstructionsRequest`] to a text is a source. The turn
/// fails with the text of its error; a panic is an error too.
pub trait InstructionsSource: Send + Sync + 'static {
    /// Makes the instructions. Dropping the future cancels the work.
    fn instructions(
        &self,
        request: InstructionsRequest,
    ) -> BoxFuture<'static, Result<String, String>>;
}

impl<F, Fut, T, E> InstructionsSource for F
where
    F: Fn(InstructionsRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    T: Into<String>,
    E: Display,
{
    fn instructions(
        &self,
        request: InstructionsRequest,
    ) -> BoxFuture<'static, Result<String, String>> {
        let made = self(request);
        async move {
            let made = made.await;
            made.map(Into::into).map_err(|error| error.to_string())
        }
        .boxed()
    }
}

/// Calls the source.
pub(crate) async fn make(
    source: &dyn InstructionsSource,
    request: InstructionsRequest,
) -> Result<String, String> {
    match catch_panic(async move { source.instructions(request).await }).await {
        Ok(made) => made,
        Err(panic) => Err(format!("the code broke off: {panic}")),
    }
}
