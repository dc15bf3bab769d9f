//! The models that a run may ask besides its own.

use super::{Credentials, GenerationSettings, ModelPrice, Resumption, catalog};
use crate::error::StepwellError;
use crate::json_value::JsonValue;
use crate::outcome::ErrorKind;
use crate::time::Duration;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use stepwell_core::dialect::{self, Endpoint, Secret};
use stepwell_core::run;
use stepwell_mirror::mirror;

/// The models that a run may ask besides its own, and when it asks them.
///
/// Another model is asked when one has failed, after its retries. The turn stays with the model that answers. A model is
/// named by its number: 0 is the configuration's own, 1 the first of `models`.
#[derive(Clone, Debug, Default, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Fallback {
    /// The other models, in the order in which they are asked. An AG-UI agent cannot be one.
    #[uniffi(default)]
    pub models: Vec<FallbackModel>,
    /// The kinds of failure after which another model is asked. If there are none, they are an overloaded model, a used-up
    /// rate limit, an error of the server or the connection, and a timeout. `OutputInvalid` includes empty answers
    /// and calls that cannot be read.
    #[uniffi(default)]
    pub after: Vec<ErrorKind>,
    /// Whether another model is asked even if the user has seen a part of the answer. The part stays, marked as cut, and the
    /// other model answers in a message of its own.
    #[uniffi(default = false)]
    pub after_text: bool,
    /// The time for which a model that has failed is not asked first; a minute if absent.
    #[uniffi(default = None)]
    #[serde(rename = "restMs")]
    pub rest: Option<Duration>,
    /// What chooses the model of each hop; the order if absent. An `Agent` takes this from its `model_for`.
    #[uniffi(default = None)]
    pub choice: Option<ModelChoice>,
}

/// A model that may be asked in place of another one.
#[derive(Clone, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[uniffi::export(Debug, Display)]
pub struct FallbackModel {
    /// The provider's name, such as `openai` or `openai-compatible`.
    pub provider: String,
    /// The model; may be empty where the provider's requests name none.
    #[uniffi(default = "")]
    #[serde(default)]
    pub model: String,
    /// Which of the provider's APIs; its usual one if absent.
    #[uniffi(default = None)]
    pub api: Option<String>,
    /// An address instead of the provider's own.
    #[uniffi(default = None)]
    pub base_url: Option<String>,
    /// The API key. It is neither printed nor stored.
    #[uniffi(default = None)]
    pub key: Option<String>,
    /// Headers to send in addition to the provider's own.
    #[uniffi(default)]
    #[serde(default)]
    pub headers: HashMap<String, String>,
    /// Where the key and the headers of the requests come from; those above if absent.
    #[uniffi(default = None)]
    pub credentials: Option<Credentials>,
    /// The settings for the model's answers, instead of the configuration's.
    #[uniffi(default = None)]
    pub settings: Option<GenerationSettings>,
    /// The price of the model, instead of the price that Stepwell knows.
    #[uniffi(default = None)]
    pub price: Option<ModelPrice>,
    /// How a stream that breaks off is resumed; as Stepwell knows the provider if absent.
    #[uniffi(default = None)]
    pub resumption: Option<Resumption>,
}

mirror! {
    /// What chooses the model of each hop.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::ModelChoice, both)]
    pub enum ModelChoice {
        /// The order: a turn begins with the first model that is not resting, and stays with it until it fails.
        InOrder,
        /// The app is asked before each hop.
        Host,
    }
}

impl fmt::Debug for FallbackModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallbackModel")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("api", &self.api)
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for FallbackModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Fallback {
    pub(super) fn into_core(
        self,
        providers: Option<&JsonValue>,
    ) -> Result<run::Fallback, StepwellError> {
        let default = run::Fallback::default();
        let models = self.models.into_iter();
        let models = models.map(|model| model.into_core(providers));
        Ok(run::Fallback {
            models: models.collect::<Result<_, _>>()?,
            after: match self.after.is_empty() {
                true => default.after,
                false => self.after.into_iter().map(Into::into).collect(),
            },
            after_text: self.after_text,
            rest: self.rest.map_or(default.rest, Into::into),
            choice: self.choice.map(Into::into).unwrap_or_default(),
        })
    }
}

impl FallbackModel {
    pub(super) fn into_core(
        self,
        providers: Option<&JsonValue>,
    ) -> Result<run::FallbackModel, StepwellError> {
        let credentials = self.credentials.map(Into::into).unwrap_or_default();
        let mut endpoint = EndpointOptions {
            provider: &self.provider,
            model: &self.model,
            api: self.api.as_deref(),
            base_url: self.base_url.as_deref(),
            key: self.key,
            headers: self.headers,
            credentials,
            resumption: self.resumption,
        }
        .endpoint(providers)?;
        if let Some(price) = self.price {
            endpoint.quirks.price = Some(price.into_core()?);
        }
        let settings = self
            .settings
            .map(|own| own.over(&dialect::GenerationSettings::default()));
        Ok(run::FallbackModel {
            endpoint,
            settings: settings.transpose()?,
            credentials,
        })
    }
}

/// What names an endpoint.
pub(super) struct EndpointOptions<'a> {
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    pub(super) api: Option<&'a str>,
    pub(super) base_url: Option<&'a str>,
    pub(super) key: Option<String>,
    pub(super) headers: HashMap<String, String>,
    pub(super) credentials: run::Credentials,
    pub(super) resumption: Option<Resumption>,
}

impl EndpointOptions<'_> {
    pub(super) fn endpoint(self, providers: Option<&JsonValue>) -> Result<Endpoint, StepwellError> {
        let catalog = catalog(providers)?;
        let provider = catalog.find(self.provider)?;
        let key = self.key.map(Secret::from);
        let resumption = self.resumption.map(dialect::Resumption::from);
        let in_background = resumption == Some(dialect::Resumption::Background);
        let background_api = || in_background.then(|| provider.background_api())?;
        let api = self.api.or_else(background_api);
        // Of a cloud alone: where it is, as its own SDKs find it.
        let variable = |name: &str| std::env::var(name).ok();
        let (model, base_url) = (self.model, self.base_url);
        let mut endpoint = match self.credentials {
            run::Credentials::Fixed => provider.endpoint_in(api, model, base_url, key, variable)?,
            run::Credentials::Host => {
                let address = provider.address.or_environment(base_url, variable);
                provider.endpoint_for_host(api, model, address.as_deref(), key)?
            }
        };
        if in_background {
            endpoint = endpoint.in_background()?;
        } else if let Some(resumption) = resumption {
            endpoint.quirks.resumption = resumption;
        }
        // A map has no order; equal configurations should give equal requests.
        let headers: BTreeMap<_, _> = self.headers.into_iter().collect();
        Ok(endpoint.with_headers(headers)?)
    }
}
