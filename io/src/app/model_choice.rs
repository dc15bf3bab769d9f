//! The app's code that chooses the model of each hop.

use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use stepwell_core::run::{EffectId, HopContext, Input};

/// Chooses the model of a hop. Any async closure from the [`HopContext`] to the number of a model is one: 0 is the agent's
/// own, 1 the first of its [fallback](crate::AgentBuilder::fallback). After a panic, and for a number that no model has, the
/// turn continues with [`HopContext::current`], and warns.
pub trait ModelChooser: Send + Sync + 'static {
    /// Returns the number of the model. Dropping the future cancels the work.
    fn choose(&self, context: HopContext) -> BoxFuture<'static, u32>;
}

impl<F, Fut> ModelChooser for F
where
    F: Fn(HopContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = u32> + Send + 'static,
{
    fn choose(&self, context: HopContext) -> BoxFuture<'static, u32> {
        self(context).boxed()
    }
}

/// Asks the app for the model of a hop, and returns the machine's input.
pub(crate) async fn choose(
    chooser: Option<Arc<dyn ModelChooser>>,
    effect: EffectId,
    context: HopContext,
) -> Input<'static> {
    let not_chosen = |message: &str| Input::ModelNotChosen {
        effect,
        message: message.to_owned(),
    };
    let Some(chooser) = chooser else {
        return not_chosen("this app has no code for it");
    };
    let models = context.models.len();
    match catch_panic(async move { chooser.choose(context).await }).await {
        Ok(model) if usize::try_from(model).is_ok_and(|model| model < models) => {
            Input::ModelChosen { effect, model }
        }
        Ok(_) => not_chosen("the app chose a number that no model has"),
        Err(_) => not_chosen("the app's code for it broke off"),
    }
}
