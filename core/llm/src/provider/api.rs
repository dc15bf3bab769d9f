use super::address::AddressForm;
use super::dialect::Dialect;
use super::endpoint::Endpoint;
use super::error::{EndpointError, UnknownApi};
use super::header::{KeyHeader, is_header_value};
use super::models::{self, ModelFamily};
use super::prices::{self, ModelPrice, model_price};
use super::quirks::{Media, Quirks};
use super::secret::Secret;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A provider: a company or a server that answers requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Provider {
    /// The provider's name, as in configuration files and on the command line.
    pub name: Cow<'static, str>,
    /// The provider's APIs; never empty.
    pub apis: Cow<'static, [Api]>,
    /// The name of the default API.
    pub default_api: Cow<'static, str>,
    /// The environment variable that holds the key by convention. This crate does not read it; a host may.
    pub key_variable: Cow<'static, str>,
    /// Whether the provider refuses requests without a key.
    pub needs_key: bool,
    /// Headers that each request has in addition to the dialect's own, with names in lower case.
    pub headers: Cow<'static, [(String, String)]>,
    /// The form of the addresses that the provider takes.
    #[serde(skip_serializing_if = "AddressForm::is_complete")]
    pub address: AddressForm,
}

/// One of a provider's APIs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Api {
    /// The API's name, such as `chat`.
    pub name: Cow<'static, str>,
    /// The API's wire format.
    pub dialect: Dialect,
    /// The address that the dialect's path is appended to; `None` for software that everyone runs on their own server.
    pub base_url: Option<Cow<'static, str>>,
    /// The header that carries the key.
    pub key_header: KeyHeader,
    /// The differences between the API and its dialect.
    pub quirks: Quirks,
    /// The API's capabilities.
    pub capabilities: Capabilities,
    /// The rules of models that are not in the table of models.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub models: Cow<'static, [ModelFamily]>,
    /// The prices, by the prefix of a model's name, that are not in the table of prices.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub prices: Cow<'static, [(String, ModelPrice)]>,
}

/// The capabilities of an API. A model may have fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Capabilities {
    /// The API streams answers.
    pub streaming: bool,
    /// The API takes tools.
    pub tools: bool,
    /// The model may ask for several tools at once.
    pub parallel_tools: bool,
    /// The API gives each call an id. If not, the decoder makes one.
    pub call_ids: bool,
    /// The API shows the model's reasoning.
    pub reasoning: bool,
    /// The API takes reasoning back with the next request, so that the model can continue it.
    pub reasoning_return: bool,
    /// The API takes images.
    pub images: bool,
    /// The API takes audio.
    pub audio: bool,
    /// The API takes documents, such as PDF files.
    pub documents: bool,
    /// The API makes the answer conform to a JSON Schema.
    pub structured_output: bool,
    /// The API takes marks for its prompt cache.
    pub cache_marks: bool,
    /// The stream contains token counts.
    pub usage: bool,
    /// Requests name a model.
    pub model: bool,
}

impl Capabilities {
    /// Returns the media that the API takes.
    fn media(&self) -> Media {
        let mut media = Media::ALL;
        media.images = self.images;
        media.audio = self.audio;
        media.documents = self.documents;
        media
    }
}

/// The capabilities of most servers that are compatible with Chat Completions.
pub(super) const COMPATIBLE_SERVER: Capabilities = Capabilities {
    streaming: true,
    tools: true,
    parallel_tools: true,
    call_ids: true,
    reasoning: true,
    reasoning_return: false,
    images: true,
    audio: false,
    documents: false,
    structured_output: true,
    cache_marks: false,
    usage: true,
    model: true,
};

impl Default for Capabilities {
    /// Returns the capabilities of most servers that are compatible with Chat Completions.
    fn default() -> Self {
        COMPATIBLE_SERVER
    }
}

impl Provider {
    /// Returns the name of the API whose answers can be made in the background: the first one, if there are several.
    #[must_use]
    pub fn background_api(&self) -> Option<&str> {
        let can = |api: &&Api| api.dialect.has_background();
        Some(&*self.apis.iter().find(can)?.name)
    }

    /// Returns the API with this name, or the default API.
    ///
    /// # Errors
    /// The provider has no API with this name.
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

    /// Returns the endpoint for `model`. `base_url`, an address of the provider's [form](AddressForm), replaces the provider's own address, and then no key is needed:
    /// a proxy may hold it.
    ///
    /// # Errors
    /// Something that the provider needs is missing or malformed.
    pub fn endpoint(
        &self,
        api: Option<&str>,
        model: &str,
        base_url: Option<&str>,
        key: Option<Secret>,
    ) -> Result<Endpoint, EndpointError> {
        let key = self.checked_key(base_url, key)?;
        self.endpoint_for_host(api, model, base_url, key)
    }

    /// Returns the endpoint for `model`, as [`endpoint`](Self::endpoint) does. Without a `base_url` the address of a
    /// cloud is that of the [environment](AddressForm::from_environment): `variable` returns the value of a variable.
    ///
    /// # Errors
    /// Something that the provider needs is missing or malformed.
    pub fn endpoint_in(
        &self,
        api: Option<&str>,
        model: &str,
        base_url: Option<&str>,
        key: Option<Secret>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, EndpointError> {
        let key = self.checked_key(base_url, key)?;
        let address = self.address.or_environment(base_url, variable);
        self.endpoint_for_host(api, model, address.as_deref(), key)
    }

    /// Returns the key, unless it is missing although the provider needs one.
    fn checked_key(
        &self,
        base_url: Option<&str>,
        key: Option<Secret>,
    ) -> Result<Option<Secret>, EndpointError> {
        let key = key.filter(|key| !key.expose().is_empty());
        let is_own = base_url.is_none_or(|address| self.address.is_own(address));
        if self.needs_key && is_own && key.is_none() {
            return Err(EndpointError::NoKey {
                provider: self.name.to_string(),
                variable: self.key_variable.to_string(),
            });
        }
        Ok(key)
    }

    /// Returns the endpoint for `model`, for a host that supplies the key with each request. No key is needed here.
    ///
    /// # Errors
    /// Something other than the key is missing or malformed.
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
            example: self.address.example(api.dialect),
        })?;
        let base_url = self.address.complete(address, api.dialect, model)?;
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
        if let Some(header) = key_header
            && let Some(key) = key.take()
        {
            headers.push(header.with_key(&key));
        }
        Ok(Endpoint {
            provider: provider(),
            dialect: api.dialect,
            base_url,
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
