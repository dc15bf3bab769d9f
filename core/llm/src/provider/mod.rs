//! The providers: each speaks a dialect at an address, and differs from others of the same dialect in its [`Quirks`].
//!
//! The providers are a table without code. An app adds its own providers with a [`Catalog`].
//!
//! ```
//! use stepwell_llm::provider::{self, Dialect, Secret};
//!
//! let groq = provider::find("groq")?;
//! let endpoint = groq.endpoint(None, "llama-3.3-70b-versatile", None, Some(Secret::from("key")))?;
//! assert_eq!(endpoint.dialect, Dialect::OpenAiChat);
//! assert_eq!(endpoint.base_url, "https://api.groq.com/openai/v1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod ag_ui_options;
mod api;
mod catalog;
mod context_windows;
mod dialect;
mod endpoint;
mod error;
mod header;
mod models;
mod prices;
mod quirks;
mod secret;
mod table;
mod vendors;

pub use crate::matrix::matrix_markdown;
pub use address::AddressForm;
pub use ag_ui_options::{AgUiEncoding, AgUiOptions};
pub use api::{Api, Capabilities, Provider};
pub use catalog::{Catalog, CatalogError, Custom, CustomProviders};
pub use context_windows::{ContextWindow, context_window, context_windows};
pub use dialect::Dialect;
pub use endpoint::Endpoint;
pub use error::{EndpointError, UnknownApi, UnknownProvider};
pub use header::{KeyHeader, header};
pub use models::{
    CacheField, LeastEffort, ModelFamily, ModelRules, ReasoningEffort, TakesTemperature,
};
pub use prices::{LongContextPrice, ModelPrice, UnknownPrice, model_price, model_prices};
pub use quirks::{EffortField, Media, Quirks, ReasoningReturn, Resumption, ThinkTags, UserField};
pub use secret::Secret;

// Helpers that Stepwell's other crates share. They are hidden because they may change in any release.
#[doc(hidden)]
pub use self::{
    header::header_names,
    secret::{key as shown_key, serialize_headers as shown_headers},
};
pub(crate) use secret::{redact_address, redact_header};

/// Returns all providers, in the order in which to show them.
#[must_use]
pub fn all() -> &'static [Provider] {
    table::PROVIDERS
}

/// Returns the provider with this name.
///
/// # Errors
/// No provider has the name.
pub fn find(name: &str) -> Result<&'static Provider, UnknownProvider> {
    find_in(all().iter(), name)
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

#[cfg(test)]
mod tests;
