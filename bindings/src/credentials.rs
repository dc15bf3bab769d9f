//! The key and the headers of requests, given by code of the app.

use crate::error::CallbackError;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use stepwell_core::dialect::Secret;
use stepwell_core::run;

/// Gives the key and the headers of an agent's requests, for tokens that expire. It is asked before each request, so it
/// keeps what it got as long as that is good.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait CredentialSource: Send + Sync {
    /// Gives them. An error is what the turn fails with. When the turn is cancelled, so is the call.
    async fn credentials(&self, request: CredentialRequest)
    -> Result<Authorization, CallbackError>;
}

/// For which request credentials are asked for.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct CredentialRequest {
    /// The conversation.
    pub thread_id: String,
    /// The turn: the run id of its first hop.
    pub turn: String,
    /// The provider has refused what was given last, with a 401: it is to be got anew, not taken from a cache.
    pub rejected: bool,
}

/// What one request is sent with. It is neither printed nor stored.
#[derive(Clone, Default, PartialEq, Eq, uniffi::Record)]
#[uniffi::export(Debug, Display)]
pub struct Authorization {
    /// The key, in the place of the configuration's.
    #[uniffi(default = None)]
    pub key: Option<String>,
    /// Headers to send besides, in the place of the configuration's of their names.
    #[uniffi(default)]
    pub headers: HashMap<String, String>,
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.keys().collect();
        f.debug_struct("Authorization")
            .field("has_key", &self.key.is_some())
            .field("headers", &headers)
            .finish()
    }
}

impl fmt::Display for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl From<Authorization> for run::Authorization {
    fn from(authorization: Authorization) -> Self {
        // A map has no order; equal headers are to give equal requests.
        let headers: BTreeMap<_, _> = authorization.headers.into_iter().collect();
        Self {
            key: authorization.key.map(Secret::from),
            headers: headers.into_iter().collect(),
        }
    }
}

impl From<stepwell_io::CredentialRequest> for CredentialRequest {
    fn from(request: stepwell_io::CredentialRequest) -> Self {
        Self {
            thread_id: request.thread_id.into_string(),
            turn: request.turn.into_string(),
            rejected: request.rejected,
        }
    }
}

/// The app's source, as the driver calls it.
pub(crate) struct Credentials(pub(crate) Arc<dyn CredentialSource>);

impl stepwell_io::CredentialSource for Credentials {
    fn credentials(
        &self,
        request: stepwell_io::CredentialRequest,
    ) -> BoxFuture<'static, Result<run::Authorization, String>> {
        let source = Arc::clone(&self.0);
        async move {
            let given = source.credentials(request.into()).await;
            given.map(Into::into).map_err(|error| error.to_string())
        }
        .boxed()
    }
}
