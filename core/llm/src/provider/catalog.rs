//! Custom providers, which an app adds without code.

use super::header::{is_base_url, is_header_name};
use super::{
    AddressForm, Api, Capabilities, Dialect, KeyHeader, ModelFamily, ModelPrice, Provider, Quirks,
    UnknownProvider, all, find_in, table,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The providers of the table, and custom providers.
///
/// ```
/// use stepwell_llm::provider::{Catalog, Secret};
///
/// let catalog = Catalog::from_json(r#"{"providers": [{
///     "name": "deepseek",
///     "dialect": "openai-chat",
///     "base_url": "https://api.deepseek.com/v1",
///     "key_variable": "DEEPSEEK_API_KEY",
///     "quirks": {"reasoning": "content"},
///     "prices": {"deepseek-chat": {"input": 0.28, "cached_input": 0.028, "output": 0.42}}
/// }]}"#)?;
/// let key = Some(Secret::from("the key"));
/// let endpoint = catalog.find("deepseek")?.endpoint(None, "deepseek-chat", None, key)?;
/// assert_eq!(endpoint.base_url, "https://api.deepseek.com/v1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    own: Vec<Provider>,
}

/// Custom providers, as in a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomProviders {
    /// The providers.
    pub providers: Vec<Custom>,
}

/// A custom provider in its serde form: everything that is needed to talk to a server that speaks one of the dialects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Custom {
    /// The provider's name. No provider of the table may have the same name.
    pub name: String,
    /// The wire format, such as `openai-chat`.
    pub dialect: Dialect,
    /// The address that the dialect's path is appended to. If absent, each endpoint needs a base URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key. If set, a key is required unless `needs_key` is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_variable: Option<String>,
    /// Whether the provider refuses requests without a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_key: Option<bool>,
    /// The header that carries the key. If absent, the dialect's own header is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_header: Option<KeyHeader>,
    /// Headers that each request has. They are stored in plain text, so a key must not be among them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The differences from the dialect, by the names of [`Quirks`]. Absent fields are as for most servers that are
    /// compatible with Chat Completions.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub quirks: Map<String, Value>,
    /// The capabilities. Absent fields are as for most such servers.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// The rules of the provider's models, by the prefix of their names. If absent, the table of models applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelFamily>,
    /// The prices of the provider's models, by the prefix of their names. The longest prefix that matches applies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, ModelPrice>,
}

/// The reason why custom providers cannot be used, and the place of the mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CatalogError {
    /// The text is not a list of providers. The reason has the line and the column.
    #[error("the custom providers cannot be read: {reason}")]
    Malformed {
        /// The mistake.
        reason: String,
    },
    /// A provider cannot be used.
    #[error("providers[{index}] (`{name}`): {reason}")]
    Provider {
        /// The provider's index, from 0.
        index: usize,
        /// The provider's name.
        name: String,
        /// The mistake.
        reason: String,
    },
}

impl Catalog {
    /// Creates a catalog with the providers of a JSON text: an object whose `providers` is a list of [`Custom`]s.
    ///
    /// # Errors
    /// The text is not such an object, or a provider in it cannot be used.
    pub fn from_json(text: &str) -> Result<Self, CatalogError> {
        // By serde_json itself, which says the line and the column of what a user has written.
        let custom: CustomProviders =
            serde_json::from_str(text).map_err(|error| CatalogError::Malformed {
                reason: error.to_string(),
            })?;
        Self::new(custom)
    }

    /// Creates a catalog with these providers.
    ///
    /// # Errors
    /// One of the providers cannot be used.
    pub fn new(custom: CustomProviders) -> Result<Self, CatalogError> {
        let mut catalog = Self::default();
        for (index, custom) in custom.providers.into_iter().enumerate() {
            let name = custom.name.clone();
            let provider = catalog.provider(custom);
            let provider = provider.map_err(|reason| CatalogError::Provider {
                index,
                name,
                reason,
            })?;
            catalog.own.push(provider);
        }
        Ok(catalog)
    }

    /// Returns all providers: those of the table, then the custom ones.
    pub fn all(&self) -> impl Iterator<Item = &Provider> + Clone {
        all().iter().chain(&self.own)
    }

    /// Returns the provider with this name.
    ///
    /// # Errors
    /// No provider has the name.
    pub fn find(&self, name: &str) -> Result<&Provider, UnknownProvider> {
        find_in(self.all(), name)
    }

    fn provider(&self, custom: Custom) -> Result<Provider, String> {
        let name = custom.name;
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(is_word) {
            return Err("a name is made of letters, digits, `-`, `_` and `.`".to_owned());
        }
        if self.find(&name).is_ok() {
            return Err("there is a provider of this name already".to_owned());
        }
        if let Some(url) = custom.base_url.as_deref().filter(|url| !is_base_url(url)) {
            return Err(format!(
                "`base_url`: `{url}` must begin with http:// or https://"
            ));
        }
        let names = custom.key_header.iter().map(|header| &*header.name);
        let names = names.chain(custom.headers.keys().map(String::as_str));
        if let Some(bad) = names.clone().find(|name| !is_header_name(name)) {
            return Err(format!("`{bad}` is no name of a header"));
        }
        let quirks = quirks(custom.dialect, custom.quirks)?;
        let needs_key = custom.needs_key.unwrap_or(custom.key_variable.is_some());
        if needs_key && custom.key_variable.is_none() {
            return Err("`needs_key` without a `key_variable` to find the key in".to_owned());
        }
        let headers = custom.headers.into_iter();
        let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
        let api = custom.dialect.name();
        Ok(Provider {
            name: name.into(),
            apis: Cow::Owned(vec![Api {
                name: api.into(),
                dialect: custom.dialect,
                base_url: custom
                    .base_url
                    .map(|url| url.trim_end_matches('/').to_owned().into()),
                key_header: custom.key_header.unwrap_or(KeyHeader::of(custom.dialect)),
                quirks,
                capabilities: custom.capabilities,
                models: Cow::Owned(custom.models),
                prices: custom.prices.into_iter().collect(),
            }]),
            default_api: api.into(),
            key_variable: custom.key_variable.unwrap_or_default().into(),
            needs_key,
            headers: headers.map(lower).collect(),
            address: AddressForm::Complete,
        })
    }
}

/// The quirks of most compatible servers with these in their place.
fn quirks(dialect: Dialect, given: Map<String, Value>) -> Result<Quirks, String> {
    let usual = match dialect {
        Dialect::OpenAiChat | Dialect::Mistral | Dialect::Ollama => table::OPEN_MODELS,
        _ => table::COMPATIBLE,
    };
    let Ok(Value::Object(mut fields)) = serde_json::to_value(usual) else {
        return Ok(usual);
    };
    for (name, value) in given {
        if !fields.contains_key(&name) {
            let known: Vec<_> = fields.keys().map(String::as_str).collect();
            let known = known.join(", ");
            return Err(format!("there is no quirk `{name}`; there are: {known}"));
        }
        fields.insert(name, value);
    }
    serde_json::from_value(Value::Object(fields)).map_err(|error| format!("`quirks`: {error}"))
}
