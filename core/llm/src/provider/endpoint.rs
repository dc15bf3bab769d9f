use super::dialect::Dialect;
use super::error::EndpointError;
use super::header::{KeyHeader, header, header_names};
use super::models::{self, ModelRules};
use super::quirks::{Quirks, Resumption};
use super::secret::{self, Secret};
use crate::Usd;
use crate::event::TokenUsage;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The destination of requests: a provider's API, a model, and the API key.
///
/// The serde form contains no secret. It has only the presence of the key, the names of the headers, and the parts of
/// the address that cannot be credentials. An ellipsis replaces what is left out, also after the form is read back.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The provider's name, as in the table of [`provider`](crate::provider).
    pub provider: String,
    /// The wire format of the API.
    pub dialect: Dialect,
    /// The address that the dialect's path is appended to. For AG-UI it is the complete address, in which `{thread_id}`
    /// and `{run_id}` are replaced with the ids of the request.
    #[serde(serialize_with = "secret::serialize_address")]
    pub base_url: String,
    /// The model.
    pub model: String,
    /// The API key.
    #[serde(with = "secret::key")]
    pub key: Option<Secret>,
    /// Headers to send in addition to the dialect's own.
    #[serde(serialize_with = "secret::serialize_headers")]
    pub headers: Vec<(String, String)>,
    /// The header for a key that the host supplies with each request, where it differs from the dialect's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_header: Option<KeyHeader>,
    /// The differences between the provider and its dialect.
    pub quirks: Quirks,
}

impl Endpoint {
    /// Adds custom headers.
    ///
    /// # Errors
    /// The name or the value of a header contains a character that no header may have.
    pub fn with_headers(
        mut self,
        headers: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, EndpointError> {
        for (name, value) in headers {
            self.headers.push(header(name, value)?);
        }
        Ok(self)
    }

    /// Has the provider make the answers in the background: see [`Resumption::Background`].
    ///
    /// # Errors
    /// The API makes no answers in the background.
    pub fn in_background(mut self) -> Result<Self, EndpointError> {
        if !self.dialect.has_background() {
            return Err(EndpointError::NoBackground {
                provider: self.provider,
            });
        }
        self.quirks.resumption = Resumption::Background;
        Ok(self)
    }

    /// Sets the API key.
    #[must_use]
    pub fn with_key(mut self, key: Secret) -> Self {
        match &self.key_header {
            Some(header) => {
                // A key of the other kind is in the other header.
                let is_key = |name: &str| {
                    name.eq_ignore_ascii_case(&header.name)
                        || (header.tokens_as_bearer && name.eq_ignore_ascii_case("authorization"))
                };
                self.headers.retain(|(name, _)| !is_key(name));
                self.headers.push(header.with_key(&key));
            }
            None => self.key = Some(key),
        }
        self
    }

    /// Adds headers. Each replaces the endpoint's headers of the same name.
    pub fn put_headers(&mut self, headers: &[(String, String)]) {
        let is_same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
        let own = &mut self.headers;
        own.retain(|(name, _)| !headers.iter().any(|(other, _)| is_same(name, other)));
        own.extend_from_slice(headers);
    }

    /// Returns whether the API's answers may state their cost: OpenRouter's do, and an AG-UI agent's may.
    #[must_use]
    pub fn tells_cost(&self) -> bool {
        self.provider == "openrouter" || self.dialect == Dialect::AgUi
    }

    /// Returns the cost of an answer at the model's price, or `None` if the price is unknown.
    #[must_use]
    pub fn cost(&self, usage: &TokenUsage) -> Option<Usd> {
        self.quirks.price?.cost(self.dialect, usage)
    }

    /// Returns the rules of the endpoint's model: those in its quirks, those of the table, or the default.
    pub(crate) fn model_rules(&self) -> ModelRules {
        self.quirks
            .model
            .unwrap_or_else(|| models::of_table(&self.model))
    }
}

impl fmt::Debug for Endpoint {
    /// Shows only the names of the headers, because a header may hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("dialect", &self.dialect)
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("key", &self.key)
            .field("headers", &header_names(&self.headers))
            .field("quirks", &self.quirks)
            .finish()
    }
}
