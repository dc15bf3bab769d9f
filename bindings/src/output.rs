//! Typed answers, decoded by code of the app.

use crate::error::CallbackError;
use crate::json_value::JsonValue;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// Decodes an agent's typed answers, which fit their schema, into the app's own type, before they count.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait OutputDecoder: Send + Sync {
    /// Nothing if the answer is taken; else what does not fit, and where, in words for the model, which is asked again. An
    /// error counts as that, too.
    async fn decode(&self, value: JsonValue) -> Result<Option<String>, CallbackError>;
}

/// The app's code, as the driver calls it.
pub(crate) struct Decoding(pub(crate) Arc<dyn OutputDecoder>);

impl stepwell_io::OutputDecoder for Decoding {
    fn decode(&self, value: Value) -> BoxFuture<'static, Result<(), String>> {
        let decoder = Arc::clone(&self.0);
        async move { taken(decoder.decode(JsonValue::of(&value)).await) }.boxed()
    }
}

/// What the app's code came to.
pub(crate) fn taken(decoded: Result<Option<String>, CallbackError>) -> Result<(), String> {
    match decoded {
        Ok(None) => Ok(()),
        Ok(Some(reason)) => Err(reason),
        Err(error) => Err(error.to_string()),
    }
}
