//! The model of each hop, chosen by code of the app.

#[cfg(feature = "agent")]
use crate::error::CallbackError;
#[cfg(feature = "agent")]
use futures::{FutureExt, future::BoxFuture};
use serde::Serialize;
#[cfg(feature = "agent")]
use std::sync::Arc;
#[cfg(feature = "agent")]
use stepwell_core::run;
use stepwell_mirror::mirror;

/// Chooses the model of each hop.
#[cfg(feature = "agent")]
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait ModelChooser: Send + Sync {
    /// Returns the number of the model: 0 is the configuration's own, 1 the first of its fallback. After an error, which is
    /// logged, and for a number that no model has, the turn continues with the model that it has.
    async fn choose(&self, context: HopContext) -> Result<u32, CallbackError>;
}

mirror! {
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::ModelName)]
    pub struct ModelName;

    #[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::HopModel)]
    pub struct HopModel;

    #[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::HopContext)]
    pub struct HopContext;
}

/// The app's code, as the driver calls it.
#[cfg(feature = "agent")]
pub(crate) struct Choosing(pub(crate) Arc<dyn ModelChooser>);

#[cfg(feature = "agent")]
impl stepwell_io::config::ModelChooser for Choosing {
    fn choose(&self, context: run::HopContext) -> BoxFuture<'static, u32> {
        let chooser = Arc::clone(&self.0);
        async move { chosen(chooser.choose(context.into()).await) }.boxed()
    }
}

/// Converts the result of the app's code. No model has the number that stands for an error.
#[cfg(feature = "agent")]
pub(crate) fn chosen(model: Result<u32, CallbackError>) -> u32 {
    model.unwrap_or_else(|error| {
        tracing::warn!(target: "stepwell", %error, "the app could not choose a model");
        u32::MAX
    })
}
