use super::dialect::Dialect;
use super::endpoint::Endpoint;
use super::error::{EndpointError, UnknownApi};
use super::header::{KeyHeader, is_base_url, is_header_value};
use super::models::{self, ModelFamily};
use super::prices::{self, ModelPrice, model_price};
use super::quirks::{Media, Quirks};
use super::secret::Secret;
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
    /// What most servers can do that are compatible with Chat Completions.
    fn default() -> Self {
        COMPATIBLE_SERVER
    }
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

    /// The same for runs whose [host gives the key](crate::run::Credentials::Host) with each request: none is needed
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
