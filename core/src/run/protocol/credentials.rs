//! The key and the headers of requests that the host provides when they are needed.

use crate::dialect::{Endpoint, Secret, header_names, shown_headers, shown_key};
use crate::provider::{self, EndpointError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The source of the key and the headers of a run's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Credentials {
    /// The endpoint's own credentials are used throughout the run.
    #[default]
    Fixed,
    /// The host is asked before each request ([`Effect::Authorize`](crate::run::Effect::Authorize)), and again when the
    /// provider rejects its credentials with a 401: for tokens that expire.
    Host,
}

/// The credentials of one request. No snapshot holds them. A journal holds only whether there is a key, and the names
/// of the headers.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Authorization {
    /// The key, instead of the endpoint's.
    #[serde(with = "shown_key")]
    pub key: Option<Secret>,
    /// Headers to send besides: one takes the place of the endpoint's of its name.
    #[serde(serialize_with = "shown_headers")]
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorization")
            .field("key", &self.key)
            .field("headers", &header_names(&self.headers))
            .finish()
    }
}

impl Authorization {
    /// Checks that a header can carry the key and each header's value.
    ///
    /// # Errors
    /// The key or a header's value cannot be sent in a header.
    pub(in crate::run) fn check(&self) -> Result<(), EndpointError> {
        if let Some(key) = &self.key {
            provider::header("authorization".to_owned(), key.expose().to_owned())?;
        }
        for (name, value) in &self.headers {
            provider::header(name.clone(), value.clone())?;
        }
        Ok(())
    }

    /// Returns the endpoint with these credentials.
    pub(in crate::run) fn over(&self, mut endpoint: Endpoint) -> Endpoint {
        if let Some(key) = &self.key {
            endpoint = endpoint.with_key(key.clone());
        }
        endpoint.put_headers(&self.headers);
        endpoint
    }
}

impl From<Secret> for Authorization {
    fn from(key: Secret) -> Self {
        Self {
            key: Some(key),
            headers: Vec::new(),
        }
    }
}

impl From<String> for Authorization {
    fn from(key: String) -> Self {
        Secret::from(key).into()
    }
}

impl From<&str> for Authorization {
    fn from(key: &str) -> Self {
        Secret::from(key).into()
    }
}
