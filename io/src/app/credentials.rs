//! The app's code that gives the key and the headers of each request.

use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::fmt::Display;
use std::sync::Arc;
use stepwell_core::run::{Authorization, EffectId, Input, ModelName};
use stepwell_core::{RunId, ThreadId};

/// The request that needs credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CredentialRequest {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The turn: the run id of its first hop.
    pub turn: RunId,
    /// The model that is asked.
    pub model: ModelName,
    /// The provider has refused the last credentials with a 401: new ones are needed, not those in a cache.
    pub rejected: bool,
}

/// Gives the key and the headers of an agent's requests. Any async closure from a [`CredentialRequest`] to a key, or to
/// an [`Authorization`] with headers, is a source. The turn fails with the text of its error; a panic is an error too.
///
/// The source is called before each request, so it should cache its credentials.
pub trait CredentialSource: Send + Sync + 'static {
    /// Gives the credentials. Dropping the future cancels the work.
    fn credentials(
        &self,
        request: CredentialRequest,
    ) -> BoxFuture<'static, Result<Authorization, String>>;
}

impl<F, Fut, T, E> CredentialSource for F
where
    F: Fn(CredentialRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    T: Into<Authorization>,
    E: Display,
{
    fn credentials(
        &self,
        request: CredentialRequest,
    ) -> BoxFuture<'static, Result<Authorization, String>> {
        let given = self(request);
        async move {
            let given = given.await;
            given.map(Into::into).map_err(|error| error.to_string())
        }
        .boxed()
    }
}

/// Calls the source, and returns the machine's input.
pub(crate) async fn authorize(
    source: Option<Arc<dyn CredentialSource>>,
    effect: EffectId,
    request: CredentialRequest,
) -> Input<'static> {
    let none = |message: String| Input::NotAuthorized { effect, message };
    let Some(source) = source else {
        return none("this app has no code that gives them".to_owned());
    };
    match catch_panic(async move { source.credentials(request).await }).await {
        Ok(Ok(authorization)) => Input::Authorized {
            effect,
            authorization,
        },
        Ok(Err(message)) => none(message),
        Err(panic) => none(format!("the app's code for them broke off: {panic}")),
    }
}
