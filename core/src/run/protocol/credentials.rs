//! The key and the headers of requests, where the host gives them as they are needed.

use crate::dialect::{Secret, header_names, shown_headers, shown_key};
use crate::provider::{self, EndpointError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where the key and the headers of a run's requests come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Credentials {
    /// They are the endpoint's own, as long as the run lasts.
    #[default]
    Fixed,
    /// The host is asked before each request ([`Effect::Authorize`](crate::run::Effect::Authorize)), and once more when the
    /// provider refuses what it gave with a 401: for tokens that expire.
    Host,
}

/// What one request is sent with. It is in no snapshot, and a journal has of the key only that there is one, and of the
/// headers the names.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Authorization {
    /// The key, in the place of the endpoint's.
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
    /// Whether a header can carry each of them.
    ///
    /// # Errors
    /// What no header can carry.
    pub(in crate::run) fn check(&self) -> Result<(), EndpointError> {
        if let Some(key) = &self.key {
            provider::header("authorization".to_owned(), key.expose().to_owned())?;
        }
        for (name, value) in &self.headers {
            provider::header(name.clone(), value.clone())?;
        }
        Ok(())
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
