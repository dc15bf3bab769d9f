//! The key and the headers of requests, supplied by code of the app.

use crate::error::CallbackError;
use crate::model_choice::ModelName;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use stepwell_core::dialect::Secret;
use stepwell_core::run;

/// Supplies the key and the headers of an agent's requests, for tokens that expire. The source is asked before each
/// request, so it should cache what is still valid.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait CredentialSource: Send + Sync {
    /// Returns the key and the headers. An error fails the turn. When the turn is cancelled, so is the call.
    async fn credentials(&self, request: CredentialRequest)
    -> Result<Authorization, CallbackError>;
}

/// The request that credentials are asked for.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct CredentialRequest {
    /// The conversation.
    pub thread_id: String,
    /// The turn: the run id of its first hop.
    pub turn: String,
    /// The model that is asked.
    pub model: ModelName,
    /// Whether the provider refused the last credentials with a 401: get new ones, not those of a cache.
    pub rejected: bool,
}

/// The key and the headers of one request. Neither is printed or stored.
#[derive(Clone, Default, PartialEq, Eq, uniffi::Record)]
#[uniffi::export(Debug, Display)]
pub struct Authorization {
    /// The key, instead of the configuration's.
    #[uniffi(default = None)]
    pub key: Option<String>,
    /// Additional headers, which replace the configuration's headers of the same names.
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
        // A map has no order; equal headers should give equal requests.
        let headers: BTreeMap<_, _> = authorization.headers.into_iter().collect();
        Self {
            key: authorization.key.map(Secret::from),
            headers: headers.into_iter().collect(),
        }
    }
}

impl From<stepwell_io::credentials::CredentialRequest> for CredentialRequest {
    fn from(request: stepwell_io::credentials::CredentialRequest) -> Self {
        Self {
            thread_id: request.thread_id.into_string(),
            turn: request.turn.into_string(),
            model: request.model.into(),
            rejected: request.rejected,
        }
    }
}

/// The app's source, as the driver calls it.
pub(crate) struct Credentials(pub(crate) Arc<dyn CredentialSource>);

impl stepwell_io::credentials::CredentialSource for Credentials {
    fn credentials(
        &self,
        request: stepwell_io::credentials::CredentialRequest,
    ) -> BoxFuture<'static, Result<run::Authorization, String>> {
        let source = Arc::clone(&self.0);
        async move {
            let given = source.credentials(request.into()).await;
            given.map(Into::into).map_err(|error| error.to_string())
        }
        .boxed()
    }
}
