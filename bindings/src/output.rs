//! Typed answers, decoded by code of the app.

use crate::error::CallbackError;
use crate::json_value::JsonValue;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// Decodes an agent's typed answers, which fit their schema, into the app's own type, before they are accepted.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait OutputDecoder: Send + Sync {
    /// Decodes the answer. Returns none to accept it; otherwise what does not fit, and where, in words for the model,
    /// which is asked again. An error counts as a refusal, too.
    async fn decode(&self, value: JsonValue) -> Result<Option<String>, CallbackError>;
}

/// The app's code, as the driver calls it.
pub(crate) struct Decoding(pub(crate) Arc<dyn OutputDecoder>);

impl stepwell_io::output::OutputDecoder for Decoding {
    fn decode(&self, value: Value) -> BoxFuture<'static, Result<(), String>> {
        let decoder = Arc::clone(&self.0);
        async move { taken(decoder.decode(JsonValue::of(&value)).await) }.boxed()
    }
}

/// Converts the result of the app's code.
pub(crate) fn taken(decoded: Result<Option<String>, CallbackError>) -> Result<(), String> {
    match decoded {
        Ok(None) => Ok(()),
        Ok(Some(reason)) => Err(reason),
        Err(error) => Err(error.to_string()),
    }
}
