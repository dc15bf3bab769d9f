//! The instructions of each turn, made by code of the app.

use crate::error::CallbackError;
use crate::json_value::JsonValue;
use crate::thread_key::ThreadKey;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;

/// Makes the instructions of an agent's turns.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait InstructionsSource: Send + Sync {
    /// Makes the instructions of a turn, before its first request. They are stored with the turn. An error fails the
    /// turn. When the turn is cancelled, so is the call.
    async fn instructions(&self, request: InstructionsRequest) -> Result<String, CallbackError>;
}

/// The turn that instructions are made for.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct InstructionsRequest {
    /// The conversation's key.
    pub thread: ThreadKey,
    /// The turn: the run id of its first hop.
    pub turn: String,
    /// What the user says, as an AG-UI message; absent where the turn continues from a history.
    pub message: Option<JsonValue>,
    /// The conversation before that message: a JSON array of AG-UI messages, oldest first.
    pub messages: JsonValue,
}

impl From<stepwell_io::config::InstructionsRequest> for InstructionsRequest {
    fn from(request: stepwell_io::config::InstructionsRequest) -> Self {
        Self {
            thread: request.thread.into(),
            turn: request.turn.into_string(),
            message: request.message.as_ref().map(JsonValue::of),
            messages: JsonValue::of(&request.history.messages()),
        }
    }
}

/// The app's source, as the driver calls it.
pub(crate) struct Instructing(pub(crate) Arc<dyn InstructionsSource>);

impl stepwell_io::config::InstructionsSource for Instructing {
    fn instructions(
        &self,
        request: stepwell_io::config::InstructionsRequest,
    ) -> BoxFuture<'static, Result<String, String>> {
        let source = Arc::clone(&self.0);
        async move {
            let made = source.instructions(request.into()).await;
            made.map_err(|error| error.to_string())
        }
        .boxed()
    }
}
