//! The providers: who speaks which dialect, where, and what each wants differently. A table, no code; an app adds its
//! own with a [`Catalog`].
//!
//! ```
//! use stepwell_llm::dialect::{Dialect, Secret};
//! use stepwell_llm::provider;
//!
//! let groq = provider::find("groq")?;
//! let endpoint = groq.endpoint(None, "llama-3.3-70b-versatile", None, Some(Secret::from("key")))?;
//! assert_eq!(endpoint.dialect, Dialect::OpenAiChat);
//! assert_eq!(endpoint.base_url, "https://api.groq.com/openai/v1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalog;
mod context_windows;
mod matrix;
mod models;
mod prices;
mod table;

pub use catalog::{Catalog, CatalogError, Custom, CustomProviders};
pub use context_windows::{ContextWindow, context_window, context_windows};
pub use matrix::matrix_markdown;
pub(crate) use models::model_rules;
pub use models::{LeastEffort, ModelFamily, ModelRules, TakesTemperature};
pub use prices::{LongContextPrice, ModelPrice, UnknownPrice, model_price, model_prices};

use crate::dialect::{Dialect, Endpoint, Media, Quirks, Secret};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Someone who answers requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Provider {
    /// Its name, as the app and the command line have it.
    pub name: Cow<'static, str>,
    /// Its APIs; never empty.
    pub apis: Cow<'static, [Api]>,
    /// The name of the API that is used where none is asked for.
    pub default_api: Cow<'static, str>,
    /// The environment variable that holds its key by custom. The core reads no environment: this is for the host.
    pub key_variable: Cow<'static, str>,
    /// Whether it refuses requests without a key.
    pub needs_key: bool,
    /// Headers that each request carries besides the dialect's own, names in lower case.
    pub headers: Cow<'static, [(String, String)]>,
}

/// One of a provider's APIs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Api {
    /// Its name, such as `chat`.
    pub name: Cow<'static, str>,
    /// The wire format it speaks.
    pub dialect: Dialect,
    /// The address that the dialect's path is appended to; `None` where everyone runs their own.
    pub base_url: Option<Cow<'static, str>>,
    /// How the key is sent.
    pub key_header: KeyHeader,
    /// Where it differs from its dialect.
    pub quirks: Quirks,
    /// What it can do.
    pub capabilities: Capabilities,
    /// What its models take, where that is not in the table of models.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub models: Cow<'static, [ModelFamily]>,
    /// What its models cost, by how their names begin, where that is not in the table of prices.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub prices: Cow<'static, [(String, ModelPrice)]>,
}

/// The header that carries the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyHeader {
    /// Its name, in lower case.
    pub name: Cow<'static, str>,
    /// What stands before the key in it: `Bearer `, with the blank, or nothing.
    #[serde(default)]
    pub prefix: Cow<'static, str>,
}

impl KeyHeader {
    /// How requests of this dialect carry the key.
    #[must_use]
    pub const fn of(dialect: Dialect) -> Self {
        let (name, prefix) = match dialect {
            Dialect::Anthropic => ("x-api-key", ""),
            Dialect::Gemini => ("x-goog-api-key", ""),
            _ => ("authorization", "Bearer "),
        };
        Self {
            name: Cow::Borrowed(name),
            prefix: Cow::Borrowed(prefix),
        }
    }
}

/// What an API can do as far as it goes; a model behind it may do less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Capabilities {
    /// It streams its answers.
    pub streaming: bool,
    /// It takes tools.
    pub tools: bool,
    /// The model may ask for several tools at once.
    pub parallel_tools: bool,
    /// It gives each call an id. Where it does not, the core makes one.
    pub call_ids: bool,
    /// It shows what the model thinks.
    pub reasoning: bool,
    /// It takes that back with the next request, so that the model can go on with its thought.
    pub reasoning_return: bool,
    /// It takes pictures.
    pub images: bool,
    /// It takes sound.
    pub audio: bool,
    /// It takes documents, such as PDF files.
    pub documents: bool,
    /// It holds the answer to a JSON Schema.
    pub structured_output: bool,
    /// It takes marks for its prompt cache.
    pub cache_marks: bool,
    /// It counts tokens in the stream.
    pub usage: bool,
    /// Requests name a model.
    pub model: bool,
}

