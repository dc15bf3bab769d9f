//! The providers that a configuration may name.

use crate::config::catalog;
use crate::error::StepwellError;
use crate::json_value::JsonValue;
use stepwell_core::provider;
use stepwell_mirror::mirror;

/// A provider that answers requests.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Provider {
    /// The provider's name, for `RunConfig.provider`.
    pub name: String,
    /// The provider's APIs; never empty.
    pub apis: Vec<Api>,
    /// The API that is used if none is named.
    pub default_api: String,
    /// The environment variable that usually holds the key. Stepwell itself does not read it.
    pub key_variable: String,
    /// Whether the provider refuses requests without a key.
    pub needs_key: bool,
}

/// One of a provider's APIs.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Api {
    /// The API's name, for `RunConfig.api`.
    pub name: String,
    /// The wire format of the API.
    pub dialect: String,
    /// The address; absent for an API that users host themselves, which needs `RunConfig.base_url`.
    pub base_url: Option<String>,
    /// What the API can do.
    pub capabilities: Capabilities,
}

mirror! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_llm::provider::Capabilities)]
    pub struct Capabilities {
        /// The API gives each call an id.
        call_ids,
    }
}

/// The context window of a model, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContextWindow {
    /// The most tokens of question and answer together.
    pub window: u64,
    /// The most tokens of an answer; absent if the vendor publishes no limit.
    pub output: Option<u64>,
}

/// Returns the providers, including the custom ones in `own`, which has the form of `RunConfig.providers`.
#[uniffi::export(default(own = None))]
pub fn providers(own: Option<JsonValue>) -> Result<Vec<Provider>, StepwellError> {
    let own = own.unwrap_or_else(|| JsonValue::from_text(r#"{"providers":[]}"#.to_owned()));
    let catalog = catalog(Some(&own))?;
    Ok(catalog.all().map(Into::into).collect())
}

/// Returns the context window of a model, if its vendor publishes it.
#[uniffi::export]
pub fn context_window(provider: &str, model: &str) -> Option<ContextWindow> {
    provider::context_window(provider, model).map(|found| ContextWindow {
        window: found.window,
        output: found.output,
    })
}

impl From<&provider::Provider> for Provider {
    fn from(provider: &provider::Provider) -> Self {
        let api = |api: &provider::Api| Api {
            name: api.name.to_string(),
            dialect: api.dialect.name().to_owned(),
            base_url: api.base_url.as_ref().map(ToString::to_string),
            capabilities: api.capabilities.into(),
        };
        Self {
            name: provider.name.to_string(),
            apis: provider.apis.iter().map(api).collect(),
            default_api: provider.default_api.to_string(),
            key_variable: provider.key_variable.to_string(),
            needs_key: provider.needs_key,
        }
    }
}
