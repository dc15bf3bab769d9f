//! The providers: who speaks which dialect, where, and what each wants differently. A table, no code.
//!
//! ```
//! use stepwell_core::dialect::{Dialect, Secret};
//! use stepwell_core::provider;
//!
//! let groq = provider::find("groq")?;
//! let endpoint = groq.endpoint(None, "llama-3.3-70b-versatile", None, Some(Secret::from("key")))?;
//! assert_eq!(endpoint.dialect, Dialect::OpenAiChat);
//! assert_eq!(endpoint.base_url, "https://api.groq.com/openai/v1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod context_windows;
mod table;

pub use context_windows::{ContextWindow, context_window, context_windows};

use crate::dialect::{Dialect, Endpoint, Quirks, Secret};
use std::fmt;

/// Someone who answers requests.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Provider {
    /// Its name, as the app and the command line have it.
    pub name: &'static str,
    /// Its APIs; never empty.
    pub apis: &'static [Api],
    /// The name of the API that is used where none is asked for.
    pub default_api: &'static str,
    /// The environment variable that holds its key by custom. The core reads no environment: this is for the host.
    pub key_variable: &'static str,
    /// Whether it refuses requests without a key.
    pub needs_key: bool,
    /// What it can do.
    pub capabilities: Capabilities,
}

/// One of a provider's APIs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Api {
    /// Its name, such as `chat`.
    pub name: &'static str,
    /// The wire format it speaks.
    pub dialect: Dialect,
    /// The address that the dialect's path is appended to; `None` where everyone runs their own.
    pub base_url: Option<&'static str>,
    /// Where it differs from its dialect.
    pub quirks: Quirks,
}

/// What a provider can do as far as its API goes; a model of it may do less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// It takes tools.
    pub tools: bool,
    /// It takes pictures.
    pub images: bool,
    /// It shows what the model thinks.
    pub reasoning: bool,
    /// It counts tokens in the stream.
    pub usage: bool,
    /// Requests name a model.
    pub model: bool,
}

/// There is no provider of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no provider `{name}`; there are: {}", Names(all().iter().map(|provider| provider.name)))]
pub struct UnknownProvider {
    /// The name that was asked for.
    pub name: String,
}

/// The provider has no API of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{provider} has no API `{name}`; it has: {}", Names(known.iter().copied()))]
pub struct UnknownApi {
    /// The provider.
    pub provider: &'static str,
    /// The name that was asked for.
    pub name: String,
    /// The names that there are.
    pub known: Vec<&'static str>,
}

/// Why no request can be sent to a provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The provider has no such API.
    #[error(transparent)]
    Api(#[from] UnknownApi),
    /// Everyone runs their own, so the address must be given.
    #[error("{provider} has no address of its own: give a base URL, such as {example}")]
    NoBaseUrl {
        /// The provider.
        provider: &'static str,
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
        provider: &'static str,
    },
    /// No key was given.
    #[error("{provider} needs an API key; by custom it is in {variable}")]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// The environment variable that holds the key by custom.
        variable: &'static str,
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
    all()
        .iter()
        .find(|provider| provider.name == name)
        .ok_or_else(|| UnknownProvider {
            name: name.to_owned(),
        })
}

impl Provider {
    /// The API of this name, or the default one.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn api(&self, name: Option<&str>) -> Result<&'static Api, UnknownApi> {
        let name = name.unwrap_or(self.default_api);
        self.apis
            .iter()
            .find(|api| api.name == name)
            .ok_or_else(|| UnknownApi {
                provider: self.name,
                name: name.to_owned(),
                known: self.apis.iter().map(|api| api.name).collect(),
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
        let api = self.api(api)?;
        let address = base_url.or(api.base_url).ok_or(EndpointError::NoBaseUrl {
            provider: self.name,
            example: match api.dialect {
                Dialect::AgUi => "http://localhost:8000/agent",
                _ => "http://localhost:8000/v1",
            },
        })?;
        if !["http://", "https://"].iter().any(|scheme| {
            address
                .get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        }) {
            return Err(EndpointError::BadBaseUrl {
                base_url: address.to_owned(),
            });
        }
        if self.capabilities.model && model.is_empty() {
            return Err(EndpointError::NoModel {
                provider: self.name,
            });
        }
        let key = key.filter(|key| !key.expose().is_empty());
        if self.needs_key && base_url.is_none() && key.is_none() {
            return Err(EndpointError::NoKey {
                provider: self.name,
                variable: self.key_variable,
            });
        }
        Ok(Endpoint {
            provider: self.name.to_owned(),
            dialect: api.dialect,
            base_url: address.to_owned(),
            model: model.to_owned(),
            key,
            headers: Vec::new(),
            quirks: api.quirks,
        })
    }
}

/// Names in a sentence.
struct Names<I>(I);

impl<I: Iterator<Item = &'static str> + Clone> fmt::Display for Names<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.clone().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