impl Capabilities {
    /// The media that it takes.
    fn media(&self) -> Media {
        let mut media = Media::ALL;
        media.images = self.images;
        media.audio = self.audio;
        media.documents = self.documents;
        media
    }
}

impl Default for Capabilities {
    /// What most servers can do that are compatible with Chat Completions.
    fn default() -> Self {
        table::COMPATIBLE_SERVER
    }
}

/// There is no provider of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no provider `{name}`; there are: {}", known.join(", "))]
pub struct UnknownProvider {
    /// The name that was asked for.
    pub name: String,
    /// The names that there are.
    pub known: Vec<String>,
}

/// The provider has no API of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{provider} has no API `{name}`; it has: {}", known.join(", "))]
pub struct UnknownApi {
    /// The provider.
    pub provider: String,
    /// The name that was asked for.
    pub name: String,
    /// The names that there are.
    pub known: Vec<String>,
}

/// Why no request can be sent to a provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EndpointError {
    /// The provider has no such API.
    #[error(transparent)]
    Api(#[from] UnknownApi),
    /// Everyone runs their own, so the address must be given.
    #[error("{provider} has no address of its own: give a base URL, such as {example}")]
    NoBaseUrl {
        /// The provider.
        provider: String,
        /// What such an address looks like.
        example: &'static str,
    },
    /// The address is not one.
    #[error("`{base_url}` is not a base URL: it must begin with http:// or https://")]
    BadBaseUrl {
        /// The address that was given.
        base_url: String,
    },
    /// No model was named.
    #[error("name a model for {provider}")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// No key was given.
    #[error("{provider} needs an API key; by custom it is in {variable}")]
    NoKey {
        /// The provider.
        provider: String,
        /// The environment variable that holds the key by custom.
        variable: String,
    },
    /// No header can carry the key.
    #[error(
        "the key for {provider} holds a line break, or another character that no header can carry"
    )]
    BadKey {
        /// The provider.
        provider: String,
    },
    /// It is no header.
    #[error(
        "the header `{name}` cannot be sent: its name, or its value, holds a character that none may have"
    )]
    BadHeader {
        /// Its name.
        name: String,
    },
}

/// All providers, in the order in which to show them.
#[must_use]
pub fn all() -> &'static [Provider] {
    table::PROVIDERS
}

/// The provider of this name.
///
/// # Errors
/// There is none.
pub fn find(name: &str) -> Result<&'static Provider, UnknownProvider> {
    find_in(all().iter(), name)
}

/// The vendor and the vendor's name of a model, where a provider's models go by their vendors.
fn vendors<'a>(provider: &'a str, model: &'a str) -> (&'a str, &'a str) {
    match (provider, model.split_once('/')) {
        ("openrouter", Some((vendor, model))) => {
            let vendor = match vendor {
                "google" => "gemini",
                "mistralai" => "mistral",
                other => other,
            };
            (vendor, model)
        }
        _ => (provider, model),
    }
}

fn find_in<'a>(
    providers: impl Iterator<Item = &'a Provider> + Clone,
    name: &str,
) -> Result<&'a Provider, UnknownProvider> {
    let known = providers.clone();
    let mut providers = providers;
    providers
        .find(|provider| provider.name == name)
        .ok_or_else(|| UnknownProvider {
            name: name.to_owned(),
            known: known.map(|provider| provider.name.to_string()).collect(),
        })
}

