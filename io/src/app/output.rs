//! The app's code that decodes a typed answer.

use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use std::fmt::Display;
use std::sync::Arc;
use stepwell_core::run::{EffectId, Input};

/// Decodes the typed answer, which fits its schema, into a type of the app's. An answer that it refuses goes back to
/// the model with the reason. Any closure from a value to a result is a decoder; the decoded value is dropped.
///
/// ```
/// use serde_json::Value;
/// #[derive(serde::Deserialize)]
/// struct Trip { days: std::num::NonZeroU8 }
/// let decoder = |value: &Value| serde_json::from_value::<Trip>(value.clone());
/// # fn is_one(_: impl stepwell_io::output::OutputDecoder) {}
/// # is_one(decoder);
/// ```
///
/// A panic counts as a refusal. [`Timeouts::tool`](stepwell_core::run::Timeouts::tool) limits how long it may take.
pub trait OutputDecoder: Send + Sync + 'static {
    /// Decodes the value. The error says what does not fit, and where, in words for the model. Dropping the future
    /// cancels the work.
    fn decode(&self, value: Value) -> BoxFuture<'static, Result<(), String>>;
}

impl<F, T, E> OutputDecoder for F
where
    F: Fn(&Value) -> Result<T, E> + Send + Sync + 'static,
    E: Display,
{
    fn decode(&self, value: Value) -> BoxFuture<'static, Result<(), String>> {
        let decoded = self(&value).map(drop).map_err(|error| error.to_string());
        std::future::ready(decoded).boxed()
    }
}

/// Calls the decoder, and returns the machine's input.
pub(crate) async fn decode(
    decoder: Option<Arc<dyn OutputDecoder>>,
    effect: EffectId,
    value: Value,
) -> Input<'static> {
    let refused = |reason: String| Input::OutputRefused { effect, reason };
    let Some(decoder) = decoder else {
        tracing::error!(target: "stepwell", "this app has no code that decodes the answer");
        return refused("this app has no code that decodes the answer".to_owned());
    };
    match catch_panic(async move { decoder.decode(value).await }).await {
        Ok(Ok(())) => Input::OutputDecoded { effect },
        Ok(Err(reason)) => refused(reason),
        Err(panic) => refused(format!("it could not be decoded: {panic}")),
    }
}