impl Provider {
    /// The API of this name, or the default one.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn api(&self, name: Option<&str>) -> Result<&Api, UnknownApi> {
        let name = name.unwrap_or(&self.default_api);
        self.apis
            .iter()
            .find(|api| api.name == name)
            .ok_or_else(|| UnknownApi {
                provider: self.name.to_string(),
                name: name.to_owned(),
                known: self.apis.iter().map(|api| api.name.to_string()).collect(),
            })
    }

    /// Where requests for `model` go. `base_url` replaces the provider's own address, and with it the need for a key:
    /// a proxy may hold it.
    ///
    /// # Errors
    /// Something that the provider needs is missing.
    pub fn endpoint(
        &self,
        api: Option<&str>,
        model: &str,
        base_url: Option<&str>,
        key: Option<Secret>,
    ) -> Result<Endpoint, EndpointError> {
        let key = key.filter(|key| !key.expose().is_empty());
        if self.needs_key && base_url.is_none() && key.is_none() {
            return Err(EndpointError::NoKey {
                provider: self.name.to_string(),
                variable: self.key_variable.to_string(),
            });
        }
        self.endpoint_for_host(api, model, base_url, key)
    }

    /// The same for runs whose host gives the key (`Credentials::Host`) with each request: none is needed
    /// here.
    ///
    /// # Errors
    /// Something else that the provider needs is missing.
    pub fn endpoint_for_host(
        &self,
        api: Option<&str>,
        model: &str,
        base_url: Option<&str>,
        key: Option<Secret>,
    ) -> Result<Endpoint, EndpointError> {
        let api = self.api(api)?;
        let provider = || self.name.to_string();
        let own = api.base_url.as_deref();
        let address = base_url.or(own).ok_or_else(|| EndpointError::NoBaseUrl {
            provider: provider(),
            example: match api.dialect {
                Dialect::AgUi => "http://localhost:8000/agent",
                _ => "http://localhost:8000/v1",
            },
        })?;
        if !is_base_url(address) {
            return Err(EndpointError::BadBaseUrl {
                base_url: address.to_owned(),
            });
        }
        if api.capabilities.model && model.is_empty() {
            return Err(EndpointError::NoModel {
                provider: provider(),
            });
        }
        let mut key = key;
        if key
            .as_ref()
            .is_some_and(|key| !is_header_value(key.expose()))
        {
            return Err(EndpointError::BadKey {
                provider: provider(),
            });
        }
        let mut headers = self.headers.to_vec();
        // The dialect sends the key its own way.
        let key_header = (api.key_header != KeyHeader::of(api.dialect)).then_some(&api.key_header);
        if let Some(KeyHeader { name, prefix }) = key_header
            && let Some(key) = key.take()
        {
            headers.push((name.to_string(), format!("{prefix}{}", key.expose())));
        }
        Ok(Endpoint {
            provider: provider(),
            dialect: api.dialect,
            base_url: address.to_owned(),
            model: model.to_owned(),
            key,
            headers,
            key_header: key_header.cloned(),
            quirks: Quirks {
                media: api.capabilities.media(),
                model: models::of_families(&api.models, model).or(api.quirks.model),
                price: prices::own(&api.prices, model).or_else(|| model_price(&self.name, model)),
                ..api.quirks
            },
        })
    }
}

impl Endpoint {
    /// The same, with headers of the app's own to send besides.
    ///
    /// # Errors
    /// One of them is no header.
    pub fn with_headers(
        mut self,
        headers: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, EndpointError> {
        for (name, value) in headers {
            self.headers.push(header(name, value)?);
        }
        Ok(self)
    }
}

/// Checks that a header can be sent, and returns it.
///
/// # Errors
/// The name or the value contains a character that no header may have.
pub fn header(name: String, value: String) -> Result<(String, String), EndpointError> {
    if !is_header_name(&name) || !is_header_value(&value) {
        return Err(EndpointError::BadHeader { name });
    }
    Ok((name, value))
}

/// RFC 9110, section 5.1.
fn is_header_name(name: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(is_token)
}

/// RFC 9110, section 5.5.
fn is_header_value(value: &str) -> bool {
    value.chars().all(|c| c == '\t' || !c.is_ascii_control())
}

fn is_base_url(address: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        let start = address.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

#[cfg(test)]
mod tests;
